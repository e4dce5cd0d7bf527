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
#define WHERE_SIZE 64 /* of an item's path; what is in it has a few bytes more */
#define PATH_SIZE (WHERE_SIZE + 32)
#define CALLS_BACK_MAX 1024

struct reader {
    const struct json *doc;
    struct arena *arena;
    struct chat_request *out;
    struct err *e;
    size_t message_cap;
    struct chat_part *parts; /* of the message at hand */
    size_t part_count, part_cap;
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
    return member_text(r->doc, v, key, r->arena);
}

static bool need_text(struct reader *r, const struct json_node *v, const char *where,
                      const char *key, str *out)
{
    char path[PATH_SIZE + 64];

    if (json_text(r->doc, json_find(r->doc, v, str_c(key)), r->arena, out))
        return true;
    snprintf(path, sizeof path, "%s.%s", where, key);
    return bad(r, path, "must be a string");
}

static bool is(struct reader *r, const struct json_node *v, const char *text)
{
    return json_is(r->doc, v, str_c(text));
}

/* ---- messages ---- */

static struct chat_part *part_add(struct reader *r, enum chat_part_kind kind)
{
    static const str none = STR_INIT("");

    if (r->part_count == r->part_cap) {
        size_t cap = r->part_cap ? 2 * r->part_cap : 4;
        struct chat_part *p = arena_zero(r->arena, cap, sizeof *p);

        if (r->part_count)
            memcpy(p, r->parts, r->part_count * sizeof *p);
        r->parts = p;
        r->part_cap = cap;
    }
    r->parts[r->part_count] = (struct chat_part){.kind = kind,
                                                 .dialect = CHAT_RESPONSES,
                                                 .text = none,
                                                 .signature = none,
                                                 .id = none,
                                                 .name = none,
                                                 .json = none,
                                                 .mime = none,
                                                 .url = none,
                                                 .data = none};
    return &r->parts[r->part_count++];
}

static void message_add(struct reader *r, enum chat_role role)
{
    struct chat_request *q = r->out;

    if (q->message_count == r->message_cap) {
        size_t cap = r->message_cap ? 2 * r->message_cap : 8;
        struct chat_message *m = arena_zero(r->arena, cap, sizeof *m);

        if (q->message_count)
            memcpy(m, q->messages, q->message_count * sizeof *m);
        q->messages = m;
        r->message_cap = cap;
    }
    q->messages[q->message_count++] = (struct chat_message){.role = role, .name = STR("")};
    r->parts = NULL;
    r->part_count = r->part_cap = 0;
}

static void message_save(struct reader *r)
{
    struct chat_request *q = r->out;

    if (q->message_count) {
        q->messages[q->message_count - 1].parts = r->parts;
        q->messages[q->message_count - 1].part_count = r->part_count;
    }
}

/* What the same speaker says goes on in the message at hand. */
static void speak(struct reader *r, enum chat_role role)
{
    struct chat_request *q = r->out;

    if (q->message_count && q->messages[q->message_count - 1].role == role &&
        (role == CHAT_ASSISTANT || role == CHAT_TOOL))
        return;
    message_save(r);
    message_add(r, role);
}

static void opaque(struct reader *r, const struct json_node *v, struct chat_part *p)
{
    p->json = json_raw(r->doc, v);
    p->name = text_of(r, v, "type");
}

/* "data:image/png;base64,AAAA" is data; all else is an address. */
static void read_url(str url, struct chat_part *p)
{
    size_t comma = str_find(url, STR(","));
    str head = str_slice(url, 5, comma == STR_NONE ? 5 : comma);

    if (!str_starts(url, STR("data:")) || comma == STR_NONE || !str_ends(head, STR(";base64"))) {
        p->url = url;
        return;
    }
    p->mime = str_slice(head, 0, head.n - 7);
    p->data = str_slice(url, comma + 1, url.n);
}

static bool read_image(struct reader *r, const struct json_node *v, const char *where)
{
    const struct json_node *url = get(r, v, "image_url");
    str text;

    if (url && url->kind == JSON_OBJECT) /* as Chat Completions has it */
        url = get(r, url, "url");
    if (json_text(r->doc, url, r->arena, &text)) {
        read_url(text, part_add(r, CHAT_PART_IMAGE));
        return true;
    }
    if (!get(r, v, "file_id"))
        return bad(r, where, "an input_image needs image_url or file_id");
    opaque(r, v, part_add(r, CHAT_PART_OPAQUE));
    return true;
}

