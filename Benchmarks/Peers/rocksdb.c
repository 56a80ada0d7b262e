// RocksDB with a write batch for each commit. The key is the sequence with its highest byte first, so that the order of keys is that of
// the events.
#include <rocksdb/c.h>
#include <stdlib.h>

#include "peer.h"
#include "sequence.h"

enum { synced, nosync };

static const struct setting {
  const char *name, *claims;
  unsigned char isSynced;
} settings[] = {
  [synced] = {"sync", "power", 1},
  // The write-ahead log is written, not synced: the page cache outlives the process.
  [nosync] = {"nosync", "process", 0},
};
static const struct setting *const setting = &settings[PEER_SETTING];

enum {
  keptInfoLogCount = 4,
  syncStepByteCount = 1 << 20,
  readAheadByteCount = 2 << 20,
  writeBufferByteCount = 4 << 20,
  manifestReserveByteCount = 64 << 10,
};

struct engine {
  rocksdb_options_t *options;
  rocksdb_readoptions_t *readOptions;
  rocksdb_writeoptions_t *writeOptions;
  rocksdb_t *database;
  rocksdb_writebatch_t *batch;
  uint64_t sequence;
};

struct peer_description engine_description(void) {
  // The C interface does not tell the version of the library; the build does.
  return (struct peer_description){"rocksdb", setting->name, setting->claims, PEER_LIBRARY};
}

static void check(const char *error, const char *what) {
  if (error != NULL) peer_fail("%s: %s", what, error);
}

static void checkIterator(rocksdb_iterator_t *iterator) {
  char *error = NULL;
  rocksdb_iter_get_error(iterator, &error);
  check(error, "cannot read on");
}

/// The sequence of the last event, or 0 if there is none: sequences start with 1.
static uint64_t lastSequence(struct engine *engine) {
  rocksdb_iterator_t *iterator = rocksdb_create_iterator(engine->database, engine->readOptions);
  rocksdb_iter_seek_to_last(iterator);
  checkIterator(iterator);
  uint64_t sequence = 0;
  if (rocksdb_iter_valid(iterator)) {
    size_t byteCount;
    const char *key = rocksdb_iter_key(iterator, &byteCount);
    sequence = sequence_of_key(key, byteCount);
  }
  rocksdb_iter_destroy(iterator);
  return sequence;
}

struct engine *engine_open(const char *directory) {
  struct engine *engine = calloc(1, sizeof *engine);
  if (engine == NULL) peer_fail("out of memory");
  engine->options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(engine->options, 1);
  // Tables are handed to the device as they grow instead of all at once when they are finished.
  rocksdb_options_set_bytes_per_sync(engine->options, syncStepByteCount);
  // For a small device, as the other engines are: it reserves room ahead for a log of this size, by default 70 MB, and 4 MB for the manifest.
  rocksdb_options_set_write_buffer_size(engine->options, writeBufferByteCount);
  rocksdb_options_set_manifest_preallocation_size(engine->options, manifestReserveByteCount);
  // It keeps a thousand of its own message logs otherwise, one for each opening.
  rocksdb_options_set_keep_log_file_num(engine->options, keptInfoLogCount);
  engine->readOptions = rocksdb_readoptions_create();
  rocksdb_readoptions_set_verify_checksums(engine->readOptions, 1);
  rocksdb_readoptions_set_readahead_size(engine->readOptions, readAheadByteCount);
  engine->writeOptions = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(engine->writeOptions, setting->isSynced);
  engine->batch = rocksdb_writebatch_create();
  char *error = NULL;
  engine->database = rocksdb_open(engine->options, directory, &error);
  check(error, directory);
  engine->sequence = lastSequence(engine);
  return engine;
}

void engine_begin(struct engine *engine) { rocksdb_writebatch_clear(engine->batch); }

void engine_append(struct engine *engine, const void *bytes, size_t byteCount) {
  char key[sequenceKeyByteCount];
  engine->sequence += 1;
  sequence_key(key, engine->sequence);
  rocksdb_writebatch_put(engine->batch, key, sizeof key, bytes, byteCount);
}

void engine_commit(struct engine *engine) {
  char *error = NULL;
  rocksdb_write(engine->database, engine->writeOptions, engine->batch, &error);
  check(error, "cannot commit");
}

void engine_scan(struct engine *engine, engine_visitor *visit, void *context) {
  rocksdb_iterator_t *iterator = rocksdb_create_iterator(engine->database, engine->readOptions);
  for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) {
    size_t byteCount;
    const char *bytes = rocksdb_iter_value(iterator, &byteCount);
    visit(context, bytes, byteCount);
  }
  checkIterator(iterator);
  rocksdb_iter_destroy(iterator);
}

void engine_close(struct engine *engine) {
  rocksdb_writebatch_destroy(engine->batch);
  rocksdb_close(engine->database);
  rocksdb_writeoptions_destroy(engine->writeOptions);
  rocksdb_readoptions_destroy(engine->readOptions);
  rocksdb_options_destroy(engine->options);
  free(engine);
}
