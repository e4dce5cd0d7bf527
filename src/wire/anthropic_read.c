/* anthropic_read.c - a body of /v1/messages, checked as Anthropic checks it.
 *
 * What only Anthropic understands (server tools and their results, files by id, whatever a later
 * version adds) is kept as OPAQUE parts and tools; only what we must understand is demanded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic.h"

#include "wire/asked.h"

/* ---- blocks ---- */

static void opaque(const struct asked *r, const struct json_node *v, struct chat_part *out)
{
    *out = part_new(CHAT_PART_OPAQUE, CHAT_ANTHROPIC);
    out->json = json_raw(r->doc, v);
}

static bool read_text(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                      struct chat_part *out)
{
    out->kind = CHAT_PART_TEXT;
    return asked_need_text(r, at, v, "text", &out->text);
}

/* Text blocks, or a string, behind what is in `out`, a blank line between each two; false if there
 * is anything else. */
static bool join_texts(const struct asked *r, const struct json_node *content, struct buf *out)
{
    str text;

    if (content && content->kind == JSON_ARRAY) {
        for (const struct json_node *x = json_first(r->doc, content); x;
             x = json_next(r->doc, content, x))
            if (!member_is(r->doc, x, "type", "text") ||
                !join_texts(r, member_find(r->doc, x, "text"), out))
                return false;
        return true;
    }
    if (!content || !json_text(r->doc, content, r->a, &text))
        return false;
    if (out->n && text.n)
        buf_add(out, STR("\n\n"));
    buf_add(out, text);
    return true;
}

/* What has a kind of its own here and is words to every other provider, under its title and where
 * it is from. */
static bool add_words(const struct asked *r, const struct json_node *v,
                      const struct json_node *content, struct chat_part *out)
{
    struct buf b;
    bool ok = true;
    char *p;

    buf_init(&b, r->doc->src.n);
    (void)join_texts(r, member_find(r->doc, v, "title"), &b);
    (void)join_texts(r, member_find(r->doc, v, "source"), &b);
    if (!join_texts(r, content, &b)) {
        opaque(r, v, out);
    } else if ((ok = asked_alloc(r, b.n, 1, &p))) {
        memcpy(p, b.p, b.n);
        *out = part_new(CHAT_PART_TEXT, CHAT_OPENAI);
        out->text = (str){p, b.n};
    }
    buf_release(&b);
    return ok;
}

static bool read_words(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                       struct chat_part *out)
{
    (void)at;
    return add_words(r, v, member_find(r->doc, v, "content"), out);
}

/* An image or a document; a document of plain text is text. */
static bool read_source(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                        enum chat_part_kind kind, struct chat_part *out)
{
    struct asked_at here = {.up = at, .key = "source"};
    const struct json_node *source = member_find(r->doc, v, "source");

    if (!source)
        return asked_bad(r, at, "source", "Field required");
    if (source->kind != JSON_OBJECT)
        return asked_bad(r, at, "source", "Input should be an object");
    out->kind = kind;
    if (!asked_text(r, at, v, "title", &out->name))
        return false;
    if (member_is(r->doc, source, "type", "base64"))
        return asked_need_text(r, &here, source, "media_type", &out->mime) &&
               asked_need_text(r, &here, source, "data", &out->data);
    if (member_is(r->doc, source, "type", "url"))
        return asked_need_text(r, &here, source, "url", &out->url);
    if (member_is(r->doc, source, "type", "text") && kind == CHAT_PART_FILE) {
        out->kind = CHAT_PART_TEXT;
        out->name = STR("");
        return asked_need_text(r, &here, source, "data", &out->text);
    }
    if (member_is(r->doc, source, "type", "content") && kind == CHAT_PART_FILE)
        return add_words(r, v, member_find(r->doc, source, "content"), out);
    opaque(r, v, out);
    return true;
}

static bool read_image(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                       struct chat_part *out)
{
    return read_source(r, at, v, CHAT_PART_IMAGE, out);
}

static bool read_document(const struct asked *r, const struct asked_at *at,
                          const struct json_node *v, struct chat_part *out)
{
    return read_source(r, at, v, CHAT_PART_FILE, out);
}

static bool read_thinking(const struct asked *r, const struct asked_at *at,
                          const struct json_node *v, struct chat_part *out)
{
    out->kind = CHAT_PART_REASONING;
    out->dialect = CHAT_ANTHROPIC;
    return asked_need_text(r, at, v, "thinking", &out->text) &&
           asked_text(r, at, v, "signature", &out->signature);
}

