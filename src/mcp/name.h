/* name.h - maps tools of many servers to names that every provider accepts, and back.
 *
 *     mcp_names_init(&names, &arena);
 *     mcp_names_add(&names, STR("files"), STR("read/file"), &name, e)
 *                                                      files__read_file_3f1c9a0b52
 *     mcp_names_find(&names, name, &server, &tool)     files, read/file
 *
 * MCP allows names that providers refuse; all providers accept [A-Za-z0-9_-]{1,64}. A name is
 * SERVER__TOOL if that is unambiguous and valid. Otherwise invalid characters are replaced, the
 * name is truncated, and a digest of both names is appended. So a name is the same in every run and
 * does not depend on the order in which tools are added.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/map.h"

#define MCP_NAME_MAX 64
#define MCP_NAMES_MAX 10000

struct mcp_names {
    struct arena *arena; /* lent */
    struct map map;      /* name to struct mcp_named */
};

void mcp_names_init(struct mcp_names *n, struct arena *a);
void mcp_names_release(struct mcp_names *n);

/* The name of a tool, in the arena; the same one if it was added before. */
bool mcp_names_add(struct mcp_names *n, str server, str tool, str *name, struct err *e) MUST_USE;
/* False if no tool has the name. */
bool mcp_names_find(const struct mcp_names *n, str name, str *server, str *tool) MUST_USE;
