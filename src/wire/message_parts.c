/* message_parts.c - requests put together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/message_parts.h"

#include "base/base64.h"
#include "base/json_get.h"
#include "wire/arena_text.h"
#include "wire/json_write.h"
#include "wire/request_reader.h"

#define LOOK_BACK_MAX 1024 /* parts, and messages: of a turn there are never so many */

void part_request_init(struct chat_request *out, enum chat_dialect dialect, const struct json *doc)
{
    struct chat_request q = {.dialect = dialect, .budget_tokens = -1, .doc = doc};

    static_assert(offsetof(struct chat_request, stops) ==
                      offsetof(struct chat_request, numbers) + sizeof q.numbers,
                  "every number is in the array");
    for (size_t i = 0; i < CHAT_NUMBER_COUNT; i++)
        q.numbers[i] = STR("");
    q.model = q.choice_name = q.user = STR("");
    q.format_name = q.format_description = q.format_schema = STR("");
    q.unknown_param = q.unknown_why = STR("");
    *out = q;
}

struct chat_part part_new(enum chat_part_kind kind, enum chat_dialect dialect)
{
    struct chat_part p = {.kind = kind, .dialect = dialect};

    p.text = p.signature = p.id = p.name = p.json = p.mime = p.url = p.data = STR("");
    return p;
}

struct chat_tool part_tool(enum chat_dialect dialect)
{
    struct chat_tool t = {.dialect = dialect};

    t.name = t.description = t.space = t.schema = t.opaque = STR("");
    return t;
}

struct chat_part *part_text_new(struct arena *a, str text, enum chat_dialect dialect)
{
    struct chat_part *p = arena_alloc(a, sizeof *p);

    *p = part_new(CHAT_PART_TEXT, dialect);
    p->text = text;
    return p;
}

bool part_message_opaque(const struct request_reader *r, const struct json_node *v,
                         enum chat_dialect dialect, struct chat_message *out)
{
    struct parts parts = {0};

    parts_add(&parts, r, CHAT_PART_OPAQUE, dialect)->json = json_raw(r->doc, v);
    *out = (struct chat_message){
        .role = CHAT_USER, .name = STR(""), .parts = parts.p, .part_count = parts.n};
    return parts_ok(&parts, r->e);
}

static void parts_grow(struct parts *list, const struct request_reader *r)
{
    size_t cap = list->cap ? 2 * list->cap : 1; /* most have one */
    struct chat_part *grown;

    if (!request_alloc(r, cap, sizeof *grown, &grown)) {
        list->full = true;
        return;
    }
    if (list->n)
        memcpy(grown, list->p, list->n * sizeof *grown);
    list->p = grown;
    list->cap = cap;
}

struct chat_part *parts_add(struct parts *list, const struct request_reader *r,
                            enum chat_part_kind kind, enum chat_dialect dialect)
{
    struct chat_part *p;

    assert(list->n <= list->cap && !list->p == !list->cap);
    if (list->n == list->cap && !list->full)
        parts_grow(list, r);
    p = list->full ? &list->ignored : &list->p[list->n++];
    *p = part_new(kind, dialect);
    return p;
}

bool parts_ok(const struct parts *list, struct err *e)
{
    return !list->full || err_set(e, ERR_LIMIT, "the request has too many parts");
}

size_t parts_to_messages(struct chat_part *parts, size_t n, enum chat_role role,
                         struct chat_message *out)
{
    size_t i = 0, count = 0;

    do {
        bool tool = i < n && parts[i].kind == CHAT_PART_TOOL_RESULT;
        size_t from = i;

        while (i < n && (parts[i].kind == CHAT_PART_TOOL_RESULT) == tool)
            i++;
        out[count++] = (struct chat_message){.role = tool ? CHAT_TOOL : role,
                                             .name = STR(""),
                                             .parts = parts + from,
                                             .part_count = i - from};
    } while (i < n);
    assert(count <= (n ? n : 1)); /* the room that `out` has */
    return count;
}

bool part_choice_word(const struct json *doc, const struct json_node *v, enum chat_choice_kind *out)
{
    static const struct {
        const char *word;
        enum chat_choice_kind kind;
    } rows[] = {
        {"auto", CHAT_CHOICE_AUTO}, {"none", CHAT_CHOICE_NONE}, {"required", CHAT_CHOICE_REQUIRED}};

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (json_is(doc, v, str_c(rows[i].word))) {
            *out = rows[i].kind;
            return true;
        }
    return false;
}

/* ---- tools ---- */

void part_allow_begin(struct map *allowed)
{
    map_init(allowed, NULL, MAP_COUNT_MAX);
}

void part_allow(struct map *allowed, str name)
{
    struct err e;

    (void)!map_set(allowed, name, MAP_U64(1), &e); /* it has room for more than a body has */
}

void part_allow_end(struct map *allowed, struct chat_request *q)
{
    for (size_t i = 0; i < q->tool_count; i++)
        q->tools[i].barred = !map_find(allowed, q->tools[i].name);
    map_release(allowed);
}

