"""Several files of one base: which of them counts (step 3 of the analysis)."""

import itertools

from .page import PAGE_SIZE, ZERO_ID
from .report import HARMLESS
from .segment import open_steps, recorded_durable, settle_newest


def settle_bases(analysis, files):
  """One file for each base, in order. What does not count becomes a finding of the analysis."""
  files = sorted(files, key=lambda file: (file.base, file.file))
  groups = itertools.groupby(files, key=lambda file: file.base)
  return [Group(analysis, list(group)).settle() for _, group in groups]


def holds_nothing(file):
  """True if nothing but zeros stands behind the header, or nothing at all."""
  return not any(file.read()[PAGE_SIZE:])


class Group:
  """Files of one base, ordered by name."""

  def __init__(self, analysis, files):
    self.analysis = analysis
    self.files = files

  def leave(self, file, message):
    """Take a file out that serves nothing any more."""
    if file in self.files:
      self.files.remove(file)
      self.analysis.add("leftover", file.file, None, None, None, message)

  def settle(self):
    """The file that counts. The rules apply one after another, each to what the ones before it left."""
    if len(self.files) > 1:
      for rule in (self.leave_twins, self.leave_replaced, self.leave_attempts, self.leave_empty):
        rule()
    best = self.files[0]
    if len(self.files) > 1:
      # Of equals the first.
      best = max((file for file in self.files if file.header or file.footer), key=self.reach, default=best)
    for file in self.files:
      if file is not best:
        self.analysis.add("doubled-segment", file.file, None, None, None, "another segment has the same base")
    return best

  def leave_twins(self):
    """Of an open and a sealed file of one id the sealed one counts if its footer is sound, else the open one if its header is."""
    for sealed in [file for file in self.files if file.sealed]:
      for twin in [file for file in self.files if not file.sealed and file.id == sealed.id]:
        if sealed.footer:
          self.leave(twin, "sealing was interrupted: the sealed form counts")
        elif twin.header:
          self.leave(sealed, "sealing was interrupted: the open form counts")

  def leave_replaced(self):
    """A file that another one names as replaced, and what that one names. Files that no other names come first."""
    named = {file.header.replaces for file in self.files if file.header}
    for new in sorted(self.files, key=lambda file: file.id in named):
      old = self.replaced_by(new) if new in self.files else None
      if old and not self.counts(new, old):
        self.leave(new, "recovery or a first commit was interrupted: the file that this one replaces counts")
        continue
      while old:
        gone, old = old, self.replaced_by(old)
        self.leave(gone, "recovery or a first commit was interrupted: another file of this base counts")
        if old is new:
          break

  def replaced_by(self, file):
    """The file of this base that another names as replaced."""
    return next((old for old in self.files if file.header and file.header.replaces == old.id != ZERO_ID), None)

  def leave_attempts(self):
    """Of several files that replace the same one, all but the one that reaches furthest."""
    for file in list(self.files):
      for other in list(self.files):
        if file in self.files and other is not file and self.replace_the_same(file, other):
          self.leave(file if self.reach(file) < self.reach(other) else other, "an attempt to replace a segment, made again later")

  @staticmethod
  def replace_the_same(file, other):
    """True if both headers name the same segment as replaced."""
    return bool(file.header and other.header) and file.header.replaces == other.header.replaces != ZERO_ID

  def leave_empty(self):
    """Open files that hold nothing, as long as another file remains."""
    for file in list(self.files):
      if len(self.files) > 1 and not file.sealed and holds_nothing(file):
        self.leave(file, "it holds nothing, and another segment has the same base")

  def counts(self, new, old):
    """False if the replacing file is damaged, or emptied while the old one records something durable, and the old one reaches further."""
    if any(file.footer or not file.header for file in (new, old)):
      return True
    settled = self.scan(new)
    is_damaged = any(finding.kind not in HARMLESS for finding in settled.findings)
    is_emptied = not settled.frames and recorded_durable(self.steps(old)) > old.base
    return not (is_damaged or is_emptied) or settled.end >= self.reach(old)

  def steps(self, file):
    return open_steps(file, self.analysis.seed(file))

  def scan(self, file):
    steps = self.steps(file)
    return settle_newest(file, steps, max(file.base, recorded_durable(steps)))

  def reach(self, file):
    """The offset after the last event of a file."""
    return file.footer.end if file.footer else self.scan(file).end
