/* mcp_side.h - a client whose MCP server is a few lines of shell.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mcp/client.h"
#include "test.h"

#include <signal.h>

#define ARENA_MAX ((size_t)64 << 20)
#define PATIENCE_MS 60000

/* A shell server; `own` has case branches that precede the default ones. $line is the message, $id
 * its id. */
#define SERVER(own)                                                                                \
    "say() { printf '%s\\n' \"$1\"; }\n"                                                           \
    "result() { say \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id,\\\"result\\\":$1}\"; }\n"       \
    "error() { say \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id,\\\"error\\\":{\\\"code\\\":$1,"  \
    "\\\"message\\\":\\\"no\\\"}}\"; }\n"                                                          \
    "text() { result "                                                                             \
    "\"{\\\"content\\\":[{\\\"type\\\":\\\"text\\\",\\\"text\\\":\\\"$1\\\"}]}\"; }\n"             \
    "while read -r line; do id=${line#*'\"id\":'}; id=${id%%[,\\}]*}\n"                            \
    "case $line in\n" own "*'\"server/discover\"'*) error -32601;;\n"                              \
    "*'\"initialize\"'*) result '{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}}';;\n"    \
    "*'\"tools/list\"'*) result '{\"tools\":[{\"name\":\"t\",\"inputSchema\":{}}]}';;\n"           \
    "*'\"tools/call\"'*) text called;;\n"                                                          \
    "*'\"id\"'*) error -32601;;\n"                                                                 \
    "esac; done\n"

struct side {
    struct mcp_io *io;
    struct mcp_client *client;
    struct arena arena;
    const char *argv[4];
    struct err e;
};

static inline void side_init(struct side *s, const char *script,
                             const struct mcp_client_options *more)
{
    struct mcp_client_options o = more ? *more : (struct mcp_client_options){0};

    (void)signal(SIGPIPE, SIG_IGN);
    s->argv[0] = "/bin/sh";
    s->argv[1] = "-c";
    s->argv[2] = script;
    s->argv[3] = NULL;
    o.argv = s->argv;
    o.url = STR("");
    arena_init(&s->arena, ARENA_MAX);
    s->io = mcp_io_new(NULL, &s->e);
    CHECK(s->io);
    s->client = mcp_client_new(s->io, &o, &s->e);
    CHECK(s->client);
}

static inline void side_release(struct side *s)
{
    mcp_client_free(s->client);
    mcp_io_free(s->io);
    arena_release(&s->arena);
}

static inline bool call(struct side *s, const char *tool, struct mcp_result *r)
{
    return mcp_client_call(s->client,
                           &(struct mcp_call){.tool = str_c(tool), .timeout_ms = PATIENCE_MS},
                           &s->arena,
                           r,
                           &s->e);
}
