/* cases.h - cases on a command line: files, folders of *.json, and .jsonl files.
 *
 *     struct cases c;
 *     cases_init(&c, args->words, n);
 *     if (!cases_each(&c, on_case, ctx, e)) ...        in the order given; folders by name
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define CASES_FILES_MAX 100000

struct cases {
    const char *const *words;
    size_t n;
    bool many; /* the words may name more than one case */
};

void cases_init(struct cases *c, const char *const *words, size_t n);
/* name is for error messages: the file, and the line of a .jsonl. Both are valid during the
 * call. */
bool cases_each(struct cases *c, void (*on_case)(void *ctx, const char *name, str text), void *ctx,
                struct err *e) MUST_USE;
