#!/usr/bin/env python3
"""Checks a Tidemark bundle offline: that chosen events stand in a history that others have countersigned.

    verify.py [--policy FILE] [BUNDLE]

Needs Python 3.8 or later, nothing else. BUNDLE is the directory of this file if none is given. FILE says whose signatures count (a C2SP
tlog-policy). It has to come from the auditor, not from whoever made the bundle: without it, nothing is proven.

Prints a line for each chosen event and for whatever else says no, then the verdict. Exit code 0: all is proven; 1: it is not; 2: wrong use.
"""
import base64, contextlib, hashlib, json, os, re, struct, sys, time

OFFSET_LIMIT, LATEST, NAME = 1 << 44, 2**63 // 10**9, re.compile(r"[^\s+\x00-\x1f\x7f]+")  # LATEST: a server's time, in seconds
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P

class Problem(Exception):  # why something is not proven
    def __init__(self, kind, message, weight):
        super().__init__(message)
        self.kind, self.weight = kind, weight

def demand(condition, kind, message, weight="refuted"):
    if not condition:
        raise Problem(kind, message, weight)

@contextlib.contextmanager
def reading(what):
    try:
        yield
    except OSError as problem:
        raise Problem("missing", "%s: %s" % (what, problem.strerror), "unproven") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, struct.error) as problem:
        raise Problem("unreadable", "%s can't be read: %s" % (what, problem), "refuted") from None

def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()
def unbase64(text):
    demand(base64.b64encode(base64.b64decode(text)).decode() == text, "unreadable", "base64 of another form")
    return base64.b64decode(text)
def number(text, limit=OFFSET_LIMIT):
    demand(re.fullmatch(r"0|[1-9][0-9]{0,18}", text, re.ASCII) and int(text) <= limit, "unreadable", "a number out of its range")
    return int(text)

# Ed25519 (RFC 8032, section 5.1). Points are (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z.
def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    e, f, g, h = (b - a) % P, (d - c) % P, (d + c) % P, (b + a) % P
    return e * f % P, g * h % P, f * g % P, e * h % P

def decode_point(data):
    """The point that 32 bytes stand for; None for no point, for another form than the one that it has, or if its order divides 8."""
    y, sign = int.from_bytes(data, "little") & (1 << 255) - 1, data[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    point = x, y, 1, x * y % P
    fourfold = add(add(point, point), add(point, point))
    return point if add(fourfold, fourfold)[0] else None

def is_signed(key, message, signature):
    """Whether an Ed25519 signature verifies. A key or nonce of small order would sign anything, so it signs nothing here."""
    if len(key) != 32 or len(signature) != 64:
        return False
    point, nonce, scalar = decode_point(key), decode_point(signature[:32]), int.from_bytes(signature[32:], "little")
    if scalar >= ORDER or not point or not nonce:
        return False
    hashed = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    minus, total = (P - point[0], point[1], 1, P - point[3]), (0, 1, 1, 0)
    table = (None, BASE, minus, add(BASE, minus))
    for bit in range(252, -1, -1):
        total, which = add(total, total), (scalar >> bit & 1) + 2 * (hashed >> bit & 1)
        total = add(total, table[which]) if which else total
    return not (total[0] - nonce[0] * total[2]) % P and not (total[1] - nonce[1] * total[2]) % P
BASE = decode_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))

# Proofs (RFC 9162, sections 2.1.3 and 2.1.4), followed from the root down: the last hash is the one nearest to it.
def inclusion_root(leaf, index, size, hashes):
    demand(0 <= index < size and (size > 1) == bool(hashes), "unreadable", "a proof of another length")
    if size == 1:
        return leaf
    split = 1 << (size - 1).bit_length() - 1
    if index < split:
        return sha256(b"\x01", inclusion_root(leaf, index, split, hashes[:-1]), hashes[-1])
    return sha256(b"\x01", hashes[-1], inclusion_root(leaf, index - split, size - split, hashes[:-1]))

def consistency_roots(old, size, hashes, known):
    """Both roots that a proof leads to. `known` is the old one, as long as the old tree may be a subtree of its own."""
    demand(0 < old <= size and (len(hashes) == (known is None) if old == size else hashes), "unreadable", "a proof of another length")
    if old == size:
        return (known, known) if known else (hashes[0], hashes[0])
    split = 1 << (size - 1).bit_length() - 1
    if old <= split:
        first, second = consistency_roots(old, split, hashes[:-1], known)
        return first, sha256(b"\x01", second, hashes[-1])
    first, second = consistency_roots(old - split, size - split, hashes[:-1], None)
    return sha256(b"\x01", hashes[-1], first), sha256(b"\x01", hashes[-1], second)

