/* responses_settings.c - everything of a Responses request but its input.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses.h"

static bool read_numbers(const struct asked *r, const struct json_node *root)
{
    struct chat_request *q = r->out;
    const struct {
        const char *key;
        str *to;
        bool whole;
    } rows[] = {
        {"max_output_tokens", &q->max_tokens, true},
        {"temperature", &q->temperature, false},
        {"top_p", &q->top_p, false},
        {"seed", &q->seed, true},
        {"top_k", &q->top_k, true},
        {"frequency_penalty", &q->frequency_penalty, false},
        {"presence_penalty", &q->presence_penalty, false},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct json_node *v = member_find(r->doc, root, rows[i].key);
        int64_t n;

        if (!v)
            continue;
        if (rows[i].whole ? !json_i64(r->doc, v, &n) : v->kind != JSON_NUMBER)
            asked_defer_error(
                r, NULL, rows[i].key, rows[i].whole ? "must be an integer" : "must be a number");
        else if (rows[i].to == &q->max_tokens && n < 1)
            asked_defer_error(r, NULL, rows[i].key, "must be at least 1");
        else
            *rows[i].to = json_raw(r->doc, v);
    }
    return true;
}

static bool read_flags(const struct asked *r, const struct json_node *root)
{
    const struct json_node *parallel = member_find(r->doc, root, "parallel_tool_calls");
    const struct json_node *instructions = member_find(r->doc, root, "instructions");

    if (parallel && !json_bool(parallel, &r->out->parallel))
        return asked_bad(r, NULL, "parallel_tool_calls", "must be true or false");
    r->out->parallel_given = parallel != NULL;
    r->out->stream_usage = true;
    if (instructions && instructions->kind == JSON_OBJECT)
        return asked_bad(r, NULL, "instructions", "must be a string");
    r->out->user = member_text(r->doc, root, "user", r->a);
    if (!r->out->user.n)
        r->out->user = member_text(r->doc, root, "safety_identifier", r->a);
    return true;
}

/* ---- tools ---- */

static bool read_tool(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                      struct chat_tool *t)
{
    const struct json_node *type = member_find(r->doc, v, "type");
    const struct json_node *box = member_find(r->doc, v, "function"), *strict;

    *t = part_tool(CHAT_RESPONSES);
    if (v->kind != JSON_OBJECT || !type || type->kind != JSON_STRING)
        return asked_bad(r, at, NULL, "must be an object with a type");
    if (json_is(r->doc, type, STR("custom"))) {
        part_tool_custom(r->doc, v, r->a, t);
        return t->name.n || asked_bad(r, at, "name", "must be a string that is not empty");
    }
    if (!json_is(r->doc, type, STR("function"))) {
        t->opaque = json_raw(r->doc, v);
        t->name = member_text(r->doc, v, member_find(r->doc, v, "name") ? "name" : "type", r->a);
        return true;
    }
    if (box && box->kind == JSON_OBJECT)
        v = box; /* as Chat Completions has it */
    strict = member_find(r->doc, v, "strict");
    t->strict_given = strict && json_bool(strict, &t->strict);
    return asked_function(r, at, v, t);
}

/* Tools that are not functions go by their type, or by a label. */
static void allow(const struct asked *r, const struct json_node *v)
{
    static const char *const keys[] = {"name", "server_label", "type"};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (member_find(r->doc, v, keys[i])) {
            part_tool_allow(r->out, member_text(r->doc, v, keys[i], r->a));
            return;
        }
}

/* One that must be called can be named elsewhere; more are all that others are given. */
static void choice_allowed(const struct asked *r, const struct json_node *v)
{
    const struct json_node *list = member_find(r->doc, v, "tools"),
                           *only = json_at(r->doc, list, 0);

    if (!part_choice_word(r->doc, member_find(r->doc, v, "mode"), &r->out->choice))
        r->out->choice = CHAT_CHOICE_AUTO;
    if (r->out->choice == CHAT_CHOICE_REQUIRED && json_count(r->doc, list) == 1 &&
        member_is(r->doc, only, "type", "function")) {
        r->out->choice = CHAT_CHOICE_TOOL;
        r->out->choice_name = member_text(r->doc, only, "name", r->a);
    }
    if (!list || list->kind != JSON_ARRAY)
        return;
    part_tools_bar(r->out);
    for (const struct json_node *t = json_first(r->doc, list); t; t = json_next(r->doc, list, t))
        allow(r, t);
}

