/* openai_read.c - a client's Chat Completions body: its messages.
 *
 * Checked as OpenAI checks them, with the member at fault in the sentence. Parts that hosts have
 * added (video_url, Mistral's chunks) are let through and kept as they are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai.h"

static struct chat_part *add(const struct asked *r, struct parts *list, enum chat_part_kind kind)
{
    return parts_add(list, r->a, kind, CHAT_OPENAI);
}

/* ---- parts ---- */

static bool part_text(const struct asked *r, const struct json_node *v, struct parts *out,
                      const struct asked_at *at)
{
    str text;

    if (!json_text(r->doc, json_find(r->doc, v, STR("text")), r->a, &text))
        return asked_bad(r, at, "text", "expected a string");
    add(r, out, CHAT_PART_TEXT)->text = text;
    return true;
}

static bool part_refusal(const struct asked *r, const struct json_node *v, struct parts *out,
                         const struct asked_at *at)
{
    str text;

    if (!json_text(r->doc, json_find(r->doc, v, STR("refusal")), r->a, &text))
        return asked_bad(r, at, "refusal", "expected a string");
    add(r, out, CHAT_PART_REFUSAL)->text = text;
    return true;
}

static bool part_image(const struct asked *r, const struct json_node *v, struct parts *out,
                       const struct asked_at *at)
{
    const struct json_node *image = json_find(r->doc, v, STR("image_url"));
    struct chat_part *part;
    str url, detail = STR("");

    if (image && image->kind == JSON_OBJECT) {
        detail = member_text(r->doc, image, "detail", r->a);
        image = json_find(r->doc, image, STR("url"));
    }
    if (!json_text(r->doc, image, r->a, &url) || url.n == 0)
        return asked_bad(r, at, "image_url.url", "expected the URL of an image");
    part = add(r, out, CHAT_PART_IMAGE);
    part_set_url(url, part);
    part->name = detail;
    return true;
}

/* A URL, a data URL, or bare base64. */
static void set_url_or_data(str s, str mime, struct chat_part *part)
{
    part_set_url(s, part);
    if (part->url.n && str_find(part->url, STR("://")) == STR_NONE) {
        part->data = part->url;
        part->url = STR("");
    }
    if (part->mime.n == 0)
        part->mime = mime;
}

static bool part_audio(const struct asked *r, const struct json_node *v, struct parts *out,
                       const struct asked_at *at)
{
    const struct json_node *audio = json_find(r->doc, v, STR("input_audio"));
    str data = member_text(r->doc, audio, "data", r->a);
    str format = member_text(r->doc, audio, "format", r->a);
    struct chat_part *part;

    if (json_text(r->doc, audio, r->a, &data) && data.n > 0) { /* Mistral's: base64 or a URL */
        part = add(r, out, CHAT_PART_FILE);
        set_url_or_data(data, STR("audio/mpeg"), part);
        return true;
    }
    if (!audio || audio->kind != JSON_OBJECT || data.n == 0 || format.n == 0)
        return asked_bad(r, at, "input_audio", "expected an object with data and format");
    part = add(r, out, CHAT_PART_FILE);
    part->data = data;
    part->mime = str_eq(format, STR("mp3")) ? STR("audio/mpeg")
                                            : arena_printf(r->a, "audio/" STR_FMT, STR_ARG(format));
    return true;
}

/* Its clients speak this dialect, too. */
static bool part_of_mistral(const struct asked *r, const struct json_node *v, struct parts *out,
                            const struct asked_at *at)
{
    (void)at;
    add(r, out, CHAT_PART_OPAQUE)->json = json_raw(r->doc, v);
    out->p[out->n - 1].dialect = CHAT_MISTRAL;
    return true;
}

static bool part_file(const struct asked *r, const struct json_node *v, struct parts *out,
                      const struct asked_at *at)
{
    const struct json_node *file = json_find(r->doc, v, STR("file"));
    str data = member_text(r->doc, file, "file_data", r->a);
    struct chat_part *part;

    if (!file && member_text(r->doc, v, "file_id", r->a).n)
        return part_of_mistral(r, v, out, at);
    if (!file || file->kind != JSON_OBJECT)
        return asked_bad(r, at, "file", "expected an object");
    if (data.n == 0) {
        if (member_text(r->doc, file, "file_id", r->a).n == 0)
            return asked_bad(r, at, "file", "expected file_data or file_id");
        add(r, out, CHAT_PART_OPAQUE)->json = json_raw(r->doc, v);
        return true;
    }
    part = add(r, out, CHAT_PART_FILE);
    part->name = member_text(r->doc, file, "filename", r->a);
    set_url_or_data(
        data, str_ends(part->name, STR(".pdf")) ? STR("application/pdf") : STR(""), part);
    return true;
}

