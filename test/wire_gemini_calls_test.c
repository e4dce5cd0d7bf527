/* Calls in Gemini's replies: their ids, their signatures, arguments in pieces, and lists of parts
 * that contained calls as text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

#define CHUNK(parts, more)                                                                         \
    "{\"candidates\":[{\"content\":{\"parts\":[" parts "],\"role\":\"model\"},\"index\":0" more    \
    "}],\"modelVersion\":\"g\",\"responseId\":\"R\"}"
#define DATA(json) "data: " json "\r\n\r\n"
#define STOP ",\"finishReason\":\"STOP\""

static void check_events(const char *bytes, enum frames_kind kind, const char *want)
{
    for (size_t piece = 0; piece < 10; piece++) {
        struct notes n;

        notes_init(&n);
        decode_to(&wire_gemini, str_c(bytes), kind, piece, &n);
        CHECK_STR(buf_str(&n.all), want);
        notes_release(&n);
    }
}

TEST(defect_4_calls_get_ids_and_keep_their_signature)
{
    check_events(
        DATA(CHUNK(
            "{\"functionCall\":{\"name\":\"f\",\"args\":{\"a\":1}},\"thoughtSignature\":\"S\"}"
            ",{\"functionCall\":{\"id\":\"own\",\"name\":\"g\"}}",
            STOP)),
        FRAMES_SSE,
        "\nstart R g\ncall 0.0 call_R_0 f\nkeep call_R_0 thoughtSignature: S\narguments 0.0: "
        "{\"a\":1}\ncall 0.1 own g\narguments 0.1: {}\nstop tool STOP\nend");
}

TEST(arguments_in_pieces_are_put_together)
{
    check_events(
        DATA(CHUNK("{\"functionCall\":{\"name\":\"f\",\"willContinue\":true}}", "")) DATA(
            CHUNK("{\"functionCall\":{\"partialArgs\":[{\"jsonPath\":\"$.a[0].b\","
                  "\"stringValue\":\"x\",\"willContinue\":true}],\"willContinue\":true}}",
                  ""))
            DATA(CHUNK("{\"functionCall\":{\"partialArgs\":[{\"jsonPath\":\"$.a[0].b\","
                       "\"stringValue\":\"y\"},{\"jsonPath\":\"$.a[1]['c d']\",\"numberValue\":2},"
                       "{\"jsonPath\":\"$.e\",\"boolValue\":true},{\"jsonPath\":\"$.n\","
                       "\"nullValue\":null}],\"willContinue\":true}}",
                       "")) DATA(CHUNK("{\"functionCall\":{}}", STOP)),
        FRAMES_SSE,
        "\nstart R g\ncall 0.0 call_R_0 f\narguments 0.0: {\"a\":[{\"b\":\"xy\"},{\"c "
        "d\":2}],\"e\":"
        "true,\"n\":null}\nstop tool STOP\nend");
}

#define PIECES(pieces)                                                                             \
    DATA(CHUNK("{\"functionCall\":{\"name\":\"f\",\"willContinue\":true}}", ""))                   \
    DATA(CHUNK("{\"functionCall\":{\"partialArgs\":[" pieces "]}}", STOP))

TEST(elements_of_a_list_of_arguments_are_ordered_by_their_index)
{
    check_events(PIECES("{\"jsonPath\":\"$.a[1]\",\"numberValue\":1},"
                        "{\"jsonPath\":\"$.a[2]\",\"numberValue\":2},"
                        "{\"jsonPath\":\"$.a[0]\",\"numberValue\":0}"),
                 FRAMES_SSE,
                 "\nstart R g\ncall 0.0 call_R_0 f\narguments 0.0: {\"a\":[0,1,2]}\nstop tool "
                 "STOP\nend");
}

TEST(names_of_arguments_may_have_escapes_and_values_may_end_empty)
{
    check_events(
        PIECES("{\"jsonPath\":\"$['it\\\\'s'][\\\"a\\\\u00e9]\\\"]\",\"stringValue\":\"x\","
               "\"willContinue\":true},{\"jsonPath\":\"$['it\\\\'s']['a\\u00e9]']\"},"
               "{\"jsonPath\":\"$.n\"}"),
        FRAMES_SSE,
        "\nstart R g\ncall 0.0 call_R_0 f\narguments 0.0: {\"it's\":{\"a\u00e9]\":\"x\"},"
        "\"n\":null}\nstop tool STOP\nend");
}

/* A call with a missing argument could have another effect. */
TEST(arguments_that_cannot_be_put_together_are_an_error)
{
    static const char *const wrong[] = {
        PIECES("{\"jsonPath\":\"$.a[9999999]\",\"boolValue\":true}"),
        PIECES("{\"jsonPath\":\"$.\",\"boolValue\":true}"),
        PIECES("{\"jsonPath\":\"$.a[x]\",\"boolValue\":true}"),
        PIECES("{\"jsonPath\":\"$.a['b\",\"boolValue\":true}")};

    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        check_events(wrong[i],
                     FRAMES_SSE,
                     "\nstart R g\ncall 0.0 call_R_0 f\nerror 502 the provider sent arguments of a "
                     "call that cannot be put together");
}

