/* call.c - starts a call, makes its attempts, retries, falls back to other providers, cancels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call.h"

#include "base/log.h"
#include "base/spare.h"
#include "gateway/call/internal.h"
#include "gateway/provider.h"
#include "gateway/retry.h"

#define WHY_MAX 400 /* of an error, noted of an attempt */

bool call_refuse(struct chat_error *error, struct arena *a, int status, const char *code,
                 const struct err *e)
{
    *error = (struct chat_error){.status = status,
                                 .type = STR(""),
                                 .message = arena_dup(a, str_c(e->text)),
                                 .code = str_c(code),
                                 .param = STR(""),
                                 .retry_after_ms = -1,
                                 .raw = STR("")};
    return false;
}

static bool call_key_serves(const struct config_key *key, str model, str alias)
{
    if (!key || key->model_count == 0)
        return true;
    for (size_t i = 0; i < key->model_count; i++)
        if (str_eq(key->models[i], model) || str_eq(key->models[i], alias))
            return true;
    return false;
}

static bool call_check_allowed(const struct call_request *r, const struct level *level,
                               struct arena *a, struct chat_error *error)
{
    /* An application may ask for no reasoning where it needs none. */
    bool quiet = r->inside && level->weight == CHAT_LEVEL_NONE;
    struct err e;

    if (r->defined)
        return true;
    if (!call_key_serves(r->key, level->model, r->request->model)) {
        err_set(&e,
                ERR_AUTH,
                "the key \"" STR_FMT "\" may not use the model \"" STR_FMT "\"",
                STR_ARG(r->key->name),
                STR_ARG(level->model));
        return call_refuse(error, a, 403, "model_not_allowed", &e);
    }
    if (level->weight != CHAT_LEVEL_NOT_GIVEN && !quiet && !level_allowed(r->key, level->weight)) {
        level_set_refusal(level, r->request->budget_tokens, r->key, &e);
        return call_refuse(error, a, 403, "level_not_allowed", &e);
    }
    return true;
}

/* Whether the client gets no reasoning. The first of these decides: a key that hides, the client's
 * header, a key that shows, the preset, the configuration. */
bool call_reply_hides(const struct config *c, const struct call_request *r,
                      const struct config_preset *preset)
{
    enum config_show policy = c->show ? CONFIG_SHOW : CONFIG_HIDE;

    if (r->watch)
        return false;
    if (r->inside)
        return r->request->no_thoughts;
    if (r->wire->dialect == CHAT_GENERATE && (!c->drop_from_history || r->request->keep_thoughts))
        policy = CONFIG_SHOW; /* the route's own words for it */
    if (preset && preset->show != CONFIG_SHOW_UNSET)
        policy = preset->show;
    if (r->key && r->key->reasoning != CONFIG_SHOW_UNSET)
        policy = r->key->reasoning;
    if (r->show == CONFIG_HIDE)
        policy = CONFIG_HIDE;
    if (r->show == CONFIG_SHOW && !(r->key && r->key->reasoning == CONFIG_HIDE))
        policy = CONFIG_SHOW;
    return policy == CONFIG_HIDE;
}

/* Whether the gateway must hide reasoning that the client asked not to see. Anthropic handles
 * "display: omitted" itself: it leaves thinking blocks that are a signature alone, and those must
 * reach the client. */
static bool call_omits_reasoning(const struct call *c)
{
    bool upstream_does = c->in.wire->dialect == CHAT_ANTHROPIC;

    for (size_t i = 0; i < c->chain.count; i++)
        upstream_does = upstream_does && c->chain.links[i].provider->dialect == CHAT_ANTHROPIC;
    return c->in.request->no_thoughts && !upstream_does && !c->in.watch;
}

static void call_start_task(void *ctx)
{
    call_admit(ctx);
}

/* A call that is not recorded gets no memory for its record, which is the last member. */
static size_t call_size_used(bool recorded)
{
    return recorded ? sizeof(struct call) : offsetof(struct call, record);
}

/* A stream's arena begins in the memory of the call, after its last member in use. */
static void call_lend_rest(struct call *c)
{
    const size_t unit = _Alignof(max_align_t);
    char *begin = (char *)c + call_size_used(c->recorded);

    begin += -(uintptr_t)begin % unit;
    assert(begin <= (char *)c->memory + c->size);
    arena_lend(&c->arena,
               (max_align_t *)(void *)begin,
               (size_t)((char *)c->memory + c->size - begin) / unit * unit);
}

