/* read_config.c - tools and generationConfig of a body of generateContent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/gemini/gemini.h"

#include <strings.h>

/* ---- tools ---- */

static bool gemini_config_read_declaration(const struct request_reader *r,
                                           const struct request_path *at, const struct json_node *v,
                                           struct chat_tool *out)
{
    const struct json_node *schema = gemini_find(r->doc, v, "parametersJsonSchema");
    const struct json_node *old = gemini_find(r->doc, v, "parameters");

    if (v->kind != JSON_OBJECT)
        return request_fail(r, at, NULL, "should be an object");
    if (!request_require_text(r, at, v, "name", &out->name) ||
        !request_read_text(r, at, v, "description", &out->description))
        return false;
    if (schema)
        out->schema = json_raw(r->doc, schema);
    else if (json_is_object(old))
        out->schema = gemini_schema(r->doc, old, r->a);
    return true;
}

/* A tool of Google is an object with that one member. */
static void gemini_config_read_builtin(const struct request_reader *r, const struct json_node *key,
                                       struct chat_tool *out)
{
    str name = json_raw(r->doc, key);

    assert(name.n >= 2); /* its quotes */
    out->dialect = CHAT_GEMINI;
    out->name = str_slice(name, 1, name.n - 1);
    out->opaque = json_format(r->a, "{%j:%j}", name, json_raw(r->doc, json_value(key)));
}

static bool gemini_config_read_tool(const struct request_reader *r, const struct request_path *at,
                                    const struct json_node *v, struct chat_request *out)
{
    const struct json_node *list = gemini_find(r->doc, v, "functionDeclarations");
    struct request_path here = {.up = at, .key = "functionDeclarations"};
    size_t n = 0;

    if (v->kind != JSON_OBJECT)
        return request_fail(r, at, NULL, "should be an object");
    if (list && list->kind != JSON_ARRAY)
        return request_fail(r, &here, NULL, "should be a list");
    JSON_FOREACH(k, r->doc, v)
        if (json_value(k) != list)
            gemini_config_read_builtin(r, k, &out->tools[out->tool_count++]);
    for (const struct json_node *f = list ? json_first(r->doc, list) : NULL; f;
         f = json_next(r->doc, list, f), n++) {
        struct request_path item = {.up = &here, .index = n};

        if (!gemini_config_read_declaration(r, &item, f, &out->tools[out->tool_count++]))
            return false;
    }
    return true;
}

static size_t gemini_config_count_tools(const struct request_reader *r,
                                        const struct json_node *tools)
{
    size_t n = 0;

    JSON_FOREACH(t, r->doc, tools)
        n += json_count(r->doc, t) +
             json_count(r->doc, gemini_find(r->doc, t, "functionDeclarations"));
    return n;
}

/* The API takes it in any case. */
static bool gemini_config_read_mode(const struct request_reader *r, const struct json_node *v,
                                    enum chat_choice_kind *out)
{
    static const struct {
        const char *name;
        enum chat_choice_kind kind;
    } modes[] = {{"MODE_UNSPECIFIED", CHAT_CHOICE_NONE_GIVEN},
                 {"AUTO", CHAT_CHOICE_AUTO},
                 {"VALIDATED", CHAT_CHOICE_AUTO},
                 {"NONE", CHAT_CHOICE_NONE},
                 {"ANY", CHAT_CHOICE_REQUIRED}};
    str name;

    if (!json_text(r->doc, v, r->a, &name))
        return false;
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (strlen(modes[i].name) == name.n && strncasecmp(modes[i].name, name.p, name.n) == 0) {
            *out = modes[i].kind;
            return true;
        }
    return false;
}

/* Google's own tools stay. */
static void gemini_config_read_allowed(const struct request_reader *r,
                                       const struct json_node *names, struct chat_request *out)
{
    struct map allowed;
    str name;

    part_allow_begin(&allowed);
    JSON_FOREACH(v, r->doc, names)
        if (json_text(r->doc, v, r->a, &name))
            part_allow(&allowed, name);
    part_allow_end(&allowed, out);
    for (size_t i = 0; i < out->tool_count; i++)
        out->tools[i].barred &= out->tools[i].opaque.n == 0;
}

