/* count.h - a stage of a pipe: counts reasoning in tokens, and divides it at the cap.
 *
 * Reasoning is counted exactly, whether or not the client sees it. A token never spans two blocks.
 * The longest prefix with no more tokens than the cap is under the cap. A word may be over the cap
 * while it is incomplete and fit once it is complete ("pond" may be a token too many and "ponder"
 * none), so the stage buffers its letters until that is certain, at most PIPE_WAITING_MAX bytes.
 * All other events pass unchanged, after the buffered word.
 *
 *     UNDER --a token too many, and the cap is not raised--> BEYOND
 *
 * A thought that follows another is a paragraph of its own, unless a line ends between them: it is
 * reported, and clients that get all reasoning as one text get a blank line before it. It is not
 * counted. If the provider itself has one text for all reasoning, that text stays as it is.
 *
 * The rest of the event that passes the cap, and all reasoning after it, is passed on with the mark
 * PIPE_BEYOND_CAP and not counted here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe/cap.h"

#define PIPE_WAITING_MAX 64

struct pipe_count {
    bool any;       /* some reasoning came, not only white space */
    bool opaque;    /* part of it is unreadable (opaque) */
    bool summary;   /* the last reasoning was only a summary */
    bool tagged;    /* part of it was split out of a text */
    bool beyond;    /* private: the cap was passed */
    bool from_text; /* private: the current block was split out of a text */
    bool fresh;     /* private: a thought has begun, and none of it has passed */
    bool parted;    /* private: the provider or a marker says that it is another thought */
    bool apart;     /* private: the client gets a blank line before the next text */
    char last;      /* private: the last byte of the reasoning that has passed */
    size_t size;    /* bytes of reasoning */

    /* All members below are private to the stage. */
    uint32_t block;                 /* 1 + the current block of reasoning; 0: none */
    uint32_t waiting_n;             /* bytes of the buffered word at the cap */
    int64_t cap;                    /* tokens; -1: no cap */
    struct tokens_counter *counter; /* of the current block; NULL: no reasoning came */
    size_t counted_before;          /* tokens of earlier blocks */
    int64_t counted;                /* of all blocks; -1: must be counted again */
    int64_t room;                   /* bytes that certainly fit under the cap */
    const struct pipe_shared *shared;
    struct pipe_cap *next;
    char *waiting; /* room for PIPE_WAITING_MAX bytes; NULL: no word was buffered yet */
};

void pipe_count_feed(struct pipe_count *s, const struct chat_event *ev, enum pipe_mark mark);
/* The current reasoning has ended: the buffered word is complete. */
void pipe_count_flush(struct pipe_count *s);
/* All further reasoning is beyond the cap; the buffered word is dropped. */
void pipe_count_close(struct pipe_count *s);
/* Tokens under the cap. */
int64_t pipe_count_tokens(struct pipe_count *s);
/* A counter for texts that were checked; it lives as long as the reply. */
struct tokens_counter *pipe_counter_new(const struct pipe_shared *shared);
