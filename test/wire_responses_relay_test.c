/* A Responses stream passed on to a client of the same dialect, with changed texts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"
#include "wire_run.h"

extern const struct wire wire_responses;

/* Relays a frame whose content is now these events. */
static void relay_frame(struct run *r, const char *data, const struct chat_event *events, size_t n,
                        bool touched)
{
    struct wire_frame f = {.name = STR(""), .data = str_c(data)};
    struct buf raw;
    struct json doc;
    struct err e;

    buf_init(&raw, RUN_SIZE_MAX);
    buf_printf(&raw, "data: %s\n\n", data);
    f.raw = buf_str(&raw);
    json_init(&doc);
    CHECK_F(json_parse(&doc, f.data, &e), "%s", e.text);
    f.doc = &doc;
    wire_relay(&r->relay, &f, events, n, touched);
    json_release(&doc);
    buf_release(&raw);
}

#define EV(k, b, t)                                                                                \
    {                                                                                              \
        .kind = (k), .block = (b), .text = STR_INIT(t), .id = STR_INIT(""), .name = STR_INIT("")   \
    }
#define SAY(...)                                                                                   \
    (const struct chat_event[]){__VA_ARGS__}, COUNT_OF(((struct chat_event[]){__VA_ARGS__}))
#define NOTHING NULL, 0

#define CREATED(n) "{\"type\":\"response.created\",\"sequence_number\":" #n "}"
#define ADDED(n, i, id)                                                                            \
    "{\"type\":\"response.output_item.added\",\"sequence_number\":" #n ",\"output_index\":" #i     \
    ",\"item\":{\"type\":\"message\",\"id\":\"" id "\",\"content\":[]}}"
#define PART(n, i, id)                                                                             \
    "{\"type\":\"response.content_part.added\",\"sequence_number\":" #n ",\"item_id\":\"" id       \
    "\",\"output_index\":" #i ",\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":"  \
    "\"\"}}"
#define DELTA(n, i, id, t)                                                                         \
    "{\"type\":\"response.output_text.delta\",\"sequence_number\":" #n ",\"item_id\":\"" id        \
    "\",\"output_index\":" #i ",\"content_index\":0,\"delta\":\"" t "\"}"
#define MESSAGE(id, t)                                                                             \
    "{\"type\":\"message\",\"id\":\"" id "\",\"content\":[{\"type\":\"output_text\",\"text\":\"" t \
    "\"}]}"
#define DONE(n, i, id, t)                                                                          \
    "{\"type\":\"response.output_item.done\",\"sequence_number\":" #n ",\"output_index\":" #i      \
    ",\"item\":" MESSAGE(id, t) "}"
#define COMPLETED(n, items)                                                                        \
    "{\"type\":\"response.completed\",\"sequence_number\":" #n                                     \
    ",\"response\":{\"status\":\"completed\",\"output\":[" items "]}}"

/* Decodes the relayed stream as a client would. Its events must be numbered without a gap. */
static void check_content(const struct run *r, const char *want)
{
    static struct run seen;
    str rest = buf_str(&r->relayed);
    unsigned n = 0;

    for (size_t at; (at = str_find(rest, STR("\"sequence_number\":"))) != STR_NONE; n++) {
        uint64_t number = UINT64_MAX;
        size_t end = at + 18;

        while (end < rest.n && rest.p[end] >= '0' && rest.p[end] <= '9')
            end++;
        CHECK(str_u64(str_slice(rest, at + 18, end), &number));
        CHECK_INT(number, n);
        rest = str_slice(rest, end, rest.n);
    }
    run_init(&seen, &wire_responses, true);
    run_feed(&seen, buf_str(&r->relayed), 0);
    CHECK_STR(buf_str(&seen.content), want);
    CHECK(seen.ended);
    run_release(&seen);
}

/* The same from its final response alone. */
static void check_final(const struct run *r, const char *want)
{
    static struct run seen;
    size_t at = str_find(buf_str(&r->relayed), STR("{\"type\":\"response.completed\""));
    struct buf b;

    CHECK(at != STR_NONE);
    buf_init(&b, RUN_SIZE_MAX);
    buf_printf(&b, "data: " STR_FMT, STR_ARG(str_slice(buf_str(&r->relayed), at, r->relayed.n)));
    run_init(&seen, &wire_responses, true);
    run_feed(&seen, buf_str(&b), 0);
    CHECK_STR(buf_str(&seen.content), want);
    run_release(&seen);
    buf_release(&b);
}

