/* SPDX-License-Identifier: Apache-2.0 */
#include "client_side.h"
#include "net_peer.h"
#include "test.h"

#include <sys/socket.h>
#include <unistd.h>

#define MUCH ((size_t)8 << 20)

static const char good_reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

static void serve_good(struct world *w)
{
    int fd = world_accept(w);

    while (world_request(fd))
        world_reply(fd, good_reply);
    close(fd);
}

static void serve_bad(struct world *w)
{
    int fd = world_accept(w);

    world_request(fd);
    world_reply(fd, "HELLO\r\n");
    peer_read_all(fd);
    close(fd);
}

static void serve_much(struct world *w)
{
    static char much[MUCH];
    char head[100];
    int fd = world_accept(w);

    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", MUCH);
    world_request(fd);
    world_reply(fd, head);
    peer_send(fd, (str){much, MUCH});
    atomic_store(&w->server_got, 1); /* the socket accepted all bytes */
    peer_read_all(fd);
    close(fd);
}

TEST(client_paused_leaves_the_rest_with_the_server)
{
    struct world w;
    struct call c;
    uint64_t got;

    world_init(&w, &clock_real, serve_much, 0);
    call_init(&c, &w);
    c.keep = false;
    c.pause_at = 'b';
    call_begin(&c);
    call_run_until(&c, "hb");
    got = c.got;
    CHECK(got <= LOOP_SCRATCH_SIZE);
    for (int i = 0; i < 20; i++) {
        world_turn(&w);
    }
    CHECK_INT(c.got, got);
    CHECK_INT(atomic_load(&w.server_got), 0);
    c.pause_at = 0;
    client_resume(c.call);
    call_run_until(&c, "hbe");
    CHECK_INT(c.got, MUCH);
    CHECK_INT(client_idle_count(w.client), 1);
    call_release(&c);
    world_release(&w);
}

