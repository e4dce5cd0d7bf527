/* read.c - a body of /api/chat or /api/generate as a chat request.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/ollama/ollama.h"

#define MESSAGES_MAX 100000
#define LOOK_MAX 512 /* calls without a result that one is looked for in */

struct reader {
    struct request_reader r;
    struct chat_part **calls; /* all so far; those before `answered` have their results */
    size_t call_count, call_cap, answered;
};

/* ---- messages ---- */

/* By the first bytes, as they look in base64. */
static str ollama_read_image_mime(str data)
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

static bool ollama_read_images(struct reader *g, const struct request_path *at,
                               const struct json_node *list, struct chat_message *m)
{
    struct request_path here = {.up = at, .key = "images"}, item = {.up = &here};
    str data;

    for (const struct json_node *v = json_first(g->r.doc, list); v;
         v = json_next(g->r.doc, list, v), item.index++) {
        struct chat_part *p = &m->parts[m->part_count];

        if (!json_text(g->r.doc, v, g->r.a, &data))
            return request_fail(&g->r, &item, NULL, "must be a string of base64");
        *p = part_new(CHAT_PART_IMAGE, CHAT_OLLAMA);
        p->data = data;
        p->mime = ollama_read_image_mime(data);
        m->part_count++;
    }
    return true;
}

static void ollama_read_call_note(struct reader *g, struct chat_part *p)
{
    assert(p && g->call_count <= g->call_cap);
    if (g->call_count == g->call_cap) {
        size_t cap = g->call_cap ? 2 * g->call_cap : 8;
        struct chat_part **calls = arena_zero(g->r.a, cap, sizeof *calls);

        if (g->call_count)
            memcpy(calls, g->calls, g->call_count * sizeof *calls);
        g->calls = calls;
        g->call_cap = cap;
    }
    g->calls[g->call_count++] = p;
}

/* An object, or the text of one. */
static str ollama_read_call_arguments(struct reader *g, const struct json_node *v)
{
    str text;

    if (json_is_object(v))
        return json_raw(g->r.doc, v);
    return json_text(g->r.doc, v, g->r.a, &text) && json_is_object_text(text) ? text : STR("{}");
}

static bool ollama_read_calls(struct reader *g, const struct request_path *at,
                              const struct json_node *list, struct chat_message *m)
{
    struct request_path here = {.up = at, .key = "tool_calls"}, item = {.up = &here};

    for (const struct json_node *v = json_first(g->r.doc, list); v;
         v = json_next(g->r.doc, list, v), item.index++) {
        const struct json_node *f = json_get(g->r.doc, v, "function");
        struct chat_part *p = &m->parts[m->part_count++];

        *p = part_new(CHAT_PART_TOOL_CALL, CHAT_OLLAMA);
        p->name = json_get_text(g->r.doc, f, "name", g->r.a);
        if (!p->name.n)
            return request_fail(
                &g->r, &item, "function.name", "must be a string that is not empty");
        p->id = json_get_text(g->r.doc, v, "id", g->r.a);
        if (!p->id.n)
            p->id = arena_printf(g->r.a, "call_%zu", g->call_count);
        p->json = ollama_read_call_arguments(g, json_get(g->r.doc, f, "arguments"));
        ollama_read_call_note(g, p);
    }
    return true;
}

static bool ollama_read_generated_id(const struct reader *g, size_t at)
{
    char id[32];
    int n = snprintf(id, sizeof id, "call_%zu", at);

    assert(at < g->call_count && n > 0 && (size_t)n < sizeof id);
    return str_eq(g->calls[at]->id, (str){id, (size_t)n});
}

/* A result belongs to the call it names by id, else to the first of its name without a result,
 * else to the first without one. A call that came without its id has the one that its result has:
 * LiteLLM sends it there alone. */
static struct chat_part *ollama_read_call_of(struct reader *g, str id, str name)
{
    size_t at = g->call_count;

