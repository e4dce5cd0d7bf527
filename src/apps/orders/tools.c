/* tools.c - see tools.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/tool_call.h"

#define ARENA_MAX ((size_t)64 << 20)
#define SCHEMA_MAX 65536

/* ---- lookup_menu_item ---- */

static void order_tools_put_near(struct order_call *c, str name)
{
    const struct menu_item *near[MENU_SUGGEST_MAX];
    size_t n = menu_suggest(c->s->menu, name, near);

    json_member_bool(&c->out, "found", false);
    json_member_array(&c->out, "suggestions");
    for (size_t i = 0; i < n; i++)
        json_out_str(&c->out, near[i]->name);
    json_out_end(&c->out);
}

static bool order_tools_lookup(struct order_call *c)
{
    const struct menu_item *found[MENU_NAMED_MAX];
    size_t n;
    str name;

    if (!order_call_text(c, "item_name", true, &name))
        return false;
    n = menu_named(c->s->menu, name, found, MENU_NAMED_MAX);
    if (n == 0) {
        order_tools_put_near(c, name);
        return true;
    }
    json_member_bool(&c->out, "found", true);
    json_out_key(&c->out, STR("item"));
    menu_item_write(&c->out, found[0]);
    if (n > 1) {
        json_member_array(&c->out, "items");
        for (size_t i = 0; i < n; i++)
            menu_item_write(&c->out, found[i]);
        json_out_end(&c->out);
        json_member_str(
            &c->out, "note", STR("Several items have this name: tell them apart by item_id."));
    }
    return true;
}

/* ---- add_item_to_order ---- */

/* The item of the arguments, if it exists and was looked up before. */
static bool tools_item_arg(struct order_call *c, const struct menu_item **out)
{
    str id, name, category;

    if (!order_call_text(c, "item_id", true, &id) ||
        !order_call_text(c, "item_name", true, &name) ||
        !order_call_text(c, "category_name", true, &category))
        return false;
    *out = menu_find(c->s->menu, id);
    if (!*out)
        return order_call_refuse(c,
                                 "/item_id: nothing on the menu has the id \"" STR_FMT
                                 "\"; look the item up with lookup_menu_item",
                                 STR_ARG(str_slice(id, 0, 80)));
    if (!menu_same((*out)->name, name))
        return order_call_refuse(c,
                                 "/item_name: the item " STR_FMT " is called \"" STR_FMT
                                 "\", not \"" STR_FMT "\"",
                                 STR_ARG(id),
                                 STR_ARG((*out)->name),
                                 STR_ARG(str_slice(name, 0, 80)));
    if (!menu_same((*out)->category, category))
        return order_call_refuse(c,
                                 "/category_name: " STR_FMT " is in \"" STR_FMT
                                 "\", not in \"" STR_FMT "\"",
                                 STR_ARG((*out)->name),
                                 STR_ARG((*out)->category),
                                 STR_ARG(str_slice(category, 0, 80)));
    if (!map_find(&c->s->facts->looked, (*out)->id))
        return order_call_refuse(
            c,
            "/item_id: " STR_FMT
            " was not looked up in this conversation; call lookup_menu_item first and "
            "wait for what it says",
            STR_ARG((*out)->name));
    return true;
}

static bool order_tools_add(struct order_call *c)
{
    const struct menu_item *item;
    struct order_line line = {.quantity = 1};

    if (!order_call_is_open(c, "added") || !tools_item_arg(c, &item) ||
        !order_call_quantity(c, ORDER_QUANTITY_MAX, &line.quantity) ||
        !order_call_size(c, "size", item, item->default_size, &line) ||
        !order_call_modifiers(c, "modifiers", item, &line))
        return false;
    line.item_id = item->id;
    line.name = item->name;
    line.category = item->category;
    if (!order_call_has_room(c, &line, NULL))
        return false;
    json_member_bool(&c->out, "added", true);
    json_out_key(&c->out, STR("item"));
    order_line_write(&c->out, &line);
    return true;
}

/* ---- get_current_order, finalize_order ---- */

static bool order_tools_current(struct order_call *c)
{
    json_out_key(&c->out, STR("order"));
    order_write(&c->out, c->s->order, false);
    return true;
}

