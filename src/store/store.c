/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include "base/arena.h"
#include "base/rand.h"
#include "base/sha256.h"
#include "store/audit.h"
#include "store/engine.h"
#include "store/row.h"
#include "store/take.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define QUEUE_SIZE ((size_t)16 << 20)
#define QUEUE_SIZE_MIN 4096u
#define JOURNAL_SIZE ((uint64_t)1 << 30)
#define SEGMENTS_MIN 8u /* of a full journal */
#define SEGMENT_SIZE_MIN ((uint64_t)1 << 20)
#define CLOSE_MS 5000u
#define RETENTION_MS 60000u
#define SPOOL "rationale.spool"
#define ADDRESS_MAX 256
#define SPOOL_NAME_SIZE 33                 /* 32 characters and a NUL */
#define PATH_SIZE_MAX (FILE_PATH_MAX - 64) /* names are made of it */

/* With "none" all of it is NULL. */
struct store {
    struct journal *journal;
    struct engine *engine;
    struct take *take;
    char path[FILE_PATH_MAX], dir[FILE_PATH_MAX], head[FILE_PATH_MAX];
    char id[STORE_ID_SIZE]; /* of this opening, by chance */
    bool reached;           /* the file with the address is ours */
};

/* ---- where ---- */

static bool is_postgres(str url)
{
    return str_starts(url, STR("postgres://")) || str_starts(url, STR("postgresql://"));
}

static bool sqlite_path(str url, str *path)
{
    if (!str_starts(url, STR("sqlite:")))
        return false;
    *path = str_slice(url, 7, url.n);
    if (str_starts(*path, STR("//")))
        *path = str_slice(*path, 2, path->n);
    return true;
}

static bool set_path(char out[FILE_PATH_MAX], str path, const char *suffix, struct err *e)
{
    if (path.n > PATH_SIZE_MAX || memchr(path.p, '\0', path.n))
        return err_set(e, ERR_INPUT, "the path of the store is too long or holds a NUL");
    (void)snprintf(out, FILE_PATH_MAX, STR_FMT "%s", STR_ARG(path), suffix);
    return true;
}

/* A URL may hold a password: of one that is wrong only the scheme is said. */
static bool store_find_place(struct store *s, const struct store_options *o, struct err *e)
{
    str path = STR("");
    size_t colon = str_find(o->url, STR(":"));

    if (is_postgres(o->url))
        return set_path(s->dir, o->spool.n > 0 ? o->spool : STR(SPOOL), "", e) &&
               set_path(s->head, str_c(s->dir), "/head", e);
    if (!sqlite_path(o->url, &path))
        return err_set(e,
                       ERR_INPUT,
                       "a store is \"sqlite:PATH\", \"postgres://USER@HOST/DATABASE\" or \"none\","
                       " not \"" STR_FMT "\"",
                       STR_ARG(str_slice(o->url, 0, colon < 40 ? colon + 1 : 40)));
    if (path.n == 0)
        return err_set(e, ERR_INPUT, "a store needs a path: \"sqlite:PATH\"");
    if (str_eq(path, STR(":memory:")))
        return err_set(e,
                       ERR_INPUT,
                       "a store in memory would lose what it acknowledged: name a file, or use "
                       "\"none\"");
    return set_path(s->path, path, "", e) && set_path(s->head, path, ".head", e) &&
           (o->spool.n > 0 ? set_path(s->dir, o->spool, "", e)
                           : set_path(s->dir, path, ".spool", e));
}