TEST(reasoning_at_the_beginning_of_a_message_is_the_item_before_it)
{
    static struct run r;

    run_init(&r, &wire_responses, true);
    r.relay.id = STR("x");
    relay_frame(&r, CREATED(0), NOTHING, false);
    relay_frame(&r, ADDED(1, 0, "m"), NOTHING, false);
    relay_frame(&r, PART(2, 0, "m"), NOTHING, false);
    relay_frame(&r, DELTA(3, 0, "m", "<think>"), NOTHING, true);
    relay_frame(&r, DELTA(4, 0, "m", "why"), SAY(EV(CHAT_REASONING, 0, "why")), true);
    CHECK_HAS(buf_str(&r.relayed), "\"delta\":\"why\""); /* without waiting for the message */
    CHECK_NOT(buf_str(&r.relayed), "\"message\"");
    relay_frame(&r, DELTA(5, 0, "m", "</think>yes"), SAY(EV(CHAT_TEXT, 1, "yes")), true);
    relay_frame(&r, DELTA(6, 0, "m", " sir"), SAY(EV(CHAT_TEXT, 1, " sir")), false);
    relay_frame(&r, DONE(7, 0, "m", "<think>why</think>yes sir"), NOTHING, false);
    relay_frame(&r, COMPLETED(8, MESSAGE("m", "<think>why</think>yes sir")), NOTHING, false);
    check_content(&r, "reasoning 0 \"why\"\ntext 1 \"yes sir\"\n");
    check_final(&r, "reasoning 0 \"why\"\ntext 1 \"yes sir\"\n");
    CHECK_HAS(buf_str(&r.relayed), "\"output_index\":1,\"item\":{\"type\":\"message\"");
    CHECK_HAS(buf_str(&r.relayed), "\"id\":\"rs_rationale_x_0\"");
    run_release(&r);
}

/* The frames that begin a message are buffered until its text, and then passed on unchanged. */
TEST(a_message_without_reasoning_passes_byte_for_byte)
{
    static const char *const frames[] = {CREATED(0),
                                         ADDED(1, 0, "m"),
                                         PART(2, 0, "m"),
                                         DELTA(3, 0, "m", "a"),
                                         DONE(4, 0, "m", "a"),
                                         ADDED(5, 1, "k"),
                                         ADDED(6, 2, "l"),
                                         PART(7, 2, "l"),
                                         DONE(8, 2, "l", ""),
                                         COMPLETED(9, MESSAGE("m", "a"))};
    static struct run r;
    struct buf all;

    buf_init(&all, RUN_SIZE_MAX);
    run_init(&r, &wire_responses, true);
    for (size_t i = 0; i < COUNT_OF(frames); i++) {
        relay_frame(&r, frames[i], NOTHING, false);
        buf_printf(&all, "data: %s\n\n", frames[i]);
    }
    buf_add_c(&all, '\0');
    CHECK_STR(buf_str(&r.relayed), all.p);
    run_release(&r);
    buf_release(&all);
}

/* The message has no content yet, so it is not part of the reply that the second call completes. */
TEST(a_message_that_nothing_came_of_is_not_in_a_reply_that_another_call_finishes)
{
    static struct run r;
    const struct chat_event rest[] = {EV(CHAT_START, 0, ""),
                                      EV(CHAT_TEXT, 1, "yes"),
                                      {.kind = CHAT_STOP, .text = STR_INIT("")},
                                      {.kind = CHAT_END, .text = STR_INIT("")}};

    run_init(&r, &wire_responses, true);
    r.relay.id = STR("x");
    relay_frame(&r, CREATED(0), NOTHING, false);
    relay_frame(&r, ADDED(1, 0, "m"), NOTHING, false);
    relay_frame(&r, PART(2, 0, "m"), NOTHING, false);
    relay_frame(&r, DELTA(3, 0, "m", "<think>why"), SAY(EV(CHAT_REASONING, 0, "why")), true);
    for (size_t i = 0; i < COUNT_OF(rest); i++)
        wire_encode(&r.relay, &rest[i]);
    check_content(&r, "reasoning 0 \"why\"\ntext 1 \"yes\"\n");
    check_final(&r, "reasoning 0 \"why\"\ntext 1 \"yes\"\n");
    CHECK_NOT(buf_str(&r.relayed), "\"id\":\"m\"");
    run_release(&r);
}

#define THOUGHT(n, i, t)                                                                           \
    "{\"type\":\"response.reasoning_text.delta\",\"sequence_number\":" #n                          \
    ",\"item_id\":\"r\",\"output_index\":" #i ",\"content_index\":0,\"delta\":\"" t "\"}"

