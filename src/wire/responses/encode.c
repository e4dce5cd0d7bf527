/* encode.c - chat events as a stream of Responses events, or as one response object.
 *
 * SDKs put a response together by output_index and content_index, and many take the texts from the
 * `done` events or from the final response instead of the deltas. So every item is written once
 * into a rope as the JSON it will be in the end, text by text as it arrives, and the `done` events
 * and the final response are copies out of the rope. One item is open at a time, except for calls,
 * whose arguments may be interleaved: they wait in separate ropes and are ordered when they close.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/encode.h"

static void responses_encode_hold(struct wire_encoder *en, str s)
{
    struct responses_encoder *state = en->state;

    rope_add(&state->done, en->arena, s);
}

static void responses_encode_hold_c(struct wire_encoder *en, const char *z)
{
    responses_encode_hold(en, str_c(z));
}

/* ---- events ---- */

static bool responses_encode_event_begin(struct wire_encoder *en, const char *type)
{
    struct responses_encoder *s = en->state;

    if (!en->stream)
        return false;
    sse_begin(en->out, str_c(type));
    buf_printf(en->out,
               "{\"type\":\"%s\",\"sequence_number\":%llu",
               type,
               (unsigned long long)s->sequence++);
    if (s->relaying)
        s->shift++;
    return true;
}

void responses_encode_event_end(struct wire_encoder *en)
{
    buf_add_c(en->out, '}');
    sse_end(en->out);
}

static str responses_encode_base_id(const struct wire_encoder *en)
{
    return str_starts(en->id, STR("resp_")) ? str_slice(en->id, 5, en->id.n) : en->id;
}

/* "msg_rationale_ID_0", quoted: so that an item of ours is known when it comes back. */
static str responses_encode_item_id(struct wire_encoder *en, const char *prefix, uint32_t index,
                                    char out[256])
{
    str base = str_slice(responses_encode_base_id(en), 0, 200);

    for (size_t i = 0; i < base.n; i++)
        if (base.p[i] < ' ' || base.p[i] == '"' || base.p[i] == '\\' || base.p[i] == 0x7f)
            base.n = i;
    snprintf(out, 256, "\"%s" RESPONSES_OWN STR_FMT "_%u\"", prefix, STR_ARG(base), index);
    return str_c(out);
}

static const char *responses_encode_open_prefix(const struct responses_encoder *s)
{
    return s->open == OPEN_REASONING ? "rs" : "msg";
}

static void responses_encode_where(struct wire_encoder *en, const char *prefix, uint32_t index)
{
    char id[256];

    assert(en->stream);
    buf_add(en->out, STR(",\"item_id\":"));
    buf_add(en->out, responses_encode_item_id(en, prefix, index, id));
    buf_printf(en->out, ",\"output_index\":%u", index);
}

static void responses_encode_where_part(struct wire_encoder *en)
{
    const struct responses_encoder *s = en->state;

    assert(s->open != OPEN_NONE);
    responses_encode_where(en, responses_encode_open_prefix(s), s->index);
    buf_printf(en->out,
               ",\"%s\":%u",
               s->open == OPEN_REASONING ? "summary_index" : "content_index",
               s->part);
}

/* ---- items ---- */

uint32_t responses_item_index(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;

    if (!s->relaying)
        return s->items++;
    assert(s->seen_max >= -1);
    s->items++;
    return (uint32_t)(s->seen_max + 1) + (uint32_t)s->insert_count;
}

static void responses_encode_item_begin(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;

    assert(!s->part_open);
    s->item_at = rope_end(&s->done);
}

/* In a relay an item is remembered with its place among those of the upstream. */
static void responses_encode_item_end(struct wire_encoder *en, uint32_t index)
{
    struct responses_encoder *s = en->state;

    assert(s->relaying || index < s->items);
    if (responses_encode_event_begin(en, "response.output_item.done")) {
        buf_printf(en->out, ",\"output_index\":%u,\"item\":", index);
        rope_copy(&s->done, s->item_at, en->out);
        responses_encode_event_end(en);
    }
    responses_entry_add(
        en,
        (struct responses_entry){
            .index = index, .rope = &s->done, .from = s->item_at, .to = rope_end(&s->done)});
    for (size_t i = 0; i < s->insert_count; i++)
        if ((int64_t)index == s->inserts[i].after + 1 + (int64_t)i) {
            s->inserts[i].from = s->item_at;
            s->inserts[i].to = rope_end(&s->done);
        }
}

