/* text_places.c - the places where a Responses reply says a text again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/relay.h"

#define SENT_MAX (2 * WIRE_BLOCKS_MAX)

bool responses_at_reasoning(enum responses_place_kind kind)
{
    return kind == AT_SUMMARY || kind == AT_THOUGHT;
}

enum chat_event_kind responses_at_event(enum responses_place_kind kind)
{
    static const enum chat_event_kind kinds[] = {
        CHAT_TEXT, CHAT_REFUSAL, CHAT_REASONING, CHAT_REASONING};

    assert((size_t)kind < COUNT_OF(kinds));
    return kinds[kind];
}

enum responses_place_kind responses_part_kind(const struct responses_relay *r,
                                              const struct json_node *part,
                                              enum responses_place_kind or_else)
{
    const struct json_node *type = json_find(r->doc, part, STR("type"));

    if (json_is(r->doc, type, STR("reasoning_text")))
        return AT_THOUGHT;
    if (json_is(r->doc, type, STR("refusal")))
        return AT_REFUSAL;
    return or_else;
}

/* ---- what went out ---- */

static struct responses_sent *responses_place_sent_find(struct responses_relay *r, uint32_t index,
                                                        enum responses_place_kind kind,
                                                        uint32_t part)
{
    for (struct responses_sent *t = r->s->sent; t; t = t->next)
        if (t->index == index && t->part == part && t->kind == (int)kind)
            return t;
    return NULL;
}

struct responses_sent *responses_sent_get(struct responses_relay *r, uint32_t index,
                                          enum responses_place_kind kind, uint32_t part)
{
    struct responses_sent *t = responses_place_sent_find(r, index, kind, part);

    assert(r->s->sent_count <= SENT_MAX && !r->s->sent == !r->s->sent_count);
    if (t)
        return t;
    t = r->s->sent_count < SENT_MAX ? arena_text_zero(r->en->arena, sizeof *t) : NULL;
    if (!t) { /* responses_relay drops this frame and ends the reply with an error */
        r->s->done.full = true;
        return &r->spare;
    }
    r->s->sent_count++;
    *t = (struct responses_sent){.next = r->s->sent,
                                 .index = index,
                                 .part = part,
                                 .kind = (int)kind,
                                 .item_id = arena_text_dup(r->en->arena, r->item_id)};
    r->s->sent = t;
    return t;
}

void responses_sent_add(struct responses_relay *r, struct responses_sent *t, str text)
{
    size_t at = r->en->out->n;

    rope_add(&t->text, r->en->arena, json_escaped(r->en->out, text));
    assert(r->en->out->n >= at);
    r->en->out->n = at;
    if (t->text.full && t->touched)
        r->s->done.full = true;
}

bool responses_sent_nothing(const struct responses_sent *t)
{
    assert(t->text.n || !t->text.first);
    return t->touched && t->text.n == 0;
}

bool responses_is_joint(const struct chat_event *ev)
{
    return ev->kind == CHAT_REASONING && !ev->node && str_eq(ev->text, STR(RESPONSES_JOINT));
}

/* ---- places that say it again ---- */

static int responses_place_compare(const void *x, const void *y)
{
    const struct responses_said *p = x, *q = y;

    if (p->node != q->node)
        return p->node < q->node ? -1 : 1;
    return p->event < q->event ? -1 : p->event > q->event;
}

/* Lists the events that have a place in the frame by that place, so that each place finds its own
 * without a look at all others. */
static void responses_place_list_events(struct responses_relay *r)
{
    const struct json_node *now[CHAT_END + 1] = {[CHAT_TEXT] = r->first_text};

    assert(!r->said && r->n > 0);
    r->said = base_alloc(r->n * sizeof *r->said);
    for (size_t i = 0; i < r->n; i++) {
        const struct chat_event *ev = &r->events[i];

        if ((ev->kind != CHAT_TEXT && ev->kind != CHAT_REFUSAL && ev->kind != CHAT_REASONING) ||
            responses_is_joint(ev))
            continue;
        now[ev->kind] = ev->node ? ev->node : ev->from ? ev->from : now[ev->kind];
        if (now[ev->kind])
            r->said[r->said_count++] = (struct responses_said){now[ev->kind], i};
    }
    if (r->said_count > 1)
        qsort(r->said, r->said_count, sizeof *r->said, responses_place_compare);
}

static void responses_place_by_events(struct responses_relay *r, const struct json_node *node,
                                      enum responses_place_kind kind, struct buf *out)
{
    size_t from = 0, to;

    if (!r->said && r->n > 0)
        responses_place_list_events(r);
    for (to = r->said_count; from < to;) { /* the first one of this place */
        size_t middle = from + (to - from) / 2;

        if (r->said[middle].node < node)
            from = middle + 1;
        else
            to = middle;
    }
    for (; from < r->said_count && r->said[from].node == node; from++)
        if (r->events[r->said[from].event].kind == responses_at_event(kind))
            buf_add(out, r->events[r->said[from].event].text);
}

static void responses_place_replace_sent(struct responses_relay *r, const struct responses_sent *t,
                                         const struct json_node *node)
{
    struct buf b;

    buf_init(&b, JSON_SIZE_MAX);
    buf_add_c(&b, '"');
    rope_copy(&t->text, (struct rope_mark){NULL, 0}, &b);
    buf_add_c(&b, '"');
    json_edit_replace(&r->ed, node, arena_move_buf(r->arena, &b));
}

void responses_drop_tokens(struct responses_relay *r, const struct json_node *of)
{
    const struct json_node *tokens = json_find(r->doc, of, STR("logprobs"));

    if (json_is_array(tokens) && tokens->span > 1)
        json_edit_replace(&r->ed, tokens, STR("[]"));
}

