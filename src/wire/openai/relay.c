/* relay.c - frames of a provider passed on to a client of the same dialect.
 *
 * An untouched frame passes unchanged. A touched frame that still has one text is edited in place.
 * A frame with several texts is split: each text and each piece of reasoning becomes a separate
 * chunk, made from the frame with another choice, and one more chunk has the rest (role, calls,
 * stop, usage, unknown members).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/relay.h"

#include "wire/redact_reasoning.h"
#include "wire/relay_blocks.h"

#define EDIT_MAX ((size_t)256 << 20)
#define EDIT_ROOM 1024 /* for the edits that most frames need */
#define TAIL_STEP 16   /* bytes: tails of about one size share one allocation */
#define CHUNK_CLOSE ",\"finish_reason\":null}]"

uint32_t openai_relay_index_at(const struct json *doc, const struct json_node *v)
{
    int64_t index = json_to_count(doc, v);

    return index > 0 ? (uint32_t)index : 0;
}

uint32_t openai_relay_index_of(const struct json *doc, const struct json_node *choice)
{
    return openai_relay_index_at(doc, json_find(doc, choice, STR("index")));
}

static const struct json_node *openai_relay_choice_of(const struct openai_relay_frame *r,
                                                      uint32_t index)
{
    JSON_FOREACH(c, r->doc, r->choices)
        if (c->kind == JSON_OBJECT && openai_relay_index_of(r->doc, c) == index)
            return c;
    return NULL;
}

const struct json_node *openai_relay_message_of(const struct openai_relay_frame *r,
                                                const struct json_node *choice)
{
    const struct json_node *m = json_get(r->doc, choice, r->en->stream ? "delta" : "message");

    if (!m) /* as the decoder reads it */
        m = json_get(r->doc, choice, r->en->stream ? "message" : "delta");
    return json_is_object(m) ? m : NULL;
}

bool openai_relay_has_calls(const struct openai_relay_frame *r, const struct json_fields *message)
{
    return !openai_empty(r->doc, json_fields_get(message, OPENAI_AT_TOOL_CALLS)) ||
           !openai_empty(r->doc, json_fields_get(message, OPENAI_AT_FUNCTION_CALL));
}

bool openai_relay_is_chunk(const struct json_node *content, const struct chat_event *ev)
{
    if (ev->kind == CHAT_REFUSAL)
        return json_is_array(content) && ev->node && relay_blocks_inside(content, ev->node);
    return ev->kind == CHAT_OPAQUE && ev->dialect == CHAT_OPENAI &&
           str_eq(ev->name, STR("content"));
}

static void openai_relay_join(struct openai_relay_frame *r, struct openai_relay_text *j, str text)
{
    if (j->any && j->all.n == 0)
        arena_text_add(&j->all, &r->a, j->text);
    if (j->any)
        arena_text_add(&j->all, &r->a, text);
    else
        j->text = text;
    j->any = true;
}

str openai_relay_joined(const struct openai_relay_text *j)
{
    assert(j->any || (j->all.n == 0 && j->text.n == 0));
    return j->all.n ? arena_text_str(&j->all) : j->text;
}

struct openai_relay_heard openai_relay_hear(struct openai_relay_frame *r, uint32_t choice)
{
    struct openai_relay_heard h = {.text = {.text = STR("")}, .thought = {.text = STR("")}};

    for (size_t i = 0; i < r->n; i++) {
        if (r->events[i].choice != choice)
            continue;
        if (r->events[i].kind == CHAT_TEXT)
            openai_relay_join(r, &h.text, r->events[i].text);
        else if (r->events[i].kind == CHAT_REASONING)
            openai_relay_join(r, &h.thought, r->events[i].text);
        else if (r->events[i].kind == CHAT_CALL)
            h.calls = true;
    }
    return h;
}

