/* pipe.c - the chain of stages, the frame that comes out of it, and the chains of other choices.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/pipe/pipe.h"

#include "base/spare.h"

#define FRAME_MAX ((size_t)512 << 20) /* texts of one frame, which is itself bounded */
#define EVENTS_MAX 100000

_Static_assert(sizeof(struct pipe_room) == 1024, "a size that spare.h keeps");

/* ---- the frame ---- */

/* More room for events; false: there are too many of them. */
NOINLINE static bool pipe_events_grow(struct pipe *p)
{
    size_t twice = p->events_max ? 2 * p->events_max : PIPE_EVENTS_FIRST;
    size_t more = twice < EVENTS_MAX ? twice : EVENTS_MAX;
    struct chat_event *grown;

    assert(p->count == p->events_max && p->events_max <= EVENTS_MAX);
    if (p->count == more)
        return false;
    grown = arena_alloc(&p->frame, (more + 1) * sizeof *grown); /* one more, to be dropped */
    if (p->count)
        memcpy(grown, p->events, p->count * sizeof *grown);
    p->events = grown;
    p->events_max = more;
    return true;
}

struct chat_event *pipe_push(struct pipe *p, const struct chat_event *ev)
{
    assert(p->first == p && p->count <= p->events_max); /* choices share the first one's frame */
    if (p->count == p->events_max && !pipe_events_grow(p)) {
        p->full = p->touched = true;
        p->events[p->count] = *ev;
        return &p->events[p->count];
    }
    p->events[p->count] = *ev;
    return &p->events[p->count++];
}

static struct chat_event *pipe_on_numbered(void *ctx, const struct chat_event *ev)
{
    struct pipe *p = ctx;
    struct chat_event *out = pipe_push(p->first, ev);

    out->choice = p->choice;
    return out;
}

static void pipe_init_chain(struct pipe *p, const struct pipe_options *o, struct arena *a,
                            struct pipe *first)
{
    memset(p, 0, offsetof(struct pipe, frame));
    p->first = first;
    p->options = *o;
    p->shared = (struct pipe_shared){&p->options, a, &first->frame, &p->touched};
    p->split = (struct pipe_split){.shared = &p->shared, .next = &p->reasoning};
    p->reasoning = (struct pipe_count){.shared = &p->shared, .next = &p->cap, .cap = o->cap};
    p->cap = (struct pipe_cap){.shared = &p->shared, .next = &p->redact};
    p->redact = (struct pipe_redact){.shared = &p->shared, .next = &p->number};
    p->number = (struct pipe_number){.keep = pipe_on_numbered, .ctx = p, .arena = a};
}

void pipe_init(struct pipe *p, const struct pipe_options *o, struct arena *a)
{
    pipe_init_chain(p, o, a, p);
    arena_init(&p->frame, FRAME_MAX);
    p->room = NULL;
    if (o->vocab)
        tokens_vocab_warm(o->vocab); /* before the reply comes */
}

void pipe_release(struct pipe *p)
{
    assert(p->first == p);
    for (struct pipe *q = p; q; q = q->next)
        pipe_split_release(&q->split);
    pipe_rest(p);
}

void pipe_rest(struct pipe *p)
{
    assert(p->first == p);
    arena_release(&p->frame);
    if (p->room)
        spare_free(p->room, sizeof *p->room);
    p->room = NULL;
    p->events = NULL;
    p->count = p->events_max = 0;
}

static void pipe_take_room(struct pipe *p)
{
    size_t size = sizeof *p->room;

    p->room = spare_alloc(&size);
    assert(size == sizeof *p->room);
}

void pipe_begin(struct pipe *p)
{
    assert(p->first == p);
    p->ever_touched |= p->touched;
    if (p->frame.block)
        arena_release(&p->frame);
    if (!p->room)
        pipe_take_room(p);
    arena_lend(&p->frame, p->room->texts, sizeof p->room->texts);
    p->events = p->room->events;
    p->events_max = PIPE_EVENTS_FIRST;
    p->count = 0;
    for (struct pipe *q = p; q; q = q->next) {
        q->touched = q->redact.frame_says = false;
        q->split.node = NULL;
    }
}

