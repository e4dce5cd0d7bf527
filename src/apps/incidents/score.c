/* score.c - see score.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/score.h"

#include "apps/incidents/score/diagnosis.h"
#include "base/buf.h"

#define MISSING_MAX 4096
#define ARENA_MAX ((size_t)64 << 20)

/* ---- a fact ---- */

struct fact {
    struct score_word words[SCORE_WORDS_MAX];
    size_t n;
};

static size_t score_fact_find(const struct fact *f, const struct score_word *w, bool any)
{
    for (size_t i = 0; i < f->n; i++)
        if (score_word_eq(&f->words[i], w) && (any || f->words[i].denied == w->denied))
            return i;
    return f->n;
}

static void score_fact_read(str text, enum score_words_kind kind, struct fact *f)
{
    struct score_words all = {.at = f->words, .max = SCORE_WORDS_MAX};

    score_words_read(text, kind, &all);
    f->n = 0;
    for (size_t k = 0; k < all.n; k++) {
        struct score_word w = f->words[k];
        size_t i = score_fact_find(f, &w, true);

        if (i == f->n)
            f->words[f->n++] = w;
        f->words[i].code = f->words[i].code || w.code;
    }
    assert(f->n <= all.n);
}

/* ---- in the statements ---- */

struct stretch {
    size_t counts[SCORE_WORDS_MAX]; /* of each word of the fact in the stretch now */
    size_t weight, needed;          /* of the words present; how many of the required ones */
    size_t best;
    bool best_whole;
    bool there[SCORE_WORDS_MAX]; /* in the best stretch */
};

static bool score_needed(const struct score_word *w)
{
    return w->code || w->digits;
}

static size_t score_weight(const struct score_word *w)
{
    return score_needed(w) ? 2 : 1;
}

/* A stretch with all needed words is better than any without. */
static void score_stretch_compare(const struct fact *f, struct stretch *s, size_t needed_count)
{
    bool whole = s->needed == needed_count;

    if (whole < s->best_whole || (whole == s->best_whole && s->weight <= s->best))
        return;
    s->best = s->weight;
    s->best_whole = whole;
    for (size_t i = 0; i < f->n; i++)
        s->there[i] = s->counts[i] > 0;
}

static void score_stretch_add(const struct fact *f, struct stretch *s, size_t i)
{
    if (i < f->n && s->counts[i]++ == 0) {
        s->weight += score_weight(&f->words[i]);
        s->needed += score_needed(&f->words[i]);
    }
}

static void score_stretch_remove(const struct fact *f, struct stretch *s, size_t i)
{
    assert(i >= f->n || s->counts[i] > 0);
    if (i < f->n && --s->counts[i] == 0) {
        s->weight -= score_weight(&f->words[i]);
        s->needed -= score_needed(&f->words[i]);
    }
}

/* The words of all clauses that state something. If a fact has only words without content, it is
 * looked for in the text itself. */
static void score_stretch_find(const struct fact *f, const struct score_words *words,
                               struct stretch *s)
{
    size_t size = 4 * f->n + 20, needed_count = 0, tail = 0;

    for (size_t i = 0; i < f->n; i++)
        needed_count += score_needed(&f->words[i]);
    *s = (struct stretch){.best_whole = needed_count == 0};
    for (size_t i = 0; i < words->n; i++) {
        score_stretch_add(f, s, score_fact_find(f, &words->at[i], false));
        for (; words->at[tail].place + size <= words->at[i].place; tail++)
            score_stretch_remove(f, s, score_fact_find(f, &words->at[tail], false));
        assert(tail <= i);
        score_stretch_compare(f, s, needed_count);
    }
}

static void score_fact_in(const struct score_words *words, str fact, struct arena *a,
                          struct score_fact *out)
{
    struct fact *f = base_alloc(sizeof *f);
    struct stretch *s = base_alloc(sizeof *s);
    size_t whole = 0;
    struct buf missing;

    score_fact_read(fact, SCORE_WORDS_EXPECTED, f);
    score_stretch_find(f, words, s);
    for (size_t i = 0; i < f->n; i++)
        whole += score_weight(&f->words[i]);
    out->share = whole ? (double)s->best / (double)whole : !fact.n;
    out->met = s->best_whole && out->share >= SCORE_SHARE;
    buf_init(&missing, MISSING_MAX);
    for (size_t i = 0; i < f->n; i++)
        if (!s->there[i])
            buf_printf(
                &missing, "%s%.*s", missing.n ? ", " : "", (int)f->words[i].n, f->words[i].text);
    out->missing = arena_move_buf(a, &missing);
    free(s);
    free(f);
}

/* ---- the whole ---- */

const char *score_verdict_name(enum score_verdict v)
{
    return NAME_OF(
        v, "found", "nothing_stated", "refused", "wrong_cause", "cause_missing", "object_missing");
}

/* The words of the clauses that state something. */
static void score_stated_words(const struct claims *c, struct arena *a, struct score_words *out)
{
    *out = (struct score_words){.at = arena_alloc(a, (c->words.n + 1) * sizeof *out->at),
                                .max = c->words.n};
    for (size_t i = 0; i < c->n; i++)
        if (claim_counts(&c->at[i], false)) {
            memcpy(out->at + out->n, c->words.at + c->at[i].first, c->at[i].n * sizeof *out->at);
            out->n += c->at[i].n;
        }
    assert(out->n <= out->max);
}

void score_analysis(str analysis, str evidence, const struct score_expected *x, struct arena *a,
                    struct score_result *out)
{
    size_t points = x->cause.n + x->object.n;
    struct score_words words;
    struct diagnosis d;
    struct claims c;
    double facts;

    claims_read(analysis, evidence, a, &c);
    score_stated_words(&c, a, &words);
    diagnosis_read(&c, x, a, &d);
    *out = (struct score_result){.verdict = d.verdict,
                                 .missing = d.missing,
                                 .facts = arena_zero(a, x->facts.n + 1, sizeof *out->facts)};
    for (size_t i = 0; i < x->facts.n; i++) {
        score_fact_in(&words, x->facts.at[i], a, &out->facts[i]);
        out->facts_met += out->facts[i].met;
    }
    facts = x->facts.n ? (double)out->facts_met / (double)x->facts.n : 1;
    if (out->verdict == SCORE_VERDICT_SILENT)
        out->score = 0;
    else if (out->verdict != SCORE_VERDICT_FOUND)
        out->score =
            SCORE_NOT_FOUND *
            (x->facts.n ? facts : 1 - (double)d.missing_count / (double)(points + !points));
    else
        out->score = points ? SCORE_FOUND + (1 - SCORE_FOUND) * facts
                            : facts * (facts < SCORE_FACTS_LEAST ? SCORE_NOT_FOUND : 1);
}

void score_fact(str report, str fact, struct arena *a, struct score_fact *out)
{
    struct score_words words;
    struct claims c;

    claims_read(report, STR(""), a, &c);
    score_stated_words(&c, a, &words);
    score_fact_in(&words, fact, a, out);
}

double score_facts(str report, const str *facts, size_t n, bool *found)
{
    struct score_fact one;
    struct arena a;
    size_t met = 0;

    for (size_t i = 0; i < n; i++) {
        arena_init(&a, ARENA_MAX);
        score_fact(report, facts[i], &a, &one);
        arena_release(&a);
        met += one.met;
        if (found)
            found[i] = one.met;
    }
    return n ? (double)met / (double)n : 1;
}
