/* result_table_review.c - results that wait for a person's review, and the reviews.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/result_table_state.h"

/* A result waits if it is uncertain, has no decision, and the same criterion of the same case has
 * no newer result. */
#define NEWER                                                                                      \
    "EXISTS (SELECT 1 FROM policy_results n WHERE n.case_id = r.case_id AND"                       \
    " n.criterion_id = r.criterion_id AND n.key_name = r.key_name AND"                             \
    " (n.created_us > r.created_us OR (n.created_us = r.created_us AND n.result_id >"              \
    " r.result_id)))"
#define WAITS "r.status = 'uncertain' AND v.review_id IS NULL AND NOT " NEWER
#define ASKED                                                                                      \
    "(r.key_name = $1 OR $2 = 1) AND ($3 = '' OR r.document_id = $3) AND"                          \
    " ($4 = '' OR r.result LIKE $4)"

const char policy_queue_open_sql[] =
    "SELECT " POLICY_RESULT_COLUMNS " FROM " POLICY_RESULT_TABLES " WHERE " ASKED " AND " WAITS
    " ORDER BY r.created_us DESC, r.result_id LIMIT $5";
/* CROSS: SQLite begins with the reviews, of which there are fewer, and has their order for free. */
const char policy_queue_done_sql[] =
    "SELECT " POLICY_RESULT_COLUMNS " FROM policy_reviews v CROSS JOIN policy_results r"
    " WHERE r.result_id = v.result_id AND v.review_id = (SELECT MAX(w.review_id) FROM"
    " policy_reviews w WHERE w.result_id = v.result_id) AND " ASKED
    " ORDER BY v.review_id DESC LIMIT $5";
const char policy_waiting_sql[] =
    "SELECT COUNT(*) FROM " POLICY_RESULT_TABLES " WHERE (r.key_name = $1 OR $2 = 1) AND " WAITS;
const char policy_labels_sql[] =
    "SELECT r.run_id, r.result_id, r.criterion_id, v.status, v.section, r.document_id,"
    " r.policy_version FROM policy_reviews v CROSS JOIN policy_results r"
    " WHERE v.session_id > $2 AND r.result_id = v.result_id AND v.review_id ="
    " (SELECT MAX(w.review_id) FROM policy_reviews w WHERE w.result_id = v.result_id)"
    " AND ($1 = '' OR r.document_id = $1) ORDER BY v.session_id, r.result_id LIMIT $3";

bool policy_table_queue(struct policy_table *k, const struct policy_queue *q, struct json_out *o,
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
    return policy_table_query(k,
                              q->done ? policy_queue_done_sql : policy_queue_open_sql,
                              args,
                              COUNT_OF(args),
                              (struct db_rows){policy_table_on_result, o},
                              e);
}

bool policy_table_waiting(struct policy_table *k, str key, bool all, int64_t *out, struct err *e)
{
    *out = 0;
    return policy_table_query(
        k, policy_waiting_sql, DB_ARGS(db_text(key), db_int(all)), DB_ROW(db_into_i64(out)), e);
}

/* ---- one result ---- */

struct policy_item_found {
    struct arena *arena;
    struct policy_item *out;
    bool found;
};

static bool policy_table_on_item(void *ctx, const struct db_value *c, size_t n)
{
    struct policy_item_found *r = ctx;
    struct json_out o;
    struct buf json;

    assert(n == 19);
    buf_init(&json, POLICY_KEEP_TEXT_MAX);
    json_out_init(&o, &json);
    (void)policy_table_on_result(&o, c, n);
    *r->out = (struct policy_item){.json = arena_dup(r->arena, buf_str(&json)),
                                   .result = arena_dup(r->arena, c[7].s),
                                   .document_id = column_text(r->arena, &c[8]),
                                   .version = column_text(r->arena, &c[9]),
                                   .hash = column_text(r->arena, &c[15]),
                                   .run = arena_dup(r->arena, c[16].s),
                                   .status = arena_dup(r->arena, c[17].s),
                                   .body = column_text(r->arena, &c[18])};
    buf_release(&json);
    r->found = true;
    return false;
}

bool policy_table_item(struct policy_table *k, const struct policy_query *q, str result_id,
                       struct arena *a, struct policy_item *out, struct err *e)
{
    struct policy_item_found r = {a, out, false};