static bool read_choice(const struct asked *r, const struct json_node *root)
{
    const struct json_node *v = member_find(r->doc, root, "tool_choice"), *type;

    if (!v || part_choice_word(r->doc, v, &r->out->choice))
        return true;
    type = member_find(r->doc, v, "type");
    if (v->kind != JSON_OBJECT || !type || type->kind != JSON_STRING)
        return asked_defer_error(
            r, NULL, "tool_choice", "must be none, auto, required or an object with a type");
    if (json_is(r->doc, type, STR("allowed_tools"))) {
        choice_allowed(r, v);
        return true;
    }
    r->out->choice = CHAT_CHOICE_TOOL;
    r->out->choice_name = member_text(r->doc, v, "name", r->a);
    if (!r->out->choice_name.n && member_find(r->doc, v, "function"))
        r->out->choice_name = member_text(r->doc, member_find(r->doc, v, "function"), "name", r->a);
    if (json_is(r->doc, type, STR("function")) && !r->out->choice_name.n)
        return asked_bad(r, NULL, "tool_choice.name", "must be a string that is not empty");
    if (!r->out->choice_name.n) /* a built-in tool goes by its type */
        r->out->choice_name = member_text(r->doc, v, "type", r->a);
    return true;
}

/* ---- format, reasoning ---- */

static bool read_format(const struct asked *r, const struct json_node *root)
{
    const struct json_node *text = member_find(r->doc, root, "text"),
                           *v = member_find(r->doc, text, "format");
    const struct json_node *type = member_find(r->doc, v, "type"), *schema;
    bool strict;

    if (text && text->kind != JSON_OBJECT)
        return asked_bad(r, NULL, "text", "must be an object");
    if (!v)
        return true;
    if (json_is(r->doc, type, STR("text"))) {
        r->out->format = CHAT_FORMAT_TEXT;
        return true;
    }
    if (json_is(r->doc, type, STR("json_object"))) {
        r->out->format = CHAT_FORMAT_JSON;
        return true;
    }
    if (!json_is(r->doc, type, STR("json_schema")))
        return asked_defer_error(
            r, NULL, "text.format.type", "must be text, json_object or json_schema");
    schema = member_find(r->doc, v, "schema");
    if (!schema || schema->kind != JSON_OBJECT)
        return asked_bad(r, NULL, "text.format.schema", "must be a JSON Schema, an object");
    r->out->format = CHAT_FORMAT_SCHEMA;
    r->out->format_name = member_text(r->doc, v, "name", r->a);
    r->out->format_description = member_text(r->doc, v, "description", r->a);
    r->out->format_schema = json_raw(r->doc, schema);
    r->out->format_strict = json_bool(member_find(r->doc, v, "strict"), &strict) && strict;
    return true;
}

static bool read_reasoning(const struct asked *r, const struct json_node *root)
{
    const struct json_node *v = member_find(r->doc, root, "reasoning"),
                           *effort = member_find(r->doc, v, "effort");
    const struct json_node *summary = member_find(r->doc, v, "summary");
    int64_t budget;
    bool flag;
    str name;

    if (!summary)
        summary = member_find(r->doc, v, "generate_summary");
    if (v && v->kind != JSON_OBJECT)
        return asked_bad(r, NULL, "reasoning", "must be an object");
    if (effort &&
        (!json_text(r->doc, effort, r->a, &name) || !chat_level_parse(name, &r->out->level)))
        asked_defer_level(
            r, NULL, "reasoning.effort", "must be none, minimal, low, medium, high, xhigh or max");
    if (summary && summary->kind == JSON_STRING)
        r->out->thoughts = true;
    /* OpenRouter's members, which its own Responses endpoint takes too. */
    if (json_i64(r->doc, member_find(r->doc, v, "max_tokens"), &budget) && budget >= 0)
        r->out->budget_tokens = budget;
    if (json_bool(member_find(r->doc, v, "exclude"), &flag))
        r->out->no_thoughts = flag;
    if (json_bool(member_find(r->doc, v, "enabled"), &flag) && !effort)
        r->out->level = flag ? CHAT_LEVEL_ON : CHAT_LEVEL_NONE;
    return true;
}

bool responses_read_settings(const struct asked *r, const struct json_node *root)
{
    return asked_head(r, root) && read_numbers(r, root) && read_flags(r, root) &&
           asked_tools(r, root, read_tool) && read_choice(r, root) && read_format(r, root) &&
           read_reasoning(r, root);
}
