/* pipe_test.c - replies are split, counted, capped and hidden the same, however they are divided.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/pipe/pipe.h"

#include "base/utf8.h"
#include "test.h"

/* All output as one text: kind and block number in brackets at each change. */
struct run {
    struct pipe pipe;
    struct arena arena;
    struct buf out;
    int last;
    uint32_t block;
    bool touched;
};

static void begin(struct run *r, const struct pipe_options *o)
{
    struct pipe_options full = *o;

    full.vocab = tokens_vocab_find(STR("o200k_base"));
    full.id = STR("x");
    *r = (struct run){.last = -1};
    arena_init(&r->arena, 1 << 24);
    buf_init(&r->out, 1 << 24);
    pipe_init(&r->pipe, &full, &r->arena);
}

static void end(struct run *r)
{
    pipe_release(&r->pipe);
    arena_release(&r->arena);
    buf_release(&r->out);
}

static void drain(struct run *r)
{
    for (size_t i = 0; i < r->pipe.count; i++) {
        const struct chat_event *ev = &r->pipe.events[i];

        if ((int)ev->kind != r->last || ev->block != r->block)
            buf_printf(&r->out, "[%s%u]", chat_event_name(ev->kind), ev->block);
        if (ev->kind == CHAT_CALL)
            buf_add(&r->out, ev->name);
        buf_add(&r->out, ev->text);
        r->last = (int)ev->kind;
        r->block = ev->block;
    }
    r->touched |= r->pipe.touched;
}

static void feed(struct run *r, enum chat_event_kind kind, uint32_t block, str text)
{
    pipe_begin(&r->pipe);
    pipe_feed(&r->pipe,
              &(struct chat_event){
                  .kind = kind, .block = block, .text = text, .id = STR("i"), .name = STR("n")});
    drain(r);
}

static void finish(struct run *r)
{
    pipe_begin(&r->pipe);
    pipe_flush(&r->pipe);
    drain(r);
}

static bool gives(struct run *r, const char *want)
{
    bool same = str_eq(buf_str(&r->out), str_c(want));

    if (!same)
        print_message("got  " STR_FMT "\nwant %s\n", STR_ARG(buf_str(&r->out)), want);
    return same;
}

static const struct {
    const char *format, *text, *shown, *hidden;
    bool inside;
} texts[] = {
    {"think",
     "<think>\nlet me see\n</think>\n\nfour",
     "[reasoning0]let me see[text1]four",
     "[text0]four",
     false},
    {"think", "no tags at all\n", "[text0]no tags at all\n", "[text0]no tags at all\n", false},
    {"think", "inside \n</think> out", "[reasoning0]inside[text1]out", "[text0]out", true},
    {"think", "  spaces  kept  ", "[text0]  spaces  kept  ", "[text0]  spaces  kept  ", false},
    {"thinking",
     "<thinking>a b</thinking>c\n\n<thinking>d</thinking>\ne",
     "[reasoning0]a b[text1]c[reasoning2]d[text3]\n\ne",
     "[text0]c[text1]\n\ne",
     false},
    {"mistral",
     "[THINK]a[/THINK] c[THINK] b[/THINK] \n d[THINK]e[/THINK]\n",
     "[reasoning0]a[text1]c[reasoning2]b[text3] \n d[reasoning4]e",
     "[text0]c[text1] \n d",
     false},
    {"mistral",
     "c[THINK]a[/THINK]d. [THINK]b[/THINK]\n[THINK]f[/THINK]\n\ne",
     "[text0]c[reasoning1]a[text2]d.[reasoning3]b[reasoning4]f[text5] e",
     "[text0]c[text1]d.[text2] e",
     false},
    {"qwen3",
     "c\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\nd",
     "[text0]c[call1]f[arguments1]{}[text2]\nd",
     "[text0]c[call1]f[arguments1]{}[text2]\nd",
     false},
    {"qwen3",
     "<think>call it</think>\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"k\": 1}}\n"
     "</tool_call>",
     "[reasoning0]call it[call1]f[arguments1]{\"k\": 1}",
     "[call0]f[arguments0]{\"k\": 1}",
     false},
    {"think", "<think>never closed ", "[reasoning0]never closed ", "", false},
};

