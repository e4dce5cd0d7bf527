/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/pipe/count.h"

#include "base/utf8.h"

static void pipe_counter_init(struct tokens_counter *c, const struct pipe_shared *shared,
                              struct tokens_windows *windows)
{
    tokens_counter_init(c, shared->options->vocab, windows);
    c->arena = shared->arena;
    c->trusted = true; /* it comes out of JSON, which was checked */
}

struct tokens_counter *pipe_counter_new(const struct pipe_shared *shared)
{
    struct tokens_counter *c = arena_alloc(shared->arena, sizeof *c);

    pipe_counter_init(c, shared, NULL);
    return c;
}

int64_t pipe_count_tokens(struct pipe_count *s)
{
    assert(s->counted >= 0 || s->counter);
    if (s->counted < 0)
        s->counted = (int64_t)(s->counted_before + tokens_counter_count(s->counter));
    assert(s->counted >= (int64_t)s->counted_before || !s->counter);
    return s->counted;
}

static void pipe_count_begin_block(struct pipe_count *s)
{
    assert(!s->waiting_n && !s->beyond);
    if (!s->counter) {
        s->counter = pipe_counter_new(s->shared);
        return;
    }
    s->counted_before = (size_t)pipe_count_tokens(s);
    pipe_counter_init(s->counter, s->shared, s->counter->windows);
}

static void pipe_count_add(struct pipe_count *s, str text)
{
    assert(s->counter && !s->beyond);
    s->counted = -1;
    tokens_counter_feed(s->counter, text);
}

/* Bytes that surely fit under the cap, whatever they are. */
static int64_t pipe_count_room(struct pipe_count *s)
{
    assert(s->cap >= 0 && s->counter);
    return s->cap - (int64_t)(s->counted_before + tokens_counter_most(s->counter));
}

/* A copy of a counter and of its windows. */
struct pipe_counter_copy {
    struct tokens_counter counter;
    struct tokens_windows windows;
};

static void pipe_counter_restore(struct tokens_counter *c, const struct pipe_counter_copy *copy)
{
    struct tokens_windows *windows = c->windows; /* they may have been made since */

    assert(!copy->counter.windows || windows);
    if (copy->counter.windows)
        *windows = copy->windows;
    *c = copy->counter;
    c->windows = windows;
}

/* Near the cap: adds the bytes that surely fit, then character by character. */
static size_t pipe_count_fits_near(struct pipe_count *s, str text, bool *over)
{
    struct pipe_counter_copy before;
    size_t at = 0, fits = 0;

    assert(s->cap >= 0);
    s->room = 0;
    while (at < text.n && !*over) {
        str rest = str_slice(text, at, text.n);
        int64_t left = pipe_count_room(s);
        size_t n = utf8_cut_count(rest, 1).n,
               sure = left > 0 ? utf8_cut_size(rest, (size_t)left).n : 0;

        n = sure > n ? sure : n;
        assert(n > 0 && n <= rest.n); /* else the loop would not end */
        if (at == fits) {
            before.counter = *s->counter;
            if (s->counter->windows)
                before.windows = *s->counter->windows;
        }
        pipe_count_add(s, str_slice(rest, 0, n));
        at += n;
        if (pipe_count_tokens(s) <= s->cap)
            fits = at;
        else
            *over = at - fits > PIPE_WAITING_MAX ||
                    (int64_t)(s->counted_before + tokens_counter_least(s->counter)) > s->cap;
    }
    assert(fits <= at && at <= text.n);
    if (fits < at) {
        pipe_counter_restore(s->counter, &before);
        s->counted = -1;
    }
    return fits;
}

static bool pipe_has_blocks(enum chat_dialect dialect)
{
    return dialect == CHAT_ANTHROPIC || dialect == CHAT_RESPONSES || dialect == CHAT_GEMINI ||
           dialect == CHAT_CONVERSE;
}

static void pipe_count_report(struct pipe_count *s, str text)
{
    const struct pipe_options *o = s->shared->options;

    assert(text.n > 0);
    if (s->fresh && s->last && s->last != '\n' && text.p[0] != '\n') {
        s->apart = o->one_thought && !o->hide && s->parted;
        if (o->on_next_thought)
            o->on_next_thought(o->ctx);
    }
    s->fresh = false;
    s->last = text.p[text.n - 1];
    if (o->on_thought)
        o->on_thought(o->ctx, text);
}

/* The part of the text that fits under the cap; it is counted and reported. `over`: the rest does
 * not fit, whatever follows; otherwise the rest waits. While the cap has room for more tokens than
 * the text has bytes, the tokens need not be counted. */
static size_t pipe_count_fits(struct pipe_count *s, str text, bool *over)
{
    int64_t size = (int64_t)text.n;
    size_t n = text.n;

    *over = false;
    if (s->cap >= 0 && size > s->room)
        s->room = pipe_count_room(s);
    if (s->cap >= 0 && size > s->room) {
        n = pipe_count_fits_near(s, text, over);
    } else {
        s->room -= size;
        pipe_count_add(s, text);
    }
    if (n)
        pipe_count_report(s, str_slice(text, 0, n));
    assert(n == text.n || (n < text.n && s->cap >= 0));
    return n;
}

