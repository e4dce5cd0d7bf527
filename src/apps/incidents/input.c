/* input.c - the options of an investigation as JSON and back, and how far it is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/engine.h"
#include "base/json.h"

static const char *const strategies[] = {"", "classic", "react", "native", NULL};
static const char *const switches[] = {"", "on", "off", NULL};

/* ---- options ---- */

static void member(struct json_out *o, const char *name, str text)
{
    json_out_key(o, str_c(name));
    json_out_str(o, text);
}

void incident_input_write(const struct incident_options *o, struct buf *out)
{
    struct json_out j;

    json_out_init(&j, out);
    json_out_object(&j);
    json_out_key(&j, STR("alert"));
    json_out_object(&j);
    member(&j, "alert_id", o->alert.id);
    member(&j, "alert_type", o->alert.alert_type);
    member(&j, "severity", o->alert.severity);
    member(&j, "environment", o->alert.environment);
    member(&j, "runbook", o->alert.runbook);
    json_out_key(&j, STR("timestamp"));
    json_out_i64(&j, o->alert.timestamp_us);
    /* As it came, byte for byte: the prompts are made of it. */
    member(&j, "data", o->alert.data);
    json_out_end(&j);
    member(&j, "run", o->run);
    member(&j, "session", o->session);
    member(&j, "runbook_text", o->runbook_text);
    member(&j, "model", o->model);
    member(&j, "prompt_id", o->prompt_id);
    member(&j, "strategy", str_c(strategies[o->strategy]));
    member(&j, "reasoning", str_c(switches[o->reasoning]));
    json_out_end(&j);
}

static str text_at(const struct json *doc, const struct json_node *v, const char *key,
                   struct arena *a)
{
    str s;

    return json_text(doc, json_find(doc, v, str_c(key)), a, &s) ? arena_dup(a, s) : STR("");
}

static size_t word_at(const struct json *doc, const char *key, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (json_is(doc, json_find(doc, json_root(doc), str_c(key)), str_c(words[i])))
            return i;
    return 0;
}

bool incident_input_read(str json, struct arena *a, struct incident_options *out, struct err *e)
{
    const struct json_node *root, *alert;
    struct json doc;

    json_init(&doc);
    if (!json_parse(&doc, json, e)) {
        json_release(&doc);
        return err_prefix(e, "the input of the run: ");
    }
    root = json_root(&doc);
    alert = json_find(&doc, root, STR("alert"));
    *out = (struct incident_options){
        .alert = {.id = text_at(&doc, alert, "alert_id", a),
                  .alert_type = text_at(&doc, alert, "alert_type", a),
                  .severity = text_at(&doc, alert, "severity", a),
                  .environment = text_at(&doc, alert, "environment", a),
                  .runbook = text_at(&doc, alert, "runbook", a),
                  .data = text_at(&doc, alert, "data", a)},
        .run = text_at(&doc, root, "run", a),
        .session = text_at(&doc, root, "session", a),
        .runbook_text = text_at(&doc, root, "runbook_text", a),
        .model = text_at(&doc, root, "model", a),
        .prompt_id = text_at(&doc, root, "prompt_id", a),
        .strategy = (enum incident_strategy)word_at(&doc, "strategy", strategies),
        .reasoning = (enum incident_tri)word_at(&doc, "reasoning", switches)};
    if (!json_i64(&doc, json_find(&doc, alert, STR("timestamp")), &out->alert.timestamp_us))
        out->alert.timestamp_us = 0;
    json_release(&doc);
    return true;
}

/* ---- stages ---- */

/* What the row of one agent says, written into the list. */
static str write_agent(struct json_out *o, struct agent_log *log,
                       const struct incident_agent *agent, str label, str run, struct arena *a)
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
    member(o, "name", label);
    member(o, "strategy", str_c(strategies[agent->strategy]));
    member(o, "status", there ? row.status : STR("pending"));
    member(o, "reason", there ? row.reason : STR(""));
    for (size_t i = 0; i < COUNT_OF(copied); i++) {
        const struct json_node *v = json_find(&doc, r, str_c(copied[i]));

        json_out_key(o, str_c(copied[i]));
        json_out_raw(o, v ? json_raw(&doc, v) : i < 2 ? STR("0") : STR("null"));
    }
    member(o, "analysis", r ? text_at(&doc, r, "text", a) : STR(""));
    json_out_end(o);
    json_release(&doc);
    return there ? row.status : STR("pending");
}

/* Of the agents' states that of the stage: it runs as long as one does. */
static str stage_status(const str *states, size_t n, bool all)
{
    size_t pending = 0, good = 0, cancelled = 0;

    for (size_t i = 0; i < n; i++) {
        if (str_eq(states[i], STR("running")))
            return states[i];
        pending += str_eq(states[i], STR("pending"));
        cancelled += str_eq(states[i], STR("cancelled"));
        good += str_eq(states[i], STR("done")) || str_eq(states[i], STR("stopped"));
    }
    if (pending == n)
        return STR("pending");
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
        const struct incident_stage *t = &c->stages[i];
        str states[INCIDENT_REPLICAS_MAX];

        json_out_object(&o);
        member(&o, "name", t->name);
        json_out_key(&o, STR("agents"));
        json_out_array(&o);
        for (size_t j = 0; j < t->agent_count; j++)
            states[j] = write_agent(&o,
                                    log,
                                    &s->agents[t->agents[j]],
                                    t->labels[j],
                                    arena_printf(&a,
                                                 STR_FMT "/" STR_FMT "/" STR_FMT,
                                                 STR_ARG(run),
                                                 STR_ARG(t->name),
                                                 STR_ARG(t->labels[j])),
                                    &a);
        json_out_end(&o);
        member(&o, "status", stage_status(states, t->agent_count, t->all));
        json_out_end(&o);
    }
    json_out_end(&o);
    arena_release(&a);
    return json_out_ok(&o, e);
}
