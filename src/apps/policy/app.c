/* app.c - the row of policy: its routes, each a few lines over the service.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/case_checks.h"
#include "apps/policy/reverify.h"
#include "apps/policy/routes.h"
#include "apps/tune/tune.h"

#define LIMIT_DEFAULT 50

/* ---- errors ---- */

/* {"detail": {"error", "message", "field"}}: the path at the front of a sentence is the field. */
void policy_fail_field(struct app_reply *r, const struct err *e)
{
    str text = str_c(e->text), field;
    size_t colon = str_find(text, STR(": "));
    struct json_out o;

    field = str_slice(text, 0, colon == STR_NONE ? 0 : colon);
    if (e->code == ERR_AUTH) {
        app_fail(r, 403, "forbidden", "%s", e->text);
        return;
    }
    if (e->code != ERR_INPUT || !field.n || str_find(field, STR(" ")) != STR_NONE) {
        app_fail_err(r, e);
        return;
    }
    app_fail_begin(r, &o, 422, "validation_error", text);
    json_member_str(&o, "field", field);
    json_member_str(&o, "reason", str_slice(text, colon + 2, text.n));
    json_out_close(&o, 2);
}

bool policy_asked_doc(struct policy_service *s, const struct policy_docs *docs,
                      struct policy_want want, const struct policy_doc **out, struct err *e)
{
    char today[POLICY_DAY_SIZE];

    want.today = policy_today(policy_host(s)->clock, today);
    if (!policy_version_find(policy_docs_all(docs), policy_docs_count(docs), &want, out, e))
        return err_prefix(e, "%s: ", want.version.n ? "version" : "as_of_date");
    return *out || err_input(e,
                             "document_id: no document \"" STR_FMT "\" is configured",
                             STR_ARG(str_slice(want.id, 0, 80)));
}

/* ---- verification ---- */

static void policy_auth_review(void *app, const struct app_request *q, struct app_reply *r)
{
    struct policy_service *s = app;
    struct policy_ask ask = {.body = q->body,
                             .run = STR(""),
                             .key = q->key,
                             .operator_ = q->operator_,
                             .controller = STR(""),
                             .model = STR("")};
    struct policy_review *review = arena_zero(q->arena, 1, sizeof *review);
    struct err e;

    if (!policy_review(s, &ask, q->arena, review, &e)) {
        policy_fail_field(r, &e);
    } else if (review->left) {
        app_fail(r,
                 503,
                 "shutting_down",
                 "the process ends; the run " STR_FMT " continues when it is back",
                 STR_ARG(review->run));
        r->retry_after_s = 5;
    } else {
        buf_add(&r->body, review->envelope);
    }
}

static void policy_app_check_case(void *app, const struct app_request *q, struct app_reply *r)
{
    struct policy_service *s = app;
    struct policy_case *c = arena_zero(q->arena, 1, sizeof *c);
    const struct policy_doc *doc;
    char today[POLICY_DAY_SIZE];
    struct json_out o;
    struct err e;
    struct policy_docs *docs = policy_docs_now(s, &e);

    if (!policy_case_read(q->body, q->arena, c, &e) ||
        !policy_case_doc(c,
                         policy_docs_all(docs),
                         policy_docs_count(docs),
                         policy_today(policy_host(s)->clock, today),
                         &doc,
                         &e)) {
        policy_fail_field(r, &e);
    } else {
        json_out_init(&o, &r->body);
        policy_case_check(c, doc, q->arena, &o);
        app_reply_end(r, &o, true, NULL);
    }
    policy_docs_release(docs);
}

static void policy_app_list_results(void *app, const struct app_request *q, struct app_reply *r)
{
    struct policy_query query = {
        .key = q->key, .all = q->operator_, .case_id = app_query(q, "case_id")};
    struct json_out o;
    struct err e;

    if (!policy_choice_of(q, "status", "met missing uncertain", &query.status, r) ||
        !policy_limit_of(q, LIMIT_DEFAULT, &query.limit, r))
        return;
    app_reply_begin(r, &o, "results");
    app_reply_end(r, &o, policy_table_list(policy_kept_results(app), &query, &o, &e), &e);
}

/* ---- documents ---- */

static void policy_app_write_document(const struct policy_doc *d, bool in_force, struct json_out *o)
{
    const struct policy_tree *t = &d->tree;

    json_out_object(o);
    json_member_str(o, "id", d->id);
    json_member_str(o, "title", t->title.n ? t->title : t->doc_name);
    policy_version_json(d, in_force, o);
    json_member_u64(o, "page_count", t->page_count);
    policy_structure_json(t, false, o);
    json_out_end(o);
}

