/* conversation_test.c - a conversation is recognised by its history.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/conversation.h"

#include "test.h"

#define MESSAGES_MAX 16

struct say {
    enum chat_role role;
    enum chat_part_kind kind;
    const char *text; /* or the id of a call */
};

static struct chat_part parts[MESSAGES_MAX];
static struct chat_message messages[MESSAGES_MAX];

static struct chat_request request(const struct say *says, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool call = says[i].kind == CHAT_PART_TOOL_CALL || says[i].kind == CHAT_PART_TOOL_RESULT;

        parts[i] = (struct chat_part){.kind = says[i].kind,
                                      .text = str_c(call ? "" : says[i].text),
                                      .id = str_c(call ? says[i].text : ""),
                                      .name = str_c(call ? "tool" : "")};
        messages[i] =
            (struct chat_message){.role = says[i].role, .parts = &parts[i], .part_count = 1};
    }
    return (struct chat_request){.dialect = CHAT_OPENAI, .messages = messages, .message_count = n};
}

#define USER(t)                                                                                    \
    {                                                                                              \
        CHAT_USER, CHAT_PART_TEXT, t                                                               \
    }
#define MODEL(t)                                                                                   \
    {                                                                                              \
        CHAT_ASSISTANT, CHAT_PART_TEXT, t                                                          \
    }
#define THINKS(t)                                                                                  \
    {                                                                                              \
        CHAT_ASSISTANT, CHAT_PART_REASONING, t                                                     \
    }
#define SYSTEM(t)                                                                                  \
    {                                                                                              \
        CHAT_SYSTEM, CHAT_PART_TEXT, t                                                             \
    }
#define CALLS(id)                                                                                  \
    {                                                                                              \
        CHAT_ASSISTANT, CHAT_PART_TOOL_CALL, id                                                    \
    }
#define RESULT(id)                                                                                 \
    {                                                                                              \
        CHAT_TOOL, CHAT_PART_TOOL_RESULT, id                                                       \
    }

static struct arena arena;

/* Returns the session found for these messages, or "". If `session` is not empty, notes the reply
 * (a text, then a call) under it. */
static str turn(struct conversations *all, const char *who, const struct say *says, size_t n,
                const char *reply, const char *call, const char *session)
{
    struct chat_request r = request(says, n);
    struct conversation t;
    str found = STR("");

    conversation_begin(all, &t, str_c(who), &r, &arena);
    if (!conversation_find(all, &t, &arena, &found))
        found = STR("");
    for (const char *p = reply; *p; p++)
        conversation_text(&t, (str){p, 1}); /* in pieces of one byte */
    if (*call)
        conversation_call(&t, str_c(call), STR("tool"));
    if (*session)
        conversation_end(all, &t, str_c(session), STR(""), STR(""));
    return found;
}

#define TURN(all, who, reply, call, session, ...)                                                  \
    turn(all,                                                                                      \
         who,                                                                                      \
         (const struct say[]){__VA_ARGS__},                                                        \
         sizeof((const struct say[]){__VA_ARGS__}) / sizeof(struct say),                           \
         reply,                                                                                    \
         call,                                                                                     \
         session)

static struct conversations *fresh(size_t n)
{
    arena_release(&arena);
    arena_init(&arena, 1 << 20);
    return conversations_new(n, NULL);
}

TEST(what_was_kept_is_known_to_another_with_the_same_seed)
{
    static const struct say asked[] = {{CHAT_USER, CHAT_PART_TEXT, "hello"}};
    const uint64_t seed[2] = {1, 2}, other[2] = {3, 4};
    struct conversations *one, *two, *three;
    struct chat_request r;
    struct conversation t;
    str kept;

    arena_release(&arena);
    arena_init(&arena, 1 << 20);
    one = conversations_new(64, seed);
    two = conversations_new(64, seed);
    three = conversations_new(64, other);
    r = request(asked, 1);
    conversation_begin(one, &t, STR("alice"), &r, &arena);
    conversation_text(&t, STR("hi there"));
    conversation_end(one, &t, STR("s1"), STR(""), STR(""));
    kept = conversation_kept(&t, STR(""), STR(""), &arena);
    CHECK_INT(kept.n, 33);
    conversations_recall(two, STR("s1"), kept);
    conversations_recall(three, STR("s1"), kept);
    conversations_recall(two, STR("s2"), STR("what is this"));
    conversations_recall(two, STR(""), kept);
    for (int i = 0; i < 3; i++)
        CHECK_STR(TURN(i == 0   ? one
                       : i == 1 ? two
                                : three,
                       "alice",
                       "",
                       "",
                       "",
                       {CHAT_USER, CHAT_PART_TEXT, "hello"},
                       {CHAT_ASSISTANT, CHAT_PART_TEXT, "hi there"},
                       {CHAT_USER, CHAT_PART_TEXT, "and on"}),
                  i < 2 ? "s1" : "");
    CHECK_STR(TURN(two,
                   "bob",
                   "",
                   "",
                   "",
                   {CHAT_USER, CHAT_PART_TEXT, "hello"},
                   {CHAT_ASSISTANT, CHAT_PART_TEXT, "hi there"},
                   {CHAT_USER, CHAT_PART_TEXT, "and on"}),
              "");
    conversations_free(one);
    conversations_free(two);
    conversations_free(three);
}

