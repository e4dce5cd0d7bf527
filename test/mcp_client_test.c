/* The client against servers written in a few lines of shell: protocol eras, pages, false replies,
 * crashes, many callers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp_side.h"

#include <pthread.h>
#include <unistd.h>

TEST(a_legacy_server_is_found_out_and_spoken_to)
{
    struct mcp_result r;
    struct side s;

    side_init(&s, SERVER(""), NULL);
    CHECK_F(call(&s, "t", &r), "%s", s.e.text);
    CHECK_STR(r.parts[0].text, "called");
    CHECK_INT(mcp_client_era(s.client), MCP_ERA_LEGACY);
    CHECK_STR(mcp_client_version(s.client), "2025-06-18");
    side_release(&s);
}

TEST(whatever_error_a_legacy_server_gives_the_probe_it_is_legacy)
{
    static const char *const own[] = {
        SERVER("*'\"server/discover\"'*) error -32602;;\n"),
        SERVER("*'\"server/discover\"'*) error -1;;\n"),
        SERVER("*'\"server/discover\"'*) result '{\"supportedVersions\":[\"2024-11-05\"]}';;\n"),
        SERVER("*'\"server/discover\"'*) say '{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":"
               "-32700,\"message\":\"x\"}}';;\n"),
    };

    for (size_t i = 0; i < COUNT_OF(own); i++) {
        struct side s;

        side_init(&s, own[i], NULL);
        CHECK_F(mcp_client_connect(s.client, PATIENCE_MS, &s.e), "%s", s.e.text);
        CHECK_INT(mcp_client_era(s.client), MCP_ERA_LEGACY);
        side_release(&s);
    }
}

TEST(a_modern_server_is_known_by_its_answer_or_its_errors)
{
    static const char *const own[] = {
        SERVER("*'\"server/discover\"'*) result '{\"supportedVersions\":[\"2026-07-28\"]}';;\n"),
        SERVER("*'\"server/discover\"'*) error -32020;;\n"),
        SERVER("*'\"server/discover\"'*) error -32021;;\n"),
    };

    for (size_t i = 0; i < COUNT_OF(own); i++) {
        struct mcp_result r;
        struct side s;

        side_init(&s, own[i], NULL);
        CHECK_F(call(&s, "t", &r), "%s", s.e.text);
        CHECK_INT(mcp_client_era(s.client), MCP_ERA_MODERN);
        side_release(&s);
    }
}

TEST(a_modern_server_that_starts_slowly_is_asked_again)
{
    struct mcp_result r;
    struct side s;

    side_init(&s,
              "sleep 6\n" SERVER("*'\"initialize\"'*) error -32600;;\n"
                                 "*'\"server/discover\"'*) result "
                                 "'{\"supportedVersions\":[\"2026-07-28\"]}';;\n"),
              NULL);
    CHECK_F(call(&s, "t", &r), "%s", s.e.text);
    CHECK_INT(mcp_client_era(s.client), MCP_ERA_MODERN);
    side_release(&s);
}

TEST(the_error_of_a_server_that_ends_is_reported_and_not_its_usage)
{
    struct side s;

    side_init(&s,
              "echo 'npm warn x' >&2; echo 'Error: no contexts are defined' >&2; i=0\n"
              "while [ $i -lt 40 ]; do echo \"  --option-$i  what it does\" >&2; i=$((i+1)); done\n"
              "exit 1\n",
              NULL);
    CHECK(!mcp_client_connect(s.client, PATIENCE_MS, &s.e));
    CHECK_F(strstr(s.e.text, "it said: Error: no contexts are defined"), "%s", s.e.text);
    side_release(&s);
}

TEST(a_server_of_an_unknown_version_is_refused)
{
    struct side s;

    side_init(
        &s, SERVER("*'\"initialize\"'*) result '{\"protocolVersion\":\"1999-01-01\"}';;\n"), NULL);
    CHECK(!mcp_client_connect(s.client, PATIENCE_MS, &s.e));
    CHECK(strstr(s.e.text, "1999-01-01"));
    side_release(&s);
}

#define PAGE(names, more) "result '{\"tools\":[" names "]" more "}'"
#define NAMED(name) "{\"name\":\"" name "\",\"inputSchema\":{}}"

TEST(all_pages_are_read_and_sorted)
{
    struct mcp_tools tools;
    struct side s;

    side_init(
        &s,
        SERVER("*'\"cursor\":\"two\"'*) " PAGE(
            NAMED("a") "," NAMED("c"),
            ",\"nextCursor\":\"3\"") ";;\n"
                                     "*'\"cursor\":\"3\"'*) " PAGE(
                                         NAMED("b"), "") ";;\n"
                                                         "*'\"tools/list\"'*) " PAGE(
                                                             NAMED("d") "," NAMED("c"),
                                                             ",\"nextCursor\":\"two\"") ";;\n"),
        NULL);
    CHECK_F(mcp_client_tools(s.client, PATIENCE_MS, NULL, &s.arena, &tools, &s.e), "%s", s.e.text);
    CHECK_INT(tools.n, 4);
    for (size_t i = 0; i < 4; i++)
        CHECK(tools.at[i].name.n == 1 && tools.at[i].name.p[0] == (char)('a' + i));
    side_release(&s);
}

TEST(a_list_that_goes_round_in_circles_is_ended)
{
    struct mcp_tools tools;
    struct side s;

    side_init(&s,
              SERVER("*'\"tools/list\"'*) " PAGE(NAMED("a"), ",\"nextCursor\":\"again\"") ";;\n"),
              NULL);
    CHECK(!mcp_client_tools(s.client, PATIENCE_MS, NULL, &s.arena, &tools, &s.e));
    CHECK(strstr(s.e.text, "does not end"));
    side_release(&s);
}

#define PROMISING                                                                                  \
    "*'\"tools/list\"'*) result "                                                                  \
    "'{\"tools\":[{\"name\":\"t\",\"inputSchema\":{},\"outputSchema\":{"                           \
    "\"type\":\"object\",\"required\":[\"n\"]}}]}';;\n"

TEST(structured_content_that_is_not_as_promised_is_the_servers_fault)
{
    struct mcp_result r;
    struct side s;

    side_init(&s, SERVER(PROMISING), NULL);
    CHECK(!call(&s, "t", &r));
    CHECK_INT(s.e.code, ERR_UPSTREAM);
    side_release(&s);
    side_init(
        &s,
        SERVER(PROMISING
               "*'\"tools/call\"'*) result '{\"content\":[],\"structuredContent\":{\"n\":1}}';;\n"),
        NULL);
    CHECK_F(call(&s, "t", &r), "%s", s.e.text);
    CHECK_STR(r.structured, "{\"n\":1}");
    side_release(&s);
}

struct lister {
    struct side *side;
    pthread_t thread;
    int64_t timeout_ms;
    _Atomic bool ended;
    bool ok;
};

static void *list_tools(void *ctx)
{
    struct lister *l = ctx;
    struct mcp_tools tools;
    struct arena a;
    struct err e;

    arena_init(&a, ARENA_MAX);
    l->ok = mcp_client_tools(l->side->client, l->timeout_ms, NULL, &a, &tools, &e);
    atomic_store(&l->ended, true);
    arena_release(&a);
    return NULL;
}

static void start_lister(void *ctx, double progress, double total, str message)
{
    struct lister *l = ctx;

    (void)progress;
    (void)total;
    (void)message;
    CHECK(pthread_create(&l->thread, NULL, list_tools, l) == 0);
}

/* The server answers the call after another thread requested the list, and answers the list only at
 * the next ping. */
