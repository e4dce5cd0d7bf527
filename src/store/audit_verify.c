/* audit_verify.c - the chain from its beginning, each row it tells of, and the head outside.
 *
 * Entries are read by pages; the rows that a page tells of are read with one query and their
 * digests kept by id. A row that is gone must have an entry "erased"; one that is there must agree,
 * and there must be no others. An entry of many calls is verified by audit_verify_calls.c; what has
 * no entry of its own by the other files audit_verify_*.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/progress.h"
#include "store/audit_verify_state.h"

#define PAGE VERIFY_PAGE
#define PAGE_ARENA_MAX ((size_t)2 << 30)

void verify_wrong(struct verify *v, int64_t seq, const char *why, str about)
{
    if (!v->r->ok)
        return;
    v->r->ok = false;
    v->r->bad_seq = seq;
    (void)snprintf(v->r->why,
                   sizeof v->r->why,
                   "%s%s" STR_FMT,
                   why,
                   about.n ? ": " : "",
                   STR_ARG(str_slice(about, 0, 80)));
}

/* ---- reading a page ---- */

static str audit_verify_text_of(struct verify *v, const struct db_value *c)
{
    return c->type == DB_NULL ? STR("") : arena_dup(&v->arena, c->s);
}

static bool audit_verify_add_entry(void *ctx, const struct db_value *c, size_t n)
{
    struct verify *v = ctx;
    struct verify_entry *en = &v->page[v->count++];

    assert(n == 9 && v->count <= PAGE);
    *en = (struct verify_entry){.e = {.seq = c[0].i,
                                      .time_us = c[1].i,
                                      .actor = audit_verify_text_of(v, &c[2]),
                                      .action = audit_verify_text_of(v, &c[3]),
                                      .subject = audit_verify_text_of(v, &c[4]),
                                      .detail = audit_verify_text_of(v, &c[5]),
                                      .digest = audit_verify_text_of(v, &c[6])},
                                .whole = c[7].s.n == SHA256_SIZE && c[8].s.n == SHA256_SIZE};
    if (en->whole) {
        memcpy(en->prev, c[7].s.p, SHA256_SIZE);
        memcpy(en->hash, c[8].s.p, SHA256_SIZE);
    }
    return true;
}

void verify_keep_digest(struct verify *v, str id, const uint8_t digest[SHA256_SIZE])
{
    str kept = arena_dup(&v->arena, (str){(const char *)digest, SHA256_SIZE});
    struct err full;

    if (!map_set(&v->digests, arena_dup(&v->arena, id), MAP_PTR((void *)(uintptr_t)kept.p), &full))
        base_die("a page has more rows than entries");
}

size_t verify_ids(struct verify *v, str action, struct db_value args[PAGE])
{
    size_t n = 0;

    assert(v->count <= PAGE);
    for (size_t i = 0; i < PAGE; i++)
        args[i] = db_null();
    for (size_t i = 0; i < v->count; i++)
        if (str_eq(v->page[i].e.action, action))
            args[n++] = db_text(v->page[i].e.subject);
    return n;
}

void verify_sql_in(struct verify *v, const char *before)
{
    buf_reset(&v->sql);
    buf_add(&v->sql, str_c(before));
    for (unsigned i = 1; i <= PAGE; i++)
        buf_printf(&v->sql, "%s$%u", i > 1 ? ", " : "", i);
    buf_add_c(&v->sql, ')');
    buf_add_c(&v->sql, '\0');
}

static bool audit_verify_add_tool(void *ctx, const struct db_value *c, size_t n)
{
    struct verify *v = ctx;
    uint8_t digest[SHA256_SIZE];
    struct store_tool row;

    assert(n == row_tools.count);
    engine_tool_read(c, &row);
    buf_reset(&v->bytes);
    audit_add_row(&v->bytes, &row_tools, &row);
    audit_digest(v->key, buf_str(&v->bytes), digest);
    verify_keep_digest(v, row.id, digest);
    return true;
}

static bool audit_verify_read_tools(struct verify *v, struct err *e)
{
    struct db_value args[PAGE];

    if (verify_ids(v, STR("tool"), args) == 0)
        return true;
    verify_sql_in(
        v, "SELECT " ENGINE_TOOL_COLUMNS " FROM mcp_communications WHERE communication_id IN (");
    return db_query(v->db, v->sql.p, args, PAGE, (struct db_rows){audit_verify_add_tool, v}, e);
}

static bool audit_verify_add_erased(void *ctx, const struct db_value *c, size_t n)
{
    struct verify *v = ctx;
    struct err full;

    assert(n == 1);
    if (!map_set(&v->erased, arena_dup(&v->arena, c[0].s), MAP_U64(1), &full))
        base_die("a page has more rows than entries");
    return true;
}

