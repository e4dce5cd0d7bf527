/* writer.c - the journal's writer thread: takes all queued records, writes them to disk, and
 * reports it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/journal_state.h"

#include <errno.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* What a failed step means for the journal. */
enum outcome { DONE, NO_ROOM, BROKEN };

static enum outcome writer_by_errno(void)
{
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? NO_ROOM : BROKEN;
}

static enum outcome writer_sync_now(struct journal *j, struct err *e)
{
    if (fdatasync(j->fd) < 0) {
        err_sys(e, "sync the journal in %s", j->dir);
        return BROKEN; /* also because the disk is full: it is unknown which bytes are on disk */
    }
    j->unsynced_ns = 0;
    return DONE;
}

/* Writes zeros ahead of a group of n bytes. Overwriting them later changes only data, so a sync
 * need not write the file system's metadata, which would take twice as long. Without room for the
 * zeros there may still be room for the group. */
static void writer_prepare(struct journal *j, size_t n)
{
    static char zeros[64 << 10]; /* not const: it takes no room in the program's file */
    uint64_t ahead = j->size < JOURNAL_AHEAD_MIN   ? JOURNAL_AHEAD_MIN
                     : j->size > JOURNAL_AHEAD_MAX ? JOURNAL_AHEAD_MAX
                                                   : j->size;
    uint64_t need = j->size + n, at = j->prepared > j->size ? j->prepared : j->size;

    if (need <= at)
        return;
    for (need += ahead; at < need;) {
        uint64_t left = need - at;
        ssize_t put =
            pwrite(j->fd, zeros, left < sizeof zeros ? (size_t)left : sizeof zeros, (off_t)at);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            break;
        at += (uint64_t)put;
    }
    j->prepared = need;
}

/* Removes the bytes after the last frame; if that fails, the next process that opens the journal
 * does it. */
static void writer_drop_prepared(struct journal *j)
{
    if (j->prepared > j->size)
        (void)!ftruncate(j->fd, (off_t)j->size);
    j->prepared = j->stale_ns = 0;
}

static void writer_drop_spare(struct journal *j)
{
    pthread_mutex_lock(&j->lock);
    if (j->spare_ns)
        segment_drop_spare(j->dir);
    j->spare_ns = 0;
    pthread_mutex_unlock(&j->lock);
}

/* Bytes of records that are in the tables are dropped soon, because the records may be erased. */
static void writer_drop_stale(struct journal *j)
{
    uint64_t now = clock_mono_ns(&clock_real), spare_ns;

    if (j->stale_ns && now >= j->stale_ns + JOURNAL_STALE_NS)
        writer_drop_prepared(j);
    pthread_mutex_lock(&j->lock);
    spare_ns = j->spare_ns;
    pthread_mutex_unlock(&j->lock);
    if (spare_ns && now >= spare_ns + JOURNAL_STALE_NS)
        writer_drop_spare(j);
}

/* Seals the segment; the taker may continue with the next one. */
static void writer_end_segment(struct journal *j)
{
    struct segment *last;

    if (j->fd < 0)
        return;
    writer_drop_prepared(j);
    close(j->fd);
    j->fd = -1;
    j->unsynced_ns = 0;
    pthread_mutex_lock(&j->lock);
    assert(j->segments.count > 0);
    last = &j->segments.items[j->segments.count - 1];
    last->sealed = true;
    j->end = (struct journal_place){last->number + 1, 0};
    if (j->taker_waits)
        pthread_cond_broadcast(&j->news);
    pthread_mutex_unlock(&j->lock);
}

static enum outcome writer_begin_segment(struct journal *j, struct err *e)
{
    uint64_t number = j->next_number, now = clock_mono_ns(&clock_real);
    bool spare;

    assert(j->fd < 0);
    pthread_mutex_lock(&j->lock);
    spare = j->spare_ns > 0;
    j->spare_ns = 0;
    pthread_mutex_unlock(&j->lock);
    j->prepared = j->stale_ns = 0;
    if (spare && segment_recycle(j->dir, number, &j->fd, &j->salt, &j->prepared, e))
        j->stale_ns = now;
    else if (!segment_create(j->dir, number, &j->fd, &j->salt, e))
        return writer_by_errno();
    j->size = FRAME_SEGMENT_HEAD_SIZE;
    pthread_mutex_lock(&j->lock);
    assert(j->segments.count == 0 || j->segments.items[j->segments.count - 1].number < number);
    j->next_number = number + 1;
    j->waiting += j->size;
    segment_list_add(&j->segments, (struct segment){number, j->size, false, now});
    pthread_mutex_unlock(&j->lock);
    return DONE;
}

