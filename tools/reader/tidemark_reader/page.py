"""Structures in the page envelope: identity slots, segment headers, footers and headers of merged indexes."""

import struct

from .hashes import xxh64
from .report import Damaged, Unsupported

IDENTITY, HEADER, FOOTER, INDEX = 1, 2, 3, 4
PAGE_SIZE = 4096
FOOTER_SIZE = 512
NO_SESSION = (1 << 64) - 1
HIGHEST_OFFSET = 1 << 44
ZERO_ID = bytes(16)


def check_page(page, kind, file, position):
  """Check one page against the envelope. Raises `Damaged`, or `Unsupported` if it is sound but newer."""
  size = FOOTER_SIZE if kind == FOOTER else PAGE_SIZE
  if len(page) != size:
    raise Damaged("the page is cut short")
  if page[:8] != b"TIDEMARK":
    raise Damaged("the page does not begin with TIDEMARK")
  if xxh64(page[: size - 8]) != struct.unpack_from("<Q", page, size - 8)[0]:
    raise Damaged("the hash of the page differs")
  page_kind, version = struct.unpack_from("<HH", page, 8)
  if page_kind != kind:
    raise Damaged("the page is of kind %d in place of %d" % (page_kind, kind))
  if version != 1:
    raise Unsupported(file, position, "format version %d" % version)
  if struct.unpack_from("<Q", page, 24)[0] != 0:
    raise Unsupported(file, position, "unknown incompatible feature bits")


def check_offsets(*offsets):
  """Raise `Damaged` if a number is higher than any offset."""
  if max(offsets) > HIGHEST_OFFSET:
    raise Damaged("offset %d is out of range" % max(offsets))


def check_session_offset(offset):
  """The same, for a field that may say that there is no session."""
  if offset != NO_SESSION:
    check_offsets(offset)


class Pin:
  """What a segment records of its predecessor."""

  __slots__ = ("id", "end", "count", "digest")

  def __init__(self, page, at):
    self.id = page[at : at + 16]
    self.end, self.count = struct.unpack_from("<QQ", page, at + 16)
    self.digest = page[at + 32 : at + 48]
    check_offsets(self.end)
    if self.count > self.end:
      raise Damaged("a predecessor of %d events ends at offset %d" % (self.count, self.end))

  def __eq__(self, other):
    return (self.id, self.end, self.count, self.digest) == (other.id, other.end, other.count, other.digest)


class IdentitySlot:
  """One slot of the file `identity`."""

  def __init__(self, page, file, position):
    check_page(page, IDENTITY, file, position)
    self.generation = struct.unpack_from("<Q", page, 32)[0]
    self.log_id = page[40:56]
    epochs = struct.unpack_from("<H", page, 66)[0]
    if not 1 <= epochs <= 45:
      raise Damaged("%d epochs" % epochs)
    self.epoch = page[80 + 88 * (epochs - 1) :][:16]


class Header:
  """A segment header."""

  def __init__(self, page, file):
    check_page(page, HEADER, file, 0)
    self.log_id, self.epoch, self.id = page[32:48], page[48:64], page[64:80]
    self.base = struct.unpack_from("<Q", page, 80)[0]
    self.incarnation, self.floor = struct.unpack_from("<QQ", page, 96)
    self.replaces = page[112:128]
    self.pin = Pin(page, 128)
    self.user_end, self.session_offset = struct.unpack_from("<QQ", page, 176)
    length = struct.unpack_from("<H", page, 192)[0]
    if length > 2048:
      raise Damaged("session data of %d bytes" % length)
    self.session = page[256 : 256 + length]
    check_offsets(self.base, self.floor, self.user_end)
    check_session_offset(self.session_offset)


class Footer:
  """The footer of a sealed segment."""

  def __init__(self, page, file, position):
    check_page(page, FOOTER, file, position)
    self.log_id, self.epoch, self.id = page[32:48], page[48:64], page[64:80]
    self.base, self.end, self.users, self.user_end, self.frames = struct.unpack_from("<QQQQQ", page, 80)
    self.times = struct.unpack_from("<qq", page, 120)
    self.ids = (page[136:152], page[152:168])
    self.raw_bytes = struct.unpack_from("<Q", page, 168)[0]
    self.digest = page[176:192]
    self.pin = Pin(page, 192)
    self.floor, self.session_offset = struct.unpack_from("<QQ", page, 240)
    self.pages_at, self.page_count, self.index_at, self.length = struct.unpack_from("<QQQQ", page, 256)
    self.file_digest = page[288:304]
    self.lost = struct.unpack_from("<Q", page, 304)[0]
    if self.end < self.base:
      raise Damaged("the end lies below the base")
    check_offsets(self.end, self.user_end, self.floor)
    check_session_offset(self.session_offset)


class IndexHeader:
  """The header of a merged id index."""

  def __init__(self, page, file):
    check_page(page, INDEX, file, 0)
    self.log_id = page[32:48]
    self.first, self.end, self.page_count = struct.unpack_from("<QQQ", page, 48)
    self.ids = (page[72:88], page[88:104])
    self.coverage = page[104:120]
    check_offsets(self.first, self.end)
    if self.end < self.first:
      raise Damaged("the end lies below the first offset")
    if self.page_count > (self.end - self.first + 510) // 511:
      raise Damaged("%d pages for %d offsets" % (self.page_count, self.end - self.first))


def segment_seed(log_id, epoch, segment_id):
  """The seed that frames and id pages of a segment are hashed with."""
  return xxh64(log_id + epoch + segment_id)
