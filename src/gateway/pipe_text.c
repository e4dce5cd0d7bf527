/* pipe_text.c - text split; white space beside markers dropped; text in doubt held back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/pipe_text.h"

#include "gateway/pipe_out.h"

/* What came after a closer that may yet turn out to be text of the reasoning. */
struct pipe_doubt {
    struct arena_text all;    /* with the closer */
    struct arena_text answer; /* the answer in it, if it was a closer */
    bool framing;             /* the last of it was a marker */
};

/* A run may point into the splitter's own memory: what was not in the event is copied. */
static str pipe_text_own(struct pipe *p, str run)
{
    uintptr_t from = (uintptr_t)p->text.p, at = (uintptr_t)run.p;

    if (at >= from && at + run.n <= from + p->text.n)
        return run;
    return arena_dup(&p->frame, run);
}

static void pipe_text_emit(struct pipe *p, enum split_kind kind, str text)
{
    struct chat_event ev = {.kind = kind == SPLIT_REASONING ? CHAT_REASONING : CHAT_TEXT,
                            .block = p->text_block,
                            .text = text,
                            .id = STR(""),
                            .name = STR(""),
                            .from = p->text_node};

    if (text.n == 0)
        return;
    if (kind == SPLIT_REASONING)
        pipe_emit_reasoning(p, &ev, true);
    else
        pipe_emit_answer(p, &ev, !p->plain);
}

/* ---- white space beside markers ---- */

/* Keeps white space for later; false: there is too much of it. */
static bool pipe_space_keep(struct pipe *p, str s)
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

/* Emits the white space that was kept, together with the text after it. */
static void pipe_space_emit(struct pipe *p, str text)
{
    str space = {p->space, p->space_kind == SPLIT_TOOL ? 0 : p->space_n};

    if (space.n)
        text = arena_join(&p->frame, space, text, STR(""));
    p->space_n = 0;
    pipe_text_emit(p, p->space_kind, text);
}

/* Text of one kind; white space at its end waits for what comes after it. */
static void pipe_text_trim(struct pipe *p, enum split_kind kind, str run)
{
    size_t n;

    if (kind != p->space_kind) {
        p->space_n = 0;
        p->space_kind = kind;
    }
    if (p->fresh) {
        size_t i = 0;

        while (i < run.n && pipe_is_space(run.p[i]))
            i++;
        if (i == run.n)
            return;
        run = str_slice(run, i, run.n);
        p->fresh = false;
    }
    n = run.n;
    while (n > 0 && pipe_is_space(run.p[n - 1]))
        n--;
    if (n > 0)
        pipe_space_emit(p, pipe_text_own(p, str_slice(run, 0, n)));
    if (!pipe_space_keep(p, str_slice(run, n, run.n)))
        pipe_space_emit(p, pipe_text_own(p, str_slice(run, n, run.n)));
}

/* ---- calls ---- */

static void pipe_on_call(void *ctx, const struct split_call *call)
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

/* Most replies have no tools, so the reader is made for the first tool block. */
static struct split_reader *pipe_call_reader(struct pipe *p)
{
    if (!p->reader) {
        p->reader = arena_alloc(p->arena, sizeof *p->reader);
        split_reader_init(p->reader, PIPE_MARKUP_MAX, (struct split_call_sink){pipe_on_call, p});
    }
    return p->reader;
}

/* ---- runs ---- */

static void pipe_take_run(struct pipe *p, enum split_kind kind, str run)
{
    if (kind != SPLIT_REASONING)
        pipe_end_thought(p);
    if (pipe_is_late(p))
        return;
    if (kind == SPLIT_REASONING || kind == SPLIT_ANSWER) {
        pipe_text_trim(p, kind, run);
        return;
    }
    if (kind == SPLIT_TOOL)
        split_reader_run(pipe_call_reader(p), kind, run);
    p->space_n = 0;
    p->fresh = p->boundary = true;
}

void pipe_text_drop_held(struct pipe *p)
{
    p->doubtful = false;
    p->doubt = (struct arena_text){0};
}

/* The text came to its end and never left the reasoning that it may have been in. */
static void pipe_held_is_answer(struct pipe *p)
{
    str held = p->doubt.full ? STR("") : arena_text_str(&p->doubt);

    pipe_text_drop_held(p);
    if (held.n)
        pipe_text_trim(p, SPLIT_ANSWER, held);
}

