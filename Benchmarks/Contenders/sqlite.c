// SQLite in two layouts. `outbox` is the table that apps keep: a UUID as its primary key, and an index of status and time for the sender.
// `lean` is the least that SQLite can do: a row number and the event in one blob. In WAL mode, synchronous FULL syncs each commit and
// NORMAL leaves that to the next checkpoint.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contender.h"

// Cache: 64 MiB, for ids are random and so are the pages of their index.
enum { statusPending = 0, cacheKibibytes = 65536, mapByteCount = 1 << 30 };

struct store {
  char *path;
  bool isLean, isFull;
  sqlite3 *database;  // for reading, and for what is set once
  sqlite3_stmt *byID, *byNumber;
  struct writer *bulkWriter;
};

struct writer {
  struct store *store;
  sqlite3 *database;
  sqlite3_stmt *begin, *insert, *commit;
};

static _Noreturn void fail(sqlite3 *database, const char *what) {
  contender_fail("%s: %s (%d)", what, sqlite3_errmsg(database), sqlite3_extended_errcode(database));
}

static void execute(sqlite3 *database, const char *sql) {
  if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) fail(database, sql);
}

static sqlite3_stmt *prepare(sqlite3 *database, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) fail(database, sql);
  return statement;
}

/// Runs a statement without rows. One that gave up waiting when the time was up has not been carried out.
static void run(sqlite3 *database, sqlite3_stmt *statement) {
  int status = sqlite3_step(statement);
  if (status == SQLITE_BUSY && contender_is_over) {
    sqlite3_reset(statement);
  } else if (status != SQLITE_DONE || sqlite3_reset(statement) != SQLITE_OK) {
    fail(database, sqlite3_sql(statement));
  }
}

/// Waits for another writer as long as SQLite's own handler does each time, without its limit.
static int waitForWriter(void *context, int count) {
  static const int milliseconds[] = {1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100};
  enum { last = sizeof milliseconds / sizeof milliseconds[0] - 1 };
  (void)context;
  if (contender_is_over) return 0;
  sqlite3_sleep(milliseconds[count < last ? count : last]);
  return 1;
}

static sqlite3 *connect(struct store *store) {
  sqlite3 *database;
  char sql[80];
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(store->path, &database, flags, NULL) != SQLITE_OK) fail(database, store->path);
  if (sqlite3_busy_handler(database, waitForWriter, NULL) != SQLITE_OK) fail(database, "cannot set how to wait");
  execute(database, "PRAGMA journal_mode = WAL");
  execute(database, store->isFull ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  snprintf(sql, sizeof sql, "PRAGMA cache_size = -%d", cacheKibibytes);
  execute(database, sql);
  return database;
}

struct store *store_open(const char *form, const char *directory) {
  static const char *const forms[] = {"outbox-full", "outbox-normal", "lean-full", "lean-normal"};
  int index = 0;
  while (index < 4 && strcmp(form, forms[index]) != 0) index++;
  if (index == 4) contender_fail("sqlite: there is no form %s", form);
  struct store *store = contender_allocate(sizeof *store);
  store->isLean = index >= 2;
  store->isFull = index % 2 == 0;
  size_t byteCount = strlen(directory) + sizeof "/events.db";
  store->path = contender_allocate(byteCount);
  snprintf(store->path, byteCount, "%s/events.db", directory);
  store->database = connect(store);
  // Only readers gain from a map of the file.
  char sql[80];
  snprintf(sql, sizeof sql, "PRAGMA mmap_size = %d", mapByteCount);
  execute(store->database, sql);
  if (store->isLean) {
    execute(store->database, "CREATE TABLE IF NOT EXISTS event(sequence INTEGER PRIMARY KEY, event BLOB NOT NULL)");
    store->byNumber = prepare(store->database, "SELECT event FROM event WHERE sequence = ?");
  } else {
    execute(
      store->database,
      "CREATE TABLE IF NOT EXISTS outbox(id BLOB PRIMARY KEY NOT NULL, type TEXT NOT NULL, subject TEXT, occurred_at INTEGER NOT NULL,"
      " created_at INTEGER NOT NULL, status INTEGER NOT NULL, data BLOB NOT NULL);"
      "CREATE INDEX IF NOT EXISTS outbox_status ON outbox(status, created_at)");
    store->byID = prepare(store->database, "SELECT data FROM outbox WHERE id = ?");
    store->byNumber = prepare(store->database, "SELECT data FROM outbox WHERE rowid = ?");
  }
  return store;
}

void store_close(struct store *store) {
  sqlite3_finalize(store->byID);
  sqlite3_finalize(store->byNumber);
  if (sqlite3_close(store->database) != SQLITE_OK) fail(store->database, "cannot close");
  free(store->path);
  free(store);
}

struct writer *writer_open(struct store *store) {
  struct writer *writer = contender_allocate(sizeof *writer);
  writer->store = store;
  writer->database = connect(store);
  writer->begin = prepare(writer->database, "BEGIN IMMEDIATE");
  writer->commit = prepare(writer->database, "COMMIT");
  writer->insert = prepare(
    writer->database, store->isLean ? "INSERT INTO event(event) VALUES (?)" : "INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?)");
  if (store->bulkWriter == NULL) store->bulkWriter = writer;
  return writer;
}

