/* pipe_leak_test.c - a client that may not see reasoning gets none of it: every format, every
 * prompt for reasoning, every division of the text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/pipe/pipe.h"

#include "base/utf8.h"
#include "split/extract.h"
#include "test.h"

#define SECRET "xyzzy"
#define REASONING "the " SECRET " is\n\n" SECRET
#define ANSWER "Forty-two, 6 < 7."

/* How each format writes reasoning and answer. */
static const struct {
    const char *formats; /* separated by spaces */
    const char *open, *close, *end;
    bool in_auto; /* "auto" recognises it */
} shapes[] = {
    {"think deepseek_r1 deepseek_v3 cogito deepseek_v32 deepseek_v4 qwen3 glm45 ling3 kimi_k2 "
     "minimax_m2 step3 step3p5 olmo3 nemotron_v3 lfm2 minicpm5 reka laguna hy_v3",
     "<think>",
     "</think>",
     "",
     true},
    {"hy_v3", "<think:x>", "</think:x>", "", true},
    {"ernie45 granite33", "<think>", "</think>\n<response>", "</response>", true},
    {"hunyuan", "<think>\n", "\n</think>\n<answer>\n", "\n</answer>", true},
    {"kimi", "◁think▷", "◁/think▷", "", true},
    {"kimi_k3",
     "<|open|>think<|sep|>",
     "<|close|>think<|sep|><|open|>response<|sep|>",
     "<|close|>response<|sep|>",
     true},
    {"minimax_m3", "<mm:think>", "</mm:think>", "", true},
    {"seed_oss", "<seed:think>", "</seed:think>", "", true},
    {"mistral", "[THINK]", "[/THINK]", "", true},
    {"gemma4", "<|channel>thought\n", "<channel|>", "", true},
    {"cohere",
     "<|START_THINKING|>",
     "<|END_THINKING|><|START_RESPONSE|>",
     "<|END_RESPONSE|>",
     true},
    {"granite", "Here is my thought process:", "Here is my response:", "", false},
    {"apriel", "Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]", "", false},
    {"apertus", "<|inner_prefix|>", "<|inner_suffix|>", "", true},
    {"harmony",
     "<|channel|>analysis<|message|>",
     "<|end|><|start|>assistant<|channel|>final<|message|>",
     "<|return|>",
     true},
    {"harmony_stripped", "analysis", "assistantfinal", "", false},
    {"inkling",
     "<|content_thinking|>",
     "<|end_message|><|message_model|><|content_text|>",
     "<|end_message|>",
     true},
    {"muse",
     " to=self<|message|>",
     "<|eom|><|start|>assistant to=user<|message|>",
     "<|eot|>",
     false},
    {"solar", "<|think|>", "<|end|><|begin|>assistant<|content|>", "<|end|>", true},
    {"exaone", "<thought>", "</thought>", "", true},
    {"thinking", "<thinking>", "</thinking>", "", true},
    {"reasoning", "<reasoning>", "</reasoning>", "", true},
    {"analysis", "<analysis>", "</analysis>", "", true},
    {"generic_test", "<test:think>", "</test:think>", "", true},
    {"generic_alt", "<alt:start>", "<alt:end>", "", true},
};

/* The shape of the text, apart from the format's reasoning and answer. */
enum text_shape {
    TEXT_WHOLE,
    TEXT_UNCLOSED,       /* the reply ends inside the reasoning */
    TEXT_FENCE,          /* a code fence in the reasoning contains a closer */
    TEXT_NESTED,         /* a block inside the reasoning */
    TEXT_ASKED_FIRST,    /* only the <thinking> that the gateway asked for */
    TEXT_ASKED_AFTER,    /* first the format's reasoning, then <thinking> */
    TEXT_ASKED_IN_LINE,  /* <thinking> in the middle of the answer */
    TEXT_ASKED_UNCLOSED, /* the same, never closed */
    TEXT_ASKED_CLOSER,   /* </thinking> inside the format's reasoning */
    TEXT_OWN_CLOSER,     /* the closer of the format inside <thinking> */
    TEXT_SHAPES
};

static bool is_asked(enum text_shape shape)
{
    return shape >= TEXT_ASKED_FIRST;
}

