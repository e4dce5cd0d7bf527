/* review.c - one case: chooses controller, prompt and model, stores the choice, then verifies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/service_state.h"

#include "apps/policy/version.h"
#include "base/ctype.h"
#include "base/json_get.h"
#include "base/log.h"
#include "gateway/publish.h"

#define INPUT_MAX ((size_t)64 << 20)
#define ENVELOPE_MAX ((size_t)64 << 20)
#define RUN_ID_MAX 100

struct reviewing {
    struct policy_service *s;
    const struct policy_ask *q;
    struct setup *setup;
    struct config *config; /* of policies: that of the documents */
    struct policy_docs *docs;
    struct decision d;
    bool recalled; /* decided before */
    str body, input;
};

/* ---- the run ---- */

static bool policy_review_run_id_ok(str id)
{
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];

        if (!char_is_letter(c) && !char_is_digit(c) && !memchr("._:-", c, 4))
            return false;
    }
    return id.n > 0 && id.n <= RUN_ID_MAX;
}

static bool policy_review_run_id(struct policy_service *s, const struct policy_ask *q,
                                 const struct json *options, struct arena *a, str *out,
                                 struct err *e)
{
    char id[RAND_ID_SIZE];

    *out = q->run;
    if (!out->n &&
        !json_text(options, json_find(options, json_root(options), STR("run_id")), a, out))
        *out = STR("");
    if (!out->n)
        *out = arena_join(a, STR("policy-"), rand_id(&s->host.gateway->ids, id), STR(""));
    return policy_review_run_id_ok(*out) ||
           err_input(e, "options.run_id: has 1 to %d letters, digits and . _ : -", RUN_ID_MAX);
}

/* All that is needed to repeat it in the same way. */
static str policy_review_input(const struct policy_ask *q, const struct decision *d, str body,
                               struct arena *a)
{
    struct json_text t;

    assert(d->samples >= 1 && d->samples <= POLICY_SAMPLES_MAX && d->today.n > 0);
    json_text_begin(&t, INPUT_MAX);
    json_member_str(&t.o, "body", body);
    json_member_str(&t.o, "key", d->key);
    json_member_str(&t.o, "controller", str_c(policy_controller_name(d->plan.controller)));
    json_member_i64(&t.o, "mode", d->plan.mode);
    json_member_str(&t.o, "prompt_id", d->prompt.id);
    json_member_str(&t.o, "model", d->model);
    json_member_str(&t.o, "today", d->today);
    json_member_str(&t.o, "version", d->version);
    json_member_str(&t.o, "as_of", d->as_of);
    json_member_str(&t.o, "document_id", d->document_id);
    json_member_bool(&t.o, "masked", d->masked);
    json_member_bool(&t.o, "fallback", d->switches.fallback);
    json_member_i64(&t.o, "samples", d->samples);
    json_member_texts(&t.o, "criteria", d->criteria.list, d->criteria.n);
    if (q->doc_file)
        json_member_str(&t.o, "doc_file", str_c(q->doc_file));
    return json_text_end(&t, a, STR("{}"));
}

bool review_prompt(struct policy_service *s, str id, struct arena *a, struct prompt *out,
                   struct err *e)
{
    prompt_built_in(&policy_built_in, a, out);
    return str_eq(out->id, id) || registry_get(s->registry, id, a, out, e);
}

static void policy_review_recall_criteria(const struct json *doc, struct arena *a,
                                          struct decision *d)
{
    const struct json_node *list = json_find(doc, json_root(doc), STR("criteria"));

    assert(d->criteria.n == 0);
    d->criteria.list = arena_zero(a, POLICY_CRITERIA_MAX, sizeof d->criteria.list[0]);
    JSON_FOREACH(v, doc, list) {
        str name;

        if (d->criteria.n < POLICY_CRITERIA_MAX && json_text(doc, v, a, &name))
            d->criteria.list[d->criteria.n++] = arena_dup(a, name);
    }
}

