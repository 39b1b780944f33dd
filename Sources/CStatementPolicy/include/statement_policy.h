// The rule for the allowed actions of a statement. It is in C, so that the library's authorizer and the authorizer in
// the sqlcipher shell (ShellGuard) share it. Actions that are not listed are refused.
//
// Reading and writing records and defining tables is allowed. A statement of a user cannot access files outside the
// database. It cannot change the encryption, the settings of the connection, or objects of a schema or of FieldVault.
#ifndef FIELDVAULT_STATEMENT_POLICY_H
#define FIELDVAULT_STATEMENT_POLICY_H

#include <stddef.h>

// The prefix of the names of triggers and indexes that FieldVault derives from the tables.
#define FIELDVAULT_DERIVED_PREFIX "fieldvault_"

// The author of a statement. Each value includes the rights of the values before it.
typedef enum {
  fieldvault_by_caller,  // a statement of the command line, a named query, or a caller of the Swift API
  fieldvault_in_shell,  // typed into the sqlcipher shell, where the user controls transactions
  fieldvault_by_migration,  // part of a schema file, or of what the library derives from the tables
  fieldvault_by_library,  // a setting or a transaction of the library
} fieldvault_authority;

// The reason why an action is refused.
typedef enum {
  fieldvault_allowed,
  fieldvault_refused_action,
  fieldvault_refused_transaction,
  fieldvault_refused_savepoint,
  fieldvault_refused_attach,  // VACUUM attaches its target, so that SQLite asks about ATTACH for it too
  fieldvault_refused_detach,
  fieldvault_refused_extension,
  fieldvault_refused_tokenizer,
  fieldvault_refused_export,
  fieldvault_refused_setting,  // a pragma with a value that may be read only
  fieldvault_refused_key,  // a pragma of the encryption
  fieldvault_refused_pragma,
  fieldvault_refused_schema_object,  // a table, view, index or trigger of a schema
  fieldvault_refused_derived_object,  // a trigger or index with the prefix of FieldVault
  fieldvault_refused_registry,  // a row of a table that says what is synced and how
} fieldvault_refusal;

// Returns whether a table, view, index or trigger belongs to a schema.
typedef int (*fieldvault_is_of_schema)(void *context, const char *name);

// Decides about an action. Takes the first two arguments that SQLite passes to an authorizer, and the innermost trigger
// or view that causes the action; NULL for the statement itself.
fieldvault_refusal fieldvault_check(
    int action, const char *first, const char *second, const char *trigger, fieldvault_authority authority,
    fieldvault_is_of_schema is_of_schema, void *context);

// Writes the message about a refused action into a buffer, and returns the hint.
const char *fieldvault_describe(
    fieldvault_refusal refusal, int action, const char *first, const char *second, char *message, size_t size);

// Returns whether two names are equal for SQLite, which ignores the case of ASCII letters.
int fieldvault_same_name(const char *one, const char *other);

#endif
