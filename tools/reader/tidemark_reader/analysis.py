"""The analysis of Specs/recovery.md: which files count, how they hang together, and where the log ends."""

from .bases import settle_bases
from .identity import check_directory, identity_from_segments, read_identity
from .page import FOOTER_SIZE
from .page import PAGE_SIZE as HEADER_SIZE
from .report import Finding
from .segment import NAME, Segment, find_end, open_steps, recorded_durable, settle_newest, settle_pinned, settle_sealed
from .walk import Hole


class Analysis:
  """The verdict on a log. `segments` are the files that count, oldest first; `findings` what the analysis saw."""

  def __init__(self, log_path):
    self.path = log_path
    names = check_directory(log_path)
    self.identity, self.findings = read_identity(log_path)
    files = [Segment(log_path, name) for name in names if NAME.match(name)]
    for name in names:
      if name.endswith(".tmp"):
        self.add("leftover", "segments/" + name, None, None, None, "unfinished work")
    if self.identity is None:
      self.identity = identity_from_segments(files)
    self.newest_steps = []
    self.segments = settle_bases(self, self.without_foreign(files))
    self.find_ends()
    self.durable_elsewhere = 0
    self.discard_torn_newest()
    self.floor = self.trim_floor()
    self.drop_trimmed()
    self.durable = self.recorded_durable()
    self.check_oldest()
    self.settled = {}
    for number in range(len(self.segments) - 1):
      self.check_link(self.segments[number], self.segments[number + 1])
    self.end = self.settle_end()
    if self.durable > self.end:
      self.add("missing-newest", "segments", None, self.end, self.durable, "more is recorded as durable than is there")

  def add(self, kind, file, position, first, last, message):
    """Note a finding."""
    self.findings.append(Finding(kind, file, position, first, last, message))

  def seed(self, segment):
    """The segment seed."""
    return segment.seed(self.identity.log_id or bytes(16), self.identity.epoch)

  def steps(self, segment):
    """Frames and holes of an open segment."""
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

  def find_ends(self):
    """Steps 2 and 4: sealed ends without a sound footer, and open ends from the base of the next segment."""
    for number, segment in enumerate(self.segments):
      successor = self.segments[number + 1].base if number + 1 < len(self.segments) else None
      if not segment.sealed:
        segment.pinned_end = segment.end = successor
      elif segment.footer is None:
        find_end(segment, self.seed(segment), successor)
        if segment.header:
          position = max(0, segment.size - FOOTER_SIZE)
          self.add("damaged-index", segment.file, position, None, None, "footer: " + segment.footer_damage)

  def discard_torn_newest(self):
    """Step 5: a newest segment with a torn header is left over from a crash unless something durable was in it."""
    while self.segments and not self.segments[-1].sealed and self.segments[-1].header is None:
      newest, older = self.segments[-1], self.segments[:-1]
      if any(newest.read()[HEADER_SIZE:]):
        return
      recorded = max([recorded_durable(self.steps(newest))] + [segment.end or segment.base for segment in older])
      if max(recorded, max([segment.floor() for segment in older] or [0])) > newest.base:
        return
      self.segments.pop()
      self.add("leftover", newest.file, None, None, None, "the header is torn and nothing durable is in it: " + newest.header_damage)
      if older and not older[-1].sealed:
        older[-1].pinned_end = older[-1].end = None

  def trim_floor(self):
    """Step 4: the highest trim floor of headers, footers and trim records."""
    floor = 0
    for number, segment in enumerate(self.segments):
      floor = max(floor, segment.floor())
      is_newest = number + 1 == len(self.segments)
      if segment.header is None and (segment.sealed or not is_newest):
        continue
      if segment.sealed and segment.footer is None:
        floor = max(floor, settle_sealed(segment, self.seed(segment)).floors())
      elif not segment.sealed and number + 1 < len(self.segments):
        floor = max(floor, settle_pinned(segment, self.steps(segment), segment.pinned_end).floors(segment.pinned_end))
      elif not segment.sealed:
        self.newest_steps = self.steps(segment)
        durable = max(segment.base, recorded_durable(self.newest_steps))
        floor = max(floor, settle_newest(segment, self.newest_steps, durable).floors())
    return floor

  def drop_trimmed(self):
    """Step 4: segments below the floor are left over from an interrupted trim."""
    while len(self.segments) > 1 and self.segments[0].end <= self.floor:
      segment = self.segments.pop(0)
      self.add("leftover", segment.file, None, None, None, "the segment lies below the trim floor %d" % self.floor)

  def recorded_durable(self):
    """D, the highest offset that anything records as durable."""
    durable = max(self.floor, recorded_durable(self.newest_steps))
    for segment in self.segments:
      durable = max(durable, segment.end if segment.sealed else segment.base)
    if self.segments and not self.segments[-1].sealed and self.segments[-1].header is None:
      durable = max(durable, recorded_durable(self.steps(self.segments[-1])))
    return durable

  def check_oldest(self):
    """Step 4: the first segment must begin at the floor or below."""
    if self.segments and self.segments[0].base > self.floor:
      self.add("missing-oldest", "segments", None, self.floor, self.segments[0].base, "the first segment begins above the trim floor")

  def check_link(self, segment, successor):
    """Step 4: one segment against what its successor records of it."""
    pin, base = successor.pin, successor.base
    if not self.check_header(segment):
      if segment.end < base:
        self.add("missing-segment", "segments", None, segment.end, base, "no segment holds these offsets")
      return
    if segment.sealed:
      if segment.footer is None:
        settled = self.settle(segment)
        segment.digest = settled.record_digest() if settled.is_whole else None
      if base > segment.end:
        self.add("missing-segment", "segments", None, segment.end, base, "no segment holds these offsets")
      elif base < segment.end or (pin and self.differs(segment, pin, base)):
        segment.pinned_end = base
        self.mismatch(segment, segment.end)
      return
    steps = self.steps(segment)
    missing = base - pin.count if pin and pin.id != segment.id else 0
    has_missing = segment.base < missing < base
    if has_missing:
      segment.pinned_end = segment.end = self.contiguous_end(segment, steps, missing)
      self.add("missing-segment", "segments", None, segment.end, base, "no segment holds these offsets")
      steps = self.steps(segment)
    settled = settle_pinned(segment, steps, segment.pinned_end)
    self.findings += settled.findings
    if pin and not has_missing:
      segment.digest = settled.record_digest(base) if settled.is_whole else None
      if self.differs(segment, pin, base):
        self.mismatch(segment, base)

  @staticmethod
  def contiguous_end(segment, steps, highest):
    """How far an open segment reaches whose own successor is missing."""
    return min(highest, max([segment.base] + [step.end for step in steps if not isinstance(step, Hole)]))

  def check_header(self, segment):
    """False, with a finding, if the header is damaged: the segment is not read then."""
    if segment.header:
      return True
    segment.is_readable = False
    self.add("damaged-header", segment.file, 0, segment.base, segment.end, segment.header_damage)
    return False

  @staticmethod
  def differs(segment, pin, base):
    """True if a pin is not about this segment as it is. A digest that is not known is not compared."""
    if pin.id != segment.id or pin.count != base - segment.base or pin.end != base:
      return True
    return segment.digest is not None and pin.digest != segment.digest

  def mismatch(self, segment, end):
    """The segment is not what its successor records. It is read all the same: each of its frames verifies."""
    self.add("pin-mismatch", segment.file, None, segment.base, end, "the next segment records another predecessor")

  def settle_end(self):
    """Step 5: the newest segment. Returns the end of the log."""
    if not self.segments:
      if not any(finding.kind == "leftover" and finding.file.endswith(".open") for finding in self.findings):
        self.add("missing-newest", "segments", None, 0, 0, "no segment is there")
      return 0
    newest = self.segments[-1]
    torn = any(finding.kind == "leftover" and finding.file.endswith(".open") for finding in self.findings)
    if newest.sealed and not torn:
      self.add("missing-newest", "segments", None, newest.end, newest.end, "the newest segment is sealed: its successor is missing")
    if newest.header is None and not newest.sealed:
      settled = settle_newest(newest, self.newest_steps, self.durable)
      newest.end = settled.end
      self.check_header(newest)
      self.findings += settled.findings
      return newest.end
    if newest.header is None and newest.footer is None:
      newest.end = max(newest.base, self.durable)
    if not self.check_header(newest) or newest.sealed:
      return newest.end
    settled = settle_newest(newest, self.newest_steps, self.durable)
    self.findings += settled.findings
    newest.end = settled.end
    return settled.end

  def settle(self, segment):
    """The part of a readable segment that counts. Damage of open segments is already among the findings of the analysis."""
    if segment.sealed:
      return settle_sealed(segment, self.seed(segment))
    if segment is self.segments[-1]:
      return settle_newest(segment, self.newest_steps, self.durable)
    return settle_pinned(segment, self.steps(segment), segment.pinned_end)
