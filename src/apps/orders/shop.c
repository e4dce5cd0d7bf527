/* shop.c - the current menu and model, until the configuration is reloaded.
 *
 * A turn keeps those it started with.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/orders_state.h"

#define SHOP_ARENA_MAX 65536

static bool shop_open_menu(struct orders_shop *s, str path, struct err *e)
{
    return path.n ? menu_load(arena_dup(&s->arena, path).p, &s->menu, e)
                  : menu_built_in(&s->menu, e);
}

bool shop_new(const struct orders *o, const struct config *c, struct orders_shop **out,
              struct err *e)
{
    struct orders_shop *s = base_alloc(sizeof *s);
    str model;

    *s = (struct orders_shop){.menu = NULL};
    atomic_init(&s->refs, 1);
    arena_init(&s->arena, SHOP_ARENA_MAX);
    if (!app_model(c, o->chosen_model.n ? o->chosen_model : c->orders.model, &model, e) ||
        !shop_open_menu(s, o->chosen_menu.n ? o->chosen_menu : c->orders.menu, e)) {
        shop_release(s);
        return false;
    }
    s->model = arena_dup(&s->arena, model);
    s->limits = (struct order_limits){.pieces = c->orders.pieces_max,
                                      .cents = (int64_t)(c->orders.price_max * 100 + 0.5)};
    *out = s;
    return true;
}

struct orders_shop *shop_hold(struct orders *o)
{
    struct orders_shop *s;

    pthread_mutex_lock(&o->lock);
    s = o->shop;
    assert(atomic_load(&s->refs) > 0);
    atomic_fetch_add(&s->refs, 1);
    pthread_mutex_unlock(&o->lock);
    return s;
}

void shop_release(struct orders_shop *s)
{
    unsigned refs;

    if (!s)
        return;
    refs = atomic_fetch_sub(&s->refs, 1);
    assert(refs > 0);
    if (refs > 1)
        return;
    menu_free(s->menu);
    arena_release(&s->arena);
    free(s);
}

void orders_reload(struct orders *o)
{
    struct setup *setup = gateway_setup(o->host.gateway);
    struct orders_shop *fresh, *old;
    struct err e;
    bool ok = setup->config->orders.menu.n > 0 || o->chosen_menu.n > 0 ||
              err_input(&e, "the configuration no longer names a menu (orders.menu)");

    if (!ok || !shop_new(o, setup->config, &fresh, &e)) {
        log_error("the new menu has errors; the old one stays in force", LOG_ERR(&e));
    } else {
        pthread_mutex_lock(&o->lock);
        old = o->shop;
        assert(old && old != fresh);
        o->shop = fresh;
        pthread_mutex_unlock(&o->lock);
        if (strcmp(old->menu->sha256, fresh->menu->sha256) != 0)
            log_info("another menu is in force",
                     LOG_STR("menu", fresh->menu->name),
                     LOG_STR("version", fresh->menu->version),
                     LOG_U64("items", fresh->menu->count));
        shop_release(old);
    }
    setup_release(setup);
}

const struct menu *orders_menu(const struct orders *o)
{
    return o->shop->menu;
}

void orders_menu_write(struct orders *o, struct buf *out)
{
    struct orders_shop *s = shop_hold(o);

    buf_add(out, s->menu->text);
    shop_release(s);
}
