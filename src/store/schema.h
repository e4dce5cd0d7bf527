/* schema.h - the steps from an empty database to the current tables: schema/NNN_why.sql, in order,
 * and schema/postgres/NNN_why.sql.
 *
 * tools/embed-sql makes the two arrays from those files, and for SQLite one script of them all. A
 * released step is never edited; a change is a new step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

struct schema_step {
    int version; /* NNN */
    const char *name;
    const char *sql;
};

extern const struct schema_step schema_steps[];
extern const size_t schema_step_count;
extern const struct schema_step schema_postgres_steps[];
extern const size_t schema_postgres_step_count;
/* Does all schema_steps at once on an empty database that has a table store_version. */
extern const char schema_whole[];
