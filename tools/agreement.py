"""Asks the tool and the independent reader for their verdicts on many logs, healthy and damaged, and compares them.

    python3 tools/agreement.py TIDEMARK [CASES [SEED]]

The logs: those of Specs/vectors/, some that the tool makes here, and the disks that power cuts, kills and damage leave of simulated workloads, before
and after recovery (`tidemark-simulate --images`, which must stand beside TIDEMARK). Each is looked at as it is, then CASES times a damaged copy of one:
bits, cuts, zeroed and exchanged sectors, files that are missing, renamed, doubled or exchanged, bytes behind the end.

Compared are whether all is well, the numbers of events, control events, frames and segments, each finding with its kind, file, position and offsets, and
the events themselves, byte by byte, as `cat --control --salvage` prints them; or else the class of the error with its file and position.

Prints one line, and what differs; exit code 1 if anything does.
"""

import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tools", "reader"), os.path.join(ROOT, "tools")]

import read  # noqa: E402
from tidemark_reader.log import Log  # noqa: E402
from tidemark_reader.report import NotALog, Unsupported  # noqa: E402
from vectors import load, store, vector_names, vector_files  # noqa: E402

IMAGES = int(os.environ.get("AGREEMENT_IMAGES", "150"))


def make_logs(tidemark, folder):
    """Small logs in every state that the tool can bring one into, each as {relative path: bytes}."""
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
        logs["made " + name] = load(log)
    return logs


def simulated_logs(tidemark, folder, seed):
    simulate = os.path.join(os.path.dirname(tidemark), "tidemark-simulate")
    subprocess.run([simulate, "--images", folder, "--states", str(IMAGES), "--seed", str(seed)], check=True)
    return {"image " + name: load(os.path.join(folder, name)) for name in os.listdir(folder)}


KINDS = ("flip", "flip", "flip", "cut", "zero", "sector", "header", "junk", "delete", "rename", "double", "exchange", "overwrite", "stale")


