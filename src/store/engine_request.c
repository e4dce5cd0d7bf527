/* engine_request.c - stores requests that repeat their conversation as the difference from the
 * previous one.
 *
 * A client sends the whole conversation with each turn, the answer to the last one included. The
 * last request and answer of each session are kept in memory, bounded; the next request of that
 * session is stored as the bytes that neither of them has (block.h), so that n turns cost n and not
 * n squared, and an answer is stored once. Where the last request is not in memory any more it is
 * read from its block, if the new one is long enough to be worth it; else the request is stored
 * whole.
 *
 * Reading a request resolves all deltas before it. So every REQUEST_STRIDE turns a request is
 * stored as what differs from the request REQUEST_STRIDE turns earlier, which stores the bytes
 * between the two a second time: n turns still cost n, and a request is resolved in at most
 * REQUEST_STRIDE + n / REQUEST_STRIDE deltas.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/engine_state.h"

#define REQUEST_MIN 512u                     /* shorter ones are stored whole */
#define REQUEST_ASKED ((size_t)16 << 10)     /* the tables are asked for the one before */
#define REQUEST_KEPT_MAX ((size_t)8 << 20)   /* of one session */
#define REQUESTS_KEPT_MAX ((size_t)32 << 20) /* of all */
#define REQUEST_STRIDE 100u                  /* deltas after the mark, see struct engine_mark */
#define REQUEST_DEPTH_MAX 900u               /* then one is stored whole; texts.c reads 1,000 */
#define REQUEST_READ_MAX 200u                /* the same for a base that is read from the tables */

static struct engine_request *request_slot(struct engine *en, str session)
{
    uint64_t h = 1469598103934665603u;

    for (size_t i = 0; i < session.n; i++)
        h = (h ^ (unsigned char)session.p[i]) * 1099511628211u;
    return &en->requests[(h ^ h >> 32) % ENGINE_REQUESTS];
}

static void request_drop(struct engine *en, struct engine_request *r)
{
    assert(r->size <= r->cap && r->size <= en->requests_size);
    en->requests_size -= r->size;
    free(r->bytes);
    *r = (struct engine_request){0};
}

void engine_requests_forget(struct engine *en)
{
    for (size_t i = 0; i < ENGINE_REQUESTS; i++)
        request_drop(en, &en->requests[i]);
}

static str request_session(const struct engine_request *r)
{
    return (str){r->bytes, r->name_size};
}

static struct block_base request_base(const struct engine_request *r)
{
    str all = {r->bytes, r->size};
    size_t end = r->size - r->answer_size;

    assert(r->name_size <= end && end <= r->size);
    return (struct block_base){str_slice(all, r->name_size, end), str_slice(all, end, r->size)};
}

static void request_keep(struct engine *en, const struct store_call *row, int64_t call_n,
                         unsigned depth, struct engine_mark mark)
{
    struct engine_request *r = request_slot(en, row->session_id);
    size_t size = row->session_id.n + row->request.n + row->answer.n;

    if (size > REQUEST_KEPT_MAX) {
        request_drop(en, r);
        return;
    }
    for (size_t i = 0; i < ENGINE_REQUESTS && en->requests_size + size > REQUESTS_KEPT_MAX; i++)
        request_drop(en, &en->requests[en->requests_next++ % ENGINE_REQUESTS]);
    if (r->cap < size) {
        en->requests_size -= r->size;
        r->size = 0;
        free(r->bytes);
        r->cap = size + size / 4;
        r->bytes = base_alloc(r->cap);
    }
    en->requests_size += size - r->size;
    r->size = size;
    r->name_size = row->session_id.n;
    r->answer_size = row->answer.n;
    memcpy(r->bytes, row->session_id.p, row->session_id.n);
    memcpy(r->bytes + r->name_size, row->request.p, row->request.n);
    if (row->answer.n > 0) /* else there may be no bytes */
        memcpy(r->bytes + size - row->answer.n, row->answer.p, row->answer.n);
    r->call_n = call_n;
    r->depth = depth;
    r->mark = mark;
    assert(r->name_size <= r->size && r->size <= r->cap && r->size <= en->requests_size);
    assert(r->depth <= REQUEST_DEPTH_MAX && r->mark.depth <= r->depth);
}

