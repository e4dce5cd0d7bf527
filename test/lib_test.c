/* The library as its users get it: include/rationale.h and librationale.so, nothing else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rationale.h"

#include "test.h"

#include <pthread.h>

#define TEXT_MAX 4096

/* All output of a splitter. */
struct got {
    char text[4][TEXT_MAX]; /* by kind */
    size_t size[4];
    char all[TEXT_MAX]; /* in order */
    size_t all_size;
    int events[5]; /* count by kind */
    char name[64];
    size_t reclassified;
};

static void on_run(void *context, enum rationale_kind kind, const char *text, size_t size)
{
    struct got *g = context;

    CHECK(size > 0 && (unsigned)kind < 4);
    CHECK(g->all_size + size <= TEXT_MAX);
    memcpy(g->text[kind] + g->size[kind], text, size);
    g->size[kind] += size;
    memcpy(g->all + g->all_size, text, size);
    g->all_size += size;
}

static void on_note(void *context, const struct rationale_note *note)
{
    struct got *g = context;

    CHECK((unsigned)note->event < 5);
    g->events[note->event]++;
    if (note->name_size > 0)
        snprintf(g->name, sizeof g->name, "%.*s", (int)note->name_size, note->name);
    if (note->event == RATIONALE_RECLASSIFY)
        g->reclassified = note->size;
}

static struct rationale_split *make(const char *format, bool inside, struct got *g)
{
    struct rationale_split_options options = {
        .format = format,
        .inside = inside,
        .on_run = on_run,
        .on_note = on_note,
        .context = g,
    };
    struct rationale_error error;
    struct rationale_split *s = rationale_split_new(&options, &error);

    CHECK_F(s, "%s: %s", format ? format : "(none)", error.text);
    return s;
}

static bool is(const struct got *g, enum rationale_kind kind, const char *want)
{
    return g->size[kind] == strlen(want) && memcmp(g->text[kind], want, strlen(want)) == 0;
}

TEST(the_version_is_the_one_that_was_built)
{
    assert_string_equal(rationale_version(), RATIONALE_VERSION);
}

TEST(formats_are_listed_once_each_and_all_can_be_used)
{
    size_t n = 0;

    assert_string_equal(rationale_format_id(0), "think");
    for (; rationale_format_id(n); n++) {
        struct got g = {0};
        struct rationale_split *s = make(rationale_format_id(n), false, &g);

        rationale_split_feed(s, "hello", 5);
        rationale_split_finish(s);
        CHECK_F(is(&g, RATIONALE_ANSWER, "hello"), "%s", rationale_format_id(n));
        rationale_split_free(s);
        for (size_t i = 0; i < n; i++)
            assert_string_not_equal(rationale_format_id(i), rationale_format_id(n));
    }
    CHECK(n > 30);
    assert_null(rationale_format_id(n + 1));
    assert_null(rationale_format_id(SIZE_MAX));
}

static const struct {
    const char *format;
    bool inside;
    const char *text, *reasoning, *answer, *tool;
    enum rationale_state state;
    unsigned flags;
} cases[] = {
    {NULL, false, "<think>a</think>b", "a", "b", "", RATIONALE_COMPLETE, 0},
    {"think", false, "plain", "", "plain", "", RATIONALE_NONE, 0},
    {"think", true, "a</think>b", "a", "b", "", RATIONALE_COMPLETE, 0},
    {"think", false, "<think>a", "a", "", "", RATIONALE_UNCLOSED, 0},
    {"think", false, "</think>b", "", "b", "", RATIONALE_NONE, RATIONALE_STRAY_CLOSE},
    {"think", false, "\xff", "", "\xff", "", RATIONALE_NONE, RATIONALE_INVALID_UTF8},
    {"think",
     false,
     "<think>a\n```\n</think>\nb",
     "a\n```\n",
     "\nb",
     "",
     RATIONALE_COMPLETE,
     RATIONALE_AMBIGUOUS_CLOSE},
    {"qwen3",
     false,
     "<think>a<tool_call>{}</tool_call>",
     "a",
     "",
     "<tool_call>{}</tool_call>",
     RATIONALE_COMPLETE,
     RATIONALE_IMPLICIT_END},
    {"qwen3", false, "<tool_call>{", "", "", "<tool_call>{", RATIONALE_NONE, RATIONALE_CUT_TOOL},
};

