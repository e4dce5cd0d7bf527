/* decode.c - replies of generateContent and streamGenerateContent, into events.
 *
 * A chunk has the shape of a whole reply. Parts of one kind that follow each other are one block,
 * from chunk to chunk. The reason to stop is said at the end of the stream, because some models
 * send one with every chunk. Calls without an id get one from the reply's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/gemini/gemini.h"

#define ARGS_SIZE_MAX ((size_t)32 << 20)
#define TOKENS_SIZE_MAX ((size_t)8 << 20) /* of a candidate's log-probabilities in Chat's form */

/* State shared by a part, its chunk and its frame. */
struct at {
    struct wire_decoder *d;
    const struct json *doc;
    struct gemini_candidate *c;
    uint32_t choice;
};

static str gemini_decode_text_of(const struct at *at, const struct json_node *v, const char *camel)
{
    str text;

    return json_to_text(at->doc, gemini_find(at->doc, v, camel), &at->d->scratch, &text) ? text
                                                                                         : STR("");
}

static int64_t gemini_decode_count_of(const struct json *doc, const struct json_node *v,
                                      const char *camel)
{
    return json_to_count(doc, gemini_find(doc, v, camel));
}

static void gemini_decode_emit(const struct at *at, struct chat_event ev)
{
    assert(at->choice < GEMINI_CHOICES_MAX);
    ev.choice = at->choice;
    wire_emit(at->d, &ev);
}

static bool gemini_decode_begin(const struct at *at, enum gemini_kind kind)
{
    struct gemini_candidate *c = at->c;

    assert(at->choice < GEMINI_CHOICES_MAX);
    if (c->blocks >= WIRE_BLOCKS_MAX) {
        wire_emit_error(at->d, "upstream_error", "the provider's reply has too many blocks");
        return false;
    }
    c->open = kind;
    c->block = c->blocks++;
    if (at->choice == 0)
        at->d->blocks = c->blocks;
    return true;
}

static bool gemini_decode_go_on(const struct at *at, enum gemini_kind kind)
{
    assert(kind == GEMINI_TEXT || kind == GEMINI_THINK); /* others are one block each */
    return at->c->open == kind || gemini_decode_begin(at, kind);
}

/* ---- calls ---- */

static void gemini_decode_end_args(const struct at *at)
{
    struct buf b;

    if (!at->c->in_args)
        return;
    assert(at->c->open == GEMINI_CALL); /* other parts end the arguments first */
    at->c->in_args = false;
    buf_init(&b, ARGS_SIZE_MAX);
    gemini_args_write(&at->c->args, &b);
    if (at->c->args.broken || buf_full(&b))
        wire_emit_error(at->d,
                        "upstream_error",
                        "the provider sent arguments of a call that cannot be put together");
    else
        gemini_decode_emit(at,
                           (struct chat_event){
                               .kind = CHAT_ARGUMENTS, .block = at->c->block, .text = buf_str(&b)});
    buf_release(&b);
    at->c->open = GEMINI_OTHER;
}

static str gemini_decode_call_id(const struct at *at, const struct json_node *call)
{
    struct gemini_decoder *s = at->d->state;
    str id = gemini_decode_text_of(at, call, "id");

    if (id.n)
        return id;
    if (!s->id.n)
        return wire_call_id(at->d, s->calls);
    return arena_printf(&at->d->scratch, "call_" STR_FMT "_%u", STR_ARG(s->id), s->calls);
}

static void gemini_decode_begin_call(const struct at *at, const struct json_node *call,
                                     str signature)
{
    struct gemini_decoder *s = at->d->state;
    const struct json_node *args = gemini_find(at->doc, call, "args");
    str id = gemini_decode_call_id(at, call), text;

    gemini_decode_end_args(at);
    if (!gemini_decode_begin(at, GEMINI_CALL))
        return;
    assert(at->c->open == GEMINI_CALL && !at->c->in_args);
    s->calls++;
    at->c->called = true;
    gemini_decode_emit(at,
                       (struct chat_event){.kind = CHAT_CALL,
                                           .block = at->c->block,
                                           .id = id,
                                           .name = gemini_decode_text_of(at, call, "name"),
                                           .node = call});
    if (signature.n)
        gemini_decode_emit(
            at,
            (struct chat_event){
                .kind = CHAT_KEEP, .id = id, .name = STR("thoughtSignature"), .text = signature});
    if (json_to_bool(at->doc, gemini_find(at->doc, call, "willContinue")) ||
        gemini_find(at->doc, call, "partialArgs")) {
        at->c->in_args = true;
        at->c->args = (struct gemini_args){.root = NULL};
        return;
    }
    if (!json_text(at->doc, args, &at->d->scratch, &text) || text.n == 0)
        text = args && args->kind != JSON_STRING ? json_raw(at->doc, args) : STR("{}");
    gemini_decode_emit(
        at, (struct chat_event){.kind = CHAT_ARGUMENTS, .block = at->c->block, .text = text});
    at->c->open = GEMINI_OTHER;
}

