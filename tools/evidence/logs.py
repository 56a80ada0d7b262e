"""Small logs with evidence, made with the tool, and a stand-in for a server beside them."""

import json
import os
import signal
import subprocess

from claims import split_notes, vkey


class Server:
    """A countersigner's directory, its verifier key, and a policy that asks for it."""

    def __init__(self, tidemark, folder, name="server.example/1"):
        self.folder = folder
        made = subprocess.run([tidemark, "countersigner", folder, "--name", name], capture_output=True, check=True).stdout.decode()
        self.key = next(word for word in made.split() if word.count("+") >= 2)
        self.policy = folder + ".policy"
        with open(self.policy, "w", encoding="utf-8") as stream:
            stream.write(f"witness server {self.key}\nquorum server\n")


class MadeLog:
    """A log in a folder, and what is done to it."""

    def __init__(self, tidemark, path, server):
        self.tidemark, self.path, self.server = tidemark, path, server
        self.count = 0
        self.run("init", path)

    def run(self, *arguments, lines=b"", accepts=(0,)):
        """Standard output of a command; a failure ends the whole run."""
        done = subprocess.run([self.tidemark, *arguments], input=lines, capture_output=True)
        if done.returncode not in accepts:
            raise SystemExit(f"tidemark {' '.join(arguments)}: exit code {done.returncode}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def append(self, count, batch=3, options=(), **fields):
        """Appends events with all that an event can have."""
        lines = []
        for number in range(self.count, self.count + count):
            event = {"id": f"{number:032x}", "kind": ("reading", "scan")[number % 2], "gate": f"gate-{number % 3}", "by": f"N{number % 5}",
                     "n": number, "text": "måling " + "x" * (number % 40)}
            lines.append(json.dumps({**event, **fields}))
        self.count += count
        data = "\n".join(lines).encode() + b"\n"
        self.run("append", self.path, "--type-from", "/kind", "--subject-from", "/gate", "--actor-from", "/by", "--id-from", "/id",
                 "--batch", str(batch), *options, *(("--time-from", "/at") if "at" in fields else ()), "-", lines=data)

    def checkpoint(self, countersigned=True, accepts=(0,)):
        return self.run("checkpoint", self.path, *(("--countersign", self.server.folder) if countersigned else ()), accepts=accepts)

    def rotate(self):
        self.run("keys", self.path, "--rotate")

    def salvage(self, path):
        """The log that salvaging this one makes."""
        self.run("salvage", self.path, path)
        made = MadeLog.__new__(MadeLog)
        made.tidemark, made.path, made.server, made.count = self.tidemark, path, self.server, self.count
        return made

    def kill_writer(self):
        """Appends some events and kills the writer after the first was acknowledged."""
        writer = subprocess.Popen([self.tidemark, "append", self.path, "--acks", "--format", "lines", "-"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        writer.stdin.write(b"one\ntwo\nthree\n")
        writer.stdin.flush()
        while b"ack" not in writer.stdout.readline():
            pass
        writer.send_signal(signal.SIGKILL)
        writer.communicate()

    def evidence(self, name=""):
        """The folder of the epoch's evidence, or a file in it."""
        folder = os.path.join(self.path, "evidence")
        epoch = next(entry for entry in os.listdir(folder) if entry != "keys")
        return os.path.join(folder, epoch, name) if name else os.path.join(folder, epoch)

    def notes(self):
        with open(self.evidence("notes"), "rb") as stream:
            return split_notes(stream.read())

    def keys(self):
        """Offsets of key events, and the verifier keys."""
        lines = [json.loads(line) for line in self.run("keys", self.path, "--json").splitlines()]
        return [(line["offset"], line["key"]) for line in lines]

    def key_at(self, size):
        return [key for offset, key in self.keys() if offset < size][-1]


def record_vkey(origin, data):
    """The verifier key in the data of a key event."""
    return vkey(origin, 1, data[66:98])
