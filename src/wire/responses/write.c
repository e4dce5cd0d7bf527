/* write.c - a chat request as a client of the Responses API would write it.
 *
 * Nothing is left on the host: store is false, and reasoning comes back sealed, so that it can go
 * with the next turn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/responses.h"

#define OUTPUT_MIN 16
#define OUTPUT_MIN_TEXT "16"

static void responses_write_file(struct json_out *o, const struct chat_part *p)
{
    json_out_object(o);
    if (!json_write_audio(o, p)) {
        json_member_str(o, "type", STR("input_file"));
        if (p->data.n)
            json_member_str(o, "filename", p->name.n ? p->name : STR("file"));
        json_write_url(o, p->data.n ? "file_data" : "file_url", p);
    }
    json_out_end(o);
}

/* A part of what a user or a tool says. */
static void responses_write_input_part(struct json_out *o, const struct chat_part *p)
{
    switch (p->kind) {
    case CHAT_PART_TEXT:
    case CHAT_PART_REFUSAL:
        json_write_typed(o, "input_text");
        json_member_str(o, "text", p->text);
        json_out_end(o);
        break;
    case CHAT_PART_IMAGE:
        json_write_typed(o, "input_image");
        json_write_url(o, "image_url", p);
        json_write_text(o, "detail", p->name);
        json_out_end(o);
        break;
    case CHAT_PART_FILE:
        responses_write_file(o, p);
        break;
    case CHAT_PART_OPAQUE:
        if (p->dialect == CHAT_RESPONSES)
            json_out_raw(o, p->json);
        break;
    default:
        break;
    }
}

static bool responses_write_all_text(const struct chat_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (parts[i].kind != CHAT_PART_TEXT)
            return false;
    return true;
}

static void responses_write_content(struct json_out *o, const char *key,
                                    const struct chat_part *parts, size_t n)
{
    json_out_key(o, str_c(key));
    if (n == 1 && parts[0].kind == CHAT_PART_TEXT) {
        json_out_str(o, parts[0].text);
        return;
    }
    if (n == 0) {
        json_out_str(o, STR(""));
        return;
    }
    json_out_array(o);
    for (size_t i = 0; i < n; i++)
        responses_write_input_part(o, &parts[i]);
    json_out_end(o);
}

static void responses_write_plain_message(struct json_out *o, const char *role,
                                          const struct chat_part *parts, size_t n)
{
    json_out_object(o);
    json_member_str(o, "role", str_c(role));
    responses_write_content(o, "content", parts, n);
    json_out_end(o);
}

static void responses_write_said(struct json_out *o, const struct chat_part *p)
{
    bool refusal = p->kind == CHAT_PART_REFUSAL;

    if (!p->text.n)
        return;
    json_write_typed(o, "message");
    json_member_str(o, "role", STR("assistant"));
    json_member_array(o, "content");
    json_write_typed(o, refusal ? "refusal" : "output_text");
    json_member_str(o, refusal ? "refusal" : "text", p->text);
    json_out_close(o, 3);
}

static void responses_write_call(struct json_out *o, const struct chat_part *p)
{
    json_write_typed(o, "function_call");
    json_member_str(o, "call_id", p->id);
    json_member_str(o, "name", p->name);
    json_member_str(o, "arguments", p->json.n ? p->json : STR("{}"));
    json_out_end(o);
}

static void responses_write_result(struct json_out *o, const struct chat_part *p)
{
    json_write_typed(o, "function_call_output");
    json_member_str(o, "call_id", p->id);
    responses_write_content(o, "output", p->parts, p->part_count);
    json_out_end(o);
}

static void responses_write_own_item(struct json_out *o, const struct chat_part *p)
{
    str json = p->kind == CHAT_PART_REASONING ? p->signature : p->json;

    if (p->dialect == CHAT_RESPONSES && str_starts(json, STR("{")))
        json_out_raw(o, json);
}

static void responses_write_items(struct json_out *o, const struct chat_message *m)
{
    for (size_t i = 0; i < m->part_count; i++) {
        const struct chat_part *p = &m->parts[i];

        switch (p->kind) {
        case CHAT_PART_TEXT:
        case CHAT_PART_REFUSAL:
            responses_write_said(o, p);
            break;
        case CHAT_PART_TOOL_CALL:
            responses_write_call(o, p);
            break;
        case CHAT_PART_TOOL_RESULT:
            responses_write_result(o, p);
            break;
        case CHAT_PART_REASONING:
        case CHAT_PART_OPAQUE:
            responses_write_own_item(o, p);
            break;
        default:
            break;
        }
    }
}

/* A user's message may contain results of tools, as one dialect allows: they come first. */
static void responses_write_user(struct json_out *o, const struct chat_message *m)
{
    size_t from = 0;

    for (size_t i = 0; i <= m->part_count; i++) {
        bool here = i < m->part_count && m->parts[i].kind == CHAT_PART_TOOL_RESULT;

        if (i < m->part_count && !here)
            continue;
        if (i > from)
            responses_write_plain_message(o, "user", m->parts + from, i - from);
        if (here)
            responses_write_result(o, &m->parts[i]);
        from = i + 1;
    }
}