/* Whether the details of a message have only the reasoning that the client gets. */
bool openai_relay_details_fit(struct openai_relay_frame *r, const struct json_fields *message,
                              const struct openai_relay_heard *now)
{
    for (unsigned i = 0; i < OPENAI_DETAIL_COUNT; i++) {
        const struct json_node *list = json_fields_present(message, openai_detail_fields[i]);

        if (!list || !openai_details_visible(r->doc, list))
            continue;
        if (!now->thought.any)
            return false;
        for (unsigned k = 0; k < OPENAI_THOUGHT_COUNT; k++) {
            str was = json_fields_text(message, openai_thought_fields[k], r->doc, &r->a);

            if (was.n && was.n != openai_relay_joined(&now->thought).n)
                return false;
        }
    }
    return true;
}

void openai_relay_drop_thoughts(struct json_edits *ed, const struct json_node *message,
                                const struct json_fields *of, bool details)
{
    for (unsigned i = 0; i < OPENAI_THOUGHT_COUNT && of->seen & OPENAI_THOUGHTS; i++)
        json_edit_remove(ed, message, openai_thought_name(i));
    for (unsigned i = 0; i < OPENAI_DETAIL_COUNT && !details; i++)
        json_edit_remove(ed, message, openai_detail_name(i));
}

/* ---- ends and counts, the same in a stream and whole ---- */

void openai_relay_edit_finish(struct openai_relay_frame *r, struct json_edits *ed,
                              const struct json_node *choice, const struct json_node *was,
                              uint32_t index)
{
    str name;

    for (size_t i = 0; i < r->n && was; i++) {
        const struct chat_event *ev = &r->events[i];

        if (ev->kind != CHAT_STOP || ev->choice != index || ev->stop != CHAT_STOP_TOOL)
            continue;
        /* If the decoder corrected the stop (calls in a reply that "stop"s), the frame gets it. */
        if (json_text(r->doc, was, &r->a, &name) && name.n && openai_stop(name) != ev->stop)
            json_edit_set(ed, choice, STR("finish_reason"), STR("\"tool_calls\""));
    }
}

/* Counted here, since the provider did not say. */
void openai_relay_edit_usage(struct openai_relay_frame *r, struct json_edits *ed)
{
    const struct json_node *usage = json_get(r->doc, r->root, "usage");
    str path[2] = {STR("completion_tokens_details"), STR("reasoning_tokens")};

    for (size_t i = 0; i < r->n && json_is_object(usage); i++) {
        const struct chat_event *ev = &r->events[i];

        if (ev->kind == CHAT_USAGE && ev->usage->raw.n == 0 && ev->usage->reasoning >= 0)
            json_edit_set_path(
                ed, usage, path, 2, arena_u64(&r->a, (uint64_t)ev->usage->reasoning));
    }
}

/* ---- streams ---- */

static void openai_relay_write_frame(struct openai_relay_frame *r, struct json_edits *ed)
{
    size_t from;

    sse_begin(r->en->out, r->f->name);
    from = r->en->out->n;
    json_edits_apply(ed, r->en->out);
    sse_end_lines(r->en->out, from);
}

/* Reasoning in a delta, under both names that clients read, as openai_delta writes it. */
static void openai_relay_show_thought(struct wire_encoder *en, struct json_edits *ed,
                                      const struct json_node *delta, str text)
{
    struct openai_encoding *s = en->state;

    s->shown = true;
    json_edit_set_text(ed, delta, STR("reasoning"), text);
    json_edit_set_text(ed, delta, STR("reasoning_content"), text);
}

/* The choices of a chunk that says this event, up to the end of its delta. */
static void openai_relay_chunk_choices(struct wire_encoder *en, struct openai_said *c,
                                       const struct chat_event *ev, struct buf *out)
{
    buf_add(out, STR("[{\"index\":"));
    buf_add_u64(out, ev->choice);
    buf_add(out, STR(",\"delta\":"));
    if (ev->kind == CHAT_OPAQUE) /* a chunk of the content */
        json_print(out, "{'content':[%j]}", ev->text);
    else
        openai_delta(en, c, ev, out);
}

/* One more member of the object that was written last. */
static void openai_relay_chunk_member(struct buf *out, str name, str json)
{
    assert(buf_full(out) || out->n == 0 || out->p[out->n - 1] == '}');
    out->n -= out->n > 0; /* the brace */
    buf_printf(out, ",\"" STR_FMT "\":", STR_ARG(name));
    buf_add(out, json);
    buf_add_c(out, '}');
}

