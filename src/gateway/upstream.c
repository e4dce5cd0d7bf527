/* upstream.c - a provider's replies, live or recorded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/upstream.h"

#include "gateway/provider.h"
#include "gateway/retry.h"
#include "net/gzip.h"

#define UNPACKED_MAX ((size_t)256 << 20) /* bytes of a packed reply */
#define TAPE_MAX ((size_t)64 << 20)
#define TAPE_PIECES_MAX 200000

/* ---- recording ---- */

/* Held whole until the reply has ended, or as much of it has come as was wanted: only recordings of
 * what can be played again are of use. */
struct upstream_tape {
    struct upstream_request copy;
    struct arena arena;
    struct buf bytes;
    struct cassette_piece *pieces; /* their bytes are lengths until the end */
    size_t count, cap;
    uint64_t last_ns;
    int status;
    str type;
};

static struct upstream_tape *tape_new(struct loop *l, const struct upstream_request *r)
{
    struct upstream_tape *t = base_alloc(sizeof *t);

    *t = (struct upstream_tape){.copy = *r, .last_ns = loop_now_ns(l), .type = STR("")};
    arena_init(&t->arena, 1 << 20);
    t->copy.path = arena_dup(&t->arena, r->path);
    buf_init(&t->bytes, TAPE_MAX);
    return t;
}

static void tape_free(struct upstream_tape *t)
{
    if (!t)
        return;
    arena_release(&t->arena);
    buf_release(&t->bytes);
    free(t->pieces);
    free(t);
}

static void tape_bytes(struct upstream *u, str bytes)
{
    struct upstream_tape *t = u->tape;
    uint64_t now = loop_now_ns(u->loop);

    assert(t->count <= t->cap && t->count <= TAPE_PIECES_MAX);
    buf_add(&t->bytes, bytes);
    if (t->count == TAPE_PIECES_MAX) {
        t->pieces[t->count - 1].bytes.n += bytes.n;
        return;
    }
    t->pieces = base_grow(t->pieces, t->count, &t->cap, sizeof *t->pieces);
    t->pieces[t->count++] = (struct cassette_piece){
        .after_ms = (now - t->last_ns) / CLOCK_NS_PER_MS, .bytes = {"", bytes.n}};
    t->last_ns = now;
}

/* Requests and replies may contain the provider's key. */
static void upstream_without_key(struct buf *line, str key)
{
    str rest = buf_str(line);
    struct buf out;
    size_t at;

    if (key.n < PROVIDER_KEY_MIN || str_find(rest, key) == STR_NONE)
        return;
    buf_init(&out, 3 * TAPE_MAX);
    while ((at = str_find(rest, key)) != STR_NONE) {
        buf_add(&out, str_slice(rest, 0, at));
        buf_add(&out, STR("[key]"));
        rest = str_slice(rest, at + key.n, rest.n);
    }
    buf_add(&out, rest);
    buf_release(line);
    *line = out;
}

/* A reply that quotes the key is kept as one piece: the end of a piece may be within the key. */
static void tape_join_around_key(struct upstream_tape *t, str key)
{
    if (t->count == 0 || key.n < PROVIDER_KEY_MIN || str_find(buf_str(&t->bytes), key) == STR_NONE)
        return;
    t->pieces[0].bytes.n = t->bytes.n;
    t->count = 1;
}

static void tape_end(struct upstream_tape *t)
{
    const struct config_provider *p = t->copy.provider;
    str path = t->copy.path, key = secret_reveal(&p->key);
    struct cassette_call call = {.path = str_slice(path, p->url.path.n, path.n),
                                 .body = t->copy.body,
                                 .status = t->status,
                                 .type = t->type,
                                 .pieces = t->pieces};
    struct buf head, line;
    size_t at = 0;

    assert(p->url.path.n <= path.n);
    tape_join_around_key(t, key);
    call.piece_count = t->count;
    for (size_t i = 0; i < t->count; i++) {
        size_t n = t->pieces[i].bytes.n;

        t->pieces[i].bytes = str_slice(buf_str(&t->bytes), at, at + n);
        at += n;
    }
    assert(buf_full(&t->bytes) || at == t->bytes.n);
    buf_init(&head, 4096);
    buf_init(&line, 3 * TAPE_MAX);
    cassette_head(p->dialect, &head);
    cassette_line(&call, &line);
    upstream_without_key(&line, key);
    if (!buf_full(&t->bytes) && !buf_full(&line))
        cassette_writer_add(t->copy.cassette_writer, p->record, buf_str(&head), buf_str(&line));
    buf_release(&head);
    buf_release(&line);
}

