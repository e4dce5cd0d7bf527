/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/simd.h"
#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#define END_MAX 48 /* kept free for " dropped=N cut=true\n" */

static _Thread_local struct log_scope *scope_now;

static const str levels[] = {
    [LOG_DEBUG] = STR_INIT(" level=debug"),
    [LOG_INFO] = STR_INIT(" level=info"),
    [LOG_WARN] = STR_INIT(" level=warn"),
    [LOG_ERROR] = STR_INIT(" level=error"),
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
    log->level = level;
    atomic_init(&log->dropped, 0);
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
    batch->time.known = false;
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

    return level >= (log ? log->level : LOG_INFO);
}

/* Bytes at a place, as far as there is room; past it, the place still moves on. */
static void log_put(struct line *l, size_t *at, str s)
{
    if (*at < sizeof l->bytes && s.n <= sizeof l->bytes - *at)
        str_put(l->bytes + *at, s);
    *at += s.n;
}

/* Needs no quotes: all that can be seen but the quote, the equals sign, the backslash. */
#if SIMD_HAS_16
static inline bool log_are_bare(const char *p)
{
    simd16 v = simd_load(p);
    simd16 marks = simd_or(simd_or(simd_eq(v, '"'), simd_eq(v, '=')), simd_eq(v, '\\'));

    return simd_bits(simd_andnot(simd_within(v, '!', '~'), marks)) == 0xFFFF;
}

/* The text at p must be followed by as many readable bytes as one step reads. */
static inline bool log_is_bare(char *p, size_t n)
{
    size_t at = 0;

    memset(p + n, 'x', sizeof(simd16));
    for (; at < n && log_are_bare(p + at); at += sizeof(simd16))
        ;
    return n > 0 && at >= n;
}
#else
static bool log_is_bare(const char *p, size_t n)
{
    size_t at = 0;

    while (at < n && p[at] > ' ' && p[at] < 0x7F && !strchr("\"=\\", p[at]))
        at++;
    return n > 0 && at == n;
}
#endif

static void log_put_character(struct line *l, size_t *at, uint32_t code, str bytes)
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
        log_put(l, at, bytes);
        return;
    }
    log_put(l, at, str_c(escaped));
}

static void log_put_text(struct line *l, size_t *at, str s)
{
    str shown = s.n > LOG_VALUE_MAX ? utf8_cut_size(s, LOG_VALUE_MAX) : s;

    log_put(l, at, STR("\""));
    for (size_t i = 0, size; i < shown.n; i += size) {
        str rest = str_slice(shown, i, shown.n);
        uint32_t code;

        size = utf8_decode(rest, &code);
        if (size > 0) {
            log_put_character(l, at, code, str_slice(rest, 0, size));
        } else {
            log_put(l, at, STR("\xEF\xBF\xBD"));
            size = utf8_bad(rest);
        }
    }
    if (shown.n < s.n)
        log_put(l, at, STR("\xE2\x80\xA6"));
    log_put(l, at, STR("\""));
}

