/* keep_review.c - results that wait for a person's review, and the reviews. See keep.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/keep_state.h"

/* A result waits if it is uncertain, nobody has said anything of it, and the same criterion of the
 * same case has no newer one. */
#define NEWER                                                                                      \
    "EXISTS (SELECT 1 FROM policy_results n WHERE n.case_id = r.case_id AND"                       \
    " n.criterion_id = r.criterion_id AND n.key_name = r.key_name AND"                             \
    " (n.created_us > r.created_us OR (n.created_us = r.created_us AND n.result_id >"              \
    " r.result_id)))"
#define WAITS "r.status = 'uncertain' AND v.review_id IS NULL AND NOT " NEWER
#define ASKED                                                                                      \
    "(r.key_name = $1 OR $2 = 1) AND ($3 = '' OR r.document_id = $3) AND"                          \
    " ($4 = '' OR r.result LIKE $4)"

static bool policy_keep_on_count(void *ctx, const struct db_value *c, size_t n)
{
    assert(n == 1);
    *(int64_t *)ctx = c[0].i;
    return false;
}

bool policy_keep_queue(struct policy_keep *k, const struct policy_queue *q, struct json_out *o,
                       struct err *e)
{
    char like[120];
    struct db_value args[] = {db_text(q->key),
                              db_int(q->all),
                              db_text(q->document_id),
                              db_text(STR("")),
                              db_int(q->limit)};

    if (q->reason.n) {
        (void)snprintf(like,
                       sizeof like,
                       "%%\"reason_code\":\"" STR_FMT "\"%%",
                       STR_ARG(str_slice(q->reason, 0, 60)));
        args[3] = db_text(str_c(like));
    }
    return policy_keep_query(
        k,
        q->done ? "SELECT " POLICY_RESULT_COLUMNS " FROM " POLICY_RESULT_TABLES " WHERE " ASKED
                  " AND v.review_id IS NOT NULL ORDER BY v.review_id DESC LIMIT $5"
                : "SELECT " POLICY_RESULT_COLUMNS " FROM " POLICY_RESULT_TABLES " WHERE " ASKED
                  " AND " WAITS " ORDER BY r.created_us DESC, r.result_id LIMIT $5",
        args,
        COUNT_OF(args),
        (struct db_rows){policy_keep_on_result, o},
        e);
}

bool policy_keep_waiting(struct policy_keep *k, str key, bool all, int64_t *out, struct err *e)
{
    struct db_value args[] = {db_text(key), db_int(all)};

    *out = 0;
    return policy_keep_query(k,
                             "SELECT COUNT(*) FROM " POLICY_RESULT_TABLES
                             " WHERE (r.key_name = $1 OR $2 = 1) AND " WAITS,
                             args,
                             COUNT_OF(args),
                             (struct db_rows){policy_keep_on_count, out},
                             e);
}

/* ---- one result ---- */

struct policy_item_read {
    struct arena *arena;
    struct policy_item *out;
    bool found;
};

static bool policy_keep_on_item(void *ctx, const struct db_value *c, size_t n)
{
    struct policy_item_read *r = ctx;
    struct json_out o;
    struct buf json;

    assert(n == 19);
    buf_init(&json, POLICY_KEEP_TEXT_MAX);
    json_out_init(&o, &json);
    (void)policy_keep_on_result(&o, c, n);
    *r->out = (struct policy_item){
        .json = arena_dup(r->arena, buf_str(&json)),
        .result = arena_dup(r->arena, c[7].s),
        .document_id = c[8].type == DB_TEXT ? arena_dup(r->arena, c[8].s) : STR(""),
        .version = c[9].type == DB_TEXT ? arena_dup(r->arena, c[9].s) : STR(""),
        .hash = c[15].type == DB_TEXT ? arena_dup(r->arena, c[15].s) : STR(""),
        .run = arena_dup(r->arena, c[16].s),
        .status = arena_dup(r->arena, c[17].s),
        .body = c[18].type == DB_TEXT ? arena_dup(r->arena, c[18].s) : STR("")};
    buf_release(&json);
    r->found = true;
    return false;
}

bool policy_keep_item(struct policy_keep *k, const struct policy_query *q, str result_id,
                      struct arena *a, struct policy_item *out, struct err *e)
{
    struct db_value args[] = {db_text(q->key), db_int(q->all), db_text(result_id)};
    struct policy_item_read r = {a, out, false};