/* Reads the choice that was stored when the run started. */
static bool policy_review_recall_choice(struct reviewing *w, const struct agent_row *row,
                                        struct arena *a, struct err *e)
{
    const struct policy_ask *q = w->q;
    struct decision *d = &w->d;
    const struct json_node *root;
    struct json doc;
    int64_t mode, samples;
    bool ok;

    ok = json_open(&doc, row->input, e);
    root = json_root(&doc);
    if (ok && !q->operator_ && !str_eq(json_copy_text(&doc, root, "key", a), q->key))
        ok = err_input(e, POLICY_RUN_TAKEN, "by a run of another key");
    if (ok && !str_eq(json_copy_text(&doc, root, "body", a), w->body))
        ok = err_input(e, POLICY_RUN_TAKEN, "by another request");
    if (ok) {
        mode = json_get_i64(&doc, root, "mode", 0);
        samples = json_get_i64(&doc, root, "samples", 1);
        (void)!json_bool(json_find(&doc, root, STR("fallback")), &d->switches.fallback);
        d->plan.mode = mode >= 0 && mode < POLICY_MODES ? (enum policy_mode)mode : POLICY_MODE_LLM;
        d->plan.controller = str_eq(json_copy_text(&doc, root, "controller", a), STR("react"))
                                 ? POLICY_REACT
                                 : POLICY_HEURISTIC;
        d->samples = samples > 0 && samples <= POLICY_SAMPLES_MAX ? (unsigned)samples : 1;
        d->model = json_copy_text(&doc, root, "model", a);
        d->key = json_copy_text(&doc, root, "key", a);
        d->today = json_copy_text(&doc, root, "today", a);
        d->version = json_copy_text(&doc, root, "version", a);
        d->as_of = json_copy_text(&doc, root, "as_of", a);
        d->document_id = json_copy_text(&doc, root, "document_id", a);
        (void)!json_bool(json_find(&doc, root, STR("masked")), &d->masked);
        policy_review_recall_criteria(&doc, a, d);
        ok = review_prompt(w->s, json_copy_text(&doc, root, "prompt_id", a), a, &d->prompt, e);
    }
    json_release(&doc);
    return ok;
}

/* ---- controllers ---- */

static bool policy_review_samples(const struct policy_case *c, const struct json *options,
                                  unsigned *out, struct err *e)
{
    const struct json_node *v = json_find(options, json_root(options), STR("samples"));
    int64_t n = POLICY_SAMPLES;

    if (v && (!json_i64(options, v, &n) || n < 1 || n > POLICY_SAMPLES_MAX))
        return err_input(e, "options.samples: must be 1 to %d", POLICY_SAMPLES_MAX);
    *out = c->self_consistency ? (unsigned)n : 1;
    return true;
}

static bool policy_review_asked(const struct policy_ask *q, const struct json *options,
                                struct arena *a, str *out, struct err *e)
{
    *out = q->controller;
    if (!out->n)
        *out = json_copy_text(options, json_root(options), "controller", a);
    if (!out->n || str_eq(*out, STR("auto"))) {
        *out = STR("");
        return true;
    }
    if (!str_eq(*out, STR("heuristic")) && !str_eq(*out, STR("react")))
        return err_input(e, "options.controller: must be heuristic, react or auto");
    return q->operator_ ||
           err_set(e, ERR_AUTH, "options.controller: only an operator may choose the controller");
}

