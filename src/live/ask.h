/* ask.h - requests of a viewer: messages of a WebSocket, and the query of a stream.
 *
 *     if (!ask_parse(text, &ask, &code, e)) ...           {"type": "subscribe", "channel": ...}
 *     while (ask_query_next(&query, &name, &value)) ...   channel=a&channel=b
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define ASK_CHANNEL_MAX 512
#define ASK_MESSAGE_MAX ((size_t)64 << 10)
#define ASK_VALUE_MAX 1024

enum ask_kind { ASK_SUBSCRIBE, ASK_UNSUBSCRIBE, ASK_PING };

struct ask {
    enum ask_kind kind;
    size_t channel_size;
    char channel[ASK_CHANNEL_MAX];
};

/* False: `code` is the error's code for programs, e its text. */
bool ask_parse(str text, struct ask *out, const char **code, struct err *e) MUST_USE;
str ask_channel(const struct ask *a);

/* Decodes percent escapes, and '+' as a space. False if a '%' is not followed by two digits, or the
 * result is not UTF-8 or too long. */
struct ask_value {
    size_t size;
    char text[ASK_VALUE_MAX];
};
bool ask_unescape(str in, struct ask_value *out) MUST_USE;

/* Takes the next name=value, not decoded, from the query; false at its end. */
bool ask_query_next(str *query, str *name, str *value);
