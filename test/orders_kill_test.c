/* orders_kill_test.c - turns killed as by kill -9, and how the next process ends them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "orders_shop.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void die_at(void *ctx, enum orders_node node)
{
    struct shop *s = ctx;

    (void)node;
    if (++s->steps == s->kill_at)
        (void)kill(getpid(), SIGKILL);
}

/* Runs a turn in a child process that ends at the step as by kill -9. */
static void said_until(struct shop *s, struct script *script, const char *text, int step)
{
    pid_t child = fork();
    int status;

    CHECK(child >= 0);
    if (child == 0) {
        struct orders_watch w = {.on_step = die_at, .ctx = s};
        struct orders_said said = {
            .who = &s->who, .thread = STR("t"), .text = str_c(text), .watch = &w};

        s->kill_at = step;
        shop_open(s, script);
        if (orders_run_turn(s->orders, &said, &s->arena, &s->turn, &s->e))
            _exit(1);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

static void taken_until(struct shop *s, struct script *script, int step)
{
    said_until(s, script, "two coffees and a large one", step);
}

/* Steps: input, orchestrator, tools, update, orchestrator, tools, update, orchestrator. */
TEST(a_turn_that_is_killed_at_any_step_ends_and_adds_nothing_twice)
{
    for (int step = 1; step <= 8; step++) {
        struct script script;
        struct shop s;

        shop_fill(&script, shop_order, COUNT_OF(shop_order));
        shop_folder(&s);
        taken_until(&s, &script, step);
        shop_open(&s, &script);
        CHECK_F(shop_resume(&s), "%s", s.e.text);
        /* The last step was on disk, but the reply had not been sent. */
        CHECK_INT(s.turn.end, ORDERS_REPLIED);
        CHECK_STR(s.turn.reply, "Two coffees and a large one.");
        CHECK(orders_state(s.orders, &s.who, STR("t"), &s.arena, &s.turn.state, &s.e));
        CHECK_INT(s.turn.state.order.count, 2);
        CHECK_INT(order_quantity(&s.turn.state.order), 3);
        CHECK_INT(shop_count(s.turn.state.reasoning), 3);
        CHECK_INT(shop_count(s.turn.state.messages), 7);
        check_history(s.turn.state.messages);
        /* No stored reply of the model is requested again, and none is sent twice. */
        CHECK_INT(atomic_load(&script.asked), step < 2 ? 3 : step < 5 ? 2 : step < 8 ? 1 : 0);
        CHECK(shop_resume(&s));
        CHECK_INT(s.turn.end, ORDERS_NOTHING);
        shop_close(&s);
        shop_remove(&s);
    }
}

/* Steps: input, orchestrator, tools, update. */
TEST(an_order_that_is_killed_while_it_is_finalized_is_finalized_once)
{
    for (int step = 1; step <= 4; step++) {
        struct script script;
        struct shop s;

        shop_fill(&script, shop_order, COUNT_OF(shop_order));
        shop_folder(&s);
        shop_open(&s, &script);
        shop_said(&s, "two coffees and a large one", "Two coffees and a large one.");
        shop_said(&s, "that's all", "Three coffees, 7.00. Right?");
        shop_close(&s);
        said_until(&s, &script, "yes", step);
        shop_open(&s, &script);
        CHECK_F(shop_resume(&s), "%s", s.e.text);
        CHECK_INT(s.turn.end, ORDERS_REPLIED);
        CHECK(str_starts(s.turn.reply, STR("Thank you! Your order is in, that's $7.00.")));
        CHECK(s.turn.state.order.finalized);
        CHECK_INT(shop_count(s.turn.state.reasoning), 6);
        CHECK_INT(shop_count(s.turn.state.messages), 14);
        check_history(s.turn.state.messages);
        CHECK_INT(atomic_load(&script.asked), step < 2 ? 6 : 5);
        CHECK(shop_resume(&s));
        CHECK_INT(s.turn.end, ORDERS_NOTHING);
        shop_close(&s);
        shop_remove(&s);
    }
}

TEST(what_is_said_after_a_crash_goes_on_with_the_turn_that_was_left)
{
    struct script script;
    struct shop s;

    shop_fill(&script, shop_order, COUNT_OF(shop_order));
    shop_folder(&s);
    taken_until(&s, &script, 5); /* the calls of add_item are stored, but not executed */
    shop_open(&s, &script);
    shop_said(&s, "hello?", "Two coffees and a large one.");
    CHECK_INT(order_quantity(&s.turn.state.order), 3);
    check_history(s.turn.state.messages);
    shop_close(&s);
    shop_remove(&s);
}

TEST(a_conversation_keeps_the_menu_it_began_with)
{
    struct script script;
    struct shop s;

    shop_fill(&script, shop_order, COUNT_OF(shop_order));
    shop_folder(&s);
    taken_until(&s, &script, 3); /* the lookup of coffee has run */
    CHECK(file_write_atomic(s.menu,
                            STR("{\"items\":[{\"item_id\":\"x\",\"name\":\"X\","
                                "\"category_name\":\"C\",\"sizes\":[\"small\"]}]}"),
                            0600,
                            &s.e));
    shop_open(&s, &script);
    CHECK(shop_resume(&s));
    CHECK_INT(order_quantity(&s.turn.state.order), 3);
    shop_close(&s);
    shop_remove(&s);
}

TEST_MAIN(T(a_turn_that_is_killed_at_any_step_ends_and_adds_nothing_twice),
          T(an_order_that_is_killed_while_it_is_finalized_is_finalized_once),
          T(what_is_said_after_a_crash_goes_on_with_the_turn_that_was_left),
          T(a_conversation_keeps_the_menu_it_began_with))
