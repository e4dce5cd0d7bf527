/* store.h - the record: rows in, rows out. Acknowledged means stored.
 *
 *     struct store *s;
 *     if (!store_open(&options, &s, e)) ...
 *     store_call_put(s, &row, &ticket);          any thread; copies; ticket->fn when it is on disk
 *     store_close(s);                            waits for what is queued
 *
 * Two steps. A journal first: records are appended to a file of checksummed frames by one writer
 * thread, in groups, and in durable mode brought to disk (fdatasync) before any of their tickets is
 * called; that is what "stored" means. Then an engine (sqlite.c; others by the same interface)
 * takes them from the journal into tables, idempotently by id, at lower priority, and journal
 * segments that are wholly in the tables are deleted. At start what an earlier process left in the
 * journal is taken in first; a torn last frame is dropped and said once.
 *
 * So an engine that is slow, full or away costs no memory and no acknowledged record: the journal
 * is the queue, bounded in bytes on disk.
 *
 * Failure: an append or sync that fails marks the store as failed for good (never retried on the
 * same data): every ticket from then on says so, store_health says why. A full disk is the same,
 * but the store goes on once there is room again (looked at once a second) with a new segment. With
 * the journal at its ceiling tickets fail with ERR_LIMIT.
 *
 * Rows are plain fields: the caller converts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

struct store;

enum store_durability { STORE_DURABLE, STORE_FAST }; /* fast: tickets at once, sync within 50 ms */

struct store_options {
    str url; /* "sqlite:PATH", or "none" */
    enum store_durability durability;
    size_t queue_size_max;     /* bytes waiting for the writer; default 16 MiB: more is ERR_LIMIT */
    uint64_t journal_size_max; /* bytes on disk not yet in the tables; default 1 GiB */
    const struct clock *clock;
};

/* Called once, on the writer's thread, e NULL if the record is stored. The struct is the caller's
 * and must live until then. */
struct store_ticket {
    void (*fn)(struct store_ticket *t, const struct err *e);
    struct store_ticket *next;
};

/* One finished model call: a row of llm_interactions. Times are wall ms; -1 where unknown. */
struct store_call {
    str id, session_id, parent_id;
    str key_name, route, provider, model, upstream_model, dialect, upstream_dialect;
    int64_t started_ms, first_ms, reasoning_ms, answer_ms, ended_ms; /* first byte, reasoning began,
                                                                        answer began */
    int status;                                                      /* HTTP to the client */
    str stop, error_code, error_message;
    bool stream, complete, has_reasoning;
    str level, cut, state; /* reasoning: level asked for; "budget" or ""; complete, unclosed, none,
                              hidden, opaque, summary */
    int64_t cap_tokens, input_tokens, output_tokens, reasoning_tokens, cache_read_tokens,
        cache_write_tokens;
    bool reasoning_exact; /* counted by the provider, not estimated by us */
    double cost_usd;
    str source;         /* where the reasoning stood: field, tag, channel, summary, opaque */
    str request, reply; /* bodies, masked by the caller; may be empty by policy */
    str reasoning, reasoning_summary, answer, tool_calls; /* by policy; tool_calls is JSON */
    str attempts; /* JSON: retries, fallbacks, dropped parameters */
};

/* Part of a call that still runs, so that one that is cut is on record up to its last byte. */
struct store_piece {
    str id;     /* of the call */
    uint32_t n; /* from 0 */
    str kind;   /* "request", "reply", "reasoning", "answer" */
    str bytes;
};

bool store_open(const struct store_options *o, struct store **out, struct err *e) MUST_USE;
/* Everything queued is stored and, within 5 s, in the tables. */
void store_close(struct store *s);

/* ticket may be NULL. With "none" tickets are called at once, in the call. */
void store_call_put(struct store *s, const struct store_call *row, struct store_ticket *t);
void store_piece_put(struct store *s, const struct store_piece *piece);

struct store_health {
    bool ok;
    char why[240];
    uint64_t stored, dropped, errors;    /* records since start */
    uint64_t queue_bytes, journal_bytes; /* waiting */
    uint64_t free_bytes;                 /* of the file system */
    uint64_t commits, commit_ns;         /* groups, and how long they took in all */
};
void store_health(struct store *s, struct store_health *out);

/* Waits until all that was stored before is in the tables; for readers that must see it. */
bool store_settle(struct store *s, uint64_t timeout_ms, struct err *e) MUST_USE;

/* Rows by id or the newest first, for the API of the next floor. */
struct store_row_sink {
    bool (*on_call)(void *ctx, const struct store_call *row); /* false: enough */
    void *ctx;
};
bool store_call_get(struct store *s, str id, struct store_row_sink sink, struct err *e) MUST_USE;
bool store_call_list(struct store *s, str before_id, size_t n_max, struct store_row_sink sink,
                     struct err *e) MUST_USE;