static bool read_file(struct reader *r, const struct json_node *v, const char *where)
{
    str data = text_of(r, v, "file_data"), url = text_of(r, v, "file_url");
    struct chat_part *p;

    if (!data.n && !url.n) {
        if (!get(r, v, "file_id"))
            return bad(r, where, "an input_file needs file_data, file_url or file_id");
        opaque(r, v, part_add(r, CHAT_PART_OPAQUE));
        return true;
    }
    p = part_add(r, CHAT_PART_FILE);
    p->name = text_of(r, v, "filename");
    if (data.n && !str_starts(data, STR("data:")))
        p->data = data;
    else
        read_url(data.n ? data : url, p);
    return true;
}

static bool read_part(struct reader *r, const struct json_node *v, const char *where)
{
    const struct json_node *type = get(r, v, "type");
    bool refusal = is(r, type, "refusal");
    str text;

    if (v->kind != JSON_OBJECT)
        return bad(r, where, "must be an object");
    if (!type || type->kind != JSON_STRING)
        return bad(r, where, "needs a type");
    if (is(r, type, "input_image") || is(r, type, "image_url"))
        return read_image(r, v, where);
    if (is(r, type, "input_file"))
        return read_file(r, v, where);
    if (!refusal && !is(r, type, "input_text") && !is(r, type, "output_text") &&
        !is(r, type, "text") && !is(r, type, "summary_text") && !is(r, type, "reasoning_text")) {
        opaque(r, v, part_add(r, CHAT_PART_OPAQUE));
        return true;
    }
    if (!need_text(r, v, where, refusal ? "refusal" : "text", &text))
        return false;
    part_add(r, refusal ? CHAT_PART_REFUSAL : CHAT_PART_TEXT)->text = text;
    return true;
}

/* A string, or a list of parts. */
static bool read_content(struct reader *r, const struct json_node *v, const char *where)
{
    char path[PATH_SIZE + 32];
    size_t i = 0;
    str text;

    if (json_text(r->doc, v, r->arena, &text)) {
        part_add(r, CHAT_PART_TEXT)->text = text;
        return true;
    }
    if (!v || v->kind != JSON_ARRAY)
        return bad(r, where, "must be a string or a list of parts");
    for (const struct json_node *p = json_first(r->doc, v); p; p = json_next(r->doc, v, p)) {
        snprintf(path, sizeof path, "%s[%zu]", where, i++);
        if (!read_part(r, p, path))
            return false;
    }
    return true;
}

static bool read_message(struct reader *r, const struct json_node *v, const char *where)
{
    static const struct {
        const char *name;
        enum chat_role role;
    } roles[] = {{"user", CHAT_USER},
                 {"assistant", CHAT_ASSISTANT},
                 {"system", CHAT_SYSTEM},
                 {"developer", CHAT_SYSTEM}};
    const struct json_node *role = get(r, v, "role");
    char path[PATH_SIZE];

    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (is(r, role, roles[i].name)) {
            speak(r, roles[i].role);
            snprintf(path, sizeof path, "%s.content", where);
            return read_content(r, get(r, v, "content"), path);
        }
    snprintf(path, sizeof path, "%s.role", where);
    return bad(r, path, "must be user, assistant, system or developer");
}

/* ---- other items ---- */

static bool read_call(struct reader *r, const struct json_node *v, const char *where)
{
    str id, name, arguments = text_of(r, v, "arguments");
    struct chat_part *p;
    struct json doc;
    struct err e;
    bool object;

    if (!need_text(r, v, where, "call_id", &id) || !need_text(r, v, where, "name", &name))
        return false;
    json_init(&doc);
    object = json_parse(&doc, arguments, &e) && json_root(&doc)->kind == JSON_OBJECT;
    json_release(&doc);
    speak(r, CHAT_ASSISTANT);
    p = part_add(r, CHAT_PART_TOOL_CALL);
    p->id = id;
    p->name = name;
    p->json = object ? arguments : STR("{}");
    return true;
}

/* Looks back a bounded way, so that a long history stays linear. */
static str call_name(const struct reader *r, str id)
{
    const struct chat_request *q = r->out;
    size_t left = CALLS_BACK_MAX;

    for (size_t i = q->message_count; i-- > 0 && left > 0;)
        for (size_t j = 0; j < q->messages[i].part_count && left > 0; j++, left--) {
            const struct chat_part *p = &q->messages[i].parts[j];

            if (p->kind == CHAT_PART_TOOL_CALL && str_eq(p->id, id))
                return p->name;
        }
    return STR("");
}

