/* converse.c - replies of Bedrock's Converse and ConverseStream, into events. Read only. The AWS
 * event stream that carries the chunks is decoded elsewhere; each chunk is one JSON object.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/internal.h"

#define OPEN_MAX 16

enum kind { KIND_TEXT, KIND_THINK, KIND_CALL, KIND_OTHER };

struct open {
    int64_t index;
    uint32_t block;
    enum kind kind;
    bool used, fed;
};

struct converse_decoder {
    struct open open[OPEN_MAX];
    size_t next;            /* the slot that goes first if all are taken */
    struct chat_event stop; /* emitted last, because the usage comes after it */
    bool stopped;
};

static void converse_emit(struct wire_decoder *d, struct chat_event ev)
{
    wire_emit(d, &ev);
}

static void converse_start(struct wire_decoder *d)
{
    if (!d->started)
        converse_emit(d, (struct chat_event){.kind = CHAT_START});
}

/* ---- blocks ---- */

static struct open *converse_find(struct wire_decoder *d, int64_t index)
{
    struct converse_decoder *s = d->state;

    for (size_t i = 0; i < OPEN_MAX; i++)
        if (s->open[i].used && s->open[i].index == index) {
            assert(s->open[i].block < d->blocks);
            return &s->open[i];
        }
    return NULL;
}

static void converse_end(struct wire_decoder *d, struct open *b)
{
    assert(b->used);
    b->used = false;
    if (b->kind == KIND_CALL && !b->fed)
        converse_emit(
            d, (struct chat_event){.kind = CHAT_ARGUMENTS, .block = b->block, .text = STR("{}")});
}

static struct open *converse_begin(struct wire_decoder *d, int64_t index, enum kind kind)
{
    struct converse_decoder *state = d->state;
    struct open *b = converse_find(d, index);

    converse_start(d);
    for (size_t i = 0; !b && i < OPEN_MAX; i++)
        if (!state->open[i].used)
            b = &state->open[i];
    if (!b)
        b = &state->open[state->next++ % OPEN_MAX];
    if (b->used) /* the block that has this place is over */
        converse_end(d, b);
    if (d->blocks >= WIRE_BLOCKS_MAX) {
        wire_emit_error(d, "upstream_error", "the provider's reply has too many blocks");
        return NULL;
    }
    assert(!b->used && d->blocks < WIRE_BLOCKS_MAX);
    *b = (struct open){.index = index, .block = d->blocks++, .kind = kind, .used = true};
    return b;
}

static struct open *converse_block_for(struct wire_decoder *d, int64_t index, enum kind kind)
{
    struct open *b = converse_find(d, index);

    return b && b->kind == kind ? b : converse_begin(d, index, kind);
}

static void converse_emit_text(struct wire_decoder *d, const struct json *doc, int64_t index,
                               enum kind kind, enum chat_event_kind event,
                               const struct json_node *node)
{
    struct open *b;
    str text;

    if (!json_text(doc, node, &d->scratch, &text) || text.n == 0)
        return;
    b = converse_block_for(d, index, kind);
    if (!b)
        return;
    assert(b->used && b->kind == kind);
    b->fed = true;
    converse_emit(
        d, (struct chat_event){.kind = event, .block = b->block, .text = text, .node = node});
}

static void converse_emit_call(struct wire_decoder *d, const struct json *doc,
                               const struct json_node *call, int64_t index)
{
    struct open *b = converse_begin(d, index, KIND_CALL);
    str id = json_get_text(doc, call, "toolUseId", &d->scratch);

    if (b)
        converse_emit(d,
                      (struct chat_event){.kind = CHAT_CALL,
                                          .block = b->block,
                                          .id = id.n ? id : wire_call_id(d, b->block),
                                          .name = json_get_text(doc, call, "name", &d->scratch)});
}

/* A call of a tool that the host runs itself needs no answer. */
static bool converse_is_call(const struct json *doc, const struct json_node *call)
{
    return call && !json_get_is(doc, call, "type", "server_tool_use");
}

