/* tools.c - see tools.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/tools.h"

#include <stdarg.h>

#define ARENA_MAX ((size_t)64 << 20)
#define WHY_MAX 2000
#define MODIFIERS_MAX 50

/* ---- what the model is told of them ---- */

#define TEXT(name, about) "\"" name "\":{\"type\":\"string\",\"description\":\"" about "\"}"

/* clang-format off */
static const struct {
    const char *name, *about, *properties, *required;
} told[] = {
    {"lookup_menu_item",
     "Find an item of the menu by its name: id, category, sizes, prices and modifiers. If several "
     "items have the name, all of them; if none has, the nearest names. Always before an item is "
     "added.",
     TEXT("item_name", "The name as the customer says it, without quantity and size."),
     "\"item_name\""},
    {"add_item_to_order",
     "Add an item that was looked up before.",
     TEXT("item_id", "From lookup_menu_item.") ","
     TEXT("item_name", "From lookup_menu_item.") ","
     TEXT("category_name", "From lookup_menu_item.") ","
     "\"quantity\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100,\"default\":1},"
     TEXT("size", "One of the item's sizes; left out: its default.") ","
     "\"modifiers\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
     "\"description\":\"Names of the item's available modifiers.\"}",
     "\"item_id\",\"item_name\",\"category_name\""},
    {"get_current_order", "The order so far. Before it is read back to the customer.", "", ""},
    {"finalize_order",
     "Send the order to the kitchen. Only after get_current_order, and after the customer has "
     "confirmed what was read back.",
     "",
     ""},
};
/* clang-format on */

void tools_write(struct buf *out)
{
    for (size_t i = 0; i < COUNT_OF(told); i++)
        buf_printf(out,
                   "%s{\"type\":\"function\",\"function\":{\"name\":\"%s\",\"description\":\"%s\","
                   "\"parameters\":{\"type\":\"object\",\"properties\":{%s},\"required\":[%s],"
                   "\"additionalProperties\":false}}}",
                   i ? "," : "[",
                   told[i].name,
                   told[i].about,
                   told[i].properties,
                   told[i].required);
    buf_add_c(out, ']');
}

struct call {
    const struct tools_state *s;
    struct arena arena;
    struct json args;
    struct json_out out;
    struct buf *buf;
    struct buf why; /* empty: it went well */
};

