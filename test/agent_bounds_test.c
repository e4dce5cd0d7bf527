/* agent_bounds_test.c - sizes that a model, a tool or a client chooses: at each limit the run fails
 * with an error, and the process continues.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/results.h"
#include "agent_help.h"
#include "apps/agents/agents.h"

#include <time.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)4 << 20)

static struct arena arena;
static struct toolbox *box;
static char dir[64];

static bool say_nothing(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)c, (void)out, (void)e;
    return true;
}

static void add(const char *name,
                bool (*run)(void *, const struct tool_call *, struct buf *, struct err *))
{
    struct tool t = {.name = str_c(name),
                     .description = STR("a tool"),
                     .schema = str_c(number_schema),
                     .run = run};
    struct err e;

    if (!toolbox_add(box, &t, &e))
        fail_msg("%s", e.text);
}

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, (size_t)1 << 30);
    box = toolbox_new(&clock_real);
    (void)snprintf(dir, sizeof dir, "%s/agent_bounds.XXXXXX", test_tmp());
    return mkdtemp(dir) ? 0 : -1;
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

/* One property: its name is long and has an escape, and its own schema has "required": true. */
static void write_long_name(struct buf *out, size_t size)
{
    buf_add(out, STR("{\"type\":\"dict\",\"properties\":{\"\\n"));
    for (size_t i = 0; i < size; i++)
        buf_add_c(out, 'a');
    buf_add(out, STR("\":{\"type\":\"int\",\"required\":true}}}"));
}

/* Properties whose own schemas have "required": true, and a `required` list that names other
 * properties. */
static void write_many_required(struct buf *out, int n)
{
    buf_add(out, STR("{\"type\":\"dict\",\"required\":["));
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s\"b%d\"", i ? "," : "", i);
    buf_add(out, STR("],\"properties\":{"));
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s\"a%d\":{\"required\":true}", i ? "," : "", i);
    buf_add(out, STR("}}"));
}

TEST(a_huge_schema_in_loose_words_costs_neither_the_process_nor_much_time)
{
    static const size_t sizes[] = {TEXT_MAX / 2 + 4096, TEXT_MAX - 4096, 2 * TEXT_MAX};
    struct tool t = {.name = STR("t"), .description = STR(""), .run = say_nothing};
    clock_t from = clock();
    struct buf schema;
    struct err e;

    for (size_t i = 0; i <= COUNT_OF(sizes); i++) {
        struct toolbox *b = toolbox_new(&clock_real);

        buf_init(&schema, 3 * TEXT_MAX);
        if (i < COUNT_OF(sizes))
            write_long_name(&schema, sizes[i]);
        else
            write_many_required(&schema, 60000);
        t.schema = buf_str(&schema);
        (void)!toolbox_add(b, &t, &e);
        toolbox_free(b);
        buf_release(&schema);
    }
    CHECK(clock() - from < 5 * CLOCKS_PER_SEC);
}

TEST(tools_that_are_too_large_together_are_an_error)
{
    struct toolbox *b = toolbox_new(&clock_real);
    struct tool t = {.schema = STR(""), .run = say_nothing};
    struct buf text;
    struct err e;
    char name[16];
    bool ok = true;

    buf_init(&text, 3 * TEXT_MAX);
    for (size_t i = 0; i < 2 * TEXT_MAX; i++)
        buf_add_c(&text, 'a');
    t.description = buf_str(&text);
    for (int i = 0; ok && i < 64; i++) {
        (void)snprintf(name, sizeof name, "t%d", i);
        t.name = str_c(name);
        ok = toolbox_add(b, &t, &e);
    }
    CHECK(!ok && e.code == ERR_LIMIT);
    CHECK(strstr(e.text, "too large together"));
    CHECK(toolbox_count(b) > 1);
    buf_release(&text);
    toolbox_free(b);
}

static bool count_bytes(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)e;
    buf_printf(out, "%zu", c->arguments.n);
    return true;
}