static void gemini_decode_on_call(const struct at *at, const struct json_node *call, str signature)
{
    const struct json_node *partial = gemini_find(at->doc, call, "partialArgs");

    if (gemini_find(at->doc, call, "name") || !at->c->in_args)
        gemini_decode_begin_call(at, call, signature);
    if (!at->c->in_args)
        return;
    for (const struct json_node *p = partial ? json_first(at->doc, partial) : NULL; p;
         p = json_next(at->doc, partial, p))
        gemini_args_add(&at->c->args, at->d->arena, at->doc, p, &at->d->scratch);
    if (!json_to_bool(at->doc, gemini_find(at->doc, call, "willContinue")))
        gemini_decode_end_args(at);
}

/* ---- parts ---- */

static void gemini_decode_on_text(const struct at *at, const struct json_node *text, bool thought,
                                  const struct json_node *signature)
{
    str s, sig;

    if (!json_to_text(at->doc, text, &at->d->scratch, &s))
        return;
    gemini_decode_end_args(at);
    if (s.n && gemini_decode_go_on(at, thought ? GEMINI_THINK : GEMINI_TEXT))
        gemini_decode_emit(at,
                           (struct chat_event){.kind = thought ? CHAT_REASONING : CHAT_TEXT,
                                               .block = at->c->block,
                                               .text = s,
                                               .summary = thought,
                                               .node = text->kind == JSON_STRING ? text : NULL});
    if (!json_text(at->doc, signature, &at->d->scratch, &sig) || sig.n == 0)
        return;
    if (at->c->open != GEMINI_TEXT && at->c->open != GEMINI_THINK &&
        !gemini_decode_begin(at, GEMINI_TEXT))
        return;
    assert(at->c->block < at->c->blocks);
    gemini_decode_emit(at,
                       (struct chat_event){.kind = CHAT_SIGNATURE,
                                           .block = at->c->block,
                                           .text = sig,
                                           .summary = thought,
                                           .node = signature});
}

static void gemini_decode_on_part(const struct at *at, const struct json_node *part)
{
    const struct json_node *call = gemini_find(at->doc, part, "functionCall");
    const struct json_node *text = gemini_find(at->doc, part, "text");
    const struct json_node *signature = gemini_find(at->doc, part, "thoughtSignature");
    bool thought = json_to_bool(at->doc, gemini_find(at->doc, part, "thought"));
    str sealed;

    if (part->kind != JSON_OBJECT || json_count(at->doc, part) == 0)
        return;
    if (json_is_object(call)) {
        if (!json_text(at->doc, signature, &at->d->scratch, &sealed))
            sealed = STR("");
        gemini_decode_on_call(at, call, sealed);
    } else if (text && (text->kind == JSON_STRING || text->kind == JSON_NUMBER)) {
        gemini_decode_on_text(at, text, thought, signature);
    } else {
        gemini_decode_end_args(at);
        if (gemini_decode_begin(at, GEMINI_OTHER))
            gemini_decode_emit(at,
                               (struct chat_event){.kind = CHAT_OPAQUE,
                                                   .block = at->c->block,
                                                   .text = json_raw(at->doc, part),
                                                   .summary = thought,
                                                   .node = part});
    }
}

/* ---- around them ---- */

