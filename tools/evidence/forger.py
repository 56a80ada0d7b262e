"""Rewrites logs the way somebody would who holds the device and knows the format: whatever a checksum would tell is made to fit again.

A log is taken apart into the frames of its segments; their records are changed, and it is written again under the same ids: frames, offsets, durable
offsets, pins, digests, sealed segments as open ones, and the frontier of the tree. What can't be made to fit is what was signed.
"""

import hashlib
import os
import shutil
import struct

from tidemark_reader.analysis import Analysis
from tidemark_reader.evidence import descriptors, leaf
from tidemark_reader.frame import CLOSE, EVENTS, GAP, HEAD, MARK
from tidemark_reader.hashes import RecordDigest, xxh64
from tidemark_reader.log import Log
from tidemark_reader.page import NO_SESSION, segment_seed
from tidemark_reader.record import FIXED, FIXED_SIZE, SESSION, USER

FIELDS = ("length", "kind", "flags", "clock", "type_size", "id", "time", "elapsed", "utc", "actor_size", "content_size", "subject_size",
          "extension_size")
PARTS = ("type", "subject", "actor", "content", "extensions", "data")
PAGE = 4096


class Record:
    """A record's fields by name, and its parts as bytes."""

    def __init__(self, raw):
        fields = dict(zip(FIELDS, FIXED.unpack_from(raw)))
        for name in ("kind", "flags", "clock", "id", "time", "elapsed", "utc"):
            setattr(self, name, fields[name])
        at = FIXED_SIZE
        for name in PARTS[:-1]:
            size = fields[{"extensions": "extension_size"}.get(name, name + "_size")]
            setattr(self, name, raw[at : at + size])
            at += size
        self.data = raw[at:]

    def encode(self):
        body = b"".join(getattr(self, name) for name in PARTS)
        return FIXED.pack(FIXED_SIZE + len(body), self.kind, self.flags, self.clock, len(self.type), self.id, self.time, self.elapsed, self.utc,
                          len(self.actor), len(self.content), len(self.subject), len(self.extensions)) + body


class Frame:
    """A frame: records, or a number of lost offsets with a reason, or neither."""

    def __init__(self, kind, records=(), count=0, raw=b"", incarnation=0):
        self.kind, self.records, self.lost, self.raw, self.incarnation = kind, list(records), count, raw, incarnation

    @property
    def count(self):
        return len(self.records) if self.kind == EVENTS else self.lost

    def contents(self):
        return b"".join(record.encode() for record in self.records) if self.kind == EVENTS else self.raw


class Segment:
    """A segment's header page and its frames."""

    def __init__(self, page, frames):
        self.page, self.frames = bytearray(page), frames
        self.log_id, self.epoch, self.id = bytes(page[32:48]), bytes(page[48:64]), bytes(page[64:80])


