/* gather.c - a reply gathered block by block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/gather.h"

#define EXTRAS_MAX 64

static struct gather_block *add_block(struct gather *g, struct arena *a, enum gather_kind kind,
                                      const struct chat_event *ev)
{
    struct gather_block *b;

    b = g->count < WIRE_BLOCKS_MAX ? piece_zero(a, sizeof *b) : NULL;
    if (!b) {
        g->full = true;
        return NULL;
    }
    b->kind = kind;
    b->choice = ev->choice;
    b->block = ev->block;
    b->id = piece_dup(a, ev->id);
    b->name = piece_dup(a, ev->name);
    if (g->last)
        g->last->next = b;
    else
        g->first = b;
    g->last = b;
    g->count++;
    return b;
}

/* The block an event goes on in: mostly the last, but calls may come interleaved. */
static struct gather_block *find_block(const struct gather *g, enum gather_kind kind,
                                       const struct chat_event *ev)
{
    struct gather_block *found = NULL;

    if (g->last && g->last->kind == kind && g->last->block == ev->block &&
        g->last->choice == ev->choice)
        return g->last;
    for (struct gather_block *b = g->first; b; b = b->next)
        if (b->kind == kind && b->block == ev->block && b->choice == ev->choice)
            found = b;
    return found;
}

static void add_text(struct gather *g, struct arena *a, enum gather_kind kind,
                     const struct chat_event *ev)
{
    struct gather_block *b;

    if (ev->text.n == 0)
        return;
    b = find_block(g, kind, ev);
    if (!b)
        b = add_block(g, a, kind, ev);
    if (!b)
        return;
    piece_add(&b->text, a, ev->text);
    g->full |= b->text.full;
}

/* Of thinking; Gemini signs text as well. */
static void add_signature(struct gather *g, struct arena *a, const struct chat_event *ev)
{
    struct gather_block *b = find_block(g, GATHER_THINK, ev);
    bool text = ev->dialect == CHAT_GEMINI;

    if (!b && text)
        b = find_block(g, GATHER_TEXT, ev);
    if (!b)
        b = add_block(g, a, text ? GATHER_TEXT : GATHER_THINK, ev);
    if (b)
        piece_add(&b->extra, a, ev->text);
}

static void add_opaque(struct gather *g, struct arena *a, const struct chat_event *ev)
{
    struct gather_block *b;

    if (!str_eq(ev->name, STR("citation"))) {
        b = add_block(g, a, GATHER_OPAQUE, ev);
        if (b)
            piece_add(&b->text, a, ev->text);
        return;
    }
    b = find_block(g, GATHER_TEXT, ev);
    if (!b)
        b = add_block(g, a, GATHER_TEXT, ev);
    if (!b)
        return;
    if (b->extra.n)
        piece_add(&b->extra, a, STR(","));
    piece_add(&b->extra, a, ev->text);
}

static void hold_extra(struct gather_extra *x, struct arena *a, str json)
{
    piece_reset(&x->held);
    piece_add(&x->held, a, json);
    x->json = piece_str(&x->held);
}

static void add_extra(struct gather *g, struct arena *a, const struct chat_event *ev)
{
    struct gather_extra *x;

    for (x = g->extras; x; x = x->next)
        if (str_eq(x->name, ev->name)) {
            hold_extra(x, a, ev->text);
            return;
        }
    x = g->extra_count < EXTRAS_MAX ? piece_zero(a, sizeof *x) : NULL;
    if (!x)
        return;
    x->name = piece_dup(a, ev->name);
    hold_extra(x, a, ev->text);
    if (g->last_extra)
        g->last_extra->next = x;
    else
        g->extras = x;
    g->last_extra = x;
    g->extra_count++;
}

/* The provider's own words are not kept: some send usage with every chunk. */
static void add_usage(struct gather *g, const struct chat_usage *usage)
{
    chat_usage_merge(&g->usage, usage);
    g->usage.raw = STR("");
}

void gather_begin(struct gather *g)
{
    if (g->begun)
        return;
    g->usage = chat_usage_none;
    g->begun = true;
    g->id = g->model = g->stop_name = STR("");
}

static void begin(struct gather *g, struct arena *a, const struct chat_event *ev)
{
    gather_begin(g);
    if (ev->kind == CHAT_START) {
        g->id = piece_dup(a, ev->id);
        g->model = piece_dup(a, ev->name);
    }
}

static void add_stop(struct gather *g, struct arena *a, const struct chat_event *ev)
{
    if (ev->choice != 0 && g->stopped)
        return;
    g->stopped = true;
    g->stop = ev->stop;
    g->stop_name = piece_dup(a, ev->name);
}

void gather_event(struct gather *g, struct arena *a, const struct chat_event *ev,
                  enum chat_dialect dialect)
{
    begin(g, a, ev);
    switch (ev->kind) {
    case CHAT_REFUSAL:
        g->refused = true;
        add_text(g, a, GATHER_TEXT, ev);
        break;
    case CHAT_TEXT:
        add_text(g, a, GATHER_TEXT, ev);
        break;
    case CHAT_REASONING:
        add_text(g, a, GATHER_THINK, ev);
        break;
    case CHAT_SIGNATURE:
        if (ev->dialect == dialect)
            add_signature(g, a, ev);
        break;
    case CHAT_REDACTED:
        if (ev->dialect == dialect)
            add_text(g, a, GATHER_REDACTED, ev);
        break;
    case CHAT_CALL:
        g->called = true;
        (void)add_block(g, a, GATHER_CALL, ev);
        break;
    case CHAT_ARGUMENTS:
        add_text(g, a, GATHER_CALL, ev);
        break;
    case CHAT_OPAQUE:
        if (ev->dialect == dialect)
            add_opaque(g, a, ev);
        break;
    case CHAT_EXTRA:
        if (ev->dialect == dialect)
            add_extra(g, a, ev);
        break;
    case CHAT_USAGE:
        add_usage(g, ev->usage);
        break;
    case CHAT_STOP:
        add_stop(g, a, ev);
        break;
    default:
        break;
    }
}

bool gather_is_meta(const struct chat_event *ev)
{
    return ev->kind == CHAT_START || ev->kind == CHAT_USAGE || ev->kind == CHAT_STOP ||
           ev->kind == CHAT_EXTRA;
}