static bool read_redacted(const struct asked *r, const struct asked_at *at,
                          const struct json_node *v, struct chat_part *out)
{
    out->kind = CHAT_PART_REASONING;
    out->dialect = CHAT_ANTHROPIC;
    out->redacted = true;
    return asked_need_text(r, at, v, "data", &out->text);
}

static bool read_tool_use(const struct asked *r, const struct asked_at *at,
                          const struct json_node *v, struct chat_part *out)
{
    const struct json_node *input = member_find(r->doc, v, "input");

    out->kind = CHAT_PART_TOOL_CALL;
    if (!asked_need_text(r, at, v, "id", &out->id) ||
        !asked_need_text(r, at, v, "name", &out->name))
        return false;
    if (!input)
        return asked_bad(r, at, "input", "Field required");
    if (input->kind != JSON_OBJECT)
        return asked_bad(r, at, "input", "Input should be a valid dictionary");
    out->json = json_raw(r->doc, input);
    return true;
}

static bool read_content(const struct asked *r, const struct asked_at *at,
                         const struct json_node *content, struct chat_part **out, size_t *count);

static bool read_tool_result(const struct asked *r, const struct asked_at *at,
                             const struct json_node *v, struct chat_part *out)
{
    struct asked_at here = {.up = at, .key = "content"};
    const struct json_node *content = member_find(r->doc, v, "content");

    out->kind = CHAT_PART_TOOL_RESULT;
    return asked_need_text(r, at, v, "tool_use_id", &out->id) &&
           asked_bool(r, at, v, "is_error", &out->is_error, NULL) &&
           (!content || read_content(r, &here, content, &out->parts, &out->part_count));
}

static const struct {
    const char *type;
    bool (*read)(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                 struct chat_part *out);
    bool nested; /* may stand in a tool result */
} blocks[] = {
    {"text", read_text, true},
    {"image", read_image, true},
    {"document", read_document, true},
    {"thinking", read_thinking, false},
    {"redacted_thinking", read_redacted, false},
    {"tool_use", read_tool_use, false},
    {"tool_result", read_tool_result, false},
    {"search_result", read_words, true},
    {"compaction", read_words, false},
};

static bool read_block(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                       bool nested, struct chat_part *out)
{
    str type;

    *out = part_new(CHAT_PART_TEXT, CHAT_OPENAI);
    if (v->kind != JSON_OBJECT)
        return asked_bad(r, at, NULL, "Input should be an object");
    if (!asked_need_text(r, at, v, "type", &type))
        return false;
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        if (str_eq(type, str_c(blocks[i].type))) {
            if (nested && !blocks[i].nested)
                return asked_bad(r, at, "type", "this block may not stand in a tool result");
            return blocks[i].read(r, at, v, out);
        }
    opaque(r, v, out);
    return true;
}

/* A string, or blocks. */
static bool read_content(const struct asked *r, const struct asked_at *at,
                         const struct json_node *content, struct chat_part **out, size_t *count)
{
    bool nested = at->up && at->up->key == NULL && at->up->up && at->up->up->key &&
                  strcmp(at->up->up->key, "content") == 0;
    size_t n = 0;

    if (content->kind == JSON_STRING) {
        if (!asked_alloc(r, 1, sizeof **out, out))
            return false;
        **out = part_new(CHAT_PART_TEXT, CHAT_OPENAI);
        *count = 1;
        return json_text(r->doc, content, r->a, &(*out)->text);
    }
    if (content->kind != JSON_ARRAY)
        return asked_bad(r, at, NULL, "Input should be a valid string or list");
    if (!asked_alloc(r, json_count(r->doc, content), sizeof **out, out))
        return false;
    for (const struct json_node *x = json_first(r->doc, content); x;
         x = json_next(r->doc, content, x), n++) {
        struct asked_at item = {.up = at, .index = n};

        if (!read_block(r, &item, x, nested, &(*out)[n]))
            return false;
    }
    *count = n;
    return true;
}

/* ---- messages ---- */

