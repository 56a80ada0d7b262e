"""Captures on several devices, kills and cuts somewhere, reconnects, again and again; then every capture must be at the server once.

    python3 tools/exactly_once.py TIDEMARK [--rounds N] [--seed S] [--devices D] [--keep DIR]
    python3 tools/exactly_once.py TIDEMARK --bugs [--rounds N]

The second form wants an executable that was built with TIDEMARK_SEEDED_BUGS=1: with each of the server's seeded bugs in turn the campaign has to
find something.

Real processes over real TLS: `tidemark append` and `tidemark replicate` on each device, `tidemark serve` behind a network that misbehaves (network/proxy.py).
In a round something happens: the connection is cut or misused, shipments that were sent are sent again by somebody else, out of order, the server's
name can't be resolved, the device's clock or the server's is off by up to 20 years, the device's process or the server's is killed at a random
instant or at a random system call. Ids are drawn so that one in twenty was used by another device with the same content, and one in a hundred with
other content. In the end, without any trouble, everything is shipped, and compared with what `append` acknowledged: nothing lost, nothing double, change numbers
without a gap, receipts that an audit accepts, a server that never forgot anything, and whose rows are the same when they are made again from its
log. Prints one line; exit code 1 if anything is wrong.
"""

import argparse
import base64
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
import ssl

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "network"))
from proxy import Proxy  # noqa: E402

TENANT = "acme"
# Seeded bugs that no kill can show, or hardly one: `tidemark-simulate --bugs` has to catch them.
ONLY_POWER_CUTS = {"acknowledgedBeforeSync", "serverDirectoryNotSynced", "changeNumberBeforeCommit"}
# Of a hundred rounds. Half-open and slow connections cost seconds, so there are few.
NETWORK = {
    "none": 10, "refused": 8, "request-cut": 22, "reply-lost": 22, "reply-cut": 8, "delay": 4, "portal-page": 2, "half-open": 1, "slow": 1, "replay": 14,
    "name gone": 8}
DAY = 86_400
# How far the wall clock of a process is off, in seconds. At the last ones the certificate is not valid any more, or not yet.
CLOCKS = {0: 70, -DAY: 5, DAY: 5, -5 * 365 * DAY: 8, 5 * 365 * DAY: 8, -20 * 365 * DAY: 2, 20 * 365 * DAY: 2}
CERTIFICATE_YEARS = 10
NAME = "tidemark.test"
KILL_DEVICE, KILL_DEVICE_AT_CALL, KILL_SERVER, KILL_SERVER_AT_CALL = "kill device", "kill device at a call", "kill server", "kill server at a call"
TROUBLE = {"network": 50, KILL_DEVICE: 16, KILL_DEVICE_AT_CALL: 12, KILL_SERVER: 14, KILL_SERVER_AT_CALL: 8}


def at_call(number, command):
    """The command, killed when one of its threads makes that many system calls."""
    return ["strace", "-f", "-qqq", "-o", "/dev/null", "-e", "trace=all", "-e", "signal=none",
            "-e", f"inject=all:signal=KILL:when={number}", *command]


def misled(folder, clock=0, is_name_gone=False):
    """The environment of a process that is told a wrong time, or no address."""
    return {**os.environ, "LD_PRELOAD": str(folder / "misled.so"), "TIDEMARK_TEST_CLOCK": str(clock),
            "TIDEMARK_TEST_DNS": f"-{NAME}" if is_name_gone else NAME}


def drawn(generator, weights):
    return generator.choices(list(weights), list(weights.values()))[0]


