/* decision.c - see decision.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "chat/decision.h"

#include "base/utf8.h"
#include "chat/repr.h"

#define CALLS_ARENA_MAX ((size_t)64 << 20)

static str decision_cut(str s, size_t size_max, bool *was)
{
    *was = s.n > size_max;
    return *was ? utf8_cut_size(s, size_max) : s;
}

/* name(k='v', ...). Arguments that are no object are given as they came. */
static void decision_put_call(struct buf *out, str name, str arguments)
{
    struct buf text;
    struct json doc;
    struct err e;
    bool longer;

    assert(arguments.p);
    buf_init(&text, 8 * DECISION_ARGUMENTS_MAX);
    if (json_open(&doc, arguments, &e) && json_root(&doc)->kind == JSON_OBJECT)
        repr_arguments(&text, &doc, json_root(&doc));
    else
        buf_add(&text, arguments);
    buf_add(out, name);
    buf_add_c(out, '(');
    buf_add(out, decision_cut(buf_str(&text), DECISION_ARGUMENTS_MAX, &longer));
    if (longer || buf_full(&text))
        buf_add(out, STR("..."));
    buf_add_c(out, ')');
    json_release(&doc);
    buf_release(&text);
}

/* Writes the names of the calls and, without a reason, their arguments. */
static void decision_put_calls(struct buf *out, struct buf *tools, const struct json *doc,
                               const struct json_node *calls, bool why)
{
    struct buf with;
    struct arena a;
    const char *mark = "";

    assert(calls->kind == JSON_ARRAY);
    arena_init(&a, CALLS_ARENA_MAX);
    buf_init(&with, out->size_max);
    buf_add(out, STR("[TOOL_CALL] "));
    JSON_FOREACH(c, doc, calls) {
        str name = STR(""), arguments = STR("");

        if (!json_text(doc, json_find(doc, c, STR("name")), &a, &name) ||
            !json_text(doc, json_find(doc, c, STR("arguments")), &a, &arguments))
            continue;
        buf_add(out, str_c(*mark ? ", " : ""));
        buf_add(out, name);
        if (tools) {
            buf_add(tools, str_c(*mark ? "," : "["));
            (void)json_quote(tools, name);
        }
        if (!why) {
            buf_add(&with, str_c(*mark ? "; " : ""));
            decision_put_call(&with, name, arguments);
        }
        mark = ",";
    }
    if (tools && *mark)
        buf_add_c(tools, ']');
    buf_add(out, STR(": "));
    buf_add(out, buf_str(&with));
    buf_release(&with);
    arena_release(&a);
}

void decision_write(struct buf *out, struct buf *tools, const struct decision *d)
{
    struct json doc;
    struct err e;
    bool called = false, longer;
    str why = utf8_trim(d->why);

    json_init(&doc);
    if (d->calls.n && json_parse(&doc, d->calls, &e))
        called = json_root(&doc)->kind == JSON_ARRAY && json_first(&doc, json_root(&doc));
    if (called)
        decision_put_calls(out, tools, &doc, json_root(&doc), why.n > 0);
    else
        buf_add(out, STR("[DIRECT] "));
    if (why.n) {
        buf_add(out, decision_cut(why, DECISION_WHY_MAX, &longer));
        if (longer)
            buf_add(out, STR("..."));
    } else if (!called) {
        buf_add(out, utf8_cut_count(utf8_trim(d->answer), DECISION_SNIPPET));
    }
    json_release(&doc);
}