/* Truncates a group that did not fit, so that refused records are never read, and ends the segment
 * there. */
static enum outcome writer_cut_back(struct journal *j, struct err *e)
{
    if (ftruncate(j->fd, (off_t)j->size) < 0) {
        err_sys(e, "cut the journal in %s back", j->dir);
        return BROKEN;
    }
    j->prepared = j->stale_ns = 0;
    if (j->unsynced_ns && writer_sync_now(j, e) != DONE)
        return BROKEN;
    writer_end_segment(j);
    return NO_ROOM;
}

/* Whether the next process will find what is written now. */
static bool writer_is_in_place(struct journal *j, struct err *e)
{
    char path[FILE_PATH_MAX];

    j->gone = j->fd >= 0 ? !lock_is_file(j->fd, segment_path(j->dir, j->next_number - 1, path))
                         : !lock_is_file(j->lock_file.fd, j->lock_file.path);
    return !j->gone ||
           err_set(e,
                   ERR_SYSTEM,
                   "the journal %s was moved or deleted while this daemon uses it: put it back, or"
                   " restart the daemon",
                   j->dir);
}

static enum outcome writer_write_group(struct journal *j, struct err *e)
{
    struct journal_group *g = &j->back;
    enum outcome got;

    if (!writer_is_in_place(j, e))
        return j->fd < 0 ? NO_ROOM : writer_cut_back(j, e);
    if (j->fd < 0 && (got = writer_begin_segment(j, e)) != DONE)
        return got;
    for (size_t i = 0; i < g->n;)
        i += frame_seal(g->p + i, j->salt, j->size + i);
    if (g->sync && !j->o.replicated)
        writer_prepare(j, g->n);
    if (!segment_write(j->fd, (str){g->p, g->n})) {
        got = writer_by_errno();
        err_sys(e, "write to the journal in %s", j->dir);
        return got == NO_ROOM ? writer_cut_back(j, e) : got;
    }
    if (!j->unsynced_ns)
        j->unsynced_ns = clock_mono_ns(&clock_real);
    return g->sync && !j->o.replicated ? writer_sync_now(j, e) : DONE;
}

/* From now on every ticket fails with this error; if the disk was full, until there is room
 * again. */
static void writer_go_down(struct journal *j, enum outcome how, const struct err *e)
{
    bool news = j->mode != JOURNAL_FAILED && (j->mode == JOURNAL_RUNNING || how == BROKEN);

    assert(how != DONE && e->code != ERR_NONE);
    pthread_mutex_lock(&j->lock);
    j->errors++;
    if (news) {
        j->mode = how == BROKEN ? JOURNAL_FAILED : JOURNAL_FULL;
        j->why = *e;
    }
    pthread_mutex_unlock(&j->lock);
    if (news && how == BROKEN)
        log_error("journal failed: nothing is recorded until a restart", LOG_ERR(e));
    else if (news && j->gone)
        log_error("journal: its folder is gone, nothing is recorded", LOG_ERR(e));
    else if (news)
        log_error("journal: no room on disk, nothing is recorded", LOG_ERR(e));
}

#define MS CLOCK_NS_PER_MS
const uint64_t store_commit_steps_ns[STORE_COMMIT_STEPS] = {
    MS / 10, MS / 4, MS / 2, MS, 5 * MS / 2, 5 * MS, 10 * MS, 50 * MS, 250 * MS, 1000 * MS};

/* Moves the end up to which the taker may read. Call it under the lock. */
static void writer_advance(struct journal *j, uint64_t took_ns)
{
    struct journal_group *g = &j->back;
    struct segment *s = &j->segments.items[j->segments.count - 1];
    size_t step = 0;

    assert(j->fd >= 0 && j->segments.count > 0 && !s->sealed && s->size == j->size);
    journal_mark_put(j, j->end, clock_mono_ns(&clock_real));
    j->waiting += g->n;
    j->size += g->n;
    s->size = j->size;
    j->end = (struct journal_place){s->number, j->size};
    j->stored += g->count;
    j->commits++;
    j->commit_ns += took_ns;
    while (step < STORE_COMMIT_STEPS && took_ns > store_commit_steps_ns[step])
        step++;
    j->commit_steps[step]++;
}

