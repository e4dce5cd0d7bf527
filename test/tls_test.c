/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls.h"

#include "cert.h"
#include "net/tls_sessions.h"
#include "net_peer.h"
#include "net_side.h"
#include "test.h"

#include <malloc.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#define FLOOD_SIZE ((size_t)8 << 20)

/* Our client and our server on one loop. */
struct both {
    struct certs certs;
    struct tls *client_tls, *server_tls;
    struct side client, server;
    int listener;
    unsigned port;
};

static struct tls *client_new(const struct certs *c, const char *authority)
{
    char path[CERT_PATH_SIZE];
    struct err e;
    struct tls *t = tls_client_new(cert_path(c, authority, path), &e);

    CHECK_F(t, "%s", e.text);
    return t;
}

static struct tls *server_new(const struct certs *c, const char *name)
{
    char cert[CERT_PATH_SIZE], key[CERT_PATH_SIZE], file[32];
    struct err e;
    struct tls *t;

    snprintf(file, sizeof file, "%s.pem", name);
    cert_path(c, file, cert);
    snprintf(file, sizeof file, "%s.key", name);
    t = tls_server_new(cert, cert_path(c, file, key), &e);
    CHECK_F(t, "%s", e.text);
    return t;
}

static void both_init(struct both *b, const char *cert)
{
    certs_make(&b->certs);
    b->client_tls = client_new(&b->certs, "ca.pem");
    b->server_tls = server_new(&b->certs, cert);
    b->listener = peer_listen(&b->port);
}

