"""A tiny writer of Tidemark logs for the self test, written from Specs/format.md apart from the reader."""

import os
import struct

import lz4.block
import xxhash

NO_SESSION = (1 << 64) - 1
LOG_ID, EPOCH = bytes(range(16)), bytes(range(16, 32))
INCARNATION = 0x1122334455667788
BOOT = bytes(range(0x40, 0x50))


def segment_id(number):
  return bytes([0xA0 + number]) * 16


def low_then_high(value):
  return struct.pack("<QQ", value & NO_SESSION, value >> 64)


def seed(identifier):
  return xxhash.xxh3_64_intdigest(LOG_ID + EPOCH + identifier)


def page(kind, fields, size=4096, version=1, incompatible=0):
  """A page of the envelope; `fields` maps positions to bytes."""
  data = bytearray(size)
  struct.pack_into("<8sHHIQQ", data, 0, b"TIDEMARK", kind, version, 0, 0, incompatible)
  for at, value in fields.items():
    data[at : at + len(value)] = value
  struct.pack_into("<Q", data, size - 8, xxhash.xxh3_64_intdigest(bytes(data[: size - 8])))
  return bytes(data)


def identity(version=1):
  epoch = EPOCH + bytes(16) + struct.pack("<Qqq", 0, 5, 0) + bytes(32)
  slots = []
  for generation in (1, 2):
    fields = {32: struct.pack("<Q", generation), 40: LOG_ID + struct.pack("<qHH", 5, 1, 1), 80: epoch}
    slots.append(page(1, fields, version=version))
  return b"".join(slots)


def extension(tag, value):
  return struct.pack("<HH", tag, len(value)) + value


def record(number, kind=1, goes_on=False, digits=9, time=None, type="scan", subject="", actor="", content_type="",
           extensions=b"", data=b""):
  """One record; `number` makes its id."""
  texts = [text.encode() for text in (type, subject, actor, content_type)]
  variable = b"".join(texts) + extensions + data
  identifier = struct.pack(">QQ", 0x0190000000007000 + number, 0x8000000000000000 + number * 7919)
  time = 1_700_000_000_000_000_000 + number if time is None else time
  head = struct.pack("<IBBBB16sqQhBBHH", 48 + len(variable), kind, digits << 4 | goes_on, 0x10, len(texts[0]), identifier, time,
                     number * 1000, 60, len(texts[2]), len(texts[3]), len(texts[1]), len(extensions))
  return head + variable


def session(boot=BOOT):
  return boot + struct.pack("<qQQ", 1, 2, INCARNATION) + b"\x04test\x03UTC\x00"


def frame(identifier, kind, base, count=0, raw=b"", durable=0, codec=0, version=1, flags=0):
  stored = lz4.block.compress(raw, store_size=False) if codec else raw
  padding = bytes(-len(stored) % 8)
  body = struct.pack("<4sBBHIIQIIQQ", b"TMFR", version, kind, codec | flags, len(stored), len(raw), base, count, 0, durable, INCARNATION)
  body += stored + padding
  return struct.pack("<Q", xxhash.xxh3_64_intdigest(body, seed=seed(identifier))) + body


def events(identifier, base, records, durable=0, codec=0):
  return frame(identifier, 1, base, len(records), b"".join(records), durable, codec)


def pin(identifier=bytes(16), base=0, end=0, records=()):
  """What a successor records: of a segment without gaps."""
  digest = low_then_high(xxhash.xxh3_128_intdigest(b"".join(records))) if records else bytes(16)
  return identifier + struct.pack("<QQ", end, end - base) + digest


def header(identifier, base, predecessor=None, floor=0, replaces=bytes(16), user_end=0, session_offset=NO_SESSION,
           session_data=b"", version=1):
  """A segment header."""
  return page(2, {
    32: LOG_ID + EPOCH + identifier + struct.pack("<QqQQ", base, 5, INCARNATION, floor),
    112: replaces + (predecessor or pin()),
    176: struct.pack("<QQHB", user_end, session_offset, len(session_data), 1),
    256: session_data,
  }, version=version)


