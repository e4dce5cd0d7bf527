/* engine_receipt.c - the receipts of erasures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/engine_state.h"

bool engine_receipt_put(struct engine *en, const struct store_note *note,
                        const struct audit_counts *c, struct err *e)
{
    char hex[SHA256_HEX_SIZE];
    struct db_value args[] = {
        db_text(note->id),
        db_int(en->now_us),
        db_int(c->sessions),
        db_int(c->interactions),
        db_int(c->decisions),
        db_int(c->communications),
        db_text(sha256_hex(en->head.hash, hex)),
        db_int(c->threads),
        db_int(c->runs),
    };

    return db_run(en->db,
                  "INSERT INTO erasures (receipt_id, erased_at_us, sessions, interactions,"
                  " decisions, communications, head_hash, threads, runs)"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
                  " ON CONFLICT DO NOTHING",
                  args,
                  COUNT_OF(args),
                  e);
}

static bool engine_receipt_on_row(void *ctx, const struct db_value *c, size_t n)
{
    struct store_receipt *r = ctx;

    assert(n == 9);
    (void)snprintf(r->id, sizeof r->id, STR_FMT, STR_ARG(c[0].s));
    r->erased_at_us = c[1].i;
    r->sessions = (uint64_t)c[2].i;
    r->interactions = (uint64_t)c[3].i;
    r->decisions = (uint64_t)c[4].i;
    r->communications = (uint64_t)c[5].i;
    (void)snprintf(r->head_hash, sizeof r->head_hash, STR_FMT, STR_ARG(c[6].s));
    r->threads = (uint64_t)c[7].i;
    r->runs = (uint64_t)c[8].i;
    return false;
}

bool engine_receipt(struct engine *en, str id, struct store_receipt *out, struct err *e)
{
    bool ok;

    *out = (struct store_receipt){0};
    pthread_mutex_lock(&en->read_lock);
    ok = db_query(en->reader,
                  "SELECT receipt_id, erased_at_us, sessions, interactions, decisions,"
                  " communications, head_hash, threads, runs FROM erasures WHERE receipt_id = $1 "
                  "AND scrubbed = 1",
                  DB_ARGS(db_text(id)),
                  (struct db_rows){engine_receipt_on_row, out},
                  e);
    pthread_mutex_unlock(&en->read_lock);
    return ok && (out->id[0] || err_set(e, ERR_NOT_FOUND, "no erasure of that id"));
}
