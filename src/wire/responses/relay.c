/* relay.c - frames of a Responses stream on their way to a client of the same dialect.
 *
 * An untouched frame passes unchanged. If text was removed or changed, every later repetition must
 * match: so for each text (item, kind, part) the relay remembers how many bytes passed unchanged
 * and, from the first change on, what was sent after them; the `done` events and the final response
 * are edited accordingly. Reasoning of which nothing was sent disappears: its events are dropped,
 * its lists are empty, and encrypted content stays.
 *
 * What came out of a text as reasoning or as a call has no item upstream: it becomes an item of
 * ours, numbered after the last one seen, and the numbers of later items move up. Reasoning at the
 * beginning of a message comes before it: see relay_held.c. Numbers of events follow what was
 * dropped and added.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/relay.h"

#define ID_SIZE_MAX 256

enum frame_kind {
    FRAME_OTHER,
    FRAME_DELTA,
    FRAME_TEXT,
    FRAME_PART_ADDED,
    FRAME_PART,
    FRAME_ITEM,
    FRAME_FINAL
};

struct row {
    str type;
    enum frame_kind frame;
    enum responses_place_kind place;
    const char *key; /* the member with the text */
};

static const struct row rows[] = {
    {STR_INIT("response.output_text.delta"), FRAME_DELTA, AT_TEXT, "delta"},
    {STR_INIT("response.reasoning_summary_text.delta"), FRAME_DELTA, AT_SUMMARY, "delta"},
    {STR_INIT("response.reasoning_text.delta"), FRAME_DELTA, AT_THOUGHT, "delta"},
    {STR_INIT("response.refusal.delta"), FRAME_DELTA, AT_REFUSAL, "delta"},
    {STR_INIT("response.output_text.done"), FRAME_TEXT, AT_TEXT, "text"},
    {STR_INIT("response.reasoning_summary_text.done"), FRAME_TEXT, AT_SUMMARY, "text"},
    {STR_INIT("response.reasoning_text.done"), FRAME_TEXT, AT_THOUGHT, "text"},
    {STR_INIT("response.refusal.done"), FRAME_TEXT, AT_REFUSAL, "refusal"},
    {STR_INIT("response.reasoning_summary_part.added"), FRAME_PART_ADDED, AT_SUMMARY, "part"},
    {STR_INIT("response.content_part.added"), FRAME_PART_ADDED, AT_TEXT, "part"},
    {STR_INIT("response.reasoning_summary_part.done"), FRAME_PART, AT_SUMMARY, "part"},
    {STR_INIT("response.content_part.done"), FRAME_PART, AT_TEXT, "part"},
    {STR_INIT("response.output_item.added"), FRAME_ITEM, AT_TEXT, "item"},
    {STR_INIT("response.output_item.done"), FRAME_ITEM, AT_TEXT, "item"},
    {STR_INIT("response.completed"), FRAME_FINAL, AT_TEXT, "response"},
    {STR_INIT("response.incomplete"), FRAME_FINAL, AT_TEXT, "response"},
    {STR_INIT("response.failed"), FRAME_FINAL, AT_TEXT, "response"},
    {STR_INIT("response.cancelled"), FRAME_FINAL, AT_TEXT, "response"},
    {STR_INIT("response.done"), FRAME_FINAL, AT_TEXT, "response"},
};

/* ---- frames out ---- */

uint32_t responses_moved(const struct responses_encoder *s, uint32_t index)
{
    uint32_t by = 0;

    assert(s->insert_count <= s->insert_max);
    for (size_t i = 0; i < s->insert_count; i++)
        by += s->inserts[i].after < (int64_t)index;
    return index + by;
}

void responses_relay_edit_number(struct responses_relay *r, const char *key, int64_t value)
{
    const struct json_node *v = json_find(r->doc, r->root, str_c(key));

    if (v && v->kind == JSON_NUMBER)
        json_edit_replace(&r->ed, v, arena_printf(r->arena, "%lld", (long long)value));
}

bool responses_relay_number(const struct responses_relay *r, int64_t *out)
{
    return json_i64(r->doc, json_find(r->doc, r->root, STR("sequence_number")), out) && *out >= 0 &&
           *out < INT64_MAX / 2;
}

