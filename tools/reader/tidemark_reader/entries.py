"""Id pages: sorted fingerprints of event ids, in sealed segments and in merged indexes."""

import struct
from array import array

from .hashes import xxh64
from .page import PAGE_SIZE

ENTRIES_PER_PAGE = 511
FILLER = b"\xff" * 8


def page_count(entries):
  """How many pages a number of entries takes."""
  return -(-entries // ENTRIES_PER_PAGE)


def encode(entries):
  """The stored form of entries, each a number: fingerprint in the high 32 bits, offset in the low 32 bits."""
  values = array("I")
  for entry in sorted(entries):
    values.append(entry >> 32)
    values.append(entry & 0xFFFFFFFF)
  return struct.pack("<%dI" % len(values), *values)


def page_faults(data, position, count, seed, entries):
  """Positions of the pages that do not verify, or that differ from `entries`; these are None where records lack."""
  expected = None if entries is None else encode(entries)
  faults = []
  for number in range(count):
    at = position + number * PAGE_SIZE
    page = data[at : at + PAGE_SIZE]
    if len(page) < PAGE_SIZE:
      faults.append((at, "an id page is cut short"))
      break
    if xxh64(page[: PAGE_SIZE - 8], seed + number) != struct.unpack_from("<Q", page, PAGE_SIZE - 8)[0]:
      faults.append((at, "the hash of an id page differs"))
    elif expected is not None:
      part = expected[number * ENTRIES_PER_PAGE * 8 : (number + 1) * ENTRIES_PER_PAGE * 8]
      if page[: PAGE_SIZE - 8] != part.ljust(PAGE_SIZE - 8, b"\xff"):
        faults.append((at, "an id page differs from the records"))
  return faults