/* What is at an address, or in a data URL: a string, or an object around it. */
static bool part_address(const struct asked *r, const struct json_node *v, struct parts *out,
                         const struct asked_at *at)
{
    static const struct {
        const char *key, *mime;
    } rows[] = {{"video_url", "video/mp4"}, {"audio_url", "audio/mpeg"}, {"document_url", ""}};
    const struct json_node *of;
    struct chat_part *part;
    size_t i = 0;
    str url;

    while (i + 1 < COUNT_OF(rows) && !member_is(r->doc, v, "type", rows[i].key))
        i++;
    of = json_find(r->doc, v, str_c(rows[i].key));
    if (of && of->kind == JSON_OBJECT)
        of = json_find(r->doc, of, STR("url"));
    if (!json_text(r->doc, of, r->a, &url) || url.n == 0)
        return asked_bad(r, at, rows[i].key, "expected a URL");
    part = add(r, out, CHAT_PART_FILE);
    part_set_url(url, part);
    part->name = member_text(r->doc, v, "document_name", r->a);
    if (part->mime.n == 0)
        part->mime = str_c(rows[i].mime);
    return true;
}

static bool part_opaque(const struct asked *r, const struct json_node *v, struct parts *out,
                        const struct asked_at *at)
{
    (void)at;
    add(r, out, CHAT_PART_OPAQUE)->json = json_raw(r->doc, v);
    return true;
}

/* Mistral's chunk and Anthropic's block: the same name, the words in a list or in a string. */
static bool part_thinking(const struct asked *r, const struct json_node *v, struct parts *out,
                          const struct asked_at *at)
{
    const struct json_node *list = json_find(r->doc, v, STR("thinking"));
    struct chat_part *part;
    str text;

    (void)at;
    if (json_text(r->doc, list, r->a, &text)) {
        part = add(r, out, CHAT_PART_REASONING);
        part->text = text;
        part->signature = member_text(r->doc, v, "signature", r->a);
        part->dialect = CHAT_ANTHROPIC;
        return true;
    }
    for (const struct json_node *c = json_first(r->doc, list); c; c = json_next(r->doc, list, c)) {
        text = member_text(r->doc, c, "text", r->a);
        if (text.n)
            add(r, out, CHAT_PART_REASONING)->text = text;
    }
    return true;
}

static const struct {
    str type;
    bool (*read)(const struct asked *r, const struct json_node *v, struct parts *out,
                 const struct asked_at *at);
} types[] = {
    {STR_INIT("text"), part_text},
    {STR_INIT("image_url"), part_image},
    {STR_INIT("input_audio"), part_audio},
    {STR_INIT("file"), part_file},
    {STR_INIT("refusal"), part_refusal},
    {STR_INIT("input_text"), part_text},
    {STR_INIT("output_text"), part_text},
    {STR_INIT("video_url"), part_address},
    {STR_INIT("thinking"), part_thinking},
    {STR_INIT("audio_url"), part_address},
    {STR_INIT("document_url"), part_address},
    {STR_INIT("reference"), part_of_mistral},
    {STR_INIT("image"), part_opaque},
    {STR_INIT("video"), part_opaque},
    {STR_INIT("input_video"), part_opaque},
};

static bool one_part(const struct asked *r, const struct json_node *v, struct parts *out,
                     const struct asked_at *at)
{
    const struct json_node *type = json_find(r->doc, v, STR("type"));

    if (v->kind != JSON_OBJECT)
        return asked_bad(r, at, NULL, "expected an object");
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (json_is(r->doc, type, types[i].type))
            return types[i].read(r, v, out, at);
    if (type && type->kind == JSON_STRING) /* a host's own: providers of this dialect judge it */
        return part_opaque(r, v, out, at);
    return asked_bad(r, at, "type", "expected text, image_url, input_audio, file or refusal");
}

static bool content(const struct asked *r, const struct json_node *v, const struct asked_at *at,
                    struct parts *out)
{
    struct asked_at here = {.up = at, .key = "content"}, item = {.up = &here};
    str text;

    if (json_text(r->doc, v, r->a, &text)) {
        add(r, out, CHAT_PART_TEXT)->text = text;
        return true;
    }
    if (!v || v->kind != JSON_ARRAY)
        return asked_bad(r, at, "content", "expected a string or a list of parts");
    for (const struct json_node *p = json_first(r->doc, v); p;
         p = json_next(r->doc, v, p), item.index++)
        if (!one_part(r, p, out, &item))
            return false;
    return true;
}

