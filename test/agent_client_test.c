/* agent_client_test.c - tools of the run's caller, output by a schema, settled results, events.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/events.h"
#include "agent/run_json.h"
#include "agent_help.h"

static struct arena arena;
static struct toolbox *box;
static struct agent_log *log_;
static char dir[64];
static unsigned doubled;

static bool double_it(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)c, (void)e;
    doubled++;
    buf_add(out, STR("{\"result\":4}"));
    return true;
}

static void add(const char *name,
                bool (*run)(void *, const struct tool_call *, struct buf *, struct err *),
                unsigned flags)
{
    struct tool t = {.name = str_c(name),
                     .description = STR("a tool"),
                     .schema = str_c(number_schema),
                     .flags = flags,
                     .run = run};
    struct err e;

    if (!toolbox_add(box, &t, &e))
        fail_msg("%s", e.text);
}

static int setup(void **state)
{
    (void)state;
    doubled = 0;
    arena_init(&arena, (size_t)1 << 30);
    box = toolbox_new(&clock_real);
    add("double", double_it, TOOL_PURE);
    add("theirs", NULL, TOOL_CLIENT);
    add("pay", double_it, TOOL_APPROVAL);
    add("finish", finish, TOOL_FINISH | TOOL_PURE);
    (void)snprintf(dir, sizeof dir, "%s/agent_client.XXXXXX", test_tmp());
    if (!mkdtemp(dir))
        return -1;
    log_ = log_in(dir, &arena);
    return 0;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    agent_log_close(log_);
    toolbox_free(box);
    arena_release(&arena);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static struct agent_options options(struct script *s)
{
    struct agent_options o = script_options(s, box);

    o.log = log_;
    o.keep_reasoning = true;
    return o;
}

static struct agent_effect *client_call(size_t at)
{
    struct agent_effect *all;
    struct err e;
    size_t n;

    CHECK(agent_log_read(log_, STR("run-1"), &arena, &all, &n, &e));
    for (size_t i = 0; i < n; i++)
        if (str_eq(all[i].kind, STR("client")) && !at--)
            return &all[i];
    fail_msg("no such call");
    return NULL;
}

static bool give(str call_id, const char *result, bool *already)
{
    struct agent_client_result r = {
        .run = STR("run-1"), .call_id = call_id, .result = str_c(result), .now_us = 1};
    struct err e;

    return agent_client_result(log_, &r, already, &e);
}

TEST(a_run_waits_for_the_results_of_its_callers_tools)
{
    struct script s = {.turns = {"!theirs {\"n\":1}\ndouble {\"n\":2}\ntheirs {\"n\":3}", "done"}};
    struct agent_options o = options(&s);
    struct agent_result r = script_run(&o, &arena);
    struct agent_row row;
    bool already;
    struct err e;

    CHECK(r.end == AGENT_WAITING && doubled == 1 && s.asked == 1);
    CHECK_STR(r.reason, "client_tools");
    CHECK(give(client_call(0)->key, "one", &already) && !already);
    CHECK(agent_log_run_get(log_, STR("run-1"), &arena, &row, &e));
    CHECK_STR(row.status, "waiting"); /* for the result of the second call */
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_WAITING && s.asked == 1);
    CHECK(give(client_call(1)->key, "three", &already) && !already);
    CHECK(agent_log_run_get(log_, STR("run-1"), &arena, &row, &e));
    CHECK_STR(row.status, "running"); /* the next start resumes it */
    CHECK(give(client_call(1)->key, "four", &already) && already);
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_FINISHED && doubled == 1 && s.asked == 2);
    CHECK(has(r.messages, "one") && has(r.messages, "three") && !has(r.messages, "four"));
    CHECK(!give(STR("nothing"), "x", &already));
    CHECK(agent_replay(log_, STR("run-1"), &arena, &r, &e) && r.end == AGENT_FINISHED);
}

