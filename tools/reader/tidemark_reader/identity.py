"""The file `identity`, and the log's own ids where it is damaged."""

import os

from .page import PAGE_SIZE, IdentitySlot
from .report import Damaged, Finding, NotALog, Unsupported


class Identity:
  """Log id and current epoch; both None if nothing tells them."""

  def __init__(self, log_id, epoch):
    self.log_id = log_id
    self.epoch = epoch


def read_identity(log_path):
  """The identity of the valid slot, or None, and the findings. Raises `Unsupported` if one is newer."""
  try:
    with open(os.path.join(log_path, "identity"), "rb") as stream:
      data = stream.read(3 * PAGE_SIZE)
  except FileNotFoundError:
    return None, [Finding("damaged-identity", "identity", None, message="the file is missing")]
  slots, findings, newer = [], [], None
  for position in (0, PAGE_SIZE):
    try:
      slots.append(IdentitySlot(data[position : position + PAGE_SIZE], "identity", position))
    except Damaged as damage:
      findings.append(Finding("damaged-identity", "identity", position, message=str(damage)))
    except Unsupported as unsupported:
      newer = newer or unsupported
  if len(data) > 2 * PAGE_SIZE:
    findings.append(Finding("damaged-identity", "identity", 2 * PAGE_SIZE, message="there are bytes behind the second slot"))
  if newer:
    raise newer
  if slots:
    best = max(slots, key=lambda slot: slot.generation)
    return Identity(best.log_id, best.epoch), findings
  return None, findings[:1]


def identity_from_segments(segments):
  """The log id in the segments, with the epoch of the newest. Raises `NotALog` if none tells it, or if they contradict each other."""
  parts = [segment.ids_page for segment in segments if segment.ids_page]
  if len({part.log_id for part in parts}) != 1:
    raise NotALog("the log has lost its identity, and the segments do not tell it")
  return Identity(parts[0].log_id, parts[-1].epoch)


def check_directory(log_path):
  """Names of the segment files, in order. Raises `NotALog` or `OSError`."""
  if not os.path.isdir(log_path):
    os.stat(log_path)
    raise NotALog("%s is not a directory" % log_path)
  try:
    names = sorted(os.listdir(os.path.join(log_path, "segments")))
  except (FileNotFoundError, NotADirectoryError):
    names = []
  if not names and not os.path.exists(os.path.join(log_path, "identity")):
    raise NotALog("%s holds neither an identity nor segments" % log_path)
  return names
