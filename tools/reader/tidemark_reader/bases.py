"""Several files of one base: which of them counts (step 3 of the analysis)."""

import itertools

from .page import ZERO_ID
from .segment import open_steps, recorded_durable, settle_newest


def settle_bases(analysis, files):
  """One file for each base, in order. What does not count becomes a finding of the analysis."""
  files = sorted(files, key=lambda file: (file.base, file.file))
  groups = [list(group) for _, group in itertools.groupby(files, key=lambda file: file.base)]
  chosen = []
  for number, group in enumerate(groups):
    pinned = {file.pin.id for file in groups[number + 1] if file.pin} if number + 1 < len(groups) else set()
    chosen.append(settle_base(analysis, group, pinned))
  return chosen


def settle_base(analysis, group, pinned):
  """The one file of a base that counts. `pinned` are the ids that files of the next base name as predecessor."""
  group = settle_sealing(analysis, group)
  if len(group) > 1:
    group = settle_torn(analysis, group)
  while len(group) > 1:
    pair = find_replacing(group)
    if pair is None:
      break
    replaced, replacing = pair
    loser = replaced if reach(analysis, replacing) >= reach(analysis, replaced) else replacing
    leftover(analysis, group, loser, "recovery or a first commit was interrupted: another file of this base counts")
  best = min(group, key=lambda file: (file.header is None, file.id not in pinned, not file.sealed, file.file))
  for file in group:
    if file is not best:
      analysis.add("doubled-segment", file.file, None, None, None, "another segment has the same base")
  return best


def leftover(analysis, group, file, message):
  """Take a file out of a group."""
  group.remove(file)
  analysis.add("leftover", file.file, None, None, None, message)


def settle_sealing(analysis, group):
  """Of an open and a sealed file of one id the sealed one counts if its footer verifies."""
  for sealed in [file for file in group if file.sealed]:
    for twin in [file for file in group if not file.sealed and file.id == sealed.id]:
      loser = twin if sealed.footer else sealed
      leftover(analysis, group, loser, "sealing was interrupted: the other form of the segment counts")
  return group


def settle_torn(analysis, group):
  """Files with a torn header beside a sound one are left over unless something durable is in them."""
  for file in [file for file in group if not file.sealed and file.header is None]:
    if len(group) > 1 and recorded_durable(open_steps(file, analysis.seed(file))) <= file.base:
      leftover(analysis, group, file, "the header is torn and nothing durable is in it: " + file.header_damage)
  return group


def find_replacing(group):
  """Two open files of which the second names the first as replaced, or None."""
  opened = [file for file in group if not file.sealed and file.header]
  for replaced, replacing in itertools.permutations(opened, 2):
    if replacing.header.replaces == replaced.id != ZERO_ID:
      return replaced, replacing
  return None


def reach(analysis, file):
  """How far the frames of an open file reach."""
  steps = open_steps(file, analysis.seed(file))
  return settle_newest(file, steps, max(file.base, recorded_durable(steps))).end