void responses_relay_edit_numbers(struct responses_relay *r)
{
    const struct json_node *index = json_find(r->doc, r->root, STR("output_index"));
    uint32_t i = responses_index(r->doc, r->root, "output_index", 0);
    int64_t n;

    if (r->s->shift && responses_relay_number(r, &n))
        responses_relay_edit_number(r, "sequence_number", n + r->s->shift);
    if (index && responses_moved(r->s, i) != i)
        responses_relay_edit_number(r, "output_index", responses_moved(r->s, i));
}

/* JSON on one line: line ends between values become spaces. */
void responses_relay_write(struct responses_relay *r)
{
    struct buf *out = r->en->out;
    size_t at;

    if (r->ed.n == 0) {
        buf_add(out, r->f->raw);
        return;
    }
    sse_begin(out, r->f->name);
    at = out->n;
    json_edits_apply(&r->ed, out);
    sse_end_lines(out, at);
}

void responses_relay_frame_out(struct responses_relay *r)
{
    responses_relay_edit_numbers(r);
    responses_relay_write(r);
}

static void responses_relay_frame_drop(struct responses_relay *r)
{
    r->s->shift--;
}

static void responses_relay_edits_reset(struct responses_relay *r)
{
    json_edits_init(&r->ed, r->doc, r->arena);
}

static str responses_relay_quoted(struct responses_relay *r, str text)
{
    struct buf b;

    buf_init(&b, JSON_SIZE_MAX);
    json_quote(&b, text);
    return arena_move_buf(r->arena, &b);
}

/* ---- deltas ---- */

static struct responses_sent *responses_relay_delta_sent(struct responses_relay *r,
                                                         const struct row *row)
{
    bool summary = row->place == AT_SUMMARY;

    return responses_sent_get(
        r,
        responses_index(r->doc, r->root, "output_index", 0),
        row->place,
        responses_index(r->doc, r->root, summary ? "summary_index" : "content_index", 0));
}

/* Appends answer text that was buffered until now to the last text that was sent. */
static void responses_relay_late_text(struct responses_relay *r, const struct chat_event *ev)
{
    struct responses_sent *t = r->s->sent;
    struct buf *out = r->en->out;

    while (t && (t->kind != AT_TEXT || t->whole))
        t = t->next;
    if (!t || !ev->text.n)
        return;
    responses_close_all(r->en);
    t->touched = true;
    responses_sent_add(r, t, ev->text);
    sse_begin(out, STR("response.output_text.delta"));
    buf_printf(
        out,
        "{\"type\":\"response.output_text.delta\",\"sequence_number\":%llu,\"item_id\":" STR_FMT
        ",\"output_index\":%u,\"content_index\":%u,\"delta\":",
        (unsigned long long)r->s->sequence++,
        STR_ARG(t->item_id.n ? t->item_id : STR("\"\"")),
        responses_moved(r->s, t->index),
        t->part);
    r->s->shift++;
    json_quote(out, ev->text);
    buf_add(out, STR(",\"logprobs\":[]}"));
    sse_end(out);
}

static void responses_relay_delta_out(struct responses_relay *r, const struct row *row, str text,
                                      bool *out)
{
    assert(row->frame == FRAME_DELTA && r->root);
    if (!text.n)
        return;
    responses_close_all(r->en);
    responses_opening_out(r);
    if (*out)
        r->s->shift++;
    *out = true;
    responses_sent_add(r, responses_relay_delta_sent(r, row), text);
    responses_relay_edits_reset(r);
    json_edit_replace(
        &r->ed, json_find(r->doc, r->root, str_c(row->key)), responses_relay_quoted(r, text));
    responses_drop_tokens(r, r->root);
    responses_relay_frame_out(r);
    r->s->sequence++;
}