static void cut_at(size_t t, bool hide, size_t i, size_t j)
{
    struct pipe_options o = {.format = split_format_find(str_c(texts[t].format)),
                             .inside = texts[t].inside,
                             .hide = hide,
                             .cap = -1};
    str text = str_c(texts[t].text);
    struct run r;

    begin(&r, &o);
    feed(&r, CHAT_TEXT, 0, str_slice(text, 0, i));
    feed(&r, CHAT_TEXT, 0, str_slice(text, i, j));
    feed(&r, CHAT_TEXT, 0, str_slice(text, j, text.n));
    finish(&r);
    CHECK(gives(&r, hide ? texts[t].hidden : texts[t].shown));
    end(&r);
}

TEST(the_pipe_does_not_see_the_cuts)
{
    for (size_t t = 0; t < COUNT_OF(texts); t++)
        for (size_t i = 0; i <= strlen(texts[t].text); i++)
            for (size_t j = i; j <= strlen(texts[t].text); j += 3) {
                cut_at(t, false, i, j);
                cut_at(t, true, i, j);
            }
}

TEST(what_the_provider_split_keeps_its_white_space_and_its_blocks)
{
    struct run r;

    begin(&r, &(struct pipe_options){.cap = -1});
    feed(&r, CHAT_REASONING, 0, STR(" one "));
    feed(&r, CHAT_REASONING, 0, STR("two\n"));
    feed(&r, CHAT_TEXT, 1, STR("\n<think>"));
    feed(&r, CHAT_REASONING, 2, STR("three"));
    feed(&r, CHAT_CALL, 3, STR(""));
    feed(&r, CHAT_CALL, 4, STR(""));
    feed(&r, CHAT_ARGUMENTS, 3, STR("{}"));
    CHECK(gives(&r,
                "[reasoning0] one two\n[text1]\n<think>[reasoning2]three[call3]n[call4]n"
                "[arguments3]{}"));
    CHECK(!r.touched);
    end(&r);
}

static void cite(struct run *r, uint32_t block)
{
    pipe_begin(&r->pipe);
    pipe_feed(&r->pipe,
              &(struct chat_event){.kind = CHAT_OPAQUE,
                                   .block = block,
                                   .text = STR("{}"),
                                   .id = STR(""),
                                   .name = STR("citation")});
    drain(r);
}

TEST(what_stands_beside_a_text_is_of_its_block)
{
    struct run r;

    begin(&r, &(struct pipe_options){.cap = -1});
    feed(&r, CHAT_REASONING, 0, STR("h"));
    cite(&r, 1);
    feed(&r, CHAT_TEXT, 1, STR("a"));
    cite(&r, 1);
    feed(&r, CHAT_TEXT, 1, STR("b"));
    feed(&r, CHAT_OPAQUE, 2, STR("[]"));
    feed(&r, CHAT_TEXT, 3, STR("c"));
    cite(&r, 3);
    finish(&r);
    CHECK(gives(&r,
                "[reasoning0]h[opaque1]{}[text1]a[opaque1]{}[text1]b[opaque2][]"
                "[text3]c[opaque3]{}"));
    end(&r);
}

TEST(a_reply_without_reasoning_is_never_touched)
{
    struct pipe_options o = {.hide = true, .cap = 10};
    struct run r;

    o.format = split_format_find(STR("think"));
    begin(&r, &o);
    feed(&r, CHAT_TEXT, 0, STR("Hello"));
    feed(&r, CHAT_TEXT, 0, STR(" there,"));
    feed(&r, CHAT_TEXT, 0, STR(" 1 < 2."));
    finish(&r);
    CHECK(!r.touched);
    CHECK(r.pipe.cap.answered && !r.pipe.reasoning.any);
    end(&r);
}

