/* postgres_help.h - statements for the PostgreSQL server that tools/postgres-run started.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>

/* The URL of a database of the server. */
void postgres_url(const char *database, char *out, size_t size);

/* Creates an empty database, or a copy of one without connections. */
void postgres_create(const char *database, const char *copy_of);

/* Drops a database and closes the connections to it. */
void postgres_drop(const char *database);

/* Closes the kept connection to the place's database, not the one to "postgres". */
void postgres_disconnect(void);

/* Runs a statement; postgres_ask returns a number: 0 for NULL, -1 if there is no row. */
void postgres_do(const char *database, const char *sql);
long long postgres_ask(const char *database, const char *sql);
