// libmicrohttpd, the HTTP server library. Its functions with a variable number of arguments, which Swift cannot call,
// get inline ones beside them here.
#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H
#include <microhttpd.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

// How a daemon is started. The texts have to stay until it is stopped.
struct cmicrohttpd_settings {
  int listen_socket;
  unsigned int connection_limit;
  unsigned int connections_per_address;
  unsigned int timeout_seconds;
  unsigned int threads;
  size_t memory_per_connection;
  const char *certificate;  // PEM; 0 without TLS
  const char *private_key;
};

// Starts a daemon with threads of its own on a socket that listens already. 0 when it cannot, as with a certificate that
// is none. `context` is handed to both functions.
static inline struct MHD_Daemon *cmicrohttpd_start(
    const struct cmicrohttpd_settings *settings, MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback completed,
    void *context) {
  // Not MHD_USE_AUTO, which would take epoll: by its edges the library (0.9.75) does not see that a client has gone when the
  // end came together with the last bytes, and keeps the connection until it has been idle for long.
  unsigned int flags = MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
  if (settings->certificate) flags |= MHD_USE_TLS;
  struct MHD_OptionItem tls[] = {
      {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)settings->certificate},
      {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)settings->private_key},
      {MHD_OPTION_END, 0, 0},
  };
  struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, 0}};
  return MHD_start_daemon(
      flags, 0, 0, 0, handle, context,
      MHD_OPTION_LISTEN_SOCKET, settings->listen_socket,
      MHD_OPTION_NOTIFY_COMPLETED, completed, context,
      MHD_OPTION_CONNECTION_LIMIT, settings->connection_limit,
      MHD_OPTION_PER_IP_CONNECTION_LIMIT, settings->connections_per_address,
      MHD_OPTION_CONNECTION_TIMEOUT, settings->timeout_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings->memory_per_connection,
      MHD_OPTION_THREAD_POOL_SIZE, settings->threads,
      MHD_OPTION_ARRAY, settings->certificate ? tls : none,
      MHD_OPTION_END);
}

// Sends bytes past the library, as far as the system takes them at once: for an answer while the client still sends.
static inline int cmicrohttpd_send_now(struct MHD_Connection *connection, const void *bytes, size_t count) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
#if defined(MSG_NOSIGNAL)
  return info && send(info->connect_fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)count;
#else
  return info && send(info->connect_fd, bytes, count, MSG_DONTWAIT) == (ssize_t)count;
#endif
}

// The socket of a connection; -1 when it has none.
static inline int cmicrohttpd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// Whether the other side of a socket has closed it, whatever it sent before and nobody has read yet: under TLS a
// client that ends in order says so with a last message. Takes nothing from what has come.
static inline int cmicrohttpd_is_closed(int socket) {
#if defined(__linux__)
  // In the headers of the system it is for those alone who define _GNU_SOURCE before the first of them.
#if defined(POLLRDHUP)
  const short closed_by_peer = POLLRDHUP;
#else
  const short closed_by_peer = 0x2000;
#endif
  struct pollfd state = {socket, closed_by_peer, 0};
  return poll(&state, 1, 0) > 0;
#else
  // Here poll tells the end as POLLHUP; where it does not, it is seen when nothing stands before it.
  struct pollfd state = {socket, POLLHUP, 0};
  if (poll(&state, 1, 0) > 0) return 1;
  char next;
  ssize_t count = recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
#endif
}
#endif
