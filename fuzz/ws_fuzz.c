/* WebSocket frames of arbitrary bytes: cuts change neither messages nor errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/ws.h"

#include "base/utf8.h"

#define OUT_MAX (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_message(void *ctx, enum ws_op op, str payload)
{
    assert(op != WS_TEXT || utf8_valid(payload));
    assert(op < WS_CLOSE || payload.n <= WS_CONTROL_MAX);
    buf_add_c(ctx, (char)op);
    buf_add(ctx, payload);
    buf_add_c(ctx, '\0');
}

static int run(str text, enum ws_side side, size_t step, struct buf *out)
{
    struct ws w;
    int fault;

    ws_init(&w, side, 1000, (struct ws_sink){on_message, out});
    for (size_t at = 0; at < text.n; at += step)
        ws_feed(&w, str_slice(text, at, at + step));
    fault = w.fault;
    ws_release(&w);
    return fault;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole, cut;
    enum ws_side side;
    int fault;
    str text;

    if (size < 1)
        return 0;
    text = (str){(const char *)data + 1, size - 1};
    side = data[0] & 1 ? WS_FROM_CLIENT : WS_FROM_SERVER;
    buf_init(&whole, OUT_MAX);
    buf_init(&cut, OUT_MAX);
    fault = run(text, side, text.n + 1, &whole);
    assert(run(text, side, 1 + data[0] / 32, &cut) == fault);
    assert(str_eq(buf_str(&whole), buf_str(&cut)));
    buf_release(&whole);
    buf_release(&cut);
    return 0;
}
