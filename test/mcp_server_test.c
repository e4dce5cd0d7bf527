/* The server's core, fed through a pipe: tools that request input repeatedly, expired states,
 * lists, limits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "mcp/rpc.h"
#include "mcp/server.h"
#include "test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define META(caps)                                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":" caps "}"
#define CALL(id, name, more)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\"" more "," META("{\"elicitation\":{}}") "}}\n"

static struct clock test_clock;

/* Takes three rounds: each of the first two requests an input and stores its number in the
 * state. */
static void count(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    int *calls = ctx;

    ++*calls;
    if (str_eq(ask->state, STR("two")) && json_find(ask->doc, ask->inputs, STR("k"))) {
        mcp_answer_text(answer, STR("three"));
        return;
    }
    mcp_answer_input(answer, STR("k"), STR("elicitation/create"), STR("{\"message\":\"m\"}"));
    mcp_answer_state(answer, ask->state.n ? STR("two") : STR("one"));
}

static void large(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    static char text[1 << 20];

    (void)ctx;
    (void)ask;
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 20; i++)
        mcp_answer_text(answer, (str){text, sizeof text});
}

static const struct mcp_tool tools[] = {
    {.name = "count", .description = "d", .run = count},
    {.name = "other", .description = "d", .run = count},
    {.name = "large", .description = "d", .run = large},
};

/* Runs a server on these bytes; returns its output, which the caller frees. */
static char *talk(const char *input, struct mcp_server *given, int *calls)
{
    struct mcp_set set = {.tools = tools, .tool_count = COUNT_OF(tools), .ctx = calls};
    struct mcp_server_options o = {.sets = {&set}, .clock = &test_clock};
    struct mcp_server *s;
    char *out;
    struct err e;
    int in[2], to = memfd_create("out", MFD_CLOEXEC);
    off_t size;

    s = given ? given : mcp_server_new(&o, &e);
    CHECK(s && to >= 0 && pipe(in) == 0);
    CHECK((size_t)write(in[1], input, strlen(input)) == strlen(input));
    close(in[1]);
    CHECK(mcp_serve_stdio(s, in[0], to, &e));
    close(in[0]);
    size = lseek(to, 0, SEEK_END);
    out = base_alloc((size_t)size + 1);
    CHECK(pread(to, out, (size_t)size, 0) == size);
    out[size] = 0;
    close(to);
    if (!given)
        mcp_server_free(s);
    return out;
}

/* The state in a reply, in its JSON form. */
static void state_of(const char *reply, char state[512])
{
    const char *at = strstr(reply, "\"requestState\":\"");

    CHECK(at);
    at += strlen("\"requestState\":\"");
    (void)snprintf(state, 512, "%.*s", (int)strcspn(at, "\""), at);
}

struct world {
    int calls;
    struct mcp_set set;
    struct mcp_server *server;
};

static void world_init(struct world *w)
{
    struct err e;

    w->calls = 0;
    w->set = (struct mcp_set){.tools = tools, .tool_count = COUNT_OF(tools), .ctx = &w->calls};
    w->server =
        mcp_server_new(&(struct mcp_server_options){.sets = {&w->set}, .clock = &test_clock}, &e);
    CHECK(w->server);
}

static char *ask_with_state(struct world *w, const char *tool, const char *state)
{
    char line[2048];

    (void)snprintf(line,
                   sizeof line,
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"%s\",\"inputResponses\":{\"k\":{\"action\":\"accept\"}},\"requestState\":"
                   "\"%s\"," META("{\"elicitation\":{}}") "}}\n",
                   tool,
                   state);
    return talk(line, w->server, &w->calls);
}

TEST(a_modern_call_goes_on_with_the_state_it_left)
{
    struct world w;
    char token[512], *out;

    clock_fake_init(&test_clock, 1700000000000);
    world_init(&w);
    out = talk(CALL("1", "count", ""), w.server, &w.calls);
    CHECK(strstr(out, "input_required") && strstr(out, "inputRequests"));
    state_of(out, token);
    free(out);
    out = ask_with_state(&w, "count", token);
    CHECK(strstr(out, "input_required"));
    state_of(out, token);
    free(out);
    out = ask_with_state(&w, "count", token);
    CHECK_F(strstr(out, "\"three\"") && strstr(out, "\"resultType\":\"complete\""), "%s", out);
    CHECK_INT(w.calls, 3);
    free(out);
    mcp_server_free(w.server);
}

