/* agent_replay_test.c - a recorded run replayed from its log alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent_help.h"
#include "mask/mask.h"

#include <unistd.h>

static struct arena arena;
static struct toolbox *box;
static struct agent_log *log_;
static char dir[64];

static bool echo(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx;
    if (str_find(c->arguments, STR("13")) != STR_NONE)
        return err_set(e, ERR_INPUT, "not thirteen");
    buf_add(out, c->arguments);
    return true;
}

static bool leak(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)c, (void)e;
    buf_add(out, STR("{\"mail\":\"ada@example.com\"}"));
    return true;
}

static void add(const char *name, const char *schema, unsigned flags,
                bool (*run)(void *, const struct tool_call *, struct buf *, struct err *))
{
    struct err e;

    if (!toolbox_add(box,
                     &(struct tool){.name = str_c(name),
                                    .description = STR("a \"tool\"\n"),
                                    .schema = str_c(schema),
                                    .flags = flags,
                                    .run = run},
                     &e))
        fail_msg("%s", e.text);
}

static int setup(void **state)
{
    struct err e;

    (void)state;
    arena_init(&arena, (size_t)1 << 30);
    box = toolbox_new(&clock_real);
    add("echo", "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}", 0, echo);
    add("odd.name",
        "{\"type\":\"dict\",\"properties\":{\"n\":{\"type\":\"float\"}}}",
        TOOL_STRICT,
        echo);
    add("kept", "", TOOL_CACHEABLE, echo);
    add("pay", "", TOOL_APPROVAL, echo);
    add("leak", "", TOOL_PURE, leak);
    add("finish", "", TOOL_FINISH | TOOL_PURE, echo);
    (void)snprintf(dir, sizeof dir, "%s/replay_test.XXXXXX", test_tmp());
    CHECK(mkdtemp(dir));
    CHECK(agent_log_open(arena_printf(&arena, "sqlite:%s/r.db", dir), &log_, &e));
    return 0;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    toolbox_free(box);
    agent_log_close(log_);
    arena_release(&arena);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static struct agent_options options(struct script *s, const char *id)
{
    return (struct agent_options){.run = str_c(id),
                                  .app = STR("test"),
                                  .session = STR("s"),
                                  .input = STR("{}"),
                                  .model_name = STR("m"),
                                  .level = STR(""),
                                  .system = STR("You \"help\".\n"),
                                  .user = STR("Do it: \xe2\x82\xac."),
                                  .messages = STR("{\"role\":\"user\",\"content\":\"before\"}"),
                                  .extra = STR("\"temperature\":0.5"),
                                  .tools = box,
                                  .log = log_,
                                  .ask = {script_ask, s},
                                  .clock = &clock_real,
                                  .limits = {.tokens = -1}};
}

static void check_same(const struct agent_result *a, const struct agent_result *b)
{
    CHECK(a->end == b->end && a->step_count == b->step_count);
    CHECK(str_eq(a->reason, b->reason) && str_eq(a->text, b->text));
    CHECK(str_eq(a->finish, b->finish) && str_eq(a->messages, b->messages));
    CHECK(a->iterations == b->iterations && a->model_calls == b->model_calls);
    CHECK(a->tool_calls == b->tool_calls && a->input_tokens == b->input_tokens);
    for (size_t i = 0; i < a->step_count; i++)
        CHECK(str_eq(a->steps[i].action, b->steps[i].action) &&
              str_eq(a->steps[i].observation, b->steps[i].observation) &&
              a->steps[i].ok == b->steps[i].ok);
}

static struct agent_result replay(const char *id)
{
    struct agent_result r;
    struct err e;

    if (!agent_replay(log_, str_c(id), &arena, &r, &e))
        fail_msg("%s", e.text);
    return r;
}

TEST(a_run_is_replayed_from_its_log_alone_to_the_same_trace)
{
    struct script scripts[] = {
        {.turns = {"!echo {\"n\":1}\necho {\"n\":2}", "!odd.name {\"n\":1.5}", "Done."}},
        {.turns = {"!echo {\"n\":\"x\"}\nno.body {}\nnobody {}\necho {",
                   "!odd.name {\"m\":1}",
                   "Sorry."}},
        {.turns = {"!echo {\"n\":13}", "", "!kept {\"a\":1}\nkept {\"a\":1}", "", "Done."}},
        {.turns = {"!finish {\"n\":13}", "!echo {\"n\":4}\nfinish {\"n\":14}"}},
        {.turns = {"!echo {}", "#500"}},
        {.turns = {"!echo {}", "!echo {}", "!echo {}", "!echo {}", "Over."}},
        {.turns = {"Right away."}},
    };

    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        const char *id = arena_printf(&arena, "run-%zu", i).p;
        struct agent_options o = options(&scripts[i], id);
        struct agent_result first, again;
        struct err e;

        o.conclude = true;
        if (!agent_run(&o, &arena, &first, &e))
            fail_msg("%s", e.text);
        again = replay(id);
        check_same(&first, &again);
    }
}

TEST(limits_end_a_replay_where_they_ended_the_run)
{
    struct script s = {.turns = {"!echo {\"n\":1}", "!echo {\"n\":2}", "So far."}};
    struct agent_options o = options(&s, "limited");
    struct agent_result first, again;
    struct err e;

    o.limits.iterations = 2;
    o.conclude = true;
    CHECK(agent_run(&o, &arena, &first, &e) && first.concluded);
    again = replay("limited");
    check_same(&first, &again);
    o = options(&s, "dear");
    o.limits.cost_usd = 0.015;
    CHECK(agent_run(&o, &arena, &first, &e) && first.end == AGENT_STOPPED);
    again = replay("dear");
    check_same(&first, &again);
    o = options(&s, "late");
    o.limits.time_ms = 100;
    o.ask.ask = script_ask_slowly;
    CHECK(agent_run(&o, &arena, &first, &e));
    CHECK_STR(first.reason, "time_limit_exceeded");
    again = replay("late");
    check_same(&first, &again);
}

TEST(an_approval_is_replayed_with_the_word_that_was_given)
{
    struct script s = {.turns = {"!pay {\"n\":1}", "!pay {\"n\":2}", "Paid."}};
    struct agent_options o = options(&s, "asked");
    struct agent_result first, again;
    struct err e;

    CHECK(agent_run(&o, &arena, &first, &e) && first.end == AGENT_WAITING);
    again = replay("asked");
    CHECK(again.end == AGENT_WAITING && again.pending.seq == first.pending.seq);
    CHECK(agent_answer(
        log_,
        o.run,
        first.pending.seq,
        &(struct agent_decision){
            .word = AGENT_CHANGE, .arguments = STR("{\"n\":9}"), .who = STR("ada"), .now_us = 1},
        &e));
    CHECK(agent_run(&o, &arena, &first, &e) && first.end == AGENT_WAITING);
    CHECK(agent_answer(log_,
                       o.run,
                       first.pending.seq,
                       &(struct agent_decision){.word = AGENT_DENY, .who = STR("ada"), .now_us = 1},
                       &e));
    CHECK(agent_run(&o, &arena, &first, &e) && first.end == AGENT_FINISHED);
    again = replay("asked");
    check_same(&first, &again);
    CHECK_STR(again.steps[0].observation, "{\"n\":9}");
}

TEST(what_is_masked_in_the_log_does_not_stop_a_run_from_going_on)
{
    struct script s = {.turns = {"!leak {\"to\":\"bob@example.com\"}",
                                 "!pay {\"to\":\"eve@example.com\"}",
                                 "I wrote to bob@example.com."}};
    struct agent_options o = options(&s, "masked");
    struct mask_options groups = {.groups = MASK_EMAIL};
    struct agent_result r;
    struct agent_effect *all;
    struct mask *m;
    struct err e;
    size_t n;

    CHECK(mask_new(&groups, &m, &e));
    o.mask = m;
    CHECK(agent_run(&o, &arena, &r, &e) && r.end == AGENT_WAITING);
    CHECK(agent_answer(
        log_,
        o.run,
        r.pending.seq,
        &(struct agent_decision){.word = AGENT_APPROVE, .who = STR("ada"), .now_us = 1},
        &e));
    if (!agent_run(&o, &arena, &r, &e)) /* the model's reply is now read from the log, masked */
        fail_msg("%s", e.text);
    CHECK(r.end == AGENT_FINISHED);
    CHECK(agent_log_read(log_, o.run, &arena, &all, &n, &e));
    for (size_t i = 0; i < n; i++)
        CHECK(str_find(all[i].result, STR("@example.com")) == STR_NONE);
    CHECK(agent_replay(log_, o.run, &arena, &r, &e) && r.end == AGENT_FINISHED);
    mask_free(m);
}

