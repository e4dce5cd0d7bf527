/* assemble_reply.c - a reply collected block by block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/assemble_reply.h"

#define EXTRAS_MAX 64

static struct assembled_block *assemble_add_block(struct assembled_reply *g, struct arena *a,
                                                  enum assembled_kind kind,
                                                  const struct chat_event *ev)
{
    struct assembled_block *b;

    assert(!g->first == !g->last && !g->last == !g->count);
    b = g->count < WIRE_BLOCKS_MAX ? arena_text_zero(a, sizeof *b) : NULL;
    if (!b) {
        g->full = true;
        return NULL;
    }
    b->kind = kind;
    b->choice = ev->choice;
    b->block = ev->block;
    b->id = arena_text_dup(a, ev->id);
    b->name = arena_text_dup(a, ev->name);
    g->full |= b->id.n < ev->id.n || b->name.n < ev->name.n;
    LIST_APPEND(g->first, g->last, b);
    g->count++;
    return b;
}

/* The block that an event continues: mostly the last, but calls may be interleaved. */
static struct assembled_block *assemble_find_block(const struct assembled_reply *g,
                                                   enum assembled_kind kind,
                                                   const struct chat_event *ev)
{
    struct assembled_block *found = NULL;

    assert(!g->first == !g->last);
    if (g->last && g->last->kind == kind && g->last->block == ev->block &&
        g->last->choice == ev->choice)
        return g->last;
    for (struct assembled_block *b = g->first; b; b = b->next)
        if (b->kind == kind && b->block == ev->block && b->choice == ev->choice)
            found = b;
    return found;
}

/* A reply with a text that was cut, or without one of its values, would be wrong: it is marked as
 * full. */
static void assemble_append(struct assembled_reply *g, struct arena *a, struct arena_text *to,
                            str s)
{
    arena_text_add(to, a, s);
    g->full |= to->full;
}

static void assemble_add_text(struct assembled_reply *g, struct arena *a, enum assembled_kind kind,
                              const struct chat_event *ev)
{
    struct assembled_block *b;

    if (ev->text.n == 0)
        return;
    b = assemble_find_block(g, kind, ev);
    if (!b)
        b = assemble_add_block(g, a, kind, ev);
    if (b)
        assemble_append(g, a, &b->text, ev->text);
}

/* Adds a signature to its block of reasoning; Gemini signs text, too. */
static void assemble_add_signature(struct assembled_reply *g, struct arena *a,
                                   const struct chat_event *ev)
{
    struct assembled_block *b = assemble_find_block(g, ASSEMBLED_THINK, ev);
    bool text = ev->dialect == CHAT_GEMINI;

    assert(ev->kind == CHAT_SIGNATURE);
    if (!b && text)
        b = assemble_find_block(g, ASSEMBLED_TEXT, ev);
    if (!b)
        b = assemble_add_block(g, a, text ? ASSEMBLED_TEXT : ASSEMBLED_THINK, ev);
    if (b)
        assemble_append(g, a, &b->extra, ev->text);
}

static void assemble_add_opaque(struct assembled_reply *g, struct arena *a,
                                const struct chat_event *ev)
{
    struct assembled_block *b;

    if (!str_eq(ev->name, STR("citation"))) {
        b = assemble_add_block(g, a, ASSEMBLED_OPAQUE, ev);
        if (b)
            assemble_append(g, a, &b->text, ev->text);
        return;
    }
    b = assemble_find_block(g, ASSEMBLED_TEXT, ev);
    if (!b)
        b = assemble_add_block(g, a, ASSEMBLED_TEXT, ev);
    if (!b)
        return;
    if (b->extra.n)
        assemble_append(g, a, &b->extra, STR(","));
    assemble_append(g, a, &b->extra, ev->text);
}

static void assemble_hold_extra(struct assembled_extra *x, struct arena *a, str json)
{
    arena_text_reset(&x->held);
    arena_text_add(&x->held, a, json);
    x->json = arena_text_str(&x->held);
}

