/* quotes.h - removes quotations from an analysis, so that only its own statements are scored.
 *
 *     char *own = score_quotes_remove(analysis, evidence, &arena);     as long as the analysis
 *
 * Removed are code blocks, block quotes, texts of SCORE_QUOTE_SPAN words and more in "quotation
 * marks" or `backticks`, and words of the evidence (outputs of tools, alert, runbook): a line that
 * is a line of it, and SCORE_QUOTE_RUN or more of its words in a row, however they are wrapped.
 *
 * A code block of Markdown is not a quotation: models wrap whole answers in one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

#define SCORE_QUOTE_RUN 6
#define SCORE_QUOTE_SPAN 8

/* The analysis with each quotation replaced by "; " and spaces: as long as before, in the arena. */
str score_quotes_remove(str analysis, str evidence, struct arena *a);
