/* query_csv.c - events as lines of CSV.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_export.h"

/* The place of each column in an event; the first is the session's id. */
static const struct {
    const char *name, *pointer;
} columns[] = {
    {"session_id", NULL},
    {"event_id", "/event_id"},
    {"type", "/type"},
    {"timestamp_us", "/timestamp_us"},
    {"duration_ms", "/duration_ms"},
    {"step_description", "/step_description"},
    {"model_name", "/details/model_name"},
    {"provider", "/details/provider"},
    {"upstream_model", "/details/upstream_model"},
    {"dialect", "/details/dialect"},
    {"key_name", "/details/key_name"},
    {"subject", "/details/subject"},
    {"status", "/details/status"},
    {"stop", "/details/stop"},
    {"error_code", "/details/error_code"},
    {"error_message", "/details/error_message"},
    {"stream", "/details/stream"},
    {"complete", "/details/complete"},
    {"level", "/details/level"},
    {"cap_tokens", "/details/cap_tokens"},
    {"has_reasoning", "/details/has_reasoning"},
    {"reasoning_state", "/details/reasoning_state"},
    {"reasoning_cut", "/details/reasoning_cut"},
    {"reasoning_tokens", "/details/reasoning_tokens"},
    {"reasoning_exact", "/details/reasoning_exact"},
    {"reasoning_content", "/details/reasoning_content"},
    {"reasoning_summary", "/details/reasoning_summary"},
    {"input_tokens", "/details/input_tokens"},
    {"output_tokens", "/details/output_tokens"},
    {"cache_read_tokens", "/details/cache_read_tokens"},
    {"cost_usd", "/details/cost_usd"},
    {"prompt", "/details/prompt"},
    {"response", "/details/response"},
    {"tool_calls", "/details/tool_calls"},
    {"decision", "/details/decision"},
    {"tool_name", "/details/tool_name"},
    {"server_name", "/details/server_name"},
    {"communication_type", "/details/communication_type"},
    {"parameters", "/details/parameters"},
    {"result", "/details/result"},
    {"success", "/details/success"},
    {"stage", "/stage"},
    {"agent", "/agent"},
};

/* Characters that begin a formula in a spreadsheet, also after white space. */
static bool query_csv_is_formula(str text)
{
    str rest = str_trim(text);

    if (text.n && (text.p[0] == '\t' || text.p[0] == '\r' || text.p[0] == '\n'))
        return true;
    return rest.n && strchr("=+-@|%", rest.p[0]) != NULL && rest.p[0] != '\0';
}

static void query_csv_add_text(struct buf *out, str text)
{
    buf_add_c(out, '"');
    if (query_csv_is_formula(text))
        buf_add_c(out, '\'');
    while (text.n) {
        size_t quote = str_find(text, STR("\""));

        buf_add(out, str_slice(text, 0, quote));
        if (quote == STR_NONE)
            break;
        buf_add(out, STR("\"\""));
        text = str_slice(text, quote + 1, text.n);
    }
    buf_add_c(out, '"');
}

static void query_csv_add_value(struct buf *out, const struct json *doc, const struct json_node *v,
                                struct arena *a)
{
    str text;

    if (!v || v->kind == JSON_NULL)
        return;
    if (json_text(doc, v, a, &text))
        query_csv_add_text(out, text);
    else if (v->kind >= JSON_ARRAY)
        query_csv_add_text(out, json_raw(doc, v));
    else
        buf_add(out, json_raw(doc, v));
}

void csv_head(struct buf *out)
{
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        buf_printf(out, "%s%s", i ? "," : "", columns[i].name);
    buf_add(out, STR("\r\n"));
}

bool csv_write(struct arena *a, str session_id, str event, struct buf *out, struct err *e)
{
    struct json doc;
    bool ok;

    assert(!columns[0].pointer); /* it is the session */
    ok = json_open(&doc, event, e);
    for (size_t i = 0; ok && i < COUNT_OF(columns); i++) {
        if (i)
            buf_add_c(out, ',');
        if (columns[i].pointer)
            query_csv_add_value(out, &doc, json_pointer(&doc, str_c(columns[i].pointer)), a);
        else
            query_csv_add_text(out, session_id);
    }
    buf_add(out, STR("\r\n"));
    json_release(&doc);
    return ok;
}
