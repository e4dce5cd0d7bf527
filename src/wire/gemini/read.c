/* read.c - a body of generateContent, checked and read.
 *
 * The model and whether the reply is streamed are in the address, not in the body: the caller sets
 * them. Calls may have no id here: they get one by their order, and results find theirs by name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/gemini/gemini.h"

#define LOOK_MAX 512 /* calls without a result that one is looked for in */

/* A reading, and the calls that wait for their results. */
struct reading {
    struct request_reader r;
    struct chat_request *out;
    size_t message_max;
    struct chat_part *parts; /* of all contents, as they come */
    size_t part_count;
    bool *in_pieces; /* by message: several contents */
    struct {
        str id, name;
        bool answered;
    } * calls;
    size_t call_count, call_max;
    size_t answered; /* those before it all are */
};

static bool gemini_read_text_member(struct reading *g, const struct request_path *at,
                                    const struct json_node *v, const char *camel, str *out)
{
    const struct json_node *m = gemini_find(g->r.doc, v, camel);

    if (m && !json_text(g->r.doc, m, g->r.a, out))
        return request_fail(&g->r, at, camel, "should be a string");
    return true;
}

static bool gemini_read_flag_member(struct reading *g, const struct request_path *at,
                                    const struct json_node *v, const char *camel, bool *out)
{
    const struct json_node *m = gemini_find(g->r.doc, v, camel);

    if (m && !json_bool(m, out))
        return request_fail(&g->r, at, camel, "should be true or false");
    return true;
}

/* ---- parts ---- */

static bool gemini_read_media(struct reading *g, const struct request_path *at,
                              const struct json_node *v, bool inline_data, struct chat_part *out)
{
    struct request_path here = {.up = at, .key = inline_data ? "inlineData" : "fileData"};

    if (v->kind != JSON_OBJECT)
        return request_fail(&g->r, &here, NULL, "should be an object");
    if (!gemini_read_text_member(g, &here, v, "mimeType", &out->mime) ||
        !gemini_read_text_member(g, &here, v, "displayName", &out->name) ||
        !gemini_read_text_member(
            g, &here, v, inline_data ? "data" : "fileUri", inline_data ? &out->data : &out->url))
        return false;
    if (out->data.n == 0 && out->url.n == 0)
        return request_fail(&g->r, &here, inline_data ? "data" : "fileUri", "is missing");
    assert(!out->data.n != !out->url.n); /* one of the two was read */
    out->kind = str_starts(out->mime, STR("image/")) ? CHAT_PART_IMAGE : CHAT_PART_FILE;
    return true;
}

static bool gemini_read_call(struct reading *g, const struct request_path *at,
                             const struct json_node *v, struct chat_part *out)
{
    struct request_path here = {.up = at, .key = "functionCall"};
    const struct json_node *args = gemini_find(g->r.doc, v, "args");

    out->kind = CHAT_PART_TOOL_CALL;
    if (!gemini_read_text_member(g, &here, v, "id", &out->id) ||
        !gemini_read_text_member(g, &here, v, "name", &out->name))
        return false;
    if (out->name.n == 0)
        return request_fail(&g->r, &here, "name", "is missing");
    if (args && args->kind != JSON_OBJECT)
        return request_fail(&g->r, &here, "args", "should be an object");
    if (out->id.n == 0)
        out->id = arena_printf(g->r.a, "call_%zu", g->call_count);
    out->json = args ? json_raw(g->r.doc, args) : STR("{}");
    assert(g->call_count < g->call_max);
    g->calls[g->call_count].id = out->id;
    g->calls[g->call_count++].name = out->name;
    return true;
}

/* The call a result without an id belongs to: the first of its name that has none yet. */
static str gemini_read_call_for(struct reading *g, str id, str name)
{
    assert(g->answered <= g->call_count && g->call_count <= g->call_max);
    while (g->answered < g->call_count && g->calls[g->answered].answered)
        g->answered++;
    for (size_t i = g->answered; i < g->call_count && i - g->answered < LOOK_MAX; i++)
        if (!g->calls[i].answered &&
            (id.n ? str_eq(g->calls[i].id, id) : str_eq(g->calls[i].name, name))) {
            g->calls[i].answered = true;
            return g->calls[i].id;
        }
    return id.n ? id : name;
}

/* {"output": "text"} becomes the text; any other value stays JSON. */
static str gemini_read_result_text(struct reading *g, const struct json_node *response,
                                   bool *is_error)
{
    static const char *const keys[] = {"output", "result", "error"};
    str text;

    for (size_t i = 0; json_count(g->r.doc, response) == 1 && i < COUNT_OF(keys); i++)
        if (json_text(g->r.doc, json_find(g->r.doc, response, str_c(keys[i])), g->r.a, &text)) {
            *is_error = i == 2;
            return text;
        }
    return json_raw(g->r.doc, response);
}

