/* relay_to_encode.c - from a relay to an encoder in the middle of a Responses stream.
 *
 * When a reply is cut and continues in another call, frames end and events follow. The provider's
 * open item is closed with the text that was sent of it, and the final response has the relayed
 * items and those that the encoder adds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/relay.h"

/* The frame that was written last, without the events of ours that may precede it. */
static str responses_resume_last_data(str frames)
{
    size_t end = frames.n, from;

    while (end > 0 && frames.p[end - 1] == '\n')
        end--;
    for (from = end; from > 0 && frames.p[from - 1] != '\n';)
        from--;
    frames = str_slice(frames, from, end);
    return str_starts(frames, STR("data:")) ? str_slice(frames, 5, frames.n) : STR("");
}

/* The item as it left: out of the frame that was written, if that was edited. */
static void responses_resume_keep_item(struct responses_relay *r, uint32_t index, str frames)
{
    struct responses_encoder *s = r->s;
    struct rope_mark at = rope_end(&s->relayed);
    const struct json_node *item = json_find(r->doc, r->root, STR("item"));
    str raw = item ? json_raw(r->doc, item) : STR("");
    struct json doc;
    struct err e;

    json_init(&doc);
    if (r->ed.n) {
        item = json_parse(&doc, responses_resume_last_data(frames), &e)
                   ? json_find(&doc, json_root(&doc), STR("item"))
                   : NULL;
        raw = item ? json_raw(&doc, item) : STR("");
    }
    rope_add(&s->relayed, r->en->arena, raw);
    json_release(&doc);
    if (raw.n && !s->relayed.full && s->entry_count < WIRE_BLOCKS_MAX)
        responses_entry_add(r->en,
                            (struct responses_entry){.index = responses_moved(s, index),
                                                     .rope = &s->relayed,
                                                     .from = at,
                                                     .to = rope_end(&s->relayed)});
}

void responses_note_item(struct responses_relay *r, bool done, size_t out_at)
{
    const struct json_node *item = json_find(r->doc, r->root, STR("item"));
    const struct json_node *type = json_find(r->doc, item, STR("type"));
    uint32_t index = responses_index(r->doc, r->root, "output_index", 0);
    struct responses_encoder *s = r->s;

    s->item.reasoning = json_is(r->doc, type, STR("reasoning"));
    s->item.open = !done && (s->item.reasoning || json_is(r->doc, type, STR("message")));
    s->item.index = index;
    s->item.id = arena_text_dup(r->en->arena, r->item_id);
    if (!s->item.id.n)
        s->item.id = STR("\"\"");
    if (done)
        responses_resume_keep_item(r, index, str_slice(buf_str(r->en->out), out_at, SIZE_MAX));
}

static void responses_resume_event_begin(struct wire_encoder *en, const char *type)
{
    struct responses_encoder *s = en->state;

    assert(en->stream && s->relaying);
    sse_begin(en->out, str_c(type));
    buf_printf(en->out,
               "{\"type\":\"%s\",\"sequence_number\":%llu,\"output_index\":%u",
               type,
               (unsigned long long)s->sequence++,
               responses_moved(s, s->item.index));
}

/* A part as JSON, with its text as it was sent. */
static void responses_resume_part_json(const struct responses_sent *t, struct buf *out)
{
    static const struct {
        const char *type, *key, *rest;
    } kinds[] = {
        [AT_TEXT] = {"output_text", "text", ",\"annotations\":[],\"logprobs\":[]"},
        [AT_REFUSAL] = {"refusal", "refusal", ""},
        [AT_SUMMARY] = {"summary_text", "text", ""},
        [AT_THOUGHT] = {"reasoning_text", "text", ""},
    };

    assert((size_t)t->kind < COUNT_OF(kinds));
    buf_printf(out, "{\"type\":\"%s\",\"%s\":\"", kinds[t->kind].type, kinds[t->kind].key);
    rope_copy(&t->text, (struct rope_mark){NULL, 0}, out);
    buf_printf(out, "\"%s}", kinds[t->kind].rest);
}

/* The `done` of a text and of its part. They may be sent twice, because hosts differ in whether
 * they send them at all. */
