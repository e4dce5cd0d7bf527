/* replay.c - see replay.h. Finds recordings by their parameters.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/replay.h"

#include "base/ctype.h"
#include "base/utf8.h"
#include "mcp/replay_state.h"

#define SHOWN_MAX 160 /* bytes of a value in a message */

/* ---- values ---- */

static bool mcp_replay_is_empty(const struct json *doc, const struct json_node *v)
{
    return !v || v->kind == JSON_NULL || json_is(doc, v, STR(""));
}

static bool mcp_replay_same_text(str a, str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (char_to_lower(a.p[i]) != char_to_lower(b.p[i]))
            return false;
    return true;
}

/* Models write 5 for "5" and Pod for pod: these count as equal. */
static bool replay_same_value(const struct json *da, const struct json_node *a,
                              const struct json *db, const struct json_node *b, struct arena *arena)
{
    str ta, tb;

    if (mcp_replay_is_empty(da, a) || mcp_replay_is_empty(db, b))
        return mcp_replay_is_empty(da, a) && mcp_replay_is_empty(db, b);
    if (json_equal(da, a, db, b))
        return true;
    if (a->kind >= JSON_ARRAY || b->kind >= JSON_ARRAY)
        return false;
    ta = a->kind == JSON_STRING ? STR("") : json_raw(da, a);
    tb = b->kind == JSON_STRING ? STR("") : json_raw(db, b);
    (void)!json_text(da, a, arena, &ta);
    (void)!json_text(db, b, arena, &tb);
    return mcp_replay_same_text(str_trim(ta), str_trim(tb));
}

/* Counts the parameters that the call has, and those that it lacks. The arena is reset for each
 * recording, because a long argument is compared with every recording. */
static void mcp_replay_compare(const struct recording *rec, const struct json *doc, struct arena *a,
                               size_t *same, size_t *other)
{
    const struct json_node *want = rec->match;

    *same = *other = 0;
    JSON_FOREACH(k, &rec->head, want) {
        str name;

        arena_reset(a);
        if (!json_text(&rec->head, k, a, &name))
            continue;
        if (replay_same_value(
                &rec->head, json_value(k), doc, json_find(doc, json_root(doc), name), a))
            ++*same;
        else
            ++*other;
    }
}

/* ---- messages ---- */

static void mcp_replay_add_value(struct buf *out, const struct json *doc, const struct json_node *v)
{
    str raw;

    if (!v) {
        buf_add(out, STR("missing"));
        return;
    }
    raw = json_raw(doc, v);
    buf_add(out, utf8_cut_size(raw, SHOWN_MAX));
    if (raw.n > SHOWN_MAX)
        buf_add(out, STR("..."));
}

static void mcp_replay_log_miss(const struct recording *near, const struct json *doc,
                                struct arena *a, struct buf *out)
{
    const struct json_node *want = near->match;
    bool first = true;

    buf_printf(out, " The nearest is " STR_FMT ": ", STR_ARG(near->file));
    JSON_FOREACH(k, &near->head, want) {
        const struct json_node *got;
        str name;

        arena_reset(a);
        if (!json_text(&near->head, k, a, &name))
            continue;
        got = json_find(doc, json_root(doc), name);
        if (replay_same_value(&near->head, json_value(k), doc, got, a))
            continue;
        buf_printf(out, "%s" STR_FMT " is ", first ? "" : "; ", STR_ARG(name));
        mcp_replay_add_value(out, doc, got);
        buf_add(out, STR(" and was recorded as "));
        mcp_replay_add_value(out, &near->head, json_value(k));
        first = false;
    }
    buf_add_c(out, '.');
}

/* ---- searching ---- */

#define NO_MATCH SIZE_MAX

/* State of one call, because several threads may use the same recordings. */
struct found {
    size_t *matches; /* for each recording: its parameters in the call, or NO_MATCH */
    size_t same;     /* number of parameters of the best match */
    bool any;
    const struct recording *near; /* the nearest of those that do not match */
    size_t near_same, near_other;
};

static void mcp_replay_look(const struct replay *r, str tool, const struct json *doc,
                            struct arena *a, struct found *f)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct recording *rec = &r->recordings[i];
        size_t same, other;

        f->matches[i] = NO_MATCH;
        if (!str_eq(rec->tool, tool))
            continue;
        mcp_replay_compare(rec, doc, a, &same, &other);
        if (other == 0)
            f->matches[i] = same;
        if (other == 0 && (!f->any || same > f->same)) {
            f->any = true;
            f->same = same;
        }
        if (other > 0 &&
            (!f->near || same > f->near_same || (same == f->near_same && other < f->near_other))) {
            f->near = rec;
            f->near_same = same;
            f->near_other = other;
        }
    }
}

static bool mcp_replay_give(const struct replay *r, const struct found *f, struct buf *out)
{
    const struct recording *first = NULL;
    bool ok = false;

    assert(f->any && f->same != NO_MATCH);
    for (size_t i = 0; i < r->count; i++) {
        const struct recording *rec = &r->recordings[i];

        if (f->matches[i] != f->same)
            continue;
        if (first && !json_equal(&first->head, first->match, &rec->head, rec->match))
            continue; /* equally good, but for another call */
        if (first)
            buf_add(out, STR("\n\n"));
        first = first ? first : rec;
        (void)utf8_copy(out, rec->output);
        ok = ok || !rec->failed; /* one success among several is enough */
    }
    assert(first);
    return ok;
}

bool replay_call(const struct replay *r, str tool, str arguments, struct buf *out)
{
    struct found f = {.matches = base_alloc((r->count + 1) * sizeof *f.matches)};
    struct arena a;
    struct json doc;
    struct err e;
    bool ok = false;

    arena_init(&a, (size_t)64 << 20);
    if (!json_open(&doc, arguments.n ? arguments : STR("{}"), &e)) {
        buf_printf(out, "the arguments are not JSON: %s", e.text);
    } else {
        mcp_replay_look(r, tool, &doc, &a, &f);
        if (f.any) {
            ok = mcp_replay_give(r, &f, out);
        } else {
            buf_printf(out, "No recording of " STR_FMT " fits this call.", STR_ARG(tool));
            if (f.near)
                mcp_replay_log_miss(f.near, &doc, &a, out);
        }
    }
    arena_release(&a);
    json_release(&doc);
    free(f.matches);
    return ok;
}

/* ---- serving ---- */

void replay_run(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    const struct replay *r = ctx;
    struct buf out;
    str name = STR("");
    bool ok;

    buf_init(&out, REPLAY_SIZE_MAX);
    (void)!json_text(ask->doc, json_find(ask->doc, ask->params, STR("name")), ask->arena, &name);
    ok =
        replay_call(r, name, ask->arguments ? json_raw(ask->doc, ask->arguments) : STR("{}"), &out);
    if (ok)
        mcp_answer_text(answer, buf_str(&out));
    else
        mcp_answer_fail_text(answer, buf_str(&out));
    buf_release(&out);
}

const char *replay_fault(const struct replay *r, size_t i)
{
    return i < r->fault_count ? r->faults[i] : NULL;
}

size_t replay_count(const struct replay *r)
{
    return r->count;
}

str replay_output(const struct replay *r, size_t i)
{
    assert(i < r->count);
    return r->recordings[i].output;
}

const struct mcp_set *replay_set(const struct replay *r)
{
    return &r->set;
}
