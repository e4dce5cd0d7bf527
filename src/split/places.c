/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "split/internal.h"

enum split_kind split_place_kind(unsigned place)
{
    static const uint8_t kinds[SPLIT_PLACE_COUNT] = {
        SPLIT_ANSWER,
        SPLIT_ANSWER,
        SPLIT_REASONING,
        SPLIT_TOOL,
        SPLIT_FRAMING,
    };

    return (enum split_kind)kinds[split_place_index(place)];
}

void split_note(struct split *sp, enum split_note_what what, enum split_kind kind, str name)
{
    struct split_note n = {
        .what = what, .kind = kind, .name = name, .size = sp->since, .calls = sp->calls};

    if (sp->sink.on_note)
        sp->sink.on_note(sp->sink.ctx, &n);
}

void split_emit(struct split *sp, enum split_kind kind, str run)
{
    assert((size_t)kind < COUNT_OF(sp->size));
    if (run.n == 0)
        return;
    sp->size[kind] += run.n;
    if (sp->doubt) {
        sp->since += run.n;
        sp->since_framing += kind == SPLIT_FRAMING ? run.n : 0;
        split_line_feed(&sp->reason, run);
    }
    sp->sink.on_run(sp->sink.ctx, kind, run);
}

void split_settle(struct split *sp)
{
    if (!sp->doubt)
        return;
    split_note(sp, SPLIT_SETTLED, SPLIT_REASONING, STR(""));
    sp->doubt = SPLIT_DOUBT_NONE;
    sp->since = sp->since_framing = 0;
}

static bool split_all_space(str run)
{
    for (size_t i = 0; i < run.n; i++)
        if (!char_is_json_space(run.p[i]))
            return false;
    return true;
}

/* Line starts matter for openers and for markers in doubt. */
static void split_track_lines(struct split *sp, str run)
{
    if (sp->place == SPLIT_REASON) {
        if (sp->index->track_reason)
            split_line_feed(&sp->reason, run);
        return;
    }
    if (sp->index->track_answer)
        split_line_feed(&sp->answer, run);
    if (sp->doubt == SPLIT_DOUBT_FENCE && sp->reason.reopened)
        split_settle(sp);
}

void split_text(struct split *sp, str run)
{
    if (run.n == 0)
        return;
    if (!sp->trusted && !utf8_valid(run))
        sp->flags |= SPLIT_INVALID_UTF8;
    split_checked(sp, run, true);
}

void split_checked(struct split *sp, str run, bool lines)
{
    const struct split_line *l = sp->place == SPLIT_REASON ? &sp->reason : &sp->answer;

    assert(run.n > 0);
    split_emit(sp, split_place_kind(sp->place), run);
    sp->before = run.p[run.n - 1];
    if (sp->fresh && sp->place != SPLIT_REASON)
        sp->fresh = split_all_space(run);
    if (lines || l->state != SPLIT_LINE_TEXT || sp->doubt)
        split_track_lines(sp, run);
}

/* A gap that no marker of the format is looked for in is none: nothing is held for it. */
void split_set_gap(struct split *sp, unsigned gap)
{
    sp->gap = (uint8_t)(gap & sp->index->gaps);
}

static void enter_reason(struct split *sp, const struct split_mark *m)
{
    assert(sp->place != SPLIT_TOOLS);
    split_settle(sp);
    sp->outer = m->rules & SPLIT_OUTER ? sp->place : SPLIT_OUT;
    sp->place = SPLIT_REASON;
    sp->pair = m->pair ? m->pair : SPLIT_UNNUMBERED;
    sp->before = 0;
    sp->depth = sp->nested = 0;
    sp->seen = true;
    sp->implicit = false;
    split_line_reset(&sp->reason, false);
    split_set_gap(sp, SPLIT_GAP_INSIDE);
    split_note(sp, SPLIT_BEGIN, SPLIT_REASONING, STR(""));
}

/* A block has ended; the next text is between blocks. */
static void enter_out(struct split *sp, unsigned gap)
{
    sp->place = SPLIT_OUT;
    sp->before = 0;
    sp->fresh = true;
    split_set_gap(sp, gap);
}

static void split_note_message(struct split *sp, const struct split_mark *m)
{
    if (m->rules & SPLIT_MESSAGE)
        split_note(sp, SPLIT_BEGIN, SPLIT_ANSWER, STR(""));
}

static void enter_wrap(struct split *sp, const struct split_mark *m)
{
    assert(sp->place != SPLIT_TOOLS);
    split_settle(sp);
    sp->place = SPLIT_WRAP;
    sp->before = 0;
    sp->gap = 0;
    sp->fresh = true;
    split_note_message(sp, m);
}