static void serve(struct both *b)
{
    int fd = accept4(b->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct err e;

    side_init(&b->server, &b->client);
    b->server.conn = conn_accept(b->server.loop, fd, b->server_tls, &side_handler, &b->server, &e);
    CHECK_F(b->server.conn, "%s", e.text);
}

static void both_connect(struct both *b, const char *host)
{
    side_connect(&b->client, b->client_tls, host, b->port);
    serve(b);
}

static void both_close(struct both *b)
{
    side_release(&b->server);
    side_release(&b->client);
}

static void both_release(struct both *b)
{
    tls_free(b->client_tls);
    tls_free(b->server_tls);
    close(b->listener);
    certs_remove(&b->certs);
}

/* Waits for data from the server, so that the client has read the session tickets before it. */
static void exchange(struct both *b)
{
    conn_write(b->client.conn, STR("ping"));
    side_run_until(&b->server, "ob");
    CHECK_STR(buf_str(&b->server.in), "ping");
    conn_write(b->server.conn, STR("pong"));
    side_run_until(&b->client, "ob");
    CHECK_STR(buf_str(&b->client.in), "pong");
}

TEST(tls_carries_bytes_both_ways_and_ends_properly)
{
    struct both b;

    both_init(&b, "good");
    both_connect(&b, "localhost");
    exchange(&b);
    conn_finish(b.client.conn);
    side_run_until(&b.server, "obe");
    conn_write(b.server.conn, STR("last words"));
    conn_finish(b.server.conn);
    side_run_until(&b.client, "obe");
    CHECK_STR(buf_str(&b.client.in), "ponglast words");
    both_close(&b);
    both_release(&b);
}

TEST(tls_does_not_see_the_cuts)
{
    struct peer_relay relay;
    struct both b;

    both_init(&b, "good");
    peer_relay_start(&relay, b.port);
    side_connect(&b.client, b.client_tls, "localhost", relay.port);
    serve(&b);
    exchange(&b);
    both_close(&b);
    peer_relay_join(&relay);
    both_release(&b);
}

static const struct {
    const char *cert, *host, *words; /* NULL: no error */
} verdicts[] = {
    {"good", "localhost", NULL},
    {"good", "127.0.0.1", NULL},
    {"good", "a.wild.test", NULL},
    {"good", "LOCALHOST", NULL},
    {"good", "a.b.wild.test", "the certificate of a.b.wild.test is for another name"},
    {"good", "wild.test", "the certificate of wild.test is for another name"},
    {"good", "127.0.0.2", "the certificate of 127.0.0.2 is for another address"},
    {"good", "::1", "the certificate of ::1 is for another address"},
    {"wrong", "localhost", "the certificate of localhost is for another name"},
    {"wrong", "other.test", NULL},
    {"expired", "localhost", "the certificate of localhost has expired"},
    {"early", "localhost", "the certificate of localhost is not valid yet"},
    {"self", "localhost", "the certificate of localhost is not trusted: it is self-signed"},
};

TEST(tls_takes_only_a_certificate_that_is_right_in_every_way)
{
    for (size_t i = 0; i < COUNT_OF(verdicts); i++) {
        struct both b;

        both_init(&b, verdicts[i].cert);
        both_connect(&b, verdicts[i].host);
        side_run_until(&b.client, verdicts[i].words ? "x" : "o");
        if (verdicts[i].words) {
            CHECK_STR(str_c(b.client.err.text), verdicts[i].words);
            CHECK_INT(b.client.err.code, ERR_UPSTREAM);
        }
        both_close(&b);
        both_release(&b);
    }
}

TEST(tls_does_not_trust_an_authority_it_was_not_given)
{
    struct both b;

    both_init(&b, "good");
    tls_free(b.client_tls);
    b.client_tls = client_new(&b.certs, "self.pem");
    both_connect(&b, "localhost");
    side_run_until(&b.client, "x");
    CHECK_STR(str_c(b.client.err.text),
              "the certificate of localhost is not trusted: its authority is unknown here");
    /* An alert informs the server. */
    while (b.server.err.text[0] == 0)
        loop_run(b.server.loop);
    both_close(&b);
    /* A self-signed certificate is trusted if the configuration names it. */
    tls_free(b.server_tls);
    b.server_tls = server_new(&b.certs, "self");
    both_connect(&b, "localhost");
    side_run_until(&b.client, "o");
    both_close(&b);
    both_release(&b);
}

TEST(tls_takes_up_a_session_with_the_same_host_only)
{
    static const struct {
        const char *host;
        bool resumed;
    } steps[] = {{"localhost", false},
                 {"localhost", true},
                 {"localhost", true},
                 {"127.0.0.1", false},
                 {"127.0.0.1", true},
                 {"localhost", true}};
    struct both b;

    both_init(&b, "good");
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        both_connect(&b, steps[i].host);
        exchange(&b);
        CHECK_F(conn_resumed(b.client.conn) == steps[i].resumed, "step %zu", i);
        CHECK(conn_resumed(b.server.conn) == steps[i].resumed);
        both_close(&b);
    }
    both_release(&b);
}

TEST(tls_keeps_a_bounded_number_of_sessions_and_gives_the_newest_first)
{
    struct tls_sessions *s = tls_sessions_new();
    SSL_SESSION *last = NULL, *got;
    char host[32];
    size_t n = 0;

    for (int i = 0; i < 3 * TLS_SESSIONS_HOST_MAX; i++)
        tls_sessions_add(s, STR("one"), last = SSL_SESSION_new());
    got = tls_sessions_take(s, STR("one"));
    CHECK(got == last);
    for (; got; got = tls_sessions_take(s, STR("one"))) {
        SSL_SESSION_free(got);
        n++;
    }
    CHECK_INT(n, TLS_SESSIONS_HOST_MAX);
    for (int i = 0; i < 2 * TLS_SESSIONS_MAX; i++) {
        snprintf(host, sizeof host, "host %d", i);
        tls_sessions_add(s, str_c(host), SSL_SESSION_new());
    }
    CHECK(!tls_sessions_take(s, STR("host 0")));
    CHECK(!tls_sessions_take(s, STR("host 255")));
    got = tls_sessions_take(s, STR("host 256"));
    CHECK(got);
    SSL_SESSION_free(got);
    tls_sessions_free(s);
    tls_sessions_free(NULL);
}

