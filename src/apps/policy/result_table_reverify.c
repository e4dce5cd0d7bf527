/* result_table_reverify.c - cases verified again, and changed verdicts. See result_table.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/result_table_state.h"

/* The newest run of a case before a job began. $1 to $3: the document's id, or of its versions; $4:
 * when the job began. */
#define OF_DOCUMENT(c)                                                                             \
    "(lower(" c ".document_id) = $1 OR lower(" c ".document_id) LIKE $2 ESCAPE '\\' OR"            \
    " lower(" c ".document_id) LIKE $3 ESCAPE '\\')"
#define NEWEST_CASES                                                                               \
    "policy_cases c WHERE " OF_DOCUMENT(                                                           \
        "c") " AND c.created_us <= $4 AND NOT EXISTS"                                              \
             " (SELECT 1 FROM policy_cases n WHERE n.case_id = c.case_id AND n.key_name = "        \
             "c.key_name AND"                                                                      \
             " " OF_DOCUMENT("n") " AND n.created_us <= $4 AND (n.created_us > c.created_us OR"    \
                                  " (n.created_us = c.created_us AND n.run_id > c.run_id)))"

const char policy_again_next_sql[] =
    "SELECT c.run_id, c.case_id, c.key_name, c.body, c.created_us, c.masked FROM " NEWEST_CASES
    " AND c.created_us >= $5 AND (c.created_us > $5 OR c.run_id > $6) AND NOT EXISTS"
    " (SELECT 1 FROM policy_reverified d WHERE d.reverify_id = $7 AND d.run_id = c.run_id)"
    " AND EXISTS (SELECT 1 FROM policy_reverify j WHERE j.reverify_id = $7 AND j.status ="
    " 'running')"
    " ORDER BY c.created_us, c.run_id LIMIT 1";
const char policy_again_results_sql[] =
    "SELECT result_id, criterion_id, result, policy_version, controller FROM policy_results"
    " WHERE session_id = $1 AND run_id = $1 ORDER BY result_id";

/* Three arguments for OF_DOCUMENT. An id with an @ or a colon is of one document; any other is
 * also that of the documents that have one of these after it (version.h). */
static void reverify_document_args(str id, struct arena *a, struct db_value *args)
{
    char *lower = arena_alloc(a, id.n + 1), *like = arena_alloc(a, 2 * id.n + 1);
    size_t n = 0;
    bool one = false;

    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];

        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
        one |= c == '@' || c == ':';
        if (strchr("%_\\", c))
            like[n++] = '\\';
        like[n++] = lower[i];
    }
    assert(n >= id.n && n <= 2 * id.n);
    args[0] = db_text((str){lower, id.n});
    args[1] = db_text(arena_join(a, (str){like, n}, one ? STR("") : STR("@%"), STR("")));
    args[2] = db_text(arena_join(a, (str){like, n}, one ? STR("") : STR(":%"), STR("")));
}

bool policy_table_reverify_count(struct policy_table *k, str document_id, int64_t until_us,
                                 struct arena *a, int64_t *out, struct err *e)
{
    struct db_value args[4];

    reverify_document_args(document_id, a, args);
    args[3] = db_int(until_us);
    *out = 0;
    return policy_table_query(
        k, "SELECT COUNT(*) FROM " NEWEST_CASES, args, COUNT_OF(args), DB_ROW(db_into_i64(out)), e);
}

bool policy_table_reverify_done(struct policy_table *k, str id, int64_t *out, struct err *e)
{
    *out = 0;
    return policy_table_query(
        k,
        "SELECT COUNT(DISTINCT run_id) FROM policy_reverified WHERE reverify_id = $1",
        DB_ARGS(db_text(id)),
        DB_ROW(db_into_i64(out)),
        e);
}

bool policy_table_reverify_put(struct policy_table *k, const struct policy_reverify_row *row,
                               struct err *e)
{
    return policy_table_run(
        k,
        "INSERT INTO policy_reverify (reverify_id, document_id, request, status,"
        " error, total, created_by, created_us, daemon_id)"
        " VALUES ($1, $2, $3, 'running', '', $4, $5, $6, $7)",
        DB_ARGS(db_text(row->id),
                db_text(row->document_id),
                db_text(row->request),
                db_int(row->total),
                db_text(row->who),
                db_int(row->created_us),
                db_text(row->daemon)),
        NULL,
        e);
}

