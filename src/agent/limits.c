/* limits.c - counts what a run uses, and ends it at a limit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_state.h"

#include "base/sha256.h"

#define CALLS_MAX ((size_t)64 << 20)

void agent_result_add_usage(struct agent_result *to, const struct agent_result *from)
{
    to->iterations += from->iterations;
    to->model_calls += from->model_calls;
    to->tool_calls += from->tool_calls;
    to->input_tokens += from->input_tokens;
    to->output_tokens += from->output_tokens;
    to->reasoning_tokens += from->reasoning_tokens;
    to->cost_usd += from->cost_usd;
}

bool run_stop(struct run *r, const char *reason, str detail)
{
    assert(reason[0]);
    r->out->end = AGENT_STOPPED;
    r->out->reason = str_c(reason);
    r->out->detail = detail;
    return false;
}

/* The time since the first start, without waits for people or the caller. */
int64_t run_spent_ms(const struct run *r)
{
    int64_t ms = (run_now_us(r) - r->created_us - r->waited_us) / 1000;

    assert(r->waited_us >= 0);

    return ms > 0 ? ms : 0;
}

int64_t run_time_left_ms(const struct run *r)
{
    int64_t left = (int64_t)r->o->limits.time_ms - run_spent_ms(r);

    if (!r->o->limits.time_ms || r->o->replay || r->concluding)
        return 0;
    return left > 0 ? left : 1;
}

bool run_is_late(const struct run *r)
{
    return r->o->limits.time_ms && !r->o->replay && !r->concluding &&
           run_spent_ms(r) >= (int64_t)r->o->limits.time_ms;
}

bool run_stop_late(struct run *r)
{
    return run_stop(r,
                    "time_limit_exceeded",
                    arena_printf(r->arena,
                                 "the run took %lld of %llu ms",
                                 (long long)run_spent_ms(r),
                                 (unsigned long long)r->o->limits.time_ms));
}

/* Whether the log has another effect here, so the run did not end. */
static bool agent_run_went_on(const struct run *r)
{
    const struct agent_effect *next = effect_at(r, r->seq);

    return next && next->state == AGENT_DONE && !settle_is(next);
}

bool run_replay_ends(struct run *r)
{
    if (!r->o->replay || agent_run_went_on(r))
        return false;
    if (str_eq(r->was, STR("time_limit_exceeded")) ||
        str_eq(r->was, STR("memory_limit_exceeded"))) {
        r->out->end = AGENT_STOPPED;
        r->out->reason = r->was;
        r->out->detail = STR("as recorded");
        return true;
    }
    if (!str_eq(r->was, STR("cancelled")))
        return false;
    r->out->end = AGENT_CANCELLED;
    r->out->reason = STR("cancelled");
    return true;
}

bool run_stop_full(struct run *r)
{
    assert(buf_full(&r->history.json));
    return run_stop(r,
                    "memory_limit_exceeded",
                    arena_printf(r->arena,
                                 "the history of the run is larger than %zu MB",
                                 r->history.json.size_max >> 20));
}

/* A turn may take as much memory as all turns before it, because calls run at once and each has a
 * result. So half of the run's memory is reserved for the next turn. */
static bool agent_run_fits_memory(struct run *r)
{
    if (buf_full(&r->history.json))
        return run_stop_full(r);
    if (arena_left(r->arena) >= r->arena->size_max / 2 || r->o->replay || agent_run_went_on(r))
        return true;
    return run_stop(r,
                    "memory_limit_exceeded",
                    arena_printf(r->arena,
                                 "the results and replies of the run have more than %zu MB",
                                 (r->arena->size_max / 2) >> 20));
}

bool run_within(struct run *r)
{
    const struct agent_limits *l = &r->o->limits;
    int64_t used = r->out->input_tokens + r->out->output_tokens;
    int64_t tokens = l->tokens ? l->tokens : AGENT_TOKENS;

    assert(used >= 0 && !r->concluding);
    if (run_replay_ends(r))
        return false;
    if (run_cancelled(r)) {
        run_fail(r, &(struct chat_error){.message = STR("the run was cancelled")});
        return false;
    }
    if (tokens > 0 && used >= tokens) {
        r->out->over_budget = true;
        if (l->tokens_hard)
            return run_stop(
                r,
                "token_budget_exceeded",
                arena_printf(
                    r->arena, "%lld of %lld tokens were used", (long long)used, (long long)tokens));
    }
    if (l->cost_usd > 0 && r->out->cost_usd >= l->cost_usd)
        return run_stop(
            r,
            "cost_limit_exceeded",
            arena_printf(
                r->arena, "%.4f of %.4f dollars were used", r->out->cost_usd, l->cost_usd));
    /* A logged result was in time: a resumed run takes the same course. */
    if (run_is_late(r) && !agent_run_went_on(r))
        return run_stop_late(r);
    return agent_run_fits_memory(r);
}

/* ---- loops ---- */

/* How often the last `period` turns were repeated in a row. */
static unsigned agent_run_rounds(const struct run *r, size_t period)
{
    size_t same = 0;

    assert(period > 0);
    while (same + period < COUNT_OF(r->called) && r->called[same + period] &&
           r->called[same] == r->called[same + period])
        same++;
    return (unsigned)(same / period) + 1;
}

/* Ends a run that repeats the same calls with the same arguments, in each turn or in a cycle of a
 * few turns. */
bool run_makes_progress(struct run *r, const struct ask_reply *reply)
{
    unsigned repeats = 0, max = r->o->limits.repeats ? r->o->limits.repeats : AGENT_REPEATS;
    uint8_t digest[SHA256_SIZE];
    struct sha256 h;
    struct buf now;

    buf_init(&now, CALLS_MAX);
    for (size_t i = 0; i < reply->call_count; i++) {
        buf_add(&now, reply->calls[i].name);
        buf_add_c(&now, '\0');
        tool_canonical(&now, reply->calls[i].arguments);
        buf_add_c(&now, '\0');
    }
    sha256_init(&h);
    sha256_feed(&h, buf_str(&now));
    sha256_finish(&h, digest);
    buf_release(&now);
    assert(reply->call_count > 0);
    memmove(&r->called[1], &r->called[0], sizeof r->called - sizeof r->called[0]);
    memcpy(&r->called[0], digest, sizeof r->called[0]);
    for (size_t period = 1; period <= RUN_LOOP_MAX && repeats <= max; period++)
        repeats = agent_run_rounds(r, period);
    return repeats <= max ||
           run_stop(r,
                    "loop_detected",
                    arena_printf(r->arena, "the same calls were made %u times in a row", max + 1));
}
