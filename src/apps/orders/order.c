/* order.c - see order.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/order.h"
#include "base/json_get.h"

void order_init(struct order *o, str id, struct arena *a)
{
    *o = (struct order){.id = id, .lines = arena_zero(a, ORDER_LINES_MAX, sizeof *o->lines)};
}

bool order_same_modifiers(const struct order_line *a, const struct order_line *b)
{
    if (a->modifier_count != b->modifier_count)
        return false;
    for (size_t i = 0; i < a->modifier_count; i++)
        if (!str_eq(a->modifiers[i].id, b->modifiers[i].id))
            return false;
    return true;
}

void order_copy(struct order *to, const struct order *from, struct arena *a)
{
    order_init(to, from->id, a);
    assert(from->count <= ORDER_LINES_MAX);
    memcpy(to->lines, from->lines, from->count * sizeof *to->lines);
    to->count = from->count;
    to->finalized = from->finalized;
}

static bool order_same_line(const struct order_line *a, const struct order_line *b)
{
    return str_eq(a->item_id, b->item_id) && str_eq(a->size, b->size) && order_same_modifiers(a, b);
}

static struct order_line *order_order_find(const struct order *o, const struct order_line *line)
{
    assert(o->count <= ORDER_LINES_MAX);
    for (size_t i = 0; i < o->count; i++)
        if (order_same_line(&o->lines[i], line))
            return &o->lines[i];
    return NULL;
}

const struct order_line *order_same(const struct order *o, const struct order_line *line)
{
    return order_order_find(o, line);
}

bool order_add(struct order *o, const struct order_line *line)
{
    struct order_line *there = order_order_find(o, line);

    if (there) {
        there->quantity += line->quantity;
        if (there->quantity > ORDER_LINE_QUANTITY_MAX)
            there->quantity = ORDER_LINE_QUANTITY_MAX;
        return true;
    }
    if (o->count == ORDER_LINES_MAX)
        return false;
    assert(o->count < ORDER_LINES_MAX && line->quantity >= 1);
    o->lines[o->count++] = *line;
    return true;
}

static void order_drop(struct order *o, struct order_line *line)
{
    size_t after = (size_t)(o->lines + o->count - (line + 1));

    assert(line >= o->lines && line < o->lines + o->count);

    memmove(line, line + 1, after * sizeof *line);
    o->count--;
}

bool order_remove(struct order *o, const struct order_line *line)
{
    struct order_line *there = order_order_find(o, line);

    assert(line->quantity >= 1);
    if (!there)
        return false;
    there->quantity -= line->quantity;
    if (there->quantity < 1)
        order_drop(o, there);
    return true;
}

bool order_change(struct order *o, const struct order_line *from, const struct order_line *to)
{
    struct order_line *there = order_order_find(o, from), *other = order_order_find(o, to);

    assert(to->quantity >= 1);
    if (!there)
        return false;
    if (!other || other == there) {
        *there = *to;
        return true;
    }
    order_drop(o, there);
    return order_add(o, to);
}

int64_t order_line_cents(const struct order_line *line)
{
    return line->cents < 0 ? 0 : line->cents * line->quantity;
}

int64_t order_known_cents(const struct order *o)
{
    int64_t sum = 0;

    for (size_t i = 0; i < o->count; i++)
        sum += order_line_cents(&o->lines[i]);
    return sum;
}

int64_t order_cents(const struct order *o)
{
    int64_t sum = 0;

    for (size_t i = 0; i < o->count; i++) {
        if (o->lines[i].cents < 0)
            return MENU_NO_PRICE;
        sum += o->lines[i].cents * o->lines[i].quantity;
    }
    return sum;
}

int64_t order_quantity(const struct order *o)
{
    int64_t n = 0;

    for (size_t i = 0; i < o->count; i++)
        n += o->lines[i].quantity;
    return n;
}

/* ---- in and out ---- */

bool order_line_read(const struct json *doc, const struct json_node *v, struct arena *a,
                     struct order_line *out)
{
    const struct json_node *list = json_find(doc, v, STR("modifiers")), *m;
    double price;

