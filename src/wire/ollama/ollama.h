/* ollama.h - shared by the files of the Ollama dialect.
 *
 * A reply is lines of JSON, each with a piece of thinking, of content, or whole tool calls; the
 * last has done: true. Older servers give calls no ids: we name them call_0, call_1... in their
 * order. Thinking before a call is sent back with it if the server gave the call an id; our own ids
 * are the same in every reply, so the vault cannot use them.
 *
 * Clients may also use /api/generate: a prompt in place of messages, and texts beside the model in
 * place of a message. A provider of this dialect gets such a request as it is; only a second call
 * of a cut reply, and other dialects, get it as messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/internal.h"
#include "wire/settings.h"

#define OLLAMA_EXTRAS_MAX 16
#define OLLAMA_KEEP "ollama_thinking" /* KEEP's name for the thinking before a call */

extern const struct settings ollama_settings;

struct ollama_decoder {
    int kind; /* 1 + the kind of the current block, or 0 */
    uint32_t block;
    uint32_t calls;            /* so far */
    struct arena_text thought; /* since the last call: sent back with the next */
};

struct ollama_call {
    struct ollama_call *next;
    uint32_t block;
    str id, name;
    struct rope arguments;
};

struct ollama_encoder {
    struct ollama_call *calls, **calls_end;
    uint32_t call_count;
    struct rope content, thinking, tool_calls; /* of a whole reply: the inside of JSON strings */
    struct chat_usage usage;
    bool begun, full;
    enum chat_stop stop;
    struct {
        str name, json;
    } extras[OLLAMA_EXTRAS_MAX];
    size_t extra_count;
};

bool ollama_read(const struct json *doc, struct arena *a, struct chat_request *out, struct err *e);
bool ollama_read_prompt(const struct json *doc, struct arena *a, struct chat_request *out,
                        struct err *e);
void ollama_write(const struct chat_request *r, struct buf *out);
void ollama_patch(const struct json *doc, const struct wire_plan *plan, struct json_edits *edits);

void ollama_decode(struct wire_decoder *d, const struct wire_frame *f);
void ollama_decode_whole(struct wire_decoder *d, const struct wire_frame *f);
void ollama_ping(struct wire_encoder *en); /* an empty line of the reply */
void ollama_note(struct wire_encoder *en, str words);
void ollama_encode(struct wire_encoder *en, const struct chat_event *ev);
void ollama_relay(struct wire_encoder *en, const struct wire_frame *f,
                  const struct chat_event *events, size_t n, bool touched);
void ollama_write_error(const struct chat_error *error, struct buf *out);
void ollama_read_error(const struct json *doc, struct arena *a, struct chat_error *out);

/* The value of `think` for a model: gpt-oss models know only levels, and cannot be switched off.
 * Empty for NOT_GIVEN. */
str ollama_think(str model, enum chat_level level);
