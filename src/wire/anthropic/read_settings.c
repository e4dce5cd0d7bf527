/* read_settings.c - the numbers, the thinking and the output format of a body of /v1/messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"

/* ---- thinking and format ---- */

static bool anthropic_setting_budget(const struct request_reader *r,
                                     const struct json_node *thinking, struct chat_request *out)
{
    struct request_path here = {.key = "thinking"};
    const struct json_node *budget = json_get(r->doc, thinking, "budget_tokens");
    int64_t n;

    if (!budget)
        return true;
    if (!json_i64(r->doc, budget, &n) || n < 0)
        return request_defer_level(r, &here, "budget_tokens", "Input should be a valid integer");
    out->budget_tokens = n;
    return true;
}

static bool anthropic_setting_effort(const struct request_reader *r, const struct json_node *config,
                                     struct chat_request *out)
{
    struct request_path here = {.key = "output_config"};
    const struct json_node *effort = json_get(r->doc, config, "effort");
    str name;

    if (!effort || (json_text(r->doc, effort, r->a, &name) && chat_level_parse(name, &out->level)))
        return true;
    return request_defer_level(
        r, &here, "effort", "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'");
}

static bool anthropic_setting_thinking_config(const struct request_reader *r,
                                              const struct json_node *root,
                                              struct chat_request *out)
{
    struct request_path here = {.key = "thinking"};
    const struct json_node *thinking = json_get(r->doc, root, "thinking");
    bool enabled;

    if (!anthropic_setting_effort(r, json_get(r->doc, root, "output_config"), out))
        return false;
    if (!thinking)
        return true;
    if (thinking->kind != JSON_OBJECT)
        return request_defer_level(r, NULL, "thinking", "Input should be an object");
    if (json_get_is(r->doc, thinking, "type", "disabled")) {
        out->level = CHAT_LEVEL_NONE;
        return true;
    }
    enabled = json_get_is(r->doc, thinking, "type", "enabled");
    if (!enabled && !json_get_is(r->doc, thinking, "type", "adaptive"))
        request_defer_level(
            r, &here, "type", "Input should be 'enabled', 'adaptive' or 'disabled'");
    if (enabled && !anthropic_setting_budget(r, thinking, out))
        return false;
    if (out->level == CHAT_LEVEL_NOT_GIVEN)
        out->level = CHAT_LEVEL_ON;
    out->no_thoughts = json_get_is(r->doc, thinking, "display", "omitted");
    out->thoughts = !out->no_thoughts;
    return true;
}

static bool anthropic_setting_format(const struct request_reader *r, const struct json_node *root,
                                     struct chat_request *out)
{
    struct request_path here = {.key = "output_config"}, inner = {.up = &here, .key = "format"};
    const struct json_node *config = json_get(r->doc, root, "output_config");
    const struct json_node *format = json_get(r->doc, config, "format"), *schema;

    if (config && config->kind != JSON_OBJECT)
        return request_fail(r, NULL, "output_config", "Input should be an object");
    if (!format) {
        format = json_get(r->doc, root, "output_format");
        inner = (struct request_path){.key = "output_format"};
    }
    if (!format)
        return true;
    if (!json_get_is(r->doc, format, "type", "json_schema"))
        return request_defer_error(r, &inner, "type", "Input should be 'json_schema'");
    schema = json_get(r->doc, format, "schema");
    if (!json_is_object(schema))
        return request_defer_error(
            r, &inner, "schema", schema ? "Input should be an object" : "Field required");
    out->format = CHAT_FORMAT_SCHEMA;
    out->format_schema = json_raw(r->doc, schema);
    out->format_strict = true;
    return request_read_text(r, &inner, format, "name", &out->format_name);
}

/* ---- numbers ---- */

static const char *anthropic_setting_check(const struct request_reader *r,
                                           const struct json_node *v, const struct setting *s,
                                           str *out, struct setting_room *room)
{
    double x;
    int64_t i;

    *out = json_raw(r->doc, v);
    if (!json_double(r->doc, v, &x))
        return "Input should be a valid number";
    /* The API takes -1, which some clients write for "not set". */
    if (x == -1 && (s->at == SETTING_AT(top_p) || s->at == SETTING_AT(top_k))) {
        *out = STR("");
        return NULL;
    }
    if ((s->flags & SETTING_WHOLE) && !json_i64(r->doc, v, &i))
        return "Input should be a valid integer";
    if (x >= s->min && x <= s->max)
        return NULL;
    (void)snprintf(room->text,
                   sizeof room->text,
                   "Input should be %s than or equal to %g",
                   x >= s->min ? "less" : "greater",
                   x >= s->min ? s->max : s->min);
    return room->text;
}

/* Written by hand: which of them a model takes depends on its thinking. */
static const struct setting anthropic_setting_rows[] = {
    SETTING("max_tokens", max_tokens, 1, 1e12, SETTING_WHOLE),
    SETTING("temperature", temperature, 0, 1, 0),
    SETTING("top_p", top_p, 0, 1, 0),
    SETTING("top_k", top_k, 0, 1e12, SETTING_WHOLE),
};
static const struct settings anthropic_settings = {
    anthropic_setting_rows, COUNT_OF(anthropic_setting_rows), anthropic_setting_check, json_get};

bool anthropic_read_numbers(const struct request_reader *r, const struct json_node *root,
                            bool count)
{
    if (!count && !json_get(r->doc, root, "max_tokens"))
        request_defer_error(r, NULL, "max_tokens", "Field required");
    return settings_read(r, NULL, root, &anthropic_settings);
}

bool anthropic_read_settings(const struct request_reader *r, const struct json_node *root)
{
    return anthropic_setting_thinking_config(r, root, r->out) &&
           anthropic_setting_format(r, root, r->out);
}