static bool order_tools_refuse(struct call *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static bool order_tools_refuse(struct call *c, const char *fmt, ...)
{
    char text[WHY_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    buf_add(&c->why, str_c(text));
    return false;
}

/* ---- arguments ---- */

static const struct json_node *arg(struct call *c, const char *name)
{
    const struct json_node *v = json_find(&c->args, json_root(&c->args), str_c(name));

    return v && v->kind != JSON_NULL ? v : NULL;
}

/* Text; a number counts as its digits, since ids may look like one. */
static bool order_tools_text_arg(struct call *c, const char *name, bool needed, str *out)
{
    const struct json_node *v = arg(c, name);

    *out = STR("");
    if (v && v->kind == JSON_NUMBER)
        *out = json_raw(&c->args, v);
    else if (v && !json_text(&c->args, v, &c->arena, out))
        return order_tools_refuse(c, "/%s: must be a text", name);
    *out = str_trim(*out);
    return out->n || !needed || order_tools_refuse(c, "/%s: is missing", name);
}

static bool quantity_arg(struct call *c, int64_t *out)
{
    const struct json_node *v = arg(c, "quantity");

    *out = 1;
    if (v && (v->kind != JSON_NUMBER || !json_i64(&c->args, v, out)))
        return order_tools_refuse(c,
                                  "/quantity: must be a whole number from 1 to %d, got " STR_FMT,
                                  ORDER_QUANTITY_MAX,
                                  STR_ARG(str_slice(json_raw(&c->args, v), 0, 40)));
    if (*out < 1 || *out > ORDER_QUANTITY_MAX)
        return order_tools_refuse(c,
                                  "/quantity: must be a whole number from 1 to %d, got %lld",
                                  ORDER_QUANTITY_MAX,
                                  (long long)*out);
    return true;
}

static bool size_arg(struct call *c, const struct menu_item *item, struct order_line *line)
{
    const struct menu_size *size;
    struct buf all;
    str name;

    if (!order_tools_text_arg(c, "size", false, &name))
        return false;
    size = menu_size(item, name.n ? name : item->default_size);
    if (size) {
        line->size = size->name;
        line->cents = size->cents;
        return true;
    }
    buf_init(&all, WHY_MAX);
    for (size_t i = 0; i < item->size_count; i++)
        buf_printf(&all, "%s" STR_FMT, i ? ", " : "", STR_ARG(item->sizes[i].name));
    order_tools_refuse(c,
                       "/size: there is no " STR_FMT " in size \"" STR_FMT
                       "\"; its sizes are: " STR_FMT,
                       STR_ARG(item->name),
                       STR_ARG(str_slice(name, 0, 40)),
                       STR_ARG(buf_str(&all)));
    buf_release(&all);
    return false;
}

/* By id, ascending, each once. */
static void put_modifier(struct order_line *line, const struct menu_modifier *m)
{
    size_t at = line->modifier_count;

    for (size_t i = 0; i < line->modifier_count; i++)
        if (str_eq(line->modifiers[i].id, m->id))
            return;
    while (at > 0 && str_cmp(line->modifiers[at - 1].id, m->id) > 0) {
        line->modifiers[at] = line->modifiers[at - 1];
        at--;
    }
    line->modifiers[at] = *m;
    line->modifier_count++;
    if (line->cents >= 0)
        line->cents += m->cents;
}

static bool no_modifier(struct call *c, const struct menu_item *item, str name)
{
    struct buf all;

    buf_init(&all, WHY_MAX);
    for (size_t i = 0; i < item->modifier_count; i++)
        buf_printf(&all, "%s" STR_FMT, i ? ", " : "", STR_ARG(item->modifiers[i].name));
    order_tools_refuse(c,
                       "/modifiers: \"" STR_FMT "\" cannot be had with " STR_FMT
                       "; what can: " STR_FMT,
                       STR_ARG(str_slice(name, 0, 80)),
                       STR_ARG(item->name),
                       STR_ARG(item->modifier_count ? buf_str(&all) : STR("nothing")));
    buf_release(&all);
    return false;
}

/* A name or an id, or an object that has one. */
static bool modifier_name(struct call *c, const struct json_node *v, str *out)
{
    if (v->kind == JSON_OBJECT && json_find(&c->args, v, STR("modifier_id")))
        v = json_find(&c->args, v, STR("modifier_id"));
    else if (v->kind == JSON_OBJECT)
        v = json_find(&c->args, v, STR("name"));
    return json_text(&c->args, v, &c->arena, out) ||
           order_tools_refuse(c, "/modifiers: each must be the name of one");
}

static bool modifiers_arg(struct call *c, const struct menu_item *item, struct order_line *line)
{
    const struct json_node *list = arg(c, "modifiers"), *v;

    line->modifiers = arena_zero(&c->arena, MODIFIERS_MAX + 1, sizeof *line->modifiers);
    if (!list)
        return true;
    if (list->kind != JSON_ARRAY)
        return order_tools_refuse(c, "/modifiers: must be a list of names");
    for (v = json_first(&c->args, list); v; v = json_next(&c->args, list, v)) {
        const struct menu_modifier *m;
        str name;

        if (!modifier_name(c, v, &name))
            return false;
        m = menu_modifier(item, name);
        if (!m)
            return no_modifier(c, item, name);
        if (line->modifier_count == MODIFIERS_MAX)
            return order_tools_refuse(c, "/modifiers: more than %d", MODIFIERS_MAX);
        put_modifier(line, m);
    }
    return true;
}

/* ---- lookup_menu_item ---- */

static void tell_near(struct call *c, str name)
{
    const struct menu_item *near[MENU_SUGGEST_MAX];
    size_t n = menu_suggest(c->s->menu, name, near);

    json_out_key(&c->out, STR("found"));
    json_out_bool(&c->out, false);
    json_out_key(&c->out, STR("suggestions"));
    json_out_array(&c->out);
    for (size_t i = 0; i < n; i++)
        json_out_str(&c->out, near[i]->name);
    json_out_end(&c->out);
}

static bool lookup(struct call *c)
{
    const struct menu_item *found[MENU_NAMED_MAX];
    size_t n;
    str name;

    if (!order_tools_text_arg(c, "item_name", true, &name))
        return false;
    n = menu_named(c->s->menu, name, found, MENU_NAMED_MAX);
    if (n == 0) {
        tell_near(c, name);
        return true;
    }
    json_out_key(&c->out, STR("found"));
    json_out_bool(&c->out, true);
    json_out_key(&c->out, STR("item"));
    menu_item_write(&c->out, found[0]);
    if (n > 1) {
        json_out_key(&c->out, STR("items"));
        json_out_array(&c->out);
        for (size_t i = 0; i < n; i++)
            menu_item_write(&c->out, found[i]);
        json_out_end(&c->out);
        json_out_key(&c->out, STR("note"));
        json_out_str(&c->out, STR("Several items have this name: tell them apart by item_id."));
    }
    return true;
}

/* ---- add_item_to_order ---- */

/* The item that is meant, if it is one and was looked up. */
static bool item_arg(struct call *c, const struct menu_item **out)
{
    str id, name, category;

    if (!order_tools_text_arg(c, "item_id", true, &id) ||
        !order_tools_text_arg(c, "item_name", true, &name) ||
        !order_tools_text_arg(c, "category_name", true, &category))
        return false;
    *out = menu_find(c->s->menu, id);
    if (!*out)
        return order_tools_refuse(c,
                                  "/item_id: nothing on the menu has the id \"" STR_FMT
                                  "\"; look the item up with lookup_menu_item",
                                  STR_ARG(str_slice(id, 0, 80)));
    if (!menu_same((*out)->name, name))
        return order_tools_refuse(c,
                                  "/item_name: the item " STR_FMT " is called \"" STR_FMT
                                  "\", not \"" STR_FMT "\"",
                                  STR_ARG(id),
                                  STR_ARG((*out)->name),
                                  STR_ARG(str_slice(name, 0, 80)));
    if (!menu_same((*out)->category, category))
        return order_tools_refuse(c,
                                  "/category_name: " STR_FMT " is in \"" STR_FMT
                                  "\", not in \"" STR_FMT "\"",
                                  STR_ARG((*out)->name),
                                  STR_ARG((*out)->category),
                                  STR_ARG(str_slice(category, 0, 80)));
    if (!map_find(&c->s->facts->looked, (*out)->id))
        return order_tools_refuse(
            c,
            "/item_id: " STR_FMT
            " was not looked up in this conversation; call lookup_menu_item first and "
            "wait for what it says",
            STR_ARG((*out)->name));
    return true;
}

static bool order_tools_has_room(struct call *c, const struct order_line *line)
{
    const struct order_line *there = order_same(c->s->order, line);

    if (there && there->quantity + line->quantity > ORDER_LINE_QUANTITY_MAX)
        return order_tools_refuse(
            c,
            "/quantity: there are %lld of them in the order already, and at most %d can "
            "be had",
            (long long)there->quantity,
            ORDER_LINE_QUANTITY_MAX);
    if (!there && c->s->order->count + c->s->count > ORDER_LINES_MAX)
        return order_tools_refuse(c, "the order is full: it has %zu lines", c->s->order->count);
    return true;
}

static bool order_tools_add(struct call *c)
{
    const struct menu_item *item;
    struct order_line line = {.quantity = 1};

    if (c->s->order->finalized)
        return order_tools_refuse(c, "the order was finalized and is closed: nothing can be added");
    if (!item_arg(c, &item) || !quantity_arg(c, &line.quantity) || !size_arg(c, item, &line) ||
        !modifiers_arg(c, item, &line))
        return false;
    line.item_id = item->id;
    line.name = item->name;
    line.category = item->category;
    if (!order_tools_has_room(c, &line))
        return false;
    json_out_key(&c->out, STR("added"));
    json_out_bool(&c->out, true);
    json_out_key(&c->out, STR("item"));
    order_line_write(&c->out, &line);
    return true;
}

/* ---- get_current_order, finalize_order ---- */

static bool current(struct call *c)
{
    json_out_key(&c->out, STR("order"));
    order_write(&c->out, c->s->order, false);
    return true;
}

static bool finalize(struct call *c)
{
    const struct facts *f = c->s->facts;

    if (c->s->order->finalized)
        return order_tools_refuse(c, "the order was finalized already");
    for (size_t i = 0; i < c->s->count; i++)
        if (str_eq(c->s->batch[i].name, STR("add_item_to_order")))
            return order_tools_refuse(
                c,
                "an order cannot be finalized in the same step as something is added to "
                "it: read it back with get_current_order first, and let the customer "
                "confirm");
    if (c->s->order->count == 0)
        return order_tools_refuse(c, "the order is empty: there is nothing to finalize");
    if (!f->told || f->added >= f->told)
        return order_tools_refuse(
            c,
            "the order as it is now was not read back: call get_current_order, tell the "
            "customer what it says and wait until they confirm");
    if (!f->answered)
        return order_tools_refuse(
            c,
            "the customer has not confirmed: tell them the order and wait for their "
            "next turn");
    json_out_key(&c->out, STR("finalized"));
    json_out_bool(&c->out, true);
    json_out_key(&c->out, STR("total"));
    menu_price_write(&c->out, order_cents(c->s->order));
    return true;
}

/* ---- the table ---- */

static const struct {
    const char *name;
    bool (*run)(struct call *c);
} table[] = {
    {"lookup_menu_item", lookup},
    {"add_item_to_order", order_tools_add},
    {"get_current_order", current},
    {"finalize_order", finalize},
};

static bool order_tools_run(struct call *c, const struct tools_call *call)
{
    struct err e;
    str arguments = str_trim(call->arguments).n ? call->arguments : STR("{}");

    if (call - c->s->batch >= TOOLS_CALLS_MAX)
        return order_tools_refuse(c, "too many calls in one step: not run");
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (!str_eq(call->name, str_c(table[i].name)))
            continue;
        if (!json_parse(&c->args, arguments, &e))
            return order_tools_refuse(c, "the arguments are no JSON: %s", e.text);
        if (json_root(&c->args)->kind != JSON_OBJECT)
            return order_tools_refuse(c, "the arguments must be one JSON object");
        return table[i].run(c);
    }
    return order_tools_refuse(
        c,
        "there is no tool \"" STR_FMT
        "\"; there are: lookup_menu_item, add_item_to_order, get_current_order, "
        "finalize_order",
        STR_ARG(str_slice(call->name, 0, 80)));
}

bool tools_run(const struct tools_state *s, const struct tools_call *call, struct buf *out)
{
    struct call c = {.s = s, .buf = out};
    size_t before = out->n;
    bool ok;

    arena_init(&c.arena, ARENA_MAX);
    json_init(&c.args);
    buf_init(&c.why, 2 * WHY_MAX);
    json_out_init(&c.out, out);
    json_out_object(&c.out);
    ok = call->arguments.n <= ARENA_MAX / 8 ? order_tools_run(&c, call)
                                            : order_tools_refuse(&c, "the arguments are too long");
    json_out_end(&c.out);
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
