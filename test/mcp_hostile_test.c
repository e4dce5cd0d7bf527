/* The client against servers that send too much, too little, too late or nonsense: each gets an
 * error, and the process lives on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp_side.h"

#define MODERN "*'\"server/discover\"'*) result '{\"supportedVersions\":[\"2026-07-28\"]}';;\n"

TEST(a_server_that_wants_input_and_names_none_is_at_fault)
{
    struct mcp_tools tools;
    struct side s;

    side_init(&s,
              SERVER(MODERN "*'\"tools/list\"'*) result '{\"resultType\":\"input_required\"}';;\n"),
              NULL);
    CHECK(!mcp_client_tools(s.client, PATIENCE_MS, &s.arena, &tools, &s.e));
    CHECK_INT(s.e.code, ERR_UPSTREAM);
    CHECK(strstr(s.e.text, "does not say which"));
    side_release(&s);
}

/* A text of that many bytes, whose escape makes the reader copy it. */
#define LONG_TEXT(size) "\\\\u0041$(head -c " #size " /dev/zero | tr '\\0' a)"

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
              SERVER("*'\"tools/call\"'*) i=0; text=\"" LONG_TEXT(
                  1000000) "\"; while [ $i -lt 100 ]; do say "
                           "\"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":\\\"notifications/"
                           "progress\\\",\\\"params\\\":{\\\"progressToken\\\":$id,"
                           "\\\"progress\\\":$i,\\\"message\\\":\\\"$text\\\"}}\"; "
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
    CHECK_INT(bytes, 100 * 1000001);
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
              SERVER("*'\"tools/list\"'*) n=$((n+1)); x=${x:-$(head -c 15000000 /dev/zero | "
                     "tr '\\0' a)}; [ $n = 20 ] || more=\",\\\"nextCursor\\\":\\\"$n\\\"\"; "
                     "result \"{\\\"tools\\\":[{\\\"name\\\":\\\"t$n\\\"}],\\\"x\\\":"
                     "\\\"$x\\\"$more}\"; more=;;\n"),
              NULL);
    CHECK_F(mcp_client_tools(s.client, PATIENCE_MS, &s.arena, &tools, &s.e), "%s", s.e.text);
    CHECK_INT(tools.n, 20);
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
    CHECK(!mcp_client_tools(s.client, PATIENCE_MS, &s.arena, &tools, &s.e));
    CHECK_F(s.e.code == ERR_LIMIT, "%s", s.e.text);
    side_release(&s);
}

TEST_MAIN(T(a_server_that_wants_input_and_names_none_is_at_fault),
          T(progress_without_end_needs_no_memory), T(states_that_fill_the_memory_of_a_call_end_it),
          T(pages_without_end_need_no_memory), T(a_list_larger_than_the_callers_memory_is_an_error))
