/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/pipe/split.h"

#include "base/ctype.h"

enum pipe_held_why {
    PIPE_HELD_INSIDE, /* the text may be inside reasoning or not: that of a second call, or the text
                         after something that came while reasoning was open. A closer decides; if
                         none comes, the text is the answer */
    PIPE_HELD_CLOSER, /* it follows a closer that may yet turn out to be text of the reasoning */
};

struct pipe_held {
    enum pipe_held_why why;
    bool framing;             /* with CLOSER: the last of it was a marker */
    struct arena_text all;    /* with CLOSER: the closer included */
    struct arena_text answer; /* with CLOSER: the answer in it, if it was a closer */
};

void pipe_split_release(struct pipe_split *s)
{
    if (s->reader)
        split_reader_release(s->reader);
}

static void pipe_split_emit(struct pipe_split *s, enum split_kind kind, str text)
{
    const struct chat_event *in = s->event;
    struct chat_event ev = {.kind = kind == SPLIT_REASONING ? CHAT_REASONING : CHAT_TEXT,
                            .block = s->block,
                            .text = text,
                            .id = STR(""),
                            .name = STR(""),
                            .from = s->node};

    if (text.n == 0)
        return;
    assert(kind == SPLIT_REASONING || kind == SPLIT_ANSWER);
    if (s->emitted++ == 0 && ev.kind == CHAT_TEXT && in && text.p == in->text.p &&
        text.n == in->text.n)
        ev.node = in->node;
    else
        *s->shared->touched = true;
    pipe_count_feed(s->next, &ev, PIPE_FROM_TEXT);
}

/* A run may point into the splitter's own memory: text that was not in the event is copied. */
static str pipe_split_own(struct pipe_split *s, str run)
{
    str text = s->event ? s->event->text : STR("");
    uintptr_t from = (uintptr_t)text.p, at = (uintptr_t)run.p;

    if (at >= from && at + run.n <= from + text.n)
        return run;
    return arena_dup(s->shared->scratch, run);
}

/* ---- white space beside markers ----
 *
 * It is dropped, but an answer that goes on after a marker keeps the gap between its two pieces:
 * the white space before the first marker, or else after it. So two paragraphs with reasoning
 * between them stay two paragraphs. */

static void pipe_gap_clear(struct pipe_split *s)
{
    arena_text_reset(&s->gap);
    s->gap_is_known = false;
}

/* Another message of the answer, such as the final one after a preamble, is a paragraph of its own,
 * unless the model's white space already breaks the line. */
static void pipe_gap_begin_message(struct pipe_split *s)
{
    bool broken = str_find(arena_text_str(&s->gap), STR("\n")) != STR_NONE;

    if (broken || s->answered_block != s->block + 1)
        return;
    arena_text_reset(&s->gap);
    arena_text_add(&s->gap, s->shared->arena, STR("\n\n"));
    s->gap_is_known = true;
}

/* White space of the answer that is dropped. An answer needs it only if it continues in its
 * block. */
static void pipe_gap_add(struct pipe_split *s, enum split_kind kind, str space)
{
    if (kind == SPLIT_ANSWER && !s->gap_is_known && s->answered_block == s->block + 1)
        arena_text_add_max(&s->gap, s->shared->arena, space, PIPE_SPACE_MAX);
}

/* Drops the white space that was kept, because a marker or text of another kind follows. */
static void pipe_space_drop(struct pipe_split *s)
{
    pipe_gap_add(s, s->kind, arena_text_str(&s->space));
    s->gap_is_known = s->gap.n > 0;
    arena_text_reset(&s->space);
}

/* Emits the white space that was kept, together with the text after it. */
static void pipe_space_emit(struct pipe_split *s, str text)
{
    if (s->space.n)
        text = arena_join(s->shared->scratch, arena_text_str(&s->space), text, STR(""));
    arena_text_reset(&s->space);
    if (s->kind == SPLIT_ANSWER && text.n) {
        if (s->gap.n)
            text = arena_join(s->shared->scratch, arena_text_str(&s->gap), text, STR(""));
        pipe_gap_clear(s);
        s->answered_block = s->block + 1;
    }
    pipe_split_emit(s, s->kind, text);
}

/* The text without leading white space. */
static str pipe_space_skip(str text)
{
    return str_slice(text, str_trim(text).n ? (size_t)(str_trim(text).p - text.p) : text.n, text.n);
}

