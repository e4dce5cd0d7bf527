/* The client against servers whose messages are too large, too small, too late or invalid: each
 * gives an error, and none ends the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/inbox.h"
#include "mcp_side.h"

#include <pthread.h>
#include <unistd.h>

#define MODERN "*'\"server/discover\"'*) result '{\"supportedVersions\":[\"2026-07-28\"]}';;\n"

TEST(a_server_that_wants_input_and_names_none_is_at_fault)
{
    struct mcp_tools tools;
    struct side s;

    side_init(&s,
              SERVER(MODERN "*'\"tools/list\"'*) result '{\"resultType\":\"input_required\"}';;\n"),
              NULL);
    CHECK(!mcp_client_tools(s.client, PATIENCE_MS, NULL, &s.arena, &tools, &s.e));
    CHECK_INT(s.e.code, ERR_UPSTREAM);
    CHECK(strstr(s.e.text, "does not say which"));
    side_release(&s);
}

/* Prints so many letters. A shell takes a hundred times as long to print a long variable. */
#define LETTERS(size) "head -c " #size " /dev/zero | tr '\\0' a"
/* A string of so many letters after an escape, because the reader copies strings with escapes. */
#define LONG_TEXT(size) "\\\\u0041$(" LETTERS(size) ")"

static void count_progress(void *ctx, double progress, double total, str message)
{
    size_t *bytes = ctx;

    (void)progress;
    (void)total;
    *bytes += message.n;
}

TEST(progress_without_end_needs_no_memory)
{
    size_t bytes = 0;
    struct mcp_result r;
    struct side s;

    side_init(&s,
              SERVER("*'\"tools/call\"'*) i=0; while [ $i -lt 70 ]; do "
                     "printf '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                     "\"params\":{\"progressToken\":%s,\"progress\":%s,\"message\":\"%s' "
                     "\"$id\" $i '\\u0041'; " LETTERS(1000000) "; printf '\"}}\\n'; "
                     "i=$((i+1)); done; text done;;\n"),
              NULL);
    CHECK_F(mcp_client_call(s.client,
                            &(struct mcp_call){.tool = STR("t"),
                                               .timeout_ms = PATIENCE_MS,
                                               .on_progress = count_progress,
                                               .ctx = &bytes},
                            &s.arena,
                            &r,
                            &s.e),
            "%s",
            s.e.text);
    CHECK_STR(r.parts[0].text, "done");
    CHECK_INT(bytes, 70 * 1000001);
    side_release(&s);
}

TEST(states_that_fill_the_memory_of_a_call_end_it)
{
    struct mcp_result r;
    struct side s;

    side_init(&s,
              SERVER(MODERN "*'\"tools/call\"'*) result "
                            "\"{\\\"resultType\\\":\\\"input_required\\\",\\\"requestState\\\":"
                            "\\\"" LONG_TEXT(900000) "\\\"}\";;\n"),
              NULL);
    arena_release(&s.arena);
    arena_init(&s.arena, (size_t)8 << 20);
    CHECK(!call(&s, "t", &r));
    CHECK_F(s.e.code == ERR_LIMIT, "%s", s.e.text);
    side_release(&s);
}

TEST(pages_without_end_need_no_memory)
{
    struct mcp_tools tools;
    struct side s;

    side_init(&s,
              SERVER("*'\"tools/list\"'*) n=$((n+1)); "
                     "[ $n = 18 ] || more=\",\\\"nextCursor\\\":\\\"$n\\\"\"; "
                     "printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":"
                     "[{\"name\":\"t%s\"}],\"x\":\"' \"$id\" $n; " LETTERS(15000000) "; "
                     "printf '\"%s}}\\n' \"$more\"; more=;;\n"),
              NULL);
    CHECK_F(mcp_client_tools(s.client, PATIENCE_MS, NULL, &s.arena, &tools, &s.e), "%s", s.e.text);
    CHECK_INT(tools.n, 18);
    side_release(&s);
}

TEST(a_list_larger_than_the_callers_memory_is_an_error)
{
    struct mcp_tools tools;
    struct side s;

    side_init(&s,
              SERVER("*'\"tools/list\"'*) result \"{\\\"tools\\\":[{\\\"name\\\":\\\"t\\\","
                     "\\\"description\\\":\\\"" LONG_TEXT(2000000) "\\\"}]}\";;\n"),
              NULL);
    arena_release(&s.arena);
    arena_init(&s.arena, (size_t)1 << 20);
    CHECK(!mcp_client_tools(s.client, PATIENCE_MS, NULL, &s.arena, &tools, &s.e));
    CHECK_F(s.e.code == ERR_LIMIT, "%s", s.e.text);
    side_release(&s);
}

static bool call_within(struct side *s, int64_t timeout_ms, str arguments)
{
    struct mcp_result r;

    return mcp_client_call(s->client,
                           &(struct mcp_call){.tool = STR("t"),
                                              .arguments = arguments,
                                              .timeout_ms = timeout_ms,
                                              .total_ms = timeout_ms},
                           &s->arena,
                           &r,
                           &s->e);
}

TEST(a_server_that_never_stops_writing_to_standard_error_stops_nobody)
{
    struct side s;

    side_init(&s, "yes >&2 &\n" SERVER(""), NULL);
    CHECK_F(call_within(&s, 20000, STR("{}")), "%s", s.e.text);
    side_release(&s);
}

