/* pipe_memory_test.c - the memory of a reply, also with very many parts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/pipe/pipe.h"

#include "test.h"

struct run {
    struct pipe pipe;
    struct arena arena;
};

static void begin(struct run *r, const struct pipe_options *o)
{
    struct pipe_options full = *o;

    full.vocab = tokens_vocab_find(STR("o200k_base"));
    full.id = STR("x");
    arena_init(&r->arena, 1 << 24);
    pipe_init(&r->pipe, &full, &r->arena);
}

static void end(struct run *r)
{
    pipe_release(&r->pipe);
    arena_release(&r->arena);
}

/* A gateway has a thousand open streams, so each must hold little while it is ordinary. */
TEST(a_stream_takes_little_memory)
{
    struct pipe_options o = {.format = split_format_find(STR("think")), .cap = -1, .id = STR("x")};
    struct chat_event ev = {CHAT_TEXT, .text = STR("<think>"), .id = STR(""), .name = STR("")};
    struct arena a;
    struct pipe p;

    o.vocab = tokens_vocab_find(STR("o200k_base"));
    arena_init(&a, (size_t)1 << 20);
    pipe_init(&p, &o, &a);
    for (int i = 0; i < 100; i++) {
        pipe_begin(&p);
        pipe_feed(&p, &ev);
        ev.text = STR("two walls and the wind ");
    }
    CHECK_F(p.reasoning.size == 99 * 23 - 1 && a.size <= 3072, "%zu", a.size);
    pipe_release(&p);
    arena_release(&a);
}

TEST(a_frame_of_many_texts_takes_memory_in_proportion_to_them)
{
    char text[100];
    struct run r;

    memset(text, 'x', sizeof text);
    begin(&r, &(struct pipe_options){.hide = true, .cap = -1});
    pipe_begin(&r.pipe);
    for (uint32_t i = 0; i < 4096; i++)
        pipe_feed(&r.pipe,
                  &(struct chat_event){.kind = CHAT_TEXT,
                                       .block = i,
                                       .text = {text, sizeof text},
                                       .id = STR(""),
                                       .name = STR("")});
    CHECK_INT(r.pipe.count, 4096);
    CHECK_F(r.pipe.frame.size < 8 << 20, "%zu", r.pipe.frame.size);
    end(&r);
}

/* Feeds `count` copies of the text as one event. */
static void feed_often(struct run *r, const char *front, const char *text, size_t count)
{
    struct buf all;

    buf_init(&all, 1 << 24);
    buf_add(&all, str_c(front));
    while (count-- > 0)
        buf_add(&all, str_c(text));
    pipe_begin(&r->pipe);
    pipe_feed(&r->pipe,
              &(struct chat_event){
                  .kind = CHAT_TEXT, .text = buf_str(&all), .id = STR(""), .name = STR("")});
    buf_release(&all);
}

TEST(a_frame_of_too_many_events_is_full_and_keeps_the_first_ones)
{
    struct pipe_options o = {.format = split_format_find(STR("thinking")), .cap = -1};
    struct run r;

    begin(&r, &o);
    feed_often(&r, "", "<thinking>a</thinking>b\n\n", 1000);
    CHECK(!r.pipe.full && r.pipe.count >= 1999);
    feed_often(&r, "", "<thinking>a</thinking>b\n\n", 60000);
    CHECK(r.pipe.full && r.pipe.count < 120000);
    for (size_t i = 1; i < r.pipe.count; i++)
        CHECK(r.pipe.events[i].kind != r.pipe.events[i - 1].kind);
    end(&r);
}

TEST(texts_in_doubt_share_their_memory)
{
    struct pipe_options o = {.format = split_format_find(STR("think")), .cap = -1, .hide = true};
    struct run r;

    begin(&r, &o);
    feed_often(&r, "<think>\n```\n", "x</think>", 20000);
    CHECK_F(r.arena.size < 1 << 20, "%zu", r.arena.size);
    end(&r);
}

TEST_MAIN(T(a_stream_takes_little_memory),
          T(a_frame_of_many_texts_takes_memory_in_proportion_to_them),
          T(a_frame_of_too_many_events_is_full_and_keeps_the_first_ones),
          T(texts_in_doubt_share_their_memory))
