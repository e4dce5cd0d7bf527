/* ollama_read.c - a body of /api/chat as a chat request.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/ollama.h"

#define MESSAGES_MAX 100000
#define TOOLS_MAX 4096
#define WHERE_SIZE 96

struct reader {
    const struct json *doc;
    const struct json_node *root;
    struct arena *arena;
    struct chat_request *out;
    struct err *e;
    struct chat_part **calls; /* all so far; those before `answered` have their results */
    size_t call_count, call_cap, answered;
};

static bool bad(struct reader *r, const char *where, const char *want)
{
    return err_set(r->e, ERR_INPUT, "%s: %s", where, want);
}

static const struct json_node *get(struct reader *r, const struct json_node *v, const char *key)
{
    const struct json_node *m = json_find(r->doc, v, str_c(key));

    return m && m->kind != JSON_NULL ? m : NULL;
}

static str text_of(struct reader *r, const struct json_node *v, const char *key)
{
    str text;

    return json_text(r->doc, get(r, v, key), r->arena, &text) ? text : STR("");
}

/* ---- messages ---- */

/* By the first bytes, as they look in base64. */
static str image_mime(str data)
{
    static const struct {
        str start, mime;
    } rows[] = {{STR_INIT("iVBOR"), STR_INIT("image/png")},
                {STR_INIT("R0lG"), STR_INIT("image/gif")},
                {STR_INIT("UklG"), STR_INIT("image/webp")}};

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_starts(data, rows[i].start))
            return rows[i].mime;
    return STR("image/jpeg");
}

static bool read_images(struct reader *r, const struct json_node *list, const char *where,
                        struct chat_message *m)
{
    char path[WHERE_SIZE + 32];
    size_t i = 0;
    str data;

    for (const struct json_node *v = json_first(r->doc, list); v;
         v = json_next(r->doc, list, v), i++) {
        struct chat_part *p = &m->parts[m->part_count];

        snprintf(path, sizeof path, "%s.images[%zu]", where, i);
        if (!json_text(r->doc, v, r->arena, &data))
            return bad(r, path, "must be a string of base64");
        *p = part_new(CHAT_PART_IMAGE, CHAT_OLLAMA);
        p->data = data;
        p->mime = image_mime(data);
        m->part_count++;
    }
    return true;
}

static void call_note(struct reader *r, struct chat_part *p)
{
    if (r->call_count == r->call_cap) {
        size_t cap = r->call_cap ? 2 * r->call_cap : 8;
        struct chat_part **calls = arena_zero(r->arena, cap, sizeof *calls);

        if (r->call_count)
            memcpy(calls, r->calls, r->call_count * sizeof *calls);
        r->calls = calls;
        r->call_cap = cap;
    }
    r->calls[r->call_count++] = p;
}

/* An object, or the text of one. */
static str call_arguments(struct reader *r, const struct json_node *v)
{
    struct json doc;
    struct err e;
    str text;
    bool object;

    if (v && v->kind == JSON_OBJECT)
        return json_raw(r->doc, v);
    if (!json_text(r->doc, v, r->arena, &text))
        return STR("{}");
    json_init(&doc);
    object = json_parse(&doc, text, &e) && json_root(&doc)->kind == JSON_OBJECT;
    json_release(&doc);
    return object ? text : STR("{}");
}

static bool read_calls(struct reader *r, const struct json_node *list, const char *where,
                       struct chat_message *m)
{
    char path[WHERE_SIZE + 64];
    size_t i = 0;

    for (const struct json_node *v = json_first(r->doc, list); v;
         v = json_next(r->doc, list, v), i++) {
        const struct json_node *f = get(r, v, "function"), *arguments = get(r, f, "arguments");
        struct chat_part *p = &m->parts[m->part_count++];

        *p = part_new(CHAT_PART_TOOL_CALL, CHAT_OLLAMA);
        p->name = text_of(r, f, "name");
        snprintf(path, sizeof path, "%s.tool_calls[%zu].function.name", where, i);
        if (!p->name.n)
            return bad(r, path, "must be a string that is not empty");
        p->id = text_of(r, v, "id");
        if (!p->id.n)
            p->id = arena_printf(r->arena, "call_%zu", r->call_count);
        p->json = call_arguments(r, arguments);
        call_note(r, p);
    }
    return true;
}

/* A result belongs to the call it names by id, else to the first of its name without a result,
 * else to the first without one. */
static struct chat_part *call_of(struct reader *r, str id, str name)
{
    struct chat_part *by_name = NULL;

    for (size_t i = r->answered; i < r->call_count; i++) {
        if (id.n && str_eq(r->calls[i]->id, id))
            return r->calls[i];
        if (!by_name && !r->calls[i]->is_error && name.n && str_eq(r->calls[i]->name, name))
            by_name = r->calls[i];
    }
    if (by_name || id.n || name.n)
        return by_name;
    return r->answered < r->call_count ? r->calls[r->answered] : NULL;
}

