/* reply.c - the reply: bytes into frames, frames into events, events to the client.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"
#include "gateway/retry.h"

#define LINGER_MS 250

/* ---- from frame to client ---- */

/* Whether reasoning used up all output tokens, so that the answer is empty. */
static bool reply_is_starved(const struct call *c)
{
    bool thought = c->pipe.reasoning.any || c->reply.usage.reasoning > 0;

    return c->reply.stop_seen && c->reply.stop == CHAT_STOP_LENGTH && thought &&
           !c->pipe.cap.answered && !c->pipe.cap.called && !pipe_others_answer(&c->pipe);
}

/* A second call is billed: by default only calls with a level of ours, and those of our
 * applications, get one. */
bool call_repairs_starved(const struct call *c)
{
    const struct config_preset *preset = c->level.preset;

    if (c->in.watch)
        return false;
    if (preset && preset->repair_given)
        return preset->repair_starved;
    if (c->config->repair_starved == CONFIG_REPAIR_ASKED)
        return c->in.inside || level_brings_preset(c->config, c->level.source);
    return c->config->repair_starved == CONFIG_REPAIR_ALWAYS;
}

/* Moves END to the last place, after events that were added later. */
static void reply_move_end_last(struct pipe *p)
{
    if (p->count && p->events[p->count - 1].kind == CHAT_END)
        return;
    for (size_t i = 0; i + 1 < p->count; i++)
        if (p->events[i].kind == CHAT_END) {
            struct chat_event end = p->events[i];

            memmove(p->events + i, p->events + i + 1, (p->count - i - 1) * sizeof end);
            p->events[p->count - 1] = end;
            return;
        }
}

void call_deliver_events(struct call *c, const struct wire_frame *f)
{
    struct pipe *p = &c->pipe;

    assert(c->state < CALL_COMMITTING);
    if (p->cap.answered && !c->sum.answer_ns)
        call_note_answer(c);
    call_live_frame(c);
    if (c->recorded) {
        call_record_events(c);
        if (!c->reply.end_seen)
            call_pieces_put(c);
    }
    if (!c->client.sink || (p->count == 0 && !(f && c->attempt.relays)))
        return;
    if (p->count && !c->sum.first_byte_ns)
        c->sum.first_byte_ns = call_now_ns(c);
    if (f && c->attempt.relays && c->reply.comments) {
        struct wire_frame comments = {
            .name = STR(""), .data = STR(""), .raw = arena_text_str(c->reply.comments)};

        c->reply.comments = NULL;
        c->client.sink->on_frame(c->client.ctx, &comments, NULL, 0, false, false);
    }
    if (p->count > 0 || !p->touched)
        c->client.received = CALL_RECEIVED_REPLY;
    c->client.sink->on_frame(c->client.ctx,
                             c->attempt.relays ? f : NULL,
                             p->events,
                             p->count,
                             p->touched,
                             c->reply.end_seen);
}

void call_hang_up(struct call *c, bool well)
{
    call_live_end_bytes(c);
    (well ? upstream_let_go : upstream_cancel)(&c->upstream);
}

bool call_end_starved(struct call *c)
{
    assert(c->state < CALL_COMMITTING);
    if (!c->client.sink || c->pipe.cap.answered || c->pipe.cap.called)
        return false;
    pipe_begin(&c->pipe);
    call_record_begin_frame(c);
    c->attempt.relays = c->sum.repaired = false;
    c->reply.usage = c->sum.usage; /* of the first call */
    call_on_event(c, &(struct chat_event){.kind = CHAT_STOP, .stop = CHAT_STOP_LENGTH});
    if (c->reply.usage.output >= 0)
        pipe_feed(&c->pipe, &(struct chat_event){.kind = CHAT_USAGE, .usage = &c->reply.usage});
    call_on_event(c, &(struct chat_event){.kind = CHAT_END});
    call_synthesize_usage(c);
    reply_move_end_last(&c->pipe);
    call_deliver_events(c, NULL);
    c->sum.complete = true;
    call_finish(c);
    return true;
}

static void reply_fail(struct call *c, int status, const char *code, const char *message)
{
    struct chat_error error;
    struct err e;

    err_set(&e, ERR_UPSTREAM, "%s", message);
    call_refuse(&error, &c->arena, status, code, &e);
    call_hang_up(c, false);
    call_fail_attempt(c, &error);
}

