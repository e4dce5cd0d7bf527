/* read_settings.c - everything of a Responses request but its input.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/responses.h"

static const char *responses_setting_check(const struct request_reader *r,
                                           const struct json_node *v, const struct setting *s,
                                           str *out, struct setting_room *room)
{
    int64_t n;

    (void)room;
    *out = json_raw(r->doc, v);
    if ((s->flags & SETTING_WHOLE) ? !json_i64(r->doc, v, &n) : v->kind != JSON_NUMBER)
        return (s->flags & SETTING_WHOLE) ? "must be an integer" : "must be a number";
    return (s->flags & SETTING_WHOLE) && s->min == 1 && n < 1 ? "must be at least 1" : NULL;
}

static const struct setting responses_setting_rows[] = {
    SETTING("max_output_tokens", max_tokens, 1, 0, SETTING_WHOLE | SETTING_READ_ONLY),
    SETTING("temperature", temperature, 0, 0, 0),
    SETTING("top_p", top_p, 0, 0, 0),
    SETTING("seed", seed, 0, 0, SETTING_WHOLE | SETTING_READ_ONLY),
    SETTING("top_k", top_k, 0, 0, SETTING_WHOLE | SETTING_READ_ONLY),
    SETTING("frequency_penalty", frequency_penalty, 0, 0, SETTING_READ_ONLY),
    SETTING("presence_penalty", presence_penalty, 0, 0, SETTING_READ_ONLY),
};
const struct settings responses_settings = {
    responses_setting_rows, COUNT_OF(responses_setting_rows), responses_setting_check, json_get};

static bool responses_setting_read_flags(const struct request_reader *r,
                                         const struct json_node *root)
{
    const struct json_node *parallel = json_get(r->doc, root, "parallel_tool_calls");
    const struct json_node *instructions = json_get(r->doc, root, "instructions");

    if (parallel && !json_bool(parallel, &r->out->parallel))
        return request_fail(r, NULL, "parallel_tool_calls", "must be true or false");
    r->out->parallel_given = parallel != NULL;
    r->out->stream_usage = true;
    if (instructions && instructions->kind != JSON_STRING)
        request_defer_error(r, NULL, "instructions", "must be a string");
    r->out->user = json_get_text(r->doc, root, "user", r->a);
    if (!r->out->user.n)
        r->out->user = json_get_text(r->doc, root, "safety_identifier", r->a);
    return true;
}

/* ---- tools ---- */

static bool responses_setting_read_tool(const struct request_reader *r,
                                        const struct request_path *at, const struct json_node *v,
                                        struct chat_tool *t)
{
    const struct json_node *type = json_get(r->doc, v, "type");
    const struct json_node *box = json_get(r->doc, v, "function"), *strict;

    *t = part_tool(CHAT_RESPONSES);
    if (v->kind != JSON_OBJECT || !type || type->kind != JSON_STRING)
        return request_fail(r, at, NULL, "must be an object with a type");
    if (json_is(r->doc, type, STR("custom"))) {
        part_tool_custom(r->doc, v, r->a, t);
        return t->name.n || request_fail(r, at, "name", "must be a string that is not empty");
    }
    if (!json_is(r->doc, type, STR("function"))) {
        t->opaque = json_raw(r->doc, v);
        t->name = json_get_text(r->doc, v, json_get(r->doc, v, "name") ? "name" : "type", r->a);
        return true;
    }
    if (json_is_object(box))
        v = box; /* as Chat Completions has it */
    strict = json_get(r->doc, v, "strict");
    t->strict_given = strict && json_bool(strict, &t->strict);
    return request_read_function(r, at, v, t);
}

/* Tools that are not functions go by their type, or by a label. */
static void responses_setting_allow(const struct request_reader *r, const struct json_node *v,
                                    struct map *allowed)
{
    static const char *const keys[] = {"name", "server_label", "type"};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (json_get(r->doc, v, keys[i])) {
            part_allow(allowed, json_get_text(r->doc, v, keys[i], r->a));
            return;
        }
}

/* One that must be called can be named elsewhere; more are all that others are given. */
static void responses_setting_choice_allowed(const struct request_reader *r,
                                             const struct json_node *v)
{
    const struct json_node *list = json_get(r->doc, v, "tools"), *only = json_at(r->doc, list, 0);
    struct map allowed;

    if (!part_choice_word(r->doc, json_get(r->doc, v, "mode"), &r->out->choice))
        r->out->choice = CHAT_CHOICE_AUTO;
    if (r->out->choice == CHAT_CHOICE_REQUIRED && json_count(r->doc, list) == 1 &&
        json_get_is(r->doc, only, "type", "function")) {
        r->out->choice = CHAT_CHOICE_TOOL;
        r->out->choice_name = json_get_text(r->doc, only, "name", r->a);
    }
    if (!json_is_array(list))
        return;
    part_allow_begin(&allowed);
    JSON_FOREACH(t, r->doc, list)
        responses_setting_allow(r, t, &allowed);
    part_allow_end(&allowed, r->out);
}

