/* read.c - a client's Chat Completions body: its messages.
 *
 * Checked as OpenAI checks them, with the member at fault in the sentence. Parts that hosts have
 * added (video_url, Mistral's chunks) are let through and kept as they are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

static struct chat_part *openai_read_add(const struct request_reader *r, struct parts *list,
                                         enum chat_part_kind kind)
{
    return parts_add(list, r, kind, CHAT_OPENAI);
}

/* ---- parts ---- */

static bool openai_read_part_text(const struct request_reader *r, const struct json_node *v,
                                  struct parts *out, const struct request_path *at)
{
    str text;

    if (!json_text(r->doc, json_find(r->doc, v, STR("text")), r->a, &text))
        return request_fail(r, at, "text", "expected a string");
    openai_read_add(r, out, CHAT_PART_TEXT)->text = text;
    return true;
}

static bool openai_read_part_refusal(const struct request_reader *r, const struct json_node *v,
                                     struct parts *out, const struct request_path *at)
{
    str text;

    if (!json_text(r->doc, json_find(r->doc, v, STR("refusal")), r->a, &text))
        return request_fail(r, at, "refusal", "expected a string");
    openai_read_add(r, out, CHAT_PART_REFUSAL)->text = text;
    return true;
}

static bool openai_read_part_image(const struct request_reader *r, const struct json_node *v,
                                   struct parts *out, const struct request_path *at)
{
    const struct json_node *image = json_find(r->doc, v, STR("image_url"));
    struct chat_part *part;
    str url, detail = STR("");

    if (json_is_object(image)) {
        detail = json_get_text(r->doc, image, "detail", r->a);
        image = json_find(r->doc, image, STR("url"));
    }
    if (!json_text(r->doc, image, r->a, &url) || url.n == 0)
        return request_fail(r, at, "image_url.url", "expected the URL of an image");
    part = openai_read_add(r, out, CHAT_PART_IMAGE);
    part_set_url(url, part);
    part->name = detail;
    return true;
}

/* A URL, a data URL, or bare base64. */
static void openai_read_set_url_or_data(str s, str mime, struct chat_part *part)
{
    part_set_url(s, part);
    if (part->url.n && str_find(part->url, STR("://")) == STR_NONE) {
        part->data = part->url;
        part->url = STR("");
    }
    if (part->mime.n == 0)
        part->mime = mime;
}

static bool openai_read_part_audio(const struct request_reader *r, const struct json_node *v,
                                   struct parts *out, const struct request_path *at)
{
    const struct json_node *audio = json_find(r->doc, v, STR("input_audio"));
    str data = json_get_text(r->doc, audio, "data", r->a);
    str format = json_get_text(r->doc, audio, "format", r->a);
    struct chat_part *part;

    if (json_text(r->doc, audio, r->a, &data) && data.n > 0) { /* Mistral's: base64 or a URL */
        part = openai_read_add(r, out, CHAT_PART_FILE);
        openai_read_set_url_or_data(data, STR("audio/mpeg"), part);
        return true;
    }
    if (!json_is_object(audio) || data.n == 0 || format.n == 0)
        return request_fail(r, at, "input_audio", "expected an object with data and format");
    part = openai_read_add(r, out, CHAT_PART_FILE);
    part->data = data;
    part->mime = str_eq(format, STR("mp3")) ? STR("audio/mpeg")
                                            : arena_printf(r->a, "audio/" STR_FMT, STR_ARG(format));
    return true;
}

/* Its clients speak this dialect, too. */
static bool openai_read_part_of_mistral(const struct request_reader *r, const struct json_node *v,
                                        struct parts *out, const struct request_path *at)
{
    struct chat_part *part = openai_read_add(r, out, CHAT_PART_OPAQUE);

    (void)at;
    part->json = json_raw(r->doc, v);
    part->dialect = CHAT_MISTRAL;
    return true;
}

