/* client.h - an MCP client for plain sequential code: each call blocks until it is answered.
 *
 *     struct mcp_io *io = mcp_io_new(NULL, e);
 *     const char *argv[] = {"npx", "some-mcp-server", NULL};
 *     struct mcp_client *c = mcp_client_new(io, &(struct mcp_client_options){.argv = argv}, e);
 *     mcp_client_tools(c, 10000, &arena, &tools, e)
 *     mcp_client_call(c, &(struct mcp_call){.tool = name, .arguments = json}, &arena, &result, e)
 *     mcp_client_free(c);
 *
 * The server is a child process (argv) or at a URL, and of either era: what it speaks is found out
 * by asking (server/discover, else initialize) and remembered. A child that has died is started
 * again at the next call, but not without end.
 *
 * What a server asks of us (roots, sampling, elicitation, ping) is answered by the functions given
 * here, on the thread that waits or on one of the io's; what no function is given for is not
 * declared and is refused.
 *
 * Promises:
 *   - Any number of threads may call at once.
 *   - A call ends: timeout_ms without a sign of life, total_ms in any case; progress is a sign of
 *     life. A call that is given up is cancelled at the server.
 *   - An error of the tool is a result; false means that there is none (ERR_TIMEOUT,
 *     ERR_CANCELLED, ERR_UPSTREAM, ERR_AUTH, ERR_INPUT, ERR_LIMIT).
 *   - Structured content that is not as the tool's schema has it is ERR_UPSTREAM. No schema makes
 *     us fetch anything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mcp/auth.h"
#include "mcp/content.h"
#include "mcp/io.h"

#define MCP_CALL_MS 12000 /* if a call gives no timeout */
#define MCP_CALL_TOTAL_MS 600000
#define MCP_TOOLS_MAX 10000 /* of one server */
#define MCP_PAGES_MAX 1000
#define MCP_ROUNDS_MAX 8   /* of questions to us in one call */
#define MCP_RESTARTS_MAX 5 /* of a child in a minute */

enum mcp_era { MCP_ERA_UNKNOWN, MCP_ERA_MODERN, MCP_ERA_LEGACY };

/* All texts are lent as long as the client. */
struct mcp_client_options {
    /* Either a program, which gets this environment ("NAME=value", NULL: PATH and HOME only), */
    const char *const *argv;
    const char *const *env;
    const char *cwd;
    /* or a URL. */
    str url;
    str headers;                         /* ready lines of the user's own, such as a key */
    const struct mcp_auth_options *auth; /* or NULL: a 401 is an error */

    enum mcp_era era;         /* if it is known; else it is found out */
    str version;              /* of the legacy era, to begin with; empty: the newest */
    const char *const *allow; /* names of tools that may be used, NULL behind the last; NULL: all */
    size_t result_max;        /* bytes of a result; 0: MCP_MESSAGE_MAX */

    const char *const *roots; /* URIs, NULL behind the last; NULL: none is declared */
    /* Each gets the request's params as JSON and gives the result as JSON. NULL: not declared. */
    bool (*sample)(void *ctx, str params, struct buf *result, struct err *e);
    bool (*elicit)(void *ctx, str params, struct buf *result, struct err *e);
    /* Whether a tool may be called with these arguments; NULL: it may. */
    bool (*approve)(void *ctx, str tool, str arguments);
    void *ctx;
};

struct mcp_client;

struct mcp_client *mcp_client_new(struct mcp_io *io, const struct mcp_client_options *o,
                                  struct err *e) MUST_USE;
void mcp_client_free(struct mcp_client *c);

/* Finds out what the server speaks, and begins; the first call does it too. */
bool mcp_client_connect(struct mcp_client *c, int64_t timeout_ms, struct err *e) MUST_USE;
enum mcp_era mcp_client_era(struct mcp_client *c);
/* The version that is spoken; lent until the client is freed. */
str mcp_client_version(struct mcp_client *c);

/* One tool as the server lists it; schemas and annotations are JSON, empty if there are none. */
struct mcp_tool_info {
    str name, title, description, input_schema, output_schema, annotations;
    bool read_only, idempotent, destructive; /* as the server hints */
};

struct mcp_tools {
    struct mcp_tool_info *at; /* by name */
    size_t n;
};

/* All pages, without the tools that are not allowed or whose headers are wrong. Kept as long as
 * the server says it may be, or until it says that they changed. */
bool mcp_client_tools(struct mcp_client *c, int64_t timeout_ms, struct arena *a,
                      struct mcp_tools *out, struct err *e) MUST_USE;

struct mcp_call {
    str tool;
    str arguments;              /* a JSON object; empty: {} */
    int64_t timeout_ms;         /* 0: MCP_CALL_MS */
    int64_t total_ms;           /* 0: MCP_CALL_TOTAL_MS */
    const _Atomic bool *cancel; /* or NULL: when it becomes true, the call is given up */
    void (*on_progress)(void *ctx, double progress, double total, str message); /* or NULL */
    void *ctx;
};

bool mcp_client_call(struct mcp_client *c, const struct mcp_call *call, struct arena *a,
                     struct mcp_result *out, struct err *e) MUST_USE;

/* Any other method; params is a JSON object without _meta. The result is JSON in the arena. */
struct mcp_client_ask {
    str method;
    str params; /* a JSON object, or "" */
    int64_t timeout_ms;
};

bool mcp_client_request(struct mcp_client *c, const struct mcp_client_ask *ask, struct arena *a,
                        str *result, struct err *e) MUST_USE;

/* An elicitation accepted with the defaults that its schema has: for who has no user to ask. */
bool mcp_elicit_defaults(str params, struct buf *result, struct err *e) MUST_USE;
