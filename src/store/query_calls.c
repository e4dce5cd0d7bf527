/* query_calls.c - one call as the API shows it, and the stretches of its reply.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_calls.h"

/* Requests up to this size are opened for what is only in them. */
#define TEMPERATURE_OF "CASE WHEN i.request_size <= 65536 THEN i.request ELSE NULL END"

enum {
    ID,
    STARTED_US,
    DURATION_MS,
    STEP,
    STATE,
    REQUEST,
    REQUEST_SIZE,
    PROMPT,
    RESPONSE,
    MODEL,
    TOKENS,
    HAS_REASONING,
    DECISION,
    CONTENT,
    STATUS,
    ERROR_CODE = STATUS + 2,
    ABSENT = 48, /* the last */
};

const struct column call_columns[] = {
    [ID] = {"interaction_id", "i.interaction_id", COLUMN_TEXT},
    [STARTED_US] = {"started_at_us", "i.started_ms * 1000", COLUMN_NUMBER},
    [DURATION_MS] = {"duration_ms", "i.ended_ms - i.started_ms", COLUMN_NUMBER},
    [STEP] = {"step_description", "i.step_description", COLUMN_SKIP},
    [STATE] = {"reasoning_state", "i.reasoning_state", COLUMN_SKIP},
    [REQUEST] = {"request", TEMPERATURE_OF, COLUMN_SKIP},
    [REQUEST_SIZE] = {"request_size", "i.request_size", COLUMN_SKIP},
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
    {"stop", "i.stop", COLUMN_TEXT},
    [ERROR_CODE] = {"error_code", "i.error_code", COLUMN_TEXT},
    {"error_message", "i.error_message", COLUMN_TEXT},
    {"reasoning_summary", "i.reasoning_summary", COLUMN_HIDDEN},
    {"session_id", "i.session_id", COLUMN_TEXT},
    {"parent_id", "i.parent_id", COLUMN_TEXT},
    {"key_name", "i.key_name", COLUMN_TEXT},
    {"subject", "i.subject", COLUMN_TEXT},
    {"route", "i.route", COLUMN_TEXT},
    {"provider", "i.provider", COLUMN_TEXT},
    {"upstream_model", "i.upstream_model", COLUMN_TEXT},
    {"dialect", "i.dialect", COLUMN_TEXT},
    {"upstream_dialect", "i.upstream_dialect", COLUMN_TEXT},
    {"stream", "i.stream", COLUMN_FLAG},
    {"complete", "i.complete", COLUMN_FLAG},
    {"level", "i.reasoning_level", COLUMN_TEXT},
    {"cap_tokens", "i.cap_tokens", COLUMN_NUMBER},
    {"reasoning_cut", "i.reasoning_cut", COLUMN_TEXT},
    {"reasoning_source", "i.reasoning_source", COLUMN_TEXT},
    {"reasoning_tokens", "i.reasoning_tokens", COLUMN_NUMBER},
    {"reasoning_exact", "i.reasoning_exact", COLUMN_FLAG},
    {"reasoning_started_us", "i.reasoning_ms * 1000", COLUMN_NUMBER},
    {"reasoning_ended_us",
     "CASE WHEN i.reasoning_ms IS NULL THEN NULL ELSE coalesce(i.answer_ms, i.ended_ms) * 1000 END",
     COLUMN_NUMBER},
    {"input_tokens", "i.input_tokens", COLUMN_NUMBER},
    {"output_tokens", "i.output_tokens", COLUMN_NUMBER},
    {"cache_read_tokens", "i.cache_read_tokens", COLUMN_NUMBER},
    {"cache_write_tokens", "i.cache_write_tokens", COLUMN_NUMBER},
    {"cost_usd", "i.cost_usd", COLUMN_NUMBER},
    {"tool_calls", "i.tool_calls", COLUMN_JSON},
    {"tools", "i.tools", COLUMN_JSON},
    {"attempts", "i.attempts", COLUMN_JSON},
    {"first_byte_us", "i.first_ms * 1000", COLUMN_NUMBER},
    {"ended_at_us", "i.ended_ms * 1000", COLUMN_NUMBER},
    [ABSENT] = {"reasoning_absent", REASONING_ABSENT, COLUMN_SKIP},
};
const size_t call_column_count = COUNT_OF(call_columns);