    return policy_keep_query(k,
                             "SELECT " POLICY_RESULT_COLUMNS ", r.policy_hash, r.run_id, r.status,"
                             " (SELECT c.body FROM policy_cases c WHERE c.run_id = r.run_id AND"
                             " c.key_name = r.key_name AND c.case_id = r.case_id)"
                             " FROM " POLICY_RESULT_TABLES
                             " WHERE (r.key_name = $1 OR $2 = 1) AND r.result_id = $3",
                             args,
                             COUNT_OF(args),
                             (struct db_rows){policy_keep_on_item, &r},
                             e) &&
           (r.found || err_set(e, ERR_NOT_FOUND, "there is no such result"));
}

bool policy_keep_decide(struct policy_keep *k, const struct policy_reviewed *v, struct err *e)
{
    struct db_value args[] = {db_text(v->id),
                              db_text(v->result_id),
                              db_text(v->run),
                              db_text(v->machine_status),
                              db_text(v->status),
                              db_text(v->section),
                              db_text(v->reason),
                              db_text(v->who),
                              db_int(v->decided_us)};

    return policy_keep_run(k,
                           "INSERT INTO policy_reviews (review_id, result_id, session_id,"
                           " machine_status, status, section, reason, decided_by, decided_us)"
                           " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                           args,
                           COUNT_OF(args),
                           NULL,
                           e);
}

static bool policy_keep_on_review(void *ctx, const struct db_value *c, size_t n)
{
    struct json_out *o = ctx;

    assert(n == 6);
    json_out_object(o);
    json_member_str(o, "machine_status", c[0].s);
    json_member_str(o, "status", c[1].s);
    policy_keep_text(o, "section", &c[2]);
    json_member_str(o, "reason", c[3].s);
    json_member_str(o, "decided_by", c[4].s);
    policy_keep_time(o, "decided_at", &c[5]);
    json_out_end(o);
    return true;
}

bool policy_keep_reviews(struct policy_keep *k, str result_id, struct json_out *o, struct err *e)
{
    struct db_value args[] = {db_text(result_id), db_int(POLICY_LIST_MAX)};

    return policy_keep_query(k,
                             "SELECT machine_status, status, section, reason, decided_by,"
                             " decided_us FROM policy_reviews WHERE result_id = $1"
                             " ORDER BY review_id DESC LIMIT $2",
                             args,
                             COUNT_OF(args),
                             (struct db_rows){policy_keep_on_review, o},
                             e);
}

/* ---- labels ---- */

struct policy_label_read {
    struct arena *arena;
    struct policy_label *out;
    size_t n;
};

static bool policy_keep_on_label(void *ctx, const struct db_value *c, size_t n)
{
    struct policy_label_read *r = ctx;
    struct policy_label *l = &r->out[r->n];

    assert(n == 7);
    *l = (struct policy_label){.run = arena_dup(r->arena, c[0].s),
                               .criterion = arena_dup(r->arena, c[1].s),
                               .status = arena_dup(r->arena, c[2].s),
                               .section = arena_dup(r->arena, c[3].s),
                               .document_id = arena_dup(r->arena, c[4].s),
                               .version = arena_dup(r->arena, c[5].s)};
    l->body = r->n && str_eq(l[-1].run, l->run) ? l[-1].body : arena_dup(r->arena, c[6].s);
    return ++r->n < POLICY_LABELS_MAX;
}

bool policy_keep_labels(struct policy_keep *k, str document_id, struct arena *a,
                        struct policy_label **out, size_t *n, struct err *e)
{
    struct db_value args[] = {db_text(document_id), db_int(POLICY_LABELS_MAX)};
    struct policy_label_read r = {a, arena_zero(a, POLICY_LABELS_MAX, sizeof **out), 0};
    bool ok;

    ok = policy_keep_query(
        k,
        "SELECT c.run_id, r.criterion_id, v.status, v.section, r.document_id,"
        " r.policy_version, c.body FROM policy_results r"
        " JOIN policy_reviews v ON v.result_id = r.result_id AND v.review_id ="
        " (SELECT MAX(w.review_id) FROM policy_reviews w"
        " WHERE w.result_id = r.result_id)"
        " JOIN policy_cases c ON c.run_id = r.run_id AND c.key_name = r.key_name AND"
        " c.case_id = r.case_id"
        " WHERE $1 = '' OR r.document_id = $1"
        " ORDER BY c.created_us, c.run_id, r.result_id LIMIT $2",
        args,
        COUNT_OF(args),
        (struct db_rows){policy_keep_on_label, &r},
        e);
    *out = r.out;
    *n = r.n;
    return ok;
}
