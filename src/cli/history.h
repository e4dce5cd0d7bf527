/* history.h - shared by the commands that read the record: opening it, filters, tables.
 *
 *     struct history h;
 * int code = history_open(&h, args->value[CONFIG]); 0, or the exit code after an error message
 *     ... query_sessions(h.reader, &h.asker, &filter, &page, &h.out, &e) ...
 *     code = history_show(&h, cli, ok, &e, json, "sessions", columns, n);
 *     history_close(&h);
 *
 * They read the database itself, also while the daemon runs. history_open waits until the calls
 * that the daemon has acknowledged are in the tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/cli.h"
#include "store/query.h"

struct history {
    const struct cli_args *args; /* of a command that sets it; else NULL */
    struct config *config;
    struct reader *reader;
    struct query_asker asker; /* a user with access to the file sees all */
    struct buf out;
    struct json doc;
    struct arena arena;
};

int history_open(struct history *h, const char *config) MUST_USE;
void history_close(struct history *h);

/* Prints an error of the store and returns its exit code. */
int history_fail(const struct err *e);

/* The values of options are checked before history_open: a wrong one is an error of usage, whatever
 * state the store is in. */
/* N from 1 to max; false after an error message. */
bool history_limit(const char *value, int64_t otherwise, int64_t max, int64_t *out) MUST_USE;
/* Sets the filter's range by --since and --until: "24h", "7d", "90m", or a date-time; false after
 * an error message. */
bool history_range(const char *since, const char *until, struct query_filter *f) MUST_USE;

enum history_form {
    HISTORY_TEXT,
    HISTORY_STATUS, /* text in the colour of a status */
    HISTORY_TIME,   /* us */
    HISTORY_NUMBER, /* right-aligned */
    HISTORY_MS,
    HISTORY_USD,
    HISTORY_SHARE, /* a part of 1, as a percentage */
};

struct history_column {
    const char *head, *name; /* the name of the member in each row */
    enum history_form form;
    size_t width_max; /* cells, in a terminal; 0: the rest of the line */
};

/* Prints on stderr that the list has no rows, and why: see cli_print_none. */
void history_print_empty(struct history *h, const struct cli_args *args, const char *member,
                         const char *things);
/* Prints the answer in h->out: unchanged, or the rows of a member as a table. Returns the exit
 * code. */
int history_show(struct history *h, struct cli *cli, bool ok, const struct err *e, bool json);
int history_table(struct history *h, struct cli *cli, const char *member,
                  const struct history_column *columns, size_t n);

/* A sentence that explains why reasoning is absent, by the API's reasoning_absent, and which
 * setting changes that. Empty: no explanation is needed. */
str history_absent(struct history *h, str code);
/* Prints "note: " and that sentence, after a table. */
void history_note(struct cli *cli, str sentence);

/* The text as one line of at most width_max cells of a terminal, or as several lines, without
 * control characters. */
str history_line(struct arena *a, str text, size_t width_max);
void history_show_text(struct cli *cli, str text, const char *indent);
str history_member(struct history *h, const struct json_node *v, const char *name);
int64_t history_number(struct history *h, const struct json_node *v, const char *name);
/* Prints "TITLE value" of a member, in one line; nothing if it is absent, null or "". */
void history_put_field(struct history *h, struct cli *cli, const struct json_node *v,
                       const char *name, const char *title);
/* "2024-02-29 23:59:59" of microseconds. */
str history_time(struct arena *a, int64_t us);
