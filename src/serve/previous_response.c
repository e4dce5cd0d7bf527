/* previous_response.c - continues a conversation from a previous_response_id, for providers that
 * store no responses.
 *
 * The items of the previous responses are put before the client's own, so the request then contains
 * the whole conversation. The id stays in it: the reply repeats it, and the gateway recognizes the
 * conversation by it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/internal.h"

str exchange_items_of(const struct json *doc, const struct json_node *v, struct arena *a)
{
    str raw;

    if (!v)
        return STR("");
    raw = json_raw(doc, v);
    if (v->kind == JSON_STRING)
        return arena_join(a, STR("{\"role\":\"user\",\"content\":"), raw, STR("}"));
    return v->kind == JSON_ARRAY ? str_trim(str_slice(raw, 1, raw.n - 1)) : STR("");
}

static str previous_key_name(const struct exchange *ex)
{
    return ex->key ? ex->key->name : STR("");
}

static bool previous_fail_too_large(struct exchange *ex)
{
    exchange_fail(ex,
                  413,
                  "conversation_too_large",
                  "with its previous turns, the request is larger than %zu bytes",
                  ex->setup->config->body_max);
    return false;
}

/* Replaces the body by one with these changes; false after a reply. */
static bool exchange_put_restart(struct exchange *ex, struct json_edits *edits)
{
    struct buf body;
    struct err e;
    str text;
    bool ok;

    assert(!ex->ended);
    buf_init(&body, 2 * ex->setup->config->body_max);
    json_edits_apply(edits, &body);
    text = arena_dup(server_arena(ex->x), buf_str(&body));
    ok = !buf_full(&body) && json_parse(&ex->doc, text, &e);
    buf_release(&body);
    return ok || previous_fail_too_large(ex);
}

/* The JSON of an item that the request only names, or "" if it is not known. */
static str previous_is_named(struct exchange *ex, const struct json_node *item)
{
    struct arena *a = server_arena(ex->x);
    struct previous_responses *known = ex->worker->daemon->gateway.previous_responses;
    str id, text = STR("");
    struct buf found;
    struct err e;

    if (item->kind != JSON_OBJECT ||
        !json_is(&ex->doc, json_find(&ex->doc, item, STR("type")), STR("item_reference")) ||
        !json_text(&ex->doc, json_find(&ex->doc, item, STR("id")), a, &id))
        return text;
    buf_init(&found, ex->setup->config->body_max);
    if (previous_response_find(known, previous_key_name(ex), id, &found, &e))
        text = arena_dup(a, buf_str(&found));
    buf_release(&found);
    return text;
}

/* Replaces references by the items that they name. */
static bool exchange_put_items(struct exchange *ex)
{
    const struct json_node *input = json_find(&ex->doc, json_root(&ex->doc), STR("input"));
    struct json_edits edits;
    size_t size = 0;

    assert(ex->wire->dialect == CHAT_RESPONSES);
    if (!input || input->kind != JSON_ARRAY)
        return true;
    json_edits_init(&edits, &ex->doc, server_arena(ex->x));
    JSON_FOREACH(v, &ex->doc, input) {
        str item = previous_is_named(ex, v);

        if (item.n)
            json_edit_replace(&edits, v, item);
        size += item.n; /* one large item may be referenced many times */
        if (size > ex->setup->config->body_max)
            return previous_fail_too_large(ex);
    }
    return !size || exchange_put_restart(ex, &edits);
}

/* Puts the previous items before the new ones. */
static bool previous_put_before(struct exchange *ex, struct buf *items)
{
    struct json_edits edits;
    str list;

    assert(ex->previous.id.n > 0);
    if (items->n && ex->previous.items.n)
        buf_add_c(items, ',');
    buf_add(items, ex->previous.items);
    if (buf_full(items))
        return previous_fail_too_large(ex);
    list = arena_join(server_arena(ex->x), STR("["), buf_str(items), STR("]"));
    json_edits_init(&edits, &ex->doc, server_arena(ex->x));
    json_edit_set(&edits, json_root(&ex->doc), STR("input"), list);
    ex->previous.whole = exchange_put_restart(ex, &edits);
    return ex->previous.whole;
}

