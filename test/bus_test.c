/* SPDX-License-Identifier: Apache-2.0 */
#include "store/bus.h"

#include "base/buf.h"
#include "base/clock.h"
#include "store_help.h"

#include <pthread.h>
#include <unistd.h>

#define WAIT_MS 30000
#define BIG 50000

/* A daemon, and all messages that it received. */
struct hearer {
    struct bus *bus;
    pthread_mutex_t lock;
    struct buf heard; /* "DAEMON:TEXT\n" for each message */
    unsigned fresh, gaps, gone;
    size_t bytes;
};

static void on_text(void *ctx, const struct bus_peer *from, str text)
{
    struct hearer *h = ctx;

    pthread_mutex_lock(&h->lock);
    h->bytes += text.n;
    if (text.n < 100)
        buf_printf(&h->heard, STR_FMT ":" STR_FMT "\n", STR_ARG(from->daemon), STR_ARG(text));
    pthread_mutex_unlock(&h->lock);
}

static void on_peer(void *ctx, const struct bus_peer *who, enum bus_event event)
{
    struct hearer *h = ctx;

    (void)who;
    pthread_mutex_lock(&h->lock);
    h->fresh += event == BUS_PEER_NEW;
    h->gaps += event == BUS_PEER_GAP;
    h->gone += event == BUS_PEER_GONE;
    pthread_mutex_unlock(&h->lock);
}

static void begin(struct hearer *h, struct place *p, const char *name)
{
    *h = (struct hearer){.bus = bus_new(str_c(p->url), str_c(name), STR("test"), NULL)};
    pthread_mutex_init(&h->lock, NULL);
    buf_init(&h->heard, 1 << 20);
    bus_on(h->bus, STR("text"), on_text, h);
    bus_on_peer(h->bus, on_peer, h);
    bus_start(h->bus);
}

static void end(struct hearer *h)
{
    bus_free(h->bus);
    buf_release(&h->heard);
    pthread_mutex_destroy(&h->lock);
}

static bool hears(struct hearer *h, const char *text)
{
    for (unsigned ms = 0; ms < WAIT_MS; ms += 5) {
        bool found;

        pthread_mutex_lock(&h->lock);
        found = str_find(buf_str(&h->heard), str_c(text)) != STR_NONE;
        pthread_mutex_unlock(&h->lock);
        if (found)
            return true;
        (void)usleep(5000);
    }
    return false;
}

static bool peers_are(struct hearer *h, unsigned n)
{
    for (unsigned ms = 0; ms < WAIT_MS; ms += 5) {
        if (bus_peers(h->bus) == n)
            return true;
        (void)usleep(5000);
    }
    return false;
}

TEST(without_a_bus_nobody_is_there)
{
    bus_send(NULL, STR("text"), STR("hello"));
    bus_send_later(NULL, STR("text"), STR("hello"));
    bus_wake(NULL);
    assert_int_equal(bus_peers(NULL), 0);
    bus_free(NULL);
}

TEST(messages_of_any_size_arrive_in_order_both_ways)
{
    struct place p;
    struct hearer a, b;
    char *big = base_alloc(BIG);

    place_init(&p);
    if (p.postgres) {
        begin(&a, &p, "a");
        begin(&b, &p, "b");
        assert_true(peers_are(&a, 1) && peers_are(&b, 1));
        for (int i = 0; i < BIG; i++)
            big[i] = i % 2 ? '\xa9' : '\xc3';
        bus_send(a.bus, STR("text"), STR("one"));
        bus_send(a.bus, STR("text"), (str){big, BIG});
        bus_send(a.bus, STR("other"), STR("nobody listens to this"));
        bus_send(a.bus, STR("text"), STR("two"));
        bus_send(b.bus, STR("text"), STR("three"));
        assert_true(hears(&b, "a:one\na:two\n"));
        assert_true(hears(&a, "b:three\n"));
        assert_int_equal(b.bytes, 6 + BIG);
        assert_int_equal(a.gaps + b.gaps, 0);
        assert_true(str_find(buf_str(&a.heard), STR("a:")) == STR_NONE);
        end(&a);
        assert_true(peers_are(&b, 0));
        assert_int_equal(b.gone, 1);
        end(&b);
    }
    free(big);
    place_release(&p);
}

