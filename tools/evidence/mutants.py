"""The kinds of tampering: what is done, what the verifier is given, and what has to be said to it.

A kind is a function that changes what it is given, a `Mutant`; it may be called for several mutants. `reason` is a kind of finding of the audit, or of
verify.py. `foreign` says whether a verifier that is not ours has to reject it too: where a tree or a signature decides.
"""

import base64
import hashlib
import json
import os
import shutil
import struct

from claims import parse_note
from forger import Forgery, Record
from tampering import KEY, RECEIPT, SALVAGE, TRIM, key_record, signature_lines, with_lines
from tidemark_reader.record import SESSION, USER

KINDS = []
LOG, OTHER_POLICY, RECEIPT_TOO, SERVER = "log, policy", "log, another policy", "log, policy, a later receipt", "log, the server's heads"
BUNDLE, TILES = "bundle, policy", "tiles, log"


def kind(name, given, reason, foreign, verdict="refuted", count=1, **more):
    """Notes a kind. With `naive`, what is changed is also changed without making checksums fit."""
    def note(function):
        KINDS.append({"name": name, "given": given, "reason": reason, "foreign": foreign, "verdict": verdict, "count": count,
                      "make": function, **more})
        return function
    return note


# One event of a log, and all checksums made to fit

def field(name, change, of=USER, count=2):
    """An event that a receipt covers has another value."""
    def make(m):
        def apply(forgery):
            offset = m.choose(of)
            change(forgery.record(offset), m)
        m.log.edit(apply)
    def make_naively(m):
        def apply(forgery):
            change(forgery.record(offset), m)
        offset = m.choose(of)
        m.overwrite(offset, apply)
    kind(name, LOG, "root-differs", True, count=count)(make)
    kind(name + ", checksums left", LOG, "storage", True)(make_naively)


def set_to(name, value):
    return lambda record, m: setattr(record, name, value(getattr(record, name), m))


def flipped(data, m):
    data = bytearray(data)
    data[m.random.randrange(len(data))] ^= 1
    return bytes(data)


field("data of an event flipped", set_to("data", flipped))
field("data of an event longer", set_to("data", lambda data, m: data + b" "))
field("type of an event changed", set_to("type", lambda text, m: b"refund!"[: len(text)]))
field("subject of an event changed", set_to("subject", lambda text, m: b"gate-9"))
field("actor of an event changed", set_to("actor", lambda text, m: b"N9"))
field("content type of an event changed", set_to("content", lambda text, m: text[:-1] + b"x"))
field("time of an event changed", set_to("time", lambda time, m: time - 3_600_000_000_000))
field("time since boot of an event changed", set_to("elapsed", lambda elapsed, m: elapsed + 1))
field("offset from UTC of an event changed", set_to("utc", lambda utc, m: utc + 60))
field("clock flags of an event changed", set_to("clock", lambda clock, m: clock ^ 1))
field("digits and batch flag of an event changed", set_to("flags", lambda flags, m: flags ^ 0x10))
field("id of an event changed", set_to("id", flipped))
field("extension added to an event", set_to("extensions", lambda data, m: struct.pack("<HH", 3, 16) + bytes(range(16))))
field("event made a control event", set_to("kind", lambda kind, m: 6))
field("session changed: another boot", set_to("data", lambda data, m: bytes(16) + data[16:]), of=SESSION)
field("session changed: its clock", set_to("data", lambda data, m: data[:16] + struct.pack("<q", 5) + data[24:]), of=SESSION)


# The order and number of events

@kind("two events swapped", LOG, "root-differs", True, count=2)
def _(m):
    def change(forgery):
        first, second = m.choose(), m.choose(but_not=True)
        (one, at), (two, there) = forgery.find(first), forgery.find(second)
        one.records[at], two.records[there] = two.records[there], one.records[at]
    m.log.edit(change)


@kind("event dropped", LOG, "root-differs", True, count=2)
def _(m):
    m.log.edit(lambda forgery: (forgery.drop(m.choose()), forgery.append(m.world.spare_record())))


