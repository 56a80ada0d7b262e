"""The analysis of Specs/recovery.md: which files count, how they hang together, and where the log ends."""

from .bases import holds_nothing, settle_bases
from .identity import check_directory, identity_from_segments, read_identity
from .page import FOOTER_SIZE
from .report import Finding
from .segment import Segment, is_segment, open_steps, recorded_durable, settle_newest, settle_pinned, settle_sealed


class Analysis:
  """The verdict on a log.

  `segments` are the closed segments that count, oldest first; `newest` is the open one at the end, or None; `durable` is D; `end` is the end of what is
  known, losses included.
  """

  def __init__(self, log_path):
    self.path = log_path
    names = check_directory(log_path)
    self.identity, self.findings = read_identity(log_path)
    files = [Segment(log_path, name) for name in names if is_segment(name)]
    for name in names:
      if name.endswith(".tmp"):
        self.add("leftover", "segments/" + name, None, None, None, "unfinished work")
    if self.identity is None:
      self.identity = identity_from_segments(files)
    self.segments = settle_bases(self, self.without_foreign(files))
    self.newest, self.newest_settled = None, None
    self.end = self.discarded_base = 0
    self.floor = max([segment.floor() for segment in self.segments] or [0])
    self.durable = max([self.floor] + [segment.footer.end if segment.footer else segment.base for segment in self.segments])
    self.take_newest()
    self.drop_trimmed()
    candidates, self.segments = self.segments, []
    self.link(candidates)
    self.check_oldest(candidates)
    self.durable = max(self.durable, self.discarded_base)
    if self.durable > self.end:
      self.add("missing-newest", "segments", None, self.end, self.durable, "more is recorded as durable than is there")
      self.end = self.durable

  def add(self, kind, file, position, first, last, message):
    """Note a finding."""
    self.findings.append(Finding(kind, file, position, first, last, message))

  def seed(self, segment):
    """The segment seed."""
    return segment.seed(self.identity.log_id or bytes(16), self.identity.epoch)

  def steps(self, segment):
    """Frames and holes of a segment that is read frame by frame."""
    return open_steps(segment, self.seed(segment))

  def without_foreign(self, files):
    """Step 2: the files that belong to this log under their names."""
    own = []
    for segment in files:
      reason = segment.foreign_reason(self.identity.log_id)
      if reason is None:
        own.append(segment)
      else:
        self.add("foreign-segment", segment.file, 0, None, None, reason)
    return own

  def take_newest(self):
    """Step 5: the open segment at the end, and what of it counts."""
    while self.segments and not self.segments[-1].sealed:
      segment = self.segments.pop()
      known = max([self.floor, self.discarded_base] + [other.footer.end for other in self.segments if other.footer])
      if segment.header is None and known <= segment.base and holds_nothing(segment):
        self.discarded_base = max(self.discarded_base, segment.base)
        self.add("leftover", segment.file, None, None, None, "it holds nothing, not even a header: " + segment.header_damage)
        continue
      steps = self.steps(segment)
      self.durable = max(self.durable, self.discarded_base, segment.base, recorded_durable(steps))
      settled = settle_newest(segment, steps, max(known, segment.base, recorded_durable(steps)))
      self.newest, self.newest_settled = segment, settled
      segment.end = self.end = settled.end
      if segment.header is None:
        segment.is_readable = False
        self.add("damaged-header", segment.file, 0, segment.base, segment.end, segment.header_damage)
        self.floor = max(self.floor, self.floor_before_newest())
      self.findings += settled.findings
      self.floor = max(self.floor, settled.floors())
      return

  def floor_before_newest(self):
    """The floor at the end of the segment before the newest one, whose own header does not tell it."""
    if not self.segments or self.segments[-1].footer or not self.segments[-1].header:
      return 0
    last = self.segments[-1]
    return settle_pinned(last, self.steps(last), self.newest.base).floors()

  def drop_trimmed(self):
    """Step 4: segments below the floor are left over from an interrupted trim."""
    kept = []
    for number, segment in enumerate(self.segments):
      following = self.segments[number + 1] if number + 1 < len(self.segments) else self.newest
      end = segment.footer.end if segment.footer else following.base if following else None
      if end is not None and end <= self.floor:
        self.add("leftover", segment.file, None, None, None, "the segment lies below the trim floor %d" % self.floor)
      else:
        kept.append(segment)
    self.segments = kept

  def link(self, candidates):
    """Step 4: each segment against the next one, and against what that one records of it."""
    expected = None
    for number, segment in enumerate(candidates):
      following = candidates[number + 1] if number + 1 < len(candidates) else self.newest
      next_base = following.base if following else self.discarded_base if self.discarded_base > segment.base else None
      self.check_begin(segment, expected)
      if expected is not None and segment.base < expected:
        continue
      if segment.header is None and segment.footer is None:
        expected = max(segment.base, next_base or 0)
        self.add("damaged-header", segment.file, 0, segment.base, expected, segment.header_damage)
        continue
      pin = following.pin if following else None
      self.find_end(segment, next_base, pin)
      self.check_pin(segment, next_base, pin)
      self.segments.append(segment)
      expected = self.pinned_end(segment, next_base, pin)
    if self.newest:
      self.check_begin(self.newest, expected)
      return
    self.end = expected if expected is not None else self.floor
    self.durable = max(self.durable, self.end)
    if not any(finding.kind == "leftover" and finding.file.endswith(".open") for finding in self.findings):
      self.add("missing-newest", "segments", None, self.end, self.end, "the newest segment is gone; what it held is unknown")

  def check_begin(self, segment, expected):
    """A segment must begin where its predecessor ends."""
    if expected is not None and segment.base > expected:
      self.add("missing-segment", "segments", None, expected, segment.base, "no segment holds these offsets")
    elif expected is not None and segment.base < expected and segment is not self.newest:
      self.add("doubled-segment", segment.file, None, None, None, "it begins before its predecessor's end %d" % expected)

  def find_end(self, segment, next_base, pin):
    """Where a closed segment ends: the footer says so, or the successor that pins it, or else its own frames."""
    if segment.footer:
      segment.end = segment.footer.end
      return
    if segment.sealed:
      position = max(0, segment.size - FOOTER_SIZE)
      self.add("damaged-index", segment.file, position, None, None, "footer: " + segment.footer_damage)
    if next_base is not None and (pin is None or pin.id == segment.id):
      segment.end = next_base
      return
    segment.end = self.frames_end(segment, next_base)
    missing_base = pin.end - pin.count if pin else 0
    if missing_base > segment.base:
      segment.end = min(segment.end, missing_base)

  def frames_end(self, segment, highest):
    """Where the frames of a segment end whose own successor is missing."""
    steps = self.steps(segment)
    end = settle_newest(segment, steps, max(segment.base, recorded_durable(steps))).end
    return end if highest is None else min(end, highest)

  def check_pin(self, segment, next_base, pin):
    """Step 4: what the successor records of a segment."""
    if pin is None:
      return
    if pin.id != segment.id:
      differs = next_base <= segment.end
    elif segment.footer:
      differs = (pin.end, pin.count, pin.digest) != (segment.end, segment.end - segment.base, segment.footer.digest)
    else:
      settled = settle_pinned(segment, self.steps(segment), segment.end)
      differs = settled.is_whole and settled.record_digest() != pin.digest
    if differs:
      end = self.pinned_end(segment, next_base, pin)
      self.add("pin-mismatch", segment.file, None, segment.base, end, "the next segment records another predecessor")

  @staticmethod
  def pinned_end(segment, next_base, pin):
    """A segment ends where the one that pins it begins, whatever its footer claims."""
    return min(segment.end, max(next_base, segment.base)) if pin and pin.id == segment.id else segment.end

  def check_oldest(self, candidates):
    """Step 4: the first segment must begin at the floor or below."""
    oldest = candidates[0] if candidates else self.newest
    if oldest and oldest.base > self.floor:
      self.add("missing-oldest", "segments", None, self.floor, oldest.base, "the first segment begins above the trim floor")

  def settle(self, segment):
    """The part of a closed segment that counts."""
    if segment.footer:
      return settle_sealed(segment, self.seed(segment))
    return settle_pinned(segment, self.steps(segment), segment.end)