    return policy_table_query(k,
                              "SELECT " POLICY_RESULT_COLUMNS ", r.policy_hash, r.run_id, r.status,"
                              " (SELECT c.body FROM policy_cases c WHERE c.run_id = r.run_id AND"
                              " c.key_name = r.key_name AND c.case_id = r.case_id)"
                              " FROM " POLICY_RESULT_TABLES
                              " WHERE (r.key_name = $1 OR $2 = 1) AND r.result_id = $3",
                              DB_ARGS(db_text(q->key), db_int(q->all), db_text(result_id)),
                              (struct db_rows){policy_table_on_item, &r},
                              e) &&
           (r.found || err_set(e, ERR_NOT_FOUND, "there is no such result"));
}

bool policy_table_decide(struct policy_table *k, const struct policy_reviewed *v, struct err *e)
{
    return policy_table_run(k,
                            "INSERT INTO policy_reviews (review_id, result_id, session_id,"
                            " machine_status, status, section, reason, decided_by, decided_us)"
                            " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                            DB_ARGS(db_text(v->id),
                                    db_text(v->result_id),
                                    db_text(v->run),
                                    db_text(v->machine_status),
                                    db_text(v->status),
                                    db_text(v->section),
                                    db_text(v->reason),
                                    db_text(v->who),
                                    db_int(v->decided_us)),
                            NULL,
                            e);
}

bool policy_table_reviews(struct policy_table *k, str result_id, struct json_out *o, struct err *e)
{
    struct column_list list = {o, "machine_status status section? reason decided_by decided_at@"};

    return policy_table_query(k,
                              "SELECT machine_status, status, section, reason, decided_by,"
                              " decided_us FROM policy_reviews WHERE result_id = $1"
                              " ORDER BY review_id DESC LIMIT $2",
                              DB_ARGS(db_text(result_id), db_int(POLICY_LIST_MAX)),
                              (struct db_rows){column_on_row, &list},
                              e);
}

/* ---- labels ---- */

struct policy_label_read {
    struct arena *arena;
    struct policy_labels *out;
    size_t labels_max, bytes;
};

static bool policy_table_on_label(void *ctx, const struct db_value *c, size_t n)
{
    struct policy_label_read *r = ctx;
    const struct policy_labels *out = r->out;

    assert(n == 7);
    r->out->more = out->n == r->labels_max || (r->bytes >= POLICY_LABEL_BYTES_MAX &&
                                               !str_eq(out->list[out->n - 1].run, c[0].s));
    if (out->more)
        return false;
    r->bytes += c[2].s.n + c[4].s.n;
    r->out->list[r->out->n++] = (struct policy_label){.run = arena_dup(r->arena, c[0].s),
                                                      .result_id = arena_dup(r->arena, c[1].s),
                                                      .criterion = arena_dup(r->arena, c[2].s),
                                                      .status = arena_dup(r->arena, c[3].s),
                                                      .section = arena_dup(r->arena, c[4].s),
                                                      .document_id = column_text(r->arena, &c[5]),
                                                      .version = column_text(r->arena, &c[6]),
                                                      .body = STR("")};
    return true;
}

/* The case of the label at out->n. */
static bool policy_table_label_body(struct policy_table *k, struct policy_label_read *r,
                                    struct err *e)
{
    return policy_table_query(k,
                              "SELECT c.body FROM policy_results r JOIN policy_cases c ON"
                              " c.run_id = r.run_id AND c.key_name = r.key_name AND"
                              " c.case_id = r.case_id WHERE r.result_id = $1",
                              DB_ARGS(db_text(r->out->list[r->out->n].result_id)),
                              DB_ROW(db_into_text(r->arena, &r->out->list[r->out->n].body)),
                              e);
}

bool policy_table_labels(struct policy_table *k, const struct policy_label_page *page,
                         struct arena *a, struct policy_labels *out, struct err *e)
{
    size_t cases = 0, n, labels_max = page->cases_max * POLICY_LABELS_MAX;
    struct policy_label_read r = {a, out, labels_max, 0};
    bool ok;

    *out = (struct policy_labels){arena_zero(a, labels_max, sizeof *out->list), 0, false};
    ok = policy_table_query(
        k,
        policy_labels_sql,
        DB_ARGS(db_text(page->document_id), db_text(page->after), db_int((int64_t)labels_max + 1)),
        (struct db_rows){policy_table_on_label, &r},
        e);
    n = out->n;
    r.bytes = 0;
    assert(n <= labels_max && (n > 0 || !out->more));
    for (out->n = 0; ok && out->n < n; out->n++) {
        struct policy_label *l = &out->list[out->n];

        if (out->n && str_eq(l[-1].run, l->run)) {
            l->body = l[-1].body;
            continue;
        }
        if (cases++ == page->cases_max || r.bytes >= POLICY_LABEL_BYTES_MAX) {
            out->more = true;
            break;
        }
        ok = policy_table_label_body(k, &r, e);
        r.bytes += l->body.n;
    }
    return ok;
}
