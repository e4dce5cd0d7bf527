/* probe.h - checks whether providers answer: one cheap request to each, all at once.
 *
 *     struct probe *all = arena_zero(&arena, config->provider_count, sizeof *all);
 *     if (!probe_run(config, all, &arena, e)) ...
 *
 * Asks each provider for its list of models with the configured key, and compares the list with the
 * models of the configuration. Nothing is generated, so nothing is billed. Takes PROBE_MS at most.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"

#define PROBE_MS 5000u

enum probe_state {
    PROBE_SKIPPED,     /* a cassette, or its key is missing */
    PROBE_GOOD,        /* it answered with a list of models */
    PROBE_UNLISTED,    /* it answers, but has no list of models at this address */
    PROBE_REFUSED_KEY, /* status 401 or 403 */
    PROBE_BAD_REPLY,   /* another status, or a reply that is not a list */
    PROBE_UNREACHABLE, /* no address, refused, bad certificate, no reply in time */
};

struct probe {
    const struct config_provider *provider;
    enum probe_state state;
    int status; /* HTTP; 0: none */
    uint64_t took_ms;
    size_t listed; /* number of models in its list */
    bool more;     /* its list is incomplete: other models may be known */
    str *missing;  /* models of the configuration that a complete list lacks */
    size_t missing_count;
    char why[240];   /* what is wrong; or "" */
    const char *fix; /* what to do about it; or "" */
};

/* out has a row for each provider. False if no provider could be asked (ca_file). */
bool probe_run(const struct config *c, struct probe *out, struct arena *a, struct err *e) MUST_USE;
/* Writes an array of objects, without keys. */
void probe_write(struct json_out *o, const struct probe *all, size_t n);
