/* decode.c - replies of Chat Completions into events, streamed or whole.
 *
 * Two dozen hosts speak this dialect and each spells something in its own way: reasoning has four
 * names and two lists, content may be a list of chunks, a call may come whole or in pieces, usage
 * in every chunk or in the last. The decoder reads all spellings in all places. It emits the
 * content of a delta in one order: reasoning, content, refusal, calls, and then the members without
 * an event.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

bool openai_block(struct wire_decoder *d, struct openai_choice *c, enum openai_now now)
{
    if (c->now == now && now != OPENAI_CALL)
        return true;
    openai_emit_calls(d, c, NULL);
    if (c->blocks >= WIRE_BLOCKS_MAX) {
        wire_emit_error(d, "upstream_error", "the provider's reply has too many parts");
        return false;
    }
    assert(c->blocks < WIRE_BLOCKS_MAX);
    c->now = now;
    c->block = c->blocks++;
    if (c->index == 0)
        d->blocks = c->blocks;
    assert(c->block < c->blocks);
    return true;
}

void openai_emit(struct wire_decoder *d, struct openai_choice *c, enum openai_now now,
                 const struct json_node *node, bool summary)
{
    static const enum chat_event_kind kinds[] = {[OPENAI_TEXT] = CHAT_TEXT,
                                                 [OPENAI_THOUGHT] = CHAT_REASONING,
                                                 [OPENAI_REFUSAL] = CHAT_REFUSAL};
    struct chat_event ev;
    str text;

    assert((size_t)now < COUNT_OF(kinds));
    if (!json_text(&d->doc, node, &d->scratch, &text) || text.n == 0)
        return;
    if (!openai_block(d, c, now))
        return;
    ev = openai_event(d, c, kinds[now]);
    ev.text = text;
    ev.node = node;
    ev.summary = summary;
    wire_emit(d, &ev);
}

/* An answer that is a number, without quotes. */
static void openai_decode_emit_number(struct wire_decoder *d, struct openai_choice *c,
                                      const struct json_node *node)
{
    struct chat_event ev;

    assert(node->kind == JSON_NUMBER);
    if (!openai_block(d, c, OPENAI_TEXT))
        return;
    ev = openai_event(d, c, CHAT_TEXT);
    ev.text = json_raw(&d->doc, node);
    wire_emit(d, &ev);
}

/* Words of reasoning, and a copy for the vault. */
static void openai_decode_think(struct wire_decoder *d, struct openai_choice *c,
                                const struct json_node *node, const char *spelling)
{
    str text;

    if (!json_text(&d->doc, node, &d->scratch, &text))
        return;
    if (!c->spelling)
        c->spelling = spelling;
    arena_text_add_max(&c->thought, d->arena, text, OPENAI_HELD_MAX);
    openai_emit(d, c, OPENAI_THOUGHT, node, false);
}

/* The words of one detail: which member they are in depends on its type. */
static const struct json_node *
openai_decode_detail_words(const struct json *doc, const struct json_node *detail, bool *summary)
{
    static const char *const members[] = {"text", "summary", "thinking"};

    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const struct json_node *v = json_find(doc, detail, str_c(members[i]));

        *summary = i == 1;
        if (v && v->kind == JSON_STRING && v->size > 2)
            return v;
    }
    return NULL;
}

bool openai_details_visible(const struct json *doc, const struct json_node *list)
{
    bool summary;

    JSON_FOREACH(v, doc, list)
        if (openai_decode_detail_words(doc, v, &summary))
            return true;
    return false;
}

/* A list of details: kept for the vault, and said in words if nothing else said them. */
static void openai_decode_details(struct wire_decoder *d, struct openai_choice *c,
                                  const struct json_node *list, size_t which, bool silent)
{
    struct chat_event ev = openai_event(d, c, CHAT_EXTRA);

    assert(which < OPENAI_DETAIL_COUNT);
    if (!json_is_array(list) || list->span == 1)
        return;
    if (!c->details)
        c->details = arena_zero(d->arena, OPENAI_DETAIL_COUNT, sizeof *c->details);
    JSON_FOREACH(v, &d->doc, list) {
        bool summary = false;
        const struct json_node *words = openai_decode_detail_words(&d->doc, v, &summary);

        openai_details_add(&c->details[which], &d->doc, v, d->arena, &d->scratch);
        if (words && !silent)
            openai_emit(d, c, OPENAI_THOUGHT, words, summary);
    }
    ev.block = c->block;
    ev.name = which ? STR("message.thinking_blocks") : STR("message.reasoning_details");
    ev.text = json_raw(&d->doc, list);
    wire_emit(d, &ev);
}

