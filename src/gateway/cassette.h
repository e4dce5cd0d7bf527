/* cassette.h - recorded calls: written while real calls run, played back in their place.
 *
 * A cassette is a file of JSON lines. The first is {"cassette": 1, "kind": "openai"}; each other
 * line is a call:
 *
 *     {"request": {"path": "...", "body": {...}}, "status": 200, "type": "text/event-stream",
 *      "pieces": [[ms, "text"], ...]}
 *
 * It holds no keys and no headers. A reply is found by the canonical form of the request: members
 * sorted and numbers compared by value, without `user`, `metadata`, `store`, stream options, null
 * members, and `stream` if it asks for the default. A request without a recording is an error that
 * names the nearest recording and the first place where the two differ.
 *
 * Instead of status, type and pieces a call may have "like": N, the reply of the call in the
 * earlier line N. Bytes of a piece that are not UTF-8 are written as {"b64": "..."} instead of
 * text. A body that is not JSON is one JSON string. A loaded cassette is read-only: any thread may
 * search it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

struct cassette;

struct cassette_piece {
    uint64_t after_ms; /* since the previous piece */
    str bytes;
};

struct cassette_call {
    str path, body; /* as recorded */
    int status;
    str type; /* Content-Type */
    const struct cassette_piece *pieces;
    size_t piece_count;
};

/* Reads only the first line: the dialect of the recordings. */
bool cassette_peek(const char *path, enum chat_dialect *out, struct err *e) MUST_USE;
bool cassette_load(const char *path, struct cassette **out, struct err *e) MUST_USE;
void cassette_free(struct cassette *c);
enum chat_dialect cassette_dialect(const struct cassette *c);
size_t cassette_count(const struct cassette *c);
const struct cassette_call *cassette_at(const struct cassette *c, size_t index);
/* ERR_NOT_FOUND if no recording matches. The same request recorded n times is played in turn by
 * `nth`, from 0, then again from the first. */
bool cassette_find(const struct cassette *c, str path, str body, size_t nth,
                   const struct cassette_call **out, struct err *e) MUST_USE;

/* The canonical form of a request to this path; with an empty path, of any JSON value. */
void cassette_canonical(const struct json *doc, str path, struct buf *out);

/* A call as a line to append. */
void cassette_line(const struct cassette_call *call, struct buf *out);
void cassette_head(enum chat_dialect d, struct buf *out);