/* Images and files beside the text of a tool. */
static bool gemini_read_result_media(struct reading *g, const struct request_path *at,
                                     const struct json_node *list, struct chat_part *result)
{
    struct request_path here = {.up = at, .key = "parts"};
    const struct json *doc = g->r.doc;
    size_t n = 0;

    assert(result->parts && result->part_count <= 1);
    for (const struct json_node *p = json_first(doc, list); p; p = json_next(doc, list, p), n++) {
        struct request_path item = {.up = &here, .index = n};
        struct chat_part *out = &result->parts[result->part_count++];
        const struct json_node *m = gemini_find(doc, p, "inlineData");
        bool inline_data = m != NULL;

        *out = part_new(CHAT_PART_OPAQUE, CHAT_GEMINI);
        out->json = json_raw(doc, p);
        if (!m)
            m = gemini_find(doc, p, "fileData");
        if (m && !gemini_read_media(g, &item, m, inline_data, out))
            return false;
    }
    return true;
}

static bool gemini_read_response(struct reading *g, const struct request_path *at,
                                 const struct json_node *v, struct chat_part *out)
{
    struct request_path here = {.up = at, .key = "functionResponse"};
    const struct json_node *response = gemini_find(g->r.doc, v, "response");
    const struct json_node *media = gemini_find(g->r.doc, v, "parts");
    str id = STR("");

    out->kind = CHAT_PART_TOOL_RESULT;
    if (!gemini_read_text_member(g, &here, v, "id", &id) ||
        !gemini_read_text_member(g, &here, v, "name", &out->name))
        return false;
    if (response && response->kind != JSON_OBJECT)
        return request_fail(&g->r, &here, "response", "should be an object");
    if (media && media->kind != JSON_ARRAY)
        return request_fail(&g->r, &here, "parts", "should be a list");
    out->id = gemini_read_call_for(g, id, out->name);
    if (!request_alloc(
            &g->r, (media ? json_count(g->r.doc, media) : 0) + 1, sizeof *out->parts, &out->parts))
        return false;
    if (response) {
        *out->parts = part_new(CHAT_PART_TEXT, CHAT_OPENAI);
        out->part_count = 1;
        out->parts->text = gemini_read_result_text(g, response, &out->is_error);
    }
    return !media || gemini_read_result_media(g, &here, media, out);
}

static bool gemini_read_text(struct reading *g, const struct request_path *at,
                             const struct json_node *v, struct chat_part *out)
{
    bool thought = false;

    if (!gemini_read_flag_member(g, at, v, "thought", &thought) ||
        !gemini_read_text_member(g, at, v, "text", &out->text))
        return false;
    out->kind = thought ? CHAT_PART_REASONING : CHAT_PART_TEXT;
    return true;
}

static bool gemini_read_part(struct reading *g, const struct request_path *at,
                             const struct json_node *v, struct chat_part *out)
{
    const struct json *doc = g->r.doc;
    const struct json_node *m;

    *out = part_new(CHAT_PART_TEXT, CHAT_GEMINI);
    if (v->kind != JSON_OBJECT)
        return request_fail(&g->r, at, NULL, "should be an object");
    if (!gemini_read_text_member(g, at, v, "thoughtSignature", &out->signature))
        return false;
    if (gemini_find(doc, v, "text"))
        return gemini_read_text(g, at, v, out);
    if ((m = gemini_find(doc, v, "functionCall")))
        return gemini_read_call(g, at, m, out);
    if ((m = gemini_find(doc, v, "functionResponse")))
        return gemini_read_response(g, at, m, out);
    if ((m = gemini_find(doc, v, "inlineData")))
        return gemini_read_media(g, at, m, true, out);
    if ((m = gemini_find(doc, v, "fileData")) && !gemini_find(doc, v, "videoMetadata"))
        return gemini_read_media(g, at, m, false, out);
    *out = part_new(CHAT_PART_OPAQUE, CHAT_GEMINI);
    out->json = json_raw(doc, v);
    return true;
}

/* A single part need not be in a list. */
static size_t gemini_read_count_parts(const struct json *doc, const struct json_node *list)
{
    return json_is_array(list) ? json_count(doc, list) : list != NULL;
}

