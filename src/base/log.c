/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/simd.h"
#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#define END_MAX 48 /* kept free for " dropped=N cut=true\n" */

static _Thread_local struct log_scope *scope_now;

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug",
    [LOG_INFO] = "info",
    [LOG_WARN] = "warn",
    [LOG_ERROR] = "error",
};

/* What stands between the time and the message. */
static const str level_words[] = {
    [LOG_DEBUG] = STR_INIT(" level=debug msg="),
    [LOG_INFO] = STR_INIT(" level=info msg="),
    [LOG_WARN] = STR_INIT(" level=warn msg="),
    [LOG_ERROR] = STR_INIT(" level=error msg="),
};

/* Fields are added whole or not at all: `n` moves when one is complete. */
struct line {
    size_t n;
    bool cut;
    char bytes[LOG_LINE_MAX];
};

void log_init(struct log *log, int fd, enum log_level level, const struct clock *clock)
{
    log->fd = fd;
    log->clock = clock;
    atomic_init(&log->level, (int)level);
    atomic_init(&log->dropped, 0);
}

void log_set_level(struct log *log, enum log_level level)
{
    atomic_store_explicit(&log->level, (int)level, memory_order_relaxed);
}

bool log_level_parse(str name, enum log_level *out)
{
    for (size_t i = 0; i < COUNT_OF(level_names); i++)
        if (str_eq(name, str_c(level_names[i]))) {
            *out = (enum log_level)i;
            return true;
        }
    return false;
}

void log_scope_enter(struct log_scope *scope, struct log *log, str id)
{
    struct log_scope *outer = scope_now;

    scope->log = log ? log : outer ? outer->log : NULL;
    scope->id = id.n || !outer ? id : outer->id;
    scope->outer = outer;
    scope->batch = outer ? outer->batch : NULL;
    scope_now = scope;
}

void log_scope_batch(struct log_scope *scope, struct log_batch *batch)
{
    assert(scope_now == scope);
    batch->n = batch->lines = 0;
    batch->time_s = -1;
    scope->batch = batch;
}

void log_scope_leave(struct log_scope *scope)
{
    assert(scope_now == scope);
    if (scope->batch && (!scope->outer || scope->outer->batch != scope->batch))
        log_flush();
    scope_now = scope->outer;
}

bool log_on(enum log_level level)
{
    const struct log *log = scope_now ? scope_now->log : NULL;

    return (int)level >=
           (log ? atomic_load_explicit(&log->level, memory_order_relaxed) : (int)LOG_INFO);
}

/* Bytes at a place, as far as there is room; past it, the place still moves on. */
static inline void put(struct line *l, size_t *at, str s)
{
    if (*at < sizeof l->bytes && s.n <= sizeof l->bytes - *at)
        memcpy(l->bytes + *at, s.p, s.n);
    *at += s.n;
}

#if SIMD_HAS_16
/* All can be seen, and none is a quote, an equals sign, a backslash. */
static inline bool bare_16(const char *p)
{
    simd16 v = simd_load(p);
    simd16 outside = simd_or(simd_below(v, '!'), simd_from(v, 0x7F));
    simd16 sign = simd_or(simd_or(simd_eq(v, '"'), simd_eq(v, '=')), simd_eq(v, '\\'));

    return simd_bits(simd_or(outside, sign)) == 0;
}
#else
static inline bool bare_16(const char *p)
{
    for (size_t i = 0; i < 16; i++)
        if (p[i] < '!' || p[i] > '~' || p[i] == '"' || p[i] == '=' || p[i] == '\\')
            return false;
    return true;
}
#endif

/* Needs no quotes. */
static bool is_bare(str s)
{
    char rest[16];
    size_t i = 0;

    for (; s.n - i >= sizeof rest; i += sizeof rest)
        if (!bare_16(s.p + i))
            return false;
    if (i == s.n)
        return s.n > 0;
    memset(rest, '~', sizeof rest);
    memcpy(rest, s.p + i, s.n - i);
    return bare_16(rest);
}

static void put_character(struct line *l, size_t *at, uint32_t code, str bytes)
{
    char escaped[12];

    if (code == '"' || code == '\\')
        snprintf(escaped, sizeof escaped, "\\%c", (char)code);
    else if (code == '\n')
        snprintf(escaped, sizeof escaped, "\\n");
    else if (code == '\r')
        snprintf(escaped, sizeof escaped, "\\r");
    else if (code == '\t')
        snprintf(escaped, sizeof escaped, "\\t");
    else if (utf8_is_control(code))
        snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)code);
    else {
        put(l, at, bytes);
        return;
    }
    put(l, at, str_c(escaped));
}

static void put_text(struct line *l, size_t *at, str s)
{
    str shown;

    if (s.n <= LOG_VALUE_MAX && is_bare(s)) {
        put(l, at, s);
        return;
    }
    shown = utf8_cut_size(s, LOG_VALUE_MAX);
    put(l, at, STR("\""));
    for (size_t i = 0, size; i < shown.n; i += size) {
        str rest = str_slice(shown, i, shown.n);
        uint32_t code;

        size = utf8_decode(rest, &code);
        if (size > 0) {
            put_character(l, at, code, str_slice(rest, 0, size));
        } else {
            put(l, at, STR("\xEF\xBF\xBD"));
            size = utf8_bad(rest);
        }
    }
    if (shown.n < s.n)
        put(l, at, STR("\xE2\x80\xA6"));
    put(l, at, STR("\""));
}

