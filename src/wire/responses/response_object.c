/* response_object.c - the response object around the items, and the events that carry it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"
#include "wire/responses/encode.h"

static void responses_object_add_id(const struct wire_encoder *en, struct buf *out)
{
    const struct responses_encoder *s = en->state;
    struct buf id;

    if (s->response_id.n) {
        buf_add(out, s->response_id);
        return;
    }
    buf_init(&id, en->id.n + 8);
    buf_add(&id, str_starts(en->id, STR("resp_")) ? STR("") : STR("resp_"));
    buf_add(&id, en->id);
    json_quote(out, buf_str(&id));
    buf_release(&id);
}

/* Every response repeats the parameters of the request, or their defaults. */
static void responses_object_add_asked(const struct wire_encoder *en, struct buf *out)
{
    static const struct {
        str key;
        const char *if_none;
    } rows[] = {
        {STR_INIT("instructions"), "null"},
        {STR_INIT("max_output_tokens"), "null"},
        {STR_INIT("max_tool_calls"), "null"},
        {STR_INIT("metadata"), "{}"},
        {STR_INIT("parallel_tool_calls"), "true"},
        {STR_INIT("previous_response_id"), "null"},
        {STR_INIT("prompt_cache_key"), "null"},
        {STR_INIT("reasoning"), "{\"effort\":null,\"summary\":null}"},
        {STR_INIT("safety_identifier"), "null"},
        {STR_INIT("store"), "true"},
        {STR_INIT("temperature"), "null"},
        {STR_INIT("text"), "{\"format\":{\"type\":\"text\"}}"},
        {STR_INIT("tool_choice"), "\"auto\""},
        {STR_INIT("tools"), "[]"},
        {STR_INIT("top_logprobs"), "0"},
        {STR_INIT("top_p"), "null"},
        {STR_INIT("truncation"), "\"disabled\""},
        {STR_INIT("user"), "null"},
    };
    const struct json *doc = en->request->dialect == CHAT_RESPONSES ? en->request->doc : NULL;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct json_node *v = doc ? json_find(doc, json_root(doc), rows[i].key) : NULL;

        json_print(out,
                   ",%q:%j",
                   rows[i].key,
                   v && v->kind != JSON_NULL ? json_raw(doc, v) : str_c(rows[i].if_none));
    }
}

static void responses_object_add_usage(struct wire_encoder *en, struct buf *out)
{
    struct responses_encoder *s = en->state;
    const struct chat_usage *u = &s->usage;
    int64_t in = u->input > 0 ? u->input : 0, made = u->output > 0 ? u->output : 0;

    if (!s->has_usage) {
        buf_add(out, STR(",\"usage\":null"));
        return;
    }
    buf_printf(out,
               ",\"usage\":{\"input_tokens\":%lld,\"input_tokens_details\":{\"cached_tokens\":%lld"
               ",\"cache_write_tokens\":%lld}"
               ",\"output_tokens\":%lld,\"output_tokens_details\":{\"reasoning_tokens\":%lld}"
               ",\"total_tokens\":%lld}",
               (long long)in,
               (long long)(u->cache_read > 0 ? u->cache_read : 0),
               (long long)(u->cache_write > 0 ? u->cache_write : 0),
               (long long)made,
               (long long)(u->reasoning > 0 ? u->reasoning : 0),
               (long long)in + (long long)made);
}

/* A failed response has no status, so its code alone says what to do. */
static str responses_object_event_code(const struct chat_error *error)
{
    str code = openai_error_code(error);

    if (code.n)
        return code;
    if (error->status == 503 || error->status == 529)
        return STR("server_is_overloaded");
    return error->status >= 400 && error->status < 500 ? STR("invalid_prompt")
                                                       : STR("server_error");
}

static void responses_object_add_error(const struct chat_error *error, struct buf *out)
{
    if (!error) {
        buf_add(out, STR(",\"error\":null"));
        return;
    }
    json_print(out,
               ",'error':{'code':%q,'message':%q}",
               responses_object_event_code(error),
               error->message);
}

static void responses_object_add_incomplete(const struct responses_encoder *s, const char *status,
                                            struct buf *out)
{
    buf_add(out, STR(",\"incomplete_details\":"));
    if (strcmp(status, "incomplete") != 0)
        buf_add(out, STR("null"));
    else
        buf_printf(out,
                   "{\"reason\":\"%s\"}",
                   s->stop == CHAT_STOP_REFUSED ? "content_filter" : "max_output_tokens");
}

void responses_object(struct wire_encoder *en, const char *status, const struct chat_error *error,
                      struct buf *out)
{
    struct responses_encoder *s = en->state;

    assert(s->entry_count <= s->entry_cap);
    buf_add(out, STR("{\"id\":"));
    responses_object_add_id(en, out);
    buf_printf(out,
               ",\"object\":\"response\",\"created_at\":%lld,\"status\":\"%s\","
               "\"background\":false",
               (long long)en->created_s,
               status);
    responses_object_add_error(error, out);
    responses_object_add_incomplete(s, status, out);
    buf_add(out, STR(",\"model\":"));
    json_quote(out, en->model);
    buf_add(out, STR(",\"output\":["));
    for (uint32_t i = 0; i < s->entry_count; i++) {
        if (i)
            buf_add_c(out, ',');
        rope_copy_between(s->entries[i].rope, s->entries[i].from, s->entries[i].to, out);
    }
    buf_add(out, STR("]"));
    responses_object_add_asked(en, out);
    responses_object_add_usage(en, out);
    for (size_t i = 0; i < s->extra_count; i++) {
        json_print(out, ",%q:%j", s->extras[i].name, s->extras[i].json);
    }
    buf_add_c(out, '}');
}

