/* decode_items.c - the items of a Responses reply as chat events.
 *
 * The same text occurs up to five times: in deltas, in the `done` of the text, of the part, of the
 * item, and in the final response. Hosts omit some of these. So for every place of a text (item,
 * kind, part) the decoder remembers whether its text was emitted; the first occurrence wins. Items
 * are identified by output_index, because some hosts change the ids from event to event; in the
 * final response, where some hosts omit items, first by their id.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/decode_items.h"

#define ITEMS_MAX WIRE_BLOCKS_MAX
#define PLACES_MAX (2 * WIRE_BLOCKS_MAX)
#define ID_SIZE_MAX 256
#define KEPT_SIZE_MAX ((size_t)4 << 20)
uint32_t responses_index(const struct json *doc, const struct json_node *v, const char *key,
                         uint32_t or_else)
{
    int64_t n = json_get_count(doc, v, key);

    if (n < 0 || n > RESPONSES_INDEX_MAX)
        return or_else;
    return (uint32_t)n;
}

void responses_emit(struct responses_at *at, struct chat_event ev)
{
    wire_emit(at->d, &ev);
}

void responses_fail(struct responses_at *at, const char *message)
{
    wire_emit_error(at->d, "bad_response", message);
}

/* ---- items, places, blocks ---- */

/* Room for one more in an array that lives in the reply's arena; the old one stays there, so all
 * of them together take at most twice what the last does. */
static void *responses_item_more(struct responses_at *at, void *old, uint32_t n, uint32_t *cap,
                                 size_t size)
{
    uint32_t want = *cap ? *cap * 2 : 8;
    void *p;

    assert(n <= *cap);
    if (n < *cap)
        return old;
    p = arena_zero(at->d->arena, want, size);
    if (n)
        memcpy(p, old, n * size);
    *cap = want;
    return p;
}

enum item_kind responses_kind(struct responses_at *at, const struct json_node *item)
{
    const struct json_node *type = json_get(at->doc, item, "type");

    if (!type && json_get(at->doc, item, "arguments"))
        return ITEM_CALL;
    if (json_is(at->doc, type, STR("message")) ||
        (!type && json_get_is(at->doc, item, "role", "assistant")))
        return ITEM_MESSAGE;
    if (json_is(at->doc, type, STR("reasoning")))
        return ITEM_REASONING;
    if (json_is(at->doc, type, STR("function_call")))
        return ITEM_CALL;
    if (json_is(at->doc, type, STR("custom_tool_call")))
        return ITEM_CUSTOM;
    return ITEM_OTHER;
}

struct responses_item *responses_item_find(struct responses_at *at, uint32_t index)
{
    assert(at->s->item_count <= ITEMS_MAX);
    for (uint32_t i = at->s->item_count; i-- > 0;)
        if (at->s->items[i].index == index)
            return &at->s->items[i];
    return NULL;
}

struct responses_item *responses_item_add(struct responses_at *at, uint32_t index,
                                          enum item_kind kind)
{
    struct responses_decoder *s = at->s;

    if (s->item_count == ITEMS_MAX) {
        responses_fail(at, "the reply has too many output items");
        return NULL;
    }
    s->items = responses_item_more(at, s->items, s->item_count, &s->item_cap, sizeof *s->items);
    s->items[s->item_count] = (struct responses_item){.index = index, .kind = kind, .id = STR("")};
    return &s->items[s->item_count++];
}

/* The item an event speaks of; made if the host did not announce it. */
static struct responses_item *responses_item_of_event(struct responses_at *at, enum item_kind kind)
{
    uint32_t index = responses_index(at->doc, at->root, "output_index", at->s->last);
    struct responses_item *it = responses_item_find(at, index);

    at->s->last = index;
    return it ? it : responses_item_add(at, index, kind);
}

static struct responses_place *responses_item_place_get(struct responses_at *at,
                                                        const struct responses_item *it,
                                                        enum place_kind kind, uint32_t part)
{
    struct responses_decoder *s = at->s;
    uint32_t number = (uint32_t)(it - s->items);