bool policy_table_reverify_end(struct policy_table *k, const struct policy_reverify_row *row,
                               bool *ended, struct err *e)
{
    int64_t n = 0;
    bool ok = policy_table_run(
        k,
        "UPDATE policy_reverify SET status = $2, error = $3, ended_us = $4"
        " WHERE reverify_id = $1 AND status = 'running'",
        DB_ARGS(db_text(row->id), db_text(row->status), db_text(row->error), db_int(row->ended_us)),
        &n,
        e);

    assert(n <= 1 && !str_eq(row->status, STR("running")));
    *ended = n > 0;
    return ok;
}

bool policy_table_reverify_running(struct policy_table *k, str daemon, struct arena *a,
                                   struct policy_reverify_row *out, bool *found, struct err *e)
{
    *out = (struct policy_reverify_row){.total = 0};
    *found = false;
    return policy_table_query(k,
                              "SELECT reverify_id, document_id, request, total, created_by,"
                              " created_us FROM policy_reverify WHERE status = 'running'"
                              " AND coalesce(daemon_id, '') IN ('', $1)"
                              " ORDER BY created_us LIMIT 1",
                              DB_ARGS(db_text(daemon)),
                              DB_ROW(db_into_found(found),
                                     db_into_text(a, &out->id),
                                     db_into_text(a, &out->document_id),
                                     db_into_text(a, &out->request),
                                     db_into_i64(&out->total),
                                     db_into_text(a, &out->who),
                                     db_into_i64(&out->created_us)),
                              e);
}

/* ---- the next case ---- */

#define CRITERIA_MAX 256 /* as many as a case has */

struct reverify_results {
    struct arena *arena;
    struct policy_again *again;
};

static bool reverify_on_result(void *ctx, const struct db_value *c, size_t n)
{
    struct reverify_results *f = ctx;
    struct policy_again *again = f->again;

    assert(n == 5);
    if (again->n == CRITERIA_MAX)
        return false;
    again->ids[again->n] = arena_dup(f->arena, c[0].s);
    again->criteria[again->n] = arena_dup(f->arena, c[1].s);
    again->results[again->n] = arena_dup(f->arena, c[2].s);
    again->versions[again->n] = column_text(f->arena, &c[3]);
    again->controller = arena_dup(f->arena, c[4].s);
    again->n++;
    return true;
}

bool policy_table_reverify_next(struct policy_table *k, const struct policy_reverify_row *job,
                                struct arena *a, struct policy_again *out, bool *found,
                                struct err *e)
{
    struct policy_again next = {.controller = STR("")};
    struct reverify_results results = {a, out};
    struct db_value args[7];
    int64_t masked = 0;

    assert(job->id.n > 0 && job->created_us > 0);
    reverify_document_args(job->document_id, a, args);
    args[3] = db_int(job->created_us);
    args[4] = db_int(out->created_us);
    args[5] = db_text(out->run);
    args[6] = db_text(job->id);
    *found = false;
    if (!policy_table_query(k,
                            policy_again_next_sql,
                            args,
                            COUNT_OF(args),
                            DB_ROW(db_into_found(found),
                                   db_into_text(a, &next.run),
                                   db_into_text(a, &next.case_id),
                                   db_into_text(a, &next.key),
                                   db_into_text(a, &next.body),
                                   db_into_i64(&next.created_us),
                                   db_into_i64(&masked)),
                            e))
        return false;
    if (!*found)
        return true;
    next.masked = masked != 0;
    next.ids = arena_zero(a, CRITERIA_MAX, sizeof *next.ids);
    next.criteria = arena_zero(a, CRITERIA_MAX, sizeof *next.criteria);
    next.results = arena_zero(a, CRITERIA_MAX, sizeof *next.results);
    next.versions = arena_zero(a, CRITERIA_MAX, sizeof *next.versions);
    *out = next;
    return policy_table_query(k,
                              policy_again_results_sql,
                              DB_ARGS(db_text(out->run)),
                              (struct db_rows){reverify_on_result, &results},
                              e);
}

/* ---- results ---- */

