/* reply.c - replies written: head and body go out together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "net/server/internal.h"

#define GZIP_SIZE_MAX ((size_t)1 << 20) /* more would keep the other connections waiting */

/* The first lines of most replies, made once a second. */
#define OK_LINE "HTTP/1.1 200 OK\r\n"
#define DATE_SIZE (sizeof "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n" - 1)
static str server_ok_and_date(struct server *s)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    uint64_t second = loop_now_ns(s->loop) / 1000000000u;
    str both = {s->first_lines, sizeof OK_LINE - 1 + DATE_SIZE};
    time_t wall;
    struct tm t;

    _Static_assert(sizeof s->first_lines >= sizeof OK_LINE + DATE_SIZE, "there is room for it");
    if (second == s->date_s)
        return both;
    wall = (time_t)(clock_wall_ms(loop_clock(s->loop)) / 1000);
    gmtime_r(&wall, &t);
    snprintf(s->first_lines,
             sizeof s->first_lines,
             OK_LINE "Date: %.3s, %02d %.3s %04d %02d:%02d:%02d GMT\r\n",
             days + (ptrdiff_t)t.tm_wday * 3,
             t.tm_mday % 100,
             months + (ptrdiff_t)t.tm_mon * 3,
             (t.tm_year + 1900) % 10000,
             t.tm_hour % 100,
             t.tm_min % 100,
             t.tm_sec % 100);
    s->date_s = second;
    return both;
}

/* ---- heads ---- */

/* Headers that only the server sets. */
static bool server_is_ours(str name)
{
    const uint64_t kinds =
        HTTP1_BIT(10, 'c', 'n') | HTTP1_BIT(14, 'c', 'h') | HTTP1_BIT(4, 'd', 'e') |
        HTTP1_BIT(10, 'k', 'e') | HTTP1_BIT(16, 'p', 'n') | HTTP1_BIT(2, 't', 'e') |
        HTTP1_BIT(7, 't', 'r') | HTTP1_BIT(17, 't', 'g'); /* of these names, in their order */
    static const str ours[] = {
        STR_INIT("connection"),
        STR_INIT("content-length"),
        STR_INIT("date"),
        STR_INIT("keep-alive"),
        STR_INIT("proxy-connection"),
        STR_INIT("te"),
        STR_INIT("trailer"),
        STR_INIT("transfer-encoding"),
    };

    if (!(kinds >> http1_kind(name) & 1))
        return false;
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (http1_same(name, ours[i]))
            return true;
    return false;
}

/* Replaces bytes that are invalid in a value by spaces. */
static void server_reply_clean_value(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!http1_is_text((str){p + i, 1}))
            p[i] = ' ';
}

static void server_put_header(struct buf *out, str name, str value)
{
    char *p;

    if (!http1_is_token(name) || server_is_ours(name))
        return;
    p = buf_room(out, name.n + value.n + 4);
    if (!p)
        return;
    p = str_put(p, name);
    *p++ = ':';
    *p++ = ' ';
    p = str_put(p, value);
    if (!http1_is_text(value))
        server_reply_clean_value(p - value.n, value.n);
    *p++ = '\r';
    *p++ = '\n';
    buf_wrote(out, name.n + value.n + 4);
}

static bool server_has_no_body(int status)
{
    return status < 200 || status == 204 || status == 304;
}

