/* encode.c - events into replies of /v1/messages, streamed and whole.
 *
 * A stream has one block open at a time: it ends when an event of another kind or another block
 * comes. Thinking ends with a signature, because clients send it back with one: the provider's if
 * it was Anthropic, else one of ours, which we know again and take out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/sha256.h"
#include "wire/anthropic/anthropic.h"

/* ---- small things ---- */

void anthropic_signature(const struct wire_encoder *en, uint32_t index, struct buf *out)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    struct sha256 h;
    char number[16];

    sha256_init(&h);
    sha256_feed(&h, STR("thinking "));
    sha256_feed(&h, en->id);
    (void)snprintf(number, sizeof number, " %u", index);
    sha256_feed(&h, str_c(number));
    sha256_finish(&h, digest);
    buf_add(out, STR(WIRE_SIGNATURE_PREFIX));
    buf_add(out, str_slice(sha256_hex(digest, hex), 0, 48));
}

static void anthropic_encode_put_count(struct json_out *o, const char *key, int64_t n)
{
    json_member_i64(o, key, n > 0 ? n : 0);
}

/* Anthropic counts cached tokens beside the input, not in it. */
static void anthropic_encode_put_usage(struct json_out *o, const struct chat_usage *u)
{
    int64_t fresh = u->input - (u->cache_read > 0 ? u->cache_read : 0) -
                    (u->cache_write > 0 ? u->cache_write : 0);

    json_member_object(o, "usage");
    anthropic_encode_put_count(o, "input_tokens", fresh);
    anthropic_encode_put_count(o, "cache_creation_input_tokens", u->cache_write);
    anthropic_encode_put_count(o, "cache_read_input_tokens", u->cache_read);
    anthropic_encode_put_count(o, "output_tokens", u->output);
    if (u->reasoning >= 0) {
        json_member_object(o, "output_tokens_details");
        anthropic_encode_put_count(o, "thinking_tokens", u->reasoning);
        json_out_end(o);
    }
    json_out_end(o);
}

static void anthropic_encode_put_stop(struct json_out *o, const struct assembled_reply *g)
{
    enum chat_stop stop = g->stopped ? g->stop : CHAT_STOP_END;
    str name;

    if (g->called && (stop == CHAT_STOP_END || stop == CHAT_STOP_OTHER))
        stop = CHAT_STOP_TOOL;
    else if (g->refused && stop == CHAT_STOP_END)
        stop = CHAT_STOP_REFUSED;
    name = anthropic_stop_name(stop, g->begun ? g->stop_name : STR(""));
    json_write_text(o, "stop_reason", name);
    json_out_key(o, STR("stop_sequence"));
    if (stop == CHAT_STOP_SEQUENCE && g->stop_name.n)
        json_out_str(o, g->stop_name);
    else
        json_out_null(o);
}

static void anthropic_encode_put_head(struct json_out *o, const struct wire_encoder *en,
                                      const struct assembled_reply *g)
{
    str id = en->id.n ? en->id : g->id;
    str model = en->model.n ? en->model : g->model;

    json_member_str(o, "id", id.n ? id : STR("msg"));
    json_write_text(o, "type", STR("message"));
    json_write_text(o, "role", STR("assistant"));
    json_member_str(o, "model", model);
}

static void anthropic_encode_put_null(struct json_out *o, const char *key)
{
    json_member_null(o, key);
}

/* ---- one event of a stream ---- */

static void anthropic_encode_event_begin(struct wire_encoder *en, struct json_out *o,
                                         const char *type)
{
    assert(en->stream);
    sse_begin(en->out, str_c(type));
    json_out_init(o, en->out);
    json_write_typed(o, type);
}

static void anthropic_encode_event_end(struct wire_encoder *en, struct json_out *o)
{
    json_out_end(o);
    sse_end(en->out);
}

static void anthropic_encode_start(struct wire_encoder *en)
{
    struct anthropic_encoder *s = en->state;
    struct chat_usage usage = s->gather.usage;
    struct json_out o;

    if (s->started)
        return;
    s->started = true;
    if (usage.input <= 0 && en->count_input) /* most providers count at the end, in message_delta */
        usage.input = en->count_input(en->count_ctx);
    anthropic_encode_event_begin(en, &o, "message_start");
    json_member_object(&o, "message");
    anthropic_encode_put_head(&o, en, &s->gather);
    json_member_raw(&o, "content", STR("[]"));
    anthropic_encode_put_null(&o, "stop_reason");
    anthropic_encode_put_null(&o, "stop_sequence");
    anthropic_encode_put_usage(&o, &usage);
    json_out_end(&o);
    anthropic_encode_event_end(en, &o);
}