/* A run of one kind; white space at its end waits for what comes after it. */
static void pipe_split_trim(struct pipe_split *s, enum split_kind kind, str run)
{
    str core;

    assert(kind == SPLIT_REASONING || kind == SPLIT_ANSWER);
    if (kind != s->kind)
        pipe_space_drop(s);
    s->kind = kind;
    if (s->after_marker) {
        core = pipe_space_skip(run);
        pipe_gap_add(s, kind, str_slice(run, 0, run.n - core.n));
        run = core;
        s->after_marker = !run.n;
    }
    core = str_trim(run);
    if (core.n) {
        assert(core.p >= run.p && core.p + core.n <= run.p + run.n);
        core = (str){run.p, (size_t)(core.p + core.n - run.p)};
        pipe_space_emit(s, pipe_split_own(s, core));
        run = str_slice(run, core.n, run.n);
    }
    if (run.n)
        arena_text_add_max(&s->space, s->shared->arena, run, PIPE_SPACE_MAX);
    if (s->space.full)
        pipe_space_emit(s, pipe_split_own(s, run));
}

/* ---- calls ---- */

static void pipe_split_on_call(void *ctx, const struct split_call *call)
{
    struct pipe_split *s = ctx;
    struct arena *a = s->shared->scratch;
    struct chat_event ev = {
        .kind = CHAT_CALL, .block = s->block, .from_text = true, .text = STR("")};

    ev.id = arena_printf(a, "call_" STR_FMT "_%u", STR_ARG(s->shared->options->id), s->calls++);
    ev.name = arena_dup(a, call->name);
    pipe_count_feed(s->next, &ev, PIPE_FROM_TEXT);
    ev.kind = CHAT_ARGUMENTS;
    ev.text = arena_dup(a, call->arguments);
    pipe_count_feed(s->next, &ev, PIPE_FROM_TEXT);
    *s->shared->touched = true;
}

/* Most replies have no tools, so the reader is made for the first tool block. */
static struct split_reader *pipe_split_reader(struct pipe_split *s)
{
    if (!s->reader) {
        s->reader = arena_alloc(s->shared->arena, sizeof *s->reader);
        split_reader_init(
            s->reader, PIPE_MARKUP_MAX, (struct split_call_sink){pipe_split_on_call, s});
    }
    return s->reader;
}

/* ---- runs ---- */

static void pipe_split_take(struct pipe_split *s, enum split_kind kind, str run)
{
    if (kind == SPLIT_REASONING || kind == SPLIT_ANSWER) {
        pipe_split_trim(s, kind, run);
        return;
    }
    pipe_count_feed(s->next, &pipe_break, PIPE_BREAK);
    if (kind == SPLIT_TOOL)
        split_reader_run(pipe_split_reader(s), kind, run);
    pipe_space_drop(s);
    s->after_marker = true;
}

/* ---- text in doubt ----
 *
 * A closer in a code fence, after another opener, or of another tag, ends the reasoning unless
 * another closer follows. A client that may not see reasoning must not get the text between the
 * two, so it is held until the splitter is certain. After the closer of another tag it is held for
 * everybody. */

/* The memory is used again: a reply may have any number of texts in doubt. */
static void pipe_held_begin(struct pipe_split *s, enum pipe_held_why why)
{
    assert(!s->held);
    if (!s->held_memory)
        s->held_memory = arena_zero(s->shared->arena, 1, sizeof *s->held);
    s->held = s->held_memory;
    s->held->why = why;
    s->held->framing = false;
    arena_text_reset(&s->held->all);
    arena_text_reset(&s->held->answer);
}

/* The text that was held for this reason, if any was, is of a kind. With CLOSER, ANSWER says that
 * it was a closer, and REASONING that it was text. Reasoning of a second call, which is to answer,
 * is dropped. */
static void pipe_held_decide(struct pipe_split *s, enum pipe_held_why why, enum split_kind kind)
{
    struct pipe_held *h = s->held;
    bool closer = why == PIPE_HELD_CLOSER, answers = kind == SPLIT_ANSWER;
    const struct arena_text *text;

    assert(kind == SPLIT_REASONING || kind == SPLIT_ANSWER);
    if (!h || h->why != why)
        return;
    s->held = NULL;
    text = closer && answers ? &h->answer : &h->all;
    if (closer && answers)
        pipe_split_take(s, SPLIT_FRAMING, STR(""));
    assert(!s->held); /* its own runs must not be held again */
    if (text->n && (closer || (!text->full && (answers || !s->continued))))
        pipe_split_take(s, kind, arena_text_str(text));
    if (closer && answers && h->framing)
        pipe_split_take(s, SPLIT_FRAMING, STR(""));
}

