/* extract.c - see extract.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/extract.h"

#include "split/extract.h"

#define PASSES 2 /* a block of one format may follow a block of another */

void agent_extract_reply(struct ask_reply *reply, struct arena *a)
{
    struct split_extract x;

    for (int pass = 0; pass < PASSES; pass++) {
        split_extract(reply->text, a, &x);
        if (!x.has_reasoning)
            return;
        if (x.raw_reasoning.n && reply->reasoning.n)
            reply->reasoning = arena_join(a, reply->reasoning, STR("\n"), x.raw_reasoning);
        else if (x.raw_reasoning.n)
            reply->reasoning = x.raw_reasoning;
        reply->text = x.final_response;
    }
}
