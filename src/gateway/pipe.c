/* pipe.c - split, count, cap, hide.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/pipe_count.h"
#include "gateway/pipe_others.h"
#include "gateway/pipe_out.h"
#include "gateway/pipe_text.h"
#include "wire/citations.h"
#include "wire/redact_reasoning.h"

#define FRAME_MAX ((size_t)512 << 20) /* texts of one frame, which is itself bounded */

void pipe_init(struct pipe *p, const struct pipe_options *o, struct arena *a)
{
    memset(p, 0, offsetof(struct pipe, usage_first));
    p->options = *o;
    p->arena = a;
    p->events = p->first;
    p->events_max = PIPE_EVENTS_FIRST;
    p->space = p->space_first;
    p->space_cap = PIPE_SPACE_FIRST;
    p->last = -1;
    arena_init(&p->frame, FRAME_MAX);
    if (o->vocab)
        tokens_vocab_warm(o->vocab); /* before the reply comes */
}

void pipe_release(struct pipe *p)
{
    pipe_others_release(p);
    if (p->reader)
        split_reader_release(p->reader);
    arena_release(&p->frame);
}

void pipe_begin(struct pipe *p)
{
    p->ever_touched |= p->touched;
    arena_reset(&p->frame);
    p->events = p->first;
    p->events_max = PIPE_EVENTS_FIRST;
    p->count = 0;
    p->text_node = NULL;
    p->touched = p->usage_said = false;
    if (p->others)
        pipe_others_begin(p);
}

static bool blank(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!pipe_is_space(s.p[i]))
            return false;
    return true;
}

/* ---- reasoning: counted, capped, hidden ---- */

void pipe_pass_cap(struct pipe *p)
{
    if (pipe_others_answer(p)) {
        p->options.ends_at_cap = false;
        p->options.truncates = true;
    }
    p->over = p->muted = p->touched = true;
    p->before.answer_size = p->answer_size;
    p->before.called = p->called;
}

/* How much of it fits under the cap; so much is told before anybody is asked to raise it. */
static size_t thought(struct pipe *p, str text, bool *over)
{
    size_t n = pipe_count_fits(p, text, over);

    if (p->options.on_thought && n)
        p->options.on_thought(p->options.ctx, str_slice(text, 0, n));
    return n;
}

void pipe_emit_reasoning(struct pipe *p, const struct chat_event *ev, bool split)
{
    bool next = p->last != CHAT_REASONING || p->in_block != ev->block || p->boundary, over;
    str text;
    size_t n;

    if (next)
        pipe_end_thought(p);
    if (p->muted || p->over) {
        p->touched = true;
        p->cut_block = ev->text.n ? ev->block + 1 : p->cut_block;
        pipe_count_dropped(p, ev->text);
        return;
    }
    if (!p->counter || (next && p->reasoned))
        pipe_count_block(p);
    text = pipe_count_join(p, ev->text);
    n = thought(p, text, &over);
    if (over && p->options.on_cap) {
        p->options.cap = p->options.on_cap(p->options.ctx);
        n += thought(p, str_slice(text, n, text.n), &over);
    }
    if (over) {
        pipe_pass_cap(p);
        p->cut_block = ev->block + 1;
        if (p->options.truncates)
            pipe_count_dropped(p, str_slice(text, n, text.n));
    } else if (n < text.n) {
        pipe_count_wait(p, str_slice(text, n, text.n));
    }
    if (!blank(str_slice(text, 0, n)))
        p->reasoned = true;
    p->summary = ev->summary;
    p->tagged |= split;
    p->reasoning_size += n;
    if (p->options.hide || p->options.both_names)
        p->touched = true;
    if (p->options.hide) {
        if (next && p->options.announce)
            pipe_push(p,
                      &(struct chat_event){.kind = CHAT_REASONING, .text = STR(""), .id = STR("")});
        p->last = CHAT_REASONING;
        p->in_block = ev->block;
        p->boundary = false;
    } else if (n || n == text.n) {
        struct chat_event *out = pipe_hand_on(p, ev, split);

        if (n < text.n || text.p != ev->text.p) {
            out->text = str_slice(text, 0, n);
            out->node = text.p == ev->text.p ? ev->node : NULL;
            p->touched = true;
        }
    }
}

