#define _GNU_SOURCE
#include "contender.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

_Atomic bool contender_is_over;

enum { bulkBatch = 10000, maximumBatch = 100000, maximumThreads = 256 };

_Noreturn void contender_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  // Without the exit handlers: threads of the engine may still be running.
  _exit(1);
}

void *contender_allocate(size_t byteCount) {
  void *bytes = calloc(1, byteCount);
  if (bytes == NULL) contender_fail("out of memory");
  return bytes;
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// Answers

/// What work has cost this process so far: all of its threads, those of the engine too.
struct usage {
  uint64_t nanoseconds, switches;
};

static struct usage usage(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  uint64_t seconds = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
  uint64_t microseconds = (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  return (struct usage){seconds * 1000000000 + microseconds * 1000, (uint64_t)usage.ru_nvcsw};
}

/// Prints the beginning of an answer: how many events, how long it took, what it took of the processors, and how often a thread waited.
static void answer(uint64_t eventCount, uint64_t nanoseconds, struct usage before) {
  struct usage after = usage();
  printf(
    "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, eventCount, nanoseconds, after.nanoseconds - before.nanoseconds,
    after.switches - before.switches);
}

// Appending

static void makeEvents(struct benchmark_event *events, uint64_t first, uint64_t count) {
  for (uint64_t index = 0; index < count; index++) benchmark_event_make(first + index, &events[index]);
}

/// Only commits are timed: the events are there before.
static void append(struct writer *writer, uint64_t first, uint64_t count, uint64_t batch) {
  struct benchmark_event *events = contender_allocate(batch * sizeof *events);
  uint64_t commitCount = (count + batch - 1) / batch, sum = 0;
  uint64_t *taken = contender_allocate((commitCount + 1) * sizeof *taken);
  struct usage before = usage();
  for (uint64_t commit = 0; commit < commitCount; commit++) {
    uint64_t size = count - commit * batch < batch ? count - commit * batch : batch;
    makeEvents(events, first + commit * batch, size);
    uint64_t start = now();
    writer_append(writer, events, size);
    taken[commit] = now() - start;
    sum += taken[commit];
  }
  answer(count, sum, before);
  for (uint64_t commit = 0; commit < commitCount; commit++) printf(" %" PRIu64, taken[commit]);
  free(events);
  free(taken);
}

static void bulk(struct store *store, struct writer *writer, uint64_t first, uint64_t count) {
  struct benchmark_event *events = contender_allocate(bulkBatch * sizeof *events);
  struct usage before = usage();
  uint64_t start = now();
  store_begin_bulk(store);
  for (uint64_t done = 0; done < count; done += bulkBatch) {
    uint64_t size = count - done < bulkBatch ? count - done : bulkBatch;
    makeEvents(events, first + done, size);
    writer_append(writer, events, size);
  }
  store_end_bulk(store);
  answer(count, now() - start, before);
  free(events);
}

// Threads

/// Events that threads hand to one that commits all that wait together. Guarded by the lock, but for `batch`, which is the committer's.
struct queue {
  pthread_mutex_t lock;
  pthread_cond_t filled, committed;
  struct benchmark_event *waiting, *batch;
  size_t count;
  uint64_t submittedCount, committedCount;
  bool isOver;
};

/// What the threads of one command share.
struct crowd {
  struct store *store;
  struct queue *queue;  // null: each thread commits by itself
  pthread_barrier_t start;
  _Atomic uint64_t next, count;
  uint64_t milliseconds;
};

static void submit(struct queue *queue, const struct benchmark_event *event) {
  pthread_mutex_lock(&queue->lock);
  queue->waiting[queue->count++] = *event;
  uint64_t ticket = ++queue->submittedCount;
  pthread_cond_signal(&queue->filled);
  while (queue->committedCount < ticket) pthread_cond_wait(&queue->committed, &queue->lock);
  pthread_mutex_unlock(&queue->lock);
}

static void *commitQueue(void *argument) {
  struct crowd *crowd = argument;
  struct queue *queue = crowd->queue;
  struct writer *writer = writer_open(crowd->store);
  pthread_mutex_lock(&queue->lock);
  for (;;) {
    while (queue->count == 0 && !queue->isOver) pthread_cond_wait(&queue->filled, &queue->lock);
    if (queue->count == 0) break;
    struct benchmark_event *batch = queue->waiting;
    size_t count = queue->count;
    uint64_t submittedCount = queue->submittedCount;
    queue->waiting = queue->batch;
    queue->batch = batch;
    queue->count = 0;
    pthread_mutex_unlock(&queue->lock);
    writer_append(writer, batch, count);
    pthread_mutex_lock(&queue->lock);
    queue->committedCount = submittedCount;
    pthread_cond_broadcast(&queue->committed);
  }
  pthread_mutex_unlock(&queue->lock);
  writer_close(writer);
  return NULL;
}

static void *appendUntilOver(void *argument) {
  struct crowd *crowd = argument;
  struct writer *writer = crowd->queue == NULL ? writer_open(crowd->store) : NULL;
  struct benchmark_event event;
  pthread_barrier_wait(&crowd->start);
  uint64_t done = 0, end = now() + crowd->milliseconds * 1000000;
  while (now() < end) {
    benchmark_event_make(atomic_fetch_add(&crowd->next, 1), &event);
    if (writer == NULL) submit(crowd->queue, &event);
    else writer_append(writer, &event, 1);
    // What ends late does not count: a thread that waited for long must not stretch the time of all.
    if (now() <= end) done++;
  }
  contender_is_over = true;
  atomic_fetch_add(&crowd->count, done);
  if (writer != NULL) writer_close(writer);
  return NULL;
}

static pthread_t startThread(void *(*body)(void *), struct crowd *crowd) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, crowd) != 0) contender_fail("cannot start a thread");
  return thread;
}

