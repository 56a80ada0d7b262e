"""Healthy logs, and events as JSON lines."""

import os

from tidemark_reader import evidence, jsonl
from tidemark_reader.log import Log
from tidemark_reader.report import NotALog

from . import sample_log as s
from .support import OPEN, A, C, LogTest, flips, small_open, two_segments


class Healthy(LogTest):
  def test_reads_an_open_segment(self):
    result = self.verify({OPEN: small_open()})
    self.assertEqual(result, {"ok": True, "events": 4, "control_events": 1, "frames": 5, "segments": 1, "findings": []})
    self.assertEqual(self.cat()[0], (
      '{"offset":1,"id":"01900000-0000-7001-8000-000000001eef","type":"scan","subject":"N1","time":"2023-11-14T22:13:20.000000001Z",'
      '"boot_id":"40414243-4445-4647-4849-4a4b4c4d4e4f","elapsed_ns":1000,"data":"one"}'))
    self.assertTrue(self.cat(True)[0].startswith('{"offset":0,"kind":2,"id":"01900000-0000-7000-8000-000000000000","time":'))

  def test_reads_sealed_segments_raw_and_compressed(self):
    digests = []
    for codec, count in ((0, 6), (1, 6), (1, 1200)):
      files, _ = two_segments(codec, count, 2 if count < 10 else 100)
      result = self.verify(files)
      self.assertEqual((result["ok"], result["findings"]), (True, []))
      self.assertEqual((result["events"], result["control_events"], result["segments"]), (count, 1, 2))
      digests.append(Log(self.folder).digest()["xxh3_128"])
    self.assertEqual(digests[0], digests[1])

  def test_checks_a_merged_index(self):
    files, records = two_segments()
    index = s.merged_index(0, 6, [A], records)
    name = "index/%020d-%020d.ids" % (0, 6)
    self.assertEqual(self.kinds({**files, name: index}), [])
    self.assertEqual(self.kinds({**files, name: s.merged_index(0, 6, [C], records)}), [])
    self.assertEqual(self.kinds({**files, name: s.merged_index(0, 6, [A], records[:5] + [s.record(99)])}), ["damaged-index"])
    self.assertEqual(self.kinds({**files, "index/%020d-%020d.ids" % (0, 7): index}), ["damaged-index"])
    self.assertEqual(self.kinds({**files, name: s.merged_index(0, 6, [A], records, bytes(16))}), ["damaged-index"])
    for _, damaged in flips(index, every_bit=False):
      self.assertIn("damaged-index", self.kinds({**files, name: damaged}))

  def test_an_empty_log_and_no_log(self):
    self.assertEqual(self.kinds({"segments/other": b""}), ["missing-newest"])
    self.assertTrue(self.verify({OPEN: s.header(A, 0) + bytes(99)})["ok"])
    for path in (self.root, os.path.join(self.folder, "identity")):
      self.assertRaises(NotALog, Log, path)
    self.assertRaises(FileNotFoundError, Log, os.path.join(self.root, "absent"))


