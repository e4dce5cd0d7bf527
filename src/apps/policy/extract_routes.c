/* extract_routes.c - criteria and facts proposed by a model, decided by a person. See routes.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/extract.h"
#include "apps/policy/member.h"
#include "apps/policy/routes.h"
#include "base/utf8.h"

#define PROPOSALS_SHOWN 200
#define DECIDED_AT_ONCE 1000

static struct policy_proposals proposals_any(void)
{
    str any = STR("");

    return (struct policy_proposals){any, any, any, any, any, any, POLICY_LIST_MAX};
}

/* ---- extraction ---- */

struct extract_asked {
    str kind, document_id, version, as_of, section, case_id, doc_id, text, model;
    double timeout_s;
};

static bool extract_asked_read(const struct json *doc, struct arena *a, struct extract_asked *x,
                               struct err *e)
{
    struct member m = {.doc = doc, .arena = a, .e = e};
    const struct json_node *root = json_root(doc);
    str empty = STR("");
    bool facts;

    *x = (struct extract_asked){
        empty, empty, empty, empty, empty, empty, empty, empty, empty, POLICY_EXTRACT_TIMEOUT_S};
    if (!member_text(&m, root, "kind", true, &x->kind))
        return false;
    facts = str_eq(x->kind, STR("facts"));
    if (!facts && !str_eq(x->kind, STR("criteria")))
        return member_wrong(&m, "kind", "criteria or facts is expected");
    member_text(&m, root, "document_id", !facts, &x->document_id);
    member_text(&m, root, "version", false, &x->version);
    member_text(&m, root, "as_of_date", false, &x->as_of);
    member_text(&m, root, "section", false, &x->section);
    member_text(&m, root, "case_id", facts, &x->case_id);
    member_text(&m, root, "doc_id", facts, &x->doc_id);
    member_text(&m, root, "text", facts, &x->text);
    member_text(&m, root, "model", false, &x->model);
    member_between(&m, root, "timeout_s", 1, POLICY_EXTRACT_TIMEOUT_MAX_S, &x->timeout_s);
    return !m.failed;
}

static bool extract_keep(struct policy_service *s, const struct app_request *q,
                         const struct policy_extract_ask *ask, struct policy_extracted *x,
                         struct err *e)
{
    int64_t now = clock_wall_ms(policy_host(s)->clock) * 1000;
    char id[RAND_ID_SIZE];

    assert(x->n <= POLICY_EXTRACT_MAX && ask->session.n > 0 && ask->model.n > 0);
    for (size_t i = 0; i < x->n; i++) {
        x->list[i].id = arena_dup(q->arena, rand_id(&policy_host(s)->gateway->ids, id));
        x->list[i].session = ask->session;
        x->list[i].model = ask->model;
        x->list[i].who = policy_who(q);
        x->list[i].created_us = now;
    }
    return policy_table_propose(policy_kept_results(s), x->list, x->n, ask->mask, e);
}

static void extract_show(struct policy_service *s, const struct policy_extract_ask *ask,
                         const struct policy_extracted *x, struct app_reply *r)
{
    struct policy_proposals one = proposals_any();
    struct json_out o;
    struct err e;
    bool ok = true;

    app_reply_begin(r, &o, NULL);
    json_member_str(&o, "session_id", ask->session);
    json_member_str(&o, "model", ask->model);
    json_member_i64(&o, "parts", (int64_t)x->parts);
    json_member_array(&o, "proposals");
    for (size_t i = 0; ok && i < x->n; i++) {
        one.id = x->list[i].id;
        ok = policy_table_proposals(policy_kept_results(s), &one, &o, &e);
    }
    json_out_end(&o);
    json_member_object(&o, "dropped");
    for (int i = 0; i < POLICY_DROPPED; i++)
        json_member_i64(&o, policy_dropped_name((enum policy_dropped)i), x->dropped[i]);
    json_out_end(&o);
    assert(x->failure_count <= x->parts);
    json_member_array(&o, "failures");
    for (size_t i = 0; i < x->failure_count; i++) {
        json_out_object(&o);
        json_member_i64(&o, "part", (int64_t)x->failures[i].part);
        json_member_str(&o, "section", x->failures[i].where);
        json_member_str(&o, "reason", x->failures[i].reason);
        json_out_end(&o);
    }
    app_reply_end(r, &o, ok, &e);
}

struct extracting {
    struct policy_service *s;
    const struct app_request *q;
    struct policy_docs *docs;
    struct setup *setup;
    struct policy_extract_ask ask;
    struct policy_extracted out;
};

static bool extract_from(struct extracting *w, struct err *e)
{
    const struct app_host *h = policy_host(w->s);
    struct extract_asked x;
    char id[RAND_ID_SIZE];

    if (!extract_asked_read(w->q->json, w->q->arena, &x, e))
        return false;
    if (!policy_table_is_open(policy_kept_results(w->s)))
        return err_input(e, "nothing is kept: the store is \"none\"");
    w->ask = (struct policy_extract_ask){
        .kind = str_eq(x.kind, STR("facts")) ? POLICY_EXTRACT_FACTS : POLICY_EXTRACT_CRITERIA,
        .section = x.section,
        .text = x.text,
        .doc_id = x.doc_id,
        .case_id = x.case_id,
        .session = arena_join(w->q->arena, STR("extract-"), rand_id(&h->gateway->ids, id), STR("")),
        .key = w->q->key,
        .timeout_ms = (int64_t)(x.timeout_s * 1000),
        .ask = agent_ask_gateway(h->gl),
        .mask = w->setup->mask,
        .cancel = w->q->cancel ? w->q->cancel : h->leave};
    return (w->ask.kind == POLICY_EXTRACT_FACTS ||
            policy_asked_doc(w->s,
                             w->docs,
                             (struct policy_want){x.document_id, x.version, x.as_of, STR("")},
                             &w->ask.doc,
                             e)) &&
           app_model(w->setup->config,
                     x.model.n ? x.model : w->setup->config->policy.model,
                     &w->ask.model,
                     e) &&
           policy_extract(&w->ask, w->q->arena, &w->out, e) &&
           extract_keep(w->s, w->q, &w->ask, &w->out, e);
}

