// A contender is a program that keeps events in a store and takes commands on its standard input, so that several of them can be measured
// in turns while all their stores stay open. `contender.c` is the command line, the threads and the clock, the same for all; each engine
// has one source file with the functions below.
//
// None of the functions returns an error: what goes wrong ends the program through `contender_fail`.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "BenchmarkEvent.h"

/// A store, open. `form` is how events are laid out and how durable a commit is, such as `outbox-full`; one that the engine does not have
/// ends the program.
struct store;
struct store *store_open(const char *form, const char *directory);
void store_close(struct store *store);

/// What one thread needs to append.
struct writer;
struct writer *writer_open(struct store *store);
/// Appends events in one commit. When it returns, they are as durable as the form says.
void writer_append(struct writer *writer, const struct benchmark_event *events, size_t count);
void writer_close(struct writer *writer);

/// Between the two, commits of all writers need not be durable; when `store_end_bulk` returns, all are.
void store_begin_bulk(struct store *store);
void store_end_bulk(struct store *store);

/// Does at once what the engine would do sooner or later to what it has: compact, compress, shorten its log.
void store_settle(struct store *store);

struct totals {
  uint64_t eventCount, dataByteCount, timeSum;
};
/// Visits every event in the order in which they were appended and adds up their sizes and times. Says false without doing anything where
/// the store can't be read.
bool store_replay(struct store *store, struct totals *totals);

/// Looks an event up and copies its data, 200 bytes; -1 if this form has no such index, 0 if there is no such event, 1 if it was found.
int store_find_id(struct store *store, const unsigned char id[16], char *data);
int store_find_number(struct store *store, uint64_t number, char *data);

/// Adds up the events that were recorded in a range of time, both ends included, by an index. False if this form has none.
bool store_range(struct store *store, int64_t from, int64_t to, struct totals *totals);

/// Set when the time of a command is up: whoever still waits for a lock may give up, and its event does not count.
extern _Atomic bool contender_is_over;

/// Prints one line on standard error and ends the program.
_Noreturn void contender_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// Memory, or the end of the program.
void *contender_allocate(size_t byteCount);
