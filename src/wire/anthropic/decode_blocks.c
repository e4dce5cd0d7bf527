/* decode_blocks.c - content blocks of replies of /v1/messages, into events.
 *
 * Every block has a slot while it is open, found by the provider's index, so that servers which
 * begin the next block before they end the last are read correctly. The type of a delta decides its
 * kind: one that does not fit its block begins another.
 *
 * Blocks that only Anthropic understands are emitted whole when they end, with the text that was
 * streamed into them. Reasoning before a call is kept as long as the reply, so that it can be sent
 * back with the call; KEEP_SIZE_MAX limits it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"

#define KEEP_SIZE_MAX ((size_t)1 << 20)  /* thinking held for the vault, in one reply */
#define KEEP_GIVEN_MAX ((size_t)8 << 20) /* and handed out, for all its calls */

/* ---- blocks ---- */

struct anthropic_block *anthropic_block_find(struct wire_decoder *d, int64_t index)
{
    struct anthropic_decoder *s = d->state;

    for (size_t i = 0; i < ANTHROPIC_OPEN_MAX; i++)
        if (s->open[i].used && s->open[i].index == index)
            return &s->open[i];
    return NULL;
}

static bool anthropic_block_take_number(struct wire_decoder *d, struct anthropic_block *b)
{
    assert(b->used);
    if (d->blocks >= WIRE_BLOCKS_MAX) {
        wire_emit_error(d, "upstream_error", "the provider's reply has too many blocks");
        return false;
    }
    b->block = d->blocks++;
    b->fed = false;
    b->thought = NULL;
    arena_text_reset(&b->held);
    arena_text_reset(&b->more);
    return true;
}

/* A slot for a new block: a free one, or that of the block that has been open longest. */
static struct anthropic_block *anthropic_block_read_begin(struct wire_decoder *d, int64_t index,
                                                          enum anthropic_kind kind)
{
    struct anthropic_decoder *s = d->state;
    struct anthropic_block *b = anthropic_block_find(d, index);

    for (size_t i = 0; !b && i < ANTHROPIC_OPEN_MAX; i++)
        if (!s->open[i].used)
            b = &s->open[i];
    if (!b) {
        b = &s->open[0];
        for (size_t i = 1; i < ANTHROPIC_OPEN_MAX; i++)
            if (s->open[i].block < b->block)
                b = &s->open[i];
        anthropic_block_end(d, b);
    }
    assert(!b->used || b->index == index);
    b->used = true;
    b->index = index;
    b->kind = kind;
    return anthropic_block_take_number(d, b) ? b : NULL;
}

static void anthropic_block_emit_text(struct wire_decoder *d, enum chat_event_kind kind,
                                      const struct anthropic_block *b, str text,
                                      const struct json_node *node)
{
    assert(b->block < d->blocks);
    wire_emit(d,
              &(struct chat_event){.kind = kind,
                                   .block = b->block,
                                   .text = text,
                                   .id = STR(""),
                                   .name = STR(""),
                                   .dialect = CHAT_ANTHROPIC,
                                   .node = node});
}

void anthropic_emit(struct wire_decoder *d, enum chat_event_kind kind, uint32_t block, str id,
                    str name, str text)
{
    wire_emit(d,
              &(struct chat_event){.kind = kind,
                                   .block = block,
                                   .text = text,
                                   .id = id,
                                   .name = name,
                                   .dialect = CHAT_ANTHROPIC});
}

/* ---- what must go back with a call ---- */

static struct anthropic_thought *anthropic_block_add_thought(struct wire_decoder *d, bool redacted)
{
    struct anthropic_decoder *s = d->state;
    struct anthropic_thought *t;

    assert(!s->first == !s->last);
    if (s->after_call) {
        s->first = s->last = NULL;
        s->after_call = false;
    }
    if (s->kept_size > KEEP_SIZE_MAX || !arena_text_room(d->arena, sizeof *t))
        return NULL;
    t = arena_zero(d->arena, 1, sizeof *t);
    t->redacted = redacted;
    LIST_APPEND(s->first, s->last, t);
    return t;
}

/* A thought that is not whole would be refused: it is better to have none. */
static void anthropic_block_keep(struct wire_decoder *d, struct anthropic_thought *t,
                                 bool signature, str text)
{
    struct anthropic_decoder *s = d->state;
    struct arena_text *p;

    if (!t || t->lost)
        return;
    assert(!signature || !t->redacted); /* redacted thinking has none */
    p = signature ? &t->signature : &t->text;
    s->kept_size += text.n;
    if (s->kept_size <= KEEP_SIZE_MAX)
        arena_text_add(p, d->arena, text);
    t->lost = s->kept_size > KEEP_SIZE_MAX || p->full;
}

