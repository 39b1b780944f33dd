// What the C library offers only as functions with a variable number of arguments, which Swift cannot call.
#ifndef CPLATFORM_H
#define CPLATFORM_H

#include <sys/ioctl.h>
#include <fcntl.h>
#include <stddef.h>
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

#endif
