/* routes.c - the routes of agents and workflows: definitions, runs, events, results of tools.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/events.h"
#include "apps/agents/agents.h"
#include "gateway/config_build.h"

#define EVENTS_RETRY_MS 1000
#define RUNS_MAX 100                    /* in one answer */
#define RUN_SIZE_MAX ((size_t)64 << 20) /* of a run as JSON: larger than its request */

/* False after answering that runs are not on record. */
bool agents_app_ready(void *app, struct app_reply *r)
{
    bool record = ((struct agents_app *)app)->host.log != NULL;

    if (!record)
        app_fail(
            r, 503, "history_disabled", "agents need a store: set `store` in the configuration");
    return record;
}

/* ---- definitions ---- */

static void agents_list_definitions(struct agents_app *app, bool workflows, struct app_reply *r)
{
    struct setup *s = gateway_setup(app->host.gateway);
    const struct config_agents *c = s->config->agents;
    struct json_out o;

    app_reply_begin(r, &o, workflows ? "workflows" : "agents");
    for (size_t i = 0; !workflows && i < c->agent_count; i++)
        agents_write_definition(s->config, &c->agents[i], &o);
    for (size_t i = 0; workflows && i < c->workflow_count; i++)
        agents_write_workflow(s->config, &c->workflows[i], &o);
    app_reply_end(r, &o, true, NULL);
    setup_release(s);
}

static void agents_route_list(void *app, const struct app_request *q, struct app_reply *r)
{
    (void)q;
    agents_list_definitions(app, false, r);
}

static void agents_route_workflows(void *app, const struct app_request *q, struct app_reply *r)
{
    (void)q;
    agents_list_definitions(app, true, r);
}

static void agents_route_show(void *app, const struct app_request *q, struct app_reply *r)
{
    struct setup *s = gateway_setup(((struct agents_app *)app)->host.gateway);
    const struct config_agent *d = agents_find(s->config, q->parts[0]);
    struct json_out o;

    if (d) {
        json_out_init(&o, &r->body);
        agents_write_definition(s->config, d, &o);
    } else {
        app_fail(r,
                 404,
                 "not_found",
                 "there is no agent \"" STR_FMT "\"",
                 STR_ARG(str_slice(q->parts[0], 0, 80)));
    }
    setup_release(s);
}

/* ---- events ---- */

struct events_stream {
    struct app_reply *r;
    bool sent;
};

static void stream_event(void *ctx, const struct run_event *ev)
{
    struct events_stream *s = ctx;

    assert(ev->name[0] && ev->json.n > 0);
    s->sent = true;
    app_send_id(s->r, ev->name, ev->id, ev->json);
}

static struct run_asker route_asker(const struct app_request *q)
{
    return (struct run_asker){.key = q->operator_ ? STR("") : q->key,
                              .thoughts = q->sees_reasoning};
}

/* Streams until the run ends or waits. Does not wait for a run that another process has to
 * resume. */
static bool stream_run(struct agents_app *app, const struct app_request *q, str run,
                       struct app_reply *r, struct err *e)
{
    struct run_asker who = route_asker(q);
    struct run_cursor *c = run_cursor_new(q->last_event.n ? q->last_event : app_query(q, "after"));
    struct events_stream s = {.r = r};
    struct run_events_sink sink = {.thoughts = who.thoughts, .on_event = stream_event, .ctx = &s};
    enum run_state state = RUN_GOES_ON;
    uint64_t version = 0;
    bool active = true, ok = true;
    struct buf waiting;

    assert(run.n > 0 && app->host.log);
    app_send_retry(r, EVENTS_RETRY_MS);
    while (ok && state == RUN_GOES_ON && active && !atomic_load(q->cancel)) {
        active = agents_wait(app->runner, run, &version, q->cancel);
        ok = run_events_read(app->host.log, run, c, &sink, &state, e);
        active = active && !(app->host.leave && atomic_load(app->host.leave));
    }
    if (ok && state == RUN_ENDED)
        agents_wait_gone(app->runner, run);
    if (ok && state == RUN_WAITS) {
        buf_init(&waiting, RUN_SIZE_MAX);
        if (agents_write_run(app->host.log, run, &who, &waiting, e))
            app_send(r, "waiting", buf_str(&waiting));
        buf_release(&waiting);
    }
    run_cursor_free(c);
    return ok || s.sent;
}

