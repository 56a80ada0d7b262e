"""Kills `tidemark project --sqlite` again and again while events are appended, and checks the database with the `sqlite3` shell.

    python3 tools/sqlite_kills.py TIDEMARK [KILLS [SEED]]

Two definitions keep their rows in one database; one event in fifty corrects an earlier one, so that rows change and vanish as well. Each run is killed
with SIGKILL at a random instant; now and then the database is removed, and made again under the same kills. After each kill the database must be whole,
and the rows of both tables must be exactly those that the events below their applied offset give, as this script adds them up from `tidemark cat`; some
are compared with `tidemark as-of` as well. Prints one line; exit code 1 if anything is wrong.
"""

import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid

FIRST_EVENTS = 10_000
KEYS = 200
DEFINITIONS = {
    "total": {"name": "total", "types": ["reading"], "key": ["/k"], "value": "/v", "fold": "sum"},
    "least": {"name": "least", "types": ["reading"], "key": ["/k"], "value": "/v", "fold": "minimum"},
}


class Source:
    """Makes events as CloudEvents, one a line; some correct an earlier one."""

    def __init__(self, generator):
        self.generator = generator
        self.originals = []

    def lines(self, count):
        lines = []
        for _ in range(count):
            identity = str(uuid.UUID(int=self.generator.getrandbits(128), version=4))
            event = {"specversion": "1.0", "id": identity, "source": "/kills", "type": "reading"}
            if self.originals and self.generator.random() < 0.02:
                event["supersedes"] = self.generator.choice(self.originals)
            else:
                self.originals.append(identity)
            event["data"] = {"k": f"key {self.generator.randrange(KEYS)}", "v": self.generator.randrange(-500, 500) / 10}  # exact in tenths
            lines.append(json.dumps(event) + "\n")
        return "".join(lines).encode()


def append_meanwhile(writer, source, stop):
    """Feeds a writer until told to stop; in bursts, so that there is something to do for each run."""
    while not stop.is_set():
        writer.stdin.write(source.lines(source.generator.choice((1, 10, 100))))
        writer.stdin.flush()
        time.sleep(0.05)
    writer.stdin.close()


def look(database, is_thorough):
    """What the `sqlite3` shell sees, in one transaction: {name: (applied offset, row count, rows)}, and complaints."""
    sql = ".mode json\nBEGIN;\nSELECT name, applied_offset, row_count, generation FROM tidemark_applied;\n"
    sql += "".join(f"SELECT '{name}' AS name, (SELECT json_group_array(json_array(key, value, count)) FROM {name}) AS rows\n"
                   f"WHERE EXISTS (SELECT 1 FROM tidemark_applied WHERE name = '{name}');\n" for name in DEFINITIONS)
    sql += "COMMIT;\n" + ("PRAGMA integrity_check;\n" if is_thorough else "")
    shell = subprocess.run(["sqlite3", "-bail", database], input=sql, capture_output=True, text=True)
    if "no such table" in shell.stderr:
        # Killed before the first commit, or between those of the two definitions.
        tables = subprocess.run(["sqlite3", database, "SELECT count(*) FROM sqlite_schema WHERE name = 'tidemark_applied'"],
                                capture_output=True, text=True)
        if tables.stdout.strip() == "0":
            return {}, []
        names = subprocess.run(["sqlite3", database, "SELECT name FROM tidemark_applied"], capture_output=True, text=True).stdout.split()
        if len(names) == 1:
            return {}, []
    if shell.returncode != 0:
        return {}, [f"sqlite3: {shell.stderr.strip()}"]
    found, complaints = {}, []
    for text in shell.stdout.replace("]\n[", "]\n\0[").split("\0"):
        for row in json.loads(text) if text.strip() else ():
            if "applied_offset" in row:
                found[row["name"]] = [row["applied_offset"], row["row_count"], row["generation"], None]
            elif "rows" in row:
                found[row["name"]][3] = json.loads(row["rows"])
            elif row.get("integrity_check") != "ok":
                complaints.append(f"integrity_check: {row}")
    return found, complaints


def tenths(text):
    """A number of tenths: exact, and quick to add up."""
    whole, _, digit = str(text).partition(".")
    return int(whole + (digit or "0"))


def forget(log, database):
    """Removes the database, and the snapshots that would spare a run the way."""
    shutil.rmtree(f"{log}/projections", ignore_errors=True)
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(database + suffix):
            os.remove(database + suffix)


