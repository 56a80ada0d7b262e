"""What tools/demo shows of evidence: a receipt for the departures, an audit, a bundle that checks itself, and that a single flipped byte makes each
verifier say no."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys


def verify(bundle, policy):
    """What the bundle's own script says, in an interpreter that sees nothing but the standard library."""
    done = subprocess.run([sys.executable, "-I", str(bundle / "verify.py"), "--policy", policy, str(bundle)], capture_output=True, text=True)
    return done.returncode, done.stdout


def show(tool, folder, chosen, expect):
    """`chosen` are offsets of events for the bundle."""
    server, policy, bundle = str(folder / "server"), str(folder / "policy"), folder / "bundle"
    made = subprocess.run([tool.program, "countersigner", server, "--name", "server.example/1"], capture_output=True, text=True, check=True)
    note = tool.run("checkpoint", "--countersign", server)
    size = int(note.split("\n")[1])
    keys = [line.split("  ")[1] for line in tool.run("keys").splitlines()]
    pathlib.Path(policy).write_text("".join(f"{key}\n" for key in keys) + made.stdout)
    print(f"  receipt                for {size:,} offsets, signed by device and server")

    audit = json.loads(tool.run("audit", "--policy", policy, "--receipted", "--json"))
    expect(audit["verdict"] == "proven" and audit["covered"] == size, f"the audit says {audit}")
    expect(json.loads(tool.run("audit", "--policy", policy, "--json", code=1))["verdict"] == "unproven", "what no receipt covers is proven")
    print(f"  audit                  {audit['verdict']}: every byte read, {audit['events']:,} events hashed again")

    tool.run("bundle", str(bundle), "--policy", policy, "--from", str(chosen.start), "--to", str(chosen.stop))
    code, said = verify(bundle, policy)
    expect(code == 0 and said.count(" proven: ") == len(chosen), f"the bundle's verifier says {said}")
    print(f"  bundle                 {len(chosen)} events, proven by verify.py, which needs nothing of this project")

    # One byte of one event's data, in the bundle.
    lines = (bundle / "events.jsonl").read_text().splitlines()
    index = next(number for number, line in enumerate(lines) if json.loads(line)["offset"] == chosen[2])
    event = json.loads(lines[index])
    record = bytearray(base64.b64decode(event["record"]))
    record[-3] ^= 1
    lines[index] = json.dumps({**event, "record": base64.b64encode(record).decode()})
    (bundle / "events.jsonl").write_text("\n".join(lines) + "\n")
    code, said = verify(bundle, policy)
    expect(code == 1 and f"{chosen[2]} refuted root-differs" in said, f"with a byte changed, the bundle's verifier says {said}")
    expect(said.count(" proven: ") == len(chosen) - 1, "an event that was not changed is not proven")
    print(f"  one byte flipped       verify.py: offset {chosen[2]} refuted, the others proven")

    # And one byte of a segment, in a copy of the log.
    copy = folder / "copy"
    shutil.copytree(tool.log, copy)
    segment = max(copy.glob("segments/*"), key=lambda path: path.stat().st_size)
    os.chmod(segment, 0o644)
    with open(segment, "r+b") as file:
        file.seek(segment.stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))
    done = subprocess.run([tool.program, "audit", str(copy), "--policy", policy, "--receipted", "--json"], capture_output=True, text=True)
    report = json.loads(done.stdout)
    found = [finding for finding in report["findings"] if finding["kind"] == "storage"]
    expect(done.returncode == 1 and report["verdict"] == "refuted" and found, f"with a byte of a segment changed, the audit says {report}")
    print(f"                         audit: refuted, {found[0]['first']} to {found[0]['last']}")
    shutil.rmtree(copy)
