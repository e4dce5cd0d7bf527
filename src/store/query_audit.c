/* query_audit.c - the audit log, and whether its chain holds, as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/audit.h"
#include "store/query_build.h"

enum { SEQ, TIME, ACTOR, ACTION, SUBJECT, DETAIL, HASH };

static const struct column columns[] = {
    {"seq", "seq", COLUMN_NUMBER},
    {"time_us", "time_us", COLUMN_NUMBER},
    {"actor", "actor", COLUMN_TEXT},
    {"action", "action", COLUMN_TEXT},
    {"subject", "subject", COLUMN_TEXT},
    {"detail", "detail", COLUMN_TEXT},
    {"hash", "hash", COLUMN_SKIP},
};

static void query_audit_hash_write(struct json_out *o, str bytes)
{
    char hex[SHA256_HEX_SIZE] = "";

    if (bytes.n == SHA256_SIZE)
        (void)sha256_hex((const uint8_t *)bytes.p, hex);
    json_member_str(o, "hash", str_c(hex));
}

struct entries {
    struct json_out *o;
    struct audit_head head; /* the first */
};

static bool query_audit_on_entry(void *ctx, const struct db_value *v, size_t n)
{
    struct entries *l = ctx;

    assert(n == COUNT_OF(columns));
    if (l->head.seq == 0) {
        l->head.seq = v[SEQ].i;
        l->head.time_us = v[TIME].i;
        if (v[HASH].s.n == SHA256_SIZE)
            memcpy(l->head.hash, v[HASH].s.p, SHA256_SIZE);
    }
    json_out_object(l->o);
    columns_write(columns, COUNT_OF(columns), v, false, l->o);
    query_audit_hash_write(l->o, v[HASH].s);
    json_out_end(l->o);
    return true;
}

static void query_audit_head_write(struct json_out *o, const char *name,
                                   const struct audit_head *head)
{
    json_out_key(o, str_c(name));
    if (head->seq == 0) {
        json_out_null(o);
        return;
    }
    json_out_object(o);
    json_member_i64(o, "seq", head->seq);
    json_member_i64(o, "time_us", head->time_us);
    query_audit_hash_write(o, (str){(const char *)head->hash, SHA256_SIZE});
    json_out_end(o);
}

bool query_audit(struct reader *r, int64_t limit, struct buf *out, struct err *e)
{
    struct json_out o;
    struct entries l = {.o = &o};
    struct sql q;
    bool ok;

    if (!query_begin_object(r, out, &o, e))
        return false;
    json_member_array(&o, "entries");
    sql_select(&q, columns, COUNT_OF(columns), "audit_log ORDER BY seq DESC");
    sql_limit(&q, limit, 0);
    ok = sql_query(r, &q, (struct db_rows){query_audit_on_entry, &l}, e);
    json_out_end(&o);
    query_audit_head_write(&o, "head", &l.head);
    return query_end_object(r, ok, &o, e);
}

bool query_audit_verify(struct reader *r, const char *head_path, struct buf *out, struct err *e)
{
    struct audit_report report;
    struct json_out o;

    arena_reset(&r->arena);
    if (!audit_verify(r->db, head_path, &report, e))
        return false;
    json_out_init_object(&o, out);
    json_member_bool(&o, "ok", report.ok);
    json_member_i64_or_null(&o, "bad_seq", report.bad_seq ? report.bad_seq : -1);
    json_member_str(&o, "why", report.ok ? STR("") : str_c(report.why));
    query_audit_head_write(&o, "head", &report.head);
    query_audit_head_write(&o, "anchor", &report.anchor);
    json_member_i64(&o, "entries", report.entries);
    json_member_i64(&o, "rows", report.rows);
    json_member_i64(&o, "erased", report.erased);
    json_out_end(&o);
    return buf_ok(out, "the answer", e);
}

void receipt_write(const struct store_receipt *receipt, struct buf *out)
{
    struct json_out o;

    json_out_init_object(&o, out);
    json_member_str(&o, "receipt_id", str_c(receipt->id));
    json_member_i64(&o, "erased_at_us", receipt->erased_at_us);
    json_member_i64(&o, "sessions", (int64_t)receipt->sessions);
    json_member_i64(&o, "interactions", (int64_t)receipt->interactions);
    json_member_i64(&o, "decisions", (int64_t)receipt->decisions);
    json_member_i64(&o, "communications", (int64_t)receipt->communications);
    json_member_i64(&o, "threads", (int64_t)receipt->threads);
    json_member_i64(&o, "runs", (int64_t)receipt->runs);
    json_member_str(&o, "head_hash", str_c(receipt->head_hash));
    json_out_end(&o);
}