static bool policy_review_decide(struct reviewing *w, const struct policy_case *c,
                                 const struct json *options, struct arena *a, struct err *e)
{
    const struct policy_ask *q = w->q;
    const struct config *config = w->config;
    struct policy_service *s = w->s;
    struct decision *d = &w->d;
    str asked, wanted = q->model.n ? q->model : config->policy.model;

    d->key = q->key.n ? q->key : STR("");
    d->version = q->version.n ? q->version : STR("");
    d->as_of = q->as_of.n ? q->as_of : STR("");
    d->document_id = q->document_id.n ? q->document_id : STR("");
    d->masked = q->masked;
    if (!policy_review_asked(q, options, a, &asked, e) ||
        !policy_review_samples(c, options, &d->samples, e))
        return false;
    policy_rollout_now(s->rollout, config, &d->switches, NULL);
    policy_decide(&d->switches, config->policy.ab_salt, c->case_id, asked, &d->plan);
    if (!(d->plan.candidate &&
          registry_candidate(s->registry, str_c(policy_built_in.name), a, &d->prompt, e)))
        registry_in_force(s->registry, &policy_built_in, a, &d->prompt);
    if (d->plan.controller == POLICY_REACT || d->plan.mode == POLICY_MODE_SHADOW) {
        if (!app_model(config, wanted, &d->model, e)) {
            e->code = d->plan.controller == POLICY_REACT ? ERR_SYSTEM : e->code;
            return d->plan.controller != POLICY_REACT;
        }
    }
    if (d->plan.assigned)
        policy_metrics_assigned(s->metrics, d->plan.controller);
    return true;
}

struct policy_react_options review_react(struct policy_service *s, struct setup *setup,
                                         const struct config_policy *p)
{
    return (struct policy_react_options){.search = p->search,
                                         .tokens_max = p->tokens_max,
                                         .time_max_ms = p->time_max_ms,
                                         .ask = agent_ask_gateway(s->host.gl),
                                         .log = s->host.log,
                                         .store = s->host.gateway->records ? s->host.gateway->store
                                                                           : NULL,
                                         .mask = setup->mask,
                                         .metrics = s->metrics,
                                         .clock = s->host.clock,
                                         .cancel = s->host.leave,
                                         .leave = s->host.leave};
}

/* ---- on record ---- */

static bool policy_review_put_row(struct policy_service *s, const struct policy_review *r,
                                  const char *status, str input, struct err *e)
{
    int64_t now = clock_wall_ms(s->host.clock) * 1000;
    struct agent_row row = {.id = r->run,
                            .app = STR("policy"),
                            .session_id = r->run,
                            .key = r->options.react.key,
                            .status = str_c(status),
                            .reason = STR(""),
                            .input = input,
                            .result = r->envelope,
                            .created_us = now,
                            .updated_us = now,
                            .care =
                                str_eq(str_c(status), STR("running")) ? AGENT_SAFE : AGENT_ON_DISK};

    return !s->host.log || r->options.controller == POLICY_HEURISTIC ||
           agent_log_run_put(s->host.log, &row, e);
}

/* The runs of the criteria are parts of one session. */
static void policy_review_publish_session(struct policy_service *s, const struct policy_review *r,
                                          bool done)
{
    const struct mask *mask = r->options.react.mask;
    int64_t now = clock_wall_ms(s->host.clock) * 1000;
    struct store_session row = {.id = r->run,
                                .alert_id = STR(""),
                                .agent_type = STR("policy"),
                                .alert_type = r->c.policy_id,
                                .status = done ? STR("completed") : STR("in_progress"),
                                .alert_data = STR(""),
                                .error_message = STR(""),
                                .key_name = r->options.react.key,
                                .started_us = done ? -1 : now,
                                .completed_us = done ? now : -1};
    struct buf words, masked, metadata;
    struct json_out o;

    if (!s->host.gateway->records || r->options.controller == POLICY_HEURISTIC)
        return;
    buf_init(&words, ENVELOPE_MAX);
    buf_init(&masked, ENVELOPE_MAX);
    buf_init(&metadata, ENVELOPE_MAX);
    json_out_init_object(&o, &metadata);
    json_member_str(&o, "prompt_id", policy_prompt_id(&r->options));
    json_out_end(&o);
    row.session_metadata = buf_str(&metadata);
    for (size_t i = 0; done && i < r->verdict.n; i++)
        buf_printf(&words,
                   "%s" STR_FMT ": %s (%.3f). " STR_FMT,
                   i ? "\n" : "",
                   STR_ARG(r->verdict.results[i].criterion_id),
                   policy_status_name(r->verdict.results[i].status),
                   r->verdict.results[i].confidence,
                   STR_ARG(r->verdict.results[i].rationale));
    row.final_analysis = mask && words.n && mask_json(mask, buf_str(&words), &masked, NULL)
                             ? buf_str(&masked)
                             : buf_str(&words);
    publish_session(s->host.gateway->store, s->host.gateway->hub, &row);
    buf_release(&words);
    buf_release(&masked);
    buf_release(&metadata);
}