static void gemini_decode_emit_extras(const struct at *at, const struct json_node *v,
                                      const char *known)
{
    JSON_FOREACH(k, at->doc, v) {
        str key;

        if (!json_is_one_of(at->doc, k, known) && json_text(at->doc, k, &at->d->scratch, &key))
            gemini_decode_emit(at,
                               (struct chat_event){.kind = CHAT_EXTRA,
                                                   .name = key,
                                                   .text = json_raw(at->doc, json_value(k))});
    }
}

/* ---- log-probabilities, in Chat's form ---- */

static void gemini_decode_put_token(const struct at *at, const struct json_node *v,
                                    struct json_out *o)
{
    const struct json_node *odds = gemini_find(at->doc, v, "logProbability");

    json_out_object(o);
    json_member_str(o, "token", gemini_decode_text_of(at, v, "token"));
    json_write_raw(
        o, "logprob", odds && odds->kind == JSON_NUMBER ? json_raw(at->doc, odds) : STR("0"));
    json_member_null(o, "bytes");
}

/* The alternatives are a list of their own, by position. */
static void gemini_decode_emit_tokens(const struct at *at, const struct json_node *result)
{
    const struct json_node *chosen = gemini_find(at->doc, result, "chosenCandidates");
    const struct json_node *tops = gemini_find(at->doc, result, "topCandidates");
    const struct json_node *top = json_is_array(tops) ? json_first(at->doc, tops) : NULL;
    struct json_out o;
    struct buf b;

    if (!json_is_array(chosen) || !json_first(at->doc, chosen))
        return;
    buf_init(&b, TOKENS_SIZE_MAX);
    json_out_init_object(&o, &b);
    json_member_array(&o, "content");
    JSON_FOREACH(v, at->doc, chosen) {
        gemini_decode_put_token(at, v, &o);
        json_member_array(&o, "top_logprobs");
        JSON_FOREACH_ITEM(t, at->doc, gemini_find(at->doc, top, "candidates")) {
            gemini_decode_put_token(at, t, &o);
            json_out_end(&o);
        }
        json_out_close(&o, 2);
        top = top ? json_next(at->doc, tops, top) : NULL;
    }
    json_out_close(&o, 2);
    if (!buf_full(&b) && arena_fits(&at->d->scratch, b.n, 16 * TOKENS_SIZE_MAX))
        gemini_decode_emit(at,
                           (struct chat_event){.kind = CHAT_EXTRA,
                                               .name = STR("choice.logprobs"),
                                               .text = arena_dup(&at->d->scratch, buf_str(&b))});
    buf_release(&b);
}

/* Proxies that print protobufs write enums as numbers, and unset ones as 0 or ..._UNSPECIFIED.
 * These are Vertex' numbers; the Gemini API has others after 5, of the same kinds except for 9 and
 * 10. Other values stay unchanged. */
static const char *const finish_words[] = {"",
                                           "STOP",
                                           "MAX_TOKENS",
                                           "SAFETY",
                                           "RECITATION",
                                           "OTHER",
                                           "BLOCKLIST",
                                           "PROHIBITED_CONTENT",
                                           "SPII",
                                           "MALFORMED_FUNCTION_CALL",
                                           "MODEL_ARMOR",
                                           "IMAGE_SAFETY",
                                           "IMAGE_PROHIBITED_CONTENT",
                                           "IMAGE_RECITATION",
                                           "IMAGE_OTHER",
                                           "UNEXPECTED_TOOL_CALL",
                                           "NO_IMAGE"};
static const char *const block_words[] = {"", "SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT"};

static str gemini_decode_reason_of(const struct at *at, const struct json_node *v,
                                   const char *camel, const char *const *words, size_t n)
{
    int64_t number = gemini_decode_count_of(at->doc, v, camel);
    str name = gemini_decode_text_of(at, v, camel);

    if (number >= 0 && (uint64_t)number < n)
        return str_c(words[number]);
    return str_ends(name, STR("_UNSPECIFIED")) ? STR("") : name;
}

static void gemini_decode_note_stop(const struct at *at, const struct json_node *candidate)
{
    struct gemini_candidate *c = at->c;
    str name = gemini_decode_reason_of(
        at, candidate, "finishReason", finish_words, COUNT_OF(finish_words));

    if (name.n == 0)
        return;
    c->stop = gemini_stop_of(name);
    c->stop_name = c->stopped && str_eq(c->stop_name, name) ? c->stop_name
                                                            : arena_text_dup(at->d->arena, name);
    if (c->stop == CHAT_STOP_FAILED && c->stop_message.n == 0)
        c->stop_message =
            arena_text_dup(at->d->arena, gemini_decode_text_of(at, candidate, "finishMessage"));
    c->stopped = true;
}