class Forgery:
    """A log taken apart. `records` are all records in order, and may be changed in place; frames likewise."""

    def __init__(self, path):
        self.path, analysis = path, Analysis(path)
        self.segments = []
        settled = [analysis.settle(segment) for segment in analysis.segments] + ([analysis.newest_settled] if analysis.newest else [])
        for part in settled:
            frames = [Frame(frame.type, [Record(record.raw) for record in frame.records], frame.count, frame.raw, frame.incarnation)
                      for frame in part.frames if frame.type in (EVENTS, MARK, CLOSE, GAP)]
            self.segments.append(Segment(part.segment.read()[:PAGE], frames))
        self.base = analysis.segments[0].base if analysis.segments else analysis.newest.base
        with open(os.path.join(path, "identity"), "rb") as stream:
            self.identity = stream.read()

    @property
    def frames(self):
        return [frame for segment in self.segments for frame in segment.frames]

    @property
    def records(self):
        return [record for frame in self.frames for record in frame.records]

    def find(self, offset):
        """The frame of an offset, and its place there."""
        at = self.base
        for frame in self.frames:
            if at <= offset < at + frame.count:
                return frame, offset - at
            at += frame.count
        raise LookupError(offset)

    def record(self, offset):
        frame, index = self.find(offset)
        return frame.records[index]

    def drop(self, offset):
        frame, index = self.find(offset)
        del frame.records[index]

    def insert(self, offset, record):
        frame, index = self.find(offset)
        frame.records.insert(index, record)

    def lose(self, offset):
        """Puts a gap in the place of an event."""
        segment = next(part for part in self.segments if self.find(offset)[0] in part.frames)
        frame, index = self.find(offset)
        at = segment.frames.index(frame)
        parts = [Frame(EVENTS, frame.records[:index], incarnation=frame.incarnation),
                 Frame(GAP, count=1, raw=b"a sector could not be read", incarnation=frame.incarnation),
                 Frame(EVENTS, frame.records[index + 1 :], incarnation=frame.incarnation)]
        segment.frames[at : at + 1] = [part for part in parts if part.count]

    def cut(self, size):
        """Forgets all offsets from a size on."""
        at = self.base
        for segment in self.segments:
            for frame in segment.frames:
                keep = max(0, min(frame.count, size - at))
                at += frame.count
                if frame.kind == EVENTS:
                    del frame.records[keep:]
                elif frame.kind == GAP:
                    frame.lost = keep
            segment.frames = [frame for frame in segment.frames if frame.kind in (MARK, CLOSE) or frame.count]
        while len(self.segments) > 1 and not any(frame.count for frame in self.segments[-1].frames):
            self.segments.pop()

    def append(self, record):
        """Adds a record in a frame of its own, before the log's close."""
        frames = self.segments[-1].frames
        incarnation = frames[-1].incarnation
        at = len(frames) - 1 if frames[-1].kind == CLOSE else len(frames)
        frames.insert(at, Frame(EVENTS, [record], incarnation=incarnation))

    def reidentify(self, log_id=None, epoch=None):
        """Gives the log, in all places, another id or epoch."""
        first = self.segments[0]
        for old, new in ((first.log_id, log_id), (first.epoch, epoch)):
            if new:
                self.identity = self.identity.replace(old, new)
                for segment in self.segments:
                    segment.page[32:64] = bytes(segment.page[32:64]).replace(old, new)
        slots = [bytearray(self.identity[at : at + PAGE]) for at in (0, PAGE)]
        for slot in slots:
            struct.pack_into("<Q", slot, PAGE - 8, xxh64(bytes(slot[: PAGE - 8])))
        self.identity = b"".join(map(bytes, slots))
        for segment in self.segments:
            segment.log_id, segment.epoch = bytes(segment.page[32:48]), bytes(segment.page[48:64])

    def write(self, folder, keeps_tree=False):
        """Writes the log: all segments open, everything recomputed. `keeps_tree` leaves the kept tree as it was."""
        shutil.rmtree(os.path.join(folder, "segments"))
        shutil.rmtree(os.path.join(folder, "index"), ignore_errors=True)
        os.makedirs(os.path.join(folder, "segments"))
        with open(os.path.join(folder, "identity"), "wb") as stream:
            stream.write(self.identity)
        if os.path.exists(os.path.join(folder, "live")):
            os.remove(os.path.join(folder, "live"))
        offset, user_end, session, session_offset, pin = self.base, None, None, NO_SESSION, None
        for segment in self.segments:
            base, page, digest = offset, segment.page, RecordDigest()
            struct.pack_into("<Q", page, 80, base)
            if pin:
                page[128:176] = pin
                struct.pack_into("<QQH", page, 176, user_end, session_offset, len(session))
                page[256:] = bytes(PAGE - 256)
                page[256 : 256 + len(session)] = session
            else:
                user_end, session_offset, size = struct.unpack_from("<QQH", page, 176)
                session = bytes(page[256 : 256 + size])
            struct.pack_into("<Q", page, PAGE - 8, xxh64(bytes(page[: PAGE - 8])))
            seed, body = segment_seed(segment.log_id, segment.epoch, segment.id), [bytes(page)]
            for frame in segment.frames:
                if frame.kind == EVENTS and not frame.records:
                    continue
                raw = frame.contents()
                body.append(self.encode(frame, raw, offset, seed))
                if frame.kind == GAP:
                    digest.add_gap(offset, frame.count)
                    user_end = offset + frame.count
                elif frame.kind == EVENTS:
                    digest.add_records(raw)
                    for index, record in enumerate(frame.records):
                        user_end = offset + index + 1 if record.kind == USER else user_end
                        if record.kind == SESSION:
                            session, session_offset = record.data, offset + index
                offset += frame.count
            pin = segment.id + struct.pack("<QQ", offset, offset - base) + digest.stored()
            name = "%020d-%s.open" % (base, segment.id.hex())
            with open(os.path.join(folder, "segments", name), "wb") as stream:
                stream.write(b"".join(body))
        if not keeps_tree:
            write_tree(folder)

    @staticmethod
    def encode(frame, raw, offset, seed):
        fields = (b"TMFR", 1, frame.kind, 0, len(raw), len(raw), offset, frame.count, 0, offset, frame.incarnation)
        body = HEAD.pack(0, *fields)[8:] + raw + bytes(-len(raw) % 8)
        return struct.pack("<Q", xxh64(body, seed)) + body


def evidence_folder(folder):
    """Where the evidence of a log's epoch is."""
    place = os.path.join(folder, "evidence")
    return os.path.join(place, next(name for name in sorted(os.listdir(place)) if name != "keys"))


def subtrees(hashes):
    """Roots of the complete subtrees, the largest first."""
    roots, at = [], 0
    for bit in range(len(hashes).bit_length() - 1, -1, -1):
        if len(hashes) >> bit & 1:
            part = hashes[at : at + (1 << bit)]
            at += 1 << bit
            while len(part) > 1:
                part = [hashlib.sha256(b"\x01" + part[index] + part[index + 1]).digest() for index in range(0, len(part), 2)]
            roots += part
    return roots


def write_tree(folder):
    """Makes the kept tree that belongs to the events of an untrimmed log, as the library would."""
    place = evidence_folder(folder)
    for name in os.listdir(place):
        if name == "frontier" or name.startswith(("level-", "leaves-")):
            os.remove(os.path.join(place, name))
    log, hashes, session, last = Log(folder), [], b"", {}
    for offset, data, record, _ in descriptors(log):
        hashes.append(leaf(data))
        if record is not None:
            session = record.data if record.kind == SESSION else session
            last[record.kind] = offset
    with open(os.path.join(folder, "identity"), "rb") as stream:
        identity = stream.read()
    ids = identity[40:56] + bytes.fromhex(os.path.basename(place))
    body = b"TMTREE1\0" + ids + struct.pack("<Q", len(hashes)) + (hashlib.sha256(session).digest() if session else bytes(32))
    body += struct.pack("<QQQ", 0, last.get(5, NO_SESSION), last.get(4, NO_SESSION)) + b"".join(subtrees(hashes))
    with open(os.path.join(place, "frontier"), "wb") as stream:
        stream.write(body + struct.pack("<Q", xxh64(body)))