static void anthropic_block_give_thought(struct wire_decoder *d, const struct anthropic_thought *t,
                                         str call_id)
{
    struct anthropic_decoder *s = d->state;
    str type = t->redacted ? STR("redacted_thinking") : STR("thinking");
    bool is_unsigned = !t->redacted && !t->signature.n;
    struct json_out o;
    struct buf b;

    assert(!t->lost);
    buf_init(&b, KEEP_SIZE_MAX * 6 + 256);
    json_out_init_object(&o, &b);
    json_member_str(&o, "type", type);
    json_out_key(&o, t->redacted ? STR("data") : type);
    json_out_str(&o, arena_text_str(&t->text));
    if (!t->redacted) /* hosts that sign nothing want an empty signature */
        json_member_str(&o, "signature", arena_text_str(&t->signature));
    json_out_end(&o);
    s->kept_given += b.n;
    if (!buf_full(&b) && s->kept_given <= KEEP_GIVEN_MAX)
        anthropic_emit(
            d, CHAT_KEEP, 0, call_id, is_unsigned ? STR(ANTHROPIC_UNSIGNED) : type, buf_str(&b));
    buf_release(&b);
}

static void anthropic_block_give_thoughts(struct wire_decoder *d, str call_id)
{
    struct anthropic_decoder *s = d->state;

    for (const struct anthropic_thought *t = s->first; t; t = t->next)
        if (t->lost)
            return;
    for (const struct anthropic_thought *t = s->first; t; t = t->next)
        if (t->redacted || t->signature.n || t->text.n)
            anthropic_block_give_thought(d, t, call_id);
    s->after_call = true;
}

/* ---- beginnings ---- */

static void anthropic_block_begin_call(struct wire_decoder *d, struct anthropic_block *b,
                                       const struct json *doc, const struct json_node *v)
{
    struct anthropic_decoder *s = d->state;
    const struct json_node *input = json_get(doc, v, "input");
    str id = json_get_as_text(doc, v, "id", &d->scratch), text;

    assert(b->used && b->kind == KIND_CALL);
    s->called = true;
    if (id.n == 0)
        id = wire_call_id(d, b->block);
    wire_emit(d,
              &(struct chat_event){.kind = CHAT_CALL,
                                   .block = b->block,
                                   .id = id,
                                   .name = json_get_as_text(doc, v, "name", &d->scratch),
                                   .node = v});
    anthropic_block_give_thoughts(d, id);
    if (!json_text(doc, input, &d->scratch, &text)) /* a string is the JSON of it */
        text = input && (s->whole || json_count(doc, input) > 0) ? json_raw(doc, input) : STR("");
    if (s->whole) {
        b->fed = true;
        anthropic_block_emit_text(d, CHAT_ARGUMENTS, b, text.n ? text : STR("{}"), NULL);
    } else {
        arena_text_add(&b->held, d->arena, text);
    }
}

static void anthropic_block_begin_think(struct wire_decoder *d, struct anthropic_block *b,
                                        const struct json *doc, const struct json_node *v)
{
    const struct json_node *text = json_find(doc, v, STR("thinking"));
    const struct json_node *signature = json_find(doc, v, STR("signature"));
    str s;

    assert(b->used && b->kind == KIND_THINK);
    b->thought = anthropic_block_add_thought(d, false);
    if (!json_text(doc, text, &d->scratch, &s)) {
        s = STR("");
        text = NULL;
    }
    anthropic_block_keep(d, b->thought, false, s);
    /* Emitted even if it is empty: the stage that hides thinking must know that a block begins. */
    anthropic_block_emit_text(d, CHAT_REASONING, b, s, text);
    if (json_text(doc, signature, &d->scratch, &s) && s.n) {
        anthropic_block_keep(d, b->thought, true, s);
        anthropic_block_emit_text(d, CHAT_SIGNATURE, b, s, signature);
    }
}

static void anthropic_block_begin_redacted(struct wire_decoder *d, struct anthropic_block *b,
                                           const struct json *doc, const struct json_node *v)
{
    const struct json_node *data = json_find(doc, v, STR("data"));
    str s;

    if (!json_text(doc, data, &d->scratch, &s))
        return;
    anthropic_block_keep(d, anthropic_block_add_thought(d, true), false, s);
    anthropic_block_emit_text(d, CHAT_REDACTED, b, s, data);
}