static void writer_clear_group(struct journal_group *g)
{
    assert(atomic_load_explicit(g->filling, memory_order_relaxed) == 0);
    g->n = 0;
    g->count = 0;
    g->sync = false;
    g->first = NULL;
    g->last = &g->first;
}

static void writer_do_group(struct journal *j)
{
    uint64_t began_ns = clock_mono_ns(j->o.clock);
    struct err e = j->why; /* only this thread changes it, or the mode */
    enum outcome got;
    bool later;

    while (atomic_load_explicit(j->back.filling, memory_order_acquire) > 0)
        (void)sched_yield(); /* other threads fill it, in microseconds */
    got = j->mode == JOURNAL_RUNNING ? writer_write_group(j, &e)
          : j->mode == JOURNAL_FULL  ? NO_ROOM
                                     : BROKEN;
    if (got != DONE)
        writer_go_down(j, got, &e);
    pthread_mutex_lock(&j->lock);
    if (got == DONE)
        writer_advance(j, clock_mono_ns(j->o.clock) - began_ns);
    else
        j->dropped += j->back.count;
    j->writing = 0;
    journal_backlog_changed(j);
    later = j->o.replicated && got == DONE;
    if (later && j->back.first)
        journal_acks_add(j, j->back.first);
    if (j->taker_waits)
        pthread_cond_broadcast(&j->news);
    pthread_mutex_unlock(&j->lock);
    if (!later)
        journal_call_tickets(j->back.first, got == DONE ? NULL : &e);
    writer_clear_group(&j->back);
    pthread_mutex_lock(&j->lock);
    assert(j->groups_done < j->groups_put);
    j->groups_done++; /* who settles finds the tickets called */
    if (j->settling)
        pthread_cond_broadcast(&j->news);
    pthread_mutex_unlock(&j->lock);
}

/* Syncs records that were acknowledged before a sync, or that end a segment. */
static void writer_sync_late(struct journal *j)
{
    struct err e;

    if (j->mode != JOURNAL_FAILED && j->fd >= 0 && j->unsynced_ns && writer_sync_now(j, &e) != DONE)
        writer_go_down(j, BROKEN, &e);
}

/* A full disk has room again, and a folder is back, once a new segment can be made. */
static void writer_try_again(struct journal *j)
{
    struct statvfs st;
    struct err e;
    enum outcome got;

    if (!writer_is_in_place(j, &e))
        return;
    if (statvfs(j->dir, &st) == 0 && (uint64_t)st.f_bavail * st.f_frsize < JOURNAL_ROOM_MIN)
        return;
    assert(j->mode == JOURNAL_FULL);
    got = writer_begin_segment(j, &e);
    if (got != DONE) {
        writer_go_down(j, got, &e);
        return;
    }
    pthread_mutex_lock(&j->lock);
    j->mode = JOURNAL_RUNNING;
    pthread_mutex_unlock(&j->lock);
    log_info("journal: there is room again, or its folder is back", LOG_TEXT("dir", j->dir));
}

/* Before the disk is full it is low: the tables need room to take in what the journal has, and
 * calls that run need room to end. */
static void writer_look_at_room(struct journal *j)
{
    struct statvfs st;
    uint64_t keep;
    bool low;

    if (clock_mono_ns(&clock_real) < j->room_ns || statvfs(j->dir, &st) < 0)
        return;
    j->room_ns = clock_mono_ns(&clock_real) + (uint64_t)JOURNAL_RETRY_MS * CLOCK_NS_PER_MS;
    keep = (uint64_t)st.f_blocks * st.f_frsize / JOURNAL_RESERVE_SHARE;
    low = (uint64_t)st.f_bavail * st.f_frsize < (keep < JOURNAL_RESERVE ? keep : JOURNAL_RESERVE);
    if (low == j->low)
        return;
    pthread_mutex_lock(&j->lock);
    j->low = low;
    pthread_mutex_unlock(&j->lock);
    if (low)
        log_error("journal: little room on disk, no new calls are accepted",
                  LOG_TEXT("dir", j->dir));
    else
        log_info("journal: there is room on disk again", LOG_TEXT("dir", j->dir));
}

/* Sleeps until there is a group to write, which becomes the back one, or until something else is
 * due; false at the end. */
