/* SPDX-License-Identifier: Apache-2.0 */
#include "net/ws.h"

#include "base/base64.h"
#include "base/utf8.h"

#include <openssl/evp.h>

#define KEEP_MAX 4096 /* bytes of memory kept for the next message */
#define FIN 0x80u
#define RSV 0x70u
#define MASKED 0x80u

enum { CLOSE_PROTOCOL = 1002, CLOSE_NONE = 1005, CLOSE_TEXT = 1007, CLOSE_LARGE = 1009 };

void ws_init(struct ws *w, enum ws_side side, size_t message_max, struct ws_sink sink)
{
    assert(sink.on_message);
    *w = (struct ws){.side = side, .sink = sink, .message_op = WS_MORE};
    buf_init(&w->message, message_max);
}

void ws_release(struct ws *w)
{
    buf_release(&w->message);
}

static void ws_fail(struct ws *w, int code)
{
    w->fault = code;
    buf_release(&w->message);
}

static bool ws_is_control(enum ws_op op)
{
    return op >= WS_CLOSE;
}

/* ---- a frame's head ---- */

static size_t ws_head_need(const struct ws *w)
{
    size_t size, need = 2;

    if (w->head_size < 2)
        return need;
    size = w->head[1] & 0x7F;
    need += size == 126 ? 2 : size == 127 ? 8 : 0;
    return need + (w->head[1] & MASKED ? 4 : 0);
}

/* Checks the first two bytes. */
static bool ws_front_ok(const struct ws *w)
{
    unsigned op = w->head[0] & 0x0F, size = w->head[1] & 0x7F;
    bool fin = w->head[0] & FIN, masked = w->head[1] & MASKED;

    if (w->head[0] & RSV || masked != (w->side == WS_FROM_CLIENT))
        return false;
    if (op > WS_PONG || (op > WS_BINARY && op < WS_CLOSE))
        return false;
    if (ws_is_control(op))
        return fin && size <= WS_CONTROL_MAX;
    return (op == WS_MORE) == (w->message_op != WS_MORE);
}

/* The shortest form is the only one. */
static bool ws_read_size(const struct ws *w, uint64_t *out)
{
    unsigned size = w->head[1] & 0x7F;
    size_t bytes = size == 126 ? 2 : size == 127 ? 8 : 0;

    *out = size;
    if (bytes == 0)
        return true;
    *out = 0;
    for (size_t i = 0; i < bytes; i++)
        *out = *out << 8 | w->head[2 + i];
    return bytes == 2 ? *out > 125 : *out > 0xFFFF && *out <= INT64_MAX;
}

static void ws_begin_payload(struct ws *w)
{
    uint64_t size;

    assert(w->head_size == ws_head_need(w) && !w->in_payload);
    if (!ws_read_size(w, &size)) {
        ws_fail(w, CLOSE_PROTOCOL);
        return;
    }
    w->fin = w->head[0] & FIN;
    w->op = w->head[0] & 0x0F;
    w->left = size;
    w->at = 0;
    w->control_size = 0;
    w->in_payload = true;
    if (ws_is_control(w->op))
        return;
    if (size > w->message.size_max - w->message.n) {
        ws_fail(w, CLOSE_LARGE);
        return;
    }
    if (w->op != WS_MORE)
        w->message_op = w->op;
}

static size_t ws_feed_head(struct ws *w, str piece)
{
    size_t used = 0;

    assert(!w->in_payload && w->head_size < sizeof w->head);
    while (used < piece.n && w->head_size < ws_head_need(w)) {
        w->head[w->head_size++] = (unsigned char)piece.p[used++];
        if (w->head_size == 2 && !ws_front_ok(w)) {
            ws_fail(w, CLOSE_PROTOCOL);
            return used;
        }
    }
    if (w->head_size >= 2 && w->head_size == ws_head_need(w))
        ws_begin_payload(w);
    return used;
}

/* ---- a frame's payload ---- */

