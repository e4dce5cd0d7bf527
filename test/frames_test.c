/* SPDX-License-Identifier: Apache-2.0 */
#include "net/frames.h"

#include "base/rand.h"
#include "test.h"

#define SIZE_MAX_HERE 4096

/* Expected frames: name|data|raw; each */
static void on_frame(void *ctx, const struct frames_frame *frame)
{
    struct buf *out = ctx;

    buf_printf(out,
               STR_FMT "|" STR_FMT "|" STR_FMT ";",
               STR_ARG(frame->name),
               STR_ARG(frame->data),
               STR_ARG(frame->raw));
}

static void on_raw(void *ctx, const struct frames_frame *frame)
{
    buf_add(ctx, frame->raw);
}

struct run {
    enum frames_kind kind;
    size_t size_max;
    str text;
};

/* Feeds the text in pieces that end at cuts[0..n) and at its end. */
static bool run(struct run r, const size_t *cuts, size_t n,
                void (*fn)(void *, const struct frames_frame *), struct buf *out)
{
    struct frames f;
    size_t from = 0;

    frames_init(&f, r.kind, r.size_max, (struct frames_sink){fn, out});
    for (size_t i = 0; i <= n; i++) {
        size_t to = i < n ? cuts[i] : r.text.n;
        char *copy = base_alloc(to - from + 1); /* exact size: a sanitizer detects an overread */

        memcpy(copy, r.text.p + from, to - from);
        frames_feed(&f, (str){copy, to - from});
        free(copy);
        from = to;
    }
    frames_finish(&f);
    frames_release(&f);
    return !f.full;
}