static bool read_output(struct reader *r, const struct json_node *v, const char *where)
{
    struct reader inner = {.doc = r->doc, .arena = r->arena, .out = r->out, .e = r->e};
    char path[PATH_SIZE];
    struct chat_part *p;
    str id;

    snprintf(path, sizeof path, "%s.output", where);
    if (!need_text(r, v, where, "call_id", &id) || !read_content(&inner, get(r, v, "output"), path))
        return false;
    speak(r, CHAT_TOOL);
    p = part_add(r, CHAT_PART_TOOL_RESULT);
    p->id = id;
    p->name = call_name(r, id);
    p->parts = inner.parts;
    p->part_count = inner.part_count;
    p->is_error = is(r, get(r, v, "status"), "incomplete");
    return true;
}

static void join_texts(struct reader *r, const struct json_node *list, struct buf *out)
{
    if (!list || list->kind != JSON_ARRAY)
        return;
    for (const struct json_node *p = json_first(r->doc, list); p; p = json_next(r->doc, list, p)) {
        str text = text_of(r, p, "text");

        if (text.n && out->n)
            buf_add(out, STR(RESPONSES_JOINT));
        buf_add(out, text);
    }
}

static void read_reasoning(struct reader *r, const struct json_node *v)
{
    struct chat_part *p;
    struct buf text;

    buf_init(&text, JSON_SIZE_MAX);
    join_texts(r, get(r, v, "content"), &text);
    if (!text.n)
        join_texts(r, get(r, v, "summary"), &text);
    speak(r, CHAT_ASSISTANT);
    p = part_add(r, CHAT_PART_REASONING);
    p->text = arena_dup(r->arena, buf_str(&text));
    p->signature = json_raw(r->doc, v);
    buf_release(&text);
}

/* Outputs of tools that the client ran belong to its side; the rest the model did itself. */
static void read_other(struct reader *r, const struct json_node *v)
{
    str type = text_of(r, v, "type");
    bool ours = str_ends(type, STR("_output")) || str_ends(type, STR("_response"));

    speak(r, ours ? CHAT_TOOL : CHAT_ASSISTANT);
    opaque(r, v, part_add(r, CHAT_PART_OPAQUE));
}

static bool read_item(struct reader *r, const struct json_node *v, const char *where)
{
    const struct json_node *type = get(r, v, "type");

    if (v->kind != JSON_OBJECT)
        return bad(r, where, "must be an object");
    if (is(r, type, "message") || (!type && get(r, v, "role")))
        return read_message(r, v, where);
    if (!type || type->kind != JSON_STRING)
        return bad(r, where, "needs a type or a role");
    if (is(r, type, "function_call"))
        return read_call(r, v, where);
    if (is(r, type, "function_call_output"))
        return read_output(r, v, where);
    if (is(r, type, "reasoning"))
        read_reasoning(r, v);
    else
        read_other(r, v);
    return true;
}

static bool read_input(struct reader *r, const struct json_node *root)
{
    const struct json_node *input = get(r, root, "input");
    str text = text_of(r, root, "instructions");
    char where[WHERE_SIZE];
    size_t i = 0;

    if (text.n) {
        speak(r, CHAT_SYSTEM);
        part_add(r, CHAT_PART_TEXT)->text = text;
    }
    if (!input) /* a prompt or an earlier response may say it all */
        return get(r, root, "prompt") || get(r, root, "previous_response_id") ||
               get(r, root, "conversation") ||
               bad(r, "input", "is missing: give a string or a list of items");
    if (json_text(r->doc, input, r->arena, &text)) {
        speak(r, CHAT_USER);
        part_add(r, CHAT_PART_TEXT)->text = text;
        return true;
    }
    if (input->kind != JSON_ARRAY)
        return bad(r, "input", "must be a string or a list of items");
    for (const struct json_node *v = json_first(r->doc, input); v;
         v = json_next(r->doc, input, v)) {
        snprintf(where, sizeof where, "input[%zu]", i++);
        if (i > ITEMS_MAX)
            return bad(r, "input", "has too many items");
        if (!read_item(r, v, where))
            return false;
        message_save(r);
    }
    return true;
}

bool responses_read(const struct json *doc, struct arena *a, struct chat_request *out,
                    struct err *e)
{
    const struct json_node *root = json_root(doc);
    struct reader r = {.doc = doc, .arena = a, .out = out, .e = e};

    if (!root || root->kind != JSON_OBJECT)
        return err_set(e, ERR_INPUT, "the body must be a JSON object");
    if (!responses_read_settings(doc, a, out, e))
        return false;
    if (!read_input(&r, root))
        return false;
    message_save(&r);
    return true;
}
