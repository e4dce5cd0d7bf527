/* query_session.c - one session with all that is known of it; one call; their segments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_get.h"
#include "store/query_calls.h"

#define SEGMENTS_MAX 20000
#define APPROVALS_MAX 1000 /* of one session */

bool session_find(struct reader *r, const struct query_asker *a, str name, str *id, struct err *e)
{
    struct sql q;

    *id = name;
    if (!a->key_name.n)
        return true;
    sql_begin(&q, "SELECT s.session_id FROM alert_sessions s");
    sql_where(&q, "s.named =", db_text(name));
    sql_where_text(&q, "s.key_name =", a->key_name);
    sql_limit(&q, 1, 0);
    return sql_query(r, &q, DB_ROW(db_into_text(&r->arena, id)), e);
}

bool session_check(struct reader *r, const struct query_asker *a, str id, struct err *e)
{
    struct sql q;
    int64_t there;

    for (size_t i = 0; i < a->running_count; i++)
        if (str_eq(a->running[i].session_id, id) &&
            (!a->key_name.n || str_eq(a->running[i].key_name, a->key_name)))
            return true;
    sql_begin(&q, "SELECT 1 FROM alert_sessions s");
    sql_where(&q, "s.session_id =", db_text(id));
    sql_where_text(&q, "s.key_name =", a->key_name);
    return sql_number(r, &q, &there, e) && (there || query_not_found("session", id, e));
}

/* ---- a session ---- */

static const struct column more_columns[] = {
    {"alert_data", "s.alert_data", COLUMN_JSON},
    {"final_analysis", "s.final_analysis", COLUMN_TEXT},
    {"session_metadata", "s.session_metadata", COLUMN_JSON},
};

/* The summary repeats these columns of the session; docs/reference/history.md defines them. */
static const struct {
    const char *name, *column;
} session_sums[] = {
    {"llm_interaction_count", "llm_interaction_count"},
    {"mcp_communication_count", "mcp_communication_count"},
    {"tool_call_count", "tool_call_count"},
    {"total_duration_ms", "duration_ms"},
    {"cost_usd", "cost_usd"},
    {"input", "input_tokens"},
    {"output", "output_tokens"},
    {"reasoning", "reasoning_tokens"},
};
#define SESSION_SUM_TOKENS 5 /* the first that is a member of tokens */

struct one {
    const struct query_asker *a;
    struct json_out *o;
    bool there, has_analysis;
    struct db_value sums[COUNT_OF(session_sums)];
};

static void query_one_sums_read(struct one *x, const struct db_value *v)
{
    assert(strcmp(session_sums[3].name, "total_duration_ms") == 0);
    for (size_t i = 0; i < COUNT_OF(session_sums); i++)
        for (size_t j = 0; j < session_column_count; j++)
            if (strcmp(session_columns[j].name, session_sums[i].column) == 0)
                x->sums[i] = v[j];
    if (session_is_running(x->a, v))
        x->sums[3] = db_null();
}

static bool query_one_on_row(void *ctx, const struct db_value *v, size_t n)
{
    struct one *x = ctx;
    const struct db_value *more = v + session_column_count;

    assert(n == session_column_count + COUNT_OF(more_columns));
    x->there = true;
    session_write(x->a, v, x->o);
    columns_write(more_columns, 1, more, false, x->o);
    columns_write(more_columns + 2, 1, more + 2, false, x->o);
    if (more[1].type != DB_NULL) {
        x->has_analysis = true;
        columns_write(more_columns + 1, 1, more + 1, false, x->o);
    }
    query_one_sums_read(x, v);
    return false;
}

/* A session whose first call is still running: the fields that are known from that call. */
static bool query_one_running(struct one *x, str id)
{
    struct db_value v[SESSION_COLUMNS_MAX];

    assert(session_column_count <= SESSION_COLUMNS_MAX);
    for (size_t i = 0; i < x->a->running_count; i++) {
        const struct query_running *c = &x->a->running[i];

        if (!str_eq(c->session_id, id) ||
            (x->a->key_name.n && !str_eq(c->key_name, x->a->key_name)))
            continue;
        x->there = true;
        session_running_values(c, v);
        session_write(x->a, v, x->o);
        query_one_sums_read(x, v);
        json_member_null(x->o, "alert_data");
        json_member_null(x->o, "session_metadata");
        return true;
    }
    return false;
}

