// A loadable extension that holds the sqlcipher shell to the rules of statement_policy.h.
#ifndef FIELDVAULT_SHELL_GUARD_H
#define FIELDVAULT_SHELL_GUARD_H

#include <sqlcipher/sqlite3.h>

struct sqlite3_api_routines;

// Called by `.load`. From then on, SELECT fieldvault_protect(name) adds the name of a table, view, index or trigger that belongs to
// a schema, and no further extension can be loaded.
int fieldvault_shell_guard_init(sqlite3 *database, char **message, const struct sqlite3_api_routines *api);

#endif
