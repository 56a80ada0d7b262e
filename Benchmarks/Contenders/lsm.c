// RocksDB and LevelDB, whose C interfaces differ in little but their prefix: `PEER_SETTING` 1 is RocksDB, 0 is LevelDB. A write batch for
// each commit, which is synced. Keys are `e` and the sequence, highest byte first, and with `outbox` also `i` and the id, for the sequence.
//
// `outbox` and `lean` are set as their experts would for this work: a Bloom filter of 10 bits, a block cache of 64 MiB, LZ4 in RocksDB,
// write buffers of 64 MiB. RocksDB can write over its old logs, which would save it a sync of metadata, but does so only with a
// mode of recovery that passes over damage: that is no honest setting. `default` is `outbox` with nothing set.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "contender.h"

#if PEER_SETTING
#include <rocksdb/c.h>
#define LSM(name) rocksdb_##name
static const char *const engine = "rocksdb";
#else
#include <leveldb/c.h>
#define LSM(name) leveldb_##name
static const char *const engine = "leveldb";
#endif

enum {
  writeBufferByteCount = 64 << 20,
  cacheByteCount = 64 << 20,
  filterBits = 10,
  readAheadByteCount = 2 << 20,
  infoLogCount = 4,
  sequenceByteCount = 8,
  eventKeyByteCount = 1 + sequenceByteCount,
  idKeyByteCount = 1 + benchmark_event_id_byte_count,
};

struct store {
  LSM(t) * database;
  LSM(writeoptions_t) * writeOptions, *bulkOptions;
  LSM(readoptions_t) * readOptions, *scanOptions;
  bool hasIDs;
  _Atomic bool isBulk;
  _Atomic uint64_t sequence;
};

struct writer {
  struct store *store;
  LSM(writebatch_t) * batch;
};

static void check(const char *error, const char *what) {
  if (error != NULL) contender_fail("%s: %s: %s", engine, what, error);
}

static void eventKey(char key[eventKeyByteCount], uint64_t sequence) {
  key[0] = 'e';
  for (int index = 0; index < sequenceByteCount; index++) key[1 + index] = (char)(sequence >> 8 * (sequenceByteCount - 1 - index));
}

static void idKey(char key[idKeyByteCount], const unsigned char *id) {
  key[0] = 'i';
  memcpy(key + 1, id, benchmark_event_id_byte_count);
}

static LSM(options_t) * makeOptions(bool isTuned) {
  LSM(options_t) *options = LSM(options_create)();
  LSM(options_set_create_if_missing)(options, 1);
  if (!isTuned) return options;
  LSM(options_set_write_buffer_size)(options, writeBufferByteCount);
#if PEER_SETTING
  rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(filterBits));
  rocksdb_block_based_options_set_block_cache(table, rocksdb_cache_create_lru(cacheByteCount));
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_options_set_compression(options, rocksdb_lz4_compression);
  rocksdb_options_set_bytes_per_sync(options, 1 << 20);
  rocksdb_options_set_keep_log_file_num(options, infoLogCount);
#else
  leveldb_options_set_filter_policy(options, leveldb_filterpolicy_create_bloom(filterBits));
  leveldb_options_set_cache(options, leveldb_cache_create_lru(cacheByteCount));
#endif
  return options;
}

static LSM(iterator_t) * scan(struct store *store) { return LSM(create_iterator)(store->database, store->scanOptions); }

static void endScan(LSM(iterator_t) * iterator) {
  char *error = NULL;
  LSM(iter_get_error)(iterator, &error);
  check(error, "cannot read on");
  LSM(iter_destroy)(iterator);
}

/// The sequence of the last event, or 0: sequences start with 1. The first key that no event has is `f`.
static uint64_t lastSequence(struct store *store) {
  LSM(iterator_t) *iterator = scan(store);
  uint64_t sequence = 0;
  LSM(iter_seek)(iterator, "f", 1);
  if (LSM(iter_valid)(iterator)) LSM(iter_prev)(iterator);
  else LSM(iter_seek_to_last)(iterator);
  if (LSM(iter_valid)(iterator)) {
    size_t byteCount;
    const char *key = LSM(iter_key)(iterator, &byteCount);
    for (int index = 1; byteCount == eventKeyByteCount && index < eventKeyByteCount; index++) {
      sequence = sequence << 8 | (unsigned char)key[index];
    }
  }
  endScan(iterator);
  return sequence;
}