TEST(the_next_request_of_a_conversation_is_of_its_session)
{
    struct conversations *all = fresh(64);

    CHECK_STR(TURN(all, "k", " Hello,\n you. \n", "", "one", USER("hi")), "");
    CHECK_STR(TURN(all, "k", "Good.", "", "one", USER("hi"), MODEL("Hello,\n you."), USER("so?")),
              "one");
    CHECK_STR(TURN(all,
                   "k",
                   "",
                   "",
                   "",
                   SYSTEM("it is noon"),
                   USER("hi"),
                   THINKS("hm"),
                   MODEL("Hello,\n you."),
                   USER("so?"),
                   MODEL("Good."),
                   USER("bye")),
              "one");
    conversations_free(all);
}

TEST(the_same_question_again_is_another_conversation)
{
    struct conversations *all = fresh(64);

    CHECK_STR(TURN(all, "k", "Hello.", "", "one", USER("hi")), "");
    CHECK_STR(TURN(all, "k", "Hallo.", "", "two", USER("hi")), "");
    CHECK_STR(TURN(all, "k", "", "", "", USER("hi"), MODEL("Hello."), USER("a")), "one");
    CHECK_STR(TURN(all, "k", "", "", "", USER("hi"), MODEL("Hallo."), USER("a")), "two");
    CHECK_STR(TURN(all, "k", "", "", "", USER("hi"), MODEL("changed"), USER("a")), "");
    conversations_free(all);
}

TEST(a_reply_that_the_client_changed_is_found_by_what_was_asked)
{
    struct conversations *all = fresh(64);

    CHECK_STR(TURN(all, "k", "Hello there", "", "one", USER("a question of one's own")), "");
    CHECK_STR(TURN(all, "k", "", "", "", USER("a question of one's own"), MODEL("Hel"), USER("go")),
              "one");
    conversations_free(all);
}

TEST(conversations_that_begin_alike_stay_apart)
{
    struct conversations *all = fresh(64);

    CHECK_STR(TURN(all, "", "yes", "", "one", USER("hi")), "");
    CHECK_STR(TURN(all, "", "yes", "", "two", USER("hi")), "");
    CHECK_STR(TURN(all, "", "left", "", "one", USER("hi"), MODEL("yes"), USER("a")), "one");
    CHECK_STR(TURN(all, "", "right", "", "two", USER("hi"), MODEL("yes"), USER("b")), "two");
    CHECK_STR(
        TURN(all, "", "", "", "", USER("hi"), MODEL("yes"), USER("b"), MODEL("right"), USER("c")),
        "two");
    CHECK_STR(
        TURN(all, "", "", "", "", USER("hi"), MODEL("yes"), USER("a"), MODEL("left"), USER("c")),
        "one");
    CHECK_STR(TURN(all, "", "yes", "", "three", USER("hi")), ""); /* after both have continued */
    CHECK_STR(TURN(all, "", "", "", "", USER("hi"), MODEL("yes"), USER("d")), "three");
    CHECK_STR(TURN(all, "", "", "", "", USER("hi"), MODEL("yes"), USER("e")), "three");
    conversations_free(all);
}

TEST(one_that_is_asked_again_from_the_middle_stays_one)
{
    struct conversations *all = fresh(64);

    CHECK_STR(TURN(all, "", "yes", "", "one", USER("hi")), "");
    CHECK_STR(TURN(all, "", "left", "", "one", USER("hi"), MODEL("yes"), USER("a")), "one");
    CHECK_STR(TURN(all, "", "left", "", "one", USER("hi"), MODEL("yes"), USER("b")), "one");
    CHECK_STR(TURN(all, "", "left", "", "one", USER("hi"), MODEL("yes"), USER("a")), "one");
    conversations_free(all);
}

