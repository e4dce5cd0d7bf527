/* store_adopt.c - takes in the journal of a daemon that is no more.
 *
 * The store is opened as that daemon: its place in the tables is where its journal is read from,
 * its fence keeps off a process that still believes to be it, and the lock of the folder one that
 * runs here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/store_state.h"

#define ADOPT_WAIT_MS 1000u
#define ADOPT_TRIES 30u /* seconds without progress, before it gives up */

static bool adopt_refuse_live(const struct store_options *o, const char *dir, struct err *e)
{
    char name[STORE_SPOOL_SIZE], path[FILE_PATH_MAX + 8];
    struct daemons_list list;
    bool live = false;

    (void)snprintf(path, sizeof path, "%s/lock", dir);
    if (!file_exists(path))
        return err_set(
            e,
            ERR_NOT_FOUND,
            "%s is not the folder of a journal: name the folder that the daemon's setting"
            " \"spool\" named",
            dir);
    if (!store_spool_name(dir, name, e) || !daemons_look(o->url, str_c(name), &live, &list, e))
        return false;
    return !live ||
           err_input(
               e, "%s is the journal of daemon %s, which runs and takes it in itself", dir, name);
}

/* Until all is in the tables, or nothing moves any more. */
static bool adopt_settle(struct store *s, struct err *e)
{
    uint64_t left = UINT64_MAX;
    struct store_health h;

    for (unsigned tries = 0; tries < ADOPT_TRIES; tries++) {
        if (store_settle(s, ADOPT_WAIT_MS, e))
            return true;
        store_health(s, &h);
        if (h.journal_bytes < left)
            tries = 0;
        left = h.journal_bytes;
    }
    return false;
}

bool store_adopt(const struct store_options *o, uint64_t *records, struct err *e)
{
    char path[FILE_PATH_MAX], dir[FILE_PATH_MAX];
    struct ingest_counts counts;
    struct store *s;
    struct err why;
    bool ok;

    if (!store_is_postgres(o->url))
        return err_input(
            e,
            "a journal is adopted into PostgreSQL: the daemon of another store takes its"
            " own journal in when it starts");
    if (!store_places(o->url, o->spool, path, dir, e) || !adopt_refuse_live(o, dir, e) ||
        !store_open(o, &s, e))
        return false;
    ok = adopt_settle(s, e);
    (void)ingest_health(s->ingest, &why, &counts);
    *records = counts.taken_old;
    store_close(s);
    return ok;
}
