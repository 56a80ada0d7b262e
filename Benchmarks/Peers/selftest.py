"""Tests the peers: each must keep what it acknowledged through kill -9, say what went wrong, and sync as its setting says.

    tools/peers --test
    python3 Benchmarks/Peers/selftest.py FOLDER CONTENT_VECTORS [SEED]

FOLDER holds the programs, CONTENT_VECTORS is the program that prints the content of an event. Prints one line for each peer, and at last
how many tests passed and failed; exit code 1 if one failed or there was no peer.
"""

import fcntl
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import termios
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MASK = (1 << 64) - 1
# The first outputs for two states to start with, computed apart from any code here.
KNOWN_OUTPUTS = {
    0: (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F),
    1234567: (6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821),
}
CLAIMS = ("power", "process", "none")
# The file of a store whose first bytes are needed to open it.
ENTRY_FILES = {"sqlite": "outbox.db", "lmdb": "data.mdb", "rocksdb": "CURRENT", "leveldb": "CURRENT"}
TESTS = []


def test(function, engines=tuple(ENTRY_FILES)):
    TESTS.append((function, engines))
    return function


def test_with(*engines):
    return lambda function: test(function, engines)


class Unavailable(Exception):
    """A test can't be made on this machine."""


def equal(actual, expected, what=""):
    if actual != expected:
        raise AssertionError(f"{what}: {short(actual)} instead of {short(expected)}")


def holds(condition, what):
    if not condition:
        raise AssertionError(what)


def short(value):
    text = repr(value)
    return text if len(text) < 300 else f"{text[:150]} ... {text[-100:]}"


# What an event holds, from the description alone.


def random_words(state, count):
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        word = state
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK
        yield word ^ (word >> 31)


