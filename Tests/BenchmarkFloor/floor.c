#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS \
  "readingId, uuid, projectId, date, relativeHumidity, temperature, dewPoint, note, isDeleted, createdAt, updatedAt"

// MARK: Text forms

static const char digits[] = "0123456789abcdef";

void floor_write_uuid(const uint8_t *uuid, char *text) {
  for (int byte = 0; byte < 16; byte++) {
    if (byte == 4 || byte == 6 || byte == 8 || byte == 10) *text++ = '-';
    *text++ = digits[uuid[byte] >> 4];
    *text++ = digits[uuid[byte] & 15];
  }
}

static int nibble(unsigned char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 255;
}

static int read_uuid(const unsigned char *text, uint8_t *uuid) {
  for (int byte = 0; byte < 16; byte++) {
    if (byte == 4 || byte == 6 || byte == 8 || byte == 10) {
      if (*text++ != '-') return 1;
    }
    int high = nibble(text[0]), low = nibble(text[1]);
    if ((high | low) > 15) return 1;
    uuid[byte] = (uint8_t)(high << 4 | low);
    text += 2;
  }
  return 0;
}

static void put(int value, int count, char *text) {
  while (count--) {
    text[count] = (char)('0' + value % 10);
    value /= 10;
  }
}

// Howard Hinnant's civil_from_days and days_from_civil.
void floor_write_date(double seconds, char *text) {
  int64_t ms = llround(seconds * 1000);
  int64_t day = ms / 86400000 - (ms % 86400000 < 0);
  int rest = (int)(ms - day * 86400000);
  int64_t z = day + 719468;
  int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  int doe = (int)(z - era * 146097);
  int yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  int doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  int mp = (5 * doy + 2) / 153;
  int month = mp < 10 ? mp + 3 : mp - 9;
  put((int)(yoe + era * 400) + (month <= 2), 4, text);
  text[4] = '-';
  put(month, 2, text + 5);
  text[7] = '-';
  put(doy - (153 * mp + 2) / 5 + 1, 2, text + 8);
  text[10] = 'T';
  put(rest / 3600000, 2, text + 11);
  text[13] = ':';
  put(rest / 60000 % 60, 2, text + 14);
  text[16] = ':';
  put(rest / 1000 % 60, 2, text + 17);
  text[19] = '.';
  put(rest % 1000, 3, text + 20);
  text[23] = 'Z';
}

static int number(const unsigned char *text, int count, int *value) {
  int result = 0;
  while (count--) {
    int digit = *text++ - '0';
    if (digit < 0 || digit > 9) return 1;
    result = result * 10 + digit;
  }
  *value = result;
  return 0;
}

