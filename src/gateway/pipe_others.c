/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/pipe_others.h"

#include "gateway/pipe_out.h"
#include "gateway/pipe_text.h"

static struct pipe_other *other_of(struct pipe *p, uint32_t choice)
{
    struct pipe_options options = p->options;
    struct pipe_other **at = &p->others;

    while (*at && (*at)->choice != choice)
        at = &(*at)->next;
    if (*at)
        return *at;
    *at = arena_zero(p->arena, 1, sizeof **at);
    (*at)->choice = choice;
    options.ends_at_cap = options.may_resume = false; /* the reply does, or none of it */
    options.on_thought = NULL;
    options.on_cap = NULL;
    options.id = arena_printf(p->arena, STR_FMT "_%u", STR_ARG(p->options.id), choice);
    pipe_init(&(*at)->pipe, &options, p->arena);
    (*at)->pipe.muted = p->continued;
    return *at;
}

/* One of them has passed its cap. */
static void capped(struct pipe *p, struct pipe_other *o)
{
    o->pipe.over = false;
    if (p->over || p->muted)
        return;
    if (p->options.ends_at_cap && !p->answered && !p->called && !pipe_others_answer(p))
        pipe_pass_cap(p);
    else
        p->capped = true;
}

/* What came of it since it had so many events. */
static void take_over(struct pipe *p, struct pipe_other *o, size_t before)
{
    for (size_t i = before; i < o->pipe.count; i++)
        pipe_push(p, &o->pipe.events[i])->choice = o->choice;
    p->touched |= o->pipe.touched;
    if (o->pipe.over)
        capped(p, o);
}

void pipe_others_feed(struct pipe *p, const struct chat_event *ev)
{
    struct pipe_other *o = other_of(p, ev->choice);
    struct chat_event alone = *ev;
    size_t before = o->pipe.count;

    alone.choice = 0;
    pipe_feed(&o->pipe, &alone);
    take_over(p, o, before);
}

void pipe_others_begin(struct pipe *p)
{
    for (struct pipe_other *o = p->others; o; o = o->next)
        pipe_begin(&o->pipe);
}

void pipe_others_flush(struct pipe *p)
{
    for (struct pipe_other *o = p->others; o; o = o->next) {
        size_t before = o->pipe.count;

        pipe_flush(&o->pipe);
        take_over(p, o, before);
    }
}

void pipe_others_continue(struct pipe *p)
{
    for (struct pipe_other *o = p->others; o; o = o->next) {
        pipe_continue(&o->pipe);
        o->pipe.muted = true;
    }
}

void pipe_others_release(struct pipe *p)
{
    for (struct pipe_other *o = p->others; o; o = o->next)
        pipe_release(&o->pipe);
}

int64_t pipe_others_tokens(struct pipe *p)
{
    int64_t tokens = 0;

    for (struct pipe_other *o = p->others; o; o = o->next)
        tokens += pipe_tokens(&o->pipe);
    return tokens;
}

bool pipe_others_answer(const struct pipe *p)
{
    for (const struct pipe_other *o = p->others; o; o = o->next)
        if (o->pipe.answered || o->pipe.called)
            return true;
    return false;
}

bool pipe_is_picking(const struct pipe *p, uint32_t choice)
{
    const struct pipe_other *o = p->others;

    if (choice == 0)
        return pipe_text_is_picking(p);
    while (o && o->choice != choice)
        o = o->next;
    return o ? pipe_text_is_picking(&o->pipe) : pipe_text_may_pick(&p->options);
}

void pipe_set_plain(struct pipe *p, uint32_t choice)
{
    pipe_text_be_plain(choice ? &other_of(p, choice)->pipe : p);
}