static const struct {
    enum frames_kind kind;
    const char *text, *frames;
} cases[] = {
    {FRAMES_SSE, "", ""},
    {FRAMES_SSE, "data: a\n\n", "|a|data: a\n\n;"},
    {FRAMES_SSE, "data: a\r\n\r\n", "|a|data: a\r\n\r\n;"},
    {FRAMES_SSE, "data: a\r\rdata: b\r\r", "|a|data: a\r\r;|b|data: b\r\r;"},
    {FRAMES_SSE, "data: a\n\rdata: b\r\n\n", "|a|data: a\n\r;|b|data: b\r\n\n;"},
    {FRAMES_SSE, "data: a\n\r\ndata: b\n\n", "|a|data: a\n\r\n;|b|data: b\n\n;"},
    {FRAMES_SSE, "data: a\r\r\ndata: b\n\n", "|a|data: a\r\r;||\n;|b|data: b\n\n;"},
    {FRAMES_SSE, "data: a\r\n\rdata: b\n\n", "|a|data: a\r\n\r;|b|data: b\n\n;"},
    {FRAMES_SSE,
     "data: a\rdata: b\ndata:c\r\ndata\n\n",
     "|a\nb\nc\n|data: a\rdata: b\ndata:c\r\ndata\n\n;"},
    {FRAMES_SSE, "data:a\n\ndata:  b\n\n", "|a|data:a\n\n;| b|data:  b\n\n;"},
    {FRAMES_SSE, "data:\n\n", "||data:\n\n;"},
    {FRAMES_SSE, "data\n\n", "||data\n\n;"},
    {FRAMES_SSE, "data\ndata\n\n", "|\n|data\ndata\n\n;"},
    {FRAMES_SSE, "event: x\ndata: a\n\n", "x|a|event: x\ndata: a\n\n;"},
    {FRAMES_SSE, "data: a\nevent: x\nevent:y\n\n", "y|a|data: a\nevent: x\nevent:y\n\n;"},
    {FRAMES_SSE, "event: x\n\ndata: a\n\n", "x||event: x\n\n;|a|data: a\n\n;"},
    {FRAMES_SSE, "event\ndata: a\n\n", "|a|event\ndata: a\n\n;"},
    {FRAMES_SSE, ": ping\n\n", "||: ping\n\n;"},
    {FRAMES_SSE, ": ping\ndata: a\n\n", "|a|: ping\ndata: a\n\n;"},
    {FRAMES_SSE, "retry: 10\nid: 4\n\n", "||retry: 10\nid: 4\n\n;"},
    {FRAMES_SSE,
     "database: a\ndata : b\n data: c\nDATA: d\n\n",
     "||database: a\ndata : b\n data: c\nDATA: d\n\n;"},
    {FRAMES_SSE, "\n\n\r\n\r", "||\n;||\n;||\r\n;||\r;"},
    {FRAMES_SSE, "data: a\n\n\n\ndata: b\n\n", "|a|data: a\n\n;||\n;||\n;|b|data: b\n\n;"},
    {FRAMES_SSE, "data: cut", "|cut|data: cut;"},
    {FRAMES_SSE, "data: cut\n", "|cut|data: cut\n;"},
    {FRAMES_SSE, "data: cut\r", "|cut|data: cut\r;"},
    {FRAMES_SSE, "data: cut\r\n\r", "|cut|data: cut\r\n\r;"},
    {FRAMES_SSE, "dat", "||dat;"},
    {FRAMES_SSE,
     "\xEF\xBB\xBF"
     "data: a\n\n",
     "||\xEF\xBB\xBF;|a|data: a\n\n;"},
    {FRAMES_SSE, "\xEF\xBB\xBF", "||\xEF\xBB\xBF;"},
    {FRAMES_SSE, "\xEF\xBB", "||\xEF\xBB;"},
    {FRAMES_SSE,
     "\xEF\xBB"
     "data: a\n\ndata: b\n\n",
     "||\xEF\xBB"
     "data: a\n\n;|b|data: b\n\n;"},
    {FRAMES_SSE,
     "\xEF\xBB\xBF\xEF\xBB\xBF"
     "data: a\n\n",
     "||\xEF\xBB\xBF;||\xEF\xBB\xBF"
     "data: a\n\n;"},
    {FRAMES_SSE,
     "data: a\n\n\xEF\xBB\xBF"
     "data: b\n\n",
     "|a|data: a\n\n;||\xEF\xBB\xBF"
     "data: b\n\n;"},
    {FRAMES_SSE,
     "data: {\"a\": 1}\n\ndata: [DONE]\n\n",
     "|{\"a\": 1}|data: {\"a\": 1}\n\n;|[DONE]|data: [DONE]\n\n;"},
    {FRAMES_LINES, "", ""},
    {FRAMES_LINES, "{}\n[1]\r\n2", "|{}|{}\n;|[1]|[1]\r\n;|2|2;"},
    {FRAMES_LINES, "\n\r\n  \n\t\r\na\n", "||\n;||\r\n;||  \n;||\t\r\n;|a|a\n;"},
    {FRAMES_LINES, "a\rb\nc\r", "|a\rb|a\rb\n;|c|c\r;"},
    {FRAMES_WHOLE, "", ""},
    {FRAMES_WHOLE, " a\r\n\r\ndata: b\n\n", "| a\r\n\r\ndata: b\n\n| a\r\n\r\ndata: b\n\n;"},
    {FRAMES_WHOLE, "\xEF\xBB\xBF\n", "|\n|\n;"},
    {FRAMES_WHOLE, "\xEF\xBB\xBF{}", "|{}|{};"},
    {FRAMES_WHOLE, "\xEF\xBB", "|\xEF\xBB|\xEF\xBB;"},
    {FRAMES_WHOLE, "\xEF\xBB\xBF", ""},
    {FRAMES_LINES,
     "\xEF\xBB\xBF{}\n\xEF\xBB\xBF\n",
     "||\xEF\xBB\xBF;|{}|{}\n;|\xEF\xBB\xBF|\xEF\xBB\xBF\n;"},
};

TEST(frames_are_what_the_cases_say_at_every_pair_of_cuts)
{
    struct buf got;

    buf_init(&got, 1 << 16);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct run r = {cases[c].kind, SIZE_MAX_HERE, str_c(cases[c].text)};

        for (size_t i = 0; i <= r.text.n; i++)
            for (size_t j = i; j <= r.text.n; j++) {
                buf_reset(&got);
                CHECK(run(r, (size_t[]){i, j}, 2, on_frame, &got));
                CHECK_F(str_eq(buf_str(&got), str_c(cases[c].frames)),
                        "case %zu cut at %zu and %zu: \"" STR_FMT "\"",
                        c,
                        i,
                        j,
                        STR_ARG(buf_str(&got)));
            }
    }
    buf_release(&got);
}

static size_t cut_everywhere(size_t cuts[], str text)
{
    for (size_t i = 0; i < text.n; i++)
        cuts[i] = i;
    return text.n;
}

