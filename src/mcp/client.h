/* client.h - an MCP client for plain sequential code: each call blocks until it is answered.
 *
 *     struct mcp_io *io = mcp_io_new(NULL, e);
 *     const char *argv[] = {"npx", "some-mcp-server", NULL};
 *     struct mcp_client *c = mcp_client_new(io, &(struct mcp_client_options){.argv = argv}, e);
 *     mcp_client_tools(c, 10000, NULL, &arena, &tools, e)
 *     mcp_client_call(c, &(struct mcp_call){.tool = name, .arguments = json}, &arena, &result, e)
 *     mcp_client_free(c);
 *
 * The server is a child process (argv) or at a URL, and of either era: the client finds out which
 * by server/discover or initialize, and remembers it. A child that has ended is restarted at the
 * next call, up to MCP_RESTARTS_MAX times a minute.
 *
 * The functions given here answer requests of the server (roots, sampling, elicitation, ping), on
 * the waiting thread or on one of the io's threads. A capability without a function is not
 * declared, and its requests are refused.
 *
 * Promises:
 *   - Any number of threads may call at once.
 *   - A call ends after timeout_ms without progress or other activity, and in any case after
 *     total_ms. The client cancels an abandoned call at the server.
 *   - An error of the tool is a result; false means that there is no result (ERR_TIMEOUT,
 *     ERR_CANCELLED, ERR_UPSTREAM, ERR_AUTH, ERR_INPUT, ERR_LIMIT).
 *   - A reply that the caller's arena has no room for is ERR_LIMIT: the arena needs four times the
 *     bytes of the reply, and a megabyte.
 *   - Structured content that violates the tool's schema is ERR_UPSTREAM. No schema makes the
 *     client fetch anything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mcp/auth.h"
#include "mcp/content.h"

#define MCP_CALL_MS 12000 /* for a call without a timeout */
#define MCP_CALL_TOTAL_MS 600000
#define MCP_TOOLS_MAX 10000 /* of one server */
#define MCP_PAGES_MAX 1000
#define MCP_ROUNDS_MAX 8   /* of requests to the client in one call */
#define MCP_RESTARTS_MAX 5 /* of a child in a minute */

enum mcp_era { MCP_ERA_UNKNOWN, MCP_ERA_MODERN, MCP_ERA_LEGACY };

/* All texts must live as long as the client. */
struct mcp_client_options {
    /* Either a program, which gets this environment ("NAME=value", NULL: PATH and HOME only), */
    const char *const *argv;
    const char *const *env;
    const char *cwd;
    /* or a URL. */
    str url;
    str headers;                         /* additional header lines, such as a key */
    const struct mcp_auth_options *auth; /* or NULL: a 401 is an error */

    enum mcp_era era;         /* if known; otherwise the client finds it out */
    str version;              /* of the legacy era, to begin with; empty: the newest */
    const char *const *allow; /* names of allowed tools, ending with NULL; NULL: all */
    size_t result_max;        /* bytes of a result; 0: MCP_MESSAGE_MAX */

    const char *const *roots; /* URIs, ending with NULL; NULL: not declared */
    /* Each gets the request's params as JSON and returns the result as JSON. NULL: not declared. */
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

/* Finds out the server's era and connects; the first call does this, too. */
bool mcp_client_connect(struct mcp_client *c, int64_t timeout_ms, struct err *e) MUST_USE;
enum mcp_era mcp_client_era(struct mcp_client *c);
/* The protocol version; valid until the client is freed. */
str mcp_client_version(struct mcp_client *c);

/* One tool as the server lists it; schemas and annotations are JSON, or empty. */
struct mcp_tool_info {
    str name, title, description, input_schema, output_schema, annotations;
    bool read_only, idempotent; /* hints of the server */
};

struct mcp_tools {
    struct mcp_tool_info *at; /* by name */
    size_t n;
};

/* All pages, without tools that are not allowed or whose headers are invalid. Cached as long as the
 * server allows, or until it reports a change. When *cancel becomes true, it ends with
 * ERR_CANCELLED; NULL is allowed. */
bool mcp_client_tools(struct mcp_client *c, int64_t timeout_ms, const _Atomic bool *cancel,
                      struct arena *a, struct mcp_tools *out, struct err *e) MUST_USE;

struct mcp_call {
    str tool;
    str arguments;              /* a JSON object; empty: {} */
    int64_t timeout_ms;         /* 0: MCP_CALL_MS */
    int64_t total_ms;           /* 0: MCP_CALL_TOTAL_MS */
    const _Atomic bool *cancel; /* or NULL; when it becomes true, the call is cancelled */
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
    const _Atomic bool *cancel; /* or NULL */
};

bool mcp_client_request(struct mcp_client *c, const struct mcp_client_ask *ask, struct arena *a,
                        str *result, struct err *e) MUST_USE;

/* Accepts an elicitation with the defaults of its schema: for callers without a user. */
bool mcp_elicit_defaults(str params, struct buf *result, struct err *e) MUST_USE;
