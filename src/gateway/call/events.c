/* events.c - reads each event of a reply before it enters the pipe: times, usage, errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <strings.h>

#include "base/utf8.h"
#include "gateway/call/internal.h"
#include "wire/message_parts.h"

/* A text of the reply, for as long as the call lives. */
static str event_retain_text(struct call *c, str text)
{
    return c->reply.lasts ? text : arena_dup(&c->arena, text);
}

static void event_note_start(struct call *c, const struct chat_event *ev)
{
    if (ev->id.n && !c->sum.reply_id.n)
        c->sum.reply_id = event_retain_text(c, str_slice(ev->id, 0, 256));
    if (ev->name.n && !c->sum.reply_model.n)
        c->sum.reply_model = event_retain_text(c, str_slice(ev->name, 0, 256));
}

static void event_note_reasoning(struct call *c)
{
    if (!c->sum.reasoning_ns)
        c->sum.reasoning_ns = call_now_ns(c);
}

void call_note_answer(struct call *c)
{
    if (!c->sum.answer_ns)
        c->sum.answer_ns = call_now_ns(c);
    if (c->sum.reasoning_ns && !c->sum.reasoning_end_ns)
        c->sum.reasoning_end_ns = call_now_ns(c);
}

/* If reasoning has to be split out of the text, only the pipe's output shows what the text is. */
static void event_note_content(struct call *c, const struct chat_event *ev)
{
    if (ev->kind == CHAT_REASONING)
        event_note_reasoning(c);
    else if (ev->kind != CHAT_TEXT || !c->pipe.options.format)
        call_note_answer(c);
}

#define USAGE_MAX ((int64_t)1 << 40) /* no reply has so many tokens */

static int64_t event_valid_count(int64_t count)
{
    return count >= 0 && count <= USAGE_MAX ? count : -1;
}

static void event_add_count(int64_t *to, int64_t more)
{
    if (*to >= 0 && more > 0)
        *to += more;
}

/* Adds the first call's usage to the second's. A first call that was cut did not report all of
 * it. */
static void event_add_first_usage(struct call *c, struct chat_usage *u)
{
    const struct chat_usage *first = &c->sum.usage;
    int64_t thought = pipe_kept_tokens(&c->pipe) + c->dropped_tokens, again = u->reasoning, made;

    assert(thought >= 0);
    assert(c->attempt.phase != CALL_FIRST);
    if (!c->sum.cut && first->reasoning > thought)
        thought = first->reasoning;
    made = !c->sum.cut && first->output > thought ? first->output : thought;
    if (again < 0) /* not reported: our count of its reasoning */
        again = pipe_reasoning_tokens(&c->pipe) - pipe_kept_tokens(&c->pipe) - c->dropped_tokens;
    u->reasoning = thought + (u->output >= 0 && again > u->output ? u->output : again);
    u->raw = STR("");
    event_add_count(&u->output, made);
    if (c->sum.cut && first->input < 0) /* the prompt was the same, except for the reasoning */
        event_add_count(&u->input, u->input - thought);
    event_add_count(&u->input, first->input);
    event_add_count(&u->cache_read, first->cache_read);
    event_add_count(&u->cache_write, first->cache_write);
}

static void event_read_usage(struct call *c, const struct chat_event *ev, struct chat_usage *u)
{
    *u = *ev->usage;
    u->input = event_valid_count(u->input);
    u->output = event_valid_count(u->output);
    u->reasoning = event_valid_count(u->reasoning);
    u->cache_read = event_valid_count(u->cache_read);
    u->cache_write = event_valid_count(u->cache_write);
    if (u->output >= 0 && u->reasoning > u->output)
        u->reasoning = -1; /* more than there was in all: we count ourselves */
    if (u->input >= 0 && u->cache_read > u->input)
        u->cache_read = u->input; /* parts of the input: no dialect may add up to more */
    if (u->input >= 0 && u->cache_write > u->input - (u->cache_read > 0 ? u->cache_read : 0))
        u->cache_write = u->input - (u->cache_read > 0 ? u->cache_read : 0);
    if (u->reasoning == 0 && c->pipe.reasoning.tagged)
        u->reasoning = -1; /* the provider does not know the reasoning that was in its text */
    if (u->raw.n)          /* usage as its own dialect writes it */
        u->raw = c->attempt.wire->dialect == c->in.wire->dialect ? event_retain_text(c, u->raw)
                                                                 : STR("");
    if (c->attempt.phase != CALL_FIRST) {
        event_add_first_usage(c, u);
    } else if (c->sum.cut) { /* reasoning beyond the cap was paid for, but not passed on */
        int64_t thought = pipe_reasoning_tokens(&c->pipe);

        u->reasoning = u->reasoning > thought ? u->reasoning : thought;
        u->raw = STR("");
    }
    chat_usage_merge(&c->reply.usage, u);
}

