/* resolve.h - resolves names with getaddrinfo on threads; the answer arrives on the loop that
 * asked.
 *
 *     if (!resolve_literal(host, &addrs) && !resolver_known(r, host, &addrs))
 *         ask = resolver_ask(r, loop, host, on_answer, ctx);
 *     ...
 *     resolver_drop(ask);                 no answer after it
 *
 * Within src/net and its tests only. Requests for a name that is being looked up share one answer.
 * Successes are cached for RESOLVE_MEMORY_MS, failures are not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/client.h"

#include <netinet/in.h>

#define RESOLVE_ADDRS_MAX 16
#define RESOLVE_PENDING_MAX 1024 /* names waiting or being looked up */
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

/* Families alternate, in the system's order of preference. Ports are 0. */
struct resolve_addrs {
    size_t n;
    struct resolve_addr addr[RESOLVE_ADDRS_MAX];
};

bool resolve_literal(str host, struct resolve_addrs *out);
void resolve_set_port(struct resolve_addr *a, unsigned port);
/* Sorts so that families alternate; the first stays first. */
void resolve_take_turns(struct resolve_addrs *addrs);

/* Looks a name up, on a thread of the resolver; tests replace it. */
typedef bool resolver_lookup(void *ctx, const char *host, struct resolve_addrs *out, struct err *e);

struct resolver_options {
    unsigned threads;
    resolver_lookup *lookup; /* NULL: the system's */
    void *ctx;
    const struct clock *clock; /* NULL: the real one */
};

struct resolver *resolver_new_by(const struct resolver_options *o, struct err *e) MUST_USE;

/* Whether the name is cached. Any thread. */
bool resolver_known(struct resolver *r, str host, struct resolve_addrs *out) MUST_USE;
/* Removes the name from the cache, because none of its addresses could be reached. */
void resolver_forget(struct resolver *r, str host);

/* Looks a name up for a thread that may wait. The wait ends at the deadline, or soon after the
 * cancel; the system's lookup then ends on a thread of its own, whose answer is dropped, so ctx
 * must outlive it. lookup NULL: the system's. */
struct stream_until;
bool resolve_wait(resolver_lookup *lookup, void *ctx, str host, const struct stream_until *until,
                  struct resolve_addrs *out, struct err *e) MUST_USE;

struct resolver_ask;

/* Called on the loop's thread. The answer arrives on the same thread, never before this returns:
 * addresses, or NULL and an error. The ask is freed when the callback returns. */
struct resolver_ask *resolver_ask(struct resolver *r, struct loop *l, str host,
                                  void (*on_answer)(void *ctx, const struct resolve_addrs *addrs,
                                                    const struct err *e),
                                  void *ctx) MUST_USE;
void resolver_drop(struct resolver_ask *ask);
