"""What tools/demo shows of shipping: two devices and a server on this machine, without a network for a while, killed, connected again."""

import datetime
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from serving import Serving

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "network"))
from proxy import Proxy  # noqa: E402

TENANT = "acme"
CAPTURES = 400


class Device:
    """A log of a device, and the network between it and the server."""

    def __init__(self, program, folder, server, name, expect):
        self.program, self.log, self.name, self.expect = program, str(folder / name), name, expect
        self.network = Proxy(server.port)
        self.count = 0
        self.run("init")
        code = server.admin("code", TENANT, "--name", name).strip()
        self.server_key = self.run("enrol", "--server", f"http://127.0.0.1:{self.network.port}", "--code", code).split()[-1]

    def run(self, command, *arguments, input=None, code=0):
        done = subprocess.run([self.program, command, self.log, *arguments], capture_output=True, text=True, input=input)
        self.expect(done.returncode == code, f"{self.name}: tidemark {command} ended with {done.returncode}: {done.stderr or done.stdout}")
        return done.stdout

    def capture(self, count, *options):
        lines = "".join(
            json.dumps({"id": f"{self.name}-{number}", "badge": number * 7 % 100}) + "\n" for number in range(self.count, self.count + count))
        self.count += count
        self.run("append", "-", "--type", "scan", "--id-from", "/id", *options, input=lines)

    def item(self, name):
        """As `tidemark items` shows it."""
        return next(item for item in json.loads(self.run("items", "--json"))["items"] if item["item"] == name)

    def status(self):
        return json.loads(self.run("status", "--json"))


def changes(server, token):
    found, since = [], 0
    while True:
        status, answer = server.call("GET", f"/v1/changes?since={since}&limit=1000", token=token)
        if status != 200 or answer["through"] == since:
            return found
        found += [change for change in answer["changes"] if change["kind"] == "event" and change["type"] == "scan"]
        since = answer["through"]


def show(program, folder, expect):
    folder = folder / "shipping"
    folder.mkdir()
    server = Serving(program, folder)
    try:
        work(program, folder, server, expect)
    except BaseException:
        server.process.kill()
        raise
    expect(server.stop() == 0, "the server did not end in good order")


def work(program, folder, server, expect):
    server.admin("tenant", TENANT)
    office = server.admin("office-token", TENANT).strip()
    devices = [Device(program, folder, server, name, expect) for name in ("phone", "kiosk")]

    for device in devices:
        device.network.fault = "refused"
        device.capture(CAPTURES)
        device.run("replicate", "--once", code=3)
    stand = [device.status() for device in devices]
    expect(all(status["accepted"] == 0 and status["saved"] > CAPTURES for status in stand), f"without a network: {stand}")
    print(f"  no network             {CAPTURES} captures on each of 2 devices: saved {stand[0]['saved']}, accepted {stand[0]['accepted']}")

    # The network is back, and bad; each process dies somewhere on the way.
    kills = 0
    for number, delay in enumerate((0.01, 0.02, 0.03, 0.05, 0.08)):
        for device in devices:
            device.network.fault = ("reply-lost", "request-cut", "none")[number % 3]
            device.network.cut_at = 4000
            sender = subprocess.Popen([program, "replicate", device.log, "--once"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            sender.send_signal(signal.SIGKILL)
            kills += sender.wait() == -signal.SIGKILL
            device.capture(20)
    for device in devices:
        device.network.fault = "none"
        device.run("replicate")
    stand = [device.status() for device in devices]
    expect(all(status["accepted"] == status["saved"] for status in stand), f"with a network: {stand}")
    found = changes(server, office)
    expected = sum(device.count for device in devices)
    expect(len({change["id"] for change in found}) == len(found) == expected, f"{expected} captures, {len(found)} at the server")
    expect([change["number"] for change in found] == list(range(1, expected + 1)), "change numbers have gaps")
    print(f"  network again          after {kills} kills each of {expected:,} captures is at the server once; accepted {stand[0]['accepted']}")

    policies = []
    for device in devices:
        keys = [line.split("  ")[1] for line in device.run("keys").splitlines()]
        policies.append(folder / f"{device.name}.policy")
        policies[-1].write_text("".join(f"{key}\n" for key in keys) + f"witness server {device.server_key}\nquorum server\n")
        report = json.loads(device.run("audit", "--policy", str(policies[-1]), "--receipted", "--json"))
        expect(report["verdict"] == "proven", f"the audit of {device.name} says {report}")
    print("  receipts               audit: proven on both devices, by the server's signatures")

    # The office publishes a notice; it is acknowledged without a network, while a version that matters is published.
    notice = folder / "notice.json"
    notice.write_text('{"text":"Use the north gate."}')
    due = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    terms = ("--file", str(notice), "--required", "2", "--due", due)
    server.admin("publish", TENANT, "notice-4", *terms)
    for device, person in zip(devices, ("kim", "robin")):
        device.run("replicate")
        device.network.fault = "refused"
        device.run("acknowledge", "notice-4", "1", "--actor", person)
        item = device.item("notice-4")
        expect(item["version"] == 1 and item["persons"][person] == "acknowledged", f"{device.name} shows {item}")
    notice.write_text('{"text":"Use the south gate."}')
    server.admin("publish", TENANT, "notice-4", *terms, "--material")
    for device in devices:
        device.network.fault = "none"
        device.run("replicate")
    items = [device.item("notice-4") for device in devices]
    expect(all(item["version"] == 2 and "re-acknowledge" in item["persons"].values() for item in items), f"devices show {items}")
    for device, person in zip(devices, ("kim", "robin")):
        device.run("acknowledge", "notice-4", "2", "--actor", person)
    for device in devices + devices:
        device.run("replicate")
    item = devices[0].item("notice-4")
    expect(item["server_status"] == "met" and item["acknowledged"] == 2, f"the phone shows {item}")
    print("  a notice               version 1 acknowledged without a network, version 2 asks again, then met: 2 of 2 have acknowledged it")

    # Safe beyond the server, then removed from the device, and taken back by a device that was set back to an older state.
    phone = devices[0]
    older = folder / "older"
    shutil.copytree(phone.log, older)
    phone.capture(CAPTURES)
    phone.run("replicate")
    server.admin("archive", str(folder / "archive"))
    phone.run("replicate")
    settled = phone.status()["settled"]
    expect(settled == phone.status()["accepted"], "the archive did not settle what was accepted")
    phone.run("seal")
    phone.run("trim", "--below", str(settled))
    first = json.loads(phone.run("info", "--json"))["first"]
    expect(first > 0, "nothing was trimmed")
    print(f"  settled and trimmed    archive verified, settled {settled}; the phone keeps events from {first} on")

    # The phone is set back to a backup of days ago. What it is known by has gone on since: it is enrolled again.
    shutil.rmtree(phone.log)
    shutil.move(older, phone.log)
    before = phone.status()["saved"]
    phone.run("enrol", "--server", f"http://127.0.0.1:{phone.network.port}", "--code", server.admin("code", TENANT).strip())
    phone.run("replicate")
    after = phone.status()
    expect(after["saved"] == after["accepted"] >= settled, f"after the refill: {after}")
    phone.capture(5)
    phone.run("replicate")
    found = changes(server, office)
    expected = sum(device.count for device in devices)
    expect(len({change["id"] for change in found}) == len(found) == expected, f"{expected} captures, {len(found)} at the server")
    print(f"  back to a backup       {before} offsets, refilled to {after['saved']} by the server; {expected:,} captures, each once")
