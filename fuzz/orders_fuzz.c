/* Menus, arguments of tools and replies, of arbitrary bytes: a menu is refused with a reason, or
 * each of its items can be found by id and name; a tool answers with one JSON object; no tag passes
 * the filter, however the text is cut.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/speak.h"
#include "apps/orders/tools.h"

#define MENU                                                                                       \
    "{\"items\":[{\"item_id\":\"a\",\"name\":\"Coffee\",\"category_name\":\"C\","                  \
    "\"sizes\":[\"small\",\"large\"],\"price\":1.5,\"available_modifiers\":"                       \
    "[{\"modifier_id\":\"m\",\"name\":\"Milk\",\"price\":0.5}]}]}"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void menus(str text)
{
    const struct menu_item *found[MENU_NAMED_MAX];
    struct menu *m;
    struct err e;

    if (!menu_parse(text, "m", &m, &e)) {
        assert(e.text[0]);
        return;
    }
    for (size_t i = 0; i < m->count; i++) {
        assert(menu_find(m, m->items[i].id) == &m->items[i]);
        assert(menu_size(&m->items[i], m->items[i].default_size));
        assert(!m->items[i].spoken.n || menu_named(m, m->items[i].name, found, MENU_NAMED_MAX) > 0);
        assert(menu_suggest(m, m->items[i].name, found) <= MENU_SUGGEST_MAX);
    }
    menu_free(m);
}

static void tools(str text, size_t which)
{
    static const str names[] = {STR_INIT("lookup_menu_item"),
                                STR_INIT("add_item_to_order"),
                                STR_INIT("get_current_order"),
                                STR_INIT("finalize_order")};
    struct ask_call call = {STR("c"), names[which % COUNT_OF(names)], text};
    struct facts f = {.batch = 3, .reported = 2, .changed = 1, .answered = true};
    struct tools_state s = {.facts = &f, .batch = &call, .count = 1};
    struct order_line line;
    struct order order;
    struct arena a;
    struct json doc;
    struct menu *m;
    struct buf out;
    struct err e;
    bool ok;

    ok = menu_parse(STR(MENU), "m", &m, &e);
    assert(ok);
    map_init(&f.looked, NULL, 10);
    ok = map_set(&f.looked, STR("a"), MAP_U64(1), &e);
    assert(ok);
    arena_init(&a, (size_t)64 << 20);
    order_init(&order, STR("o"), &a);
    s.menu = m;
    s.order = &order;
    buf_init(&out, (size_t)4 << 20);
    ok = tools_run(&s, &call, &out);
    json_init(&doc);
    assert(json_parse(&doc, buf_str(&out), &e));
    assert(ok == !json_find(&doc, json_root(&doc), STR("error")));
    if (ok && which % COUNT_OF(names) == 1) {
        ok = order_line_read(&doc, json_find(&doc, json_root(&doc), STR("item")), &a, &line);
        assert(ok && line.quantity >= 1 && line.quantity <= ORDER_QUANTITY_MAX && line.cents > 0);
    }
    json_release(&doc);
    buf_release(&out);
    map_release(&f.looked);
    arena_release(&a);
    menu_free(m);
}

struct parts {
    struct buf said, thought;
};

static void on_run(void *ctx, bool thought, str run)
{
    struct parts *p = ctx;

    assert(run.n > 0);
    buf_add(thought ? &p->thought : &p->said, run);
}

static void cut(struct parts *p, str text, size_t step)
{
    struct customer_filter v;

    buf_init(&p->said, text.n + 1);
    buf_init(&p->thought, text.n + 1);
    customer_filter_init(&v, (struct customer_filter_sink){on_run, NULL, p});
    for (size_t at = 0; at < text.n; at += step)
        customer_filter_feed(&v, str_slice(text, at, at + step));
    customer_filter_finish(&v);
}

static void on_say(void *ctx, str text)
{
    assert(text.n > 0);
    buf_add(ctx, text);
}

static void speak(struct buf *out, str text, size_t step)
{
    struct speak s;

    buf_init(out, text.n + 1);
    speak_init(&s, NULL, (struct speak_sink){on_say, out});
    for (size_t at = 0; at < text.n; at += step)
        speak_feed(&s, false, str_slice(text, at, at + step));
    speak_release(&s);
}

static void speaks(str text, size_t step)
{
    struct buf whole, pieces;

    speak(&whole, text, text.n + 1);
    speak(&pieces, text, step % 5 + 1);
    assert(str_eq(buf_str(&whole), buf_str(&pieces)));
    assert(str_find(buf_str(&whole), STR("<reasoning>")) == STR_NONE);
    assert(str_find(buf_str(&whole), STR("</think>")) == STR_NONE);
    buf_release(&whole);
    buf_release(&pieces);
}

static void filters(str text, size_t step)
{
    struct parts whole, pieces;
    struct arena a;
    str said, thought;

    cut(&whole, text, text.n + 1);
    cut(&pieces, text, step % 7 + 1);
    assert(str_eq(buf_str(&whole.said), buf_str(&pieces.said)));
    assert(str_eq(buf_str(&whole.thought), buf_str(&pieces.thought)));
    arena_init(&a, 4 * text.n + 65536);
    customer_filter_text(text, &a, &said, &thought);
    assert(str_find(said, STR("<reasoning>")) == STR_NONE);
    assert(str_find(said, STR("</think>")) == STR_NONE);
    arena_release(&a);
    buf_release(&whole.said);
    buf_release(&whole.thought);
    buf_release(&pieces.said);
    buf_release(&pieces.thought);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text;

    if (size < 1)
        return 0;
    text = (str){(const char *)data + 1, size - 1};
    if (data[0] % 3 == 0)
        menus(text);
    else if (data[0] % 3 == 1)
        tools(text, data[0] / 3);
    else if (data[0] % 2)
        filters(text, data[0] / 3);
    else
        speaks(text, data[0] / 3);
    return 0;
}
