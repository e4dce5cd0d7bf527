/* client.c - puts what a run's caller sends into its log: results of the caller's tools, and the
 * caller's note.
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
                       const struct agent_effect *f, struct arena *a, struct err *e)
{
    struct agent_effect both[2] = {*f, *f};

    assert(f->state != AGENT_DONE && str_eq(f->kind, STR("client")));
    both[0].result = mask_json_kept(r->mask, r->result, a);
    both[0].failed = r->failed;
    both[0].state = AGENT_DONE;
    both[0].care = AGENT_ON_DISK;
    both[0].ended_us = r->now_us;
    both[0].outside = true;
    both[1] = both[0];
    both[1].seq += AGENT_SAID_SEQ;
    both[1].kind = STR("note");
    both[1].name = STR("user");
    both[1].request = STR("");
    both[1].failed = false;
    both[1].result = r->said.n ? mask_json_kept(r->mask, r->said, a) : STR("");
    return agent_log_put(log, both, r->said.n ? 2 : 1, e);
}

/* If the last two results arrive at once, each may still see the other call open. So the second one
 * checks again and wakes the run. */
static bool client_wake(struct agent_log *log, const struct agent_client_result *r, struct arena *a,
                        struct err *e)
{
    struct agent_effect *all;
    size_t n;

    if (!agent_log_read(log, r->run, a, &all, &n, e))
        return false;
    return agent_client_open(all, n) > 0 || run_wake(log, r->run, a, r->now_us, e);
}

size_t agent_client_open(const struct agent_effect *all, size_t n)
{
    size_t open = 0;

    for (size_t i = 0; i < n; i++)
        open += all[i].state != AGENT_DONE && str_eq(all[i].kind, STR("client"));
    return open;
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
    if (ok && f) {
        *already = f->state == AGENT_DONE;
        /* The run is woken before its last result is put: if the process ends in between, the next
         * start resumes the run, and it waits once more. */
        if (!*already)
            ok = (agent_client_open(all, n) > 1 || run_wake(log, r->run, &a, r->now_us, e)) &&
                 client_put(log, r, f, &a, e) && client_wake(log, r, &a, e);
    }
    arena_release(&a);
    return ok;
}

bool agent_run_note(struct agent_log *log, str run, str text, struct arena *a, str *out,
                    struct err *e)
{
    struct agent_effect old, note = {.run = run,
                                     .seq = CALLER_SEQ,
                                     .kind = STR("note"),
                                     .name = STR(NOTE_NAME),
                                     .key = STR(NOTE_NAME),
                                     .request = STR(""),
                                     .result = text,
                                     .care = AGENT_SAFE,
                                     .state = AGENT_DONE};

    *out = text;
    if (!log)
        return true;
    if (agent_log_effect_get(log, run, CALLER_SEQ, a, &old, e)) {
        *out = old.result;
        return true;
    }
    return e->code == ERR_NOT_FOUND && (!text.n || agent_log_put(log, &note, 1, e));
}
