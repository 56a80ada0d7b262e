// The history tree of a log as Specs/evidence.md describes it, without the engine.
#include "CBaseline.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum {
  digestByteCount = 32,
  recordFieldByteCount = 48,
  levelLimit = 64,
};

struct history {
  EVP_MD_CTX *context;
  EVP_MD *digest;
  uint64_t size;
  unsigned char subtrees[levelLimit][digestByteCount];
  int subtreeCount;
  unsigned char empty[digestByteCount];
  // The byte 0, then the first 100 bytes of a descriptor.
  unsigned char prefix[101];
};

static int hash(struct history *history, const void *first, size_t firstCount, const void *second, size_t secondCount, unsigned char *result) {
  int isDone = EVP_DigestInit_ex2(history->context, history->digest, NULL) && EVP_DigestUpdate(history->context, first, firstCount) &&
               EVP_DigestUpdate(history->context, second, secondCount) && EVP_DigestFinal_ex(history->context, result, NULL);
  return isDone ? 0 : -EIO;
}

static int node(struct history *history, const unsigned char *left, unsigned char *right) {
  unsigned char input[1 + 2 * digestByteCount] = {1};
  memcpy(input + 1, left, digestByteCount);
  memcpy(input + 1 + digestByteCount, right, digestByteCount);
  return hash(history, input, sizeof input, NULL, 0, right);
}

static int addRecord(void *context, const unsigned char *record, size_t byteCount) {
  struct history *history = context;
  size_t extensionCount = record[46] | (size_t)record[47] << 8;
  size_t head = recordFieldByteCount + record[7] + record[42] + record[43] + (record[44] | (size_t)record[45] << 8);
  int status = 0;
  memcpy(history->prefix + 37, history->empty, digestByteCount);
  if (extensionCount > 0) status = hash(history, record + head, extensionCount, NULL, 0, history->prefix + 37);
  size_t dataCount = byteCount - head - extensionCount;
  if (status == 0) status = hash(history, record + head + extensionCount, dataCount, NULL, 0, history->prefix + 69);
  unsigned char leaf[digestByteCount];
  if (status == 0) status = hash(history, history->prefix, sizeof history->prefix, record, head, leaf);
  // A session is in force for the records behind it.
  if (record[4] == 2) memcpy(history->prefix + 5, history->prefix + 69, digestByteCount);
  for (uint64_t bits = history->size; status == 0 && bits & 1; bits >>= 1) {
    status = node(history, history->subtrees[--history->subtreeCount], leaf);
  }
  memcpy(history->subtrees[history->subtreeCount++], leaf, digestByteCount);
  history->size++;
  return status;
}

static int begin(struct history *history) {
  *history = (struct history){.context = EVP_MD_CTX_new(), .digest = EVP_MD_fetch(NULL, "SHA256", NULL)};
  if (history->context == NULL || history->digest == NULL) return -ENOMEM;
  memcpy(history->prefix + 1, "TMD1", 4);
  return hash(history, NULL, 0, NULL, 0, history->empty);
}

static int end(struct history *history, int status, unsigned char *root) {
  memcpy(root, history->empty, digestByteCount);
  if (history->subtreeCount > 0) memcpy(root, history->subtrees[history->subtreeCount - 1], digestByteCount);
  for (int index = history->subtreeCount - 2; status == 0 && index >= 0; index--) status = node(history, history->subtrees[index], root);
  EVP_MD_CTX_free(history->context);
  EVP_MD_free(history->digest);
  return status;
}

int baseline_history(const char *directory, struct baseline_replay *result, unsigned char *root) {
  struct history history;
  int status = begin(&history);
  if (status == 0) status = baseline_replay_records(directory, addRecord, &history, result);
  return end(&history, status, root);
}

static int keepRecord(void *context, const unsigned char *record, size_t byteCount) {
  struct baseline_records *records = context;
  unsigned char *bytes = realloc(records->bytes, records->byteCount + byteCount);
  if (bytes == NULL) return -ENOMEM;
  memcpy(bytes + records->byteCount, record, byteCount);
  records->bytes = bytes;
  records->byteCount += byteCount;
  return 0;
}

int baseline_read_records(const char *directory, struct baseline_records *records) {
  struct baseline_replay result;
  *records = (struct baseline_records){0};
  return baseline_replay_records(directory, keepRecord, records, &result);
}

int baseline_hash_records(const struct baseline_records *records, int times, unsigned char *root) {
  struct history history;
  int status = begin(&history);
  for (int turn = 0; status == 0 && turn < times; turn++) {
    for (size_t at = 0; status == 0 && at < records->byteCount;) {
      uint32_t byteCount;
      memcpy(&byteCount, records->bytes + at, sizeof byteCount);
      status = addRecord(&history, records->bytes + at, byteCount);
      at += byteCount;
    }
  }
  return end(&history, status, root);
}

void baseline_free_records(struct baseline_records *records) { free(records->bytes); }
