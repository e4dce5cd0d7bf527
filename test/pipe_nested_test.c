/* pipe_nested_test.c - blocks of reasoning inside a block: a client that may not see reasoning gets
 * none of them, however the text is divided.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/pipe/pipe.h"
#include "test.h"

#define SECRET "xyzzy"
#define ANSWER "Forty-two, 6 < 7."

static void nested_drain(const struct pipe *p, struct buf *text)
{
    for (size_t i = 0; i < p->count; i++)
        buf_add(text, p->events[i].text);
}

/* Feeds two pieces divided at `cut`, or single bytes if `cut` is 0. */
static void nested_check_cut(const struct pipe_options *o, str text, size_t cut)
{
    struct arena arena;
    struct pipe p;
    struct buf out;

    arena_init(&arena, 1 << 24);
    buf_init(&out, 1 << 20);
    pipe_init(&p, o, &arena);
    for (size_t from = 0, to; from < text.n; from = to) {
        to = cut == 0 ? from + 1 : from < cut ? cut : text.n;
        pipe_begin(&p);
        pipe_feed(&p,
                  &(struct chat_event){.kind = CHAT_TEXT,
                                       .text = str_slice(text, from, to),
                                       .id = STR(""),
                                       .name = STR("")});
        nested_drain(&p, &out);
    }
    pipe_begin(&p);
    pipe_flush(&p);
    nested_drain(&p, &out);
    CHECK_F(str_starts(buf_str(&out), STR(ANSWER)) &&
                str_find(buf_str(&out), STR(SECRET)) == STR_NONE,
            "%s, cut at %zu: \"" STR_FMT "\" gives \"" STR_FMT "\"",
            o->format->id,
            cut,
            STR_ARG(text),
            STR_ARG(buf_str(&out)));
    pipe_release(&p);
    buf_release(&out);
    arena_release(&arena);
}

static void nested_check(const char *format, bool inside, str text)
{
    struct pipe_options o = {.format = split_format_find(str_c(format)),
                             .hide = true,
                             .inside = inside,
                             .vocab = tokens_vocab_find(STR("o200k_base")),
                             .id = STR("x"),
                             .cap = -1};

    for (size_t cut = 0; cut <= text.n; cut++)
        nested_check_cut(&o, text, cut);
}

TEST(blocks_inside_a_block_leak_nothing_and_lose_no_answer)
{
    static const char *const texts[] = {
        "<think>" SECRET "<think>a<think>b</think>" SECRET "</think>" SECRET "</think>" ANSWER,
        "<think>" SECRET "<think>a</think>" SECRET " <think>b</think>" SECRET "</think>" ANSWER,
        "<think>a<think>b</think>\n```\nc\n```d\n" SECRET "</think>" ANSWER,
        "<think>" SECRET "</thinking>\n```\nc\n```d\n" SECRET "</think>" ANSWER,
        "<think>" SECRET "<think>a</think>" SECRET "</thinking>" ANSWER,
        "<think>" SECRET "<think>a</think>" SECRET "</reasoning>\n\n" ANSWER,
        "<think>" SECRET "<think>a<think>b</think>" SECRET "</think>" SECRET "</thought>" ANSWER,
        "<THINK>" SECRET "<think>a</think>" SECRET "</THINK>" ANSWER,
        "<think>" SECRET " <think>, as they say</think>" ANSWER,
        "<think>" SECRET " `<think>` </think>" ANSWER "</think>",
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        nested_check("auto", false, str_c(texts[i]));
        nested_check("qwen3", false, str_c(texts[i]));
        if (str_starts(str_c(texts[i]), STR("<think>"))) /* and with the opener in the prompt */
            nested_check("qwen3", true, str_c(texts[i] + sizeof "<think>" - 1));
    }
}

TEST_MAIN(T(blocks_inside_a_block_leak_nothing_and_lose_no_answer))
