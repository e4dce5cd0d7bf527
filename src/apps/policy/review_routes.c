/* review_routes.c - results that wait for a person: listed, shown with their sentence, decided, and
 * given out as labelled cases. See routes.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/member.h"
#include "apps/policy/passage.h"
#include "apps/policy/routes.h"
#include "apps/policy/rule/rule.h"
#include "store/query.h"

#define FACTS_SHOWN 200
#define REASON_MAX 2000
#define QUEUE_LIMIT 50
#define LABEL_LIMIT 100
#define LABEL_CURSOR STR("labels")
#define LABEL_ARENA_MAX ((size_t)1 << 30)

str policy_who(const struct app_request *q)
{
    return q->key.n ? q->key : STR("operator");
}

void policy_audit(struct policy_service *s, const struct app_request *q, const char *action,
                  str subject, str detail)
{
    const struct app_host *h = policy_host(s);

    if (h->gateway->records)
        store_audit_put(
            h->gateway->store, q->key, str_c(action), subject, str_slice(detail, 0, 500));
}

/* Masked as the record is; in the arena. */
str policy_masked(struct policy_service *s, str text, struct arena *a)
{
    struct setup *setup = gateway_setup(policy_host(s)->gateway);

    text = mask_text_kept(setup->mask, text, a);
    setup_release(setup);
    return text;
}

bool policy_limit_of(const struct app_request *q, int64_t otherwise, int64_t *out,
                     struct app_reply *r)
{
    str text = app_query(q, "limit");
    uint64_t n = (uint64_t)otherwise;

    assert(otherwise >= 1 && otherwise <= POLICY_LIST_MAX);
    if (text.n && (!str_u64(text, &n) || n < 1 || n > POLICY_LIST_MAX)) {
        app_fail(r, 422, "validation_error", "limit: must be 1 to %d", POLICY_LIST_MAX);
        return false;
    }
    *out = (int64_t)n;
    return true;
}

bool policy_choice_of(const struct app_request *q, const char *name, const char *words, str *out,
                      struct app_reply *r)
{
    *out = app_query(q, name);
    if (!out->n || str_is_one_of(*out, words))
        return true;
    app_fail(r, 422, "validation_error", "%s: must be one of: %s", name, words);
    return false;
}

/* ---- the queue ---- */

void policy_review_list(void *app, const struct app_request *q, struct app_reply *r)
{
    struct policy_table *k = policy_kept_results(app);
    struct policy_queue query = {.key = q->key,
                                 .all = q->operator_,
                                 .document_id = app_query(q, "document_id"),
                                 .reason = app_query(q, "reason")};
    struct json_out o;
    struct err e;
    int64_t waiting;
    str state;
    bool ok;

    if (!policy_choice_of(q, "state", "open done", &state, r) ||
        !policy_limit_of(q, QUEUE_LIMIT, &query.limit, r))
        return;
    query.done = str_eq(state, STR("done"));
    app_reply_begin(r, &o, "results");
    ok = policy_table_queue(k, &query, &o, &e) &&
         policy_table_waiting(k, q->key, q->operator_, &waiting, &e);
    json_out_end(&o);
    json_member_i64(&o, "open", ok ? waiting : 0);
    app_reply_end(r, &o, ok, &e);
}

/* ---- one of them ---- */

/* Whether a sentence or a criterion speaks of a fact: they have all words of its name. */
static bool review_fact_named(const struct policy_field *f, const struct phrase *about)
{
    struct arena scratch;
    struct word *name;
    bool named;
    size_t n;

    arena_init(&scratch, WORDS_ARENA_MAX);
    n = words_of_name(f->name, &scratch, &name);
    named = n > 0;
    for (size_t i = 0; i < n && named; i++)
        named = word_find(about->w, about->n, &name[i]) < about->n;
    arena_release(&scratch);
    return named;
}

static bool review_fact_cited(const struct policy_field *f, const struct policy_result *r)
{
    str excerpt = r->has_evidence ? r->evidence.text_excerpt : STR("");

    return str_starts(excerpt, f->name) &&
           str_starts(str_slice(excerpt, f->name.n, excerpt.n), STR(":"));
}

static void review_fact_json(const struct policy_field *f, struct json_out *o)
{
    json_member_str(o, "field_name", f->name);
    json_member_raw(o, "value", f->raw);
    json_member_double(o, "confidence", f->confidence);
    json_member_str(o, "doc_id", f->doc_id);
    json_member_i64(o, "page", f->page);
}

static void review_facts(const struct policy_case *c, const struct policy_result *r,
                         const struct policy_passage *p, struct arena *a, struct json_out *o)
{
    str text = r->criterion_id;
    struct phrase about;
    struct word *w;

    assert(p->from <= p->to && (p->node ? p->to <= p->node->text.n : p->to == 0));
    if (p->node)
        text = arena_join(a, text, STR(" "), str_slice(p->node->text, p->from, p->to));
    about.n = words_of(text, a, &w);
    about.w = w;
    json_member_array(o, "facts");
    for (size_t i = 0; i < c->field_count && i < FACTS_SHOWN; i++) {
        const struct policy_field *f = &c->fields[i];

        json_out_object(o);
        review_fact_json(f, o);
        json_member_bool(o, "used", review_fact_cited(f, r) || review_fact_named(f, &about));
        json_out_end(o);
    }
    json_out_end(o);
}

