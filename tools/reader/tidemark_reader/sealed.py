"""The full check of a sealed segment: id pages, index, footer and digests against the records."""

import struct

from .entries import page_count, page_faults
from .frame import EVENTS, GAP
from .hashes import fingerprint, xxh128
from .page import FOOTER_SIZE, PAGE_SIZE
from .record import SESSION, TRIM, USER, trim_floor
from .report import Damaged, Finding
from .walk import read_index

LATEST, EARLIEST = (1 << 63) - 1, -(1 << 63)
LISTED_SUBJECTS = 4096


class Summary:
  """What the records of a segment say; index and footer must say the same."""

  def __init__(self, settled):
    # Where the header is damaged, the footer says what is in force.
    header = settled.segment.header or settled.segment.footer
    self.base = settled.segment.base
    self.frames = []
    self.types, self.subjects, self.sessions, self.entries = {}, {}, [], []
    self.times, self.ids = [LATEST, EARLIEST], [b"\xff" * 16, bytes(16)]
    self.users = self.raw_bytes = self.lost = 0
    self.user_end, self.floor, self.session_offset = header.user_end, header.floor, header.session_offset
    for frame in settled.frames:
      if frame.type not in (EVENTS, GAP):
        continue
      self.frames.append([frame.base, frame.position, LATEST, EARLIEST])
      self.raw_bytes += len(frame.raw) if frame.type == EVENTS else 0
      if frame.type == GAP:
        self.lost += frame.count
        self.user_end = frame.base + frame.count
      for number, record in enumerate(frame.records):
        self.add(frame.base + number, record)

  def add(self, offset, record):
    self.entries.append(fingerprint(record.id) << 32 | offset - self.base)
    self.ids = [min(self.ids[0], record.id), max(self.ids[1], record.id)]
    if record.kind == USER:
      self.users += 1
      self.user_end = offset + 1
      for times, at in ((self.times, 0), (self.frames[-1], 2)):
        times[at] = min(times[at], record.time)
        times[at + 1] = max(times[at + 1], record.time)
      self.types[record.type] = self.types.get(record.type, 0) + 1
      if record.subject:
        self.subjects[record.subject] = self.subjects.get(record.subject, 0) + 1
    elif record.kind == SESSION:
      self.session_offset = offset
      self.sessions.append((offset, record.data))
    elif record.kind == TRIM:
      self.floor = max(self.floor, trim_floor(record.data))

  def index(self):
    """The raw contents of the index frame."""
    complete = len(self.subjects) <= LISTED_SUBJECTS
    subjects = self.subjects if complete else {}
    parts = [struct.pack("<IIIIII", len(self.frames), len(self.types), len(subjects), len(self.sessions), complete, 0)]
    parts += [struct.pack("<QQqq", *frame) for frame in self.frames]
    for form, table in (("<B", self.types), ("<H", subjects)):
      for text, count in sorted((text.encode("utf-8"), count) for text, count in table.items()):
        parts += [struct.pack(form, len(text)), text, struct.pack("<I", count)]
    for offset, data in self.sessions:
      parts += [struct.pack("<QH", offset, len(data)), data]
    return b"".join(parts)


def check_sealed(settled, seed):
  """Findings about index, footer and digests of a sealed segment with a sound footer."""
  segment = settled.segment
  footer, data = segment.footer, segment.read()
  found = []

  def derived(position, message):
    found.append(Finding("damaged-index", segment.file, position, message=message))

  whole = settled.is_whole
  incarnation = (segment.header or settled.frames[0]).incarnation if segment.header or settled.frames else None
  summary = Summary(settled) if whole else None
  if not segment.header:
    derived(0, "header: %s" % segment.header_damage)
  for position, message in page_faults(data, footer.pages_at, footer.page_count, seed, summary.entries if whole else None):
    derived(position, message)
  try:
    index = read_index(data, footer, seed, segment.file)
    if index.next != len(data) - FOOTER_SIZE:
      derived(index.position, "the index does not end at the footer")
    elif index.base != segment.end or index.durable != segment.end or incarnation not in (None, index.incarnation):
      derived(index.position, "the index frame states other offsets or another writer")
    elif whole and index.raw != summary.index():
      derived(index.position, "the index differs from the records")
  except Damaged as damage:
    derived(footer.index_at, "index: %s" % damage)
  if whole:
    fault = footer_fault(settled, summary)
    if fault:
      derived(len(data) - FOOTER_SIZE, fault)
    if settled.record_digest() != footer.digest:
      found.append(Finding("pin-mismatch", segment.file, None, segment.base, segment.end, "the records differ from the record digest"))
    if not found and segment.header and xxh128(data[:-FOOTER_SIZE]) != footer.file_digest:
      derived(0, "the digest of the file differs")
  return found


def footer_fault(settled, summary):
  """What the footer states other than header and records, or None."""
  footer = settled.segment.footer
  frames_end = settled.frames[-1].next if settled.frames else PAGE_SIZE
  stated = (
    ("number of user events", footer.users, summary.users),
    ("user end", footer.user_end, summary.user_end),
    ("number of frames", footer.frames, len(summary.frames)),
    ("times", list(footer.times), summary.times),
    ("ids", list(footer.ids), summary.ids),
    ("raw bytes", footer.raw_bytes, summary.raw_bytes),
    ("trim floor", footer.floor, summary.floor),
    ("session in force", footer.session_offset, summary.session_offset),
    ("position of the id pages", footer.pages_at, frames_end),
    ("number of id pages", footer.page_count, page_count(len(summary.entries))),
    ("position of the index", footer.index_at, footer.pages_at + PAGE_SIZE * footer.page_count),
    ("lost offsets", footer.lost, summary.lost),
  )
  for name, footer_value, value in stated:
    if footer_value != value:
      return "the footer states another %s: %r in place of %r" % (name, footer_value, value)
  return None
