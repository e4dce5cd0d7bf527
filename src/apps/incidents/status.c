/* status.c - see status.h; and the routes that show, cancel and question an alert.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/status.h"

#include "apps/incidents/intake.h"
#include "store/step.h"

#define LIST_MAX 100
#define QUESTION_MAX 20000
#define STAGES_MAX ((size_t)32 << 20)

struct incident_alert status_alert(const struct alert_table_row *row)
{
    assert(row->id.n > 0);
    return (struct incident_alert){.id = row->id,
                                   .alert_type = row->alert_type,
                                   .severity = row->severity,
                                   .environment = row->environment,
                                   .runbook = row->runbook,
                                   .data = row->data,
                                   .timestamp_us = row->timestamp_us};
}

/* ---- JSON ---- */

static void status_write_servers(struct json_out *o, const char *const *servers)
{
    json_member_array(o, "assigned_mcp_servers");
    for (; servers && *servers; servers++)
        json_out_str(o, str_c(*servers));
    json_out_end(o);
}

/* A member of the report, unchanged, or null. */
static void status_write_part(struct json_out *o, const char *key, const struct json *report,
                              const char *member)
{
    const struct json_node *v = json_find(report, json_root(report), str_c(member));

    assert(json_root(report)); /* status_report_parse */
    json_member_raw(o, key, v && !json_is(report, v, STR("")) ? json_raw(report, v) : STR("null"));
}

static void status_report_parse(const struct alert_table_row *row, struct json *doc)
{
    struct err e;

    json_init(doc);
    if (!row->report.n || !json_parse(doc, row->report, &e))
        (void)!json_parse(doc, STR("{}"), &e);
}

/* All but the result, which may be long. */
void status_brief(struct json_out *o, const struct alert_table_row *row, const char *const *servers)
{
    str stage, agent;

    assert(row->state.n > 0 && row->progress >= 0 && row->progress <= 100);
    json_member_str(o, "alert_id", row->id);
    json_member_str(o, "session_id", row->session);
    json_member_str(o, "status", row->state);
    json_member_i64(o, "progress", row->progress);
    json_member_str_or_null(o, "current_step", row->step);
    json_member_str_or_null(o, "current_agent", row->current_agent);
    step_read(row->step, &stage, &agent);
    json_member_str_or_null(o, "current_stage", stage);
    status_write_servers(o, servers);
    json_member_str_or_null(o, "error", row->error);
}

void status_write(struct json_out *o, const struct alert_table_row *row, const char *const *servers)
{
    struct json report;

    status_report_parse(row, &report);
    json_out_object(o);
    status_brief(o, row, servers);
    status_write_part(o, "result", &report, "markdown");
    json_member_i64(o, "timestamp", row->updated_us);
    json_out_end(o);
    json_release(&report);
}

void status_members(struct json_out *o, const struct alert_table_row *row)
{
    str stage, agent;

    assert(row->firing >= 0 && row->firing <= row->alerts);
    json_member_str(o, "alert_id", row->id);
    json_member_str(o, "session_id", row->session);
    json_member_str(o, "alert_type", row->alert_type);
    json_member_str(o, "severity", row->severity);
    json_member_str(o, "environment", row->environment);
    json_member_str(o, "status", row->state);
    json_member_i64(o, "progress", row->progress);
    json_member_str_or_null(o, "current_step", row->step);
    json_member_str_or_null(o, "current_agent", row->current_agent);
    step_read(row->step, &stage, &agent);
    json_member_str_or_null(o, "current_stage", stage);
    json_member_str_or_null(o, "agent", row->agent);
    json_member_str_or_null(o, "chain", row->agent);
    json_member_bool(o, "cancel_requested", row->cancelled);
    json_member_i64_or_null(o, "created_at_us", row->created_us);
    json_member_i64_or_null(o, "started_at_us", row->started_us);
    json_member_i64_or_null(o, "completed_at_us", row->completed_us);
    json_member_i64_or_null(o,
                            "duration_ms",
                            row->completed_us >= 0 && row->started_us >= 0
                                ? (row->completed_us - row->started_us) / 1000
                                : -1);
    json_member_i64_or_null(o, "resolved_at_us", row->resolved_us);
    json_member_i64(o, "alert_count", row->alerts);
    json_member_i64(o, "firing_count", row->firing);
    json_member_i64(o, "seen_count", row->seen);
    json_member_str_or_null(o, "error", row->error);
    json_member_str_or_null(o, "reason", row->reason);
}