/* ---- the events of an exchange ---- */

/* Ends the exchange. The caller then calls the returned handler, which may start another one. */
static const struct upstream_handler *upstream_close(struct upstream *u)
{
    const struct upstream_handler *handler = u->handler;

    assert(handler); /* an exchange ends once */
    u->handler = NULL;
    return handler;
}

/* A packed reply. */
struct upstream_unpack {
    struct gzip_unpacker *gzip;
    struct loop_task task;
    bool over;      /* no more packed bytes will come */
    bool broken;    /* because the connection failed */
    struct err why; /* of `broken` */
};

static void upstream_unpack_free(struct upstream *u)
{
    if (!u->unpack)
        return;
    loop_drop(u->loop, &u->unpack->task);
    gzip_unpacker_free(u->unpack->gzip);
    free(u->unpack);
    u->unpack = NULL;
}

static void upstream_end(struct upstream *u)
{
    upstream_unpack_free(u);
    if (u->tape)
        tape_end(u->tape);
    tape_free(u->tape);
    u->tape = NULL;
    upstream_close(u)->on_end(u->ctx);
}

static void upstream_break(struct upstream *u, const struct err *e)
{
    upstream_unpack_free(u);
    tape_free(u->tape);
    u->tape = NULL;
    upstream_close(u)->on_error(u->ctx, e);
}

static void upstream_bytes(struct upstream *u, str bytes)
{
    if (u->tape)
        tape_bytes(u, bytes);
    u->handler->on_bytes(u->ctx, bytes);
}

/* ---- packed replies ----
 *
 * Some hosts pack a reply although the gateway asks for plain bytes. It is unpacked in steps, one
 * task each, so that the loop can do other work in between; until a piece is unpacked, the
 * connection is not read. */

static void upstream_unpack_fail(struct upstream *u, const struct err *e)
{
    const struct upstream_handler *handler = u->handler;
    struct err why;

    err_set(&why, ERR_UPSTREAM, "the provider's reply cannot be unpacked: %s", e->text);
    upstream_cancel(u);
    handler->on_error(u->ctx, &why);
}

/* All packed bytes so far are unpacked. */
static void upstream_unpack_wait(struct upstream *u)
{
    struct upstream_unpack *p = u->unpack;
    struct err e;

    if (!p->over) {
        if (u->call)
            client_resume(u->call);
        u->handler->on_rest(u->ctx);
    } else if (p->broken) {
        e = p->why;
        upstream_break(u, &e);
    } else if (gzip_unpacker_is_whole(p->gzip)) {
        upstream_end(u);
    } else {
        err_input(&e, "it is cut short");
        upstream_unpack_fail(u, &e);
    }
}

static void upstream_unpack_step(void *ctx)
{
    struct upstream *u = ctx;
    struct upstream_unpack *p = u->unpack;
    enum gzip_progress progress;
    struct buf plain;
    struct err e;

    assert(p && u->handler);
    if (u->paused)
        return; /* upstream_resume continues */
    progress = gzip_unpacker_step(p->gzip, &e);
    buf_init(&plain, UNPACKED_MAX);
    buf_move(&plain, gzip_unpacker_plain(p->gzip));
    if (progress == GZIP_MORE)
        loop_yield(u->loop, &p->task);
    if (plain.n)
        upstream_bytes(u, buf_str(&plain));
    buf_release(&plain);
    if (u->unpack != p)
        return; /* the handler has cancelled the exchange */
    if (progress == GZIP_FAILED)
        upstream_unpack_fail(u, &e);
    else if (progress == GZIP_WAITS)
        upstream_unpack_wait(u);
}

/* ---- what comes in ---- */

static void upstream_take_head(struct upstream *u, struct upstream_head *head)
{
    assert(u->handler && !u->unpack);
    if (!u->keep_packed && gzip_knows(head->coding)) {
        u->unpack = base_alloc(sizeof *u->unpack);
        *u->unpack =
            (struct upstream_unpack){.gzip = gzip_unpacker_open(head->coding, UNPACKED_MAX)};
        loop_task_init(&u->unpack->task, upstream_unpack_step, u);
        head->coding = STR("");
    }
    u->handler->on_head(u->ctx, head);
}

