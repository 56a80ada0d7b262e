// TCP between a machine under test and its witness.
#define _GNU_SOURCE
#include "CCrash.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>

// What either end asks of a connection: lines leave at once, no call waits for a peer that is gone, and that it is gone is noticed.
static void prepare(int connection) {
  int on = 1;
  struct timeval limit = {.tv_sec = 10};
  (void)fcntl(connection, F_SETFD, FD_CLOEXEC);
  (void)setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  (void)setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  (void)setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
#ifdef TCP_KEEPIDLE
  int seconds = 60;
  (void)setsockopt(connection, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
#endif
#ifdef TCP_USER_TIMEOUT
  unsigned milliseconds = 10000;
  (void)setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
#endif
}

int crash_connect(const char *host, uint16_t port) {
  char service[8];
  snprintf(service, sizeof service, "%u", (unsigned)port);
  struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
  if (getaddrinfo(host, service, &wanted, &found) != 0) return -2;
  int connection = -1, error = EHOSTUNREACH;
  for (struct addrinfo *address = found; address != NULL && connection < 0; address = address->ai_next) {
    connection = socket(address->ai_family, address->ai_socktype, address->ai_protocol);
    if (connection < 0) {
      error = errno;
      continue;
    }
    // On Linux the limit on sending is also one on connecting.
    prepare(connection);
    if (connect(connection, address->ai_addr, address->ai_addrlen) != 0) {
      error = errno == EINPROGRESS || errno == EAGAIN ? ETIMEDOUT : errno;
      close(connection);
      connection = -1;
    }
  }
  freeaddrinfo(found);
  if (connection < 0) errno = error;
  return connection;
}

int crash_listen(uint16_t port) {
  int on = 1, off = 0;
  struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_any};
  struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_ANY)};
  int listener = socket(AF_INET6, SOCK_STREAM, 0);
  bool is6 = listener >= 0;
  if (!is6) listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0) return -1;
  (void)fcntl(listener, F_SETFD, FD_CLOEXEC);
  (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (is6) (void)setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const struct sockaddr *address = is6 ? (const struct sockaddr *)&any6 : (const struct sockaddr *)&any4;
  socklen_t length = is6 ? sizeof any6 : sizeof any4;
  if (bind(listener, address, length) == 0 && listen(listener, 16) == 0) return listener;
  int error = errno;
  close(listener);
  errno = error;
  return -1;
}

int crash_port(int listener) {
  struct sockaddr_storage address = {0};
  socklen_t length = sizeof address;
  if (getsockname(listener, (struct sockaddr *)&address, &length) != 0) return -1;
  // The port is at the same place in both families.
  return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

int crash_accept(int listener) {
  int connection = accept(listener, NULL, NULL);
  if (connection >= 0) prepare(connection);
  return connection;
}

int crash_lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB); }
void crash_unlock(int descriptor) { (void)flock(descriptor, LOCK_UN); }
