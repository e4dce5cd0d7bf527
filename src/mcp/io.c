/* io.c - the loop's thread, the helper's thread, and fetches between them and their callers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/io.h"

#include "base/log.h"
#include "mcp/inbox.h"
#include "net/client.h"
#include "net/frames.h"

#include <signal.h>

#define RETRY_AFTER_MAX_S 86400

struct job {
    struct job *next;
    void (*fn)(void *ctx);
    void *ctx;
};

struct mcp_io {
    struct loop *loop;
    struct resolver *resolver;
    struct tls *tls;
    struct client *client;
    bool closed; /* the client has disconnected */
    pthread_t thread, helper;
    bool started, helping;
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct job *first, *last;
    bool leaving;
};

/* ---- threads ---- */

static void *loop_thread(void *ctx)
{
    struct mcp_io *io = ctx;

    loop_run(io->loop);
    return NULL;
}

static void *mcp_helper_thread(void *ctx)
{
    struct mcp_io *io = ctx;

    pthread_mutex_lock(&io->lock);
    for (;;) {
        struct job *j = io->first;

        if (!j && io->leaving)
            break;
        if (!j) {
            pthread_cond_wait(&io->some, &io->lock);
            continue;
        }
        io->first = j->next;
        if (!io->first)
            io->last = NULL;
        pthread_mutex_unlock(&io->lock);
        j->fn(j->ctx);
        free(j);
        pthread_mutex_lock(&io->lock);
    }
    pthread_mutex_unlock(&io->lock);
    return NULL;
}

void mcp_io_later(struct mcp_io *io, void (*fn)(void *ctx), void *ctx)
{
    struct job *j = base_alloc(sizeof *j);

    *j = (struct job){.fn = fn, .ctx = ctx};
    pthread_mutex_lock(&io->lock);
    assert(!io->first == !io->last);
    LIST_APPEND(io->first, io->last, j);
    pthread_cond_signal(&io->some);
    pthread_mutex_unlock(&io->lock);
}

/* Only the main thread handles signals, so our threads block them. */
static bool mcp_io_start_threads(struct mcp_io *io, struct err *e)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    io->started = pthread_create(&io->thread, NULL, loop_thread, io) == 0;
    io->helping = pthread_create(&io->helper, NULL, mcp_helper_thread, io) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return (io->started && io->helping) || err_set(e, ERR_SYSTEM, "no thread could be started");
}

struct mcp_io *mcp_io_new(const char *ca_file, struct err *e)
{
    struct mcp_io *io = base_alloc(sizeof *io);

    *io = (struct mcp_io){0};
    pthread_mutex_init(&io->lock, NULL);
    pthread_cond_init(&io->some, NULL);
    io->loop = loop_new(&clock_real, e);
    io->resolver = io->loop ? resolver_new(2, e) : NULL;
    io->tls = io->resolver ? tls_client_new(ca_file, e) : NULL;
    if (io->resolver && !io->tls && !ca_file)
        log_warn("no certificates: MCP servers cannot be reached by https", LOG_ERR(e));
    if (io->resolver && (io->tls || !ca_file))
        io->client = client_new(io->loop, io->resolver, io->tls);
    if (io->client && mcp_io_start_threads(io, e))
        return io;
    mcp_io_free(io);
    return NULL;
}

void mcp_io_free(struct mcp_io *io)
{
    if (io->helping) {
        pthread_mutex_lock(&io->lock);
        io->leaving = true;
        pthread_cond_signal(&io->some);
        pthread_mutex_unlock(&io->lock);
        pthread_join(io->helper, NULL);
    }
    if (io->started) {
        loop_stop(io->loop);
        pthread_join(io->thread, NULL);
    }
    if (io->client)
        client_free(io->client);
    io->closed = true;
    if (io->loop)
        loop_free(io->loop);
    if (io->resolver)
        resolver_free(io->resolver);
    if (io->tls)
        tls_free(io->tls);
    pthread_cond_destroy(&io->some);
    pthread_mutex_destroy(&io->lock);
    free(io);
}

