#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <stdio.h>

#ifdef __APPLE__
#include <os/os_sync_wait_on_address.h>
#include <pthread.h>
#include <sys/sysctl.h>
#else
#include <linux/futex.h>
#include <limits.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#endif

int tidemark_errno(void) { return errno; }
void tidemark_clear_errno(void) { errno = 0; }
int tidemark_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }
int tidemark_close(int descriptor) { return close(descriptor); }
int tidemark_rename(const char *path, const char *new_path) { return rename(path, new_path); }

#ifdef __APPLE__

const char *tidemark_program_name(void) { return getprogname(); }
int tidemark_sync_data(int descriptor) { return fcntl(descriptor, F_FULLFSYNC) == -1 ? -1 : 0; }
void tidemark_start_writeback(int descriptor, off_t position, off_t count) {}

bool tidemark_is_deleted(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && status.st_nlink == 0;
}

int64_t tidemark_file_length(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 ? (int64_t)status.st_size : -1;
}

uint64_t tidemark_boot_clock(void) { return clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW); }
bool tidemark_clock_is_synchronized(void) { return false; }
int tidemark_random(void *bytes, size_t count) { arc4random_buf(bytes, count); return 0; }

int tidemark_boot_id(char *text, size_t capacity) {
  size_t length = capacity;
  if (sysctlbyname("kern.bootsessionuuid", text, &length, NULL, 0) != 0) return -1;
  return (int)strnlen(text, capacity);
}

void tidemark_lower_thread_priority(void) { pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0); }

void tidemark_wait(const uint32_t *word, uint32_t expected, int64_t timeout) {
  if (timeout < 0) os_sync_wait_on_address((void *)word, expected, 4, OS_SYNC_WAIT_ON_ADDRESS_SHARED);
  else os_sync_wait_on_address_with_timeout((void *)word, expected, 4, OS_SYNC_WAIT_ON_ADDRESS_SHARED,
                                            OS_CLOCK_MACH_ABSOLUTE_TIME, (uint64_t)timeout);
}

void tidemark_wake_all(uint32_t *word) { os_sync_wake_by_address_all(word, 4, OS_SYNC_WAKE_BY_ADDRESS_SHARED); }

#else

const char *tidemark_program_name(void) { return program_invocation_short_name; }
int tidemark_sync_data(int descriptor) { return fdatasync(descriptor); }

void tidemark_start_writeback(int descriptor, off_t position, off_t count) {
  (void)sync_file_range(descriptor, position, count, SYNC_FILE_RANGE_WRITE);
}

bool tidemark_is_deleted(int descriptor) {
  struct statx status;
  return statx(descriptor, "", AT_EMPTY_PATH, STATX_NLINK, &status) == 0 && status.stx_nlink == 0;
}

int64_t tidemark_file_length(int descriptor) {
  struct statx status;
  return statx(descriptor, "", AT_EMPTY_PATH, STATX_SIZE, &status) == 0 ? (int64_t)status.stx_size : -1;
}

uint64_t tidemark_boot_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool tidemark_clock_is_synchronized(void) {
  struct timex state = {0};
  int status = adjtimex(&state);
  return status >= 0 && status != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

int tidemark_random(void *bytes, size_t count) {
  unsigned char *at = bytes;
  while (count > 0) {
    ssize_t got = getrandom(at, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    at += got;
    count -= (size_t)got;
  }
  return 0;
}

int tidemark_boot_id(char *text, size_t capacity) {
  int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t got = read(file, text, capacity - 1);
  close(file);
  if (got <= 0) return -1;
  if (text[got - 1] == '\n') got--;
  text[got] = 0;
  return (int)got;
}

void tidemark_lower_thread_priority(void) {
  // On Linux the nice value belongs to the thread, whatever POSIX says.
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 15);
}

void tidemark_wait(const uint32_t *word, uint32_t expected, int64_t timeout) {
  struct timespec limit = {timeout / 1000000000, timeout % 1000000000};
  syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout < 0 ? NULL : &limit, NULL, 0);
}

void tidemark_wake_all(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

#endif

uint64_t tidemark_load64(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
void tidemark_store64(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
uint32_t tidemark_load32(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
uint32_t tidemark_add32(uint32_t *word, uint32_t value) { return __atomic_add_fetch(word, value, __ATOMIC_ACQ_REL); }
void tidemark_store32(uint32_t *word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

void tidemark_sleep(uint64_t nanoseconds) {
  struct timespec left = {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
}

void tidemark_lock_init(pthread_mutex_t *lock) {
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
  pthread_mutex_init(lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
#else
  pthread_mutex_init(lock, NULL);
#endif
}
