"""Merged id indexes over sealed segments. They are derived: whatever is wrong with one is harmless."""

import os

from .entries import page_count, page_faults
from .hashes import xxh64, xxh128
from .page import PAGE_SIZE, IndexHeader
from .report import Damaged, Finding, Unsupported


def check_merged(log_path, analysis, entries):
  """Findings about the files in `index/`. `entries` has the id entries of each sealed segment, None where records lack."""
  found = []
  folder = os.path.join(log_path, "index")
  for name in sorted(name for name in os.listdir(folder) if name.endswith(".ids")):
    file = "index/" + name
    with open(os.path.join(folder, name), "rb") as stream:
      data = stream.read()
    try:
      faults = check_file(data, name, file, analysis, entries)
    except (Damaged, Unsupported) as damage:
      faults = [(0, str(damage))]
    found += [Finding("damaged-index", file, position, message=message) for position, message in faults[:1]]
  return found


def check_file(data, name, file, analysis, entries):
  """Positions and messages of what is wrong with one file. An index that covers other segments than there are now is only out of date."""
  header = IndexHeader(data[:PAGE_SIZE], file)
  first, end = header.first, header.end
  if header.log_id != analysis.identity.log_id or name != "%020d-%020d.ids" % (first, end):
    return [(0, "the index is of another log or another name")]
  if len(data) != PAGE_SIZE * (1 + header.page_count):
    return [(min(len(data), PAGE_SIZE), "the file does not hold its number of pages")]
  covered = [segment for segment in analysis.segments if segment.sealed and segment.base >= first and segment.end <= end]
  matches = xxh128(b"".join(segment.id for segment in covered)) == header.coverage
  parts = [entries.get(segment.id) for segment in covered]
  merged = None
  if matches and all(part is not None for part in parts):
    merged = [fingerprint << 32 | offset - first for part in parts for fingerprint, offset in part]
  faults = page_faults(data, PAGE_SIZE, header.page_count, xxh64(header.log_id + header.coverage), merged)
  if merged is not None and page_count(len(merged)) != header.page_count:
    faults.append((0, "the index has another number of pages than its records take"))
  return faults
