"""Writes what the logs of Specs/vectors/ must read as, or checks that they do.

    python3 tools/vectors.py TIDEMARK [--write]

Beside each log stands its verdict (`NAME.verify.json`) and, where history is whole, its events (`NAME.events.jsonl`, control events included). Both the
tool and the independent reader must say the same. The logs themselves are made by the tests of the engine, with TIDEMARK_WRITE_VECTORS=1.
"""

import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VECTORS = os.path.join(ROOT, "Specs", "vectors")
READER = [sys.executable, os.path.join(ROOT, "tools", "reader", "read.py")]


def vector_names():
    return sorted(name for name in os.listdir(VECTORS) if os.path.isdir(os.path.join(VECTORS, name)))


def vector_files(name):
    return load(os.path.join(VECTORS, name))


def load(log):
    """A log as {relative path: bytes}."""
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


def output(*command):
    return subprocess.run(command, capture_output=True).stdout.decode()


def verdict(text):
    """The verdict without the sentences, which are for people."""
    value = json.loads(text)
    for finding in value["findings"]:
        finding.pop("message", None)
    return json.dumps(value, indent=1) + "\n"


def main():
    tidemark = os.path.abspath(sys.argv[1])
    writes = "--write" in sys.argv
    complaints, count = [], 0
    for name in sorted(os.listdir(VECTORS)):
        log = os.path.join(VECTORS, name)
        if not os.path.isdir(log):
            continue
        count += 1
        ours = verdict(output(tidemark, "verify", log, "--json"))
        expected = {".verify.json": (ours, verdict(output(*READER, "verify", log)))}
        if json.loads(ours)["ok"]:
            expected[".events.jsonl"] = (output(tidemark, "cat", log, "--control"), output(*READER, "cat", log, "--control"))
        for ending, (tool, reader) in expected.items():
            path = log + ending
            if writes:
                with open(path, "w") as file:
                    file.write(tool)
            with open(path) as file:
                stored = file.read()
            if tool != stored:
                complaints.append(f"{name}{ending}: the tool says otherwise")
            if reader != stored:
                complaints.append(f"{name}{ending}: the reader says otherwise")
    print(f"layer=vectors states={count} violations={len(complaints)}")
    for complaint in complaints:
        print("  " + complaint)
    return 1 if complaints or not count else 0


if __name__ == "__main__":
    sys.exit(main())
