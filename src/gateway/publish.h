/* publish.h - sessions and tool calls of applications: stored, and published to live viewers.
 *
 * A model call is recorded and published by the gateway; the runs of applications report the rest
 * here. The store and the hub may be NULL. Any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "live/hub.h"
#include "store/store.h"

/* Stores the session. Viewers get a session_status_change if its status is another one. */
void publish_session(struct store *s, struct hub *h, const struct store_session *row);

/* Viewers get an mcp_communication at the start of a tool call and at its end; the end is stored.
 * `key`: the name of the client key that the session belongs to, or "". */
void publish_tool_start(struct hub *h, const struct store_tool *row, str key);
void publish_tool_end(struct store *s, struct hub *h, const struct store_tool *row, str key);
