/* audit_verify_calls.c - calls: each row with its texts, held against the digest in the log.
 *
 * Calls are read in pages of VERIFY_PAGE rows; their texts one call at a time. A text that cannot
 * be read is a finding, not a failure of the database.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/audit_verify_state.h"

#define PAGE VERIFY_PAGE

/* ---- a page of calls ---- */

static bool verify_same_value(const struct db_value *a, const struct db_value *b)
{
    if (a->type == DB_NULL || b->type == DB_NULL)
        return a->type == b->type;
    if (a->type == DB_INT && b->type == DB_INT)
        return a->i == b->i;
    if (a->type == DB_INT || a->type == DB_REAL)
        return (a->type == DB_INT ? (double)a->i : a->d) ==
               (b->type == DB_INT ? (double)b->i : b->d);
    return str_eq(a->s, b->s);
}

static bool verify_on_call(void *ctx, const struct db_value *c, size_t n)
{
    struct verify *v = ctx;
    struct verify_call *call = &v->call_page[v->call_count++];
    struct db_value values[ENGINE_COLUMNS_MAX];

    assert(v->call_count <= PAGE);
    engine_row_read(c, n, &call->at, &call->row);
    /* The digest is over the row as we read it: a column may hold nothing else. */
    call->same = engine_row_values(&call->row, &call->at, values) == n;
    for (size_t i = ENGINE_FIRST_FIELD; i < n && call->same; i++)
        call->same = verify_same_value(&values[i], &c[i]);
    engine_row_keep(&call->row, &v->call_arena);
    call->text_bits = c[ENGINE_TEXT_BITS].i;
    call->decision_kind = c[ENGINE_DECISION_KIND];
    call->tool_count = c[ENGINE_TOOL_COUNT].i;
    if (call->decision_kind.type == DB_TEXT)
        call->decision_kind.s = arena_dup(&v->call_arena, c[ENGINE_DECISION_KIND].s);
    return true;
}

static bool verify_on_session(void *ctx, const struct db_value *c, size_t n)
{
    struct verify *v = ctx;
    struct verify_session *s = arena_alloc(&v->call_arena, sizeof *s);
    struct err full;

    assert(n == 7);
    *s = (struct verify_session){
        .id = arena_dup(&v->call_arena, c[0].s),
        .title = c[1].type == DB_NULL ? STR("") : arena_dup(&v->call_arena, c[1].s),
        .error = c[2].type == DB_NULL ? STR("") : arena_dup(&v->call_arena, c[2].s),
        .last_ms = c[3].type == DB_NULL ? 0 : c[3].i,
        .failed = c[4].i != 0,
        .runs = c[5].i != 0,
        .first_n = c[6].i,
    };
    if (!map_set(&v->sessions, s->id, MAP_PTR(s), &full))
        base_die("a page has more sessions than calls");
    return true;
}

static bool verify_read_sessions(struct verify *v, struct err *e)
{
    struct db_value args[PAGE];

    assert(v->call_count > 0 && v->call_count <= PAGE);
    for (size_t i = 0; i < PAGE; i++)
        args[i] = i < v->call_count ? db_text(v->call_page[i].row.session_id) : db_null();
    verify_sql_in(v,
                  "SELECT s.session_id, s.title, s.error_message, s.last_seen_ms, CASE WHEN"
                  " s.outcome = 'failed' AND coalesce(s.agent_type, 'gateway') = 'gateway' THEN 1"
                  " ELSE 0 END,"
                  " CASE WHEN EXISTS (SELECT 1 FROM call_pieces p WHERE p.session_id ="
                  " s.session_id) THEN 1 ELSE 0 END, (SELECT i.call_n FROM llm_interactions i"
                  " WHERE i.session_id = s.session_id ORDER BY i.started_ms, i.call_n LIMIT 1)"
                  " FROM alert_sessions s WHERE s.session_id IN (");
    return db_query(v->db, v->sql.p, args, PAGE, (struct db_rows){verify_on_session, v}, e);
}

bool verify_page_read(struct verify *v, const char *where, const struct db_value *args, size_t n,
                      struct err *e)
{
    v->call_count = 0;
    arena_reset(&v->call_arena);
    arena_reset(&v->en->arena);
    map_release(&v->sessions);
    buf_reset(&v->sql);
    buf_add(&v->sql, STR("SELECT "));
    engine_columns(&v->sql, false);
    buf_printf(&v->sql, " FROM llm_interactions WHERE %s", where);
    buf_add_c(&v->sql, '\0');
    return db_query(v->db, v->sql.p, args, n, (struct db_rows){verify_on_call, v}, e) &&
           (v->call_count == 0 || verify_read_sessions(v, e));
}

