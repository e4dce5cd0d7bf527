/* SPDX-License-Identifier: Apache-2.0 */
#include "store/ingest.h"

#include "store/db.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANCHOR_MS 1000u
#define TIDY_MS 200u
#define RETRY_MS_MIN 50u
#define RETRY_MS_MAX 5000u
#define LOG_OTHER_MS 5000u  /* after an error, until one with another text is logged */
#define LOG_AGAIN_MS 60000u /* and until the same one is */
#define OTHERS_MS 200u      /* that the taker waits at most for another writer to have its turn */
#define NICE 19             /* without a backlog answers come first */

struct ingest {
    struct ingest_options o;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopping;
    /* Under the lock: */
    bool stop, failing;
    struct err why;
    uint64_t logged_ns; /* when an error was logged last */
    struct ingest_counts counts;
    /* The thread's own: */
    struct segment_reader reader;
    struct journal_place place, damage_reported; /* taken; damage up to there was reported */
    bool caught_up;                              /* what earlier processes left is taken */
    bool damaged;                                /* this segment is */
    bool unsure;                                 /* how far the tables are: something failed */
    unsigned batch;                              /* records in it */
    unsigned careful;                            /* so many batches are of one record */
    uint64_t anchor_ns, retain_ns;               /* when each is due */
    uint64_t retry_ms;                           /* after the next failure */
};

static bool ingest_is_stopping(struct ingest *t)
{
    bool stop;

    pthread_mutex_lock(&t->lock);
    stop = t->stop;
    pthread_mutex_unlock(&t->lock);
    return stop;
}

static void ingest_count_error(struct ingest *t)
{
    pthread_mutex_lock(&t->lock);
    t->counts.errors++;
    pthread_mutex_unlock(&t->lock);
}

static bool ingest_is_before(struct journal_place a, struct journal_place b)
{
    return a.segment < b.segment || (a.segment == b.segment && a.offset < b.offset);
}

/* Reports damage once, however often the batch is retried. */
static void ingest_log_damage(struct ingest *t, const struct segment_hole *hole)
{
    struct journal_place to = {t->reader.number, hole->to};
    char path[FILE_PATH_MAX];

    assert(hole->from < hole->to);
    t->damaged = true;
    if (!ingest_is_before(t->damage_reported, to))
        return;
    t->damage_reported = to;
    ingest_count_error(t);
    log_error("journal: damaged bytes were stepped over",
              LOG_TEXT("file", segment_path(t->o.dir, t->reader.number, path)),
              LOG_U64("at", hole->from),
              LOG_U64("bytes", hole->to - hole->from));
}

/* Skips a record that the tables will never accept, so that it does not block the records after
 * it. */
static void ingest_leave_out(struct ingest *t, uint64_t at, const struct err *e)
{
    ingest_count_error(t);
    log_error("store: a record was left out", LOG_U64("at", at), LOG_ERR(e));
}

/* How many records went into the batch. */
static bool ingest_put_frames(struct ingest *t, uint64_t size, struct err *e)
{
    struct segment_hole hole;
    struct frame frame;

    for (t->batch = 0; !engine_full(t->o.engine) && !(t->careful && t->batch > 0); t->batch++) {
        switch (segment_read(&t->reader, size, &frame, &hole, e)) {
        case SEGMENT_FRAME:
            if (!engine_put(t->o.engine, frame.type, frame.body, e)) {
                if (e->code != ERR_INPUT)
                    return false;
                ingest_leave_out(t, t->reader.at - frame.size, e);
            }
            break;
        case SEGMENT_HOLE:
            ingest_log_damage(t, &hole);
            break;
        case SEGMENT_END:
            return true;
        case SEGMENT_ERROR:
            return false;
        }
    }
    return true;
}

static void ingest_count_taken(struct ingest *t, bool old)
{
    pthread_mutex_lock(&t->lock);
    *(old ? &t->counts.taken_old : &t->counts.taken) += t->batch;
    pthread_mutex_unlock(&t->lock);
}

/* Whether the database is where it was opened; no call begins while it is not. */
static bool ingest_check_files(struct ingest *t, struct err *e)
{
    bool ok = store_file_check(&t->o.files[0], e) && store_file_check(&t->o.files[1], e);

    journal_set_away(t->o.journal, ok ? NULL : e);
    return ok;
}