static void responses_object_event(struct wire_encoder *en, const char *type, const char *status,
                                   const struct chat_error *error)
{
    struct responses_encoder *s = en->state;
    size_t at;

    assert(en->stream);
    sse_begin(en->out, str_c(type));
    at = en->out->n;
    buf_printf(en->out,
               "{\"type\":\"%s\",\"sequence_number\":%llu,\"response\":",
               type,
               (unsigned long long)s->sequence++);
    responses_object(en, status, error, en->out);
    buf_add_c(en->out, '}');
    sse_end_lines(en->out, at); /* the request's parameters and extras are in it unchanged */
}

static void responses_object_begin(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;

    if (s->begun)
        return;
    s->begun = true;
    s->usage = chat_usage_none;
    if (s->relaying) {
        responses_take_over(en);
        return;
    }
    if (!en->stream)
        return;
    responses_object_event(en, "response.created", "in_progress", NULL);
    responses_object_event(en, "response.in_progress", "in_progress", NULL);
}

/* As the API does: an error event for clients that expect one, then the failed response. */
static void responses_object_write_error(struct wire_encoder *en, const struct chat_error *error)
{
    struct responses_encoder *s = en->state;
    struct buf *out = en->out;
    size_t at;

    if (!en->stream) {
        responses_write_error(error, out);
        return;
    }
    sse_begin(out, STR("error"));
    json_print(out,
               "{'type':'error','sequence_number':%d,'code':%q,'message':%q,'param':",
               (int64_t)s->sequence++,
               responses_object_event_code(error),
               error->message);
    if (error->param.n)
        json_quote(out, error->param);
    else
        buf_add(out, STR("null"));
    at = out->n;
    responses_write_error(error, out);
    if (out->n > at) /* its outer braces are those of this event */
        out->p[at] = ',';
    sse_end(out);
    responses_close_all(en);
    responses_object_event(en, "response.failed", "failed", error);
}

bool responses_full(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;
    struct chat_error error =
        wire_error(502, "server_error", "the reply is larger than this API lets us repeat");

    if (!s->done.full)
        return false;
    if (!en->failed) {
        en->failed = true;
        s->done = (struct rope){.full = true};
        s->entry_count = 0;
        s->open = OPEN_NONE;
        s->calls = NULL;
        s->calls_end = NULL;
        error.code = STR("response_too_large");
        responses_object_write_error(en, &error);
    }
    return true;
}

static void responses_object_finish(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;
    bool cut = s->has_stop && (s->stop == CHAT_STOP_LENGTH || s->stop == CHAT_STOP_REFUSED);

    responses_close_all(en);
    assert(s->open == OPEN_NONE && !s->calls);
    if (responses_full(en))
        return;
    if (en->stream)
        responses_object_event(en,
                               cut ? "response.incomplete" : "response.completed",
                               cut ? "incomplete" : "completed",
                               NULL);
    else
        responses_object(en, cut ? "incomplete" : "completed", NULL, en->out);
}

static void responses_object_keep_extra(struct wire_encoder *en, const struct chat_event *ev)
{
    struct responses_encoder *s = en->state;

    if (str_eq(ev->name, STR("choice.logprobs"))) {
        if (ev->choice == 0)
            responses_logprobs_add(en, ev->text);
        return;
    }
    if (ev->dialect == CHAT_OPENAI && ev->choice == 0 &&
        str_eq(ev->name, STR("message.annotations")))
        responses_notes_add(en, ev->text, CHAT_OPENAI);
    assert(s->extra_count <= RESPONSES_EXTRAS_MAX);
    if (ev->dialect != CHAT_RESPONSES || s->extra_count == RESPONSES_EXTRAS_MAX ||
        !arena_fits(en->arena, 2 * (ev->name.n + ev->text.n) + ROPE_SIZE_MAX / 8, 0))
        return;
    s->extras[s->extra_count].name = arena_dup(en->arena, ev->name);
    s->extras[s->extra_count++].json = arena_dup(en->arena, ev->text);
}

void responses_encode(struct wire_encoder *en, const struct chat_event *ev)
{
    struct responses_encoder *s = en->state;
    str notes;

    s->has_failed |= ev->kind == CHAT_ERROR;
    responses_object_begin(en);
    if (citations_convert(&s->cites, en->arena, ev, true, &notes))
        responses_notes_add(en, notes, CHAT_OPENAI);
    switch (ev->kind) {
    case CHAT_USAGE:
        chat_usage_merge(&s->usage, ev->usage);
        s->usage.raw = STR("");
        s->has_usage = true;
        break;
    case CHAT_STOP:
        s->has_stop = true;
        s->stop = ev->stop;
        break;
    case CHAT_EXTRA:
        responses_object_keep_extra(en, ev);
        break;
    case CHAT_ERROR:
        responses_object_write_error(en, ev->error);
        break;
    case CHAT_END:
        responses_object_finish(en);
        break;
    default:
        responses_content(en, ev);
        responses_full(en);
        break;
    }
}
