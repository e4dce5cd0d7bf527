/* verify.c - see verify.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/verify.h"

#include "apps/policy/heuristic.h"

#define CRITERION_ARENA_MAX ((size_t)1 << 30)

/* ---- one criterion ---- */

static bool policy_verify_by_heuristic(const struct policy_react_options *r, struct arena *a,
                                       struct policy_result *out, struct err *e)
{
    return policy_heuristic(r->doc, r->c, r->criterion, a, out, e);
}

struct ballot {
    struct policy_result results[POLICY_SAMPLES_MAX];
    unsigned votes[3], n;
};

/* The first of those that have the most votes; on a tie there is no such. */
static void policy_verify_count_votes(const struct ballot *b, struct policy_result *out)
{
    unsigned best = 0;
    double share;
    bool tie = false;

    for (unsigned s = 1; s < 3; s++)
        if (b->votes[s] > b->votes[best])
            best = s;
    for (unsigned s = 0; s < 3; s++)
        tie |= s != best && b->votes[s] == b->votes[best];
    for (unsigned i = b->n; i-- > 0;)
        if (b->results[i].status == (enum policy_status)best)
            *out = b->results[i];
    assert(b->n > 0 && b->votes[0] + b->votes[1] + b->votes[2] == b->n);
    share = (double)b->votes[best] / (double)b->n;
    if (share >= 1)
        return;
    out->confidence = policy_round(out->confidence * share);
    out->c_joint = out->confidence;
    out->c_final = policy_round(out->c_final * share);
    if (tie || (out->status != POLICY_UNCERTAIN && out->confidence < POLICY_ABSTAIN)) {
        out->status = POLICY_UNCERTAIN;
        out->reason_code = STR("conformal_ambiguity");
    }
}

/* False: the log failed. */
static bool policy_verify_by_model(const struct policy_verify_options *o,
                                   struct policy_react_options *r, struct arena *a,
                                   struct policy_result *out, struct policy_react_info *sum,
                                   struct err *e)
{
    unsigned samples = o->samples > 1 ? o->samples : 1;
    struct ballot *b = arena_zero(a, 1, sizeof *b);
    str run = r->run;

    assert(samples <= POLICY_SAMPLES_MAX);
    for (b->n = 0; b->n < samples; b->n++) {
        struct policy_react_info info;
        struct policy_result *one = &b->results[b->n];

        if (samples > 1)
            r->run = arena_printf(a, STR_FMT "/%u", STR_ARG(run), b->n);
        if (!policy_react(r, a, one, &info, e))
            return false;
        sum->model_ns += info.model_ns;
        sum->iterations += info.iterations;
        sum->left = info.left;
        sum->llm_failed = info.llm_failed;
        if (info.left || info.llm_failed) {
            *out = *one;
            return true;
        }
        assert((size_t)one->status < COUNT_OF(b->votes));
        b->votes[one->status]++;
    }
    policy_verify_count_votes(b, out);
    return true;
}

static bool policy_verify_fall_back(const struct policy_verify_options *o,
                                    const struct policy_react_options *r, struct arena *a,
                                    struct policy_result *out, struct policy_how *how,
                                    struct err *e)
{
    struct policy_result failed = *out;

    if (!policy_verify_by_heuristic(r, a, out, e))
        return false;
    out->reason_code = STR("llm_fallback");
    out->rationale = arena_printf(a,
                                  STR_FMT " (decided by the heuristic: the model could not be "
                                          "asked, " STR_FMT ")",
                                  STR_ARG(out->rationale),
                                  STR_ARG(failed.reason_code));
    how->controller = POLICY_HEURISTIC;
    how->fell_back = true;
    if (o->react.metrics)
        policy_metrics_fallback(o->react.metrics, failed.reason_code);
    return true;
}

/* The model's verdict against the deterministic reading: if one says met and the other missing,
 * nobody knows, and a person has to look. The shadow keeps the model's own verdict, because it
 * is compared with the rules' verdict anyway. */
static bool policy_verify_compare_rules(const struct policy_react_options *r, struct arena *a,
                                        struct policy_result *out, struct err *e)
{
    struct policy_result rules;