static void openai_relay_write_chunk(struct openai_relay_frame *r, const struct chat_event *ev,
                                     const struct json_fields *details)
{
    const struct json_node *choice = openai_relay_choice_of(r, ev->choice);
    const struct json_node *role = json_get(r->doc, openai_relay_message_of(r, choice), "role");
    struct openai_said *c = openai_said(r->en, ev->choice);
    struct json_edits ed;
    struct buf b;

    assert(r->en->stream && r->chunk_end <= r->en->out->n);
    buf_init(&b, OPENAI_WHOLE_MAX);
    openai_relay_chunk_choices(r->en, c, ev, &b);
    if (role && !r->role)
        openai_relay_chunk_member(&b, STR("role"), json_raw(r->doc, role));
    r->role = r->role || role;
    for (unsigned i = 0; details && i < OPENAI_DETAIL_COUNT; i++) {
        const struct json_node *list = json_fields_present(details, openai_detail_fields[i]);

        if (list)
            openai_relay_chunk_member(&b, openai_detail_name(i), json_raw(r->doc, list));
    }
    buf_add(&b, STR(CHUNK_CLOSE));
    json_edits_init(&ed, r->doc, &r->a);
    json_edit_set(&ed, r->root, STR("choices"), buf_str(&b));
    json_edit_remove(&ed, r->root, STR("usage"));
    openai_relay_write_frame(r, &ed);
    r->chunk = details ? STR("") : arena_dup(&r->a, buf_str(&b));
    r->chunk_end = r->en->out->n;
    buf_release(&b);
}

/* Reasoning and its repetition in the details go out in one chunk: clients read one of them per
 * chunk. */
static void openai_relay_write_thought(struct openai_relay_frame *r, const struct chat_event *ev)
{
    struct chat_event all = *ev;
    struct json_fields of;
    struct openai_relay_heard now;

    if (r->details)
        return; /* with the first of them */
    json_fields_read(&openai_reply_fields,
                     r->doc,
                     openai_relay_message_of(r, openai_relay_choice_of(r, ev->choice)),
                     0,
                     &of);
    if (json_count(r->doc, r->choices) == 1 &&
        (json_fields_present(&of, OPENAI_AT_REASONING_DETAILS) ||
         json_fields_present(&of, OPENAI_AT_THINKING_BLOCKS))) {
        now = openai_relay_hear(r, ev->choice);
        r->details = openai_relay_details_fit(r, &of, &now);
        all.text = r->details ? openai_relay_joined(&now.thought) : ev->text;
    }
    openai_relay_write_chunk(r, &all, r->details ? &of : NULL);
}

/* Whether a delta without its texts still says something. */
static bool openai_relay_carries(struct openai_relay_frame *r, const struct json_node *choice,
                                 bool details)
{
    static const char known_fields[] =
        "content reasoning_content reasoning reasoning_text thinking index";
    const struct json_node *delta = openai_relay_message_of(r, choice);

    if (json_get(r->doc, choice, "finish_reason"))
        return true;
    JSON_FOREACH(k, r->doc, delta) {
        bool skip = openai_empty(r->doc, json_value(k)) ||
                    json_is_one_of(r->doc, k, known_fields) ||
                    (r->role && json_is(r->doc, k, STR("role")));

        for (size_t i = 0; i < OPENAI_DETAIL_COUNT && !details; i++)
            skip = skip || json_is(r->doc, k, openai_detail_name(i));
        if (!skip)
            return true;
    }
    return false;
}

