/* veil_in.h - what a tag looks like: shared by veil.c, which follows them, and veil_look.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/orders/veil.h"

enum look { LOOK_TEXT, LOOK_MORE, LOOK_TAG, LOOK_TOKEN };

struct veil_seen {
    size_t size; /* bytes of the tag, without what ends its name if that is not ">" */
    str name;    /* as it is written, without its prefix; in the letters below */
    bool closing, whole;
    /* What is there, with every sign that stands for "<" or ">" as that, and without what nobody
     * sees; behind each letter how many bytes it ends. */
    char letters[VEIL_HOLD_MAX + 1];
    size_t ends[VEIL_HOLD_MAX + 1], count;
};

/* What is at the front of s, which is at most VEIL_HOLD_MAX bytes. */
enum look veil_look(str s, struct veil_seen *out);
/* Its first letter, likewise, and the bytes that it has; 0: more are needed to tell. */
size_t veil_letter(str s, char *out);
/* Whether something may begin with this byte that is no text. */
bool veil_mark(char c);
/* Whether the end of the text cut a tag that would hide: "<reas", "</", "<inner_th". */
bool veil_cut(str s);

bool veil_has(str name, const char *stem); /* in small letters */
/* Whether what is in such a tag is not for the customer. */
bool veil_hides(str name);
