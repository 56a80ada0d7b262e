// A disk in user space: one file in a FUSE mount, for a loop device to stand on. It records writes and flushes in the order in which they
// come, and fails them on request. It speaks the kernel's protocol itself, so that no library and no helper program is needed.
#ifdef __linux__
#define _GNU_SOURCE
#include "CCrash.h"

#include <linux/fuse.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/uio.h>

enum { ROOT = 1, DISK = 2, LARGEST_WRITE = 1 << 20 };

struct disk {
  int fuse, image, record;
  uint64_t size;
  struct crash_disk_control *control;
};

static void answer(struct disk *disk, uint64_t request, int error, const void *body, size_t length) {
  struct fuse_out_header header = {(uint32_t)(sizeof header + (error ? 0 : length)), -error, request};
  struct iovec parts[2] = {{&header, sizeof header}, {(void *)body, length}};
  // A request that was given up meanwhile is nobody's loss.
  (void)!writev(disk->fuse, parts, error || length == 0 ? 1 : 2);
}

static struct fuse_attr attributes(struct disk *disk, uint64_t node) {
  struct fuse_attr result = {.ino = node, .nlink = 1, .blksize = 4096};
  result.mode = node == ROOT ? S_IFDIR | 0700 : S_IFREG | 0600;
  result.size = node == ROOT ? 0 : disk->size;
  result.blocks = result.size / 512;
  return result;
}

static int write_all(int file, const void *bytes, size_t count, uint64_t position) {
  const char *at = bytes;
  while (count > 0) {
    ssize_t done = pwrite(file, at, count, (off_t)position);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : ENOSPC;
    at += done;
    count -= (size_t)done;
    position += (uint64_t)done;
  }
  return 0;
}

static int note(struct disk *disk, uint32_t kind, uint64_t position, const void *bytes, uint32_t count) {
  if (disk->record < 0) return 0;
  struct crash_disk_entry entry = {position, count, kind};
  uint64_t end = disk->control->record_bytes;
  int error = write_all(disk->record, &entry, sizeof entry, end);
  if (!error && count > 0) error = write_all(disk->record, bytes, count, end + sizeof entry);
  if (error) return error;
  __atomic_store_n(&disk->control->record_bytes, end + sizeof entry + count, __ATOMIC_RELEASE);
  __atomic_fetch_add(&disk->control->entries, 1, __ATOMIC_ACQ_REL);
  return 0;
}

static int refuse(struct disk *disk, uint32_t bit) {
  if (!(__atomic_load_n(&disk->control->fault, __ATOMIC_ACQUIRE) & bit)) return 0;
  __atomic_fetch_add(&disk->control->failures, 1, __ATOMIC_ACQ_REL);
  return EIO;
}

static int put(struct disk *disk, const struct fuse_write_in *write, const void *bytes) {
  if (write->offset > disk->size || write->size > disk->size - write->offset) return ENOSPC;
  int error = refuse(disk, 1);
  if (!error) error = write_all(disk->image, bytes, write->size, write->offset);
  return error ? error : note(disk, 0, write->offset, bytes, write->size);
}

