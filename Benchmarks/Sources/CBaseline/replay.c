// Replay of a log as Specs/format.md describes it, without the engine.
#define _GNU_SOURCE
#include "CBaseline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

enum {
  headerByteCount = 4096,
  footerByteCount = 512,
  frameFieldByteCount = 56,
  recordFieldByteCount = 48,
  chunkByteCount = 256 << 10,
  frameLimit = 1 << 27,
};

struct reader {
  int descriptor;
  unsigned char *buffer;  // bytes [start, end) are read and not yet used
  size_t capacity, start, end;
  uint64_t position;  // in the file, of buffer[end]
  uint64_t fileEnd;   // of the frames
  unsigned char *raw;
  size_t rawCapacity;
  baseline_visit *visit;        // called with each user event's data, unless null
  baseline_visit *visitRecord;  // called with each record, unless null
  void *context;
};

static uint16_t u16(const unsigned char *at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static uint32_t u32(const unsigned char *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static uint64_t u64(const unsigned char *at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static int grow(unsigned char **buffer, size_t *capacity, size_t byteCount) {
  if (byteCount <= *capacity) return 0;
  unsigned char *larger = realloc(*buffer, byteCount);
  if (larger == NULL) return -ENOMEM;
  *buffer = larger;
  *capacity = byteCount;
  return 0;
}

// Makes sure that `byteCount` bytes from buffer[start] on are read, a chunk at a time. Returns 1 if so, 0 at the end of the frames.
static int fill(struct reader *reader, size_t byteCount) {
  while (reader->end - reader->start < byteCount) {
    if (reader->position >= reader->fileEnd) return 0;
    if (reader->end + chunkByteCount > reader->capacity) {
      memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
      reader->end -= reader->start;
      reader->start = 0;
      int status = grow(&reader->buffer, &reader->capacity, reader->end + 3 * chunkByteCount);
      if (status != 0) return status;
    }
    uint64_t rest = reader->fileEnd - reader->position;
    size_t wanted = rest < chunkByteCount ? rest : chunkByteCount;
    ssize_t count = pread(reader->descriptor, reader->buffer + reader->end, wanted, (off_t)reader->position);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    if (count == 0) return 0;
    reader->end += (size_t)count;
    reader->position += (uint64_t)count;
  }
  return 1;
}

static int walk(
  struct reader *reader, const unsigned char *records, size_t byteCount, uint32_t count, struct baseline_replay *result) {
  size_t position = 0;
  for (uint32_t index = 0; index < count; index++) {
    if (byteCount - position < recordFieldByteCount) return -EBADMSG;
    const unsigned char *record = records + position;
    uint32_t length = u32(record);
    if (length < recordFieldByteCount || length > byteCount - position) return -EBADMSG;
    uint32_t used = recordFieldByteCount + record[7] + record[42] + record[43] + u16(record + 44) + u16(record + 46);
    if (used > length) return -EBADMSG;
    if (reader->visitRecord != NULL) {
      int status = reader->visitRecord(reader->context, record, length);
      if (status != 0) return status;
    }
    if (record[4] == 1) {
      result->eventCount += 1;
      result->dataByteCount += length - used;
      result->timeSum += u64(record + 24);
      if (reader->visit != NULL) {
        int status = reader->visit(reader->context, record + used, length - used);
        if (status != 0) return status;
      }
    }
    position += length;
  }
  return position == byteCount ? 0 : -EBADMSG;
}

static int replayFrame(struct reader *reader, const unsigned char *frame, uint32_t stored, struct baseline_replay *result) {
  result->frameCount += 1;
  if (frame[13] != 1) return 0;
  uint32_t rawLength = u32(frame + 20);
  const unsigned char *records = frame + frameFieldByteCount;
  if ((u16(frame + 14) & 15) == 1) {
    if (rawLength > frameLimit) return -EBADMSG;
    int status = grow(&reader->raw, &reader->rawCapacity, rawLength);
    if (status != 0) return status;
    int count = LZ4_decompress_safe((const char *)records, (char *)reader->raw, (int)stored, (int)rawLength);
    if (count != (int)rawLength) return -EBADMSG;
    records = reader->raw;
  }
  return walk(reader, records, rawLength, u32(frame + 32), result);
}

static int replayFrames(struct reader *reader, uint64_t seed, struct baseline_replay *result) {
  for (;;) {
    int status = fill(reader, frameFieldByteCount);
    if (status <= 0) return status;
    const unsigned char *frame = reader->buffer + reader->start;
    if (memcmp(frame + 8, "TMFR", 4) != 0) {
      // Zeros written ahead end an open segment.
      for (int index = 0; index < frameFieldByteCount; index++) {
        if (frame[index] != 0) return -EBADMSG;
      }
      return 0;
    }
    uint32_t stored = u32(frame + 16);
    if (stored > frameLimit) return -EBADMSG;
    size_t byteCount = (frameFieldByteCount + (size_t)stored + 7) & ~(size_t)7;
    status = fill(reader, byteCount);
    if (status <= 0) return status == 0 ? -EBADMSG : status;
    frame = reader->buffer + reader->start;
    if (XXH3_64bits_withSeed(frame + 8, byteCount - 8, seed) != u64(frame)) return -EBADMSG;
    status = replayFrame(reader, frame, stored, result);
    if (status != 0) return status;
    reader->start += byteCount;
  }
}

// Where the frames of a sealed segment end: at its id pages, or at its index if it has none.
static int framesEnd(int descriptor, uint64_t byteCount, uint64_t *end) {
  unsigned char footer[footerByteCount];
  if (byteCount < headerByteCount + footerByteCount) return -EBADMSG;
  ssize_t count = pread(descriptor, footer, footerByteCount, (off_t)(byteCount - footerByteCount));
  if (count < 0) return -errno;
  if (count != footerByteCount || memcmp(footer, "TIDEMARK", 8) != 0) return -EBADMSG;
  *end = u64(footer + 264) > 0 ? u64(footer + 256) : u64(footer + 272);
  return *end <= byteCount ? 0 : -EBADMSG;
}

static int replayFile(int descriptor, int isSealed, struct reader *reader, struct baseline_replay *result) {
  struct stat status;
  unsigned char header[headerByteCount];
  if (fstat(descriptor, &status) != 0) return -errno;
  ssize_t count = pread(descriptor, header, headerByteCount, 0);
  if (count < 0) return -errno;
  if (count != headerByteCount || memcmp(header, "TIDEMARK", 8) != 0) return -EBADMSG;
  reader->descriptor = descriptor;
  reader->start = reader->end = 0;
  reader->position = headerByteCount;
  reader->fileEnd = (uint64_t)status.st_size;
  result->fileByteCount += (uint64_t)status.st_size;
  if (isSealed) {
    int answer = framesEnd(descriptor, (uint64_t)status.st_size, &reader->fileEnd);
    if (answer != 0) return answer;
  }
  return replayFrames(reader, XXH3_64bits(header + 32, 48), result);
}

static int isSegment(const struct dirent *entry) {
  const char *suffix = strrchr(entry->d_name, '.');
  return suffix != NULL && (strcmp(suffix, ".open") == 0 || strcmp(suffix, ".sealed") == 0);
}

static int replayAll(const char *directory, struct reader reader, struct baseline_replay *result) {
  char path[4096];
  struct dirent **names;
  memset(result, 0, sizeof *result);
  snprintf(path, sizeof path, "%s/segments", directory);
  int count = scandir(path, &names, isSegment, alphasort);
  if (count < 0) return -errno;
  int status = 0;
  for (int index = 0; index < count; index++) {
    if (status == 0) {
      snprintf(path, sizeof path, "%s/segments/%s", directory, names[index]->d_name);
      int descriptor = open(path, O_RDONLY | O_CLOEXEC);
      status = descriptor < 0 ? -errno : replayFile(descriptor, strstr(path, ".sealed") != NULL, &reader, result);
      if (descriptor >= 0) close(descriptor);
    }
    free(names[index]);
  }
  free(names);
  free(reader.buffer);
  free(reader.raw);
  return status;
}

int baseline_replay(const char *directory, struct baseline_replay *result) {
  return replayAll(directory, (struct reader){0}, result);
}

int baseline_replay_visiting(const char *directory, baseline_visit *visit, void *context, struct baseline_replay *result) {
  return replayAll(directory, (struct reader){.visit = visit, .context = context}, result);
}

int baseline_replay_records(const char *directory, baseline_visit *visit, void *context, struct baseline_replay *result) {
  return replayAll(directory, (struct reader){.visitRecord = visit, .context = context}, result);
}