/* The cap is exact: exactly so many tokens pass, at every piece size. */
TEST(reasoning_ends_right_at_the_cap)
{
    str word = STR(" alpha beta gamma");
    const struct tokens_vocab *v = tokens_vocab_find(STR("o200k_base"));
    struct buf text;

    buf_init(&text, 1 << 20);
    for (int i = 0; i < 60; i++)
        buf_add(&text, word);
    for (int64_t cap = 0; cap < 200; cap += 7)
        for (size_t size = 1; size < 60; size += 6) {
            struct run r;
            str shown;

            begin(&r, &(struct pipe_options){.cap = cap});
            for (size_t at = 0; at < text.n && !pipe_is_over(&r.pipe); at += size)
                feed(&r, CHAT_REASONING, 0, str_slice(buf_str(&text), at, at + size));
            shown = buf_str(&r.out);
            if (str_starts(shown, STR("[reasoning0]")))
                shown = str_slice(shown, 12, shown.n);
            CHECK(str_starts(buf_str(&text), shown));
            CHECK(pipe_is_over(&r.pipe) == (tokens_count(v, buf_str(&text)) > (size_t)cap));
            if (pipe_is_over(&r.pipe))
                CHECK(tokens_count(v, shown) == (size_t)cap && pipe_kept_tokens(&r.pipe) == cap);
            end(&r);
        }
    buf_release(&text);
}

/* The text that passes under the cap, fed in pieces of about this size. */
static void under_cap(struct run *r, str text, int64_t cap, size_t size)
{
    begin(r, &(struct pipe_options){.cap = cap});
    while (text.n > 0 && !pipe_is_over(&r->pipe)) {
        str piece = utf8_cut_size(text, size);

        feed(r, CHAT_REASONING, 0, piece);
        text = str_slice(text, piece.n, text.n);
    }
}

TEST(reasoning_is_cut_at_the_same_place_whatever_the_pieces)
{
    static const size_t sizes[] = {4, 11, 41, 130, 700, 100000};
    struct buf text;

    buf_init(&text, 1 << 20);
    for (int i = 0; i < 6; i++)
        buf_add(&text,
                STR("I'll look: 3141592 isn't 2718, na\xC3\xAFve caf\xC3\xA9s   sell `x->y != "
                    "NULL`;\n\n\t\tHTTPServer \xE4\xB8\xAD\xE6\x96\x87 "
                    "\xF0\x9F\x98\x80\xF0\x9F\x98\x80 ... counterrevolutionaries!?//\n"));
    for (int64_t cap = 0; cap < 240; cap++) {
        struct run want;

        under_cap(&want, buf_str(&text), cap, sizes[0]);
        for (size_t i = 1; i < COUNT_OF(sizes); i++) {
            struct run r;

            under_cap(&r, buf_str(&text), cap, sizes[i]);
            CHECK(pipe_is_over(&r.pipe) == pipe_is_over(&want.pipe));
            CHECK(str_eq(buf_str(&r.out), buf_str(&want.out)));
            CHECK(pipe_kept_tokens(&r.pipe) == pipe_kept_tokens(&want.pipe));
            CHECK(pipe_kept_tokens(&r.pipe) <= cap);
            end(&r);
        }
        end(&want);
    }
    buf_release(&text);
}

TEST(reasoning_of_exactly_the_cap_is_not_cut)
{
    str text = STR("one two three four");
    int64_t n = (int64_t)tokens_count(tokens_vocab_find(STR("o200k_base")), text);
    struct run r;

    begin(&r, &(struct pipe_options){.cap = n});
    feed(&r, CHAT_REASONING, 0, text);
    feed(&r, CHAT_TEXT, 1, STR("answer"));
    CHECK(!pipe_is_over(&r.pipe) && gives(&r, "[reasoning0]one two three four[text1]answer"));
    end(&r);
}

/* Feeds all of the reasoning in pieces of this size, then the answer. */
static void thinks_and_answers(struct run *r, const struct pipe_options *o, str text, size_t size)
{
    begin(r, o);
    for (size_t at = 0; at < text.n; at += size)
        feed(r, CHAT_REASONING, 0, str_slice(text, at, at + size < text.n ? at + size : text.n));
    feed(r, CHAT_TEXT, 1, STR("answer"));
    finish(r);
}