/* Text of another kind than the frame's becomes our own item in its place. */
static void responses_relay_delta_touched(struct responses_relay *r, const struct row *row)
{
    struct responses_sent *t = responses_relay_delta_sent(r, row);
    struct buf text;
    bool out = false;

    assert(row->frame == FRAME_DELTA && t);

    t->touched = true;
    r->s->done.full |= t->text.full;
    buf_init(&text, JSON_SIZE_MAX);
    for (size_t i = 0; i < r->n; i++) {
        const struct chat_event *ev = &r->events[i];

        if (ev->kind == responses_at_event(row->place)) {
            if (!responses_at_reasoning(row->place) || !responses_is_joint(ev))
                buf_add(&text, ev->text);
            continue;
        }
        responses_relay_delta_out(r, row, buf_str(&text), &out);
        buf_reset(&text);
        if (ev->kind == CHAT_CALL)
            responses_opening_out(r);
        if (ev->kind == CHAT_TEXT)
            responses_relay_late_text(r, ev);
        if (ev->kind == CHAT_REASONING || ev->kind == CHAT_CALL || ev->kind == CHAT_ARGUMENTS)
            responses_content(r->en, ev);
    }
    responses_relay_delta_out(r, row, buf_str(&text), &out);
    buf_release(&text);
    if (!out)
        responses_relay_frame_drop(r);
    if (responses_at_reasoning(row->place) && responses_sent_nothing(t))
        r->s->hidden = true;
}

static void responses_relay_delta(struct responses_relay *r, const struct row *row)
{
    struct responses_sent *t;

    if (r->touched) {
        responses_relay_delta_touched(r, row);
        return;
    }
    t = responses_relay_delta_sent(r, row);
    for (size_t i = 0; i < r->n; i++)
        if (r->events[i].kind == responses_at_event(row->place) &&
            !responses_is_joint(&r->events[i]))
            responses_sent_add(r, t, r->events[i].text);
    responses_relay_frame_out(r);
}

/* ---- texts without a frame of their own ---- */

static bool responses_relay_has_call(const struct responses_relay *r, const struct json_node *items,
                                     str id)
{
    if (json_is_object(items))
        return json_is(r->doc, json_find(r->doc, items, STR("call_id")), id) ||
               json_is(r->doc, json_find(r->doc, items, STR("id")), id);
    JSON_FOREACH(v, r->doc, items)
        if (responses_relay_has_call(r, v, id))
            return true;
    return false;
}

static void responses_relay_place_rest(struct responses_relay *r, const struct json_node *items)
{
    bool ours = false;

    for (size_t i = 0; i < r->n; i++) {
        const struct chat_event *ev = &r->events[i];

        if (ev->kind == CHAT_CALL)
            ours = !responses_relay_has_call(r, items, ev->id);
        if (ev->kind == CHAT_TEXT && !ev->node)
            responses_relay_late_text(r, ev);
        else if ((ev->kind == CHAT_REASONING && !ev->node && !responses_is_joint(ev)) ||
                 (ours && (ev->kind == CHAT_CALL || ev->kind == CHAT_ARGUMENTS)))
            responses_content(r->en, ev);
    }
}

/* ---- streams ---- */

static void responses_relay_again(struct responses_relay *r, const struct row *row)
{
    const struct json_node *v = json_find(r->doc, r->root, str_c(row->key));
    uint32_t index = responses_index(r->doc, r->root, "output_index", 0);
    bool summary = row->place == AT_SUMMARY, stays = true;
    uint32_t part =
        responses_index(r->doc, r->root, summary ? "summary_index" : "content_index", 0);

    assert(row->frame > FRAME_DELTA && row->frame != FRAME_PART_ADDED);
    if (row->frame == FRAME_TEXT) {
        stays = responses_fix_place(r, r->root, v, index, row->place, part);
    } else if (row->frame == FRAME_PART) {
        enum responses_place_kind kind = responses_part_kind(r, v, row->place);

        stays = responses_fix_place(
            r,
            v,
            json_find(r->doc, v, kind == AT_REFUSAL ? STR("refusal") : STR("text")),
            index,
            kind,
            part);
    } else if (row->frame == FRAME_ITEM) {
        if (str_ends(row->type, STR("done")))
            responses_fix_item(r, v, index);
    } else {
        responses_fix_response(r, v);
        responses_fix_usage(r, v);
    }
    if (stays)
        responses_relay_frame_out(r);
    else
        responses_relay_frame_drop(r);
}

static const struct row *responses_relay_row_of(const struct responses_relay *r)
{
    static const struct row other = {STR_INIT(""), FRAME_OTHER, AT_TEXT, ""};
    const struct json_node *type = json_find(r->doc, r->root, STR("type"));

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (json_is(r->doc, type, rows[i].type))
            return &rows[i];
    return &other;
}

