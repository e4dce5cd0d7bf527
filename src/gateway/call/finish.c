/* finish.c - what is left of a call: its facts, counted, exported and put on record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/log.h"
#include "gateway/call/internal.h"
#include "gateway/provider.h"

#define REQUEST_KEEP_MAX ((size_t)4 << 20) /* larger bodies are not put on record */

#define PIECE_SIZE 8192
#define PIECE_NS 1000000000u

void call_facts(struct call *c, struct call_facts *out)
{
    int64_t counted = pipe_tokens(&c->pipe);
    int64_t told = c->phase_usage.reasoning;
    bool ours = c->sum.cut || told < 0;

    *out = (struct call_facts){.reasoning_tokens = ours ? counted : told,
                               .cap = c->level.cap,
                               .cut = c->sum.cut,
                               .starved = c->sum.starved,
                               .repaired = c->sum.repaired,
                               .usage = &c->phase_usage};
}

static enum summary_source source(const struct pipe *p)
{
    if (!p->reasoned)
        return SUMMARY_NONE;
    if (p->tagged)
        return p->options.format && p->options.format->header ? SUMMARY_CHANNEL : SUMMARY_TAG;
    return p->summary                        ? SUMMARY_SUMMARY
           : p->opaque && !p->reasoning_size ? SUMMARY_OPAQUE
                                             : SUMMARY_FIELD;
}

static double cost(const struct config_model *m, const struct chat_usage *u)
{
    double usd = 0;
    int64_t cached = u->cache_read > 0 ? u->cache_read : 0;
    int64_t written = u->cache_write > 0 ? u->cache_write : 0;
    int64_t fresh = u->input > cached + written ? u->input - cached - written : 0;

    if (m->input_usd < 0 && m->output_usd < 0)
        return -1;
    if (m->input_usd >= 0)
        usd += (double)fresh * m->input_usd +
               (double)cached * (m->cache_read_usd >= 0 ? m->cache_read_usd : m->input_usd) +
               (double)written * (m->cache_write_usd >= 0 ? m->cache_write_usd : m->input_usd);
    if (m->output_usd >= 0 && u->output > 0)
        usd += (double)u->output * m->output_usd;
    return usd / 1e6;
}

static void summarize(struct call *c)
{
    const struct config_provider *p = c->chain[c->at];
    struct summary *s = &c->sum;
    struct call_facts facts;

    call_facts(c, &facts);
    chat_usage_merge(&s->usage, &c->phase_usage);
    s->reasoning_exact = !facts.cut && c->phase_usage.reasoning >= 0 && c->phase == CALL_FIRST;
    s->usage.reasoning = facts.reasoning_tokens;
    if (s->usage.output < 0 && s->first_byte_ns) { /* nobody told: about four bytes a token */
        s->usage.input = s->usage.input < 0 ? (int64_t)(c->in.body.n / 4) : s->usage.input;
        s->usage.output = facts.reasoning_tokens + (int64_t)((c->pipe.answer_size + 3) / 4);
    }
    s->id = c->in.id;
    s->session = c->in.session;
    s->key_name = c->in.key ? c->in.key->name : STR("");
    s->route = c->in.route;
    s->provider = p->name;
    s->otel_provider = str_c(p->row->otel_name);
    s->model = c->level.model;
    s->upstream_model = c->chain_model[c->at]->upstream;
    s->server_host = p->url.host;
    s->server_port = p->url.port;
    s->status = c->status;
    s->stream = c->in.request->stream;
    s->stop = c->stop;
    s->level = c->level.asked;
    s->start_ns = c->in.start_ns;
    s->end_ns = loop_now_ns(c->gl->loop);
    s->wall_start_ms = clock_wall_ms(c->gl->gateway->clock) -
                       (int64_t)((s->end_ns - s->start_ns) / CLOCK_NS_PER_MS);
    s->cap = c->level.cap;
    s->source = source(&c->pipe);
    s->anomalies = c->pipe.flags;
    s->cost_usd = cost(c->chain_model[c->at], &s->usage);
    s->max_tokens = c->in.request->max_tokens;
    s->temperature = c->in.request->temperature;
    s->top_p = c->in.request->top_p;
}

