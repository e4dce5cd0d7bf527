/* read_options.c - a client's Chat Completions body: everything but its messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

/* ---- numbers ---- */

#define BIT(name) JSON_FIELD_BIT(OPENAI_ASK_##name)

static const char *openai_option_check(const struct request_reader *r, const struct json_node *v,
                                       const struct setting *s, str *out, struct setting_room *room)
{
    double x;

    *out = json_raw(r->doc, v);
    if (json_double(r->doc, v, &x) && x >= s->min && x <= s->max &&
        (!(s->flags & SETTING_WHOLE) || x > 9e15 || x < -9e15 || (double)(int64_t)x == x)) {
        if (x == -1 && s->at == SETTING_AT(top_k)) /* vLLM's "no limit" */
            *out = STR("");
        return NULL;
    }
    if (s->max > 1e8)
        return s->min == 1 ? "expected an integer of at least 1" : "expected an integer";
    (void)snprintf(room->text,
                   sizeof room->text,
                   "expected %s from %g to %g",
                   (s->flags & SETTING_WHOLE) ? "an integer" : "a number",
                   s->min,
                   s->max);
    return room->text;
}

/* The length has two names; the second is read last and wins. */
static const struct setting openai_setting_rows[] = {
    SETTING("max_tokens", max_tokens, 1, 1e9, SETTING_WHOLE | SETTING_READ_ONLY),
    SETTING("max_completion_tokens", max_tokens, 1, 1e9, SETTING_WHOLE),
    SETTING("temperature", temperature, 0, 2, 0),
    SETTING("top_p", top_p, 0, 1, 0),
    SETTING("top_k", top_k, -1, 1e9, SETTING_WHOLE | SETTING_READ_ONLY),
    SETTING("seed", seed, -9.3e18, 1.9e19, SETTING_WHOLE),
    SETTING("frequency_penalty", frequency_penalty, -2, 2, 0),
    SETTING("presence_penalty", presence_penalty, -2, 2, 0),
    SETTING("n", n, 1, OPENAI_CHOICES_MAX, SETTING_WHOLE | SETTING_OURS),
};
const struct settings openai_settings = {
    openai_setting_rows, COUNT_OF(openai_setting_rows), openai_option_check, NULL};

static bool openai_option_read_numbers(const struct request_reader *r, const struct json_fields *m)
{
    const struct json_node *found[COUNT_OF(openai_setting_rows)];

    for (size_t i = 0; i < COUNT_OF(found); i++) {
        str name = openai_setting_rows[i].name;
        int field = openai_request_fields.find(name.p, name.n);

        assert(field >= 0); /* each row is in OPENAI_REQUEST_FIELDS, too */
        found[i] = json_fields_present(m, (unsigned)field);
    }
    return settings_take(r, NULL, found, &openai_settings);
}

static bool openai_option_read_flag(const struct request_reader *r, const struct request_path *at,
                                    const struct json_node *v, const char *name, bool *out,
                                    bool *given)
{
    if (!v)
        return true;
    if (!json_bool(v, out))
        return request_fail(r, at, name, "expected true or false");
    if (given)
        *given = true;
    return true;
}

static bool openai_option_is_true(const struct json_node *v)
{
    return v && v->kind == JSON_TRUE;
}

static bool openai_option_read_stops(const struct request_reader *r, const struct json_node *v)
{
    size_t n = json_is_array(v) ? json_count(r->doc, v) : 1, i = 0;

    if (!v)
        return true;
    if (!request_alloc(r, n, sizeof(str), &r->out->stops))
        return false;
    if (json_text(r->doc, v, r->a, &r->out->stops[0])) {
        r->out->stop_count = 1;
        return true;
    }
    if (v->kind != JSON_ARRAY)
        return request_fail(r, NULL, "stop", "expected a string or a list of strings");
    for (const struct json_node *s = json_first(r->doc, v); s; s = json_next(r->doc, v, s), i++)
        if (!json_text(r->doc, s, r->a, &r->out->stops[i]))
            return request_fail(
                r,
                &(struct request_path){.up = &(struct request_path){.key = "stop"}, .index = i},
                NULL,
                "expected a string");
    r->out->stop_count = n;
    return true;
}

