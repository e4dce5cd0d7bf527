/* write.c - a request as a body of generateContent.
 *
 * Schemas go out as parametersJsonSchema and responseJsonSchema, which take JSON Schema as it is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/gemini/gemini.h"

#include <strings.h>

#define CALLS_MAX ((size_t)1 << 24)

struct turn {
    const struct chat_request *r;
    struct json_out *o;
    const char *role;
    struct map *calls; /* by id, the latest that has it */
    bool open;
    bool *first; /* none has begun before it */
};

static void gemini_write_turn_open(struct turn *t, const char *role)
{
    assert(!t->open);
    json_out_object(t->o);
    json_write_text(t->o, "role", str_c(role));
    json_member_array(t->o, "parts");
}

/* The turn of a user who has said nothing. */
static void gemini_write_silence(struct turn *t)
{
    assert(!t->open && *t->first);
    gemini_write_turn_open(t, "user");
    json_out_object(t->o);
    json_member_str(t->o, "text", STR(SILENT_USER_TEXT));
    json_out_close(t->o, 3);
}

/* The first turn is the user's, because a model's calls must follow one. */
static void gemini_write_turn_begin(struct turn *t)
{
    if (t->open)
        return;
    if (*t->first && strcmp(t->role, "user") != 0)
        gemini_write_silence(t);
    gemini_write_turn_open(t, t->role);
    t->open = true;
    *t->first = false;
}

static void gemini_write_part_begin(struct turn *t)
{
    gemini_write_turn_begin(t);
    assert(t->open && !*t->first);
    json_out_object(t->o);
}

static void gemini_write_turn_end(struct turn *t)
{
    if (t->open) {
        json_out_close(t->o, 2);
    }
}

static bool gemini_write_is_signed(const struct chat_part *p)
{
    return p->dialect == CHAT_GEMINI && p->signature.n && !wire_signature_ours(p->signature);
}

static void gemini_write_put_signature(struct json_out *o, const struct chat_part *p)
{
    if (gemini_write_is_signed(p))
        json_write_text(o, "thoughtSignature", p->signature);
}

static void gemini_write_put_text(struct turn *t, const struct chat_part *p, bool thought)
{
    if (p->text.n == 0 && !gemini_write_is_signed(p))
        return;
    gemini_write_part_begin(t);
    json_member_str(t->o, "text", p->text);
    if (thought)
        json_member_bool(t->o, "thought", true);
    gemini_write_put_signature(t->o, p);
    json_out_end(t->o);
}

/* The MIME type of a file at a URL, by its extension; empty if unknown. */
static str gemini_write_mime_by_name(str url)
{
    static const struct {
        str end, mime;
    } known[] = {
        {STR_INIT(".png"), STR_INIT("image/png")},
        {STR_INIT(".jpg"), STR_INIT("image/jpeg")},
        {STR_INIT(".jpeg"), STR_INIT("image/jpeg")},
        {STR_INIT(".webp"), STR_INIT("image/webp")},
        {STR_INIT(".gif"), STR_INIT("image/gif")},
        {STR_INIT(".pdf"), STR_INIT("application/pdf")},
    };
    size_t n = 0;

    while (n < url.n && url.p[n] != '?' && url.p[n] != '#')
        n++;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (n >= known[i].end.n &&
            strncasecmp(url.p + n - known[i].end.n, known[i].end.p, known[i].end.n) == 0)
            return known[i].mime;
    return STR("");
}

static void gemini_write_put_media(struct turn *t, const struct chat_part *p)
{
    str mime = p->mime, data = p->data, url = p->url;

    if (url.n && part_data_url(url, &mime, &data))
        url = STR("");
    if (url.n == 0 && data.n == 0)
        return;
    if (mime.n == 0 && url.n)
        mime = gemini_write_mime_by_name(url);
    else if (mime.n == 0)
        mime = p->kind == CHAT_PART_IMAGE ? STR("image/png") : STR("application/pdf");
    gemini_write_part_begin(t);
    json_out_key(t->o, url.n ? STR("fileData") : STR("inlineData"));
    json_out_object(t->o);
    json_write_text(t->o, "mimeType", mime);
    if (url.n)
        json_write_text(t->o, "fileUri", url);
    else
        json_write_text(t->o, "data", data);
    json_out_end(t->o);
    gemini_write_put_signature(t->o, p);
    json_out_end(t->o);
}

