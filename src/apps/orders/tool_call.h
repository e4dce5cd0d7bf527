/* tool_call.h - one call of an order's tool, for the files of the tools: tools.c has the table and
 * the tools that add, read and finalize, edit.c those that remove and change.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/orders/tools.h"

#define ORDER_WHY_MAX 2000 /* bytes of an error */

struct order_call {
    const struct tools_state *s;
    struct arena arena;
    struct json args;
    struct json_out out; /* the members of the result */
    struct buf why;      /* empty: the call succeeded */
};

/* Sets the error; always false. */
bool order_call_refuse(struct order_call *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ---- arguments; each returns false after order_call_refuse ---- */

/* NULL: the argument is missing or null. */
const struct json_node *order_call_arg(const struct order_call *c, const char *name);
/* Text; a number counts as its digits, since ids may look like one. */
bool order_call_text(struct order_call *c, const char *name, bool needed, str *out);
/* From 1 to max; *out is left alone if the argument is missing. */
bool order_call_quantity(struct order_call *c, int64_t max, int64_t *out);
/* Sets size and cents of the line; a missing argument is `otherwise`. */
bool order_call_size(struct order_call *c, const char *name, const struct menu_item *item,
                     str otherwise, struct order_line *line);
/* Sets the modifiers of the line and adds their prices to its cents. */
bool order_call_modifiers(struct order_call *c, const char *name, const struct menu_item *item,
                          struct order_line *line);
/* By id, ascending, each once; adds its price. */
void order_call_put_modifier(struct order_line *line, const struct menu_modifier *m);
/* The list of modifiers of a new line: room for all that the item can have. A stored line may have
 * more than one call can name. */
void order_call_new_modifiers(struct order_call *c, const struct menu_item *item,
                              struct order_line *line);

/* ---- guards ---- */

/* Whether the order may change at all. */
bool order_call_is_open(struct order_call *c, const char *what);
/* Whether the order has room for the line; `from` is the line that it replaces, or NULL. */
bool order_call_has_room(struct order_call *c, const struct order_line *added,
                         const struct order_line *from);

/* ---- edit.c ---- */

bool order_edit_remove(struct order_call *c);
bool order_edit_change(struct order_call *c);
