/* split.h - the first stage of a pipe: splits text into reasoning, answer and tool calls.
 *
 * With a format, the markers in the text decide: reasoning becomes REASONING, tool markup CALL and
 * ARGUMENTS, each marker is a break, and the white space beside markers goes. With "auto", the
 * opening marker that the text begins with picks the format; if it begins with none, text is text.
 * Without a format, text is text. Reasoning in a field of its own changes nothing: hosts send both.
 *
 *     IDLE --text--> SPLITTING --end of the text--> IDLE
 *      +------ "auto", and no marker ------> PLAIN, until the reply is continued
 *
 * Text is held back, 1 MiB at most, while its kind is in doubt (enum pipe_held_why).
 *
 * Texts are UTF-8 that was checked, and no character is cut.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe/count.h"
#include "split/reader.h"
#include "wire/arena_text.h"

#define PIPE_SPACE_MAX 4096               /* white space held back before it is text after all */
#define PIPE_HELD_MAX ((size_t)1 << 20)   /* text in doubt */
#define PIPE_MARKUP_MAX ((size_t)1 << 20) /* tool markup of one block */

enum pipe_split_state { PIPE_IDLE, PIPE_SPLITTING, PIPE_PLAIN };

struct pipe_split {
    unsigned flags; /* enum split_flag */

    /* All below is the stage's own. */
    enum pipe_split_state state;
    bool started;      /* some text was split */
    bool reasoned;     /* reasoning came before the text, so that it does not begin inside */
    bool after_marker; /* white space goes */
    bool continued;    /* the reply is that of a second call */
    bool strips;       /* and begins here, after a marker that is not in it */
    const struct pipe_shared *shared;
    struct pipe_count *next;
    struct split *splitter;            /* NULL: never needed */
    struct split_reader *reader;       /* NULL: no tool markup came */
    const struct split_format *picked; /* with "auto", once it is known */
    struct pipe_held *held;            /* text in doubt; or NULL */
    const struct chat_event *event;    /* of text, at hand; or NULL */
    const struct json_node *node;      /* of the last text in the frame at hand; or NULL */
    uint32_t block;                    /* of the text at hand */
    uint32_t emitted;                  /* events of it */
    uint32_t calls;                    /* read from markup */
    uint32_t said_block;  /* 1 + the last block with text or a signature, as they come in */
    enum split_kind kind; /* of the last run */
    struct arena_text
        space; /* at its end: dropped before a marker, else part of the text after it */
};

void pipe_split_release(struct pipe_split *s);
void pipe_split_feed(struct pipe_split *s, const struct chat_event *ev);
/* The text is over: the stage emits the bytes that it held back. */
void pipe_split_flush(struct pipe_split *s);
/* Another reply goes on where this one was cut. With "auto", its front picks its format. If no
 * answer came before, white space at its front goes. */
void pipe_split_continue(struct pipe_split *s, bool answered);
/* It may be of another format. */
void pipe_split_restart(struct pipe_split *s);
/* It may begin inside reasoning: its text is held until its reasoning ends. */
void pipe_split_doubt_start(struct pipe_split *s);
/* With "auto": whether no text has come; and that it begins with no marker. */
bool pipe_split_is_picking(const struct pipe_split *s);
void pipe_split_set_plain(struct pipe_split *s);
/* Whether the front of a text picks its format. */
bool pipe_split_may_pick(const struct pipe_options *o);
/* Whether the event, which is about to be fed, is all there is of a thought. */
bool pipe_split_is_sealed(const struct pipe_split *s, const struct chat_event *ev);
