/* ask_test.c - model calls from inside the process, on recordings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/ask.h"

#include "gateway/local.h"
#include "test.h"

#include <unistd.h>

#define CASSETTE                                                                                   \
    "{\"cassette\": 1, \"kind\": \"openai\"}\n"                                                    \
    "{\"request\": {\"path\": \"/chat/completions\", \"body\": {\"messages\": [{\"content\": "     \
    "\"weather?\", \"role\": \"user\"}], \"model\": \"m\"}}, \"status\": 200, \"type\": "          \
    "\"application/json\", \"pieces\": [[0, \"{\\\"id\\\":\\\"c1\\\",\\\"choices\\\":[{"           \
    "\\\"index\\\":0,\\\"message\\\":{\\\"role\\\":\\\"assistant\\\",\\\"reasoning_content\\\":"   \
    "\\\"look it up\\\",\\\"content\\\":\\\"One moment.\\\",\\\"tool_calls\\\":[{\\\"id\\\":"      \
    "\\\"t1\\\",\\\"type\\\":\\\"function\\\",\\\"function\\\":{\\\"name\\\":\\\"weather\\\","     \
    "\\\"arguments\\\":\\\"{\\\\\\\"city\\\\\\\":\\\\\\\"Rome\\\\\\\"}\\\"}},{\\\"id\\\":"         \
    "\\\"t2\\\",\\\"type\\\":\\\"function\\\",\\\"function\\\":{\\\"name\\\":\\\"time\\\","        \
    "\\\"arguments\\\":\\\"{}\\\"}}]},\\\"finish_reason\\\":\\\"tool_calls\\\"}],"                 \
    "\\\"usage\\\":{\\\"prompt_tokens\\\":5,\\\"completion_tokens\\\":9,"                          \
    "\\\"total_tokens\\\":14}}\"]]}\n"                                                             \
    "{\"request\": {\"path\": \"/chat/completions\", \"body\": {\"messages\": [{\"content\": "     \
    "\"quiet?\", \"role\": \"user\"}], \"model\": \"m\", \"stream\": true, \"stream_options\": "   \
    "{\"include_usage\": true}}}, \"status\": 200, \"type\": \"text/event-stream\", \"pieces\": "  \
    "[[0, \"data: {\\\"id\\\":\\\"c2\\\",\\\"choices\\\":[{\\\"index\\\":0,\\\"delta\\\":"         \
    "{\\\"content\\\":\\\"Not a word of it.\\\"},\\\"finish_reason\\\":\\\"stop\\\"}]}\\n\\n"      \
    "data: [DONE]\\n\\n\"]]}\n"

static char dir[64];
static struct local *local;

static void put(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void put_cassette(void)
{
    put("c.jsonl", CASSETTE);
}

static void open_local_with(void (*write_cassette)(void))
{
    char path[128], config[1024];
    struct config *c;
    struct err e;

    (void)snprintf(dir, sizeof dir, "%s/ask_test.XXXXXX", test_tmp());
    CHECK(mkdtemp(dir));
    write_cassette();
    (void)snprintf(config,
                   sizeof config,
                   "store: sqlite:%s/r.db\nproviders:\n  p: {kind: replay, cassette: %s/c.jsonl, "
                   "models: [m]}\nkeys:\n  - {name: one, reasoning: hide, sha256: '%064d'}\n"
                   "  - {name: two, models: [other], sha256: '%063d1'}\n",
                   dir,
                   dir,
                   0,
                   0);
    put("c.yaml", config);
    (void)snprintf(path, sizeof path, "%s/c.yaml", dir);
    if (!config_load(path, &c, &e) || !local_open(c, &local, &e))
        fail_msg("%s", e.text);
}

static void open_local(void)
{
    open_local_with(put_cassette);
}

static void close_local(void)
{
    char command[128];

    local_close(local);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    CHECK(system(command) == 0);
}

static struct ask *begin_for(const char *key, const char *body)
{
    struct ask_request r = {.body = str_c(body),
                            .route = STR("agent"),
                            .session = STR("s"),
                            .id = STR(""),
                            .level = STR(""),
                            .key = str_c(key)};

    return ask_begin(local_loop(local), &r);
}

static struct ask *begin(const char *body)
{
    return begin_for("", body);
}

TEST(a_reply_comes_back_whole)
{
    struct arena a;
    struct ask_reply r;

    arena_init(&a, 1 << 20);
    open_local();
    CHECK(ask_wait(begin("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
                         "\"weather?\"}]}"),
                   &a,
                   &r));
    CHECK_STR(r.text, "One moment.");
    CHECK_STR(r.reasoning, "look it up");
    CHECK(r.call_count == 2 && r.stop == CHAT_STOP_TOOL && r.recorded);
    CHECK_STR(r.calls[0].id, "t1");
    CHECK_STR(r.calls[0].name, "weather");
    CHECK_STR(r.calls[0].arguments, "{\"city\":\"Rome\"}");
    CHECK_STR(r.calls[1].arguments, "{}");
    CHECK(r.usage.input == 5 && r.usage.output == 9);
    close_local();
    arena_release(&a);
}

/* A provider that reports no usage must still consume the token budget. */
TEST(a_reply_without_usage_is_counted_here)
{
    struct arena a;
    struct ask_reply r;

    arena_init(&a, 1 << 20);
    open_local();
    CHECK(ask_wait(begin("{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\","
                         "\"content\":\"quiet?\"}]}"),
                   &a,
                   &r));
    CHECK_STR(r.text, "Not a word of it.");
    CHECK(r.usage.input > 0 && r.usage.output > 0);
    close_local();
    arena_release(&a);
}

