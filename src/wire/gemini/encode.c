/* encode.c - events into replies of generateContent and streamGenerateContent.
 *
 * Arguments of a call are an object here, not text: calls of a stream are held until something else
 * comes, and go out whole.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/gemini/gemini.h"

#include "wire/images.h"

static struct gemini_encoder *gemini_encode_state(const struct wire_encoder *en)
{
    return en->state;
}

/* ---- chunks ---- */

void gemini_chunk_begin(struct wire_encoder *en)
{
    struct gemini_encoder *s = en->state;

    if (!en->stream)
        return;
    if (s->array)
        buf_add(en->out, s->begun ? STR(",\n") : STR("["));
    else
        sse_begin(en->out, STR(""));
    s->begun = true;
}

void gemini_chunk_end(struct wire_encoder *en)
{
    if (en->stream && !gemini_encode_state(en)->array)
        sse_end(en->out);
}

static bool gemini_encode_is_sse(const struct wire_encoder *en)
{
    return en->stream && !gemini_encode_state(en)->array;
}

static void gemini_encode_open_candidate(struct json_out *o)
{
    json_out_object(o);
    json_member_array(o, "candidates");
    json_out_object(o);
    json_member_object(o, "content");
    json_member_array(o, "parts");
}

static void gemini_encode_close_parts(struct json_out *o)
{
    json_out_end(o);
    json_write_text(o, "role", STR("model"));
    json_out_end(o);
}

static void gemini_encode_put_index(struct json_out *o, uint32_t choice)
{
    json_member_u64(o, "index", choice);
}

static void gemini_encode_put_tail(const struct wire_encoder *en, struct json_out *o)
{
    const struct assembled_reply *g = &gemini_encode_state(en)->gather;
    str id = en->id.n ? en->id : g->id;

    json_write_text(o, "modelVersion", en->model.n ? en->model : g->model);
    json_write_text(o, "responseId", id);
}

static void gemini_encode_put_count(struct json_out *o, const char *key, int64_t n)
{
    if (n < 0)
        return;
    json_member_i64(o, key, n);
}

/* Thoughts are counted beside the answer here, not in it. */
static void gemini_encode_put_usage(struct json_out *o, const struct chat_usage *u)
{
    int64_t answer = u->output, thoughts = u->reasoning;

    if (u->input < 0 && u->output < 0)
        return;
    if (answer >= 0 && thoughts > answer)
        thoughts = answer; /* readers add the two up: together they are the output */
    if (answer >= 0 && thoughts > 0)
        answer -= thoughts;
    assert(u->output < 0 || answer >= 0);
    json_member_object(o, "usageMetadata");
    gemini_encode_put_count(o, "promptTokenCount", u->input);
    gemini_encode_put_count(o, "candidatesTokenCount", answer);
    gemini_encode_put_count(
        o, "totalTokenCount", (u->input > 0 ? u->input : 0) + (u->output > 0 ? u->output : 0));
    gemini_encode_put_count(o, "cachedContentTokenCount", u->cache_read);
    gemini_encode_put_count(o, "thoughtsTokenCount", thoughts);
    json_out_end(o);
}

/* ---- parts ---- */

void gemini_part_json(const struct assembled_block *b, bool sse, struct json_out *o)
{
    assert(b->kind != ASSEMBLED_REDACTED); /* Gemini has no part for it */
    if (b->kind == ASSEMBLED_OPAQUE) {
        json_write_value(o, arena_text_str(&b->text), sse);
        return;
    }
    json_out_object(o);
    if (b->kind == ASSEMBLED_CALL) {
        json_member_object(o, "functionCall");
        json_write_text(o, "id", b->id);
        json_member_str(o, "name", b->name);
        json_out_key(o, STR("args"));
        json_write_arguments(o, arena_text_str(&b->text), sse);
        json_out_end(o);
    } else {
        json_member_str(o, "text", arena_text_str(&b->text));
        if (b->kind == ASSEMBLED_THINK)
            json_member_bool(o, "thought", true);
    }
    json_write_text(o, "thoughtSignature", arena_text_str(&b->extra));
    json_out_end(o);
}

/* ---- errors ---- */

static void gemini_encode_on_error(struct wire_encoder *en, const struct chat_error *error)
{
    gemini_chunk_begin(en);
    gemini_write_error(error, en->out);
    gemini_chunk_end(en);
    if (en->stream && gemini_encode_state(en)->array)
        buf_add(en->out, STR("]\n"));
}

/* A call that is cut would be another call, and a block that is missing would leave a hole: the
 * client gets an error. */