static void put_text(struct buf *out, size_t s, enum text_shape shape)
{
    const char *open = shapes[s].open, *close = shapes[s].close;

    buf_reset(out);
    if (shape == TEXT_ASKED_FIRST) {
        buf_printf(out, "\n<thinking>%s</thinking>\n%s", REASONING, ANSWER);
        return;
    }
    if (shape == TEXT_OWN_CLOSER) {
        buf_printf(out, "<thinking>%s%s%s</thinking>%s", REASONING, close, REASONING, ANSWER);
        return;
    }
    buf_printf(out, "%s%s", open, REASONING);
    if (shape == TEXT_ASKED_CLOSER)
        buf_printf(out, "</thinking>%s", REASONING);
    if (shape == TEXT_FENCE)
        buf_printf(out, "\n```\n%s%s\n```\n", close, SECRET);
    if (shape == TEXT_NESTED)
        buf_printf(out, " %s%s%s%s", open, REASONING, close, SECRET);
    if (shape == TEXT_UNCLOSED)
        return;
    buf_printf(out, "%s", close);
    if (shape == TEXT_ASKED_AFTER)
        buf_printf(out, "<thinking>%s</thinking>", REASONING);
    buf_printf(out, "%s", ANSWER);
    if (shape == TEXT_ASKED_IN_LINE || shape == TEXT_ASKED_UNCLOSED)
        buf_printf(out, " So <thinking>%s", REASONING);
    if (shape == TEXT_ASKED_IN_LINE)
        buf_printf(out, "</thinking>%s", ANSWER);
    if (shape != TEXT_ASKED_UNCLOSED)
        buf_printf(out, "%s", shapes[s].end);
}

struct leak_run {
    struct pipe pipe;
    struct arena arena;
    struct buf text, reasoning;
};

static void leak_drain(struct leak_run *r)
{
    for (size_t i = 0; i < r->pipe.count; i++) {
        const struct chat_event *ev = &r->pipe.events[i];

        buf_add(ev->kind == CHAT_REASONING ? &r->reasoning : &r->text, ev->text);
        buf_add(&r->text, ev->name);
    }
}

/* Feeds pieces that end at each of `cuts`, the last of which is the size of the text. */
static void leak_feed(struct leak_run *r, const struct pipe_options *o, str text,
                      const size_t *cuts)
{
    struct pipe_options options = *o;

    options.vocab = tokens_vocab_find(STR("o200k_base"));
    options.id = STR("x");
    options.cap = -1;
    arena_init(&r->arena, 1 << 24);
    buf_init(&r->text, 1 << 20);
    buf_init(&r->reasoning, 1 << 20);
    pipe_init(&r->pipe, &options, &r->arena);
    for (size_t from = 0; from < text.n; from = *cuts++) {
        pipe_begin(&r->pipe);
        pipe_feed(&r->pipe,
                  &(struct chat_event){.kind = CHAT_TEXT,
                                       .text = str_slice(text, from, *cuts),
                                       .id = STR(""),
                                       .name = STR("")});
        leak_drain(r);
    }
    pipe_begin(&r->pipe);
    pipe_flush(&r->pipe);
    leak_drain(r);
}

static void leak_end(struct leak_run *r)
{
    pipe_release(&r->pipe);
    arena_release(&r->arena);
    buf_release(&r->text);
    buf_release(&r->reasoning);
}

static bool whole_character(str text, size_t at)
{
    return at >= text.n || (text.p[at] & 0xC0) != 0x80;
}

static void check_cut(const struct pipe_options *o, str text, const size_t *cuts, bool answers)
{
    struct leak_run r;

    leak_feed(&r, o, text, cuts);
    CHECK_F(str_find(buf_str(&r.text), STR(SECRET)) == STR_NONE && r.reasoning.n == 0,
            "%s: \"" STR_FMT "\" gives \"" STR_FMT "\"",
            o->format->id,
            STR_ARG(text),
            STR_ARG(buf_str(&r.text)));
    CHECK_F(!answers || str_find(buf_str(&r.text), STR(ANSWER)) != STR_NONE,
            "%s: \"" STR_FMT "\" has lost its answer: \"" STR_FMT "\"",
            o->format->id,
            STR_ARG(text),
            STR_ARG(buf_str(&r.text)));
    CHECK(r.pipe.reasoning.any && r.pipe.reasoning.tagged);
    leak_end(&r);
}