# Keys, policies and notes (C2SP signed-note, tlog-checkpoint, tlog-cosignature, tlog-policy)
def key_id(name, kind, key):
    return sha256(name.encode(errors="surrogateescape"), b"\n", bytes([kind]), key)[:4]

def verifier_key(text, kind):
    name, identifier, material = text.split("+", 2)
    data = unbase64(material)
    good = NAME.fullmatch(name) and len(data) == 33 and data[0] == kind and key_id(name, kind, data[1:]).hex() == identifier
    demand(good, "unreadable", "a key that is none, or of another kind")
    return name, data[1:]

class Policy:
    def __init__(self, text):
        self.logs, self.witnesses, self.groups, self.quorum, self.taken = [], {}, {}, None, {"none"}
        demand(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text) and text.count("\n") <= 1000, "unreadable", "no text of a policy")
        for words in (re.findall(r"[^ \t]+", line) for line in text.split("\n")):
            if words and not words[0].startswith("#"):
                good = self.add(words[0], words, {"none": None, **self.witnesses, **self.groups})
                demand(good, "unreadable", "`%s` is no line of a policy" % " ".join(words))
        demand(self.quorum, "unreadable", "a policy without a quorum")
    def add(self, kind, words, names):
        if kind == "log" and len(words) in (2, 3):
            self.logs.append(verifier_key(words[1], 1))
            return len({key for _, key in self.logs}) == len(self.logs)
        if kind == "witness" and len(words) in (3, 4) and words[1] not in names:
            self.witnesses[words[1]] = verifier_key(words[2], 4)
            return len({key for _, key in self.witnesses.values()}) == len(self.witnesses)
        if kind == "group" and len(words) > 3 and words[1] not in names:
            members, taken, self.taken = words[3:], self.taken, self.taken.union(words[3:])
            self.groups[words[1]] = {"all": len(members), "any": 1}.get(words[2]) or number(words[2], len(members)), members
            return self.groups[words[1]][0] and names.keys() >= set(members) - taken and len(set(members) - taken) == len(members)
        good, self.quorum = kind == "quorum" and len(words) == 2 and not self.quorum and words[1] in names, words[-1]
        return good
    def is_met(self, signers, name=None):
        threshold, members = self.groups.get(name or self.quorum, (1, ()))
        return sum(self.is_met(signers, member) for member in members) >= threshold if members else (name or self.quorum) in signers

class Note:
    """A checkpoint with signatures, not yet verified."""
    problem = time = None
    def __init__(self, data):
        with reading("a note"):
            body, _, signatures = data.decode().rpartition("\n\n")
            lines, self.text = body.split("\n"), body + "\n"
            self.origin, self.size, self.root, self.name = lines[0], number(lines[1]), unbase64(lines[2]), "note of %s events" % lines[1]
            parts = [line.split(" ") for line in signatures.split("\n")[:-1]]
            self.signatures = [(name, unbase64(encoded)) for dash, name, encoded in parts if dash == "\u2014" and NAME.fullmatch(name)]
            good = len(self.root) == 32 and "" not in lines and len(data) <= 60000 and not re.search(r"[\x00-\x09\x0b-\x1f]", data.decode())
            good = good and signatures.endswith("\n") and 0 < len(self.signatures) == len(parts) <= 64
            demand(good and all(len(data) > 4 for _, data in self.signatures), "unreadable", "a note of another form")
    def signature(self, name, key, kind):
        """What follows the ids of a key's signature; None if there is none, or a wrong one."""
        found = [data[4:] for signer, data in self.signatures if (signer, data[:4]) == (name, key_id(name, kind, key))]
        for data in found:
            seconds = int.from_bytes(data[:8], "big")
            message = (b"cosignature/v1\ntime %d\n" % seconds if kind == 4 else b"") + self.text.encode()
            if len(data) != (72 if kind == 4 else 64) or (kind == 4 and seconds > LATEST) or not is_signed(key, message, data[-64:]):
                return None
        return found[0] if found else None