static bool responses_encode_insert_note(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;

    assert(s->insert_count <= WIRE_BLOCKS_MAX);
    if (!s->relaying)
        return true;
    if (s->insert_count == WIRE_BLOCKS_MAX) {
        s->done.full = true;
        return false;
    }
    s->inserts =
        arena_grow(en->arena, s->inserts, s->insert_count, &s->insert_max, sizeof *s->inserts);
    s->inserts[s->insert_count++] = (struct responses_insert){.after = s->seen_max};
    return true;
}

static const char *responses_encode_status_now(const struct responses_encoder *s)
{
    bool cut = s->has_stop && (s->stop == CHAT_STOP_LENGTH || s->stop == CHAT_STOP_REFUSED);

    return cut || s->has_failed ? "incomplete" : "completed";
}

static bool responses_encode_open_item(struct wire_encoder *en, enum responses_open kind,
                                       const char *rest)
{
    struct responses_encoder *s = en->state;
    uint32_t index = responses_item_index(en);
    char id[256];

    assert(s->open == OPEN_NONE && kind != OPEN_NONE);
    if (!responses_encode_insert_note(en))
        return false;
    s->open = kind;
    s->index = index;
    s->part = 0;
    s->part_open = false;
    s->sealed = STR("");
    responses_encode_item_begin(en);
    if (responses_encode_event_begin(en, "response.output_item.added")) {
        buf_printf(en->out, ",\"output_index\":%u,\"item\":{\"id\":", index);
        buf_add(en->out, responses_encode_item_id(en, responses_encode_open_prefix(s), index, id));
        buf_add(en->out, str_c(rest));
        buf_add_c(en->out, '}');
        responses_encode_event_end(en);
    }
    return true;
}

/* ---- parts of messages and reasoning ---- */

static const char *responses_encode_part_type(const struct responses_encoder *s)
{
    return s->open == OPEN_REASONING ? "summary_text" : s->refusal ? "refusal" : "output_text";
}

static const char *responses_encode_part_key(const struct responses_encoder *s)
{
    return s->refusal ? "refusal" : "text";
}

static void responses_encode_part_begin(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;
    bool plain = s->open == OPEN_MESSAGE && !s->refusal;

    assert(s->open != OPEN_NONE && !s->part_open);
    if (responses_encode_event_begin(en,
                                     s->open == OPEN_REASONING
                                         ? "response.reasoning_summary_part.added"
                                         : "response.content_part.added")) {
        responses_encode_where_part(en);
        buf_printf(en->out,
                   ",\"part\":{\"type\":\"%s\",\"%s\":\"\"%s}",
                   responses_encode_part_type(s),
                   responses_encode_part_key(s),
                   plain ? ",\"annotations\":[],\"logprobs\":[]" : "");
        responses_encode_event_end(en);
    }
    if (s->part > 0)
        responses_encode_hold(en, STR(","));
    s->part_at = rope_end(&s->done);
    responses_encode_hold_c(en, "{\"type\":\"");
    responses_encode_hold_c(en, responses_encode_part_type(s));
    responses_encode_hold_c(en, "\",\"");
    responses_encode_hold_c(en, responses_encode_part_key(s));
    responses_encode_hold_c(en, "\":\"");
    s->text_at = rope_end(&s->done);
    s->part_open = true;
}

static void responses_encode_part_text(struct wire_encoder *en, str text)
{
    struct responses_encoder *s = en->state;
    size_t at = en->out->n;

    assert(s->part_open);
    if (responses_encode_event_begin(en,
                                     s->open == OPEN_REASONING
                                         ? "response.reasoning_summary_text.delta"
                                     : s->refusal ? "response.refusal.delta"
                                                  : "response.output_text.delta")) {
        responses_encode_where_part(en);
        buf_add(en->out, STR(",\"delta\":"));
        responses_encode_hold(en, json_escaped(en->out, text));
        if (s->open == OPEN_MESSAGE && !s->refusal)
            buf_add(en->out, STR(",\"logprobs\":[]"));
        responses_encode_event_end(en);
    } else {
        responses_encode_hold(en, json_escaped(en->out, text));
        en->out->n = at;
    }
}