static void read_result(struct reader *r, const struct json_node *v, str content,
                        struct chat_message *m)
{
    struct chat_part *p = &m->parts[0], *call;
    str id = text_of(r, v, "tool_call_id"), name = text_of(r, v, "tool_name");

    if (!name.n)
        name = text_of(r, v, "name");
    *p = part_new(CHAT_PART_TOOL_RESULT, CHAT_OLLAMA);
    p->parts = arena_zero(r->arena, 1, sizeof *p->parts);
    p->parts[0] = part_new(CHAT_PART_TEXT, CHAT_OLLAMA);
    p->parts[0].text = content;
    p->part_count = m->part_count = 1;
    call = call_of(r, id, name);
    p->id = id.n ? id : call ? call->id : STR("");
    p->name = name.n ? name : call ? call->name : STR("");
    if (call)
        call->is_error = true; /* for now: it has its result */
    while (r->answered < r->call_count && r->calls[r->answered]->is_error)
        r->calls[r->answered++]->is_error = false;
}

static bool read_role(struct reader *r, const struct json_node *v, const char *where,
                      struct chat_message *m)
{
    static const struct {
        const char *name;
        enum chat_role role;
    } roles[] = {{"system", CHAT_SYSTEM},
                 {"developer", CHAT_SYSTEM},
                 {"user", CHAT_USER},
                 {"assistant", CHAT_ASSISTANT},
                 {"tool", CHAT_TOOL}};
    char path[WHERE_SIZE + 16];

    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (json_is(r->doc, get(r, v, "role"), str_c(roles[i].name))) {
            m->role = roles[i].role;
            return true;
        }
    snprintf(path, sizeof path, "%s.role", where);
    return bad(r, path, "must be system, user, assistant or tool");
}

static bool read_message(struct reader *r, const struct json_node *v, size_t i,
                         struct chat_message *m)
{
    const struct json_node *images = get(r, v, "images"), *calls = get(r, v, "tool_calls");
    const struct json_node *content = get(r, v, "content");
    str text = STR(""), thinking = text_of(r, v, "thinking");
    char where[WHERE_SIZE];

    snprintf(where, sizeof where, "messages[%zu]", i);
    if (v->kind != JSON_OBJECT)
        return bad(r, where, "must be an object");
    *m = (struct chat_message){.name = STR("")};
    if (!read_role(r, v, where, m))
        return false;
    if (content && !json_text(r->doc, content, r->arena, &text))
        return err_set(r->e, ERR_INPUT, "%s.content: must be a string", where);
    if ((images && images->kind != JSON_ARRAY) || (calls && calls->kind != JSON_ARRAY))
        return err_set(r->e,
                       ERR_INPUT,
                       "%s.%s: must be a list",
                       where,
                       images && images->kind != JSON_ARRAY ? "images" : "tool_calls");
    m->parts = arena_zero(
        r->arena, 2 + json_count(r->doc, images) + json_count(r->doc, calls), sizeof *m->parts);
    if (m->role == CHAT_TOOL) {
        read_result(r, v, text, m);
        return true;
    }
    if (thinking.n) {
        m->parts[m->part_count] = part_new(CHAT_PART_REASONING, CHAT_OLLAMA);
        m->parts[m->part_count++].text = thinking;
    }
    if (text.n || (!images && !calls && !thinking.n)) {
        m->parts[m->part_count] = part_new(CHAT_PART_TEXT, CHAT_OLLAMA);
        m->parts[m->part_count++].text = text;
    }
    return read_images(r, images, where, m) && read_calls(r, calls, where, m);
}

static bool read_messages(struct reader *r)
{
    const struct json_node *list = get(r, r->root, "messages");
    size_t n = json_count(r->doc, list), i = 0;

    if (!list)
        return bad(r, "messages", "is missing");
    if (list->kind != JSON_ARRAY)
        return bad(r, "messages", "must be a list");
    if (n > MESSAGES_MAX)
        return bad(r, "messages", "has too many messages");
    r->out->messages = arena_zero(r->arena, n, sizeof *r->out->messages);
    for (const struct json_node *v = json_first(r->doc, list); v; v = json_next(r->doc, list, v)) {
        if (!read_message(r, v, i, &r->out->messages[i]))
            return false;
        r->out->message_count = ++i;
    }
    for (i = 0; i < r->call_count; i++)
        r->calls[i]->is_error = false;
    return true;
}

/* ---- settings ---- */