class Oracle:
    """What the log's events give, below an offset that only rises."""

    def __init__(self, tidemark, log):
        output = subprocess.run([tidemark, "cat", log], capture_output=True, check=True).stdout
        self.events = [json.loads(line, parse_float=tenths) for line in output.splitlines()]
        self.next = 0
        self.cache = {}
        self.standing = {}  # original id: (key, value)
        self.values = collections.defaultdict(collections.Counter)

    def advance(self, offset):
        if self.next < len(self.events) and self.events[self.next]["offset"] < offset:
            self.cache = {}
        while self.next < len(self.events) and self.events[self.next]["offset"] < offset:
            event = self.events[self.next]
            self.next += 1
            original = event.get("supersedes", event["id"])
            if original in self.standing:
                key, value = self.standing[original]
                self.values[key][value] -= 1
                if self.values[key][value] == 0:
                    del self.values[key][value]
            key, value = event["data"]["k"], event["data"]["v"]
            self.standing[original] = (key, value)
            self.values[key][value] += 1

    def rows(self, name):
        if name not in self.cache:
            self.cache[name] = self.add_up(name)
        return self.cache[name]

    def add_up(self, name):
        rows = {}
        for key, values in self.values.items():
            if values and name == "total":
                rows[key] = (sum(value * count for value, count in values.items()), sum(values.values()))
            elif values:
                rows[key] = (min(values), values[min(values)])
        return rows


def check(tidemark, log, folder, seen):
    """Compares what was seen after each kill with what the log says; returns complaints."""
    oracle = Oracle(tidemark, log)
    complaints = []
    states = sorted((offset, name, count, rows) for found in seen for name, (offset, count, _, rows) in found.items())
    for number, (offset, name, count, rows) in enumerate(states):
        oracle.advance(offset)
        table = {key: (tenths(value), number) for key, value, number in rows}
        if table != oracle.rows(name) or len(rows) != count:
            complaints.append(f"{name} at offset {offset}: {len(rows)} rows of {count}, which are not those of the log")
        if number % max(1, len(states) // 8) == 0:
            printed = subprocess.run([tidemark, "as-of", log, f"{folder}/{name}.json", str(offset), "--format", "jsonl"],
                                     capture_output=True, text=True, check=True).stdout
            told = [json.loads(line) for line in printed.splitlines()]
            if sorted((row["key"], row["value"], row["count"]) for row in told) != sorted(map(tuple, rows)):
                complaints.append(f"{name} at offset {offset}: as-of prints other rows")
    return complaints


def main():
    tidemark = os.path.abspath(sys.argv[1])
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    generator = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="sqlite-kills-")
    stop = threading.Event()
    try:
        log, database = f"{folder}/log", f"{folder}/rows.sqlite"
        for name, definition in DEFINITIONS.items():
            with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
                json.dump(definition, file)
        start = time.monotonic()
        source = Source(random.Random(seed + 1))
        append = [tidemark, "append", log, "--format", "cloudevents", "-"]
        subprocess.run([tidemark, "init", log], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(append + ["--batch", "1000"], input=source.lines(FIRST_EVENTS), check=True, capture_output=True)
        writer = subprocess.Popen(append + ["--batch", "20"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        feeder = threading.Thread(target=append_meanwhile, args=(writer, source, stop))
        feeder.start()
        seen, complaints, ended, delay = [], [], 0, 0.05
        for number in range(kills):
            name = generator.choice(list(DEFINITIONS))
            batch = str(generator.choice((20, 100, 1000, 20000)))
            if generator.random() < 0.15:
                # From the beginning again: many transactions to be killed in.
                forget(log, database)
            run = subprocess.Popen([tidemark, "project", log, f"{folder}/{name}.json", "--sqlite", database, "--batch", batch],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            # One in five shall come to its end: then the kills lie all over it, however fast this machine is now.
            time.sleep(generator.random() * delay)
            run.send_signal(signal.SIGKILL)
            errors = run.communicate()[1].decode(errors="replace")
            ended += run.returncode == 0
            delay = delay * 0.6 if run.returncode == 0 else min(delay * 1.15, 0.3)
            if run.returncode not in (0, -signal.SIGKILL) or errors and "left for later" not in errors:
                complaints.append(f"run {number} ended with {run.returncode}: {errors.strip()}")
            found, wrong = look(database, number % 10 == 0)
            complaints += wrong
            if found:
                seen.append(found)
        stop.set()
        feeder.join()
        writer.wait()
        # Whatever was killed, the next run goes on to the end.
        for name in DEFINITIONS:
            subprocess.run([tidemark, "project", log, f"{folder}/{name}.json", "--sqlite", database], check=True, stdout=subprocess.DEVNULL)
        found, wrong = look(database, True)
        seen.append(found)
        complaints += wrong + check(tidemark, log, folder, seen)
        offsets = len({state[0] for found in seen for state in found.values()})
        transactions = sum(state[2] for state in seen[-1].values())
        if offsets < min(5, kills // 10):
            complaints.append(f"only {offsets} offsets were seen: nothing is shown")
        seconds = time.monotonic() - start
        print(f"layer=sqlite states={kills} violations={len(complaints)} seed={seed} offsets={offsets} ended={ended} transactions={transactions} "
              f"events={seen[-1]['total'][0]} seconds={seconds:.0f}")
        for complaint in complaints[:20]:
            print("  " + complaint)
        return 1 if complaints else 0
    finally:
        stop.set()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
