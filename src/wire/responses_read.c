/* responses_read.c - a request of the Responses API as a chat request.
 *
 * The input's items become messages in their order: what the model said and did in a row (messages
 * of the assistant, reasoning, calls, tools that the host ran) is one assistant message, outputs of
 * tools in a row are one tool message.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses.h"

#define ITEMS_MAX 100000

struct reader {
    struct asked r;
    size_t message_cap;
    struct parts parts; /* of the message at hand */
};

static struct chat_part *part_add(struct reader *g, enum chat_part_kind kind)
{
    return parts_add(&g->parts, g->r.a, kind, CHAT_RESPONSES);
}

static bool need_text(struct reader *g, const struct asked_at *at, const struct json_node *v,
                      const char *key, str *out)
{
    return json_text(g->r.doc, json_find(g->r.doc, v, str_c(key)), g->r.a, out) ||
           asked_bad(&g->r, at, key, "must be a string");
}

/* ---- messages ---- */

static void message_add(struct reader *g, enum chat_role role)
{
    struct chat_request *q = g->r.out;

    if (q->message_count == g->message_cap) {
        size_t cap = g->message_cap ? 2 * g->message_cap : 8;
        struct chat_message *m = arena_zero(g->r.a, cap, sizeof *m);

        if (q->message_count)
            memcpy(m, q->messages, q->message_count * sizeof *m);
        q->messages = m;
        g->message_cap = cap;
    }
    q->messages[q->message_count++] = (struct chat_message){.role = role, .name = STR("")};
    g->parts = (struct parts){0};
}

static void message_save(struct reader *g)
{
    struct chat_request *q = g->r.out;

    if (q->message_count) {
        q->messages[q->message_count - 1].parts = g->parts.p;
        q->messages[q->message_count - 1].part_count = g->parts.n;
    }
}

/* What the same speaker says goes on in the message at hand. */
static void speak(struct reader *g, enum chat_role role)
{
    struct chat_request *q = g->r.out;

    if (q->message_count && q->messages[q->message_count - 1].role == role &&
        (role == CHAT_ASSISTANT || role == CHAT_TOOL))
        return;
    message_save(g);
    message_add(g, role);
}

static void opaque(struct reader *g, const struct json_node *v, struct chat_part *p)
{
    p->json = json_raw(g->r.doc, v);
    p->name = member_text(g->r.doc, v, "type", g->r.a);
}

static bool read_image(struct reader *g, const struct asked_at *at, const struct json_node *v)
{
    const struct json_node *url = member_find(g->r.doc, v, "image_url"), *in = v;
    struct chat_part *p;
    str text;

    if (url && url->kind == JSON_OBJECT) { /* as Chat Completions has it */
        in = url;
        url = member_find(g->r.doc, url, "url");
    }
    if (json_text(g->r.doc, url, g->r.a, &text)) {
        p = part_add(g, CHAT_PART_IMAGE);
        part_set_url(text, p);
        p->name = member_text(g->r.doc, in, "detail", g->r.a);
        return true;
    }
    if (!member_find(g->r.doc, v, "file_id"))
        return asked_bad(&g->r, at, NULL, "an input_image needs image_url or file_id");
    opaque(g, v, part_add(g, CHAT_PART_OPAQUE));
    return true;
}

static bool read_file(struct reader *g, const struct asked_at *at, const struct json_node *v)
{
    str data = member_text(g->r.doc, v, "file_data", g->r.a),
        url = member_text(g->r.doc, v, "file_url", g->r.a);
    struct chat_part *p;

    if (!data.n && !url.n) {
        if (!member_find(g->r.doc, v, "file_id"))
            return asked_bad(&g->r, at, NULL, "an input_file needs file_data, file_url or file_id");
        opaque(g, v, part_add(g, CHAT_PART_OPAQUE));
        return true;
    }
    p = part_add(g, CHAT_PART_FILE);
    p->name = member_text(g->r.doc, v, "filename", g->r.a);
    if (data.n && !str_starts(data, STR("data:")))
        p->data = data;
    else
        part_set_url(data.n ? data : url, p);
    return true;
}

/* As Chat Completions has it. */
static bool read_audio(struct reader *g, const struct asked_at *at, const struct json_node *v)
{
    const struct json_node *box = member_find(g->r.doc, v, "input_audio");
    str data = member_text(g->r.doc, box, "data", g->r.a);
    str format = member_text(g->r.doc, box, "format", g->r.a);
    struct chat_part *p;

    if (!data.n || !format.n)
        return asked_bad(&g->r, at, "input_audio", "must be an object with data and format");
    p = part_add(g, CHAT_PART_FILE);
    p->data = data;
    p->mime = str_eq(format, STR("mp3")) ? STR("audio/mpeg")
                                         : arena_printf(g->r.a, "audio/" STR_FMT, STR_ARG(format));
    return true;
}