/* The array has room for them after the parts read so far. */
static bool gemini_read_parts(struct reading *g, const struct request_path *at,
                              const struct json_node *list, struct chat_part **out, size_t *count)
{
    struct request_path here = {.up = at, .key = "parts"};
    size_t n = 0;

    *out = g->parts + g->part_count;
    *count = gemini_read_count_parts(g->r.doc, list);
    g->part_count += *count;
    assert(g->part_count <= g->message_max); /* the room was counted for all contents */
    if (!list || list->kind == JSON_OBJECT)
        return !list || gemini_read_part(g, &here, list, *out);
    if (list->kind != JSON_ARRAY)
        return request_fail(&g->r, &here, NULL, "should be a list");
    for (const struct json_node *p = json_first(g->r.doc, list); p;
         p = json_next(g->r.doc, list, p), n++) {
        struct request_path item = {.up = &here, .index = n};

        if (!gemini_read_part(g, &item, p, &(*out)[n]))
            return false;
    }
    return true;
}

/* ---- contents ---- */

/* A program that stores streamed pieces sends each piece of a turn as a separate content. */
static bool gemini_read_goes_on(const struct reading *g, enum chat_role role,
                                const struct chat_part *parts, size_t n)
{
    const struct chat_request *q = g->out;
    const struct chat_message *last = q->message_count ? &q->messages[q->message_count - 1] : NULL;

    if (role != CHAT_ASSISTANT || !last || last->role != role ||
        last->parts + last->part_count != parts)
        return false;
    for (size_t i = 0; i < n; i++)
        if (parts[i].kind == CHAT_PART_TOOL_RESULT)
            return false;
    return true;
}

/* Results of tools become separate messages. */
static void gemini_read_add_runs(struct reading *g, enum chat_role role, struct chat_part *parts,
                                 size_t n)
{
    struct chat_request *q = g->out;

    if (gemini_read_goes_on(g, role, parts, n)) {
        q->messages[q->message_count - 1].part_count += n;
        g->in_pieces[q->message_count - 1] = true;
        return;
    }
    q->message_count += parts_to_messages(parts, n, role, &q->messages[q->message_count]);
    assert(q->message_count <= g->message_max);
}

/* The pieces of one thought: up to its signature, or to the first other part. */
static size_t gemini_read_thought_size(const struct chat_message *m, size_t at, size_t *bytes)
{
    size_t n = 0;

    assert(at < m->part_count);
    *bytes = 0;
    while (at + n < m->part_count && m->parts[at + n].kind == CHAT_PART_REASONING) {
        *bytes += m->parts[at + n].text.n;
        if (m->parts[at + n++].signature.n)
            break;
    }
    return n;
}

static bool gemini_read_join_thoughts(struct reading *g, struct chat_message *m)
{
    size_t kept = 0, bytes;

    for (size_t i = 0, n; i < m->part_count; i += n ? n : 1, kept++) {
        str whole = m->parts[i].text;
        char *end = NULL;

        assert(kept <= i); /* parts only move to the front */
        n = gemini_read_thought_size(m, i, &bytes);
        if (n > 1) {
            if (!request_alloc(&g->r, bytes, 1, &end))
                return false;
            whole = (str){end, bytes};
        }
        for (size_t k = i; end && k < i + n; k++) {
            memcpy(end, m->parts[k].text.p, m->parts[k].text.n);
            end += m->parts[k].text.n;
        }
        m->parts[kept] = m->parts[n ? i + n - 1 : i];
        m->parts[kept].text = whole;
    }
    m->part_count = kept;
    return true;
}

static bool gemini_read_content(struct reading *g, const struct request_path *at,
                                const struct json_node *v)
{
    const struct json_node *role = gemini_find(g->r.doc, v, "role");
    struct chat_part *parts = NULL;
    enum chat_role who = CHAT_USER;
    size_t n = 0;

    if (v->kind != JSON_OBJECT)
        return request_fail(&g->r, at, NULL, "should be an object");
    if (json_is(g->r.doc, role, STR("model")))
        who = CHAT_ASSISTANT;
    else if (json_is(g->r.doc, role, STR("system")))
        who = CHAT_SYSTEM;
    else if (role && !json_is(g->r.doc, role, STR("user")) &&
             !json_is(g->r.doc, role, STR("function")) && !json_is(g->r.doc, role, STR("")))
        return request_fail(&g->r, at, "role", "should be 'user' or 'model'");
    if (!gemini_read_parts(g, at, gemini_find(g->r.doc, v, "parts"), &parts, &n))
        return false;
    gemini_read_add_runs(g, who, parts, n);
    return true;
}

