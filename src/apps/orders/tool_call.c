/* tool_call.c - see tool_call.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/tool_call.h"

#include "base/json_get.h"

#define MODIFIERS_MAX 50

bool order_call_refuse(struct order_call *c, const char *fmt, ...)
{
    char text[ORDER_WHY_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    buf_add(&c->why, str_c(text));
    return false;
}

/* ---- arguments ---- */

const struct json_node *order_call_arg(const struct order_call *c, const char *name)
{
    return json_get(&c->args, json_root(&c->args), name);
}

bool order_call_text(struct order_call *c, const char *name, bool needed, str *out)
{
    const struct json_node *v = order_call_arg(c, name);

    *out = STR("");
    if (v && !json_to_text(&c->args, v, &c->arena, out))
        return order_call_refuse(c, "/%s: must be a text", name);
    *out = str_trim(*out);
    return out->n || !needed || order_call_refuse(c, "/%s: is missing", name);
}

bool order_call_quantity(struct order_call *c, int64_t max, int64_t *out)
{
    const struct json_node *v = order_call_arg(c, "quantity");
    int64_t n;

    assert(max >= 1 && *out >= 1);
    if (!v)
        return true;
    if (v->kind != JSON_NUMBER || !json_i64(&c->args, v, &n) || n < 1 || n > max)
        return order_call_refuse(c,
                                 "/quantity: must be a whole number from 1 to %lld, got " STR_FMT,
                                 (long long)max,
                                 STR_ARG(str_slice(json_raw(&c->args, v), 0, 40)));
    *out = n;
    return true;
}

bool order_call_size(struct order_call *c, const char *name, const struct menu_item *item,
                     str otherwise, struct order_line *line)
{
    const struct menu_size *size;
    struct buf all;
    str said;

    assert(item->size_count > 0);
    if (!order_call_text(c, name, false, &said))
        return false;
    size = menu_size(item, said.n ? said : otherwise);
    if (size) {
        line->size = size->name;
        line->cents = size->cents;
        return true;
    }
    buf_init(&all, ORDER_WHY_MAX);
    for (size_t i = 0; i < item->size_count; i++)
        buf_printf(&all, "%s" STR_FMT, i ? ", " : "", STR_ARG(item->sizes[i].name));
    order_call_refuse(c,
                      "/%s: there is no " STR_FMT " in size \"" STR_FMT
                      "\"; its sizes are: " STR_FMT,
                      name,
                      STR_ARG(item->name),
                      STR_ARG(str_slice(said, 0, 40)),
                      STR_ARG(buf_str(&all)));
    buf_release(&all);
    return false;
}

void order_call_put_modifier(struct order_line *line, const struct menu_modifier *m)
{
    size_t at = line->modifier_count;

    for (size_t i = 0; i < line->modifier_count; i++)
        if (str_eq(line->modifiers[i].id, m->id))
            return;
    while (at > 0 && str_cmp(line->modifiers[at - 1].id, m->id) > 0) {
        line->modifiers[at] = line->modifiers[at - 1];
        at--;
    }
    assert(at == 0 || str_cmp(line->modifiers[at - 1].id, m->id) < 0);
    line->modifiers[at] = *m;
    line->modifier_count++;
    if (line->cents >= 0)
        line->cents += m->cents;
}

static bool order_call_no_modifier(struct order_call *c, const struct menu_item *item, str name)
{
    struct buf all;

    buf_init(&all, ORDER_WHY_MAX);
    for (size_t i = 0; i < item->modifier_count; i++)
        buf_printf(&all, "%s" STR_FMT, i ? ", " : "", STR_ARG(item->modifiers[i].name));
    order_call_refuse(c,
                      "/modifiers: \"" STR_FMT "\" cannot be had with " STR_FMT
                      "; what can: " STR_FMT,
                      STR_ARG(str_slice(name, 0, 80)),
                      STR_ARG(item->name),
                      STR_ARG(item->modifier_count ? buf_str(&all) : STR("nothing")));
    buf_release(&all);
    return false;
}