static void converse_emit_opaque(struct wire_decoder *d, const struct json *doc,
                                 const struct json_node *v, int64_t index)
{
    struct open *b = converse_begin(d, index, KIND_OTHER);

    if (b)
        converse_emit(
            d,
            (struct chat_event){.kind = CHAT_OPAQUE, .block = b->block, .text = json_raw(doc, v)});
}

/* Of a stream: {text} | {signature} | {redactedContent}; of a whole reply: {reasoningText: {...}}
 * | {redactedContent}. */
static void converse_emit_reasoning(struct wire_decoder *d, const struct json *doc,
                                    const struct json_node *v, int64_t index)
{
    const struct json_node *inner = json_find(doc, v, STR("reasoningText"));
    const struct json_node *redacted = json_find(doc, v, STR("redactedContent"));

    if (inner)
        v = inner;
    converse_emit_text(d, doc, index, KIND_THINK, CHAT_REASONING, json_find(doc, v, STR("text")));
    converse_emit_text(
        d, doc, index, KIND_THINK, CHAT_SIGNATURE, json_find(doc, v, STR("signature")));
    if (redacted)
        converse_emit_text(d, doc, index, KIND_OTHER, CHAT_REDACTED, redacted);
}

/* ---- the reply ---- */

static void converse_emit_usage(struct wire_decoder *d, const struct json *doc,
                                const struct json_node *v)
{
    struct chat_usage u = chat_usage_none;
    int64_t input;

    if (!json_is_object(v))
        return;
    input = json_get_count(doc, v, "inputTokens");
    u.cache_read = json_get_count(doc, v, "cacheReadInputTokens");
    u.cache_write = json_get_count(doc, v, "cacheWriteInputTokens");
    if (u.cache_read < 0)
        u.cache_read = json_get_count(doc, v, "cacheReadInputTokenCount");
    if (u.cache_write < 0)
        u.cache_write = json_get_count(doc, v, "cacheWriteInputTokenCount");
    if (input >= 0)
        u.input =
            input + (u.cache_read > 0 ? u.cache_read : 0) + (u.cache_write > 0 ? u.cache_write : 0);
    u.output = json_get_count(doc, v, "outputTokens");
    u.raw = json_raw(doc, v);
    wire_emit(d, &(struct chat_event){.kind = CHAT_USAGE, .usage = &u});
}

static void converse_note_stop(struct wire_decoder *d, const struct json *doc,
                               const struct json_node *v)
{
    struct converse_decoder *s = d->state;
    static const struct name_row stops[] = {{"end_turn", CHAT_STOP_END},
                                            {"tool_use", CHAT_STOP_TOOL},
                                            {"max_tokens", CHAT_STOP_LENGTH},
                                            {"model_context_window_exceeded", CHAT_STOP_LENGTH},
                                            {"stop_sequence", CHAT_STOP_SEQUENCE},
                                            {"guardrail_intervened", CHAT_STOP_REFUSED},
                                            {"content_filtered", CHAT_STOP_REFUSED},
                                            {"malformed_model_output", CHAT_STOP_FAILED},
                                            {"malformed_tool_use", CHAT_STOP_FAILED}};
    struct chat_event ev = {.kind = CHAT_STOP};

    if (!json_to_text(doc, json_find(doc, v, STR("stopReason")), &d->scratch, &ev.name))
        return;
    ev.stop = (enum chat_stop)name_table_number(stops, COUNT_OF(stops), ev.name, CHAT_STOP_OTHER);
    ev.name = ev.stop == CHAT_STOP_SEQUENCE ? STR("") : arena_text_dup(d->arena, ev.name);
    if (!s->stopped)
        s->stop = ev;
    s->stopped = true;
}

static void converse_emit_extra(struct wire_decoder *d, const struct json *doc,
                                const struct json_node *v, const char *key)
{
    const struct json_node *m = json_find(doc, v, str_c(key));

    if (m && m->kind != JSON_NULL)
        converse_emit(
            d,
            (struct chat_event){.kind = CHAT_EXTRA, .name = str_c(key), .text = json_raw(doc, m)});
}

/* Members beside the usage. */
static void converse_emit_beside(struct wire_decoder *d, const struct json *doc,
                                 const struct json_node *v)
{
    static const char *const keys[] = {"metrics", "trace", "performanceConfig", "serviceTier"};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        converse_emit_extra(d, doc, v, keys[i]);
}

