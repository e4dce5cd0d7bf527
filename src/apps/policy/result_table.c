/* result_table.c - see result_table.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/result_table_state.h"

bool policy_table_open(str url, struct policy_table **out, struct err *e)
{
    struct policy_table *k = base_alloc(sizeof *k);

    *k = (struct policy_table){0};
    if (!str_eq(url, STR("none")) &&
        (!db_open(url, DB_BESIDE, &k->writer, e) || !db_open(url, DB_READ, &k->reader, e))) {
        db_close(k->writer);
        free(k);
        return err_prefix(e, "the results: ");
    }
    pthread_mutex_init(&k->write_lock, NULL);
    pthread_mutex_init(&k->read_lock, NULL);
    *out = k;
    return true;
}

void policy_table_close(struct policy_table *k)
{
    if (!k)
        return;
    db_close(k->writer);
    db_close(k->reader);
    pthread_mutex_destroy(&k->write_lock);
    pthread_mutex_destroy(&k->read_lock);
    free(k);
}

/* ---- writing ---- */

bool policy_table_begin(struct policy_table *k, struct err *e)
{
    assert(k->writer);
    pthread_mutex_lock(&k->write_lock);
    if (db_begin(k->writer, true, e))
        return true;
    pthread_mutex_unlock(&k->write_lock);
    return false;
}

bool policy_table_end(struct policy_table *k, bool ok, struct err *e)
{
    assert(k->writer);
    ok = db_end(k->writer, ok, e);
    pthread_mutex_unlock(&k->write_lock);
    return ok;
}

static bool policy_table_put_result(struct db *db, const struct policy_kept *r, str result,
                                    struct err *e)
{
    return db_run(db,
                  "INSERT INTO policy_results (result_id, run_id, session_id, case_id,"
                  " criterion_id, status, controller, mode, prompt_id, key_name, created_us,"
                  " result, document_id, policy_version, policy_hash)"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
                  " ON CONFLICT (result_id) DO NOTHING",
                  DB_ARGS(db_text(r->id),
                          db_text(r->run),
                          db_text(r->session),
                          db_text(r->case_id),
                          db_text(r->criterion),
                          db_text(r->status),
                          db_text(r->controller),
                          db_text(r->mode),
                          db_text(r->prompt_id),
                          db_text(r->key),
                          db_int(r->created_us),
                          db_text(result),
                          db_text(r->document_id),
                          db_text(r->version),
                          db_text(r->hash)),
                  e);
}

bool policy_table_mask(const struct mask *mask, const char *what, struct buf *out, str *text,
                       struct err *e)
{
    if (!mask || !mask_json(mask, *text, out, NULL))
        return true;
    *text = buf_str(out);
    return buf_ok(out, what, e);
}

static bool policy_table_put_masked(struct db *db, const struct policy_kept *r,
                                    const struct mask *mask, struct err *e)
{
    str result = r->result;
    struct buf masked;
    bool ok;

    buf_init(&masked, POLICY_KEEP_TEXT_MAX);
    ok = policy_table_mask(mask, "the masked result", &masked, &result, e) &&
         policy_table_put_result(db, r, result, e);
    buf_release(&masked);
    return ok;
}

/* The run that has the id already, against one that wants it. */
struct policy_run_taken {
    str key, body, hash; /* hash NULL: not compared */
    const char *why;     /* NULL: the run is the same, or no run has the id */
};

static bool policy_table_on_taken(void *ctx, const struct db_value *c, size_t n)
{
    struct policy_run_taken *t = ctx;

    assert(n == 3);
    if (!str_eq(c[0].s, t->key))
        t->why = "by a run of another key";
    else if (!str_eq(c[1].s, t->body))
        t->why = "by another request";
    else if (t->hash.p && c[2].type == DB_TEXT && !str_eq(c[2].s, t->hash))
        t->why = "by a run before the policy changed";
    return false;
}

static bool policy_table_check_taken(struct db *db, str run, struct policy_run_taken *t,
                                     struct err *e)
{
    if (!db_query(db,
                  "SELECT c.key_name, c.body, (SELECT r.policy_hash FROM policy_results r WHERE"
                  " r.session_id = c.run_id AND r.run_id = c.run_id LIMIT 1)"
                  " FROM policy_cases c WHERE c.run_id = $1",
                  DB_ARGS(db_text(run)),
                  (struct db_rows){policy_table_on_taken, t},
                  e))
        return false;
    return !t->why || err_input(e, POLICY_RUN_TAKEN, t->why);
}