static void policy_app_list_documents(void *app, const struct app_request *q, struct app_reply *r)
{
    char day[POLICY_DAY_SIZE];
    str today = policy_today(policy_host(app)->clock, day);
    struct err e;
    struct policy_docs *docs = policy_docs_now(app, &e);
    struct json_out o;

    (void)q;
    app_reply_begin(r, &o, "documents");
    for (size_t i = 0; i < policy_docs_count(docs); i++) {
        const struct policy_doc *d = policy_docs_at(docs, i), *now;
        struct policy_version_others others;

        now = policy_version_on(
            policy_docs_all(docs), policy_docs_count(docs), d->id, today, &others);
        policy_app_write_document(d, d == now, &o);
    }
    app_reply_end(r, &o, true, NULL);
    policy_docs_release(docs);
}

/* If no version is in force, its text can still be read. */
static bool policy_node_doc(const struct policy_docs *docs, const struct policy_want *want,
                            const struct policy_doc **out, struct err *e)
{
    if (policy_version_find(policy_docs_all(docs), policy_docs_count(docs), want, out, e))
        return true;
    if (want->version.n || want->as_of.n)
        return false;
    *out = policy_docs_find(docs, want->id);
    return true;
}

static void node_text(void *app, const struct app_request *q, struct app_reply *r)
{
    char day[POLICY_DAY_SIZE];
    struct policy_want want = {.id = q->parts[0],
                               .version = app_query(q, "version"),
                               .as_of = app_query(q, "as_of_date"),
                               .today = policy_today(policy_host(app)->clock, day)};
    const struct policy_doc *d;
    const struct policy_node *n = NULL;
    struct json_out o;
    struct err e;
    struct policy_docs *docs = policy_docs_now(app, &e);
    bool ok = policy_node_doc(docs, &want, &d, &e);

    if (ok && d)
        n = policy_node_find(&d->tree, q->parts[1]);
    if (!n) {
        app_fail(r,
                 404,
                 "not_found",
                 "%s",
                 !ok ? e.text
                 : d ? "the document has no such node"
                     : "this document does not exist");
    } else {
        app_reply_begin(r, &o, NULL);
        json_member_str(&o, "document_id", d->id);
        json_member_str(&o, "version", policy_doc_version(d));
        json_member_str(&o, "node_id", n->node_id);
        json_member_str(&o, "title", n->title);
        json_member_str(&o, "title_path", n->title_path);
        json_member_u64(&o, "start_index", n->start_index);
        json_member_u64(&o, "end_index", n->end_index);
        json_member_str(&o, "summary", n->summary);
        json_member_str(&o, "text", n->text);
        json_member_str(&o, "hash", str_c(n->hash));
        app_reply_end(r, &o, true, NULL);
    }
    policy_docs_release(docs);
}

/* ---- prompts ---- */

static void prompts_list(void *app, const struct app_request *q, struct app_reply *r)
{
    struct prompt *list = NULL, built_in;
    struct json_out o;
    struct err e;
    size_t n;
    bool ok = registry_list(policy_registry(app), app_query(q, "name"), q->arena, &list, &n, &e);

    app_reply_begin(r, &o, "prompts");
    for (size_t i = 0; ok && i < n; i++)
        prompt_write(&list[i], false, &o);
    json_out_end(&o);
    json_member_array(&o, "built_in");
    for (size_t i = 0; tune_app_at(i); i++) {
        prompt_built_in(tune_app_at(i)->prompt, q->arena, &built_in);
        prompt_write(&built_in, false, &o);
    }
    app_reply_end(r, &o, ok, &e);
}

static bool policy_find_prompt(struct policy_service *s, const struct app_request *q,
                               struct prompt *out, struct app_reply *r)
{
    struct err e;

    for (size_t i = 0; tune_app_at(i); i++) {
        prompt_built_in(tune_app_at(i)->prompt, q->arena, out);
        if (str_eq(out->id, q->parts[0]))
            return true;
    }
    if (registry_get(policy_registry(s), q->parts[0], q->arena, out, &e))
        return true;
    app_fail_err(r, &e);
    return false;
}

static void prompt_show(void *app, const struct app_request *q, struct app_reply *r)
{
    struct prompt p;
    struct json_out o;

    if (!policy_find_prompt(app, q, &p, r))
        return;
    json_out_init(&o, &r->body);
    prompt_write(&p, true, &o);
    app_reply_end(r, &o, true, NULL);
}

static void prompt_move(void *app, const struct app_request *q, struct app_reply *r)
{
    static const struct {
        const char *verb;
        enum prompt_state to;
    } verbs[] = {
        {"approve", PROMPT_APPROVED}, {"activate", PROMPT_ACTIVE}, {"retire", PROMPT_RETIRED}};
    struct err e;

    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (!str_eq(q->parts[1], str_c(verbs[i].verb)))
            continue;
        if (registry_move(policy_registry(app), q->parts[0], verbs[i].to, policy_who(q), &e))
            prompt_show(app, q, r);
        else if (e.code == ERR_INPUT)
            app_fail(r, 409, "conflict", "%s", e.text);
        else
            app_fail_err(r, &e);
        return;
    }
    app_fail(r, 404, "not_found", "a prompt can be approved, activated and retired");
}

