"""Frames: the unit in which records are written and hashed."""

import struct

import lz4.block

from .hashes import xxh64
from .page import HIGHEST_OFFSET
from .record import read_records
from .report import Damaged, Unsupported

EVENTS, MARK, CLOSE, GAP, INDEX = 1, 2, 3, 4, 5
HEAD = struct.Struct("<Q4sBBHIIQIIQQ")
HEAD_SIZE = 56
LARGEST = 1 << 27


class Frame:
  """One frame that verified. `records` is empty unless it holds events."""

  __slots__ = ("position", "next", "type", "base", "count", "durable", "incarnation", "raw", "records")

  @property
  def end(self):
    """Offset after the last event of the frame."""
    return self.base + self.count


def read_frame(data, position, limit, seed, file):
  """The frame at a position of a file's bytes, which must end at `limit` or before. Raises `Damaged` or `Unsupported`."""
  if limit - position < HEAD_SIZE:
    raise Damaged("a frame header is cut short")
  (stored_hash, magic, version, kind, flags, stored_size, raw_size, base, count, _, durable,
   incarnation) = HEAD.unpack_from(data, position)
  if magic != b"TMFR":
    raise Damaged("no frame begins here")
  if stored_size > LARGEST:
    raise Damaged("a frame of %d bytes" % stored_size)
  end = position + HEAD_SIZE + (stored_size + 7) // 8 * 8
  if end > limit:
    raise Damaged("the frame reaches beyond the end")
  if xxh64(memoryview(data)[position + 8 : end], seed) != stored_hash:
    raise Damaged("the hash of the frame differs")
  if version != 1:
    raise Unsupported(file, position, "frame version %d" % version)
  if kind == 0:
    raise Damaged("a frame of type 0")
  frame = Frame()
  frame.position, frame.next, frame.type = position, end, kind
  frame.base, frame.count, frame.durable, frame.incarnation = base, count, durable, incarnation
  frame.raw, frame.records = b"", ()
  if kind >= 128:
    if count:
      raise Damaged("a frame to skip takes offsets")
    return frame
  if kind > INDEX:
    raise Unsupported(file, position, "frame type %d" % kind)
  if flags > 1:
    raise Unsupported(file, position, "frame flags %d" % flags)
  if raw_size > LARGEST or base + count > HIGHEST_OFFSET or durable > HIGHEST_OFFSET or flags == 1 and raw_size > 255 * stored_size:
    raise Damaged("a field of the frame is out of range")
  stored = data[position + HEAD_SIZE : position + HEAD_SIZE + stored_size]
  frame.raw = expand(stored, flags, raw_size)
  check_contents(frame)
  return frame


def expand(stored, codec, raw_size):
  """The raw contents of a frame."""
  if codec == 0:
    if len(stored) != raw_size:
      raise Damaged("the raw length differs from the stored length")
    return stored
  try:
    raw = lz4.block.decompress(stored, uncompressed_size=raw_size)
  except (lz4.block.LZ4BlockError, ValueError, MemoryError):
    raise Damaged("the frame does not decompress") from None
  if len(raw) != raw_size:
    raise Damaged("the frame decompresses to another length")
  return raw


def check_contents(frame):
  """Check what the type demands of the contents, and read the records."""
  if frame.type == EVENTS:
    frame.records = read_records(frame.raw, frame.count)
  elif frame.type == GAP:
    if frame.count == 0:
      raise Damaged("a gap without offsets")
  elif frame.count:
    raise Damaged("a frame without events takes offsets")
  elif frame.type in (MARK, CLOSE) and frame.raw:
    raise Damaged("a mark with contents")