/* Records that went into a file without a name stay in the journal. */
static bool ingest_commit(struct ingest *t, struct journal_place place, struct err *e)
{
    assert(!ingest_is_before(place, t->place));
    if (!engine_commit(t->o.engine, place, e) || !ingest_check_files(t, e))
        return false;
    t->place = place;
    ingest_count_taken(t, place.segment < journal_first_new(t->o.journal));
    journal_taken(t->o.journal, place, t->damaged);
    if (engine_was_late(t->o.engine))
        journal_roll_soon(t->o.journal);
    t->batch = 0;
    return true;
}

/* The reader to where the tables are. */
static bool ingest_move_reader(struct ingest *t, const struct journal_part *part, struct err *e)
{
    struct segment_reader *r = &t->reader;

    if (r->fd < 0 || r->number != part->number) {
        if (!segment_reader_open(r, part->number, t->place.offset, e))
            return false;
        t->damaged = false;
    } else if (t->place.offset > FRAME_SEGMENT_HEAD_SIZE) {
        r->at = t->place.offset;
    } else {
        r->at = r->readable ? FRAME_SEGMENT_HEAD_SIZE : 0;
    }
    return true;
}

static uint64_t ingest_ns_in(uint64_t ms)
{
    return clock_mono_ns(&clock_real) + ms * CLOCK_NS_PER_MS;
}

static void ingest_anchor_head(struct ingest *t)
{
    engine_anchor(t->o.engine);
    t->anchor_ns = ingest_ns_in(ANCHOR_MS);
}

/* Work for the time without records: truncate files, write the audit head outside, apply
 * retention. */
static bool ingest_do_chores(struct ingest *t, struct err *e)
{
    bool more;

    if (engine_untidy(t->o.engine))
        engine_tidy(t->o.engine);
    if (t->caught_up && clock_mono_ns(&clock_real) >= t->retain_ns) {
        if (!engine_retain(t->o.engine, &t->o.retention, &more, e))
            return false;
        t->retain_ns = more ? 0 : ingest_ns_in(t->o.retention_every_ms);
    }
    if (t->caught_up && engine_moving(t->o.engine) && !engine_move(t->o.engine, e))
        return false;
    if (engine_stale(t->o.engine) && clock_mono_ns(&clock_real) >= t->anchor_ns) {
        if (!engine_begin(t->o.engine, true, e) || !ingest_commit(t, t->place, e))
            return false;
        ingest_anchor_head(t);
    }
    return true;
}

/* How long the taker may wait for records. */
static uint64_t ingest_patience_ms(struct ingest *t)
{
    uint64_t now = clock_mono_ns(&clock_real), until = t->retain_ns;

    if (!t->caught_up || engine_moving(t->o.engine))
        return 0;
    if (engine_stale(t->o.engine) && t->anchor_ns < until)
        until = t->anchor_ns;
    if (engine_untidy(t->o.engine))
        return TIDY_MS;
    return until <= now ? 0 : (until - now) / CLOCK_NS_PER_MS + 1;
}

/* A record of the batch is invalid. If it was alone, it is skipped; else the records of the batch
 * are stored one by one, to find it. */
static bool ingest_take_one_by_one(struct ingest *t, const struct journal_part *part, struct err *e)
{
    struct journal_place behind = {part->number, t->reader.at};

    engine_rollback(t->o.engine);
    if (t->batch > 1) {
        t->careful = ENGINE_BATCH_MAX + 1;
        return true;
    }
    ingest_leave_out(t, t->place.offset, e);
    return engine_begin(t->o.engine, t->o.replicated, e) && ingest_commit(t, behind, e);
}

/* SQLite has one writer at a time, and waiting writers poll twice a millisecond. Batches without a
 * pause between them would starve those writers, above all on a busy machine. */
static void ingest_let_others_write(void)
{
    struct timespec pause = {0, 1000000};
    unsigned ms = 0;

    do
        (void)nanosleep(&pause, NULL);
    while (db_others_wait() && ++ms < OTHERS_MS);
}

