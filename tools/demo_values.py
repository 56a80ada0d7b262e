"""What tools/demo shows of projections: values of the departures, of a year of station readings, and of a day on a site, each checked against an
independent computation here. The definitions are those of Specs/definitions."""

import csv
import json
import pathlib
import uuid
from collections import defaultdict
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from zoneinfo import ZoneInfo

DEFINITIONS = pathlib.Path(__file__).resolve().parent.parent / "Specs" / "definitions"
NEW_YORK = ZoneInfo("America/New_York")
EXACT = Context(prec=100, rounding=ROUND_HALF_EVEN)
EVENING, MORNING = "2013-07-04T22:00:00-04:00", "2013-07-05T07:00:00-04:00"


def key_of(*parts):
    return json.dumps(parts, separators=(",", ":"), ensure_ascii=False)


def plain(number):
    """A decimal as JSON readers expect it: no exponent, no zeros at the end."""
    text = format(number, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


class Values:
    """The values of one log, each asked for and compared."""

    def __init__(self, tool, expect):
        self.tool, self.expect = tool, expect

    def rows(self, command, name, *arguments, code=0):
        path = str(DEFINITIONS / f"{name}.json")
        return [json.loads(line) for line in self.tool.run(command, path, *arguments, "--format", "jsonl", code=code).splitlines()]

    def same(self, rows, wanted, what):
        found = {row["key"]: row["value"] for row in rows}
        self.expect(len(found) == len(rows), f"{what}: a key is there twice")
        if found != wanted:
            key = next(key for key in sorted(found.keys() | wanted.keys()) if found.get(key) != wanted.get(key))
            self.expect(False, f"{what}: {key} is {found.get(key)}, and {wanted.get(key)} was computed")
        return found

    def check(self, name, wanted, note, *moment):
        found = self.same(self.rows("as-of" if moment else "project", name, *moment), wanted, name)
        print(f"  {name:22} {len(found):7,} rows as computed: {note(found)}", flush=True)


def departures(tool, source, expect):
    """Departures per airport and hour, delays per carrier and local day, and where each aircraft was last seen."""
    hours, delays, seen, evening, morning = defaultdict(int), defaultdict(list), {}, {}, {}
    ends = [datetime.fromisoformat(moment) for moment in (EVENING, MORNING)]
    moments = {}

    def moment(text):
        """Of the same text again and again: the offset in it is New York's own."""
        if text not in moments:
            moments[text] = datetime.fromisoformat(text)
        return moments[text]

    with open(source, encoding="ascii") as lines:
        for line in lines:
            row = json.loads(line)
            if "actual" not in row:
                continue
            actual = row["actual"]
            hours[key_of(row["place"], actual[:13] + actual[-6:])] += 1
            delays[key_of(row["carrier"], row["scheduled"][:10])].append(row["delay_minutes"])
            aircraft = row.get("aircraft")
            if aircraft:
                at = moment(actual)
                for state, end in ((seen, None), (evening, ends[0]), (morning, ends[1])):
                    if (end is None or at <= end) and (aircraft not in state or state[aircraft][0] <= at):
                        state[aircraft] = (at, row["destination"])
    values = Values(tool, expect)

    def busiest(found):
        key = max(found, key=lambda key: int(found[key]))
        return f"{key} had the most, {found[key]}"

    values.check("departures-by-hour", {key: str(count) for key, count in hours.items()}, busiest)
    values.check("delay-by-day", {key: str(sum(all)) for key, all in delays.items()}, lambda found: (
        f"UA on 10 March, 23 hours: {found[key_of('UA', '2013-03-10')]} minutes; on 3 November, 25 hours: {found[key_of('UA', '2013-11-03')]}"))
    averages = {
        key: plain(EXACT.divide(Decimal(sum(all)), Decimal(len(all))).quantize(Decimal("0.001"), context=EXACT)) for key, all in delays.items()
    }
    values.check("average-delay-by-day", averages, lambda found: f"UA on 3 November: {found[key_of('UA', '2013-11-03')]} minutes")
    place = [{aircraft: destination for aircraft, (_, destination) in state.items()} for state in (seen, evening, morning)]
    values.check("last-seen", place[0], lambda found: f"N14228 on its way to {found['N14228']}")
    values.check("last-seen", place[1], lambda found: f"as of {EVENING}", EVENING)
    changed = {key: (place[1].get(key), place[2].get(key)) for key in place[2] if place[1].get(key) != place[2].get(key)}
    differences = values.rows("diff", "last-seen", EVENING, MORNING, code=1)
    expect({row["key"]: (row.get("before"), row.get("after")) for row in differences} == changed, "last-seen: the difference is another one")
    print(f"  {'last-seen':22} {len(changed):7,} rows differ the next morning, as computed", flush=True)


def readings(tool, table, expect):
    """Station readings: the latest temperature, and rain summed exactly, before and after one reading is amended."""
    latest, rain, lines, wettest = {}, defaultdict(Decimal), [], None
    with open(table, encoding="ascii", newline="") as file:
        for row in csv.DictReader(file):
            station, time = row["origin"], row["time_hour"]
            data = [f'"id":"{uuid.uuid5(uuid.NAMESPACE_OID, station + time)}"', f'"station":"{station}"', f'"time":"{time}"']
            data += [f'"{name}":{row[name]}' for name in ("temp", "humid", "precip", "pressure") if row[name] != "NA"]
            lines.append("{" + ",".join(data) + "}\n")
            if row["temp"] != "NA" and (station not in latest or latest[station][0] <= time):
                latest[station] = (time, row["temp"])
            day = datetime.fromisoformat(time.replace("Z", "+00:00")).astimezone(NEW_YORK).date().isoformat()
            amount = Decimal(row["precip"])
            rain[key_of(station, day)] += amount
            if wettest is None or amount > wettest[0]:
                wettest = (amount, station, time, day)
    tool.run("init")
    tool.run("append", "--type", "reading", "--id-from", "/id", "--subject-from", "/station", "--time-from", "/time", input="".join(lines))
    values = Values(tool, expect)
    values.check("latest-temperature", {station: temp for station, (_, temp) in latest.items()}, lambda found: ", ".join(
        f"{station} {found[station]} °F" for station in sorted(found)))
    amount, station, time, day = wettest
    wanted = {key: plain(total) for key, total in rain.items()}
    values.check("rain-by-day", wanted, lambda found: f"{station} on {day}: {found[key_of(station, day)]} inches, summed exactly")
    amendment = {
        "specversion": "1.0", "id": str(uuid.uuid5(uuid.NAMESPACE_OID, "amendment")), "source": "/office", "type": "reading", "subject": station,
        "time": "2014-01-15T09:00:00Z", "supersedes": str(uuid.uuid5(uuid.NAMESPACE_OID, station + time)), "data": {"time": time, "precip": 0.5},
    }
    tool.run("append", "--format", "cloudevents", input=json.dumps(amendment) + "\n")
    wanted[key_of(station, day)] = plain(rain[key_of(station, day)] - amount + Decimal("0.5"))
    values.check("rain-by-day", wanted, lambda found: (
        f"after the reading of {amount} at {time} was amended to 0.5, a year later: {found[key_of(station, day)]} on the same day"))


def site(tool, expect):
    """A day on a site: notices with versions, people who come and go, and a count that was dictated first."""
    draft = str(uuid.uuid5(uuid.NAMESPACE_OID, "draft"))
    events = [
        ("notice", None, None, {"item": "hot-work", "version": 3, "material": True}),
        ("asked", "ana", "hangar", {"item": "hot-work"}),
        ("asked", "bo", "hangar", {"item": "hot-work"}),
        ("asked", "cem", "yard", {"item": "hot-work"}),
        ("sign-in", "ana", "hangar", {}),
        ("sign-in", "cem", "yard", {}),
        ("acknowledged", "ana", "hangar", {"item": "hot-work", "version": 3}),
        ("acknowledged", "cem", "yard", {"item": "hot-work", "version": 4}),
        ("notice", None, None, {"item": "hot-work", "version": 4, "material": True}),
        ("notice", None, None, {"item": "hot-work", "version": 5, "material": False}),
        ("sign-out", "cem", "yard", {}),
        ("voice-draft", "ana", "shelf-7", {"said": "forty two boxes, no, forty three"}),
    ]
    lines = []
    for number, (type, actor, subject, data) in enumerate(events):
        event = {"specversion": "1.0", "id": draft if type == "voice-draft" else f"site-{number}", "source": "/site", "type": type, "data": data}
        event["time"] = f"2026-03-02T07:{number:02}:00Z"
        event |= {name: value for name, value in (("actor", actor), ("subject", subject)) if value}
        lines.append(json.dumps(event) + "\n")
    tool.run("init")
    tool.run("append", "--format", "cloudevents", input="".join(lines))
    values = Values(tool, expect)
    # Version 3 was acknowledged and 4 is material; 4 was acknowledged before it was known, and 5 is not material.
    status = {"ana": "re-acknowledge 5, acknowledged 3", "bo": "pending", "cem": "acknowledged 4"}
    values.check("notices", {key_of("hot-work", person): text for person, text in status.items()}, lambda found: (
        "; ".join(f"{person} {found[key_of('hot-work', person)]}" for person in sorted(status))))
    values.check("notices-by-place", {"hangar": "re-acknowledge 1, pending 1", "yard": "acknowledged 1"}, lambda found: "; ".join(f"{place}: {found[place]}" for place in sorted(found)))
    values.check("inside", {key_of("hangar", "ana"): "2026-03-02T07:04:00Z"}, lambda found: "ana is in the hangar, cem has left")
    said = values.rows("project", "counted")[0]["value"]
    interpreted = {
        "specversion": "1.0", "id": "interpreted", "source": "/site", "type": "count", "subject": "shelf-7", "time": "2026-03-02T07:20:00Z",
        "supersedes": draft, "data": {"boxes": 43},
    }
    tool.run("append", "--format", "cloudevents", input=json.dumps(interpreted) + "\n")
    values.check("counted", {"shelf-7": '{"boxes": 43}'}, lambda found: f"the draft {said} was superseded by {found['shelf-7']}")
