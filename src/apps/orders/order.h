/* order.h - an order: lines of items, each with its size and the set of its modifiers.
 *
 *     struct order o;
 *     if (!order_read(json, &arena, &o, e)) ...
 *     order_add(&o, &line, &arena);                 merged with the line that is the same
 *     order_write(&out, &o);
 *
 * Two lines are the same if item, size and modifiers are, whatever the order of the modifiers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/orders/menu.h"

#define ORDER_QUANTITY_MAX 100 /* of one add */
#define ORDER_LINE_QUANTITY_MAX 1000
#define ORDER_LINES_MAX 200
#define ORDER_PRICE_MAX 1e9 /* of one piece: no sum of an order overflows */

struct order_line {
    str item_id, name, category, size;
    struct menu_modifier *modifiers; /* by id, ascending; cents are not used */
    size_t modifier_count;
    int64_t quantity;
    int64_t cents; /* of one, modifiers included; or MENU_NO_PRICE */
};

/* Limits of the whole order; 0: no limit. */
struct order_limits {
    int64_t pieces, cents;
};

struct order {
    str id;
    struct order_line *lines; /* room for ORDER_LINES_MAX */
    size_t count;
    bool finalized;
};

void order_init(struct order *o, str id, struct arena *a);
/* The texts are lent from the other order. */
void order_copy(struct order *to, const struct order *from, struct arena *a);
/* The form that order_write writes. ERR_SYSTEM: it is damaged. */
bool order_read(str json, struct arena *a, struct order *out, struct err *e) MUST_USE;
bool order_line_read(const struct json *doc, const struct json_node *v, struct arena *a,
                     struct order_line *out) MUST_USE;
/* False if there are too many lines. The line's texts are lent as long as the order is used. */
bool order_add(struct order *o, const struct order_line *line) MUST_USE;
/* Removes the pieces of the line, and the line with its last piece. False: no such line. */
bool order_remove(struct order *o, const struct order_line *line);
/* Puts `to` in the place of the line that is the same as `from`; merged if there is another line
 * like `to`. False: there is no such line. */
bool order_change(struct order *o, const struct order_line *from, const struct order_line *to);
bool order_same_modifiers(const struct order_line *a, const struct order_line *b);
const struct order_line *order_same(const struct order *o, const struct order_line *line);

/* MENU_NO_PRICE if a price is not known. */
int64_t order_cents(const struct order *o);
/* Lines whose price is not known count as nothing. */
int64_t order_known_cents(const struct order *o);
int64_t order_line_cents(const struct order_line *line);
int64_t order_quantity(const struct order *o);

/* {"order_id", "items", "total", "finalized"}; a customer's own view has no id. */
void order_write(struct json_out *o, const struct order *order, bool id);
void order_line_write(struct json_out *o, const struct order_line *line);
/* "2 x Sea Salt Fries (large; No Salt)" a line each, and the total; "(nothing yet)". */
void order_words(struct buf *out, const struct order *o);
