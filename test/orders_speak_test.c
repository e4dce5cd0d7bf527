/* orders_speak_test.c - text reaches a customer while the model writes it, reasoning never does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/speak.h"
#include "test.h"

#include <time.h>

static const struct {
    const char *text;
    const char *said; /* sent by the last piece, before the final check of the whole text */
} cases[] = {
    {"<reasoning>why</reasoning>Hello there", "Hello there"},
    {"<reasoning>why</reasoning>  Hello\n\nthere \n", "Hello\n\nthere"},
    {"<reasoning>why</reasoning>Hello <reasoning>more</reasoning> there", "Hello  there"},
    {"<think>a<think>b</think>c</think>Hello", "Hello"},
    {"Hello <reasoning>secret", "Hello"},
    {"<reasoning>secret", ""},
    {"<reasoning>why</reasoning>Hello <reas", "Hello"},
    {"<reasoning>why</reasoning>1 < 2", "1 < 2"},
    {"<reasoning>why</reasoning>Gr\xC3\xBC\xC3\x9F Gott \xE2\x98\x95!",
     "Gr\xC3\xBC\xC3\x9F Gott \xE2\x98\x95!"},
    {"<reasoning>why</reasoning><<b>think>secret</think>Hello", ""},
    {"<reasoning>why</reasoning><<b>think>secret</<b>think>Hello", "Hello"},
    {"<reasoning>why</reasoning>Hello</reasoning> there", "Hello there"},
    {"<think>x</think>Hi <!-- secret --> there", "Hi  there"},
    {"<think>x</think>Hi <!-- secret", "Hi"},
    {"<think>x</think>Hi <reasoning>secret</thinking> there", "Hi"}, /* the rest comes at the end */
    /* After reasoning without tags nothing is sent before the end. */
    {"<think>x</think>Hello\n\nReasoning: secret\n\nBye", "Hello"},
    {"<think>x</think>Hello\n- **Reasoning:** secret", "Hello"},
    {"<think>x</think>Hello (reasoning: secret) there", "Hello"},
    {"<think>x</think>Hello {\"reasoning\": \"secret\"} there", "Hello"},
    {"<think>x</think>Hello\n```json\n{\"thought\": \"secret\"}", "Hello"},
    {"<think>x</think>Tea, the reason: it's (really) cold.\n- Thinking of sugar {2}\n.",
     "Tea, the reason: it's (really) cold.\n- Thinking of sugar {2}"},
    {"Reasoning: secret</think>Hello", "Hello"},
    {"Reasoning: secret\n\nHello", ""},
    /* Text without an opener may be reasoning until a closer or the end decides. */
    {"secret</reasoning>Hello", "Hello"},
    {"Hello there", ""},
    {"", ""},
};

static void on_say(void *ctx, str text)
{
    CHECK(text.n > 0);
    buf_add(ctx, text);
}

static void speak_cut(str text, size_t i, size_t j, struct buf *out)
{
    struct speak s;

    buf_reset(out);
    speak_init(&s, NULL, (struct speak_sink){on_say, out});
    speak_feed(&s, false, str_slice(text, 0, i));
    speak_feed(&s, false, str_slice(text, i, j));
    speak_feed(&s, false, str_slice(text, j, text.n));
    speak_release(&s);
}

TEST(what_is_said_does_not_depend_on_the_cuts)
{
    struct buf out;

    buf_init(&out, 65536);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        str text = str_c(cases[c].text);

        for (size_t i = 0; i <= text.n; i++)
            for (size_t j = i; j <= text.n; j++) {
                speak_cut(text, i, j, &out);
                CHECK_F(str_eq(buf_str(&out), str_c(cases[c].said)),
                        "%s cut at %zu and %zu: \"" STR_FMT "\"",
                        cases[c].text,
                        i,
                        j,
                        STR_ARG(buf_str(&out)));
            }
    }
    buf_release(&out);
}

/* Every text of up to five of the ten pieces. */
static void begins_the_reply(const char *const pieces[10])
{
    struct buf out;

    buf_init(&out, 65536);
    for (unsigned n = 0; n < 100000; n++) {
        char text[192] = "";
        size_t at = 0;
        struct arena a;
        str said, thought;

        for (unsigned k = n; k > 0; k /= 10)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s", pieces[k % 10]);
        arena_init(&a, 65536);
        customer_filter_text((str){text, at}, &a, &said, &thought);
        speak_cut((str){text, at}, at / 3, at / 2, &out);
        CHECK_F(str_starts(said, buf_str(&out)),
                "%s: \"" STR_FMT "\" of \"" STR_FMT "\"",
                text,
                STR_ARG(buf_str(&out)),
                STR_ARG(said));
        arena_release(&a);
    }
    buf_release(&out);
}