/* If a host never ends a text, its buffered rest is emitted with a frame of another kind. */
TEST(text_that_was_held_back_until_reasoning_came_is_not_lost)
{
    static struct run r;
    struct chat_event events[] = {EV(CHAT_TEXT, 0, "<"), EV(CHAT_REASONING, 1, "why")};

    run_init(&r, &wire_responses, true);
    relay_frame(&r, CREATED(0), NOTHING, false);
    relay_frame(&r, ADDED(1, 0, "m"), NOTHING, false);
    relay_frame(&r, DELTA(2, 0, "m", "a <"), SAY(EV(CHAT_TEXT, 0, "a ")), true);
    relay_frame(&r, THOUGHT(3, 1, "why"), events, COUNT_OF(events), true);
    relay_frame(&r, COMPLETED(4, MESSAGE("m", "a <")), NOTHING, false);
    check_content(&r, "text 0 \"a <\"\nreasoning 1 \"why\"\n");
    check_final(&r, "text 0 \"a <\"\n");
    run_release(&r);
}

/* Some hosts omit items from the final response, so the indexes of other items differ there. */
TEST(a_changed_text_is_known_in_a_final_response_with_fewer_items)
{
    static struct run r;

    run_init(&r, &wire_responses, true);
    r.relay.id = STR("x");
    relay_frame(&r, CREATED(0), NOTHING, false);
    relay_frame(&r, DONE(1, 0, "first", "1"), NOTHING, false);
    relay_frame(&r, ADDED(2, 1, "m"), NOTHING, false);
    relay_frame(&r, DELTA(3, 1, "m", "<think>why</think>yes"), SAY(EV(CHAT_TEXT, 1, "yes")), true);
    relay_frame(&r, COMPLETED(4, MESSAGE("m", "<think>why</think>yes")), NOTHING, false);
    CHECK_NOT(buf_str(&r.relayed), "think>");
    check_final(&r, "text 0 \"yes\"\n");
    run_release(&r);
}

/* A changed text that arrived only as a whole: no delta named the id of its item. */
TEST(text_that_is_held_back_until_the_end_is_valid_json)
{
    static struct run r;

    run_init(&r, &wire_responses, true);
    relay_frame(&r, CREATED(0), NOTHING, false);
    relay_frame(&r, DONE(1, 0, "m", "a <"), NOTHING, true);
    relay_frame(&r, COMPLETED(2, MESSAGE("m", "a <")), SAY(EV(CHAT_TEXT, 0, "a <")), true);
    CHECK_HAS(buf_str(&r.relayed),
              "\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"a <\"");
    check_final(&r, "text 0 \"a <\"\n");
    run_release(&r);
}

/* An item is passed on after inserted events of the same frame; then a second call continues the
 * reply. */
TEST(an_item_after_events_of_ours_is_in_the_response_of_another_call)
{
    static struct run r;
    const struct chat_event rest[] = {EV(CHAT_START, 0, ""),
                                      EV(CHAT_TEXT, 2, "more"),
                                      {.kind = CHAT_STOP, .text = STR_INIT("")},
                                      {.kind = CHAT_END, .text = STR_INIT("")}};

    run_init(&r, &wire_responses, true);
    r.relay.id = STR("x");
    relay_frame(&r, CREATED(0), NOTHING, false);
    relay_frame(&r, ADDED(1, 0, "m"), NOTHING, false);
    relay_frame(&r, DELTA(2, 0, "m", "a <"), SAY(EV(CHAT_TEXT, 0, "a ")), true);
    relay_frame(&r, DONE(3, 0, "m", "a <"), SAY(EV(CHAT_TEXT, 0, "<")), true);
    for (size_t i = 0; i < COUNT_OF(rest); i++)
        wire_encode(&r.relay, &rest[i]);
    check_final(&r, "text 0 \"a <\"\ntext 1 \"more\"\n");
    run_release(&r);
}

TEST(hundreds_of_reasoning_items_in_one_text_are_all_passed_on)
{
    static struct run r;

    run_init(&r, &wire_responses, true);
    r.relay.id = STR("x");
    relay_frame(&r, CREATED(0), NOTHING, false);
    relay_frame(&r, ADDED(1, 0, "m"), NOTHING, false);
    for (uint32_t i = 0; i < 600; i++) {
        struct chat_event events[] = {EV(CHAT_REASONING, 2 * i, "r"),
                                      EV(CHAT_TEXT, 2 * i + 1, "t")};

        relay_frame(&r, DELTA(2, 0, "m", "<think>r</think>t"), events, 2, true);
    }
    for (size_t at = 0, n = 0, k; n <= 600; n++, at += k + 1) {
        k = str_find(str_slice(buf_str(&r.relayed), at, r.relayed.n),
                     STR("\"response.reasoning_summary_text.delta\""));
        CHECK_INT(k == STR_NONE, n == 600);
        if (k == STR_NONE)
            break;
    }
    run_release(&r);
}

