#define _GNU_SOURCE
#include "peer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "content.h"

enum { exitFailed = 1, exitUsage = 2 };

static const uint64_t maximumSize = 16 << 20, maximumBatch = 1000000;
static const char *program = "peer";

_Noreturn void peer_fail(const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  for (char *next = message; *next != 0; next++) {
    if (*next == '\n' || *next == '\r') *next = ' ';
  }
  fflush(stdout);
  fprintf(stderr, "%s: %s\n", program, message);
  // Without the exit handlers: threads of the engine may still be running.
  _exit(exitFailed);
}

static _Noreturn void failUsage(const char *reason) {
  fprintf(
    stderr,
    "%s: %s\n"
    "usage: %s describe\n"
    "       %s write DIR --first N [--count N] [--size BYTES] [--batch N]\n"
    "       %s verify DIR\n",
    program, reason, program, program, program);
  exit(exitUsage);
}

// Arguments

struct writing {
  uint64_t first, count, size, batch;
};

static uint64_t number(const char *option, const char *text, uint64_t least, uint64_t most) {
  char *end = NULL, reason[160];
  errno = 0;
  uint64_t value = text == NULL || *text < '0' || *text > '9' ? 0 : strtoull(text, &end, 10);
  if (end != NULL && *end == 0 && errno == 0 && value >= least && value <= most) return value;
  snprintf(reason, sizeof reason, "%s takes a number from %" PRIu64 " to %" PRIu64, option, least, most);
  failUsage(reason);
}

static struct writing parseWriting(char *const *options) {
  struct writing writing = {.first = 0, .count = INT64_MAX, .size = 200, .batch = 1};
  bool hasFirst = false;
  for (; *options != NULL; options += 2) {
    const char *option = options[0], *value = options[1];
    if (strcmp(option, "--first") == 0) {
      writing.first = number(option, value, 0, INT64_MAX);
      hasFirst = true;
    } else if (strcmp(option, "--count") == 0) {
      writing.count = number(option, value, 0, INT64_MAX);
    } else if (strcmp(option, "--size") == 0) {
      writing.size = number(option, value, contentNumberByteCount, maximumSize);
    } else if (strcmp(option, "--batch") == 0) {
      writing.batch = number(option, value, 1, maximumBatch);
    } else {
      failUsage("unknown option");
    }
  }
  if (!hasFirst) failUsage("--first is missing");
  return writing;
}

// Directories

static bool isMissingOrEmpty(const char *directory) {
  DIR *entries = opendir(directory);
  if (entries == NULL && errno == ENOENT) return true;
  if (entries == NULL) peer_fail("cannot read %s: %s", directory, strerror(errno));
  bool empty = true;
  struct dirent *entry;
  while (errno = 0, empty && (entry = readdir(entries)) != NULL) {
    // The root of a file system may have a lost+found.
    empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || strcmp(entry->d_name, "lost+found") == 0;
  }
  if (errno != 0) peer_fail("cannot read %s: %s", directory, strerror(errno));
  closedir(entries);
  return empty;
}

/// Makes the directory if it is not there, durably: no engine can know that its directory is new.
static void makeDirectory(const char *directory) {
  if (mkdir(directory, 0755) != 0) {
    if (errno == EEXIST) return;
    peer_fail("cannot make %s: %s", directory, strerror(errno));
  }
  int own = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int parent = own < 0 ? -1 : openat(own, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0 || fsync(parent) != 0) peer_fail("cannot sync the parent of %s: %s", directory, strerror(errno));
  close(parent);
  close(own);
}

// Verbs

static void describe(void) {
  struct peer_description is = engine_description();
  printf(
    "{\"name\": \"%s\", \"setting\": \"%s\", \"claims\": \"%s\", \"library\": \"%s\"}\n", is.name, is.setting, is.claims, is.library);
}

/// One write, so that a reader never sees half a number, unless the pipe takes no more.
static void acknowledge(uint64_t last) {
  char line[32];
  size_t byteCount = (size_t)snprintf(line, sizeof line, "%" PRIu64 "\n", last);
  ssize_t written;
  do written = write(STDOUT_FILENO, line, byteCount);
  while (written < 0 && errno == EINTR);
  if (written < 0) peer_fail("cannot acknowledge: %s", strerror(errno));
  if ((size_t)written != byteCount) peer_fail("cannot acknowledge: %zd of %zu bytes were taken", written, byteCount);
}

static void writeEvents(const char *directory, struct writing writing) {
  unsigned char *bytes = malloc(writing.size);
  if (bytes == NULL) peer_fail("cannot allocate %" PRIu64 " bytes", writing.size);
  makeDirectory(directory);
  struct engine *engine = engine_open(directory);
  uint64_t next = writing.first;
  for (uint64_t rest = writing.count; rest > 0;) {
    uint64_t batch = rest < writing.batch ? rest : writing.batch;
    engine_begin(engine);
    for (uint64_t index = 0; index < batch; index++) {
      content_fill(bytes, writing.size, next++);
      engine_append(engine, bytes, writing.size);
    }
    engine_commit(engine);
    acknowledge(next - 1);
    rest -= batch;
  }
  engine_close(engine);
  free(bytes);
}

static void printEvent(void *context, const void *bytes, size_t byteCount) {
  uint64_t *count = context, number;
  bool isGood = content_check(bytes, byteCount, &number);
  printf("%" PRIu64 "%s\n", number, isGood ? "" : " bad");
  *count += 1;
}

static uint64_t microseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

static void verify(const char *directory) {
  uint64_t count = 0, opening = 0;
  if (!isMissingOrEmpty(directory)) {
    uint64_t start = microseconds();
    struct engine *engine = engine_open(directory);
    opening = microseconds() - start;
    engine_scan(engine, printEvent, &count);
    engine_close(engine);
  }
  printf("end %" PRIu64 " %" PRIu64 "\n", count, opening);
}

int main(int argumentCount, char *arguments[]) {
  if (argumentCount > 0) {
    const char *slash = strrchr(arguments[0], '/');
    program = slash == NULL ? arguments[0] : slash + 1;
  }
  // A limit on the size of files is an error like a full disk, not the end.
  if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR) peer_fail("cannot ignore a signal: %s", strerror(errno));
  if (argumentCount < 2) failUsage("a verb is missing");
  const char *verb = arguments[1];
  const char *directory = argumentCount > 2 ? arguments[2] : NULL;
  if (directory != NULL && (directory[0] == 0 || directory[0] == '-')) failUsage("a directory comes before the options");
  if (strcmp(verb, "describe") == 0) {
    if (argumentCount != 2) failUsage("describe takes no arguments");
    describe();
  } else if (strcmp(verb, "write") == 0) {
    if (directory == NULL) failUsage("write takes a directory");
    writeEvents(directory, parseWriting(arguments + 3));
  } else if (strcmp(verb, "verify") == 0) {
    if (argumentCount != 3) failUsage("verify takes a directory and nothing else");
    verify(directory);
  } else {
    failUsage("unknown verb");
  }
  if (fflush(stdout) != 0 || ferror(stdout)) peer_fail("cannot write to standard output");
  return 0;
}
