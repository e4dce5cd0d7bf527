/* generate.c - /generate, our own: one prompt in, named events out.
 *
 * Asked with a JSON object:
 *
 *     prompt            a string, or messages as in Chat Completions, one of the two
 *     model             a string; the gateway's first if it is left out
 *     system            a string
 *     reasoning_effort  none to max; medium if nothing else says how much to think
 *     stream            true if it is left out
 *     drop_from_history false asks for the reasoning as well, true for none of it
 *     max_tokens, temperature, top_p, stop, seed, tools, tool_choice, response_format, thinking,
 *     reasoning         as in Chat Completions
 *
 * Answered with server-sent events, each with a name and one JSON object:
 *
 *     analysis         {"state": "started"}, and "ended" when reasoning is over, with the "tokens"
 *                      counted and their "cap" where they are known; no text of it
 *     reasoning_delta  {"text"}: reasoning as it comes, if that is switched on
 *     reasoning        {"text"}: reasoning as a whole, when it is over and before the next token
 *     token            {"text"}: more of the answer
 *     commentary       {"state": "started", "tool"}: a call is being written
 *     tool_call        {"id", "name", "arguments"}: the call, whole
 *     usage            {"input_tokens", "output_tokens", "reasoning_tokens", "final_tokens",
 *                       "reasoning_ratio"}: once, before the end
 *     error            {"message", "type", "status"}: the last event
 *     end              {"stop": end, length, tool, sequence, refused, pause or other}
 *
 * Without stream, one object: {"id", "model", "text", "reasoning"?, "tool_calls"?, "usage",
 * "stop"}.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

/* ---- asked ---- */

static void generate_one_text(struct arena *a, enum chat_role role, str text,
                              struct chat_message *out)
{
    *out = (struct chat_message){.role = role,
                                 .name = STR(""),
                                 .parts = part_text_new(a, text, CHAT_GENERATE),
                                 .part_count = 1};
}

static bool generate_read_prompt(const struct request_reader *r, const struct json_node *root)
{
    const struct json_node *prompt = json_get(r->doc, root, "prompt");
    const struct json_node *messages = json_get(r->doc, root, "messages");
    str text;

    if (prompt && messages)
        return request_fail(r, NULL, "prompt", "expected it or messages, not both");
    if (messages)
        return openai_read_messages(r, messages);
    if (!json_text(r->doc, prompt, r->a, &text))
        return request_fail(r, NULL, "prompt", "expected a string");
    r->out->messages = arena_zero(r->a, 1, sizeof(struct chat_message));
    r->out->message_count = 1;
    generate_one_text(r->a, CHAT_USER, text, &r->out->messages[0]);
    return true;
}

static bool generate_read_system(const struct request_reader *r, const struct json_node *root)
{
    const struct json_node *v = json_get(r->doc, root, "system");
    struct chat_request *q = r->out;
    struct chat_message *all;
    str text;

    if (!v)
        return true;
    if (!json_text(r->doc, v, r->a, &text))
        return request_fail(r, NULL, "system", "expected a string");
    all = arena_zero(r->a, q->message_count + 1, sizeof *all);
    generate_one_text(r->a, CHAT_SYSTEM, text, &all[0]);
    memcpy(all + 1, q->messages, q->message_count * sizeof *all);
    q->messages = all;
    q->message_count++;
    return true;
}

static bool generate_read_drop(const struct request_reader *r, const struct json_node *root)
{
    const struct json_node *v = json_get(r->doc, root, "drop_from_history");
    bool drop;

    if (!v)
        return true;
    if (!json_bool(v, &drop))
        return request_fail(r, NULL, "drop_from_history", "expected true or false");
    r->out->keep_thoughts = !drop;
    r->out->no_thoughts |= drop;
    return true;
}

