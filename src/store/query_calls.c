/* query_calls.c - one call as the API shows it, and the stretches of its reply.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_calls.h"

enum {
    ID,
    STARTED_US,
    DURATION_MS,
    STEP,
    STATE,
    PROMPT,
    RESPONSE,
    MODEL,
    TOKENS,
    HAS_REASONING,
    DECISION,
    CONTENT,
    STATUS,
    ERROR_CODE,
    ABSENT,
};

/* The fields of call_fields.def that the API has under their own name. */
#define API_NO(column)
#define API_TEXT(column) {column, "i." column, COLUMN_TEXT},
#define API_NUMBER(column) {column, "i." column, COLUMN_NUMBER},
#define API_FLAG(column) {column, "i." column, COLUMN_FLAG},
#define API_JSON(column) {column, "i." column, COLUMN_JSON},
#define API_HIDDEN(column) {column, "i." column, COLUMN_HIDDEN},

const struct column call_columns[] = {
    [ID] = {"interaction_id", "i.interaction_id", COLUMN_TEXT},
    [STARTED_US] = {"started_at_us", "i.started_ms * 1000", COLUMN_NUMBER},
    [DURATION_MS] = {"duration_ms", "i.ended_ms - i.started_ms", COLUMN_NUMBER},
    [STEP] = {"step_description", "i.step_description", COLUMN_SKIP},
    [STATE] = {"reasoning_state", "i.reasoning_state", COLUMN_SKIP},
    [PROMPT] = {"prompt", "i.asked", COLUMN_TEXT},
    [RESPONSE] = {"response", "i.answer", COLUMN_TEXT},
    [MODEL] = {"model_name", "i.model", COLUMN_TEXT},
    [TOKENS] = {"tokens_used",
                "coalesce(i.input_tokens + i.output_tokens, i.output_tokens, i.input_tokens)",
                COLUMN_NUMBER},
    [HAS_REASONING] = {"has_reasoning", "i.has_reasoning", COLUMN_FLAG},
    [DECISION] = {"decision", "i.decision", COLUMN_SKIP},
    [CONTENT] = {"reasoning_content", "i.reasoning_content", COLUMN_HIDDEN},
    [STATUS] = {"status", "i.status", COLUMN_NUMBER},
    [ERROR_CODE] = {"error_code", "i.error_code", COLUMN_TEXT},
    [ABSENT] = {"reasoning_absent", REASONING_ABSENT, COLUMN_SKIP},
    {"level", "i.reasoning_level", COLUMN_TEXT},
    {"reasoning_started_us", "i.reasoning_ms * 1000", COLUMN_NUMBER},
    {"reasoning_ended_us",
     "CASE WHEN i.reasoning_ms IS NULL THEN NULL ELSE coalesce(i.answer_ms, i.ended_ms) * 1000 END",
     COLUMN_NUMBER},
    {"first_byte_us", "i.first_ms * 1000", COLUMN_NUMBER},
    {"ended_at_us", "i.ended_ms * 1000", COLUMN_NUMBER},
#define CALL_FIELD(kind, member, column, text, api) api(column)
#include "store/call_fields.def"
#undef CALL_FIELD
};
const size_t call_column_count = COUNT_OF(call_columns);

static const struct column segment_columns[SEGMENT_COLUMNS] = {
    [SEGMENT_CALL] = {"interaction_id", NULL, COLUMN_TEXT},
    [SEGMENT_N] = {"n", NULL, COLUMN_NUMBER},
    [SEGMENT_KIND] = {"kind", NULL, COLUMN_TEXT},
    [SEGMENT_TEXT] = {"text", NULL, COLUMN_SKIP},
    [SEGMENT_TOKENS] = {"tokens", NULL, COLUMN_NUMBER},
    [SEGMENT_EXACT] = {"exact", NULL, COLUMN_FLAG},
    [SEGMENT_STARTED_US] = {"started_us", NULL, COLUMN_NUMBER},
    [SEGMENT_ENDED_US] = {"ended_us", NULL, COLUMN_NUMBER},
    [SEGMENT_BUDGET] = {"budget", NULL, COLUMN_NUMBER},
    [SEGMENT_CUT] = {"cut", NULL, COLUMN_FLAG},
    [SEGMENT_STATE] = {"state", NULL, COLUMN_SKIP},
};

