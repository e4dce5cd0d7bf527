/* journal.h - the queue on disk: any thread adds records, one writer thread writes them to disk in
 * groups, and one taker reads them after that.
 *
 *     struct journal *j;
 *     if (!journal_open(&options, &j, e)) ...          the folder is ours, its files are whole
 *     if (!journal_start(j, place, e)) ...             all before place is in the tables
 *     journal_put(j, &item, ticket);                   any thread, never waits for the disk
 *     journal_stop(j);                                 what is queued is written
 *     journal_free(j);
 *
 * Producers reserve space in the front buffer under a short lock and encode into it without the
 * lock. The writer swaps the buffers, waits for records that are still being encoded, and writes
 * the back buffer to disk with one write and, if anybody waits for it, one fdatasync. The more
 * producers wait, the larger the group. Under load, a file whose records are all in the tables is
 * reused as a new segment.
 *
 *     RUNNING --no room--> FULL --room again, looked at once a second--> RUNNING
 *        |
 *        +--any other failure of a write, any failure of a sync--> FAILED, for good
 *
 * After a failed sync nobody knows which bytes of the file are on disk, and a second sync would
 * report success; so nothing is acknowledged after it. If the disk is full, the writer truncates
 * the partial records before it fails their tickets, and starts a new segment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "store/segment.h"
#include "store/store.h"

#define JOURNAL_SEGMENT_SIZE ((uint64_t)64 << 20)
#define JOURNAL_SYNC_MS 50u
#define JOURNAL_RETRY_MS 1000u

struct journal;

struct journal_options {
    const char *dir; /* created if missing */
    bool durable;
    bool replicated; /* and tickets wait for the tables, not for the disk */
    size_t queue_size_max;
    uint64_t size_max;
    uint64_t segment_size;     /* a larger segment is ended; 0: JOURNAL_SEGMENT_SIZE */
    const struct clock *clock; /* measures commits; NULL: the real one. Waits use the real one */
    struct log *log;           /* NULL: stderr */
};

struct journal_place {
    uint64_t segment, offset;
};

struct journal_item {
    enum frame_type type;
    size_t size;                              /* of the body */
    void (*put)(const void *row, char *body); /* writes exactly that many bytes */
    const void *row;
};

/* Locks the folder, reads its files and drops an incomplete end. */
bool journal_open(const struct journal_options *o, struct journal **out, struct err *e) MUST_USE;
bool journal_start(struct journal *j, struct journal_place taken, struct err *e) MUST_USE;
/* Whether no other process can take in the records: this one still has the lock of the folder
 * (lock.h), or the folder was deleted, or moved together with the lock. */
bool journal_check_lock(const struct journal *j, struct err *e) MUST_USE;

/* The writer ends once everything queued is on disk or refused. */
void journal_stop(struct journal *j);
void journal_free(struct journal *j);

/* Each ticket is called exactly once: on the writer's thread, on the taker's (replicated), or
 * before this function returns if the record is refused or need not be durable. */
void journal_put(struct journal *j, const struct journal_item *item, struct store_ticket *t);
/* Whether there is room for new calls. A part of the size limit is reserved for running calls. */
bool journal_takes(struct journal *j, struct err *e) MUST_USE;
/* Why no new call may begin, whatever room there is; NULL: they may again. */
void journal_set_away(struct journal *j, const struct err *why);
/* Like store_pressure. Takes no lock. */
unsigned journal_pressure(const struct journal *j);
/* About how many records of earlier processes wait, if `taken` of them are in the tables. */
uint64_t journal_old_records(struct journal *j, uint64_t taken);
/* Whether the taker should have normal priority: the backlog is large, or a thread waits for it. */
bool journal_hurries(struct journal *j, bool now);
/* Wakes the writer for records that were put with `later`. */
void journal_push(struct journal *j);

/* The readable part of a segment. */
struct journal_part {
    uint64_t number, size;
    bool sealed; /* the segment ends there */
};

/* Finds the segment with data after *place; if *place is at the end of an earlier segment, moves it
 * there. Waits up to wait_ms for data and, if there is little, for more (journal_share). */
bool journal_next(struct journal *j, struct journal_place *place, struct journal_part *out,
                  uint64_t wait_ms) MUST_USE;

/* Everything before place is in the tables. Deletes the segments that end there, or renames them to
 * *.damaged if the taker found damage. */
void journal_taken(struct journal *j, struct journal_place place, bool damaged);
/* The database lost commits: only records before `place` are stored. Returns the lost bytes. */
uint64_t journal_untake(struct journal *j, struct journal_place place);

/* The number of the first segment that did not exist when the journal was opened. */
uint64_t journal_first_new(const struct journal *j);

/* Waits until all earlier puts are taken, or the time is over. `wanted` is called every quarter of
 * a second, without the journal's lock, and returns whether to go on waiting; NULL: always. */
bool journal_settle_while(struct journal *j, uint64_t timeout_ms, bool (*wanted)(void *ctx),
                          void *ctx) MUST_USE;
bool journal_settle(struct journal *j, uint64_t timeout_ms) MUST_USE;

/* Ends the current segment, so that it and all before it are deleted once they are taken, and
 * deletes the damaged ones that were put aside; waits for that. */
void journal_roll(struct journal *j);
void journal_roll_soon(struct journal *j); /* without waiting */
/* So many daemons share the tables: the more, the longer the taker waits for more records, because
 * a transaction of few records costs nearly as much as one of many. */
void journal_share(struct journal *j, size_t daemons);

/* From now on journal_next returns false at once. */
void journal_wake(struct journal *j);

/* Fills the journal's part of the health: all but free_bytes and the state of the tables. */
void journal_health(struct journal *j, struct store_health *out);
