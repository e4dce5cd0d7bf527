/* tool_help.c - see tool_help.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tool_help.h"

#include "wire/wire.h"

#define BODY_MAX ((size_t)64 << 20)

static const enum chat_dialect dialects[] = {
    CHAT_OPENAI, CHAT_RESPONSES, CHAT_ANTHROPIC, CHAT_GEMINI, CHAT_MISTRAL, CHAT_OLLAMA};

bool same_json(str a, str b)
{
    struct json da, db;
    struct err e;
    bool same;

    json_init(&da);
    json_init(&db);
    same = json_parse(&da, a, &e) && json_parse(&db, b, &e) &&
           json_equal(&da, json_root(&da), &db, json_root(&db));
    json_release(&da);
    json_release(&db);
    return same;
}

/* A schema without constraints accepts any object; dialects write it in different ways. */
static bool says_nothing(str schema)
{
    return !schema.n || same_json(schema, STR("{}")) ||
           same_json(schema, STR("{\"type\":\"object\"}")) ||
           same_json(schema, STR("{\"type\":\"object\",\"properties\":{}}"));
}

/* Arguments are always objects, so "type": "object" may be present or not. */
static bool same_but_object(str a, str b)
{
    struct json doc;
    struct err e;
    struct buf out;
    bool same = false;

    json_init(&doc);
    buf_init(&out, BODY_MAX);
    if (json_parse(&doc, a, &e) && json_root(&doc)->kind == JSON_OBJECT &&
        !json_find(&doc, json_root(&doc), STR("type"))) {
        json_splice_set(&doc, json_root(&doc), STR("type"), STR("\"object\""), &out);
        same = same_json(buf_str(&out), b);
    }
    buf_release(&out);
    json_release(&doc);
    return same;
}

static bool same_schema(str a, str b)
{
    return (says_nothing(a) && says_nothing(b)) || same_json(a, b) || same_but_object(a, b);
}

static void check_tools(const char *name, const struct chat_request *a,
                        const struct chat_request *b)
{
    CHECK_F(a->tool_count == b->tool_count,
            "%s: %zu tools, not %zu",
            name,
            b->tool_count,
            a->tool_count);
    for (size_t i = 0; i < a->tool_count; i++) {
        const struct chat_tool *x = &a->tools[i], *y = &b->tools[i];

        CHECK_F(str_eq(x->name, y->name),
                "%s: " STR_FMT " is now " STR_FMT,
                name,
                STR_ARG(x->name),
                STR_ARG(y->name));
        CHECK_F(str_eq(x->description, y->description), "%s: " STR_FMT, name, STR_ARG(x->name));
        CHECK_F(same_schema(x->schema, y->schema),
                "%s: " STR_FMT ": " STR_FMT " is now " STR_FMT,
                name,
                STR_ARG(x->name),
                STR_ARG(x->schema),
                STR_ARG(y->schema));
    }
}

static const struct chat_part *next_call(const struct chat_request *r, size_t *m, size_t *p)
{
    for (; *m < r->message_count; ++*m, *p = 0)
        while (*p < r->messages[*m].part_count) {
            const struct chat_part *part = &r->messages[*m].parts[(*p)++];

            if (part->kind == CHAT_PART_TOOL_CALL)
                return part;
        }
    return NULL;
}

static void check_calls(const char *name, const struct chat_request *a,
                        const struct chat_request *b)
{
    size_t am = 0, ap = 0, bm = 0, bp = 0;
    const struct chat_part *x, *y;

    do {
        x = next_call(a, &am, &ap);
        y = next_call(b, &bm, &bp);
        CHECK_F(!x == !y, "%s: calls are lost or made up", name);
        CHECK_F(!x || (str_eq(x->name, y->name) && same_json(x->json, y->json)),
                "%s: " STR_FMT " " STR_FMT " is now " STR_FMT " " STR_FMT,
                name,
                STR_ARG(x->name),
                STR_ARG(x->json),
                STR_ARG(y->name),
                STR_ARG(y->json));
    } while (x);
}

static void check_one(const struct wire *w, const struct chat_request *asked, struct arena *a)
{
    const struct wire *reader = w->read ? w : wire_get(CHAT_OPENAI);
    struct chat_request back;
    struct json doc;
    struct err e;
    struct buf out;

    json_init(&doc);
    buf_init(&out, BODY_MAX);
    w->write(asked, &out);
    if (!json_parse(&doc, buf_str(&out), &e) || !reader->read(&doc, a, &back, &e))
        fail_msg("%s: %s: " STR_FMT, w->name, e.text, STR_ARG(buf_str(&out)));
    check_tools(w->name, asked, &back);
    check_calls(w->name, asked, &back);
    json_release(&doc);
    buf_release(&out);
}

size_t check_dialects(str body)
{
    struct chat_request asked;
    struct arena a;
    struct json doc;
    struct err e;
    size_t n = 0;

    json_init(&doc);
    arena_init(&a, BODY_MAX);
    if (!json_parse(&doc, body, &e) || !wire_get(CHAT_OPENAI)->read(&doc, &a, &asked, &e))
        fail_msg("%s: " STR_FMT, e.text, STR_ARG(body));
    for (size_t i = 0; i < COUNT_OF(dialects); i++) {
        check_one(wire_get(dialects[i]), &asked, &a);
        n += asked.tool_count;
    }
    arena_release(&a);
    json_release(&doc);
    return n;
}
