/* store.h - the record: writes and reads rows. Acknowledged means stored.
 *
 *     struct store *s;
 *     if (!store_open(&options, &s, e)) ...
 *     store_call_put(s, &row, &ticket);          any thread; copies; ticket->fn when it is on disk
 *     store_close(s);                            waits for what is queued
 *
 * A record is stored in two steps. First the journal (journal.h): one writer thread appends records
 * in groups to files of checksummed frames, and in durable mode syncs them (fdatasync) before it
 * calls their tickets; that is what "stored" means. Then an engine (engine.h) moves them to tables,
 * idempotently by id. At start, it first stores the records that an earlier process left in the
 * journal; an incomplete last frame is dropped and logged once. So a slow or absent database costs
 * no memory and no acknowledged record: the journal is the queue, limited in size on disk.
 *
 * Failure: after an append or sync that fails, the store has failed for good (it never retries the
 * same data): every later ticket gets the error, and store_health says why. On a full disk, the
 * store continues with a new segment once there is room (checked once a second). When the journal
 * reaches its size limit, tickets fail with ERR_LIMIT.
 *
 * The database is PATH, the journal is the folder PATH.spool; only one process may open them at a
 * time. With PostgreSQL the journal is a folder on this machine too, and several daemons, each with
 * its journal, share the database (daemons.h). Rows are plain fields: the caller converts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/file.h"
#include "base/log.h"
#include "base/rand.h"

struct store;

/* fast: tickets at once, synced within STORE_FAST_MS; replicated: once PostgreSQL has the row. */
enum store_durability { STORE_DURABLE, STORE_FAST, STORE_REPLICATED };
#define STORE_FAST_MS 50

struct store_call;
struct store_options {
    str url;   /* "sqlite:PATH", "postgres://..."; or "none": nothing is stored, tickets succeed */
    str spool; /* folder of the journal; "": PATH.spool, for PostgreSQL ./rationale.spool */
    enum store_durability durability;
    size_t queue_size_max;     /* bytes waiting for the writer; 0: 16 MiB; more is ERR_LIMIT */
    uint64_t journal_size_max; /* bytes on disk not yet in the tables; 0: 1 GiB */
    const struct clock *clock; /* measures commits, lent until store_close; NULL: the real one */
    struct log *log;           /* for the store's threads, lent; NULL: stderr */
    /* Sessions that ended this long ago are erased, and the oldest ones while the tables have more
     * bytes than this; never a session younger than the minimum. 0: no such rule. */
    uint64_t retention_age_ms, retention_bytes, retention_min_ms;
    uint64_t retention_every_ms;     /* how often the rules are applied; 0: every minute */
    unsigned heartbeat_ms, lease_ms; /* store/daemons.h; 0: as there */
    /* Counts what a call had said when its process ended: its row is of an earlier moment than its
     * texts. On a thread of the store; NULL: the counts stay. */
    void (*count_interrupted)(void *ctx, struct store_call *row);
    void *ctx;
};

/* Called exactly once; e is NULL if the record is stored. Called on a thread of the store in the
 * order of the puts, or before the put returns if nothing is waited for (fast, "none", refused).
 * The caller owns the struct, which must live until then. fn must not block; it may put. */
struct store_ticket {
    void (*fn)(struct store_ticket *t, const struct err *e);
    struct store_ticket *next; /* for the store */
    bool later;                /* more puts may follow: the disk write waits for store_push */
};

/* One finished model call: a row of llm_interactions. Times are wall-clock ms; times, tokens and
 * cost are -1 if unknown. Start from store_call_none. */
struct store_call {
#define CALL_TYPE_TEXT str
#define CALL_TYPE_BODY str
#define CALL_TYPE_INT int
#define CALL_TYPE_BOOL bool
#define CALL_TYPE_I64 int64_t
#define CALL_TYPE_KNOWN int64_t
#define CALL_TYPE_COST double
#define CALL_FIELD(kind, member, column, text, api) CALL_TYPE_##kind member;
#include "store/call_fields.def"
#undef CALL_FIELD
};

/* A segment is one section of reasoning, answer or tool call, in the order of the reply. In JSON:
 * kind (reasoning, answer, tool_call), at and size (bytes of `reasoning` or `answer`, which for a
 * long reply are complete only with its pieces; for a tool call `at` is its number), tokens, exact,
 * started_us, ended_us, budget (omitted: none), cut, state. The size of reasoning that is not kept
 * is 0. A reply with only one answer has no segments. */

/* A session that an application runs: facts that its calls do not have. Another put replaces the
 * fields that are not empty; times of -1 are unknown. */