TEST(a_stream_is_split_wherever_it_is_cut)
{
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        size_t size = strlen(cases[c].text);

        for (size_t i = 0; i <= size; i++)
            for (size_t j = i; j <= size; j++) {
                struct got g = {0};
                struct rationale_split *s = make(cases[c].format, cases[c].inside, &g);
                size_t sum = 0;

                rationale_split_feed(s, cases[c].text, i);
                rationale_split_feed(s, cases[c].text + i, j - i);
                rationale_split_feed(s, cases[c].text + j, size - j);
                rationale_split_finish(s);
                CHECK_F(is(&g, RATIONALE_REASONING, cases[c].reasoning), "case %zu", c);
                CHECK_F(is(&g, RATIONALE_ANSWER, cases[c].answer), "case %zu", c);
                CHECK_F(is(&g, RATIONALE_TOOL, cases[c].tool), "case %zu", c);
                CHECK(g.all_size == size && memcmp(g.all, cases[c].text, size) == 0);
                CHECK_INT(rationale_split_state(s), cases[c].state);
                CHECK_INT(rationale_split_flags(s), cases[c].flags);
                for (int k = RATIONALE_REASONING; k <= RATIONALE_FRAMING; k++) {
                    CHECK_INT(rationale_split_size(s, (enum rationale_kind)k), g.size[k]);
                    sum += g.size[k];
                }
                CHECK_INT(sum, size);
                rationale_split_free(s);
            }
    }
}

TEST(a_kind_that_does_not_exist_has_no_bytes)
{
    struct got g = {0};
    struct rationale_split *s = make(NULL, false, &g);

    rationale_split_feed(s, "abc", 3);
    rationale_split_finish(s);
    CHECK_INT(rationale_split_size(s, (enum rationale_kind)4), 0);
    CHECK_INT(rationale_split_size(s, (enum rationale_kind)77), 0);
    rationale_split_free(s);
}

TEST(notes_tell_blocks_tools_and_changes_of_mind)
{
    static const char call[] = "<|channel|>analysis<|message|>x<|end|><|start|>assistant"
                               "<|channel|>commentary to=functions.f <|constrain|>json"
                               "<|message|>{}<|call|>";
    static const char fence[] = "<think>a\n```\n</think>\nb\n```\nc</think>d";
    struct got g = {0};
    struct rationale_split *s = make("harmony", false, &g);

    rationale_split_feed(s, call, sizeof call - 1);
    rationale_split_finish(s);
    CHECK_INT(g.events[RATIONALE_BEGIN], g.events[RATIONALE_END]);
    CHECK(strstr(g.name, "f"));
    CHECK(is(&g, RATIONALE_REASONING, "x"));
    CHECK(is(&g, RATIONALE_TOOL, "{}"));
    rationale_split_free(s);

    g = (struct got){0};
    s = make("think", false, &g);
    rationale_split_feed(s, fence, sizeof fence - 1);
    rationale_split_finish(s);
    CHECK_INT(g.events[RATIONALE_AMBIGUOUS], 1);
    CHECK_INT(g.events[RATIONALE_RECLASSIFY], 1);
    CHECK_INT(g.reclassified, strlen("</think>\nb\n```\nc"));
    CHECK_INT(rationale_split_flags(s), RATIONALE_AMBIGUOUS_CLOSE | RATIONALE_RECLASSIFIED);
    rationale_split_free(s);
}