/* ---- tools ---- */

static bool openai_option_read_function(const struct request_reader *r,
                                        const struct request_path *at, const struct json_node *v,
                                        struct chat_tool *out)
{
    const struct json_node *schema = json_get(r->doc, v, "parameters");

    if (!json_is_object(v))
        return request_fail(r, at, NULL, "expected an object");
    out->name = json_get_text(r->doc, v, "name", r->a);
    if (out->name.n == 0)
        return request_fail(r, at, "name", "expected a string, the tool's name");
    out->description = json_get_text(r->doc, v, "description", r->a);
    if (schema && schema->kind != JSON_OBJECT)
        return request_fail(r, at, "parameters", "expected a JSON Schema");
    if (schema)
        out->schema = json_raw(r->doc, schema);
    return openai_option_read_flag(
        r, at, json_get(r->doc, v, "strict"), "strict", &out->strict, &out->strict_given);
}

static bool openai_option_read_tool(const struct request_reader *r, const struct request_path *at,
                                    const struct json_node *v, struct chat_tool *out)
{
    struct request_path here = {.up = at, .key = "function"};
    const struct json_node *type = json_find(r->doc, v, STR("type"));
    const struct json_node *function = json_get(r->doc, v, "function");

    if (type ? type->kind != JSON_STRING : !function)
        return request_fail(r, at, "type", "expected \"function\"");
    if (!type || json_is(r->doc, type, STR("function"))) /* clients of Mistral may leave it out */
        return openai_option_read_function(r, &here, function, out);
    if (json_is(r->doc, type, STR("custom")) && json_get(r->doc, v, "custom")) {
        part_tool_custom(r->doc, json_get(r->doc, v, "custom"), r->a, out);
        return out->name.n || request_fail(r, at, "custom.name", "expected a string");
    }
    out->opaque = json_raw(r->doc, v);
    out->name = json_get_text(r->doc, v, "name", r->a);
    return true;
}

/* `functions` are the old way: no box around each. */
static bool openai_option_read_tools(const struct request_reader *r, const struct json_node *list,
                                     bool old)
{
    struct request_path here = {.key = old ? "functions" : "tools"}, item = {.up = &here};
    size_t n = json_is_array(list) ? json_count(r->doc, list) : 0;

    if (!list)
        return true;
    if (list->kind != JSON_ARRAY)
        return request_fail(r, &here, NULL, "expected a list");
    if (!request_alloc(r, n, sizeof(struct chat_tool), &r->out->tools))
        return false;
    r->out->tool_count = n;
    for (const struct json_node *v = json_first(r->doc, list); v;
         v = json_next(r->doc, list, v), item.index++) {
        struct chat_tool *t = &r->out->tools[item.index];

        *t = part_tool(CHAT_OPENAI);
        if (!(old ? openai_option_read_function(r, &item, v, t)
                  : openai_option_read_tool(r, &item, v, t))) {
            if (!request_defer_failure(r))
                return false;
            t->opaque = json_raw(r->doc, v);
        }
    }
    return true;
}

static bool openai_option_tool_known(const struct chat_request *q, str name)
{
    for (size_t i = 0; i < q->tool_count; i++)
        if (q->tools[i].opaque.n || str_eq(q->tools[i].name, name))
            return true;
    return false;
}

/* Mistral's word for `required` is "any". */
static bool openai_option_choice_word(const struct request_reader *r, const struct json_node *v)
{
    if (part_choice_word(r->doc, v, &r->out->choice))
        return true;
    if (!json_is(r->doc, v, STR("any")))
        return false;
    r->out->choice = CHAT_CHOICE_REQUIRED;
    return true;
}