/* ---- one call ---- */

bool verify_texts_read(struct verify *v, struct verify_call *call, bool *ok, struct err *e)
{
    arena_reset(&v->text_arena);
    *ok = true;
    if (call->at.block < 0 && !v->moving) {
        verify_wrong(v, 0, "a call has no block", call->row.id);
        *ok = false;
        return true;
    }
    if (texts_read(&v->texts, &call->at, &v->text_arena, &call->row, e))
        return true;
    if (!v->texts.damaged)
        return false;
    *ok = false;
    verify_wrong(v,
                 0,
                 "the texts of a call cannot be read",
                 arena_printf(&v->call_arena, STR_FMT ": %s", STR_ARG(call->row.id), e->text));
    return true;
}

static bool verify_on_segment(void *ctx, const struct db_value *c, size_t n)
{
    struct verify *v = ctx;

    assert(n == SEGMENT_COLUMNS);
    audit_add_values(&v->bytes, c + 1, n - 1);
    return true;
}

/* As an entry of one call has it: over the row with all of its texts, and mostly its segments. */
static void verify_digest_row(struct verify *v, struct verify_call *call, bool segments)
{
    buf_reset(&v->bytes);
    audit_add_row(&v->bytes, &row_calls, &call->row);
    if (segments)
        call_segments_read(
            &v->segments, &call->row, &v->text_arena, (struct db_rows){verify_on_segment, v});
    audit_digest(v->key, buf_str(&v->bytes), call->digest);
}

/* Compares the columns that describe the texts with the texts. */
static void verify_judge_columns(struct verify *v, const struct verify_call *call)
{
    struct db_value values[ENGINE_COLUMNS_MAX];

    (void)engine_row_values(&call->row, &call->at, values);
    if (!call->same)
        verify_wrong(v, 0, "a row is not as it was stored", call->row.id);
    if (values[ENGINE_TEXT_BITS].i != call->text_bits)
        verify_wrong(v, 0, "a call does not have the texts that its row says", call->row.id);
    if (!verify_same_value(&values[ENGINE_DECISION_KIND], &call->decision_kind))
        verify_wrong(v, 0, "a decision is not of the kind that its row says", call->row.id);
    /* Schema step 022 has counted each tool of an older call once. */
    if (call->tool_count > values[ENGINE_TOOL_COUNT].i ||
        (call->tool_count == 0) != (values[ENGINE_TOOL_COUNT].i == 0))
        verify_wrong(
            v, 0, "a call asks for another number of tools than its row says", call->row.id);
}

/* How the digest of a call was made. */
enum verify_made { VERIFY_RECORDS, VERIFY_RECORD, VERIFY_ADOPTED };

static bool verify_call(struct verify *v, struct verify_call *call, enum verify_made made,
                        struct err *e)
{
    bool ok;
    str entry;

    if (!verify_texts_read(v, call, &ok, e))
        return false;
    if (!ok)
        return true;
    verify_judge_columns(v, call);
    if (made != VERIFY_RECORDS) {
        verify_digest_row(v, call, made == VERIFY_RECORD);
    } else {
        if (!texts_entry(&v->texts, &call->at, &v->text_arena, &entry, e))
            return false;
        audit_digest_call(v->key,
                          &(struct audit_call){&call->row, entry, call->at.call_n >= v->tree_from},
                          &v->bytes,
                          call->digest);
    }
    return verify_follow(v, call, e);
}

/* ---- entries of one call ---- */

bool verify_read_calls(struct verify *v, struct err *e)
{
    struct db_value args[PAGE];
    str where;

    if (verify_ids(v, STR("record"), args) == 0)
        return true;
    verify_sql_in(v, "interaction_id IN (");
    where = arena_dup(&v->arena, buf_str(&v->sql));
    if (!verify_page_read(v, where.p, args, PAGE, e))
        return false;
    for (size_t i = 0; i < v->call_count && v->r->ok; i++) {
        struct verify_call *call = &v->call_page[i];
        bool adopted = false;

        for (size_t k = 0; k < v->count; k++)
            adopted |= str_eq(v->page[k].e.action, STR("record")) &&
                       str_eq(v->page[k].e.subject, call->row.id) &&
                       str_eq(v->page[k].e.detail, STR("adopted"));
        if (!verify_call(v, call, adopted ? VERIFY_ADOPTED : VERIFY_RECORD, e))
            return false;
        verify_keep_digest(v, call->row.id, call->digest);
    }
    return verify_named(v, e);
}