TEST(frames_come_the_same_byte_by_byte_and_raws_joined_are_the_input)
{
    static const char *const bits[] = {
        "data", "event", ":", ": ", "\n", "\r", "\r\n", "x", "\n\n", "\xEF\xBB\xBF", "id: 1", " "};
    size_t cuts[256];
    struct buf text, whole, bytes, raws;
    struct rand chance;

    rand_init(&chance, 7);
    buf_init(&text, sizeof cuts / sizeof cuts[0]);
    buf_init(&whole, 1 << 16);
    buf_init(&bytes, 1 << 16);
    buf_init(&raws, 1 << 16);
    for (int round = 0; round < 20000; round++) {
        struct run r = {FRAMES_SSE, SIZE_MAX_HERE, STR("")};

        buf_reset(&text), buf_reset(&whole), buf_reset(&bytes), buf_reset(&raws);
        for (uint64_t n = rand_below(&chance, 24); n > 0; n--)
            buf_add(&text, str_c(bits[rand_below(&chance, COUNT_OF(bits))]));
        r.text = buf_str(&text);
        CHECK(run(r, NULL, 0, on_frame, &whole));
        CHECK(run(r, cuts, cut_everywhere(cuts, r.text), on_frame, &bytes));
        CHECK(str_eq(buf_str(&whole), buf_str(&bytes)));
        CHECK(run(r, NULL, 0, on_raw, &raws));
        CHECK(str_eq(buf_str(&raws), r.text));
    }
    buf_release(&text);
    buf_release(&whole);
    buf_release(&bytes);
    buf_release(&raws);
}

TEST(frames_stop_at_the_ceiling_wherever_it_is_cut)
{
    static const struct {
        enum frames_kind kind;
        size_t size_max;
        const char *text, *frames;
    } tight[] = {
        {FRAMES_SSE, 9, "data: a\n\ndata: bc\n\ndata: d\n\n", "|a|data: a\n\n;"},
        {FRAMES_SSE, 10, "data: a\n\ndata: bc\n\nx", "|a|data: a\n\n;|bc|data: bc\n\n;||x;"},
        {FRAMES_SSE, 8, "data: a\n\n", ""},
        {FRAMES_SSE, 9, "data: a\n\r\n", ""},
        {FRAMES_SSE, 9, "data: no end", ""},
        {FRAMES_LINES, 3, "ab\nabc\nd\n", "|ab|ab\n;"},
        {FRAMES_LINES, 3, "abcd", ""},
        {FRAMES_WHOLE, 3, "abcd", ""},
    };
    struct buf got;

    buf_init(&got, 1 << 16);
    for (size_t c = 0; c < COUNT_OF(tight); c++) {
        struct run r = {tight[c].kind, tight[c].size_max, str_c(tight[c].text)};

        for (size_t i = 0; i <= r.text.n; i++) {
            buf_reset(&got);
            CHECK(run(r, &i, 1, on_frame, &got) == (r.size_max == 10));
            CHECK_STR(buf_str(&got), tight[c].frames);
        }
    }
    buf_release(&got);
}

struct where {
    str piece;
    int inside, frames;
};

static void on_where(void *ctx, const struct frames_frame *frame)
{
    struct where *w = ctx;

    w->frames++;
    w->inside += frame->raw.p >= w->piece.p && frame->raw.p < w->piece.p + w->piece.n &&
                 frame->data.p >= w->piece.p && frame->data.p < w->piece.p + w->piece.n;
}

TEST(frames_that_arrive_whole_are_neither_copied_nor_held)
{
    struct where w = {STR("data: a\n\nevent: x\r\ndata: b\r\n\r\n"), 0, 0};
    struct frames f;

    frames_init(&f, FRAMES_SSE, SIZE_MAX_HERE, (struct frames_sink){on_where, &w});
    frames_feed(&f, w.piece);
    CHECK_INT(w.frames, 2);
    CHECK_INT(w.inside, 2);
    CHECK(f.held.cap == 0 && !f.data);
    frames_release(&f);
}

/* Takes all events of one letter "a" that are whole, or none if the piece begins with another. */
static size_t take_row(void *ctx, str bytes)
{
    const str one = STR("data: a\n\n");
    size_t at = 0;

    for (; str_starts(str_slice(bytes, at, bytes.n), one); at += one.n)
        buf_add(ctx, STR("|a|data: a\n\n;"));
    return at;
}

