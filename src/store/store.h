/* store.h - the record: rows in, rows out. Acknowledged means stored.
 *
 *     struct store *s;
 *     if (!store_open(&options, &s, e)) ...
 *     store_call_put(s, &row, &ticket);          any thread; copies; ticket->fn when it is on disk
 *     store_close(s);                            waits for what is queued
 *
 * Two steps. A journal first (journal.h): records are appended to files of checksummed frames by
 * one writer thread, in groups, and in durable mode brought to disk (fdatasync) before any of their
 * tickets is called; that is what "stored" means. Then an engine (engine.h) takes them from the
 * journal into tables, idempotently by id. At start what an earlier process left in the journal is
 * taken in first; a torn last frame is dropped and said once. So an engine that is slow or away
 * costs no memory and no acknowledged record: the journal is the queue, bounded on disk.
 *
 * Failure: an append or sync that fails marks the store as failed for good (never retried on the
 * same data): every ticket from then on says so, store_health says why. A full disk is the same,
 * but the store goes on once there is room again (looked at once a second) with a new segment. With
 * the journal at its ceiling tickets fail with ERR_LIMIT.
 *
 * The database is PATH, the journal the folder PATH.spool; one process at a time may have them.
 * With PostgreSQL the journal is a folder on this machine too. Rows are plain fields: the caller
 * converts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/str.h"

struct store;

enum store_durability { STORE_DURABLE, STORE_FAST }; /* fast: tickets at once, sync soon */
#define STORE_FAST_MS 50                             /* within so long */

struct store_options {
    str url; /* "sqlite:PATH", "postgres://..."; or "none": nothing is kept, every ticket is well */
    str spool; /* folder of the journal; "": PATH.spool, for PostgreSQL ./rationale.spool */
    enum store_durability durability;
    size_t queue_size_max;     /* bytes waiting for the writer; 0 is 16 MiB: more is ERR_LIMIT */
    uint64_t journal_size_max; /* bytes on disk not yet in the tables; 0 is 1 GiB */
    const struct clock *clock; /* measures commits, lent until the close; NULL: the real one */
    struct log *log;           /* for the store's threads, lent; NULL: stderr */
    /* Sessions that ended so long ago are erased, and the oldest once the tables are larger than so
     * many bytes; but none that is younger than the minimum. 0: no such rule. */
    uint64_t retention_age_ms, retention_bytes, retention_min_ms;
    uint64_t retention_every_ms; /* how often it is looked at; 0 is a minute */
};

/* Called exactly once, e NULL if the record is stored: on the writer's thread, in the order of the
 * puts; or, where nothing has to be waited for (fast, "none", refused), before the put returns. The
 * struct is the caller's and must live until then. fn must not wait, and may put. */
struct store_ticket {
    void (*fn)(struct store_ticket *t, const struct err *e);
    struct store_ticket *next; /* the store's */
    bool later;                /* more may come at once: the disk waits for store_push */
};

/* One finished model call: a row of llm_interactions. Times are wall ms; these, tokens and cost are
 * -1 where unknown. Start from store_call_none. */
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
    str subject;  /* whom it is about: the end user the request names, else the key's name */
    str asked;    /* the newest words of the user, for a list and for search */
    str decision; /* the whole entry of the decision log: "[TOOL_CALL] a, b: why", "[DIRECT] why" */
    str tools;    /* names of the tools called, JSON array, or "" */
    str segments; /* JSON array of struct store_segment, in order; or "" */
    str step;     /* what this call was for, in words; or "" */
    str talk;     /* by what its conversation is recognised, see gateway/conversation.h; or "" */
};

/* A segment is one stretch of reasoning, answer or tool call, in the order of the reply. In JSON:
 * kind (reasoning, answer, tool_call), at and size (bytes of `reasoning` or `answer`, which for a
 * long reply are whole only with its pieces; of a tool call `at` is its number), tokens, exact,
 * started_us, ended_us, budget (left out: none), cut, state. Of reasoning that is not kept the size
 * is 0. A reply that is one answer and nothing else has none. */

/* A session that an application runs: what is known of it beside its calls. Putting one again
 * replaces what is not empty; times -1 are unknown. */
struct store_session {
    str id, alert_id, agent_type, alert_type;
    str status;                       /* pending, in_progress, completed, failed */
    str alert_data, session_metadata; /* JSON */
    str error_message, final_analysis;
    int64_t started_us, completed_us;
    str key_name; /* whose it is; "": as its calls say */
};

/* One exchange with a tool server: a row of mcp_communications. */
struct store_tool {
    str id, session_id, parent_id; /* parent: the call whose tool call it answers, or "" */
    str server_name, communication_type, tool_name; /* type: tool_list, tool_call, result */
    str arguments, result, available_tools;         /* JSON or text, masked by the caller */
    str error_message, step;
    int64_t timestamp_us, duration_ms;
    bool success;
};

/* Empty texts, unknown numbers. */
extern const struct store_call store_call_none;

/* A piece of this kind says that the final row will have only the rest of the texts: what is in
 * pieces goes before it. Without one the row has them whole. */
#define STORE_CONTINUED "continued"

/* A piece of this kind takes back those before it: the call was begun again. */
#define STORE_ANEW "anew"

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
/* Where a store of this URL has its database, empty for PostgreSQL, and its journal. */
bool store_places(str url, str spool, char path[FILE_PATH_MAX], char journal[FILE_PATH_MAX],
                  struct err *e) MUST_USE;