/* A word that waits at the cap is whole. */
void pipe_end_thought(struct pipe *p)
{
    struct chat_event rest = {.kind = CHAT_REASONING,
                              .block = p->in_block,
                              .text = STR(""),
                              .id = STR(""),
                              .name = STR(""),
                              .summary = p->summary};

    if (!p->waiting_n)
        return;
    p->closing = true;
    pipe_emit_reasoning(p, &rest, p->from_split);
    p->closing = false;
}

bool pipe_is_late(struct pipe *p)
{
    bool let_go = p->options.ends_at_cap && !(p->options.may_resume && !p->before.called);

    p->touched |= p->over && let_go;
    return p->over && let_go;
}

void pipe_emit_answer(struct pipe *p, const struct chat_event *ev, bool split)
{
    pipe_end_thought(p);
    if (pipe_is_late(p))
        return;
    if (!blank(ev->text))
        p->answered = true;
    p->answer_size += ev->text.n;
    pipe_hand_on(p, ev, split);
}

/* ---- all else ---- */

static void stop(struct pipe *p, const struct chat_event *ev)
{
    struct chat_event *out;

    if (p->doubtful && ev->stop == CHAT_STOP_LENGTH)
        pipe_text_held_is_thought(p); /* it did not come to its answer */
    pipe_text_stop(p);
    pipe_end_thought(p);
    out = pipe_push(p, ev);
    if (p->calls && ev->stop == CHAT_STOP_END) {
        out->stop = CHAT_STOP_TOOL;
        p->touched = true;
    }
}

/* A relayed reply keeps the usage that its provider reported, also where its reasoning was cut.
 * Reasoning that was split out of the text, or hidden, is counted here. */
static bool usage_stays(const struct pipe *p)
{
    bool touched = p->ever_touched || p->touched;

    return p->options.as_it_is &&
           (!touched || !(p->options.format || p->options.hide || p->options.both_names));
}

static void usage(struct pipe *p, const struct chat_event *ev)
{
    struct chat_usage *u = p->usage_said ? arena_alloc(&p->frame, sizeof *u) : &p->usage_first;
    struct chat_event *out = pipe_push(p, ev);

    p->usage_said = true;
    *u = *ev->usage;
    out->usage = u;
    if (u->reasoning < 0 && p->reasoning_size > 0 && !usage_stays(p)) {
        u->reasoning = pipe_thought(p);
        u->raw = STR("");
        p->touched = true;
    }
}

bool pipe_is_sealed(const struct pipe *p, const struct chat_event *ev)
{
    return ev->kind == CHAT_REDACTED ||
           (ev->kind == CHAT_SIGNATURE && p->said_block != ev->block + 1);
}

/* A signature is of the whole text: for less of it the client gets one of ours, and the provider
 * gets the whole back from the vault. What Responses and Gemini seal does not depend on the summary
 * that they show. */
static bool signs_more(const struct pipe *p, const struct chat_event *ev)
{
    return ev->kind == CHAT_SIGNATURE && p->cut_block == ev->block + 1 &&
           ev->dialect != CHAT_RESPONSES && ev->dialect != CHAT_GEMINI;
}

/* Gemini signs the answer: that signature is no reasoning, and the client sends it back. */
static bool pipe_signs_answer(const struct pipe *p, const struct chat_event *ev)
{
    return p->options.as_it_is && ev->kind == CHAT_SIGNATURE && ev->dialect == CHAT_GEMINI &&
           !ev->summary;
}

static void opaque(struct pipe *p, const struct chat_event *ev)
{
    pipe_end_thought(p);
    if (pipe_is_sealed(p, ev)) {
        p->reasoned = true;
        p->opaque = true;
    }
    p->said_block = ev->block + 1;
    if ((p->options.hide && !pipe_signs_answer(p, ev)) || signs_more(p, ev) ||
        (p->muted && (p->continued || p->options.ends_at_cap)))
        p->touched = true;
    else
        pipe_hand_on(p, ev, false);
}

/* Citations stand beside the text; what was only thought of is hidden as thoughts are. */
static bool aside(struct pipe *p, const struct chat_event *ev)
{
    if (citation_is_beside_text(ev)) {
        if (!pipe_is_late(p))
            pipe_beside(p, ev);
        return true;
    }
    pipe_text_leave_block(p, false);
    if (ev->kind != CHAT_OPAQUE || !ev->summary)
        return false;
    opaque(p, ev);
    return true;
}