/* Parts that are text, and where it stands. */
static const char *text_key(const struct json *doc, const struct json_node *type)
{
    static const char *const types[] = {
        "input_text", "output_text", "text", "summary_text", "reasoning_text"};

    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (json_is(doc, type, str_c(types[i])))
            return "text";
    return json_is(doc, type, STR("refusal")) ? "refusal" : NULL;
}

static bool read_part(struct reader *g, const struct asked_at *at, const struct json_node *v)
{
    const struct json_node *type = member_find(g->r.doc, v, "type");
    const char *key = text_key(g->r.doc, type);
    str text;

    if (v->kind != JSON_OBJECT)
        return asked_bad(&g->r, at, NULL, "must be an object");
    if (!type || type->kind != JSON_STRING)
        return asked_bad(&g->r, at, NULL, "needs a type");
    if (json_is(g->r.doc, type, STR("input_image")) || json_is(g->r.doc, type, STR("image_url")))
        return read_image(g, at, v);
    if (json_is(g->r.doc, type, STR("input_file")))
        return read_file(g, at, v);
    if (json_is(g->r.doc, type, STR("input_audio")))
        return read_audio(g, at, v);
    if (!key) {
        opaque(g, v, part_add(g, CHAT_PART_OPAQUE));
        return true;
    }
    if (!need_text(g, at, v, key, &text))
        return false;
    part_add(g, strcmp(key, "refusal") == 0 ? CHAT_PART_REFUSAL : CHAT_PART_TEXT)->text = text;
    return true;
}

/* A string, or a list of parts: a member of v. */
static bool read_content(struct reader *g, const struct asked_at *at, const struct json_node *v,
                         const char *key)
{
    const struct json_node *list = member_find(g->r.doc, v, key);
    struct asked_at here = {.up = at, .key = key}, item = {.up = &here};
    str text;

    if (json_text(g->r.doc, list, g->r.a, &text)) {
        part_add(g, CHAT_PART_TEXT)->text = text;
        return true;
    }
    if (!list || list->kind != JSON_ARRAY)
        return asked_bad(&g->r, &here, NULL, "must be a string or a list of parts");
    for (const struct json_node *p = json_first(g->r.doc, list); p;
         p = json_next(g->r.doc, list, p), item.index++)
        if (!read_part(g, &item, p))
            return false;
    return true;
}

static bool read_message(struct reader *g, const struct asked_at *at, const struct json_node *v)
{
    static const struct word roles[] = {{"user", CHAT_USER},
                                        {"assistant", CHAT_ASSISTANT},
                                        {"system", CHAT_SYSTEM},
                                        {"developer", CHAT_SYSTEM}};
    int role = word_is(roles, COUNT_OF(roles), member_text(g->r.doc, v, "role", g->r.a), -1);

    if (role < 0)
        return asked_bad(&g->r, at, "role", "must be user, assistant, system or developer");
    speak(g, (enum chat_role)role);
    return read_content(g, at, v, "content");
}

/* ---- other items ---- */

static bool add_call(struct reader *g, const struct asked_at *at, const struct json_node *v,
                     str arguments)
{
    struct chat_part *p;
    str id, name;

    if (!need_text(g, at, v, "call_id", &id) || !need_text(g, at, v, "name", &name))
        return false;
    speak(g, CHAT_ASSISTANT);
    p = part_add(g, CHAT_PART_TOOL_CALL);
    p->id = id;
    p->name = name;
    p->json = arguments;
    return true;
}

static bool read_call(struct reader *g, const struct asked_at *at, const struct json_node *v)
{
    str arguments = member_text(g->r.doc, v, "arguments", g->r.a);

    return add_call(g, at, v, member_is_object(arguments) ? arguments : STR("{}"));
}

static bool read_custom(struct reader *g, const struct asked_at *at, const struct json_node *v)
{
    const struct json_node *input = member_find(g->r.doc, v, "input");

    return add_call(g, at, v, part_custom_arguments(g->r.doc, input, g->r.a));
}

static bool read_output(struct reader *g, const struct asked_at *at, const struct json_node *v)
{
    const struct chat_request *q = g->r.out;
    struct reader inner = {.r = g->r};
    struct chat_part *p;
    str id;

    if (!need_text(g, at, v, "call_id", &id) || !read_content(&inner, at, v, "output"))
        return false;
    speak(g, CHAT_TOOL);
    p = part_add(g, CHAT_PART_TOOL_RESULT);
    p->id = id;
    p->name = part_call_name(q, q->message_count - 1, id);
    p->parts = inner.parts.p;
    p->part_count = inner.parts.n;
    p->is_error = member_is(g->r.doc, v, "status", "incomplete");
    return true;
}

