/* watched.h - the upstreams of calls that the gateway only records, and the dialect of their paths.
 *
 *     const struct watched_upstream *u = watched_upstream_find(STR("anthropic"));
 *     struct watched_call w;
 *     if (u && watched_read_path(STR("/v1/messages"), &w)) ...   watched_provider(u, w.dialect)
 *
 * A client that is watched keeps its own credentials, so no configuration describes its upstream.
 * The table names each upstream and its default address; a client may give another address.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"

#define WATCHED_NAME_MAX 32

struct watched_upstream {
    const char *name;
    const char *url; /* the default address */
};

/* The upstream of this name, or NULL. */
const struct watched_upstream *watched_upstream_find(str name);

/* A model call, as its path says. */
struct watched_call {
    enum chat_dialect dialect;
    str model;    /* Gemini has it in the path, with %XX; else "" */
    bool streams; /* Gemini: the path asks for a stream */
};

/* Whether a POST to this path is a model call that can be recorded. `path` is below the
 * upstream's address. */
bool watched_read_path(str path, struct watched_call *out);
/* The provider that a call is recorded under. Static. */
const struct config_provider *watched_provider(const struct watched_upstream *u,
                                               enum chat_dialect dialect);
