/* guard.h - what a proposed text must not do: copy its examples, or lose the names it lives by.
 *
 * A prompt that quotes the training examples scores well on them and on nothing else; one that
 * renames a status breaks whoever reads the output. Both are cheap to see before anything is
 * evaluated:
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

#define GUARD_RUN_WORDS 8   /* so many words in a row are no coincidence */
#define GUARD_WHOLE_WORDS 4 /* of an example that has fewer in all, this many are needed */

struct guard_copy {
    size_t example;
    str text; /* what was copied, as it stands in the proposed text */
};

/* Whether the proposed text has GUARD_RUN_WORDS words in a row from an example that the current
 * text does not have (or all of an example that is shorter). Words are compared without their case,
 * the white space between them and the punctuation around them. */
bool guard_copies(str proposed, str current, const str *examples, size_t n, struct guard_copy *out);

/* Whether a name that stands in the text to be replaced, as a whole word, is missing in the
 * proposed one. Case counts. */
bool guard_loses(str proposed, str current, const str *names, size_t n, str *lost);

/* The names of an output schema: property names and the texts in enum and const, each once; false
 * if it is no JSON object. They are in the arena. */
bool guard_schema_names(str schema, struct arena *a, const str **names, size_t *n,
                        struct err *e) MUST_USE;
