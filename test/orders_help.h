/* orders_help.h - builds a conversation from short texts, with messages in the form of the state.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/orders/tools.h"
#include "test.h"

/* A menu of six items, two of them with the same name. */
#define SMALL_MENU                                                                                 \
    "{\"menu_id\":\"m\",\"menu_name\":\"Small\",\"menu_version\":\"1\",\"items\":["                \
    "{\"item_id\":\"coffee\",\"name\":\"Coffee\",\"category_name\":\"Drinks\","                    \
    "\"sizes\":[\"small\",\"medium\",\"large\"],\"default_size\":\"medium\","                      \
    "\"prices\":{\"small\":1,\"medium\":2,\"large\":3},\"available_modifiers\":["                  \
    "{\"modifier_id\":\"oat\",\"name\":\"Oat Milk\",\"price\":0.5},"                               \
    "{\"modifier_id\":\"nosugar\",\"name\":\"No Sugar\"}]},"                                       \
    "{\"item_id\":\"big1\",\"name\":\"Big Breakfast\",\"category_name\":\"Breakfast\","            \
    "\"sizes\":[\"regular\"],\"price\":5},"                                                        \
    "{\"item_id\":\"big2\",\"name\":\"Big Breakfast\",\"category_name\":\"Breakfast\","            \
    "\"sizes\":[\"large\"],\"price\":7},"                                                          \
    "{\"item_id\":\"tea\",\"name\":\"Tea\",\"category_name\":\"Drinks\",\"sizes\":[\"small\"],"    \
    "\"price\":1},"                                                                                \
    "{\"item_id\":\"9\",\"name\":\"Nine\",\"category_name\":\"Drinks\",\"sizes\":[\"small\"]},"    \
    "{\"item_id\":\"cake\",\"name\":\"Cake\",\"category_name\":\"Sweets\","                        \
    "\"sizes\":[\"snack\",\"regular\"],\"price\":4}]}"

#define ADD(id, name, category, more)                                                              \
    "add_item_to_order {\"item_id\":\"" id "\",\"item_name\":\"" name                              \
    "\",\"category_name\":\"" category "\"" more "}"
#define ADD_COFFEE(more) ADD("coffee", "Coffee", "Drinks", more)

/* A conversation's state, without a thread and without a model. */
struct lane {
    struct menu *menu;
    struct arena arena;
    struct order order;
    struct order_limits limits;
    struct buf messages; /* without the closing bracket */
    struct buf last;     /* results of the last batch, one per line */
};

void lane_begin(struct lane *t);
void lane_end(struct lane *t);
void lane_customer(struct lane *t);
/* Executes calls, one per line: "name {arguments}". Appends the results to the messages, puts them
 * into `last`, and changes the order as update_order does. */
void lane_batch(struct lane *t, const char *calls);
/* Whether the first result of the last batch contains the text. */
bool lane_says(const struct lane *t, const char *text);