static void query_one_summary_write(const struct one *x, const struct event_sums *s)
{
    struct json_out *o = x->o;

    assert(strcmp(session_sums[SESSION_SUM_TOKENS].name, "input") == 0);
    json_member_object(o, "summary");
    for (size_t i = 0; i < COUNT_OF(session_sums); i++) {
        if (i == SESSION_SUM_TOKENS)
            json_member_object(o, "tokens");
        value_write_member(o, session_sums[i].name, COLUMN_NUMBER, &x->sums[i]);
    }
    json_out_end(o);
    json_member_i64(o, "errors", s->errors);
    json_member_bool(o, "timeline_cut", s->cut);
    json_out_end(o);
}

static bool query_one_read(struct reader *r, struct one *x, str id, struct err *e)
{
    struct sql q;

    sql_begin(&q, "SELECT ");
    sql_columns(&q, session_columns, session_column_count);
    sql_add(&q, ", ");
    sql_columns(&q, more_columns, COUNT_OF(more_columns));
    sql_add(&q, " FROM alert_sessions s");
    sql_where(&q, "s.session_id =", db_text(id));
    sql_where_text(&q, "s.key_name =", x->a->key_name);
    return sql_query(r, &q, (struct db_rows){query_one_on_row, x}, e) &&
           (x->there || query_one_running(x, id) || query_not_found("session", id, e));
}

/* ---- the approvals of a session: the calls that waited for a person ---- */

static const struct column approval_columns[] = {
    {"run_id", "f.run_id", COLUMN_TEXT},
    {"seq", "f.seq", COLUMN_NUMBER},
    {"tool", "f.name", COLUMN_TEXT},
    {"asked_at_us", "f.started_us", COLUMN_NUMBER},
    {"decided_at_us", "f.ended_us", COLUMN_NUMBER},
    {"result", "f.result", COLUMN_SKIP},
};
enum { APPROVAL_DECIDED = 4, APPROVAL_RESULT };

struct approvals_out {
    struct reader *r;
    const struct query_asker *a;
    struct json_out *o;
};

/* Until a person decides, the result is the model's reason; the decision contains it. */
static bool query_approvals_on_row(void *ctx, const struct db_value *v, size_t n)
{
    static const char *const members[] = {"word", "who", "note"};
    struct approvals_out *x = ctx;
    bool decided = v[APPROVAL_DECIDED].type != DB_NULL;
    str result = v[APPROVAL_RESULT].type == DB_TEXT ? v[APPROVAL_RESULT].s : STR(""), why = result;

    assert(n == COUNT_OF(approval_columns));
    json_out_object(x->o);
    columns_write(approval_columns, n, v, false, x->o);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        json_member_str_or_null(x->o,
                                members[i],
                                decided ? json_copy_member(result, members[i], &x->r->arena)
                                        : STR(""));
    if (decided)
        why = json_copy_member(result, "why", &x->r->arena);
    json_member_str_or_null(x->o, "why", x->a->hide_reasoning ? STR("") : why);
    json_out_end(x->o);
    return true;
}

static bool query_approvals_write(struct reader *r, const struct query_asker *a, str id,
                                  struct json_out *o, struct err *e)
{
    struct approvals_out x = {r, a, o};
    struct sql q;
    bool ok;

    sql_select(&q,
               approval_columns,
               COUNT_OF(approval_columns),
               "agent_runs r JOIN agent_effects f ON f.run_id = r.run_id");
    sql_where(&q, "f.kind =", db_text(STR("approval")));
    sql_where(&q, "r.session_id =", db_text(id));
    sql_where_text(&q, "r.key_name =", a->key_name);
    sql_add(&q, " ORDER BY f.started_us, f.run_id, f.seq");
    sql_limit(&q, APPROVALS_MAX, 0);
    json_member_array(o, "approvals");
    ok = sql_query(r, &q, (struct db_rows){query_approvals_on_row, &x}, e);
    json_out_end(o);
    return ok;
}

static bool query_one_answer(struct reader *r, const struct query_asker *a, str id,
                             struct json_out *o, struct err *e)
{
    struct one x = {.a = a, .o = o};
    struct event_sums sums;
    struct event *events;