/* Only the first n bytes of the text are under the cap, or some of it waited. The event passes if
 * it has any of them, and if it will be hidden, so that it is announced. */
NOINLINE static void pipe_count_divide(struct pipe_count *s, const struct chat_event *ev, str text,
                                       size_t n, bool over)
{
    struct chat_event part = *ev;

    assert(n <= text.n && s->waiting_n == 0 && !s->beyond);
    *s->shared->touched = true;
    part.text = str_slice(text, 0, n);
    part.node = text.p == ev->text.p && !s->apart ? ev->node : NULL;
    if (s->apart)
        part.text = arena_join(s->shared->scratch, STR("\n\n"), part.text, STR(""));
    s->apart = false;
    if (n || s->shared->options->hide)
        pipe_cap_feed(s->next, &part, s->from_text ? PIPE_FROM_TEXT : PIPE_AS_SENT);
    part.text = str_slice(text, n, text.n);
    if (over) {
        s->beyond = true;
        pipe_cap_feed(s->next, &part, PIPE_BEYOND_CAP);
    } else {
        assert(part.text.n <= PIPE_WAITING_MAX);
        s->waiting_n = (uint32_t)part.text.n;
        if (!s->waiting)
            s->waiting = arena_alloc(s->shared->arena, PIPE_WAITING_MAX);
        memcpy(s->waiting, part.text.p, part.text.n);
    }
}

/* Counts reasoning of the current block; `whole`: it is complete. */
static void pipe_count_take(struct pipe_count *s, const struct chat_event *ev, bool whole)
{
    const struct pipe_options *o = s->shared->options;
    str text = ev->text;
    bool over;
    size_t n;

    assert(s->block == ev->block + 1 && !s->beyond);
    assert(s->waiting_n <= PIPE_WAITING_MAX);
    if (s->waiting_n)
        text = arena_join(s->shared->scratch, (str){s->waiting, s->waiting_n}, text, STR(""));
    s->waiting_n = 0;
    n = pipe_count_fits(s, text, &over);
    if ((over || (whole && n < text.n)) && o->on_cap) {
        s->cap = o->on_cap(o->ctx);
        n += pipe_count_fits(s, str_slice(text, n, text.n), &over);
    }
    s->any = s->any || !str_is_blank(str_slice(text, 0, n));
    s->summary = ev->summary;
    s->tagged |= s->from_text;
    s->size += n;
    if (n == text.n && text.p == ev->text.p && !s->apart)
        pipe_cap_feed(s->next, ev, s->from_text ? PIPE_FROM_TEXT : PIPE_AS_SENT);
    else
        pipe_count_divide(s, ev, text, n, over || (whole && n < text.n));
}

void pipe_count_flush(struct pipe_count *s)
{
    if (s->waiting_n) {
        assert(s->block && !s->beyond);
        pipe_count_take(s,
                        &(struct chat_event){.kind = CHAT_REASONING,
                                             .block = s->block - 1,
                                             .text = STR(""),
                                             .id = STR(""),
                                             .name = STR(""),
                                             .summary = s->summary},
                        true);
    }
    assert(!s->waiting_n);
}

void pipe_count_close(struct pipe_count *s)
{
    s->beyond = true;
    s->waiting_n = 0;
    s->block = 0;
}

NOINLINE static void pipe_count_reasoning(struct pipe_count *s, const struct chat_event *ev,
                                          enum pipe_mark mark)
{
    bool next = s->block != ev->block + 1;

    assert(mark == PIPE_AS_SENT || mark == PIPE_FROM_TEXT);
    if (next)
        pipe_count_flush(s);
    if (s->beyond) {
        pipe_cap_feed(s->next, ev, PIPE_BEYOND_CAP);
        return;
    }
    assert(!next || !s->waiting_n);
    if (!s->counter || (next && s->any))
        pipe_count_begin_block(s);
    s->fresh |= next;
    s->block = ev->block + 1;
    s->from_text = mark == PIPE_FROM_TEXT;
    s->parted = s->from_text || (pipe_has_blocks(ev->dialect) && !s->shared->options->as_it_is);
    pipe_count_take(s, ev, false);
}

void pipe_count_feed(struct pipe_count *s, const struct chat_event *ev, enum pipe_mark mark)
{
    assert(mark != PIPE_BEYOND_CAP); /* this stage marks it */
    assert(mark != PIPE_BREAK || ev->kind == CHAT_END);
    if (ev->kind == CHAT_REASONING) {
        pipe_count_reasoning(s, ev, mark);
        return;
    }
    if (mark == PIPE_BREAK || ev->kind == CHAT_STOP ||
        (pipe_is_content(ev) && !pipe_is_beside(ev))) {
        if (s->waiting_n)
            pipe_count_flush(s);
        if (ev->kind != CHAT_SIGNATURE)
            s->block = 0;
    }
    if (mark == PIPE_SEALED)
        s->any = s->opaque = true;
    pipe_cap_feed(s->next, ev, mark);
}