    assert(number < s->item_count); /* it is of the newest array */
    for (uint32_t i = s->place_count; i-- > 0;)
        if (s->places[i].item == number && s->places[i].kind == kind && s->places[i].part == part)
            return &s->places[i];
    if (s->place_count == PLACES_MAX) {
        responses_fail(at, "the reply has too many content parts");
        return NULL;
    }
    s->places =
        responses_item_more(at, s->places, s->place_count, &s->place_cap, sizeof *s->places);
    s->places[s->place_count] =
        (struct responses_place){.item = number, .kind = kind, .part = part};
    return &s->places[s->place_count++];
}

static bool responses_item_block_new(struct responses_at *at, uint32_t *out)
{
    if (at->d->blocks >= WIRE_BLOCKS_MAX) {
        responses_fail(at, "the reply has too many content blocks");
        return false;
    }
    *out = at->d->blocks++;
    assert(at->d->blocks <= WIRE_BLOCKS_MAX);
    return true;
}

/* ---- text ---- */

/* Reasoning of an item and kind shares one block; each further part begins with a blank line. */
static bool responses_item_reasoning_block(struct responses_at *at, struct responses_item *it,
                                           struct responses_place *p)
{
    size_t i = p->kind == PLACE_THOUGHT;

    assert(p->kind == PLACE_SUMMARY || p->kind == PLACE_THOUGHT);
    if (!it->begun[i]) {
        it->begun[i] = true;
        if (!responses_item_block_new(at, &it->block[i]))
            return false;
        p->block = it->block[i];
        return true;
    }
    p->block = it->block[i];
    responses_emit(at,
                   (struct chat_event){.kind = CHAT_REASONING,
                                       .block = p->block,
                                       .text = STR(RESPONSES_JOINT),
                                       .summary = p->kind == PLACE_SUMMARY});
    return true;
}

/* FNV-1a: tells whether a text begins with the text that was sent, which is not kept. */
static uint64_t responses_item_hash(uint64_t h, str text)
{
    for (size_t i = 0; i < text.n; i++)
        h = (h ^ (unsigned char)text.p[i]) * 0x100000001b3u;
    return h;
}

static bool responses_item_place_block(struct responses_at *at, struct responses_item *it,
                                       struct responses_place *p)
{
    assert((uint32_t)(it - at->s->items) == p->item);
    if (p->sent)
        return true;
    p->sent = true;
    if (p->kind == PLACE_SUMMARY || p->kind == PLACE_THOUGHT)
        return responses_item_reasoning_block(at, it, p);
    if (p->kind != PLACE_ARGUMENTS && p->kind != PLACE_INPUT)
        return responses_item_block_new(at, &p->block);
    p->block = it->block[0];
    return true;
}

static void responses_item_put(struct responses_at *at, struct responses_item *it,
                               struct responses_place *p, str text, const struct json_node *node)
{
    static const enum chat_event_kind kinds[] = {
        CHAT_TEXT, CHAT_REFUSAL, CHAT_REASONING, CHAT_REASONING, CHAT_ARGUMENTS, CHAT_ARGUMENTS};
    bool input = p->kind == PLACE_INPUT, first = p->size == 0;

    assert((size_t)p->kind < COUNT_OF(kinds));
    if (text.n == 0 || !responses_item_place_block(at, it, p))
        return;
    assert(p->block < at->d->blocks);
    p->size += text.n;
    p->hash = responses_item_hash(p->hash, text);
    if (input)
        text = part_custom_piece(text, first, false, &at->d->scratch);
    responses_emit(at,
                   (struct chat_event){.kind = kinds[p->kind],
                                       .block = p->block,
                                       .text = text,
                                       .summary = p->kind == PLACE_SUMMARY,
                                       .node = input ? NULL : node});
}