TEST(notes_need_not_be_wanted)
{
    struct got g = {0};
    struct rationale_split_options options = {.on_run = on_run, .context = &g};
    struct rationale_split *s = rationale_split_new(&options, NULL);

    assert_non_null(s);
    rationale_split_feed(s, "<think>a</think>b", 17);
    rationale_split_finish(s);
    CHECK(is(&g, RATIONALE_ANSWER, "b"));
    rationale_split_free(s);
}

TEST(a_pair_is_copied)
{
    char open[] = "[plan]", close[] = "[/plan]";
    struct got g = {0};
    struct rationale_split_options options = {
        .open = open, .close = close, .on_run = on_run, .context = &g};
    struct rationale_split *s = rationale_split_new(&options, NULL);

    assert_non_null(s);
    memset(open, 'x', sizeof open - 1);
    memset(close, 'y', sizeof close - 1);
    memset(&options, 0xAA, sizeof options);
    rationale_split_feed(s, "[plan]a[/plan]b", 15);
    rationale_split_finish(s);
    CHECK(is(&g, RATIONALE_REASONING, "a"));
    CHECK(is(&g, RATIONALE_ANSWER, "b"));
    rationale_split_free(s);
}

TEST(wrong_options_say_what_is_wrong)
{
    static const char long_mark[] = "0123456789012345678901234567890123456789012345678901234567890"
                                    "1234567890123456789";
    static const struct {
        const char *format, *open, *close;
        bool run;
        enum rationale_error_code code;
        const char *says;
    } bad[] = {
        {NULL, NULL, NULL, false, RATIONALE_ERROR_INPUT, "on_run"},
        {"nope", NULL, NULL, true, RATIONALE_ERROR_NOT_FOUND, "nope"},
        {"", NULL, NULL, true, RATIONALE_ERROR_NOT_FOUND, "format"},
        {NULL, "a", NULL, true, RATIONALE_ERROR_INPUT, "together"},
        {NULL, NULL, "a", true, RATIONALE_ERROR_INPUT, "together"},
        {NULL, "a", "a", true, RATIONALE_ERROR_INPUT, "same"},
        {NULL, "", "a", true, RATIONALE_ERROR_INPUT, "opening"},
        {NULL, "a", " b", true, RATIONALE_ERROR_INPUT, "closing"},
        {NULL, "\xff", "b", true, RATIONALE_ERROR_INPUT, "opening"},
        {NULL, long_mark, "b", true, RATIONALE_ERROR_INPUT, "opening"},
        {"think", "a", "b", true, RATIONALE_ERROR_INPUT, "not both"},
    };
    struct rationale_error error;

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct rationale_split_options options = {
            .format = bad[i].format,
            .open = bad[i].open,
            .close = bad[i].close,
            .on_run = bad[i].run ? on_run : NULL,
        };

        memset(&error, 0xAA, sizeof error);
        assert_null(rationale_split_new(&options, &error));
        CHECK_INT(error.code, bad[i].code);
        CHECK_F(strstr(error.text, bad[i].says), "%zu: %s", i, error.text);
        assert_null(rationale_split_new(&options, NULL));
    }
    assert_null(rationale_split_new(NULL, &error));
    assert_null(rationale_split_new(NULL, NULL));
}

TEST(a_long_wrong_name_is_cut)
{
    char name[1000];
    struct rationale_split_options options = {.format = name, .on_run = on_run};
    struct rationale_error error;

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_null(rationale_split_new(&options, &error));
    CHECK(strlen(error.text) < sizeof error.text);
    assert_null(rationale_counter_new(name, &error));
    CHECK(strlen(error.text) < sizeof error.text);
}

TEST(nothing_may_be_fed_and_finishing_twice_is_finishing)
{
    struct got g = {0};
    struct rationale_split *s = make(NULL, false, &g);

    rationale_split_feed(s, NULL, 0);
    rationale_split_finish(s);
    rationale_split_finish(s);
    CHECK_INT(g.all_size, 0);
    CHECK_INT(rationale_split_state(s), RATIONALE_NONE);
    rationale_split_free(s);
    rationale_split_free(NULL);
}

