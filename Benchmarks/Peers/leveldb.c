// LevelDB with a synced write batch for each commit; keys as for RocksDB.
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "sequence.h"

// As RocksDB has it by default. LevelDB's own, 4 MiB, is for small devices.
static const size_t writeBufferByteCount = 64 << 20;

struct engine {
  leveldb_options_t *options;
  leveldb_readoptions_t *readOptions;
  leveldb_writeoptions_t *writeOptions;
  leveldb_t *database;
  leveldb_writebatch_t *batch;
  uint64_t sequence;
};

struct peer_description engine_description(void) {
  static char library[32];
  snprintf(library, sizeof library, "%d.%d", leveldb_major_version(), leveldb_minor_version());
  return (struct peer_description){"leveldb", "sync", "power", library};
}

static void check(const char *error, const char *what) {
  if (error != NULL) peer_fail("%s: %s", what, error);
}

static void checkIterator(leveldb_iterator_t *iterator) {
  char *error = NULL;
  leveldb_iter_get_error(iterator, &error);
  check(error, "cannot read on");
}

/// The sequence of the last event, or 0 if there is none: sequences start with 1.
static uint64_t lastSequence(struct engine *engine) {
  leveldb_iterator_t *iterator = leveldb_create_iterator(engine->database, engine->readOptions);
  leveldb_iter_seek_to_last(iterator);
  checkIterator(iterator);
  uint64_t sequence = 0;
  if (leveldb_iter_valid(iterator)) {
    size_t byteCount;
    const char *key = leveldb_iter_key(iterator, &byteCount);
    sequence = sequence_of_key(key, byteCount);
  }
  leveldb_iter_destroy(iterator);
  return sequence;
}

struct engine *engine_open(const char *directory) {
  struct engine *engine = calloc(1, sizeof *engine);
  if (engine == NULL) peer_fail("out of memory");
  engine->options = leveldb_options_create();
  leveldb_options_set_create_if_missing(engine->options, 1);
  leveldb_options_set_write_buffer_size(engine->options, writeBufferByteCount);
  engine->readOptions = leveldb_readoptions_create();
  leveldb_readoptions_set_verify_checksums(engine->readOptions, 1);
  engine->writeOptions = leveldb_writeoptions_create();
  leveldb_writeoptions_set_sync(engine->writeOptions, 1);
  engine->batch = leveldb_writebatch_create();
  char *error = NULL;
  engine->database = leveldb_open(engine->options, directory, &error);
  check(error, directory);
  engine->sequence = lastSequence(engine);
  return engine;
}

void engine_begin(struct engine *engine) { leveldb_writebatch_clear(engine->batch); }

void engine_append(struct engine *engine, const void *bytes, size_t byteCount) {
  char key[sequenceKeyByteCount];
  engine->sequence += 1;
  sequence_key(key, engine->sequence);
  leveldb_writebatch_put(engine->batch, key, sizeof key, bytes, byteCount);
}

void engine_commit(struct engine *engine) {
  char *error = NULL;
  leveldb_write(engine->database, engine->writeOptions, engine->batch, &error);
  check(error, "cannot commit");
}

void engine_scan(struct engine *engine, engine_visitor *visit, void *context) {
  leveldb_iterator_t *iterator = leveldb_create_iterator(engine->database, engine->readOptions);
  for (leveldb_iter_seek_to_first(iterator); leveldb_iter_valid(iterator); leveldb_iter_next(iterator)) {
    size_t byteCount;
    const char *bytes = leveldb_iter_value(iterator, &byteCount);
    visit(context, bytes, byteCount);
  }
  checkIterator(iterator);
  leveldb_iter_destroy(iterator);
}

void engine_close(struct engine *engine) {
  leveldb_writebatch_destroy(engine->batch);
  leveldb_close(engine->database);
  leveldb_writeoptions_destroy(engine->writeOptions);
  leveldb_readoptions_destroy(engine->readOptions);
  leveldb_options_destroy(engine->options);
  free(engine);
}
