/* read.c - a body of /v1/messages, checked as Anthropic checks it.
 *
 * Parts that only Anthropic understands (server tools and their results, files by id, additions of
 * later versions) become OPAQUE parts and tools; only members that the gateway needs are required.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"

/* ---- blocks ---- */

static void anthropic_read_opaque(const struct request_reader *r, const struct json_node *v,
                                  struct chat_part *out)
{
    *out = part_new(CHAT_PART_OPAQUE, CHAT_ANTHROPIC);
    out->json = json_raw(r->doc, v);
}

static bool anthropic_read_text(const struct request_reader *r, const struct request_path *at,
                                const struct json_node *v, struct chat_part *out)
{
    out->kind = CHAT_PART_TEXT;
    return request_require_text(r, at, v, "text", &out->text);
}

/* Appends text blocks, or a string, to `out`, with a blank line between each two; false if there is
 * anything else. */
static bool anthropic_read_join_texts(const struct request_reader *r,
                                      const struct json_node *content, struct buf *out)
{
    str text;

    if (json_is_array(content)) {
        JSON_FOREACH(x, r->doc, content)
            if (!json_get_is(r->doc, x, "type", "text") ||
                !anthropic_read_join_texts(r, json_get(r->doc, x, "text"), out))
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

/* Parts with a special kind here that are text for other providers, with what is said of them. */
static bool anthropic_read_add_words(const struct request_reader *r, const struct json_node *v,
                                     const struct json_node *content, struct chat_part *out)
{
    struct buf b;
    bool ok = true;
    char *p;

    buf_init(&b, r->doc->src.n);
    (void)anthropic_read_join_texts(r, json_get(r->doc, v, "title"), &b);
    (void)anthropic_read_join_texts(r, json_get(r->doc, v, "source"), &b);
    (void)anthropic_read_join_texts(r, json_get(r->doc, v, "context"), &b);
    if (!anthropic_read_join_texts(r, content, &b)) {
        anthropic_read_opaque(r, v, out);
    } else if ((ok = request_alloc(r, b.n, 1, &p))) {
        memcpy(p, b.p, b.n);
        *out = part_new(CHAT_PART_TEXT, CHAT_OPENAI);
        out->text = (str){p, b.n};
    }
    buf_release(&b);
    return ok;
}

static bool anthropic_read_words(const struct request_reader *r, const struct request_path *at,
                                 const struct json_node *v, struct chat_part *out)
{
    (void)at;
    return anthropic_read_add_words(r, v, json_get(r->doc, v, "content"), out);
}

/* An image or a document; a document of plain text is text. */
static bool anthropic_read_source(const struct request_reader *r, const struct request_path *at,
                                  const struct json_node *v, enum chat_part_kind kind,
                                  struct chat_part *out)
{
    struct request_path here = {.up = at, .key = "source"};
    const struct json_node *source = json_get(r->doc, v, "source");

    if (!source)
        return request_fail(r, at, "source", "Field required");
    if (source->kind != JSON_OBJECT)
        return request_fail(r, at, "source", "Input should be an object");
    out->kind = kind;
    if (!request_read_text(r, at, v, "title", &out->name))
        return false;
    if (json_get_is(r->doc, source, "type", "base64"))
        return request_require_text(r, &here, source, "media_type", &out->mime) &&
               request_require_text(r, &here, source, "data", &out->data);
    if (json_get_is(r->doc, source, "type", "url"))
        return request_require_text(r, &here, source, "url", &out->url);
    if (json_get_is(r->doc, source, "type", "text") && kind == CHAT_PART_FILE)
        return request_require_text(r, &here, source, "data", &out->text) &&
               anthropic_read_add_words(r, v, json_get(r->doc, source, "data"), out);
    if (json_get_is(r->doc, source, "type", "content") && kind == CHAT_PART_FILE)
        return anthropic_read_add_words(r, v, json_get(r->doc, source, "content"), out);
    anthropic_read_opaque(r, v, out);
    return true;
}

static bool anthropic_read_image(const struct request_reader *r, const struct request_path *at,
                                 const struct json_node *v, struct chat_part *out)
{
    return anthropic_read_source(r, at, v, CHAT_PART_IMAGE, out);
}

static bool anthropic_read_document(const struct request_reader *r, const struct request_path *at,
                                    const struct json_node *v, struct chat_part *out)
{
    return anthropic_read_source(r, at, v, CHAT_PART_FILE, out);
}

static bool anthropic_read_thinking(const struct request_reader *r, const struct request_path *at,
                                    const struct json_node *v, struct chat_part *out)
{
    out->kind = CHAT_PART_REASONING;
    out->dialect = CHAT_ANTHROPIC;
    return request_require_text(r, at, v, "thinking", &out->text) &&
           request_read_text(r, at, v, "signature", &out->signature);
}

static bool anthropic_read_redacted(const struct request_reader *r, const struct request_path *at,
                                    const struct json_node *v, struct chat_part *out)
{
    out->kind = CHAT_PART_REASONING;
    out->dialect = CHAT_ANTHROPIC;
    out->redacted = true;
    return request_require_text(r, at, v, "data", &out->text);
}

static bool anthropic_read_tool_use(const struct request_reader *r, const struct request_path *at,
                                    const struct json_node *v, struct chat_part *out)
{
    const struct json_node *input = json_get(r->doc, v, "input");

    out->kind = CHAT_PART_TOOL_CALL;
    if (!request_require_text(r, at, v, "id", &out->id) ||
        !request_require_text(r, at, v, "name", &out->name))
        return false;
    if (!input)
        return request_fail(r, at, "input", "Field required");
    if (input->kind != JSON_OBJECT)
        return request_fail(r, at, "input", "Input should be a valid dictionary");
    out->json = json_raw(r->doc, input);
    return true;
}

static bool anthropic_read_content(const struct request_reader *r, const struct request_path *at,
                                   const struct json_node *content, struct chat_part **out,
                                   size_t *count);

static bool anthropic_read_tool_result(const struct request_reader *r,
                                       const struct request_path *at, const struct json_node *v,
                                       struct chat_part *out)
{
    struct request_path here = {.up = at, .key = "content"};
    const struct json_node *content = json_get(r->doc, v, "content");

    out->kind = CHAT_PART_TOOL_RESULT;
    return request_require_text(r, at, v, "tool_use_id", &out->id) &&
           request_read_bool(r, at, v, "is_error", &out->is_error, NULL) &&
           (!content || anthropic_read_content(r, &here, content, &out->parts, &out->part_count));
}

static const struct {
    const char *type;
    bool (*read)(const struct request_reader *r, const struct request_path *at,
                 const struct json_node *v, struct chat_part *out);
    bool nested; /* allowed in a tool result */
} blocks[] = {
    {"text", anthropic_read_text, true},
    {"image", anthropic_read_image, true},
    {"document", anthropic_read_document, true},
    {"thinking", anthropic_read_thinking, false},
    {"redacted_thinking", anthropic_read_redacted, false},
    {"tool_use", anthropic_read_tool_use, false},
    {"tool_result", anthropic_read_tool_result, false},
    {"search_result", anthropic_read_words, true},
    {"compaction", anthropic_read_words, false},
};

static bool anthropic_read_block(const struct request_reader *r, const struct request_path *at,
                                 const struct json_node *v, bool nested, struct chat_part *out)
{
    str type;

    *out = part_new(CHAT_PART_TEXT, CHAT_OPENAI);
    if (v->kind != JSON_OBJECT)
        return request_fail(r, at, NULL, "Input should be an object");
    if (!request_require_text(r, at, v, "type", &type))
        return false;
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        if (str_eq(type, str_c(blocks[i].type))) {
            if (nested && !blocks[i].nested)
                return request_fail(r, at, "type", "a tool result may not contain this block");
            return blocks[i].read(r, at, v, out);
        }
    anthropic_read_opaque(r, v, out);
    return true;
}

/* The context of a document is a text before it: other dialects have no place for it. */
static size_t anthropic_read_count_contexts(const struct request_reader *r,
                                            const struct json_node *content)
{
    size_t n = 0;

    JSON_FOREACH(v, r->doc, content)
        n += json_get_is(r->doc, v, "type", "document") && json_get(r->doc, v, "context");
    return n;
}

static size_t anthropic_read_add_context(const struct request_reader *r, const struct json_node *v,
                                         struct chat_part *file)
{
    struct chat_part context = part_new(CHAT_PART_TEXT, CHAT_OPENAI);

    if (file->kind != CHAT_PART_FILE)
        return 0;
    context.text = json_get_text(r->doc, v, "context", r->a);
    if (!context.text.n)
        return 0;
    file[1] = file[0];
    file[0] = context;
    return 1;
}

/* A string, or blocks. */
static bool anthropic_read_content(const struct request_reader *r, const struct request_path *at,
                                   const struct json_node *content, struct chat_part **out,
                                   size_t *count)
{
    bool nested = at->up && at->up->key == NULL && at->up->up && at->up->up->key &&
                  strcmp(at->up->up->key, "content") == 0;
    size_t n = 0, i = 0;

    if (content->kind == JSON_STRING) {
        if (!request_alloc(r, 1, sizeof **out, out))
            return false;
        **out = part_new(CHAT_PART_TEXT, CHAT_OPENAI);
        *count = 1;
        return json_text(r->doc, content, r->a, &(*out)->text);
    }
    if (content->kind != JSON_ARRAY)
        return request_fail(r, at, NULL, "Input should be a valid string or list");
    if (!request_alloc(r,
                       json_count(r->doc, content) + anthropic_read_count_contexts(r, content),
                       sizeof **out,
                       out))
        return false;
    for (const struct json_node *x = json_first(r->doc, content); x;
         x = json_next(r->doc, content, x), n++, i++) {
        struct request_path item = {.up = at, .index = i};

        if (!anthropic_read_block(r, &item, x, nested, &(*out)[n]))
            return false;
        n += anthropic_read_add_context(r, x, &(*out)[n]);
    }
    *count = n;
    return true;
}

/* ---- messages ---- */

static bool anthropic_read_role(const struct request_reader *r, const struct request_path *at,
                                const struct json_node *v, enum chat_role *out)
{
    const struct json_node *role = json_find(r->doc, v, STR("role"));

    if (!role)
        return request_fail(r, at, "role", "Field required");
    if (json_is(r->doc, role, STR("user")))
        *out = CHAT_USER;
    else if (json_is(r->doc, role, STR("assistant")))
        *out = CHAT_ASSISTANT;
    else if (json_is(r->doc, role, STR("system")))
        *out = CHAT_SYSTEM;
    else
        return request_fail(r, at, "role", "Input should be 'user' or 'assistant'");
    return true;
}

/* A user's message is cut where tool results begin and end: they are messages of role TOOL. */
static void anthropic_read_add_runs(struct chat_request *out, enum chat_role role,
                                    struct chat_part *parts, size_t n)
{
    out->message_count += parts_to_messages(parts, n, role, &out->messages[out->message_count]);
}

static bool anthropic_read_message(const struct request_reader *r, const struct request_path *at,
                                   const struct json_node *v, struct chat_request *out)
{
    struct request_path here = {.up = at, .key = "content"};
    const struct json_node *content;
    struct chat_part *parts = NULL;
    enum chat_role role = CHAT_USER;
    size_t n = 0;

    if (v->kind != JSON_OBJECT)
        return request_fail(r, at, NULL, "Input should be an object");
    if (!anthropic_read_role(r, at, v, &role))
        return false;
    content = json_find(r->doc, v, STR("content"));
    if (!content)
        return request_fail(r, at, "content", "Field required");
    if (!anthropic_read_content(r, &here, content, &parts, &n))
        return false;
    anthropic_read_add_runs(out, role, parts, n);
    return true;
}

/* The largest possible number of messages after tool results become separate messages. */
static size_t anthropic_read_count_messages(const struct request_reader *r,
                                            const struct json_node *root,
                                            const struct json_node *messages)
{
    const struct json_node *system = json_get(r->doc, root, "system");
    size_t n = 1 + (system && system->kind == JSON_ARRAY ? json_count(r->doc, system) : 0);

    JSON_FOREACH(m, r->doc, messages) {
        const struct json_node *content = json_find(r->doc, m, STR("content"));

        n += 1 + (json_is_array(content) ? json_count(r->doc, content) : 0);
    }
    return n;
}

static bool anthropic_read_system(const struct request_reader *r, const struct json_node *root,
                                  struct chat_request *out)
{
    struct request_path here = {.key = "system"};
    const struct json_node *system = json_get(r->doc, root, "system");
    struct chat_part *parts = NULL;
    size_t n = 0;

    if (!system)
        return true;
    if (!anthropic_read_content(r, &here, system, &parts, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct request_path item = {.up = &here, .index = i};

        if (parts[i].kind != CHAT_PART_TEXT)
            request_defer_error(r, &item, "type", "Input should be 'text'");
    }
    if (n > 0)
        anthropic_read_add_runs(out, CHAT_SYSTEM, parts, n);
    return true;
}

static bool anthropic_read_messages(const struct request_reader *r, const struct json_node *root,
                                    struct chat_request *out)
{
    struct request_path here = {.key = "messages"};
    const struct json_node *messages = json_get(r->doc, root, "messages");
    size_t i = 0;

    if (!messages)
        return request_fail(r, NULL, "messages", "Field required");
    if (messages->kind != JSON_ARRAY)
        return request_fail(r, NULL, "messages", "Input should be a valid list");
    if (!json_first(r->doc, messages))
        return request_fail(r, NULL, "messages", "at least one message is required");
    if (!request_alloc(r,
                       anthropic_read_count_messages(r, root, messages),
                       sizeof *out->messages,
                       &out->messages) ||
        !anthropic_read_system(r, root, out))
        return false;
    for (const struct json_node *m = json_first(r->doc, messages); m;
         m = json_next(r->doc, messages, m), i++) {
        struct request_path item = {.up = &here, .index = i};

        if (!anthropic_read_message(r, &item, m, out)) {
            if (!request_defer_failure(r) ||
                !part_message_opaque(r, m, CHAT_ANTHROPIC, &out->messages[out->message_count++]))
                return false;
        }
    }
    return true;
}

/* ---- tools ---- */

static bool anthropic_read_tool(const struct request_reader *r, const struct request_path *at,
                                const struct json_node *v, struct chat_tool *out)
{
    const struct json_node *schema;
    str type = STR("custom");

    *out = part_tool(CHAT_OPENAI);
    if (v->kind != JSON_OBJECT)
        return request_fail(r, at, NULL, "Input should be an object");
    if (!request_read_text(r, at, v, "type", &type))
        return false;
    if (!str_eq(type, STR("custom"))) {
        out->dialect = CHAT_ANTHROPIC;
        out->opaque = json_raw(r->doc, v);
        return request_read_text(r, at, v, "name", &out->name);
    }
    if (!request_require_text(r, at, v, "name", &out->name) ||
        !request_read_text(r, at, v, "description", &out->description) ||
        !request_read_bool(r, at, v, "strict", &out->strict, &out->strict_given))
        return false;
    if (out->name.n == 0)
        return request_fail(r, at, "name", "String should have at least 1 character");
    schema = json_get(r->doc, v, "input_schema");
    if (!schema)
        return request_fail(r, at, "input_schema", "Field required");
    if (schema->kind != JSON_OBJECT)
        return request_fail(r, at, "input_schema", "Input should be an object");
    out->schema = json_raw(r->doc, schema);
    return true;
}

static bool anthropic_read_tools(const struct request_reader *r, const struct json_node *root,
                                 struct chat_request *out)
{
    struct request_path here = {.key = "tools"};
    const struct json_node *tools = json_get(r->doc, root, "tools");
    size_t n = 0;

    if (!tools)
        return true;
    if (tools->kind != JSON_ARRAY)
        return request_fail(r, NULL, "tools", "Input should be a valid list");
    if (!request_alloc(r, json_count(r->doc, tools), sizeof *out->tools, &out->tools))
        return false;
    for (const struct json_node *t = json_first(r->doc, tools); t;
         t = json_next(r->doc, tools, t), n++) {
        struct request_path item = {.up = &here, .index = n};

        if (!anthropic_read_tool(r, &item, t, &out->tools[n])) {
            if (!request_defer_failure(r))
                return false;
            out->tools[n] = part_tool(CHAT_ANTHROPIC);
            out->tools[n].opaque = json_raw(r->doc, t);
        }
    }
    out->tool_count = n;
    return true;
}

static bool anthropic_read_choice(const struct request_reader *r, const struct json_node *root,
                                  struct chat_request *out)
{
    static const struct {
        const char *type;
        enum chat_choice_kind kind;
    } kinds[] = {{"auto", CHAT_CHOICE_AUTO},
                 {"any", CHAT_CHOICE_REQUIRED},
                 {"tool", CHAT_CHOICE_TOOL},
                 {"none", CHAT_CHOICE_NONE}};
    struct request_path here = {.key = "tool_choice"};
    const struct json_node *choice = json_get(r->doc, root, "tool_choice");
    bool alone = false, given = false;

    if (!choice)
        return true;
    if (choice->kind != JSON_OBJECT)
        return request_fail(r, NULL, "tool_choice", "Input should be an object");
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (json_get_is(r->doc, choice, "type", kinds[i].type))
            out->choice = kinds[i].kind;
    if (out->choice == CHAT_CHOICE_NONE_GIVEN)
        return request_defer_error(
            r, &here, "type", "Input should be 'auto', 'any', 'tool' or 'none'");
    if (out->choice == CHAT_CHOICE_TOOL &&
        !request_require_text(r, &here, choice, "name", &out->choice_name))
        return false;
    if (!request_read_bool(r, &here, choice, "disable_parallel_tool_use", &alone, &given))
        return false;
    out->parallel_given = given;
    out->parallel = !alone;
    return true;
}

/* ---- the whole body ---- */

static bool anthropic_read_body(const struct json *doc, struct arena *a, bool count,
                                struct chat_request *out, struct err *e)
{
    struct chat_request q;
    struct request_reader r = {.doc = doc, .a = a, .e = e, .out = &q};
    const struct json_node *root = json_root(doc);
    struct request_path meta = {.key = "metadata"};

    part_request_init(&q, CHAT_ANTHROPIC, doc);
    if (!json_is_object(root))
        return err_input(e, "the body should be a JSON object");
    if (!request_require_text(&r, NULL, root, "model", &q.model) ||
        !anthropic_read_numbers(&r, root, count) || !anthropic_read_messages(&r, root, &q) ||
        !anthropic_read_tools(&r, root, &q) || !anthropic_read_choice(&r, root, &q) ||
        !anthropic_read_settings(&r, root) ||
        !request_read_texts(&r, NULL, root, "stop_sequences", &q.stops, &q.stop_count) ||
        !request_read_bool(&r, NULL, root, "stream", &q.stream, NULL) ||
        !request_read_text(&r, &meta, json_get(r.doc, root, "metadata"), "user_id", &q.user))
        return false;
    if (q.model.n == 0)
        return request_fail(&r, NULL, "model", "String should have at least 1 character");
    *out = q;
    return true;
}

bool anthropic_read(const struct json *doc, struct arena *a, struct chat_request *out,
                    struct err *e)
{
    return anthropic_read_body(doc, a, false, out, e);
}

bool wire_anthropic_read_count(const struct json *doc, struct arena *a, struct chat_request *out,
                               struct err *e)
{
    return anthropic_read_body(doc, a, true, out, e);
}
