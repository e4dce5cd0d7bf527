/* finish.c - the end of a call: usage, cost, metrics, export, and the row on its way to the store.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/log.h"
#include "base/spare.h"
#include "gateway/call/internal.h"
#include "gateway/provider.h"

void call_facts(struct call *c, struct call_facts *out)
{
    int64_t reported = c->reply.usage.reasoning, cap = c->level.cap;
    int64_t counted = pipe_reasoning_tokens(&c->pipe);

    assert(counted >= 0);
    *out = (struct call_facts){
        .reasoning_tokens = reported < 0 ? counted : reported,
        .cap = cap,
        .over = !c->sum.cut && cap >= 0 && reported > cap ? reported - cap : 0,
        .cut = c->sum.cut,
        .starved = c->sum.starved,
        .repaired = c->sum.repaired && (c->pipe.cap.answered || c->pipe.cap.called),
        .usage = &c->reply.usage};
}

static enum summary_source finish_reasoning_source(const struct pipe *p)
{
    if (!p->reasoning.any)
        return SUMMARY_NONE;
    if (p->reasoning.tagged)
        return pipe_format(p) && pipe_format(p)->header ? SUMMARY_CHANNEL : SUMMARY_TAG;
    return p->reasoning.summary                        ? SUMMARY_SUMMARY
           : p->reasoning.opaque && !p->reasoning.size ? SUMMARY_OPAQUE
                                                       : SUMMARY_FIELD;
}

double call_price(const struct config_model *m, const struct chat_usage *u)
{
    const struct price *p = &m->price;
    const struct price_rate *r = p->above && u->input > p->above ? &p->over : &p->rate;
    double usd = 0;
    int64_t cached = u->cache_read > 0 ? u->cache_read : 0;
    int64_t written = u->cache_write > 0 ? u->cache_write : 0;
    int64_t fresh = u->input > cached + written ? u->input - cached - written : 0;

    if (!price_known(p))
        return -1;
    if (r->input >= 0)
        usd += (double)fresh * r->input +
               (double)cached * (r->cache_read >= 0 ? r->cache_read : r->input) +
               (double)written * (r->cache_write >= 0 ? r->cache_write : r->input);
    if (r->output >= 0 && u->output > 0)
        usd += (double)u->output * r->output;
    return usd / 1e6;
}

int64_t call_wall_start_ms(struct call *c)
{
    /* The loop's clock advances once per round, so its time may be before the request was read. */
    uint64_t now = call_now_ns(c);
    uint64_t ago = now > c->in.start_ns ? now - c->in.start_ns : 0;

    if (!c->sum.wall_start_ms)
        c->sum.wall_start_ms = gateway_wall_ms(c->gl) - (int64_t)(ago / CLOCK_NS_PER_MS);
    return c->sum.wall_start_ms;
}

static str finish_mask_name(struct call *c, str name)
{
    return setup_cache_clean(&c->gl->setup_cache, c->in.setup, name) ? name
                                                                     : call_mask_asked(c, name);
}

/* The provider had a reasoning budget and reports that it used all of it. */
static void finish_note_native_cut(struct call *c)
{
    if (c->sum.cut || c->attempt.budget <= 0 || c->reply.usage.reasoning < c->attempt.budget)
        return;
    c->sum.cut_upstream = true;
    c->sum.cut_action = STR("native");
}

/* Providers report the final usage at the end of a reply. If a reply ended early, at most its
 * first usage is known, but the received tokens were generated and are paid for: we count them. */
static void finish_count_unreported(struct call *c)
{
    struct chat_usage *u = &c->sum.usage;
    int64_t made = pipe_output_tokens(&c->pipe);

    if (u->output < 0 && !c->sum.first_byte_ns && !made && !c->client.left_waiting)
        return;
    u->input = u->input < 0 ? call_count_input(c) : u->input;
    assert(made >= 0);
    if (u->output < 0 || (!c->reply.stop_seen && !c->reply.end_seen && made > u->output))
        u->output = made;
}

void call_count_interrupted(void *config, struct store_call *row)
{
    struct chat_usage usage = chat_usage_none;
    int64_t thought = (int64_t)tokens_count(tokens_vocab_find(STR("o200k_base")), row->reasoning);
    int64_t answered = (int64_t)((row->answer.n + 3) / 4);
    struct config_route route;
    struct config_model model;

    if (thought > row->reasoning_tokens && thought > 0)
        row->reasoning_tokens = thought;
    if (row->reasoning_tokens > 0)
        answered += row->reasoning_tokens;
    if (answered > row->output_tokens && answered > 0)
        row->output_tokens = answered;
    if (config_find(config, row->model, &route)) {
        config_route_model(&route, &model);
        usage.input = row->input_tokens;
        usage.output = row->output_tokens;
        usage.cache_read = row->cache_read_tokens;
        usage.cache_write = row->cache_write_tokens;
        row->cost_usd = call_price(&model, &usage);
    }
}

