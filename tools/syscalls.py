"""What the tool asks of the kernel, seen with strace.

    python3 tools/syscalls.py TIDEMARK

One durable append is one write and one sync, into space that was written before; a new segment's name is durable before the first acknowledgement out
of it. Prints the calls of one append and of one roll; exit code 1 if anything differs.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

CALLS = "pwrite64,fdatasync,fsync,rename,unlink,ftruncate,fallocate,openat,write,fstat,newfstatat"
CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?")


def trace(tidemark, log, lines, *options):
    """The calls of an import, as (name, path, text of the arguments, result)."""
    output = log + ".trace"
    command = ["strace", "-f", "-y", "-s", "24", "-o", output, "-e", "trace=" + CALLS, tidemark, "append", log, "--format", "lines", "--acks", *options, "-"]
    subprocess.run(command, input=lines, stdout=subprocess.DEVNULL, check=True)
    calls = []
    for line in whole_lines(output):
        match = CALL.match(line)
        if match:
            name, arguments, result, _ = match.groups()
            path = re.search(r"<([^>]*)>|\"([^\"]*)\"", arguments)
            calls.append((name, (path.group(1) or path.group(2)) if path else "", arguments, int(result)))
    return calls


def whole_lines(path):
    """The lines of a trace; a call that another thread's call interrupted stands where it ended."""
    begun = {}
    for line in open(path, errors="replace"):
        thread, _, rest = line.rstrip("\n").partition(" ")
        rest = rest.lstrip()
        if rest.endswith("<unfinished ...>"):
            begun[thread] = rest.removesuffix("<unfinished ...>")
        elif rest.startswith("<... "):
            yield f"{thread} {begun.pop(thread, '')}{rest.split('resumed>', 1)[-1]}"
        else:
            yield f"{thread} {rest}"


def acknowledgements(calls):
    return [index for index, call in enumerate(calls) if call[0] == "write" and '"ack ' in call[2]]


def show(title, calls):
    print(title)
    for name, path, arguments, result in calls:
        place = path.split("/segments/")[-1] if "/segments" in path else os.path.basename(path)
        detail = ""
        if name == "pwrite64":
            length, position = arguments.rsplit(", ", 2)[1:]
            detail = f" {length} bytes at {position}"
        print(f"  {name:9} {place[-60:]}{detail}")


def extents(calls):
    """How far each file was written, from its writes."""
    ends = {}
    for name, path, arguments, _ in calls:
        if name == "pwrite64":
            length, position = (int(word) for word in arguments.rsplit(", ", 2)[1:])
            ends[path] = max(ends.get(path, 0), length + position)
    return ends


def check_append(tidemark, folder):
    log = os.path.join(folder, "one")
    subprocess.run([tidemark, "init", log], check=True, stdout=subprocess.DEVNULL)
    length = max(os.path.getsize(os.path.join(log, "segments", name)) for name in os.listdir(os.path.join(log, "segments")))
    calls = trace(tidemark, log, b"first\nsecond\nthird\n")
    marks = acknowledgements(calls)
    between = [call for call in calls[marks[1] + 1:marks[2]] if call[0] != "openat"]
    show("one append:", between)
    names = [call[0] for call in between]
    grown = max(extents(between).values(), default=0) > length
    return [] if names == ["pwrite64", "fdatasync"] and not grown else [f"one append made {names}, growing: {grown}"]


def check_roll(tidemark, folder):
    log = os.path.join(folder, "roll")
    subprocess.run([tidemark, "init", log], check=True, stdout=subprocess.DEVNULL)
    calls = trace(tidemark, log, b"".join(b"%d" % number + b"x" * 900_000 + b"\n" for number in range(11)))
    marks = acknowledgements(calls)
    renames = [index for index, call in enumerate(calls) if call[0] == "rename" and ".open" in call[1]]
    if not renames:
        return ["no segment was begun"]
    begun = renames[0]
    path = calls[begun][1].removesuffix(".tmp")
    following = next(mark for mark in marks if mark > begun)
    before = max(mark for mark in marks if mark < begun)
    show("one append that begins a segment:", [call for call in calls[before + 1:following] if call[0] in CALLS.split(",")[:5]])
    complaints = []
    synced = [index for index in range(begun) if calls[index][0] == "fdatasync" and calls[index][1] == path + ".tmp"]
    if not synced:
        complaints.append("the new segment got its name before it was synced")
    directory = [index for index in range(begun, following) if calls[index][0] == "fsync" and calls[index][1].endswith("/segments")]
    frame = [index for index in range(begun, following) if calls[index][0] == "pwrite64" and calls[index][1] == path]
    if not directory or not frame or directory[0] > frame[0]:
        complaints.append("the first frame was written before the new segment's name was durable")
    if not any(calls[index][0] == "fdatasync" and calls[index][1] == path for index in range(frame[0] if frame else begun, following)):
        complaints.append("an event was acknowledged before its frame was synced")
    return complaints


def main():
    tidemark = os.path.abspath(sys.argv[1])
    folder = tempfile.mkdtemp(prefix="syscalls-")
    try:
        complaints = check_append(tidemark, folder) + check_roll(tidemark, folder)
    finally:
        shutil.rmtree(folder)
    for complaint in complaints:
        print("violation: " + complaint)
    print(f"layer=syscalls states=2 violations={len(complaints)}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