static void call_init_buffers(struct call *c)
{
    arena_init(&c->arena, CALL_ARENA_MAX);
    if (c->in.request->stream)
        call_lend_rest(c);
    else
        arena_reserve(&c->arena, CALL_ARENA_WHOLE);
    buf_init(&c->sent, CALL_BODY_MAX);
    buf_front(&c->sent, CALL_HEAD_SIZE);
    if (c->recorded)
        call_record_init(c);
}

/* Keeps the reasoning, if a second call, the record or an error that quotes it may need it. */
static void call_keep_thought(struct call *c)
{
    if (!c->recorded && !c->client.hides && c->level.cap < 0 && !call_repairs_starved(c))
        return;
    c->thought = arena_zero(&c->arena, 1, sizeof *c->thought);
    buf_init(&c->thought->text,
             c->level.cap >= 0 || c->config->keep == CONFIG_KEEP_TEXT ? CALL_THOUGHT_MAX
                                                                      : CALL_THOUGHT_SOME);
}

void call_make_failure(struct call *c)
{
    if (c->failure)
        return;
    c->failure = arena_zero(&c->arena, 1, sizeof *c->failure);
    c->failure->error.message = STR("");
    c->failure->wait_ms = -1;
    buf_init(&c->failure->body, CALL_ERROR_MAX);
    buf_init(&c->failure->attempts, 16384);
}

/* How the current provider marks reasoning in its text, together with the tags that our prompt, or
 * an application's prompt, asks for. NULL: the text is not split. */
static const struct split_format *call_split_format(const struct call *c)
{
    const struct config_provider *p = call_provider(c);

    if (c->in.inside || (p->enable_reasoning && c->level.asked != CHAT_LEVEL_NONE))
        return p->asked_format;
    return p->format;
}

static void call_init_pipe(struct call *c)
{
    const struct config_provider *p = call_provider(c);

    assert(c->in.id.n >= 12);
    pipe_init(&c->pipe,
              &(struct pipe_options){.format = call_split_format(c),
                                     .inside = p->starts_in_reasoning,
                                     .hide = c->client.hides,
                                     .one_thought = c->in.wire->one_thought,
                                     .announce = c->in.wire->dialect == CHAT_GENERATE,
                                     .both_names = c->in.wire->dialect == CHAT_OPENAI &&
                                                   c->in.show == CONFIG_SHOW && !c->in.inside,
                                     .cap = c->level.cap,
                                     .id = str_slice(c->in.id, c->in.id.n - 12, c->in.id.n),
                                     .vocab = c->gl->gateway->vocab},
              &c->arena);
}

/* In each dialect's own words: Anthropic has a status for it, OpenAI's clients know the code. */
static void call_refuse_spent(const struct call *c, struct arena *a, struct chat_error *error,
                              const struct err *e)
{
    call_refuse(
        error, a, c->in.wire->dialect == CHAT_ANTHROPIC ? 402 : 429, "insufficient_quota", e);
    error->type = error->code;
}

bool call_limits_ok(struct call *c, struct arena *a, struct chat_error *error)
{
    struct err e;
    int64_t retry_ms = -1;

    assert(c->state == CALL_PLANNED);
    if (!c->in.key)
        return true;
    c->wanted = (struct limits_want){call_estimate(&c->in), call_now_ns(c), 0};
    if (c->in.key->spend_usd >= 0)
        c->wanted.usd = call_estimate_cost(c);
    if (limits_take(c->gl->gateway->limits, c->in.key, &c->wanted, &retry_ms, &e))
        return true;
    if (retry_ms == LIMITS_SPENT)
        call_refuse_spent(c, a, error, &e);
    else
        call_refuse(error, a, 429, "rate_limit_exceeded", &e);
    error->retry_after_ms = retry_ms < 0 ? -1 : retry_ms;
    error->no_retry = retry_ms < 0;
    metrics_reject(c->gl->metrics, retry_ms < 0 ? METRICS_BUDGET : METRICS_RATE);
    return false;
}

/* Nothing has come yet; no text is NULL. */
static const struct summary_collected nothing = {.status = 200,
                                                 .usage = {-1, -1, -1, -1, -1, STR_INIT("")},
                                                 .reply_model = STR_INIT(""),
                                                 .reply_id = STR_INIT(""),
                                                 .error_type = STR_INIT(""),
                                                 .cut_action = STR_INIT("")};

/* Replies in one piece come and go quickly, in memory that is reused and begins with a cache line.
 * A stream may be open for minutes, so it keeps only what it needs. */
