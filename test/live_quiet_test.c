/* Calls that begin while nobody watches, and viewers that connect later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live_side.h"
#include "test.h"

static struct clock fake;
static struct hub *hub;
static struct loop *loops[2];
static struct hub_port *ports[2];

static void begin(void)
{
    struct err e;

    clock_fake_init(&fake, 1700000000000);
    hub = hub_new(&fake);
    for (size_t i = 0; i < COUNT_OF(ports); i++) {
        loops[i] = loop_new(&fake, &e);
        CHECK(loops[i] != NULL);
        ports[i] = hub_port_new(hub, loops[i]);
    }
}

static void end(void)
{
    for (size_t i = 0; i < COUNT_OF(ports); i++) {
        loop_free(loops[i]);
        hub_port_free(ports[i]);
    }
    hub_free(hub);
}

static void subscribe(struct seen *s, const char *channel)
{
    struct err e;

    CHECK(hub_subscribe(s->viewer, str_c(channel), 0, &e));
}

static struct hub_call *call(size_t port, const char *id, const char *session, int64_t started_us)
{
    struct hub_begin b = side_begin(id, session, "");

    b.started_us = started_us;
    return hub_call_begin(hub, ports[port], &b);
}

static void finish(struct hub_call *c)
{
    struct hub_end e = side_end();

    hub_call_end(c, &e);
}

static bool list(void *ctx, const struct hub_running *r)
{
    buf_add(ctx, r->id);
    return true;
}

static uint64_t running(void)
{
    struct hub_counts n;

    hub_counts(hub, &n);
    return n.running;
}

TEST(who_comes_late_sees_what_began_and_was_said_while_nobody_looked)
{
    static const char *const channels[] = {"session_s", "dashboard_updates"};

    for (size_t i = 0; i < COUNT_OF(channels); i++) {
        struct hub_call *c;
        struct seen s;

        begin();
        c = call(0, "1", "s", 1);
        hub_call_state(c, &(struct hub_progress){HUB_THINKING, 5, 7, false});
        hub_call_text(c, HUB_REASONING, STR("hm "));
        hub_call_text(c, HUB_ANSWER, STR("yes"));
        CHECK(!hub_call_watched(c));
        CHECK_INT(running(), 1);
        seen_begin(&s, ports[1], SIDE_ALL);
        subscribe(&s, channels[i]);
        CHECK(hub_call_watched(c));
        CHECK_INT(s.started, 1);
        CHECK(seen_has(&s, "\"state\":\"thinking\""));
        CHECK_STR(buf_str(&s.text[HUB_REASONING]), "hm ");
        CHECK_STR(buf_str(&s.text[HUB_ANSWER]), "yes");
        hub_call_text(c, HUB_ANSWER, STR(" and no"));
        finish(c);
        side_turn(loops[1]);
        clock_fake_advance_ms(&fake, 60);
        side_turn(loops[1]);
        CHECK_STR(buf_str(&s.text[HUB_ANSWER]), "yes and no");
        CHECK_INT(s.started, 1);
        CHECK_INT(s.ended, 1);
        CHECK_INT(running(), 0);
        seen_end(&s);
        end();
    }
}

TEST(quiet_calls_of_all_loops_are_listed_newest_first)
{
    struct hub_call *c[5];
    struct buf out;

    begin();
    buf_init(&out, 4096);
    c[0] = call(0, "1", "s", 10);
    c[1] = call(1, "2", "t", 20);
    c[2] = call(1, "3", "s", 30);
    c[3] = call(0, "4", "s", 40);
    finish(c[2]);
    CHECK_INT(hub_running(hub, STR(""), list, &out), 3);
    CHECK_INT(hub_running(hub, STR("s"), list, &out), 2);
    c[4] = call(1, "5", "s", 50); /* quiet again: all viewers have left */
    finish(c[0]);
    CHECK_INT(hub_running(hub, STR(""), list, &out), 3);
    CHECK_STR(buf_str(&out),
              "421"
              "41"
              "542");
    finish(c[1]);
    finish(c[3]);
    finish(c[4]);
    CHECK_INT(hub_running(hub, STR(""), list, &out), 0);
    buf_release(&out);
    end();
}

