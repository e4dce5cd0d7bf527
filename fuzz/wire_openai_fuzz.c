/* Replies in the dialects of OpenAI, Mistral and Cohere: the result is the same for every cut,
 * nothing follows an end, and the client's form of a reply reads as the same reply.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/frames.h"
#include "wire/internal.h"

#define LIMIT ((size_t)64 << 20)
#define EVENTS_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
    struct buf lines, text, thought, calls;
    struct wire_decoder d;
    struct wire_encoder *tell[2], *relay;
    struct chat_event events[EVENTS_MAX];
    size_t n;
    bool over, failed;
};

static void on_event(void *ctx, const struct chat_event *ev)
{
    struct run *r = ctx;

    assert(!r->over && ev->text.n < LIMIT);
    r->over = ev->kind == CHAT_END || ev->kind == CHAT_ERROR;
    r->failed = r->failed || ev->kind == CHAT_ERROR;
    buf_printf(&r->lines, "%d %u.%u %d ", (int)ev->kind, ev->choice, ev->block, (int)ev->stop);
    buf_add(&r->lines, ev->text);
    buf_add_c(&r->lines, '\n');
    if (ev->kind == CHAT_TEXT && ev->choice == 0)
        buf_add(&r->text, ev->text);
    if (ev->kind == CHAT_REASONING && ev->choice == 0)
        buf_add(&r->thought, ev->text);
    if (ev->kind == CHAT_CALL && ev->choice == 0) {
        buf_add(&r->calls, ev->id);
        buf_add(&r->calls, ev->name);
    }
    for (size_t i = 0; i < COUNT_OF(r->tell); i++)
        if (r->tell[i])
            wire_encode(r->tell[i], ev);
    if (r->n < EVENTS_MAX) {
        r->events[r->n] = *ev;
        r->events[r->n].usage = NULL;
        r->events[r->n].error = NULL;
        r->n += ev->kind != CHAT_USAGE && ev->kind != CHAT_ERROR;
    }
}

static void on_frame(void *ctx, const struct frames_frame *frame)
{
    struct run *r = ctx;
    struct wire_frame f = {.name = frame->name, .data = frame->data, .raw = frame->raw};

    r->n = 0;
    wire_decode(&r->d, &f);
    if (r->relay)
        wire_relay(r->relay, &f, r->events, r->n, true);
}

static struct run *run_new(const struct wire *w, struct arena *a)
{
    struct run *r = calloc(1, sizeof *r);

    buf_init(&r->lines, LIMIT);
    buf_init(&r->text, LIMIT);
    buf_init(&r->thought, LIMIT);
    buf_init(&r->calls, LIMIT);
    wire_decoder_init(&r->d, w, a, (struct chat_sink){on_event, r});
    return r;
}

static void run_free(struct run *r)
{
    wire_decoder_release(&r->d);
    buf_release(&r->lines);
    buf_release(&r->text);
    buf_release(&r->thought);
    buf_release(&r->calls);
    free(r);
}

static void feed(struct run *r, str input, size_t piece, bool whole)
{
    struct frames fr;

    if (whole) {
        struct wire_frame f = {.name = STR(""), .data = input, .raw = input};

        wire_decode_whole(&r->d, &f);
        if (r->relay)
            wire_relay(r->relay, &f, r->events, r->n, true);
        return;
    }
    frames_init(&fr, FRAMES_SSE, LIMIT, (struct frames_sink){on_frame, r});
    for (size_t at = 0; at < input.n; at += piece)
        frames_feed(&fr, str_slice(input, at, at + piece));
    frames_finish(&fr);
    frames_release(&fr);
    wire_decode_end(&r->d);
}

/* The encoded reply has the same events. */
static void check(const struct run *want, struct buf *reported, bool stream)
{
    struct arena a;
    struct run *r;

    arena_init(&a, LIMIT * 8);
    r = run_new(&wire_openai, &a);
    feed(r, buf_str(reported), reported->n + 1, !stream);
    assert(r->failed == want->failed);
    if (!want->failed || stream) {
        assert(str_eq(buf_str(&r->text), buf_str(&want->text)));
        assert(str_eq(buf_str(&r->thought), buf_str(&want->thought)));
    }
    if (!want->failed)
        assert(str_eq(buf_str(&r->calls), buf_str(&want->calls)));
    run_free(r);
    arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct wire *const wires[] = {&wire_openai, &wire_mistral, &wire_cohere};
    struct chat_request request = {.model = STR("m"), .stream_usage = true};
    struct wire_encoder en[3];
    struct buf out[3];
    const struct wire *w;
    struct run *r, *cut;
    struct arena a;
    bool whole;
    str input;

    if (size < 2)
        return 0;
    w = wires[data[0] % 3];
    whole = data[0] >= 128;
    input = (str){(const char *)data + 2, size - 2};
    arena_init(&a, LIMIT * 16);
    for (size_t i = 0; i < 3; i++) {
        buf_init(&out[i], LIMIT);
        wire_encoder_init(
            &en[i], &wire_openai, &request, i == 0 || (i == 2 && !whole), &a, &out[i]);
    }
    r = run_new(w, &a);
    r->tell[0] = &en[0];
    r->tell[1] = &en[1];
    if (w == &wire_openai)
        r->relay = &en[2];
    feed(r, input, input.n + 1, whole);
    assert(r->over);
    cut = run_new(w, &a);
    feed(cut, input, (size_t)data[1] + 1, whole);
    assert(str_eq(buf_str(&r->lines), buf_str(&cut->lines)));
    check(r, &out[0], true);
    check(r, &out[1], false);
    run_free(cut);
    run_free(r);
    for (size_t i = 0; i < 3; i++)
        buf_release(&out[i]);
    arena_release(&a);
    return 0;
}