class Server:
    """`tidemark serve`, which comes back whenever it ends. The proxies are told its port."""

    def __init__(self, tidemark, folder, generator):
        self.tidemark, self.folder, self.generator = tidemark, folder, generator
        self.directory = folder / "server"
        self.certificate = folder / "certificate.pem"
        self.proxies = []
        self.starts = 0
        self.process = None
        self.next_call = None
        self.port = None
        self.is_over = False
        self.is_calm = True
        self.clocks = collections.Counter()
        self.lock = threading.Lock()
        subprocess.run(
            [shutil.which("cc") or "clang", "-O1", "-shared", "-fPIC", "-o", str(folder / "misled.so"),
             str(pathlib.Path(__file__).resolve().parent / "network/misled.c"), "-ldl"],
            check=True)
        # Made by a clock that is behind, so that it is valid for clocks that are wrong by some years.
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(2 * CERTIFICATE_YEARS * 365),
             "-keyout", str(folder / "key.pem"), "-out", str(self.certificate), "-subj", "/CN=127.0.0.1", "-addext",
             f"subjectAltName=IP:127.0.0.1,DNS:{NAME}"],
            check=True, capture_output=True, env=misled(folder, -CERTIFICATE_YEARS * 365 * DAY))
        self.ready = threading.Event()
        threading.Thread(target=self._keep_running, daemon=True).start()
        if not self.ready.wait(60):
            raise SystemExit(f"the server does not start: {(folder / 'server.txt').read_text()[-2000:]}")

    def _keep_running(self):
        while not self.is_over:
            with self.lock:
                call, self.next_call = self.next_call, None
            command = [self.tidemark, "serve", str(self.directory), "--listen", "127.0.0.1:0", "--certificate", str(self.certificate), "--key",
                       str(self.folder / "key.pem"), "--rate", "1000000"]
            if call:
                command = at_call(call, command)
            clock = 0 if self.is_calm else drawn(self.generator, CLOCKS)
            self.clocks["server's clock wrong" if clock else "server's clock right"] += 1
            with open(self.folder / "server.txt", "ab") as errors:
                process = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True, env=misled(self.folder, clock))
            line = process.stdout.readline().decode()
            if line.startswith("listening on "):
                port = int(line.strip().rsplit(":", 1)[1])
                with self.lock:
                    self.process, self.port = process, port
                    for proxy in self.proxies:
                        proxy.target = port
                self.starts += 1
                self.ready.set()
            code = process.wait()
            process.stdout.close()
            self.ready.clear()
            if code not in (0, -signal.SIGKILL, 128 + signal.SIGKILL) and not self.is_over:
                raise SystemExit(f"the server ended with {code}: {(self.folder / 'server.txt').read_text()[-2000:]}")

    def kill(self):
        with self.lock:
            process = self.process
        if process and process.poll() is None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def kill_at_call(self, number):
        """Starts it anew so that it will be killed at a system call."""
        with self.lock:
            self.next_call = number
        self.kill()

    def start_calmly(self):
        """Ends whatever goes on, and starts it without a tracer, and with the right time."""
        self.is_calm = True
        with self.lock:
            self.next_call = None
        self.kill()
        time.sleep(0.2)
        if not self.ready.wait(60):
            raise SystemExit("the server does not come back")

    def forget_rows(self):
        """Has all that is derived from the ingest log made again."""
        for path in self.directory.glob("derived.sqlite*"):
            path.unlink()
        self.start_calmly()

    def stop(self):
        self.is_over = True
        with self.lock:
            process = self.process
        if process and process.poll() is None:
            process.send_signal(signal.SIGTERM)
            if process.wait(60) != 0:
                raise SystemExit(f"the server did not end well: {(self.folder / 'server.txt').read_text()[-2000:]}")

    def admin(self, *arguments):
        self.ready.wait(60)
        return subprocess.run(
            [self.tidemark, "admin", *arguments, "--data", str(self.directory), "--ca", str(self.certificate)], check=True, capture_output=True,
            text=True).stdout.strip()

    def get(self, target, token):
        context = ssl.create_default_context(cafile=str(self.certificate))
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{target}", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=60, context=context) as response:
            return json.load(response)


class Ledger:
    """What was captured: of each id the contents that devices gave it."""

    def __init__(self):
        self.contents = collections.defaultdict(dict)
        self.lock = threading.Lock()
        self.order = []

    def line(self, generator, device):
        """A new capture for a device: one that another device has already, one that contradicts it, or a fresh one."""
        with self.lock:
            draw = generator.random()
            if draw < 0.06 and self.order:
                name = generator.choice(self.order)
                known = self.contents[name]
                if device not in known:
                    text = next(iter(known.values()))
                    if draw >= 0.05:
                        text = json.dumps({"id": name, "value": f"not that of {device}"})
                    known[device] = text
                    return text
            name = str(uuid.UUID(int=generator.getrandbits(128), version=4))
            self.order.append(name)
            self.contents[name][device] = json.dumps({"id": name, "value": generator.randrange(10**9), "text": "x" * generator.randrange(200)})
            return self.contents[name][device]


