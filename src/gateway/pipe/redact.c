/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/pipe/redact.h"

#include "wire/redact_reasoning.h"

bool pipe_lists_tokens(const struct chat_event *ev)
{
    const str choice = STR("choice.");

    return ev->kind == CHAT_EXTRA && str_starts(ev->name, choice) &&
           redact_is_token_list(str_slice(ev->name, choice.n, ev->name.n));
}

/* A block of hidden reasoning begins. */
NOINLINE static void pipe_redact_begin(struct pipe_redact *s, uint32_t block)
{
    struct chat_event empty = {
        .kind = CHAT_REASONING, .block = block, .text = STR(""), .id = STR("")};

    s->block = block + 1;
    if (s->shared->options->announce)
        pipe_number_feed(s->next, &empty, PIPE_AS_SENT);
    pipe_number_feed(s->next, &pipe_break, PIPE_BREAK);
}

/* Reasoning is hidden: whether another event tells something of it. */
NOINLINE static bool pipe_redact_drops(struct pipe_redact *s, const struct chat_event *ev,
                                       enum pipe_mark mark)
{
    const struct pipe_shared *sh = s->shared;

    s->reasoned = s->reasoned || mark == PIPE_SEALED;
    if (ev->kind == CHAT_EXTRA)
        return (*sh->touched || (s->reasoned && !s->frame_says)) && pipe_lists_tokens(ev);
    if (pipe_is_opaque(ev)) /* but Gemini signs the answer */
        return !(sh->options->as_it_is && ev->kind == CHAT_SIGNATURE &&
                 ev->dialect == CHAT_GEMINI && !ev->summary);
    if (mark == PIPE_BREAK || pipe_is_content(ev))
        s->block = 0;
    s->frame_says = s->frame_says || (pipe_is_content(ev) && ev->kind != CHAT_OPAQUE);
    return false;
}

void pipe_redact_feed(struct pipe_redact *s, const struct chat_event *ev, enum pipe_mark mark)
{
    const struct pipe_options *o = s->shared->options;

    assert(mark != PIPE_BEYOND_CAP);
    if (ev->kind == CHAT_REASONING && (o->hide || o->both_names))
        *s->shared->touched = true;
    if (ev->kind == CHAT_REASONING && o->hide) {
        if (s->block != ev->block + 1)
            pipe_redact_begin(s, ev->block);
        s->reasoned = s->reasoned || !pipe_is_blank(ev->text);
    } else if (o->hide && pipe_redact_drops(s, ev, mark)) {
        *s->shared->touched = true;
    } else {
        pipe_number_feed(s->next, ev, mark);
    }
}