void call_summarize(struct call *c)
{
    const struct config_provider *p = call_provider(c);
    struct call_facts facts;
    struct summary *s;

    assert(c->chain.at < c->chain.count);
    if (!c->summary)
        c->summary = arena_alloc(&c->arena, sizeof *c->summary);
    s = c->summary;
    call_facts(c, &facts);
    chat_usage_merge(&c->sum.usage, &c->reply.usage);
    c->sum.reasoning_exact =
        !facts.cut && c->reply.usage.reasoning >= 0 && c->attempt.phase == CALL_FIRST;
    c->sum.usage.reasoning = facts.reasoning_tokens;
    c->sum.repaired = facts.repaired;
    finish_note_native_cut(c);
    finish_count_unreported(c);
    (void)call_wall_start_ms(c);
    s->collected = c->sum;
    s->id = c->in.id;
    s->session = c->in.session;
    s->key_name = c->in.key ? c->in.key->name : STR("");
    s->route = c->in.route;
    s->provider = p->name;
    s->model = finish_mask_name(c, c->level.model); /* a client may say anything there */
    s->upstream_model = finish_mask_name(c, call_model(c)->upstream);
    s->stream = c->in.request->stream;
    s->stop = c->reply.stop;
    s->level = c->level.asked;
    s->start_ns = c->in.start_ns;
    s->end_ns = call_now_ns(c);
    s->cap = c->level.cap;
    s->source = finish_reasoning_source(&c->pipe);
    s->anomalies = c->pipe.split.flags;
    s->cost_usd = call_price(call_model(c), &s->usage);
}

/* The client's value, or else that of its level's preset. */
static str finish_sampling(const struct call *c, str asked, const struct config_preset *preset,
                           bool warm)
{
    if (c->attempt.without & (warm ? CALL_WITHOUT_TEMPERATURE : CALL_WITHOUT_TOP_P))
        return STR("");
    if (asked.n || !preset || (c->attempt.without & CALL_WITHOUT_REASONING))
        return asked;
    return warm ? preset->temperature : preset->top_p;
}

/* Exports the call, with fields that only the export needs. */
static void finish_export(struct call *c)
{
    const struct config_provider *p = call_provider(c);
    struct summary *s = c->summary;

    s->otel_provider = str_c(p->row->otel_name);
    s->server_host = p->url.host;
    s->server_port = p->url.port;
    s->max_tokens = c->in.request->max_tokens;
    s->top_k = c->in.request->top_k;
    s->seed = c->in.request->seed;
    s->frequency_penalty = c->in.request->frequency_penalty;
    s->presence_penalty = c->in.request->presence_penalty;
    s->n = c->in.request->n;
    s->temperature = finish_sampling(c, c->in.request->temperature, c->level.preset, true);
    s->top_p = finish_sampling(c, c->in.request->top_p, c->level.preset, false);
    otlp_add(c->gl->gateway->otlp, s, &c->in.trace);
}

static void finish_on_stored(void *ctx)
{
    struct call *c = ctx;
    const struct call_sink *sink = c->client.sink;

    assert(c->gl->calls > 0);
    call_enter_state(c, CALL_DONE);
    c->gl->calls--;
    call_live_end(c);
    if (sink)
        sink->on_end(c->client.ctx, c->recorded ? c->record.store_err : NULL);
    call_release(c);
}

/* On the store's thread, or in store_call_put itself. */
static void finish_stored(struct store_ticket *t, const struct err *e)
{
    struct call *c = (struct call *)(void *)((char *)t - offsetof(struct call, record.ticket));

    assert(c->recorded && c->state == CALL_COMMITTING);
    if (e) {
        c->record.store_err = base_alloc(sizeof *e);
        *c->record.store_err = *e;
    }
    loop_post(c->gl->loop, &c->task);
}

static void finish_push(void *ctx)
{
    struct gateway_loop *gl = ctx;

    store_push(gl->gateway->store);
}

/* Pushes all records of a round to disk together, at the end of the round. */
static void finish_push_soon(struct gateway_loop *gl)
{
    if (!gl->push.fn)
        loop_task_init(&gl->push, finish_push, gl);
    loop_defer(gl->loop, &gl->push);
}

