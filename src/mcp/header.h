/* header.h - the parts of a call that are also HTTP headers: values in ASCII, and which arguments.
 *
 *     mcp_header_value(&out, STR("Hello, 世界"));           =?base64?SGVsbG8sIOS4lueVjA==?=
 *     mcp_mirrors_read(&doc, schema, &arena, &mirrors, e)   the properties marked x-mcp-header
 *
 * A schema may mark a property with x-mcp-header: NAME; then its value is also in Mcp-Param-NAME.
 * Only a string, an integer or a boolean can be marked, only below a chain of `properties`, and
 * each name only once, ignoring case. A schema that violates this is refused as a whole, with the
 * reason.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define MCP_MIRRORS_MAX 64
#define MCP_MIRROR_DEPTH_MAX 16
#define MCP_MIRROR_NAME_MAX 256 /* bytes of a header's name, and of a property's above the mark */

struct mcp_mirror {
    str header; /* the name without Mcp-Param- */
    str path[MCP_MIRROR_DEPTH_MAX];
    size_t depth;
};

struct mcp_mirrors {
    struct mcp_mirror *at; /* in the arena, like the texts */
    size_t n;
};

/* Most bytes of an arena that the mirrors of one tool take. */
#define MCP_MIRRORS_ARENA_MAX                                                                      \
    (MCP_MIRRORS_MAX *                                                                             \
     (sizeof(struct mcp_mirror) + (MCP_MIRROR_DEPTH_MAX + 1) * (MCP_MIRROR_NAME_MAX + 32)))

/* Unchanged if it is plain ASCII without white space at its ends, otherwise as base64. */
void mcp_header_value(struct buf *out, str value);
/* Decodes a header; false if it has invalid characters or invalid base64. */
bool mcp_header_read(str header, struct buf *out) MUST_USE;

bool mcp_mirrors_read(const struct json *doc, const struct json_node *schema, struct arena *a,
                      struct mcp_mirrors *out, struct err *e) MUST_USE;

/* The marked argument, or NULL. */
const struct json_node *mcp_mirror_find(const struct mcp_mirror *m, const struct json *doc,
                                        const struct json_node *arguments);
/* The text of a marked argument, before encoding; false if it is absent, null or of another
 * type. */
bool mcp_mirror_value(const struct mcp_mirror *m, const struct json *doc,
                      const struct json_node *arguments, struct arena *a, str *out) MUST_USE;