    assert(g->answered <= g->call_count);
    for (size_t i = g->answered; i < g->call_count && i - g->answered < LOOK_MAX; i++) {
        struct chat_part *call = g->calls[i];

        if (id.n && str_eq(call->id, id))
            return call;
        if (at == g->call_count && !call->is_error &&
            (name.n ? str_eq(call->name, name) : !id.n || ollama_read_generated_id(g, i)))
            at = i;
    }
    if (at == g->call_count)
        return NULL;
    if (id.n && ollama_read_generated_id(g, at))
        g->calls[at]->id = id;
    return g->calls[at];
}

static void ollama_read_result(struct reader *g, const struct json_node *v, str content,
                               struct chat_message *m)
{
    struct chat_part *p = &m->parts[0], *call;
    str id = json_get_text(g->r.doc, v, "tool_call_id", g->r.a),
        name = json_get_text(g->r.doc, v, "tool_name", g->r.a);

    assert(m->role == CHAT_TOOL && m->parts);
    if (!name.n)
        name = json_get_text(g->r.doc, v, "name", g->r.a);
    *p = part_new(CHAT_PART_TOOL_RESULT, CHAT_OLLAMA);
    p->parts = arena_zero(g->r.a, 1, sizeof *p->parts);
    p->parts[0] = part_new(CHAT_PART_TEXT, CHAT_OLLAMA);
    p->parts[0].text = content;
    p->part_count = m->part_count = 1;
    call = ollama_read_call_of(g, id, name);
    p->id = id.n ? id : call ? call->id : STR("");
    p->name = name.n ? name : call ? call->name : STR("");
    if (call)
        call->is_error = true; /* for now: it has its result */
    while (g->answered < g->call_count && g->calls[g->answered]->is_error)
        g->calls[g->answered++]->is_error = false;
}

static bool ollama_read_role(struct reader *g, const struct request_path *at,
                             const struct json_node *v, struct chat_message *m)
{
    static const struct name_row roles[] = {{"system", CHAT_SYSTEM},
                                            {"developer", CHAT_SYSTEM},
                                            {"user", CHAT_USER},
                                            {"assistant", CHAT_ASSISTANT},
                                            {"tool", CHAT_TOOL}};
    int role =
        name_table_number(roles, COUNT_OF(roles), json_get_text(g->r.doc, v, "role", g->r.a), -1);

    if (role < 0)
        return request_fail(&g->r, at, "role", "must be system, user, assistant or tool");
    m->role = (enum chat_role)role;
    return true;
}

