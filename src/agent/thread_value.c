/* thread_value.c - stores a value whole, or as its difference from a base: the bytes between the
 * equal head and tail. Most values are lists that grow at their end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/thread_store.h"

#define DEPTH_MAX 4096
#define SMALL 4096 /* differences up to this size in total need no new whole value */

void thread_blob_init(struct thread_blob *b)
{
    memset(b, 0, sizeof *b);
    buf_init(&b->bytes, THREAD_TUPLE_MAX);
}

void thread_blob_release(struct thread_blob *b)
{
    buf_release(&b->bytes);
}

/* Replaces the bytes in between in place, at the cost of the length of the addition. */
static void agent_thread_value_apply(struct thread_blob *b, size_t head, size_t tail, str bytes)
{
    size_t old = b->bytes.n, size = head + bytes.n + tail;

    if (head > old || tail > old - head || (size > old && !buf_room(&b->bytes, size - old))) {
        b->broken = true;
        return;
    }
    if (!b->bytes.p)
        return;
    memmove(b->bytes.p + head + bytes.n, b->bytes.p + old - tail, tail);
    memcpy(b->bytes.p + head, bytes.p, bytes.n);
    b->bytes.n = size;
}

/* The whole value comes first. */
static bool agent_thread_value_on_piece(void *ctx, const struct db_value *c, size_t n)
{
    struct thread_blob *b = ctx;

    assert(n > 6);
    if (c[1].i != (b->found ? b->depth + 1 : 0))
        b->broken = true;
    b->found = true;
    b->type_size = c[0].s.n < sizeof b->type ? c[0].s.n : sizeof b->type;
    memcpy(b->type, c[0].s.p, b->type_size);
    b->depth = c[1].i;
    b->since = c[4].i;
    b->whole = c[5].i;
    agent_thread_value_apply(
        b, (size_t)c[2].i, (size_t)c[3].i, c[6].type == DB_NULL ? STR("") : c[6].s);
    return !b->broken;
}

/* From the newest difference back to the whole value, one row per step. The query forces PostgreSQL
 * to look each row up; otherwise it reads all values of the channel at every step. */
#define CHAIN(join, end)                                                                           \
    "WITH RECURSIVE c (type, depth, head, tail, since, whole, value, base_version, base_writer)"   \
    " AS (SELECT type, depth, head, tail, since, whole, value, base_version, base_writer"          \
    " FROM thread_values WHERE thread_id = $1 AND ns = $2 AND channel = $3 AND version = $4"       \
    " AND writer = $5 UNION ALL SELECT v.type, v.depth, v.head, v.tail, v.since, v.whole,"         \
    " v.value, v.base_version, v.base_writer FROM c " join                                         \
    " v.thread_id = $1 AND v.ns = $2 AND v.channel = $3 AND v.version = c.base_version"            \
    " AND v.writer = c.base_writer" end                                                            \
    " SELECT type, depth, head, tail, since, whole, value FROM c ORDER BY depth"

static const char *const chains[] = {
    [DB_SQLITE] = CHAIN("JOIN thread_values v ON", ")"),
    [DB_POSTGRES] =
        CHAIN("CROSS JOIN LATERAL (SELECT * FROM thread_values v WHERE", " LIMIT 1) v)"),
};

bool thread_value_read(struct db *db, const struct thread_place *at, str version, str writer,
                       struct thread_blob *out, struct err *e)
{
    const char *sql = chains[db_kind(db)];

    assert((size_t)db_kind(db) < COUNT_OF(chains));
    buf_reset(&out->bytes);
    out->found = out->broken = false;
    if (!db_query(db,
                  sql,
                  DB_ARGS(db_text(at->thread),
                          db_text(at->ns),
                          db_text(at->channel),
                          db_text(version),
                          db_text(writer)),
                  (struct db_rows){agent_thread_value_on_piece, out},
                  e))
        return false;
    return !out->broken || err_set(e,
                                   ERR_SYSTEM,
                                   "the value of channel \"" STR_FMT "\" is broken in the store",
                                   STR_ARG(str_slice(at->channel, 0, 80)));
}

static size_t thread_same_head(str a, str b)
{
    size_t n = 0, max = a.n < b.n ? a.n : b.n;

    while (n < max && a.p[n] == b.p[n])
        n++;
    return n;
}

static size_t thread_same_tail(str a, str b, size_t head)
{
    size_t n = 0, max = (a.n < b.n ? a.n : b.n) - head;

    assert(head <= a.n && head <= b.n);
    while (n < max && a.p[a.n - 1 - n] == b.p[b.n - 1 - n])
        n++;
    return n;
}

struct piece {
    size_t head, tail;
    int64_t depth, since, whole;
};

/* Stores the value whole again when the differences together are as long as the last whole one: so
 * the cost of a whole value is spread over them. */
static bool thread_differs_little(const struct thread_blob *base, const struct thread_value *v,
                                  struct piece *out)
{
    str old = buf_str(&base->bytes);
    size_t head, tail, between;
    int64_t since;

    if (!base->found || base->depth >= DEPTH_MAX ||
        !str_eq((str){base->type, base->type_size}, v->type))
        return false;
    head = thread_same_head(old, v->bytes);
    tail = thread_same_tail(old, v->bytes, head);
    assert(head + tail <= v->bytes.n && head + tail <= old.n);
    between = v->bytes.n - head - tail;
    since = base->since + (int64_t)between;
    if (between > v->bytes.n / 2 || since > (base->whole > SMALL ? base->whole : SMALL))
        return false;
    *out = (struct piece){head, tail, base->depth + 1, since, base->whole};
    return true;
}

bool thread_value_write(struct db *db, const struct thread_place *at, const struct thread_value *v,
                        const struct thread_origin *by, struct err *e)
{
    struct piece p = {.whole = (int64_t)v->bytes.n};
    struct thread_blob base;
    bool little, ok = true;

    thread_blob_init(&base);
    if (by->base_writer.n)
        ok = thread_value_read(db, at, by->base_version, by->base_writer, &base, e);
    little = ok && thread_differs_little(&base, v, &p);
    thread_blob_release(&base);
    if (!ok)
        return false;

    return db_run(db,
                  "INSERT INTO thread_values (thread_id, ns, channel, version, writer, type,"
                  " base_version, base_writer, depth, head, tail, since, whole, created_us, value)"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
                  " ON CONFLICT (thread_id, ns, channel, version, writer) DO NOTHING",
                  DB_ARGS(db_text(at->thread),
                          db_text(at->ns),
                          db_text(at->channel),
                          db_text(v->version),
                          db_text(by->writer),
                          db_text(v->type),
                          little ? db_text(by->base_version) : db_null(),
                          little ? db_text(by->base_writer) : db_null(),
                          db_int(p.depth),
                          db_int((int64_t)p.head),
                          db_int((int64_t)p.tail),
                          db_int(p.since),
                          db_int(p.whole),
                          db_int(by->now_us),
                          db_blob(str_slice(v->bytes, p.head, v->bytes.n - p.tail))),
                  e);
}
