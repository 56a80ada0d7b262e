"""The hash functions of the format, as numbers and as stored bytes."""

import struct

import xxhash

MASK = (1 << 64) - 1


def xxh64(data, seed=0):
  """XXH3-64(seed, data) as a number."""
  return xxhash.xxh3_64_intdigest(data, seed=seed & MASK)


def stored128(value):
  """A 128-bit digest as it is stored: the low 64 bits, then the high 64 bits."""
  return struct.pack("<QQ", value & MASK, value >> 64)


def xxh128(data):
  """XXH3-128(data) as stored bytes."""
  return stored128(xxhash.xxh3_128_intdigest(data))


def fingerprint(event_id):
  """The fingerprint of an event id in the id pages."""
  return xxhash.xxh3_64_intdigest(event_id) & 0xFFFFFFFF


class RecordDigest:
  """The record digest of a segment, fed with records and gaps in order."""

  def __init__(self):
    self._state = xxhash.xxh3_128()

  def add_records(self, raw):
    self._state.update(raw)

  def add_gap(self, base, count):
    self._state.update(struct.pack("<IIQ", 0xFFFFFFFF, count, base))

  def stored(self):
    return stored128(self._state.intdigest())
