// Disks in memory that can crash and fail, below the functions of the C library.
//
// A program that contains this library sees each disk as the folder `/simulated/NAME`: its own calls of open(2), rename(2), flock(2)
// and so on reach the disk, and so do those of SQLite. All other paths belong to the operating system as before. A database, its
// keyring and its photos are therefore on one disk, and the code under test is the code of the product.
//
// A write is visible at once, and durable after the next sync of its file. At a crash, each write that was not synced is kept, lost or
// torn at a boundary of 512 bytes, independently of the others. A new name, a rename and a removal are durable after the next sync of
// their folder. Of those that were not synced, a crash keeps the first ones, of the whole disk or of each folder. One seed decides the
// fate of all.
//
// Linux only: the names of the functions are those of its C library. A build with a sanitizer, which replaces the same functions, has no
// disks.
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
  // Folders that are made, and names that are changed or removed.
  simulated_name = 16,
};

// The fault of an operation.
enum simulated_fault {
  // The operation fails: an error of input or output.
  simulated_io_error = 1,
  // No space is left. Reads, syncs and removals succeed.
  simulated_full = 2,
  // The operation and all later ones fail until the restart, as those of a program that the machine no longer runs. A write is
  // applied in part first.
  simulated_power_cut = 3,
};

// Returns whether this build can have disks.
int simulated_disk_is_available(void);

// Creates an empty disk as the folder `/simulated/NAME`. Returns NULL if the name is in use or too long, or if memory is exhausted.
simulated_disk *simulated_disk_create(const char *name, uint64_t seed);

// Removes a disk. Returns the number of files that are still open; above 0 nothing is done.
int simulated_disk_destroy(simulated_disk *disk);

// Lets an operation fail: the one after `count` further operations of the kinds in the mask. 0 is the next operation.
void simulated_disk_fail(simulated_disk *disk, int kinds, uint64_t count, enum simulated_fault fault);

// Removes a fault that has not happened yet.
void simulated_disk_heal(simulated_disk *disk);

// Returns whether the fault has happened.
int simulated_disk_has_failed(const simulated_disk *disk);

// Cuts the power: every operation fails until the restart.
void simulated_disk_cut(simulated_disk *disk);

// Returns whether the power is cut.
int simulated_disk_is_off(const simulated_disk *disk);

// Restarts the machine: decides which operations without a sync took effect. Returns the number of files that are still open; above 0
// nothing is done, because a program that does not run has no open files.
int simulated_disk_restart(simulated_disk *disk);

// Returns the path of a file that is open, or NULL.
const char *simulated_disk_open_path(const simulated_disk *disk);

// Copies a folder or a file with its visible content to a free path of the same or another disk, durably. Returns 0 on success.
int simulated_disk_copy(const char *source, const char *target);

// Returns the number of operations of the kinds in the mask since the disk was created.
uint64_t simulated_disk_count(const simulated_disk *disk, int kinds);

// Returns the number of bytes of a file, or -1 if it does not exist.
int64_t simulated_disk_size(const char *path);

// Returns whether any file contains these bytes. Bytes that were overwritten count until the next sync of their file.
int simulated_disk_contains(const simulated_disk *disk, const void *bytes, int64_t count);

// Watches later writes to the disk for these bytes, at most 64.
void simulated_disk_watch(simulated_disk *disk, const void *bytes, int64_t count);

// Returns the path of the first file into which a program wrote the watched bytes, or NULL. The file may have been removed since.
const char *simulated_disk_exposed_path(const simulated_disk *disk);

#endif
