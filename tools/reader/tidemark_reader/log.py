"""A log as a whole: reading its events in order, and the full check."""

import os

import xxhash

from .analysis import Analysis
from .frame import GAP, INDEX
from .merged import check_merged
from .record import SESSION, USER, boot_id
from .report import Finding
from .sealed import check_sealed


class Log:
  """A log that was analysed. Raises `NotALog`, `Unsupported` or `OSError`."""

  def __init__(self, path):
    self.path = os.fspath(path)
    self.analysis = Analysis(self.path)
    self.findings = list(self.analysis.findings)

  @property
  def ok(self):
    """True if nothing but harmless findings was seen so far; reading on may see more."""
    return all(finding.harmless for finding in self.findings)

  def settled_segments(self):
    """What counts of each segment that can be read, oldest first. Adds what reading finds to `findings`."""
    for segment in self.analysis.segments:
      settled = self.analysis.settle(segment)
      self.findings += settled.findings
      yield self.with_gaps(settled)
    if self.analysis.newest:
      settled = self.with_gaps(self.analysis.newest_settled)
      if self.analysis.newest.is_readable:
        yield settled

  def with_gaps(self, settled):
    """Note the gaps of a segment."""
    for frame in settled.frames:
      if frame.type == GAP:
        reason = frame.raw.decode("utf-8", "replace")
        self.findings.append(Finding("gap", settled.segment.file, frame.position, frame.base, frame.end, reason))
    return settled

  def records(self):
    """Offset, record and boot id (or None) of every record that can be read, in order, control events included."""
    for settled in self.settled_segments():
      header = settled.segment.header
      boot = boot_id(header.session) if header else None
      limit = self.next_base(settled.segment)
      for offset, record in settled.contents():
        if limit is not None and offset >= limit:
          break
        if record.kind == SESSION:
          boot = boot_id(record.data)
        yield offset, record, boot

  def next_base(self, segment):
    """Where the next segment begins; its events count where two overlap."""
    return min([other.base for other in (*self.analysis.segments, self.analysis.newest) if other and other.base > segment.base], default=None)

  def durable_records(self):
    """The same up to the recorded durable offset: a reader beside the writer shows nothing that a power cut could still take back."""
    for offset, record, boot in self.records():
      if offset < self.analysis.durable:
        yield offset, record, boot

  def verify(self):
    """The full check, as the dictionary that `verify` prints."""
    events = controls = frames = 0
    entries = {} if os.path.isdir(os.path.join(self.path, "index")) else None
    for settled in self.settled_segments():
      segment = settled.segment
      if entries is not None:
        entries[segment.id] = settled.id_entries() if settled.is_whole else None
      frames += sum(1 for frame in settled.frames if frame.type <= INDEX)
      kinds = [record.kind for _, record in settled.contents()]
      events += kinds.count(USER)
      controls += len(kinds) - kinds.count(USER)
      if segment.footer:
        self.findings += check_sealed(settled, self.analysis.seed(segment))
    if entries is not None:
      self.findings += check_merged(self.path, self.analysis, entries)
    self.findings.sort(key=Finding.order)
    newest = self.analysis.newest
    return {
      "ok": self.ok,
      "events": events,
      "control_events": controls,
      "frames": frames,
      "segments": len(self.analysis.segments) + (1 if newest and newest.is_readable else 0),
      "findings": [finding.to_json() for finding in self.findings],
    }

  def digest(self):
    """A digest over all records that can be read, and their numbers."""
    state, events, controls, size = xxhash.xxh3_128(), 0, 0, 0
    for _, record, _ in self.records():
      state.update(record.raw)
      size += len(record.raw)
      if record.kind == USER:
        events += 1
      else:
        controls += 1
    return {"xxh3_128": state.hexdigest(), "events": events, "control_events": controls, "bytes": size}
