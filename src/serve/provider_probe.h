/* provider_probe.h - looks now and then whether the providers accept connections.
 *
 * Each provider is connected to every `probe.interval`: its name is resolved, the connection is
 * opened, and the TLS handshake done. Nothing is sent, so a look costs no tokens and shows no key.
 * Upstreams of watched coding agents and replayed cassettes are not looked at. One loop does it, a
 * few providers at a time; any thread may read the results.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/internal.h"

enum provider_probe_state {
    PROVIDER_PROBE_UNKNOWN, /* not looked at yet */
    PROVIDER_PROBE_OFF,     /* never looked at */
    PROVIDER_PROBE_REACHABLE,
    PROVIDER_PROBE_UNREACHABLE,
};

struct provider_probe_result {
    enum provider_probe_state state;
    int64_t checked_ms; /* wall-clock; -1: never */
    uint64_t took_ms;
    char why[240]; /* of an unreachable one */
};

/* On the loop of the worker, which runs it until provider_probe_end, also if this fails. */
bool provider_probe_begin(struct worker *w, struct err *e) MUST_USE;
void provider_probe_end(struct worker *w);
void provider_probe_look_up(struct daemon *d, const struct config *c,
                            const struct config_provider *p, struct provider_probe_result *out);
const char *provider_probe_word(enum provider_probe_state state);
