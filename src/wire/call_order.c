/* call_order.c - see call_order.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/call_order.h"

#include "wire/internal.h"

#define OPEN_MAX 64
#define WAITING_MAX 4096
#define WAITING_SIZE_MAX ((size_t)1 << 20)
#define TEXTS_SPARE 64 /* the ends and the alignment of three texts */

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

struct call_order {
    struct open open[OPEN_MAX];
    size_t open_count;
    struct waiting *first, *last;
    size_t count, size;
};

/* Whether the arguments are whole with this piece of them, or are no object in the first place. */
static bool call_order_whole(struct open *o, str piece)
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
        assert_slow(o->begun == (o->depth > 0) || (c != '}' && c != ']'));
        if (c == '"')
            o->quoted = true;
        else if (c == '{' || c == '[')
            o->depth++;
        else if ((c == '}' || c == ']') && --o->depth == 0)
            return true;
    }
    return false;
}

static void call_order_call(struct call_order *t, const struct chat_event *ev)
{
    assert(t->open_count <= OPEN_MAX);
    if (t->open_count < OPEN_MAX)
        t->open[t->open_count++] = (struct open){.choice = ev->choice, .block = ev->block};
}

static void call_order_arguments(struct call_order *t, const struct chat_event *ev)
{
    assert(t->open_count <= OPEN_MAX);
    for (size_t i = 0; i < t->open_count; i++)
        if (t->open[i].choice == ev->choice && t->open[i].block == ev->block) {
            if (call_order_whole(&t->open[i], ev->text))
                t->open[i] = t->open[--t->open_count];
            return;
        }
}

static bool call_order_is_open(const struct call_order *t, const struct chat_event *ev)
{
    for (size_t i = 0; i < t->open_count; i++)
        if (t->open[i].choice == ev->choice && t->open[i].block == ev->block)
            return true;
    return false;
}

/* Whether a call of the same answer is not whole yet. */
static bool call_order_busy(const struct call_order *t, const struct chat_event *ev)
{
    assert(t->open_count <= OPEN_MAX);
    for (size_t i = 0; i < t->open_count; i++)
        if (t->open[i].choice == ev->choice)
            return true;
    return false;
}

static void call_order_append(struct call_order *t, struct waiting *w)
{
    assert(t->count < WAITING_MAX && t->open_count <= OPEN_MAX);
    assert(!t->first == !t->last);
    w->next = NULL;
    LIST_APPEND(t->first, t->last, w);
    t->count++;
    t->size += w->ev.text.n;
}

/* A copy of the event, or NULL if the reply has used up its memory. */
static struct waiting *call_order_keep(struct wire_encoder *en, const struct chat_event *ev)
{
    size_t texts = ev->text.n + ev->id.n + ev->name.n + TEXTS_SPARE;
    struct waiting *w =
        arena_text_room(en->arena, sizeof *w + texts) ? arena_zero(en->arena, 1, sizeof *w) : NULL;

    assert(ev->kind != CHAT_USAGE && ev->kind != CHAT_ERROR); /* those are lent */
    if (!w)
        return NULL;
    w->ev = *ev;
    w->ev.node = NULL;
    w->ev.text = arena_text_dup(en->arena, ev->text);
    w->ev.id = arena_text_dup(en->arena, ev->id);
    w->ev.name = arena_text_dup(en->arena, ev->name);
    return w;
}

/* Whether an event has to wait for the calls that are open. */
static bool call_order_waits(const struct wire_encoder *en, struct call_order *t,
                             const struct chat_event *ev)
{
    switch (ev->kind) {
    case CHAT_CALL:
        if (en->wire->one_call && call_order_busy(t, ev))
            return true;
        call_order_call(t, ev);
        return false;
    case CHAT_ARGUMENTS:
        if (en->wire->one_call && call_order_busy(t, ev) && !call_order_is_open(t, ev))
            return true;
        call_order_arguments(t, ev);
        return false;
    case CHAT_TEXT:
    case CHAT_REASONING:
    case CHAT_SIGNATURE:
    case CHAT_REDACTED:
    case CHAT_REFUSAL:
    case CHAT_OPAQUE:
        return call_order_busy(t, ev);
    default:
        return false;
    }
}

static void call_order_append_all(struct call_order *t, struct waiting *w)
{
    for (struct waiting *next; w; w = next) {
        next = w->next;
        call_order_append(t, w);
    }
}

/* Tries the waiting events again, in order. A call that ends makes room for one that was just
 * skipped, so then the round starts again. */
static void call_order_try_again(struct wire_encoder *en, struct call_order *t)
{
    struct waiting *w = t->first, *next;

    assert(t->count <= WAITING_MAX && t->open_count <= OPEN_MAX);
    t->first = t->last = NULL;
    t->count = t->size = 0;
    for (; w; w = next) {
        next = w->next;
        if (call_order_waits(en, t, &w->ev)) {
            call_order_append(t, w);
            continue;
        }
        en->wire->encode(en, &w->ev);
        if (w->ev.kind == CHAT_ARGUMENTS && t->first && !call_order_busy(t, &w->ev)) {
            call_order_append_all(t, next);
            next = t->first;
            t->first = t->last = NULL;
            t->count = t->size = 0;
        }
    }
}

/* No call waits for more: each that is open is as whole as it gets. */
static void call_order_let_go(struct wire_encoder *en, struct call_order *t)
{
    do {
        t->open_count = 0;
        call_order_try_again(en, t);
    } while (t->first);
    t->open_count = 0;
    assert(!t->last && t->count == 0 && t->size == 0); /* nothing waits */
}

bool call_order_wait(struct wire_encoder *en, const struct chat_event *ev)
{
    struct call_order *t = en->turns;
    struct waiting *kept = NULL;

    assert(en->wire->in_turn);
    if (!t && ev->kind != CHAT_CALL)
        return false;
    if (!t)
        t = en->turns = arena_zero(en->arena, 1, sizeof *t);
    if (ev->kind == CHAT_STOP || ev->kind == CHAT_ERROR || ev->kind == CHAT_END)
        call_order_let_go(en, t);
    if (call_order_waits(en, t, ev)) {
        if (t->count < WAITING_MAX && t->size + ev->text.n <= WAITING_SIZE_MAX)
            kept = call_order_keep(en, ev);
        if (kept) {
            call_order_append(t, kept);
            return true;
        }
        call_order_let_go(en, t);           /* no more is held for these */
        return call_order_waits(en, t, ev); /* false: nothing is open; a call is from now on */
    }
    if (ev->kind != CHAT_ARGUMENTS || !t->first || call_order_busy(t, ev))
        return false;
    en->wire->encode(en, ev); /* before what waited for it */
    call_order_try_again(en, t);
    return true;
}