/* Removes text that was already sent from a choice; returns whether anything is left. */
static bool openai_relay_rest_of(struct openai_relay_frame *r, struct json_edits *ed,
                                 const struct json_node *c)
{
    const struct json_node *delta = openai_relay_message_of(r, c);
    uint32_t index = openai_relay_index_of(r->doc, c);
    struct openai_relay_heard now = openai_relay_hear(r, index);
    struct json_fields of;
    bool details;

    json_fields_read(&openai_reply_fields, r->doc, delta, 0, &of);
    details = !r->details && openai_relay_details_fit(r, &of, &now);
    openai_relay_edit_finish(r, ed, c, json_get(r->doc, c, "finish_reason"), index);
    openai_relay_edit_call_indices(r, ed, c);
    redact_token_lists(r->doc, c, r->events, r->n, index, ed);
    if (!delta) {
        json_edit_remove(ed, c, STR("text"));
        return openai_relay_carries(r, c, details);
    }
    openai_relay_drop_thoughts(ed, delta, &of, details);
    if (!openai_empty(r->doc, json_fields_get(&of, OPENAI_AT_CONTENT)))
        json_edit_remove(ed, delta, STR("content"));
    if (r->role)
        json_edit_remove(ed, delta, STR("role"));
    return openai_relay_carries(r, c, details);
}

/* Removes the texts of a frame; whether it still says something. */
static bool openai_relay_edit_rest(struct openai_relay_frame *r, struct json_edits *ed)
{
    bool any = json_get(r->doc, r->root, "usage") || json_get(r->doc, r->root, "error");

    json_edits_init(ed, r->doc, &r->a);
    JSON_FOREACH(c, r->doc, r->choices)
        any = openai_relay_rest_of(r, ed, c) || any;
    openai_relay_edit_usage(r, ed);
    openai_unrequested_edit(r->en, r->doc, ed);
    return any;
}

static bool openai_relay_says_calls(const struct openai_relay_frame *r,
                                    const struct json_node *delta)
{
    struct json_fields of;

    json_fields_read(&openai_reply_fields, r->doc, delta, 0, &of);
    return openai_relay_has_calls(r, &of);
}

/* Whether the pipe kept a list of the tokens of this choice's text. */
static bool openai_relay_lists_tokens(const struct openai_relay_frame *r, uint32_t choice)
{
    const str of = STR("choice.");

    for (size_t i = 0; i < r->n; i++)
        if (r->events[i].kind == CHAT_EXTRA && r->events[i].choice == choice &&
            str_starts(r->events[i].name, of) &&
            redact_is_token_list(str_slice(r->events[i].name, of.n, r->events[i].name.n)))
            return true;
    return false;
}

/* Whether the events say one kind of text in this choice and nothing else that its delta, which has
 * these members, does not say itself. */
static bool openai_relay_is_text(const struct openai_relay_frame *r,
                                 const struct json_fields *delta,
                                 const struct openai_relay_heard *now)
{
    for (size_t i = 0; i < r->n; i++)
        if (openai_relay_is_chunk(json_fields_get(delta, OPENAI_AT_CONTENT), &r->events[i]) ||
            r->events[i].from_text)
            return false;
    if (now->text.any == now->thought.any || (now->calls && !openai_relay_has_calls(r, delta)))
        return false;
    return now->text.any || !(json_fields_present(delta, OPENAI_AT_REASONING_DETAILS) ||
                              json_fields_present(delta, OPENAI_AT_THINKING_BLOCKS));
}

/* Edits a frame in place if its only choice says one text and the frame says more than that (stop,
 * usage, unknown members), which would need a second frame. */
static bool openai_relay_replace(struct openai_relay_frame *r)
{
    const struct json_node *c = json_first(r->doc, r->choices), *delta;
    struct openai_relay_heard now;
    struct json_edits ed;
    struct json_fields of;
    uint32_t index;
    str text;

    delta = json_count(r->doc, r->choices) == 1 ? openai_relay_message_of(r, c) : NULL;
    if (!delta)
        return false;
    json_fields_read(&openai_reply_fields, r->doc, delta, 0, &of);
    index = openai_relay_index_of(r->doc, c);
    now = openai_relay_hear(r, index);
    text = openai_relay_joined(now.text.any ? &now.text : &now.thought);
    if (!text.n || !openai_relay_is_text(r, &of, &now))
        return false;
    if (!openai_relay_edit_rest(r, &ed) && !openai_relay_lists_tokens(r, index))
        return false;
    if (now.text.any)
        json_edit_set_text(&ed, delta, STR("content"), text);
    else
        openai_relay_show_thought(r->en, &ed, delta, text);
    openai_relay_write_frame(r, &ed);
    for (size_t i = 0; i < r->n; i++)
        openai_relay_note_call(r->en, &r->events[i]);
    return true;
}

