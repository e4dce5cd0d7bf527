/* The sign-in of the MCP client against malicious servers: it connects only to allowed addresses,
 * and no reply ends the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "mcp/auth.h"
#include "mcp_peer.h"

#define FLOWS 40
#define SCOPE_SIZE 50000
#define WAIT_MS 30000

/* An authorization server that gives a token to every client. */
static void give_token(struct peer *p, int fd, str head, str body)
{
    char json[1000];

    (void)body;
    if (str_find(head, STR("/.well-known/oauth-authorization-server")) != STR_NONE)
        (void)snprintf(json,
                       sizeof json,
                       "{\"issuer\":\"http://127.0.0.1:%u\",\"token_endpoint\":"
                       "\"http://127.0.0.1:%u/token\"}",
                       p->port,
                       p->port);
    else if (str_find(head, STR("POST /token")) != STR_NONE)
        (void)snprintf(
            json, sizeof json, "{\"access_token\":\"secret\",\"token_type\":\"Bearer\"}");
    else
        (void)snprintf(json,
                       sizeof json,
                       "{\"resource\":\"http://127.0.0.1:%u/mcp\",\"authorization_servers\":"
                       "[\"http://127.0.0.1:%u\"]}",
                       p->port,
                       p->port);
    peer_reply(fd, 200, "", str_c(json));
}

struct waiter {
    struct peer peer;
    _Atomic bool cancel;
};

static const struct mcp_auth_options machine = {
    .client_id = STR_INIT("me"), .client_secret = STR_INIT("pw"), .client_credentials = true};

static bool sign_in_until(struct mcp_auth *a, str challenge, const _Atomic bool *cancel,
                          struct err *e)
{
    struct buf headers;
    unsigned used;

    buf_init(&headers, 100000);
    used = mcp_auth_header(a, &headers);
    buf_release(&headers);
    return mcp_auth_challenged(
        a,
        401,
        challenge,
        used,
        (struct mcp_patience){clock_deadline_ns(&clock_real, WAIT_MS), cancel},
        e);
}

static bool sign_in(struct mcp_auth *a, str challenge, struct err *e)
{
    return sign_in_until(a, challenge, NULL, e);
}

static void hang(struct peer *p, int fd, str head, str body)
{
    (void)fd, (void)head, (void)body;
    while (!atomic_load(&p->stop))
        (void)usleep(10000);
}

static void *cancel_at_request(void *ctx)
{
    struct waiter *w = ctx;

    while (!atomic_load(&w->peer.count))
        (void)usleep(10000);
    atomic_store(&w->cancel, true);
    return NULL;
}

TEST(a_cancelled_sign_in_ends_while_the_server_hangs)
{
    struct waiter w = {.cancel = false};
    struct mcp_auth *a;
    struct mcp_io *io;
    pthread_t thread;
    struct err e;
    char url[100];
    uint64_t began;

    peer_start(&w.peer, hang);
    io = mcp_io_new(NULL, &e);
    CHECK(io);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", w.peer.port);
    a = mcp_auth_new(io, &machine, str_c(url));
    CHECK(pthread_create(&thread, NULL, cancel_at_request, &w) == 0);
    began = clock_mono_ns(&clock_real);
    CHECK(!sign_in_until(a, STR("Bearer"), &w.cancel, &e));
    CHECK_F(e.code == ERR_CANCELLED, "%s", e.text);
    CHECK(clock_mono_ns(&clock_real) - began < WAIT_MS * (uint64_t)CLOCK_NS_PER_MS / 2);
    CHECK(pthread_join(thread, NULL) == 0);
    mcp_auth_free(a);
    mcp_io_free(io);
    peer_stop(&w.peer);
}

TEST(ever_new_scopes_end_with_an_error_and_not_the_process)
{
    struct mcp_auth *a;
    struct mcp_io *io;
    struct peer p;
    struct buf b;
    struct err e;
    char url[100];
    bool ok = true;

    peer_start(&p, give_token);
    io = mcp_io_new(NULL, &e);
    CHECK(io);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", p.port);
    a = mcp_auth_new(io, &machine, str_c(url));
    CHECK_F(sign_in(a, STR("Bearer scope=\"one\""), &e), "%s", e.text);
    buf_init(&b, 2 * SCOPE_SIZE);
    for (int i = 0; i < FLOWS; i++) {
        buf_reset(&b);
        buf_printf(&b, "Bearer scope=\"s%d_", i);
        while (b.n < SCOPE_SIZE)
            buf_add(&b, STR("aaaaaaaaaa"));
        buf_add_c(&b, '"');
        ok = sign_in(a, buf_str(&b), &e);
    }
    CHECK(!ok && e.code == ERR_LIMIT);
    CHECK_F(sign_in(a, STR("Bearer scope=\"two\""), &e), "%s", e.text);
    buf_release(&b);
    mcp_auth_free(a);
    mcp_io_free(io);
    peer_stop(&p);
}

TEST(a_remote_server_cannot_send_the_client_to_this_machine)
{
    struct mcp_auth *a;
    struct mcp_io *io;
    struct peer p;
    struct err e;
    char challenge[200];

    peer_start(&p, give_token);
    io = mcp_io_new(NULL, &e);
    CHECK(io);
    a = mcp_auth_new(io, &machine, STR("https://server.example/mcp"));
    (void)snprintf(challenge,
                   sizeof challenge,
                   "Bearer resource_metadata=\"http://127.0.0.1:%u/meta\"",
                   p.port);
    CHECK(!sign_in(a, str_c(challenge), &e));
    CHECK_F(e.code == ERR_AUTH, "%s", e.text);
    CHECK_INT(p.count, 0);
    mcp_auth_free(a);
    mcp_io_free(io);
    peer_stop(&p);
}

TEST_MAIN(T(a_cancelled_sign_in_ends_while_the_server_hangs),
          T(ever_new_scopes_end_with_an_error_and_not_the_process),
          T(a_remote_server_cannot_send_the_client_to_this_machine))