static void responses_resume_part_done(struct wire_encoder *en, const struct responses_sent *t)
{
    struct responses_encoder *state = en->state;
    static const char *const types[] = {
        [AT_TEXT] = "response.output_text.done",
        [AT_REFUSAL] = "response.refusal.done",
        [AT_SUMMARY] = "response.reasoning_summary_text.done",
        [AT_THOUGHT] = "response.reasoning_text.done",
    };
    const char *index = t->kind == AT_SUMMARY ? "summary_index" : "content_index";
    str id = state->item.id;

    assert((size_t)t->kind < COUNT_OF(types) && state->took_over);
    responses_resume_event_begin(en, types[t->kind]);
    buf_printf(en->out,
               ",\"item_id\":" STR_FMT ",\"%s\":%u,\"%s\":\"",
               STR_ARG(id),
               index,
               t->part,
               t->kind == AT_REFUSAL ? "refusal" : "text");
    rope_copy(&t->text, (struct rope_mark){NULL, 0}, en->out);
    buf_add_c(en->out, '"');
    responses_encode_event_end(en);
    responses_resume_event_begin(en,
                                 t->kind == AT_SUMMARY ? "response.reasoning_summary_part.done"
                                                       : "response.content_part.done");
    buf_printf(
        en->out, ",\"item_id\":" STR_FMT ",\"%s\":%u,\"part\":", STR_ARG(id), index, t->part);
    responses_resume_part_json(t, en->out);
    responses_encode_event_end(en);
}

static const struct responses_sent *responses_resume_sent_at(const struct responses_encoder *s,
                                                             int kind, uint32_t part)
{
    const struct responses_sent *t = s->sent;

    while (t && (t->index != s->item.index || t->kind != kind || t->part != part))
        t = t->next;
    return t;
}

/* The parts of one kind, in order; how many there are. */
static uint32_t responses_resume_list(const struct responses_encoder *s, int kind, struct buf *out,
                                      const struct responses_sent **last)
{
    const struct responses_sent *t;
    uint32_t n = 0;

    assert(out->n > 0 || buf_full(out)); /* the bracket */
    for (; (t = responses_resume_sent_at(s, kind, n)) != NULL; n++) {
        if (!t->text.n)
            continue;
        buf_add(out, out->p[out->n - 1] == '[' ? STR("") : STR(","));
        responses_resume_part_json(t, out);
        *last = t;
    }
    return n;
}

/* The item as it is now; the part of it that was open last. */
static const struct responses_sent *responses_resume_item_json(struct wire_encoder *en,
                                                               struct buf *out)
{
    const struct responses_encoder *s = en->state;
    const struct responses_sent *last = NULL;

    buf_printf(out, "{\"id\":" STR_FMT, STR_ARG(s->item.id));
    if (s->item.reasoning) {
        buf_add(out, STR(",\"type\":\"reasoning\",\"summary\":["));
        responses_resume_list(s, AT_SUMMARY, out, &last);
        buf_add(out, STR("],\"content\":["));
        responses_resume_list(s, AT_THOUGHT, out, &last);
        buf_add(out, STR("]}"));
        return last;
    }
    buf_add(out,
            STR(",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","
                "\"content\":["));
    responses_resume_list(s, AT_TEXT, out, &last);
    responses_resume_list(s, AT_REFUSAL, out, &last);
    buf_add(out, STR("]}"));
    return last;
}

void responses_take_over(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;
    struct rope_mark from = rope_end(&s->relayed);
    const struct responses_sent *last;
    struct buf b;

    assert(s->relaying && !s->took_over);
    s->took_over = true;
    s->held_size = 0; /* the beginning of a part that nothing came of, or of a message */
    s->item.open = s->item.open && !s->opening_count;
    s->opening_count = 0;
    if (!s->item.open || !en->stream)
        return;
    s->item.open = false;
    buf_init(&b, ROPE_SIZE_MAX);
    last = responses_resume_item_json(en, &b);
    if (last)
        responses_resume_part_done(en, last);
    responses_resume_event_begin(en, "response.output_item.done");
    buf_add(en->out, STR(",\"item\":"));
    buf_add(en->out, buf_str(&b));
    responses_encode_event_end(en);
    rope_add(&s->relayed, en->arena, buf_str(&b));
    if (!s->relayed.full)
        responses_entry_add(en,
                            (struct responses_entry){.index = responses_moved(s, s->item.index),
                                                     .rope = &s->relayed,
                                                     .from = from,
                                                     .to = rope_end(&s->relayed)});
    buf_release(&b);
}
