/* SPDX-License-Identifier: Apache-2.0 */
#include "apps/tune/verdict_score.h"

#define PENALTY 0.25       /* of an error, or of a repeated step */
#define SLOPE 2.0          /* a confidence 0.5 outside its band is worth nothing */
#define SHARE_GROUNDED 0.4 /* of coherence: citations that were seen */
#define SHARE_SOUND 0.3    /* no errors */
#define SHARE_DIRECT 0.3   /* no repetition */
#define QUOTE_MAX 80

const char *const verdict_names[VERDICT_COUNT] = {
    [VERDICT_CITATION] = "citation",
    [VERDICT_COHERENCE] = "coherence",
    [VERDICT_CALIBRATION] = "calibration",
    [VERDICT_STATUS] = "status",
};

const double verdict_weights[VERDICT_COUNT] = {
    [VERDICT_CITATION] = 0.4,
    [VERDICT_COHERENCE] = 0.3,
    [VERDICT_CALIBRATION] = 0.2,
    [VERDICT_STATUS] = 0.1,
};

const double verdict_floors[VERDICT_COUNT] = {
    [VERDICT_CITATION] = 0.85,
    [VERDICT_COHERENCE] = 0.75,
    [VERDICT_CALIBRATION] = 0.70,
    [VERDICT_STATUS] = 0.90,
};

/* The expected range of the confidence of a right answer. Both spellings of a status are in use. */
static const struct band {
    const char *status;
    double low, high;
} bands[] = {
    {"met", 0.75, 1},
    {"ready", 0.75, 1},
    {"missing", 0.6, 0.9},
    {"not_ready", 0.6, 0.9},
    {"uncertain", 0, 0.65},
};

static const struct band *verdict_band_of(str status)
{
    for (size_t i = 0; i < COUNT_OF(bands); i++)
        if (str_eq(status, str_c(bands[i].status)))
            return &bands[i];
    return NULL;
}

static double verdict_at_least_0(double v)
{
    return v > 0 ? v : 0;
}

/* ---- citation ---- */

static bool verdict_is_complete(const struct verdict_citation *c)
{
    return c->doc.n > 0 && c->section.n > 0 && c->page_first > 0;
}

static uint32_t verdict_last_page(const struct verdict_citation *c)
{
    return c->page_last > c->page_first ? c->page_last : c->page_first;
}

/* The same section of the same document, and a page in common where the label names pages. */
static bool verdict_score_matches(const struct verdict_citation *said,
                                  const struct verdict_citation *want)
{
    if (!str_eq(said->doc, want->doc) || !str_eq(said->section, want->section))
        return false;
    return want->page_first == 0 ||
           (said->page_first <= verdict_last_page(want) &&
            verdict_last_page(said) >= want->page_first && said->page_first > 0);
}

static size_t verdict_count_matched(const struct verdict_citation *a, size_t n,
                                    const struct verdict_citation *b, size_t m, bool a_is_said)
{
    size_t matched = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            if (a_is_said ? verdict_score_matches(&a[i], &b[j])
                          : verdict_score_matches(&b[j], &a[i])) {
                matched++;
                break;
            }
    assert(matched <= n);
    return matched;
}

/* With a label: the harmonic mean of recall and precision. Without: the share of citations that are
 * complete. */
static double verdict_score_citation(const struct verdict_truth *t, const struct verdict_run *r)
{
    size_t found, right, whole = 0;

    if (!t->has_citations) {
        for (size_t i = 0; i < r->citation_count; i++)
            whole += verdict_is_complete(&r->citations[i]);
        return r->citation_count ? (double)whole / (double)r->citation_count : 0;
    }
    if (t->citation_count == 0 || r->citation_count == 0)
        return t->citation_count == r->citation_count;
    found = verdict_count_matched(
        t->citations, t->citation_count, r->citations, r->citation_count, false);
    right = verdict_count_matched(
        r->citations, r->citation_count, t->citations, t->citation_count, true);
    if (found == 0)
        return 0;
    assert(right > 0); /* who is matched matches */
    return 2 /
           ((double)t->citation_count / (double)found + (double)r->citation_count / (double)right);
}

/* ---- coherence ---- */

/* Whether an observation shows the section that is cited. */
static bool verdict_was_seen(const struct verdict_run *r, const struct verdict_citation *c)
{
    for (size_t i = 0; i < r->step_count && c->section.n > 0; i++)
        if (!r->steps[i].failed && str_find(r->steps[i].observation, c->section) != STR_NONE)
            return true;
    return false;
}

