/* pipe.h - a server as a child process: writes lines, reads lines, and waits for replies.
 *
 *     struct mcp_pipe *p = mcp_pipe_new(io, &spec, on_other, ctx, e);
 *     mcp_pipe_expect(p, &wait, id);
 *     mcp_pipe_send(p, line, deadline_ns, NULL, e)
 *     mcp_pipe_next(&wait, deadline_ns, NULL, &line, e)  progress of it, and in the end the reply
 *     mcp_pipe_forget(&wait);
 *     mcp_pipe_free(p);                                  its input closed, then TERM, then KILL
 *
 * Messages that belong to no call (requests, notifications) go to on_other, on the helper's thread.
 * Its standard error is drained, and the end of it is reported when the server dies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mcp/inbox.h"
#include "mcp/io.h"

#define MCP_PIPE_GRACE_MS 2000
#define MCP_PIPE_STDERR_MAX 2048 /* bytes kept of the end of standard error */

struct mcp_pipe;

struct mcp_pipe_spec {
    const char *const *argv;
    const char *const *env;
    const char *cwd;
};

struct mcp_wait {
    struct mcp_pipe *pipe;
    str id; /* as JSON; must stay valid until mcp_pipe_forget. It is also the call's progress
               token. */
    struct mcp_inbox inbox;
    struct mcp_item *item;
    struct mcp_wait *next;
};

struct mcp_pipe *mcp_pipe_new(struct mcp_io *io, const struct mcp_pipe_spec *spec,
                              void (*on_other)(void *ctx, str line), void *ctx,
                              struct err *e) MUST_USE;
void mcp_pipe_free(struct mcp_pipe *p);
/* Calls that wait for the server, and threads that write to it, get an error soon. */
void mcp_pipe_end_calls(struct mcp_pipe *p);
/* Whether the server still runs, as far as we know. */
bool mcp_pipe_alive(struct mcp_pipe *p);

void mcp_pipe_expect(struct mcp_pipe *p, struct mcp_wait *w, str id);
void mcp_pipe_forget(struct mcp_wait *w);
/* If the server stops reading in the middle of the line, it cannot be used any more. */
bool mcp_pipe_send(struct mcp_pipe *p, str line, uint64_t deadline_ns, const _Atomic bool *cancel,
                   struct err *e) MUST_USE;
/* The line is valid until the next call. */
bool mcp_pipe_next(struct mcp_wait *w, uint64_t deadline_ns, const _Atomic bool *cancel, str *line,
                   struct err *e) MUST_USE;
