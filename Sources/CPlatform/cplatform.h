// What the C library offers only as functions with a variable number of arguments, which Swift cannot call.
#ifndef CPLATFORM_H
#define CPLATFORM_H

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <poll.h>
#include <spawn.h>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#include <sys/random.h>
#endif
#if defined(__linux__)
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

// No core dump and no debugger of the same user: a core holds keys and records. 0 on success, or where the
// system has no such switch (the caller lowers RLIMIT_CORE as well).
static inline int cplatform_forbid_dumps(void) {
#if defined(__linux__)
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#else
  return 0;
#endif
}

// Zeroes memory in a way that no compiler leaves out.
static inline void cplatform_wipe(void *memory, size_t count) {
  volatile unsigned char *byte = (volatile unsigned char *)memory;
  while (count--) *byte++ = 0;
}

// Fills memory with random bytes of the system, which are fit for keys. 0 on success.
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

// The path of the running program with all links resolved, for free(3); NULL with errno on failure. The system is asked, because a
// caller chooses the first argument and the environment.
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

// The columns of the terminal at a descriptor; 0 when it is none.
static inline int cplatform_terminal_columns(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// open(2) with a mode.
static inline int cplatform_open(const char *path, int flags, unsigned int mode) {
  return open(path, flags, mode);
}

// fcntl(2) with a whole number.
static inline int cplatform_fcntl(int descriptor, int command, int argument) {
  return fcntl(descriptor, command, argument);
}

// Lowers RLIMIT_CORE to 0, for this process and its children. 0 on success.
static inline int cplatform_forbid_core_files(void) {
  struct rlimit none = {0, 0};
  return setrlimit(RLIMIT_CORE, &none);
}

// Keeps a child from inheriting any descriptor from `first` on that is not given to it on purpose. 0 on success, or
// where the system does it in another way (POSIX_SPAWN_CLOEXEC_DEFAULT).
static inline int cplatform_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
#if defined(__GLIBC__)
  // Declared by spawn.h only for programs that ask for the extensions of the GNU C library.
  extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
#else
  return 0;
#endif
}

// Waits until one of two descriptors can be read or is at its end: bit 0 for the first, bit 1 for the second. -1 with
// errno on failure, EINTR included. Apple's poll(2) does not know terminals, so select(2) does it there.
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

#if defined(__linux__)
// A socket that can be read when an interface, an address or a route of this machine changes. -1 with errno on
// failure.
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

// Reads away what such a socket has. What is in the messages does not matter, nor that some were lost (ENOBUFS): each
// of them only says that the interfaces are to be looked at. 0, or -1 with errno when the socket cannot be used further.
static inline int cplatform_drain_route_events(int descriptor) {
  char messages[8192];
  for (;;) {
    if (recv(descriptor, messages, sizeof messages, 0) >= 0) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR && errno != ENOBUFS) return -1;
  }
}

// Whether an entry of getifaddrs(3) is an address by which something beyond this machine can be reached: the interface
// is up, running and not the loopback, and the address is not one that every interface gives itself (fe80::/10).
static inline int cplatform_reaches_out(const struct ifaddrs *entry) {
  unsigned int needed = IFF_UP | IFF_RUNNING;
  if ((entry->ifa_flags & needed) != needed || (entry->ifa_flags & IFF_LOOPBACK) || !entry->ifa_addr) return 0;
  if (entry->ifa_addr->sa_family == AF_INET) return 1;
  if (entry->ifa_addr->sa_family != AF_INET6) return 0;
  return !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)entry->ifa_addr)->sin6_addr);
}

// The address of such an entry as bytes: 4 or 16, the number is returned.
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
