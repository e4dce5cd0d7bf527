/* alert_test.c - alerts in our own format; webhook_test.c tests the formats of monitoring systems.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/alert.h"
#include "test.h"

#include <time.h>

#define NOW 1700000000000000

struct got {
    struct json doc;
    struct arena arena;
    struct alert alert;
    struct alert_faults faults;
    bool ok;
};

static struct got *reads(const char *text)
{
    struct got *g = base_alloc(sizeof *g);
    struct err e;

    memset(g, 0, sizeof *g);
    json_init(&g->doc);
    arena_init(&g->arena, (size_t)256 << 20);
    CHECK_F(json_parse(&g->doc, str_c(text), &e), "%s", e.text);
    g->ok = alert_read(&g->doc, json_root(&g->doc), NOW, &g->arena, &g->alert, &g->faults);
    return g;
}

static void done(struct got *g)
{
    json_release(&g->doc);
    arena_release(&g->arena);
    free(g);
}

TEST(an_alert_has_defaults_for_what_it_does_not_say)
{
    struct got *g = reads("{\"alert_type\":\" kubernetes \",\"runbook\":\"a.md\"}");

    CHECK(g->ok);
    CHECK_STR(g->alert.alert_type, "kubernetes");
    CHECK_STR(g->alert.runbook, "a.md");
    CHECK_STR(g->alert.severity, "warning");
    CHECK_STR(g->alert.environment, "production");
    CHECK_STR(g->alert.data, "{}");
    CHECK_INT(g->alert.timestamp_us, NOW);
    done(g);
}

TEST(what_an_alert_says_is_kept)
{
    struct got *g =
        reads("{\"alert_type\":\"x\",\"runbook\":\"https://a/b\",\"severity\":\"critical\","
              "\"timestamp\":1600000000000001,\"cluster\":\"c1\",\"data\":"
              "{\"environment\":\"staging\",\"cluster\":\"own\",\"n\":1.50,\"l\":[null,"
              "true]}}");

    CHECK(g->ok);
    CHECK_STR(g->alert.severity, "critical");
    CHECK_STR(g->alert.environment, "staging");
    CHECK_INT(g->alert.timestamp_us, 1600000000000001);
    CHECK_STR(g->alert.data,
              "{\"environment\":\"staging\",\"cluster\":\"own\",\"n\":1.50,\"l\":[null,true]}");
    done(g);
}

TEST(what_stands_beside_the_data_belongs_to_it)
{
    struct got *g =
        reads("{\"alert_type\":\"x\",\"runbook\":\"r\",\"cluster\":\"c1\",\"data\":{}}");

    CHECK_STR(g->alert.data, "{\"cluster\":\"c1\"}");
    done(g);
}

static const struct {
    const char *body;
    const char *field, *expected, *message, *invalid;
} wrong[] = {
    {"{\"runbook\":\"r\"}", "alert_type", "string", "is required", ""},
    {"{\"alert_type\":\"a\"}", "runbook", "string", "is required", ""},
    {"{\"alert_type\":\"\",\"runbook\":\"r\"}", "alert_type", "string", "not be empty", "\"\""},
    {"{\"alert_type\":\" \\u0007\",\"runbook\":\"r\"}", "alert_type", "string", "not be empty", ""},
    {"{\"alert_type\":null,\"runbook\":\"r\"}", "alert_type", "string", "is null", "null"},
    {"{\"alert_type\":7,\"runbook\":\"r\"}", "alert_type", "string", "is a number", "7"},
    {"{\"alert_type\":\"a\",\"runbook\":[]}", "runbook", "string", "is a list", "[]"},
    {"{\"alert_type\":\"a\",\"runbook\":\"r\",\"data\":[1]}", "data", "object", "is a list", "[1]"},
    {"{\"alert_type\":\"a\",\"runbook\":\"r\",\"severity\":{}}",
     "severity",
     "string",
     "object",
     "{}"},
    {"{\"alert_type\":\"a\",\"runbook\":\"r\",\"timestamp\":1.5}",
     "timestamp",
     "integer",
     "microseconds",
     "1.5"},
    {"{\"alert_type\":\"a\",\"runbook\":\"r\",\"timestamp\":-1}",
     "timestamp",
     "integer",
     "microseconds",
     "-1"},
    {"{\"alert_type\":\"a\",\"runbook\":\"r\",\"timestamp\":\"soon\"}",
     "timestamp",
     "integer",
     "microseconds",
     "\"soon\""},
    {"{\"alert_type\":\"a\",\"runbook\":\"r\",\"timestamp\":true}",
     "timestamp",
     "integer",
     "microseconds",
     "true"},
};

TEST(a_wrong_field_is_named_with_its_value_and_what_it_should_be)
{
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct got *g = reads(wrong[i].body);

        CHECK_F(!g->ok, "%s", wrong[i].body);
        CHECK_F(g->faults.n == 1, "%s: %zu faults", wrong[i].body, g->faults.n);
        CHECK_STR(g->faults.at[0].field, wrong[i].field);
        CHECK_STR(g->faults.at[0].expected, wrong[i].expected);
        CHECK_F(str_find(g->faults.at[0].message, str_c(wrong[i].message)) != STR_NONE,
                STR_FMT,
                STR_ARG(g->faults.at[0].message));
        if (wrong[i].invalid[0])
            CHECK_STR(g->faults.at[0].invalid, wrong[i].invalid);
        done(g);
    }
}

TEST(all_that_is_wrong_is_said_at_once)
{
    struct got *g = reads("{\"data\":3,\"severity\":4,\"timestamp\":\"x\"}");

    CHECK(!g->ok);
    CHECK_INT(g->faults.n, 5);
    done(g);
}

TEST(a_long_wrong_value_is_shown_in_part)
{
    struct buf body;
    struct got *g;

    buf_init(&body, 1 << 20);
    buf_add(&body, STR("{\"alert_type\":\"a\",\"runbook\":\"r\",\"data\":["));
    for (int i = 0; i < 1000; i++)
        buf_add(&body, STR("\"\xc3\xa9\","));
    buf_add(&body, STR("1]}"));
    buf_add_c(&body, '\0');
    g = reads(body.p);
    CHECK(!g->ok && g->faults.at[0].invalid.n < 1000);
    CHECK(g->faults.at[0].invalid.p[0] == '"');
    done(g);
    buf_release(&body);
}

/* Quotes, brackets and other printable characters must stay. */
TEST(sanitising_takes_control_characters_and_nothing_else)
{
    struct got *g =
        reads("{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"m\":\"<b>\\\"it's\\\" "
              "[1] {2}</b> & \\u0000\\u0007\\u001b[31mred\\u007f\\u0085\\n\\tdone\"}}");

    CHECK(g->ok);
    CHECK_STR(g->alert.data, "{\"m\":\"<b>\\\"it's\\\" [1] {2}</b> & [31mred\\n\\tdone\"}");
    CHECK_INT(g->alert.cut, 0);
    done(g);
}

