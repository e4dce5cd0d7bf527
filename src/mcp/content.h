/* content.h - the result of a tool: its parts, its structured content, and the text for a model.
 *
 *     struct mcp_result r;
 *     if (!mcp_result_read(json, &arena, &r, e)) ...
 *     if (!mcp_result_check(&r, schema, e)) ...          structured content against outputSchema
 *     mcp_result_text(&r, 30000, &text);                 bounded, for the model
 *
 * An error of the tool (isError) is an ordinary result, because the model must read it. Parts of an
 * unknown kind keep their JSON, and the model gets their kind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/schema.h"

#define MCP_PARTS_MAX 1000

enum mcp_part_kind { MCP_TEXT, MCP_IMAGE, MCP_AUDIO, MCP_LINK, MCP_RESOURCE, MCP_OTHER };

/* Members that do not apply are empty. Texts are in the arena or in the given JSON. */
struct mcp_part {
    enum mcp_part_kind kind;
    str text; /* also of an embedded resource */
    str data; /* base64: image, audio, the blob of a resource */
    str mime;
    str uri, name; /* of a link or resource */
    str raw;       /* the whole part as JSON */
};

struct mcp_result {
    bool is_error;
    struct mcp_part *parts;
    size_t part_count;
    str structured; /* JSON, or empty */
    str raw;        /* the whole result */
};

/* ERR_UPSTREAM if it is not a result of a tool, ERR_LIMIT if it has too many parts. json must live
 * as long as the result. */
bool mcp_result_read(str json, struct arena *a, struct mcp_result *out, struct err *e) MUST_USE;

/* Whether structuredContent is present and satisfies the schema; an error of the tool may lack it.
 * Otherwise ERR_UPSTREAM with the path and the reason. */
bool mcp_result_check(const struct mcp_result *r, const struct schema *s, struct err *e) MUST_USE;

/* The text for a model: the parts in order, at most size_max bytes and a note about omitted text.
 * Binary parts are only named; structured content is used if there is no text. */
void mcp_result_text(const struct mcp_result *r, size_t size_max, struct buf *out);