static const char *state(const struct call *c)
{
    if (!c->pipe.reasoned)
        return c->sum.usage.reasoning > 0 ? "hidden" : "none";
    if (c->pipe.opaque && !c->pipe.reasoning_size)
        return "opaque";
    if (c->sum.cut)
        return "cut";
    return c->pipe.answered || c->pipe.called ? "complete" : "unclosed";
}

static int64_t wall_of(const struct call *c, uint64_t ns)
{
    const struct summary *s = &c->sum;

    return ns ? s->wall_start_ms + (int64_t)((ns - s->start_ns) / CLOCK_NS_PER_MS) : -1;
}

/* A record has its limits, and a call that was answered is not to fail by them. */
static str request_of(struct call *c)
{
    if (c->in.body.n <= REQUEST_KEEP_MAX)
        return c->in.body;
    return arena_printf(&c->arena, "{\"left_out\":\"a body of %zu bytes\"}", c->in.body.n);
}

static void row_of(struct call *c, struct store_call *out)
{
    const struct summary *s = &c->sum;
    struct store_call row = {
        .id = s->id,
        .session_id = s->session,
        .parent_id = STR(""),
        .key_name = s->key_name,
        .route = s->route,
        .provider = s->provider,
        .model = s->model,
        .upstream_model = s->upstream_model,
        .dialect = str_c(c->in.wire->name),
        .upstream_dialect = str_c(c->wire ? c->wire->name : ""),
        .started_ms = s->wall_start_ms,
        .first_ms = wall_of(c, s->first_byte_ns),
        .reasoning_ms = wall_of(c, s->reasoning_ns),
        .answer_ms = wall_of(c, s->answer_ns),
        .ended_ms = wall_of(c, s->end_ns),
        .status = s->status,
        .stop = str_c(c->stop_seen ? chat_stop_name(s->stop) : ""),
        .error_code = s->error_type,
        .error_message = s->error_type.n ? c->error.message : STR(""),
        .stream = s->stream,
        .complete = s->complete,
        .has_reasoning = c->pipe.reasoned || s->usage.reasoning > 0,
        .level = str_c(chat_level_name(s->level)),
        .cut = s->cut ? STR("budget") : STR(""),
        .state = str_c(state(c)),
        .cap_tokens = s->cap,
        .input_tokens = s->usage.input,
        .output_tokens = s->usage.output,
        .reasoning_tokens = s->usage.reasoning,
        .cache_read_tokens = s->usage.cache_read,
        .cache_write_tokens = s->usage.cache_write,
        .reasoning_exact = s->reasoning_exact,
        .cost_usd = s->cost_usd,
        .source = STR(""),
        .request = request_of(c),
        .reply = STR(""),
        .reasoning = buf_str(&c->reasoning),
        .reasoning_summary = STR(""),
        .answer = buf_str(&c->answer),
        .tool_calls = buf_str(&c->calls),
        .attempts = buf_str(&c->attempts),
    };
    static const char *const sources[SUMMARY_SOURCE_COUNT] = {
        "", "field", "tag", "channel", "summary", "opaque"};

    row.source = str_c(sources[s->source]);
    *out = row;
}

/* What a running call has said so far goes on record piece by piece, so that no whole reply is held
 * and one that is cut off is there up to its last second. */
static void put_piece(struct call *c, str kind, struct buf *text)
{
    struct store_piece piece = {c->in.id, c->pieces++, kind, buf_str(text)};

    store_piece_put(c->gl->gateway->store, &piece);
    buf_reset(text);
}

