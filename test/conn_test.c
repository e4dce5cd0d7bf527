/* SPDX-License-Identifier: Apache-2.0 */
#include "net/conn.h"

#include "net_peer.h"
#include "net_side.h"
#include "test.h"

#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#define FLOOD_SIZE ((size_t)8 << 20)

static size_t recv_now(int fd, char *bytes, size_t size)
{
    ssize_t n = recv(fd, bytes, size, 0);

    CHECK(n >= 0);
    return (size_t)n;
}

TEST(conn_sends_what_a_round_wrote_in_one_piece)
{
    char bytes[100];
    struct side s;
    int peer = side_accept(&s);

    conn_write(s.conn, STR("head "));
    conn_write(s.conn, STR(""));
    conn_write(s.conn, STR("and event"));
    CHECK_INT(conn_queued(s.conn), 14);
    CHECK(recv(peer, bytes, sizeof bytes, MSG_DONTWAIT) < 0);
    side_run_once(&s);
    CHECK_INT(recv_now(peer, bytes, sizeof bytes), 14);
    CHECK_INT(conn_queued(s.conn), 0);
    CHECK_INT(conn_sent(s.conn), 14);
    conn_write(s.conn, STR("now"));
    conn_flush(s.conn);
    CHECK_INT(recv(peer, bytes, sizeof bytes, MSG_DONTWAIT), 3);
    close(peer);
    side_release(&s);
}

TEST(conn_sends_much_at_once_behind_what_is_queued)
{
    const str parts[] = {STR("a"), STR(""), STR("bc")};
    static char much[16 * 1024], bytes[sizeof much + 100];
    struct side s;
    int peer = side_accept(&s);

    memset(much, 'm', sizeof much);
    conn_write_parts(s.conn, parts, 3);
    CHECK_INT(conn_queued(s.conn), 3);
    conn_write_parts(s.conn, (str[]){STR("head"), {much, sizeof much}, STR("")}, 3);
    CHECK_INT(conn_queued(s.conn), 0);
    CHECK_INT(recv(peer, bytes, sizeof bytes, MSG_DONTWAIT), 7 + sizeof much);
    CHECK(memcmp(bytes, "abcheadmm", 9) == 0);
    conn_write_parts(s.conn, (str[]){STR(""), STR("")}, 2);
    CHECK_INT(conn_queued(s.conn), 0);
    CHECK_INT(conn_sent(s.conn), 7 + sizeof much);
    close(peer);
    side_release(&s);
}

TEST(conn_takes_the_memory_of_a_buffer_if_nothing_is_queued)
{
    static char much[40000], bytes[sizeof much + 100];
    struct side s;
    struct buf b;
    int peer = side_accept(&s);

    memset(much, 'm', sizeof much);
    buf_init(&b, 100000);
    conn_write_buf(s.conn, &b);
    CHECK_INT(conn_queued(s.conn), 0);
    buf_add(&b, STR("head "));
    conn_write_buf(s.conn, &b);
    CHECK(!b.p && conn_queued(s.conn) == 5);
    buf_add(&b, STR("and "));
    conn_write_buf(s.conn, &b);
    CHECK_STR(buf_str(&b), "and ");
    conn_write(s.conn, STR("event"));
    side_run_once(&s);
    CHECK_INT(recv_now(peer, bytes, sizeof bytes), 14);
    CHECK(memcmp(bytes, "head and event", 14) == 0);
    buf_add(&b, (str){much, sizeof much});
    conn_write_buf(s.conn, &b); /* large data is written at once */
    CHECK_INT(conn_queued(s.conn), 0);
    CHECK_INT(recv(peer, bytes, sizeof bytes, MSG_DONTWAIT), 4 + sizeof much);
    CHECK(memcmp(bytes, "and mm", 6) == 0);
    buf_release(&b);
    close(peer);
    side_release(&s);
}

