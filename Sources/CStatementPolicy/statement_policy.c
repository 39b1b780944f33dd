#include "statement_policy.h"

#include <sqlcipher/sqlite3.h>
#include <stdio.h>
#include <string.h>

static char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? (char)(letter + 32) : letter; }

int fieldvault_same_name(const char *one, const char *other) {
  while (*one && lower(*one) == lower(*other)) one++, other++;
  return lower(*one) == lower(*other);
}

static int has_prefix(const char *name, const char *prefix) {
  while (*prefix && lower(*name) == lower(*prefix)) name++, prefix++;
  return !*prefix;
}

static int has_suffix(const char *name, const char *suffix) {
  size_t length = strlen(name), count = strlen(suffix);
  return length >= count && fieldvault_same_name(name + length - count, suffix);
}

static int is_listed(const char *name, const char *const *list) {
  for (; *list; list++) {
    if (fieldvault_same_name(name, *list)) return 1;
  }
  return 0;
}

// Pragmas that only describe the schema, the content or the library, whatever their argument.
static const char *const describing[] = {
    "collation_list", "compile_options", "database_list", "foreign_key_check", "foreign_key_list", "function_list",
    "index_info", "index_list", "index_xinfo", "integrity_check", "module_list", "pragma_list", "quick_check",
    "table_info", "table_list", "table_xinfo", 0};

// Pragmas that return a setting or a number when they have no argument. FTS5 and R-Tree need data_version and page_size.
static const char *const settings[] = {
    "application_id", "auto_vacuum", "busy_timeout", "cache_size", "cipher_provider", "cipher_provider_version",
    "cipher_version", "data_version", "encoding", "foreign_keys", "freelist_count", "ignore_check_constraints",
    "journal_mode", "max_page_count", "page_count", "page_size", "query_only", "recursive_triggers", "schema_version",
    "secure_delete", "synchronous", "temp_store", "trusted_schema", "user_version", 0};

// The tables that say what is synced and how, and which schema files were applied. Schema files and commands write them, and
// SyncTakenValue is written by derived triggers.
static const char *const registry[] = {
    "SchemaMigration", "SyncedColumn",   "SyncedColumnDefault", "SyncedColumnRename",
    "SyncedEntity",    "SyncTakenValue", "SyncRoute",           0};

static fieldvault_refusal check_function(const char *name) {
  if (fieldvault_same_name(name, "load_extension")) return fieldvault_refused_extension;
  if (fieldvault_same_name(name, "fts3_tokenizer")) return fieldvault_refused_tokenizer;
  if (fieldvault_same_name(name, "sqlcipher_export")) return fieldvault_refused_export;
  return fieldvault_allowed;
}

static fieldvault_refusal check_pragma(const char *name, const char *argument) {
  if (is_listed(name, describing) || fieldvault_same_name(name, "defer_foreign_keys")) return fieldvault_allowed;
  if (is_listed(name, settings)) return argument ? fieldvault_refused_setting : fieldvault_allowed;
  return has_suffix(name, "key") || has_prefix(name, "cipher") || has_prefix(name, "rekey") ? fieldvault_refused_key
                                                                                              : fieldvault_refused_pragma;
}

static fieldvault_refusal check_object(
    const char *name, fieldvault_authority authority, fieldvault_is_of_schema is_of_schema, void *context) {
  if (authority >= fieldvault_by_migration) return fieldvault_allowed;
  if (has_prefix(name, FIELDVAULT_DERIVED_PREFIX)) return fieldvault_refused_derived_object;
  return is_of_schema(context, name) ? fieldvault_refused_schema_object : fieldvault_allowed;
}

static fieldvault_refusal check_new_object(const char *name, fieldvault_authority authority) {
  return authority < fieldvault_by_migration && has_prefix(name, FIELDVAULT_DERIVED_PREFIX)
             ? fieldvault_refused_derived_object
             : fieldvault_allowed;
}

static fieldvault_refusal check_row(const char *table, const char *trigger, fieldvault_authority authority) {
  if (authority >= fieldvault_by_migration || !is_listed(table, registry)) return fieldvault_allowed;
  return trigger && has_prefix(trigger, FIELDVAULT_DERIVED_PREFIX) ? fieldvault_allowed : fieldvault_refused_registry;
}