static void gemini_write_put_call(struct turn *t, const struct chat_part *p)
{
    gemini_write_part_begin(t);
    json_member_object(t->o, "functionCall");
    json_write_text(t->o, "id", p->id);
    json_write_text(t->o, "name", p->name);
    json_out_key(t->o, STR("args"));
    json_write_arguments(t->o, p->json, false);
    json_out_end(t->o);
    gemini_write_put_signature(t->o, p);
    json_out_end(t->o);
}

static void gemini_write_note_call(struct turn *t, const struct chat_part *p)
{
    struct err e;

    assert(p->kind == CHAT_PART_TOOL_CALL);
    if (p->id.n && !map_set(t->calls, p->id, MAP_PTR((void *)(uintptr_t)p), &e))
        return; /* the id is then used as the name */
}

/* The name of the tool that was called, which other dialects do not say again. */
static str gemini_write_name_of(const struct turn *t, const struct chat_part *result)
{
    struct map_entry *call;

    assert(result->kind == CHAT_PART_TOOL_RESULT);
    if (result->name.n)
        return result->name;
    call = map_find(t->calls, result->id);
    return call ? ((const struct chat_part *)call->value.ptr)->name : result->id;
}

static void gemini_write_join_text(const struct chat_part *p, struct buf *out)
{
    for (size_t i = 0; i < p->part_count; i++)
        if (p->parts[i].kind == CHAT_PART_TEXT) {
            if (out->n)
                buf_add_c(out, '\n');
            buf_add(out, p->parts[i].text);
        }
}

/* An object goes as it is, all else as {"output": text}. */
static void gemini_write_put_response(struct json_out *o, str text, bool is_error)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    if (!is_error && json_parse(&doc, text, &e) && json_root(&doc)->kind == JSON_OBJECT) {
        json_out_raw(o, text);
    } else {
        json_out_object(o);
        json_out_key(o, is_error ? STR("error") : STR("output"));
        json_out_str(o, text);
        json_out_end(o);
    }
    json_release(&doc);
}

static void gemini_write_put_result(struct turn *t, const struct chat_part *p)
{
    struct buf text;

    assert(p->kind == CHAT_PART_TOOL_RESULT);
    buf_init(&text, (size_t)256 << 20);
    gemini_write_join_text(p, &text);
    gemini_write_part_begin(t);
    json_member_object(t->o, "functionResponse");
    json_write_text(t->o, "id", p->id);
    json_write_text(t->o, "name", gemini_write_name_of(t, p));
    json_out_key(t->o, STR("response"));
    gemini_write_put_response(t->o, buf_str(&text), p->is_error);
    json_out_close(t->o, 2);
    buf_release(&text);
    for (size_t i = 0; i < p->part_count; i++)
        if (p->parts[i].kind == CHAT_PART_IMAGE || p->parts[i].kind == CHAT_PART_FILE)
            gemini_write_put_media(t, &p->parts[i]);
}

static void gemini_write_put_part(struct turn *t, const struct chat_part *p)
{
    switch (p->kind) {
    case CHAT_PART_TEXT:
    case CHAT_PART_REFUSAL:
        gemini_write_put_text(t, p, false);
        break;
    case CHAT_PART_REASONING:
        if (p->dialect == CHAT_GEMINI && !p->redacted)
            gemini_write_put_text(t, p, true);
        break;
    case CHAT_PART_IMAGE:
    case CHAT_PART_FILE:
        gemini_write_put_media(t, p);
        break;
    case CHAT_PART_TOOL_CALL:
        gemini_write_note_call(t, p);
        gemini_write_put_call(t, p);
        break;
    case CHAT_PART_TOOL_RESULT:
        gemini_write_put_result(t, p);
        break;
    case CHAT_PART_OPAQUE:
        if (p->dialect == CHAT_GEMINI && p->json.n) {
            gemini_write_turn_begin(t);
            json_out_raw(t->o, p->json);
        }
        break;
    }
}

static bool gemini_write_is_assistant(const struct chat_message *m)
{
    return m->role == CHAT_ASSISTANT;
}

/* Results come first in the turn after the calls. */
static void gemini_write_put_run(struct turn *t, size_t from, size_t to, bool assistant)
{
    assert(from < to && to <= t->r->message_count);
    for (int pass = 0; pass < (assistant ? 1 : 2); pass++)
        for (size_t at = from; at < to; at++) {
            const struct chat_message *m = &t->r->messages[at];

            for (size_t k = 0; m->role != CHAT_SYSTEM && k < m->part_count; k++)
                if (assistant || (m->parts[k].kind == CHAT_PART_TOOL_RESULT) == (pass == 0))
                    gemini_write_put_part(t, &m->parts[k]);
        }
}

