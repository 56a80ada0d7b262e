"""A year of departures, as lines for `tidemark-benchmark` and as an outbox table in SQLite, the usual way to keep events on a device.

    python3 Benchmarks/outbox.py FLIGHTS_CSV_ZIP LINES DATABASE

Writes LINES (id, type, subject, time in nanoseconds since 1970, data, divided by tabs) and DATABASE, and prints the database's size
in bytes after the last insert, and after VACUUM.
"""

import json
import pathlib
import sqlite3
import sys
import uuid
from datetime import datetime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import departures  # noqa: E402

# Fixed, so that figures can be compared from one version to the next.
SCHEMA = """
CREATE TABLE outbox(id BLOB PRIMARY KEY, type TEXT, subject TEXT, time INTEGER, data BLOB, status INTEGER, created_at INTEGER);
CREATE INDEX outbox_status ON outbox(status, created_at);
"""
PENDING = 0
BATCH = 1000


def events(zip_path):
    """Yields (id, type, subject, time in nanoseconds, data) as `tools/demo` appends them."""
    for row_id, line in departures.departures(zip_path):
        line = line.rstrip("\n")
        fields = json.loads(line)
        seconds = int(datetime.fromisoformat(fields["time"]).timestamp())
        yield row_id, "scan", fields.get("aircraft"), seconds * 1_000_000_000, line


def byte_count(database):
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return database.execute("PRAGMA page_count").fetchone()[0] * database.execute("PRAGMA page_size").fetchone()[0]


def main(zip_path, lines_path, database_path):
    pathlib.Path(database_path).unlink(missing_ok=True)
    database = sqlite3.connect(database_path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.executescript(SCHEMA)
    with open(lines_path, "w", encoding="ascii", newline="") as lines:
        for number, (row_id, kind, subject, time, data) in enumerate(events(zip_path)):
            lines.write(f"{row_id}\t{kind}\t{subject or ''}\t{time}\t{data}\n")
            if number % BATCH == 0:
                database.execute("COMMIT" if database.in_transaction else "SELECT 1")
                database.execute("BEGIN")
            # A millisecond apart: a device captures its events one after another.
            row = (uuid.UUID(row_id).bytes, kind, subject, time, data.encode(), PENDING, 1_700_000_000_000 + number)
            database.execute("INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    database.execute("COMMIT")
    inserted = byte_count(database)
    database.execute("VACUUM")
    print(inserted, byte_count(database))
    database.close()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: outbox.py FLIGHTS_CSV_ZIP LINES DATABASE")
    main(*sys.argv[1:])