TEST(texts_are_cut_at_ten_thousand_characters_and_lists_at_a_thousand)
{
    struct buf body;
    struct json doc;
    struct got *g;
    struct err e;
    str text;

    buf_init(&body, 1 << 20);
    buf_add(&body, STR("{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"t\":\""));
    for (int i = 0; i < 10001; i++)
        buf_add(&body, STR("\xc3\xa9"));
    buf_add(&body, STR("\",\"l\":[0"));
    for (int i = 1; i < 1001; i++)
        buf_printf(&body, ",%d", i);
    buf_add(&body, STR("]}}"));
    buf_add_c(&body, '\0');
    g = reads(body.p);
    CHECK(g->ok);
    CHECK_INT(g->alert.cut, 2);
    json_init(&doc);
    CHECK_F(json_parse(&doc, g->alert.data, &e), "%s", e.text);
    CHECK(json_text(&doc, json_find(&doc, json_root(&doc), STR("t")), &g->arena, &text));
    CHECK_INT(text.n, 20000);
    CHECK_INT(json_count(&doc, json_find(&doc, json_root(&doc), STR("l"))), 1000);
    json_release(&doc);
    done(g);
    buf_release(&body);
}

static void same(const char *a, const char *b, bool want)
{
    struct got *x = reads(a), *y = reads(b);

    CHECK(x->ok && y->ok);
    CHECK_F((strcmp(x->alert.digest, y->alert.digest) == 0) == want, "%s\n%s", a, b);
    done(x);
    done(y);
}

