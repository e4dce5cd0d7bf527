/* split.h - the first stage of a pipe: splits text into reasoning, answer and tool calls.
 *
 * With a format, the markers in the text decide: reasoning becomes REASONING, tool markup becomes
 * CALL and ARGUMENTS, and each marker is a break. White space beside markers is dropped, except
 * between two pieces of the answer. With "auto", the opening marker at the start of the text
 * selects the format; without one, all text is answer. Without a format, all text is answer.
 * Reasoning in a field of its own changes nothing: some hosts send both.
 *
 *     IDLE --text--> SPLITTING --end of the text--> IDLE
 *      +------ "auto", and no marker ------> PLAIN, until the reply is continued
 *
 * The stage buffers text, 1 MiB at most, while its kind is in doubt (enum pipe_held_why).
 *
 * Texts are checked UTF-8, and no character is cut.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe/count.h"
#include "split/reader.h"

#define PIPE_SPACE_MAX 4096               /* white space held back; more counts as text */
#define PIPE_HELD_MAX ((size_t)1 << 20)   /* bytes of text in doubt */
#define PIPE_MARKUP_MAX ((size_t)1 << 20) /* tool markup of one block */

enum pipe_split_state { PIPE_IDLE, PIPE_SPLITTING, PIPE_PLAIN };

struct pipe_split {
    unsigned flags; /* enum split_flag */

    /* All members below are private to the stage. */
    enum pipe_split_state state;
    bool started;      /* some text was split */
    bool reasoned;     /* reasoning came before the text, so the text does not begin inside it */
    bool called;       /* the provider sent a call of its own */
    bool after_marker; /* white space is dropped */
    bool continued;    /* the reply is from a second call */
    bool strips;       /* and starts here, after a marker that it does not contain */
    bool gap_is_known; /* later white space does not belong to the gap */
    const struct pipe_shared *shared;
    struct pipe_count *next;
    struct split *splitter;            /* NULL: not needed yet */
    struct split_reader *reader;       /* NULL: no tool markup yet */
    const struct split_format *picked; /* with "auto": the format, once known */
    struct pipe_held *held;            /* text in doubt; or NULL */
    struct pipe_held *held_memory;     /* for it, once some was needed; or NULL */
    const struct chat_event *event;    /* the current event, if it is text; or NULL */
    const struct json_node *node;      /* of the last text in the current frame; or NULL */
    uint32_t block;                    /* of the current text */
    uint32_t emitted;                  /* events emitted for it */
    uint32_t calls;                    /* read from markup */
    uint32_t said_block;               /* 1 + the last incoming block with text or a signature */
    uint32_t answered_block;           /* 1 + the last block with text of the answer */
    enum split_kind kind;              /* of the last run */
    struct arena_text gap; /* between two pieces of the answer, if another piece follows */
    struct arena_text
        space; /* at its end: dropped before a marker, else part of the text after it */
};

void pipe_split_release(struct pipe_split *s);
void pipe_split_feed(struct pipe_split *s, const struct chat_event *ev);
/* The text has ended: the stage emits the bytes that it held back. */
void pipe_split_flush(struct pipe_split *s);
/* The block has ended. The stage emits the bytes that no later text can change. */
void pipe_split_end_block(struct pipe_split *s, uint32_t block);
/* Whether the stage passes a text of this block unchanged and holds nothing of it. It also passes
 * several such texts unchanged that are joined to one. */
bool pipe_split_passes(const struct pipe_split *s, uint32_t block, str text);
/* Another reply continues where this one was cut. With "auto", its beginning selects its format. If
 * no answer came before, white space at its beginning is dropped. */
void pipe_split_continue(struct pipe_split *s, bool answered);
/* Starts again; the format may be another. */
void pipe_split_restart(struct pipe_split *s);
/* The reply may begin inside reasoning: its text is buffered until its reasoning ends. */
void pipe_split_doubt_start(struct pipe_split *s);
/* With "auto": whether no text has come; and sets that the text begins with no marker. */
bool pipe_split_is_picking(const struct pipe_split *s);
void pipe_split_set_plain(struct pipe_split *s);
/* Whether the beginning of a text selects its format. */
bool pipe_split_may_pick(const struct pipe_options *o);
/* split_pick; a tag that the request asks for is no marker. */
enum split_match pipe_split_pick_front(const struct pipe_options *o, str front, bool more,
                                       const struct split_format **out);
/* Whether the event, which is about to be fed, is all of a thought. */
bool pipe_split_is_sealed(const struct pipe_split *s, const struct chat_event *ev);
