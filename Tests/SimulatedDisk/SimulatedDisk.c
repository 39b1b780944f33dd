#define _GNU_SOURCE
#include "SimulatedDisk.h"
#include <pthread.h>
#include <sqlcipher/sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { sector_size = 512, path_limit = 512, slot_count = 8 };

// MARK: Types

// A change of a file's content since its last sync. A truncation has no bytes, and its offset is the new size.
typedef struct change {
  struct change *next;
  int64_t offset, count;
  unsigned char bytes[];
} change;

typedef struct content {
  unsigned char *bytes;
  int64_t size, capacity;
} content;

typedef struct node {
  struct node *next;
  char path[path_limit];
  // The content that programs see, the content after the last sync, and the changes between both.
  content current, synced;
  change *changes, **last_change;
  // Whether programs see the name, and whether it exists after a crash. A removal that was not synced may be undone.
  int is_visible, is_durable;
  int open_count;
  // The locks of SQLite's rollback mode.
  int shared_count;
  int has_reserved, has_pending, has_exclusive;
  // The shared memory of WAL: regions, and for each lock the number of readers or -1 for a writer.
  unsigned char **regions;
  int region_count;
  int slots[slot_count];
  int shared_memory_count;
} node;

struct simulated_disk {
  sqlite3_vfs vfs;
  char name[48];
  pthread_mutex_t mutex;
  node *nodes;
  uint64_t random;
  // Open files of an earlier generation are unusable.
  uint64_t generation;
  uint64_t counts[5];
  int fault_kinds, has_failed, is_off;
  // Shared memory of connections that a crash ended. SQLite may still have pointers into it until it closes them.
  struct retired {
    struct retired *next;
    unsigned char **regions;
    int count;
  } *retired;
  uint64_t fault_after;
  enum simulated_fault fault;
};

typedef struct file {
  sqlite3_file base;
  simulated_disk *disk;
  node *node;
  uint64_t generation;
  int lock;
  int has_shared_memory, deletes_on_close;
  // Whether the next sync also syncs the folder, as SQLite on Unix does for a new journal or write-ahead log.
  int syncs_folder;
  int held[slot_count];
} file;

// MARK: Randomness, memory and faults