void pipe_text_held_is_thought(struct pipe *p)
{
    str held = p->doubt.full || p->continued ? STR("") : arena_text_str(&p->doubt);

    pipe_text_drop_held(p);
    if (held.n)
        pipe_take_run(p, SPLIT_REASONING, held);
}

/* Whether this run waits until it is known whether it is reasoning. */
static bool pipe_hold_run(struct pipe *p, enum split_kind kind, str run)
{
    if (kind == SPLIT_REASONING)
        arena_text_add_max(&p->doubt, p->arena, run, PIPE_DOUBT_MAX);
    else
        pipe_text_held_is_thought(p);
    return p->doubtful;
}

/* ---- closers in doubt ----
 *
 * A closer in a code fence, after another opener, or of another tag, ends the reasoning unless
 * another closer follows. A client that may not see reasoning must not get the text between the
 * two, so the pipe holds it until the splitter is certain. After the closer of another tag the pipe
 * holds it for everybody. */

static void pipe_doubt_begin(struct pipe *p, const struct split_note *note)
{
    if (p->doubtful || !(p->options.hide || note->mismatched))
        return;
    p->unsure = arena_zero(p->arena, 1, sizeof *p->unsure);
}

/* It was a closer. */
static void pipe_doubt_settle(struct pipe *p)
{
    struct pipe_doubt *d = p->unsure;

    p->unsure = NULL;
    pipe_take_run(p, SPLIT_FRAMING, STR(""));
    if (d->answer.n)
        pipe_take_run(p, SPLIT_ANSWER, arena_text_str(&d->answer));
    if (d->framing)
        pipe_take_run(p, SPLIT_FRAMING, STR(""));
}

/* It was text: all that came since is reasoning. */
static void pipe_doubt_refute(struct pipe *p)
{
    struct pipe_doubt *d = p->unsure;

    p->unsure = NULL;
    pipe_take_run(p, SPLIT_REASONING, arena_text_str(&d->all));
}

static void pipe_doubt_hold(struct pipe *p, enum split_kind kind, str run)
{
    struct pipe_doubt *d = p->unsure;

    arena_text_add_max(&d->all, p->arena, run, PIPE_DOUBT_MAX);
    if (d->all.full) { /* so much without a closer is the answer */
        pipe_doubt_settle(p);
        pipe_take_run(p, kind, run);
        return;
    }
    if (kind == SPLIT_ANSWER)
        arena_text_add(&d->answer, p->arena, run);
    d->framing = kind != SPLIT_ANSWER;
}

static void pipe_on_run(void *ctx, enum split_kind kind, str run)
{
    struct pipe *p = ctx;

    p->runs++;
    if (p->doubtful && pipe_hold_run(p, kind, run))
        return;
    if (p->unsure)
        pipe_doubt_hold(p, kind, run);
    else if (p->split->format == split_format_plain() && !p->split->also)
        pipe_text_emit(p, kind, pipe_text_own(p, run));
    else
        pipe_take_run(p, kind, run);
}

static void pipe_on_note(void *ctx, const struct split_note *note)
{
    struct pipe *p = ctx;

    if (note->kind == SPLIT_TOOL)
        split_reader_note(pipe_call_reader(p), note);
    if (note->what == SPLIT_AMBIGUOUS)
        pipe_doubt_begin(p, note);
    if (note->what == SPLIT_SETTLED && p->unsure)
        pipe_doubt_settle(p);
    if (note->what == SPLIT_RECLASSIFY && p->unsure)
        pipe_doubt_refute(p);
}

/* ---- text ---- */

static void pipe_split_start(struct pipe *p)
{
    if (!p->split)
        p->split = arena_alloc(p->arena, sizeof *p->split);
    split_init(p->split,
               p->options.format,
               p->options.inside && (p->doubtful || (!p->reasoned && !p->muted && !p->started)),
               (struct split_sink){pipe_on_run, pipe_on_note, p});
    if (p->picked)
        split_use(p->split, p->picked);
    p->split->trusted = true;
    p->split->nests = p->options.hide;
    p->splitting = p->started = true;
    p->fresh = false;
    p->space_kind = SPLIT_TOOL;
}

