/* Frames recognised by their bytes: the output must equal that of decoding and relaying each frame.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/rand.h"
#include "wire/openai/openai.h"
#include "wire_help.h"

#define STREAMS 3000
#define FRAMES 40

/* Processes a stream, with frames recognised by their bytes or with every frame decoded. */
struct side {
    struct wire wire;
    struct feed feed;
    struct arena arena;
    struct wire_encoder en;
    struct chat_request request;
    struct notes notes;
    struct buf out;
    struct chat_event events[8];
    struct chat_usage usage; /* the last one */
    size_t n, again;
    bool touched;
    uint64_t policy;
};

/* Changes an event as a pipe may: hides it, truncates it, turns it into reasoning. The choice
 * depends on the text, so both sides make the same one. */
static void on_event(void *ctx, const struct chat_event *ev)
{
    struct side *s = ctx;
    struct chat_event out = *ev;
    unsigned way = (unsigned)(s->policy >> (4 * (ev->text.n % 8))) & 7;

    note(&s->notes, ev);
    out.node = NULL;
    if (ev->kind == CHAT_USAGE) { /* valid only during the call */
        s->usage = *ev->usage;
        out.usage = &s->usage;
    }
    if (ev->kind == CHAT_TEXT || ev->kind == CHAT_REASONING) {
        s->touched |= way != 0 && way < 5;
        if (way == 1)
            return;
        if (way == 2)
            out.kind = CHAT_REASONING;
        if (way == 3)
            out.text = str_slice(out.text, 0, out.text.n / 2);
        if (way == 4)
            s->events[s->n++] = out; /* twice */
    }
    if (s->n < COUNT_OF(s->events))
        s->events[s->n++] = out;
}

static void on_frame(void *ctx, const struct wire_frame *f)
{
    struct side *s = ctx;

    s->again += f->again != NULL;
    wire_relay(&s->en, f, s->events, s->n, s->touched);
    buf_add(&s->out, STR("|"));
    s->n = 0;
    s->touched = false;
}

static void side_init(struct side *s, bool echo, uint64_t policy)
{
    memset(s, 0, sizeof *s);
    s->wire = wire_openai;
    s->wire.again = echo ? openai_again : NULL;
    s->policy = policy;
    s->request.model = STR("asked");
    arena_init(&s->arena, HELP_SIZE_MAX);
    buf_init(&s->out, HELP_SIZE_MAX);
    notes_init(&s->notes);
    wire_decoder_init(&s->feed.d, &s->wire, &s->arena, (struct chat_sink){on_event, s});
    wire_encoder_init(&s->en, &s->wire, &s->request, true, &s->arena, &s->out);
    s->feed.after = on_frame;
    s->feed.ctx = s;
}

static void side_release(struct side *s)
{
    wire_decoder_release(&s->feed.d);
    notes_release(&s->notes);
    buf_release(&s->out);
    arena_release(&s->arena);
}

/* Both outputs must be the same. Returns the number of frames recognised by their bytes. */
static size_t compare(str stream, uint64_t policy, size_t piece)
{
    struct side with, without;
    size_t again;

    side_init(&with, true, policy);
    side_init(&without, false, policy);
    feed_bytes(&with.feed, stream, FRAMES_SSE, piece);
    feed_bytes(&without.feed, stream, FRAMES_SSE, piece);
    CHECK_INT(without.again, 0);
    CHECK_F(str_eq(buf_str(&with.notes.all), buf_str(&without.notes.all)),
            "of " STR_FMT "\n" STR_FMT "\n\n" STR_FMT,
            STR_ARG(stream),
            STR_ARG(buf_str(&with.notes.all)),
            STR_ARG(buf_str(&without.notes.all)));
    CHECK_F(str_eq(buf_str(&with.out), buf_str(&without.out)),
            "of " STR_FMT "\n" STR_FMT "\n\n" STR_FMT,
            STR_ARG(stream),
            STR_ARG(buf_str(&with.out)),
            STR_ARG(buf_str(&without.out)));
    again = with.again;
    side_release(&with);
    side_release(&without);
    return again;
}

/* ---- streams of all kinds ---- */

static const char *pick(struct rand *r, const char *const *list, size_t n)
{
    return list[rand_below(r, n)];
}

static void add_text(struct rand *r, struct buf *b)
{
    static const char *const texts[] = {
        "a",
        " word",
        "the same",
        "\\n",
        "\\\"",
        "caf\xc3\xa9",
        "\\u00e9t\\u00e9",
        "",
        "<",
        "</think>",
        "\xff",
        "\",\"x\":\"",
        "a\",\"content\":\"b",
        "\\",
        "\\ud800",
        "tab\t",
        "0",
        "a b c d ",
        "{\\\"a\\\": 1}",
        "null",
    };

    buf_add(b, str_c(rand_below(r, 4) ? texts[rand_below(r, 3)] : pick(r, texts, COUNT_OF(texts))));
}

/* The bytes around the texts of a stream: most hosts write all frames in the same form. */
struct shape {
    const char *head, *delta, *close, *tail;
};

