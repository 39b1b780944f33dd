// What the C library offers only as functions with a variable number of arguments, which Swift cannot call.
#ifndef CPLATFORM_H
#define CPLATFORM_H

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <poll.h>
#include <spawn.h>
#if defined(__linux__)
#include <sys/prctl.h>
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

#endif
