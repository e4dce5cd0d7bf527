/* Requests that a viewer sends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/ask.h"

#include "base/buf.h"
#include "test.h"

TEST(a_message_is_read_or_told_what_is_wrong_with_it)
{
    static const struct {
        const char *text, *code; /* NULL: valid */
        enum ask_kind kind;
        const char *channel;
    } table[] = {
        {"{\"type\":\"subscribe\",\"channel\":\"a\"}", NULL, ASK_SUBSCRIBE, "a"},
        {" {\"channel\":\"\\u00e9\", \"type\":\"unsubscribe\", \"more\":[1]} ",
         NULL,
         ASK_UNSUBSCRIBE,
         "\xC3\xA9"},
        {"{\"type\":\"\\u0070ing\"}", NULL, ASK_PING, ""},
        {"{\"type\":\"ping\",\"channel\":3}", NULL, ASK_PING, ""},
        {"{\"type\":\"ping\",\"type\":\"subscribe\",\"channel\":\"b\"}", NULL, ASK_SUBSCRIBE, "b"},
        {"", "invalid_json", 0, NULL},
        {"{", "invalid_json", 0, NULL},
        {"{\"type\":\"ping\"} x", "invalid_json", 0, NULL},
        {"null", "invalid_message", 0, NULL},
        {"[{\"type\":\"ping\"}]", "invalid_message", 0, NULL},
        {"\"ping\"", "invalid_message", 0, NULL},
        {"{}", "invalid_message", 0, NULL},
        {"{\"type\":null}", "invalid_message", 0, NULL},
        {"{\"type\":\"Subscribe\",\"channel\":\"a\"}", "unknown_type", 0, NULL},
        {"{\"type\":\"subscribe\"}", "invalid_message", 0, NULL},
        {"{\"type\":\"subscribe\",\"channel\":\"\"}", "invalid_message", 0, NULL},
        {"{\"type\":\"subscribe\",\"channel\":[\"a\"]}", "invalid_message", 0, NULL},
    };

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const char *code = NULL;
        struct ask ask;
        struct err e;
        bool ok = ask_parse(str_c(table[i].text), &ask, &code, &e);

        CHECK_F(ok == !table[i].code, "%s", table[i].text);
        if (!ok) {
            CHECK_F(code && strcmp(code, table[i].code) == 0, "%s: %s", table[i].text, code);
            CHECK(e.text[0] != '\0');
            continue;
        }
        CHECK_INT(ask.kind, table[i].kind);
        CHECK_STR(ask_channel(&ask), table[i].channel);
    }
}

TEST(what_is_too_large_is_refused)
{
    const char *code = NULL;
    struct buf b;
    struct ask ask;
    struct err e;

    buf_init(&b, 1 << 20);
    buf_add(&b, STR("{\"type\":\"subscribe\",\"channel\":\""));
    while (b.n < 700)
        buf_add_c(&b, 'x');
    buf_add(&b, STR("\"}"));
    CHECK(!ask_parse(buf_str(&b), &ask, &code, &e));
    CHECK_STR(str_c(code), "unknown_channel");
    while (b.n <= ASK_MESSAGE_MAX)
        buf_add_c(&b, ' ');
    CHECK(!ask_parse(buf_str(&b), &ask, &code, &e));
    CHECK_STR(str_c(code), "message_too_large");
    buf_release(&b);
}

TEST(a_query_is_taken_apart_and_its_escapes_undone)
{
    static const char *const bad[] = {"%", "%4", "%zz", "%ff", "a%0", "%c3"};
    str query = STR("&channel=session_a%26b+c&&x&last_event_id=7&y=1=2"), name, value;
    struct ask_value v;
    struct buf out;

    buf_init(&out, 4096);
    while (ask_query_next(&query, &name, &value)) {
        CHECK(ask_unescape(value, &v));
        buf_printf(&out, STR_FMT "=" STR_FMT ";", STR_ARG(name), STR_ARG(((str){v.text, v.size})));
    }
    CHECK_STR(buf_str(&out), "channel=session_a&b c;x=;last_event_id=7;y=1=2;");
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK(!ask_unescape(str_c(bad[i]), &v));
    CHECK(ask_unescape(STR("%E2%82%ac"), &v) && v.size == 3);
    buf_reset(&out);
    while (out.n < ASK_VALUE_MAX)
        buf_add_c(&out, 'x');
    CHECK(ask_unescape(buf_str(&out), &v));
    buf_add_c(&out, 'x');
    CHECK(!ask_unescape(buf_str(&out), &v));
    buf_release(&out);
}

TEST_MAIN(T(a_message_is_read_or_told_what_is_wrong_with_it), T(what_is_too_large_is_refused),
          T(a_query_is_taken_apart_and_its_escapes_undone))
