// Sums of JSON members by key in plain C, with the JSON parser yajl.
#include "CBaseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

enum { keyLimit = 1024, nameLimit = 64 };

struct entry {
  char name[nameLimit];
  size_t length;
  int64_t sum;
};

struct sums {
  const char *keyName, *valueName;
  size_t keyNameLength, valueNameLength;
  struct entry entries[keyLimit];  // an open table by a hash of the name
  uint64_t count;
  int depth;
  enum { other, key, value } next;
  char name[nameLimit];
  size_t nameLength;
  int64_t number;
  int found;
};

static int onMapKey(void *context, const unsigned char *text, size_t length) {
  struct sums *sums = context;
  sums->next = other;
  if (sums->depth != 1) return 1;
  if (length == sums->keyNameLength && memcmp(text, sums->keyName, length) == 0) sums->next = key;
  if (length == sums->valueNameLength && memcmp(text, sums->valueName, length) == 0) sums->next = value;
  return 1;
}

static int onString(void *context, const unsigned char *text, size_t length) {
  struct sums *sums = context;
  if (sums->depth == 1 && sums->next == key && length < nameLimit) {
    memcpy(sums->name, text, length);
    sums->nameLength = length;
    sums->found |= 1;
  }
  return 1;
}

static int onNumber(void *context, const char *text, size_t length) {
  struct sums *sums = context;
  if (sums->depth == 1 && sums->next == value) {
    sums->number = strtoll(text, NULL, 10);
    sums->found |= 2;
  }
  (void)length;
  return 1;
}

static int onStart(void *context) { return ((struct sums *)context)->depth++, 1; }
static int onEnd(void *context) { return ((struct sums *)context)->depth--, 1; }

static const yajl_callbacks callbacks = {
  .yajl_map_key = onMapKey,
  .yajl_string = onString,
  .yajl_number = onNumber,
  .yajl_start_map = onStart,
  .yajl_end_map = onEnd,
  .yajl_start_array = onStart,
  .yajl_end_array = onEnd,
};

static int add(struct sums *sums) {
  uint64_t hash = 14695981039346656037u;
  for (size_t index = 0; index < sums->nameLength; index++) hash = (hash ^ (unsigned char)sums->name[index]) * 1099511628211u;
  for (size_t probe = 0; probe < keyLimit; probe++) {
    struct entry *entry = &sums->entries[(hash + probe) % keyLimit];
    if (entry->length == 0) {
      memcpy(entry->name, sums->name, sums->nameLength);
      entry->length = sums->nameLength;
      sums->count++;
    }
    if (entry->length == sums->nameLength && memcmp(entry->name, sums->name, sums->nameLength) == 0) {
      entry->sum += sums->number;
      return 0;
    }
  }
  return -ENOSPC;
}

static int visit(void *context, const unsigned char *data, size_t byteCount) {
  struct sums *sums = context;
  sums->depth = 0;
  sums->found = 0;
  // It has no way to begin again but to make a new one.
  yajl_handle parser = yajl_alloc(&callbacks, NULL, sums);
  if (parser == NULL) return -ENOMEM;
  int isJSON = yajl_parse(parser, data, byteCount) == yajl_status_ok && yajl_complete_parse(parser) == yajl_status_ok;
  yajl_free(parser);
  if (!isJSON || sums->found != 3) return -EBADMSG;
  return add(sums);
}

int baseline_sum_json(
  const char *directory, const char *keyName, const char *valueName, struct baseline_replay *result, uint64_t *keyCount, int64_t *sum) {
  struct sums *sums = calloc(1, sizeof *sums);
  if (sums == NULL) return -ENOMEM;
  sums->keyName = keyName;
  sums->keyNameLength = strlen(keyName);
  sums->valueName = valueName;
  sums->valueNameLength = strlen(valueName);
  int status = baseline_replay_visiting(directory, visit, sums, result);
  *keyCount = sums->count;
  *sum = 0;
  for (size_t index = 0; index < keyLimit; index++) *sum += sums->entries[index].sum;
  free(sums);
  return status;
}
