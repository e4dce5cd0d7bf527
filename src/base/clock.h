/* clock.h - what time it is, from a clock that is passed in.
 *
 *     uint64_t began_ns = clock_mono_ns(clock);
 *     ...
 *     char took[CLOCK_DURATION_SIZE];
 *     clock_duration(clock_mono_ns(clock) - began_ns, took);          "1.2 s"
 *
 * Everything that looks at the time takes a `struct clock *`: the program passes &clock_real, a
 * test passes one that stands still until the test moves it:
 *
 *     struct clock clock;
 *     clock_fake_init(&clock, 1700000000000);
 *     clock_fake_advance_ms(&clock, 30000);
 *
 * Two times, never mixed: the monotonic one, in nanoseconds from some start, measures and ends
 * waits; the wall one, in milliseconds since 1970 in UTC, is for people and may jump.
 *
 * Promises:
 *   - Any thread may look at a fake clock while another moves it.
 *   - clock_parse takes what clock_format gives and gives back the same number; whatever it takes,
 *     clock_format can write.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#include <stdatomic.h>

#define CLOCK_NEVER UINT64_MAX /* a deadline that does not come */
#define CLOCK_NS_PER_US 1000u
#define CLOCK_NS_PER_MS 1000000u
#define CLOCK_TEXT_SIZE 25                  /* "2024-02-29T23:59:59.999Z" and its NUL */
#define CLOCK_DURATION_SIZE 32              /* "213503 d 23 h" is among the longest */
#define CLOCK_WALL_MS_MIN (-62167219200000) /* the first millisecond of the year 0 */
#define CLOCK_WALL_MS_MAX 253402300799999   /* the last one of the year 9999 */

struct clock {
    bool fake;
    _Atomic uint64_t mono_ns; /* of a fake one, as is the next */
    _Atomic int64_t wall_ms;
};

extern const struct clock clock_real;

uint64_t clock_mono_ns(const struct clock *c);
uint64_t clock_mono_ms(const struct clock *c);
int64_t clock_wall_ms(const struct clock *c);

/* The monotonic time so many milliseconds from now; a negative number is CLOCK_NEVER. */
uint64_t clock_deadline_ns(const struct clock *c, int64_t timeout_ms);

/* How long until a deadline as poll and epoll_wait take it: rounded up, 0 if it is over, -1 for
 * CLOCK_NEVER. */
int clock_left_ms(const struct clock *c, uint64_t deadline_ns);

/* The monotonic time begins at one second; advancing moves both times, setting the wall time, as
 * an operator may, only that. */
void clock_fake_init(struct clock *c, int64_t wall_ms);
void clock_fake_advance_ms(struct clock *c, uint64_t ms);
void clock_fake_set_wall(struct clock *c, int64_t wall_ms);

/* RFC 3339 in UTC with milliseconds. What lies outside the years 0 to 9999 is written as the
 * nearest time inside. The text returned is the one in out. */
str clock_format(int64_t wall_ms, char out[CLOCK_TEXT_SIZE]);

/* The same for one who asks again and again: within a second only its thousandths are written.
 * Begins as zeros. */
struct clock_text {
    bool known;
    int64_t second;
    char text[CLOCK_TEXT_SIZE];
};

str clock_format_next(struct clock_text *t, int64_t wall_ms);

/* A date-time of RFC 3339: any offset, T or a space between, digits past the third dropped, a leap
 * second where one can be (it is the first second of the next day). False if it is not one. */
bool clock_parse(str s, int64_t *wall_ms) MUST_USE;

/* For people, in the unit that fits: "12 us", "340 ms", "1.2 s", "2 min 5 s", "3 h 10 min",
 * "2 d 1 h". The text returned is the one in out. */
str clock_duration(uint64_t ns, char out[CLOCK_DURATION_SIZE]);