struct loop *mcp_io_loop(struct mcp_io *io)
{
    return io->loop;
}

struct errand {
    struct loop_task task;
    void (*fn)(void *ctx);
    void *ctx;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool done;
};

static void mcp_run_errand(void *ctx)
{
    struct errand *r = ctx;

    r->fn(r->ctx);
    pthread_mutex_lock(&r->lock);
    r->done = true;
    pthread_cond_signal(&r->over);
    pthread_mutex_unlock(&r->lock);
}

void mcp_io_do(struct mcp_io *io, void (*fn)(void *ctx), void *ctx)
{
    struct errand r = {.fn = fn, .ctx = ctx};

    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.over, NULL);
    loop_task_init(&r.task, mcp_run_errand, &r);
    loop_post(io->loop, &r.task);
    pthread_mutex_lock(&r.lock);
    while (!r.done)
        pthread_cond_wait(&r.over, &r.lock);
    pthread_mutex_unlock(&r.lock);
    pthread_cond_destroy(&r.over);
    pthread_mutex_destroy(&r.lock);
}

/* ---- fetches ---- */

enum { ITEM_HEAD, ITEM_FRAME, ITEM_END };

struct mcp_fetch {
    struct mcp_io *io;
    struct arena arena; /* of the request and of the head */
    struct client_url url;
    str method, target, headers, body;
    struct loop_task start, stop;
    bool once;
    struct client_call *call; /* used on the loop's thread only, like the members below */
    bool framing;
    struct frames frames;
    struct mcp_inbox inbox;
    struct mcp_fetch_event head; /* set before ITEM_HEAD is in the box, then not changed */
    struct mcp_item *item;       /* the item of the last event, valid until the next call */
    char id[MCP_EVENT_ID_MAX];
};

static void mcp_io_on_frame(void *ctx, const struct frames_frame *frame)
{
    struct mcp_fetch *f = ctx;

    mcp_inbox_put(&f->inbox, ITEM_FRAME, f->head.stream ? frame->raw : frame->data);
}

/* The header in seconds; a date is treated as absent. */
static int64_t mcp_io_retry_after(const struct http1_head *head)
{
    uint64_t seconds;

    if (!str_u64(http1_find(head, STR("retry-after")), &seconds))
        return -1;
    return seconds < RETRY_AFTER_MAX_S ? (int64_t)seconds * 1000 : RETRY_AFTER_MAX_S * 1000;
}

static void mcp_io_on_head(void *ctx, const struct http1_head *head)
{
    struct mcp_fetch *f = ctx;
    str type = http1_find(head, STR("content-type"));
    str bare = str_trim(str_slice(type, 0, str_find(type, STR(";"))));

    assert(!f->framing);
    f->head = (struct mcp_fetch_event){
        .what = MCP_FETCH_HEAD,
        .status = head->status,
        .stream = http1_same(bare, STR("text/event-stream")),
        .content_type = arena_dup(&f->arena, bare),
        .session = arena_dup(&f->arena, http1_find(head, STR("mcp-session-id"))),
        .challenge = arena_dup(&f->arena, http1_find(head, STR("www-authenticate"))),
        .location = arena_dup(&f->arena, http1_find(head, STR("location"))),
        .data = STR(""),
        .id = STR(""),
        .retry_ms = -1,
        .after_ms = mcp_io_retry_after(head)};
    frames_init(&f->frames,
                f->head.stream ? FRAMES_SSE : FRAMES_WHOLE,
                MCP_FETCH_MAX,
                (struct frames_sink){mcp_io_on_frame, f});
    f->framing = true;
    mcp_inbox_put(&f->inbox, ITEM_HEAD, STR(""));
}