/* A delta of the block at an index; the value of `member` is text, or JSON if raw. */
static void anthropic_encode_delta(struct wire_encoder *en, uint32_t index, const char *type,
                                   const char *member, str text, bool raw)
{
    struct json_out o;

    anthropic_encode_event_begin(en, &o, "content_block_delta");
    json_member_u64(&o, "index", index);
    json_member_object(&o, "delta");
    json_write_text(&o, "type", str_c(type));
    json_out_key(&o, str_c(member));
    if (raw)
        json_write_value(&o, text, true);
    else
        json_out_str(&o, text);
    json_out_end(&o);
    anthropic_encode_event_end(en, &o);
}

static void anthropic_encode_stop_block(struct wire_encoder *en, uint32_t index)
{
    struct json_out o;

    anthropic_encode_event_begin(en, &o, "content_block_stop");
    json_member_u64(&o, "index", index);
    anthropic_encode_event_end(en, &o);
}

void anthropic_sign(struct wire_encoder *en)
{
    struct anthropic_encoder *s = en->state;
    struct buf b;

    assert(s->open == OPEN_THINK && !s->is_signed);
    buf_init(&b, 256);
    anthropic_signature(en, s->open_index, &b);
    anthropic_encode_delta(en, s->open_index, "signature_delta", "signature", buf_str(&b), false);
    buf_release(&b);
    s->is_signed = true;
}

void anthropic_close(struct wire_encoder *en)
{
    struct anthropic_encoder *s = en->state;

    if (s->open == OPEN_NONE)
        return;
    if (s->open == OPEN_THINK && !s->is_signed)
        anthropic_sign(en);
    anthropic_encode_stop_block(en, s->open_index);
    s->open = OPEN_NONE;
}

/* content_block_start, up to the members that the caller adds. */
static void anthropic_encode_block_begin(struct wire_encoder *en, struct json_out *o)
{
    struct anthropic_encoder *s = en->state;

    anthropic_encode_start(en);
    anthropic_close(en);
    assert(s->open == OPEN_NONE);
    anthropic_encode_event_begin(en, o, "content_block_start");
    json_member_u64(o, "index", s->next);
    json_out_key(o, STR("content_block"));
}

static void anthropic_open_block(struct wire_encoder *en, enum anthropic_open kind,
                                 const struct chat_event *ev)
{
    struct anthropic_encoder *s = en->state;

    assert(s->open == OPEN_NONE && kind != OPEN_NONE);
    s->open = kind;
    s->open_block = ev->block;
    s->open_index = s->next++;
    s->open_relayed = false;
    s->is_signed = false;
}

static void anthropic_encode_need(struct wire_encoder *en, enum anthropic_open kind,
                                  const struct chat_event *ev)
{
    struct anthropic_encoder *s = en->state;
    struct json_out o;

    assert(kind == OPEN_TEXT || kind == OPEN_THINK);
    if (s->open == kind && s->open_block == ANTHROPIC_ANY_BLOCK)
        s->open_block = ev->block;
    if (s->open == kind && s->open_block == ev->block)
        return;
    anthropic_encode_block_begin(en, &o);
    json_out_object(&o);
    json_write_text(&o, "type", kind == OPEN_TEXT ? STR("text") : STR("thinking"));
    json_out_key(&o, kind == OPEN_TEXT ? STR("text") : STR("thinking"));
    json_out_str(&o, STR(""));
    if (kind == OPEN_THINK)
        json_member_str(&o, "signature", STR(""));
    json_out_end(&o);
    anthropic_encode_event_end(en, &o);
    anthropic_open_block(en, kind, ev);
}

/* ---- what events do to a stream ---- */

static void anthropic_encode_on_call(struct wire_encoder *en, const struct chat_event *ev)
{
    struct anthropic_encoder *s = en->state;
    struct json_out o;

    anthropic_encode_block_begin(en, &o);
    json_write_typed(&o, "tool_use");
    json_member_str(&o, "id", ev->id);
    json_member_str(&o, "name", ev->name);
    json_member_raw(&o, "input", STR("{}"));
    json_out_end(&o);
    anthropic_encode_event_end(en, &o);
    anthropic_open_block(en, OPEN_CALL, ev);
    s->calls[s->call_count % ANTHROPIC_CALLS_MAX].block = ev->block;
    s->calls[s->call_count++ % ANTHROPIC_CALLS_MAX].index = s->open_index;
}