TEST(tls_holds_no_more_than_its_mark_for_a_slow_reader)
{
    struct both b;

    both_init(&b, "good");
    both_connect(&b, "localhost");
    exchange(&b);
    b.server.keep = false;
    b.server.got = 0;
    conn_pause(b.server.conn);
    b.client.flood_left = FLOOD_SIZE;
    side_flood(&b.client);
    for (int i = 0; i < 20; i++)
        side_run_once(&b.client);
    CHECK(b.client.flood_left > 0 && conn_full(b.client.conn));
    CHECK_INT(b.server.got, 0);
    conn_resume(b.server.conn);
    while (b.server.got < FLOOD_SIZE)
        loop_run(b.server.loop);
    CHECK(b.client.queued_most < CONN_HIGH + 40000);
    CHECK_INT(conn_sent(b.client.conn), FLOOD_SIZE + 4);
    both_close(&b);
    both_release(&b);
}

TEST(tls_paused_loses_nothing_that_lies_between_records)
{
    struct both b;

    both_init(&b, "good");
    both_connect(&b, "localhost");
    exchange(&b);
    b.client.pause_at = 'b';
    for (int i = 0; i < 3; i++) {
        conn_write(b.server.conn, STR("record "));
        conn_flush(b.server.conn);
    }
    conn_finish(b.server.conn);
    while (b.client.in.n < 4 + 3 * 7 || !memchr(b.client.log.p, 'e', b.client.log.n)) {
        loop_run(b.client.loop);
        conn_resume(b.client.conn);
    }
    CHECK_STR(buf_str(&b.client.in), "pongrecord record record ");
    both_close(&b);
    both_release(&b);
}

TEST(tls_paused_hears_at_once_that_the_peer_left)
{
    struct both b;

    both_init(&b, "good");
    both_connect(&b, "localhost");
    exchange(&b);
    conn_pause(b.server.conn);
    conn_close(b.client.conn);
    b.client.close_at = 'c';
    side_happened(&b.client, 'c');
    side_run_until(&b.server, "obh");
    both_close(&b);
    both_release(&b);
}

TEST(tls_says_what_the_other_side_did_instead_of_a_handshake)
{
    static const struct {
        const char *bytes, *words;
    } cases[] = {
        {"HTTP/1.1 400 Bad Request\r\n\r\n", "the peer does not speak TLS here"},
        {"", "the peer closed the connection during the TLS handshake"},
    };
    struct both b;

    both_init(&b, "good");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char bytes[4096];
        int peer;

        side_connect(&b.client, b.client_tls, "localhost", b.port);
        peer = peer_accept(b.listener);
        side_run_once(&b.client);
        CHECK(recv(peer, bytes, sizeof bytes, 0) > 0);
        peer_send(peer, str_c(cases[i].bytes));
        shutdown(peer, SHUT_WR);
        side_run_until(&b.client, "x");
        CHECK_STR(str_c(b.client.err.text), cases[i].words);
        close(peer);
        side_release(&b.client);
    }
    both_release(&b);
}