/* Tests the text whole, byte by byte, and in two pieces divided at every position. */
static void check_cuts(const struct pipe_options *o, str text, bool answers)
{
    size_t each[512] = {0}, n = 0;

    assert(text.n < COUNT_OF(each));

    for (size_t i = 1; i <= text.n; i++)
        if (whole_character(text, i))
            each[n++] = i;
    check_cut(o, text, each, answers);
    for (size_t i = 0; i < n; i++)
        check_cut(o, text, (const size_t[]){each[i], text.n, text.n}, answers);
}

/* The format, extended by the <thinking> that the gateway asks for. */
static struct split_format asked_with(const struct split_format *f)
{
    struct split_format both = *f;

    both.also = split_format_asked();
    return both;
}

static void check_ways(const struct split_format *f, size_t s, enum text_shape shape)
{
    struct split_format both = asked_with(f), automatic = asked_with(split_format_auto());
    struct pipe_options o = {.hide = true};
    bool answers = shape != TEXT_UNCLOSED;
    struct buf b;

    buf_init(&b, 4096);
    put_text(&b, s, shape);
    o.format = &both;
    check_cuts(&o, buf_str(&b), answers);
    if (!is_asked(shape)) {
        o.format = f;
        check_cuts(&o, buf_str(&b), answers);
    }
    if (shape == TEXT_ASKED_FIRST || (shapes[s].in_auto && shape != TEXT_OWN_CLOSER)) {
        o.format = &automatic;
        check_cuts(&o, buf_str(&b), answers);
    }
    if (!is_asked(shape) && shapes[s].in_auto) {
        o.format = split_format_auto();
        check_cuts(&o, buf_str(&b), answers);
    }
    buf_release(&b);
}

/* Whether the shape is unambiguous: a closer in a code fence or after another opener is ambiguous
 * except in text tags, and a token that ends a message ends the <thinking> in it. */
static bool can_be(size_t s, enum text_shape shape)
{
    bool tag = str_starts(str_c(shapes[s].close), STR("</"));

    if (shape >= TEXT_ASKED_CLOSER && str_eq(str_c(shapes[s].close), STR("</thinking>")))
        return false; /* both are the same tag */
    if (shapes[s].end[0])
        return shape != TEXT_FENCE && shape != TEXT_NESTED && shape != TEXT_OWN_CLOSER;
    return (shape != TEXT_FENCE && shape != TEXT_NESTED) || tag;
}

static void check_format(const struct split_format *f, size_t s)
{
    for (enum text_shape shape = 0; shape < TEXT_SHAPES; shape++)
        if (can_be(s, shape))
            check_ways(f, s, shape);
}

TEST(no_byte_of_reasoning_reaches_a_client_that_may_not_see_it)
{
    const struct split_format *f;

    for (size_t i = 0; (f = split_format_at(i)); i++) {
        bool found = false;

        for (size_t s = 0; s < COUNT_OF(shapes); s++) {
            str rest = str_c(shapes[s].formats), id;

            while (rest.n) {
                size_t end = str_find(rest, STR(" "));

                id = str_slice(rest, 0, end == STR_NONE ? rest.n : end);
                rest = str_slice(rest, id.n + 1, rest.n);
                if (str_eq(id, str_c(f->id))) {
                    check_format(f, s);
                    found = true;
                }
            }
        }
        CHECK_F(found, "no text for the format %s", f->id);
    }
}

TEST(mismatched_closers_leak_nothing_and_lose_no_answer)
{
    static const char *const tags[] = {"think", "thinking", "reasoning", "analysis", "thought"};
    struct split_format both = asked_with(split_format_find(STR("qwen3")));
    const struct split_format *formats[] = {split_format_auto(), &both};
    struct buf b;

    buf_init(&b, 4096);
    for (size_t i = 0; i < COUNT_OF(tags); i++)
        for (size_t j = 0; j < COUNT_OF(tags); j++)
            for (size_t f = 0; f < COUNT_OF(formats); f++) {
                struct pipe_options o = {.format = formats[f], .hide = true};

                if (i == j || (f == 1 && i > 1)) /* qwen3 has <think> and <thinking> only */
                    continue;
                buf_reset(&b);
                buf_printf(&b, "<%s>%s</%s>%s", tags[i], REASONING, tags[j], ANSWER);
                check_cuts(&o, buf_str(&b), true);
                buf_reset(&b);
                buf_printf(&b,
                           "<%s>%s</%s>%s</%s>%s",
                           tags[i],
                           REASONING,
                           tags[j],
                           REASONING,
                           tags[i],
                           ANSWER);
                check_cuts(&o, buf_str(&b), true);
            }
    buf_release(&b);
}