static bool order_tools_finalize(struct order_call *c)
{
    const struct facts *f = c->s->facts;
    const struct order_limits *l = &c->s->limits;

    if (c->s->order->finalized)
        return order_call_refuse(c, "the order was finalized already");
    for (size_t i = 0; i < c->s->count; i++)
        if (tools_changes_order(c->s->batch[i].name))
            return order_call_refuse(
                c,
                "an order cannot be finalized in the same step as something is added to it, "
                "changed or removed: read it back with get_current_order first, and let the "
                "customer confirm");
    if (c->s->order->count == 0)
        return order_call_refuse(c, "the order is empty: there is nothing to finalize");
    if (!f->reported || f->changed >= f->reported)
        return order_call_refuse(
            c,
            "the order as it is now was not read back: call get_current_order, tell the "
            "customer what it says and wait until they confirm");
    if (!f->answered)
        return order_call_refuse(
            c,
            "the customer has not confirmed: tell them the order and wait for their "
            "next turn");
    if ((l->pieces && order_quantity(c->s->order) > l->pieces) ||
        (l->cents && order_known_cents(c->s->order) > l->cents))
        return order_call_refuse(
            c, "the order is larger than orders may be now: something must be removed first");
    json_member_bool(&c->out, "finalized", true);
    json_out_key(&c->out, STR("total"));
    menu_price_write(&c->out, order_cents(c->s->order));
    return true;
}

/* ---- the table ---- */

/* clang-format off */
#define TEXT(name, about) "\"" name "\":{\"type\":\"string\",\"description\":\"" about "\"}"
#define NAMES(name, about) \
    "\"" name "\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}," \
    "\"description\":\"" about "\"}"
/* Which line of the order is meant. */
#define LINE \
    TEXT("item_id", "From get_current_order or lookup_menu_item.") "," \
    TEXT("size", "The line's size; needed if the order has the item in several sizes.") "," \
    NAMES("modifiers", "The line's modifiers; needed if lines differ only in these.") ","

static const struct {
    const char *name, *about, *properties, *required;
    bool (*run)(struct order_call *c);
    bool changes; /* the order, if it succeeds */
} table[] = {
    {"lookup_menu_item",
     "Find an item of the menu by its name: id, category, sizes, prices and modifiers. If several "
     "items have the name, all of them; if none has, the nearest names. Always before an item is "
     "added.",
     TEXT("item_name", "The name as the customer says it, without quantity and size."),
     "\"item_name\"", order_tools_lookup, false},
    {"add_item_to_order",
     "Add an item that was looked up before.",
     TEXT("item_id", "From lookup_menu_item.") ","
     TEXT("item_name", "From lookup_menu_item.") ","
     TEXT("category_name", "From lookup_menu_item.") ","
     "\"quantity\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100,\"default\":1},"
     TEXT("size", "One of the item's sizes; left out: its default.") ","
     NAMES("modifiers", "Names of the item's available modifiers."),
     "\"item_id\",\"item_name\",\"category_name\"", order_tools_add, true},
    {"remove_item",
     "Remove a line of the order, or some pieces of it.",
     LINE
     "\"quantity\":{\"type\":\"integer\",\"minimum\":1,"
     "\"description\":\"How many pieces to remove; left out: all of the line.\"}",
     "\"item_id\"", order_edit_remove, true},
    {"change_item",
     "Change a line of the order: its quantity, its size or its modifiers. To change only some "
     "pieces of a line, remove these and add new ones.",
     LINE
     "\"quantity\":{\"type\":\"integer\",\"minimum\":1,"
     "\"description\":\"The new quantity of the line.\"},"
     TEXT("new_size", "The new size, one of the item's.") ","
     NAMES("new_modifiers", "All modifiers that the line has from now on; an empty list: none."),
     "\"item_id\"", order_edit_change, true},
    {"get_current_order", "The order so far. Before it is read back to the customer.", "", "",
     order_tools_current, false},
    {"finalize_order",
     "Send the order to the kitchen. Only after get_current_order, and after the customer has "
     "confirmed what was read back.",
     "", "", order_tools_finalize, false},
};
/* clang-format on */