/* Acts on the events of a frame. False: this reply is over for us. */
static bool reply_settle(struct call *c, const struct wire_frame *f)
{
    assert(call_is_reading(c));
    if (c->state == CALL_CUTTING ||
        (pipe_is_over(&c->pipe) && !c->reply.error_seen && c->pipe.options.at_cap >= PIPE_STOP)) {
        if (!call_cut_reasoning(c))
            return false;
        if (c->state == CALL_CUTTING)
            return true;
    }
    if (c->reply.error_seen) {
        assert(c->failure);
        call_error_keep(c, f);
        call_hang_up(c, false);
        call_fail_attempt(c, &c->failure->error);
        return false;
    }
    if (c->pipe.full) {
        reply_fail(c, 502, "upstream_error", "the provider's reply has too many parts");
        return false;
    }
    if (pipe_is_over(&c->pipe) || c->pipe.other_capped)
        call_note_truncated(c);
    pipe_clear_over(&c->pipe);
    if (reply_is_starved(c)) {
        c->sum.starved = true;
        if (c->attempt.phase != CALL_REPAIR && call_repairs_starved(c)) {
            bool over = c->reply.end_seen;

            call_enter_state(c, CALL_REPAIRING);
            call_record_events(c);
            call_drop_end_events(&c->pipe);
            c->attempt.relays = c->reply.end_seen = false;
            call_deliver_events(c, NULL);
            if (!over)
                return true; /* the usage follows the end */
            c->sum.repaired = true;
            call_hang_up(c, true);
            call_ask_second(c, CALL_REPAIR);
            return false;
        }
    }
    if (c->state == CALL_REPAIRING)
        call_enter_state(c, CALL_STREAMING); /* an answer came after all */
    if (c->reply.end_seen)
        call_synthesize_usage(c);
    reply_move_end_last(&c->pipe);
    call_deliver_events(c, f);
    return true;
}

/* The connection gets a moment to end properly, so that it can be reused. */
static void call_linger(struct call *c)
{
    assert(c->reply.end_seen);
    call_enter_state(c, CALL_LINGERING);
    call_set_timer(c, LINGER_MS);
}

void call_reply_complete(struct call *c)
{
    assert(c->state == CALL_LINGERING && c->reply.end_seen);
    call_hang_up(c, true);
    c->sum.complete = true;
    call_finish(c);
}

/* Some providers write [DONE] after a stream whose dialect ends without it. */
static void reply_pass_done(struct call *c, const struct wire_frame *f)
{
    if (!c->attempt.relays || !c->client.sink || c->decoder.done ||
        !str_eq(str_trim(f->data), STR("[DONE]")))
        return;
    c->decoder.done = true;
    c->client.sink->on_frame(c->client.ctx, f, NULL, 0, false, true);
}

/* All events of the frame are in the pipe. */
void call_end_frame(struct call *c, const struct wire_frame *f)
{
    if (c->reply.end_seen)
        pipe_flush(&c->pipe);
    if (reply_settle(c, f) && c->reply.end_seen)
        call_linger(c);
}

/* ---- frames that wait for the front of a text: defer.h ---- */

static void call_drop_deferred(struct call *c)
{
    defer_free(c->reply.deferred);
    c->reply.deferred = NULL;
}

/* The decoder's sink for a stream whose text picks its format. */
static void call_event_or_defer(void *ctx, const struct chat_event *ev)
{
    struct call *c = ctx;

    assert(call_is_reading(c));
    if (ev->kind == CHAT_ERROR && c->client.received == CALL_RECEIVED_NOTHING)
        call_drop_deferred(c); /* the client has seen nothing: another attempt can follow */
    if (!c->reply.deferred && c->state != CALL_CUTTING && defer_starts(&c->pipe, ev))
        c->reply.deferred = defer_new(&c->pipe, &c->decoder);
    if (c->reply.deferred)
        defer_add_event(c->reply.deferred, ev);
    else
        call_on_event(c, ev);
}

/* False: one of the frames has ended this attempt. */
static bool call_deliver_deferred(struct call *c)
{
    struct defer *d = c->reply.deferred;
    struct wire_frame f;

    assert(d && call_is_reading(c));
    c->reply.deferred = NULL; /* a frame may end this attempt, which drops what is deferred */
    while (call_is_reading(c) && !c->reply.end_seen && defer_next(d, &f)) {
        call_record_begin_frame(c);
        defer_feed(d, (struct chat_sink){call_on_event, c});
        call_end_frame(c, f.raw.n ? &f : NULL); /* events of the end have no frame */
    }
    defer_free(d);
    return call_is_reading(c);
}

