// SQLite with an outbox as apps have it. In SQLite a primary key that is not an integer is a unique index beside the row number. So the
// sequence takes the place of the row number, which costs nothing, and the id has the same index as if it were declared the primary key.
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "content.h"
#include "peer.h"

enum { walFull, walNormal, deleteExtra };

static const struct setting {
  const char *name, *claims, *journalMode;
  int synchronous;
} settings[] = {
  [walFull] = {"wal-full", "power", "wal", 2},
  [walNormal] = {"wal-normal", "process", "wal", 1},
  [deleteExtra] = {"delete-extra", "power", "delete", 3},
};
static const struct setting *const setting = &settings[PEER_SETTING];

enum { idByteCount = 16, statusPending = 0, waitMilliseconds = 5000 };

static const char schema[] =
  "CREATE TABLE IF NOT EXISTS outbox("
  "  sequence INTEGER PRIMARY KEY,"
  "  id BLOB NOT NULL UNIQUE,"
  "  created_at INTEGER NOT NULL,"
  "  status INTEGER NOT NULL,"
  "  data BLOB NOT NULL);"
  "CREATE INDEX IF NOT EXISTS outbox_status ON outbox(status, created_at);";

struct engine {
  sqlite3 *database;
  sqlite3_stmt *begin, *insert, *commit;
  uint64_t randomState;
};

struct peer_description engine_description(void) {
  return (struct peer_description){"sqlite", setting->name, setting->claims, sqlite3_libversion()};
}

static _Noreturn void fail(struct engine *engine, const char *what) {
  peer_fail("%s: %s (%d)", what, sqlite3_errmsg(engine->database), sqlite3_extended_errcode(engine->database));
}

static void execute(struct engine *engine, const char *sql) {
  if (sqlite3_exec(engine->database, sql, NULL, NULL, NULL) != SQLITE_OK) fail(engine, sql);
}

static sqlite3_stmt *prepare(struct engine *engine, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v3(engine->database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) fail(engine, sql);
  return statement;
}

static void finalize(struct engine *engine, sqlite3_stmt *statement) {
  if (sqlite3_finalize(statement) != SQLITE_OK) fail(engine, "cannot end a statement");
}

/// Runs a statement that has no rows to its end and makes it ready to run again.
static void run(struct engine *engine, sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_DONE || sqlite3_reset(statement) != SQLITE_OK) fail(engine, sqlite3_sql(statement));
}

/// Runs a query and fails unless its first value is the one that is expected.
static void expect(struct engine *engine, const char *sql, const char *expected) {
  sqlite3_stmt *statement = prepare(engine, sql);
  if (sqlite3_step(statement) != SQLITE_ROW) fail(engine, sql);
  const char *value = (const char *)sqlite3_column_text(statement, 0);
  if (value == NULL || strcmp(value, expected) != 0) peer_fail("%s: %s instead of %s", sql, value == NULL ? "null" : value, expected);
  finalize(engine, statement);
}

static void set(struct engine *engine) {
  char sql[80], level[4];
  // Asked for before anything is written. SQLite answers with the mode that it then has, and may refuse.
  snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s", setting->journalMode);
  expect(engine, sql, setting->journalMode);
  snprintf(sql, sizeof sql, "PRAGMA synchronous = %d", setting->synchronous);
  execute(engine, sql);
  snprintf(level, sizeof level, "%d", setting->synchronous);
  expect(engine, "PRAGMA synchronous", level);
  // 64 MiB: ids are random, and so are the pages of their index.
  execute(engine, "PRAGMA cache_size = -65536");
}

struct engine *engine_open(const char *directory) {
  struct engine *engine = calloc(1, sizeof *engine);
  size_t byteCount = strlen(directory) + sizeof "/outbox.db";
  char *path = malloc(byteCount);
  if (engine == NULL || path == NULL) peer_fail("out of memory");
  snprintf(path, byteCount, "%s/outbox.db", directory);
  if (sqlite3_open_v2(path, &engine->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK) fail(engine, path);
  free(path);
  if (sqlite3_busy_timeout(engine->database, waitMilliseconds) != SQLITE_OK) fail(engine, "cannot set the time to wait");
  if (getentropy(&engine->randomState, sizeof engine->randomState) != 0) peer_fail("the system has no random numbers");
  set(engine);
  execute(engine, schema);
  engine->begin = prepare(engine, "BEGIN IMMEDIATE");
  engine->insert = prepare(engine, "INSERT INTO outbox(id, created_at, status, data) VALUES (?, ?, ?, ?)");
  engine->commit = prepare(engine, "COMMIT");
  return engine;
}

void engine_begin(struct engine *engine) { run(engine, engine->begin); }

/// A random UUID (version 4).
static void makeID(struct engine *engine, unsigned char id[idByteCount]) {
  uint64_t words[2] = {content_random(&engine->randomState), content_random(&engine->randomState)};
  memcpy(id, words, idByteCount);
  id[6] = (unsigned char)((id[6] & 0x0f) | 0x40);
  id[8] = (unsigned char)((id[8] & 0x3f) | 0x80);
}

void engine_append(struct engine *engine, const void *bytes, size_t byteCount) {
  unsigned char id[idByteCount];
  struct timespec now;
  makeID(engine, id);
  clock_gettime(CLOCK_REALTIME, &now);
  sqlite3_stmt *insert = engine->insert;
  // The bytes stay where they are until the statement has run.
  if (
    sqlite3_bind_blob(insert, 1, id, idByteCount, SQLITE_STATIC) != SQLITE_OK ||
    sqlite3_bind_int64(insert, 2, (sqlite3_int64)now.tv_sec * 1000 + now.tv_nsec / 1000000) != SQLITE_OK ||
    sqlite3_bind_int(insert, 3, statusPending) != SQLITE_OK ||
    sqlite3_bind_blob64(insert, 4, bytes, byteCount, SQLITE_STATIC) != SQLITE_OK) {
    fail(engine, "cannot bind an event");
  }
  run(engine, insert);
}

void engine_commit(struct engine *engine) { run(engine, engine->commit); }

void engine_scan(struct engine *engine, engine_visitor *visit, void *context) {
  sqlite3_stmt *statement = prepare(engine, "SELECT data FROM outbox ORDER BY sequence");
  int status;
  while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
    const void *bytes = sqlite3_column_blob(statement, 0);
    visit(context, bytes, (size_t)sqlite3_column_bytes(statement, 0));
  }
  if (status != SQLITE_DONE) fail(engine, "cannot read on");
  finalize(engine, statement);
  // The scan saw the table alone: this looks at both indexes as well.
  expect(engine, "PRAGMA integrity_check(1)", "ok");
}

void engine_close(struct engine *engine) {
  finalize(engine, engine->begin);
  finalize(engine, engine->insert);
  finalize(engine, engine->commit);
  if (sqlite3_close(engine->database) != SQLITE_OK) fail(engine, "cannot close");
  free(engine);
}