/* Sets server_got when the client has closed. */
static void serve_until_closed(struct world *w)
{
    int fd = world_accept(w);

    world_request(fd);
    if (w->step > 0)
        world_reply(fd, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n");
    if (w->step > 1)
        world_reply(fd, "hello");
    peer_read_all(fd);
    close(fd);
}

TEST(client_cancel_closes_the_connection_before_it_returns)
{
    for (int step = 0; step < 3; step++) {
        struct world w;
        struct call c;

        world_init(&w, &clock_real, serve_until_closed, step);
        call_init(&c, &w);
        c.request.first_ms = c.request.stall_ms = 60000;
        call_begin(&c);
        if (step == 0)
            while (atomic_load(&w.accepted) == 0) {
                world_turn(&w);
            }
        else
            call_run_until(&c, step == 1 ? "h" : "hb");
        client_cancel(c.call);
        pthread_join(w.thread, NULL); /* blocks until the script ends, without running the loop */
        w.running = false;
        call_release(&c);
        world_release(&w);
    }
}

TEST(client_may_be_cancelled_in_any_callback)
{
    for (const char *at = "hbex"; *at; at++) {
        struct world w;
        struct call c;
        const char *log = *at == 'h' ? "h" : *at == 'b' ? "hb" : *at == 'e' ? "hbe" : "x";

        world_init(&w, &clock_real, *at == 'x' ? serve_bad : serve_good, 0);
        call_init(&c, &w);
        c.cancel_at = *at;
        call_begin(&c);
        call_run_until(&c, log);
        for (int i = 0; i < 3; i++) {
            world_turn(&w);
        }
        CHECK_STR(buf_str(&c.log), log);
        CHECK_INT(client_idle_count(w.client), *at == 'e');
        call_release(&c);
        world_release(&w);
    }
}

TEST(client_may_be_cancelled_while_the_name_is_looked_up)
{
    struct world w;
    struct call c;

    world_init(&w, &clock_real, NULL, 0);
    for (int i = 0; i < 50; i++) {
        call_url(&c, &w, "http", i % 2 ? "two.test" : "no.test");
        client_cancel(c.call);
        CHECK_INT(c.log.n, 0);
        call_release(&c);
    }
    world_release(&w);
}

TEST(client_starts_a_call_in_a_callback_on_the_same_connection)
{
    struct world w;
    struct call a, b;

    world_init(&w, &clock_real, serve_good, 0);
    call_init(&a, &w);
    call_init(&b, &w);
    a.then = &b;
    call_begin(&a);
    call_run_until(&b, "hbe");
    CHECK_STR(buf_str(&a.log), "hbe");
    CHECK_INT(atomic_load(&w.accepted), 1);
    call_release(&a);
    call_release(&b);
    world_release(&w);
}

enum { AT_ONCE = 40 };

/* Accepts all connections before answering one, so no call depends on another's reply. */
static void serve_at_once(struct world *w)
{
    int fds[AT_ONCE];

    for (int i = 0; i < AT_ONCE; i++) {
        fds[i] = world_accept(w);
        CHECK(world_request(fds[i]));
    }
    for (int i = 0; i < AT_ONCE; i++)
        world_reply(fds[i], good_reply);
    if (w->step == 0)
        for (int i = 0; i < AT_ONCE; i++)
            peer_read_all(fds[i]);
    for (int i = 0; i < AT_ONCE; i++)
        close(fds[i]);
}

TEST(client_has_as_many_connections_as_calls_and_closes_them_when_idle)
{
    static struct call calls[AT_ONCE];

    for (int step = 0; step < 2; step++) {
        struct clock clock;
        struct world w;

        clock_fake_init(&clock, 0);
        world_init(&w, &clock, serve_at_once, step);
        for (int i = 0; i < AT_ONCE; i++)
            call_start(&calls[i], &w, "GET", STR(""));
        for (int i = 0; i < AT_ONCE; i++) {
            call_run_until(&calls[i], "hbe");
            call_release(&calls[i]);
        }
        if (step == 0) {
            CHECK_INT(client_idle_count(w.client), AT_ONCE);
            clock_fake_advance_ms(&clock, CLIENT_IDLE_MS - 1);
            world_turn(&w);
            CHECK_INT(client_idle_count(w.client), AT_ONCE);
            clock_fake_advance_ms(&clock, 2);
        }
        while (client_idle_count(w.client) > 0) /* the server closes them unless they time out */
            world_turn(&w);
        world_release(&w);
    }
}

struct timed {
    const char *log;
    uint64_t connect_ms, first_ms, stall_ms;
    int step;
    const char *words;
};

TEST(client_gives_up_when_time_is_over)
{
    static const struct timed cases[] = {
        {"x", 0, 5000, 0, 0, "no reply within 5.0 s"},
        {"hx", 0, 5000, 3000, 1, "nothing came for 3.0 s after 0 bytes of its reply"},
        {"hbx", 0, 5000, 3000, 2, "nothing came for 3.0 s after 5 bytes of its reply"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct clock clock;
        struct world w;
        struct call c;

        clock_fake_init(&clock, 0);
        world_init(&w, &clock, serve_until_closed, cases[i].step);
        call_init(&c, &w);
        c.request.first_ms = cases[i].first_ms;
        c.request.stall_ms = cases[i].stall_ms;
        call_begin(&c);
        while (atomic_load(&w.accepted) == 0 || c.log.n + 1 < strlen(cases[i].log))
            world_turn(&w);
        clock_fake_advance_ms(&clock, 2999);
        world_turn(&w);
        CHECK_INT(c.log.n, strlen(cases[i].log) - 1);
        if (cases[i].stall_ms) { /* a paused call has no stall limit */
            client_pause(c.call);
            clock_fake_advance_ms(&clock, 100000);
            for (int j = 0; j < 3; j++) {
                world_turn(&w);
            }
            CHECK_INT(c.log.n, strlen(cases[i].log) - 1);
            client_resume(c.call);
        }
        clock_fake_advance_ms(&clock, 5001);
        call_run_until(&c, cases[i].log);
        CHECK_INT(c.err.code, ERR_TIMEOUT);
        CHECK_F(strstr(c.err.text, cases[i].words), "%s", c.err.text);
        CHECK(c.sent);
        call_release(&c);
        world_release(&w);
    }
}

TEST(client_free_ends_what_is_under_way)
{
    static struct call calls[4];
    struct world w;

    world_init(&w, &clock_real, NULL, 0);
    for (int i = 0; i < 4; i++)
        call_url(&calls[i], &w, "http", i % 2 ? "127.0.0.1" : "no.test");
    world_release(&w);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(calls[i].log.n, 0);
        call_release(&calls[i]);
    }
    client_free(NULL);
}

TEST_MAIN(T(client_paused_leaves_the_rest_with_the_server),
          T(client_cancel_closes_the_connection_before_it_returns),
          T(client_may_be_cancelled_in_any_callback),
          T(client_may_be_cancelled_while_the_name_is_looked_up),
          T(client_starts_a_call_in_a_callback_on_the_same_connection),
          T(client_has_as_many_connections_as_calls_and_closes_them_when_idle),
          T(client_gives_up_when_time_is_over), T(client_free_ends_what_is_under_way))