static bool responses_relay_says_reasoning(const struct responses_relay *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->events[i].kind == CHAT_REASONING && !responses_is_joint(&r->events[i]))
            return true;
    return false;
}

static void responses_relay_begin_part(struct responses_relay *r, const struct row *row)
{
    enum responses_place_kind kind =
        responses_part_kind(r, json_find(r->doc, r->root, STR("part")), row->place);

    assert(row->frame == FRAME_PART_ADDED && !r->s->held_size);
    if (r->s->opening_count) /* of the first part */
        responses_opening_add(r);
    else if (!responses_at_reasoning(kind))
        responses_relay_frame_out(r);
    else if (r->s->hidden)
        responses_relay_frame_drop(r);
    else
        responses_held_begin(r);
}

/* Whether the frame leaves the beginning of a message waiting: it has no text of it to write, as
 * far as is known before its events are looked at. */
static bool responses_relay_waits(const struct responses_relay *r, const struct row *row)
{
    if (!responses_opening_is_of(r) || row->place != AT_TEXT)
        return false;
    return (row->frame == FRAME_DELTA && r->touched) ||
           (row->frame == FRAME_PART_ADDED && !r->touched &&
            r->s->opening_count < RESPONSES_OPENING_MAX);
}

static bool responses_relay_begins_message(const struct responses_relay *r, const struct row *row)
{
    return row->frame == FRAME_ITEM && str_ends(row->type, STR("added")) && !r->touched &&
           json_get_is(r->doc, json_find(r->doc, r->root, STR("item")), "type", "message");
}

static void responses_relay_stream_frame(struct responses_relay *r, const struct row *row)
{
    const struct json_node *items = NULL;

    if (!responses_relay_waits(r, row))
        responses_opening_out(r);
    if (r->s->held_size) {
        if (row->frame == FRAME_DELTA && responses_at_reasoning(row->place) && r->touched &&
            !responses_relay_says_reasoning(r)) {
            r->s->held_size = 0;
            responses_relay_frame_drop(r);
        } else {
            responses_held_out(r);
        }
    }
    if (row->frame == FRAME_DELTA) {
        responses_relay_delta(r, row);
        return;
    }
    if (row->frame == FRAME_ITEM)
        items = json_find(r->doc, r->root, STR("item"));
    else if (row->frame == FRAME_FINAL)
        items = json_find(r->doc, json_find(r->doc, r->root, STR("response")), STR("output"));
    if (r->touched)
        responses_relay_place_rest(r, items);
    if (row->frame == FRAME_FINAL)
        responses_close_all(r->en);
    if (responses_relay_begins_message(r, row))
        responses_opening_add(r);
    else if (row->frame == FRAME_OTHER)
        responses_relay_frame_out(r);
    else if (row->frame == FRAME_PART_ADDED)
        responses_relay_begin_part(r, row);
    else
        responses_relay_again(r, row);
}

/* An id as JSON, or "" if it is none. */
static str responses_relay_id(const struct responses_relay *r, const struct json_node *id)
{
    return id && id->kind == JSON_STRING && id->size <= ID_SIZE_MAX ? json_raw(r->doc, id)
                                                                    : STR("");
}

static void responses_relay_note_response(struct responses_relay *r)
{
    const struct json_node *response = json_find(r->doc, r->root, STR("response"));

    if (!r->s->response_id.n)
        r->s->response_id = arena_text_dup(
            r->en->arena, responses_relay_id(r, json_find(r->doc, response, STR("id"))));
}

static void responses_relay_stream(struct responses_relay *r)
{
    const struct row *row = responses_relay_row_of(r);
    size_t out_at = r->en->out->n;
    int64_t n = 0;
    bool numbered = responses_relay_number(r, &n);

    r->item_id = responses_relay_id(r, json_find(r->doc, r->root, STR("item_id")));
    if (!r->item_id.n)
        r->item_id = responses_relay_id(
            r, json_find(r->doc, json_find(r->doc, r->root, STR("item")), STR("id")));
    if (numbered && n + r->s->shift >= 0)
        r->s->sequence = (uint64_t)(n + r->s->shift);
    responses_relay_stream_frame(r, row);
    if (row->frame == FRAME_ITEM)
        responses_note_item(r, str_ends(row->type, STR("done")), out_at);
    responses_relay_note_response(r);
    r->s->sequence =
        numbered && n + 1 + r->s->shift >= 0 ? (uint64_t)(n + 1 + r->s->shift) : r->s->sequence;
    if (json_find(r->doc, r->root, STR("output_index")) && !responses_opening_is_of(r) &&
        responses_index(r->doc, r->root, "output_index", 0) > r->s->seen_max)
        r->s->seen_max = responses_index(r->doc, r->root, "output_index", 0);
}

