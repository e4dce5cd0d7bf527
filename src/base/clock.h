/* clock.h - the time, from a clock that the caller passes in.
 *
 *     uint64_t began_ns = clock_mono_ns(clock);
 *     ...
 *     char took[CLOCK_DURATION_SIZE];
 *     clock_duration(clock_mono_ns(clock) - began_ns, took);          "1.2 s"
 *
 * Every function that needs the time takes a `struct clock *`. The program passes &clock_real; a
 * test passes a fake clock, which moves only when the test advances it:
 *
 *     struct clock clock;
 *     clock_fake_init(&clock, 1700000000000);
 *     clock_fake_advance_ms(&clock, 30000);
 *
 * There are two times, never mixed. The monotonic time, in nanoseconds from an arbitrary start, is
 * for durations and deadlines. The wall time, in milliseconds since 1970 in UTC, is for people and
 * may jump.
 *
 * Promises:
 *   - Threads may read a fake clock while another thread advances it.
 *   - clock_parse returns the number that clock_format wrote; clock_format can write every time
 *     that clock_parse accepts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#include <pthread.h>
#include <stdatomic.h>

#define CLOCK_NEVER UINT64_MAX /* no deadline */
#define CLOCK_NS_PER_US 1000u
#define CLOCK_NS_PER_MS 1000000u
#define CLOCK_TEXT_SIZE 25                  /* "2024-02-29T23:59:59.999Z" and its NUL */
#define CLOCK_DURATION_SIZE 32              /* "213503 d 23 h" is among the longest */
#define CLOCK_WALL_MS_MIN (-62167219200000) /* the first millisecond of the year 0 */
#define CLOCK_WALL_MS_MAX 253402300799999   /* the last one of the year 9999 */

struct clock {
    bool fake;
    _Atomic uint64_t mono_ns; /* of a fake clock, like the next member */
    _Atomic int64_t wall_ms;
};

extern const struct clock clock_real;

uint64_t clock_mono_ns(const struct clock *c);
uint64_t clock_mono_ms(const struct clock *c);
int64_t clock_wall_ms(const struct clock *c);

/* The monotonic time this many milliseconds from now; CLOCK_NEVER for a negative number. */
uint64_t clock_deadline_ns(const struct clock *c, int64_t timeout_ms);

/* The time until a deadline, as poll and epoll_wait expect it: rounded up, 0 if it has passed, -1
 * for CLOCK_NEVER. */
int clock_left_ms(const struct clock *c, uint64_t deadline_ns);

/* A condition whose waits end by the monotonic time. clock_cond_wait is only for such conditions,
 * and returns false if the deadline has passed. */
void clock_cond_init(pthread_cond_t *cond);
bool clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns);

/* Waits for a lock until a monotonic time; false if it has passed. */
bool clock_mutex_lock(pthread_mutex_t *lock, uint64_t until_ns) MUST_USE;

/* The monotonic time begins at one second. Advancing moves both times; setting the wall time, as an
 * operator may do, moves only the wall time. */
void clock_fake_init(struct clock *c, int64_t wall_ms);
void clock_fake_advance_ms(struct clock *c, uint64_t ms);
void clock_fake_set_wall(struct clock *c, int64_t wall_ms);

/* RFC 3339 in UTC with milliseconds. A time outside the years 0 to 9999 is written as the nearest
 * time inside. The returned text is in out. */
str clock_format(int64_t wall_ms, char out[CLOCK_TEXT_SIZE]);

/* The same for repeated calls: within a second it only rewrites the milliseconds. Initialize with
 * zeros. */
struct clock_text {
    bool known;
    int64_t second;
    char text[CLOCK_TEXT_SIZE];
};

str clock_format_next(struct clock_text *t, int64_t wall_ms);

/* A date-time of RFC 3339: any offset, T or a space between, digits after the third are dropped, a
 * leap second is accepted where one may occur (it becomes the first second of the next day). False
 * if s has another form. */
bool clock_parse(str s, int64_t *wall_ms) MUST_USE;

/* For people, in the unit that fits: "12 us", "340 ms", "1.2 s", "2 min 5 s", "3 h 10 min",
 * "2 d 1 h". The text returned is the one in out. */
str clock_duration(uint64_t ns, char out[CLOCK_DURATION_SIZE]);
/* The same for a duration that was measured in milliseconds: 0 is "0 ms". A negative one counts as
 * 0. */
str clock_duration_ms(int64_t ms, char out[CLOCK_DURATION_SIZE]);