/* For every text, the part sent early is a prefix of the final reply. */
TEST(what_is_said_begins_the_reply)
{
    static const char *const pieces[] = {"<reasoning>",
                                         "</reasoning>",
                                         "<think>",
                                         "</think>",
                                         "x ",
                                         "```",
                                         "\n",
                                         "y",
                                         "</",
                                         "reasoning>"};
    static const char *const untagged[] = {"<think>z</think>",
                                           "Reasoning: ",
                                           "Answer: ",
                                           "Final answer: ",
                                           "x. ",
                                           "(thought: ",
                                           ")",
                                           "\n",
                                           "{\"reply\":\"y\",\"reasoning\":\"",
                                           "\"}"};

    begins_the_reply(pieces);
    begins_the_reply(untagged);
}

/* If the model reports its reasoning separately, text is sent at once. */
TEST(behind_a_thought_told_apart_all_is_said)
{
    struct speak s;
    struct buf out;

    buf_init(&out, 65536);
    speak_init(&s, NULL, (struct speak_sink){on_say, &out});
    speak_feed(&s, true, STR("they greet"));
    speak_feed(&s, false, STR("Hel"));
    CHECK_STR(buf_str(&out), "Hel");
    speak_feed(&s, false, STR("lo "));
    CHECK_STR(buf_str(&out), "Hello");
    speak_feed(&s, false, STR("there"));
    CHECK_STR(buf_str(&out), "Hello there");
    speak_release(&s);
    buf_release(&out);
}

/* The mask releases text as soon as it cannot be part of a secret. */
TEST(secrets_are_masked_on_the_way)
{
    static const char card[] = "<think>x</think>So 4111 1111 1111 1111 it is, and a coffee. Thanks";
    struct mask_options o = {.groups = MASK_DEFAULT};
    struct mask *m;
    struct speak s;
    struct buf out;
    struct err e;

    CHECK_F(mask_new(&o, &m, &e), "%s", e.text);
    for (size_t step = 1; step < sizeof card; step += 3) {
        buf_init(&out, 65536);
        speak_init(&s, m, (struct speak_sink){on_say, &out});
        for (size_t at = 0; at < sizeof card - 1; at += step)
            speak_feed(&s, false, str_slice(str_c(card), at, at + step));
        CHECK(str_find(buf_str(&out), STR("1111")) == STR_NONE);
        CHECK(str_starts(buf_str(&out), STR("So [MASKED")));
        CHECK_F(
            str_find(buf_str(&out), STR("a coffee.")) != STR_NONE, STR_FMT, STR_ARG(buf_str(&out)));
        speak_release(&s);
        buf_release(&out);
    }
    mask_free(m);
}

static void on_whole(void *ctx, str text)
{
    CHECK(((unsigned char)text.p[0] & 0xC0) != 0x80);
    CHECK((unsigned char)text.p[text.n - 1] < 0x80 || text.n >= 2);
    buf_add(ctx, text);
}

TEST(no_character_is_cut)
{
    str text = STR("<think>x</think>\xC3\xBC\xE2\x98\x95\xF0\x9F\x8D\x94!");
    struct speak s;
    struct buf out;

    buf_init(&out, text.n);
    speak_init(&s, NULL, (struct speak_sink){on_whole, &out});
    for (size_t i = 0; i < text.n; i++)
        speak_feed(&s, false, str_slice(text, i, i + 1));
    CHECK_STR(buf_str(&out), "\xC3\xBC\xE2\x98\x95\xF0\x9F\x8D\x94!");
    buf_release(&out);
    speak_release(&s);
}

/* The stage runs on an event loop, so a slow text would delay other calls. */
TEST(no_text_costs_seconds)
{
    static const char *const units[] = {"\xE2\x80\x8B",
                                        "<",
                                        "<\xE2\x80\x8B",
                                        "<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                        "<|aaaaaaaaaaaaaaaa"};
    clock_t began = clock();

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        struct buf text, out;
        struct speak *s = malloc(sizeof *s);

        buf_init(&text, 2 * SPEAK_TEXT_MAX);
        buf_init(&out, 2 * SPEAK_TEXT_MAX);
        while (text.n < SPEAK_TEXT_MAX)
            buf_add(&text, str_c(units[i]));
        speak_init(s, NULL, (struct speak_sink){on_say, &out});
        speak_feed(s, true, STR("why"));
        speak_feed(s, false, buf_str(&text));
        speak_release(s);
        buf_release(&text);
        buf_release(&out);
        free(s);
    }
    CHECK((clock() - began) / CLOCKS_PER_SEC < 5);
}

TEST_MAIN(T(no_text_costs_seconds), T(what_is_said_does_not_depend_on_the_cuts),
          T(what_is_said_begins_the_reply), T(behind_a_thought_told_apart_all_is_said),
          T(secrets_are_masked_on_the_way), T(no_character_is_cut))
