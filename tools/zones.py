"""Compares windows by time with Python's zoneinfo, which reads the time zone database by itself.

    python3 tools/zones.py TIDEMARK [--short] [--seed N]    all zones of the system, and of the same release compiled anew without the years ahead
    python3 tools/zones.py --write                          the files and expected offsets in Tests/TidemarkTextTests/Zones

Instants lie anywhere in the years that a log holds, more of them in the last centuries, and on both sides of every kind of change of a clock. They are
appended to a log as events, and `tidemark project` gives each its hour and offset, zone after zone.
"""

import io
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SYSTEM = "/usr/share/zoneinfo"
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# The seconds that 64 bits of nanoseconds hold.
EARLIEST, LATEST = -9_223_372_036, 9_223_372_036
# Daylight saving by half an hour and below zero, a day that never was, offsets with quarters of an hour and seconds, a rule beyond midnight.
NOTABLE = (
    "America/New_York", "Europe/Berlin", "Europe/Dublin", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca", "Pacific/Apia",
    "America/St_Johns", "Antarctica/Troll", "Africa/Monrovia", "Asia/Gaza", "America/Nuuk",
)

# The last of a weekday, times beyond midnight and below zero, daylight saving below zero, south of the equator.
RULES = (
    "UTC0", "<-0330>3:30", "EST5EDT,M3.2.0,M11.1.0", "CET-1CEST,M3.5.0,M10.5.0/3", "IST-1GMT0,M10.5.0,M3.5.0/1", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
    "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "EET-2EEST,M3.4.4/50,M10.4.4/50", "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3", "ABC3DEF,M2.5.4,M3.5.4",
    "ABC-12DEF,M9.5.0,M4.1.0/3", "ABC3:15:20DEF2:05,M2.5.4/1:02:03,M8.5.1/23:59:59",
)
# Days by number, with and without 29 February. Here the C library is asked: Python 3.11 takes them a day off.
DAY_RULES = ("ABC3DEF,J59,J60/0", "ABC3DEF,58,59/0", "ABC3DEF,J60/2,J300/2", "ABC3DEF,60/2,300/2", "ABC3DEF,J300,J60", "ABC3DEF,59/0,J61/0")


def seconds_of(year):
    return int((datetime(year, 1, 1, tzinfo=timezone.utc) - EPOCH).total_seconds())


def read_zone(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return ZoneInfo.from_file(file, key=name)


def local(zone, seconds):
    return (EPOCH + timedelta(seconds=seconds)).astimezone(zone)


def offset(zone, seconds):
    return int(local(zone, seconds).utcoffset().total_seconds())


def changes(zone, first, last, step=9 * 86_400):
    """Seconds at which another offset begins, those apart that last less than the step."""
    at, before = first, offset(zone, first)
    while at < last:
        after = offset(zone, at + step)
        if after != before:
            low, high = at, at + step
            while high - low > 1:
                middle = (low + high) // 2
                if offset(zone, middle) == before:
                    low = middle
                else:
                    high = middle
            yield high
        at, before = at + step, after


def zone_names(folder):
    names = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in ("posix", "right"))
        for name in sorted(files):
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                if file.read(4) == b"TZif" and name not in ("localtime", "posixrules"):
                    names.append(os.path.relpath(path, folder))
    return names


def window(zone, seconds):
    """The key of an hour as Specs/projections.md has it."""
    moment = local(zone, seconds)
    return moment.strftime("%Y-%m-%dT%H").zfill(13) + moment.isoformat()[19:]


def choose_instants(folder, names, count, generator):
    edges = set()
    for name in names:
        zone = read_zone(folder, name)
        edges.update(changes(zone, seconds_of(1840), seconds_of(2045)))
        edges.update(changes(zone, seconds_of(2098), seconds_of(2102)))
    edges = sorted(edges)
    chosen = {EARLIEST + 1, LATEST - 1, -1, 0, 2**31, -(2**31)}
    while len(chosen) < count:
        kind = generator.randrange(4)
        if kind == 0:
            chosen.add(generator.randrange(EARLIEST + 1, LATEST))
        elif kind == 1:
            chosen.add(generator.randrange(seconds_of(1880), seconds_of(2060)))
        else:
            chosen.add(generator.choice(edges) + generator.choice((-1, -1, 0, 0, 1, 1_800, -1_800, 3_599, -3_600)))
    return sorted(chosen)


