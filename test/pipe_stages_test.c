/* pipe_stages_test.c - each stage of the pipe alone, with the texts divided at every position.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "gateway/pipe/split.h"
#include "test.h"

enum stage { SPLIT, COUNT, CAP, REDACT, NUMBER };

struct stage_step {
    enum chat_event_kind kind;
    uint32_t block;
    const char *text;
    enum pipe_mark mark;
};

struct stage_case {
    enum stage stage; /* the stage that gets the events; later ones pass them on */
    const char *format;
    struct pipe_options options;
    struct stage_step steps[8];
    const char *want; /* kind and block in brackets at each change */
    bool touched;
};

struct stage_chain {
    struct arena arena, scratch;
    struct pipe_options options;
    struct pipe_shared shared;
    struct pipe_split split;
    struct pipe_count count;
    struct pipe_cap cap;
    struct pipe_redact redact;
    struct pipe_number number;
    struct chat_event kept[256];
    size_t n;
    bool touched;
};

static struct chat_event *stage_keep(void *ctx, const struct chat_event *ev)
{
    struct stage_chain *c = ctx;

    CHECK(c->n < COUNT_OF(c->kept));
    c->kept[c->n] = *ev;
    return &c->kept[c->n++];
}

static void stage_begin(struct stage_chain *c, const struct stage_case *t)
{
    memset(c, 0, sizeof *c);
    arena_init(&c->arena, 1 << 24);
    arena_init(&c->scratch, 1 << 24);
    c->options = t->options;
    c->options.cap = t->options.cap ? t->options.cap : -1;
    c->options.format = t->format ? split_format_find(str_c(t->format)) : NULL;
    c->options.vocab = tokens_vocab_find(STR("o200k_base"));
    c->options.id = STR("x");
    c->shared = (struct pipe_shared){&c->options, &c->arena, &c->scratch, &c->touched};
    c->split = (struct pipe_split){.shared = &c->shared, .next = &c->count};
    c->count = (struct pipe_count){.shared = &c->shared, .next = &c->cap, .cap = c->options.cap};
    c->cap = (struct pipe_cap){.shared = &c->shared, .next = &c->redact};
    c->redact = (struct pipe_redact){.shared = &c->shared, .next = &c->number};
    c->number = (struct pipe_number){.keep = stage_keep, .ctx = c, .arena = &c->arena};
}

static void stage_end(struct stage_chain *c)
{
    pipe_split_release(&c->split);
    arena_release(&c->arena);
    arena_release(&c->scratch);
}

static void stage_feed(struct stage_chain *c, enum stage stage, const struct stage_step *step,
                       str text)
{
    struct chat_event ev = {
        .kind = step->kind, .block = step->block, .text = text, .id = STR(""), .name = STR("n")};

    if (step->kind == CHAT_EXTRA)
        ev.name = STR("choice.logprobs");
    if (step->kind == CHAT_OPAQUE)
        ev.name = STR("citation");
    if (step->mark == PIPE_BREAK)
        ev = pipe_break;
    if (stage == SPLIT)
        pipe_split_feed(&c->split, &ev);
    else if (stage == COUNT)
        pipe_count_feed(&c->count, &ev, step->mark);
    else if (stage == CAP)
        pipe_cap_feed(&c->cap, &ev, step->mark);
    else if (stage == REDACT)
        pipe_redact_feed(&c->redact, &ev, step->mark);
    else
        pipe_number_feed(&c->number, &ev, step->mark);
}

/* Divides the text of one step at `cut`; if step is SIZE_MAX, all texts are fed byte by byte. */
static void stage_run(struct stage_chain *c, const struct stage_case *t, size_t step, size_t cut)
{
    stage_begin(c, t);
    for (size_t i = 0; i < COUNT_OF(t->steps) && (t->steps[i].text || t->steps[i].mark); i++) {
        const struct stage_step *s = &t->steps[i];
        str text = str_c(s->text ? s->text : "");
        bool whole = s->kind != CHAT_TEXT && s->kind != CHAT_REASONING && s->kind != CHAT_ARGUMENTS;
        size_t size = whole ? text.n : step == SIZE_MAX ? 1 : step == i && cut ? cut : text.n;

        for (size_t at = 0, n; at < text.n || at == 0; at += n ? n : 1) {
            n = at == 0 || step == SIZE_MAX ? size : text.n - at;
            n = n < text.n - at ? n : text.n - at;
            stage_feed(c, t->stage, s, str_slice(text, at, at + n));
        }
    }
    pipe_split_flush(&c->split);
    pipe_count_flush(&c->count);
}

