/* pipe.c - split, count, cap, hide.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/pipe_count.h"
#include "gateway/pipe_others.h"
#include "gateway/pipe_out.h"
#include "wire/cite.h"

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
    p->touched = p->usage_said = false;
    if (p->others)
        pipe_others_begin(p);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

static bool blank(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_space(s.p[i]))
            return false;
    return true;
}

/* ---- reasoning: counted, capped, hidden ---- */

void pipe_pass_cap(struct pipe *p)
{
    if (pipe_others_answer(p))
        p->options.ends_at_cap = false;
    p->over = p->muted = p->touched = true;
    p->before.answer_size = p->answer_size;
    p->before.called = p->called;
}

static void close_thought(struct pipe *p);

/* No more of the reasoning at hand comes: a word that waits at the cap is whole. */
static inline void thought_over(struct pipe *p)
{
    if (p->waiting_n)
        close_thought(p);
}

/* How much of it fits under the cap; so much is told before anybody is asked to raise it. */
static size_t thought(struct pipe *p, str text, bool *over)
{
    size_t n = pipe_count_fits(p, text, over);

    if (p->options.on_thought && n)
        p->options.on_thought(p->options.ctx, str_slice(text, 0, n));
    return n;
}

static void reasoning(struct pipe *p, const struct chat_event *ev, bool split)
{
    bool next = p->last != CHAT_REASONING || p->in_block != ev->block || p->boundary, over;
    str text;
    size_t n;

    if (next)
        thought_over(p);
    if (p->muted || p->over) {
        p->touched = true;
        p->dropped += ev->text.n;
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
    if (over)
        pipe_pass_cap(p);
    else if (n < text.n)
        pipe_count_wait(p, str_slice(text, n, text.n));
    if (!blank(str_slice(text, 0, n)))
        p->reasoned = true;
    p->summary = ev->summary;
    p->tagged |= split;
    p->reasoning_size += n;
    if (p->options.hide) {
        p->touched = true;
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

static void close_thought(struct pipe *p)
{
    struct chat_event rest = {.kind = CHAT_REASONING,
                              .block = p->in_block,
                              .text = STR(""),
                              .id = STR(""),
                              .name = STR(""),
                              .summary = p->summary};

    p->closing = true;
    reasoning(p, &rest, p->from_split);
    p->closing = false;
}

/* Whether this comes behind the end of a reply that is let go at its cap. */
static bool too_late(struct pipe *p)
{
    bool let_go = p->options.ends_at_cap && !(p->options.may_resume && !p->before.called);

    p->touched |= p->over && let_go;
    return p->over && let_go;
}

static void answer(struct pipe *p, const struct chat_event *ev, bool split)
{
    thought_over(p);
    if (too_late(p))
        return;
    if (!blank(ev->text))
        p->answered = true;
    p->answer_size += ev->text.n;
    pipe_hand_on(p, ev, split);
}

/* ---- text: split, and the white space beside markers dropped ---- */

/* A run may point into the splitter's own memory: what was not in the event is copied. */
static str lasting(struct pipe *p, str run)
{
    uintptr_t from = (uintptr_t)p->text.p, at = (uintptr_t)run.p;

    if (at >= from && at + run.n <= from + p->text.n)
        return run;
    return arena_dup(&p->frame, run);
}

static void run_out(struct pipe *p, enum split_kind kind, str text)
{
    struct chat_event ev = {.kind = kind == SPLIT_REASONING ? CHAT_REASONING : CHAT_TEXT,
                            .block = p->text_block,
                            .text = text,
                            .id = STR(""),
                            .name = STR("")};

    if (text.n == 0)
        return;
    if (kind == SPLIT_REASONING)
        reasoning(p, &ev, true);
    else
        answer(p, &ev, true);
}

/* Keeps white space for later; false: there is too much of it. */
static bool space_keep(struct pipe *p, str s)
{
    size_t n = p->space_n + s.n;

    if (n > PIPE_SPACE_MAX)
        return false;
    if (n > p->space_cap) {
        size_t cap = p->space_cap;
        char *grown;

        while (cap < n)
            cap *= 2;
        grown = arena_alloc(p->arena, cap);
        memcpy(grown, p->space, p->space_n);
        p->space = grown;
        p->space_cap = cap;
    }
    if (s.n)
        memcpy(p->space + p->space_n, s.p, s.n);
    p->space_n = n;
    return true;
}

static void space_out(struct pipe *p)
{
    if (p->space_n && p->space_kind != SPLIT_TOOL)
        run_out(p, p->space_kind, arena_dup(&p->frame, (str){p->space, p->space_n}));
    p->space_n = 0;
}

/* Text of one kind; white space at its end waits for what comes behind it. */
static void run_text(struct pipe *p, enum split_kind kind, str run)
{
    size_t n;

    if (kind != p->space_kind) {
        p->space_n = 0;
        p->space_kind = kind;
    }
    if (p->fresh) {
        size_t i = 0;

        while (i < run.n && is_space(run.p[i]))
            i++;
        if (i == run.n)
            return;
        run = str_slice(run, i, run.n);
        p->fresh = false;
    }
    n = run.n;
    while (n > 0 && is_space(run.p[n - 1]))
        n--;
    if (n > 0) {
        space_out(p);
        run_out(p, kind, lasting(p, str_slice(run, 0, n)));
    }
    if (!space_keep(p, str_slice(run, n, run.n))) {
        space_out(p);
        run_out(p, kind, lasting(p, str_slice(run, n, run.n)));
    }
}

static void on_call(void *ctx, const struct split_call *call)
{
    struct pipe *p = ctx;
    struct chat_event ev = {.kind = CHAT_CALL, .block = p->text_block, .text = STR("")};

    ev.id = arena_printf(&p->frame, "call_" STR_FMT "_%u", STR_ARG(p->options.id), p->calls++);
    ev.name = arena_dup(&p->frame, call->name);
    pipe_hand_on(p, &ev, true);
    ev.kind = CHAT_ARGUMENTS;
    ev.text = arena_dup(&p->frame, call->arguments);
    p->arguments_size += ev.text.n;
    pipe_hand_on(p, &ev, true);
    p->called = p->touched = true;
}

/* Most replies have no tools, so what reads them waits for the first. */
static struct split_reader *reader_of(struct pipe *p)
{
    if (!p->reader) {
        p->reader = arena_alloc(p->arena, sizeof *p->reader);
        split_reader_init(
            p->reader, p->options.format, PIPE_MARKUP_MAX, (struct split_call_sink){on_call, p});
    }
    return p->reader;
}

/* It was reasoning, and not the answer. */
static void doubt_drop(struct pipe *p)
{
    p->doubtful = false;
    p->doubt = (struct piece){0};
}

static void doubt_over(struct pipe *p)
{
    str held = p->doubt.full ? STR("") : piece_str(&p->doubt);

    doubt_drop(p);
    if (held.n)
        run_text(p, SPLIT_ANSWER, held);
}

/* Whether this waits until it is known what it is. */
static bool doubt(struct pipe *p, enum split_kind kind, str run)
{
    if (kind == SPLIT_REASONING)
        piece_add_max(&p->doubt, p->arena, run, PIPE_DOUBT_MAX);
    else
        doubt_drop(p);
    return p->doubtful;
}

static void on_run(void *ctx, enum split_kind kind, str run)
{
    struct pipe *p = ctx;

    p->runs++;
    if (p->doubtful && doubt(p, kind, run))
        return;
    if (kind != SPLIT_REASONING)
        thought_over(p);
    if (too_late(p))
        return;
    switch (kind) {
    case SPLIT_REASONING:
    case SPLIT_ANSWER:
        run_text(p, kind, run);
        break;
    case SPLIT_TOOL:
        split_reader_run(reader_of(p), kind, run);
        p->space_n = 0;
        p->fresh = p->boundary = true;
        break;
    default:
        p->space_n = 0;
        p->fresh = p->boundary = true;
        break;
    }
}

static void on_note(void *ctx, const struct split_note *note)
{
    struct pipe *p = ctx;

    if (note->kind == SPLIT_TOOL)
        split_reader_note(reader_of(p), note);
}

static void split_start(struct pipe *p)
{
    if (!p->split)
        p->split = arena_alloc(p->arena, sizeof *p->split);
    split_init(p->split,
               p->options.format,
               p->options.inside && (p->doubtful || (!p->reasoned && !p->muted && !p->started)),
               (struct split_sink){on_run, on_note, p});
    p->split->trusted = true;
    p->splitting = p->started = true;
    p->fresh = false;
    p->space_kind = SPLIT_TOOL;
}

static void split_stop(struct pipe *p)
{
    size_t before = p->count;

    if (!p->splitting)
        return;
    p->text = STR("");
    split_finish(p->split);
    p->flags |= p->split->flags;
    p->splitting = false;
    if (p->doubtful)
        doubt_over(p);
    space_out(p);
    if (p->count != before)
        p->touched = true;
}

static void text(struct pipe *p, const struct chat_event *ev)
{
    size_t before = p->count;
    bool same;

    if (!p->options.format) {
        answer(p, ev, false);
        return;
    }
    if (p->splitting && p->text_block != ev->block)
        split_stop(p);
    before = p->count;
    if (!p->splitting)
        split_start(p);
    p->text = ev->text;
    p->text_block = ev->block;
    split_feed(p->split, ev->text);
    same = p->count == before + 1 && p->events[before].kind == CHAT_TEXT &&
           p->events[before].text.p == ev->text.p && p->events[before].text.n == ev->text.n;
    if (same)
        p->events[before].node = ev->node;
    else if (p->count != before || ev->text.n)
        p->touched = true;
}

/* The first text behind a marker that is not in it. */
static void resumed_text(struct pipe *p, const struct chat_event *ev)
{
    struct chat_event rest = *ev;
    size_t i = 0;

    while (i < ev->text.n && is_space(ev->text.p[i]))
        i++;
    if (i) {
        rest.text = str_slice(ev->text, i, ev->text.n);
        rest.node = NULL;
        p->touched = true;
    }
    if (!rest.text.n)
        return;
    p->resumed = false;
    text(p, &rest);
}

/* ---- all else ---- */

static void stop(struct pipe *p, const struct chat_event *ev)
{
    struct chat_event *out;

    if (p->doubtful && ev->stop == CHAT_STOP_LENGTH)
        doubt_drop(p); /* it did not come to its answer */
    split_stop(p);
    thought_over(p);
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

    return p->options.as_it_is && (!touched || !(p->options.format || p->options.hide));
}

static void usage(struct pipe *p, const struct chat_event *ev)
{
    struct chat_usage *u = p->usage_said ? arena_alloc(&p->frame, sizeof *u) : &p->usage_first;
    struct chat_event *out = pipe_push(p, ev);

    p->usage_said = true;
    *u = *ev->usage;
    out->usage = u;
    if (u->reasoning < 0 && p->reasoning_size > 0 && !usage_stays(p)) {
        u->reasoning = pipe_tokens(p);
        if (u->output >= 0 && u->reasoning > u->output)
            u->reasoning = u->output; /* a part of it, whatever the provider's tokens are */
        u->raw = STR("");
        p->touched = true;
    }
}

static void opaque(struct pipe *p, const struct chat_event *ev)
{
    thought_over(p);
    if (ev->kind == CHAT_REDACTED) {
        p->reasoned = true;
        p->opaque = true;
    }
    if (p->options.hide || (p->muted && (p->continued || p->options.ends_at_cap)))
        p->touched = true;
    else
        pipe_hand_on(p, ev, false);
}

/* Citations stand beside the text; what was only thought of is hidden as thoughts are. */
static bool aside(struct pipe *p, const struct chat_event *ev)
{
    if (cite_beside(ev)) {
        if (!too_late(p))
            pipe_beside(p, ev);
        return true;
    }
    split_stop(p);
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

void pipe_feed(struct pipe *p, const struct chat_event *ev)
{
    if (ev->choice != 0) {
        pipe_others_feed(p, ev);
        return;
    }
    switch (ev->kind) {
    case CHAT_TEXT:
        if (p->resumed)
            resumed_text(p, ev);
        else
            text(p, ev);
        break;
    case CHAT_REASONING:
        split_stop(p);
        reasoning(p, ev, false);
        break;
    case CHAT_SIGNATURE:
    case CHAT_REDACTED:
        opaque(p, ev);
        break;
    case CHAT_CALL:
        split_stop(p);
        thought_over(p);
        if (too_late(p))
            break;
        p->called = true;
        pipe_hand_on(p, ev, false);
        break;
    case CHAT_ARGUMENTS:
    case CHAT_REFUSAL:
    case CHAT_OPAQUE:
        if (aside(p, ev))
            break;
        thought_over(p);
        if (too_late(p) && !(ev->kind == CHAT_ARGUMENTS && p->called))
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
        split_stop(p);
        error(p, ev);
        break;
    case CHAT_EXTRA:
        /* Of a text that reasoning was taken out of, they tell every token. */
        if (!((p->options.hide || p->muted) && p->touched &&
              str_eq(ev->name, STR("choice.logprobs"))))
            pipe_push(p, ev);
        break;
    default:
        pipe_push(p, ev);
        break;
    }
}

void pipe_flush(struct pipe *p)
{
    split_stop(p);
    thought_over(p);
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
    p->splitting = false;
    p->space_n = p->waiting_n = 0;
    p->resumed = !p->answered;
    pipe_others_continue(p);
}

void pipe_goes_on(struct pipe *p, const struct split_format *format, bool inside)
{
    if (p->reader && format != p->options.format) {
        split_reader_release(p->reader);
        p->reader = NULL;
    }
    p->options.format = format;
    p->options.inside = inside;
    p->splitting = false;
}

void pipe_continue_anew(struct pipe *p)
{
    p->doubtful = p->options.inside;
    p->doubt = (struct piece){0};
}
