/* defer_test.c - frames whose text may begin with a marker are passed on unchanged, or split.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/defer.h"

#include "test.h"

struct run {
    struct wire_decoder decoder;
    struct wire_encoder encoder;
    struct chat_request request;
    struct pipe pipe;
    struct defer *deferred;
    struct arena arena;
    struct buf in, out;
    size_t given, delivered, waited; /* frames; maximum buffered at once */
    bool defers, ended;
};

static void feed_pipe(void *ctx, const struct chat_event *ev)
{
    struct run *r = ctx;

    r->ended |= ev->kind == CHAT_END;
    pipe_feed(&r->pipe, ev);
}

static void on_event(void *ctx, const struct chat_event *ev)
{
    struct run *r = ctx;

    if (r->defers && !r->deferred && defer_starts(&r->pipe, ev))
        r->deferred = defer_new(&r->pipe, &r->decoder);
    if (r->deferred)
        defer_add_event(r->deferred, ev);
    else
        feed_pipe(r, ev);
}

static void begin(struct run *r, const struct wire *w, bool defers, bool hide)
{
    *r = (struct run){.defers = defers};
    arena_init(&r->arena, 1 << 24);
    buf_init(&r->in, 1 << 24);
    buf_init(&r->out, 1 << 24);
    r->request.model = STR("m");
    wire_decoder_init(&r->decoder, w, &r->arena, (struct chat_sink){on_event, r});
    wire_encoder_init(&r->encoder, w, &r->request, true, &r->arena, &r->out);
    pipe_init(&r->pipe,
              &(struct pipe_options){.format = split_format_auto(),
                                     .hide = hide,
                                     .as_it_is = true,
                                     .cap = -1,
                                     .id = STR("x"),
                                     .vocab = tokens_vocab_find(STR("o200k_base"))},
              &r->arena);
}

static void end(struct run *r)
{
    assert_null(r->deferred);
    pipe_release(&r->pipe);
    wire_decoder_release(&r->decoder);
    arena_release(&r->arena);
    buf_release(&r->in);
    buf_release(&r->out);
}

static void deliver(struct run *r, const struct wire_frame *f)
{
    if (r->ended)
        pipe_flush(&r->pipe);
    r->delivered++;
    wire_relay(&r->encoder, f, r->pipe.events, r->pipe.count, r->pipe.touched);
}

static void give(struct run *r, str data)
{
    struct wire_frame f = {.name = STR(""), .data = data};
    size_t at = r->in.n;
    char *raw;

    buf_printf(&r->in, "data: " STR_FMT "\n\n", STR_ARG(data));
    raw = base_alloc(r->in.n - at);
    memcpy(raw, r->in.p + at, r->in.n - at);
    f.raw = (str){raw, r->in.n - at};
    f.data = str_slice(f.raw, 6, f.raw.n - 2);
    pipe_begin(&r->pipe);
    wire_decode(&r->decoder, &f);
    if (!r->deferred) {
        deliver(r, &f);
    } else if (defer_add_frame(r->deferred, &f)) {
        memset(raw, '#', f.raw.n); /* valid only during the call: buffered frames are copies */
        while (defer_next(r->deferred, &f)) {
            defer_feed(r->deferred, (struct chat_sink){feed_pipe, r});
            deliver(r, &f);
        }
        defer_free(r->deferred);
        r->deferred = NULL;
    }
    r->given++;
    if (r->given - r->delivered > r->waited)
        r->waited = r->given - r->delivered;
    free(raw);
}

static void chunk(struct run *r, const char *members, unsigned choice, str text)
{
    struct buf data;

    buf_init(&data, 1 << 24);
    buf_printf(&data, "{\"id\":\"c\", \"choices\":[{\"index\":%u,\"delta\":{%s", choice, members);
    buf_add(&data, STR("\"content\": "));
    (void)json_quote(&data, text);
    buf_add(&data, STR("},\"odd\":1.50}]}"));
    give(r, buf_str(&data));
    buf_release(&data);
}