/* Hosts that know two names for reasoning send the same text under both. */
static bool openai_decode_said_before(const struct json *doc, const struct json_fields *m,
                                      unsigned n)
{
    const struct json_node *v = m->at[openai_thought_fields[n]];

    assert(n < OPENAI_THOUGHT_COUNT);
    for (unsigned i = 0; i < n; i++) {
        const struct json_node *u = json_fields_get(m, openai_thought_fields[i]);

        if (u && u->kind == JSON_STRING && json_equal(doc, u, doc, v))
            return true;
    }
    return false;
}

static void openai_decode_thoughts(struct wire_decoder *d, struct openai_choice *c,
                                   const struct json_fields *m)
{
    bool worded = c->thought.n > 0; /* once said in words, the details only repeat it */

    for (unsigned i = 0; i < OPENAI_THOUGHT_COUNT && m->seen & OPENAI_THOUGHTS; i++) {
        const struct json_node *v = json_fields_get(m, openai_thought_fields[i]);

        if (!v || v->kind != JSON_STRING || openai_decode_said_before(&d->doc, m, i))
            continue;
        openai_decode_think(d, c, v, openai_thought_name(i).p);
        worded = worded || v->size > 2;
    }
    for (unsigned i = 0; i < OPENAI_DETAIL_COUNT; i++) {
        const struct json_node *v = json_fields_get(m, openai_detail_fields[i]);

        if (!v)
            continue;
        openai_decode_details(d, c, v, i, worded);
        worded = worded || openai_details_visible(&d->doc, v);
    }
}

static void openai_decode_odd_chunk(struct wire_decoder *d, struct openai_choice *c,
                                    const struct json_node *chunk, bool thought)
{
    struct chat_event ev;

    if (openai_empty(&d->doc, chunk) || !openai_block(d, c, OPENAI_CALL))
        return;
    c->now = OPENAI_NOTHING;
    ev = openai_event(d, c, CHAT_OPAQUE);
    ev.name = STR("content");
    ev.text = json_raw(&d->doc, chunk);
    ev.node = chunk;
    ev.summary = thought;
    wire_emit(d, &ev);
}

/* ---- chunks of content that are reasoning ---- */

bool openai_is_thought_chunk(const struct json *doc, const struct json_node *chunk)
{
    static const char types[] =
        "thinking redacted_thinking reasoning reasoning_content reasoning_text reasoning_summary "
        "reasoning.text reasoning.summary reasoning.encrypted thought thoughts summary_text";

    return json_is_one_of(doc, json_find(doc, chunk, STR("type")), types) ||
           json_to_bool(doc, json_find(doc, chunk, STR("thought")));
}

static void openai_decode_chunk_signature(struct wire_decoder *d, struct openai_choice *c,
                                          const struct json_node *v)
{
    const struct json_node *signature = json_find(&d->doc, v, STR("signature"));
    struct chat_event ev;
    str text;

    if (!json_text(&d->doc, signature, &d->scratch, &text) || text.n == 0 ||
        !openai_block(d, c, OPENAI_THOUGHT))
        return;
    arena_text_add_max(&c->signature, d->arena, text, OPENAI_HELD_MAX);
    ev = openai_event(d, c, CHAT_SIGNATURE);
    ev.text = text;
    wire_emit(d, &ev);
}

/* One text of a chunk: a string, or an object with `text`. Mistral takes its thinking back, so that
 * a copy of it goes to the vault. */
static void openai_decode_chunk_words(struct wire_decoder *d, struct openai_choice *c,
                                      const struct json_node *v, const char *member)
{
    const struct json_node *words = v->kind == JSON_STRING ? v : json_find(&d->doc, v, STR("text"));

    if (!words || words->kind != JSON_STRING)
        openai_decode_odd_chunk(d, c, v, true);
    else if (str_eq(str_c(member), STR("thinking")))
        openai_decode_think(d, c, words, member);
    else
        openai_emit(d, c, OPENAI_THOUGHT, words, str_eq(str_c(member), STR("summary")));
    if (v->kind == JSON_OBJECT)
        openai_decode_chunk_signature(d, c, v);
}

/* Mistral's {type: thinking, thinking: [{type: text, text}], signature?}, Databricks' {type:
 * reasoning, summary: [{type: summary_text, text, signature?}]} and their kin: the words are in the
 * first of these members that has some. */