TEST(frames_in_a_row_may_be_taken_by_the_reader_at_every_cut)
{
    const str text = STR("data: a\n\ndata: a\n\ndata: b\n\n: c\n\ndata: a\n\ndata: a\ndata: a\n\n"
                         "data: a\r\n\ndata: a\n\n\ndata: a\n\ndata: a");

    for (size_t i = 0; i <= text.n; i++)
        for (size_t j = i; j <= text.n; j++) {
            struct buf want, got;

            buf_init(&want, 1 << 12);
            buf_init(&got, 1 << 12);
            for (int rows = 0; rows < 2; rows++) {
                struct frames f;

                frames_init(&f,
                            FRAMES_SSE,
                            SIZE_MAX_HERE,
                            (struct frames_sink){on_frame, rows ? &got : &want});
                if (rows)
                    frames_offer_rows(&f, take_row);
                frames_feed(&f, str_slice(text, 0, i));
                frames_feed(&f, str_slice(text, i, j));
                frames_feed(&f, str_slice(text, j, text.n));
                frames_finish(&f);
                frames_release(&f);
            }
            CHECK(want.n > 0 && str_eq(buf_str(&want), buf_str(&got)));
            buf_release(&want);
            buf_release(&got);
        }
}

TEST(frames_of_a_stream_of_bare_cr_do_not_wait_for_the_next_byte)
{
    struct buf got;
    struct frames f;

    buf_init(&got, 1 << 12);
    frames_init(&f, FRAMES_SSE, SIZE_MAX_HERE, (struct frames_sink){on_frame, &got});
    frames_feed(&f, STR("data: a\r\r"));
    CHECK_STR(buf_str(&got), "|a|data: a\r\r;");
    frames_release(&f);
    buf_release(&got);
}

/* A frame of one mebibyte in pieces of a few bytes. Scanning buffered bytes again for each piece
 * would take minutes. */
TEST(frames_take_time_in_proportion_to_the_bytes)
{
    static const char *const fill[] = {"x", "\rx", "\nx", "data:x\r\n"};
    struct buf text;
    struct where w = {STR(""), 0, 0};

    buf_init(&text, 1 << 21);
    for (size_t i = 0; i < COUNT_OF(fill); i++) {
        struct frames f;

        buf_reset(&text);
        while (text.n < 1 << 20)
            buf_add(&text, str_c(fill[i]));
        frames_init(&f, FRAMES_SSE, 1 << 21, (struct frames_sink){on_where, &w});
        for (size_t at = 0; at < text.n; at += 3)
            frames_feed(&f, str_slice(buf_str(&text), at, at + 3));
        frames_feed(&f, buf_str(&text));
        frames_finish(&f);
        frames_release(&f);
    }
    CHECK_INT(w.frames, 6); /* an empty line at the start is a frame too */
    buf_release(&text);
}

/* Feeds pieces from the loop's read buffer and pieces from elsewhere, in all combinations. */
TEST(frames_of_a_whole_body_that_is_lent_are_those_of_one_that_is_copied)
{
    static const char text[] = "{\"all\":\"of it\"}";
    const size_t n = sizeof text - 1;
    struct loop_early *held;
    struct frames f;
    struct loop *l;
    struct err e;
    size_t room;
    char *lent;

    l = loop_new(&clock_real, &e);
    CHECK_F(l, "%s", e.text);
    lent = loop_early(l, &room);
    memcpy(lent, text, n);
    loop_early_keep(l, n);
    CHECK(!loop_early_hold(l, (str){text, n}));
    for (size_t cut = 0; cut <= n; cut++)
        for (int which = 0; which < 8; which++) {
            size_t size_max = which & 4 ? n : n - 1;

            frames_init(&f, FRAMES_WHOLE, size_max, (struct frames_sink){on_frame, NULL});
            frames_lend(&f, l);
            frames_feed(&f, (str){which & 1 ? lent : text, cut});
            frames_feed(&f, (str){(which & 2 ? lent : text) + cut, n - cut});
            CHECK_STR(frames_whole(&f), size_max == n ? text : "");
            CHECK(f.full == (size_max < n));
            if (size_max == n && (cut == 0 || cut == n))
                CHECK((frames_whole(&f).p == lent) == ((cut ? which & 1 : which & 2) != 0));
            frames_release(&f);
        }
    held = loop_early_hold(l, (str){lent, n});
    CHECK(held);
    loop_early_let_go(held);
    loop_free(l);
}

TEST_MAIN(T(frames_of_a_whole_body_that_is_lent_are_those_of_one_that_is_copied),
          T(frames_are_what_the_cases_say_at_every_pair_of_cuts),
          T(frames_come_the_same_byte_by_byte_and_raws_joined_are_the_input),
          T(frames_stop_at_the_ceiling_wherever_it_is_cut),
          T(frames_that_arrive_whole_are_neither_copied_nor_held),
          T(frames_in_a_row_may_be_taken_by_the_reader_at_every_cut),
          T(frames_of_a_stream_of_bare_cr_do_not_wait_for_the_next_byte),
          T(frames_take_time_in_proportion_to_the_bytes))
