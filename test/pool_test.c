/* SPDX-License-Identifier: Apache-2.0 */
#include "net/pool.h"

#include "net_side.h"
#include "test.h"

#include <sys/socket.h>
#include <unistd.h>

#define IDLE_MS 60000
#define PLACES 1000

struct kept {
    struct conn *conn;
    int peer;
};

static struct kept make(struct side *s)
{
    int pair[2];
    struct err e;
    struct kept k;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    k.conn = conn_accept(s->loop, pair[0], NULL, &side_handler, s, &e);
    CHECK_F(k.conn, "%s", e.text);
    k.peer = pair[1];
    return k;
}

static void take(struct pool *p, str key, struct kept k)
{
    CHECK(pool_take(p, key) == k.conn);
    conn_close(k.conn);
    close(k.peer);
}

TEST(pool_gives_the_one_that_was_put_last_and_keeps_keys_apart)
{
    struct kept a, b, c;
    struct side s;
    struct pool *p;

    side_init(&s, NULL);
    p = pool_new(s.loop, IDLE_MS);
    a = make(&s);
    b = make(&s);
    c = make(&s);
    CHECK(!pool_take(p, STR("x:1")));
    pool_put(p, STR("x:1"), a.conn);
    pool_put(p, STR("x:1"), b.conn);
    pool_put(p, STR("x:2"), c.conn);
    CHECK_INT(pool_count(p), 3);
    take(p, STR("x:1"), b);
    take(p, STR("x:1"), a);
    CHECK(!pool_take(p, STR("x:1")));
    take(p, STR("x:2"), c);
    CHECK_INT(pool_count(p), 0);
    pool_free(p);
    side_release(&s);
}

TEST(pool_closes_what_the_peer_has_closed_or_spoken_on)
{
    struct kept a, b, c;
    struct side s;
    struct pool *p;
    char byte;

    side_init(&s, NULL);
    p = pool_new(s.loop, IDLE_MS);
    a = make(&s);
    b = make(&s);
    c = make(&s);
    pool_put(p, STR("x"), a.conn);
    pool_put(p, STR("x"), b.conn);
    pool_put(p, STR("x"), c.conn);
    shutdown(b.peer, SHUT_WR);
    side_run_once(&s);
    CHECK_INT(pool_count(p), 2);
    CHECK(write(a.peer, "?", 1) == 1);
    side_run_once(&s);
    CHECK_INT(pool_count(p), 1);
    CHECK_INT(recv(b.peer, &byte, 1, MSG_DONTWAIT), 0);
    take(p, STR("x"), c);
    close(a.peer);
    close(b.peer);
    pool_free(p);
    side_release(&s);
}

TEST(pool_closes_each_when_it_has_been_idle_for_long_enough)
{
    struct kept a, b;
    struct clock clock;
    struct side s;
    struct pool *p;
    struct err e;

    side_init(&s, NULL);
    loop_free(s.loop);
    clock_fake_init(&clock, 0);
    s.loop = loop_new(&clock, &e);
    p = pool_new(s.loop, IDLE_MS);
    a = make(&s);
    b = make(&s);
    pool_put(p, STR("x"), a.conn);
    clock_fake_advance_ms(&clock, IDLE_MS / 2);
    side_run_once(&s);
    pool_put(p, STR("y"), b.conn);
    clock_fake_advance_ms(&clock, IDLE_MS / 2 + 1);
    side_run_once(&s);
    CHECK_INT(pool_count(p), 1);
    CHECK(!pool_take(p, STR("x")));
    clock_fake_advance_ms(&clock, IDLE_MS / 2 + 1);
    side_run_once(&s);
    CHECK_INT(pool_count(p), 0);
    close(a.peer);
    close(b.peer);
    pool_free(p);
    side_release(&s);
}

TEST(pool_forgets_places_that_nobody_uses)
{
    struct side s;
    struct pool *p;
    char key[32];

    side_init(&s, NULL);
    p = pool_new(s.loop, IDLE_MS);
    for (int i = 0; i < PLACES; i++) {
        struct kept k = make(&s);

        snprintf(key, sizeof key, "host%d", i);
        pool_put(p, str_c(key), k.conn);
        if (i % 10 == 0) {
            close(k.peer);
            side_run_once(&s);
            continue;
        }
        take(p, str_c(key), k);
        side_run_once(&s);
    }
    CHECK_INT(pool_count(p), 0);
    pool_free(p);
    pool_free(NULL);
    side_release(&s);
}

TEST_MAIN(T(pool_gives_the_one_that_was_put_last_and_keeps_keys_apart),
          T(pool_closes_what_the_peer_has_closed_or_spoken_on),
          T(pool_closes_each_when_it_has_been_idle_for_long_enough),
          T(pool_forgets_places_that_nobody_uses))