TEST(an_unclosed_block_is_no_answer_and_is_flagged)
{
    struct pipe_options o = {.format = split_format_auto()};
    struct split_extract x;
    struct leak_run r;

    leak_feed(&r, &o, STR("<think>" REASONING), (const size_t[]){100});
    CHECK(r.text.n == 0 && !r.pipe.cap.answered && r.pipe.reasoning.any);
    CHECK(r.pipe.split.flags & SPLIT_UNCLOSED_REPLY);
    split_extract(STR("[THINK]" REASONING), &r.arena, &x);
    CHECK(x.unclosed && x.has_reasoning && x.final_response.n == 0);
    split_extract(STR("<thinking>" REASONING), &r.arena, &x);
    CHECK(x.unclosed && x.final_response.n == 0);
    split_extract(STR("<reasoning>" REASONING "</thinking>" ANSWER), &r.arena, &x);
    CHECK(!x.unclosed && str_eq(x.final_response, STR(ANSWER)));
    leak_end(&r);
}

/* ---- text without reasoning ---- */

static void check_untouched(const char *const *pieces, size_t n)
{
    struct leak_run r;
    struct pipe_options o = {.format = split_format_auto(),
                             .hide = true,
                             .cap = 5,
                             .id = STR("x"),
                             .vocab = tokens_vocab_find(STR("o200k_base"))};

    arena_init(&r.arena, 1 << 20);
    pipe_init(&r.pipe, &o, &r.arena);
    for (size_t i = 0; i < n; i++) {
        struct chat_event ev = {
            .kind = CHAT_TEXT, .text = str_c(pieces[i]), .id = STR(""), .name = STR("")};

        pipe_begin(&r.pipe);
        pipe_feed(&r.pipe, &ev);
        CHECK_F(!r.pipe.touched && r.pipe.count == 1, "\"%s\"", pieces[i]);
        CHECK_F(r.pipe.events[0].text.p == ev.text.p && r.pipe.events[0].text.n == ev.text.n,
                "\"%s\"",
                pieces[i]);
    }
    CHECK(!r.pipe.split.splitter && !pipe_may_split(&r.pipe)); /* no splitter was allocated */
    pipe_begin(&r.pipe);
    pipe_flush(&r.pipe);
    CHECK(r.pipe.count == 0 && !r.pipe.touched && !r.pipe.reasoning.any);
    pipe_release(&r.pipe);
    arena_release(&r.arena);
}

