/* mcp_toolset_test.c - the tools of MCP servers in a toolbox: one of our servers, and one from npm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/mcp_tools.h"
#include "base/file.h"
#include "base/proc.h"
#include "test.h"

#include <pthread.h>
#include <unistd.h>

static const char tools[] =
    "[{\"name\":\"reads\",\"annotations\":{\"readOnlyHint\":true},\"text\":\"got {}\","
    "\"schema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"
    "\"required\":[\"n\"]}},"
    "{\"name\":\"same\",\"annotations\":{\"idempotentHint\":true},\"text\":\"key "
    "password=hunter2hunter2\"},"
    "{\"name\":\"does\",\"description\":\"acts\",\"text\":\"done\"},"
    "{\"name\":\"fails\",\"error\":\"denied: password=hunter2hunter2\"},"
    "{\"name\":\"data\",\"structured\":{\"answer\":42}},"
    "{\"name\":\"odd/name\",\"text\":\"odd\"},"
    "{\"name\":\"broken\",\"schema\":{\"type\":\"object\",\"properties\":{\"a\":{\"pattern\":"
    "\"(\"}}},\"text\":\"ran\"},"
    "{\"name\":\"slow\",\"slow\":20,\"text\":\"late\"}]";

struct ground {
    struct arena arena;
    struct mcp_io *io;
    struct mcp_client *client;
    struct toolbox *box;
    struct mcp_toolset *set;
    struct mask *mask;
    char path[64];
    str list;
};

static void open_ground(struct ground *g, const char *const *argv,
                        const struct mcp_toolset_server *row)
{
    struct mcp_toolset_server r = *row;
    const char *env[] = {arena_printf(&g->arena, "PATH=%s", getenv("PATH")).p, NULL};
    struct buf list;
    struct err e;

    g->io = mcp_io_new(NULL, &e);
    g->client = mcp_client_new(g->io, &(struct mcp_client_options){.argv = argv, .env = env}, &e);
    g->box = toolbox_new(&clock_real);
    g->set = mcp_toolset_new();
    CHECK(mask_new(&(struct mask_options){.groups = MASK_DEFAULT}, &g->mask, &e));
    r.client = g->client;
    r.mask = g->mask;
    buf_init(&list, 8 << 20);
    if (!mcp_toolset_list(g->client, 60000, NULL, &list, &e))
        fail_msg("%s", e.text);
    g->list = arena_dup(&g->arena, buf_str(&list));
    buf_release(&list);
    if (!mcp_toolset_add(g->set, g->box, &r, g->list, &e))
        fail_msg("%s", e.text);
}

static void close_ground(struct ground *g)
{
    toolbox_free(g->box);
    mcp_toolset_free(g->set);
    mcp_client_free(g->client);
    mcp_io_free(g->io);
    mask_free(g->mask);
    arena_release(&g->arena);
}

static void ours(struct ground *g, const struct mcp_toolset_server *row)
{
    static const char *argv[5];
    const char *source = getenv("RATIONALE_SOURCE");
    struct err e;

    memset(g, 0, sizeof *g);
    arena_init(&g->arena, 1 << 28);
    (void)snprintf(g->path, sizeof g->path, "/tmp/mcp_toolset.%d.json", (int)getpid());
    CHECK(file_write_atomic(g->path, str_c(tools), 0600, &e));
    argv[0] = "python3";
    argv[1] = "-SB";
    argv[2] = arena_printf(&g->arena, "%s/test/mcp/tools_server.py", source ? source : ".").p;
    argv[3] = g->path;
    open_ground(g, argv, row);
}

static struct tool_result call(struct ground *g, const char *name, const char *arguments,
                               const _Atomic bool *cancel)
{
    struct tool_result r = {.tool = toolbox_find(g->box, str_c(name)),
                            .call = {.id = STR("1"),
                                     .name = str_c(name),
                                     .arguments = str_c(arguments),
                                     .key = STR("key"),
                                     .session = STR("s")}};
    struct tool_batch b = {.results = &r, .n = 1, .cancel = cancel};

    CHECK_F(r.tool, "no tool %s", name);
    buf_init(&r.out, TOOL_RESULT_MAX);
    toolbox_run(g->box, &b);
    return r;
}

static bool gives(struct ground *g, const char *name, const char *arguments, const char *want)
{
    struct tool_result r = call(g, name, arguments, NULL);
    bool fails = str_starts(str_c(want), STR(TOOL_REPORTS));
    bool same = r.ok == !fails && r.reported == fails &&
                str_find(buf_str(&r.out), str_c(want)) != STR_NONE &&
                str_find(buf_str(&r.out), STR("hunter2")) == STR_NONE;

    if (!same)
        print_error("%s gave " STR_FMT " %s\n", name, STR_ARG(buf_str(&r.out)), r.err.text);
    buf_release(&r.out);
    return same;
}

TEST(hints_become_flags_and_the_rest_is_as_the_caller_says)
{
    struct ground g;
    const struct tool *t;

    ours(&g, &(struct mcp_toolset_server){.name = STR("srv"), .unknown = TOOL_UNKNOWN_ASK});
    t = toolbox_find(g.box, STR("srv__reads"));
    CHECK(t && (t->flags & TOOL_READ_ONLY) && !(t->flags & TOOL_IDEMPOTENT));
    CHECK_STR(t->server, "srv");
    t = toolbox_find(g.box, STR("srv__same"));
    CHECK(t && (t->flags & TOOL_IDEMPOTENT));
    t = toolbox_find(g.box, STR("srv__does"));
    CHECK(t && !(t->flags & (TOOL_READ_ONLY | TOOL_IDEMPOTENT)) && t->unknown == TOOL_UNKNOWN_ASK);
    CHECK_STR(t->description, "acts");
    close_ground(&g);
}

TEST(results_are_text_and_errors_of_tools_are_results_all_masked)
{
    struct ground g;
    struct tool_result r;

    ours(&g, &(struct mcp_toolset_server){.name = STR("srv")});
    CHECK(gives(&g, "srv__reads", "{\"n\":1}", "got {\"n\": 1}"));
    CHECK(gives(&g, "srv__same", "{}", "[MASKED"));
    CHECK(gives(&g, "srv__fails", "{}", "The tool reports an error:\ndenied"));
    CHECK(gives(&g, "srv__data", "{}", "42"));
    CHECK(gives(&g, "srv__broken", "{}", "ran"));
    r = call(&g, "srv__reads", "{\"n\":1}", NULL);
    CHECK(r.ok && r.ended_us >= r.started_us);
    buf_release(&r.out);
    close_ground(&g);
}

TEST(names_find_their_tools_and_only_allowed_tools_are_there)
{
    static const char *const allow[] = {"odd/name", "does", NULL};
    struct ground g;
    str server, tool;

    ours(&g, &(struct mcp_toolset_server){.name = STR("srv"), .allow = allow});
    CHECK(toolbox_count(g.box) == 2);
    CHECK(mcp_toolset_find(g.set, toolbox_at(g.box, 1)->name, &server, &tool));
    CHECK_STR(server, "srv");
    CHECK_STR(tool, "odd/name");
    close_ground(&g);
}

static void *cancel_soon(void *arg)
{
    usleep(100000);
    atomic_store((_Atomic bool *)arg, true);
    return NULL;
}

TEST(a_call_ends_at_its_time_or_when_it_is_cancelled)
{
    _Atomic bool cancel = false;
    struct ground g;
    struct tool_result r;
    uint64_t began = clock_mono_ms(&clock_real);
    pthread_t thread;

    ours(&g, &(struct mcp_toolset_server){.name = STR("srv"), .timeout_ms = 600});
    r = call(&g, "srv__slow", "{}", NULL);
    CHECK(!r.ok && r.err.code == ERR_TIMEOUT);
    buf_release(&r.out);
    CHECK(pthread_create(&thread, NULL, cancel_soon, &cancel) == 0);
    r = call(&g, "srv__slow", "{}", &cancel);
    CHECK(!r.ok && r.err.code == ERR_CANCELLED);
    buf_release(&r.out);
    pthread_join(thread, NULL);
    close_ground(&g);
    CHECK(clock_mono_ms(&clock_real) - began < 15000);
}

TEST(a_list_outlives_its_server)
{
    struct ground g;
    struct toolbox *box = toolbox_new(&clock_real);
    struct mcp_toolset *set = mcp_toolset_new();
    struct tool_result r;
    struct err e;

    ours(&g, &(struct mcp_toolset_server){.name = STR("srv")});
    CHECK(mcp_toolset_add(set, box, &(struct mcp_toolset_server){.name = STR("srv")}, g.list, &e));
    CHECK(toolbox_count(box) == toolbox_count(g.box));
    toolbox_free(g.box);
    g.box = box;
    r = call(&g, "srv__does", "{}", NULL);
    CHECK(!r.ok && strstr(r.err.text, "srv is not there"));
    buf_release(&r.out);
    mcp_toolset_free(g.set);
    g.set = set;
    close_ground(&g);
}

TEST(a_server_from_npm_serves_its_tools)
{
    const char *source = getenv("RATIONALE_SOURCE") ? getenv("RATIONALE_SOURCE") : ".";
    const char *setup[] = {NULL, NULL}, *argv[4] = {NULL};
    const char *env[3] = {NULL};
    struct proc_result made;
    struct ground g;
    struct err e;

    memset(&g, 0, sizeof g);
    arena_init(&g.arena, 1 << 28);
    setup[0] = arena_printf(&g.arena, "%s/tools/mcp-setup", source).p;
    env[0] = arena_printf(&g.arena, "PATH=%s", getenv("PATH")).p;
    env[1] = arena_printf(&g.arena, "HOME=%s", getenv("HOME") ? getenv("HOME") : "/").p;
    if (!proc_run(&(struct proc_spec){.argv = setup, .env = env, .in = PROC_NULL},
                  &(struct proc_limits){.out_max = 65536, .err_max = 65536, .timeout_ms = 600000},
                  &made,
                  &e) ||
        !proc_status_ok(made.status)) {
        print_message("skipped: the servers from npm cannot be fetched\n");
        arena_release(&g.arena);
        return;
    }
    argv[0] = arena_dup(&g.arena, str_trim(buf_str(&made.out))).p;
    argv[1] = arena_printf(&g.arena,
                           "%s/test/mcp/node_modules/@modelcontextprotocol/server-everything/dist/"
                           "index.js",
                           source)
                  .p;
    argv[2] = "stdio";
    proc_result_release(&made);
    open_ground(&g, argv, &(struct mcp_toolset_server){.name = STR("every")});
    CHECK(toolbox_count(g.box) >= 10);
    CHECK(gives(&g, "every__echo", "{\"message\":\"h\\u00e4llo\"}", "h\xc3\xa4llo"));
    CHECK(gives(&g, "every__get-sum", "{\"a\":2,\"b\":3}", "5"));
    close_ground(&g);
}

TEST_MAIN(T(hints_become_flags_and_the_rest_is_as_the_caller_says),
          T(results_are_text_and_errors_of_tools_are_results_all_masked),
          T(names_find_their_tools_and_only_allowed_tools_are_there),
          T(a_call_ends_at_its_time_or_when_it_is_cancelled), T(a_list_outlives_its_server),
          T(a_server_from_npm_serves_its_tools))
