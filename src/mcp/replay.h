/* replay.h - a server that replays recorded outputs of tools.
 *
 *     struct replay *r;
 *     if (!replay_open("cases/disk", &r, e)) ...
 *     for (size_t i = 0; replay_fault(r, i); i++) ...          "disk.txt:2: ..."
 *     options.sets[0] = replay_set(r);                         server.h
 *     replay_close(r);
 *
 * A recording is a file NAME.txt:
 *
 *     {"tool_name": "kubectl_describe", "match_params": {"kind": "pod", "name": "web"}}
 *     {"status": "success", "params": {...}, "error": null}
 *     and from here on the unchanged output
 *
 * A call gets the recording of its tool whose match_params are all in its arguments. If several
 * match, the one with the most match_params counts; equal ones are concatenated. Other arguments do
 * not matter; absent or null match_params match any call. The status "error" is an error of the
 * tool. If nothing matches, the reply names the nearest recording and the difference.
 *
 * The schemas of tools are in tools.json (a list of {name, description, inputSchema, annotations}
 * as in tools/list, also below "tools"), or are derived from the recorded parameters. Every tool
 * declares that it is read-only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mcp/server.h"

#define REPLAY_FILES_MAX 5000
#define REPLAY_FILE_MAX ((size_t)16 << 20)
#define REPLAY_SIZE_MAX ((size_t)512 << 20)

struct replay;

/* False: the folder cannot be read, or has no recording and no tools.json. */
bool replay_open(const char *folder, struct replay **out, struct err *e) MUST_USE;
void replay_close(struct replay *r); /* NULL is allowed */

/* The faults of files, "FILE:LINE: why"; NULL after the last. */
const char *replay_fault(const struct replay *r, size_t i);
size_t replay_count(const struct replay *r); /* recordings */
/* The output of the i-th recording, below replay_count. */
str replay_output(const struct replay *r, size_t i);
const struct mcp_set *replay_set(const struct replay *r);

/* The reply to a call; false: out explains why there is none, or has the tool's error. For the
 * server, and for checks of a folder. arguments: a JSON object. */
bool replay_call(const struct replay *r, str tool, str arguments, struct buf *out);
