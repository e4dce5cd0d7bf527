/* Random calls, erasures and restarts: stored texts are read back byte for byte and found by their
 * words, erased ones are not, and the audit log verifies.
 *
 *     RANDOM_SEED=7 RANDOM_STEPS=5000 store_random_test
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "base/rand.h"
#include "query_help.h"

enum { SESSIONS = 5, MANY = 6000, OLD_CALLS = 60 };

struct known {
    char *request, *session;
    size_t size;
    unsigned who;
    bool gone;
};

struct chaos {
    struct place place;
    struct store *store;
    struct rand r;
    struct known calls[MANY];
    unsigned count;
    unsigned names; /* part of session names, so that later sessions differ */
};

static size_t below(struct chaos *c, size_t n)
{
    return (size_t)rand_below(&c->r, n);
}

static void fill(struct chaos *c, char *p, size_t n)
{
    bool any = below(c, 4) == 0; /* with NUL and invalid UTF-8 */

    for (size_t i = 0; i < n; i++)
        p[i] = any ? (char)below(c, 256) : "abcdefgh ,\"{}"[below(c, 13)];
}

/* The request that follows another one: longer, shorter, changed in the middle, or different. */
static char *next_request(struct chaos *c, const struct known *last, size_t *size)
{
    static const size_t sizes[] = {0, 40, 700, 3000, 20000, 150000};
    size_t more = sizes[below(c, COUNT_OF(sizes))], keep = last ? last->size : 0, at;
    char *p;

    if (keep > 1500000 || below(c, 8) == 0)
        keep = 0;
    else if (below(c, 6) == 0)
        keep = below(c, keep + 1);
    p = base_alloc(keep + more + 1);
    if (keep)
        memcpy(p, last->request, keep);
    at = below(c, 3) ? keep : below(c, keep + 1);
    memmove(p + at + more, p + at, keep - at);
    fill(c, p + at, more);
    *size = keep + more;
    return p;
}

static void row_of(struct chaos *c, unsigned n, struct store_call *row, char *texts)
{
    struct known *k = &c->calls[n];

    *row = store_call_none;
    (void)snprintf(texts, 40, "call-%u", n);
    row->id = str_c(texts);
    (void)snprintf(texts + 40, 60, "thought zword%ux of it", n);
    row->reasoning = str_c(texts + 40);
    (void)snprintf(texts + 100, 60, "caf\xc3\xa9 qword%ux", n);
    row->answer = str_c(texts + 100);
    row->session_id = str_c(k->session);
    row->key_name = k->who ? STR("bob") : STR("ann");
    row->request = (str){k->request, k->size};
    row->started_ms = 1000 + (int64_t)(n * 7919u % 5000); /* times are not in order */
    row->ended_ms = n % 11 ? row->started_ms : -1;
    row->status = 200;
    row->complete = true;
    row->has_reasoning = true;
}

static struct known *chaos_add(struct chaos *c, bool alone)
{
    struct known *k = &c->calls[c->count], *last = NULL;

    k->who = (unsigned)below(c, 2);
    k->session = base_alloc(40);
    if (alone) /* as in a store without blocks */
        (void)snprintf(k->session, 40, "call-%u", c->count);
    else
        (void)snprintf(k->session, 40, "s-%u-%zu", c->names, below(c, SESSIONS));
    for (unsigned i = c->count; i-- > 0 && !last;)
        if (!strcmp(c->calls[i].session, k->session) && below(c, 4))
            last = &c->calls[i];
    k->request = next_request(c, last, &k->size);
    c->count++;
    return k;
}

static void put_one(struct chaos *c)
{
    struct store_call row;
    char texts[200];

    (void)chaos_add(c, false);
    row_of(c, c->count - 1, &row, texts);
    store_call_put(c->store, &row, NULL);
    if (below(c, 20) == 0)
        store_call_put(c->store, &row, NULL); /* the same call again */
}

static void erase_some(struct chaos *c)
{
    struct store_receipt receipt;
    struct err e;
    const char *name = c->calls[below(c, c->count)].session;
    char sql[200];

    CHECK_F(store_erase(c->store, STORE_ERASE_SESSION, str_c(name), STR("op"), &receipt, &e),
            "%s",
            e.text);
    settle(c->store);
    for (unsigned i = 0; i < c->count; i++) {
        if (c->calls[i].gone || strcmp(c->calls[i].session, name))
            continue;
        (void)snprintf(sql,
                       sizeof sql,
                       "SELECT count(*) FROM llm_interactions WHERE interaction_id = 'call-%u'",
                       i);
        c->calls[i].gone = ask(&c->place, sql) == 0; /* another key's session has another name */
    }
}

