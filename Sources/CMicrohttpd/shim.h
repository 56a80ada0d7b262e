#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/// The first thing that the library had to say while a daemon was started.
struct tidemark_http_remark {
  bool is_closed;
  char text[256];
};

/// An address to listen on.
struct tidemark_http_address {
  struct sockaddr_storage storage;
  bool is_version_6;
  bool is_loopback;
};

/// Reads an IPv4 or IPv6 address in numbers. Returns whether it is one.
static inline bool tidemark_http_parse(const char *text, uint16_t port, struct tidemark_http_address *address) {
  memset(address, 0, sizeof *address);
  struct sockaddr_in *four = (struct sockaddr_in *)&address->storage;
  struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address->storage;
  if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    address->is_loopback = (ntohl(four->sin_addr.s_addr) >> 24) == 127;
    return true;
  }
  if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    address->is_version_6 = true;
    address->is_loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) != 0;
    return true;
  }
  return false;
}

static inline void tidemark_http_remarked(void *remark, const char *format, va_list arguments) {
  struct tidemark_http_remark *first = (struct tidemark_http_remark *)remark;
  if (first->is_closed || first->text[0] != 0) return;
  vsnprintf(first->text, sizeof first->text, format, arguments);
}

/// Callbacks and what they are called with. The library's own types; see its manual.
struct tidemark_http_callbacks {
  void *context;
  MHD_AccessHandlerCallback access;
  MHD_RequestCompletedCallback completed;
  MHD_NotifyConnectionCallback connection;
  void *(*target)(void *context, const char *uri, struct MHD_Connection *connection);
};

struct tidemark_http_limits {
  unsigned int threads;
  unsigned int connections;
  unsigned int connections_per_address;
  unsigned int idle_seconds;
  size_t memory;
};

/// Starts a daemon with threads that wait by poll. Returns NULL with errno, or with a remark.
///
/// Not by epoll: the library asks that for edges, and takes a read that is shorter than its buffer for the last. The end of a connection
/// that comes together with its last bytes is then not seen before the timeout (0.9.75; tools/http_abuse.py finds the connections).
static inline struct MHD_Daemon *tidemark_http_start(const struct tidemark_http_address *address,
                                                     const struct tidemark_http_callbacks *callbacks,
                                                     const struct tidemark_http_limits *limits, const char *certificate,
                                                     const char *key, struct tidemark_http_remark *remark) {
  struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate},
                                 {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key},
                                 {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"},
                                 {MHD_OPTION_END, 0, NULL}};
  struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
  unsigned int flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  if (address->is_version_6) flags |= MHD_USE_IPv6;
  if (certificate != NULL) flags |= MHD_USE_TLS;
  remark->is_closed = false;
  remark->text[0] = 0;
  errno = 0;
  struct MHD_Daemon *daemon = MHD_start_daemon(
      flags, 0, NULL, NULL, callbacks->access, callbacks->context,
      // First, so that it hears what the other options lead to.
      MHD_OPTION_EXTERNAL_LOGGER, tidemark_http_remarked, remark,  //
      MHD_OPTION_ARRAY, certificate != NULL ? tls : none,          //
      MHD_OPTION_SOCK_ADDR, (const struct sockaddr *)&address->storage,
      MHD_OPTION_THREAD_POOL_SIZE, limits->threads,                            //
      MHD_OPTION_CONNECTION_LIMIT, limits->connections,                        //
      MHD_OPTION_PER_IP_CONNECTION_LIMIT, limits->connections_per_address,     //
      MHD_OPTION_CONNECTION_TIMEOUT, limits->idle_seconds,                     //
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits->memory,                      //
      MHD_OPTION_STRICT_FOR_CLIENT, 1,                                         //
      MHD_OPTION_NOTIFY_COMPLETED, callbacks->completed, callbacks->context,   //
      MHD_OPTION_NOTIFY_CONNECTION, callbacks->connection, callbacks->context, //
      MHD_OPTION_URI_LOG_CALLBACK, callbacks->target, callbacks->context,      //
      MHD_OPTION_END);
  remark->is_closed = daemon != NULL;
  return daemon;
}

/// The port that a daemon listens on; 0 if it does not tell.
static inline uint16_t tidemark_http_port(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info == NULL ? 0 : info->port;
}

/// What the callback for connections left with a connection.
static inline void *tidemark_http_connection_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

/// A connection's socket; -1 if it has none.
static inline int tidemark_http_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

/// The bytes of a request's line and header fields.
static inline size_t tidemark_http_header_bytes(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info == NULL ? 0 : info->header_size;
}

/// Writes the address at the other end as text; `text` holds 64 bytes.
static inline void tidemark_http_peer(struct MHD_Connection *connection, char *text) {
  text[0] = 0;
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == NULL || info->client_addr == NULL) return;
  const struct sockaddr *address = info->client_addr;
  if (address->sa_family == AF_INET) inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text, 64);
  if (address->sa_family == AF_INET6) inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text, 64);
}

/// Ends a connection from any thread, as if the other end had: the library then closes it.
static inline void tidemark_http_cut(int socket) { shutdown(socket, SHUT_RDWR); }

/// Whether a connection begins; otherwise it ends.
static inline bool tidemark_http_is_start(enum MHD_ConnectionNotificationCode code) { return code == MHD_CONNECTION_NOTIFY_STARTED; }

/// Whether a request ended with its answer sent.
static inline bool tidemark_http_is_complete(enum MHD_RequestTerminationCode code) { return code == MHD_REQUEST_TERMINATED_COMPLETED_OK; }