/* A text, a number without quotes, or arguments in another form than text. */
static bool responses_item_words(const struct responses_at *at, enum place_kind kind,
                                 const struct json_node *node, str *out)
{
    if (json_to_text(at->doc, node, &at->d->scratch, out))
        return true;
    if (kind != PLACE_ARGUMENTS || !json_is_object(node))
        return false;
    *out = json_raw(at->doc, node);
    return true;
}

/* Emits the part of a `done` text that no delta contained. */
static void responses_item_fill(struct responses_at *at, struct responses_item *it,
                                enum place_kind kind, uint32_t part, const struct json_node *node)
{
    struct responses_place *p = responses_item_place_get(at, it, kind, part);
    str text;

    assert(!p || p->kind == kind);
    if (!p || !responses_item_words(at, kind, node, &text))
        return;
    if (p->size == 0)
        responses_item_put(at, it, p, text, node->kind == JSON_STRING ? node : NULL);
    else if (text.n > p->size && responses_item_hash(0, str_slice(text, 0, p->size)) == p->hash)
        responses_item_put(at, it, p, str_slice(text, p->size, text.n), NULL);
    if (kind == PLACE_TEXT && p->sent)
        at->d->text_ended = p->block + 1;
}

/* An event with a text: a delta, if its member `key` is called that, or the end of the text. */
static void responses_item_text_event(struct responses_at *at, enum place_kind pk, str key)
{
    static const enum item_kind items[] = {[PLACE_TEXT] = ITEM_MESSAGE,
                                           [PLACE_REFUSAL] = ITEM_MESSAGE,
                                           [PLACE_SUMMARY] = ITEM_REASONING,
                                           [PLACE_THOUGHT] = ITEM_REASONING,
                                           [PLACE_ARGUMENTS] = ITEM_CALL,
                                           [PLACE_INPUT] = ITEM_CUSTOM};
    bool summary = pk == PLACE_SUMMARY, delta = str_eq(key, STR("delta"));
    bool call = pk == PLACE_ARGUMENTS || pk == PLACE_INPUT;
    struct responses_item *it = responses_item_of_event(at, items[pk]);
    const struct json_node *node = json_find(at->doc, at->root, key);
    uint32_t part =
        call ? 0
             : responses_index(at->doc, at->root, summary ? "summary_index" : "content_index", 0);
    struct responses_place *p;
    str text;

    assert((size_t)pk < COUNT_OF(items));
    /* A call whose name has not come yet says its arguments when it is done. */
    if (!it || it->done || (call && !it->begun[0]))
        return;
    if (!delta)
        responses_item_fill(at, it, pk, part, node);
    else if ((p = responses_item_place_get(at, it, pk, part)) &&
             responses_item_words(at, pk, node, &text))
        responses_item_put(at, it, p, text, node->kind == JSON_STRING ? node : NULL);
}

/* ---- whole items ---- */

static void responses_item_opaque(struct responses_at *at, str json, const char *name,
                                  uint32_t block)
{
    responses_emit(at,
                   (struct chat_event){
                       .kind = CHAT_OPAQUE, .block = block, .text = json, .name = str_c(name)});
}

static void responses_item_opaque_block(struct responses_at *at, const struct json_node *node)
{
    uint32_t block;

    if (responses_item_block_new(at, &block))
        responses_item_opaque(at, json_raw(at->doc, node), "", block);
}

/* Log-probabilities in Chat's form. */
static void responses_item_logprobs(struct responses_at *at, str list, uint32_t block)
{
    responses_emit(at,
                   (struct chat_event){.kind = CHAT_EXTRA,
                                       .block = block,
                                       .name = STR("choice.logprobs"),
                                       .text = arena_join(&at->d->scratch,
                                                          STR("{\"content\":"),
                                                          list,
                                                          STR(",\"refusal\":null}"))});
}