/* Whether this run is held. */
static bool pipe_held_add(struct pipe_split *s, enum split_kind kind, str run)
{
    struct pipe_held *h = s->held;

    assert(h->answer.n <= h->all.n);
    if (h->why == PIPE_HELD_INSIDE && kind != SPLIT_REASONING) {
        pipe_held_decide(s, h->why, SPLIT_REASONING);
        return false;
    }
    arena_text_add_max(&h->all, s->shared->arena, run, PIPE_HELD_MAX);
    if (h->why == PIPE_HELD_INSIDE)
        return true;
    if (h->all.full) { /* so much without a closer is the answer */
        pipe_held_decide(s, h->why, SPLIT_ANSWER);
        return false;
    }
    if (kind == SPLIT_ANSWER)
        arena_text_add(&h->answer, s->shared->arena, run);
    h->framing = kind != SPLIT_ANSWER;
    return true;
}

static void pipe_split_on_run(void *ctx, enum split_kind kind, str run)
{
    struct pipe_split *s = ctx;

    assert(s->state == PIPE_SPLITTING && s->splitter);
    if (s->held && pipe_held_add(s, kind, run))
        return;
    if (s->splitter->format == split_format_plain() && !s->splitter->also)
        pipe_split_emit(s, kind, pipe_split_own(s, run));
    else
        pipe_split_take(s, kind, run);
}

static void pipe_split_on_note(void *ctx, const struct split_note *note)
{
    struct pipe_split *s = ctx;

    assert(s->state == PIPE_SPLITTING && s->splitter);
    if (note->kind == SPLIT_TOOL)
        split_reader_note(pipe_split_reader(s), note);
    if (note->kind == SPLIT_ANSWER && note->what == SPLIT_BEGIN)
        pipe_gap_begin_message(s);
    if (note->what == SPLIT_AMBIGUOUS && !s->held && (s->shared->options->hide || note->mismatched))
        pipe_held_begin(s, PIPE_HELD_CLOSER);
    if (note->what == SPLIT_SETTLED)
        pipe_held_decide(s, PIPE_HELD_CLOSER, SPLIT_ANSWER);
    if (note->what == SPLIT_RECLASSIFY)
        pipe_held_decide(s, PIPE_HELD_CLOSER, SPLIT_REASONING);
}

/* ---- text ---- */

static void pipe_split_start(struct pipe_split *s)
{
    const struct pipe_options *o = s->shared->options;
    bool inside = s->held || !(s->reasoned || s->started || s->continued);
    char *large = s->splitter ? s->splitter->large : NULL;

    assert(s->state != PIPE_SPLITTING && o->format);
    if (!s->splitter)
        s->splitter = arena_alloc(s->shared->arena, split_size(o->format));
    split_init(s->splitter,
               o->format,
               o->inside && inside,
               (struct split_sink){pipe_split_on_run, pipe_split_on_note, s});
    if (s->picked)
        split_use(s->splitter, s->picked);
    s->splitter->arena = s->shared->arena;
    s->splitter->large = large;
    s->splitter->trusted = true;
    s->splitter->nests = o->hide;
    s->state = PIPE_SPLITTING;
    s->started = true;
    s->after_marker = false;
}

/* With "auto": the front of the reply has picked its format, or picks this one. */
static void pipe_split_pick(struct pipe_split *s, const struct split_format *f)
{
    const struct split_format *format = s->shared->options->format;

    assert(f);
    if (!format || !format->picks || s->picked)
        return;
    s->picked = f;
    if (f == split_format_plain() && !format->also)
        s->state = PIPE_PLAIN;
}

bool pipe_split_may_pick(const struct pipe_options *o)
{
    return o->format && o->format->picks && !o->format->also && !o->inside;
}

