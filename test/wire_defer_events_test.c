/* Events of a whole reply that are buffered until it is decoded equal those emitted at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/defer_events.h"
#include "wire_help.h"

static const char *const replies[] = {
    "{\"id\":\"a\",\"model\":\"m\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
    "\"content\":\"one \\u00e9 two\",\"reasoning\":\"why\\nnot\"},\"finish_reason\":\"stop\"}],"
    "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4},\"service_tier\":\"x\"}",
    /* calls between texts, and data that must be sent back with them */
    "{\"id\":\"b\",\"choices\":[{\"message\":{\"reasoning_content\":\"hm\",\"content\":\"text\","
    "\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},{\"id\":"
    "\"c2\",\"function\":{\"name\":\"g\",\"arguments\":\"{\\\"a\\\":1}\"},\"extra_content\":{}}]},"
    "\"finish_reason\":\"tool_calls\"}]}",
    /* usage twice */
    "{\"choices\":[{\"message\":{\"content\":\"x\"},\"usage\":{\"prompt_tokens\":1}}],"
    "\"usage\":{\"prompt_tokens\":2}}",
    /* more events than fit into the buffer */
    "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"choices\":[{\"message\":{"
    "\"content\":\"x\",\"refusal\":\"no\",\"i\":9},\"j\":10},{\"index\":1,\"message\":{\"content\":"
    "[{\"type\":\"text\",\"text\":\"y\"},{\"type\":\"odd\"}]}}],\"k\":\"\\u00fc\"}",
    /* errors, alone and after a text */
    "{\"error\":{\"message\":\"broken\",\"code\":\"c\"}}",
    "{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"error\":{\"message\":\"bro\\tken\"}}",
    "{\"choices\":[]}",
    "[]",
    /* Anthropic */
    "{\"id\":\"m\",\"type\":\"message\",\"model\":\"c\",\"content\":[{\"type\":\"thinking\","
    "\"thinking\":\"h\\u00e9\",\"signature\":\"s\\/1\"},{\"type\":\"text\",\"text\":\"a\\nb\"}],"
    "\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2},\"x\":[1]}",
    "{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"a\",\"citations\":[{\"b\":1}]},{"
    "\"type\":\"redacted_thinking\",\"data\":\"d\"},{\"type\":\"tool_use\",\"id\":\"t\",\"name\":"
    "\"f\",\"input\":{\"a\":1}},{\"type\":\"odd\"}],\"stop_reason\":\"tool_use\"}",
    "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}",
};

static void decode(const struct wire *w, const char *text, bool held, struct notes *n)
{
    struct wire_frame f = {.name = STR(""), .data = str_c(text), .raw = str_c(text)};
    struct wire_decoder d;
    struct arena a;
    struct deferred_events h;

    notes_init(n);
    arena_init(&a, HELP_SIZE_MAX);
    wire_decoder_init(&d, w, &a, (struct chat_sink){note, n});
    if (wire_whole_parse(&d, &f)) {
        if (held)
            defer_events_begin(&h, &d);
        wire_whole_decode(&d, &f);
        if (held) {
            defer_events_end(&h, &d);
            defer_events_flush(&h);
        }
    }
    wire_decoder_release(&d);
    arena_release(&a);
}

TEST(hold_hands_on_what_the_decoder_said)
{
    static const enum chat_dialect dialects[] = {CHAT_OPENAI, CHAT_MISTRAL, CHAT_ANTHROPIC};

    for (size_t k = 0; k < COUNT_OF(dialects); k++)
        for (size_t i = 0; i < COUNT_OF(replies); i++) {
            struct notes at_once, held;

            decode(wire_get(dialects[k]), replies[i], false, &at_once);
            decode(wire_get(dialects[k]), replies[i], true, &held);
            check_same(replies[i], "all", buf_str(&held.all), buf_str(&at_once.all));
            check_same(replies[i], "bag", buf_str(&held.bag), buf_str(&at_once.bag));
            CHECK(held.errors == at_once.errors && held.ends == at_once.ends);
            notes_release(&at_once);
            notes_release(&held);
        }
}

TEST(hold_keeps_most_of_a_plain_reply_until_it_is_asked)
{
    struct wire_frame f = {.name = STR(""), .data = str_c(replies[0]), .raw = str_c(replies[0])};
    struct wire_decoder d;
    struct notes n;
    struct arena a;
    struct deferred_events h;

    notes_init(&n);
    arena_init(&a, HELP_SIZE_MAX);
    wire_decoder_init(&d, wire_get(CHAT_OPENAI), &a, (struct chat_sink){note, &n});
    CHECK(wire_whole_parse(&d, &f));
    defer_events_begin(&h, &d);
    wire_whole_decode(&d, &f);
    defer_events_end(&h, &d);
    CHECK(n.all.n == 0 && h.n == 7);
    defer_events_flush(&h);
    CHECK(n.ends == 1 && h.n == 0);
    defer_events_flush(&h);
    CHECK(n.ends == 1);
    wire_decoder_release(&d);
    arena_release(&a);
    notes_release(&n);
}

TEST_MAIN(T(hold_hands_on_what_the_decoder_said),
          T(hold_keeps_most_of_a_plain_reply_until_it_is_asked))