/* A prefix of a word may have more tokens than the word. */
TEST(a_word_at_the_cap_is_let_through_once_it_is_whole)
{
    static const char *const words[] = {" ponder", " thinking", " considerations", " caf\xC3\xA9s"};
    const struct tokens_vocab *v = tokens_vocab_find(STR("o200k_base"));

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        struct buf text, want;
        int64_t n;

        buf_init(&text, 4096);
        buf_init(&want, 4096);
        for (int k = 0; k < 4; k++)
            buf_add(&text, str_c(words[i]));
        buf_printf(&want, "[reasoning0]" STR_FMT "[text1]answer", STR_ARG(buf_str(&text)));
        buf_add_c(&want, '\0');
        n = (int64_t)tokens_count(v, buf_str(&text));
        for (size_t size = i == 3 ? text.n : 1; size <= text.n; size++) {
            struct run r;

            thinks_and_answers(&r, &(struct pipe_options){.cap = n}, buf_str(&text), size);
            CHECK(!pipe_is_over(&r.pipe) && gives(&r, want.p) && pipe_kept_tokens(&r.pipe) == n);
            end(&r);
            thinks_and_answers(&r,
                               &(struct pipe_options){.cap = n - 1, .at_cap = PIPE_STOP},
                               buf_str(&text),
                               size);
            CHECK(pipe_is_over(&r.pipe) && !r.pipe.cap.answered &&
                  pipe_kept_tokens(&r.pipe) <= n - 1);
            CHECK(str_find(buf_str(&r.out), STR("answer")) == STR_NONE);
            end(&r);
        }
        buf_release(&want);
        buf_release(&text);
    }
}

TEST(no_text_goes_on_with_fewer_tokens_than_are_certain)
{
    str text = STR("I'll look: 3141592 isn't 2718, na\xC3\xAFve caf\xC3\xA9s   sell `x->y != "
                   "NULL`;\n\n\t\tHTTPServer \xE4\xB8\xAD\xE6\x96\x87 ... "
                   "counterrevolutionaries!?//\nABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLM"
                   "NOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZabc ");
    struct tokens_counter c;
    size_t least[512], count[512];

    assert(text.n < COUNT_OF(least));
    tokens_counter_init(
        &c, tokens_vocab_find(STR("o200k_base")), &(struct tokens_windows){.whole = {0}});
    for (size_t i = 0; i < text.n; i++) {
        tokens_counter_feed(&c, str_slice(text, i, i + 1));
        least[i] = tokens_counter_least(&c);
        count[i] = tokens_counter_count(&c);
    }
    for (size_t i = 0; i < text.n; i++)
        for (size_t k = i; k < text.n; k++)
            CHECK_F(least[i] <= count[k], "at %zu %zu, at %zu %zu", i, least[i], k, count[k]);
}

TEST(a_reply_that_ends_at_its_cap_says_nothing_behind_it)
{
    struct pipe_options o = {.cap = 2, .at_cap = PIPE_STOP};
    struct run r;

    o.format = split_format_find(STR("thinking"));
    begin(&r, &o);
    feed(&r, CHAT_TEXT, 0, STR("<thinking>one two three</thinking>No."));
    feed(&r, CHAT_CALL, 1, STR(""));
    CHECK(pipe_is_over(&r.pipe) && !r.pipe.cap.answered && !r.pipe.cap.called);
    CHECK(gives(&r, "[reasoning0]one two"));
    end(&r);
    o.at_cap = PIPE_GO_ON;
    begin(&r, &o);
    feed(&r, CHAT_TEXT, 0, STR("<thinking>one two three</thinking>Yes."));
    CHECK(pipe_is_over(&r.pipe) && gives(&r, "[reasoning0]one two[text1]Yes."));
    end(&r);
}

TEST(what_is_let_go_on_behind_its_cap_says_its_answer)
{
    struct pipe_options o = {.cap = 2, .at_cap = PIPE_STOP_OR_RESUME};
    struct run r;

    begin(&r, &o);
    feed(&r, CHAT_REASONING, 0, STR("one two three"));
    feed(&r, CHAT_TEXT, 1, STR("So."));
    CHECK(pipe_is_over(&r.pipe) && pipe_resumes(&r.pipe));
    CHECK(gives(&r, "[reasoning0]one two[text1]So."));
    end(&r);
    begin(&r, &o); /* a call ended the turn before, so it cannot resume */
    feed(&r, CHAT_CALL, 0, STR(""));
    feed(&r, CHAT_REASONING, 1, STR("one two three"));
    feed(&r, CHAT_TEXT, 2, STR("So."));
    CHECK(pipe_is_over(&r.pipe) && !r.pipe.cap.answered &&
          gives(&r, "[call0]n[reasoning1]one two"));
    end(&r);
}

