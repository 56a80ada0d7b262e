#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "CBaseline.h"

static int client = -1;

static void *echo(void *context) {
  int server = *(int *)context;
  char byte;
  while (read(server, &byte, 1) == 1 && write(server, &byte, 1) == 1) {
  }
  close(server);
  return NULL;
}

static int connectPair(void) {
  static int accepted;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
    return -errno;
  }
  client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client < 0 || connect(client, (struct sockaddr *)&address, length) != 0) return -errno;
  accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  close(listener);
  if (accepted < 0) return -errno;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  pthread_t thread;
  int status = pthread_create(&thread, NULL, echo, &accepted);
  if (status == 0) pthread_detach(thread);
  return -status;
}

int baseline_round_trip(void) {
  if (client < 0) {
    int status = connectPair();
    if (status != 0) return status;
  }
  char byte = 0;
  if (write(client, &byte, 1) != 1 || read(client, &byte, 1) != 1) return -EIO;
  return 0;
}
