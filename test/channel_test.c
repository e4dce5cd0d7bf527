/* channel_test.c - reducers: how a channel combines its value and an update.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/channel.h"
#include "test.h"

static const struct {
    const char *kind, *now, *update, *want; /* want NULL: refused */
} cases[] = {
    {"last", "", "1", "1"},
    {"last", "[1]", " {\"a\":2} ", "{\"a\":2}"},
    {"append", "", "[]", "[]"},
    {"append", "", "\"a\"", "[\"a\"]"},
    {"append", "[]", "[1]", "[1]"},
    {"append", "[1, 2]", "[3,4]", "[1, 2,3,4]"},
    {"append", "[1]", "[]", "[1]"},
    {"append", "[1]", "{\"x\":[]}", "[1,{\"x\":[]}]"},
    {"append", "{}", "[1]", NULL},
    {"append", "[1]", "[1", NULL},
    {"messages", "", "{\"id\":\"a\"}", "[{\"id\":\"a\"}]"},
    {"messages", "[{\"id\":\"a\"}]", "[{\"id\":\"b\"}]", "[{\"id\":\"a\"},{\"id\":\"b\"}]"},
    {"messages",
     "[{\"id\":\"a\"},{\"id\":\"b\"}]",
     "[{\"id\":\"a\",\"n\":1}]",
     "[{\"id\":\"a\",\"n\":1},{\"id\":\"b\"}]"},
    {"messages", "[{\"id\":\"\\u0061\"}]", "[{\"id\":\"a\",\"n\":1}]", "[{\"id\":\"a\",\"n\":1}]"},
    {"messages",
     "[{\"id\":\"a\"},{\"id\":\"b\"}]",
     "[{\"type\":\"remove\",\"id\":\"a\"}]",
     "[{\"id\":\"b\"}]"},
    {"messages",
     "[{\"id\":\"a\"}]",
     "[{\"id\":\"c\"},{\"type\":\"remove\",\"id\":\"__remove_all__\"},{\"id\":\"d\"}]",
     "[{\"id\":\"d\"}]"},
    {"messages",
     "[{\"id\":\"a\"}]",
     "[{\"type\":\"remove\",\"id\":\"a\"},{\"id\":\"a\",\"n\":2}]",
     "[{\"id\":\"a\",\"n\":2}]"},
    {"messages", "[]", "[{\"n\":1},{\"n\":1}]", "[{\"n\":1},{\"n\":1}]"},
    {"messages", "[]", "[{\"type\":\"remove\",\"id\":\"a\"}]", NULL},
    {"messages", "[]", "[{\"type\":\"remove\"}]", NULL},
    {"messages", "[]", "[1]", NULL},
    {"messages", "1", "[]", NULL},
};

TEST(every_kind_folds_as_its_table_says)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        enum channel_kind kind;
        struct buf out;
        struct err e;
        bool ok;

        buf_init(&out, 1000);
        CHECK(channel_kind_find(str_c(cases[i].kind), &kind));
        ok = channel_fold(kind, str_c(cases[i].now), str_c(cases[i].update), &out, &e);
        CHECK_F(ok == (cases[i].want != NULL), "case %zu", i);
        if (ok)
            CHECK_STR(buf_str(&out), cases[i].want);
        buf_release(&out);
    }
}

TEST(a_value_over_the_ceiling_is_refused)
{
    struct buf out;
    struct err e;

    buf_init(&out, 8);
    CHECK(!channel_fold(CHANNEL_APPEND, STR("[1,2,3]"), STR("[4,5]"), &out, &e));
    CHECK(e.code == ERR_LIMIT);
    buf_release(&out);
}

TEST(an_unknown_kind_is_none)
{
    enum channel_kind kind;

    CHECK(!channel_kind_find(STR("sum"), &kind));
}

TEST_MAIN(T(every_kind_folds_as_its_table_says), T(a_value_over_the_ceiling_is_refused),
          T(an_unknown_kind_is_none))