/* A database may have seen several spools; each has a name of its own. */
static bool spool_name(const char *dir, char out[SPOOL_NAME_SIZE], struct err *e)
{
    char path[FILE_PATH_MAX + 8];
    uint8_t chance[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    struct arena a;
    bool ok;
    str text;

    (void)snprintf(path, sizeof path, "%s/name", dir);
    arena_init(&a, 4096);
    ok = file_read(&a, path, SPOOL_NAME_SIZE, &text, e);
    if (!ok && e->code == ERR_NOT_FOUND) {
        rand_os(chance, sizeof chance);
        text = str_slice(sha256_hex(chance, hex), 0, SPOOL_NAME_SIZE - 1);
        ok = file_write_atomic(path, text, 0600, e);
    }
    if (ok)
        (void)snprintf(out, SPOOL_NAME_SIZE, STR_FMT, STR_ARG(str_trim(text)));
    arena_release(&a);
    return ok;
}

/* ---- open and close ---- */

/* The names of the database and of the spool must outlive the power too. */
static bool sync_parent(const char *path, struct err *e)
{
    char dir[FILE_PATH_MAX];
    const char *slash = strrchr(path, '/');

    if (!slash)
        return segment_sync_dir(".", e);
    (void)snprintf(dir, sizeof dir, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return segment_sync_dir(dir, e);
}

static bool address_path(const char *dir, char out[FILE_PATH_MAX], struct err *e)
{
    return set_path(out, str_c(dir), "/address", e);
}

static void store_remove_address(const char *dir)
{
    char path[FILE_PATH_MAX];
    struct err e;

    if (address_path(dir, path, &e))
        (void)unlink(path);
}

static void store_make_id(char out[STORE_ID_SIZE])
{
    uint8_t chance[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];

    rand_os(chance, sizeof chance);
    memcpy(out, sha256_hex(chance, hex).p, STORE_ID_SIZE - 1);
    out[STORE_ID_SIZE - 1] = '\0';
}

static bool store_start(struct store *s, const struct store_options *o, struct err *e)
{
    size_t queue = o->queue_size_max ? o->queue_size_max : QUEUE_SIZE;
    uint64_t size_max = o->journal_size_max ? o->journal_size_max : JOURNAL_SIZE;
    uint64_t segment = size_max / SEGMENTS_MIN; /* a segment stays until all of it is taken */
    struct journal_options jo = {
        .dir = s->dir,
        .durable = o->durability == STORE_DURABLE,
        .queue_size_max = queue < QUEUE_SIZE_MIN   ? QUEUE_SIZE_MIN
                          : queue > FRAME_BODY_MAX ? FRAME_BODY_MAX
                                                   : queue,
        .size_max = size_max,
        .segment_size = segment < SEGMENT_SIZE_MIN       ? SEGMENT_SIZE_MIN
                        : segment > JOURNAL_SEGMENT_SIZE ? JOURNAL_SEGMENT_SIZE
                                                         : segment,
        .clock = o->clock,
        .log = o->log,
    };
    char name[SPOOL_NAME_SIZE] = "";
    struct engine_options eo = {.url = o->url};
    struct take_options to = {
        .dir = s->dir,
        .log = o->log,
        .retention = {(int64_t)o->retention_age_ms * 1000,
                      (int64_t)o->retention_bytes,
                      (int64_t)o->retention_min_ms * 1000},
        .retention_every_ms = o->retention_every_ms ? o->retention_every_ms : RETENTION_MS,
    };

    /* The journal first: its lock keeps others off the tables too. */
    if (!journal_open(&jo, &s->journal, e) || (is_postgres(o->url) && !spool_name(s->dir, name, e)))
        return false;
    eo.spool = str_c(name);
    eo.head_path = s->head;
    store_remove_address(s->dir); /* of a process that did not end well */
    store_make_id(s->id);
    if (!engine_open(&eo, &s->engine, e) || !sync_parent(s->path[0] ? s->path : s->dir, e) ||
        !engine_place(s->engine, &to.place, e) || !journal_start(s->journal, to.place, e))
        return false;
    to.journal = s->journal;
    to.engine = s->engine;
    return take_start(&to, &s->take, e);
}

/* ---- where its owner is reached ---- */

str store_id(const struct store *s)
{
    return str_c(s->id);
}

void store_reached(struct store *s, str address)
{
    char path[FILE_PATH_MAX], text[ADDRESS_MAX];
    struct err e;
    int n = snprintf(text, sizeof text, STR_FMT "\n%s\n", STR_ARG(address), s->id);

    if (!s->journal)
        return;
    s->reached = n > 0 && (size_t)n < sizeof text && address_path(s->dir, path, &e) &&
                 file_write_atomic(path, (str){text, (size_t)n}, 0600, &e);
    if (!s->reached)
        log_warn("commands cannot find this daemon: its address could not be written", LOG_ERR(&e));
}

bool store_owner(str url, str spool, struct arena *a, struct store_owner *out, struct err *e)
{
    struct store_options o = {.url = url, .spool = spool};
    struct store *s = base_alloc(sizeof *s);
    char path[FILE_PATH_MAX];
    str text = STR("");
    size_t line;
    bool ok;

    *s = (struct store){0};
    ok = store_find_place(s, &o, e) && address_path(s->dir, path, e) &&
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

    *s = (struct store){0};
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

    *s = (struct store){0};
    ok = store_find_place(s, &o, e);
    if (ok && (size_t)snprintf(out, size, "%s", s->head) >= size)
        ok = err_set(e, ERR_LIMIT, "a path longer than %zu bytes", size);
    free(s);
    return ok;
}

bool store_open(const struct store_options *o, struct store **out, struct err *e)
{
    struct store *s = base_alloc(sizeof *s);

    *s = (struct store){0};
    if (!str_eq(o->url, STR("none")) && (!store_find_place(s, o, e) || !store_start(s, o, e))) {
        store_close(s);
        return err_prefix(e, "store: ");
    }
    *out = s;
    return true;
}

void store_close(struct store *s)
{
    struct store_health health;

    if (s->journal)
        journal_stop(s->journal);
    if (s->take) {
        if (!journal_settle(s->journal, CLOSE_MS)) {
            journal_health(s->journal, &health);
            log_warn("store: closed before all was in the tables; the next start takes it in",
                     LOG_U64("bytes", health.journal_bytes));
        }
        take_stop(s->take);
    }
    engine_close(s->engine);
    if (s->reached)
        store_remove_address(s->dir);
    if (s->journal)
        journal_free(s->journal);
    free(s);
}

/* ---- rows in ---- */

static void store_put_call(const void *row, char *body)
{
    row_call_put(row, body);
}

static void put_piece(const void *piece, char *body)
{
    row_piece_put(piece, body);
}

static void store_put_session(const void *row, char *body)
{
    row_put(&row_sessions, row, body);
}

static void put_tool(const void *row, char *body)
{
    row_put(&row_tools, row, body);
}

static void put_note(const void *row, char *body)
{
    row_put(&row_notes, row, body);
}

static void store_put(struct store *s, const struct journal_item *item, struct store_ticket *t)
{
    if (s->journal)
        journal_put(s->journal, item, t);
    else if (t)
        t->fn(t, NULL);
}

void store_call_put(struct store *s, const struct store_call *row, struct store_ticket *t)
{
    struct journal_item item = {FRAME_CALL, row_call_size(row), store_put_call, row};

    assert(row->id.n > 0);
    store_put(s, &item, t);
}

bool store_takes(struct store *s, struct err *e)
{
    return !s->journal || journal_takes(s->journal, e);
}

unsigned store_pressure(struct store *s)
{
    return s->journal ? journal_pressure(s->journal) : 0;
}

void store_push(struct store *s)
{
    if (s->journal)
        journal_push(s->journal);
}

void store_call_begin(struct store *s, const struct store_call *row)
{
    struct journal_item item = {FRAME_BEGIN, row_call_size(row), store_put_call, row};

    assert(row->id.n > 0);
    if (s->journal)
        journal_put(s->journal, &item, NULL);
}

void store_piece_put(struct store *s, const struct store_piece *piece)
{
    struct journal_item item = {FRAME_PIECE, row_piece_size(piece), put_piece, piece};

    assert(piece->id.n > 0);
    if (s->journal)
        journal_put(s->journal, &item, NULL);
}

void store_session_put(struct store *s, const struct store_session *row, struct store_ticket *t)
{
    struct journal_item item = {
        FRAME_SESSION, row_size(&row_sessions, row), store_put_session, row};

    assert(row->id.n > 0);
    store_put(s, &item, t);
}

void store_tool_put(struct store *s, const struct store_tool *row, struct store_ticket *t)
{
    struct journal_item item = {FRAME_TOOL, row_size(&row_tools, row), put_tool, row};

    assert(row->id.n > 0);
    store_put(s, &item, t);
}

void store_audit_put(struct store *s, str actor, str action, str subject, str detail)
{
    struct store_note note = {STR("-"), actor, action, subject, detail, 0};
    struct journal_item item = {FRAME_NOTE, row_size(&row_notes, &note), put_note, &note};

    store_put(s, &item, NULL);
}

/* ---- erasure ---- */

/* Waits for one ticket. */
struct waiter {
    struct store_ticket ticket; /* first */
    pthread_mutex_t lock;
    pthread_cond_t told;
    bool over, ok;
    struct err *e;
};

static void store_wake(struct store_ticket *t, const struct err *e)
{
    struct waiter *w = (struct waiter *)(void *)t;

    pthread_mutex_lock(&w->lock);
    w->over = true;
    w->ok = !e;
    if (e)
        *w->e = *e;
    pthread_cond_signal(&w->told);
    pthread_mutex_unlock(&w->lock);
}

static bool put_and_wait(struct store *s, const struct journal_item *item, struct err *e)
{
    struct waiter w = {.ticket = {.fn = store_wake}, .e = e};

    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.told, NULL);
    store_put(s, item, &w.ticket);
    pthread_mutex_lock(&w.lock);
    while (!w.over)
        pthread_cond_wait(&w.told, &w.lock);
    pthread_mutex_unlock(&w.lock);
    pthread_cond_destroy(&w.told);
    pthread_mutex_destroy(&w.lock);
    return w.ok;
}

/* Also deletes the journal segment with the note and earlier records: it has the same bytes. */
bool store_erase(struct store *s, enum store_erase_what what, str name, str actor,
                 struct store_receipt *out, struct err *e)
{
    static const char *const actions[] = {
        [STORE_ERASE_SESSION] = "erase session",
        [STORE_ERASE_SUBJECT] = "erase subject",
    };
    uint64_t until = clock_deadline_ns(&clock_real, STORE_ERASE_MS);
    char id[RAND_ID_SIZE];
    struct rand_ids ids;
    bool ok;

    if (!s->journal)
        return err_set(e, ERR_NOT_FOUND, "there is no history: the store is \"none\"");
    if (name.n == 0)
        return err_set(e, ERR_INPUT, "whom or what to erase is not said");
    rand_ids_init(&ids, &clock_real);
    struct store_note note = {rand_id(&ids, id), actor, str_c(actions[what]), name, STR(""), 0};
    struct journal_item item = {FRAME_NOTE, row_size(&row_notes, &note), put_note, &note};

    rand_ids_release(&ids);
    if (!put_and_wait(s, &item, e))
        return false;
    journal_roll(s->journal);
    if (!store_settle(s, (uint64_t)clock_left_ms(&clock_real, until), e))
        return false;
    while (!(ok = engine_receipt(s->engine, str_c(id), out, e)) && e->code == ERR_NOT_FOUND &&
           clock_left_ms(&clock_real, until) > 0)
        (void)usleep(20000);
    if (!ok && e->code == ERR_NOT_FOUND)
        err_set(e, ERR_TIMEOUT, "it is erased, but readers keep its bytes in the files for now");
    return ok;
}

const char *store_head_path(const struct store *s)
{
    return s->head;
}

/* ---- how it is ---- */

static uint64_t file_bytes(const char *path, const char *more)
{
    char name[FILE_PATH_MAX + 8];
    struct stat st;

    (void)snprintf(name, sizeof name, "%s%s", path, more);
    return stat(name, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

static void store_say_behind(struct store_health *h)
{
    size_t n = strlen(h->why);

    (void)snprintf(h->why + n,
                   sizeof h->why - n,
                   "%sthe tables are behind: %.1f MB in about %llu records wait in the journal, the"
                   " oldest for %llu s; new calls wait for them",
                   n ? "; " : "",
                   (double)h->journal_bytes / 1e6,
                   (unsigned long long)h->pending,
                   (unsigned long long)h->pending_s);
}

void store_health(struct store *s, struct store_health *out)
{
    struct statvfs st;
    struct err why;
    struct take_counts c;

    *out = (struct store_health){.ok = true, .tables_ok = true};
    if (!s->journal)
        return;
    journal_health(s->journal, out);
    out->tables_ok = take_health(s->take, &why, &c);
    out->errors += c.errors;
    out->pending = (out->stored > c.taken ? out->stored - c.taken : 0) +
                   journal_old_records(s->journal, c.taken_old);
    out->history_bytes = file_bytes(s->path, "") + file_bytes(s->path, "-wal");
    if (!out->tables_ok)
        (void)snprintf(out->why + strlen(out->why),
                       sizeof out->why - strlen(out->why),
                       "%s%s",
                       out->why[0] ? "; " : "",
                       why.text);
    if (out->behind)
        store_say_behind(out);
    out->tables_ok = out->tables_ok && !out->behind;
    if (statvfs(s->dir, &st) == 0)
        out->free_bytes = (uint64_t)st.f_bavail * st.f_frsize;
}

bool store_settle_while(struct store *s, uint64_t timeout_ms, bool (*wanted)(void *ctx), void *ctx,
                        struct err *e)
{
    struct store_health health;

    if (!s->journal || journal_settle_while(s->journal, timeout_ms, wanted, ctx))
        return true;
    if (wanted && !wanted(ctx))
        return err_set(e, ERR_CANCELLED, "nobody waits for the tables any more");
    store_health(s, &health);
    return err_set(e,
                   ERR_TIMEOUT,
                   "%llu bytes are not in the tables after %llu ms%s%s",
                   (unsigned long long)health.journal_bytes,
                   (unsigned long long)timeout_ms,
                   health.why[0] ? ": " : "",
                   health.why);
}

bool store_settle(struct store *s, uint64_t timeout_ms, struct err *e)
{
    return store_settle_while(s, timeout_ms, NULL, NULL, e);
}

/* ---- rows out ---- */

void store_secret(struct store *s, str purpose, uint8_t out[32])
{
    if (s->engine)
        engine_secret(s->engine, purpose, out);
    else
        rand_os(out, 32);
}

bool store_talks(struct store *s, size_t n_max, bool (*fn)(void *ctx, str session, str talk),
                 void *ctx, struct err *e)
{
    return !s->engine || engine_talks(s->engine, n_max, fn, ctx, e);
}

bool store_spent(struct store *s, bool (*fn)(void *ctx, str key, double usd), void *ctx,
                 struct err *e)
{
    return !s->engine || engine_spent(s->engine, fn, ctx, e);
}

bool store_call_get(struct store *s, str id, struct store_row_sink sink, struct err *e)
{
    if (!s->engine)
        return err_set(e, ERR_NOT_FOUND, "there is no history: the store is \"none\"");
    return engine_get(s->engine, id, sink, e);
}

bool store_call_list(struct store *s, str before_id, size_t n_max, struct store_row_sink sink,
                     struct err *e)
{
    return !s->engine || engine_list(s->engine, before_id, n_max, sink, e);
}