static int read_date(sqlite3_stmt *statement, int column, double *seconds) {
  const unsigned char *t = sqlite3_column_text(statement, column);
  int y, mo, d, h, mi, s, ms;
  if (!t || sqlite3_column_bytes(statement, column) != 24 || t[4] != '-' || t[7] != '-' || t[10] != 'T' ||
      t[13] != ':' || t[16] != ':' || t[19] != '.' || t[23] != 'Z')
    return 1;
  if (number(t, 4, &y) || number(t + 5, 2, &mo) || number(t + 8, 2, &d) || number(t + 11, 2, &h) ||
      number(t + 14, 2, &mi) || number(t + 17, 2, &s) || number(t + 20, 3, &ms))
    return 1;
  if (mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || s > 59) return 1;
  int ys = mo <= 2 ? y - 1 : y;
  int era = (ys >= 0 ? ys : ys - 399) / 400;
  int yoe = ys - era * 400;
  int doy = (153 * (mo + (mo > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  int64_t days = (int64_t)era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
  *seconds = (double)((((days * 24 + h) * 60 + mi) * 60 + s) * 1000 + ms) / 1000;
  return 0;
}

// MARK: Opening

int floor_prepare(floor_database *db, const char *sql, sqlite3_stmt **statement) {
  return sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, 0);
}

floor_database *floor_open(const char *path, const char *key, int cacheKiB, int isReader) {
  floor_database *db = calloc(1, sizeof *db);
  char cache[64];
  if (!db) return 0;
  if (sqlite3_open_v2(path, &db->handle, SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 0) ||
      sqlite3_key_v2(db->handle, "main", key, (int)strlen(key)))
    return floor_close(db), (floor_database *)0;
  sqlite3_busy_timeout(db->handle, 10000);
  sqlite3_snprintf(sizeof cache, cache, "PRAGMA cache_size = -%d", cacheKiB);
  if (floor_execute(db, "PRAGMA temp_store = MEMORY") || floor_execute(db, cache) ||
      floor_execute(db, "PRAGMA foreign_keys = ON") || floor_execute(db, "PRAGMA journal_mode = WAL") ||
      floor_execute(db, "PRAGMA synchronous = FULL") || (isReader && floor_execute(db, "PRAGMA query_only = ON")))
    return floor_close(db), (floor_database *)0;
  return db;
}

int floor_execute(floor_database *db, const char *sql) { return sqlite3_exec(db->handle, sql, 0, 0, 0); }

const char *floor_error(floor_database *db) { return db ? sqlite3_errmsg(db->handle) : "cannot open"; }

void floor_close(floor_database *db) {
  sqlite3_finalize(db->begin);
  sqlite3_finalize(db->commit);
  sqlite3_finalize(db->insert);
  sqlite3_finalize(db->all);
  sqlite3_finalize(db->byUUID);
  sqlite3_finalize(db->update);
  sqlite3_finalize(db->page);
  sqlite3_finalize(db->logInsert);
  sqlite3_finalize(db->roomUpdate);
  sqlite3_finalize(db->baseInsert);
  sqlite3_finalize(db->queueInsert);
  sqlite3_close_v2(db->handle);
  free(db);
}

// MARK: Writing

int floor_run(sqlite3_stmt *statement) {
  int result = sqlite3_step(statement);
  sqlite3_reset(statement);
  return result == SQLITE_DONE ? 0 : result ? result : 1;
}

static int prepare_writes(floor_database *db) {
  if (db->insert) return 0;
  return floor_prepare(db, "BEGIN IMMEDIATE", &db->begin) || floor_prepare(db, "COMMIT", &db->commit) ||
         floor_prepare(db, "INSERT INTO reading (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &db->insert);
}

static int insert(floor_database *db, const floor_reading *r) {
  sqlite3_stmt *s = db->insert;
  char uuid[36], date[24], created[24], updated[24];
  floor_write_uuid(r->uuid, uuid);
  floor_write_date(r->date, date);
  floor_write_date(r->createdAt, created);
  floor_write_date(r->updatedAt, updated);
  int failed = r->readingId ? sqlite3_bind_int64(s, 1, r->readingId) : sqlite3_bind_null(s, 1);
  failed |= sqlite3_bind_text(s, 2, uuid, 36, SQLITE_STATIC);
  failed |= sqlite3_bind_int64(s, 3, r->projectId);
  failed |= sqlite3_bind_text(s, 4, date, 24, SQLITE_STATIC);
  failed |= sqlite3_bind_double(s, 5, r->relativeHumidity);
  failed |= sqlite3_bind_double(s, 6, r->temperature);
  failed |= r->hasDewPoint ? sqlite3_bind_double(s, 7, r->dewPoint) : sqlite3_bind_null(s, 7);
  failed |= r->note ? sqlite3_bind_text(s, 8, r->note, r->noteLength, SQLITE_STATIC) : sqlite3_bind_null(s, 8);
  failed |= sqlite3_bind_int(s, 9, r->isDeleted);
  failed |= sqlite3_bind_text(s, 10, created, 24, SQLITE_STATIC);
  failed |= sqlite3_bind_text(s, 11, updated, 24, SQLITE_STATIC);
  return failed ? failed : floor_run(s);
}

int floor_insert_all(floor_database *db, const floor_reading *readings, int count) {
  if (prepare_writes(db) || floor_run(db->begin)) return 1;
  for (int i = 0; i < count; i++) {
    if (insert(db, readings + i)) return 1;
  }
  return floor_run(db->commit);
}

int floor_insert_durably(floor_database *db, const floor_reading *readings, int count) {
  if (prepare_writes(db)) return 1;
  for (int i = 0; i < count; i++) {
    if (floor_run(db->begin) || insert(db, readings + i) || floor_run(db->commit)) return 1;
  }
  return 0;
}

int floor_update(floor_database *db, const int64_t *identifiers, int count, double date) {
  if (prepare_writes(db)) return 1;
  if (!db->update && floor_prepare(db,
                             "UPDATE reading SET relativeHumidity = ?, temperature = ?, note = ?, date = ? "
                             "WHERE readingId = ?",
                             &db->update))
    return 1;
  if (floor_run(db->begin)) return 1;
  for (int i = 0; i < count; i++) {
    char text[24];
    floor_write_date(date + i, text);
    sqlite3_stmt *s = db->update;
    if (sqlite3_bind_double(s, 1, i % 100) || sqlite3_bind_double(s, 2, 70.5) ||
        sqlite3_bind_text(s, 3, "seen again", 10, SQLITE_STATIC) ||
        sqlite3_bind_text(s, 4, text, 24, SQLITE_STATIC) || sqlite3_bind_int64(s, 5, identifiers[i]) || floor_run(s))
      return 1;
  }
  return floor_run(db->commit);
}

// MARK: Reading

static int decode(sqlite3_stmt *s, floor_reading *r) {
  const unsigned char *uuid = sqlite3_column_text(s, 1);
  r->readingId = sqlite3_column_int64(s, 0);
  if (!uuid || sqlite3_column_bytes(s, 1) != 36 || read_uuid(uuid, r->uuid)) return 1;
  r->projectId = sqlite3_column_int64(s, 2);
  if (read_date(s, 3, &r->date)) return 1;
  r->relativeHumidity = sqlite3_column_double(s, 4);
  r->temperature = sqlite3_column_double(s, 5);
  r->hasDewPoint = sqlite3_column_type(s, 6) != SQLITE_NULL;
  r->dewPoint = sqlite3_column_double(s, 6);
  const unsigned char *note = sqlite3_column_text(s, 7);
  r->note = 0;
  if (note) {
    r->noteLength = sqlite3_column_bytes(s, 7);
    char *copy = malloc((size_t)r->noteLength + 1);
    if (!copy) return 1;
    memcpy(copy, note, (size_t)r->noteLength + 1);
    r->note = copy;
  }
  r->isDeleted = sqlite3_column_int(s, 8);
  return read_date(s, 9, &r->createdAt) || read_date(s, 10, &r->updatedAt);
}

typedef struct {
  floor_reading *readings;
  int count, capacity;
} list;

static int append(list *l, sqlite3_stmt *s) {
  if (l->count == l->capacity) {
    l->capacity = l->capacity ? l->capacity * 2 : 16;
    floor_reading *larger = realloc(l->readings, (size_t)l->capacity * sizeof *larger);
    if (!larger) return 1;
    l->readings = larger;
  }
  return decode(s, l->readings + l->count++);
}

static double release(list *l) {
  double sum = 0;
  for (int i = 0; i < l->count; i++) {
    sum += l->readings[i].temperature + l->readings[i].updatedAt;
    free((void *)l->readings[i].note);
  }
  free(l->readings);
  return sum;
}

static int fetch(sqlite3_stmt *s, int *count, double *checksum) {
  list l = {0};
  int result;
  while ((result = sqlite3_step(s)) == SQLITE_ROW) {
    if (append(&l, s)) {
      result = 1;
      break;
    }
  }
  sqlite3_reset(s);
  *count += l.count;
  *checksum += release(&l);
  return result == SQLITE_DONE ? 0 : 1;
}

int floor_fetch_all(floor_database *db, int *count, double *checksum) {
  if (!db->all && floor_prepare(db, "SELECT " COLUMNS " FROM reading", &db->all)) return 1;
  *count = 0;
  return fetch(db->all, count, checksum);
}

int floor_look_up(floor_database *db, const uint8_t (*uuids)[16], int count, double *checksum) {
  if (!db->byUUID && floor_prepare(db, "SELECT " COLUMNS " FROM reading WHERE uuid = ? AND isDeleted = 0", &db->byUUID))
    return 1;
  if (floor_execute(db, "BEGIN")) return 1;
  for (int i = 0; i < count; i++) {
    char text[36];
    int found = 0;
    floor_write_uuid(uuids[i], text);
    if (sqlite3_bind_text(db->byUUID, 1, text, 36, SQLITE_STATIC) || fetch(db->byUUID, &found, checksum) || found != 1)
      return 1;
  }
  return floor_execute(db, "COMMIT");
}

int floor_pages(floor_database *db, const int64_t *projects, int count, double *checksum) {
  if (!db->page && floor_prepare(db,
                           "SELECT " COLUMNS " FROM reading WHERE projectId = ? AND isDeleted = 0 "
                           "ORDER BY updatedAt DESC LIMIT 50",
                           &db->page))
    return 1;
  if (floor_execute(db, "BEGIN")) return 1;
  for (int i = 0; i < count; i++) {
    int found = 0;
    if (sqlite3_bind_int64(db->page, 1, projects[i]) || fetch(db->page, &found, checksum)) return 1;
  }
  return floor_execute(db, "COMMIT");
}

// MARK: Whole files

static int prepare_pair(sqlite3 *one, sqlite3 *other, const char *sql, sqlite3_stmt **first, sqlite3_stmt **second) {
  return sqlite3_prepare_v2(one, sql, -1, first, NULL) || sqlite3_prepare_v2(other, sql, -1, second, NULL);
}

static int same_rows(sqlite3 *one, sqlite3 *other, const char *sql) {
  sqlite3_stmt *first = NULL, *second = NULL;
  int failed = prepare_pair(one, other, sql, &first, &second);
  while (!failed) {
    int here = sqlite3_step(first), there = sqlite3_step(second);
    if (here != there) failed = 1;
    if (failed || here != SQLITE_ROW) break;
    for (int column = sqlite3_column_count(first); column-- > 0;) {
      const void *mine = sqlite3_column_blob(first, column), *theirs = sqlite3_column_blob(second, column);
      int count = sqlite3_column_bytes(first, column);
      if (count != sqlite3_column_bytes(second, column) || (count && memcmp(mine, theirs, (size_t)count))) failed = 1;
    }
  }
  sqlite3_finalize(first);
  sqlite3_finalize(second);
  return failed;
}

static int is_well(sqlite3 *handle, const char *pragma, const char *good) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(handle, pragma, -1, &statement, NULL)) return 0;
  int result = sqlite3_step(statement);
  int well = good ? result == SQLITE_ROW && !strcmp((const char *)sqlite3_column_text(statement, 0), good)
                  : result == SQLITE_DONE;
  sqlite3_finalize(statement);
  return well;
}

int floor_copy(floor_database *from, const char *path, const char *key) {
  floor_database *to = floor_open(path, key, 2048, 1);
  if (!to) return 1;
  sqlite3_exec(to->handle, "PRAGMA query_only = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = FULL", 0, 0, 0);
  sqlite3_backup *backup = sqlite3_backup_init(to->handle, "main", from->handle, "main");
  int result = backup ? sqlite3_backup_step(backup, -1) : SQLITE_ERROR;
  if (backup) sqlite3_backup_finish(backup);
  floor_close(to);
  return result != SQLITE_DONE;
}

int floor_compare(floor_database *from, const char *path, const char *key) {
  floor_database *copy = floor_open(path, key, 2048, 1);
  if (!copy) return 1;
  sqlite3_exec(copy->handle, "PRAGMA ignore_check_constraints = ON", 0, 0, 0);
  int failed = !is_well(copy->handle, "PRAGMA cipher_integrity_check", NULL) ||
               !is_well(copy->handle, "PRAGMA quick_check", "ok");
  sqlite3_stmt *names = NULL;
  if (!failed) {
    failed = sqlite3_prepare_v2(
        from->handle, "SELECT 'SELECT * FROM \"' || name || '\"' FROM sqlite_schema WHERE type = 'table' AND rootpage > 0",
        -1, &names, NULL);
  }
  while (!failed && sqlite3_step(names) == SQLITE_ROW) {
    failed = same_rows(from->handle, copy->handle, (const char *)sqlite3_column_text(names, 0));
  }
  sqlite3_finalize(names);
  floor_close(copy);
  return failed;
}