struct store *store_open(const char *form, const char *directory) {
  struct store *store = contender_allocate(sizeof *store);
  store->hasIDs = strcmp(form, "lean") != 0;
  bool isDefault = strcmp(form, "default") == 0;
  if (store->hasIDs && !isDefault && strcmp(form, "outbox") != 0) contender_fail("%s: there is no form %s", engine, form);
  store->writeOptions = LSM(writeoptions_create)();
  LSM(writeoptions_set_sync)(store->writeOptions, 1);
  store->bulkOptions = LSM(writeoptions_create)();
  store->readOptions = LSM(readoptions_create)();
  LSM(readoptions_set_verify_checksums)(store->readOptions, 1);
  store->scanOptions = LSM(readoptions_create)();
  LSM(readoptions_set_verify_checksums)(store->scanOptions, 1);
  LSM(readoptions_set_fill_cache)(store->scanOptions, 0);
#if PEER_SETTING
  rocksdb_readoptions_set_readahead_size(store->scanOptions, readAheadByteCount);
#endif
  char *error = NULL;
  store->database = LSM(open)(makeOptions(!isDefault), directory, &error);
  check(error, directory);
  store->sequence = lastSequence(store);
  return store;
}

void store_close(struct store *store) { LSM(close)(store->database); }

struct writer *writer_open(struct store *store) {
  struct writer *writer = contender_allocate(sizeof *writer);
  writer->store = store;
  writer->batch = LSM(writebatch_create)();
  return writer;
}

void writer_close(struct writer *writer) {
  LSM(writebatch_destroy)(writer->batch);
  free(writer);
}

void writer_append(struct writer *writer, const struct benchmark_event *events, size_t count) {
  struct store *store = writer->store;
  char key[eventKeyByteCount], id[idKeyByteCount], *error = NULL;
  unsigned char bytes[benchmark_event_packed_byte_count];
  uint64_t sequence = atomic_fetch_add(&store->sequence, count);
  LSM(writebatch_clear)(writer->batch);
  for (size_t index = 0; index < count; index++) {
    eventKey(key, ++sequence);
    benchmark_event_pack(&events[index], bytes);
    LSM(writebatch_put)(writer->batch, key, sizeof key, (const char *)bytes, sizeof bytes);
    if (!store->hasIDs) continue;
    idKey(id, events[index].id);
    LSM(writebatch_put)(writer->batch, id, sizeof id, key + 1, sequenceByteCount);
  }
  LSM(write)(store->database, store->isBulk ? store->bulkOptions : store->writeOptions, writer->batch, &error);
  check(error, "cannot commit");
}

void store_begin_bulk(struct store *store) { store->isBulk = true; }

void store_end_bulk(struct store *store) {
  char *error = NULL;
  store->isBulk = false;
#if PEER_SETTING
  rocksdb_flush_wal(store->database, 1, &error);
#else
  // A synced write syncs all before it. Nobody reads this key.
  leveldb_put(store->database, store->writeOptions, "z", 1, "", 0, &error);
#endif
  check(error, "cannot sync");
}

void store_settle(struct store *store) {
#if PEER_SETTING
  char *error = NULL;
  rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
  rocksdb_flush(store->database, options, &error);
  rocksdb_flushoptions_destroy(options);
  check(error, "cannot flush");
#endif
  LSM(compact_range)(store->database, NULL, 0, NULL, 0);
}

bool store_replay(struct store *store, struct totals *totals) {
  LSM(iterator_t) *iterator = scan(store);
  for (LSM(iter_seek)(iterator, "e", 1); LSM(iter_valid)(iterator); LSM(iter_next)(iterator)) {
    size_t byteCount;
    if (LSM(iter_key)(iterator, &byteCount)[0] != 'e') break;
    const char *bytes = LSM(iter_value)(iterator, &byteCount);
    int64_t time;
    uint32_t length;
    memcpy(&time, bytes + 16, sizeof time);
    memcpy(&length, bytes + 44, sizeof length);
    totals->eventCount += 1;
    totals->dataByteCount += length;
    totals->timeSum += (uint64_t)time;
  }
  endScan(iterator);
  return true;
}

/// Gets a value; null if there is none.
static char *get(struct store *store, const char *key, size_t keyByteCount) {
  char *error = NULL;
  size_t byteCount;
  char *value = LSM(get)(store->database, store->readOptions, key, keyByteCount, &byteCount, &error);
  check(error, "cannot look up");
  return value;
}

static int findKey(struct store *store, const char key[eventKeyByteCount], char *data) {
  char *value = get(store, key, eventKeyByteCount);
  if (value == NULL) return 0;
  memcpy(data, value + 48, benchmark_event_data_byte_count);
  LSM(free)(value);
  return 1;
}

int store_find_id(struct store *store, const unsigned char id[16], char *data) {
  char key[idKeyByteCount], event[eventKeyByteCount] = {'e'};
  if (!store->hasIDs) return -1;
  idKey(key, id);
  char *sequence = get(store, key, sizeof key);
  if (sequence == NULL) return 0;
  memcpy(event + 1, sequence, sequenceByteCount);
  LSM(free)(sequence);
  return findKey(store, event, data);
}

int store_find_number(struct store *store, uint64_t number, char *data) {
  char key[eventKeyByteCount];
  eventKey(key, number + 1);
  return findKey(store, key, data);
}

bool store_range(struct store *store, int64_t from, int64_t to, struct totals *totals) {
  (void)store, (void)from, (void)to, (void)totals;
  return false;
}