enum split_match pipe_split_pick_front(const struct pipe_options *o, str front, bool more,
                                       const struct split_format **out)
{
    enum split_match found = split_pick(front, more, out);

    if (found != SPLIT_FULL_MATCH || !o->asks_for || !split_format_is_prompted(*out) ||
        !o->asks_for(o->ctx, str_c((*out)->id)))
        return found;
    *out = split_format_plain();
    return SPLIT_NO_MATCH;
}

bool pipe_split_is_picking(const struct pipe_split *s)
{
    return s->state == PIPE_IDLE && !s->picked && pipe_split_may_pick(s->shared->options);
}

void pipe_split_set_plain(struct pipe_split *s)
{
    assert(!s->held || s->held->why == PIPE_HELD_INSIDE);
    if (s->state == PIPE_IDLE)
        pipe_split_pick(s, split_format_plain());
}

void pipe_split_restart(struct pipe_split *s)
{
    assert(!s->event);
    if (s->held && s->held->why == PIPE_HELD_CLOSER)
        s->held = NULL;
    s->picked = NULL;
    s->splitter = NULL; /* another format may need a larger one */
    s->state = PIPE_IDLE;
    s->answered_block = 0;
    arena_text_reset(&s->space);
    pipe_gap_clear(s);
}

void pipe_split_continue(struct pipe_split *s, bool answered)
{
    s->held = NULL;
    s->continued = true;
    s->strips = !answered;
    pipe_split_restart(s);
}

void pipe_split_doubt_start(struct pipe_split *s)
{
    s->held = NULL;
    if (s->shared->options->inside)
        pipe_held_begin(s, PIPE_HELD_INSIDE);
}

void pipe_split_flush(struct pipe_split *s)
{
    struct split *splitter = s->splitter;

    if (s->state != PIPE_SPLITTING)
        return;
    assert(splitter && !s->event);
    s->event = NULL;
    split_finish(splitter);
    s->flags |= splitter->flags;
    if (splitter->state == SPLIT_UNCLOSED && !s->held)
        s->flags |= SPLIT_UNCLOSED_REPLY;
    if (s->reader && s->reader->unread)
        s->flags |= SPLIT_UNREAD_TOOL;
    s->state = PIPE_IDLE;
    pipe_split_pick(s, splitter->picking ? split_format_plain() : splitter->format);
    pipe_held_decide(s, PIPE_HELD_INSIDE, SPLIT_ANSWER);
    pipe_space_emit(s, STR(""));
    pipe_gap_clear(s);
    assert(!s->held && !s->space.n);
}

/* The block has ended, but the message continues with another block of text or something else. Open
 * reasoning continues in the next text. After something else that may have ended it, the text is
 * buffered until a closer decides. */
NOINLINE static void pipe_split_leave_text(struct pipe_split *s, bool for_text)
{
    assert(s->state == PIPE_SPLITTING && s->splitter);
    if (split_is_inside(s->splitter)) {
        if (!for_text && !s->held)
            pipe_held_begin(s, PIPE_HELD_INSIDE);
    } else if (!(for_text && s->held && s->held->why == PIPE_HELD_CLOSER)) {
        pipe_split_flush(s);
    }
}

static inline void pipe_split_leave_block(struct pipe_split *s, bool for_text)
{
    if (s->state == PIPE_SPLITTING)
        pipe_split_leave_text(s, for_text);
}

void pipe_split_end_block(struct pipe_split *s, uint32_t block)
{
    if (s->block == block)
        pipe_split_leave_block(s, true);
}

/* Whether the text needs no splitter. Most replies begin with no marker. */
static bool pipe_split_is_plain(struct pipe_split *s, str text)
{
    const struct split_format *picked;

    if (!s->shared->options->format)
        return true;
    if (text.n && pipe_split_is_picking(s) &&
        pipe_split_pick_front(s->shared->options, text, true, &picked) == SPLIT_NO_MATCH)
        pipe_split_pick(s, picked);
    return s->state == PIPE_PLAIN && text.n;
}

static void pipe_split_text(struct pipe_split *s, const struct chat_event *ev)
{
    assert(!s->event); /* a stage does not feed its own chain */
    if (pipe_split_is_plain(s, ev->text)) {
        pipe_count_feed(s->next, ev, PIPE_AS_SENT);
        return;
    }
    if (s->block != ev->block)
        pipe_split_leave_block(s, true);
    if (s->state != PIPE_SPLITTING)
        pipe_split_start(s);
    s->event = ev;
    s->block = ev->block;
    s->node = ev->node;
    s->emitted = 0;
    split_feed(s->splitter, ev->text);
    s->event = NULL;
    if (!s->splitter->picking)
        pipe_split_pick(s, s->splitter->format);
    if (!s->emitted && ev->text.n)
        *s->shared->touched = true;
}