class Device:
    """A log that is enrolled, and what happens to it."""

    def __init__(self, server, folder, number, ledger, generator):
        self.server, self.ledger, self.generator = server, ledger, generator
        self.name = f"device-{number}"
        self.log = str(folder / self.name)
        self.folder = folder
        self.proxy = Proxy(server.port, str(server.certificate), str(folder / "key.pem"), number)
        server.proxies.append(self.proxy)
        self.pending = []
        self.saved = []
        self.counts = collections.Counter()
        self.run("init", self.log)
        code = server.admin("code", TENANT)
        enrolled = self.run("enrol", self.log, "--server", f"https://{NAME}:{self.proxy.port}", "--code", code, "--ca", str(server.certificate))
        self.policy = folder / f"{self.name}.policy"
        self.server_key = enrolled.split()[-1]

    def run(self, *arguments):
        return subprocess.run(
            [self.server.tidemark, *arguments], check=True, capture_output=True, text=True, env=misled(self.folder)).stdout

    def audit(self):
        """What an audit by the device's keys and the server's says."""
        keys = "".join(line.split("  ")[1] + "\n" for line in self.run("keys", self.log).splitlines())
        self.policy.write_text(f"{keys}witness server {self.server_key}\nquorum server\n")
        done = subprocess.run(
            [self.server.tidemark, "audit", self.log, "--policy", str(self.policy), "--receipted", "--json"], capture_output=True, text=True)
        return json.loads(done.stdout)["verdict"]

    def attempt(self, arguments, text=None, call=None, kill_after=None, allowed=(0,), clock=0, is_name_gone=False):
        """Runs the tool, which may be killed. Whether it ended with success."""
        command = [self.server.tidemark, *arguments]
        if call:
            command = at_call(call, command)
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, env=misled(self.folder, clock, is_name_gone))
        if kill_after is not None:
            threading.Timer(kill_after, lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL)).start()
        try:
            output, errors = process.communicate(text, timeout=150)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            self.counts["took too long"] += 1
            return False
        code = process.returncode
        if code not in (*allowed, -signal.SIGKILL, 128 + signal.SIGKILL):
            raise SystemExit(f"{self.name}: {' '.join(arguments)} ended with {code}: {errors.decode(errors='replace')[-1500:]}")
        if code not in (0, *allowed):
            self.counts["killed"] += 1
        return code == 0

    def capture(self):
        """Appends what an earlier kill left undone, or a few new lines."""
        if not self.pending:
            self.pending = [self.ledger.line(self.generator, self.name) for _ in range(self.generator.randrange(1, 9))]
        call = self.generator.randrange(1, 200) if self.generator.random() < 0.06 else None
        kill = self.generator.random() * 0.02 if call is None and self.generator.random() < 0.06 else None
        text = "".join(line + "\n" for line in self.pending).encode()
        clock = drawn(self.generator, CLOCKS)
        if self.attempt(["append", self.log, "-", "--type", "scan", "--id-from", "/id"], text, call, kill, clock=clock):
            self.saved += self.pending
            self.pending = []

    def round(self):
        self.capture()
        trouble = drawn(self.generator, TROUBLE)
        self.counts[trouble] += 1
        call = kill = None
        is_name_gone = False
        self.proxy.fault = "none"
        if trouble == "network":
            self.proxy.fault = drawn(self.generator, NETWORK)
            is_name_gone = self.proxy.fault == "name gone"
            self.proxy.cut_at = self.generator.randrange(1, 9000)
            self.counts[f"network {self.proxy.fault}"] += 1
        elif trouble == KILL_DEVICE:
            kill = self.generator.random() * 0.12
        elif trouble == KILL_DEVICE_AT_CALL:
            call = self.generator.randrange(1, 500)
        elif trouble == KILL_SERVER:
            threading.Timer(self.generator.random() * 0.1, self.server.kill).start()
        else:
            self.server.kill_at_call(self.generator.randrange(1, 700))
        # A failure that is to be tried again ends with 3, see `tidemark help`.
        clock = drawn(self.generator, CLOCKS)
        self.counts["clock wrong"] += clock != 0
        if self.attempt(
                ["replicate", self.log, "--once"], call=call, kill_after=kill, allowed=(0, 3), clock=clock, is_name_gone=is_name_gone):
            self.counts["all accepted"] += 1
            if is_name_gone:
                raise SystemExit(f"{self.name}: everything was accepted without an address")

    def finish(self):
        """Without any trouble: everything is captured and accepted."""
        self.proxy.fault = "none"
        self.proxy.send_again(len(self.proxy.recorded))
        for status, count in self.proxy.replayed.items():
            self.counts[f"sent again {status}"] += count
        while self.pending:
            self.capture()
        for _ in range(20):
            self.server.ready.wait(60)
            if self.attempt(["replicate", self.log, "--once"], allowed=(0, 3)):
                return
            time.sleep(0.3)
        raise SystemExit(f"{self.name}: not everything was accepted without any trouble")


def all_changes(server, token):
    """Of the tenant, and the server's generation."""
    changes, since = [], 0
    while True:
        answer = server.get(f"/v1/changes?since={since}&limit=1000", token)
        changes += [change for change in answer["changes"] if change["kind"] == "event"]
        if answer["through"] == since:
            return changes, answer["generation"]
        since = answer["through"]


