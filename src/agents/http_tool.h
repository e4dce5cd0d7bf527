/* http_tool.h - tools that are HTTP requests: an operation of an OpenAPI document, or one request.
 *
 * A call has its tool's time. Redirects are not followed, so that neither arguments nor keys go
 * elsewhere than configured. Any status but 2xx is a result for the model, which is told it. Calls
 * that change something carry an Idempotency-Key, the same when a resumed run makes the call again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/tool.h"
#include "gateway/config_agents.h"
#include "mcp/io.h"

#define HTTP_TOOL_RESULT_MAX ((size_t)4 << 20) /* bytes of a reply that are kept */

/* All of it is lent as long as the toolbox. */
struct http_tool {
    const struct config_tools *source;
    const struct openapi_operation *operation; /* NULL: one request */
    struct mcp_io *io;
};

/* For struct tool: ctx is the http_tool. */
bool http_tool_run(void *ctx, const struct tool_call *call, struct buf *out, struct err *e);
