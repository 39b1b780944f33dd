#ifdef __linux__
#define _GNU_SOURCE
#include "WriteTimes.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

static int (*step)(sqlite3_stmt *);
static sqlite3 *(*databaseOf)(sqlite3_stmt *);
static int (*isOutside)(sqlite3 *);
static const char *(*textOf)(sqlite3_stmt *);

static struct {
  _Atomic int64_t longest, count;
} *times;

// The transactions of a thread that are open, one of each database.
enum { greatestCount = 8 };
static _Thread_local struct {
  sqlite3 *database;
  int64_t begin;
} opened[greatestCount];

__attribute__((constructor)) static void start(void) {
  step = dlsym(RTLD_NEXT, "sqlite3_step");
  databaseOf = dlsym(RTLD_NEXT, "sqlite3_db_handle");
  isOutside = dlsym(RTLD_NEXT, "sqlite3_get_autocommit");
  textOf = dlsym(RTLD_NEXT, "sqlite3_sql");
  const char *path = getenv("WRITE_TIMES_FILE");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *memory = mmap(NULL, sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) times = memory;
}

static int64_t used(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void note(int64_t time) {
  atomic_fetch_add(&times->count, 1);
  int64_t longest = atomic_load(&times->longest);
  while (time > longest && !atomic_compare_exchange_weak(&times->longest, &longest, time)) {
  }
}

static void replace(sqlite3 *database, sqlite3 *other, int64_t begin) {
  for (int place = 0; place < greatestCount; place++) {
    if (opened[place].database != database) continue;
    if (!other) note(used() - opened[place].begin);
    opened[place].database = other;
    opened[place].begin = begin;
    return;
  }
}

int sqlite3_step(sqlite3_stmt *statement) {
  if (!times || !statement) return step(statement);
  sqlite3 *database = databaseOf(statement);
  int wasOutside = isOutside(database);
  int64_t begin = used();
  int result = step(statement);
  if (wasOutside == isOutside(database)) return result;
  if (!wasOutside) {
    replace(database, NULL, 0);
  } else {
    const char *text = textOf(statement);
    if (text && !strncmp(text, "BEGIN IMMEDIATE", 15)) replace(NULL, database, begin);
  }
  return result;
}
#endif
