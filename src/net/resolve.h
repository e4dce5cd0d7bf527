/* resolve.h - names to addresses: getaddrinfo on threads, answers on the loop that asked.
 *
 *     if (!resolve_literal(host, &addrs) && !resolver_known(r, host, &addrs))
 *         ask = resolver_ask(r, loop, host, on_answer, ctx);
 *     ...
 *     resolver_drop(ask);                 no answer after it
 *
 * Within src/net and its tests only. Those who ask for a name that is being looked up wait for the
 * same answer. Successes are remembered for RESOLVE_MEMORY_MS, failures are not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "net/client.h"
#include "net/loop.h"

#include <netinet/in.h>

#define RESOLVE_ADDRS_MAX 16
#define RESOLVE_PENDING_MAX 1024 /* names that wait or are looked up */
#define RESOLVE_MEMORY_MAX 512   /* names */
#define RESOLVE_MEMORY_MS 30000
#define RESOLVE_HOST_MAX 253

struct resolve_addr {
    unsigned size;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at;
};

/* Families by turns, in the order the system prefers. Ports are 0. */
struct resolve_addrs {
    size_t n;
    struct resolve_addr addr[RESOLVE_ADDRS_MAX];
};

bool resolve_literal(str host, struct resolve_addrs *out);
void resolve_set_port(struct resolve_addr *a, unsigned port);
/* Sorts so that families take turns; the first stays first. */
void resolve_take_turns(struct resolve_addrs *addrs);

/* What looks a name up, on a thread of the resolver; tests put their own here. */
typedef bool resolver_lookup(void *ctx, const char *host, struct resolve_addrs *out, struct err *e);

struct resolver_options {
    unsigned threads;
    resolver_lookup *lookup; /* NULL: the system's */
    void *ctx;
    const struct clock *clock; /* NULL: the real one */
};

struct resolver *resolver_new_by(const struct resolver_options *o, struct err *e) MUST_USE;

/* Whether it is remembered. Any thread. */
bool resolver_known(struct resolver *r, str host, struct resolve_addrs *out) MUST_USE;
/* None of its addresses could be reached: it is looked up anew the next time. */
void resolver_forget(struct resolver *r, str host);

struct resolver_ask;

/* By the loop's thread, which is where the answer comes, never before this returns: addresses, or
 * NULL and why. The ask is gone when the answer returns. */
struct resolver_ask *resolver_ask(struct resolver *r, struct loop *l, str host,
                                  void (*on_answer)(void *ctx, const struct resolve_addrs *addrs,
                                                    const struct err *e),
                                  void *ctx) MUST_USE;
void resolver_drop(struct resolver_ask *ask);