static bool verdict_is_bad(const struct verdict_step *s)
{
    return s->failed || str_trim(s->observation).n == 0;
}

static bool verdict_is_repeated(const struct verdict_run *r, size_t i)
{
    assert(i < r->step_count);
    for (size_t j = 0; j < i; j++)
        if (str_eq(r->steps[j].action, r->steps[i].action) &&
            str_eq(r->steps[j].arguments, r->steps[i].arguments))
            return true;
    return false;
}

struct trace {
    size_t seen, bad, repeated, good;
};

static struct trace verdict_score_read_trace(const struct verdict_run *r)
{
    struct trace t = {0};

    for (size_t i = 0; i < r->citation_count; i++)
        t.seen += verdict_was_seen(r, &r->citations[i]);
    for (size_t i = 0; i < r->step_count; i++) {
        t.bad += verdict_is_bad(&r->steps[i]);
        t.good += !verdict_is_bad(&r->steps[i]);
        t.repeated += verdict_is_repeated(r, i);
    }
    assert(t.seen <= r->citation_count && t.bad + t.good == r->step_count);
    return t;
}

/* Penalties count errors, not their share, so additional steps cannot offset them. */
static double verdict_score_coherence(const struct verdict_run *r)
{
    struct trace t = verdict_score_read_trace(r);
    double grounded = 1;

    if (t.good == 0)
        return 0; /* a conclusion without any step */
    if (r->citation_count > 0)
        grounded = (double)t.seen / (double)r->citation_count;
    return SHARE_GROUNDED * grounded +
           SHARE_SOUND * verdict_at_least_0(1 - PENALTY * (double)t.bad) +
           SHARE_DIRECT * verdict_at_least_0(1 - PENALTY * (double)t.repeated);
}

/* ---- calibration and status ---- */

static bool verdict_is_right(const struct verdict_truth *t, const struct verdict_run *r)
{
    return t->status.n == 0 || str_eq(t->status, r->status);
}

static double verdict_score_calibration(const struct verdict_truth *t, const struct verdict_run *r)
{
    const struct band *b = verdict_band_of(r->status);
    double c = r->confidence, off;

    if (!(c >= 0 && c <= 1) || !b)
        return 0;
    if (!verdict_is_right(t, r))
        return 1 - c;
    off = c < b->low ? b->low - c : c > b->high ? c - b->high : 0;
    return verdict_at_least_0(1 - SLOPE * off);
}

/* Without a label: whether the status is valid. */
static double verdict_score_status(const struct verdict_truth *t, const struct verdict_run *r)
{
    return verdict_is_right(t, r) && verdict_band_of(r->status);
}

void verdict_judge(const struct verdict_truth *truth, const struct verdict_run *run,
                   struct verdict_score *out)
{
    *out = (struct verdict_score){
        .score =
            {
                [VERDICT_CITATION] = verdict_score_citation(truth, run),
                [VERDICT_COHERENCE] = verdict_score_coherence(run),
                [VERDICT_CALIBRATION] = verdict_score_calibration(truth, run),
                [VERDICT_STATUS] = verdict_score_status(truth, run),
            },
    };
    for (size_t i = 0; i < VERDICT_COUNT; i++) {
        assert(out->score[i] >= 0 && out->score[i] < 1.001);
        out->total += verdict_weights[i] * out->score[i];
    }
}

/* ---- in words ---- */

static void verdict_put_citation(struct buf *out, const struct verdict_citation *c)
{
    buf_printf(out,
               "\"" STR_FMT "\" of \"" STR_FMT "\"",
               STR_ARG(str_slice(c->section, 0, QUOTE_MAX)),
               STR_ARG(str_slice(c->doc, 0, QUOTE_MAX)));
    if (c->page_first > 0 && verdict_last_page(c) > c->page_first)
        buf_printf(out, ", pages %u to %u", c->page_first, verdict_last_page(c));
    else if (c->page_first > 0)
        buf_printf(out, ", page %u", c->page_first);
}

static void verdict_explain_citation(const struct verdict_truth *t, const struct verdict_run *r,
                                     struct buf *out)
{
    size_t from = out->n;

