"""Walks over the frames of a segment. A walk never stops at damage: it yields a hole and goes on at the next frame that verifies."""

from .frame import EVENTS, GAP, INDEX, read_frame
from .page import FOOTER_SIZE, PAGE_SIZE
from .report import Damaged


class Hole:
  """Bytes that hold no valid frame where one should be: from `offset` on, up to `next` where that is known.

  Frames that verify in it, but do not fit there, tell the highest durable offset, and the furthest end, of any of them.
  """

  __slots__ = ("position", "offset", "next", "why", "durable", "furthest")

  def __init__(self, position, offset, next_offset, why, passed=()):
    self.position = position
    self.offset = offset
    self.next = next_offset
    self.why = why
    self.durable = max([frame.durable for frame in passed] or [0])
    self.furthest = max([frame.end for frame in passed if frame.base >= offset] or [0])


def candidates(data, start, limit):
  """Positions of multiples of 8 from `start` on where the frame magic stands."""
  at = data.find(b"TMFR", start + 8, limit)
  while at >= 0:
    if at % 8 == 0:
      yield at - 8
    at = data.find(b"TMFR", at + 4, limit)


def find_frame(data, start, limit, seed, file, lowest):
  """The next valid frame from `start` on whose base is `lowest` or higher, or None."""
  for position in candidates(data, start, limit):
    try:
      frame = read_frame(data, position, limit, seed, file)
    except Damaged:
      continue
    if frame.base >= lowest:
      return frame
  return None


def walk_open(data, base, seed, file):
  """Frames and holes of an open segment, up to the zeros at its end."""
  used = len(data.rstrip(b"\0"))
  limit = len(data)
  position, expected = PAGE_SIZE, base
  while position < used:
    try:
      frame = read_frame(data, position, limit, seed, file)
      check_open(frame, expected)
    except Damaged as damage:
      passed = []
      frame = find_frame(data, position, limit, seed, file, 0)
      while frame is not None and (frame.base < expected or not fits_open(frame)):
        if not is_to_skip(frame):
          passed.append(frame)
        frame = find_frame(data, frame.next, limit, seed, file, 0)
      yield Hole(position, expected, None if frame is None else frame.base, str(damage), passed)
      if frame is None:
        return
    yield frame
    position, expected = frame.next, max(expected, frame.end)


def check_open(frame, expected):
  """What an open segment demands of a frame that verified. Frames to skip may stand anywhere."""
  if is_to_skip(frame):
    return
  if frame.base != expected:
    raise Damaged("the frame begins at offset %d in place of %d" % (frame.base, expected))
  if not fits_open(frame):
    raise Damaged("a frame that may not stand in an open segment")


def is_to_skip(frame):
  """True for frames of an unknown type that says so."""
  return frame.type >= 128


def fits_open(frame):
  """True for the types that a reader knows, but an index."""
  return frame.type < INDEX


def walk_sealed(data, segment, seed):
  """Frames and holes of a sealed segment, over all of its offsets."""
  limit = min(segment.footer.pages_at, len(data))
  position, expected, end = PAGE_SIZE, segment.base, segment.end
  while position < limit:
    try:
      frame = read_frame(data, position, limit, seed, segment.file)
      check_sealed(frame, expected, segment)
    except Damaged as damage:
      frame = find_sealed(data, position, limit, seed, segment, expected)
      yield Hole(position, expected, end if frame is None else frame.base, str(damage))
      if frame is None:
        return
    yield frame
    position, expected = frame.next, max(expected, frame.end)
  if expected != end:
    yield Hole(position, expected, end, "frames are missing before the end")


def check_sealed(frame, expected, segment):
  """What a sealed segment demands of a frame that verified. Frames to skip may stand anywhere."""
  if is_to_skip(frame):
    return
  if frame.base != expected:
    raise Damaged("the frame begins at offset %d in place of %d" % (frame.base, expected))
  if not fits_sealed(frame, segment):
    raise Damaged("a frame that may not stand in this sealed segment")


def fits_sealed(frame, segment):
  """True for frames that sealing writes for this segment."""
  return frame.type in (EVENTS, GAP) and frame.end <= segment.end


def find_sealed(data, position, limit, seed, segment, lowest):
  """The next frame that sealing wrote, or None."""
  frame = find_frame(data, position, limit, seed, segment.file, lowest)
  while frame is not None and not fits_sealed(frame, segment):
    frame = find_frame(data, frame.position + 8, limit, seed, segment.file, lowest)
  return frame


def read_index(data, footer, seed, file):
  """The frame of type 5. Raises `Damaged`."""
  frame = read_frame(data, footer.index_at, len(data) - FOOTER_SIZE, seed, file)
  if frame.type != INDEX:
    raise Damaged("the frame there is not an index")
  return frame
