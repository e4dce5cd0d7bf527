/* store_state.h - shared by store.c and store_place.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/daemons.h"
#include "store/ingest.h"

#define STORE_SPOOL_SIZE DAEMONS_ID_SIZE

/* With "none" all of it is NULL. */
struct store {
    struct journal *journal;
    struct engine *engine;
    struct ingest *ingest;
    struct daemons *daemons; /* NULL for SQLite */
    struct store_lock lock;  /* of the file PATH.lock, for SQLite */
    char path[FILE_PATH_MAX], dir[FILE_PATH_MAX], head[FILE_PATH_MAX];
    char id[STORE_ID_SIZE]; /* of this opening, by chance */
    bool reached;           /* the file with the address is ours */
};

bool store_is_postgres(str url);
/* Sets the paths of the database, the journal and the head. */
bool store_find_place(struct store *s, const struct store_options *o, struct err *e) MUST_USE;
/* A database may have seen several spools; each has a name of its own, in a file. */
bool store_spool_name(const char *dir, char out[STORE_SPOOL_SIZE], struct err *e) MUST_USE;
void store_remove_address(const char *dir);