void policy_extract_post(void *app, const struct app_request *q, struct app_reply *r)
{
    struct extracting *w = arena_zero(q->arena, 1, sizeof *w);
    struct err e;

    *w = (struct extracting){.s = app,
                             .q = q,
                             .docs = policy_docs_now(app, &e),
                             .setup = gateway_setup(policy_host(app)->gateway)};
    if (!extract_from(w, &e)) {
        policy_fail_field(r, &e);
    } else {
        policy_audit(
            app, q, "policy_extract", w->ask.doc ? w->ask.doc->id : w->ask.case_id, w->ask.session);
        extract_show(app, &w->ask, &w->out, r);
    }
    setup_release(w->setup);
    policy_docs_release(w->docs);
}

/* ---- proposals ---- */

void policy_proposals_get(void *app, const struct app_request *q, struct app_reply *r)
{
    struct policy_proposals query = {.id = STR(""),
                                     .document_id = app_query(q, "document_id"),
                                     .version = app_query(q, "version"),
                                     .case_id = app_query(q, "case_id")};
    struct json_out o;
    struct err e;

    if (!policy_choice_of(q, "kind", "criterion fact", &query.kind, r) ||
        !policy_choice_of(q, "state", "proposed confirmed rejected", &query.state, r) ||
        !policy_limit_of(q, PROPOSALS_SHOWN, &query.limit, r))
        return;
    app_reply_begin(r, &o, "proposals");
    app_reply_end(r, &o, policy_table_proposals(policy_kept_results(app), &query, &o, &e), &e);
}

struct proposals_asked {
    str state, reason;
    const struct json_node *ids;
};

static bool proposals_read(const struct json *doc, struct arena *a, struct proposals_asked *x,
                           struct err *e)
{
    struct member m = {.doc = doc, .arena = a, .e = e};
    const struct json_node *root = json_root(doc);

    *x = (struct proposals_asked){STR(""), STR(""), NULL};
    member_text(&m, root, "state", true, &x->state);
    member_text(&m, root, "reason", false, &x->reason);
    x->ids = member_kind(&m, root, "ids", JSON_ARRAY);
    if (!str_eq(x->state, STR("confirmed")) && !str_eq(x->state, STR("rejected")))
        member_wrong(&m, "state", "confirmed or rejected is expected");
    if (json_count(doc, x->ids) < 1 || json_count(doc, x->ids) > DECIDED_AT_ONCE)
        member_wrong(&m, "ids", "a list of 1 to 1000 ids is expected");
    return !m.failed;
}

static bool proposals_decide(struct policy_service *s, const struct app_request *q,
                             const struct json *doc, const struct proposals_asked *x,
                             struct json_out *o, struct err *e)
{
    struct policy_table *k = policy_kept_results(s);
    struct policy_proposals one = proposals_any();
    struct policy_proposal_word word = {
        .state = x->state,
        .who = policy_who(q),
        .reason = policy_masked(s, utf8_cut_size(x->reason, 2000), q->arena),
        .decided_us = clock_wall_ms(policy_host(s)->clock) * 1000};

    assert(json_is_array(x->ids) && x->state.n > 0);
    JSON_FOREACH(v, doc, x->ids) {
        if (!json_text(doc, v, q->arena, &one.id))
            return err_input(e, "ids: a list of ids is expected");
        word.id = one.id;
        if (!policy_table_proposal_decide(k, &word, e))
            return e->code == ERR_NOT_FOUND
                       ? err_input(e,
                                   "ids: there is no proposal \"" STR_FMT
                                   "\"; those before it in the list are decided",
                                   STR_ARG(str_slice(one.id, 0, 60)))
                       : false;
        policy_audit(s,
                     q,
                     "policy_proposal",
                     one.id,
                     arena_join(q->arena, x->state, STR(": "), word.reason));
        if (!policy_table_proposals(k, &one, o, e))
            return false;
    }
    return true;
}

void policy_proposals_post(void *app, const struct app_request *q, struct app_reply *r)
{
    struct proposals_asked x;
    struct json_out o;
    struct err e;

    app_reply_begin(r, &o, "proposals");
    if (proposals_read(q->json, q->arena, &x, &e) && proposals_decide(app, q, q->json, &x, &o, &e))
        app_reply_end(r, &o, true, NULL);
    else
        policy_fail_field(r, &e);
}

/* A bundle of the confirmed facts of a case, ready to be verified. */
void policy_proposals_case(void *app, const struct app_request *q, struct app_reply *r)
{
    str id = app_query(q, "case_id"), document = app_query(q, "document_id");
    struct json_out o;
    struct err e;
    size_t n;
    bool ok;

    if (!id.n || !document.n) {
        app_fail(r, 422, "validation_error", "case_id and document_id must be given");
        return;
    }
    app_reply_begin(r, &o, NULL);
    json_member_str(&o, "case_id", id);
    json_member_str(&o, "policy_id", document);
    json_member_array(&o, "fields");
    ok = policy_table_confirmed_facts(policy_kept_results(app), id, &o, &n, &e) &&
         (n || err_set(&e, ERR_NOT_FOUND, "the case has no confirmed facts"));
    json_out_end(&o);
    json_member_object(&o, "metadata");
    json_member_str(&o, "policy_document_id", document);
    app_reply_end(r, &o, ok, &e);
}
