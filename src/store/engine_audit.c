/* engine_audit.c - the writer's side of the audit log: one entry a record, in its transaction.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/engine_state.h"

#define BROKEN_SUFFIX_SIZE 40

bool engine_audit_begin(struct engine *en, struct err *e)
{
    en->now_us = clock_wall_ms(&clock_real) * 1000;
    if (en->head_known)
        return true;
    en->head_known = audit_last(en->db, &en->head, e);
    return en->head_known;
}

bool engine_audit_add(struct engine *en, struct audit_entry *entry, struct err *e)
{
    uint8_t hash[SHA256_SIZE];
    str prev = {(const char *)en->head.hash, SHA256_SIZE}, next = {(const char *)hash, SHA256_SIZE};

    assert(en->head_known);
    entry->seq = en->head.seq + 1;
    entry->time_us = en->now_us;
    audit_hash(entry, en->head.hash, hash);
    struct db_value args[] = {
        db_int(entry->seq),
        db_int(entry->time_us),
        db_text_or_null(entry->actor),
        db_text(entry->action),
        db_text_or_null(entry->subject),
        db_text_or_null(entry->detail),
        entry->digest.n > 0 ? db_blob(entry->digest) : db_null(),
        db_blob(prev),
        db_blob(next),
    };

    if (!db_run(en->db,
                "INSERT INTO audit_log (seq, time_us, actor, action, subject, detail, digest, prev,"
                " hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                args,
                COUNT_OF(args),
                e))
        return false;
    en->head.seq = entry->seq;
    en->head.time_us = entry->time_us;
    memcpy(en->head.hash, hash, SHA256_SIZE);
    return true;
}

bool engine_audit_row(struct engine *en, str action, str subject, str detail, struct err *e)
{
    uint8_t digest[SHA256_SIZE];
    struct audit_entry entry = {.actor = STR(""),
                                .action = action,
                                .subject = subject,
                                .detail = detail,
                                .digest = {(const char *)digest, SHA256_SIZE}};

    audit_digest((str){(const char *)en->key, SHA256_SIZE}, buf_str(&en->canon), digest);
    return engine_audit_add(en, &entry, e);
}

void engine_audit_digest_call(struct engine *en, const struct store_call *row, int64_t call_n,
                              str entry, uint8_t out[SHA256_SIZE])
{
    struct audit_call call = {row, entry, call_n >= en->tree_from};

    audit_digest_call((str){(const char *)en->key, SHA256_SIZE}, &call, &en->canon, out);
}

void engine_audit_record(struct engine *en, const struct store_call *row, int64_t call_n)
{
    uint8_t digest[SHA256_SIZE];

    assert(call_n == en->last_n);
    if (en->unlogged.n == 0)
        en->unlogged_first = call_n;
    assert(en->unlogged_first <= call_n && !buf_full(&en->unlogged));
    engine_audit_digest_call(en, row, call_n, buf_str(&en->entry), digest);
    audit_add_record(&en->unlogged, call_n, digest);
}

bool engine_audit_records(struct engine *en, struct err *e)
{
    uint8_t digest[SHA256_SIZE];
    struct audit_entry entry = {.actor = STR(""),
                                .action = STR(AUDIT_RECORDS),
                                .subject = STR(""),
                                .digest = {(const char *)digest, SHA256_SIZE}};

    if (en->unlogged.n == 0)
        return true;
    assert(en->unlogged_first <= en->last_n);
    entry.detail =
        arena_printf(&en->arena, "%lld %lld", (long long)en->unlogged_first, (long long)en->last_n);
    audit_digest((str){(const char *)en->key, SHA256_SIZE}, buf_str(&en->unlogged), digest);
    buf_reset(&en->unlogged);
    return engine_audit_add(en, &entry, e);
}

str engine_audit_name(struct engine *en, str name)
{
    return audit_name((str){(const char *)en->key, SHA256_SIZE}, name, &en->arena);
}

void engine_secret(const struct engine *en, str purpose, uint8_t out[32])
{
    audit_digest((str){(const char *)en->key, SHA256_SIZE}, purpose, out);
}

/* ---- opening ---- */