TEST(a_call_may_have_long_arguments_and_a_long_id)
{
    struct toolbox *b = toolbox_new(&clock_real);
    struct tool_result r = {.ok = false};
    struct tool_batch batch = {.results = &r, .n = 1};
    struct buf long_text, canonical;
    struct err e;

    CHECK(toolbox_add(
        b,
        &(struct tool){
            .name = STR("t"), .description = STR(""), .schema = STR(""), .run = count_bytes},
        &e));
    buf_init(&long_text, 5 * TEXT_MAX);
    buf_add(&long_text, STR("{\"a\":["));
    while (long_text.n < 4 * TEXT_MAX)
        buf_add(&long_text, STR("{},"));
    buf_add(&long_text, STR("0]}"));
    buf_init(&canonical, 5 * TEXT_MAX);
    tool_canonical(&canonical, buf_str(&long_text));
    CHECK(str_eq(buf_str(&canonical), buf_str(&long_text)));
    r.tool = toolbox_find(b, STR("t"));
    r.call = (struct tool_call){.id = buf_str(&long_text),
                                .name = STR("t"),
                                .arguments = buf_str(&long_text),
                                .key = STR("k"),
                                .session = STR("s")};
    buf_init(&r.out, TOOL_RESULT_MAX);
    toolbox_run(b, &batch);
    CHECK(r.ok);
    buf_release(&r.out);
    buf_release(&canonical);
    buf_release(&long_text);
    toolbox_free(b);
}

TEST(calls_of_tools_that_are_not_there_take_little_memory)
{
    struct toolbox *many = toolbox_new(&clock_real);
    struct script s = {.turns = {"!", "sorry"}};
    struct agent_options o = script_options(&s, many);
    struct agent_result r;
    char name[80];
    struct buf calls;
    struct err e;

    for (int i = 0; i < TOOL_COUNT_MAX; i++) {
        (void)snprintf(name, sizeof name, "tool_%03d_%050d", i, 0);
        CHECK(toolbox_add(
            many,
            &(struct tool){
                .name = str_c(name), .description = STR(""), .schema = STR(""), .run = say_nothing},
            &e));
    }
    buf_init(&calls, 65536);
    for (int i = 0; i < TOOL_CALLS_MAX; i++)
        buf_printf(&calls, "%sunknown {}", i ? "\n" : "!");
    buf_add_c(&calls, '\0');
    s.turns[0] = calls.p;
    r = script_run(&o, &arena);
    CHECK(r.step_count == TOOL_CALLS_MAX + 1);
    CHECK(has(r.steps[0].observation, "there are: tool_000_"));
    CHECK(arena.size < (size_t)64 << 20);
    buf_release(&calls);
    toolbox_free(many);
}

static bool huge(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)c, (void)e;
    for (int i = 0; i < 400000; i++)
        buf_add(out, STR("0123456789"));
    return true;
}

