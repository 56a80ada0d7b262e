#define _GNU_SOURCE
#include "CBaseline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

enum { fieldByteCount = 48, frameFieldByteCount = 56, zeroByteCount = 1 << 20 };

static int writeAll(int descriptor, const void *bytes, size_t byteCount, uint64_t position) {
  const char *next = bytes;
  while (byteCount > 0) {
    ssize_t written = pwrite(descriptor, next, byteCount, (off_t)position);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return -errno;
    next += written;
    byteCount -= (size_t)written;
    position += (uint64_t)written;
  }
  return 0;
}

static int createFile(const char *path) {
  int descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  return descriptor < 0 ? -errno : descriptor;
}

int baseline_create_written_ahead(const char *path, uint64_t byteCount) {
  int descriptor = createFile(path);
  if (descriptor < 0) return descriptor;
  void *zeros = calloc(1, zeroByteCount);
  int status = zeros == NULL ? -ENOMEM : 0;
  for (uint64_t position = 0; status == 0 && position < byteCount; position += zeroByteCount) {
    uint64_t rest = byteCount - position;
    status = writeAll(descriptor, zeros, rest < zeroByteCount ? rest : zeroByteCount, position);
  }
  free(zeros);
  if (status == 0 && fsync(descriptor) != 0) status = -errno;
  if (status == 0) return descriptor;
  close(descriptor);
  return status;
}

int baseline_create_growing(const char *path) {
  int descriptor = createFile(path);
  if (descriptor >= 0 && fsync(descriptor) != 0) {
    int status = -errno;
    close(descriptor);
    return status;
  }
  return descriptor;
}

void baseline_close(int descriptor) { close(descriptor); }

int baseline_append_synced(
  int descriptor, uint64_t *position, uint64_t limit, size_t byteCount, size_t count, uint64_t *nanoseconds) {
  unsigned char *record = malloc(byteCount);
  if (record == NULL) return -ENOMEM;
  memset(record, 0x5a, byteCount);
  int status = 0;
  for (size_t index = 0; index < count; index++) {
    uint64_t start = baseline_now();
    if (*position + byteCount > limit) *position = 0;
    memcpy(record, &start, sizeof start);
    status = writeAll(descriptor, record, byteCount, *position);
    if (status == 0 && fdatasync(descriptor) != 0) status = -errno;
    if (status != 0) break;
    *position += byteCount;
    if (nanoseconds != NULL) nanoseconds[index] = baseline_now() - start;
  }
  free(record);
  return status;
}

int baseline_append_written(
  int descriptor, uint64_t *position, size_t batchCount, size_t eventCount, const void *const *data, size_t dataByteCount) {
  size_t byteCount = frameFieldByteCount + eventCount * (fieldByteCount + dataByteCount);
  unsigned char *buffer = malloc(byteCount);
  if (buffer == NULL) return -ENOMEM;
  int status = 0;
  uint64_t offset = *position;
  for (size_t batch = 0; status == 0 && batch < batchCount; batch++) {
    memset(buffer, 0, frameFieldByteCount);
    unsigned char *next = buffer + frameFieldByteCount;
    uint64_t time = baseline_now();
    for (size_t event = 0; event < eventCount; event++, offset++) {
      uint32_t length = (uint32_t)(fieldByteCount + dataByteCount);
      uint64_t fields[5] = {time << 16 | event, offset * 0x9e3779b97f4a7c15u, time + event, time, 0};
      memcpy(next, &length, 4);
      memcpy(next + 4, &event, 4);
      memcpy(next + 8, fields, sizeof fields);
      memcpy(next + fieldByteCount, data[event], dataByteCount);
      next += length;
    }
    uint64_t hash = XXH3_64bits(buffer + 8, byteCount - 8);
    memcpy(buffer, &hash, 8);
    status = writeAll(descriptor, buffer, byteCount, *position);
    *position += byteCount;
  }
  free(buffer);
  return status;
}

int baseline_write_and_sync(const char *path, uint64_t byteCount, uint64_t *nanoseconds) {
  void *bytes = malloc(byteCount + 1);
  if (bytes == NULL) return -ENOMEM;
  memset(bytes, 0x5a, byteCount);
  uint64_t start = baseline_now();
  int descriptor = createFile(path);
  int status = descriptor < 0 ? descriptor : writeAll(descriptor, bytes, byteCount, 0);
  if (status == 0 && fdatasync(descriptor) != 0) status = -errno;
  if (descriptor >= 0) close(descriptor);
  *nanoseconds = baseline_now() - start;
  free(bytes);
  return status;
}