TEST(calls_are_known_by_their_ids)
{
    struct conversations *all = fresh(64);

    CHECK_STR(TURN(all, "k", "", "call_1", "one", USER("look")), "");
    CHECK_STR(TURN(all, "k", "", "call_2", "two", USER("look")), "");
    CHECK_STR(TURN(all, "k", "", "", "", USER("look"), CALLS("call_1"), RESULT("call_1")), "one");
    CHECK_STR(TURN(all, "k", "", "", "", USER("look"), CALLS("call_2"), RESULT("call_2")), "two");
    conversations_free(all);
}

TEST(what_one_key_said_is_not_found_by_another)
{
    struct conversations *all = fresh(64);

    CHECK_STR(TURN(all, "k", "Hello.", "", "one", USER("hi")), "");
    CHECK_STR(TURN(all, "other", "", "", "", USER("hi"), MODEL("Hello."), USER("a")), "");
    conversations_free(all);
}

TEST(the_oldest_is_forgotten_first)
{
    struct conversations *all = fresh(4); /* room for two conversations */
    char text[16];

    for (int i = 0; i < 5; i++) {
        (void)snprintf(text, sizeof text, "q%d", i);
        CHECK_STR(TURN(all, "k", "yes", "", text, USER(text)), "");
    }
    CHECK_STR(TURN(all, "k", "", "", "", USER("q0"), MODEL("yes"), USER("a")), "");
    CHECK_STR(TURN(all, "k", "", "", "", USER("q4"), MODEL("yes"), USER("a")), "q4");
    conversations_free(all);
}

/* Whether a request whose previous_response_id is in `body` continues a conversation that ended
 * with the ids `given` (the provider's) and `ours`. */
static bool gone_on(const char *body, const char *given, const char *ours)
{
    struct conversations *all = fresh(16);
    struct chat_request r = request((const struct say[]){USER("hi")}, 1);
    struct json doc;
    struct conversation t;
    struct err e;
    str found = STR("");
    bool known;

    r.dialect = CHAT_RESPONSES;
    json_init(&doc);
    CHECK(json_parse(&doc, str_c(body), &e));
    conversation_begin(all, &t, STR(""), &r, &arena);
    conversation_text(&t, STR("yes"));
    conversation_end(all, &t, STR("one"), str_c(given), str_c(ours));
    r = request((const struct say[]){USER("and now")}, 1);
    r.dialect = CHAT_RESPONSES;
    r.doc = &doc;
    conversation_begin(all, &t, STR(""), &r, &arena);
    known = conversation_find(all, &t, &arena, &found) && str_eq(found, STR("one"));
    json_release(&doc);
    conversations_free(all);
    arena_release(&arena);
    return known;
}

TEST(a_response_is_gone_on_with_by_its_id)
{
    CHECK(gone_on("{\"previous_response_id\":\"resp_1\"}", "resp_1", "42-1"));
    CHECK(!gone_on("{\"previous_response_id\":\"resp_2\"}", "resp_1", "42-1"));
}

/* A client may write any character of an id as an escape, and may send an id of any length. */
TEST(an_id_with_escapes_may_be_of_any_length)
{
    char body[9000] = "{\"previous_response_id\":\"\\u0072esp_1";
    size_t n = strlen(body);

    memcpy(body + n, "\"}", 3);
    CHECK(gone_on(body, "resp_1", "42-1"));
    memset(body + n, 'x', sizeof body - n - 3);
    memcpy(body + sizeof body - 3, "\"}", 3);
    CHECK(!gone_on(body, "resp_1", "42-1"));
}

TEST(a_response_that_was_written_here_has_our_id)
{
    CHECK(gone_on("{\"previous_response_id\":\"resp_42-1\"}", "chatcmpl-7", "42-1"));
    CHECK(gone_on("{\"previous_response_id\":\"resp_42-1\"}", "", "42-1"));
}

TEST_MAIN(T(what_was_kept_is_known_to_another_with_the_same_seed),
          T(the_next_request_of_a_conversation_is_of_its_session),
          T(the_same_question_again_is_another_conversation),
          T(a_reply_that_the_client_changed_is_found_by_what_was_asked),
          T(conversations_that_begin_alike_stay_apart),
          T(one_that_is_asked_again_from_the_middle_stays_one), T(calls_are_known_by_their_ids),
          T(what_one_key_said_is_not_found_by_another), T(the_oldest_is_forgotten_first),
          T(a_response_is_gone_on_with_by_its_id), T(an_id_with_escapes_may_be_of_any_length),
          T(a_response_that_was_written_here_has_our_id))
