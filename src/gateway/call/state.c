/* state.c - the table of a call's states, and the events that arrive in them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/state.h"

#include "gateway/call/internal.h"

#define STATE(s) (1u << CALL_##s)
#define ASKING (STATE(CONNECTING) | STATE(REFUSED) | CALL_READING)
#define REPLY_EVENTS                                                                               \
    .on_bytes = call_reply_bytes, .on_end = call_reply_end, .on_error = call_reply_error

const struct call_state_row call_states[CALL_STATE_COUNT] = {
    [CALL_PLANNED] = {"planned", .on_timer = call_admit},
    [CALL_MASKING] = {"masking", STATE(PLANNED), .on_leave = call_mask_request_cancel},
    [CALL_CONNECTING] = {"connecting",
                         STATE(PLANNED) | STATE(MASKING) | STATE(RETRYING) | ASKING,
                         .on_head = call_reply_head,
                         .on_error = call_reply_error},
    [CALL_REFUSED] = {"refused",
                      STATE(CONNECTING),
                      .on_bytes = call_error_bytes,
                      .on_end = call_error_reply,
                      .on_error = call_reply_error},
    [CALL_STREAMING] = {"streaming",
                        STATE(CONNECTING) | STATE(CUTTING) | STATE(REPAIRING),
                        .on_timer = call_reply_silent,
                        REPLY_EVENTS},
    [CALL_CUTTING] = {"cutting",
                      STATE(STREAMING) | STATE(REPAIRING),
                      REPLY_EVENTS,
                      .on_leave = call_control_stop},
    [CALL_REPAIRING] = {"repairing", STATE(STREAMING) | STATE(REPAIRING), REPLY_EVENTS},
    [CALL_LINGERING] = {"lingering",
                        STATE(STREAMING),
                        .on_timer = call_reply_complete,
                        REPLY_EVENTS},
    [CALL_RETRYING] = {"retrying", ASKING, .on_timer = call_attempt},
    [CALL_FAILING] = {.name = "failing", .from = STATE(PLANNED) | STATE(CONNECTING)},
    [CALL_COMMITTING] = {.name = "committing", .from = STATE(COMMITTING) - 1},
    [CALL_DONE] = {.name = "done", .from = STATE(COMMITTING)},
};

void call_enter_state(struct call *c, enum call_state to)
{
    const struct call_state_row *row = &call_states[c->state];

    assert(c->state < CALL_STATE_COUNT && to < CALL_STATE_COUNT);
    assert(call_states[to].from & 1u << c->state);
    if (c->timer.slot)
        loop_timer_clear(c->gl->loop, &c->timer);
    if (row->on_leave)
        row->on_leave(c);
    assert(!c->timer.slot); /* on_leave sets no timer of the next state */
    c->state = to;
}

/* ---- events ---- */

static void call_on_timer(void *ctx)
{
    struct call *c = ctx;

    assert(call_states[c->state].on_timer);
    call_states[c->state].on_timer(c);
}

void call_init_state(struct call *c)
{
    loop_timer_init(&c->timer, call_on_timer, c);
    c->upstream.handler = NULL;
    c->frames.sink.on_frame = NULL;
    c->decoder.wire = NULL;
}

void call_set_timer(struct call *c, uint64_t ms)
{
    assert(call_states[c->state].on_timer);
    assert(c->state < CALL_STATE_COUNT);
    loop_timer_set(c->gl->loop, &c->timer, ms);
}

static void call_on_head(void *ctx, const struct upstream_head *head)
{
    struct call *c = ctx;

    assert(call_states[c->state].on_head);
    call_states[c->state].on_head(c, head);
}

static void call_on_bytes(void *ctx, str bytes)
{
    struct call *c = ctx;

    assert(call_states[c->state].on_bytes);
    call_states[c->state].on_bytes(c, bytes);
}

static void call_on_end(void *ctx)
{
    struct call *c = ctx;

    assert(call_states[c->state].on_end);
    call_states[c->state].on_end(c);
}

static void call_on_error(void *ctx, const struct err *e)
{
    struct call *c = ctx;

    assert(call_states[c->state].on_error);
    call_states[c->state].on_error(c, e);
}

const struct upstream_handler call_upstream_handler = {
    call_on_head, call_on_bytes, call_on_end, call_on_error, call_on_rest};