    for (size_t i = 0; t->has_citations && i < t->citation_count; i++)
        if (verdict_count_matched(&t->citations[i], 1, r->citations, r->citation_count, false) ==
            0) {
            buf_add(out, STR("Not cited, but decisive: "));
            verdict_put_citation(out, &t->citations[i]);
            buf_add(out, STR(". "));
        }
    for (size_t i = 0; i < r->citation_count; i++) {
        const struct verdict_citation *c = &r->citations[i];

        if (!verdict_is_complete(c))
            buf_add(out, STR("A citation lacks its document, section or pages: "));
        else if (t->has_citations &&
                 verdict_count_matched(c, 1, t->citations, t->citation_count, true) == 0)
            buf_add(out, STR("Cited, but not what decides: "));
        else
            continue;
        verdict_put_citation(out, c);
        buf_add(out, STR(". "));
    }
    if (!t->has_citations && r->citation_count == 0)
        buf_add(out, STR("Nothing is cited; name document, section and pages. "));
    if (out->n == from)
        buf_add(out, STR("The citations are right. "));
}

static void verdict_explain_coherence(const struct verdict_truth *truth,
                                      const struct verdict_run *r, struct buf *out)
{
    struct trace t = verdict_score_read_trace(r);
    size_t from = out->n;

    (void)truth;
    if (t.good == 0)
        buf_add(out, STR("No step saw anything, so the conclusion rests on nothing. "));
    for (size_t i = 0; t.good > 0 && i < r->citation_count; i++)
        if (!verdict_was_seen(r, &r->citations[i])) {
            buf_add(out, STR("Cited, but never looked at: "));
            verdict_put_citation(out, &r->citations[i]);
            buf_add(out, STR(". "));
        }
    for (size_t i = 0; i < r->step_count; i++) {
        const struct verdict_step *s = &r->steps[i];
        const char *what = verdict_is_bad(s) ? "brought nothing" : "was done before";

        if (verdict_is_bad(s) || verdict_is_repeated(r, i))
            buf_printf(out,
                       "Step %zu (" STR_FMT ") %s. ",
                       i + 1,
                       STR_ARG(str_slice(s->action, 0, QUOTE_MAX)),
                       what);
    }
    if (out->n == from)
        buf_add(out, STR("Each step served the conclusion. "));
}

static void verdict_explain_calibration(const struct verdict_truth *t, const struct verdict_run *r,
                                        struct buf *out)
{
    const struct band *b = verdict_band_of(r->status);

    if (!(r->confidence >= 0 && r->confidence <= 1))
        buf_add(out, STR("The confidence is no number from 0 to 1. "));
    else if (!b)
        buf_add(out, STR("No confidence can be right for a status that is none. "));
    else if (!verdict_is_right(t, r))
        buf_printf(
            out,
            "The answer is wrong and its confidence is %.2f; what is doubtful should be said "
            "with less. ",
            r->confidence);
    else if (r->confidence < b->low || r->confidence > b->high)
        buf_printf(out,
                   "The answer is right; its confidence of %.2f should lie between %.2f and %.2f. ",
                   r->confidence,
                   b->low,
                   b->high);
    else
        buf_add(out, STR("The confidence fits the answer. "));
}

static void verdict_explain_status(const struct verdict_truth *t, const struct verdict_run *r,
                                   struct buf *out)
{
    str said = str_slice(r->status, 0, QUOTE_MAX);

    if (!verdict_band_of(r->status))
        buf_printf(out, "\"" STR_FMT "\" is not a status. ", STR_ARG(said));
    else if (!verdict_is_right(t, r))
        buf_printf(out,
                   "The status is \"" STR_FMT "\"; \"" STR_FMT "\" is right. ",
                   STR_ARG(said),
                   STR_ARG(str_slice(t->status, 0, QUOTE_MAX)));
    else
        buf_add(out,
                t->status.n ? STR("The status is right. ") : STR("The status is a valid one. "));
}

void verdict_feedback(const struct verdict_truth *truth, const struct verdict_run *run,
                      enum verdict_kind kind, struct buf *out)
{
    static void (*const say[VERDICT_COUNT])(
        const struct verdict_truth *t, const struct verdict_run *r, struct buf *out) = {
        [VERDICT_CITATION] = verdict_explain_citation,
        [VERDICT_COHERENCE] = verdict_explain_coherence,
        [VERDICT_CALIBRATION] = verdict_explain_calibration,
        [VERDICT_STATUS] = verdict_explain_status,
    };

    assert((size_t)kind < VERDICT_COUNT);
    say[kind](truth, run, out);
}
