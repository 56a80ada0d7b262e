#define _GNU_SOURCE
#include "CCrash.h"

#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/utsname.h>

extern char **environ;

int crash_errno(void) { return errno; }
int crash_open(const char *path, int flags, mode_t mode) { return open(path, flags | O_CLOEXEC, mode); }

int crash_spawn(const char *path, char *const arguments[], int input, int output, int errors, pid_t *child) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  int back[] = {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGXFSZ};
  for (size_t i = 0; i < sizeof back / sizeof *back; i++) sigaddset(&defaults, back[i]);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  int descriptors[3] = {input, output, errors};
  for (int i = 0; i < 3; i++) {
    if (descriptors[i] >= 0) posix_spawn_file_actions_adddup2(&files, descriptors[i], i);
    else posix_spawn_file_actions_addopen(&files, i, "/dev/null", O_RDWR, 0);
  }
  int code = posix_spawn(child, path, &files, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return code;
}

void crash_ignore_broken_pipes(void) { signal(SIGPIPE, SIG_IGN); }

int crash_wait(pid_t child, bool block) {
  int status;
  pid_t got;
  do got = waitpid(child, &status, block ? 0 : WNOHANG);
  while (got < 0 && errno == EINTR);
  if (got == 0) return -1001;
  if (got < 0) return -1000;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void crash_system_name(char *text) {
  struct utsname name;
  text[0] = 0;
  if (uname(&name) == 0) snprintf(text, 200, "%.60s %.80s %.40s", name.sysname, name.release, name.machine);
}

struct crash_disk_control *crash_disk_map(const char *path, bool create) {
  int file = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600);
  if (file < 0) return NULL;
  void *map = MAP_FAILED;
  if (!create || ftruncate(file, sizeof(struct crash_disk_control)) == 0)
    map = mmap(NULL, sizeof(struct crash_disk_control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return map == MAP_FAILED ? NULL : map;
}

void crash_disk_unmap(struct crash_disk_control *control) { munmap(control, sizeof *control); }
uint64_t crash_disk_entries(const struct crash_disk_control *control) { return __atomic_load_n(&control->entries, __ATOMIC_ACQUIRE); }
uint64_t crash_disk_failures(const struct crash_disk_control *control) { return __atomic_load_n(&control->failures, __ATOMIC_ACQUIRE); }
void crash_disk_set_fault(struct crash_disk_control *control, uint32_t fault) { __atomic_store_n(&control->fault, fault, __ATOMIC_RELEASE); }

#ifdef __linux__

#include <linux/fs.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statfs.h>

// EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are one number; 2 is "do not flush the log".
#define SHUTDOWN_REQUEST _IOR('X', 125, uint32_t)

int crash_pipe(int ends[2], int capacity) {
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  if (capacity > 0) (void)fcntl(ends[1], F_SETPIPE_SZ, capacity);
  return 0;
}

int crash_execute_limited(uint64_t file_bytes, const char *path, char *const arguments[]) {
  // Not even a stopped program may be left behind.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return -1;
  struct rlimit limit = {file_bytes, file_bytes};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return -1;
  signal(SIGXFSZ, SIG_IGN);
  return execv(path, arguments);
}

int crash_private_mounts(void) {
  if (unshare(CLONE_NEWNS) != 0) return -1;
  return mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL);
}

int crash_mount(const char *source, const char *target, const char *type, const char *options) {
  return mount(source, target, type, MS_NOSUID | MS_NODEV, options);
}

int crash_remount(const char *target, const char *options) {
  return mount("none", target, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, options);
}

int crash_unmount(const char *target) {
  for (int attempt = 0;; attempt++) {
    if (umount2(target, 0) == 0) return 0;
    if (errno != EBUSY || attempt == 100) return -1;
    usleep(2000);
  }
}

int crash_is_mount_point(const char *path) {
  struct statx own, above;
  char parent[4096];
  if (snprintf(parent, sizeof parent, "%s/..", path) >= (int)sizeof parent) return -1;
  if (statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &own) != 0 || statx(AT_FDCWD, parent, 0, STATX_BASIC_STATS, &above) != 0) return -1;
  if (own.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) return (own.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  return own.stx_dev_major != above.stx_dev_major || own.stx_dev_minor != above.stx_dev_minor;
}

int crash_loop_attach(const char *image, char name[32]) {
  int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) return -1;
  int file = open(image, O_RDWR | O_CLOEXEC), device = -1, error = EBUSY;
  if (file < 0) {
    error = errno;
    close(control);
    errno = error;
    return -1;
  }
  // Another process may take the free device first.
  for (int attempt = 0; attempt < 50; attempt++) {
    int number = ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) {
      error = errno;
      break;
    }
    snprintf(name, 32, "/dev/loop%d", number);
    device = open(name, O_RDWR | O_CLOEXEC);
    if (device < 0) {
      error = errno;
      if (error != EBUSY && error != ENXIO && error != ENOENT) break;
      usleep(10000);
      continue;
    }
    struct loop_config configuration = {.fd = (uint32_t)file, .block_size = 512};
    configuration.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (ioctl(device, LOOP_CONFIGURE, &configuration) == 0) break;
    error = errno;
    close(device);
    device = -1;
    if (error != EBUSY) break;
    usleep(2000);
  }
  close(file);
  close(control);
  if (device < 0) errno = error;
  return device;
}