static bool audit_verify_read_erased(struct verify *v, struct err *e)
{
    struct db_value args[PAGE];
    size_t n = 0;

    assert(v->count <= PAGE);
    for (size_t i = 0; i < PAGE; i++)
        args[i] = db_null();
    for (size_t i = 0; i < v->count; i++)
        if (v->page[i].e.subject.n > 0)
            args[n++] = db_text(v->page[i].e.subject);
    if (n == 0)
        return true;
    verify_sql_in(
        v, "SELECT DISTINCT subject FROM audit_log WHERE action = 'erased' AND subject IN (");
    return db_query(v->db, v->sql.p, args, PAGE, (struct db_rows){audit_verify_add_erased, v}, e);
}

/* ---- judging ---- */

static void audit_verify_judge_row(struct verify *v, const struct verify_entry *en)
{
    bool call = str_eq(en->e.action, STR("record"));
    struct map_entry *found;

    if (!call && !str_eq(en->e.action, STR("tool")))
        return;
    found = map_find(&v->digests, en->e.subject);
    if (map_find(&v->erased, en->e.subject)) {
        if (found)
            verify_wrong(v, en->e.seq, "a row that was erased is there", en->e.subject);
        v->r->erased++;
        return;
    }
    if (!found) {
        verify_wrong(v, en->e.seq, "a row is missing and was not erased", en->e.subject);
        return;
    }
    if (en->e.digest.n != SHA256_SIZE ||
        !mem_equal_ct(found->value.ptr, en->e.digest.p, SHA256_SIZE)) {
        verify_wrong(v, en->e.seq, "a row is not as it was stored", en->e.subject);
        return;
    }
    v->r->rows++;
    *(call ? &v->calls : &v->tools) += 1;
}

static bool audit_verify_judge(struct verify *v, const struct verify_entry *en, struct err *e)
{
    struct audit_head *head = &v->r->head;
    uint8_t hash[SHA256_SIZE];

    assert(v->r->ok);
    v->r->entries++;
    if (en->e.seq != head->seq + 1)
        verify_wrong(v, head->seq + 1, "an entry is missing", STR(""));
    else if (!en->whole || memcmp(en->prev, head->hash, SHA256_SIZE) != 0)
        verify_wrong(v, en->e.seq, "an entry does not follow the one before it", STR(""));
    audit_hash(&en->e, head->hash, hash);
    if (memcmp(hash, en->hash, SHA256_SIZE) != 0)
        verify_wrong(v, en->e.seq, "an entry was changed", STR(""));
    if (str_eq(en->e.action, STR("break")))
        verify_wrong(
            v, en->e.seq, "the log did not end at the entry that its head named", en->e.detail);
    if (!v->r->ok)
        return true;
    head->seq = en->e.seq;
    head->time_us = en->e.time_us;
    memcpy(head->hash, en->hash, SHA256_SIZE);
    if (v->r->anchor.seq == en->e.seq && memcmp(v->r->anchor.hash, en->hash, SHA256_SIZE) != 0)
        verify_wrong(v, en->e.seq, "the log is not the one its anchored head is of", STR(""));
    audit_verify_judge_row(v, en);
    verify_session_entry(v, en);
    return !v->r->ok || !str_eq(en->e.action, STR(AUDIT_RECORDS)) || verify_records(v, en, e);
}

static bool audit_verify_next_page(struct verify *v, struct err *e)
{
    assert(v->r->ok);
    arena_reset(&v->arena);
    map_release(&v->digests);
    map_release(&v->erased);
    v->count = 0;
    return db_query(v->db,
                    "SELECT seq, time_us, actor, action, subject, detail, digest, prev, hash"
                    " FROM audit_log WHERE seq > $1 ORDER BY seq LIMIT 100",
                    DB_ARGS(db_int(v->r->head.seq)),
                    (struct db_rows){audit_verify_add_entry, v},
                    e) &&
           verify_read_calls(v, e) && audit_verify_read_tools(v, e) &&
           audit_verify_read_erased(v, e);
}

static bool verify_entries(struct verify *v, const struct progress *p, struct err *e)
{
    do {
        progress_set(p, (uint64_t)v->r->head.seq);
        if (!audit_verify_next_page(v, e))
            return false;
        for (size_t i = 0; i < v->count && v->r->ok; i++)
            if (!audit_verify_judge(v, &v->page[i], e))
                return false;
        if (v->r->ok && !(verify_page_more(v, e) && verify_doubts(v, e)))
            return false;
    } while (v->count == PAGE && v->r->ok);
    return true;
}

