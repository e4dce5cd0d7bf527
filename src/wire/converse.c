/* converse.c - replies of Bedrock's Converse and ConverseStream, into events. Read only: what
 * carries the chunks of a stream (AWS event streams) is not our business, each is one JSON object.
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
    struct chat_event stop; /* said last: the usage comes behind it */
    bool stopped;
};

static struct converse_decoder *state(struct wire_decoder *d)
{
    return d->state;
}

static void emit(struct wire_decoder *d, struct chat_event ev)
{
    wire_emit(d, &ev);
}

static void start(struct wire_decoder *d)
{
    if (!d->started)
        emit(d, (struct chat_event){.kind = CHAT_START});
}

/* ---- blocks ---- */

static struct open *find(struct wire_decoder *d, int64_t index)
{
    for (size_t i = 0; i < OPEN_MAX; i++)
        if (state(d)->open[i].used && state(d)->open[i].index == index)
            return &state(d)->open[i];
    return NULL;
}

static struct open *begin(struct wire_decoder *d, int64_t index, enum kind kind)
{
    struct open *b = find(d, index);

    start(d);
    for (size_t i = 0; !b && i < OPEN_MAX; i++)
        if (!state(d)->open[i].used)
            b = &state(d)->open[i];
    if (!b)
        b = &state(d)->open[state(d)->next++ % OPEN_MAX];
    if (d->blocks >= WIRE_BLOCKS_MAX) {
        wire_emit_error(d, 502, "upstream_error", "the provider's reply has too many blocks");
        return NULL;
    }
    *b = (struct open){.index = index, .block = d->blocks++, .kind = kind, .used = true};
    return b;
}

static struct open *block_for(struct wire_decoder *d, int64_t index, enum kind kind)
{
    struct open *b = find(d, index);

    return b && b->kind == kind ? b : begin(d, index, kind);
}

static void end(struct wire_decoder *d, struct open *b)
{
    b->used = false;
    if (b->kind == KIND_CALL && !b->fed)
        emit(d, (struct chat_event){.kind = CHAT_ARGUMENTS, .block = b->block, .text = STR("{}")});
}

static void say(struct wire_decoder *d, const struct json *doc, int64_t index, enum kind kind,
                enum chat_event_kind event, const struct json_node *node)
{
    struct open *b;
    str text;

    if (!json_text(doc, node, &d->scratch, &text) || text.n == 0)
        return;
    b = block_for(d, index, kind);
    if (!b)
        return;
    b->fed = true;
    emit(d, (struct chat_event){.kind = event, .block = b->block, .text = text, .node = node});
}

static void say_call(struct wire_decoder *d, const struct json *doc, const struct json_node *call,
                     int64_t index)
{
    struct open *b = begin(d, index, KIND_CALL);

    if (b)
        emit(d,
             (struct chat_event){.kind = CHAT_CALL,
                                 .block = b->block,
                                 .id = member_text(doc, call, "toolUseId", &d->scratch),
                                 .name = member_text(doc, call, "name", &d->scratch)});
}

/* A tool that the host runs itself is nobody's to answer. */
static bool is_call(const struct json *doc, const struct json_node *call)
{
    return call && !member_is(doc, call, "type", "server_tool_use");
}

static void say_opaque(struct wire_decoder *d, const struct json *doc, const struct json_node *v,
                       int64_t index)
{
    struct open *b = begin(d, index, KIND_OTHER);

    if (b)
        emit(d,
             (struct chat_event){.kind = CHAT_OPAQUE, .block = b->block, .text = json_raw(doc, v)});
}

/* Of a stream: {text} | {signature} | {redactedContent}; of a whole reply: {reasoningText: {...}}
 * | {redactedContent}. */
static void say_reasoning(struct wire_decoder *d, const struct json *doc, const struct json_node *v,
                          int64_t index)
{
    const struct json_node *inner = json_find(doc, v, STR("reasoningText"));
    const struct json_node *redacted = json_find(doc, v, STR("redactedContent"));

    if (inner)
        v = inner;
    say(d, doc, index, KIND_THINK, CHAT_REASONING, json_find(doc, v, STR("text")));
    say(d, doc, index, KIND_THINK, CHAT_SIGNATURE, json_find(doc, v, STR("signature")));
    if (redacted)
        say(d, doc, index, KIND_OTHER, CHAT_REDACTED, redacted);
}

/* ---- the reply ---- */

