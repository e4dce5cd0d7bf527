/* read.c - a request of the Responses API as a chat request.
 *
 * The input's items become messages in their order: consecutive items of the model (messages of the
 * assistant, reasoning, calls, tools that the host ran) become one assistant message, consecutive
 * outputs of tools one tool message.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/responses.h"

#define ITEMS_MAX 100000

struct reader {
    struct request_reader r;
    size_t message_max;
    struct parts parts; /* of the message at hand */
};

static struct chat_part *responses_read_part_add(struct reader *g, enum chat_part_kind kind)
{
    return parts_add(&g->parts, &g->r, kind, CHAT_RESPONSES);
}

static bool responses_read_need_text(struct reader *g, const struct request_path *at,
                                     const struct json_node *v, const char *key, str *out)
{
    return json_text(g->r.doc, json_find(g->r.doc, v, str_c(key)), g->r.a, out) ||
           request_fail(&g->r, at, key, "must be a string");
}

/* ---- messages ---- */

static void responses_read_message_add(struct reader *g, enum chat_role role)
{
    struct chat_request *q = g->r.out;

    assert(q->message_count < g->message_max);
    q->messages[q->message_count++] = (struct chat_message){.role = role, .name = STR("")};
    g->parts = (struct parts){0};
}

static void responses_read_message_save(struct reader *g)
{
    struct chat_request *q = g->r.out;

    if (q->message_count) {
        q->messages[q->message_count - 1].parts = g->parts.p;
        q->messages[q->message_count - 1].part_count = g->parts.n;
    }
}

/* Items of the same role continue the current message. */
static void responses_read_speak(struct reader *g, enum chat_role role)
{
    struct chat_request *q = g->r.out;

    if (q->message_count && q->messages[q->message_count - 1].role == role &&
        (role == CHAT_ASSISTANT || role == CHAT_TOOL))
        return;
    responses_read_message_save(g);
    responses_read_message_add(g, role);
}

static void responses_read_opaque(struct reader *g, const struct json_node *v, struct chat_part *p)
{
    p->json = json_raw(g->r.doc, v);
    p->name = json_get_text(g->r.doc, v, "type", g->r.a);
}

static bool responses_read_image(struct reader *g, const struct request_path *at,
                                 const struct json_node *v)
{
    const struct json_node *url = json_get(g->r.doc, v, "image_url"), *in = v;
    struct chat_part *p;
    str text;

    if (json_is_object(url)) { /* as Chat Completions has it */
        in = url;
        url = json_get(g->r.doc, url, "url");
    }
    if (json_text(g->r.doc, url, g->r.a, &text)) {
        p = responses_read_part_add(g, CHAT_PART_IMAGE);
        part_set_url(text, p);
        p->name = json_get_text(g->r.doc, in, "detail", g->r.a);
        return true;
    }
    if (!json_get(g->r.doc, v, "file_id"))
        return request_fail(&g->r, at, NULL, "an input_image needs image_url or file_id");
    responses_read_opaque(g, v, responses_read_part_add(g, CHAT_PART_OPAQUE));
    return true;
}

static bool responses_read_file(struct reader *g, const struct request_path *at,
                                const struct json_node *v)
{
    str data = json_get_text(g->r.doc, v, "file_data", g->r.a),
        url = json_get_text(g->r.doc, v, "file_url", g->r.a);
    struct chat_part *p;

    if (!data.n && !url.n) {
        if (!json_get(g->r.doc, v, "file_id"))
            return request_fail(
                &g->r, at, NULL, "an input_file needs file_data, file_url or file_id");
        responses_read_opaque(g, v, responses_read_part_add(g, CHAT_PART_OPAQUE));
        return true;
    }
    p = responses_read_part_add(g, CHAT_PART_FILE);
    p->name = json_get_text(g->r.doc, v, "filename", g->r.a);
    if (data.n && !str_starts(data, STR("data:")))
        p->data = data;
    else
        part_set_url(data.n ? data : url, p);
    return true;
}

