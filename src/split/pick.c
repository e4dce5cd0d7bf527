/* pick.c - the format that a text begins with.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "split/internal.h"

/* Whether a marker that tells its format begins with this byte. Checked against the table by
 * split_test: most texts begin with another byte and are done here. */
static bool pick_may_begin(char c)
{
    return c == '<' || c == '[' || c == '\xE2';
}

/* The longest marker of the format at the front of s; *part: s may be the front of a longer one. */
static size_t pick_match(const struct split_format *f, str s, bool *part)
{
    size_t best = 0;

    for (size_t i = 0; i < f->mark_count; i++) {
        size_t size;

        if (!(f->marks[i].rules & SPLIT_TELLS))
            continue;
        size = split_mark_size(&f->marks[i], s);
        if (size == SIZE_MAX)
            *part = true;
        else if (size > best)
            best = size;
    }
    return best;
}

enum split_match split_pick(str front, bool more, const struct split_format **out)
{
    const struct split_format *f;
    bool part = false;
    size_t at = 0, best = 0, n = 0;

    *out = split_format_plain();
    while (at < front.n && at < SPLIT_GAP_MAX) {
        n = split_blank_size(front, at);
        if (n == 0 || n == SIZE_MAX)
            break;
        at += n;
    }
    if (at >= SPLIT_GAP_MAX)
        return SPLIT_NO_MATCH;
    if (at == front.n || n == SIZE_MAX)
        return more ? SPLIT_PART_MATCH : SPLIT_NO_MATCH;
    assert(at < front.n);
    if (!pick_may_begin(front.p[at]))
        return SPLIT_NO_MATCH;
    front = str_slice(front, at, front.n);
    for (size_t i = 0; (f = split_format_picked(i)); i++) {
        size_t size = pick_match(f, front, &part);

        if (size > best) { /* of several formats with one marker the first is taken */
            best = size;
            *out = f;
        }
    }
    if (part && more)
        return SPLIT_PART_MATCH;
    return best ? SPLIT_FULL_MATCH : SPLIT_NO_MATCH;
}