@kind("event inserted", LOG, "root-differs", True, count=2)
def _(m):
    m.log.edit(lambda forgery: forgery.insert(m.choose(), m.world.spare_record()))


@kind("events in the reverse order", LOG, "root-differs", True)
def _(m):
    def change(forgery):
        frame = next(frame for frame in forgery.frames if [record.kind for record in frame.records].count(USER) > 2)
        frame.records.reverse()
    m.log.edit(change)


@kind("event of another log in the place of one", LOG, "root-differs", True)
def _(m):
    def change(forgery):
        frame, at = forgery.find(m.choose())
        frame.records[at] = next(record for record in Forgery(m.world.other.path).records if record.kind == USER)
    m.log.edit(change)


@kind("tail of another log spliced on", LOG, "root-differs", True)
def _(m):
    def change(forgery):
        forgery.cut(m.world.receipts[1].size)
        for record in Forgery(m.world.other.path).records[:40]:
            forgery.append(record)
    m.log.edit(change)


@kind("gap in the place of an event", LOG, "root-differs", True, count=2, is_told=True)
def _(m):
    m.log.edit(lambda forgery: forgery.lose(m.choose()))


@kind("receipt event dropped", LOG, "root-differs", True)
def _(m):
    m.log.edit(lambda forgery: (forgery.drop(m.world.receipt_offsets[0]), forgery.append(m.world.spare_record())))


@kind("sealed segments unsealed, an event changed, sealed pins recomputed", LOG, "root-differs", True, source="sealed")
def _(m):
    m.log.edit(lambda forgery: setattr(forgery.record(m.choose()), "subject", b"gate-8"))


# Shortening, going back and forking

@kind("truncated below a receipt", LOG, "shorter", True, count=2)
def _(m):
    m.log.edit(lambda forgery: forgery.cut(m.world.covered - m.random.randrange(1, 5)))


@kind("truncated, and the receipts behind forgotten", SERVER, "shorter", False, why="the size that the server signed last")
def _(m):
    m.log.edit(lambda forgery: forgery.cut(m.world.receipts[1].size + 2))
    m.log.notes = [note for note in m.log.notes if note.size <= m.world.receipts[1].size]
    m.below = m.world.covered


@kind("rolled back to a backup", RECEIPT_TOO, "shorter", True, source="backup")
def _(m):
    m.give_receipt()


@kind("rolled back to a backup, the server asked", SERVER, "shorter", False, source="backup", why="the size that the server signed last")
def _(m):
    m.below = m.world.covered


@kind("forked: a backup that went on by itself", RECEIPT_TOO, "root-differs", True, source="fork")
def _(m):
    m.give_receipt()


@kind("forked, and signed: the server asked to countersign", SERVER, "refused", False, source="fork", why="the server refuses")
def _(m):
    m.ask_server()


@kind("rolled back, and signed: the server asked to countersign", SERVER, "refused", False, source="backup", why="the server refuses")
def _(m):
    m.ask_server()


@kind("changed and signed again, the server asked to countersign", SERVER, "refused", False, why="the server refuses")
def _(m):
    m.log.sign_again(lambda forgery: setattr(forgery.record(m.choose()), "data", b"0"), m.world.device_lines)
    m.ask_server()


# Notes and receipts. Those in the log are made again too, so that the tree fits.

@kind("changed, all notes made again with a key of the attacker's", LOG, "signature", True)
def _(m):
    def sign(text, note):
        return [m.world.attacker.sign(text, m.world.origin)] + signature_lines(note)[1:]
    m.log.sign_again(lambda forgery: setattr(forgery.record(m.choose()), "data", b"0"), sign)


@kind("changed, all notes made again with a later key", LOG, "signature", True)
def _(m):
    def sign(text, note):
        return [m.world.device[-1].sign(text, m.world.origin)] + signature_lines(note)[1:]
    m.log.sign_again(lambda forgery: setattr(forgery.record(m.choose()), "data", b"0"), sign)