static void on_open(void *ctx, struct hub_begin *b)
{
    ++*(int *)ctx;
    b->asked = STR("[masked]");
}

TEST(what_was_asked_is_masked_once_and_only_for_who_looks)
{
    struct hub_begin b = side_begin("1", "s", "");
    struct hub_call *c, *unseen;
    struct seen s;
    int opened = 0, never = 0;

    begin();
    b.asked = STR("a secret");
    b.filter = (struct hub_filter){.open = on_open, .ctx = &never};
    unseen = hub_call_begin(hub, ports[0], &b);
    hub_call_text(unseen, HUB_ANSWER, STR("x"));
    finish(unseen);
    CHECK_INT(never, 0);
    b.filter.ctx = &opened;
    c = hub_call_begin(hub, ports[0], &b);
    seen_begin(&s, ports[0], SIDE_ALL);
    subscribe(&s, "session_s");
    subscribe(&s, "dashboard_updates");
    finish(c);
    side_turn(loops[0]);
    CHECK(seen_has(&s, "[masked]"));
    CHECK(!seen_has(&s, "a secret"));
    CHECK_INT(opened, 1);
    seen_end(&s);
    end();
}

TEST(a_call_that_owns_its_texts_needs_those_it_was_lent_no_more)
{
    char id[] = "one", session[] = "s", asked[] = "why me?";
    struct hub_begin b = side_begin(id, session, "");
    struct hub_call *c;
    struct seen s;

    begin();
    b.asked = str_c(asked);
    c = hub_call_begin(hub, ports[0], &b);
    hub_call_own(c);
    hub_call_own(NULL);
    memset(id, 'x', sizeof id - 1);
    memset(session, 'x', sizeof session - 1);
    memset(asked, 'x', sizeof asked - 1);
    seen_begin(&s, ports[0], SIDE_ALL);
    subscribe(&s, "session_s");
    CHECK(seen_has(&s, "\"interaction_id\":\"one\""));
    CHECK(seen_has(&s, "why me?"));
    finish(c);
    side_turn(loops[0]);
    CHECK(seen_has(&s, "llm_interaction"));
    seen_end(&s);
    end();
}

/* ---- borrowed texts ---- */

static const struct hub_lent lent = {
    .n = 4,
    .pieces = {{HUB_THINKING, HUB_REASONING, STR_INIT("h\xC3\xA4")},
               {HUB_ANSWERING, HUB_ANSWER, STR_INIT("yes")},
               {HUB_THINKING, HUB_REASONING, STR_INIT(" or")},
               {HUB_CALLING, HUB_TOOL, STR_INIT("f {}")}},
    .progress = {HUB_CALLING, 5, 7, true}};

/* Publishes the contents of `lent` piece by piece. */
static void tell(struct hub_call *c)
{
    struct hub_progress p = {.thinking_ms = -1, .reasoning_tokens = -1};

    for (size_t i = 0; i < lent.n; i++) {
        p.state = lent.pieces[i].state;
        hub_call_state(c, &p);
        hub_call_text(c, lent.pieces[i].kind, lent.pieces[i].text);
    }
    hub_call_state(c, &lent.progress);
}

/* Passes text through, and marks the end of each text with a '|'. */
static void on_feed(void *ctx, enum hub_text kind, str raw, bool last, struct buf *out)
{
    (void)ctx;
    (void)kind;
    buf_add(out, raw);
    if (last)
        buf_add_c(out, '|');
}

enum come { COMES_BEHIND, COMES_AFTER_MORE, COMES_AT_THE_END, COMES };

/* All messages that a viewer gets about a call when it connects at the given time. */
static void seen_of(void (*say)(struct hub_call *c), enum come when, bool thoughts, struct buf *out)
{
    struct hub_begin b = side_begin("1", "s", "");
    struct hub_call *c;
    struct seen s;

    begin();
    b.thoughts = thoughts;
    b.filter = (struct hub_filter){.feed = on_feed};
    c = hub_call_begin(hub, ports[0], &b);
    seen_begin(&s, ports[1], SIDE_ALL);
    say(c);
    if (when == COMES_BEHIND)
        subscribe(&s, "session_s");
    hub_call_text(c, HUB_ANSWER, STR(" more"));
    if (when == COMES_AFTER_MORE)
        subscribe(&s, "session_s");
    hub_call_state(c, &(struct hub_progress){HUB_ANSWERING, 6, 8, true});
    if (when == COMES_AT_THE_END)
        subscribe(&s, "session_s");
    finish(c);
    side_turn(loops[1]);
    for (size_t i = 0; i < HUB_TEXT_COUNT; i++) {
        buf_add(out, buf_str(&s.text[i]));
        buf_add_c(out, '\n');
    }
    buf_printf(out, "%zu %zu", s.started, s.ended);
    CHECK(seen_has(&s, "\"reasoning_tokens\":8"));
    seen_end(&s);
    end();
}