/* JSON has no name for them, but a reader of logs should see what it was. */
static void format_double(char *out, size_t size, double x)
{
    snprintf(out, size, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    if (isfinite(x))
        snprintf(out, size, "%.9g", x);
}

static str decimal(char out[24], uint64_t n, bool negative)
{
    size_t at = 24;

    do {
        out[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    if (negative)
        out[--at] = '-';
    return (str){out + at, 24 - at};
}

static void put_value(struct line *l, size_t *at, const struct log_field *f)
{
    char number[32];

    switch (f->kind) {
    case LOG_IS_END:
        return;
    case LOG_IS_STR:
        put_text(l, at, f->value.text);
        return;
    case LOG_IS_U64:
        put(l, at, decimal(number, f->value.u64, false));
        return;
    case LOG_IS_I64:
        put(l,
            at,
            decimal(number,
                    f->value.i64 < 0 ? -(uint64_t)f->value.i64 : (uint64_t)f->value.i64,
                    f->value.i64 < 0));
        return;
    case LOG_IS_F64:
        format_double(number, sizeof number, f->value.f64);
        break;
    case LOG_IS_BOOL:
        snprintf(number, sizeof number, "%s", f->value.flag ? "true" : "false");
        break;
    }
    put(l, at, str_c(number));
}

static void add(struct line *l, const struct log_field *f)
{
    size_t at = l->n;

    put(l, &at, f->key);
    put_value(l, &at, f);
    if (at <= sizeof l->bytes - END_MAX)
        l->n = at;
    else
        l->cut = true;
}

static void end(struct line *l, uint64_t dropped)
{
    int n = 0;

    if (dropped)
        n = snprintf(l->bytes + l->n, END_MAX, " dropped=%llu", (unsigned long long)dropped);
    l->n += (size_t)n;
    put(l, &l->n, l->cut ? STR(" cut=true\n") : STR("\n"));
    assert(l->n <= sizeof l->bytes);
}

static bool send_line(int fd, str s)
{
    ssize_t n;

    do
        n = write(fd, s.p, s.n);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)s.n;
}

void log_flush(void)
{
    struct log *log = scope_now ? scope_now->log : NULL;
    struct log_batch *b = scope_now ? scope_now->batch : NULL;
    int before = errno;

    if (!b || b->n == 0)
        return;
    if (!send_line(log ? log->fd : STDERR_FILENO, (str){b->bytes, b->n}) && log)
        atomic_fetch_add(&log->dropped, b->lines);
    b->n = b->lines = 0;
    errno = before;
}

/* Whether the line may wait: somebody may be waiting for those that say that something is wrong. */
static bool batched(enum log_level level, const struct line *l)
{
    struct log_batch *b = scope_now ? scope_now->batch : NULL;

    if (!b)
        return false;
    if (level > LOG_INFO || l->n > sizeof b->bytes - b->n)
        log_flush();
    if (level > LOG_INFO)
        return false;
    memcpy(b->bytes + b->n, l->bytes, l->n);
    b->n += l->n;
    b->lines++;
    return true;
}

/* A thread that writes many lines writes many in a second. */
static void put_time(struct line *l, int64_t ms)
{
    struct log_batch *b = scope_now ? scope_now->batch : NULL;
    char own[CLOCK_TEXT_SIZE], *time = b ? b->time : own;

    if (!b || b->time_s != ms / 1000 || ms < 0) {
        clock_format(ms, time);
        if (b)
            b->time_s = ms < 0 ? -1 : ms / 1000;
    } else {
        char *at = time + CLOCK_TEXT_SIZE - sizeof "000Z";
        unsigned part = (unsigned)(ms % 1000);

        at[0] = (char)('0' + part / 100);
        at[1] = (char)('0' + part / 10 % 10);
        at[2] = (char)('0' + part % 10);
    }
    put(l, &l->n, STR("time="));
    put(l, &l->n, (str){time, CLOCK_TEXT_SIZE - 1});
}

/* It is shared, and mostly zero. */
static uint64_t take_dropped(struct log *log)
{
    if (!log || atomic_load_explicit(&log->dropped, memory_order_relaxed) == 0)
        return 0;
    return atomic_exchange(&log->dropped, 0);
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
    struct log *log = scope_now ? scope_now->log : NULL;
    int before = errno;
    uint64_t dropped = take_dropped(log);
    struct line l;

    assert(level < COUNT_OF(level_words));
    l.n = 0;
    l.cut = false;
    put_time(&l, clock_wall_ms(log ? log->clock : &clock_real));
    put(&l, &l.n, level_words[level]);
    put_text(&l, &l.n, str_c(message));
    if (scope_now && scope_now->id.n)
        add(&l, &LOG_STR("id", scope_now->id));
    for (; fields->kind != LOG_IS_END; fields++)
        add(&l, fields);
    end(&l, dropped);
    if (!batched(level, &l) && !send_line(log ? log->fd : STDERR_FILENO, (str){l.bytes, l.n}) &&
        log)
        atomic_fetch_add(&log->dropped, dropped + 1);
    errno = before;
}