/// Answers one request; returns whether there will be more.
static int serve_one(struct disk *disk, char *buffer, size_t length, char *data) {
  const struct fuse_in_header *header = (void *)buffer;
  const void *body = buffer + sizeof *header;
  uint64_t request = header->unique;
  if (length < sizeof *header) return 1;
  switch (header->opcode) {
  case FUSE_INIT: {
    const struct fuse_init_in *wish = body;
    struct fuse_init_out reply = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION};
    reply.max_readahead = wish->max_readahead;
    reply.flags = wish->flags & (FUSE_BIG_WRITES | FUSE_MAX_PAGES);
    reply.max_background = 16;
    reply.congestion_threshold = 12;
    reply.max_write = LARGEST_WRITE;
    reply.max_pages = LARGEST_WRITE / 4096;
    reply.time_gran = 1;
    answer(disk, request, 0, &reply, sizeof reply);
    return 1;
  }
  case FUSE_LOOKUP: {
    struct fuse_entry_out reply = {.nodeid = DISK, .attr_valid = 3600, .entry_valid = 3600, .attr = attributes(disk, DISK)};
    answer(disk, request, strcmp(body, "disk") == 0 ? 0 : ENOENT, &reply, sizeof reply);
    return 1;
  }
  case FUSE_GETATTR:
  case FUSE_SETATTR: {
    struct fuse_attr_out reply = {.attr_valid = 3600, .attr = attributes(disk, header->nodeid)};
    answer(disk, request, 0, &reply, sizeof reply);
    return 1;
  }
  case FUSE_OPEN:
  case FUSE_OPENDIR: {
    struct fuse_open_out reply = {.open_flags = 0};
    answer(disk, request, 0, &reply, sizeof reply);
    return 1;
  }
  case FUSE_READ: {
    const struct fuse_read_in *read = body;
    uint32_t wanted = read->size < LARGEST_WRITE ? read->size : LARGEST_WRITE;
    ssize_t got = pread(disk->image, data, wanted, (off_t)read->offset);
    answer(disk, request, got < 0 ? errno : 0, data, got < 0 ? 0 : (size_t)got);
    return 1;
  }
  case FUSE_WRITE: {
    const struct fuse_write_in *write = body;
    struct fuse_write_out reply = {.size = write->size};
    answer(disk, request, put(disk, write, write + 1), &reply, sizeof reply);
    return 1;
  }
  case FUSE_FSYNC: {
    int error = refuse(disk, 2);
    answer(disk, request, error ? error : note(disk, 1, 0, NULL, 0), NULL, 0);
    return 1;
  }
  case FUSE_STATFS: {
    struct fuse_statfs_out reply = {.st = {.bsize = 4096, .frsize = 4096, .namelen = 255}};
    answer(disk, request, 0, &reply, sizeof reply);
    return 1;
  }
  case FUSE_FLUSH:
  case FUSE_RELEASE:
  case FUSE_RELEASEDIR:
  case FUSE_ACCESS:
    answer(disk, request, 0, NULL, 0);
    return 1;
  case FUSE_FORGET:
  case FUSE_BATCH_FORGET:
  case FUSE_INTERRUPT:
    return 1;
  case FUSE_DESTROY:
    answer(disk, request, 0, NULL, 0);
    return 0;
  case FUSE_FALLOCATE:
    answer(disk, request, EOPNOTSUPP, NULL, 0);
    return 1;
  default:
    answer(disk, request, ENOSYS, NULL, 0);
    return 1;
  }
}

int crash_disk_serve(const char *target, const char *image, const char *record, const char *control) {
  struct disk disk = {.record = -1};
  struct stat status;
  char options[100];
  size_t capacity = LARGEST_WRITE + 65536;
  char *buffer = malloc(capacity), *data = malloc(LARGEST_WRITE);
  disk.control = crash_disk_map(control, false);
  disk.image = open(image, O_RDWR | O_CLOEXEC);
  if (record[0]) disk.record = open(record, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  disk.fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (!buffer || !data || !disk.control || disk.image < 0 || disk.fuse < 0 || (record[0] && disk.record < 0)) return -1;
  if (fstat(disk.image, &status) != 0) return -1;
  disk.size = (uint64_t)status.st_size;
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u", disk.fuse, getuid(), getgid());
  if (mount("tidemark-disk", target, "fuse", MS_NOSUID | MS_NODEV, options) != 0) return -1;
  if (write(1, "ready\n", 6) != 6) return -1;
  for (;;) {
    struct pollfd wait[2] = {{0, POLLIN, 0}, {disk.fuse, POLLIN, 0}};
    if (poll(wait, 2, -1) < 0 && errno != EINTR) return -1;
    // Nobody drives this disk any more.
    if (wait[0].revents) return 0;
    if (!wait[1].revents) continue;
    ssize_t length = read(disk.fuse, buffer, capacity);
    if (length < 0 && errno == ENODEV) return 0;
    if (length < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT)) continue;
    if (length < 0) return -1;
    if (!serve_one(&disk, buffer, (size_t)length, data)) return 0;
  }
}
#endif