bool pipe_split_passes(const struct pipe_split *s, uint32_t block, str text)
{
    if (!text.n || s->strips)
        return false;
    if (!s->shared->options->format || s->state == PIPE_PLAIN)
        return true;
    return s->state == PIPE_SPLITTING && s->kind == SPLIT_ANSWER && s->block == block && !s->held &&
           !s->after_marker && !s->space.n && !s->gap.n && !char_is_space(text.p[text.n - 1]) &&
           split_is_answer(s->splitter, text);
}

/* The first text after a marker that is not in it: without the white space at its front. */
NOINLINE static void pipe_split_strip(struct pipe_split *s, const struct chat_event *ev)
{
    struct chat_event rest = *ev;

    assert(s->strips && s->continued && ev->kind == CHAT_TEXT);
    rest.text = pipe_space_skip(ev->text);
    if (rest.text.n < ev->text.n) {
        rest.node = NULL;
        *s->shared->touched = true;
    }
    if (!rest.text.n)
        return;
    s->strips = false;
    pipe_split_text(s, &rest);
}

/* ---- events ---- */

/* Calls are the reason why a reply stops that names none, or one that no other dialect knows. A
 * relayed reply keeps its own reason, unless its calls were read from markup. */
NOINLINE static void pipe_split_stop(struct pipe_split *s, const struct chat_event *ev)
{
    bool called = s->calls || (s->called && !s->shared->options->as_it_is);
    struct chat_event stop = *ev;

    assert(ev->kind == CHAT_STOP);
    if (ev->stop == CHAT_STOP_LENGTH)
        pipe_held_decide(s, PIPE_HELD_INSIDE, SPLIT_REASONING); /* it did not reach its answer */
    pipe_split_flush(s);
    if (called && (ev->stop == CHAT_STOP_END || ev->stop == CHAT_STOP_OTHER)) {
        stop.stop = CHAT_STOP_TOOL;
        *s->shared->touched = true;
    }
    pipe_count_feed(s->next, &stop, PIPE_AS_SENT);
}

bool pipe_split_is_sealed(const struct pipe_split *s, const struct chat_event *ev)
{
    return ev->kind == CHAT_REDACTED ||
           (ev->kind == CHAT_SIGNATURE && s->said_block != ev->block + 1);
}

static void pipe_split_reasoning(struct pipe_split *s, const struct chat_event *ev)
{
    if (ev->text.n)
        s->said_block = ev->block + 1;
    s->reasoned = s->reasoned || !str_is_blank(ev->text);
    pipe_split_leave_block(s, false);
    pipe_count_feed(s->next, ev, PIPE_AS_SENT);
}

NOINLINE static void pipe_split_other(struct pipe_split *s, const struct chat_event *ev)
{
    bool sealed = pipe_split_is_sealed(s, ev);

    if (ev->kind == CHAT_ERROR)
        pipe_split_flush(s);
    s->called |= ev->kind == CHAT_CALL;
    if (pipe_is_opaque(ev))
        s->said_block = ev->block + 1;
    s->reasoned |= sealed;
    if (pipe_is_content(ev) && ev->kind != CHAT_SIGNATURE && ev->kind != CHAT_REDACTED &&
        !pipe_is_beside(ev))
        pipe_split_leave_block(s, false);
    pipe_count_feed(s->next, ev, sealed ? PIPE_SEALED : PIPE_AS_SENT);
}

void pipe_split_feed(struct pipe_split *s, const struct chat_event *ev)
{
    if (ev->kind == CHAT_TEXT && ev->text.n)
        s->said_block = ev->block + 1;
    if (ev->kind == CHAT_REASONING)
        pipe_split_reasoning(s, ev);
    else if (ev->kind == CHAT_STOP)
        pipe_split_stop(s, ev);
    else if (ev->kind != CHAT_TEXT)
        pipe_split_other(s, ev);
    else if (s->strips)
        pipe_split_strip(s, ev);
    else
        pipe_split_text(s, ev);
}
