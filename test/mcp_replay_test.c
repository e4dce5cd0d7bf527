/* mcp_replay_test.c - recordings of tools: the recording that a call gets, and the error if no
 * recording matches.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "mcp/replay.h"
#include "test.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

static char dir[64];

static void put(const char *name, const char *text)
{
    char path[256];
    struct err e;

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    CHECK_F(file_write_atomic(path, str_c(text), 0600, &e), "%s", e.text);
}

static int begin(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/replay-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    char command[100];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static struct replay *opens(void)
{
    struct replay *r;
    struct err e;

    CHECK_F(replay_open(dir, &r, &e), "%s", e.text);
    return r;
}

static void gives(const struct replay *r, const char *tool, const char *arguments, bool ok,
                  const char *want)
{
    struct buf out;
    bool went;

    buf_init(&out, 1 << 20);
    went = replay_call(r, str_c(tool), str_c(arguments), &out);
    CHECK_F(went == ok && str_eq(buf_str(&out), str_c(want)),
            "%s %s: %d " STR_FMT,
            tool,
            arguments,
            went,
            STR_ARG(buf_str(&out)));
    buf_release(&out);
}

TEST(a_call_gets_the_recording_that_fits_best)
{
    struct replay *r;

    put("a.txt",
        "{\"tool_name\":\"get\",\"match_params\":{\"kind\":\"pod\"}}\n{\"status\":\"success\"}"
        "\nany pod");
    put("b.txt",
        "{\"tool_name\":\"get\",\"match_params\":{\"kind\":\"pod\",\"name\":\"a\"}}\n{}\nthe pod "
        "a\n");
    put("c.txt", "{\"tool_name\":\"get\",\"match_params\":null}\n{}\nanything");
    put("d.txt", "{\"toolname\":\"top\"}\r\n{\"status\":\"success\"}\r\ntop of all\n");
    r = opens();
    CHECK_INT(replay_count(r), 4);
    CHECK(!replay_fault(r, 0));
    gives(r, "get", "{\"kind\":\"pod\",\"name\":\"a\",\"more\":1}", true, "the pod a\n");
    gives(r, "get", "{\"kind\":\"Pod\",\"name\":\"b\"}", true, "any pod");
    gives(r, "get", "{\"kind\":\"node\"}", true, "anything");
    gives(r, "get", "{}", true, "anything");
    gives(r, "top", "", true, "top of all\n");
    gives(r, "none", "{}", false, "No recording of none fits this call.");
    replay_close(r);
}

TEST(values_are_compared_as_they_are_meant)
{
    struct replay *r;

    put("a.txt",
        "{\"tool_name\":\"q\",\"match_params\":{\"n\":5,\"on\":true,\"x\":null,\"s\":\"Abc\",\"l\":"
        "[1]}}\n"
        "{}\nyes");
    r = opens();
    gives(r, "q", "{\"n\":\"5\",\"on\":\"true\",\"s\":\" abc \",\"l\":[1.0]}", true, "yes");
    gives(r, "q", "{\"n\":5.0,\"on\":true,\"x\":\"\",\"s\":\"Abc\",\"l\":[1]}", true, "yes");
    gives(r,
          "q",
          "{\"n\":5,\"on\":true,\"x\":1,\"s\":\"Abc\",\"l\":[2]}",
          false,
          "No recording of q fits this call. The nearest is a.txt: x is 1 and was recorded as "
          "null; l "
          "is [2] and was recorded as [1].");
    replay_close(r);
}

TEST(recordings_of_the_same_call_are_given_one_behind_the_other)
{
    struct replay *r;

    put("a.txt",
        "{\"tool_name\":\"logs\",\"match_params\":{\"pod\":\"p\"}}\n{\"status\":\"error\"}\nnow");
    put("b.txt", "{\"tool_name\":\"logs\",\"match_params\":{\"pod\":\"p\"}}\n{}\nbefore");
    r = opens();
    gives(r, "logs", "{\"pod\":\"p\"}", true, "now\n\nbefore");
    replay_close(r);
}

TEST(an_error_that_was_recorded_is_an_error_of_the_tool)
{
    struct replay *r;

    put("a.txt", "{\"tool_name\":\"a\"}\n{\"status\":\"error\",\"error\":\"no way\"}\n");
    put("b.txt", "{\"tool_name\":\"b\"}\n{\"status\":\"error\",\"error\":\"no way\"}\nbut this");
    put("c.txt", "{\"tool_name\":\"c\"}\n{\"status\":\"no_data\"}");
    put("d.txt", "{\"tool_name\":\"d\"}\n{\"status\":\"success\"}");
    r = opens();
    gives(r, "a", "{}", false, "no way");
    gives(r, "b", "{}", false, "but this");
    gives(r, "c", "{}", true, "no data");
    gives(r, "d", "{}", true, "");
    replay_close(r);
}

TEST(a_file_that_says_something_else_is_named_with_its_line)
{
    static const struct {
        const char *text, *fault;
    } files[] = {
        {"", "x.txt:1: is empty, and must be a JSON object"},
        {"hello\n", "x.txt:1: "},
        {"[]\n{}\n", "x.txt:1: must be a JSON object"},
        {"{}\n{}\n", "x.txt:1: has no \"tool_name\""},
        {"{\"tool_name\":\"\"}\n{}\n", "x.txt:1: has no \"tool_name\""},
        {"{\"tool_name\":\"a\",\"match_params\":3}\n{}\n",
         "x.txt:1: \"match_params\" must be an object or null"},
        {"{\"tool_name\":\"a\"}", "x.txt:2: is empty, and must be a JSON object"},
        {"{\"tool_name\":\"a\"}\nraw output\n", "x.txt:2: "},
    };
    struct replay *r;
    struct err e;

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        put("x.txt", files[i].text);
        put("y.txt", "{\"tool_name\":\"good\"}\n{}\ngood");
        r = opens();
        CHECK_F(replay_fault(r, 0) &&
                    strncmp(replay_fault(r, 0), files[i].fault, strlen(files[i].fault)) == 0,
                "%s: %s",
                files[i].text,
                replay_fault(r, 0) ? replay_fault(r, 0) : "no fault");
        CHECK(!replay_fault(r, 1));
        CHECK_INT(replay_count(r), 1);
        gives(r, "good", "{}", true, "good");
        replay_close(r);
        put("y.txt", "");
        CHECK(!replay_open(dir, &r, &e));
    }
}

TEST(a_tool_has_the_schema_it_is_listed_with_or_one_made_of_its_recordings)
{
    const struct mcp_set *set;
    struct replay *r;

    put("a.txt",
        "{\"tool_name\":\"seen\",\"match_params\":{\"name\":\"x\"}}\n{\"params\":{\"name\":\"x\","
        "\"n\":1,"
        "\"deep\":{},\"none\":null}}\n");
    put("tools.json",
        "[{\"name\":\"listed\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\","
        "\"required\":"
        "[\"a\"]},\"annotations\":{\"readOnlyHint\":false}}]");
    r = opens();
    set = replay_set(r);
    CHECK_INT(set->tool_count, 2);
    CHECK_STR(str_c(set->tools[0].name), "listed");
    CHECK_STR(str_c(set->tools[0].input), "{\"type\":\"object\",\"required\":[\"a\"]}");
    CHECK_STR(str_c(set->tools[1].input),
              "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"n\":{\"type\":"
              "\"number\"},\"deep\":{\"type\":\"object\"},\"none\":{}}}");
    for (size_t i = 0; i < 2; i++)
        CHECK(str_find(str_c(set->tools[i].annotations), STR("\"readOnlyHint\":true")) != STR_NONE);
    replay_close(r);
}

TEST(output_that_is_no_utf8_is_given_as_far_as_it_is)
{
    struct replay *r;

    put("a.txt", "{\"tool_name\":\"a\"}\n{}\nx\xff\xfey");
    r = opens();
    gives(r, "a", "{}", true, "x\xef\xbf\xbd\xef\xbf\xbdy");
    replay_close(r);
}

TEST(every_recording_of_the_corpus_is_read)
{
    const char *corpora = getenv("RATIONALE_CORPORA");
    char folder[512];
    struct dirent *d;
    size_t cases = 0;
    DIR *all;

    (void)snprintf(folder, sizeof folder, "%s/incidents", corpora ? corpora : "");
    all = corpora ? opendir(folder) : NULL;
    if (!all) {
        print_message("skipped: RATIONALE_CORPORA has no incidents\n");
        return;
    }
    while ((d = readdir(all))) {
        char path[1024];
        struct replay *r;
        struct err e;

        if (d->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        CHECK_F(replay_open(path, &r, &e), "%s", e.text);
        CHECK_F(!replay_fault(r, 0), "%s", replay_fault(r, 0));
        CHECK(replay_count(r) > 0);
        replay_close(r);
        cases++;
    }
    closedir(all);
    CHECK(cases >= 10);
}

#define TD(name) cmocka_unit_test_setup_teardown(name, begin, end)

#define CALLS 20000

struct caller {
    const struct replay *replay;
    const char *arguments, *want;
    int wrong;
};

static void *call_often(void *ctx)
{
    struct caller *c = ctx;
    struct buf out;

    buf_init(&out, 1 << 16);
    for (int i = 0; i < CALLS; i++) {
        buf_reset(&out);
        if (!replay_call(c->replay, STR("t"), str_c(c->arguments), &out) ||
            !str_eq(buf_str(&out), str_c(c->want)))
            c->wrong++;
    }
    buf_release(&out);
    return NULL;
}

TEST(calls_of_several_threads_do_not_disturb_each_other)
{
    struct caller callers[] = {{.arguments = "{\"n\":1}", .want = "one"},
                               {.arguments = "{\"n\":2}", .want = "two"}};
    pthread_t threads[COUNT_OF(callers)];
    struct replay *r;

    put("1.txt", "{\"tool_name\":\"t\",\"match_params\":{\"n\":1}}\n{}\none");
    put("2.txt", "{\"tool_name\":\"t\",\"match_params\":{\"n\":2}}\n{}\ntwo");
    r = opens();
    for (size_t i = 0; i < COUNT_OF(callers); i++) {
        callers[i].replay = r;
        CHECK(pthread_create(&threads[i], NULL, call_often, &callers[i]) == 0);
    }
    for (size_t i = 0; i < COUNT_OF(callers); i++)
        pthread_join(threads[i], NULL);
    CHECK(callers[0].wrong == 0 && callers[1].wrong == 0);
    replay_close(r);
}

TEST(a_long_argument_is_compared_with_many_recordings)
{
    struct replay *r;
    struct buf b, out;

    for (int i = 0; i < 40; i++) {
        char name[32], text[128];

        (void)snprintf(name, sizeof name, "%d.txt", i);
        (void)snprintf(
            text, sizeof text, "{\"tool_name\":\"t\",\"match_params\":{\"n\":\"%d\"}}\n{}\nx", i);
        put(name, text);
    }
    r = opens();
    buf_init(&b, (size_t)4 << 20);
    buf_init(&out, 1 << 16);
    buf_add(&b, STR("{\"n\":\"\\u0041"));
    for (size_t i = 0; i < (size_t)2 << 20; i++)
        buf_add_c(&b, 'a');
    buf_add(&b, STR("\"}"));
    CHECK(!replay_call(r, STR("t"), buf_str(&b), &out));
    CHECK(str_starts(buf_str(&out), STR("No recording of t fits this call.")));
    buf_release(&out);
    buf_release(&b);
    replay_close(r);
}

TEST_MAIN(TD(a_call_gets_the_recording_that_fits_best), TD(values_are_compared_as_they_are_meant),
          TD(recordings_of_the_same_call_are_given_one_behind_the_other),
          TD(an_error_that_was_recorded_is_an_error_of_the_tool),
          TD(a_file_that_says_something_else_is_named_with_its_line),
          TD(a_tool_has_the_schema_it_is_listed_with_or_one_made_of_its_recordings),
          TD(calls_of_several_threads_do_not_disturb_each_other),
          TD(a_long_argument_is_compared_with_many_recordings),
          TD(output_that_is_no_utf8_is_given_as_far_as_it_is),
          T(every_recording_of_the_corpus_is_read))