static void anthropic_block_emit_citations(struct wire_decoder *d, struct anthropic_block *b,
                                           const struct json *doc, const struct json_node *v)
{
    const struct json_node *list = json_find(doc, v, STR("citations"));

    JSON_FOREACH_ITEM(c, doc, list)
        anthropic_emit(d, CHAT_OPAQUE, b->block, STR(""), STR("citation"), json_raw(doc, c));
}

static void anthropic_block_begin_text(struct wire_decoder *d, struct anthropic_block *b,
                                       const struct json *doc, const struct json_node *v)
{
    const struct json_node *text = json_find(doc, v, STR("text"));
    str s;

    if (v->kind == JSON_STRING)
        text = v;
    if (json_to_text(doc, text, &d->scratch, &s) && s.n)
        anthropic_block_emit_text(d, CHAT_TEXT, b, s, text->kind == JSON_STRING ? text : NULL);
    anthropic_block_emit_citations(d, b, doc, v);
}

static void anthropic_block_begin_opaque(struct wire_decoder *d, struct anthropic_block *b,
                                         const struct json *doc, const struct json_node *v)
{
    struct anthropic_decoder *s = d->state;

    assert(b->used && b->kind == KIND_OPAQUE);
    if (!s->whole)
        arena_text_add(&b->held, d->arena, json_raw(doc, v));
    if (s->whole || b->held.full) { /* or too large to wait for its end */
        anthropic_block_emit_text(d, CHAT_OPAQUE, b, json_raw(doc, v), v);
        b->used = false;
    }
}

static const struct {
    const char *type, *member; /* the member that identifies it without a type */
    enum anthropic_kind kind;
    void (*begin)(struct wire_decoder *d, struct anthropic_block *b, const struct json *doc,
                  const struct json_node *v);
} kinds[] = {
    {"text", "text", KIND_TEXT, anthropic_block_begin_text}, /* and what is a bare string */
    {"thinking", "thinking", KIND_THINK, anthropic_block_begin_think},
    {"redacted_thinking", "data", KIND_REDACTED, anthropic_block_begin_redacted},
    {"tool_use", "input", KIND_CALL, anthropic_block_begin_call},
    {NULL, NULL, KIND_OPAQUE, anthropic_block_begin_opaque},
};

/* Whether an object has this type, or, without a type, the member that is typical of it. */
static bool anthropic_block_is_of(const struct json *doc, const struct json_node *v,
                                  const char *type, const char *member)
{
    const struct json_node *said = json_find(doc, v, STR("type"));

    return said && said->kind == JSON_STRING ? json_is(doc, said, str_c(type))
                                             : json_get(doc, v, member) != NULL;
}

struct anthropic_block *anthropic_block_begin(struct wire_decoder *d, const struct json *doc,
                                              const struct json_node *v, int64_t index)
{
    struct anthropic_block *b;
    size_t i = 0;

    while (kinds[i].type && v->kind != JSON_STRING &&
           !anthropic_block_is_of(doc, v, kinds[i].type, kinds[i].member))
        i++;
    b = anthropic_block_read_begin(d, index, kinds[i].kind);
    assert(!b || (b->used && b->kind == kinds[i].kind));
    if (b)
        kinds[i].begin(d, b, doc, v);
    return b;
}

/* ---- ends ---- */

static void anthropic_block_end_opaque(struct wire_decoder *d, struct anthropic_block *b)
{
    str raw = arena_text_str(&b->held), with = arena_text_str(&b->more);
    struct buf quoted, out;
    struct json doc;
    struct err e;

    assert(b->kind == KIND_OPAQUE);
    json_init(&doc);
    buf_init(&quoted, ARENA_TEXT_MAX * 2);
    buf_init(&out, ARENA_TEXT_MAX * 4);
    if (b->more_text) {
        (void)json_quote(&quoted, with);
        with = buf_str(&quoted);
    }
    if (b->more.n && (b->more_text || json_parse(&doc, with, &e)) && json_parse(&doc, raw, &e)) {
        json_splice_set(
            &doc, json_root(&doc), b->more_text ? STR("content") : STR("input"), with, &out);
        raw = buf_str(&out);
    }
    anthropic_emit(d, CHAT_OPAQUE, b->block, STR(""), STR(""), raw);
    buf_release(&quoted);
    buf_release(&out);
    json_release(&doc);
}

void anthropic_block_end(struct wire_decoder *d, struct anthropic_block *b)
{
    assert(b->used);
    b->used = false;
    if (b->kind == KIND_CALL && !b->fed)
        anthropic_block_emit_text(
            d, CHAT_ARGUMENTS, b, b->held.n ? arena_text_str(&b->held) : STR("{}"), NULL);
    else if (b->kind == KIND_OPAQUE)
        anthropic_block_end_opaque(d, b);
}

