/* The messages that viewers get, and their limits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/rand.h"
#include "live_side.h"
#include "test.h"

static struct clock fake;
static struct hub *hub;
static struct loop *loop;
static struct hub_port *port;

static void begin(void)
{
    struct err e;

    clock_fake_init(&fake, 1700000000000);
    hub = hub_new(&fake);
    loop = loop_new(&fake, &e);
    CHECK(loop != NULL);
    port = hub_port_new(hub, loop);
}

static void end(void)
{
    loop_free(loop);
    hub_port_free(port);
    hub_free(hub);
}

static void subscribe(struct seen *s, const char *channel)
{
    struct err e;

    CHECK(hub_subscribe(s->viewer, str_c(channel), 0, &e));
}

static struct hub_call *call(const char *id, const char *session, const char *key)
{
    struct hub_begin b = side_begin(id, session, key);
    struct hub_call *c = hub_call_begin(hub, port, &b);

    CHECK(c != NULL);
    return c;
}

static void finish(struct hub_call *c)
{
    struct hub_end e = side_end();

    hub_call_end(c, &e);
}

static void become(struct hub_call *c, enum hub_state s)
{
    hub_call_state(c, &(struct hub_progress){s, 10, 20, false});
}

static void pass(uint64_t ms)
{
    for (uint64_t left = ms; left > 0;) { /* a late timer may set another timer */
        uint64_t step = left > 500 ? 500 : left > 5 ? 5 : left;

        clock_fake_advance_ms(&fake, step);
        side_turn(loop);
        left -= step;
    }
    side_turn(loop);
}

#define MIXED "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z \"quoted\" \\ \n end"

TEST(a_text_is_the_same_whatever_the_pieces)
{
    for (size_t step = 1; step <= sizeof MIXED; step++) {
        struct hub_call *c;
        struct seen session, all;

        begin();
        seen_begin(&session, port, SIDE_ALL);
        seen_begin(&all, port, SIDE_ALL);
        subscribe(&session, "session_s");
        subscribe(&all, "dashboard_updates");
        c = call("1", "s", "");
        become(c, HUB_THINKING);
        for (size_t at = 0; at < sizeof MIXED - 1; at += step) {
            hub_call_text(c, HUB_REASONING, str_slice(STR(MIXED), at, at + step));
            side_turn(loop);
        }
        become(c, HUB_ANSWERING);
        for (size_t at = 0; at < sizeof MIXED - 1; at += step) {
            hub_call_text(c, HUB_ANSWER, str_slice(STR(MIXED), at, at + step));
            pass(at % 3 * 30);
        }
        finish(c);
        pass(60);
        for (int kind = 0; kind < 2; kind++) {
            CHECK_STR(buf_str(&session.text[kind]), MIXED);
            CHECK_STR(buf_str(&all.text[kind]), MIXED);
        }
        CHECK(!session.torn && !all.torn);
        CHECK_INT(session.started, 1);
        CHECK_INT(session.ended, 1);
        CHECK(seen_has(&session, "\"status\":\"completed\""));
        seen_end(&session);
        seen_end(&all);
        end();
    }
}

TEST(a_round_of_the_loop_is_one_message_and_a_second_at_most_twenty)
{
    struct seen session, all;
    struct hub_call *c;

    begin();
    seen_begin(&session, port, SIDE_ALL);
    seen_begin(&all, port, SIDE_ALL);
    subscribe(&session, "session_s");
    subscribe(&all, "dashboard_updates");
    c = call("1", "s", "");
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 10; i++)
            hub_call_text(c, HUB_ANSWER, STR("word "));
        pass(5);
    }
    CHECK_INT(session.count[HUB_ANSWER], 200);
    CHECK_F(
        all.count[HUB_ANSWER] <= 20 && all.count[HUB_ANSWER] >= 15, "%zu", all.count[HUB_ANSWER]);
    finish(c);
    pass(60);
    CHECK_INT(all.text[HUB_ANSWER].n, 200 * 10 * 5);
    seen_end(&session);
    seen_end(&all);
    end();
}

