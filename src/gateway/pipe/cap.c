/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/pipe/cap.h"

#include "gateway/pipe/count.h"

int64_t pipe_cap_dropped(const struct pipe_cap *s)
{
    assert(!s->counter == !s->dropped || s->state != PIPE_UNDER);
    return s->counter ? (int64_t)tokens_counter_count(s->counter) : 0;
}

static void pipe_cap_drop(struct pipe_cap *s, str text)
{
    assert(s->state != PIPE_UNDER);
    if (!s->counter)
        s->counter = pipe_counter_new(s->shared);
    tokens_counter_feed(s->counter, text);
    s->dropped += text.n;
}

void pipe_cap_pass(struct pipe_cap *s)
{
    assert(s->state == PIPE_UNDER);
    s->state = PIPE_OVER;
    s->before.answer_size = s->answer_size;
    s->before.called = s->called;
    *s->shared->touched = true;
}

void pipe_cap_continue(struct pipe_cap *s)
{
    assert(!s->continued || s->state == PIPE_BEYOND);
    s->state = PIPE_BEYOND;
    s->continued = true;
}

/* Whether the reply was let go at its cap: the rest of it is dropped. */
static bool pipe_cap_is_late(const struct pipe_cap *s)
{
    enum pipe_at_cap at_cap = s->shared->options->at_cap;

    assert(s->before.answer_size <= s->answer_size);
    assert(s->called || !s->before.called);
    return s->state == PIPE_OVER &&
           (at_cap == PIPE_STOP || (at_cap == PIPE_STOP_OR_RESUME && s->before.called));
}

/* The first of it begins in the event that passes the cap. */
static void pipe_cap_reasoning(struct pipe_cap *s, const struct chat_event *ev)
{
    bool passes = s->state == PIPE_UNDER;

    assert(ev->kind == CHAT_REASONING);
    if (passes)
        pipe_cap_pass(s);
    if (ev->text.n)
        s->cut_block = ev->block + 1;
    if (!passes || s->shared->options->at_cap == PIPE_TRUNCATE)
        pipe_cap_drop(s, ev->text);
}

/* Whether the event passes. A signature may be of more than the client gets; what Responses and
 * Gemini seal does not depend on the summary that they show. */
NOINLINE static bool pipe_cap_allows(struct pipe_cap *s, const struct chat_event *ev,
                                     enum pipe_mark mark)
{
    assert(mark == PIPE_BEYOND_CAP || s->state != PIPE_UNDER);
    if (mark == PIPE_BEYOND_CAP) {
        pipe_cap_reasoning(s, ev);
        return false;
    }
    if (ev->kind == CHAT_EXTRA)
        return !(*s->shared->touched && pipe_lists_tokens(ev));
    if (ev->kind == CHAT_ARGUMENTS && mark == PIPE_AS_SENT && s->called)
        return true;
    if (!pipe_is_opaque(ev))
        return !pipe_is_content(ev) || !pipe_cap_is_late(s);
    return !s->continued && s->shared->options->at_cap < PIPE_STOP &&
           !(ev->kind == CHAT_SIGNATURE && s->cut_block == ev->block + 1 &&
             ev->dialect != CHAT_RESPONSES && ev->dialect != CHAT_GEMINI);
}

void pipe_cap_feed(struct pipe_cap *s, const struct chat_event *ev, enum pipe_mark mark)
{
    assert(mark != PIPE_BEYOND_CAP || ev->kind == CHAT_REASONING);
    assert(mark == PIPE_BEYOND_CAP || ev->kind != CHAT_REASONING || s->state == PIPE_UNDER);
    if ((mark == PIPE_BEYOND_CAP || s->state != PIPE_UNDER) && !pipe_cap_allows(s, ev, mark)) {
        *s->shared->touched = true;
        return;
    }
    if (ev->kind == CHAT_TEXT || ev->kind == CHAT_REFUSAL) {
        s->answer_size += ev->text.n;
        s->answered = s->answered || !str_is_blank(ev->text);
    } else if (ev->kind == CHAT_CALL) {
        s->called = true;
    } else if (ev->kind == CHAT_ARGUMENTS) {
        s->arguments_size += ev->text.n;
    } else if (ev->kind == CHAT_OPAQUE && !ev->summary) {
        s->answered = s->answered || !pipe_is_beside(ev);
    }
    pipe_redact_feed(s->next, ev, mark);
}