static void event_feed_usage(struct call *c, const struct chat_event *ev)
{
    struct chat_event changed = *ev;
    struct chat_usage usage;

    assert(ev->kind == CHAT_USAGE && ev->usage);
    event_read_usage(c, ev, &usage);
    changed.usage = &usage;
    pipe_feed(&c->pipe, &changed);
}

/* Whether the client of a relayed stream asked for usage in a chunk of its own. */
static bool call_relays_usage_chunk(const struct call *c)
{
    const struct chat_request *r = c->in.request;

    return c->in.wire->dialect == CHAT_OPENAI && r->stream && r->stream_usage;
}

void call_synthesize_usage(struct call *c)
{
    struct chat_usage u = chat_usage_none, all;
    bool counts = c->reply.usage.output < 0;

    assert(c->reply.end_seen);
    if (c->attempt.relays ? !counts || !call_relays_usage_chunk(c)
                          : !counts && c->reply.usage.input >= 0)
        return;
    if (c->reply.usage.input < 0)
        u.input = call_count_input(c);
    if (counts) {
        u.reasoning = pipe_reasoning_tokens(&c->pipe);
        u.output = pipe_output_tokens(&c->pipe);
        assert(u.output >= 0 && u.reasoning >= 0);
        c->sum.reasoning_exact = false;
    }
    chat_usage_merge(&c->reply.usage, &u);
    all = c->reply.usage;
    all.raw = STR(""); /* it lacks what was counted here */
    pipe_feed(&c->pipe, &(struct chat_event){.kind = CHAT_USAGE, .usage = &all});
}

/* Whether the event is a part of the answer. The others are in the front of a stream, before the
 * model has said something; an error after them is no reason to keep them. */
static bool event_speaks(const struct chat_event *ev)
{
    const unsigned silent =
        1u << CHAT_START | 1u << CHAT_KEEP | 1u << CHAT_EXTRA | 1u << CHAT_USAGE | 1u << CHAT_ERROR;
    bool blank = (ev->kind == CHAT_TEXT || ev->kind == CHAT_REASONING) && !ev->text.n;

    return !(silent >> ev->kind & 1) && !blank;
}

void call_on_event(void *ctx, const struct chat_event *ev)
{
    struct call *c = ctx;

    c->reply.speaks |= event_speaks(ev);
    switch (ev->kind) {
    case CHAT_START:
        event_note_start(c, ev);
        if (c->control)
            call_control_named(c, ev->id);
        if (c->attempt.phase != CALL_FIRST)
            return;
        break;
    case CHAT_KEEP:
        call_vault_add_event(c, ev);
        return;
    case CHAT_ARGUMENTS:
        call_vault_add_event(c, ev);
        break;
    case CHAT_EXTRA:
        if (c->attempt.phase != CALL_FIRST)
            return;
        break;
    case CHAT_USAGE:
        event_feed_usage(c, ev);
        return;
    case CHAT_STOP:
        c->reply.stop_seen = true;
        c->reply.stop = ev->stop;
        break;
    case CHAT_END:
        c->reply.end_seen = true;
        break;
    case CHAT_ERROR:
        c->reply.error_seen = true;
        call_make_failure(c);
        assert(ev->error);
        c->failure->error = *ev->error;
        call_own_error(c, &c->failure->error);
        c->failure->error.raw = STR(""); /* an event, not a body of its own */
        c->failure->error.frame = STR("");
        wire_error_classify(&c->failure->error);
        return;
    case CHAT_SIGNATURE:
    case CHAT_REDACTED:
        if (pipe_is_sealed(&c->pipe, ev)) {
            event_note_reasoning(c);
            call_record_opaque(c);
        }
        break;
    case CHAT_REASONING:
    case CHAT_TEXT:
    case CHAT_CALL:
        event_note_content(c, ev);
        if (ev->kind == CHAT_CALL)
            call_vault_add_event(c, ev);
        break;
    default:
        break;
    }
    pipe_feed(&c->pipe, ev);
}