int crash_forget_cache(int device) { return ioctl(device, BLKFLSBUF, 0); }

int crash_shutdown(const char *mount_point) {
  int directory = open(mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  uint32_t how = 2;
  int code = ioctl(directory, SHUTDOWN_REQUEST, &how);
  int error = errno;
  close(directory);
  errno = error;
  return code;
}

void crash_write_back(int descriptor) {
  (void)sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

int crash_sync_file_system(const char *mount_point) {
  int directory = open(mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  int code = syncfs(directory);
  int error = errno;
  close(directory);
  errno = error;
  return code;
}

int crash_file_system(const char *path, char type[32], uint64_t *free_bytes, uint64_t *total_bytes, uint64_t *device) {
  struct statfs status;
  struct stat file;
  if (statfs(path, &status) != 0 || stat(path, &file) != 0) return -1;
  *free_bytes = (uint64_t)status.f_bavail * (uint64_t)status.f_bsize;
  *total_bytes = (uint64_t)status.f_blocks * (uint64_t)status.f_bsize;
  *device = (uint64_t)file.st_dev;
  static const struct {
    unsigned long magic;
    const char *name;
  } known[] = {{EXT4_SUPER_MAGIC, "ext4"}, {XFS_SUPER_MAGIC, "xfs"}, {BTRFS_SUPER_MAGIC, "btrfs"}, {TMPFS_MAGIC, "tmpfs"},
               {OVERLAYFS_SUPER_MAGIC, "overlay"}, {F2FS_SUPER_MAGIC, "f2fs"}, {NFS_SUPER_MAGIC, "nfs"}, {0x65735546, "fuse"}};
  snprintf(type, 32, "type %lx", (unsigned long)status.f_type);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].magic == (unsigned long)status.f_type) snprintf(type, 32, "%s", known[i].name);
  return 0;
}

#else

static int nowhere(void) {
  errno = ENOSYS;
  return -1;
}

int crash_pipe(int ends[2], int capacity) {
  if (pipe(ends) != 0) return -1;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  return fcntl(ends[1], F_SETFD, FD_CLOEXEC);
}
int crash_execute_limited(uint64_t file_bytes, const char *path, char *const arguments[]) { return nowhere(); }
int crash_execute_killing(uint64_t call, const char *path, char *const arguments[]) { return nowhere(); }
int crash_private_mounts(void) { return nowhere(); }
int crash_mount(const char *source, const char *target, const char *type, const char *options) { return nowhere(); }
int crash_remount(const char *target, const char *options) { return nowhere(); }
int crash_unmount(const char *target) { return nowhere(); }
int crash_is_mount_point(const char *path) {
  struct stat own, above;
  char parent[4096];
  if (snprintf(parent, sizeof parent, "%s/..", path) >= (int)sizeof parent) return -1;
  if (stat(path, &own) != 0 || stat(parent, &above) != 0) return -1;
  return own.st_dev != above.st_dev;
}
int crash_loop_attach(const char *image, char name[32]) { return nowhere(); }
int crash_forget_cache(int device) { return nowhere(); }
int crash_shutdown(const char *mount_point) { return nowhere(); }
void crash_write_back(int descriptor) {}
int crash_sync_file_system(const char *mount_point) { return nowhere(); }
int crash_file_system(const char *path, char type[32], uint64_t *free_bytes, uint64_t *total_bytes, uint64_t *device) {
  return nowhere();
}
int crash_disk_serve(const char *target, const char *image, const char *record, const char *control) { return nowhere(); }

#endif
