/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/pipe/redact.h"

#include "base/json_get.h"
#include "wire/redact_reasoning.h"

#define TOKENS_MAX ((size_t)64 << 20) /* text of one list of tokens */

bool pipe_lists_tokens(const struct chat_event *ev)
{
    const str choice = STR("choice.");

    return ev->kind == CHAT_EXTRA && str_starts(ev->name, choice) &&
           redact_is_token_list(str_slice(ev->name, choice.n, ev->name.n));
}

/* A block of hidden reasoning begins. */
NOINLINE static void pipe_redact_begin(struct pipe_redact *s, uint32_t block)
{
    struct chat_event empty = {
        .kind = CHAT_REASONING, .block = block, .text = STR(""), .id = STR("")};

    assert(s->shared->options->hide && s->block != block + 1);
    s->block = block + 1;
    if (s->shared->options->announce)
        pipe_number_feed(s->next, &empty, PIPE_AS_SENT);
    pipe_number_feed(s->next, &pipe_break, PIPE_BREAK);
}

/* The bytes of a token; those of a part of a character are in no string. */
static void pipe_redact_add_token(const struct json *doc, const struct json_node *token,
                                  struct arena *a, struct buf *out)
{
    const struct json_node *bytes = json_get(doc, token, "bytes");
    int64_t c;

    if (!bytes || bytes->kind != JSON_ARRAY)
        buf_add(out, json_get_text(doc, token, "token", a));
    else
        for (const struct json_node *b = json_first(doc, bytes); b; b = json_next(doc, bytes, b))
            buf_add_c(out, json_i64(doc, b, &c) ? (char)c : '?');
}

/* Whether a list has other tokens than those of the frame's text. Hosts that hold text back may
 * send the tokens of one chunk, which may be reasoning, with the text of another. */
static bool pipe_redact_is_foreign(const struct pipe_redact *s, str json)
{
    const struct json_node *list;
    struct json doc;
    struct buf all;
    struct err e;
    bool foreign;

    buf_init(&all, TOKENS_MAX);
    list = json_open(&doc, json, &e) ? json_get(&doc, json_root(&doc), "content") : NULL;
    if (list && list->kind == JSON_ARRAY)
        for (const struct json_node *t = json_first(&doc, list); t; t = json_next(&doc, list, t))
            pipe_redact_add_token(&doc, t, s->shared->scratch, &all);
    foreign = all.n && (s->joined.full || (s->text.n && !str_eq(buf_str(&all), s->text)));
    buf_release(&all);
    json_release(&doc);
    return foreign;
}

/* A frame may have thousands of texts. */
NOINLINE static void pipe_redact_join(struct pipe_redact *s, str more)
{
    if (!s->joined.n)
        arena_text_add(&s->joined, s->shared->scratch, s->text);
    arena_text_add(&s->joined, s->shared->scratch, more);
    s->text = arena_text_str(&s->joined);
}

/* Adds an event of the current frame that the client gets. */
static inline void pipe_redact_note(struct pipe_redact *s, const struct chat_event *ev)
{
    assert(s->shared->options->hide);
    if (!s->frame_says) {
        s->text = STR("");
        s->joined = (struct arena_text){0};
    }
    s->frame_says = true;
    s->block = 0;
    if (ev->kind != CHAT_TEXT || !ev->text.n)
        return;
    if (s->text.n || s->joined.full)
        pipe_redact_join(s, ev->text);
    else
        s->text = ev->text;
}

/* Reasoning is hidden: whether another event reveals some of it. */
NOINLINE static bool pipe_redact_drops(struct pipe_redact *s, const struct chat_event *ev,
                                       enum pipe_mark mark)
{
    const struct pipe_shared *sh = s->shared;

    assert(sh->options->hide && ev->kind != CHAT_REASONING && ev->kind != CHAT_TEXT);
    s->reasoned = s->reasoned || mark == PIPE_SEALED;
    if (ev->kind == CHAT_EXTRA)
        return pipe_lists_tokens(ev) &&
               (*sh->touched ||
                (s->reasoned && (!s->frame_says || pipe_redact_is_foreign(s, ev->text))));
    if (pipe_is_opaque(ev)) /* but Gemini signs the answer */
        return !(sh->options->as_it_is && ev->kind == CHAT_SIGNATURE &&
                 ev->dialect == CHAT_GEMINI && !ev->summary);
    if (mark == PIPE_BREAK || pipe_is_content(ev))
        s->block = 0;
    if (pipe_is_content(ev) && ev->kind != CHAT_OPAQUE)
        pipe_redact_note(s, ev);
    return false;
}

void pipe_redact_feed(struct pipe_redact *s, const struct chat_event *ev, enum pipe_mark mark)
{
    const struct pipe_options *o = s->shared->options;

    assert(mark != PIPE_BEYOND_CAP);
    if (ev->kind == CHAT_REASONING && (o->hide || o->both_names))
        *s->shared->touched = true;
    if (ev->kind == CHAT_REASONING && o->hide) {
        if (s->block != ev->block + 1)
            pipe_redact_begin(s, ev->block);
        s->reasoned = s->reasoned || !str_is_blank(ev->text);
        return;
    }
    if (o->hide && ev->kind == CHAT_TEXT) {
        pipe_redact_note(s, ev);
    } else if (o->hide && pipe_redact_drops(s, ev, mark)) {
        *s->shared->touched = true;
        return;
    }
    pipe_number_feed(s->next, ev, mark);
}