/* The document in the very version that the result is of; NULL: it is not configured any more. */
static const struct policy_doc *review_doc_of(const struct policy_docs *docs,
                                              const struct policy_item *item)
{
    for (size_t i = 0; i < policy_docs_count(docs); i++) {
        const struct policy_doc *d = policy_docs_at(docs, i);

        if (str_eq(d->id, item->document_id) && str_eq(str_c(d->tree.hash), item->hash))
            return d;
    }
    return NULL;
}

static void review_policy(const struct policy_doc *d, const struct policy_item *item,
                          const struct policy_passage *p, struct arena *a, struct json_out *o)
{
    json_out_key(o, STR("policy"));
    if (d && p->node) {
        policy_passage_json(d, p, o);
        json_member_null(o, "policy_absent");
        return;
    }
    json_out_null(o);
    json_member_str(o,
                    "policy_absent",
                    !item->document_id.n ? STR("the result is of no document")
                    : d                  ? STR("the result cites no section of the document")
                                         : arena_printf(a,
                                       "version \"" STR_FMT "\" of \"" STR_FMT
                                       "\" is not configured any more, or has changed",
                                       STR_ARG(item->version),
                                       STR_ARG(item->document_id)));
}

static bool review_item_json(struct policy_service *s, const struct policy_docs *docs,
                             const struct policy_item *item, const struct app_request *q,
                             struct json_out *o, struct err *e)
{
    const struct policy_doc *d = review_doc_of(docs, item);
    struct policy_case *c = arena_zero(q->arena, 1, sizeof *c);
    struct policy_passage p = {0};
    struct policy_result result;
    struct json doc;
    bool ok;

    ok = json_open(&doc, item->result, e) &&
         policy_result_read(&doc, json_root(&doc), q->arena, &result, e);
    if (ok) {
        if (d)
            policy_passage(d, &result, q->arena, &p);
        json_out_object(o);
        json_member_raw(o, "result", item->json);
        review_policy(d, item, &p, q->arena, o);
        if (item->body.n && policy_case_read_stored(item->body, q->arena, c, e)) {
            review_facts(c, &result, &p, q->arena, o);
        } else {
            json_member_array(o, "facts");
            json_out_end(o);
        }
        json_member_array(o, "reviews");
        ok = policy_table_reviews(policy_kept_results(s), app_query(q, "result_id"), o, e);
        json_out_close(o, 2);
    }
    json_release(&doc);
    return ok;
}

void policy_review_item(void *app, const struct app_request *q, struct app_reply *r)
{
    struct policy_query query = {.key = q->key, .all = q->operator_};
    struct policy_item item;
    struct json_out o;
    struct err e;
    struct policy_docs *docs = policy_docs_now(app, &e);
    bool ok;

    json_out_init(&o, &r->body);
    ok = policy_table_item(
             policy_kept_results(app), &query, app_query(q, "result_id"), q->arena, &item, &e) &&
         review_item_json(app, docs, &item, q, &o, &e);
    app_reply_end(r, &o, ok, &e);
    policy_docs_release(docs);
}

/* ---- a person's word ---- */

static bool review_read(struct policy_service *s, const struct json *doc, struct arena *a,
                        struct policy_reviewed *v, struct err *e)
{
    struct member m = {.doc = doc, .arena = a, .e = e};
    const struct json_node *root = json_root(doc);
    enum policy_status status;

    v->section = v->status = v->reason = STR("");
    member_text(&m, root, "result_id", true, &v->result_id);
    member_text(&m, root, "status", true, &v->status);
    member_text(&m, root, "reason", true, &v->reason);
    member_text(&m, root, "section", false, &v->section);
    if (!policy_status_find(v->status, &status))
        member_wrong(&m, "status", "met, missing or uncertain is expected");
    if (v->reason.n > REASON_MAX || v->section.n > REASON_MAX)
        member_wrong(&m,
                     v->reason.n > REASON_MAX ? "reason" : "section",
                     "has more than 2000 bytes; shorten it");
    if (m.failed)
        return false;
    v->status = str_c(policy_status_name(status));
    v->reason = policy_masked(s, v->reason, a);
    v->section = policy_masked(s, v->section, a);
    return true;
}

static bool review_decide(struct policy_service *s, const struct app_request *q,
                          struct policy_reviewed *v, struct policy_item *item, struct err *e)
{
    struct policy_table *k = policy_kept_results(s);
    struct policy_query query = {.key = q->key, .all = true};
    char id[RAND_ID_SIZE];