static void upstream_take_bytes(struct upstream *u, str bytes)
{
    if (!u->unpack) {
        upstream_bytes(u, bytes);
        return;
    }
    gzip_unpacker_feed(u->unpack->gzip, bytes);
    if (u->call)
        client_pause(u->call);
    loop_soon(u->loop, &u->unpack->task);
}

/* e: NULL if the reply is complete. */
static void upstream_take_end(struct upstream *u, const struct err *e)
{
    if (u->unpack) {
        u->unpack->over = true;
        u->unpack->broken = e;
        if (e)
            u->unpack->why = *e;
        loop_soon(u->loop, &u->unpack->task);
    } else if (e) {
        upstream_break(u, e);
    } else {
        upstream_end(u);
    }
}

/* ---- over the network ---- */

static str upstream_without_parameters(str type)
{
    size_t n = 0;

    while (n < type.n && type.p[n] != ';')
        n++;
    return str_trim(str_slice(type, 0, n));
}

/* A successful reply has no Retry-After. */
static int64_t upstream_come_again_ms(const struct clock *clock, const struct http1_head *h)
{
    if (h->status >= 200 && h->status <= 299)
        return -1;
    return retry_after_ms(http1_find(h, STR("retry-after")),
                          http1_find(h, STR("retry-after-ms")),
                          clock_wall_ms(clock));
}

struct upstream_head upstream_read_head(const struct http1_head *h, const struct clock *clock)
{
    return (struct upstream_head){
        .status = h->status,
        .type = upstream_without_parameters(http1_find(h, STR("content-type"))),
        .retry_after_ms = upstream_come_again_ms(clock, h),
        .coding = http1_find(h, STR("content-encoding")),
        .fields = h,
    };
}

static void net_head(void *ctx, const struct http1_head *h)
{
    struct upstream *u = ctx;
    struct upstream_head head = upstream_read_head(h, u->clock);

    assert(u->handler && u->call);
    if (u->tape) {
        u->tape->status = head.status;
        u->tape->type = arena_dup(&u->tape->arena, str_slice(head.type, 0, 256));
    }
    upstream_take_head(u, &head);
}

static void net_bytes(void *ctx, str bytes)
{
    upstream_take_bytes(ctx, bytes);
}

static void net_end(void *ctx)
{
    struct upstream *u = ctx;

    u->call = NULL;
    upstream_take_end(u, NULL);
}

static void net_error(void *ctx, const struct err *e, bool sent)
{
    struct upstream *u = ctx;

    (void)sent; /* a model call may be made twice: nothing but tokens is lost by it */
    u->call = NULL;
    upstream_take_end(u, e);
}

static void net_rest(void *ctx)
{
    struct upstream *u = ctx;

    if (!u->unpack)
        u->handler->on_rest(u->ctx);
}

static const struct client_handler net_handler = {
    net_head, net_bytes, net_end, net_error, net_rest};

static void net_start(struct upstream *u, struct client *c, const struct upstream_request *r)
{
    const struct config_provider *p = r->provider;
    struct client_request request = {
        .url = &p->url,
        .method = STR("POST"),
        .target = r->target,
        .known = r->known,
        .headers = r->headers,
        .body = r->body,
        .front = r->front,
        .connect_ms = p->connect_ms,
        .first_ms = p->first_ms,
        .stall_ms = p->stall_ms,
    };

    assert(!u->call && !u->tape);
    if (p->record.n && r->cassette_writer)
        u->tape = tape_new(u->loop, r);
    u->call = client_start(c, &request, &net_handler, u);
}

/* ---- from a cassette ---- */

struct upstream_play {
    const struct cassette_call *call; /* NULL: the cassette does not have the request */
    size_t piece;                     /* pieces of the body that were played */
    struct loop_timer timer;
    bool headed;
    struct err *miss; /* if call is NULL: why; else NULL */
};

static void play_on_time(void *ctx);

static void play_stop(struct upstream *u)
{
    if (!u->play)
        return;
    loop_timer_clear(u->loop, &u->play->timer);
    free(u->play->miss);
    free(u->play);
    u->play = NULL;
}

/* Pieces without a delay are replayed together; the others wait for their time. */
static void play_next(struct upstream *u)
{
    struct upstream_play *p = u->play;

    assert(p->call && p->piece <= p->call->piece_count);
    loop_timer_set(u->loop,
                   &p->timer,
                   p->piece < p->call->piece_count ? p->call->pieces[p->piece].after_ms : 0);
}