static void leave_reason(struct split *sp)
{
    assert(sp->place == SPLIT_REASON);
    split_note(sp, SPLIT_END, SPLIT_REASONING, STR(""));
}

static void enter_tools(struct split *sp, const struct split_hit *hit)
{
    bool inside = hit->mark.rules & SPLIT_BACK;

    assert(sp->place != SPLIT_TOOLS);
    split_settle(sp);
    if (sp->place == SPLIT_REASON && !inside) {
        leave_reason(sp);
        sp->flags |= SPLIT_IMPLICIT_END;
        sp->implicit = true;
        sp->back = SPLIT_OUT;
    } else {
        sp->back = hit->mark.rules & SPLIT_MESSAGE ? SPLIT_OUT : sp->place;
    }
    if (hit->mark.rules & SPLIT_TO_TAIL)
        sp->back = SPLIT_TAIL;
    sp->place = SPLIT_TOOLS;
    sp->back_pair = sp->pair;
    sp->pair = hit->mark.pair;
    sp->calls = (uint8_t)(hit->mark.calls ? hit->mark.calls : sp->format->calls);
    assert(sp->calls < SPLIT_CALLS_COUNT);
    sp->before = 0;
    sp->gap = 0;
    split_note(sp, SPLIT_BEGIN, SPLIT_TOOL, hit->name);
}

static void leave_tools(struct split *sp)
{
    assert(sp->place == SPLIT_TOOLS);
    split_note(sp, SPLIT_END, SPLIT_TOOL, STR(""));
    if (sp->back == SPLIT_REASON) {
        sp->place = SPLIT_REASON;
        sp->pair = sp->back_pair;
        sp->before = 0;
        return;
    }
    enter_out(sp, SPLIT_GAP_TOOL | SPLIT_GAP_AFTER);
    sp->place = sp->back;
    if (sp->place == SPLIT_TAIL)
        sp->gap = 0;
}

/* The closer before this one was in doubt, and was text after all. */
static void split_reclassify_answer(struct split *sp)
{
    assert(sp->since_framing <= sp->since && sp->since_framing <= sp->size[SPLIT_FRAMING]);
    assert(sp->since - sp->since_framing <= sp->size[SPLIT_ANSWER]);
    sp->size[SPLIT_REASONING] += sp->since;
    sp->size[SPLIT_FRAMING] -= sp->since_framing;
    sp->size[SPLIT_ANSWER] -= sp->since - sp->since_framing;
    sp->flags |= SPLIT_RECLASSIFIED;
    split_note(sp, SPLIT_RECLASSIFY, SPLIT_REASONING, STR(""));
    sp->doubt = SPLIT_DOUBT_NONE;
    sp->since = sp->since_framing = 0;
    sp->answer = sp->answer_then;
}

/* Whether a closer is that of another tag than the one that opened the block: a sibling of it, one
 * in another spelling, or the closer of the format that the tag is read beside. A token that ends
 * a whole message is none of them. */
static bool split_closes_in_doubt(const struct split *sp, const struct split_mark *m, str bytes)
{
    return m->rules & SPLIT_SIBLING ||
           (sp->spelling != SPLIT_VARIANT && split_is_variant(m, bytes)) ||
           (!m->pair && sp->pair != SPLIT_UNNUMBERED && m->in == SPLIT_REASON);
}

/* This closer may yet turn out to be text of the reasoning. */
static void split_begin_doubt(struct split *sp, enum split_doubt doubt, bool mismatched)
{
    struct split_note n = {.what = SPLIT_AMBIGUOUS,
                           .kind = SPLIT_REASONING,
                           .name = STR(""),
                           .mismatched = mismatched};

    assert(!sp->doubt && doubt);
    sp->flags |= mismatched ? SPLIT_MISMATCHED_CLOSE : SPLIT_AMBIGUOUS_CLOSE;
    sp->answer_then = sp->answer;
    if (sp->sink.on_note)
        sp->sink.on_note(sp->sink.ctx, &n);
    sp->doubt = (uint8_t)doubt;
    sp->reason.reopened = false;
}