void status_alerts(struct json_out *o, struct alert_table *alert_table, str incident,
                   struct arena *a)
{
    struct alert_table_alert *at;
    struct err e;
    size_t n;

    json_member_array(o, "alerts");
    if (!alert_table_alerts(alert_table, incident, a, &at, &n, &e))
        n = 0;
    assert(n <= BOOK_ALERTS_MAX);
    for (size_t i = 0; i < n; i++) {
        json_out_object(o);
        json_member_str(o, "name", at[i].name);
        json_member_str(o, "state", at[i].ended_us < 0 ? STR("firing") : STR("resolved"));
        json_member_str(o, "severity", at[i].severity);
        json_member_str(o, "source", at[i].source);
        json_member_str(o, "fingerprint", at[i].fingerprint);
        json_member_i64(o, "seen", at[i].seen);
        json_member_i64(o, "starts_at_us", at[i].starts_us);
        json_member_i64_or_null(o, "ended_at_us", at[i].ended_us);
        json_member_i64(o, "first_seen_at_us", at[i].first_seen_us);
        json_member_i64(o, "last_seen_at_us", at[i].last_seen_us);
        json_member_raw(o, "data", at[i].data.n ? at[i].data : STR("null"));
        json_out_end(o);
    }
    json_out_end(o);
}

/* ---- routes ---- */

void status_types(void *app, const struct app_request *q, struct app_reply *r)
{
    struct incidents *in = app;
    struct json_out o;

    (void)q;
    json_out_init(&o, &r->body);
    json_out_array(&o);
    for (size_t i = 0; in->types[i]; i++)
        json_out_str(&o, str_c(in->types[i]));
    json_out_end(&o);
}

static bool status_may_see(const struct app_request *q, const struct alert_table_row *row)
{
    return q->operator_ || str_eq(q->key, row->key);
}

/* Answers 404 for another key's incident, too, so that nobody learns that it exists. */
static bool incident_status_find(struct incidents *in, const struct app_request *q,
                                 struct alert_table_row *row, struct app_reply *r)
{
    struct err e = {.code = ERR_NOT_FOUND};

    if (alert_table_get(in->alert_table, q->parts[0], q->arena, row, &e) && status_may_see(q, row))
        return true;
    if (e.code == ERR_NOT_FOUND)
        app_fail(r,
                 404,
                 "alert_not_found",
                 "there is no incident \"" STR_FMT "\"; GET /api/v1/incidents lists them",
                 STR_ARG(str_slice(q->parts[0], 0, 80)));
    else
        app_fail_err(r, &e);
    return false;
}

static const char *const *status_servers_of(const struct incidents *in,
                                            const struct alert_table_row *row)
{
    const char *const *servers;
    str agent;

    return in->engine.assigned(in->setup, row->alert_type, &agent, &servers) ? servers : NULL;
}

void status_processing(void *app, const struct app_request *q, struct app_reply *r)
{
    struct incidents *in = app;
    struct alert_table_row row;
    struct json_out o;

    if (!incident_status_find(in, q, &row, r))
        return;
    json_out_init(&o, &r->body);
    status_write(&o, &row, status_servers_of(in, &row));
}

/* Rejects a bad filter with an error that lists the valid values. */
static bool status_read_filter(const struct app_request *q, struct alert_table_filter *f,
                               struct app_reply *r)
{
    str limit = app_query(q, "limit");
    uint64_t n = LIST_MAX;
    bool known = !f->state.n ||
                 str_is_one_of(f->state, "queued processing waiting completed error cancelled");

    if (limit.n && (!str_u64(limit, &n) || n < 1 || n > BOOK_LIST_MAX)) {
        app_fail(r, 422, "validation_failed", "limit: must be 1 to %d", BOOK_LIST_MAX);
        return false;
    }
    f->count_max = (size_t)n;
    if (f->before.n && !rand_is_id(f->before)) {
        app_fail(r,
                 422,
                 "validation_failed",
                 "before: must be the alert_id of an incident, such as "
                 "01924f6e-8a51-7c3e-9b1f-5d2e8c7a4f60");
        return false;
    }
    if (!known)
        app_fail(r,
                 422,
                 "validation_failed",
                 "status: must be queued, processing, waiting, completed, error or cancelled");
    return known;
}