TEST(feeding_a_finished_splitter_begins_a_new_text)
{
    struct got g = {0};
    struct rationale_split *s = make(NULL, true, &g);

    for (int round = 0; round < 3; round++) {
        memset(&g, 0, sizeof g);
        rationale_split_feed(s, "a</think>b\xff", 11);
        rationale_split_finish(s);
        CHECK(is(&g, RATIONALE_REASONING, "a"));
        CHECK(is(&g, RATIONALE_ANSWER, "b\xff"));
        CHECK_INT(rationale_split_flags(s), RATIONALE_INVALID_UTF8);
        CHECK_INT(rationale_split_size(s, RATIONALE_ANSWER), 2);
    }
    rationale_split_feed(s, "x", 1);
    CHECK_INT(rationale_split_flags(s), 0);
    rationale_split_finish(s);
    CHECK_INT(rationale_split_state(s), RATIONALE_UNCLOSED);
    rationale_split_free(s);
}

/* ---- extract ---- */

TEST(a_record_has_reasoning_summary_and_response)
{
    static const struct {
        const char *text;
        bool has;
        const char *raw, *final;
    } texts[] = {
        {"", false, "", ""},
        {"just text", false, "", "just text"},
        {"<thinking>a</thinking>b", true, "a", "b"},
        {"<analysis> a </analysis>\n\n b ", true, "a", "b"},
        {"one <think>a</think> two <reasoning>b</reasoning>", true, "a\nb", "one  two"},
        {"<think>never closed", true, "never closed", ""},
        {"say `<think>` and go on", false, "", "say `<think>` and go on"},
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct rationale_extract *x = rationale_extract_new(texts[i].text, strlen(texts[i].text));

        CHECK_INT(x->has_reasoning, texts[i].has);
        assert_string_equal(x->raw_reasoning, texts[i].raw);
        assert_string_equal(x->summary, texts[i].raw);
        assert_string_equal(x->final_response, texts[i].final);
        CHECK_INT(x->raw_reasoning_size, strlen(texts[i].raw));
        CHECK_INT(x->summary_size, strlen(texts[i].raw));
        CHECK_INT(x->final_response_size, strlen(texts[i].final));
        rationale_extract_free(x);
    }
}

TEST(a_record_of_nothing_is_empty_text)
{
    struct rationale_extract *x = rationale_extract_new(NULL, 0);

    CHECK(!x->has_reasoning);
    assert_string_equal(x->raw_reasoning, "");
    assert_string_equal(x->summary, "");
    assert_string_equal(x->final_response, "");
    rationale_extract_free(x);
    rationale_extract_free(NULL);
}

TEST(a_summary_is_two_hundred_characters_not_bytes)
{
    char text[2048];
    size_t n = (size_t)snprintf(text, sizeof text, "<think>");
    struct rationale_extract *x;

    for (int i = 0; i < 201; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "\xE2\x82\xAC");
    n += (size_t)snprintf(text + n, sizeof text - n, "</think>b");
    x = rationale_extract_new(text, n);
    CHECK_INT(x->raw_reasoning_size, 603);
    CHECK_INT(x->summary_size, 603);
    assert_string_equal(x->summary + 597, "\xE2\x82\xAC...");
    rationale_extract_free(x);
}

/* The library derives its memory limit from the size of the text; every text must fit. */
TEST(a_record_of_any_size_fits)
{
    static const char *const shapes[] = {"x", "<think>x", "<think>x</think>y\n", "\xE2\x82\xAC"};
    size_t room = 300000;
    char *text = malloc(room + 64);

    for (size_t shape = 0; shape < COUNT_OF(shapes); shape++)
        for (size_t size = 0; size <= room; size += size < 9000 ? 7 : 60013) {
            struct rationale_extract *x;

            for (size_t at = 0; at < size; at += strlen(shapes[shape]))
                memcpy(text + at, shapes[shape], strlen(shapes[shape]));
            x = rationale_extract_new(text, size);
            CHECK(x->final_response_size <= size && x->raw_reasoning_size <= size);
            CHECK(x->final_response[x->final_response_size] == '\0');
            rationale_extract_free(x);
        }
    free(text);
}