bool policy_table_run_free(struct policy_table *k, const struct policy_kept_case *c,
                           const struct mask *mask, struct err *e)
{
    struct policy_run_taken taken = {c->key, c->body, {NULL, 0}, NULL};
    struct buf masked;
    bool ok;

    if (!policy_table_is_open(k))
        return true;
    buf_init(&masked, POLICY_KEEP_TEXT_MAX);
    ok = policy_table_mask(mask, "the masked case", &masked, &taken.body, e);
    if (ok) {
        pthread_mutex_lock(&k->read_lock);
        ok = policy_table_check_taken(k->reader, c->run, &taken, e);
        pthread_mutex_unlock(&k->read_lock);
    }
    buf_release(&masked);
    return ok;
}

/* A case that is there already must be the same one. */
static bool policy_table_put_case(struct db *db, const struct policy_kept_case *c, str hash,
                                  const struct mask *mask, struct err *e)
{
    struct policy_run_taken taken = {c->key, c->body, hash, NULL};
    struct buf masked;
    int64_t n = 0;
    bool ok;

    assert(c->run.n > 0);
    buf_init(&masked, POLICY_KEEP_TEXT_MAX);
    ok = policy_table_mask(mask, "the masked case", &masked, &taken.body, e);
    if (ok) {
        ok = db_run(db,
                    "INSERT INTO policy_cases (run_id, session_id, case_id, document_id, key_name,"
                    " body, masked, created_us) VALUES ($1, $1, $2, $3, $4, $5, $6, $7)"
                    " ON CONFLICT (run_id) DO NOTHING",
                    DB_ARGS(db_text(c->run),
                            db_text(c->case_id),
                            db_text(c->document_id),
                            db_text(c->key),
                            db_text(taken.body),
                            db_int(c->masked || masked.n > 0),
                            db_int(c->created_us)),
                    e) &&
             db_changed(db, &n, e) && (n > 0 || policy_table_check_taken(db, c->run, &taken, e));
    }
    buf_release(&masked);
    return ok;
}

bool policy_table_results(struct policy_table *k, const struct policy_kept_case *c,
                          const struct policy_kept *rows, size_t n, const struct mask *mask,
                          struct err *e)
{
    bool ok;

    if (!k->writer || !n)
        return true;
    assert(str_eq(rows[0].run, c->run) && str_eq(rows[0].key, c->key));
    if (!policy_table_begin(k, e))
        return false;
    ok = policy_table_put_case(k->writer, c, rows[0].hash, mask, e);
    for (size_t i = 0; ok && i < n; i++)
        ok = policy_table_put_masked(k->writer, &rows[i], mask, e);
    return policy_table_end(k, ok, e);
}

bool policy_table_shadow(struct policy_table *k, const struct policy_compared *r, struct err *e)
{
    return !k->writer ||
           policy_table_run(
               k,
               "INSERT INTO policy_shadow (result_id, session_id, case_id, criterion_id,"
               " served_status, served_confidence, shadow_status, shadow_confidence, reason_code,"
               " prompt_id, differs, created_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
               " $11, $12) ON CONFLICT (result_id) DO NOTHING",
               DB_ARGS(db_text(r->id),
                       db_text(r->session),
                       db_text(r->case_id),
                       db_text(r->criterion),
                       db_text(r->served_status),
                       db_real(r->served_confidence),
                       db_text(r->shadow_status),
                       db_real(r->shadow_confidence),
                       db_text_or_null(r->reason_code),
                       db_text(r->prompt_id),
                       db_int(r->differs),
                       db_int(r->created_us)),
               NULL,
               e);
}

/* ---- reading ---- */

bool policy_table_query(struct policy_table *k, const char *sql, const struct db_value *args,
                        size_t n, struct db_rows rows, struct err *e)
{
    bool ok;

    if (!policy_table_is_open(k))
        return true;
    pthread_mutex_lock(&k->read_lock);
    ok = db_query(k->reader, sql, args, n, rows, e);
    pthread_mutex_unlock(&k->read_lock);
    return ok;
}

bool policy_table_run(struct policy_table *k, const char *sql, const struct db_value *args,
                      size_t n, int64_t *changed, struct err *e)
{
    int64_t none;
    bool ok;

    if (!policy_table_is_open(k))
        return err_input(e, "nothing is kept: the store is \"none\"");
    if (!policy_table_begin(k, e))
        return false;
    ok = db_run(k->writer, sql, args, n, e) && db_changed(k->writer, changed ? changed : &none, e);
    return policy_table_end(k, ok, e);
}

static void policy_table_review_json(struct json_out *o, const struct db_value *c)
{
    if (c[0].type == DB_NULL) {
        json_member_null(o, "review");
        return;
    }
    column_write(o, "review{ status section? reason decided_by decided_at@ }", c);
}