TEST(a_call_for_a_key_is_held_to_what_the_key_may)
{
    static const char body[] =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"weather?\"}]}";
    struct arena a;
    struct ask_reply r;

    arena_init(&a, 1 << 20);
    open_local();
    /* Key "one" hides reasoning from its clients; a caller inside the process still gets it. */
    CHECK(ask_wait(begin_for("one", body), &a, &r));
    CHECK_STR(r.reasoning, "look it up");
    CHECK(!ask_wait(begin_for("two", body), &a, &r));
    CHECK(r.error.status == 403);
    CHECK_STR(r.error.code, "model_not_allowed");
    CHECK(!ask_wait(begin_for("gone", body), &a, &r));
    CHECK(r.error.status == 401);
    CHECK_STR(r.error.code, "invalid_api_key");
    close_local();
    arena_release(&a);
}

TEST(what_fails_says_why)
{
    static const struct {
        const char *body, *code;
        int status;
    } rows[] = {
        {"{\"model\":", "invalid_request", 400},
        {"{\"model\":\"m\"}", "invalid_request", 400},
        {"{\"model\":\"other\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
         "model_not_found",
         404},
    };
    struct arena a;
    struct ask_reply r;

    arena_init(&a, 1 << 20);
    open_local();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK(!ask_wait(begin(rows[i].body), &a, &r));
        CHECK(r.error.status == rows[i].status && r.error.message.n > 0);
        CHECK_STR(r.error.code, rows[i].code);
    }
    CHECK(!ask_wait(
        begin("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"else\"}]}"),
        &a,
        &r));
    close_local();
    arena_release(&a);
}

/* Writes a cassette with a streamed reply to "huge?": twelve calls of three megabytes each. */
static void put_huge_calls(void)
{
    char path[128];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/c.jsonl", dir);
    f = fopen(path, "w");
    CHECK(f);
    (void)fputs("{\"cassette\": 1, \"kind\": \"openai\"}\n{\"request\": {\"path\": "
                "\"/chat/completions\", \"body\": {\"messages\": [{\"content\": \"huge?\", "
                "\"role\": \"user\"}], \"model\": \"m\", \"stream\": true, \"stream_options\": "
                "{\"include_usage\": true}}}, \"status\": 200, \"type\": "
                "\"text/event-stream\", \"pieces\": [",
                f);
    for (int i = 0; i < 12; i++) {
        (void)fprintf(f,
                      "[0, \"data: {\\\"choices\\\":[{\\\"index\\\":0,\\\"delta\\\":{"
                      "\\\"tool_calls\\\":[{\\\"index\\\":%d,\\\"id\\\":\\\"t%d\\\","
                      "\\\"type\\\":\\\"function\\\",\\\"function\\\":{\\\"name\\\":"
                      "\\\"f\\\",\\\"arguments\\\":\\\"",
                      i,
                      i);
        for (int n = 0; n < 3 << 20; n += 16)
            (void)fputs("aaaaaaaaaaaaaaaa", f);
        (void)fputs("\\\"}}]}}]}\\n\\n\"], ", f);
    }
    (void)fputs("[0, \"data: {\\\"choices\\\":[{\\\"index\\\":0,\\\"delta\\\":{},"
                "\\\"finish_reason\\\":\\\"tool_calls\\\"}]}\\n\\ndata: [DONE]\\n\\n\"]]}\n",
                f);
    CHECK(fclose(f) == 0);
}

TEST(calls_that_are_too_large_together_end_the_reply)
{
    struct arena a;
    struct ask_reply r;

    arena_init(&a, (size_t)1 << 30);
    open_local_with(put_huge_calls);
    CHECK(!ask_wait(begin("{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\","
                          "\"content\":\"huge?\"}]}"),
                    &a,
                    &r));
    CHECK_STR(r.error.code, "too_large");
    close_local();
    arena_release(&a);
}

TEST(a_cancel_at_any_time_ends_it)
{
    struct arena a;
    struct ask_reply r;

    arena_init(&a, 64 << 20);
    open_local();
    for (int i = 0; i < 200; i++) {
        struct ask *k = begin("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
                              "\"weather?\"}]}");

        if (i % 4)
            usleep((useconds_t)(i % 40) * 10);
        ask_cancel(k);
        ask_cancel(k);
        if (ask_wait(k, &a, &r))
            CHECK_STR(r.text, "One moment.");
        else
            CHECK_STR(r.error.code, "cancelled");
    }
    close_local();
    arena_release(&a);
}

TEST_MAIN(T(calls_that_are_too_large_together_end_the_reply), T(a_reply_comes_back_whole),
          T(a_reply_without_usage_is_counted_here), T(a_call_for_a_key_is_held_to_what_the_key_may),
          T(what_fails_says_why), T(a_cancel_at_any_time_ends_it))