static void appendInThreads(struct store *store, uint64_t first, uint64_t threadCount, uint64_t milliseconds, bool isQueued) {
  struct queue queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .committed = PTHREAD_COND_INITIALIZER};
  struct crowd crowd = {.store = store, .queue = isQueued ? &queue : NULL, .next = first, .milliseconds = milliseconds};
  pthread_t threads[maximumThreads], committer = 0;
  contender_is_over = false;
  pthread_barrier_init(&crowd.start, NULL, (unsigned)threadCount + 1);
  if (isQueued) {
    queue.waiting = contender_allocate(threadCount * sizeof *queue.waiting);
    queue.batch = contender_allocate(threadCount * sizeof *queue.batch);
    committer = startThread(commitQueue, &crowd);
  }
  for (uint64_t index = 0; index < threadCount; index++) threads[index] = startThread(appendUntilOver, &crowd);
  struct usage before = usage();
  pthread_barrier_wait(&crowd.start);
  for (uint64_t index = 0; index < threadCount; index++) pthread_join(threads[index], NULL);
  answer(crowd.count, milliseconds * 1000000, before);
  if (isQueued) {
    pthread_mutex_lock(&queue.lock);
    queue.isOver = true;
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.lock);
    pthread_join(committer, NULL);
    free(queue.waiting);
    free(queue.batch);
  }
  pthread_barrier_destroy(&crowd.start);
}

// Reading

static void settle(struct store *store) {
  struct usage before = usage();
  uint64_t start = now();
  store_settle(store);
  answer(0, now() - start, before);
}

static void printTotals(const struct totals *totals) {
  printf(" %" PRIu64 " %" PRIu64, totals->dataByteCount, totals->timeSum);
}

static void replay(struct store *store) {
  struct totals totals = {0};
  struct usage before = usage();
  uint64_t start = now();
  if (!store_replay(store, &totals)) {
    printf("no such reading");
    return;
  }
  answer(totals.eventCount, now() - start, before);
  printTotals(&totals);
}

static void range(struct store *store, uint64_t first, uint64_t count) {
  struct totals totals = {0};
  struct usage before = usage();
  uint64_t start = now();
  if (!store_range(store, benchmark_event_time(first), benchmark_event_time(first + count - 1), &totals)) {
    printf("no index of times");
    return;
  }
  answer(totals.eventCount, now() - start, before);
  printTotals(&totals);
}

