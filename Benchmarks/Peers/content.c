#include "content.h"

enum { wordByteCount = 8 };

uint64_t content_random(uint64_t *state) {
  uint64_t word = *state += 0x9e3779b97f4a7c15u;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
  word = (word ^ word >> 27) * 0x94d049bb133111ebu;
  return word ^ word >> 31;
}

static unsigned char byteOf(uint64_t word, size_t index) { return (unsigned char)(word >> 8 * index); }

static size_t least(size_t one, size_t other) { return one < other ? one : other; }

void content_fill(unsigned char *bytes, size_t byteCount, uint64_t number) {
  uint64_t state = number, word = number;
  for (size_t start = 0; start < byteCount; start += wordByteCount, word = content_random(&state)) {
    size_t count = least(wordByteCount, byteCount - start);
    for (size_t index = 0; index < count; index++) bytes[start + index] = byteOf(word, index);
  }
}

bool content_check(const unsigned char *bytes, size_t byteCount, uint64_t *number) {
  *number = 0;
  for (size_t index = 0; index < least(contentNumberByteCount, byteCount); index++) *number |= (uint64_t)bytes[index] << 8 * index;
  if (byteCount < contentNumberByteCount) return false;
  uint64_t state = *number;
  for (size_t start = contentNumberByteCount; start < byteCount; start += wordByteCount) {
    uint64_t word = content_random(&state);
    size_t count = least(wordByteCount, byteCount - start);
    for (size_t index = 0; index < count; index++) {
      if (bytes[start + index] != byteOf(word, index)) return false;
    }
  }
  return true;
}
