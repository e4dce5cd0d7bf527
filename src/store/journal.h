/* journal.h - the queue on disk: records go in from any thread, are brought to disk in groups by
 * one writer thread, and are read behind it by one taker.
 *
 *     struct journal *j;
 *     if (!journal_open(&options, &j, e)) ...          the folder is ours, its files are whole
 *     if (!journal_start(j, place, e)) ...             all before place is in the tables
 *     journal_put(j, &item, ticket);                   any thread, never waits for the disk
 *
 *     while (journal_next(j, &place, &part, wait_ms))  the taker
 *         ... read DIR/part.number from place.offset to part.size, then journal_taken(j, place);
 *
 *     journal_stop(j);                                 what is queued is written
 *     journal_free(j);
 *
 * Producers reserve a place in the front buffer under a short lock and encode into it without. The
 * writer swaps the buffers, waits for records that are still being encoded, and brings the back one
 * to disk with one write and, if anybody waits for it, one fdatasync. The more producers wait, the
 * larger the group. A file whose records are in the tables becomes a new segment under load.
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
    const char *dir; /* made if it is not there */
    bool durable;
    size_t queue_size_max;
    uint64_t size_max;
    uint64_t segment_size;     /* a segment is ended once it is larger; 0: JOURNAL_SEGMENT_SIZE */
    const struct clock *clock; /* measures commits; NULL: the real one. Waits are always real */
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

/* Takes the folder's lock, reads what is there and drops a torn end. */
bool journal_open(const struct journal_options *o, struct journal **out, struct err *e) MUST_USE;
bool journal_start(struct journal *j, struct journal_place taken, struct err *e) MUST_USE;

/* The writer ends once all that is queued is on disk or refused. */
void journal_stop(struct journal *j);
void journal_free(struct journal *j);

/* A ticket is called exactly once: by the writer's thread, or before this returns if it is refused
 * or nobody has to wait (not durable). */
void journal_put(struct journal *j, const struct journal_item *item, struct store_ticket *t);
/* Whether there is room for calls that only begin: those that run have a part of the ceiling of
 * their own. */
bool journal_takes(struct journal *j, struct err *e) MUST_USE;
/* As store_pressure. Takes no lock. */
unsigned journal_pressure(const struct journal *j);
/* About how many records of earlier processes wait, if so many of them are taken. */
uint64_t journal_old_records(struct journal *j, uint64_t taken);
/* Whether so much waits that the taker should not give way to others. */
bool journal_hurries(struct journal *j, bool now);
/* Wakes the writer for what was put with `later`. */
void journal_push(struct journal *j);

/* Part of a segment that can be read. */
struct journal_part {
    uint64_t number, size;
    bool sealed; /* it ends there */
};

/* The segment that has something behind place, which is moved to it if it stands at the end of an
 * earlier one. Waits for one up to wait_ms, and if there is little, JOURNAL_GATHER_MS for more. */
bool journal_next(struct journal *j, struct journal_place *place, struct journal_part *out,
                  uint64_t wait_ms) MUST_USE;

/* All before place is in the tables; segments that end there are deleted, or renamed to *.damaged
 * if the taker saw damage in it. */
void journal_taken(struct journal *j, struct journal_place place, bool damaged);

/* Where the first segment begins that was not there when the journal was opened. */
uint64_t journal_first_new(const struct journal *j);

/* Waits until all that was put before is taken, or the time is over. wanted is asked every quarter
 * of a second whether to wait on, without the journal's lock; NULL: yes. */
bool journal_settle_while(struct journal *j, uint64_t timeout_ms, bool (*wanted)(void *ctx),
                          void *ctx) MUST_USE;
bool journal_settle(struct journal *j, uint64_t timeout_ms) MUST_USE;

/* Ends the segment that is being written, so that it can go once it is taken; waits for that. */
void journal_roll(struct journal *j);

/* journal_next returns false at once from now on. */
void journal_wake(struct journal *j);

/* The journal's part of the health: all but free_bytes and what the tables say. */
void journal_health(struct journal *j, struct store_health *out);
