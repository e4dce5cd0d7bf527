/* internal.h - shared by the files of the splitter.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/ctype.h"
#include "split/split.h"

/* Further bits of the table of first bytes, besides the places. */
#define SPLIT_BYTE_GAP 0x20   /* a marker after white space begins, or may begin, with it */
#define SPLIT_BYTE_LINE 0x40  /* it matters for lines */
#define SPLIT_BYTE_ABOVE 0x80 /* it is not ASCII */

/* White space that may be framing is buffered up to this size. */
#define SPLIT_GAP_MAX 64

/* The number of a block of reasoning whose opener has none. */
#define SPLIT_UNNUMBERED 255

/* How a tag that prompts ask for was written where it opened the block. A closer in another
 * spelling (letter case, white space) does not count if the prompt opened the block, and is in
 * doubt if the opener was spelled exactly. */
enum split_spelling { SPLIT_NOT_WRITTEN, SPLIT_EXACT, SPLIT_VARIANT };

struct split_window {
    str w;
    size_t at;
    bool more; /* more text may follow */
};

static inline unsigned split_place_index(unsigned place)
{
    return (unsigned)__builtin_ctz(place);
}

/* Whether a marker may have this byte as its second one. */
static inline bool split_is_second(const struct split_index *x, char c)
{
    return x->second[(uint8_t)c / 32] >> (uint8_t)c % 32 & 1;
}

/* places.c: output, and the transitions between places. */
enum split_kind split_place_kind(unsigned place);
void split_note(struct split *sp, enum split_note_what what, enum split_kind kind, str name);
void split_emit(struct split *sp, enum split_kind kind, str run);
/* Emits text of the current place, without a marker. */
void split_text(struct split *sp, str run);
/* The same for text that is known to be UTF-8 and not empty; `lines`: one of its bytes matters for
 * lines. */
void split_checked(struct split *sp, str run, bool lines);
/* Handles a marker and its bytes. */
void split_take(struct split *sp, const struct split_hit *hit, str bytes);
void split_settle(struct split *sp);
void split_set_gap(struct split *sp, unsigned gap);

/* find.c: the longest marker at a position of the window; gap 0: those of the current place. */
enum split_match split_find(const struct split *sp, const struct split_window *win, size_t from,
                            unsigned gap, struct split_hit *hit);
/* How many bytes of s the marker takes: 0 if it is not there, SIZE_MAX if s is only a prefix of
 * it. */
size_t split_mark_size(const struct split_mark *m, str s);
/* Whether the bytes are the marker in another spelling. */
bool split_is_variant(const struct split_mark *m, str bytes);
/* The size of the white space at a position at the start of a text: a byte order mark, a no-break
 * space and a zero-width space count too. 0: none; SIZE_MAX: s ends in the middle of it. */
size_t split_blank_size(str s, size_t at);
/* Builds the index of a format together with another one, which may be NULL. */
void split_index_build(struct split_index *x, const struct split_format *f,
                       const struct split_format *also);
/* The position of the next byte that could begin a marker, or the end. */
size_t split_candidate(const struct split *sp, str w, size_t from);

/* formats.c: the formats that the start of a text may select, in the order of preference; NULL
 * after the last. */
const struct split_format *split_format_picked(size_t index);
