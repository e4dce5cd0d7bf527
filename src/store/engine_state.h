/* engine_state.h - shared by the files of the engine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "store/audit_bytes.h"
#include "store/db_lease.h"
#include "store/engine.h"
#include "store/engine_block.h"
#include "store/engine_usage.h"

#define ENGINE_ARENA_MAX ((size_t)2 << 30)
#define ENGINE_ARENA_KEPT ((size_t)12 << 20) /* kept from batch to batch: that of a full one */
#define ENGINE_COLUMNS_MAX 64u
#define ENGINE_MARKS 100u
#define ENGINE_PIECED_MAX 65536u
#define ENGINE_OWNERS_MAX 1000000u
#define ENGINE_MARK_SIZE 12u /* after "~", for a session whose name another key uses */
#define ENGINE_CANON_MAX ((size_t)1 << 30)

/* SQL texts built from the columns, once. */
enum {
    ENGINE_PUT_CALL,
    ENGINE_LOOK_UP,
    ENGINE_LOOK_UP_TOOLS,
    ENGINE_LOOK_UP_ERASED,
    ENGINE_LOOK_UP_OWNERS,
    ENGINE_LOOK_UP_RUNNING,
    ENGINE_GET_SESSION,
    ENGINE_GET_UNMOVED,
    ENGINE_TEXTS
};

/* The content of a journal record. */
union engine_content {
    struct store_call call;
    struct store_piece piece;
    struct store_session session;
    struct store_tool tool;
    struct store_note note;
};

struct engine_record {
    uint32_t type;
    str body;                      /* in the arena, */
    union engine_content *content; /* as is the decoded record */
    bool there;                    /* already in the tables, or erased from them */
};

struct engine {
    char *url, *spool;
    void (*count_interrupted)(void *ctx, struct store_call *row); /* or NULL */
    void *ctx;
    enum db_kind kind;
    struct db *db;
    struct buf text[ENGINE_TEXTS];

    /* The batch. */
    struct arena arena;
    struct engine_record records[ENGINE_BATCH_MAX];
    size_t count, size;
    struct map owners; /* of the batch's sessions; a value is NULL if the session does not exist */

    struct map sessions; /* additions of its calls to sessions, not in the tables yet */

    struct engine_sums usage;

    /* Ids of calls that may have pieces in the tables; any call may, if that is unknown. */
    struct map pieced;
    bool pieced_unknown, caught_up;

    /* The audit log. */
    char *head_path;
    uint8_t key[SHA256_SIZE];
    struct audit_head head; /* includes the tables and the batch */
    bool head_known;        /* else it is read again */
    bool erased_any;        /* a row was ever erased */
    int64_t erased;         /* struct db_turn */
    bool scrub;             /* erased data is still in the files */
    bool late;              /* see engine_was_late */
    bool freed;             /* retention has freed space in them */
    int64_t anchored_seq;   /* seq in the head file */
    int64_t now_us;         /* of the batch */
    struct buf canon;       /* the bytes of a row for its digest */

    struct json doc;

    /* Blocks. */
    struct engine_filling filling[ENGINE_FILLED];
    int64_t last_n, last_block; /* the last numbers given: to a call, to a packed block */
    int64_t moved_to;           /* blocks up to this number are for moved calls, */
    int64_t last_moved;         /* and this is the last one packed of them */
    int64_t tree_from;          /* see audit_digest_call */
    bool blocks_known;          /* else they are read from the tables */
    /* A store of an earlier version: moves its calls into blocks, then rewrites the file. */
    enum { ENGINE_IN_BLOCKS, ENGINE_MOVE, ENGINE_REWRITE } move;
    struct buf entry, packed;
    struct arena scratch; /* for one call or one block at a time */
    struct texts texts;   /* reads with db */
    struct engine_request requests[ENGINE_REQUESTS];
    size_t requests_size, requests_next;
    struct buf unlogged; /* number and digest of each call for the next audit entry */
    int64_t unlogged_first;

    /* Under the lock: */
    pthread_mutex_t read_lock;
    struct db *reader;
};

/* Begins a transaction. If another daemon has written since, drops all cached state. */
bool engine_turn(struct engine *en, bool durable, struct err *e) MUST_USE;

/* engine_row.c: a call as a row of llm_interactions and back. Columns: those of the enum, then the
 * fields of row.h that are columns; with `marks` "$1, $2, ...". */
enum {
    ENGINE_CALL_N,
    ENGINE_BLOCK,
    ENGINE_BLOCK_N,
    ENGINE_TEXT_BITS,
    ENGINE_DECISION_KIND,
    ENGINE_TOOL_COUNT,
    ENGINE_FIRST_FIELD
};
void engine_columns(struct buf *out, bool marks);
/* Lent from the row. Returns the number of values. */
size_t engine_row_values(const struct store_call *row, const struct texts_place *at,
                         struct db_value out[ENGINE_COLUMNS_MAX]);
struct row_field;
/* Any field of a row of row.h as a value, its text lent; NULL if empty or unknown. And back. */
struct db_value engine_field_value(const struct row_field *f, const void *row);
void engine_field_read(const struct row_field *f, const struct db_value *v, void *row);
/* Reads the columns of a row; lent; its texts are empty. */
void engine_row_read(const struct db_value *columns, size_t n, struct texts_place *at,
                     struct store_call *out);
/* Copies the lent texts to the arena. */
void engine_row_keep(struct store_call *row, struct arena *a);
/* Makes a row storable: sets a session, makes texts valid, shortens names to fit an index. */
void engine_row_clean(struct engine *en, struct store_call *row);
str engine_clean(struct engine *en, str text);
str engine_clean_name(struct engine *en, str name);

