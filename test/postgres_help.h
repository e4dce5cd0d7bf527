/* postgres_help.h - statements for the PostgreSQL server that tools/postgres-run has started.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>

/* The URL of a database of the server. */
void postgres_url(const char *database, char *out, size_t size);

/* Makes a database: an empty one, or a copy of another that nobody is connected to. */
void postgres_create(const char *database, const char *copy_of);

/* Drops a database, and ends the connections to it. */
void postgres_drop(const char *database);

/* Ends the connection to the database that was asked last and is not the server's own. */
void postgres_disconnect(void);

/* Any statement; and one that gives a number: 0 for NULL, -1 if there is no row. */
void postgres_do(const char *database, const char *sql);
long long postgres_ask(const char *database, const char *sql);