/* [{"type": "function", "function": {"name": "f"}}], or custom in both places. */
static void openai_option_read_allowed(const struct request_reader *r, const struct json_node *list)
{
    struct map allowed;

    if (!json_is_array(list))
        return;
    part_allow_begin(&allowed);
    JSON_FOREACH(v, r->doc, list) {
        const struct json_node *box = json_get(r->doc, v, "function");

        if (!box)
            box = json_get(r->doc, v, "custom");
        part_allow(&allowed, json_get_text(r->doc, box, "name", r->a));
    }
    part_allow_end(&allowed, r->out);
}

static bool openai_option_read_choice(const struct request_reader *r, const struct json_node *v,
                                      const char *member)
{
    const struct json_node *named = json_find(r->doc, v, STR("function"));
    const struct json_node *allowed = json_find(r->doc, v, STR("allowed_tools"));
    str name;

    if (!v || openai_option_choice_word(r, v))
        return true;
    if (!named)
        named = json_find(r->doc, v, STR("custom"));
    if (!named && v->kind == JSON_OBJECT && json_find(r->doc, v, STR("name")))
        named = v;
    if (v->kind == JSON_OBJECT &&
        json_text(r->doc, json_find(r->doc, named, STR("name")), r->a, &name)) {
        if (!openai_option_tool_known(r->out, name))
            request_defer_error(r, NULL, member, "it names a tool that is not in tools");
        r->out->choice = CHAT_CHOICE_TOOL;
        r->out->choice_name = name;
        return true;
    }
    if (allowed && openai_option_choice_word(r, json_find(r->doc, allowed, STR("mode")))) {
        openai_option_read_allowed(r, json_get(r->doc, allowed, "tools"));
        return true;
    }
    return request_defer_error(
        r, NULL, member, "expected auto, none, required, or an object that names a function");
}

/* ---- format ---- */

static bool openai_option_read_format(const struct request_reader *r, const struct json_node *v)
{
    const struct json_node *type = json_find(r->doc, v, STR("type"));
    const struct json_node *box = json_get(r->doc, v, "json_schema");
    const struct json_node *schema;

    if (!v)
        return true;
    if (!box) /* llama.cpp has the schema beside the type */
        box = v;
    schema = json_get(r->doc, box, "schema");
    if (json_is(r->doc, type, STR("text"))) {
        r->out->format = CHAT_FORMAT_TEXT;
        return true;
    }
    if (json_is(r->doc, type, STR("json_object"))) {
        r->out->format = CHAT_FORMAT_JSON;
        return true;
    }
    /* Extensions of hosts: passed on to providers of this dialect only. */
    if (json_is(r->doc, type, STR("structural_tag")) || json_is(r->doc, type, STR("grammar")) ||
        json_is(r->doc, type, STR("regex")))
        return true;
    if (!json_is(r->doc, type, STR("json_schema")))
        return request_defer_error(
            r, NULL, "response_format.type", "expected text, json_object or json_schema");
    if (!json_is_object(box) || (box == v && !schema))
        return request_defer_error(r, NULL, "response_format.json_schema", "expected an object");
    if (schema && schema->kind != JSON_OBJECT)
        return request_defer_error(
            r, NULL, "response_format.json_schema.schema", "expected a JSON Schema");
    r->out->format = CHAT_FORMAT_SCHEMA;
    r->out->format_name = json_get_text(r->doc, box, "name", r->a);
    r->out->format_description = json_get_text(r->doc, box, "description", r->a);
    r->out->format_schema = schema ? json_raw(r->doc, schema) : STR("{}");
    r->out->format_strict = openai_option_is_true(json_find(r->doc, box, STR("strict")));
    return true;
}

static bool openai_option_read_stream(const struct request_reader *r, const struct json_fields *m)
{
    const struct json_node *options = json_fields_present(m, OPENAI_ASK_STREAM_OPTIONS);

    if (!openai_option_read_flag(
            r, NULL, json_fields_present(m, OPENAI_ASK_STREAM), "stream", &r->out->stream, NULL) ||
        !openai_option_read_flag(r,
                                 NULL,
                                 json_fields_present(m, OPENAI_ASK_PARALLEL_TOOL_CALLS),
                                 "parallel_tool_calls",
                                 &r->out->parallel,
                                 &r->out->parallel_given))
        return false;
    if (options && options->kind != JSON_OBJECT)
        return request_fail(r, NULL, "stream_options", "expected an object");
    r->out->stream_usage = openai_option_is_true(json_find(r->doc, options, STR("include_usage")));
    return true;
}

