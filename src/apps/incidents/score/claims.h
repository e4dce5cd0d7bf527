/* claims.h - the statements that an analysis makes itself, clause by clause.
 *
 *     struct claims c;
 *     claims_read(analysis, evidence, &arena, &c);
 *     for (size_t i = 0; i < c.n; i++)
 *         if (!(c.at[i].flags & CLAIM_DROPPED)) ...
 *
 * Quotations are removed first (quotes.h). Then each clause is judged by phrases: a clause that
 * rules something out, asks, refuses to say what is wrong, tells somebody to look, or lists
 * alternatives without choosing one states nothing and is dropped. So are keyword lists. A
 * statement attributed to a log, an event or another source counts only if the analysis also draws
 * a conclusion of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/score/words.h"
#include "base/arena.h"

#define CLAIMS_TEXT_MAX ((size_t)256 << 10) /* bytes of an analysis that are read */

enum {
    CLAIM_DROPPED = 1,    /* states nothing */
    CLAIM_NAMES = 2,      /* states nothing, but can name the object: a question, a list of words */
    CLAIM_ROOT = 4,       /* says that it names the cause */
    CLAIM_REPORTED = 8,   /* attributed to a source */
    CLAIM_CONCLUDES = 16, /* draws a conclusion */
    CLAIM_HEDGED = 32,    /* says that something could be */
    CLAIM_REFUSES = 64,   /* says that the cause is not known */
    CLAIM_BLAMES = 128,   /* says so itself, and not only its section */
    CLAIM_POINTS_BACK = 256, /* with CLAIM_ROOT: the clause before it names the cause */
    CLAIM_LIKELY = 512,      /* says that something is likely */
    CLAIM_ONLY = 1024,       /* and the next bits: says in one of CLAIM_WORDINGS that this alone is
                              * the cause */
};

#define CLAIM_WORDINGS 3

struct claim {
    unsigned flags;
    size_t first, n; /* words */
};

struct claims {
    struct claim *at;
    size_t n;
    struct score_words words; /* reduced, with content */
    bool refused;             /* a clause refuses */
};

void claims_read(str analysis, str evidence, struct arena *a, struct claims *out);