/* Texts that became reasoning and calls, and elements without events. */
TEST(a_changed_list_of_many_elements_takes_linear_time)
{
    enum { TEXTS = 4000, EMPTY = 400000 };
    static struct chat_event events[3 * TEXTS];
    struct buf b;

    buf_init(&b, HELP_SIZE_MAX);
    buf_add(&b, STR("{\"candidates\":[{\"content\":{\"parts\":[{}"));
    for (unsigned i = 0; i < TEXTS; i++)
        buf_add(&b, STR(",{\"text\":\"a\"}"));
    for (unsigned i = 0; i < EMPTY; i++)
        buf_add(&b, STR(",{}"));
    buf_add(&b, STR("]}}]}"));
    for (int named = 0; named < 2; named++) {
        struct wire_frame f = {.name = STR(""), .data = buf_str(&b), .raw = buf_str(&b)};
        const struct json_node *part = NULL;
        struct pass *p = malloc(sizeof *p);
        struct json doc;
        struct err e;

        assert(p);
        json_init(&doc);
        CHECK(json_parse(&doc, buf_str(&b), &e));
        f.doc = &doc;
        for (size_t i = 0; i < doc.n && !part; i++)
            if (json_is(&doc, &doc.nodes[i], STR("parts")))
                part = json_first(&doc, &doc.nodes[i + 1]);
        for (uint32_t i = 0; i < COUNT_OF(events); i++) {
            static const enum chat_event_kind kinds[] = {CHAT_REASONING, CHAT_CALL, CHAT_TEXT};

            events[i] = (struct chat_event){.kind = kinds[i % 3],
                                            .block = i,
                                            .text = STR("r"),
                                            .id = STR("i"),
                                            .name = STR("f")};
            if (named && i % 3 == 0) {
                part += part->span;
                events[i].node = json_get(&doc, part, "text");
                CHECK(events[i].node);
            }
        }
        pass_init(p, &wire_gemini, &wire_gemini, false);
        wire_relay(&p->en, &f, events, COUNT_OF(events), true);
        CHECK(str_find(buf_str(&p->out), STR("\"a\"")) == STR_NONE);
        pass_release(p);
        free(p);
        json_release(&doc);
    }
    buf_release(&b);
}

#define MALFORMED                                                                                  \
    ",\"finishReason\":\"MALFORMED_FUNCTION_CALL\",\"finishMessage\":\"Malformed call: f(\""

/* The model wrote an unreadable call, so the reply must not look complete. */
TEST(a_malformed_call_is_an_error)
{
    check_events(
        DATA(CHUNK("{\"text\":\"a\"}", "")) DATA(CHUNK("", MALFORMED)),
        FRAMES_SSE,
        "\nstart R g\ntext 0.0: a\nextra finishMessage: \"Malformed call: f(\"\nerror 502 the "
        "provider failed in the middle of its reply (finishReason: "
        "MALFORMED_FUNCTION_CALL): Malformed call: f(");
    check_events(CHUNK("", ",\"finishReason\":\"UNEXPECTED_TOOL_CALL\""),
                 FRAMES_WHOLE,
                 "\nstart R g\nerror 502 the provider failed in the middle of its reply "
                 "(finishReason: UNEXPECTED_TOOL_CALL)");
    check_events(CHUNK("{\"text\":\"a\"}", ",\"finishReason\":\"CONTINUATION\""),
                 FRAMES_WHOLE,
                 "\nstart R g\ntext 0.0: a\nstop length CONTINUATION\nend");
}

TEST_MAIN(T(a_malformed_call_is_an_error), T(a_changed_list_of_many_elements_takes_linear_time),
          T(defect_4_calls_get_ids_and_keep_their_signature),
          T(arguments_in_pieces_are_put_together),
          T(elements_of_a_list_of_arguments_are_ordered_by_their_index),
          T(names_of_arguments_may_have_escapes_and_values_may_end_empty),
          T(arguments_that_cannot_be_put_together_are_an_error))
