/* content.h - what a tool gave back: its parts, its structured content, and what a model is shown.
 *
 *     struct mcp_result r;
 *     if (!mcp_result_read(json, &arena, &r, e)) ...
 *     if (!mcp_result_check(&r, schema, e)) ...          structured content against outputSchema
 *     mcp_result_text(&r, 30000, &text);                 bounded, for the model
 *
 * An error of the tool (isError) is a result like any other: the model is to read it. Parts of a
 * kind that is not known here are kept as their JSON and named to the model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "base/schema.h"

#define MCP_PARTS_MAX 1000

enum mcp_part_kind { MCP_TEXT, MCP_IMAGE, MCP_AUDIO, MCP_LINK, MCP_RESOURCE, MCP_OTHER };

/* What does not apply is empty. All in the arena or the JSON given. */
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
    str raw;        /* all of it */
};

/* ERR_UPSTREAM if it is no result of a tool, ERR_LIMIT if it has too many parts. json is lent as
 * long as the result. */
bool mcp_result_read(str json, struct arena *a, struct mcp_result *out, struct err *e) MUST_USE;

/* Whether structuredContent is there and as the schema has it; an error of the tool need have none.
 * ERR_UPSTREAM with the path and the reason if not. */
bool mcp_result_check(const struct mcp_result *r, const struct schema *s, struct err *e) MUST_USE;

/* All that a model can read, parts behind one another, at most size_max bytes and a note of what
 * was left out. Binary parts are named, not shown; structured content is shown where no text is. */
void mcp_result_text(const struct mcp_result *r, size_t size_max, struct buf *out);
