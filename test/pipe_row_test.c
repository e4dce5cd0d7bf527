/* pipe_row_test.c - texts that the pipe passes unchanged may be fed as one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/pipe/pipe.h"
#include "test.h"

#define ROW_MAX 4096

struct run {
    struct pipe pipe;
    struct arena arena;
    struct buf out; /* kind and block in brackets at each change */
    int last;
    uint32_t block;
    size_t row_n, rows;
    char row[ROW_MAX];
};

static void drain(struct run *r)
{
    for (size_t i = 0; i < r->pipe.count; i++) {
        const struct chat_event *ev = &r->pipe.events[i];

        if ((int)ev->kind != r->last || ev->block != r->block)
            buf_printf(&r->out, "[%s%u]", chat_event_name(ev->kind), ev->block);
        buf_add(&r->out, ev->text);
        r->last = (int)ev->kind;
        r->block = ev->block;
    }
}

static void feed(struct run *r, str text, bool passes)
{
    pipe_begin(&r->pipe);
    pipe_feed(
        &r->pipe,
        &(struct chat_event){.kind = CHAT_TEXT, .text = text, .id = STR(""), .name = STR("")});
    if (passes) {
        CHECK(r->pipe.count == 1 && !r->pipe.touched);
        CHECK_INT(r->pipe.events[0].kind, CHAT_TEXT);
        CHECK(str_eq(r->pipe.events[0].text, text));
    }
    drain(r);
}

static void feed_row(struct run *r)
{
    if (r->row_n)
        feed(r, (str){r->row, r->row_n}, true);
    r->rows += r->row_n > 0;
    r->row_n = 0;
}

/* Feeds the text in pieces of a size; with `joins`, those in a row that pass as one. */
static void feed_all(struct run *r, str text, size_t size, bool joins)
{
    for (size_t at = 0; at < text.n; at += size) {
        str piece = str_slice(text, at, at + size);
        bool passes = pipe_passes(&r->pipe, 0, piece);

        if (joins && passes && piece.n <= ROW_MAX - r->row_n) {
            memcpy(r->row + r->row_n, piece.p, piece.n);
            r->row_n += piece.n;
            continue;
        }
        feed_row(r);
        feed(r, piece, passes && !joins);
    }
    feed_row(r);
    pipe_begin(&r->pipe);
    pipe_flush(&r->pipe);
    drain(r);
}

static void run_text(struct run *r, const struct pipe_options *o, str text, size_t size, bool joins)
{
    memset(r, 0, sizeof *r);
    r->last = -1;
    arena_init(&r->arena, 1 << 24);
    buf_init(&r->out, 1 << 20);
    pipe_init(&r->pipe, o, &r->arena);
    feed_all(r, text, size, joins);
    pipe_release(&r->pipe);
    arena_release(&r->arena);
}

static const char *const formats[] = {
    NULL, "auto", "think", "thinking", "mistral", "qwen3", "harmony", "gemma4", "minimax_m3"};

static const char *const texts[] = {
    "no marker at all: three  spaces   and a line\n\n```c\nx < y\n```\nend ",
    "<think>\nlet me see\n</think>\n\nfour is <b>more</b> than three, <think> in passing, `a<b` "
    "and\n"
    "<think>again</think> the end of it  \n",
    "<think>a</think>b<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\nd and more "
    "text",
    "[THINK]a[/THINK] c is [x] and [THINK] b[/THINK] \n d, then more of the answer "
    "[THINK]e[/THINK]\n",
    "<thinking>a b</thinking>c and some words\n\n<thinking>d</thinking>\ne and others",
    "```\n</think>\n``` </think> after a closer that nothing opened, words, words",
};

TEST(texts_that_pass_in_a_row_may_be_joined)
{
    static struct run alone, joined;
    size_t rows = 0;

    for (size_t f = 0; f < COUNT_OF(formats); f++)
        for (size_t t = 0; t < COUNT_OF(texts); t++)
            for (int k = 0; k < 12; k++) {
                struct pipe_options o = {.format = formats[f] ? split_format_find(str_c(formats[f]))
                                                              : NULL,
                                         .hide = k % 2,
                                         .inside = k / 2 % 2,
                                         .cap = k >= 8 ? 2 : -1,
                                         .at_cap = k >= 8 ? PIPE_TRUNCATE : PIPE_GO_ON,
                                         .vocab = tokens_vocab_find(STR("o200k_base")),
                                         .id = STR("x")};

                CHECK(!formats[f] || o.format);
                for (size_t size = 1; size < 40; size += 1 + size / 4) {
                    run_text(&alone, &o, str_c(texts[t]), size, false);
                    run_text(&joined, &o, str_c(texts[t]), size, true);
                    CHECK_F(str_eq(buf_str(&alone.out), buf_str(&joined.out)),
                            "%s, text %zu in pieces of %zu: " STR_FMT " and " STR_FMT,
                            formats[f] ? formats[f] : "none",
                            t,
                            size,
                            STR_ARG(buf_str(&alone.out)),
                            STR_ARG(buf_str(&joined.out)));
                    rows += joined.rows;
                    buf_release(&alone.out);
                    buf_release(&joined.out);
                }
            }
    CHECK(rows > 1000);
}

TEST_MAIN(T(texts_that_pass_in_a_row_may_be_joined))
