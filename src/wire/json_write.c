/* json_write.c - members of JSON objects, and the frames of SSE around them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/json_write.h"

#include "base/json_get.h"
#include "wire/message_parts.h"

#define STRICT_MEMBERS_MAX 1000

void json_write_text(struct json_out *o, const char *key, str text)
{
    if (text.n)
        json_member_str(o, key, text);
}

void json_write_raw(struct json_out *o, const char *key, str json)
{
    if (json.n == 0)
        return;
    json_member_raw(o, key, json);
}

void json_write_texts(struct json_out *o, const char *key, const str *texts, size_t n)
{
    if (n == 0)
        return;
    json_member_array(o, key);
    for (size_t i = 0; i < n; i++)
        json_out_str(o, texts[i]);
    json_out_end(o);
}

void json_write_url(struct json_out *o, const char *key, const struct chat_part *p)
{
    struct buf b;

    if (p->data.n == 0) {
        json_member_str(o, key, p->url);
        return;
    }
    buf_init(&b, p->data.n + p->mime.n + 64);
    buf_add(&b, STR("data:"));
    buf_add(&b, p->mime.n ? p->mime : STR("application/octet-stream"));
    buf_add(&b, STR(";base64,"));
    buf_add(&b, p->data);
    assert(!buf_full(&b));
    json_member_str(o, key, buf_str(&b));
    buf_release(&b);
}

str request_member_raw(const struct chat_request *r, const char *in, const char *name)
{
    const struct json_node *v = r->doc ? json_root(r->doc) : NULL;

    if (v && in)
        v = json_find(r->doc, v, str_c(in));
    if (v)
        v = json_find(r->doc, v, str_c(name));
    return v && v->kind != JSON_NULL ? json_raw(r->doc, v) : STR("");
}

bool request_wants_logprobs(const struct chat_request *r, str *top)
{
    *top = request_member_raw(r, NULL, "top_logprobs");
    if (r->dialect == CHAT_OPENAI)
        return str_eq(request_member_raw(r, NULL, "logprobs"), STR("true"));
    return r->dialect == CHAT_RESPONSES &&
           str_find(request_member_raw(r, NULL, "include"),
                    STR("\"message.output_text.logprobs\"")) != STR_NONE;
}

void json_write_shared(struct json_out *o, const struct chat_request *r)
{
    static const char *const names[] = {"metadata",
                                        "service_tier",
                                        "prompt_cache_key",
                                        "prompt_cache_retention",
                                        "prompt_cache_options",
                                        "safety_identifier",
                                        "moderation"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        json_write_raw(o, names[i], request_member_raw(r, NULL, names[i]));
}

void json_write_typed(struct json_out *o, const char *type)
{
    json_out_object(o);
    json_member_str(o, "type", str_c(type));
}

/* ---- values ---- */

bool json_has_lines(str json)
{
    return memchr(json.p, '\n', json.n) || memchr(json.p, '\r', json.n);
}

void json_write_value(struct json_out *o, str json, bool sse)
{
    if (!sse || !json_has_lines(json)) {
        json_out_raw(o, json);
        return;
    }
    json_out_raw(o, STR("")); /* the comma, if there must be one */
    sse_data(o->buf, json);
}

void json_write_arguments(struct json_out *o, str json, bool sse)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    if (str_trim(json).n == 0) {
        json_out_raw(o, STR("{}"));
    } else if (json_parse(&doc, json, &e) && json_root(&doc)->kind == JSON_OBJECT) {
        json_write_value(o, json_raw(&doc, json_root(&doc)), sse);
    } else {
        json_out_object(o);
        json_write_text(o, "arguments", json);
        json_out_end(o);
    }
    json_release(&doc);
}

void json_write_schema(struct json_out *o, str schema)
{
    struct json doc;
    struct err e;
    struct buf b;

    json_init(&doc);
    if (schema.n == 0 || !json_parse(&doc, schema, &e) || json_root(&doc)->kind != JSON_OBJECT) {
        json_out_raw(o, STR("{\"type\":\"object\"}"));
    } else if (json_find(&doc, json_root(&doc), STR("type"))) {
        json_out_raw(o, schema);
    } else {
        buf_init(&b, schema.n + 64);
        json_splice_set(&doc, json_root(&doc), STR("type"), STR("\"object\""), &b);
        assert(!buf_full(&b));
        json_out_raw(o, buf_str(&b));
        buf_release(&b);
    }
    json_release(&doc);
}