static bool policy_review_keep(struct policy_service *s, const struct policy_review *r,
                               const struct policy_kept_case *kept, struct arena *a, struct err *e)
{
    const struct policy_doc *doc = r->options.react.doc;
    size_t n = r->verdict.n;
    struct policy_kept *rows = arena_zero(a, n + 1, sizeof *rows);
    struct json_out o;
    struct buf json;

    assert(n == r->c.criterion_count && r->run.n > 0 && !r->verdict.left);
    buf_init(&json, ENVELOPE_MAX);
    for (size_t i = 0; i < n; i++) {
        buf_reset(&json);
        json_out_init(&o, &json);
        policy_result_json(&r->verdict.results[i], &o);
        rows[i] = (struct policy_kept){
            .id = arena_printf(a, STR_FMT "/%zu", STR_ARG(r->run), i),
            .run = r->run,
            .session = r->run,
            .case_id = r->c.case_id,
            .criterion = r->verdict.results[i].criterion_id,
            .status = str_c(policy_status_name(r->verdict.results[i].status)),
            .controller = str_c(policy_controller_name(r->verdict.how[i].controller)),
            .mode = str_c(policy_mode_name(r->options.mode)),
            .prompt_id = policy_prompt_id(&r->options),
            .key = r->options.react.key,
            .document_id = doc ? doc->id : STR(""),
            .version = doc ? policy_doc_version(doc) : STR(""),
            .hash = doc ? str_c(doc->tree.hash) : STR(""),
            .result = arena_dup(a, buf_str(&json)),
            .created_us = kept->created_us};
    }
    buf_release(&json);
    return policy_table_results(s->keep, kept, rows, n, r->options.react.mask, e);
}

static bool policy_review_write_envelope(struct policy_review *r, struct arena *a, struct err *e)
{
    struct json_out o;
    struct buf json;
    bool ok;

    buf_init(&json, ENVELOPE_MAX);
    json_out_init(&o, &json);
    policy_envelope(&r->options, &r->verdict, &o);
    ok = buf_ok(&json, "the results", e);
    r->envelope = ok ? arena_dup(a, buf_str(&json)) : STR("");
    buf_release(&json);
    return ok;
}

/* ---- a case ---- */

static struct policy_kept_case policy_review_case(const struct reviewing *w,
                                                  const struct policy_review *r)
{
    const struct policy_doc *doc = r->options.react.doc;

    return (struct policy_kept_case){.run = r->run,
                                     .case_id = r->c.case_id,
                                     .document_id = doc ? doc->id : STR(""),
                                     .key = w->d.key,
                                     .body = w->body,
                                     .masked = w->d.masked,
                                     .created_us = clock_wall_ms(w->s->host.clock) * 1000};
}

/* Decided before, or now. */
static bool policy_review_settle(struct reviewing *w, struct arena *a, struct policy_review *out,
                                 struct err *e)
{
    char today[POLICY_DAY_SIZE];
    struct policy_kept_case kept;
    struct agent_row row;
    struct json options;
    bool ok;

