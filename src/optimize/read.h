/* read.h - reads the members of a JSON file strictly; errors name the member by its path.
 *
 *     struct read r;
 *     struct read_at root = read_root(&r, &doc, &arena);
 *     read_members(&root, "name size");
 *     struct read_at at = read_member(&root, "size");
 *     int64_t size = read_integer(&at, 1, 100);
 *     if (!read_ok(&r, e))          look once, at the end
 *
 * Sticky: after the first error all values read as empty, and the error stays.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

struct read {
    const struct json *doc;
    struct arena *arena;
    struct err err;
    bool failed;
};

/* A value and its path; the parent must outlive it. */
struct read_at {
    struct read *r;
    const struct json_node *node; /* NULL after an error */
    const struct read_at *up;
    str name;     /* of the member */
    size_t index; /* or of the element, where name is empty */
};

struct read_at read_root(struct read *r, const struct json *doc, struct arena *a);
bool read_ok(const struct read *r, struct err *e) MUST_USE;

/* "settings.stop.score: ..."; the first one is kept. */
void read_fail(const struct read_at *at, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* An object that has each of these members once, and no others. The words are names between
 * spaces. */
void read_members(const struct read_at *at, const char *words);
void read_members_named(const struct read_at *at, const str *names, size_t count);
struct read_at read_member(const struct read_at *at, const char *name);

/* An array: how many; and each of them, in order. */
size_t read_count(const struct read_at *at, size_t min, size_t max);
bool read_next(const struct read_at *array, struct read_at *element);

bool read_is_null(const struct read_at *at);
bool read_is_text(const struct read_at *at);
bool read_is_object(const struct read_at *at);
bool read_bool(const struct read_at *at);
str read_text(const struct read_at *at); /* ASCII; in the arena or the source */
/* Written without a fraction or an exponent. */
int64_t read_integer(const struct read_at *at, int64_t min, int64_t max);
double read_number(const struct read_at *at);
str read_integer_text(const struct read_at *at); /* of any size */
/* The place of the text among such words. */
size_t read_choice(const struct read_at *at, const char *words);
