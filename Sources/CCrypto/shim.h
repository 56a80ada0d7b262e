#pragma once
#include <openssl/evp.h>
#include <stddef.h>

/// SHA-256 of up to three parts, one behind the other, with a context and a digest that are used again and again. Returns 1, or 0 if the
/// library refuses.
static inline int tidemark_sha256(EVP_MD_CTX *context, const EVP_MD *digest, const void *first, size_t firstCount, const void *second,
                                  size_t secondCount, const void *third, size_t thirdCount, unsigned char *result) {
  return EVP_DigestInit_ex2(context, digest, NULL) == 1 && EVP_DigestUpdate(context, first, firstCount) == 1 &&
         (secondCount == 0 || EVP_DigestUpdate(context, second, secondCount) == 1) &&
         (thirdCount == 0 || EVP_DigestUpdate(context, third, thirdCount) == 1) && EVP_DigestFinal_ex(context, result, NULL) == 1;
}