static struct call *call_alloc(bool recorded, bool stream)
{
    size_t size = call_size_used(recorded);
    struct call *c;
    char *memory;

    if (stream) {
        size += CALL_ARENA_STREAM + (recorded ? CALL_ARENA_RECORD : 0);
        memory = base_alloc(size);
        c = (struct call *)(void *)memory;
    } else {
        size += CALL_LINE - _Alignof(max_align_t);
        memory = spare_alloc(&size);
        c = (struct call *)(void *)(memory + -(uintptr_t)memory % CALL_LINE);
    }
    memset(c, 0, offsetof(struct call, in));
    c->memory = memory;
    c->size = size;
    c->exact = stream;
    c->recorded = recorded;
    return c;
}

bool call_start(struct gateway_loop *gl, const struct call_request *r,
                struct call_listener listener, struct arena *a, struct call **out,
                struct chat_error *error)
{
    struct level level;
    struct err e;
    struct call *c;

    if (r->watch)
        level_watch(r->watch->provider, r->request, &level);
    else if (!level_choose(r->setup->config, r->request, r->level, r->key, &level, &e))
        return call_refuse(error,
                           a,
                           e.code == ERR_NOT_FOUND ? 404 : 400,
                           e.code == ERR_NOT_FOUND ? "model_not_found" : "invalid_level",
                           &e);
    if (!call_check_allowed(r, &level, a, error) ||
        !call_admit_begin(gl, r->setup->config, a, error))
        return false;

    c = call_alloc(gl->gateway->records, r->request->stream);
    c->gl = gl;
    c->config = r->setup->config;
    c->client.sink = listener.sink;
    c->client.ctx = listener.ctx;
    c->in = *r;
    c->level = level;
    call_init_state(c);
    call_init_buffers(c);
    c->client.hides = call_reply_hides(c->config, r, level.preset);
    c->reply.usage = chat_usage_none;
    c->sum = nothing;
    c->summary = NULL;
    setup_retain(r->setup);
    call_build_chain(c);
    c->client.hides = c->client.hides || call_omits_reasoning(c);
    call_keep_thought(c);
    call_init_pipe(c);
    if (call_admit_knows_spent(c) && !call_limits_ok(c, a, error)) {
        call_release(c);
        return false;
    }
    call_record_begin(c);
    loop_task_init(&c->task, call_start_task, c);
    metrics_begin(gl->metrics);
    gl->calls++;
    call_live_begin(c);
    loop_soon(gl->loop, &c->task); /* with the first attempts of the others: loop.h */
    *out = c;
    return true;
}

void call_note_attempt(struct call *c, const char *what, str why)
{
    const struct config_provider *p = call_provider(c);

    call_make_failure(c);
    buf_add_c(&c->failure->attempts, c->failure->attempts.n ? ',' : '[');
    buf_add(&c->failure->attempts, STR("{\"provider\":"));
    (void)json_quote(&c->failure->attempts, p->name);
    buf_printf(&c->failure->attempts, ",\"what\":\"%s\",\"why\":", what);
    (void)json_quote(&c->failure->attempts, str_slice(call_mask_text(c, why), 0, WHY_MAX));
    buf_add_c(&c->failure->attempts, '}');
}

/* Each attempt starts with a new pipe: the previous one has the state of the failed attempt. */
static void call_reset_pipe(struct call *c)
{
    assert(!c->decoder.wire && !c->reply.deferred);
    if (c->attempt.phase != CALL_FIRST) {
        pipe_set_format(&c->pipe, call_split_format(c), call_provider(c)->starts_in_reasoning);
        return;
    }
    pipe_release(&c->pipe);
    call_init_pipe(c);
    if (c->thought) {
        c->thought->lent_count = 0;
        buf_reset(&c->thought->text);
    }
    call_record_reset(c);
}

/* The next provider, from its first try. False: no provider is left. */
bool call_fall_back(struct call *c)
{
    if (call_next_provider(c) >= c->chain.count)
        return false;
    assert(call_next_provider(c) > c->chain.at && !c->attempt.breaker_pending);
    c->chain.at = call_next_provider(c);
    c->chain.breaker_name = c->chain.origin = STR("");
    c->attempt.tries = c->attempt.restarts = 0;
    c->attempt.without = c->attempt.learning = 0;
    c->attempt.effort = c->attempt.efforts_tried = 0;
    call_reset_pipe(c);
    return true;
}