static void error(struct pipe *p, const struct chat_event *ev)
{
    struct chat_error *e = arena_alloc(&p->frame, sizeof *e);
    struct chat_event *out = pipe_push(p, ev);

    *e = *ev->error;
    out->error = e;
}

/* Whether an event lists tokens of reasoning that the client may not see: beside a text that
 * reasoning was taken out of, or, once there was reasoning, beside no text at all. */
static bool pipe_lists_hidden_tokens(const struct pipe *p, const struct chat_event *ev)
{
    const str choice = STR("choice.");

    if (!(p->options.hide || p->muted) || !str_starts(ev->name, choice) ||
        !redact_is_token_list(str_slice(ev->name, choice.n, ev->name.n)))
        return false;
    if (p->touched || !p->options.hide || !p->reasoned)
        return p->touched;
    for (size_t i = 0; i < p->count; i++)
        if (p->events[i].kind == CHAT_TEXT || p->events[i].kind == CHAT_REFUSAL ||
            p->events[i].kind == CHAT_CALL || p->events[i].kind == CHAT_ARGUMENTS)
            return false;
    return true;
}

void pipe_feed(struct pipe *p, const struct chat_event *ev)
{
    if (ev->choice != 0) {
        pipe_others_feed(p, ev);
        return;
    }
    if (ev->text.n && (ev->kind == CHAT_TEXT || ev->kind == CHAT_REASONING))
        p->said_block = ev->block + 1;
    switch (ev->kind) {
    case CHAT_TEXT:
        pipe_text_feed(p, ev);
        break;
    case CHAT_REASONING:
        pipe_text_leave_block(p, false);
        pipe_emit_reasoning(p, ev, false);
        break;
    case CHAT_SIGNATURE:
    case CHAT_REDACTED:
        opaque(p, ev);
        break;
    case CHAT_CALL:
        pipe_text_leave_block(p, false);
        pipe_end_thought(p);
        if (pipe_is_late(p))
            break;
        p->called = true;
        pipe_hand_on(p, ev, false);
        break;
    case CHAT_ARGUMENTS:
    case CHAT_REFUSAL:
    case CHAT_OPAQUE:
        if (aside(p, ev))
            break;
        pipe_end_thought(p);
        if (pipe_is_late(p) && !(ev->kind == CHAT_ARGUMENTS && p->called))
            break;
        p->answered |= ev->kind != CHAT_ARGUMENTS;
        p->arguments_size += ev->kind == CHAT_ARGUMENTS ? ev->text.n : 0;
        pipe_hand_on(p, ev, false);
        break;
    case CHAT_STOP:
        stop(p, ev);
        break;
    case CHAT_USAGE:
        usage(p, ev);
        break;
    case CHAT_ERROR:
        pipe_text_stop(p);
        error(p, ev);
        break;
    case CHAT_EXTRA:
        if (pipe_lists_hidden_tokens(p, ev))
            p->touched = true;
        else
            pipe_push(p, ev);
        break;
    default:
        pipe_push(p, ev);
        break;
    }
}

const struct split_format *pipe_format(const struct pipe *p)
{
    return p->picked ? p->picked : p->options.format;
}

void pipe_flush(struct pipe *p)
{
    pipe_text_stop(p);
    pipe_end_thought(p);
    pipe_others_flush(p);
}

bool pipe_resumes(const struct pipe *p)
{
    return p->answer_size > p->before.answer_size || (p->called && !p->before.called);
}

void pipe_continue(struct pipe *p)
{
    p->over = false;
    p->continued = true;
    p->boundary = true;
    p->waiting_n = 0;
    pipe_text_drop_held(p);
    pipe_text_restart(p);
    p->resumed = !p->answered;
    pipe_others_continue(p);
}

void pipe_goes_on(struct pipe *p, const struct split_format *format, bool inside)
{
    p->options.format = format;
    p->options.inside = inside;
    pipe_text_restart(p);
}

void pipe_continue_anew(struct pipe *p)
{
    p->doubtful = p->options.inside;
    p->doubt = (struct arena_text){0};
}