/* Numbers near the limits of an integer are not changed, and nothing overflows. */
TEST(an_event_number_without_room_for_more_stays)
{
    static struct run r;

    run_init(&r, &wire_responses, true);
    r.relay.id = STR("x");
    relay_frame(&r, CREATED(0), NOTHING, false);
    relay_frame(&r, DELTA(1, 0, "m", "<think>why"), SAY(EV(CHAT_REASONING, 0, "why")), true);
    relay_frame(&r, CREATED(9223372036854775807), NOTHING, false);
    relay_frame(&r, CREATED(-9223372036854775807), NOTHING, false);
    CHECK_HAS(buf_str(&r.relayed), "\"sequence_number\":9223372036854775807}");
    CHECK_HAS(buf_str(&r.relayed), "\"sequence_number\":-9223372036854775807}");
    run_release(&r);
}

/* Appends the last event of an item: a message with n texts. */
static void add_message(struct buf *b, unsigned number, unsigned index, unsigned n)
{
    buf_printf(b,
               "{\"type\":\"response.output_item.done\",\"sequence_number\":%u,"
               "\"output_index\":%u,\"item\":{\"type\":\"message\",\"content\":[",
               number,
               index);
    for (unsigned i = 0; i < n; i++)
        buf_printf(b, "%s{\"type\":\"output_text\",\"text\":\"t\"}", i ? "," : "");
    buf_add(b, STR("]}}"));
    buf_add_c(b, '\0');
}

/* The number of remembered texts is limited. Beyond the limit a text is not passed on, because it
 * might be hidden. */
TEST(a_reply_with_more_texts_than_are_remembered_fails)
{
    static const char *const secrets[] = {
        "{\"type\":\"response.reasoning_text.delta\",\"sequence_number\":2,"
        "\"output_index\":1,\"content_index\":0,\"delta\":\"secret\"}",
        "{\"type\":\"response.output_item.done\",\"sequence_number\":2,"
        "\"output_index\":1,\"item\":{\"type\":\"reasoning\",\"content\":["
        "{\"type\":\"reasoning_text\",\"text\":\"secret\"}]}}",
        "{\"type\":\"response.completed\",\"sequence_number\":2,\"response\":{"
        "\"status\":\"completed\",\"output\":[{\"type\":\"x\"},{\"type\":\"reasoning\","
        "\"summary\":[{\"type\":\"summary_text\",\"text\":\"secret\"}]}]}}",
    };
    static struct run r, seen;
    struct buf b;

    buf_init(&b, RUN_SIZE_MAX);
    add_message(&b, 1, 0, 2 * WIRE_BLOCKS_MAX);
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        run_init(&r, &wire_responses, true);
        r.relay.id = STR("x");
        relay_frame(&r, CREATED(0), NOTHING, false);
        relay_frame(&r, b.p, NOTHING, false);
        CHECK(!r.relay.failed);
        relay_frame(&r, secrets[i], NOTHING, true);
        CHECK(r.relay.failed);
        CHECK_NOT(buf_str(&r.relayed), "secret");
        CHECK_HAS(buf_str(&r.relayed),
                  "{\"type\":\"error\",\"sequence_number\":2,\"code\":\"response_too_large\"");
        run_init(&seen, &wire_responses, true);
        run_feed(&seen, buf_str(&r.relayed), 0);
        CHECK_INT(seen.error_status, 502);
        run_release(&seen);
        run_release(&r);
    }
    buf_release(&b);
}

/* Items named by earlier events are found by their ids; each lookup is a search, so their number is
 * limited. */
TEST(a_final_response_of_too_many_known_items_fails)
{
    static struct run r;
    struct buf b;

    buf_init(&b, RUN_SIZE_MAX);
    buf_add(
        &b,
        STR("data: " ADDED(
            1, 0, "i") "\n\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":["));
    for (unsigned i = 0; i <= WIRE_BLOCKS_MAX; i++)
        buf_printf(&b, "%s{\"id\":\"i\",\"type\":\"message\"}", i ? "," : "");
    buf_add(&b, STR("]}}\n\n"));
    run_init(&r, &wire_responses, true);
    run_feed(&r, buf_str(&b), 0);
    CHECK_INT(r.error_status, 502);
    run_release(&r);
    buf_release(&b);
}

TEST_MAIN(T(reasoning_at_the_beginning_of_a_message_is_the_item_before_it),
          T(a_message_without_reasoning_passes_byte_for_byte),
          T(a_message_that_nothing_came_of_is_not_in_a_reply_that_another_call_finishes),
          T(text_that_was_held_back_until_reasoning_came_is_not_lost),
          T(a_changed_text_is_known_in_a_final_response_with_fewer_items),
          T(text_that_is_held_back_until_the_end_is_valid_json),
          T(an_item_after_events_of_ours_is_in_the_response_of_another_call),
          T(hundreds_of_reasoning_items_in_one_text_are_all_passed_on),
          T(an_event_number_without_room_for_more_stays),
          T(a_reply_with_more_texts_than_are_remembered_fails),
          T(a_final_response_of_too_many_known_items_fails))