TEST(who_comes_late_gets_all_so_far_and_then_the_rest)
{
    struct seen early, late;
    struct hub_call *c;

    begin();
    c = call("1", "s", "");
    become(c, HUB_THINKING);
    hub_call_text(c, HUB_REASONING, STR("first thought, "));
    hub_call_text(c, HUB_ANSWER, STR("caf\xC3")); /* half a character */
    side_turn(loop);
    seen_begin(&early, port, SIDE_ALL);
    subscribe(&early, "session_s");
    CHECK_INT(early.started, 1);
    CHECK_INT(early.count[HUB_REASONING], 1);
    CHECK_STR(buf_str(&early.text[HUB_ANSWER]), "caf");
    CHECK(seen_has(&early, "\"state\":\"thinking\""));
    hub_call_text(c, HUB_ANSWER, STR("\xA9 and"));
    seen_begin(&late, port, SIDE_ALL); /* while a text for the other viewer is pending */
    subscribe(&late, "session_s");
    CHECK_STR(buf_str(&late.text[HUB_ANSWER]), "caf\xC3\xA9 and");
    hub_call_text(c, HUB_ANSWER, STR(" more"));
    side_turn(loop);
    finish(c);
    side_turn(loop);
    CHECK_STR(buf_str(&early.text[HUB_ANSWER]), "caf\xC3\xA9 and more");
    CHECK_STR(buf_str(&late.text[HUB_ANSWER]), "caf\xC3\xA9 and more");
    CHECK_STR(buf_str(&late.text[HUB_REASONING]), "first thought, ");
    CHECK_INT(late.count[HUB_ANSWER], 2);
    CHECK_INT(late.ended, 1);
    CHECK_INT(late.started, 1);
    seen_end(&early);
    seen_end(&late);
    end();
}

TEST(a_viewer_that_is_full_loses_messages_is_told_and_catches_up)
{
    struct hub_counts counts;
    struct seen s;
    struct hub_call *c;

    begin();
    seen_begin(&s, port, SIDE_ALL);
    subscribe(&s, "session_s");
    c = call("1", "s", "");
    hub_call_text(c, HUB_ANSWER, STR("one "));
    side_turn(loop);
    s.full = true;
    for (int i = 0; i < 7; i++) {
        hub_call_text(c, HUB_ANSWER, STR("two "));
        side_turn(loop);
    }
    CHECK_INT(s.count[HUB_ANSWER], 1);
    hub_counts(hub, &counts);
    CHECK_INT(counts.dropped[HUB_BY_SOCKET], 7);
    CHECK_INT(counts.viewers[HUB_BY_SOCKET], 1);
    s.full = false;
    pass(600); /* no further message follows */
    CHECK_INT(s.gaps, 1);
    CHECK_INT(s.missed, 7);
    CHECK_STR(buf_str(&s.text[HUB_ANSWER]), "one two two two two two two two ");
    s.full = true;
    hub_call_text(c, HUB_ANSWER, STR("three "));
    side_turn(loop);
    s.full = false;
    hub_call_text(c, HUB_ANSWER, STR("four ")); /* another message follows */
    side_turn(loop);
    CHECK_INT(s.gaps, 2);
    CHECK_INT(s.missed, 1);
    finish(c);
    side_turn(loop);
    CHECK_STR(buf_str(&s.text[HUB_ANSWER]), "one two two two two two two two three four ");
    CHECK(!s.torn);
    CHECK_INT(s.ended, 1);
    seen_end(&s);
    end();
}

TEST(a_long_text_is_kept_in_part_and_its_viewers_get_all_of_it)
{
    struct seen live, late;
    struct hub_call *c;
    struct buf large;
    struct hub_counts counts;
    size_t sent = 0;

    begin();
    seen_begin(&live, port, SIDE_ALL);
    subscribe(&live, "session_s");
    c = call("1", "s", "");
    buf_init(&large, 1 << 20);
    while (large.n < 700000)
        buf_add(&large, STR("\xF0\x9F\x98\x80 word "));
    for (; sent < large.n; sent += 50001) {
        hub_call_text(c, HUB_ANSWER, str_slice(buf_str(&large), sent, sent + 50001));
        side_turn(loop);
    }
    CHECK(str_eq(buf_str(&live.text[HUB_ANSWER]), buf_str(&large)));
    seen_begin(&late, port, SIDE_ALL);
    subscribe(&late, "session_s");
    CHECK_INT(late.gaps, 1);
    CHECK(late.torn); /* its first piece has an `at` above 0 */
    CHECK(late.text[HUB_ANSWER].n >= HUB_TEXT_MAX / 2 - 4);
    CHECK(str_ends(buf_str(&large), buf_str(&late.text[HUB_ANSWER])));
    hub_counts(hub, &counts);
    CHECK(counts.text_bytes > HUB_TEXT_MAX / 2 && counts.text_bytes < 4 * HUB_TEXT_MAX);
    hub_call_text(c, HUB_TOOL, buf_str(&large)); /* in one piece */
    side_turn(loop);
    CHECK(str_ends(buf_str(&large), buf_str(&live.text[HUB_TOOL])));
    finish(c);
    hub_counts(hub, &counts);
    CHECK_INT(counts.text_bytes, 0);
    seen_end(&live);
    seen_end(&late);
    buf_release(&large);
    end();
}