void status_list(void *app, const struct app_request *q, struct app_reply *r)
{
    struct incidents *in = app;
    struct alert_table_filter f = {.all = q->operator_,
                                   .key = q->key,
                                   .state = app_query(q, "status"),
                                   .alert_type = app_query(q, "alert_type"),
                                   .before = app_query(q, "before")};
    struct queue_counts counts;
    struct alert_table_row *rows;
    struct json_out o;
    struct err e;
    size_t n;

    if (!status_read_filter(q, &f, r))
        return;
    if (!alert_table_list(in->alert_table, &f, q->arena, &rows, &n, &e)) {
        app_fail_err(r, &e);
        return;
    }
    assert(n <= f.count_max);
    queue_counts(in->queue, &counts);
    app_reply_begin(r, &o, "incidents");
    for (size_t i = 0; i < n; i++) {
        json_out_object(&o);
        status_members(&o, &rows[i]);
        json_out_end(&o);
    }
    json_out_end(&o);
    json_member_object(&o, "queue");
    json_member_u64(&o, "queued", counts.waiting);
    json_member_u64(&o, "processing", counts.running);
    json_member_u64(&o, "waiting", counts.asking);
    json_member_u64(&o, "max_queue_size", in->config->max_queue);
    json_member_u64(&o, "max_concurrent_alerts", in->config->max_concurrent);
    app_reply_end(r, &o, true, NULL);
}

/* The stages as the engine has them now, or as they were at the end. */
static void status_write_stages(struct json_out *o, struct incidents *in,
                                const struct alert_table_row *row)
{
    struct buf out;
    struct err e;

    buf_init(&out, STAGES_MAX);
    if (!row->stages.n && in->host->log &&
        !in->engine.stages(in->setup, in->host->log, row->id, row->alert_type, &out, &e))
        buf_reset(&out);
    json_member_raw(o,
                    "stages",
                    row->stages.n              ? row->stages
                    : out.n && !buf_full(&out) ? buf_str(&out)
                                               : STR("[]"));
    buf_release(&out);
}

/* The question to a person, with the fields needed to answer it: POST
 * /api/v1/runs/RUN_ID/answer. */
static void status_write_pending(struct json_out *o, struct incidents *in,
                                 const struct alert_table_row *row)
{
    struct buf out;
    struct err e;

    buf_init(&out, STAGES_MAX);
    if (row->completed_us >= 0 || row->started_us < 0 || !in->host->log ||
        !incident_pending(in->host->log, row->id, &out, &e))
        buf_reset(&out);
    json_member_raw(o, "pending", out.n && !buf_full(&out) ? buf_str(&out) : STR("[]"));
    buf_release(&out);
}

static void status_write_tokens(struct json_out *o, const struct json *report)
{
    status_write_part(o, "input_tokens", report, "input_tokens");
    status_write_part(o, "output_tokens", report, "output_tokens");
    status_write_part(o, "reasoning_tokens", report, "reasoning_tokens");
    json_member_object(o, "tokens");
    status_write_part(o, "input", report, "input_tokens");
    status_write_part(o, "output", report, "output_tokens");
    status_write_part(o, "reasoning", report, "reasoning_tokens");
    json_out_end(o);
}

void status_one(void *app, const struct app_request *q, struct app_reply *r)
{
    struct incidents *in = app;
    struct json report;
    struct alert_table_row row;
    struct json_out o;

    if (!incident_status_find(in, q, &row, r))
        return;
    status_report_parse(&row, &report);
    json_out_init_object(&o, &r->body);
    status_members(&o, &row);
    status_write_servers(&o, status_servers_of(in, &row));
    json_member_i64(&o, "timestamp_us", row.timestamp_us);
    json_member_raw(&o, "alert", row.data.n ? row.data : STR("{}"));
    status_alerts(&o, in->alert_table, row.id, q->arena);
    json_member_str_or_null(&o, "runbook", row.runbook);
    status_write_stages(&o, in, &row);
    status_write_pending(&o, in, &row);
    status_write_part(&o, "report", &report, "markdown");
    status_write_part(&o, "final_analysis", &report, "final_analysis");
    status_write_part(&o, "summary", &report, "summary");
    status_write_part(&o, "prompt_id", &report, "prompt_id");
    status_write_part(&o, "model_calls", &report, "model_calls");
    status_write_part(&o, "tool_calls", &report, "tool_calls");
    status_write_tokens(&o, &report);
    notify_write(in->notify, &o, &row);
    json_member_raw(&o,
                    "tools",
                    json_find(&report, json_root(&report), STR("tools"))
                        ? json_raw(&report, json_find(&report, json_root(&report), STR("tools")))
                        : STR("[]"));
    json_out_end(&o);
    json_release(&report);
}