TEST(behind_a_cut_there_is_no_reasoning_any_more)
{
    struct run r;

    begin(&r, &(struct pipe_options){.cap = 1});
    feed(&r, CHAT_REASONING, 0, STR("one two three"));
    CHECK(pipe_is_over(&r.pipe));
    pipe_continue(&r.pipe);
    feed(&r, CHAT_REASONING, 0, STR("still thinking"));
    feed(&r, CHAT_TEXT, 1, STR("done"));
    CHECK(gives(&r, "[reasoning0]one[text1]done"));
    end(&r);
}

TEST(behind_a_cut_the_answer_begins_with_its_first_letter)
{
    static const char *const pieces[][3] = {
        {"\n\n so ", "it is", ""}, {"\n", " \n", "so it is"}, {"so", " it", " is"}};
    struct run r;

    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        begin(&r, &(struct pipe_options){.cap = 1});
        feed(&r, CHAT_REASONING, 0, STR("one two three"));
        pipe_continue(&r.pipe);
        for (size_t k = 0; k < 3; k++)
            feed(&r, CHAT_TEXT, 1, str_c(pieces[i][k]));
        CHECK(gives(&r, "[reasoning0]one[text1]so it is"));
        end(&r);
    }
    begin(&r, &(struct pipe_options){.cap = 1});
    feed(&r, CHAT_TEXT, 0, STR("So"));
    feed(&r, CHAT_REASONING, 1, STR("one two three"));
    pipe_continue(&r.pipe);
    feed(&r, CHAT_TEXT, 0, STR(" it is"));
    CHECK(gives(&r, "[text0]So[reasoning1]one[text2] it is"));
    end(&r);
}

TEST(hidden_means_no_text_no_signature_no_data)
{
    struct run r;

    begin(&r, &(struct pipe_options){.cap = -1, .hide = true});
    feed(&r, CHAT_REASONING, 0, STR("secret"));
    feed(&r, CHAT_SIGNATURE, 0, STR("c2ln"));
    feed(&r, CHAT_REDACTED, 1, STR("ZGF0YQ"));
    feed(&r, CHAT_TEXT, 2, STR("open"));
    CHECK(gives(&r, "[text0]open"));
    CHECK(r.touched && r.pipe.reasoning.any && pipe_kept_tokens(&r.pipe) == 1);
    end(&r);
}

TEST(usage_gets_the_count_that_the_provider_did_not_make)
{
    struct chat_usage u = {.input = 5,
                           .output = 9,
                           .reasoning = -1,
                           .cache_read = -1,
                           .cache_write = -1,
                           .raw = STR_INIT("{}")};
    struct run r;

    begin(&r, &(struct pipe_options){.cap = -1});
    feed(&r, CHAT_REASONING, 0, STR("one two three"));
    pipe_begin(&r.pipe);
    pipe_feed(&r.pipe, &(struct chat_event){.kind = CHAT_USAGE, .usage = &u});
    CHECK(r.pipe.count == 1 && r.pipe.touched);
    CHECK(r.pipe.events[0].usage->reasoning == 3 && r.pipe.events[0].usage->output == 9);
    end(&r);
}

/* A reply that continues beyond its cap: further reasoning is counted and dropped. */
TEST(behind_the_cap_it_is_told_when_the_answer_begins)
{
    const struct split_format *think = split_format_find(STR("think"));

    for (int way = 0; way < 3; way++) {
        struct run r;

        begin(&r, &(struct pipe_options){.cap = 2, .format = way == 2 ? think : NULL});
        feed(&r, CHAT_TEXT, 0, STR("Well."));
        feed(&r,
             way == 2 ? CHAT_TEXT : CHAT_REASONING,
             1,
             way == 2 ? STR("<think>one two three") : STR("one two three"));
        CHECK(pipe_is_over(&r.pipe) && !pipe_resumes(&r.pipe) && r.pipe.cap.dropped == 0);
        feed(&r, way == 2 ? CHAT_TEXT : CHAT_REASONING, 1, STR(" four"));
        CHECK(!pipe_resumes(&r.pipe) && r.pipe.cap.dropped == 5);
        if (way == 1)
            feed(&r, CHAT_CALL, 2, STR(""));
        else
            feed(&r, CHAT_TEXT, way == 2 ? 1 : 2, way == 2 ? STR("</think>\n\nSo.") : STR("So."));
        finish(&r);
        CHECK(pipe_resumes(&r.pipe) && r.pipe.cap.dropped == 5 && pipe_kept_tokens(&r.pipe) == 2);
        CHECK(gives(&r,
                    way == 1 ? "[text0]Well.[reasoning1]one two[call2]n"
                             : "[text0]Well.[reasoning1]one two[text2]So."));
        end(&r);
    }
}