static void lend(struct hub_call *c)
{
    hub_call_lend(c, &lent);
}

static void lend_and_take_back(struct hub_call *c)
{
    struct hub_lent passing = lent;

    hub_call_lend(c, &passing);
    hub_call_keep(c);
    memset(&passing, 'x', sizeof passing);
    hub_call_keep(NULL);
    hub_call_lend(NULL, NULL);
}

static void lend_twice(struct hub_call *c)
{
    static const struct hub_lent first = {
        .n = 2,
        .pieces = {{HUB_THINKING, HUB_REASONING, STR_INIT("h")},
                   {HUB_THINKING, HUB_REASONING, STR_INIT("\xC3")}},
        .progress = {HUB_THINKING, -1, -1, false}};
    struct hub_lent rest = lent;

    rest.pieces[0].text = STR("\xA4");
    hub_call_lend(c, &first);
    hub_call_lend(c, &rest);
    hub_call_keep(c);
}

TEST(what_is_lent_looks_as_if_it_had_been_told)
{
    static void (*const ways[])(struct hub_call *) = {lend, lend_and_take_back, lend_twice};
    struct buf reported, seen;

    buf_init(&reported, 4096);
    buf_init(&seen, 4096);
    for (size_t i = 0; i < COUNT_OF(ways) * COMES * 2; i++) {
        enum come when = (enum come)(i / 2 % COMES);

        buf_reset(&reported);
        buf_reset(&seen);
        seen_of(tell, when, i % 2, &reported);
        seen_of(ways[i / 2 / COMES], when, i % 2, &seen);
        CHECK(str_eq(buf_str(&seen), buf_str(&reported)));
        CHECK(str_find(buf_str(&seen), STR("yes|")) != STR_NONE);
        CHECK((str_find(buf_str(&seen), STR("h\xC3\xA4| or|")) != STR_NONE) == (i % 2 == 1));
    }
    buf_release(&reported);
    buf_release(&seen);
}

TEST(what_is_lent_is_told_at_once_if_somebody_looks)
{
    struct hub_call *c;
    struct seen s;

    begin();
    c = call(0, "1", "s", 1);
    seen_begin(&s, ports[1], SIDE_ALL);
    subscribe(&s, "session_s");
    CHECK(hub_call_watched(c));
    hub_call_lend(c, &lent);
    side_turn(loops[1]);
    CHECK_STR(buf_str(&s.text[HUB_REASONING]), "h\xC3\xA4 or");
    CHECK(seen_has(&s, "\"state\":\"tool\""));
    finish(c);
    side_turn(loops[1]);
    seen_end(&s);
    end();
}

TEST(memory_of_calls_that_are_over_serves_the_next)
{
    struct hub_call *c[200];

    begin();
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < COUNT_OF(c); i++) {
            c[i] = call(0, "1", "s", 1);
            hub_call_text(c[i], HUB_ANSWER, STR("text"));
        }
        for (size_t i = 0; i < COUNT_OF(c); i++)
            finish(c[(i * 7) % COUNT_OF(c)]);
        CHECK_INT(running(), 0);
    }
    end();
}

TEST_MAIN(T(who_comes_late_sees_what_began_and_was_said_while_nobody_looked),
          T(quiet_calls_of_all_loops_are_listed_newest_first),
          T(what_was_asked_is_masked_once_and_only_for_who_looks),
          T(a_call_that_owns_its_texts_needs_those_it_was_lent_no_more),
          T(what_is_lent_looks_as_if_it_had_been_told),
          T(what_is_lent_is_told_at_once_if_somebody_looks),
          T(memory_of_calls_that_are_over_serves_the_next))
