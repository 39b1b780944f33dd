// A disk in memory that can crash, as a VFS of SQLite.
//
// Every write is visible at once, and durable after the next sync of its file. At a crash, each write that was not synced is kept,
// lost or torn at a boundary of 512 bytes, independently of the others. New names and removals are durable after the next sync of the
// folder: SQLite on Unix syncs it with the first sync of a new journal or write-ahead log, and with a removal that asks for it. One
// seed decides the fate of all others.
#ifndef SIMULATED_DISK_H
#define SIMULATED_DISK_H

#include <stdint.h>

typedef struct simulated_disk simulated_disk;

// The kinds of operations that faults count.
enum simulated_operation {
  simulated_read = 1,
  simulated_write = 2,
  simulated_sync = 4,
  simulated_open = 8,
  simulated_remove = 16,
};

// The fault of an operation.
enum simulated_fault {
  // The operation fails: an error of input or output.
  simulated_io_error = 1,
  // No space is left. Reads and syncs succeed.
  simulated_full = 2,
  // The operation and all later ones fail until the crash, as those of a program that the machine no longer runs. A write is
  // applied in part first.
  simulated_power_cut = 3,
};

// Creates an empty disk and registers its VFS. Returns NULL if memory is exhausted.
simulated_disk *simulated_disk_create(uint64_t seed);

// Unregisters the VFS and frees the disk. All files must be closed.
void simulated_disk_destroy(simulated_disk *disk);

// Returns the name of the VFS.
const char *simulated_disk_name(const simulated_disk *disk);

// Lets an operation fail: the one after `count` further operations of the kinds in the mask. 0 is the next operation.
void simulated_disk_fail(simulated_disk *disk, int kinds, uint64_t count, enum simulated_fault fault);

// Removes a fault that has not happened yet.
void simulated_disk_heal(simulated_disk *disk);

// Returns whether the fault has happened.
int simulated_disk_has_failed(const simulated_disk *disk);

// Restarts the machine: decides which operations without a sync took effect. Files that are open stay unusable until they are closed.
void simulated_disk_crash(simulated_disk *disk);

// Returns the number of operations of the kinds in the mask since the disk was created.
uint64_t simulated_disk_count(const simulated_disk *disk, int kinds);

// Returns the number of bytes of a file, or -1 if it does not exist.
int64_t simulated_disk_size(const simulated_disk *disk, const char *path);

// Returns whether any file contains these bytes. Bytes that were overwritten count until the next sync of their file.
int simulated_disk_contains(const simulated_disk *disk, const void *bytes, int64_t count);

#endif