/* Mostly for the open call; some providers mix the arguments of parallel ones. */
static void anthropic_encode_on_arguments(struct wire_encoder *en, const struct chat_event *ev)
{
    struct anthropic_encoder *s = en->state;
    size_t n = s->call_count < ANTHROPIC_CALLS_MAX ? s->call_count : ANTHROPIC_CALLS_MAX;

    assert(en->stream);
    if (s->open == OPEN_CALL &&
        (s->open_block == ev->block || s->open_block == ANTHROPIC_ANY_BLOCK)) {
        s->open_block = ev->block;
        anthropic_encode_delta(
            en, s->open_index, "input_json_delta", "partial_json", ev->text, false);
        return;
    }
    for (size_t i = n; i-- > 0;)
        if (s->calls[i].block == ev->block) {
            anthropic_encode_delta(
                en, s->calls[i].index, "input_json_delta", "partial_json", ev->text, false);
            return;
        }
}

static void anthropic_encode_on_redacted(struct wire_encoder *en, const struct chat_event *ev)
{
    struct anthropic_encoder *s = en->state;
    struct json_out o;

    anthropic_encode_block_begin(en, &o);
    json_write_typed(&o, "redacted_thinking");
    json_member_str(&o, "data", ev->text);
    json_out_end(&o);
    anthropic_encode_event_end(en, &o);
    anthropic_encode_stop_block(en, s->next++);
}

static void anthropic_encode_on_opaque(struct wire_encoder *en, const struct chat_event *ev)
{
    struct anthropic_encoder *s = en->state;
    struct json_out o;

    if (str_eq(ev->name, STR("citation"))) {
        anthropic_encode_need(en, OPEN_TEXT, ev);
        anthropic_encode_delta(en, s->open_index, "citations_delta", "citation", ev->text, true);
        return;
    }
    anthropic_encode_block_begin(en, &o);
    json_write_value(&o, ev->text, true);
    anthropic_encode_event_end(en, &o);
    anthropic_encode_stop_block(en, s->next++);
}

static void anthropic_encode_on_error(struct wire_encoder *en, const struct chat_error *error)
{
    struct json_out o;

    if (!en->stream) {
        anthropic_write_error(error, en->out);
        return;
    }
    anthropic_encode_event_begin(en, &o, "error");
    json_out_key(&o, STR("error"));
    anthropic_error_body(error, &o);
    json_write_text(&o, "request_id", en->id);
    anthropic_encode_event_end(en, &o);
}

/* Extras are where Anthropic puts them: in the delta, except for context_management. */
static void anthropic_encode_put_extras(struct json_out *o, const struct assembled_reply *g,
                                        bool inside, bool sse)
{
    for (const struct assembled_extra *x = g->extras; x; x = x->next) {
        bool outside = str_eq(x->name, STR("context_management"));

        if (inside == outside || x->json.n == 0 || str_eq(x->name, STR("delta")))
            continue;
        json_out_key(o, x->name);
        json_write_value(o, x->json, sse);
    }
}

static void anthropic_encode_finish(struct wire_encoder *en)
{
    struct anthropic_encoder *s = en->state;
    struct json_out o;

    if (s->finished)
        return;
    s->finished = true;
    anthropic_encode_start(en);
    anthropic_close(en);
    assert(s->started && s->open == OPEN_NONE);
    anthropic_encode_event_begin(en, &o, "message_delta");
    json_member_object(&o, "delta");
    anthropic_encode_put_stop(&o, &s->gather);
    anthropic_encode_put_extras(&o, &s->gather, true, true);
    json_out_end(&o);
    anthropic_encode_put_usage(&o, &s->gather.usage);
    anthropic_encode_put_extras(&o, &s->gather, false, true);
    anthropic_encode_event_end(en, &o);
    anthropic_encode_event_begin(en, &o, "message_stop");
    anthropic_encode_event_end(en, &o);
}

static void anthropic_encode_stream_event(struct wire_encoder *en, const struct chat_event *ev)
{
    struct anthropic_encoder *s = en->state;
    bool ours = ev->dialect == CHAT_ANTHROPIC;

    switch (ev->kind) {
    case CHAT_START:
        anthropic_encode_start(en);
        break;
    case CHAT_TEXT:
    case CHAT_REFUSAL:
        if (ev->text.n) {
            anthropic_encode_need(en, OPEN_TEXT, ev);
            anthropic_encode_delta(en, s->open_index, "text_delta", "text", ev->text, false);
        }
        break;
    case CHAT_REASONING:
        if (ev->text.n) {
            anthropic_encode_need(en, OPEN_THINK, ev);
            anthropic_encode_delta(
                en, s->open_index, "thinking_delta", "thinking", ev->text, false);
        }
        break;
    case CHAT_SIGNATURE:
        if (ours && ev->text.n) {
            anthropic_encode_need(en, OPEN_THINK, ev);
            s->is_signed = true;
            anthropic_encode_delta(
                en, s->open_index, "signature_delta", "signature", ev->text, false);
        }
        break;
    case CHAT_REDACTED:
        if (ours)
            anthropic_encode_on_redacted(en, ev);
        break;
    case CHAT_CALL:
        anthropic_encode_on_call(en, ev);
        break;
    case CHAT_ARGUMENTS:
        if (ev->text.n)
            anthropic_encode_on_arguments(en, ev);
        break;
    case CHAT_OPAQUE:
        if (ours)
            anthropic_encode_on_opaque(en, ev);
        break;
    case CHAT_END:
        anthropic_encode_finish(en);
        break;
    default:
        break;
    }
}

