/* orders_graph_test.c - turns on threads: one entry per reply, no effect repeated, and what is
 * stored.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/registry.h"
#include "base/file.h"
#include "orders_shop.h"
#include "store/db.h"

static bool say(struct shop *s, const char *text)
{
    return shop_say(s, &s->who, STR("t"), str_c(text));
}

TEST(an_order_is_taken_to_its_end)
{
    struct script script;
    struct shop s;

    shop_fill(&script, shop_order, COUNT_OF(shop_order));
    shop_folder(&s);
    shop_open(&s, &script);
    shop_said(&s, "two coffees and a large one", "Two coffees and a large one.");
    CHECK_INT(s.turn.state.order.count, 2);
    shop_said(&s, "that's all", "Three coffees, 7.00. Right?");
    CHECK(!s.turn.state.order.finalized);
    /* The graph ends after the batch that finalizes the order, without another model call. */
    shop_said(
        &s, "yes", "Thank you! Your order is in, that's $7.00. Please drive on to the window.");
    CHECK(s.turn.state.order.finalized);
    CHECK_INT(atomic_load(&script.asked), 6);
    CHECK_INT(shop_count(s.turn.state.reasoning), 6);
    CHECK(has(s.turn.state.reasoning,
              "[\"[TOOL_CALL] lookup_menu_item: lookup_menu_item(item_name='coffee')\""));
    CHECK(has(s.turn.state.reasoning, "\"[DIRECT] They are in.\""));
    CHECK(!has(s.turn.state.messages, "reasoning>"));
    check_history(s.turn.state.messages);
    shop_close(&s);
    shop_remove(&s);
}

TEST(a_conversation_goes_on_after_a_restart)
{
    struct script script;
    struct shop s;

    shop_fill(&script, shop_order, COUNT_OF(shop_order));
    shop_folder(&s);
    shop_open(&s, &script);
    shop_said(&s, "two coffees and a large one", "Two coffees and a large one.");
    shop_close(&s);
    shop_open(&s, &script);
    shop_said(&s, "that's all", "Three coffees, 7.00. Right?");
    CHECK_INT(order_quantity(&s.turn.state.order), 3);
    CHECK_INT(shop_count(s.turn.state.reasoning), 5);
    shop_close(&s);
    shop_remove(&s);
}

TEST(a_model_that_cannot_be_asked_is_told_kindly_and_the_turn_is_kept)
{
    static const char *const turns[] = {"#503"};
    static const char *const better[] = {"<reasoning>x</reasoning>Hello again"};
    struct script script;
    struct shop s;

    shop_fill(&script, turns, 1);
    shop_folder(&s);
    shop_open(&s, &script);
    CHECK_F(say(&s, "hi"), "%s", s.e.text);
    CHECK_INT(s.turn.end, ORDERS_FAILED);
    CHECK_INT(s.turn.status, 503);
    CHECK(str_starts(s.turn.reply, STR("Sorry")));
    CHECK_INT(shop_count(s.turn.state.reasoning), 0);
    shop_fill(&script, better, 1);
    CHECK(shop_resume(&s));
    CHECK_INT(s.turn.end, ORDERS_REPLIED);
    CHECK_STR(s.turn.reply, "Hello again");
    CHECK_INT(shop_count(s.turn.state.messages), 2);
    shop_close(&s);
    shop_remove(&s);
}

/* ---- the stored menu ---- */

TEST(a_clients_thread_is_not_taken_for_the_menu)
{
    struct thread_asker alice = {.key = STR("alice"), .now_us = 1};
    struct menu *other, *own;
    struct script script;
    struct shop s;
    str id;

    shop_fill(&script, shop_order, COUNT_OF(shop_order));
    shop_folder(&s);
    shop_open(&s, &script);
    CHECK_F(
        threads_update(
            s.local.host.threads,
            &alice,
            &(struct thread_update){
                .thread = arena_join(
                    &s.arena, STR("menu:"), str_c(orders_menu(s.orders)->sha256), STR("")),
                .ns = STR("menu"),
                .from = STR(""),
                .values = STR("{\"menu\":{\"items\":[{\"item_id\":\"coffee\",\"name\":\"Coffee\","
                              "\"category_name\":\"Drinks\",\"sizes\":[],\"price\":0}]}}"),
                .reducers = STR("{}"),
                .metadata = STR("{}")},
            &s.arena,
            &id,
            &s.e),
        "%s",
        s.e.text);
    shop_said(&s, "two coffees and a large one", "Two coffees and a large one.");
    CHECK_F(menu_built_in(&other, &s.e), "%s", s.e.text);
    CHECK_F(state_menu(s.local.host.threads, &s.turn.state, other, &s.arena, &own, &s.e),
            "%s",
            s.e.text);
    CHECK(own);
    CHECK_INT(own->count, orders_menu(s.orders)->count);
    menu_free(own);
    menu_free(other);
    shop_close(&s);
    shop_remove(&s);
}

