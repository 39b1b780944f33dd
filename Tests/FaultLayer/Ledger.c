#ifdef __linux__
#define _GNU_SOURCE
#include "Fault.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct Operation *firstOperation, *lastOperation;
static struct Node *nodes;

_Noreturn void giveUp(const char *what) {
  char text[512];
  int count = snprintf(text, sizeof text, "fault layer: %s: %s\n", what, strerror(errno));
  syscall(SYS_write, 2, text, count);
  syscall(SYS_exit_group, 120);
  __builtin_unreachable();
}

struct Node *nodeOf(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status)) giveUp("fstat");
  for (struct Node *node = nodes; node; node = node->next)
    if (node->device == status.st_dev && node->number == status.st_ino) return node;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  int flags = S_ISDIR(status.st_mode) ? O_RDONLY | O_DIRECTORY : O_RDWR;
  // Never closed: closing would let go of the locks that SQLite has on the file.
  int own = syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
  if (own < 0) giveUp("open");
  struct Node *node = calloc(1, sizeof *node);
  *node = (struct Node){status.st_dev, status.st_ino, own, nodes};
  nodes = node;
  return node;
}

struct Operation *record(enum OperationKind kind) {
  struct Operation *operation = calloc(1, sizeof *operation);
  operation->kind = kind;
  operation->previous = lastOperation;
  if (lastOperation) lastOperation->next = operation;
  else firstOperation = operation;
  lastOperation = operation;
  return operation;
}

void forget(struct Operation *operation) {
  if (!operation) return;
  if (operation->previous) operation->previous->next = operation->next;
  else firstOperation = operation->next;
  if (operation->next) operation->next->previous = operation->previous;
  else lastOperation = operation->previous;
  free(operation->before);
  free(operation->after);
  free(operation);
}

static unsigned char *contents(int descriptor, off_t offset, size_t count) {
  unsigned char *bytes = malloc(count ? count : 1);
  for (size_t done = 0; done < count;) {
    long got = syscall(SYS_pread64, descriptor, bytes + done, count - done, offset + (off_t)done);
    if (got <= 0) giveUp("read");
    done += got;
  }
  return bytes;
}

struct Operation *recordContent(enum OperationKind kind, int descriptor, off_t offset, const void *bytes, size_t count,
                                off_t newSize) {
  struct Node *node = nodeOf(descriptor);
  struct stat status;
  if (fstat(descriptor, &status)) giveUp("fstat");
  struct Operation *operation = record(kind);
  operation->file = node;
  operation->offset = offset;
  operation->oldSize = status.st_size;
  operation->newSize = newSize;
  off_t end = kind == opWrite ? offset + (off_t)count : status.st_size;
  if (end > status.st_size) end = status.st_size;
  if (end > offset) {
    operation->beforeCount = end - offset;
    operation->before = contents(node->descriptor, offset, operation->beforeCount);
  }
  if (count) {
    operation->after = malloc(count);
    operation->afterCount = count;
    memcpy(operation->after, bytes, count);
  }
  return operation;
}

// A rename between two folders is durable with its new folder, and with it all before it in the old one: the
// journal of a file system keeps their order.
static void settleNames(struct Node *folder, struct Operation *until) {
  for (struct Operation *operation = firstOperation, *next; operation != until; operation = next) {
    if (operation->folder == folder && operation->fromFolder && operation->fromFolder != folder)
      settleNames(operation->fromFolder, operation);
    next = operation->next;
    if (operation->folder == folder) forget(operation);
  }
}

void settle(struct Node *node) {
  settleNames(node, NULL);
  for (struct Operation *operation = firstOperation, *next; operation; operation = next) {
    next = operation->next;
    if (operation->file == node) forget(operation);
  }
}
#endif
