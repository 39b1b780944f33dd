// libmicrohttpd, the HTTP server library. Its functions with a variable number of arguments, which Swift cannot call,
// get inline ones beside them here.
#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H
#include <microhttpd.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
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

// Leaves percent escapes as they are: resolved, `%2F` could not be told from a separator, and `%00` would cut the path.
static inline size_t cmicrohttpd_keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strlen(text);
}

// Up to version 0.9 the library parses a request in its buffer, in place: it writes zeros over separators and keeps pointers to
// names and values. So their places tell how the lines were written, which the values themselves do not.
static inline int cmicrohttpd_parses_in_place(void) { return strncmp(MHD_get_version(), "0.", 2) == 0; }

// What stands in the slot of a request whose target a NUL has cut, before anything else is written there.
#define CMICROHTTPD_CUT ((void *)1)

static inline int cmicrohttpd_is_cut(const void *slot) { return slot == CMICROHTTPD_CUT; }

// Called with the target of a request before it is divided. The version follows it, unless the target has a NUL. Later a NUL
// at its end looks like the `?` of an empty query, over which the library writes a zero.
static inline void *cmicrohttpd_see_target(void *context, const char *target, struct MHD_Connection *connection) {
  (void)context;
  (void)connection;
  if (!cmicrohttpd_parses_in_place()) return 0;
  return strncmp(target + strlen(target) + 1, "HTTP/", 5) == 0 ? 0 : CMICROHTTPD_CUT;
}

// Starts a daemon with threads of its own on a socket that listens already. 0 when it cannot, as with a certificate that
// is none. `context` is handed to `handle` and `completed`, `connections` to `notify`.
static inline struct MHD_Daemon *cmicrohttpd_start(
    const struct cmicrohttpd_settings *settings, MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback completed,
    void *context, MHD_NotifyConnectionCallback notify, void *connections) {
  // Not MHD_USE_AUTO, which would take epoll: by its edges the library (0.9.75) does not see that a client has gone when the
  // end came together with the last bytes, and keeps the connection until it has been idle for long.
  unsigned int flags = MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
  if (settings->certificate) flags |= MHD_USE_TLS;
  struct MHD_OptionItem tls[] = {
      {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)settings->certificate},
      {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)settings->private_key},
      {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
      {MHD_OPTION_END, 0, 0},
  };
  struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, 0}};
  // The strict level of version 0.9 refuses less than `RequestHead` does, and answers twice.
#if MHD_VERSION >= 0x00097701
  const enum MHD_OPTION option = MHD_OPTION_CLIENT_DISCIPLINE_LVL;
  const int level = 1;
#else
  const enum MHD_OPTION option = MHD_OPTION_STRICT_FOR_CLIENT;
  const int level = 0;
#endif
  return MHD_start_daemon(
      flags, 0, 0, 0, handle, context,
      MHD_OPTION_LISTEN_SOCKET, settings->listen_socket,
      MHD_OPTION_NOTIFY_COMPLETED, completed, context,
      MHD_OPTION_NOTIFY_CONNECTION, notify, connections,
      MHD_OPTION_UNESCAPE_CALLBACK, cmicrohttpd_keep_escapes, (void *)0,
      MHD_OPTION_URI_LOG_CALLBACK, cmicrohttpd_see_target, (void *)0,
      option, level,
      MHD_OPTION_CONNECTION_LIMIT, settings->connection_limit,
      MHD_OPTION_PER_IP_CONNECTION_LIMIT, settings->connections_per_address,
      MHD_OPTION_CONNECTION_TIMEOUT, settings->timeout_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings->memory_per_connection,
      MHD_OPTION_THREAD_POOL_SIZE, settings->threads,
      MHD_OPTION_ARRAY, settings->certificate ? tls : none,
      MHD_OPTION_END);
}

struct cmicrohttpd_line_check {
  const char *expected;  // where the next name has to begin
  int is_plain;
};

static inline enum MHD_Result cmicrohttpd_check_header(
    void *context, enum MHD_ValueKind kind, const char *name, size_t name_size, const char *value, size_t value_size) {
  struct cmicrohttpd_line_check *check = (struct cmicrohttpd_line_check *)context;
  (void)kind;
  check->is_plain = 0;
  // A name elsewhere comes from a folded line, or follows a bare LF or a NUL.
  if (!value || name != check->expected || name_size == 0 || strlen(name) != name_size) return MHD_NO;
  if (value <= name + name_size || strlen(value) != value_size) return MHD_NO;
  for (const char *space = name + name_size + 1; space < value; space++)
    if (*space != ' ' && *space != '\t') return MHD_NO;
  // Zeros stand where CR and LF stood.
  if (value[value_size + 1] != 0) return MHD_NO;
  check->expected = value + value_size + 2;
  check->is_plain = 1;
  return MHD_YES;
}

static inline enum MHD_Result cmicrohttpd_check_parameter(
    void *context, enum MHD_ValueKind kind, const char *name, size_t name_size, const char *value, size_t value_size) {
  struct cmicrohttpd_line_check *check = (struct cmicrohttpd_line_check *)context;
  (void)kind;
  check->is_plain = name == check->expected && strlen(name) == name_size
      && (!value || (value == name + name_size + 1 && strlen(value) == value_size));
  check->expected = value ? value + value_size + 1 : name + name_size + 1;
  return check->is_plain ? MHD_YES : MHD_NO;
}

// Whether request line and header lines were written as RFC 9112 has them: single spaces, CRLF at each end, no folded line, no
// NUL. Only to be asked in the first call about a request, while its header lines are in the buffer.
static inline int cmicrohttpd_is_plain(
    struct MHD_Connection *connection, const char *method, const char *url, const char *version) {
  if (!cmicrohttpd_parses_in_place()) return 1;
  if (url != method + strlen(method) + 1) return 0;
  struct cmicrohttpd_line_check check = {url + strlen(url) + 1, 1};
  if (version != check.expected) {
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, cmicrohttpd_check_parameter, &check);
    // One separator may stand at the end of the query.
    if (!check.is_plain || (version != check.expected && version != check.expected + 1)) return 0;
  }
  size_t length = strlen(version);
  if (version[length + 1] != 0) return 0;
  check.expected = version + length + 2;
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, cmicrohttpd_check_header, &check);
  const union MHD_ConnectionInfo *size = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  // The line that ends the header is empty and has its CR.
  return check.is_plain && size && check.expected + 2 == method + size->header_size;
}

// Whether a connection was accepted; else it is about to be closed.
static inline int cmicrohttpd_is_start(enum MHD_ConnectionNotificationCode event) {
  return event == MHD_CONNECTION_NOTIFY_STARTED;
}

// A number for the address of a client: of IPv6 the network, because one client has all addresses of it.
static inline uint64_t cmicrohttpd_address(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (!info || !info->client_addr) return 0;
  if (info->client_addr->sa_family == AF_INET)
    return ((const struct sockaddr_in *)(const void *)info->client_addr)->sin_addr.s_addr;
  if (info->client_addr->sa_family != AF_INET6) return 0;
  const struct in6_addr *address = &((const struct sockaddr_in6 *)(const void *)info->client_addr)->sin6_addr;
  uint32_t four;
  memcpy(&four, address->s6_addr + 12, sizeof four);
  if (IN6_IS_ADDR_V4MAPPED(address)) return four;
  uint64_t network;
  memcpy(&network, address->s6_addr, sizeof network);
  return network | ((uint64_t)1 << 63);
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

// Returns whether the peer has closed a socket, also when received bytes are still unread: under TLS an orderly client
// ends with a closing message. Consumes no received bytes.
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
