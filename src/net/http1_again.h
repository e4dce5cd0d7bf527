/* http1_again.h - requests, or replies, that begin as those before them did.
 *
 *     struct http1_again again = {0};
 *     switch (http1_request_again(&again, bytes, size_max, &head, &used, &fault)) ...
 *
 * Clients say the same lines in the same order all the time: what is asked for, the host, what they
 * are. The lines that two heads had in common are kept with what they mean, and a head that begins
 * with them is read from behind them. What comes out is what http1_request would have said. Servers
 * are no different. One struct is for one of the two.
 *
 * Lines with credentials are not kept, nor what stands behind the first of them. All zero, nothing
 * is known; one thread's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/http1.h"

#define HTTP1_AGAIN_MAX 1024 /* bytes that may be known */

/* What is known of a head while its fields come in. */
struct http1_reading {
    struct http1_head *head;
    struct http1_fault *fault;
    bool host, length, chunked; /* seen */
    bool close, keep, upgrade_option, upgrade_field;
};

struct http1_again {
    size_t size;                  /* of the front that is known; 0: none is */
    size_t last;                  /* of what is kept of the head it was learnt from */
    unsigned misses;              /* that are let pass before another front is learnt */
    unsigned hits;                /* until it is learnt anew: there may be a longer one by now */
    struct http1_reading reading; /* behind the front */
    struct http1_head head;       /* the same; its spans are in bytes */
    char bytes[HTTP1_AGAIN_MAX];
};

enum http1_result http1_request_again(struct http1_again *a, str bytes, size_t size_max,
                                      struct http1_head *out, size_t *used,
                                      struct http1_fault *fault);
struct http1_reply_rules {
    size_t size_max; /* of the head */
    bool no_body;    /* whatever the head says: the reply to a HEAD */
};

/* The same for http1_reply. */
enum http1_result http1_reply_again(struct http1_again *a, str bytes,
                                    struct http1_reply_rules rules, struct http1_head *out,
                                    size_t *used, struct http1_fault *fault);