/* ---- repeated requests ---- */

static bool shop_state_messages(struct shop *s, str messages)
{
    struct orders_state state;

    return orders_state(s->orders, &s->who, STR("t"), &s->arena, &state, &s->e) &&
           str_eq(state.messages, messages);
}

static bool say_with_key(struct shop *s, const char *text, const char *key)
{
    struct orders_said said = {
        .who = &s->who, .thread = STR("t"), .text = str_c(text), .idempotency_key = str_c(key)};

    return orders_run_turn(s->orders, &said, &s->arena, &s->turn, &s->e);
}

TEST(a_repeated_request_gets_the_first_reply_and_says_nothing_twice)
{
    struct script script;
    struct shop s;
    str messages;

    shop_fill(&script, shop_order, COUNT_OF(shop_order));
    shop_folder(&s);
    shop_open(&s, &script);
    for (int i = 0; i < 3; i++) {
        CHECK_F(say_with_key(&s, " two coffees and a large one", "a \"key\" \\"), "%s", s.e.text);
        CHECK_INT(s.turn.end, ORDERS_REPLIED);
        CHECK_STR(s.turn.reply, "Two coffees and a large one.");
        CHECK_INT(atomic_load(&script.asked), 3);
        CHECK_INT(shop_count(s.turn.state.messages), 7);
        if (i == 1) {
            shop_close(&s);
            shop_open(&s, &script);
        }
    }
    messages = s.turn.state.messages;
    CHECK(!say_with_key(&s, "one tea", "a \"key\" \\"));
    CHECK_INT(s.e.code, ERR_CONFLICT);
    CHECK(has(str_c(s.e.text), "another text"));
    CHECK(!say_with_key(&s, "one tea", "tab\t") && s.e.code == ERR_INPUT);
    CHECK(shop_state_messages(&s, messages));
    CHECK(say_with_key(&s, "that's all", "2"));
    CHECK(!say_with_key(&s, "two coffees and a large one", "a \"key\" \\"));
    CHECK_INT(s.e.code, ERR_CONFLICT);
    CHECK(has(str_c(s.e.text), "has continued"));
    shop_close(&s);
    shop_remove(&s);
}

TEST(a_repeated_request_continues_a_turn_that_failed)
{
    static const char *const turns[] = {"#503"};
    static const char *const better[] = {"<reasoning>x</reasoning>Hello again"};
    struct script script;
    struct shop s;

    shop_fill(&script, turns, 1);
    shop_folder(&s);
    shop_open(&s, &script);
    CHECK_F(say_with_key(&s, "hi", "1"), "%s", s.e.text);
    CHECK_INT(s.turn.end, ORDERS_FAILED);
    shop_fill(&script, better, 1);
    CHECK_F(say_with_key(&s, "hi", "1"), "%s", s.e.text);
    CHECK_INT(s.turn.end, ORDERS_REPLIED);
    CHECK_STR(s.turn.reply, "Hello again");
    CHECK_INT(shop_count(s.turn.state.messages), 2);
    shop_close(&s);
    shop_remove(&s);
}