bool openai_read_options(const struct request_reader *r, const struct json_fields *m)
{
    if (!openai_option_read_numbers(r, m) || !openai_option_read_stream(r, m))
        return false;
    r->out->user = json_fields_text(m, OPENAI_ASK_USER, r->doc, r->a);
    if (!(m->seen & (BIT(STOP) | BIT(FUNCTIONS) | BIT(TOOLS) | BIT(FUNCTION_CALL) |
                     BIT(TOOL_CHOICE) | BIT(RESPONSE_FORMAT))))
        return true;
    return openai_option_read_stops(r, json_fields_present(m, OPENAI_ASK_STOP)) &&
           openai_option_read_tools(r, json_fields_present(m, OPENAI_ASK_FUNCTIONS), true) &&
           openai_option_read_tools(r, json_fields_present(m, OPENAI_ASK_TOOLS), false) &&
           openai_option_read_choice(
               r, json_fields_present(m, OPENAI_ASK_FUNCTION_CALL), "function_call") &&
           openai_option_read_choice(
               r, json_fields_present(m, OPENAI_ASK_TOOL_CHOICE), "tool_choice") &&
           openai_option_read_format(r, json_fields_present(m, OPENAI_ASK_RESPONSE_FORMAT));
}

/* ---- thinking ---- */

static void openai_option_give_level(const struct request_reader *r, enum chat_level level)
{
    if (r->out->level == CHAT_LEVEL_NOT_GIVEN)
        r->out->level = level;
}

static void openai_option_give_switch(const struct request_reader *r, const struct json_node *v)
{
    bool on;

    if (json_bool(v, &on))
        openai_option_give_level(r, on ? CHAT_LEVEL_ON : CHAT_LEVEL_NONE);
}

/* A word from none to max; Groq's "default" is a plain yes. */
static bool openai_option_read_level(const struct request_reader *r, const struct json_node *v,
                                     const char *path)
{
    enum chat_level level = CHAT_LEVEL_ON;
    str name;

    if (!v)
        return true;
    if (!json_text(r->doc, v, r->a, &name) ||
        (!chat_level_parse(name, &level) && !str_eq(name, STR("default"))))
        return request_defer_level(
            r, NULL, path, "expected none, minimal, low, medium, high, xhigh or max");
    openai_option_give_level(r, level);
    return true;
}

static bool openai_option_read_budget(const struct request_reader *r, const struct json_node *v,
                                      const char *path)
{
    int64_t budget;

    if (!v)
        return true;
    if (!json_i64(r->doc, v, &budget) || budget < -1)
        return request_defer_level(r, NULL, path, "expected a number of tokens");
    if (r->out->budget_tokens < 0)
        r->out->budget_tokens = budget;
    return true;
}

/* OpenRouter's reasoning: {effort, max_tokens, exclude, enabled}. */
static bool openai_option_read_reasoning(const struct request_reader *r, const struct json_node *v)
{
    bool exclude = false;

    if (!v)
        return true;
    openai_option_give_switch(r, v);
    if (v->kind != JSON_OBJECT)
        return v->kind == JSON_TRUE || v->kind == JSON_FALSE ||
               request_defer_level(r, NULL, "reasoning", "expected an object");
    if (!openai_option_read_level(r, json_get(r->doc, v, "effort"), "reasoning.effort") ||
        !openai_option_read_budget(r, json_get(r->doc, v, "max_tokens"), "reasoning.max_tokens"))
        return false;
    openai_option_give_switch(r, json_find(r->doc, v, STR("enabled")));
    if (json_bool(json_find(r->doc, v, STR("exclude")), &exclude)) {
        r->out->no_thoughts = exclude;
        r->out->thoughts = !exclude;
    }
    return true;
}

