#pragma once
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

// Inputs of up to 240 bytes are hashed without vectors: choosing among them would cost more than the hash.
static inline uint64_t tidemark_xxh3_short(const void *bytes, size_t byteCount, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, byteCount, seed);
}

// On x86 the library also has forms that choose the widest vectors the processor has, 3 to 10 times as fast on long inputs. They are
// used wherever its header is installed; inline functions, because the header renames with macros, which do not reach Swift.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

static inline uint64_t tidemark_xxh3(const void *bytes, size_t byteCount, uint64_t seed) {
  return byteCount <= 240 ? tidemark_xxh3_short(bytes, byteCount, seed) : XXH3_64bits_withSeed(bytes, byteCount, seed);
}

static inline XXH128_hash_t tidemark_xxh3_128(const void *bytes, size_t byteCount) { return XXH3_128bits(bytes, byteCount); }

static inline void tidemark_xxh3_128_update(XXH3_state_t *state, const void *bytes, size_t byteCount) {
  XXH3_128bits_update(state, bytes, byteCount);
}