def compare(server, devices, token, generation):
    """What is wrong at the end; how many events the server has, and how many were saved."""
    wrong = []
    changes, last_generation = all_changes(server, token)
    if last_generation != generation:
        wrong.append("the server found that it had lost something")
    numbers = [change["number"] for change in changes]
    if numbers != list(range(1, len(numbers) + 1)):
        wrong.append("change numbers have a gap, or are out of order")
    at_server = collections.Counter(change["id"] for change in changes)
    wrong += [f"{name} is {count} times at the server" for name, count in at_server.items() if count != 1]
    winner = {change["id"]: change for change in changes}
    acknowledged = collections.Counter()
    for device in devices:
        status = json.loads(subprocess.run([server.tidemark, "status", device.log, "--json"], check=True, capture_output=True).stdout)
        if status["accepted"] < 1 or status["state"] not in ("idle", "stopped"):
            wrong.append(f"{device.name}: {status}")
        for line in device.saved:
            name = json.loads(line)["id"]
            acknowledged[name] += 1
            if name not in winner:
                wrong.append(f"{name} of {device.name} was saved and is not at the server")
        found = [json.loads(line) for line in subprocess.run(
            [server.tidemark, "cat", device.log, "--format", "jsonl"], check=True, capture_output=True, text=True).stdout.splitlines()]
        names = [event["id"] for event in found]
        if len(set(names)) != len(names) or set(names) != {json.loads(line)["id"] for line in device.saved}:
            wrong.append(f"{device.name}: its log does not hold what was saved, once")
        conflicts = sum(1 for line in device.saved if contradicts(line, winner))
        if status["quarantined"] != conflicts:
            wrong.append(f"{device.name}: {status['quarantined']} events are quarantined, {conflicts} contradict another")
        verdict = device.audit()
        if verdict != "proven":
            wrong.append(f"{device.name}: its audit says {verdict}")
    wrong += [f"{name} is at the server, and nobody captured it" for name in winner if name not in acknowledged]
    server.forget_rows()
    if all_changes(server, token) != (changes, last_generation):
        wrong.append("made again from the ingest log, the server's rows are others")
    return wrong, len(winner), sum(acknowledged.values())


def contradicts(line, winner):
    """Whether a saved line lost against another with its id."""
    change = winner.get(json.loads(line)["id"])
    return change is not None and base64.b64decode(change["data"]).decode() != line


def gate(options):
    """Runs the campaign with each bug; all have to be found, and without one nothing may be."""
    source = (pathlib.Path(__file__).resolve().parent.parent / "Sources/TidemarkServer/Storage/ServerBug.swift").read_text()
    bugs = [line.split()[1] for line in source.splitlines() if line.startswith("  case ")]
    bugs = [bug for bug in bugs if bug not in ONLY_POWER_CUTS]
    missed = []
    for bug in [None, *bugs]:
        environment = {**os.environ, "TIDEMARK_SERVER_BUG": bug or ""}
        command = [sys.executable, __file__, options.tidemark, "--rounds", str(options.rounds), "--seed", str(options.seed)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        found = (done.stderr.strip().splitlines() or done.stdout.strip().splitlines())[-1]
        print(f"bug={bug or 'none'} {'caught' if done.returncode else 'clean'}: {found[:150]}", flush=True)
        if (done.returncode == 0) == (bug is not None):
            missed.append(bug)
    print(f"layer=exactly-once-bugs bugs={len(bugs)} missed={len(missed)}")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tidemark")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--bugs", action="store_true")
    parser.add_argument("--keep", metavar="DIR", help="a new directory to work in, which stays")
    options = parser.parse_args()
    if options.bugs:
        return gate(options)
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="tidemark-once-"))
    folder.mkdir(exist_ok=True)
    started = time.monotonic()
    ledger = Ledger()
    server = Server(os.path.abspath(options.tidemark), folder, random.Random(options.seed))
    server.admin("tenant", TENANT)
    token = server.admin("office-token", TENANT)
    _, generation = all_changes(server, token)
    devices = [Device(server, folder, number, ledger, random.Random(options.seed * 1000 + number)) for number in range(options.devices)]
    server.is_calm = False
    failures = []

    def work(device):
        try:
            for _ in range(options.rounds // options.devices):
                device.round()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(device,)) for device in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    server.start_calmly()
    for device in devices:
        device.finish()
    wrong, at_server, saved = compare(server, devices, token, generation)
    server.stop()
    counts = sum((device.counts for device in devices), server.clocks)
    if options.rounds >= 300 and not (counts["sent again 200"] and counts["network name gone"] and counts["clock wrong"]):
        wrong.append(f"not every trouble was met: {dict(counts)}")
    details = " ".join(f"{name.replace(' ', '_')}={count}" for name, count in sorted(counts.items()))
    print(f"layer=exactly-once rounds={options.rounds} devices={options.devices} saved={saved} at_server={at_server} server_starts={server.starts} "
          f"{details} seconds={time.monotonic() - started:.0f} wrong={len(wrong)}")
    for complaint in wrong[:20]:
        print(complaint, file=sys.stderr)
    if not options.keep:
        shutil.rmtree(folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
