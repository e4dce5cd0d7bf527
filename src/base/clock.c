/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <limits.h>

#define DAY_MS 86400000
#define DAYS_TO_1970 719528 /* from the first day of the year 0 */
#define DAYS_OF_400_YEARS 146097

const struct clock clock_real = {.fake = false};

static struct timespec clock_read_timespec(clockid_t id)
{
    struct timespec t;

    if (clock_gettime(id, &t) < 0)
        base_die("clock_gettime(%d)", (int)id);
    return t;
}

uint64_t clock_mono_ns(const struct clock *c)
{
    struct timespec t;

    if (c->fake)
        return atomic_load_explicit(&c->mono_ns, memory_order_relaxed);
    t = clock_read_timespec(CLOCK_MONOTONIC);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_mono_ms(const struct clock *c)
{
    return clock_mono_ns(c) / CLOCK_NS_PER_MS;
}

int64_t clock_wall_ms(const struct clock *c)
{
    struct timespec t;

    if (c->fake)
        return atomic_load_explicit(&c->wall_ms, memory_order_relaxed);
    t = clock_read_timespec(CLOCK_REALTIME);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / CLOCK_NS_PER_MS;
}

uint64_t clock_deadline_ns(const struct clock *c, int64_t timeout_ms)
{
    uint64_t at = clock_mono_ns(c);

    if (timeout_ms < 0 || (uint64_t)timeout_ms > (CLOCK_NEVER - at) / CLOCK_NS_PER_MS)
        return CLOCK_NEVER;
    return at + (uint64_t)timeout_ms * CLOCK_NS_PER_MS;
}

int clock_left_ms(const struct clock *c, uint64_t deadline_ns)
{
    uint64_t at, left_ms;

    if (deadline_ns == CLOCK_NEVER)
        return -1;
    at = clock_mono_ns(c);
    if (at >= deadline_ns)
        return 0;
    left_ms = (deadline_ns - at - 1) / CLOCK_NS_PER_MS + 1;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

void clock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

static struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

bool clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
    struct timespec at = clock_timespec(until_ns);

    if (until_ns == CLOCK_NEVER)
        return pthread_cond_wait(cond, lock) == 0;
    return pthread_cond_timedwait(cond, lock, &at) == 0;
}

/* ThreadSanitizer of clang 14 does not know pthread_mutex_clocklock and would miss that the lock is
 * taken, so such a build waits by the wall clock. */
bool clock_mutex_lock(pthread_mutex_t *lock, uint64_t until_ns)
{
    struct timespec at;

    if (until_ns == CLOCK_NEVER)
        return pthread_mutex_lock(lock) == 0;
#if BUILD_THREAD_SANITIZER
    uint64_t now_ns = clock_mono_ns(&clock_real);

    at = clock_timespec((uint64_t)clock_wall_ms(&clock_real) * CLOCK_NS_PER_MS +
                        (until_ns > now_ns ? until_ns - now_ns : 0));
    return pthread_mutex_timedlock(lock, &at) == 0;
#else
    at = clock_timespec(until_ns);
    return pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &at) == 0;
#endif
}

void clock_fake_init(struct clock *c, int64_t wall_ms)
{
    c->fake = true;
    atomic_init(&c->mono_ns, 1000000000u);
    atomic_init(&c->wall_ms, wall_ms);
}

void clock_fake_advance_ms(struct clock *c, uint64_t ms)
{
    assert(c->fake);
    assert(ms <= UINT64_MAX / CLOCK_NS_PER_MS);
    atomic_fetch_add_explicit(&c->mono_ns, ms * CLOCK_NS_PER_MS, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->wall_ms, (int64_t)ms, memory_order_relaxed);
}

void clock_fake_set_wall(struct clock *c, int64_t wall_ms)
{
    assert(c->fake);
    atomic_store_explicit(&c->wall_ms, wall_ms, memory_order_relaxed);
}

/* Days of the proleptic Gregorian calendar before the first of January of a year, from that of
 * the year 0, which is a leap year. */