static const char *const heads[] = {
    "{\"id\":\"r\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":",
    "{\"id\":\"r\",\"usage\":null,\"choices\": ",
    " { \"choices\" : ",
    "{\"id\":\"r\",\"note\":\"\\u0041\",\"choices\":",
    "{\"id\":\"r\",\ndata: \"model\":\"m\",\"choices\":",
};
static const char *const deltas[] = {
    "[{\"index\":0,\"delta\":{\"content\":\"",
    "[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"",
    "[{\"index\":0,\"delta\":{\"reasoning_content\":\"",
    "[{\"index\":0,\"delta\":{\"reasoning\":\"same\",\"reasoning_content\":\"",
    "[{\"index\":1,\"delta\":{\"content\":\"",
    "[{\"delta\":{\"content\":null,\"reasoning\":\"",
    "[{\"index\":0,\"delta\":{\"refusal\":\"",
    "[{\"index\":0,\"text\":\"",
    "[{\"index\":0,\"delta\":{\"content\":\"x\"}},{\"index\":1,\"delta\":{\"content\":\"",
    "[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"",
    ("[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":"
     "\"f\",\"arguments\":\""),
};
static const char *const closes[] = {
    "\"},\"finish_reason\":null}]",
    "\"},\"logprobs\":null,\"finish_reason\":null}]",
    "\",\"annotations\":[1]}}]",
    "\"},\"finish_reason\":\"stop\"}]",
    "\"}}]",
    "\"}]}}]",
    "\"}}]}}]",
    "\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"t\"}]}}]",
};
static const char *const tails[] = {
    "}",
    ",\"usage\":null}",
    ", \"usage\": {\"prompt_tokens\":1,\"completion_tokens\":2}}",
    ",\"x_groq\":{\"id\":\"q\"}}",
    "\ndata: }",
};

static void shape_pick(struct rand *r, struct shape *s)
{
    bool usual = rand_below(r, 3) != 0;

    *s = (struct shape){pick(r, heads, COUNT_OF(heads)),
                        pick(r, deltas, usual ? 4 : COUNT_OF(deltas)),
                        pick(r, closes, usual ? 3 : COUNT_OF(closes)),
                        pick(r, tails, usual ? 2 : COUNT_OF(tails))};
}

static void add_stream(struct rand *r, struct buf *b)
{
    struct shape s;

    shape_pick(r, &s);
    for (size_t i = 0; i < FRAMES; i++) {
        if (rand_below(r, 12) == 0)
            shape_pick(r, &s);
        if (rand_below(r, 20) == 0)
            buf_add(b, STR(": alive\n\n"));
        if (rand_below(r, 40) == 0)
            buf_add(b, STR("event: error\n"));
        buf_add(b, STR("data: "));
        buf_add(b, str_c(s.head));
        buf_add(b, str_c(s.delta));
        add_text(r, b);
        buf_add(b, str_c(s.close));
        buf_add(b, str_c(s.tail));
        buf_add(b, STR("\n\n"));
    }
    buf_add(b, STR("data: [DONE]\n\n"));
}

TEST(frames_known_by_their_bytes_say_what_decoding_says)
{
    static const size_t pieces[] = {0, 1, 7, 100};
    struct rand r;
    size_t again = 0;

    rand_init(&r, 7);
    for (size_t i = 0; i < STREAMS; i++) {
        struct buf b;

        buf_init(&b, HELP_SIZE_MAX);
        add_stream(&r, &b);
        again += compare(buf_str(&b), i % 3 ? rand_u64(&r) : 0, pieces[i % COUNT_OF(pieces)]);
        buf_release(&b);
    }
    CHECK_F(again > STREAMS * FRAMES / 20, "only %zu frames came again", again);
}

#define FRAME(text)                                                                                \
    "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text                 \
    "\"},\"finish_reason\":null}]}\n\n"

TEST(every_frame_but_the_first_two_is_known)
{
    CHECK_INT(compare(STR(FRAME("a") FRAME("b") FRAME("c") FRAME("\\nd") FRAME("e")), 0, 0), 3);
}

TEST(a_text_that_ends_its_string_is_no_text)
{
    CHECK_INT(compare(STR(FRAME("a") FRAME("b") FRAME("c\",\"refusal\":\"d")), 0, 0), 0);
    CHECK_INT(compare(STR(FRAME("a") FRAME("b") FRAME("\\")), 0, 0), 0);
    CHECK_INT(compare(STR(FRAME("a") FRAME("b") FRAME("")), 0, 0), 0);
    CHECK_INT(compare(STR(FRAME("a") FRAME("b") FRAME("\xc3")), 0, 0), 0);
}

TEST(what_must_go_back_is_kept_of_all_frames)
{
    static const char thought[] =
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"%zu "
        "\"}}]}\n\n";
    struct side s;
    struct buf b;

    buf_init(&b, HELP_SIZE_MAX);
    for (size_t i = 0; i < 9; i++)
        buf_printf(&b, thought, i);
    buf_add(&b,
            STR("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":"
                "\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":"
                "\"tool_calls\"}]}\n\ndata: [DONE]\n\n"));
    side_init(&s, true, 0);
    feed_bytes(&s.feed, buf_str(&b), FRAMES_SSE, 0);
    CHECK_INT(s.again, 7);
    CHECK_HAS(buf_str(&s.notes.all), "reasoning_content: \"0 1 2 3 4 5 6 7 8 \"");
    side_release(&s);
    buf_release(&b);
}

TEST_MAIN(T(frames_known_by_their_bytes_say_what_decoding_says),
          T(every_frame_but_the_first_two_is_known), T(a_text_that_ends_its_string_is_no_text),
          T(what_must_go_back_is_kept_of_all_frames))