static void say_usage(struct wire_decoder *d, const struct json *doc, const struct json_node *v)
{
    struct chat_usage u = chat_usage_none;
    int64_t input;

    if (!v || v->kind != JSON_OBJECT)
        return;
    input = member_count(doc, v, "inputTokens");
    u.cache_read = member_count(doc, v, "cacheReadInputTokens");
    u.cache_write = member_count(doc, v, "cacheWriteInputTokens");
    if (u.cache_read < 0)
        u.cache_read = member_count(doc, v, "cacheReadInputTokenCount");
    if (u.cache_write < 0)
        u.cache_write = member_count(doc, v, "cacheWriteInputTokenCount");
    if (input >= 0)
        u.input =
            input + (u.cache_read > 0 ? u.cache_read : 0) + (u.cache_write > 0 ? u.cache_write : 0);
    u.output = member_count(doc, v, "outputTokens");
    u.raw = json_raw(doc, v);
    wire_emit(d, &(struct chat_event){.kind = CHAT_USAGE, .usage = &u});
}

static void note_stop(struct wire_decoder *d, const struct json *doc, const struct json_node *v)
{
    static const struct word stops[] = {{"end_turn", CHAT_STOP_END},
                                        {"tool_use", CHAT_STOP_TOOL},
                                        {"max_tokens", CHAT_STOP_LENGTH},
                                        {"model_context_window_exceeded", CHAT_STOP_LENGTH},
                                        {"stop_sequence", CHAT_STOP_SEQUENCE},
                                        {"guardrail_intervened", CHAT_STOP_REFUSED},
                                        {"content_filtered", CHAT_STOP_REFUSED}};
    struct chat_event ev = {.kind = CHAT_STOP};

    if (!member_words(doc, json_find(doc, v, STR("stopReason")), &d->scratch, &ev.name))
        return;
    ev.stop = (enum chat_stop)word_is(stops, COUNT_OF(stops), ev.name, CHAT_STOP_OTHER);
    ev.name = ev.stop == CHAT_STOP_SEQUENCE ? STR("") : piece_dup(d->arena, ev.name);
    if (!state(d)->stopped)
        state(d)->stop = ev;
    state(d)->stopped = true;
}

static void say_extra(struct wire_decoder *d, const struct json *doc, const struct json_node *v,
                      const char *key)
{
    const struct json_node *m = json_find(doc, v, str_c(key));

    if (m && m->kind != JSON_NULL)
        emit(d,
             (struct chat_event){.kind = CHAT_EXTRA, .name = str_c(key), .text = json_raw(doc, m)});
}

/* Members beside the usage. */
static void say_beside(struct wire_decoder *d, const struct json *doc, const struct json_node *v)
{
    static const char *const keys[] = {"metrics", "trace", "performanceConfig", "serviceTier"};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        say_extra(d, doc, v, keys[i]);
}

