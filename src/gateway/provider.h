/* provider.h - built-in knowledge about providers: one row each.
 *
 * A provider of the configuration gets, among the rows of its kind's dialect, the one whose host is
 * that of its base_url, else the one whose name is its own (or begins it: "vllm-east", "vllm2"),
 * else the row of its kind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/wire.h"

#define PROVIDER_KEY_MIN 8 /* a shorter key may be an ordinary word of any text */

/* The ways to enforce a budget, strongest first; bits. */
enum provider_lever {
    PROVIDER_NATIVE = 1 << 0,  /* the provider has a token budget of its own */
    PROVIDER_EFFORT = 1 << 1,  /* the provider has levels */
    PROVIDER_CONTROL = 1 << 2, /* a control call ends the reasoning (llama.cpp) */
    PROVIDER_PREFILL = 1 << 3, /* cut, and continue from the partial reasoning */
    PROVIDER_RESTATE = 1 << 4, /* cut, and ask again with the partial reasoning quoted */
};

struct provider_row {
    const char *name;
    const char *host; /* suffix of base_url's host, or NULL */
    enum chat_dialect dialect;
    enum wire_think think;
    unsigned levers;
    const char *otel_name; /* gen_ai.provider.name */
    const char *auth_header, *auth_prefix;
    const char *extra_headers; /* complete lines, or "" */
    int64_t native_min;        /* smallest native budget it accepts; 0: any */
    const char *base_url;      /* default address; NULL: none */
    const char *path;          /* only for base URLs with this in their path, or NULL */
};

/* `path` is that of base_url. Never NULL. */
const struct provider_row *provider_row(str name, str host, str path, enum chat_dialect kind);
/* The row that a provider gets by its name alone: the first row with the longest name that equals
 * or begins it, ignoring case; NULL if none does. */
const struct provider_row *provider_row_find(str name);
/* Rows by index; NULL after the last. */
const struct provider_row *provider_row_at(size_t index);

/* Whether the models of this host never write reasoning into their text. Then text is not split
 * unless the configuration says otherwise. */
bool provider_separates(str host);

/* Removes a provider's key from an error that repeats it. */
void provider_clean_error(str key, struct arena *a, struct chat_error *error);