static bool read_role(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                      enum chat_role *out)
{
    const struct json_node *role = json_find(r->doc, v, STR("role"));

    if (!role)
        return asked_bad(r, at, "role", "Field required");
    if (json_is(r->doc, role, STR("user")))
        *out = CHAT_USER;
    else if (json_is(r->doc, role, STR("assistant")))
        *out = CHAT_ASSISTANT;
    else if (json_is(r->doc, role, STR("system")))
        *out = CHAT_SYSTEM;
    else
        return asked_bad(r, at, "role", "Input should be 'user' or 'assistant'");
    return true;
}

/* A user's message is cut where tool results begin and end: they are messages of role TOOL. */
static void add_runs(struct chat_request *out, enum chat_role role, struct chat_part *parts,
                     size_t n)
{
    out->message_count += parts_to_messages(parts, n, role, &out->messages[out->message_count]);
}

static bool read_message(const struct asked *r, const struct asked_at *at,
                         const struct json_node *v, struct chat_request *out)
{
    struct asked_at here = {.up = at, .key = "content"};
    const struct json_node *content;
    struct chat_part *parts = NULL;
    enum chat_role role = CHAT_USER;
    size_t n = 0;

    if (v->kind != JSON_OBJECT)
        return asked_bad(r, at, NULL, "Input should be an object");
    if (!read_role(r, at, v, &role))
        return false;
    content = json_find(r->doc, v, STR("content"));
    if (!content)
        return asked_bad(r, at, "content", "Field required");
    if (!read_content(r, &here, content, &parts, &n))
        return false;
    add_runs(out, role, parts, n);
    return true;
}

/* How many messages there may be at most, once tool results stand apart. */
static size_t count_messages(const struct asked *r, const struct json_node *messages)
{
    size_t n = 1;

    for (const struct json_node *m = json_first(r->doc, messages); m;
         m = json_next(r->doc, messages, m)) {
        const struct json_node *content = json_find(r->doc, m, STR("content"));

        n += 1 + (content && content->kind == JSON_ARRAY ? json_count(r->doc, content) : 0);
    }
    return n;
}

static bool read_system(const struct asked *r, const struct json_node *root,
                        struct chat_request *out)
{
    struct asked_at here = {.key = "system"};
    const struct json_node *system = member_find(r->doc, root, "system");
    struct chat_part *parts = NULL;
    size_t n = 0;

    if (!system)
        return true;
    if (!read_content(r, &here, system, &parts, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct asked_at item = {.up = &here, .index = i};

        if (parts[i].kind != CHAT_PART_TEXT)
            return asked_bad(r, &item, "type", "Input should be 'text'");
    }
    if (n > 0)
        add_runs(out, CHAT_SYSTEM, parts, n);
    return true;
}

static bool read_messages(const struct asked *r, const struct json_node *root,
                          struct chat_request *out)
{
    struct asked_at here = {.key = "messages"};
    const struct json_node *messages = member_find(r->doc, root, "messages");
    size_t i = 0;

    if (!messages)
        return asked_bad(r, NULL, "messages", "Field required");
    if (messages->kind != JSON_ARRAY)
        return asked_bad(r, NULL, "messages", "Input should be a valid list");
    if (!json_first(r->doc, messages))
        return asked_bad(r, NULL, "messages", "at least one message is required");
    if (!asked_alloc(r, count_messages(r, messages), sizeof *out->messages, &out->messages) ||
        !read_system(r, root, out))
        return false;
    for (const struct json_node *m = json_first(r->doc, messages); m;
         m = json_next(r->doc, messages, m), i++) {
        struct asked_at item = {.up = &here, .index = i};

        if (!read_message(r, &item, m, out))
            return false;
    }
    return true;
}

/* ---- tools ---- */

static bool read_tool(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                      struct chat_tool *out)
{
    const struct json_node *schema;
    str type = STR("custom");

    *out = part_tool(CHAT_OPENAI);
    if (v->kind != JSON_OBJECT)
        return asked_bad(r, at, NULL, "Input should be an object");
    if (!asked_text(r, at, v, "type", &type))
        return false;
    if (!str_eq(type, STR("custom"))) {
        out->dialect = CHAT_ANTHROPIC;
        out->opaque = json_raw(r->doc, v);
        return asked_text(r, at, v, "name", &out->name);
    }
    if (!asked_need_text(r, at, v, "name", &out->name) ||
        !asked_text(r, at, v, "description", &out->description) ||
        !asked_bool(r, at, v, "strict", &out->strict, &out->strict_given))
        return false;
    if (out->name.n == 0)
        return asked_bad(r, at, "name", "String should have at least 1 character");
    schema = member_find(r->doc, v, "input_schema");
    if (!schema)
        return asked_bad(r, at, "input_schema", "Field required");
    if (schema->kind != JSON_OBJECT)
        return asked_bad(r, at, "input_schema", "Input should be an object");
    out->schema = json_raw(r->doc, schema);
    return true;
}

static bool read_tools(const struct asked *r, const struct json_node *root,
                       struct chat_request *out)
{
    struct asked_at here = {.key = "tools"};
    const struct json_node *tools = member_find(r->doc, root, "tools");
    size_t n = 0;