/* All that is open ends, in the order in which it began. */
void anthropic_blocks_end(struct wire_decoder *d)
{
    struct anthropic_decoder *s = d->state;

    for (;;) {
        struct anthropic_block *b = NULL;

        for (size_t i = 0; i < ANTHROPIC_OPEN_MAX; i++)
            if (s->open[i].used && (!b || s->open[i].block < b->block))
                b = &s->open[i];
        if (!b)
            return;
        anthropic_block_end(d, b);
    }
}

/* ---- deltas ---- */

static const struct {
    const char *type, *member;
    enum anthropic_kind kind;
    enum chat_event_kind event;
} deltas[] = {
    {"text_delta", "text", KIND_TEXT, CHAT_TEXT},
    {"thinking_delta", "thinking", KIND_THINK, CHAT_REASONING},
    {"signature_delta", "signature", KIND_THINK, CHAT_SIGNATURE},
    {"input_json_delta", "partial_json", KIND_CALL, CHAT_ARGUMENTS},
};

/* The block a delta belongs to: that of its index if it is of the kind, else one that begins now.
 * Arguments without a call have no place. */
static struct anthropic_block *anthropic_block_for(struct wire_decoder *d, int64_t index,
                                                   enum anthropic_kind kind)
{
    struct anthropic_block *b = anthropic_block_find(d, index);

    assert(kind != KIND_OPAQUE && kind != KIND_REDACTED); /* they have no deltas */
    if (b && b->kind == kind)
        return b;
    if (kind == KIND_CALL)
        return NULL;
    if (b)
        anthropic_block_end(d, b);
    b = anthropic_block_read_begin(d, index, kind);
    if (b && kind == KIND_THINK)
        b->thought = anthropic_block_add_thought(d, false);
    return b;
}

static void anthropic_block_feed_opaque(struct wire_decoder *d, struct anthropic_block *b,
                                        const struct json *doc, const struct json_node *delta)
{
    str text = json_get_text(doc, delta, "partial_json", &d->scratch);

    assert(b->used && b->kind == KIND_OPAQUE);
    if (text.n == 0) {
        text = json_get_text(doc, delta, "content", &d->scratch);
        b->more_text = text.n > 0;
    } else {
        b->more_text = false;
    }
    arena_text_add(&b->more, d->arena, text);
}

static void anthropic_block_feed(struct wire_decoder *d, const struct json *doc,
                                 const struct json_node *delta, int64_t index, size_t row)
{
    const struct json_node *node = json_find(doc, delta, str_c(deltas[row].member));
    struct anthropic_block *b;
    str text;

    assert(row < COUNT_OF(deltas));
    if (!json_to_text(doc, node, &d->scratch, &text))
        text =
            json_is_object(node) && deltas[row].kind == KIND_CALL ? json_raw(doc, node) : STR("");
    if (text.n == 0)
        return;
    b = anthropic_block_for(d, index, deltas[row].kind);
    if (!b)
        return;
    b->fed = true;
    if (deltas[row].kind == KIND_THINK)
        anthropic_block_keep(d, b->thought, deltas[row].event == CHAT_SIGNATURE, text);
    anthropic_block_emit_text(
        d, deltas[row].event, b, text, node->kind == JSON_STRING ? node : NULL);
}

void anthropic_block_delta(struct wire_decoder *d, const struct json *doc,
                           const struct json_node *root)
{
    const struct json_node *delta = json_find(doc, root, STR("delta"));
    int64_t index = json_get_count(doc, root, "index");
    struct anthropic_block *b = anthropic_block_find(d, index);

    if (b && b->kind == KIND_OPAQUE) {
        anthropic_block_feed_opaque(d, b, doc, delta);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(deltas); i++)
        if (anthropic_block_is_of(doc, delta, deltas[i].type, deltas[i].member)) {
            anthropic_block_feed(d, doc, delta, index, i);
            return;
        }
    if (anthropic_block_is_of(doc, delta, "citations_delta", "citation")) {
        const struct json_node *c = json_find(doc, delta, STR("citation"));

        b = anthropic_block_for(d, index, KIND_TEXT);
        if (b && c)
            anthropic_emit(d, CHAT_OPAQUE, b->block, STR(""), STR("citation"), json_raw(doc, c));
        return;
    }
    if (delta)
        anthropic_emit(d, CHAT_EXTRA, 0, STR(""), STR("delta"), json_raw(doc, delta));
}