TEST(the_same_alert_is_the_same_whatever_its_order_and_time)
{
    same("{\"alert_type\":\"x\",\"runbook\":\"r\",\"timestamp\":1,\"data\":{\"a\":1,\"b\":"
         "\"\\u00e9\"}}",
         "{\"data\":{\"b\":\"\xc3\xa9\",\"a\":1},\"timestamp\":2,\"runbook\":\"r\",\"alert_type\":"
         "\"x\"}",
         true);
    same("{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"timestamp\":1,\"a\":1}}",
         "{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"timestamp\":2,\"a\":1}}",
         true);
    same("{\"alert_type\":\"x\",\"runbook\":\"r\"}",
         "{\"alert_type\":\"x\",\"runbook\":\"r\",\"severity\":\"warning\",\"data\":{}}",
         true);
    same("{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"a\":1}}",
         "{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"a\":2}}",
         false);
    same("{\"alert_type\":\"x\",\"runbook\":\"r\"}",
         "{\"alert_type\":\"y\",\"runbook\":\"r\"}",
         false);
    same("{\"alert_type\":\"x\",\"runbook\":\"r\"}",
         "{\"alert_type\":\"x\",\"runbook\":\"s\"}",
         false);
}

static double cpu_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Each member outside `data` is looked up in `data`; comparing all pairs would take 7 s. */
TEST(many_members_beside_many_in_the_data_take_linear_time)
{
    enum { MEMBERS = 120000 };
    double begun = cpu_seconds();
    struct buf body;
    struct got *g;

    buf_init(&body, (size_t)16 << 20);
    buf_add(&body, STR("{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"b000007\":7"));
    for (int i = 0; i < MEMBERS; i++)
        buf_printf(&body, ",\"a%06d\":1", i);
    buf_add_c(&body, '}');
    for (int i = 0; i < MEMBERS; i++)
        buf_printf(&body, ",\"b%06d\":2", i);
    buf_add(&body, STR("}"));
    buf_add_c(&body, '\0');
    CHECK(!buf_full(&body));
    g = reads(body.p);
    CHECK(g->ok);
    CHECK(str_find(g->alert.data, STR("\"b000007\":7")) != STR_NONE);
    CHECK(str_find(g->alert.data, STR("\"b000007\":2")) == STR_NONE);
    CHECK(str_find(g->alert.data, STR("\"b119999\":2")) != STR_NONE);
    CHECK(cpu_seconds() - begun < 3);
    done(g);
    buf_release(&body);
}

TEST_MAIN(T(an_alert_has_defaults_for_what_it_does_not_say), T(what_an_alert_says_is_kept),
          T(what_stands_beside_the_data_belongs_to_it),
          T(a_wrong_field_is_named_with_its_value_and_what_it_should_be),
          T(all_that_is_wrong_is_said_at_once), T(a_long_wrong_value_is_shown_in_part),
          T(sanitising_takes_control_characters_and_nothing_else),
          T(texts_are_cut_at_ten_thousand_characters_and_lists_at_a_thousand),
          T(the_same_alert_is_the_same_whatever_its_order_and_time),
          T(many_members_beside_many_in_the_data_take_linear_time))