/* Sound in the form of Chat Completions. */
static bool responses_read_audio(struct reader *g, const struct request_path *at,
                                 const struct json_node *v)
{
    const struct json_node *box = json_get(g->r.doc, v, "input_audio");
    str data = json_get_text(g->r.doc, box, "data", g->r.a);
    str format = json_get_text(g->r.doc, box, "format", g->r.a);
    struct chat_part *p;

    if (!data.n || !format.n)
        return request_fail(&g->r, at, "input_audio", "must be an object with data and format");
    p = responses_read_part_add(g, CHAT_PART_FILE);
    p->data = data;
    p->mime = str_eq(format, STR("mp3")) ? STR("audio/mpeg")
                                         : arena_printf(g->r.a, "audio/" STR_FMT, STR_ARG(format));
    return true;
}

/* The member with the text of a text part, or NULL. */
static const char *responses_read_text_key(const struct json *doc, const struct json_node *type)
{
    if (json_is_one_of(doc, type, "input_text output_text text summary_text reasoning_text"))
        return "text";
    return json_is(doc, type, STR("refusal")) ? "refusal" : NULL;
}

static bool responses_read_part(struct reader *g, const struct request_path *at,
                                const struct json_node *v)
{
    const struct json_node *type = json_get(g->r.doc, v, "type");
    const char *key = responses_read_text_key(g->r.doc, type);
    str text;

    if (v->kind != JSON_OBJECT)
        return request_fail(&g->r, at, NULL, "must be an object");
    if (!type || type->kind != JSON_STRING)
        return request_fail(&g->r, at, NULL, "needs a type");
    if (json_is(g->r.doc, type, STR("input_image")) || json_is(g->r.doc, type, STR("image_url")))
        return responses_read_image(g, at, v);
    if (json_is(g->r.doc, type, STR("input_file")))
        return responses_read_file(g, at, v);
    if (json_is(g->r.doc, type, STR("input_audio")))
        return responses_read_audio(g, at, v);
    if (!key) {
        responses_read_opaque(g, v, responses_read_part_add(g, CHAT_PART_OPAQUE));
        return true;
    }
    if (!responses_read_need_text(g, at, v, key, &text))
        return false;
    responses_read_part_add(g, strcmp(key, "refusal") == 0 ? CHAT_PART_REFUSAL : CHAT_PART_TEXT)
        ->text = text;
    return true;
}

/* A string, or a list of parts: a member of v. */
static bool responses_read_content(struct reader *g, const struct request_path *at,
                                   const struct json_node *v, const char *key)
{
    const struct json_node *list = json_get(g->r.doc, v, key);
    struct request_path here = {.up = at, .key = key}, item = {.up = &here};
    str text;

    if (json_text(g->r.doc, list, g->r.a, &text)) {
        responses_read_part_add(g, CHAT_PART_TEXT)->text = text;
        return true;
    }
    if (!json_is_array(list))
        return request_fail(&g->r, &here, NULL, "must be a string or a list of parts");
    for (const struct json_node *p = json_first(g->r.doc, list); p;
         p = json_next(g->r.doc, list, p), item.index++)
        if (!responses_read_part(g, &item, p))
            return false;
    return true;
}

static bool responses_read_message(struct reader *g, const struct request_path *at,
                                   const struct json_node *v)
{
    static const struct name_row roles[] = {{"user", CHAT_USER},
                                            {"assistant", CHAT_ASSISTANT},
                                            {"system", CHAT_SYSTEM},
                                            {"developer", CHAT_SYSTEM}};
    int role =
        name_table_number(roles, COUNT_OF(roles), json_get_text(g->r.doc, v, "role", g->r.a), -1);

    if (role < 0)
        return request_fail(&g->r, at, "role", "must be user, assistant, system or developer");
    responses_read_speak(g, (enum chat_role)role);
    return responses_read_content(g, at, v, "content");
}