static bool verify_all(struct verify *v, struct err *e)
{
    struct progress p;
    int64_t last = 0;
    bool ok;

    if (!db_number(v->db, "SELECT coalesce(max(seq), 0) FROM audit_log", DB_NO_ARGS, &last, e))
        return false;
    p = progress_begin("audit", "entries", (uint64_t)last);
    ok = verify_entries(v, &p, e);
    progress_end(&p);
    if (!ok)
        return false;
    p = progress_begin("audit, sessions and blocks", "", 0);
    if (v->r->ok && v->r->anchor.seq > v->r->head.seq)
        verify_wrong(v, v->r->head.seq + 1, "the log ends before its anchored head", STR(""));
    ok = (!v->r->ok || verify_sessions(v, e)) && (!v->r->ok || verify_blocks(v, e)) &&
         (!v->r->ok || verify_rest(v, e)) && (!v->r->ok || verify_usage(v, e));
    progress_end(&p);
    return ok;
}

static bool audit_verify_read_anchor(const char *path, struct audit_report *r, struct err *e)
{
    if (audit_head_read(path, &r->anchor, e))
        return true;
    if (e->code != ERR_NOT_FOUND && e->code != ERR_INPUT)
        return false;
    r->ok = false;
    (void)snprintf(r->why, sizeof r->why, "the anchored head cannot be read: %.120s", e->text);
    return true;
}

static bool audit_verify_start(struct verify *v, struct err *e)
{
    str key;

    assert(v->r->ok);
    if (!audit_key(v->db, &v->arena, &key, e))
        return false;
    memcpy(v->key_bytes, key.p, SHA256_SIZE);
    v->key = (str){v->key_bytes, SHA256_SIZE};
    return db_number(v->db, "SELECT tree_from FROM store_counters", DB_NO_ARGS, &v->tree_from, e) &&
           verify_all(v, e);
}

/* One view of the database. The tables of before blocks are dropped once all calls are moved, on
 * PostgreSQL also for a view that began earlier: a query of each, in the order in which
 * engine_move.c drops them, keeps them until the end. If they were dropped just now, the next view
 * is without them. */
static bool audit_verify_begin_view(struct verify *v, struct err *e)
{
    int64_t one;

    for (int tries = 0;; tries++) {
        if (!db_begin(v->db, false, e))
            return false;
        if (engine_move_needed(v->db, &v->moving, e) &&
            (!v->moving || db_number(v->db,
                                     "SELECT 1 FROM old_segments, old_decisions, old_interactions"
                                     " LIMIT 1",
                                     DB_NO_ARGS,
                                     &one,
                                     e)))
            return true;
        db_rollback(v->db);
        if (tries == 1)
            return false;
    }
}

bool audit_verify(struct db *db, const char *head_path, struct audit_report *out, struct err *e)
{
    struct verify *v = base_alloc(sizeof *v);
    bool ok;

    *out = (struct audit_report){.ok = true};
    *v = (struct verify){.db = db, .r = out};
    arena_init(&v->arena, PAGE_ARENA_MAX);
    arena_init(&v->kept, PAGE_ARENA_MAX);
    arena_init(&v->call_arena, PAGE_ARENA_MAX);
    arena_init(&v->text_arena, PAGE_ARENA_MAX);
    v->en = base_alloc(sizeof *v->en);
    *v->en = (struct engine){.kind = db_kind(db)};
    arena_init(&v->en->arena, PAGE_ARENA_MAX);
    texts_init(&v->texts, db);
    texts_keep_many(&v->texts);
    call_segments_init(&v->segments);
    map_init(&v->sessions, NULL, 2 * PAGE);
    map_init(&v->tombstones, NULL, 2 * PAGE);
    map_init(&v->doubts, NULL, MAP_COUNT_MAX);
    json_init(&v->doc);
    map_init(&v->states, NULL, MAP_COUNT_MAX);
    buf_init(&v->bytes, PAGE_ARENA_MAX);
    buf_init(&v->sql, 65536);
    map_init(&v->digests, NULL, 2 * PAGE);
    map_init(&v->erased, NULL, 2 * PAGE);
    /* Reads the head file before the tables: it must not be newer than the entries that are
     * verified. */
    ok = (!head_path || audit_verify_read_anchor(head_path, out, e)) &&
         audit_verify_begin_view(v, e);
    if (ok) {
        ok = !out->ok || audit_verify_start(v, e);
        db_rollback(db);
    }
    map_release(&v->digests);
    map_release(&v->erased);
    map_release(&v->sessions);
    map_release(&v->tombstones);
    map_release(&v->doubts);
    texts_release(&v->texts);
    call_segments_release(&v->segments);
    arena_release(&v->call_arena);
    arena_release(&v->text_arena);
    arena_release(&v->en->arena);
    free(v->en);
    buf_release(&v->bytes);
    buf_release(&v->sql);
    arena_release(&v->arena);
    arena_release(&v->kept);
    json_release(&v->doc);
    map_release(&v->states);
    free(v);
    return ok;
}