    if (!tools)
        return true;
    if (tools->kind != JSON_ARRAY)
        return asked_bad(r, NULL, "tools", "Input should be a valid list");
    if (!asked_alloc(r, json_count(r->doc, tools), sizeof *out->tools, &out->tools))
        return false;
    for (const struct json_node *t = json_first(r->doc, tools); t;
         t = json_next(r->doc, tools, t), n++) {
        struct asked_at item = {.up = &here, .index = n};

        if (!read_tool(r, &item, t, &out->tools[n]))
            return false;
    }
    out->tool_count = n;
    return true;
}

static bool read_choice(const struct asked *r, const struct json_node *root,
                        struct chat_request *out)
{
    static const struct {
        const char *type;
        enum chat_choice_kind kind;
    } kinds[] = {{"auto", CHAT_CHOICE_AUTO},
                 {"any", CHAT_CHOICE_REQUIRED},
                 {"tool", CHAT_CHOICE_TOOL},
                 {"none", CHAT_CHOICE_NONE}};
    struct asked_at here = {.key = "tool_choice"};
    const struct json_node *choice = member_find(r->doc, root, "tool_choice");
    bool alone = false, given = false;

    if (!choice)
        return true;
    if (choice->kind != JSON_OBJECT)
        return asked_bad(r, NULL, "tool_choice", "Input should be an object");
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (member_is(r->doc, choice, "type", kinds[i].type))
            out->choice = kinds[i].kind;
    if (out->choice == CHAT_CHOICE_NONE_GIVEN)
        return asked_defer_error(
            r, &here, "type", "Input should be 'auto', 'any', 'tool' or 'none'");
    if (out->choice == CHAT_CHOICE_TOOL &&
        !asked_need_text(r, &here, choice, "name", &out->choice_name))
        return false;
    if (!asked_bool(r, &here, choice, "disable_parallel_tool_use", &alone, &given))
        return false;
    out->parallel_given = given;
    out->parallel = !alone;
    return true;
}

/* ---- thinking and format ---- */

static bool read_budget(const struct asked *r, const struct json_node *thinking,
                        struct chat_request *out)
{
    struct asked_at here = {.key = "thinking"};
    const struct json_node *budget = member_find(r->doc, thinking, "budget_tokens");
    int64_t n;

    if (!budget)
        return true;
    if (!json_i64(r->doc, budget, &n) || n < 0)
        return asked_defer_level(r, &here, "budget_tokens", "Input should be a valid integer");
    out->budget_tokens = n;
    return true;
}

static bool read_effort(const struct asked *r, const struct json_node *config,
                        struct chat_request *out)
{
    struct asked_at here = {.key = "output_config"};
    const struct json_node *effort = member_find(r->doc, config, "effort");
    str name;

    if (!effort || (json_text(r->doc, effort, r->a, &name) && chat_level_parse(name, &out->level)))
        return true;
    return asked_defer_level(
        r, &here, "effort", "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'");
}

static bool read_thinking_config(const struct asked *r, const struct json_node *root,
                                 struct chat_request *out)
{
    struct asked_at here = {.key = "thinking"};
    const struct json_node *thinking = member_find(r->doc, root, "thinking");
    bool enabled;