static bool ingest_part(struct ingest *t, const struct journal_part *part, struct err *e)
{
    struct journal_place next = {part->number + 1, 0};
    bool anchor;

    assert(t->caught_up || part->number < journal_first_new(t->o.journal));
    assert(t->place.segment == part->number);
    if (t->place.offset < part->size) {
        /* The head of the audit log is written outside the database only when its entries cannot be
         * lost any more. */
        anchor = clock_mono_ns(&clock_real) >= t->anchor_ns;
        if (!ingest_move_reader(t, part, e) ||
            !engine_begin(t->o.engine, anchor || t->o.replicated, e) ||
            !ingest_put_frames(t, part->size, e))
            return false;
        if (!ingest_commit(t, (struct journal_place){part->number, t->reader.at}, e) &&
            (e->code != ERR_INPUT || !ingest_take_one_by_one(t, part, e)))
            return false;
        t->careful -= t->careful > 0;
        if (anchor)
            ingest_anchor_head(t);
        if (t->place.offset < part->size)
            ingest_let_others_write();
    }
    if (!part->sealed || t->place.offset < part->size)
        return true;
    /* The journal file is deleted next, so its records must be durable in the tables. */
    if (!engine_begin(t->o.engine, true, e) || !ingest_commit(t, next, e))
        return false;
    t->damaged = false;
    return true;
}

/* The records of earlier processes are all in the tables. Calls that have only pieces will never
 * end. */
static bool ingest_catch_up(struct ingest *t, struct err *e)
{
    struct journal_place place = {journal_first_new(t->o.journal), 0};
    size_t count;

    if (!engine_begin(t->o.engine, true, e) || !engine_put_orphans(t->o.engine, &count, e) ||
        !ingest_commit(t, place, e))
        return false;
    assert(!t->caught_up);
    t->caught_up = true;
    if (count > 0)
        log_warn("store: calls were cut off when the last process ended", LOG_U64("calls", count));
    return true;
}

/* A commit without an answer may have succeeded. A database server that crashed may have lost its
 * last commits that were not durable; the journal still has their records. */
static bool ingest_make_sure(struct ingest *t, struct err *e)
{
    struct journal_place place;
    uint64_t lost;

    if (!t->unsure)
        return true;
    if (!ingest_check_files(t, e) || !engine_place(t->o.engine, &place, e))
        return false;
    t->unsure = false;
    lost = ingest_is_before(place, t->place) ? journal_untake(t->o.journal, place) : 0;
    if (lost > 0)
        log_warn("store: the database lost its last commits, their records are stored again",
                 LOG_U64("bytes", lost));
    t->place = place;
    return true;
}

static bool ingest_step(struct ingest *t, bool hurry, struct err *e)
{
    struct journal_place place = t->place;
    struct journal_part part;
    bool some = journal_next(t->o.journal, &place, &part, ingest_patience_ms(t));

    if (ingest_is_stopping(t) || journal_hurries(t->o.journal, hurry) != hurry)
        return true;
    /* Another process may use the store now. The lock of an SQLite database is enough; PostgreSQL
     * has none, and another process could take in the same records. */
    if (!store_lock_check(t->o.lock, e) ||
        (t->o.lock->fd < 0 && !journal_check_lock(t->o.journal, e)))
        return false;
    if (!ingest_check_files(t, e))
        return false;
    assert(!ingest_is_before(place, t->place));
    if (!t->caught_up && (!some || part.number >= journal_first_new(t->o.journal)))
        return ingest_catch_up(t, e);
    t->place = place;
    if (some && !ingest_part(t, &part, e))
        return false;
    return (some && clock_mono_ns(&clock_real) < t->retain_ns) || ingest_do_chores(t, e);
}

/* Whether an error should be logged: the first one, one with another text, and a repeated one at
 * intervals. Call it under the lock, before t->why is set. */
static bool ingest_error_is_news(struct ingest *t, const struct err *e)
{
    uint64_t since_ms = (clock_mono_ns(&clock_real) - t->logged_ns) / CLOCK_NS_PER_MS;
    bool news = !t->failing || since_ms >= LOG_AGAIN_MS ||
                (since_ms >= LOG_OTHER_MS && strcmp(t->why.text, e->text) != 0);

    if (news)
        t->logged_ns = clock_mono_ns(&clock_real);
    return news;
}

/* Stores the result of a step, and logs it if it is news. */
static void ingest_note(struct ingest *t, bool ok, const struct err *e)
{
    bool news;

    pthread_mutex_lock(&t->lock);
    news = ok ? t->failing : ingest_error_is_news(t, e);
    t->failing = !ok;
    if (!ok) {
        t->why = *e;
        t->counts.errors++;
    }
    pthread_mutex_unlock(&t->lock);
    if (news && ok)
        log_info("store: the tables follow again");
    else if (news)
        log_error("store: the tables do not follow, the journal grows", LOG_ERR(e));
}

