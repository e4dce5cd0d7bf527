/* query.h - queries of the record: sessions, calls, decisions, segments, search, sums.
 *
 *     struct reader *r;
 *     if (!reader_open(url, &r, e)) ...                  beside a store that writes, here or not
 *     if (!query_sessions(r, &asker, &filter, &page, out, e)) ...
 *     reader_close(r);
 *
 * A reader is one connection for one thread at a time, and only reads. An answer is one JSON value
 * appended to `out`, with the names of the history API; times are microseconds. If a query fails,
 * the content of `out` is invalid. ERR_NOT_FOUND: it does not exist, or the asker may not see it.
 * ERR_INPUT: the query is wrong (page->cursor, page->sort). ERR_CANCELLED: reader_interrupt.
 *
 * Lists are limited in length; a list with more rows has a cursor, an opaque text that stays valid
 * while rows are added. Search text is always words, never syntax. A query that would have to read
 * the whole record looks only at its newest part; `searched_back_to_us` says how far back (null:
 * everything).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "store/store.h"

#define QUERY_LIMIT_MAX 1000
#define QUERY_STATUS_MAX 8
#define QUERY_RUNNING_MAX 64
#define QUERY_OUT_MAX ((size_t)96 << 20) /* a limit for `out` that fits any answer */

struct reader;

bool reader_open(str url, struct reader **out, struct err *e) MUST_USE;
void reader_close(struct reader *r);     /* NULL is allowed */
void reader_interrupt(struct reader *r); /* from another thread */
/* Whether this folder, the store's journal, has records that are not in the tables: a daemon that
 * was killed leaves them there, and the next one stores them. */
bool reader_journal_waits(struct reader *r, const char *journal);

/* A running call: its session is in progress, whatever the tables say. */
struct query_running {
    str interaction_id, session_id, key_name, model, title, dialect;
    int64_t started_us;
};

/* Who asks, and the calls that run meanwhile. */
struct query_asker {
    str key_name; /* only sessions of this key; empty: all */
    bool hide_reasoning;
    /* Removes the reasoning that a client has sent back from a request; NULL: requests are left out
     * where reasoning is hidden. */
    str (*redact)(str body, struct arena *a);
    int64_t now_us;
    const struct query_running *running; /* lent */
    size_t running_count;
};

/* An empty text and -1 are no condition. */
struct query_filter {
    str status[QUERY_STATUS_MAX];
    size_t status_count;
    str agent_type, alert_type, search, model, key, kind, session_id, subject;
    str tool;          /* TOOL or SERVER.TOOL */
    int has_reasoning; /* 0, 1; -1: any */
    int64_t start_us, end_us;
};

extern const struct query_filter query_filter_none;

struct query_page {
    int64_t limit;
    int64_t page; /* from 1 */
    str cursor;   /* used instead of `page`, if not empty */
    str sort;     /* "": "-started_at_us" */
};

/* "sort|value|id" as an opaque text and back. */
str cursor_make(struct arena *a, str sort, str value, str id);
bool cursor_read(struct arena *a, str cursor, str sort, str *value, str *id,
                 struct err *e) MUST_USE;
/* Whether a list in this order (query_page.sort; "": in any) may have given this cursor. */
bool query_cursor_check(str cursor, str sort, struct err *e) MUST_USE;
/* {sessions, pagination, filters_applied, searched_back_to_us} */
bool query_sessions(struct reader *r, const struct query_asker *a, const struct query_filter *f,
                    const struct query_page *p, struct buf *out, struct err *e) MUST_USE;
/* One session with its timeline. */
bool query_session(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                   struct err *e) MUST_USE;
/* {session_id, decisions}, oldest first. */
bool query_session_decisions(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                             struct err *e) MUST_USE;
/* {segments} of a session's calls, or of one call. */
bool query_session_segments(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                            struct err *e) MUST_USE;
bool query_call_segments(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                         struct err *e) MUST_USE;
/* One call with its whole request and reply. */
bool query_call(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                struct err *e) MUST_USE;
/* {previous_id, same_count, dropped_count, system, tools, messages}: the part of its request that
 * no earlier call of its session had. */
bool query_call_new(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                    struct err *e) MUST_USE;
/* {decisions, searched_back_to_us, next_cursor}; f->search: words of the entry. */
bool query_decisions(struct reader *r, const struct query_asker *a, const struct query_filter *f,
                     const struct query_page *p, struct buf *out, struct err *e) MUST_USE;