static void converse_read_error(const struct json *doc, struct arena *a, struct chat_error *out)
{
    const struct json_node *root = json_root(doc);
    str text;

    if (json_text(doc, json_find(doc, root, STR("message")), a, &text) ||
        json_text(doc, json_find(doc, root, STR("Message")), a, &text))
        out->message = text;
    if (json_text(doc, json_find(doc, root, STR("__type")), a, &text))
        out->type = text;
    out->raw = json_raw(doc, root);
}

/* {"throttlingException": {"message": ...}} and its like, in a stream. */
static bool converse_emit_exception(struct wire_decoder *d, const struct json *doc,
                                    const struct json_node *root)
{
    static const struct name_row errors[] = {{"internalServerException", 500},
                                             {"modelStreamErrorException", 424},
                                             {"serviceUnavailableException", 503},
                                             {"throttlingException", 429},
                                             {"validationException", 400},
                                             {"modelTimeoutException", 408}};

    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        const struct json_node *v = json_find(doc, root, str_c(errors[i].name));
        struct chat_error error =
            wire_error(errors[i].is, errors[i].name, "the provider reported an error");

        if (!v)
            continue;
        if (json_find(doc, v, STR("message")))
            error.message = json_get_text(doc, v, "message", &d->scratch);
        wire_emit(d, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
        return true;
    }
    return false;
}

static void converse_on_delta(struct wire_decoder *d, const struct json *doc,
                              const struct json_node *v)
{
    const struct json_node *delta = json_find(doc, v, STR("delta"));
    int64_t index = json_get_count(doc, v, "contentBlockIndex");
    const struct json_node *call = json_find(doc, delta, STR("toolUse"));
    const struct json_node *reasoning = json_find(doc, delta, STR("reasoningContent"));

    if (json_find(doc, delta, STR("text")))
        converse_emit_text(d, doc, index, KIND_TEXT, CHAT_TEXT, json_find(doc, delta, STR("text")));
    else if (call && converse_find(d, index) && converse_find(d, index)->kind == KIND_CALL)
        converse_emit_text(
            d, doc, index, KIND_CALL, CHAT_ARGUMENTS, json_find(doc, call, STR("input")));
    else if (reasoning)
        converse_emit_reasoning(d, doc, reasoning, index);
    else if (delta)
        converse_emit(d,
                      (struct chat_event){
                          .kind = CHAT_EXTRA, .name = STR("delta"), .text = json_raw(doc, delta)});
}

static void converse_on_block_start(struct wire_decoder *d, const struct json *doc,
                                    const struct json_node *v)
{
    int64_t index = json_get_count(doc, v, "contentBlockIndex");
    const struct json_node *start_of = json_find(doc, v, STR("start"));
    const struct json_node *call = json_find(doc, start_of, STR("toolUse"));
    struct open *old = converse_find(d, index);

    if (old)
        converse_end(d, old);
    if (converse_is_call(doc, call))
        converse_emit_call(d, doc, call, index);
    else if (start_of && json_count(doc, start_of) > 0)
        converse_emit_opaque(d, doc, start_of, index);
}

static void converse_end_all(struct wire_decoder *d)
{
    struct converse_decoder *s = d->state;

    for (size_t i = 0; i < OPEN_MAX; i++)
        if (s->open[i].used)
            converse_end(d, &s->open[i]);
}

static void converse_decode(struct wire_decoder *d, const struct wire_frame *f)
{
    const struct json_node *root = json_root(f->doc), *v;

    if (converse_emit_exception(d, f->doc, root))
        return;
    if ((v = json_find(f->doc, root, STR("messageStart"))))
        converse_start(d);
    if ((v = json_find(f->doc, root, STR("contentBlockStart"))))
        converse_on_block_start(d, f->doc, v);
    if ((v = json_find(f->doc, root, STR("contentBlockDelta"))))
        converse_on_delta(d, f->doc, v);
    if ((v = json_find(f->doc, root, STR("contentBlockStop")))) {
        struct open *b = converse_find(d, json_get_count(f->doc, v, "contentBlockIndex"));

        if (b)
            converse_end(d, b);
    }
    if ((v = json_find(f->doc, root, STR("messageStop")))) {
        converse_end_all(d);
        converse_emit_extra(d, f->doc, v, "additionalModelResponseFields");
        converse_note_stop(d, f->doc, v);
    }
    if ((v = json_find(f->doc, root, STR("metadata")))) {
        converse_emit_usage(d, f->doc, json_find(f->doc, v, STR("usage")));
        converse_emit_beside(d, f->doc, v);
    }
}

