/* edit.c - remove_item and change_item.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/tool_call.h"

/* The line that the arguments describe, and how many lines of the order match it. */
struct wanted_line {
    str item_id;
    bool any_size, any_modifiers;
    struct order_line like;
    const struct order_line *found;
    size_t count;
};

static void order_edit_find(const struct order *o, struct wanted_line *w)
{
    for (size_t i = 0; i < o->count; i++) {
        const struct order_line *l = &o->lines[i];

        if (str_eq(l->item_id, w->item_id) && (w->any_size || str_eq(l->size, w->like.size)) &&
            (w->any_modifiers || order_same_modifiers(l, &w->like))) {
            w->found = l;
            w->count++;
        }
    }
}

static bool order_edit_refuse_line(struct order_call *c, const char *why)
{
    struct buf all;

    buf_init(&all, ORDER_WHY_MAX);
    order_words(&all, c->s->order);
    order_call_refuse(c, "/item_id: %s. The order is:\n" STR_FMT, why, STR_ARG(buf_str(&all)));
    buf_release(&all);
    return false;
}

/* The line of the order that the arguments name, and its item. */
static bool order_edit_line(struct order_call *c, const struct order_line **line,
                            const struct menu_item **item)
{
    struct wanted_line w = {.any_size = !order_call_arg(c, "size"),
                            .any_modifiers = !order_call_arg(c, "modifiers")};

    if (!order_call_text(c, "item_id", true, &w.item_id))
        return false;
    *item = menu_find(c->s->menu, w.item_id);
    if (!*item)
        return order_edit_refuse_line(c, "nothing on the menu has this id");
    if (!order_call_size(c, "size", *item, (*item)->default_size, &w.like) ||
        !order_call_modifiers(c, "modifiers", *item, &w.like))
        return false;
    order_edit_find(c->s->order, &w);
    if (w.count == 0)
        return order_edit_refuse_line(c, "the order does not have this line");
    if (w.count > 1)
        return order_edit_refuse_line(
            c, "the order has several lines of the item: say which by size and modifiers");
    assert(w.found && w.count == 1);
    *line = w.found;
    return true;
}

bool order_edit_remove(struct order_call *c)
{
    const struct menu_item *item;
    const struct order_line *there;
    struct order_line removed;

    if (!order_call_is_open(c, "removed") || !order_edit_line(c, &there, &item))
        return false;
    removed = *there;
    if (!order_call_quantity(c, there->quantity, &removed.quantity))
        return false;
    assert(removed.quantity >= 1 && removed.quantity <= there->quantity);
    json_member_bool(&c->out, "removed", true);
    json_out_key(&c->out, STR("item"));
    order_line_write(&c->out, &removed);
    json_member_i64(&c->out, "left", there->quantity - removed.quantity);
    return true;
}

/* The modifiers of the arguments, or those the line has. */
static bool order_edit_new_modifiers(struct order_call *c, const struct menu_item *item,
                                     const struct order_line *from, struct order_line *to)
{
    if (order_call_arg(c, "new_modifiers"))
        return order_call_modifiers(c, "new_modifiers", item, to);
    order_call_new_modifiers(c, item, to);
    for (size_t i = 0; i < from->modifier_count; i++) {
        const struct menu_modifier *m = menu_modifier(item, from->modifiers[i].id);

        if (m)
            order_call_put_modifier(to, m);
    }
    return true;
}

bool order_edit_change(struct order_call *c)
{
    const struct menu_item *item;
    const struct order_line *from;
    struct order_line to;

    if (!order_call_is_open(c, "changed") || !order_edit_line(c, &from, &item))
        return false;
    if (!order_call_arg(c, "quantity") && !order_call_arg(c, "new_size") &&
        !order_call_arg(c, "new_modifiers"))
        return order_call_refuse(
            c, "nothing is to be changed: give quantity, new_size or new_modifiers");
    to = *from;
    if (!order_call_quantity(c, ORDER_LINE_QUANTITY_MAX, &to.quantity) ||
        !order_call_size(c, "new_size", item, from->size, &to) ||
        !order_edit_new_modifiers(c, item, from, &to) || !order_call_has_room(c, &to, from))
        return false;
    json_member_bool(&c->out, "changed", true);
    json_out_key(&c->out, STR("from"));
    order_line_write(&c->out, from);
    json_out_key(&c->out, STR("item"));
    order_line_write(&c->out, &to);
    return true;
}