/* Up to, and without, the empty line. */
static struct buf *server_begin_head(struct server_exchange *x, int status,
                                     const struct server_header *h, size_t n)
{
    struct server *s = x->server;
    struct buf *out = &s->out;
    str first = server_ok_and_date(s);

    assert(status >= 100 && status <= 999);
    if (s->draining)
        x->keep = false;
    buf_reset(out);
    if (status != 200) {
        buf_add(out, STR("HTTP/1.1 "));
        buf_add_u64(out, (uint64_t)status);
        buf_add_c(out, ' ');
        buf_add(out, str_c(http1_reason(status)));
        buf_add(out, STR("\r\n"));
        first = str_slice(first, sizeof OK_LINE - 1, first.n);
    }
    buf_add(out, first);
    for (size_t i = 0; i < n; i++)
        server_put_header(out, h[i].name, h[i].value);
    if (status == 426) /* whose Upgrade is for this connection only */
        buf_add(out,
                x->keep ? STR("Connection: upgrade\r\n") : STR("Connection: upgrade, close\r\n"));
    else if (!x->keep)
        buf_add(out, STR("Connection: close\r\n"));
    else if (x->request && x->request->minor == 0)
        buf_add(out, STR("Connection: keep-alive\r\n"));
    return out;
}

static void server_put_length(struct buf *out, size_t size)
{
    buf_add(out, STR("Content-Length: "));
    buf_add_u64(out, size);
    buf_add(out, STR("\r\n"));
}

/* own: the buffer that the body is all of, to be sent from where it is; or NULL. */
static void server_send_head(struct server_exchange *x, struct buf *out, str body, struct buf *own)
{
    buf_add(out, STR("\r\n"));
    assert(!buf_full(out)); /* the handler's headers are bounded where they come from */
    if (own && buf_put_front(own, buf_str(out)))
        conn_write_buf(x->conn, own);
    else
        conn_write_parts(x->conn, (str[]){buf_str(out), body}, 2);
    if (out->cap > SERVER_KEEP_MAX)
        buf_release(out);
}

/* ---- whole replies ---- */

static bool server_reply_is_text(str type)
{
    static const str types[] = {
        STR_INIT("text/"),
        STR_INIT("application/json"),
        STR_INIT("application/javascript"),
        STR_INIT("application/problem+json"),
        STR_INIT("application/xml"),
        STR_INIT("application/x-ndjson"),
        STR_INIT("application/yaml"),
        STR_INIT("image/svg+xml"),
    };

    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (http1_same(str_slice(type, 0, types[i].n), types[i]))
            return true;
    return false;
}

static str server_header_of(const struct server_header *h, size_t n, str name)
{
    for (size_t i = 0; i < n; i++)
        if (http1_same(h[i].name, name))
            return h[i].value;
    return STR("");
}

/* Whether the reply may differ by what the client takes, and then whether this one does. */
static bool server_may_pack(const struct server_exchange *x, int status,
                            const struct server_header *h, size_t n, str body)
{
    const struct server_options *o = &x->server->o;

    return body.n >= o->gzip_min && body.n <= GZIP_SIZE_MAX && status != 206 &&
           server_reply_is_text(server_header_of(h, n, STR("content-type"))) &&
           server_header_of(h, n, STR("content-encoding")).n == 0;
}

static bool server_wants_packed(const struct server_exchange *x)
{
    return gzip_accepted(http1_find(x->request, STR("accept-encoding")));
}

static void server_reply_pack_body(struct server *s, str body, struct buf *packed)
{
    if (!s->gzip)
        s->gzip = gzip_new();
    gzip_pack(s->gzip, body, packed);
}

static void server_reply_send_whole(struct server_exchange *x, int status,
                                    const struct server_header *h, size_t n, str body,
                                    struct buf *own)
{
    bool packable = server_may_pack(x, status, h, n, body);
    struct buf packed, *out;

    assert(x->state == ST_ANSWER && !x->head_sent);
    buf_init(&packed, body.n);
    if (packable && server_wants_packed(x))
        server_reply_pack_body(x->server, body, &packed);
    if (buf_full(&packed))
        buf_release(&packed); /* it grew: send it uncompressed */
    out = server_begin_head(x, status, h, n);
    if (packable)
        buf_add(out, STR("Vary: Accept-Encoding\r\n"));
    if (packed.n > 0) {
        buf_add(out, STR("Content-Encoding: gzip\r\n"));
        body = buf_str(&packed);
        own = NULL;
    }
    if (!server_has_no_body(status))
        server_put_length(out, body.n);
    if (server_has_no_body(status) || str_eq(x->request->method, STR("HEAD"))) {
        body = STR("");
        own = NULL;
    }
    server_send_head(x, out, body, own);
    buf_release(&packed);
    server_exchange_end(x);
}

