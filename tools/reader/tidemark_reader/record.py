"""Records: one event each, with its fixed part, strings, extensions and data."""

import struct

from .page import HIGHEST_OFFSET
from .report import Damaged

USER, SESSION, TRIM = 1, 2, 3
FIXED = struct.Struct("<IBBBB16sqQhBBHH")
FIXED_SIZE = 48
LARGEST = 16 << 20
CORRELATION, CAUSATION, SUPERSEDES, ATTACHMENT = 1, 2, 3, 4


class Record:
  """One record. Its strings are text, `extensions` and `data` are bytes."""

  __slots__ = ("kind", "flags", "id", "time", "elapsed", "type", "subject", "actor", "content_type", "extensions", "data", "raw")

  @property
  def fraction_digits(self):
    """Digits of the time's fraction that were given."""
    return self.flags >> 4

  @property
  def goes_on(self):
    """True if the batch goes on with the next record."""
    return self.flags & 1 != 0


def read_records(raw, count):
  """All records of a frame of type 1. Raises `Damaged` if they are not exactly `count` well-formed ones."""
  records = []
  at = 0
  end = len(raw)
  while at < end:
    record = read_record(raw, at, end)
    records.append(record)
    at += len(record.raw)
  if len(records) != count or count == 0:
    raise Damaged("%d records in place of %d" % (len(records), count))
  return records


def read_record(raw, at, end):
  """The record at a position of a frame's raw contents."""
  if end - at < FIXED_SIZE:
    raise Damaged("a record is cut short")
  record = Record()
  (length, record.kind, record.flags, _, type_size, record.id, record.time, record.elapsed, _, actor_size, content_size, subject_size,
   extension_size) = FIXED.unpack_from(raw, at)
  variable = type_size + subject_size + actor_size + content_size + extension_size
  if length < FIXED_SIZE + variable or length > end - at or length > LARGEST:
    raise Damaged("a record of length %d does not fit" % length)
  if record.flags >> 4 > 9 or subject_size > 1024 or (record.kind == USER and type_size == 0):
    raise Damaged("a field of a record is out of range")
  record.raw = raw[at : at + length]
  at += FIXED_SIZE
  try:
    record.type = raw[at : at + type_size].decode("utf-8")
    at += type_size
    record.subject = raw[at : at + subject_size].decode("utf-8")
    at += subject_size
    record.actor = raw[at : at + actor_size].decode("utf-8")
    at += actor_size
    record.content_type = raw[at : at + content_size].decode("utf-8")
    at += content_size
  except UnicodeDecodeError:
    raise Damaged("a string of a record is not UTF-8") from None
  record.extensions = read_extensions(raw[at : at + extension_size]) if extension_size else ()
  record.data = record.raw[FIXED_SIZE + variable :]
  return record


def read_extensions(raw):
  """The entries of the extensions as pairs of tag and value."""
  entries = []
  at = 0
  while at < len(raw):
    if len(raw) - at < 4:
      raise Damaged("an extension is cut short")
    tag, size = struct.unpack_from("<HH", raw, at)
    at += 4
    if size > len(raw) - at or (CORRELATION <= tag <= SUPERSEDES and size != 16):
      raise Damaged("an extension has the wrong length")
    entries.append((tag, raw[at : at + size]))
    at += size
  return entries


def read_attachment(value):
  """Length, SHA-256, media type and name of a file that an event names."""
  if len(value) < 41 or len(value) < 42 + value[40] or len(value) < 42 + value[40] + value[41 + value[40]]:
    raise Damaged("an attachment is cut short")
  end = 41 + value[40]
  name = value[end + 1 : end + 1 + value[end]]
  return struct.unpack_from("<Q", value)[0], value[8:40], value[41:end].decode("utf-8", "replace"), name.decode("utf-8", "replace")


def boot_id(session):
  """The boot id in session data, or None if it is unknown."""
  boot = session[:16]
  return boot if len(session) >= 40 and any(boot) else None


def trim_floor(data):
  """The floor in the data of a trim record, 0 if there is none."""
  floor = struct.unpack_from("<Q", data)[0] if len(data) >= 14 else 0
  return floor if floor <= HIGHEST_OFFSET else 0
