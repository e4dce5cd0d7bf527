/* SPDX-License-Identifier: Apache-2.0 */
#include "net/ws.h"

#include "test.h"

#define MESSAGE_MAX 70000

static const unsigned char mask[4] = {0x37, 0xFA, 0x21, 0x3D};

/* op:payload; for each message; long payloads as their size. */
static void on_message(void *ctx, enum ws_op op, str payload)
{
    if (payload.n > 200)
        buf_printf(ctx, "%d:%zu bytes;", op, payload.n);
    else
        buf_printf(ctx, "%d:" STR_FMT ";", op, STR_ARG(payload));
}

/* A client's frame with a given first byte: 0x81 is a whole text. */
static void frame(struct buf *out, unsigned first, str payload)
{
    size_t at = out->n;

    ws_encode_masked(out, WS_TEXT, payload, mask);
    out->p[at] = (char)first;
}

static int read_all(str bytes, size_t cut, struct buf *got)
{
    struct ws w;
    int fault;

    ws_init(&w, WS_FROM_CLIENT, MESSAGE_MAX, (struct ws_sink){on_message, got});
    if (cut == STR_NONE) {
        for (size_t i = 0; i < bytes.n; i++)
            ws_feed(&w, str_slice(bytes, i, i + 1));
    } else {
        ws_feed(&w, str_slice(bytes, 0, cut));
        ws_feed(&w, str_slice(bytes, cut, bytes.n));
    }
    fault = w.fault;
    ws_release(&w);
    return fault;
}

struct piece {
    unsigned first;
    str payload;
};

static const struct {
    struct piece pieces[6];
    int fault;
    const char *got;
} cases[] = {
    {{{0x81, STR_INIT("hello")}}, 0, "1:hello;"},
    {{{0x82, STR_INIT("\xFF\x00x")}}, 0, "2:\xFF"},
    {{{0x81, STR_INIT("")}}, 0, "1:;"},
    {{{0x01, STR_INIT("a")}, {0x00, STR_INIT("")}, {0x80, STR_INIT("b")}}, 0, "1:ab;"},
    {{{0x01, STR_INIT("a")}, {0x89, STR_INIT("p")}, {0x80, STR_INIT("b")}}, 0, "9:p;1:ab;"},
    {{{0x8A, STR_INIT("")}, {0x81, STR_INIT("x")}}, 0, "10:;1:x;"},
    {{{0x01, STR_INIT("\xC3")}, {0x80, STR_INIT("\xA4")}}, 0, "1:\xC3\xA4;"},
    {{{0x01, STR_INIT("\xC3")}, {0x80, STR_INIT("x")}}, 1007, ""},
    {{{0x81, STR_INIT("\xC3")}}, 1007, ""},
    {{{0x01, STR_INIT("ok\xED\xA0")}}, 1007, ""},
    {{{0x01, STR_INIT("\xFF")}}, 1007, ""},
    {{{0x88,
       STR_INIT("\x03\xE8"
                "bye")},
      {0x81, STR_INIT("x")}},
     0,
     "8:\x03\xE8"
     "bye;"},
    {{{0x88, STR_INIT("")}}, 0, "8:;"},
    {{{0x88, STR_INIT("\x03")}}, 1002, ""},
    {{{0x88, STR_INIT("\x03\xEC")}}, 1002, ""}, /* 1004 */
    {{{0x88, STR_INIT("\x03\xED")}}, 1002, ""}, /* 1005 */
    {{{0x88, STR_INIT("\x00\x00")}}, 1002, ""},
    {{{0x88, STR_INIT("\x13\x88")}}, 1002, ""}, /* 5000 */
    {{{0x88, STR_INIT("\x0B\xB8")}}, 0, "8:\x0B\xB8;"},
    {{{0x88, STR_INIT("\x03\xE8\xFF")}}, 1007, ""},
    {{{0x80, STR_INIT("x")}}, 1002, ""}, /* continuation without a start */
    {{{0x01, STR_INIT("a")}, {0x81, STR_INIT("b")}}, 1002, ""},
    {{{0x09, STR_INIT("p")}}, 1002, ""}, /* fragmented control frame */
    {{{0x83, STR_INIT("")}}, 1002, ""},
    {{{0x8B, STR_INIT("")}}, 1002, ""},
    {{{0x8F, STR_INIT("")}}, 1002, ""},
    {{{0xC1, STR_INIT("")}}, 1002, ""},
    {{{0xA1, STR_INIT("")}}, 1002, ""},
    {{{0x91, STR_INIT("")}}, 1002, ""},
};

