/* question.h - the user's question: the text of the newest user turn, without the client's
 * additions.
 *
 *     struct question q;
 *     question_init(&q, request);
 *     while (question_next(&q, &words)) ...                 spans of the request's own texts
 *
 * The record's column `asked` consists of these texts, and a session's title is the first line.
 * Coding agents add text to a user's message: reminders, the environment, instruction files, output
 * of commands. The iterator skips such blocks: an element whose name is in the table of question.c
 * or has several words (<system-reminder>, <environment_context>). It also skips system messages,
 * results of tools and the Markdown heading at the start of a prompt.
 *
 * No question is found if the newest turn is the result of a tool, if it has only such blocks, or
 * if the client asks for itself: to name a conversation, or with max_tokens 1 to test its key.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

/* All members are private. Nothing is allocated. */
struct question {
    const struct chat_message *message; /* or NULL: no question */
    size_t part, at;
    bool begun;   /* a heading is text: it is not first, or the message has nothing else */
    bool wrapped; /* a block of the client was skipped */
};

void question_init(struct question *q, const struct chat_request *r);
/* The next text: trimmed, never empty. */
bool question_next(struct question *q, str *words);