/* ---- choices ---- */

/* NULL: nothing of it has come. */
static struct pipe *pipe_find_choice(struct pipe *p, uint32_t choice)
{
    while (p && p->choice != choice)
        p = p->next;
    return p;
}

static struct pipe *pipe_get_choice(struct pipe *p, uint32_t choice)
{
    struct pipe *q = pipe_find_choice(p, choice), *last = p;
    struct pipe_options options = p->options;

    assert(p->first == p && p->choice == 0);
    if (q)
        return q;
    /* Only the whole reply can be let go. */
    options.at_cap = options.at_cap == PIPE_TRUNCATE ? PIPE_TRUNCATE : PIPE_GO_ON;
    options.cap = p->reasoning.cap;
    options.on_thought = NULL;
    options.on_next_thought = NULL;
    options.on_cap = NULL;
    options.id = arena_printf(p->shared.arena, STR_FMT "_%u", STR_ARG(p->options.id), choice);
    q = arena_alloc(p->shared.arena, sizeof *q);
    pipe_init_chain(q, &options, p->shared.arena, p);
    q->choice = choice;
    if (p->cap.continued)
        pipe_continue(q);
    while (last->next)
        last = last->next;
    return last->next = q;
}

static bool pipe_answers(const struct pipe *p)
{
    return p->cap.answered || p->cap.called;
}

bool pipe_others_answer(const struct pipe *p)
{
    const struct pipe *q = p->next;

    assert(p->first == p);
    while (q && !pipe_answers(q))
        q = q->next;
    return q;
}

/* Another choice has got something. */
static void pipe_heed_other(struct pipe *p, struct pipe *q)
{
    bool lets_go = p->options.at_cap >= PIPE_STOP && p->cap.state == PIPE_UNDER;

    assert(p->first == p && q->first == p && q != p);
    p->touched |= q->touched;
    if (pipe_is_over(q) && lets_go && !pipe_answers(p) && !pipe_others_answer(p)) {
        pipe_count_close(&p->reasoning);
        pipe_cap_pass(&p->cap);
    } else if (pipe_is_over(q) && p->cap.state == PIPE_UNDER) {
        p->other_capped = true;
    }
    if (lets_go && p->cap.state == PIPE_UNDER && pipe_answers(q))
        p->options.at_cap = PIPE_TRUNCATE;
    pipe_clear_over(q);
    assert(!pipe_is_over(q));
}

/* ---- events ---- */

/* A relayed reply keeps the usage that its provider reported, also where its reasoning was cut.
 * Reasoning that was split out of the text, or hidden, is counted here. */
static bool pipe_keeps_usage(const struct pipe *p)
{
    bool touched = p->ever_touched || p->touched;

    return p->options.as_it_is &&
           (!touched || !(p->options.format || p->options.hide || p->options.both_names));
}

NOINLINE static void pipe_feed_usage(struct pipe *p, const struct chat_event *ev)
{
    struct chat_usage *u = arena_alloc(&p->frame, sizeof *u);

    *u = *ev->usage;
    if (u->reasoning < 0 && p->reasoning.size > 0 && !pipe_keeps_usage(p)) {
        u->reasoning = pipe_reasoning_tokens(p);
        u->raw = STR("");
        p->touched = true;
    }
    pipe_push(p, ev)->usage = u;
}

NOINLINE static void pipe_feed_error(struct pipe *p, const struct chat_event *ev)
{
    struct chat_error *e = arena_alloc(&p->frame, sizeof *e);
    struct chat_event copy = *ev;

    *e = *ev->error;
    copy.error = e;
    pipe_split_feed(&p->split, &copy);
}

