"""What mutations need: keys to sign with, a log's copy to change, and its notes."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys

import packages  # noqa: F401  (puts `cryptography` in the path)
from claims import leaves_of, parse_note, signature_claim, split_notes, tree_claim, vkey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from forger import Forgery, evidence_folder, subtrees
from tidemark_reader.evidence import descriptor, leaf
from tidemark_reader.record import SESSION, read_record

TRIM, RECEIPT, KEY, SALVAGE = 3, 4, 5, 7


class Key:
    """An Ed25519 key with its secret half."""

    def __init__(self, seed):
        self.secret = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = self.secret.public_key().public_bytes_raw()

    @staticmethod
    def of_folder(folder):
        """The newest key in a folder of the tool's."""
        names = [name for name in os.listdir(folder) if name.endswith(".key")]
        with open(max((os.path.join(folder, name) for name in names), key=os.path.getmtime), encoding="ascii") as stream:
            return Key(base64.b64decode(stream.read().split("\n")[1]))

    def sign(self, text, name):
        """A line of a note: type 1."""
        return signature_line(name, 1, self.public, self.secret.sign(text))

    def cosign(self, text, name, seconds):
        """A line of a note: type 4."""
        message = b"cosignature/v1\ntime %d\n" % seconds + text
        return signature_line(name, 4, self.public, seconds.to_bytes(8, "big") + self.secret.sign(message))


def signature_line(name, kind, public, data):
    identifier = bytes.fromhex(vkey(name, kind, public).split("+", 2)[1])
    return f"\u2014 {name} {base64.b64encode(identifier + data).decode()}\n".encode()


def key_record(ids, before, key, previous=None):
    """The data of a key event. `before` signs as the key before; `previous` is written in its place."""
    named = previous or (before.public if before else bytes(32))
    body = bytes([1, 1 if before else 0]) + ids + named + key.public
    message = b"tidemark key rotation v1\n" + body
    return body + key.secret.sign(message) + (before.secret.sign(message) if before else bytes(64))


def signature_lines(note):
    return note.whole.split(b"\n\n")[1].splitlines(keepends=True)


def with_lines(text, lines):
    return parse_note(text + b"\n" + b"".join(lines))


def root_of(leaves):
    """The root over leaf hashes."""
    roots = subtrees(leaves)
    node = roots.pop() if roots else hashlib.sha256().digest()
    while roots:
        node = hashlib.sha256(b"\x01" + roots.pop() + node).digest()
    return node


class Copy:
    """A copy of a log that may be changed, and what a verifier is given with it."""

    def __init__(self, source, folder):
        self.path = folder
        shutil.copytree(source, folder)

    @property
    def notes_path(self):
        return os.path.join(evidence_folder(self.path), "notes")

    @property
    def notes(self):
        with open(self.notes_path, "rb") as stream:
            return split_notes(stream.read())

    @notes.setter
    def notes(self, notes):
        with open(self.notes_path, "wb") as stream:
            stream.write(b"".join(note.whole + b"\n" for note in notes))

    def edit(self, change, keeps_tree=False):
        """Changes the log and makes everything that is not signed fit again."""
        forgery = Forgery(self.path)
        change(forgery)
        forgery.write(self.path, keeps_tree)

    def replace_receipt(self, old, new):
        """Puts another note in the place of one, among the notes and in the newest receipt event."""
        self.notes = [new if note.whole == old.whole else note for note in self.notes]

        def change(forgery):
            receipt = [record for record in forgery.records if record.kind == RECEIPT and record.data == old.whole][-1]
            receipt.data = new.whole
        self.edit(change)

    def sign_again(self, change, sign):
        """Changes the log, then makes all notes again, in the log too, with the roots that follow. `sign` gives the lines under a text of a
        size, from those that were there."""
        forgery, made = Forgery(self.path), {}
        change(forgery)
        hashes, session = [], b""
        notes = self.notes

        def remade(note):
            if note.whole not in made:
                origin = note.text.split(b"\n")[0]
                text = b"%s\n%d\n%s\n" % (origin, note.size, base64.b64encode(root_of(hashes[: note.size])))
                made[note.whole] = with_lines(text, sign(text, note))
            return made[note.whole]

        for record in forgery.records:
            if record.kind == RECEIPT:
                record.data = remade(parse_note(record.data)).whole
            raw = record.encode()
            hashes.append(leaf(descriptor(read_record(raw, 0, len(raw)), session)))
            session = record.data if record.kind == SESSION else session
        forgery.write(self.path)
        self.notes = [remade(note) for note in notes]

    def claims(self, keys, witnesses, archive=()):
        """What verifiers that are not ours are asked: whether the log leads to each root that its notes name, and who signed these. `archive`
        are leaves that were trimmed."""
        found, notes, receipts = [], [], []
        try:
            leaves = [*archive, *leaves_of(self.path)]
            receipts = [parse_note(record.data) for record in Forgery(self.path).records if record.kind == RECEIPT]
            notes = [note for note in self.notes if note not in receipts]
        except (ValueError, IndexError, LookupError):
            found.append({"kind": "tree", "leaves": [b""], "root": b""})
        for note in [*notes, *receipts]:
            found.append(tree_claim(leaves, note))
            own = [key for offset, key in keys if offset < note.size]
            if own:
                found.append(signature_claim(note, own[-1]))
            if note in receipts or len(signature_lines(note)) > 1:
                found += [signature_claim(note, key) for key in witnesses]
        return found


def audit(tidemark, log, policy, *options):
    """Verdict and findings of the tool's audit, as (verdict, {kind: weight})."""
    words = [tidemark, "audit", log, "--json", *(("--policy", policy) if policy else ()), *options]
    done = subprocess.run(words, capture_output=True)
    if done.returncode not in (0, 1) or not done.stdout:
        return "failed", {done.stderr.decode(errors="replace").strip()[:200]: "refuted"}
    report = json.loads(done.stdout)
    found = {}
    for finding in report["findings"]:
        if finding["weight"] != "not-checked" or finding["kind"] not in found:
            found[finding["kind"]] = finding["weight"]
    return report["verdict"], found


def verify_bundle(bundle, policy, script=None):
    """Verdict and findings of verify.py, likewise."""
    script = script or os.path.join(os.path.dirname(os.path.abspath(__file__)), "verify.py")
    done = subprocess.run([sys.executable, script, *(("--policy", policy) if policy else ()), bundle], capture_output=True)
    lines, found = done.stdout.decode().splitlines(), {}
    if done.stderr or not lines or not lines[-1].startswith("verdict: "):
        return "failed", {done.stderr.decode(errors="replace").strip()[-200:]: "refuted"}
    for text in lines[:-1]:
        words = text.split(" refuted " if " refuted " in text else " unproven ", 1)
        if len(words) == 2:
            found[words[1].split(":")[0]] = "refuted" if " refuted " in text else "unproven"
    return lines[-1].split()[1], found
