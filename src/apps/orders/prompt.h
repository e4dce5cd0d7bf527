/* prompt.h - the system prompt of a conversation.
 *
 *     struct prompt_fill fill = {menu, &order};
 *     orders_prompt(template, &fill, &out);
 *
 * The template has {{location_name}} {{location_address}} {{menu_items}} {{current_order}}; other
 * double braces stay as they are. The template is the registry's (name "orders", component
 * "system_prompt"), else the built-in one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/orders/order.h"
#include "apps/registry.h"

struct orders_fill {
    const struct menu *menu;
    const struct order *order;
};

void orders_prompt(str template, const struct orders_fill *fill, struct buf *out);

extern const struct prompt_built_in orders_built_in;
