/* calls.c - prepares the calls of a reply for storage.
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

static str calls_strip_thought(struct cleaning *c, str text)
{
    str kept, thought;

    customer_filter_tags(text, c->arena, &kept, &thought);
    if (!c->thought.n)
        c->thought = thought;
    return kept;
}

static bool calls_has_mark(str text)
{
    return memchr(text.p, '<', text.n) || memchr(text.p, '[', text.n);
}

/* Each string value on its own: bytes that are not reasoning stay as they were. */
static str clean_json(struct cleaning *c, const struct json *doc)
{
    size_t from = 0;
    struct buf out;
    str text;

    buf_init(&out, CLEAN_MAX);
    for (uint32_t i = 0; i < doc->n; i++) {
        const struct json_node *v = &doc->nodes[i];
        str kept;

        if (!json_text(doc, v, c->arena, &text) || !calls_has_mark(text))
            continue;
        kept = calls_strip_thought(c, text);
        if (kept.n == str_trim(text).n)
            continue;
        assert(from <= v->at && v->at + v->size <= doc->src.n);
        buf_add(&out, str_slice(doc->src, from, v->at));
        (void)json_quote(&out, kept);
        from = v->at + v->size;
    }
    buf_add(&out, str_slice(doc->src, from, doc->src.n));
    return arena_move_buf(c->arena, &out);
}

/* Arguments longer than any order are dropped; the tool then reports what is missing. */
static str clean_arguments(struct cleaning *c, str arguments)
{
    struct json doc;
    struct err e;

    if (arguments.n > ARGUMENTS_MAX)
        return STR(TOO_LONG);
    json_init(&doc);
    if (arguments.n && calls_has_mark(arguments)) {
        if (!json_parse(&doc, arguments, &e))
            arguments = calls_strip_thought(c, arguments);
        if (json_parse(&doc, arguments, &e))
            arguments = clean_json(c, &doc);
    }
    json_release(&doc);
    return str_trim(arguments).n ? arguments : STR("{}");
}

/* Masked before they are stored, so secrets are not sent again either. */
static str order_calls_masked(const struct mask *mask, str json, struct arena *a)
{
    struct buf out;

    buf_init(&out, CLEAN_MAX);
    if (mask && mask_json(mask, json, &out, NULL))
        json = buf_full(&out) ? STR(TOO_LONG) : arena_dup(a, buf_str(&out));
    buf_release(&out);
    return json;
}

void calls_clean(struct turn *t, struct ask_reply *r, struct arena *a, str *thought)
{
    struct cleaning c = {a, STR("")};

    for (size_t i = 0; i < r->call_count; i++) {
        struct ask_call *call = &r->calls[i];

        if (!call->id.n)
            call->id = arena_printf(a, "call_%zu_%zu", t->facts.messages + 1, i);
        if (calls_has_mark(call->name))
            call->name = calls_strip_thought(&c, call->name);
        call->name = call->name.n ? utf8_cut_size(call->name, NAME_MAX_SIZE) : STR(CALLS_UNNAMED);
        call->arguments =
            order_calls_masked(t->setup->mask, clean_arguments(&c, call->arguments), a);
        assert(call->id.n > 0 && call->name.n > 0 && call->arguments.n > 0);
    }
    *thought = c.thought;
}