TEST(a_server_that_stops_reading_in_the_middle_of_a_message_is_restarted)
{
    struct side s;
    struct buf b;

    side_init(&s, SERVER("*'\"quiet\"'*) sleep 3; text late;;\n"), NULL);
    buf_init(&b, (size_t)1 << 20);
    buf_add(&b, STR("{\"x\":\""));
    for (int i = 0; i < 300000; i++)
        buf_add_c(&b, 'a');
    buf_add(&b, STR("\"}"));
    CHECK_F(call_within(&s, PATIENCE_MS, STR("{}")), "%s", s.e.text);
    CHECK(!call_within(&s, 500, STR("{\"x\":\"quiet\"}")) && s.e.code == ERR_TIMEOUT);
    CHECK(!call_within(&s, 500, buf_str(&b)) && s.e.code == ERR_TIMEOUT);
    CHECK_F(call_within(&s, 10000, STR("{}")), "%s", s.e.text);
    buf_release(&b);
    side_release(&s);
}

static bool sample_slowly(void *ctx, str params, struct buf *result, struct err *e)
{
    (void)ctx;
    (void)params;
    (void)e;
    (void)usleep(300000);
    buf_add(result, STR("{}"));
    return true;
}

TEST(requests_that_come_faster_than_answers_end_the_server)
{
    struct mcp_client_options o = {.sample = sample_slowly};
    struct side s;

    side_init(&s,
              SERVER("*'\"tools/call\"'*) x=$(head -c 1000000 /dev/zero | tr '\\0' a); i=0; while "
                     "[ $i -lt 30 ]; do i=$((i+1)); say \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":"
                     "\\\"s$i\\\",\\\"method\\\":\\\"sampling/createMessage\\\",\\\"params\\\":{"
                     "\\\"x\\\":\\\"$x\\\"}}\"; done; text done;;\n"),
              &o);
    CHECK(!call_within(&s, PATIENCE_MS, STR("{}")));
    CHECK_F(s.e.code == ERR_LIMIT && strstr(s.e.text, "faster"), "%s", s.e.text);
    side_release(&s);
}

TEST(an_invalid_reply_is_an_error_at_once)
{
    static const char *const own[] = {
        SERVER("*'\"tools/call\"'*) result 7;;\n"),
        SERVER("*'\"tools/call\"'*) say \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id}\";;\n"),
        SERVER("*'\"tools/call\"'*) say \"{\\\"id\\\":$id,\\\"result\\\":{}}\";;\n"),
    };

    for (size_t i = 0; i < COUNT_OF(own); i++) {
        struct side s;

        side_init(&s, own[i], NULL);
        CHECK(!call_within(&s, 20000, STR("{}")));
        CHECK_F(s.e.code == ERR_UPSTREAM && strstr(s.e.text, "invalid"), "%s", s.e.text);
        side_release(&s);
    }
}

TEST(an_inbox_counts_its_items_and_ends_when_cancelled)
{
    const _Atomic bool cancel = true;
    struct mcp_inbox b;
    struct err e;
    size_t n = 0;

    mcp_inbox_init(&b, 65536);
    while (!b.failed && ++n < 65536)
        mcp_inbox_put(&b, 0, STR("x"));
    CHECK(n <= 65536 / sizeof(struct mcp_item));
    CHECK(!mcp_inbox_take(&b, CLOCK_NEVER, &cancel, &e) && e.code == ERR_CANCELLED);
    mcp_inbox_release(&b);
}

static void *connect_patiently(void *ctx)
{
    struct side *s = ctx;
    struct err e;

    CHECK(!mcp_client_connect(s->client, 8000, &e));
    return NULL;
}

TEST(a_call_does_not_wait_longer_than_it_may_for_another_one)
{
    pthread_t thread;
    uint64_t before;
    struct side s;

    side_init(&s, "while read -r line; do :; done\n", NULL);
    CHECK(pthread_create(&thread, NULL, connect_patiently, &s) == 0);
    (void)usleep(500000);
    before = clock_mono_ns(&clock_real);
    CHECK(!call_within(&s, 300, STR("{}")));
    CHECK_F(s.e.code == ERR_TIMEOUT, "%s", s.e.text);
    CHECK(clock_mono_ns(&clock_real) - before < 4000u * CLOCK_NS_PER_MS);
    pthread_join(thread, NULL);
    side_release(&s);
}

TEST_MAIN(T(a_call_does_not_wait_longer_than_it_may_for_another_one),
          T(a_server_that_wants_input_and_names_none_is_at_fault),
          T(progress_without_end_needs_no_memory), T(states_that_fill_the_memory_of_a_call_end_it),
          T(pages_without_end_need_no_memory), T(a_list_larger_than_the_callers_memory_is_an_error),
          T(a_server_that_never_stops_writing_to_standard_error_stops_nobody),
          T(a_server_that_stops_reading_in_the_middle_of_a_message_is_restarted),
          T(requests_that_come_faster_than_answers_end_the_server),
          T(an_invalid_reply_is_an_error_at_once),
          T(an_inbox_counts_its_items_and_ends_when_cancelled))