static void openai_decode_thought_chunk(struct wire_decoder *d, struct openai_choice *c,
                                        const struct json_node *chunk)
{
    static const char *const members[] = {"thinking",
                                          "text",
                                          "reasoning",
                                          "reasoning_content",
                                          "reasoning_text",
                                          "content",
                                          "summary"};
    const struct json_node *v = NULL;
    size_t i = 0;

    for (; i < COUNT_OF(members) && openai_empty(&d->doc, v); i++)
        v = json_get(&d->doc, chunk, members[i]);
    assert(i > 0 && i <= COUNT_OF(members));
    if (openai_empty(&d->doc, v) && !json_get(&d->doc, chunk, "signature"))
        openai_decode_odd_chunk(d, c, chunk, true); /* it is sealed */
    else if (json_is_array(v))
        JSON_FOREACH(e, &d->doc, v)
            openai_decode_chunk_words(d, c, e, members[i - 1]);
    else if (!openai_empty(&d->doc, v))
        openai_decode_chunk_words(d, c, v, members[i - 1]);
    openai_decode_chunk_signature(d, c, chunk);
}

static void openai_decode_content_chunk(struct wire_decoder *d, struct openai_choice *c,
                                        const struct json_node *chunk)
{
    const struct json_node *text = json_find(&d->doc, chunk, STR("text"));
    const struct json_node *refusal = json_find(&d->doc, chunk, STR("refusal"));

    if (chunk->kind == JSON_STRING)
        openai_emit(d, c, OPENAI_TEXT, chunk, false);
    else if (chunk->kind == JSON_NUMBER)
        openai_decode_emit_number(d, c, chunk);
    else if (openai_is_thought_chunk(&d->doc, chunk))
        openai_decode_thought_chunk(d, c, chunk);
    else if (refusal && refusal->kind == JSON_STRING)
        openai_emit(d, c, OPENAI_REFUSAL, refusal, false);
    else if (text && text->kind == JSON_STRING)
        openai_emit(d, c, OPENAI_TEXT, text, false);
    else if (text && text->kind == JSON_NUMBER)
        openai_decode_emit_number(d, c, text);
    else
        openai_decode_odd_chunk(d, c, chunk, false);
}

void openai_content(struct wire_decoder *d, struct openai_choice *c, const struct json_node *v)
{
    if (!v || v->kind == JSON_NULL)
        return;
    if (v->kind != JSON_ARRAY) {
        openai_decode_content_chunk(d, c, v);
        return;
    }
    JSON_FOREACH(chunk, &d->doc, v)
        openai_decode_content_chunk(d, c, chunk);
}

void openai_calls(struct wire_decoder *d, struct openai_choice *c, const struct json_node *v)
{
    if (json_is_object(v))
        openai_decode_call(d, c, v);
    JSON_FOREACH_ITEM(call, &d->doc, v)
        if (!d->deaf)
            if (call->kind == JSON_OBJECT)
                openai_decode_call(d, c, call);
}

static void openai_decode_delta(struct wire_decoder *d, struct openai_choice *c,
                                const struct json_node *v)
{
    const struct json_node *function;
    struct json_fields m;

    openai_members(&d->doc, v, OPENAI_MESSAGE, &m);
    function = json_fields_get(&m, OPENAI_AT_FUNCTION_CALL);
    openai_decode_thoughts(d, c, &m);
    openai_content(d, c, json_fields_get(&m, OPENAI_AT_CONTENT));
    openai_emit(d, c, OPENAI_REFUSAL, json_fields_get(&m, OPENAI_AT_REFUSAL), false);
    openai_calls(d, c, json_fields_get(&m, OPENAI_AT_TOOL_CALLS));
    if (json_is_object(function) && !openai_empty(&d->doc, function))
        openai_decode_function(d, c, function);
    openai_extras(d, c, v, m.odd, OPENAI_MESSAGE, NULL);
}

struct openai_choice *openai_choice(struct wire_decoder *d, const struct json_node *at)
{
    struct openai_decoding *s = d->state;
    struct openai_choice *c;
    int64_t index = json_to_count(&d->doc, at);

    assert(!s->choices == !s->last && !s->choices == !s->count);
    if (index < 0)
        index = 0;
    for (c = s->choices; c; c = c->next)
        if (c->index == index)
            return c;
    if (s->count >= OPENAI_CHOICES_MAX || index > UINT32_MAX) {
        wire_emit_error(d, "upstream_error", "the provider's reply has too many choices");
        return NULL;
    }
    c = s->count ? arena_zero(d->arena, 1, sizeof *c) : &s->only;
    c->index = (uint32_t)index;
    c->stop_name = STR("");
    s->count++;
    return LIST_APPEND(s->choices, s->last, c);
}

