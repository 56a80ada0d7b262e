"""Segment files as they are found in the directory, before anything is said about how they hang together."""

import os
import re

from .frame import EVENTS, GAP
from .hashes import RecordDigest, fingerprint
from .page import FOOTER_SIZE, HIGHEST_OFFSET, PAGE_SIZE, Footer, Header, segment_seed
from .record import TRIM, trim_floor
from .report import Damaged, Finding, Unsupported
from .walk import Hole, walk_open, walk_sealed

# What the footer of a sealed segment repeats of its header.
IDS = ("log_id", "epoch", "id", "base", "pin")
NAME = re.compile(r"([0-9]{20})-([0-9a-f]{32})\.(open|sealed)\Z")


def is_segment(name):
  """Whether a file name is that of a segment."""
  match = NAME.match(name)
  return match is not None and int(match.group(1)) <= HIGHEST_OFFSET


class Segment:
  """One file in `segments/`. `end` is None until it is known."""

  def __init__(self, log_path, name):
    base, identifier, form = NAME.match(name).groups()
    self.file = "segments/" + name
    self.path = os.path.join(log_path, "segments", name)
    self.base = int(base)
    self.id = bytes.fromhex(identifier)
    self.sealed = form == "sealed"
    self.header = self.footer = None
    self.header_damage = self.footer_damage = None
    self.size = 0
    self.end = None
    self.is_readable = True
    self.load()

  def load(self):
    """Read header and footer. Raises `Unsupported` for a newer version."""
    with open(self.path, "rb") as stream:
      page = stream.read(PAGE_SIZE)
      self.size = stream.seek(0, os.SEEK_END)
      position = max(0, self.size - FOOTER_SIZE)
      stream.seek(position)
      if self.sealed:
        self.load_footer(stream.read(FOOTER_SIZE), position)
    try:
      self.header = Header(page, self.file)
    except Damaged as damage:
      self.header_damage = str(damage)
    except Unsupported as newer:
      if not self.footer:
        raise
      self.header_damage = str(newer)
    if self.header and self.footer and not all(getattr(self.header, field) == getattr(self.footer, field) for field in IDS):
      self.header, self.header_damage = None, "header and footer contradict each other"

  def load_footer(self, page, position):
    """Read the footer of a sealed file."""
    try:
      footer = Footer(page, self.file, position)
      if footer.length != self.size:
        raise Damaged("the file has %d bytes in place of %d" % (self.size, footer.length))
      self.footer = footer
    except Damaged as damage:
      self.footer_damage = str(damage)

  @property
  def ids_page(self):
    """The structure that says which segment it is: the footer of a sealed one, else the header; None if that is damaged."""
    return self.footer or self.header

  def foreign_reason(self, log_id):
    """Why the file does not belong to the log under this name, or None."""
    part = self.ids_page
    if part and part.log_id != log_id:
      return "it belongs to the log %s" % part.log_id.hex()
    if part and (part.id != self.id or part.base != self.base):
      return "the ids inside are not those of the name"
    return None

  @property
  def pin(self):
    """What it records of its predecessor, or None if that is damaged."""
    return self.ids_page.pin if self.ids_page else None

  def floor(self):
    """The trim floor that it states, 0 if it can't be read."""
    return self.ids_page.floor if self.ids_page else 0

  def read(self):
    """All bytes of the file."""
    with open(self.path, "rb") as stream:
      return stream.read()

  def seed(self, log_id, epoch):
    """The segment seed; from the name and the log's own ids where the header is damaged."""
    part = self.ids_page
    return segment_seed(part.log_id, part.epoch, part.id) if part else segment_seed(log_id, epoch or bytes(16), self.id)


class Settled:
  """The part of a segment that counts: its frames in order, its end, and what was found on the way."""

  def __init__(self, segment):
    self.segment = segment
    self.frames = []
    self.findings = []
    self.end = segment.base

  def add(self, kind, position, first, last, message):
    self.findings.append(Finding(kind, self.segment.file, position, first, last, message))

  @property
  def is_whole(self):
    """True if no offset up to the end lacks."""
    return not self.findings

  def contents(self):
    """Offsets and records of the frames."""
    for frame in self.frames:
      for number, record in enumerate(frame.records):
        yield frame.base + number, record

  def id_entries(self):
    """An entry of the id pages for each record, with its offset in the log in place of the one relative to the base."""
    return [(fingerprint(record.id), offset) for offset, record in self.contents()]

  def floors(self):
    """The highest floor of the trim records, 0 if there is none."""
    return max([trim_floor(record.data) for _, record in self.contents() if record.kind == TRIM] or [0])

  def record_digest(self):
    """The record digest over the part that counts."""
    digest = RecordDigest()
    for frame in self.frames:
      if frame.type == GAP:
        digest.add_gap(frame.base, frame.count)
      elif frame.type == EVENTS:
        digest.add_records(frame.raw)
    return digest.stored()


def open_steps(segment, seed):
  """Frames and holes of an open segment."""
  return list(walk_open(segment.read(), segment.base, seed, segment.file))


def recorded_durable(steps):
  """The highest durable offset that a valid frame records, 0 if there is none."""
  return max([step.durable for step in steps if isinstance(step, Hole) or step.type < 128] or [0])


def settle_newest(segment, steps, durable):
  """Decide what of the newest segment counts, given the recorded durable offset D."""
  result = Settled(segment)
  for number, step in enumerate(steps):
    if not isinstance(step, Hole):
      result.frames.append(step)
      result.end = max(result.end, step.end)
    elif durable <= step.offset:
      ends = [later.furthest if isinstance(later, Hole) else later.end for later in steps[number:]]
      furthest = max([step.offset] + ends)
      result.add("torn-tail", step.position, step.offset, furthest, step.why)
      return result
    else:
      result.end = durable if step.next is None else step.next
      result.add("damaged-frame", step.position, step.offset, result.end, step.why)
  return result


def settle_pinned(segment, steps, end):
  """Decide what of a closed segment counts that is read frame by frame up to a known end. A frame that reaches beyond it is damaged."""
  result = Settled(segment)
  position = PAGE_SIZE
  for step in steps:
    if result.end >= end:
      break
    if isinstance(step, Hole) or step.end > end:
      last = end if not isinstance(step, Hole) or step.next is None else min(step.next, end)
      result.add("damaged-frame", step.position, result.end, last, step.why if isinstance(step, Hole) else "a frame reaches beyond the end")
      result.end = last
    else:
      result.frames.append(step)
      result.end, position = max(result.end, step.end), step.next
  if result.end < end:
    result.add("damaged-frame", position, result.end, end, "the frames end before the end that the next segment records")
  result.end = end
  return result


def settle_sealed(segment, seed):
  """Read the frames of a sealed segment."""
  result = Settled(segment)
  for step in walk_sealed(segment.read(), segment, seed):
    if not isinstance(step, Hole):
      result.frames.append(step)
    else:
      result.add("damaged-frame", step.position, step.offset, step.next, step.why)
  result.end = segment.end
  return result
