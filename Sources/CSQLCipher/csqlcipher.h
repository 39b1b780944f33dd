// SQLCipher for Swift: the library's header with the key functions enabled. It also has inline wrappers for functions
// with a variable number of arguments and for macros that are casts, which Swift cannot call.
#ifndef CSQLCIPHER_H
#define CSQLCIPHER_H

#ifndef SQLITE_HAS_CODEC
#define SQLITE_HAS_CODEC 1
#endif
#include <sqlcipher/sqlite3.h>
#include <string.h>

// Must run before sqlite3_initialize. Disables memory statistics, which need a lock that all threads share. Without
// them, readers on several cores do not wait for each other.
static inline int csqlcipher_disable_memory_statistics(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// Double-quoted words are only identifiers, never strings.
static inline int csqlcipher_disable_double_quoted_strings(sqlite3 *database) {
  int result = sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
  return result != SQLITE_OK ? result : sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
}

// SQL cannot corrupt the file: no writable_schema, no writes to shadow tables.
static inline int csqlcipher_enable_defensive(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}

// Statements use neither triggers nor views of the file.
static inline int csqlcipher_disable_triggers_and_views(sqlite3 *database) {
  int result = sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
  return result != SQLITE_OK ? result : sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)0);
}

// The last connection to a file that must stay unchanged keeps its write-ahead log.
static inline int csqlcipher_disable_checkpoint_on_close(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

static inline void csqlcipher_return_context(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count, (void)values;
  const unsigned char *const *word = sqlite3_user_data(context);
  sqlite3_result_text(context, *word ? (const char *)*word : "", -1, SQLITE_STATIC);
}

// Makes char() without arguments return a word of this connection. Without a word it returns the empty text, like
// SQLite's own function. A trigger that calls it therefore works on every connection.
static inline int csqlcipher_install_context(sqlite3 *database, const unsigned char **word) {
  return sqlite3_create_function_v2(
      database, "char", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS, word, csqlcipher_return_context, 0, 0, 0);
}

// Returns whether a column of the current rows of two statements has the same type and bytes.
static inline int csqlcipher_same_value(sqlite3_stmt *one, sqlite3_stmt *other, int column) {
  int type = sqlite3_column_type(one, column);
  if (type != sqlite3_column_type(other, column)) return 0;
  if (type == SQLITE_NULL) return 1;
  if (type == SQLITE_INTEGER) return sqlite3_column_int64(one, column) == sqlite3_column_int64(other, column);
  if (type == SQLITE_FLOAT) {
    double mine = sqlite3_column_double(one, column), theirs = sqlite3_column_double(other, column);
    return memcmp(&mine, &theirs, sizeof mine) == 0;
  }
  const void *mine = sqlite3_column_blob(one, column), *theirs = sqlite3_column_blob(other, column);
  int count = sqlite3_column_bytes(one, column);
  return count == sqlite3_column_bytes(other, column) && (count == 0 || memcmp(mine, theirs, (size_t)count) == 0);
}

// Binds text, which SQLite copies.
static inline int csqlcipher_bind_text(sqlite3_stmt *statement, int index, const char *text, int length) {
  return sqlite3_bind_text(statement, index, text, length, SQLITE_TRANSIENT);
}

// Binds bytes, which SQLite copies. Zero bytes are an empty blob, not NULL.
static inline int csqlcipher_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int length) {
  return length == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                     : sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}

#endif