static bool reverify_put_done(struct db *db, const struct policy_again_done *d,
                              const struct mask *mask, struct err *e)
{
    str old_result = d->old_result, new_result = d->new_result;
    struct buf was, is;
    bool ok;

    buf_init(&was, POLICY_KEEP_TEXT_MAX);
    buf_init(&is, POLICY_KEEP_TEXT_MAX);
    ok = policy_table_mask(mask, "the masked result", &was, &old_result, e) &&
         policy_table_mask(mask, "the masked result", &is, &new_result, e);
    if (ok) {
        ok = db_run(db,
                    "INSERT INTO policy_reverified (reverify_id, run_id, session_id, criterion_id,"
                    " case_id, old_result, new_result, flipped, error, created_us)"
                    " VALUES ($1, $2, $2, $3, $4, $5, $6, $7, $8, $9)"
                    " ON CONFLICT (reverify_id, run_id, criterion_id) DO NOTHING",
                    DB_ARGS(db_text(d->id),
                            db_text(d->run),
                            db_text(d->criterion),
                            db_text(d->case_id),
                            db_text(old_result),
                            db_text(new_result),
                            db_int(d->flipped),
                            db_text(d->error),
                            db_int(d->created_us)),
                    e);
    }
    buf_release(&was);
    buf_release(&is);
    return ok;
}

bool policy_table_reverified(struct policy_table *k, const struct policy_again_done *rows, size_t n,
                             const struct mask *mask, struct err *e)
{
    bool ok;

    if (!policy_table_is_open(k))
        return true;
    ok = policy_table_begin(k, e);
    if (!ok)
        return false;
    for (size_t i = 0; ok && i < n; i++)
        ok = reverify_put_done(k->writer, &rows[i], mask, e);
    return policy_table_end(k, ok, e);
}

/* ---- shown ---- */

struct reverify_shown {
    struct json_out *o;
    bool open; /* the caller ends the object */
};

static bool reverify_on_job(void *ctx, const struct db_value *c, size_t n)
{
    struct reverify_shown *s = ctx;

    assert(n == 13);
    json_out_object(s->o);
    column_write(s->o,
                 "id document_id request* status error? total# done# failed# criteria# flipped#"
                 " created_by created_at@ ended_at@",
                 c);
    if (!s->open)
        json_out_end(s->o);
    return true;
}

#define OF_JOB " FROM policy_reverified d WHERE d.reverify_id = j.reverify_id"
#define JOBS                                                                                       \
    "SELECT j.reverify_id, j.document_id, j.request, j.status, j.error, j.total,"                  \
    " (SELECT COUNT(DISTINCT d.run_id)" OF_JOB "), (SELECT COUNT(*)" OF_JOB                        \
    " AND d.error <> ''), (SELECT COUNT(*)" OF_JOB " AND d.error = ''), (SELECT COUNT(*)" OF_JOB   \
    " AND d.flipped = 1), j.created_by, j.created_us, j.ended_us FROM policy_reverify j"           \
    " WHERE $1 = '' OR j.reverify_id = $1 ORDER BY j.created_us DESC, j.reverify_id DESC LIMIT $2"

bool policy_table_reverify_list(struct policy_table *k, str id, int64_t limit, struct json_out *o,
                                struct err *e)
{
    struct db_value args[] = {db_text(id), db_int(limit)};
    struct reverify_shown shown = {o, id.n > 0};
    struct column_list changes = {o, "case_id criterion_id? old* new* error?"};
    size_t before = o->buf->n;

    if (!policy_table_query(
            k, JOBS, args, COUNT_OF(args), (struct db_rows){reverify_on_job, &shown}, e))
        return false;
    if (!id.n)
        return true;
    if (o->buf->n == before)
        return err_set(e, ERR_NOT_FOUND, "there is no such re-verification");
    json_member_array(o, "changes");
    if (!policy_table_query(k,
                            "SELECT case_id, criterion_id, old_result, new_result, error"
                            " FROM policy_reverified WHERE reverify_id = $1 AND"
                            " (flipped = 1 OR error <> '')"
                            " ORDER BY created_us, run_id, criterion_id LIMIT $2",
                            args,
                            COUNT_OF(args),
                            (struct db_rows){column_on_row, &changes},
                            e))
        return false;
    json_out_close(o, 2);
    return true;
}
