/* orders_shop.c - see orders_shop.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "orders_shop.h"

#include "base/file.h"

const char *const shop_order[SHOP_ORDER_REPLIES] = {
    "!" LOOK_COFFEE,
    "!" ADD_COFFEE(",\"quantity\":2") "\n" ADD_COFFEE(",\"size\":\"large\""),
    "<reasoning>They are in.</reasoning>Two coffees and a large one.",
    "!get_current_order {}",
    "<reasoning>Read back.</reasoning>Three coffees, 7.00. Right?",
    "!finalize_order {}",
};

void shop_folder(struct shop *s)
{
    char yaml[1024];
    struct err e;
    int n;

    memset(s, 0, sizeof *s);
    (void)snprintf(s->folder, sizeof s->folder, "%s/orders-XXXXXX", test_tmp());
    CHECK(mkdtemp(s->folder));
    (void)snprintf(s->config, sizeof s->config, "%s/c.yaml", s->folder);
    (void)snprintf(s->menu, sizeof s->menu, "%s/menu.json", s->folder);
    (void)snprintf(s->url, sizeof s->url, "sqlite:%s/o.db", s->folder);
    n = snprintf(yaml,
                 sizeof yaml,
                 "store: %s\nlog: {level: error}\norders: {menu: %s}\n"
                 "providers: {p: {kind: openai, base_url: \"http://127.0.0.1:1/v1\","
                 " models: [lane]}}\n",
                 s->url,
                 s->menu);
    CHECK(file_write_atomic(s->config, (str){yaml, (size_t)n}, 0600, &e));
    CHECK(file_write_atomic(s->menu, STR(SMALL_MENU), 0600, &e));
}

void shop_open(struct shop *s, struct script *script)
{
    struct orders_options o = {.ask = {script_ask, script}};

    s->script = script;
    CHECK_F(app_local_open(s->config, &s->local, &s->e), "%s", s->e.text);
    CHECK_F(orders_open(&s->local.host, &o, &s->orders, &s->e), "%s", s->e.text);
    arena_init(&s->arena, (size_t)2 << 30);
    s->who = orders_asker(s->orders, STR(""), true);
}

void shop_close(struct shop *s)
{
    orders_close(s->orders);
    app_local_close(&s->local);
    arena_release(&s->arena);
}

void shop_remove(struct shop *s)
{
    char command[128];

    (void)snprintf(command, sizeof command, "rm -rf '%s'", s->folder);
    CHECK(system(command) == 0);
}

bool shop_say(struct shop *s, const struct thread_asker *who, str thread, str text)
{
    struct orders_said said = {.who = who, .thread = thread, .text = text};

    return orders_run_turn(s->orders, &said, &s->arena, &s->turn, &s->e);
}

bool shop_resume(struct shop *s)
{
    struct orders_said said = {.who = &s->who, .thread = STR("t")};

    return orders_resume(s->orders, &said, &s->arena, &s->turn, &s->e);
}

void shop_said(struct shop *s, const char *text, const char *reply)
{
    CHECK_F(shop_say(s, &s->who, STR("t"), str_c(text)), "%s", s->e.text);
    CHECK_INT(s->turn.end, ORDERS_REPLIED);
    CHECK_STR(s->turn.reply, reply);
}

size_t shop_count(str list)
{
    struct json doc;
    struct err e;
    size_t n;

    json_init(&doc);
    CHECK(json_parse(&doc, list, &e));
    n = json_count(&doc, json_root(&doc));
    json_release(&doc);
    return n;
}

void shop_fill(struct script *s, const char *const *turns, size_t n)
{
    memset(s, 0, sizeof *s);
    arena_init(&s->arena, (size_t)64 << 20);
    for (size_t i = 0; i < n; i++)
        s->turns[i] = turns[i];
}