    v->id = rand_id(&policy_host(s)->gateway->ids, id);
    v->decided_us = clock_wall_ms(policy_host(s)->clock) * 1000;
    if (!policy_table_item(k, &query, v->result_id, q->arena, item, e))
        return false;
    assert(item->run.n > 0 && item->status.n > 0);
    v->run = item->run;
    v->machine_status = item->status;
    if (!policy_table_decide(k, v, e))
        return false;
    policy_audit(s,
                 q,
                 "policy_review",
                 v->result_id,
                 arena_printf(q->arena,
                              STR_FMT " to " STR_FMT ": " STR_FMT,
                              STR_ARG(v->machine_status),
                              STR_ARG(v->status),
                              STR_ARG(v->reason)));
    return policy_table_item(k, &query, v->result_id, q->arena, item, e);
}

void policy_review_post(void *app, const struct app_request *q, struct app_reply *r)
{
    struct policy_reviewed v = {.who = policy_who(q)};
    struct policy_item item;
    struct err e;

    if (!review_read(app, q->json, q->arena, &v, &e))
        policy_fail_field(r, &e);
    else if (!review_decide(app, q, &v, &item, &e))
        app_fail_err(r, &e);
    else
        buf_add(&r->body, item.json);
}

/* ---- labelled cases ---- */

static void review_label_field(const struct policy_field *f, struct json_out *o)
{
    json_out_object(o);
    review_fact_json(f, o);
    if (f->has_bbox)
        policy_box_json(f->bbox, o);
    if (f->field_class.n)
        json_member_str(o, "field_class", f->field_class);
    json_out_end(o);
}

static void review_label_expect(const struct policy_label *l, size_t n, struct json_out *o)
{
    json_member_object(o, "metadata");
    if (l->document_id.n) {
        json_member_str(o, "policy_document_id", l->document_id);
        json_member_str(o, "policy_version_id", l->version);
    }
    json_member_array(o, "criteria");
    for (size_t i = 0; i < n; i++)
        json_out_str(o, l[i].criterion);
    json_out_close(o, 2);
    json_member_array(o, "expect");
    for (size_t i = 0; i < n; i++) {
        json_out_object(o);
        json_member_str(o, "criterion_id", l[i].criterion);
        json_member_str(o, "status", l[i].status);
        if (l[i].section.n)
            json_member_str(o, "section", l[i].section);
        json_out_end(o);
    }
    json_out_end(o);
}

/* The labels of one run as the case that `rationale optimize --app policy` reads. */
static bool review_label_write(const struct policy_label *l, size_t n, struct arena *a,
                               struct json_out *o, struct err *e)
{
    struct policy_case *c = arena_zero(a, 1, sizeof *c);

    assert(n > 0 && l->run.n > 0);
    if (!policy_case_read_stored(l->body, a, c, e))
        return err_prefix(e, "the case of " STR_FMT ": ", STR_ARG(l->run));
    json_out_object(o);
    json_member_str(o, "case_id", c->case_id);
    json_member_str(o, "policy_id", c->policy_id);
    json_member_array(o, "fields");
    for (size_t i = 0; i < c->field_count; i++)
        review_label_field(&c->fields[i], o);
    json_out_end(o);
    review_label_expect(l, n, o);
    json_out_end(o);
    return true;
}

static bool review_label_case(const struct policy_label *l, size_t n, struct json_out *o,
                              struct err *e)
{
    struct arena a;
    bool ok;

    arena_init(&a, LABEL_ARENA_MAX);
    ok = review_label_write(l, n, &a, o, e);
    arena_release(&a);
    return ok;
}

void policy_labels_get(void *app, const struct app_request *q, struct app_reply *r)
{
    struct policy_label_page page = {.document_id = app_query(q, "document_id"), .after = STR("")};
    str cursor = app_query(q, "cursor"), none;
    struct policy_labels labels;
    int64_t limit;
    struct json_out o;
    struct err e;
    bool ok;

    if (!policy_limit_of(q, LABEL_LIMIT, &limit, r))
        return;
    if (cursor.n && !cursor_read(q->arena, cursor, LABEL_CURSOR, &page.after, &none, &e)) {
        app_fail(r, 422, "validation_error", "%s: give the next_cursor of a page", e.text);
        return;
    }
    page.cases_max = limit < POLICY_LABEL_CASES_MAX ? (size_t)limit : POLICY_LABEL_CASES_MAX;
    labels.n = 0;
    labels.more = false;
    ok = policy_table_labels(policy_kept_results(app), &page, q->arena, &labels, &e);
    app_reply_begin(r, &o, "cases");
    for (size_t i = 0, to; ok && i < labels.n; i = to) {
        for (to = i + 1; to < labels.n && str_eq(labels.list[to].run, labels.list[i].run); to++)
            ;
        ok = !labels.list[i].body.n || review_label_case(&labels.list[i], to - i, &o, &e);
    }
    json_out_end(&o);
    assert(!labels.more || labels.n > 0);
    json_member_i64(&o, "labels", (int64_t)labels.n);
    cursor = labels.more
                 ? cursor_make(q->arena, LABEL_CURSOR, labels.list[labels.n - 1].run, STR(""))
                 : STR("");
    json_member_str_or_null(&o, "next_cursor", cursor);
    app_reply_end(r, &o, ok, &e);
}
