#define _GNU_SOURCE
#include "FileTree.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// The index of a write-ahead log has 32 KiB for 4,096 frames, so this is enough for a log of 2 GiB.
enum { mapping_size = 4 << 20 };

// MARK: Randomness and memory

// SplitMix64.
uint64_t tree_random(simulated_disk *disk, uint64_t limit) {
  uint64_t z = disk->random += 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return limit ? z % limit : 0;
}

static void *allocated(void *memory) {
  if (!memory) abort();
  return memory;
}

static void resize(content *content, int64_t size) {
  if (size > content->capacity) {
    content->capacity = size + size / 4 + 4096;
    content->bytes = allocated(realloc(content->bytes, (size_t)content->capacity));
  }
  if (size > content->size) memset(content->bytes + content->size, 0, (size_t)(size - content->size));
  content->size = size;
}

static void apply(content *content, int64_t offset, const void *bytes, int64_t count) {
  if (!bytes) {
    resize(content, offset);
    return;
  }
  if (offset + count > content->size) resize(content, offset + count);
  memcpy(content->bytes + offset, bytes, (size_t)count);
}

// MARK: Files

inode *tree_new(simulated_disk *disk, int is_folder) {
  inode *made = allocated(calloc(1, sizeof *made));
  made->number = ++disk->last_inode;
  made->is_folder = is_folder;
  made->last_change = &made->changes;
  made->next = disk->inodes;
  made->place = &disk->inodes;
  if (made->next) made->next->place = &made->next;
  disk->inodes = made;
  return made;
}

inode *tree_retain(inode *inode) {
  if (inode) inode->reference_count++;
  return inode;
}

static void remove_entries(entry **first) {
  while (*first) {
    entry *removed = *first;
    *first = removed->next;
    tree_release(removed->inode);
    free(removed);
  }
}

static void forget_changes(inode *file) {
  while (file->changes) {
    change *first = file->changes;
    file->changes = first->next;
    free(first);
  }
  file->last_change = &file->changes;
}

static void free_current(inode *file) {
  // Not munmap(2), which is that of the simulated disks here.
  if (file->mapped_capacity) syscall(SYS_munmap, file->current.bytes, (size_t)file->mapped_capacity);
  else free(file->current.bytes);
  file->mapped_capacity = 0;
  memset(&file->current, 0, sizeof file->current);
}

void tree_release(inode *inode) {
  if (!inode || --inode->reference_count > 0) return;
  remove_entries(&inode->visible);
  remove_entries(&inode->durable);
  forget_changes(inode);
  free_current(inode);
  free(inode->synced.bytes);
  *inode->place = inode->next;
  if (inode->next) inode->next->place = inode->place;
  free(inode);
}

void tree_change(inode *file, int64_t offset, const void *bytes, int64_t count) {
  apply(&file->current, offset, bytes, count);
  change *added = allocated(malloc(sizeof *added + (size_t)(bytes ? count : 0)));
  added->next = 0;
  added->offset = offset;
  added->count = bytes ? count : -1;
  if (bytes) memcpy(added->bytes, bytes, (size_t)count);
  *file->last_change = added;
  file->last_change = &added->next;
}

void *tree_map(inode *file, int64_t offset, int64_t count) {
  if (offset + count > mapping_size || file->current.size > mapping_size) return 0;
  if (!file->mapped_capacity) {
    void *memory = mmap(0, mapping_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) abort();
    if (file->current.size) memcpy(memory, file->current.bytes, (size_t)file->current.size);
    free(file->current.bytes);
    file->current.bytes = memory;
    file->current.capacity = file->mapped_capacity = mapping_size;
  }
  return file->current.bytes + offset;
}

// MARK: Names

static entry **place_of(entry **first, const char *name, size_t length) {
  while (*first && (strncmp((*first)->name, name, length) || (*first)->name[length])) first = &(*first)->next;
  return first;
}

inode *tree_entry(const inode *folder, const char *name, size_t length) {
  entry *visible = folder->visible;
  entry **found = place_of(&visible, name, length);
  return *found ? (*found)->inode : 0;
}

static void set_entry(entry **first, const char *name, inode *inode) {
  entry **place = place_of(first, name, strlen(name));
  tree_retain(inode);
  if (*place) {
    entry *old = *place;
    if (inode) {
      tree_release(old->inode);
      old->inode = inode;
      return;
    }
    *place = old->next;
    tree_release(old->inode);
    free(old);
  } else if (inode) {
    entry *made = allocated(malloc(sizeof *made + strlen(name) + 1));
    made->next = 0;
    made->inode = inode;
    strcpy(made->name, name);
    *place = made;
  }
}

static void note(
    simulated_disk *disk, inode *folder, const char *name, inode *inode, struct inode *old_folder, const char *old_name) {
  name_change *added = allocated(calloc(1, sizeof *added));
  added->folder = tree_retain(folder);
  added->inode = tree_retain(inode);
  added->old_folder = tree_retain(old_folder);
  added->name = allocated(strdup(name));
  if (old_name) added->old_name = allocated(strdup(old_name));
  *disk->last_name_change = added;
  disk->last_name_change = &added->next;
}

void tree_set_name(simulated_disk *disk, inode *folder, const char *name, inode *inode) {
  note(disk, folder, name, inode, 0, 0);
  set_entry(&folder->visible, name, inode);
}

