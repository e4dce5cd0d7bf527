/* translatable.c - refuses a request that the provider's dialect cannot express. Content for the
 * model is never dropped; dropped_params.c lists the parameters that are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_get.h"
#include "gateway/call/internal.h"
#include "gateway/provider.h"

static bool translate_refuse(struct call *c, const char *code, const char *param, const char *why,
                             struct err *e)
{
    assert(code && param && why);
    c->attempt.refusal_code = code;
    c->attempt.refusal_param = param;
    return err_input(e, "%s: %s", param, why);
}

/* ---- members that only one dialect has ---- */

static const struct json_node *translate_member(const struct call *c, const char *key)
{
    const struct json *doc = c->in.request->doc;

    assert(doc);
    return json_find(doc, json_root(doc), str_c(key));
}

static bool translate_has(const struct call *c, const char *key)
{
    const struct json_node *v = translate_member(c, key);

    return v && v->kind != JSON_NULL && v->kind != JSON_FALSE;
}

static bool translate_has_content(const struct call *c, const char *key)
{
    const struct json_node *v = translate_member(c, key);

    return v && json_has_content(c->in.request->doc, v);
}

static bool translate_has_items(const struct call *c, const char *key)
{
    const struct json_node *v = translate_member(c, key);

    return v && v->kind == JSON_ARRAY && json_first(c->in.request->doc, v);
}

static bool translate_has_previous(const struct call *c, const char *key)
{
    return !c->in.whole && translate_has(c, key);
}

static bool translate_has_reference(const struct call *c, const char *key)
{
    const struct json *doc = c->in.request->doc;
    const struct json_node *input = translate_member(c, key);
    bool any = false;

    if (input && input->kind == JSON_ARRAY)
        for (const struct json_node *v = json_first(doc, input); v && !any;
             v = json_next(doc, input, v))
            any = v->kind == JSON_OBJECT &&
                  json_is(doc, json_find(doc, v, STR("type")), STR("item_reference"));
    return any;
}

static bool translate_wants_audio(const struct call *c, const char *key)
{
    const struct json *doc = c->in.request->doc;
    const struct json_node *list = translate_member(c, key);
    bool any = false;

    if (list && list->kind == JSON_ARRAY)
        for (const struct json_node *v = json_first(doc, list); v; v = json_next(doc, list, v))
            any |= json_is(doc, v, STR("audio"));
    return any && c->attempt.wire->dialect != CHAT_MISTRAL;
}

