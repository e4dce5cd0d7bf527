/* orders_shop.h - a shop that takes orders, in its own folder, with a scripted model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent_help.h"
#include "apps/orders/orders.h"
#include "orders_help.h"

#define LOOK_COFFEE "lookup_menu_item {\"item_name\":\"coffee\"}"
#define SHOP_ORDER_REPLIES 6

/* The replies of a whole order. */
extern const char *const shop_order[SHOP_ORDER_REPLIES];

/* A folder with a configuration, a menu and a store; the model is a script. */
struct shop {
    char folder[64], config[128], menu[128], url[128];
    struct app_local local;
    struct orders *orders;
    struct script *script;
    struct arena arena;
    struct thread_asker who;
    struct orders_turn turn;
    struct err e;
    int kill_at, steps; /* the process ends itself at step kill_at */
};

void shop_folder(struct shop *s);
void shop_open(struct shop *s, struct script *script);
void shop_close(struct shop *s);
void shop_remove(struct shop *s);

bool shop_say(struct shop *s, const struct thread_asker *who, str thread, str text);
bool shop_resume(struct shop *s); /* of the thread "t" */
/* Runs a turn of the thread "t"; its reply must be this one. */
void shop_said(struct shop *s, const char *text, const char *reply);
/* The number of elements of a JSON list. */
size_t shop_count(str list);
void shop_fill(struct script *s, const char *const *turns, size_t n);
