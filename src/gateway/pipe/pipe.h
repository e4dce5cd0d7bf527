/* pipe.h - processes a provider's reply for the client: a chain of five stages.
 *
 *     split     text into reasoning, answer and tool calls          split.h
 *     count     reasoning in tokens, divided at the cap             count.h
 *     cap       drops reasoning beyond the cap                      cap.h
 *     redact    removes reasoning that the client may not see       redact.h
 *     number    numbers the blocks                                  number.h
 *
 *     pipe_init(&p, &options, &arena);
 *     for each frame:
 *         pipe_begin(&p);
 *         ... pipe_feed(&p, &event) for each event of the frame
 *         use p.events[0..p.count), p.touched
 *         if (pipe_is_over(&p)) ...            the budget is spent: cut the reply here
 *     pipe_flush(&p);                          the events that were held back, as one more frame
 *
 * The pipe does no I/O and cannot fail. `touched` is false if the frame's events are unchanged.
 * Texts arrive as the dialects' JSON gave them: checked UTF-8, no character cut. Events and their
 * texts are lent until the next pipe_begin or pipe_rest.
 *
 * Each choice of a reply has its own chain; this struct is the first choice's, and all choices
 * share the frame. The cap applies to each choice. At a cap, the gateway can abandon the reply and
 * ask again for all choices only while no choice has begun its answer, because a second answer
 * would follow the first. After that, the reasoning of a choice that passes its cap is truncated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe/split.h"

#define PIPE_EVENTS_FIRST 4
#define PIPE_TEXTS_FIRST 672

/* Memory that is enough for most frames. A stream that waits has none: see pipe_rest. */
struct pipe_room {
    struct chat_event events[PIPE_EVENTS_FIRST];
    max_align_t texts[PIPE_TEXTS_FIRST / sizeof(max_align_t)];
};

struct pipe {
    /* The current frame. */
    struct chat_event *events;
    size_t count, events_max;
    bool touched;

    bool full;                 /* a frame had too many events, and the last ones were dropped */
    bool ever_touched;         /* an earlier frame was touched */
    bool other_capped;         /* reasoning of another choice was truncated */
    uint32_t choice;           /* of this chain */
    struct pipe *first, *next; /* the first choice's pipe; the next choice's, or NULL */
    struct pipe_options options;
    struct pipe_shared shared;
    struct pipe_split split;
    struct pipe_count reasoning;
    struct pipe_cap cap;
    struct pipe_redact redact;
    struct pipe_number number;

    /* Only used by the first choice, and not cleared. */
    struct arena frame;     /* memory for the current frame */
    struct pipe_room *room; /* or NULL */
};

void pipe_init(struct pipe *p, const struct pipe_options *o, struct arena *a);
void pipe_release(struct pipe *p);
void pipe_begin(struct pipe *p);
/* No frame will come for now: frees the memory of the last one, which has no events any more. */
void pipe_rest(struct pipe *p);
void pipe_feed(struct pipe *p, const struct chat_event *ev);
/* Whether a text of the first choice, fed as the only event of a frame, would come out unchanged as
 * the frame's only event. Several such texts of one block may be fed as one. */
bool pipe_passes(const struct pipe *p, uint32_t block, str text);
/* The text has ended, or continues in another call: emits the events that were held back. */
void pipe_flush(struct pipe *p);
/* Adds an event to the current frame unchanged. The caller may change the copy. */
struct chat_event *pipe_push(struct pipe *p, const struct chat_event *ev);

/* How the reply marks reasoning in its text; NULL: it does not. With "auto", the chosen format once
 * it is known. */
const struct split_format *pipe_format(const struct pipe *p);
/* Whether the reply may have reasoning in its text. */
bool pipe_may_split(const struct pipe *p);
/* Whether the format is "auto" and no text of this choice has come. */
bool pipe_is_picking(struct pipe *p, uint32_t choice);
/* For such a choice: its text begins with no marker. */
void pipe_set_plain(struct pipe *p, uint32_t choice);
/* Whether the event, which is about to be fed, is all of a thought: opaque data, or the signature
 * of a block without text. */
static inline bool pipe_is_sealed(const struct pipe *p, const struct chat_event *ev)
{
    return pipe_split_is_sealed(&p->split, ev);
}

/* Whether the cap was passed, and pipe_clear_over was not called since. */
static inline bool pipe_is_over(const struct pipe *p)
{
    return p->cap.state == PIPE_OVER;
}
void pipe_clear_over(struct pipe *p);
/* Whether anything other than reasoning has come since the cap was passed. */
bool pipe_resumes(const struct pipe *p);
/* Whether a choice other than the first has begun its answer. */
bool pipe_others_answer(const struct pipe *p);
/* A second call continues where the first was cut: its text begins outside reasoning, and its
 * reasoning is dropped. */
void pipe_continue(struct pipe *p);
/* Before another attempt at that second call, maybe at a provider with another format. */
void pipe_set_format(struct pipe *p, const struct split_format *format, bool inside);
/* A second reply that does not continue the first may begin inside reasoning again. */
void pipe_continue_inside(struct pipe *p);

/* Reasoning tokens of all choices that passed, visible or hidden. */
int64_t pipe_kept_tokens(struct pipe *p);
/* The same plus the tokens dropped beyond the cap. */
int64_t pipe_reasoning_tokens(struct pipe *p);
/* The same plus answers and tool calls, which are estimated at four bytes a token. */
int64_t pipe_output_tokens(struct pipe *p);
