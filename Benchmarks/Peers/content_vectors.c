// Prints the content of an event in hexadecimal: content-vectors NUMBER SIZE. For the self test, which knows the values from elsewhere.
#include <stdio.h>
#include <stdlib.h>

#include "content.h"

int main(int argumentCount, char *arguments[]) {
  if (argumentCount != 3) {
    fputs("usage: content-vectors NUMBER SIZE\n", stderr);
    return 2;
  }
  size_t byteCount = strtoull(arguments[2], NULL, 10);
  unsigned char *bytes = malloc(byteCount + 1);
  if (bytes == NULL) return 1;
  content_fill(bytes, byteCount, strtoull(arguments[1], NULL, 10));
  for (size_t index = 0; index < byteCount; index++) printf("%02x", bytes[index]);
  free(bytes);
  return puts("") < 0 || fflush(stdout) != 0 ? 1 : 0;
}
