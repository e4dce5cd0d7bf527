/* replay.h - a server of recorded tool outputs: what a tool said once, said again.
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
 *     and from here on the output as it was
 *
 * A call gets the recording of its tool whose match_params it has all of; of several the one with
 * the most, and of equals all, one behind the other. Arguments beyond match_params do not matter;
 * none or null matches any call. A status of "error" is an error of the tool. A call that nothing
 * matches is told the nearest recording, and what differs.
 *
 * The schemas of tools are in tools.json (a list of {name, description, inputSchema, annotations}
 * as tools/list has it, also below "tools"), or are made of the parameters that were recorded.
 * Every tool is a reader only, and says so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mcp/server.h"

#define REPLAY_FILES_MAX 5000
#define REPLAY_FILE_MAX ((size_t)16 << 20)
#define REPLAY_SIZE_MAX ((size_t)512 << 20)

struct replay;

/* False: the folder cannot be read, or holds no recording and no tools.json. */
bool replay_open(const char *folder, struct replay **out, struct err *e) MUST_USE;
void replay_close(struct replay *r); /* NULL: nothing */

/* A file that does not say what it must, "FILE:LINE: why"; NULL behind the last. */
const char *replay_fault(const struct replay *r, size_t i);
size_t replay_count(const struct replay *r); /* recordings */
const struct mcp_set *replay_set(const struct replay *r);

/* What a call gets; false: out says why there is none, or it is the tool's error. For the server,
 * and for who tests a folder. arguments: a JSON object. */
bool replay_call(const struct replay *r, str tool, str arguments, struct buf *out);
