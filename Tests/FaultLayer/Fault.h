// What the parts of the fault layer share. All functions are called with the lock held.
#ifndef FAULT_H
#define FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum OperationKind { opWrite, opTruncate, opSync, opCreate, opMkdir, opLink, opRename, opUnlink, opRmdir };

// A file or folder. The descriptor keeps it and its number alive under whatever name it has.
struct Node {
  dev_t device;
  ino_t number;
  int descriptor;
  struct Node *next;
};

// An operation that is not yet durable.
struct Operation {
  enum OperationKind kind;
  bool isDurable, isUndone;
  // Contents.
  struct Node *file;
  off_t offset, oldSize, newSize;
  unsigned char *before, *after;
  size_t beforeCount, afterCount;
  // Names. `spare` is the number of the copy in the spare folder, or 0.
  struct Node *folder, *fromFolder;
  char name[256], fromName[256];
  struct Node *made;
  int spare;
  struct Operation *previous, *next;
};

enum FaultMode { modeOff, modeCount, modeCut, modeFail };

extern enum FaultMode faultMode;
extern char faultRoot[4096];
extern int faultSpare;
extern struct Operation *firstOperation, *lastOperation;

// The node behind a descriptor.
struct Node *nodeOf(int descriptor);
// Appends an operation to the ledger.
struct Operation *record(enum OperationKind kind);
// A write or truncation about to happen: saves what it replaces.
struct Operation *recordContent(enum OperationKind kind, int descriptor, off_t offset, const void *bytes, size_t count,
                                off_t newSize);
// The contents of a file, or the names in a folder, are durable.
void settle(struct Node *node);
// Takes an operation back out of the ledger, because it failed.
void forget(struct Operation *operation);

// Loses what is not durable, as the seed says, and ends the process.
_Noreturn void cutPower(uint64_t seed);
_Noreturn void giveUp(const char *what);

#endif
