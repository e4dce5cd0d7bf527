/* SPDX-License-Identifier: Apache-2.0 */
#include "server_peer.h"
#include "test.h"

#include "net/ws.h"

#include <sys/socket.h>
#include <unistd.h>

#define HANDSHAKE                                                                                  \
    "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"                 \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

static const unsigned char mask[4] = {1, 2, 3, 4};
static struct served served;
static struct buf out, frames;

static void begin(void)
{
    buf_init(&out, 1 << 20);
    buf_init(&frames, 1 << 20);
    served_begin(&served, &(struct server_options){0});
}

static void end(void)
{
    served_end(&served);
    buf_release(&out);
    buf_release(&frames);
}

static void on_message(void *ctx, enum ws_op op, str payload)
{
    buf_printf(ctx, "%d:" STR_FMT ";", op, STR_ARG(payload));
}

/* Decodes the messages that the server sent after its reply's head. */
static void read_frames(struct buf *got)
{
    size_t at = str_find(buf_str(&out), STR("\r\n\r\n"));
    struct ws w;

    CHECK(at != STR_NONE);
    buf_reset(got);
    ws_init(&w, WS_FROM_SERVER, 1 << 16, (struct ws_sink){on_message, got});
    ws_feed(&w, str_slice(buf_str(&out), at + 4, out.n));
    CHECK_INT(w.fault, 0);
    ws_release(&w);
}

TEST(server_ws_echoes_pongs_and_closes)
{
    struct buf got;
    int fd;

    begin();
    buf_init(&got, 1 << 16);
    buf_add(&frames, STR(HANDSHAKE));
    ws_encode_masked(&frames, WS_TEXT, STR("hello"), mask); /* in one segment with the handshake */
    ws_encode_masked(&frames, WS_PING, STR("you there"), mask);
    ws_encode_masked(&frames, WS_BINARY, STR("\x01\x02"), mask);
    fd = served_connect(&served);
    served_send(fd, buf_str(&frames));
    buf_reset(&frames);
    ws_encode_masked(&frames,
                     WS_CLOSE,
                     STR("\x0B\xB8"
                         "bye"),
                     mask);
    for (size_t i = 0; i < frames.n; i++)
        served_send(fd, str_slice(buf_str(&frames), i, i + 1));
    CHECK(served_read_all(fd, &out));
    CHECK(str_starts(buf_str(&out), STR("HTTP/1.1 101 Switching Protocols\r\n")));
    CHECK(str_find(buf_str(&out), STR("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n")) !=
          STR_NONE);
    read_frames(&got);
    CHECK_STR(buf_str(&got), "1:hello;10:you there;2:\x01\x02;8:\x0B\xB8;");
    CHECK_INT(served.ws_closed, 3000);
    close(fd);
    buf_release(&got);
    end();
}

TEST(server_ws_closes_on_its_own_word)
{
    struct buf got;
    int fd;

    begin();
    buf_init(&got, 1 << 16);
    buf_add(&frames, STR(HANDSHAKE));
    ws_encode_masked(&frames, WS_TEXT, STR("close"), mask);
    ws_encode_masked(&frames, WS_TEXT, STR("not heard"), mask);
    fd = served_connect(&served);
    served_send(fd, buf_str(&frames));
    CHECK(served_read_all(fd, &out));
    read_frames(&got);
    CHECK_STR(buf_str(&got),
              "8:\x03\xE8"
              "as you wish;");
    close(fd);
    CHECK_INT(served.ws_closed, 0);
    buf_release(&got);
    end();
}

TEST(server_ws_closes_with_the_code_of_the_fault)
{
    static const struct {
        str frame;
        int code;
    } table[] = {
        {STR_INIT("\x81\x05hello"), 1002}, /* unmasked */
        {STR_INIT("\x82\xFE\x03\xE9\x01\x02\x03\x04"), 1009},
        {STR_INIT("\x81\x81\x00\x00\x00\x00\xFF"), 1007},
    };

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct buf got;
        int fd;

        begin();
        buf_init(&got, 1 << 16);
        fd = served_connect(&served);
        served_send(fd, STR(HANDSHAKE));
        served_send(fd, table[i].frame);
        CHECK(served_read_all(fd, &out));
        read_frames(&got);
        CHECK_INT(ws_close_code(str_slice(buf_str(&got), 2, got.n)), table[i].code);
        CHECK_INT(served.ws_closed, table[i].code);
        close(fd);
        buf_release(&got);
        end();
    }
}

TEST(server_ws_notices_who_left_and_pings_who_is_silent)
{
    int fd;

    begin();
    fd = served_connect(&served);
    served_send(fd, STR(HANDSHAKE));
    CHECK(served_read_until(fd, &out, "\r\n\r\n"));
    close(fd);
    CHECK(served_reached(&served.ws_closed, 1006));
    atomic_store(&served.ws_closed, 0);
    fd = served_connect(&served);
    buf_reset(&out);
    served_send(fd, STR(HANDSHAKE));
    CHECK(served_read_until(fd, &out, "\r\n\r\n"));
    served_pass(&served, 32000);
    CHECK(served_read_until(fd, &out, "\x89"));
    CHECK_INT(served.ws_closed, 0);
    served_pass(&served, 32000);
    CHECK(served_reached(&served.ws_closed, 1006));
    close(fd);
    end();
}

TEST(server_ws_refuses_what_is_no_handshake)
{
    begin();
    served_ask(&served, STR("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), &out);
    CHECK(str_starts(buf_str(&out), STR("HTTP/1.1 400 ")));
    served_ask(&served,
               STR("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: upgrade, close\r\nUpgrade: "
                   "websocket\r\n\r\n"),
               &out);
    CHECK(str_starts(buf_str(&out), STR("HTTP/1.1 426 ")));
    CHECK(str_find(buf_str(&out), STR("Sec-WebSocket-Version: 13\r\n")) != STR_NONE);
    CHECK(str_find(buf_str(&out), STR("Connection: upgrade, close\r\n")) != STR_NONE);
    end();
}

TEST_MAIN(T(server_ws_echoes_pongs_and_closes), T(server_ws_closes_on_its_own_word),
          T(server_ws_closes_with_the_code_of_the_fault),
          T(server_ws_notices_who_left_and_pings_who_is_silent),
          T(server_ws_refuses_what_is_no_handshake))
