/* admit.c - delays new calls while the store lags.
 *
 * A call is not started if it cannot be recorded: nobody pays for an answer that is not given.
 * While the tables lag, new calls wait, the longer the more of the journal is in use: not at all at
 * its soft mark, and all of `journal.wait` at its ceiling. A call that meets the ceiling after the
 * whole wait gets 503 with Retry-After. With `unrecorded: pass` no call waits.
 *
 * After a start with a long journal, calls of keys with `spend_usd` wait the same way until the
 * spending of their keys is known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"

#define LOOK_MS 20u /* a call that waits looks at the store so often */

static bool admit_refuse(struct gateway_loop *gl, struct arena *a, const struct err *e,
                         struct chat_error *error)
{
    assert(e->code != ERR_NONE);
    metrics_reject(gl->metrics, e->code == ERR_SYSTEM ? METRICS_DISK : METRICS_QUEUE_FULL);
    call_refuse(error, a, 503, "not_recorded", e);
    error->message = arena_printf(
        a, "the call cannot be recorded, so it is not sent to a provider: %s", e->text);
    error->retry_after_ms = CALL_UNRECORDED_MS;
    return false;
}

/* Calls wait for a store that lags, not for one that has failed. */
bool call_admit_begin(struct gateway_loop *gl, const struct config *c, struct arena *a,
                      struct chat_error *error)
{
    struct store *s = gl->gateway->store;
    struct err e;

    if (c->unrecorded == CONFIG_PASS || store_takes(s, &e) ||
        (c->journal_wait_ms > 0 && store_pressure(s) == STORE_PRESSURE_MAX))
        return true;
    return admit_refuse(gl, a, &e, error);
}

bool call_admit_knows_spent(const struct call *c)
{
    return !c->in.key || c->in.key->spend_usd < 0 || recall_known(c->gl->gateway->recall);
}

/* A key with a spending limit waits until its earlier spending is known; its limits were not
 * checked before. */
static bool admit_limits(struct call *c, uint64_t waited_ms)
{
    struct err e;

    assert(c->state == CALL_PLANNED);
    if (!c->in.key || c->wanted.now_ns)
        return true;
    if (call_admit_knows_spent(c)) {
        call_make_failure(c);
        if (call_limits_ok(c, &c->arena, &c->failure->error))
            return true;
        call_fail_soon(c);
    } else if (waited_ms < c->config->journal_wait_ms) {
        call_set_timer(c, LOOK_MS);
    } else {
        err_set(&e, ERR_LIMIT, "the key's earlier spending is still being read: try again");
        call_make_failure(c);
        call_refuse(&c->failure->error, &c->arena, 503, "spend_not_known", &e);
        c->failure->error.retry_after_ms = CALL_UNRECORDED_MS;
        call_fail_soon(c);
    }
    return false;
}

void call_admit(struct call *c)
{
    struct gateway_loop *gl = c->gl;
    struct store *s = gl->gateway->store;
    uint64_t waited_ms = (loop_now_ns(gl->loop) - c->in.start_ns) / CLOCK_NS_PER_MS;
    struct err e;

    assert(c->state == CALL_PLANNED);
    if (!admit_limits(c, waited_ms))
        return;
    if (c->config->unrecorded != CONFIG_PASS) {
        if (waited_ms < c->config->journal_wait_ms * store_pressure(s) / STORE_PRESSURE_MAX) {
            call_set_timer(c, LOOK_MS);
            return;
        }
        if (!store_takes(s, &e)) {
            call_make_failure(c);
            (void)admit_refuse(gl, &c->arena, &e, &c->failure->error);
            call_fail_soon(c);
            return;
        }
    }
    if (call_mask_request(c))
        call_attempt(c);
}
