/* question.h - what the person asked: the words of the newest user turn without what a client adds.
 *
 *     struct question q;
 *     question_init(&q, request);
 *     while (question_next(&q, &words)) ...                 spans of the request's own texts
 *
 * The record's column `asked` is made of these, and a session's title of the first line. Coding
 * agents put more into a user's message than the user typed: reminders, the environment, files of
 * instructions, output of commands. Such a block is left out: an element whose name is in the table
 * of question.c or has several words (<system-reminder>, <environment_context>). So are messages of
 * the system, results of tools and the Markdown heading that a prompt begins with.
 *
 * There is no question if the newest turn is the result of a tool, if it has only such blocks, or
 * if the client asks for itself: to name a conversation, or with max_tokens 1 to try its key.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

/* All of it is its own. Nothing is allocated. */
struct question {
    const struct chat_message *message; /* or NULL: there is no question */
    size_t part, at;
    bool begun;   /* a heading is text: it is not the first of the message, or there is no more */
    bool wrapped; /* a block of the client's was left out */
};

void question_init(struct question *q, const struct chat_request *r);
/* The next words: without white space at their ends, never empty. */
bool question_next(struct question *q, str *words);
/* The first line of the words, at most 120 characters: a session's title. */
str question_title(str words);