/// Looks up `count` events below `limit`, by id or by number, and checks what comes back.
static void find(struct store *store, bool byID, uint64_t count, uint64_t limit, uint64_t seed) {
  char data[benchmark_event_data_byte_count];
  struct benchmark_event event;
  uint64_t sum = 0;
  struct usage before = usage();
  for (uint64_t index = 0; index < count; index++) {
    benchmark_event_make(benchmark_random(&seed) % limit, &event);
    uint64_t start = now();
    int found = byID ? store_find_id(store, event.id, data) : store_find_number(store, event.number, data);
    sum += now() - start;
    if (found < 0) {
      printf("no such index");
      return;
    }
    if (found == 0) contender_fail("event %" PRIu64 " was not found", event.number);
    if (memcmp(data, event.data, sizeof data) != 0) contender_fail("event %" PRIu64 " is not what it was", event.number);
  }
  answer(count, sum, before);
}

static uint64_t residentByteCount(void) {
  char line[256];
  unsigned long long kibibytes = 0;
  FILE *file = fopen("/proc/self/status", "re");
  if (file == NULL) contender_fail("cannot read the memory in use");
  while (fgets(line, sizeof line, file) != NULL && sscanf(line, "VmRSS: %llu", &kibibytes) != 1) {}
  fclose(file);
  return kibibytes * 1024;
}

// Commands

/// Carries out one command; false after the last.
static bool obey(struct store *store, struct writer *writer, const char *line) {
  char verb[16];
  uint64_t a = 0, b = 0, c = 0;
  int count = sscanf(line, "%15s %" SCNu64 " %" SCNu64 " %" SCNu64, verb, &a, &b, &c);
  bool isOver = false;
  if (count == 4 && strcmp(verb, "append") == 0 && c > 0 && c <= maximumBatch) {
    append(writer, a, b, c);
  } else if (count == 3 && strcmp(verb, "bulk") == 0) {
    bulk(store, writer, a, b);
  } else if (count == 4 && strcmp(verb, "threads") == 0 && b > 0 && b <= maximumThreads) {
    appendInThreads(store, a, b, c, false);
  } else if (count == 4 && strcmp(verb, "queued") == 0 && b > 0 && b <= maximumThreads) {
    appendInThreads(store, a, b, c, true);
  } else if (count == 1 && strcmp(verb, "settle") == 0) {
    settle(store);
  } else if (count == 1 && strcmp(verb, "replay") == 0) {
    replay(store);
  } else if (count == 4 && strcmp(verb, "ids") == 0 && b > 0) {
    find(store, true, a, b, c);
  } else if (count == 4 && strcmp(verb, "numbers") == 0 && b > 0) {
    find(store, false, a, b, c);
  } else if (count == 3 && strcmp(verb, "range") == 0 && b > 0) {
    range(store, a, b);
  } else if (count == 1 && strcmp(verb, "memory") == 0) {
    printf("%" PRIu64, residentByteCount());
  } else if (count == 1 && strcmp(verb, "close") == 0) {
    uint64_t start = now();
    struct usage before = usage();
    writer_close(writer);
    store_close(store);
    answer(0, now() - start, before);
    isOver = true;
  } else {
    contender_fail("unknown command: %s", line);
  }
  putchar('\n');
  if (fflush(stdout) != 0) contender_fail("cannot answer");
  return !isOver;
}

int main(int argumentCount, char *arguments[]) {
  if (argumentCount != 3) contender_fail("usage: %s FORM DIR, an existing directory; commands on standard input", arguments[0]);
  struct usage before = usage();
  uint64_t start = now();
  struct store *store = store_open(arguments[1], arguments[2]);
  struct writer *writer = writer_open(store);
  answer(0, now() - start, before);
  putchar('\n');
  fflush(stdout);
  char line[256];
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (!obey(store, writer, line)) return 0;
  }
  return 0;
}