static int64_t clock_days_before_year(int64_t year)
{
    int64_t leaps = year > 0 ? (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1 : 0;

    return year * 365 + leaps;
}

static bool clock_is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t clock_days_of_month(int64_t year, int64_t month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    assert(month >= 1 && month <= 12);
    return days[month - 1] + (month == 2 && clock_is_leap(year));
}

static char *clock_put(char *p, int64_t value, int digits)
{
    for (int i = digits - 1; i >= 0; i--) {
        p[i] = (char)('0' + value % 10);
        value /= 10;
    }
    assert(value == 0); /* it had no more digits */
    return p + digits;
}

str clock_format(int64_t wall_ms, char out[CLOCK_TEXT_SIZE])
{
    int64_t ms, days, year, month = 1;
    char *p = out;

    if (wall_ms < CLOCK_WALL_MS_MIN)
        wall_ms = CLOCK_WALL_MS_MIN;
    if (wall_ms > CLOCK_WALL_MS_MAX)
        wall_ms = CLOCK_WALL_MS_MAX;
    ms = (wall_ms - CLOCK_WALL_MS_MIN) % DAY_MS;
    days = (wall_ms - CLOCK_WALL_MS_MIN) / DAY_MS;

    year = days * 400 / DAYS_OF_400_YEARS; /* right, or one off */
    while (clock_days_before_year(year + 1) <= days)
        year++;
    while (clock_days_before_year(year) > days)
        year--;
    days -= clock_days_before_year(year);
    while (days >= clock_days_of_month(year, month))
        days -= clock_days_of_month(year, month++);

    assert(month <= 12 && days >= 0 && ms >= 0 && ms < DAY_MS);
    p = clock_put(p, year, 4);
    *p++ = '-';
    p = clock_put(p, month, 2);
    *p++ = '-';
    p = clock_put(p, days + 1, 2);
    *p++ = 'T';
    p = clock_put(p, ms / 3600000, 2);
    *p++ = ':';
    p = clock_put(p, ms / 60000 % 60, 2);
    *p++ = ':';
    p = clock_put(p, ms / 1000 % 60, 2);
    *p++ = '.';
    p = clock_put(p, ms % 1000, 3);
    *p++ = 'Z';
    *p = '\0';
    assert(p - out == CLOCK_TEXT_SIZE - 1);
    return (str){out, CLOCK_TEXT_SIZE - 1};
}

str clock_format_next(struct clock_text *t, int64_t wall_ms)
{
    bool plain = wall_ms >= 0 && wall_ms <= CLOCK_WALL_MS_MAX;

    if (!plain || !t->known || t->second != wall_ms / 1000) {
        t->known = plain;
        t->second = wall_ms / 1000;
        return clock_format(wall_ms, t->text);
    }
    clock_put(t->text + CLOCK_TEXT_SIZE - sizeof "000Z", wall_ms % 1000, 3);
    return (str){t->text, CLOCK_TEXT_SIZE - 1};
}

/* Removes this many digits from the start of s, a number from low to high. */
static bool clock_take(str *s, size_t digits, int64_t low, int64_t high, int64_t *out)
{
    uint64_t v;

    assert(digits <= 18 && low <= high);
    if (s->n < digits || !str_u64(str_slice(*s, 0, digits), &v))
        return false;
    if ((int64_t)v < low || (int64_t)v > high)
        return false;
    *s = str_slice(*s, digits, s->n);
    *out = (int64_t)v;
    return true;
}

static bool clock_take_mark(str *s, const char *any_of)
{
    if (s->n == 0 || s->p[0] == '\0' || !strchr(any_of, s->p[0]))
        return false;
    *s = str_slice(*s, 1, s->n);
    return true;
}

static bool clock_take_date(str *s, int64_t *days)
{
    int64_t year, month, day;

    if (!clock_take(s, 4, 0, 9999, &year) || !clock_take_mark(s, "-") ||
        !clock_take(s, 2, 1, 12, &month) || !clock_take_mark(s, "-") ||
        !clock_take(s, 2, 1, clock_days_of_month(year, month), &day))
        return false;
    *days = clock_days_before_year(year) + day - 1 - DAYS_TO_1970;
    while (--month > 0)
        *days += clock_days_of_month(year, month);
    return true;
}

/* The milliseconds after a dot, if there is one. */
static bool clock_take_fraction(str *s, int64_t *ms)
{
    int64_t digit, unit = 100;

    *ms = 0;
    if (!clock_take_mark(s, "."))
        return true;
    if (!clock_take(s, 1, 0, 9, &digit))
        return false;
    do {
        *ms += digit * unit;
        unit /= 10;
    } while (clock_take(s, 1, 0, 9, &digit));
    return true;
}

static bool clock_take_offset(str *s, int64_t *minutes)
{
    bool west = s->n > 0 && s->p[0] == '-';
    int64_t hour, minute;

    *minutes = 0;
    if (clock_take_mark(s, "Zz"))
        return true;
    if (!clock_take_mark(s, "+-") || !clock_take(s, 2, 0, 23, &hour) || !clock_take_mark(s, ":") ||
        !clock_take(s, 2, 0, 59, &minute))
        return false;
    *minutes = (hour * 60 + minute) * (west ? -1 : 1);
    return true;
}

bool clock_parse(str s, int64_t *wall_ms)
{
    int64_t days, hour, minute, second, ms, offset, of_day, at;

    if (!clock_take_date(&s, &days) || !clock_take_mark(&s, "Tt ") ||
        !clock_take(&s, 2, 0, 23, &hour) || !clock_take_mark(&s, ":") ||
        !clock_take(&s, 2, 0, 59, &minute) || !clock_take_mark(&s, ":") ||
        !clock_take(&s, 2, 0, 60, &second) || !clock_take_fraction(&s, &ms) ||
        !clock_take_offset(&s, &offset) || s.n > 0)
        return false;

    of_day = (hour * 60 + minute - offset + 2 * 1440) % 1440;
    if (second == 60 && of_day != 1439) /* leap seconds end a day in UTC */
        return false;
    at = days * DAY_MS + (hour * 60 + minute - offset) * 60000 + second * 1000 + ms;
    if (at < CLOCK_WALL_MS_MIN || at > CLOCK_WALL_MS_MAX)
        return false;
    *wall_ms = at;
    return true;
}

static uint64_t clock_divide_rounded(uint64_t ns, uint64_t unit)
{
    return ns / unit + (ns % unit >= unit / 2);
}

str clock_duration(uint64_t ns, char out[CLOCK_DURATION_SIZE])
{
    uint64_t us = clock_divide_rounded(ns, 1000), ms = clock_divide_rounded(ns, 1000000);
    uint64_t tenths = clock_divide_rounded(ns, 100000000), s = clock_divide_rounded(ns, 1000000000);
    uint64_t minutes = clock_divide_rounded(ns, 60000000000),
             hours = clock_divide_rounded(ns, 3600000000000);
    int n;

    if (ns < 1000)
        n = snprintf(out, CLOCK_DURATION_SIZE, "%u ns", (unsigned)ns);
    else if (us < 1000)
        n = snprintf(out, CLOCK_DURATION_SIZE, "%u us", (unsigned)us);
    else if (ms < 1000)
        n = snprintf(out, CLOCK_DURATION_SIZE, "%u ms", (unsigned)ms);
    else if (tenths < 600)
        n = snprintf(
            out, CLOCK_DURATION_SIZE, "%u.%u s", (unsigned)(tenths / 10), (unsigned)(tenths % 10));
    else if (s < 3600)
        n = snprintf(
            out, CLOCK_DURATION_SIZE, "%u min %u s", (unsigned)(s / 60), (unsigned)(s % 60));
    else if (minutes < 24 * 60)
        n = snprintf(out,
                     CLOCK_DURATION_SIZE,
                     "%u h %u min",
                     (unsigned)(minutes / 60),
                     (unsigned)(minutes % 60));
    else
        n = snprintf(
            out, CLOCK_DURATION_SIZE, "%u d %u h", (unsigned)(hours / 24), (unsigned)(hours % 24));
    assert(n > 0 && n < CLOCK_DURATION_SIZE);
    return (str){out, (size_t)n};
}

str clock_duration_ms(int64_t ms, char out[CLOCK_DURATION_SIZE])
{
    if (ms > 0)
        return clock_duration((uint64_t)ms * CLOCK_NS_PER_MS, out);
    memcpy(out, "0 ms", sizeof "0 ms");
    return str_c(out);
}