struct db_value engine_known(int64_t v); /* NULL for -1 */
/* Milliseconds as microseconds; unknown stays unknown. */
int64_t engine_us(int64_t ms);

/* engine_call.c: stores a new call and all that is derived from it; and the start of a call. */
bool engine_call_put(struct engine *en, struct store_call *row, struct err *e) MUST_USE;
bool engine_call_begin(struct engine *en, struct store_call *row, str body, struct err *e) MUST_USE;

/* Runs a statement for each tool of a call: $1 is the tool, $2 the call's number. */
bool engine_call_tools(struct engine *en, const struct store_call *row, int64_t call_n,
                       const char *sql, struct err *e) MUST_USE;
/* Whether a session of this call may have the title; see title.h. */
bool engine_title_fits(struct engine *en, const struct store_call *row, str title);

/* Calls that a statement selects, in the arena, without their texts. */
struct engine_call {
    struct store_call row;
    struct texts_place at;
};
struct engine_calls {
    struct arena *arena;
    struct engine_call *items;
    size_t count, cap;
};
bool engine_calls_read(struct engine *en, int text, const struct db_value *args, size_t n,
                       struct engine_calls *out, struct err *e) MUST_USE;

/* engine.c: runs the statement, which has ENGINE_MARKS marks, for all ids, so many at a time. */
bool engine_ask(struct engine *en, int text, const str *ids, size_t n, struct db_rows rows,
                struct err *e) MUST_USE;

/* engine_own.c: the keys that own the sessions of a batch, looked up together. */
bool engine_owners_look_up(struct engine *en, const str *sessions, size_t n,
                           struct err *e) MUST_USE;
void engine_owners_forget(struct engine *en);
/* If another key owns the session, the row gets one of its own key, and `named` is the session's
 * name as the client wrote it; else "". */
bool engine_own(struct engine *en, struct store_call *row, str *named, struct err *e) MUST_USE;

/* engine_session.c: what calls add to their sessions, collected for a batch. It is written before
 * anything else changes or reads these sessions, and before the commit. */
#define ENGINE_SESSION_IS_OURS "coalesce(alert_sessions.agent_type, 'gateway') = 'gateway'"
bool engine_session_add(struct engine *en, const struct store_call *row, str named,
                        struct err *e) MUST_USE;
bool engine_sessions_write(struct engine *en, struct err *e) MUST_USE;
/* Writes them if this session is among them. */
bool engine_sessions_write_with(struct engine *en, str session_id, struct err *e) MUST_USE;
void engine_sessions_forget(struct engine *en);

/* engine_history.c: sessions that applications run, and their exchanges with tools. */
#define ENGINE_TOOL_COLUMNS                                                                        \
    "communication_id, session_id, parent_id, server_name, communication_type, tool_name,"         \
    " tool_arguments, tool_result, available_tools, error_message, step_description,"              \
    " timestamp_us, duration_ms, success"
bool engine_session_put(struct engine *en, struct store_session *row, struct err *e) MUST_USE;
bool engine_tool_put(struct engine *en, struct store_tool *row, struct err *e) MUST_USE;
/* Columns in the order above; texts are lent. */
void engine_tool_read(const struct db_value *columns, struct store_tool *out);

/* engine_move.c: moves calls of an earlier version into blocks, some in each transaction. */
bool engine_move_begin(struct engine *en, struct err *e) MUST_USE;
/* Drops the old word index: it contains words of erased texts and is no longer used. */
bool engine_move_drop_words(struct engine *en, struct err *e) MUST_USE;
/* Whether the tables of an earlier version exist; engine_move_look: or another daemon moved all. */
bool engine_move_needed(struct db *db, bool *out, struct err *e) MUST_USE;
bool engine_move_look(struct engine *en, struct err *e) MUST_USE;

/* engine_audit.c */
bool engine_audit_open(struct engine *en, struct err *e) MUST_USE;
bool engine_audit_begin(struct engine *en, struct err *e) MUST_USE;
/* Sets seq and time. */
bool engine_audit_add(struct engine *en, struct audit_entry *entry, struct err *e) MUST_USE;
/* The digest of a stored call. */
void engine_audit_digest_call(struct engine *en, const struct store_call *row, int64_t call_n,
                              str entry, uint8_t out[SHA256_SIZE]);
/* A call was stored; its block entry is in `entry`. engine_audit_records adds one entry for all. */
void engine_audit_record(struct engine *en, const struct store_call *row, int64_t call_n);
bool engine_audit_records(struct engine *en, struct err *e) MUST_USE;
/* Adds an entry for the row whose bytes are in canon. */
bool engine_audit_row(struct engine *en, str action, str subject, str detail,
                      struct err *e) MUST_USE;
/* A pseudonym that identifies nobody, in the arena. */
str engine_audit_name(struct engine *en, str name);

/* engine_erase.c, engine_receipt.c */
bool engine_note_put(struct engine *en, const struct store_note *note, struct err *e) MUST_USE;
bool engine_receipt_put(struct engine *en, const struct store_note *note,
                        const struct audit_counts *c, struct err *e) MUST_USE;

/* engine_pieces.c */
bool engine_piece_put(struct engine *en, const struct store_piece *piece, str session_id,
                      struct err *e) MUST_USE;
bool engine_pieces_drop(struct engine *en, str id, struct err *e) MUST_USE;
/* Puts the pieces' texts before the row's, if the row has only the rest of the texts. */
bool engine_pieces_join(struct engine *en, struct store_call *row, struct err *e) MUST_USE;
bool engine_pieces_none(const struct engine *en); /* certainly no call has pieces */
void engine_pieces_forget(struct engine *en);
/* Reads from the table which calls may have pieces. */
bool engine_pieces_recall(struct engine *en, struct err *e) MUST_USE;
#define ENGINE_BEGIN_KIND "begin"