static void agents_route_events(void *app, const struct app_request *q, struct app_reply *r)
{
    struct agents_app *x = app;
    struct run_asker who = route_asker(q);
    struct agent_row row;
    struct err e;

    if (!agents_find_run(x->host.log, q->parts[0], &who, q->arena, &row, &e) ||
        !stream_run(x, q, q->parts[0], r, &e))
        app_fail_err(r, &e);
}

/* ---- runs ---- */

struct run_options {
    struct agents_request request;
    bool stream, background;
};

static bool agents_read_flag(const struct json *doc, const char *name, bool *out, struct err *e)
{
    const struct json_node *v = json_find(doc, json_root(doc), str_c(name));

    *out = false;
    return !v || json_bool(v, out) || err_input(e, "%s: must be true or false", name);
}

static bool agents_read_run_text(const struct json *doc, const char *name, struct arena *a,
                                 str *out, struct err *e)
{
    const struct json_node *v = json_find(doc, json_root(doc), str_c(name));

    *out = STR("");
    if (!v || v->kind == JSON_NULL)
        return true;
    if (!json_text(doc, v, a, out))
        return err_input(e, "%s: must be a text", name);
    *out = arena_dup(a, *out);
    return true;
}

static bool agents_read_run_value(const struct json *doc, const char *name, enum json_kind kind,
                                  str *out, struct err *e)
{
    const struct json_node *v = json_find(doc, json_root(doc), str_c(name));

    assert(kind == JSON_ARRAY || kind == JSON_OBJECT);
    *out = STR("");
    if (!v || v->kind == JSON_NULL)
        return true;
    *out = json_raw(doc, v);
    return v->kind == kind ||
           err_input(e, "%s: must be %s", name, kind == JSON_ARRAY ? "a list" : "an object");
}

/* Each in our own form, or in that of Chat Completions. */
static bool agents_check_tools(const struct json *doc, struct err *e)
{
    const struct json_node *tools = json_find(doc, json_root(doc), STR("tools"));

    JSON_FOREACH_ITEM(t, doc, tools) {
        const struct json_node *f = json_find(doc, t, STR("function"));
        bool own = !f || f->kind != JSON_OBJECT;

        if (t->kind != JSON_OBJECT)
            continue; /* refused when it is read */
        if (!config_check_members(
                doc, t, own ? "name description parameters type strict" : "type function", e) ||
            (!own && !config_check_members(doc, f, "name description parameters strict", e)))
            return err_prefix(e, "tools: ");
    }
    return true;
}

static bool agents_routes_read_run(const struct app_request *q, const struct json *doc,
                                   struct run_options *out, struct err *e)
{
    struct agents_request *x = &out->request;

    return app_read_stream(q, doc, &out->stream, e) &&
           agents_read_flag(doc, "background", &out->background, e) &&
           agents_read_run_text(doc, "input", q->arena, &x->input, e) &&
           agents_read_run_text(doc, "thread", q->arena, &x->thread, e) &&
           agents_read_run_text(doc, "session", q->arena, &x->session, e) &&
           agents_read_run_value(doc, "metadata", JSON_OBJECT, &x->metadata, e) &&
           agents_read_run_value(doc, "tools", JSON_ARRAY, &x->tools, e) &&
           agents_check_tools(doc, e);
}

static void agents_answer_run(struct agents_app *app, const struct app_request *q, str run,
                              struct app_reply *r)
{
    struct run_asker who = route_asker(q);
    struct err e;

    assert(app->host.log && r->body.n == 0);
    if (!agents_write_run(app->host.log, run, &who, &r->body, &e))
        app_fail_err(r, &e);
}

/* A client that leaves does not end the run: it can be found by its id. */
static void agents_wait_and_answer(struct agents_app *app, const struct app_request *q, str run,
                                   struct app_reply *r)
{
    uint64_t version = 0;