static struct engine_mark request_mark(int64_t call_n, str request, unsigned depth)
{
    return (struct engine_mark){call_n, request.n, request.n, request.n, depth};
}

/* ---- one that is not in memory ---- */

static bool request_read(struct engine *en, const struct store_call *row, int64_t *call_n,
                         struct block_base *out)
{
    struct texts_place place = {0, -1, 0};
    struct store_call before = store_call_none;
    struct err e;

    if (row->request.n < REQUEST_ASKED || str_eq(row->session_id, row->id) ||
        !db_query(en->db,
                  "SELECT call_n, block, block_n FROM llm_interactions WHERE session_id = $1 AND"
                  " block IS NOT NULL ORDER BY started_ms DESC LIMIT 1",
                  DB_ARGS(db_text(row->session_id)),
                  DB_ROW(db_into_i64(&place.call_n),
                         db_into_i64(&place.block),
                         db_into_i64(&place.block_n)),
                  &e) ||
        place.block < 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(en->filling); i++)
        if (en->filling[i].number == place.block)
            return false; /* the block is in memory, and not all of it in the tables */
    *call_n = place.call_n;
    if (!texts_read(&en->texts, &place, &en->scratch, &before, &e))
        return false;
    *out = (struct block_base){before.request, before.answer};
    return out->request.n > 0;
}

/* The request from its base, or from the mark after REQUEST_STRIDE deltas. Returns the number of
 * deltas to resolve it; 0: it is stored whole. */
static unsigned request_delta(struct engine *en, const struct block_base *base, str request,
                              unsigned depth, struct engine_mark *mark, struct block_texts *t)
{
    struct block_delta *from = &t->request_from;
    size_t n = mark->size < request.n ? mark->size : request.n;

    if (depth >= REQUEST_DEPTH_MAX ||
        !block_delta_make(base->request, request, from, &t->text[BLOCK_REQUEST]))
        return 0;
    mark->front = from->front < mark->front ? from->front : mark->front;
    mark->back = from->back < mark->back ? from->back : mark->back;
    if (depth - mark->depth <= REQUEST_STRIDE) {
        t->text[BLOCK_REQUEST] =
            block_quote_make(base->answer, t->text[BLOCK_REQUEST], &en->scratch, &from->answer);
        return depth;
    }
    from->call_n = mark->call_n;
    from->front = mark->front;
    from->back = mark->back < n - mark->front ? mark->back : n - mark->front;
    t->text[BLOCK_REQUEST] = str_slice(request, from->front, request.n - from->back);
    mark->call_n = 0;
    return from->front + from->back < request.n / 4 ? 0 : mark->depth + 1;
}

void engine_request_put(struct engine *en, const struct store_call *row, int64_t call_n,
                        struct block_texts *t)
{
    struct engine_request *r = request_slot(en, row->session_id);
    struct engine_mark mark = {0};
    unsigned depth = 0;
    struct block_base base = {0};

    if (row->request.n < REQUEST_MIN)
        return;
    arena_reset(&en->scratch);
    if (r->call_n && str_eq(request_session(r), row->session_id)) {
        base = request_base(r);
        depth = r->depth + 1;
        mark = r->mark;
        t->request_from.call_n = r->call_n;
    } else if (request_read(en, row, &t->request_from.call_n, &base)) {
        depth = en->texts.depth < REQUEST_READ_MAX ? en->texts.depth + 1 : 0;
        mark = request_mark(t->request_from.call_n, base.request, en->texts.depth);
    }
    if (depth > 0)
        depth = request_delta(en, &base, row->request, depth, &mark, t);
    if (depth == 0) {
        t->request_from = (struct block_delta){0};
        t->text[BLOCK_REQUEST] = row->request;
    }
    if (depth == 0 || mark.call_n == 0) /* this one is the next mark */
        mark = request_mark(call_n, row->request, depth);
    request_keep(en, row, call_n, depth, mark);
}
