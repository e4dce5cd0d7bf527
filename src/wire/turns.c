/* turns.c - see turns.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/turns.h"

#include "wire/internal.h"

#define OPEN_MAX 64
#define WAITING_MAX 4096
#define WAITING_SIZE_MAX ((size_t)1 << 20)

/* A call whose arguments are not whole yet. */
struct open {
    uint32_t choice, block;
    uint32_t depth; /* of braces and brackets */
    bool begun, quoted, escaped;
};

struct waiting {
    struct chat_event ev;
    struct waiting *next;
};

struct turns {
    struct open open[OPEN_MAX];
    size_t open_count;
    struct waiting *first, *last;
    size_t count, size;
};

static void let_go(struct wire_encoder *en, struct turns *t)
{
    for (struct waiting *w = t->first; w; w = w->next)
        en->wire->encode(en, &w->ev);
    t->first = t->last = NULL;
    t->count = t->size = 0;
}

/* Whether the arguments are whole with this piece of them, or are no object in the first place. */
static bool whole(struct open *o, str piece)
{
    for (size_t i = 0; i < piece.n; i++) {
        char c = piece.p[i];

        if (o->quoted) {
            if (o->escaped || c == '\\')
                o->escaped = !o->escaped;
            else
                o->quoted = c != '"';
            continue;
        }
        if (!o->begun && c != ' ' && c != '\t' && c != '\r' && c != '\n') {
            if (c != '{')
                return true;
            o->begun = true;
        }
        if (c == '"')
            o->quoted = true;
        else if (c == '{' || c == '[')
            o->depth++;
        else if ((c == '}' || c == ']') && --o->depth == 0)
            return true;
    }
    return false;
}

static void call(struct turns *t, const struct chat_event *ev)
{
    if (t->open_count < OPEN_MAX)
        t->open[t->open_count++] = (struct open){.choice = ev->choice, .block = ev->block};
}

static void arguments(struct turns *t, const struct chat_event *ev)
{
    for (size_t i = 0; i < t->open_count; i++)
        if (t->open[i].choice == ev->choice && t->open[i].block == ev->block) {
            if (whole(&t->open[i], ev->text))
                t->open[i] = t->open[--t->open_count];
            return;
        }
}

static bool hold(struct wire_encoder *en, struct turns *t, const struct chat_event *ev)
{
    struct waiting *w;

    if (t->open_count == 0)
        return false;
    if (t->count >= WAITING_MAX || t->size + ev->text.n > WAITING_SIZE_MAX) {
        let_go(en, t);
        t->open_count = 0; /* no more is held for these */
        return false;
    }
    w = arena_zero(en->arena, 1, sizeof *w);
    w->ev = *ev;
    w->ev.node = NULL;
    w->ev.text = piece_dup(en->arena, ev->text);
    w->ev.id = piece_dup(en->arena, ev->id);
    w->ev.name = piece_dup(en->arena, ev->name);
    *(t->last ? &t->last->next : &t->first) = w;
    t->last = w;
    t->count++;
    t->size += ev->text.n;
    return true;
}

bool turns_wait(struct wire_encoder *en, const struct chat_event *ev)
{
    struct turns *t = en->turns;

    if (!t && ev->kind != CHAT_CALL)
        return false;
    if (!t)
        t = en->turns = arena_zero(en->arena, 1, sizeof *t);
    switch (ev->kind) {
    case CHAT_CALL:
        call(t, ev);
        return false;
    case CHAT_ARGUMENTS: /* they are written before what waited for them */
        arguments(t, ev);
        if (t->open_count > 0 || !t->first)
            return false;
        en->wire->encode(en, ev);
        let_go(en, t);
        return true;
    case CHAT_TEXT:
    case CHAT_REASONING:
    case CHAT_SIGNATURE:
    case CHAT_REDACTED:
    case CHAT_REFUSAL:
    case CHAT_OPAQUE:
        return hold(en, t, ev);
    case CHAT_STOP:
    case CHAT_ERROR:
    case CHAT_END:
        let_go(en, t);
        t->open_count = 0;
        return false;
    default:
        return false;
    }
}