@kind("changed, all notes made again with the stolen first key", LOG, "signature", True)
def _(m):
    def sign(text, note):
        return [m.world.device[0].sign(text, m.world.origin)] + signature_lines(note)[1:]
    m.log.sign_again(lambda forgery: setattr(forgery.record(m.choose()), "data", b"0"), sign)


@kind("changed, signed again by the device, cosignatures kept", LOG, "policy", True, "unproven")
def _(m):
    def sign(text, note):
        return m.world.device_lines(text, note) + signature_lines(note)[1:]
    m.log.sign_again(lambda forgery: setattr(forgery.record(m.choose()), "data", b"0"), sign)


@kind("changed, signed again by the device and a server of the same name", LOG, "policy", True, "unproven")
def _(m):
    def sign(text, note):
        more = [m.world.attacker.cosign(text, m.world.server_name, m.world.seconds)] if len(signature_lines(note)) > 1 else []
        return m.world.device_lines(text, note) + more
    m.log.sign_again(lambda forgery: setattr(forgery.record(m.choose()), "data", b"0"), sign)


@kind("changed, all keys and notes of the attacker's, the device's key pinned", OTHER_POLICY, "device-key", True)
def _(m):
    ids = m.world.ids

    def change(forgery):
        forgery.record(m.choose()).data = b"0"
        first, second = [record for record in forgery.records if record.kind == KEY]
        first.data = key_record(ids, None, m.world.attacker)
        second.data = key_record(ids, m.world.attacker, m.world.second_attacker)

    def sign(text, note):
        key = m.world.attacker if note.size <= m.world.key_offsets[1] else m.world.second_attacker
        return [key.sign(text, m.world.origin)] + signature_lines(note)[1:]
    m.log.sign_again(change, sign)
    m.policy = m.world.pinned


@kind("signature of the device left out of a receipt", LOG, "signature", True)
def _(m):
    note = m.world.receipts[-1]
    m.log.replace_receipt(note, with_lines(note.text, [m.world.spare_line(note), *signature_lines(note)[1:]]))


@kind("second, wrong signature of the device beside the right one", LOG, "signature", True)
def _(m):
    note = m.world.receipts[-1]
    wrong = m.world.device[-1].sign(b"something else\n", m.world.origin)
    m.log.replace_receipt(note, with_lines(note.text, [signature_lines(note)[0], wrong, *signature_lines(note)[1:]]))


@kind("cosignature of another checkpoint", LOG, "policy", True, "unproven")
def _(m):
    note = m.world.receipts[-1]
    m.log.replace_receipt(note, with_lines(note.text, [signature_lines(note)[0], signature_lines(m.world.receipts[0])[1]]))


@kind("time of a receipt changed", LOG, "policy", True, "unproven", count=2)
def _(m):
    note = m.world.receipts[-1]
    line = signature_lines(note)[1].decode().split()
    data = bytearray(base64.b64decode(line[2]))
    data[4 + m.random.randrange(4, 8)] ^= 1
    changed = f"\u2014 {line[1]} {base64.b64encode(bytes(data)).decode()}\n".encode()
    m.log.replace_receipt(note, with_lines(note.text, [signature_lines(note)[0], changed]))


@kind("cosignature taken away from the newest receipt", SERVER, "uncovered", True, "unproven", why="the size that the server signed last")
def _(m):
    note = m.world.receipts[-1]
    m.log.notes = [other for other in m.log.notes if other.whole != note.whole]
    m.log.edit(lambda forgery: setattr([record for record in forgery.records if record.kind == RECEIPT][-1], "data",
                                       with_lines(note.text, signature_lines(note)[:1]).whole))
    m.below = m.world.covered


@kind("times of receipts run back: a server's clock set back", LOG, "order", False, why="all signatures are right")
def _(m):
    note = m.world.receipts[-1]
    line = m.world.server_key.cosign(note.text, m.world.server_name, m.world.seconds - 86_400)
    m.log.replace_receipt(note, with_lines(note.text, [signature_lines(note)[0], line]))