TEST(a_reply_that_begins_with_no_marker_passes_as_it_came)
{
    static const char *const texts[][4] = {
        {"Hello ", "there, ", "<think>", "x</think> "},
        {" Hello", "\n", "\n<think>\n", "x</think>\n"},
        {"`<think>`", " is a tag", "\n", "<thinking>"},
        {"{\"a\": 1,\n", " \"b\": ", "[THINK]", "}"},
        {"<p>one ", "</p>", " ", "\n"},
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        check_untouched(texts[i], 4);
}

TEST(the_front_of_a_marker_is_held_and_no_more)
{
    struct pipe_options o = {.format = split_format_auto(), .hide = true};
    struct leak_run r;

    leak_feed(&r, &o, STR(" <thin ice> <think>"), (const size_t[]){1, 2, 6, 7, 19});
    CHECK(str_eq(buf_str(&r.text), STR(" <thin ice> <think>")));
    CHECK(!pipe_may_split(&r.pipe) && r.pipe.cap.answered && !r.pipe.reasoning.any);
    leak_end(&r);
    leak_feed(&r, &o, STR("<thin"), (const size_t[]){3, 5});
    CHECK(str_eq(buf_str(&r.text), STR("<thin")));
    leak_end(&r);
}

TEST(reasoning_in_a_field_of_its_own_leaves_other_text_alone)
{
    struct pipe_options o = {.format = split_format_auto(),
                             .cap = -1,
                             .id = STR("x"),
                             .vocab = tokens_vocab_find(STR("o200k_base"))};
    struct chat_event thought = {
        .kind = CHAT_REASONING, .text = STR("hm"), .id = STR(""), .name = STR("")};
    struct chat_event said = {.kind = CHAT_TEXT,
                              .block = 1,
                              .text = STR("Write <think> there."),
                              .id = STR(""),
                              .name = STR("")};
    struct leak_run r;

    arena_init(&r.arena, 1 << 20);
    pipe_init(&r.pipe, &o, &r.arena);
    pipe_begin(&r.pipe);
    pipe_feed(&r.pipe, &thought);
    pipe_feed(&r.pipe, &said);
    CHECK(r.pipe.count == 2 && r.pipe.events[1].kind == CHAT_TEXT && !r.pipe.touched);
    pipe_continue(&r.pipe); /* a second reply is split again */
    pipe_begin(&r.pipe);
    pipe_feed(&r.pipe,
              &(struct chat_event){.kind = CHAT_TEXT,
                                   .block = 1,
                                   .text = STR("<think>" SECRET "</think>" ANSWER),
                                   .id = STR(""),
                                   .name = STR("")});
    CHECK(r.pipe.count == 1 && str_eq(r.pipe.events[0].text, STR(ANSWER)));
    pipe_release(&r.pipe);
    arena_release(&r.arena);
}

/* Feeds a message byte by byte, in several text blocks, with or without a call between them. */
static void feed_blocks(struct leak_run *r, const struct pipe_options *o, const char *const *texts,
                        bool call, enum chat_stop stop)
{
    struct chat_event ev = {.text = STR(""), .id = STR("c"), .name = STR("")};

    arena_init(&r->arena, 16 << 20);
    buf_init(&r->text, 1 << 20);
    buf_init(&r->reasoning, 1 << 20);
    pipe_init(&r->pipe, o, &r->arena);
    for (size_t i = 0; texts[i]; i++) {
        str text = str_c(texts[i]);

        for (size_t at = 0; at < text.n; at++) {
            ev.kind = CHAT_TEXT;
            ev.block = (uint32_t)(2 * i);
            ev.text = str_slice(text, at, at + 1);
            pipe_begin(&r->pipe);
            pipe_feed(&r->pipe, &ev);
            leak_drain(r);
        }
        ev.kind = CHAT_CALL;
        ev.block++;
        ev.text = STR("");
        pipe_begin(&r->pipe);
        if (call && texts[i + 1])
            pipe_feed(&r->pipe, &ev);
        leak_drain(r);
    }
    pipe_begin(&r->pipe);
    ev.kind = CHAT_STOP;
    ev.stop = stop;
    pipe_feed(&r->pipe, &ev);
    pipe_flush(&r->pipe);
    leak_drain(r);
}

TEST(reasoning_that_is_open_goes_on_in_the_next_block)
{
    static const struct {
        const char *texts[4];
        bool call;
        enum chat_stop stop;
        const char *answer;
    } cases[] = {
        {{"<think>" SECRET, SECRET "</think>" ANSWER}, false, CHAT_STOP_END, ANSWER},
        {{"<think>" SECRET, SECRET, SECRET "</think>" ANSWER}, false, CHAT_STOP_END, ANSWER},
        {{"<think>" SECRET "</th", "ink>" ANSWER}, false, CHAT_STOP_END, ANSWER},
        {{"<think>" SECRET, SECRET}, false, CHAT_STOP_END, ""},
        {{"<think>```\n</think>\n" SECRET, SECRET "```</think>" ANSWER},
         false,
         CHAT_STOP_END,
         ANSWER},
        {{"<think>" SECRET, SECRET "</think>" ANSWER}, true, CHAT_STOP_END, ANSWER},
        {{"<think>" SECRET, SECRET, SECRET "</think>" ANSWER}, true, CHAT_STOP_END, ANSWER},
        /* A call may end reasoning: if no closer follows, later text is the answer ... */
        {{"<think>" SECRET, ANSWER}, true, CHAT_STOP_END, ANSWER},
        /* ... unless the reply was truncated, perhaps before its closer. */
        {{"<think>" SECRET, SECRET}, true, CHAT_STOP_LENGTH, ""},
        {{"<think>" SECRET "</think>A", "B"}, true, CHAT_STOP_END, "AB"},
    };
    static const char *const formats[] = {"think", "qwen3", "auto"};

    for (size_t i = 0; i < COUNT_OF(cases) * COUNT_OF(formats); i++) {
        struct pipe_options o = {.format = split_format_find(str_c(formats[i % COUNT_OF(formats)])),
                                 .hide = true,
                                 .cap = -1,
                                 .id = STR("x"),
                                 .vocab = tokens_vocab_find(STR("o200k_base"))};
        size_t c = i / COUNT_OF(formats);
        struct leak_run r;

        feed_blocks(&r, &o, cases[c].texts, cases[c].call, cases[c].stop);
        CHECK_F(str_eq(buf_str(&r.text), str_c(cases[c].answer)) && r.reasoning.n == 0,
                "case %zu gives \"" STR_FMT "\"",
                c,
                STR_ARG(buf_str(&r.text)));
        leak_end(&r);
    }
}

TEST(white_space_at_the_end_of_a_piece_makes_no_event_of_its_own)
{
    struct pipe_options o = {.format = split_format_find(STR("think")),
                             .cap = -1,
                             .id = STR("x"),
                             .vocab = tokens_vocab_find(STR("o200k_base"))};
    static const char *const pieces[] = {"One ", "two ", "three"};
    struct leak_run r;

    arena_init(&r.arena, 1 << 20);
    pipe_init(&r.pipe, &o, &r.arena);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        pipe_begin(&r.pipe);
        pipe_feed(&r.pipe,
                  &(struct chat_event){
                      .kind = CHAT_TEXT, .text = str_c(pieces[i]), .id = STR(""), .name = STR("")});
        CHECK_INT(r.pipe.count, 1);
    }
    CHECK(str_eq(r.pipe.events[0].text, STR(" three")));
    pipe_release(&r.pipe);
    arena_release(&r.arena);
}