    assert(!w->recalled && out->run.n == 0);
    ok = json_open(&options, out->c.options, e) &&
         policy_review_run_id(w->s, w->q, &options, a, &out->run, e);
    w->recalled = ok && w->s->host.log && agent_log_run_get(w->s->host.log, out->run, a, &row, e);
    if (w->recalled) {
        ok = policy_review_recall_choice(w, &row, a, e);
    } else if (ok) {
        ok = policy_review_decide(w, &out->c, &options, a, e);
        w->d.today = arena_dup(a, policy_today(w->s->host.clock, today));
    }
    json_release(&options);
    kept = policy_review_case(w, out);
    return ok && policy_table_run_free(w->s->keep, &kept, w->setup->mask, e);
}

/* A case that names no criteria is verified by the criteria that a person confirmed for the
 * policy. */
static bool policy_review_criteria(struct reviewing *w, struct arena *a, struct policy_review *out,
                                   struct err *e)
{
    const struct policy_doc *doc = out->options.react.doc;

    if (!w->recalled && out->c.criteria_default && doc &&
        !policy_table_confirmed(w->s->keep, doc->id, policy_doc_version(doc), a, &w->d.criteria, e))
        return false;
    assert(w->d.criteria.n <= POLICY_CRITERIA_MAX);
    if (w->d.criteria.n) {
        out->c.criteria = w->d.criteria.list;
        out->c.criterion_count = w->d.criteria.n;
    }
    assert(out->c.criterion_count >= 1 && out->c.criterion_count <= POLICY_CRITERIA_MAX);
    w->input = policy_review_input(w->q, &w->d, w->body, a);
    return true;
}

/* The document a case names, or the only one there is, in the version in force for it. */
static bool policy_review_doc_of(struct reviewing *w, struct arena *a, struct policy_case *c,
                                 const struct policy_doc **out, struct err *e)
{
    char today[POLICY_DAY_SIZE];

    if (w->d.version.n || w->d.as_of.n) {
        c->policy_version_id = w->d.version;
        c->as_of_date = w->d.as_of;
        if (w->d.document_id.n)
            c->policy_document_id = w->d.document_id;
    }
    if (!w->d.today.n) /* of a run from before versions had days */
        w->d.today = arena_dup(a, policy_today(w->s->host.clock, today));
    if (w->q->doc)
        return policy_file_doc(c, w->q->doc, w->d.today, out, e);
    if (!policy_case_doc(
            c, policy_docs_all(w->docs), policy_docs_count(w->docs), w->d.today, out, e))
        return false;
    return *out || !c->policy_document_id.n ||
           err_input(e,
                     "case_bundle.metadata.policy_document_id: no document \"" STR_FMT
                     "\" is configured",
                     STR_ARG(str_slice(c->policy_document_id, 0, 80)));
}

static void policy_review_options_of(struct reviewing *w, struct arena *a,
                                     struct policy_review *out)
{
    struct policy_verify_options *o = &out->options;

    *o = (struct policy_verify_options){.controller = w->d.plan.controller,
                                        .mode = w->d.plan.mode,
                                        .fallback = w->d.switches.fallback,
                                        .samples = w->d.samples,
                                        .react = review_react(w->s, w->setup, &w->config->policy)};
    o->react.c = &out->c;
    o->react.prompt = &w->d.prompt;
    o->react.model = w->d.model;
    o->react.run = o->react.session = out->run;
    o->react.key = w->d.key;
    o->react.input = arena_printf(a, "{\"parent\":\"" STR_FMT "\"}", STR_ARG(out->run));
    o->react.docs = policy_docs_all(w->docs);
    o->react.doc_count = policy_docs_count(w->docs);
    o->react.on_effect = w->q->on_effect;
    o->react.ctx = w->q->ctx;
}