/* ---- tokens ---- */

static const char hello[] = "Hello, world! \xF0\x9F\x8C\x8D <|endoftext|> \xFF 1234567 \n\n  x";

TEST(vocabularies_are_listed)
{
    assert_string_equal(rationale_vocab_name(0), "o200k_base");
    assert_string_equal(rationale_vocab_name(1), "cl100k_base");
    assert_null(rationale_vocab_name(2));
    assert_null(rationale_vocab_name(SIZE_MAX));
}

TEST(tokens_are_counted_and_encoded)
{
    uint32_t ids[8] = {0};
    size_t n = 0;

    CHECK(rationale_encode("o200k_base", "hello world", 11, ids, 8, &n, NULL));
    CHECK(n == 2 && ids[0] == 24912 && ids[1] == 2375);
    CHECK(rationale_encode("cl100k_base", "hello world", 11, ids, 8, &n, NULL));
    CHECK(n == 2 && ids[0] == 15339 && ids[1] == 1917);
    CHECK(rationale_count("cl100k_base", "hello world", 11, &n, NULL));
    CHECK_INT(n, 2);
    CHECK(rationale_count("o200k_base", "", 0, &n, NULL) && n == 0);
    CHECK(rationale_count("o200k_base", NULL, 0, &n, NULL) && n == 0);
    CHECK(rationale_encode("o200k_base", NULL, 0, NULL, 0, &n, NULL) && n == 0);
}

TEST(ids_beyond_the_room_are_only_counted)
{
    uint32_t all[64], ids[64];
    size_t n, more;

    CHECK(rationale_encode("o200k_base", hello, sizeof hello - 1, all, 64, &n, NULL));
    CHECK(n > 4 && n <= 64);
    for (size_t room = 0; room <= n + 1; room++) {
        memset(ids, 0xAA, sizeof ids);
        CHECK(rationale_encode(
            "o200k_base", hello, sizeof hello - 1, room ? ids : NULL, room, &more, NULL));
        CHECK_INT(more, n);
        for (size_t i = 0; i < 64; i++)
            CHECK_INT(ids[i], i < room && i < n ? all[i] : 0xAAAAAAAA);
    }
}

TEST(an_unknown_vocabulary_is_told)
{
    struct rationale_error error;
    uint32_t id;
    size_t n = 77;

    CHECK(!rationale_count("nope", "a", 1, &n, &error));
    CHECK_INT(error.code, RATIONALE_ERROR_NOT_FOUND);
    CHECK(strstr(error.text, "nope"));
    CHECK(!rationale_encode("", "a", 1, &id, 1, &n, &error));
    CHECK_INT(error.code, RATIONALE_ERROR_NOT_FOUND);
    CHECK(!rationale_count(NULL, "a", 1, &n, &error));
    CHECK_INT(error.code, RATIONALE_ERROR_INPUT);
    assert_null(rationale_counter_new(NULL, &error));
    assert_null(rationale_counter_new("nope", NULL));
    CHECK(!rationale_count("nope", "a", 1, &n, NULL));
    CHECK_INT(n, 77);
}

TEST(a_counter_says_at_any_time_what_a_count_says)
{
    for (size_t v = 0; rationale_vocab_name(v); v++) {
        struct rationale_counter *c = rationale_counter_new(rationale_vocab_name(v), NULL);

        assert_non_null(c);
        CHECK_INT(rationale_counter_count(c), 0);
        rationale_counter_feed(c, NULL, 0);
        for (size_t i = 0; i < sizeof hello - 1; i++) {
            size_t n;

            rationale_counter_feed(c, hello + i, 1);
            CHECK(rationale_count(rationale_vocab_name(v), hello, i + 1, &n, NULL));
            CHECK_INT(rationale_counter_count(c), n);
        }
        rationale_counter_free(c);
    }
    rationale_counter_free(NULL);
}