static const struct row {
    enum chat_dialect dialect; /* of the client; its own providers are asked as they are */
    const char *key, *code;
    bool (*is)(const struct call *c, const char *key);
    const char *why;
} translate_rows[] = {
    {CHAT_RESPONSES,
     "previous_response_id",
     "previous_response_not_found",
     translate_has_previous,
     "that response is not known here (they are kept for a day or as long as their record, and not "
     "with store: false), and this model's provider keeps none: send the whole conversation as "
     "input"},
    {CHAT_RESPONSES,
     "conversation",
     "unsupported_parameter",
     translate_has,
     "this model's provider keeps no conversations: send the whole conversation as input, or "
     "previous_response_id"},
    {CHAT_RESPONSES,
     "prompt",
     "unsupported_parameter",
     translate_has,
     "this model's provider keeps no prompts: send it as instructions and input"},
    {CHAT_RESPONSES,
     "input",
     "item_not_found",
     translate_has_reference,
     "an item_reference names an unknown item, and this model's provider keeps no items: send the "
     "item itself"},
    {CHAT_RESPONSES,
     "background",
     "unsupported_parameter",
     translate_has,
     "this model's provider answers while it is waited for: ask without it"},
    {CHAT_OPENAI,
     "modalities",
     "unsupported_parameter",
     translate_wants_audio,
     "this model's provider answers in text alone"},
    {CHAT_ANTHROPIC,
     "container",
     "unsupported_parameter",
     translate_has,
     "this model's provider has no containers"},
    {CHAT_ANTHROPIC,
     "thread",
     "thread_unsupported_request", /* its SDK then continues without one */
     translate_has,
     "this model's provider holds no threads: send the whole conversation as messages"},
    {CHAT_ANTHROPIC,
     "mcp_servers",
     "unsupported_parameter",
     translate_has_items,
     "this model's provider asks no MCP servers: send their tools as tools"},
    {CHAT_GEMINI,
     "cachedContent",
     "unsupported_parameter",
     translate_has,
     "this model's provider has no such cache: send the content itself"},
    {CHAT_GEMINI,
     "cached_content",
     "unsupported_parameter",
     translate_has,
     "this model's provider has no such cache: send the content itself"},
    {CHAT_OLLAMA,
     "suffix",
     "unsupported_parameter",
     translate_has_content,
     "this model's provider cannot fill in the middle of a text"},
    {CHAT_OLLAMA,
     "raw",
     "unsupported_parameter",
     translate_has_content,
     "this model's provider takes no prompt without a template: send messages to /api/chat"},
    {CHAT_OLLAMA,
     "template",
     "unsupported_parameter",
     translate_has_content,
     "this model's provider takes no template: send messages to /api/chat"},
    {CHAT_OLLAMA,
     "context",
     "unsupported_parameter",
     translate_has_content,
     "this model's provider takes no tokens: send the conversation as messages to /api/chat"},
};

static bool translate_check_members(struct call *c, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(translate_rows) && c->in.request->doc; i++)
        if (translate_rows[i].dialect == c->in.wire->dialect &&
            translate_rows[i].is(c, translate_rows[i].key))
            return translate_refuse(
                c, translate_rows[i].code, translate_rows[i].key, translate_rows[i].why, e);
    return true;
}

/* ---- settings ---- */

/* A value that the reader did not know cannot be said in another dialect. */
static bool translate_check_values(struct call *c, struct err *e)
{
    const struct chat_request *r = c->in.request;

    return !r->unknown_why.n ||
           translate_refuse(c,
                            "invalid_request",
                            arena_printf(&c->arena, STR_FMT, STR_ARG(r->unknown_param)).p,
                            arena_printf(&c->arena, STR_FMT, STR_ARG(r->unknown_why)).p,
                            e);
}

static bool translate_gives_one_choice(enum chat_dialect d)
{
    return d == CHAT_RESPONSES || d == CHAT_ANTHROPIC || d == CHAT_OLLAMA;
}

static bool translate_check_choices(struct call *c, struct err *e)
{
    bool gemini = c->in.wire->dialect == CHAT_GEMINI;
    uint64_t n;

    if (!translate_gives_one_choice(c->attempt.wire->dialect) || !str_u64(c->in.request->n, &n) ||
        n < 2)
        return true;
    return translate_refuse(c,
                            "unsupported_parameter",
                            gemini ? "generationConfig.candidateCount" : "n",
                            "this model's provider gives one answer a call",
                            e);
}

/* A tool that must be called has to be there. */
static bool translate_check_tool_choice(struct call *c, struct err *e)
{
    const struct chat_request *r = c->in.request;
    bool any = r->choice == CHAT_CHOICE_REQUIRED;

    if ((!any && r->choice != CHAT_CHOICE_TOOL) || (any && r->tool_count == 0))
        return true;
    for (size_t i = 0; i < r->tool_count; i++)
        if (chat_tool_goes(&r->tools[i], c->attempt.wire->dialect) &&
            (any || str_eq(r->tools[i].name, r->choice_name)))
            return true;
    return translate_refuse(c,
                            "unsupported_parameter",
                            "tool_choice",
                            any ? "it asks for a call, and this model's provider is given no tool"
                                : "it names a tool that this model's provider is not given",
                            e);
}

/* ---- error texts ---- */

