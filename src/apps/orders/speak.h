/* speak.h - streams a reply to a customer while the model writes it.
 *
 *     struct speak s;
 *     speak_init(&s, mask, (struct speak_sink){on_say, ctx});
 *     while (next_piece(&reasoning, &piece))
 *         speak_feed(&s, reasoning, piece);
 *     speak_release(&s);
 *
 * Nothing passes that customer_filter_text would remove from the whole text, so two kinds of text
 * wait. A text without an opening tag may be reasoning if a closing tag ends it: the stage buffers
 * it until a thought has ended, so a reply without any thought is sent at its end. After reasoning
 * without tags (customer_label.h) nothing is sent before the end of the reply.
 *
 *   - The output is whole characters, masked, without white space at the ends.
 *   - Cutting the text elsewhere never changes the joined output.
 *   - Text that is undecided at the end is not sent: the caller has the whole reply and sends it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/orders/customer_filter.h"
#include "apps/orders/customer_label.h"
#include "mask/mask.h"

#define SPEAK_TEXT_MAX 65536 /* bytes of a reply that are streamed */
#define SPEAK_FILTERS 17 /* the rest of a tag may be a tag; after the last pass nothing is sent */

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
    /* private */
    struct speak_filter filters[SPEAK_FILTERS];
    struct customer_guard guard;
    size_t taken; /* bytes of the text */
    bool open;    /* there was reasoning, ended or not */
    bool started; /* text other than white space was sent */
    struct buf held;
    struct buf space; /* at the end, perhaps */
    struct mask_stream mask;
    bool masks;
    struct buf out;
};

void speak_init(struct speak *s, const struct mask *mask, struct speak_sink sink);
void speak_feed(struct speak *s, bool reasoning, str piece);
void speak_release(struct speak *s);