static void gemini_decode_on_candidate(struct wire_decoder *d, const struct json *doc,
                                       const struct json_node *v, int64_t index)
{
    struct gemini_decoder *s = d->state;
    const struct json_node *parts;
    struct at at = {.d = d, .doc = doc};

    assert(index >= 0);
    if (index >= GEMINI_CHOICES_MAX || v->kind != JSON_OBJECT)
        return;
    at.choice = (uint32_t)index;
    at.c = &s->candidates[index];
    parts = gemini_find(doc, gemini_find(doc, v, "content"), "parts");
    JSON_FOREACH_ITEM(p, doc, parts)
        if (!d->deaf)
            gemini_decode_on_part(&at, p);
    gemini_decode_emit_extras(&at,
                              v,
                              d->relays ? "content finishReason finish_reason index"
                                        : "content finishReason finish_reason index "
                                          "logprobsResult logprobs_result");
    if (!d->relays)
        gemini_decode_emit_tokens(&at, gemini_find(doc, v, "logprobsResult"));
    gemini_decode_note_stop(&at, v);
}

static void gemini_decode_emit_usage(struct wire_decoder *d, const struct json *doc,
                                     const struct json_node *v)
{
    struct chat_usage u = chat_usage_none;
    int64_t prompt, tools, answer, thoughts;

    if (!json_is_object(v))
        return;
    prompt = gemini_decode_count_of(doc, v, "promptTokenCount");
    tools = gemini_decode_count_of(doc, v, "toolUsePromptTokenCount");
    answer = gemini_decode_count_of(doc, v, "candidatesTokenCount");
    thoughts = gemini_decode_count_of(doc, v, "thoughtsTokenCount");
    if (prompt < 0 && answer < 0 && thoughts < 0)
        return;
    if (prompt >= 0)
        u.input = prompt + (tools > 0 ? tools : 0);
    if (answer >= 0 || thoughts >= 0)
        u.output = (answer > 0 ? answer : 0) + (thoughts > 0 ? thoughts : 0);
    else if (gemini_decode_count_of(doc, v, "totalTokenCount") == u.input)
        u.output = 0; /* a blocked answer; zeros are not written */
    u.reasoning = thoughts;
    u.cache_read = gemini_decode_count_of(doc, v, "cachedContentTokenCount");
    u.raw = json_raw(doc, v);
    wire_emit(d, &(struct chat_event){.kind = CHAT_USAGE, .usage = &u});
}

static void gemini_decode_on_feedback(const struct at *at, const struct json_node *feedback)
{
    str reason =
        gemini_decode_reason_of(at, feedback, "blockReason", block_words, COUNT_OF(block_words));

    if (reason.n == 0 || at->c->stopped)
        return;
    at->c->stopped = true;
    at->c->stop = CHAT_STOP_REFUSED;
    at->c->stop_name = arena_text_dup(at->d->arena, reason);
}