    if (out->status == POLICY_UNCERTAIN)
        return true;
    if (!policy_verify_by_heuristic(r, a, &rules, e))
        return false;
    if (rules.status == POLICY_UNCERTAIN || rules.status == out->status)
        return true;
    out->disagree = true;
    out->by_model = out->status;
    out->by_rules = rules.status;
    out->model_rationale = out->rationale;
    out->rules_rationale = rules.rationale;
    out->status = POLICY_UNCERTAIN;
    out->reason_code = STR("readers_disagree");
    if (out->confidence > policy_c_final(POLICY_UNCERTAIN))
        out->confidence = out->c_joint = policy_c_final(POLICY_UNCERTAIN);
    out->rationale = arena_printf(a,
                                  "the model says %s, the rules say %s: " STR_FMT,
                                  policy_status_name(out->by_model),
                                  policy_status_name(out->by_rules),
                                  STR_ARG(rules.rationale));
    return true;
}

static bool policy_verify_one(const struct policy_verify_options *o, size_t i, struct arena *a,
                              struct policy_result *out, struct policy_how *how, struct err *e)
{
    struct policy_react_options r = o->react;
    struct policy_react_info info = {0};
    uint64_t began = clock_mono_ns(r.clock);
    bool ok;

    assert(i < r.c->criterion_count);
    how->controller = o->controller;
    r.criterion = r.c->criteria[i];
    r.run = arena_printf(a, STR_FMT "/%zu", STR_ARG(o->react.run), i);
    if (o->controller == POLICY_HEURISTIC) {
        ok = policy_verify_by_heuristic(&r, a, out, e);
    } else {
        ok = policy_verify_by_model(o, &r, a, out, &info, e);
        if (ok && info.llm_failed && !info.left && o->fallback)
            ok = policy_verify_fall_back(o, &r, a, out, how, e);
        else if (ok && !info.llm_failed && !info.left && o->mode != POLICY_MODE_SHADOW)
            ok = policy_verify_compare_rules(&r, a, out, e);
    }
    how->left = info.left;
    how->iterations = info.iterations;
    how->model_ns = info.model_ns;
    how->took_ns = clock_mono_ns(r.clock) - began;
    if (ok && !info.left && r.metrics)
        policy_metrics_done(r.metrics,
                            &(struct policy_seen){.controller = how->controller,
                                                  .mode = o->mode,
                                                  .status = out->status,
                                                  .confidence = out->confidence,
                                                  .took_ns = how->took_ns,
                                                  .iterations = how->iterations});
    return ok;
}

/* ---- all of them ---- */

/* Criteria of one case, taken by a few threads: each is a run of its own, and mostly waits for
 * the model. Results are in the order of the criteria. */
struct crew {
    const struct policy_verify_options *o;
    struct policy_verdict *out;
    struct arena *arena; /* of the verdict; locked, as all below */
    pthread_mutex_t lock;
    size_t next, count;
    bool *done;
    bool left, failed; /* no further criterion is started */
    struct err *e;     /* of the first that failed */
};

static bool crew_next(struct crew *w, size_t *i)
{
    bool there;

    pthread_mutex_lock(&w->lock);
    there = w->next < w->count && !w->left && !w->failed;
    if (there)
        *i = w->next++;
    pthread_mutex_unlock(&w->lock);
    return there;
}

static void crew_one(struct crew *w, size_t i)
{
    struct policy_result result;
    struct policy_how how = {0};
    struct arena a;
    bool ok;
    struct err e;

    arena_init(&a, CRITERION_ARENA_MAX);
    ok = policy_verify_one(w->o, i, &a, &result, &how, &e);
    pthread_mutex_lock(&w->lock);
    if (ok) {
        assert(i < w->count && !w->done[i]);
        policy_result_dup(&result, w->arena, &w->out->results[i]);
        w->out->how[i] = how;
        w->done[i] = true;
    } else if (!w->failed) {
        *w->e = e;
    }
    w->left |= how.left;
    w->failed |= !ok;
    pthread_mutex_unlock(&w->lock);
    arena_release(&a);
}

