/* Arbitrary bytes as replies and bodies of Anthropic, Gemini and Converse: decoding ends exactly
 * once, with the same result for every cut; decoded events can be encoded, relayed and decoded
 * again; a request survives writing and reading.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/frames.h"
#include "wire/internal.h"

#define MEMORY_MAX ((size_t)1 << 26)
#define EVENTS_MAX 256
#define HOLDS(claim) ((claim) ? (void)0 : base_die("line %d: %s", __LINE__, #claim))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
    struct wire_decoder d;
    struct wire_encoder whole, stream, relay;
    bool encode, is_whole;
    uint64_t sum; /* of all events, however they were cut */
    int ends;
    struct chat_event events[EVENTS_MAX];
    size_t n;
};

static void mix(struct run *r, str s)
{
    for (size_t i = 0; i < s.n; i++)
        r->sum = (r->sum ^ (uint8_t)s.p[i]) * 1099511628211u;
}

static void on_event(void *ctx, const struct chat_event *ev)
{
    struct run *r = ctx;

    HOLDS(r->ends == 0);
    r->ends += ev->kind == CHAT_END || ev->kind == CHAT_ERROR;
    if (ev->text.p)
        mix(r, ev->text);
    r->sum += (uint64_t)ev->kind * 31 + ev->block;
    if (!r->encode)
        return;
    wire_encode(&r->whole, ev);
    wire_encode(&r->stream, ev);
    if (r->n < EVENTS_MAX && ev->kind != CHAT_REASONING)
        r->events[r->n++] = *ev;
}

static void on_frame(void *ctx, const struct frames_frame *f)
{
    struct run *r = ctx;
    struct wire_frame w = {.name = f->name, .data = f->data, .raw = f->raw};

    r->n = 0;
    if (r->is_whole)
        wire_decode_whole(&r->d, &w);
    else
        wire_decode(&r->d, &w);
    /* The texts of an event are valid only during its call; those within the frame remain. */
    for (size_t i = 0; i < r->n; i++)
        if (r->events[i].text.p < f->data.p || r->events[i].text.p >= f->data.p + f->data.n)
            r->events[i].text = STR("x");
    for (size_t i = 0; i < r->n; i++)
        r->events[i].id = r->events[i].name = STR("n");
    if (r->encode && w.doc)
        for (size_t i = 0; i < r->n; i++)
            if (r->events[i].kind >= CHAT_USAGE)
                r->n = i;
    if (r->encode && w.doc)
        wire_relay(&r->relay, &w, r->events, r->n, true);
}

static void decode(struct run *r, const struct wire *w, enum frames_kind kind, str bytes,
                   size_t piece, struct arena *a)
{
    struct frames fr;

    r->is_whole = kind == FRAMES_WHOLE;
    wire_decoder_init(&r->d, w, a, (struct chat_sink){on_event, r});
    frames_init(&fr, kind, MEMORY_MAX, (struct frames_sink){on_frame, r});
    for (size_t at = 0; at < bytes.n; at += piece)
        frames_feed(&fr, str_slice(bytes, at, at + piece));
    frames_finish(&fr);
    if (!r->is_whole)
        wire_decode_end(&r->d);
    frames_release(&fr);
    wire_decoder_release(&r->d);
}

static void check_again(const struct wire *w, str bytes, enum frames_kind kind)
{
    struct run r = {.encode = false};
    struct arena a;

    arena_init(&a, MEMORY_MAX);
    decode(&r, w, kind, bytes, bytes.n ? bytes.n : 1, &a);
    arena_release(&a);
}