struct store_session {
    str id, alert_id, agent_type, alert_type;
    str status;                       /* pending, in_progress, completed, failed */
    str alert_data, session_metadata; /* JSON */
    str error_message, final_analysis;
    int64_t started_us, completed_us, put_us; /* put_us: set by the put; the latest status counts */
    str key_name;                             /* the owner's key; "": from its calls */
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

extern const struct store_call store_call_none; /* all texts empty, all numbers unknown */

/* A piece of this kind says that the final row will have only the rest of the texts, which follows
 * the text in pieces. Without such a piece the row has the whole texts. */
#define STORE_CONTINUED "continued"

/* A piece of this kind cancels the pieces before it: the call was restarted. */
#define STORE_RESTART "anew"

/* Part of a running call, so that an interrupted call is recorded up to its last byte. */
struct store_piece {
    str id;     /* of the call */
    uint32_t n; /* from 0 */
    str kind;   /* "request", "reply", "reasoning", "answer" */
    str bytes;
    int64_t time_ms; /* when the call had these bytes; 0: unknown */
};

bool store_open(const struct store_options *o, struct store **out, struct err *e) MUST_USE;
/* Stores everything queued and waits up to 5 s until it is in the tables. */
void store_close(struct store *s);
/* The paths of a store's database (empty for PostgreSQL) and of its journal. */
bool store_places(str url, str spool, char path[FILE_PATH_MAX], char journal[FILE_PATH_MAX],
                  struct err *e) MUST_USE;
/* How other commands find the process that has the store open. store_reached writes the address and
 * the store's id to a file in the journal's folder; store_close deletes it. The file of a killed
 * process stays until the next store_open, and its port may be another's by then: so ask the
 * program there for its id (GET /health has it) and compare. Ids are random, one for each
 * store_open; "" with "none". store_owner returns ERR_NOT_FOUND if there is no such file. */
#define STORE_ID_SIZE 33 /* 32 characters and a NUL */
struct store_owner {
    str address, id;
};
str store_id(const struct store *s);
bool store_reached(struct store *s, str address, struct err *e) MUST_USE;
bool store_owner(str url, str spool, struct arena *a, struct store_owner *out,
                 struct err *e) MUST_USE;

/* The id must not be empty. A call that is already stored stays unchanged: a put may be repeated.
 * The ticket may be NULL. */
void store_call_put(struct store *s, const struct store_call *row, struct store_ticket *t);

/* Whether a record put now would probably be stored. The journal reserves room for running calls:
 * when this returns false, only new calls have to be refused. ERR_SYSTEM: the disk is full or
 * fails, or files of the store are gone. */
bool store_takes(struct store *s, struct err *e) MUST_USE;

/* The part of the longest wait that a new call should wait: 0 below the journal's soft limit. */
#define STORE_PRESSURE_MAX 1000u /* at the journal's limit */
unsigned store_pressure(struct store *s);

void store_push(struct store *s); /* writes the records put with `later` to disk together */

/* The start of a call, and parts of it while it runs. Both are for the case that this process ends
 * first: the next process then makes a row of them, complete false, error_code "interrupted". The
 * final row replaces them. They are on disk within 50 ms, without an acknowledgement. */
void store_call_begin(struct store *s, const struct store_call *row);
void store_piece_put(struct store *s, const struct store_piece *piece);

/* A session, and an exchange with a tool server. The id must not be empty. Both puts may be
 * repeated: a session's fields that are not empty are replaced, an exchange stays unchanged. */
void store_session_put(struct store *s, const struct store_session *row);
void store_tool_put(struct store *s, const struct store_tool *row);

/* Adds an entry to the audit log: who did what to whom. */
void store_audit_put(struct store *s, str actor, str action, str subject, str detail);

/* Erases a session, or all sessions that involve a subject: rows, words, pieces and the journal
 * they came in. It takes effect after all earlier puts. Waits until the bytes are gone from the
 * files; after STORE_ERASE_MS it returns ERR_TIMEOUT, and the erasure continues. */
#define STORE_ERASE_MS 60000u
enum store_erase_what { STORE_ERASE_SESSION, STORE_ERASE_SUBJECT };
struct store_receipt {
    char id[RAND_ID_SIZE];
    int64_t erased_at_us;
    uint64_t sessions, interactions, decisions, communications, threads, runs;
    char head_hash[65]; /* of the audit log, including the erasure */
};
bool store_erase(struct store *s, enum store_erase_what what, str name, str actor,
                 struct store_receipt *out, struct err *e) MUST_USE;

/* The file that holds the head of the audit log; "" with "none". */
const char *store_head_path(const struct store *s);

#define STORE_COMMIT_STEPS 10
extern const uint64_t store_commit_steps_ns[STORE_COMMIT_STEPS];

struct store_health {
    bool ok;                                       /* records that are put are stored */
    bool tables_ok;                                /* and the tables are nearly up to date */
    char why[480];                                 /* the reason, if either is false */
    uint64_t stored, dropped, errors;              /* records since start, including pieces */
    uint64_t queue_bytes, journal_bytes;           /* waiting for the disk; for the tables */
    uint64_t free_bytes, journal_max_bytes;        /* of the file system; limit of journal_bytes */
    uint64_t commits, commit_ns;                   /* groups, and their total time */
    uint64_t commit_steps[STORE_COMMIT_STEPS + 1]; /* by the time a group took; last: longer */
    uint64_t queue_capacity;                       /* bytes */
    uint64_t pending,
        pending_s;          /* records that are not in the tables, and the oldest's age; about */
    bool behind;            /* the journal is over its soft limit */
    uint64_t history_bytes; /* of the tables, if they are a file */
};
void store_health(struct store *s, struct store_health *out);

/* Waits until all earlier puts are in the tables and their tickets were called; for readers that
 * must see them. */
bool store_settle(struct store *s, uint64_t timeout_ms, struct err *e) MUST_USE;
/* The same, while `wanted` returns true; it is called about four times a second. Else
 * ERR_CANCELLED; ERR_LIMIT at once if the disk of the tables is full. */
bool store_settle_while(struct store *s, uint64_t timeout_ms, bool (*wanted)(void *ctx), void *ctx,
                        struct err *e) MUST_USE;

/* A secret of this store for one purpose, the same after each open; random with "none". */
void store_secret(struct store *s, str purpose, uint8_t out[32]);

/* `talk` of the newest calls that have one, newest first, with their session. Lent; false: stop. */
bool store_talks(struct store *s, size_t n_max, bool (*fn)(void *ctx, str session, str talk),
                 void *ctx, struct err *e) MUST_USE;

/* The cost of each key's recorded calls in USD; erased calls are not included. */
bool store_spent(struct store *s, bool (*fn)(void *ctx, str key, double usd), void *ctx,
                 struct err *e) MUST_USE;