static void mcp_io_on_bytes(void *ctx, str bytes)
{
    struct mcp_fetch *f = ctx;
    struct err e;

    assert(f->framing); /* the head came first */
    frames_feed(&f->frames, bytes);
    if (f->frames.full) {
        err_set(&e, ERR_LIMIT, "a reply is larger than %zu bytes", MCP_FETCH_MAX);
        mcp_inbox_fail(&f->inbox, &e);
    }
}

static void mcp_io_on_end(void *ctx)
{
    struct mcp_fetch *f = ctx;

    assert(f->framing);
    f->call = NULL;
    frames_finish(&f->frames);
    mcp_inbox_put(&f->inbox, ITEM_END, STR(""));
}

static void mcp_io_on_error(void *ctx, const struct err *e, bool sent)
{
    struct mcp_fetch *f = ctx;

    (void)sent;
    f->call = NULL;
    mcp_inbox_fail(&f->inbox, e);
}

static void mcp_start_fetch(void *ctx)
{
    static const struct client_handler handler = {.on_head = mcp_io_on_head,
                                                  .on_bytes = mcp_io_on_bytes,
                                                  .on_end = mcp_io_on_end,
                                                  .on_error = mcp_io_on_error};
    struct mcp_fetch *f = ctx;
    struct client_request r = {.url = &f->url,
                               .method = f->method,
                               .target = f->target,
                               .headers = f->headers,
                               .body = f->body,
                               .once = f->once};

    assert(!f->call && !f->framing);
    f->call = client_start(f->io->client, &r, &handler, f);
}

static void mcp_stop_fetch(void *ctx)
{
    struct mcp_fetch *f = ctx;

    if (f->call && !f->io->closed)
        client_cancel(f->call);
    if (f->framing)
        frames_release(&f->frames);
    mcp_inbox_release(&f->inbox);
    arena_release(&f->arena);
    free(f);
}

/* Splits the URL: the address to connect to, and the request target. */
static bool mcp_cut_url(struct mcp_fetch *f, str url, struct err *e)
{
    size_t at = str_find(url, STR("://")), hash = str_find(url, STR("#"));
    str rest;

    if (at == STR_NONE)
        return err_input(e, "\"" STR_FMT "\" is not a URL", STR_ARG(str_slice(url, 0, 100)));
    url = arena_dup(&f->arena, str_slice(url, 0, hash));
    for (at += 3; at < url.n && url.p[at] != '/' && url.p[at] != '?'; at++)
        ;
    rest = str_slice(url, at, url.n);
    f->target = rest.n == 0        ? STR("/")
                : rest.p[0] == '?' ? arena_join(&f->arena, STR("/"), rest, STR(""))
                                   : rest;
    return client_url_parse(str_slice(url, 0, at), &f->url, e);
}

struct mcp_fetch *mcp_fetch_start(struct mcp_io *io, const struct mcp_fetch_request *r,
                                  struct err *e)
{
    struct mcp_fetch *f = base_alloc(sizeof *f);

    *f = (struct mcp_fetch){.io = io};
    arena_init(&f->arena, (size_t)64 << 20);
    if (!mcp_cut_url(f, r->url, e)) {
        arena_release(&f->arena);
        free(f);
        return NULL;
    }
    f->method = arena_dup(&f->arena, r->method);
    f->headers = arena_dup(&f->arena, r->headers);
    f->body = arena_dup(&f->arena, r->body);
    f->once = r->once;
    mcp_inbox_init(&f->inbox, MCP_FETCH_MAX + 4 * sizeof(struct mcp_item)); /* head and end */
    loop_task_init(&f->start, mcp_start_fetch, f);
    loop_task_init(&f->stop, mcp_stop_fetch, f);
    loop_post(io->loop, &f->start);
    return f;
}

void mcp_fetch_free(struct mcp_fetch *f)
{
    if (!f)
        return;
    free(f->item);
    f->item = NULL;
    loop_post(f->io->loop, &f->stop);
}

void mcp_fetch_interrupt(struct mcp_fetch *f)
{
    struct err e;

    err_set(&e, ERR_CANCELLED, "interrupted");
    mcp_inbox_fail(&f->inbox, &e);
}