@kind("receipt in front of what it covers", LOG, "order", True)
def _(m):
    m.log.edit(lambda forgery: setattr(forgery.record(m.world.receipt_offsets[0]), "data", m.world.receipts[-1].whole))


@kind("root in a note changed", LOG, "root-differs", True)
def _(m):
    notes = m.log.notes
    root = base64.b64encode(flipped(notes[1].root, m))
    text = b"\n".join([*notes[1].text.split(b"\n")[:2], root]) + b"\n"
    m.log.notes = [notes[0], with_lines(text, signature_lines(notes[1])), *notes[2:]]


@kind("size in a note changed", LOG, "root-differs", True)
def _(m):
    notes = m.log.notes
    parts = notes[1].text.split(b"\n")
    text = b"\n".join([parts[0], b"%d" % (notes[1].size + 1), parts[2]]) + b"\n"
    m.log.notes = [notes[0], with_lines(text, signature_lines(notes[1])), *notes[2:]]


@kind("note of another log among the notes", LOG, "other-history", True)
def _(m):
    m.log.notes = [*m.log.notes, m.world.other.notes()[0]]


@kind("a note in the file of notes made unreadable", LOG, "unreadable", False, why="there is no note to look at")
def _(m):
    with open(m.log.notes_path, "rb") as stream:
        data = stream.read()
    with open(m.log.notes_path, "wb") as stream:
        stream.write(data.replace("\u2014".encode(), b"--", 1))
    m.asks_others = False


@kind("receipt event that holds no note", LOG, "unreadable", False, why="there is no note to look at")
def _(m):
    m.log.edit(lambda forgery: setattr([record for record in forgery.records if record.kind == RECEIPT][-1], "data", b"no note"))
    m.asks_others = False


# Keys

def key_event(m, data):
    """A key event at the end, and a checkpoint with its key."""
    record = m.world.spare_record()
    record.kind, record.data = KEY, data
    record.type = record.subject = record.actor = record.content = b""
    m.log.edit(lambda forgery: forgery.append(record))


@kind("key event with a wrong key before", LOG, "key-record", False, why="foreign verifiers know no chain of keys")
def _(m):
    key_event(m, key_record(m.world.ids, m.world.second_attacker, m.world.attacker))


@kind("key event that says the right key before, without its signature", LOG, "key-record", False, why="foreign verifiers know no chain of keys")
def _(m):
    key_event(m, key_record(m.world.ids, m.world.second_attacker, m.world.attacker, previous=m.world.device[-1].public))


@kind("key event that begins the chain again", LOG, "key-record", False, why="foreign verifiers know no chain of keys")
def _(m):
    key_event(m, key_record(m.world.ids, None, m.world.attacker))


@kind("key event of another log", LOG, "key-record", False, why="foreign verifiers know no chain of keys")
def _(m):
    key_event(m, next(record.data for record in Forgery(m.world.other.path).records if record.kind == KEY))


@kind("key event that a receipt covers replaced", LOG, "root-differs", True)
def _(m):
    m.log.edit(lambda forgery: setattr(forgery.record(m.world.key_offsets[0]), "data", key_record(m.world.ids, None, m.world.attacker)))


# Policies

@kind("policy of another server", OTHER_POLICY, "policy", True, "unproven")
def _(m):
    m.policy, m.witnesses = m.world.false_server.policy, [m.world.false_server.key]


@kind("policy with quorum none", OTHER_POLICY, "policy", False, "unproven", why="nothing is asked for")
def _(m):
    m.policy = m.world.policy_of("quorum none\n")


@kind("no policy", "log", "policy", False, "unproven", why="nothing is asked for")
def _(m):
    m.policy = None


@kind("quorum short by one", OTHER_POLICY, "policy", True, "unproven")
def _(m):
    m.policy, m.witnesses = m.world.two_of_two, [m.world.server.key, m.world.false_server.key]


@kind("policy that pins another key of this device", OTHER_POLICY, "device-key", True)
def _(m):
    m.policy = m.world.policy_of(f"log {m.world.vkey_of(m.world.attacker)}\n" + m.world.server_lines)
    m.keys = [(0, m.world.vkey_of(m.world.attacker))]


