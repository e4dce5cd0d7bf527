/* replies.h - the upstream's whole replies and events, built once, in two dialects.
 *
 * OpenAI's chat completions have the reasoning between <think> tags in the text, for the gateway to
 * split; Anthropic's messages have it in a block of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "prose.h"

#include <stdbool.h>
#include <stddef.h>

#define EVENT_MAX 768

struct bytes {
    char *p;
    size_t n;
};

/* Head and body of a whole reply; its texts and its number are put in for each call. */
struct whole {
    struct bytes bytes;
    size_t thought_at, nonce_at, answer_at;
};

struct replies {
    struct whole whole[SIZES];
    struct bytes head;        /* of a stream */
    struct bytes first, last; /* before and after a stream's texts; last ends the HTTP reply */
    struct bytes turn;        /* between reasoning and answer; may be empty */
    struct bytes think, text; /* one event, the time at *_at */
    size_t think_at, text_at;
    struct bytes burst, flood; /* the complete HTTP reply */
};

void replies_init(struct replies *r, bool anthropic);
