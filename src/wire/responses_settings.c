/* responses_settings.c - everything of a Responses request but its input.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses.h"

#define TOOLS_MAX 4096

struct reader {
    const struct json *doc;
    const struct json_node *root;
    struct arena *arena;
    struct chat_request *out;
    struct err *e;
};

static const struct json_node *get(struct reader *r, const struct json_node *v, const char *key)
{
    const struct json_node *m = json_find(r->doc, v, str_c(key));

    return m && m->kind != JSON_NULL ? m : NULL;
}

static bool is(struct reader *r, const struct json_node *v, const char *text)
{
    return json_is(r->doc, v, str_c(text));
}

static bool bad(struct reader *r, const char *where, const char *want)
{
    return err_set(r->e, ERR_INPUT, "%s: %s", where, want);
}

static bool read_model(struct reader *r)
{
    const struct json_node *v = get(r, r->root, "model");

    if (!v)
        return bad(r, "model", "is missing");
    if (!json_text(r->doc, v, r->arena, &r->out->model) || !r->out->model.n)
        return bad(r, "model", "must be a string that is not empty");
    return true;
}

static bool read_numbers(struct reader *r)
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
        const struct json_node *v = get(r, r->root, rows[i].key);
        int64_t n;

        if (!v)
            continue;
        if (rows[i].whole ? !json_i64(r->doc, v, &n) : v->kind != JSON_NUMBER)
            return bad(r, rows[i].key, rows[i].whole ? "must be an integer" : "must be a number");
        if (rows[i].to == &q->max_tokens && n < 1)
            return bad(r, rows[i].key, "must be at least 1");
        *rows[i].to = json_raw(r->doc, v);
    }
    return true;
}

static bool read_flags(struct reader *r)
{
    const struct json_node *stream = get(r, r->root, "stream");
    const struct json_node *parallel = get(r, r->root, "parallel_tool_calls");

    if (stream && !json_bool(stream, &r->out->stream))
        return bad(r, "stream", "must be true or false");
    if (parallel && !json_bool(parallel, &r->out->parallel))
        return bad(r, "parallel_tool_calls", "must be true or false");
    r->out->parallel_given = parallel != NULL;
    r->out->stream_usage = true;
    if (get(r, r->root, "instructions") && get(r, r->root, "instructions")->kind == JSON_OBJECT)
        return bad(r, "instructions", "must be a string");
    r->out->user = member_text(r->doc, r->root, "user", r->arena);
    if (!r->out->user.n)
        r->out->user = member_text(r->doc, r->root, "safety_identifier", r->arena);
    return true;
}

/* ---- tools ---- */

static bool read_tool(struct reader *r, const struct json_node *v, size_t i, struct chat_tool *t)
{
    const struct json_node *type = get(r, v, "type"), *schema, *strict;
    char where[48];

    snprintf(where, sizeof where, "tools[%zu]", i);
    *t = (struct chat_tool){.name = STR(""),
                            .description = STR(""),
                            .schema = STR(""),
                            .opaque = STR(""),
                            .dialect = CHAT_RESPONSES};
    if (v->kind != JSON_OBJECT || !type || type->kind != JSON_STRING)
        return bad(r, where, "must be an object with a type");
    if (!is(r, type, "function")) {
        t->opaque = json_raw(r->doc, v);
        t->name = member_text(r->doc, v, get(r, v, "name") ? "name" : "type", r->arena);
        return true;
    }
    if (get(r, v, "function") && get(r, v, "function")->kind == JSON_OBJECT)
        v = get(r, v, "function"); /* as Chat Completions has it */
    t->name = member_text(r->doc, v, "name", r->arena);
    t->description = member_text(r->doc, v, "description", r->arena);
    schema = get(r, v, "parameters");
    strict = get(r, v, "strict");
    snprintf(where, sizeof where, "tools[%zu].name", i);
    if (!t->name.n)
        return bad(r, where, "must be a string that is not empty");
    snprintf(where, sizeof where, "tools[%zu].parameters", i);
    if (schema && schema->kind != JSON_OBJECT)
        return bad(r, where, "must be a JSON Schema, an object");
    if (schema)
        t->schema = json_raw(r->doc, schema);
    t->strict_given = strict && json_bool(strict, &t->strict);
    return true;
}

static bool read_tools(struct reader *r)
{
    const struct json_node *list = get(r, r->root, "tools");
    size_t n = json_count(r->doc, list), i = 0;

    if (!list)
        return true;
    if (list->kind != JSON_ARRAY)
        return bad(r, "tools", "must be a list");
    if (n > TOOLS_MAX)
        return bad(r, "tools", "has too many tools");
    r->out->tools = arena_zero(r->arena, n, sizeof *r->out->tools);
    for (const struct json_node *v = json_first(r->doc, list); v; v = json_next(r->doc, list, v)) {
        if (!read_tool(r, v, i, &r->out->tools[i]))
            return false;
        r->out->tool_count = ++i;
    }
    return true;
}

static bool choice_word(struct reader *r, const struct json_node *v)
{
    static const struct {
        const char *word;
        enum chat_choice_kind kind;
    } rows[] = {
        {"auto", CHAT_CHOICE_AUTO}, {"none", CHAT_CHOICE_NONE}, {"required", CHAT_CHOICE_REQUIRED}};

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (is(r, v, rows[i].word)) {
            r->out->choice = rows[i].kind;
            return true;
        }
    return false;
}