/* With "auto": the front of the reply has picked its format. */
static void pipe_note_picked(struct pipe *p, const struct split_format *f)
{
    p->picked = f;
    p->plain = f == split_format_plain() && !p->options.format->also;
    p->splitting &= !p->plain;
}

void pipe_text_be_plain(struct pipe *p)
{
    if (p->options.format && p->options.format->picks && !p->picked && !p->splitting)
        pipe_note_picked(p, split_format_plain());
}

void pipe_text_restart(struct pipe *p)
{
    p->picked = NULL;
    p->plain = p->splitting = false;
    p->unsure = NULL;
    p->space_n = 0;
}

void pipe_text_stop(struct pipe *p)
{
    size_t before = p->count;

    if (!p->splitting)
        return;
    p->text = STR("");
    split_finish(p->split);
    p->flags |= p->split->flags;
    if (p->split->state == SPLIT_UNCLOSED && !p->doubtful)
        p->flags |= SPLIT_UNCLOSED_REPLY;
    if (p->reader && p->reader->unread)
        p->flags |= SPLIT_UNREAD_TOOL;
    p->splitting = false;
    if (p->options.format->picks && !p->picked)
        pipe_note_picked(p, p->split->picking ? split_format_plain() : p->split->format);
    if (p->doubtful)
        pipe_held_is_answer(p);
    pipe_space_emit(p, STR(""));
    if (p->count != before)
        p->touched = true;
}

void pipe_text_leave_block(struct pipe *p, bool for_text)
{
    bool inside = p->splitting && split_is_inside(p->split);

    if (!inside && !(p->splitting && p->unsure && for_text)) {
        pipe_text_stop(p);
    } else if (!for_text && !p->doubtful) {
        p->doubtful = true;
        p->doubt = (struct arena_text){0};
    }
}

bool pipe_text_may_pick(const struct pipe_options *o)
{
    return o->format && o->format->picks && !o->format->also && !o->inside;
}

bool pipe_text_is_picking(const struct pipe *p)
{
    return !p->picked && !p->splitting && pipe_text_may_pick(&p->options);
}

/* Whether the reply begins with no marker: then no splitter is needed. Most replies do. */
static bool pipe_text_is_plain(struct pipe *p, str text)
{
    const struct split_format *picked;

    if (p->plain)
        return true;
    if (!pipe_text_is_picking(p) || split_pick(text, true, &picked) != SPLIT_NO_MATCH)
        return false;
    pipe_note_picked(p, picked);
    return true;
}

static void pipe_text_split(struct pipe *p, const struct chat_event *ev)
{
    size_t before;
    bool same;

    if (!p->options.format || (ev->text.n && pipe_text_is_plain(p, ev->text))) {
        pipe_emit_answer(p, ev, false);
        return;
    }
    if (p->splitting && p->text_block != ev->block)
        pipe_text_leave_block(p, true);
    before = p->count;
    if (!p->splitting)
        pipe_split_start(p);
    p->text = ev->text;
    p->text_block = ev->block;
    p->text_node = ev->node;
    split_feed(p->split, ev->text);
    if (p->options.format->picks && !p->picked && !p->split->picking)
        pipe_note_picked(p, p->split->format);
    same = p->count == before + 1 && p->events[before].kind == CHAT_TEXT &&
           p->events[before].text.p == ev->text.p && p->events[before].text.n == ev->text.n;
    if (same)
        p->events[before].node = ev->node;
    else if (p->count != before || ev->text.n)
        p->touched = true;
}

/* The first text after a marker that is not in it: without the white space at its front. */
static void pipe_text_resume(struct pipe *p, const struct chat_event *ev)
{
    struct chat_event rest = *ev;
    size_t i = 0;

    while (i < ev->text.n && pipe_is_space(ev->text.p[i]))
        i++;
    if (i) {
        rest.text = str_slice(ev->text, i, ev->text.n);
        rest.node = NULL;
        p->touched = true;
    }
    if (!rest.text.n)
        return;
    p->resumed = false;
    pipe_text_split(p, &rest);
}

void pipe_text_feed(struct pipe *p, const struct chat_event *ev)
{
    if (p->resumed)
        pipe_text_resume(p, ev);
    else
        pipe_text_split(p, ev);
}
