// Files as a whole: what reading them costs, and what the page cache and the file system have of them.
#define _GNU_SOURCE
#include "CBaseline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

enum { chunkByteCount = 128 << 10, pageByteCount = 4096 };

static int readFile(int descriptor, unsigned char *buffer, XXH3_state_t *hash, uint64_t *byteCount) {
  ssize_t count;
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  if (hash != NULL) XXH3_64bits_reset(hash);
  while ((count = read(descriptor, buffer, chunkByteCount)) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    if (hash != NULL) XXH3_64bits_update(hash, buffer, (size_t)count);
    *byteCount += (uint64_t)count;
  }
  return 0;
}

int baseline_read_files(const char *directory, const char *suffix, int hashes, uint64_t *byteCount) {
  struct dirent **names;
  int count = scandir(directory, &names, NULL, alphasort), status = 0;
  if (count < 0) return -errno;
  unsigned char *buffer = malloc(chunkByteCount);
  XXH3_state_t *hash = hashes ? XXH3_createState() : NULL;
  *byteCount = 0;
  if (buffer == NULL || (hashes && hash == NULL)) status = -ENOMEM;
  for (int index = 0; index < count; index++) {
    size_t length = strlen(names[index]->d_name), end = strlen(suffix);
    if (status == 0 && length >= end && strcmp(names[index]->d_name + length - end, suffix) == 0) {
      char path[4096];
      snprintf(path, sizeof path, "%s/%s", directory, names[index]->d_name);
      int descriptor = open(path, O_RDONLY | O_CLOEXEC);
      status = descriptor < 0 ? -errno : readFile(descriptor, buffer, hash, byteCount);
      if (descriptor >= 0) close(descriptor);
    }
    free(names[index]);
  }
  XXH3_freeState(hash);
  free(buffer);
  free(names);
  return status;
}

// nftw has no context; the benchmark calls these from one thread.
static int64_t sum;

static int64_t residentPageCount(int descriptor, off_t byteCount) {
  if (byteCount == 0) return 0;
  size_t pageCount = ((size_t)byteCount + pageByteCount - 1) / pageByteCount;
  void *map = mmap(NULL, (size_t)byteCount, PROT_READ, MAP_SHARED, descriptor, 0);
  unsigned char *pages = malloc(pageCount);
  int64_t count = 0;
  if (map == MAP_FAILED || pages == NULL || mincore(map, (size_t)byteCount, pages) != 0) count = -1;
  for (size_t page = 0; count >= 0 && page < pageCount; page++) count += pages[page] & 1;
  if (map != MAP_FAILED) munmap(map, (size_t)byteCount);
  free(pages);
  return count;
}

static int forgetOne(const char *path, const struct stat *status, int type, struct FTW *walk) {
  (void)walk;
  if (type != FTW_F || !S_ISREG(status->st_mode)) return 0;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  // Pages that were not written yet stay.
  int error = fsync(descriptor) == 0 ? posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) : errno;
  int64_t left = error == 0 ? residentPageCount(descriptor, status->st_size) : 0;
  close(descriptor);
  if (left < 0) return EIO;
  sum += left;
  return error;
}

int64_t baseline_forget_files(const char *directory) {
  sum = 0;
  int error = nftw(directory, forgetOne, 16, FTW_PHYS);
  return error == 0 ? sum : error < 0 ? -errno : -error;
}

static int addOne(const char *path, const struct stat *status, int type, struct FTW *walk) {
  (void)path, (void)walk;
  if (type == FTW_F) sum += (int64_t)status->st_blocks * 512;
  return 0;
}

int64_t baseline_allocated_byte_count(const char *directory) {
  sum = 0;
  return nftw(directory, addOne, 16, FTW_PHYS) == 0 ? sum : -errno;
}