void call_record_some(struct call *c)
{
    uint64_t now = loop_now_ns(c->gl->loop);
    struct store_call row;
    struct buf none;

    if (!c->pieces_ns)
        c->pieces_ns = now;
    if (c->answer.n + c->reasoning.n < PIECE_SIZE &&
        (now - c->pieces_ns < PIECE_NS || c->answer.n + c->reasoning.n == 0))
        return;
    c->pieces_ns = now;
    if (c->pieces == 0) {
        struct buf answer = c->answer, reasoning = c->reasoning;

        buf_init(&none, 0);
        c->answer = c->reasoning = none; /* they come as pieces */
        summarize(c);
        row_of(c, &row);
        store_call_begin(c->gl->gateway->store, &row);
        put_piece(c, STR(STORE_CONTINUED), &none);
        c->answer = answer;
        c->reasoning = reasoning;
    }
    if (c->reasoning.n)
        put_piece(c, STR("reasoning"), &c->reasoning);
    if (c->answer.n)
        put_piece(c, STR("answer"), &c->answer);
}

static void over(void *ctx)
{
    struct call *c = ctx;
    const struct call_sink *sink = c->sink;

    c->gl->calls--;
    call_show_end(c);
    if (sink)
        sink->on_end(c->ctx, c->stored_failed ? &c->store_err : NULL);
    call_free(c);
}

/* On the store's thread, or in store_call_put itself. */
static void stored(struct store_ticket *t, const struct err *e)
{
    struct call *c = (struct call *)(void *)((char *)t - offsetof(struct call, ticket));

    if (e) {
        c->stored_failed = true;
        c->store_err = *e;
    }
    loop_post(c->gl->loop, &c->task);
}

void call_finish(struct call *c)
{
    struct gateway *g = c->gl->gateway;
    struct store_call row;

    assert(!c->done);
    c->done = true;
    if (c->live)
        upstream_cancel(&c->upstream);
    c->live = false;
    loop_timer_clear(c->gl->loop, &c->timer);
    if (c->breaker_open)
        breaker_done(g->breaker, c->breaker_name, true);
    c->breaker_open = false;
    call_reply_release(c);
    if (c->calls.n)
        buf_add(&c->calls, STR("\"}]"));
    if (c->attempts.n)
        buf_add_c(&c->attempts, ']');
    if (buf_full(&c->calls))
        buf_reset(&c->calls); /* half a list is none */
    if (buf_full(&c->attempts))
        buf_reset(&c->attempts);
    summarize(c);
    metrics_done(c->gl->metrics, &c->sum);
    if (g->otlp)
        otlp_add(g->otlp, &c->sum, &c->in.trace);
    if (c->in.key) {
        int64_t in = c->sum.usage.input > 0 ? c->sum.usage.input : 0;
        int64_t out = c->sum.usage.output > 0 ? c->sum.usage.output : 0;

        limits_settle(g->limits, c->in.key, c->estimated_tokens, in + out, c->sum.cost_usd);
    }
    loop_drop(c->gl->loop, &c->task);
    loop_task_init(&c->task, over, c);
    c->ticket.fn = stored;
    row_of(c, &row);
    call_show_done(c, &row);
    store_call_put(g->store, &row, &c->ticket);
}

void call_free(struct call *c)
{
    struct buf_pool *bufs = loop_bufs(c->gl->loop);
    struct setup *setup = c->in.setup;

    call_reply_release(c);
    if (c->frames_live)
        frames_release(&c->frames);
    pipe_release(&c->pipe);
    buf_give(bufs, &c->body);
    buf_give(bufs, &c->headers);
    buf_give(bufs, &c->target);
    buf_give(bufs, &c->error_body);
    buf_give(bufs, &c->thought);
    buf_give(bufs, &c->answer);
    buf_give(bufs, &c->reasoning);
    buf_give(bufs, &c->calls);
    buf_give(bufs, &c->attempts);
    arena_release(&c->arena);
    free(c);
    setup_release(setup);
}