static void ws_copy_masked(char *out, str in, const unsigned char mask[4], uint64_t at)
{
    unsigned char turned[8];
    uint64_t wide, word;
    size_t i = 0;

    for (size_t k = 0; k < 8; k++)
        turned[k] = mask[(at + k) & 3];
    memcpy(&wide, turned, 8);
    for (; in.n - i >= 8; i += 8) {
        memcpy(&word, in.p + i, 8);
        word ^= wide;
        memcpy(out + i, &word, 8);
    }
    for (; i < in.n; i++)
        out[i] = (char)((unsigned char)in.p[i] ^ turned[i & 7]);
}

static void ws_unmask_payload(const struct ws *w, char *out, str in)
{
    if (w->side == WS_FROM_CLIENT)
        ws_copy_masked(out, in, w->head + ws_head_need(w) - 4, w->at);
    else
        memcpy(out, in.p, in.n);
}

/* Text is refused as soon as it cannot be UTF-8 any more, not when it is whole. */
static bool ws_text_ok(struct ws *w)
{
    str fresh = str_slice(buf_str(&w->message), w->checked, w->message.n);
    size_t good = utf8_valid_size(fresh);
    str rest = str_slice(fresh, good, fresh.n);

    assert(w->checked <= w->message.n);
    w->checked += good;
    return rest.n == 0 || utf8_tail(rest) == rest.n;
}

static void ws_add_data(struct ws *w, str piece)
{
    char *p = buf_room(&w->message, piece.n);

    assert(p); /* the frame's size was looked at before */
    ws_unmask_payload(w, p, piece);
    buf_wrote(&w->message, piece.n);
    if (w->message_op == WS_TEXT && !ws_text_ok(w))
        ws_fail(w, CLOSE_TEXT);
}

static void ws_end_message(struct ws *w)
{
    assert(w->message_op != WS_MORE);
    if (w->message_op == WS_TEXT && w->checked != w->message.n) {
        ws_fail(w, CLOSE_TEXT);
        return;
    }
    w->sink.on_message(w->sink.ctx, w->message_op, buf_str(&w->message));
    w->message_op = WS_MORE;
    w->checked = 0;
    if (w->message.cap > KEEP_MAX)
        buf_release(&w->message);
    else
        buf_reset(&w->message);
}

int ws_close_code(str payload)
{
    if (payload.n < 2)
        return CLOSE_NONE;
    return (unsigned char)payload.p[0] << 8 | (unsigned char)payload.p[1];
}

