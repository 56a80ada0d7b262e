"""Compares the tool's verdict on logs, healthy and damaged, with that of the independent reader.

    python3 tools/agreement.py TIDEMARK [IMAGES [SEED]]

Takes every log of Specs/vectors/ and logs that it makes with the tool (open, closed, killed, sealed, trimmed), damages copies of them (bits, cuts, zeroed
sectors, missing, doubled and exchanged files, bytes behind the end), and asks both for their verdict: whether it is well, the numbers of events, and each
finding with file, position and offsets. On healthy logs the contents must be the same to the byte. Prints one line; exit code 1 if the two differ.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools", "reader"))

from tidemark_reader.log import Log  # noqa: E402
from tidemark_reader.report import NotALog, Unsupported  # noqa: E402


def make_logs(tidemark, folder):
    """Small logs in every state, each as {relative path: bytes}."""
    def run(*arguments, lines=b""):
        subprocess.run([tidemark, *arguments], input=lines, stdout=subprocess.DEVNULL, check=True)

    def lines(count, start=0):
        return "".join(f'{{"id":"{n:032x}","n":{n},"text":"måling {"x" * (n % 50)}"}}\n' for n in range(start, start + count)).encode()

    def append(log, data, batch="7"):
        run("append", log, "--type", "reading", "--id-from", "/id", "--batch", batch, "-", lines=data)

    logs = {}
    for name in ("closed", "sealed", "many", "trimmed", "killed"):
        log = os.path.join(folder, name)
        run("init", log)
        append(log, lines(60))
        if name in ("sealed", "many", "trimmed"):
            run("seal", log)
            append(log, lines(30, 60))
        if name == "many":
            for part in range(9):
                append(log, lines(10, 100 + 10 * part))
                run("seal", log)
            append(log, lines(5, 300), batch="1")
        if name == "trimmed":
            run("seal", log)
            append(log, lines(10, 90))
            run("trim", log, "--below", "65")
        if name == "killed":
            writer = subprocess.Popen([tidemark, "append", log, "--acks", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            writer.stdin.write(b"1\n2\n3\n")
            writer.stdin.flush()
            while b"ack" not in writer.stdout.readline():
                pass
            writer.send_signal(signal.SIGKILL)
            writer.communicate()
        logs[name] = load(log)
    return logs


def load(log):
    files = {}
    for place, _, names in os.walk(log):
        for name in names:
            path = os.path.join(place, name)
            if name not in ("lock", "live"):
                with open(path, "rb") as file:
                    files[os.path.relpath(path, log)] = file.read()
    return files


def store(files, log):
    shutil.rmtree(log, ignore_errors=True)
    os.makedirs(os.path.join(log, "segments"))
    for name, data in files.items():
        path = os.path.join(log, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def damage(files, generator):
    """A damaged copy, and what was done."""
    files = dict(files)
    name = generator.choice(sorted(files))
    data = bytearray(files[name])
    used = max(1, len(bytes(data).rstrip(b"\0")))
    at = generator.randrange(min(len(data), used + 64)) if data else 0
    kind = generator.choice(("flip", "flip", "flip", "cut", "zero", "junk", "delete", "double", "exchange"))
    if kind == "flip" and data:
        data[at] ^= 1 << generator.randrange(8)
    elif kind == "cut":
        del data[at:]
    elif kind == "zero":
        data[at:at + 512] = bytes(len(data[at:at + 512]))
    elif kind == "junk":
        data += bytes(generator.randrange(256) for _ in range(generator.randrange(1, 300)))
    elif kind == "double" and name.startswith("segments/"):
        base, rest = name[9:].split("-", 1)
        files[f"segments/{int(base) + generator.randrange(3):020d}-{rest}"] = bytes(data)
    elif kind == "exchange":
        other = generator.choice(sorted(files))
        files[name], files[other] = files[other], files[name]
        return files, f"exchange {name} {other}"
    if kind == "delete":
        del files[name]
    else:
        files[name] = bytes(data)
    return files, f"{kind} {name} at {at}"


def reduce(verdict):
    if "error" in verdict:
        return verdict
    findings = [(f["kind"], f.get("file"), f.get("position"), f.get("first"), f.get("last")) for f in verdict["findings"]]
    return {"ok": verdict["ok"], "events": verdict["events"], "control": verdict["control_events"], "findings": findings}


def by_reader(log):
    try:
        return reduce(Log(log).verify())
    except Unsupported:
        return {"error": "unsupported"}
    except NotALog:
        return {"error": "not a log"}


def by_tool(tidemark, log):
    answer = subprocess.run([tidemark, "verify", log, "--json"], capture_output=True)
    if answer.returncode in (0, 1):
        return reduce(json.loads(answer.stdout))
    text = answer.stderr.decode()
    return {"error": "unsupported" if "newer" in text else "not a log" if "no log" in text or "lost its identity" in text else text}


def content(command):
    return subprocess.run(command, capture_output=True).stdout


def main():
    tidemark = os.path.abspath(sys.argv[1])
    images = int(sys.argv[2]) if len(sys.argv) > 2 else 600
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    generator = random.Random(seed)
    start = time.monotonic()
    folder = tempfile.mkdtemp(prefix="agreement-")
    differing = []
    try:
        logs = make_logs(tidemark, folder)
        vectors = os.path.join(ROOT, "Specs", "vectors")
        for name in sorted(os.listdir(vectors)) if os.path.isdir(vectors) else []:
            if os.path.isdir(os.path.join(vectors, name)):
                logs["vector " + name] = load(os.path.join(vectors, name))
        work = os.path.join(folder, "work")
        names = sorted(logs)
        for number in range(images):
            name = names[number % len(names)]
            files, what = (logs[name], "as it is") if number < len(names) else damage(logs[name], generator)
            store(files, work)
            ours, theirs = by_tool(tidemark, work), by_reader(work)
            if ours != theirs:
                differing.append((name, what, ours, theirs))
            elif number < len(names) and ours.get("ok"):
                reader = os.path.join(ROOT, "tools", "reader", "read.py")
                if content([tidemark, "cat", work, "--control"]) != content([sys.executable, reader, "cat", work, "--control"]):
                    differing.append((name, "content", "", ""))
    finally:
        shutil.rmtree(folder)
    print(f"layer=readers states={images} violations={len(differing)} seed={seed} logs={len(logs)} seconds={time.monotonic() - start:.0f}")
    for name, what, ours, theirs in differing[:12]:
        print(f"  {name}, {what}\n    tool   {str(ours)[:600]}\n    reader {str(theirs)[:600]}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