TEST(a_finished_call_does_not_wait_for_a_list_of_another_thread)
{
    struct lister l = {.timeout_ms = PATIENCE_MS};
    struct mcp_result r;
    struct side s;
    str result;

    side_init(
        &s,
        SERVER("*'\"ping\"'*) me=$id; id=$list; result '{\"tools\":[]}'; id=$me; result '{}';;\n"
               "*'\"tools/call\"'*) me=$id; say '{\"jsonrpc\":\"2.0\",\"method\":"
               "\"notifications/tools/list_changed\"}'; say '{\"jsonrpc\":\"2.0\",\"method\":"
               "\"notifications/progress\",\"params\":{\"progress\":1,\"progressToken\":'$id'}}'; "
               "read -r line; list=${line#*'\"id\":'}; list=${list%%[,\\}]*}; id=$me; "
               "result '{\"content\":[],\"structuredContent\":{\"n\":1}}';;\n" PROMISING),
        NULL);
    l.side = &s;
    CHECK_F(mcp_client_call(s.client,
                            &(struct mcp_call){.tool = STR("t"),
                                               .timeout_ms = PATIENCE_MS,
                                               .on_progress = start_lister,
                                               .ctx = &l},
                            &s.arena,
                            &r,
                            &s.e),
            "%s",
            s.e.text);
    CHECK(!atomic_load(&l.ended));
    CHECK_F(mcp_client_request(s.client,
                               &(struct mcp_client_ask){STR("ping"), STR(""), PATIENCE_MS, NULL},
                               &s.arena,
                               &result,
                               &s.e),
            "%s",
            s.e.text);
    CHECK(pthread_join(l.thread, NULL) == 0);
    CHECK(l.ok);
    side_release(&s);
}

static void *cancel_soon(void *ctx)
{
    (void)usleep(200000);
    atomic_store((_Atomic bool *)ctx, true);
    return NULL;
}