bool exchange_add_previous(struct exchange *ex)
{
    struct arena *a = server_arena(ex->x);
    struct previous_responses *known = ex->worker->daemon->gateway.previous_responses;
    const struct json_node *root = json_root(&ex->doc);
    bool store = true, ok = true;
    struct buf items;
    struct err e;

    ex->previous =
        (struct exchange_previous){.items = STR(""), .id = STR(""), .read = ex->previous.read};
    if (ex->wire->dialect != CHAT_RESPONSES || root->kind != JSON_OBJECT)
        return true;
    if (!exchange_put_items(ex))
        return false;
    root = json_root(&ex->doc);
    (void)!json_bool(json_find(&ex->doc, root, STR("store")), &store);
    ex->previous.keep = store;
    ex->previous.items = exchange_items_of(&ex->doc, json_find(&ex->doc, root, STR("input")), a);
    if (!json_text(&ex->doc,
                   json_find(&ex->doc, root, STR("previous_response_id")),
                   a,
                   &ex->previous.id) ||
        !ex->previous.id.n)
        return true;
    buf_init(&items, 2 * ex->setup->config->body_max);
    if (previous_response_find(known, previous_key_name(ex), ex->previous.id, &items, &e) ||
        e.code == ERR_LIMIT)
        ok = previous_put_before(ex, &items);
    else
        ok = !exchange_read_previous(
            ex); /* an id that is not known here may be known to the provider */
    buf_release(&items);
    return ok;
}

/* The whole response: the reply itself, or the content of a stream's last event. */
static str exchange_last_response(struct exchange *ex)
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

/* Each item can also be referenced by itself. */
static void exchange_put_each(struct exchange *ex, const struct json *doc,
                              const struct json_node *output, struct previous_response r)
{
    assert(output->kind == JSON_ARRAY);
    r.previous = STR("");
    JSON_FOREACH(v, doc, output) {
        r.items = json_raw(doc, v);
        if (v->kind == JSON_OBJECT &&
            json_text(doc, json_find(doc, v, STR("id")), server_arena(ex->x), &r.id))
            previous_response_put(ex->worker->daemon->gateway.previous_responses, &r);
    }
}

static void exchange_put_response(struct exchange *ex, const struct json *doc,
                                  struct previous_response r)
{
    struct arena *a = server_arena(ex->x);
    const struct json_node *root = json_root(doc), *output;
    str said;

    root = ex->request.stream ? json_find(doc, root, STR("response")) : root;
    output = root ? json_find(doc, root, STR("output")) : NULL;
    if (!output || output->kind != JSON_ARRAY ||
        !json_text(doc, json_find(doc, root, STR("id")), a, &r.id) || !str_ends(r.id, ex->id))
        return;
    said = exchange_items_of(doc, output, a);
    r.items = arena_join(
        a, ex->previous.items, ex->previous.items.n && said.n ? STR(",") : STR(""), said);
    previous_response_put(ex->worker->daemon->gateway.previous_responses, &r);
    exchange_put_each(ex, doc, output, r);
}

void exchange_keep_response(struct exchange *ex)
{
    struct previous_response r = {.who = previous_key_name(ex),
                                  .session = call_session(ex->call),
                                  .previous = ex->previous.whole ? ex->previous.id : STR("")};
    struct json doc;
    struct err e;

    assert(ex->call);
    /* A provider that stores the response under its own id continues it by itself. */
    if (ex->wire->dialect != CHAT_RESPONSES || !ex->previous.keep || call_relays(ex->call) ||
        (ex->previous.id.n && !ex->previous.whole))
        return;
    if (json_open(&doc, exchange_last_response(ex), &e))
        exchange_put_response(ex, &doc, r);
    json_release(&doc);
}