class Event:
    """An event of the bundle, and its descriptor."""
    problem = note = None
    def __init__(self, text):
        with reading("a line of events.jsonl"):
            line = json.loads(text)
            self.offset, self.role, record, session = line["offset"], line["role"], unbase64(line["record"]), unbase64(line["session"])
            length, self.kind, type_size, actor, content, subject, extensions = struct.unpack_from("<IBxxB34xBBHH", record)
            head = 48 + type_size + actor + content + subject
            good = type(self.offset) is int and self.offset >= 0 and length == len(record) and length >= head + extensions
            good = good and self.kind == {"receipt": 4, "key": 5, "chosen": self.kind}[self.role]
            demand(good, "unreadable", "an event with a wrong offset or role, or a record of another form")
        self.name, self.data = self.offset, record[head + extensions :]
        digests = sha256(session) if session else bytes(32), sha256(record[head : head + extensions]), sha256(self.data)
        self.descriptor = b"TMD1" + b"".join(digests) + record[:head]

class Bundle:
    """What a bundle shows, judged by a policy. What is wrong with an event or a note stays with it."""
    def __init__(self, folder, policy):
        self.folder, self.policy, self.keys, self.times = folder, policy, [], []
        with reading("the bundle"):
            manifest, steps = json.loads(self.read("manifest.json")), json.loads(self.read("consistency.json"))
            self.origin, self.chosen, self.ids = manifest["origin"], manifest["chosen"], bytes.fromhex(manifest["log"] + manifest["epoch"])
            good = manifest["format"] == "tidemark-bundle/1" and self.chosen and all(type(offset) is int for offset in self.chosen)
            good = good and len(self.ids) == 32 and self.origin == "tidemark/%s/%s" % (self.ids[:16].hex(), self.ids[16:].hex())
            self.steps = {(step["from"], step["to"]): [unbase64(text) for text in step["hashes"]] for step in steps}
            parts = self.read("notes").split(b"\n\n")
            demand(good and len(parts) % 2 == 1 and len(parts) > 1 and not parts[-1], "unreadable", "a manifest or notes of another form")
            self.notes = [Note(b"%s\n\n%s\n" % pair) for pair in zip(parts[::2], parts[1::2])]
            lines = self.read("events.jsonl").decode().split("\n")
            self.events = sorted((Event(line) for line in lines if line), key=lambda event: event.offset)
            self.at = {event.offset: event for event in self.events}
            demand(len(self.at) == len(self.events), "unreadable", "an offset that stands there twice")
        keys, receipts = ([event for event in self.events if event.kind == kind] for kind in (5, 4))
        for check, subjects in ((self.check_proof, self.events), (self.check_key, keys), (self.check_note, self.notes),
                                (self.check_step, self.notes[:-1]), (self.check_receipt, receipts)):
            for subject in subjects:
                try:
                    subject.problem or check(subject)
                except Problem as problem:
                    subject.problem = problem
    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as stream:
            return stream.read()
    def check_proof(self, event):
        with reading("its proof"):
            header, _, checkpoint = self.read("proofs/%d.tlog-proof" % event.offset).partition(b"\n\n")
            note, (title, extra, index, *hashes) = Note(checkpoint), header.decode().split("\n")
        event.note = next((known for known in self.notes if (known.text, known.signatures) == (note.text, note.signatures)), None)
        demand(event.note, "missing", "its proof is for a note that is not among the notes", "unproven")
        with reading("its proof"):
            demand((title, extra[:6], index[:6]) == ("c2sp.org/tlog-proof@v1", "extra ", "index "), "unreadable", "a proof of another form")
            demand(number(index[6:]) == event.offset, "order", "its proof is for offset %s" % index[6:])
            root = inclusion_root(sha256(b"\0", event.descriptor), event.offset, note.size, [unbase64(line) for line in hashes])
            good = (root, unbase64(extra[6:])) == (note.root, event.descriptor)
            demand(good, "root-differs", "its record does not lead to the root that was signed")
    def check_key(self, event):
        data, message, before, key = event.data, b"tidemark key rotation v1\n" + event.data[:98], event.data[34:66], event.data[66:98]
        good = len(data) == 226 and data[0] == 1 and data[1] <= 1 and data[2:34] == self.ids and is_signed(key, message, data[98:162])
        good = good and (is_signed(before, message, data[162:]) if data[1] else not any(before + data[162:]))
        good = good and (not self.keys or self.keys[-1][1] in (before, key))
        demand(good, "key-record", "a key event that does not follow from those before it, or is not signed")
        self.keys.append((event.offset, key, before))
    def check_note(self, note):
        demand(note.origin == self.origin, "other-history", "it is of %s" % note.origin)
        pinned = [key for name, key in self.policy.logs if name == self.origin]
        demand(pinned or (self.keys and not self.policy.logs), "device-key", "nothing names its key, or only those of others", "unproven")
        demand(not self.keys or {key for _, key, _ in self.keys}.issuperset(pinned), "device-key", "a pinned key is not this device's")
        keys = [key for at, key, _ in self.keys if at < note.size][-1:] or (self.keys[0][1:] if self.keys else pinned)  # trimmed: see Keys
        demand(any(note.signature(self.origin, key, 1) for key in keys), "signature", "it is not signed by the key that was in force")
        signed = {name: note.signature(*key, 4) for name, key in self.policy.witnesses.items()}
        note.times = times = {name: int.from_bytes(data[:8], "big") for name, data in signed.items() if data}
        demand(self.policy.is_met(times), "policy", "it lacks signatures that the policy asks for", "unproven")
        note.time = max(times.values())
    def check_step(self, before):
        after = self.notes[self.notes.index(before) + 1]
        good = after.problem or all(before.times.get(name, 0) <= seconds for name, seconds in after.times.items())
        demand(good and before.size <= after.size, "order", "the next note is smaller or earlier")
        hashes = self.steps.get((before.size, after.size), () if before.size == after.size else None)
        demand(hashes is not None, "missing", "no proof that %d events continue it" % after.size, "unproven")
        roots = consistency_roots(before.size, after.size, hashes, before.root)
        demand(roots == (before.root, after.root), "root-differs", "%d events do not continue it" % after.size)
    def check_receipt(self, event):  # what comes behind it was appended after its time
        note = Note(event.data)
        self.check_note(note)
        demand(note.size <= event.offset, "order", "a receipt that covers itself")
        demand(all(other.size != note.size or other.root == note.root for other in self.notes), "root-differs", "so a note is wrong")
        self.times.append((event.offset, note.time))
    def bracket(self, offset):
        event = self.at.get(offset)
        demand(event and event.role == "chosen", "missing", "it was chosen, and is not in the bundle", "unproven")
        for subject in [event] + self.notes[self.notes.index(event.note) if event.note else 0 :]:
            if subject.problem:
                raise subject.problem
        before = min(note.time for note in self.notes if note.size > offset and not note.problem)
        after = max((seconds for at, seconds in self.times if at < offset), default=None)
        differ = len(self.policy.witnesses) > 1  # clocks of several servers may
        demand(after is None or after <= before or differ, "order", "the receipt before it is later than the one that covers it")
        first, last = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds or 0)) for seconds in (after, before))
        return "appended %sbefore %s" % ("" if after is None else "after %s and " % first, last)

