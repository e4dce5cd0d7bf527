/* menu.h - the menu: a JSON file, checked by its schema and read into rows.
 *
 *     struct menu *m;
 *     if (!menu_load("menu.json", &m, e)) ...              e: file, path in it, error
 *     item = menu_find(m, STR("bf-01"));
 *     n = menu_named(m, STR("harbor burgers"), found, MENU_NAMED_MAX);
 *     n = menu_suggest(m, STR("burger"), found);
 *     menu_free(m);
 *
 * Names are compared as people say them: case, punctuation, accents and plurals make no difference,
 * nor does an article before them. Two items may share a name, not an id.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "base/sha256.h"

#define MENU_FILE_MAX ((size_t)4 << 20)
#define MENU_NAMED_MAX 16   /* items of one name that are returned */
#define MENU_SUGGEST_MAX 3  /* names that are near */
#define MENU_SPOKEN_MAX 200 /* bytes of a name that are looked at */
#define MENU_NO_PRICE (-1)

struct menu_size {
    str name;
    int64_t cents; /* or MENU_NO_PRICE */
};

struct menu_modifier {
    str id, name;
    int64_t cents; /* on top; 0: none */
};

struct menu_item {
    str id, name, category;
    str default_size;
    struct menu_size *sizes; /* at least one */
    size_t size_count;
    struct menu_modifier *modifiers;
    size_t modifier_count;
    str spoken; /* its name, as names are compared */
};

struct menu {
    str id, name, version;
    str currency;          /* of all prices; "USD" if the file has none */
    str location, address; /* of the place */
    struct menu_item *items;
    size_t count;
    struct map by_id;
    str text;                     /* as read from the file */
    char sha256[SHA256_HEX_SIZE]; /* of the text */
    struct arena arena;
};

bool menu_load(const char *path, struct menu **out, struct err *e) MUST_USE;
/* The same from text; `path` is for messages. */
bool menu_parse(str text, const char *path, struct menu **out, struct err *e) MUST_USE;
/* The menu of a conversation that began earlier: prices are rounded to cents, not refused. */
bool menu_parse_recorded(str text, struct menu **out, struct err *e) MUST_USE;
void menu_free(struct menu *m); /* NULL: nothing */

const struct menu_item *menu_find(const struct menu *m, str id);
/* All of that name, at most `max`. */
size_t menu_named(const struct menu *m, str name, const struct menu_item **out, size_t max);
/* The nearest, best first. */
size_t menu_suggest(const struct menu *m, str name, const struct menu_item *out[MENU_SUGGEST_MAX]);

const struct menu_size *menu_size(const struct menu_item *item, str name); /* or NULL */
const struct menu_modifier *menu_modifier(const struct menu_item *item, str name_or_id);

/* A name as names are compared, in the arena. */
str menu_spoken(struct arena *a, str name);
bool menu_same(str a, str b);

/* The item as tools return it. */
void menu_item_write(struct json_out *o, const struct menu_item *item);
void menu_price_write(struct json_out *o, int64_t cents);
/* The names by category, one line each, for the prompt. */
void menu_names_write(struct buf *out, const struct menu *m);

/* The built-in menu, used if none is configured: example/orders/menu.json. */
bool menu_built_in(struct menu **out, struct err *e) MUST_USE;