/* ---- other items ---- */

static bool responses_read_add_call(struct reader *g, const struct request_path *at,
                                    const struct json_node *v, str arguments)
{
    struct chat_part *p;
    str id, name;

    if (!responses_read_need_text(g, at, v, "call_id", &id) ||
        !responses_read_need_text(g, at, v, "name", &name))
        return false;
    name = responses_call_name(g->r.doc, v, g->r.a);
    responses_read_speak(g, CHAT_ASSISTANT);
    p = responses_read_part_add(g, CHAT_PART_TOOL_CALL);
    p->id = id;
    p->name = name;
    p->json = arguments;
    return true;
}

static bool responses_read_call(struct reader *g, const struct request_path *at,
                                const struct json_node *v)
{
    return responses_read_add_call(
        g, at, v, part_arguments(g->r.doc, json_find(g->r.doc, v, STR("arguments")), g->r.a));
}

static bool responses_read_custom(struct reader *g, const struct request_path *at,
                                  const struct json_node *v)
{
    const struct json_node *input = json_get(g->r.doc, v, "input");

    return responses_read_add_call(g, at, v, part_custom_arguments(g->r.doc, input, g->r.a));
}

static bool responses_read_output(struct reader *g, const struct request_path *at,
                                  const struct json_node *v)
{
    const struct chat_request *q = g->r.out;
    struct reader inner = {.r = g->r};
    struct chat_part *p;
    str id;

    if (!responses_read_need_text(g, at, v, "call_id", &id) ||
        !responses_read_content(&inner, at, v, "output") || !parts_ok(&inner.parts, g->r.e))
        return false;
    responses_read_speak(g, CHAT_TOOL);
    assert(q->message_count > 0);
    p = responses_read_part_add(g, CHAT_PART_TOOL_RESULT);
    p->id = id;
    p->name = part_call_name(q, q->message_count - 1, id);
    p->parts = inner.parts.p;
    p->part_count = inner.parts.n;
    p->is_error = json_get_is(g->r.doc, v, "status", "incomplete");
    return true;
}

static void responses_read_join_texts(struct reader *g, const struct json_node *list,
                                      struct buf *out)
{
    JSON_FOREACH_ITEM(p, g->r.doc, list) {
        str text = json_get_text(g->r.doc, p, "text", g->r.a);

        if (text.n && out->n)
            buf_add(out, STR(RESPONSES_JOINT));
        buf_add(out, text);
    }
}

static void responses_read_reasoning(struct reader *g, const struct json_node *v)
{
    struct chat_part *p;
    struct buf text;

    buf_init(&text, JSON_SIZE_MAX);
    responses_read_join_texts(g, json_get(g->r.doc, v, "content"), &text);
    if (!text.n)
        responses_read_join_texts(g, json_get(g->r.doc, v, "summary"), &text);
    responses_read_speak(g, CHAT_ASSISTANT);
    p = responses_read_part_add(g, CHAT_PART_REASONING);
    p->text = arena_dup(g->r.a, buf_str(&text));
    p->signature = json_raw(g->r.doc, v);
    buf_release(&text);
}

/* What the model did itself is known by its answer. Everything else says something: outputs of
 * tools that the client ran, a compacted conversation, items that we do not know. */
static void responses_read_other(struct reader *g, const struct json_node *v)
{
    static const char models[] =
        "item_reference mcp_list_tools mcp_approval_request additional_tools program";
    str type = json_get_text(g->r.doc, v, "type", g->r.a);
    bool own = str_ends(type, STR("_call")) || str_is_one_of(type, models);

    responses_read_speak(g, own ? CHAT_ASSISTANT : CHAT_TOOL);
    responses_read_opaque(g, v, responses_read_part_add(g, CHAT_PART_OPAQUE));
}