TEST(a_log_that_ends_early_gives_the_steps_up_to_there)
{
    struct script s = {.turns = {"!echo {\"n\":1}", "!echo {\"n\":2}", "Done."}};
    struct agent_options o = options(&s, "whole");
    struct agent_effect *all;
    struct agent_result r;
    struct err e;
    size_t n;

    CHECK(agent_run(&o, &arena, &r, &e) && r.step_count == 3);
    CHECK(agent_log_read(log_, o.run, &arena, &all, &n, &e));
    for (size_t i = 0; i < n; i++)
        all[i].run = STR("cut");
    CHECK(agent_log_put(log_, all, 3, &e)); /* the note, the model, the tool */
    CHECK(agent_log_run_put(log_,
                            &(struct agent_row){.id = STR("cut"),
                                                .app = STR("test"),
                                                .session_id = STR(""),
                                                .status = STR("running"),
                                                .reason = STR(""),
                                                .input = STR(""),
                                                .result = STR("")},
                            &e));
    /* Effect keys contain the run's id, so a copy under another id does not match them. */
    CHECK(!agent_replay(log_, STR("cut"), &arena, &r, &e) && strstr(e.text, "replay_mismatch"));
    CHECK(!agent_replay(log_, STR("none"), &arena, &r, &e) && e.code == ERR_NOT_FOUND);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(a_run_is_replayed_from_its_log_alone_to_the_same_trace),
        S(limits_end_a_replay_where_they_ended_the_run),
        S(an_approval_is_replayed_with_the_word_that_was_given),
        S(what_is_masked_in_the_log_does_not_stop_a_run_from_going_on),
        S(a_log_that_ends_early_gives_the_steps_up_to_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