TEST(conn_sends_what_is_lent_in_its_place)
{
    char bytes[100], lent[] = "lent ";
    struct side s;
    int peer = side_accept(&s);

    conn_write_lent(s.conn, str_c(lent));
    CHECK_INT(conn_queued(s.conn), 5);
    side_run_once(&s);
    CHECK_INT(conn_queued(s.conn), 0);
    CHECK_INT(conn_sent(s.conn), 5);
    CHECK_INT(recv_now(peer, bytes, sizeof bytes), 5);
    conn_write(s.conn, STR("one "));
    conn_write_lent(s.conn, str_c(lent)); /* copied, because the queue already has bytes */
    side_run_once(&s);
    CHECK_INT(recv_now(peer, bytes, sizeof bytes), 9);
    CHECK(memcmp(bytes, "one lent ", 9) == 0);
    conn_write_lent(s.conn, str_c(lent));
    conn_write_lent(s.conn, STR("and "));
    conn_write(s.conn, STR("more"));
    memset(lent, 'x', 5); /* already copied, because more was queued after it */
    conn_finish(s.conn);
    side_run_once(&s);
    CHECK_INT(recv_now(peer, bytes, sizeof bytes), 13);
    CHECK(memcmp(bytes, "lent and more", 13) == 0);
    close(peer);
    side_release(&s);
}

/* Bytes whose values depend on their position. */
static char *pattern(size_t size)
{
    char *p = malloc(size);

    for (size_t i = 0; i < size; i++)
        p[i] = (char)(i % 251);
    return p;
}

TEST(conn_keeps_the_order_of_what_the_system_did_not_take)
{
    struct side s;
    int peer = side_accept(&s);
    char *much = pattern(FLOOD_SIZE), bytes[65536];
    size_t got = 0;

    conn_write_parts(s.conn, (str[]){{much, 10}, {much + 10, 90}}, 2);
    conn_write_parts(
        s.conn, (str[]){{much + 100, FLOOD_SIZE / 2}, {much + 100 + FLOOD_SIZE / 2, 1000}}, 2);
    conn_write_parts(s.conn, (str[]){{much + 1100 + FLOOD_SIZE / 2, 5}, STR("")}, 2);
    conn_write_parts(
        s.conn, (str[]){{much + 1105 + FLOOD_SIZE / 2, 5}, {much + 1110 + FLOOD_SIZE / 2, 7}}, 2);
    conn_write_parts(s.conn, (str[]){{much + 1117 + FLOOD_SIZE / 2, 100000}, STR("")}, 2);
    conn_finish(s.conn);
    CHECK(conn_queued(s.conn) > 0);
    for (;;) {
        ssize_t n = recv(peer, bytes, sizeof bytes, MSG_DONTWAIT);

        if (n == 0)
            break;
        if (n < 0) {
            side_run_once(&s);
            continue;
        }
        CHECK(memcmp(bytes, much + got, (size_t)n) == 0);
        got += (size_t)n;
    }
    CHECK_INT(got, 101117 + FLOOD_SIZE / 2);
    free(much);
    close(peer);
    side_release(&s);
}

TEST(conn_hands_on_bytes_then_the_end_and_may_still_write)
{
    char bytes[100];
    struct side s;
    int peer = side_accept(&s);

    peer_send(peer, STR("hello"));
    shutdown(peer, SHUT_WR);
    side_run_until(&s, "be");
    CHECK_STR(buf_str(&s.in), "hello");
    conn_write(s.conn, STR("goodbye"));
    conn_finish(s.conn);
    conn_write(s.conn, STR("too late"));
    side_run_once(&s);
    CHECK_INT(recv_now(peer, bytes, sizeof bytes), 7);
    CHECK_INT(recv_now(peer, bytes, sizeof bytes), 0);
    close(peer);
    side_release(&s);
}

TEST(conn_takes_bytes_that_drip)
{
    struct side s;
    int peer = side_accept(&s);

    for (int i = 0; i < 50; i++) {
        peer_send(peer, STR("x"));
        while (s.in.n < (size_t)i + 1)
            loop_run(s.loop);
    }
    close(peer);
    side_run_until(&s, "be");
    CHECK_INT(s.in.n, 50);
    side_release(&s);
}