@kind("another device's log in the place of this one", OTHER_POLICY, "device-key", True, "unproven", source="other")
def _(m):
    m.policy = m.world.pinned


# Other ids, and what is kept beside the log

@kind("epoch changed in all places", LOG, "other-history", False, why="tree and notes are as they were")
def _(m):
    m.reidentify(epoch=bytes(range(16)))


@kind("log id changed in all places", LOG, "other-history", False, why="tree and notes are as they were")
def _(m):
    m.reidentify(log_id=bytes(range(16, 32)))


# Salvaged and trimmed logs

def first_of(forgery, kind):
    return next(record for record in forgery.records if record.kind == kind)


@kind("salvaged, and nothing signed since", LOG, "policy", False, "unproven", source="unsigned", why="nothing is signed")
def _(m):
    m.asks_others = False


@kind("salvaged, and then the log that it is of named as another", LOG, "key-record", False, source="unsigned", why="foreign verifiers know no salvage")
def _(m):
    m.log.edit(lambda forgery: setattr(first_of(forgery, SALVAGE), "data", bytes(range(32))), keeps_tree=True)
    m.asks_others = False


@kind("salvaged, with a receipt of a third log in it", LOG, "other-history", True, source="salvaged")
def _(m):
    m.log.edit(lambda forgery: setattr(first_of(forgery, RECEIPT), "data", m.world.other.notes()[0].whole))


@kind("salvaged, with a key event of a third log in it", LOG, "key-record", True, source="salvaged")
def _(m):
    m.log.edit(lambda forgery: setattr(first_of(forgery, KEY), "data", first_of(Forgery(m.world.other.path), KEY).data))


@kind("salvaged, with a note of the log that it is of among its own", LOG, "other-history", False, source="salvaged", why="tree and notes are right")
def _(m):
    m.log.notes = [parse_note(first_of(Forgery(m.log.path), RECEIPT).data), *m.log.notes]


@kind("log id changed in all places, and called a salvage", LOG, "other-history", False, why="tree and notes are as they were")
def _(m):
    def change(forgery):
        record = m.world.spare_record()
        record.kind, record.data = SALVAGE, m.world.ids
        record.type = record.subject = record.actor = record.content = b""
        forgery.append(record)
    m.log.edit(change)
    m.reidentify(log_id=bytes(range(16, 32)))


def trim_event(m, change):
    """The trim event's floor, tree, receipt and session, changed."""
    def apply(forgery):
        record, parts, at = first_of(forgery, TRIM), [], 8
        for _ in range(3):
            size = int.from_bytes(record.data[at : at + 2], "little")
            parts.append(record.data[at + 2 : at + 2 + size])
            at += 2 + size
        change(parts)
        record.data = record.data[:8] + b"".join(len(part).to_bytes(2, "little") + part for part in parts)
    m.log.edit(apply, keeps_tree=True)


@kind("tree in a trim event changed", LOG, "root-differs", False, source="just_trimmed", why="others have the leaves that went")
def _(m):
    trim_event(m, lambda parts: parts.__setitem__(0, flipped(parts[0], m)))


@kind("tree in a trim event left out", LOG, "trimmed", True, "unproven", source="trimmed")
def _(m):
    trim_event(m, lambda parts: parts.__setitem__(0, b""))


@kind("receipt in a trim event of another log", LOG, "other-history", False, source="just_trimmed", why="others do not look there")
def _(m):
    trim_event(m, lambda parts: parts.__setitem__(1, m.world.other.notes()[-1].whole))


@kind("receipt in a trim event that is no note", LOG, "unreadable", False, source="just_trimmed", why="there is no note to look at")
def _(m):
    trim_event(m, lambda parts: parts.__setitem__(1, b"no note"))


@kind("event changed that only the device signed", LOG, "root-differs", True, source="changed")
def _(m):
    m.log.edit(lambda forgery: setattr(forgery.record(m.source.uncovered), "data", b"0"))


