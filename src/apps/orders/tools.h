/* tools.h - what the model may do: look an item up, add it, read the order, finalize it.
 *
 *     struct tools_state s = {menu, &order, &facts, batch, n};
 *     tools_run(&s, name, arguments, &out);              JSON, an "error" among its members or not
 *
 * Tools are pure: they look at the state they are given, which is that before their batch, and say
 * what should be; only update_order (graph.c) changes the order, by what they said. Whatever a
 * model writes as arguments, the worst that comes is {"error": ...}, in words it can act on.
 *
 * The guards are here:
 *   - what is added was looked up in this conversation before, and is what it is called;
 *   - size, quantity and modifiers are the item's;
 *   - what is finalized is not empty, and a customer's turn came after get_current_order had told
 *     it, with nothing added since, nor in the same batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/orders/order.h"
#include "base/map.h"

#define TOOLS_CALLS_MAX 64 /* of one batch; the rest is refused */

struct tools_call {
    str id, name, arguments;
};

/* What a conversation has come to: from its messages, the assistant's last one included. */
struct facts {
    struct map looked; /* ids of items that were looked up, and in which batch first */
    size_t batch;      /* tool batches so far */
    size_t told;       /* in which get_current_order first told what there was since `added` */
    size_t added;      /* the last one in which something was added; 0: none, as above */
    bool answered;     /* a customer's turn came behind `told` */
    bool finalized;    /* in the last batch */
    size_t asked;      /* how often the model was asked since the customer's last turn */
    size_t messages;
};

/* False: the messages are damaged. */
bool facts_read(struct facts *f, const struct json *messages, struct arena *a,
                struct err *e) MUST_USE;
void facts_release(struct facts *f);

struct tools_state {
    const struct menu *menu;
    const struct order *order;
    const struct facts *facts;
    const struct tools_call *batch; /* all calls of the batch */
    size_t count;
};

/* False: the result says why not. */
bool tools_run(const struct tools_state *s, const struct tools_call *call, struct buf *out);

/* The "tools" of Chat Completions. */
void tools_write(struct buf *out);