    assert(run.n > 0 && q->cancel);
    while (agents_wait(app->runner, run, &version, q->cancel) && !atomic_load(q->cancel) &&
           !(app->host.leave && atomic_load(app->host.leave)))
        ;
    agents_answer_run(app, q, run, r);
}

static void agents_fail_run(struct app_reply *r, const struct err *e)
{
    assert(e->code != ERR_NONE);
    if (e->code == ERR_AUTH) {
        app_fail(r, 403, "model_not_allowed", "%s", e->text);
        return;
    }
    if (e->code != ERR_CANCELLED) {
        app_fail_err(r, e);
        return;
    }
    app_fail(r, 409, "run_in_progress", "%s", e->text);
    r->retry_after_s = 1;
}

static void agents_run_named(struct agents_app *app, const struct app_request *q, bool workflow,
                             struct app_reply *r)
{
    struct run_options o = {.request = {.run = STR(""),
                                        .name = q->parts[0],
                                        .workflow = workflow,
                                        .messages = STR(""),
                                        .key = q->key}};
    struct err e;
    str run;

    if (!agents_routes_read_run(q, q->json, &o, &e) ||
        !agents_start(app->runner, &o.request, q->arena, &run, &e)) {
        agents_fail_run(r, &e);
    } else if (o.background) {
        agents_answer_run(app, q, run, r);
        r->status = 202;
    } else if (o.stream) {
        (void)!stream_run(app, q, run, r, &e);
    } else {
        agents_wait_and_answer(app, q, run, r);
    }
}

/* Also for an agent that the configuration no longer has: its runs are on record. */
static void agents_list_runs(struct agents_app *app, const struct app_request *q, bool workflow,
                             struct app_reply *r)
{
    struct agents_run_query x = {.name = q->parts[0], .workflow = workflow, .count_max = RUNS_MAX};
    struct run_asker who = route_asker(q);
    str limit = app_query(q, "limit"), offset = app_query(q, "offset");
    uint64_t n = RUNS_MAX, from = 0;
    struct err e;

    if ((limit.n && (!str_u64(limit, &n) || n < 1 || n > RUNS_MAX)) ||
        (offset.n && (!str_u64(offset, &from) || from > AGENT_LIST_MAX))) {
        app_fail(r,
                 400,
                 "bad_request",
                 "limit must be 1 to %d, offset 0 to %d",
                 RUNS_MAX,
                 AGENT_LIST_MAX);
        return;
    }
    x.count_max = (size_t)n;
    x.offset = (size_t)from;
    if (!agents_write_runs(app->host.log, &x, &who, &r->body, &e))
        app_fail_err(r, &e);
}

static void agents_route_runs(void *app, const struct app_request *q, struct app_reply *r)
{
    agents_list_runs(app, q, false, r);
}

static void agents_route_workflow_runs(void *app, const struct app_request *q, struct app_reply *r)
{
    agents_list_runs(app, q, true, r);
}

static void agents_route_result(void *app, const struct app_request *q, struct app_reply *r)
{
    agents_answer_run(app, q, q->parts[0], r);
}

static void agents_route_run(void *app, const struct app_request *q, struct app_reply *r)
{
    agents_run_named(app, q, false, r);
}

static void agents_route_run_workflow(void *app, const struct app_request *q, struct app_reply *r)
{
    agents_run_named(app, q, true, r);
}

/* ---- results of the caller's tools ---- */

