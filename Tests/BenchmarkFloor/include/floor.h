// The same work as the typed layer's benchmarks, written directly against the C API: what SQLCipher itself
// costs. Dates and UUIDs are converted by hand, text is copied once, statements are prepared once.
#ifndef FIELDVAULT_BENCHMARK_FLOOR_H
#define FIELDVAULT_BENCHMARK_FLOOR_H

#include <stdint.h>

typedef struct {
  int64_t readingId;
  uint8_t uuid[16];
  int64_t projectId;
  double date;  // seconds since 1970
  double relativeHumidity;
  double temperature;
  double dewPoint;
  int hasDewPoint;
  const char *note;  // NULL when there is none
  int noteLength;
  int isDeleted;
  double createdAt;
  double updatedAt;
} floor_reading;

typedef struct floor_database floor_database;

// Opens with a raw key (67 characters, x'...') and the settings of the typed layer. NULL on failure.
floor_database *floor_open(const char *path, const char *key, int cacheKiB, int isReader);
void floor_close(floor_database *database);
const char *floor_error(floor_database *database);

// Each function returns 0 on success. Those that fetch store a checksum of the values in the last argument, so that
// no compiler leaves the work out.
int floor_execute(floor_database *database, const char *sql);
int floor_insert_all(floor_database *database, const floor_reading *readings, int count);
int floor_insert_durably(floor_database *database, const floor_reading *readings, int count);
int floor_fetch_all(floor_database *database, int *count, double *checksum);
int floor_look_up(floor_database *database, const uint8_t (*uuids)[16], int count, double *checksum);
int floor_update(floor_database *database, const int64_t *identifiers, int count, double date);
int floor_pages(floor_database *database, const int64_t *projects, int count, double *checksum);

// A reading of the air in a vault without triggers.
typedef struct {
  uint8_t uuid[16];
  int64_t projectId;
  int64_t roomId;
  double date, relativeHumidity, temperature, dewPoint, createdAt;
} floor_log;

// Each record in one transaction with a row of the outbox whose payload has the same fields. The uuids of the project
// and of the room stand for them in the payload.
int floor_insert_logs(floor_database *database, const floor_log *logs, int count, const char *project,
                      const char *room);
// Measures the rooms from the local id 1 on, whose uuids are given.
int floor_measure_rooms(floor_database *database, const uint8_t (*uuids)[16], int count, const char *project,
                        double squareFootage);

// Copies the whole database page by page under another key; and checks such a copy and compares its rows.
int floor_copy(floor_database *from, const char *path, const char *key);
int floor_compare(floor_database *from, const char *path, const char *key);

// Encrypts a file to another and to the disk, as one stream; reads such a file and says how long its content is; and
// encrypts so many bytes of memory, without any file. libsodium alone, in 64 KiB.
int floor_seal_file(const char *from, const char *to, const unsigned char key[32]);
int floor_open_file(const char *from, const unsigned char key[32], int64_t *count);
int floor_seal_memory(int64_t count, const unsigned char key[32]);

#endif