static void responses_item_message_part(struct responses_at *at, struct responses_item *it,
                                        const struct json_node *part, uint32_t i)
{
    const struct json_node *type = json_get(at->doc, part, "type");
    const struct json_node *notes = json_find(at->doc, part, STR("annotations"));
    const struct json_node *odds = json_find(at->doc, part, STR("logprobs"));
    const struct responses_place *p;

    if (json_is(at->doc, type, STR("refusal"))) {
        responses_item_fill(at, it, PLACE_REFUSAL, i, json_find(at->doc, part, STR("refusal")));
        return;
    }
    if (type ? !json_is(at->doc, type, STR("output_text")) : !json_get(at->doc, part, "text")) {
        responses_item_opaque_block(at, part);
        return;
    }
    responses_item_fill(at, it, PLACE_TEXT, i, json_find(at->doc, part, STR("text")));
    p = responses_item_place_get(at, it, PLACE_TEXT, i);
    if (p && p->sent && json_is_array(notes) && notes->span > 1)
        responses_item_opaque(at, json_raw(at->doc, notes), "annotations", p->block);
    if (p && p->sent && json_is_array(odds) && odds->span > 1)
        responses_item_logprobs(at, json_raw(at->doc, odds), p->block);
}

static void responses_item_message_done(struct responses_at *at, struct responses_item *it,
                                        const struct json_node *node)
{
    const struct json_node *list = json_find(at->doc, node, STR("content"));
    uint32_t i = 0;

    if (list && list->kind == JSON_STRING)
        responses_item_fill(at, it, PLACE_TEXT, 0, list);
    JSON_FOREACH_ITEM(p, at->doc, list)
        if (!at->d->deaf)
            responses_item_message_part(at, it, p, i++);
}

static void responses_item_reasoning_list(struct responses_at *at, struct responses_item *it,
                                          const struct json_node *list, enum place_kind kind)
{
    uint32_t i = 0;

    JSON_FOREACH_ITEM(p, at->doc, list)
        if (!at->d->deaf)
            responses_item_fill(at, it, kind, i++, json_find(at->doc, p, STR("text")));
}

/* An item that its host neither stored nor wrote down cannot go back. */
static bool responses_item_can_go_back(struct responses_at *at, const struct json_node *node,
                                       str sealed)
{
    const struct json_node *content = json_find(at->doc, node, STR("content"));

    return at->s->stored || sealed.n || (json_is_array(content) && content->span > 1);
}

static void responses_item_keep(struct responses_at *at, str item)
{
    struct responses_decoder *s = at->s;

    s->kept_size = 0;
    if (item.n > KEPT_SIZE_MAX)
        return;
    if (item.n > s->kept_cap) {
        s->kept_cap = item.n < 2048 ? 4096 : 2 * item.n;
        if (s->kept_cap > KEPT_SIZE_MAX)
            s->kept_cap = KEPT_SIZE_MAX;
        s->kept = arena_alloc(at->d->arena, s->kept_cap);
    }
    assert(item.n <= s->kept_cap && s->kept_cap <= KEPT_SIZE_MAX);
    memcpy(s->kept, item.p, item.n);
    s->kept_size = item.n;
}

static void responses_item_reasoning_done(struct responses_at *at, struct responses_item *it,
                                          const struct json_node *node)
{
    str sealed = json_get_text(at->doc, node, "encrypted_content", &at->d->scratch);

    responses_item_reasoning_list(at, it, json_find(at->doc, node, STR("summary")), PLACE_SUMMARY);
    responses_item_reasoning_list(at, it, json_find(at->doc, node, STR("content")), PLACE_THOUGHT);
    if (sealed.n && !it->begun[0] && !it->begun[1]) {
        it->begun[0] = true;
        if (!responses_item_block_new(at, &it->block[0]))
            return;
    }
    if (sealed.n)
        responses_emit(at,
                       (struct chat_event){.kind = CHAT_SIGNATURE,
                                           .block = it->block[it->begun[0] ? 0 : 1],
                                           .text = json_raw(at->doc, node)});
    if (responses_item_can_go_back(at, node, sealed))
        responses_item_keep(at, json_raw(at->doc, node));
}