void writer_close(struct writer *writer) {
  sqlite3_finalize(writer->begin);
  sqlite3_finalize(writer->insert);
  sqlite3_finalize(writer->commit);
  if (sqlite3_close(writer->database) != SQLITE_OK) fail(writer->database, "cannot close");
  free(writer);
}

static void insertLean(struct writer *writer, const struct benchmark_event *event) {
  unsigned char bytes[benchmark_event_packed_byte_count];
  benchmark_event_pack(event, bytes);
  if (sqlite3_bind_blob(writer->insert, 1, bytes, sizeof bytes, SQLITE_STATIC) != SQLITE_OK) fail(writer->database, "cannot bind");
  run(writer->database, writer->insert);
}

static void insertRow(struct writer *writer, const struct benchmark_event *event) {
  sqlite3_stmt *insert = writer->insert;
  if (
    sqlite3_bind_blob(insert, 1, event->id, sizeof event->id, SQLITE_STATIC) != SQLITE_OK ||
    sqlite3_bind_text(insert, 2, event->type, sizeof event->type, SQLITE_STATIC) != SQLITE_OK ||
    sqlite3_bind_text(insert, 3, event->subject, sizeof event->subject, SQLITE_STATIC) != SQLITE_OK ||
    sqlite3_bind_int64(insert, 4, event->occurredAt) != SQLITE_OK ||
    sqlite3_bind_int64(insert, 5, event->recordedAt) != SQLITE_OK || sqlite3_bind_int(insert, 6, statusPending) != SQLITE_OK ||
    sqlite3_bind_blob(insert, 7, event->data, benchmark_event_data_byte_count, SQLITE_STATIC) != SQLITE_OK) {
    fail(writer->database, "cannot bind");
  }
  run(writer->database, insert);
}

void writer_append(struct writer *writer, const struct benchmark_event *events, size_t count) {
  // A statement alone is a transaction of its own: one step less for one event.
  if (count > 1) run(writer->database, writer->begin);
  for (size_t index = 0; index < count; index++) {
    if (writer->store->isLean) insertLean(writer, &events[index]);
    else insertRow(writer, &events[index]);
  }
  if (count > 1) run(writer->database, writer->commit);
}

void store_begin_bulk(struct store *store) { execute(store->bulkWriter->database, "PRAGMA synchronous = NORMAL"); }

void store_end_bulk(struct store *store) {
  // The log keeps its size: what is written over later need not grow it.
  execute(store->bulkWriter->database, "PRAGMA wal_checkpoint(RESTART)");
  if (store->isFull) execute(store->bulkWriter->database, "PRAGMA synchronous = FULL");
}

void store_settle(struct store *store) { execute(store->database, "PRAGMA wal_checkpoint(TRUNCATE)"); }

/// Goes through the rows of a query, of which the first column is the data or the whole event, and the second the time.
static void walk(struct store *store, sqlite3_stmt *statement, struct totals *totals) {
  int status;
  while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
    totals->eventCount += 1;
    int64_t time;
    if (store->isLean) {
      const unsigned char *bytes = sqlite3_column_blob(statement, 0);
      uint32_t length;
      memcpy(&time, bytes + 16, sizeof time);
      memcpy(&length, bytes + 44, sizeof length);
      totals->dataByteCount += length;
    } else {
      totals->dataByteCount += (uint64_t)sqlite3_column_bytes(statement, 0);
      time = sqlite3_column_int64(statement, 1);
    }
    totals->timeSum += (uint64_t)time;
  }
  if (status != SQLITE_DONE) fail(store->database, "cannot read on");
  sqlite3_finalize(statement);
}

bool store_replay(struct store *store, struct totals *totals) {
  const char *sql = store->isLean ? "SELECT event FROM event ORDER BY sequence" : "SELECT data, occurred_at FROM outbox ORDER BY rowid";
  walk(store, prepare(store->database, sql), totals);
  return true;
}

static int find(sqlite3_stmt *statement, struct store *store, char *data) {
  int status = sqlite3_step(statement);
  if (status == SQLITE_ROW) {
    const char *bytes = sqlite3_column_blob(statement, 0);
    memcpy(data, store->isLean ? bytes + 48 : bytes, benchmark_event_data_byte_count);
  } else if (status != SQLITE_DONE) {
    fail(store->database, "cannot look up");
  }
  sqlite3_reset(statement);
  return status == SQLITE_ROW;
}

int store_find_id(struct store *store, const unsigned char id[16], char *data) {
  if (store->isLean) return -1;
  sqlite3_bind_blob(store->byID, 1, id, benchmark_event_id_byte_count, SQLITE_STATIC);
  return find(store->byID, store, data);
}

int store_find_number(struct store *store, uint64_t number, char *data) {
  sqlite3_bind_int64(store->byNumber, 1, (sqlite3_int64)number + 1);
  return find(store->byNumber, store, data);
}

bool store_range(struct store *store, int64_t from, int64_t to, struct totals *totals) {
  if (store->isLean) return false;
  sqlite3_stmt *statement =
    prepare(store->database, "SELECT data, occurred_at FROM outbox WHERE status = 0 AND created_at BETWEEN ? AND ?");
  sqlite3_bind_int64(statement, 1, from);
  sqlite3_bind_int64(statement, 2, to);
  walk(store, statement, totals);
  return true;
}
