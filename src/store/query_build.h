/* query_build.h - shared by the files of query: building statements, writing rows as JSON.
 *
 * A statement is built from literals and values; a value is always a $N. A table of columns
 * describes a row and gives both the SELECT and the JSON. A column "i.answer" is not in the table
 * of calls but in the call's block, like all texts of row.h: query_rows.c adds them.
 *
 * Every query uses one snapshot of the database:
 *
 *     if (!query_begin_object(r, out, &o, e)) return false;
 *     ok = ...;
 *     return query_end_object(r, ok, &o, e);
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "store/call_segments.h"
#include "store/db.h"
#include "store/query.h"
#include "store/query_narrow.h"
#include "store/row.h"
#include "store/texts.h"
#include "store/word_search.h"
#include "store/words.h"

#define QUERY_SQL_MAX 65536
#define QUERY_ARGS_MAX 128
#define QUERY_COLUMNS_MAX 64
#define QUERY_CALLS "llm_interactions i"
#define QUERY_BLOCKS_MAX 48     /* that a search may unpack: about half a millisecond each */
#define QUERY_BLOCKS_FEW 24     /* the same where it also looks for other things */
#define SESSION_NAMES_MAX 10000 /* newest sessions whose names are searched */
#define QUERY_ARENA_MAX ((size_t)256 << 20)

struct reader {
    struct db *db;
    struct arena arena; /* of the current query */
    struct arena row;   /* of the current call: its texts */
    struct texts texts;
    struct call_segments segments;
};

/* Resets the reader and takes a snapshot of the database until query_end. */
bool query_begin(struct reader *r, struct err *e) MUST_USE;
/* Releases the snapshot. False if the query failed, or if `out` had no room for its answer. */
bool query_end(struct reader *r, bool ok, const struct buf *out, struct err *e) MUST_USE;
/* The same for an answer that is a JSON object: the first opens it in `out`, the second closes all
 * that is open. */
bool query_begin_object(struct reader *r, struct buf *out, struct json_out *o,
                        struct err *e) MUST_USE;
bool query_end_object(struct reader *r, bool ok, struct json_out *o, struct err *e) MUST_USE;
/* Sets ERR_NOT_FOUND and returns false. */
bool query_not_found(const char *what, str id, struct err *e);

struct sql {
    struct buf text;
    struct db_value args[QUERY_ARGS_MAX];
    size_t n;
    bool where; /* it already has a WHERE */
};

/* A statement that was begun must be run: sql_query, sql_number and call_rows_query release it. */
void sql_begin(struct sql *q, const char *literal);
void sql_add(struct sql *q, const char *literal);
void sql_value(struct sql *q, struct db_value v);
void sql_and(struct sql *q); /* appends WHERE, or AND */
/* Selects only calls i whose session belongs to the asker's key. */
void sql_key_scope(struct sql *q, const struct query_asker *a);
/* Adds the condition `literal $N`. */
void sql_where(struct sql *q, const char *literal, struct db_value v);
void sql_where_text(struct sql *q, const char *literal, str text); /* unless it is empty */
/* Adds the condition `literal ($N, $M)`. */
void sql_where_pair(struct sql *q, const char *literal, struct db_value a, struct db_value b);
void sql_limit(struct sql *q, int64_t limit, int64_t offset);
/* "a IN ($1, ...)" for a list of texts; for an empty list, a condition that is never true. */
void sql_in(struct sql *q, const char *name, const str *texts, size_t n);
bool sql_query(struct reader *r, struct sql *q, struct db_rows rows, struct err *e) MUST_USE;
/* Reads the only number of the only row; NULL is 0. */
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
    COLUMN_JSON,   /* a text that is JSON; if it is invalid, a string */
    COLUMN_HIDDEN, /* a text; null if the asker may not see reasoning */
    COLUMN_SKIP,   /* read only by the caller */
};

struct column {
    const char *name, *sql;
    enum column_type type;
};