/* The reasoning before a call goes back with it: with the first, if there are several. */
static void responses_item_keep_call(struct responses_at *at, str call_id)
{
    struct responses_decoder *s = at->s;

    assert(!s->kept_size || s->kept);
    if (!s->kept_size)
        return;
    responses_emit(at,
                   (struct chat_event){.kind = CHAT_KEEP,
                                       .text = {s->kept, s->kept_size},
                                       .id = call_id,
                                       .name = STR(RESPONSES_KEEP)});
    s->kept_size = 0;
}

/* `last` if nothing more of it will come, so that even a call without a name must be said. */
static void responses_item_call_begin(struct responses_at *at, struct responses_item *it,
                                      const struct json_node *node, bool last)
{
    str name = responses_call_name(at->doc, node, &at->d->scratch);
    str id = json_get_as_text(at->doc, node, "call_id", &at->d->scratch);

    if (it->begun[0] || (!last && (!name.n || !id.n)))
        return;
    if (!id.n)
        id = json_get_text(at->doc, node, "id", &at->d->scratch);
    if (!id.n)
        id = wire_call_id(at->d, it->index);
    responses_item_keep_call(at, id);
    if (!responses_item_block_new(at, &it->block[0]))
        return;
    it->begun[0] = at->s->calls = true;
    assert(id.n); /* results of tools are matched by it */
    responses_emit(
        at,
        (struct chat_event){
            .kind = CHAT_CALL, .block = it->block[0], .id = id, .name = name, .node = NULL});
}

static void responses_item_call_done(struct responses_at *at, struct responses_item *it,
                                     const struct json_node *node)
{
    responses_item_call_begin(at, it, node, true);
    if (it->begun[0])
        responses_item_fill(at, it, PLACE_ARGUMENTS, 0, json_find(at->doc, node, STR("arguments")));
}

/* The input of a custom call becomes the arguments of a function that has one text. */
static void responses_item_custom_done(struct responses_at *at, struct responses_item *it,
                                       const struct json_node *node)
{
    const struct responses_place *p;

    responses_item_call_begin(at, it, node, true);
    if (!it->begun[0])
        return;
    responses_item_fill(at, it, PLACE_INPUT, 0, json_find(at->doc, node, STR("input")));
    p = responses_item_place_get(at, it, PLACE_INPUT, 0);
    if (p)
        responses_emit(at,
                       (struct chat_event){.kind = CHAT_ARGUMENTS,
                                           .block = it->block[0],
                                           .text = part_custom_piece(
                                               STR(""), p->size == 0, true, &at->d->scratch)});
}

void responses_item_done(struct responses_at *at, struct responses_item *it,
                         const struct json_node *node)
{
    assert((uint32_t)(it - at->s->items) < at->s->item_count);
    if (it->done)
        return;
    it->done = true;
    it->kind = responses_kind(at, node);
    switch (it->kind) {
    case ITEM_MESSAGE:
        responses_item_message_done(at, it, node);
        break;
    case ITEM_REASONING:
        responses_item_reasoning_done(at, it, node);
        break;
    case ITEM_CALL:
        responses_item_call_done(at, it, node);
        break;
    case ITEM_CUSTOM:
        responses_item_custom_done(at, it, node);
        break;
    case ITEM_OTHER:
        responses_item_opaque_block(at, node);
        break;
    }
}

static void responses_item_name(struct responses_at *at, struct responses_item *it,
                                const struct json_node *node)
{
    str id = json_get_text(at->doc, node, "id", &at->d->scratch);

    if (!it->id.n && id.n && id.n <= ID_SIZE_MAX)
        it->id = arena_dup(at->d->arena, id);
}

static void responses_item_on_item_added(struct responses_at *at)
{
    const struct json_node *node = json_find(at->doc, at->root, STR("item"));
    struct responses_item *it = responses_item_of_event(at, responses_kind(at, node));

    if (!it || it->done)
        return;
    responses_item_name(at, it, node);
    if (it->kind == ITEM_CALL || it->kind == ITEM_CUSTOM)
        responses_item_call_begin(at, it, node, false);
}

