/* json_internal.h - what the files of json share, and its tests may look at.
 *
 * Text in three spellings is compared without being copied: a cursor hands it out in pieces, each a
 * run of bytes that stand for themselves or the few bytes of one escape.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

enum json_spelling {
    JSON_PLAIN,   /* bytes stand for themselves */
    JSON_ESCAPED, /* the inside of a JSON string */
    JSON_POINTED, /* a token of a JSON Pointer: ~0 is ~, ~1 is / */
};

struct json_cursor {
    str rest;
    enum json_spelling spelling;
    char bytes[4]; /* what the last escape stood for */
};

/* The next piece, empty at the end; lent until the next call. */
str json_piece(struct json_cursor *c);

/* The text of a string node. */
struct json_cursor json_cursor_of(const struct json *doc, const struct json_node *v);

/* As str_cmp, on what the two spell. */
int json_cursor_cmp(struct json_cursor a, struct json_cursor b);

/* How the character at p is encoded: its bytes if it is good UTF-8, else minus the bytes that
 * cannot become one (at least 1). p < end. */
int json_utf8(const char *p, const char *end);

/* Whether two numbers of the grammar have the same value, whatever their size. */
bool json_number_equal(str a, str b);

/* The shortest text that reads back as v, which is finite; returns its length. */
size_t json_double_text(double v, char *out, size_t size);