static void stage_print(const struct stage_chain *c, struct buf *out)
{
    const struct chat_event *last = NULL;

    for (size_t i = 0; i < c->n; last = &c->kept[i++]) {
        const struct chat_event *ev = &c->kept[i];

        if (!last || last->kind != ev->kind || last->block != ev->block)
            buf_printf(out, "[%s%u]", chat_event_name(ev->kind), ev->block);
        buf_add(out, ev->text);
    }
}

static void stage_check(const struct stage_case *t, size_t step, size_t cut)
{
    static struct stage_chain c;
    struct buf out;

    buf_init(&out, 1 << 16);
    stage_run(&c, t, step, cut);
    stage_print(&c, &out);
    CHECK_F(str_eq(buf_str(&out), str_c(t->want)) && (t->touched == c.touched || step == SIZE_MAX),
            "step %zu cut at %zu: got " STR_FMT "%s, want %s",
            step,
            cut,
            STR_ARG(buf_str(&out)),
            c.touched ? ", touched" : "",
            t->want);
    buf_release(&out);
    stage_end(&c);
}

static void stage_check_cuts(const struct stage_case *cases, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < COUNT_OF(cases[k].steps) && cases[k].steps[i].text; i++)
            for (size_t cut = 0; cut < strlen(cases[k].steps[i].text); cut++)
                stage_check(&cases[k], i, cut);
        stage_check(&cases[k], SIZE_MAX, 0);
    }
}

TEST(split_divides_text_at_its_markers)
{
    static const struct stage_case cases[] = {
        {SPLIT,
         "think",
         .steps = {{CHAT_TEXT, 0, .text = "<think>\n a b \n</think>\n\nfour"},
                   {CHAT_TEXT, 0, .text = " five "}},
         .want = "[reasoning0]a b[text1]four five ",
         .touched = true},
        {SPLIT,
         NULL,
         .steps = {{CHAT_TEXT, 0, .text = "<think>a</think>b"}},
         .want = "[text0]<think>a</think>b"},
        {SPLIT,
         "qwen3",
         .steps = {{CHAT_TEXT,
                    0,
                    .text = "<think>c</think>\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n"
                            "</tool_call>"},
                   {CHAT_STOP, 0, .text = ""}},
         .want = "[reasoning0]c[call1][arguments1]{}[stop0]",
         .touched = true},
        {SPLIT, /* a preamble and the final message become two paragraphs */
         "harmony",
         .steps = {{CHAT_TEXT,
                    0,
                    .text = "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>"
                            "commentary<|message|>I look.<|end|><|start|>assistant<|channel|>"
                            "final<|message|> It is 12.<|return|>"}},
         .want = "[reasoning0]a[text1]I look.[text2]\n\nIt is 12.",
         .touched = true},
        {SPLIT, /* the model's own line break suffices */
         "harmony",
         .steps = {{CHAT_TEXT,
                    0,
                    .text = "<|channel|>commentary<|message|>One\n<|end|><|start|>assistant"
                            "<|channel|>commentary<|message|>two<|end|><|start|>assistant"
                            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>"
                            "final<|message|>three"}},
         .want = "[text0]One[text1]\ntwo[reasoning2]a[text3]\n\nthree",
         .touched = true},
        {SPLIT,
         "harmony_stripped",
         .steps = {{CHAT_TEXT, 0, .text = "commentaryI look.assistantfinalIt is 12."}},
         .want = "[text0]I look.[text1]\n\nIt is 12.",
         .touched = true},
        {SPLIT, /* open reasoning continues after the call, up to its closer */
         "think",
         .steps = {{CHAT_TEXT, 0, .text = "<think>ab"},
                   {CHAT_CALL, 1, .text = ""},
                   {CHAT_TEXT, 2, .text = "c</think>d"}},
         .want = "[reasoning0]ab[call1][reasoning2]c[text3]d",
         .touched = true},
    };

    stage_check_cuts(cases, COUNT_OF(cases));
}

TEST(count_divides_reasoning_at_the_cap)
{
    static const struct stage_case cases[] = {
        {COUNT,
         .options = {.cap = 2, .at_cap = PIPE_TRUNCATE},
         .steps = {{CHAT_REASONING, 0, .text = "one two three"}, {CHAT_TEXT, 1, .text = "four"}},
         .want = "[reasoning0]one two[text1]four",
         .touched = true},
        {COUNT, /* no token spans two blocks */
         .options = {.cap = 2, .at_cap = PIPE_TRUNCATE},
         .steps = {{CHAT_REASONING, 0, .text = "pon"},
                   {CHAT_REASONING, 1, .text = "der"},
                   {CHAT_STOP, 0, .text = ""}},
         .want = "[reasoning0]pon[reasoning1]der[stop0]"},
    };

    stage_check_cuts(cases, 1);
    stage_check(&cases[1], 0, 0);
}

