/* encode.c - chat events as lines of JSON, or as one object; and lines on their way to a
 * client of the same dialect.
 *
 * Tool calls are whole in this dialect, so their arguments wait until something else comes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "wire/ollama/ollama.h"

/* Before the text and the members of the message; /api/generate has them beside the model. */
static void ollama_encode_message_begin(struct wire_encoder *en)
{
    buf_add(en->out,
            en->wire == &wire_ollama_prompt
                ? STR(",\"response\":")
                : STR(",\"message\":{\"role\":\"assistant\",\"content\":"));
}

static void ollama_encode_message_end(struct wire_encoder *en)
{
    if (en->wire != &wire_ollama_prompt)
        buf_add_c(en->out, '}');
}

/* Text as the inside of a JSON string, into a rope. */
static void ollama_encode_hold(struct wire_encoder *en, struct rope *r, str text)
{
    struct ollama_encoder *s = en->state;
    size_t at = en->out->n;

    assert(!en->stream);
    json_quote(en->out, text);
    if (en->out->n >= at + 2)
        rope_add(r, en->arena, (str){en->out->p + at + 1, en->out->n - at - 2});
    en->out->n = at;
    s->full |= r->full;
}

/* {"model":..,"created_at":.. */
static void ollama_encode_line_begin(struct wire_encoder *en)
{
    char when[CLOCK_TEXT_SIZE];

    clock_format(en->created_s * 1000, when);
    buf_add(en->out, STR("{\"model\":"));
    json_quote(en->out, en->model);
    buf_printf(en->out, ",\"created_at\":\"%.19s.000000000Z\"", when);
}

static void ollama_encode_line_end(struct wire_encoder *en, const char *rest)
{
    buf_add(en->out, str_c(rest));
    if (en->stream)
        buf_add_c(en->out, '\n');
}

void ollama_ping(struct wire_encoder *en)
{
    assert(en->stream);
    ollama_encode_line_begin(en);
    ollama_encode_message_begin(en);
    buf_add(en->out, STR("\"\""));
    ollama_encode_message_end(en);
    ollama_encode_line_end(en, ",\"done\":false}");
}

/* The format has no comments, so the note is a line without other content. */
void ollama_note(struct wire_encoder *en, str words)
{
    assert(en->stream);
    ollama_encode_line_begin(en);
    ollama_encode_message_begin(en);
    buf_add(en->out, STR("\"\""));
    ollama_encode_message_end(en);
    json_print(en->out, ",'x-rationale-usage':%q", words);
    ollama_encode_line_end(en, ",\"done\":false}");
}

static void ollama_encode_text(struct wire_encoder *en, str text, bool thinking)
{
    struct ollama_encoder *s = en->state;

    if (!text.n)
        return;
    if (!en->stream) {
        ollama_encode_hold(en, thinking ? &s->thinking : &s->content, text);
        return;
    }
    ollama_encode_line_begin(en);
    ollama_encode_message_begin(en);
    if (thinking)
        buf_add(en->out, STR("\"\",\"thinking\":"));
    json_quote(en->out, text);
    ollama_encode_message_end(en);
    ollama_encode_line_end(en, ",\"done\":false}");
}

/* ---- calls ---- */

/* Arguments are an object here; other values are wrapped in one. */
static void ollama_encode_add_arguments(const struct ollama_call *c, struct buf *out)
{
    struct json doc;
    struct err e;
    struct buf b;

    buf_init(&b, ROPE_SIZE_MAX);
    rope_copy(&c->arguments, (struct rope_mark){NULL, 0}, &b);
    if (json_open(&doc, buf_str(&b), &e) && json_root(&doc)->kind == JSON_OBJECT) {
        buf_add(out, str_trim(buf_str(&b)));
    } else if (str_trim(buf_str(&b)).n == 0) {
        buf_add(out, STR("{}"));
    } else {
        json_print(out, "{'arguments':%q}", buf_str(&b));
    }
    json_release(&doc);
    buf_release(&b);
}

static void ollama_encode_add_call(struct wire_encoder *en, const struct ollama_call *c,
                                   struct buf *out)
{
    struct ollama_encoder *s = en->state;

    json_print(out,
               "{'id':%q,'function':{'index':%d,'name':%q,'arguments':",
               c->id,
               (int64_t)s->call_count++,
               c->name);
    ollama_encode_add_arguments(c, out);
    buf_add(out, STR("}}"));
}