TEST(a_cancelled_list_ends_while_the_server_hangs)
{
    static const char *const hangs[] = {
        SERVER("*'\"server/discover\"'*);; *'\"initialize\"'*);;\n"),
        SERVER("*'\"initialize\"'*);;\n"),
        SERVER("*'\"tools/list\"'*);;\n")};

    for (size_t i = 0; i < COUNT_OF(hangs); i++) {
        _Atomic bool cancel = false;
        struct mcp_tools tools;
        struct lister other = {0};
        struct side s;
        pthread_t thread;

        side_init(&s, hangs[i], NULL);
        other.side = &s;
        other.timeout_ms = 1500;
        CHECK(pthread_create(&other.thread, NULL, list_tools, &other) == 0);
        CHECK(pthread_create(&thread, NULL, cancel_soon, &cancel) == 0);
        CHECK(!mcp_client_tools(s.client, PATIENCE_MS, &cancel, &s.arena, &tools, &s.e));
        CHECK_F(s.e.code == ERR_CANCELLED, "%s", s.e.text);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(pthread_join(other.thread, NULL) == 0 && !other.ok);
        atomic_store(&cancel, false); /* and while it waits for the server's reply */
        CHECK(pthread_create(&thread, NULL, cancel_soon, &cancel) == 0);
        CHECK(!mcp_client_tools(s.client, PATIENCE_MS, &cancel, &s.arena, &tools, &s.e));
        CHECK_F(s.e.code == ERR_CANCELLED, "%s", s.e.text);
        CHECK(pthread_join(thread, NULL) == 0);
        side_release(&s);
    }
}

TEST(noise_between_the_lines_does_not_matter)
{
    struct mcp_result r;
    struct side s;

    side_init(
        &s,
        SERVER("*'\"tools/call\"'*) say 'starting up...'; say ''; echo oops >&2; say '{\"x\":1}'; "
               "say '{\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}'; text real;;\n"),
        NULL);
    CHECK_F(call(&s, "t", &r), "%s", s.e.text);
    CHECK_STR(r.parts[0].text, "real");
    side_release(&s);
}

TEST(a_ping_is_answered_while_nobody_calls)
{
    struct mcp_result r;
    struct side s;

    /* The server sends a ping after initialization; the tool's text is "pong" if it got the
     * reply. */
    side_init(
        &s,
        SERVER("*'\"notifications/initialized\"'*) say '{\"jsonrpc\":\"2.0\",\"id\":\"p\","
               "\"method\":\"ping\"}';;\n"
               "'{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}') pong=1;;\n"
               "*'\"tools/call\"'*) [ -n \"$pong\" ] || read -r pong; text \"${pong:+pong}\";;\n"),
        NULL);
    CHECK(mcp_client_connect(s.client, PATIENCE_MS, &s.e));
    CHECK_F(call(&s, "t", &r), "%s", s.e.text);
    CHECK_STR(r.parts[0].text, "pong");
    side_release(&s);
}

static bool approve(void *ctx, str tool, str arguments)
{
    unsigned *asked = ctx;

    (void)tool;
    (void)arguments;
    return ++*asked > 1;
}

TEST(tools_must_be_allowed_and_calls_approved)
{
    static const char *const allow[] = {"u", "t", NULL};
    unsigned asked = 0;
    struct mcp_client_options o = {.allow = allow, .approve = approve, .ctx = &asked};
    struct mcp_result r;
    struct mcp_tools tools;
    struct side s;

    side_init(
        &s, SERVER("*'\"tools/list\"'*) " PAGE(NAMED("t") "," NAMED("secret"), "") ";;\n"), &o);
    CHECK(mcp_client_tools(s.client, PATIENCE_MS, NULL, &s.arena, &tools, &s.e) && tools.n == 1);
    CHECK(!call(&s, "secret", &r) && s.e.code == ERR_AUTH && asked == 0);
    CHECK(!call(&s, "t", &r) && s.e.code == ERR_CANCELLED);
    CHECK(call(&s, "t", &r));
    side_release(&s);
}

TEST(a_result_above_the_limit_is_refused)
{
    struct mcp_client_options o = {.result_max = 20};
    struct mcp_result r;
    struct side s;

    side_init(&s, SERVER(""), &o);
    CHECK(!call(&s, "t", &r) && s.e.code == ERR_LIMIT);
    side_release(&s);
}

TEST(an_error_names_its_code_and_its_words)
{
    struct mcp_result r;
    struct side s;

    side_init(&s, SERVER("*'\"tools/call\"'*) error -32042;;\n"), NULL);
    CHECK(!call(&s, "t", &r));
    CHECK_STR(str_c(s.e.text), "MCP error -32042: no");
    side_release(&s);
}

