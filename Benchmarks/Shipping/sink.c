// The least that takes uploads over TLS and keeps them: appends each body to one file, syncs it, and answers.
//
//   sink FILE CERTIFICATE KEY    prints its port
//
// cc -O2 sink.c -lmicrohttpd
#define _GNU_SOURCE
#include <fcntl.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int file = -1;

static char *contents(const char *path) {
  FILE *stream = fopen(path, "rb");
  if (stream == NULL) return NULL;
  char *text = calloc(1, 1 << 16);
  if (text != NULL && fread(text, 1, (1 << 16) - 1, stream) == 0) text[0] = 0;
  fclose(stream);
  return text;
}

static enum MHD_Result serve(
  void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version, const char *data,
  size_t *byteCount, void **state) {
  (void)context, (void)url, (void)method, (void)version;
  static bool isGood;
  if (*state == NULL) {
    isGood = true;
    *state = &isGood;
    return MHD_YES;
  }
  if (*byteCount > 0) {
    isGood = isGood && write(file, data, *byteCount) == (ssize_t)*byteCount;
    *byteCount = 0;
    return MHD_YES;
  }
  isGood = isGood && fdatasync(file) == 0;
  struct MHD_Response *response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
  enum MHD_Result result = MHD_queue_response(connection, isGood ? 200 : 507, response);
  MHD_destroy_response(response);
  return result;
}

int main(int count, char **arguments) {
  if (count != 4) return fprintf(stderr, "usage: sink FILE CERTIFICATE KEY\n"), 2;
  char *certificate = contents(arguments[2]), *key = contents(arguments[3]);
  file = open(arguments[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || certificate == NULL || key == NULL) return perror("sink"), 1;
  // One thread, as one client is served.
  struct MHD_Daemon *daemon = MHD_start_daemon(
    MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TLS, 0, NULL, NULL, serve, NULL, MHD_OPTION_HTTPS_MEM_CERT, certificate,
    MHD_OPTION_HTTPS_MEM_KEY, key, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)256 << 10, MHD_OPTION_END);
  if (daemon == NULL) return fprintf(stderr, "sink: the server does not start\n"), 1;
  printf("%u\n", (unsigned)MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
  fflush(stdout);
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  int signal = 0;
  sigprocmask(SIG_BLOCK, &end, NULL);
  sigwait(&end, &signal);
  MHD_stop_daemon(daemon);
  return 0;
}