/* Drops a call that is cut: a client must not run it. */
static void ollama_encode_drop_cut_calls(struct ollama_encoder *s)
{
    struct ollama_call **at = &s->calls;
    struct buf b;

    buf_init(&b, ROPE_SIZE_MAX);
    while (*at) {
        buf_reset(&b);
        rope_copy(&(*at)->arguments, (struct rope_mark){NULL, 0}, &b);
        if (json_is_object_text(buf_str(&b)))
            at = &(*at)->next;
        else
            *at = (*at)->next;
    }
    s->calls_end = s->calls ? at : NULL;
    buf_release(&b);
}

static void ollama_encode_flush_calls(struct wire_encoder *en)
{
    struct ollama_encoder *s = en->state;
    struct ollama_call *c;

    if (en->failing)
        ollama_encode_drop_cut_calls(s);
    c = s->calls;
    assert(!s->calls == !s->calls_end);
    s->calls = NULL;
    s->calls_end = NULL;
    for (; c; c = c->next) {
        size_t at = en->out->n;

        if (en->stream) {
            ollama_encode_line_begin(en);
            ollama_encode_message_begin(en);
            buf_add(en->out, STR("\"\",\"tool_calls\":["));
            ollama_encode_add_call(en, c, en->out);
            json_join_lines(en->out, at);
            buf_add_c(en->out, ']');
            ollama_encode_message_end(en);
            ollama_encode_line_end(en, ",\"done\":false}");
            continue;
        }
        if (s->tool_calls.n)
            buf_add_c(en->out, ',');
        ollama_encode_add_call(en, c, en->out);
        rope_add(&s->tool_calls, en->arena, (str){en->out->p + at, en->out->n - at});
        s->full |= s->tool_calls.full;
        en->out->n = at;
    }
}

static void ollama_encode_on_call(struct wire_encoder *en, const struct chat_event *ev)
{
    struct ollama_encoder *s = en->state;
    struct ollama_call *c = arena_zero(en->arena, 1, sizeof *c);

    assert(!s->calls == !s->calls_end);
    c->block = ev->block;
    c->id = arena_text_dup(en->arena, ev->id);
    c->name = arena_text_dup(en->arena, ev->name);
    *(s->calls_end ? s->calls_end : &s->calls) = c;
    s->calls_end = &c->next;
}

static void ollama_encode_on_arguments(struct wire_encoder *en, const struct chat_event *ev)
{
    struct ollama_encoder *s = en->state;
    struct ollama_call *c = s->calls;

    while (c && c->block != ev->block)
        c = c->next;
    if (c) {
        rope_add(&c->arguments, en->arena, ev->text);
        s->full |= c->arguments.full;
    }
}

/* ---- the end ---- */

static void ollama_encode_add_extra(const struct ollama_encoder *s, const char *name,
                                    int64_t otherwise, struct buf *out)
{
    assert(s->extra_count <= OLLAMA_EXTRAS_MAX);
    for (size_t i = 0; i < s->extra_count; i++)
        if (str_eq(s->extras[i].name, str_c(name))) {
            json_print(out, ",%q:%j", str_c(name), s->extras[i].json);
            return;
        }
    buf_printf(out, ",\"%s\":%lld", name, (long long)otherwise);
}

static void ollama_encode_add_end(struct wire_encoder *en)
{
    struct ollama_encoder *s = en->state;
    struct buf *out = en->out;
    int64_t before = en->first_ns < en->took_ns ? en->first_ns : 0;

    buf_printf(out,
               ",\"done\":true,\"done_reason\":\"%s\"",
               s->stop == CHAT_STOP_LENGTH ? "length" : "stop");
    ollama_encode_add_extra(s, "total_duration", en->took_ns, out);
    ollama_encode_add_extra(s, "load_duration", 0, out);
    buf_printf(
        out, ",\"prompt_eval_count\":%lld", (long long)(s->usage.input > 0 ? s->usage.input : 0));
    ollama_encode_add_extra(s, "prompt_eval_duration", before, out);
    buf_printf(out, ",\"eval_count\":%lld", (long long)(s->usage.output > 0 ? s->usage.output : 0));
    ollama_encode_add_extra(s, "eval_duration", en->took_ns - before, out);
    for (size_t i = 0; i < s->extra_count; i++) {
        if (str_ends(s->extras[i].name, STR("_duration")))
            continue;
        json_print(out, ",%q:%j", s->extras[i].name, s->extras[i].json);
    }
}

static void ollama_encode_add_rope(struct buf *out, const char *before, const struct rope *r,
                                   const char *after)
{
    buf_add(out, str_c(before));
    rope_copy(r, (struct rope_mark){NULL, 0}, out);
    buf_add(out, str_c(after));
}

