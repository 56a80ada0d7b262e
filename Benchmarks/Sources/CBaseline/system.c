#define _GNU_SOURCE
#include "CBaseline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static uint64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t baseline_now(void) { return now(CLOCK_MONOTONIC); }

uint64_t baseline_thread_now(void) { return now(CLOCK_THREAD_CPUTIME_ID); }

int64_t baseline_resident_byte_count(int process) {
  char path[64], line[256];
  if (process == 0) {
    snprintf(path, sizeof path, "/proc/self/status");
  } else {
    snprintf(path, sizeof path, "/proc/%d/status", process);
  }
  FILE *file = fopen(path, "re");
  if (file == NULL) return -errno;
  long long kibibytes = -1;
  while (kibibytes < 0 && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "VmRSS: %lld", &kibibytes) != 1) kibibytes = -1;
  }
  fclose(file);
  return kibibytes < 0 ? -ENOENT : kibibytes * 1024;
}

int baseline_device_counters(const char *device, uint64_t *writtenByteCount, uint64_t *flushCount) {
  char path[256];
  unsigned long long field[17] = {0};
  snprintf(path, sizeof path, "/sys/block/%s/stat", device);
  FILE *file = fopen(path, "re");
  if (file == NULL) return -errno;
  int count = 0;
  while (count < 17 && fscanf(file, "%llu", &field[count]) == 1) count++;
  fclose(file);
  if (count < 16) return -ENOTSUP;
  *writtenByteCount = field[6] * 512;
  *flushCount = field[15];
  return 0;
}

int baseline_sync_file_system(const char *path) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return -errno;
  int status = syncfs(descriptor) == 0 ? 0 : -errno;
  close(descriptor);
  return status;
}

int64_t baseline_file_byte_count(const char *directory, const char *suffix) {
  DIR *stream = opendir(directory);
  if (stream == NULL) return -errno;
  int64_t sum = 0;
  for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
    size_t length = strlen(entry->d_name), end = strlen(suffix);
    struct stat status;
    if (length < end || strcmp(entry->d_name + length - end, suffix) != 0) continue;
    if (fstatat(dirfd(stream), entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode)) sum += status.st_size;
  }
  closedir(stream);
  return sum;
}

static int removeOne(const char *path, const struct stat *status, int type, struct FTW *walk) {
  (void)status, (void)type, (void)walk;
  return remove(path);
}

int baseline_remove_tree(const char *path) {
  return nftw(path, removeOne, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT ? 0 : -errno;
}

int baseline_spawn_with_input(const char *path, char *const arguments[], int *input, int *output) {
  int out[2], in[2] = {-1, -1};
  if (pipe2(out, O_CLOEXEC) != 0) return -errno;
  if (input != NULL && pipe2(in, O_CLOEXEC) != 0) {
    int status = -errno;
    close(out[0]);
    close(out[1]);
    return status;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  if (input != NULL) posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  pid_t process = 0;
  int error = posix_spawn(&process, path, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  if (input != NULL) close(in[0]);
  if (error != 0) {
    close(out[0]);
    if (input != NULL) close(in[1]);
    return -error;
  }
  *output = out[0];
  if (input != NULL) *input = in[1];
  return process;
}

int baseline_spawn(const char *path, char *const arguments[], int *output) {
  return baseline_spawn_with_input(path, arguments, NULL, output);
}

void baseline_usage(uint64_t *nanoseconds, uint64_t *switchCount) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  uint64_t seconds = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
  *nanoseconds = seconds * 1000000000 + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
  *switchCount = (uint64_t)usage.ru_nvcsw;
}

int baseline_kill(int process) {
  if (kill(process, SIGKILL) != 0) return -errno;
  while (waitpid(process, NULL, 0) < 0) {
    if (errno != EINTR) return -errno;
  }
  return 0;
}

struct threadStart {
  void (*body)(void *context, size_t index);
  void *context;
  size_t index;
};

static void *threadMain(void *argument) {
  struct threadStart *start = argument;
  start->body(start->context, start->index);
  return NULL;
}

int baseline_run_threads(size_t threadCount, void (*body)(void *context, size_t index), void *context) {
  pthread_t *threads = calloc(threadCount, sizeof *threads);
  struct threadStart *starts = calloc(threadCount, sizeof *starts);
  int error = threads == NULL || starts == NULL ? ENOMEM : 0;
  size_t started = 0;
  for (; error == 0 && started < threadCount; started++) {
    starts[started] = (struct threadStart){body, context, started};
    error = pthread_create(&threads[started], NULL, threadMain, &starts[started]);
    if (error != 0) break;
  }
  for (size_t index = 0; index < started; index++) pthread_join(threads[index], NULL);
  free(threads);
  free(starts);
  return -error;
}