static void responses_encode_part_end(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;
    bool reasoning = s->open == OPEN_REASONING, plain = !reasoning && !s->refusal;
    str logprobs;

    if (!s->part_open)
        return;
    assert(s->open != OPEN_NONE);
    s->part_open = false;
    logprobs = plain ? responses_logprobs_take(en) : STR("");
    for (uint32_t i = 0; plain && i < s->note_count; i++)
        if (responses_encode_event_begin(en, "response.output_text.annotation.added")) {
            responses_encode_where_part(en);
            buf_printf(en->out, ",\"annotation_index\":%u,\"annotation\":", i);
            buf_add(en->out, s->notes[i]);
            responses_encode_event_end(en);
        }
    if (responses_encode_event_begin(en,
                                     reasoning    ? "response.reasoning_summary_text.done"
                                     : s->refusal ? "response.refusal.done"
                                                  : "response.output_text.done")) {
        responses_encode_where_part(en);
        buf_printf(en->out, ",\"%s\":\"", responses_encode_part_key(s));
        rope_copy(&s->done, s->text_at, en->out);
        buf_add(en->out, plain ? STR("\",\"logprobs\":") : STR("\""));
        buf_add(en->out, logprobs);
        responses_encode_event_end(en);
    }
    responses_encode_hold_c(en, "\"");
    if (plain) {
        responses_encode_hold_c(en, ",\"annotations\":");
        responses_encode_hold(en, responses_notes_take(en));
        responses_encode_hold_c(en, ",\"logprobs\":");
        responses_encode_hold(en, logprobs);
    }
    responses_encode_hold_c(en, "}");
    if (responses_encode_event_begin(en,
                                     reasoning ? "response.reasoning_summary_part.done"
                                               : "response.content_part.done")) {
        responses_encode_where_part(en);
        buf_add(en->out, STR(",\"part\":"));
        rope_copy(&s->done, s->part_at, en->out);
        responses_encode_event_end(en);
    }
    s->part++;
}

/* The raw item that its host signed has the id that the encrypted content is bound to. */
static void responses_encode_hold_sealed(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;
    const struct json_node *id, *sealed;
    struct json doc;
    struct err e;
    char own[256];

    json_init(&doc);
    if (!s->sealed.n || !json_parse(&doc, s->sealed, &e)) {
        responses_encode_hold_c(en, ",\"id\":");
        responses_encode_hold(en, responses_encode_item_id(en, "rs", s->index, own));
        json_release(&doc);
        return;
    }
    id = json_find(&doc, json_root(&doc), STR("id"));
    sealed = json_find(&doc, json_root(&doc), STR("encrypted_content"));
    responses_encode_hold_c(en, ",\"id\":");
    responses_encode_hold(en,
                          id && id->kind == JSON_STRING
                              ? json_raw(&doc, id)
                              : responses_encode_item_id(en, "rs", s->index, own));
    if (sealed && sealed->kind == JSON_STRING) {
        responses_encode_hold_c(en, ",\"encrypted_content\":");
        responses_encode_hold(en, json_raw(&doc, sealed));
    }
    json_release(&doc);
}

static void responses_encode_close_item(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;
    char id[256];

    if (s->open == OPEN_NONE)
        return;
    responses_encode_part_end(en);
    if (s->open == OPEN_REASONING) {
        responses_encode_hold_c(en, "]");
        responses_encode_hold_sealed(en);
    } else {
        responses_encode_hold_c(en, "],\"id\":");
        responses_encode_hold(en, responses_encode_item_id(en, "msg", s->index, id));
        responses_encode_hold_c(en, ",\"status\":\"");
        responses_encode_hold_c(en, responses_encode_status_now(s));
        responses_encode_hold_c(en, "\"");
    }
    responses_encode_hold_c(en, "}");
    responses_encode_item_end(en, s->index);
    s->open = OPEN_NONE;
}

/* ---- calls ---- */

static void responses_encode_hold_quoted(struct wire_encoder *en, str text)
{
    size_t at = en->out->n;

    responses_encode_hold_c(en, "\"");
    responses_encode_hold(en, json_escaped(en->out, text));
    responses_encode_hold_c(en, "\"");
    assert(en->out->n >= at);
    en->out->n = at;
}

