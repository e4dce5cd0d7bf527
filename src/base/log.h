/* log.h - log lines for the operator, one line for each event.
 *
 *     log_info("call done", LOG_STR("model", model), LOG_U64("tokens", n));
 *
 *     time=2024-02-29T12:34:56.789Z level=info msg="call done" id=01924f6e-... model=gpt tokens=12
 *
 * The thread's scope, the only thread-local variable of the program, decides where lines go. main
 * holds a struct log; each thread first enters a scope with it, and each piece of work enters a
 * nested scope with its id. A thread without a scope writes lines of LOG_INFO and above to stderr.
 *
 *     struct log log;                                   struct log_scope scope;
 *     log_init(&log, STDERR_FILENO, LOG_INFO, &clock_real);
 *     log_scope_enter(&scope, &log, STR(""));           log_scope_enter(&scope, NULL, request->id);
 *     ...                                               ...
 *     log_scope_leave(&scope);                          log_scope_leave(&scope);
 *
 * Never log a body or a key. The compiler rejects a message or field name that is not a literal,
 * and a field that does not have one of the types below, such as a struct secret. A text is
 * truncated to LOG_VALUE_MAX bytes. Use log_debug for lines that need no action.
 *
 * Promises:
 *   - A line, or a batch of them, is one write(2) of at most LOG_LINE_MAX bytes, so lines of many
 *     threads do not mix.
 *   - Any value stays one value on one line of valid UTF-8: characters that could end it, control a
 *     terminal or change the direction of text are escaped. A truncated value ends in U+2026.
 *     Fields that do not fit in the line are dropped, and the line ends in cut=true.
 *   - Logging does not fail. Lines that could not be written are counted, and the next written line
 *     has dropped=N.
 *   - A disabled level costs one comparison; the fields are not evaluated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "base/err.h"

#define LOG_LINE_MAX 4096 /* a pipe writes this much atomically */
#define LOG_VALUE_MAX 512 /* bytes of a text, before escapes */

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log {
    int fd;
    const struct clock *clock;
    enum log_level level;
    _Atomic uint64_t dropped; /* lines since the last written one */
};

/* The descriptor and the clock are borrowed. */
void log_init(struct log *log, int fd, enum log_level level, const struct clock *clock);

/* Buffers the lines of a thread that writes many, until the batch is full, log_flush is called or a
 * line above LOG_INFO arrives. */
struct log_batch {
    size_t n;
    uint64_t lines;         /* that are lost if the batch is: its own, and those that they report */
    struct clock_text time; /* of the last line */
    char bytes[LOG_LINE_MAX];
};

struct log_scope {
    struct log *log;
    str id;
    struct log_scope *outer;
    struct log_batch *batch; /* or NULL */
};

/* Both by the same thread, properly nested. The id must stay valid until log_scope_leave. An empty
 * id or a NULL log is inherited from the outer scope. */
void log_scope_enter(struct log_scope *scope, struct log *log, str id);
void log_scope_leave(struct log_scope *scope);
/* For this scope and nested ones; must stay valid until log_scope_leave, which flushes it. */
void log_scope_batch(struct log_scope *scope, struct log_batch *batch);
/* Writes the buffered lines of the thread's batch, if it has one. */
void log_flush(void);

enum log_kind { LOG_IS_END, LOG_IS_STR, LOG_IS_U64, LOG_IS_I64, LOG_IS_F64, LOG_IS_BOOL };

struct log_field {
    str lead; /* " key=" */
    enum log_kind kind;
    union {
        str text;
        uint64_t u64;
        int64_t i64;
        double f64;
        bool flag;
    } value;
};

/* Names are literals of letters, digits, _ and dots. Values need to be valid only during the
 * call. */
#define LOG_STR(name, ...) LOG_FIELD_(name, LOG_IS_STR, .text = (__VA_ARGS__))
#define LOG_TEXT(name, z) LOG_STR(name, str_c(z))
#define LOG_U64(name, n) LOG_FIELD_(name, LOG_IS_U64, .u64 = (n))
#define LOG_I64(name, n) LOG_FIELD_(name, LOG_IS_I64, .i64 = (n))
#define LOG_F64(name, x) LOG_FIELD_(name, LOG_IS_F64, .f64 = (x))
#define LOG_BOOL(name, b) LOG_FIELD_(name, LOG_IS_BOOL, .flag = (b))
/* The reason of a failure, from a struct err *: code=timeout why="no answer in 30 s". */
#define LOG_ERR(e) LOG_TEXT("code", err_name((e)->code)), LOG_TEXT("why", (e)->text)

/* A literal message and then any number of fields. */
#define log_debug(...) LOG_AT_(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) LOG_AT_(LOG_INFO, __VA_ARGS__)
#define log_warn(...) LOG_AT_(LOG_WARN, __VA_ARGS__)
#define log_error(...) LOG_AT_(LOG_ERROR, __VA_ARGS__)

/* The parts of the four macros above. */
bool log_on(enum log_level level);
void log_write(enum log_level level, const char *message, const struct log_field *fields);

#define LOG_FIELD_(name, kind, ...)                                                                \
    ((struct log_field){STR_INIT(" " name "="), kind, {__VA_ARGS__}})
#define LOG_END_ ((struct log_field){STR_INIT(""), LOG_IS_END, {.flag = false}})
#define LOG_FIRST_(first, ...) first
#define LOG_REST_(first, ...) __VA_ARGS__
#define LOG_AT_(at_level, ...)                                                                     \
    do {                                                                                           \
        if (log_on(at_level))                                                                      \
            log_write(at_level,                                                                    \
                      "" LOG_FIRST_(__VA_ARGS__, ""),                                              \
                      (const struct log_field[]){LOG_REST_(__VA_ARGS__, LOG_END_)});               \
    } while (0)
