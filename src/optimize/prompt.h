/* prompt.h - what the reflector is asked, and what it answered.
 *
 *     if (!prompt_build(prompt_template, current, records, n, &buf, e))
 *         return false;
 *     ... a model answers ...
 *     str text = prompt_answer(reply);          empty: no proposal
 *
 * A template is a text with two placeholders: the text as it is, and what happened with it. Records
 * are JSON objects (by custom Inputs, Generated Outputs, Feedback); they become nested Markdown
 * headings, so that a model sees what belongs to what. A record that is no JSON stands as it is.
 *
 * All of this is pure: no model, no clock, no memory beyond the buffer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define PROMPT_CURRENT "<current_text>"
#define PROMPT_RECORDS "<records>"
#define PROMPT_LEVEL_MAX 6 /* Markdown has no deeper heading */

/* The one used where the application has none of its own. */
extern const char prompt_template[];

/* False: a placeholder is missing, or it is larger than the buffer may be. What is put in is put in
 * as it is: a placeholder in a record stays there. */
bool prompt_build(str template, str current, const str *records, size_t n, struct buf *out,
                  struct err *e) MUST_USE;

/* Records as Markdown, "# Example 1" and on. */
void prompt_records(const str *records, size_t n, struct buf *out);

/* The text between the first and the last code fence, without a language behind the first and
 * without white space at its ends. A fence that is never closed reaches to the end of the reply; a
 * reply without one is the text. */
str prompt_answer(str reply);
