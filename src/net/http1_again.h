/* http1_again.h - faster parsing of heads that begin like previous ones.
 *
 *     struct http1_again again = {0};
 *     switch (http1_request_again(&again, bytes, size_max, &head, &used, &fault)) ...
 *
 * Clients repeat the same first lines in every request: the request line, the host, the user agent.
 * The parser remembers the lines that two heads had in common and their meaning; a head that begins
 * with them is parsed from the first line after them. The result equals that of http1_request. The
 * same works for replies; use one struct for requests and another for replies.
 *
 * Lines with credentials, and all lines after them, are not remembered. Initialize with zeros; for
 * one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/http1.h"

#define HTTP1_AGAIN_MAX 1024 /* bytes that are remembered */

/* State of a head while its fields are parsed. */
struct http1_reading {
    struct http1_head *head;
    struct http1_fault *fault;
    bool host, length, chunked; /* seen */
    bool close, keep, upgrade_option, upgrade_field;
};

struct http1_again {
    size_t size;                  /* of the known prefix; 0: none */
    size_t last;                  /* bytes kept of the head it was learnt from */
    unsigned misses;              /* misses left before another prefix is learnt */
    unsigned hits;                /* hits left before it is learnt again, because there may be a
                                     longer one */
    struct http1_reading reading; /* the state after the prefix */
    struct http1_head head;       /* the same; its spans are in bytes */
    char bytes[HTTP1_AGAIN_MAX];
};

enum http1_result http1_request_again(struct http1_again *a, str bytes, size_t size_max,
                                      struct http1_head *out, size_t *used,
                                      struct http1_fault *fault);
struct http1_reply_rules {
    size_t size_max; /* of the head */
    bool no_body;    /* regardless of the head: the reply to a HEAD */
};

/* The same for http1_reply. */
enum http1_result http1_reply_again(struct http1_again *a, str bytes,
                                    struct http1_reply_rules rules, struct http1_head *out,
                                    size_t *used, struct http1_fault *fault);
