"""Has schemathesis (PyPI) make calls from what Specs/openapi.yaml says, right and wrong ones, and look at what a running server answers.

    python3 tools/schemathesis.py TIDEMARK [SECONDS [SEED]]

It has a device's, an office's and the operator's token, and uses each for the calls that are for it. All its checks are on: statuses, media types, header
fields and bodies as the document says; data against the document is refused, data by it is not; no call without a credential, none with a method that is
not named, no failure of the server. SECONDS (60 if not given) bound the whole.

Prints the tool's report and one line; exit code 1 if anything is not as the document says, or the server does not end well.
"""

import base64
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

from serving import serving

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMATHESIS = ROOT / ".build/schemathesis/bin/schemathesis"

# Refusals of data that is right by the document, which can't say more: secrets that nobody gave out, ids that are not there, digests of other bytes, states.
CONFIGURATION = """
request-timeout = 20.0
max-stream-events = 1
continue-on-failure = true
hooks = {hooks}

[auth.openapi.access]
bearer = "{access}"
[auth.openapi.office]
bearer = "{office}"
[auth.openapi.operator]
bearer = "{operator}"

[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "410", "422", "429"]
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "411", "412", "413", "415", "422", "429", "431"]
[checks.missing_required_header]
expected-statuses = ["400", "401", "403", "404", "409", "411", "415", "422"]

# A key is named after its history, a shipment has a digest, of items the operator says whose they are, and an upload has an end: the document can't tell.
[[operations]]
include-operation-id = ["handshake", "ship", "publish", "withdraw", "waive", "upload"]
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "400", "401", "403", "404", "409", "415", "422", "429"]

# The server would write where the call says.
[[operations]]
include-operation-id = "archive"
enabled = false

[dictionaries.logs]
values = ["{log}"]
[dictionaries.epochs]
values = ["{epoch}"]
[dictionaries.devices]
values = ["{device}"]
[dictionaries.tenants]
values = ["acme"]
[parameters]
"path.log" = {{ dictionary = "logs", probability = 0.5 }}
"path.epoch" = {{ dictionary = "epochs", probability = 0.5 }}
"path.device" = {{ dictionary = "devices", probability = 0.2 }}
"query.tenant" = {{ dictionary = "tenants", probability = 0.5 }}
"""


def shake_hands(server, access, log, epoch, key):
    """Introduces a history without events, so that there is one."""
    name = f"tidemark/{log}/{epoch}"
    number = hashlib.sha256(name.encode() + b"\n\x01" + key).digest()[:4].hex()
    status, answer = server.call("PUT", f"/v1/logs/{log}/epochs/{epoch}", {
        "oldest": 0, "size": 0, "root": base64.b64encode(hashlib.sha256().digest()).decode(),
        "key": f"{name}+{number}+{base64.b64encode(bytes([1]) + key).decode()}",
    }, access)
    if status != 200:
        sys.exit(f"a handshake is refused: {status}, {answer}")


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    with serving(sys.argv[1], "--rate", "1000000") as server:
        server.admin("tenant", "acme")
        key = os.urandom(32)
        _, access = server.device("acme", key)
        other, _ = server.device("acme")
        log, epoch = os.urandom(16).hex(), os.urandom(16).hex()
        shake_hands(server, access, log, epoch, key)
        office = server.admin("office-token", "acme").strip()
        configuration = server.folder / "schemathesis.toml"
        configuration.write_text(CONFIGURATION.format(
            access=access, office=office, operator=server.operator, log=log, epoch=epoch, device=other,
            hooks=json.dumps(str(ROOT / "tools/openapi/hooks.py"))))
        command = [
            SCHEMATHESIS, "--config-file", configuration, "run", f"{server.url}/openapi.json", "--checks", "all", "--max-time", str(seconds), "--seed", seed,
            "--workers", "1", "--no-shrink", "--suppress-health-check", "all", "--report-dir", server.folder / "report",
        ]
        result = subprocess.run(command, cwd=server.folder, capture_output=True, text=True, timeout=seconds + 120, env={**os.environ, "NO_COLOR": "1"})
        print(result.stdout + result.stderr)
        with open(server.folder / "requests.jsonl") as lines:
            requests = [json.loads(line) for line in lines]
        failures = [request for request in requests if request["status"] >= 500]
        for request in failures[:20]:
            print(f"the server failed: {request}")
        reached = {(request["route"], request["status"]) for request in requests}
        missing = [route for route in ("enrol", "token", "handshake", "frames", "changes", "attachments", "uploads", "status", "admin", "healthz") if route not in {r for r, _ in reached}]
        if missing:
            print(f"these calls were never made: {', '.join(missing)}")
    cases = re.search(r"(\d+) generated", result.stdout)
    print(f"schemathesis: {len(requests)} requests, {cases[1] if cases else '?'} cases, exit code {result.returncode}")
    sys.exit(1 if result.returncode or failures or missing or len(requests) < 100 else 0)


if __name__ == "__main__":
    main()
