/* header.h - what of a call stands in HTTP headers too: values in ASCII, and which arguments.
 *
 *     mcp_header_value(&out, STR("Hello, 世界"));           =?base64?SGVsbG8sIOS4lueVjA==?=
 *     mcp_mirrors_read(&doc, schema, &arena, &mirrors, e)   the properties marked x-mcp-header
 *
 * A schema may mark a property with x-mcp-header: NAME; its value then stands in Mcp-Param-NAME.
 * Only a string, an integer or a boolean can be marked, only where a chain of `properties` alone
 * leads to it, and each name but once, whatever its case. A schema that breaks this is refused
 * as a whole, with the reason.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define MCP_MIRRORS_MAX 64
#define MCP_MIRROR_DEPTH_MAX 16

struct mcp_mirror {
    str header; /* the name without Mcp-Param- */
    str path[MCP_MIRROR_DEPTH_MAX];
    size_t depth;
};

struct mcp_mirrors {
    struct mcp_mirror *at; /* in the arena, as are the texts */
    size_t n;
};

/* As it is if that is plain ASCII without white space at its ends, else as base64. */
void mcp_header_value(struct buf *out, str value);
/* What a header stands for; false if it holds what no header may, or base64 that is none. */
bool mcp_header_read(str header, struct buf *out) MUST_USE;

bool mcp_mirrors_read(const struct json *doc, const struct json_node *schema, struct arena *a,
                      struct mcp_mirrors *out, struct err *e) MUST_USE;

/* The value of one among the arguments as text, before it is made a header; false if it is not
 * there, null, or nothing a header can hold. */
bool mcp_mirror_value(const struct mcp_mirror *m, const struct json *doc,
                      const struct json_node *arguments, struct arena *a, str *out) MUST_USE;
