/* http_tool.h - tools that are HTTP requests: an operation of an OpenAPI document, or one request.
 *
 * A call has its tool's timeout. Redirects are not followed, so that neither arguments nor keys go
 * anywhere else than configured. Any status other than 2xx is a result for the model, with the
 * status. Calls that change something send an Idempotency-Key, the same if a resumed run repeats
 * the call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/tool.h"
#include "gateway/config_agents.h"
#include "mcp/io.h"

#define HTTP_TOOL_RESULT_MAX ((size_t)4 << 20) /* bytes of a reply that are kept */

/* All members are lent as long as the toolbox. */
struct http_tool {
    const struct config_tools *source;
    const struct openapi_operation *operation; /* NULL: one request */
    struct mcp_io *io;
};

/* For struct tool: ctx is the http_tool. */
bool http_tool_run(void *ctx, const struct tool_call *call, struct buf *out, struct err *e);
