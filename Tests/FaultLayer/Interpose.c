#ifdef __linux__
#define _GNU_SOURCE
#include "Fault.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum FaultMode faultMode;
char faultRoot[4096];
int faultSpare = -1;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter, faultAt;
static uint64_t seed;
static int faultErrno, logFile = -1, spareCount;
static bool isSticky, hasFailed, countsOnlySyncs;
static char isWatched[65536];

__attribute__((constructor)) static void start(void) {
  const char *mode = getenv("FAULT_MODE"), *root = getenv("FAULT_ROOT"), *text;
  if (!mode || !root) return;
  if (!realpath(root, faultRoot)) giveUp("FAULT_ROOT");
  if ((text = getenv("FAULT_AT"))) faultAt = atol(text);
  if ((text = getenv("FAULT_SEED"))) seed = strtoull(text, NULL, 10);
  if ((text = getenv("FAULT_STICKY"))) isSticky = *text == '1';
  if ((text = getenv("FAULT_ONLY"))) countsOnlySyncs = !strcmp(text, "sync");
  if ((text = getenv("FAULT_ERRNO"))) faultErrno = strcmp(text, "ENOSPC") ? EIO : ENOSPC;
  if ((text = getenv("FAULT_LOG")))
    logFile = syscall(SYS_openat, AT_FDCWD, text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (!strcmp(mode, "powercut")) {
    text = getenv("FAULT_SPARE");
    if (!text) giveUp("FAULT_SPARE");
    faultSpare = syscall(SYS_openat, AT_FDCWD, text, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (faultSpare < 0) giveUp("FAULT_SPARE");
  }
  faultMode = !strcmp(mode, "count") ? modeCount : !strcmp(mode, "powercut") ? modeCut : modeFail;
}

__attribute__((destructor)) static void finish(void) {
  const char *path = getenv("FAULT_COUNT_FILE");
  if (faultMode == modeOff || !path) return;
  char text[32];
  int length = snprintf(text, sizeof text, "%ld\n", counter);
  int file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  syscall(SYS_write, file, text, length);
}

static void lock(void) { pthread_mutex_lock(&mutex); }

// Unlocks and hands the result on with the errno that belongs to it.
static long unlock(long result) {
  int number = errno;
  pthread_mutex_unlock(&mutex);
  errno = number;
  return result;
}

static const char *const names[] = {"write", "truncate", "sync", "create", "mkdir", "link", "rename", "unlink", "rmdir"};

static bool needsSpace(enum OperationKind kind) {
  return kind == opWrite || kind == opSync || kind == opCreate || kind == opMkdir || kind == opLink;
}

// Counts an operation. True when it fails, with errno set.
static bool countFails(enum OperationKind kind, const char *what) {
  counter += !countsOnlySyncs || kind == opSync;
  if (logFile >= 0) {
    char text[PATH_MAX + 64];
    int length = snprintf(text, sizeof text, "%ld %s %s\n", counter, names[kind], what);
    syscall(SYS_write, logFile, text, length);
  }
  if (faultMode != modeFail || counter < faultAt || (hasFailed && !isSticky)) return false;
  if (faultErrno == ENOSPC && !needsSpace(kind)) return false;
  hasFailed = true;
  errno = faultErrno;
  return true;
}

// After an operation: the power fails while it is under way.
static void cutIfDue(void) {
  if (faultMode == modeCut && counter >= faultAt) cutPower(seed);
}

static bool isShared(const char *name) {
  size_t length = strlen(name);
  return length >= 4 && !strcmp(name + length - 4, "-shm");
}

static bool isBelowRoot(const char *path) {
  size_t length = strlen(faultRoot);
  return !strncmp(path, faultRoot, length) && (path[length] == 0 || path[length] == '/');
}

// A name in a watched folder.
struct Place {
  int folder;
  char name[256];
  char path[PATH_MAX];
};

// Finds the folder of a path; false when it is not watched. The folder's descriptor is to be closed.
static bool find(int base, const char *path, struct Place *place) {
  if (faultMode == modeOff || !path || !*path) return false;
  char copy[PATH_MAX];
  size_t length = strnlen(path, PATH_MAX);
  if (length >= PATH_MAX) return false;
  memcpy(copy, path, length + 1);
  while (length > 1 && copy[length - 1] == '/') copy[--length] = 0;
  char *slash = strrchr(copy, '/');
  const char *name = slash ? slash + 1 : copy, *parent = slash == copy ? "/" : slash ? copy : ".";
  if (strlen(name) > 255 || !*name || isShared(name)) return false;
  strcpy(place->name, name);
  if (slash) *slash = 0;
  int number = errno;
  int folder = syscall(SYS_openat, base, slash == copy ? "/" : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  errno = number;
  if (folder < 0) return false;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  ssize_t count = readlink(link, place->path, PATH_MAX - 300);
  if (count > 0) place->path[count] = 0;
  if (count <= 0 || !isBelowRoot(place->path)) {
    syscall(SYS_close, folder);
    errno = number;
    return false;
  }
  strcat(place->path, "/");
  strcat(place->path, place->name);
  place->folder = folder;
  errno = number;
  return true;
}

static void leave(struct Place *place) {
  int number = errno;
  syscall(SYS_close, place->folder);
  errno = number;
}

static bool watched(int descriptor) {
  return faultMode != modeOff && descriptor >= 0 && descriptor < (int)sizeof isWatched && isWatched[descriptor];
}

static const char *pathOf(int descriptor) {
  static char path[PATH_MAX];
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t count = readlink(link, path, PATH_MAX - 1);
  path[count > 0 ? count : 0] = 0;
  return path;
}

static void copyName(char *target, const char *name) { snprintf(target, 256, "%s", name); }

// Names a file in the spare folder, so that it can come back. 0 when there is none.
static int spareLink(struct Place *place) {
  struct stat status;
  if (fstatat(place->folder, place->name, &status, AT_SYMLINK_NOFOLLOW)) return 0;
  char spare[16];
  snprintf(spare, sizeof spare, "%d", ++spareCount);
  if (syscall(SYS_linkat, place->folder, place->name, faultSpare, spare, 0)) giveUp("link to the spare folder");
  return spareCount;
}

// MARK: Opening and closing

static int openIn(int base, const char *path, int flags, mode_t mode) {
  struct Place place;
  if (!find(base, path, &place)) {
    int descriptor = syscall(SYS_openat, base, path, flags, mode);
    // The root itself, to synchronise it.
    if (faultMode != modeOff && descriptor >= 0 && descriptor < (int)sizeof isWatched) {
      lock();
      isWatched[descriptor] = !strcmp(pathOf(descriptor), faultRoot);
      unlock(0);
    }
    return descriptor;
  }
  lock();
  struct stat status;
  bool isThere = !fstatat(place.folder, place.name, &status, 0), isNew = (flags & O_CREAT) && !isThere;
  if ((flags & __O_TMPFILE) == __O_TMPFILE) giveUp("O_TMPFILE is not covered");
  if (isNew && countFails(opCreate, place.path)) goto failed;
  bool cuts = isThere && (flags & O_TRUNC) && S_ISREG(status.st_mode) && status.st_size > 0;
  if (cuts && countFails(opTruncate, place.path)) goto failed;
  struct Operation *operation = NULL;
  if (cuts && faultMode == modeCut) {
    int old = syscall(SYS_openat, place.folder, place.name, O_RDWR | O_CLOEXEC, 0);
    if (old >= 0) operation = recordContent(opTruncate, old, 0, NULL, 0, 0);
  }
  int descriptor = syscall(SYS_openat, base, path, flags, mode);
  if (descriptor < 0) {
    int number = errno;
    forget(operation);
    errno = number;
    goto failed;
  }
  if (descriptor < (int)sizeof isWatched) isWatched[descriptor] = 1;
  if (isNew && faultMode == modeCut) {
    struct Operation *creation = record(opCreate);
    creation->folder = nodeOf(place.folder);
    copyName(creation->name, place.name);
  }
  if (isNew || cuts) cutIfDue();
  leave(&place);
  return unlock(descriptor);
failed:
  leave(&place);
  return unlock(-1);
}

#define MODE_ARGUMENT                                                                                                  \
  mode_t mode = 0;                                                                                                     \
  if (flags & (O_CREAT | __O_TMPFILE)) {                                                                               \
    va_list list;                                                                                                      \
    va_start(list, flags);                                                                                             \
    mode = va_arg(list, mode_t);                                                                                       \
    va_end(list);                                                                                                      \
  }

int open(const char *path, int flags, ...) { MODE_ARGUMENT return openIn(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_ARGUMENT return openIn(AT_FDCWD, path, flags, mode); }
int openat(int base, const char *path, int flags, ...) { MODE_ARGUMENT return openIn(base, path, flags, mode); }
int openat64(int base, const char *path, int flags, ...) { MODE_ARGUMENT return openIn(base, path, flags, mode); }
int __open_2(const char *path, int flags) { return openIn(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return openIn(AT_FDCWD, path, flags, 0); }

int close(int descriptor) {
  if (descriptor >= 0 && descriptor < (int)sizeof isWatched) isWatched[descriptor] = 0;
  return syscall(SYS_close, descriptor);
}

// MARK: Contents

static ssize_t writeIn(int descriptor, const void *bytes, size_t count, off_t offset, bool isAtOffset) {
  lock();
  if (countFails(opWrite, pathOf(descriptor))) return unlock(-1);
  struct Operation *operation = NULL;
  if (faultMode == modeCut) {
    off_t start = isAtOffset ? offset : syscall(SYS_lseek, descriptor, 0, SEEK_CUR);
    operation = recordContent(opWrite, descriptor, start, bytes, count, 0);
  }
  long result = isAtOffset ? syscall(SYS_pwrite64, descriptor, bytes, count, offset)
                           : syscall(SYS_write, descriptor, bytes, count);
  if (operation && result != (long)count) giveUp("a write of the program fails");
  cutIfDue();
  return unlock(result);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  if (!watched(descriptor)) return syscall(SYS_write, descriptor, bytes, count);
  return writeIn(descriptor, bytes, count, 0, false);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  if (!watched(descriptor)) return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
  return writeIn(descriptor, bytes, count, offset, true);
}
ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  return pwrite64(descriptor, bytes, count, offset);
}

int ftruncate64(int descriptor, off64_t size) {
  if (!watched(descriptor)) return syscall(SYS_ftruncate, descriptor, size);
  lock();
  if (countFails(opTruncate, pathOf(descriptor))) return unlock(-1);
  if (faultMode == modeCut) recordContent(opTruncate, descriptor, size, NULL, 0, size);
  long result = syscall(SYS_ftruncate, descriptor, size);
  if (faultMode == modeCut && result) giveUp("a truncation of the program fails");
  cutIfDue();
  return unlock(result);
}
int ftruncate(int descriptor, off_t size) { return ftruncate64(descriptor, size); }

static int syncIn(int descriptor, long call) {
  lock();
  if (countFails(opSync, pathOf(descriptor))) return unlock(-1);
  cutIfDue();
  long result = syscall(call, descriptor);
  if (result == 0 && faultMode == modeCut) settle(nodeOf(descriptor));
  return unlock(result);
}

int fsync(int descriptor) {
  return watched(descriptor) ? syncIn(descriptor, SYS_fsync) : syscall(SYS_fsync, descriptor);
}
int fdatasync(int descriptor) {
  return watched(descriptor) ? syncIn(descriptor, SYS_fdatasync) : syscall(SYS_fdatasync, descriptor);
}

// Ways to write that nobody here uses: they would go past the ledger.
ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  if (watched(descriptor)) giveUp("writev is not covered");
  return syscall(SYS_writev, descriptor, parts, count);
}
int posix_fallocate(int descriptor, off_t offset, off_t count) {
  if (watched(descriptor)) giveUp("posix_fallocate is not covered");
  return syscall(SYS_fallocate, descriptor, 0, offset, count) ? errno : 0;
}
int posix_fallocate64(int descriptor, off64_t offset, off64_t count) {
  return posix_fallocate(descriptor, offset, count);
}
int fallocate(int descriptor, int mode, off_t offset, off_t count) {
  if (watched(descriptor)) giveUp("fallocate is not covered");
  return syscall(SYS_fallocate, descriptor, mode, offset, count);
}
ssize_t copy_file_range(int from, off64_t *start, int to, off64_t *target, size_t count, unsigned flags) {
  if (watched(to)) giveUp("copy_file_range is not covered");
  return syscall(SYS_copy_file_range, from, start, to, target, count, flags);
}
ssize_t sendfile(int to, int from, off_t *start, size_t count) {
  if (watched(to)) giveUp("sendfile is not covered");
  return syscall(SYS_sendfile, to, from, start, count);
}

// MARK: Names

int renameat(int fromBase, const char *from, int toBase, const char *to) {
  struct Place source, target;
  if (!find(toBase, to, &target)) return syscall(SYS_renameat2, fromBase, from, toBase, to, 0);
  lock();
  if (countFails(opRename, target.path)) {
    leave(&target);
    return unlock(-1);
  }
  int spare = faultMode == modeCut ? spareLink(&target) : 0;
  long result = syscall(SYS_renameat2, fromBase, from, toBase, to, 0);
  if (result == 0 && faultMode == modeCut) {
    if (!find(fromBase, from, &source)) giveUp("a rename into the root is not covered");
    struct Operation *operation = record(opRename);
    operation->folder = nodeOf(target.folder);
    operation->fromFolder = nodeOf(source.folder);
    copyName(operation->name, target.name);
    copyName(operation->fromName, source.name);
    operation->spare = spare;
    leave(&source);
  }
  cutIfDue();
  leave(&target);
  return unlock(result);
}
int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int linkat(int fromBase, const char *from, int toBase, const char *to, int flags) {
  struct Place place;
  if (!find(toBase, to, &place)) return syscall(SYS_linkat, fromBase, from, toBase, to, flags);
  lock();
  long result = -1;
  if (!countFails(opLink, place.path)) {
    result = syscall(SYS_linkat, fromBase, from, toBase, to, flags);
    if (result == 0 && faultMode == modeCut) {
      struct Operation *operation = record(opLink);
      operation->folder = nodeOf(place.folder);
      copyName(operation->name, place.name);
    }
    cutIfDue();
  }
  leave(&place);
  return unlock(result);
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

static bool isEmpty(int base, const char *name) {
  int folder = syscall(SYS_openat, base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (folder < 0) return false;
  DIR *list = fdopendir(folder);
  bool result = true;
  for (struct dirent *entry; (entry = readdir(list));)
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) result = false;
  closedir(list);
  return result;
}

int unlinkat(int base, const char *path, int flags) {
  struct Place place;
  if (!find(base, path, &place)) return syscall(SYS_unlinkat, base, path, flags);
  lock();
  struct stat status;
  long result = -1;
  enum OperationKind kind = flags & AT_REMOVEDIR ? opRmdir : opUnlink;
  bool isThere = !fstatat(place.folder, place.name, &status, AT_SYMLINK_NOFOLLOW);
  if (!isThere) {
    // Changes nothing, and is not counted.
    result = syscall(SYS_unlinkat, base, path, flags);
  } else if (!countFails(kind, place.path)) {
    int spare = 0;
    if (faultMode == modeCut && kind == opUnlink && !S_ISDIR(status.st_mode)) spare = spareLink(&place);
    if (faultMode == modeCut && kind == opRmdir && isEmpty(place.folder, place.name)) {
      // The folder itself is kept, so that it can come back with what was in it.
      char text[16];
      spare = ++spareCount;
      snprintf(text, sizeof text, "%d", spare);
      result = syscall(SYS_renameat2, place.folder, place.name, faultSpare, text, 0);
    } else {
      result = syscall(SYS_unlinkat, base, path, flags);
    }
    if (result == 0 && faultMode == modeCut) {
      struct Operation *operation = record(kind);
      operation->folder = nodeOf(place.folder);
      copyName(operation->name, place.name);
      operation->spare = spare;
    }
    cutIfDue();
  }
  leave(&place);
  return unlock(result);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int base, const char *path, mode_t mode) {
  struct Place place;
  if (!find(base, path, &place)) return syscall(SYS_mkdirat, base, path, mode);
  lock();
  long result = -1;
  if (!countFails(opMkdir, place.path)) {
    result = syscall(SYS_mkdirat, base, path, mode);
    if (result == 0 && faultMode == modeCut) {
      int made = syscall(SYS_openat, place.folder, place.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
      if (made < 0) giveUp("open a new folder");
      struct Operation *operation = record(opMkdir);
      operation->folder = nodeOf(place.folder);
      operation->made = nodeOf(made);
      copyName(operation->name, place.name);
      syscall(SYS_close, made);
    }
    cutIfDue();
  }
  leave(&place);
  return unlock(result);
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
#endif