bool responses_fix_place(struct responses_relay *r, const struct json_node *of,
                         const struct json_node *node, uint32_t index,
                         enum responses_place_kind kind, uint32_t part)
{
    struct responses_sent *t = responses_place_sent_find(r, index, kind, part);
    struct buf b;

    if (!node || node->kind != JSON_STRING)
        return true;
    if (!t) {
        t = responses_sent_get(r, index, kind, part);
        t->touched = r->s->hidden && responses_at_reasoning(kind);
        if (r->touched) {
            buf_init(&b, JSON_SIZE_MAX);
            responses_place_by_events(r, node, kind, &b);
            t->touched = t->touched || !json_is(r->doc, node, buf_str(&b));
            if (t->touched)
                responses_sent_add(r, t, buf_str(&b));
            buf_release(&b);
        }
        t->whole = !t->touched;
    }
    if (!t->touched)
        return true;
    if (responses_sent_nothing(t) && responses_at_reasoning(kind)) {
        r->s->hidden = r->s->hidden || node->size > 2;
        return false;
    }
    responses_place_replace_sent(r, t, node);
    responses_drop_tokens(r, of);
    return true;
}

static void responses_place_fix_list(struct responses_relay *r, const struct json_node *list,
                                     uint32_t index, enum responses_place_kind kind)
{
    uint32_t i = 0;

    if (list && list->kind == JSON_STRING && kind == AT_TEXT)
        (void)responses_fix_place(r, NULL, list, index, kind, 0);
    if (!json_is_array(list))
        return;
    for (const struct json_node *p = json_first(r->doc, list); p && !r->s->done.full;
         p = json_next(r->doc, list, p), i++) {
        enum responses_place_kind pk = responses_part_kind(r, p, kind);
        const struct json_node *text =
            json_find(r->doc, p, pk == AT_REFUSAL ? STR("refusal") : STR("text"));

        if (!responses_fix_place(r, p, text, index, pk, i))
            json_edit_drop(&r->ed, list, p);
    }
}

void responses_fix_item(struct responses_relay *r, const struct json_node *item, uint32_t index)
{
    const struct json_node *type = json_find(r->doc, item, STR("type"));
    const struct json_node *content = json_find(r->doc, item, STR("content"));

    if (json_is(r->doc, type, STR("message"))) {
        responses_place_fix_list(r, content, index, AT_TEXT);
    } else if (json_is(r->doc, type, STR("reasoning"))) {
        responses_place_fix_list(r, json_find(r->doc, item, STR("summary")), index, AT_SUMMARY);
        responses_place_fix_list(r, content, index, AT_THOUGHT);
    }
}

const struct json_node *responses_first_text(const struct responses_relay *r,
                                             const struct json_node *list)
{
    JSON_FOREACH(v, r->doc, list) {
        const struct json_node *parts = json_find(r->doc, v, STR("content"));

        if (!json_get_is(r->doc, v, "type", "message"))
            continue;
        JSON_FOREACH(p, r->doc, parts)
            if (p->kind == JSON_OBJECT && json_find(r->doc, p, STR("text")))
                return json_find(r->doc, p, STR("text"));
    }
    return NULL;
}

static str responses_place_insert_json(struct responses_relay *r, const struct responses_insert *in)
{
    struct buf b;
    str s;

    assert(in->to.piece);
    buf_init(&b, JSON_SIZE_MAX);
    rope_copy_between(&r->s->done, in->from, in->to, &b);
    s = arena_move_buf(r->arena, &b);
    return s;
}

/* The output_index that an item of a final response had before. Hosts that omit items from the
 * final list renumber the others, so a known id has precedence over the place. */
static uint32_t responses_place_index(const struct responses_relay *r, const struct json_node *item,
                                      uint32_t place)
{
    const struct json_node *id = json_find(r->doc, item, STR("id"));

    for (const struct responses_sent *t = id ? r->s->sent : NULL; t; t = t->next)
        if (t->item_id.n && str_eq(t->item_id, json_raw(r->doc, id)))
            return t->index;
    return place;
}

void responses_fix_response(struct responses_relay *r, const struct json_node *response)
{
    const struct json_node *list = json_find(r->doc, response, STR("output"));
    uint32_t i = 0;

    if (!json_is_array(list))
        return;
    JSON_FOREACH(v, r->doc, list) {
        responses_fix_item(r, v, responses_place_index(r, v, i));
        i++;
    }
    for (size_t k = 0; k < r->s->insert_count; k++)
        if (r->s->inserts[k].to.piece)
            json_edit_insert(&r->ed,
                             list,
                             json_at(r->doc, list, (size_t)(r->s->inserts[k].after + 1)),
                             responses_place_insert_json(r, &r->s->inserts[k]));
    if (r->ed.n)
        json_edit_remove(&r->ed, response, STR("output_text"));
}

void responses_fix_usage(struct responses_relay *r, const struct json_node *response)
{
    static const str path[] = {
        STR_INIT("usage"), STR_INIT("output_tokens_details"), STR_INIT("reasoning_tokens")};
    const struct json_node *usage = json_find(r->doc, response, path[0]);
    const struct json_node *counted = json_find(r->doc, json_find(r->doc, usage, path[1]), path[2]);

    if (!r->touched || !json_is_object(usage) || (counted && counted->kind != JSON_NULL))
        return;
    for (size_t i = 0; i < r->n; i++)
        if (r->events[i].kind == CHAT_USAGE && r->events[i].usage->reasoning >= 0)
            json_edit_set_path(&r->ed,
                               response,
                               path,
                               COUNT_OF(path),
                               json_format(r->arena, "%d", r->events[i].usage->reasoning));
}