/* Why a part of what a user or a tool says cannot be; NULL: it can. */
static const char *translate_part_problem(const struct call *c, const struct chat_part *p)
{
    enum chat_dialect from = c->in.wire->dialect, to = c->attempt.wire->dialect;
    bool sounds = str_starts(p->mime, STR("audio/")) || str_starts(p->mime, STR("video/"));
    bool data = p->data.n || str_starts(p->url, STR("data:"));

    if (p->kind == CHAT_PART_OPAQUE && from == CHAT_OPENAI && to == CHAT_MISTRAL)
        return NULL;
    if (p->kind == CHAT_PART_OPAQUE)
        return p->dialect == to ? NULL : "takes no parts of this type";
    if (p->kind == CHAT_PART_IMAGE && to == CHAT_OLLAMA && !data && p->url.n)
        return "takes images only with their data, not by URL";
    if (p->kind == CHAT_PART_FILE && to == CHAT_OLLAMA)
        return "takes text and images, but no files";
    if (p->kind == CHAT_PART_FILE && to == CHAT_OPENAI && !data && p->url.n &&
        !str_starts(p->mime, STR("video/")) &&
        call_provider(c)->row->think != WIRE_THINK_OPENROUTER)
        return "takes files only with their data, not by URL";
    if (p->kind == CHAT_PART_FILE && to == CHAT_ANTHROPIC && sounds)
        return "takes text, images and documents, but neither sound nor film";
    return NULL;
}

/* `: "TYPE"` of a part that only its own dialect understands; "" if it has no type. */
static str translate_part_type(struct call *c, const struct chat_part *p)
{
    struct json doc;
    struct err e;
    str type = STR("");

    if (p->kind != CHAT_PART_OPAQUE)
        return type;
    if (json_open(&doc, p->json, &e))
        type = json_get_text(&doc, json_root(&doc), "type", &c->arena);
    json_release(&doc);
    return type.n ? arena_printf(&c->arena, ": \"" STR_FMT "\"", STR_ARG(type)) : type;
}

static bool translate_check_parts(struct call *c, const struct chat_part *p, size_t n,
                                  size_t message, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        const char *why = translate_part_problem(c, &p[i]);

        if (why)
            return err_input(e,
                             "message %zu: the provider \"" STR_FMT "\" %s" STR_FMT,
                             message,
                             STR_ARG(call_provider(c)->name),
                             why,
                             STR_ARG(translate_part_type(c, &p[i])));
        if (!translate_check_parts(c, p[i].parts, p[i].part_count, message, e))
            return false;
    }
    return true;
}

bool call_check_translatable(struct call *c, struct err *e)
{
    const struct chat_request *r = c->in.request;

    assert(c->attempt.wire);
    if (c->in.wire->dialect == c->attempt.wire->dialect)
        return true;
    call_parse_request(c);
    if (!translate_check_values(c, e) || !translate_check_members(c, e) ||
        !translate_check_choices(c, e) || !translate_check_tool_choice(c, e))
        return false;
    for (size_t i = 0; i < r->message_count; i++)
        if (r->messages[i].role != CHAT_ASSISTANT &&
            !translate_check_parts(c, r->messages[i].parts, r->messages[i].part_count, i, e))
            return false;
    return true;
}

uint8_t call_next_provider(struct call *c)
{
    const struct wire *wire = c->attempt.wire;
    uint8_t here = c->chain.at, next;
    struct err e;

    assert(here < c->chain.count);
    for (next = (uint8_t)(here + 1); next < c->chain.count; next++) {
        c->chain.at = next;
        c->attempt.wire = wire_get(c->chain.links[next].provider->dialect);
        if (call_check_translatable(c, &e))
            break;
    }
    c->chain.at = here;
    c->attempt.wire = wire;
    c->attempt.refusal_code = c->attempt.refusal_param = NULL;
    assert(next > here && next <= c->chain.count);
    return next;
}
