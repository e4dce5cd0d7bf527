/* count.h - a stage of a pipe: counts reasoning in tokens, and divides it at the cap.
 *
 * Reasoning is counted exactly, whoever may see it. Tokens do not go over from one block to the
 * next. Under the cap is the longest beginning that counts no more tokens than the cap. A word that
 * is too much as far as it has come may fit once it is whole ("pond" may be a token too many and
 * "ponder" none), so its letters wait until that is certain, PIPE_WAITING_MAX bytes at most.
 * Everything else passes as it is, after the word that waited.
 *
 *     UNDER --a token too many, and the cap is not raised--> BEYOND
 *
 * The rest of the event that passes the cap, and all reasoning after it, is handed on marked
 * PIPE_BEYOND_CAP, and not counted here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe/cap.h"

#define PIPE_WAITING_MAX 64

struct pipe_count {
    bool any;     /* some reasoning has come, white space apart */
    bool opaque;  /* some of it nobody can read */
    bool summary; /* what came last was only a summary */
    bool tagged;  /* some of it was split out of a text */
    size_t size;  /* bytes of it */

    /* All below is the stage's own. */
    bool beyond;                    /* the cap is passed */
    bool from_text;                 /* the block at hand was split out of a text */
    uint32_t block;                 /* 1 + the block of reasoning at hand; 0: none */
    uint32_t waiting_n;             /* bytes of the word at the cap */
    int64_t cap;                    /* tokens; -1: none */
    struct tokens_counter *counter; /* of the block at hand; NULL: none came */
    size_t counted_before;          /* tokens of the blocks before it */
    int64_t counted;                /* of all, or -1: not known since more came */
    int64_t room;                   /* bytes that surely fit under the cap */
    const struct pipe_shared *shared;
    struct pipe_cap *next;
    char waiting[PIPE_WAITING_MAX];
};

void pipe_count_feed(struct pipe_count *s, const struct chat_event *ev, enum pipe_mark mark);
/* No more of the reasoning at hand comes: the word that waited is whole. */
void pipe_count_flush(struct pipe_count *s);
/* Reasoning that comes from here on is beyond the cap; a word that waits is dropped. */
void pipe_count_close(struct pipe_count *s);
/* Tokens under the cap. */
int64_t pipe_count_tokens(struct pipe_count *s);
/* A counter for texts that were checked, as long as the reply. */
struct tokens_counter *pipe_counter_new(const struct pipe_shared *shared);