static bool openai_read_part_file(const struct request_reader *r, const struct json_node *v,
                                  struct parts *out, const struct request_path *at)
{
    const struct json_node *file = json_find(r->doc, v, STR("file"));
    str data = json_get_text(r->doc, file, "file_data", r->a);
    struct chat_part *part;

    if (!file && json_get_text(r->doc, v, "file_id", r->a).n)
        return openai_read_part_of_mistral(r, v, out, at);
    if (!json_is_object(file))
        return request_fail(r, at, "file", "expected an object");
    if (data.n == 0) {
        if (json_get_text(r->doc, file, "file_id", r->a).n == 0)
            return request_fail(r, at, "file", "expected file_data or file_id");
        openai_read_add(r, out, CHAT_PART_OPAQUE)->json = json_raw(r->doc, v);
        return true;
    }
    part = openai_read_add(r, out, CHAT_PART_FILE);
    part->name = json_get_text(r->doc, file, "filename", r->a);
    openai_read_set_url_or_data(
        data, str_ends(part->name, STR(".pdf")) ? STR("application/pdf") : STR(""), part);
    return true;
}

/* A URL or data URL: a string, or an object that contains it. */
static bool openai_read_part_address(const struct request_reader *r, const struct json_node *v,
                                     struct parts *out, const struct request_path *at)
{
    static const struct {
        const char *key, *mime;
    } rows[] = {{"video_url", "video/mp4"}, {"audio_url", "audio/mpeg"}, {"document_url", ""}};
    const struct json_node *of;
    struct chat_part *part;
    size_t i = 0;
    str url;

    while (i + 1 < COUNT_OF(rows) && !json_get_is(r->doc, v, "type", rows[i].key))
        i++;
    of = json_find(r->doc, v, str_c(rows[i].key));
    if (json_is_object(of))
        of = json_find(r->doc, of, STR("url"));
    if (!json_text(r->doc, of, r->a, &url) || url.n == 0)
        return request_fail(r, at, rows[i].key, "expected a URL");
    part = openai_read_add(r, out, CHAT_PART_FILE);
    part_set_url(url, part);
    part->name = json_get_text(r->doc, v, "document_name", r->a);
    if (part->mime.n == 0)
        part->mime = str_c(rows[i].mime);
    return true;
}

static bool openai_read_part_opaque(const struct request_reader *r, const struct json_node *v,
                                    struct parts *out, const struct request_path *at)
{
    (void)at;
    openai_read_add(r, out, CHAT_PART_OPAQUE)->json = json_raw(r->doc, v);
    return true;
}

/* Mistral's chunk and Anthropic's block: the same name, the words in a list or in a string. */
static bool openai_read_part_thinking(const struct request_reader *r, const struct json_node *v,
                                      struct parts *out, const struct request_path *at)
{
    const struct json_node *list = json_find(r->doc, v, STR("thinking"));
    struct chat_part *part;
    str text;

    (void)at;
    if (json_text(r->doc, list, r->a, &text)) {
        part = openai_read_add(r, out, CHAT_PART_REASONING);
        part->text = text;
        part->signature = json_get_text(r->doc, v, "signature", r->a);
        part->dialect = CHAT_ANTHROPIC;
        return true;
    }
    JSON_FOREACH(c, r->doc, list) {
        text = json_get_text(r->doc, c, "text", r->a);
        if (text.n)
            openai_read_add(r, out, CHAT_PART_REASONING)->text = text;
    }
    return true;
}

