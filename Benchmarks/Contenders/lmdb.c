// LMDB: a table of events by sequence, as the native integers that it compares fastest, told that new ones go to the end; with `outbox` a
// second one from ids to sequences.
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

#include "contender.h"

// A range of addresses, not of memory or disk: the file grows with what is in it.
static const size_t mapByteCount = (size_t)64 << 30;

struct store {
  MDB_env *environment;
  MDB_dbi events, ids;
  bool hasIDs;
  size_t sequence;  // only within a transaction that writes, of which there is one at a time
};

struct writer {
  struct store *store;
};

static void check(int status, const char *what) {
  if (status != MDB_SUCCESS) contender_fail("lmdb: %s: %s (%d)", what, mdb_strerror(status), status);
}

static size_t lastSequence(MDB_txn *transaction, MDB_dbi table) {
  MDB_cursor *cursor;
  MDB_val key, value;
  size_t sequence = 0;
  check(mdb_cursor_open(transaction, table, &cursor), "cannot open a cursor");
  int status = mdb_cursor_get(cursor, &key, &value, MDB_LAST);
  if (status != MDB_NOTFOUND) {
    check(status, "cannot read the last event");
    memcpy(&sequence, key.mv_data, sizeof sequence);
  }
  mdb_cursor_close(cursor);
  return sequence;
}

struct store *store_open(const char *form, const char *directory) {
  struct store *store = contender_allocate(sizeof *store);
  store->hasIDs = strcmp(form, "outbox") == 0;
  if (!store->hasIDs && strcmp(form, "lean") != 0) contender_fail("lmdb: there is no form %s", form);
  check(mdb_env_create(&store->environment), "cannot make an environment");
  check(mdb_env_set_mapsize(store->environment, mapByteCount), "cannot set the size of the map");
  check(mdb_env_set_maxdbs(store->environment, 2), "cannot set the number of tables");
  check(mdb_env_open(store->environment, directory, 0, 0644), directory);
  MDB_txn *transaction;
  check(mdb_txn_begin(store->environment, NULL, 0, &transaction), "cannot begin");
  check(mdb_dbi_open(transaction, "events", MDB_INTEGERKEY | MDB_CREATE, &store->events), "cannot open a table");
  if (store->hasIDs) check(mdb_dbi_open(transaction, "ids", MDB_CREATE, &store->ids), "cannot open a table");
  store->sequence = lastSequence(transaction, store->events);
  check(mdb_txn_commit(transaction), "cannot commit");
  return store;
}

void store_close(struct store *store) {
  mdb_env_close(store->environment);
  free(store);
}

struct writer *writer_open(struct store *store) {
  struct writer *writer = contender_allocate(sizeof *writer);
  writer->store = store;
  return writer;
}

void writer_close(struct writer *writer) { free(writer); }

void writer_append(struct writer *writer, const struct benchmark_event *events, size_t count) {
  struct store *store = writer->store;
  MDB_txn *transaction;
  check(mdb_txn_begin(store->environment, NULL, 0, &transaction), "cannot begin");
  for (size_t index = 0; index < count; index++) {
    size_t sequence = ++store->sequence;
    MDB_val key = {sizeof sequence, &sequence}, value = {benchmark_event_packed_byte_count, NULL};
    check(mdb_put(transaction, store->events, &key, &value, MDB_APPEND | MDB_RESERVE), "cannot append");
    benchmark_event_pack(&events[index], value.mv_data);
    if (!store->hasIDs) continue;
    MDB_val id = {benchmark_event_id_byte_count, (void *)(uintptr_t)events[index].id};
    check(mdb_put(transaction, store->ids, &id, &key, MDB_NOOVERWRITE), "cannot add an id");
  }
  check(mdb_txn_commit(transaction), "cannot commit");
}

void store_begin_bulk(struct store *store) { check(mdb_env_set_flags(store->environment, MDB_NOSYNC, 1), "cannot stop syncing"); }

void store_end_bulk(struct store *store) {
  check(mdb_env_sync(store->environment, 1), "cannot sync");
  check(mdb_env_set_flags(store->environment, MDB_NOSYNC, 0), "cannot sync again");
}

void store_settle(struct store *store) { check(mdb_env_sync(store->environment, 1), "cannot sync"); }

static MDB_txn *beginReading(struct store *store) {
  MDB_txn *transaction;
  check(mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction), "cannot begin to read");
  return transaction;
}

bool store_replay(struct store *store, struct totals *totals) {
  MDB_txn *transaction = beginReading(store);
  MDB_cursor *cursor;
  MDB_val key, value;
  check(mdb_cursor_open(transaction, store->events, &cursor), "cannot open a cursor");
  int status;
  while ((status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == MDB_SUCCESS) {
    const unsigned char *bytes = value.mv_data;
    int64_t time;
    uint32_t length;
    memcpy(&time, bytes + 16, sizeof time);
    memcpy(&length, bytes + 44, sizeof length);
    totals->eventCount += 1;
    totals->dataByteCount += length;
    totals->timeSum += (uint64_t)time;
  }
  if (status != MDB_NOTFOUND) check(status, "cannot read on");
  mdb_cursor_close(cursor);
  mdb_txn_abort(transaction);
  return true;
}

static int find(MDB_txn *transaction, struct store *store, MDB_val *key, char *data) {
  MDB_val value;
  int status = mdb_get(transaction, store->events, key, &value);
  if (status == MDB_SUCCESS) memcpy(data, (const char *)value.mv_data + 48, benchmark_event_data_byte_count);
  else if (status != MDB_NOTFOUND) check(status, "cannot look up");
  return status == MDB_SUCCESS;
}

int store_find_id(struct store *store, const unsigned char id[16], char *data) {
  if (!store->hasIDs) return -1;
  MDB_txn *transaction = beginReading(store);
  MDB_val key = {benchmark_event_id_byte_count, (void *)(uintptr_t)id}, value;
  int status = mdb_get(transaction, store->ids, &key, &value), found = 0;
  if (status == MDB_SUCCESS) {
    // The value lies wherever its page has room for it.
    size_t sequence;
    memcpy(&sequence, value.mv_data, sizeof sequence);
    MDB_val number = {sizeof sequence, &sequence};
    found = find(transaction, store, &number, data);
  } else if (status != MDB_NOTFOUND) {
    check(status, "cannot look up");
  }
  mdb_txn_abort(transaction);
  return found;
}

int store_find_number(struct store *store, uint64_t number, char *data) {
  MDB_txn *transaction = beginReading(store);
  size_t sequence = number + 1;
  MDB_val key = {sizeof sequence, &sequence};
  int found = find(transaction, store, &key, data);
  mdb_txn_abort(transaction);
  return found;
}

bool store_range(struct store *store, int64_t from, int64_t to, struct totals *totals) {
  (void)store, (void)from, (void)to, (void)totals;
  return false;
}
