// A clock and a random source of a connection, in place of those of the process.
//
// SQLite reads the time of `strftime('now')`, `unixepoch()` and CURRENT_TIMESTAMP from the VFS of the connection. A VFS
// that copies another one and replaces its clock therefore gives a connection a separate time, also in triggers and
// column defaults. `random()` and `randomblob()` share one generator per process, so they are replaced as functions.
#ifndef CSQLCIPHER_ENVIRONMENT_H
#define CSQLCIPHER_ENVIRONMENT_H

#include <sqlcipher/sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Returns milliseconds since 1970-01-01 UTC.
typedef int64_t (*csqlcipher_time_function)(void *context);
// Fills memory with random bytes.
typedef void (*csqlcipher_random_function)(void *context, void *bytes, int count);

// The functions of a VFS cast their argument to sqlite3_vfs and read its fields, so they work on this copy.
typedef struct csqlcipher_clock {
  sqlite3_vfs vfs;
  csqlcipher_time_function time;
  void *context;
  char name[32];
} csqlcipher_clock;

// The Julian day number of 1970-01-01 00:00 UTC, in milliseconds.
static const sqlite3_int64 csqlcipher_epoch = 210866760000000;

static inline int csqlcipher_clock_milliseconds(sqlite3_vfs *vfs, sqlite3_int64 *time) {
  const csqlcipher_clock *clock = (const csqlcipher_clock *)vfs;
  *time = csqlcipher_epoch + clock->time(clock->context);
  return SQLITE_OK;
}

static inline int csqlcipher_clock_days(sqlite3_vfs *vfs, double *time) {
  sqlite3_int64 milliseconds = 0;
  int result = csqlcipher_clock_milliseconds(vfs, &milliseconds);
  *time = (double)milliseconds / 86400000.0;
  return result;
}

// Registers a VFS with a clock that stores its files like the default one. Returns NULL if memory is exhausted. The name
// of the VFS is unique while it is registered, because it contains the address of the clock. Must run after
// sqlite3_initialize.
static inline csqlcipher_clock *csqlcipher_register_clock(csqlcipher_time_function time, void *context) {
  const sqlite3_vfs *standard = sqlite3_vfs_find(0);
  csqlcipher_clock *clock = (csqlcipher_clock *)calloc(1, sizeof *clock);
  if (!standard || !clock) {
    free(clock);
    return 0;
  }
  clock->vfs = *standard;
  clock->time = time;
  clock->context = context;
  snprintf(clock->name, sizeof clock->name, "clock-%p", (void *)clock);
  clock->vfs.zName = clock->name;
  clock->vfs.pNext = 0;
  clock->vfs.xCurrentTime = csqlcipher_clock_days;
  if (clock->vfs.iVersion >= 2) clock->vfs.xCurrentTimeInt64 = csqlcipher_clock_milliseconds;
  if (sqlite3_vfs_register(&clock->vfs, 0) != SQLITE_OK) {
    free(clock);
    return 0;
  }
  return clock;
}

static inline const char *csqlcipher_clock_name(const csqlcipher_clock *clock) { return clock->name; }

// All connections of the VFS must be closed.
static inline void csqlcipher_unregister_clock(csqlcipher_clock *clock) {
  sqlite3_vfs_unregister(&clock->vfs);
  free(clock);
}

// The random source that the functions of a connection use.
typedef struct csqlcipher_random {
  csqlcipher_random_function fill;
  void *context;
} csqlcipher_random;

static inline void csqlcipher_return_random(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count, (void)values;
  const csqlcipher_random *source = (const csqlcipher_random *)sqlite3_user_data(context);
  sqlite3_int64 number = 0;
  source->fill(source->context, &number, sizeof number);
  // Like SQLite's own function, because abs() of the smallest integer would overflow.
  if (number == INT64_MIN) number = INT64_MIN + 1;
  sqlite3_result_int64(context, number);
}

static inline void csqlcipher_return_random_blob(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  const csqlcipher_random *source = (const csqlcipher_random *)sqlite3_user_data(context);
  sqlite3_int64 length = sqlite3_value_int64(values[0]);
  if (length < 1) length = 1;
  if (length > sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1)) {
    sqlite3_result_error_toobig(context);
    return;
  }
  void *bytes = sqlite3_malloc64((sqlite3_uint64)length);
  if (!bytes) {
    sqlite3_result_error_nomem(context);
    return;
  }
  source->fill(source->context, bytes, (int)length);
  sqlite3_result_blob64(context, bytes, (sqlite3_uint64)length, sqlite3_free);
}

// Replaces random() and randomblob() of one connection, also in triggers and column defaults. `source` must live as
// long as the connection.
static inline int csqlcipher_install_random(sqlite3 *database, csqlcipher_random *source) {
  int flags = SQLITE_UTF8 | SQLITE_INNOCUOUS;
  int result = sqlite3_create_function_v2(database, "random", 0, flags, source, csqlcipher_return_random, 0, 0, 0);
  if (result != SQLITE_OK) return result;
  return sqlite3_create_function_v2(database, "randomblob", 1, flags, source, csqlcipher_return_random_blob, 0, 0, 0);
}

#endif