static bool engine_audit_make_key(struct engine *en, struct err *e)
{
    struct db_value key = db_blob((str){(const char *)en->key, SHA256_SIZE});

    rand_os(en->key, SHA256_SIZE);
    return db_run(en->db, "INSERT INTO store_keys (name, value) VALUES ('audit', $1)", &key, 1, e);
}

static bool engine_audit_load_key(struct engine *en, struct err *e)
{
    str key;

    if (audit_key(en->db, &en->arena, &key, e)) {
        memcpy(en->key, key.p, SHA256_SIZE);
        return true;
    }
    return e->code == ERR_NOT_FOUND && engine_audit_make_key(en, e);
}

/* The head in the file must be in the log. If it is not, that is logged and recorded in the audit
 * log itself, and the file is renamed, because it is the only evidence. */
static bool engine_audit_compare_head(struct engine *en, struct err *e)
{
    struct audit_entry entry = {.actor = STR(""), .action = STR("break"), .subject = STR("")};
    char aside[FILE_PATH_MAX + BROKEN_SUFFIX_SIZE];
    uint8_t hash[SHA256_SIZE] = {0};
    struct audit_head was;
    struct db_value seq;

    if (audit_head_read(en->head_path, &was, e)) {
        if (was.seq == 0)
            return true;
    } else {
        if (e->code == ERR_NOT_FOUND)
            return true;
        if (e->code != ERR_INPUT)
            return false;
    }
    seq = db_int(was.seq);
    if (!db_query(en->db,
                  "SELECT hash FROM audit_log WHERE seq = $1",
                  &seq,
                  1,
                  DB_ROW(db_into_bytes(hash, sizeof hash)),
                  e))
        return false;
    if (was.seq > 0 && memcmp(hash, was.hash, SHA256_SIZE) == 0)
        return true;
    (void)snprintf(
        aside, sizeof aside, "%s.%lld", en->head_path, (long long)clock_wall_ms(&clock_real));
    if (rename(en->head_path, aside) < 0)
        return err_sys(e, "put %s aside", en->head_path);
    log_error("store: the audit log does not match its head; the head was set aside",
              LOG_TEXT("file", aside),
              LOG_U64("seq", (uint64_t)was.seq));
    entry.detail = arena_printf(&en->arena, "its head was of entry %lld", (long long)was.seq);
    entry.digest = STR("");
    return engine_audit_add(en, &entry, e);
}

bool engine_audit_open(struct engine *en, struct err *e)
{
    int64_t erased = 0, unscrubbed = 0;

    if (en->head_path)
        file_remove_unfinished(en->head_path);
    if (!engine_turn(en, true, e))
        return false;
    if (engine_audit_load_key(en, e) && engine_audit_begin(en, e) &&
        (!en->head_path || engine_audit_compare_head(en, e)) &&
        db_number(
            en->db,
            "SELECT count(*) FROM (SELECT 1 FROM audit_log WHERE action = 'erased' LIMIT 1) x",
            DB_NO_ARGS,
            &erased,
            e) &&
        db_number(en->db,
                  "SELECT count(*) FROM erasures WHERE scrubbed = 0",
                  DB_NO_ARGS,
                  &unscrubbed,
                  e) &&
        db_commit(en->db, e)) {
        en->erased_any = erased > 0;
        en->scrub = unscrubbed > 0;
        arena_reset(&en->arena);
        return true;
    }
    db_rollback(en->db);
    return false;
}

/* ---- the head outside ---- */

bool engine_stale(const struct engine *en)
{
    return en->head_path && en->head_known && en->head.seq != en->anchored_seq;
}

void engine_anchor(struct engine *en)
{
    struct err e;

    if (!engine_stale(en))
        return;
    if (audit_head_write(en->head_path, &en->head, &e))
        en->anchored_seq = en->head.seq;
    else
        log_warn("store: the head of the audit log cannot be kept", LOG_ERR(&e));
}
