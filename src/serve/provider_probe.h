/* provider_probe.h - checks at intervals whether the providers accept connections.
 *
 * Each provider is connected to every `probe.interval`: its name is resolved, the connection is
 * opened, and the TLS handshake done. Nothing is sent, so a probe costs no tokens and shows no key.
 * Upstreams of watched coding agents and replayed cassettes are not probed. One loop probes a few
 * providers at a time; any thread may read the results.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/internal.h"

enum provider_probe_state {
    PROVIDER_PROBE_UNKNOWN, /* not probed yet */
    PROVIDER_PROBE_OFF,     /* never probed */
    PROVIDER_PROBE_REACHABLE,
    PROVIDER_PROBE_UNREACHABLE,
};

struct provider_probe_result {
    enum provider_probe_state state;
    int64_t checked_ms; /* wall-clock; -1: never */
    uint64_t took_ms;
    char why[240]; /* why it is unreachable */
};

/* On the loop of the worker, which runs the probe until provider_probe_end, even if this function
 * fails. */
bool provider_probe_begin(struct worker *w, struct err *e) MUST_USE;
void provider_probe_end(struct worker *w);
void provider_probe_look_up(struct daemon *d, const struct config *c,
                            const struct config_provider *p, struct provider_probe_result *out);
const char *provider_probe_word(enum provider_probe_state state);
