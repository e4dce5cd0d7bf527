/* diagnosis.c - see diagnosis.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/score/diagnosis.h"

#include "base/buf.h"

#define MISSING_MAX 4096
#define POINT_WORDS_MAX 64 /* of an alternative */
#define ALTERNATIVES_MAX 100
#define OTHER_CAUSES 2 /* that an analysis may not blame beside the expected one */

bool claim_counts(const struct claim *c, bool names)
{
    assert(c->flags < CLAIM_ONLY << CLAIM_WORDINGS);
    return !(c->flags & (names ? CLAIM_DROPPED : CLAIM_DROPPED | CLAIM_NAMES));
}

/* ---- points: "a | b | c" ---- */

struct point {
    struct score_words alternatives[ALTERNATIVES_MAX];
    size_t n;
    str text;     /* the first alternative */
    bool *stated; /* by clause: POINT_STATED, in one that counts */
};

struct points {
    struct point *at;
    size_t n;
};

static void point_read(str text, struct arena *a, struct point *out)
{
    struct score_word room[POINT_WORDS_MAX];

    out->text = str_trim(str_slice(text, 0, str_find(text, STR("|"))));
    for (bool more = true; more && out->n < ALTERNATIVES_MAX;) {
        size_t bar = str_find(text, STR("|"));
        struct score_words one = {.at = room, .max = POINT_WORDS_MAX}, *kept;

        score_words_read(str_slice(text, 0, bar), SCORE_WORDS_EXPECTED, &one);
        assert(one.n <= POINT_WORDS_MAX);
        kept = &out->alternatives[out->n++];
        *kept =
            (struct score_words){.at = arena_alloc(a, (one.n + 1) * sizeof *one.at), .n = one.n};
        memcpy(kept->at, room, one.n * sizeof *room);
        more = bar != STR_NONE;
        text = str_slice(text, bar + more, text.n);
    }
}

bool score_point_is_usable(str text)
{
    struct point *p = base_alloc(sizeof *p);
    struct arena a;
    bool ok = true;

    *p = (struct point){.n = 0};
    arena_init(&a, (size_t)16 << 20);
    point_read(str_slice(text, 0, (size_t)64 << 10), &a, p);
    for (size_t i = 0; i < p->n; i++)
        ok = ok && p->alternatives[i].n;
    arena_release(&a);
    free(p);
    return ok;
}

/* ---- the statement of a clause ---- */

enum point_match {
    POINT_STATED, /* all words of an alternative, each denied or not as there */
    POINT_ANY,    /* the same, denied or not */
    POINT_DENIED, /* stated, with a word that is denied there too: "does not exist" */
    POINT_NAME,   /* the words follow each other, and are not denied */
};

static bool point_word_stated(const struct claims *c, const struct claim *in,
                              const struct score_word *w, bool any)
{
    for (size_t i = 0; i < in->n; i++) {
        const struct score_word *x = &c->words.at[in->first + i];

        if (score_word_eq(x, w) && (any || x->denied == w->denied))
            return true;
    }
    return false;
}

static bool point_words_stated(const struct claims *c, const struct claim *in,
                               const struct score_words *alternative, enum point_match match)
{
    bool denied = match != POINT_DENIED;

    for (size_t i = 0; i < alternative->n; i++) {
        if (!point_word_stated(c, in, &alternative->at[i], match == POINT_ANY))
            return false;
        denied = denied || alternative->at[i].denied;
    }
    return alternative->n > 0 && denied;
}

static bool point_name_stated(const struct claims *c, const struct claim *in,
                              const struct score_words *name)
{
    for (size_t from = 0; name->n && from + name->n <= in->n; from++) {
        const struct score_word *x = &c->words.at[in->first + from];
        size_t i = 0;

        while (i < name->n && score_word_eq(&x[i], &name->at[i]))
            i++;
        if (i == name->n && !x[0].denied)
            return true;
    }
    return false;
}