void tree_rename(
    simulated_disk *disk, inode *old_folder, const char *old_name, inode *folder, const char *name, inode *inode) {
  note(disk, folder, name, inode, old_folder, old_name);
  set_entry(&folder->visible, name, inode);
  set_entry(&old_folder->visible, old_name, 0);
}

static void make_durable(const name_change *change) {
  set_entry(&change->folder->durable, change->name, change->inode);
  if (change->old_name) set_entry(&change->old_folder->durable, change->old_name, 0);
}

// Removes a change from the list, and returns the next one.
static name_change **forget_name_change(simulated_disk *disk, name_change **place) {
  name_change *removed = *place;
  *place = removed->next;
  if (!*place) disk->last_name_change = place;
  tree_release(removed->folder);
  tree_release(removed->inode);
  tree_release(removed->old_folder);
  free(removed->name);
  free(removed->old_name);
  free(removed);
  return place;
}

static int concerns(const name_change *change, const inode *folder, const char *name) {
  return (change->folder == folder && !strcmp(change->name, name)) ||
         (change->old_name && change->old_folder == folder && !strcmp(change->old_name, name));
}

// Makes earlier changes of the same names durable. A rename between two folders becomes durable with either of them, and the
// other may have an older change of the name.
static void make_earlier_durable(simulated_disk *disk, const name_change *last) {
  for (name_change **place = &disk->name_changes; *place != last;) {
    name_change *change = *place;
    if (concerns(change, last->folder, last->name) || (last->old_name && concerns(change, last->old_folder, last->old_name))) {
      make_durable(change);
      place = forget_name_change(disk, place);
    } else {
      place = &change->next;
    }
  }
}

void tree_sync(simulated_disk *disk, inode *inode) {
  if (inode->is_folder) {
    for (name_change **place = &disk->name_changes; *place;) {
      name_change *change = *place;
      if (change->folder != inode && change->old_folder != inode) {
        place = &change->next;
        continue;
      }
      make_earlier_durable(disk, change);
      for (place = &disk->name_changes; *place != change;) place = &(*place)->next;
      make_durable(change);
      place = forget_name_change(disk, place);
    }
  } else {
    for (change *change = inode->changes; change; change = change->next)
      apply(&inode->synced, change->offset, change->count < 0 ? 0 : change->bytes, change->count);
    forget_changes(inode);
  }
}

// MARK: Crashes

enum fate { keep_all, lose_all, keep_some };

static void crash_content(simulated_disk *disk, inode *file, enum fate fate) {
  for (change *change = file->changes; change; change = change->next) {
    if (fate == lose_all || (fate == keep_some && tree_random(disk, 2))) continue;
    int64_t count = change->count;
    // A torn write: only its first sectors have reached the disk.
    if (fate == keep_some && count > sector_size && tree_random(disk, 4) == 0)
      count = (int64_t)(1 + tree_random(disk, (uint64_t)count / sector_size)) * sector_size;
    if (count > change->count) count = change->count;
    apply(&file->synced, change->offset, change->count < 0 ? 0 : change->bytes, count);
  }
  forget_changes(file);
  free_current(file);
  if (file->synced.size) apply(&file->current, 0, file->synced.bytes, file->synced.size);
  file->locks = 0;
}

static void crash_names(simulated_disk *disk) {
  uint64_t count = 0;
  for (name_change *change = disk->name_changes; change; change = change->next) count++;
  int is_ordered = tree_random(disk, 2) == 0;
  uint64_t kept = tree_random(disk, count + 1);
  uint64_t index = 0;
  for (name_change *change = disk->name_changes; change; change = change->next, index++) {
    if (is_ordered) {
      if (index >= kept) break;
    } else {
      // The first change that is lost ends the order of its folder.
      int is_lost = tree_random(disk, 3) == 0;
      for (name_change *earlier = disk->name_changes; earlier != change; earlier = earlier->next)
        if (earlier->folder == change->folder && !earlier->name[0]) is_lost = 1;
      if (is_lost) {
        change->name[0] = 0;
        continue;
      }
    }
    make_durable(change);
  }
  while (disk->name_changes) forget_name_change(disk, &disk->name_changes);
}

static void show_durable(inode *folder) {
  remove_entries(&folder->visible);
  for (entry *entry = folder->durable; entry; entry = entry->next) {
    set_entry(&folder->visible, entry->name, entry->inode);
    if (entry->inode->is_folder) show_durable(entry->inode);
  }
}

static int compare_numbers(const void *left, const void *right) {
  uint64_t one = (*(inode *const *)left)->number, other = (*(inode *const *)right)->number;
  return one < other ? -1 : one > other;
}

void tree_crash(simulated_disk *disk) {
  crash_names(disk);
  // Most crashes leave the disk as one of the two extremes would: SQLite has to survive all.
  enum fate fate = (enum fate)tree_random(disk, 4);
  if (fate > keep_some) fate = keep_some;
  size_t count = 0;
  for (inode *inode = disk->inodes; inode; inode = inode->next) count++;
  inode **files = allocated(malloc((count + 1) * sizeof *files));
  count = 0;
  for (inode *inode = disk->inodes; inode; inode = inode->next)
    if (!inode->is_folder) files[count++] = inode;
  // In the order of their creation, so that equal seeds crash equally.
  qsort(files, count, sizeof *files, compare_numbers);
  for (size_t index = 0; index < count; index++) crash_content(disk, files[index], fate);
  free(files);
  show_durable(disk->root);
}

void tree_clear(simulated_disk *disk) {
  while (disk->name_changes) forget_name_change(disk, &disk->name_changes);
  tree_release(disk->root);
}