/* A closer of reasoning: inside the reasoning or, while the last closer is in doubt, after it. */
static void split_close_reason(struct split *sp, const struct split_mark *m, str bytes)
{
    bool again = sp->place != SPLIT_REASON, mismatched;
    enum split_doubt doubt = SPLIT_DOUBT_NONE;

    if (again)
        split_reclassify_answer(sp);
    if (bytes.p[0] == '\n') /* the line before the closer has ended: it may open a fence */
        split_line_feed(&sp->reason, STR("\n"));
    mismatched = split_closes_in_doubt(sp, m, bytes);
    if (sp->nested > 0)
        doubt = SPLIT_DOUBT_NESTED;
    else if (mismatched)
        doubt = SPLIT_DOUBT_TAG;
    else if (split_line_in_fence(&sp->reason) && (m->rules & (SPLIT_FENCED | SPLIT_AGAIN)))
        doubt = SPLIT_DOUBT_FENCE;
    if (doubt)
        split_begin_doubt(sp, doubt, mismatched);
    sp->nested -= sp->nested > 0;
    split_emit(sp, SPLIT_FRAMING, bytes);
    if (!again)
        leave_reason(sp);
    enter_out(sp, SPLIT_GAP_AFTER);
    split_note_message(sp, m);
    if (sp->outer != SPLIT_OUT && (m->pair || m->rules & SPLIT_SIBLING)) {
        sp->place = sp->outer; /* a tag inside a message: the message continues */
        sp->gap = 0;
    }
}

static void leave_for_block(struct split *sp)
{
    if (sp->place != SPLIT_REASON)
        return;
    leave_reason(sp);
    sp->flags |= SPLIT_IMPLICIT_END;
}

/* A marker that leads nowhere: framing, or text of a nested block. */
static void split_keep_place(struct split *sp, const struct split_mark *m, str bytes)
{
    if (m->rules & (SPLIT_DEEPER | SPLIT_NESTS)) {
        sp->depth += m->rules & SPLIT_DEEPER ? 1 : 0;
        sp->nested += m->rules & SPLIT_NESTS ? 1 : 0;
        split_text(sp, bytes);
        return;
    }
    split_emit(sp, SPLIT_FRAMING, bytes);
    if (m->rules & SPLIT_STRAY)
        sp->flags |= SPLIT_STRAY_CLOSE;
    if (m->rules & SPLIT_EMPTY) {
        sp->seen = true;
        split_note(sp, SPLIT_BEGIN, SPLIT_REASONING, STR(""));
        split_note(sp, SPLIT_END, SPLIT_REASONING, STR(""));
    }
    if (sp->place == SPLIT_OUT)
        enter_out(sp, SPLIT_GAP_AFTER);
    split_note_message(sp, m);
    sp->implicit = false;
}

void split_take(struct split *sp, const struct split_hit *hit, str bytes)
{
    const struct split_mark *m = &hit->mark;

    assert(bytes.n > 0 && hit->size > 0);
    sp->eat = m->eat;
    if (m->rules & SPLIT_BAD)
        sp->flags |= SPLIT_MALFORMED;
    if (sp->place == SPLIT_TOOLS) { /* its end, or a header that cuts it short */
        split_emit(sp, sp->format->header ? SPLIT_FRAMING : SPLIT_TOOL, bytes);
        leave_tools(sp);
        bytes = STR("");
        if (m->to == SPLIT_OUT)
            return;
    }
    if (m->to == SPLIT_STAY) {
        split_keep_place(sp, m, bytes);
    } else if (m->to == SPLIT_TOOLS && !sp->format->header) {
        split_emit(sp, SPLIT_FRAMING, str_slice(bytes, 0, hit->name.n));
        enter_tools(sp, hit);
        split_emit(sp, SPLIT_TOOL, str_slice(bytes, hit->name.n, bytes.n));
    } else if (m->to == SPLIT_TOOLS) { /* a header is framing: the message is the markup */
        split_emit(sp, SPLIT_FRAMING, bytes);
        enter_tools(sp, hit);
    } else if (m->to == SPLIT_REASON) {
        split_emit(sp, SPLIT_FRAMING, bytes);
        if (sp->place != SPLIT_REASON || sp->format->header) {
            if (sp->place == SPLIT_REASON)
                leave_reason(sp);
            sp->spelling = split_is_variant(m, bytes) ? SPLIT_VARIANT : SPLIT_EXACT;
            enter_reason(sp, m);
        }
    } else if (m->to == SPLIT_WRAP) {
        split_emit(sp, SPLIT_FRAMING, bytes);
        leave_for_block(sp);
        enter_wrap(sp, m);
    } else if (sp->place == SPLIT_REASON || (m->rules & SPLIT_AGAIN)) {
        split_close_reason(sp, m, bytes);
    } else {
        split_emit(sp, SPLIT_FRAMING, bytes);
        enter_out(sp, SPLIT_GAP_AFTER);
    }
}