static void read_error(const struct json *doc, struct arena *a, struct chat_error *out)
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
static bool say_exception(struct wire_decoder *d, const struct json *doc,
                          const struct json_node *root)
{
    static const struct word errors[] = {{"internalServerException", 500},
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
            error.message = member_text(doc, v, "message", &d->scratch);
        wire_emit(d, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
        return true;
    }
    return false;
}

static void on_delta(struct wire_decoder *d, const struct json *doc, const struct json_node *v)
{
    const struct json_node *delta = json_find(doc, v, STR("delta"));
    int64_t index = member_count(doc, v, "contentBlockIndex");
    const struct json_node *call = json_find(doc, delta, STR("toolUse"));
    const struct json_node *reasoning = json_find(doc, delta, STR("reasoningContent"));

    if (json_find(doc, delta, STR("text")))
        say(d, doc, index, KIND_TEXT, CHAT_TEXT, json_find(doc, delta, STR("text")));
    else if (call && find(d, index) && find(d, index)->kind == KIND_CALL)
        say(d, doc, index, KIND_CALL, CHAT_ARGUMENTS, json_find(doc, call, STR("input")));
    else if (reasoning)
        say_reasoning(d, doc, reasoning, index);
    else if (delta)
        emit(d,
             (struct chat_event){
                 .kind = CHAT_EXTRA, .name = STR("delta"), .text = json_raw(doc, delta)});
}

static void on_block_start(struct wire_decoder *d, const struct json *doc,
                           const struct json_node *v)
{
    int64_t index = member_count(doc, v, "contentBlockIndex");
    const struct json_node *start_of = json_find(doc, v, STR("start"));
    const struct json_node *call = json_find(doc, start_of, STR("toolUse"));
    struct open *old = find(d, index);

    if (old)
        end(d, old);
    if (is_call(doc, call))
        say_call(d, doc, call, index);
    else if (start_of && json_count(doc, start_of) > 0)
        say_opaque(d, doc, start_of, index);
}

static void end_all(struct wire_decoder *d)
{
    for (size_t i = 0; i < OPEN_MAX; i++)
        if (state(d)->open[i].used)
            end(d, &state(d)->open[i]);
}

static void decode(struct wire_decoder *d, const struct wire_frame *f)
{
    const struct json_node *root = json_root(f->doc), *v;

    if (say_exception(d, f->doc, root))
        return;
    if ((v = json_find(f->doc, root, STR("messageStart"))))
        start(d);
    if ((v = json_find(f->doc, root, STR("contentBlockStart"))))
        on_block_start(d, f->doc, v);
    if ((v = json_find(f->doc, root, STR("contentBlockDelta"))))
        on_delta(d, f->doc, v);
    if ((v = json_find(f->doc, root, STR("contentBlockStop")))) {
        struct open *b = find(d, member_count(f->doc, v, "contentBlockIndex"));

        if (b)
            end(d, b);
    }
    if ((v = json_find(f->doc, root, STR("messageStop")))) {
        end_all(d);
        say_extra(d, f->doc, v, "additionalModelResponseFields");
        note_stop(d, f->doc, v);
    }
    if ((v = json_find(f->doc, root, STR("metadata")))) {
        say_usage(d, f->doc, json_find(f->doc, v, STR("usage")));
        say_beside(d, f->doc, v);
    }
}

static void say_block(struct wire_decoder *d, const struct json *doc, const struct json_node *v,
                      int64_t index)
{
    const struct json_node *text = json_find(doc, v, STR("text"));
    const struct json_node *call = json_find(doc, v, STR("toolUse"));
    const struct json_node *reasoning = json_find(doc, v, STR("reasoningContent"));
    const struct json_node *input = member_find(doc, call, "input");

    if (text) {
        say(d, doc, index, KIND_TEXT, CHAT_TEXT, text);
    } else if (reasoning) {
        say_reasoning(d, doc, reasoning, index);
    } else if (is_call(doc, call)) {
        say_call(d, doc, call, index);
        if (find(d, index))
            find(d, index)->fed = true;
        emit(d,
             (struct chat_event){.kind = CHAT_ARGUMENTS,
                                 .block = d->blocks - 1,
                                 .text = input ? json_raw(doc, input) : STR("{}")});
    } else {
        say_opaque(d, doc, v, index);
    }
    if (find(d, index))
        end(d, find(d, index));
}

static void decode_whole(struct wire_decoder *d, const struct wire_frame *f)
{
    const struct json_node *root = json_root(f->doc);
    const struct json_node *content =
        json_find(f->doc,
                  json_find(f->doc, json_find(f->doc, root, STR("output")), STR("message")),
                  STR("content"));
    int64_t index = 0;

    if (!content || content->kind != JSON_ARRAY) {
        struct chat_error error =
            wire_error(502, "upstream_error", "the provider's reply has no content");

        read_error(f->doc, &d->scratch, &error);
        wire_emit(d, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
        return;
    }
    start(d);
    for (const struct json_node *b = json_first(f->doc, content); b && !d->deaf;
         b = json_next(f->doc, content, b))
        say_block(d, f->doc, b, index++);
    say_extra(d, f->doc, root, "additionalModelResponseFields");
    say_beside(d, f->doc, root);
    say_usage(d, f->doc, json_find(f->doc, root, STR("usage")));
    note_stop(d, f->doc, root);
}

static void decode_end(struct wire_decoder *d)
{
    if (!state(d)->stopped)
        return;
    end_all(d);
    emit(d, state(d)->stop);
}

const struct wire wire_converse = {
    .dialect = CHAT_CONVERSE,
    .name = "converse",
    .stream_framing = WIRE_NDJSON,
    .whole_type = "application/json",
    .stream_type = "application/vnd.amazon.eventstream",
    .decoder_size = sizeof(struct converse_decoder),
    .decode = decode,
    .decode_whole = decode_whole,
    .decode_end = decode_end,
    .read_error = read_error,
};
