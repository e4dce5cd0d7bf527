/* log.h - what happened, one line each, for whoever runs the program.
 *
 *     log_info("call done", LOG_STR("model", model), LOG_U64("tokens", n));
 *
 *     time=2024-02-29T12:34:56.789Z level=info msg="call done" id=01924f6e-... model=gpt tokens=12
 *
 * Where the lines go is the thread's scope, the one thread-local of the house: main holds a struct
 * log, each thread begins by entering a scope with it, and each piece of work enters a scope inside
 * with its id. A thread without a scope writes to stderr from LOG_INFO on.
 *
 *     struct log log;                                   struct log_scope scope;
 *     log_init(&log, STDERR_FILENO, LOG_INFO, &clock_real);
 *     log_scope_enter(&scope, &log, STR(""));           log_scope_enter(&scope, NULL, request->id);
 *     ...                                               ...
 *     log_scope_leave(&scope);                          log_scope_leave(&scope);
 *
 * Never a body, never a key. The message and the field names are literals, or it does not compile;
 * a field has one of the types below, so a struct secret does not compile either; and of a text at
 * most LOG_VALUE_MAX bytes are shown. A line that nobody would act on is log_debug.
 *
 * Promises:
 *   - A line, or a batch of them, is one write(2) of at most LOG_LINE_MAX bytes, so lines of many
 *     threads do not mix.
 *   - Whatever a value holds, it is one value on one line of valid UTF-8: what could end it, act on
 *     a terminal or turn the writing around is escaped. One that was cut ends in U+2026; fields for
 *     which the line has no room are left out, and it ends in cut=true.
 *   - Logging does not fail. A line that could not be written is counted, and the next that can be
 *     says dropped=N.
 *   - A level that is off costs a look; the fields are not even evaluated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#define LOG_LINE_MAX 4096 /* what a pipe takes at once without mixing */
#define LOG_VALUE_MAX 512 /* bytes of a text, before escapes */

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log {
    int fd;
    const struct clock *clock;
    _Atomic int level;
    _Atomic uint64_t dropped; /* lines, since the last that went out */
};

/* The descriptor and the clock are borrowed. */
void log_init(struct log *log, int fd, enum log_level level, const struct clock *clock);

/* From this line on, for all threads. */
void log_set_level(struct log *log, enum log_level level);

/* "debug", "info", "warn", "error". */
bool log_level_parse(str name, enum log_level *out) MUST_USE;

/* Lines of a thread that writes many: they wait here until the batch is full, log_flush is called
 * or a line above LOG_INFO comes. */
struct log_batch {
    size_t n;
    uint64_t lines;
    int64_t time_s; /* what `time` says, but for its milliseconds */
    char time[CLOCK_TEXT_SIZE];
    char bytes[LOG_LINE_MAX];
};

struct log_scope {
    struct log *log;
    str id;
    struct log_scope *outer;
    struct log_batch *batch; /* or NULL */
};

/* Both by the same thread, properly nested. The id is lent until the leave; an empty one is that of
 * the scope outside, and so is the log if it is NULL. */
void log_scope_enter(struct log_scope *scope, struct log *log, str id);
void log_scope_leave(struct log_scope *scope);
/* For this scope and those inside; lent until the leave, which flushes it. */
void log_scope_batch(struct log_scope *scope, struct log_batch *batch);
/* Writes what waits in the thread's batch, if it has one. */
void log_flush(void);

enum log_kind { LOG_IS_END, LOG_IS_STR, LOG_IS_U64, LOG_IS_I64, LOG_IS_F64, LOG_IS_BOOL };

struct log_field {
    str key; /* as it stands in the line: " name=" */
    enum log_kind kind;
    union {
        str text;
        uint64_t u64;
        int64_t i64;
        double f64;
        bool flag;
    } value;
};

/* Names are literals of letters, digits, _ and dots. What they are given is lent for the call. */
#define LOG_KEY_(name) STR(" " name "=")
#define LOG_STR(name, ...) ((struct log_field){LOG_KEY_(name), LOG_IS_STR, {.text = (__VA_ARGS__)}})
#define LOG_TEXT(name, z) LOG_STR(name, str_c(z))
#define LOG_U64(name, n) ((struct log_field){LOG_KEY_(name), LOG_IS_U64, {.u64 = (n)}})
#define LOG_I64(name, n) ((struct log_field){LOG_KEY_(name), LOG_IS_I64, {.i64 = (n)}})
#define LOG_F64(name, x) ((struct log_field){LOG_KEY_(name), LOG_IS_F64, {.f64 = (x)}})
#define LOG_BOOL(name, b) ((struct log_field){LOG_KEY_(name), LOG_IS_BOOL, {.flag = (b)}})
/* Why something failed, from a struct err *: code=timeout why="no answer in 30 s". */
#define LOG_ERR(e) LOG_TEXT("code", err_name((e)->code)), LOG_TEXT("why", (e)->text)

/* A literal message and then any number of fields. */
#define log_debug(...) LOG_AT_(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) LOG_AT_(LOG_INFO, __VA_ARGS__)
#define log_warn(...) LOG_AT_(LOG_WARN, __VA_ARGS__)
#define log_error(...) LOG_AT_(LOG_ERROR, __VA_ARGS__)

/* What the four above are made of. */
bool log_on(enum log_level level);
void log_write(enum log_level level, const char *message, const struct log_field *fields);

#define LOG_END_ ((struct log_field){STR(""), LOG_IS_END, {.flag = false}})
#define LOG_FIRST_(first, ...) first
#define LOG_REST_(first, ...) __VA_ARGS__
#define LOG_AT_(at_level, ...)                                                                     \
    do {                                                                                           \
        if (log_on(at_level))                                                                      \
            log_write(at_level,                                                                    \
                      "" LOG_FIRST_(__VA_ARGS__, ""),                                              \
                      (const struct log_field[]){LOG_REST_(__VA_ARGS__, LOG_END_)});               \
    } while (0)