static bool diagnosis_point_in(const struct claims *c, const struct claim *in,
                               const struct point *p, enum point_match match)
{
    assert(in->first + in->n <= c->words.n);
    for (size_t i = 0; i < p->n; i++)
        if (match == POINT_NAME ? point_name_stated(c, in, &p->alternatives[i])
                                : point_words_stated(c, in, &p->alternatives[i], match))
            return true;
    return false;
}

static struct points points_read(const struct claims *c, const struct score_texts *texts,
                                 bool names, struct arena *a)
{
    struct points out = {arena_zero(a, texts->n + 1, sizeof *out.at), texts->n};

    for (size_t k = 0; k < texts->n; k++) {
        struct point *p = &out.at[k];

        point_read(texts->at[k], a, p);
        p->stated = arena_zero(a, c->n + 1, sizeof *p->stated);
        for (size_t i = 0; i < c->n; i++)
            p->stated[i] = claim_counts(&c->at[i], names) &&
                           diagnosis_point_in(c, &c->at[i], p, names ? POINT_NAME : POINT_STATED);
    }
    return out;
}

/* ---- the cause ---- */

/* The clauses from the i-th on that state the cause, at most SCORE_CAUSE_CLAUSES. *root: one of
 * them, or the one before them, says that this is the cause. */
static bool cause_from(const struct claims *c, const struct points *cause, size_t i, bool *root)
{
    size_t met = 0, seen;

    assert(i < c->n);
    *root = i > 0 && (c->at[i - 1].flags & CLAIM_ROOT);
    for (size_t k = 0; k < cause->n; k++) {
        bool stated = false;

        seen = 0;
        for (size_t j = i; j < c->n && !stated && seen < SCORE_CAUSE_CLAUSES; j++) {
            if (!claim_counts(&c->at[j], false))
                continue;
            seen++;
            *root = *root || (c->at[j].flags & CLAIM_ROOT);
            stated = cause->at[k].stated[j];
        }
        met += stated;
    }
    return met == cause->n;
}

static bool cause_stated(const struct claims *c, const struct points *cause, bool *root)
{
    bool stated = false, named = false;

    for (size_t i = 0; i < c->n && !named; i++)
        if (claim_counts(&c->at[i], false) && cause_from(c, cause, i, &named))
            stated = true;
        else
            named = false;
    *root = named;
    return stated;
}

/* An analysis that says "the root cause is ..." and states no point of the expected cause there. */
static bool cause_is_another(const struct claims *c, const struct points *cause)
{
    bool any = false;

    for (size_t i = 0; i < c->n; i++) {
        size_t from = i - (i > 0 && c->at[i].flags & CLAIM_POINTS_BACK);

        if (!claim_counts(&c->at[i], false) || !(c->at[i].flags & CLAIM_ROOT))
            continue;
        any = true;
        for (size_t j = from; j < c->n && j <= i + 1; j++)
            for (size_t k = 0; k < cause->n; k++)
                if (cause->at[k].stated[j])
                    return false;
    }
    return any;
}

/* Whether a clause states a point or a name that is expected, or the one after it does that blames
 * nothing itself. */
static bool cause_expected_at(const struct claims *c, const struct points *p, size_t i)
{
    bool next = i + 1 < c->n && !(c->at[i + 1].flags & CLAIM_BLAMES);

    for (size_t k = 0; k < p->n; k++)
        if (p->at[k].stated[i] || (next && p->at[k].stated[i + 1]))
            return true;
    return false;
}

/* Naming everything is no answer: several clauses that blame something else, or one that says "the
 * cause is ..." as one of the expected cause does. */
static bool cause_is_one_of_many(const struct claims *c, const struct points *cause,
                                 const struct points *object)
{
    unsigned expected = 0, other = 0;
    size_t others = 0;

    for (size_t i = 0; i < c->n; i++) {
        if (!claim_counts(&c->at[i], false) || c->at[i].flags & CLAIM_POINTS_BACK)
            continue;
        if (cause_expected_at(c, cause, i) || cause_expected_at(c, object, i)) {
            expected |= c->at[i].flags;
            continue;
        }
        other |= c->at[i].flags;
        others += (c->at[i].flags & CLAIM_BLAMES) != 0;
    }
    return others >= OTHER_CAUSES || (expected & other) >= CLAIM_ONLY;
}

