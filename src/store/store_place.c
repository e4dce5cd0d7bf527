/* store_place.c - the paths of a store, and how other commands find the process that has it open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/audit.h"
#include "store/store_state.h"

#include <unistd.h>

#define SPOOL "rationale.spool"
#define ADDRESS_MAX 256
#define PATH_SIZE_MAX (FILE_PATH_MAX - 64) /* names are made of it */

/* ---- where ---- */

bool store_is_postgres(str url)
{
    return str_starts(url, STR("postgres://")) || str_starts(url, STR("postgresql://"));
}

static bool store_place_sqlite_path(str url, str *path)
{
    if (!str_starts(url, STR("sqlite:")))
        return false;
    *path = str_slice(url, 7, url.n);
    if (str_starts(*path, STR("//")))
        *path = str_slice(*path, 2, path->n);
    return true;
}

static bool store_place_set_path(char out[FILE_PATH_MAX], str path, const char *suffix,
                                 struct err *e)
{
    if (path.n > PATH_SIZE_MAX || memchr(path.p, '\0', path.n))
        return err_input(e, "the path of the store is too long or holds a NUL");
    (void)snprintf(out, FILE_PATH_MAX, STR_FMT "%s", STR_ARG(path), suffix);
    return true;
}

/* A URL may contain a password, so an error quotes only its scheme. */
bool store_find_place(struct store *s, const struct store_options *o, struct err *e)
{
    str path = STR("");
    size_t colon = str_find(o->url, STR(":"));

    if (store_is_postgres(o->url))
        return store_place_set_path(s->dir, o->spool.n > 0 ? o->spool : STR(SPOOL), "", e) &&
               store_place_set_path(s->head, str_c(s->dir), "/head", e);
    if (!store_place_sqlite_path(o->url, &path))
        return err_input(
            e,
            "a store is \"sqlite:PATH\", \"postgres://USER@HOST/DATABASE\" or \"none\","
            " not \"" STR_FMT "\"",
            STR_ARG(str_slice(o->url, 0, colon < 40 ? colon + 1 : 40)));
    if (path.n == 0)
        return err_input(e, "a store needs a path: \"sqlite:PATH\"");
    if (str_eq(path, STR(":memory:")))
        return err_input(e,
                         "a store in memory would lose acknowledged calls: name a file, or use "
                         "\"none\"");
    assert(!s->path[0] && !s->dir[0]);
    return store_place_set_path(s->path, path, "", e) &&
           store_place_set_path(s->head, path, ".head", e) &&
           (o->spool.n > 0 ? store_place_set_path(s->dir, o->spool, "", e)
                           : store_place_set_path(s->dir, path, ".spool", e));
}

bool store_spool_name(const char *dir, char out[STORE_SPOOL_SIZE], struct err *e)
{
    char path[FILE_PATH_MAX + 8];
    uint8_t chance[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    struct arena a;
    bool ok;
    str text;

    (void)snprintf(path, sizeof path, "%s/name", dir);
    arena_init(&a, 4096);
    ok = file_read(&a, path, STORE_SPOOL_SIZE, &text, e);
    if (!ok && e->code == ERR_NOT_FOUND) {
        rand_os(chance, sizeof chance);
        text = str_slice(sha256_hex(chance, hex), 0, STORE_SPOOL_SIZE - 1);
        ok = file_write_atomic(path, text, 0600, e);
    }
    if (ok)
        (void)snprintf(out, STORE_SPOOL_SIZE, STR_FMT, STR_ARG(str_trim(text)));
    arena_release(&a);
    return ok;
}

/* ---- where its owner is reached ---- */

static bool store_place_address_path(const char *dir, char out[FILE_PATH_MAX], struct err *e)
{
    return store_place_set_path(out, str_c(dir), "/address", e);
}

void store_remove_address(const char *dir)
{
    char path[FILE_PATH_MAX];
    struct err e;

    if (store_place_address_path(dir, path, &e))
        (void)unlink(path);
}

bool store_reached(struct store *s, str address, struct err *e)
{
    char path[FILE_PATH_MAX], text[ADDRESS_MAX];
    int n = snprintf(text, sizeof text, STR_FMT "\n%s\n", STR_ARG(address), s->id);

    if (!s->journal)
        return true;
    if (s->daemons)
        daemons_reached(s->daemons, address);
    assert(n > 0);
    s->reached = ((size_t)n < sizeof text ||
                  err_set(e, ERR_LIMIT, "it has more than %zu bytes", sizeof text)) &&
                 store_place_address_path(s->dir, path, e) &&
                 file_write_atomic(path, (str){text, (size_t)n}, 0600, e);
    return s->reached;
}

bool store_owner(str url, str spool, struct arena *a, struct store_owner *out, struct err *e)
{
    struct store_options o = {.url = url, .spool = spool};
    struct store *s = base_alloc(sizeof *s);
    char path[FILE_PATH_MAX];
    str text = STR("");
    size_t line;
    bool ok;

    *s = (struct store){.lock = STORE_LOCK_NONE};
    ok = store_find_place(s, &o, e) && store_place_address_path(s->dir, path, e) &&
         file_read(a, path, ADDRESS_MAX, &text, e);
    free(s);
    line = str_find(text, STR("\n"));
    out->address = str_slice(text, 0, line);
    out->id = line == STR_NONE ? STR("") : str_trim(str_slice(text, line, text.n));
    if (ok && out->id.n != STORE_ID_SIZE - 1)
        ok = err_set(e,
                     ERR_UPSTREAM,
                     "%s was written by an older daemon: restart the daemon, or delete the file",
                     path);
    return ok;
}

bool store_places(str url, str spool, char path[FILE_PATH_MAX], char journal[FILE_PATH_MAX],
                  struct err *e)
{
    struct store_options o = {.url = url, .spool = spool};
    struct store *s = base_alloc(sizeof *s);
    bool ok;

    *s = (struct store){.lock = STORE_LOCK_NONE};
    ok = store_find_place(s, &o, e);
    if (ok) {
        memcpy(path, s->path, FILE_PATH_MAX);
        memcpy(journal, s->dir, FILE_PATH_MAX);
    }
    free(s);
    return ok;
}

bool audit_head_path(str url, str spool, char *out, size_t size, struct err *e)
{
    struct store_options o = {.url = url, .spool = spool};
    struct store *s = base_alloc(sizeof *s);
    bool ok;

    *s = (struct store){.lock = STORE_LOCK_NONE};
    ok = store_find_place(s, &o, e);
    if (ok && (size_t)snprintf(out, size, "%s", s->head) >= size)
        ok = err_set(e, ERR_LIMIT, "a path longer than %zu bytes", size);
    free(s);
    return ok;
}
