/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/pipe_count.h"

#include "base/utf8.h"
#include "gateway/pipe_others.h"

static void pipe_counter_init(struct pipe *p, struct tokens_counter *c,
                              struct tokens_windows *windows)
{
    tokens_counter_init(c, p->options.vocab, windows);
    c->arena = p->arena;
    c->trusted = true; /* it comes out of JSON, which was checked */
}

void pipe_count_block(struct pipe *p)
{
    struct tokens_windows *windows = p->counter ? p->counter->windows : NULL;

    if (!p->counter)
        p->counter = arena_alloc(p->arena, sizeof *p->counter);
    else
        p->counted_before += tokens_counter_count(p->counter);
    p->counted = (int64_t)p->counted_before;
    pipe_counter_init(p, p->counter, windows);
}

/* Of the first choice alone: each has a cap of its own. */
static int64_t counted(struct pipe *p)
{
    if (p->counted < 0)
        p->counted = (int64_t)(p->counted_before + tokens_counter_count(p->counter));
    return p->counted;
}

int64_t pipe_tokens(struct pipe *p)
{
    return counted(p) + (p->others ? pipe_others_tokens(p) : 0);
}

void pipe_count_dropped(struct pipe *p, str text)
{
    if (!p->dropped_counter) {
        p->dropped_counter = arena_alloc(p->arena, sizeof *p->dropped_counter);
        pipe_counter_init(p, p->dropped_counter, NULL);
    }
    tokens_counter_feed(p->dropped_counter, text);
    p->dropped += text.n;
}

static int64_t pipe_count_dropped_tokens(struct pipe *p)
{
    return p->dropped_counter ? (int64_t)tokens_counter_count(p->dropped_counter) : 0;
}

int64_t pipe_thought(struct pipe *p)
{
    int64_t dropped = pipe_count_dropped_tokens(p);

    for (struct pipe_other *o = p->others; o; o = o->next)
        dropped += pipe_count_dropped_tokens(&o->pipe);
    return pipe_tokens(p) + dropped;
}

int64_t pipe_made(struct pipe *p)
{
    size_t said = p->answer_size + p->arguments_size;

    for (const struct pipe_other *o = p->others; o; o = o->next)
        said += o->pipe.answer_size + o->pipe.arguments_size;
    return pipe_thought(p) + (int64_t)((said + 3) / 4);
}

static void feed(struct pipe *p, str text)
{
    p->counted = -1;
    tokens_counter_feed(p->counter, text);
}

/* Bytes that surely fit under the cap, whatever they are. */
static int64_t room(struct pipe *p)
{
    return p->options.cap - (int64_t)(p->counted_before + tokens_counter_most(p->counter));
}

static size_t char_size(str s)
{
    size_t n = 1;

    while (n < s.n && ((unsigned char)s.p[n] & 0xC0) == 0x80)
        n++;
    return n;
}

static bool surely_over(struct pipe *p)
{
    return (int64_t)(p->counted_before + tokens_counter_least(p->counter)) > p->options.cap;
}

/* A counter as it was, with what its windows had. */
struct pipe_counter_copy {
    struct tokens_counter counter;
    struct tokens_windows windows;
};

static void pipe_counter_save(const struct pipe *p, struct pipe_counter_copy *copy)
{
    copy->counter = *p->counter;
    if (p->counter->windows)
        copy->windows = *p->counter->windows;
}

static void pipe_counter_restore(struct pipe *p, const struct pipe_counter_copy *copy)
{
    struct tokens_windows *windows = p->counter->windows;

    if (copy->counter.windows)
        *windows = copy->windows;
    *p->counter = copy->counter;
    p->counter->windows = windows; /* they may have been made since */
    p->counted = -1;
}

/* Under a cap that is near: what surely fits, and then character by character. */
static size_t fits_near(struct pipe *p, str text, bool *over)
{
    struct pipe_counter_copy before;
    size_t at = 0, fits = 0;

    p->room = 0;
    while (at < text.n && !*over) {
        str rest = str_slice(text, at, text.n);
        int64_t left = room(p);
        size_t n = char_size(rest), sure = left > 0 ? utf8_cut_size(rest, (size_t)left).n : 0;

        n = sure > n ? sure : n;
        if (at == fits)
            pipe_counter_save(p, &before);
        feed(p, str_slice(rest, 0, n));
        at += n;
        if (counted(p) <= p->options.cap)
            fits = at;
        else
            *over = surely_over(p) || at - fits > PIPE_WAITING_MAX;
    }
    if (fits < at) {
        pipe_counter_restore(p, &before);
        *over |= p->closing;
    }
    return fits;
}

/* As long as there is room for more bytes than come, nobody has to know how many tokens it were. */
size_t pipe_count_fits(struct pipe *p, str text, bool *over)
{
    int64_t n = (int64_t)text.n;

    *over = false;
    if (p->options.cap >= 0 && n > p->room)
        p->room = room(p);
    if (p->options.cap >= 0 && n > p->room)
        return fits_near(p, text, over);
    p->room -= n;
    feed(p, text);
    return text.n;
}

str pipe_count_join(struct pipe *p, str text)
{
    str waited = {p->waiting, p->waiting_n};

    if (!waited.n)
        return text;
    p->waiting_n = 0;
    return arena_join(&p->frame, waited, text, STR(""));
}

void pipe_count_wait(struct pipe *p, str rest)
{
    assert(rest.n <= PIPE_WAITING_MAX);
    memcpy(p->waiting, rest.p, rest.n);
    p->waiting_n = rest.n;
    p->touched = true;
}
