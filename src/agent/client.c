/* client.c - what comes into the log of a run from its caller: results of the caller's tools, and
 * the caller's note.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_state.h"

#define ARENA_MAX ((size_t)1 << 30)
#define NOTE_NAME "caller"

static struct agent_effect *client_find_call(struct agent_effect *all, size_t n, str call_id)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(all[i].kind, STR("client")) && str_eq(all[i].key, call_id))
            return &all[i];
    return NULL;
}

static bool client_put(struct agent_log *log, const struct agent_client_result *r,
                       struct agent_effect *f, struct err *e)
{
    struct agent_effect done = *f;
    struct buf masked;
    bool ok;

    buf_init(&masked, 4 * r->result.n + 65536);
    done.result = r->result;
    if (r->mask && r->result.n && mask_json(r->mask, r->result, &masked, NULL))
        done.result = buf_str(&masked);
    done.failed = r->failed;
    done.state = AGENT_DONE;
    done.care = AGENT_ON_DISK;
    done.ended_us = r->now_us;
    ok = (!buf_full(&masked) || err_set(e, ERR_LIMIT, "the result is too large")) &&
         agent_log_put(log, &done, 1, e);
    buf_release(&masked);
    return ok;
}

bool agent_client_result(struct agent_log *log, const struct agent_client_result *r, bool *already,
                         struct err *e)
{
    struct agent_effect *all, *f;
    struct arena a;
    size_t n;
    bool ok;

    if (r->result.n > TOOL_RESULT_MAX)
        return err_set(e, ERR_LIMIT, "the result is larger than %zu bytes", TOOL_RESULT_MAX);
    arena_init(&a, ARENA_MAX);
    ok = agent_log_read(log, r->run, &a, &all, &n, e);
    f = ok ? client_find_call(all, n, r->call_id) : NULL;
    if (ok && !f)
        ok = err_set(e,
                     ERR_NOT_FOUND,
                     "the run has no call \"" STR_FMT "\" for its caller",
                     STR_ARG(str_slice(r->call_id, 0, 80)));
    if (ok) {
        *already = f->state == AGENT_DONE;
        ok = *already || (run_wake(log, r->run, &a, r->now_us, e) && client_put(log, r, f, e));
    }
    arena_release(&a);
    return ok;
}

bool agent_run_note(struct agent_log *log, str run, str text, struct arena *a, str *out,
                    struct err *e)
{
    struct agent_effect *all, note = {.run = run,
                                      .seq = CALLER_SEQ,
                                      .kind = STR("note"),
                                      .name = STR(NOTE_NAME),
                                      .key = STR(NOTE_NAME),
                                      .request = STR(""),
                                      .result = text,
                                      .care = AGENT_SAFE,
                                      .state = AGENT_DONE};
    size_t n;

    *out = text;
    if (!log)
        return true;
    if (!agent_log_read(log, run, a, &all, &n, e))
        return false;
    if (n && all[0].seq == CALLER_SEQ) {
        *out = all[0].result;
        return true;
    }
    return !text.n || agent_log_put(log, &note, 1, e);
}
