/* SPDX-License-Identifier: Apache-2.0 */
#include "store/word_search.h"

#define SEARCH_FAN 16

bool word_search_begin(struct word_search *s, struct db *db, const struct words_query *query,
                       bool last_is_front, struct err *e)
{
    *s = (struct word_search){.db = db, .query = query, .last_is_front = last_is_front};
    if (!db_query(
            db,
            "SELECT block, moved_to, moved FROM store_counters",
            DB_NO_ARGS,
            DB_ROW(db_into_i64(&s->last), db_into_i64(&s->moved_to), db_into_i64(&s->last_moved)),
            e))
        return false;
    s->at = s->first = s->last > s->moved_to ? s->last : s->last_moved;
    if (s->at)
        s->first++;
    return true;
}

/* ---- a segment ---- */

/* The largest segment that ends with this block, or has it and is complete. */
static void search_segment(const struct word_search *s, int64_t block, int64_t *level,
                           int64_t *first, unsigned *span)
{
    int64_t last = block > s->moved_to ? s->last : s->last_moved;

    assert(block > 0);
    *level = WORD_LEVELS;
    *span = 1;
    for (int64_t i = 1; i < WORD_LEVELS; i++)
        *span *= SEARCH_FAN;
    do {
        --*level;
        *first = block - block % *span;
        if (*level == 0 || *first + *span - 1 <= last)
            return;
        *span /= SEARCH_FAN;
    } while (true);
}

struct search_pages {
    uint64_t lo, hi;
    struct word_blocks found;
};

static bool search_on_page(void *ctx, const struct db_value *v, size_t n)
{
    struct search_pages *p = ctx;
    struct err damaged;

    assert(n == 1);
    if (!word_pages_find(v[0].s, p->lo, p->hi, &p->found, &damaged))
        memset(&p->found, 0xff, sizeof p->found); /* any block may have it: their texts will show */
    return true;
}

/* The blocks of a segment that have all the words. */
static bool search_look_up(struct word_search *s, int64_t level, int64_t first, struct err *e)
{
    uint64_t any = 1;

    memset(&s->found, 0xff, sizeof s->found);
    for (size_t part = 0; any && part < s->query->part_count; part++) {
        struct search_pages p = {0};
        struct db_value args[] = {db_int(level), db_int(first), db_null(), db_null()};

        words_query_range(s->query, part, s->last_is_front, &p.lo, &p.hi);
        any = 0;
        args[2] = db_int((int64_t)p.lo);
        args[3] = db_int((int64_t)p.hi);
        if (!db_query(s->db,
                      "SELECT page FROM word_pages WHERE level = $1 AND first_block = $2 AND"
                      " first_key <= $4 AND first_key >= coalesce((SELECT max(w.first_key) FROM"
                      " word_pages w WHERE w.level = $1 AND w.first_block = $2 AND w.first_key <="
                      " $3), 0) ORDER BY first_key",
                      args,
                      COUNT_OF(args),
                      (struct db_rows){search_on_page, &p},
                      e))
            return false;
        for (size_t i = 0; i < COUNT_OF(s->found.bits); i++) {
            s->found.bits[i] &= p.found.bits[i];
            any |= s->found.bits[i];
        }
    }
    return true;
}

bool word_search_next(struct word_search *s, int64_t *block, struct err *e)
{
    *block = 0;
    while (s->at > 0) {
        int64_t level, first;
        unsigned span;

        if (s->at < s->first) {
            search_segment(s, s->at, &level, &first, &span);
            if (!search_look_up(s, level, first, e))
                return false;
            s->first = first;
        }
        while (s->at >= s->first && s->at > 0) {
            unsigned offset = (unsigned)(s->at-- - s->first);

            if (s->at == s->moved_to)
                s->at = s->last_moved; /* no block has a number between them */
            if (word_blocks_has(&s->found, offset)) {
                *block = s->first + offset;
                return true;
            }
        }
    }
    return true;
}
