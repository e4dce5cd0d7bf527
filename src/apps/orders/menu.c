/* menu.c - see menu.h: the file into rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/menu.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/json_get.h"
#include "base/schema.h"
#include "net/gzip.h"

#define ARENA_MAX ((size_t)64 << 20)
#define ITEMS_MAX 2000
#define CENTS_ERROR 1e-8 /* of the largest price as a double: 0.29 * 100 is not 29 */

enum { MENU_SCHEMA_FILE, MENU_FILE }; /* of orders_files */

bool menu_built_in(struct menu **out, struct err *e)
{
    struct buf text;
    bool ok;

    gzip_unpack_embedded(&orders_files[MENU_FILE], &text);
    ok = menu_parse(buf_str(&text), "the menu", out, e);
    buf_release(&text);
    return ok;
}

struct reading {
    struct menu *m;
    struct json doc;
    const char *path;
    const struct json_node *fraction; /* the first price with fractions of a cent, or NULL */
    bool recorded;
    struct err *e;
};

static bool order_menu_wrong(struct reading *r, size_t item, const char *member, const char *what,
                             str value)
{
    return err_input(r->e,
                     "/items/%zu/%s: %s \"" STR_FMT "\"",
                     item,
                     member,
                     what,
                     STR_ARG(str_slice(value, 0, 80)));
}

/* A text, or a number as written; "" if missing. */
static str order_menu_text_at(struct reading *r, const struct json_node *v, const char *key)
{
    str s = STR("");

    json_get_into(&r->doc, v, key, &r->m->arena, &s);
    return arena_dup(&r->m->arena, s);
}

static int64_t menu_cents_of(struct reading *r, const struct json_node *v, int64_t otherwise)
{
    double price, cents, error;

    if (!v || !json_double(&r->doc, v, &price))
        return otherwise;
    cents = (double)(int64_t)(price * 100 + 0.5);
    error = price * 100 - cents;
    if ((error > CENTS_ERROR || error < -CENTS_ERROR) && !r->fraction)
        r->fraction = v;
    return (int64_t)cents;
}

static struct menu_size order_menu_read_size(struct reading *r, const struct json_node *item,
                                             const struct json_node *v)
{
    struct menu_size s = {STR(""), MENU_NO_PRICE};
    const struct json_node *prices = json_find(&r->doc, item, STR("prices"));

    if (v->kind == JSON_OBJECT)
        s.name = order_menu_text_at(r, v, "name");
    else if (json_text(&r->doc, v, &r->m->arena, &s.name))
        s.name = arena_dup(&r->m->arena, s.name);
    s.cents = menu_cents_of(r, json_find(&r->doc, item, STR("price")), s.cents);
    s.cents = menu_cents_of(r, json_find(&r->doc, prices, s.name), s.cents);
    if (v->kind == JSON_OBJECT)
        s.cents = menu_cents_of(r, json_find(&r->doc, v, STR("price")), s.cents);
    return s;
}

/* An item without sizes has one size. */
static void menu_read_sizes(struct reading *r, const struct json_node *v, struct menu_item *item)
{
    const struct json_node *list = json_find(&r->doc, v, STR("sizes")), *s;
    const struct json_node *price = json_find(&r->doc, v, STR("price"));

    item->sizes = arena_zero(&r->m->arena, json_count(&r->doc, list) + 1, sizeof *item->sizes);
    for (s = json_first(&r->doc, list); s; s = json_next(&r->doc, list, s))
        item->sizes[item->size_count++] = order_menu_read_size(r, v, s);
    if (item->size_count == 0)
        item->sizes[item->size_count++] =
            (struct menu_size){item->default_size.n ? item->default_size : STR("regular"),
                               menu_cents_of(r, price, MENU_NO_PRICE)};
    assert(item->size_count > 0);
}

/* A name alone is its own id. */
static struct menu_modifier menu_read_modifier(struct reading *r, const struct json_node *v)
{
    str name = STR("");

    if (json_text(&r->doc, v, &r->m->arena, &name)) {
        name = arena_dup(&r->m->arena, name);
        return (struct menu_modifier){name, name, 0};
    }
    return (struct menu_modifier){order_menu_text_at(r, v, "modifier_id"),
                                  order_menu_text_at(r, v, "name"),
                                  menu_cents_of(r, json_find(&r->doc, v, STR("price")), 0)};
}

static void order_menu_read_modifiers(struct reading *r, const struct json_node *v,
                                      struct menu_item *item)
{
    const struct json_node *list = json_find(&r->doc, v, STR("available_modifiers")), *m;

    if (!list || list->kind != JSON_ARRAY)
        return;
    item->modifiers =
        arena_zero(&r->m->arena, json_count(&r->doc, list) + 1, sizeof *item->modifiers);
    for (m = json_first(&r->doc, list); m; m = json_next(&r->doc, list, m))
        item->modifiers[item->modifier_count++] = menu_read_modifier(r, m);
}

