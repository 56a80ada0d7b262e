"""The main job on real input: a year of departures goes into a log while its writer is killed again and again. See tools/demo.

    python3 tools/demo.py TIDEMARK FLIGHTS_CSV_ZIP [--seed N] [--kills N] [--keep FOLDER]

Every run of the writer imports the whole file from its beginning: the ids make that safe. What the writer acknowledged before a kill has to be
there after it, and in the end every event once, in the order of the file. Then projections of it and of other logs are compared with computations
of their own (tools/demo_values.py). Exit code 0 if all that holds, 1 if not.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

import demo_devices
import demo_evidence
import demo_values
import departures

BATCH = 500


class Failure(Exception):
    """Something that had to hold does not."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


class Tool:
    """The command line of one log."""

    def __init__(self, program, log):
        self.program, self.log = program, log

    def run(self, command, *arguments, input=None, code=0):
        """Runs a command to its end and returns its standard output."""
        done = subprocess.run([self.program, command, self.log, *arguments], capture_output=True, text=True, input=input)
        expect(done.returncode == code, f"tidemark {command} ended with {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def json(self, command):
        return json.loads(self.run(command, "--json"))

    def start(self, command, *arguments, stdin=None):
        """Starts a command whose standard output is read while it runs; its errors go to a file, so that they never fill a pipe."""
        errors = tempfile.TemporaryFile()
        process = subprocess.Popen([self.program, command, self.log, *arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=errors)
        process.errors = errors
        return process


def end(process):
    """Waits for a command; returns its exit code and what it wrote on standard error."""
    code = process.wait()
    process.errors.seek(0)
    return code, process.errors.read().decode(errors="replace").strip()


def import_events(tool, source, kill_at=None, kill_after=None, pause=0.0):
    """Starts an import from the beginning of the file.

    It is killed once it has acknowledged `kill_at` offsets and a pause has passed, or `kill_after` seconds after its start; with neither it runs to
    its end. Returns the highest offset acknowledged and, if it came to its end, the answer on its last line.
    """
    with open(source, "rb") as file:
        writer = tool.start(
            "append", "--type", "scan", "--format", "jsonl", "--id-from", "/id", "--subject-from", "/aircraft", "--time-from", "/time",
            "--batch", str(BATCH), "--acks", "-", stdin=file,
        )
    timer = threading.Timer(kill_after, writer.kill) if kill_after is not None else None
    if timer:
        timer.start()
    acknowledged, answer = 0, None
    # What was written into the pipe before the kill counts: it is read to its end.
    for line in writer.stdout:
        words = line.split()
        if words[:1] == [b"ack"] and len(words) == 2:
            acknowledged = max(acknowledged, int(words[1]))
            if kill_at is not None and acknowledged >= kill_at:
                kill_at = None
                time.sleep(pause)
                writer.kill()
        elif line.startswith(b"{"):
            answer = json.loads(line)
    code, errors = end(writer)
    if timer:
        timer.cancel()
    expect(code in (0, -9), f"tidemark append ended with {code}: {errors}")
    expect(code == -9 or answer is not None, "tidemark append ended without its closing line")
    return acknowledged, answer if code == 0 else None


def kill_and_recover(tool, source, count, kills, chance):
    """Kills the writer `kills` times, most while it writes, every third one soon after its start, and checks the log each time."""
    print("kill   acknowledged   found in the log   recovered in", flush=True)
    promised = 0
    for number in range(1, kills + 1):
        if number % 3 == 0:
            acknowledged, answer = import_events(tool, source, kill_after=chance.uniform(0.005, 0.4))
        else:
            target = int(count * (number - chance.random()) / (kills + 1))
            acknowledged, answer = import_events(tool, source, kill_at=target, pause=chance.uniform(0, 0.02))
        expect(answer is None, f"the writer came to its end before kill {number}")
        promised = max(promised, acknowledged)
        start = time.monotonic()
        tool.run("recover")
        recovered = time.monotonic() - start
        found = tool.json("info")
        expect(found["size"] >= promised, f"acknowledged up to {promised}, but only {found['size']} were found")
        promised = found["size"]
        print(f"{number:4}   {acknowledged:12,}   {found['size']:16,}   {recovered * 1000:9.0f} ms", flush=True)


def compare(tool, source):
    """Replays the log beside the file: the same ids, in the same order, with the same content. Returns the number of events."""
    replay = tool.start("cat", "--format", "jsonl")
    count, offset = 0, -1
    with open(source, "rb") as file:
        for line in replay.stdout:
            event, wanted = json.loads(line), json.loads(file.readline() or b"{}")
            expect(event["id"] == wanted.get("id"), f"event {count} is {event['id']}, not {wanted.get('id')}")
            expect(event["data"] == wanted, f"event {event['id']} has other content than its row")
            expect(event.get("subject") == wanted.get("aircraft"), f"event {event['id']} has the subject {event.get('subject')}")
            expect(event["offset"] > offset, f"offset {event['offset']} follows {offset}")
            count, offset = count + 1, event["offset"]
        expect(not file.read(1), f"only {count} events were replayed")
    code, errors = end(replay)
    expect(code == 0, f"tidemark cat ended with {code}: {errors}")
    return count


def run(program, table, folder, seed, kills):
    started = time.monotonic()
    source = folder / "departures.jsonl"
    with open(source, "w", encoding="ascii") as output:
        ids = departures.write(table, output)
    expect(len(set(ids)) == len(ids), "two rows have one id")
    print(f"{len(ids):,} departures, {source.stat().st_size / 1e6:.1f} MB of JSON lines; seed {seed}", flush=True)

    tool = Tool(program, str(folder / "log"))
    tool.run("init")
    kill_and_recover(tool, source, len(ids), kills, random.Random(seed))
    _, answer = import_events(tool, source)
    expect(answer["count"] + answer["duplicates"] == len(ids), f"the last import says {answer}")
    print(f"last import   {answer['count']:,} new events, {answer['duplicates']:,} there already", flush=True)

    tool.run("seal")
    report, info = tool.json("verify"), tool.json("info")
    expect(report["ok"] and not report["findings"], f"tidemark verify found {report['findings']}")
    expect(report["events"] == len(ids), f"tidemark verify counted {report['events']} events")
    replayed = compare(tool, source)
    control = info["size"] - info["first"] - info["gaps"] - replayed
    print(f"verified      {report['events']:,} events in {report['frames']:,} frames of {report['segments']} segments, nothing found")
    print(f"replayed      {replayed:,} events: none lost, none doubled, order and content as in the table; {control} control events apart")
    print(
        f"space         {info['bytes_on_disk'] / 1e6:.1f} MB on disk for {info['bytes_of_events'] / 1e6:.1f} MB of events: "
        f"{info['bytes_on_disk'] / len(ids):.0f} bytes an event, compressed to {info['bytes_on_disk'] / info['bytes_of_events']:.0%}"
    )
    print("values", flush=True)
    demo_values.departures(tool, source, expect)
    demo_values.readings(Tool(program, str(folder / "readings")), table.parent / "weather.csv", expect)
    demo_values.site(Tool(program, str(folder / "site")), expect)
    print("evidence", flush=True)
    demo_evidence.show(tool, folder, range(1000, 1005), expect)
    print("shipping", flush=True)
    demo_devices.show(program, folder, expect)
    print(f"passed in {time.monotonic() - started:.1f} s: {len(ids):,} of {len(ids):,} events after {kills} kills")


def main():
    parser = argparse.ArgumentParser(description="Departures into a log, the writer killed several times.")
    parser.add_argument("program")
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=2013)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--keep", type=pathlib.Path, help="an empty folder for the lines and the log, which stay there")
    options = parser.parse_args()
    try:
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            run(options.program, options.table, options.keep, options.seed, options.kills)
        else:
            with tempfile.TemporaryDirectory(prefix="tidemark-demo-") as folder:
                run(options.program, options.table, pathlib.Path(folder), options.seed, options.kills)
    except Failure as failure:
        sys.exit(f"demo failed: {failure}")


if __name__ == "__main__":
    main()