TEST(conn_paused_hands_on_nothing_until_it_is_resumed)
{
    struct side s;
    int peer = side_accept(&s);

    conn_pause(s.conn);
    peer_send(peer, STR("hello"));
    side_run_once(&s);
    side_run_once(&s);
    CHECK_INT(s.log.n, 0);
    conn_resume(s.conn);
    side_run_until(&s, "b");
    CHECK_STR(buf_str(&s.in), "hello");
    close(peer);
    side_release(&s);
}

TEST(conn_paused_hears_at_once_that_the_peer_left)
{
    struct side s;
    int peer = side_accept(&s);

    s.pause_at = 'b';
    peer_send(peer, STR("request"));
    side_run_until(&s, "b");
    peer_send(peer, STR("more"));
    side_run_once(&s);
    close(peer);
    side_run_until(&s, "bh");
    side_run_once(&s);
    side_run_until(&s, "bh"); /* once */
    s.pause_at = 0;
    conn_resume(s.conn);
    side_run_until(&s, "bhbe");
    CHECK_STR(buf_str(&s.in), "requestmore");
    side_release(&s);
}

TEST(conn_hears_of_a_peer_that_left_before_the_pause)
{
    struct side s;
    int peer = side_accept(&s);

    s.pause_at = 'b';
    peer_send(peer, STR("request"));
    close(peer);
    side_run_until(&s, "bh");
    conn_resume(s.conn);
    side_run_until(&s, "bhe");
    side_release(&s);
}

TEST(conn_tells_of_a_reset_whether_it_reads_or_not)
{
    struct side s;
    int peer;

    for (int paused = 0; paused < 2; paused++) {
        peer = side_accept(&s);
        side_run_once(&s);
        if (paused)
            conn_pause(s.conn);
        peer_reset(peer);
        side_run_until(&s, paused ? "hx" : "x");
        CHECK_STR(str_c(s.err.text), "the connection was reset by the peer");
        CHECK_INT(s.err.code, ERR_UPSTREAM);
        conn_write(s.conn, STR("nobody"));
        side_run_once(&s);
        CHECK_STR(buf_str(&s.log), paused ? "hx" : "x"); /* and no event after it */
        side_release(&s);
    }
}

TEST(conn_tells_of_a_reset_after_the_end_though_nobody_writes)
{
    struct side s;
    int peer = side_accept(&s);

    shutdown(peer, SHUT_WR);
    side_run_until(&s, "e");
    peer_reset(peer);
    side_run_until(&s, "ex");
    side_release(&s);
}

TEST(conn_hands_on_a_reply_that_came_before_the_peer_stopped_listening)
{
    struct side s;
    int peer = side_accept(&s);

    conn_pause(s.conn);
    conn_write(s.conn, STR("a request of which nothing is read"));
    side_run_once(&s);
    peer_send(peer, STR("413"));
    close(peer); /* with unread bytes, so the peer sends a RST */
    conn_resume(s.conn);
    for (int i = 0; i < 20; i++)
        conn_write(s.conn, STR("and more of it"));
    while (s.err.text[0] == 0)
        loop_run(s.loop);
    CHECK_STR(buf_str(&s.in), "413");
    side_release(&s);
}

TEST(conn_holds_no_more_than_its_mark_for_a_slow_reader)
{
    struct side s;
    int peer = side_accept(&s);
    char bytes[65536];
    size_t got = 0;

    s.flood_left = FLOOD_SIZE;
    side_flood(&s);
    CHECK(conn_full(s.conn));
    side_run_once(&s);
    CHECK_INT(s.log.n, 0);
    while (got < FLOOD_SIZE) {
        ssize_t n = recv(peer, bytes, sizeof bytes, MSG_DONTWAIT);

        if (n > 0)
            got += (size_t)n;
        else
            side_run_once(&s);
    }
    CHECK(s.flood_left == 0);
    CHECK(memchr(s.log.p, 'r', s.log.n));
    CHECK(s.queued_most < CONN_HIGH + 40000);
    CHECK_INT(conn_sent(s.conn), FLOOD_SIZE);
    close(peer);
    side_release(&s);
}

