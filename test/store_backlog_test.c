/* Tables that lag behind the journal: the lag is reported early, and the taker shares the CPU.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store_help.h"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#define CEILING (4 << 20)
#define LOOKS 6000 /* of 10 ms each: the machine may be busy */

struct side {
    struct place place;
    struct store *store;
    _Atomic unsigned stored, refused;
    unsigned count;
};

static void side_init(struct side *s, enum store_durability durability)
{
    struct store_options o;
    struct err e;

    *s = (struct side){0};
    place_init(&s->place);
    o = options(&s->place);
    o.durability = durability;
    o.journal_size_max = CEILING;
    CHECK_F(store_open(&o, &s->store, &e), "%s", e.text);
    settle(s->store);
}

static void side_release(struct side *s)
{
    store_close(s->store);
    place_release(&s->place);
}

static struct store_health health(struct side *s)
{
    struct store_health h;

    store_health(s->store, &h);
    return h;
}

/* Puts records until the journal has so many bytes. */
static void fill(struct side *s, uint64_t bytes)
{
    static struct sample m;

    for (int looks = 0; health(s).journal_bytes < bytes; looks++) {
        CHECK(looks < LOOKS);
        if (health(s).queue_bytes > 0) {
            usleep(10000);
            continue;
        }
        for (int i = 0; i < 40; i++) {
            sample_fill(&m, 7, s->count++);
            put_counted(s->store, &m.row, &s->stored, &s->refused);
        }
    }
    for (int looks = 0; health(s).queue_bytes > 0; looks++) {
        CHECK(looks < LOOKS);
        usleep(10000);
    }
}

static void check_backlog(enum store_durability durability)
{
    struct store_health h;
    struct side s;
    struct err e;
    unsigned half;

    side_init(&s, durability);
    CHECK_INT(store_pressure(s.store), 0);
    database_away(&s.place, true);
    fill(&s, CEILING / 8);
    h = health(&s);
    CHECK(h.ok && !h.behind && h.pending == s.count);
    CHECK_INT(store_pressure(s.store), 0);
    fill(&s, CEILING / 2);
    h = health(&s);
    CHECK_F(h.ok && h.behind && !h.tables_ok, "%s", h.why);
    half = store_pressure(s.store);
    CHECK_F(half > 0 && half < STORE_PRESSURE_MAX, "%u", half);
    CHECK(store_takes(s.store, &e));
    while (store_takes(s.store, &e))
        fill(&s, health(&s).journal_bytes + 1);
    CHECK_INT(store_pressure(s.store), STORE_PRESSURE_MAX);
    CHECK_INT(s.refused, 0);
    CHECK_INT(health(&s).pending, s.count);
    database_away(&s.place, false);
    settle(s.store);
    h = health(&s);
    CHECK_F(h.ok && h.tables_ok && !h.behind && h.why[0] == '\0', "%s", h.why);
    CHECK(h.pending == 0 && h.pending_s == 0 && store_pressure(s.store) == 0);
    CHECK_INT(samples_in(s.store), s.count);
    side_release(&s);
}

TEST(a_backlog_is_reported_before_the_ceiling)
{
    check_backlog(STORE_DURABLE);
}

TEST(fast_stores_have_the_same_back_pressure)
{
    check_backlog(STORE_FAST);
}

TEST(a_backlog_is_counted_in_seconds_and_said_in_a_sentence)
{
    struct store_health h;
    struct side s;

    side_init(&s, STORE_DURABLE);
    database_away(&s.place, true);
    fill(&s, CEILING / 2);
    for (int looks = 0; (h = health(&s)).pending_s == 0; looks++) {
        CHECK(looks < LOOKS);
        usleep(10000);
    }
    /* The lag is reported in addition to the reason of a failure. */
    CHECK_F(strstr(h.why, "the tables are behind: ") && !strstr(h.why, " 0.0 MB "), "%s", h.why);
    database_away(&s.place, false);
    /* While the taker catches up, the store is behind, but healthy. */
    for (int looks = 0; h.behind && !strstr(h.why, "the tables are behind: "); looks++) {
        CHECK(looks < LOOKS);
        usleep(1000);
        h = health(&s);
    }
    settle(s.store);
    CHECK_INT(health(&s).pending_s, 0);
    side_release(&s);
}

TEST(the_time_without_calls_is_no_part_of_a_backlog)
{
    uint64_t from, seconds;
    struct side s;

    side_init(&s, STORE_DURABLE);
    database_away(&s.place, true);
    fill(&s, 1);
    database_away(&s.place, false);
    settle(s.store);
    usleep(3000000); /* the journal has a resolution of one second */
    from = clock_mono_ns(&clock_real);
    database_away(&s.place, true);
    fill(&s, CEILING / 8);
    seconds = health(&s).pending_s;
    CHECK_F(seconds <= (clock_mono_ns(&clock_real) - from) / 1000000000u,
            "%llu",
            (unsigned long long)seconds);
    database_away(&s.place, false);
    settle(s.store);
    side_release(&s);
}

/* The number of this process's threads with SCHED_IDLE. */
static unsigned low_threads(void)
{
    DIR *d = opendir("/proc/self/task");
    struct dirent *entry;
    unsigned n = 0;

    CHECK(d);
    while ((entry = readdir(d)))
        if (entry->d_name[0] != '.')
            n += sched_getscheduler((pid_t)strtol(entry->d_name, NULL, 10)) == SCHED_IDLE;
    closedir(d);
    return n;
}

static void wait_low_threads(unsigned wanted)
{
    for (int looks = 0; low_threads() != wanted; looks++) {
        CHECK(looks < LOOKS);
        usleep(10000);
    }
}

TEST(tables_that_are_behind_are_filled_at_normal_priority)
{
    struct side s;

    side_init(&s, STORE_DURABLE);
    wait_low_threads(1);
    database_away(&s.place, true);
    fill(&s, CEILING / 2);
    wait_low_threads(0);
    database_away(&s.place, false);
    settle(s.store);
    wait_low_threads(1);
    side_release(&s);
}

TEST_MAIN(T(a_backlog_is_reported_before_the_ceiling), T(fast_stores_have_the_same_back_pressure),
          T(a_backlog_is_counted_in_seconds_and_said_in_a_sentence),
          T(the_time_without_calls_is_no_part_of_a_backlog),
          T(tables_that_are_behind_are_filled_at_normal_priority))
