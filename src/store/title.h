/* title.h - the title of a session, from the words of its first question.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#define TITLE_COUNT_MAX 80u                   /* characters */
#define TITLE_SIZE (4 * TITLE_COUNT_MAX + 16) /* bytes */

/* The first line without spaces around it. A longer one ends with its last whole word and "…",
 * which count. The result points into `asked` or `out`. */
str title_of(str asked, char out[TITLE_SIZE]);
/* As records of earlier versions have it: cut in mid-word, and with its spaces. */
str title_of_earlier_versions(str asked);