static void ollama_encode_finish(struct wire_encoder *en)
{
    struct ollama_encoder *s = en->state;
    size_t at;

    ollama_encode_flush_calls(en);
    assert(!s->calls);
    at = en->out->n;
    ollama_encode_line_begin(en);
    ollama_encode_message_begin(en);
    ollama_encode_add_rope(en->out, "\"", &s->content, "\"");
    if (s->thinking.n)
        ollama_encode_add_rope(en->out, ",\"thinking\":\"", &s->thinking, "\"");
    if (s->tool_calls.n)
        ollama_encode_add_rope(en->out, ",\"tool_calls\":[", &s->tool_calls, "]");
    ollama_encode_message_end(en);
    ollama_encode_add_end(en);
    json_join_lines(en->out, at);
    ollama_encode_line_end(en, "}");
}

static void ollama_encode_keep_extra(struct wire_encoder *en, const struct chat_event *ev)
{
    struct ollama_encoder *s = en->state;
    size_t i = 0;

    assert(s->extra_count <= OLLAMA_EXTRAS_MAX);
    if (ev->dialect != CHAT_OLLAMA || str_starts(ev->name, STR("choice.")) ||
        !arena_fits(en->arena, ev->text.n + 1, ROPE_SIZE_MAX / 8))
        return;
    while (i < s->extra_count && !str_eq(s->extras[i].name, ev->name))
        i++;
    if (i == OLLAMA_EXTRAS_MAX)
        return;
    if (i == s->extra_count) {
        s->extra_count++;
        s->extras[i].name = arena_dup(en->arena, ev->name);
    }
    s->extras[i].json = arena_dup(en->arena, ev->text);
}

static void ollama_encode_error(struct wire_encoder *en, const struct chat_error *error)
{
    ollama_write_error(error, en->out);
    if (en->stream)
        buf_add_c(en->out, '\n');
}

static void ollama_encode_check_full(struct wire_encoder *en)
{
    struct ollama_encoder *s = en->state;
    struct chat_error error = {.status = 502,
                               .message = STR("the reply is larger than we can hold whole")};

    if (!s->full || en->failed)
        return;
    en->failed = true;
    ollama_encode_error(en, &error);
}

void ollama_encode(struct wire_encoder *en, const struct chat_event *ev)
{
    struct ollama_encoder *s = en->state;

    if (!s->begun) {
        s->begun = true;
        s->usage = chat_usage_none;
    }
    if (ev->choice != 0)
        return;
    switch (ev->kind) {
    case CHAT_TEXT:
    case CHAT_REFUSAL:
    case CHAT_REASONING:
        ollama_encode_flush_calls(en);
        ollama_encode_text(en, ev->text, ev->kind == CHAT_REASONING);
        break;
    case CHAT_CALL:
        ollama_encode_on_call(en, ev);
        break;
    case CHAT_ARGUMENTS:
        ollama_encode_on_arguments(en, ev);
        break;
    case CHAT_USAGE:
        chat_usage_merge(&s->usage, ev->usage);
        s->usage.raw = STR("");
        break;
    case CHAT_STOP:
        s->stop = ev->stop;
        break;
    case CHAT_EXTRA:
        ollama_encode_keep_extra(en, ev);
        break;
    case CHAT_ERROR:
        if (en->stream)
            ollama_encode_flush_calls(en);
        ollama_encode_error(en, ev->error);
        break;
    case CHAT_END:
        ollama_encode_finish(en);
        break;
    default:
        break;
    }
    ollama_encode_check_full(en);
}

/* ---- relay ---- */

struct relay {
    struct wire_encoder *en;
    const struct json *doc;
    const struct json_node *root, *message; /* the message, or the root of a generate line */
    const char *content;                    /* the name of its text */
    struct json_edits ed;
    struct arena arena;
};

/* The texts of one kind, joined, as a JSON string: the received one if it is equal. */
static str ollama_encode_joined(struct relay *r, const struct chat_event *events, size_t n,
                                enum chat_event_kind kind, str member)
{
    const struct json_node *was = json_find(r->doc, r->message, member);
    struct buf text, b;
    str s;

