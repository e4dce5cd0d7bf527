/* wire.c - the table of dialects, and what decoding and encoding have in common.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/wire.h"

#include "wire/call_order.h"
#include "wire/internal.h"
#include "wire/redact_reasoning.h"

#define SCRATCH_MAX ((size_t)256 << 20) /* unescaped texts of one frame: bounded by its size */
#define EDITS_USUAL 1024
#define BOM "\xEF\xBB\xBF"

static const struct wire *const wires[CHAT_DIALECT_COUNT] = {
    [CHAT_OPENAI] = &wire_openai,
    [CHAT_RESPONSES] = &wire_responses,
    [CHAT_ANTHROPIC] = &wire_anthropic,
    [CHAT_GEMINI] = &wire_gemini,
    [CHAT_MISTRAL] = &wire_mistral,
    [CHAT_OLLAMA] = &wire_ollama,
    [CHAT_GENERATE] = &wire_generate,
    [CHAT_CONVERSE] = &wire_converse,
    [CHAT_COHERE] = &wire_cohere,
};

const struct wire *wire_get(enum chat_dialect dialect)
{
    assert(dialect < CHAT_DIALECT_COUNT);
    return wires[dialect];
}

const struct wire *wire_find(str name)
{
    for (size_t i = 0; i < COUNT_OF(wires); i++)
        if (wires[i] && str_eq(name, str_c(wires[i]->name)))
            return wires[i];
    return NULL;
}

bool wire_signature_ours(str signature)
{
    return str_starts(signature, STR(WIRE_SIGNATURE_PREFIX));
}

/* ---- decoding ---- */

void wire_decoder_init(struct wire_decoder *d, const struct wire *w, struct arena *a,
                       struct chat_sink sink)
{
    assert(w->decode && w->decode_whole); /* a provider speaks it */
    assert(a && sink.on_event);
    memset(d, 0, offsetof(struct wire_decoder, repeat.event)); /* which is set before it is read */
    d->wire = w;
    d->arena = a;
    d->sink = sink;
    d->salt = STR("");
    json_init(&d->doc);
    arena_init(&d->scratch, SCRATCH_MAX);
    d->state = arena_zero(a, 1, w->decoder_size ? w->decoder_size : 1);
}

void wire_decoder_rest(struct wire_decoder *d)
{
    json_release(&d->doc);
    if (d->repaired)
        buf_release(d->repaired);
    if (d->redacted)
        buf_release(d->redacted);
    arena_release(&d->scratch);
}

void wire_decoder_release(struct wire_decoder *d)
{
    wire_decoder_rest(d);
    free(d->repeat.bytes);
    d->repeat.bytes = NULL;
    d->repeat.room = d->repeat.head = 0;
    repeat_frame_forget(d);
}

str wire_call_id(struct wire_decoder *d, uint32_t n)
{
    return arena_printf(
        &d->scratch, "call_" STR_FMT "%s%u", STR_ARG(d->salt), d->salt.n ? "_" : "", n);
}

/* With all that a dialect may leave out. */
static struct chat_event wire_completed(const struct wire_decoder *d, const struct chat_event *ev)
{
    struct chat_event whole = *ev;

    whole.dialect = d->wire->dialect;
    whole.text = ev->text.p ? ev->text : STR(""); /* an empty str never points at NULL */
    whole.id = ev->id.p ? ev->id : STR("");
    whole.name = ev->name.p ? ev->name : STR("");
    return whole;
}

void wire_emit(struct wire_decoder *d, const struct chat_event *ev)
{
    struct chat_event whole;

    assert(!d->ended || d->deaf);
    if (d->deaf)
        return;
    assert(ev->kind != CHAT_START || !d->started); /* a reply starts once */
    assert(ev->kind != CHAT_ERROR || ev->error);
    assert(ev->kind != CHAT_USAGE || ev->usage);
    switch (ev->kind) {
    case CHAT_START:
        d->started = true;
        break;
    case CHAT_STOP:
        d->stopped = true;
        break;
    case CHAT_END:
        d->ended = d->deaf = true;
        break;
    case CHAT_ERROR:
        d->deaf = true;
        break;
    default:
        break;
    }
    if (!ev->text.p || !ev->id.p || !ev->name.p || ev->dialect != d->wire->dialect) {
        whole = wire_completed(d, ev);
        ev = &whole;
    }
    repeat_frame_note_event(d, ev);
    d->sink.on_event(d->sink.ctx, ev);
}

