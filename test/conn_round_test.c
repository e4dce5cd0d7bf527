/* Connections that are readable in the same round: the loop reads all before it handles the first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/conn.h"

#include "net_peer.h"
#include "net_side.h"
#include "test.h"

#include <unistd.h>

/* Two connections in one round: the first's handler pauses, closes or resumes the second, whose
 * bytes have been read already. */
struct two {
    struct side first, second;
    void (*then)(struct conn *second);
};

static void first_hears(void *ctx, str bytes)
{
    struct two *t = ctx;

    side_handler.on_bytes(&t->first, bytes);
    if (t->then)
        t->then(t->second.conn);
    t->then = NULL;
}

static void two_open(struct two *t, int peers[2], void (*then)(struct conn *))
{
    static struct conn_handler h;

    h = side_handler;
    h.on_bytes = first_hears;
    *t = (struct two){.then = then};
    peers[0] = side_accept(&t->first);
    peers[1] = side_accept_on(&t->second, &t->first);
    side_run_once(&t->first);
    conn_handler_set(t->first.conn, &h, t);
    peer_send(peers[0], STR("one"));
    peer_send(peers[1], STR("two"));
    side_run_once(&t->first);
    CHECK_STR(buf_str(&t->first.in), "one");
}

static void two_release(struct two *t, const int peers[2])
{
    close(peers[0]);
    close(peers[1]);
    side_release(&t->second);
    side_release(&t->first);
}

TEST(conn_paused_by_another_keeps_what_it_has_read_until_it_is_resumed)
{
    struct two t;
    int peers[2];

    two_open(&t, peers, conn_pause);
    side_run_once(&t.first);
    CHECK_INT(t.second.log.n, 0);
    peer_send(peers[1], STR(" and more"));
    side_run_once(&t.first);
    CHECK_INT(t.second.log.n, 0);
    conn_resume(t.second.conn);
    side_run_once(&t.first);
    side_run_once(&t.first);
    CHECK_STR(buf_str(&t.second.in), "two and more");
    two_release(&t, peers);
}

TEST(conn_may_be_closed_by_whoever_is_given_what_it_kept)
{
    struct two t;
    int peers[2];

    two_open(&t, peers, conn_pause);
    t.second.close_at = 'b';
    conn_resume(t.second.conn);
    side_run_once(&t.first);
    CHECK_STR(buf_str(&t.second.in), "two");
    two_release(&t, peers);
}

TEST(conn_closed_by_another_is_told_nothing_of_what_it_has_read)
{
    struct two t;
    int peers[2];

    two_open(&t, peers, conn_close);
    side_run_once(&t.first);
    CHECK_INT(t.second.log.n, 0);
    t.second.conn = NULL;
    two_release(&t, peers);
}

TEST(loop_leaves_early_bytes_that_are_held_alone_and_has_room_for_others)
{
    struct side s;
    int peer = side_accept(&s);
    struct loop *l = s.loop;
    struct loop_early *held[8];
    str bytes[8];
    size_t n = 0, room;

    for (size_t i = 0; i < COUNT_OF(held); i++) {
        char *to = loop_early(l, &room);

        CHECK_INT(room, LOOP_EARLY_SIZE);
        memset(to, (int)('a' + i), 1000);
        loop_early_keep(l, 1000);
        bytes[n] = (str){to, 1000};
        held[n] = loop_early_hold(l, bytes[n]);
        n += held[n] != NULL;
        side_run_once(&s);
        for (size_t k = 0; k < n; k++)
            CHECK(bytes[k].p[0] == (char)('a' + k) && bytes[k].p[999] == (char)('a' + k));
    }
    CHECK_INT(n, 3); /* the last free room is never held */
    CHECK(!loop_early_hold(l, bytes[0]));
    while (n > 0)
        loop_early_let_go(held[--n]);
    close(peer);
    side_release(&s);
}

TEST_MAIN(T(loop_leaves_early_bytes_that_are_held_alone_and_has_room_for_others),
          T(conn_paused_by_another_keeps_what_it_has_read_until_it_is_resumed),
          T(conn_may_be_closed_by_whoever_is_given_what_it_kept),
          T(conn_closed_by_another_is_told_nothing_of_what_it_has_read))
