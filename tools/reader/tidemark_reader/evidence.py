"""Leaves of the history tree, written from Specs/evidence.md alone: a descriptor for each offset of a log."""

import hashlib
import struct

from .record import FIXED, FIXED_SIZE, SESSION


def sha256(data):
  """SHA-256 as bytes."""
  return hashlib.sha256(data).digest()


def descriptor(record, session):
  """What the leaf of an event is hashed from. `session` is the data of the session record in force, empty if there is none."""
  raw = record.raw
  fields = FIXED.unpack_from(raw)
  extensions_at = FIXED_SIZE + fields[4] + fields[9] + fields[10] + fields[11]
  data_at = extensions_at + fields[12]
  parts = (sha256(session) if session else bytes(32), sha256(raw[extensions_at:data_at]), sha256(raw[data_at:]), raw[:extensions_at])
  return b"TMD1" + b"".join(parts)


def lost_descriptor(offset):
  """The descriptor of an offset whose event was lost."""
  return struct.pack("<4sQ", b"TMG1", offset)


def leaf(data):
  """The hash of a leaf, from its descriptor."""
  return sha256(b"\0" + data)


def descriptors(log):
  """The descriptor of each offset that is there, and of those lost in between, with the record and the session (None if lost), in order."""
  expected, session = None, None
  for settled in log.settled_segments():
    segment = settled.segment
    if expected is None:
      expected = segment.base
    if session is None and segment.header:
      session = segment.header.session
    limit = log.next_base(segment)
    for offset, record in settled.contents():
      if limit is not None and offset >= limit:
        break
      for lost in range(expected, offset):
        yield lost, lost_descriptor(lost), None, None
      yield offset, descriptor(record, session or b""), record, session or b""
      expected = offset + 1
      if record.kind == SESSION:
        session = record.data
    for lost in range(expected, max(expected, settled.end)):
      yield lost, lost_descriptor(lost), None, None
    expected = max(expected, settled.end)
