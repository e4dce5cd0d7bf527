/* cassette.h - recorded calls: written while real ones run, played back instead of them.
 *
 * A cassette is a file of JSON lines: first {"cassette": 1, "kind": "openai"}, then a call each:
 *
 *     {"request": {"path": "...", "body": {...}}, "status": 200, "type": "text/event-stream",
 *      "pieces": [[ms, "text"], ...]}
 *
 * Keys and headers are not in it. A reply is found by the canonical form of the request: members
 * sorted, numbers by value, without `user`, `metadata`, `store`, stream options and what goes
 * without saying: members that are null, and `stream` where it asks for what comes anyway. A miss
 * is an error that names the nearest recording and the first place where it differs.
 *
 * Instead of status, type and pieces there may be "like": N, the reply of the call in line N, which
 * stands before it. Bytes of a piece that are not UTF-8 are {"b64": "..."} in place of the text. A
 * body that is no JSON is one JSON string. Once loaded a cassette is read only: any thread may
 * search it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "chat/chat.h"

struct cassette;

struct cassette_piece {
    uint64_t after_ms; /* since the piece before */
    str bytes;
};

struct cassette_call {
    str path, body; /* as recorded */
    int status;
    str type; /* Content-Type */
    const struct cassette_piece *pieces;
    size_t piece_count;
};

/* Only what the first line says: which dialect the recordings are in. */
bool cassette_peek(const char *path, enum chat_dialect *out, struct err *e) MUST_USE;
bool cassette_load(const char *path, struct cassette **out, struct err *e) MUST_USE;
void cassette_free(struct cassette *c);
enum chat_dialect cassette_dialect(const struct cassette *c);
size_t cassette_count(const struct cassette *c);
const struct cassette_call *cassette_at(const struct cassette *c, size_t index);
/* ERR_NOT_FOUND on a miss. The same request recorded n times is played in turn by `nth`, from 0,
 * and then again from the first. */
bool cassette_find(const struct cassette *c, str path, str body, size_t nth,
                   const struct cassette_call **out, struct err *e) MUST_USE;

/* Of a request to this path; of any other value if there is none. */
void cassette_canonical(const struct json *doc, str path, struct buf *out);

/* A line to append. */
void cassette_line(const struct cassette_call *call, struct buf *out);
void cassette_head(enum chat_dialect d, struct buf *out);
