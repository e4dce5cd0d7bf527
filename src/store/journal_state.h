/* journal_state.h - shared by journal.c, backlog.c and writer.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/journal.h"
#include "store/lock.h"

#include <pthread.h>

#define JOURNAL_GATHER_MS 250u           /* the taker waits this long for more rows, */
#define JOURNAL_GATHER_SHARES 4u         /* times the daemons, of which so many count */
#define JOURNAL_WANTED_MS 250u           /* how often `wanted` is called */
#define JOURNAL_GATHER_SIZE (1u << 20)   /* or, for the taker, until this many bytes wait */
#define JOURNAL_LINGER_MS 5u             /* the writer waits this long if no thread waits for it, */
#define JOURNAL_LINGER_SIZE (256u << 10) /* or until this many bytes wait */
#define JOURNAL_AHEAD_MIN ((uint64_t)64 << 10) /* zeros written ahead: as many as data, */
#define JOURNAL_AHEAD_MAX ((uint64_t)1 << 20)  /* between these two limits */
#define JOURNAL_ROOM_MIN ((uint64_t)1 << 20)   /* free bytes that end the state FULL */
#define JOURNAL_RESERVE ((uint64_t)64 << 20)   /* less free space than this is low; */
#define JOURNAL_RESERVE_SHARE 64u              /* on a small disk, 1/64 of it */
#define JOURNAL_RUNNING_SHARE 16u              /* 1/16 of the limit: reserved for running calls */

#define JOURNAL_ACK_MS ((uint64_t)30000)  /* that a ticket waits for the tables, */
#define JOURNAL_LATE_MS ((uint64_t)10000) /* and after which no new call begins */
#define JOURNAL_SOFT_SHARE 4u             /* 1/4 of the limit: above it, calls wait */
#define JOURNAL_HURRY_SIZE (8u << 20)     /* backlog from which the taker runs at normal priority */
#define JOURNAL_STALE_NS 60000000000u     /* how long bytes of stored records stay on disk */
#define JOURNAL_MARKS 64u                 /* places whose time is known */
#define JOURNAL_MARK_NS 1000000000u       /* minimum time between two of them */
#define JOURNAL_RECORD_SIZE 1024u         /* assumed size of records that were not counted */

/* Records from this place on were put at this time or later. */
struct journal_mark {
    struct journal_place from;
    uint64_t ns;
};

enum journal_mode { JOURNAL_RUNNING, JOURNAL_FULL, JOURNAL_FAILED };
enum journal_sleep { JOURNAL_AWAKE, JOURNAL_LINGERS, JOURNAL_SLEEPS };

/* Frames that wait, or are being written. */
struct journal_group {
    char *p;
    size_t n;
    uint64_t count;
    bool sync;                 /* a ticket waits for it */
    _Atomic unsigned *filling; /* records being encoded into it, without the lock */
    struct store_ticket *first, **last;
};

struct journal {
    struct journal_options o;
    char dir[FILE_PATH_MAX];
    struct store_lock lock_file;
    int folder; /* open, so that no other folder gets its inode */
    uint64_t first_new;

    pthread_mutex_t lock;
    pthread_cond_t work; /* wakes the writer */
    pthread_cond_t news; /* wakes the taker and threads in journal_settle */
    /* Under the lock: */
    struct journal_group front;
    size_t writing; /* bytes of the back group */
    enum journal_mode mode;
    struct err why; /* why it is FULL or FAILED */
    enum journal_sleep sleep;
    bool stop, stopped, woken, taker_waits;
    bool roll;       /* the segment has to end */
    struct err away; /* where the tables are not; ERR_NONE: nowhere */
    bool low;        /* the disk is nearly full: running calls may end, no new ones begin */
    unsigned settling;
    uint64_t gather_ms;
    uint64_t groups_put, groups_done; /* the front group is not counted until the writer takes it */
    struct segment_list segments;
    uint64_t next_number;
    struct journal_place end, taken;
    uint64_t spare_ns;              /* when a spare file was kept; 0: no spare file */
    uint64_t recycle_from;          /* files of segments before this one are deleted, whatever is
                                       in them: not reused, not put aside */
    uint64_t waiting;               /* bytes between `taken` and `end` */
    uint64_t old_size, old_waiting; /* of earlier processes: at the start, and now */
    struct journal_mark marks[JOURNAL_MARKS];
    size_t mark_count;
    struct journal_acks *acks, **acks_last; /* acks.c */
    bool acking;                            /* some of them are being called */
    uint64_t unconfirmed_ns; /* since when the tables do not confirm a record; 0: they did */
    _Atomic unsigned pressure;
    uint64_t stored, dropped, errors, commits, commit_ns;
    uint64_t commit_steps[STORE_COMMIT_STEPS + 1];

    /* Used only by the writer: */
    pthread_t thread;
    bool started;
    struct journal_group back;
    bool rolling;
    bool gone;        /* FULL because its folder was moved or deleted */
    uint64_t room_ns; /* when to check the disk next */
    int fd;           /* of the newest segment, or -1 */
    uint32_t salt;
    uint64_t size;        /* committed bytes of that segment */
    uint64_t prepared;    /* its file's size: zeros or bytes of an older use follow */
    uint64_t stale_ns;    /* since when it has bytes of an older use; 0: it has none */
    uint64_t unsynced_ns; /* since when bytes are not synced; 0: all are */
};

void journal_group_init(struct journal_group *g, size_t size);

/* backlog.c, under the lock. journal_backlog_changed: records were put, written or taken.
 * journal_mark_put: records from this place on are put now or later. journal_marks_taken: drops
 * marks of taken records. journal_backlog_s: the age of the oldest waiting record in seconds. */
void journal_backlog_changed(struct journal *j);
void journal_mark_put(struct journal *j, struct journal_place from, uint64_t ns);
void journal_marks_taken(struct journal *j);
uint64_t journal_backlog_s(const struct journal *j);
uint64_t journal_soft_size(const struct journal *j);

/* acks.c, under the lock but for the two that call tickets of failed groups. journal_acks_taken
 * calls the tickets of all that is taken, and gives the lock up for that. journal_acks_due_ns: when
 * the first of them has waited too long. journal_acks_late: new calls should not begin. */
void journal_call_tickets(struct store_ticket *t, const struct err *e);
void journal_acks_expire(struct journal *j, bool all);
void journal_acks_add(struct journal *j, struct store_ticket *first);
void journal_acks_taken(struct journal *j);
uint64_t journal_acks_due_ns(const struct journal *j);
bool journal_acks_late(const struct journal *j, struct err *e);
/* Whether the tables have all records before this place. */
bool journal_is_taken(const struct journal *j, struct journal_place end);

/* writer.c: its thread; and the error of a folder that is gone, which returns false. */
bool journal_fail_gone(const struct journal *j, struct err *e);
void *journal_writer(void *journal);