const struct column segment_columns[] = {
    {"interaction_id", "g.interaction_id", COLUMN_TEXT},
    {"n", "g.n", COLUMN_NUMBER},
    {"kind", "g.kind", COLUMN_TEXT},
    {"text", "g.text", COLUMN_SKIP},
    {"tokens", "g.tokens", COLUMN_NUMBER},
    {"exact", "g.exact", COLUMN_FLAG},
    {"started_us", "g.started_us", COLUMN_NUMBER},
    {"ended_us", "g.ended_us", COLUMN_NUMBER},
    {"budget", "g.budget", COLUMN_NUMBER},
    {"cut", "g.cut", COLUMN_FLAG},
    {"state", "g.state", COLUMN_SKIP},
};
const size_t segment_column_count = COUNT_OF(segment_columns);

static str text_of(const struct db_value *v)
{
    return v->type == DB_TEXT || v->type == DB_BLOB ? v->s : STR("");
}

/* Text that was there and is not here is hidden; what never was readable says so itself. */
static void state_write(const struct db_value *state, bool reasoned, bool text, struct json_out *o)
{
    str s = text_of(state);

    json_out_key(o, STR("reasoning_state"));
    if (reasoned && !text && !str_eq(s, STR("opaque")))
        json_out_str(o, STR("hidden"));
    else
        value_write(COLUMN_TEXT, state, false, o);
}

static void temperature_write(struct arena *arena, const struct db_value *body, int64_t size,
                              struct json_out *o)
{
    struct json doc;
    struct err e;
    double x;
    str text;

    json_out_key(o, STR("temperature"));
    json_init(&doc);
    if (body_unpack(arena, body, size, &text) && text.n && json_parse(&doc, text, &e) &&
        (json_double(&doc, json_find(&doc, json_root(&doc), STR("temperature")), &x) ||
         json_double(&doc, json_pointer(&doc, STR("/generationConfig/temperature")), &x) ||
         json_double(&doc, json_pointer(&doc, STR("/options/temperature")), &x)))
        json_out_double(o, x);
    else
        json_out_null(o);
    json_release(&doc);
}

void call_write(const struct query_asker *a, struct arena *arena, const struct db_value *v,
                struct json_out *o)
{
    columns_write(call_columns, COUNT_OF(call_columns), v, a->hide_reasoning, o);
    state_write(
        &v[STATE], v[HAS_REASONING].i != 0, v[CONTENT].type != DB_NULL && !a->hide_reasoning, o);
    absent_write(a, &v[ABSENT], o);
    temperature_write(arena, &v[REQUEST], v[REQUEST_SIZE].i, o);
    json_out_key(o, STR("decision"));
    if (v[DECISION].type != DB_NULL && v[HAS_REASONING].i && a->hide_reasoning)
        json_out_str(o, decision_bare(v[DECISION].s));
    else
        value_write(COLUMN_TEXT, &v[DECISION], false, o);
}

void call_read(const struct db_value *v, struct call_facts_read *out)
{
    *out = (struct call_facts_read){
        .id = text_of(&v[ID]),
        .step = text_of(&v[STEP]),
        .answer = text_of(&v[RESPONSE]),
        .model = text_of(&v[MODEL]),
        .started_us = v[STARTED_US].i,
        .duration_ms = v[DURATION_MS].type == DB_NULL ? -1 : v[DURATION_MS].i,
        .failed = v[STATUS].i >= 400 || text_of(&v[ERROR_CODE]).n > 0,
    };
}

void segment_json(const struct query_asker *a, const struct db_value *v, struct json_out *o)
{
    enum { KIND = 2, TEXT, SEGMENT_STATE = 10 };
    bool reasoning = str_eq(text_of(&v[KIND]), STR("reasoning"));
    bool hide = reasoning && a->hide_reasoning;

    columns_write(segment_columns, COUNT_OF(segment_columns), v, false, o);
    json_out_key(o, STR("text"));
    value_write(COLUMN_HIDDEN, &v[TEXT], hide, o);
    json_out_key(o, STR("state"));
    if (hide)
        json_out_str(o, STR("hidden"));
    else
        value_write(COLUMN_TEXT, &v[SEGMENT_STATE], false, o);
}
