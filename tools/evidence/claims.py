"""Claims about histories, and what verifiers that are not ours say to them.

A claim is a dictionary with `kind`; bytes are in base64 where it is written as JSON:

    inclusion     `leaf` (the descriptor), `index`, `size`, `root`, `hashes`
    consistency   `from`, `old` (the root there), `size`, `root`, `hashes`
    tree          `leaves` (all descriptors), `root`; optionally `from`, `old`
    signature     `note`, `key` (a vkey of type 1), `size`, `root`
    cosignature   the same, of type 4
    tiles         `folder`, `size`, `root`
"""

import base64
import collections
import hashlib
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "reader"))

from tidemark_reader.evidence import descriptors  # noqa: E402
from tidemark_reader.log import Log  # noqa: E402

VERIFIERS = ("go", "pymerkle", "tlog-scales", "openssl")
# In front of the 32 bytes of a key: SubjectPublicKeyInfo of RFC 8410 in DER.
KEY_HEADER = bytes.fromhex("302a300506032b6570032100")

Note = collections.namedtuple("Note", "text origin size root whole")


def parse_note(data):
    """A note by its text; whoever is asked parses it again."""
    body, _, _ = data.rpartition(b"\n\n")
    lines = body.decode().split("\n")
    return Note(body + b"\n", lines[0], int(lines[1]), base64.b64decode(lines[2]), data)


def split_notes(data):
    """The notes of a file of notes."""
    parts = data.split(b"\n\n")
    return [parse_note(body + b"\n\n" + signatures + b"\n") for body, signatures in zip(parts[:-1:2], parts[1::2])]


def encoded(data):
    return base64.b64encode(data).decode()


def decoded(texts):
    return [base64.b64decode(text) for text in texts]


def vkey(name, kind, key):
    identifier = hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + key).digest()[:4]
    return f"{name}+{identifier.hex()}+{encoded(bytes([kind]) + key)}"


def signature_claim(note, key):
    kind = {1: "signature", 4: "cosignature"}[base64.b64decode(key.split("+", 2)[2])[0]]
    return {"kind": kind, "note": note.whole.decode(), "key": key, "size": note.size, "root": note.root}


def tree_claim(leaves, note):
    return {"kind": "tree", "leaves": leaves[: note.size], "root": note.root}


def leaves_of(path):
    """The descriptors of a log, by the independent reader."""
    return [data for _, data, _, _ in descriptors(Log(path))]


def line(claim):
    def text(value):
        if isinstance(value, bytes):
            return encoded(value)
        return [text(part) for part in value] if isinstance(value, list) else value
    return json.dumps({name: text(value) for name, value in claim.items()}).encode() + b"\n"


class Verifiers:
    """Those that are not ours, ready to be asked."""

    def __init__(self, folder):
        self.folder = folder
        self.go = os.path.join(folder, "check")
        environment = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOFLAGS": "",
                       "GOCACHE": os.path.join(folder, "go-cache")}
        subprocess.run(["go", "build", "-o", self.go, os.path.join(HERE, "check.go")], env=environment, check=True)
        self.counts = collections.Counter()

    def command(self, name):
        return [self.go] if name == "go" else [sys.executable, os.path.join(HERE, "packages.py"), name]

    def ask(self, claims, names=VERIFIERS):
        """What each says to each claim, as {verifier: [answers]}: `ok`, `no ...` or `-`."""
        answers = {}
        data = b"".join(map(line, claims))
        for name in names:
            if name == "openssl":
                answers[name] = [self.openssl(claim) for claim in claims]
            else:
                run = subprocess.run(self.command(name), input=data, capture_output=True, check=True)
                found = run.stdout.decode().splitlines()
                if len(found) != len(claims):
                    raise SystemExit(f"{name} gave {len(found)} answers to {len(claims)} claims: {run.stderr.decode()}")
                # What Go's package has no word for.
                answers[name] = ["-" if "another kind" in answer else answer for answer in found]
            self.counts.update(f"{claim['kind']} {name}" for claim, answer in zip(claims, answers[name]) if answer != "-")
        return answers

    def openssl(self, claim):
        """The two kinds of signatures with the command line of OpenSSL."""
        if claim["kind"] not in ("signature", "cosignature"):
            return "-"
        name, identifier, material = claim["key"].split("+", 2)
        key = base64.b64decode(material)[1:]
        body, _, signatures = claim["note"].rpartition("\n\n")
        parts = [written.split(" ") for written in signatures.splitlines()]
        found = [base64.b64decode(blob) for _, signer, blob in parts if signer == name]
        found = [data for data in found if data[:4].hex() == identifier]
        for data in found:
            message = body.encode() + b"\n"
            if claim["kind"] == "cosignature":
                message = b"cosignature/v1\ntime %d\n" % int.from_bytes(data[4:12], "big") + message
            if not openssl_verify(key, message, data[-64:], self.folder):
                return "no"
        return "ok" if found else "no signature of this key"


def openssl_verify(key, message, signature, folder):
    """Whether OpenSSL's command line says that an Ed25519 signature verifies."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        files = {"key": KEY_HEADER + key, "message": message, "signature": signature}
        for name, data in files.items():
            with open(os.path.join(place, name), "wb") as stream:
                stream.write(data)
        run = subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", "key", "-rawin", "-in", "message", "-sigfile", "signature"],
            cwd=place, capture_output=True)
    return run.returncode == 0


def rejecting(answers):
    """Which verifiers say no to any claim."""
    return [name for name, found in answers.items() if any(answer.startswith("no") for answer in found)]
