/* talk.h - which conversation a request belongs to, told by its history: a client that says nothing
 * of sessions sends all that was said before, and then some.
 *
 *     talk_begin(talks, &t, who, request, &arena);
 *     if (talk_find(talks, &t, session)) ...            an earlier call's words stand in front
 *     talk_text(&t, text); talk_call(&t, id, name);     what the reply says, as it comes
 *     talk_end(talks, &t, session, reply_id, own_id);   the next request with these words is of it
 *
 * Words are compared by a keyed hash, without white space at the ends of a text. System prompts,
 * reasoning and arguments do not count: clients change or drop them. What one key's clients said is
 * never found by another's. Bounded, oldest out first. Any thread.
 *
 * With a seed that is kept, what was noted can be kept as a text (talk_kept), and told again to
 * another process (talks_recall), the oldest first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

#define TALK_SESSION_MAX 256
#define TALK_BLOCK 128
#define TALK_SPACE 32

struct talks;

/* seed NULL: chance. */
struct talks *talks_new(size_t count_max, const uint64_t seed[2]);
void talks_free(struct talks *t);

/* A text's hash while it comes, the same however it is cut. */
struct talk_hash {
    uint64_t seed[2], sum;
    uint16_t n, space_n;
    bool begun;
    char block[TALK_BLOCK], space[TALK_SPACE];
};

struct talk {
    const struct chat_request *request;
    const uint64_t *places; /* of the request's chain, in order */
    size_t place_count;
    uint64_t seed[2]; /* this asker's */
    uint64_t asked;   /* all that the request says */
    uint64_t said;    /* and the reply's parts so far, but the text at hand */
    bool more;        /* the reply has said something */
    struct talk_hash text;
};

/* What it has to remember is in the arena. */
void talk_begin(struct talks *all, struct talk *t, str who, const struct chat_request *r,
                struct arena *a);
/* The reply begins anew. */
void talk_again(struct talk *t);
/* The session's name into the arena; false if nobody has said this before. */
bool talk_find(struct talks *all, const struct talk *t, struct arena *a, str *session);
void talk_text(struct talk *t, str text);
void talk_call(struct talk *t, str id, str name);
/* What talk_end notes, as a text in the arena: after it, and with the same ids. */
str talk_kept(const struct talk *t, str reply_id, str own_id, struct arena *a);
void talks_recall(struct talks *all, str session, str kept);
/* The ids by which a request may name this reply as its previous_response_id, the provider's and
 * ours; either may be "". */
void talk_end(struct talks *all, struct talk *t, str session, str reply_id, str own_id);