TEST(an_answer_is_checked_by_its_schema_and_corrected_three_times_at_most)
{
    struct script s = {.turns = {"not JSON", "{\"n\":-1}", "```json\n{\"n\": 7}\n```"}};
    struct script bad = {.turns = {"a", "b", "c", "d", "e"}};
    struct agent_options o = options(&s);
    struct agent_result r;
    struct err e;

    o.output = str_c(number_schema);
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_FINISHED && s.asked == 3);
    CHECK_STR(r.finish, "{\"n\":7}");
    CHECK(has(r.messages, "valid by this JSON Schema") && has(r.messages, "it is not JSON") &&
          has(r.messages, "/n"));
    CHECK(agent_replay(log_, STR("run-1"), &arena, &r, &e) && r.end == AGENT_FINISHED);
    CHECK_STR(r.finish, "{\"n\":7}");
    o = options(&bad);
    o.run = STR("run-2");
    o.output = str_c(number_schema);
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_FAILED && bad.asked == 4);
    CHECK_STR(r.reason, "output_invalid");
    CHECK(agent_replay(log_, STR("run-2"), &arena, &r, &e));
    CHECK_STR(r.reason, "output_invalid");
}

static unsigned settled;

static bool deny(void *ctx, struct arena *a, struct agent_result *out, struct err *e)
{
    (void)ctx, (void)a, (void)e;
    settled++;
    CHECK(has(out->messages, "Do it."));
    out->end = AGENT_STOPPED;
    out->reason = STR("guard_denied");
    out->text = STR("");
    return true;
}

static bool deny_later(void *ctx, struct arena *a, struct agent_result *out, struct err *e)
{
    if (settled == 0) {
        settled++;
        out->end = AGENT_WAITING;
        return true;
    }
    return deny(ctx, a, out, e);
}

TEST(a_settled_result_is_an_effect)
{
    struct script s = {.turns = {"the answer"}};
    struct agent_options o = options(&s);
    struct agent_result r;
    struct err e;

    settled = 0;
    o.settle = deny_later;
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_WAITING && settled == 1);
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_STOPPED && settled == 2);
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_STOPPED && settled == 2 && s.asked == 1);
    CHECK(agent_replay(log_, STR("run-1"), &arena, &r, &e));
    CHECK(r.end == AGENT_STOPPED);
    CHECK_STR(r.reason, "guard_denied");
}

/* ---- events ---- */

struct seen {
    char names[1024], last[256];
    struct buf json;
};

static void on_event(void *ctx, const struct run_event *ev)
{
    struct seen *x = ctx;
    size_t n = strlen(x->names);

    (void)snprintf(x->names + n, sizeof x->names - n, "%s ", ev->name);
    (void)snprintf(x->last, sizeof x->last, STR_FMT, STR_ARG(ev->id));
    CHECK(!memchr(ev->json.p, '\n', ev->json.n));
    buf_add(&x->json, ev->json);
}

static struct seen read_events(const char *after, bool thoughts, enum run_state *state)
{
    struct run_cursor *c = run_cursor_new();
    struct seen x = {.names = "", .last = ""};
    struct run_events_sink sink = {thoughts, on_event, &x};
    struct err e;

    buf_init(&x.json, (size_t)1 << 20);
    if (!run_cursor_read(c, str_c(after), &e) ||
        !run_events_read(log_, STR("run-1"), c, &sink, state, &e))
        fail_msg("%s", e.text);
    run_cursor_free(c);
    return x;
}

TEST(events_of_a_run_can_be_read_on_from_any_of_them)
{
    static const char all[] = "started message tool_call tool_call tool_result tool_result "
                              "message approval decided tool_call tool_result message ended ";
    struct script s = {.turns = {"!theirs {\"n\":1}\ndouble {\"n\":2}", "!pay {\"n\":5}", "done"}};
    struct agent_options o = options(&s);
    enum run_state now;
    struct seen x, rest;
    bool already;
    struct err e;

    (void)script_run(&o, &arena);
    x = read_events("", true, &now);
    CHECK(now == RUN_WAITS);
    /* The second call is done, the first is not: results come in order. */
    CHECK(strcmp(x.names, "started message tool_call tool_call ") == 0);
    CHECK(has(buf_str(&x.json), "\"client\":true"));
    buf_release(&x.json);
    CHECK(give(client_call(0)->key, "{\"a\":\n1}", &already));
    CHECK(script_run(&o, &arena).end == AGENT_WAITING);
    CHECK(
        agent_answer(log_,
                     STR("run-1"),
                     4,
                     &(struct agent_decision){.word = AGENT_APPROVE, .who = STR("me"), .now_us = 1},
                     &e));
    CHECK(script_run(&o, &arena).end == AGENT_FINISHED);
    x = read_events("", true, &now);
    CHECK(now == RUN_ENDED && strcmp(x.names, all) == 0);
    CHECK(has(buf_str(&x.json), "\"result\":{\"a\": 1}"));
    for (int i = 0; i <= 13; i++) {
        char after[16];
        const char *want = all;

        for (int k = 0; k < i; k++)
            want = strchr(want, ' ') + 1;
        (void)snprintf(after, sizeof after, "%d", i);
        rest = read_events(after, true, &now);
        CHECK(strcmp(rest.names, want) == 0);
        buf_release(&rest.json);
    }
    buf_release(&x.json);
}