TEST(a_run_that_takes_too_much_memory_is_stopped)
{
    struct script s = {.turns = {NULL}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r;
    char turns[SCRIPT_MAX][32];
    struct arena small;

    add("huge", huge);
    for (int i = 0; i < SCRIPT_MAX; i++) {
        (void)snprintf(turns[i], sizeof turns[i], "!huge {\"n\":%d}", i);
        s.turns[i] = turns[i];
    }
    arena_init(&small, (size_t)64 << 20);
    r = script_run(&o, &small);
    CHECK(r.end == AGENT_STOPPED && r.tool_calls > 2);
    CHECK_STR(r.reason, "memory_limit_exceeded");
    arena_release(&small);
}

/* A reply of 9 MB in each turn, with a call. */
static bool talks_much(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                       struct arena *a, struct ask_reply *reply)
{
    unsigned *turn = ctx;
    char call[32];
    struct buf text;

    (void)q, (void)cancel;
    *reply = (struct ask_reply){.id = STR("r"), .usage = chat_usage_none, .recorded = true};
    buf_init(&text, (size_t)16 << 20);
    while (text.n < 9000000)
        buf_add(&text, STR("much too much "));
    reply->text = arena_dup(a, buf_str(&text));
    reply->reasoning = STR("");
    buf_release(&text);
    (void)snprintf(call, sizeof call, "double {\"n\":%u}", ++*turn);
    calls_of(call, *turn, a, reply);
    return true;
}

TEST(a_run_whose_history_is_too_large_ends_with_its_reason)
{
    struct script s = {.turns = {NULL}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r;
    unsigned turn = 0;
    struct err e;

    add("double", say_nothing);
    o.ask = (struct agent_ask){talks_much, &turn};
    CHECK_F(agent_run(&o, &arena, &r, &e), "%s", e.text);
    CHECK(r.end == AGENT_STOPPED && turn < 6);
    CHECK_STR(r.reason, "memory_limit_exceeded");
    CHECK(has(r.detail, "history"));
    CHECK_STR(r.messages, "[]");
}

TEST(a_search_for_a_line_break_finds_each_once)
{
    struct agent_results *k = agent_results_new();
    const struct tool *t;
    bool reported = false;
    struct buf out;
    struct err e;

    CHECK(agent_results_put(k, STR("one\ntwo\n\nthree")) == 1);
    CHECK_F(agent_results_add_tool(k, box, &e), "%s", e.text);
    t = toolbox_find(box, STR(RESULT_SEARCH));
    CHECK(t);
    buf_init(&out, 65536);
    CHECK(t->run(t->ctx,
                 &(struct tool_call){.arguments = STR("{\"result\":1,\"query\":\"\\n\"}"),
                                     .reported = &reported},
                 &out,
                 &e));
    CHECK_STR(buf_str(&out), "byte 3: one\nbyte 7: two\nbyte 8: \n");
    buf_release(&out);
    agent_results_free(k);
}

TEST(a_log_that_is_too_large_is_an_error)
{
    struct agent_log *log = log_in(dir, &arena);
    struct agent_effect *all, f = {.run = STR("r"),
                                   .kind = STR("tool"),
                                   .name = STR("big"),
                                   .key = STR("k"),
                                   .request = STR("{}"),
                                   .state = AGENT_DONE};
    struct arena small;
    struct buf text;
    struct err e;
    size_t n;

    buf_init(&text, 1 << 20);
    for (int i = 0; i < 100000; i++)
        buf_add(&text, STR("0123456789"));
    f.result = buf_str(&text);
    for (f.seq = 0; f.seq < 4; f.seq++)
        CHECK(agent_log_put(log, &f, 1, &e));
    arena_init(&small, (size_t)3 << 20);
    CHECK(!agent_log_read(log, STR("r"), &small, &all, &n, &e) && e.code == ERR_LIMIT);
    CHECK(agent_log_read(log, STR("r"), &arena, &all, &n, &e) && n == 4);
    arena_release(&small);
    buf_release(&text);
    agent_log_close(log);
}

/* Memory holds each text of a request in the row, in the parsed request, and in its copy. */
TEST(a_list_of_runs_with_large_metadata_takes_little_memory_at_once)
{
    enum { RUNS = 12, QUOTES = (4 << 20) - 64 };
    struct agents_run_query q = {.name = STR("a"), .count_max = RUNS};
    struct run_asker who = {.key = STR("")};
    struct agent_row row = {.app = STR(AGENTS_APP),
                            .status = STR("failed"),
                            .reason = STR(""),
                            .session_id = STR("s"),
                            .result = STR(""),
                            .key = STR("")};
    struct buf input, out;
    struct agent_log *log;
    char path[128], id[8];
    struct json doc;
    struct err e;

    (void)snprintf(path, sizeof path, "sqlite:%s/list.db", dir);
    CHECK(agent_log_open(str_c(path), &log, &e));
    buf_init(&input, (size_t)32 << 20);
    buf_add(&input, STR("{\"name\":\"a\",\"input\":\"i\",\"metadata\":\"{\\\"m\\\":\\\""));
    for (int i = 0; i < QUOTES; i++)
        buf_add(&input, STR("\\\\\\\"")); /* an escaped quote in JSON in a JSON string */
    buf_add(&input, STR("\\\"}\"}"));
    row.input = buf_str(&input);
    for (int i = 0; i < RUNS; i++) {
        (void)snprintf(id, sizeof id, "r%d", i);
        row.id = str_c(id);
        CHECK_F(agent_log_run_put(log, &row, &e), "%s", e.text);
    }
    buf_init(&out, (size_t)64 << 20);
    json_init(&doc);
    CHECK_F(agents_write_runs(log, &q, &who, &out, &e), "%s", e.text);
    CHECK(json_parse(&doc, buf_str(&out), &e));
    CHECK_INT(json_count(&doc, json_find(&doc, json_root(&doc), STR("runs"))), RUNS);
    json_release(&doc);
    buf_release(&out);
    buf_release(&input);
    agent_log_close(log);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(a_huge_schema_in_loose_words_costs_neither_the_process_nor_much_time),
        S(tools_that_are_too_large_together_are_an_error),
        S(a_call_may_have_long_arguments_and_a_long_id),
        S(calls_of_tools_that_are_not_there_take_little_memory),
        S(a_run_that_takes_too_much_memory_is_stopped),
        S(a_run_whose_history_is_too_large_ends_with_its_reason),
        S(a_search_for_a_line_break_finds_each_once),
        S(a_log_that_is_too_large_is_an_error),
        S(a_list_of_runs_with_large_metadata_takes_little_memory_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
