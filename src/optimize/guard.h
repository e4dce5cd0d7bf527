/* guard.h - checks of a proposed text: it must not copy examples or lose required names.
 *
 * A prompt that quotes the training examples scores well on them and on nothing else. A prompt that
 * renames a status breaks the readers of the output. Both checks are cheap and come before the
 * evaluation:
 *
 *     if (guard_copies(proposed, current, examples, n, &copy)) ...     copy.text is what was copied
 *     if (guard_loses(proposed, seed, names, n, &lost)) ...            lost is the name
 *
 * Pure functions; time is linear in the texts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define GUARD_RUN_WORDS 8   /* words in a row that count as a copy */
#define GUARD_WHOLE_WORDS 4 /* the least length of a shorter example that counts */

struct guard_copy {
    size_t example;
    str text; /* the copied words, as in the proposed text */
};

/* Whether the proposed text has GUARD_RUN_WORDS words in a row from an example that the current
 * text does not have (or all of an example that is shorter). Words are compared without their case,
 * the white space between them and the punctuation around them. */
bool guard_copies(str proposed, str current, const str *examples, size_t n, struct guard_copy *out);

/* Whether the proposed text lacks a name that the current text has as a whole word. Case counts. */
bool guard_loses(str proposed, str current, const str *names, size_t n, str *lost);

/* The names of an output schema: property names and the texts in enum and const, each once; false
 * if it is not a JSON object. They are in the arena. */
bool guard_schema_names(str schema, struct arena *a, const str **names, size_t *n,
                        struct err *e) MUST_USE;
