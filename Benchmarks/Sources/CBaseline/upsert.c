// Rows written into SQLite by prepared upserts, so many to a transaction, and nothing else.
#include <sqlite3.h>
#include <stdio.h>

#include "CBaseline.h"

static const char schema[] =
  "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
  "CREATE TABLE delays(key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL, count INTEGER NOT NULL) WITHOUT ROWID;"
  "CREATE TABLE applied(name TEXT PRIMARY KEY, applied_offset INTEGER NOT NULL) WITHOUT ROWID;";
static const char upsert[] =
  "INSERT INTO delays(key, value, count) VALUES(?1, ?2, ?3) "
  "ON CONFLICT(key) DO UPDATE SET value = excluded.value, count = excluded.count";
static const char apply[] = "INSERT OR REPLACE INTO applied VALUES('delays', ?1)";

static int run(sqlite3_stmt *statement) {
  int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

int baseline_upsert(
  const char *path, const void *keys, int keyByteCount, const void *values, int valueByteCount, uint64_t count, uint64_t perTransaction) {
  sqlite3 *database = NULL;
  sqlite3_stmt *row = NULL, *offset = NULL;
  int code = sqlite3_open(path, &database);
  if (code == SQLITE_OK) code = sqlite3_exec(database, schema, NULL, NULL, NULL);
  if (code == SQLITE_OK) code = sqlite3_prepare_v3(database, upsert, -1, SQLITE_PREPARE_PERSISTENT, &row, NULL);
  if (code == SQLITE_OK) code = sqlite3_prepare_v3(database, apply, -1, SQLITE_PREPARE_PERSISTENT, &offset, NULL);
  for (uint64_t done = 0; code == SQLITE_OK && done < count;) {
    code = sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (uint64_t end = done + perTransaction < count ? done + perTransaction : count; code == SQLITE_OK && done < end; done++) {
      sqlite3_bind_text(row, 1, (const char *)keys + done * (uint64_t)keyByteCount, keyByteCount, SQLITE_STATIC);
      sqlite3_bind_text(row, 2, (const char *)values + done * (uint64_t)valueByteCount, valueByteCount, SQLITE_STATIC);
      sqlite3_bind_int64(row, 3, 1);
      code = run(row);
    }
    sqlite3_bind_int64(offset, 1, (sqlite3_int64)done);
    if (code == SQLITE_OK) code = run(offset);
    if (code == SQLITE_OK) code = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
  }
  sqlite3_finalize(row);
  sqlite3_finalize(offset);
  if (code != SQLITE_OK) fprintf(stderr, "upsert: %s\n", sqlite3_errmsg(database));
  int closed = sqlite3_close(database);
  return code != SQLITE_OK ? -code : -closed;
}
