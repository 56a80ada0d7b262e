"""Kills a writer again and again, always on the same log, and checks what is there afterwards.

    python3 tools/kills.py TIDEMARK [KILLS [SEED]]

Each writer appends numbered lines and tells what was acknowledged; it is killed with SIGKILL at a random instant, be it while starting, recovering or
appending. In the end every acknowledged line must be there once, in order, and each writer's lines a prefix of what it was given; and the number of
segments must follow from the bytes written, not from the number of kills. Prints one line; exit code 1 if anything is wrong.
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

LINES = 400
SEGMENT_BYTES = 8 << 20


def one_writer(tidemark, log, number, generator):
    """Starts a writer, kills it, and returns how many of its lines were acknowledged."""
    batch = generator.choice((1, 1, 3, 20))
    writer = subprocess.Popen(
        [tidemark, "append", log, "--format", "lines", "--type", "line", "--acks", "--batch", str(batch), "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    padding = "x" * generator.choice((0, 10, 200, 900))
    try:
        writer.stdin.write("".join(f"{number} {index} {padding}\n" for index in range(LINES)).encode())
        writer.stdin.flush()
    except BrokenPipeError:
        pass
    time.sleep(generator.random() ** 2 * 0.03)
    writer.send_signal(signal.SIGKILL)
    # What the pipe holds was said before the kill.
    output, errors = writer.communicate()
    acknowledged = output.count(b"\nack ") + output.startswith(b"ack ")
    if not output.endswith(b"\n") and acknowledged:
        acknowledged -= 1
    if writer.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"a writer failed: {errors.decode(errors='replace')}")
    return min(acknowledged * batch, LINES)


def check(tidemark, log, acknowledged):
    """Compares the log with what was acknowledged; returns a list of complaints and the number of events."""
    verdict = json.loads(subprocess.run([tidemark, "verify", log, "--json"], capture_output=True).stdout)
    complaints = [] if verdict["ok"] else [f"verify: {verdict['findings'][:3]}"]
    found = {}
    last = -1
    reader = subprocess.Popen([tidemark, "cat", log, "--format", "raw"], stdout=subprocess.PIPE)
    for line in reader.stdout:
        number, index = (int(word) for word in line.split()[:2])
        if number < last:
            complaints.append(f"a line of writer {number} follows one of writer {last}")
        last = number
        if index != found.get(number, 0):
            complaints.append(f"line {index} of writer {number} stands where {found.get(number, 0)} should")
        found[number] = index + 1
    reader.wait()
    for number, count in enumerate(acknowledged):
        if found.get(number, 0) < count:
            complaints.append(f"writer {number}: {count} lines acknowledged, {found.get(number, 0)} there")
    return complaints, sum(found.values()), verdict["segments"]


def main():
    tidemark = os.path.abspath(sys.argv[1])
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    generator = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="kills-")
    try:
        log = os.path.join(folder, "log")
        subprocess.run([tidemark, "init", log], check=True, stdout=subprocess.DEVNULL)
        start = time.monotonic()
        acknowledged = [one_writer(tidemark, log, number, generator) for number in range(kills)]
        subprocess.run([tidemark, "recover", log], check=True, stdout=subprocess.DEVNULL)
        complaints, events, segments = check(tidemark, log, acknowledged)
        size = sum(os.path.getsize(os.path.join(log, "segments", name)) for name in os.listdir(os.path.join(log, "segments")))
        info = json.loads(subprocess.run([tidemark, "info", log, "--json"], capture_output=True).stdout)
        bound = info["bytes_of_events"] // (SEGMENT_BYTES // 2) + 2
        if segments > bound:
            complaints.append(f"{segments} segments, at most {bound} follow from {info['bytes_of_events']} bytes")
        seconds = time.monotonic() - start
        print(f"layer=kill states={kills} violations={len(complaints)} seed={seed} acknowledged={sum(acknowledged)} events={events} "
              f"segments={segments} bytes={size} rate={60 * kills / seconds:.0f}/min")
        for complaint in complaints[:20]:
            print("  " + complaint)
        return 1 if complaints else 0
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
