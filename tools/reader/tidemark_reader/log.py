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
      if not segment.is_readable:
        continue
      settled = self.analysis.settle(segment)
      if segment.sealed:
        self.findings += settled.findings
      for frame in settled.frames:
        if frame.type == GAP:
          reason = frame.raw.decode("utf-8", "replace")
          self.findings.append(Finding("gap", segment.file, frame.position, frame.base, frame.end, reason))
      yield settled

  def records(self):
    """Offset, record and boot id (or None) of every record that can be read, in order, control events included."""
    for settled in self.settled_segments():
      boot = boot_id(settled.segment.header.session)
      for offset, record in settled.contents(settled.segment.pinned_end):
        if record.kind == SESSION:
          boot = boot_id(record.data)
        yield offset, record, boot

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
      frames += sum(1 for frame in settled.frames if frame.type <= INDEX)
      kinds = [record.kind for _, record in settled.contents(segment.pinned_end)]
      users = kinds.count(USER)
      events += users
      controls += len(kinds) - users
      if segment.sealed and segment.footer:
        self.findings += check_sealed(settled, self.analysis.seed(segment))
      if segment.sealed and entries is not None:
        entries[segment.id] = settled.id_entries() if settled.is_whole else None
    if entries is not None:
      self.findings += check_merged(self.path, self.analysis, entries)
    self.findings.sort(key=Finding.order)
    return {
      "ok": self.ok,
      "events": events,
      "control_events": controls,
      "frames": frames,
      "segments": sum(1 for segment in self.analysis.segments if segment.header or segment.footer),
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