/* ---- threads ---- */

static void *work(void *unused)
{
    struct got *g = calloc(1, sizeof *g);
    size_t n, wrong = 0;

    for (int round = 0; round < 200; round++) {
        struct rationale_split_options options = {.on_run = on_run, .context = g};
        struct rationale_split *s = rationale_split_new(&options, NULL);
        struct rationale_extract *x = rationale_extract_new("<think>a</think>b", 17);

        memset(g, 0, sizeof *g);
        rationale_split_feed(s, "<think>a</think>b", 17);
        rationale_split_finish(s);
        wrong += !is(g, RATIONALE_REASONING, "a") || !is(g, RATIONALE_ANSWER, "b");
        wrong += strcmp(x->final_response, "b") != 0;
        wrong += !rationale_count("o200k_base", "hello world", 11, &n, NULL) || n != 2;
        rationale_extract_free(x);
        rationale_split_free(s);
    }
    free(g);
    return wrong ? unused : NULL;
}

TEST(different_threads_use_different_objects)
{
    pthread_t threads[4];
    int mark = 0;

    for (size_t i = 0; i < COUNT_OF(threads); i++)
        CHECK(pthread_create(&threads[i], NULL, work, &mark) == 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *wrong = NULL;

        CHECK(pthread_join(threads[i], &wrong) == 0);
        assert_null(wrong);
    }
}

static void keep_call(void *context, const struct rationale_call *call)
{
    char *out = context;
    size_t n = strlen(out);

    assert(call->name[call->name_size] == '\0' && call->arguments[call->arguments_size] == '\0');
    snprintf(out + n, 256 - n, "%s%s;", call->name, call->arguments);
}

static void ignore_run(void *context, enum rationale_kind kind, const char *text, size_t size)
{
    (void)context, (void)kind, (void)text, (void)size;
}

TEST(calls_are_told_when_their_markup_is_whole)
{
    static const char text[] = "ok<tool_call>{\"name\":\"f\",\"arguments\":{\"x\":1}}</tool_call>"
                               "<tool_call>{bad}</tool_call>";
    char got[256] = "";
    struct rationale_split *s = rationale_split_new(
        &(struct rationale_split_options){
            .format = "qwen3", .on_run = ignore_run, .on_call = keep_call, .context = got},
        NULL);

    for (size_t i = 0; i + 1 < sizeof text; i++) {
        rationale_split_feed(s, text + i, 1);
        if (text[i] == '{')
            CHECK(got[0] == '\0' || strstr(text, "{bad}") < text + i + 1);
    }
    rationale_split_finish(s);
    CHECK_F(strcmp(got, "f{\"x\":1};") == 0, "%s", got);
    CHECK_INT(rationale_split_flags(s), RATIONALE_UNREAD_TOOL);
    rationale_split_free(s);
}

TEST_MAIN(T(the_version_is_the_one_that_was_built),
          T(formats_are_listed_once_each_and_all_can_be_used),
          T(a_stream_is_split_wherever_it_is_cut), T(a_kind_that_does_not_exist_has_no_bytes),
          T(notes_tell_blocks_tools_and_changes_of_mind), T(notes_need_not_be_wanted),
          T(a_pair_is_copied), T(wrong_options_say_what_is_wrong), T(a_long_wrong_name_is_cut),
          T(nothing_may_be_fed_and_finishing_twice_is_finishing),
          T(feeding_a_finished_splitter_begins_a_new_text),
          T(a_record_has_reasoning_summary_and_response), T(a_record_of_nothing_is_empty_text),
          T(a_summary_is_two_hundred_characters_not_bytes), T(a_record_of_any_size_fits),
          T(vocabularies_are_listed), T(tokens_are_counted_and_encoded),
          T(ids_beyond_the_room_are_only_counted), T(an_unknown_vocabulary_is_told),
          T(a_counter_says_at_any_time_what_a_count_says),
          T(different_threads_use_different_objects), T(calls_are_told_when_their_markup_is_whole))
