/* relay.c - replies of Gemini passed on to a client of the same dialect.
 *
 * An untouched chunk leaves as it arrived. In a touched one the parts are written again: see
 * relay_blocks.h. A touched list of chunks is written from its events.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/gemini/gemini.h"

#include "wire/relay_blocks.h"

static bool gemini_relay_is_source(const struct json *doc, const struct json_node *part,
                                   const struct chat_event *ev)
{
    const struct json_node *call = gemini_find(doc, part, "functionCall");
    const struct json_node *id = gemini_find(doc, call, "id");
    bool thought = json_to_bool(doc, gemini_find(doc, part, "thought"));

    switch (ev->kind) {
    case CHAT_CALL:
        return call && (id ? json_is(doc, id, ev->id)
                           : json_is(doc, gemini_find(doc, call, "name"), ev->name));
    case CHAT_OPAQUE:
        return str_eq(json_raw(doc, part), ev->text);
    case CHAT_TEXT:
    case CHAT_REFUSAL:
    case CHAT_REASONING:
        return gemini_find(doc, part, "text") && thought == (ev->kind == CHAT_REASONING);
    case CHAT_SIGNATURE:
        return ev->node;
    default:
        return false;
    }
}

static const struct json_node *gemini_relay_find_text(const struct json *doc,
                                                      const struct json_node *part,
                                                      enum assembled_kind kind)
{
    return kind == ASSEMBLED_OPAQUE ? NULL : gemini_find(doc, part, "text");
}

static void gemini_relay_on_signature(struct relay_blocks *r, const struct chat_event *ev)
{
    bool there = r->pending && r->element && ev->node && relay_blocks_inside(r->element, ev->node);

    assert(ev->kind == CHAT_SIGNATURE);
    if (!there && relay_blocks_find(r, ev))
        relay_blocks_begin(r, ASSEMBLED_TEXT, ev);
}

/* Pieces of a call's arguments have no separate event. */
static bool gemini_relay_stays(const struct json *doc, const struct json_node *part)
{
    const struct json_node *call = gemini_find(doc, part, "functionCall");

    return call && !gemini_find(doc, call, "name");
}

static void gemini_relay_write_part(const struct relay_blocks *r, struct json_out *o)
{
    gemini_part_json(&r->block, false, o);
}

static const struct relay_rules gemini_relay_rules = {
    .dialect = CHAT_GEMINI,
    .empty = "{\"text\":\"\"}",
    .is_source = gemini_relay_is_source,
    .find_text = gemini_relay_find_text,
    .on_signature = gemini_relay_on_signature,
    .stays = gemini_relay_stays,
    .write = gemini_relay_write_part,
};

static bool gemini_relay_has_content(const struct chat_event *events, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (events[i].kind >= CHAT_TEXT && events[i].kind <= CHAT_OPAQUE)
            return true;
    return false;
}

/* Whether a chunk without parts would still tell something. */
static bool gemini_relay_says_more(const struct json *doc, const struct json_node *root)
{
    const struct json_node *list = gemini_find(doc, root, "candidates");

    if (!list || gemini_find(doc, root, "promptFeedback"))
        return true;
    JSON_FOREACH(c, doc, list)
        if (gemini_find(doc, c, "finishReason") || gemini_find(doc, c, "groundingMetadata"))
            return true;
    return false;
}

/* If parts of a candidate were changed, its log-probabilities would reveal the removed text. */
static size_t gemini_drop_tokens(const struct json *doc, const struct json_node *candidate,
                                 const struct json_replacement *parts, struct json_replacement *out)
{
    const struct json_node *tokens = gemini_find(doc, candidate, "logprobsResult");

    assert(parts->node && !parts->quote);
    if (!tokens || str_eq(json_raw(doc, parts->node), parts->with))
        return 0;
    *out = (struct json_replacement){.node = tokens, .with = STR("{}")};
    return 1;
}

static void gemini_relay_rewrite(struct wire_encoder *en, const struct wire_frame *f,
                                 const struct chat_event *events, size_t n)
{
    struct gemini_encoder *s = en->state;
    const struct json_node *list = gemini_find(f->doc, json_root(f->doc), "candidates");
    struct buf texts[GEMINI_CHOICES_MAX];
    struct json_replacement edits[JSON_REPLACE_MAX];
    static_assert(JSON_REPLACE_MAX >= 2 * GEMINI_CHOICES_MAX, "parts and tokens");
    bool only = !en->stream && json_count(f->doc, list) == 1;
    int64_t place = 0;
    size_t k = 0, count = 0;

    for (const struct json_node *c = json_is_array(list) ? json_first(f->doc, list) : NULL;
         c && k < GEMINI_CHOICES_MAX;
         c = json_next(f->doc, list, c), place++) {
        struct relay_blocks r = {.rules = &gemini_relay_rules,
                                 .en = en,
                                 .doc = f->doc,
                                 .choice = (uint32_t)gemini_choice(f->doc, c, place, only)};

        r.list = gemini_find(f->doc, gemini_find(f->doc, c, "content"), "parts");
        if (!json_is_array(r.list))
            continue;
        buf_init(&texts[k], f->data.n * 6 + ((size_t)1 << 20));
        r.out = &texts[k];
        relay_blocks_write(&r, events, n);
        edits[count] = (struct json_replacement){.node = r.list, .with = buf_str(&texts[k++])};
        count += 1 + gemini_drop_tokens(f->doc, c, &edits[count], &edits[count + 1]);
        assert(k <= GEMINI_CHOICES_MAX && count <= JSON_REPLACE_MAX);
    }
    gemini_chunk_begin(en);
    json_replace_write(f->doc, edits, count, en->stream && !s->array, en->out);
    gemini_chunk_end(en);
    for (size_t i = 0; i < k; i++)
        buf_release(&texts[i]);
}

/* Whether the chunk says how the reply ended: a blocked prompt has no candidates. */
static bool gemini_relay_says_end(const struct wire_frame *f)
{
    const struct json_node *root = f->doc ? json_root(f->doc) : NULL;
    const struct json_node *list = gemini_find(f->doc, root, "candidates");

    if (gemini_find(f->doc, gemini_find(f->doc, root, "promptFeedback"), "blockReason"))
        return true;
    JSON_FOREACH(c, f->doc, list)
        if (gemini_find(f->doc, c, "finishReason"))
            return true;
    return false;
}

void gemini_relay(struct wire_encoder *en, const struct wire_frame *f,
                  const struct chat_event *events, size_t n, bool touched)
{
    struct gemini_encoder *s = en->state;

    assemble_begin(&s->gather);
    assemble_begin(&s->pending);
    if (touched && f->doc && json_is_array(json_root(f->doc))) { /* chunks: written again */
        for (size_t i = 0; i < n; i++)
            wire_encode(en, &events[i]);
        return;
    }
    s->relayed = true;
    s->ended = gemini_relay_says_end(f) || s->ended;
    if (!en->stream)
        s->finished = true;
    if (touched && n == 1 && events[0].kind == CHAT_ERROR) {
        wire_encode(en, &events[0]);
    } else if (touched && f->doc) {
        if (gemini_relay_has_content(events, n) || !en->stream ||
            gemini_relay_says_more(f->doc, json_root(f->doc)))
            gemini_relay_rewrite(en, f, events, n);
    } else if (!s->array) {
        buf_add(en->out, f->raw.n ? f->raw : f->data);
        s->begun = true;
    } else if (f->doc) {
        gemini_chunk_begin(en);
        buf_add(en->out, f->data);
    }
}
