/* shadow.c - see shadow.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/service_state.h"

#include <math.h>

struct served {
    enum policy_status status;
    double confidence;
};

struct job {
    struct job_link link;
    struct arena arena;
    struct policy_docs *docs;
    const struct policy_doc *doc; /* one of them, or NULL */
    str body, run, model;
    struct served *served;
    size_t n;
    bool candidate;
};

static void policy_shadow_job_free(struct job_link *link)
{
    struct job *j = (struct job *)link;

    policy_docs_release(j->docs);
    arena_release(&j->arena);
    free(j);
}

/* ---- comparing ---- */

static bool policy_shadow_compare(struct policy_service *s, struct job *j,
                                  const struct policy_review *r, size_t i, struct err *e)
{
    const struct policy_result *got = &r->verdict.results[i];
    const struct served *was = &j->served[i];
    struct policy_compared row = {.id = arena_printf(&j->arena, STR_FMT "/%zu", STR_ARG(j->run), i),
                                  .session = j->run,
                                  .case_id = r->c.case_id,
                                  .criterion = got->criterion_id,
                                  .served_status = str_c(policy_status_name(was->status)),
                                  .shadow_status = str_c(policy_status_name(got->status)),
                                  .served_confidence = was->confidence,
                                  .shadow_confidence = got->confidence,
                                  .reason_code = got->reason_code,
                                  .prompt_id = r->options.react.prompt->id,
                                  .differs =
                                      was->status != got->status ||
                                      fabs(was->confidence - got->confidence) > POLICY_SHADOW_DELTA,
                                  .created_us = clock_wall_ms(s->host.clock) * 1000};

    bool ok = policy_table_shadow(s->keep, &row, e);

    assert(i < j->n && i < r->verdict.n);
    /* After the row is stored, so that a reader of the count finds the row. */
    policy_metrics_shadow(s->metrics, row.differs);
    if (row.differs)
        log_info("the shadow differs",
                 LOG_STR("case", row.case_id),
                 LOG_STR("criterion", row.criterion),
                 LOG_STR("served", row.served_status),
                 LOG_F64("served_confidence", row.served_confidence),
                 LOG_STR("shadow", row.shadow_status),
                 LOG_F64("shadow_confidence", row.shadow_confidence),
                 LOG_STR("reason", row.reason_code));
    return ok;
}

static bool policy_run_job(struct policy_service *s, struct job *j, struct err *e)
{
    struct policy_review *r = arena_zero(&j->arena, 1, sizeof *r);
    struct setup *setup = gateway_setup(s->host.gateway);
    struct prompt prompt;
    bool ok;

    assert(j->docs && j->n > 0 && j->served);
    if (!(j->candidate &&
          registry_candidate(s->registry, str_c(policy_built_in.name), &j->arena, &prompt, e)))
        registry_in_force(s->registry, &policy_built_in, &j->arena, &prompt);
    r->options = (struct policy_verify_options){
        .controller = POLICY_REACT,
        .mode = POLICY_MODE_SHADOW,
        .react = review_react(s, setup, &policy_docs_config(j->docs)->policy)};
    r->options.react.c = &r->c;
    r->options.react.prompt = &prompt;
    r->options.react.model = j->model;
    r->options.react.run = r->options.react.session =
        arena_join(&j->arena, j->run, STR("-shadow"), STR(""));
    r->options.react.input = STR("{\"shadow\":true}");
    r->options.react.key = STR(""); /* the operator's wish, and not at the client's cost */
    r->options.react.log = NULL;    /* nobody waits for it, so it is not resumed after a kill */
    r->options.react.doc = j->doc;
    r->options.react.docs = policy_docs_all(j->docs);
    r->options.react.doc_count = policy_docs_count(j->docs);
    ok = policy_case_read_stored(j->body, &j->arena, &r->c, e) &&
         policy_verify(&r->options, &j->arena, &r->verdict, e);
    for (size_t i = 0; ok && !r->verdict.left && i < j->n && i < r->verdict.n; i++)
        ok = policy_shadow_compare(s, j, r, i, e);
    setup_release(setup);
    return ok;
}

/* ---- the queue ---- */

static void policy_shadow_run(void *service, struct job_link *link)
{
    struct job *j = (struct job *)link;
    struct err e;

    if (!policy_run_job(service, j, &e))
        log_warn("the shadow failed", LOG_STR("run", j->run), LOG_ERR(&e));
}

void policy_shadow_init(struct policy_service *s)
{
    job_queue_init(&s->shadow, policy_shadow_run, policy_shadow_job_free, s);
}

static struct job *policy_shadow_job_new(const struct policy_shadow_job *from)
{
    struct job *j = base_alloc(sizeof *j);

    assert(from->docs && from->served->n > 0 && from->model.n > 0);
    *j = (struct job){.n = from->served->n, .candidate = from->candidate};
    arena_init(&j->arena, SERVICE_ARENA_MAX);
    j->docs = policy_docs_hold(from->docs);
    j->body = arena_dup(&j->arena, from->body);
    j->run = arena_dup(&j->arena, from->run);
    j->model = arena_dup(&j->arena, from->model);
    j->doc = from->doc;
    j->served = arena_zero(&j->arena, j->n + 1, sizeof *j->served);
    for (size_t i = 0; i < j->n; i++)
        j->served[i] =
            (struct served){from->served->results[i].status, from->served->results[i].confidence};
    return j;
}

bool policy_shadow_post(struct policy_service *s, const struct policy_shadow_job *from)
{
    struct job *j = policy_shadow_job_new(from);
    bool room = job_queue_add(&s->shadow, &j->link, POLICY_SHADOW_MAX);

    if (!room)
        policy_shadow_job_free(&j->link);
    return room;
}