static bool gemini_config_read_choice(const struct request_reader *r, const struct json_node *root,
                                      struct chat_request *out)
{
    const struct json_node *config =
        gemini_find(r->doc, gemini_find(r->doc, root, "toolConfig"), "functionCallingConfig");
    struct request_path here = {.key = "toolConfig"},
                        inner = {.up = &here, .key = "functionCallingConfig"};
    const struct json_node *mode = gemini_find(r->doc, config, "mode");
    const struct json_node *names = gemini_find(r->doc, config, "allowedFunctionNames");

    if (!mode)
        return true;
    if (!gemini_config_read_mode(r, mode, &out->choice))
        return request_defer_error(r, &inner, "mode", "should be AUTO, ANY, NONE or VALIDATED");
    if (out->choice == CHAT_CHOICE_REQUIRED && json_is_array(names) &&
        json_count(r->doc, names) == 1 &&
        json_text(r->doc, json_first(r->doc, names), r->a, &out->choice_name))
        out->choice = CHAT_CHOICE_TOOL;
    if (json_is_array(names) && json_first(r->doc, names) && out->choice != CHAT_CHOICE_NONE)
        gemini_config_read_allowed(r, names, out);
    return true;
}

bool gemini_read_tools(const struct request_reader *r, const struct json_node *root,
                       struct chat_request *out)
{
    const struct json_node *tools = gemini_find(r->doc, root, "tools");
    struct request_path here = {.key = "tools"};
    size_t n, i = 0;

    if (!tools)
        return gemini_config_read_choice(r, root, out);
    if (tools->kind != JSON_ARRAY && tools->kind != JSON_OBJECT)
        return request_fail(r, &here, NULL, "should be a list");
    n = tools->kind == JSON_ARRAY
            ? gemini_config_count_tools(r, tools)
            : json_count(r->doc, tools) +
                  json_count(r->doc, gemini_find(r->doc, tools, "functionDeclarations"));
    if (!request_alloc(r, n, sizeof *out->tools, &out->tools))
        return false;
    for (size_t k = 0; k < n; k++)
        out->tools[k] = part_tool(CHAT_OPENAI);
    if (tools->kind == JSON_OBJECT) {
        if (!gemini_config_read_tool(r, &here, tools, out))
            return false;
    } else {
        for (const struct json_node *t = json_first(r->doc, tools); t;
             t = json_next(r->doc, tools, t), i++) {
            struct request_path item = {.up = &here, .index = i};

            if (!gemini_config_read_tool(r, &item, t, out) && !request_defer_failure(r))
                return false;
        }
    }
    assert(out->tool_count <= n);
    return gemini_config_read_choice(r, root, out);
}

/* ---- generationConfig ---- */

/* A number, or the text of one: protobuf's JSON has both. */
static bool gemini_read_number(const struct request_reader *r, const struct json_node *v, str *out,
                               int64_t *whole)
{
    struct json doc;
    struct err e;
    bool ok = v->kind == JSON_NUMBER;

    *out = ok ? json_raw(r->doc, v) : STR("");
    if (ok || !json_text(r->doc, v, r->a, out))
        return ok && (!whole || json_i64(r->doc, v, whole));
    ok = json_open(&doc, *out, &e) && json_root(&doc)->kind == JSON_NUMBER &&
         (!whole || json_i64(&doc, json_root(&doc), whole));
    json_release(&doc);
    return ok;
}

static const char *gemini_config_check(const struct request_reader *r, const struct json_node *v,
                                       const struct setting *s, str *out, struct setting_room *room)
{
    int64_t i;

    (void)room;
    if (gemini_read_number(r, v, out, (s->flags & SETTING_WHOLE) ? &i : NULL))
        return NULL;
    return (s->flags & SETTING_WHOLE) ? "should be a whole number" : "should be a number";
}

