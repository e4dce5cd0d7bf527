/* stage.h - what the stages of a pipe have in common: options, memory, what an event is.
 *
 *     split -> count -> cap -> redact -> number
 *
 * A stage gets events by its function pipe_NAME_feed and calls that of the next one. It does no
 * I/O, cannot fail, and its output, joined, is the same for every cut of its input. Events and
 * their texts are lent for the call. A stage is zeroed and given `shared` and `next` before use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "chat/chat.h"
#include "split/split.h"
#include "tokens/tokens.h"
#include "wire/citations.h"

/* What happens to a reply when its reasoning passes the cap. */
enum pipe_at_cap {
    PIPE_GO_ON,          /* the rest of the reasoning is dropped; the rest of the reply stays */
    PIPE_TRUNCATE,       /* the same, and the tokens that are dropped are counted from the cap on */
    PIPE_STOP,           /* the rest of the reply is dropped */
    PIPE_STOP_OR_RESUME, /* the same after a tool call; else the provider may be told to go on to
                            its answer, which then stays */
};

struct pipe_options {
    const struct split_format *format; /* NULL: the provider splits, or nothing does */
    bool inside;                       /* the text begins inside reasoning */
    bool hide;
    bool announce;   /* hidden reasoning is announced by an event without text */
    bool both_names; /* the client asked to be shown reasoning: every frame of it is touched, so
                        that it goes out under both names that Chat Completions clients read */
    bool as_it_is;   /* the frames are relayed: usage stays as the provider reported it, unless
                        reasoning was split out of the text or is hidden */
    enum pipe_at_cap at_cap;
    int64_t cap; /* tokens of reasoning; -1: no cap */
    str id;      /* goes into the ids of calls read from markup; lent */
    const struct tokens_vocab *vocab;
    /* Reasoning under the cap, seen or hidden; may be NULL. */
    void (*on_thought)(void *ctx, str text);
    /* The cap is reached: a higher one if it is to be raised. May be NULL. */
    int64_t (*on_cap)(void *ctx);
    void *ctx;
};

/* What one stage tells the next about an event. */
enum pipe_mark {
    PIPE_AS_SENT,    /* the provider sent it so */
    PIPE_FROM_TEXT,  /* split out of a text */
    PIPE_SEALED,     /* a signature or opaque data, and all there is of its block */
    PIPE_BEYOND_CAP, /* reasoning that does not fit under the cap */
    PIPE_BREAK,      /* no event: the block at hand has ended, and what comes next begins another */
};

static const struct chat_event pipe_break = {.kind = CHAT_END}; /* goes with PIPE_BREAK */

/* The same for all stages of a pipe, and lent as long as it. */
struct pipe_shared {
    const struct pipe_options *options;
    struct arena *arena;   /* as long as the reply */
    struct arena *scratch; /* as long as the frame at hand */
    bool *touched;         /* set by a stage that changes the frame at hand */
};

/* Whether the event is part of a block. */
static inline bool pipe_is_content(const struct chat_event *ev)
{
    return ev->kind >= CHAT_TEXT && ev->kind <= CHAT_OPAQUE;
}

/* Whether the event is reasoning that nobody can read. */
static inline bool pipe_is_opaque(const struct chat_event *ev)
{
    return ev->kind == CHAT_SIGNATURE || ev->kind == CHAT_REDACTED ||
           (ev->kind == CHAT_OPAQUE && ev->summary);
}

/* Whether the event stands beside the text of its block, as citations do. */
static inline bool pipe_is_beside(const struct chat_event *ev)
{
    return ev->kind == CHAT_OPAQUE && citation_is_beside_text(ev);
}

static inline bool pipe_is_blank(str s)
{
    return str_trim(s).n == 0;
}