static bool generate_read(const struct json *doc, struct arena *a, struct chat_request *out,
                          struct err *e)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *model = json_get(doc, root, "model");
    struct chat_request q;
    struct request_reader r = {.doc = doc, .a = a, .e = e, .out = &q, .brackets = true};
    struct json_fields m;

    part_request_init(&q, CHAT_GENERATE, doc);
    q.stream = true;
    if (!json_is_object(root))
        return err_input(e, "the body: expected a JSON object");
    if (model && !json_text(doc, model, a, &q.model))
        return request_fail(&r, NULL, "model", "expected a string, the name of a model");
    json_fields_read(&openai_request_fields, doc, root, 0, &m);
    if (!generate_read_prompt(&r, root) || !generate_read_system(&r, root) ||
        !openai_read_options(&r, &m) || !openai_read_thinking(&r, &m) ||
        !generate_read_drop(&r, root))
        return false;
    if (q.level == CHAT_LEVEL_NOT_GIVEN && q.budget_tokens < 0)
        q.level = CHAT_LEVEL_ON; /* medium, if nothing else says how much */
    if (q.unknown_why.n)         /* no provider speaks this dialect */
        return err_input(e, STR_FMT ": " STR_FMT, STR_ARG(q.unknown_param), STR_ARG(q.unknown_why));
    *out = q;
    return true;
}

/* ---- answered ---- */

struct call {
    uint32_t block;
    str id, name;
    struct arena_text arguments;
    bool announced;
    struct call *next;
};

struct state {
    bool chosen, delta, whole; /* from wire_generate_options */
    bool thinking;
    struct arena_text thought; /* of the reasoning at hand; all of it, if not streamed */
    struct arena_text text;
    struct call *calls, *last;
    struct chat_usage usage;
    bool usage_known, counted;
    bool full;           /* one of the texts is cut */
    int64_t tokens, cap; /* from wire_generate_counts */
    str id, model;
    const char *stop;
};

void wire_generate_options(struct wire_encoder *en, bool delta, bool whole)
{
    struct state *s = en->state;

    assert(en->wire == &wire_generate);
    s->chosen = true;
    s->delta = delta;
    s->whole = whole;
}

void wire_generate_counts(struct wire_encoder *en, int64_t tokens, int64_t cap)
{
    struct state *s = en->state;

    assert(en->wire == &wire_generate);
    s->counted = true;
    s->tokens = tokens;
    s->cap = cap;
}

static bool generate_wants_whole(const struct state *s)
{
    return s->chosen ? s->whole : true;
}

static void generate_text_event(struct wire_encoder *en, const char *name, str text)
{
    sse_begin(en->out, str_c(name));
    json_print(en->out, "{'text':%q}", text);
    sse_end(en->out);
}

static void generate_write_call(const struct call *call, struct buf *out)
{
    str arguments = call->arguments.n ? arena_text_str(&call->arguments) : STR("{}");
    struct json doc;
    struct err e;

    json_print(out, "{'id':%q,'name':%q,'arguments':", call->id, call->name);
    /* Arguments that are not JSON become a string. An event is one line. */
    if (json_open(&doc, arguments, &e) && !memchr(arguments.p, '\n', arguments.n) &&
        !memchr(arguments.p, '\r', arguments.n))
        buf_add(out, arguments);
    else if (doc.n > 0)
        for (size_t i = 0; i < arguments.n; i++)
            buf_add_c(out, arguments.p[i] == '\n' || arguments.p[i] == '\r' ? ' ' : arguments.p[i]);
    else
        (void)json_quote(out, arguments);
    json_release(&doc);
    buf_add_c(out, '}');
}

static void generate_write_calls(struct wire_encoder *en)
{
    struct state *s = en->state;

    for (struct call *call = s->calls; call; call = call->next) {
        if (call->announced)
            continue;
        sse_begin(en->out, STR("tool_call"));
        generate_write_call(call, en->out);
        sse_end(en->out);
        call->announced = true;
    }
}

/* Something else than reasoning comes. */
static void generate_end_thinking(struct wire_encoder *en)
{
    struct state *s = en->state;
    int64_t tokens = s->counted ? s->tokens : -1;

    if (s->usage_known && s->usage.reasoning >= 0)
        tokens = s->usage.reasoning;

    if (!s->thinking)
        return;
    s->thinking = false;
    sse_begin(en->out, STR("analysis"));
    buf_add(en->out, STR("{\"state\":\"ended\""));
    if (tokens >= 0)
        json_print(en->out, ",'tokens':%d", tokens);
    if (s->counted && s->cap >= 0)
        json_print(en->out, ",'cap':%d", s->cap);
    buf_add_c(en->out, '}');
    sse_end(en->out);
    if (generate_wants_whole(s))
        generate_text_event(en, "reasoning", arena_text_str(&s->thought));
    s->thought.n = 0;
}