NOINLINE static void pipe_feed_other(struct pipe *p, const struct chat_event *ev)
{
    struct pipe *q = pipe_get_choice(p, ev->choice);

    assert(ev->choice != 0);
    pipe_split_feed(&q->split, ev);
    pipe_heed_other(p, q);
}

void pipe_feed(struct pipe *p, const struct chat_event *ev)
{
    assert(p->first == p);
    if (ev->kind == CHAT_USAGE)
        pipe_feed_usage(p, ev);
    else if (ev->kind == CHAT_ERROR)
        pipe_feed_error(p, ev);
    else if (ev->choice != 0)
        pipe_feed_other(p, ev);
    else
        pipe_split_feed(&p->split, ev);
}

bool pipe_passes(const struct pipe *p, uint32_t block, str text)
{
    assert(p->first == p);
    return p->cap.state == PIPE_UNDER && !p->reasoning.waiting_n &&
           pipe_split_passes(&p->split, block, text);
}

void pipe_flush(struct pipe *p)
{
    assert(p->first == p);
    for (struct pipe *q = p; q; q = q->next) {
        pipe_split_flush(&q->split);
        pipe_count_flush(&q->reasoning);
        if (q != p)
            pipe_heed_other(p, q);
    }
}

/* ---- format ---- */

const struct split_format *pipe_format(const struct pipe *p)
{
    return p->split.picked ? p->split.picked : p->options.format;
}

bool pipe_may_split(const struct pipe *p)
{
    return pipe_format(p) && p->split.state != PIPE_PLAIN;
}

bool pipe_is_picking(struct pipe *p, uint32_t choice)
{
    struct pipe *q = pipe_find_choice(p, choice);

    return q ? pipe_split_is_picking(&q->split) : pipe_split_may_pick(&p->options);
}

void pipe_set_plain(struct pipe *p, uint32_t choice)
{
    pipe_split_set_plain(&pipe_get_choice(p, choice)->split);
}

void pipe_set_format(struct pipe *p, const struct split_format *format, bool inside)
{
    assert(p->first == p);
    p->options.format = format;
    p->options.inside = inside;
    p->full = false;
    pipe_split_restart(&p->split);
}

/* ---- the cap ---- */

void pipe_clear_over(struct pipe *p)
{
    if (pipe_is_over(p))
        p->cap.state = PIPE_BEYOND;
}

bool pipe_resumes(const struct pipe *p)
{
    assert(p->cap.answer_size >= p->cap.before.answer_size);
    return p->cap.answer_size > p->cap.before.answer_size ||
           (p->cap.called && !p->cap.before.called);
}

void pipe_continue(struct pipe *p)
{
    for (; p; p = p->next) {
        pipe_split_continue(&p->split, p->cap.answered);
        pipe_count_close(&p->reasoning);
        pipe_cap_continue(&p->cap);
        pipe_number_feed(&p->number, &pipe_break, PIPE_BREAK);
    }
}

void pipe_continue_inside(struct pipe *p)
{
    assert(p->first == p);
    pipe_split_doubt_start(&p->split);
}

/* ---- tokens ---- */

int64_t pipe_kept_tokens(struct pipe *p)
{
    int64_t n = 0;

    assert(p->first == p);
    for (; p; p = p->next)
        n += pipe_count_tokens(&p->reasoning);
    assert(n >= 0);
    return n;
}

int64_t pipe_reasoning_tokens(struct pipe *p)
{
    int64_t n = pipe_kept_tokens(p);

    assert(p->first == p);
    for (; p; p = p->next)
        n += pipe_cap_dropped(&p->cap);
    return n;
}

int64_t pipe_output_tokens(struct pipe *p)
{
    int64_t reasoning = pipe_reasoning_tokens(p);
    size_t said = 0;

    for (; p; p = p->next)
        said += p->cap.answer_size + p->cap.arguments_size;
    return reasoning + (int64_t)((said + 3) / 4);
}