class Lines(LogTest):
  def line(self, **fields):
    self.write({OPEN: s.header(A, 0) + s.events(A, 0, [s.record(1, **fields)])})
    return self.cat(True)[0].split('"elapsed_ns":1000', 1)

  def test_times_have_the_digits_that_were_given(self):
    for time, digits, text in (
      (0, 0, "1970-01-01T00:00:00Z"), (1_500_000_000, 1, "1970-01-01T00:00:01.5Z"), (-1, 9, "1969-12-31T23:59:59.999999999Z"),
      (2**63 - 1, 3, "2262-04-11T23:47:16.854Z"), (-(2**63), 0, "1677-09-21T00:12:43Z"),
    ):
      self.assertIn('"time":"%s"' % text, self.line(time=time, digits=digits)[0])

  def test_data_in_its_three_forms(self):
    json_type, deep = "application/json", b"[" * 5000 + b"]" * 5000
    for content_type, data, text in (
      ("", b"", "}"),
      ("", b'a"\\\n\x01\x7f\xc3\xa9', ',"data":"a\\"\\\\\\n\\u0001\x7f\u00e9"}'),
      ("", b"\xff\x00", ',"data_base64":"/wA="}'),
      (json_type, b' {"a":1e400, "a":[]}', ',"datacontenttype":"application/json","data": {"a":1e400, "a":[]}}'),
      (json_type, b"1" * 9999, ',"datacontenttype":"application/json","data":%s}' % ("1" * 9999)),
      (json_type, deep, ',"datacontenttype":"application/json","data":%s}' % deep.decode()),
      (json_type, deep[1:], ',"datacontenttype":"application/json","data":"%s"}' % deep[1:].decode()),
      (json_type, b"NaN", ',"datacontenttype":"application/json","data":"NaN"}'),
      ("a/b+json", b"null", ',"datacontenttype":"a/b+json","data":null}'),
      ("text/json", b"null", ',"datacontenttype":"text/json","data":"null"}'),
    ):
      self.assertEqual(self.line(content_type=content_type, data=data)[1], text)

  def test_deep_json_is_checked_as_shallow_json_is(self):
    good = ("{}", "[]", "[1]", "[1,2]", '{"a":1}', '{"a":{"b":[1,{}]},"c":null}', "1", " 1 ", '"x"', "true", "-0.5e+9", '"\\u00e9"')
    bad = ("", "[1,]", "[,1]", '{"a"}', '{"a":1,}', '{"a":}', "[}", "{]", "[", "]", "1 2", "01", "[1 2]", "{1:2}", '{"a" 1}', "tru",
           "-", "+1", '"\\x"', '"\t"', "NaN", "[:]", "{,}", '["a":1]', '{"a":1]', "1.", "\ufeff1")
    for text in good + bad:
      self.assertEqual(jsonl.is_json(text), text in good, text)
      self.assertEqual(jsonl.is_deep_json(text), jsonl.is_json(text), text)

  def test_links_stand_before_the_content_type(self):
    extensions = s.extension(3, b"\3" * 16) + s.extension(1, b"\1" * 16) + s.extension(99, b"kept") + s.extension(2, b"\2" * 16)
    uuid = "-".join(digit * count for digit, count in (("0%d", 4), ("0%d", 2), ("0%d", 2), ("0%d", 2), ("0%d", 6)))
    links = ',"correlation":"%s","causation":"%s","supersedes":"%s"' % tuple(uuid.replace("%d", str(n)) for n in (1, 2, 3))
    self.assertEqual(self.line(extensions=extensions, content_type="t")[1], links + ',"datacontenttype":"t"}')


class Descriptors(LogTest):
  def test_follows_sessions_and_counts_what_is_lost(self):
    body = s.header(A, 0)
    early = s.record(0, subject="N1", data=b"one")
    session = s.record(1, kind=2, type="", data=s.session())
    late = s.record(4, type="scan", actor="me", content_type="a/b", extensions=s.extension(1, bytes(16)), data=b"two")
    body += s.events(A, 0, [early, session]) + s.frame(A, 4, 2, count=2, raw=b"lost") + s.events(A, 4, [late])
    self.write({OPEN: body + bytes(64)})
    found = [(offset, data) for offset, data, _, _ in evidence.descriptors(Log(self.folder))]
    self.assertEqual([offset for offset, _ in found], [0, 1, 2, 3, 4])
    empty, digest = evidence.sha256(b""), evidence.sha256(s.session())
    self.assertEqual(found[0][1], b"TMD1" + bytes(32) + empty + evidence.sha256(b"one") + early[:-3])
    self.assertEqual(found[2][1], b"TMG1" + (2).to_bytes(8, "little"))
    self.assertEqual(found[4][1], b"TMD1" + digest + evidence.sha256(s.extension(1, bytes(16))) + evidence.sha256(b"two") + late[:-23])
