// The plain C that the engine is measured against, and the few system calls that the benchmark needs.
// Functions return 0 or a positive value on success and -errno on failure, unless stated otherwise.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "BenchmarkEvent.h"

// Appending

/// Makes a file of `byteCount` zeros, written and synced, and returns its descriptor.
int baseline_create_written_ahead(const char *path, uint64_t byteCount);
/// Makes an empty file, which grows with each append, and returns its descriptor.
int baseline_create_growing(const char *path);
void baseline_close(int descriptor);

/// Appends `count` times `byteCount` bytes at `*position`, each with one pwrite and one fdatasync. Goes back to the start of the
/// file when the next record would end beyond `limit`. Stores how long each append took, in nanoseconds, unless `nanoseconds` is null.
int baseline_append_synced(
  int descriptor, uint64_t *position, uint64_t limit, size_t byteCount, size_t count, uint64_t *nanoseconds);

/// Appends `batchCount` batches of `eventCount` events: fills a buffer with 48 bytes of fields and a copy of `dataByteCount` bytes for
/// each, hashes the whole with XXH3-64 and writes it with one pwrite, without a sync.
/// `data` holds a pointer to each event's data.
int baseline_append_written(
  int descriptor, uint64_t *position, size_t batchCount, size_t eventCount, const void *const *data, size_t dataByteCount);

/// Makes a file of `byteCount` bytes in one go and syncs it: the least that writing an open segment out again can cost.
/// Stores how long that took.
int baseline_write_and_sync(const char *path, uint64_t byteCount, uint64_t *nanoseconds);

// Reading files as they are

/// Reads the files in a directory whose names end in `suffix` from end to end, 128 KiB at a time as `cat` does, and adds up their bytes. With
/// `hashes` each is hashed with XXH3-64, as `xxhsum -H3` does.
int baseline_read_files(const char *directory, const char *suffix, int hashes, uint64_t *byteCount);

/// Makes the page cache forget all files in a directory and below. Returns how many of their pages it kept all the same, or -errno.
int64_t baseline_forget_files(const char *directory);
/// Bytes of all files in a directory and below, as the file system has them allocated, or -errno.
int64_t baseline_allocated_byte_count(const char *directory);

// Rows

/// Upserts `count` rows into a new SQLite database in WAL mode, `perTransaction` to a transaction, with an offset in each, and closes it.
/// Keys and values lie behind one another, all of the same length. Returns 0 or a negative result code of SQLite.
int baseline_upsert(
  const char *path, const void *keys, int keyByteCount, const void *values, int valueByteCount, uint64_t count, uint64_t perTransaction);

// Replay

/// What a replay adds up.
struct baseline_replay {
  uint64_t frameCount;
  uint64_t eventCount;
  uint64_t dataByteCount;
  /// All events' times, added as unsigned numbers that wrap.
  uint64_t timeSum;
  uint64_t fileByteCount;
};

/// Reads every segment file of a log in 256 KiB chunks, verifies each frame's checksum, decompresses where needed, walks the records and
/// adds up the user events. `directory` is the log's directory. Returns -EBADMSG for a frame that does not verify.
int baseline_replay(const char *directory, struct baseline_replay *result);

/// Called with each event's data. Anything but 0 ends the replay.
typedef int baseline_visit(void *context, const unsigned char *data, size_t byteCount);
/// Likewise, and shows each user event's data to `visit`.
int baseline_replay_visiting(const char *directory, baseline_visit *visit, void *context, struct baseline_replay *result);

/// Likewise, and shows each record to `visit`, whole and of whatever kind.
int baseline_replay_records(const char *directory, baseline_visit *visit, void *context, struct baseline_replay *result);

/// Hashes a log's history as Specs/evidence.md has it, with libcrypto: descriptors, leaves, nodes. Stores the root's 32 bytes. For a log
/// without gaps.
int baseline_history(const char *directory, struct baseline_replay *result, unsigned char *root);

/// A log's records, one behind the other.
struct baseline_records {
  unsigned char *bytes;
  size_t byteCount;
};
/// Reads all records of a log into memory.
int baseline_read_records(const char *directory, struct baseline_records *records);
void baseline_free_records(struct baseline_records *records);
/// Likewise, but of records in memory, gone through so many times: nothing but hashing.
int baseline_hash_records(const struct baseline_records *records, int times, unsigned char *root);

/// Replays a log whose events are JSON objects and adds up one member by another, both at the top level: `keyName` a string, `valueName` a
/// whole number. The JSON is parsed by yajl. Stores the number of keys and the sum over all of them.
int baseline_sum_json(
  const char *directory, const char *keyName, const char *valueName, struct baseline_replay *result, uint64_t *keyCount, int64_t *sum);

// System

/// Monotonic nanoseconds.
uint64_t baseline_now(void);
/// Nanoseconds that the calling thread was at work.
uint64_t baseline_thread_now(void);
/// Resident bytes of a process (VmRSS), or -errno. Process 0 is the caller.
int64_t baseline_resident_byte_count(int process);
/// Bytes written and flushes of a block device such as `loop0`, since the system started.
int baseline_device_counters(const char *device, uint64_t *writtenByteCount, uint64_t *flushCount);
/// Syncs the file system that holds a path.
int baseline_sync_file_system(const char *path);
/// Sums the sizes of the files in a directory whose names end in `suffix`. Returns -errno on failure.
int64_t baseline_file_byte_count(const char *directory, const char *suffix);
/// Removes a directory and all that is in it.
int baseline_remove_tree(const char *path);
/// Starts a program with its standard output on a pipe; `*output` is the pipe's reading end. Returns the process id.
int baseline_spawn(const char *path, char *const arguments[], int *output);
/// Likewise, with its standard input on a pipe as well; `*input` is the pipe's writing end.
int baseline_spawn_with_input(const char *path, char *const arguments[], int *input, int *output);
/// Nanoseconds that all threads of the calling process were at work, and how often one of them gave up its processor to wait.
void baseline_usage(uint64_t *nanoseconds, uint64_t *switchCount);
/// Ends a process with SIGKILL and waits until it is gone.
int baseline_kill(int process);
/// Runs `body(context, index)` in `threadCount` threads at once and waits for all of them.
int baseline_run_threads(size_t threadCount, void (*body)(void *context, size_t index), void *context);

// Sends a byte through a TCP connection to a thread of this process, which sends it back.
int baseline_round_trip(void);
