/* cap.h - a stage of a pipe: drops reasoning beyond the cap, and after it what the reply is not to
 * say any more.
 *
 *     UNDER --reasoning beyond the cap--> OVER --pipe_clear_over, pipe_continue--> BEYOND
 *
 * OVER lasts until the caller has decided what becomes of the reply; options.at_cap says what is
 * dropped meanwhile. In OVER and BEYOND, no reasoning passes. A signature or opaque data of a reply
 * that goes on past its cap passes, unless it signs a text that was cut: for less of the text the
 * client gets a signature of ours, and the provider gets the whole back from the vault.
 * Log-probabilities beside a text that was cut are dropped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe/redact.h"

enum pipe_cap_state { PIPE_UNDER, PIPE_OVER, PIPE_BEYOND };

struct pipe_cap {
    bool answered, called; /* some answer came, white space apart; a tool call came */
    size_t answer_size;    /* bytes of it */
    size_t arguments_size; /* of calls, the same */
    size_t dropped;        /* bytes of reasoning after the event that passed the cap; with
                              PIPE_TRUNCATE, after the cap */
    struct {
        size_t answer_size;
        bool called;
    } before; /* the cap was passed */

    /* All below is the stage's own. */
    enum pipe_cap_state state;
    bool continued;                 /* by a second call */
    uint32_t cut_block;             /* 1 + the block that lost text at the cap; 0: none */
    struct tokens_counter *counter; /* of what is dropped; NULL: nothing was */
    const struct pipe_shared *shared;
    struct pipe_redact *next;
};

void pipe_cap_feed(struct pipe_cap *s, const struct chat_event *ev, enum pipe_mark mark);
/* The reasoning has passed the cap, or that of another choice has. */
void pipe_cap_pass(struct pipe_cap *s);
/* From here on, a second call goes on with the reply. */
void pipe_cap_continue(struct pipe_cap *s);
/* Tokens that were dropped. */
int64_t pipe_cap_dropped(const struct pipe_cap *s);