static void join_texts(struct reader *g, const struct json_node *list, struct buf *out)
{
    if (!list || list->kind != JSON_ARRAY)
        return;
    for (const struct json_node *p = json_first(g->r.doc, list); p;
         p = json_next(g->r.doc, list, p)) {
        str text = member_text(g->r.doc, p, "text", g->r.a);

        if (text.n && out->n)
            buf_add(out, STR(RESPONSES_JOINT));
        buf_add(out, text);
    }
}

static void read_reasoning(struct reader *g, const struct json_node *v)
{
    struct chat_part *p;
    struct buf text;

    buf_init(&text, JSON_SIZE_MAX);
    join_texts(g, member_find(g->r.doc, v, "content"), &text);
    if (!text.n)
        join_texts(g, member_find(g->r.doc, v, "summary"), &text);
    speak(g, CHAT_ASSISTANT);
    p = part_add(g, CHAT_PART_REASONING);
    p->text = arena_dup(g->r.a, buf_str(&text));
    p->signature = json_raw(g->r.doc, v);
    buf_release(&text);
}

/* Outputs of tools that the client ran belong to its side; the rest the model did itself. */
static void read_other(struct reader *g, const struct json_node *v)
{
    str type = member_text(g->r.doc, v, "type", g->r.a);
    bool ours = str_ends(type, STR("_output")) || str_ends(type, STR("_response"));

    speak(g, ours ? CHAT_TOOL : CHAT_ASSISTANT);
    opaque(g, v, part_add(g, CHAT_PART_OPAQUE));
}

static bool read_item(struct reader *g, const struct asked_at *at, const struct json_node *v)
{
    const struct json_node *type = member_find(g->r.doc, v, "type");

    if (v->kind != JSON_OBJECT)
        return asked_bad(&g->r, at, NULL, "must be an object");
    if (json_is(g->r.doc, type, STR("message")) || (!type && member_find(g->r.doc, v, "role")))
        return read_message(g, at, v);
    if (!type || type->kind != JSON_STRING)
        return asked_bad(&g->r, at, NULL, "needs a type or a role");
    if (json_is(g->r.doc, type, STR("function_call")))
        return read_call(g, at, v);
    if (json_is(g->r.doc, type, STR("custom_tool_call")))
        return read_custom(g, at, v);
    if (json_is(g->r.doc, type, STR("function_call_output")) ||
        json_is(g->r.doc, type, STR("custom_tool_call_output")))
        return read_output(g, at, v);
    if (json_is(g->r.doc, type, STR("reasoning")))
        read_reasoning(g, v);
    else
        read_other(g, v);
    return true;
}

static bool read_input(struct reader *g, const struct json_node *root)
{
    const struct json_node *input = member_find(g->r.doc, root, "input");
    str text = member_text(g->r.doc, root, "instructions", g->r.a);
    struct asked_at here = {.key = "input"}, item = {.up = &here};

    if (text.n) {
        speak(g, CHAT_SYSTEM);
        part_add(g, CHAT_PART_TEXT)->text = text;
    }
    if (!input) /* a prompt or an earlier response may say it all */
        return member_find(g->r.doc, root, "prompt") ||
               member_find(g->r.doc, root, "previous_response_id") ||
               member_find(g->r.doc, root, "conversation") ||
               asked_bad(&g->r, &here, NULL, "is missing: give a string or a list of items");
    if (json_text(g->r.doc, input, g->r.a, &text)) {
        speak(g, CHAT_USER);
        part_add(g, CHAT_PART_TEXT)->text = text;
        return true;
    }
    if (input->kind != JSON_ARRAY)
        return asked_bad(&g->r, &here, NULL, "must be a string or a list of items");
    for (const struct json_node *v = json_first(g->r.doc, input); v;
         v = json_next(g->r.doc, input, v), item.index++) {
        if (item.index == ITEMS_MAX)
            return asked_bad(&g->r, &here, NULL, "has too many items");
        if (!read_item(g, &item, v))
            return false;
        message_save(g);
    }
    return true;
}

bool responses_read(const struct json *doc, struct arena *a, struct chat_request *out,
                    struct err *e)
{
    const struct json_node *root = json_root(doc);
    struct reader g = {.r = {.doc = doc, .a = a, .e = e, .out = out, .brackets = true}};

    if (!root || root->kind != JSON_OBJECT)
        return err_set(e, ERR_INPUT, "the body must be a JSON object");
    part_request_init(out, CHAT_RESPONSES, doc);
    if (!responses_read_settings(&g.r, root) || !read_input(&g, root))
        return false;
    message_save(&g);
    return true;
}