static void collect_answer(void *ctx, enum split_kind kind, str run)
{
    if (kind == SPLIT_ANSWER)
        buf_add(ctx, run);
}

/* A tag in the answer is text, and its closer does not reopen the reasoning before it. */
TEST(an_answer_that_shows_a_tag_is_not_lost_where_tags_are_asked_for)
{
    static const char *const names[] = {"think", "reasoning", "auto"};
    str text = STR("<NAME>x</NAME>Forty-two, as <NAME>y</NAME> has it.");

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *name = i == 1 ? "reasoning" : "think";
        const struct split_format *f =
            i == 2 ? split_format_auto() : split_format_find(str_c(names[i]));
        struct split_format both = asked_with(f);
        struct buf written, answer;
        struct split sp;
        str want;

        buf_init(&written, 4096);
        buf_init(&answer, 4096);
        for (size_t at = 0; at < text.n; at++)
            if (str_starts(str_slice(text, at, text.n), STR("NAME"))) {
                buf_add(&written, str_c(name));
                at += 3;
            } else {
                buf_add_c(&written, text.p[at]);
            }
        split_init(&sp, &both, false, (struct split_sink){collect_answer, NULL, &answer});
        split_feed(&sp, buf_str(&written));
        split_finish(&sp);
        want = str_slice(buf_str(&written), str_find(buf_str(&written), STR("Forty")), written.n);
        CHECK_F(str_eq(buf_str(&answer), want) && sp.state == SPLIT_COMPLETE,
                "%s: " STR_FMT,
                names[i],
                STR_ARG(buf_str(&answer)));
        CHECK(!(sp.flags & (SPLIT_MISMATCHED_CLOSE | SPLIT_RECLASSIFIED)));
        buf_release(&written);
        buf_release(&answer);
    }
}

TEST_MAIN(T(an_answer_that_shows_a_tag_is_not_lost_where_tags_are_asked_for),
          T(no_byte_of_reasoning_reaches_a_client_that_may_not_see_it),
          T(mismatched_closers_leak_nothing_and_lose_no_answer),
          T(an_unclosed_block_is_no_answer_and_is_flagged),
          T(a_reply_that_begins_with_no_marker_passes_as_it_came),
          T(the_front_of_a_marker_is_held_and_no_more),
          T(reasoning_in_a_field_of_its_own_leaves_other_text_alone),
          T(reasoning_that_is_open_goes_on_in_the_next_block),
          T(white_space_at_the_end_of_a_piece_makes_no_event_of_its_own))