static bool menu_read_item(struct reading *r, const struct json_node *v)
{
    struct menu *m = r->m;
    size_t at = m->count;
    struct menu_item *item = &m->items[m->count++];

    item->id = order_menu_text_at(r, v, "item_id");
    item->name = str_trim(order_menu_text_at(r, v, "name"));
    item->category = str_trim(order_menu_text_at(r, v, "category_name"));
    item->spoken = menu_spoken(&m->arena, item->name);
    item->default_size = order_menu_text_at(r, v, "default_size");
    menu_read_sizes(r, v, item);
    order_menu_read_modifiers(r, v, item);
    if (item->default_size.n == 0)
        item->default_size = item->sizes[0].name;
    else if (!menu_size(item, item->default_size))
        return order_menu_wrong(r, at, "default_size", "is none of the sizes:", item->default_size);
    if (r->fraction && !r->recorded)
        return err_input(r->e,
                         "/items/%zu: the price " STR_FMT " has fractions of a cent",
                         at,
                         STR_ARG(str_slice(json_raw(&r->doc, r->fraction), 0, 80)));
    if (map_find(&m->by_id, item->id))
        return order_menu_wrong(r, at, "item_id", "is there twice:", item->id);
    return map_set(&m->by_id, item->id, MAP_PTR(item), r->e);
}

static void menu_read_place(struct reading *r)
{
    const struct json_node *place = json_find(&r->doc, json_root(&r->doc), STR("location"));
    static const char *const more[] = {"city", "state", "zip"};
    str all;

    r->m->location = order_menu_text_at(r, place, "name");
    all = order_menu_text_at(r, place, "address");
    for (size_t i = 0; i < COUNT_OF(more); i++) {
        str part = order_menu_text_at(r, place, more[i]);

        if (part.n)
            all = arena_join(&r->m->arena, all, all.n ? STR(", ") : STR(""), part);
    }
    r->m->address = all;
    if (r->m->location.n == 0)
        r->m->location = r->m->name;
}

static bool menu_check_items(struct reading *r)
{
    struct schema *s = schema_new();
    struct buf text;
    bool ok;

    gzip_unpack_embedded(&orders_files[MENU_SCHEMA_FILE], &text);
    ok = schema_compile(s, buf_str(&text), r->e) &&
         schema_check(s, &r->doc, json_root(&r->doc), r->e);
    schema_free(s);
    buf_release(&text);
    return ok;
}

/* Puts the file and the line before an error that begins with the place of a value ("/items/3"). */
static bool menu_place_error(struct reading *r)
{
    str text = str_c(r->e->text);
    const struct json_node *v =
        json_pointer(&r->doc, str_slice(text, 0, str_find(text, STR(": "))));
    size_t line = 1;

    if (!v)
        return err_prefix(r->e, "%s: ", r->path);
    for (size_t i = 0; i < v->at; i++)
        line += r->doc.src.p[i] == '\n';
    return err_prefix(r->e, "%s:%zu: ", r->path, line);
}

static bool menu_read_all(struct reading *r)
{
    const struct json_node *root, *items, *i;
    struct menu *m = r->m;

    if (!json_parse(&r->doc, m->text, r->e))
        return err_prefix(r->e, "%s: ", r->path);
    if (!menu_check_items(r))
        return menu_place_error(r);
    root = json_root(&r->doc);
    m->id = order_menu_text_at(r, root, "menu_id");
    m->name = order_menu_text_at(r, root, "menu_name");
    m->version = order_menu_text_at(r, root, "menu_version");
    m->currency = str_trim(order_menu_text_at(r, root, "currency"));
    if (m->currency.n == 0)
        m->currency = STR("USD");
    menu_read_place(r);
    items = json_find(&r->doc, root, STR("items"));
    m->items = arena_zero(&m->arena, json_count(&r->doc, items) + 1, sizeof *m->items);
    for (i = json_first(&r->doc, items); i; i = json_next(&r->doc, items, i))
        if (!menu_read_item(r, i))
            return menu_place_error(r);
    return true;
}

static bool menu_parse_file(str text, const char *path, bool recorded, struct menu **out,
                            struct err *e)
{
    struct menu *m = base_alloc(sizeof *m);
    struct reading r = {.m = m, .path = path, .recorded = recorded, .e = e};
    uint8_t digest[SHA256_SIZE];
    bool ok;

    memset(m, 0, sizeof *m);
    arena_init(&m->arena, ARENA_MAX);
    map_init(&m->by_id, NULL, ITEMS_MAX);
    json_init(&r.doc);
    if (text.n > MENU_FILE_MAX) {
        ok = err_set(e, ERR_LIMIT, "%s: larger than %zu bytes", path, MENU_FILE_MAX);
    } else {
        m->text = arena_dup(&m->arena, text);
        sha256_of(text, digest);
        (void)sha256_hex(digest, m->sha256);
        ok = menu_read_all(&r);
    }
    json_release(&r.doc);
    assert(!ok || (m->count > 0 && m->count == map_count(&m->by_id)));
    if (ok)
        *out = m;
    else
        menu_free(m);
    return ok;
}

