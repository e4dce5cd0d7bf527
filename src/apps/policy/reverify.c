/* reverify.c - see reverify.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/reverify.h"

#include "apps/policy/service_state.h"
#include "base/json_get.h"

#define RESULT_JSON_MAX ((size_t)4 << 20)

struct policy_reverify {
    struct policy_service *service;
    pthread_mutex_t lock; /* protects the members below */
    pthread_t thread;
    bool started, running;
    _Atomic bool stop;
    _Atomic bool lost;  /* another daemon continues it */
    struct arena arena; /* of the row */
    struct policy_reverify_row row;
    str version, as_of, controller; /* of its request */
};

/* ---- one case ---- */

/* {"result_id", "status", "confidence", "version", "section", "rationale", "reason_code",
 * "masked"}: masked if values of the case were masked in the store it was read from. */
static str reverify_brief(const struct json *doc, const struct json_node *v, str id, str version,
                          bool masked, struct arena *a)
{
    const struct json_node *citation = json_find(doc, v, STR("citation"));
    double confidence = 0;
    struct json_text t;

    (void)!json_double(doc, json_find(doc, v, STR("confidence")), &confidence);
    json_text_begin(&t, RESULT_JSON_MAX);
    json_member_str(&t.o, "result_id", id);
    json_member_str(&t.o, "status", json_get_text(doc, v, "status", a));
    json_member_double(&t.o, "confidence", confidence);
    json_member_str(&t.o, "version", version);
    json_member_str(&t.o, "section", json_get_text(doc, citation, "section", a));
    json_member_str(&t.o, "rationale", json_get_text(doc, v, "rationale", a));
    json_member_str(&t.o, "reason_code", json_get_text(doc, v, "reason_code", a));
    json_member_bool(&t.o, "masked", masked);
    return json_text_end(&t, a, STR(""));
}

/* The criterion's result of before against that of the envelope. */
static void reverify_compare(const struct policy_again *again, const struct json *envelope,
                             const struct json_node *now, str id, struct arena *a,
                             struct policy_again_done *out)
{
    str version = json_copy_text(envelope, json_root(envelope), "policy_version_used", a);
    struct json before;
    struct err e;

    assert(again->n <= POLICY_CRITERIA_MAX && !out->flipped);
    out->criterion = json_copy_text(envelope, now, "criterion_id", a);
    out->old_result = STR("");
    out->new_result = reverify_brief(envelope, now, id, version, again->masked, a);
    for (size_t i = 0; i < again->n; i++) {
        if (!str_eq(again->criteria[i], out->criterion))
            continue;
        if (json_open(&before, again->results[i], &e)) {
            const struct json_node *root = json_root(&before);

            out->old_result =
                reverify_brief(&before, root, again->ids[i], again->versions[i], false, a);
            out->flipped = !str_eq(json_copy_text(&before, root, "status", a),
                                   json_copy_text(envelope, now, "status", a));
        }
        json_release(&before);
    }
}

static bool reverify_keep(struct policy_reverify *r, struct policy_again_done *rows, size_t n,
                          struct err *e)
{
    struct policy_service *s = r->service;
    struct setup *setup = gateway_setup(s->host.gateway);
    bool ok = r->lost ? err_set(e, ERR_CONFLICT, "another daemon continues it")
                      : policy_table_reverified(s->keep, rows, n, setup->mask, e);

    setup_release(setup);
    return ok;
}

static bool reverify_case(struct policy_reverify *r, const struct policy_again *again, int64_t n,
                          struct arena *a, struct err *e)
{
    struct policy_ask q = {
        .body = again->body,
        .run = arena_printf(a, "reverify-" STR_FMT "-%lld", STR_ARG(r->row.id), (long long)n),
        .key = again->key,
        .operator_ = true,
        .controller = r->controller.n ? r->controller : again->controller,
        .model = STR(""),
        .version = r->version,
        .as_of = r->as_of,
        .document_id = r->row.document_id,
        .masked = again->masked,
        .stored = true};
    struct policy_review *review = arena_zero(a, 1, sizeof *review);
    struct policy_again_done *rows = arena_zero(a, POLICY_CRITERIA_MAX + 1, sizeof *rows);
    struct policy_again_done base = {.id = r->row.id,
                                     .run = again->run,
                                     .criterion = STR(""),
                                     .case_id = again->case_id,
                                     .old_result = STR(""),
                                     .new_result = STR(""),
                                     .error = STR(""),
                                     .created_us = clock_wall_ms(r->service->host.clock) * 1000};
    size_t count = 0;
    struct json doc;
    struct err why;
    bool ok;

    rows[0] = base;
    if (!policy_review(r->service, &q, a, review, &why)) {
        rows[0].error = arena_dup(a, str_c(why.text));
        return reverify_keep(r, rows, 1, e);
    }
    if (review->left)
        return err_set(e, ERR_TIMEOUT, "the process ends");
    ok = json_open(&doc, review->envelope, e);
    JSON_FOREACH(v, &doc, json_find(&doc, json_root(&doc), STR("results")))
        if (count < POLICY_CRITERIA_MAX) {
            str id = arena_printf(a, STR_FMT "/%zu", STR_ARG(review->run), count);

            rows[count] = base;
            reverify_compare(again, &doc, v, id, a, &rows[count]);
            count++;
        }
    assert(count <= POLICY_CRITERIA_MAX);
    ok = ok && reverify_keep(r, rows, count ? count : 1, e);
    json_release(&doc);
    return ok;
}

