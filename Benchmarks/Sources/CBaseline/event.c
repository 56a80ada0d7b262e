#include "BenchmarkEvent.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { textCount = 4096 };

// 2026-01-01, an event each millisecond, recorded 250 microseconds after it happened.
static const int64_t firstTime = 1767225600LL * 1000000000, stepNanoseconds = 1000000, delayNanoseconds = 250000;

static char texts[textCount][benchmark_event_data_byte_count];
static char subjects[textCount][benchmark_event_subject_byte_count];
static pthread_once_t once = PTHREAD_ONCE_INIT;

uint64_t benchmark_random(uint64_t *state) {
  uint64_t value = *state += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

static void makeTexts(void) {
  static const char *const places[] = {"EWR", "JFK", "LGA"};
  static const char *const carriers[] = {"UA", "AA", "B6", "DL", "EV", "MQ", "US", "WN"};
  uint64_t state = 1;
#define below(limit) ((unsigned)(benchmark_random(&state) % (limit)))
  for (int index = 0; index < textCount; index++) {
    char text[benchmark_event_data_byte_count + 1];
    unsigned minute = below(1440), aircraft = 10000 + below(89999);
    int length = snprintf(
      text, sizeof text,
      "{\"place\":\"%s\",\"gate\":\"%u\",\"flight\":\"%s%u\",\"aircraft\":\"N%u\",\"scheduled\":%u,\"actual\":%u,\"distance\":%u,\"note\":\"",
      places[below(3)], 1 + below(59), carriers[below(8)], 1 + below(5999), aircraft, minute, minute + below(90), 80 + below(4900));
    while (length < benchmark_event_data_byte_count - 2) text[length++] = (char)('0' + below(10));
    text[length++] = '"';
    text[length++] = '}';
    memcpy(texts[index], text, benchmark_event_data_byte_count);
    char subject[16];
    snprintf(subject, sizeof subject, "N%u", aircraft);
    memcpy(subjects[index], subject, benchmark_event_subject_byte_count);
  }
#undef below
}

int64_t benchmark_event_time(uint64_t number) { return firstTime + (int64_t)number * stepNanoseconds + delayNanoseconds; }

void benchmark_event_make(uint64_t number, struct benchmark_event *event) {
  pthread_once(&once, makeTexts);
  // Not sequential: neighbours in time are strangers in an index of ids.
  uint64_t state = number * 0xd1342543de82ef95u + 7;
  uint64_t words[2] = {benchmark_random(&state), benchmark_random(&state)};
  event->number = number;
  memcpy(event->id, words, sizeof words);
  event->id[6] = (unsigned char)((event->id[6] & 0x0f) | 0x40);
  event->id[8] = (unsigned char)((event->id[8] & 0x3f) | 0x80);
  memcpy(event->type, "scan", benchmark_event_type_byte_count);
  memcpy(event->subject, subjects[number % textCount], benchmark_event_subject_byte_count);
  event->recordedAt = benchmark_event_time(number);
  event->occurredAt = event->recordedAt - delayNanoseconds;
  event->data = texts[number % textCount];
}

void benchmark_event_pack(const struct benchmark_event *event, unsigned char bytes[benchmark_event_packed_byte_count]) {
  uint32_t length = benchmark_event_data_byte_count;
  memcpy(bytes, event->id, 16);
  memcpy(bytes + 16, &event->occurredAt, 8);
  memcpy(bytes + 24, &event->recordedAt, 8);
  bytes[32] = benchmark_event_type_byte_count;
  memcpy(bytes + 33, event->type, benchmark_event_type_byte_count);
  bytes[37] = benchmark_event_subject_byte_count;
  memcpy(bytes + 38, event->subject, benchmark_event_subject_byte_count);
  memcpy(bytes + 44, &length, 4);
  memcpy(bytes + 48, event->data, benchmark_event_data_byte_count);
}