static void assemble_add_extra(struct assembled_reply *g, struct arena *a,
                               const struct chat_event *ev)
{
    struct assembled_extra *x;

    assert(g->extra_count <= EXTRAS_MAX && !g->extras == !g->last_extra);
    for (x = g->extras; x; x = x->next)
        if (x->choice == ev->choice && str_eq(x->name, ev->name)) {
            assemble_hold_extra(x, a, ev->text);
            return;
        }
    x = g->extra_count < EXTRAS_MAX ? arena_text_zero(a, sizeof *x) : NULL;
    if (!x)
        return;
    x->choice = ev->choice;
    x->name = arena_text_dup(a, ev->name);
    assemble_hold_extra(x, a, ev->text);
    LIST_APPEND(g->extras, g->last_extra, x);
    g->extra_count++;
}

/* The provider's own words are not kept: some send usage with every chunk. */
static void assemble_add_usage(struct assembled_reply *g, const struct chat_usage *usage)
{
    chat_usage_merge(&g->usage, usage);
    g->usage.raw = STR("");
}

void assemble_begin(struct assembled_reply *g)
{
    if (g->begun)
        return;
    g->usage = chat_usage_none;
    g->begun = true;
    g->id = g->model = g->stop_name = STR("");
}

static void assemble_start(struct assembled_reply *g, struct arena *a, const struct chat_event *ev)
{
    assemble_begin(g);
    if (ev->kind == CHAT_START) {
        g->id = arena_text_dup(a, ev->id);
        g->model = arena_text_dup(a, ev->name);
    }
}

static void assemble_add_stop(struct assembled_reply *g, struct arena *a,
                              const struct chat_event *ev)
{
    assert(ev->kind == CHAT_STOP);
    if (ev->choice != 0 && g->stopped)
        return;
    g->stopped = true;
    g->stop = ev->stop;
    g->stop_name = arena_text_dup(a, ev->name);
}

void assemble_event(struct assembled_reply *g, struct arena *a, const struct chat_event *ev,
                    enum chat_dialect dialect)
{
    assemble_start(g, a, ev);
    assert(g->begun);
    switch (ev->kind) {
    case CHAT_REFUSAL:
        g->refused = true;
        assemble_add_text(g, a, ASSEMBLED_TEXT, ev);
        break;
    case CHAT_TEXT:
        assemble_add_text(g, a, ASSEMBLED_TEXT, ev);
        break;
    case CHAT_REASONING:
        assemble_add_text(g, a, ASSEMBLED_THINK, ev);
        break;
    case CHAT_SIGNATURE:
        if (ev->dialect == dialect)
            assemble_add_signature(g, a, ev);
        break;
    case CHAT_REDACTED:
        if (ev->dialect == dialect)
            assemble_add_text(g, a, ASSEMBLED_REDACTED, ev);
        break;
    case CHAT_CALL:
        g->called = true;
        (void)assemble_add_block(g, a, ASSEMBLED_CALL, ev);
        break;
    case CHAT_ARGUMENTS:
        assemble_add_text(g, a, ASSEMBLED_CALL, ev);
        break;
    case CHAT_OPAQUE:
        if (ev->dialect == dialect)
            assemble_add_opaque(g, a, ev);
        break;
    case CHAT_EXTRA:
        if (ev->dialect == dialect)
            assemble_add_extra(g, a, ev);
        break;
    case CHAT_USAGE:
        assemble_add_usage(g, ev->usage);
        break;
    case CHAT_STOP:
        assemble_add_stop(g, a, ev);
        break;
    default:
        break;
    }
}

bool assemble_is_meta(const struct chat_event *ev)
{
    return ev->kind == CHAT_START || ev->kind == CHAT_USAGE || ev->kind == CHAT_STOP ||
           ev->kind == CHAT_EXTRA;
}