/* ---- all of them ---- */

static bool reverify_all(struct policy_reverify *r, struct err *e)
{
    struct policy_table *k = r->service->keep;
    int64_t after = -1, n = 0;
    char last[128] = "";
    bool found = true, ok;

    /* The clock has milliseconds: a case that this job verifies must be newer than the job, or it
     * would be verified again. */
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    ok = policy_table_reverify_done(k, r->row.id, &n, e);
    while (ok && found && !r->stop && !r->lost) {
        struct policy_again again = {.run = str_c(last), .created_us = after};
        struct arena a;

        arena_init(&a, SERVICE_ARENA_MAX);
        ok = policy_table_reverify_next(k, &r->row, &a, &again, &found, e) &&
             (!found || reverify_case(r, &again, ++n, &a, e));
        if (ok && found) {
            after = again.created_us;
            (void)snprintf(last, sizeof last, STR_FMT, STR_ARG(again.run));
        }
        arena_release(&a);
    }
    return ok;
}

static void *reverify_work(void *arg)
{
    struct policy_reverify *r = arg;
    struct policy_service *s = r->service;
    struct err e, kept;
    bool ok = reverify_all(r, &e), ended;
    bool leaves = r->stop || r->lost || (s->host.leave && *s->host.leave);
    struct policy_reverify_row end = {.id = r->row.id,
                                      .status = ok ? STR("done") : STR("failed"),
                                      .error = ok ? STR("") : str_c(e.text),
                                      .ended_us = clock_wall_ms(s->host.clock) * 1000};

    /* One that was cancelled has ended in the store already. */
    if (!leaves && !policy_table_reverify_end(s->keep, &end, &ended, &kept))
        log_warn("the end of a re-verification is not on record", LOG_ERR(&kept));
    if (!ok && !leaves)
        log_warn("a re-verification failed", LOG_STR("id", r->row.id), LOG_ERR(&e));
    pthread_mutex_lock(&r->lock);
    assert(r->running && r->started);
    r->running = false;
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* With the lock held, and nothing running. */
static void reverify_begin(struct policy_reverify *r, const struct policy_reverify_row *row)
{
    assert(!r->running);
    if (r->started)
        pthread_join(r->thread, NULL);
    arena_release(&r->arena);
    arena_init(&r->arena, RESULT_JSON_MAX);
    r->row = *row;
    r->row.id = arena_dup(&r->arena, row->id);
    r->row.document_id = arena_dup(&r->arena, row->document_id);
    r->version = json_copy_member(row->request, "version", &r->arena);
    r->as_of = json_copy_member(row->request, "as_of_date", &r->arena);
    r->controller = json_copy_member(row->request, "controller", &r->arena);
    r->lost = false;
    r->running = r->started = true;
    if (pthread_create(&r->thread, NULL, reverify_work, r) != 0)
        base_die("no thread could be started");
}

struct policy_reverify *policy_reverify_new(struct policy_service *s)
{
    struct policy_reverify *r = base_alloc(sizeof *r);

    memset(r, 0, sizeof *r);
    r->service = s;
    r->row.id = STR("");
    pthread_mutex_init(&r->lock, NULL);
    arena_init(&r->arena, RESULT_JSON_MAX);
    return r;
}

void policy_reverify_free(struct policy_reverify *r)
{
    if (!r)
        return;
    r->stop = true;
    if (r->started)
        pthread_join(r->thread, NULL);
    arena_release(&r->arena);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

bool policy_reverify_start(struct policy_reverify *r, const struct policy_reverify_row *row,
                           struct err *e)
{
    struct policy_reverify_row own = *row;
    bool ok;

    own.daemon = r->service->host.daemon;
    pthread_mutex_lock(&r->lock);
    ok = !r->running ||
         err_set(e,
                 ERR_CONFLICT,
                 "re-verification " STR_FMT " is running; wait for its end, or cancel it",
                 STR_ARG(r->row.id));
    if (ok && (ok = policy_table_reverify_put(r->service->keep, &own, e)))
        reverify_begin(r, &own);
    pthread_mutex_unlock(&r->lock);
    return ok;
}

void policy_reverify_resume(struct policy_reverify *r)
{
    struct policy_reverify_row row;
    bool found = false;
    struct arena a;
    struct err e;

    pthread_mutex_lock(&r->lock);
    arena_init(&a, RESULT_JSON_MAX);
    if (!r->running && !policy_table_reverify_running(
                           r->service->keep, r->service->host.daemon, &a, &row, &found, &e))
        log_warn("a re-verification could not go on", LOG_ERR(&e));
    if (found)
        reverify_begin(r, &row);
    pthread_mutex_unlock(&r->lock);
    arena_release(&a);
}

void policy_reverify_lost(struct policy_reverify *r)
{
    r->lost = true;
}