static void generate_begin_thinking(struct wire_encoder *en)
{
    struct state *s = en->state;

    if (s->thinking)
        return;
    s->thinking = true;
    sse_begin(en->out, STR("analysis"));
    buf_add(en->out, STR("{\"state\":\"started\"}"));
    sse_end(en->out);
}

static struct call *generate_call_at(struct state *s, uint32_t block)
{
    struct call *call = s->calls;

    assert(!s->calls == !s->last);
    if (s->last && s->last->block == block)
        return s->last;
    while (call && call->block != block)
        call = call->next;
    return call;
}

static void generate_take_call(struct wire_encoder *en, const struct chat_event *ev)
{
    struct state *s = en->state;
    struct call *call = arena_zero(en->arena, 1, sizeof *call);

    assert(!s->calls == !s->last);
    call->block = ev->block;
    call->id = arena_text_dup(en->arena, ev->id);
    call->name = arena_text_dup(en->arena, ev->name);
    LIST_APPEND(s->calls, s->last, call);
}

static void generate_write_usage(const struct chat_usage *u, struct buf *out)
{
    int64_t output = u->output > 0 ? u->output : 0;
    int64_t reasoning = u->reasoning > 0 ? u->reasoning : 0;
    int64_t final = output > reasoning ? output - reasoning : 0;
    /* Ours may be more than what the provider says that all of it was. */
    double ratio = reasoning < output ? (double)reasoning / (double)output : reasoning > 0;

    assert(final >= 0 && ratio >= 0 && ratio <= 1);
    buf_printf(out,
               "{\"input_tokens\":%lld,\"output_tokens\":%lld,\"reasoning_tokens\":%lld,"
               "\"final_tokens\":%lld,\"reasoning_ratio\":%.4f}",
               (long long)(u->input > 0 ? u->input : 0),
               (long long)output,
               (long long)reasoning,
               (long long) final,
               ratio);
}

static void generate_write_error(const struct chat_error *error, struct buf *out)
{
    json_print(out,
               "{'message':%q,'type':%q",
               error->message.n ? error->message : STR("the request failed"),
               openai_error_type(error));
    if (wire_error_is_context(error))
        buf_add(out, STR(",\"code\":\"" WIRE_CONTEXT_CODE "\""));
    buf_printf(out, ",\"status\":%d}", error->status);
}

static void generate_write_error_body(const struct chat_error *error, struct buf *out)
{
    buf_add(out, STR("{\"error\":"));
    generate_write_error(error, out);
    buf_add_c(out, '}');
}

static void generate_end_stream(struct wire_encoder *en)
{
    struct state *s = en->state;

    assert(en->stream);
    generate_end_thinking(en);
    generate_write_calls(en);
    if (s->usage_known) {
        sse_begin(en->out, STR("usage"));
        generate_write_usage(&s->usage, en->out);
        sse_end(en->out);
    }
    sse_begin(en->out, STR("end"));
    buf_printf(en->out, "{\"stop\":\"%s\"}", s->stop ? s->stop : "end");
    sse_end(en->out);
}

static void generate_end_whole(struct wire_encoder *en)
{
    struct state *s = en->state;
    struct buf *out = en->out;

    assert(!en->stream && !s->full);
    json_print(out,
               "{'id':%q,'model':%q,'text':%q",
               en->id.n  ? en->id
               : s->id.p ? s->id
                         : STR(""),
               en->model.n  ? en->model
               : s->model.p ? s->model
                            : STR(""),
               arena_text_str(&s->text));
    if (s->thought.n && (generate_wants_whole(s) || s->delta))
        json_print(out, ",'reasoning':%q", arena_text_str(&s->thought));
    for (const struct call *call = s->calls; call; call = call->next) {
        buf_add(out, call == s->calls ? STR(",\"tool_calls\":[") : STR(","));
        generate_write_call(call, out);
    }
    if (s->calls)
        buf_add_c(out, ']');
    buf_add(out, STR(",\"usage\":"));
    generate_write_usage(s->usage_known ? &s->usage : &chat_usage_none, out);
    buf_printf(out, ",\"stop\":\"%s\"}", s->stop ? s->stop : "end");
}