// SplitMix64.
static uint64_t number(simulated_disk *disk) {
  uint64_t z = disk->random += 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

static uint64_t below(simulated_disk *disk, uint64_t limit) { return limit ? number(disk) % limit : 0; }

static int resize(content *content, int64_t size) {
  if (size > content->capacity) {
    int64_t capacity = size * 3 / 2 + 4096;
    unsigned char *bytes = realloc(content->bytes, (size_t)capacity);
    if (!bytes) return SQLITE_NOMEM;
    content->bytes = bytes;
    content->capacity = capacity;
  }
  if (size > content->size) memset(content->bytes + content->size, 0, (size_t)(size - content->size));
  content->size = size;
  return SQLITE_OK;
}

static int apply(content *content, int64_t offset, const void *bytes, int64_t count) {
  if (!bytes) return resize(content, offset);
  if (offset + count > content->size) {
    int result = resize(content, offset + count);
    if (result) return result;
  }
  memcpy(content->bytes + offset, bytes, (size_t)count);
  return SQLITE_OK;
}

static void forget_changes(node *node) {
  while (node->changes) {
    change *first = node->changes;
    node->changes = first->next;
    free(first);
  }
  node->last_change = &node->changes;
}

static int note(node *node, int64_t offset, const void *bytes, int64_t count) {
  change *added = malloc(sizeof *added + (size_t)(bytes ? count : 0));
  if (!added) return SQLITE_NOMEM;
  added->next = 0;
  added->offset = offset;
  added->count = bytes ? count : -1;
  if (bytes) memcpy(added->bytes, bytes, (size_t)count);
  *node->last_change = added;
  node->last_change = &added->next;
  return SQLITE_OK;
}

static int index_of(int kind) {
  int index = 0;
  while (kind > 1) kind >>= 1, index++;
  return index;
}

// Counts an operation. Returns the fault that it meets, or 0.
static int meet(simulated_disk *disk, int kind) {
  disk->counts[index_of(kind)]++;
  if (disk->is_off) return simulated_power_cut;
  if (!(disk->fault_kinds & kind)) return 0;
  if (disk->fault_after--) return 0;
  disk->fault_kinds = 0;
  disk->has_failed = 1;
  if (disk->fault == simulated_power_cut) disk->is_off = 1;
  if (disk->fault == simulated_full && !(kind & (simulated_write | simulated_open))) return 0;
  return disk->fault;
}

static int code(int fault, int io_error) { return fault == simulated_full ? SQLITE_FULL : io_error; }

// MARK: Names

static node *find(simulated_disk *disk, const char *path) {
  for (node *node = disk->nodes; node; node = node->next)
    if (node->is_visible && !strcmp(node->path, path)) return node;
  return 0;
}

static node *make(simulated_disk *disk, const char *path) {
  node *made = calloc(1, sizeof *made);
  if (!made) return 0;
  snprintf(made->path, sizeof made->path, "%s", path);
  made->last_change = &made->changes;
  made->is_visible = 1;
  made->next = disk->nodes;
  disk->nodes = made;
  return made;
}

// Makes every name and every removal durable.
static void sync_folder(simulated_disk *disk) {
  for (node *node = disk->nodes; node; node = node->next) node->is_durable = node->is_visible;
}

static void free_regions(unsigned char **regions, int count) {
  for (int index = 0; index < count; index++) free(regions[index]);
  free(regions);
}

static void free_shared_memory(node *node) {
  free_regions(node->regions, node->region_count);
  node->regions = 0;
  node->region_count = 0;
  memset(node->slots, 0, sizeof node->slots);
}

static void retire_shared_memory(simulated_disk *disk, node *node) {
  if (!node->region_count) return;
  struct retired *retired = malloc(sizeof *retired);
  if (!retired) abort();
  *retired = (struct retired){disk->retired, node->regions, node->region_count};
  disk->retired = retired;
  node->regions = 0;
  node->region_count = 0;
}

static void drop_unused(simulated_disk *disk) {
  for (node **place = &disk->nodes; *place;) {
    node *node = *place;
    if (node->is_visible || node->is_durable || node->open_count) {
      place = &node->next;
      continue;
    }
    *place = node->next;
    forget_changes(node);
    free_shared_memory(node);
    free(node->current.bytes);
    free(node->synced.bytes);
    free(node);
  }
}

// MARK: Files

#define ENTER(handle)                                        \
  file *self = (file *)(handle);                             \
  simulated_disk *disk = self->disk;                         \
  pthread_mutex_lock(&disk->mutex);                          \
  int result = SQLITE_OK;                                    \
  int is_stale = self->generation != disk->generation;       \
  (void)is_stale

#define LEAVE                        \
  pthread_mutex_unlock(&disk->mutex); \
  return result

static int file_read(sqlite3_file *handle, void *bytes, int count, sqlite3_int64 offset) {
  ENTER(handle);
  int fault = meet(disk, simulated_read);
  if (is_stale || (fault && fault != simulated_full)) {
    result = SQLITE_IOERR_READ;
  } else {
    const content *content = &self->node->current;
    int64_t available = content->size - offset;
    if (available > count) available = count;
    if (available < 0) available = 0;
    if (available) memcpy(bytes, content->bytes + offset, (size_t)available);
    if (available < count) {
      memset((char *)bytes + available, 0, (size_t)(count - available));
      result = SQLITE_IOERR_SHORT_READ;
    }
  }
  LEAVE;
}

static int file_write(sqlite3_file *handle, const void *bytes, int count, sqlite3_int64 offset) {
  ENTER(handle);
  int was_off = disk->is_off;
  int fault = meet(disk, simulated_write);
  int64_t written = count;
  if (is_stale || was_off) {
    result = SQLITE_IOERR_WRITE;
    written = 0;
  } else if (fault) {
    result = code(fault, SQLITE_IOERR_WRITE);
    // A write that fails may have reached the disk in part.
    written = fault == simulated_full ? 0 : (int64_t)below(disk, (uint64_t)count / sector_size + 1) * sector_size;
    if (written > count) written = count;
  }
  if (written) {
    int applied = apply(&self->node->current, offset, bytes, written);
    if (!applied) applied = note(self->node, offset, bytes, written);
    if (applied) result = applied;
  }
  LEAVE;
}

static int file_truncate(sqlite3_file *handle, sqlite3_int64 size) {
  ENTER(handle);
  int fault = meet(disk, simulated_write);
  if (is_stale || (fault && fault != simulated_full)) {
    result = SQLITE_IOERR_TRUNCATE;
  } else {
    result = apply(&self->node->current, size, 0, 0);
    if (!result) result = note(self->node, size, 0, 0);
  }
  LEAVE;
}

static int file_sync(sqlite3_file *handle, int flags) {
  (void)flags;
  ENTER(handle);
  int fault = meet(disk, simulated_sync);
  if (is_stale || (fault && fault != simulated_full)) {
    result = SQLITE_IOERR_FSYNC;
  } else {
    node *node = self->node;
    for (change *change = node->changes; change && !result; change = change->next)
      result = apply(&node->synced, change->offset, change->count < 0 ? 0 : change->bytes, change->count);
    if (!result) {
      forget_changes(node);
      if (self->syncs_folder) sync_folder(disk);
      self->syncs_folder = 0;
    }
  }
  LEAVE;
}

static int file_size(sqlite3_file *handle, sqlite3_int64 *size) {
  ENTER(handle);
  if (is_stale) result = SQLITE_IOERR_FSTAT;
  *size = is_stale ? 0 : self->node->current.size;
  LEAVE;
}

static void release(file *self, int level) {
  node *node = self->node;
  if (self->lock >= SQLITE_LOCK_EXCLUSIVE) node->has_exclusive = 0;
  if (self->lock >= SQLITE_LOCK_PENDING) node->has_pending = 0;
  if (self->lock >= SQLITE_LOCK_RESERVED) node->has_reserved = 0;
  if (level == SQLITE_LOCK_NONE && self->lock >= SQLITE_LOCK_SHARED) node->shared_count--;
  self->lock = level;
}

static int file_lock(sqlite3_file *handle, int level) {
  ENTER(handle);
  node *node = self->node;
  if (is_stale) {
    result = SQLITE_IOERR_LOCK;
  } else if (level > self->lock) {
    if (self->lock == SQLITE_LOCK_NONE) {
      if (node->has_pending || node->has_exclusive) result = SQLITE_BUSY;
      else node->shared_count++, self->lock = SQLITE_LOCK_SHARED;
    }
    if (!result && level >= SQLITE_LOCK_RESERVED && self->lock < SQLITE_LOCK_RESERVED) {
      if (node->has_reserved) result = SQLITE_BUSY;
      else node->has_reserved = 1, self->lock = SQLITE_LOCK_RESERVED;
    }
    if (!result && level == SQLITE_LOCK_EXCLUSIVE) {
      node->has_pending = 1;
      self->lock = SQLITE_LOCK_PENDING;
      if (node->shared_count > 1) result = SQLITE_BUSY;
      else node->has_exclusive = 1, self->lock = SQLITE_LOCK_EXCLUSIVE;
    }
  }
  LEAVE;
}

static int file_unlock(sqlite3_file *handle, int level) {
  ENTER(handle);
  if (!is_stale && level < self->lock) release(self, level);
  LEAVE;
}

static int file_check_reserved(sqlite3_file *handle, int *has_reserved) {
  ENTER(handle);
  *has_reserved = !is_stale && self->node->has_reserved;
  LEAVE;
}

static int file_control(sqlite3_file *handle, int operation, void *argument) {
  (void)handle, (void)operation, (void)argument;
  return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *handle) {
  (void)handle;
  return sector_size;
}

static int file_characteristics(sqlite3_file *handle) {
  (void)handle;
  return 0;
}

static int file_shm_map(sqlite3_file *handle, int index, int size, int extends, void volatile **memory) {
  ENTER(handle);
  node *node = self->node;
  *memory = 0;
  if (is_stale) {
    result = SQLITE_IOERR_SHMMAP;
  } else {
    if (!self->has_shared_memory) self->has_shared_memory = 1, node->shared_memory_count++;
    if (index >= node->region_count && extends) {
      unsigned char **regions = realloc(node->regions, sizeof *regions * (size_t)(index + 1));
      if (!regions) result = SQLITE_NOMEM;
      else node->regions = regions;
      while (!result && node->region_count <= index) {
        if (!(node->regions[node->region_count] = calloc(1, (size_t)size))) result = SQLITE_NOMEM;
        else node->region_count++;
      }
    }
    if (!result && index < node->region_count) *memory = node->regions[index];
  }
  LEAVE;
}

static int file_shm_lock(sqlite3_file *handle, int offset, int count, int flags) {
  ENTER(handle);
  int *slots = self->node->slots;
  if (is_stale) {
    result = SQLITE_IOERR_SHMLOCK;
  } else if (flags & SQLITE_SHM_UNLOCK) {
    for (int slot = offset; slot < offset + count; slot++) {
      if (self->held[slot] > 0) slots[slot]--;
      if (self->held[slot] < 0) slots[slot] = 0;
      self->held[slot] = 0;
    }
  } else if (flags & SQLITE_SHM_SHARED) {
    for (int slot = offset; slot < offset + count && !result; slot++)
      if (slots[slot] < 0 && self->held[slot] == 0) result = SQLITE_BUSY;
    for (int slot = offset; slot < offset + count && !result; slot++)
      if (self->held[slot] == 0) slots[slot]++, self->held[slot] = 1;
  } else {
    for (int slot = offset; slot < offset + count && !result; slot++)
      if (slots[slot] != 0 && self->held[slot] >= 0) result = SQLITE_BUSY;
    for (int slot = offset; slot < offset + count && !result; slot++) slots[slot] = -1, self->held[slot] = -1;
  }
  LEAVE;
}

static void file_shm_barrier(sqlite3_file *handle) {
  file *self = (file *)handle;
  pthread_mutex_lock(&self->disk->mutex);
  pthread_mutex_unlock(&self->disk->mutex);
}

static void leave_shared_memory(file *self, int deletes) {
  node *node = self->node;
  if (!self->has_shared_memory) return;
  for (int slot = 0; slot < slot_count; slot++) {
    if (self->held[slot] > 0) node->slots[slot]--;
    if (self->held[slot] < 0) node->slots[slot] = 0;
    self->held[slot] = 0;
  }
  self->has_shared_memory = 0;
  if (--node->shared_memory_count == 0 && deletes) free_shared_memory(node);
}

static int file_shm_unmap(sqlite3_file *handle, int deletes) {
  ENTER(handle);
  if (!is_stale) leave_shared_memory(self, deletes);
  LEAVE;
}

static int file_close(sqlite3_file *handle) {
  ENTER(handle);
  node *node = self->node;
  if (!is_stale) {
    release(self, SQLITE_LOCK_NONE);
    leave_shared_memory(self, 0);
    if (self->deletes_on_close) node->is_visible = node->is_durable = 0;
  }
  node->open_count--;
  drop_unused(disk);
  LEAVE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

// MARK: The VFS

static simulated_disk *disk_of(sqlite3_vfs *vfs) { return vfs->pAppData; }

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *handle, int flags, int *opened_flags) {
  simulated_disk *disk = disk_of(vfs);
  file *self = (file *)handle;
  memset(self, 0, sizeof *self);
  pthread_mutex_lock(&disk->mutex);
  int result = SQLITE_OK;
  char name[path_limit];
  if (path) snprintf(name, sizeof name, "%s", path);
  else snprintf(name, sizeof name, "/temporary-%llx", (unsigned long long)number(disk));
  int fault = meet(disk, simulated_open);
  node *node = find(disk, name);
  int is_new = !node;
  if (fault && (fault != simulated_full || !node)) {
    result = code(fault, SQLITE_CANTOPEN);
  } else if (!node && !(flags & SQLITE_OPEN_CREATE)) {
    result = SQLITE_CANTOPEN;
  } else if (!node && !(node = make(disk, name))) {
    result = SQLITE_NOMEM;
  }
  if (!result) {
    self->base.pMethods = &methods;
    self->disk = disk;
    self->node = node;
    self->generation = disk->generation;
    int journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
    self->syncs_folder = is_new && (flags & journals);
    self->deletes_on_close = !!(flags & SQLITE_OPEN_DELETEONCLOSE);
    node->open_count++;
    if (opened_flags) *opened_flags = flags;
  }
  pthread_mutex_unlock(&disk->mutex);
  return result;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int syncs) {
  simulated_disk *disk = disk_of(vfs);
  pthread_mutex_lock(&disk->mutex);
  int result = SQLITE_OK;
  if (meet(disk, simulated_remove)) {
    result = SQLITE_IOERR_DELETE;
  } else {
    node *node = find(disk, path);
    if (!node) result = SQLITE_IOERR_DELETE_NOENT;
    else node->is_visible = 0;
    if (node && syncs) sync_folder(disk);
    drop_unused(disk);
  }
  pthread_mutex_unlock(&disk->mutex);
  return result;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *exists) {
  (void)flags;
  simulated_disk *disk = disk_of(vfs);
  pthread_mutex_lock(&disk->mutex);
  node *node = find(disk, path);
  // SQLite treats an empty journal as a missing one.
  *exists = node && (flags != SQLITE_ACCESS_EXISTS || node->current.size > 0);
  pthread_mutex_unlock(&disk->mutex);
  return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int count, char *full) {
  (void)vfs;
  snprintf(full, (size_t)count, "%s%s", *path == '/' ? "" : "/", path);
  return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int count, char *bytes) {
  simulated_disk *disk = disk_of(vfs);
  pthread_mutex_lock(&disk->mutex);
  for (int index = 0; index < count; index++) bytes[index] = (char)number(disk);
  pthread_mutex_unlock(&disk->mutex);
  return count;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
  (void)vfs;
  return microseconds;
}

// The environment of a connection replaces the clock. A connection without one starts in 2026.
static int vfs_time(sqlite3_vfs *vfs, sqlite3_int64 *time) {
  (void)vfs;
  *time = 210866760000000 + 1767225600000;
  return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int count, char *text) {
  (void)vfs, (void)count, (void)text;
  return 0;
}

simulated_disk *simulated_disk_create(uint64_t seed) {
  if (sqlite3_initialize() != SQLITE_OK) return 0;
  simulated_disk *disk = calloc(1, sizeof *disk);
  if (!disk) return 0;
  pthread_mutex_init(&disk->mutex, 0);
  disk->random = seed;
  snprintf(disk->name, sizeof disk->name, "disk-%p", (void *)disk);
  disk->vfs = (sqlite3_vfs){
      .iVersion = 2,
      .szOsFile = sizeof(file),
      .mxPathname = path_limit,
      .zName = disk->name,
      .pAppData = disk,
      .xOpen = vfs_open,
      .xDelete = vfs_delete,
      .xAccess = vfs_access,
      .xFullPathname = vfs_full_path,
      .xRandomness = vfs_randomness,
      .xSleep = vfs_sleep,
      .xGetLastError = vfs_last_error,
      .xCurrentTimeInt64 = vfs_time,
  };
  if (sqlite3_vfs_register(&disk->vfs, 0) == SQLITE_OK) return disk;
  free(disk);
  return 0;
}

void simulated_disk_destroy(simulated_disk *disk) {
  sqlite3_vfs_unregister(&disk->vfs);
  for (node *node = disk->nodes; node; node = node->next) node->is_visible = node->is_durable = 0;
  drop_unused(disk);
  while (disk->retired) {
    struct retired *first = disk->retired;
    disk->retired = first->next;
    free_regions(first->regions, first->count);
    free(first);
  }
  pthread_mutex_destroy(&disk->mutex);
  free(disk);
}

const char *simulated_disk_name(const simulated_disk *disk) { return disk->name; }

void simulated_disk_fail(simulated_disk *disk, int kinds, uint64_t count, enum simulated_fault fault) {
  pthread_mutex_lock(&disk->mutex);
  disk->fault_kinds = kinds;
  disk->fault_after = count;
  disk->fault = fault;
  disk->has_failed = 0;
  pthread_mutex_unlock(&disk->mutex);
}

void simulated_disk_heal(simulated_disk *disk) { simulated_disk_fail(disk, 0, 0, simulated_io_error); }

int simulated_disk_has_failed(const simulated_disk *disk) { return disk->has_failed; }

// MARK: Crashes

enum fate { keep_all, lose_all, keep_some };

static void lose_changes(simulated_disk *disk, node *node, enum fate fate) {
  for (change *change = node->changes; change; change = change->next) {
    if (fate == lose_all || (fate == keep_some && below(disk, 2))) continue;
    int64_t count = change->count;
    // A torn write: only its first sectors have reached the disk.
    if (fate == keep_some && count > sector_size && below(disk, 4) == 0)
      count = (int64_t)(1 + below(disk, (uint64_t)count / sector_size)) * sector_size;
    if (count > change->count) count = change->count;
    if (apply(&node->synced, change->offset, change->count < 0 ? 0 : change->bytes, count)) abort();
  }
  forget_changes(node);
  if (resize(&node->current, node->synced.size)) abort();
  if (node->synced.size) memcpy(node->current.bytes, node->synced.bytes, (size_t)node->synced.size);
}

void simulated_disk_crash(simulated_disk *disk) {
  pthread_mutex_lock(&disk->mutex);
  uint64_t draw = below(disk, 8);
  enum fate fate = draw == 0 ? keep_all : draw <= 2 ? lose_all : keep_some;
  for (node *node = disk->nodes; node; node = node->next) {
    if (node->is_visible != node->is_durable) {
      int keeps_change = fate == keep_all || (fate == keep_some && below(disk, 2));
      if (!keeps_change) node->is_visible = node->is_durable;
    }
    lose_changes(disk, node, fate);
    node->is_durable = node->is_visible;
    node->shared_count = node->has_reserved = node->has_pending = node->has_exclusive = 0;
    node->shared_memory_count = 0;
    retire_shared_memory(disk, node);
    memset(node->slots, 0, sizeof node->slots);
  }
  // A name belongs to its newest file: where the removal of an older one would be undone, it took effect before.
  for (node *newer = disk->nodes; newer; newer = newer->next)
    for (node *older = newer->next; older && newer->is_visible; older = older->next)
      if (!strcmp(older->path, newer->path)) older->is_visible = older->is_durable = 0;
  disk->generation++;
  disk->is_off = disk->has_failed = disk->fault_kinds = 0;
  drop_unused(disk);
  pthread_mutex_unlock(&disk->mutex);
}

// MARK: Questions

uint64_t simulated_disk_count(const simulated_disk *disk, int kinds) {
  uint64_t sum = 0;
  for (int index = 0; index < 5; index++)
    if (kinds & (1 << index)) sum += disk->counts[index];
  return sum;
}

int64_t simulated_disk_size(const simulated_disk *disk, const char *path) {
  node *node = find((simulated_disk *)disk, path);
  return node ? node->current.size : -1;
}

static int has_bytes(const content *content, const void *bytes, int64_t count) {
  return content->size && memmem(content->bytes, (size_t)content->size, bytes, (size_t)count) != 0;
}

int simulated_disk_contains(const simulated_disk *disk, const void *bytes, int64_t count) {
  for (const node *node = disk->nodes; node; node = node->next) {
    if (has_bytes(&node->current, bytes, count) || has_bytes(&node->synced, bytes, count)) return 1;
    for (const change *change = node->changes; change; change = change->next)
      if (change->count > 0 && memmem(change->bytes, (size_t)change->count, bytes, (size_t)count)) return 1;
  }
  return 0;
}
