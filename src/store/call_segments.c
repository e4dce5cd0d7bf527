/* SPDX-License-Identifier: Apache-2.0 */
#include "store/call_segments.h"

#define CALL_SEGMENTS_MAX 10000u

void call_segments_init(struct call_segments *s)
{
    json_init(&s->doc);
    json_init(&s->calls);
}

void call_segments_release(struct call_segments *s)
{
    json_release(&s->doc);
    json_release(&s->calls);
}

static struct db_value segment_member_text(struct call_segments *s, const struct json_node *v,
                                           const char *key, struct arena *a)
{
    str text;

    if (!json_text(&s->doc, json_find(&s->doc, v, str_c(key)), a, &text))
        return db_null();
    return db_text_or_null(text);
}

/* The text of a segment: its own, or the part of the row's that it says; a tool call's is the
 * call. */
static struct db_value segment_stretch(struct call_segments *s, const struct store_call *row,
                                       const struct json_node *v, struct arena *a)
{
    const struct json_node *kind = json_find(&s->doc, v, STR("kind"));
    bool reasoning = json_is(&s->doc, kind, STR("reasoning"));
    bool answer = json_is(&s->doc, kind, STR("answer"));
    str whole = reasoning ? row->reasoning : row->answer;
    int64_t at, size;
    struct err bad;

    if (json_find(&s->doc, v, STR("text")) ||
        !json_i64(&s->doc, json_find(&s->doc, v, STR("at")), &at) || at < 0)
        return segment_member_text(s, v, "text", a);
    if (!reasoning && !answer) {
        const struct json_node *call = NULL;

        if (json_parse(&s->calls, row->tool_calls, &bad))
            call = json_at(&s->calls, json_root(&s->calls), (size_t)at);
        return call ? db_text_or_null(json_raw(&s->calls, call)) : db_null();
    }
    if (!json_i64(&s->doc, json_find(&s->doc, v, STR("size")), &size) || size <= 0 ||
        (uint64_t)at > whole.n || (uint64_t)size > whole.n - (uint64_t)at)
        return db_null();
    return db_text_or_null(str_slice(whole, (size_t)at, (size_t)at + (size_t)size));
}

static struct db_value segment_number(struct call_segments *s, const struct json_node *v,
                                      const char *key)
{
    int64_t n;

    if (!json_i64(&s->doc, json_find(&s->doc, v, str_c(key)), &n) || n == -1)
        return db_null();
    return db_int(n);
}

/* Times are stored relative to the call's start. Older records have them as they are, and every
 * member. */
static bool segment_is_short(struct call_segments *s, const struct json_node *v)
{
    return json_find(&s->doc, v, STR("after_us")) != NULL;
}

static void segment_times(struct call_segments *s, const struct store_call *row,
                          const struct json_node *v, struct db_value *started,
                          struct db_value *ended)
{
    struct db_value after = segment_number(s, v, "after_us"),
                    took = segment_number(s, v, "took_us");

    *started = segment_number(s, v, "started_us");
    *ended = segment_number(s, v, "ended_us");
    if (after.type == DB_INT && row->started_ms >= 0) {
        *started = db_int(row->started_ms * 1000 + after.i);
        *ended = db_int(started->i + (took.type == DB_INT ? took.i : 0));
    }
}

static struct db_value segment_state(struct call_segments *s, const struct json_node *v,
                                     struct arena *a)
{
    struct db_value state = segment_member_text(s, v, "state", a);

    return state.type == DB_NULL && segment_is_short(s, v) ? db_text(STR("complete")) : state;
}

static struct db_value segment_flag(struct call_segments *s, const struct json_node *v,
                                    const char *key)
{
    const struct json_node *flag = json_find(&s->doc, v, str_c(key));
    bool set = flag && (flag->kind == JSON_TRUE || (flag->kind == JSON_STRING && flag->size > 2));

    return db_int(set);
}

void call_segments_read(struct call_segments *s, const struct store_call *row, struct arena *a,
                        struct db_rows rows)
{
    const struct json_node *root, *v;
    struct err bad;
    unsigned n = 0;

    if (row->segments.n == 0 || !json_parse(&s->doc, row->segments, &bad))
        return;
    root = json_root(&s->doc);
    if (root->kind != JSON_ARRAY)
        return;
    for (v = json_first(&s->doc, root); v && n < CALL_SEGMENTS_MAX;
         v = json_next(&s->doc, root, v)) {
        struct db_value columns[SEGMENT_COLUMNS] = {
            db_text(row->id),
            db_int(n++),
            segment_member_text(s, v, "kind", a),
            segment_stretch(s, row, v, a),
            segment_number(s, v, "tokens"),
            segment_flag(s, v, "exact"),
            db_null(),
            db_null(),
            segment_number(s, v, "budget"),
            segment_flag(s, v, "cut"),
            segment_state(s, v, a),
        };

        segment_times(s, row, v, &columns[SEGMENT_STARTED_US], &columns[SEGMENT_ENDED_US]);
        if (columns[SEGMENT_KIND].type != DB_NULL &&
            !rows.on_row(rows.ctx, columns, SEGMENT_COLUMNS))
            return;
    }
}
