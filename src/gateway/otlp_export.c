/* otlp_export.c - spans in a bounded queue, sent in batches from a loop of its own.
 *
 * One request is under way at a time. A batch is sent when there are BATCH_MAX spans, or
 * INTERVAL_MS after the last; it is tried again only where the protocol says that this makes sense,
 * and then given up. While it waits the queue fills up; what does not fit is counted as dropped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/otlp.h"
#include "net/client.h"
#include "net/gzip.h"

#define QUEUE_MAX 8192
#define QUEUE_SIZE_MAX ((size_t)32 << 20)
#define BATCH_MAX 512
#define BATCH_SIZE_MAX ((size_t)8 << 20)
#define REPLY_SIZE_MAX ((size_t)4 << 20)
#define INTERVAL_MS 5000
#define TRIES_MAX 5
#define BACKOFF_MS 1000
#define BACKOFF_MAX_MS 60000
#define REPLY_MS 10000
#define LEAVE_MS 2000

struct item {
    struct item *next;
    size_t size;
    char bytes[];
};

struct otlp {
    /* Set at the start. */
    pthread_t thread;
    struct loop *loop;
    struct resolver *resolver;
    struct tls *tls;
    struct client *client;
    struct gzip *gzip;
    char *text; /* the URL, its target and the headers */
    struct client_url url;
    str target, headers;

    /* Any thread, under the lock. */
    pthread_mutex_t lock;
    struct item *first, *last;
    size_t depth, size;
    uint64_t sent, dropped;
    bool woken, leaving;
    struct loop_task wake;

    /* The loop's. */
    struct loop_timer timer, deadline;
    struct client_call *call;
    struct buf body;  /* of the batch under way */
    size_t batch;     /* spans in it; 0: none */
    unsigned tries;   /* that it had */
    int status;       /* of the reply at hand */
    int64_t after_ms; /* what its Retry-After says, or -1 */
    size_t reply_size;
    struct rand chance;
};

/* ---- the batch ---- */

static bool otlp_export_take_batch(struct otlp *o)
{
    struct buf plain;
    struct item *taken = NULL;
    size_t n = 0, size = 0;

    assert(o->batch == 0 && !o->call);
    pthread_mutex_lock(&o->lock);
    taken = o->first;
    while (o->first && n < BATCH_MAX && (n == 0 || size + o->first->size <= BATCH_SIZE_MAX)) {
        size += o->first->size;
        o->first = o->first->next;
        n++;
    }
    o->last = o->first ? o->last : NULL;
    assert(n <= o->depth && size <= o->size);
    o->depth -= n;
    o->size -= size;
    pthread_mutex_unlock(&o->lock);
    buf_init(&plain, size);
    for (size_t i = 0; i < n; i++) {
        struct item *next = taken->next;

        buf_add(&plain, (str){taken->bytes, taken->size});
        free(taken);
        taken = next;
    }
    buf_reset(&o->body);
    if (n > 0)
        gzip_pack(o->gzip, buf_str(&plain), &o->body);
    buf_release(&plain);
    o->batch = n;
    o->tries = 0;
    return n > 0;
}

static void otlp_count_batch(struct otlp *o, bool sent)
{
    assert(o->batch > 0);
    pthread_mutex_lock(&o->lock);
    *(sent ? &o->sent : &o->dropped) += o->batch;
    pthread_mutex_unlock(&o->lock);
    o->batch = 0;
}

static size_t otlp_export_count_waiting(struct otlp *o, bool *leaving)
{
    size_t n;

    pthread_mutex_lock(&o->lock);
    n = o->depth;
    *leaving = o->leaving;
    pthread_mutex_unlock(&o->lock);
    return n;
}

/* ---- sending ---- */

static void otlp_send_batch(struct otlp *o);

/* Decides what to do next while no request is running. */
static void otlp_export_go_on(struct otlp *o)
{
    bool leaving;
    size_t n = otlp_export_count_waiting(o, &leaving);

    if (o->call || o->batch > 0)
        return;
    if ((n >= BATCH_MAX || (leaving && n > 0)) && otlp_export_take_batch(o))
        otlp_send_batch(o);
    else if (leaving)
        loop_stop(o->loop);
    else
        loop_timer_set(o->loop, &o->timer, INTERVAL_MS);
}