TEST(a_message_for_later_arrives_alone_and_with_quotes)
{
    struct place p;
    struct hearer a, b;

    place_init(&p);
    if (p.postgres) {
        begin(&a, &p, "a");
        begin(&b, &p, "b");
        assert_true(peers_are(&a, 1) && peers_are(&b, 1));
        bus_send_later(a.bus, STR("text"), STR("it's \\ \"later\""));
        assert_true(hears(&b, "a:it's \\ \"later\"\n"));
        bus_send_later(a.bus, STR("text"), STR("before"));
        bus_send(a.bus, STR("text"), STR("after"));
        assert_true(hears(&b, "a:before\na:after\n"));
        assert_int_equal(b.gaps, 0);
        end(&a);
        end(&b);
    }
    place_release(&p);
}

TEST(a_text_that_postgresql_cannot_carry_is_a_gap)
{
    struct place p;
    struct hearer a, b;

    place_init(&p);
    if (p.postgres) {
        begin(&a, &p, "a");
        begin(&b, &p, "b");
        assert_true(peers_are(&a, 1) && peers_are(&b, 1));
        bus_send(a.bus, STR("text"), STR("\xff"));
        bus_send(a.bus, STR("text"), (str){"a\0b", 3});
        bus_send(a.bus, STR("text"), STR("after"));
        assert_true(hears(&b, "a:after\n"));
        /* A payload that started earlier may include the text; then the next payload shows the
         * gap. */
        for (unsigned ms = 0; ms < WAIT_MS && !b.gaps; ms += 20)
            (void)usleep(20000);
        assert_int_equal(b.gaps, 1);
        end(&a);
        end(&b);
    }
    place_release(&p);
}

TEST(a_full_queue_drops_and_nobody_waits)
{
    struct place p;
    struct hearer a, b;
    char *big = base_alloc(BIG);

    memset(big, 'x', BIG);
    place_init(&p);
    if (p.postgres) {
        begin(&a, &p, "a");
        begin(&b, &p, "b");
        assert_true(peers_are(&a, 1) && peers_are(&b, 1));
        for (int i = 0; i < 1000; i++)
            bus_send(a.bus, STR("text"), (str){big, BIG});
        for (unsigned ms = 0; ms < WAIT_MS && !b.gaps; ms += 20) {
            bus_send(a.bus, STR("text"), STR("after"));
            (void)usleep(20000);
        }
        assert_true(hears(&b, "a:after\n"));
        assert_true(b.gaps > 0);
        assert_true(b.bytes < (size_t)1000 * BIG);
        end(&a);
        end(&b);
    }
    free(big);
    place_release(&p);
}

TEST(a_daemon_that_starts_again_is_another_peer)
{
    struct place p;
    struct hearer a, b, c;

    place_init(&p);
    if (p.postgres) {
        begin(&a, &p, "a");
        begin(&b, &p, "b");
        assert_true(peers_are(&a, 1));
        begin(&c, &p, "b"); /* the same daemon restarted, without a goodbye from the first */
        for (unsigned ms = 0; ms < WAIT_MS && a.fresh < 2; ms += 5)
            (void)usleep(5000);
        assert_true(a.fresh >= 2 && a.gone >= 1);
        end(&c);
        end(&b);
        end(&a);
    }
    place_release(&p);
}

TEST_MAIN(T(without_a_bus_nobody_is_there), T(messages_of_any_size_arrive_in_order_both_ways),
          T(a_message_for_later_arrives_alone_and_with_quotes),
          T(a_text_that_postgresql_cannot_carry_is_a_gap), T(a_full_queue_drops_and_nobody_waits),
          T(a_daemon_that_starts_again_is_another_peer))
