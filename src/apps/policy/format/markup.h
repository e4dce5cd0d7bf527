/* markup.h - HTML and XML as tags and text, one at a time, without a tree.
 *
 *     struct markup m = {.src = text, .html = true};
 *     while (markup_next(&m, &t))
 *         if (t.kind == MARKUP_OPEN && markup_is(&t, "p")) ...
 *     if (m.wrong) ...                       a tag or a comment that does not end
 *
 * Comments, declarations and processing instructions are passed over. A declaration with entities
 * of its own ("<!DOCTYPE x [") is wrong: nothing is expanded but the entities known here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

enum markup_kind { MARKUP_TEXT, MARKUP_OPEN, MARKUP_CLOSE };

struct markup {
    str src;
    size_t at;
    bool html;         /* names in any case; otherwise XML */
    const char *wrong; /* why the rest cannot be read; NULL: it can */
};

struct markup_token {
    enum markup_kind kind;
    str name;       /* of a tag */
    str attributes; /* of an opening tag, as they are */
    str text;       /* of MARKUP_TEXT, unchanged */
    bool empty;     /* <br/> */
    bool literal;   /* text in which & is only a character */
};

bool markup_next(struct markup *m, struct markup_token *t);
/* In HTML, the name in lower case is expected. */
bool markup_is(const struct markup_token *t, const char *name);
/* One of names separated by spaces. */
bool markup_among(const struct markup_token *t, const char *names);
/* The value with its entities decoded; false if there is no such attribute. */
bool markup_attribute(const struct markup_token *t, const char *name, struct arena *a, str *out);
/* A value that is a number from 0 to max; else `otherwise`. */
unsigned markup_number(const struct markup_token *t, const char *name, unsigned max,
                       unsigned otherwise);
/* After the opening tag of an element whose content is no markup, such as a script: to its end. */
void markup_skip_raw(struct markup *m, const struct markup_token *open);
/* Text with its entities decoded. */
void markup_decode(str text, struct buf *out);