/* {"call_id", "result"} or {"call_id", "error"}. */
static bool agents_put_tool_result(struct agents_app *app, const struct app_request *q,
                                   const struct json *doc, const struct json_node *v, struct err *e)
{
    const struct json_node *result = json_find(doc, v, STR("result")),
                           *error = json_find(doc, v, STR("error"));
    struct setup *s = gateway_setup(app->host.gateway);
    struct agent_client_result x = {.run = q->parts[0],
                                    .failed = error != NULL,
                                    .mask = s->mask,
                                    .now_us = clock_wall_ms(app->host.clock) * 1000};
    bool already, ok = true;
    str text;

    if (!json_text(doc, json_find(doc, v, STR("call_id")), q->arena, &x.call_id))
        ok = err_input(e, "call_id: must be the id of the call, as in its event");
    else if (!result == !error)
        ok = err_input(e, "result: a call has either a result or an error");
    if (ok && error && json_text(doc, error, q->arena, &text)) {
        struct buf quoted;

        buf_init(&quoted, 8 * text.n + 64);
        buf_add(&quoted, STR("{\"error\":"));
        (void)json_quote(&quoted, text);
        buf_add_c(&quoted, '}');
        x.result = arena_move_buf(q->arena, &quoted);
    } else if (ok && error) {
        ok = err_input(e, "error: must be a text");
    } else if (ok && !json_text(doc, result, q->arena, &x.result)) {
        x.result = json_raw(doc, result);
    }
    assert(!ok || (x.call_id.p && x.result.p));
    ok = ok && agent_client_result(app->host.log, &x, &already, e);
    setup_release(s);
    return ok;
}

static bool agents_put_tool_results(struct agents_app *app, const struct app_request *q,
                                    const struct json *doc, struct err *e)
{
    const struct json_node *list = json_find(doc, json_root(doc), STR("results"));
    bool ok = true;

    assert(json_root(doc)->kind == JSON_OBJECT);
    if (!list)
        return agents_put_tool_result(app, q, doc, json_root(doc), e);
    if (list->kind != JSON_ARRAY)
        return err_input(e, "results: must be a list");
    ok = config_check_members(doc, json_root(doc), "results", e);
    JSON_FOREACH_ITEM(v, doc, list)
        if (ok && v->kind == JSON_OBJECT &&
            !config_check_members(doc, v, "call_id result error", e))
            ok = err_prefix(e, "results: ");
    for (const struct json_node *v = json_first(doc, list); ok && v; v = json_next(doc, list, v))
        ok = agents_put_tool_result(app, q, doc, v, e);
    return ok;
}

/* The run reads its log again, and resumes once the last result is there. Sending a result twice
 * changes nothing. */
static void agents_route_tool_results(void *app, const struct app_request *q, struct app_reply *r)
{
    struct agents_app *x = app;
    struct run_asker who = route_asker(q);
    struct err e, ignored;
    struct agent_row row;
    bool ok = agents_find_run(x->host.log, q->parts[0], &who, q->arena, &row, &e) &&
              agents_put_tool_results(x, q, q->json, &e);
    /* Also if a result is wrong: the one before it may be the last that the run waits for. */
    if (agents_find_run(x->host.log, q->parts[0], &who, q->arena, &row, &ignored) &&
        str_eq(row.status, STR("running")))
        agents_resume(x->runner, &row);
    if (ok)
        agents_answer_run(x, q, q->parts[0], r);
    else
        app_fail_err(r, &e);
}

#define RUN_MEMBERS "input thread session metadata tools stream background"

const struct app_route agents_app_routes[] = {
    {"GET", "/api/v1/agents", agents_route_list, 0, "", NULL},
    {"GET", "/api/v1/agents/*", agents_route_show, 0, "", NULL},
    {"GET", "/api/v1/agents/*/runs", agents_route_runs, APP_READY, "limit offset", NULL},
    {"POST", "/api/v1/agents/*/runs", agents_route_run, APP_READY | APP_JSON, "", RUN_MEMBERS},
    {"GET", "/api/v1/workflows", agents_route_workflows, 0, "", NULL},
    {"GET",
     "/api/v1/workflows/*/runs",
     agents_route_workflow_runs,
     APP_READY,
     "limit offset",
     NULL},
    {"POST",
     "/api/v1/workflows/*/runs",
     agents_route_run_workflow,
     APP_READY | APP_JSON,
     "",
     RUN_MEMBERS},
    {"GET", "/api/v1/runs/*/result", agents_route_result, APP_READY, "", NULL},
    {"GET", "/api/v1/runs/*/events", agents_route_events, APP_READY, "after", NULL},
    {"POST",
     "/api/v1/runs/*/tool_results",
     agents_route_tool_results,
     APP_READY | APP_JSON,
     "",
     "results call_id result error"},
    {NULL, NULL, NULL, 0, NULL, NULL},
};