static bool otlp_is_transient(int status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* Full jitter around a wait that doubles; what the server asks for comes first. */
static uint64_t otlp_backoff_ms(struct otlp *o)
{
    uint64_t wait = (uint64_t)BACKOFF_MS << (o->tries - 1);

    assert(o->tries > 0 && o->tries <= TRIES_MAX);
    if (o->after_ms >= 0)
        return (uint64_t)o->after_ms < BACKOFF_MAX_MS ? (uint64_t)o->after_ms : BACKOFF_MAX_MS;
    return wait / 2 + rand_below(&o->chance, wait);
}

static void otlp_export_ended(struct otlp *o, bool transient)
{
    bool leaving;

    assert(o->batch > 0);
    o->call = NULL;
    (void)otlp_export_count_waiting(o, &leaving);
    if (o->status >= 200 && o->status < 300)
        otlp_count_batch(o, true);
    else if (transient && o->tries < TRIES_MAX && !leaving)
        loop_timer_set(o->loop, &o->timer, otlp_backoff_ms(o));
    else
        otlp_count_batch(o, false);
    if (o->batch == 0)
        otlp_export_go_on(o);
}

static void otlp_export_on_head(void *ctx, const struct http1_head *head)
{
    struct otlp *o = ctx;
    uint64_t seconds;

    assert(o->call && o->batch > 0);
    o->status = head->status;
    if (str_u64(http1_find(head, STR("retry-after")), &seconds))
        o->after_ms = seconds < 3600 ? (int64_t)seconds * 1000 : 3600000;
}

/* The body is ignored: a refused span is not sent again. */
static void otlp_export_on_bytes(void *ctx, str bytes)
{
    struct otlp *o = ctx;

    o->reply_size += bytes.n;
    if (o->reply_size > REPLY_SIZE_MAX && o->call) {
        client_cancel(o->call);
        otlp_export_ended(o, false);
    }
}

static void otlp_export_on_end(void *ctx)
{
    struct otlp *o = ctx;

    otlp_export_ended(o, otlp_is_transient(o->status));
}

static void otlp_export_on_error(void *ctx, const struct err *e, bool sent)
{
    struct otlp *o = ctx;

    (void)sent;
    o->status = o->status >= 200 && o->status < 300 ? o->status : 0;
    otlp_export_ended(o, e->code == ERR_UPSTREAM || e->code == ERR_TIMEOUT);
}

static const struct client_handler handler = {
    otlp_export_on_head, otlp_export_on_bytes, otlp_export_on_end, otlp_export_on_error, NULL};

static void otlp_send_batch(struct otlp *o)
{
    const struct client_request request = {.url = &o->url,
                                           .method = STR("POST"),
                                           .target = o->target,
                                           .headers = o->headers,
                                           .body = buf_str(&o->body),
                                           .first_ms = REPLY_MS,
                                           .stall_ms = REPLY_MS};

    assert(o->batch > 0 && !o->call);
    loop_timer_clear(o->loop, &o->timer); /* a full batch goes before the interval has passed */
    o->tries++;
    o->status = 0;
    o->after_ms = -1;
    o->reply_size = 0;
    o->call = client_start(o->client, &request, &handler, o);
}

static void otlp_export_on_timer(void *ctx)
{
    struct otlp *o = ctx;

    if (o->batch > 0 || otlp_export_take_batch(o))
        otlp_send_batch(o);
    else
        loop_timer_set(o->loop, &o->timer, INTERVAL_MS);
}

/* Enough is there, or it is time to leave; then a batch that waits to be tried again goes now. */
static void otlp_on_wake(void *ctx)
{
    struct otlp *o = ctx;
    bool leaving;

    pthread_mutex_lock(&o->lock);
    o->woken = false;
    leaving = o->leaving;
    pthread_mutex_unlock(&o->lock);
    if (leaving) {
        loop_timer_clear(o->loop, &o->timer);
        loop_timer_set(o->loop, &o->deadline, LEAVE_MS);
        if (o->batch > 0 && !o->call)
            otlp_send_batch(o);
    }
    otlp_export_go_on(o);
}

static void otlp_on_deadline(void *ctx)
{
    loop_stop(((struct otlp *)ctx)->loop);
}

static void *otlp_export_run(void *arg)
{
    struct otlp *o = arg;

    loop_timer_set(o->loop, &o->timer, INTERVAL_MS);
    loop_run(o->loop);
    return NULL;
}

/* ---- the outside ---- */

static void otlp_export_wake(struct otlp *o)
{
    bool post = !o->woken;

    o->woken = true;
    if (post)
        loop_post(o->loop, &o->wake);
}

void otlp_add(struct otlp *o, const struct summary *c, const struct otlp_trace *t)
{
    struct buf b;
    struct item *item;

    if (!t->sampled)
        return;
    buf_init(&b, (size_t)256 << 10);
    otlp_span(c, t, &b);
    item = base_alloc(sizeof *item + b.n);
    item->next = NULL;
    item->size = b.n;
    memcpy(item->bytes, b.p, b.n);
    buf_release(&b);
    pthread_mutex_lock(&o->lock);
    if (o->depth == QUEUE_MAX || o->size + item->size > QUEUE_SIZE_MAX || o->leaving) {
        o->dropped++;
        free(item);
    } else {
        assert(!o->first == !o->last && !o->first == !o->depth);
        LIST_APPEND(o->first, o->last, item);
        o->depth++;
        o->size += item->size;
        if (o->depth == BATCH_MAX)
            otlp_export_wake(o);
    }
    pthread_mutex_unlock(&o->lock);
}

void otlp_counts(struct otlp *o, uint64_t *depth, uint64_t *sent, uint64_t *dropped)
{
    pthread_mutex_lock(&o->lock);
    *depth = o->depth;
    *sent = o->sent;
    *dropped = o->dropped;
    pthread_mutex_unlock(&o->lock);
}

/* The URL, "PATH/v1/traces" and the header lines, one after the other. */
static bool otlp_set_texts(struct otlp *o, str url, str headers, struct err *e)
{
    static const char own[] = "content-type: application/x-protobuf\r\ncontent-encoding: gzip\r\n"
                              "user-agent: rationale/" RATIONALE_VERSION "\r\n";
    struct client_url parsed;
    struct buf b;
    size_t target, lines;

    if (!client_url_parse(url, &parsed, e))
        return false;
    buf_init(&b, url.n * 2 + headers.n + 512);
    buf_add(&b, url);
    target = b.n;
    buf_add(&b, parsed.path);
    if (!str_ends(parsed.path, STR("/v1/traces")))
        buf_add(&b, STR("/v1/traces"));
    lines = b.n;
    buf_add(&b, str_c(own));
    buf_add(&b, headers);
    assert(!buf_full(&b));
    o->text = b.p;
    o->target = (str){b.p + target, lines - target};
    o->headers = (str){b.p + lines, b.n - lines};
    return client_url_parse((str){b.p, url.n}, &o->url, e);
}

static void otlp_export_destroy(struct otlp *o)
{
    if (o->call)
        client_cancel(o->call);
    if (o->client)
        client_free(o->client);
    if (o->resolver)
        resolver_free(o->resolver);
    if (o->tls)
        tls_free(o->tls);
    if (o->loop)
        loop_free(o->loop);
    for (struct item *i = o->first, *next; i; i = next) {
        next = i->next;
        free(i);
    }
    gzip_free(o->gzip);
    buf_release(&o->body);
    pthread_mutex_destroy(&o->lock);
    free(o->text);
    free(o);
}

struct otlp *otlp_new(str url, str headers, const char *ca_file, struct err *e)
{
    struct otlp *o = base_alloc(sizeof *o);
    bool ok;

    memset(o, 0, sizeof *o);
    pthread_mutex_init(&o->lock, NULL);
    buf_init(&o->body, BATCH_SIZE_MAX * 2);
    rand_init_os(&o->chance);
    o->gzip = gzip_new();
    loop_task_init(&o->wake, otlp_on_wake, o);
    loop_timer_init(&o->timer, otlp_export_on_timer, o);
    loop_timer_init(&o->deadline, otlp_on_deadline, o);
    ok = otlp_set_texts(o, url, headers, e) && (o->loop = loop_new(&clock_real, e)) &&
         (o->resolver = resolver_new(1, e)) &&
         (!o->url.tls || (o->tls = tls_client_new(ca_file, e)));
    if (ok)
        o->client = client_new(o->loop, o->resolver, o->tls);
    if (ok && pthread_create(&o->thread, NULL, otlp_export_run, o) != 0)
        ok = err_set(e, ERR_SYSTEM, "no thread for the export of spans");
    if (ok)
        return o;
    otlp_export_destroy(o);
    return NULL;
}

void otlp_free(struct otlp *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    o->leaving = true;
    otlp_export_wake(o);
    pthread_mutex_unlock(&o->lock);
    pthread_join(o->thread, NULL);
    otlp_export_destroy(o);
}