static const struct setting gemini_setting_rows[] = {
    SETTING("temperature", temperature, 0, 0, 0),
    SETTING("topP", top_p, 0, 0, 0),
    SETTING("topK", top_k, 0, 0, 0),
    SETTING("maxOutputTokens", max_tokens, 0, 0, SETTING_WHOLE),
    SETTING("candidateCount", n, 0, 0, SETTING_WHOLE),
    SETTING("seed", seed, 0, 0, SETTING_WHOLE),
    SETTING("presencePenalty", presence_penalty, 0, 0, 0),
    SETTING("frequencyPenalty", frequency_penalty, 0, 0, 0),
};
const struct settings gemini_settings = {
    gemini_setting_rows, COUNT_OF(gemini_setting_rows), gemini_config_check, gemini_find};

static void gemini_read_budget(const struct request_reader *r, const struct request_path *at,
                               const struct json_node *budget)
{
    int64_t n;
    str text;

    if (!gemini_read_number(r, budget, &text, &n) || n < -1) {
        request_defer_level(r, at, "thinkingBudget", "should be -1, 0 or a number of tokens");
        return;
    }
    r->out->level = n == 0 ? CHAT_LEVEL_NONE : CHAT_LEVEL_ON;
    if (n > 0)
        r->out->budget_tokens = n;
    assert(r->out->budget_tokens == -1 || r->out->level == CHAT_LEVEL_ON);
}

static bool gemini_config_read_thinking(const struct request_reader *r,
                                        const struct request_path *at,
                                        const struct json_node *config, struct chat_request *out)
{
    struct request_path here = {.up = at, .key = "thinkingConfig"};
    const struct json_node *v = gemini_find(r->doc, config, "thinkingConfig");
    const struct json_node *budget = gemini_find(r->doc, v, "thinkingBudget");
    const struct json_node *level = gemini_find(r->doc, v, "thinkingLevel");
    const struct json_node *shown = gemini_find(r->doc, v, "includeThoughts");
    str name = STR("");

    if (budget)
        gemini_read_budget(r, &here, budget);
    if (level && (!json_text(r->doc, level, r->a, &name) ||
                  (!chat_level_parse(name, &out->level) &&
                   !str_eq(name, STR("THINKING_LEVEL_UNSPECIFIED")))))
        request_defer_level(r, &here, "thinkingLevel", "should be MINIMAL, LOW, MEDIUM or HIGH");
    if (shown && !json_bool(shown, &out->thoughts))
        request_defer_error(r, &here, "includeThoughts", "should be true or false");
    out->no_thoughts = shown && !out->thoughts;
    assert(!out->thoughts || !out->no_thoughts);
    if (out->thoughts && out->level == CHAT_LEVEL_NOT_GIVEN)
        out->level = CHAT_LEVEL_ON; /* who wants to see thoughts wants thinking */
    return true;
}

static bool gemini_config_read_format(const struct request_reader *r, const struct json_node *v,
                                      struct chat_request *out)
{
    const struct json_node *mime = gemini_find(r->doc, v, "responseMimeType");
    const struct json_node *schema = gemini_find(r->doc, v, "responseJsonSchema");
    const struct json_node *old = gemini_find(r->doc, v, "responseSchema");

    if (!json_is(r->doc, mime, STR("application/json")))
        return true;
    out->format = schema || old ? CHAT_FORMAT_SCHEMA : CHAT_FORMAT_JSON;
    if (schema)
        out->format_schema = json_raw(r->doc, schema);
    else if (old)
        out->format_schema = gemini_schema(r->doc, old, r->a);
    return true;
}

static bool gemini_config_read_stops(const struct request_reader *r, const struct request_path *at,
                                     const struct json_node *v, struct chat_request *out)
{
    const char *key =
        json_find(r->doc, v, STR("stop_sequences")) ? "stop_sequences" : "stopSequences";

    return request_read_texts(r, at, v, key, &out->stops, &out->stop_count);
}

bool gemini_read_config(const struct request_reader *r, const struct json_node *root,
                        struct chat_request *out)
{
    const struct json_node *v = gemini_find(r->doc, root, "generationConfig");
    struct request_path at = {.key = "generationConfig"};

    if (!v)
        return true;
    if (v->kind != JSON_OBJECT)
        return request_fail(r, &at, NULL, "should be an object");
    return settings_read(r, &at, v, &gemini_settings) && gemini_config_read_stops(r, &at, v, out) &&
           gemini_config_read_thinking(r, &at, v, out) && gemini_config_read_format(r, v, out);
}
