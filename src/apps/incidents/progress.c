/* progress.c - the progress of an investigation and the approvals it waits for, from the rows of
 * its runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_json.h"
#include "apps/incidents/engine.h"
#include "base/json_get.h"

/* ---- stages ---- */

/* Appends the row of one agent to the list. */
static str incident_write_agent(struct json_out *o, struct agent_log *log,
                                const struct incident_agent *agent, str label, str run,
                                struct arena *a)
{
    struct agent_row row;
    struct json doc;
    struct err e;
    bool there = agent_log_run_get(log, run, a, &row, &e);
    const struct json_node *r = NULL;
    static const char *const copied[] = {"model_calls", "tool_calls", "tokens"};

    json_init(&doc);
    if (there && row.result.n && json_parse(&doc, row.result, &e))
        r = json_root(&doc);
    json_out_object(o);
    json_member_str(o, "name", label);
    json_member_str(o, "run_id", run);
    json_member_str(o, "strategy", str_c(incident_strategies[agent->strategy]));
    json_member_str(o, "status", there ? row.status : STR("pending"));
    json_member_str(o, "reason", there ? row.reason : STR(""));
    for (size_t i = 0; i < COUNT_OF(copied); i++) {
        const struct json_node *v = json_find(&doc, r, str_c(copied[i]));

        json_member_raw(o, copied[i], v ? json_raw(&doc, v) : i < 2 ? STR("0") : STR("null"));
    }
    json_member_str(o, "analysis", r ? json_copy_text(&doc, r, "text", a) : STR(""));
    json_out_end(o);
    json_release(&doc);
    return there ? row.status : STR("pending");
}

/* The state of a stage from those of its agents: it runs as long as one of them does. */
static str stage_status(const str *states, size_t n, bool all)
{
    size_t pending = 0, good = 0, cancelled = 0, waiting = 0;

    assert(n > 0);
    for (size_t i = 0; i < n; i++) {
        if (str_eq(states[i], STR("running")))
            return states[i];
        pending += str_eq(states[i], STR("pending"));
        waiting += str_eq(states[i], STR("waiting"));
        cancelled += str_eq(states[i], STR("cancelled"));
        good += str_eq(states[i], STR("done")) || str_eq(states[i], STR("stopped"));
    }
    if (pending == n)
        return STR("pending");
    if (waiting)
        return STR("waiting");
    if (cancelled)
        return STR("cancelled");
    return pending ? STR("running") : good == n || (good && !all) ? STR("done") : STR("failed");
}

bool incident_stages(const struct incident_setup *s, struct agent_log *log, str run, str alert_type,
                     struct buf *out, struct err *e)
{
    const struct incident_chain *c = setup_chain(s, alert_type);
    struct json_out o;
    struct arena a;

    arena_init(&a, INCIDENT_ARENA);
    json_out_init(&o, out);
    json_out_array(&o);
    for (size_t i = 0; c && i < c->stage_count; i++) {
        const struct config_stage *t = &c->stages[i];
        str states[CONFIG_STAGE_AGENTS_MAX];

        assert(t->agent_count <= CONFIG_STAGE_AGENTS_MAX);
        json_out_object(&o);
        json_member_str(&o, "name", t->name);
        json_member_array(&o, "agents");
        for (size_t j = 0; j < t->agent_count; j++)
            states[j] = incident_write_agent(&o,
                                             log,
                                             &s->agents[t->agents[j]],
                                             t->labels[j],
                                             agent_team_run(&a, run, t->name, t->labels[j]),
                                             &a);
        json_out_end(&o);
        json_member_str(&o, "status", stage_status(states, t->agent_count, t->all));
        json_out_end(&o);
    }
    json_out_end(&o);
    arena_release(&a);
    return json_out_ok(&o, e);
}

/* ---- waiting approvals ---- */

str incident_of_part(str run, str *last)
{
    size_t slash = str_find_last(run, '/'), from = slash == STR_NONE ? 0 : slash + 1;

    *last = str_slice(run, from, run.n);
    return str_slice(run, 0, from > 0 ? slash : 0);
}

#define ANSWERED (-1) /* the seq of a question that is answered already */

typedef bool on_waiting(void *ctx, const struct agent_row *row, const struct agent_effect *f,
                        struct err *e);

/* Each waiting run of the investigation, with its question. Runs are found by session and name, so
 * neither a changed configuration of agents nor the number of other runs matters. */
static bool incident_each_waiting(struct agent_log *log, str run, on_waiting *on, void *ctx,
                                  struct err *e)
{
    struct agent_rows parts = {0};
    struct agent_effect question;
    struct agent_row top;
    struct arena a;
    bool ok;

    arena_init(&a, INCIDENT_ARENA);
    ok = agent_log_run_get(log, run, &a, &top, e)
             ? agent_log_parts(log, run, top.session_id, &a, &parts, e)
             : e->code == ERR_NOT_FOUND;
    for (size_t i = 0; ok && i < parts.n; i++) {
        const struct agent_row *row = &parts.at[i];
        struct err none;

        if (!str_eq(row->status, STR("waiting")) || !str_eq(row->app, STR("incidents.agent")))
            continue;
        if (!agent_log_question(log, row->id, &a, &question, &none))
            question.seq = ANSWERED;
        ok = on(ctx, row, &question, e);
    }
    arena_release(&a);
    return ok;
}

static bool incident_progress_write_question(void *ctx, const struct agent_row *row,
                                             const struct agent_effect *f, struct err *e)
{
    struct json_out *o = ctx;
    str agent = row->id, stage = incident_of_part(row->id, &agent);

    (void)e;
    if (f->seq == ANSWERED)
        return true;
    run_json_question(o, f, false);
    (void)incident_of_part(stage, &stage);
    json_member_str(o, "stage", stage);
    json_member_str(o, "agent", agent);
    json_out_end(o);
    return true;
}

bool incident_pending(struct agent_log *log, str run, struct buf *out, struct err *e)
{
    struct json_out o;

    json_out_init(&o, out);
    json_out_array(&o);
    if (!incident_each_waiting(log, run, incident_progress_write_question, &o, e))
        return false;
    json_out_end(&o);
    return json_out_ok(&o, e);
}

struct dropping {
    struct agent_log *log;
    int64_t now_us;
};

static bool incident_cancel_row(const struct dropping *d, struct agent_row row, struct err *e)
{
    row.status = row.reason = STR("cancelled");
    row.updated_us = d->now_us;
    return agent_log_run_put(d->log, &row, e);
}

static bool incident_drop_one(void *ctx, const struct agent_row *row, const struct agent_effect *f,
                              struct err *e)
{
    const struct dropping *d = ctx;

    return (f->seq == ANSWERED || agent_answer(d->log,
                                               row->id,
                                               f->seq,
                                               &(struct agent_decision){.word = AGENT_DENY,
                                                                        .arguments = STR(""),
                                                                        .note = STR(""),
                                                                        .who = STR("cancel"),
                                                                        .now_us = d->now_us},
                                               e)) &&
           incident_cancel_row(d, *row, e);
}

bool incident_drop(struct agent_log *log, str run, int64_t now_us, struct err *e)
{
    struct dropping d = {log, now_us};
    struct agent_row row;
    struct arena a;
    bool ok;

    arena_init(&a, INCIDENT_ARENA);
    ok = incident_each_waiting(log, run, incident_drop_one, &d, e);
    if (ok && agent_log_run_get(log, run, &a, &row, e) && str_eq(row.status, STR("running")))
        ok = incident_cancel_row(&d, row, e);
    arena_release(&a);
    return ok;
}