/* Bit i of `cuts`: a frame ends after byte i of the text, unless that splits a character. */
static void give_text(struct run *r, str text, uint64_t cuts)
{
    size_t from = 0;

    for (size_t i = 0; i < text.n; i++) {
        bool last = i + 1 == text.n;

        if (!last && (!(i < 64 && cuts >> i & 1) || ((uint8_t)text.p[i + 1] & 0xC0) == 0x80))
            continue;
        chunk(r, from ? "" : "\"role\":\"assistant\",", 0, str_slice(text, from, i + 1));
        from = i + 1;
    }
    give(r,
         STR("{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}"));
    give(r, STR("[DONE]"));
}

static void check_plain(str text, uint64_t cuts, bool hide)
{
    struct run r;

    begin(&r, wire_get(CHAT_OPENAI), true, hide);
    give_text(&r, text, cuts);
    CHECK_F(str_eq(buf_str(&r.out), buf_str(&r.in)),
            "in\n" STR_FMT "out\n" STR_FMT,
            STR_ARG(buf_str(&r.in)),
            STR_ARG(buf_str(&r.out)));
    CHECK_INT(r.delivered, r.given);
    CHECK_INT(r.pipe.cap.answer_size, text.n);
    CHECK(!pipe_may_split(&r.pipe) && !r.pipe.ever_touched);
    end(&r);
}

/* The client gets the same bytes with deferred frames as without. */
static void check_marked(str text, uint64_t cuts, bool hide)
{
    struct run with, without;

    begin(&with, wire_get(CHAT_OPENAI), true, hide);
    begin(&without, wire_get(CHAT_OPENAI), false, hide);
    give_text(&with, text, cuts);
    give_text(&without, text, cuts);
    CHECK_F(str_eq(buf_str(&with.out), buf_str(&without.out)),
            "with\n" STR_FMT "without\n" STR_FMT,
            STR_ARG(buf_str(&with.out)),
            STR_ARG(buf_str(&without.out)));
    CHECK_INT(with.pipe.reasoning.size, without.pipe.reasoning.size);
    CHECK(with.pipe.reasoning.size > 0 && with.pipe.cap.answered);
    CHECK(!hide || str_find(buf_str(&with.out), STR("qq")) == STR_NONE);
    end(&with);
    end(&without);
}

/* Every division of a short text. Of a long text: every division of its first bytes, with the rest
 * in one frame or in one frame per byte. */
static void each_cut(str text, void (*check)(str text, uint64_t cuts, bool hide))
{
    uint64_t n = (uint64_t)1 << (text.n > 9 ? 9 : text.n - 1);

    for (uint64_t cuts = 0; cuts < n; cuts++)
        for (int hide = 0; hide < 2; hide++) {
            check(text, cuts, hide);
            check(text, cuts | UINT64_MAX << 9, hide);
        }
}

TEST(a_text_without_a_marker_passes_in_the_frames_it_came_in)
{
    static const char *const texts[] = {"[1]",
                                        "[",
                                        "\n\nHello",
                                        "<html>",
                                        "<thin",
                                        "  ",
                                        "[THINK",
                                        " <|chan",
                                        "\xE2\x97\x81ok",
                                        "Hello",
                                        "Hello [THINK]",
                                        "\"\\[",
                                        " \t<thin\n"};

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        each_cut(str_c(texts[i]), check_plain);
}

TEST(a_text_with_a_marker_is_split_as_if_no_frame_had_waited)
{
    static const char *const texts[] = {"[THINK]qq[/THINK]a",
                                        "<think>qq</think>a",
                                        "\n <think>qq</think>\na",
                                        "<thinking>qq</thinking>a",
                                        "\xE2\x97\x81think\xE2\x96\xB7qq"
                                        "\xE2\x97\x81/think\xE2\x96\xB7"
                                        "a"};

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        each_cut(str_c(texts[i]), check_marked);
}

