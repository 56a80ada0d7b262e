"""Events as JSON lines, the way `tidemark cat --format jsonl` prints them."""

import base64
import datetime
import json
import re

from .record import ATTACHMENT, CAUSATION, CORRELATION, SUPERSEDES, USER, read_attachment

EPOCH = datetime.datetime(1970, 1, 1)
LINKS = ((CORRELATION, "correlation"), (CAUSATION, "causation"), (SUPERSEDES, "supersedes"))
TOKEN = re.compile(
  r'[ \t\n\r]*(?:([{}\[\]:,])|("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
  r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null))"
)


def line(offset, record, boot):
  """One event as one JSON object, without the line end, as bytes."""
  parts = ['{"offset":%d' % offset]
  if record.kind != USER:
    parts.append('"kind":%d' % record.kind)
  parts.append('"id":"%s"' % uuid_text(record.id))
  for key, text in (("type", record.type), ("subject", record.subject), ("actor", record.actor)):
    if text:
      parts.append('"%s":%s' % (key, string(text)))
  parts.append('"time":"%s"' % time_text(record.time, record.fraction_digits))
  if boot:
    parts.append('"boot_id":"%s"' % uuid_text(boot))
  parts.append('"elapsed_ns":%d' % record.elapsed)
  if record.extensions:
    for tag, key in LINKS:
      value = next((value for entry, value in record.extensions if entry == tag), None)
      if value is not None:
        parts.append('"%s":"%s"' % (key, uuid_text(value)))
  if record.content_type:
    parts.append('"datacontenttype":' + string(record.content_type))
  if record.data:
    parts.append(data_member(record.data, record.content_type))
  files = [read_attachment(value) for entry, value in record.extensions or () if entry == ATTACHMENT]
  if files:
    parts.append('"attachments":[%s]' % ",".join(
      '{"name":%s,"media_type":%s,"length":%d,"sha256":"%s"}' % (string(name), string(media), size, digest.hex())
      for size, digest, media, name in files))
  return (",".join(parts) + "}").encode("utf-8")


def string(text):
  """A JSON string: quotation mark, backslash and control characters escaped, all else as it is."""
  return json.dumps(text, ensure_ascii=False)


def uuid_text(identifier):
  """An id as UUID text."""
  digits = identifier.hex()
  return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def time_text(nanoseconds, digits):
  """A time as RFC 3339 in UTC with a number of fraction digits."""
  seconds, fraction = divmod(nanoseconds, 1_000_000_000)
  text = (EPOCH + datetime.timedelta(seconds=seconds)).isoformat()
  return "%s.%sZ" % (text, ("%09d" % fraction)[:digits]) if digits else text + "Z"


def data_member(data, content_type):
  """The data as `data` or `data_base64`."""
  try:
    text = data.decode("utf-8")
  except UnicodeDecodeError:
    return '"data_base64":"%s"' % base64.b64encode(data).decode("ascii")
  if (content_type == "application/json" or content_type.endswith("+json")) and is_json(text):
    return '"data":' + text
  return '"data":' + string(text)


def refuse(_):
  """NaN and infinities are not JSON."""
  raise ValueError("not JSON")


def ignore(_):
  """Numbers are only checked, not converted: they may have any number of digits."""
  return 0


DECODER = json.JSONDecoder(parse_constant=refuse, parse_int=ignore, parse_float=ignore)


def is_json(text):
  """True if the text is one JSON value, of any depth."""
  try:
    DECODER.decode(text)
    return True
  except RecursionError:
    return is_deep_json(text)
  except ValueError:
    return False


def is_deep_json(text):
  """The same without recursion."""
  stack, at = [], 0
  state = "value"
  while True:
    match = TOKEN.match(text, at)
    if match is None:
      return state == "end" and not text[at:].strip(" \t\n\r")
    at = match.end()
    mark = match.group(1) or "s"
    if mark == "s":
      if state in ("key", "first key") and text[match.start(2)] == '"':
        state = "colon"
        continue
      if state not in ("value", "first value"):
        return False
    elif mark in "{[" and state in ("value", "first value"):
      stack.append(mark)
      state = "first key" if mark == "{" else "first value"
      continue
    elif mark == ":" and state == "colon":
      state = "value"
      continue
    elif mark == "," and state == "after":
      state = "key" if stack[-1] == "{" else "value"
      continue
    elif mark in "}]" and stack and (state == "after" or state == ("first key" if mark == "}" else "first value")):
      if stack.pop() != ("{" if mark == "}" else "["):
        return False
    else:
      return False
    state = "after" if stack else "end"
