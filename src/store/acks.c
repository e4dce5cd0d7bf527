/* acks.c - tickets that wait until their records are in the tables (durability: replicated).
 *
 * The writer adds the tickets of each group with the place that the group ends at; the taker calls
 * them once the tables have reached that place. A ticket that has waited for JOURNAL_ACK_MS fails.
 * Its record stays in the journal, and is stored once the database answers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/journal_state.h"

struct journal_acks {
    struct journal_acks *next;
    struct journal_place end;
    uint64_t ns; /* when they began to wait */
    struct store_ticket *first;
};

void journal_call_tickets(struct store_ticket *t, const struct err *e)
{
    while (t) {
        struct store_ticket *next = t->next;

        t->fn(t, e); /* which may free it */
        t = next;
    }
}

static void journal_acks_call(struct journal_acks *a, const struct err *e)
{
    while (a) {
        struct journal_acks *next = a->next;

        journal_call_tickets(a->first, e);
        free(a);
        a = next;
    }
}

void journal_acks_add(struct journal *j, struct store_ticket *first)
{
    uint64_t now = clock_mono_ns(&clock_real);
    struct journal_acks *a = base_alloc(sizeof *a);

    assert(first && !*j->acks_last);
    *a = (struct journal_acks){.end = j->end, .ns = now, .first = first};
    *j->acks_last = a;
    j->acks_last = &a->next;
    if (!j->unconfirmed_ns)
        j->unconfirmed_ns = now;
    if (j->taker_waits)
        pthread_cond_broadcast(&j->news);
}

/* The first of the list up to, and without, `end`. */
static struct journal_acks *journal_acks_cut(struct journal *j, struct journal_acks *end)
{
    struct journal_acks *first = j->acks, **last = &j->acks;

    if (first == end)
        return NULL;
    while (*last != end)
        last = &(*last)->next;
    *last = NULL;
    j->acks = end;
    if (!end)
        j->acks_last = &j->acks;
    assert(!*j->acks_last);
    return first;
}

void journal_acks_taken(struct journal *j)
{
    struct journal_acks *end = j->acks;

    assert(!j->acking);
    while (end && journal_is_taken(j, end->end))
        end = end->next;
    j->unconfirmed_ns = end ? end->ns : 0;
    end = journal_acks_cut(j, end);
    if (!end)
        return;
    j->acking = true; /* who settles finds the tickets called */
    pthread_mutex_unlock(&j->lock);
    journal_acks_call(end, NULL);
    pthread_mutex_lock(&j->lock);
    assert(j->acking);
    j->acking = false;
}

uint64_t journal_acks_due_ns(const struct journal *j)
{
    return j->acks ? j->acks->ns + JOURNAL_ACK_MS * CLOCK_NS_PER_MS : CLOCK_NEVER;
}

void journal_acks_expire(struct journal *j, bool all)
{
    uint64_t now = clock_mono_ns(&clock_real);
    struct journal_acks *end;
    struct err e;

    pthread_mutex_lock(&j->lock);
    for (end = j->acks; end && (all || now >= end->ns + JOURNAL_ACK_MS * CLOCK_NS_PER_MS);)
        end = end->next;
    end = journal_acks_cut(j, end);
    pthread_mutex_unlock(&j->lock);
    if (!end)
        return;
    err_set(&e,
            ERR_TIMEOUT,
            "PostgreSQL did not confirm the record (durability: replicated); it is in the journal"
            " of this daemon, and is stored once PostgreSQL answers");
    journal_acks_call(end, &e);
}

bool journal_acks_late(const struct journal *j, struct err *e)
{
    uint64_t now = clock_mono_ns(&clock_real);

    if (!j->unconfirmed_ns || now < j->unconfirmed_ns + JOURNAL_LATE_MS * CLOCK_NS_PER_MS)
        return false;
    err_set(e,
            ERR_LIMIT,
            "PostgreSQL has confirmed nothing for %llu s (durability: replicated)",
            (unsigned long long)((now - j->unconfirmed_ns) / 1000000000u));
    return true;
}
