// The content of a simulated disk: files and folders as programs see them, as they are after a crash, and the changes in between.
#ifndef FILE_TREE_H
#define FILE_TREE_H

#include "SimulatedDisk.h"
#include <stddef.h>

enum { sector_size = 512, name_limit = 64, watched_limit = 64 };

// A change of a file's content since its last sync. A truncation has the count -1, and its offset is the new size.
typedef struct change {
  struct change *next;
  int64_t offset, count;
  unsigned char bytes[];
} change;

typedef struct content {
  unsigned char *bytes;
  int64_t size, capacity;
} content;

typedef struct inode inode;

typedef struct entry {
  struct entry *next;
  inode *inode;
  char name[];
} entry;

// A file or a folder.
struct inode {
  inode *next, **place;
  uint64_t number;
  int is_folder;
  // Names, open files and name changes that refer to it.
  int reference_count;
  content current, synced;
  change *changes, **last_change;
  // The names in a folder that programs see, and those after a crash.
  entry *visible, *durable;
  // flock(2): the number of shared locks, or -1.
  int locks;
  // Memory that is mapped into a program, in place of `current.bytes`. It never moves.
  int64_t mapped_capacity;
};

// A change of names since the last sync of its folders: `name` in `folder` becomes `inode`, or nothing. A rename also removes
// `old_name` in `old_folder`.
typedef struct name_change {
  struct name_change *next;
  inode *folder, *inode, *old_folder;
  char *name, *old_name;
} name_change;

struct simulated_disk {
  simulated_disk *next;
  char name[name_limit];
  // The numbers of its files and of its device differ after each restart: SQLite must not find locks of the time before.
  uint64_t device, last_inode;
  inode *root, *inodes;
  name_change *name_changes, **last_name_change;
  uint64_t random;
  uint64_t counts[5];
  int fault_kinds, has_failed, is_off, open_count;
  uint64_t fault_after;
  enum simulated_fault fault;
  unsigned char watched[watched_limit];
  int64_t watched_count;
  char *exposed_path;
};

// All functions abort if memory is exhausted. The caller holds the lock of the disks.

// Returns a random number below a limit; 0 without a limit.
uint64_t tree_random(simulated_disk *disk, uint64_t limit);

inode *tree_new(simulated_disk *disk, int is_folder);
inode *tree_retain(inode *inode);
void tree_release(inode *inode);

// Finds a name in a folder; NULL if it does not exist.
inode *tree_entry(const inode *folder, const char *name, size_t length);

// Changes a name visibly, and notes the change. `inode` is NULL for a removal.
void tree_set_name(simulated_disk *disk, inode *folder, const char *name, inode *inode);
void tree_rename(
    simulated_disk *disk, inode *old_folder, const char *old_name, inode *folder, const char *name, inode *inode);

// Changes the content of a file, and notes the change. A truncation has no bytes.
void tree_change(inode *file, int64_t offset, const void *bytes, int64_t count);

// Moves the content of a file to memory that never moves again. Returns NULL if the file is too large for it.
void *tree_map(inode *file, int64_t offset, int64_t count);

// Makes the changes of a file, or of the names of a folder, durable.
void tree_sync(simulated_disk *disk, inode *inode);

// Decides which changes took effect, and makes the result visible and durable.
void tree_crash(simulated_disk *disk);

// Removes everything.
void tree_clear(simulated_disk *disk);

#endif