/* Those that may be sent: of the protocol, registered, or private. */
static bool ws_is_close_code(int code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

static void ws_end_control(struct ws *w)
{
    str payload = {w->control, w->control_size};

    if (w->op == WS_CLOSE && payload.n > 0) {
        if (payload.n == 1 || !ws_is_close_code(ws_close_code(payload))) {
            ws_fail(w, CLOSE_PROTOCOL);
            return;
        }
        if (!utf8_valid(str_slice(payload, 2, payload.n))) {
            ws_fail(w, CLOSE_TEXT);
            return;
        }
    }
    w->closed = w->op == WS_CLOSE;
    w->sink.on_message(w->sink.ctx, w->op, payload);
}

static size_t ws_feed_payload(struct ws *w, str piece)
{
    size_t n = piece.n < w->left ? piece.n : (size_t)w->left;

    assert(w->in_payload && w->head_size == ws_head_need(w));
    piece = str_slice(piece, 0, n);
    if (ws_is_control(w->op)) {
        assert(w->control_size + n <= sizeof w->control);
        ws_unmask_payload(w, w->control + w->control_size, piece);
        w->control_size += n;
    } else if (n > 0) {
        ws_add_data(w, piece);
    }
    w->at += n;
    w->left -= n;
    return n;
}

static void ws_end_frame(struct ws *w)
{
    assert(w->in_payload && w->left == 0);
    w->in_payload = false;
    w->head_size = 0;
    if (ws_is_control(w->op))
        ws_end_control(w);
    else if (w->fin)
        ws_end_message(w);
}

void ws_feed(struct ws *w, str piece)
{
    while (piece.n > 0 && !w->fault && !w->closed) {
        size_t used = w->in_payload ? ws_feed_payload(w, piece) : ws_feed_head(w, piece);

        if (!w->fault && w->in_payload && w->left == 0)
            ws_end_frame(w);
        piece = str_slice(piece, used, piece.n);
    }
}

/* ---- written ---- */

static size_t ws_put_head(char out[14], enum ws_op op, size_t size, unsigned masked)
{
    size_t bytes = size <= 125 ? 0 : size <= 0xFFFF ? 2 : 8;

    out[0] = (char)(FIN | op);
    out[1] = (char)(masked | (bytes == 0 ? (unsigned)size : bytes == 2 ? 126u : 127u));
    for (size_t i = 0; i < bytes; i++)
        out[2 + i] = (char)((uint64_t)size >> (8 * (bytes - 1 - i)));
    return 2 + bytes;
}

void ws_encode(struct buf *out, enum ws_op op, str payload)
{
    char head[14];
    size_t n = ws_put_head(head, op, payload.n, 0);
    char *p = buf_room(out, n + payload.n);

    assert(!ws_is_control(op) || payload.n <= WS_CONTROL_MAX);
    if (!p)
        return;
    memcpy(p, head, n);
    memcpy(p + n, payload.p, payload.n);
    buf_wrote(out, n + payload.n);
}

void ws_encode_masked(struct buf *out, enum ws_op op, str payload, const unsigned char mask[4])
{
    char head[14];
    size_t n = ws_put_head(head, op, payload.n, MASKED);
    char *p = buf_room(out, n + 4 + payload.n);

    assert(!ws_is_control(op) || payload.n <= WS_CONTROL_MAX);
    if (!p)
        return;
    memcpy(p, head, n);
    memcpy(p + n, mask, 4);
    ws_copy_masked(p + n + 4, payload, mask, 0);
    buf_wrote(out, n + 4 + payload.n);
}

void ws_encode_close(struct buf *out, int code, str reason)
{
    char payload[WS_CONTROL_MAX];
    size_t n = 0;

    if (code != CLOSE_NONE) {
        reason = utf8_cut_size(reason, WS_CONTROL_MAX - 2);
        payload[0] = (char)(code >> 8);
        payload[1] = (char)code;
        memcpy(payload + 2, reason.p, reason.n);
        n = 2 + reason.n;
    }
    ws_encode(out, WS_CLOSE, (str){payload, n});
}

/* ---- the handshake ---- */

static bool ws_refuse(struct http1_fault *fault, int status, const char *why)
{
    *fault = (struct http1_fault){status, why};
    return false;
}

static bool ws_is_key(str key)
{
    struct buf bytes;
    bool ok;

    buf_init(&bytes, 64);
    ok = key.n == 24 && base64_decode(key, &bytes) && bytes.n == 16;
    buf_release(&bytes);
    return ok;
}

static bool names_websocket(str list)
{
    str item;

    while (http1_list_next(&list, &item))
        if (http1_same(item, STR("websocket")))
            return true;
    return false;
}

static size_t ws_count_of(const struct http1_head *h, str name)
{
    size_t n = 0;

    for (size_t i = 0; i < h->field_count; i++)
        n += http1_same(h->fields[i].name, name);
    return n;
}

bool ws_handshake(const struct http1_head *h, char accept[WS_KEY_SIZE], struct http1_fault *fault)
{
    static const char salt[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    str key = http1_find(h, STR("sec-websocket-key"));
    unsigned char digest[20];
    char text[24 + sizeof salt];

    if (!str_eq(h->method, STR("GET")) || h->minor == 0 || h->framing != HTTP1_NONE)
        return ws_refuse(fault, 400, "a WebSocket begins with a GET of HTTP/1.1 without a body");
    if (!h->upgrade || !names_websocket(http1_find(h, STR("upgrade"))))
        return ws_refuse(fault, 400, "this is not a request for a WebSocket");
    if (!str_eq(http1_find(h, STR("sec-websocket-version")), STR("13")))
        return ws_refuse(fault, 426, "only version 13 of WebSocket is spoken here");
    if (ws_count_of(h, STR("sec-websocket-key")) != 1 || !ws_is_key(key))
        return ws_refuse(fault, 400, "Sec-WebSocket-Key is not a key");
    memcpy(text, key.p, 24);
    memcpy(text + 24, salt, sizeof salt - 1);
    if (!EVP_Digest(text, sizeof text - 1, digest, NULL, EVP_sha1(), NULL))
        base_die("ws: no SHA-1");
    EVP_EncodeBlock((unsigned char *)accept, digest, sizeof digest);
    return true;
}
