#include "shell_guard.h"

#include <sqlcipher/sqlite3ext.h>
#include <statement_policy.h>
#include <stdio.h>
#include <string.h>

SQLITE_EXTENSION_INIT1

// The names that belong to schemas, for one connection.
typedef struct {
  char **names;
  size_t count;
} guard;

static void release(void *context) {
  guard *guard = context;
  for (size_t index = 0; index < guard->count; index++) sqlite3_free(guard->names[index]);
  sqlite3_free(guard->names);
  sqlite3_free(guard);
}

static void protect(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  guard *guard = sqlite3_user_data(context);
  const char *text = (const char *)sqlite3_value_text(values[0]);
  char *name = text ? sqlite3_mprintf("%s", text) : 0;
  char **names = name ? sqlite3_realloc64(guard->names, (guard->count + 1) * sizeof *names) : 0;
  if (!names) {
    sqlite3_free(name);
    sqlite3_result_error_nomem(context);
    return;
  }
  names[guard->count++] = name;
  guard->names = names;
}

static int is_of_schema(void *context, const char *name) {
  guard *guard = context;
  for (size_t index = 0; index < guard->count; index++) {
    if (fieldvault_same_name(guard->names[index], name)) return 1;
  }
  return 0;
}

static int authorize(
    void *context, int action, const char *first, const char *second, const char *database, const char *trigger) {
  (void)database;
  // The shell sets it around .dump. Ignored, it has no effect, and .dump needs none here.
  if (action == SQLITE_PRAGMA && fieldvault_same_name(first, "writable_schema")) return SQLITE_IGNORE;
  fieldvault_refusal refusal =
      fieldvault_check(action, first, second, trigger, fieldvault_in_shell, is_of_schema, context);
  if (refusal == fieldvault_allowed) return SQLITE_OK;
  char message[512];
  const char *remedy = fieldvault_describe(refusal, action, first, second, message, sizeof message);
  // SQLite says "not authorized" and nothing else.
  fprintf(stderr, "fieldvault: %s: %s\n", message, remedy);
  return SQLITE_DENY;
}

int fieldvault_shell_guard_init(sqlite3 *database, char **message, const sqlite3_api_routines *api) {
  SQLITE_EXTENSION_INIT2(api);
  (void)message;
  guard *context = sqlite3_malloc(sizeof *context);
  if (!context) return SQLITE_NOMEM;
  memset(context, 0, sizeof *context);
  // The connection owns the names from here on, also when the function cannot be made.
  int result = sqlite3_create_function_v2(
      database, "fieldvault_protect", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, context, protect, 0, 0, release);
  if (result == SQLITE_OK) result = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
  if (result == SQLITE_OK) result = sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, (int *)0);
  if (result == SQLITE_OK) result = sqlite3_set_authorizer(database, authorize, context);
  return result;
}