def content(number, size):
    words = (number, *random_words(number, size // 8))
    return b"".join(word.to_bytes(8, "little") for word in words)[:size]


def content_vectors(program, generator):
    for state, outputs in KNOWN_OUTPUTS.items():
        equal(tuple(random_words(state, len(outputs))), outputs, f"the outputs for state {state}")
    cases = [(number, size) for number in (0, 1, 255, 256, 1234567, 2**63 - 1) for size in (8, 9, 15, 16, 17, 200)]
    cases += [(generator.getrandbits(63), generator.randrange(8, 5000)) for _ in range(50)]
    for number, size in cases:
        output = subprocess.run([program, str(number), str(size)], capture_output=True, check=True, text=True).stdout
        equal(output.strip(), content(number, size).hex(), f"the content of event {number} with {size} bytes")
    return len(cases)


# A peer and its verbs.


class Peer:
    def __init__(self, path, work, generator):
        self.path, self.name, self.engine = path, path.name, path.name.split("-")[0]
        self.work, self.generator = work, generator

    def directory(self, name, make=True):
        directory = self.work / self.name / name
        (directory if make else directory.parent).mkdir(parents=True, exist_ok=True)
        return directory

    def run(self, *arguments, **options):
        return subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)

    def succeeds(self, *arguments):
        done = self.run(*arguments)
        equal((done.returncode, done.stderr), (0, ""), f"exit code and errors of {arguments[0]}")
        return done.stdout

    def fails(self, *arguments, **options):
        """Runs a verb that must fail with one line on standard error, and returns its standard output."""
        done = self.run(*arguments, **options)
        equal(done.returncode, 1, f"exit code of {arguments[0]}, {done.stderr!r}")
        holds(re.fullmatch(rf"{self.name}: .+\n", done.stderr), f"not one line on standard error: {done.stderr!r}")
        return done.stdout

    def write(self, directory, first, count, *options):
        """Writes events and returns the numbers that were acknowledged."""
        return [int(line) for line in self.succeeds("write", directory, "--first", first, "--count", count, *options).splitlines()]

    def verify(self, directory):
        """Returns the lines for the events, as numbers where the event is good."""
        *events, end = self.succeeds("verify", directory).splitlines()
        word, count, microseconds = end.split()
        equal((word, int(count)), ("end", len(events)), "the last line of verify")
        holds(int(microseconds) >= 0, "a time below zero")
        return [int(line) if line.isdigit() else line for line in events]

    def write_until_killed(self, directory, first, batch, enough):
        """Kills a writer a moment after it has acknowledged so many commits; returns the last number it acknowledged, or `first` - 1."""
        command = [self.path, "write", directory, "--first", str(first), "--batch", str(batch)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            for _ in range(enough):
                holds(writer.stdout.readline(), "the writer ended by itself")
            time.sleep(self.generator.random() * 0.004)
        finally:
            writer.send_signal(signal.SIGKILL)
        # The reader above may hold lines already; the pipe holds what was said before the kill.
        output, errors = writer.stdout.read().decode(), writer.stderr.read().decode()
        equal((writer.wait(), errors), (-signal.SIGKILL, ""), "the end of the writer")
        holds(output == "" or output.endswith("\n"), f"half an acknowledgement: {output[-30:]!r}")
        acknowledged = [first - 1 + batch * (enough + index + 1) for index in range(output.count("\n"))]
        equal([int(line) for line in output.splitlines()], acknowledged, "acknowledgements")
        return acknowledged[-1] if acknowledged else first - 1 + batch * enough


def numbers(first, count):
    return list(range(first, first + count))


def changed(data):
    return data[:-1] + bytes((data[-1] ^ 1,))


# The tests, each with every peer.


@test
def describes_itself(peer):
    output = peer.succeeds("describe")
    equal(output.count("\n"), 1, "lines of describe")
    facts = json.loads(output)
    equal(sorted(facts), ["claims", "library", "name", "setting"], "keys of describe")
    equal(facts["name"], peer.engine, "name")
    name = peer.engine if facts["setting"] == "default" else f"{peer.engine}-{facts['setting']}"
    equal(name, peer.name, "name and setting")
    holds(facts["claims"] in CLAIMS, f"claims {facts['claims']!r}")
    holds(re.fullmatch(r"\d+(\.\d+)+", facts["library"]), f"version {facts['library']!r}")


@test
def refuses_wrong_usage(peer):
    directory = peer.directory("usage", make=False)
    for line in (
        "", "append", "--help", "describe D", "verify", "verify D more", "verify --first", "write", "write D", "write D 1",
        "write --first 1", "write D --first", "write D --first x", "write D --first -1",
        "write D --first 1x", "write D --first 9223372036854775808", "write D --first 1 --count", "write D --first 1 --size 7",
        "write D --first 1 --size 16777217", "write D --first 1 --batch 0", "write D --first 1 --other 1",
    ):
        done = peer.run(*(str(directory) if word == "D" else word for word in line.split()))
        equal((done.returncode, done.stdout), (2, ""), f"exit code and output of {line!r}")
        holds("usage:" in done.stderr, f"no usage for {line!r}")
    holds(not directory.exists(), "wrong usage made a directory")


@test
def finds_nothing_where_nothing_was_made(peer):
    empty, missing = peer.directory("empty"), peer.directory("missing", make=False)
    (empty / "lost+found").mkdir()
    for directory in (empty, missing):
        equal(peer.succeeds("verify", directory), "end 0 0\n", "verify")
    equal((os.listdir(empty), missing.exists()), (["lost+found"], False), "what verify left")


@test
def keeps_a_thousand_events(peer):
    directory = peer.directory("thousand", make=False)
    equal(peer.write(directory, 1, 1000), numbers(1, 1000), "acknowledgements")
    for _ in range(2):
        equal(peer.verify(directory), numbers(1, 1000), "events")


@test
def acknowledges_each_batch_once(peer):
    directory = peer.directory("batches")
    equal(peer.write(directory, 0, 250, "--batch", 100), [99, 199, 249], "acknowledgements")
    equal(peer.write(directory, 250, 0), [], "acknowledgements of no events")
    equal(peer.write(directory, 5000, 3, "--batch", 7), [5002], "acknowledgements")
    equal(peer.verify(directory), numbers(0, 250) + numbers(5000, 3), "events")


@test
def keeps_the_order_of_appending(peer):
    directory = peer.directory("order")
    for first in (500, 1, 2**63 - 1, 500):
        equal(peer.write(directory, first, 1), [first], "acknowledgements")
    equal(peer.verify(directory), [500, 1, 2**63 - 1, 500], "events")


@test
def keeps_events_of_any_size(peer):
    directory = peer.directory("sizes")
    sizes = (8, 9, 4095, 4096, 5000, 100_000, 16 << 20)
    for number, size in enumerate(sizes):
        peer.write(directory, number, 1, "--size", size)
    equal(peer.verify(directory), numbers(0, len(sizes)), "events")


@test
def acknowledges_with_one_write(peer):
    # A socket that keeps messages apart shows each write as one message.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        command = [peer.path, "write", peer.directory("messages"), "--first", "98", "--count", "10"]
        equal(subprocess.run(command, stdout=theirs, timeout=60).returncode, 0, "exit code")
        theirs.close()
        equal([ours.recv(100) for _ in range(11)], [b"%d\n" % number for number in range(98, 108)] + [b""], "messages")


@test
def has_committed_when_it_acknowledges(peer):
    """Lets a writer stop in the middle of an acknowledgement, for a pipe that is full: the event must be there already."""
    directory, first, page = peer.directory("stopped"), 10**18, 4096
    line_bytes = len(f"{first}\n")
    reading, writing = os.pipe()
    try:
        holds(fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, page) == page, "a pipe of one page is not to be had")
        os.write(writing, b"\n" * (page - 4 * line_bytes - 1))
        writer = subprocess.Popen([peer.path, "write", directory, "--first", str(first)], stdout=writing)
        try:
            wait_for_pipe(writer.pid, reading, page - 1)
        finally:
            writer.kill()
            writer.wait()
    finally:
        os.close(writing)
        acknowledged = [int(line) for line in os.read(reading, page).split()]
        os.close(reading)
    equal(acknowledged, numbers(first, 4), "acknowledgements")
    equal(peer.verify(directory), numbers(first, 5), "events")


def wait_for_pipe(process, reading, byte_count):
    """Waits until so many bytes are in a pipe and the process waits for room in it."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        held = int.from_bytes(fcntl.ioctl(reading, termios.FIONREAD, bytes(4)), sys.byteorder)
        if held == byte_count and "pipe_write" in pathlib.Path(f"/proc/{process}/wchan").read_text():
            return
        time.sleep(0.005)
    raise AssertionError("the writer does not stop at a full pipe")


@test
def keeps_what_it_acknowledged_when_killed(peer):
    directory, count = peer.directory("kills"), 0
    for round_number in range(8):
        batch = (1, 1, 7, 100)[round_number % 4]
        acknowledged = peer.write_until_killed(directory, count + 1, batch, peer.generator.randrange(0, 60))
        events = peer.verify(directory)
        holds(len(events) >= acknowledged, f"{acknowledged} events acknowledged, {len(events)} there")
        equal(events, numbers(1, len(events)), "events")
        equal((len(events) - count) % batch, 0, f"events of a torn batch of {batch}")
        count = len(events)
    equal(peer.write(directory, count + 1, 10), numbers(count + 1, 10), "acknowledgements after the kills")
    equal(peer.verify(directory), numbers(1, count + 10), "events at last")


@test
def reports_a_file_that_must_not_grow(peer):
    directory = peer.directory("limit")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))

    # Four times what the limit allows: a peer that overlooks the error comes to an end.
    output = peer.fails("write", directory, "--first", 1, "--count", 2000, "--size", 4000, preexec_fn=limit)
    acknowledged = [int(line) for line in output.splitlines()]
    equal(acknowledged, numbers(1, len(acknowledged)), "acknowledgements")
    holds(acknowledged, "nothing was written before the limit")
    events = peer.verify(directory)
    holds(len(events) >= len(acknowledged), f"{len(acknowledged)} events acknowledged, {len(events)} there")
    equal(events, numbers(1, len(events)), "events")


@test
def reports_a_store_that_cannot_be_opened(peer):
    directory = peer.directory("garbage")
    peer.write(directory, 1, 10)
    for log in directory.glob("*-wal"):
        log.unlink()
    file = directory / ENTRY_FILES[peer.engine]
    file.write_bytes(peer.generator.randbytes(file.stat().st_size))
    for verb in (("verify", directory), ("write", directory, "--first", 11)):
        equal(peer.fails(*verb), "", "output")
    equal(peer.fails("verify", file), "", "output for a file")


@test_with("sqlite")
def marks_a_row_that_is_not_what_it_should_be(peer):
    directory = peer.directory("changed")
    peer.write(directory, 1, 20)
    database = sqlite3.connect(directory / "outbox.db")
    for number, data in database.execute("SELECT sequence, data FROM outbox").fetchall():
        equal(data, content(number, 200), f"event {number} as another program reads it")
    with database:
        database.execute("UPDATE outbox SET data = ? WHERE sequence = 5", (changed(content(5, 200)),))
        database.execute("UPDATE outbox SET data = ? WHERE sequence = 6", (b"\x06\0\0",))
    database.close()
    equal(peer.verify(directory), numbers(1, 4) + ["5 bad", "6 bad"] + numbers(7, 14), "events")


@test_with("lmdb")
def marks_a_page_that_is_not_what_it_should_be(peer):
    """LMDB has no checksums of its own. Those that have leave a changed event out, or refuse to read it."""
    directory = peer.directory("changed")
    peer.write(directory, 1, 20)
    file = directory / "data.mdb"
    file.write_bytes(file.read_bytes().replace(content(5, 200), changed(content(5, 200))))
    equal(peer.verify(directory), numbers(1, 4) + ["5 bad"] + numbers(6, 15), "events")


@test_with("sqlite")
def finds_an_index_that_disagrees(peer):
    directory = peer.directory("index")
    peer.write(directory, 1, 20)
    database = sqlite3.connect(directory / "outbox.db")
    database.execute("PRAGMA writable_schema = ON")
    # The index keeps its pages, but its columns are now said to be in another order.
    sql = "CREATE INDEX outbox_status ON outbox(created_at, status)"
    database.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'outbox_status'", (sql,))
    database.commit()
    database.close()
    equal(peer.fails("verify", directory).splitlines(), [str(number) for number in numbers(1, 20)], "events before the finding")


@test
def syncs_as_its_setting_says(peer):
    if shutil.which("strace") is None:
        raise Unavailable("strace is not installed")
    count, trace = 200, peer.work / peer.name / "trace"
    command = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", trace, peer.path, "write", peer.directory("syncs")]
    subprocess.run([*command, "--first", "1", "--count", str(count)], check=True, stdout=subprocess.DEVNULL, timeout=120)
    syncs = len(re.findall(r"\bf(?:data)?sync\(", trace.read_text()))
    if json.loads(peer.succeeds("describe"))["claims"] == "power":
        holds(syncs >= count, f"{syncs} syncs for {count} commits")
    else:
        holds(syncs < count // 5, f"{syncs} syncs for {count} commits, of a setting that does without")


def leaves_out_what_is_not_installed(work):
    """Builds with a compiler that finds no LMDB."""
    compiler, output = work / "cc", work / "built"
    compiler.write_text("#!/bin/sh\nfor word; do [ \"$word\" != -llmdb ] || exit 1; done\nexec cc \"$@\"\n")
    compiler.chmod(0o755)
    output.mkdir()
    (output / "lmdb").write_text("built by an earlier run")
    (output / "notes").write_text("not of our making")
    # Its temporary files go with ours, even if it is interrupted.
    environment = {**os.environ, "CC": str(compiler), "TMPDIR": str(work)}
    done = subprocess.run([ROOT / "tools/peers", "--output", output], capture_output=True, text=True, env=environment)
    equal((done.returncode, done.stderr), (0, ""), "exit code and errors of tools/peers")
    holds(re.search(r"; left out: .*\blmdb, lmdb-nosync \(liblmdb-dev is not installed\)", done.stdout), f"not said: {done.stdout!r}")
    present = {path.name for path in output.iterdir()}
    holds("notes" in present, "a file of somebody else is gone")
    holds(not present & {"lmdb", "lmdb-nosync"}, "left out, yet there")
    return done.stdout.strip()


def run_tests(peer):
    """Returns how many tests passed, failed and could not be made."""
    passed, failed, skipped, start = 0, 0, 0, time.monotonic()
    for function in (function for function, engines in TESTS if peer.engine in engines):
        try:
            function(peer)
            passed += 1
        except Unavailable as reason:
            skipped += 1
            print(f"{peer.name}: {function.__name__}: skipped, {reason}")
        except Exception as error:
            failed += 1
            print(f"{peer.name}: {function.__name__}: {error}")
            if not isinstance(error, AssertionError):
                traceback.print_exc()
    print(f"{peer.name}: {passed} passed, {failed} failed, {skipped} skipped, {time.monotonic() - start:.1f} s", flush=True)
    return passed, failed, skipped


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: selftest.py FOLDER CONTENT_VECTORS [SEED]")
    seed = int(sys.argv[3]) if len(sys.argv) == 4 else random.randrange(1 << 32)
    generator, start = random.Random(seed), time.monotonic()
    # So that what is below is cleared away, and no writer goes on.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = pathlib.Path(tempfile.mkdtemp(prefix="peers-"))
    try:
        print(f"seed {seed}; {content_vectors(sys.argv[2], generator)} contents are as computed in Python")
        print(f"without LMDB: {leaves_out_what_is_not_installed(work)}", flush=True)
        paths = sorted(path for path in pathlib.Path(sys.argv[1]).resolve().iterdir() if path.name.split("-")[0] in ENTRY_FILES)
        totals = [run_tests(Peer(path, work, generator)) for path in paths]
    finally:
        shutil.rmtree(work)
    passed, failed, skipped = (sum(column) for column in zip(*totals)) if totals else (0, 1, 0)
    print(f"{len(paths)} peers, {time.monotonic() - start:.1f} s")
    print(f"{passed + 2} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