struct look {
    struct store_call row;
    unsigned seen;
};

static bool look_at(void *ctx, const struct store_call *got)
{
    struct look *l = ctx;

    CHECK_F(str_eq(got->request, l->row.request), STR_FMT, STR_ARG(got->id));
    CHECK(str_eq(got->reasoning, l->row.reasoning));
    CHECK(str_eq(got->answer, l->row.answer));
    l->seen++;
    return true;
}

static const struct query_asker hiding = {.hide_reasoning = true};

static void check_all(struct chaos *c, unsigned step)
{
    struct audit_report report;
    struct reader *reader;
    struct buf out;
    struct look l;
    char texts[200], typed[64];
    struct err e;

    settle(c->store);
    CHECK_F(reader_open(str_c(c->place.url), &reader, &e), "%s", e.text);
    buf_init(&out, QUERY_OUT_MAX);
    for (unsigned n = 0; n < c->count; n += 1 + (unsigned)below(c, 6)) {
        bool there, found, hidden;

        row_of(c, n, &l.row, texts);
        l.seen = 0;
        there = stored_call(c->store, l.row.id, (struct store_row_sink){look_at, &l}, &e);
        CHECK_F(there == !c->calls[n].gone, "call %u at step %u: %s", n, step, there ? "" : e.text);
        (void)snprintf(
            typed, sizeof typed, below(c, 2) ? "cafe qword%ux" : "\"thought ZWORD%ux\"", n);
        buf_reset(&out);
        CHECK_F(query_search(reader, &everyone, str_c(typed), 10, &out, &e), "%s", e.text);
        found = str_find(buf_str(&out), STR("\"results\":[{")) != STR_NONE;
        CHECK_F(found == there, "call %u by %s at step %u", n, typed, step);
        (void)snprintf(typed, sizeof typed, "zword%ux", n);
        buf_reset(&out);
        CHECK_F(query_search(reader, &hiding, str_c(typed), 10, &out, &e), "%s", e.text);
        hidden = str_find(buf_str(&out), STR("\"results\":[{")) != STR_NONE;
        CHECK_F(!hidden, "%s", typed);
    }
    buf_release(&out);
    reader_close(reader);
    report = verify(&c->place);
    /* The calls of old_store_put are not included in any sums. */
    CHECK_F(report.ok || strstr(report.why, "sums of an hour"), "step %u: %s", step, report.why);
}

static void reopen(struct chaos *c)
{
    if (below(c, 2))
        settle(c->store);
    store_close(c->store);
    c->store = open_store(&c->place);
}

static void run(bool old, unsigned seed, unsigned steps)
{
    struct chaos *c = base_alloc(sizeof *c);
    struct store_call row;
    char texts[200];

    memset(c, 0, sizeof *c);
    rand_init(&c->r, seed);
    place_init(&c->place);
    if (old)
        old_store(&c->place);
    for (unsigned i = 0; old && i < OLD_CALLS; i++) {
        (void)chaos_add(c, true);
        row_of(c, i, &row, texts);
        row.has_reasoning = false; /* must agree with the sums of its session */
        row.key_name = STR("");
        row.ended_ms = row.started_ms;
        old_store_put(&c->place, &row);
    }
    c->store = open_store(&c->place);
    for (unsigned i = 0; i < steps && c->count < MANY; i++) {
        size_t what = below(c, 400);

        if (what < 380)
            put_one(c);
        else if (what < 386 && c->count)
            erase_some(c);
        else if (what < 392)
            reopen(c);
        else if (what < 398)
            c->names++;
        else
            check_all(c, i);
    }
    check_all(c, steps);
    store_close(c->store);
    place_release(&c->place);
    for (unsigned i = 0; i < c->count; i++) {
        free(c->calls[i].request);
        free(c->calls[i].session);
    }
    free(c);
}

static unsigned number_of(const char *name, unsigned otherwise)
{
    const char *p = getenv(name);

    return p ? (unsigned)strtoul(p, NULL, 10) : otherwise;
}

TEST(a_store_at_random)
{
    run(false, number_of("RANDOM_SEED", 1), number_of("RANDOM_STEPS", 200));
}

TEST(a_store_of_before_at_random)
{
    run(true, number_of("RANDOM_SEED", 1) + 1000, number_of("RANDOM_STEPS", 200));
}

TEST_MAIN(T(a_store_at_random), T(a_store_of_before_at_random))