static bool responses_setting_read_choice(const struct request_reader *r,
                                          const struct json_node *root)
{
    const struct json_node *v = json_get(r->doc, root, "tool_choice"), *type;

    if (!v || part_choice_word(r->doc, v, &r->out->choice))
        return true;
    type = json_get(r->doc, v, "type");
    if (v->kind != JSON_OBJECT || !type || type->kind != JSON_STRING)
        return request_defer_error(
            r, NULL, "tool_choice", "must be none, auto, required or an object with a type");
    if (json_is(r->doc, type, STR("allowed_tools"))) {
        responses_setting_choice_allowed(r, v);
        return true;
    }
    r->out->choice = CHAT_CHOICE_TOOL;
    r->out->choice_name = json_get_text(r->doc, v, "name", r->a);
    if (!r->out->choice_name.n && json_get(r->doc, v, "function"))
        r->out->choice_name = json_get_text(r->doc, json_get(r->doc, v, "function"), "name", r->a);
    if (json_is(r->doc, type, STR("function")) && !r->out->choice_name.n)
        return request_fail(r, NULL, "tool_choice.name", "must be a string that is not empty");
    if (!r->out->choice_name.n) /* a built-in tool goes by its type */
        r->out->choice_name = json_get_text(r->doc, v, "type", r->a);
    return true;
}

/* ---- format, reasoning ---- */

static bool responses_setting_read_format(const struct request_reader *r,
                                          const struct json_node *root)
{
    const struct json_node *text = json_get(r->doc, root, "text"),
                           *v = json_get(r->doc, text, "format");
    const struct json_node *type = json_get(r->doc, v, "type"), *schema;
    bool strict;

    if (text && text->kind != JSON_OBJECT)
        return request_fail(r, NULL, "text", "must be an object");
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
        return request_defer_error(
            r, NULL, "text.format.type", "must be text, json_object or json_schema");
    schema = json_get(r->doc, v, "schema");
    if (!json_is_object(schema))
        return request_defer_error(
            r, NULL, "text.format.schema", "must be a JSON Schema, an object");
    r->out->format = CHAT_FORMAT_SCHEMA;
    r->out->format_name = json_get_text(r->doc, v, "name", r->a);
    r->out->format_description = json_get_text(r->doc, v, "description", r->a);
    r->out->format_schema = json_raw(r->doc, schema);
    r->out->format_strict = json_bool(json_get(r->doc, v, "strict"), &strict) && strict;
    return true;
}

static bool responses_setting_read_reasoning(const struct request_reader *r,
                                             const struct json_node *root)
{
    const struct json_node *v = json_get(r->doc, root, "reasoning"),
                           *effort = json_get(r->doc, v, "effort");
    const struct json_node *summary = json_get(r->doc, v, "summary");
    int64_t budget;
    bool flag;
    str name;

    if (!summary)
        summary = json_get(r->doc, v, "generate_summary");
    if (v && v->kind != JSON_OBJECT)
        return request_defer_level(r, NULL, "reasoning", "must be an object");
    if (effort &&
        (!json_text(r->doc, effort, r->a, &name) || !chat_level_parse(name, &r->out->level)))
        request_defer_level(
            r, NULL, "reasoning.effort", "must be none, minimal, low, medium, high, xhigh or max");
    if (summary && summary->kind == JSON_STRING)
        r->out->thoughts = true;
    /* OpenRouter's members, which its own Responses endpoint takes too. */
    if (json_i64(r->doc, json_get(r->doc, v, "max_tokens"), &budget) && budget >= 0)
        r->out->budget_tokens = budget;
    if (json_bool(json_get(r->doc, v, "exclude"), &flag))
        r->out->no_thoughts = flag;
    if (json_bool(json_get(r->doc, v, "enabled"), &flag) && !effort)
        r->out->level = flag ? CHAT_LEVEL_ON : CHAT_LEVEL_NONE;
    return true;
}

bool responses_read_settings(const struct request_reader *r, const struct json_node *root)
{
    return request_read_head(r, root) && settings_read(r, NULL, root, &responses_settings) &&
           responses_setting_read_flags(r, root) &&
           request_read_tools(r, root, responses_setting_read_tool) &&
           responses_read_namespaces(r, root, responses_setting_read_tool) &&
           responses_setting_read_choice(r, root) && responses_setting_read_format(r, root) &&
           responses_setting_read_reasoning(r, root);
}