TEST(tls_server_survives_a_client_that_speaks_plainly)
{
    struct both b;
    int peer;

    both_init(&b, "good");
    side_init(&b.client, NULL);
    peer = peer_connect(b.port);
    serve(&b);
    peer_send(peer, STR("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    side_run_until(&b.server, "x");
    CHECK_STR(str_c(b.server.err.text), "the peer does not speak TLS here");
    close(peer);
    both_close(&b);
    both_release(&b);
}

/* A peer that uses OpenSSL directly, on a thread. */
struct raw {
    struct certs *certs;
    int fd;
    int version_max;
    bool polite;
    int rounds, listener;
    pthread_t thread;
};

static void *raw_server(void *ctx)
{
    struct raw *r = ctx;
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    char path[CERT_PATH_SIZE];

    peer_no_sigpipe();
    SSL_CTX_set_security_level(c, 0);
    SSL_CTX_set_max_proto_version(c, r->version_max);
    SSL_CTX_use_certificate_file(c, cert_path(r->certs, "good.pem", path), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(c, cert_path(r->certs, "good.key", path), SSL_FILETYPE_PEM);
    for (int i = 0; i < r->rounds; i++) {
        SSL *ssl = SSL_new(c);
        char byte;

        r->fd = peer_accept(r->listener);
        SSL_set_fd(ssl, r->fd);
        if (SSL_accept(ssl) == 1 && SSL_read(ssl, &byte, 1) == 1) {
            SSL_write(ssl, "pong", 4);
            if (r->polite)
                SSL_shutdown(ssl);
            SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
            shutdown(r->fd, SHUT_WR);
        }
        peer_read_all(r->fd);
        close(r->fd);
        SSL_free(ssl);
    }
    SSL_CTX_free(c);
    return NULL;
}

static void raw_start(struct raw *r, struct both *b)
{
    r->certs = &b->certs;
    r->listener = b->listener;
    CHECK(pthread_create(&r->thread, NULL, raw_server, r) == 0);
}

TEST(tls_end_without_a_word_is_no_end)
{
    struct both b;

    both_init(&b, "good");
    for (int polite = 0; polite < 2; polite++) {
        struct raw r = {.polite = polite != 0, .version_max = TLS1_3_VERSION, .rounds = 1};

        raw_start(&r, &b);
        side_connect(&b.client, b.client_tls, "localhost", b.port);
        conn_write(b.client.conn, STR("x"));
        side_run_until(&b.client, polite ? "obe" : "obx");
        CHECK_STR(buf_str(&b.client.in), "pong");
        if (!polite)
            CHECK_STR(str_c(b.client.err.text),
                      "the peer closed the connection without ending TLS first");
        side_release(&b.client);
        pthread_join(r.thread, NULL);
    }
    both_release(&b);
}

TEST(tls_speaks_1_2_and_takes_up_its_sessions_too)
{
    struct raw r = {.polite = true, .version_max = TLS1_2_VERSION, .rounds = 3};
    struct both b;

    both_init(&b, "good");
    raw_start(&r, &b);
    for (int i = 0; i < 3; i++) {
        side_connect(&b.client, b.client_tls, "localhost", b.port);
        conn_write(b.client.conn, STR("x"));
        side_run_until(&b.client, "obe");
        CHECK_F(conn_resumed(b.client.conn) == (i > 0), "%d", i);
        side_release(&b.client);
    }
    pthread_join(r.thread, NULL);
    both_release(&b);
}

TEST(tls_refuses_1_1)
{
    struct raw r = {.version_max = TLS1_1_VERSION, .rounds = 1};
    struct both b;

    both_init(&b, "good");
    raw_start(&r, &b);
    side_connect(&b.client, b.client_tls, "localhost", b.port);
    side_run_until(&b.client, "x");
    CHECK(str_starts(str_c(b.client.err.text), STR("TLS failed during the TLS handshake: ")));
    side_release(&b.client);
    pthread_join(r.thread, NULL);
    both_release(&b);
}

static void *h2_client(void *ctx)
{
    struct raw *r = ctx;
    SSL_CTX *c = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(c);

    peer_no_sigpipe();
    CHECK(SSL_set_alpn_protos(ssl, (const unsigned char *)"\x02h2", 3) == 0);
    SSL_set_fd(ssl, r->fd);
    r->polite = SSL_connect(ssl) == 1;
    SSL_free(ssl);
    SSL_CTX_free(c);
    return NULL;
}

TEST(tls_server_refuses_who_speaks_only_http_2)
{
    struct raw r = {.polite = true};
    struct both b;

    both_init(&b, "good");
    side_init(&b.client, NULL);
    r.fd = peer_connect(b.port);
    serve(&b);
    CHECK(pthread_create(&r.thread, NULL, h2_client, &r) == 0);
    side_run_until(&b.server, "x");
    conn_close(b.server.conn);
    pthread_join(r.thread, NULL);
    CHECK(!r.polite);
    close(r.fd);
    b.server.close_at = 'x';
    both_close(&b);
    both_release(&b);
}

TEST(tls_says_which_file_is_wrong)
{
    char a[CERT_PATH_SIZE], b[CERT_PATH_SIZE];
    struct certs c;
    struct err e;

    certs_make(&c);
    CHECK(!tls_client_new("/nowhere/ca.pem", &e));
    CHECK(str_find(str_c(e.text), STR("/nowhere/ca.pem: No such file")) != STR_NONE);
    CHECK(!tls_client_new(cert_path(&c, "ca.key", a), &e));
    CHECK_INT(e.code, ERR_INPUT);
    CHECK(!tls_server_new("/nowhere/x.pem", "/nowhere/x.key", &e));
    CHECK(str_find(str_c(e.text), STR("/nowhere/x.pem: No such file")) != STR_NONE);
    CHECK(!tls_server_new(cert_path(&c, "good.pem", a), cert_path(&c, "old.key", b), &e));
    CHECK(str_find(str_c(e.text), STR("old.key")) != STR_NONE);
    CHECK(!tls_server_new(cert_path(&c, "good.pem", a), "/nowhere/x.key", &e));
    certs_remove(&c);
}

/* A process reads the system's CA bundle once, for its first connection. */
TEST(tls_trusts_the_bundle_of_the_system_from_its_first_connection_on)
{
    char path[CERT_PATH_SIZE];
    struct both b;
    struct err e;

    both_init(&b, "good");
    tls_free(b.client_tls);
    b.client_tls = tls_client_new(NULL, &e);
    CHECK_F(b.client_tls, "%s", e.text);
    CHECK_INT(setenv("SSL_CERT_FILE", cert_path(&b.certs, "ca.pem", path), 1), 0);
    both_connect(&b, "localhost");
    exchange(&b);
    both_close(&b);
    tls_free(b.server_tls);
    b.server_tls = server_new(&b.certs, "self");
    both_connect(&b, "localhost");
    side_run_until(&b.client, "x");
    CHECK_STR(str_c(b.client.err.text),
              "the certificate of localhost is not trusted: it is self-signed");
    both_close(&b);
    both_release(&b);
    tls_free(NULL);
}

TEST(tls_idle_takes_bounded_memory)
{
    enum { PAIRS = 20 };
    static struct both b[PAIRS];
    size_t before = 0, each;

    for (int i = 0; i < PAIRS; i++) {
        if (i > 0) {
            b[i] = b[0];
        } else {
            both_init(&b[0], "good");
        }
        both_connect(&b[i], "localhost");
        exchange(&b[i]);
        if (i == 0)
            before = mallinfo2().uordblks;
    }
    each = (mallinfo2().uordblks - before) / (PAIRS - 1);
    /* One client, one server, and a loop with its buffers; sanitizers replace the allocator and
     * report 0. */
    CHECK_F(each < LOOP_SCRATCH_SIZE + LOOP_EARLY_SIZE + 64 * 1024, "%zu", each);
    for (int i = 0; i < PAIRS; i++)
        both_close(&b[i]);
    both_release(&b[0]);
}

TEST_MAIN(T(tls_carries_bytes_both_ways_and_ends_properly), T(tls_does_not_see_the_cuts),
          T(tls_takes_only_a_certificate_that_is_right_in_every_way),
          T(tls_does_not_trust_an_authority_it_was_not_given),
          T(tls_takes_up_a_session_with_the_same_host_only),
          T(tls_keeps_a_bounded_number_of_sessions_and_gives_the_newest_first),
          T(tls_holds_no_more_than_its_mark_for_a_slow_reader),
          T(tls_paused_loses_nothing_that_lies_between_records),
          T(tls_paused_hears_at_once_that_the_peer_left),
          T(tls_says_what_the_other_side_did_instead_of_a_handshake),
          T(tls_server_survives_a_client_that_speaks_plainly), T(tls_end_without_a_word_is_no_end),
          T(tls_speaks_1_2_and_takes_up_its_sessions_too), T(tls_refuses_1_1),
          T(tls_server_refuses_who_speaks_only_http_2), T(tls_says_which_file_is_wrong),
          T(tls_trusts_the_bundle_of_the_system_from_its_first_connection_on),
          T(tls_idle_takes_bounded_memory))