/* ---- what an assistant said ---- */

static void thinking_blocks(const struct asked *r, const struct json_node *list, struct parts *out)
{
    for (const struct json_node *b = json_first(r->doc, list); b; b = json_next(r->doc, list, b)) {
        str data = member_text(r->doc, b, "data", r->a);
        struct chat_part *part = add(r, out, CHAT_PART_REASONING);

        part->dialect = CHAT_ANTHROPIC;
        part->text = member_text(r->doc, b, "thinking", r->a);
        part->signature = member_text(r->doc, b, "signature", r->a);
        if (data.n) {
            part->redacted = true;
            part->text = data;
        }
    }
}

/* Words of details, where no member says them; the details themselves are for their own kind. */
static void details(const struct asked *r, const struct json_node *list, bool worded,
                    struct parts *out)
{
    if (!list || list->kind != JSON_ARRAY || list->span == 1)
        return;
    for (const struct json_node *v = json_first(r->doc, list); v && !worded;
         v = json_next(r->doc, list, v)) {
        str text = member_text(r->doc, v, "text", r->a);

        if (text.n == 0)
            text = member_text(r->doc, v, "summary", r->a);
        if (text.n)
            add(r, out, CHAT_PART_REASONING)->text = text;
    }
    add(r, out, CHAT_PART_OPAQUE)->json =
        arena_printf(r->a, "{\"reasoning_details\":" STR_FMT "}", STR_ARG(json_raw(r->doc, list)));
}

static void thoughts(const struct asked *r, const struct members *of, struct parts *out)
{
    const struct json_node *blocks = members_have(of, OPENAI_AT_THINKING_BLOCKS);
    bool worded = false;

    if (blocks && blocks->kind == JSON_ARRAY && blocks->span > 1) {
        thinking_blocks(r, blocks, out);
        return;
    }
    for (unsigned i = 0; i < COUNT_OF(openai_thought_members) && !worded; i++) {
        str text = members_text(of, OPENAI_AT_REASONING_CONTENT + i, r->doc, r->a);

        if (text.n == 0)
            continue;
        add(r, out, CHAT_PART_REASONING)->text = text;
        worded = true;
    }
    details(r, members_have(of, OPENAI_AT_REASONING_DETAILS), worded, out);
}

/* Arguments as one JSON object: what is no JSON is what the model wrote, and goes in a string. */
static str arguments(const struct asked *r, const struct json_node *v)
{
    str text;

    if (v && v->kind == JSON_OBJECT)
        return json_raw(r->doc, v);
    if (!json_text(r->doc, v, r->a, &text) || str_trim(text).n == 0)
        return STR("{}");
    if (member_is_object(text))
        return text;
    return arena_printf(r->a, "{\"arguments\":" STR_FMT "}", STR_ARG(json_raw(r->doc, v)));
}

static bool tool_calls(const struct asked *r, const struct json_node *list,
                       const struct asked_at *at, struct parts *out)
{
    struct asked_at here = {.up = at, .key = "tool_calls"}, item = {.up = &here};

    if (list->kind != JSON_ARRAY)
        return asked_bad(r, at, "tool_calls", "expected a list of calls");
    for (const struct json_node *v = json_first(r->doc, list); v;
         v = json_next(r->doc, list, v), item.index++) {
        const struct json_node *function = member_find(r->doc, v, "function");
        const struct json_node *custom = member_find(r->doc, v, "custom");
        struct chat_part *part;
        str id, name;

        if (!json_text(r->doc, json_find(r->doc, v, STR("id")), r->a, &id))
            return asked_bad(r, &item, "id", "expected a string");
        if (!json_text(
                r->doc, json_find(r->doc, function ? function : custom, STR("name")), r->a, &name))
            return asked_bad(r, &item, "function.name", "expected a string");
        part = add(r, out, CHAT_PART_TOOL_CALL);
        part->id = id;
        part->name = name;
        part->json =
            function ? arguments(r, json_find(r->doc, function, STR("arguments")))
                     : part_custom_arguments(r->doc, json_find(r->doc, custom, STR("input")), r->a);
    }
    return true;
}

/* A turn that was cut off before its answer may have no content. */
static bool assistant(const struct asked *r, const struct members *of, const struct asked_at *at,
                      struct parts *out)
{
    const struct json_node *said = members_have(of, OPENAI_AT_CONTENT);
    const struct json_node *calls = members_have(of, OPENAI_AT_TOOL_CALLS);
    const struct json_node *function = members_have(of, OPENAI_AT_FUNCTION_CALL);
    str refusal = members_text(of, OPENAI_AT_REFUSAL, r->doc, r->a);

