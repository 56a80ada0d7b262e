"""The program as it is called: exit codes, and one process for many logs."""

import json
import os
import subprocess
import sys

from . import sample_log as s
from .support import OPEN, A, LogTest, small_open

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "read.py")


def run(*arguments, text=b""):
  """Exit code, standard output and standard error."""
  done = subprocess.run([sys.executable, PROGRAM, *arguments], input=text, capture_output=True, check=False)
  return done.returncode, done.stdout, done.stderr


class Program(LogTest):
  def test_exit_codes(self):
    self.write({OPEN: small_open()})
    self.assertEqual(run("verify", self.folder)[0], 0)
    code, output, _ = run("cat", self.folder, "--control")
    self.assertEqual((code, output.count(b"\n")), (0, 5))
    self.write({OPEN: small_open().replace(s.frame(A, 3, 5, durable=5), b"")})
    self.assertEqual(run("cat", self.folder)[1].count(b"\n"), 3)
    self.assertIn(b'"events":4', run("digest", self.folder)[1])
    self.write({OPEN: s.header(A, 0) + s.frame(A, 4, 0, 3, b"lost")})
    for command in ("verify", "cat", "digest"):
      code, _, errors = run(command, self.folder)
      self.assertEqual((code, b"gap [0, 3)" in errors), (1, True))
    self.assertEqual(run("verify")[0], 2)
    self.assertEqual(run("verify", os.path.join(self.root, "absent"))[0], 3)
    self.assertEqual(run("verify", self.root)[0], 4)
    self.write({"identity": s.identity(version=2)})
    code, output, errors = run("verify", self.folder)
    self.assertEqual((code, output, b"version 2" in errors), (4, b"", True))

  def test_batch(self):
    self.write({OPEN: small_open()})
    requests = [verb + self.folder for verb in ("verify ", "cat ", "cat --control ", "digest ")] + ["verify " + self.root, "x"]
    code, output, errors = run("batch", text="\n".join(requests).encode())
    answers = [json.loads(line) for line in output.splitlines()]
    self.assertEqual((code, errors, len(answers)), (0, b"", 6))
    self.assertEqual((answers[0]["ok"], answers[1]["lines"], answers[2]["lines"], answers[3]["events"]), (True, 4, 5, 4))
    self.assertEqual((answers[4]["error"], answers[4]["exit"], answers[5]["error"]), ("not-a-log", 4, "usage"))
    self.assertEqual(set(answers[1]), {"lines", "xxh3_128"})
