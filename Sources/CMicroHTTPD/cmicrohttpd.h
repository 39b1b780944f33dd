// libmicrohttpd, the HTTP server library, with inline wrappers for functions with a variable number of arguments, which
// Swift cannot call.
#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H
#include <microhttpd.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

// The settings of a daemon. The texts must stay valid until the daemon stops.
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

// Keeps percent escapes. A resolved `%2F` would look like a separator, and a resolved `%00` would cut the path.
static inline size_t cmicrohttpd_keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strlen(text);
}

// Up to version 0.9 the library parses a request in its buffer, in place: it writes zeros over separators and keeps
// pointers to names and values. The positions of names and values therefore show the form of the lines.
static inline int cmicrohttpd_parses_in_place(void) { return strncmp(MHD_get_version(), "0.", 2) == 0; }

// The initial content of the slot of a request whose target is cut by a NUL.
#define CMICROHTTPD_CUT ((void *)1)

static inline int cmicrohttpd_is_cut(const void *slot) { return slot == CMICROHTTPD_CUT; }

// Called with the target of a request before it is divided. The version follows it, unless the target has a NUL. Later
// a NUL at its end looks like the `?` of an empty query, over which the library writes a zero.
static inline void *cmicrohttpd_see_target(void *context, const char *target, struct MHD_Connection *connection) {
  (void)context;
  (void)connection;
  if (!cmicrohttpd_parses_in_place()) return 0;
  return strncmp(target + strlen(target) + 1, "HTTP/", 5) == 0 ? 0 : CMICROHTTPD_CUT;
}

// Starts a daemon with its own threads on a listening socket. Returns 0 on failure, for example for an invalid
// certificate. `context` is handed to `handle` and `completed`, `connections` to `notify`.
static inline struct MHD_Daemon *cmicrohttpd_start(
    const struct cmicrohttpd_settings *settings, MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback completed,
    void *context, MHD_NotifyConnectionCallback notify, void *connections) {
  // Not MHD_USE_AUTO, which would select epoll. With its edge triggers the library (0.9.75) does not detect a
  // disconnect that arrives together with the last bytes, and keeps the connection until its idle timeout.
  unsigned int flags = MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
  if (settings->certificate) flags |= MHD_USE_TLS;
  struct MHD_OptionItem tls[] = {
      {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)settings->certificate},
      {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)settings->private_key},
      {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
      {MHD_OPTION_END, 0, 0},
  };
  struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, 0}};
  // The strict level of version 0.9 refuses less than `RequestHead` does, and responds twice.
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
  // The library has replaced CR and LF by zeros.
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

// Returns whether request line and header lines have the form of RFC 9112: single spaces, CRLF at each end, no folded
// line, no NUL. Valid only in the first call about a request, while its header lines are in the buffer.
static inline int cmicrohttpd_is_plain(
    struct MHD_Connection *connection, const char *method, const char *url, const char *version) {
  if (!cmicrohttpd_parses_in_place()) return 1;
  if (url != method + strlen(method) + 1) return 0;
  struct cmicrohttpd_line_check check = {url + strlen(url) + 1, 1};
  if (version != check.expected) {
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, cmicrohttpd_check_parameter, &check);
    // The query may end with one separator.
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

// Returns whether a connection was accepted. Otherwise it is about to be closed.
static inline int cmicrohttpd_is_start(enum MHD_ConnectionNotificationCode event) {
  return event == MHD_CONNECTION_NOTIFY_STARTED;
}

// Returns a number for the address of a client. For IPv6 it is the network, because a client has all of its addresses.
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

// Sends bytes without the library, as many as the system accepts at once, for a response while the client is still
// sending.
static inline int cmicrohttpd_send_now(struct MHD_Connection *connection, const void *bytes, size_t count) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
#if defined(MSG_NOSIGNAL)
  return info && send(info->connect_fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)count;
#else
  return info && send(info->connect_fd, bytes, count, MSG_DONTWAIT) == (ssize_t)count;
#endif
}

// Returns the socket of a connection; -1 without a socket.
static inline int cmicrohttpd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// Returns whether the peer has closed a socket, even if received bytes are unread. Under TLS an orderly client ends
// with a closing message. Consumes no received bytes.
static inline int cmicrohttpd_is_closed(int socket) {
#if defined(__linux__)
  // The system headers declare it only if _GNU_SOURCE is defined before the first of them.
#if defined(POLLRDHUP)
  const short closed_by_peer = POLLRDHUP;
#else
  const short closed_by_peer = 0x2000;
#endif
  struct pollfd state = {socket, closed_by_peer, 0};
  return poll(&state, 1, 0) > 0;
#else
  // poll reports the end as POLLHUP. On other systems the end is detected when no bytes precede it.
  struct pollfd state = {socket, POLLHUP, 0};
  if (poll(&state, 1, 0) > 0) return 1;
  char next;
  ssize_t count = recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
#endif
}
#endif
