"""What can be said about a log: findings, and the two ways in which reading stops altogether."""

HARMLESS = frozenset(("torn-tail", "leftover", "damaged-index", "damaged-identity"))


class Damaged(Exception):
  """A structure does not verify. Always caught by the code that knows the place and turns it into a finding."""


class Unsupported(Exception):
  """A structure verifies but is of a newer version; nothing can be said about the log."""

  def __init__(self, file, position, why):
    super().__init__("%s (%s, %d): read it with a newer version" % (why, file, position))
    self.file = file
    self.position = position


class NotALog(Exception):
  """The path holds no log."""


class Finding:
  """One finding: kind, file relative to the log, byte position, offsets [first, last), and a sentence."""

  __slots__ = ("kind", "file", "position", "first", "last", "message")

  def __init__(self, kind, file=None, position=None, first=None, last=None, message=""):
    self.kind = kind
    self.file = file
    self.position = position
    self.first = first
    self.last = last
    self.message = message

  @property
  def harmless(self):
    """True if `verify` still says ok with this finding."""
    return self.kind in HARMLESS

  def order(self):
    """Sort key: first offset, file, position; what is absent counts as 0."""
    return self.first or 0, self.file or "", self.position or 0, self.kind

  def to_json(self):
    """The finding as a dictionary without absent keys."""
    pairs = (("kind", self.kind), ("file", self.file), ("position", self.position), ("first", self.first), ("last", self.last))
    return {key: value for key, value in pairs if value is not None}

  def __str__(self):
    place = "%s, %s" % (self.file or "-", "-" if self.position is None else self.position)
    span = "" if self.first is None else " [%d, %s)" % (self.first, "?" if self.last is None else self.last)
    return "%s%s (%s): %s" % (self.kind, span, place, self.message)
