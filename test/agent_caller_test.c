/* agent_caller_test.c - a run whose caller stores the conversation and decides when it is over.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/history.h"
#include "agent_help.h"

static struct arena arena;
static struct toolbox *box;
static char dir[64];

/* A conversation that the caller stores. */
struct caller {
    struct script *script;
    struct history messages;
    str body; /* of the last request */
    unsigned written, replies, results;
    const char *fails; /* name of the hook that fails; or NULL */
    bool finishes;     /* when the first results arrive */
};

static bool echo(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)e;
    buf_add(out, c->arguments);
    return true;
}

static int setup(void **state)
{
    struct tool t = {.name = STR("echo"),
                     .description = STR("a tool"),
                     .schema = str_c(number_schema),
                     .flags = TOOL_PURE,
                     .run = echo};
    struct err e;

    (void)state;
    arena_init(&arena, (size_t)1 << 30);
    box = toolbox_new(&clock_real);
    (void)snprintf(dir, sizeof dir, "%s/agent_test.XXXXXX", test_tmp());
    return toolbox_add(box, &t, &e) && mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    toolbox_free(box);
    arena_release(&arena);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static bool fine(const struct caller *c, const char *hook, struct err *e)
{
    return !c->fails || strcmp(c->fails, hook) != 0 ||
           err_set(e, ERR_SYSTEM, "%s cannot be stored", hook);
}

static bool write_messages(void *ctx, struct buf *out, struct err *e)
{
    struct caller *c = ctx;
    struct history h;

    history_init(&h, (size_t)1 << 20);
    history_text(&h, "system", arena_printf(&arena, "call %u", ++c->written));
    history_text(&h, "user", STR("From the caller."));
    history_add_messages(&h, str_slice(buf_str(&c->messages.json), 1, c->messages.json.n));
    buf_add(out, str_slice(buf_str(&h.json), 1, h.json.n));
    history_release(&h);
    return fine(c, "the messages", e);
}

static bool on_reply(void *ctx, const struct ask_reply *reply, bool *finished, struct err *e)
{
    struct caller *c = ctx;

    c->replies++;
    history_reply(&c->messages, reply);
    *finished = !reply->call_count;
    return fine(c, "the reply", e);
}

static bool on_results(void *ctx, const struct ask_reply *reply, const struct agent_done *done,
                       bool *finished, struct err *e)
{
    struct caller *c = ctx;

    c->results++;
    for (size_t i = 0; i < reply->call_count; i++) {
        CHECK(done[i].ok == (done[i].tool != NULL));
        history_result(&c->messages, reply->calls[i].id, done[i].result);
    }
    *finished = c->finishes;
    return fine(c, "the result", e);
}

static bool caller_ask(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                       struct arena *a, struct ask_reply *reply)
{
    struct caller *c = ctx;

    c->body = arena_dup(&arena, q->body);
    return script_ask(c->script, q, cancel, a, reply);
}

static struct agent_options caller_options(struct caller *c, struct script *s)
{
    struct agent_options o = script_options(s, box);

    c->script = s;
    history_init(&c->messages, (size_t)1 << 20);
    o.ask = (struct agent_ask){caller_ask, c};
    o.write_messages = write_messages;
    o.on_reply = on_reply;
    o.on_results = on_results;
    o.ctx = c;
    return o;
}

TEST(each_model_call_has_the_messages_of_the_caller)
{
    struct script s = {.turns = {"!echo {\"n\":1}\nnone {}", "!echo {\"n\":2}", "Two."}};
    struct caller c = {.fails = NULL};
    struct agent_options o = caller_options(&c, &s);
    struct agent_result r = script_run(&o, &arena);

    CHECK(r.end == AGENT_FINISHED && r.iterations == 3);
    CHECK_STR(r.text, "Two.");
    CHECK_INT(c.written, 3);
    CHECK_INT(c.replies, 3);
    CHECK_INT(c.results, 2);
    CHECK(has(c.body,
              "\"messages\":[{\"role\":\"system\",\"content\":\"call 3\"},{\"role\":\"user\""));
    CHECK(has(c.body, "From the caller.") && !has(c.body, "You help."));
    CHECK(has(buf_str(&c.messages.json), "there is no tool") && has(c.body, "{\\\"n\\\":2}"));
    history_release(&c.messages);
}

TEST(the_caller_ends_the_run_with_a_reply_or_with_results)
{
    struct script empty = {.turns = {""}}, calls = {.turns = {"!echo {\"n\":1}"}};
    struct caller c = {.fails = NULL}, ends = {.finishes = true};
    struct agent_options o = caller_options(&c, &empty);
    struct agent_result r = script_run(&o, &arena);

    CHECK(r.end == AGENT_FINISHED && r.text.n == 0); /* and the run makes no second model call */
    CHECK_INT(atomic_load(&empty.asked), 1);
    history_release(&c.messages);
    o = caller_options(&ends, &calls);
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_FINISHED && r.tool_calls == 1);
    CHECK_INT(atomic_load(&calls.asked), 1);
    history_release(&ends.messages);
}

TEST(a_caller_that_cannot_store_breaks_the_run)
{
    static const char *const hooks[] = {"the messages", "the reply", "the result"};

    for (size_t i = 0; i < COUNT_OF(hooks); i++) {
        struct script s = {.turns = {"!echo {\"n\":1}", "Never."}};
        struct caller c = {.fails = hooks[i]};
        struct agent_options o = caller_options(&c, &s);
        struct agent_result r;
        struct err e;

        CHECK(!agent_run(&o, &arena, &r, &e));
        CHECK_F(has(str_c(e.text), hooks[i]), "%s", e.text);
        CHECK_INT(atomic_load(&s.asked), i > 0);
        CHECK_INT(c.results, i == 2);
        history_release(&c.messages);
    }
}

TEST(the_same_calls_are_allowed_as_often_as_the_limit_says)
{
    struct script s = {.turns = {"!echo {\"n\":1}",
                                 "!echo {\"n\":1}",
                                 "!echo {\"n\":1}",
                                 "!echo {\"n\":1}",
                                 "!echo {\"n\":1}",
                                 "!echo {\"n\":1}",
                                 "!echo {\"n\":1}",
                                 "Done."}};
    struct agent_options o = script_options(&s, box);
    struct agent_log *log = log_in(dir, &arena);
    struct agent_result r, again;
    struct err e;

    o.limits.repeats = 5;
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_STOPPED && r.iterations == 6);
    CHECK_STR(r.reason, "loop_detected");
    CHECK_STR(r.detail, "the same calls were made 6 times in a row");
    o.limits.repeats = 16;
    o.log = log;
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_FINISHED && r.iterations == 8);
    CHECK_F(agent_replay(log, o.run, &arena, &again, &e), "%s", e.text);
    CHECK(again.end == AGENT_FINISHED && again.iterations == 8);
    agent_log_close(log);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(each_model_call_has_the_messages_of_the_caller),
        S(the_caller_ends_the_run_with_a_reply_or_with_results),
        S(a_caller_that_cannot_store_breaks_the_run),
        S(the_same_calls_are_allowed_as_often_as_the_limit_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
