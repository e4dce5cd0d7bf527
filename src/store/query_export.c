/* query_export.c - all sessions, oldest first, a few at a time.
 *
 * A step reads at most STEP_SESSIONS sessions and stops at STEP_SIZE bytes, so that the sender
 * buffers little and no thread waits for a slow client. It looks for them among STEP_LOOKED_AT: a
 * filter that few sessions pass takes more steps, some of which give nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_export.h"

#define STEP_SESSIONS 16
#define STEP_LOOKED_AT 2000
#define STEP_SIZE ((size_t)256 << 10)

bool query_format_parse(str name, enum query_format *out)
{
    size_t place = str_place(name, "json csv otlp");

    if (place != STR_NONE)
        *out = (enum query_format)place;
    return place != STR_NONE;
}

void query_export_init(struct query_export *x, enum query_format format,
                       const struct query_filter *f)
{
    *x = (struct query_export){.format = format, .filter = *f};
    buf_init(&x->after_id, 65536);
    buf_init(&x->found, (size_t)4 << 20);
}

void query_export_release(struct query_export *x)
{
    buf_release(&x->after_id);
    buf_release(&x->found);
}

/* ---- which ---- */

struct ids {
    struct arena arena;
    str id[STEP_SESSIONS];
    int64_t started_us[STEP_SESSIONS];
    size_t n;
    int64_t until_us; /* later sessions were not looked at; 0: all were */
};

static bool query_export_on_id(void *ctx, const struct db_value *v, size_t n)
{
    struct ids *ids = ctx;

    assert(n == 2 && ids->n < STEP_SESSIONS);
    ids->id[ids->n] = arena_dup(&ids->arena, v[0].s);
    ids->started_us[ids->n++] = v[1].i;
    return ids->n < STEP_SESSIONS;
}

/* Searches for the words once, for all steps. */
static bool query_export_look(struct reader *r, const struct query_asker *a, struct query_export *x,
                              struct session_found *out, struct err *e)
{
    struct query_filter others = x->filter;

    if (!x->begun) {
        if (a->hide_reasoning && find_wants_reasoning(x->filter.search, &r->arena))
            return err_input(e,
                             "search: `reasoning:` would find nothing, because reasoning is hidden "
                             "from you: leave the prefix out, or ask with "
                             "x-rationale-reasoning: show or another key");
        if (!session_look(r, a, &x->filter, true, out, e))
            return false;
        buf_add(&x->found, out->ids);
        return buf_ok(&x->found, "the sessions of a search", e);
    }
    others.search = STR("");
    if (!session_look(r, a, &others, true, out, e))
        return false;
    out->ids = buf_str(&x->found);
    return true;
}

/* When the last session began that this step looks at. Those of a search are listed already. */
static bool query_export_find_until(struct reader *r, const struct query_asker *a,
                                    const struct query_export *x, int64_t *out, struct err *e)
{
    struct sql q;

    if (x->filter.search.n || x->filter.session_id.n)
        return true;
    sql_begin(&q, "SELECT s.started_at_us FROM alert_sessions s");
    sql_where_text(&q, "s.key_name =", a->key_name);
    if (x->begun)
        sql_where(&q, "s.started_at_us >=", db_int(x->after_us));
    else if (x->filter.start_us >= 0)
        sql_where(&q, "s.started_at_us >=", db_int(x->filter.start_us));
    sql_add(&q, " ORDER BY s.started_at_us");
    sql_limit(&q, 1, STEP_LOOKED_AT);
    return sql_number(r, &q, out, e);
}

static bool query_export_next_ids(struct reader *r, const struct query_asker *a,
                                  struct query_export *x, struct ids *ids, struct err *e)
{
    struct session_found found;
    struct sql q;

    if (!query_export_look(r, a, x, &found, e) ||
        !query_export_find_until(r, a, x, &ids->until_us, e))
        return false;
    sql_begin(&q, "SELECT s.session_id, s.started_at_us FROM alert_sessions s");
    session_where(r, &q, a, &x->filter, &found);
    if (x->begun)
        sql_where_pair(&q,
                       "(s.started_at_us, s.session_id) >",
                       db_int(x->after_us),
                       db_text(buf_str(&x->after_id)));
    if (ids->until_us > 0)
        sql_where(&q, "s.started_at_us <=", db_int(ids->until_us));
    sql_add(&q, " ORDER BY s.started_at_us, s.session_id");
    sql_limit(&q, STEP_SESSIONS, 0);
    return sql_query(r, &q, (struct db_rows){query_export_on_id, ids}, e);
}

/* ---- what of them ---- */

static bool query_export_events_write(struct reader *r, const struct query_asker *a,
                                      struct query_export *x, str id, struct buf *out,
                                      struct err *e)
{
    struct event_sums sums;
    struct event *events;
    bool ok;

    if (!query_begin(r, e))
        return false;
    ok = events_read(r, a, id, &events, &sums, e);
    if (ok && x->format == QUERY_OTLP)
        ok = otlp_write(&r->arena, id, events, out, e);
    else
        for (const struct event *ev = ok ? events : NULL; ev && ok; ev = ev->next)
            ok = csv_write(&r->arena, id, ev->json, out, e);
    return query_end(r, ok, out, e);
}

static bool query_export_write_session(struct reader *r, const struct query_asker *a,
                                       struct query_export *x, str id, struct buf *out,
                                       struct err *e)
{
    if (x->format != QUERY_JSON)
        return query_export_events_write(r, a, x, id, out, e);
    if (!x->filter.session_id.n)
        buf_add(out, x->sessions ? STR(",\n") : STR("{\"sessions\":[\n"));
    return query_session(r, a, id, out, e);
}

static void query_export_set_after(struct query_export *x, int64_t us, str id)
{
    x->after_us = us;
    buf_reset(&x->after_id);
    buf_add(&x->after_id, id);
}

static void query_export_finish(struct query_export *x, struct buf *out)
{
    assert(!x->done);
    x->done = true;
    if (x->format != QUERY_JSON)
        return;
    if (x->filter.session_id.n)
        buf_add_c(out, '\n');
    else
        buf_add(out, x->sessions ? STR("\n]}\n") : STR("{\"sessions\":[]}\n"));
}

bool query_export_step(struct reader *r, const struct query_asker *a, struct query_export *x,
                       struct buf *out, struct err *e)
{
    struct ids ids = {.n = 0};
    size_t i = 0;
    bool ok;

    assert(!x->done);
    arena_init(&ids.arena, (size_t)4 << 20);
    ok = query_begin(r, e) && query_end(r, query_export_next_ids(r, a, x, &ids, e), out, e);
    if (ok && !x->begun && x->format == QUERY_CSV)
        csv_head(out);
    for (; ok && i < ids.n && out->n < STEP_SIZE; i++) {
        assert(i < STEP_SESSIONS);
        ok = query_export_write_session(r, a, x, ids.id[i], out, e);
        x->sessions++;
        query_export_set_after(x, ids.started_us[i], ids.id[i]);
    }
    if (ok && x->filter.session_id.n && !x->begun && ids.n == 0)
        ok = query_not_found("session", x->filter.session_id, e);
    x->begun = true;
    if (ok && i == ids.n && ids.n < STEP_SESSIONS && ids.until_us > 0)
        query_export_set_after(x, ids.until_us + 1, STR(""));
    else if (ok && ((i == ids.n && ids.n < STEP_SESSIONS) || x->filter.session_id.n))
        query_export_finish(x, out);
    arena_release(&ids.arena);
    return ok;
}
