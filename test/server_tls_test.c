/* SPDX-License-Identifier: Apache-2.0 */
#include "cert.h"
#include "server_peer.h"
#include "test.h"

#include "net/tls.h"

#include <openssl/ssl.h>
#include <unistd.h>

static struct served served;
static struct certs certs;
static struct tls *tls;
static SSL_CTX *client;

static void begin(void)
{
    char cert[CERT_PATH_SIZE], key[CERT_PATH_SIZE];
    struct err e;

    certs_make(&certs);
    tls =
        tls_server_new(cert_path(&certs, "good.pem", cert), cert_path(&certs, "good.key", key), &e);
    CHECK_F(tls, "%s", e.text);
    client = SSL_CTX_new(TLS_client_method());
    CHECK(client);
    served_begin(&served, &(struct server_options){.tls = tls});
}

static void end(void)
{
    served_end(&served);
    SSL_CTX_free(client);
    tls_free(tls);
    certs_remove(&certs);
}

static SSL *secure(int fd)
{
    SSL *s = SSL_new(client);

    CHECK(s && SSL_set_fd(s, fd) == 1 && SSL_connect(s) == 1);
    return s;
}

static void ask(SSL *s, const char *text)
{
    CHECK(SSL_write(s, text, (int)strlen(text)) == (int)strlen(text));
}

TEST(server_answers_over_tls_and_keeps_the_connection)
{
    char reply[4096];
    int fd;
    SSL *s;

    begin();
    fd = served_connect(&served);
    s = secure(fd);
    for (int i = 0; i < 3; i++) {
        int n;

        ask(s, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
        n = SSL_read(s, reply, sizeof reply); /* head and body share a record */
        CHECK(n > 0 && str_ends((str){reply, (size_t)n}, STR("POST /a  [hi]")));
    }
    CHECK_INT(served.requests, 3);
    SSL_free(s);
    close(fd);
    end();
}

TEST(server_notices_over_tls_that_a_client_left)
{
    begin();
    for (int i = 0; i < 2; i++) {
        int fd = served_connect(&served);
        SSL *s = secure(fd);
        char reply[4096];

        ask(s, "GET /silent HTTP/1.1\r\nHost: a\r\n\r\n");
        CHECK(SSL_read(s, reply, sizeof reply) > 0);
        if (i)
            SSL_shutdown(s); /* with or without close_notify */
        SSL_free(s);
        close(fd);
        CHECK(served_reached(&served.gone, i + 1));
    }
    end();
}

TEST(server_closes_what_is_no_tls_and_what_never_shakes_hands)
{
    struct buf out;
    int plain, silent;

    begin();
    buf_init(&out, 1 << 20);
    plain = served_connect(&served);
    served_send(plain, STR("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    (void)served_read_all(plain, &out);
    CHECK(str_find(buf_str(&out), STR("HTTP/1.1 200")) == STR_NONE);
    silent = served_connect(&served);
    served_pass(&served, 12000);
    CHECK(served_read_all(silent, &out));
    CHECK_INT(served.requests, 0);
    close(plain);
    close(silent);
    buf_release(&out);
    end();
}

TEST_MAIN(T(server_answers_over_tls_and_keeps_the_connection),
          T(server_notices_over_tls_that_a_client_left),
          T(server_closes_what_is_no_tls_and_what_never_shakes_hands))