/* A text and its citations, instead of only a text. */
static void converse_emit_cited(struct wire_decoder *d, const struct json *doc,
                                const struct json_node *v, int64_t index)
{
    const struct json_node *texts = json_find(doc, v, STR("content"));

    JSON_FOREACH_ITEM(t, doc, texts)
        converse_emit_text(d, doc, index, KIND_TEXT, CHAT_TEXT, json_find(doc, t, STR("text")));
    converse_emit_extra(d, doc, v, "citations");
}

static void converse_emit_block(struct wire_decoder *d, const struct json *doc,
                                const struct json_node *v, int64_t index)
{
    const struct json_node *text = json_find(doc, v, STR("text"));
    const struct json_node *call = json_find(doc, v, STR("toolUse"));
    const struct json_node *reasoning = json_find(doc, v, STR("reasoningContent"));
    const struct json_node *input = json_get(doc, call, "input");
    const struct json_node *cited = json_find(doc, v, STR("citationsContent"));

    if (text) {
        converse_emit_text(d, doc, index, KIND_TEXT, CHAT_TEXT, text);
    } else if (cited) {
        converse_emit_cited(d, doc, cited, index);
    } else if (reasoning) {
        converse_emit_reasoning(d, doc, reasoning, index);
    } else if (converse_is_call(doc, call)) {
        converse_emit_call(d, doc, call, index);
        if (converse_find(d, index))
            converse_find(d, index)->fed = true;
        converse_emit(d,
                      (struct chat_event){.kind = CHAT_ARGUMENTS,
                                          .block = d->blocks - 1,
                                          .text = input ? json_raw(doc, input) : STR("{}")});
    } else {
        converse_emit_opaque(d, doc, v, index);
    }
    if (converse_find(d, index))
        converse_end(d, converse_find(d, index));
}

static void converse_decode_whole(struct wire_decoder *d, const struct wire_frame *f)
{
    const struct json_node *root = json_root(f->doc);
    const struct json_node *content =
        json_find(f->doc,
                  json_find(f->doc, json_find(f->doc, root, STR("output")), STR("message")),
                  STR("content"));
    int64_t index = 0;

    if (!json_is_array(content)) {
        struct chat_error error =
            wire_error(502, "upstream_error", "the provider's reply has no content");

        converse_read_error(f->doc, &d->scratch, &error);
        wire_emit(d, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
        return;
    }
    converse_start(d);
    for (const struct json_node *b = json_first(f->doc, content); b && !d->deaf;
         b = json_next(f->doc, content, b))
        converse_emit_block(d, f->doc, b, index++);
    converse_emit_extra(d, f->doc, root, "additionalModelResponseFields");
    converse_emit_beside(d, f->doc, root);
    converse_emit_usage(d, f->doc, json_find(f->doc, root, STR("usage")));
    converse_note_stop(d, f->doc, root);
}

static void converse_decode_end(struct wire_decoder *d)
{
    struct converse_decoder *s = d->state;

    if (!s->stopped)
        return;
    converse_end_all(d);
    if (s->stop.stop == CHAT_STOP_FAILED)
        wire_emit_error(d, "upstream_error", "the provider failed in the middle of its reply");
    else
        converse_emit(d, s->stop);
}

const struct wire wire_converse = {
    .dialect = CHAT_CONVERSE,
    .name = "converse",
    .stream_framing = WIRE_NDJSON,
    .whole_type = "application/json",
    .stream_type = "application/vnd.amazon.eventstream",
    .decoder_size = sizeof(struct converse_decoder),
    .decode = converse_decode,
    .decode_whole = converse_decode_whole,
    .decode_end = converse_decode_end,
    .read_error = converse_read_error,
};