    if (!read_effort(r, member_find(r->doc, root, "output_config"), out))
        return false;
    if (!thinking)
        return true;
    if (thinking->kind != JSON_OBJECT)
        return asked_bad(r, NULL, "thinking", "Input should be an object");
    if (member_is(r->doc, thinking, "type", "disabled")) {
        out->level = CHAT_LEVEL_NONE;
        return true;
    }
    enabled = member_is(r->doc, thinking, "type", "enabled");
    if (!enabled && !member_is(r->doc, thinking, "type", "adaptive"))
        asked_defer_level(r, &here, "type", "Input should be 'enabled', 'adaptive' or 'disabled'");
    if (enabled && !read_budget(r, thinking, out))
        return false;
    if (out->level == CHAT_LEVEL_NOT_GIVEN)
        out->level = CHAT_LEVEL_ON;
    out->no_thoughts = member_is(r->doc, thinking, "display", "omitted");
    out->thoughts = !out->no_thoughts;
    return true;
}

static bool read_format(const struct asked *r, const struct json_node *root,
                        struct chat_request *out)
{
    struct asked_at here = {.key = "output_config"}, inner = {.up = &here, .key = "format"};
    const struct json_node *config = member_find(r->doc, root, "output_config");
    const struct json_node *format = member_find(r->doc, config, "format"), *schema;

    if (config && config->kind != JSON_OBJECT)
        return asked_bad(r, NULL, "output_config", "Input should be an object");
    if (!format) {
        format = member_find(r->doc, root, "output_format");
        inner = (struct asked_at){.key = "output_format"};
    }
    if (!format)
        return true;
    if (!member_is(r->doc, format, "type", "json_schema"))
        return asked_defer_error(r, &inner, "type", "Input should be 'json_schema'");
    schema = member_find(r->doc, format, "schema");
    if (!schema || schema->kind != JSON_OBJECT)
        return asked_bad(
            r, &inner, "schema", schema ? "Input should be an object" : "Field required");
    out->format = CHAT_FORMAT_SCHEMA;
    out->format_schema = json_raw(r->doc, schema);
    out->format_strict = true;
    return asked_text(r, &inner, format, "name", &out->format_name);
}

/* ---- the whole body ---- */

/* The API takes -1, which some clients write in place of nothing. */
static bool is_unset(const struct asked *r, const struct json_node *root, const char *key)
{
    int64_t n;

    return json_i64(r->doc, member_find(r->doc, root, key), &n) && n == -1;
}

static bool read_numbers(const struct asked *r, const struct json_node *root, bool count,
                         struct chat_request *out)
{
    if (!count && !member_find(r->doc, root, "max_tokens"))
        asked_defer_error(r, NULL, "max_tokens", "Field required");
    return asked_number(r, NULL, root, "max_tokens", 1, 1e12, true, &out->max_tokens) &&
           asked_number(r, NULL, root, "temperature", 0, 1, false, &out->temperature) &&
           (is_unset(r, root, "top_p") ||
            asked_number(r, NULL, root, "top_p", 0, 1, false, &out->top_p)) &&
           (is_unset(r, root, "top_k") ||
            asked_number(r, NULL, root, "top_k", 0, 1e12, true, &out->top_k));
}

static bool read_body(const struct json *doc, struct arena *a, bool count, struct chat_request *out,
                      struct err *e)
{
    struct chat_request q;
    struct asked r = {.doc = doc, .a = a, .e = e, .out = &q};
    const struct json_node *root = json_root(doc);
    struct asked_at meta = {.key = "metadata"};

    part_request_init(&q, CHAT_ANTHROPIC, doc);
    if (!root || root->kind != JSON_OBJECT)
        return err_set(e, ERR_INPUT, "the body should be a JSON object");
    if (!asked_need_text(&r, NULL, root, "model", &q.model) || !read_numbers(&r, root, count, &q) ||
        !read_messages(&r, root, &q) || !read_tools(&r, root, &q) || !read_choice(&r, root, &q) ||
        !read_thinking_config(&r, root, &q) || !read_format(&r, root, &q) ||
        !asked_texts(&r, NULL, root, "stop_sequences", &q.stops, &q.stop_count) ||
        !asked_bool(&r, NULL, root, "stream", &q.stream, NULL) ||
        !asked_text(&r, &meta, member_find(r.doc, root, "metadata"), "user_id", &q.user))
        return false;
    if (q.model.n == 0)
        return asked_bad(&r, NULL, "model", "String should have at least 1 character");
    *out = q;
    return true;
}

bool anthropic_read(const struct json *doc, struct arena *a, struct chat_request *out,
                    struct err *e)
{
    return read_body(doc, a, false, out, e);
}

bool wire_anthropic_read_count(const struct json *doc, struct arena *a, struct chat_request *out,
                               struct err *e)
{
    return read_body(doc, a, true, out, e);
}
