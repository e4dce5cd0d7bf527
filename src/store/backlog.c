/* backlog.c - how far the tables lag the journal: in bytes, records and seconds, and how much of
 * their time new calls should wait.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/journal_state.h"

uint64_t journal_soft_size(const struct journal *j)
{
    return j->o.size_max / JOURNAL_SOFT_SHARE;
}

/* Where `used` is between the two, in parts of STORE_PRESSURE_MAX. */
static unsigned backlog_part(uint64_t used, uint64_t soft, uint64_t most)
{
    assert(soft <= most);
    if (used <= soft)
        return 0;
    if (used >= most)
        return STORE_PRESSURE_MAX;
    return (unsigned)((double)(used - soft) / (double)(most - soft) * STORE_PRESSURE_MAX);
}

/* The larger pressure of two: the lag of the tables, or the queue for the disk. */
void journal_backlog_changed(struct journal *j)
{
    uint64_t queued = j->front.n + j->writing;
    unsigned tables = backlog_part(j->waiting + queued,
                                   journal_soft_size(j),
                                   j->o.size_max - j->o.size_max / JOURNAL_RUNNING_SHARE);
    unsigned disk = backlog_part(queued, j->o.queue_size_max / 2, j->o.queue_size_max);

    atomic_store_explicit(&j->pressure,
                          j->mode != JOURNAL_RUNNING ? 0
                          : tables > disk            ? tables
                                                     : disk,
                          memory_order_relaxed);
}

unsigned journal_pressure(const struct journal *j)
{
    return atomic_load_explicit(&j->pressure, memory_order_relaxed);
}

void journal_set_away(struct journal *j, const struct err *why)
{
    pthread_mutex_lock(&j->lock);
    j->away.code = ERR_NONE;
    if (why)
        j->away = *why;
    pthread_mutex_unlock(&j->lock);
}

/* ---- seconds ---- */

/* A full table keeps every second mark: old times are known less exactly. If the tables have all
 * that is before the new mark, older marks go: the backlog begins here. */
void journal_mark_put(struct journal *j, struct journal_place from, uint64_t ns)
{
    size_t n = j->mark_count;

    assert(n <= JOURNAL_MARKS);
    assert(n == 0 || j->marks[n - 1].ns <= ns); /* in order of time */
    if (n > 0 && ns - j->marks[n - 1].ns < JOURNAL_MARK_NS)
        return;
    if (n == JOURNAL_MARKS) {
        for (n = 0; n < JOURNAL_MARKS / 2; n++)
            j->marks[n] = j->marks[2 * n];
    }
    j->marks[n++] = (struct journal_mark){from, ns};
    j->mark_count = n;
    journal_marks_taken(j);
}

static bool journal_mark_is_taken(const struct journal *j, size_t i)
{
    struct journal_place p = j->marks[i].from, taken = j->taken;

    return p.segment < taken.segment || (p.segment == taken.segment && p.offset <= taken.offset);
}

void journal_marks_taken(struct journal *j)
{
    size_t n = 0;

    while (n + 1 < j->mark_count && journal_mark_is_taken(j, n + 1))
        n++;
    assert(n <= j->mark_count);
    j->mark_count -= n;
    memmove(j->marks, j->marks + n, j->mark_count * sizeof j->marks[0]);
}

uint64_t journal_backlog_s(const struct journal *j)
{
    uint64_t now = clock_mono_ns(&clock_real);

    if (j->waiting == 0 || j->mark_count == 0 || now < j->marks[0].ns)
        return 0;
    return (now - j->marks[0].ns) / 1000000000u;
}

/* ---- records ---- */

uint64_t journal_old_records(struct journal *j, uint64_t taken)
{
    uint64_t left, gone, size = JOURNAL_RECORD_SIZE;

    pthread_mutex_lock(&j->lock);
    left = j->old_waiting;
    gone = j->old_size - left;
    pthread_mutex_unlock(&j->lock);
    if (taken > 0 && gone / taken > 0)
        size = gone / taken;
    return (left + size - 1) / size;
}

bool journal_hurries(struct journal *j, bool now)
{
    uint64_t most = now ? JOURNAL_HURRY_SIZE / 8 : JOURNAL_HURRY_SIZE;
    bool hurries;

    if (j->o.replicated)
        return true; /* calls wait for it */
    if (most > j->o.size_max / JOURNAL_RUNNING_SHARE)
        most = j->o.size_max / JOURNAL_RUNNING_SHARE;
    pthread_mutex_lock(&j->lock);
    hurries = j->waiting > most || (j->settling > 0 && j->waiting > 0);
    pthread_mutex_unlock(&j->lock);
    return hurries;
}
