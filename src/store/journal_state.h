/* journal_state.h - what journal.c and writer.c share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/journal.h"

#include <pthread.h>

#define JOURNAL_GATHER_MS 250u           /* the taker waits so long for more rows */
#define JOURNAL_WANTED_MS 250u           /* who waits is asked so often whether to go on */
#define JOURNAL_GATHER_SIZE (1u << 20)   /* or until there are so many bytes */
#define JOURNAL_LINGER_MS 5u             /* the writer, if nobody waits for it */
#define JOURNAL_LINGER_SIZE (256u << 10) /* or until there are so many bytes */
#define JOURNAL_AHEAD_MIN                                                                          \
    ((uint64_t)64 << 10)                      /* zeros ahead of what is written: as much as there */
#define JOURNAL_AHEAD_MAX ((uint64_t)1 << 20) /* is, between these two */
#define JOURNAL_ROOM_MIN ((uint64_t)1 << 20)  /* a full disk has room again from so much on */
#define JOURNAL_RESERVE ((uint64_t)64 << 20)  /* less free than this is low, but on a small disk */
#define JOURNAL_RESERVE_SHARE 64u             /* this part of it */
#define JOURNAL_RUNNING_SHARE 16u             /* of the ceiling: for calls that run already */

#define JOURNAL_SOFT_SHARE 4u         /* of the ceiling: from here on calls wait */
#define JOURNAL_HURRY_SIZE (8u << 20) /* waiting: the taker gets its share of the machine */
#define JOURNAL_STALE_NS 60000000000u /* bytes of records in the tables stay so long */
#define JOURNAL_MARKS 64u             /* places whose time is known */
#define JOURNAL_MARK_NS 1000000000u   /* between two of them, at least */
#define JOURNAL_RECORD_SIZE 1024u     /* assumed of records that nobody has counted */

/* What is at this place and behind it was put then, or later. */
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
    bool sync;                 /* somebody waits */
    _Atomic unsigned *filling; /* records that are being written into it, without the lock */
    struct store_ticket *first, **last;
};

struct journal {
    struct journal_options o;
    char dir[FILE_PATH_MAX];
    int lock_fd;
    uint64_t first_new;

    pthread_mutex_t lock;
    pthread_cond_t work; /* for the writer */
    pthread_cond_t news; /* for the taker and those who settle */
    /* Under the lock: */
    struct journal_group front;
    size_t writing; /* bytes of the back group */
    enum journal_mode mode;
    struct err why; /* of FULL and FAILED */
    enum journal_sleep sleep;
    bool stop, stopped, woken, taker_waits;
    bool roll; /* the segment is to end */
    bool low;  /* the disk is nearly full: what runs may end, nothing new begins */
    unsigned settling;
    uint64_t groups_put, groups_done; /* the front one is not counted until it is taken */
    struct segment_list segments;
    uint64_t next_number;
    struct journal_place end, taken;
    uint64_t spare_ns;     /* since when there is a spare file; 0: there is none */
    uint64_t recycle_from; /* files of segments before this one are deleted, not used again */
    uint64_t waiting;      /* bytes between the two */
    uint64_t old_size, old_waiting; /* of earlier processes: at start, and now */
    struct journal_mark marks[JOURNAL_MARKS];
    size_t mark_count;
    _Atomic unsigned pressure;
    uint64_t stored, dropped, errors, commits, commit_ns;
    uint64_t commit_steps[STORE_COMMIT_STEPS + 1];

    /* The writer's own: */
    pthread_t thread;
    bool started;
    struct journal_group back;
    bool rolling;
    uint64_t room_ns; /* the disk is looked at then */
    int fd;           /* of the last segment, or -1 */
    uint32_t salt;
    uint64_t size;        /* of that segment, as far as it is committed */
    uint64_t prepared;    /* its file has bytes up to there: zeros, or those of an older use */
    uint64_t stale_ns;    /* since when there are some of an older use; 0: none are */
    uint64_t unsynced_ns; /* since when something is; 0: nothing is */
};

void journal_group_init(struct journal_group *g, size_t size);

/* backlog.c, under the lock: something was put, brought to disk, or taken; records from this place
 * on are put now or later; those before it are taken; how old the oldest that waits is. */
void journal_backlog_changed(struct journal *j);
void journal_mark_put(struct journal *j, struct journal_place from, uint64_t ns);
void journal_marks_taken(struct journal *j);
uint64_t journal_backlog_s(const struct journal *j);
uint64_t journal_soft_size(const struct journal *j);

/* The writer's thread. */
void *journal_writer(void *journal);

/* Waits on a condition at most until then (CLOCK_MONOTONIC); false if it is over. */
bool journal_wait_until(struct journal *j, pthread_cond_t *cond, uint64_t deadline_ns);
