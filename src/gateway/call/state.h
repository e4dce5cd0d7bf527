/* state.h - the states of a call, and which of them may follow which.
 *
 *     planned --slow mask--> masking
 *        |                      |
 *        +----------+-----------+
 *                   v
 *     +-------> connecting --head 4xx, 5xx--> refused
 *     |             | head 2xx
 *     |             v            --cap passed, provider told--> cutting
 *     |         streaming        <--answer---------------------
 *     |             |            --reply without an answer----> repairing
 *     |             | last event
 *     |             v
 *     |         lingering
 *     |
 *     +-- streaming, cutting   the cap was passed: a second call continues
 *     +-- repairing            a second call asks for the answer
 *     +-- a failed attempt     without the refused parameter, or at the next provider
 *     +-- retrying             the same after a pause
 *
 *     planned, connecting --no provider can be asked--> failing
 *     any of these --last event delivered, error reported, cancelled--> committing --> done
 *
 * The table in state.c is the only place that says what an event does in a state: a timer that ran
 * out, or the upstream's head, bytes, end or error. The actions then change the state with
 * call_enter_state. A change that the table does not have is a bug, and asserts. Each change clears
 * the call's timer, and leaving a state cancels the work that belongs to that state alone.
 *
 * Orthogonal to the state is the phase (parts.h): the first request, or a second one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct call;
struct upstream_head;

enum call_state {
    CALL_PLANNED,    /* waits for its turn, the store or its key's limits */
    CALL_MASKING,    /* another thread masks the request for the record */
    CALL_CONNECTING, /* a request was sent, or is being written */
    CALL_REFUSED,    /* an error reply is being read */
    CALL_STREAMING,  /* a reply is being read, in one piece or in many */
    CALL_CUTTING,    /* the same, and the provider was asked to end its reasoning */
    CALL_REPAIRING,  /* the same, and it has ended without an answer: its usage may follow */
    CALL_LINGERING,  /* the reply is complete; its connection gets a moment to end properly */
    CALL_RETRYING,   /* waits before the next attempt */
    CALL_FAILING,    /* its error is reported once the caller has returned */
    CALL_COMMITTING, /* its row is being written to the store */
    CALL_DONE,       /* stored; freed when on_end returns */
    CALL_STATE_COUNT,
};

#define CALL_READING /* bits: frames and decoder are in use */                                     \
    (1u << CALL_STREAMING | 1u << CALL_CUTTING | 1u << CALL_REPAIRING | 1u << CALL_LINGERING)

/* One row for each state. An event without an action cannot happen in that state. */
struct call_state_row {
    const char *name;
    unsigned from;                    /* bits of the states that may come before it */
    void (*on_timer)(struct call *c); /* the call's timer ran out */
    void (*on_head)(struct call *c, const struct upstream_head *head);
    void (*on_bytes)(struct call *c, str bytes);
    void (*on_end)(struct call *c);
    void (*on_error)(struct call *c, const struct err *e);
    void (*on_leave)(struct call *c); /* before the state changes */
};

extern const struct call_state_row call_states[CALL_STATE_COUNT];

/* Asserts that the table allows it. */
void call_enter_state(struct call *c, enum call_state to);
/* The call enters a state in which its timer runs out after `ms`. */
void call_set_timer(struct call *c, uint64_t ms);
