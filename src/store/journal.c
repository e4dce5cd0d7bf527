/* SPDX-License-Identifier: Apache-2.0 */
#include "store/journal.h"

#include "store/journal_state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening ---- */

static bool journal_take_lock(struct journal *j, struct err *e)
{
    char path[FILE_PATH_MAX + 8];

    j->folder = open(j->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (j->folder < 0)
        return err_sys(e, "open %s", j->dir);
    (void)snprintf(path, sizeof path, "%s/lock", j->dir);
    return store_lock_take(&j->lock_file, path, e);
}

bool journal_check_lock(const struct journal *j, struct err *e)
{
    return !lock_is_file(j->folder, j->dir) || store_lock_check(&j->lock_file, e);
}

/* The versions are looked at before anything is changed. */
static bool journal_check_versions(struct journal *j, struct err *e)
{
    struct segment_reader r;
    bool ok = true;

    segment_reader_init(&r, j->dir);
    for (size_t i = 0; ok && i < j->segments.count; i++)
        ok = segment_reader_open(&r, j->segments.items[i].number, 0, e);
    segment_reader_release(&r);
    return ok;
}

static bool journal_look_at_segments(struct journal *j, struct err *e)
{
    struct segment_list *l = &j->segments;

    if (!file_mkdirs(j->dir, 0700, e) || !journal_take_lock(j, e) ||
        !segment_list_read(j->dir, l, e) || !journal_check_versions(j, e))
        return false;
    segment_drop_spare(j->dir); /* of a process that was killed */
    if (l->count > 0 && !segment_repair(j->dir, &l->items[l->count - 1], e))
        return false;
    /* Skips one segment number, so that the end of the old segments and the beginning of the new
     * ones are different places: the taker has work to do between them. */
    j->next_number = l->count > 0 ? l->items[l->count - 1].number + 2 : 1;
    assert(j->next_number > 0 && j->lock_file.fd >= 0);
    return true;
}

void journal_group_init(struct journal_group *g, size_t size)
{
    *g = (struct journal_group){.p = base_reserve(size), .filling = base_alloc(sizeof *g->filling)};
    *g->filling = 0;
    g->last = &g->first;
}

bool journal_open(const struct journal_options *o, struct journal **out, struct err *e)
{
    struct journal *j = base_alloc(sizeof *j);

    assert(o->queue_size_max > 0 && o->queue_size_max <= FRAME_BODY_MAX);
    *j = (struct journal){.o = *o, .lock_file = STORE_LOCK_NONE, .folder = -1, .fd = -1};
    j->acks_last = &j->acks;
    j->gather_ms = JOURNAL_GATHER_MS;
    if (!j->o.segment_size)
        j->o.segment_size = JOURNAL_SEGMENT_SIZE;
    if (!j->o.clock)
        j->o.clock = &clock_real;
    (void)snprintf(j->dir, sizeof j->dir, "%s", o->dir);
    j->o.dir = j->dir;
    pthread_mutex_init(&j->lock, NULL);
    clock_cond_init(&j->work);
    clock_cond_init(&j->news);
    if (!journal_look_at_segments(j, e)) {
        journal_free(j);
        return false;
    }
    *out = j;
    return true;
}

/* The backlog of earlier processes is about as old as its first waiting file. */
static void journal_mark_old(struct journal *j)
{
    uint64_t now = clock_mono_ns(&clock_real), age;
    char path[FILE_PATH_MAX];
    struct stat st;
    int64_t ms;

    for (size_t i = 0; i < j->segments.count; i++)
        if (j->segments.items[i].number >= j->taken.segment) {
            if (stat(segment_path(j->dir, j->segments.items[i].number, path), &st) < 0)
                return;
            ms = clock_wall_ms(&clock_real) - (int64_t)st.st_mtime * 1000;
            age = ms > 0 ? (uint64_t)ms * CLOCK_NS_PER_MS : 0; /* the clock may have been set */
            journal_mark_put(j, j->taken, age < now ? now - age : 0);
            return;
        }
}

bool journal_start(struct journal *j, struct journal_place taken, struct err *e)
{
    sigset_t all, before;
    int why;

    assert(!j->started);
    if (taken.segment >= j->next_number)
        j->next_number = taken.segment + 1;
    j->first_new = j->next_number;
    j->taken = taken;
    j->end = (struct journal_place){j->next_number, 0};
    for (size_t i = 0; i < j->segments.count; i++) {
        const struct segment *s = &j->segments.items[i];
        uint64_t from = s->number == taken.segment ? taken.offset : 0;

        if (s->number >= taken.segment && s->size > from)
            j->waiting += s->size - from;
    }
    j->old_size = j->old_waiting = j->waiting;
    if (j->waiting > 0)
        journal_mark_old(j);
    journal_backlog_changed(j);
    journal_group_init(&j->front, j->o.queue_size_max);
    journal_group_init(&j->back, j->o.queue_size_max);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    why = pthread_create(&j->thread, NULL, journal_writer, j);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    if (why)
        return err_sys(e, "start a thread");
    j->started = true;
    return true;
}

void journal_stop(struct journal *j)
{
    if (!j->started)
        return;
    pthread_mutex_lock(&j->lock);
    j->stop = true;
    pthread_cond_signal(&j->work);
    pthread_mutex_unlock(&j->lock);
    pthread_join(j->thread, NULL);
    j->started = false;
    assert(j->stopped && j->front.n == 0); /* queued records are written or refused */
    segment_drop_spare(j->dir);
}

void journal_free(struct journal *j)
{
    assert(j->settling == 0);
    journal_stop(j);
    journal_acks_expire(j, true);
    store_lock_release(&j->lock_file);
    if (j->folder >= 0)
        close(j->folder);
    segment_list_release(&j->segments);
    base_unreserve(j->front.p, j->o.queue_size_max);
    free(j->front.filling);
    base_unreserve(j->back.p, j->o.queue_size_max);
    free(j->back.filling);
    pthread_cond_destroy(&j->work);
    pthread_cond_destroy(&j->news);
    pthread_mutex_destroy(&j->lock);
    free(j);
}

/* ---- producers ---- */

static bool journal_is_at_limit(const struct journal *j, struct err *e)
{
    return err_set(e,
                   ERR_LIMIT,
                   "the journal is at its limit of %llu bytes: the tables do not follow",
                   (unsigned long long)j->o.size_max);
}

/* Why a record cannot be taken; seldom, so it is kept out of the way. */
static NOINLINE bool journal_refuse(const struct journal *j, size_t size, struct err *e)
{
    char text[sizeof e->text];

    if (j->mode != JOURNAL_RUNNING) {
        memcpy(text, j->why.text, sizeof text);
        return err_set(e, j->why.code, "%s", text);
    }
    if (j->stop)
        return err_set(e, ERR_CANCELLED, "the store is closed");
    if (size > j->o.queue_size_max)
        return err_set(
            e, ERR_LIMIT, "a record of %zu bytes, the limit is %zu", size, j->o.queue_size_max);
    if (j->waiting + size > j->o.size_max)
        return journal_is_at_limit(j, e);
    return err_set(e, ERR_LIMIT, "more than %zu bytes wait for the disk", j->o.queue_size_max);
}

static bool journal_fits(const struct journal *j, size_t size)
{
    assert(j->front.n + j->writing <= j->o.queue_size_max);
    return j->mode == JOURNAL_RUNNING && !j->stop &&
           size <= j->o.queue_size_max - j->front.n - j->writing &&
           j->waiting + j->front.n + j->writing + size <= j->o.size_max;
}

static bool store_journal_takes(const struct journal *j, struct err *e)
{
    uint64_t kept = j->o.size_max / JOURNAL_RUNNING_SHARE;

    if (j->mode != JOURNAL_RUNNING)
        return journal_refuse(j, 0, e);
    if (j->waiting + j->front.n + j->writing + kept > j->o.size_max)
        return journal_is_at_limit(j, e);
    if (j->away.code != ERR_NONE)
        return err_set(e, j->away.code, "%s", j->away.text);
    if (journal_acks_late(j, e))
        return false;
    return !j->low || err_set(e, ERR_SYSTEM, "there is little room left on the disk of %s", j->dir);
}

bool journal_takes(struct journal *j, struct err *e)
{
    bool ok;

    pthread_mutex_lock(&j->lock);
    ok = j->stop ? journal_refuse(j, 0, e) : store_journal_takes(j, e);
    pthread_mutex_unlock(&j->lock);
    return ok;
}

/* Whether the writer sleeps though it has something to do. */
static bool journal_must_wake(const struct journal *j, bool sync)
{
    return j->sleep == JOURNAL_SLEEPS ||
           (j->sleep == JOURNAL_LINGERS && (sync || j->front.n >= JOURNAL_LINGER_SIZE));
}

void journal_push(struct journal *j)
{
    bool wake;

    pthread_mutex_lock(&j->lock);
    wake = j->front.n > 0 && journal_must_wake(j, j->front.sync);
    if (wake)
        j->sleep = JOURNAL_AWAKE;
    pthread_mutex_unlock(&j->lock);
    if (wake)
        pthread_cond_signal(&j->work);
}

void journal_put(struct journal *j, const struct journal_item *item, struct store_ticket *t)
{
    size_t size = item->size > FRAME_BODY_MAX ? SIZE_MAX / 2 : FRAME_HEAD_SIZE + item->size;
    struct journal_group *g = &j->front;
    _Atomic unsigned *filling = NULL;
    char *p = NULL;
    bool sync = j->o.durable && item->type != FRAME_BEGIN && item->type != FRAME_PIECE, wake,
         ok = true;
    struct err e;

    pthread_mutex_lock(&j->lock);
    if (!journal_fits(j, size)) {
        j->dropped++;
        ok = journal_refuse(j, size, &e);
        wake = false;
    } else {
        assert(size <= j->o.queue_size_max - g->n);
        p = g->p + g->n;
        filling = g->filling;
        (*filling)++; /* the writer waits for this record */
        g->n += size;
        g->count++;
        g->sync |= sync;
        journal_backlog_changed(j);
        if (t && j->o.durable) {
            t->next = NULL;
            *g->last = t;
            g->last = &t->next;
        }
        wake = !(sync && t && t->later) && journal_must_wake(j, sync);
        if (wake)
            j->sleep = JOURNAL_AWAKE;
    }
    pthread_mutex_unlock(&j->lock);
    if (ok) {
        frame_put(p, item->type, item->size);
        item->put(item->row, p + FRAME_HEAD_SIZE);
        atomic_fetch_sub_explicit(filling, 1, memory_order_release);
    }
    if (wake)
        pthread_cond_signal(&j->work);
    if (t && (!ok || !j->o.durable))
        t->fn(t, ok ? NULL : &e);
}

/* ---- the taker ---- */

static uint64_t journal_deadline_ns(uint64_t ms)
{
    return clock_deadline_ns(&clock_real, (int64_t)ms);
}

/* The first segment that has records after place, or is complete. */
static const struct segment *journal_next_segment(struct journal *j, struct journal_place *place)
{
    for (size_t i = 0; i < j->segments.count; i++) {
        const struct segment *s = &j->segments.items[i];

        if (s->number < place->segment)
            continue;
        if (s->number > place->segment)
            *place = (struct journal_place){s->number, 0};
        return s->sealed || s->size > place->offset ? s : NULL;
    }
    return NULL;
}

bool journal_is_taken(const struct journal *j, struct journal_place end)
{
    return j->taken.segment > end.segment ||
           (j->taken.segment == end.segment && j->taken.offset >= end.offset);
}

static bool journal_has_little(const struct journal *j, const struct segment *s,
                               struct journal_place place)
{
    assert(s->sealed || s->size > place.offset);
    return !s->sealed && s->size - place.offset < JOURNAL_GATHER_SIZE && !j->settling &&
           !j->woken && !j->acks;
}

bool journal_next(struct journal *j, struct journal_place *place, struct journal_part *out,
                  uint64_t wait_ms)
{
    uint64_t until = journal_deadline_ns(wait_ms);
    const struct segment *s;
    bool in_time = true;

    pthread_mutex_lock(&j->lock);
    j->taker_waits = true;
    while (!(s = journal_next_segment(j, place)) && !j->woken && in_time)
        in_time = clock_cond_wait(&j->news, &j->lock, until);
    j->taker_waits = false;
    until = journal_deadline_ns(j->gather_ms);
    in_time = true;
    while (s && journal_has_little(j, s, *place) && in_time) {
        in_time = clock_cond_wait(&j->news, &j->lock, until);
        s = journal_next_segment(j, place);
    }
    if (j->woken)
        s = NULL;
    assert(!s || s->number == place->segment);
    if (s)
        *out = (struct journal_part){s->number, s->size, s->sealed};
    pthread_mutex_unlock(&j->lock);
    return s != NULL;
}

/* Whether the file may be used again. If few records come it may not: their bytes would stay. */
static bool journal_may_recycle(const struct journal *j, const struct segment *s, uint64_t now)
{
    return !j->stop && !j->spare_ns && s->number >= j->recycle_from && s->begun_ns &&
           now - s->begun_ns < JOURNAL_STALE_NS;
}

/* Makes a spare file of the segment. Only the taker does, so there is one at most. */
static bool journal_recycle(struct journal *j, const struct segment *s)
{
    uint64_t now = clock_mono_ns(&clock_real);
    bool may;

    pthread_mutex_lock(&j->lock);
    may = journal_may_recycle(j, s, now);
    pthread_mutex_unlock(&j->lock);
    if (!may)
        return false;
    segment_keep_spare(j->dir, s->number);
    pthread_mutex_lock(&j->lock);
    may = journal_may_recycle(j, s, now);
    if (may)
        j->spare_ns = now;
    pthread_mutex_unlock(&j->lock);
    if (!may)
        segment_drop_spare(j->dir);
    return true;
}

static bool journal_may_keep(struct journal *j, const struct segment *s)
{
    bool may;

    pthread_mutex_lock(&j->lock);
    may = s->number >= j->recycle_from;
    pthread_mutex_unlock(&j->lock);
    return may;
}

static void journal_remove_segment(struct journal *j, const struct segment *s, bool damaged)
{
    char path[FILE_PATH_MAX];

    if (damaged && journal_may_keep(j, s)) {
        segment_keep_damaged(j->dir, s->number);
        if (!journal_may_keep(j, s)) /* something was erased meanwhile */
            segment_drop_damaged(j->dir);
    } else if ((damaged || !journal_recycle(j, s)) &&
               unlink(segment_path(j->dir, s->number, path)) < 0) {
        log_warn("journal: cannot remove a segment",
                 LOG_TEXT("file", path),
                 LOG_TEXT("why", strerror(errno)));
    }
}

/* How many bytes there are between two places. */
static uint64_t journal_between(const struct journal *j, struct journal_place a,
                                struct journal_place b)
{
    uint64_t n = 0;

    for (size_t i = 0; i < j->segments.count; i++) {
        const struct segment *s = &j->segments.items[i];
        uint64_t from = s->number == a.segment ? a.offset : 0;
        uint64_t to = s->number == b.segment && b.offset < s->size ? b.offset : s->size;

        if (s->number >= a.segment && s->number <= b.segment && to > from)
            n += to - from;
    }
    return n;
}

/* The oldest segment, if it is wholly before place, off the list. */
static bool journal_pop_segment(struct journal *j, struct journal_place place, struct segment *out)
{
    struct segment_list *l = &j->segments;
    bool over;

    pthread_mutex_lock(&j->lock);
    over = l->count > 0 && l->items[0].sealed && l->items[0].number < place.segment;
    if (over) {
        *out = l->items[0];
        memmove(l->items, l->items + 1, --l->count * sizeof l->items[0]);
    }
    pthread_mutex_unlock(&j->lock);
    return over;
}

void journal_taken(struct journal *j, struct journal_place place, bool damaged)
{
    struct segment s;
    uint64_t n;

    pthread_mutex_lock(&j->lock);
    assert(place.segment > j->taken.segment ||
           (place.segment == j->taken.segment && place.offset >= j->taken.offset));
    n = journal_between(j, j->taken, place);
    j->waiting -= n < j->waiting ? n : j->waiting;
    if (j->taken.segment < j->first_new)
        j->old_waiting -= n < j->old_waiting ? n : j->old_waiting;
    j->taken = place;
    journal_marks_taken(j);
    journal_backlog_changed(j);
    journal_acks_taken(j);
    pthread_mutex_unlock(&j->lock);
    while (journal_pop_segment(j, place, &s))
        journal_remove_segment(j, &s, damaged); /* takes a while, and no thread waits for it */
    pthread_mutex_lock(&j->lock);
    pthread_cond_broadcast(&j->news);
    pthread_mutex_unlock(&j->lock);
}

uint64_t journal_untake(struct journal *j, struct journal_place place)
{
    uint64_t n;

    pthread_mutex_lock(&j->lock);
    n = journal_between(j, place, j->taken);
    j->waiting += n;
    assert(j->old_waiting <= j->old_size);
    if (place.segment < j->first_new) /* n may include bytes of this process, too */
        j->old_waiting = n < j->old_size - j->old_waiting ? j->old_waiting + n : j->old_size;
    j->taken = place;
    journal_backlog_changed(j);
    pthread_mutex_unlock(&j->lock);
    return n;
}

uint64_t journal_first_new(const struct journal *j)
{
    return j->first_new;
}

static bool journal_has_reached(const struct journal *j, struct journal_place end)
{
    return journal_is_taken(j, end) && !j->acking;
}

/* Waits for news, for the end of the time, or until the caller no longer wants to wait. */
static bool journal_wait_wanted(struct journal *j, uint64_t until, bool (*wanted)(void *ctx),
                                void *ctx)
{
    uint64_t look = journal_deadline_ns(JOURNAL_WANTED_MS);
    bool go_on;

    if (clock_cond_wait(&j->news, &j->lock, wanted && look < until ? look : until))
        return true;
    if (!wanted || clock_mono_ns(&clock_real) >= until)
        return false;
    pthread_mutex_unlock(&j->lock);
    go_on = wanted(ctx);
    pthread_mutex_lock(&j->lock);
    return go_on;
}

bool journal_settle_while(struct journal *j, uint64_t timeout_ms, bool (*wanted)(void *ctx),
                          void *ctx)
{
    uint64_t until = journal_deadline_ns(timeout_ms), group;
    struct journal_place end;
    bool go_on = true;

    pthread_mutex_lock(&j->lock);
    j->settling++;
    group = j->groups_put + (j->front.n > 0);
    if (j->sleep != JOURNAL_AWAKE)
        pthread_cond_signal(&j->work);
    pthread_cond_broadcast(&j->news);
    while (j->groups_done < group && !j->stopped && go_on)
        go_on = journal_wait_wanted(j, until, wanted, ctx);
    end = j->end;
    while (!journal_has_reached(j, end) && go_on)
        go_on = journal_wait_wanted(j, until, wanted, ctx);
    assert(j->settling > 0);
    j->settling--;
    go_on = journal_has_reached(j, end);
    pthread_mutex_unlock(&j->lock);
    return go_on;
}

bool journal_settle(struct journal *j, uint64_t timeout_ms)
{
    return journal_settle_while(j, timeout_ms, NULL, NULL);
}

void journal_share(struct journal *j, size_t daemons)
{
    size_t n = daemons > JOURNAL_GATHER_SHARES ? JOURNAL_GATHER_SHARES : daemons;

    pthread_mutex_lock(&j->lock);
    j->gather_ms = JOURNAL_GATHER_MS * (n ? n : 1);
    pthread_mutex_unlock(&j->lock);
}

void journal_wake(struct journal *j)
{
    pthread_mutex_lock(&j->lock);
    j->woken = true;
    pthread_cond_broadcast(&j->news);
    pthread_mutex_unlock(&j->lock);
}

void journal_health(struct journal *j, struct store_health *out)
{
    struct err why;

    pthread_mutex_lock(&j->lock);
    *out = (struct store_health){
        .ok = store_journal_takes(j, &why),
        .stored = j->stored,
        .dropped = j->dropped,
        .errors = j->errors,
        .queue_bytes = j->front.n + j->writing,
        .journal_bytes = j->waiting,
        .journal_max_bytes = j->o.size_max,
        .commits = j->commits,
        .commit_ns = j->commit_ns,
        .queue_capacity = j->o.queue_size_max,
        .pending_s = journal_backlog_s(j),
        .behind = j->waiting > journal_soft_size(j),
    };
    memcpy(out->commit_steps, j->commit_steps, sizeof out->commit_steps);
    pthread_mutex_unlock(&j->lock);
    /* The writer finds out with the next record. */
    if (out->ok && !lock_is_file(j->lock_file.fd, j->lock_file.path))
        out->ok = journal_fail_gone(j, &why);
    if (!out->ok)
        (void)snprintf(out->why, sizeof out->why, "%s", why.text);
}
