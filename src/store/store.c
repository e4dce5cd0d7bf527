/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include "base/sha256.h"
#include "store/row.h"
#include "store/store_state.h"

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

/* ---- open and close ---- */

/* The names of the database and of the spool must outlive the power too. */
static bool store_sync_parent(const char *path, struct err *e)
{
    char dir[FILE_PATH_MAX];
    const char *slash = strrchr(path, '/');

    if (!slash)
        return segment_sync_dir(".", e);
    (void)snprintf(dir, sizeof dir, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return segment_sync_dir(dir, e);
}

static void store_make_id(char out[STORE_ID_SIZE])
{
    uint8_t chance[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];

    rand_os(chance, sizeof chance);
    memcpy(out, sha256_hex(chance, hex).p, STORE_ID_SIZE - 1);
    out[STORE_ID_SIZE - 1] = '\0';
    assert(strlen(out) == STORE_ID_SIZE - 1);
}

static void store_on_beat(void *store, size_t running, bool erased)
{
    struct store *s = store;

    assert(s->journal); /* it is opened before this daemon registers */
    journal_share(s->journal, running);
    if (erased)
        journal_roll_soon(s->journal);
}

static bool store_register(struct store *s, const struct store_options *o, str name, struct err *e)
{
    struct daemons_options d = {.url = o->url,
                                .id = name,
                                .log = o->log,
                                .heartbeat_ms = o->heartbeat_ms,
                                .lease_ms = o->lease_ms,
                                .on_beat = store_on_beat,
                                .ctx = s};

    assert(s->journal && !s->daemons);
    return !store_is_postgres(o->url) || daemons_start(&d, &s->daemons, e);
}

/* The journal's folder may be another one for each process; the file is the same. */
static bool store_lock_database(struct store *s, struct err *e)
{
    char path[FILE_PATH_MAX + 8], *real;

    if (!s->path[0])
        return true;
    real = realpath(s->path, NULL); /* the file may have other names, if it exists */
    (void)snprintf(path, sizeof path, "%s.lock", real ? real : s->path);
    free(real);
    return store_lock_take(&s->lock, path, e);
}

static bool store_start(struct store *s, const struct store_options *o, struct err *e)
{
    size_t queue = o->queue_size_max ? o->queue_size_max : QUEUE_SIZE;
    uint64_t size_max = o->journal_size_max ? o->journal_size_max : JOURNAL_SIZE;
    uint64_t segment = size_max / SEGMENTS_MIN; /* a segment stays until all of it is taken */
    struct journal_options jo = {
        .dir = s->dir,
        .durable = o->durability != STORE_FAST,
        .replicated = o->durability == STORE_REPLICATED,
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
    char name[STORE_SPOOL_SIZE] = "";
    struct engine_options eo = {
        .url = o->url, .count_interrupted = o->count_interrupted, .ctx = o->ctx};
    struct ingest_options to = {
        .dir = s->dir,
        .log = o->log,
        .retention = {(int64_t)o->retention_age_ms * 1000,
                      (int64_t)o->retention_bytes,
                      (int64_t)o->retention_min_ms * 1000},
        .retention_every_ms = o->retention_every_ms ? o->retention_every_ms : RETENTION_MS,
        .replicated = o->durability == STORE_REPLICATED,
    };

    assert(!s->journal && !s->engine && !s->ingest);
    assert(jo.queue_size_max >= QUEUE_SIZE_MIN && jo.queue_size_max <= FRAME_BODY_MAX);
    /* The journal first: its lock keeps others off the tables too, or off this daemon's row. */
    if (!journal_open(&jo, &s->journal, e) || !store_lock_database(s, e) ||
        !store_spool_name(s->dir, name, e) || !store_register(s, o, str_c(name), e))
        return false;
    eo.spool = str_c(name);
    eo.head_path = s->head;
    eo.lease = s->daemons ? daemons_lease(s->daemons) : NULL;
    store_remove_address(s->dir); /* of a process that did not end well */
    store_make_id(s->id);
    if (!engine_open(&eo, &s->engine, e) || !store_sync_parent(s->path[0] ? s->path : s->dir, e) ||
        !engine_place(s->engine, &to.place, e) || !journal_start(s->journal, to.place, e))
        return false;
    to.journal = s->journal;
    to.lock = &s->lock;
    if (s->path[0] && (!store_file_find(&to.files[0], s->path, "", e) ||
                       !store_file_find(&to.files[1], s->path, "-wal", e)))
        return false;
    to.engine = s->engine;
    return ingest_start(&to, &s->ingest, e);
}

str store_id(const struct store *s)
{
    return str_c(s->id);
}

struct daemons *store_daemons(struct store *s)
{
    return s->daemons;
}

str store_daemon(const struct store *s)
{
    return s->daemons ? daemons_self(s->daemons) : STR("");
}

bool store_open(const struct store_options *o, struct store **out, struct err *e)
{
    struct store *s = base_alloc(sizeof *s);

    *s = (struct store){.lock = STORE_LOCK_NONE};
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

    assert(s->journal || (!s->engine && !s->ingest));
    if (s->journal)
        journal_stop(s->journal);
    if (s->ingest) {
        if (!journal_settle(s->journal, CLOSE_MS)) {
            journal_health(s->journal, &health);
            log_warn("store: closed before all was in the tables; the next start takes it in",
                     LOG_U64("bytes", health.journal_bytes));
        }
        ingest_stop(s->ingest);
    }
    engine_close(s->engine);
    daemons_stop(s->daemons);
    if (s->reached)
        store_remove_address(s->dir);
    store_lock_release(&s->lock);
    if (s->journal)
        journal_free(s->journal);
    free(s);
}

/* ---- rows in ---- */

static void store_put_call(const void *row, char *body)
{
    row_call_put(row, body);
}

static void store_put_piece(const void *piece, char *body)
{
    row_piece_put(piece, body);
}

static void store_put_session(const void *row, char *body)
{
    row_put(&row_sessions, row, body);
}

static void store_put_tool(const void *row, char *body)
{
    row_put(&row_tools, row, body);
}

static void store_put_note(const void *row, char *body)
{
    row_put(&row_notes, row, body);
}

static void store_put(struct store *s, const struct journal_item *item, struct store_ticket *t)
{
    assert(item->size > 0 && item->put);
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
    struct journal_item item = {FRAME_PIECE, row_piece_size(piece), store_put_piece, piece};

    assert(piece->id.n > 0);
    if (s->journal)
        journal_put(s->journal, &item, NULL);
}

void store_session_put(struct store *s, const struct store_session *row)
{
    struct store_session now = *row;
    struct journal_item item = {FRAME_SESSION, 0, store_put_session, &now};

    assert(row->id.n > 0);
    now.put_us = clock_wall_ms(&clock_real) * 1000;
    item.size = row_size(&row_sessions, &now);
    store_put(s, &item, NULL);
}

void store_tool_put(struct store *s, const struct store_tool *row)
{
    struct journal_item item = {FRAME_TOOL, row_size(&row_tools, row), store_put_tool, row};

    assert(row->id.n > 0);
    store_put(s, &item, NULL);
}

void store_audit_put(struct store *s, str actor, str action, str subject, str detail)
{
    struct store_note note = {STR("-"), actor, action, subject, detail, 0};
    struct journal_item item = {FRAME_NOTE, row_size(&row_notes, &note), store_put_note, &note};

    store_put(s, &item, NULL);
}

/* ---- erasure ---- */

/* Waits for one ticket. */
struct waiter {
    struct store_ticket ticket; /* first */
    pthread_mutex_t lock;
    pthread_cond_t called;
    bool over, ok;
    struct err *e;
};

static void store_wake(struct store_ticket *t, const struct err *e)
{
    struct waiter *w = (struct waiter *)(void *)t;

    assert(!w->over); /* a ticket is called once */
    pthread_mutex_lock(&w->lock);
    w->over = true;
    w->ok = !e;
    if (e)
        *w->e = *e;
    pthread_cond_signal(&w->called);
    pthread_mutex_unlock(&w->lock);
}

static bool store_put_and_wait(struct store *s, const struct journal_item *item, struct err *e)
{
    struct waiter w = {.ticket = {.fn = store_wake}, .e = e};

    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.called, NULL);
    store_put(s, item, &w.ticket);
    pthread_mutex_lock(&w.lock);
    while (!w.over)
        pthread_cond_wait(&w.called, &w.lock);
    pthread_mutex_unlock(&w.lock);
    pthread_cond_destroy(&w.called);
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

    assert((size_t)what < COUNT_OF(actions));
    if (!s->journal)
        return err_set(e, ERR_NOT_FOUND, "there is no history: the store is \"none\"");
    if (name.n == 0)
        return err_input(e, "the request does not say whom or what to erase");
    rand_ids_init(&ids, &clock_real);
    struct store_note note = {rand_id(&ids, id), actor, str_c(actions[what]), name, STR(""), 0};
    struct journal_item item = {FRAME_NOTE, row_size(&row_notes, &note), store_put_note, &note};

    rand_ids_release(&ids);
    if (!store_put_and_wait(s, &item, e))
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

static uint64_t store_file_bytes(const char *path, const char *more)
{
    char name[FILE_PATH_MAX + 8];
    struct stat st;

    (void)snprintf(name, sizeof name, "%s%s", path, more);
    return stat(name, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

static void store_describe_backlog(struct store_health *h)
{
    size_t n = strlen(h->why);

    assert(n < sizeof h->why);
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
    struct ingest_counts c;

    *out = (struct store_health){.ok = true, .tables_ok = true};
    if (!s->journal)
        return;
    assert(s->ingest);
    journal_health(s->journal, out);
    out->tables_ok = ingest_health(s->ingest, &why, &c);
    out->errors += c.errors;
    out->pending = (out->stored > c.taken ? out->stored - c.taken : 0) +
                   journal_old_records(s->journal, c.taken_old);
    out->history_bytes = store_file_bytes(s->path, "") + store_file_bytes(s->path, "-wal");
    if (!out->tables_ok && strcmp(out->why, why.text) != 0)
        (void)snprintf(out->why + strlen(out->why),
                       sizeof out->why - strlen(out->why),
                       "%s%s",
                       out->why[0] ? "; " : "",
                       why.text);
    if (out->behind)
        store_describe_backlog(out);
    out->tables_ok = out->tables_ok && !out->behind;
    if (statvfs(s->dir, &st) == 0)
        out->free_bytes = (uint64_t)st.f_bavail * st.f_frsize;
}

struct store_settling {
    struct store *store;
    bool (*wanted)(void *ctx);
    void *ctx;
};

/* A full disk does not get room within the time that somebody waits. */
static bool store_may_settle(void *ctx)
{
    const struct store_settling *x = ctx;
    struct err why;

    return x->wanted(x->ctx) && !ingest_is_full(x->store->ingest, &why);
}

bool store_settle_while(struct store *s, uint64_t timeout_ms, bool (*wanted)(void *ctx), void *ctx,
                        struct err *e)
{
    struct store_settling x = {s, wanted, ctx};
    struct store_health health;
    struct err why;

    if (!s->journal ||
        journal_settle_while(s->journal, timeout_ms, wanted ? store_may_settle : NULL, &x))
        return true;
    if (wanted && !wanted(ctx))
        return err_set(e, ERR_CANCELLED, "the wait for the tables was cancelled");
    if (ingest_is_full(s->ingest, &why))
        return err_set(e, ERR_LIMIT, "the tables have no room: %s", why.text);
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
