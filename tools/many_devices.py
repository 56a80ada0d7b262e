#!/usr/bin/env python3
"""Many devices at once, four times as many as the server takes connections: all are served, and each event is there once.

    python3 tools/many_devices.py TIDEMARK [DEVICES]

`tidemark-load`, which plays the devices, lies beside TIDEMARK. Prints one line; exit code 1 if a device was not served, or if the server has
other events than were sent.
"""

import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from serving import serving  # noqa: E402

EVENTS = 50


def main():
    tidemark, devices = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 400
    load = os.path.join(os.path.dirname(os.path.abspath(tidemark)), "tidemark-load")
    with serving(tidemark, "--connections", str(devices // 4), "--connections-per-address", str(devices // 4)) as server:
        token = server.directory / "operator-token"
        run = subprocess.run(
            [load, "--server", server.url, "--operator-token", str(token), "--devices", str(devices), "--events", str(EVENTS), "--batch", "20"],
            capture_output=True, text=True)
        if run.returncode not in (0, 1):
            raise SystemExit(run.stderr)
        met = json.loads(run.stdout)
        status, page = server.call("GET", f"/v1/admin/changes?tenant=load&since={devices * EVENTS - 1}&limit=10", token=server.operator)
    numbers = [change["number"] for change in page["changes"]] if status == 200 else []
    wrong = met["unserved"] + (met["events"] != devices * EVENTS) + (numbers != [devices * EVENTS])
    print(f"layer=many-devices devices={devices} events={met['events']} unserved={met['unserved']} last_change={numbers} wrong={wrong}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