/* ---- whole bodies ---- */

static const struct json_node *responses_relay_item_of(const struct responses_relay *r,
                                                       const struct json_node *list,
                                                       const struct json_node *node, int64_t *index)
{
    int64_t i = 0;

    for (const struct json_node *v = node ? json_first(r->doc, list) : NULL; v;
         v = json_next(r->doc, list, v), i++)
        if (node->at >= v->at && node->at < v->at + v->size) {
            *index = i;
            return v;
        }
    return NULL;
}

static void responses_relay_whole_rest(struct responses_relay *r, const struct json_node *list)
{
    const struct json_node *item = responses_relay_item_of(r, list, r->first_text, &(int64_t){0});
    bool ours = false, joint = false;
    int64_t index = 0;
    uint32_t block = 0; /* of the last reasoning that is in the list */

    (void)responses_relay_item_of(r, list, r->first_text, &index);
    for (size_t i = 0; i < r->n; i++) {
        const struct chat_event *ev = &r->events[i];
        const struct json_node *of = responses_relay_item_of(r, list, ev->node, &index);
        bool own;

        item = of ? of : item;
        own = ev->kind == CHAT_REASONING && of && json_get_is(r->doc, of, "type", "reasoning");
        if (ev->kind == CHAT_CALL)
            ours = !responses_relay_has_call(r, list, ev->id);
        own = own || (joint && ev->kind == CHAT_REASONING && !ev->node && ev->block == block);
        if (own || (joint && responses_is_joint(ev))) {
            joint = true;
            block = own ? ev->block : block;
            continue;
        }
        joint = false;
        if (ev->kind == CHAT_REASONING && index - 1 > r->s->seen_max)
            r->s->seen_max = index - 1;
        if (ev->kind == CHAT_CALL && index > r->s->seen_max)
            r->s->seen_max = index;
        if (ev->kind == CHAT_REASONING ||
            (ours && (ev->kind == CHAT_CALL || ev->kind == CHAT_ARGUMENTS)))
            responses_content(r->en, ev);
    }
    responses_close_all(r->en);
}

static void responses_relay_whole(struct responses_relay *r)
{
    const struct json_node *list = json_find(r->doc, r->root, STR("output"));

    assert(!r->en->stream && r->root);
    if (!r->touched || !json_is_array(list)) {
        buf_add(r->en->out, r->f->raw);
        return;
    }
    r->first_text = responses_first_text(r, list);
    responses_relay_whole_rest(r, list);
    responses_fix_response(r, r->root);
    responses_fix_usage(r, r->root);
    json_edits_apply(&r->ed, r->en->out);
}

void responses_relay(struct wire_encoder *en, const struct wire_frame *f,
                     const struct chat_event *events, size_t n, bool touched)
{
    struct responses_encoder *s = en->state;
    uint64_t sequence = s->sequence;
    size_t out_at = en->out->n;
    struct arena arena;
    struct responses_relay r = {.en = en,
                                .s = s,
                                .f = f,
                                .doc = f->doc,
                                .events = events,
                                .n = n,
                                .touched = touched,
                                .item_id = STR(""),
                                .arena = &arena};

    if (!s->relaying) {
        s->relaying = true;
        s->seen_max = -1;
    }
    arena_init(&arena, JSON_SIZE_MAX);
    if (!f->doc) {
        if (f->data.n) /* [DONE], not a comment */
            responses_opening_out(&r);
        buf_add(en->out, f->raw);
        arena_release(&arena);
        return;
    }
    r.root = json_root(f->doc);
    responses_relay_edits_reset(&r);
    if (en->stream)
        responses_relay_stream(&r);
    else
        responses_relay_whole(&r);
    free(r.said);
    arena_release(&arena);
    if (s->done.full) { /* the frame may lack text, or have text that must be hidden */
        en->out->n = out_at;
        s->sequence = sequence;
    }
    (void)responses_full(en);
}