bool tools_changes_order(str name)
{
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (str_eq(name, str_c(table[i].name)))
            return table[i].changes;
    return false;
}

static bool order_tools_run(struct order_call *c, const struct ask_call *call)
{
    struct err e;

    if (call->arguments.n > ARENA_MAX / 8)
        return order_call_refuse(c, "the arguments are too long");
    if (!json_parse(&c->args, call->arguments, &e))
        return order_call_refuse(c, "the arguments are not JSON: %s", e.text);
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (str_eq(call->name, str_c(table[i].name)))
            return table[i].run(c);
    return order_call_refuse(c, "there is no tool \"" STR_FMT "\"", STR_ARG(call->name));
}

bool tools_run(const struct tools_state *s, const struct ask_call *call, struct buf *out)
{
    struct order_call c = {.s = s};
    size_t before = out->n;
    bool ok;

    arena_init(&c.arena, ARENA_MAX);
    json_init(&c.args);
    buf_init(&c.why, 2 * ORDER_WHY_MAX);
    json_out_init_object(&c.out, out);
    ok = order_tools_run(&c, call);
    json_out_end(&c.out);
    assert(ok || c.why.n > 0);
    if (!ok) {
        out->n = before;
        buf_add(out, STR("{\"error\":"));
        (void)json_quote(out, buf_str(&c.why));
        buf_add_c(out, '}');
    }
    buf_release(&c.why);
    json_release(&c.args);
    arena_release(&c.arena);
    return ok;
}

static bool order_tools_says(const struct json *result, const char *member)
{
    bool yes;

    return json_bool(json_find(result, json_root(result), str_c(member)), &yes) && yes;
}

static bool order_tools_line(const struct json *result, const char *member, struct arena *a,
                             struct order_line *out)
{
    return order_line_read(result, json_find(result, json_root(result), str_c(member)), a, out);
}

bool tools_apply(struct order *order, str name, str result, struct arena *a)
{
    struct order_line item, from;
    struct json doc;
    bool changed = false;
    struct err e;

    if (json_open(&doc, result, &e)) {
        if (str_eq(name, STR("finalize_order")) && order_tools_says(&doc, "finalized"))
            changed = order->finalized = true;
        else if (!order_tools_line(&doc, "item", a, &item))
            changed = false;
        else if (str_eq(name, STR("add_item_to_order")) && order_tools_says(&doc, "added"))
            changed = order_add(order, &item);
        else if (str_eq(name, STR("remove_item")) && order_tools_says(&doc, "removed"))
            changed = order_remove(order, &item);
        else if (str_eq(name, STR("change_item")) && order_tools_says(&doc, "changed") &&
                 order_tools_line(&doc, "from", a, &from))
            changed = order_change(order, &from, &item);
    }
    json_release(&doc);
    return changed;
}

static bool order_tools_on_call(void *ctx, const struct tool_call *call, struct buf *out,
                                struct err *e)
{
    const struct tools_state *s = ctx;
    struct ask_call asked = {call->id, call->name, call->arguments};

    (void)e;
    *call->reported = !tools_run(s, &asked, out);
    assert(out->n >= 2); /* an object, also of an error */
    (void)tools_apply(s->order, call->name, buf_str(out), s->arena);
    return true;
}

bool tools_add(struct toolbox *b, struct tools_state *s, struct err *e)
{
    struct buf schema;
    bool ok = true;

    buf_init(&schema, SCHEMA_MAX);
    for (size_t i = 0; ok && i < COUNT_OF(table); i++) {
        struct tool t = {.name = str_c(table[i].name),
                         .description = str_c(table[i].about),
                         .accepts = STR("{\"type\":\"object\"}"), /* the tool itself checks them */
                         .flags = TOOL_PURE,
                         .run = order_tools_on_call,
                         .ctx = s};

        buf_reset(&schema);
        buf_printf(&schema,
                   "{\"type\":\"object\",\"properties\":{%s},\"required\":[%s],"
                   "\"additionalProperties\":false}",
                   table[i].properties,
                   table[i].required);
        t.schema = buf_str(&schema);
        ok = toolbox_add(b, &t, e);
    }
    buf_release(&schema);
    return ok;
}