TEST(all_texts_together_have_a_ceiling)
{
    enum { CALLS = 600 };
    static struct hub_call *calls[CALLS];
    struct hub_counts counts;
    struct buf large;

    begin();
    buf_init(&large, 1 << 20);
    while (large.n < 250000)
        buf_add(&large, STR("word "));
    for (int i = 0; i < CALLS; i++) {
        calls[i] = call("1", "s", "");
        hub_call_text(calls[i], HUB_ANSWER, buf_str(&large));
    }
    hub_counts(hub, &counts);
    CHECK_F(counts.text_bytes < HUB_TEXTS_MAX + CALLS * 2 * HUB_TEXT_MIN + (1 << 20),
            "%llu",
            (unsigned long long)counts.text_bytes);
    CHECK_INT(counts.running, CALLS);
    for (int i = 0; i < CALLS; i++)
        finish(calls[i]);
    hub_counts(hub, &counts);
    CHECK_INT(counts.text_bytes, 0);
    buf_release(&large);
    end();
}

TEST(who_may_not_see_a_call_or_its_reasoning_does_not)
{
    struct seen ann, blind, all;
    struct hub_call *a, *b, *quiet;
    struct hub_begin hidden = side_begin("3", "s", "ann");

    begin();
    seen_begin(&ann, port, &(struct hub_scope){.key = STR("ann")});
    seen_begin(&blind, port, &(struct hub_scope){.key = STR("ann"), .hide = true});
    seen_begin(&all, port, SIDE_ALL);
    subscribe(&ann, "session_s");
    subscribe(&blind, "dashboard_updates");
    a = call("1", "s", "ann");
    b = call("2", "s", "bob");
    hidden.thoughts = false;
    quiet = hub_call_begin(hub, port, &hidden);
    become(a, HUB_THINKING);
    become(quiet, HUB_THINKING);
    hub_call_text(a, HUB_REASONING, STR("private"));
    hub_call_text(b, HUB_REASONING, STR("bob's"));
    hub_call_text(quiet, HUB_REASONING, STR("unkept"));
    pass(60);
    subscribe(&all, "session_s");
    subscribe(&blind, "session_s"); /* after the calls began */
    finish(a);
    finish(b);
    finish(quiet);
    pass(60);
    CHECK(seen_has(&ann, "private") && !seen_has(&ann, "bob"));
    CHECK(seen_has(&ann, "\"shown\":true") && seen_has(&ann, "[DIRECT] because"));
    CHECK(!seen_has(&blind, "private") && !seen_has(&blind, "bob"));
    CHECK(!seen_has(&blind, "\"shown\":true") && !seen_has(&blind, "[DIRECT] because"));
    CHECK(seen_has(&blind, "\"shown\":false"));
    CHECK(seen_has(&all, "private") && seen_has(&all, "bob's"));
    CHECK(!seen_has(&ann, "unkept") && !seen_has(&all, "unkept"));
    CHECK_INT(ann.ended, 2);
    CHECK_INT(blind.ended, 4); /* two calls on two channels */
    CHECK_INT(all.ended, 3);
    seen_end(&ann);
    seen_end(&blind);
    seen_end(&all);
    end();
}