size_t part_tools_going(const struct chat_request *r, enum chat_dialect to)
{
    size_t n = 0;

    for (size_t i = 0; i < r->tool_count; i++)
        n += chat_tool_goes(&r->tools[i], to);
    return n;
}

str part_arguments(const struct json *doc, const struct json_node *v, struct arena *a)
{
    str text;

    if (json_is_object(v))
        return json_raw(doc, v);
    if (!json_text(doc, v, a, &text) || str_trim(text).n == 0)
        return STR("{}");
    if (json_is_object_text(text))
        return text;
    return json_format(a, "{'arguments':%j}", json_raw(doc, v));
}

/* The format of a custom tool is {"type": "grammar", "syntax", "definition"}; Chat Completions has
 * the two in a box. */
void part_tool_custom(const struct json *doc, const struct json_node *v, struct arena *a,
                      struct chat_tool *t)
{
    const struct json_node *format = json_get(doc, v, "format");
    const struct json_node *box = json_get(doc, format, "grammar");
    str definition = json_get_text(doc, box ? box : format, "definition", a);

    t->custom = true;
    t->name = json_get_text(doc, v, "name", a);
    t->description = json_get_text(doc, v, "description", a);
    if (definition.n) /* in one copy: request_alloc leaves room for one of every text */
        t->description =
            arena_printf(a,
                         STR_FMT "\n\nThe input must be of this grammar (" STR_FMT "):\n\n" STR_FMT,
                         STR_ARG(t->description),
                         STR_ARG(json_get_text(doc, box ? box : format, "syntax", a)),
                         STR_ARG(definition));
    t->schema = STR("{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},"
                    "\"required\":[\"input\"],\"additionalProperties\":false}");
}

bool part_is_custom(const struct chat_request *r, str name)
{
    for (size_t i = 0; i < r->tool_count; i++)
        if (r->tools[i].custom && str_eq(r->tools[i].name, name))
            return true;
    return false;
}

str part_custom_arguments(const struct json *doc, const struct json_node *input, struct arena *a)
{
    str raw = input && input->kind == JSON_STRING ? json_raw(doc, input) : STR("\"\"");

    return json_format(a, "{'input':%j}", raw);
}

str part_custom_piece(str input, bool first, bool last, struct arena *a)
{
    struct buf quoted;
    str text;

    buf_init(&quoted, JSON_SIZE_MAX);
    text = arena_join(a,
                      first ? STR("{\"input\":\"") : STR(""),
                      json_escaped(&quoted, input),
                      last ? STR("\"}") : STR(""));
    buf_release(&quoted);
    return text;
}

str part_custom_input(str arguments, struct arena *a)
{
    const struct json_node *v;
    struct json doc;
    struct err e;
    str text = arguments;

    if (json_open(&doc, arguments, &e)) {
        v = json_find(&doc, json_root(&doc), STR("input"));
        if (v && v->kind == JSON_STRING && json_text(&doc, v, a, &text))
            text = arena_text_dup(a, text); /* it may lie in the doc */
    }
    json_release(&doc);
    return text;
}

/* ---- data ---- */

bool part_data_url(str url, str *mime, str *data)
{
    size_t comma = str_find(url, STR(","));
    str head;

    if (!str_starts(url, STR("data:")) || comma == STR_NONE)
        return false;
    head = str_slice(url, 5, comma);
    if (!str_ends(head, STR(";base64")))
        return false;
    head = str_slice(head, 0, str_find(head, STR(";")));
    *mime = head;
    *data = str_slice(url, comma + 1, url.n);
    return true;
}

void part_set_url(str url, struct chat_part *out)
{
    if (!part_data_url(url, &out->mime, &out->data))
        out->url = url;
}

bool part_base64(str data, struct buf *out)
{
    uint32_t bits = 0;
    unsigned have = 0;

    for (size_t i = 0; i < data.n; i++) {
        int v = base64_digit(data.p[i]);

        if (data.p[i] == '=' || data.p[i] == '\n' || data.p[i] == '\r')
            continue;
        if (v < 0)
            return false;
        assert(have < 8); /* whole bytes are written */
        bits = (bits << 6 | (uint32_t)v) & 0xFFFFFFu;
        have += 6;
        if (have >= 8) {
            have -= 8;
            buf_add_c(out, (char)(uint8_t)(bits >> have));
        }
    }
    return true;
}

double part_number(str json)
{
    struct json doc;
    struct err e;
    double x = 0;

    if (!json_open(&doc, json, &e) || !json_double(&doc, json_root(&doc), &x))
        x = 0;
    json_release(&doc);
    return x;
}

/* ---- calls ---- */

str part_call_name(const struct chat_request *r, size_t end, str id)
{
    size_t left = LOOK_BACK_MAX;

    assert(end <= r->message_count);
    for (size_t i = end; i-- > 0 && left > 0; left--)
        for (size_t k = r->messages[i].part_count; k-- > 0 && left > 1; left--) {
            const struct chat_part *p = &r->messages[i].parts[k];

            if (p->kind == CHAT_PART_TOOL_CALL && str_eq(p->id, id))
                return p->name;
        }
    return STR("");
}
