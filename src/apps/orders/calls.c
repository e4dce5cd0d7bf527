/* calls.c - the calls of a reply, as they are stored.
 *
 * A model that thinks in tags may do so anywhere, also in the arguments of a call. Such reasoning
 * is removed from the arguments; the rest of the call stays as it was.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/orders_state.h"

#include "apps/orders/customer_filter.h"
#include "base/utf8.h"

#define ARGUMENTS_MAX 65536
#define CLEAN_MAX (8 * ARGUMENTS_MAX)
#define NAME_MAX_SIZE 200
#define TOO_LONG "{\"too_long\":true}"

struct cleaning {
    struct arena *arena;
    str thought; /* the first reasoning found */
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

/* Each string value on its own: bytes that are not reasoning stay as they were. */
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

/* Arguments longer than any order are dropped; the tool then reports what is missing. */
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

/* Masked before they are stored, so secrets are not sent again either. */
static str order_calls_masked(struct turn *t, str json)
{
    struct buf out;

    buf_init(&out, CLEAN_MAX);
    if (t->setup->mask && mask_json(t->setup->mask, json, &out, NULL))
        json = buf_full(&out) ? STR(TOO_LONG) : arena_dup(t->arena, buf_str(&out));
    buf_release(&out);
    return json;
}

void calls_clean(struct turn *t, const struct ask_reply *r, size_t number, struct ask_reply *out,
                 str *thought)
{
    struct cleaning c = {t->arena, STR("")};

    out->call_count = r->call_count;
    out->calls = arena_zero(t->arena, r->call_count + 1, sizeof *out->calls);
    for (size_t i = 0; i < r->call_count; i++) {
        const struct ask_call *from = &r->calls[i];
        str name = has_mark(from->name) ? said(&c, from->name) : from->name;

        out->calls[i] = (struct ask_call){
            .id = from->id.n ? from->id : arena_printf(t->arena, "call_%zu_%zu", number, i),
            .name = utf8_cut_size(name, NAME_MAX_SIZE),
            .arguments = order_calls_masked(t, clean_arguments(&c, from->arguments))};
    }
    *thought = c.thought;
}

void calls_write(struct json_out *o, const struct ask_reply *r)
{
    for (size_t i = 0; i < r->call_count; i++) {
        json_out_object(o);
        json_member_str(o, "id", r->calls[i].id);
        json_member_str(o, "type", STR("function"));
        json_member_object(o, "function");
        json_member_str(o, "name", r->calls[i].name);
        json_member_str(o, "arguments", r->calls[i].arguments);
        json_out_end(o);
        json_out_end(o);
    }
}