/* A text that is needed until the reply is over: a whole one is, before its bytes go. */
static str openai_decode_kept(struct wire_decoder *d, str text)
{
    const struct openai_decoding *s = d->state;

    return s->whole ? text : wire_keep(d, text);
}

/* finish_reason, and what vLLM and SGLang say about the sequence that was met. */
static void openai_decode_ending(struct wire_decoder *d, struct openai_choice *c,
                                 const struct json_fields *m, bool whole)
{
    static const unsigned matched[] = {OPENAI_AT_STOP_REASON, OPENAI_AT_MATCHED_STOP};
    str name = json_fields_text(m, OPENAI_AT_FINISH_REASON, &d->doc, &d->scratch);
    const struct json_node *odd =
        name.n ? NULL : json_fields_present(m, OPENAI_AT_FINISH_REASON); /* a number or the like */

    if (name.n == 0 && !(odd && json_has_content(&d->doc, odd)) && !(whole && !c->stopping))
        return;
    c->stopping = true;
    c->stop = name.n ? openai_stop(name) : CHAT_STOP_END;
    c->stop_name = openai_decode_kept(d, str_slice(name, 0, 256));
    for (size_t i = 0; i < COUNT_OF(matched) && c->stop == CHAT_STOP_END; i++) {
        str sequence = json_fields_text(m, matched[i], &d->doc, &d->scratch);

        if (sequence.n && sequence.n <= 4096) {
            c->stop = CHAT_STOP_SEQUENCE;
            c->stop_name = openai_decode_kept(d, sequence);
        }
    }
}

static void openai_decode_usage(struct wire_decoder *d, const struct json_node *v)
{
    struct openai_decoding *s = d->state;
    struct chat_usage now;

    if (!json_is_object(v) || v->span == 1)
        return;
    openai_usage(&d->doc, v, &now);
    openai_emit_usage(d, &s->usage, &s->usage_known, &now);
}

static void openai_decode_one_choice(struct wire_decoder *d, const struct json_node *v, bool whole)
{
    const struct json_node *said, *text;
    struct openai_choice *c;
    struct json_fields m;

    openai_members(&d->doc, v, OPENAI_CHOICE, &m);
    c = openai_choice(d, json_fields_get(&m, OPENAI_AT_INDEX));
    if (!c)
        return;
    said = json_fields_present(&m, whole ? OPENAI_AT_MESSAGE : OPENAI_AT_DELTA);
    text = json_fields_get(&m, OPENAI_AT_TEXT);
    if (!said)
        said = json_fields_present(&m, whole ? OPENAI_AT_DELTA : OPENAI_AT_MESSAGE);
    /* A stream that ends with the whole message says nothing new with it. */
    if (said && !whole && !json_fields_get(&m, OPENAI_AT_DELTA) && c->blocks > 0)
        said = NULL;
    if (json_is_object(said))
        openai_decode_delta(d, c, said);
    else
        openai_content(d, c, text);
    openai_extras(d, c, v, m.odd, OPENAI_CHOICE, NULL);
    openai_decode_ending(d, c, &m, whole);
    if (c->stopping && c->stop == CHAT_STOP_FAILED && !d->relays)
        ((struct openai_decoding *)d->state)->failed = v;
    openai_decode_usage(d, json_fields_get(&m, OPENAI_AT_USAGE));
}

static void openai_decode_start(struct wire_decoder *d, const struct json_fields *m)
{
    struct openai_decoding *s = d->state;
    struct chat_event ev = openai_event(d, NULL, CHAT_START);

    if (d->started)
        return;
    ev.id = json_fields_text(m, OPENAI_AT_ID, &d->doc, &d->scratch);
    ev.name = json_fields_text(m, OPENAI_AT_MODEL, &d->doc, &d->scratch);
    s->id = openai_decode_kept(d, str_slice(ev.id, 0, 256));
    wire_emit(d, &ev);
}

/* Emits the stops that are known so far. */
static void openai_decode_stops(struct wire_decoder *d)
{
    struct openai_decoding *s = d->state;

    for (struct openai_choice *c = s->choices; c; c = c->next) {
        struct chat_event ev;

        assert(!c->stopped || c->stopping);
        if (!c->stopping || c->stopped)
            continue;
        openai_emit_calls(d, c, NULL);
        openai_close_calls(d, c);
        openai_keep(d, c);
        ev = openai_event(d, c, CHAT_STOP);
        ev.stop = c->stop == CHAT_STOP_END && c->called ? CHAT_STOP_TOOL : c->stop;
        ev.name = c->stop_name;
        wire_emit(d, &ev);
        c->stopped = true;
    }
}