/* Whether a call i has such a text. */
#define CALL_HAS(bit) "(i.texts & " bit ") <> 0"
#define REASONING_BIT "4" /* 1 << BLOCK_REASONING */
#define SUMMARY_BIT "8"   /* 1 << BLOCK_SUMMARY */

void sql_columns(struct sql *q, const struct column *c, size_t n);
/* Begins the statement "SELECT columns FROM from". */
void sql_select(struct sql *q, const struct column *c, size_t n, const char *from);
/* Writes them as members of the open object. */
void columns_write(const struct column *c, size_t n, const struct db_value *v, bool hide,
                   struct json_out *o);
void value_write(enum column_type type, const struct db_value *v, bool hide, struct json_out *o);
void value_write_member(struct json_out *o, const char *name, enum column_type type,
                        const struct db_value *v);

/* query_rows.c: rows of llm_interactions i with the texts of their blocks. The texts are in `row`,
 * and in the text columns of `v`; everything is lent for the call. */
struct call_rows {
    bool (*on_call)(void *ctx, struct db_value *v, const struct store_call *row);
    void *ctx;
    const struct column *columns;
    size_t count;
    size_t request_max; /* a longer request is left out; 0: requests are not read */
};
/* Begins the statement "SELECT ... FROM from", which must name llm_interactions as i. */
void call_rows_select(struct sql *q, const struct call_rows *rows, const char *from);
bool call_rows_query(struct reader *r, struct sql *q, const struct call_rows *rows,
                     struct err *e) MUST_USE;
/* Like sql_columns, with NULL for texts. */
void call_columns_add(struct sql *q, const struct column *c, size_t n);
/* The columns that are texts of a call's block: the field of each, or NULL. */
void columns_find_texts(const struct column *c, size_t n, const struct row_field *out[]);
void columns_set_texts(const struct row_field *const texts[], size_t n,
                       const struct store_call *row, struct db_value *v);

/* query_find.c: calls by the words of their texts, newest first. */
enum find_in { FIND_CALLS, FIND_DECISIONS, FIND_IN_COUNT };
/* Whether the last word may be a prefix: only if no text has it as a whole word; never; always. */
enum find_as { FIND_EITHER, FIND_WHOLE, FIND_FRONT };

struct find {
    const struct query_asker *a;
    enum find_in in;
    enum find_as as;
    bool snippets; /* on_hit gets the words around the first match; else "" */
    str typed;
    int64_t end_us;    /* where to begin: calls that ended later are not wanted; 0: the newest */
    size_t blocks_max; /* in: blocks it may unpack; out: how many of these are left */
    str tool,
        session_id; /* "", or what `where` asks of the calls: blocks without any are skipped */
    struct narrow narrow; /* kept from one search of a query to the next; zero at first */
    /* The columns that on_hit gets. on_hit: false stops the search. */
    const struct column *columns;
    size_t count;
    void (*where)(struct sql *q, const void *ctx); /* more conditions; NULL: none */
    bool (*on_hit)(void *ctx, struct db_value *v, str snippet);
    void *ctx;
    /* Out: calls that ended before this were not searched. -1: all were. */
    int64_t back_to_us;
};
/* With FIND_CALLS a word may have a scope ("asked:", "answer:", "reasoning:", "error:"); reasoning
 * is not searched for an asker who may not see it. Whether a word is a prefix depends only on calls
 * that the asker may see. Several are for the same words, as whole ones or as a prefix. */
bool find_calls(struct reader *r, struct find *f, size_t n, struct err *e) MUST_USE;
/* Writes "searched_back_to_us". */
void find_write_bound(int64_t back_to_us, struct json_out *o);
/* Whether a word has a scope; whether a word has the scope reasoning. */
bool find_scoped(str words, struct arena *a);
bool find_wants_reasoning(str words, struct arena *a);
/* %text% for LIKE, ESCAPE '\'. */
str find_like(str words, struct arena *a);

