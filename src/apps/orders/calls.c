/* calls.c - what the model calls: as it is kept, and as it is sent again.
 *
 * A model that thinks in tags may do so anywhere, also in the arguments of a call. There a thought
 * is no more for anybody than beside it, and without it the call is what was meant.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/orders_in.h"

#include "apps/orders/customer_filter.h"
#include "base/utf8.h"

#define ARGUMENTS_MAX 65536
#define CLEAN_MAX (8 * ARGUMENTS_MAX)
#define NAME_MAX_SIZE 200
#define TOO_LONG "{\"too_long\":true}"

struct cleaning {
    struct arena *arena;
    str thought; /* the first there was */
};

static str said(struct cleaning *c, str text)
{
    str kept, thought;

    customer_filter_tags(text, c->arena, &kept, &thought);
    if (!c->thought.n)
        c->thought = thought;
    return kept;
}

static bool has_mark(str text)
{
    return memchr(text.p, '<', text.n) || memchr(text.p, '[', text.n);
}

/* The texts in it, each by itself: every byte that is no thought stays as it was. */
static str clean_json(struct cleaning *c, const struct json *doc)
{
    size_t from = 0;
    struct buf out;
    str all, text;

    buf_init(&out, CLEAN_MAX);
    for (uint32_t i = 0; i < doc->n; i++) {
        const struct json_node *v = &doc->nodes[i];
        str kept;

        if (!json_text(doc, v, c->arena, &text) || !has_mark(text))
            continue;
        kept = said(c, text);
        if (kept.n == str_trim(text).n)
            continue;
        buf_add(&out, str_slice(doc->src, from, v->at));
        (void)json_quote(&out, kept);
        from = v->at + v->size;
    }
    buf_add(&out, str_slice(doc->src, from, doc->src.n));
    all = arena_dup(c->arena, buf_str(&out));
    buf_release(&out);
    return all;
}

/* What is longer than any order is not kept, and the tool misses what it needs. */
static str clean_arguments(struct cleaning *c, str arguments)
{
    struct json doc;
    struct err e;

    if (arguments.n > ARGUMENTS_MAX)
        return STR(TOO_LONG);
    json_init(&doc);
    if (arguments.n && has_mark(arguments)) {
        if (!json_parse(&doc, arguments, &e))
            arguments = said(c, arguments);
        if (json_parse(&doc, arguments, &e))
            arguments = clean_json(c, &doc);
    }
    json_release(&doc);
    return arguments.n ? arguments : STR("{}");
}

/* Nothing that is to be masked is kept, and so nothing of it is sent again. */
static str order_calls_masked(struct turn *t, str json)
{
    struct buf out;

    buf_init(&out, CLEAN_MAX);
    if (t->setup->mask && mask_json(t->setup->mask, json, &out, NULL))
        json = buf_full(&out) ? STR(TOO_LONG) : arena_dup(t->arena, buf_str(&out));
    buf_release(&out);
    return json;
}

void calls_clean(struct turn *t, const struct ask_reply *r, size_t number, struct last_reply *out,
                 str *thought)
{
    struct cleaning c = {t->arena, STR("")};

    out->call_count = r->call_count;
    out->calls = arena_zero(t->arena, r->call_count + 1, sizeof *out->calls);
    for (size_t i = 0; i < r->call_count; i++) {
        const struct ask_call *from = &r->calls[i];
        str name = has_mark(from->name) ? said(&c, from->name) : from->name;

        out->calls[i] = (struct tools_call){
            .id = from->id.n ? from->id : arena_printf(t->arena, "call_%zu_%zu", number, i),
            .name = utf8_cut_size(name, NAME_MAX_SIZE),
            .arguments = order_calls_masked(t, clean_arguments(&c, from->arguments))};
    }
    *thought = c.thought;
}

static void write_call(struct json_out *o, str id, str name, str arguments)
{
    json_out_object(o);
    json_out_key(o, STR("id"));
    json_out_str(o, id);
    json_out_key(o, STR("type"));
    json_out_str(o, STR("function"));
    json_out_key(o, STR("function"));
    json_out_object(o);
    json_out_key(o, STR("name"));
    json_out_str(o, name);
    json_out_key(o, STR("arguments"));
    json_out_str(o, arguments);
    json_out_end(o);
    json_out_end(o);
}

void calls_write(struct json_out *o, const struct last_reply *r)
{
    for (size_t i = 0; i < r->call_count; i++)
        write_call(o, r->calls[i].id, r->calls[i].name, r->calls[i].arguments);
}

/* Some hosts refuse a history in which arguments are no JSON object, or a tool has no name. */
void calls_send(struct json_out *o, const struct last_reply *r, struct arena *a)
{
    struct json doc;
    struct buf in;
    struct err e;

    json_init(&doc);
    for (size_t i = 0; i < r->call_count; i++) {
        const struct tools_call *c = &r->calls[i];
        bool good = json_parse(&doc, c->arguments, &e) && json_root(&doc)->kind == JSON_OBJECT;

        buf_init(&in, CLEAN_MAX);
        if (!good) {
            buf_add(&in, STR("{\"arguments\":"));
            (void)json_quote(&in, c->arguments);
            buf_add_c(&in, '}');
        }
        write_call(o,
                   c->id,
                   c->name.n ? c->name : STR("unnamed"),
                   good ? c->arguments : arena_dup(a, buf_str(&in)));
        buf_release(&in);
    }
    json_release(&doc);
}