static void openai_relay_chunks(struct openai_relay_frame *r)
{
    struct json_edits rest;

    assert(r->en->stream && r->choices);
    if (openai_relay_replace(r))
        return;
    for (size_t i = 0; i < r->n; i++) {
        const struct chat_event *ev = &r->events[i];
        const struct json_node *delta =
            openai_relay_message_of(r, openai_relay_choice_of(r, ev->choice));
        bool call = ev->kind == CHAT_CALL || ev->kind == CHAT_ARGUMENTS;

        if (call && !ev->from_text &&
            (openai_relay_says_calls(r, delta) || openai_relay_passes(r->en, ev))) {
            openai_relay_note_call(r->en, ev);
            continue;
        }
        if (openai_relay_is_chunk(json_get(r->doc, delta, "content"), ev)) {
            openai_relay_write_chunk(r, ev, NULL);
            continue;
        }
        if (!openai_says(openai_said(r->en, ev->choice), ev))
            continue;
        if (ev->kind == CHAT_REASONING)
            openai_relay_write_thought(r, ev);
        else if (ev->kind == CHAT_TEXT || call)
            openai_relay_write_chunk(r, ev, NULL);
    }
    if (openai_relay_edit_rest(r, &rest))
        openai_relay_write_frame(r, &rest);
}

/* ---- frames ---- */

static void openai_relay_take_notes(struct wire_encoder *en, const struct wire_frame *f,
                                    const struct json_node *choices)
{
    bool last = choices->span == 1;
    struct openai_encoding *s = en->state;

    assert(en->stream && json_is_array(choices));
    JSON_FOREACH(c, f->doc, choices) {
        struct openai_said *said = openai_said(en, openai_relay_index_of(f->doc, c));

        said->role = true;
        if (json_get(f->doc, c, "finish_reason"))
            said->finished = last = true;
    }
    if (last && json_get(f->doc, json_root(f->doc), "usage"))
        s->usage_reported = true;
}

/* ---- frames that are the one before with another text ---- */

/* The position of the tail of the single chunk in the output that begins at `from`: after the
 * frame's start and the rewritten choices. 0 if there is no such chunk. */
static size_t openai_relay_chunk_tail(const struct openai_relay_frame *r, size_t from)
{
    const struct json_node *usage = json_find(r->doc, r->root, STR("usage"));
    size_t head = r->choices->at, tail = from + sizeof "data: " - 1 + head + r->chunk.n;
    str src = r->doc->src;

    /* A member that occurs twice may have been removed before the choices, too. */
    if (r->n != 1 || !r->chunk.n || r->role || r->f->name.n || (usage && usage->at < head) ||
        r->root->escaped || memchr(src.p, '\n', head) || memchr(src.p, '\r', head))
        return 0;
    if (r->en->out->full || r->chunk_end != r->en->out->n || r->chunk_end - tail > OPENAI_TAIL_MAX)
        return 0;
    assert(memcmp(r->en->out->p + tail - r->chunk.n, r->chunk.p, r->chunk.n) == 0);
    return tail;
}

/* Learns from the output of a touched frame. */
static void openai_relay_learn(const struct openai_relay_frame *r, size_t from)
{
    struct openai_encoding *s = r->en->state;
    size_t tail = openai_relay_chunk_tail(r, from);

    s->shape = r->f->shape;
    s->quiet = r->n == 0 && r->en->out->n == from;
    s->chunk_tail_size = 0;
    if (!tail)
        return;
    s->chunk_head = r->choices->at;
    s->chunk_of = r->events[0].choice;
    assert(r->chunk_end - tail <= OPENAI_TAIL_MAX);
    s->chunk_tail_size = (uint16_t)(r->chunk_end - tail);
    if (s->chunk_tail_size > s->chunk_tail_room) {
        s->chunk_tail_room =
            (uint16_t)((s->chunk_tail_size + TAIL_STEP - 1) / TAIL_STEP * TAIL_STEP);
        s->chunk_tail = arena_alloc(r->en->arena, s->chunk_tail_room);
    }
    memcpy(s->chunk_tail, r->en->out->p + tail, s->chunk_tail_size);
}