/* ---- entries of many calls ---- */

static bool verify_on_tombstone(void *ctx, const struct db_value *c, size_t n)
{
    struct verify *v = ctx;
    struct err full;

    assert(n == 2);
    if (c[1].s.n == SHA256_SIZE &&
        !map_set(&v->tombstones,
                 arena_dup(&v->call_arena, c[0].s),
                 MAP_PTR((void *)(uintptr_t)arena_dup(&v->call_arena, c[1].s).p),
                 &full))
        base_die("a page has more rows than numbers");
    return true;
}

/* The digests of the calls first to last that were erased, by their numbers. */
static bool verify_read_tombstones(struct verify *v, int64_t first, int64_t last, struct err *e)
{
    struct db_value args[PAGE];

    assert(first <= last && last - first < (int64_t)PAGE);
    map_release(&v->tombstones);
    for (int64_t i = 0; i < (int64_t)PAGE; i++)
        args[i] = first + i <= last
                      ? db_text(arena_printf(&v->call_arena, "%lld", (long long)first + i))
                      : db_null();
    verify_sql_in(v,
                  "SELECT detail, digest FROM audit_log WHERE action = 'erased' AND detail IN (");
    return db_query(v->db, v->sql.p, args, PAGE, (struct db_rows){verify_on_tombstone, v}, e);
}

/* The page of calls first to last into the digest of their entry. */
static bool verify_feed_page(struct verify *v, int64_t seq, int64_t first, int64_t last,
                             struct sha256_mac *mac, struct err *e)
{
    size_t at = 0;

    assert(first <= last && last - first < (int64_t)PAGE);
    for (int64_t n = first; n <= last && v->r->ok; n++) {
        struct verify_call *call =
            at < v->call_count && v->call_page[at].at.call_n == n ? &v->call_page[at++] : NULL;
        str number = arena_printf(&v->call_arena, "%lld", (long long)n);
        struct map_entry *stone = map_find(&v->tombstones, number);

        if (call && stone)
            verify_wrong(v, seq, "a call that was erased is there", call->row.id);
        if (call && !verify_call(v, call, VERIFY_RECORDS, e))
            return false;
        if (!call && !stone)
            verify_wrong(v, seq, "a call is missing and was not erased: its number is", number);
        if (!v->r->ok)
            return true;
        buf_reset(&v->bytes);
        audit_add_record(&v->bytes, n, call ? call->digest : stone->value.ptr);
        sha256_mac_feed(mac, buf_str(&v->bytes));
        v->r->rows += call != NULL;
        v->calls += call != NULL;
        v->r->erased += call == NULL;
    }
    return true;
}

static bool verify_parse_range(str detail, int64_t *first, int64_t *last)
{
    size_t space = str_find(detail, STR(" "));
    uint64_t a, b;

    if (space == STR_NONE || !str_u64(str_slice(detail, 0, space), &a) ||
        !str_u64(str_slice(detail, space + 1, detail.n), &b) || a > b || b > INT64_MAX / 2)
        return false;
    *first = (int64_t)a;
    *last = (int64_t)b;
    return true;
}

bool verify_records(struct verify *v, const struct verify_entry *en, struct err *e)
{
    uint8_t digest[SHA256_SIZE];
    struct sha256_mac mac;
    int64_t first, last;

    if (!verify_parse_range(en->e.detail, &first, &last) || first <= v->last_n) {
        verify_wrong(v, en->e.seq, "an entry does not say which calls it is of", en->e.detail);
        return true;
    }
    v->last_n = last;
    sha256_mac_init(&mac, v->key);
    for (int64_t from = first; from <= last && v->r->ok; from += PAGE) {
        int64_t to = from + (int64_t)PAGE - 1 < last ? from + (int64_t)PAGE - 1 : last;
        struct db_value args[] = {db_int(from), db_int(to)};

        if (!verify_page_read(v, "call_n BETWEEN $1 AND $2 ORDER BY call_n", args, 2, e) ||
            !verify_read_tombstones(v, from, to, e) ||
            !verify_feed_page(v, en->e.seq, from, to, &mac, e) || !verify_named(v, e))
            return false;
    }
    sha256_mac_finish(&mac, digest);
    if (en->e.digest.n != SHA256_SIZE || !mem_equal_ct(digest, en->e.digest.p, SHA256_SIZE))
        verify_wrong(v, en->e.seq, "a call is not as it was stored; it is one of", en->e.detail);
    return true;
}
