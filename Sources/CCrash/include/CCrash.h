// System calls of the crash laboratory that Swift's C library module lacks: mounts, loop devices, the shutdown of a file system, a disk
// in user space, tracing: Linux only, elsewhere they fail with ENOSYS. And sockets.
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int crash_errno(void);

/// `open` without varargs; always with O_CLOEXEC.
int crash_open(const char *path, int flags, mode_t mode);

/// Starts a program in a process group of its own, with default signals and these three descriptors. Returns 0, or an error number.
int crash_spawn(const char *path, char *const arguments[], int input, int output, int errors, pid_t *child);

/// Limits the size of files (UINT64_MAX: not at all), ignores SIGXFSZ, sees to it that this process dies with the thread that started it,
/// and becomes another program. Returns only on failure: -1 with errno.
int crash_execute_limited(uint64_t file_bytes, const char *path, char *const arguments[]);

/// Runs another program and kills it with SIGKILL at the entry of a system call that changes files, or their order on the disk: the one
/// with that number, from 1, counted over all threads from the first that changes anything. Ends this process as the program ended, and
/// the program never outlives it. Returns only on failure: -1 with errno.
int crash_execute_killing(uint64_t call, const char *path, char *const arguments[]);

/// A write into a pipe that nobody reads is then an error.
void crash_ignore_broken_pipes(void);

/// A pipe that children do not inherit. `capacity` 0: the usual one.
int crash_pipe(int ends[2], int capacity);

/// How a child ended: exit code, or minus the signal; -1000 if there is no such child. With `block` false, -1001 while it runs.
int crash_wait(pid_t child, bool block);

/// From here on this process and its children mount for themselves: nobody else sees it, and nothing of it outlives them.
int crash_private_mounts(void);
int crash_mount(const char *source, const char *target, const char *type, const char *options);
int crash_remount(const char *target, const char *options);
int crash_unmount(const char *target);
/// Whether another file system begins at this path: 1 yes, 0 no, -1 it can't be told.
int crash_is_mount_point(const char *path);

/// Attaches an image to a free loop device, whose path is copied to `name` (32 bytes). Returns its descriptor; the device is let go when
/// the last descriptor and mount of it are gone.
int crash_loop_attach(const char *image, char name[32]);
/// Forgets what the kernel has cached of a block device.
int crash_forget_cache(int device);

/// Stops a file system at once, without writing what is in memory: what a power cut does.
int crash_shutdown(const char *mount_point);

/// Writes a file's data back and waits for it; no flush, no metadata.
void crash_write_back(int descriptor);

int crash_sync_file_system(const char *mount_point);

/// Type, and free and total bytes of the file system that a path is on.
int crash_file_system(const char *path, char type[32], uint64_t *free_bytes, uint64_t *total_bytes, uint64_t *device);

/// Connects by TCP. Returns a descriptor, -1 with errno, or -2 if there is no such host.
int crash_connect(const char *host, uint16_t port);

/// Listens on a port of all addresses; 0: any free one. Returns a descriptor, or -1 with errno.
int crash_listen(uint16_t port);

/// The port that a socket listens on, or -1 with errno.
int crash_port(int listener);

int crash_accept(int listener);

/// Locks a file against others that open it; -1 with EWOULDBLOCK if one has it.
int crash_lock(int descriptor);
void crash_unlock(int descriptor);

/// System name, release, machine: `text` takes 200 bytes.
void crash_system_name(char *text);

/// Shared by the disk's process and whoever drives it.
struct crash_disk_control {
  /// Whole entries in the record.
  uint64_t entries;
  /// How long the record is.
  uint64_t record_bytes;
  /// Writes and flushes that were answered with an error.
  uint64_t failures;
  /// Bits: 1 writes fail, 2 flushes fail.
  uint32_t fault;
  uint32_t reserved;
};

/// Before each write in the record; a flush has no data.
struct crash_disk_entry {
  uint64_t position;
  uint32_t byte_count;
  /// 0 write, 1 flush.
  uint32_t kind;
};

/// Maps the control block in a file of its size. Returns NULL with errno.
struct crash_disk_control *crash_disk_map(const char *path, bool create);
void crash_disk_unmap(struct crash_disk_control *control);
uint64_t crash_disk_entries(const struct crash_disk_control *control);
uint64_t crash_disk_failures(const struct crash_disk_control *control);
void crash_disk_set_fault(struct crash_disk_control *control, uint32_t fault);

/// Serves a file named `disk` in the directory `target` through FUSE, backed by `image`: writes and flushes are recorded in `record` (none
/// if empty) and fail as the control block says. Writes a line to standard output when it is there; ends when standard input does, or with
/// the mount. Returns 0, or -1 with errno.
int crash_disk_serve(const char *target, const char *image, const char *record, const char *control);