    *out = (struct order_line){.item_id = json_copy_text(doc, v, "item_id", a),
                               .name = json_copy_text(doc, v, "name", a),
                               .category = json_copy_text(doc, v, "category_name", a),
                               .size = json_copy_text(doc, v, "size", a),
                               .cents = MENU_NO_PRICE};
    out->modifiers = arena_zero(a, (list ? json_count(doc, list) : 0) + 1, sizeof *out->modifiers);
    for (m = json_first(doc, list); m; m = json_next(doc, list, m))
        out->modifiers[out->modifier_count++] = (struct menu_modifier){
            json_copy_text(doc, m, "modifier_id", a), json_copy_text(doc, m, "name", a), 0};
    if (json_double(doc, json_find(doc, v, STR("price")), &price)) {
        if (!(price >= 0 && price <= ORDER_PRICE_MAX))
            return false;
        out->cents = (int64_t)(price * 100 + 0.5);
    }
    return out->item_id.n && json_i64(doc, json_find(doc, v, STR("quantity")), &out->quantity) &&
           out->quantity >= 1 && out->quantity <= ORDER_LINE_QUANTITY_MAX;
}

static bool order_order_read_lines(const struct json *doc, const struct json_node *items,
                                   struct arena *a, struct order *out)
{
    JSON_FOREACH(i, doc, items)
        if (out->count == ORDER_LINES_MAX || !order_line_read(doc, i, a, &out->lines[out->count++]))
            return false;
    return true;
}

bool order_read(str json, struct arena *a, struct order *out, struct err *e)
{
    const struct json_node *root;
    struct json doc;
    bool ok;

    order_init(out, STR(""), a);
    ok = json_open(&doc, json, e) && json_root(&doc)->kind == JSON_OBJECT;
    if (ok) {
        root = json_root(&doc);
        out->id = json_copy_text(&doc, root, "order_id", a);
        ok = order_order_read_lines(&doc, json_find(&doc, root, STR("items")), a, out);
        if (!json_bool(json_find(&doc, root, STR("finalized")), &out->finalized))
            out->finalized = false;
    }
    json_release(&doc);
    return ok || err_set(e, ERR_SYSTEM, "the order on record is damaged");
}

void order_line_write(struct json_out *o, const struct order_line *line)
{
    assert(line->quantity >= 1 && line->item_id.n > 0);
    json_out_object(o);
    json_member_str(o, "item_id", line->item_id);
    json_member_str(o, "name", line->name);
    json_member_str(o, "category_name", line->category);
    json_member_str(o, "size", line->size);
    json_member_i64(o, "quantity", line->quantity);
    json_member_array(o, "modifiers");
    for (size_t i = 0; i < line->modifier_count; i++) {
        json_out_object(o);
        json_member_str(o, "modifier_id", line->modifiers[i].id);
        json_member_str(o, "name", line->modifiers[i].name);
        json_out_end(o);
    }
    json_out_end(o);
    json_out_key(o, STR("price"));
    menu_price_write(o, line->cents);
    json_out_end(o);
}

void order_write(struct json_out *o, const struct order *order, bool id)
{
    json_out_object(o);
    if (id) {
        json_member_str(o, "order_id", order->id);
    }
    json_member_array(o, "items");
    for (size_t i = 0; i < order->count; i++)
        order_line_write(o, &order->lines[i]);
    json_out_end(o);
    json_out_key(o, STR("total"));
    menu_price_write(o, order_cents(order));
    json_member_bool(o, "finalized", order->finalized);
    json_out_end(o);
}

static void order_line_words(struct buf *out, const struct order_line *l)
{
    buf_printf(out,
               "%lld x " STR_FMT " (" STR_FMT,
               (long long)l->quantity,
               STR_ARG(l->name),
               STR_ARG(l->size));
    for (size_t i = 0; i < l->modifier_count; i++) {
        buf_add(out, i ? STR(", ") : STR("; "));
        buf_add(out, l->modifiers[i].name);
    }
    buf_add_c(out, ')');
}

void order_words(struct buf *out, const struct order *o)
{
    int64_t cents = order_cents(o);

    if (o->count == 0) {
        buf_add(out, STR("(nothing yet)"));
        return;
    }
    for (size_t i = 0; i < o->count; i++) {
        buf_add(out, i ? STR("\n") : STR(""));
        order_line_words(out, &o->lines[i]);
    }
    if (cents >= 0)
        buf_printf(out, "\ntotal %lld.%02lld", (long long)cents / 100, (long long)cents % 100);
}