TEST(an_error_that_quotes_reasoning_is_not_for_those_who_may_not_see_it)
{
    struct hub_end e = side_end();
    struct seen shown, blind;

    begin();
    seen_begin(&shown, port, &(struct hub_scope){.key = STR("ann")});
    seen_begin(&blind, port, &(struct hub_scope){.key = STR("ann"), .hide = true});
    subscribe(&shown, "session_s");
    subscribe(&blind, "session_s");
    subscribe(&blind, "dashboard_updates");
    e.success = false;
    e.decision = STR("");
    e.error_message = STR("refused: private");
    e.error_thought = true;
    hub_call_end(call("1", "s", "ann"), &e);
    pass(60);
    CHECK(seen_has(&shown, "refused: private"));
    CHECK(!seen_has(&blind, "private"));
    CHECK(seen_has(&blind, "its error quotes reasoning, which is hidden"));
    CHECK_INT(shown.ended, 1);
    CHECK_INT(blind.ended, 2);
    seen_end(&shown);
    seen_end(&blind);
    end();
}

TEST(who_comes_back_goes_on_where_it_was)
{
    struct seen s, again;
    struct hub_call *c;
    struct err e;
    uint64_t last;

    begin();
    seen_begin(&s, port, SIDE_ALL);
    subscribe(&s, "session_s");
    subscribe(&s, "dashboard_updates");
    c = call("1", "s", "");
    hub_call_text(c, HUB_ANSWER, STR("one "));
    pass(200);
    last = s.last;
    seen_end(&s);
    hub_call_text(c, HUB_ANSWER, STR("two "));
    pass(60);
    hub_call_text(c, HUB_ANSWER, STR("three "));
    pass(5000);
    seen_begin(&again, port, SIDE_ALL);
    CHECK(hub_subscribe(again.viewer, STR("session_s"), last, &e));
    CHECK(!again.gaps && !again.started);
    CHECK_INT(again.count[HUB_ANSWER], 2);
    CHECK(seen_has(&again, "\"text\":\"two \"") && !seen_has(&again, "one"));
    seen_end(&again);
    pass(HUB_LINGER_MS + 1000);
    side_turn(loop);
    seen_begin(&again, port, SIDE_ALL); /* after the replay buffer expired */
    CHECK(hub_subscribe(again.viewer, STR("session_s"), last, &e));
    CHECK_INT(again.gaps, 1);
    CHECK_INT(again.missed, -1);
    CHECK_STR(buf_str(&again.text[HUB_ANSWER]), "one two three ");
    finish(c);
    side_turn(loop);
    seen_end(&again);
    end();
}

TEST(what_one_channel_has_still_to_tell_is_not_lost_by_another)
{
    struct seen s, again;
    struct hub_call *c;
    struct err e;
    uint64_t last;

    begin();
    seen_begin(&s, port, SIDE_ALL);
    subscribe(&s, "session_s");
    subscribe(&s, "dashboard_updates");
    pass(100);
    c = call("1", "s", "");
    hub_call_text(c, HUB_ANSWER, STR("one "));
    side_turn(loop); /* sent to the session's channel; the other channel waits */
    CHECK_INT(s.started, 1);
    CHECK_INT(s.count[HUB_ANSWER], 1);
    last = s.last;
    CHECK(last > 0);
    seen_end(&s);
    seen_begin(&again, port, SIDE_ALL);
    CHECK(hub_subscribe(again.viewer, STR("dashboard_updates"), last, &e));
    CHECK_INT(again.started, 1);
    CHECK_INT(again.gaps, 0);
    finish(c);
    pass(60);
    seen_end(&again);
    end();
}

TEST(numbers_nobody_knows_are_a_gap)
{
    static const uint64_t odd[] = {1, 1699999999999999, UINT64_MAX};
    struct seen s;
    struct hub_call *c;
    struct err e;

    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        begin();
        c = call("1", "s", "");
        hub_call_text(c, HUB_ANSWER, STR("text"));
        seen_begin(&s, port, SIDE_ALL);
        CHECK(hub_subscribe(s.viewer, STR("session_s"), odd[i], &e));
        CHECK_INT(s.gaps, 1);
        CHECK_STR(buf_str(&s.text[HUB_ANSWER]), "text");
        finish(c);
        seen_end(&s);
        end();
    }
}

