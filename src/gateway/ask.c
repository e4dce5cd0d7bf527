/* ask.c - see ask.h.
 *
 * All but the waiting happens on the loop's thread: the begin and the cancel are posted to it. The
 * struct is freed by the waiting thread, after the loop has released it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/ask.h"

#define ARENA_MAX ((size_t)256 << 20)
#define TEXT_MAX ((size_t)32 << 20)
#define CALLS_MAX 256
#define LOOK_MS 20        /* how often a wait looks at *cancel */
#define REPEAT_EVERY 2048 /* bytes of text between two looks for repetition */
#define REPEAT_SIZE 4096  /* the end of the text that has to repeat */
#define REPEAT_UNIT_MAX 512
#define ESTIMATE 4 /* bytes of text for a token, if the provider has not counted */

struct ask {
    struct gateway_loop *gl;
    struct ask_request in;
    struct arena arena;
    struct json doc;
    struct chat_request request;
    char id[RAND_ID_SIZE];
    struct loop_task begin, cancel;
    struct call *call; /* while it runs; the loop's thread only */

    struct buf text, reasoning;
    size_t looked; /* bytes of the text that were searched for repetition */
    struct {
        str id, name;
        struct buf arguments;
        uint32_t block;
    } calls[CALLS_MAX];
    size_t call_count;
    size_t calls_size; /* bytes of all ids, names and arguments */
    enum chat_stop stop;
    struct chat_usage usage;
    double cost_usd;
    struct chat_error error;
    bool failed, recorded, begun;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool over, cancelling, cancelled;
};

static void ask_fail(struct ask *a, int status, const char *type, str message)
{
    if (a->failed)
        return;
    a->failed = true;
    a->error = (struct chat_error){.status = status,
                                   .type = str_c(type),
                                   .message = arena_dup(&a->arena, message),
                                   .code = str_c(type),
                                   .param = STR(""),
                                   .raw = STR(""),
                                   .retry_after_ms = -1};
}