/* A call without arguments has the empty object: clients parse it. */
static void responses_encode_close_call(struct wire_encoder *en, struct responses_call *c)
{
    struct responses_encoder *s = en->state;
    const struct responses_call_words *words = responses_call_words(c);
    struct rope_mark start = {NULL, 0};
    str nothing = c->custom ? STR("") : STR("{}");
    char id[256];
    size_t at;

    if (c->custom)
        responses_unwrap(en, c);
    for (int done = c->custom ? 0 : 1; done < 2; done++)
        if (responses_encode_event_begin(en, done ? words->done : words->delta)) {
            responses_encode_where(en, words->prefix, c->index);
            buf_printf(en->out, ",\"%s\":\"", done ? words->member : "delta");
            rope_copy(&c->arguments, start, en->out);
            buf_add(en->out, c->arguments.n ? STR("") : nothing);
            buf_add_c(en->out, '"');
            responses_encode_event_end(en);
        }
    responses_encode_item_begin(en);
    responses_encode_hold_c(en, "{\"type\":\"");
    responses_encode_hold_c(en, words->type);
    responses_encode_hold_c(en, "\",\"id\":");
    responses_encode_hold(en, responses_encode_item_id(en, words->prefix, c->index, id));
    responses_encode_hold_c(en, ",\"call_id\":");
    responses_encode_hold_quoted(en, c->id);
    responses_encode_hold_c(en, ",");
    responses_encode_hold(en, c->name);
    responses_encode_hold_c(en, ",\"");
    responses_encode_hold_c(en, words->member);
    responses_encode_hold_c(en, "\":\"");
    at = en->out->n;
    rope_copy(&c->arguments, start, en->out);
    responses_encode_hold(en, c->arguments.n ? (str){en->out->p + at, en->out->n - at} : nothing);
    en->out->n = at;
    responses_encode_hold_c(en, "\",\"status\":\"");
    responses_encode_hold_c(en, responses_encode_status_now(s));
    responses_encode_hold_c(en, "\"}");
    responses_encode_item_end(en, c->index);
}

static void responses_encode_close_calls(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;

    for (struct responses_call *c = s->calls; c; c = c->next)
        responses_encode_close_call(en, c);
    s->calls = NULL;
    s->calls_end = NULL;
}

void responses_close_all(struct wire_encoder *en)
{
    responses_encode_close_item(en);
    responses_encode_close_calls(en);
}

static void responses_encode_on_call(struct wire_encoder *en, const struct chat_event *ev)
{
    struct responses_encoder *s = en->state;
    const struct responses_call_words *words;
    struct responses_call *c;
    char id[256];

    if (en->stream || s->open != OPEN_MESSAGE) /* in a whole reply, more of it may follow */
        responses_encode_close_item(en);
    c = arena_zero(en->arena, 1, sizeof *c);
    c->block = ev->block;
    c->index = responses_item_index(en);
    c->id = responses_kept(en, ev->id);
    c->name = responses_call_name_members(en, ev->name);
    c->custom = part_is_custom(en->request, ev->name);
    if (!responses_encode_insert_note(en))
        return;
    assert(!s->calls == !s->calls_end);
    *(s->calls_end ? s->calls_end : &s->calls) = c;
    s->calls_end = &c->next;
    words = responses_call_words(c);
    if (!responses_encode_event_begin(en, "response.output_item.added"))
        return;
    json_print(en->out,
               ",'output_index':%d,'item':{'type':%q,'status':'in_progress',%q:'','id':%j,"
               "'call_id':%q,%j}",
               (int64_t)c->index,
               str_c(words->type),
               str_c(words->member),
               responses_encode_item_id(en, words->prefix, c->index, id),
               ev->id,
               c->name);
    responses_encode_event_end(en);
}

static void responses_encode_on_arguments(struct wire_encoder *en, const struct chat_event *ev)
{
    struct responses_encoder *s = en->state;
    struct responses_call *c = s->calls;
    size_t at = en->out->n;

    while (c && c->block != ev->block)
        c = c->next;
    if (!c || !ev->text.n)
        return;
    if (!c->custom && responses_encode_event_begin(en, "response.function_call_arguments.delta")) {
        responses_encode_where(en, "fc", c->index);
        buf_add(en->out, STR(",\"delta\":"));
        rope_add(&c->arguments, en->arena, json_escaped(en->out, ev->text));
        responses_encode_event_end(en);
    } else {
        rope_add(&c->arguments, en->arena, json_escaped(en->out, ev->text));
        en->out->n = at;
    }
    if (c->arguments.full)
        s->done.full = true;
}