def damage_bytes(kind, data, generator):
    """Changes the bytes of one file; what was done."""
    used = max(1, len(bytes(data).rstrip(b"\0")))
    at = generator.randrange(min(len(data), used + 64)) if data else 0
    if data and generator.randrange(4) == 0:
        at = min(at, generator.randrange(4096 + 200))
    sector = at // 512 * 512
    if kind == "flip" and data:
        data[at] ^= 1 << generator.randrange(8)
    elif kind == "cut":
        del data[at:]
    elif kind == "zero":
        data[sector:sector + 512] = bytes(len(data[sector:sector + 512]))
    elif kind == "header":
        data[:4096] = bytes(len(data[:4096]))
    elif kind == "sector":
        other = generator.randrange(max(1, len(data) // 512)) * 512
        data[sector:sector + 512], data[other:other + 512] = data[other:other + 512], data[sector:sector + 512]
    elif kind == "junk":
        data += bytes(generator.randrange(256) for _ in range(generator.randrange(1, 300)))
    return f"{kind} at {at}"


def damage_names(kind, files, name, generator):
    """Deletes a file, or gives it a name of another."""
    base, rest = (name[9:].split("-", 1) + [""])[:2]
    other = generator.choice(sorted(files))
    if kind == "delete" or not (base.isdigit() and rest):
        del files[name]
    elif kind == "exchange":
        files[name], files[other] = files[other], files[name]
    elif kind == "overwrite":
        files[other] = files[name]
    else:
        if generator.randrange(2):
            base = f"{int(base) + generator.randrange(3):020d}"
        if generator.randrange(2):
            rest = rest.replace(rest[generator.randrange(32)], generator.choice("0123456789abcdef"), 1)
        if generator.randrange(4) == 0:
            rest = rest.replace("open", "SEALED").replace("sealed", "open").replace("SEALED", "sealed")
        files[f"segments/{base}-{rest}"] = files[name] if kind == "double" else files.pop(name)
    return f"{kind} {other}"


def damage(files, earlier, generator):
    """A damaged copy, and what was done. `earlier` is what the log was at another time."""
    files, done = dict(files), []
    for _ in range(generator.choice((1, 1, 1, 2))):
        if not files:
            break
        name = generator.choice([name for name in sorted(files) if name != "identity" or generator.randrange(5) == 0] or sorted(files))
        kind = generator.choice(KINDS)
        if kind == "stale":
            name = generator.choice(sorted(earlier) or [name])
            files[name] = earlier.get(name, files.get(name, b""))
            done.append(f"{name}: as it was")
        elif kind in ("delete", "rename", "double", "exchange", "overwrite"):
            done.append(f"{name}: {damage_names(kind, files, name, generator)}")
        else:
            data = bytearray(files[name])
            done.append(f"{name}: {damage_bytes(kind, data, generator)}")
            files[name] = bytes(data)
    return files, "; ".join(done)


def reduce(verdict):
    findings = [(f["kind"], f.get("file"), f.get("position"), f.get("first"), f.get("last")) for f in verdict["findings"]]
    return {**{key: verdict[key] for key in ("ok", "events", "control_events", "frames", "segments")}, "findings": findings}


def by_reader(log):
    """The reader's verdict, and the events that can be read."""
    try:
        return reduce(Log(log).verify()), b"".join(read.lines(Log(log), True))
    except Unsupported as problem:
        return {"error": "unsupported", "file": problem.file, "position": problem.position}, b""
    except NotALog as problem:
        return {"error": "not a log"}, b""
    except Exception as problem:  # a mistake of the reader, to be shown with its log
        return {"error": f"{type(problem).__name__}: {problem}"}, b""


def by_tool(tidemark, log):
    """The tool's, likewise."""
    answer = subprocess.run([tidemark, "verify", log, "--json"], capture_output=True)
    if answer.returncode in (0, 1):
        return reduce(json.loads(answer.stdout)), subprocess.run([tidemark, "cat", log, "--control", "--salvage"], capture_output=True).stdout
    text = answer.stderr.decode()
    if "newer than this program" in text:
        place = re.search(r"\(" + re.escape(log) + r"/([^,)]*)(?:, (\d+))?\)", text)
        return {"error": "unsupported", "file": place and place[1], "position": place and place[2] and int(place[2])}, b""
    return {"error": "not a log" if "no log" in text or "lost its identity" in text else text}, b""


def compare(tidemark, work, kinds):
    """None if both say the same, else what the tool says and what the reader says. Counts the kinds of findings and errors."""
    (ours, our_events), (theirs, their_events) = by_tool(tidemark, work), by_reader(work)
    kinds.update({finding[0] for finding in ours.get("findings", ())} or {ours.get("error", "nothing")[:40]})
    if ours != theirs:
        return str(ours), str(theirs)
    if our_events == their_events:
        return None
    first, second = our_events.decode("utf-8", "replace").splitlines(), their_events.decode("utf-8", "replace").splitlines()
    number = next((n for n, (a, b) in enumerate(zip(first, second)) if a != b), min(len(first), len(second)))
    return (f"{ours}\n      {len(first)} events, number {number}: {first[number:number + 1]}", f"{len(second)} events: {second[number:number + 1]}")


def main():
    tidemark = os.path.abspath(sys.argv[1])
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 600
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    kept = os.environ.get("AGREEMENT_KEEP")
    generator = random.Random(seed)
    start = time.monotonic()
    folder = tempfile.mkdtemp(prefix="agreement-")
    count, differing, kinds = 0, [], collections.Counter()
    try:
        logs = {"vector " + name: vector_files(name) for name in vector_names()}
        logs.update(make_logs(tidemark, folder))
        logs.update(simulated_logs(tidemark, os.path.join(folder, "images"), seed))
        work = os.path.join(folder, "work")
        names = sorted(logs)
        for number in range(len(names) + cases):
            name = names[number] if number < len(names) else generator.choice(names)
            files, what = (logs[name], "as it is") if number < len(names) else damage(logs[name], logs.get(name.replace("recovered", "crashed"), {}), generator)
            store(files, work)
            count += 1
            answers = compare(tidemark, work, kinds)
            if answers:
                if kept:
                    shutil.copytree(work, os.path.join(kept, str(len(differing))))
                differing.append((name, what, *answers))
    finally:
        shutil.rmtree(folder)
    print(f"layer=readers images={count} agreed={count - len(differing)} disagreed={len(differing)} seed={seed} logs={len(logs)} "
          f"kinds={len(kinds)} seconds={time.monotonic() - start:.0f}")
    if "AGREEMENT_SHOW" in os.environ:
        print("  " + ", ".join(f"{kind} {number}" for kind, number in kinds.most_common()))
    for name, what, ours, theirs in differing[:int(os.environ.get("AGREEMENT_SHOW", "12"))]:
        print(f"  {name}, {what}\n    tool   {ours[:900]}\n    reader {theirs[:900]}")
    return 1 if differing or not count else 0


if __name__ == "__main__":
    sys.exit(main())