/* Collects events that are handled the same way, streamed or not. */
static void generate_take(struct wire_encoder *en, const struct chat_event *ev)
{
    struct state *s = en->state;
    struct call *call;

    switch (ev->kind) {
    case CHAT_START:
        s->id = arena_text_dup(en->arena, ev->id);
        s->model = arena_text_dup(en->arena, ev->name);
        break;
    case CHAT_REASONING:
        if (!en->stream || generate_wants_whole(s))
            arena_text_add(&s->thought, en->arena, ev->text);
        s->full |= s->thought.full;
        break;
    case CHAT_TEXT:
    case CHAT_REFUSAL:
        if (!en->stream)
            arena_text_add(&s->text, en->arena, ev->text);
        s->full |= s->text.full;
        break;
    case CHAT_CALL:
        generate_take_call(en, ev);
        break;
    case CHAT_ARGUMENTS:
        call = generate_call_at(s, ev->block);
        if (call)
            arena_text_add(&call->arguments, en->arena, ev->text);
        s->full |= call && call->arguments.full;
        break;
    case CHAT_USAGE:
        if (!s->usage_known)
            s->usage = chat_usage_none;
        chat_usage_merge(&s->usage, ev->usage);
        s->usage.raw = STR("");
        s->usage_known = true;
        break;
    case CHAT_STOP:
        s->stop = chat_stop_name(ev->stop);
        break;
    default:
        break;
    }
}

static void generate_write_event(struct wire_encoder *en, const struct chat_event *ev)
{
    struct state *s = en->state;

    assert(en->stream && ev->choice == 0);
    switch (ev->kind) {
    case CHAT_REASONING:
        generate_begin_thinking(en);
        if (s->delta && ev->text.n)
            generate_text_event(en, "reasoning_delta", ev->text);
        break;
    case CHAT_TEXT:
    case CHAT_REFUSAL:
        if (ev->text.n == 0)
            break;
        generate_end_thinking(en);
        generate_write_calls(en);
        generate_text_event(en, "token", ev->text);
        break;
    case CHAT_CALL:
        generate_end_thinking(en);
        sse_begin(en->out, STR("commentary"));
        json_print(en->out, "{'state':'started','tool':%q}", ev->name);
        sse_end(en->out);
        break;
    case CHAT_STOP:
        generate_end_thinking(en);
        generate_write_calls(en);
        break;
    case CHAT_ERROR:
        sse_begin(en->out, STR("error"));
        generate_write_error(ev->error, en->out);
        sse_end(en->out);
        break;
    case CHAT_END:
        generate_end_stream(en);
        break;
    default:
        break;
    }
}

static void generate_encode(struct wire_encoder *en, const struct chat_event *ev)
{
    const struct state *s = en->state;
    struct chat_error error =
        wire_error(502, "upstream_error", "the reply is too large to be given in this form");

    if (ev->choice != 0)
        return;
    generate_take(en, ev);
    if (s->full && ev->kind != CHAT_ERROR) {
        generate_encode(en, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
        en->failed = true;
        return;
    }
    if (en->stream)
        generate_write_event(en, ev);
    else if (ev->kind == CHAT_ERROR)
        generate_write_error_body(ev->error, en->out);
    else if (ev->kind == CHAT_END)
        generate_end_whole(en);
}

const struct wire wire_generate = {
    .dialect = CHAT_GENERATE,
    .name = "generate",
    .in_turn = true,
    .one_thought = true,
    .stream_framing = WIRE_SSE,
    .whole_type = "application/json",
    .stream_type = "text/event-stream",
    .read = generate_read,
    .path_text = "/generate",
    .encoder_size = sizeof(struct state),
    .encode = generate_encode,
    .write_error = generate_write_error_body,
    .read_error = openai_read_error,
};