static void gemini_encode_fail_if_full(struct wire_encoder *en, const struct assembled_reply *g)
{
    struct chat_error error =
        wire_error(502, "UNAVAILABLE", "the reply is too large to be given in this form");

    if (!g->full || en->failed)
        return;
    gemini_encode_on_error(en, &error);
    en->failed = true;
}

/* ---- a stream ---- */

static void gemini_encode_put_calls(struct wire_encoder *en, uint32_t choice)
{
    struct gemini_encoder *s = en->state;
    struct json_out o;

    assert(s->pending.first && en->stream);
    gemini_chunk_begin(en);
    json_out_init(&o, en->out);
    gemini_encode_open_candidate(&o);
    for (const struct assembled_block *b = s->pending.first; b; b = b->next)
        if (b->choice == choice)
            gemini_part_json(b, gemini_encode_is_sse(en), &o);
    gemini_encode_close_parts(&o);
    gemini_encode_put_index(&o, choice);
    json_out_close(&o, 2);
    gemini_encode_put_tail(en, &o);
    json_out_end(&o);
    assert(o.depth == 0);
    gemini_chunk_end(en);
}

/* Drops a call that is cut: a client must not run it. */
static void gemini_encode_drop_cut_calls(struct assembled_reply *g)
{
    struct assembled_block **at = &g->first, *last = NULL;

    while (*at)
        if (json_is_object_text(arena_text_str(&(*at)->text))) {
            last = *at;
            at = &last->next;
        } else {
            *at = (*at)->next;
        }
    g->last = last;
}

static void gemini_encode_flush_calls(struct wire_encoder *en)
{
    struct assembled_reply *g = &gemini_encode_state(en)->pending;
    uint64_t put = 0; /* the candidates whose calls are out */

    if (en->failing)
        gemini_encode_drop_cut_calls(g);
    assert(!g->first == !g->last);
    for (const struct assembled_block *b = g->first; b; b = b->next)
        if (b->choice < 64 && !(put & UINT64_C(1) << b->choice)) {
            put |= UINT64_C(1) << b->choice;
            gemini_encode_put_calls(en, b->choice);
        }
    g->first = g->last = NULL;
    g->count = 0;
}

static void gemini_encode_put_part(struct wire_encoder *en, const struct chat_event *ev)
{
    bool thought = ev->kind == CHAT_REASONING ||
                   (ev->kind == CHAT_SIGNATURE && gemini_encode_state(en)->thinking);
    struct json_out o;

    assert(en->stream && ev->text.n > 0);
    gemini_encode_flush_calls(en);
    gemini_chunk_begin(en);
    json_out_init(&o, en->out);
    gemini_encode_open_candidate(&o);
    if (ev->kind == CHAT_OPAQUE) {
        json_write_value(&o, ev->text, gemini_encode_is_sse(en));
    } else {
        json_out_object(&o);
        json_member_str(&o, "text", ev->kind == CHAT_SIGNATURE ? STR("") : ev->text);
        if (thought)
            json_member_bool(&o, "thought", true);
        if (ev->kind == CHAT_SIGNATURE)
            json_write_text(&o, "thoughtSignature", ev->text);
        json_out_end(&o);
    }
    gemini_encode_close_parts(&o);
    gemini_encode_put_index(&o, ev->choice);
    json_out_close(&o, 2);
    gemini_encode_put_tail(en, &o);
    json_out_end(&o);
    assert(o.depth == 0);
    gemini_chunk_end(en);
    gemini_encode_state(en)->thinking = thought;
    gemini_encode_state(en)->ended = false;
}

static bool gemini_encode_is_top(str name)
{
    return str_eq(name, STR("createTime")) || str_eq(name, STR("promptFeedback")) ||
           str_eq(name, STR("modelStatus"));
}

static void gemini_encode_put_extra(struct json_out *o, const struct assembled_extra *x, bool sse)
{
    if (!x->json.n)
        return;
    json_out_key(o, x->name);
    json_write_value(o, x->json, sse);
}

/* Beside the candidates. */
static void gemini_encode_put_top_extras(struct json_out *o, const struct assembled_reply *g,
                                         bool sse)
{
    for (const struct assembled_extra *x = g->extras; x; x = x->next)
        if (gemini_encode_is_top(x->name) && x->choice == 0)
            gemini_encode_put_extra(o, x, sse);
}

/* The members of a candidate that follow its content. */
static void gemini_encode_put_ending(const struct wire_encoder *en, uint32_t choice,
                                     struct json_out *o)
{
    const struct gemini_encoder *s = gemini_encode_state(en);
    const struct gemini_ending *ending = &s->endings[choice];
    enum chat_stop stop = ending->stopped ? ending->stop : CHAT_STOP_END;

