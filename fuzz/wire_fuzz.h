/* wire_fuzz.h - arbitrary bytes as a reply of a dialect, whole and as a stream, and as a request.
 *
 * The first byte chooses; the rest is the input. The events are the same for every cut, an
 * untouched relay returns the input, encoded replies can be read without an error, an accepted
 * request can be written and read again, and a patched body is JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/frames.h"
#include "wire/wire.h"

#define FUZZ_SIZE_MAX ((size_t)64 << 20)

struct fuzz {
    struct arena arena;
    struct wire_decoder d;
    struct wire_encoder relay, encode;
    struct buf events, relayed, encoded;
    struct chat_request request;
    bool stream, ended, dropped;
    unsigned hide; /* leaves out some events of the relay */
    struct chat_event kept[256];
    size_t count;
};

static void fuzz_on_event(void *ctx, const struct chat_event *ev)
{
    struct fuzz *z = ctx;

    assert(!z->ended);
    assert(ev->text.p || !ev->text.n);
    if (ev->kind != CHAT_TEXT && ev->kind != CHAT_REASONING && ev->kind != CHAT_ARGUMENTS)
        buf_printf(&z->events, "%d:", (int)ev->kind);
    if (ev->text.p)
        buf_add(&z->events, ev->text);
    z->ended = ev->kind == CHAT_END || ev->kind == CHAT_ERROR;
    if (z->count < COUNT_OF(z->kept))
        z->kept[z->count++] = *ev;
    else
        z->dropped = true;
    wire_encode(&z->encode, ev);
}

static void fuzz_on_frame(void *ctx, const struct frames_frame *frame)
{
    struct fuzz *z = ctx;
    struct wire_frame f = {.name = frame->name, .data = frame->data, .raw = frame->raw};
    size_t n = 0;

    z->count = 0;
    if (z->stream)
        wire_decode(&z->d, &f);
    else
        wire_decode_whole(&z->d, &f);
    for (size_t i = 0; i < z->count; i++)
        if (!(z->hide >> (z->kept[i].kind & 31) & 1))
            z->kept[n++] = z->kept[i];
    wire_relay(&z->relay, &f, z->kept, n, n != z->count);
}

static void fuzz_run(struct fuzz *z, const struct wire *w, str bytes, size_t piece)
{
    bool lines = w->stream_framing == WIRE_NDJSON;
    struct frames f;

    arena_init(&z->arena, FUZZ_SIZE_MAX);
    buf_init(&z->events, FUZZ_SIZE_MAX);
    buf_init(&z->relayed, FUZZ_SIZE_MAX);
    buf_init(&z->encoded, FUZZ_SIZE_MAX);
    z->request = (struct chat_request){.model = STR("m"), .budget_tokens = -1};
    wire_decoder_init(&z->d, w, &z->arena, (struct chat_sink){fuzz_on_event, z});
    wire_encoder_init(&z->relay, w, &z->request, z->stream, &z->arena, &z->relayed);
    wire_encoder_init(&z->encode, w, &z->request, z->stream, &z->arena, &z->encoded);
    frames_init(&f,
                !z->stream ? FRAMES_WHOLE
                : lines    ? FRAMES_LINES
                           : FRAMES_SSE,
                FUZZ_SIZE_MAX,
                (struct frames_sink){fuzz_on_frame, z});
    for (size_t at = 0; at < bytes.n; at += piece)
        frames_feed(&f, str_slice(bytes, at, at + piece));
    frames_finish(&f);
    if (z->stream)
        wire_decode_end(&z->d);
    frames_release(&f);
}

static void fuzz_release(struct fuzz *z)
{
    wire_decoder_release(&z->d);
    buf_release(&z->events);
    buf_release(&z->relayed);
    buf_release(&z->encoded);
    arena_release(&z->arena);
}

/* The next call continues where the frames ended. */
static void fuzz_go_on(struct fuzz *z)
{
    static const struct chat_event more[] = {
        {.kind = CHAT_TEXT, .block = 9, .text = {"x", 1}, .id = {"", 0}, .name = {"", 0}},
        {.kind = CHAT_STOP, .text = {"", 0}, .id = {"", 0}, .name = {"", 0}},
        {.kind = CHAT_END, .text = {"", 0}, .id = {"", 0}, .name = {"", 0}},
    };

    for (size_t i = 0; i < COUNT_OF(more); i++)
        wire_encode(&z->relay, &more[i]);
}