static void responses_item_on_item_done(struct responses_at *at)
{
    const struct json_node *node = json_find(at->doc, at->root, STR("item"));
    struct responses_item *it = responses_item_of_event(at, responses_kind(at, node));

    if (!it || !json_is_object(node))
        return;
    responses_item_name(at, it, node);
    responses_item_done(at, it, node);
}

static void responses_item_on_part_done(struct responses_at *at)
{
    const struct json_node *part = json_find(at->doc, at->root, STR("part"));
    const struct json_node *type = json_find(at->doc, part, STR("type"));
    uint32_t content = responses_index(at->doc, at->root, "content_index", 0);
    uint32_t summary = responses_index(at->doc, at->root, "summary_index", 0);
    const struct json_node *text = json_find(at->doc, part, STR("text"));
    bool message = json_is(at->doc, type, STR("output_text"));
    bool refusal = json_is(at->doc, type, STR("refusal"));
    struct responses_item *it =
        responses_item_of_event(at, message || refusal ? ITEM_MESSAGE : ITEM_REASONING);

    if (!it || it->done)
        return;
    if (message)
        responses_item_fill(at, it, PLACE_TEXT, content, text);
    else if (refusal)
        responses_item_fill(
            at, it, PLACE_REFUSAL, content, json_find(at->doc, part, STR("refusal")));
    else if (json_is(at->doc, type, STR("summary_text")))
        responses_item_fill(at, it, PLACE_SUMMARY, summary, text);
    else if (json_is(at->doc, type, STR("reasoning_text")))
        responses_item_fill(at, it, PLACE_THOUGHT, content, text);
}

/* Events of one text say its place and the member that has it; others have a function. */
static const struct {
    str type;
    void (*on)(struct responses_at *at);
    enum place_kind place;
    str key;
} events[] = {
    {STR_INIT("response.output_text.delta"), NULL, PLACE_TEXT, STR_INIT("delta")},
    {STR_INIT("response.reasoning_summary_text.delta"), NULL, PLACE_SUMMARY, STR_INIT("delta")},
    {STR_INIT("response.reasoning_text.delta"), NULL, PLACE_THOUGHT, STR_INIT("delta")},
    {STR_INIT("response.function_call_arguments.delta"), NULL, PLACE_ARGUMENTS, STR_INIT("delta")},
    {STR_INIT("response.refusal.delta"), NULL, PLACE_REFUSAL, STR_INIT("delta")},
    {STR_INIT("response.output_item.added"), .on = responses_item_on_item_added},
    {STR_INIT("response.output_item.done"), .on = responses_item_on_item_done},
    {STR_INIT("response.content_part.done"), .on = responses_item_on_part_done},
    {STR_INIT("response.reasoning_summary_part.done"), .on = responses_item_on_part_done},
    {STR_INIT("response.output_text.done"), NULL, PLACE_TEXT, STR_INIT("text")},
    {STR_INIT("response.reasoning_summary_text.done"), NULL, PLACE_SUMMARY, STR_INIT("text")},
    {STR_INIT("response.reasoning_text.done"), NULL, PLACE_THOUGHT, STR_INIT("text")},
    {STR_INIT("response.function_call_arguments.done"),
     NULL,
     PLACE_ARGUMENTS,
     STR_INIT("arguments")},
    {STR_INIT("response.custom_tool_call_input.delta"), NULL, PLACE_INPUT, STR_INIT("delta")},
    {STR_INIT("response.custom_tool_call_input.done"), NULL, PLACE_INPUT, STR_INIT("input")},
    {STR_INIT("response.refusal.done"), NULL, PLACE_REFUSAL, STR_INIT("refusal")},
};

bool responses_item_event(struct responses_at *at, str type)
{
    for (size_t i = 0; i < COUNT_OF(events); i++)
        if (str_eq(events[i].type, type)) {
            if (events[i].on)
                events[i].on(at);
            else
                responses_item_text_event(at, events[i].place, events[i].key);
            return true;
        }
    return false;
}