static void gemini_write_put_contents(const struct chat_request *r, struct json_out *o)
{
    struct map calls;
    bool first = true;

    map_init(&calls, NULL, CALLS_MAX);
    json_member_array(o, "contents");
    for (size_t i = 0, end; i < r->message_count; i = end) {
        bool assistant = gemini_write_is_assistant(&r->messages[i]);
        struct turn t = {
            .r = r, .o = o, .role = assistant ? "model" : "user", .calls = &calls, .first = &first};

        for (end = i; end < r->message_count; end++)
            if (r->messages[end].role != CHAT_SYSTEM &&
                gemini_write_is_assistant(&r->messages[end]) != assistant)
                break;
        gemini_write_put_run(&t, i, end, assistant);
        if (!t.open && !assistant && r->messages[end - 1].role != CHAT_SYSTEM) {
            gemini_write_part_begin(&t); /* an empty turn of the user's is one */
            json_member_str(o, "text", STR(""));
            json_out_end(o);
        }
        gemini_write_turn_end(&t);
    }
    if (first)
        gemini_write_silence(&(struct turn){.r = r, .o = o, .first = &first});
    json_out_end(o);
    map_release(&calls);
}

static void gemini_write_put_system(const struct chat_request *r, struct json_out *o)
{
    bool any = false;

    for (size_t i = 0; i < r->message_count; i++)
        for (size_t k = 0; r->messages[i].role == CHAT_SYSTEM && k < r->messages[i].part_count;
             k++) {
            const struct chat_part *p = &r->messages[i].parts[k];

            if (p->kind != CHAT_PART_TEXT || p->text.n == 0)
                continue;
            if (!any) {
                json_member_object(o, "systemInstruction");
                json_member_array(o, "parts");
            }
            any = true;
            json_out_object(o);
            json_write_text(o, "text", p->text);
            json_out_end(o);
        }
    if (any) {
        json_out_close(o, 2);
    }
}

/* ---- tools ---- */

/* Whether a tool must be called: then the request lists all tools, and the names of the allowed
 * ones. */
static bool gemini_write_names_allowed(const struct chat_request *r)
{
    return r->choice == CHAT_CHOICE_REQUIRED || r->choice == CHAT_CHOICE_TOOL;
}

static bool gemini_write_goes(const struct chat_request *r, const struct chat_tool *t)
{
    return t->opaque.n == 0 && (!t->barred || gemini_write_names_allowed(r));
}

static size_t gemini_write_count_functions(const struct chat_request *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->tool_count; i++)
        n += gemini_write_goes(r, &r->tools[i]);
    return n;
}

static void gemini_write_put_functions(const struct chat_request *r, struct json_out *o)
{
    json_out_object(o);
    json_member_array(o, "functionDeclarations");
    for (size_t i = 0; i < r->tool_count; i++) {
        const struct chat_tool *t = &r->tools[i];

        if (!gemini_write_goes(r, t))
            continue;
        json_out_object(o);
        json_write_text(o, "name", t->name);
        json_write_text(o, "description", t->description);
        if (t->schema.n) {
            json_member_raw(o, "parametersJsonSchema", t->schema);
        }
        json_out_end(o);
    }
    json_out_close(o, 2);
}

static void gemini_write_put_allowed(const struct chat_request *r, struct json_out *o)
{
    bool any = r->choice == CHAT_CHOICE_TOOL;

    for (size_t i = 0; i < r->tool_count; i++)
        any |= r->tools[i].barred;
    if (!any || !gemini_write_names_allowed(r))
        return;
    json_member_array(o, "allowedFunctionNames");
    if (r->choice == CHAT_CHOICE_TOOL)
        json_out_str(o, r->choice_name);
    for (size_t i = 0; i < r->tool_count && r->choice != CHAT_CHOICE_TOOL; i++)
        if (chat_tool_goes(&r->tools[i], CHAT_GEMINI) && !r->tools[i].opaque.n)
            json_out_str(o, r->tools[i].name);
    json_out_end(o);
}