/* Up to the ceiling, wherever the pieces end. The buffer is full if anything is left out. */
static void event_keep_reasoning(struct buf *to, str text)
{
    if (!buf_full(to)) {
        str front = utf8_cut_size(text, to->size_max - to->n);

        buf_add(to, front);
        text = str_slice(text, front.n, text.n);
    }
    buf_add(to, text);
}

str call_get_reasoning(struct call *c)
{
    struct call_thought *t = c->thought;

    if (!t)
        return STR("");
    assert(t->lent_count <= CALL_THOUGHTS_MAX);
    for (size_t i = 0; i < t->lent_count; i++)
        event_keep_reasoning(&t->text, t->lent[i]);
    t->lent_count = 0;
    return buf_str(&t->text);
}

void call_copy_texts(struct call *c)
{
    str *const texts[] = {
        &c->sum.reply_id, &c->sum.reply_model, &c->sum.usage.raw, &c->reply.usage.raw};

    assert(c->reply.lasts || !c->thought || c->thought->lent_count == 0);
    if (!c->reply.lasts)
        return;
    c->reply.lasts = false;
    (void)call_get_reasoning(c);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        *texts[i] = arena_dup(&c->arena, *texts[i]);
}

static void event_add_thought(struct call *c, str text)
{
    struct call_thought *t = c->thought;

    call_live_reasoning(c, text);
    if (!t)
        return;
    if (c->reply.lasts && !c->recorded && t->lent_count < CALL_THOUGHTS_MAX) {
        t->lent[t->lent_count++] = text;
        return;
    }
    (void)call_get_reasoning(c);
    event_keep_reasoning(&t->text, text);
}

void call_on_next_thought(void *ctx)
{
    struct call *c = ctx;

    call_record_next_thought(c);
    event_add_thought(c, STR("\n\n"));
}

void call_on_reasoning(void *ctx, str text)
{
    struct call *c = ctx;

    event_note_reasoning(c);
    call_record_reasoning(c, text);
    event_add_thought(c, text);
}

/* Medium that doubts itself becomes high, once, if the configuration wants it and the key may. */
int64_t call_on_cap(void *ctx)
{
    struct call *c = ctx;
    const struct config_preset *high = config_preset(c->config, CHAT_LEVEL_HIGH);

    assert(c->level.cap >= 0);
    if (!c->config->adaptive || c->level.asked != CHAT_LEVEL_MEDIUM || !c->level.preset ||
        !level_allowed(c->in.key, CHAT_LEVEL_HIGH) || !level_uncertain(call_get_reasoning(c)))
        return c->level.cap;
    c->level.asked = CHAT_LEVEL_HIGH;
    c->level.cap = level_room(high->reasoning_max_tokens, c->in.request->max_tokens);
    call_note_attempt(c, "raised to high", STR("the reasoning was uncertain at its cap"));
    return c->level.cap;
}

/* Whether the request has the tag literally: as it is, or as JSON may escape it. */
bool call_asks_for(void *ctx, str tag)
{
    const struct call *c = ctx;
    str body = buf_str(&c->sent);

    for (size_t i = 0; i + tag.n < body.n; i++)
        if ((body.p[i] == '<' ||
             (i >= 5 && (body.p[i] | 32) == 'c' && memcmp(body.p + i - 5, "\\u003", 5) == 0)) &&
            strncasecmp(body.p + i + 1, tag.p, tag.n) == 0)
            return true;
    return false;
}

/* A later choice may begin with a tag, too. */
bool call_may_ask_for(struct call *c)
{
    return pipe_is_picking(&c->pipe, 0) ||
           (part_number(c->in.request->n) > 1 && pipe_split_may_pick(&c->pipe.options));
}
