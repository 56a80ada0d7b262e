// Files without an engine. `raw` is the least that a durable append can cost: pwrite and fdatasync on space that was written in full
// before, round and round; it can't be read. `lines` is what is often done instead: lines of JSON at the end of a file that grows, with
// fdatasync.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contender.h"

enum { rawByteCount = 64 << 20, frameByteCount = 56, lineLimit = 512, zeroByteCount = 1 << 20, chunkByteCount = 256 << 10 };

struct store {
  int descriptor;
  bool isRaw, isBulk;
  uint64_t position;
  pthread_mutex_t lock;  // one commit at a time
};

struct writer {
  struct store *store;
  char *buffer;
  size_t capacity;
};

static void writeAll(struct store *store, const char *bytes, size_t byteCount) {
  while (byteCount > 0) {
    ssize_t written = pwrite(store->descriptor, bytes, byteCount, (off_t)store->position);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) contender_fail("cannot write: %s", strerror(errno));
    bytes += written;
    byteCount -= (size_t)written;
    store->position += (uint64_t)written;
  }
}

static void syncFile(struct store *store) {
  if (fdatasync(store->descriptor) != 0) contender_fail("cannot sync: %s", strerror(errno));
}

struct store *store_open(const char *form, const char *directory) {
  struct store *store = contender_allocate(sizeof *store);
  char path[4096];
  struct stat status;
  store->isRaw = strcmp(form, "raw") == 0;
  if (!store->isRaw && strcmp(form, "lines") != 0) contender_fail("plain: there is no form %s", form);
  pthread_mutex_init(&store->lock, NULL);
  snprintf(path, sizeof path, "%s/events", directory);
  store->descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (store->descriptor < 0 || fstat(store->descriptor, &status) != 0) contender_fail("cannot open %s: %s", path, strerror(errno));
  if (store->isRaw) {
    char *zeros = contender_allocate(zeroByteCount);
    while (store->position < rawByteCount) writeAll(store, zeros, zeroByteCount);
    free(zeros);
    store->position = 0;
  } else {
    store->position = (uint64_t)status.st_size;
  }
  if (fsync(store->descriptor) != 0) contender_fail("cannot sync %s: %s", path, strerror(errno));
  return store;
}

void store_close(struct store *store) {
  syncFile(store);
  close(store->descriptor);
  free(store);
}

struct writer *writer_open(struct store *store) {
  struct writer *writer = contender_allocate(sizeof *writer);
  writer->store = store;
  return writer;
}

void writer_close(struct writer *writer) {
  free(writer->buffer);
  free(writer);
}

static size_t makeLine(char *line, const struct benchmark_event *event) {
  static const char digits[] = "0123456789abcdef";
  char id[37];
  int at = 0;
  for (int index = 0; index < benchmark_event_id_byte_count; index++) {
    if (index == 4 || index == 6 || index == 8 || index == 10) id[at++] = '-';
    id[at++] = digits[event->id[index] >> 4];
    id[at++] = digits[event->id[index] & 15];
  }
  id[at] = 0;
  return (size_t)snprintf(
    line, lineLimit, "{\"time\":%" PRId64 ",\"recorded\":%" PRId64 ",\"id\":\"%s\",\"type\":\"%.*s\",\"subject\":\"%.*s\",\"data\":%.*s}\n",
    event->occurredAt, event->recordedAt, id, benchmark_event_type_byte_count, event->type, benchmark_event_subject_byte_count,
    event->subject, benchmark_event_data_byte_count, event->data);
}

void writer_append(struct writer *writer, const struct benchmark_event *events, size_t count) {
  struct store *store = writer->store;
  size_t wanted = frameByteCount + count * lineLimit, byteCount = store->isRaw ? frameByteCount : 0;
  if (wanted > writer->capacity) {
    free(writer->buffer);
    writer->buffer = contender_allocate(wanted);
    writer->capacity = wanted;
  }
  for (size_t index = 0; index < count; index++) {
    if (store->isRaw) {
      benchmark_event_pack(&events[index], (unsigned char *)writer->buffer + byteCount);
      byteCount += benchmark_event_packed_byte_count;
    } else {
      byteCount += makeLine(writer->buffer + byteCount, &events[index]);
    }
  }
  pthread_mutex_lock(&store->lock);
  if (store->isRaw && store->position + byteCount > rawByteCount) store->position = 0;
  writeAll(store, writer->buffer, byteCount);
  if (!store->isBulk) syncFile(store);
  pthread_mutex_unlock(&store->lock);
}

void store_begin_bulk(struct store *store) { store->isBulk = true; }

void store_end_bulk(struct store *store) {
  store->isBulk = false;
  syncFile(store);
}

void store_settle(struct store *store) { syncFile(store); }

/// Looks at one line: its time, which comes first, and its data, which comes last. Nobody parses JSON faster.
static void addLine(const char *line, size_t byteCount, struct totals *totals) {
  static const char start[] = "{\"time\":", before[] = ",\"data\":";
  const char *data = memmem(line, byteCount, before, sizeof before - 1);
  if (byteCount < sizeof start || memcmp(line, start, sizeof start - 1) != 0 || data == NULL) contender_fail("not a line of ours");
  totals->eventCount += 1;
  totals->timeSum += strtoull(line + sizeof start - 1, NULL, 10);
  totals->dataByteCount += (size_t)(line + byteCount - 1 - data) - (sizeof before - 1);
}

bool store_replay(struct store *store, struct totals *totals) {
  if (store->isRaw) return false;
  char *buffer = contender_allocate(2 * chunkByteCount);
  size_t kept = 0;
  off_t position = 0;
  ssize_t count;
  while ((count = pread(store->descriptor, buffer + kept, chunkByteCount, position)) > 0) {
    position += count;
    size_t end = kept + (size_t)count;
    char *line = buffer, *next;
    while ((next = memchr(line, '\n', (size_t)(buffer + end - line))) != NULL) {
      addLine(line, (size_t)(next - line), totals);
      line = next + 1;
    }
    kept = (size_t)(buffer + end - line);
    if (kept > chunkByteCount) contender_fail("not a line of ours");
    memmove(buffer, line, kept);
  }
  if (count < 0) contender_fail("cannot read: %s", strerror(errno));
  free(buffer);
  return true;
}

int store_find_id(struct store *store, const unsigned char id[16], char *data) {
  (void)store, (void)id, (void)data;
  return -1;
}

int store_find_number(struct store *store, uint64_t number, char *data) {
  (void)store, (void)number, (void)data;
  return -1;
}

bool store_range(struct store *store, int64_t from, int64_t to, struct totals *totals) {
  (void)store, (void)from, (void)to, (void)totals;
  return false;
}