TEST(conn_finishes_when_all_that_was_queued_has_gone_out)
{
    struct side s;
    int peer = side_accept(&s);
    char *much = calloc(1, FLOOD_SIZE), bytes[65536];
    size_t got = 0;

    conn_write(s.conn, STR("head"));
    conn_write(s.conn, (str){much, FLOOD_SIZE});
    conn_finish(s.conn);
    CHECK(conn_queued(s.conn) > 0);
    for (;;) {
        ssize_t n = recv(peer, bytes, sizeof bytes, MSG_DONTWAIT);

        if (n == 0)
            break;
        if (n > 0)
            got += (size_t)n;
        else
            side_run_once(&s);
    }
    CHECK_INT(got, FLOOD_SIZE + 4);
    free(much);
    close(peer);
    side_release(&s);
}

TEST(conn_refuses_to_queue_without_end)
{
    struct side s;
    int peer = side_accept(&s);
    char *much = calloc(1, 1 << 20);

    for (size_t i = 0; i <= CONN_QUEUE_MAX >> 20; i++)
        conn_write(s.conn, (str){much, 1 << 20});
    for (int i = 0; i < 10; i++)
        conn_write(s.conn, (str){much, 1 << 20});
    side_run_until(&s, "x");
    CHECK_INT(s.err.code, ERR_LIMIT);
    free(much);
    close(peer);
    side_release(&s);
}