static void gemini_decode_on_error(struct wire_decoder *d, const struct json *doc,
                                   const struct json_node *v)
{
    struct chat_error error = wire_error(0, "INTERNAL", "the provider reported an error");

    gemini_read_error_of(doc, v, &d->scratch, &error);
    assert(error.status >= 400);
    wire_emit(d, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
}

static void gemini_decode_on_chunk(struct wire_decoder *d, const struct json *doc,
                                   const struct json_node *v, bool whole)
{
    static const char known[] = "candidates usageMetadata usage_metadata modelVersion "
                                "model_version responseId response_id";
    struct gemini_decoder *s = d->state;
    struct at at = {.d = d, .doc = doc, .c = &s->candidates[0]};
    const struct json_node *list = gemini_find(doc, v, "candidates");
    bool only = whole && json_count(doc, list) == 1;
    int64_t place = 0;

    if (json_has_content(doc, gemini_find(doc, v, "error"))) {
        gemini_decode_on_error(d, doc, v);
        return;
    }
    if (!d->started) {
        str id = gemini_decode_text_of(&at, v, "responseId");

        s->id = id.n <= 128 ? arena_text_dup(d->arena, id) : STR("");
        gemini_decode_emit(
            &at,
            (struct chat_event){.kind = CHAT_START,
                                .id = id,
                                .name = gemini_decode_text_of(&at, v, "modelVersion")});
    }
    if (json_is_array(list))
        for (const struct json_node *c = json_first(doc, list); c && !d->deaf;
             c = json_next(doc, list, c), place++)
            gemini_decode_on_candidate(d, doc, c, gemini_choice(doc, c, place, only));
    if (v->kind == JSON_OBJECT && !s->extras_said)
        gemini_decode_emit_extras(&at, v, known);
    s->extras_said = true;
    gemini_decode_on_feedback(&at, gemini_find(doc, v, "promptFeedback"));
    gemini_decode_emit_usage(d, doc, gemini_find(doc, v, "usageMetadata"));
}

static void gemini_decode_on_reply(struct wire_decoder *d, const struct wire_frame *f, bool whole)
{
    const struct json_node *root = json_root(f->doc);

    if (root->kind == JSON_OBJECT)
        gemini_decode_on_chunk(d, f->doc, root, whole);
    else if (root->kind == JSON_ARRAY)
        for (const struct json_node *v = json_first(f->doc, root); v && !d->deaf;
             v = json_next(f->doc, root, v))
            gemini_decode_on_chunk(d, f->doc, v, false);
    else
        wire_emit_error(d, "upstream_error", "the provider's reply is no object");
}

void gemini_decode(struct wire_decoder *d, const struct wire_frame *f)
{
    gemini_decode_on_reply(d, f, false);
}

static bool gemini_decode_has_begun(const struct gemini_decoder *s)
{
    return s->candidates[0].blocks > 0 || s->candidates[0].stopped;
}

static void gemini_decode_emit_nothing(struct wire_decoder *d)
{
    wire_emit_error(d, "upstream_error", "the provider's reply has no candidates");
}

/* A whole body may be the array that a stream without alt=sse is. */
void gemini_decode_whole(struct wire_decoder *d, const struct wire_frame *f)
{
    gemini_decode_on_reply(d, f, true);
    if (!d->deaf && !gemini_decode_has_begun(d->state))
        gemini_decode_emit_nothing(d);
}

/* Without a reason to stop, a candidate of a whole reply, or before [DONE], has ended as well. */
static bool gemini_decode_is_over(const struct wire_decoder *d, const struct gemini_candidate *c)
{
    assert(!c->stopped || c->stop_name.p);
    return c->stopped || (d->done && c->blocks > 0);
}

/* The model's call or the whole reply was unusable. A client of Gemini gets the reply as it is. */
static void gemini_decode_emit_failure(const struct at *at)
{
    struct chat_error error = wire_error(502, "upstream_error", "");

    error.unusable = true;
    error.message = arena_printf(
        at->d->arena,
        "the provider failed in the middle of its reply (finishReason: " STR_FMT ")%s" STR_FMT,
        STR_ARG(at->c->stop_name),
        at->c->stop_message.n ? ": " : "",
        STR_ARG(at->c->stop_message));
    gemini_decode_emit(at, (struct chat_event){.kind = CHAT_ERROR, .error = &error});
}

void gemini_decode_end(struct wire_decoder *d)
{
    struct gemini_decoder *s = d->state;

    if (d->done && !d->relays && !gemini_decode_has_begun(s)) {
        gemini_decode_emit_nothing(d);
        return;
    }
    for (uint32_t i = 0; i < GEMINI_CHOICES_MAX; i++) {
        struct gemini_candidate *c = &s->candidates[i];
        struct at at = {.d = d, .c = c, .choice = i};

        if (!gemini_decode_is_over(d, c))
            continue;
        if (c->stop == CHAT_STOP_FAILED && !d->relays) {
            gemini_decode_emit_failure(&at);
            return;
        }
        gemini_decode_end_args(&at);
        gemini_decode_emit(&at,
                           (struct chat_event){.kind = CHAT_STOP,
                                               .stop = c->called && c->stop == CHAT_STOP_END
                                                           ? CHAT_STOP_TOOL
                                                           : c->stop,
                                               .name = c->stop_name});
    }
}