static size_t responses_write_instructions(struct json_out *o, const struct chat_request *r)
{
    const struct chat_message *m = r->messages;
    struct buf text;

    if (!r->message_count || m->role != CHAT_SYSTEM ||
        !responses_write_all_text(m->parts, m->part_count))
        return 0;
    buf_init(&text, JSON_SIZE_MAX);
    for (size_t i = 0; i < m->part_count; i++) {
        if (i)
            buf_add(&text, STR("\n\n"));
        buf_add(&text, m->parts[i].text);
    }
    json_member_str(o, "instructions", buf_str(&text));
    buf_release(&text);
    return 1;
}

static void responses_write_input(struct json_out *o, const struct chat_request *r, size_t from)
{
    json_member_array(o, "input");
    for (size_t i = from; i < r->message_count; i++) {
        const struct chat_message *m = &r->messages[i];

        if (m->role == CHAT_SYSTEM)
            responses_write_plain_message(o, "developer", m->parts, m->part_count);
        else if (m->role == CHAT_USER)
            responses_write_user(o, m);
        else
            responses_write_items(o, m);
    }
    json_out_end(o);
}

/* ---- settings ---- */

static void responses_write_format(struct json_out *o, const struct chat_request *r)
{
    if (r->format == CHAT_FORMAT_NONE || r->format == CHAT_FORMAT_TEXT)
        return;
    json_out_key(o, STR("format"));
    json_write_typed(o, r->format == CHAT_FORMAT_JSON ? "json_object" : "json_schema");
    if (r->format == CHAT_FORMAT_SCHEMA) {
        json_member_str(o, "name", r->format_name.n ? r->format_name : STR("response"));
        json_write_text(o, "description", r->format_description);
        json_write_raw(o, "schema", r->format_schema);
        json_member_bool(o, "strict", schema_is_strict(r, r->format_strict, r->format_schema));
    }
    json_out_end(o);
}

/* How the answer is to be. */
static void responses_write_text(struct json_out *o, const struct chat_request *r)
{
    str verbosity = r->dialect == CHAT_OPENAI ? request_member_raw(r, NULL, "verbosity") : STR("");

    if ((r->format == CHAT_FORMAT_NONE || r->format == CHAT_FORMAT_TEXT) && !verbosity.n)
        return;
    json_member_object(o, "text");
    responses_write_format(o, r);
    json_write_raw(o, "verbosity", verbosity);
    json_out_end(o);
}

/* Other dialects return reasoning unasked; here summaries must be requested. */
static void responses_write_reasoning(struct json_out *o, const struct chat_request *r)
{
    const char *effort = chat_level_name(r->level);
    bool thinks = r->level != CHAT_LEVEL_NOT_GIVEN && r->level != CHAT_LEVEL_NONE;
    bool shows = (thinks || r->thoughts) && !r->no_thoughts;

    if (!*effort && !shows)
        return;
    json_member_object(o, "reasoning");
    if (*effort)
        json_member_str(o, "effort", str_c(effort));
    if (shows)
        json_member_str(o, "summary", STR("auto"));
    json_out_end(o);
}

static void responses_write_include(struct json_out *o, const struct chat_request *r)
{
    str top;
    bool likely = request_wants_logprobs(r, &top);

    if (likely)
        json_write_raw(o, "top_logprobs", top);
    json_write_raw(o,
                   "include",
                   likely
                       ? STR("[\"reasoning.encrypted_content\",\"message.output_text.logprobs\"]")
                       : STR("[\"reasoning.encrypted_content\"]"));
}

/* The API takes no less than this, and other dialects ask for one. */
static str responses_write_most(str max_tokens)
{
    uint64_t n;

    return str_u64(max_tokens, &n) && n < OUTPUT_MIN ? STR(OUTPUT_MIN_TEXT) : max_tokens;
}

void responses_write(const struct chat_request *r, struct buf *out)
{
    struct json_out o;

    json_out_init_object(&o, out);
    json_member_str(&o, "model", r->model);
    responses_write_input(&o, r, responses_write_instructions(&o, r));
    json_write_tools(&o, r, CHAT_RESPONSES);
    json_write_choice(&o, r, CHAT_RESPONSES);
    if (r->parallel_given)
        json_member_bool(&o, "parallel_tool_calls", r->parallel);
    responses_write_text(&o, r);
    responses_write_reasoning(&o, r);
    json_write_raw(&o, "max_output_tokens", responses_write_most(r->max_tokens));
    settings_write(&o, r, &responses_settings);
    json_write_text(&o, "user", r->user);
    if (r->dialect == CHAT_OPENAI)
        json_write_shared(&o, r);
    json_member_bool(&o, "stream", r->stream);
    json_member_bool(&o, "store", false);
    responses_write_include(&o, r);
    json_out_end(&o);
    assert(o.depth == 0);
}
