/* query_events.c - the calls and tool exchanges of a session, in order of time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_calls.h"
#include "store/step.h"

#define EVENTS_MAX 5000
#define EVENTS_SIZE_MAX ((size_t)48 << 20)
#define EVENT_SEGMENTS_MAX 20000
#define LAST_ANSWER_MAX ((size_t)1 << 20) /* a longer one is not the last answer */

struct timeline {
    struct reader *r;
    const struct query_asker *a;
    struct event_sums *sums;
    struct event *first, **last, *at; /* at: where the next tool exchange is to be put after */
    size_t size;
    struct buf text;   /* of the event at hand */
    struct buf answer; /* the last one so far */
};

/* ---- events ---- */

static void event_head(struct json_out *o, str id, const char *type, int64_t at_us, str step)
{
    str stage, agent;

    step_read(step, &stage, &agent);
    json_out_object(o);
    json_member_str(o, "event_id", id);
    json_member_str(o, "type", str_c(type));
    json_member_i64(o, "timestamp_us", at_us);
    json_member_str(o, "step_description", step);
    json_member_str_or_null(o, "stage", stage);
    json_member_str_or_null(o, "agent", agent);
}

/* The text built is an event: keeps it, unless there are too many already. */
static struct event *event_make(struct timeline *t, str id, int64_t at_us)
{
    struct event *ev;

    if (buf_full(&t->text) || t->size + t->text.n > EVENTS_SIZE_MAX) {
        t->sums->cut = true;
        return NULL;
    }
    t->size += t->text.n;
    assert(t->size <= EVENTS_SIZE_MAX);
    ev = arena_zero(&t->r->arena, 1, sizeof *ev);
    ev->timestamp_us = at_us;
    ev->id = arena_dup(&t->r->arena, id);
    ev->json = arena_dup(&t->r->arena, buf_str(&t->text));
    return ev;
}

static bool query_events_on_call(void *ctx, struct db_value *v, const struct store_call *row)
{
    struct timeline *t = ctx;
    struct call_facts_read c;
    struct json_out o;
    struct event *ev;

    call_read(v, &c);
    buf_reset(&t->text);
    json_out_init(&o, &t->text);
    event_head(&o, c.id, "llm_interaction", c.started_us, c.step.n ? c.step : STR("Model call"));
    json_member_i64_or_null(&o, "duration_ms", c.duration_ms);
    json_member_object(&o, "details");
    call_write(t->a, v, row, &o);
    json_member_array(&o, "segments");
    (void)segments_write(t->r, t->a, row, EVENT_SEGMENTS_MAX, &o);
    json_out_end(&o);
    json_out_end(&o);
    json_out_end(&o);
    t->sums->errors += c.failed;
    if (c.answer.n && c.answer.n < LAST_ANSWER_MAX) {
        buf_reset(&t->answer);
        buf_add(&t->answer, c.answer);
    }
    ev = event_make(t, c.id, c.started_us);
    if (!ev)
        return false;
    assert(!*t->last);
    *t->last = ev;
    t->last = &ev->next;
    return true;
}

enum { TOOL_ID, TOOL_AT, TOOL_MS, TOOL_STEP, TOOL_NAME, TOOL_SUCCESS = 9, TOOL_PARENT = 11 };

static const struct column tool_columns[] = {
    {"communication_id", "m.communication_id", COLUMN_TEXT},
    {"timestamp_us", "m.timestamp_us", COLUMN_SKIP},
    {"duration_ms", "m.duration_ms", COLUMN_SKIP},
    {"step_description", "m.step_description", COLUMN_SKIP},
    {"tool_name", "m.tool_name", COLUMN_TEXT},
    {"server_name", "m.server_name", COLUMN_TEXT},
    {"communication_type", "m.communication_type", COLUMN_TEXT},
    {"parameters", "m.tool_arguments", COLUMN_JSON},
    {"result", "m.tool_result", COLUMN_JSON},
    {"success", "m.success", COLUMN_FLAG},
    {"error_message", "m.error_message", COLUMN_TEXT},
    {"parent_id", "m.parent_id", COLUMN_TEXT},
    {"available_tools", "m.available_tools", COLUMN_JSON},
};