TEST(a_text_that_decides_at_once_does_not_wait)
{
    struct run r;

    begin(&r, wire_get(CHAT_OPENAI), true, false);
    chunk(&r, "", 0, STR(""));
    chunk(&r, "", 0, STR("Hello"));
    chunk(&r, "", 0, STR("["));
    CHECK_INT(r.waited, 0);
    CHECK_INT(r.delivered, 3);
    end(&r);
}

TEST(another_event_of_the_choice_decides)
{
    static const char *const deltas[] = {"\"reasoning_content\":\"hm\"",
                                         "\"refusal\":\"no\"",
                                         ("\"tool_calls\":[{\"index\":0,\"id\":\"i\",\"function\":"
                                          "{\"name\":\"f\",\"arguments\":\"{}\"}}]")};

    for (size_t i = 0; i < COUNT_OF(deltas); i++) {
        struct run r;
        struct buf data;

        buf_init(&data, 4096);
        buf_printf(&data, "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{%s}}]}", deltas[i]);
        begin(&r, wire_get(CHAT_OPENAI), true, false);
        chunk(&r, "", 0, STR("\n"));
        CHECK_INT(r.delivered, 0);
        give(&r, buf_str(&data));
        CHECK_INT(r.delivered, 2);
        CHECK(str_eq(buf_str(&r.out), buf_str(&r.in)));
        end(&r);
        buf_release(&data);
    }
}

TEST(choices_decide_for_themselves_and_all_frames_stay_in_order)
{
    struct run r;

    begin(&r, wire_get(CHAT_OPENAI), true, true);
    chunk(&r, "", 1, STR("<"));
    chunk(&r, "", 0, STR("["));
    chunk(&r, "", 2, STR("yes"));
    chunk(&r, "", 0, STR("1]"));
    CHECK_INT(r.delivered, 0);
    chunk(&r, "", 1, STR("b>"));
    CHECK_INT(r.delivered, 5);
    CHECK(str_eq(buf_str(&r.out), buf_str(&r.in)));
    chunk(&r, "", 3, STR("<think>"));
    chunk(&r, "", 3, STR("qq"));
    chunk(&r, "", 0, STR("<think>"));
    CHECK_INT(r.delivered, 8);
    CHECK(str_find(buf_str(&r.out), STR("qq")) == STR_NONE);
    end(&r);
}

/* If a text is still undecided at these limits, the pipe buffers its beginning. */
TEST(frames_wait_up_to_a_number_and_a_size)
{
    static const size_t sizes[] = {10, 5000};

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct run r;
        char *text = base_alloc(sizes[i]);

        memset(text, 'x', sizes[i]);
        begin(&r, wire_get(CHAT_OPENAI), true, true);
        chunk(&r, "", 0, STR("<thin"));
        for (size_t k = 0; k < 200; k++)
            chunk(&r, "", 1, (str){text, sizes[i]});
        CHECK_INT(r.delivered, 201);
        CHECK_F(r.waited < DEFER_FRAMES_MAX && r.waited > 1, "%zu waited", r.waited);
        CHECK(r.waited * sizes[i] <= DEFER_SIZE_MAX);
        chunk(&r, "", 0, STR("k>qq</think>fine"));
        CHECK(str_find(buf_str(&r.out), STR("qq")) == STR_NONE);
        CHECK(str_find(buf_str(&r.out), STR("fine")) != STR_NONE);
        end(&r);
        free(text);
    }
}

TEST_MAIN(T(a_text_without_a_marker_passes_in_the_frames_it_came_in),
          T(a_text_with_a_marker_is_split_as_if_no_frame_had_waited),
          T(a_text_that_decides_at_once_does_not_wait), T(another_event_of_the_choice_decides),
          T(choices_decide_for_themselves_and_all_frames_stay_in_order),
          T(frames_wait_up_to_a_number_and_a_size))