TEST(a_server_that_keeps_dying_is_given_up)
{
    struct mcp_result r;
    struct side s;
    int died = 0;

    side_init(&s, SERVER("*'\"tools/call\"'*) echo 'out of luck' >&2; exit 1;;\n"), NULL);
    for (int i = 0; i < MCP_RESTARTS_MAX + 3; i++) {
        CHECK(!call(&s, "t", &r));
        CHECK_INT(s.e.code, ERR_UPSTREAM);
        died += strstr(s.e.text, "out of luck") != NULL;
    }
    CHECK_INT(died, MCP_RESTARTS_MAX);
    CHECK(strstr(s.e.text, "times in a minute"));
    side_release(&s);
}

TEST(arguments_that_are_no_object_are_not_sent)
{
    static const char *const bad[] = {"[]", "7", "{", "{\"a\":1}x"};
    struct side s;

    side_init(&s, SERVER(""), NULL);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct mcp_result r;

        CHECK(!mcp_client_call(s.client,
                               &(struct mcp_call){.tool = STR("t"), .arguments = str_c(bad[i])},
                               &s.arena,
                               &r,
                               &s.e));
        CHECK_INT(s.e.code, ERR_INPUT);
    }
    side_release(&s);
}

#define CROWD 8
#define CALLS 20

struct member {
    struct side *side;
    int number, good;
};

static void *crowd(void *ctx)
{
    struct member *m = ctx;

    for (int i = 0; i < CALLS; i++) {
        char arguments[64], want[64];
        struct mcp_result r;
        struct arena a;
        struct err e;

        arena_init(&a, ARENA_MAX);
        (void)snprintf(arguments, sizeof arguments, "{\"x\":\"%d-%d\"}", m->number, i);
        (void)snprintf(want, sizeof want, "got %d-%d", m->number, i);
        if (mcp_client_call(m->side->client,
                            &(struct mcp_call){.tool = STR("t"),
                                               .arguments = str_c(arguments),
                                               .timeout_ms = PATIENCE_MS},
                            &a,
                            &r,
                            &e))
            m->good += str_eq(r.parts[0].text, str_c(want));
        arena_release(&a);
    }
    return NULL;
}

TEST(many_threads_get_each_its_own_answer)
{
    struct member members[CROWD];
    pthread_t threads[CROWD];
    struct side s;

    side_init(&s,
              SERVER("*'\"tools/call\"'*) x=${line#*'\"x\":\"'}; text \"got ${x%%'\"'*}\";;\n"),
              NULL);
    for (int i = 0; i < CROWD; i++) {
        members[i] = (struct member){.side = &s, .number = i};
        CHECK(pthread_create(&threads[i], NULL, crowd, &members[i]) == 0);
    }
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < CROWD; i++)
        CHECK_INT(members[i].good, CALLS);
    side_release(&s);
}

TEST(defaults_answer_an_elicitation)
{
    struct buf b;
    struct err e;

    buf_init(&b, 1000);
    CHECK(mcp_elicit_defaults(
        STR("{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\","
            "\"properties\":{\"a\":{\"default\":\"x\"},\"b\":{},\"c\":{\"default\":"
            "2.5}}}}"),
        &b,
        &e));
    CHECK_STR(buf_str(&b), "{\"action\":\"accept\",\"content\":{\"a\":\"x\",\"c\":2.5}}");
    buf_reset(&b);
    CHECK(mcp_elicit_defaults(STR("{}"), &b, &e));
    CHECK_STR(buf_str(&b), "{\"action\":\"accept\",\"content\":{}}");
    CHECK(!mcp_elicit_defaults(STR("{"), &b, &e));
    buf_release(&b);
}

TEST_MAIN(T(a_legacy_server_is_found_out_and_spoken_to),
          T(a_modern_server_that_starts_slowly_is_asked_again),
          T(the_error_of_a_server_that_ends_is_reported_and_not_its_usage),
          T(whatever_error_a_legacy_server_gives_the_probe_it_is_legacy),
          T(a_modern_server_is_known_by_its_answer_or_its_errors),
          T(a_server_of_an_unknown_version_is_refused), T(all_pages_are_read_and_sorted),
          T(a_list_that_goes_round_in_circles_is_ended),
          T(structured_content_that_is_not_as_promised_is_the_servers_fault),
          T(a_finished_call_does_not_wait_for_a_list_of_another_thread),
          T(a_cancelled_list_ends_while_the_server_hangs),
          T(noise_between_the_lines_does_not_matter), T(a_ping_is_answered_while_nobody_calls),
          T(tools_must_be_allowed_and_calls_approved), T(a_result_above_the_limit_is_refused),
          T(an_error_names_its_code_and_its_words), T(a_server_that_keeps_dying_is_given_up),
          T(arguments_that_are_no_object_are_not_sent), T(many_threads_get_each_its_own_answer),
          T(defaults_answer_an_elicitation))