/* query_sessions.c */
extern const struct column session_columns[];
extern const size_t session_column_count;
#define SESSION_COLUMNS_MAX 24
/* The results of session_look, which session_where needs to write the statement. */
struct session_found {
    struct tool_name tool;
    str ids;              /* ids that the search found, a JSON array */
    int64_t back_to_us;   /* nothing before this was searched; -1: everything was */
    int64_t tool_after_n; /* only calls after this one are searched for a tool; -1: all are */
};
/* query_session_filter.c */
bool session_wants_status(const struct query_filter *f, str status);
/* When the oldest of the asker's newest `max` sessions up to end_us (-1: all) began; -1: fewer. */
bool session_bound(struct reader *r, const struct query_asker *a, int64_t end_us, int64_t max,
                   int64_t *out, struct err *e) MUST_USE;
/* all: searches everything, for exports; only text searches are limited then. */
bool session_look(struct reader *r, const struct query_asker *a, const struct query_filter *f,
                  bool all, struct session_found *out, struct err *e) MUST_USE;
void session_where(struct reader *r, struct sql *q, const struct query_asker *a,
                   const struct query_filter *f, const struct session_found *found);
/* Whether a call of the session is running: v is a row of session_columns. */
bool session_is_running(const struct query_asker *a, const struct db_value *v);
/* Writes the members of a row, with its current status. */
void session_write(const struct query_asker *a, const struct db_value *v, struct json_out *o);
/* The columns of a session whose first call is still running. */
void session_running_values(const struct query_running *c, struct db_value *out);
/* How many sessions run that the tables do not have as in progress. */
bool session_running_unseen(struct reader *r, const struct query_asker *a, int64_t *out,
                            struct err *e) MUST_USE;

/* query_session.c: the id of the session that a key knows by this name. If the key has none, or for
 * an operator, the name itself. */
bool session_find(struct reader *r, const struct query_asker *a, str name, str *id,
                  struct err *e) MUST_USE;
/* Whether the session exists and the asker may see it. */
bool session_check(struct reader *r, const struct query_asker *a, str id, struct err *e) MUST_USE;

/* query_decisions.c: an entry without its part about the reasoning: "[TOOL_CALL] a". */
str decision_bare(str entry);

/* query_absent.c: why the record has no reasoning text for a call i; NULL: it has one. */
#define REASONING_ABSENT                                                                           \
    "CASE WHEN i.has_reasoning = 0 AND i.status >= 400 AND i.first_ms IS NULL THEN 'no_reply' "    \
    "WHEN i.has_reasoning = 0 THEN 'none_given' "                                                  \
    "WHEN " CALL_HAS(                                                                              \
        REASONING_BIT) " THEN NULL "                                                               \
                       "WHEN i.reasoning_state IN ('opaque', 'hidden') THEN 'provider_keeps_it' "  \
                       "WHEN " CALL_HAS(SUMMARY_BIT) " THEN 'summary_only' ELSE 'not_kept' END"
/* Writes "reasoning_absent": why there is no reasoning, or that the reader may not know it. */
void absent_write(const struct query_asker *a, const struct db_value *v, struct json_out *o);
/* The same for a search for reasoning that found nothing: why none of the last calls has any; null
 * if one has, or if something was found. */
bool absent_write_search(struct reader *r, const struct query_asker *a, bool found,
                         struct json_out *o, struct err *e) MUST_USE;

/* query_usage.c: the text after FROM: rows of usage_hours (usage.h) for the calls within the
 * filter's dates that the asker may see. */
void usage_from(struct sql *q, const struct query_asker *a, const struct query_filter *f);

/* query_overview.c: the application of a call's route, and the condition for it; "": none. */
str overview_application(str route);
void overview_where_application(struct sql *q, const char *column, str app, struct arena *a);

/* query_cursor.c */
str cursor_make_pair(struct arena *a, str sort, int64_t x, int64_t y);
bool cursor_read_pair(struct arena *a, str cursor, str sort, int64_t *x, int64_t *y,
                      struct err *e) MUST_USE;
bool cursor_i64(str text, int64_t *out) MUST_USE;
bool cursor_bad(struct err *e); /* sets ERR_INPUT and returns false */
