/* provider.h - what is known of providers beforehand: one row each.
 *
 * A provider of the configuration gets, among the rows of its kind's dialect, the one whose host is
 * that of its base_url, else the one whose name is its own (or begins it: "vllm-east", "vllm2"),
 * else the row of its kind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"
#include "wire/wire.h"

#define PROVIDER_KEY_MIN 8 /* shorter keys are words that may stand in any text */

/* How a budget is enforced once it is spent, strongest first; bits. */
enum provider_lever {
    PROVIDER_NATIVE = 1 << 0,  /* it has a token budget of its own */
    PROVIDER_EFFORT = 1 << 1,  /* it has levels */
    PROVIDER_CONTROL = 1 << 2, /* a control call ends the reasoning (llama.cpp) */
    PROVIDER_PREFILL = 1 << 3, /* cut, and continue from the partial reasoning */
    PROVIDER_RESTATE = 1 << 4, /* cut, and ask again with the partial reasoning quoted */
};

struct provider_row {
    const char *name;
    const char *host; /* the end of base_url's host, or NULL */
    enum chat_dialect dialect;
    enum wire_think think;
    unsigned levers;
    const char *otel_name; /* gen_ai.provider.name */
    const char *auth_header, *auth_prefix;
    const char *extra_headers; /* ready lines, or "" */
    int64_t native_min;        /* smallest native budget it takes; 0: any */
    bool reasoning_native;     /* it tells reasoning from answer itself */
    bool must_return;          /* reasoning must come back with tool calls */
    const char *base_url;      /* where it is unless the configuration says so; NULL: nowhere */
    const char *path;          /* only for base URLs with this in their path, or NULL */
};

/* `path` is base_url's. Never NULL. */
const struct provider_row *provider_row(str name, str host, str path, enum chat_dialect kind);
/* The row that a provider of this name gets if nothing else is said of it: the first of the longest
 * name that is its own or begins it, in any case; NULL if there is none. */
const struct provider_row *provider_row_find(str name);
/* Rows in turn; NULL behind the last. */
const struct provider_row *provider_row_at(size_t index);

/* Whether the models of this host never write reasoning into their text: then text is text unless
 * the configuration says otherwise. */
bool provider_separates(str host);

/* Takes a provider's key out of an error in which it repeats it. */
void provider_clean_error(str key, struct arena *a, struct chat_error *error);
