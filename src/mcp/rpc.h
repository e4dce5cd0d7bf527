/* rpc.h - JSON-RPC 2.0 for MCP: parses and writes single messages.
 *
 *     struct mcp_message m;
 *     struct mcp_fault fault;
 *     if (!mcp_read(&doc, line, &arena, &m, &fault))
 *         mcp_emit_fault(&out, &fault);           the reply that the sender must get
 *     ...
 *     mcp_emit_result(&out, m.id, STR("{}"));
 *
 * Strict: "jsonrpc" is "2.0"; an id is a string or an integer, and null only in a reply to an
 * unreadable message; params are an object; a reply has a result or an error, never both. Batches,
 * which one revision had, are refused. Unknown members are ignored.
 *
 * A written message is one line: line breaks between tokens become spaces, so it can be sent over
 * stdio or as the data of one event.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define MCP_MESSAGE_MAX ((size_t)16 << 20)
#define MCP_ID_MAX 256
#define MCP_METHOD_MAX 256

#define MCP_MODERN "2026-07-28"
#define MCP_LEGACY "2025-11-25" /* the newest that begins with initialize */

/* Keys of _meta. */
#define MCP_META "io.modelcontextprotocol/"
#define MCP_META_VERSION MCP_META "protocolVersion"
#define MCP_META_CAPABILITIES MCP_META "clientCapabilities"
#define MCP_META_CLIENT MCP_META "clientInfo"
#define MCP_META_SERVER MCP_META "serverInfo"
#define MCP_META_LOG_LEVEL MCP_META "logLevel"
#define MCP_META_SUBSCRIPTION MCP_META "subscriptionId"

enum mcp_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_METHOD_NOT_FOUND = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL_ERROR = -32603,
    MCP_SESSION_NOT_FOUND = -32001,
    MCP_RESOURCE_NOT_FOUND = -32002, /* up to 2025-11-25; then it is MCP_INVALID_PARAMS */
    MCP_HEADER_MISMATCH = -32020,
    MCP_MISSING_CAPABILITY = -32021,
    MCP_UNSUPPORTED_VERSION = -32022,
};

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESULT, MCP_ERROR };

/* Texts are in the arena or the source; nodes are of the document. */
struct mcp_message {
    enum mcp_kind kind;
    str id; /* as canonical JSON, 7 or "a"; empty without an id */
    str method;
    const struct json_node *params; /* an object, or NULL */
    const struct json_node *result; /* any object */
    int64_t code;                   /* of an error, as are text and data */
    str text;
    const struct json_node *data; /* or NULL */
};

struct mcp_fault {
    enum mcp_code code;
    str id; /* an empty id is written as null */
    struct err why;
};

bool mcp_read(struct json *doc, str text, struct arena *a, struct mcp_message *out,
              struct mcp_fault *fault) MUST_USE;
/* After mcp_read failed: whether the text must be a reply that is no JSON, because of invalid UTF-8
 * or deep nesting. Other such texts are a program's own output. */
bool mcp_is_broken_reply(str text, const struct mcp_fault *fault);

/* params, result and data are JSON; empty params and data are omitted, an empty id is null. */
void mcp_emit_request(struct buf *out, str id, str method, str params);
void mcp_emit_notification(struct buf *out, str method, str params);
void mcp_emit_result(struct buf *out, str id, str result);
void mcp_emit_error(struct buf *out, str id, int64_t code, str text, str data);
void mcp_emit_fault(struct buf *out, const struct mcp_fault *fault);

/* The revision of that name as a static text if it is of the legacy era, otherwise NULL. */
const char *mcp_legacy_version(str version);

/* The text of a member that is a string, or "". */
str mcp_member(const struct json *doc, const struct json_node *v, str key, struct arena *a);