static bool responses_read_item(struct reader *g, const struct request_path *at,
                                const struct json_node *v)
{
    const struct json_node *type = json_get(g->r.doc, v, "type");

    if (v->kind != JSON_OBJECT)
        return request_fail(&g->r, at, NULL, "must be an object");
    if (json_is(g->r.doc, type, STR("message")) || (!type && json_get(g->r.doc, v, "role")))
        return responses_read_message(g, at, v);
    if (!type || type->kind != JSON_STRING)
        return request_fail(&g->r, at, NULL, "needs a type or a role");
    if (json_is(g->r.doc, type, STR("function_call")))
        return responses_read_call(g, at, v);
    if (json_is(g->r.doc, type, STR("custom_tool_call")))
        return responses_read_custom(g, at, v);
    if (json_is(g->r.doc, type, STR("function_call_output")) ||
        json_is(g->r.doc, type, STR("custom_tool_call_output")))
        return responses_read_output(g, at, v);
    if (json_is(g->r.doc, type, STR("reasoning")))
        responses_read_reasoning(g, v);
    else
        responses_read_other(g, v);
    return true;
}

static bool responses_read_items(struct reader *g, const struct request_path *at,
                                 const struct json_node *input)
{
    struct request_path item = {.up = at};

    for (const struct json_node *v = json_first(g->r.doc, input); v;
         v = json_next(g->r.doc, input, v), item.index++) {
        if (!responses_read_item(g, &item, v)) {
            if (!request_defer_failure(&g->r))
                return false;
            responses_read_speak(g, CHAT_USER);
            responses_read_opaque(g, v, responses_read_part_add(g, CHAT_PART_OPAQUE));
        }
        responses_read_message_save(g);
        if (!parts_ok(&g->parts, g->r.e))
            return false;
    }
    return true;
}

static bool responses_read_input(struct reader *g, const struct json_node *root)
{
    const struct json_node *input = json_get(g->r.doc, root, "input");
    str text = json_get_text(g->r.doc, root, "instructions", g->r.a);
    struct request_path here = {.key = "input"};
    size_t n = json_is_array(input) ? json_count(g->r.doc, input) : 1;

    if (n > ITEMS_MAX)
        return request_fail(&g->r, &here, NULL, "has too many items");
    /* One for the instructions; two for each item, because one that cannot be read as a whole may
     * have begun a message. */
    g->message_max = 1 + 2 * n;
    if (!request_alloc(&g->r, g->message_max, sizeof(struct chat_message), &g->r.out->messages))
        return false;
    if (text.n) {
        responses_read_speak(g, CHAT_SYSTEM);
        responses_read_part_add(g, CHAT_PART_TEXT)->text = text;
    }
    if (!input) /* a prompt or an earlier response may say it all */
        return json_get(g->r.doc, root, "prompt") ||
               json_get(g->r.doc, root, "previous_response_id") ||
               json_get(g->r.doc, root, "conversation") ||
               request_fail(&g->r, &here, NULL, "is missing: give a string or a list of items");
    if (json_text(g->r.doc, input, g->r.a, &text)) {
        responses_read_speak(g, CHAT_USER);
        responses_read_part_add(g, CHAT_PART_TEXT)->text = text;
        return true;
    }
    if (input->kind != JSON_ARRAY)
        return request_fail(&g->r, &here, NULL, "must be a string or a list of items");
    return responses_read_items(g, &here, input);
}

bool responses_read(const struct json *doc, struct arena *a, struct chat_request *out,
                    struct err *e)
{
    const struct json_node *root = json_root(doc);
    struct reader g = {.r = {.doc = doc, .a = a, .e = e, .out = out, .brackets = true}};

    if (!json_is_object(root))
        return err_input(e, "the body must be a JSON object");
    part_request_init(out, CHAT_RESPONSES, doc);
    if (!responses_read_settings(&g.r, root) || !responses_read_input(&g, root))
        return false;
    responses_read_message_save(&g);
    return parts_ok(&g.parts, e);
}