/* Whether the event is to be before a tool exchange of this time. Calls have milliseconds only: in
 * the same millisecond, the exchange is after its own call and before the others. */
static bool event_precedes(const struct event *ev, int64_t at_us, const struct db_value *parent)
{
    if (ev->timestamp_us / 1000 != at_us / 1000)
        return ev->timestamp_us < at_us;
    for (; ev && ev->timestamp_us / 1000 == at_us / 1000; ev = ev->next)
        if (parent->type == DB_TEXT && str_eq(ev->id, parent->s))
            return true;
    return false;
}

/* Both lists are in order of time, so they are merged. */
static bool events_on_tool(void *ctx, const struct db_value *v, size_t n)
{
    struct timeline *t = ctx;
    int64_t at_us = v[TOOL_AT].i;
    str step = v[TOOL_STEP].type == DB_TEXT ? v[TOOL_STEP].s : STR("Tool call");
    struct json_out o;
    struct event *ev;

    assert(n == COUNT_OF(tool_columns));
    buf_reset(&t->text);
    json_out_init(&o, &t->text);
    event_head(&o, v[TOOL_ID].s, "mcp_communication", at_us, step);
    value_write_member(&o, "duration_ms", COLUMN_NUMBER, &v[TOOL_MS]);
    json_member_object(&o, "details");
    columns_write(tool_columns, COUNT_OF(tool_columns), v, false, &o);
    json_out_end(&o);
    json_out_end(&o);
    t->sums->errors += v[TOOL_SUCCESS].i == 0;
    ev = event_make(t, v[TOOL_ID].s, at_us);
    if (!ev)
        return false;
    for (; (ev->next = t->at ? t->at->next : t->first); t->at = ev->next)
        if (!event_precedes(ev->next, at_us, &v[TOOL_PARENT]))
            break;
    assert((t->at ? t->at->next : t->first) == ev->next);
    LIST_APPEND(t->first, t->at, ev);
    return true;
}

static bool events_read_calls(struct timeline *t, str session_id, struct err *e)
{
    const struct call_rows rows = {
        query_events_on_call, t, call_columns, call_column_count, .request_max = CALL_REQUEST_MAX};
    struct sql q;

    call_rows_select(&q, &rows, QUERY_CALLS);
    sql_where(&q, "i.session_id =", db_text(session_id));
    sql_add(&q, " ORDER BY i.started_ms, i.interaction_id");
    sql_limit(&q, EVENTS_MAX, 0);
    return call_rows_query(t->r, &q, &rows, e);
}

static bool events_read_tools(struct timeline *t, str session_id, struct err *e)
{
    struct sql q;

    assert(str_eq(str_c(tool_columns[TOOL_PARENT].name), STR("parent_id")));
    assert(str_eq(str_c(tool_columns[TOOL_SUCCESS].name), STR("success")));
    sql_begin(&q, "SELECT ");
    sql_columns(&q, tool_columns, COUNT_OF(tool_columns));
    sql_add(&q, " FROM mcp_communications m");
    sql_where(&q, "m.session_id =", db_text(session_id));
    sql_add(&q, " ORDER BY m.timestamp_us, m.communication_id");
    sql_limit(&q, EVENTS_MAX, 0);
    return sql_query(t->r, &q, (struct db_rows){events_on_tool, t}, e);
}

bool events_read(struct reader *r, const struct query_asker *a, str session_id, struct event **out,
                 struct event_sums *sums, struct err *e)
{
    struct timeline t = {.r = r, .a = a, .sums = sums};
    bool ok;

    *sums = (struct event_sums){.last_answer = STR("")};
    t.last = &t.first;
    buf_init(&t.text, EVENTS_SIZE_MAX);
    buf_init(&t.answer, LAST_ANSWER_MAX);
    ok = events_read_calls(&t, session_id, e) && events_read_tools(&t, session_id, e);
    *out = t.first;
    sums->last_answer = arena_move_buf(&r->arena, &t.answer);
    buf_release(&t.text);
    return ok;
}
