/* Hidden reasoning is removed from replies and from the history of requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_openai_help.h"

#include "wire/redact_reasoning.h"

/* A message with one reasoning member repeated many times, or with many different ones: each is
 * removed, in linear time. */
TEST(reasoning_that_is_named_many_times_is_removed_in_linear_time)
{
    for (unsigned distinct = 0; distinct < 2; distinct++) {
        struct arena a;
        struct buf b;

        buf_init(&b, (size_t)4 << 20);
        buf_add(&b, STR("{\"messages\":[{\"role\":\"assistant\""));
        for (unsigned i = 0; i < 100000; i++)
            buf_printf(&b, ",\"thinking%u\":\"a\"", distinct * i);
        buf_add(&b, STR("}]}"));
        CHECK(!buf_full(&b));
        arena_init(&a, (size_t)256 << 20);
        CHECK_STR(redact_history_text(buf_str(&b), &a),
                  "{\"messages\":[{\"role\":\"assistant\"}]}");
        arena_release(&a);
        buf_release(&b);
    }
}

/* Unknown members pass to a client of the same dialect without their reasoning, at any depth and in
 * any spelling of its name. */
TEST(hidden_reasoning_is_removed_from_unknown_members_at_any_depth)
{
    static const char *const names[] = {"thinking", "th\\u0069nking", "thinking\\/raw"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct said s;
        struct buf b;

        buf_init(&b, HELP_MAX);
        buf_add(&b, STR("{\"choices\":[{\"message\":{\"content\":\"a\"},\"x\":"));
        for (unsigned k = 0; k < 100; k++)
            buf_add(&b, STR("[{\"y\":"));
        buf_printf(&b, "{\"%s\":\"secret\",\"z\":1}", names[i]);
        for (unsigned k = 0; k < 100; k++)
            buf_add(&b, STR("}]"));
        buf_add(&b, STR("}]}"));
        said_init(&s, &wire_openai);
        s.d.hides = true;
        said_whole(&s, buf_str(&b));
        CHECK(str_find(buf_str(&s.lines), STR("\"z\":1")) != STR_NONE);
        CHECK(str_find(buf_str(&s.lines), STR("secret")) == STR_NONE);
        said_release(&s);
        buf_release(&b);
    }
}

/* Gemini's stream without SSE is a list of chunks, and Gemini's members have two spellings. */
TEST(hidden_reasoning_of_gemini_is_removed_in_both_spellings_and_from_a_list)
{
#define CHUNK(tokens)                                                                              \
    "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true},{\"text\":"      \
    "\"a\"}]},"                                                                                    \
    "\"finishReason\":\"STOP\",\"" tokens                                                          \
    "\":{\"x\":\"secret\"},\"thought_summary\":\"secret\"}]}"
    static const char *const bodies[] = {CHUNK("logprobsResult"),
                                         CHUNK("logprobs_result"),
                                         "[" CHUNK("logprobsResult") "]",
                                         "[1," CHUNK("logprobs_result") "]"};
#undef CHUNK

    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct said s;

        said_init(&s, &wire_gemini);
        s.d.hides = true;
        said_whole(&s, str_c(bodies[i]));
        CHECK(str_find(buf_str(&s.lines), STR("text 0.1")) != STR_NONE);
        CHECK_F(str_find(buf_str(&s.lines), STR("secret")) == STR_NONE, "%s", bodies[i]);
        said_release(&s);
    }
}

/* Gemini accepts a message, and a part, outside a list. */
TEST(reasoning_of_a_request_without_lists_is_removed)
{
    static const struct {
        const char *body, *want;
    } rows[] = {
        {"{\"contents\":{\"parts\":[{\"text\":\"hm\",\"thought\":true},{\"text\":\"a\"}]}}",
         "{\"contents\":{\"parts\":[{\"text\":\"a\"}]}}"},
        {"{\"contents\":[{\"parts\":{\"text\":\"hm\",\"thought\":true}}]}",
         "{\"contents\":[{\"parts\":[]}]}"},
        {"{\"contents\":{\"parts\":{\"function_call\":{},\"thought_signature\":\"S\"}}}",
         "{\"contents\":{\"parts\":{\"function_call\":{},\"thought_signature\":\"S\"}}}"},
        {"{\"input\":\"a\"}", "{\"input\":\"a\"}"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena a;

        arena_init(&a, 1 << 20);
        CHECK_STR(redact_history_text(str_c(rows[i].body), &a), rows[i].want);
        arena_release(&a);
    }
}

TEST_MAIN(T(reasoning_that_is_named_many_times_is_removed_in_linear_time),
          T(hidden_reasoning_is_removed_from_unknown_members_at_any_depth),
          T(hidden_reasoning_of_gemini_is_removed_in_both_spellings_and_from_a_list),
          T(reasoning_of_a_request_without_lists_is_removed))