/* A clause that names the object and has all points, one denied: "edge-2 has not expired". */
static bool cause_denied(const struct claims *c, const struct points *cause,
                         const struct points *object)
{
    for (size_t i = 0; i < c->n; i++) {
        bool named = false, all = cause->n > 0, denied = false;

        for (size_t k = 0; k < object->n; k++)
            named = named || object->at[k].stated[i];
        for (size_t k = 0; k < cause->n && named && all; k++) {
            all = diagnosis_point_in(c, &c->at[i], &cause->at[k], POINT_ANY);
            denied = denied || !cause->at[k].stated[i];
            named = !diagnosis_point_in(c, &c->at[i], &cause->at[k], POINT_DENIED);
        }
        if (named && all && denied && claim_counts(&c->at[i], false))
            return true;
    }
    return false;
}

/* ---- the verdict ---- */

static size_t diagnosis_list_missing(const struct claims *c, const struct points *points,
                                     struct buf *out)
{
    size_t missing = 0;

    for (size_t k = 0; k < points->n; k++) {
        const struct point *p = &points->at[k];

        if (memchr(p->stated, true, c->n))
            continue;
        missing++;
        buf_printf(out, "%s" STR_FMT, out->n ? ", " : "", STR_ARG(p->text));
    }
    return missing;
}

static bool wrong_stated(const struct claims *c, const struct points *wrong, struct buf *out)
{
    for (size_t k = 0; k < wrong->n; k++)
        for (size_t i = 0; i < c->n; i++)
            if (wrong->at[k].stated[i] && !(c->at[i].flags & CLAIM_HEDGED)) {
                buf_printf(out, "blames: " STR_FMT, STR_ARG(wrong->at[k].text));
                return true;
            }
    return false;
}

static bool diagnosis_anything_stated(const struct claims *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (claim_counts(&c->at[i], false) && c->at[i].n)
            return true;
    return false;
}

static enum score_verdict diagnosis_decide(const struct claims *c, const struct score_expected *x,
                                           struct arena *a, struct buf *missing, size_t *count)
{
    struct points cause = points_read(c, &x->cause, false, a);
    struct points object = points_read(c, &x->object, true, a);
    struct points wrong = points_read(c, &x->not_cause, false, a);
    bool root = false, caused = cause_stated(c, &cause, &root);
    size_t objects;

    *count = diagnosis_list_missing(c, &cause, missing);
    objects = diagnosis_list_missing(c, &object, missing);
    *count += objects;
    assert(*count <= cause.n + object.n);
    if (c->refused && !(cause.n && caused && root))
        return SCORE_VERDICT_REFUSED;
    if (!diagnosis_anything_stated(c))
        return SCORE_VERDICT_SILENT;
    if (wrong_stated(c, &wrong, missing))
        return SCORE_VERDICT_WRONG;
    if (cause_denied(c, &cause, &object))
        buf_add(missing, STR("denies the cause"));
    else if (cause.n && cause_is_one_of_many(c, &cause, &object))
        buf_add(missing, STR("blames several causes"));
    else if (cause.n && cause_is_another(c, &cause))
        buf_add(missing, STR("blames another cause"));
    else if (cause.n && !caused)
        return SCORE_VERDICT_CAUSE;
    else
        return objects ? SCORE_VERDICT_OBJECT : SCORE_VERDICT_FOUND;
    return SCORE_VERDICT_WRONG;
}

void diagnosis_read(const struct claims *c, const struct score_expected *x, struct arena *a,
                    struct diagnosis *out)
{
    struct buf missing;

    buf_init(&missing, MISSING_MAX);
    out->verdict = diagnosis_decide(c, x, a, &missing, &out->missing_count);
    out->missing = arena_move_buf(a, &missing);
}