static void check_replies(const struct wire *w, str bytes, enum frames_kind kind)
{
    struct chat_request request = {.model = STR("m")};
    struct run one = {.encode = w->encode != NULL}, many = {.encode = false};
    struct arena a, b;
    struct buf outs[3];

    arena_init(&a, MEMORY_MAX);
    arena_init(&b, MEMORY_MAX);
    for (size_t i = 0; i < 3; i++)
        buf_init(&outs[i], MEMORY_MAX);
    if (one.encode) {
        wire_encoder_init(&one.whole, w, &request, false, &a, &outs[0]);
        wire_encoder_init(&one.stream, w, &request, true, &a, &outs[1]);
        wire_encoder_init(&one.relay, w, &request, kind != FRAMES_WHOLE, &a, &outs[2]);
    }
    decode(&one, w, kind, bytes, bytes.n ? bytes.n : 1, &a);
    decode(&many, w, kind, bytes, 3, &b);
    HOLDS(one.sum == many.sum && one.ends == many.ends);
    if (one.encode) {
        check_again(w, buf_str(&outs[0]), FRAMES_WHOLE);
        check_again(w, buf_str(&outs[1]), FRAMES_SSE);
        check_again(w, buf_str(&outs[2]), kind);
    }
    for (size_t i = 0; i < 3; i++)
        buf_release(&outs[i]);
    arena_release(&a);
    arena_release(&b);
}

static void check_patch(const struct wire *w, const struct json *doc, struct arena *a)
{
    static const struct wire_tail tail = {.role = CHAT_USER, .text = {"t", 1}};
    struct wire_plan plan = {.model = STR("claude-sonnet-4-5 gemini-2.5"),
                             .set_stream = true,
                             .system_extra = STR("s"),
                             .temperature = STR("1"),
                             .top_p = STR(""),
                             .max_tokens = STR("5"),
                             .set_level = true,
                             .level = CHAT_LEVEL_HIGH,
                             .budget_tokens = -1,
                             .merge = STR("{\"a\":{\"b\":1}}"),
                             .tails = &tail,
                             .tail_count = 1,
                             .foreign_kept = true};
    struct json_edits ed;
    struct json again;
    struct buf out;
    struct err e;

    buf_init(&out, MEMORY_MAX);
    json_init(&again);
    json_edits_init(&ed, doc, a);
    w->patch(doc, &plan, &ed);
    json_edits_apply(&ed, &out);
    HOLDS(json_parse(&again, buf_str(&out), &e));
    json_release(&again);
    buf_release(&out);
}

static void check_request(const struct wire *w, str bytes)
{
    struct chat_request r, second;
    struct json doc, again;
    struct arena a;
    struct buf out;
    struct err e;

    json_init(&doc);
    json_init(&again);
    arena_init(&a, MEMORY_MAX);
    buf_init(&out, MEMORY_MAX);
    if (json_parse(&doc, bytes, &e)) {
        check_patch(w, &doc, &a);
        if (w->read(&doc, &a, &r, &e)) {
            w->write(&r, &out);
            HOLDS(json_parse(&again, buf_str(&out), &e));
            (void)!w->read(&again, &a, &second, &e);
        }
    }
    buf_release(&out);
    json_release(&doc);
    json_release(&again);
    arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str bytes = {(const char *)data + 1, size ? size - 1 : 0};

    if (size == 0 || size > 1 << 16)
        return 0;
    switch (data[0] % 8) {
    case 0:
        check_replies(&wire_anthropic, bytes, FRAMES_SSE);
        break;
    case 1:
        check_replies(&wire_anthropic, bytes, FRAMES_WHOLE);
        break;
    case 2:
        check_replies(&wire_gemini, bytes, FRAMES_SSE);
        break;
    case 3:
        check_replies(&wire_gemini, bytes, FRAMES_WHOLE);
        break;
    case 4:
        check_replies(&wire_converse, bytes, FRAMES_LINES);
        break;
    case 5:
        check_replies(&wire_converse, bytes, FRAMES_WHOLE);
        break;
    case 6:
        check_request(&wire_anthropic, bytes);
        break;
    default:
        check_request(&wire_gemini, bytes);
        break;
    }
    return 0;
}