def judge(folder, policy):
    weights = []
    def say(who, problem):
        weights.append(problem.weight)
        print("%s %s %s: %s" % (who, problem.weight, problem.kind, ascii(str(problem))[1:-1]))
    try:
        bundle = Bundle(folder, policy or Policy("quorum none"))
        for offset in bundle.chosen:
            try:
                print("%d proven: %s" % (offset, bundle.bracket(offset)))
            except Problem as problem:
                say(offset, problem)
        for subject in bundle.notes + [event for event in bundle.events if event.offset not in bundle.chosen]:
            if subject.problem:
                say(subject.name, subject.problem)
    except Exception as problem:  # whatever the input does: it proves nothing
        say("bundle", problem if isinstance(problem, Problem) else Problem("unreadable", type(problem).__name__, "refuted"))
    print("verdict: %s" % ("refuted" if "refuted" in weights else "unproven" if weights else "proven"))
    return 1 if weights else 0

def main(arguments):
    try:
        policy, rest = None, arguments
        if rest[:1] == ["--policy"]:
            with open(rest[1], encoding="utf-8", errors="surrogateescape") as stream:
                policy = Policy(stream.read())
            rest = rest[2:]
        folder = (rest or [os.path.dirname(os.path.abspath(__file__))])[0]
        demand(len(rest) < 2 and os.path.isdir(folder), "", "usage: verify.py [--policy FILE] [BUNDLE]")
    except (OSError, ValueError, LookupError, Problem) as problem:
        print("verify.py: %s" % ascii(str(problem))[1:-1], file=sys.stderr)
        return 2
    return judge(folder, policy)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
