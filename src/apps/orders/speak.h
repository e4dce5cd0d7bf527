/* speak.h - what is said to a customer, word by word while the model still speaks.
 *
 *     struct speak s;
 *     speak_init(&s, mask, (struct speak_sink){on_say, ctx});
 *     while (next_piece(&reasoning, &piece))
 *         speak_feed(&s, reasoning, piece);
 *     if (str_starts(reply, speak_said(&s))) ...          the rest of it is still to be said
 *     speak_release(&s);
 *
 * Nothing passes that customer_filter_text would take out of the whole text, so two things wait. A
 * text that begins without a thought may turn out to be one, at the closer that it ends with: it is
 * held until a thought is over, and a reply in which there is none is not said before its end. And
 * after reasoning without tags (customer_label.h) nothing more is said before the end of the reply.
 *
 *   - What is said are whole characters, masked, without white space at the ends.
 *   - Cutting the text elsewhere never changes what is said in all.
 *   - What is not decided by the end of the text is not said: whoever has the whole reply says it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/orders/customer_filter.h"
#include "apps/orders/customer_label.h"
#include "base/buf.h"
#include "mask/mask.h"

#define SPEAK_TEXT_MAX 65536 /* bytes of a reply; nobody listens longer */
#define SPEAK_FILTERS 17     /* the rest of a tag may be a tag; after the last nothing is said */

struct speak;

struct speak_sink {
    /* text is lent for the call, and never empty. */
    void (*on_say)(void *ctx, str text);
    void *ctx;
};

struct speak_filter {
    struct speak *speak;
    size_t at;
    struct customer_filter filter;
};

/* Not to be moved while in use. */
struct speak {
    struct speak_sink sink;
    /* All below is its own. */
    struct speak_filter filters[SPEAK_FILTERS];
    struct customer_guard guard;
    size_t taken; /* bytes of the text */
    bool open;    /* something was thought, and is over or goes on */
    bool begun;   /* something that is no white space has come through */
    struct buf held;
    struct buf space; /* at the end, perhaps */
    struct mask_stream mask;
    bool masks;
    struct buf out, said;
};

void speak_init(struct speak *s, const struct mask *mask, struct speak_sink sink);
void speak_feed(struct speak *s, bool reasoning, str piece);
str speak_said(const struct speak *s);
void speak_release(struct speak *s);
