// Misleads one process about the time and about names, for the campaign of tools/exactly_once.py: built as a shared library, and preloaded.
//
//   TIDEMARK_TEST_CLOCK   seconds by which the wall clock is off; other clocks are right
//   TIDEMARK_TEST_DNS     the name that stands for 127.0.0.1; with a dash before it, a name that nobody can resolve at the moment

#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

typedef int clock_call(clockid_t, struct timespec *);
typedef int resolve_call(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static clock_call *real_clock;
static resolve_call *real_resolve;
static time_t seconds_off;
static const char *name;

__attribute__((constructor)) static void prepare(void) {
  real_clock = (clock_call *)dlsym(RTLD_NEXT, "clock_gettime");
  real_resolve = (resolve_call *)dlsym(RTLD_NEXT, "getaddrinfo");
  const char *text = getenv("TIDEMARK_TEST_CLOCK");
  if (text) seconds_off = atol(text);
  name = getenv("TIDEMARK_TEST_DNS");
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  // Other libraries are prepared before this one.
  if (!real_clock) prepare();
  int code = real_clock(clock, now);
  if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += seconds_off;
  return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec precise;
  int code = clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return code;
}

time_t time(time_t *seconds) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds) *seconds = now.tv_sec;
  return now.tv_sec;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  if (node && name && name[0] == '-' && strcmp(node, name + 1) == 0) return EAI_AGAIN;
  if (node && name && strcmp(node, name) == 0) node = "127.0.0.1";
  return real_resolve(node, service, hints, found);
}
