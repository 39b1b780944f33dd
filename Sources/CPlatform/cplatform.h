// Wrappers for functions of the C library that Swift cannot call, such as functions with a variable number of
// arguments.
#ifndef CPLATFORM_H
#define CPLATFORM_H

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <poll.h>
#include <spawn.h>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#include <sys/random.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__linux__)
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#endif

// Disables core dumps and debuggers of the same user, because a core contains keys and records. Returns 0 on success,
// or if the system has no such setting (the caller lowers RLIMIT_CORE as well).
static inline int cplatform_forbid_dumps(void) {
#if defined(__linux__)
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#else
  return 0;
#endif
}

// Zeroes memory in a way that the compiler cannot remove.
static inline void cplatform_wipe(void *memory, size_t count) {
  volatile unsigned char *byte = (volatile unsigned char *)memory;
  while (count--) *byte++ = 0;
}

// Fills memory with random bytes of the system, which are suitable for keys. Returns 0 on success.
static inline int cplatform_random(void *memory, size_t count) {
  unsigned char *byte = (unsigned char *)memory;
  while (count) {
    size_t part = count < 256 ? count : 256;  // the most that one call accepts
    if (getentropy(byte, part)) return -1;
    byte += part;
    count -= part;
  }
  return 0;
}

// Returns the path of the running program with all links resolved, to be freed with free(3); NULL with errno on
// failure. The path comes from the system, because the caller of the program controls the first argument and the
// environment.
static inline char *cplatform_program_path(void) {
#if defined(__APPLE__)
  char path[PATH_MAX];
  uint32_t size = sizeof path;
  if (_NSGetExecutablePath(path, &size)) {
    errno = ENAMETOOLONG;
    return 0;
  }
  return realpath(path, 0);
#else
  return realpath("/proc/self/exe", 0);
#endif
}

// Returns the columns of the terminal at a descriptor; 0 if it is not a terminal.
static inline int cplatform_terminal_columns(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// open(2) with a mode.
static inline int cplatform_open(const char *path, int flags, unsigned int mode) {
  return open(path, flags, mode);
}

// fcntl(2) with an integer.
static inline int cplatform_fcntl(int descriptor, int command, int argument) {
  return fcntl(descriptor, command, argument);
}

// Lowers RLIMIT_CORE to 0, for this process and its children. Returns 0 on success.
static inline int cplatform_forbid_core_files(void) {
  struct rlimit none = {0, 0};
  return setrlimit(RLIMIT_CORE, &none);
}

// Returns freed memory to the system. The GNU C library keeps it otherwise; other libraries return it themselves.
static inline void cplatform_return_freed_memory(void) {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

// Raises the soft limit of open descriptors (RLIMIT_NOFILE) to the hard limit. Returns the soft limit, or the largest
// number if it is unknown.
static inline uint64_t cplatform_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit)) return UINT64_MAX;
  struct rlimit raised = {limit.rlim_max, limit.rlim_max};
#if defined(__APPLE__)
  // The system refuses a soft limit above OPEN_MAX.
  if (raised.rlim_cur > OPEN_MAX) raised.rlim_cur = OPEN_MAX;
#endif
  return setrlimit(RLIMIT_NOFILE, &raised) ? limit.rlim_cur : raised.rlim_cur;
}

// Prevents a child from inheriting descriptors from `first` on, except those that are passed explicitly. Returns 0 on
// success, or if the system provides another way (POSIX_SPAWN_CLOEXEC_DEFAULT).
static inline int cplatform_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
#if defined(__GLIBC__)
  // spawn.h declares it only for programs that request the extensions of the GNU C library.
  extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
#else
  return 0;
#endif
}

// Waits until one of two descriptors is readable or at its end. Returns bit 0 for the first and bit 1 for the second;
// -1 with errno on failure, including EINTR. Apple's poll(2) does not support terminals, so select(2) is used there.
static inline int cplatform_wait_readable(int first, int second) {
#if defined(__APPLE__)
  if (first >= FD_SETSIZE || second >= FD_SETSIZE) {
    errno = EINVAL;
    return -1;
  }
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(first, &readable);
  FD_SET(second, &readable);
  if (select((first > second ? first : second) + 1, &readable, 0, 0, 0) < 0) return -1;
  return (FD_ISSET(first, &readable) ? 1 : 0) | (FD_ISSET(second, &readable) ? 2 : 0);
#else
  struct pollfd both[2] = {{first, POLLIN, 0}, {second, POLLIN, 0}};
  if (poll(both, 2, -1) < 0) return -1;
  return (both[0].revents ? 1 : 0) | (both[1].revents ? 2 : 0);
#endif
}

