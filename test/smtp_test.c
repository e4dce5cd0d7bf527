/* SPDX-License-Identifier: Apache-2.0 */
#include "apps/incidents/notify/smtp.h"
#include "base/clock.h"
#include "test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

TEST(smtp_replies_are_read_strictly)
{
    static const struct {
        const char *bytes;
        enum smtp_state state;
        size_t used;
        int code;
        const char *text;
    } cases[] = {
        {"220 mail.test ready\r\n", SMTP_DONE, 21, 220, "mail.test ready\n"},
        {"250-mail.test\r\n250-STARTTLS\r\n250 SIZE 9\r\nmore",
         SMTP_DONE,
         41,
         250,
         "mail.test\nSTARTTLS\nSIZE 9\n"},
        {"354\r\n", SMTP_DONE, 5, 354, "\n"},
        {"", SMTP_MORE, 0, 0, NULL},
        {"220 mail", SMTP_MORE, 0, 0, NULL},
        {"250-mail\r\n", SMTP_MORE, 0, 0, NULL},
        {"HTTP/1.1 400 Bad Request\r\n", SMTP_BAD, 0, 0, NULL},
        {"22 x\r\n", SMTP_BAD, 0, 0, NULL},
        {"620 x\r\n", SMTP_BAD, 0, 0, NULL},
        {"220x\r\n", SMTP_BAD, 0, 0, NULL},
        {"250-a\r\n251 b\r\n", SMTP_BAD, 0, 0, NULL},
        {"250 a\nb\r\n", SMTP_BAD, 0, 0, NULL},
    };
    struct buf text;

    buf_init(&text, 1 << 16);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t used = 0;
        int code;

        CHECK_F(smtp_reply_read(str_c(cases[i].bytes), &used, &code, &text) == cases[i].state,
                "%s",
                cases[i].bytes);
        if (cases[i].state != SMTP_DONE)
            continue;
        CHECK(used == cases[i].used);
        CHECK(code == cases[i].code);
        CHECK_STR(buf_str(&text), cases[i].text);
    }
    buf_release(&text);
}

TEST(smtp_replies_have_ceilings)
{
    struct buf bytes, text;
    size_t used;
    int code;

    buf_init(&bytes, 1 << 20);
    buf_init(&text, 1 << 20);
    for (int i = 0; i < SMTP_LINES_MAX; i++)
        buf_add(&bytes, STR("250-x\r\n"));
    CHECK(smtp_reply_read(buf_str(&bytes), &used, &code, &text) == SMTP_BAD);
    buf_reset(&bytes);
    buf_add(&bytes, STR("250 "));
    for (int i = 0; i < SMTP_LINE_MAX; i++)
        buf_add_c(&bytes, 'x');
    CHECK(smtp_reply_read(buf_str(&bytes), &used, &code, &text) == SMTP_BAD);
    buf_release(&bytes);
    buf_release(&text);
}

TEST(smtp_extensions_are_found_by_whole_words)
{
    str ehlo = STR("STARTTLS greets you\nPIPELINING\nauth=LOGIN PLAIN\nSIZE 1000\n");

    CHECK(!smtp_offers(ehlo, STR("STARTTLS"), STR(""))); /* a greeting, not an extension */
    CHECK(smtp_offers(ehlo, STR("AUTH"), STR("")));
    CHECK(smtp_offers(ehlo, STR("AUTH"), STR("PLAIN")));
    CHECK(smtp_offers(ehlo, STR("AUTH"), STR("login")));
    CHECK(!smtp_offers(ehlo, STR("AUTH"), STR("LOG")));
    CHECK(!smtp_offers(ehlo, STR("SIZ"), STR("")));
}

TEST(smtp_dots_are_stuffed)
{
    static const struct {
        const char *data, *stuffed;
    } cases[] = {
        {"", ".\r\n"},
        {"a\r\n", "a\r\n.\r\n"},
        {"a", "a\r\n.\r\n"},
        {".\r\n", "..\r\n.\r\n"},
        {"a\r\n.\r\n..b\r\n", "a\r\n..\r\n...b\r\n.\r\n"},
        {"a.b\r\n", "a.b\r\n.\r\n"},
    };
    struct buf out;

    buf_init(&out, 1 << 16);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_reset(&out);
        smtp_stuff(&out, str_c(cases[i].data));
        CHECK_STR(buf_str(&out), cases[i].stuffed);
    }
    buf_release(&out);
}

/* A mail server for one connection: it rejects a@ temporarily and b@ permanently. */
static void *serve_refusals(void *listener)
{
    int fd = accept(*(int *)listener, NULL, NULL);
    char line[512];
    size_t n = 0;

    CHECK(fd >= 0 && write(fd, "220 test\r\n", 10) == 10);
    while (n < sizeof line && read(fd, line + n, 1) == 1) {
        const char *reply = "250 ok\r\n";

        if (line[n++] != '\n')
            continue;
        line[n - 1] = '\0';
        n = 0;
        if (strstr(line, "<a@test>") && strstr(line, "RCPT"))
            reply = "450 try later\r\n";
        else if (strstr(line, "RCPT"))
            reply = "550 unknown\r\n";
        CHECK(write(fd, reply, strlen(reply)) == (ssize_t)strlen(reply));
    }
    (void)close(fd);
    return NULL;
}

TEST(a_message_is_not_given_up_while_a_recipient_is_refused_for_now)
{
    static const str orders[][2] = {{STR_INIT("a@test"), STR_INIT("b@test")},
                                    {STR_INIT("b@test"), STR_INIT("a@test")},
                                    {STR_INIT("b@test"), STR_INIT("c@test")}};

    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        struct stream_until until = {clock_deadline_ns(&clock_real, 20000), NULL};
        struct smtp_message m = {.host = STR("127.0.0.1"),
                                 .security = SMTP_PLAIN,
                                 .username = STR(""),
                                 .from = STR("r@test"),
                                 .to = orders[i],
                                 .to_count = 2,
                                 .data = STR("x\r\n")};
        int listener = socket(AF_INET, SOCK_STREAM, 0);
        socklen_t size = sizeof at;
        struct buf refused;
        pthread_t server;
        struct err e;

        CHECK(bind(listener, (struct sockaddr *)&at, size) == 0 && listen(listener, 1) == 0);
        CHECK(getsockname(listener, (struct sockaddr *)&at, &size) == 0);
        m.port = ntohs(at.sin_port);
        CHECK(pthread_create(&server, NULL, serve_refusals, &listener) == 0);
        buf_init(&refused, 4096);
        CHECK(!smtp_send(&m, NULL, &until, &refused, &e));
        CHECK_F(e.code == (i < 2 ? ERR_UPSTREAM : ERR_INPUT), "%zu: %s", i, e.text);
        CHECK(str_find(buf_str(&refused), orders[i][0]) != STR_NONE);
        CHECK(str_find(buf_str(&refused), orders[i][1]) != STR_NONE);
        buf_release(&refused);
        pthread_join(server, NULL);
        (void)close(listener);
    }
}

TEST_MAIN(T(a_message_is_not_given_up_while_a_recipient_is_refused_for_now),
          T(smtp_replies_are_read_strictly), T(smtp_replies_have_ceilings),
          T(smtp_extensions_are_found_by_whole_words), T(smtp_dots_are_stuffed))
