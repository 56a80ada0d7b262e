// What is in an event: a function of its number and size alone, so that whoever reads it can tell whether it is whole.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { contentNumberByteCount = 8 };

/// splitmix64: a step of the state, and the output that belongs to it.
uint64_t content_random(uint64_t *state);

/// Fills `bytes` with the content of event `number`: the number as 8 bytes, little-endian, then the outputs of splitmix64, started with
/// the number, as little-endian words; the last word is cut. `byteCount` is at least 8.
void content_fill(unsigned char *bytes, size_t byteCount, uint64_t number);

/// Whether `bytes` is the content of an event of that size. `*number` is what the first 8 bytes say, even if the rest does not agree;
/// where there are fewer, those that are missing count as zero.
bool content_check(const unsigned char *bytes, size_t byteCount, uint64_t *number);