bool menu_parse(str text, const char *path, struct menu **out, struct err *e)
{
    return menu_parse_file(text, path, false, out, e);
}

bool menu_parse_recorded(str text, struct menu **out, struct err *e)
{
    return menu_parse_file(text, "the menu on record", true, out, e);
}

bool menu_load(const char *path, struct menu **out, struct err *e)
{
    struct arena a;
    str text;
    bool ok;

    arena_init(&a, 2 * MENU_FILE_MAX + 65536);
    ok = file_read(&a, path, MENU_FILE_MAX, &text, e) && menu_parse(text, path, out, e);
    arena_release(&a);
    return ok;
}

void menu_free(struct menu *m)
{
    if (!m)
        return;
    map_release(&m->by_id);
    arena_release(&m->arena);
    free(m);
}

/* ---- in parts ---- */

const struct menu_item *menu_find(const struct menu *m, str id)
{
    return map_find_ptr(&m->by_id, id);
}

const struct menu_size *menu_size(const struct menu_item *item, str name)
{
    for (size_t i = 0; i < item->size_count; i++) /* "S" and "S+" are spoken alike */
        if (str_eq(item->sizes[i].name, name))
            return &item->sizes[i];
    for (size_t i = 0; i < item->size_count; i++)
        if (menu_same(item->sizes[i].name, name))
            return &item->sizes[i];
    return NULL;
}

const struct menu_modifier *menu_modifier(const struct menu_item *item, str name_or_id)
{
    for (size_t i = 0; i < item->modifier_count; i++)
        if (str_eq(item->modifiers[i].id, name_or_id))
            return &item->modifiers[i];
    for (size_t i = 0; i < item->modifier_count; i++)
        if (str_eq(item->modifiers[i].name, name_or_id))
            return &item->modifiers[i];
    for (size_t i = 0; i < item->modifier_count; i++)
        if (menu_same(item->modifiers[i].name, name_or_id))
            return &item->modifiers[i];
    return NULL;
}

/* ---- in words ---- */

void menu_price_write(struct json_out *o, int64_t cents)
{
    char text[40];
    int n;

    if (cents < 0) {
        json_out_null(o);
        return;
    }
    n = snprintf(text, sizeof text, "%lld.%02lld", (long long)cents / 100, (long long)cents % 100);
    assert(n > 0 && (size_t)n < sizeof text);
    json_out_raw(o, (str){text, (size_t)n});
}

static void menu_write_modifiers(struct json_out *o, const struct menu_item *item)
{
    json_member_array(o, "available_modifiers");
    for (size_t i = 0; i < item->modifier_count; i++) {
        json_out_object(o);
        json_member_str(o, "modifier_id", item->modifiers[i].id);
        json_member_str(o, "name", item->modifiers[i].name);
        if (item->modifiers[i].cents > 0) {
            json_out_key(o, STR("price"));
            menu_price_write(o, item->modifiers[i].cents);
        }
        json_out_end(o);
    }
    json_out_end(o);
}

void menu_item_write(struct json_out *o, const struct menu_item *item)
{
    assert(item->size_count > 0 && item->default_size.n > 0);
    json_out_object(o);
    json_member_str(o, "item_id", item->id);
    json_member_str(o, "name", item->name);
    json_member_str(o, "category_name", item->category);
    json_member_array(o, "sizes");
    for (size_t i = 0; i < item->size_count; i++)
        json_out_str(o, item->sizes[i].name);
    json_out_end(o);
    json_member_str(o, "default_size", item->default_size);
    json_member_object(o, "prices");
    for (size_t i = 0; i < item->size_count; i++) {
        json_out_key(o, item->sizes[i].name);
        menu_price_write(o, item->sizes[i].cents);
    }
    json_out_end(o);
    menu_write_modifiers(o, item);
    json_out_end(o);
}

void menu_names_write(struct buf *out, const struct menu *m)
{
    for (size_t i = 0; i < m->count; i++) {
        bool first = true;

        for (size_t k = 0; first && k < i; k++)
            first = !str_eq(m->items[k].category, m->items[i].category);
        if (!first)
            continue;
        buf_add(out, out->n ? STR("\n") : STR(""));
        buf_add(out, m->items[i].category);
        buf_add(out, STR(": "));
        for (size_t k = i; k < m->count; k++) {
            if (!str_eq(m->items[k].category, m->items[i].category))
                continue;
            buf_add(out, k > i ? STR(", ") : STR(""));
            buf_add(out, m->items[k].name);
        }
    }
}