/* For a client that gets all reasoning as one text. */
TEST(count_separates_thoughts_by_a_blank_line)
{
    static const struct stage_case cases[] = {
        {SPLIT,
         "think",
         .options = {.one_thought = true},
         .steps = {{CHAT_TEXT, 0, .text = "<think> a </think>b\n<think>c</think>d"}},
         .want = "[reasoning0]a[text1]b[reasoning2]\n\nc[text3]\nd",
         .touched = true},
        {SPLIT,
         "harmony",
         .options = {.one_thought = true, .cap = 3},
         .steps = {{CHAT_TEXT,
                    0,
                    .text = "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>"
                            "analysis<|message|>b c d"}},
         .want = "[reasoning0]a[reasoning1]\n\nb c",
         .touched = true},
        {SPLIT, /* each stretch of reasoning is a block */
         "think",
         .steps = {{CHAT_TEXT, 0, .text = "<think>a</think>b\n<think>c</think>d"}},
         .want = "[reasoning0]a[text1]b[reasoning2]c[text3]\nd",
         .touched = true},
        {COUNT, /* the provider also sends one text, so no line is inserted */
         .options = {.one_thought = true},
         .steps = {{CHAT_REASONING, 0, .text = "a"},
                   {CHAT_TEXT, 1, .text = "b"},
                   {CHAT_REASONING, 2, .text = "c"}},
         .want = "[reasoning0]a[text1]b[reasoning2]c"},
        {COUNT, /* the model wrote the line break */
         .options = {.one_thought = true},
         .steps = {{CHAT_REASONING, 0, .text = "a", PIPE_FROM_TEXT},
                   {CHAT_REASONING, 1, .text = "\nb\n", PIPE_FROM_TEXT},
                   {CHAT_REASONING, 2, .text = "c", PIPE_FROM_TEXT}},
         .want = "[reasoning0]a[reasoning1]\nb\n[reasoning2]c"},
    };

    stage_check_cuts(cases, COUNT_OF(cases));
}

TEST(count_is_that_of_the_text_at_every_cut)
{
    static const struct stage_case t = {
        COUNT,
        .options = {.cap = 5, .at_cap = PIPE_TRUNCATE},
        .steps = {{CHAT_REASONING, 0, .text = "counterrevolutionaries ponder, 31415 times"}}};
    str text = str_c(t.steps[0].text);
    static struct stage_chain c;
    int64_t all = (int64_t)tokens_count(tokens_vocab_find(STR("o200k_base")), text);

    for (size_t cut = 0; cut < text.n; cut++) {
        stage_run(&c, &t, 0, cut);
        CHECK(c.cap.state == PIPE_OVER && c.count.beyond && pipe_count_tokens(&c.count) == 5);
        CHECK(c.count.size + c.cap.dropped == text.n);
        CHECK(pipe_count_tokens(&c.count) + pipe_cap_dropped(&c.cap) == all);
        stage_end(&c);
    }
}

TEST(cap_counts_a_refusal_as_an_answer)
{
    static const struct stage_case t = {
        CAP, .options = {.cap = -1}, .steps = {{CHAT_REFUSAL, 0, .text = "I cannot do that."}}};
    static struct stage_chain c;

    stage_run(&c, &t, 0, 3);
    CHECK(c.cap.answered && c.cap.answer_size == strlen(t.steps[0].text));
    stage_end(&c);
}

