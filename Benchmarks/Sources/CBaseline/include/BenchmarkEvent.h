// The event that all contenders store: a function of its number alone, the same for engines in C and for ours.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum {
  benchmark_event_id_byte_count = 16,
  benchmark_event_type_byte_count = 4,
  benchmark_event_subject_byte_count = 6,
  benchmark_event_data_byte_count = 200,
  /// What ``benchmark_event_pack`` writes.
  benchmark_event_packed_byte_count = 248,
};

/// An event as an app in the field has it.
struct benchmark_event {
  uint64_t number;
  /// A random UUID (version 4).
  unsigned char id[benchmark_event_id_byte_count];
  /// `scan`, without a zero behind it.
  char type[benchmark_event_type_byte_count];
  /// An aircraft such as `N14228`, likewise.
  char subject[benchmark_event_subject_byte_count];
  /// When it happened and when it was recorded, in nanoseconds since 1970. Both grow with the number.
  int64_t occurredAt, recordedAt;
  /// 200 bytes of JSON that stay where they are. There are 4,096 texts, so that no compression window sees one twice.
  const char *data;
};

/// Makes event `number`. May be called from any thread.
void benchmark_event_make(uint64_t number, struct benchmark_event *event);

/// When event `number` was recorded, in nanoseconds since 1970.
int64_t benchmark_event_time(uint64_t number);

/// Writes an event for stores that keep bytes: id, the two times, then type, subject and data with their lengths before them.
void benchmark_event_pack(const struct benchmark_event *event, unsigned char bytes[benchmark_event_packed_byte_count]);

/// splitmix64: a step of the state, and the output that belongs to it.
uint64_t benchmark_random(uint64_t *state);