/* Of the tools that are allowed, one that must be called can be said elsewhere; more cannot. */
static void choice_allowed(struct reader *r, const struct json_node *v)
{
    const struct json_node *list = get(r, v, "tools"), *only = json_at(r->doc, list, 0);

    if (!choice_word(r, get(r, v, "mode")))
        r->out->choice = CHAT_CHOICE_AUTO;
    if (r->out->choice == CHAT_CHOICE_REQUIRED && json_count(r->doc, list) == 1 &&
        is(r, get(r, only, "type"), "function")) {
        r->out->choice = CHAT_CHOICE_TOOL;
        r->out->choice_name = member_text(r->doc, only, "name", r->arena);
    }
}

static bool read_choice(struct reader *r)
{
    const struct json_node *v = get(r, r->root, "tool_choice"), *type;

    if (!v || choice_word(r, v))
        return true;
    type = get(r, v, "type");
    if (v->kind != JSON_OBJECT || !type || type->kind != JSON_STRING)
        return bad(r, "tool_choice", "must be none, auto, required or an object with a type");
    if (is(r, type, "allowed_tools")) {
        choice_allowed(r, v);
        return true;
    }
    r->out->choice = CHAT_CHOICE_TOOL;
    r->out->choice_name = member_text(r->doc, v, "name", r->arena);
    if (!r->out->choice_name.n && get(r, v, "function"))
        r->out->choice_name = member_text(r->doc, get(r, v, "function"), "name", r->arena);
    if (is(r, type, "function") && !r->out->choice_name.n)
        return bad(r, "tool_choice.name", "must be a string that is not empty");
    if (!r->out->choice_name.n) /* a built-in tool goes by its type */
        r->out->choice_name = member_text(r->doc, v, "type", r->arena);
    return true;
}

/* ---- format, reasoning ---- */

static bool read_format(struct reader *r)
{
    const struct json_node *text = get(r, r->root, "text"), *v = get(r, text, "format");
    const struct json_node *type = get(r, v, "type"), *schema;
    bool strict;

    if (text && text->kind != JSON_OBJECT)
        return bad(r, "text", "must be an object");
    if (!v)
        return true;
    if (is(r, type, "text")) {
        r->out->format = CHAT_FORMAT_TEXT;
        return true;
    }
    if (is(r, type, "json_object")) {
        r->out->format = CHAT_FORMAT_JSON;
        return true;
    }
    if (!is(r, type, "json_schema"))
        return bad(r, "text.format.type", "must be text, json_object or json_schema");
    schema = get(r, v, "schema");
    if (!schema || schema->kind != JSON_OBJECT)
        return bad(r, "text.format.schema", "must be a JSON Schema, an object");
    r->out->format = CHAT_FORMAT_SCHEMA;
    r->out->format_name = member_text(r->doc, v, "name", r->arena);
    r->out->format_schema = json_raw(r->doc, schema);
    r->out->format_strict = json_bool(get(r, v, "strict"), &strict) && strict;
    return true;
}

static bool read_reasoning(struct reader *r)
{
    const struct json_node *v = get(r, r->root, "reasoning"), *effort = get(r, v, "effort");
    const struct json_node *summary = get(r, v, "summary");
    int64_t budget;
    bool flag;
    str name;

    if (!summary)
        summary = get(r, v, "generate_summary");
    if (v && v->kind != JSON_OBJECT)
        return bad(r, "reasoning", "must be an object");
    if (effort &&
        (!json_text(r->doc, effort, r->arena, &name) || !chat_level_parse(name, &r->out->level)))
        return bad(r, "reasoning.effort", "must be none, minimal, low, medium, high, xhigh or max");
    if (summary && summary->kind == JSON_STRING)
        r->out->thoughts = true;
    /* OpenRouter's members, which its own Responses endpoint takes too. */
    if (json_i64(r->doc, get(r, v, "max_tokens"), &budget) && budget >= 0)
        r->out->budget_tokens = budget;
    if (json_bool(get(r, v, "exclude"), &flag))
        r->out->no_thoughts = flag;
    if (json_bool(get(r, v, "enabled"), &flag) && !effort)
        r->out->level = flag ? CHAT_LEVEL_ON : CHAT_LEVEL_NONE;
    return true;
}

bool responses_read_settings(const struct json *doc, struct arena *a, struct chat_request *out,
                             struct err *e)
{
    struct reader r = {.doc = doc, .root = json_root(doc), .arena = a, .out = out, .e = e};
    static const str none = STR_INIT("");

    *out = (struct chat_request){.dialect = CHAT_RESPONSES,
                                 .model = none,
                                 .choice_name = none,
                                 .max_tokens = none,
                                 .temperature = none,
                                 .top_p = none,
                                 .top_k = none,
                                 .seed = none,
                                 .frequency_penalty = none,
                                 .presence_penalty = none,
                                 .n = none,
                                 .format_name = none,
                                 .format_schema = none,
                                 .user = none,
                                 .budget_tokens = -1,
                                 .doc = doc};
    return read_model(&r) && read_numbers(&r) && read_flags(&r) && read_tools(&r) &&
           read_choice(&r) && read_format(&r) && read_reasoning(&r);
}