static void call_end_with_error(struct call *c, const struct chat_error *error)
{
    assert(c->state < CALL_COMMITTING);
    if (c->attempt.phase == CALL_REPAIR && call_end_starved(c))
        return;
    call_make_failure(c);
    c->failure->error = *error;
    c->sum.status = error->status;
    c->sum.error_type = error->code.n ? call_mask_text(c, error->code) : STR("upstream");
    if (c->client.sink)
        c->client.sink->on_error(c->client.ctx, error);
    call_finish(c);
}

static void call_report_error(void *ctx)
{
    struct call *c = ctx;

    assert(c->state == CALL_FAILING && c->failure);
    call_end_with_error(c, &c->failure->error);
}

void call_fail_soon(struct call *c)
{
    assert(c->failure && c->failure->error.status);
    call_enter_state(c, CALL_FAILING);
    loop_task_init(&c->task, call_report_error, c);
    loop_defer(c->gl->loop, &c->task);
}

void call_parse_request(struct call *c)
{
    struct json *doc = c->in.doc;
    struct err e;

    if (!doc || doc->nodes)
        return;
    if (!json_parse(doc, doc->src, &e))
        base_die("a request that was JSON no longer is: %s", e.text);
}

void call_drop_nodes(struct call *c)
{
    str src;

    if (!c->in.doc)
        return;
    src = c->in.doc->src;
    json_release(c->in.doc);
    c->in.doc->src = src;
}

void call_attempt(struct call *c)
{
    struct call_lines lines = {.known = STR("")};
    uint64_t left_ms;
    struct err e;

    call_enter_state(c, CALL_CONNECTING);
    if (!call_choose_provider(c, &left_ms, &e)) {
        if (!c->failure->error.message.n) /* a provider's own error says more */
            call_refuse(&c->failure->error,
                        &c->arena,
                        left_ms ? 503 : 401, /* as a provider would say without its key */
                        left_ms ? "circuit_open" : "provider_key_missing",
                        &e);
        if (left_ms)
            c->failure->error.retry_after_ms = (int64_t)left_ms;
        call_fail_soon(c);
        return;
    }
    assert(c->chain.at < c->chain.count && !c->decoder.wire);
    c->attempt.wire = wire_get(call_provider(c)->dialect);
    call_apply_refusals(c);
    c->attempt.tries++;
    c->sum.attempts++;
    buf_init(&lines.text, CALL_LINES_MAX);
    buf_take(loop_bufs(c->gl->loop), &lines.text);
    if (!call_plan_request(c, &lines, &e)) {
        buf_give(loop_bufs(c->gl->loop), &lines.text);
        call_make_failure(c);
        call_refuse(&c->failure->error,
                    &c->arena,
                    e.code == ERR_LIMIT ? 413 : err_http_status(e.code),
                    c->attempt.refusal_code ? c->attempt.refusal_code : "invalid_request",
                    &e);
        c->failure->error.param = str_c(c->attempt.refusal_param ? c->attempt.refusal_param : "");
        call_leave_breaker(c);
        call_fail_soon(c);
        return;
    }
    call_send_request(c, &lines);
    buf_give(loop_bufs(c->gl->loop), &lines.text);
    if (c->client.paused)
        upstream_pause(&c->upstream);
    call_drop_nodes(c);
}

/* One line for each attempt that failed. `next`: what the gateway does about it. An application
 * reports the failures of its own calls. */
static void call_log_failure(struct call *c, size_t at, const struct chat_error *error, str next)
{
    assert(at < c->chain.count);
    if (c->in.inside)
        return;
    log_warn("provider failed",
             LOG_STR("id", c->in.id),
             LOG_STR("provider", c->chain.links[at].provider->name),
             LOG_STR("model", call_mask_text(c, c->chain.links[at].model->upstream)),
             LOG_I64("status", error->status),
             LOG_STR("why", str_slice(call_mask_text(c, error->message), 0, WHY_MAX)),
             LOG_STR("next", next));
}

/* Whether the same provider may be asked once more, wait_ms from now. */
static bool call_may_retry(const struct call *c, const struct chat_error *error, uint64_t wait_ms)
{
    return !error->no_retry && c->attempt.tries <= call_provider(c)->retries_max &&
           wait_ms <= RETRY_WAIT_MAX_MS;
}

