/* Frames of arbitrary bytes, cut at the sizes that the first bytes give, compared with the same
 * bytes in one piece; the raw frames joined, compared with the input; and the events, compared with
 * a literal implementation of the specification.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/frames.h"

#define OUT_MAX (1 << 20)
#define SIZE_MAX_HERE 1024
#define CUT_COUNT 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_frame(void *ctx, const struct frames_frame *frame)
{
    struct buf *out = ctx;

    buf_add(out, frame->name);
    buf_add_c(out, '\0');
    buf_add(out, frame->data);
    buf_add_c(out, '\0');
    buf_add(out, frame->raw);
    buf_add_c(out, '\1');
}

static void on_raw(void *ctx, const struct frames_frame *frame)
{
    buf_add(ctx, frame->raw);
}

/* Only events that WHATWG dispatches, and an event that the end of the input cut off. */
static void on_data(void *ctx, const struct frames_frame *frame)
{
    if (frame->data.n > 0)
        buf_printf(ctx, "%zu:", frame->data.n), buf_add(ctx, frame->data);
}

static bool run(enum frames_kind kind, size_t size_max, str text, const uint8_t *cuts,
                struct frames_sink sink)
{
    struct frames f;

    frames_init(&f, kind, size_max, sink);
    for (size_t i = 0, from = 0; cuts && i < CUT_COUNT && from < text.n; i++) {
        str piece = str_slice(text, from, from + cuts[i]);

        frames_feed(&f, piece);
        from += piece.n;
        if (i + 1 == CUT_COUNT)
            i = 0; /* the rest of the input is cut into pieces of these sizes */
        if (cuts[i] == 0)
            frames_feed(&f, str_slice(text, from, from + 1)), from++;
    }
    if (!cuts)
        frames_feed(&f, text);
    frames_finish(&f);
    frames_release(&f);
    return !f.full;
}

static void plain_flush(struct buf *joined, struct buf *out)
{
    if (joined->n > 1) {
        buf_printf(out, "%zu:", joined->n - 1);
        buf_add(out, str_slice(buf_str(joined), 0, joined->n - 1));
    }
    buf_reset(joined);
}

/* The specification, line by line. */
static void plain(str s, struct buf *out)
{
    struct buf joined;
    size_t at = str_starts(s, STR("\xEF\xBB\xBF")) ? 3 : 0;

    buf_init(&joined, OUT_MAX);
    while (at < s.n) {
        size_t end = at;
        str line;

        while (end < s.n && s.p[end] != '\n' && s.p[end] != '\r')
            end++;
        line = str_slice(s, at, end);
        at = end + 1 + (end + 1 < s.n && s.p[end] == '\r' && s.p[end + 1] == '\n');
        if (line.n == 0) {
            plain_flush(&joined, out);
        } else if (str_eq(line, STR("data"))) {
            buf_add_c(&joined, '\n');
        } else if (str_starts(line, STR("data:"))) {
            size_t from = str_starts(line, STR("data: ")) ? 6 : 5;

            buf_add(&joined, str_slice(line, from, line.n));
            buf_add_c(&joined, '\n');
        }
    }
    plain_flush(&joined, out);
    buf_release(&joined);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole, cut;
    str text;

    if (size < CUT_COUNT)
        return 0;
    text = (str){(const char *)data + CUT_COUNT, size - CUT_COUNT};
    buf_init(&whole, OUT_MAX);
    buf_init(&cut, OUT_MAX);
    for (enum frames_kind kind = FRAMES_SSE; kind <= FRAMES_WHOLE; kind++) {
        bool ok = run(kind, SIZE_MAX_HERE, text, NULL, (struct frames_sink){on_frame, &whole});

        assert(run(kind, SIZE_MAX_HERE, text, data, (struct frames_sink){on_frame, &cut}) == ok);
        assert(str_eq(buf_str(&whole), buf_str(&cut)));
        buf_reset(&whole), buf_reset(&cut);
    }
    assert(run(FRAMES_SSE, OUT_MAX, text, data, (struct frames_sink){on_raw, &whole}));
    assert(str_eq(buf_str(&whole), text));
    buf_reset(&whole);
    assert(run(FRAMES_SSE, OUT_MAX, text, data, (struct frames_sink){on_data, &whole}));
    plain(text, &cut);
    assert(str_eq(buf_str(&whole), buf_str(&cut)));
    buf_release(&whole);
    buf_release(&cut);
    return 0;
}