    thoughts(r, of, out);
    if (said && !content(r, said, at, out))
        return false;
    if (refusal.n)
        add(r, out, CHAT_PART_REFUSAL)->text = refusal;
    if (calls && !tool_calls(r, calls, at, out))
        return false;
    if (function) {
        struct chat_part *part = add(r, out, CHAT_PART_TOOL_CALL);

        part->name = member_text(r->doc, function, "name", r->a);
        part->id = part->name;
        part->json = arguments(r, json_find(r->doc, function, STR("arguments")));
    }
    return true;
}

static bool tool_result(const struct asked *r, const struct json_node *m, const struct members *of,
                        const struct asked_at *at, struct parts *out)
{
    const struct json_node *said = members_get(of, OPENAI_AT_CONTENT);
    bool old = json_is(r->doc, members_get(of, OPENAI_AT_ROLE), STR("function"));
    str id, name = members_text(of, OPENAI_AT_NAME, r->doc, r->a);
    struct parts inner = {0};
    struct chat_part *part;

    if (old)
        id = name;
    else if (!json_text(r->doc, json_find(r->doc, m, STR("tool_call_id")), r->a, &id))
        return asked_bad(r, at, "tool_call_id", "expected the id of the call this answers");
    if (old && name.n == 0)
        return asked_bad(r, at, "name", "expected the name of the function");
    if (!(old && said && said->kind == JSON_NULL) && !content(r, said, at, &inner))
        return false;
    part = add(r, out, CHAT_PART_TOOL_RESULT);
    part->id = id;
    part->name = name;
    part->parts = inner.p;
    part->part_count = inner.n;
    return true;
}

/* ---- messages ---- */

static bool message(const struct asked *r, const struct json_node *m, const struct asked_at *at,
                    struct chat_message *out)
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
    struct members of;
    size_t k = 0;
    bool ok;

    if (m->kind != JSON_OBJECT)
        return asked_bad(r, at, NULL, "expected an object");
    members_read(&openai_names, r->doc, m, 0, &of);
    role = members_get(&of, OPENAI_AT_ROLE);
    while (k < COUNT_OF(roles) && !json_is(r->doc, role, roles[k].name))
        k++;
    if (k == COUNT_OF(roles))
        return asked_bad(
            r, at, "role", "expected system, developer, user, assistant, tool or function");
    if (roles[k].role == CHAT_ASSISTANT)
        ok = assistant(r, &of, at, &parts);
    else if (roles[k].role == CHAT_TOOL)
        ok = tool_result(r, m, &of, at, &parts);
    else
        ok = content(r, members_get(&of, OPENAI_AT_CONTENT), at, &parts);
    *out = (struct chat_message){.role = roles[k].role,
                                 .name = members_text(&of, OPENAI_AT_NAME, r->doc, r->a),
                                 .parts = parts.p,
                                 .part_count = parts.n};
    return ok;
}

bool openai_read_messages(const struct asked *r, const struct json_node *list)
{
    struct asked_at here = {.key = "messages"}, item = {.up = &here};
    size_t n = list && list->kind == JSON_ARRAY ? json_count(r->doc, list) : 0;

    if (n == 0)
        return asked_bad(
            r, NULL, "messages", "expected a list of messages with at least one in it");
    r->out->messages = arena_alloc(r->a, n * sizeof(struct chat_message)); /* each is filled */
    r->out->message_count = n;
    for (const struct json_node *m = json_first(r->doc, list); m;
         m = json_next(r->doc, list, m), item.index++)
        if (!message(r, m, &item, &r->out->messages[item.index]))
            return false;
    return true;
}

bool openai_read(const struct json *doc, struct arena *a, struct chat_request *out, struct err *e)
{
    const struct json_node *root = json_root(doc);
    struct chat_request q;
    struct asked r = {.doc = doc, .a = a, .e = e, .out = &q, .brackets = true};
    struct members m;

    part_request_init(&q, CHAT_OPENAI, doc);
    if (!root || root->kind != JSON_OBJECT)
        return err_set(e, ERR_INPUT, "the body: expected a JSON object");
    members_read(&openai_asked, doc, root, 0, &m);
    q.model = members_text(&m, OPENAI_ASK_MODEL, doc, a);
    if (q.model.n == 0)
        return asked_bad(&r, NULL, "model", "expected a string, the name of a model");
    if (!openai_read_messages(&r, members_get(&m, OPENAI_ASK_MESSAGES)) ||
        !openai_read_options(&r, &m) || !openai_read_thinking(&r, &m))
        return false;
    *out = q;
    return true;
}