/* Whether s may be sent in a header. */
static bool mcp_is_visible(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < ' ' || s.p[i] > '~')
            return false;
    return true;
}

/* Parses an event of a stream: joins its data lines in place, and reads its id and retry. The id of
 * an event that was cut off is not taken: a stream that resumes after it would lose it. */
static void mcp_read_event(struct mcp_fetch *f, struct mcp_item *item, struct mcp_fetch_event *out)
{
    char *to = item->bytes;
    size_t at = 0, used = 0;
    bool some = false, whole = false;

    while (at < item->n) {
        str rest = {item->bytes + at, item->n - at}, line, value;
        size_t end = 0, colon;

        while (end < rest.n && rest.p[end] != '\n' && rest.p[end] != '\r')
            end++;
        line = str_slice(rest, 0, end);
        whole = whole || (end == 0 && rest.n > 0);
        at += end + 1 + (end + 1 < rest.n && rest.p[end] == '\r' && rest.p[end + 1] == '\n');
        colon = str_find(line, STR(":"));
        value = colon == STR_NONE ? STR("") : str_slice(line, colon + 1, line.n);
        if (value.n && value.p[0] == ' ')
            value = str_slice(value, 1, value.n);
        line = str_slice(line, 0, colon);
        if (str_eq(line, STR("data"))) {
            if (some)
                to[used++] = '\n';
            memmove(to + used, value.p, value.n); /* the write position is before the read
                                                     position */
            used += value.n;
            some = true;
        } else if (str_eq(line, STR("id"))) {
            size_t n = value.n < sizeof f->id && mcp_is_visible(value) ? value.n : 0;

            memcpy(f->id, value.p, n);
            out->id = (str){f->id, n};
        } else if (str_eq(line, STR("retry"))) {
            uint64_t ms;

            out->retry_ms = str_u64(value, &ms) && ms < INT32_MAX ? (int64_t)ms : -1;
        }
    }
    assert(used <= item->n);
    out->data = (str){to, used};
    if (!whole)
        out->id = STR("");
}

bool mcp_fetch_next(struct mcp_fetch *f, uint64_t deadline_ns, const _Atomic bool *cancel,
                    struct mcp_fetch_event *out, struct err *e)
{
    struct mcp_item *item = mcp_inbox_take(&f->inbox, deadline_ns, cancel, e);

    if (!item)
        return false;
    assert(item->kind <= ITEM_END);
    free(f->item);
    f->item = item;
    *out = f->head;
    out->what = item->kind == ITEM_HEAD    ? MCP_FETCH_HEAD
                : item->kind == ITEM_FRAME ? MCP_FETCH_FRAME
                                           : MCP_FETCH_END;
    if (item->kind == ITEM_FRAME && !f->head.stream)
        out->data = (str){item->bytes, item->n};
    else if (item->kind == ITEM_FRAME)
        mcp_read_event(f, item, out);
    return true;
}

bool mcp_fetch_whole(struct mcp_io *io, const struct mcp_fetch_request *r, uint64_t deadline_ns,
                     struct arena *a, struct mcp_fetched *out, struct err *e)
{
    struct mcp_fetch *f = mcp_fetch_start(io, r, e);
    struct mcp_fetch_event event;
    bool ok = false;

    if (!f)
        return false;
    *out = (struct mcp_fetched){.body = STR(""), .location = STR("")};
    while ((ok = mcp_fetch_next(f, deadline_ns, r->cancel, &event, e)) &&
           event.what != MCP_FETCH_END) {
        out->status = event.status;
        if (event.what == MCP_FETCH_HEAD) {
            out->location = arena_dup(a, event.location);
            out->after_ms = event.after_ms;
        } else if (arena_left(a) > 2 * event.data.n + 4096 &&
                   (!r->keep_max || event.data.n <= r->keep_max)) {
            out->body = arena_dup(a, event.data);
        }
    }
    mcp_fetch_free(f);
    return ok;
}