/* A stored result with its related data: the columns of POLICY_RESULT_COLUMNS. */
bool policy_table_on_result(void *ctx, const struct db_value *c, size_t n)
{
    struct json_out *o = ctx;
    const struct json_node *root;
    struct json doc;
    struct err e;

    assert(n >= 15);
    if (json_open(&doc, c[7].s, &e)) {
        root = json_root(&doc);
        json_out_object(o);
        column_write(o,
                     "result_id case_id session_id controller mode prompt_id timestamp@ -"
                     " policy_document_id? policy_version?",
                     c);
        policy_table_review_json(o, &c[10]);
        JSON_FOREACH(k, &doc, root) {
            str key = json_raw(&doc, k);

            json_out_key(o, str_slice(key, 1, key.n - 1));
            json_out_raw(o, json_raw(&doc, json_value(k)));
        }
        json_out_end(o);
    }
    json_release(&doc);
    return true;
}

#define RESULTS_WHERE(decides)                                                                     \
    "SELECT " POLICY_RESULT_COLUMNS " FROM " POLICY_RESULT_TABLES " WHERE " decides                \
    " AND (r.key_name = $1 OR $2 = 1) AND ($3 = '' OR r.case_id = $3)"                             \
    " AND ($4 = '' OR r.status = $4) ORDER BY r.created_us DESC, r.result_id LIMIT $5"

bool policy_table_list(struct policy_table *k, const struct policy_query *q, struct json_out *o,
                       struct err *e)
{
    return policy_table_query(k,
                              q->case_id.n ? RESULTS_WHERE("r.case_id = $3")
                                           : RESULTS_WHERE("r.created_us >= 0"),
                              DB_ARGS(db_text(q->key),
                                      db_int(q->all),
                                      db_text(q->case_id),
                                      db_text(q->status),
                                      db_int(q->limit)),
                              (struct db_rows){policy_table_on_result, o},
                              e);
}

bool policy_table_discrepancies(struct policy_table *k, int64_t limit, struct json_out *o,
                                struct err *e)
{
    struct column_list list = {o,
                               "case_id criterion_id primary{ status confidence# }"
                               " shadow{ status confidence# } reason_code? prompt_id timestamp@"};

    return policy_table_query(
        k,
        "SELECT case_id, criterion_id, served_status, served_confidence, shadow_status,"
        " shadow_confidence, reason_code, prompt_id, created_us FROM policy_shadow"
        " WHERE differs = 1 ORDER BY created_us DESC, result_id LIMIT $1",
        DB_ARGS(db_int(limit)),
        (struct db_rows){column_on_row, &list},
        e);
}

/* ---- switches ---- */

#define STEP_TRIES 5 /* another process may have taken the number */

bool policy_table_is_open(const struct policy_table *k)
{
    return k && k->writer;
}

bool policy_table_switches(struct policy_table *k, const struct policy_set *s, struct err *e)
{
    bool ok = !policy_table_is_open(k);

    for (unsigned i = 0; !ok && i < STEP_TRIES; i++)
        ok = policy_table_run(
            k,
            "INSERT INTO policy_rollout (step, switches, configured, set_by, set_us)"
            " SELECT COALESCE(MAX(step), 0) + 1, CAST($1 AS TEXT), CAST($2 AS TEXT),"
            " CAST($3 AS TEXT), CAST($4 AS BIGINT) FROM policy_rollout",
            DB_ARGS(db_text_or_null(s->switches),
                    db_text(s->configured),
                    db_text(s->who),
                    db_int(s->set_us)),
            NULL,
            e);
    return ok || err_prefix(e, "the switches: ");
}

#define SWITCHES_NEWEST                                                                            \
    "SELECT switches, configured, set_by, set_us, step FROM policy_rollout"                        \
    " ORDER BY step DESC LIMIT $1"

bool policy_table_switches_last(struct policy_table *k, struct arena *a, struct policy_set *out,
                                bool *found, struct err *e)
{
    *out = (struct policy_set){.switches = STR("")};
    *found = false;
    return policy_table_query(k,
                              SWITCHES_NEWEST,
                              DB_ARGS(db_int(1)),
                              DB_ROW(db_into_found(found),
                                     db_into_text(a, &out->switches),
                                     db_into_text(a, &out->configured),
                                     db_into_text(a, &out->who),
                                     db_into_i64(&out->set_us),
                                     db_into_i64(&out->step)),
                              e);
}

bool policy_table_switches_list(struct policy_table *k, int64_t limit, struct json_out *o,
                                struct err *e)
{
    struct column_list list = {o, "switches* - set_by timestamp@"};

    return policy_table_query(
        k, SWITCHES_NEWEST, DB_ARGS(db_int(limit)), (struct db_rows){column_on_row, &list}, e);
}