static void ingest_wait_ms(struct ingest *t, uint64_t ms)
{
    uint64_t until = clock_deadline_ns(&clock_real, (int64_t)ms);

    pthread_mutex_lock(&t->lock);
    while (!t->stop && clock_cond_wait(&t->stopping, &t->lock, until))
        ;
    pthread_mutex_unlock(&t->lock);
}

/* Works until the stop, or until the thread with the other priority should continue. */
static void ingest_run(struct ingest *t, bool hurry)
{
    struct err e;

    assert(t->retry_ms >= RETRY_MS_MIN && t->retry_ms <= RETRY_MS_MAX);
    while (!ingest_is_stopping(t) && journal_hurries(t->o.journal, hurry) == hurry) {
        bool ok = ingest_make_sure(t, &e) && ingest_step(t, hurry, &e);

        ingest_note(t, ok, &e);
        if (ok) {
            t->retry_ms = RETRY_MS_MIN;
            continue;
        }
        engine_rollback(t->o.engine);
        t->unsure = true;
        ingest_wait_ms(t, t->retry_ms);
        t->retry_ms = 2 * t->retry_ms < RETRY_MS_MAX ? 2 * t->retry_ms : RETRY_MS_MAX;
    }
}

/* A thread of SCHED_IDLE stops as soon as another one can run. With a priority alone the kernel may
 * let it work for milliseconds first, and calls wait. */
static void ingest_lower_priority(void)
{
    struct sched_param none = {0};

    if (pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) != 0)
        (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
}

static void *ingest_calm_thread(void *ingest)
{
    struct ingest *t = ingest;
    struct log_scope scope;

    log_scope_enter(&scope, t->o.log, STR(""));
    ingest_lower_priority();
    ingest_run(t, false);
    log_scope_leave(&scope);
    return NULL;
}

/* A thread that has lowered its priority may not raise it again. So this one keeps the normal
 * priority for the time of a backlog, and otherwise waits for a thread of the lowest one. */
static void *ingest_thread(void *ingest)
{
    struct ingest *t = ingest;
    struct log_scope scope;
    pthread_t calm;

    log_scope_enter(&scope, t->o.log, STR(""));
    while (!ingest_is_stopping(t)) {
        if (journal_hurries(t->o.journal, false))
            ingest_run(t, true);
        else if (pthread_create(&calm, NULL, ingest_calm_thread, t) == 0)
            pthread_join(calm, NULL);
        else
            ingest_wait_ms(t, RETRY_MS_MAX);
    }
    log_scope_leave(&scope);
    return NULL;
}

bool ingest_start(const struct ingest_options *o, struct ingest **out, struct err *e)
{
    struct ingest *t = base_alloc(sizeof *t);
    sigset_t all, was;
    int why;

    *t = (struct ingest){
        .o = *o, .place = o->place, .anchor_ns = ingest_ns_in(ANCHOR_MS), .retry_ms = RETRY_MS_MIN};
    segment_reader_init(&t->reader, o->dir);
    pthread_mutex_init(&t->lock, NULL);
    clock_cond_init(&t->stopping);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    why = pthread_create(&t->thread, NULL, ingest_thread, t);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (why) {
        free(t);
        errno = why;
        return err_sys(e, "start a thread");
    }
    *out = t;
    return true;
}

void ingest_stop(struct ingest *t)
{
    pthread_mutex_lock(&t->lock);
    assert(!t->stop);
    t->stop = true;
    pthread_cond_signal(&t->stopping);
    pthread_mutex_unlock(&t->lock);
    journal_wake(t->o.journal);
    pthread_join(t->thread, NULL);
    segment_reader_release(&t->reader);
    pthread_cond_destroy(&t->stopping);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

bool ingest_health(struct ingest *t, struct err *why, struct ingest_counts *out)
{
    bool ok;

    pthread_mutex_lock(&t->lock);
    ok = !t->failing;
    *why = t->why;
    *out = t->counts;
    pthread_mutex_unlock(&t->lock);
    return ok;
}

bool ingest_is_full(struct ingest *t, struct err *why)
{
    struct ingest_counts counts;

    return !ingest_health(t, why, &counts) && why->code == ERR_LIMIT;
}