struct chat_error wire_error(int status, const char *type, const char *message)
{
    return (struct chat_error){.status = status,
                               .type = str_c(type),
                               .message = str_c(message),
                               .code = STR(""),
                               .param = STR(""),
                               .retry_after_ms = -1,
                               .raw = STR("")};
}

void wire_emit_error(struct wire_decoder *d, const char *type, const char *message)
{
    struct chat_error error = wire_error(502, type, message);

    wire_emit(d, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
}

str wire_keep(struct wire_decoder *d, str text)
{
    return arena_text_dup(d->arena, text);
}

/* Begins to rewrite a frame in one of the decoder's buffers, which the first such frame makes. */
static size_t wire_restart_begin(const struct wire_decoder *d, const struct wire_frame *f,
                                 bool whole, struct buf **b)
{
    if (!*b) {
        *b = arena_alloc(d->arena, sizeof **b);
        buf_init(*b, JSON_SIZE_MAX);
    }
    buf_reset(*b);
    if (!whole && d->wire->stream_framing == WIRE_SSE)
        sse_begin(*b, f->name);
    return (*b)->n;
}

static bool wire_restart_end(struct wire_decoder *d, struct wire_frame *f, bool whole,
                             struct buf *b, size_t at)
{
    bool sse = !whole && d->wire->stream_framing == WIRE_SSE;
    size_t end = b->n;
    struct err e;

    assert(at <= end);
    for (size_t i = at; sse && i < end; i++)
        if (b->p[i] == '\n' || b->p[i] == '\r')
            b->p[i] = ' '; /* it was between values */
    if (!whole)
        buf_add(b, sse ? STR("\n\n") : STR("\n"));
    f->data = str_slice(buf_str(b), at, end);
    f->raw = buf_str(b);
    f->restart = true;
    return !buf_full(b) && json_parse(&d->doc, f->data, &e);
}

/* Whether it is JSON but for characters that were cut in two. */
static bool wire_repair(struct wire_decoder *d, struct wire_frame *f, bool whole)
{
    size_t at = wire_restart_begin(d, f, whole, &d->repaired);

    return utf8_repair_json(&d->repair, f->data, !whole, d->repaired) &&
           wire_restart_end(d, f, whole, d->repaired, at);
}

/* Removes what only hidden reasoning says from a frame; false if it is not JSON afterwards. */
static bool wire_redact(struct wire_decoder *d, struct wire_frame *f, bool whole)
{
    max_align_t room[EDITS_USUAL / sizeof(max_align_t)];
    struct json_edits ed;
    struct arena edits;
    bool ok = true;
    size_t at;

    assert(d->hides && f->doc);
    arena_init(&edits, JSON_EDITS_SIZE * f->data.n + EDITS_USUAL);
    arena_lend(&edits, room, sizeof room);
    json_edits_init(&ed, &d->doc, &edits);
    if (redact_frame(d, whole, &ed)) {
        at = wire_restart_begin(d, f, whole, &d->redacted);
        json_edits_apply(&ed, d->redacted);
        ok = wire_restart_end(d, f, whole, d->redacted, at);
    }
    arena_release(&edits);
    return ok;
}

/* Whether the stream ended within the frame: all others end with a line. */
static bool wire_is_cut(const struct wire_frame *f, bool whole)
{
    return !whole && f->raw.n > 0 && f->raw.p[f->raw.n - 1] != '\n' &&
           f->raw.p[f->raw.n - 1] != '\r';
}

/* Parses the frame's data; false after an error event. */
static bool wire_parse(struct wire_decoder *d, struct wire_frame *f, bool whole)
{
    struct err e, why;

    f->doc = NULL;
    arena_reset(&d->scratch);
    if (!json_parse(&d->doc, f->data, &e) && !wire_repair(d, f, whole)) {
        if (wire_is_cut(f, whole))
            err_set(&why, ERR_UPSTREAM, "the provider's stream ended in the middle of an event");
        else
            err_set(&why, ERR_UPSTREAM, "the provider sent data that is not JSON: %s", e.text);
        wire_emit_error(d, "upstream_error", why.text);
        return false;
    }
    f->doc = &d->doc;
    return !d->hides || wire_redact(d, f, whole);
}

/* llama.cpp and servers built on it send an error in a separate SSE field, which event readers
 * skip: it becomes data. */
static bool wire_error_field(struct wire_decoder *d, struct wire_frame *f)
{
    const str field = STR("error:");
    struct wire_frame as_it_came = *f;
    struct err e;
    size_t at, end;
    str line;
    bool bare;

    if (d->wire->stream_framing != WIRE_SSE || !str_starts(f->raw, field))
        return false;
    end = str_find(f->raw, STR("\n"));
    line = str_trim(str_slice(f->raw, field.n, end == STR_NONE ? f->raw.n : end));
    if (!json_parse(&d->doc, line, &e) || json_root(&d->doc)->kind != JSON_OBJECT)
        return false;
    bare = !json_get(&d->doc, json_root(&d->doc), "error");
    at = wire_restart_begin(d, f, false, &d->repaired);
    buf_add(d->repaired, bare ? STR("{\"error\":") : STR(""));
    buf_add(d->repaired, line);
    buf_add(d->repaired, bare ? STR("}") : STR(""));
    if (!wire_restart_end(d, f, false, d->repaired, at))
        *f = as_it_came;
    return f->restart;
}

/* null and the like in place of an event: a sign of life. */
static bool wire_says_nothing(const struct wire_frame *f)
{
    const struct json_node *root = json_root(f->doc);

    assert(f->doc);
    return root->kind != JSON_OBJECT && f->name.n == 0 && !json_has_content(f->doc, root);
}

void wire_decode(struct wire_decoder *d, struct wire_frame *f)
{
    d->text_ended = 0;
    f->doc = NULL;
    f->again = NULL;
    f->shape = 0;
    f->restart = false;
    if (d->deaf || (f->data.n == 0 && !wire_error_field(d, f)) || repeat_frame_decode(d, f))
        return;
    repeat_frame_forget(d);
    if (d->wire->stream_framing == WIRE_SSE && str_eq(str_trim(f->data), STR("[DONE]"))) {
        d->done = true;
        if (d->wire->decode_end)
            d->wire->decode_end(d);
        if (!d->started)
            wire_emit_error(d, "upstream_error", "the provider's reply is empty");
        wire_emit(d, &(struct chat_event){.kind = CHAT_END});
        return;
    }
    if (!wire_parse(d, f, false) || wire_says_nothing(f))
        return;
    assert(f->doc == &d->doc && !d->deaf);
    d->wire->decode(d, f);
    if (!f->restart)
        f->shape = repeat_frame_learn(d, f);
}

bool wire_whole_parse(struct wire_decoder *d, struct wire_frame *f)
{
    f->doc = NULL;
    f->restart = false;
    return !d->deaf && wire_parse(d, f, true);
}

void wire_whole_decode(struct wire_decoder *d, struct wire_frame *f)
{
    assert(f->doc == &d->doc && !d->deaf); /* wire_whole_parse returned true */
    d->repeat.events = 1; /* nothing is learnt from it, so its first event is not kept */
    d->wire->decode_whole(d, f);
    d->done = true;
    if (!d->deaf && d->wire->decode_end)
        d->wire->decode_end(d);
    wire_emit(d, &(struct chat_event){.kind = CHAT_END});
}

void wire_decode_whole(struct wire_decoder *d, struct wire_frame *f)
{
    if (wire_whole_parse(d, f))
        wire_whole_decode(d, f);
}

void wire_decode_end(struct wire_decoder *d)
{
    if (d->deaf)
        return;
    if (d->wire->decode_end)
        d->wire->decode_end(d);
    if (d->stopped)
        wire_emit(d, &(struct chat_event){.kind = CHAT_END});
    else
        wire_emit_error(d, "upstream_error", "the provider's reply ended before it was complete");
}

/* ---- encoding ---- */

void wire_encoder_init(struct wire_encoder *en, const struct wire *w, const struct chat_request *r,
                       bool stream, struct arena *a, struct buf *out)
{
    assert(w->encode); /* clients speak it */
    assert(a && out);
    *en = (struct wire_encoder){.wire = w,
                                .request = r,
                                .arena = a,
                                .out = out,
                                .stream = stream,
                                .id = STR(""),
                                .model = r->model};
    en->state = arena_zero(a, 1, w->encoder_size ? w->encoder_size : 1);
}

/* Whether the bytes of a frame include its end: the empty line of an event, the end of a line. */
static bool wire_frame_is_ended(const struct wire_encoder *en, str raw)
{
    size_t n = raw.n;

    if (n == 0)
        return true;
    if (raw.p[n - 1] != '\n' && raw.p[n - 1] != '\r')
        return false;
    if (en->wire->stream_framing != WIRE_SSE)
        return true;
    n -= n > 1 && raw.p[n - 1] == '\n' && raw.p[n - 2] == '\r' ? 2 : 1;
    return n == 0 || raw.p[n - 1] == '\n' || raw.p[n - 1] == '\r';
}

static void wire_relay_frame(struct wire_encoder *en, const struct wire_frame *f,
                             const struct chat_event *events, size_t n, bool touched)
{
    size_t from = en->out->n;
    struct wire_frame rest;

    if (en->begun && !f->data.n && str_starts(f->raw, STR(BOM))) {
        rest = *f;
        rest.raw = str_slice(f->raw, sizeof BOM - 1, f->raw.n);
        f = &rest;
    }
    en->begun = true;
    en->wire->relay(en, f, events, n, touched);
    assert(en->out->n >= from);
    en->cut = en->stream && !wire_frame_is_ended(en, f->raw) &&
              str_ends(str_slice(buf_str(en->out), from, en->out->n), f->raw);
}

/* The provider's last frame may lack its end. Readers would take bytes of ours for a part of it. */
static void wire_end_cut_frame(struct wire_encoder *en)
{
    if (en->cut)
        buf_add(en->out, en->wire->stream_framing == WIRE_SSE ? STR("\n\n") : STR("\n"));
    en->cut = false;
    en->begun = true;
}

/* Passes on the provider's own event of an error. False: the error must be encoded. */
static bool wire_relay_error(struct wire_encoder *en, const struct chat_error *error)
{
    struct wire_frame f = {.name = STR(""), .data = STR(""), .raw = error->frame};
    size_t from = en->out->n;

    if (!en->stream || !error->frame.n)
        return false;
    assert(en->wire->relay);
    wire_relay_frame(en, &f, NULL, 0, false);
    wire_end_cut_frame(en);
    return en->out->n > from;
}

void wire_encode(struct wire_encoder *en, const struct chat_event *ev)
{
    if (en->ended || en->failed)
        return;
    wire_end_cut_frame(en);
    if (ev->kind == CHAT_ERROR && wire_relay_error(en, ev->error)) {
        en->failed = true;
        return;
    }
    en->failing = ev->kind == CHAT_ERROR; /* so that a call that is not complete is dropped */
    if (en->wire->in_turn && call_order_wait(en, ev))
        return;
    en->wire->encode(en, ev);
    if (ev->kind == CHAT_END)
        en->ended = true;
    if (ev->kind == CHAT_ERROR)
        en->failed = true;
}

struct wire_frame wire_frame_whole(const struct wire_frame *f)
{
    struct wire_frame whole = *f;
    struct err e;

    assert(!f->again || !f->doc);
    if (f->again && json_parse(&f->again->doc, f->data, &e))
        whole.doc = &f->again->doc;
    whole.again = NULL;
    return whole;
}

void wire_relay(struct wire_encoder *en, const struct wire_frame *f,
                const struct chat_event *events, size_t n, bool touched)
{
    assert(n == 0 || events);
    assert(en->wire->relay);
    if (!en->failed)
        wire_relay_frame(en, f, events, n, touched);
}

void wire_encode_comment(struct wire_encoder *en, str words)
{
    if (!en->stream || en->bare || en->wire->stream_framing != WIRE_SSE || en->failed)
        return;
    wire_end_cut_frame(en);
    buf_add(en->out, STR(": "));
    buf_add(en->out, words);
    buf_add(en->out, STR("\n\n"));
}

void wire_encode_note(struct wire_encoder *en, str words)
{
    wire_encode_comment(en, words);
    if (en->stream && en->wire->note && !en->failed) {
        wire_end_cut_frame(en);
        en->wire->note(en, words);
    }
}

void wire_encode_ping(struct wire_encoder *en)
{
    if (!en->wire->ping)
        wire_encode_comment(en, STR("thinking"));
    else if (en->stream && !en->failed) {
        wire_end_cut_frame(en);
        en->wire->ping(en);
    }
}
