/* prose.h - varied texts for the bench: English words, the common ones more often, so that a
 * text compresses and splits into tokens about as English does.
 *
 * Upstream and clients generate the same prose once. A text is a slice of it that the call's number
 * selects, so both sides know every text and neither generates one while it is measured. All
 * characters are letters, spaces and full stops: JSON needs no escapes for them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PROSE_ASKED 400 /* bytes of prose in a request */

enum prose_part { PROSE_QUESTION, PROSE_THOUGHT, PROSE_ANSWER, PROSE_PARTS };

/* The whole replies, by model. */
enum size { SMALL, PROSE, LARGE, TURN, SIZES };

struct prose_size {
    const char *model;
    size_t thought, answer; /* bytes */
};
extern const struct prose_size prose_sizes[SIZES];

/* The size whose model begins `model`; SIZES if it is none of them. */
enum size prose_size_find(const char *model);

void prose_init(void);
/* At least as many bytes as the largest text, beginning with a word. */
const char *prose_slice(uint32_t number, enum prose_part part);