    assert(choice < GEMINI_CHOICES_MAX);
    if (ending->refused && stop == CHAT_STOP_END)
        stop = CHAT_STOP_REFUSED;
    json_write_text(
        o, "finishReason", gemini_stop_name(stop, ending->stopped ? ending->name : STR("")));
    gemini_encode_put_index(o, choice);
    for (const struct assembled_extra *x = s->gather.extras; x; x = x->next)
        if (!gemini_encode_is_top(x->name) && x->choice == choice)
            gemini_encode_put_extra(o, x, gemini_encode_is_sse(en));
}

static void gemini_encode_put_last_chunk(struct wire_encoder *en)
{
    const struct gemini_encoder *s = en->state;
    struct json_out o;

    assert(en->stream && s->finished && !s->pending.first);
    gemini_chunk_begin(en);
    json_out_init_object(&o, en->out);
    json_member_array(&o, "candidates");
    for (uint32_t i = 0; i < GEMINI_CHOICES_MAX; i++) {
        if (i > 0 && !s->endings[i].begun)
            continue;
        json_out_object(&o);
        json_member_object(&o, "content");
        json_member_array(&o, "parts");
        json_out_raw(&o, STR("{\"text\":\"\"}"));
        gemini_encode_close_parts(&o);
        gemini_encode_put_ending(en, i, &o);
        json_out_end(&o);
    }
    json_out_end(&o);
    gemini_encode_put_usage(&o, &s->gather.usage);
    gemini_encode_put_top_extras(&o, &s->gather, gemini_encode_is_sse(en));
    gemini_encode_put_tail(en, &o);
    json_out_end(&o);
    assert(o.depth == 0);
    gemini_chunk_end(en);
}

static void gemini_encode_finish(struct wire_encoder *en)
{
    struct gemini_encoder *s = en->state;

    if (s->finished)
        return;
    s->finished = true;
    gemini_encode_flush_calls(en);
    if (!s->relayed)
        gemini_encode_put_last_chunk(en);
    if (s->array)
        buf_add(en->out, s->begun ? STR("]\n") : STR("[]\n"));
}

static void gemini_encode_keep_signature(struct gemini_encoder *s, struct arena *a,
                                         const struct chat_event *ev)
{
    if (ev->dialect != CHAT_GEMINI || !str_eq(ev->name, STR("thoughtSignature")))
        return;
    for (struct assembled_block *b = s->pending.first; b; b = b->next)
        if (str_eq(b->id, ev->id) && b->extra.n == 0)
            arena_text_add(&b->extra, a, ev->text);
}

static void gemini_encode_stream_event(struct wire_encoder *en, const struct chat_event *ev)
{
    struct gemini_encoder *s = en->state;

    assert(en->stream);
    switch (ev->kind) {
    case CHAT_TEXT:
    case CHAT_REFUSAL:
    case CHAT_REASONING:
        if (ev->text.n)
            gemini_encode_put_part(en, ev);
        break;
    case CHAT_SIGNATURE:
    case CHAT_OPAQUE:
        if (ev->dialect == CHAT_GEMINI && ev->text.n)
            gemini_encode_put_part(en, ev);
        break;
    case CHAT_CALL:
    case CHAT_ARGUMENTS:
        s->ended = s->ended && ev->kind != CHAT_CALL;
        assemble_event(&s->pending, en->arena, ev, CHAT_GEMINI);
        gemini_encode_fail_if_full(en, &s->pending);
        break;
    case CHAT_KEEP:
        gemini_encode_keep_signature(s, en->arena, ev);
        break;
    case CHAT_STOP:
        s->relayed = s->relayed && s->ended; /* if no frame says it, we do */
        break;
    case CHAT_END:
        gemini_encode_finish(en);
        break;
    default:
        break;
    }
}

/* ---- whole ---- */

static void gemini_encode_write_candidate(const struct wire_encoder *en, uint32_t choice,
                                          struct json_out *o)
{
    const struct assembled_reply *g = &gemini_encode_state(en)->gather;

    assert(choice < GEMINI_CHOICES_MAX);
    json_out_object(o);
    json_member_object(o, "content");
    json_member_array(o, "parts");
    for (const struct assembled_block *b = g->first; b; b = b->next)
        if (b->choice == choice && b->kind != ASSEMBLED_REDACTED)
            gemini_part_json(b, false, o);
    gemini_encode_close_parts(o);
    gemini_encode_put_ending(en, choice, o);
    json_out_end(o);
}

