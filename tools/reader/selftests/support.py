"""What the self tests share: a folder for one log, and small logs to put there."""

import os
import shutil
import sys
import tempfile
import unittest

from tidemark_reader import jsonl
from tidemark_reader.log import Log
from tidemark_reader.record import USER
from tidemark_reader.report import Unsupported

from . import sample_log as s

ALL = "--all" in sys.argv
A, B, C = s.segment_id(1), s.segment_id(2), s.segment_id(3)
OPEN = s.name(0, A)


class LogTest(unittest.TestCase):
  """A folder for one log at a time."""

  def setUp(self):
    self.root = tempfile.mkdtemp(prefix="reader-selftest-")
    self.folder = os.path.join(self.root, "log")
    self.on_disk = {}

  def tearDown(self):
    shutil.rmtree(self.root)

  def write(self, files):
    """Make the folder hold these files, and an identity unless one is among them."""
    files = {"identity": s.identity(), **files}
    for name in [name for name in self.on_disk if name not in files]:
      os.remove(os.path.join(self.folder, name))
    s.write(self.folder, {name: data for name, data in files.items() if self.on_disk.get(name) != data})
    self.on_disk = files

  def verify(self, files=None):
    if files is not None:
      self.write(files)
    return Log(self.folder).verify()

  def offsets(self):
    return [offset for offset, _, _ in Log(self.folder).records()]

  def kinds(self, files):
    return [finding["kind"] for finding in self.verify(files)["findings"]]

  def seen(self, files):
    """The kinds of findings; a newer version is one too."""
    try:
      return self.kinds(files)
    except Unsupported:
      return ["unsupported"]

  def cat(self, control=False):
    return [jsonl.line(*entry).decode() for entry in Log(self.folder).records() if control or entry[1].kind == USER]


def small_open(zeros=64):
  """Session, two frames with a mark between, a close frame, zeros. Five offsets."""
  session = s.record(0, kind=2, type="", data=s.session())
  body = s.header(A, 0)
  body += s.events(A, 0, [session, s.record(1, subject="N1", data=b"one")])
  body += s.events(A, 2, [s.record(2, goes_on=True), s.record(3)], durable=2)
  body += s.frame(A, 2, 4, durable=4) + s.events(A, 4, [s.record(4)], durable=4) + s.frame(A, 3, 5, durable=5)
  return body + bytes(zeros)


def two_segments(codec=1, count=6, size=2):
  """A sealed segment of `count` records after a session, and an open one behind it. The names and the records."""
  records = [s.record(0, kind=2, type="", data=s.session())]
  for n in range(1, count):
    records.append(s.record(n, subject="N%d" % (n % 3), type="scan" if n % 2 else "audit", goes_on=n % 3 == 1, data=b"data " * 9))
  groups = [records[at : at + size] for at in range(0, count, size)]
  first = s.sealed(A, 0, groups, codec=codec)
  body = s.header(B, count, s.pin(A, 0, count, records), user_end=count, session_offset=0, session_data=s.session())
  body += s.events(B, count, [s.record(count)], durable=count)
  return {s.name(0, A, "sealed"): first, s.name(count, B): body + bytes(64)}, records


def flips(data, start=0, every_bit=True):
  """Copies of `data`, each with one bit flipped, with the position. Without `every_bit` one bit of every third byte."""
  every_bit = every_bit or ALL
  for at in range(start, len(data), 1 if every_bit else 3):
    for bit in range(8) if every_bit else (at % 8,):
      damaged = bytearray(data)
      damaged[at] ^= 1 << bit
      yield at, bytes(damaged)
