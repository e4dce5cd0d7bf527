/* service.c - opens and closes the service; documents, and resumed runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/service_state.h"

/* ---- documents ---- */

/* Loads the documents of a new configuration. With the lock held, which is released meanwhile:
 * other threads continue with the previous documents. */
static void policy_docs_refresh(struct policy_service *s)
{
    struct setup *setup = gateway_setup(s->host.gateway);
    struct config *c = setup->config;
    struct policy_docs *d;
    struct err e;
    bool ok;

    assert(s->docs);
    if (!s->loading && !policy_docs_of(s->docs, c) && s->refused != c) {
        s->loading = true;
        pthread_mutex_unlock(&s->lock);
        ok = policy_docs_load(c, &d, &e);
        if (!ok)
            log_warn("documents cannot be loaded: those before stay", LOG_ERR(&e));
        pthread_mutex_lock(&s->lock);
        assert(s->loading && s->docs);
        s->loading = false;
        if (ok) {
            policy_docs_release(s->docs);
            s->docs = d;
        } else {
            if (s->refused)
                config_release(s->refused);
            s->refused = config_retain(c);
        }
    }
    setup_release(setup);
}

struct policy_docs *policy_docs_now(struct policy_service *s, struct err *e)
{
    struct policy_docs *d;

    pthread_mutex_lock(&s->lock);
    policy_docs_refresh(s);
    d = policy_docs_count(s->docs) ? policy_docs_hold(s->docs) : NULL;
    pthread_mutex_unlock(&s->lock);
    if (!d)
        err_set(e, ERR_NOT_FOUND, "no documents are configured (policy.documents)");
    return d;
}

struct config *policy_config_now(struct policy_service *s)
{
    struct config *c;

    pthread_mutex_lock(&s->lock);
    policy_docs_refresh(s);
    c = config_retain(policy_docs_config(s->docs));
    pthread_mutex_unlock(&s->lock);
    return c;
}

/* ---- resumed runs ---- */

static void resumed_free(struct job_link *job)
{
    struct resumed *r = (struct resumed *)job;

    arena_release(&r->arena);
    free(r);
}

static void resumed_run(void *service, struct job_link *job)
{
    const struct resumed *r = (const struct resumed *)job;
    struct err e;

    if (!review_again(service, r, &e))
        log_warn("a run could not go on", LOG_STR("run", r->run), LOG_ERR(&e));
}

void policy_resume(struct policy_service *s, const struct agent_row *row)
{
    struct resumed *r = base_alloc(sizeof *r);

    arena_init(&r->arena, SERVICE_ARENA_MAX);
    assert(row->id.n > 0);
    r->run = arena_dup(&r->arena, row->id);
    r->input = arena_dup(&r->arena, row->input);
    if (!job_queue_add(&s->resumed, &r->link, 0))
        resumed_free(&r->link);
}

/* ---- opening ---- */

static bool policy_service_open_parts(struct policy_service *s, const struct config *c,
                                      struct err *e)
{
    str url = s->host.log ? c->store_url : STR("none");

    if (!registry_open(url, s->host.clock, &s->registry, e) || !policy_table_open(url, &s->keep, e))
        return false;
    if (!policy_rollout_open(s->keep, s->host.clock, &s->rollout, e))
        return false;
    if (s->host.gateway->records)
        registry_audit(s->registry, s->host.gateway->store);
    return true;
}

bool policy_service_open(const struct app_host *h, struct policy_service **out, struct err *e)
{
    struct policy_service *s = base_alloc(sizeof *s);
    struct setup *setup = gateway_setup(h->gateway);
    bool ok;

    memset(s, 0, sizeof *s);
    s->host = *h;
    pthread_mutex_init(&s->lock, NULL);
    job_queue_init(&s->resumed, resumed_run, resumed_free, s);
    policy_shadow_init(s);
    s->metrics = policy_metrics_new(h->gateway->metrics);
    ok = policy_service_open_parts(s, setup->config, e) &&
         policy_docs_load(setup->config, &s->docs, e);
    setup_release(setup);
    if (!ok) {
        policy_service_close(s);
        return false;
    }
    assert(s->docs && s->keep && s->rollout && s->registry);

    s->reverify = policy_reverify_new(s);
    *out = s;
    return true;
}

void policy_service_close(struct policy_service *s)
{
    if (!s)
        return;
    job_queue_release(&s->resumed);
    policy_reverify_free(s->reverify);
    job_queue_release(&s->shadow);
    policy_metrics_free(s->metrics);
    policy_rollout_free(s->rollout);
    policy_table_close(s->keep);
    registry_close(s->registry);
    policy_docs_release(s->docs);
    if (s->refused)
        config_release(s->refused);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- for the routes ---- */

struct registry *policy_registry(struct policy_service *s)
{
    return s->registry;
}

struct policy_table *policy_kept_results(struct policy_service *s)
{
    return s->keep;
}

struct policy_rollout *policy_rollout_of(struct policy_service *s)
{
    return s->rollout;
}

struct policy_metrics *policy_metrics_of(struct policy_service *s)
{
    return s->metrics;
}

struct policy_reverify *policy_reverify_of(struct policy_service *s)
{
    return s->reverify;
}

const struct app_host *policy_host(struct policy_service *s)
{
    return &s->host;
}
