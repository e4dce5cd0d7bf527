/* SPDX-License-Identifier: Apache-2.0 */
#include "cert.h"
#include "client_side.h"
#include "net_peer.h"
#include "test.h"

#include <openssl/ssl.h>
#include <unistd.h>

#define REPLIES 3

/* The folder of certificates, global for the script's thread. */
static struct certs certs;
static const char *const names[] = {"good", "wrong"};

static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
static const char to_close[] = "HTTP/1.1 200 OK\r\n\r\nhello";

static SSL_CTX *server_new(int which)
{
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    char path[CERT_PATH_SIZE], file[32];

    snprintf(file, sizeof file, "%s.pem", names[which]);
    SSL_CTX_use_certificate_file(c, cert_path(&certs, file, path), SSL_FILETYPE_PEM);
    snprintf(file, sizeof file, "%s.key", names[which]);
    SSL_CTX_use_PrivateKey_file(c, cert_path(&certs, file, path), SSL_FILETYPE_PEM);
    return c;
}

static bool request(SSL *ssl)
{
    char bytes[4096];

    return SSL_read(ssl, bytes, sizeof bytes) > 0;
}

/* step: 0 the right certificate and many replies; 1 the wrong certificate; 2 a reply that ends with
 * the connection; 3 as 2, but without close_notify. */
static void serve_tls(struct world *w)
{
    SSL_CTX *c = server_new(w->step == 1);
    int fd = world_accept(w);
    SSL *ssl = SSL_new(c);

    peer_no_sigpipe();
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1 && w->step == 0) {
        while (request(ssl))
            SSL_write(ssl, reply, sizeof reply - 1);
    } else if (w->step > 1 && request(ssl)) {
        SSL_write(ssl, to_close, sizeof to_close - 1);
        if (w->step == 2)
            SSL_shutdown(ssl);
        shutdown(fd, SHUT_WR);
    }
    peer_read_all(fd);
    SSL_free(ssl);
    close(fd);
    SSL_CTX_free(c);
}

static void tls_world(struct world *w, const struct clock *clock, void (*script)(struct world *),
                      int step)
{
    char path[CERT_PATH_SIZE];
    struct err e;

    world_init(w, clock, script, step);
    client_free(w->client);
    w->tls = tls_client_new(cert_path(&certs, "ca.pem", path), &e);
    CHECK_F(w->tls, "%s", e.text);
    w->client = client_new(w->loop, w->resolver, w->tls);
}

static void tls_world_release(struct world *w)
{
    struct tls *t = w->tls;

    world_release(w);
    tls_free(t);
}

TEST(client_speaks_https_on_a_kept_connection)
{
    struct world w;
    struct call c;

    tls_world(&w, &clock_real, serve_tls, 0);
    for (int i = 0; i < REPLIES; i++) {
        call_url(&c, &w, "https", "localhost");
        call_run_until(&c, "hbe");
        CHECK_STR(buf_str(&c.body), "hello");
        call_release(&c);
    }
    CHECK_INT(atomic_load(&w.accepted), 1);
    CHECK_INT(client_idle_count(w.client), 1);
    tls_world_release(&w);
}

TEST(client_sends_nothing_to_whom_it_does_not_trust)
{
    struct world w;
    struct call c;

    tls_world(&w, &clock_real, serve_tls, 1);
    call_url(&c, &w, "https", "localhost");
    call_run_until(&c, "x");
    CHECK_F(
        strstr(c.err.text, ": the certificate of localhost is for another name"), "%s", c.err.text);
    CHECK(str_starts(str_c(c.err.text), STR("upstream localhost:")));
    CHECK_INT(c.err.code, ERR_UPSTREAM);
    CHECK(!c.sent);
    call_release(&c);
    tls_world_release(&w);
}

TEST(client_does_not_take_a_cut_for_the_end)
{
    for (int step = 2; step < 4; step++) {
        struct world w;
        struct call c;

        tls_world(&w, &clock_real, serve_tls, step);
        call_url(&c, &w, "https", "localhost");
        call_run_until(&c, step == 2 ? "hbe" : "hbx");
        CHECK_STR(buf_str(&c.body), "hello");
        if (step == 3)
            CHECK_F(
                strstr(c.err.text, "after 5 bytes, before the end of its reply"), "%s", c.err.text);
        call_release(&c);
        tls_world_release(&w);
    }
}

static void serve_silence(struct world *w)
{
    int fd = world_accept(w);

    peer_read_all(fd);
    close(fd);
}

TEST(client_gives_up_on_a_handshake_that_does_not_end)
{
    struct clock clock;
    struct world w;
    struct call c;

    clock_fake_init(&clock, 0);
    tls_world(&w, &clock, serve_silence, 0);
    call_url(&c, &w, "https", "127.0.0.1");
    while (atomic_load(&w.accepted) == 0)
        world_turn(&w);
    world_turn(&w);
    clock_fake_advance_ms(&clock, CLIENT_CONNECT_MS - 1);
    world_turn(&w);
    CHECK_INT(c.log.n, 0);
    clock_fake_advance_ms(&clock, 1);
    call_run_until(&c, "x");
    CHECK_INT(c.err.code, ERR_TIMEOUT);
    CHECK_F(strstr(c.err.text, ": the TLS handshake did not end within 10.0 s"), "%s", c.err.text);
    CHECK(!c.sent);
    call_release(&c);
    tls_world_release(&w);
}

static void serve_plain(struct world *w)
{
    int fd = world_accept(w);
    char bytes[4096];

    CHECK(recv(fd, bytes, sizeof bytes, 0) > 0);
    world_reply(fd, "HTTP/1.1 400 Bad Request\r\n\r\n");
    peer_read_all(fd);
    close(fd);
}

TEST(client_says_that_the_port_does_not_speak_tls)
{
    struct world w;
    struct call c;

    tls_world(&w, &clock_real, serve_plain, 0);
    call_url(&c, &w, "https", "localhost");
    call_run_until(&c, "x");
    CHECK_F(strstr(c.err.text, ": the peer does not speak TLS here"), "%s", c.err.text);
    call_release(&c);
    tls_world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(client_speaks_https_on_a_kept_connection),
        T(client_sends_nothing_to_whom_it_does_not_trust),
        T(client_does_not_take_a_cut_for_the_end),
        T(client_gives_up_on_a_handshake_that_does_not_end),
        T(client_says_that_the_port_does_not_speak_tls),
    };
    int failed;

    certs_make(&certs);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    certs_remove(&certs);
    return failed;
}