TEST(cap_drops_what_the_reply_is_not_to_say)
{
    static const struct stage_case cases[] = {
        {CAP,
         .steps = {{CHAT_REASONING, 0, .text = "kept"},
                   {CHAT_REASONING, 0, .text = "lost", PIPE_BEYOND_CAP},
                   {CHAT_SIGNATURE, 0, .text = "s"},
                   {CHAT_TEXT, 1, .text = "said"}},
         .want = "[reasoning0]kept[text1]said",
         .touched = true},
        {CAP,
         .options = {.at_cap = PIPE_STOP},
         .steps = {{CHAT_REASONING, 0, .text = "kept"},
                   {CHAT_REASONING, 0, .text = "lost", PIPE_BEYOND_CAP},
                   {CHAT_TEXT, 1, .text = "late"},
                   {CHAT_CALL, 2, .text = ""},
                   {CHAT_STOP, 0, .text = ""}},
         .want = "[reasoning0]kept[stop0]",
         .touched = true},
        {CAP,
         .options = {.at_cap = PIPE_STOP_OR_RESUME},
         .steps = {{CHAT_REASONING, 0, .text = "lost", PIPE_BEYOND_CAP},
                   {CHAT_TEXT, 1, .text = "resumed"}},
         .want = "[text0]resumed",
         .touched = true},
        {CAP, /* a call ends the turn, so it cannot resume; its arguments still pass */
         .options = {.at_cap = PIPE_STOP_OR_RESUME},
         .steps = {{CHAT_CALL, 0, .text = ""},
                   {CHAT_REASONING, 1, .text = "lost", PIPE_BEYOND_CAP},
                   {CHAT_ARGUMENTS, 0, .text = "{}"},
                   {CHAT_TEXT, 2, .text = "late"}},
         .want = "[call0][arguments0]{}",
         .touched = true},
    };

    stage_check_cuts(cases, COUNT_OF(cases));
}

TEST(redact_removes_reasoning_and_what_tells_of_it)
{
    static const struct stage_case cases[] = {
        {REDACT,
         .options = {.hide = true},
         .steps = {{CHAT_REASONING, 0, .text = "secret"},
                   {CHAT_SIGNATURE, 0, .text = "s"},
                   {CHAT_REDACTED, 1, .text = "d"},
                   {CHAT_EXTRA, 0, .text = "{}"},
                   {CHAT_TEXT, 2, .text = "open"}},
         .want = "[text0]open",
         .touched = true},
        {REDACT,
         .options = {.hide = true, .announce = true},
         .steps = {{CHAT_REASONING, 0, .text = "ab"},
                   {CHAT_REASONING, 1, .text = "cd"},
                   {CHAT_TEXT, 2, .text = "e"}},
         .want = "[reasoning0][reasoning1][text2]e",
         .touched = true},
        {REDACT, /* hidden reasoning separates two texts of one block */
         .options = {.hide = true},
         .steps = {{CHAT_TEXT, 0, .text = "a"},
                   {CHAT_REASONING, 0, .text = "b"},
                   {CHAT_TEXT, 0, .text = "c"}},
         .want = "[text0]a[text1]c",
         .touched = true},
        {REDACT,
         .steps = {{CHAT_REASONING, 0, .text = "shown"},
                   {CHAT_EXTRA, 0, .text = "{}"},
                   {CHAT_TEXT, 1, .text = "too"}},
         .want = "[reasoning0]shown[extra0]{}[text1]too"},
    };

    stage_check_cuts(cases, COUNT_OF(cases));
}

TEST(number_counts_blocks_in_order)
{
    static const struct stage_case cases[] = {
        {NUMBER,
         .steps = {{CHAT_TEXT, 7, .text = "ab"},
                   {CHAT_TEXT, 7, .text = "c", PIPE_BREAK},
                   {CHAT_TEXT, 7, .text = "de"},
                   {CHAT_TEXT, 7, .text = "f", PIPE_FROM_TEXT},
                   {CHAT_OPAQUE, 7, .text = "{}"},
                   {CHAT_REASONING, 30, .text = "g"},
                   {CHAT_SIGNATURE, 30, .text = "s"}},
         .want = "[text0]ab[text1]de[text2]f[opaque2]{}[reasoning3]g[signature3]s"},
        {NUMBER, /* arguments of two calls alternate */
         .steps = {{CHAT_CALL, 1, .text = ""},
                   {CHAT_CALL, 2, .text = ""},
                   {CHAT_ARGUMENTS, 1, .text = "{}"},
                   {CHAT_ARGUMENTS, 2, .text = "[]"},
                   {CHAT_OPAQUE, 9, .text = "c"},
                   {CHAT_TEXT, 9, .text = "d"}},
         .want = "[call0][call1][arguments0]{}[arguments1][][opaque2]c[text2]d"},
    };

    stage_check_cuts(cases, COUNT_OF(cases));
}

TEST_MAIN(T(split_divides_text_at_its_markers), T(count_divides_reasoning_at_the_cap),
          T(count_separates_thoughts_by_a_blank_line),
          T(count_is_that_of_the_text_at_every_cut), T(cap_counts_a_refusal_as_an_answer),
          T(cap_drops_what_the_reply_is_not_to_say),
          T(redact_removes_reasoning_and_what_tells_of_it), T(number_counts_blocks_in_order))