/* The connection broke. If the client has seen nothing of the reply, the frames are dropped, so
 * that another attempt can follow. False: the frames have ended this attempt. */
static bool call_break_deferred(struct call *c)
{
    if (c->client.received == CALL_RECEIVED_NOTHING)
        call_drop_deferred(c);
    if (!c->reply.deferred)
        return true;
    defer_end(c->reply.deferred);
    return call_deliver_deferred(c);
}

static void reply_on_frame(void *ctx, const struct frames_frame *in)
{
    struct call *c = ctx;
    struct wire_frame f = {.name = in->name, .data = in->data, .raw = in->raw};

    if (call_is_reading(c) && c->reply.end_seen)
        reply_pass_done(c, &f);
    if (!call_is_reading(c) || c->reply.end_seen)
        return;
    if (!f.data.n && c->client.received == CALL_RECEIVED_NOTHING && !c->reply.deferred) {
        /* A comment or an empty line is no answer: another attempt may follow. It waits for the
         * first event. */
        if (!c->reply.comments)
            c->reply.comments = arena_zero(&c->arena, 1, sizeof *c->reply.comments);
        arena_text_add_max(c->reply.comments, &c->arena, f.raw, CALL_COMMENTS_MAX);
        return;
    }
    assert(c->decoder.wire);
    pipe_begin(&c->pipe);
    call_record_begin_frame(c);
    if (c->timer.slot && f.data.n)
        loop_timer_clear(c->gl->loop, &c->timer); /* it speaks */
    c->decoder.splits = pipe_may_split(&c->pipe);
    wire_decode(&c->decoder, &f);
    if (!c->reply.deferred && c->decoder.text_ended)
        pipe_split_end_block(&c->pipe.split, c->decoder.text_ended - 1);
    if (!c->reply.deferred)
        call_end_frame(c, &f);
    else if (defer_add_frame(c->reply.deferred, &f))
        (void)call_deliver_deferred(c);
}

/* ---- from bytes to frame ---- */

static enum frames_kind reply_framing(const struct call *c, str type)
{
    if (http1_same(type, STR("text/event-stream")))
        return FRAMES_SSE;
    if (http1_same(type, STR("application/x-ndjson")) || http1_same(type, STR("application/jsonl")))
        return FRAMES_LINES;
    if (!c->attempt.streams || http1_same(type, STR("application/json")))
        return c->attempt.streams && c->attempt.wire->stream_framing == WIRE_NDJSON ? FRAMES_LINES
                                                                                    : FRAMES_WHOLE;
    return c->attempt.wire->stream_framing == WIRE_NDJSON ? FRAMES_LINES : FRAMES_SSE;
}

/* A head alone is not a reply: the first event must arrive in time. */
void call_reply_silent(struct call *c)
{
    struct err e;

    err_set(&e,
            ERR_TIMEOUT,
            "the provider \"" STR_FMT "\" began a reply and then said nothing for %llu ms",
            STR_ARG(call_provider(c)->name),
            (unsigned long long)call_provider(c)->first_ms);
    reply_fail(c, 504, "upstream_timeout", e.text);
}

/* Refuses a reply that is still packed, or a web page. */
static bool reply_is_unreadable(struct call *c, const struct upstream_head *head)
{
    char why[120];

    if (head->coding.n && !http1_same(head->coding, STR("identity"))) {
        (void)snprintf(why,
                       sizeof why,
                       "the gateway cannot unpack the reply of the provider: " STR_FMT,
                       STR_ARG(str_slice(head->coding, 0, 40)));
        reply_fail(c, 502, "upstream_encoding", why);
        return true;
    }
    if (http1_same(head->type, STR("text/html"))) {
        reply_fail(c, 502, "upstream_error", "the provider sent a web page in place of a reply");
        return true;
    }
    return false;
}

/* A stream has begun and may last for long, and another attempt writes its request again. Messages
 * of errors may yet be compared with the body, and so may the tag that a reply begins with. */
static void call_drop_sent(struct call *c)
{
    if (c->frames.kind != FRAMES_WHOLE && upstream_has_sent(&c->upstream) && !call_may_ask_for(c) &&
        (!c->client.hides || c->in.request->message_count < 2))
        buf_give(loop_bufs(c->gl->loop), &c->sent);
}