TEST(a_call_before_the_cap_is_no_answer_behind_it)
{
    struct run r;

    begin(&r, &(struct pipe_options){.cap = 1});
    feed(&r, CHAT_CALL, 0, STR(""));
    feed(&r, CHAT_REASONING, 1, STR("one two"));
    CHECK(pipe_is_over(&r.pipe) && r.pipe.cap.before.called && !pipe_resumes(&r.pipe));
    end(&r);
}

TEST(no_token_beyond_the_cap_is_told_by_its_odds)
{
    struct chat_event odds = {
        .kind = CHAT_EXTRA, .name = STR("choice.logprobs"), .text = STR("{}"), .id = STR("")};
    struct run r;

    begin(&r, &(struct pipe_options){.cap = 1});
    feed(&r, CHAT_REASONING, 0, STR("one"));
    pipe_feed(&r.pipe, &odds);
    CHECK(r.pipe.count == 2);
    for (int i = 0; i < 2; i++) { /* at the cap and after it */
        feed(&r, CHAT_REASONING, 0, STR(" two"));
        pipe_feed(&r.pipe, &odds);
        CHECK(r.pipe.count == 0);
    }
    feed(&r, CHAT_TEXT, 1, STR("So."));
    pipe_feed(&r.pipe, &odds);
    CHECK(r.pipe.count == 2);
    end(&r);
}

struct asked {
    int times;
    char reported[64];
};

static void tell(void *ctx, str text)
{
    struct asked *a = ctx;

    assert(strlen(a->reported) + text.n < sizeof a->reported);
    memcpy(a->reported + strlen(a->reported), text.p, text.n);
}

static int64_t to_four(void *ctx)
{
    struct asked *a = ctx;

    CHECK(str_eq(str_c(a->reported), STR("one two")));
    a->times++;
    return 4;
}

TEST(a_cap_may_be_raised_when_it_is_reached)
{
    struct run r;
    struct asked asked = {0};

    begin(&r,
          &(struct pipe_options){.cap = 2, .on_thought = tell, .on_cap = to_four, .ctx = &asked});
    feed(&r, CHAT_REASONING, 0, STR("one two three four five"));
    CHECK(gives(&r, "[reasoning0]one two three four"));
    CHECK(pipe_is_over(&r.pipe) && asked.times == 1 && pipe_kept_tokens(&r.pipe) == 4);
    end(&r);
}

TEST_MAIN(T(a_cap_may_be_raised_when_it_is_reached), T(the_pipe_does_not_see_the_cuts),
          T(reasoning_is_cut_at_the_same_place_whatever_the_pieces),
          T(what_the_provider_split_keeps_its_white_space_and_its_blocks),
          T(what_stands_beside_a_text_is_of_its_block),
          T(a_reply_without_reasoning_is_never_touched), T(reasoning_ends_right_at_the_cap),
          T(reasoning_of_exactly_the_cap_is_not_cut),
          T(a_word_at_the_cap_is_let_through_once_it_is_whole),
          T(no_text_goes_on_with_fewer_tokens_than_are_certain),
          T(a_reply_that_ends_at_its_cap_says_nothing_behind_it),
          T(what_is_let_go_on_behind_its_cap_says_its_answer),
          T(behind_a_cut_there_is_no_reasoning_any_more),
          T(behind_a_cut_the_answer_begins_with_its_first_letter),
          T(behind_the_cap_it_is_told_when_the_answer_begins),
          T(a_call_before_the_cap_is_no_answer_behind_it),
          T(no_token_beyond_the_cap_is_told_by_its_odds),
          T(hidden_means_no_text_no_signature_no_data),
          T(usage_gets_the_count_that_the_provider_did_not_make))
