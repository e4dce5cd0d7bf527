/* internal.h - what the files of the splitter share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "split/split.h"

/* Beside the places, what the table of first bytes says of a byte. */
#define SPLIT_BYTE_GAP 0x20   /* a marker behind white space begins with it, or may */
#define SPLIT_BYTE_LINE 0x40  /* it matters to lines */
#define SPLIT_BYTE_ABOVE 0x80 /* it is not ASCII */

/* White space that may turn out to be framing is held no longer than this. */
#define SPLIT_GAP_MAX 64

/* The number of a block of reasoning whose opener has none. */
#define SPLIT_UNNUMBERED 255

/* How a tag that prompts ask for was written where it opened the block. A closer in another
 * spelling (letter case, white space) is none if the prompt opened the block, and in doubt if the
 * opener was spelled as it should be. */
enum split_spelling { SPLIT_NOT_WRITTEN, SPLIT_EXACT, SPLIT_VARIANT };

struct split_window {
    str w;
    size_t at;
    bool more; /* the text may go on behind it */
};

static inline unsigned split_place_index(unsigned place)
{
    return (unsigned)__builtin_ctz(place);
}

static inline bool split_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Whether a marker may have this byte as its second one. */
static inline bool split_is_second(const struct split_index *x, char c)
{
    return x->second[(uint8_t)c / 32] >> (uint8_t)c % 32 & 1;
}

/* places.c: what goes out, and the way from place to place. */
enum split_kind split_place_kind(unsigned place);
void split_note(struct split *sp, enum split_note_what what, enum split_kind kind, str name);
void split_emit(struct split *sp, enum split_kind kind, str run);
/* Text of the place we are in, without a marker. */
void split_text(struct split *sp, str run);
/* The same for text that is known to be UTF-8 and not empty; `lines` if a byte of it matters to
 * one. */
void split_checked(struct split *sp, str run, bool lines);
/* A marker, and its bytes. */
void split_take(struct split *sp, const struct split_hit *hit, str bytes);
void split_settle(struct split *sp);
void split_set_gap(struct split *sp, unsigned gap);

/* find.c: the longest marker at a place in the window; `gap` is 0 for those of the place we are in.
 */
enum split_match split_find(const struct split *sp, const struct split_window *win, size_t from,
                            unsigned gap, struct split_hit *hit);
/* How much of s the marker takes: 0 if it is not there, SIZE_MAX if s is only the front of it. */
size_t split_mark_size(const struct split_mark *m, str s);
/* Whether the bytes are the marker in another spelling. */
bool split_is_variant(const struct split_mark *m, str bytes);
/* How long the white space is that s has at this place, at the front of a text: a byte order mark,
 * a no-break space and a zero-width space count too. 0: none; SIZE_MAX: s ends in the middle of
 * it. */
size_t split_blank_size(str s, size_t at);
/* The index of a format together with another one, which may be NULL. */
void split_index_build(struct split_index *x, const struct split_format *f,
                       const struct split_format *also);
/* The next byte that could begin a marker, or the end. */
size_t split_candidate(const struct split *sp, str w, size_t from);

/* formats.c: the formats that a text's front may pick, in the order of preference; NULL after the
 * last. */
const struct split_format *split_format_picked(size_t index);