static void ask_over(struct ask *a)
{
    a->call = NULL;
    pthread_mutex_lock(&a->lock);
    assert(!a->over);
    a->over = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

/* ---- what comes back ---- */

/* Whether n more bytes of the calls can be taken; else the call ends here. */
static bool ask_has_room(struct ask *a, size_t n)
{
    assert(a->calls_size <= TEXT_MAX);
    if (n <= TEXT_MAX - a->calls_size) {
        a->calls_size += n;
        return true;
    }
    ask_fail(a, 502, "too_large", STR("the tool calls of the reply are too large together"));
    ask_cancel(a);
    return false;
}

static void ask_call_in(struct ask *a, const struct chat_event *ev)
{
    assert(a->call_count <= CALLS_MAX);
    if (a->call_count == CALLS_MAX) {
        ask_fail(a, 502, "too_many_calls", STR("the model made too many tool calls in one turn"));
        return;
    }
    if (!ask_has_room(a, ev->id.n + ev->name.n))
        return;
    a->calls[a->call_count].id = arena_dup(&a->arena, ev->id);
    a->calls[a->call_count].name = arena_dup(&a->arena, ev->name);
    a->calls[a->call_count].block = ev->block;
    buf_init(&a->calls[a->call_count].arguments, TEXT_MAX);
    a->call_count++;
}

static void ask_arguments_in(struct ask *a, const struct chat_event *ev)
{
    for (size_t i = a->call_count; i-- > 0;)
        if (a->calls[i].block == ev->block) {
            if (ask_has_room(a, ev->text.n))
                buf_add(&a->calls[i].arguments, ev->text);
            return;
        }
}

/* Whether the end of the text is one short piece again and again. */
static bool ask_repeats(str text)
{
    const char *tail = text.p + text.n - REPEAT_SIZE;

    assert(text.n >= REPEAT_SIZE);
    for (size_t unit = 1; unit <= REPEAT_UNIT_MAX; unit++)
        if (memcmp(tail, tail + unit, REPEAT_SIZE - unit) == 0)
            return true;
    return false;
}

/* A model that has lost its way writes until its limit: the call ends here. */
static void ask_guard(struct ask *a)
{
    assert(a->looked <= a->text.n);
    if (a->failed || a->text.n < a->looked + REPEAT_EVERY)
        return;
    a->looked = a->text.n;
    if (a->text.n < REPEAT_SIZE || !ask_repeats(buf_str(&a->text)))
        return;
    ask_fail(a,
             502,
             "repetition",
             STR("the model repeated the same text until the gateway ended its reply; ask again, "
                 "or use another model"));
    ask_cancel(a);
}

static void ask_text_in(struct ask *a, struct buf *to, bool reasoning, str text)
{
    buf_add(to, text);
    if (!reasoning)
        ask_guard(a);
    if (a->in.on_text)
        a->in.on_text(a->in.ctx, reasoning, text);
}

static void ask_event_in(struct ask *a, const struct chat_event *ev)
{
    if (ev->choice > 0)
        return;
    switch (ev->kind) {
    case CHAT_TEXT:
    case CHAT_REFUSAL:
        ask_text_in(a, &a->text, false, ev->text);
        break;
    case CHAT_REASONING:
        ask_text_in(a, &a->reasoning, true, ev->text);
        break;
    case CHAT_CALL:
        ask_call_in(a, ev);
        break;
    case CHAT_ARGUMENTS:
        ask_arguments_in(a, ev);
        break;
    case CHAT_USAGE:
        chat_usage_merge(&a->usage, ev->usage);
        a->usage.raw = STR("");
        break;
    case CHAT_STOP:
        a->stop = ev->stop;
        break;
    default:
        break;
    }
}

static void ask_on_frame(void *ctx, const struct wire_frame *frame, const struct chat_event *events,
                         size_t n, bool touched, bool last)
{
    struct ask *a = ctx;

    (void)frame, (void)touched, (void)last;
    assert(a->call);
    a->begun = true;
    for (size_t i = 0; i < n; i++)
        ask_event_in(a, &events[i]);
}

static void ask_on_error(void *ctx, const struct chat_error *error)
{
    struct ask *a = ctx;

    if (a->failed)
        return;
    ask_fail(a, error->status, "", error->message);
    a->error.type = arena_dup(&a->arena, error->type);
    a->error.code = arena_dup(&a->arena, error->code);
    a->error.retry_after_ms = error->retry_after_ms;
}

/* A reply that broke off has cost something, though its provider has not said how much. */
static void ask_estimate(struct ask *a)
{
    if (!a->begun || !a->call)
        return;
    if (a->usage.input < 0)
        a->usage.input = call_count_input(a->call);
    if (a->usage.output < 0)
        a->usage.output = (int64_t)((a->text.n + a->reasoning.n + ESTIMATE - 1) / ESTIMATE);
}

static void ask_on_end(void *ctx, const struct err *e)
{
    struct ask *a = ctx;

    a->recorded = !e;
    if (a->failed)
        ask_estimate(a);
    if (a->call)
        a->cost_usd = call_cost(a->call);
    if (e)
        ask_fail(a, 503, "not_recorded", str_c(e->text));
    ask_over(a);
}

/* A caller that gets the text as it arrives has seen it. */
static bool ask_on_retry(void *ctx)
{
    struct ask *a = ctx;

    if (a->in.on_text)
        return false;
    for (size_t i = 0; i < a->call_count; i++)
        buf_release(&a->calls[i].arguments);
    a->call_count = 0;
    a->calls_size = 0;
    buf_reset(&a->text);
    buf_reset(&a->reasoning);
    a->looked = 0;
    a->usage = chat_usage_none;
    a->begun = false;
    return true;
}

static const struct call_sink sink = {ask_on_frame, ask_on_error, ask_on_end, NULL, ask_on_retry};

/* The record frees long texts while they arrive; the reader gets all of this one. */
static void ask_read_decision(void *ctx, str text, struct arena *arena, struct decision *d)
{
    struct ask *a = ctx;

    (void)text;
    if (a->text.n <= CALL_READ_MAX)
        a->in.reader.read(a->in.reader.ctx, buf_str(&a->text), arena, d);
}

/* ---- its life ---- */

/* A call of a key that a reload has removed is refused. Without configured keys, calls have no
 * key. */
static bool ask_find_key(const struct ask *a, const struct config_key **out)
{
    const struct config *c = a->in.setup->config;

    *out = NULL;
    if (!a->in.key.n || c->key_count == 0)
        return true;
    for (size_t i = 0; i < c->key_count && !*out; i++)
        if (str_eq(c->keys[i].name, a->in.key))
            *out = &c->keys[i];
    return *out != NULL;
}

static void gateway_ask_begin(void *ctx)
{
    struct ask *a = ctx;
    const struct wire *wire = wire_get(CHAT_OPENAI);
    struct call_request r = {.wire = wire,
                             .request = &a->request,
                             .body = a->in.body,
                             .route = a->in.route,
                             .id = a->in.id,
                             .session = a->in.session,
                             .title = a->in.title,
                             .step = a->in.step,
                             .part = a->in.part,
                             .quiet = a->in.quiet,
                             .reader = {a->in.reader.read ? ask_read_decision : NULL, a},
                             .setup = a->in.setup,
                             .show = CONFIG_SHOW,
                             .inside = true,
                             .defined = a->in.defined,
                             .level = a->in.level,
                             .start_ns = loop_now_ns(a->gl->loop)};
    struct chat_error error;
    struct err e;
    bool cancelled;

    assert(!a->call && !a->failed);
    pthread_mutex_lock(&a->lock);
    cancelled = a->cancelled;
    pthread_mutex_unlock(&a->lock);
    if (cancelled)
        ask_fail(a, 499, "cancelled", STR("the call was cancelled"));
    else if (!json_parse(&a->doc, a->in.body, &e) ||
             !wire->read(&a->doc, &a->arena, &a->request, &e))
        ask_fail(a, 400, "invalid_request", str_c(e.text));
    else if (!ask_find_key(a, &r.key))
        ask_fail(a,
                 401,
                 "invalid_api_key",
                 arena_printf(&a->arena,
                              "the key \"" STR_FMT "\" is not known any more",
                              STR_ARG(a->in.key)));
    if (a->failed) {
        ask_over(a);
        return;
    }
    (void)otlp_trace_begin(STR(""), &a->gl->rand, &r.trace);
    if (!call_start(a->gl, &r, (struct call_listener){&sink, a}, &a->arena, &a->call, &error)) {
        ask_on_error(a, &error);
        ask_over(a);
    }
}

static void ask_cancel_call(void *ctx)
{
    struct ask *a = ctx;
    struct call *c = a->call;

    if (c) {
        ask_fail(a, 499, "cancelled", STR("the call was cancelled"));
        ask_estimate(a);
        call_cancel(c);
        ask_over(a);
    }
    pthread_mutex_lock(&a->lock);
    a->cancelling = false;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

struct ask *ask_begin(struct gateway_loop *gl, const struct ask_request *r)
{
    struct ask *a = base_alloc(sizeof *a);

    memset(a, 0, sizeof *a);
    a->gl = gl;
    a->in = *r;
    a->usage = chat_usage_none;
    a->cost_usd = -1;
    arena_init(&a->arena, ARENA_MAX);
    json_init(&a->doc);
    buf_init(&a->text, TEXT_MAX);
    buf_init(&a->reasoning, TEXT_MAX);
    pthread_mutex_init(&a->lock, NULL);
    clock_cond_init(&a->changed);
    if (r->id.n) {
        a->in.id = arena_dup(&a->arena, r->id);
    } else {
        rand_id(&gl->gateway->ids, a->id);
        a->in.id = str_c(a->id);
    }
    a->in.body = arena_dup(&a->arena, r->body);
    a->in.route = arena_dup(&a->arena, r->route);
    a->in.session = arena_dup(&a->arena, r->session);
    a->in.title = r->title.n ? arena_dup(&a->arena, r->title) : STR("");
    a->in.step = r->step.n ? arena_dup(&a->arena, r->step) : STR("");
    a->in.level = arena_dup(&a->arena, r->level);
    a->in.key = r->key.n ? arena_dup(&a->arena, r->key) : STR("");
    a->in.setup = r->setup ? setup_retain(r->setup) : gateway_setup(gl->gateway);
    loop_task_init(&a->begin, gateway_ask_begin, a);
    loop_task_init(&a->cancel, ask_cancel_call, a);
    loop_post(gl->loop, &a->begin);
    return a;
}

void ask_cancel(struct ask *a)
{
    bool post;

    pthread_mutex_lock(&a->lock);
    post = !a->cancelled && !a->over;
    a->cancelled = true;
    a->cancelling |= post;
    pthread_mutex_unlock(&a->lock);
    if (post)
        loop_post(a->gl->loop, &a->cancel);
}

static void ask_give(struct ask *a, struct arena *arena, struct ask_reply *out)
{
    assert(a->over && !a->call);
    *out = (struct ask_reply){.id = arena_dup(arena, a->in.id),
                              .text = arena_dup(arena, buf_str(&a->text)),
                              .reasoning = arena_dup(arena, buf_str(&a->reasoning)),
                              .call_count = a->call_count,
                              .stop = a->stop,
                              .usage = a->usage,
                              .cost_usd = a->cost_usd,
                              .recorded = a->recorded,
                              .begun = a->begun,
                              .error = a->error};
    out->calls = arena_zero(arena, a->call_count + 1, sizeof *out->calls);
    for (size_t i = 0; i < a->call_count; i++)
        out->calls[i] = (struct ask_call){arena_dup(arena, a->calls[i].id),
                                          arena_dup(arena, a->calls[i].name),
                                          arena_dup(arena, buf_str(&a->calls[i].arguments))};
    if (!a->failed)
        return;
    out->error.type = arena_dup(arena, a->error.type);
    out->error.message = arena_dup(arena, a->error.message);
    out->error.code = arena_dup(arena, a->error.code);
}

static void ask_wait_over(struct ask *a, const _Atomic bool *cancel)
{
    uint64_t deadline_ns =
        a->in.timeout_ms > 0 ? clock_deadline_ns(&clock_real, a->in.timeout_ms) : CLOCK_NEVER;

    pthread_mutex_lock(&a->lock);
    while (!a->over || a->cancelling) {
        if ((!cancel && deadline_ns == CLOCK_NEVER) || a->cancelled) {
            pthread_cond_wait(&a->changed, &a->lock);
        } else if (!(cancel && atomic_load(cancel)) && clock_mono_ns(&clock_real) < deadline_ns) {
            (void)clock_cond_wait(&a->changed, &a->lock, clock_deadline_ns(&clock_real, LOOK_MS));
        } else {
            pthread_mutex_unlock(&a->lock);
            ask_cancel(a);
            pthread_mutex_lock(&a->lock);
        }
    }
    pthread_mutex_unlock(&a->lock);
}

bool ask_wait(struct ask *a, struct arena *arena, struct ask_reply *reply)
{
    return ask_wait_for(a, NULL, arena, reply);
}

bool ask_wait_for(struct ask *a, const _Atomic bool *cancel, struct arena *arena,
                  struct ask_reply *reply)
{
    bool ok;

    ask_wait_over(a, cancel);
    if (buf_full(&a->text) || buf_full(&a->reasoning))
        ask_fail(a, 502, "too_large", STR("the reply is too large"));
    ask_give(a, arena, reply);
    ok = !a->failed;
    for (size_t i = 0; i < a->call_count; i++)
        buf_release(&a->calls[i].arguments);
    buf_release(&a->text);
    buf_release(&a->reasoning);
    json_release(&a->doc);
    setup_release(a->in.setup);
    arena_release(&a->arena);
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->changed);
    free(a);
    return ok;
}
