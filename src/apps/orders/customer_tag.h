/* customer_tag.h - recognises one tag at the front of a text, for customer_filter.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/orders/customer_filter.h"

#define CUSTOMER_COMMENT "!--" /* the name of an HTML comment, which has raw text in it */

enum customer_tag_kind {
    CUSTOMER_TAG_NONE,
    CUSTOMER_TAG_MORE,
    CUSTOMER_TAG_TAG,
    CUSTOMER_TAG_TOKEN
};

struct customer_tag {
    size_t size; /* bytes of the tag, without what ends its name if that is not ">" */
    str name;    /* as written, without its prefix; as a range of the letters below */
    bool closing, whole;
    /* The tag's letters: every sign for "<" or ">" is replaced by that character, invisible
     * characters are left out. ends: the bytes up to the end of each letter. */
    char letters[CUSTOMER_TAG_MAX + 1];
    size_t ends[CUSTOMER_TAG_MAX + 1], count;
};

/* Reads the front of s, which is at most CUSTOMER_TAG_MAX bytes. */
enum customer_tag_kind customer_tag_read(str s, struct customer_tag *out);
/* Its first letter, likewise, and the letter's bytes; 0: more are needed to decide. */
size_t customer_tag_letter(str s, char *out);
/* How many bytes of `sign`, in small letters, s begins with. */
size_t customer_tag_common(str s, str sign);
/* Whether something may begin with this byte that is no text. */
bool customer_tag_may_begin(char c);
/* Whether the end of the text cut a tag that would hide: "<reas", "</", "<inner_th". */
bool customer_tag_is_cut(str s);

bool customer_tag_name_has(str name, const char *stem); /* in small letters */
/* Whether the content of such a tag is hidden from the customer. */
bool customer_tag_hides(str name);
/* Whether the name speaks of thinking, and not of tools or plans. */
bool customer_tag_thinks(str name);