/* JSON has no form for NaN and infinity, but readers of logs should see which it was. */
static void log_format_double(char *out, size_t size, double x)
{
    snprintf(out, size, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    if (isfinite(x))
        snprintf(out, size, "%.9g", x);
}

static str log_decimal(char out[24], uint64_t n, bool negative)
{
    size_t size = str_u64_size(n);

    out[0] = '-';
    str_put_u64(out + negative, size, n);
    return (str){out, size + negative};
}

static void log_put_value(struct line *l, size_t *at, const struct log_field *f)
{
    char number[32];

    switch (f->kind) {
    case LOG_IS_END:
        return;
    case LOG_IS_STR:
        log_put_text(l, at, f->value.text);
        return;
    case LOG_IS_U64:
        log_put(l, at, log_decimal(number, f->value.u64, false));
        return;
    case LOG_IS_I64:
        log_put(l,
                at,
                log_decimal(number,
                            f->value.i64 < 0 ? -(uint64_t)f->value.i64 : (uint64_t)f->value.i64,
                            f->value.i64 < 0));
        return;
    case LOG_IS_F64:
        log_format_double(number, sizeof number, f->value.f64);
        break;
    case LOG_IS_BOOL:
        snprintf(number, sizeof number, "%s", f->value.flag ? "true" : "false");
        break;
    }
    log_put(l, at, str_c(number));
}

static bool log_has_room(const struct line *l, size_t size)
{
    assert(l->n <= sizeof l->bytes - END_MAX);
    return size <= sizeof l->bytes - END_MAX - l->n;
}

/* Writes the most frequent fields: a short text that needs no quotes, or a number. False: another
 * field, or the line is full. */
static inline bool log_add_plain(struct line *l, const struct log_field *f)
{
    char *p = l->bytes + l->n;
    str s = f->value.text;
    size_t digits;

    if (f->kind == LOG_IS_U64 || (f->kind == LOG_IS_I64 && f->value.i64 >= 0)) {
        digits = str_u64_size(f->value.u64);
        if (!log_has_room(l, f->lead.n + digits))
            return false;
        str_put_u64(str_put(p, f->lead), digits, f->value.u64);
        l->n += f->lead.n + digits;
        return true;
    }
    if (f->kind != LOG_IS_STR || s.n > LOG_VALUE_MAX || !log_has_room(l, f->lead.n + s.n))
        return false;
    p = str_put(p, f->lead);
    str_put(p, s);
    if (!log_is_bare(p, s.n))
        return false;
    l->n += f->lead.n + s.n;
    return true;
}

static void log_add(struct line *l, const struct log_field *f)
{
    size_t at = l->n;

    assert(f->lead.n > 2 && f->lead.p[0] == ' ' && f->lead.p[f->lead.n - 1] == '=');
    if (log_add_plain(l, f))
        return;
    log_put(l, &at, f->lead);
    log_put_value(l, &at, f);
    if (at <= sizeof l->bytes - END_MAX)
        l->n = at;
    else
        l->cut = true;
}

static void log_end(struct line *l, uint64_t dropped)
{
    int n = 0;

    if (dropped)
        n = snprintf(l->bytes + l->n, END_MAX, " dropped=%llu", (unsigned long long)dropped);
    l->n += (size_t)n;
    log_put(l, &l->n, l->cut ? STR(" cut=true\n") : STR("\n"));
    assert(l->n <= sizeof l->bytes);
}

static bool log_send_line(int fd, str s)
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
    assert(b->n <= sizeof b->bytes && b->lines > 0);
    if (!log_send_line(log ? log->fd : STDERR_FILENO, (str){b->bytes, b->n}) && log)
        atomic_fetch_add(&log->dropped, b->lines);
    b->n = b->lines = 0;
    errno = before;
}

/* Whether the line may wait for others; lines that report a problem may not. `dropped`: the lost
 * lines that this line reports; if it is lost too, the next line reports them. */
static bool log_batch_line(enum log_level level, const struct line *l, uint64_t dropped)
{
    struct log_batch *b = scope_now ? scope_now->batch : NULL;

    if (!b)
        return false;
    if (level > LOG_INFO || l->n > sizeof b->bytes - b->n)
        log_flush();
    if (level > LOG_INFO)
        return false;
    assert(l->n <= sizeof b->bytes - b->n);
    memcpy(b->bytes + b->n, l->bytes, l->n);
    b->n += l->n;
    b->lines += 1 + dropped;
    return true;
}

static void log_begin(struct line *l, enum log_level level, const char *message)
{
    const struct log *log = scope_now ? scope_now->log : NULL;
    struct log_batch *b = scope_now ? scope_now->batch : NULL;
    struct clock_text time = {.known = false};

    l->n = 0;
    l->cut = false;
    log_put(l, &l->n, STR("time="));
    log_put(l,
            &l->n,
            clock_format_next(b ? &b->time : &time, clock_wall_ms(log ? log->clock : &clock_real)));
    log_put(l, &l->n, levels[level]);
    log_add(l, &LOG_TEXT("msg", message));
    if (scope_now && scope_now->id.n)
        log_add(l, &LOG_STR("id", scope_now->id));
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
    struct log *log = scope_now ? scope_now->log : NULL;
    int before = errno;
    uint64_t dropped = 0;
    struct line l;

    assert(level < COUNT_OF(levels));
    if (log && atomic_load_explicit(&log->dropped, memory_order_relaxed) > 0)
        dropped = atomic_exchange(&log->dropped, 0);
    log_begin(&l, level, message);
    for (; fields->kind != LOG_IS_END; fields++)
        log_add(&l, fields);
    log_end(&l, dropped);
    if (!log_batch_line(level, &l, dropped) &&
        !log_send_line(log ? log->fd : STDERR_FILENO, (str){l.bytes, l.n}) && log)
        atomic_fetch_add(&log->dropped, dropped + 1);
    errno = before;
}