// Creates a local stream socket that no child inherits and that never blocks, and fills in the address of a path. Returns
// -1 with errno on failure: ENAMETOOLONG for a path that does not fit.
static inline int cplatform_local_socket(const char *path, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address->sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address->sun_path, path);
  int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  if (descriptor < 0) return -1;
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  return descriptor;
}

// Closes a socket after a failure and keeps the errno of the failure. Returns -1.
static inline int cplatform_close_failed(int descriptor) {
  int code = errno;
  close(descriptor);
  errno = code;
  return -1;
}

// Listens at a free path. Returns -1 with errno on failure.
static inline int cplatform_listen_local(const char *path) {
  struct sockaddr_un address;
  int descriptor = cplatform_local_socket(path, &address);
  if (descriptor < 0) return -1;
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) || listen(descriptor, 64))
    return cplatform_close_failed(descriptor);
  return descriptor;
}

// Connects to the socket at a path. Returns -1 with errno on failure, also when its backlog is full.
static inline int cplatform_connect_local(const char *path) {
  struct sockaddr_un address;
  int descriptor = cplatform_local_socket(path, &address);
  if (descriptor < 0) return -1;
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address)) return cplatform_close_failed(descriptor);
  return descriptor;
}

// Accepts a connection that no child inherits and that never blocks. Returns -1 with errno on failure.
static inline int cplatform_accept_local(int listener) {
  int descriptor = accept(listener, 0, 0);
  if (descriptor < 0) return -1;
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  return descriptor;
}

// Stores the user of the process at the other end of a local socket. Returns 0 on success, -1 with errno on failure.
static inline int cplatform_peer_user(int descriptor, uint32_t *user) {
#if defined(__linux__)
  // sys/socket.h declares struct ucred only for programs that request the extensions of the GNU C library.
  struct { pid_t process; uid_t user; gid_t group; } peer;
  socklen_t size = sizeof peer;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size)) return -1;
  *user = peer.user;
#else
  uid_t peer;
  gid_t group;
  if (getpeereid(descriptor, &peer, &group)) return -1;
  *user = peer;
#endif
  return 0;
}

#if defined(__linux__)
// Opens a socket that becomes readable when an interface, an address or a route of this machine changes. Returns -1
// with errno on failure.
static inline int cplatform_open_route_events(void) {
  int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (descriptor < 0) return -1;
  struct sockaddr_nl groups;
  memset(&groups, 0, sizeof groups);
  groups.nl_family = AF_NETLINK;
  groups.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
  if (bind(descriptor, (struct sockaddr *)&groups, sizeof groups) < 0) {
    int code = errno;
    close(descriptor);
    errno = code;
    return -1;
  }
  return descriptor;
}

// Discards the messages of such a socket. Their content and lost messages (ENOBUFS) do not matter, because each message
// only means that the interfaces must be checked. Returns 0, or -1 with errno if the socket cannot be used any more.
static inline int cplatform_drain_route_events(int descriptor) {
  char messages[8192];
  for (;;) {
    if (recv(descriptor, messages, sizeof messages, 0) >= 0) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR && errno != ENOBUFS) return -1;
  }
}

// Returns whether an entry of getifaddrs(3) is an address that can reach other machines. The interface is up, running
// and not the loopback, and the address is not link-local (fe80::/10).
static inline int cplatform_reaches_out(const struct ifaddrs *entry) {
  unsigned int needed = IFF_UP | IFF_RUNNING;
  if ((entry->ifa_flags & needed) != needed || (entry->ifa_flags & IFF_LOOPBACK) || !entry->ifa_addr) return 0;
  if (entry->ifa_addr->sa_family == AF_INET) return 1;
  if (entry->ifa_addr->sa_family != AF_INET6) return 0;
  return !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)entry->ifa_addr)->sin6_addr);
}

// Copies the address of such an entry, and returns the number of bytes: 4 or 16.
static inline size_t cplatform_address_bytes(const struct ifaddrs *entry, unsigned char bytes[16]) {
  if (entry->ifa_addr->sa_family == AF_INET) {
    memcpy(bytes, &((const struct sockaddr_in *)entry->ifa_addr)->sin_addr, 4);
    return 4;
  }
  memcpy(bytes, &((const struct sockaddr_in6 *)entry->ifa_addr)->sin6_addr, 16);
  return 16;
}
#endif

#endif
