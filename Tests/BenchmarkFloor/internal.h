// What the files of the floor share.
#ifndef FIELDVAULT_BENCHMARK_FLOOR_INTERNAL_H
#define FIELDVAULT_BENCHMARK_FLOOR_INTERNAL_H

#include "floor.h"

#define SQLITE_HAS_CODEC 1
#include <sqlcipher/sqlite3.h>

struct floor_database {
  sqlite3 *handle;
  sqlite3_stmt *begin, *commit, *insert, *all, *byUUID, *update, *page;
  sqlite3_stmt *logInsert, *roomUpdate, *baseInsert, *queueInsert;
};

// 36 and 24 bytes without a zero at the end.
void floor_write_uuid(const uint8_t *uuid, char *text);
void floor_write_date(double seconds, char *text);

// 0 on success.
int floor_prepare(floor_database *db, const char *sql, sqlite3_stmt **statement);
int floor_run(sqlite3_stmt *statement);

#endif
