#pragma once
#include <openssl/evp.h>
#include <stddef.h>
#include <string.h>

/// SHA-256 of up to three parts, one behind the other, with a context and a digest that are used again and again. Returns 1, or 0 if the
/// library refuses.
static inline int tidemark_sha256(EVP_MD_CTX *context, const EVP_MD *digest, const void *first, size_t firstCount, const void *second,
                                  size_t secondCount, const void *third, size_t thirdCount, unsigned char *result) {
  return EVP_DigestInit_ex2(context, digest, NULL) == 1 && EVP_DigestUpdate(context, first, firstCount) == 1 &&
         (secondCount == 0 || EVP_DigestUpdate(context, second, secondCount) == 1) &&
         (thirdCount == 0 || EVP_DigestUpdate(context, third, thirdCount) == 1) && EVP_DigestFinal_ex(context, result, NULL) == 1;
}

/// SHA-256 of the byte 1 and two digests: an inner node of a tree (RFC 6962, section 2.1). Returns 1, or 0 if the library refuses.
static inline int tidemark_sha256_node(EVP_MD_CTX *context, const EVP_MD *digest, const void *left, const void *right,
                                       unsigned char *result) {
  unsigned char input[65] = {1};
  memcpy(input + 1, left, 32);
  memcpy(input + 33, right, 32);
  return tidemark_sha256(context, digest, input, sizeof input, NULL, 0, NULL, 0, result);
}