static void policy_review_follow(struct reviewing *w, const struct policy_review *r)
{
    struct policy_shadow_job job = {.body = w->body,
                                    .run = r->run,
                                    .model = w->d.model,
                                    .docs = w->docs,
                                    .doc = w->q->doc ? NULL : r->options.react.doc,
                                    .served = &r->verdict,
                                    .candidate = w->d.plan.candidate};

    if (r->options.mode == POLICY_MODE_SHADOW && w->docs && w->d.model.n &&
        !policy_shadow_post(w->s, &job))
        policy_metrics_shadow_dropped(w->s->metrics);
}

static bool policy_review_work(struct reviewing *w, struct arena *a, struct policy_review *out,
                               struct err *e)
{
    struct policy_kept_case kept;
    struct err why;

    if (!(w->q->stored ? policy_case_read_stored : policy_case_read)(w->body, a, &out->c, e) ||
        !policy_review_settle(w, a, out, e))
        return false;
    policy_review_options_of(w, a, out);
    if (!policy_review_doc_of(w, a, &out->c, &out->options.react.doc, e) ||
        !policy_review_criteria(w, a, out, e))
        return false;
    policy_review_publish_session(w->s, out, false);
    if (!policy_review_put_row(w->s, out, "running", w->input, e) ||
        !policy_verify(&out->options, a, &out->verdict, e))
        return false;
    assert(out->verdict.left || out->verdict.n == out->c.criterion_count);
    out->left = out->verdict.left;
    if (out->left)
        return true;
    if (!policy_review_write_envelope(out, a, e))
        return false;
    kept = policy_review_case(w, out);
    if (!policy_review_keep(w->s, out, &kept, a, &why)) {
        if (why.code == ERR_INPUT) { /* another run took the id in the meantime */
            *e = why;
            return false;
        }
        log_warn("a result is not on record", LOG_STR("run", out->run), LOG_ERR(&why));
    }
    policy_review_publish_session(w->s, out, true);
    policy_review_follow(w, out);
    return policy_review_put_row(w->s, out, "done", w->input, e);
}

bool policy_review(struct policy_service *s, const struct policy_ask *q, struct arena *a,
                   struct policy_review *out, struct err *e)
{
    struct reviewing *w = arena_zero(a, 1, sizeof *w);
    struct err none;
    bool ok;

    *w = (struct reviewing){.s = s, .q = q, .setup = gateway_setup(s->host.gateway)};
    w->d.model = w->d.key = w->d.today = w->d.version = w->d.as_of = w->d.document_id = STR("");
    w->body = arena_dup(a, q->body);
    w->docs = policy_docs_now(s, &none);
    w->config = w->docs ? config_retain(policy_docs_config(w->docs)) : policy_config_now(s);
    *out = (struct policy_review){.run = STR(""), .envelope = STR("")};
    ok = policy_review_work(w, a, out, e);
    /* The verdict's pointers into documents end here; only the envelope remains valid. */
    policy_docs_release(w->docs);
    config_release(w->config);
    setup_release(w->setup);
    return ok;
}

/* ---- again ---- */

bool review_again(struct policy_service *s, const struct resumed *r, struct err *e)
{
    struct policy_ask q = {
        .run = r->run, .operator_ = true, .controller = STR(""), .model = STR(""), .stored = true};
    struct policy_doc *doc = NULL;
    struct arena a;
    str file;
    bool ok = true;

    arena_init(&a, SERVICE_ARENA_MAX);
    q.body = json_copy_member(r->input, "body", &a);
    q.key = json_copy_member(r->input, "key", &a);
    file = json_copy_member(r->input, "doc_file", &a);
    if (q.body.n && file.n) {
        q.doc_file = file.p;
        ok = policy_doc_load(NULL, file.p, &doc, e);
        q.doc = doc;
    }
    /* A criterion's own run is resumed by the run of its case. */
    if (ok && q.body.n)
        ok = policy_review(s, &q, &a, arena_zero(&a, 1, sizeof(struct policy_review)), e);
    policy_doc_free(doc);
    arena_release(&a);
    return ok;
}