TEST(conn_may_be_closed_in_any_callback)
{
    struct side s;
    int peer;

    for (const char *at = "behx"; *at; at++) {
        peer = side_accept(&s);
        s.close_at = *at;
        s.pause_at = *at == 'h' ? 'b' : 0;
        peer_send(peer, STR("hello"));
        if (*at == 'x') {
            side_run_until(&s, "b");
            peer_reset(peer);
        } else {
            close(peer);
        }
        while (!memchr(s.log.p ? s.log.p : "", *at, s.log.n))
            loop_run(s.loop);
        side_run_once(&s);
        side_run_once(&s);
        CHECK_INT(s.log.p[s.log.n - 1], *at);
        side_release(&s);
    }
    peer = side_accept(&s);
    s.close_at = 'r';
    s.flood_left = FLOOD_SIZE;
    side_flood(&s);
    while (s.log.n == 0) {
        char bytes[65536];

        if (recv(peer, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
            side_run_once(&s);
    }
    CHECK_STR(buf_str(&s.log), "r");
    CHECK(peer_read_all(peer) >= 0);
    close(peer);
    side_release(&s);
}

TEST(conn_close_is_seen_by_the_peer_before_the_round_is_over)
{
    struct side s;
    int peer = side_accept(&s);
    char byte;

    s.close_at = 'c'; /* the test closes it, so side_release must not */
    side_happened(&s, 'c');
    CHECK_INT(recv(peer, &byte, 1, MSG_DONTWAIT), 0);
    close(peer);
    side_release(&s);
}

TEST(conn_connects_and_sends_what_was_written_before)
{
    unsigned port;
    int listener = peer_listen(&port), peer;
    char bytes[100];
    struct side s;

    side_connect(&s, NULL, "", port);
    conn_write(s.conn, STR("early"));
    side_run_until(&s, "o");
    peer = peer_accept(listener);
    CHECK_INT(recv_now(peer, bytes, sizeof bytes), 5);
    close(peer);
    close(listener);
    side_run_until(&s, "oe");
    side_release(&s);
}

TEST(conn_says_that_it_was_refused)
{
    unsigned port;
    int held = peer_refuse(&port);
    struct side s;

    side_connect(&s, NULL, "", port);
    side_run_until(&s, "x");
    CHECK_STR(str_c(s.err.text), "the connection was refused");
    side_release(&s);
    side_connect(&s, NULL, "", port);
    s.close_at = 'x';
    side_run_until(&s, "x");
    side_run_once(&s);
    side_release(&s);
    close(held);
}

/* The test does not ignore SIGPIPE, so a SIGPIPE would end it. */
TEST(conn_raises_no_signal_when_nobody_listens)
{
    struct side s;
    int peer = side_accept(&s);

    conn_pause(s.conn);
    close(peer);
    for (int i = 0; i < 10 && s.err.text[0] == 0; i++) {
        conn_write(s.conn, STR("hello?"));
        side_run_once(&s);
    }
    CHECK(s.err.text[0] != 0);
    side_release(&s);
}

struct turns {
    struct side flooded, quiet;
    uint64_t got_before;
};

static void quiet_bytes(void *ctx, str bytes)
{
    struct turns *t = ctx;

    (void)bytes;
    t->got_before = t->flooded.got;
    loop_stop(t->quiet.loop);
}

TEST(conn_that_gets_bytes_without_end_leaves_others_their_turn)
{
    struct conn_handler quiet_handler = side_handler;
    static char much[4 << 20];
    struct turns t = {.got_before = UINT64_MAX};
    int peer = side_accept(&t.flooded), other, pair[2];
    ssize_t filled;
    struct err e;

    t.flooded.keep = false;
    quiet_handler.on_bytes = quiet_bytes;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    other = pair[1];
    t.quiet.loop = t.flooded.loop;
    t.quiet.conn = conn_accept(t.quiet.loop, pair[0], NULL, &quiet_handler, &t, &e);
    CHECK(t.quiet.conn);
    filled = send(peer, much, sizeof much, MSG_DONTWAIT);
    CHECK(filled > 0 && write(other, "1", 1) == 1);
    while (t.got_before == UINT64_MAX)
        loop_run(t.quiet.loop);
    CHECK_F(t.got_before <= 256 * 1024 + LOOP_SCRATCH_SIZE, "%llu", (long long)t.got_before);
    while (t.flooded.got < (uint64_t)filled)
        loop_run(t.quiet.loop);
    conn_close(t.quiet.conn);
    close(other);
    close(peer);
    side_release(&t.flooded);
}

TEST(conn_idle_takes_little_memory)
{
    enum { CONNS = 400 };
    static struct conn *conns[CONNS];
    static int peers[CONNS];
    struct side s;
    int peer = side_accept(&s), pair[2];
    size_t before = mallinfo2().uordblks, each;
    struct err e;

    s.keep = false;
    for (int i = 0; i < CONNS; i++) {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
        conns[i] = conn_accept(s.loop, pair[0], NULL, &side_handler, &s, &e);
        CHECK(conns[i]);
        peers[i] = pair[1];
        CHECK(write(peers[i], "request", 7) == 7);
        conn_write(conns[i], STR("reply"));
    }
    while (s.got < CONNS * 7)
        loop_run(s.loop);
    side_run_once(&s);
    each = (mallinfo2().uordblks - before) / CONNS;
    CHECK_F(each < 512, "%zu", each);
    for (int i = 0; i < CONNS; i++) {
        conn_close(conns[i]);
        close(peers[i]);
    }
    close(peer);
    side_release(&s);
}

TEST_MAIN(T(conn_sends_what_a_round_wrote_in_one_piece),
          T(conn_sends_much_at_once_behind_what_is_queued),
          T(conn_takes_the_memory_of_a_buffer_if_nothing_is_queued),
          T(conn_sends_what_is_lent_in_its_place),
          T(conn_keeps_the_order_of_what_the_system_did_not_take),
          T(conn_hands_on_bytes_then_the_end_and_may_still_write), T(conn_takes_bytes_that_drip),
          T(conn_paused_hands_on_nothing_until_it_is_resumed),
          T(conn_paused_hears_at_once_that_the_peer_left),
          T(conn_hears_of_a_peer_that_left_before_the_pause),
          T(conn_tells_of_a_reset_whether_it_reads_or_not),
          T(conn_tells_of_a_reset_after_the_end_though_nobody_writes),
          T(conn_hands_on_a_reply_that_came_before_the_peer_stopped_listening),
          T(conn_holds_no_more_than_its_mark_for_a_slow_reader),
          T(conn_finishes_when_all_that_was_queued_has_gone_out),
          T(conn_refuses_to_queue_without_end), T(conn_may_be_closed_in_any_callback),
          T(conn_close_is_seen_by_the_peer_before_the_round_is_over),
          T(conn_connects_and_sends_what_was_written_before), T(conn_says_that_it_was_refused),
          T(conn_raises_no_signal_when_nobody_listens),
          T(conn_that_gets_bytes_without_end_leaves_others_their_turn),
          T(conn_idle_takes_little_memory))