void call_reply_head(struct call *c, const struct upstream_head *head)
{
    bool picks;

    assert(!c->reply.deferred && !c->decoder.wire);
    c->attempt.replayed++;
    if (head->fields && !c->in.inside)
        c->reply.header_count = headers_copy_reply(
            head->fields, secret_reveal(&call_provider(c)->key), &c->arena, &c->reply.headers);
    if (c->attempt.phase == CALL_FIRST)
        call_vault_reset(c);
    c->reply.stop_seen = c->reply.end_seen = c->reply.error_seen = false;
    c->reply.comments = NULL;
    if (head->status < 200 || head->status > 299) {
        call_enter_state(c, CALL_REFUSED);
        call_make_failure(c);
        buf_reset(&c->failure->body);
        c->failure->status = head->status;
        c->failure->wait_ms = head->retry_after_ms;
        c->failure->no_retry =
            head->fields &&
            http1_same(http1_find(head->fields, STR("x-should-retry")), STR("false"));
        return;
    }
    if (reply_is_unreadable(c, head))
        return;
    call_enter_state(c, CALL_STREAMING);
    call_remember_refusals(c);
    if (c->frames.sink.on_frame)
        frames_release(&c->frames);
    frames_init(&c->frames,
                reply_framing(c, head->type),
                CALL_FRAME_MAX,
                (struct frames_sink){reply_on_frame, c});
    frames_offer_rows(&c->frames, call_reply_row);
    frames_lend(&c->frames, c->gl->loop);
    picks = c->frames.kind != FRAMES_WHOLE && c->attempt.phase == CALL_FIRST &&
            pipe_is_picking(&c->pipe, 0);
    wire_decoder_init(&c->decoder,
                      c->attempt.wire,
                      &c->arena,
                      (struct chat_sink){picks ? call_event_or_defer : call_on_event, c});
    c->decoder.salt = str_slice(c->in.id, c->in.id.n - 12, c->in.id.n);
    c->decoder.hides = c->client.hides;
    c->pipe.options.on_thought = call_on_reasoning;
    c->pipe.options.on_next_thought = call_on_next_thought;
    c->pipe.options.on_cap = call_on_cap;
    c->pipe.options.asks_for = call_asks_for;
    c->pipe.options.ctx = c;
    c->pipe.options.as_it_is = c->attempt.relays;
    c->pipe.options.at_cap =
        c->attempt.streams && c->attempt.phase == CALL_FIRST && c->frames.kind != FRAMES_WHOLE
            ? PIPE_STOP
            : PIPE_TRUNCATE;
    c->decoder.relays = c->attempt.relays = /* not a whole for a stream, or the other way round */
        c->attempt.relays && (c->frames.kind == FRAMES_WHOLE) != c->in.request->stream;
    if (c->attempt.streams)
        call_set_timer(c, call_provider(c)->first_ms);
    call_drop_sent(c);
}

void call_reply_bytes(struct call *c, str bytes)
{
    assert(c->frames.sink.on_frame);
    call_live_begin_bytes(c);
    frames_feed(&c->frames, bytes);
    if (c->sent.n && call_is_reading(c))
        call_drop_sent(c);
    if (call_is_reading(c) && !c->reply.end_seen && arena_left(&c->arena) < CALL_ARENA_SPARE)
        reply_fail(
            c, 502, "upstream_too_large", "the provider's reply is too large to be kept track of");
    else if (call_is_reading(c) && c->frames.full)
        reply_fail(c, 502, "upstream_too_large", "the provider sent an event larger than 32 MiB");
}

/* The next event of a stream may be seconds away, and there may be thousands of streams. */
static void call_rest_stream(struct call *c)
{
    if (!call_is_reading(c) || !c->decoder.wire || c->reply.deferred ||
        c->frames.kind == FRAMES_WHOLE)
        return;
    pipe_rest(&c->pipe);
    wire_decoder_rest(&c->decoder);
}

void call_on_rest(void *ctx)
{
    struct call *c = ctx;

    call_live_end_bytes(c);
    call_rest_stream(c);
    if (c->client.sink && c->client.sink->on_rest && c->state < CALL_COMMITTING && c->reply.speaks)
        c->client.sink->on_rest(c->client.ctx);
}

static bool call_settle_end(struct call *c)
{
    pipe_flush(&c->pipe);
    return reply_settle(c, NULL);
}