static bool json_write_all_required(const struct json *doc, const struct json_node *members,
                                    const struct json_node *required)
{
    struct map names;
    struct err e;
    bool ok = true;

    map_init(&names, NULL, STRICT_MEMBERS_MAX);
    JSON_FOREACH(v, doc, required)
        ok = ok && map_set(&names, json_raw(doc, v), MAP_U64(1), &e);
    JSON_FOREACH(k, doc, members)
        ok = ok && map_find(&names, json_raw(doc, k));
    map_release(&names);
    return ok;
}

/* An object of a schema: nothing may be left out, nothing may be added. */
static bool json_write_object_is_strict(const struct json *doc, const struct json_node *v,
                                        const struct json_node *members)
{
    const struct json_node *required = json_find(doc, v, STR("required"));
    const struct json_node *others = json_find(doc, v, STR("additionalProperties"));
    size_t n = json_count(doc, members);

    if (!others || others->kind != JSON_FALSE || n > STRICT_MEMBERS_MAX)
        return false;
    if (n == 0)
        return true;
    return json_is_array(required) && json_count(doc, required) <= STRICT_MEMBERS_MAX &&
           json_write_all_required(doc, members, required);
}

bool schema_is_strict(const struct chat_request *r, bool strict, str schema)
{
    struct json doc;
    struct err e;
    bool ok;

    if (!strict || r->dialect == CHAT_OPENAI || r->dialect == CHAT_RESPONSES)
        return strict;
    ok = json_open(&doc, schema, &e) && json_root(&doc)->kind == JSON_OBJECT;
    for (uint32_t i = 0; ok && i < doc.n; i++) {
        const struct json_node *v = json_root(&doc) + i;
        const struct json_node *members =
            v->kind == JSON_OBJECT ? json_find(&doc, v, STR("properties")) : NULL;
        bool object = v->kind == JSON_OBJECT && json_get_is(&doc, v, "type", "object");

        if (json_is_object(members) || (object && !members))
            ok = json_write_object_is_strict(&doc, v, members);
    }
    json_release(&doc);
    return ok;
}

/* ---- tools ---- */

enum tool_strict { STRICT_NEVER, STRICT_IF_GIVEN, STRICT_ALWAYS };

/* How dialects write a function: with its type, in a member `function`, and with a description even
 * if that is empty. Responses takes a function without `strict` for a strict one. */
static const struct {
    bool typed, nested, described;
    enum tool_strict strict;
} tool_forms[CHAT_DIALECT_COUNT] = {
    [CHAT_OPENAI] = {true, true, false, STRICT_IF_GIVEN},
    [CHAT_MISTRAL] = {true, true, false, STRICT_IF_GIVEN},
    [CHAT_RESPONSES] = {true, false, false, STRICT_ALWAYS},
    [CHAT_OLLAMA] = {true, true, true, STRICT_NEVER},
    [CHAT_ANTHROPIC] = {false, false, false, STRICT_IF_GIVEN},
};

static void json_write_function(struct json_out *o, const struct chat_request *r,
                                const struct chat_tool *t, enum chat_dialect to)
{
    str schema = t->schema.n ? t->schema : STR("{\"type\":\"object\",\"properties\":{}}");
    bool strict = t->strict_given && t->strict;

    json_member_str(o, "name", t->name);
    if (t->description.n || tool_forms[to].described)
        json_member_str(o, "description", t->description);
    if (tool_forms[to].typed) {
        json_member_raw(o, "parameters", schema);
        strict = strict && schema_is_strict(r, true, schema);
    } else {
        json_out_key(o, STR("input_schema"));
        json_write_schema(o, t->schema);
    }
    if (tool_forms[to].strict == STRICT_ALWAYS ||
        (tool_forms[to].strict == STRICT_IF_GIVEN && t->strict_given))
        json_member_bool(o, "strict", strict);
}

void json_write_tools(struct json_out *o, const struct chat_request *r, enum chat_dialect to)
{
    assert(to < CHAT_DIALECT_COUNT && (tool_forms[to].typed || to == CHAT_ANTHROPIC));
    if (part_tools_going(r, to) == 0)
        return;
    json_member_array(o, "tools");
    for (size_t i = 0; i < r->tool_count; i++) {
        const struct chat_tool *t = &r->tools[i];

        if (!chat_tool_goes(t, to))
            continue;
        if (t->opaque.n) {
            json_out_raw(o, t->opaque);
            continue;
        }
        json_out_object(o);
        if (tool_forms[to].typed)
            json_member_str(o, "type", STR("function"));
        if (tool_forms[to].nested)
            json_member_object(o, "function");
        json_write_function(o, r, t, to);
        json_out_close(o, tool_forms[to].nested ? 2 : 1);
    }
    json_out_end(o);
}

