// SQLCipher for Swift: the library's own header with the key functions switched on, and inline forms of what
// Swift cannot call: functions with a variable number of arguments and macros that are casts.
#ifndef CSQLCIPHER_H
#define CSQLCIPHER_H

#ifndef SQLITE_HAS_CODEC
#define SQLITE_HAS_CODEC 1
#endif
#include <sqlcipher/sqlite3.h>

// Must run before sqlite3_initialize. Memory statistics take a lock that all threads share; without them
// readers on several cores do not wait for each other.
static inline int csqlcipher_disable_memory_statistics(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// Double-quoted words are identifiers only, never strings by accident.
static inline int csqlcipher_disable_double_quoted_strings(sqlite3 *database) {
  int result = sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
  return result != SQLITE_OK ? result : sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
}

// SQL cannot corrupt the file: no writable_schema, no writes to shadow tables.
static inline int csqlcipher_enable_defensive(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}

// Binds text that SQLite copies at once.
static inline int csqlcipher_bind_text(sqlite3_stmt *statement, int index, const char *text, int length) {
  return sqlite3_bind_text(statement, index, text, length, SQLITE_TRANSIENT);
}

// Binds bytes that SQLite copies at once. Zero bytes are an empty blob, not NULL.
static inline int csqlcipher_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int length) {
  return length == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                     : sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}

#endif
