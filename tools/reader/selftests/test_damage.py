"""Damage at every place: flipped bits, truncations, zeros, garbage."""

import os
import random

from tidemark_reader.log import Log
from tidemark_reader.report import Unsupported

from . import sample_log as s
from .support import ALL, OPEN, A, LogTest, flips, small_open, two_segments


class Damage(LogTest):
  def raw(self):
    """What can be read, as a set of offsets and records."""
    return {(offset, record.raw) for offset, record, _ in Log(self.folder).records()}

  def test_every_bit_of_an_open_segment(self):
    data = small_open(24)
    self.write({OPEN: data})
    whole = self.raw()
    for at, damaged in flips(data, 0 if ALL else 4096):
      with open(os.path.join(self.folder, OPEN), "wb") as stream:
        stream.write(damaged)
      self.assertTrue(Log(self.folder).verify()["findings"], at)
      self.assertLessEqual(self.raw(), whole)
    for at, damaged in flips(data[:4096], every_bit=False):
      self.assertEqual(self.kinds({OPEN: damaged + data[4096:]}), ["damaged-header"], at)

  def test_every_byte_of_a_sealed_segment_and_of_the_identity(self):
    files, _ = two_segments()
    name = s.name(0, A, "sealed")
    for at, damaged in flips(files[name], every_bit=False):
      self.assertTrue(self.seen({**files, name: damaged}), at)
    for at, damaged in flips(s.identity(), every_bit=False):
      self.assertEqual(self.seen({**files, "identity": damaged}), ["damaged-identity"], at)

  def test_every_truncation_of_an_open_segment(self):
    data = small_open()
    used = len(data.rstrip(b"\0"))
    self.write({OPEN: data})
    whole = self.cat(True)
    boundaries = {4096} | {frame.next for settled in Log(self.folder).settled_segments() for frame in settled.frames}
    for length in range(len(data)):
      result = self.verify({OPEN: data[:length]})
      self.assertEqual(self.cat(True), whole[: result["events"] + result["control_events"]])
      found = [finding["kind"] for finding in result["findings"]]
      if length in boundaries or length > used + 8:
        self.assertEqual(found, [])
      else:
        self.assertEqual(found, ["leftover" if length < 4096 else "torn-tail"] if length < used else found)

  def test_every_truncation_of_a_sealed_segment_and_of_the_identity(self):
    files, _ = two_segments()
    name = s.name(0, A, "sealed")
    for length in range(0, len(files[name]), 1 if ALL else 7):
      self.assertTrue(self.kinds({**files, name: files[name][:length]}), length)
    for length in range(0, 8192, 61):
      self.assertEqual(set(self.kinds({**files, "identity": s.identity()[:length]})), {"damaged-identity"})
    self.assertEqual(self.kinds({**files, "identity": s.identity() + b"x"}), ["damaged-identity"])

  def test_zeros_of_any_length_are_the_end(self):
    for length in (0, 1, 7, 8, 55, 56, 57, 4096, 1 << 20):
      self.assertEqual(self.kinds({OPEN: small_open(length)}), [])
    self.assertEqual(self.kinds({OPEN: small_open(100) + b"\1"}), ["torn-tail"])

  def test_random_damage_never_ends_in_a_mistake(self):
    source = random.Random(7)
    files, _ = two_segments()
    files["identity"] = s.identity()
    for _ in range(5000 if ALL else 400):
      damaged = dict(files)
      for _ in range(source.randint(1, 3)):
        name = source.choice(sorted(damaged))
        data = bytearray(damaged[name])
        at = source.randrange(len(data) + 1)
        size = source.choice((1, 8, 512, 4096))
        change = source.randrange(4)
        if change == 0:
          del data[at:]
        elif change == 1:
          data[at : at + size] = bytes(len(data[at : at + size]))
        elif change == 2:
          data[at:at] = data[: size]
        else:
          data[at : at + size] = source.randbytes(len(data[at : at + size]))
        damaged[name] = bytes(data)
      try:
        self.verify(damaged)
        self.cat(True)
      except Unsupported:
        pass