/* ---- the row ---- */

static bool policy_app_open(const struct app_host *h, void **out, struct err *e)
{
    struct policy_service *s;

    if (!policy_service_open(h, &s, e))
        return false;
    policy_reverify_resume(policy_reverify_of(s));
    *out = s;
    return true;
}

static bool policy_app_ready(void *app, struct app_reply *r)
{
    struct err e;
    struct policy_docs *docs = policy_docs_now(app, &e);
    bool configured = docs != NULL;

    policy_docs_release(docs);
    if (!configured)
        app_fail(r,
                 404,
                 "not_configured",
                 "the configuration has no policy.documents, so nothing is there");
    return configured;
}

static void policy_app_resume(void *app, const struct agent_row *row)
{
    policy_resume(app, row);
}

static void policy_app_look(void *app)
{
    policy_rollout_refresh(policy_rollout_of(app));
    policy_reverify_resume(policy_reverify_of(app));
}

static void policy_app_lost(void *app)
{
    policy_reverify_lost(policy_reverify_of(app));
}

static void policy_app_close(void *app)
{
    policy_service_close(app);
}

#define CHANGE (APP_OPERATOR | APP_READY | APP_JSON)

static const struct app_route routes[] = {
    {"POST", "/reason/auth-review", policy_auth_review, APP_READY | APP_JSON | APP_TRACE, "", NULL},
    {"POST", "/reason/qa", policy_app_check_case, APP_READY | APP_JSON, "", NULL},
    {"GET",
     "/api/v1/policy/results",
     policy_app_list_results,
     APP_READY | APP_TRACE,
     "limit case_id status",
     NULL},
    {"GET", "/api/v1/policy/documents", policy_app_list_documents, APP_READY, "", NULL},
    {"GET", "/api/v1/policy/documents/*/nodes/*", node_text, APP_READY, "version as_of_date", NULL},
    {"GET", "/api/v1/policy/rollout", policy_rollout_get, APP_READY, "", NULL},
    {"POST", "/api/v1/policy/rollout", policy_rollout_post, CHANGE, "", NULL},
    {"DELETE", "/api/v1/policy/rollout", policy_rollout_delete, APP_OPERATOR | APP_READY, "", NULL},
    {"GET",
     "/api/v1/policy/review",
     policy_review_list,
     APP_READY | APP_TRACE,
     "limit document_id reason state",
     NULL},
    {"GET",
     "/api/v1/policy/review/item",
     policy_review_item,
     APP_READY | APP_TRACE,
     "result_id",
     NULL},
    {"POST",
     "/api/v1/policy/review",
     policy_review_post,
     CHANGE,
     "",
     "result_id status reason section"},
    {"GET",
     "/api/v1/policy/labels",
     policy_labels_get,
     APP_OPERATOR,
     "limit document_id cursor",
     NULL},
    {"GET", "/api/v1/policy/reverify", policy_reverify_list, APP_OPERATOR, "limit", NULL},
    {"POST",
     "/api/v1/policy/reverify",
     policy_reverify_post,
     CHANGE,
     "",
     "document_id version as_of_date controller"},
    {"GET", "/api/v1/policy/reverify/*", policy_reverify_get, APP_OPERATOR, "", NULL},
    {"DELETE", "/api/v1/policy/reverify/*", policy_reverify_delete, APP_OPERATOR, "", NULL},
    {"POST",
     "/api/v1/policy/extract",
     policy_extract_post,
     CHANGE,
     "",
     "kind document_id version as_of_date section case_id doc_id text model timeout_s"},
    {"GET",
     "/api/v1/policy/proposals",
     policy_proposals_get,
     APP_OPERATOR,
     "limit kind state document_id version case_id",
     NULL},
    {"POST",
     "/api/v1/policy/proposals",
     policy_proposals_post,
     APP_OPERATOR | APP_JSON,
     "",
     "ids state reason"},
    {"GET",
     "/api/v1/policy/proposals/case",
     policy_proposals_case,
     APP_OPERATOR,
     "case_id document_id",
     NULL},
    {"GET", "/api/v1/prompts", prompts_list, 0, "name", NULL},
    {"GET", "/api/v1/prompts/*", prompt_show, 0, "", NULL},
    {"POST", "/api/v1/prompts/*/*", prompt_move, APP_OPERATOR, "", NULL},
    {NULL, NULL, NULL, 0, NULL, NULL},
};

/* Always open, whatever is configured: all applications use the prompt routes. */
const struct app app_policy = {.name = "policy",
                               .open = policy_app_open,
                               .resume = policy_app_resume,
                               .look = policy_app_look,
                               .lost = policy_app_lost,
                               .close = policy_app_close,
                               .ready = policy_app_ready,
                               .routes = routes};