static void play_on_time(void *ctx)
{
    struct upstream *u = ctx;
    const struct cassette_call *call = u->play->call;
    struct upstream_head head;
    str bytes;

    assert(u->handler);
    if (u->paused)
        return;
    if (!call) {
        struct err why = *u->play->miss;

        play_stop(u);
        upstream_close(u)->on_error(u->ctx, &why);
        return;
    }
    if (!u->play->headed) {
        u->play->headed = true;
        head = (struct upstream_head){
            .status = call->status, .type = call->type, .retry_after_ms = -1, .coding = STR("")};
        play_next(u);
        u->handler->on_head(u->ctx, &head);
        return;
    }
    if (u->play->piece == call->piece_count) {
        play_stop(u);
        upstream_close(u)->on_end(u->ctx);
        return;
    }
    assert(u->play->piece < call->piece_count);
    bytes = call->pieces[u->play->piece++].bytes;
    play_next(u);
    u->handler->on_bytes(u->ctx, bytes);
    if (u->handler)
        u->handler->on_rest(u->ctx);
}

static void play_start(struct upstream *u, const struct upstream_request *r)
{
    struct upstream_play *p = base_alloc(sizeof *p);
    struct err why;

    assert(!u->play);
    *p = (struct upstream_play){0};
    u->play = p;
    loop_timer_init(&p->timer, play_on_time, u);
    if (!cassette_find(r->cassette, r->path, r->body, r->nth, &p->call, &why)) {
        p->call = NULL;
        p->miss = base_alloc(sizeof *p->miss);
        *p->miss = why;
    }
    loop_timer_set(u->loop, &p->timer, 0);
}

/* ---- fed ---- */

void upstream_feed_head(struct upstream *u, const struct upstream_head *head)
{
    struct upstream_head plain = *head;

    assert(u->feed);
    upstream_take_head(u, &plain);
}

void upstream_feed_bytes(struct upstream *u, str bytes)
{
    assert(u->handler && u->feed);
    upstream_take_bytes(u, bytes);
    if (u->handler && !u->unpack)
        u->handler->on_rest(u->ctx);
}

void upstream_feed_end(struct upstream *u)
{
    assert(u->feed);
    upstream_take_end(u, NULL);
}

void upstream_feed_error(struct upstream *u, const struct err *e)
{
    assert(u->feed);
    upstream_take_end(u, e);
}

/* ---- all ---- */

void upstream_start(struct upstream *u, struct loop *l, struct client *c,
                    const struct upstream_request *r, const struct upstream_handler *h, void *ctx)
{
    *u = (struct upstream){0};
    u->handler = h;
    u->ctx = ctx;
    u->loop = l;
    u->clock = r->clock;
    u->feed = r->feed;
    u->keep_packed = r->keep_packed;
    if (r->feed)
        r->feed->on_start(r->feed->ctx, u);
    else if (r->cassette)
        play_start(u, r);
    else
        net_start(u, c, r);
}

bool upstream_is_live(const struct upstream *u)
{
    return u->handler;
}

bool upstream_has_sent(const struct upstream *u)
{
    return u->call && !u->tape && client_has_sent(u->call); /* a recording is written at the end */
}

void upstream_cancel(struct upstream *u)
{
    if (!u->handler)
        return;
    u->handler = NULL;
    upstream_unpack_free(u);
    if (u->call)
        client_cancel(u->call);
    u->call = NULL;
    tape_free(u->tape);
    u->tape = NULL;
    if (u->feed)
        u->feed->on_detach(u->feed->ctx);
    play_stop(u);
}

void upstream_let_go(struct upstream *u)
{
    if (u->handler && u->tape && u->tape->status)
        tape_end(u->tape);
    upstream_cancel(u);
}

void upstream_pause(struct upstream *u)
{
    if (!u->handler)
        return;
    u->paused = true;
    if (u->call)
        client_pause(u->call);
}

void upstream_resume(struct upstream *u)
{
    if (!u->handler || !u->paused)
        return;
    u->paused = false;
    if (u->unpack)
        loop_soon(u->loop, &u->unpack->task);
    else if (u->call)
        client_resume(u->call);
    else if (u->play && !u->play->timer.slot)
        loop_timer_set(u->loop, &u->play->timer, 0);
}
