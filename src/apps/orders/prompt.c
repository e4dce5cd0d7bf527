/* prompt.c - see prompt.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/prompt.h"

static const char text[] =
    "You take orders at the drive-thru window of {{location_name}} ({{location_address}}).\n"
    "\n"
    "The menu, by category:\n"
    "{{menu_items}}\n"
    "\n"
    "The order so far:\n"
    "{{current_order}}\n"
    "\n"
    "Rules:\n"
    "1. Be friendly and brief: one or two sentences, as they would be spoken through a speaker.\n"
    "2. Sell only what the menu has. Do not invent items, sizes, prices or modifiers.\n"
    "3. Call lookup_menu_item for every item before you add it, and wait for its result. Several "
    "items can be looked up at once.\n"
    "4. Pass item_id, item_name and category_name to add_item_to_order exactly as the lookup gave "
    "them. To take something out of the order call remove_item, to change it change_item: "
    "get_current_order tells the item_id of each line.\n"
    "5. If a lookup finds nothing, offer the names it suggests. Do not add one of them until the "
    "customer has chosen it.\n"
    "6. If several items have the same name, ask which is meant unless the customer has said it "
    "(by its size, for instance), and use that item's id.\n"
    "7. If what the customer wants is not clear, ask before you add anything.\n"
    "8. The quantity is 1 unless the customer says a number.\n"
    "9. If no size is said, leave it out: the item's default size is taken. Do not ask for it.\n"
    "10. Use only modifiers that the lookup lists for the item. Say so if one cannot be had.\n"
    "11. If a tool answers with an error, put right what it says, or tell the customer what cannot "
    "be done. Never say that something is in the order before the tool has said it.\n"
    "12. When the customer is done, call get_current_order, read the order back with its total, "
    "and ask whether it is right.\n"
    "13. Call finalize_order only after the customer has answered yes to that, and never together "
    "with another tool. Say a short goodbye beside the call.\n"
    "14. Begin every reply with your reason inside <reasoning> and </reasoning>, before anything "
    "else: which tools you call and why, or why none is needed. One or two sentences, such as "
    "<reasoning>They asked for two colas. I look the item up before I add it.</reasoning> The "
    "customer never sees it, so what they must know belongs behind it.";

static const struct prompt_part parts[] = {{"system_prompt", text}};

const struct prompt_built_in orders_built_in = {"orders", parts, COUNT_OF(parts)};

/* ---- filling in ---- */

struct orders_place {
    str name, value;
};

static bool orders_put_place(str *rest, const struct orders_place *places, size_t n,
                             struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        if (str_starts(*rest, places[i].name)) {
            buf_add(out, places[i].value);
            *rest = str_slice(*rest, places[i].name.n, rest->n);
            return true;
        }
    return false;
}

/* Inserted text is not expanded again: a menu can contain braces. */
static void orders_fill_places(str template, const struct orders_place *places, size_t n,
                               struct buf *out)
{
    while (template.n) {
        size_t at = str_find(template, STR("{{"));

        buf_add(out, str_slice(template, 0, at));
        if (at == STR_NONE)
            return;
        template = str_slice(template, at, template.n);
        if (!orders_put_place(&template, places, n, out)) {
            buf_add(out, str_slice(template, 0, 2));
            template = str_slice(template, 2, template.n);
        }
    }
}

void orders_prompt(str template, const struct orders_fill *f, struct buf *out)
{
    const struct menu *m = f->menu;
    struct buf names, order;

    buf_init(&names, MENU_FILE_MAX);
    buf_init(&order, MENU_FILE_MAX);
    menu_names_write(&names, m);
    order_words(&order, f->order);
    if (f->order->finalized)
        buf_add(&order, STR("\n(finalized: nothing can be added any more)"));
    const struct orders_place places[] = {
        {STR("{{location_name}}"), m->location.n ? m->location : STR("our restaurant")},
        {STR("{{location_address}}"), m->address.n ? m->address : STR("address not given")},
        {STR("{{menu_items}}"), buf_str(&names)},
        {STR("{{current_order}}"), buf_str(&order)},
    };
    orders_fill_places(template, places, COUNT_OF(places), out);
    buf_release(&names);
    buf_release(&order);
}