void server_reply(struct server_exchange *x, int status, const struct server_header *h, size_t n,
                  str body)
{
    server_reply_send_whole(x, status, h, n, body, NULL);
}

void server_reply_buf(struct server_exchange *x, int status, const struct server_header *h,
                      size_t n, struct buf *body)
{
    server_reply_send_whole(x, status, h, n, buf_str(body), body);
}

static void server_put_error(struct buf *out, int status, const char *why)
{
    struct json_out json;

    json_out_init_object(&json, out);
    json_out_key(&json, STR("error"));
    json_out_object(&json);
    json_out_key(&json, STR("message"));
    json_out_str(&json, str_c(why));
    json_out_key(&json, STR("type"));
    json_out_str(&json, status < 500 ? STR("invalid_request_error") : STR("server_error"));
    json_out_end(&json);
    json_out_end(&json);
}

void server_refuse(struct server_exchange *x, int status, const char *why)
{
    struct buf body, *out;
    const struct server_refusal r = {status, why, x->request, server_peer(x), &body};
    struct server *s = x->server;
    struct server_header headers[1 + SERVER_REFUSAL_HEADERS_MAX];
    size_t n = 1;

    assert(!x->head_sent); /* a second head would be part of the body */
    buf_init(&body, 4096);
    headers[0] = (struct server_header){STR("Content-Type"), STR("application/json")};
    if (s->on_refusal)
        n += s->on_refusal(s->ctx, &r, headers + 1);
    assert(n <= COUNT_OF(headers));
    if (body.n == 0 || buf_full(&body)) {
        buf_reset(&body);
        server_put_error(&body, status, why);
    }
    x->keep = false;
    out = server_begin_head(x, status, headers, n);
    server_put_length(out, body.n);
    server_send_head(x, out, buf_str(&body), NULL);
    buf_release(&body);
    server_exchange_linger(x);
}

/* ---- replies in pieces ---- */

void server_head(struct server_exchange *x, int status, const struct server_header *h, size_t n)
{
    struct buf *out;

    assert(x->state == ST_ANSWER && !x->head_sent);
    x->head_sent = true;
    x->no_body = server_has_no_body(status) || str_eq(x->request->method, STR("HEAD"));
    x->chunked = x->request->minor > 0 && !server_has_no_body(status);
    if (x->request->minor == 0 && !x->no_body)
        x->keep = false; /* the end of the connection is the end of the reply */
    out = server_begin_head(x, status, h, n);
    if (x->chunked)
        buf_add(out, STR("Transfer-Encoding: chunked\r\n"));
    server_send_head(x, out, STR(""), NULL);
}

void server_write(struct server_exchange *x, str bytes)
{
    static const char digits[] = "0123456789abcdef";
    char size[20];
    size_t at = sizeof size;

    assert(x->state == ST_ANSWER && x->head_sent);
    if (bytes.n == 0 || x->no_body)
        return;
    if (!x->chunked) {
        conn_write(x->conn, bytes);
        return;
    }
    size[--at] = '\n';
    size[--at] = '\r';
    for (size_t n = bytes.n; n > 0; n >>= 4)
        size[--at] = digits[n & 15];
    conn_write_parts(x->conn, (str[]){{size + at, sizeof size - at}, bytes, STR("\r\n")}, 3);
}

void server_flush(struct server_exchange *x)
{
    conn_flush(x->conn);
}

bool server_full(const struct server_exchange *x)
{
    return conn_full(x->conn);
}

void server_end(struct server_exchange *x)
{
    assert(x->state == ST_ANSWER && x->head_sent);
    if (x->chunked && !x->no_body)
        conn_write(x->conn, STR("0\r\n\r\n"));
    server_exchange_end(x);
}