static bool think_aloud(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                        struct arena *a, struct ask_reply *reply)
{
    bool ok = script_ask(ctx, q, cancel, a, reply);

    reply->reasoning = STR("the invoice is due");
    return ok;
}

TEST(who_is_asked_for_approval_reads_the_models_reason)
{
    struct script s = {.turns = {"!pay {\"n\":5}", "done"}};
    struct agent_options o = options(&s);
    struct run_asker who = {STR(""), true}, other = {STR(""), false};
    struct agent_result r;
    enum run_state now;
    struct buf out;
    struct seen x;
    struct err e;

    o.ask.ask = think_aloud;
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_WAITING);
    CHECK_STR(r.pending.why, "the invoice is due");
    buf_init(&out, (size_t)1 << 20);
    CHECK(run_json_one(log_, STR("run-1"), &who, &out, &e));
    CHECK(has(buf_str(&out), "\"why\":\"the invoice is due\""));
    buf_reset(&out); /* the reason may be reasoning, so a key without access must not see it */
    CHECK(run_json_one(log_, STR("run-1"), &other, &out, &e));
    CHECK(!has(buf_str(&out), "the invoice is due"));
    buf_release(&out);
    CHECK(
        agent_answer(log_,
                     STR("run-1"),
                     1,
                     &(struct agent_decision){.word = AGENT_APPROVE, .who = STR("me"), .now_us = 1},
                     &e));
    CHECK(script_run(&o, &arena).end == AGENT_FINISHED);
    x = read_events("", true, &now);
    CHECK(has(buf_str(&x.json), "\"why\":\"the invoice is due\""));
    CHECK(str_starts(str_c(x.names), STR("started reasoning message approval decided ")));
    buf_release(&x.json);
    x = read_events("", false, &now);
    CHECK(str_starts(str_c(x.names), STR("started message approval decided ")));
    CHECK(!has(buf_str(&x.json), "the invoice is due"));
    CHECK(strcmp(x.last, "10") == 0); /* the same number for every reader */
    buf_release(&x.json);
}

TEST(the_time_of_a_run_does_not_pass_while_it_waits)
{
    struct script s = {.turns = {"!pay {\"n\":5}", "done"}};
    struct agent_options o = options(&s);
    struct clock clock;
    struct err e;

    clock_fake_init(&clock, 1700000000000);
    o.clock = &clock;
    o.limits.time_ms = 60000;
    CHECK(script_run(&o, &arena).end == AGENT_WAITING);
    clock_fake_advance_ms(&clock, 3600000);
    CHECK(agent_answer(log_,
                       STR("run-1"),
                       1,
                       &(struct agent_decision){.word = AGENT_APPROVE,
                                                .who = STR("me"),
                                                .now_us = clock_wall_ms(&clock) * 1000},
                       &e));
    CHECK(script_run(&o, &arena).end == AGENT_FINISHED);
}

TEST(the_callers_note_is_written_once)
{
    str out;
    struct err e;

    CHECK(agent_run_note(log_, STR("run-1"), STR(""), &arena, &out, &e) && !out.n);
    CHECK(agent_run_note(log_, STR("run-1"), STR("first"), &arena, &out, &e));
    CHECK_STR(out, "first");
    CHECK(agent_run_note(log_, STR("run-1"), STR("second"), &arena, &out, &e));
    CHECK_STR(out, "first");
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(a_run_waits_for_the_results_of_its_callers_tools),
        S(an_answer_is_checked_by_its_schema_and_corrected_three_times_at_most),
        S(a_settled_result_is_an_effect),
        S(events_of_a_run_can_be_read_on_from_any_of_them),
        S(who_is_asked_for_approval_reads_the_models_reason),
        S(the_time_of_a_run_does_not_pass_while_it_waits),
        S(the_callers_note_is_written_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