def run(*command, text=None, **variables):
    done = subprocess.run(command, input=text, capture_output=True, text=True, env={**os.environ, **variables})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def compare(tidemark, place, folder, instants, names):
    """Yields what disagrees."""
    log = os.path.join(place, "log")
    for name in names:
        definition = os.path.join(place, "definition.json")
        with open(definition, "w") as file:
            json.dump({"name": "zones", "key": ["/n"], "fold": "count", "window": {"unit": "hour", "zone": name}}, file)
        found = {}
        for line in run(tidemark, "project", log, definition, "--format", "jsonl", TZDIR=folder).splitlines():
            number, hour = json.loads(json.loads(line)["key"])
            found[int(number)] = hour
        zone = read_zone(folder, name)
        for number, seconds in enumerate(instants):
            expected = window(zone, seconds)
            if found.get(number) != expected:
                yield f"{name} at {seconds}: {found.get(number)}, and Python says {expected}"


def compile_slim(place):
    """The system's release again, in files that leave what a rule says to the rule."""
    zic = shutil.which("zic", path=os.environ["PATH"] + ":/usr/sbin")
    source = os.path.join(SYSTEM, "tzdata.zi")
    if not zic or not os.path.exists(source):
        return None
    folder = os.path.join(place, "slim")
    run(zic, "-b", "slim", "-d", folder, source)
    shutil.copy(source, folder)
    return folder


def file_of_rule(rule):
    """A file of version 3 whose rule holds always."""
    block = b"TZif3" + bytes(15) + struct.pack(">6L", 0, 0, 0, 0, 1, 4) + bytes(6) + b"ABC\0"
    return block + block + f"\n{rule}\n".encode()


def write():
    """Files of a few notable zones, and what Python says of them."""
    target = os.path.join(ROOT, "Tests", "TidemarkTextTests", "Zones")
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    lines = []
    with tempfile.TemporaryDirectory() as place:
        folder = compile_slim(place) or sys.exit("zones.py: no zic, or no tzdata.zi")
        for name in NOTABLE:
            shutil.copy(os.path.join(folder, name), os.path.join(target, name.replace("/", "-") + ".tzif"))
            zone = read_zone(folder, name)
            edges = [*changes(zone, seconds_of(1860), seconds_of(2030)), *changes(zone, seconds_of(2098), seconds_of(2102))]
            instants = {EARLIEST, seconds_of(1800), seconds_of(2200), LATEST}
            for edge in edges[:6] + edges[6:-14:6] + edges[-14:]:
                instants.update((edge - 1, edge))
            lines += [f"{name.replace('/', '-')} {at} {offset(zone, at)}" for at in sorted(instants)]
    rules = []
    for rule in RULES + DAY_RULES:
        zone = ZoneInfo.from_file(io.BytesIO(file_of_rule(rule)), key=rule)
        os.environ["TZ"] = rule
        time.tzset()
        instants = {seconds_of(2000), seconds_of(2150)}
        for year in (2023, 2024, 2100):
            for edge in changes(zone, seconds_of(year), seconds_of(year + 1), 6 * 3_600):
                instants.update((edge - 1, edge, edge - 86_400, edge - 86_401, edge + 86_399, edge + 86_400))
        for at in sorted(instants):
            expected = time.localtime(at).tm_gmtoff
            if rule in RULES and expected != offset(zone, at):
                sys.exit(f"zones.py: at {at} Python and the C library disagree on {rule}")
            rules.append(f"{rule} {at} {expected}")
    for name, text in ("expected.txt", lines), ("rules.txt", rules):
        with open(os.path.join(target, name), "w") as file:
            file.write("\n".join(text) + "\n")
    print(f"{len(NOTABLE)} zones, {len(lines)} instants; {len(RULES + DAY_RULES)} rules, {len(rules)} instants")


def main():
    words = sys.argv[1:]
    if words == ["--write"]:
        return write()
    short = "--short" in words
    generator = random.Random(int(words[words.index("--seed") + 1]) if "--seed" in words else 1)
    tidemark = os.path.abspath(words[0])
    complaints, count, zones = [], 0, 0
    # In memory, where there is such a place: each projection saves a snapshot, and syncs it.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as place:
        folders = [folder for folder in (SYSTEM, compile_slim(place)) if folder]
        names = zone_names(folders[-1])
        if short:
            names = sorted({*NOTABLE, *generator.sample(names, 30)})
        instants = choose_instants(folders[-1], names, 1_500 if short else 6_000, generator)
        lines = (f'{{"n":{number},"t":"{datetime.isoformat(EPOCH + timedelta(seconds=at))}"}}\n' for number, at in enumerate(instants))
        log = os.path.join(place, "log")
        run(tidemark, "init", log)
        run(tidemark, "append", log, "--time-from", "/t", text="".join(lines))
        for folder in folders:
            complaints += compare(tidemark, place, folder, instants, names)
            count += len(names) * len(instants)
            zones += len(names)
    for complaint in complaints[:20]:
        print("  " + complaint)
    print(f"layer=zones zones={zones} instants={count} disagreed={len(complaints)}")
    return 1 if complaints or not count else 0


if __name__ == "__main__":
    sys.exit(main())