static bool ollama_read_message(struct reader *g, const struct request_path *at,
                                const struct json_node *v, struct chat_message *m)
{
    const struct json *doc = g->r.doc;
    const struct json_node *images = json_get(doc, v, "images");
    const struct json_node *calls = json_get(doc, v, "tool_calls");
    const struct json_node *content = json_get(doc, v, "content");
    str text = STR(""), thinking = json_get_text(doc, v, "thinking", g->r.a);

    if (v->kind != JSON_OBJECT)
        return request_fail(&g->r, at, NULL, "must be an object");
    *m = (struct chat_message){.name = STR("")};
    if (!ollama_read_role(g, at, v, m))
        return false;
    if (content && !json_text(doc, content, g->r.a, &text))
        return request_fail(&g->r, at, "content", "must be a string");
    if (images && images->kind != JSON_ARRAY)
        return request_fail(&g->r, at, "images", "must be a list");
    if (calls && calls->kind != JSON_ARRAY)
        return request_fail(&g->r, at, "tool_calls", "must be a list");
    m->parts =
        arena_zero(g->r.a, 2 + json_count(doc, images) + json_count(doc, calls), sizeof *m->parts);
    if (m->role == CHAT_TOOL) {
        ollama_read_result(g, v, text, m);
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
    return ollama_read_images(g, at, images, m) && ollama_read_calls(g, at, calls, m);
}

static bool ollama_read_messages(struct reader *g, const struct json_node *root)
{
    const struct json_node *list = json_get(g->r.doc, root, "messages");
    struct request_path here = {.key = "messages"}, item = {.up = &here};
    struct chat_request *q = g->r.out;
    size_t n = json_count(g->r.doc, list);

    if (!list) /* nothing is asked: the model is to be loaded */
        return true;
    if (list->kind != JSON_ARRAY)
        return request_fail(&g->r, &here, NULL, "must be a list");
    if (n > MESSAGES_MAX)
        return request_fail(&g->r, &here, NULL, "has too many messages");
    q->messages = arena_zero(g->r.a, n, sizeof *q->messages);
    for (const struct json_node *v = json_first(g->r.doc, list); v;
         v = json_next(g->r.doc, list, v), item.index++) {
        assert(item.index < n && q->message_count == item.index);
        if (!ollama_read_message(g, &item, v, &q->messages[item.index])) {
            if (!request_defer_failure(&g->r) ||
                !part_message_opaque(&g->r, v, CHAT_OLLAMA, &q->messages[item.index]))
                return false;
        }
        q->message_count++;
    }
    for (size_t i = 0; i < g->call_count; i++)
        g->calls[i]->is_error = false;
    return true;
}

/* The system prompt and the user's message of /api/generate. Without a prompt the model is to be
 * loaded. */
static bool ollama_read_question(struct reader *g, const struct json_node *root)
{
    const struct json *doc = g->r.doc;
    const struct json_node *images = json_get(doc, root, "images");
    const struct json_node *texts[] = {json_get(doc, root, "system"),
                                       json_get(doc, root, "prompt")};
    static const char *const names[] = {"system", "prompt"};
    struct chat_message *m;
    str text;

    if (images && images->kind != JSON_ARRAY)
        return request_fail(&g->r, NULL, "images", "must be a list");
    m = g->r.out->messages = arena_zero(g->r.a, 2, sizeof *m);
    for (size_t i = 0; i < 2; i++) {
        text = STR("");
        if (texts[i] && !json_text(doc, texts[i], g->r.a, &text))
            return request_fail(&g->r, NULL, names[i], "must be a string");
        if (!text.n && (i == 0 || !images || !json_first(doc, images)))
            continue;
        *m = (struct chat_message){.role = i ? CHAT_USER : CHAT_SYSTEM, .name = STR("")};
        m->parts = arena_zero(g->r.a, 1 + json_count(doc, images), sizeof *m->parts);
        m->parts[0] = part_new(CHAT_PART_TEXT, CHAT_OLLAMA);
        m->parts[0].text = text;
        m->part_count = text.n > 0;
        if (i && !ollama_read_images(g, NULL, images, m))
            return false;
        m++;
    }
    if (m > g->r.out->messages && m[-1].role == CHAT_USER)
        g->r.out->message_count = (size_t)(m - g->r.out->messages);
    return true;
}

/* ---- settings ---- */

static bool ollama_read_tool(const struct request_reader *r, const struct request_path *at,
                             const struct json_node *v, struct chat_tool *out)
{
    struct request_path here = {.up = at, .key = "function"};

    *out = part_tool(CHAT_OLLAMA);
    return request_read_function(r, &here, json_get(r->doc, v, "function"), out);
}

static bool ollama_read_stops(const struct request_reader *r, const struct json_node *v)
{
    size_t n = json_is_array(v) ? json_count(r->doc, v) : 1;
    const struct json_node *one = json_is_array(v) ? json_first(r->doc, v) : v;

    if (!v)
        return true;
    r->out->stops = arena_zero(r->a, n, sizeof *r->out->stops);
    for (; one; one = v->kind == JSON_ARRAY ? json_next(r->doc, v, one) : NULL) {
        assert(r->out->stop_count < n);
        if (!json_text(r->doc, one, r->a, &r->out->stops[r->out->stop_count++]))
            return request_fail(r, NULL, "options.stop", "must be a list of strings");
    }
    return true;
}

static const char *ollama_read_check(const struct request_reader *r, const struct json_node *v,
                                     const struct setting *s, str *out, struct setting_room *room)
{
    (void)s;
    (void)room;
    *out = json_raw(r->doc, v);
    return v->kind == JSON_NUMBER ? NULL : "must be a number";
}

static const struct setting ollama_setting_rows[] = {
    SETTING("temperature", temperature, 0, 0, 0),
    SETTING("top_p", top_p, 0, 0, 0),
    SETTING("top_k", top_k, 0, 0, 0),
    SETTING("seed", seed, 0, 0, 0),
    SETTING("num_predict", max_tokens, 0, 0, 0),
    SETTING("frequency_penalty", frequency_penalty, 0, 0, 0),
    SETTING("presence_penalty", presence_penalty, 0, 0, 0),
};
const struct settings ollama_settings = {
    ollama_setting_rows, COUNT_OF(ollama_setting_rows), ollama_read_check, json_get};

static bool ollama_read_options(const struct request_reader *r, const struct json_node *root)
{
    struct chat_request *q = r->out;
    const struct json_node *o = json_get(r->doc, root, "options");

    if (o && o->kind != JSON_OBJECT)
        return request_fail(r, NULL, "options", "must be an object");
    if (!settings_read(r, &(struct request_path){.key = "options"}, o, &ollama_settings))
        return false;
    if (str_starts(q->max_tokens, STR("-"))) /* as many as it likes */
        q->max_tokens = STR("");
    return ollama_read_stops(r, json_get(r->doc, o, "stop"));
}

static bool ollama_read_think(const struct request_reader *r, const struct json_node *root)
{
    const struct json_node *v = json_get(r->doc, root, "think");
    bool on;
    str name;

    if (!v)
        return true;
    if (json_bool(v, &on))
        r->out->level = on ? CHAT_LEVEL_ON : CHAT_LEVEL_NONE;
    else if (!json_text(r->doc, v, r->a, &name) || !chat_level_parse(name, &r->out->level))
        request_defer_level(r, NULL, "think", "must be true, false, low, medium, high or max");
    r->out->thoughts = r->out->level != CHAT_LEVEL_NONE;
    return true;
}

static bool ollama_read_format(const struct request_reader *r, const struct json_node *root)
{
    const struct json_node *v = json_get(r->doc, root, "format");

    if (!v || json_is(r->doc, v, STR("")))
        return true;
    if (json_is(r->doc, v, STR("json"))) {
        r->out->format = CHAT_FORMAT_JSON;
        return true;
    }
    if (v->kind != JSON_OBJECT)
        return request_defer_error(
            r, NULL, "format", "must be \"json\" or a JSON Schema, an object");
    r->out->format = CHAT_FORMAT_SCHEMA;
    r->out->format_schema = json_raw(r->doc, v);
    return true;
}

static bool ollama_read_chat(struct reader *g, const struct json_node *root)
{
    return ollama_read_messages(g, root) && request_read_tools(&g->r, root, ollama_read_tool);
}

/* `said` reads what the two routes have under different names. */
static bool ollama_read_body(const struct json *doc, struct arena *a, struct chat_request *out,
                             bool (*said)(struct reader *, const struct json_node *), struct err *e)
{
    const struct json_node *root = json_root(doc);
    struct reader g = {.r = {.doc = doc, .a = a, .e = e, .out = out, .brackets = true}};

    if (!json_is_object(root))
        return err_input(e, "the body must be a JSON object");
    part_request_init(out, CHAT_OLLAMA, doc);
    out->stream = out->stream_usage = true;
    return request_read_head(&g.r, root) && said(&g, root) && ollama_read_options(&g.r, root) &&
           ollama_read_think(&g.r, root) && ollama_read_format(&g.r, root);
}

bool ollama_read(const struct json *doc, struct arena *a, struct chat_request *out, struct err *e)
{
    return ollama_read_body(doc, a, out, ollama_read_chat, e);
}

bool ollama_read_prompt(const struct json *doc, struct arena *a, struct chat_request *out,
                        struct err *e)
{
    return ollama_read_body(doc, a, out, ollama_read_question, e);
}
