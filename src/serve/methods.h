/* methods.h - which methods a path takes, and the reply to a request with another one.
 *
 * Within src/serve only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/internal.h"

/* For the header Allow; "" if there is nothing at this path. */
str route_methods(str path, struct arena *a);
/* 405, or 404 if the path takes no method. */
void exchange_fail_method(struct exchange *ex);

/* The routes of sessions, runs and threads take any path after the id, and their handlers know
 * which paths exist. `rest` is the path after the id. */
void session_methods(str path, str rest, struct arena *a, struct buf *out);
void run_methods(str path, str rest, struct arena *a, struct buf *out);
void thread_methods(str path, str rest, struct arena *a, struct buf *out);
void route_add_method(struct buf *out, const char *method);
