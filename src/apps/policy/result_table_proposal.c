/* result_table_proposal.c - criteria and facts that models propose and persons confirm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/result_table_state.h"

#define CONFIRMED_MAX 256 /* criteria of a version: as many as a case has */
#define FACTS_MAX 4096

static bool proposal_put(struct db *db, const struct policy_proposal *p, const struct mask *mask,
                         struct err *e)
{
    str texts[] = {p->name, p->value, p->quote};
    struct buf masked[COUNT_OF(texts)];
    bool ok = true;

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        buf_init(&masked[i], POLICY_KEEP_TEXT_MAX);
        ok = ok && policy_table_mask(mask, "the masked proposal", &masked[i], &texts[i], e);
    }
    if (ok) {
        ok = db_run(db,
                    "INSERT INTO policy_proposals (proposal_id, session_id, kind, state,"
                    " document_id, version, case_id, name, value, quote, node_id, section, page,"
                    " start_char, end_char, confidence, model, created_by, created_us)"
                    " VALUES ($1, $2, $3, 'proposed', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,"
                    " $14, $15, $16, $17, $18)",
                    DB_ARGS(db_text(p->id),
                            db_text(p->session),
                            db_text(p->kind),
                            db_text(p->document_id),
                            db_text(p->version),
                            db_text(p->case_id),
                            db_text(texts[0]),
                            db_text(texts[1]),
                            db_text(texts[2]),
                            db_text(p->node_id),
                            db_text(p->section),
                            db_int(p->page),
                            db_int(p->start),
                            db_int(p->end),
                            db_real(p->confidence),
                            db_text(p->model),
                            db_text(p->who),
                            db_int(p->created_us)),
                    e);
    }
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        buf_release(&masked[i]);
    return ok;
}

bool policy_table_propose(struct policy_table *k, const struct policy_proposal *rows, size_t n,
                          const struct mask *mask, struct err *e)
{
    bool ok;

    if (!policy_table_is_open(k))
        return err_input(e, "nothing is kept: the store is \"none\"");
    ok = policy_table_begin(k, e);
    if (!ok)
        return false;
    for (size_t i = 0; ok && i < n; i++)
        ok = proposal_put(k->writer, &rows[i], mask, e);
    return policy_table_end(k, ok, e);
}

/* A condition that may be off has no index: so what decides which index is used is always on. */
#define PROPOSALS_WHERE(decides)                                                                   \
    "SELECT proposal_id, session_id, kind, state, document_id, version, case_id, name, value,"     \
    " quote, node_id, section, page, start_char, end_char, confidence, model, created_us,"         \
    " decided_by, decided_us, reason FROM policy_proposals WHERE " decides                         \
    " AND ($1 = '' OR proposal_id = $1) AND ($2 = '' OR kind = $2) AND ($3 = '' OR state = $3)"    \
    " AND ($4 = '' OR document_id = $4) AND ($5 = '' OR version = $5)"                             \
    " AND ($6 = '' OR case_id = $6) ORDER BY proposal_id LIMIT $7"

static const char *proposals_sql(const struct policy_proposals *q)
{
    if (q->id.n)
        return PROPOSALS_WHERE("proposal_id = $1");
    if (q->document_id.n)
        return PROPOSALS_WHERE("document_id = $4");
    return q->case_id.n ? PROPOSALS_WHERE("case_id = $6") : PROPOSALS_WHERE("proposal_id > ''");
}

bool policy_table_proposals(struct policy_table *k, const struct policy_proposals *q,
                            struct json_out *o, struct err *e)
{
    struct column_list list = {o,
                               "id session_id kind state document_id? version? case_id? name value*"
                               " quote node_id? section? page# start# end# confidence# model"
                               " created_at@ decided_by? decided_at@ reason?"};

    return policy_table_query(k,
                              proposals_sql(q),
                              DB_ARGS(db_text(q->id),
                                      db_text(q->kind),
                                      db_text(q->state),
                                      db_text(q->document_id),
                                      db_text(q->version),
                                      db_text(q->case_id),
                                      db_int(q->limit)),
                              (struct db_rows){column_on_row, &list},
                              e);
}

bool policy_table_proposal_decide(struct policy_table *k, const struct policy_proposal_word *w,
                                  struct err *e)
{
    int64_t n = 0;

    return policy_table_run(k,
                            "UPDATE policy_proposals SET state = $2, decided_by = $3,"
                            " decided_us = $4, reason = $5 WHERE proposal_id = $1",
                            DB_ARGS(db_text(w->id),
                                    db_text(w->state),
                                    db_text(w->who),
                                    db_int(w->decided_us),
                                    db_text(w->reason)),
                            &n,
                            e) &&
           (n > 0 || err_set(e, ERR_NOT_FOUND, "there is no such proposal"));
}

/* ---- confirmed proposals ---- */

struct proposal_names {
    struct arena *arena;
    struct policy_names *out;
};

static bool proposal_on_name(void *ctx, const struct db_value *c, size_t n)
{
    struct proposal_names *names = ctx;
    struct policy_names *out = names->out;

    assert(n == 1);
    for (size_t i = 0; i < out->n; i++)
        if (str_eq(out->list[i], c[0].s))
            return true;
    assert(out->n < CONFIRMED_MAX);
    out->list[out->n++] = arena_dup(names->arena, c[0].s);
    return out->n < CONFIRMED_MAX;
}

bool policy_table_confirmed(struct policy_table *k, str document_id, str version, struct arena *a,
                            struct policy_names *out, struct err *e)
{
    struct proposal_names names = {a, out};

    *out = (struct policy_names){arena_zero(a, CONFIRMED_MAX, sizeof out->list[0]), 0};
    return policy_table_query(k,
                              "SELECT name FROM policy_proposals WHERE kind = 'criterion' AND"
                              " state = 'confirmed' AND document_id = $1 AND version = $2"
                              " ORDER BY proposal_id",
                              DB_ARGS(db_text(document_id), db_text(version)),
                              (struct db_rows){proposal_on_name, &names},
                              e);
}

struct proposal_facts {
    struct json_out *o;
    size_t n;
};

static bool proposal_on_fact(void *ctx, const struct db_value *c, size_t n)
{
    struct proposal_facts *facts = ctx;

    assert(n == 6);
    (void)column_on_row(
        &(struct column_list){facts->o, "field_name value* confidence# doc_id page#"}, c, n);
    return ++facts->n < FACTS_MAX;
}

bool policy_table_confirmed_facts(struct policy_table *k, str case_id, struct json_out *o,
                                  size_t *n, struct err *e)
{
    struct proposal_facts facts = {o, 0};
    bool ok = policy_table_query(k,
                                 "SELECT name, value, confidence, document_id, page, proposal_id"
                                 " FROM policy_proposals WHERE kind = 'fact' AND"
                                 " state = 'confirmed' AND case_id = $1 ORDER BY proposal_id",
                                 DB_ARGS(db_text(case_id)),
                                 (struct db_rows){proposal_on_fact, &facts},
                                 e);

    *n = facts.n;
    return ok;
}