static bool read_tools(struct reader *r)
{
    const struct json_node *list = get(r, r->root, "tools");
    size_t n = json_count(r->doc, list), i = 0;
    char where[WHERE_SIZE];

    if (!list)
        return true;
    if (list->kind != JSON_ARRAY)
        return bad(r, "tools", "must be a list");
    if (n > TOOLS_MAX)
        return bad(r, "tools", "has too many tools");
    r->out->tools = arena_zero(r->arena, n, sizeof *r->out->tools);
    for (const struct json_node *v = json_first(r->doc, list); v; v = json_next(r->doc, list, v)) {
        const struct json_node *f = get(r, v, "function"), *schema = get(r, f, "parameters");
        struct chat_tool *t = &r->out->tools[i];

        *t = (struct chat_tool){.name = text_of(r, f, "name"),
                                .description = text_of(r, f, "description"),
                                .schema = STR(""),
                                .opaque = STR(""),
                                .dialect = CHAT_OLLAMA};
        snprintf(where, sizeof where, "tools[%zu].function.name", i);
        if (!t->name.n)
            return bad(r, where, "must be a string that is not empty");
        snprintf(where, sizeof where, "tools[%zu].function.parameters", i);
        if (schema && schema->kind != JSON_OBJECT)
            return bad(r, where, "must be a JSON Schema, an object");
        if (schema)
            t->schema = json_raw(r->doc, schema);
        r->out->tool_count = ++i;
    }
    return true;
}

static bool read_stops(struct reader *r, const struct json_node *v)
{
    size_t n = v && v->kind == JSON_ARRAY ? json_count(r->doc, v) : 1;
    const struct json_node *one = v && v->kind == JSON_ARRAY ? json_first(r->doc, v) : v;

    if (!v)
        return true;
    r->out->stops = arena_zero(r->arena, n, sizeof *r->out->stops);
    for (; one; one = v->kind == JSON_ARRAY ? json_next(r->doc, v, one) : NULL)
        if (!json_text(r->doc, one, r->arena, &r->out->stops[r->out->stop_count++]))
            return bad(r, "options.stop", "must be a list of strings");
    return true;
}

static bool read_options(struct reader *r)
{
    struct chat_request *q = r->out;
    const struct json_node *o = get(r, r->root, "options");
    const struct {
        const char *key;
        str *to;
    } rows[] = {
        {"temperature", &q->temperature},
        {"top_p", &q->top_p},
        {"top_k", &q->top_k},
        {"seed", &q->seed},
        {"num_predict", &q->max_tokens},
        {"frequency_penalty", &q->frequency_penalty},
        {"presence_penalty", &q->presence_penalty},
    };

    if (o && o->kind != JSON_OBJECT)
        return bad(r, "options", "must be an object");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct json_node *v = get(r, o, rows[i].key);

        if (v && v->kind != JSON_NUMBER)
            return err_set(r->e, ERR_INPUT, "options.%s: must be a number", rows[i].key);
        if (v)
            *rows[i].to = json_raw(r->doc, v);
    }
    if (str_starts(q->max_tokens, STR("-"))) /* as many as it likes */
        q->max_tokens = STR("");
    return read_stops(r, get(r, o, "stop"));
}

static bool read_think(struct reader *r)
{
    const struct json_node *v = get(r, r->root, "think");
    bool on;
    str name;

    if (!v)
        return true;
    if (json_bool(v, &on)) {
        r->out->level = on ? CHAT_LEVEL_ON : CHAT_LEVEL_NONE;
    } else if (!json_text(r->doc, v, r->arena, &name) || !chat_level_parse(name, &r->out->level)) {
        return bad(r, "think", "must be true, false, low, medium, high or max");
    }
    r->out->thoughts = r->out->level != CHAT_LEVEL_NONE;
    return true;
}

static bool read_format(struct reader *r)
{
    const struct json_node *v = get(r, r->root, "format");

    if (!v || json_is(r->doc, v, STR("")))
        return true;
    if (json_is(r->doc, v, STR("json"))) {
        r->out->format = CHAT_FORMAT_JSON;
        return true;
    }
    if (v->kind != JSON_OBJECT)
        return bad(r, "format", "must be \"json\" or a JSON Schema, an object");
    r->out->format = CHAT_FORMAT_SCHEMA;
    r->out->format_schema = json_raw(r->doc, v);
    return true;
}

static bool read_head(struct reader *r)
{
    const struct json_node *model = get(r, r->root, "model");
    const struct json_node *stream = get(r, r->root, "stream");

    if (!model)
        return bad(r, "model", "is missing");
    if (!json_text(r->doc, model, r->arena, &r->out->model) || !r->out->model.n)
        return bad(r, "model", "must be a string that is not empty");
    if (stream && !json_bool(stream, &r->out->stream))
        return bad(r, "stream", "must be true or false");
    return true;
}

bool ollama_read(const struct json *doc, struct arena *a, struct chat_request *out, struct err *e)
{
    struct reader r = {.doc = doc, .root = json_root(doc), .arena = a, .out = out, .e = e};
    static const str none = STR_INIT("");

    if (!r.root || r.root->kind != JSON_OBJECT)
        return err_set(e, ERR_INPUT, "the body must be a JSON object");
    *out = (struct chat_request){.dialect = CHAT_OLLAMA,
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
                                 .stream = true,
                                 .stream_usage = true,
                                 .doc = doc};
    return read_head(&r) && read_messages(&r) && read_tools(&r) && read_options(&r) &&
           read_think(&r) && read_format(&r);
}