/* Passes on a frame without reading it; false if it must be read. */
static bool openai_relay_again(struct wire_encoder *en, const struct wire_frame *f,
                               const struct chat_event *events, size_t n, bool touched)
{
    struct openai_encoding *s = en->state;

    if (!touched) {
        if (!openai_unrequested_again(en, f))
            return false;
        for (size_t i = 0; i < n; i++)
            openai_relay_note_call(en, &events[i]);
        return true;
    }
    if (s->shape != f->shape)
        return false;
    if (n == 0)
        return s->quiet;
    if (n > 1 || !s->chunk_tail_size || events->choice != s->chunk_of ||
        (events->kind != CHAT_TEXT && events->kind != CHAT_REASONING) || events->text.n == 0)
        return false;
    buf_add(en->out, STR("data: "));
    buf_add(en->out, str_slice(f->data, 0, s->chunk_head));
    openai_relay_chunk_choices(en, openai_said(en, events->choice), events, en->out);
    buf_add(en->out, STR(CHUNK_CLOSE));
    buf_add(en->out, (str){s->chunk_tail, s->chunk_tail_size});
    return true;
}

static void openai_relay_untouched(struct wire_encoder *en, const struct wire_frame *f,
                                   const struct chat_event *events, size_t n, bool touched)
{
    for (size_t i = 0; i < n; i++)
        if (!f->doc && en->stream && events[i].kind == CHAT_USAGE)
            openai_encode_counted_usage(en, &events[i]); /* [DONE] reports none */
        else if (touched && !f->doc && events[i].kind != CHAT_END && events[i].kind != CHAT_START)
            openai_encode(en, &events[i]);
        else
            openai_relay_note_call(en, &events[i]);
    openai_unrequested_pass(en, f);
}

/* An untouched chunk with calls whose index another call already has. */
static void openai_relay_renumber(struct openai_relay_frame *r)
{
    struct json_edits ed;

    json_edits_init(&ed, r->doc, &r->a);
    JSON_FOREACH(c, r->doc, r->choices)
        openai_relay_edit_call_indices(r, &ed, c);
    openai_unrequested_edit(r->en, r->doc, &ed);
    openai_relay_write_frame(r, &ed);
    for (size_t i = 0; i < r->n; i++)
        openai_relay_note_call(r->en, &r->events[i]);
}

static void openai_relay_edited(struct openai_relay_frame *r, bool touched)
{
    max_align_t room[EDIT_ROOM / sizeof(max_align_t)];
    size_t from = r->en->out->n;

    arena_init(&r->a, EDIT_MAX);
    arena_lend(&r->a, room, sizeof room);
    if (!touched) {
        openai_relay_renumber(r);
    } else if (r->en->stream) {
        openai_relay_chunks(r);
        openai_relay_learn(r, from);
    } else {
        openai_relay_body(r);
    }
    arena_release(&r->a);
}

void openai_relay(struct wire_encoder *en, const struct wire_frame *f,
                  const struct chat_event *events, size_t n, bool touched)
{
    struct wire_frame whole;
    struct openai_relay_frame r;

    if (f->again && openai_relay_again(en, f, events, n, touched))
        return;
    r = (struct openai_relay_frame){.en = en, .events = events, .n = n, .chunk = STR("")};
    whole = wire_frame_whole(f);
    if (openai_unrequested_chunk(en, whole.doc))
        return;
    r.f = &whole;
    r.doc = whole.doc;
    r.root = whole.doc ? json_root(whole.doc) : NULL;
    if (json_is_object(r.root)) {
        r.choices = json_get(r.doc, r.root, "choices");
        if (en->stream)
            openai_take_head(en, r.doc);
    }
    if (r.choices && r.choices->kind != JSON_ARRAY)
        r.choices = NULL;
    if (r.choices && (openai_relay_moves_calls(&r) || touched))
        openai_relay_edited(&r, touched);
    else
        openai_relay_untouched(en, &whole, events, n, touched);
    if (en->stream && r.choices)
        openai_relay_take_notes(en, &whole, r.choices);
}