TEST(ws_frames_are_joined_checked_or_refused_at_every_cut)
{
    struct buf bytes, got;

    buf_init(&bytes, 1 << 12), buf_init(&got, 1 << 12);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        buf_reset(&bytes);
        for (const struct piece *p = cases[c].pieces; p->first; p++)
            frame(&bytes, p->first, p->payload);
        if (cases[c].pieces[1].payload.p && cases[c].pieces[1].first == 0)
            frame(&bytes, 0, cases[c].pieces[1].payload), frame(&bytes, 0x80, STR("b"));
        for (size_t cut = 0; cut <= bytes.n + 1; cut++) {
            buf_reset(&got);
            CHECK_INT(read_all(buf_str(&bytes), cut > bytes.n ? STR_NONE : cut, &got),
                      cases[c].fault);
            CHECK_F(str_starts(buf_str(&got), str_c(cases[c].got)) &&
                        (c == 1 || got.n == strlen(cases[c].got)),
                    "case %zu cut at %zu: " STR_FMT,
                    c,
                    cut,
                    STR_ARG(buf_str(&got)));
        }
    }
    buf_release(&bytes), buf_release(&got);
}

TEST(ws_sizes_have_one_form_each_and_a_ceiling)
{
    static const size_t sizes[] = {0, 125, 126, 65535, 65536, MESSAGE_MAX};
    static const char *const long_forms[] = {"\x82\xFE\x00\x7D",
                                             "\x82\xFF\x00\x00\x00\x00\x00\x00\xFF\xFF",
                                             "\x82\xFF\x80\x00\x00\x00\x00\x00\xFF\xFF",
                                             "\x89\xFE\x00\x7E"};
    struct buf body, bytes, got;

    buf_init(&body, 1 << 17), buf_init(&bytes, 1 << 18), buf_init(&got, 1 << 12);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char want[64];

        buf_reset(&body), buf_reset(&bytes), buf_reset(&got);
        while (body.n < sizes[i])
            buf_add_c(&body, 'x');
        ws_encode_masked(&bytes, WS_BINARY, buf_str(&body), mask);
        CHECK_INT(read_all(buf_str(&bytes), bytes.n / 2, &got), 0);
        snprintf(want, sizeof want, "2:%zu bytes;", sizes[i]);
        CHECK(sizes[i] <= 200 || str_eq(buf_str(&got), str_c(want)));
    }
    buf_add_c(&body, 'x');
    buf_reset(&bytes);
    ws_encode_masked(&bytes, WS_BINARY, buf_str(&body), mask);
    CHECK_INT(read_all(str_slice(buf_str(&bytes), 0, 14), 5, &got), 1009);
    for (size_t i = 0; i < COUNT_OF(long_forms); i++) {
        char padded[14] = {0};

        memcpy(padded, long_forms[i], i % 3 ? 10 : 4);
        CHECK_INT(read_all((str){padded, sizeof padded}, 3, &got), 1002);
    }
    buf_release(&body), buf_release(&bytes), buf_release(&got);
}

TEST(ws_clients_mask_and_servers_do_not)
{
    struct buf bytes, got;
    struct ws w;

    buf_init(&bytes, 1 << 12), buf_init(&got, 1 << 12);
    ws_encode(&bytes, WS_TEXT, STR("hi"));
    CHECK_INT(bytes.n, 4);
    CHECK_INT(read_all(buf_str(&bytes), 1, &got), 1002);
    ws_encode_close(&bytes, 1000, STR("done"));
    ws_init(&w, WS_FROM_SERVER, MESSAGE_MAX, (struct ws_sink){on_message, &got});
    ws_feed(&w, buf_str(&bytes));
    CHECK_INT(w.fault, 0);
    CHECK_STR(buf_str(&got),
              "1:hi;8:\x03\xE8"
              "done;");
    ws_release(&w);
    CHECK_INT(ws_close_code(STR("\x03\xE8")), 1000);
    CHECK_INT(ws_close_code(STR("")), 1005);
    buf_release(&bytes), buf_release(&got);
}

#define HEAD                                                                                       \
    "GET /live HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"

TEST(ws_handshakes_are_answered_as_rfc_6455_has_it)
{
    static const struct {
        const char *text;
        int status;
    } table[] = {
        {HEAD KEY VERSION "\r\n", 0},
        {HEAD VERSION "\r\n", 400},
        {HEAD KEY KEY VERSION "\r\n", 400},
        {HEAD "Sec-WebSocket-Key: short\r\n" VERSION "\r\n", 400},
        {HEAD "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR==\r\n" VERSION "\r\n", 400},
        {HEAD KEY "\r\n", 426},
        {HEAD KEY "Sec-WebSocket-Version: 8\r\n\r\n", 426},
        {"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n" KEY VERSION "\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n" KEY VERSION "\r\n",
         400},
        {"POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" KEY VERSION
         "\r\n",
         400},
    };
    static struct http1_head head;

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct http1_fault fault = {0};
        char accept[WS_KEY_SIZE];
        size_t used;

        CHECK(http1_request(str_c(table[i].text), 4096, &head, &used, &fault) == HTTP1_DONE);
        CHECK(ws_handshake(&head, accept, &fault) == (table[i].status == 0));
        CHECK_INT(fault.status, table[i].status);
        if (i == 0)
            CHECK_STR(str_c(accept), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}

TEST_MAIN(T(ws_frames_are_joined_checked_or_refused_at_every_cut),
          T(ws_sizes_have_one_form_each_and_a_ceiling), T(ws_clients_mask_and_servers_do_not),
          T(ws_handshakes_are_answered_as_rfc_6455_has_it))
