/* prompt.h - the reflector's prompt, and the text in its answer.
 *
 *     if (!prompt_build(prompt_template, current, records, n, &buf, e))
 *         return false;
 *     ... a model answers ...
 *     str text = prompt_answer(reply);          empty: no proposal
 *
 * A template has two placeholders: the current text, and the records of its runs. Records are JSON
 * objects (usually Inputs, Generated Outputs, Feedback) and become nested Markdown headings. A
 * record that is not JSON is copied as it is.
 *
 * All of this is pure: no model, no clock, no memory beyond the buffer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#define PROMPT_CURRENT "<current_text>"
#define PROMPT_RECORDS "<records>"
#define PROMPT_LEVEL_MAX 6 /* Markdown has no deeper heading */

/* The default template. */
extern const char prompt_template[];

/* False: a placeholder is missing, or the prompt exceeds the buffer. Inserted texts are not
 * expanded: a placeholder in a record stays there. */
bool prompt_build(str template, str current, const str *records, size_t n, struct buf *out,
                  struct err *e) MUST_USE;

/* Records as Markdown, "# Example 1" and on. */
void prompt_records(const str *records, size_t n, struct buf *out);

/* The text between the first and the last code fence, without a language after the first and
 * without white space at its ends. A fence that is never closed reaches to the end of the reply; a
 * reply without one is the text. */
str prompt_answer(str reply);