/* The first key of a chunk that may be new: hosts repeat all members before the choices in every
 * chunk. */
static const struct json_node *openai_decode_news(struct wire_decoder *d,
                                                  const struct json_node *root,
                                                  const struct json_node *choices)
{
    if (choices && repeat_frame_knows_head(d, str_slice(d->doc.src, 0, choices->at)))
        return json_next(&d->doc, root, choices - 1);
    return json_first(&d->doc, root);
}

static void openai_decode_choices(struct wire_decoder *d, const struct json_node *list, bool whole)
{
    assert(((struct openai_decoding *)d->state)->count <= OPENAI_CHOICES_MAX);
    if (list->kind != JSON_ARRAY)
        return;
    if (list->span > OPENAI_CHOICES_MAX && json_count(&d->doc, list) > OPENAI_CHOICES_MAX) {
        wire_emit_error(d, "upstream_error", "the provider's reply has too many choices");
        return;
    }
    JSON_FOREACH(v, &d->doc, list)
        if (v->kind == JSON_OBJECT)
            openai_decode_one_choice(d, v, whole);
}

/* The usage in x_groq, if the reply has no other. */
static const struct json_node *openai_decode_usage_of(const struct json *doc,
                                                      const struct json_fields *m)
{
    const struct json_node *v = json_fields_present(m, OPENAI_AT_USAGE);

    return v ? v : json_get(doc, json_fields_present(m, OPENAI_AT_X_GROQ), "usage");
}

static void openai_decode_frame(struct wire_decoder *d, const struct wire_frame *f, bool whole)
{
    const struct json_node *root = json_root(&d->doc), *list, *first;
    struct openai_decoding *s = d->state;
    struct json_fields m;
    bool failed;

    openai_members(&d->doc, root, OPENAI_REPLY, &m);
    list = json_fields_present(&m, OPENAI_AT_CHOICES);
    failed = json_has_content(&d->doc, json_fields_present(&m, OPENAI_AT_ERROR)) ||
             str_eq(f->name, STR("error")) ||
             json_is(&d->doc, json_fields_get(&m, OPENAI_AT_OBJECT), STR("error"));
    if ((failed && !list) || root->kind != JSON_OBJECT || (whole && !list)) {
        openai_emit_error(d, &d->doc, "the provider's reply is no chat completion");
        return;
    }
    openai_decode_start(d, &m);
    first = whole ? m.odd : openai_decode_news(d, root, list);
    if (first && m.odd)
        openai_extras(d, NULL, root, first > m.odd ? first : m.odd, OPENAI_REPLY, NULL);
    if (list)
        openai_decode_choices(d, list, whole);
    if (whole && !failed && s->count == 0) {
        wire_emit_error(d, "upstream_error", "the provider's reply has no choices");
        return;
    }
    openai_decode_usage(d, openai_decode_usage_of(&d->doc, &m));
    if (failed)
        openai_emit_error(d, &d->doc, "the provider failed");
    else if (s->failed)
        openai_emit_choice_error(d, s->failed);
    else
        openai_decode_stops(d);
}

void openai_decode(struct wire_decoder *d, const struct wire_frame *f)
{
    openai_decode_frame(d, f, false);
}

/* Reasoning is kept for the vault; of an answer nothing is. */
void openai_again(struct wire_decoder *d, const struct chat_event *ev)
{
    struct openai_decoding *s = d->state;
    struct openai_choice *c = s->choices;

    while (c && c->index != ev->choice)
        c = c->next;
    if (c && ev->kind == CHAT_REASONING)
        arena_text_add_max(&c->thought, d->arena, ev->text, OPENAI_HELD_MAX);
}

void openai_decode_whole(struct wire_decoder *d, const struct wire_frame *f)
{
    struct openai_decoding *s = d->state;

    assert(!s->whole && s->count == 0);
    s->whole = true;
    openai_decode_frame(d, f, true);
}

/* [DONE] ends the reply; without it, a choice without a stop reason counts as cut off. */
void openai_decode_end(struct wire_decoder *d)
{
    struct openai_decoding *s = d->state;
    bool cut = s->count == 0;

    if (cut && d->done && !d->relays)
        wire_emit_error(d, "upstream_error", "the provider's reply has no choices");
    for (struct openai_choice *c = s->choices; c; c = c->next) {
        openai_emit_calls(d, c, NULL);
        c->stopping = c->stopping || d->done;
        cut = cut || !c->stopping;
    }
    openai_decode_stops(d);
    if (cut)
        d->stopped = false; /* not all of several choices have stopped */
}