static const struct {
    str type;
    bool (*read)(const struct request_reader *r, const struct json_node *v, struct parts *out,
                 const struct request_path *at);
} types[] = {
    {STR_INIT("text"), openai_read_part_text},
    {STR_INIT("image_url"), openai_read_part_image},
    {STR_INIT("input_audio"), openai_read_part_audio},
    {STR_INIT("file"), openai_read_part_file},
    {STR_INIT("refusal"), openai_read_part_refusal},
    {STR_INIT("input_text"), openai_read_part_text},
    {STR_INIT("output_text"), openai_read_part_text},
    {STR_INIT("video_url"), openai_read_part_address},
    {STR_INIT("thinking"), openai_read_part_thinking},
    {STR_INIT("audio_url"), openai_read_part_address},
    {STR_INIT("document_url"), openai_read_part_address},
    {STR_INIT("reference"), openai_read_part_of_mistral},
    {STR_INIT("image"), openai_read_part_opaque},
    {STR_INIT("video"), openai_read_part_opaque},
    {STR_INIT("input_video"), openai_read_part_opaque},
};

static bool openai_read_one_part(const struct request_reader *r, const struct json_node *v,
                                 struct parts *out, const struct request_path *at)
{
    const struct json_node *type = json_find(r->doc, v, STR("type"));

    if (v->kind != JSON_OBJECT)
        return request_fail(r, at, NULL, "expected an object");
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (json_is(r->doc, type, types[i].type))
            return types[i].read(r, v, out, at);
    if (type && type->kind == JSON_STRING) /* a host's own: providers of this dialect judge it */
        return openai_read_part_opaque(r, v, out, at);
    return request_fail(r, at, "type", "expected text, image_url, input_audio, file or refusal");
}

static bool openai_read_content(const struct request_reader *r, const struct json_node *v,
                                const struct request_path *at, struct parts *out)
{
    struct request_path here = {.up = at, .key = "content"}, item = {.up = &here};
    str text;

    if (json_text(r->doc, v, r->a, &text)) {
        openai_read_add(r, out, CHAT_PART_TEXT)->text = text;
        return true;
    }
    if (!json_is_array(v))
        return request_fail(r, at, "content", "expected a string or a list of parts");
    for (const struct json_node *p = json_first(r->doc, v); p;
         p = json_next(r->doc, v, p), item.index++)
        if (!openai_read_one_part(r, p, out, &item))
            return false;
    return true;
}

/* ---- what an assistant said ---- */

static void openai_read_thinking_blocks(const struct request_reader *r,
                                        const struct json_node *list, struct parts *out)
{
    JSON_FOREACH(b, r->doc, list) {
        str data = json_get_text(r->doc, b, "data", r->a);
        struct chat_part *part = openai_read_add(r, out, CHAT_PART_REASONING);

        part->dialect = CHAT_ANTHROPIC;
        part->text = json_get_text(r->doc, b, "thinking", r->a);
        part->signature = json_get_text(r->doc, b, "signature", r->a);
        if (data.n) {
            part->redacted = true;
            part->text = data;
        }
    }
}

/* Words of details, where no member says them; the details themselves are for their own kind. */
static void openai_read_details(const struct request_reader *r, const struct json_node *list,
                                bool worded, struct parts *out)
{
    if (!json_is_array(list) || list->span == 1)
        return;
    for (const struct json_node *v = json_first(r->doc, list); v && !worded;
         v = json_next(r->doc, list, v)) {
        str text = json_get_text(r->doc, v, "text", r->a);

        if (text.n == 0)
            text = json_get_text(r->doc, v, "summary", r->a);
        if (text.n)
            openai_read_add(r, out, CHAT_PART_REASONING)->text = text;
    }
    openai_read_add(r, out, CHAT_PART_OPAQUE)->json =
        json_format(r->a, "{'reasoning_details':%j}", json_raw(r->doc, list));
}

static void openai_read_thoughts(const struct request_reader *r, const struct json_fields *of,
                                 struct parts *out)
{
    const struct json_node *blocks = json_fields_present(of, OPENAI_AT_THINKING_BLOCKS);
    bool worded = false;

