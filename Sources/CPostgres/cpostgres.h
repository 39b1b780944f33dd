// libpq, with constants for its macros, which Swift does not import.
#ifndef CPOSTGRES_H
#define CPOSTGRES_H

#include <libpq-fe.h>

static const int cpostgres_sqlstate = PG_DIAG_SQLSTATE;
static const int cpostgres_message = PG_DIAG_MESSAGE_PRIMARY;
static const int cpostgres_constraint = PG_DIAG_CONSTRAINT_NAME;

static inline void cpostgres_ignore(void *context, const char *message) {}

// Warnings and notes of the database would otherwise be written to the standard error of the program.
static inline void cpostgres_silence(PGconn *connection) { PQsetNoticeProcessor(connection, cpostgres_ignore, 0); }

#endif
