/* audit_verify_follow.c - what follows from calls: which tools they called, and the title and the
 * error that their sessions have of them.
 *
 * A session's title is of one of its calls, in nearly all cases of the one that began first; its
 * error is that of the call that ended last. Only where that is not so, all calls of the session
 * are looked at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/audit_verify_state.h"

#define PAGE VERIFY_PAGE
#define TOOLS_MAX 1000u /* of a call, as engine_call.c stores them */

/* ---- tools ---- */

static bool verify_on_named(void *ctx, const struct db_value *c, size_t n)
{
    struct verify *v = ctx;

    assert(n == 2);
    for (size_t i = 0; i < v->named_count; i += 2)
        if (v->named[i + 1].i == c[1].i && str_eq(v->named[i].s, c[0].s))
            v->named_seen |= (uint64_t)1 << (i / 2);
    return true;
}

bool verify_named(struct verify *v, struct err *e)
{
    size_t count = v->named_count;

    assert(count <= PAGE && count % 2 == 0);
    if (count == 0)
        return true;
    for (size_t i = count; i < PAGE; i++)
        v->named[i] = db_null();
    v->named_seen = 0;
    buf_reset(&v->sql);
    buf_add(&v->sql, STR("SELECT tool, call_n FROM call_tools WHERE"));
    for (unsigned i = 1; i < PAGE; i += 2)
        buf_printf(&v->sql, "%s (tool = $%u AND call_n = $%u)", i > 1 ? " OR" : "", i, i + 1);
    buf_add_c(&v->sql, '\0');
    if (!db_query(v->db, v->sql.p, v->named, PAGE, (struct db_rows){verify_on_named, v}, e))
        return false;
    for (size_t i = 0; i < count; i += 2)
        if (!(v->named_seen >> (i / 2) & 1))
            verify_wrong(v,
                         0,
                         "call_tools lacks a tool that a call called: tool and number are",
                         arena_printf(&v->call_arena,
                                      STR_FMT " %lld",
                                      STR_ARG(v->named[i].s),
                                      (long long)v->named[i + 1].i));
    v->named_total += (int64_t)count / 2;
    v->named_count = 0;
    return true;
}

static bool verify_tools(struct verify *v, const struct verify_call *call, struct err *e)
{
    const struct json_node *root, *t;
    unsigned count = 0;
    struct map names;
    struct err bad;
    bool ok = true;

    if (call->row.tools.n == 0 || call->row.decision.n == 0 ||
        !json_parse(&v->doc, call->row.tools, &bad))
        return true;
    root = json_root(&v->doc);
    map_init(&names, NULL, TOOLS_MAX);
    for (t = json_first(&v->doc, root); ok && t && count < TOOLS_MAX; count++) {
        str name;

        if (json_text(&v->doc, t, &v->call_arena, &name) &&
            !map_find(&names, name = engine_clean_name(v->en, name)) &&
            map_set(&names, name, MAP_U64(1), &bad)) {
            assert(v->named_count + 2 <= PAGE);
            v->named[v->named_count++] = db_text(arena_dup(&v->call_arena, name));
            v->named[v->named_count++] = db_int(call->at.call_n);
            ok = v->named_count < PAGE || verify_named(v, e);
        }
        t = json_next(&v->doc, root, t);
    }
    map_release(&names);
    return ok;
}

/* ---- what a session has of its calls ---- */

static bool verify_has_error(struct verify *v, const struct verify_session *s,
                             const struct store_call *row)
{
    return str_eq(s->error, engine_clean(v->en, row->error_message));
}

/* Whether it is a call that may have given its session the error. */
static bool verify_gave_error(const struct verify_session *s, const struct store_call *row)
{
    int64_t ended = row->ended_ms >= 0 ? row->ended_ms : row->started_ms;

    return s->failed && (row->error_code.n > 0 || row->status >= 400) &&
           (ended == -1 ? 0 : ended) == s->last_ms;
}

bool verify_follow(struct verify *v, const struct verify_call *call, struct err *e)
{
    struct map_entry *found = map_find(&v->sessions, call->row.session_id);
    const struct verify_session *s = found ? found->value.ptr : NULL;
    struct verify_session *kept;
    struct err full;

    if (!verify_tools(v, call, e))
        return false;
    if (!s || ((s->runs || call->at.call_n != s->first_n ||
                engine_title_fits(v->en, &call->row, s->title)) &&
               (!verify_gave_error(s, &call->row) || verify_has_error(v, s, &call->row))))
        return true;
    kept = arena_alloc(&v->arena, sizeof *kept);
    *kept = *s;
    kept->id = arena_dup(&v->arena, s->id);
    kept->title = arena_dup(&v->arena, s->title);
    kept->error = arena_dup(&v->arena, s->error);
    if (!map_set(&v->doubts, kept->id, MAP_PTR(kept), &full))
        base_die("there are more sessions than a map holds");
    return true;
}

/* Looks at all calls of a session. */
static bool verify_doubt(struct verify *v, const struct verify_session *s, struct err *e)
{
    struct db_value args[] = {db_text(s->id), db_int(INT64_MIN), db_int(INT64_MIN)};
    bool titled = s->runs, failed = false, error = false, ok = true;

    do {
        if (!verify_page_read(v,
                              "session_id = $1 AND (started_ms, call_n) > ($2, $3)"
                              " ORDER BY started_ms, call_n LIMIT 100",
                              args,
                              3,
                              e))
            return false;
        for (size_t i = 0; i < v->call_count && ok; i++) {
            struct verify_call *call = &v->call_page[i];
            bool fits;

            args[1] = db_int(call->row.started_ms);
            args[2] = db_int(call->at.call_n);
            if (!verify_texts_read(v, call, &ok, e))
                return false;
            fits = engine_title_fits(v->en, &call->row, s->title);
            titled |= fits;
            if (s->title.n == 0 && !fits && !s->runs)
                verify_wrong(v, 0, "a session is not the one of its calls", s->id);
            failed |= verify_gave_error(s, &call->row);
            error |= verify_gave_error(s, &call->row) && verify_has_error(v, s, &call->row);
        }
    } while (ok && v->r->ok && v->call_count == PAGE);
    if (s->title.n > 0 && !titled)
        verify_wrong(v, 0, "a session is not the one of its calls", s->id);
    if (failed && !error)
        verify_wrong(v, 0, "a session does not end as its last call did", s->id);
    return true;
}

bool verify_doubts(struct verify *v, struct err *e)
{
    bool ok = true;

    for (struct map_entry *i = map_next(&v->doubts, NULL); i && ok && v->r->ok;
         i = map_next(&v->doubts, i))
        ok = verify_doubt(v, i->value.ptr, e);
    map_release(&v->doubts);
    return ok;
}