/* How commands beside it find the process that has the store. store_reached writes the address and
 * the store's id to a file in the journal's folder; store_close deletes it. The file of a process
 * that was killed stays until the next store_open, and its port may be another's by then: so ask
 * whoever answers there for its id (GET /health has it) and compare. Ids are made by chance, one
 * for each store_open; "" with "none". store_owner is ERR_NOT_FOUND if there is no such file. */
#define STORE_ID_SIZE 33 /* 32 characters and a NUL */
struct store_owner {
    str address, id;
};
str store_id(const struct store *s);
void store_reached(struct store *s, str address);
bool store_owner(str url, str spool, struct arena *a, struct store_owner *out,
                 struct err *e) MUST_USE;

/* The id is not empty. A call whose id is stored already is left as it was: a put may be repeated.
 * ticket may be NULL. */
void store_call_put(struct store *s, const struct store_call *row, struct store_ticket *t);

/* Whether a record put now would be stored, as far as is known. A journal has room left for calls
 * that run when this says no, so that only new ones are turned away. */
bool store_takes(struct store *s, struct err *e) MUST_USE;

/* What part of the longest wait a new call should wait: 0 below the journal's soft mark. */
#define STORE_PRESSURE_MAX 1000u /* at its ceiling */
unsigned store_pressure(struct store *s);

void store_push(struct store *s); /* what was put with `later` goes to disk now, together */

/* What is known of a call when it begins, and what comes of it while it runs. Both are for the case
 * that this process ends first: the next one then makes a row of them, complete false, error_code
 * "interrupted". The final row takes their place. They are on disk within 50 ms, nobody is told. */
void store_call_begin(struct store *s, const struct store_call *row);
void store_piece_put(struct store *s, const struct store_piece *piece);

/* What is known of a session, and an exchange with a tool server. The id is not empty; both may be
 * put again: of a session what is not empty is replaced, an exchange is left as it was. */
void store_session_put(struct store *s, const struct store_session *row, struct store_ticket *t);
void store_tool_put(struct store *s, const struct store_tool *row, struct store_ticket *t);

/* Something that should be in the audit log: who did what to whom. */
void store_audit_put(struct store *s, str actor, str action, str subject, str detail);

/* Erases a session, or all sessions that a subject has a part in: rows, words, pieces, the journal
 * they came in. Ordered with all that was put before. Waits until the bytes are gone from the
 * files; after STORE_ERASE_MS it is ERR_TIMEOUT, and goes on by itself. */
#define STORE_ERASE_MS 60000u
enum store_erase_what { STORE_ERASE_SESSION, STORE_ERASE_SUBJECT };
struct store_receipt {
    char id[RAND_ID_SIZE];
    int64_t erased_at_us;
    uint64_t sessions, interactions, decisions, communications, threads, runs;
    char head_hash[65]; /* of the audit log, with the erasure in it */
};
bool store_erase(struct store *s, enum store_erase_what what, str name, str actor,
                 struct store_receipt *out, struct err *e) MUST_USE;

/* The file that holds the head of the audit log; "" with "none". */
const char *store_head_path(const struct store *s);

#define STORE_COMMIT_STEPS 10
extern const uint64_t store_commit_steps_ns[STORE_COMMIT_STEPS];

struct store_health {
    bool ok;                                       /* what is put is stored */
    bool tables_ok;                                /* and the tables follow closely */
    char why[480];                                 /* if either is not so */
    uint64_t stored, dropped, errors;              /* records since start, pieces among them */
    uint64_t queue_bytes, journal_bytes;           /* waiting for the disk, for the tables */
    uint64_t free_bytes, journal_max_bytes;        /* of the file system; for journal_bytes */
    uint64_t commits, commit_ns;                   /* groups, and how long they took in all */
    uint64_t commit_steps[STORE_COMMIT_STEPS + 1]; /* how many took at most so long, or more */
    uint64_t queue_capacity;                       /* bytes */
    uint64_t pending,
        pending_s;          /* records that are not in the tables, and the oldest's age; about */
    bool behind;            /* the journal is over its soft mark */
    uint64_t history_bytes; /* of the tables, where they are a file */
};
void store_health(struct store *s, struct store_health *out);

/* Waits until all that was put before is in the tables and its tickets are called; for readers that
 * must see it. */
bool store_settle(struct store *s, uint64_t timeout_ms, struct err *e) MUST_USE;
/* The same while somebody wants it, which is asked now and then; else ERR_CANCELLED. */
bool store_settle_while(struct store *s, uint64_t timeout_ms, bool (*wanted)(void *ctx), void *ctx,
                        struct err *e) MUST_USE;

/* A secret of this store for one purpose, the same each time it is opened; chance with "none". */
void store_secret(struct store *s, str purpose, uint8_t out[32]);

/* `talk` of the newest calls that have one, newest first, with the session they are of. Lent for
 * fn; false: enough. */
bool store_talks(struct store *s, size_t n_max, bool (*fn)(void *ctx, str session, str talk),
                 void *ctx, struct err *e) MUST_USE;

/* What the calls on record of each key have cost, in US dollars; those erased are none of them. */
bool store_spent(struct store *s, bool (*fn)(void *ctx, str key, double usd), void *ctx,
                 struct err *e) MUST_USE;

/* Rows by id (ERR_NOT_FOUND) or the newest first, those before the one with before_id if that is
 * not empty. Rows are lent for the call; a sink may not read from the store itself. */
struct store_row_sink {
    bool (*on_call)(void *ctx, const struct store_call *row); /* false: enough */
    void *ctx;
};
bool store_call_get(struct store *s, str id, struct store_row_sink sink, struct err *e) MUST_USE;
bool store_call_list(struct store *s, str before_id, size_t n_max, struct store_row_sink sink,
                     struct err *e) MUST_USE;
