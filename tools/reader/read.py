#!/usr/bin/env python3
"""Read, check and digest Tidemark logs: an independent reader, written from the format's document.

read.py cat LOG [--control]    events as JSON lines
read.py verify LOG             the full check, as one JSON object
read.py digest LOG             a digest over all records and their numbers, as one JSON object
read.py batch                  lines "verify LOG", "cat LOG", "cat --control LOG" or "digest LOG" from standard input, one JSON line each

Exit codes: 0 well, 1 damage found, 2 wrong use, 3 I/O or environment, 4 newer version or not a log.
"""

import json
import os
import sys

try:
  import xxhash

  from tidemark_reader.jsonl import line
  from tidemark_reader.log import Log
  from tidemark_reader.record import USER
  from tidemark_reader.report import NotALog, Unsupported
except ImportError as problem:
  print("read.py: %s; install python3-lz4 and python3-xxhash, or `pip install lz4 xxhash`" % problem, file=sys.stderr)
  sys.exit(3)

WELL, DAMAGED, WRONG_USE, ENVIRONMENT, REFUSED = 0, 1, 2, 3, 4


def lines(log, with_control):
  """The events of a log below the recorded durable offset as JSON lines, as bytes with line ends."""
  for offset, record, boot in log.durable_records():
    if with_control or record.kind == USER:
      yield line(offset, record, boot) + b"\n"


def compact(value):
  """A value as compact JSON."""
  return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def finish(log):
  """Say on standard error what was found; the exit code."""
  for finding in log.findings:
    print("read.py: %s" % finding, file=sys.stderr)
  return WELL if log.ok else DAMAGED


def run(command, path, with_control):
  """Carry out one command and print its answer."""
  log = Log(path)
  if command == "cat":
    for text in lines(log, with_control):
      sys.stdout.buffer.write(text)
  else:
    print(compact(log.verify() if command == "verify" else log.digest()))
  return finish(log)


def answer(command, path, with_control):
  """The answer to one line of a batch."""
  log = Log(path)
  if command == "verify":
    return log.verify()
  if command == "digest":
    return log.digest()
  count, state = 0, xxhash.xxh3_128()
  for text in lines(log, with_control):
    count += 1
    state.update(text)
  result = {"lines": count, "xxh3_128": state.hexdigest()}
  if not log.ok:
    result["ok"] = False
  return result


def guarded(action, *arguments):
  """The result of an action, or the failure as a dictionary with `error`, `message` and `exit`."""
  try:
    return action(*arguments)
  except Unsupported as problem:
    place = {"file": problem.file, "position": problem.position}
    return {"error": "unsupported", "message": str(problem), "exit": REFUSED, **place}
  except NotALog as problem:
    return {"error": "not-a-log", "message": str(problem), "exit": REFUSED}
  except BrokenPipeError:
    raise
  except OSError as problem:
    return {"error": "io", "message": str(problem), "exit": ENVIRONMENT}
  except Exception as problem:  # a mistake of this program is an answer too, never a traceback
    return {"error": "internal", "message": "%s: %s" % (type(problem).__name__, problem), "exit": ENVIRONMENT}


def batch():
  """Answer lines from standard input until it ends."""
  for request in sys.stdin.buffer:
    command, _, rest = os.fsdecode(request).strip("\r\n").partition(" ")
    with_control = command == "cat" and rest.startswith("--control ")
    path = rest[len("--control ") :] if with_control else rest
    if command in ("verify", "cat", "digest") and path:
      result = guarded(answer, command, path, with_control)
    else:
      result = {"error": "usage", "message": "not a request: " + request.decode("utf-8", "replace").strip(), "exit": WRONG_USE}
    print(compact(result), flush=True)
  return WELL


def main(arguments):
  """The program. Returns the exit code."""
  if arguments in (["--help"], ["-h"]):
    print(__doc__.strip())
    return WELL
  if arguments == ["batch"]:
    return batch()
  options = [argument for argument in arguments if argument == "--control"]
  rest = [argument for argument in arguments if argument != "--control"]
  if len(rest) != 2 or rest[0] not in ("cat", "verify", "digest") or (options and rest[0] != "cat"):
    print(__doc__.strip(), file=sys.stderr)
    return WRONG_USE
  result = guarded(run, rest[0], rest[1], bool(options))
  if isinstance(result, int):
    return result
  print("read.py: %s" % result["message"], file=sys.stderr)
  return result["exit"]


if __name__ == "__main__":
  sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
  try:
    code = main(sys.argv[1:])
    sys.stdout.flush()
  except (BrokenPipeError, KeyboardInterrupt):
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    code = ENVIRONMENT
  sys.exit(code)
