/* postgres_help.h - statements for the PostgreSQL server that tools/postgres-run has started.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>

/* The URL of a database of the server. */
void postgres_url(const char *database, char *out, size_t size);

/* Any statement; and one that gives a number: 0 for NULL, -1 if there is no row. */
void postgres_do(const char *database, const char *sql);
long long postgres_ask(const char *database, const char *sql);
