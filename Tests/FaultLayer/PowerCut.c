#ifdef __linux__
#define _GNU_SOURCE
#include "Fault.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t state;

// SplitMix64.
static uint64_t number(void) {
  uint64_t z = state += 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

static uint64_t below(uint64_t limit) { return limit ? number() % limit : 0; }

static void writeAll(int descriptor, const unsigned char *bytes, size_t count, off_t offset) {
  for (size_t done = 0; done < count;) {
    long put = syscall(SYS_pwrite64, descriptor, bytes + done, count - done, offset + (off_t)done);
    if (put <= 0) giveUp("write");
    done += put;
  }
}

static void resize(int descriptor, off_t size) {
  if (syscall(SYS_ftruncate, descriptor, size)) giveUp("truncate");
}

static void removeTree(int folder, const char *name) {
  if (!syscall(SYS_unlinkat, folder, name, 0) || errno == ENOENT) return;
  int inner = syscall(SYS_openat, folder, name, O_RDONLY | O_DIRECTORY, 0);
  if (inner < 0) giveUp("open a folder");
  DIR *list = fdopendir(inner);
  for (struct dirent *entry; (entry = readdir(list));)
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) removeTree(inner, entry->d_name);
  if (syscall(SYS_unlinkat, folder, name, AT_REMOVEDIR)) giveUp("remove a folder");
}

// What the disk keeps: everything, nothing, or each for itself.
enum Fate { keepAll, loseAll, keepSome };

static enum Fate fate(void) {
  uint64_t draw = below(8);
  return draw == 0 ? keepAll : draw <= 2 ? loseAll : keepSome;
}

static bool isContent(struct Operation *operation) {
  return operation->kind == opWrite || operation->kind == opTruncate;
}

static void loseContents(void) {
  for (struct Operation *operation = lastOperation; operation; operation = operation->previous) {
    if (!isContent(operation)) continue;
    int descriptor = operation->file->descriptor;
    resize(descriptor, operation->oldSize);
    writeAll(descriptor, operation->before, operation->beforeCount, operation->offset);
  }
  enum Fate all = fate();
  for (struct Operation *operation = firstOperation; operation; operation = operation->next) {
    if (!isContent(operation)) continue;
    uint64_t draw = all == keepSome ? below(5) : all == keepAll ? 0 : 4;
    if (draw > 2) continue;
    int descriptor = operation->file->descriptor;
    if (operation->kind == opTruncate) {
      resize(descriptor, operation->newSize);
      continue;
    }
    size_t count = operation->afterCount;
    if (draw == 2) {
      // Torn: whole sectors of the file, from the front.
      size_t lead = (512 - operation->offset % 512) % 512;
      size_t sectors = count > lead ? (count - lead + 511) / 512 : 0;
      size_t kept = below(sectors + 1);
      if (lead + kept * 512 < count) count = lead + kept * 512;
    }
    writeAll(descriptor, operation->after, count, operation->offset);
  }
}

static bool isIn(struct Operation *operation, struct Node *folder) {
  return operation->folder == folder || operation->fromFolder == folder;
}

// Marks an operation, and all that is not possible without it.
static void mark(struct Operation *operation) {
  if (operation->isUndone || isContent(operation)) return;
  operation->isUndone = true;
  for (struct Operation *later = operation->next; later; later = later->next) {
    if (isContent(later)) continue;
    bool isAfter = isIn(later, operation->folder) || (operation->fromFolder && isIn(later, operation->fromFolder));
    bool isInside = operation->kind == opMkdir && isIn(later, operation->made);
    if (isAfter || isInside) mark(later);
  }
}

static void undo(struct Operation *operation) {
  int folder = operation->folder->descriptor;
  char spare[16];
  snprintf(spare, sizeof spare, "%d", operation->spare);
  switch (operation->kind) {
  case opCreate:
  case opLink:
    if (syscall(SYS_unlinkat, folder, operation->name, 0)) giveUp("undo a new name");
    break;
  case opMkdir: removeTree(folder, operation->name); break;
  case opUnlink:
    if (syscall(SYS_linkat, faultSpare, spare, folder, operation->name, 0)) giveUp("undo an unlink");
    break;
  case opRmdir:
    if (syscall(SYS_renameat2, faultSpare, spare, folder, operation->name, 0)) giveUp("undo an rmdir");
    break;
  case opRename:
    if (syscall(SYS_renameat2, folder, operation->name, operation->fromFolder->descriptor, operation->fromName, 0))
      giveUp("undo a rename");
    if (operation->spare && syscall(SYS_linkat, faultSpare, spare, folder, operation->name, 0))
      giveUp("undo an overwriting rename");
    break;
  default: break;
  }
}

static void loseNames(void) {
  enum Fate all = fate();
  // For each folder, where its loss begins: each of its operations is as likely as none.
  for (struct Operation *first = firstOperation; first; first = first->next) {
    if (isContent(first)) continue;
    struct Node *folder = first->folder;
    int count = 0;
    bool isFirst = true;
    for (struct Operation *other = firstOperation; other != first; other = other->next)
      if (!isContent(other) && other->folder == folder) isFirst = false;
    if (!isFirst) continue;
    for (struct Operation *other = first; other; other = other->next)
      if (!isContent(other) && other->folder == folder) count += 1;
    int kept = all == keepAll ? count : all == loseAll ? 0 : (int)below(count + 1);
    for (struct Operation *other = first; other; other = other->next) {
      if (isContent(other) || other->folder != folder) continue;
      if (kept == 0) {
        mark(other);
        break;
      }
      kept -= 1;
    }
  }
  for (struct Operation *operation = lastOperation; operation; operation = operation->previous)
    if (operation->isUndone) undo(operation);
}

static void removeShared(int folder) {
  DIR *list = fdopendir(folder);
  if (!list) giveUp("read a folder");
  for (struct dirent *entry; (entry = readdir(list));) {
    size_t length = strlen(entry->d_name);
    if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
      int inner = syscall(SYS_openat, folder, entry->d_name, O_RDONLY | O_DIRECTORY, 0);
      if (inner >= 0) removeShared(inner);
    } else if (length > 4 && !strcmp(entry->d_name + length - 4, "-shm")) {
      syscall(SYS_unlinkat, folder, entry->d_name, 0);
    }
  }
}

_Noreturn void cutPower(uint64_t seed) {
  state = seed;
  loseContents();
  loseNames();
  int root = syscall(SYS_openat, AT_FDCWD, faultRoot, O_RDONLY | O_DIRECTORY, 0);
  if (root < 0) giveUp("open the root");
  removeShared(root);
  syscall(SYS_exit_group, 137);
  __builtin_unreachable();
}
#endif
