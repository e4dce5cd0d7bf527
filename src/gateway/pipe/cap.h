/* cap.h - a stage of a pipe: drops reasoning beyond the cap, and then the parts of the reply that
 * the client must not get any more.
 *
 *     UNDER --reasoning beyond the cap--> OVER --pipe_clear_over, pipe_continue--> BEYOND
 *
 * OVER lasts until the caller has decided what happens to the reply; options.at_cap says which
 * events are dropped until then. In OVER and BEYOND, no reasoning passes. A signature or opaque
 * data of a reply that continues past its cap passes, unless it signs a text that was cut. For a
 * cut text the client gets a signature of ours, and the vault returns the whole text to the
 * provider. Log-probabilities of a text that was cut are dropped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe/redact.h"

enum pipe_cap_state { PIPE_UNDER, PIPE_OVER, PIPE_BEYOND };

struct pipe_cap {
    bool answered, called; /* part of an answer came, not only white space; a tool call came */
    bool continued;        /* private: a second call continues the reply */
    uint32_t cut_block;    /* private: 1 + the block that lost text at the cap; 0: none */
    size_t answer_size;    /* bytes of the answer */
    size_t arguments_size; /* bytes of tool call arguments */
    size_t dropped;        /* bytes of reasoning after the event that passed the cap; with
                              PIPE_TRUNCATE, after the cap */
    struct {
        size_t answer_size;
        bool called;
    } before; /* values when the cap was passed */

    /* All members below are private to the stage. */
    enum pipe_cap_state state;
    struct tokens_counter *counter; /* counts the dropped reasoning; NULL: nothing was dropped */
    const struct pipe_shared *shared;
    struct pipe_redact *next;
};

void pipe_cap_feed(struct pipe_cap *s, const struct chat_event *ev, enum pipe_mark mark);
/* The reasoning of this choice, or of another one, has passed the cap. */
void pipe_cap_pass(struct pipe_cap *s);
/* The events that follow are those of a second call, which continues the reply. */
void pipe_cap_continue(struct pipe_cap *s);
/* The number of dropped tokens. */
int64_t pipe_cap_dropped(const struct pipe_cap *s);