/* A name or an id, or an object that has one. */
static bool order_call_modifier_name(struct order_call *c, const struct json_node *v, str *out)
{
    if (v->kind == JSON_OBJECT && json_find(&c->args, v, STR("modifier_id")))
        v = json_find(&c->args, v, STR("modifier_id"));
    else if (v->kind == JSON_OBJECT)
        v = json_find(&c->args, v, STR("name"));
    return json_text(&c->args, v, &c->arena, out) ||
           order_call_refuse(c, "/modifiers: each must be the name of one");
}

void order_call_new_modifiers(struct order_call *c, const struct menu_item *item,
                              struct order_line *line)
{
    line->modifiers = arena_zero(&c->arena, item->modifier_count + 1, sizeof *line->modifiers);
    line->modifier_count = 0;
}

bool order_call_modifiers(struct order_call *c, const char *name, const struct menu_item *item,
                          struct order_line *line)
{
    const struct json_node *list = order_call_arg(c, name), *v;

    order_call_new_modifiers(c, item, line);
    if (!list)
        return true;
    if (list->kind != JSON_ARRAY)
        return order_call_refuse(c, "/%s: must be a list of names", name);
    for (v = json_first(&c->args, list); v; v = json_next(&c->args, list, v)) {
        const struct menu_modifier *m;
        str said;

        if (!order_call_modifier_name(c, v, &said))
            return false;
        m = menu_modifier(item, said);
        if (!m)
            return order_call_no_modifier(c, item, said);
        if (line->modifier_count == MODIFIERS_MAX)
            return order_call_refuse(c, "/%s: more than %d", name, MODIFIERS_MAX);
        order_call_put_modifier(line, m);
    }
    return true;
}

/* ---- guards ---- */

bool order_call_is_open(struct order_call *c, const char *what)
{
    return !c->s->order->finalized ||
           order_call_refuse(c, "the order was finalized and is closed: nothing can be %s", what);
}

/* The limits of the whole order; a change that makes it smaller is always allowed. */
static bool order_call_within_limits(struct order_call *c, const struct order_line *added,
                                     const struct order_line *from)
{
    const struct order_limits *l = &c->s->limits;
    int64_t pieces = order_quantity(c->s->order), cents = order_known_cents(c->s->order);
    int64_t more = added->quantity - (from ? from->quantity : 0);
    int64_t dearer = order_line_cents(added) - (from ? order_line_cents(from) : 0);

    if (l->pieces && more > 0 && pieces + more > l->pieces)
        return order_call_refuse(c,
                                 "/quantity: an order has at most %lld pieces, and this one has "
                                 "%lld: at most %lld more can be had",
                                 (long long)l->pieces,
                                 (long long)pieces,
                                 (long long)(pieces < l->pieces ? l->pieces - pieces : 0));
    if (l->cents && dearer > 0 && cents + dearer > l->cents)
        return order_call_refuse(c,
                                 "an order costs at most %lld.%02lld, and with this it would cost "
                                 "%lld.%02lld",
                                 (long long)l->cents / 100,
                                 (long long)l->cents % 100,
                                 (long long)(cents + dearer) / 100,
                                 (long long)(cents + dearer) % 100);
    return true;
}

bool order_call_has_room(struct order_call *c, const struct order_line *added,
                         const struct order_line *from)
{
    const struct order_line *there = order_same(c->s->order, added);

    assert(added->quantity >= 1 && added->size.n > 0);
    if (there && there != from && there->quantity + added->quantity > ORDER_LINE_QUANTITY_MAX)
        return order_call_refuse(
            c,
            "/quantity: there are %lld of them in the order already, and at most %d can "
            "be had",
            (long long)there->quantity,
            ORDER_LINE_QUANTITY_MAX);
    if (!there && !from && c->s->order->count >= ORDER_LINES_MAX)
        return order_call_refuse(c, "the order is full: it has %zu lines", c->s->order->count);
    return order_call_within_limits(c, added, from);
}