    if (json_is_array(blocks) && blocks->span > 1) {
        openai_read_thinking_blocks(r, blocks, out);
        return;
    }
    for (unsigned i = 0; i < OPENAI_THOUGHT_COUNT && !worded; i++) {
        str text = json_fields_text(of, openai_thought_fields[i], r->doc, r->a);

        if (text.n == 0)
            continue;
        openai_read_add(r, out, CHAT_PART_REASONING)->text = text;
        worded = true;
    }
    openai_read_details(r, json_fields_present(of, OPENAI_AT_REASONING_DETAILS), worded, out);
}

static bool openai_read_tool_calls(const struct request_reader *r, const struct json_node *list,
                                   const struct request_path *at, struct parts *out)
{
    struct request_path here = {.up = at, .key = "tool_calls"}, item = {.up = &here};

    if (list->kind != JSON_ARRAY)
        return request_fail(r, at, "tool_calls", "expected a list of calls");
    for (const struct json_node *v = json_first(r->doc, list); v;
         v = json_next(r->doc, list, v), item.index++) {
        const struct json_node *function = json_get(r->doc, v, "function");
        const struct json_node *custom = json_get(r->doc, v, "custom");
        struct chat_part *part;
        str id, name;

        if (!json_text(r->doc, json_find(r->doc, v, STR("id")), r->a, &id))
            return request_fail(r, &item, "id", "expected a string");
        if (!json_text(
                r->doc, json_find(r->doc, function ? function : custom, STR("name")), r->a, &name))
            return request_fail(r, &item, "function.name", "expected a string");
        part = openai_read_add(r, out, CHAT_PART_TOOL_CALL);
        part->id = id;
        part->name = name;
        part->json =
            function ? part_arguments(r->doc, json_find(r->doc, function, STR("arguments")), r->a)
                     : part_custom_arguments(r->doc, json_find(r->doc, custom, STR("input")), r->a);
    }
    return true;
}

/* A turn that was cut off before its answer may have no content. */
static bool openai_read_assistant(const struct request_reader *r, const struct json_fields *of,
                                  const struct request_path *at, struct parts *out)
{
    const struct json_node *said = json_fields_present(of, OPENAI_AT_CONTENT);
    const struct json_node *calls = json_fields_present(of, OPENAI_AT_TOOL_CALLS);
    const struct json_node *function = json_fields_present(of, OPENAI_AT_FUNCTION_CALL);
    str refusal = json_fields_text(of, OPENAI_AT_REFUSAL, r->doc, r->a);

    openai_read_thoughts(r, of, out);
    if (said && !openai_read_content(r, said, at, out))
        return false;
    if (refusal.n)
        openai_read_add(r, out, CHAT_PART_REFUSAL)->text = refusal;
    if (calls && !openai_read_tool_calls(r, calls, at, out))
        return false;
    if (function) {
        struct chat_part *part = openai_read_add(r, out, CHAT_PART_TOOL_CALL);

        part->name = json_get_text(r->doc, function, "name", r->a);
        part->id = part->name;
        part->json = part_arguments(r->doc, json_find(r->doc, function, STR("arguments")), r->a);
    }
    return true;
}

static bool openai_read_tool_result(const struct request_reader *r, const struct json_node *m,
                                    const struct json_fields *of, const struct request_path *at,
                                    struct parts *out)
{
    const struct json_node *said = json_fields_get(of, OPENAI_AT_CONTENT);
    bool old = json_is(r->doc, json_fields_get(of, OPENAI_AT_ROLE), STR("function"));
    str id, name = json_fields_text(of, OPENAI_AT_NAME, r->doc, r->a);
    struct parts inner = {0};
    struct chat_part *part;

    if (old)
        id = name;
    else if (!json_text(r->doc, json_find(r->doc, m, STR("tool_call_id")), r->a, &id))
        return request_fail(r, at, "tool_call_id", "expected the id of the call this answers");
    if (old && name.n == 0)
        return request_fail(r, at, "name", "expected the name of the function");
    if (!(old && said && said->kind == JSON_NULL) && !openai_read_content(r, said, at, &inner))
        return false;
    if (!parts_ok(&inner, r->e))
        return false;
    part = openai_read_add(r, out, CHAT_PART_TOOL_RESULT);
    part->id = id;
    part->name = name;
    part->parts = inner.p;
    part->part_count = inner.n;
    return true;
}

