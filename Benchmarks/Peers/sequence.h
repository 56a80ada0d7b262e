// Sequences as keys of stores that compare keys byte by byte: the highest byte first.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "peer.h"

enum { sequenceKeyByteCount = 8 };

static inline void sequence_key(char key[sequenceKeyByteCount], uint64_t sequence) {
  for (int index = 0; index < sequenceKeyByteCount; index++) key[index] = (char)(sequence >> 8 * (sequenceKeyByteCount - 1 - index));
}

static inline uint64_t sequence_of_key(const char *key, size_t byteCount) {
  if (byteCount != sequenceKeyByteCount) peer_fail("a key of %zu bytes, not of %d", byteCount, sequenceKeyByteCount);
  uint64_t sequence = 0;
  for (int index = 0; index < sequenceKeyByteCount; index++) sequence = sequence << 8 | (unsigned char)key[index];
  return sequence;
}
