/* extract.c - see extract.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/extract.h"

#include "split/extract.h"

#define PASSES 2 /* a block of tags may follow a block of another format */

static void extract_take(struct ask_reply *reply, const struct split_extract *x, struct arena *a)
{
    str reasoning = x->raw_reasoning;

    if (reply->reasoning.n && reasoning.n)
        reply->reasoning = arena_join(a, reply->reasoning, STR("\n"), reasoning);
    else if (reasoning.n)
        reply->reasoning = arena_dup(a, reasoning);
    reply->text = arena_dup(a, x->final_response);
}

void agent_extract_reply(struct ask_reply *reply, struct arena *a)
{
    struct split_extract x;

    for (int pass = 0; pass < PASSES; pass++) {
        split_extract(reply->text, a, &x);
        if (!x.has_reasoning)
            return;
        extract_take(reply, &x, a);
    }
}