static str query_calls_text_of(const struct db_value *v)
{
    return v->type == DB_TEXT || v->type == DB_BLOB ? v->s : STR("");
}

/* A call with reasoning whose text is not in the reply: hidden, unless it was never readable. */
static void query_calls_state_write(const struct db_value *state, bool reasoned, bool text,
                                    struct json_out *o)
{
    str s = query_calls_text_of(state);

    json_out_key(o, STR("reasoning_state"));
    if (reasoned && !text && !str_eq(s, STR("opaque")))
        json_out_str(o, STR("hidden"));
    else
        value_write(COLUMN_TEXT, state, false, o);
}

static void call_temperature_write(str request, struct json_out *o)
{
    struct json doc;
    struct err e;
    double x;

    json_out_key(o, STR("temperature"));
    json_init(&doc);
    if (request.n && request.n <= CALL_REQUEST_MAX && json_parse(&doc, request, &e) &&
        (json_double(&doc, json_find(&doc, json_root(&doc), STR("temperature")), &x) ||
         json_double(&doc, json_pointer(&doc, STR("/generationConfig/temperature")), &x) ||
         json_double(&doc, json_pointer(&doc, STR("/options/temperature")), &x)))
        json_out_double(o, x);
    else
        json_out_null(o);
    json_release(&doc);
}

void call_write(const struct query_asker *a, const struct db_value *v, const struct store_call *row,
                struct json_out *o)
{
    columns_write(call_columns, COUNT_OF(call_columns), v, a->hide_reasoning, o);
    query_calls_state_write(
        &v[STATE], v[HAS_REASONING].i != 0, v[CONTENT].type != DB_NULL && !a->hide_reasoning, o);
    absent_write(a, &v[ABSENT], o);
    call_temperature_write(row->request, o);
    json_out_key(o, STR("decision"));
    if (v[DECISION].type != DB_NULL && v[HAS_REASONING].i && a->hide_reasoning)
        json_out_str(o, decision_bare(v[DECISION].s));
    else
        value_write(COLUMN_TEXT, &v[DECISION], false, o);
}

void call_read(const struct db_value *v, struct call_facts_read *out)
{
    *out = (struct call_facts_read){
        .id = query_calls_text_of(&v[ID]),
        .step = query_calls_text_of(&v[STEP]),
        .answer = query_calls_text_of(&v[RESPONSE]),
        .model = query_calls_text_of(&v[MODEL]),
        .started_us = v[STARTED_US].i,
        .duration_ms = v[DURATION_MS].type == DB_NULL ? -1 : v[DURATION_MS].i,
        .failed = v[STATUS].i >= 400 || query_calls_text_of(&v[ERROR_CODE]).n > 0,
    };
}

/* ---- segments ---- */

static void query_calls_segment_write(const struct query_asker *a, const struct db_value *v,
                                      struct json_out *o)
{
    bool reasoning = str_eq(query_calls_text_of(&v[SEGMENT_KIND]), STR("reasoning"));
    bool hide = reasoning && a->hide_reasoning;

    json_out_object(o);
    columns_write(segment_columns, COUNT_OF(segment_columns), v, false, o);
    json_out_key(o, STR("text"));
    value_write(COLUMN_HIDDEN, &v[SEGMENT_TEXT], hide, o);
    json_out_key(o, STR("state"));
    if (hide)
        json_out_str(o, STR("hidden"));
    else
        value_write(COLUMN_TEXT, &v[SEGMENT_STATE], false, o);
    json_out_end(o);
}

struct segments_out {
    const struct query_asker *a;
    struct json_out *o;
    size_t room;
};

static bool segments_on_row(void *ctx, const struct db_value *v, size_t n)
{
    struct segments_out *x = ctx;

    assert(n == SEGMENT_COLUMNS);
    if (x->room == 0)
        return false;
    x->room--;
    query_calls_segment_write(x->a, v, x->o);
    return true;
}

size_t segments_write(struct reader *r, const struct query_asker *a, const struct store_call *row,
                      size_t max, struct json_out *o)
{
    struct segments_out x = {a, o, max};

    call_segments_read(&r->segments, row, &r->row, (struct db_rows){segments_on_row, &x});
    assert(x.room <= max);
    return max - x.room;
}