/* Anthropic's thinking: {type, budget_tokens, display}. */
static bool openai_option_read_anthropic(const struct request_reader *r, const struct json_node *v)
{
    const struct json_node *type = json_find(r->doc, v, STR("type"));

    if (!v)
        return true;
    openai_option_give_switch(r, v);
    if (v->kind != JSON_OBJECT)
        return v->kind == JSON_TRUE || v->kind == JSON_FALSE ||
               request_defer_level(r, NULL, "thinking", "expected an object");
    if (!openai_option_read_budget(
            r, json_get(r->doc, v, "budget_tokens"), "thinking.budget_tokens"))
        return false;
    if (json_is(r->doc, type, STR("disabled")))
        openai_option_give_level(r, CHAT_LEVEL_NONE);
    else if (json_is(r->doc, type, STR("enabled")) || json_is(r->doc, type, STR("adaptive")) ||
             json_is(r->doc, type, STR("auto")))
        openai_option_give_level(r, CHAT_LEVEL_ON);
    else if (type)
        request_defer_level(r, NULL, "thinking.type", "expected enabled, disabled or adaptive");
    if (json_get_is(r->doc, v, "display", "omitted"))
        r->out->no_thoughts = true;
    return true;
}

#define THINKING                                                                                   \
    (BIT(REASONING_EFFORT) | BIT(REASONING) | BIT(THINKING) | BIT(THINK) | BIT(ENABLE_THINKING) |  \
     BIT(CHAT_TEMPLATE_KWARGS) | BIT(THINKING_TOKEN_BUDGET) | BIT(THINKING_BUDGET_TOKENS) |        \
     BIT(REASONING_BUDGET_TOKENS) | BIT(THINKING_BUDGET) | BIT(INCLUDE_REASONING) |                \
     BIT(REASONING_FORMAT))

bool openai_read_thinking(const struct request_reader *r, const struct json_fields *m)
{
    static const enum openai_request_field budgets[] = {OPENAI_ASK_THINKING_TOKEN_BUDGET,
                                                        OPENAI_ASK_THINKING_BUDGET_TOKENS,
                                                        OPENAI_ASK_REASONING_BUDGET_TOKENS,
                                                        OPENAI_ASK_THINKING_BUDGET};
    const struct json_node *kwargs = json_fields_present(m, OPENAI_ASK_CHAT_TEMPLATE_KWARGS);
    const struct json_node *think = json_fields_present(m, OPENAI_ASK_THINK);
    bool include;

    if (!(m->seen & THINKING))
        return true;
    if (!openai_option_read_level(
            r, json_fields_present(m, OPENAI_ASK_REASONING_EFFORT), "reasoning_effort") ||
        !openai_option_read_reasoning(r, json_fields_present(m, OPENAI_ASK_REASONING)) ||
        !openai_option_read_anthropic(r, json_fields_present(m, OPENAI_ASK_THINKING)))
        return false;
    openai_option_give_switch(r, think);
    if (think && think->kind == JSON_STRING && !openai_option_read_level(r, think, "think"))
        return false;
    r->out->thoughts = r->out->thoughts || (think && think->kind != JSON_FALSE);
    openai_option_give_switch(r, json_fields_get(m, OPENAI_ASK_ENABLE_THINKING));
    openai_option_give_switch(r, json_find(r->doc, kwargs, STR("enable_thinking")));
    openai_option_give_switch(r, json_find(r->doc, kwargs, STR("thinking")));
    for (size_t i = 0; i < COUNT_OF(budgets); i++)
        if (!openai_option_read_budget(
                r, json_fields_present(m, budgets[i]), openai_request_fields.names[budgets[i]].p))
            return false;
    if (json_bool(json_fields_get(m, OPENAI_ASK_INCLUDE_REASONING), &include)) {
        r->out->no_thoughts = !include;
        r->out->thoughts = include;
    }
    if (json_is(r->doc, json_fields_get(m, OPENAI_ASK_REASONING_FORMAT), STR("hidden")))
        r->out->no_thoughts = true;
    return true;
}