static void gemini_encode_write_whole(struct wire_encoder *en)
{
    const struct gemini_encoder *s = en->state;
    struct json_out o;

    assert(!en->stream && !s->gather.full);
    json_out_init_object(&o, en->out);
    json_member_array(&o, "candidates");
    for (uint32_t i = 0; i < GEMINI_CHOICES_MAX; i++)
        if (i == 0 || s->endings[i].begun)
            gemini_encode_write_candidate(en, i, &o);
    json_out_end(&o);
    gemini_encode_put_usage(&o, &s->gather.usage);
    gemini_encode_put_top_extras(&o, &s->gather, false);
    gemini_encode_put_tail(en, &o);
    json_out_end(&o);
    assert(o.depth == 0);
}

static void gemini_encode_whole_event(struct wire_encoder *en, const struct chat_event *ev)
{
    struct gemini_encoder *s = en->state;

    if (ev->kind == CHAT_KEEP && ev->dialect == CHAT_GEMINI &&
        str_eq(ev->name, STR("thoughtSignature")))
        for (struct assembled_block *b = s->gather.first; b; b = b->next)
            if (b->kind == ASSEMBLED_CALL && str_eq(b->id, ev->id) && b->extra.n == 0)
                arena_text_add(&b->extra, en->arena, ev->text);
    if (ev->kind != CHAT_END || s->finished)
        return;
    s->finished = true;
    gemini_encode_fail_if_full(en, &s->gather);
    if (!en->failed)
        gemini_encode_write_whole(en);
}

/* Pages that another dialect cites. */
static void gemini_encode_grounded(struct wire_encoder *en, const struct chat_event *ev)
{
    struct gemini_encoder *s = en->state;
    struct chat_event said = {.kind = CHAT_EXTRA,
                              .dialect = CHAT_GEMINI,
                              .id = STR(""),
                              .name = STR("groundingMetadata")};

    if (citations_to_gemini(&s->cites, en->arena, ev, &said.text))
        assemble_event(&s->gather, en->arena, &said, CHAT_GEMINI);
}

/* Which candidates there are, and how each ends. */
static void gemini_encode_note_ending(struct wire_encoder *en, const struct chat_event *ev)
{
    struct gemini_encoder *s = en->state;
    struct gemini_ending *ending = &s->endings[ev->choice % GEMINI_CHOICES_MAX];

    if (ev->choice >= GEMINI_CHOICES_MAX)
        return;
    ending->begun |= (ev->kind >= CHAT_TEXT && ev->kind <= CHAT_OPAQUE) || ev->kind == CHAT_STOP;
    ending->refused |= ev->kind == CHAT_REFUSAL;
    if (ev->kind == CHAT_STOP) {
        ending->stopped = true;
        ending->stop = ev->stop;
        ending->name = arena_text_dup(en->arena, ev->name);
    }
}

static void gemini_encode_drawn(void *ctx, const struct chat_event *ev)
{
    gemini_encode(ctx, ev);
}

void gemini_encode(struct wire_encoder *en, const struct chat_event *ev)
{
    struct gemini_encoder *s = en->state;
    bool meta = assemble_is_meta(ev);

    if (ev->kind == CHAT_ERROR) {
        if (en->stream)
            gemini_encode_flush_calls(en);
        gemini_encode_on_error(en, ev->error);
        return;
    }
    if (ev->kind == CHAT_EXTRA && str_starts(ev->name, STR("choice.")))
        return; /* in Chat's form */
    assemble_begin(&s->gather);
    assemble_begin(&s->pending);
    gemini_encode_grounded(en, ev);
    if (image_needs_conversion(ev, CHAT_GEMINI))
        image_convert(ev, CHAT_GEMINI, (struct chat_sink){gemini_encode_drawn, en});
    gemini_encode_note_ending(en, ev);
    if (!en->stream || meta)
        assemble_event(&s->gather, en->arena, ev, CHAT_GEMINI);
    if (en->stream)
        gemini_encode_stream_event(en, ev);
    else
        gemini_encode_whole_event(en, ev);
}

/* An array has no comments, so the note is a separate element. */
void gemini_note(struct wire_encoder *en, str words)
{
    struct json_out o;

    assert(en->stream);
    if (!gemini_encode_state(en)->array)
        return;
    gemini_chunk_begin(en);
    json_out_init_object(&o, en->out);
    json_member_str(&o, "x-rationale-usage", words);
    json_out_end(&o);
    gemini_chunk_end(en);
}
