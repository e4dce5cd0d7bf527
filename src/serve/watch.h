/* watch.h - requests of a watched coding agent: passed on unchanged, and recorded.
 *
 * /watch/RUN/NAME/REST goes to the upstream NAME of the run, below its address: method, path,
 * query, headers with the client's own credentials, and body as they came; the reply likewise. A
 * model call is recorded by a call of the gateway that reads the same bytes (call_watch in
 * gateway/call.h); it changes nothing. The end of a reply waits until the call is recorded. The
 * gateway passes on what it cannot read, too, and logs that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/watch_runs.h"

#define WATCH_LINES_MAX 65536 /* bytes of the headers for an upstream */
#define WATCH_HEADERS_MAX 128 /* headers of a reply */
#define WATCH_HELD_MAX ((size_t)64 << 20)
#define WATCH_VALUE_SIZE 320 /* most bytes that a parsed value of a request can take */

extern const struct route watch_any; /* the route of all paths below WATCH_PREFIX */

/* A request below WATCH_PREFIX. Texts are in the exchange's arena. */
struct watch_request {
    struct watch_run *run; /* a reference */
    const struct watched_upstream *upstream;
    struct client_url url;
    str path;   /* below the upstream's address */
    str target; /* for the upstream, with the query */
};

/* The path as the access log has it: without the id of the run. */
str watch_shown_path(str path, struct arena *a);