static void fuzz_reply(const struct wire *w, str bytes, bool stream, unsigned hide)
{
    static struct fuzz a, b, c;

    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    memset(&c, 0, sizeof c);
    a.stream = b.stream = c.stream = stream;
    b.hide = hide;
    fuzz_run(&a, w, bytes, bytes.n ? bytes.n : 1);
    fuzz_run(&b, w, bytes, 3);
    assert(str_eq(buf_str(&a.events), buf_str(&b.events)));
    fuzz_go_on(&b);
    fuzz_run(&c, w, buf_str(&a.encoded), 1000);
    if (!a.encode.failed && a.ended && buf_str(&a.encoded).n)
        assert(c.ended && !c.encode.failed);
    fuzz_release(&a);
    fuzz_release(&b);
    fuzz_release(&c);
}

static size_t fuzz_find(void *ctx, str id, struct wire_kept *out, size_t n_max)
{
    (void)ctx;
    (void)n_max;
    out[0] = (struct wire_kept){.name = STR("reasoning_item"), .text = STR("{\"id\":\"r\"}")};
    return id.n & 1;
}

static void fuzz_patch(const struct wire *w, const struct json *doc, struct arena *a, unsigned bits)
{
    struct wire_vault vault = {.find = fuzz_find};
    struct wire_tail tail = {.role = CHAT_USER, .text = STR("t"), .reasoning = STR("")};
    struct wire_plan plan = {.model = STR("x"),
                             .set_stream = true,
                             .system_extra = bits & 1 ? STR("s") : STR(""),
                             .temperature = STR("1"),
                             .top_p = STR("1"),
                             .max_tokens = bits & 2 ? STR("5") : STR(""),
                             .set_level = bits & 4,
                             .level = CHAT_LEVEL_HIGH,
                             .budget_tokens = -1,
                             .drop_reasoning = bits & 8,
                             .merge = STR("{\"a\":{\"b\":1}}"),
                             .tails = &tail,
                             .tail_count = bits >> 4 & 1,
                             .drop_tools = bits & 32,
                             .vault = &vault,
                             .foreign_kept = bits & 64};
    struct json_edits ed;
    struct json again;
    struct buf out;
    struct err e;

    buf_init(&out, FUZZ_SIZE_MAX);
    json_edits_init(&ed, doc, a);
    w->patch(doc, &plan, &ed);
    json_edits_apply(&ed, &out);
    json_init(&again);
    assert(json_parse(&again, buf_str(&out), &e));
    json_release(&again);
    buf_release(&out);
}

static void fuzz_request(const struct wire *w, str bytes, unsigned bits)
{
    struct chat_request q;
    struct arena a;
    struct json doc, again;
    struct buf out;
    struct err e;

    arena_init(&a, FUZZ_SIZE_MAX);
    buf_init(&out, FUZZ_SIZE_MAX);
    json_init(&doc);
    json_init(&again);
    if (json_parse(&doc, bytes, &e)) {
        fuzz_patch(w, &doc, &a, bits);
        if (w->read(&doc, &a, &q, &e)) {
            w->write(&q, &out);
            assert(json_parse(&again, buf_str(&out), &e));
            assert(w->read(&again, &a, &q, &e));
        }
    }
    json_release(&again);
    json_release(&doc);
    buf_release(&out);
    arena_release(&a);
}

static int fuzz_wire(const struct wire *w, const uint8_t *data, size_t size)
{
    str bytes = {(const char *)data + 2, size < 2 ? 0 : size - 2};

    if (size < 2)
        return 0;
    if (data[0] % 3 == 0)
        fuzz_request(w, bytes, data[1]);
    else
        fuzz_reply(w, bytes, data[0] % 3 == 1, 1u << (data[1] % 8) | 1u << (data[1] / 8 % 8));
    return 0;
}