TEST(a_state_is_not_taken_for_another_tool_nor_too_late_nor_changed)
{
    struct world w;
    char token[512], changed[512], *out;

    clock_fake_init(&test_clock, 1700000000000);
    world_init(&w);
    out = talk(CALL("1", "count", ""), w.server, &w.calls);
    state_of(out, token);
    free(out);
    out = ask_with_state(&w, "other", token);
    CHECK(strstr(out, "-32602"));
    free(out);
    for (size_t i = 0; i < strlen(token); i += 7) {
        (void)snprintf(changed, sizeof changed, "%s", token);
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        out = ask_with_state(&w, "count", changed);
        CHECK_F(strstr(out, "-32602"), "%s", changed);
        free(out);
    }
    clock_fake_advance_ms(&test_clock, 599000);
    out = ask_with_state(&w, "count", token);
    CHECK(strstr(out, "input_required"));
    free(out);
    clock_fake_advance_ms(&test_clock, 2000);
    out = ask_with_state(&w, "count", token);
    CHECK(strstr(out, "-32602"));
    free(out);
    mcp_server_free(w.server);
}

#define BEGIN                                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-11-25\",\"capabilities\":{\"elicitation\":{}}}}\n"
#define OLD_CALL                                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/"                                        \
    "call\",\"params\":{\"name\":\"count\"}}\n"
#define OLD_ANSWER(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"action\":\"accept\"}}\n"

TEST(a_legacy_call_asks_on_the_stream_until_it_knows)
{
    int calls = 0;
    char *out = talk(BEGIN OLD_CALL OLD_ANSWER("1") OLD_ANSWER("2"), NULL, &calls);

    CHECK_INT(calls, 3);
    CHECK(strstr(out, "\"id\":1,\"method\":\"elicitation/create\""));
    CHECK(strstr(out, "\"id\":2,\"method\":\"elicitation/create\""));
    CHECK_F(
        strstr(out,
               "\"id\":\"c\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"three\"}]}"),
        "%s",
        out);
    free(out);
}