/* {results, searched_back_to_us}: sessions, decisions and calls by their words, newest first. */
bool query_search(struct reader *r, const struct query_asker *a, str words, int64_t limit,
                  struct buf *out, struct err *e) MUST_USE;
/* An array of sessions in progress, with duration_seconds. */
bool query_active(struct reader *r, const struct query_asker *a, struct buf *out,
                  struct err *e) MUST_USE;
bool query_filter_options(struct reader *r, const struct query_asker *a, struct buf *out,
                          struct err *e) MUST_USE;
/* The size of all tables and indexes in bytes. */
bool query_size(struct reader *r, int64_t *out, struct err *e) MUST_USE;
bool query_metrics(struct reader *r, const struct query_asker *a, struct buf *out,
                   struct err *e) MUST_USE;
/* {groups} by "model", "provider", "key", "level" or "day"; ERR_INPUT for another. */
bool query_usage(struct reader *r, const struct query_asker *a, str group_by,
                 const struct query_filter *f, struct buf *out, struct err *e) MUST_USE;
/* {rows} by model and level. */
bool query_reasoning(struct reader *r, const struct query_asker *a, const struct query_filter *f,
                     struct buf *out, struct err *e) MUST_USE;

/* Calls over time: {start_us, end_us, bucket_s, buckets, total, groups}; of the filter only dates,
 * model, key and, as the application, agent_type are used. Latencies are within 13 %. */
struct query_overview {
    struct query_filter filter;
    str by; /* "model", "key", "application" or "": no groups */
    /* 0: chosen by the range; else rounded up to 300, to 3600 if the range is over 2 days, to 86400
     * if it is over 62 days, and to at most 400 buckets. At most the last 800 days are read. */
    int64_t bucket_s;
};
bool query_overview(struct reader *r, const struct query_asker *a, const struct query_overview *w,
                    struct buf *out, struct err *e) MUST_USE;

/* {calls, searched_back_to_us, next_cursor}, newest first, with the same filter. */
struct query_calls {
    struct query_filter filter;
    str outcome; /* "failed", "cut", "starved" or "": all */
    struct query_page page;
};
bool query_call_list(struct reader *r, const struct query_asker *a, const struct query_calls *w,
                     struct buf *out, struct err *e) MUST_USE;

/* A receipt as JSON. */
struct store_receipt;
void receipt_write(const struct store_receipt *receipt, struct buf *out);
/* What an erasure would delete: {sessions, interactions, decisions, communications, threads, runs}.
 * Nothing is changed. */
bool query_erase(struct reader *r, enum store_erase_what what, str name, struct buf *out,
                 struct err *e) MUST_USE;
/* {head, entries}: the audit log, newest first. */
bool query_audit(struct reader *r, int64_t limit, struct buf *out, struct err *e) MUST_USE;
/* {ok, bad_seq, why, head, anchor, entries, rows, erased}; head_path as audit.h has it. */
bool query_audit_verify(struct reader *r, const char *head_path, struct buf *out,
                        struct err *e) MUST_USE;

/* All sessions that the filter lets through, oldest first, in steps of bounded size:
 *
 *     query_export_init(&x, format, filter);
 *     while (!x.done)
 *         if (!query_export_step(r, &asker, &x, out, e)) ... else send(out), buf_reset(out);
 *     query_export_release(&x);
 *
 * json: {"sessions": [...]}, each as query_session gives it; of one session (filter->session_id)
 * that alone. csv: RFC 4180, a line an event, a head line first. otlp: a line a session, each an
 * ExportTraceServiceRequest in OTLP/JSON. */
enum query_format { QUERY_JSON, QUERY_CSV, QUERY_OTLP };

struct query_export {
    enum query_format format;
    struct query_filter filter; /* its texts are lent */
    bool done;
    /* The position. */
    bool begun;
    uint64_t sessions;
    int64_t after_us;
    struct buf after_id;
    struct buf found; /* the sessions of a search, a JSON array */
};

bool query_format_parse(str name, enum query_format *out) MUST_USE;
void query_export_init(struct query_export *x, enum query_format format,
                       const struct query_filter *f);
void query_export_release(struct query_export *x);
bool query_export_step(struct reader *r, const struct query_asker *a, struct query_export *x,
                       struct buf *out, struct err *e) MUST_USE;