/* ---- cancelling, asking ---- */

/* 409: not possible in the alert's state, which the reply contains. */
static void incident_status_answer_conflict(struct app_reply *r, const struct alert_table_row *row,
                                            const char *why)
{
    struct json_out o;

    assert(row->id.n > 0 && row->state.n > 0);
    app_fail_begin(r, &o, 409, "wrong_state", str_c(why));
    json_member_str(&o, "alert_id", row->id);
    json_member_str(&o, "status", row->state);
    json_out_close(&o, 2);
}

void status_cancel(void *app, const struct app_request *q, struct app_reply *r)
{
    struct incidents *in = app;
    struct alert_table_row row;
    struct json_out o;
    struct err e;

    if (!incident_status_find(in, q, &row, r))
        return;
    if (!queue_cancel(in->queue, row.id, q->arena, &row, &e)) {
        if (e.code == ERR_INPUT)
            incident_status_answer_conflict(r, &row, e.text);
        else
            app_fail_err(r, &e);
        return;
    }
    json_out_init_object(&o, &r->body);
    json_member_str(&o, "alert_id", row.id);
    json_member_str(
        &o, "status", str_eq(row.state, STR("cancelled")) ? row.state : STR("cancelling"));
    json_member_str(&o,
                    "message",
                    str_eq(row.state, STR("cancelled")) ? STR("cancelled")
                                                        : STR("it is being stopped"));
    json_out_end(&o);
}

static bool incident_status_read_question(const struct app_request *q, str *out,
                                          struct app_reply *r)
{
    const struct json_node *v = json_find(q->json, json_root(q->json), STR("question"));

    if (json_text(q->json, v, q->arena, out) && str_trim(*out).n > 0 && out->n <= QUESTION_MAX &&
        !memchr(out->p, 0, out->n))
        return true;
    app_fail(r,
             422,
             "validation_failed",
             "\"question\" must be a text of 1 to %d bytes without a NUL",
             QUESTION_MAX);
    return false;
}

void status_chat(void *app, const struct app_request *q, struct app_reply *r)
{
    struct incidents *in = app;
    struct incident_options o = {.host = in->host,
                                 .setup = in->setup,
                                 .default_model = in->config->model,
                                 .runbook_text = STR(""),
                                 .key = q->key,
                                 .cancel = q->cancel};
    struct alert_table_row row;
    struct incident_answer answer;
    struct json_out out;
    str question;
    struct err e;

    if (!incident_status_find(in, q, &row, r) || !incident_status_read_question(q, &question, r))
        return;
    if (row.completed_us < 0) {
        incident_status_answer_conflict(r, &row, "it can be asked about once it has ended");
        return;
    }
    if (row.started_us < 0) {
        incident_status_answer_conflict(
            r, &row, "it was never started, so there is nothing to ask about");
        return;
    }
    o.alert = status_alert(&row);
    o.run = row.id;
    o.session = row.session;
    if (!in->chat(&o, question, q->arena, &answer, &e)) {
        app_fail_err(r, &e);
        return;
    }
    assert(!answer.waiting == !answer.pending.n);
    r->status = answer.waiting ? 202 : 200;
    json_out_init_object(&out, &r->body);
    json_member_str(&out, "alert_id", row.id);
    json_member_str(&out, "run_id", answer.run);
    json_member_str(&out, "question", answer.question);
    json_member_str(&out, "status", answer.waiting ? STR("waiting") : STR("done"));
    json_member_str_or_null(&out, "answer", answer.text);
    json_member_raw(&out, "pending", answer.pending.n ? answer.pending : STR("null"));
    json_out_end(&out);
}

void status_questions(void *app, const struct app_request *q, struct app_reply *r)
{
    struct incidents *in = app;
    struct alert_table_row row;
    struct json_out o;
    struct err e;

    if (!incident_status_find(in, q, &row, r))
        return;
    app_reply_begin(r, &o, NULL);
    json_member_str(&o, "alert_id", row.id);
    app_reply_end(
        r, &o, incident_chat_list(in->host->log, row.id, row.session, q->arena, &o, &e), &e);
}