TEST(a_client_that_cannot_answer_ends_the_call_and_not_the_server)
{
    int calls = 0;
    char *out = talk(BEGIN OLD_CALL
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"busy\"}}\n"
                     "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n"
                     "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n",
                     NULL,
                     &calls);

    CHECK_INT(calls, 1);
    CHECK(strstr(out, "busy") && strstr(out, "\"isError\":true"));
    CHECK(strstr(out, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}"));
    free(out);
}

TEST(an_answer_that_is_nested_too_deeply_ends_the_call_and_not_the_server)
{
    enum { LEVELS = JSON_DEPTH_MAX - 2 }; /* the result and the message around it take two levels */
    int calls = 0;
    struct buf in;
    char *out;

    buf_init(&in, 65536);
    buf_add(&in, STR(BEGIN OLD_CALL "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":"));
    for (size_t i = 0; i < LEVELS; i++)
        buf_add_c(&in, '[');
    for (size_t i = 0; i < LEVELS; i++)
        buf_add_c(&in, ']');
    buf_add(&in, STR("}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n"));
    buf_add_c(&in, 0);
    out = talk(in.p, NULL, &calls);
    CHECK_INT(calls, 1);
    CHECK(strstr(out, "nested too deeply") && strstr(out, "\"isError\":true"));
    CHECK(strstr(out, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}"));
    free(out);
    buf_release(&in);
}

TEST(a_cancelled_call_is_not_answered)
{
    int calls = 0;
    char *out = talk(BEGIN OLD_CALL
                     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                     "\"requestId\":\"c\"}}\n" OLD_ANSWER("1"),
                     NULL,
                     &calls);

    CHECK_INT(calls, 1);
    CHECK(!strstr(out, "\"id\":\"c\""));
    free(out);
}

TEST(a_result_that_is_too_large_is_an_error)
{
    int calls = 0;
    char *out = talk(CALL("1", "large", ""), NULL, &calls);

    CHECK(strstr(out, "too large") && strlen(out) < 1000);
    free(out);
}

TEST(the_input_may_be_cut_anywhere_and_end_anywhere)
{
    static const char input[] = BEGIN OLD_CALL;
    size_t whole = 0;

    for (size_t n = 0; n < sizeof input; n++) {
        char part[sizeof input], *out;
        int calls = 0;

        (void)snprintf(part, sizeof part, "%.*s", (int)n, input);
        out = talk(part, NULL, &calls);
        whole += calls == 1;
        free(out);
    }
    CHECK(whole == 2); /* with and without the final newline */
}

TEST(two_tools_of_one_name_and_a_wrong_schema_are_refused)
{
    static const struct mcp_tool twice[] = {{.name = "a", .run = count},
                                            {.name = "a", .run = count}},
                                 wrong[] = {{.name = "a", .input = "{\"type\":7}", .run = count}};
    struct mcp_set sets[] = {{.tools = twice, .tool_count = 2}, {.tools = wrong, .tool_count = 1}};
    struct err e;

    for (size_t i = 0; i < COUNT_OF(sets); i++)
        CHECK(!mcp_server_new(&(struct mcp_server_options){.sets = {&sets[i]}}, &e) && e.text[0]);
}

TEST(a_version_as_long_as_a_message_gets_an_error_that_can_be_read)
{
    static const char head[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/clientCapabilities\":{},"
        "\"io.modelcontextprotocol/protocolVersion\":\"";
    int in = memfd_create("in", MFD_CLOEXEC), to = memfd_create("out", MFD_CLOEXEC);
    struct mcp_message m;
    struct mcp_fault fault;
    struct world w;
    struct json doc;
    struct arena a;
    struct buf b;
    struct err e;
    char *out;
    off_t size;

    world_init(&w);
    buf_init(&b, MCP_MESSAGE_MAX);
    buf_add(&b, str_c(head));
    while (b.n < MCP_MESSAGE_MAX - 5)
        buf_add_c(&b, 'v');
    buf_add(&b, STR("\"}}}\n"));
    CHECK(b.n == MCP_MESSAGE_MAX);
    CHECK(write(in, b.p, b.n) == (ssize_t)b.n && lseek(in, 0, SEEK_SET) == 0);
    CHECK_F(mcp_serve_stdio(w.server, in, to, &e), "%s", e.text);
    size = lseek(to, 0, SEEK_END);
    out = base_alloc((size_t)size + 1);
    CHECK(pread(to, out, (size_t)size, 0) == size);
    json_init(&doc);
    arena_init(&a, MCP_MESSAGE_MAX);
    CHECK_F(mcp_read(&doc, (str){out, (size_t)size}, &a, &m, &fault), "%s", fault.why.text);
    CHECK(m.kind == MCP_ERROR && str_eq(m.id, STR("1")));
    arena_release(&a);
    json_release(&doc);
    free(out);
    buf_release(&b);
    close(in);
    close(to);
    mcp_server_free(w.server);
}

TEST_MAIN(T(a_version_as_long_as_a_message_gets_an_error_that_can_be_read),
          T(a_modern_call_goes_on_with_the_state_it_left),
          T(a_state_is_not_taken_for_another_tool_nor_too_late_nor_changed),
          T(a_legacy_call_asks_on_the_stream_until_it_knows),
          T(a_client_that_cannot_answer_ends_the_call_and_not_the_server),
          T(an_answer_that_is_nested_too_deeply_ends_the_call_and_not_the_server),
          T(a_cancelled_call_is_not_answered), T(a_result_that_is_too_large_is_an_error),
          T(the_input_may_be_cut_anywhere_and_end_anywhere),
          T(two_tools_of_one_name_and_a_wrong_schema_are_refused))
