/* query_in.h - what the files of query share: statements in the making, rows as JSON.
 *
 * A statement is built from literals and values; a value is only ever a $N. What a row has is a
 * table of columns, which gives the SELECT and the JSON alike.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "store/db.h"
#include "store/query.h"

#define QUERY_SQL_MAX 65536
#define QUERY_ARGS_MAX 128
#define QUERY_ARENA_MAX ((size_t)256 << 20)
#define QUERY_WORDS_MAX 32 /* of a search */

struct reader {
    struct db *db;
    struct arena arena; /* of the question at hand */
};

struct sql {
    struct buf text;
    struct db_value args[QUERY_ARGS_MAX];
    size_t n;
    bool where; /* there is one already */
};

void sql_init(struct sql *q);
void sql_release(struct sql *q);
void sql_add(struct sql *q, const char *literal);
void sql_value(struct sql *q, struct db_value v);
void sql_and(struct sql *q); /* WHERE, or AND */
/* Only rows whose session, in this column, is of the asker's key. */
void sql_key_scope(struct sql *q, const struct query_asker *a, const char *session);
/* The condition `literal $N`. */
void sql_where(struct sql *q, const char *literal, struct db_value v);
void sql_where_text(struct sql *q, const char *literal, str text); /* unless it is empty */
void sql_limit(struct sql *q, int64_t limit, int64_t offset);
/* "a IN ($1, ...)" of a list's texts; for none at all, what is never true. */
void sql_in(struct sql *q, const char *name, const str *texts, size_t n);
bool sql_query(struct reader *r, struct sql *q, struct db_rows rows, struct err *e) MUST_USE;
/* The only number of the only row; NULL is 0. */
bool sql_number(struct reader *r, struct sql *q, int64_t *out, struct err *e) MUST_USE;

/* One text for each database. */
struct sql_text {
    const char *sqlite, *postgres;
};
const char *sql_text(const struct reader *r, struct sql_text t);

enum column_type {
    COLUMN_TEXT,
    COLUMN_NUMBER,
    COLUMN_FLAG,
    COLUMN_JSON,   /* a text that is JSON; if it is not, a string */
    COLUMN_HIDDEN, /* a text that is null for whoever may not see reasoning */
    COLUMN_SKIP,   /* for the caller */
};

struct column {
    const char *name, *sql;
    enum column_type type;
};

void sql_columns(struct sql *q, const struct column *c, size_t n);
/* As members of the object that is open. */
void columns_write(const struct column *c, size_t n, const struct db_value *v, bool hide,
                   struct json_out *o);
void value_write(enum column_type type, const struct db_value *v, bool hide, struct json_out *o);

/* The reader's arena is empty and out has room: before each question; and what is to be said at its
 * end. */
bool query_end(const struct buf *out, struct err *e) MUST_USE;

/* query_words.c: what someone typed, as a query for full text; empty if there is no word in it.
 * In calls words may be scoped (asked:, answer:, reasoning:), and reasoning is left out for who may
 * not see it. */
enum words_of { WORDS_OF_DECISIONS, WORDS_OF_CALLS };
bool words_query(struct reader *r, const struct query_asker *a, str words, enum words_of of,
                 str *out, struct err *e) MUST_USE;
/* What a database takes as a text: UTF-8 without a NUL. */
str words_clean(str words, struct arena *a);
/* Whether a word of it is to stand somewhere in particular; in reasoning. */
bool words_scoped(str words);
bool words_want_reasoning(str words);
/* %text% for LIKE, ESCAPE '\'. */
str words_like(str words, struct arena *a);

/* query_sessions.c */
extern const struct column session_columns[];
extern const size_t session_column_count;
/* The search of a filter as a query for full text: asked first, given to the next. */
bool session_words(struct reader *r, const struct query_asker *a, const struct query_filter *f,
                   str *out, struct err *e) MUST_USE;
void session_where(struct reader *r, struct sql *q, const struct query_asker *a,
                   const struct query_filter *f, str words);
/* Whether a call of it runs: v is a row of session_columns. */
bool session_is_running(const struct query_asker *a, const struct db_value *v);
/* The members of a row, its status as it is now. */
void session_write(const struct query_asker *a, const struct db_value *v, struct json_out *o);

/* query_session.c: the id of what a key calls by this name; where it has none, or an operator asks,
 * the name itself. */
bool session_find(struct reader *r, const struct query_asker *a, str name, str *id,
                  struct err *e) MUST_USE;
/* Whether it is there and the asker's to see. */
bool session_check(struct reader *r, const struct query_asker *a, str id, struct err *e) MUST_USE;

/* query_decisions.c: an entry without what it says of the reasoning: "[TOOL_CALL] a". */
str decision_bare(str entry);
/* Of decisions d, those that say nothing of reasoning. */
#define DECISION_PLAIN                                                                             \
    "NOT EXISTS (SELECT 1 FROM llm_interactions i WHERE i.interaction_id = d.interaction_id AND "  \
    "i.has_reasoning = 1)"

/* query_absent.c: why no text of the reasoning of a call i is on record; NULL: there is one. */
#define REASONING_ABSENT                                                                           \
    "CASE WHEN i.has_reasoning = 0 AND i.status >= 400 AND i.first_ms IS NULL THEN 'no_reply' "    \
    "WHEN i.has_reasoning = 0 THEN 'none_given' "                                                  \
    "WHEN i.reasoning_content IS NOT NULL THEN NULL "                                              \
    "WHEN i.reasoning_state IN ('opaque', 'hidden') THEN 'provider_keeps_it' "                     \
    "WHEN i.reasoning_summary IS NOT NULL THEN 'summary_only' ELSE 'not_kept' END"
/* "reasoning_absent": such a value as the asker may know it. */
void absent_write(const struct query_asker *a, const struct db_value *v, struct json_out *o);
/* The same of a search for reasoning that found nothing: why none of the last calls has any; null
 * if one has, or if something was found. */
bool absent_write_search(struct reader *r, const struct query_asker *a, bool found,
                         struct json_out *o, struct err *e) MUST_USE;

/* query_body.c: a body as the tables have it, packed or not. */
bool body_unpack(struct arena *a, const struct db_value *bytes, int64_t size, str *out);

/* query_events.c: the calls and tool exchanges of a session, in order of time. */
struct event {
    int64_t timestamp_us;
    str json; /* {event_id, type, ...} */
    struct event *next;
};
struct event_sums {
    int64_t calls, tools, errors, duration_ms;
    str last_answer;
    bool cut; /* there were more than fit */
};
bool events_read(struct reader *r, const struct query_asker *a, str session_id, struct event **out,
                 struct event_sums *sums, struct err *e) MUST_USE;

/* query_usage.c: what stands in a FROM: rows of usage_hours (usage.h) for the calls that the
 * filter's dates and the asker let through. */
void usage_from(struct sql *q, const struct query_asker *a, const struct query_filter *f);

/* query_cursor.c: "sort|value|id" as an opaque text and back. */
str cursor_make(struct arena *a, str sort, str value, str id);
bool cursor_read(struct arena *a, str cursor, str sort, str *value, str *id,
                 struct err *e) MUST_USE;
bool cursor_i64(str text, int64_t *out) MUST_USE;