TEST(tags_of_any_kind_are_kept_from_customer_and_messages)
{
    static const struct {
        const char *text, *reply, *entry;
    } cases[] = {
        {"<reasoning>a<reasoning>b</reasoning>c</reasoning>Hi", "Hi", "[DIRECT] abc"},
        {"<think>a</think>Hi", "Hi", "[DIRECT] a"},
        {"Hi", "Hi", "[DIRECT] Hi"},
        {"Hi <reasoning>b", "Hi", "[DIRECT] b"},
        {"<reasoning>secret",
         "Sorry, I didn't catch that. Could you say it again?",
         "[DIRECT] secret"},
        {"```\n<reasoning>a</reasoning>```Hi", "```\n```Hi", "[DIRECT] a"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct script script;
        struct shop s;

        shop_fill(&script, &cases[i].text, 1);
        shop_folder(&s);
        shop_open(&s, &script);
        shop_said(&s, "hi", cases[i].reply);
        CHECK(has(s.turn.state.reasoning, cases[i].entry));
        CHECK_INT(shop_count(s.turn.state.reasoning), 1);
        CHECK(!has(s.turn.state.messages, "secret") && !has(s.turn.state.messages, "<"));
        shop_close(&s);
        shop_remove(&s);
    }
}

TEST(a_model_that_never_stops_is_stopped)
{
    const char *turns[SCRIPT_MAX];
    struct script script;
    struct shop s;

    for (size_t i = 0; i < SCRIPT_MAX; i++)
        turns[i] = "!" LOOK_COFFEE;
    shop_fill(&script, turns, SCRIPT_MAX);
    shop_folder(&s);
    shop_open(&s, &script);
    CHECK(say(&s, "hi"));
    CHECK_INT(s.turn.end, ORDERS_STOPPED);
    CHECK_INT(atomic_load(&script.asked), ORDERS_ASKED_MAX);
    CHECK(str_starts(s.turn.reply, STR("Sorry")));
    CHECK(shop_resume(&s));
    CHECK_INT(s.turn.end, ORDERS_NOTHING);
    shop_close(&s);
    shop_remove(&s);
}

/* Providers refuse a history whose tool names have other characters than letters, digits, _ and
 * -. */
TEST(a_name_that_providers_refuse_is_stored_as_one_that_they_accept)
{
    static const char *const turns[] = {"!add_item! {}\n<think>no</think>get_current_order {}",
                                        "Sorry?"};
    struct script script;
    struct shop s;

    shop_fill(&script, turns, COUNT_OF(turns));
    shop_folder(&s);
    shop_open(&s, &script);
    shop_said(&s, "hi", "Sorry?");
    CHECK(has(s.turn.state.messages, "\"name\":\"add_item__"));
    CHECK(has(s.turn.state.messages, "\"name\":\"get_current_order\""));
    CHECK(has(s.turn.state.messages, "there is no tool"));
    CHECK(!has(s.turn.state.messages, "add_item!") && !has(s.turn.state.messages, "think"));
    shop_close(&s);
    shop_remove(&s);
}

/* ---- the menu must not be written into every checkpoint ---- */

static bool on_sum(void *ctx, const struct db_value *c, size_t n)
{
    int64_t *out = ctx;

    (void)n;
    *out = c[0].type == DB_NULL ? 0 : c[0].i;
    return false;
}

static int64_t sum(struct shop *s, const char *sql)
{
    struct db *db;
    int64_t n = 0;
    struct err e;

    CHECK(db_open(str_c(s->url), DB_READ, &db, &e));
    CHECK_F(db_query(db, sql, NULL, 0, (struct db_rows){on_sum, &n}, &e), "%s", e.text);
    db_close(db);
    return n;
}

static int64_t stored(struct shop *s)
{
    return sum(s, "SELECT SUM(LENGTH(value)) FROM thread_values") +
           sum(s,
               "SELECT SUM(LENGTH(checkpoint) + LENGTH(refs) + LENGTH(metadata)) FROM"
               " thread_checkpoints");
}

/* Gives the same reply for any number of turns. */
static bool same_ask(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                     struct arena *a, struct ask_reply *reply)
{
    (void)ctx, (void)q, (void)cancel, (void)a;
    *reply = (struct ask_reply){.id = STR("call"),
                                .text = STR("<reasoning>Nothing to do yet.</reasoning>What would "
                                            "you like from our menu?"),
                                .reasoning = STR(""),
                                .usage = chat_usage_none};
    return true;
}

TEST(weak_8_what_is_stored_grows_with_the_turns_and_the_menu_is_there_once)
{
    struct orders_options o = {.ask = {same_ask, NULL}};
    int64_t at[3];
    struct shop s;

    shop_folder(&s);
    CHECK(app_local_open(s.config, &s.local, &s.e));
    CHECK_F(orders_open(&s.local.host, &o, &s.orders, &s.e), "%s", s.e.text);
    s.who = orders_asker(s.orders, STR(""), true);
    for (int half = 0; half < 3; half++) {
        for (int i = 0; i < 40; i++) {
            arena_init(&s.arena, (size_t)2 << 30);
            CHECK_F(say(&s, "hm, let me think about it for a moment"), "%s", s.e.text);
            arena_release(&s.arena);
        }
        at[half] = stored(&s);
    }
    /* Turns 41 to 80 and turns 81 to 120 cost the same, except for full values written in
     * between. */
    CHECK_F((at[2] - at[1]) < 2 * (at[1] - at[0]),
            "%lld, %lld, %lld",
            (long long)at[0],
            (long long)at[1],
            (long long)at[2]);
    CHECK((at[2] - at[1]) / 40 < 6000); /* bytes per turn; the menu alone has a thousand */
    CHECK_INT(sum(&s, "SELECT COUNT(*) FROM thread_values WHERE channel = 'menu' AND ns = 'menu'"),
              1);
    CHECK_INT(sum(&s, "SELECT COUNT(*) FROM thread_values WHERE channel = 'menu' AND ns = ''"), 1);
    CHECK(
        sum(&s, "SELECT SUM(LENGTH(value)) FROM thread_values WHERE channel = 'menu' AND ns = ''") <
        300);
    arena_init(&s.arena, 4096);
    shop_close(&s);
    shop_remove(&s);
}

/* ---- the prompt ---- */

static bool kept_ask(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                     struct arena *a, struct ask_reply *reply)
{
    struct buf *body = ctx;

    buf_reset(body);
    buf_add(body, q->body);
    return same_ask(NULL, q, cancel, a, reply);
}

static void put_prompt(struct shop *s, const char *components)
{
    struct prompt_new p = {.name = STR("orders"),
                           .components = str_c(components),
                           .parent = STR(""),
                           .run_id = STR(""),
                           .scores = STR(""),
                           .who = STR("tests")};
    struct registry *r;
    str id;

    CHECK_F(registry_open(str_c(s->url), &clock_real, &r, &s->e), "%s", s->e.text);
    CHECK_F(registry_put(r, &p, &s->arena, &id, &s->e), "%s", s->e.text);
    CHECK_F(registry_move(r, id, PROMPT_APPROVED, STR("tests"), &s->e), "%s", s->e.text);
    CHECK_F(registry_move(r, id, PROMPT_ACTIVE, STR("tests"), &s->e), "%s", s->e.text);
    registry_close(r);
}

TEST(the_registry_has_the_prompt_or_the_program_has)
{
    struct buf body;
    struct orders_options o = {.ask = {kept_ask, &body}};
    struct shop s;

    buf_init(&body, (size_t)1 << 20);
    shop_folder(&s);
    CHECK(app_local_open(s.config, &s.local, &s.e));
    CHECK_F(orders_open(&s.local.host, &o, &s.orders, &s.e), "%s", s.e.text);
    arena_init(&s.arena, (size_t)2 << 30);
    s.who = orders_asker(s.orders, STR(""), true);
    CHECK(say(&s, "hi"));
    CHECK(has(buf_str(&body), "14. Begin every reply with your reason inside <reasoning>"));
    CHECK(has(buf_str(&body), "Drinks: Coffee, Tea, Nine") && !has(buf_str(&body), "{{"));
    CHECK(has(s.turn.state.messages, "\"prompt_id\":\"orders@"));
    put_prompt(&s, "{\"system_prompt\":\"Sell {{menu_items}} {{what}} {{current_order}}\"}");
    orders_close(s.orders);
    CHECK_F(orders_open(&s.local.host, &o, &s.orders, &s.e), "%s", s.e.text);
    CHECK(say(&s, "hi"));
    CHECK(has(buf_str(&body), "\"Sell Drinks: Coffee") && has(buf_str(&body), "{{what}} (nothing"));
    shop_close(&s);
    shop_remove(&s);
    buf_release(&body);
}

/* ---- permissions and refused requests ---- */

TEST(a_thread_is_its_keys_and_bad_ids_and_texts_are_refused)
{
    static const char *const turns[] = {"Hello"};
    struct thread_asker other;
    struct script script;
    struct shop s;
    char text[ORDERS_TEXT_MAX + 2];

    shop_fill(&script, turns, 1);
    shop_folder(&s);
    shop_open(&s, &script);
    s.who = orders_asker(s.orders, STR("one"), false);
    other = orders_asker(s.orders, STR("two"), false);
    shop_said(&s, "hi", "Hello");
    CHECK(!orders_state(s.orders, &other, STR("t"), &s.arena, &s.turn.state, &s.e));
    CHECK_INT(s.e.code, ERR_NOT_FOUND);
    CHECK(!shop_say(&s, &other, STR("t"), STR("hi")));
    CHECK_INT(s.e.code, ERR_NOT_FOUND);
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    CHECK(!say(&s, text) && s.e.code == ERR_INPUT);
    CHECK(!say(&s, " \n ") && s.e.code == ERR_INPUT);
    CHECK(!shop_say(&s, &s.who, STR("a\nb"), STR("hi")));
    CHECK(!shop_say(&s, &s.who, STR(""), STR("hi")));
    shop_close(&s);
    shop_remove(&s);
}

TEST(another_programs_thread_is_left_alone)
{
    static const char *const turns[] = {"Hello"};
    struct thread_update u = {.thread = STR("t"),
                              .ns = STR(""),
                              .from = STR(""),
                              .values = STR("{\"messages\":[]}"),
                              .reducers = STR("{}"),
                              .metadata = STR("{}")};
    struct script script;
    struct shop s;
    str id;

    shop_fill(&script, turns, 1);
    shop_folder(&s);
    shop_open(&s, &script);
    CHECK(threads_update(s.local.host.threads, &s.who, &u, &s.arena, &id, &s.e));
    CHECK(!say(&s, "hi"));
    CHECK(has(str_c(s.e.text), "another program"));
    shop_close(&s);
    shop_remove(&s);
}

TEST(an_update_without_metadata_does_not_block_the_conversation)
{
    static const char *const turns[] = {"Hello", "Hello again"};
    struct thread_update u = {.thread = STR("t"),
                              .ns = STR(""),
                              .from = STR(""),
                              .values = STR("{\"reasoning\":[\"a person looked at it\"]}"),
                              .reducers = STR("{}"),
                              .metadata = STR("{}")};
    struct script script;
    struct shop s;
    str id;

    shop_fill(&script, turns, 2);
    shop_folder(&s);
    shop_open(&s, &script);
    shop_said(&s, "hi", "Hello");
    CHECK(threads_update(s.local.host.threads, &s.who, &u, &s.arena, &id, &s.e));
    u.metadata = STR("{\"who\":\"bob\"}");
    CHECK(threads_update(s.local.host.threads, &s.who, &u, &s.arena, &id, &s.e));
    CHECK(shop_resume(&s));
    CHECK_INT(s.turn.end, ORDERS_NOTHING);
    shop_said(&s, "hi", "Hello again");
    CHECK(has(s.turn.state.reasoning, "a person looked at it"));
    CHECK_INT(shop_count(s.turn.state.messages), 4);
    shop_close(&s);
    shop_remove(&s);
}

TEST(the_limits_of_the_configuration_hold)
{
    static const char *const turns[] = {
        "!" LOOK_COFFEE,
        "!" ADD_COFFEE(",\"quantity\":3"),
        "!" ADD_COFFEE(",\"quantity\":2"),
        "!change_item {\"item_id\":\"coffee\",\"new_size\":\"large\"}",
        "Two coffees."};
    struct script script;
    char yaml[1024];
    struct shop s;
    int n;

    shop_fill(&script, turns, COUNT_OF(turns));
    shop_folder(&s);
    n = snprintf(yaml,
                 sizeof yaml,
                 "store: %s\nlog: {level: error}\n"
                 "orders: {menu: %s, max_pieces: 2, max_price: 4.5}\n"
                 "providers: {p: {kind: openai, base_url: \"http://127.0.0.1:1/v1\","
                 " models: [lane]}}\n",
                 s.url,
                 s.menu);
    CHECK(file_write_atomic(s.config, (str){yaml, (size_t)n}, 0600, &s.e));
    shop_open(&s, &script);
    shop_said(&s, "three coffees", "Two coffees.");
    CHECK_INT(order_quantity(&s.turn.state.order), 2);
    CHECK_STR(s.turn.state.order.lines[0].size, "medium");
    CHECK(has(s.turn.state.messages, "an order has at most 2 pieces"));
    CHECK(has(s.turn.state.messages, "an order costs at most 4.50"));
    shop_close(&s);
    shop_remove(&s);
}

/* ---- routes ---- */

static int route(struct shop *s, struct apps *apps, const char *method, const char *path,
                 const char *body, struct buf *out)
{
    struct app_match m;
    struct app_request q = {.method = str_c(method),
                            .path = str_c(path),
                            .query = STR(""),
                            .body = str_c(body),
                            .type = STR("application/json"),
                            .key = STR(""),
                            .subject = STR(""),
                            .operator_ = true,
                            .sees_reasoning = true,
                            .arena = &s->arena};
    struct app_reply r = {.status = 0};

    CHECK(apps_route(q.method, q.path, &m, NULL) && m.route);
    memcpy(q.parts, m.parts, sizeof q.parts);
    buf_init(&r.body, (size_t)8 << 20);
    apps_answer(apps, &m, &q, &r);
    buf_reset(out);
    buf_add(out, buf_str(&r.body));
    buf_release(&r.body);
    return r.status;
}

TEST(the_routes_answer_and_say_what_is_wrong)
{
    struct apps *apps;
    struct buf out;
    struct shop s;

    shop_folder(&s);
    CHECK(app_local_open(s.config, &s.local, &s.e));
    CHECK_F(apps_open(&s.local.host, &apps, &s.e), "%s", s.e.text);
    arena_init(&s.arena, (size_t)2 << 30);
    buf_init(&out, (size_t)8 << 20);
    CHECK_INT(route(&s, apps, "GET", "/api/v1/orders", "", &out), 200);
    CHECK_STR(buf_str(&out), "{\"orders\":[]}");
    CHECK_INT(route(&s, apps, "GET", "/api/v1/menu", "", &out), 200);
    CHECK_STR(buf_str(&out), SMALL_MENU);
    CHECK_INT(route(&s, apps, "GET", "/api/v1/orders/none", "", &out), 404);
    CHECK_INT(route(&s, apps, "POST", "/api/v1/orders/t/say", "{", &out), 400);
    CHECK_INT(route(&s, apps, "POST", "/api/v1/orders/t/say", "{\"text\":3}", &out), 400);
    CHECK_INT(route(&s, apps, "POST", "/api/v1/orders/t/say", "{\"text\":\"\"}", &out), 400);
    apps_close(apps);
    buf_release(&out);
    arena_release(&s.arena);
    app_local_close(&s.local);
    shop_remove(&s);
}

TEST_MAIN(T(an_order_is_taken_to_its_end), T(a_clients_thread_is_not_taken_for_the_menu),
          T(a_repeated_request_gets_the_first_reply_and_says_nothing_twice),
          T(a_repeated_request_continues_a_turn_that_failed),
          T(a_conversation_goes_on_after_a_restart),
          T(a_model_that_cannot_be_asked_is_told_kindly_and_the_turn_is_kept),
          T(tags_of_any_kind_are_kept_from_customer_and_messages),
          T(a_model_that_never_stops_is_stopped),
          T(a_name_that_providers_refuse_is_stored_as_one_that_they_accept),
          T(weak_8_what_is_stored_grows_with_the_turns_and_the_menu_is_there_once),
          T(the_registry_has_the_prompt_or_the_program_has),
          T(a_thread_is_its_keys_and_bad_ids_and_texts_are_refused),
          T(another_programs_thread_is_left_alone),
          T(an_update_without_metadata_does_not_block_the_conversation),
          T(the_limits_of_the_configuration_hold), T(the_routes_answer_and_say_what_is_wrong))
