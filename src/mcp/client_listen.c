/* client_listen.c - reads messages that belong to no call, from a separate stream on a separate
 * thread.
 *
 * In the legacy era the stream is a GET, on which the server may also send requests; since
 * 2026-07-28 it is the reply to subscriptions/listen. A server without either refuses, and there is
 * no stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/log.h"
#include "mcp/client_state.h"

#include <signal.h>

#define RETRY_MS 1000
#define ANSWER_MS 1000 /* how long a connection waits for its stream to begin */
#define RETRIES_MAX 20 /* streams in a row without an event */
#define PAUSE_MIN_MS 100
#define SUBSCRIBE "{\"notifications\":{\"toolsListChanged\":true}}"

struct mcp_listener {
    struct mcp_client *client;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* protects `stop` and `answered` */
    bool stop;
    bool answered;           /* the stream has begun, or is not available */
    struct mcp_fetch *fetch; /* the fetch that is waited for, so that it can be interrupted */
    char last_id[MCP_EVENT_ID_MAX];
    int64_t retry_ms;
};

static struct mcp_fetch *mcp_client_listen_start(struct mcp_listener *l, struct err *e)
{
    struct mcp_client *c = l->client;
    bool legacy = mcp_client_era(c) == MCP_ERA_LEGACY;
    struct mcp_fetch_request q = {
        .method = legacy ? STR("GET") : STR("POST"), .url = c->o.url, .body = STR("")};
    struct mcp_fetch *f;
    struct buf headers, params, body;

    assert(c->o.url.n > 0);
    buf_init(&headers, (size_t)1 << 20);
    buf_init(&params, 65536);
    buf_init(&body, 65536);
    (void)mcp_put_common(c, &headers);
    if (legacy && l->last_id[0])
        buf_printf(&headers, "Last-Event-ID: %s\r\n", l->last_id);
    if (!legacy) {
        buf_add(&headers,
                STR("Content-Type: application/json\r\nMcp-Method: subscriptions/listen\r\n"));
        mcp_put_params(c, STR(SUBSCRIBE), STR("\"listen\""), &params);
        mcp_emit_request(&body, STR("\"listen\""), STR("subscriptions/listen"), buf_str(&params));
    }
    q.headers = buf_str(&headers);
    q.body = buf_str(&body);
    f = mcp_fetch_start(c->io, &q, e);
    buf_release(&body);
    buf_release(&params);
    buf_release(&headers);
    return f;
}

/* Whether a later request may succeed, because calls renew the token. */
static bool mcp_client_listen_may_recover(int status)
{
    return status == 401 || status == 408 || status == 429 || status >= 500;
}

static void mcp_take_frame(struct mcp_listener *l, const struct mcp_fetch_event *event)
{
    assert(event->what == MCP_FETCH_FRAME);
    if (event->id.n && event->id.n < sizeof l->last_id) {
        memcpy(l->last_id, event->id.p, event->id.n);
        l->last_id[event->id.n] = 0;
    }
    if (event->retry_ms >= 0)
        l->retry_ms = event->retry_ms;
    if (event->data.n)
        mcp_on_other(l->client, event->data);
}

static void mcp_client_listen_set_answered(struct mcp_listener *l)
{
    pthread_mutex_lock(&l->lock);
    l->answered = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

/* Reads one stream to its end; returns whether to open the next one. *heard: it had events. */
static bool mcp_read_stream(struct mcp_listener *l, struct mcp_fetch *f, bool *heard)
{
    struct mcp_fetch_event event;
    struct err e;

    if (!mcp_fetch_next(f, CLOCK_NEVER, NULL, &event, &e))
        return e.code != ERR_CANCELLED;
    mcp_client_listen_set_answered(l);
    if (event.status != 200 || !event.stream)
        return mcp_client_listen_may_recover(event.status);
    while (mcp_fetch_next(f, CLOCK_NEVER, NULL, &event, &e) && event.what != MCP_FETCH_END) {
        *heard = *heard || event.data.n;
        mcp_take_frame(l, &event);
    }
    if (!l->last_id[0]) /* the next stream does not repeat changes that happen before it begins */
        atomic_store(&l->client->stale, true);
    return true;
}

/* Waits until the flag is set, or the time is over. */
static bool mcp_client_listen_wait_for(struct mcp_listener *l, const bool *flag, int64_t ms)
{
    uint64_t until = clock_deadline_ns(&clock_real, ms);
    bool set;

    assert(ms >= 0);
    pthread_mutex_lock(&l->lock);
    while (!*flag && clock_mono_ns(&clock_real) < until)
        (void)clock_cond_wait(&l->changed, &l->lock, until);
    set = *flag;
    pthread_mutex_unlock(&l->lock);
    return set;
}

static void *listen_thread(void *ctx)
{
    struct mcp_listener *l = ctx;
    struct err e;
    bool again = true;

    for (int tries = 0; again && tries < RETRIES_MAX; tries++) {
        int64_t pause_ms;
        bool heard = false;
        struct mcp_fetch *f = mcp_client_listen_start(l, &e);

        pthread_mutex_lock(&l->lock);
        l->fetch = l->stop ? NULL : f;
        again = f && !l->stop;
        pthread_mutex_unlock(&l->lock);
        again = again && mcp_read_stream(l, f, &heard);
        pthread_mutex_lock(&l->lock);
        l->fetch = NULL;
        pthread_mutex_unlock(&l->lock);
        mcp_fetch_free(f);
        if (heard)
            tries = 0;
        pause_ms = l->retry_ms > PAUSE_MIN_MS ? l->retry_ms : PAUSE_MIN_MS;
        again = again && !mcp_client_listen_wait_for(l, &l->stop, pause_ms);
    }
    mcp_client_listen_set_answered(l);
    return NULL;
}

void mcp_listen_start(struct mcp_client *c)
{
    struct mcp_listener *l = base_alloc(sizeof *l);
    sigset_t all, before;
    bool started;

    assert(!c->listener);
    *l = (struct mcp_listener){.client = c, .retry_ms = RETRY_MS};
    pthread_mutex_init(&l->lock, NULL);
    clock_cond_init(&l->changed);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(&l->thread, NULL, listen_thread, l) == 0;
    c->listener = started ? l : NULL;
    if (!started) {
        log_warn("mcp client cannot listen: no thread");
        pthread_cond_destroy(&l->changed);
        pthread_mutex_destroy(&l->lock);
        free(l);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    /* Messages that the server sends before the stream begins are lost. */
    if (started)
        (void)mcp_client_listen_wait_for(l, &l->answered, ANSWER_MS);
}

void mcp_listen_stop(struct mcp_client *c)
{
    struct mcp_listener *l = c->listener;

    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    if (l->fetch)
        mcp_fetch_interrupt(l->fetch);
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l);
    c->listener = NULL;
}