/* ---- whole ---- */

static void anthropic_encode_put_think(const struct wire_encoder *en,
                                       const struct assembled_block *b, uint32_t index,
                                       struct json_out *o)
{
    struct buf ours;

    assert(b->kind == ASSEMBLED_THINK);
    json_member_str(o, "thinking", arena_text_str(&b->text));
    json_out_key(o, STR("signature"));
    if (b->extra.n) {
        json_out_str(o, arena_text_str(&b->extra));
        return;
    }
    buf_init(&ours, 256);
    anthropic_signature(en, index, &ours);
    json_out_str(o, buf_str(&ours));
    buf_release(&ours);
}

void anthropic_block_json(const struct wire_encoder *en, const struct assembled_block *b,
                          uint32_t index, struct json_out *o)
{
    static const char *const types[] = {[ASSEMBLED_TEXT] = "text",
                                        [ASSEMBLED_THINK] = "thinking",
                                        [ASSEMBLED_REDACTED] = "redacted_thinking",
                                        [ASSEMBLED_CALL] = "tool_use"};

    if (b->kind == ASSEMBLED_OPAQUE) {
        json_out_raw(o, arena_text_str(&b->text));
        return;
    }
    assert((size_t)b->kind < COUNT_OF(types) && types[b->kind]);
    json_write_typed(o, types[b->kind]);
    if (b->kind == ASSEMBLED_TEXT) {
        json_member_str(o, "text", arena_text_str(&b->text));
        if (b->extra.n) {
            json_member_array(o, "citations");
            json_out_raw(o, arena_text_str(&b->extra));
            json_out_end(o);
        }
    } else if (b->kind == ASSEMBLED_THINK) {
        anthropic_encode_put_think(en, b, index, o);
    } else if (b->kind == ASSEMBLED_REDACTED) {
        json_write_text(o, "data", arena_text_str(&b->text));
    } else {
        json_member_str(o, "id", b->id);
        json_member_str(o, "name", b->name);
        json_out_key(o, STR("input"));
        json_write_arguments(o, arena_text_str(&b->text), false);
    }
    json_out_end(o);
}

static void anthropic_encode_write_whole(struct wire_encoder *en)
{
    struct anthropic_encoder *s = en->state;
    const struct assembled_reply *g = &s->gather;
    uint32_t index = 0;
    struct json_out o;

    assert(!en->stream && !g->full);
    json_out_init_object(&o, en->out);
    anthropic_encode_put_head(&o, en, g);
    json_member_array(&o, "content");
    for (const struct assembled_block *b = g->first; b; b = b->next)
        if (b->choice == 0)
            anthropic_block_json(en, b, index++, &o);
    json_out_end(&o);
    anthropic_encode_put_stop(&o, g);
    anthropic_encode_put_extras(&o, g, true, false);
    anthropic_encode_put_usage(&o, &g->usage);
    anthropic_encode_put_extras(&o, g, false, false);
    json_out_end(&o);
    assert(o.depth == 0);
}

static void anthropic_encode_whole_event(struct wire_encoder *en, const struct chat_event *ev)
{
    struct anthropic_encoder *s = en->state;
    struct chat_error error =
        wire_error(502, "api_error", "the reply is too large to be given as a whole");

    if (ev->kind != CHAT_END || s->finished)
        return;
    s->finished = true;
    if (s->gather.full) {
        anthropic_encode_on_error(en, &error);
        en->failed = true;
    } else {
        anthropic_encode_write_whole(en);
    }
}

void anthropic_encode(struct wire_encoder *en, const struct chat_event *ev)
{
    struct anthropic_encoder *s = en->state;
    bool meta = assemble_is_meta(ev);

    if (ev->choice != 0) /* there is one answer here */
        return;
    if (s->holding)
        anthropic_settle_held(en, ev);
    if (ev->kind == CHAT_ERROR) {
        anthropic_encode_on_error(en, ev->error);
        return;
    }
    if (ev->kind == CHAT_CALL)
        s->gather.called = true;
    if (ev->kind == CHAT_REFUSAL)
        s->gather.refused = true;
    assemble_begin(&s->gather);
    if (!en->stream || meta)
        assemble_event(&s->gather, en->arena, ev, CHAT_ANTHROPIC);
    if (en->stream)
        anthropic_encode_stream_event(en, ev);
    else
        anthropic_encode_whole_event(en, ev);
}
