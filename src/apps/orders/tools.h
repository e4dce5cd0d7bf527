/* tools.h - the tools of an order: look an item up, add, remove and change it, read the order,
 * finalize it.
 *
 *     struct tools_state s = {menu, &order, &facts, batch, n, limits, &arena};
 *     if (!tools_add(box, &s, e)) ...         the agent's loop makes the calls
 *     tools_apply(&order, name, result, &arena);
 *
 * A tool reads the state and returns the change; tools_apply makes the change. The calls of a batch
 * run in order, and each sees the order with the changes of the calls before it. Whatever a model
 * writes as arguments, the worst result is {"error": ...}, in words that the model can act on.
 *
 * The guards are here:
 *   - an added item was looked up before in this conversation, and its name is the menu's;
 *   - size, quantity and modifiers are allowed for the item;
 *   - only lines of the order are removed or changed;
 *   - the order stays within its limits of pieces and price;
 *   - a finalized order is not empty, and a customer's turn came after get_current_order had
 *     reported it, with no change since or in the same batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/tool.h"
#include "apps/orders/order.h"
#include "gateway/ask.h"

/* The state of a conversation: from its messages, the assistant's last one included. */
struct facts {
    struct map looked; /* ids of items that were looked up, and in which batch first */
    size_t batch;      /* tool batches so far */
    size_t reported;   /* in which get_current_order first reported the order since `changed` */
    size_t changed;    /* the last one that changed the order; 0: none */
    bool answered;     /* a customer's turn came after `reported` */
    bool finalized;    /* in the last batch */
    size_t asked;      /* model calls since the customer's last turn */
    size_t messages;
};

/* False: the messages are damaged. */
bool facts_read(struct facts *f, const struct json *messages, struct arena *a,
                struct err *e) MUST_USE;
void facts_release(struct facts *f);

struct tools_state {
    const struct menu *menu;
    struct order *order; /* with the changes of the batch so far */
    const struct facts *facts;
    const struct ask_call *batch; /* all calls of the batch */
    size_t count;
    struct order_limits limits;
    struct arena *arena; /* of the order's texts */
};

/* Adds the tools to the box. The state is lent as long as the box is used, and the caller sets it
 * before each batch. A call changes the order of the state. */
bool tools_add(struct toolbox *b, struct tools_state *s, struct err *e) MUST_USE;
/* Makes one tool call, whose arguments are a JSON object; changes nothing. False: the result is
 * {"error": ...} with the reason. */
bool tools_run(const struct tools_state *s, const struct ask_call *call, struct buf *out);

/* Changes the order by the result of a tool. False: the result changes nothing. */
bool tools_apply(struct order *order, str name, str result, struct arena *a);
/* Whether a tool of this name changes the lines of an order. */
bool tools_changes_order(str name);
