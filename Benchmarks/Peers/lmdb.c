// LMDB with one table: the sequence, as the native integer that LMDB compares fastest, and the event. LMDB is told that new events go to
// the end.
#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

enum { synced, nosync };

static const struct setting {
  const char *name, *claims;
  unsigned int flags;
} settings[] = {
  [synced] = {"default", "power", 0},
  // Without MDB_WRITEMAP all writes go through the page cache, which outlives the process.
  [nosync] = {"nosync", "process", MDB_NOSYNC},
};
static const struct setting *const setting = &settings[PEER_SETTING];

// A range of addresses, not of memory or disk: the file grows with what is in it.
static const size_t mapByteCount = (size_t)64 << 30;

struct engine {
  MDB_env *environment;
  MDB_dbi table;
  MDB_txn *transaction;
  size_t sequence;
};

struct peer_description engine_description(void) {
  static char library[32];
  int major, minor, patch;
  mdb_version(&major, &minor, &patch);
  snprintf(library, sizeof library, "%d.%d.%d", major, minor, patch);
  return (struct peer_description){"lmdb", setting->name, setting->claims, library};
}

static void check(int status, const char *what) {
  if (status != MDB_SUCCESS) peer_fail("%s: %s (%d)", what, mdb_strerror(status), status);
}

/// The last key, or 0 if there is none: sequences start with 1.
static size_t lastSequence(MDB_txn *transaction, MDB_dbi table) {
  MDB_cursor *cursor;
  MDB_val key, value;
  check(mdb_cursor_open(transaction, table, &cursor), "cannot open a cursor");
  int status = mdb_cursor_get(cursor, &key, &value, MDB_LAST);
  if (status != MDB_NOTFOUND) check(status, "cannot read the last event");
  size_t sequence = 0;
  if (status == MDB_SUCCESS) {
    if (key.mv_size != sizeof sequence) peer_fail("a key of %zu bytes, not of %zu", key.mv_size, sizeof sequence);
    // The key lies wherever its page has room for it.
    memcpy(&sequence, key.mv_data, sizeof sequence);
  }
  mdb_cursor_close(cursor);
  return sequence;
}

struct engine *engine_open(const char *directory) {
  struct engine *engine = calloc(1, sizeof *engine);
  if (engine == NULL) peer_fail("out of memory");
  check(mdb_env_create(&engine->environment), "cannot make an environment");
  check(mdb_env_set_mapsize(engine->environment, mapByteCount), "cannot set the size of the map");
  check(mdb_env_open(engine->environment, directory, setting->flags, 0644), directory);
  int staleReaderCount;
  check(mdb_reader_check(engine->environment, &staleReaderCount), "cannot clear readers that are gone");
  MDB_txn *transaction;
  check(mdb_txn_begin(engine->environment, NULL, 0, &transaction), "cannot begin");
  check(mdb_dbi_open(transaction, NULL, MDB_INTEGERKEY | MDB_CREATE, &engine->table), "cannot open the table");
  engine->sequence = lastSequence(transaction, engine->table);
  check(mdb_txn_commit(transaction), "cannot commit");
  return engine;
}

void engine_begin(struct engine *engine) { check(mdb_txn_begin(engine->environment, NULL, 0, &engine->transaction), "cannot begin"); }

void engine_append(struct engine *engine, const void *bytes, size_t byteCount) {
  engine->sequence += 1;
  MDB_val key = {sizeof engine->sequence, &engine->sequence}, value = {byteCount, (void *)(uintptr_t)bytes};
  check(mdb_put(engine->transaction, engine->table, &key, &value, MDB_APPEND), "cannot append");
}

void engine_commit(struct engine *engine) {
  check(mdb_txn_commit(engine->transaction), "cannot commit");
  engine->transaction = NULL;
}

void engine_scan(struct engine *engine, engine_visitor *visit, void *context) {
  MDB_txn *transaction;
  MDB_cursor *cursor;
  MDB_val key, value;
  check(mdb_txn_begin(engine->environment, NULL, MDB_RDONLY, &transaction), "cannot begin to read");
  check(mdb_cursor_open(transaction, engine->table, &cursor), "cannot open a cursor");
  int status;
  while ((status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == MDB_SUCCESS) visit(context, value.mv_data, value.mv_size);
  if (status != MDB_NOTFOUND) check(status, "cannot read on");
  mdb_cursor_close(cursor);
  mdb_txn_abort(transaction);
}

void engine_close(struct engine *engine) {
  mdb_env_close(engine->environment);
  free(engine);
}
