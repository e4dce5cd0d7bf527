/* past.c - Responses that go on from another by its id, for providers that keep none.
 *
 * The items of what was said before are put in front of what the client sends, so that from here
 * on the request is one that says everything by itself. The id stays in it: the reply repeats it,
 * and a conversation is recognised by it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_edit.h"
#include "serve/internal.h"

/* What stands in an array; a text is what the user says. */
static str items_of(const struct json *doc, const struct json_node *v, struct arena *a)
{
    str raw;

    if (!v)
        return STR("");
    raw = json_raw(doc, v);
    if (v->kind == JSON_STRING)
        return arena_join(a, STR("{\"role\":\"user\",\"content\":"), raw, STR("}"));
    return v->kind == JSON_ARRAY ? str_trim(str_slice(raw, 1, raw.n - 1)) : STR("");
}

/* The body again, with everything in it. */
static bool put_whole(struct exchange *ex, struct buf *items)
{
    struct arena *a = server_arena(ex->x);
    size_t size_max = ex->setup->config->body_max;
    struct json_edits edits;
    struct buf body;
    struct err e;
    str text, list;

    if (items->n && ex->past.items.n)
        buf_add_c(items, ',');
    buf_add(items, ex->past.items);
    list = arena_join(a, STR("["), buf_str(items), STR("]"));
    buf_init(&body, 2 * size_max);
    json_edits_init(&edits, &ex->doc, a);
    json_edit_set(&edits, json_root(&ex->doc), STR("input"), list);
    json_edits_apply(&edits, &body);
    text = arena_dup(a, buf_str(&body));
    ex->past.whole = !buf_full(&body) && !buf_full(items) && json_parse(&ex->doc, text, &e);
    buf_release(&body);
    if (!ex->past.whole)
        exchange_fail(ex,
                      413,
                      "conversation_too_large",
                      "with all that was said before, the request is larger than %zu bytes",
                      size_max);
    return ex->past.whole;
}

bool past_begin(struct exchange *ex)
{
    const struct json_node *root = json_root(&ex->doc);
    struct arena *a = server_arena(ex->x);
    struct past *past = ex->worker->daemon->gateway.past;
    bool store = true, ok = true;
    struct buf items;
    struct err e;

    ex->past = (struct exchange_past){.items = STR(""), .previous = STR("")};
    if (ex->wire->dialect != CHAT_RESPONSES || root->kind != JSON_OBJECT)
        return true;
    (void)!json_bool(json_find(&ex->doc, root, STR("store")), &store);
    ex->past.keep = store;
    ex->past.items = items_of(&ex->doc, json_find(&ex->doc, root, STR("input")), a);
    if (!json_text(&ex->doc,
                   json_find(&ex->doc, root, STR("previous_response_id")),
                   a,
                   &ex->past.previous) ||
        !ex->past.previous.n)
        return true;
    buf_init(&items, ex->setup->config->body_max);
    /* One that is not known here may be known to the provider. */
    if (past_find(past, ex->key ? ex->key->name : STR(""), ex->past.previous, &items, &e))
        ok = put_whole(ex, &items);
    else if (e.code == ERR_LIMIT)
        ok = put_whole(ex, &items); /* which says so */
    buf_release(&items);
    return ok;
}

/* The response as a whole: the reply itself, or what the last event of a stream has. */
static str last_response(struct exchange *ex)
{
    static const str ends[] = {STR_INIT("event: response.completed\ndata: "),
                               STR_INIT("event: response.incomplete\ndata: ")};
    str out = buf_str(&ex->out);

    if (!ex->request.stream)
        return out;
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        size_t at = str_find(out, ends[i]);

        if (at != STR_NONE) {
            out = str_slice(out, at + ends[i].n, out.n);
            at = str_find(out, STR("\n"));
            return at == STR_NONE ? out : str_slice(out, 0, at);
        }
    }
    return STR("");
}

void past_end(struct exchange *ex)
{
    struct arena *a = server_arena(ex->x);
    struct past_response r = {.who = ex->key ? ex->key->name : STR(""),
                              .session = call_session(ex->call),
                              .previous = ex->past.whole ? ex->past.previous : STR("")};
    const struct json_node *root;
    struct json doc;
    struct err e;
    str said;

    /* What a provider has under an id of its own it can go on from by itself. */
    if (ex->wire->dialect != CHAT_RESPONSES || !ex->past.keep || call_relays(ex->call) ||
        (ex->past.previous.n && !ex->past.whole))
        return;
    json_init(&doc);
    if (json_parse(&doc, last_response(ex), &e)) {
        root = json_root(&doc);
        root = ex->request.stream ? json_find(&doc, root, STR("response")) : root;
        said = items_of(&doc, root ? json_find(&doc, root, STR("output")) : NULL, a);
        r.items =
            arena_join(a, ex->past.items, ex->past.items.n && said.n ? STR(",") : STR(""), said);
        if (root && json_text(&doc, json_find(&doc, root, STR("id")), a, &r.id) &&
            str_ends(r.id, ex->id))
            past_put(ex->worker->daemon->gateway.past, &r);
    }
    json_release(&doc);
}
