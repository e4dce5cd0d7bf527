/* score.h - whether a report has the facts it should have, without a model to judge it.
 *
 * A fact is there if the words that carry it are: all names (in backticks, or with digits or joints
 * such as logging-agent and a.b.c), and two thirds of the other words that say something. Case and
 * the ends of words (crash, crashing) do not count. This finds what is said in the same words; it
 * does not understand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

/* From 0 to 1: the share of facts that are there; 1 if there are none. found, if not NULL, gets
 * whether each is. */
double score_facts(str text, const str *facts, size_t n, bool *found);
