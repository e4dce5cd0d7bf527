/* journal_state.h - what journal.c and writer.c share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/journal.h"

#include <pthread.h>

#define JOURNAL_GATHER_MS 250u           /* the taker waits so long for more rows */
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

enum journal_mode { JOURNAL_RUNNING, JOURNAL_FULL, JOURNAL_FAILED };
enum journal_sleep { JOURNAL_AWAKE, JOURNAL_LINGERS, JOURNAL_SLEEPS };

/* Frames that wait, or are being written. */
struct journal_group {
    char *p;
    size_t n;
    uint64_t count;
    bool sync; /* somebody waits */
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
    uint64_t waiting; /* bytes between the two */
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
    uint64_t prepared;    /* zeros may stand in its file up to there */
    uint64_t unsynced_ns; /* since when something is; 0: nothing is */
};

void journal_group_init(struct journal_group *g, size_t size);

/* The writer's thread. */
void *journal_writer(void *journal);

/* Waits on a condition at most until then (CLOCK_MONOTONIC); false if it is over. */
bool journal_wait_until(struct journal *j, pthread_cond_t *cond, uint64_t deadline_ns);