/* `over` follows, but only after the caller has returned. */
static void finish_store(struct call *c)
{
    struct store *store = c->gl->gateway->store;
    struct store_call row;

    assert(c->state == CALL_COMMITTING);
    loop_drop(c->gl->loop, &c->task);
    loop_task_init(&c->task, finish_on_stored, c);
    if (!c->recorded) {
        call_live_finish(c, &store_call_none);
        loop_post_own(c->gl->loop, &c->task);
        return;
    }
    c->record.ticket.fn = finish_stored;
    c->record.ticket.later = true;
    finish_push_soon(c->gl);
    call_build_row(c, &row);
    call_live_finish(c, &row);
    store_call_put(store, &row, &c->record.ticket);
}

void call_finish(struct call *c)
{
    struct gateway *g = c->gl->gateway;

    call_enter_state(c, CALL_COMMITTING);
    call_live_end_bytes(c); /* no rest follows */
    upstream_cancel(&c->upstream);
    call_pieces_stop(c);
    call_report_outcome(c, true);
    call_vault_put(c);
    call_record_finish(c);
    call_summarize(c);
    metrics_done(c->gl->metrics, c->summary);
    if (g->otlp)
        finish_export(c);
    if (c->in.key) {
        int64_t in = c->sum.usage.input > 0 ? c->sum.usage.input : 0;
        int64_t out = c->sum.usage.output > 0 ? c->sum.usage.output : 0;

        limits_settle(g->limits, c->in.key, &c->wanted, in + out, c->summary->cost_usd);
    }
    finish_store(c);
}

void call_release(struct call *c)
{
    struct buf_pool *bufs = loop_bufs(c->gl->loop);
    struct setup *setup = c->in.setup;

    assert(c->state == CALL_PLANNED || c->state == CALL_DONE);
    assert(!c->timer.slot);
    assert(!c->attempt.breaker_pending && !c->live.hub);
    assert(!c->recorded || !c->record.mask_job);
    call_reply_drop(c);
    if (c->frames.sink.on_frame)
        frames_release(&c->frames);
    pipe_release(&c->pipe);
    buf_give(bufs, &c->sent);
    if (c->thought)
        buf_give(bufs, &c->thought->text);
    if (c->failure) {
        buf_give(bufs, &c->failure->body);
        buf_give(bufs, &c->failure->attempts);
    }
    if (c->recorded) {
        buf_give(bufs, &c->record.answer);
        buf_give(bufs, &c->record.reasoning);
        buf_give(bufs, &c->record.tool_calls);
        buf_give(bufs, &c->record.raw);
        free(c->record.store_err);
        call_mask_release(c);
    }
    call_vault_release(c);
    arena_release(&c->arena);
    if (c->exact)
        free(c->memory);
    else
        spare_free(c->memory, c->size);
    setup_release(setup);
}

double call_cost(const struct call *c)
{
    return c->summary->cost_usd;
}

str call_session(const struct call *c)
{
    return c->in.session;
}

bool call_hides(const struct call *c)
{
    return c->client.hides;
}

/* A second call that has begun its answer cannot be retried by itself. The whole call restarts,
 * up to the provider's number of retries, then at the next provider. */
static bool finish_restart_second(struct call *c)
{
    if (c->attempt.phase == CALL_FIRST)
        return true;
    if (!(c->pipe.cap.answered || c->pipe.cap.called) ||
        (c->attempt.restarts == call_provider(c)->retries_max &&
         call_next_provider(c) == c->chain.count))
        return false;
    c->attempt.restarts++;
    c->attempt.tries =
        c->attempt.restarts > c->attempt.tries ? c->attempt.restarts : c->attempt.tries;
    return true;
}

/* Whether the whole call may run again: the client has received nothing, or its sink can take
 * back what it received. After a cut, text of the first call stays. */
bool call_may_restart(struct call *c)
{
    assert(c->client.sink);
    if (c->in.watch)
        return false;
    if (c->client.received == CALL_RECEIVED_NOTHING ||
        (c->attempt.phase == CALL_CUT && c->client.received == CALL_RECEIVED_EARLIER))
        return true;
    if (!c->client.sink->on_restart || !finish_restart_second(c) ||
        !c->client.sink->on_restart(c->client.ctx))
        return false;
    c->attempt.phase = CALL_FIRST;
    c->sum.cut = c->sum.starved = c->sum.repaired = false;
    c->sum.cut_action = STR("");
    c->sum.usage = chat_usage_none;
    c->client.received = CALL_RECEIVED_NOTHING;
    c->reply.speaks = false;
    c->attempt.effort = c->attempt.efforts_tried = 0;
    c->attempt.learning = 0;
    c->dropped_tokens = 0;
    c->sum.first_byte_ns = c->sum.answer_ns = 0;
    c->sum.reasoning_ns = c->sum.reasoning_end_ns = 0;
    c->sum.reply_id = c->sum.reply_model = STR("");
    c->reply.usage = chat_usage_none;
    return true;
}
