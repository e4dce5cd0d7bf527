/* audit_verify_receipts.c - receipts of erasures, and the sessions of applications.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/audit_verify_state.h"

#define PAGE VERIFY_PAGE

/* ---- receipts ---- */

static bool audit_verify_judge_receipt(void *ctx, const struct db_value *c, size_t n)
{
    struct verify *v = ctx;
    struct audit_counts counts = {c[3].i, c[4].i, c[5].i, c[6].i, c[7].i, c[8].i};
    char hex[SHA256_HEX_SIZE];

    assert(n == 9);
    for (size_t i = 0; i < v->count; i++) {
        const struct verify_entry *en = &v->page[i];

        if (!str_eq(sha256_hex(en->hash, hex), c[0].s))
            continue;
        if (c[2].i == en->e.time_us &&
            str_eq(en->e.detail, audit_erasure(&v->arena, c[1].s, &counts)))
            v->receipts++;
        else
            verify_wrong(v, en->e.seq, "a receipt is not as it was given", c[1].s);
    }
    return true;
}

static bool audit_verify_is_erasure(const struct verify_entry *en)
{
    return str_eq(en->e.action, STR("erase session")) || str_eq(en->e.action, STR("erase subject"));
}

static bool audit_verify_read_receipts(struct verify *v, struct err *e)
{
    struct db_value args[PAGE];
    int64_t before = v->receipts, n = 0;

    assert(v->count <= PAGE);
    for (size_t i = 0; i < PAGE; i++)
        args[i] = db_null();
    for (size_t i = 0; i < v->count; i++) {
        char hex[SHA256_HEX_SIZE];

        if (audit_verify_is_erasure(&v->page[i]))
            args[n++] = db_text(arena_dup(&v->arena, sha256_hex(v->page[i].hash, hex)));
    }
    if (n == 0)
        return true;
    verify_sql_in(v,
                  "SELECT head_hash, receipt_id, erased_at_us, sessions, interactions, decisions,"
                  " communications, threads, runs FROM erasures WHERE head_hash IN (");
    if (!db_query(v->db, v->sql.p, args, PAGE, (struct db_rows){audit_verify_judge_receipt, v}, e))
        return false;
    if (v->receipts - before != n)
        verify_wrong(v, 0, "the receipt of an erasure is missing", STR(""));
    return true;
}

bool verify_page_more(struct verify *v, struct err *e)
{
    return audit_verify_read_receipts(v, e);
}

/* ---- sessions of applications ---- */

struct state {
    uint8_t digest[SHA256_SIZE];
    int64_t seq, started_us; /* -1: not known */
    bool alert_type, key;    /* were there */
    bool old;                /* of a time when the log had only the newest statement */
    bool erased, seen;
};

void verify_session_entry(struct verify *v, const struct verify_entry *en)
{
    bool erased = str_eq(en->e.action, STR("erased session"));
    const struct json_node *root;
    struct map_entry *found;
    struct state *s;
    struct err bad;

    if (!erased && !str_eq(en->e.action, STR("session")))
        return;
    found = map_find(&v->states, en->e.subject);
    if (!found && erased)
        return;
    s = found ? found->value.ptr : arena_alloc(&v->kept, sizeof *s);
    *s = (struct state){.seq = en->e.seq, .started_us = -1, .erased = erased, .old = true};
    if (en->e.digest.n == SHA256_SIZE)
        memcpy(s->digest, en->e.digest.p, SHA256_SIZE);
    if (en->e.detail.n && json_parse(&v->doc, en->e.detail, &bad)) {
        root = json_root(&v->doc);
        s->old =
            !json_i64(&v->doc, json_find(&v->doc, root, STR("started_at_us")), &s->started_us) ||
            !json_bool(json_find(&v->doc, root, STR("alert_type")), &s->alert_type) ||
            !json_bool(json_find(&v->doc, root, STR("key_name")), &s->key);
    }
    if (!found && !map_set(&v->states, arena_dup(&v->kept, en->e.subject), MAP_PTR(s), &bad))
        base_die("there are more sessions than a map holds");
}

enum { ID, STATE, FIRST = STATE + AUDIT_SESSION_COUNT, TYPE_OF_CALL, KEY_OF_CALL, COLUMNS };

/* A column that no update of the session has set must be NULL, unless one of its calls has set
 * it. */
static bool receipts_session_agrees(struct verify *v, const struct state *s,
                                    const struct db_value *c)
{
    struct db_value said[AUDIT_SESSION_COUNT];
    const struct db_value *began = &c[STATE + AUDIT_SESSION_STARTED];
    int64_t started = began->type == DB_NULL ? -1 : began->i;
    uint8_t digest[SHA256_SIZE];

    memcpy(said, c + STATE, sizeof said);
    if (!s->alert_type) {
        if (said[AUDIT_SESSION_ALERT_TYPE].type != DB_NULL && c[TYPE_OF_CALL].i == 0)
            return false;
        said[AUDIT_SESSION_ALERT_TYPE] = db_null();
    }
    if (!s->key) {
        if (said[AUDIT_SESSION_KEY].type != DB_NULL && c[KEY_OF_CALL].i == 0)
            return false;
        said[AUDIT_SESSION_KEY] = db_null();
    }
    if (started != s->started_us && (c[FIRST].type == DB_NULL || started != engine_us(c[FIRST].i) ||
                                     (s->started_us >= 0 && started > s->started_us)))
        return false;
    buf_reset(&v->bytes);
    audit_add_session(&v->bytes, said);
    audit_digest(v->key, buf_str(&v->bytes), digest);
    return memcmp(digest, s->digest, SHA256_SIZE) == 0;
}

static bool audit_verify_judge_session(void *ctx, const struct db_value *c, size_t n)
{
    struct verify *v = ctx;
    struct map_entry *found = map_find(&v->states, audit_name(v->key, c[ID].s, &v->arena));
    struct state *s = found ? found->value.ptr : NULL;

    assert(n == COLUMNS);
    if (!s || s->erased)
        verify_wrong(v, 0, "there is a session that the log does not know", c[ID].s);
    else if (!s->old && !receipts_session_agrees(v, s, c))
        verify_wrong(v, s->seq, "a session differs from what was recorded", c[ID].s);
    else
        s->seen = true;
    return v->r->ok;
}

bool verify_sessions(struct verify *v, struct err *e)
{
    assert(v->r->ok);
    arena_reset(&v->arena);
    if (!db_query(v->db,
                  "SELECT session_id, " AUDIT_SESSION_COLUMNS ", first_seen_ms,"
                  " (SELECT count(*) FROM llm_interactions i WHERE i.session_id = s.session_id AND"
                  " i.dialect = s.alert_type), (SELECT count(*) FROM llm_interactions i WHERE"
                  " i.session_id = s.session_id AND i.key_name = s.key_name)"
                  " FROM alert_sessions s WHERE coalesce(agent_type, 'gateway') <> 'gateway'",
                  DB_NO_ARGS,
                  (struct db_rows){audit_verify_judge_session, v},
                  e))
        return false;
    for (struct map_entry *i = map_next(&v->states, NULL); i; i = map_next(&v->states, i)) {
        const struct state *s = i->value.ptr;

        if (!s->erased && !s->seen)
            verify_wrong(v, s->seq, "a session is missing and was not erased", STR(""));
    }
    return true;
}
