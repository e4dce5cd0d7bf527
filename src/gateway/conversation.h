/* conversation.h - finds the conversation that a request belongs to by its history: a client that
 * names no session sends all earlier messages.
 *
 *     conversation_begin(all, &t, who, request, &arena);
 *     if (conversation_find(all, &t, &arena, &session)) ...   an earlier call had these messages
 *     conversation_text(&t, text); conversation_call(&t, id, name);         as the reply arrives
 *     conversation_end(all, &t, session, reply_id, own_id);   later requests are compared with it
 *
 * Texts are compared by a keyed hash, without white space at their ends. System prompts, reasoning
 * and arguments are ignored, because clients change or drop them. A key never finds a conversation
 * of another key. The number of conversations is limited; the oldest are dropped first. Any thread.
 *
 * With a stored seed, conversation_kept returns the hashes of a call as a text, and
 * conversations_recall adds them again in another process, oldest first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

#define CONVERSATION_SESSION_MAX 256
#define CONVERSATION_BLOCK 128
#define CONVERSATION_SPACE 32

struct conversations;

/* seed NULL: a random one. */
struct conversations *conversations_new(size_t count_max, const uint64_t seed[2]);
void conversations_free(struct conversations *t);

/* The hash of a text that arrives in pieces; the same for every way of cutting it. */
struct conversation_hash {
    uint64_t seed[2], sum;
    uint16_t n, space_n;
    bool begun;
    char block[CONVERSATION_BLOCK], space[CONVERSATION_SPACE];
};

struct conversation {
    const struct chat_request *request;
    const uint64_t *places; /* hashes along the request's messages, in order */
    size_t place_count;
    uint64_t seed[2]; /* of the key that asks */
    uint64_t asked;   /* hash of everything in the request */
    uint64_t said;    /* the same with the reply's parts so far, except the current text */
    bool more;        /* the reply has some content */
    struct conversation_hash text;
};

/* Its memory is in the arena. */
void conversation_begin(struct conversations *all, struct conversation *t, str who,
                        const struct chat_request *r, struct arena *a);
/* The reply starts again. */
void conversation_again(struct conversation *t);
/* Copies the session's name into the arena; false if no known conversation matches. */
bool conversation_find(struct conversations *all, const struct conversation *t, struct arena *a,
                       str *session);
void conversation_text(struct conversation *t, str text);
void conversation_call(struct conversation *t, str id, str name);
/* What conversation_end stores, as a text in the arena. Call it after that, with the same ids. */
str conversation_kept(const struct conversation *t, str reply_id, str own_id, struct arena *a);
void conversations_recall(struct conversations *all, str session, str kept);
/* reply_id, own_id: the ids by which a later request may name this reply as its
 * previous_response_id, the provider's and ours; either may be "". */
void conversation_end(struct conversations *all, struct conversation *t, str session, str reply_id,
                      str own_id);