    buf_init(&text, JSON_SIZE_MAX);
    buf_init(&b, JSON_SIZE_MAX);
    for (size_t i = 0; i < n; i++)
        if (events[i].kind == kind)
            buf_add(&text, events[i].text);
    if (was && json_is(r->doc, was, buf_str(&text)))
        buf_add(&b, json_raw(r->doc, was));
    else
        json_quote(&b, buf_str(&text));
    s = arena_dup(&r->arena, buf_str(&b));
    assert(s.n >= 2); /* the quotes */
    buf_release(&text);
    buf_release(&b);
    return s;
}

/* Calls that the decoder found are in this line; others were split out of the text. */
static void ollama_encode_take_calls(struct relay *r, const struct chat_event *events, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (events[i].dialect == CHAT_OLLAMA)
            continue;
        if (events[i].kind == CHAT_CALL)
            ollama_encode_on_call(r->en, &events[i]);
        if (events[i].kind == CHAT_ARGUMENTS)
            ollama_encode_on_arguments(r->en, &events[i]);
    }
}

static bool ollama_encode_is_done(const struct relay *r)
{
    bool done;

    return json_bool(json_find(r->doc, r->root, STR("done")), &done) && done;
}

static bool ollama_encode_is_empty(const struct relay *r, str content, str thinking)
{
    return !ollama_encode_is_done(r) && content.n == 2 && thinking.n == 2 &&
           !json_find(r->doc, r->message, STR("tool_calls"));
}

/* In a whole body, calls that were split out of the text are added to those of the model. */
static void ollama_encode_set_calls(struct relay *r)
{
    const struct json_node *own = json_find(r->doc, r->message, STR("tool_calls"));
    struct ollama_encoder *s = r->en->state;
    struct buf b;

    assert(!r->en->stream);
    ollama_encode_flush_calls(r->en);
    if (!s->tool_calls.n)
        return;
    buf_init(&b, JSON_SIZE_MAX);
    rope_copy(&s->tool_calls, (struct rope_mark){NULL, 0}, &b);
    if (json_is_array(own))
        json_edit_insert(&r->ed, own, NULL, arena_dup(&r->arena, buf_str(&b)));
    else
        json_edit_set(&r->ed,
                      r->message,
                      STR("tool_calls"),
                      arena_printf(&r->arena, "[" STR_FMT "]", STR_ARG(buf_str(&b))));
    buf_release(&b);
}

static void ollama_encode_relay_touched(struct relay *r, const struct chat_event *events, size_t n)
{
    str content = ollama_encode_joined(r, events, n, CHAT_TEXT, str_c(r->content));
    str thinking = ollama_encode_joined(r, events, n, CHAT_REASONING, STR("thinking"));
    const struct json_node *was = json_find(r->doc, r->message, str_c(r->content));

    assert(json_is_object(r->message) && json_is_object(r->root));
    ollama_encode_take_calls(r, events, n);
    if (!r->en->stream)
        ollama_encode_set_calls(r);
    else if (ollama_encode_is_done(r) || content.n > 2)
        ollama_encode_flush_calls(r->en);
    if (r->en->stream && ollama_encode_is_empty(r, content, thinking))
        return;
    if (was && !str_eq(content, json_raw(r->doc, was)))
        json_edit_remove(&r->ed, r->root, STR("logprobs")); /* tokens that were taken out, too */
    json_edit_set(&r->ed, r->message, str_c(r->content), content);
    if (thinking.n > 2)
        json_edit_set(&r->ed, r->message, STR("thinking"), thinking);
    else
        json_edit_remove(&r->ed, r->message, STR("thinking"));
    json_edits_apply(&r->ed, r->en->out);
    if (r->en->stream)
        buf_add_c(r->en->out, '\n');
}

void ollama_relay(struct wire_encoder *en, const struct wire_frame *f,
                  const struct chat_event *events, size_t n, bool touched)
{
    struct ollama_encoder *s = en->state;
    struct relay r = {.en = en, .doc = f->doc};
    const struct json_node *message;

    if (!f->doc || json_root(f->doc)->kind != JSON_OBJECT || (!touched && !s->calls)) {
        buf_add(en->out, f->raw);
        return;
    }
    if (!touched) {
        ollama_encode_flush_calls(en);
        buf_add(en->out, f->raw);
        return;
    }
    r.root = json_root(f->doc);
    message = json_find(f->doc, r.root, STR("message"));
    r.message = json_is_object(message) ? message : r.root;
    r.content = r.message == r.root ? "response" : "content";
    arena_init(&r.arena, JSON_SIZE_MAX);
    json_edits_init(&r.ed, f->doc, &r.arena);
    ollama_encode_relay_touched(&r, events, n);
    arena_release(&r.arena);
    ollama_encode_check_full(en);
}