fieldvault_refusal fieldvault_check(
    int action, const char *first, const char *second, const char *trigger, fieldvault_authority authority,
    fieldvault_is_of_schema is_of_schema, void *context) {
  if (!first) first = "";
  switch (action) {
    case SQLITE_READ:
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
    case SQLITE_ANALYZE:
    case SQLITE_REINDEX:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_TEMP_INDEX:
    case SQLITE_DROP_TEMP_TRIGGER:
    case SQLITE_DROP_TEMP_VIEW:
      return fieldvault_allowed;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
      return check_row(first, trigger, authority);
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_VTABLE:
      return check_new_object(first, authority);
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TRIGGER:
    case SQLITE_DROP_VIEW:
    case SQLITE_DROP_VTABLE:
      return check_object(first, authority, is_of_schema, context);
    case SQLITE_ALTER_TABLE:
      // The first argument is the database.
      return fieldvault_same_name(first, "temp") ? fieldvault_allowed
                                                 : check_object(second ? second : "", authority, is_of_schema, context);
    case SQLITE_FUNCTION:
      return check_function(second ? second : "");
    case SQLITE_PRAGMA:
      return authority == fieldvault_by_library ? fieldvault_allowed : check_pragma(first, second);
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
      if (authority == fieldvault_by_library || authority == fieldvault_in_shell) return fieldvault_allowed;
      return action == SQLITE_SAVEPOINT ? fieldvault_refused_savepoint : fieldvault_refused_transaction;
    case SQLITE_ATTACH:
      return fieldvault_refused_attach;
    case SQLITE_DETACH:
      return fieldvault_refused_detach;
    default:
      return fieldvault_refused_action;
  }
}

static const char *kind_of_object(int action) {
  switch (action) {
    case SQLITE_CREATE_INDEX:
    case SQLITE_DROP_INDEX:
      return "index";
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_DROP_TRIGGER:
      return "trigger";
    case SQLITE_CREATE_VIEW:
    case SQLITE_DROP_VIEW:
      return "view";
    default:
      return "table";
  }
}

#define BY_MIGRATION "add a file NNNN_name.sql to the schema's folder and apply it"

const char *fieldvault_describe(
    fieldvault_refusal refusal, int action, const char *first, const char *second, char *message, size_t size) {
  if (!first) first = "";
  if (!second) second = "";
  const char *object = action == SQLITE_ALTER_TABLE ? second : first;
  switch (refusal) {
    case fieldvault_refused_transaction:
      snprintf(message, size, "%s is not allowed in a statement", first);
      return "each write is one transaction, which commits when it returns and is undone when it fails";
    case fieldvault_refused_savepoint:
      snprintf(message, size, "a savepoint is not allowed in a statement");
      return "each write is one transaction, which commits when it returns and is undone when it fails";
    case fieldvault_refused_attach:
      snprintf(message, size, "ATTACH and VACUUM are not allowed, because they write files beside the database");
      return "a backup makes an encrypted copy; an export and an import carry records to another database";
    case fieldvault_refused_detach:
      snprintf(message, size, "DETACH is not allowed");
      return "a connection has one database";
    case fieldvault_refused_extension:
      snprintf(message, size, "the function %s is not allowed", second);
      return "functions come with the program, not from files";
    case fieldvault_refused_tokenizer:
      snprintf(message, size, "the function %s is not allowed", second);
      return "name the tokenizer in CREATE VIRTUAL TABLE";
    case fieldvault_refused_export:
      snprintf(message, size, "the function %s is not allowed", second);
      return "a backup makes an encrypted copy";
    case fieldvault_refused_setting:
      snprintf(message, size, "PRAGMA %s must not be given a value", first);
      return "the library sets it; without a value the pragma returns the current one";
    case fieldvault_refused_key:
      snprintf(message, size, "PRAGMA %s is not allowed", first);
      return "a key rotation changes the key; all other settings of the encryption are fixed";
    case fieldvault_refused_pragma:
      snprintf(message, size, "PRAGMA %s is not allowed", first);
      return "pragmas that describe the schema are allowed, such as table_info, index_list and foreign_key_list";
    case fieldvault_refused_schema_object:
      snprintf(message, size, "the %s %s belongs to a schema, and a statement must not change it", kind_of_object(action), object);
      return "tables of a schema change by a migration: " BY_MIGRATION;
    case fieldvault_refused_derived_object:
      snprintf(message, size, "the name of the %s %s is reserved for FieldVault", kind_of_object(action), object);
      return "FieldVault makes triggers and indexes of this prefix from the tables; choose a name without "
             "'" FIELDVAULT_DERIVED_PREFIX "'";
    case fieldvault_refused_registry:
      snprintf(message, size, "a statement must not write to the table %s", first);
      return fieldvault_same_name(first, "SyncRoute") ? "it changes when the remote is set with a route file"
                                                      : "it changes by a migration: " BY_MIGRATION;
    case fieldvault_allowed:
    case fieldvault_refused_action:
      break;
  }
  snprintf(message, size, "this kind of statement is not allowed");
  return "read and write records, or define tables";
}