static void *crew_work(void *arg)
{
    size_t i;

    while (crew_next(arg, &i))
        crew_one(arg, i);
    return NULL;
}

/* If the host watches (on_effect), it sees one criterion after another. */
static size_t crew_size(const struct policy_verify_options *o, size_t n)
{
    if (o->controller == POLICY_HEURISTIC || o->react.on_effect)
        return 1;
    return n <= POLICY_SIDE_BY_SIDE ? n - (n > 1) : POLICY_SIDE_BY_SIDE;
}

bool policy_verify(const struct policy_verify_options *o, struct arena *a,
                   struct policy_verdict *out, struct err *e)
{
    size_t n = o->react.c->criterion_count, size = crew_size(o, n), begun = 0, first;
    uint64_t began = clock_mono_ns(o->react.clock);
    pthread_t threads[POLICY_SIDE_BY_SIDE];
    struct crew w = {.o = o, .out = out, .arena = a, .count = n, .e = e};

    assert(size <= POLICY_SIDE_BY_SIDE);
    *out = (struct policy_verdict){.results = arena_zero(a, n + 1, sizeof *out->results),
                                   .how = arena_zero(a, n + 1, sizeof *out->how)};
    w.done = arena_zero(a, n + 1, sizeof w.done[0]);
    pthread_mutex_init(&w.lock, NULL);
    /* The first criterion runs alone: the provider then has the common beginning of all prompts in
     * its cache, and if it does not answer at all, only one call has to fail. */
    if (crew_next(&w, &first))
        crew_one(&w, first);
    while (begun + 1 < size && pthread_create(&threads[begun], NULL, crew_work, &w) == 0)
        begun++;
    (void)crew_work(&w);
    while (begun > 0)
        pthread_join(threads[--begun], NULL);
    pthread_mutex_destroy(&w.lock);
    if (w.failed)
        return false;
    assert(w.left || w.next == n);
    out->left = w.left;
    while (out->n < n && w.done[out->n])
        out->model_ns += out->how[out->n++].model_ns;
    out->took_ns = clock_mono_ns(o->react.clock) - began;
    return true;
}

bool policy_all_met(const struct policy_verdict *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->results[i].status != POLICY_MET)
            return false;
    return v->n > 0;
}

/* ---- the envelope ---- */

str policy_prompt_id(const struct policy_verify_options *o)
{
    return o->controller == POLICY_REACT ? o->react.prompt->id : STR(POLICY_HEURISTIC_PROMPT);
}

static const char *policy_verify_version(const struct policy_verify_options *o,
                                         const struct policy_verdict *v)
{
    size_t fell = 0;

    for (size_t i = 0; i < v->n; i++)
        fell += v->how[i].fell_back;
    if (o->controller == POLICY_HEURISTIC)
        return POLICY_HEURISTIC_VERSION;
    if (!fell)
        return POLICY_REACT_VERSION;
    return fell == v->n ? POLICY_REACT_VERSION ", all by fallback to " POLICY_HEURISTIC_VERSION
                        : POLICY_REACT_VERSION ", some by fallback to " POLICY_HEURISTIC_VERSION;
}

void policy_envelope(const struct policy_verify_options *o, const struct policy_verdict *v,
                     struct json_out *out)
{
    char now[CLOCK_TEXT_SIZE];

    json_out_object(out);
    json_member_str(out, "case_id", o->react.c->case_id);
    json_member_array(out, "results");
    for (size_t i = 0; i < v->n; i++)
        policy_result_json(&v->results[i], out);
    json_out_end(out);
    json_member_str_or_null(
        out, "policy_version_used", o->react.doc ? policy_doc_version(o->react.doc) : STR(""));
    json_member_str(out, "controller_version", str_c(policy_verify_version(o, v)));
    json_member_str(out, "prompt_id", policy_prompt_id(o));
    json_member_u64(out, "processing_time_ms", v->took_ns / CLOCK_NS_PER_MS);
    json_member_str(out, "timestamp", clock_format(clock_wall_ms(o->react.clock), now));
    json_out_end(out);
}