void call_fail_attempt(struct call *c, const struct chat_error *given)
{
    struct chat_error error = *given, refused;
    bool transient = retry_transient(error.status) && !str_eq(error.code, STR(CALL_NO_RECORDING));
    const struct config_provider *p = call_provider(c);
    bool again;
    size_t at = c->chain.at;
    uint64_t wait_ms =
        retry_wait_ms(&c->gl->rand, p->backoff_ms, c->attempt.tries, given->retry_after_ms);

    assert((1u << CALL_CONNECTING | 1u << CALL_REFUSED | CALL_READING) & 1u << c->state);
    assert(c->attempt.tries > 0);
    if (error.status == 429 || error.unusable)
        call_leave_breaker(c); /* it works: it only asks for a pause, or for another try */
    else
        call_report_outcome(c, !transient);
    error.status = error.status ? error.status : 502;
    refused = error;
    call_redact_error(c, &error);
    call_reply_release(c);
    call_clean_error(c, &error);
    call_note_attempt(c, transient ? "failed" : "refused", error.message);
    c->failure->error = error;
    again =
        transient && (call_may_retry(c, &error, wait_ms) || call_next_provider(c) < c->chain.count);
    /* Text that came with the error is taken back for another attempt, or by an application. */
    if (!c->client.sink ||
        (!again && !c->in.inside && c->reply.speaks && c->client.received == CALL_RECEIVED_REPLY) ||
        !call_may_restart(c)) {
        call_log_failure(c, at, &error, STR("none"));
        call_end_with_error(c, &error);
        return;
    }
    if (call_retry_without(c, &refused)) {
        call_reset_pipe(c);
        call_attempt(c);
        return;
    }
    if (transient && call_may_retry(c, &error, wait_ms)) {
        call_log_failure(c, at, &error, STR("retry"));
        call_reset_pipe(c);
        call_enter_state(c, CALL_RETRYING);
        call_set_timer(c, wait_ms);
        return;
    }
    if (transient && call_fall_back(c)) {
        str to = arena_join(&c->arena, STR("fallback "), call_provider(c)->name, STR(""));

        call_log_failure(c, at, &error, to);
        call_attempt(c);
    } else {
        call_log_failure(c, at, &error, STR("none"));
        call_end_with_error(c, &error);
    }
}

void call_ask_second(struct call *c, enum call_phase phase)
{
    assert(phase > c->attempt.phase && call_is_reading(c));
    call_reply_release(c);
    call_report_outcome(c, true);
    c->attempt.phase = phase;
    c->attempt.tries = 0;
    c->attempt.effort = c->attempt.efforts_tried = 0;
    c->attempt.learning = 0;
    c->dropped_tokens = pipe_reasoning_tokens(&c->pipe) - pipe_kept_tokens(&c->pipe);
    assert(c->dropped_tokens >= 0);
    c->attempt.relays = false;
    c->reply.stop_seen = c->reply.end_seen = false;
    if (c->client.received == CALL_RECEIVED_REPLY)
        c->client.received = CALL_RECEIVED_EARLIER;
    chat_usage_merge(&c->sum.usage, &c->reply.usage);
    c->reply.usage = chat_usage_none;
    if (c->failure)
        c->failure->error.message = STR("");
    pipe_continue(&c->pipe);
    call_attempt(c);
}

void call_cancel(struct call *c)
{
    assert(c->state < CALL_DONE);
    c->client.sink = NULL;
    if (c->state >= CALL_COMMITTING) {
        call_live_detach(c);
        return; /* the record is on its way: it frees the call */
    }
    c->client.left_waiting = upstream_is_live(&c->upstream);
    upstream_cancel(&c->upstream);
    call_leave_breaker(c);
    call_reply_release(c);
    c->sum.status = 499;
    c->sum.error_type = STR("cancelled");
    call_finish(c);
    call_live_detach(c);
}

void call_commit(struct call *c)
{
    if (c->client.received == CALL_RECEIVED_NOTHING)
        c->client.received = CALL_RECEIVED_EARLIER;
    c->reply.speaks = true; /* no other attempt can follow, so nothing has to wait */
}

void call_pause(struct call *c)
{
    c->client.paused = true;
    upstream_pause(&c->upstream);
}

void call_resume(struct call *c)
{
    c->client.paused = false;
    upstream_resume(&c->upstream);
}

size_t call_reply_headers(const struct call *c, const struct http1_field **out)
{
    *out = c->reply.headers;
    return c->reply.header_count;
}

str call_provider_name(const struct call *c)
{
    return call_provider(c)->name;
}

bool call_relays(const struct call *c)
{
    return c->attempt.relays;
}