/* A content that cannot be read is left to Gemini. */
static bool gemini_read_one_content(struct reading *g, const struct request_path *at,
                                    const struct json_node *v)
{
    struct chat_request *q = g->out;
    struct chat_part *part;

    if (gemini_read_content(g, at, v))
        return true;
    if (!request_defer_failure(&g->r))
        return false;
    part = &g->parts[g->part_count++];
    assert(g->part_count <= g->message_max && q->message_count < g->message_max);
    *part = part_new(CHAT_PART_OPAQUE, CHAT_GEMINI);
    part->json = json_raw(g->r.doc, v);
    q->messages[q->message_count++] =
        (struct chat_message){.role = CHAT_USER, .name = STR(""), .parts = part, .part_count = 1};
    return true;
}

static bool gemini_read_system(struct reading *g, const struct json_node *root)
{
    struct request_path here = {.key = "systemInstruction"};
    const struct json_node *v = gemini_find(g->r.doc, root, "systemInstruction");
    struct chat_part *parts = NULL;
    size_t n = 0;

    if (!v)
        return true;
    if (v->kind == JSON_STRING) {
        parts = g->parts;
        *parts = part_new(CHAT_PART_TEXT, CHAT_OPENAI);
        g->part_count = n = 1;
        if (!json_text(g->r.doc, v, g->r.a, &parts->text))
            return false;
    } else if (v->kind != JSON_OBJECT) {
        return request_fail(&g->r, &here, NULL, "should be an object");
    } else if (!gemini_read_parts(g, &here, gemini_find(g->r.doc, v, "parts"), &parts, &n)) {
        return false;
    }
    if (n)
        gemini_read_add_runs(g, CHAT_SYSTEM, parts, n);
    return true;
}

/* Room for every part to be a message and a call, and for every content to be left as one part. */
static bool gemini_read_make_room(struct reading *g, const struct json_node *contents)
{
    size_t n = 16;

    assert(contents && contents->kind >= JSON_ARRAY);
    JSON_FOREACH(c, g->r.doc, contents)
        n += 1 + gemini_read_count_parts(g->r.doc, gemini_find(g->r.doc, c, "parts"));
    if (contents->kind == JSON_OBJECT)
        n += gemini_read_count_parts(g->r.doc, gemini_find(g->r.doc, contents, "parts"));
    n += gemini_read_count_parts(
        g->r.doc,
        gemini_find(
            g->r.doc, gemini_find(g->r.doc, json_root(g->r.doc), "systemInstruction"), "parts"));
    g->message_max = g->call_max = n;
    return request_alloc(&g->r, n, sizeof *g->out->messages, &g->out->messages) &&
           request_alloc(&g->r, n, sizeof *g->parts, &g->parts) &&
           request_alloc(&g->r, n, sizeof *g->in_pieces, &g->in_pieces) &&
           request_alloc(&g->r, n, sizeof *g->calls, &g->calls);
}

static bool gemini_read_contents(struct reading *g, const struct json_node *root)
{
    struct request_path here = {.key = "contents"};
    const struct json_node *contents = gemini_find(g->r.doc, root, "contents");
    size_t i = 0;

    if (!contents)
        return request_fail(&g->r, NULL, "contents", "contents is not specified");
    if (contents->kind != JSON_ARRAY && contents->kind != JSON_OBJECT)
        return request_fail(&g->r, &here, NULL, "should be a list");
    if (contents->kind == JSON_ARRAY && !json_first(g->r.doc, contents))
        return request_fail(&g->r, NULL, "contents", "contents is not specified");
    if (!gemini_read_make_room(g, contents) || !gemini_read_system(g, root))
        return false;
    if (contents->kind == JSON_OBJECT)
        return gemini_read_one_content(g, &here, contents);
    for (const struct json_node *c = json_first(g->r.doc, contents); c;
         c = json_next(g->r.doc, contents, c), i++) {
        struct request_path item = {.up = &here, .index = i};

        if (!gemini_read_one_content(g, &item, c))
            return false;
    }
    for (i = 0; i < g->out->message_count; i++)
        if (g->in_pieces[i] && !gemini_read_join_thoughts(g, &g->out->messages[i]))
            return false;
    return true;
}

bool gemini_read(const struct json *doc, struct arena *a, struct chat_request *out, struct err *e)
{
    const struct json_node *root = json_root(doc);
    struct chat_request q;
    struct reading g = {.r = {.doc = doc, .a = a, .e = e, .out = &q}, .out = &q};

    part_request_init(&q, CHAT_GEMINI, doc);
    if (!json_is_object(root))
        return err_input(e, "the body should be a JSON object");
    if (!gemini_read_contents(&g, root) || !gemini_read_tools(&g.r, root, &q) ||
        !gemini_read_config(&g.r, root, &q))
        return false;
    *out = q;
    return true;
}
