// A record and its operation, written by hand: what the triggers of a vault do at the least.
#include "internal.h"

#include <stdio.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return (double)time.tv_sec + (double)(time.tv_nsec / 1000000) / 1000;
}

// A new uuid of version 7.
static void new_identifier(char *text) {
  uint8_t uuid[16];
  uint64_t milliseconds = (uint64_t)(now() * 1000);
  sqlite3_randomness(sizeof uuid, uuid);
  for (int byte = 0; byte < 6; byte++) uuid[byte] = (uint8_t)(milliseconds >> (40 - 8 * byte));
  uuid[6] = (uint8_t)(0x70 | (uuid[6] & 15));
  uuid[8] = (uint8_t)(0x80 | (uuid[8] & 63));
  floor_write_uuid(uuid, text);
}

static int prepare_outbox(floor_database *db) {
  if (db->queueInsert) return 0;
  return (!db->begin && (floor_prepare(db, "BEGIN IMMEDIATE", &db->begin) || floor_prepare(db, "COMMIT", &db->commit))) ||
         floor_prepare(db,
                       "INSERT INTO OfflineAtmosphericLog (uuid, projectId, roomId, date, relativeHumidity, temperature, "
                       "dewPoint, photoUploadStatus, createdAt, updatedAt, syncStatus, syncVersion, isDirty, isDeleted) "
                       "VALUES (?, ?, ?, ?, ?, ?, ?, 'none', ?, ?, 'pending', 0, 1, 0)",
                       &db->logInsert) ||
         floor_prepare(db,
                       "UPDATE OfflineRoom SET squareFootage = ?, isAccessible = ?, updatedAt = ?, isDirty = 1, "
                       "syncStatus = 'pending' WHERE roomId = ?",
                       &db->roomUpdate) ||
         floor_prepare(db,
                       "INSERT INTO SyncBase (entityType, entityId, fields, isDeleted, syncVersion, updatedAt) "
                       "VALUES ('Room', ?, ?, 0, 1, ?)",
                       &db->baseInsert) ||
         floor_prepare(db,
                       "INSERT INTO OfflineSyncQueue (operationId, entityType, entityId, entityUuid, operationType, "
                       "payload, baseVersion, priority, createdAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       &db->queueInsert);
}

static int queue(floor_database *db, const char *type, int64_t key, const char *uuid, const char *operation,
                 const char *payload, int length, int baseVersion, int priority) {
  sqlite3_stmt *s = db->queueInsert;
  char identifier[36], time[24];
  new_identifier(identifier);
  floor_write_date(now(), time);
  int failed = sqlite3_bind_text(s, 1, identifier, 36, SQLITE_STATIC);
  failed |= sqlite3_bind_text(s, 2, type, -1, SQLITE_STATIC);
  failed |= sqlite3_bind_int64(s, 3, key);
  failed |= sqlite3_bind_text(s, 4, uuid, 36, SQLITE_STATIC);
  failed |= sqlite3_bind_text(s, 5, operation, -1, SQLITE_STATIC);
  failed |= sqlite3_bind_text(s, 6, payload, length, SQLITE_STATIC);
  failed |= sqlite3_bind_int(s, 7, baseVersion);
  failed |= sqlite3_bind_int(s, 8, priority);
  failed |= sqlite3_bind_text(s, 9, time, 24, SQLITE_STATIC);
  return failed ? failed : floor_run(s);
}

int floor_insert_logs(floor_database *db, const floor_log *logs, int count, const char *project, const char *room) {
  if (prepare_outbox(db) || floor_run(db->begin)) return 1;
  for (int i = 0; i < count; i++) {
    const floor_log *log = logs + i;
    sqlite3_stmt *s = db->logInsert;
    char uuid[36], date[24], created[24], payload[512];
    floor_write_uuid(log->uuid, uuid);
    floor_write_date(log->date, date);
    floor_write_date(log->createdAt, created);
    int failed = sqlite3_bind_text(s, 1, uuid, 36, SQLITE_STATIC);
    failed |= sqlite3_bind_int64(s, 2, log->projectId);
    failed |= sqlite3_bind_int64(s, 3, log->roomId);
    failed |= sqlite3_bind_text(s, 4, date, 24, SQLITE_STATIC);
    failed |= sqlite3_bind_double(s, 5, log->relativeHumidity);
    failed |= sqlite3_bind_double(s, 6, log->temperature);
    failed |= sqlite3_bind_double(s, 7, log->dewPoint);
    failed |= sqlite3_bind_text(s, 8, created, 24, SQLITE_STATIC);
    failed |= sqlite3_bind_text(s, 9, created, 24, SQLITE_STATIC);
    if (failed || floor_run(s)) return 1;
    int64_t key = sqlite3_last_insert_rowid(db->handle);
    int length = snprintf(
        payload, sizeof payload,
        "{\"date\":\"%.24s\",\"dewPoint\":%.15g,\"gpp\":null,\"inletId\":null,\"isExternal\":false,\"isInlet\":false,"
        "\"photoAssemblyId\":null,\"photoUrl\":null,\"pressure\":null,\"projectId\":\"%s\",\"relativeHumidity\":%.15g,"
        "\"roomId\":\"%s\",\"temperature\":%.15g,\"windSpeed\":null}",
        date, log->dewPoint, project, log->relativeHumidity, room, log->temperature);
    if (queue(db, "AtmosphericLog", key, uuid, "create", payload, length, 0, 2)) return 1;
  }
  return floor_run(db->commit);
}

// What the server had of a room, as it is known to whoever changes it.
static int keep_base(floor_database *db, int64_t key, const char *project, double squareFootage, const char *time) {
  sqlite3_stmt *s = db->baseInsert;
  char fields[256];
  int length = snprintf(fields, sizeof fields,
                        "{\"isAccessible\":true,\"level\":null,\"locationId\":null,\"projectId\":\"%s\",\"roomType\":null,"
                        "\"squareFootage\":%.15g,\"title\":\"Room\"}",
                        project, squareFootage);
  int failed = sqlite3_bind_int64(s, 1, key);
  failed |= sqlite3_bind_text(s, 2, fields, length, SQLITE_STATIC);
  failed |= sqlite3_bind_text(s, 3, time, 24, SQLITE_STATIC);
  return failed ? failed : floor_run(s);
}

int floor_measure_rooms(floor_database *db, const uint8_t (*uuids)[16], int count, const char *project,
                        double squareFootage) {
  if (prepare_outbox(db) || floor_run(db->begin)) return 1;
  for (int i = 0; i < count; i++) {
    sqlite3_stmt *s = db->roomUpdate;
    char uuid[36], time[24], payload[128];
    floor_write_uuid(uuids[i], uuid);
    floor_write_date(now(), time);
    if (keep_base(db, i + 1, project, squareFootage + i - 1, time)) return 1;
    int failed = sqlite3_bind_double(s, 1, squareFootage + i);
    failed |= sqlite3_bind_int(s, 2, 0);
    failed |= sqlite3_bind_text(s, 3, time, 24, SQLITE_STATIC);
    failed |= sqlite3_bind_int64(s, 4, i + 1);
    if (failed || floor_run(s)) return 1;
    int length = snprintf(payload, sizeof payload, "{\"isAccessible\":false,\"squareFootage\":%.15g}", squareFootage + i);
    if (queue(db, "Room", i + 1, uuid, "update", payload, length, 1, 1)) return 1;
  }
  return floor_run(db->commit);
}