/* ---- content ---- */

static void responses_encode_on_text(struct wire_encoder *en, const struct chat_event *ev,
                                     bool refusal)
{
    struct responses_encoder *s = en->state;

    if (!ev->text.n)
        return;
    if (s->open == OPEN_REASONING || s->calls)
        responses_encode_close_item(en);
    responses_encode_close_calls(en);
    if (s->open == OPEN_NONE) {
        if (!responses_encode_open_item(
                en,
                OPEN_MESSAGE,
                ",\"type\":\"message\",\"status\":\"in_progress\",\"role\":\"assistant\","
                "\"content\":[]"))
            return;
        responses_encode_hold_c(en, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[");
    }
    if (s->part_open && (s->block != ev->block || s->refusal != refusal))
        responses_encode_part_end(en);
    if (!s->part_open) {
        s->block = ev->block;
        s->refusal = refusal;
        responses_encode_part_begin(en);
    }
    responses_encode_part_text(en, ev->text);
}

static bool responses_encode_reasoning_open(struct wire_encoder *en, uint32_t block)
{
    struct responses_encoder *s = en->state;

    if (s->open == OPEN_REASONING && s->block == block)
        return true;
    responses_close_all(en);
    s->refusal = false;
    if (!responses_encode_open_item(en, OPEN_REASONING, ",\"type\":\"reasoning\",\"summary\":[]"))
        return false;
    s->block = block;
    responses_encode_hold_c(en, "{\"type\":\"reasoning\",\"summary\":[");
    return true;
}

static void responses_encode_on_reasoning(struct wire_encoder *en, const struct chat_event *ev)
{
    struct responses_encoder *s = en->state;

    if (!ev->text.n || !responses_encode_reasoning_open(en, ev->block))
        return;
    if (!s->part_open)
        responses_encode_part_begin(en);
    responses_encode_part_text(en, ev->text);
}

static void responses_encode_on_opaque(struct wire_encoder *en, const struct chat_event *ev)
{
    struct responses_encoder *s = en->state;
    uint32_t index;
    str item;

    if (ev->dialect != CHAT_RESPONSES || !ev->text.n)
        return;
    if (str_eq(ev->name, STR("annotations"))) {
        if (s->part_open && s->block == ev->block)
            responses_notes_add(en, ev->text, CHAT_RESPONSES);
        return;
    }
    responses_close_all(en);
    index = responses_item_index(en);
    if (!responses_encode_insert_note(en))
        return;
    responses_encode_item_begin(en);
    item = en->stream && json_has_lines(ev->text) ? responses_kept_line(en, ev->text) : ev->text;
    if (responses_encode_event_begin(en, "response.output_item.added")) {
        buf_printf(en->out, ",\"output_index\":%u,\"item\":", index);
        buf_add(en->out, item);
        responses_encode_event_end(en);
    }
    responses_encode_hold(en, item);
    responses_encode_item_end(en, index);
}

void responses_content(struct wire_encoder *en, const struct chat_event *ev)
{
    struct responses_encoder *s = en->state;

    if (ev->choice != 0)
        return;
    switch (ev->kind) {
    case CHAT_TEXT:
    case CHAT_REFUSAL:
        responses_encode_on_text(en, ev, ev->kind == CHAT_REFUSAL);
        break;
    case CHAT_REASONING:
        responses_encode_on_reasoning(en, ev);
        break;
    case CHAT_SIGNATURE:
        if (ev->dialect == CHAT_RESPONSES && responses_encode_reasoning_open(en, ev->block))
            s->sealed = responses_kept(en, ev->text);
        break;
    case CHAT_CALL:
        responses_encode_on_call(en, ev);
        break;
    case CHAT_ARGUMENTS:
        responses_encode_on_arguments(en, ev);
        break;
    case CHAT_OPAQUE:
        responses_encode_on_opaque(en, ev);
        break;
    default:
        break;
    }
}
