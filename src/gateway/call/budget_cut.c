/* budget_cut.c - ends reasoning that has passed its cap.
 *
 * The request already carries the provider's own budget where it has one (plan.c), so most replies
 * never get here. When our count passes the cap, there are three ways, the best first:
 *
 *     control    asks the provider to end its reasoning (control.c) and the reply continues
 *     prefill    the reply is dropped; a second call continues from the reasoning so far
 *     restate    the same where the provider takes no prefill: the reasoning is quoted (plan.c)
 *
 * Control falls back to a second call if the provider refuses, ignores or misses it. A reply that
 * came whole, or that continues because another choice has its answer, is truncated at the cap
 * instead: everything but the reasoning stays, and there is no second call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"

void call_drop_end_events(struct pipe *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->count; i++)
        if (p->events[i].kind != CHAT_STOP && p->events[i].kind != CHAT_USAGE &&
            p->events[i].kind != CHAT_END)
            p->events[n++] = p->events[i];
    assert(n <= p->count);
    p->touched |= n != p->count;
    p->count = n;
}

/* Over the cap after a tool call: there is nothing to ask for, so the turn ends with the call. */
static void cut_end_with_tool_call(struct call *c)
{
    struct chat_usage u = c->reply.usage;
    int64_t made = pipe_output_tokens(&c->pipe);

    assert(c->pipe.cap.called && made >= 0);
    u.input = u.input < 0 ? call_count_input(c) : u.input;
    u.output = u.output < made ? made : u.output;
    u.reasoning = pipe_reasoning_tokens(&c->pipe);
    u.raw = STR("");
    call_on_event(c, &(struct chat_event){.kind = CHAT_STOP, .stop = CHAT_STOP_TOOL});
    call_on_event(c, &(struct chat_event){.kind = CHAT_USAGE, .usage = &u});
    call_on_event(c, &(struct chat_event){.kind = CHAT_END});
    call_deliver_events(c, NULL);
    c->sum.complete = true;
    call_finish(c);
}

/* Drops the rest of the reply. */
static void cut_release_reply(struct call *c)
{
    assert(c->sum.cut && call_is_reading(c));
    assert(c->attempt.phase == CALL_FIRST);
    call_record_events(c);
    call_drop_end_events(&c->pipe);
    c->reply.end_seen = false;
    call_hang_up(c, true);
    if (c->pipe.cap.called) {
        cut_end_with_tool_call(c);
        return;
    }
    call_deliver_events(c, NULL);
    call_ask_second(c, CALL_CUT);
}

/* Waits for the reasoning to end after a control call. False: it did not, and the reply was
 * dropped. */
static bool cut_await_end(struct call *c)
{
    bool over = c->reply.stop_seen || c->reply.end_seen;

    assert(c->state == CALL_CUTTING && c->control);
    if (pipe_resumes(&c->pipe) || (over && !c->reply.error_seen && c->pipe.cap.answered)) {
        call_enter_state(c, CALL_STREAMING);
        return true;
    }
    if (!over && !c->reply.error_seen && !call_control_ignored(c)) {
        call_deliver_events(c, NULL);
        return true;
    }
    if (!over && !c->reply.error_seen)
        call_control_gave_up(c, STR("it went on thinking"));
    cut_release_reply(c);
    return false;
}

bool call_cut_reasoning(struct call *c)
{
    assert(call_is_reading(c) && c->state != CALL_LINGERING);
    if (c->state == CALL_CUTTING)
        return cut_await_end(c);
    pipe_clear_over(&c->pipe);
    c->sum.cut = true;
    c->attempt.relays = false; /* the frame as it came says more than is to be said now */
    if (call_control_ask(c))
        return cut_await_end(c);
    cut_release_reply(c);
    return false;
}

void call_note_truncated(struct call *c)
{
    assert(call_is_reading(c) && c->state != CALL_CUTTING);
    if (!c->sum.cut)
        call_note_attempt(c, "cut, truncated", STR("the cap was passed"));
    if (!c->sum.cut_action.n)
        c->sum.cut_action = STR("truncate");
    c->sum.cut = true;
}

void call_cut_now(struct call *c)
{
    assert(c->state == CALL_CUTTING);
    assert(c->control);
    pipe_begin(&c->pipe);
    call_record_begin_frame(c);
    cut_release_reply(c);
}
