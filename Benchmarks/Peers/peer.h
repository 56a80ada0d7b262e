// A peer is a program that keeps events in a store of some other engine, to be compared with ours. `peer.c` is its command line and the
// same for all; each engine has one source file with the functions below, built once for each of its settings (`PEER_SETTING`).
//
// None of the functions returns an error: what goes wrong ends the program through `peer_fail`, as it would end an app that must not go on
// without its store.
#pragma once
#include <stddef.h>

struct peer_description {
  /// The engine, such as `sqlite`.
  const char *name;
  /// How it is set, such as `wal-full`.
  const char *setting;
  /// What its makers say an acknowledged commit survives: `power`, `process` (kill -9 but no power cut) or `none`.
  const char *claims;
  /// The version of the library in use.
  const char *library;
};

struct peer_description engine_description(void);

/// A store with what is needed to append to it. Each engine has its own.
struct engine;

/// Opens the store in a directory that is there, and makes it if it is not. The engine's recovery is done when this returns.
struct engine *engine_open(const char *directory);

/// Begins a commit, adds an event behind all others, and ends the commit. When `engine_commit` has returned, the engine's promise holds.
void engine_begin(struct engine *engine);
void engine_append(struct engine *engine, const void *bytes, size_t byteCount);
void engine_commit(struct engine *engine);

typedef void engine_visitor(void *context, const void *bytes, size_t byteCount);

/// Visits every event in the order in which they were appended, with all checks that the engine has.
void engine_scan(struct engine *engine, engine_visitor *visit, void *context);

void engine_close(struct engine *engine);

/// Prints one line on standard error, after what standard output still holds, and ends the program with exit code 1. Nothing is closed: the
/// store is left as a crash would leave it.
_Noreturn void peer_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