@kind("events cut that only the device signed", LOG, "shorter", True, source="changed")
def _(m):
    m.log.edit(lambda forgery: forgery.cut(m.source.uncovered))


@kind("kept tree of other events", LOG, "tree-differs", False, why="nobody signed it")
def _(m):
    m.keep_tree_of(lambda forgery: setattr(forgery.record(m.world.uncovered), "data", b"0"))


@kind("kept tree of more events", LOG, "shorter", False, why="nobody signed it")
def _(m):
    m.keep_tree_of(lambda forgery: forgery.append(m.world.spare_record()))


@kind("byte of a sealed segment flipped", LOG, "storage", True, source="sealed")
def _(m):
    name = min(os.listdir(m.segments))
    edit_text(os.path.join(m.segments, name), lambda data: data[:4200] + flipped(data[4200:4240], m) + data[4240:])


@kind("sealed segment removed", LOG, "storage", True, source="sealed")
def _(m):
    os.remove(os.path.join(m.segments, min(os.listdir(m.segments))))


@kind("newest segment cut in the middle", LOG, "shorter", True, is_told=True)
def _(m):
    name = max(os.listdir(m.segments))
    edit_text(os.path.join(m.segments, name), lambda data: data[: (4096 + len(data.rstrip(bytes(1)))) // 2])


@kind("trim record with another compact range", LOG, "root-differs", True, source="trimmed")
def _(m):
    def change(forgery):
        record = next(record for record in forgery.records if record.kind == 3)
        record.data = record.data[:12] + flipped(record.data[12:44], m) + record.data[44:]
    m.log.edit(change, keeps_tree=True)


@kind("trimmed log: an event behind the floor changed", LOG, "root-differs", True, source="trimmed")
def _(m):
    m.log.edit(lambda forgery: setattr(forgery.record(m.choose()), "data", b"0"), keeps_tree=True)


# Bundles, checked by verify.py

def proof_path(m, offset):
    return os.path.join(m.bundle, "proofs", f"{offset}.tlog-proof")


def edit_json(m, name, change):
    path = os.path.join(m.bundle, name)
    with open(path, encoding="utf-8") as stream:
        value = json.load(stream)
    value = change(value) or value
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(value, stream)


def edit_text(path, change):
    with open(path, "rb") as stream:
        data = stream.read()
    with open(path, "wb") as stream:
        stream.write(change(data))


def edit_event(m, change, role="chosen", last=False):
    """Changes a line of events.jsonl; its offset."""
    done = []

    def lines(data):
        events = [json.loads(line) for line in data.splitlines()]
        candidates = [event for event in events if event["role"] == role]
        event = candidates[-1 if last else m.random.randrange(len(candidates))]
        done.append(event["offset"])
        change(event)
        return b"".join(json.dumps(event).encode() + b"\n" for event in events if event)
    edit_text(os.path.join(m.bundle, "events.jsonl"), lines)
    return done[0]


def record_changed(name, value):
    def change(event):
        record = Record(base64.b64decode(event["record"]))
        setattr(record, name, value(getattr(record, name)))
        event["record"] = base64.b64encode(record.encode()).decode()
    return change


@kind("bundle: data of an event changed", BUNDLE, "root-differs", True, count=2)
def _(m):
    edit_event(m, record_changed("data", lambda data: data + b"0"))


@kind("bundle: time of an event changed", BUNDLE, "root-differs", True)
def _(m):
    edit_event(m, record_changed("time", lambda time: time + 1))


@kind("bundle: session of an event changed", BUNDLE, "root-differs", True)
def _(m):
    edit_event(m, lambda event: event.update(session=base64.b64encode(b"\0" + base64.b64decode(event["session"])[1:]).decode()))


@kind("bundle: an event under the offset of another", BUNDLE, "root-differs", True)
def _(m):
    def lines(data):
        events = [json.loads(line) for line in data.splitlines()]
        one, two = [event for event in events if event["role"] == "chosen"][:2]
        one["offset"], two["offset"] = two["offset"], one["offset"]
        return b"".join(json.dumps(event).encode() + b"\n" for event in events)
    edit_text(os.path.join(m.bundle, "events.jsonl"), lines)


@kind("bundle: descriptor in a proof changed", BUNDLE, "root-differs", True)
def _(m):
    def change(data):
        lines = data.split(b"\n")
        lines[1] = b"extra " + base64.b64encode(flipped(base64.b64decode(lines[1][6:]), m))
        return b"\n".join(lines)
    edit_text(proof_path(m, m.chosen()), change)


@kind("bundle: hash of a proof changed", BUNDLE, "root-differs", True)
def _(m):
    def change(data):
        lines = data.split(b"\n")
        lines[3] = base64.b64encode(flipped(base64.b64decode(lines[3]), m))
        return b"\n".join(lines)
    edit_text(proof_path(m, m.chosen()), change)


@kind("bundle: hash of a proof left out", BUNDLE, "unreadable", True)
def _(m):
    edit_text(proof_path(m, m.chosen()), lambda data: b"\n".join(data.split(b"\n")[:3] + data.split(b"\n")[4:]))


@kind("bundle: proof of another event", BUNDLE, "order", True)
def _(m):
    first, second = m.chosen(), m.chosen(but_not=True)
    shutil.copyfile(proof_path(m, first), proof_path(m, second))


@kind("bundle: proof missing", BUNDLE, "missing", False, "unproven", why="there is nothing to look at")
def _(m):
    os.remove(proof_path(m, m.chosen()))


@kind("bundle: event missing", BUNDLE, "missing", False, "unproven", why="there is nothing to look at")
def _(m):
    edit_event(m, lambda event: event.clear())


@kind("bundle: all notes signed again with a key of the attacker's", BUNDLE, "signature", True)
def _(m):
    m.replace_notes(lambda note: with_lines(note.text, [m.world.attacker.sign(note.text, m.world.origin), *signature_lines(note)[1:]]))


@kind("bundle: cosignatures left out", BUNDLE, "policy", True, "unproven")
def _(m):
    m.replace_notes(lambda note: with_lines(note.text, signature_lines(note)[:1]))


@kind("bundle: time in a cosignature changed", BUNDLE, "policy", True, "unproven")
def _(m):
    def change(note):
        line = signature_lines(note)[1].decode().split()
        data = base64.b64decode(line[2])
        return with_lines(note.text, [signature_lines(note)[0], f"\u2014 {line[1]} ".encode()
                                      + base64.b64encode(data[:11] + bytes([data[11] ^ 1]) + data[12:]) + b"\n"])
    m.replace_notes(change)


@kind("bundle: times of receipts run back", BUNDLE, "order", False, why="all signatures are right")
def _(m):
    newest = m.bundle_notes()[-1]
    line = m.world.server_key.cosign(newest.text, m.world.server_name, m.world.seconds - 86_400)
    m.replace_notes(lambda note: with_lines(note.text, [signature_lines(note)[0], line]) if note.whole == newest.whole else note)


@kind("bundle: proof of consistency changed", BUNDLE, "root-differs", True)
def _(m):
    edit_json(m, "consistency.json", lambda steps: steps[0]["hashes"].__setitem__(
        0, base64.b64encode(flipped(base64.b64decode(steps[0]["hashes"][0]), m)).decode()))


@kind("bundle: proof of consistency missing", BUNDLE, "missing", False, "unproven", why="there is nothing to look at")
def _(m):
    edit_json(m, "consistency.json", lambda steps: steps[1:] or [])


@kind("bundle: newest note of a fork, signed by device and server", BUNDLE, "root-differs", True)
def _(m):
    newest = m.bundle_notes()[-1]
    text = b"\n".join([*newest.text.split(b"\n")[:2], base64.b64encode(bytes(32))]) + b"\n"
    lines = [m.world.device[-1].sign(text, m.world.origin), m.world.server_key.cosign(text, m.world.server_name, m.world.seconds)]
    edit_text(os.path.join(m.bundle, "notes"), lambda data: data.replace(newest.whole + b"\n", with_lines(text, lines).whole + b"\n"))


@kind("bundle: notes in another order", BUNDLE, "order", False, why="each note is right")
def _(m):
    notes = m.bundle_notes()
    edit_text(os.path.join(m.bundle, "notes"), lambda data: b"".join(note.whole + b"\n" for note in notes[::-1]))


@kind("bundle: key event replaced", BUNDLE, "root-differs", True)
def _(m):
    edit_event(m, record_changed("data", lambda data: key_record(m.world.ids, None, m.world.attacker)), role="key")


@kind("bundle: key event left out", BUNDLE, "signature", False, why="foreign verifiers know no chain of keys")
def _(m):
    edit_event(m, lambda event: event.clear(), role="key", last=True)


@kind("bundle: manifest of another log", BUNDLE, "other-history", False, why="foreign verifiers read no manifest")
def _(m):
    log, epoch = (text.hex() for text in (bytes(range(16)), bytes(16)))
    edit_json(m, "manifest.json", lambda manifest: manifest.update(log=log, epoch=epoch, origin=f"tidemark/{log}/{epoch}"))


@kind("bundle: manifest cut short", BUNDLE, "unreadable", False, why="foreign verifiers read no manifest")
def _(m):
    edit_text(os.path.join(m.bundle, "manifest.json"), lambda data: data[: len(data) // 2])


@kind("bundle: event that is no record", BUNDLE, "unreadable", False, why="there is nothing to look at")
def _(m):
    edit_event(m, lambda event: event.update(record=event["record"][: len(event["record"]) // 8 * 4]))


@kind("bundle: policy of another server", "bundle, another policy", "policy", True, "unproven")
def _(m):
    m.policy, m.witnesses = m.world.false_server.policy, [m.world.false_server.key]


@kind("bundle: quorum short by one", "bundle, another policy", "policy", True, "unproven")
def _(m):
    m.policy, m.witnesses = m.world.two_of_two, [m.world.server.key, m.world.false_server.key]


@kind("bundle: policy that pins another device", "bundle, another policy", "device-key", True, "unproven")
def _(m):
    m.policy = m.world.policy_of(f"log {m.world.other.key_at(10**6)}\n" + m.world.server_lines)
    m.keys = [(0, m.world.other.key_at(10**6))]


@kind("bundle: only the policy that lies in it", "bundle", "policy", False, "unproven", why="nothing is asked for")
def _(m):
    m.policy = None


# Directories of tiles: read by tlog-scales, compared by us with what the log gives

def tile(m, name, change):
    edit_text(os.path.join(m.tiles, *name.split("/")), change)


@kind("tiles: entry changed", TILES, "tile-differs", True)
def _(m):
    tile(m, "tile/entries/000", lambda data: data[:50] + flipped(data[50:60], m) + data[60:])


@kind("tiles: hash of a leaf changed", TILES, "tile-differs", True, count=2)
def _(m):
    tile(m, "tile/0/000", lambda data: flipped(data, m))


@kind("tiles: tile of another place", TILES, "tile-differs", True)
def _(m):
    last = os.path.join(m.tiles, "tile", "0", "001.p")
    partial = os.path.join(last, os.listdir(last)[0])
    with open(os.path.join(m.tiles, "tile", "0", "000"), "rb") as stream:
        first = stream.read()
    edit_text(partial, lambda data: first[: len(data)])


@kind("tiles: entry and its hash changed", TILES, "tile-differs", True)
def _(m):
    def change(data):
        size = int.from_bytes(data[:2], "big")
        entry = flipped(data[2 : 2 + size], m)
        tile(m, "tile/0/000", lambda hashes: hashlib.sha256(b"\0" + entry).digest() + hashes[32:])
        return data[:2] + entry + data[2 + size :]
    tile(m, "tile/entries/000", change)


@kind("tiles: root in the checkpoint changed", TILES, "tile-differs", True)
def _(m):
    def change(data):
        note = parse_note(data)
        return data.replace(base64.b64encode(note.root), base64.b64encode(bytes(32)))
    tile(m, "checkpoint", change)
