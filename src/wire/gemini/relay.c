/* relay.c - replies of Gemini passed on to a client of the same dialect.
 *
 * A chunk that nobody touched leaves as it came. In one that was, the parts are written anew: each
 * event finds its part by the place of its text, by the call it names or by being that part's JSON;
 * such a part keeps all its members but the text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/gemini/gemini.h"

struct relay {
    struct wire_encoder *en;
    const struct json *doc;
    const struct json_node *parts, *from;
    uint32_t choice;
    struct buf *out;

    const struct json_node *part; /* that the text at hand belongs to, or NULL: ours */
    struct assembled_block block;
    bool pending;
};

static struct gemini_encoder *gemini_relay_state(const struct wire_encoder *en)
{
    return en->state;
}

static bool gemini_relay_inside(const struct json_node *outer, const struct json_node *node)
{
    return node >= outer && node < outer + outer->span;
}

static bool gemini_relay_is_thought(const struct relay *r, const struct json_node *part)
{
    return json_to_bool(r->doc, gemini_find(r->doc, part, "thought"));
}

static bool gemini_relay_speaks_of(const struct relay *r, const struct chat_event *ev,
                                   const struct json_node *part)
{
    const struct json_node *call = gemini_find(r->doc, part, "functionCall");
    const struct json_node *text = gemini_find(r->doc, part, "text");
    const struct json_node *id = gemini_find(r->doc, call, "id");

    switch (ev->kind) {
    case CHAT_CALL:
        return call && (id ? json_is(r->doc, id, ev->id)
                           : json_is(r->doc, gemini_find(r->doc, call, "name"), ev->name));
    case CHAT_OPAQUE:
        return str_eq(json_raw(r->doc, part), ev->text);
    case CHAT_TEXT:
    case CHAT_REFUSAL:
        return text && !gemini_relay_is_thought(r, part) &&
               (!ev->node || gemini_relay_inside(part, ev->node));
    case CHAT_REASONING:
        return text && gemini_relay_is_thought(r, part) &&
               (!ev->node || gemini_relay_inside(part, ev->node));
    case CHAT_SIGNATURE:
        return ev->node && gemini_relay_inside(part, ev->node);
    default:
        return false;
    }
}

static const struct json_node *gemini_relay_part_of(const struct relay *r,
                                                    const struct chat_event *ev)
{
    for (const struct json_node *p = r->from; p; p = json_next(r->doc, r->parts, p))
        if (gemini_relay_speaks_of(r, ev, p))
            return p;
    return NULL;
}

static void gemini_relay_write_theirs(struct relay *r)
{
    const struct json_node *text = gemini_find(r->doc, r->part, "text");
    str raw = json_raw(r->doc, r->part);
    size_t from = text ? text->at - r->part->at : 0;

    if (!text || json_is(r->doc, text, arena_text_str(&r->block.text))) {
        buf_add(r->out, raw);
        return;
    }
    buf_add(r->out, str_slice(raw, 0, from));
    (void)json_quote(r->out, arena_text_str(&r->block.text));
    buf_add(r->out, str_slice(raw, from + text->size, raw.n));
}

static void gemini_relay_flush(struct relay *r)
{
    struct json_out o;

    if (!r->pending)
        return;
    r->pending = false;
    json_replace_list_next(r->doc, r->part, r->out);
    if (r->part) {
        gemini_relay_write_theirs(r);
        return;
    }
    json_out_init(&o, r->out);
    gemini_part_json(&r->block, false, &o);
}

/* Pieces of a call's arguments say nothing by themselves, and stay. */
static void gemini_relay_keep_pieces(struct relay *r, const struct json_node *to)
{
    for (const struct json_node *p = r->from; p && p != to; p = json_next(r->doc, r->parts, p)) {
        const struct json_node *call = gemini_find(r->doc, p, "functionCall");

        if (call && !gemini_find(r->doc, call, "name")) {
            json_replace_list_next(r->doc, p, r->out);
            buf_add(r->out, json_raw(r->doc, p));
        }
    }
}

static void gemini_relay_begin(struct relay *r, enum assembled_kind kind,
                               const struct chat_event *ev)
{
    const struct json_node *part = gemini_relay_part_of(r, ev);

    gemini_relay_flush(r);
    if (part) {
        gemini_relay_keep_pieces(r, part);
        r->from = json_next(r->doc, r->parts, part);
    }
    r->part = part;
    r->block =
        (struct assembled_block){.kind = kind, .block = ev->block, .id = ev->id, .name = ev->name};
    r->pending = true;
}

