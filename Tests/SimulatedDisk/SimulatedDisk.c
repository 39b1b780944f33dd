#define _GNU_SOURCE
#include "FileTree.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char mount_point[] = "/simulated/";

// Descriptors above those of the operating system.
enum { first_descriptor = 1 << 24, descriptor_limit = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static simulated_disk *disks;
static uint64_t last_device;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

// MARK: Disks

int simulated_disk_is_available(void) {
#if HAS_SANITIZER
  return 0;
#else
  return 1;
#endif
}

simulated_disk *simulated_disk_create(const char *name, uint64_t seed) {
  if (!*name || strlen(name) >= name_limit || strchr(name, '/')) return 0;
  simulated_disk *disk = calloc(1, sizeof *disk);
  if (!disk) return 0;
  pthread_mutex_lock(&lock);
  for (simulated_disk *other = disks; other; other = other->next) {
    if (strcmp(other->name, name)) continue;
    pthread_mutex_unlock(&lock);
    free(disk);
    return 0;
  }
  strcpy(disk->name, name);
  disk->random = seed;
  disk->device = ++last_device;
  disk->last_name_change = &disk->name_changes;
  disk->root = tree_retain(tree_new(disk, 1));
  disk->next = disks;
  disks = disk;
  pthread_mutex_unlock(&lock);
  return disk;
}

int simulated_disk_destroy(simulated_disk *disk) {
  pthread_mutex_lock(&lock);
  int open_count = disk->open_count;
  if (open_count) {
    pthread_mutex_unlock(&lock);
    return open_count;
  }
  simulated_disk **place = &disks;
  while (*place != disk) place = &(*place)->next;
  *place = disk->next;
  tree_clear(disk);
  pthread_mutex_unlock(&lock);
  free(disk->exposed_path);
  free(disk);
  return 0;
}

void simulated_disk_fail(simulated_disk *disk, int kinds, uint64_t count, enum simulated_fault fault) {
  pthread_mutex_lock(&lock);
  disk->fault_kinds = kinds;
  disk->fault_after = count;
  disk->fault = fault;
  disk->has_failed = 0;
  pthread_mutex_unlock(&lock);
}

void simulated_disk_heal(simulated_disk *disk) { simulated_disk_fail(disk, 0, 0, simulated_io_error); }

int simulated_disk_has_failed(const simulated_disk *disk) { return disk->has_failed; }

void simulated_disk_cut(simulated_disk *disk) {
  pthread_mutex_lock(&lock);
  disk->is_off = 1;
  pthread_mutex_unlock(&lock);
}

int simulated_disk_is_off(const simulated_disk *disk) { return disk->is_off; }

int simulated_disk_restart(simulated_disk *disk) {
  pthread_mutex_lock(&lock);
  int open_count = disk->open_count;
  if (!open_count) {
    tree_crash(disk);
    disk->device = ++last_device;
    disk->is_off = disk->fault_kinds = disk->has_failed = 0;
  }
  pthread_mutex_unlock(&lock);
  return open_count;
}

static int index_of(int kind) {
  int index = 0;
  while (kind > 1) kind >>= 1, index++;
  return index;
}

uint64_t simulated_disk_count(const simulated_disk *disk, int kinds) {
  uint64_t count = 0;
  for (int index = 0; index < 5; index++)
    if (kinds & 1 << index) count += disk->counts[index];
  return count;
}

static int contains(const unsigned char *in, int64_t size, const void *bytes, int64_t count) {
  return size >= count && memmem(in, (size_t)size, bytes, (size_t)count) != 0;
}

int simulated_disk_contains(const simulated_disk *disk, const void *bytes, int64_t count) {
  pthread_mutex_lock(&lock);
  int found = 0;
  for (inode *inode = disk->inodes; inode && !found; inode = inode->next) {
    found = contains(inode->current.bytes, inode->current.size, bytes, count) ||
            contains(inode->synced.bytes, inode->synced.size, bytes, count);
    for (change *change = inode->changes; change && !found; change = change->next)
      found = contains(change->bytes, change->count, bytes, count);
  }
  pthread_mutex_unlock(&lock);
  return found;
}

void simulated_disk_watch(simulated_disk *disk, const void *bytes, int64_t count) {
  if (count > watched_limit) count = watched_limit;
  pthread_mutex_lock(&lock);
  memcpy(disk->watched, bytes, (size_t)count);
  disk->watched_count = count;
  pthread_mutex_unlock(&lock);
}

const char *simulated_disk_exposed_path(const simulated_disk *disk) { return disk->exposed_path; }

// Looks for the watched bytes in a range of a file that was just written. They may begin before it or end behind it.
static void look(simulated_disk *disk, const inode *file, const char *path, int64_t offset, int64_t count) {
  if (!disk->watched_count || disk->exposed_path) return;
  int64_t around = disk->watched_count - 1;
  int64_t begin = offset > around ? offset - around : 0;
  int64_t end = offset + count + around;
  if (end > file->current.size) end = file->current.size;
  if (contains(file->current.bytes + begin, end - begin, disk->watched, disk->watched_count))
    disk->exposed_path = strdup(path);
}

// Counts an operation. Returns the number of the error that it meets, or 0.
static int meet(simulated_disk *disk, int kind) {
  disk->counts[index_of(kind)]++;
  if (disk->is_off) return EIO;
  if (!(disk->fault_kinds & kind)) return 0;
  if (disk->fault_after--) return 0;
  disk->fault_kinds = 0;
  disk->has_failed = 1;
  if (disk->fault == simulated_power_cut) disk->is_off = 1;
  if (disk->fault == simulated_full) return kind & (simulated_read | simulated_sync) ? 0 : ENOSPC;
  return EIO;
}

// MARK: Paths

// A place in a disk. `inode` is NULL if nothing is there, and `folder` if its folder does not exist either.
typedef struct place {
  simulated_disk *disk;
  inode *folder, *inode;
  char name[256];
} place;

static int is_simulated(const char *path) { return path && !strncmp(path, mount_point, sizeof mount_point - 1); }

// Finds a path. The caller holds the lock. Returns 0, or the number of an error.
static int find(const char *path, place *found) {
  memset(found, 0, sizeof *found);
  const char *rest = path + sizeof mount_point - 1;
  size_t length = strcspn(rest, "/");
  for (simulated_disk *disk = disks; disk; disk = disk->next)
    if (!strncmp(disk->name, rest, length) && !disk->name[length]) found->disk = disk;
  if (!found->disk) return ENOENT;
  found->inode = found->disk->root;
  for (rest += length; *rest; rest += length) {
    while (*rest == '/') rest++;
    length = strcspn(rest, "/");
    if (!length || (length == 1 && *rest == '.')) continue;
    if (length >= sizeof found->name) return ENAMETOOLONG;
    if (!found->inode) return ENOENT;
    if (!found->inode->is_folder) return ENOTDIR;
    found->folder = found->inode;
    memcpy(found->name, rest, length);
    found->name[length] = 0;
    found->inode = tree_entry(found->folder, rest, length);
  }
  return 0;
}

int64_t simulated_disk_size(const char *path) {
  pthread_mutex_lock(&lock);
  place at;
  int64_t size = !is_simulated(path) || find(path, &at) || !at.inode ? -1 : at.inode->current.size;
  pthread_mutex_unlock(&lock);
  return size;
}

// Copies a file or a folder durably to a name.
static void copy(simulated_disk *disk, const inode *source, inode *folder, const char *name) {
  inode *made = tree_retain(tree_new(disk, source->is_folder));
  if (source->current.size) tree_change(made, 0, source->current.bytes, source->current.size);
  for (const entry *entry = source->visible; entry; entry = entry->next) copy(disk, entry->inode, made, entry->name);
  tree_sync(disk, made);
  tree_set_name(disk, folder, name, made);
  tree_sync(disk, folder);
  tree_release(made);
}

int simulated_disk_copy(const char *source, const char *target) {
  pthread_mutex_lock(&lock);
  place from, to;
  int is_possible = is_simulated(source) && is_simulated(target) && !find(source, &from) && !find(target, &to) &&
                    from.inode && !to.inode && to.folder;
  if (is_possible) {
    copy(to.disk, from.inode, to.folder, to.name);
  }
  pthread_mutex_unlock(&lock);
  return is_possible ? 0 : -1;
}

// MARK: Descriptors

typedef struct descriptor {
  simulated_disk *disk;
  inode *inode;
  char *path;
  int64_t offset;
  int flags;
  // The lock of flock(2): -1, 0 or 1.
  int lock;
} descriptor;

static descriptor descriptors[descriptor_limit];

static descriptor *descriptor_of(int number) {
  int index = number - first_descriptor;
  return index >= 0 && index < descriptor_limit && descriptors[index].inode ? &descriptors[index] : 0;
}

const char *simulated_disk_open_path(const simulated_disk *disk) {
  const char *path = 0;
  pthread_mutex_lock(&lock);
  for (int index = 0; index < descriptor_limit && !path; index++)
    if (descriptors[index].disk == disk) path = descriptors[index].path;
  pthread_mutex_unlock(&lock);
  return path;
}

static void release_lock(descriptor *self) {
  if (self->lock > 0) self->inode->locks--;
  if (self->lock < 0) self->inode->locks = 0;
  self->lock = 0;
}

static int failed(int error) {
  errno = error;
  return -1;
}

// A function of the C library behind the one of this file.
#define SYSTEM(function)                                                            \
  static __typeof__(&function) system_function;                                     \
  if (!system_function) *(void **)&system_function = dlsym(RTLD_NEXT, #function)

// The result of a function that needs the lock.
#define LOCKED(result)            \
  pthread_mutex_lock(&lock);      \
  __typeof__(result) answer = (result); \
  int number = errno;             \
  pthread_mutex_unlock(&lock);    \
  errno = number;                 \
  return answer

static int open_file(const char *path, int flags) {
  place at;
  int error = find(path, &at);
  if (error) return failed(error);
  if ((error = meet(at.disk, simulated_open)) && !(error == ENOSPC && at.inode)) return failed(error);
  if (at.inode && (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) return failed(EEXIST);
  if (at.inode && at.inode->is_folder && (flags & O_ACCMODE) != O_RDONLY) return failed(EISDIR);
  if (at.inode && !at.inode->is_folder && flags & O_DIRECTORY) return failed(ENOTDIR);
  if (!at.inode && !(flags & O_CREAT)) return failed(ENOENT);
  int index = 0;
  while (index < descriptor_limit && descriptors[index].inode) index++;
  if (index == descriptor_limit) return failed(EMFILE);
  if (!at.inode) {
    at.inode = tree_new(at.disk, 0);
    tree_set_name(at.disk, at.folder, at.name, at.inode);
  }
  if (flags & O_TRUNC && at.inode->current.size) tree_change(at.inode, 0, 0, 0);
  descriptors[index] = (descriptor){.disk = at.disk, .inode = tree_retain(at.inode), .path = strdup(path), .flags = flags};
  at.disk->open_count++;
  return first_descriptor + index;
}

static int close_file(int number) {
  descriptor *self = descriptor_of(number);
  if (!self) return failed(EBADF);
  release_lock(self);
  self->disk->open_count--;
  tree_release(self->inode);
  free(self->path);
  memset(self, 0, sizeof *self);
  return 0;
}

static ssize_t read_file(int number, void *bytes, size_t count, int64_t offset) {
  descriptor *self = descriptor_of(number);
  if (!self) return failed(EBADF);
  int error = meet(self->disk, simulated_read);
  if (error) return failed(error);
  int64_t at = offset < 0 ? self->offset : offset;
  int64_t available = self->inode->current.size - at;
  if (available > (int64_t)count) available = (int64_t)count;
  if (available <= 0) return 0;
  memcpy(bytes, self->inode->current.bytes + at, (size_t)available);
  if (offset < 0) self->offset += available;
  return available;
}

static ssize_t write_file(int number, const void *bytes, size_t count, int64_t offset) {
  descriptor *self = descriptor_of(number);
  if (!self || (self->flags & O_ACCMODE) == O_RDONLY) return failed(EBADF);
  int was_off = self->disk->is_off;
  int error = meet(self->disk, simulated_write);
  int64_t written = (int64_t)count;
  // A write that fails may have reached the disk in part.
  if (error) written = (int64_t)tree_random(self->disk, (uint64_t)count / sector_size + 1) * sector_size;
  if (written > (int64_t)count) written = (int64_t)count;
  int64_t at = offset >= 0 ? offset : self->flags & O_APPEND ? self->inode->current.size : self->offset;
  if (!was_off && error != ENOSPC && written) {
    tree_change(self->inode, at, bytes, written);
    look(self->disk, self->inode, self->path, at, written);
  }
  if (error) return failed(error);
  if (offset < 0) self->offset = at + written;
  return written;
}

static int truncate_file(int number, int64_t size) {
  descriptor *self = descriptor_of(number);
  if (!self) return failed(EBADF);
  int error = meet(self->disk, simulated_write);
  if (error && !(error == ENOSPC && size <= self->inode->current.size)) return failed(error);
  tree_change(self->inode, size, 0, 0);
  return 0;
}

static int sync_file(int number) {
  descriptor *self = descriptor_of(number);
  if (!self) return failed(EBADF);
  int error = meet(self->disk, simulated_sync);
  if (error) return failed(error);
  tree_sync(self->disk, self->inode);
  return 0;
}

static int lock_file(int number, int operation) {
  descriptor *self = descriptor_of(number);
  if (!self) return failed(EBADF);
  // The lock that this descriptor holds is given up first, as on Linux.
  release_lock(self);
  int *locks = &self->inode->locks;
  if (operation & LOCK_UN) return 0;
  if (operation & LOCK_EX ? *locks != 0 : *locks < 0) return failed(EWOULDBLOCK);
  self->lock = operation & LOCK_EX ? -1 : 1;
  *locks = operation & LOCK_EX ? -1 : *locks + 1;
  return 0;
}

static int status_of(const simulated_disk *disk, const inode *inode, struct stat *status) {
  if (disk->is_off) return failed(EIO);
  memset(status, 0, sizeof *status);
  status->st_dev = 0x5349000000ull + disk->device;
  status->st_ino = inode->number;
  status->st_mode = inode->is_folder ? S_IFDIR | 0700 : S_IFREG | 0600;
  status->st_nlink = 1;
  status->st_uid = geteuid();
  status->st_size = inode->current.size;
  status->st_blksize = 4096;
  status->st_blocks = (inode->current.size + 511) / 512;
  return 0;
}

static int status_of_path(const char *path, struct stat *status) {
  place at;
  int error = find(path, &at);
  if (error || !at.inode) return failed(error ? error : ENOENT);
  return status_of(at.disk, at.inode, status);
}

static int status_of_file(int number, struct stat *status) {
  descriptor *self = descriptor_of(number);
  return self ? status_of(self->disk, self->inode, status) : failed(EBADF);
}

static int make_folder(const char *path) {
  place at;
  int error = find(path, &at);
  if (error || at.inode) return failed(error ? error : EEXIST);
  if ((error = meet(at.disk, simulated_name))) return failed(error);
  tree_set_name(at.disk, at.folder, at.name, tree_new(at.disk, 1));
  return 0;
}

static int remove_name(const char *path, int is_folder) {
  place at;
  int error = find(path, &at);
  if (error || !at.inode) return failed(error ? error : ENOENT);
  if (at.inode->is_folder != is_folder) return failed(is_folder ? ENOTDIR : EISDIR);
  if (at.inode->visible) return failed(ENOTEMPTY);
  error = meet(at.disk, simulated_name);
  if (error && error != ENOSPC) return failed(error);
  tree_set_name(at.disk, at.folder, at.name, 0);
  return 0;
}

static int rename_name(const char *source, const char *target) {
  place from, to;
  int error = find(source, &from);
  if (!error) error = find(target, &to);
  if (error || !from.inode) return failed(error ? error : ENOENT);
  if (from.disk != to.disk) return failed(EXDEV);
  if (to.inode == from.inode) return 0;
  if (to.inode && to.inode->is_folder != from.inode->is_folder) return failed(to.inode->is_folder ? EISDIR : ENOTDIR);
  if (to.inode && to.inode->visible) return failed(ENOTEMPTY);
  if ((error = meet(from.disk, simulated_name))) return failed(error);
  tree_rename(from.disk, from.folder, from.name, to.folder, to.name, from.inode);
  return 0;
}

static int link_name(const char *source, const char *target) {
  place from, to;
  int error = find(source, &from);
  if (!error) error = find(target, &to);
  if (error || !from.inode) return failed(error ? error : ENOENT);
  if (from.disk != to.disk) return failed(EXDEV);
  if (to.inode || from.inode->is_folder) return failed(to.inode ? EEXIST : EPERM);
  if ((error = meet(from.disk, simulated_name))) return failed(error);
  tree_set_name(to.disk, to.folder, to.name, from.inode);
  return 0;
}

#if !HAS_SANITIZER

// MARK: Functions of the C library

// Swift passes errno and results like C. The large-file forms, which SQLite calls, are the same functions.
#define ALIAS(name, original) __typeof__(original) name __attribute__((alias(#original)))

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (is_simulated(path)) {
    LOCKED(open_file(path, flags));
  }
  SYSTEM(open);
  return system_function(path, flags, mode);
}

int close(int number) {
  if (number >= first_descriptor) {
    LOCKED(close_file(number));
  }
  SYSTEM(close);
  return system_function(number);
}

ssize_t read(int number, void *bytes, size_t count) {
  if (number >= first_descriptor) {
    LOCKED(read_file(number, bytes, count, -1));
  }
  SYSTEM(read);
  return system_function(number, bytes, count);
}

ssize_t write(int number, const void *bytes, size_t count) {
  if (number >= first_descriptor) {
    LOCKED(write_file(number, bytes, count, -1));
  }
  SYSTEM(write);
  return system_function(number, bytes, count);
}

ssize_t pread(int number, void *bytes, size_t count, off_t offset) {
  if (number >= first_descriptor) {
    LOCKED(read_file(number, bytes, count, offset));
  }
  SYSTEM(pread);
  return system_function(number, bytes, count, offset);
}

ssize_t pwrite(int number, const void *bytes, size_t count, off_t offset) {
  if (number >= first_descriptor) {
    LOCKED(write_file(number, bytes, count, offset));
  }
  SYSTEM(pwrite);
  return system_function(number, bytes, count, offset);
}

off_t lseek(int number, off_t offset, int origin) {
  if (number >= first_descriptor) {
    pthread_mutex_lock(&lock);
    descriptor *self = descriptor_of(number);
    off_t base = origin == SEEK_CUR ? self->offset : origin == SEEK_END ? self->inode->current.size : 0;
    self->offset = base + offset;
    off_t result = self->offset;
    pthread_mutex_unlock(&lock);
    return result;
  }
  SYSTEM(lseek);
  return system_function(number, offset, origin);
}

int ftruncate(int number, off_t size) {
  if (number >= first_descriptor) {
    LOCKED(truncate_file(number, size));
  }
  SYSTEM(ftruncate);
  return system_function(number, size);
}

int fsync(int number) {
  if (number >= first_descriptor) {
    LOCKED(sync_file(number));
  }
  SYSTEM(fsync);
  return system_function(number);
}

int fdatasync(int number) {
  if (number >= first_descriptor) {
    LOCKED(sync_file(number));
  }
  SYSTEM(fdatasync);
  return system_function(number);
}

int fstat(int number, struct stat *status) {
  if (number >= first_descriptor) {
    LOCKED(status_of_file(number, status));
  }
  SYSTEM(fstat);
  return system_function(number, status);
}

int stat(const char *restrict path, struct stat *restrict status) {
  if (is_simulated(path)) {
    LOCKED(status_of_path(path, status));
  }
  SYSTEM(stat);
  return system_function(path, status);
}

int lstat(const char *restrict path, struct stat *restrict status) {
  if (is_simulated(path)) {
    LOCKED(status_of_path(path, status));
  }
  SYSTEM(lstat);
  return system_function(path, status);
}

int access(const char *path, int mode) {
  if (is_simulated(path)) {
    struct stat status;
    LOCKED(status_of_path(path, &status));
  }
  SYSTEM(access);
  return system_function(path, mode);
}

// No links: a path that exists is not one.
ssize_t readlink(const char *restrict path, char *restrict target, size_t size) {
  if (is_simulated(path)) {
    struct stat status;
    LOCKED(failed(status_of_path(path, &status) ? errno : EINVAL));
  }
  SYSTEM(readlink);
  return system_function(path, target, size);
}

int mkdir(const char *path, mode_t mode) {
  if (is_simulated(path)) {
    LOCKED(make_folder(path));
  }
  SYSTEM(mkdir);
  return system_function(path, mode);
}

int rmdir(const char *path) {
  if (is_simulated(path)) {
    LOCKED(remove_name(path, 1));
  }
  SYSTEM(rmdir);
  return system_function(path);
}

int unlink(const char *path) {
  if (is_simulated(path)) {
    LOCKED(remove_name(path, 0));
  }
  SYSTEM(unlink);
  return system_function(path);
}

int rename(const char *source, const char *target) {
  if (is_simulated(source) || is_simulated(target)) {
    LOCKED(is_simulated(source) && is_simulated(target) ? rename_name(source, target) : failed(EXDEV));
  }
  SYSTEM(rename);
  return system_function(source, target);
}

int link(const char *source, const char *target) {
  if (is_simulated(source) || is_simulated(target)) {
    LOCKED(is_simulated(source) && is_simulated(target) ? link_name(source, target) : failed(EXDEV));
  }
  SYSTEM(link);
  return system_function(source, target);
}

// Modes and owners are not simulated.
int chmod(const char *path, mode_t mode) {
  if (is_simulated(path)) {
    struct stat status;
    LOCKED(status_of_path(path, &status));
  }
  SYSTEM(chmod);
  return system_function(path, mode);
}

int fchmod(int number, mode_t mode) {
  if (number >= first_descriptor) return 0;
  SYSTEM(fchmod);
  return system_function(number, mode);
}

int fchown(int number, uid_t owner, gid_t group) {
  if (number >= first_descriptor) return 0;
  SYSTEM(fchown);
  return system_function(number, owner, group);
}

int flock(int number, int operation) {
  if (number >= first_descriptor) {
    LOCKED(lock_file(number, operation));
  }
  SYSTEM(flock);
  return system_function(number, operation);
}

// Record locks belong to a process, and a simulation is one: SQLite itself separates the connections of a process.
int fcntl(int number, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  if (number >= first_descriptor) {
    if (command == F_GETLK) ((struct flock *)argument)->l_type = F_UNLCK;
    return 0;
  }
  SYSTEM(fcntl);
  return system_function(number, command, argument);
}

int statvfs(const char *restrict path, struct statvfs *restrict status) {
  if (is_simulated(path)) {
    memset(status, 0, sizeof *status);
    status->f_bsize = status->f_frsize = 4096;
    status->f_blocks = status->f_bfree = status->f_bavail = 1 << 28;
    return 0;
  }
  SYSTEM(statvfs);
  return system_function(path, status);
}

void *mmap(void *address, size_t length, int protection, int flags, int number, off_t offset) {
  if (number >= first_descriptor) {
    pthread_mutex_lock(&lock);
    descriptor *self = descriptor_of(number);
    void *memory = self ? tree_map(self->inode, offset, (int64_t)length) : 0;
    pthread_mutex_unlock(&lock);
    if (!memory) errno = ENOMEM;
    return memory ? memory : MAP_FAILED;
  }
  SYSTEM(mmap);
  return system_function(address, length, protection, flags, number, offset);
}

// Memory of a file stays until its last name and descriptor are gone, so unmapping it has no effect.
int munmap(void *address, size_t length) {
  pthread_mutex_lock(&lock);
  int is_file = 0;
  for (simulated_disk *disk = disks; disk && !is_file; disk = disk->next)
    for (inode *inode = disk->inodes; inode && !is_file; inode = inode->next)
      is_file = inode->mapped_capacity && (unsigned char *)address >= inode->current.bytes &&
                (unsigned char *)address < inode->current.bytes + inode->mapped_capacity;
  pthread_mutex_unlock(&lock);
  if (is_file) return 0;
  SYSTEM(munmap);
  return system_function(address, length);
}

ALIAS(open64, open);
ALIAS(pread64, pread);
ALIAS(pwrite64, pwrite);
ALIAS(lseek64, lseek);
ALIAS(ftruncate64, ftruncate);
ALIAS(fcntl64, fcntl);
ALIAS(mmap64, mmap);

// These have types of their own, which are equal on 64-bit systems.
int fstat64(int number, struct stat64 *status) { return fstat(number, (struct stat *)status); }
int stat64(const char *restrict path, struct stat64 *restrict status) { return stat(path, (struct stat *)status); }
int lstat64(const char *restrict path, struct stat64 *restrict status) { return lstat(path, (struct stat *)status); }

// MARK: Folders

// A folder that is being read: a copy of its names.
typedef struct open_folder {
  struct open_folder *next;
  entry *names;
  struct dirent current;
} open_folder;

static open_folder *open_folders;

static open_folder **place_of_folder(DIR *folder) {
  open_folder **place = &open_folders;
  while (*place && *place != (open_folder *)folder) place = &(*place)->next;
  return place;
}

static DIR *open_folder_at(const char *path) {
  place at;
  int error = find(path, &at);
  if (!error && !at.inode) error = ENOENT;
  if (!error && !at.inode->is_folder) error = ENOTDIR;
  if (!error) error = meet(at.disk, simulated_open);
  if (error && error != ENOSPC) {
    errno = error;
    return 0;
  }
  open_folder *made = calloc(1, sizeof *made);
  if (!made) abort();
  entry **last = &made->names;
  for (const entry *visible = at.inode->visible; visible; visible = visible->next) {
    entry *copied = calloc(1, sizeof *copied + strlen(visible->name) + 1);
    if (!copied) abort();
    strcpy(copied->name, visible->name);
    *last = copied;
    last = &copied->next;
  }
  made->next = open_folders;
  open_folders = made;
  return (DIR *)made;
}

DIR *opendir(const char *path) {
  if (is_simulated(path)) {
    LOCKED(open_folder_at(path));
  }
  SYSTEM(opendir);
  return system_function(path);
}

struct dirent *readdir(DIR *folder) {
  pthread_mutex_lock(&lock);
  open_folder *self = *place_of_folder(folder);
  struct dirent *result = 0;
  if (self && self->names) {
    entry *first = self->names;
    self->names = first->next;
    snprintf(self->current.d_name, sizeof self->current.d_name, "%s", first->name);
    free(first);
    result = &self->current;
  }
  pthread_mutex_unlock(&lock);
  if (self) return result;
  SYSTEM(readdir);
  return system_function(folder);
}

int closedir(DIR *folder) {
  pthread_mutex_lock(&lock);
  open_folder **place = place_of_folder(folder);
  open_folder *self = *place;
  if (self) *place = self->next;
  pthread_mutex_unlock(&lock);
  if (self) {
    while (self->names) {
      entry *first = self->names;
      self->names = first->next;
      free(first);
    }
    free(self);
    return 0;
  }
  SYSTEM(closedir);
  return system_function(folder);
}

#endif