def sealed(identifier, base, groups, predecessor=None, session_data=b"", session_offset=NO_SESSION, codec=1):
  """A sealed segment of groups of records, one frame each."""
  end = base + sum(len(group) for group in groups)
  body = header(identifier, base, predecessor, session_data=session_data, session_offset=session_offset)
  table, types, subjects, sessions, entries, ids, times = b"", {}, {}, b"", [], [], []
  offset, user_end, users, session_count = base, 0, 0, 0
  for group in groups:
    stamps = []
    table_entry = struct.pack("<QQ", offset, len(body))
    body += events(identifier, offset, group, end, codec)
    for raw in group:
      type_size, actor_size, content_size, subject_size, extension_size = raw[7], raw[42], raw[43], *struct.unpack_from("<HH", raw, 44)
      entries.append((xxhash.xxh3_64_intdigest(raw[8:24]) & 0xFFFFFFFF, offset - base))
      ids.append(raw[8:24])
      if raw[4] == 1:
        stamps += struct.unpack_from("<q", raw, 24)
        kind, subject = raw[48 : 48 + type_size], raw[48 + type_size : 48 + type_size + subject_size]
        types[kind] = types.get(kind, 0) + 1
        if subject:
          subjects[subject] = subjects.get(subject, 0) + 1
        users, user_end = users + 1, offset + 1
      elif raw[4] == 2:
        data = raw[48 + type_size + subject_size + actor_size + content_size + extension_size :]
        sessions += struct.pack("<QH", offset, len(data)) + data
        session_count, session_offset = session_count + 1, offset
      offset += 1
    table += table_entry + struct.pack("<qq", min(stamps, default=2**63 - 1), max(stamps, default=-(2**63)))
    times += stamps
  pages_at = len(body)
  body += id_pages(seed(identifier), entries)
  index_at = len(body)
  index = struct.pack("<IIIIII", len(groups), len(types), len(subjects), session_count, 1, 0) + table
  index += b"".join(struct.pack("<B", len(name)) + name + struct.pack("<I", types[name]) for name in sorted(types))
  index += b"".join(struct.pack("<H", len(name)) + name + struct.pack("<I", subjects[name]) for name in sorted(subjects))
  body += frame(identifier, 5, end, raw=index + sessions, durable=end, codec=codec)
  records = [raw for group in groups for raw in group]
  return body + page(3, {
    32: LOG_ID + EPOCH + identifier + struct.pack("<QQQQQ", base, end, users, user_end, len(groups)),
    120: struct.pack("<qq", min(times, default=2**63 - 1), max(times, default=-(2**63))) + min(ids) + max(ids),
    168: struct.pack("<Q", sum(map(len, records))) + low_then_high(xxhash.xxh3_128_intdigest(b"".join(records))),
    192: (predecessor or pin()) + struct.pack("<QQ", 0, session_offset),
    256: struct.pack("<QQQQ", pages_at, (index_at - pages_at) // 4096, index_at, len(body) + 512),
    288: low_then_high(xxhash.xxh3_128_intdigest(body)),
  }, 512)


def id_pages(page_seed, entries):
  entries = sorted(entries)
  result = b""
  for number in range(-(-len(entries) // 511)):
    part = b"".join(struct.pack("<II", *entry) for entry in entries[number * 511 : (number + 1) * 511]).ljust(4088, b"\xff")
    result += part + struct.pack("<Q", xxhash.xxh3_64_intdigest(part, seed=page_seed + number & NO_SESSION))
  return result


def merged_index(first, end, segment_ids, records, log_id=LOG_ID):
  coverage = low_then_high(xxhash.xxh3_128_intdigest(b"".join(segment_ids)))
  entries = [(xxhash.xxh3_64_intdigest(raw[8:24]) & 0xFFFFFFFF, number) for number, raw in enumerate(records)]
  pages = id_pages(xxhash.xxh3_64_intdigest(log_id + coverage), entries)
  ids = [raw[8:24] for raw in records]
  return page(4, {32: log_id + struct.pack("<QQQ", first, end, len(pages) // 4096) + min(ids) + max(ids) + coverage}) + pages


def patch_footer(data, at, value):
  """A sealed segment whose footer says something else at a position, with a hash that fits."""
  body, footer = data[:-512], bytearray(data[-512:])
  footer[at : at + len(value)] = value
  footer[288:304] = low_then_high(xxhash.xxh3_128_intdigest(body))
  struct.pack_into("<Q", footer, 504, xxhash.xxh3_64_intdigest(bytes(footer[:504])))
  return body + bytes(footer)


def patch_frame(data, position, identifier, at, value):
  """A segment with other bytes at a place of one frame, with a hash that fits."""
  data = bytearray(data)
  data[position + at : position + at + len(value)] = value
  end = position + 56 + -(-struct.unpack_from("<I", data, position + 16)[0] // 8) * 8
  struct.pack_into("<Q", data, position, xxhash.xxh3_64_intdigest(bytes(data[position + 8 : end]), seed=seed(identifier)))
  return bytes(data)


def name(base, identifier, form="open"):
  return "segments/%020d-%s.%s" % (base, identifier.hex(), form)


def write(folder, files):
  """Write files by name into the folder of a log."""
  for path, data in files.items():
    full = os.path.join(folder, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "wb") as stream:
      stream.write(data)
