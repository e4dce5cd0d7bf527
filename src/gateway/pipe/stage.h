/* stage.h - shared by the stages of a pipe: options, memory, marks of events.
 *
 *     split -> count -> cap -> redact -> number
 *
 * A stage receives events by its function pipe_NAME_feed and calls that of the next stage. It does
 * no I/O and cannot fail. Its concatenated output does not depend on how the input is cut into
 * events. Events and their texts are lent for the call. A stage is zeroed and given `shared` and
 * `next` before use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "split/split.h"
#include "tokens/tokens.h"
#include "wire/citations.h"

/* How a reply continues when its reasoning passes the cap. */
enum pipe_at_cap {
    PIPE_GO_ON,          /* the rest of the reasoning is dropped; the rest of the reply stays */
    PIPE_TRUNCATE,       /* the same, and dropped tokens are counted from the cap on */
    PIPE_STOP,           /* the rest of the reply is dropped */
    PIPE_STOP_OR_RESUME, /* the same after a tool call; else the provider may be asked to go on
                            to its answer, which then stays */
};

struct pipe_options {
    const struct split_format *format; /* NULL: text is not split here */
    bool inside;                       /* the text begins inside reasoning */
    bool hide;
    bool announce;    /* hidden reasoning is announced by an event without text */
    bool both_names;  /* the client asked for reasoning: every frame of it is touched, so that it
                        is sent under both names that Chat Completions clients read */
    bool as_it_is;    /* the frames are relayed: usage stays as the provider reported it, unless
                        reasoning was split out of the text or is hidden */
    bool one_thought; /* the client gets all reasoning as one text: see struct wire */
    enum pipe_at_cap at_cap;
    int64_t cap; /* tokens of reasoning; -1: no cap */
    str id;      /* part of the ids of tool calls read from markup; lent */
    const struct tokens_vocab *vocab;
    /* Gets reasoning under the cap, visible or hidden; may be NULL. */
    void (*on_thought)(void *ctx, str text);
    void (*on_next_thought)(void *ctx); /* another thought follows, and no line has ended */
    /* Called when the cap is reached; returns a higher cap to raise it. May be NULL. */
    int64_t (*on_cap)(void *ctx);
    /* With "auto": whether the request asks for this tag, which is then part of the answer. May be
     * NULL. */
    bool (*asks_for)(void *ctx, str tag);
    void *ctx;
};

/* What one stage reports to the next about an event. */
enum pipe_mark {
    PIPE_AS_SENT,    /* as the provider sent it */
    PIPE_FROM_TEXT,  /* split out of a text */
    PIPE_SEALED,     /* a signature or opaque data that is all of its block */
    PIPE_BEYOND_CAP, /* reasoning beyond the cap */
    PIPE_BREAK,      /* no event: the current block has ended, and the next event starts another */
};

static const struct chat_event pipe_break = {.kind = CHAT_END}; /* sent with PIPE_BREAK */

/* Shared by all stages of a pipe; lent as long as the pipe lives. */
struct pipe_shared {
    const struct pipe_options *options;
    struct arena *arena;   /* lives as long as the reply */
    struct arena *scratch; /* lives as long as the current frame */
    bool *touched;         /* set by a stage that changes the current frame */
};

/* Whether the event is part of a block. */
static inline bool pipe_is_content(const struct chat_event *ev)
{
    return ev->kind >= CHAT_TEXT && ev->kind <= CHAT_OPAQUE;
}

/* Whether the event is reasoning that cannot be read. */
static inline bool pipe_is_opaque(const struct chat_event *ev)
{
    return ev->kind == CHAT_SIGNATURE || ev->kind == CHAT_REDACTED ||
           (ev->kind == CHAT_OPAQUE && ev->summary);
}

/* Whether the event accompanies the text of its block, as citations do. */
static inline bool pipe_is_beside(const struct chat_event *ev)
{
    return ev->kind == CHAT_OPAQUE && citation_is_beside_text(ev);
}