static bool writer_next_group(struct journal *j)
{
    struct journal_group *g = &j->front, taken;
    uint64_t until = CLOCK_NEVER;
    bool more;

    pthread_mutex_lock(&j->lock);
    if (j->mode == JOURNAL_FULL || j->low)
        until = clock_mono_ns(&clock_real) + (uint64_t)JOURNAL_RETRY_MS * CLOCK_NS_PER_MS;
    else if (j->unsynced_ns)
        until = j->unsynced_ns + (uint64_t)JOURNAL_SYNC_MS * CLOCK_NS_PER_MS;
    if (j->stale_ns && j->stale_ns + JOURNAL_STALE_NS < until)
        until = j->stale_ns + JOURNAL_STALE_NS;
    if (j->spare_ns && j->spare_ns + JOURNAL_STALE_NS < until)
        until = j->spare_ns + JOURNAL_STALE_NS;
    if (journal_acks_due_ns(j) < until)
        until = journal_acks_due_ns(j);
    j->sleep = JOURNAL_SLEEPS;
    while (g->n == 0 && !j->stop && !j->roll) {
        if (until == CLOCK_NEVER)
            pthread_cond_wait(&j->work, &j->lock);
        else if (!clock_cond_wait(&j->work, &j->lock, until))
            break;
        j->sleep = JOURNAL_SLEEPS;
    }
    until = clock_mono_ns(&clock_real) + (uint64_t)JOURNAL_LINGER_MS * CLOCK_NS_PER_MS;
    while (g->n > 0 && g->n < JOURNAL_LINGER_SIZE && !g->sync && !j->stop && !j->settling) {
        j->sleep = JOURNAL_LINGERS;
        if (!clock_cond_wait(&j->work, &j->lock, until))
            break;
    }
    j->sleep = JOURNAL_AWAKE;
    assert(j->back.n == 0 && !j->back.first && j->writing == 0);
    taken = j->back;
    j->back = *g;
    *g = taken;
    g->last = &g->first;
    j->writing = j->back.n;
    j->rolling = j->roll;
    j->groups_put += j->back.n > 0;
    more = j->back.n > 0 || !j->stop;
    j->stopped = !more;
    pthread_mutex_unlock(&j->lock);
    return more;
}

/* Another thread asked for the end of the segment and waits for it. */
static void writer_end_on_request(struct journal *j)
{
    assert(j->rolling);
    if (j->mode == JOURNAL_RUNNING) {
        writer_sync_late(j);
        writer_end_segment(j);
    }
    pthread_mutex_lock(&j->lock);
    j->recycle_from = j->next_number;
    pthread_mutex_unlock(&j->lock);
    writer_drop_spare(j);
    segment_drop_damaged(j->dir);
    pthread_mutex_lock(&j->lock);
    j->roll = false;
    pthread_cond_broadcast(&j->news);
    pthread_mutex_unlock(&j->lock);
}

void journal_roll_soon(struct journal *j)
{
    pthread_mutex_lock(&j->lock);
    j->roll = true;
    if (j->sleep != JOURNAL_AWAKE)
        pthread_cond_signal(&j->work);
    pthread_mutex_unlock(&j->lock);
}

void journal_roll(struct journal *j)
{
    journal_roll_soon(j);
    pthread_mutex_lock(&j->lock);
    while (j->roll && !j->stopped)
        pthread_cond_wait(&j->news, &j->lock);
    pthread_mutex_unlock(&j->lock);
}

void *journal_writer(void *journal)
{
    struct journal *j = journal;
    struct log_scope scope;

    log_scope_enter(&scope, j->o.log, STR(""));
    while (writer_next_group(j)) {
        if (j->back.n > 0)
            writer_do_group(j);
        else if (j->mode == JOURNAL_FULL)
            writer_try_again(j);
        writer_look_at_room(j);
        journal_acks_expire(j, false);
        writer_drop_stale(j);
        if (j->unsynced_ns && clock_mono_ns(&clock_real) >=
                                  j->unsynced_ns + (uint64_t)JOURNAL_SYNC_MS * CLOCK_NS_PER_MS)
            writer_sync_late(j);
        if (j->fd >= 0 && j->size >= j->o.segment_size) {
            writer_sync_late(j);
            writer_end_segment(j);
        }
        if (j->rolling)
            writer_end_on_request(j);
    }
    writer_sync_late(j);
    writer_end_segment(j);
    pthread_mutex_lock(&j->lock);
    pthread_cond_broadcast(&j->news);
    pthread_mutex_unlock(&j->lock);
    log_scope_leave(&scope);
    return NULL;
}