static void gemini_relay_add_text(struct relay *r, enum assembled_kind kind,
                                  const struct chat_event *ev)
{
    bool same = r->pending && r->block.kind == kind && r->block.block == ev->block;

    /* Two parts may be of one block: the next one begins where its own text does. */
    if (!same || (ev->node && r->part && !gemini_relay_inside(r->part, ev->node)))
        gemini_relay_begin(r, kind, ev);
    arena_text_add(&r->block.text, r->en->arena, ev->text);
}

static void gemini_relay_take(struct relay *r, const struct chat_event *ev)
{
    switch (ev->kind) {
    case CHAT_TEXT:
    case CHAT_REFUSAL:
        if (ev->text.n)
            gemini_relay_add_text(r, ASSEMBLED_TEXT, ev);
        break;
    case CHAT_REASONING:
        if (ev->text.n)
            gemini_relay_add_text(r, ASSEMBLED_THINK, ev);
        break;
    case CHAT_SIGNATURE:
        if (r->pending && r->part && ev->node && gemini_relay_inside(r->part, ev->node))
            break;
        if (gemini_relay_part_of(r, ev))
            gemini_relay_begin(r, ASSEMBLED_TEXT, ev);
        break;
    case CHAT_CALL:
        gemini_relay_begin(r, ASSEMBLED_CALL, ev);
        break;
    case CHAT_ARGUMENTS:
        if (r->pending && r->block.kind == ASSEMBLED_CALL)
            arena_text_add(&r->block.text, r->en->arena, ev->text);
        break;
    case CHAT_OPAQUE:
        if (ev->dialect == CHAT_GEMINI) {
            gemini_relay_begin(r, ASSEMBLED_OPAQUE, ev);
            arena_text_add(&r->block.text, r->en->arena, ev->text);
        }
        break;
    default:
        break;
    }
}

/* The parts of one candidate as they are to be now. */
static void gemini_relay_write_parts(struct relay *r, const struct chat_event *events, size_t n)
{
    r->from = json_first(r->doc, r->parts);
    buf_add_c(r->out, '[');
    for (size_t i = 0; i < n; i++)
        if (events[i].choice == r->choice)
            gemini_relay_take(r, &events[i]);
    gemini_relay_flush(r);
    gemini_relay_keep_pieces(r, NULL);
    if (r->out->n == 1)
        buf_add(r->out, STR("{\"text\":\"\"}"));
    json_replace_list_end(r->doc, r->parts, r->out);
}

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

/* The tokens of a candidate whose parts were changed list what was taken out of them. */
static size_t gemini_drop_tokens(const struct json *doc, const struct json_node *candidate,
                                 const struct json_replacement *parts, struct json_replacement *out)
{
    const struct json_node *tokens = gemini_find(doc, candidate, "logprobsResult");

    if (!tokens || str_eq(json_raw(doc, parts->node), parts->with))
        return 0;
    *out = (struct json_replacement){.node = tokens, .with = STR("{}")};
    return 1;
}

static void gemini_relay_rewrite(struct wire_encoder *en, const struct wire_frame *f,
                                 const struct chat_event *events, size_t n)
{
    const struct json_node *list = gemini_find(f->doc, json_root(f->doc), "candidates");
    struct buf texts[GEMINI_CHOICES_MAX];
    struct json_replacement edits[JSON_REPLACE_MAX];
    static_assert(JSON_REPLACE_MAX >= 2 * GEMINI_CHOICES_MAX, "parts and tokens");
    int64_t place = 0;
    size_t k = 0, count = 0;

    for (const struct json_node *c = list && list->kind == JSON_ARRAY ? json_first(f->doc, list)
                                                                      : NULL;
         c && k < GEMINI_CHOICES_MAX;
         c = json_next(f->doc, list, c), place++) {
        bool only = !en->stream && json_count(f->doc, list) == 1;
        struct relay r = {
            .en = en, .doc = f->doc, .choice = (uint32_t)gemini_choice(f->doc, c, place, only)};

        r.parts = gemini_find(f->doc, gemini_find(f->doc, c, "content"), "parts");
        if (!r.parts || r.parts->kind != JSON_ARRAY)
            continue;
        buf_init(&texts[k], f->data.n * 6 + ((size_t)1 << 20));
        r.out = &texts[k];
        gemini_relay_write_parts(&r, events, n);
        edits[count] = (struct json_replacement){.node = r.parts, .with = buf_str(&texts[k++])};
        count += 1 + gemini_drop_tokens(f->doc, c, &edits[count], &edits[count + 1]);
    }
    gemini_chunk_begin(en);
    json_replace_write(f->doc, edits, count, en->stream && !gemini_relay_state(en)->array, en->out);
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
    struct gemini_encoder *s = gemini_relay_state(en);

    assemble_begin(&s->gather);
    assemble_begin(&s->pending);
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
