"""How segments hang together: the states a crash can leave, and the kinds of corruption."""

from tidemark_reader.report import Unsupported

from . import sample_log as s
from .support import OPEN, A, B, C, LogTest, small_open, two_segments

SEALED = s.name(0, A, "sealed")
NEXT = s.name(6, B)


def numbered(first, count):
  """Records by number."""
  return [s.record(number) for number in range(first, first + count)]


def open_segment(identifier, base, counts, durable=0, predecessor=None, **header):
  """An open segment of frames of the given numbers of records."""
  body, offset = s.header(identifier, base, predecessor, **header), base
  for count in counts:
    body += s.events(identifier, offset, numbered(offset, count), durable)
    offset += count
  return body + bytes(40)


class Chain(LogTest):
  def found(self, files):
    """Kind, first and last of each finding, and the number of records that can be read."""
    findings = self.verify(files)["findings"]
    return [(finding["kind"], finding.get("first"), finding.get("last")) for finding in findings], len(self.offsets())

  def test_pinned_end_of_an_open_segment(self):
    second = open_segment(B, 4, [1], predecessor=s.pin(A, 0, 4, numbered(0, 4)))
    first = s.name(0, A)
    self.assertEqual(self.found({first: open_segment(A, 0, [2, 2]), s.name(4, B): second}), ([], 5))
    self.assertEqual(self.found({first: open_segment(A, 0, [2, 2, 3]), s.name(4, B): second}), ([], 5))
    self.assertEqual(self.found({first: open_segment(A, 0, [2, 3]), s.name(4, B): second}), ([("damaged-frame", 2, 4)], 3))
    self.assertEqual(self.found({first: open_segment(A, 0, [2, 2])[:-50], s.name(4, B): second}), ([("damaged-frame", 2, 4)], 3))
    self.assertEqual(self.found({first: open_segment(A, 0, [2]), s.name(4, B): second}), ([("damaged-frame", 2, 4)], 3))
    hole = bytearray(open_segment(A, 0, [1, 1, 2]))
    hole[hole.index(b"TMFR", 4096 + 60)] = 0
    self.assertEqual(self.found({first: bytes(hole), s.name(4, B): second}), ([("damaged-frame", 1, 2)], 4))
    other = s.header(A, 0) + s.events(A, 0, numbered(0, 3) + [s.record(9)])
    self.assertEqual(self.found({first: other, s.name(4, B): second}), ([("pin-mismatch", 0, 4)], 5))
    self.assertEqual(self.found({s.name(4, B): second}), ([("missing-oldest", 0, 4)], 1))
    torn = open_segment(A, 0, [2, 2]).replace(b"TIDEMARK", b"TIDEmARK")
    self.assertEqual(self.found({first: torn, s.name(4, B): second}), ([("damaged-header", 0, 4)], 1))

  def test_missing_segments(self):
    files, records = two_segments()
    third = open_segment(C, 9, [1], predecessor=s.pin(B, 6, 9, numbered(6, 3)))
    self.assertEqual(self.found({SEALED: files[SEALED], s.name(9, C): third}), ([("missing-segment", 6, 9)], 7))
    self.assertEqual(self.found({SEALED: files[SEALED]}), ([("missing-newest", 6, 6)], 6))
    self.assertEqual(self.found({NEXT: files[NEXT]}), ([("missing-oldest", 0, 6)], 1))
    open_first = s.header(A, 0) + s.events(A, 0, records) + s.events(A, 6, numbered(6, 5))
    self.assertEqual(self.found({s.name(0, A): open_first, s.name(9, C): third}), ([("missing-segment", 6, 9)], 7))

  def test_sealed_pin_and_digest(self):
    files, records = two_segments()
    other = open_segment(B, 6, [1], predecessor=s.pin(A, 0, 6, records[:5] + [s.record(77)]))
    self.assertEqual(self.found({SEALED: files[SEALED], NEXT: other}), ([("pin-mismatch", 0, 6)], 7))
    other = open_segment(B, 6, [1], predecessor=s.pin(C, 0, 6, records))
    self.assertEqual(self.found({SEALED: files[SEALED], NEXT: other}), ([("pin-mismatch", 0, 6)], 7))
    other = open_segment(B, 4, [1], predecessor=s.pin(A, 0, 4, records))
    # It ends where the other begins.
    self.assertEqual(self.found({SEALED: files[SEALED], s.name(4, B): other}), ([("pin-mismatch", 0, 4), ("missing-newest", 5, 6)], 5))

  def test_damage_in_a_sealed_segment_names_its_offsets(self):
    files, _ = two_segments(codec=0, count=8)
    data = bytearray(files[SEALED])
    marks = [at for at in range(4096, len(data)) if data[at : at + 4] == b"TMFR"]
    data[marks[1] + 60] ^= 1
    data[marks[2] + 60] ^= 1
    named = {SEALED: bytes(data), s.name(8, B): files[s.name(8, B)]}
    self.assertEqual(self.found(named), ([("damaged-frame", 2, 6)], 5))
    data[marks[4] + 60] ^= 1
    self.assertEqual(self.found({**named, SEALED: bytes(data)}), ([("damaged-index", None, None), ("damaged-frame", 2, 6)], 5))
    self.assertEqual(self.found({**named, SEALED: files[SEALED][:-9]}), ([("damaged-index", None, None)], 9))
    cut = self.found({**named, SEALED: files[SEALED][: marks[3] + 20]})
    self.assertEqual(cut, ([("damaged-index", None, None), ("damaged-frame", 6, 8)], 7))
    self.assertEqual(self.found({**named, SEALED: files[SEALED][:3000]}), ([("damaged-header", 0, 8)], 1))

  def test_interrupted_seal_and_recovery(self):
    files, records = two_segments()
    source = s.header(A, 0) + s.events(A, 0, records)
    self.assertEqual(self.found({**files, s.name(0, A): source}), ([("leftover", None, None)], 7))
    self.assertEqual(self.verify({**files, s.name(0, A): source})["findings"][0]["file"], s.name(0, A))
    half = {**files, SEALED: files[SEALED][:-700], s.name(0, A): source}
    self.assertEqual((self.found(half), self.verify()["findings"][0]["file"]), (([("leftover", None, None)], 7), SEALED))
    old, new = open_segment(A, 0, [2, 2], durable=2), open_segment(B, 0, [3, 1], replaces=A)
    for files, loser in (({s.name(0, A): old, s.name(0, B): new}, A), ({s.name(0, A): old, s.name(0, B): new[:-200]}, B)):
      self.assertEqual(self.found(files), ([("leftover", None, None)], 4))
      self.assertEqual(self.verify()["findings"][0]["file"], s.name(0, loser))
    line = {s.name(0, A): old, s.name(0, B): open_segment(B, 0, [], replaces=A), s.name(0, C): open_segment(C, 0, [3], replaces=B)}
    self.assertEqual(self.found(line), ([("leftover", None, None)] * 2, 3))
    files = {s.name(0, A): old, s.name(0, B): open_segment(B, 0, [4])}
    self.assertEqual((self.found(files), self.verify()["ok"]), (([("doubled-segment", None, None)], 4), False))
    files = {s.name(0, A): old, s.name(0, B): bytes(5000), "segments/x.tmp": b"x"}
    self.assertEqual(self.found(files), ([("leftover", None, None)] * 2, 4))

  def test_interrupted_roll_and_trim(self):
    files, _ = two_segments()
    self.assertEqual(self.found({**files, s.name(7, C): bytes(8000)}), ([("leftover", None, None)], 7))
    again = open_segment(A, 7, [1], predecessor=s.pin(B, 6, 7, numbered(6, 1)))
    both = {**files, s.name(7, C): b"X" + open_segment(C, 7, [1, 1], durable=8)[1:], s.name(7, A): again}
    self.assertEqual(self.found(both), ([("doubled-segment", None, None)], 8))
    self.assertEqual(self.verify()["findings"][0]["file"], s.name(7, C))
    torn = {SEALED: files[SEALED], NEXT: files[NEXT][:3000]}
    self.assertEqual(self.found(torn), ([("leftover", None, None)], 6))
    lost = open_segment(C, 7, [1, 1], durable=8, predecessor=s.pin(B, 6, 7, numbered(6, 1)))
    self.assertEqual(self.found({**files, s.name(7, C): b"X" + lost[1:]}), ([("damaged-header", 7, 9)], 7))
    trimmed = open_segment(C, 7, [1], predecessor=s.pin(B, 6, 7, numbered(6, 1)), floor=6)
    expected = ([("leftover", None, None)], 2)
    self.assertEqual(self.found({**files, s.name(7, C): trimmed}), expected)
    del files[SEALED]
    self.assertEqual(self.found({**files, s.name(7, C): trimmed}), ([], 2))

  def test_a_trim_record_states_the_floor(self):
    files, records = two_segments()
    body = s.header(B, 6, s.pin(A, 0, 6, records))
    body += s.events(B, 6, [s.record(6, kind=3, type="", data=(6).to_bytes(8, "little") + bytes(6))])
    self.assertEqual(self.found({**files, NEXT: body}), ([("leftover", None, None)], 1))
    self.assertEqual(self.found({NEXT: body}), ([], 1))

  def test_torn_tails_and_holes(self):
    frames = [s.events(A, number, numbered(number, 1), durable) for number, durable in enumerate((0, 0, 0, 2))]
    hole = bytes(len(frames[1]))
    header = s.header(A, 0)

    def case(*parts):
      return self.found({OPEN: header + b"".join(parts)})

    self.assertEqual(case(frames[0], hole, frames[2], b"\1"), ([("torn-tail", 1, 3)], 1))
    self.assertEqual(case(frames[0], hole, frames[2], frames[3]), ([("damaged-frame", 1, 2)], 3))
    self.assertEqual(case(frames[0], hole, b"garbage!", hole, frames[3]), ([("damaged-frame", 1, 3)], 2))
    self.assertEqual(case(frames[0], frames[1], b"\1"), ([("torn-tail", 2, 2)], 2))
    self.assertEqual(case(frames[0], s.frame(A, 2, 1, durable=5)), ([("missing-newest", 1, 5)], 1))
    self.assertEqual(case(frames[0], s.frame(A, 2, 1, durable=3), b"\1"), ([("damaged-frame", 1, 3)], 1))

  def test_frames_that_verify_at_the_wrong_offset(self):
    first, again, ahead = (s.events(A, base, numbered(base, 1)) for base in (0, 0, 3))
    self.assertEqual(self.found({OPEN: s.header(A, 0) + first + again}), ([("torn-tail", 1, 1)], 1))
    self.assertEqual(self.found({OPEN: s.header(A, 0) + first + ahead}), ([("torn-tail", 1, 4)], 1))
    mark = s.frame(A, 2, 4, durable=4)
    self.assertEqual(self.found({OPEN: s.header(A, 0) + first + ahead + mark}), ([("damaged-frame", 1, 3)], 2))
    second = open_segment(B, 2, [1], predecessor=s.pin(A, 0, 2, numbered(0, 2)))
    self.assertEqual(self.found({OPEN: s.header(A, 0) + first + ahead, s.name(2, B): second}), ([("damaged-frame", 1, 2)], 2))

  def test_sealed_structures_that_verify_but_lie(self):
    files, records = two_segments(codec=0)
    data, second = files[SEALED], files[NEXT]
    for at in (16 * 3, 88, 96, 104, 112, 120, 128, 136, 152, 168, 192, 240, 248, 256, 264, 272, 304):
      lie = s.patch_footer(data, at, bytes([data[at - 512] ^ 1]))
      self.assertFalse(self.verify({SEALED: lie, NEXT: second})["findings"] == [], at)
    lie = s.patch_footer(data, 176, bytes(16))
    self.assertEqual(self.found({SEALED: lie, NEXT: second}), ([("pin-mismatch", 0, 6)] * 2, 7))
    pinned = open_segment(B, 6, [1], predecessor=s.pin(A, 0, 6, records)[:32] + bytes(16))
    self.assertEqual(self.found({SEALED: lie, NEXT: pinned}), ([("pin-mismatch", 0, 6)], 7))
    index = data.rindex(b"TMFR") - 8
    for at in (24, 40, 48, 56, 56 + 24 + 16, len(data) - 512 - index - 8):
      lie = s.patch_footer(s.patch_frame(data, index, A, at, bytes([data[index + at] ^ 1])), 0, b"T")
      self.assertEqual(self.found({SEALED: lie, NEXT: second})[0], [("damaged-index", None, None)], at)
    longer = s.patch_footer(data, 88, (7).to_bytes(8, "little"))
    third = open_segment(B, 7, [1], predecessor=s.pin(A, 0, 7, records)[:32] + data[-336:-320])
    self.assertEqual({kind for kind, _, _ in self.found({SEALED: longer, s.name(7, B): third})[0]}, {"damaged-frame", "damaged-index"})
    packed = two_segments()[0][SEALED]
    for size in (1, 1000):
      wrong = s.patch_frame(packed, 4096, A, 20, size.to_bytes(4, "little"))
      self.assertIn(("damaged-frame", 0, 2), self.found({SEALED: wrong, NEXT: second})[0])
    last = data.rindex(b"TMFR", 0, index) - 8
    early = s.patch_footer(data[: index + 60] + b"?" + data[index + 61 :], 256, last.to_bytes(8, "little"))
    self.assertIn(("damaged-frame", 4, 6), self.found({SEALED: early, NEXT: second})[0])

  def test_gaps_are_served_around_and_reported(self):
    body = s.header(A, 0) + s.events(A, 0, numbered(0, 2)) + s.frame(A, 4, 2, 3, b"sector") + s.events(A, 5, numbered(5, 1))
    self.assertEqual((self.found({OPEN: body}), self.verify()["ok"]), (([("gap", 2, 5)], 3), False))

  def test_foreign_and_newer(self):
    files, _ = two_segments()
    self.assertEqual(self.found({**files, s.name(0, C): files[SEALED]})[0], [("foreign-segment", None, None)])
    stranger = s.identity().replace(s.LOG_ID, bytes(16))
    self.assertEqual(set(self.kinds({**files, "identity": stranger})), {"damaged-identity"})
    slots = s.identity(), s.identity(version=2)
    half = [{**files, "identity": slots[a][:4096] + slots[1 - a][4096:]} for a in (0, 1)]
    newer = {"identity": s.identity(version=2)}, *half, {OPEN: s.header(A, 0, version=2)}
    frames = [s.frame(A, 1, 0, version=2), s.frame(A, 6, 0), s.frame(A, 2, 0, flags=2), s.frame(A, 2, 0, flags=16)]
    for files in (*newer, *({OPEN: s.header(A, 0) + frame} for frame in frames)):
      self.assertRaises(Unsupported, self.verify, files)
    self.assertEqual(self.kinds({OPEN: s.header(A, 0) + s.frame(A, 0x85, 0, raw=b"later")}), [])

  def test_contents_that_verify_but_are_not_well_formed(self):
    good = s.record(1, subject="N1")
    bad = [good[:-1], good + b"x", good[:7] + b"\xff" + good[8:], good[:5] + b"\xb0" + good[6:],
           s.record(1, type=""), good[:-1] + b"\xff",
           s.record(1, extensions=b"\1\0\2\0ab"), s.record(1, extensions=b"\x09\0\xff\0")]
    for raw in bad:
      self.assertEqual(self.kinds({OPEN: s.header(A, 0) + s.events(A, 0, [raw])}), ["torn-tail"], raw)
    self.assertEqual(self.kinds({OPEN: s.header(A, 0) + s.frame(A, 1, 0, 2, good)}), ["torn-tail"])
    self.assertEqual(self.kinds({OPEN: small_open()}), [])