void json_write_choice(struct json_out *o, const struct chat_request *r, enum chat_dialect to)
{
    static const char *const words[] = {[CHAT_CHOICE_AUTO] = "auto",
                                        [CHAT_CHOICE_NONE] = "none",
                                        [CHAT_CHOICE_REQUIRED] = "required"};

    if (r->choice == CHAT_CHOICE_NONE_GIVEN || part_tools_going(r, to) == 0)
        return;
    json_out_key(o, STR("tool_choice"));
    if (r->choice != CHAT_CHOICE_TOOL) {
        bool any = to == CHAT_MISTRAL && r->choice == CHAT_CHOICE_REQUIRED;

        assert((size_t)r->choice < COUNT_OF(words));
        json_out_str(o, str_c(any ? "any" : words[r->choice]));
        return;
    }
    json_write_typed(o, "function");
    if (tool_forms[to].nested)
        json_member_object(o, "function");
    json_member_str(o, "name", r->choice_name);
    json_out_close(o, tool_forms[to].nested ? 2 : 1);
}

/* ---- parts ---- */

bool json_write_audio(struct json_out *o, const struct chat_part *p)
{
    str format = str_slice(p->mime, sizeof "audio/" - 1, p->mime.n);

    if (!str_starts(p->mime, STR("audio/")) || !p->data.n)
        return false;
    json_member_str(o, "type", STR("input_audio"));
    json_member_object(o, "input_audio");
    json_member_str(o, "data", p->data);
    json_member_str(o, "format", str_eq(format, STR("mpeg")) ? STR("mp3") : format);
    json_out_end(o);
    return true;
}

/* ---- texts ---- */

str json_quoted(struct arena *a, str text)
{
    struct buf b;

    buf_init(&b, 6 * text.n + 16);
    (void)json_quote(&b, text);
    assert(!buf_full(&b));
    return arena_move_buf(a, &b);
}

static void json_print_list(struct buf *out, const char *format, va_list args)
{
    for (const char *p = format; *p; p++) {
        size_t n = str_c(p).n;
        const char *mark = memchr(p, '%', n);
        char *room;

        n = mark ? (size_t)(mark - p) : n;
        room = n ? buf_room(out, n) : NULL;
        for (size_t i = 0; room && i < n; i++)
            room[i] = p[i] == '\'' ? '"' : p[i];
        if (room)
            buf_wrote(out, n);
        if (!mark)
            break;
        p = mark + 1;
        assert(*p == 'q' || *p == 'j' || *p == 'd');
        if (*p == 'q')
            (void)json_quote(out, va_arg(args, str));
        else if (*p == 'j')
            buf_add(out, va_arg(args, str));
        else
            buf_printf(out, "%lld", (long long)va_arg(args, int64_t));
    }
}

void json_print(struct buf *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    json_print_list(out, format, args);
    va_end(args);
}

str json_format(struct arena *a, const char *format, ...)
{
    struct buf b;
    va_list args;

    buf_init(&b, JSON_SIZE_MAX);
    va_start(args, format);
    json_print_list(&b, format, args);
    va_end(args);
    return arena_move_buf(a, &b);
}

str json_escaped(struct buf *out, str text)
{
    size_t at = out->n;

    (void)json_quote(out, text);
    if (out->n < at + 2)
        return STR("");
    return (str){out->p + at + 1, out->n - at - 2};
}

/* ---- SSE ---- */

void sse_begin(struct buf *out, str name)
{
    if (name.n) {
        buf_add(out, STR("event: "));
        buf_add(out, name);
        buf_add_c(out, '\n');
    }
    buf_add(out, STR("data: "));
}

void sse_end(struct buf *out)
{
    buf_add(out, STR("\n\n"));
}

void json_join_lines(struct buf *out, size_t from)
{
    static const char breaks[] = "\n\r";

    assert(from <= out->n);
    for (size_t k = 0; k < 2 && out->n > from; k++) {
        char *end = out->p + out->n, *p = out->p + from;

        while ((p = memchr(p, breaks[k], (size_t)(end - p))) != NULL)
            *p = ' '; /* in JSON, only ever white space between values */
    }
}

void sse_end_lines(struct buf *out, size_t from)
{
    json_join_lines(out, from);
    sse_end(out);
}

void sse_data(struct buf *out, str json)
{
    size_t from = 0, end = json_has_lines(json) ? json.n : 0;

    for (size_t i = 0; i < end; i++)
        if (json.p[i] == '\n' || json.p[i] == '\r') {
            buf_add(out, str_slice(json, from, i));
            buf_add(out, STR("\ndata: "));
            from = i + 1;
        }
    buf_add(out, str_slice(json, from, json.n));
}