/* The reply has ended, and all its events have been processed. */
static void reply_finish(void *ctx)
{
    struct call *c = ctx;

    if (!call_is_reading(c)) {
        call_on_rest(c);
        return; /* the last event decided it */
    }
    if (!c->reply.end_seen) {
        call_reply_own(c);
        pipe_begin(&c->pipe);
        call_record_begin_frame(c);
        wire_decode_end(&c->decoder);
        if (!(c->reply.deferred ? call_deliver_deferred(c) : call_settle_end(c))) {
            call_on_rest(c);
            return;
        }
    }
    c->sum.complete = true;
    call_finish(c);
}

/* A whole reply is processed in steps, each for all replies of a round. */
static void reply_queue_step(struct call *c, void (*fn)(void *))
{
    loop_task_init(&c->task, fn, c);
    loop_soon(c->gl->loop, &c->task);
}

static void reply_whole_settle(void *ctx)
{
    struct call *c = ctx;

    assert(call_is_reading(c) && c->frames.kind == FRAMES_WHOLE);
    assert(c->whole);
    if (reply_settle(c, c->whole) && call_is_reading(c))
        reply_queue_step(c, reply_finish);
    else
        reply_finish(c);
}

static void reply_whole_feed(void *ctx)
{
    struct call *c = ctx;

    assert(call_is_reading(c) && c->held);
    defer_events_flush(c->held);
    pipe_flush(&c->pipe);
    reply_queue_step(c, reply_whole_settle);
}

static void reply_whole_decode(void *ctx)
{
    struct call *c = ctx;

    assert(call_is_reading(c) && c->decoder.wire);
    c->reply.lasts = c->attempt.wire->whole_lasts;
    if (c->reply.lasts)
        call_live_begin_whole(c);
    c->held = arena_alloc(&c->arena, sizeof *c->held);
    defer_events_begin(c->held, &c->decoder);
    wire_whole_decode(&c->decoder, c->whole);
    defer_events_end(c->held, &c->decoder);
    reply_queue_step(c, reply_whole_feed);
}

static void reply_whole_parse(void *ctx)
{
    struct call *c = ctx;
    str all = frames_whole(&c->frames);

    assert(call_is_reading(c) && !c->reply.deferred);
    if (all.n == 0) {
        reply_finish(c);
        return;
    }
    c->whole = arena_alloc(&c->arena, sizeof *c->whole);
    *c->whole = (struct wire_frame){.name = STR(""), .data = all, .raw = all};
    pipe_begin(&c->pipe);
    call_record_begin_frame(c);
    reply_queue_step(
        c, wire_whole_parse(&c->decoder, c->whole) ? reply_whole_decode : reply_whole_settle);
}

void call_reply_end(struct call *c)
{
    call_live_end_bytes(c);
    assert(c->decoder.wire && c->frames.sink.on_frame);
    loop_timer_clear(c->gl->loop, &c->timer);
    if (c->frames.kind == FRAMES_WHOLE) {
        reply_queue_step(c, reply_whole_parse);
    } else {
        frames_finish(&c->frames);
        reply_finish(c);
    }
}

static const struct {
    enum err_code err;
    int status;
    const char *code;
} reply_failures[] = {
    {ERR_TIMEOUT, 504, "upstream_timeout"},
    {ERR_NOT_FOUND, 501, CALL_NO_RECORDING},
    {ERR_NONE, 502, "upstream_error"}, /* all else */
};

void call_reply_error(struct call *c, const struct err *e)
{
    call_live_end_bytes(c);
    loop_timer_clear(c->gl->loop, &c->timer);
    if (c->reply.deferred && !call_break_deferred(c))
        return; /* the last event decided it */
    if (call_is_reading(c) &&
        (c->reply.end_seen || (c->reply.stop_seen && c->frames.kind != FRAMES_WHOLE))) {
        reply_finish(c); /* all was said before the line broke */
        return;
    }
    if (c->state == CALL_CUTTING) { /* its reasoning was received: another call can answer */
        call_cut_now(c);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(reply_failures); i++)
        if (reply_failures[i].err == e->code || reply_failures[i].err == ERR_NONE) {
            reply_fail(c, reply_failures[i].status, reply_failures[i].code, e->text);
            return;
        }
}

void call_reply_own(struct call *c)
{
    call_live_copy(c);
    call_copy_texts(c);
}

void call_reply_drop(struct call *c)
{
    call_drop_deferred(c);
    if (c->decoder.wire)
        wire_decoder_release(&c->decoder);
    c->decoder.wire = NULL;
}

void call_reply_release(struct call *c)
{
    call_reply_own(c);
    call_reply_drop(c);
}
