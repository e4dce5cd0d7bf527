/* reverify_routes.c - cases of a document verified again: start, progress, cancel. See routes.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/member.h"
#include "apps/policy/reverify.h"
#include "apps/policy/routes.h"

#define JOBS_SHOWN 20

static void reverify_show(struct policy_service *s, str id, struct app_reply *r)
{
    struct json_out o;
    struct err e;

    json_out_init(&o, &r->body);
    app_reply_end(
        r, &o, policy_table_reverify_list(policy_kept_results(s), id, POLICY_LIST_MAX, &o, &e), &e);
}

void policy_reverify_get(void *app, const struct app_request *q, struct app_reply *r)
{
    reverify_show(app, q->parts[0], r);
}

void policy_reverify_list(void *app, const struct app_request *q, struct app_reply *r)
{
    struct json_out o;
    struct err e;
    int64_t limit;

    if (!policy_limit_of(q, JOBS_SHOWN, &limit, r))
        return;
    app_reply_begin(r, &o, "reverifications");
    app_reply_end(
        r, &o, policy_table_reverify_list(policy_kept_results(app), STR(""), limit, &o, &e), &e);
}

void policy_reverify_delete(void *app, const struct app_request *q, struct app_reply *r)
{
    struct policy_reverify_row end = {.id = q->parts[0],
                                      .status = STR("cancelled"),
                                      .error = STR(""),
                                      .ended_us = clock_wall_ms(policy_host(app)->clock) * 1000};
    bool ended;
    struct err e;

    if (!policy_table_reverify_end(policy_kept_results(app), &end, &ended, &e)) {
        app_fail_err(r, &e);
    } else if (!ended) {
        app_fail(r, 409, "conflict", "that re-verification is not running");
    } else {
        policy_audit(app, q, "policy_reverify_cancel", q->parts[0], STR(""));
        reverify_show(app, q->parts[0], r);
    }
}

struct reverify_asked {
    str document_id, version, as_of, controller;
};

static bool reverify_read(const struct json *doc, struct arena *a, struct reverify_asked *out,
                          struct err *e)
{
    struct member m = {.doc = doc, .arena = a, .e = e};
    const struct json_node *root = json_root(doc);

    *out = (struct reverify_asked){STR(""), STR(""), STR(""), STR("")};
    if (!member_text(&m, root, "document_id", true, &out->document_id) ||
        !member_text(&m, root, "version", false, &out->version) ||
        !member_text(&m, root, "as_of_date", false, &out->as_of) ||
        !member_text(&m, root, "controller", false, &out->controller))
        return false;
    return !out->controller.n || str_eq(out->controller, STR("heuristic")) ||
           str_eq(out->controller, STR("react")) ||
           member_wrong(&m, "controller", "heuristic or react is expected");
}

/* A version that does not exist is refused before anything begins; without a version each case has
 * its own. */
static bool reverify_check(struct policy_service *s, const struct policy_docs *docs,
                           const struct reverify_asked *asked, struct err *e)
{
    struct policy_want want = {asked->document_id, asked->version, asked->as_of, STR("")};
    const struct policy_doc *d;

    for (size_t i = 0; !want.version.n && !want.as_of.n && i < policy_docs_count(docs); i++)
        if (policy_is_version(policy_docs_at(docs, i), want.id))
            return true;
    return policy_asked_doc(s, docs, want, &d, e);
}

static str reverify_request(const struct reverify_asked *asked, struct arena *a)
{
    struct json_text t;

    json_text_begin(&t, 65536);
    json_member_str(&t.o, "version", asked->version);
    json_member_str(&t.o, "as_of_date", asked->as_of);
    json_member_str(&t.o, "controller", asked->controller);
    return json_text_end(&t, a, STR("{}"));
}

static bool reverify_start(struct policy_service *s, const struct app_request *q,
                           const struct reverify_asked *asked, str *id, struct err *e)
{
    char text[RAND_ID_SIZE];
    struct policy_reverify_row row = {.document_id = asked->document_id,
                                      .request = reverify_request(asked, q->arena),
                                      .who = policy_who(q),
                                      .created_us = clock_wall_ms(policy_host(s)->clock) * 1000};

    *id = row.id = arena_dup(q->arena, rand_id(&policy_host(s)->gateway->ids, text));
    if (!policy_table_reverify_count(
            policy_kept_results(s), row.document_id, row.created_us, q->arena, &row.total, e))
        return false;
    assert(row.total >= 0 && row.created_us > 0);
    if (row.total > POLICY_REVERIFY_MAX)
        return err_input(e,
                         "document_id: has %lld cases; at most %d are verified again at once",
                         (long long)row.total,
                         POLICY_REVERIFY_MAX);
    return policy_reverify_start(policy_reverify_of(s), &row, e);
}

void policy_reverify_post(void *app, const struct app_request *q, struct app_reply *r)
{
    struct reverify_asked asked;
    struct err e;
    struct policy_docs *docs = policy_docs_now(app, &e);
    str id;

    if (!reverify_read(q->json, q->arena, &asked, &e) || !reverify_check(app, docs, &asked, &e) ||
        !reverify_start(app, q, &asked, &id, &e)) {
        policy_fail_field(r, &e);
    } else {
        policy_audit(app, q, "policy_reverify", asked.document_id, id);
        r->status = 202;
        reverify_show(app, id, r);
    }
    policy_docs_release(docs);
}