static void gemini_write_put_choice(const struct chat_request *r, struct json_out *o)
{
    static const char *const modes[] = {[CHAT_CHOICE_AUTO] = "AUTO",
                                        [CHAT_CHOICE_NONE] = "NONE",
                                        [CHAT_CHOICE_REQUIRED] = "ANY",
                                        [CHAT_CHOICE_TOOL] = "ANY"};

    if (r->choice == CHAT_CHOICE_NONE_GIVEN)
        return;
    assert(r->choice < COUNT_OF(modes) && modes[r->choice]);
    json_member_object(o, "toolConfig");
    json_member_object(o, "functionCallingConfig");
    json_write_text(o, "mode", str_c(modes[r->choice]));
    gemini_write_put_allowed(r, o);
    json_out_close(o, 2);
}

static void gemini_write_put_tools(const struct chat_request *r, struct json_out *o)
{
    size_t functions = gemini_write_count_functions(r), others = 0;

    for (size_t i = 0; i < r->tool_count; i++)
        others += r->tools[i].opaque.n && chat_tool_goes(&r->tools[i], CHAT_GEMINI);
    if (functions + others > 0) {
        json_member_array(o, "tools");
        for (size_t i = 0; i < r->tool_count; i++)
            if (r->tools[i].opaque.n && chat_tool_goes(&r->tools[i], CHAT_GEMINI))
                json_out_raw(o, r->tools[i].opaque);
        if (functions)
            gemini_write_put_functions(r, o);
        json_out_end(o);
    }
    if (functions || r->dialect == CHAT_GEMINI)
        gemini_write_put_choice(r, o);
}

/* ---- generationConfig ---- */

static void gemini_write_put_format(const struct chat_request *r, struct json_out *o)
{
    if (r->format != CHAT_FORMAT_JSON && r->format != CHAT_FORMAT_SCHEMA)
        return;
    json_write_text(o, "responseMimeType", STR("application/json"));
    if (r->format == CHAT_FORMAT_SCHEMA)
        json_write_raw(o, "responseJsonSchema", r->format_schema);
}

/* Writes the level as a client would; the plan replaces what the model does not know. */
static void gemini_write_put_thinking(const struct chat_request *r, struct json_out *o)
{
    static const char *const levels[CHAT_LEVEL_COUNT] = {[CHAT_LEVEL_MINIMAL] = "MINIMAL",
                                                         [CHAT_LEVEL_LOW] = "LOW",
                                                         [CHAT_LEVEL_MEDIUM] = "MEDIUM",
                                                         [CHAT_LEVEL_HIGH] = "HIGH",
                                                         [CHAT_LEVEL_XHIGH] = "HIGH",
                                                         [CHAT_LEVEL_MAX] = "HIGH"};

    assert(r->level < CHAT_LEVEL_COUNT);
    if (r->level == CHAT_LEVEL_NOT_GIVEN && r->budget_tokens < 0 && !r->thoughts && !r->no_thoughts)
        return;
    json_member_object(o, "thinkingConfig");
    if (r->level == CHAT_LEVEL_NONE || r->budget_tokens >= 0 || r->level == CHAT_LEVEL_ON) {
        json_out_key(o, STR("thinkingBudget"));
        json_out_i64(o,
                     r->level == CHAT_LEVEL_NONE ? 0
                     : r->budget_tokens > 0      ? r->budget_tokens
                                                 : -1);
    } else if (levels[r->level]) {
        json_write_text(o, "thinkingLevel", str_c(levels[r->level]));
    }
    if (r->thoughts || r->no_thoughts)
        json_member_bool(o, "includeThoughts", r->thoughts);
    json_out_end(o);
}

static void gemini_write_put_config(const struct chat_request *r, struct json_out *o)
{
    str top;

    json_member_object(o, "generationConfig");
    settings_write(o, r, &gemini_settings);
    json_write_texts(o, "stopSequences", r->stops, r->stop_count);
    gemini_write_put_format(r, o);
    gemini_write_put_thinking(r, o);
    if (request_wants_logprobs(r, &top)) {
        json_member_bool(o, "responseLogprobs", true);
        json_write_raw(o, "logprobs", top);
    }
    json_out_end(o);
}

void gemini_write(const struct chat_request *r, struct buf *out)
{
    struct json_out o;

    json_out_init_object(&o, out);
    gemini_write_put_system(r, &o);
    gemini_write_put_contents(r, &o);
    gemini_write_put_tools(r, &o);
    gemini_write_put_config(r, &o);
    json_out_end(&o);
    assert(o.depth == 0);
}