TEST(the_ring_is_bounded_and_what_left_it_is_a_gap)
{
    struct seen s;
    struct hub_call *c;
    struct err e;
    uint64_t first;

    begin();
    seen_begin(&s, port, SIDE_ALL);
    subscribe(&s, "session_s");
    c = call("1", "s", "");
    side_turn(loop);
    first = s.last;
    for (int i = 0; i < HUB_RING_MAX + 10; i++) {
        hub_call_text(c, HUB_ANSWER, STR("x"));
        side_turn(loop);
    }
    CHECK(hub_unsubscribe(s.viewer, STR("session_s")));
    CHECK(!hub_unsubscribe(s.viewer, STR("session_s")));
    CHECK(hub_subscribe(s.viewer, STR("session_s"), first, &e));
    CHECK_INT(s.gaps, 1);
    finish(c);
    side_turn(loop);
    seen_end(&s);
    end();
}

/* A filter that masks "bad", and buffers a final "b" until the next byte. */
struct held {
    struct buf text;
    int closed;
};

static void on_filter(void *ctx, enum hub_text kind, str raw, bool last, struct buf *out)
{
    struct held *h = ctx;

    if (kind != HUB_ANSWER)
        return;
    buf_add(&h->text, raw);
    for (;;) {
        str t = buf_str(&h->text);
        size_t at = str_find(t, STR("bad")), keep;

        if (at != STR_NONE) {
            buf_add(out, str_slice(t, 0, at));
            buf_add(out, STR("***"));
            buf_drop(&h->text, at + 3);
            continue;
        }
        keep = last ? 0 : str_ends(t, STR("ba")) ? 2 : str_ends(t, STR("b")) ? 1 : 0;
        buf_add(out, str_slice(t, 0, t.n - keep));
        buf_drop(&h->text, t.n - keep);
        return;
    }
}

static void on_filter_close(void *ctx)
{
    ((struct held *)ctx)->closed++;
}

TEST(nothing_is_told_that_has_not_been_through_the_filter)
{
    str text = STR("a bad word, bab, bad and b");

    for (size_t cut = 0; cut <= text.n; cut++)
        for (int watched = 0; watched < 3; watched++) {
            struct hub_begin b = side_begin("1", "s", "");
            struct held held = {0};
            struct seen s;
            struct hub_call *c;

            begin();
            buf_init(&held.text, 1 << 20);
            b.filter =
                (struct hub_filter){.feed = on_filter, .close = on_filter_close, .ctx = &held};
            seen_begin(&s, port, SIDE_ALL);
            if (watched == 0)
                subscribe(&s, "session_s");
            c = hub_call_begin(hub, port, &b);
            hub_call_text(c, HUB_ANSWER, str_slice(text, 0, cut));
            side_turn(loop);
            if (watched == 1)
                subscribe(&s, "session_s");
            hub_call_text(c, HUB_ANSWER, str_slice(text, cut, text.n));
            side_turn(loop);
            become(c, HUB_CALLING); /* ends the answer */
            if (watched == 2)
                subscribe(&s, "session_s");
            side_turn(loop);
            CHECK_STR(buf_str(&s.text[HUB_ANSWER]), "a *** word, bab, *** and b");
            hub_call_text(c, HUB_ANSWER, STR("ad"));
            finish(c);
            side_turn(loop);
            CHECK_STR(buf_str(&s.text[HUB_ANSWER]), "a *** word, bab, *** and bad");
            CHECK(!s.torn);
            CHECK_INT(held.closed, 1);
            buf_release(&held.text);
            seen_end(&s);
            end();
        }
}

TEST_MAIN(T(a_text_is_the_same_whatever_the_pieces),
          T(a_round_of_the_loop_is_one_message_and_a_second_at_most_twenty),
          T(who_comes_late_gets_all_so_far_and_then_the_rest),
          T(a_viewer_that_is_full_loses_messages_is_told_and_catches_up),
          T(a_long_text_is_kept_in_part_and_its_viewers_get_all_of_it),
          T(all_texts_together_have_a_ceiling), T(who_may_not_see_a_call_or_its_reasoning_does_not),
          T(an_error_that_quotes_reasoning_is_not_for_those_who_may_not_see_it),
          T(who_comes_back_goes_on_where_it_was),
          T(what_one_channel_has_still_to_tell_is_not_lost_by_another),
          T(numbers_nobody_knows_are_a_gap), T(the_ring_is_bounded_and_what_left_it_is_a_gap),
          T(nothing_is_told_that_has_not_been_through_the_filter))