/* ---- messages ---- */

static bool openai_read_message(const struct request_reader *r, const struct json_node *m,
                                const struct request_path *at, struct chat_message *out)
{
    static const struct {
        str name;
        enum chat_role role;
    } roles[] = {
        {STR_INIT("user"), CHAT_USER},
        {STR_INIT("assistant"), CHAT_ASSISTANT},
        {STR_INIT("system"), CHAT_SYSTEM},
        {STR_INIT("developer"), CHAT_SYSTEM},
        {STR_INIT("tool"), CHAT_TOOL},
        {STR_INIT("function"), CHAT_TOOL},
    };
    const struct json_node *role;
    struct parts parts = {0};
    struct json_fields of;
    size_t k = 0;
    bool ok;

    if (m->kind != JSON_OBJECT)
        return request_fail(r, at, NULL, "expected an object");
    json_fields_read(&openai_reply_fields, r->doc, m, 0, &of);
    role = json_fields_get(&of, OPENAI_AT_ROLE);
    while (k < COUNT_OF(roles) && !json_is(r->doc, role, roles[k].name))
        k++;
    if (k == COUNT_OF(roles))
        return request_fail(
            r, at, "role", "expected system, developer, user, assistant, tool or function");
    if (roles[k].role == CHAT_ASSISTANT)
        ok = openai_read_assistant(r, &of, at, &parts);
    else if (roles[k].role == CHAT_TOOL)
        ok = openai_read_tool_result(r, m, &of, at, &parts);
    else
        ok = openai_read_content(r, json_fields_get(&of, OPENAI_AT_CONTENT), at, &parts);
    *out = (struct chat_message){.role = roles[k].role,
                                 .name = json_fields_text(&of, OPENAI_AT_NAME, r->doc, r->a),
                                 .parts = parts.p,
                                 .part_count = parts.n};
    return parts_ok(&parts, r->e) && ok;
}

bool openai_read_messages(const struct request_reader *r, const struct json_node *list)
{
    struct request_path here = {.key = "messages"}, item = {.up = &here};
    size_t n = json_is_array(list) ? json_count(r->doc, list) : 0;

    if (n == 0)
        return request_fail(
            r, NULL, "messages", "expected a list of messages with at least one in it");
    if (!request_alloc(r, n, sizeof(struct chat_message), &r->out->messages))
        return false;
    r->out->message_count = n;
    for (const struct json_node *m = json_first(r->doc, list); m;
         m = json_next(r->doc, list, m), item.index++)
        if (!openai_read_message(r, m, &item, &r->out->messages[item.index]) &&
            (!request_defer_failure(r) ||
             !part_message_opaque(r, m, CHAT_OPENAI, &r->out->messages[item.index])))
            return false;
    return true;
}

bool openai_read(const struct json *doc, struct arena *a, struct chat_request *out, struct err *e)
{
    const struct json_node *root = json_root(doc);
    struct chat_request q;
    struct request_reader r = {.doc = doc, .a = a, .e = e, .out = &q, .brackets = true};
    struct json_fields m;

    part_request_init(&q, CHAT_OPENAI, doc);
    if (!json_is_object(root))
        return err_input(e, "the body: expected a JSON object");
    json_fields_read(&openai_request_fields, doc, root, 0, &m);
    q.model = json_fields_text(&m, OPENAI_ASK_MODEL, doc, a);
    if (q.model.n == 0)
        return request_fail(&r, NULL, "model", "expected a string, the name of a model");
    if (!openai_read_messages(&r, json_fields_get(&m, OPENAI_ASK_MESSAGES)) ||
        !openai_read_options(&r, &m) || !openai_read_thinking(&r, &m))
        return false;
    *out = q;
    return true;
}