    if (!session_find(r, a, id, &id, e) || !query_one_read(r, &x, id, e) ||
        !events_read(r, a, id, &events, &sums, e))
        return false;
    if (!x.has_analysis)
        json_member_str_or_null(o, "final_analysis", sums.last_answer);
    json_member_array(o, "chronological_timeline");
    for (const struct event *ev = events; ev; ev = ev->next)
        json_out_raw(o, ev->json);
    json_out_end(o);
    query_one_summary_write(&x, &sums);
    return query_approvals_write(r, a, id, o, e);
}

bool query_session(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                   struct err *e)
{
    struct json_out o;

    return query_begin_object(r, out, &o, e) &&
           query_end_object(r, query_one_answer(r, a, id, &o, e), &o, e);
}

/* ---- one call ---- */

struct call_out {
    struct reader *r;
    const struct query_asker *a;
    struct json_out *o;
    size_t count, segments; /* how many were written */
    bool whole;             /* all of a call; else its segments */
};

static void query_call_body_write(struct call_out *x, const char *name, str text,
                                  str (*redact)(str body, struct arena *a))
{
    json_out_key(x->o, str_c(name));
    if (x->a->hide_reasoning)
        text = redact ? redact(text, &x->r->arena) : STR("");
    if (text.n == 0)
        json_out_null(x->o);
    else
        value_write(COLUMN_JSON, &(struct db_value){DB_TEXT, .s = text}, false, x->o);
}

static bool query_call_on_row(void *ctx, struct db_value *v, const struct store_call *row)
{
    struct call_out *x = ctx;

    assert(x->segments < SEGMENTS_MAX);
    if (x->whole) {
        call_write(x->a, v, row, x->o);
        query_call_body_write(x, "request", row->request, x->a->redact);
        query_call_body_write(x, "reply", row->reply, NULL);
    }
    if (x->count++ == 0) {
        json_member_array(x->o, "segments");
    }
    x->segments += segments_write(x->r, x->a, row, SEGMENTS_MAX - x->segments, x->o);
    return x->segments < SEGMENTS_MAX;
}

/* The calls with this id, or of this session. */
static bool query_call_answer(struct call_out *x, const char *where, str id, struct err *e)
{
    const struct call_rows rows = {.on_call = query_call_on_row,
                                   .ctx = x,
                                   .columns = call_columns,
                                   .count = call_column_count,
                                   .request_max = x->whole ? SIZE_MAX : 0};
    struct sql q;
    bool ok;

    call_rows_select(&q, &rows, QUERY_CALLS);
    sql_where(&q, where, db_text(id));
    sql_key_scope(&q, x->a);
    sql_add(&q, " ORDER BY i.started_ms, i.interaction_id");
    sql_limit(&q, SEGMENTS_MAX, 0);
    ok = call_rows_query(x->r, &q, &rows, e);
    if (x->count)
        json_out_end(x->o);
    return ok;
}

bool query_call(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                struct err *e)
{
    struct json_out o;
    struct call_out x = {.r = r, .a = a, .o = &o, .whole = true};
    bool ok;

    if (!query_begin_object(r, out, &o, e))
        return false;
    ok = query_call_answer(&x, "i.interaction_id =", id, e) &&
         (x.count || query_not_found("call", id, e));
    return query_end_object(r, ok, &o, e);
}

/* ---- segments ---- */

bool query_session_segments(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                            struct err *e)
{
    struct json_out o;
    struct call_out x = {.r = r, .a = a, .o = &o};
    bool ok;

    if (!query_begin_object(r, out, &o, e))
        return false;
    json_member_str(&o, "session_id", id);
    ok = session_find(r, a, id, &id, e) && session_check(r, a, id, e) &&
         query_call_answer(&x, "i.session_id =", id, e);
    if (ok && !x.count)
        json_member_array(&o, "segments");
    return query_end_object(r, ok, &o, e);
}

bool query_call_segments(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                         struct err *e)
{
    struct json_out o;
    struct call_out x = {.r = r, .a = a, .o = &o};
    bool ok;

    if (!query_begin_object(r, out, &o, e))
        return false;
    json_member_str(&o, "interaction_id", id);
    ok = query_call_answer(&x, "i.interaction_id =", id, e) &&
         (x.count || query_not_found("call", id, e));
    return query_end_object(r, ok, &o, e);
}
