/* stream.c - masks a text that arrives in pieces.
 *
 * The buffered text is scanned again with each piece, from the first byte that was not written yet;
 * each rule reports the position from which it could not decide. The last word and at least the
 * last few bytes are always buffered, so that no lead and no word is seen in part.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

#define CONTEXT 512 /* bytes that rules may read before a position */
#define TAIL 256    /* bytes of an endless word that stay in the buffer */
#define LEAD 4

void mask_stream_init(struct mask_stream *s, const struct mask *m)
{
    *s = (struct mask_stream){.m = m};
    buf_init(&s->held, (size_t)64 << 20);
}

void mask_stream_release(struct mask_stream *s)
{
    buf_release(&s->held);
}

/* The bytes before `at` are written; some of them stay as context. */
static void mask_out_to(struct mask_stream *s, size_t at)
{
    size_t drop = at > CONTEXT ? at - CONTEXT : 0;

    assert(at <= s->held.n);
    buf_drop(&s->held, drop);
    s->floor = at - drop;
}

static bool mask_ends_value(enum mask_end end, char c)
{
    return (end == MASK_END_WORD ? char_is_space(c) : c == '\n' || c == '\r') || c == '"' ||
           c == '\'' || c == '\\';
}

/* The position of the closing quotes, after as many backslashes as the opening ones; s.n: not in
 * this text. */
static size_t mask_quote_end(const struct mask_stream *s, str held, size_t at)
{
    size_t run = 0;

    while (run < at && held.p[at - run - 1] == '\\')
        run++;
    for (; at < held.n; at++) {
        if (held.p[at] == s->quote && (s->n ? run == s->n : run % 2 == 0))
            break;
        if (held.p[at] == '\n' && s->inside == MASK_END_QUOTE_LINE)
            break;
        run = held.p[at] == '\\' ? run + 1 : 0;
    }
    return at;
}

/* The start of the first line that is indented no deeper than a column; s.n: no such line is
 * complete. */
static size_t mask_manifest_end(str s, size_t at, size_t col, bool *over)
{
    assert(at <= s.n);
    *over = false;
    for (; at < s.n; at++) {
        size_t i = at + 1;

        if (s.p[at] != '\n')
            continue;
        while (i < s.n && s.p[i] == ' ')
            i++;
        if (i == s.n) /* the line is incomplete; deeper blanks still belong to the manifest */
            return i - at - 1 > col ? s.n : at;
        if (s.p[i] != '\n' && s.p[i] != '\r' && i - at - 1 <= col) {
            *over = true;
            return at;
        }
    }
    return s.n;
}

/* Drops the skipped text. False: all buffered text was skipped. */
static bool mask_stream_skip_swallowed(struct mask_stream *s)
{
    str held = buf_str(&s->held);
    size_t at = s->floor;
    bool over = true;

    assert(s->inside && s->floor <= held.n);
    if (s->inside == MASK_END_PEM) {
        size_t end = mask_pem_end(held, at, &over);

        if (over)
            at = end;
        else if (held.n - at > MASK_PEM_LINE_MAX)
            at = held.n - MASK_PEM_LINE_MAX;
    } else if (s->inside == MASK_END_OUTDENT) {
        at = mask_manifest_end(held, at, s->n, &over);
    } else {
        if (s->inside == MASK_END_QUOTE || s->inside == MASK_END_QUOTE_LINE)
            at = mask_quote_end(s, held, at);
        else
            while (at < held.n && !mask_ends_value(s->inside, held.p[at]))
                at++;
        over = at < held.n;
    }
    if (over)
        s->inside = MASK_END_NOW;
    mask_out_to(s, at);
    return over;
}

static size_t mask_last_word(str s, size_t floor)
{
    size_t at = s.n > floor + LEAD ? s.n - LEAD : floor;

    assert(floor <= s.n);
    while (at > floor && !char_is_space(s.p[at - 1]))
        at--;
    return at;
}

/* `at`, or an earlier position, so that matches that cross it or begin after it are found again. */
static size_t mask_before_spans(const struct mask_spans *f, size_t at)
{
    for (size_t i = f->n; i > 0; i--)
        if (f->p[i - 1].seen < at && f->p[i - 1].to > at)
            at = f->p[i - 1].seen;
    return at;
}

/* The end of the buffered text that can be written: no span and no undecided match crosses it. */
static size_t mask_stream_measure_decided(struct mask_stream *s, const struct mask_spans *f)
{
    str held = buf_str(&s->held);
    size_t word = mask_last_word(held, s->floor), to = f->hold < word ? f->hold : word;

    return mask_before_spans(f, to);
}

/* The last span if it is a private key without its end: it is masked at once, however long the key
 * is. */
static const struct mask_span *mask_open_block(const struct mask_stream *s,
                                               const struct mask_spans *f)
{
    const struct mask_span *last = f->n ? &f->p[f->n - 1] : NULL;
    bool closed;

    assert(!last || last->to <= s->held.n);
    if (!last || last->rule != MASK_RULE_PRIVATE_KEY || last->to != s->held.n ||
        f->hold < last->from)
        return NULL;
    (void)mask_pem_end(buf_str(&s->held), last->from, &closed);
    return closed ? NULL : last;
}

/* Masks text that could not be decided in MASK_HOLD_MAX bytes, and the rest of its value. */
static void mask_stream_force_mask(struct mask_stream *s, const struct mask_spans *f, size_t to,
                                   struct buf *out, struct mask_counts *counts)
{
    size_t n = s->held.n;

    assert(n > TAIL && to <= n);
    if (f->hold > to && !(f->n && f->p[f->n - 1].from == to)) { /* a long word without a match */
        n = mask_before_spans(f, n - TAIL);
        mask_render(s->m, buf_str(&s->held), (struct mask_range){to, n}, f, out, counts);
        mask_out_to(s, n);
        return;
    }
    assert(f->hold > to || f->hold_rule < s->m->rule_count);
    buf_add(out, s->m->placeholders[f->hold > to ? f->p[f->n - 1].rule : f->hold_rule]);
    mask_count(counts, f->hold > to ? f->p[f->n - 1].rule : f->hold_rule);
    s->inside = f->hold < n ? f->hold_open.end : MASK_END_WORD;
    s->quote = f->hold_open.quote;
    s->n = f->hold_open.n;
    mask_out_to(s, n);
}

static void mask_give_out(struct mask_stream *s, struct buf *out, struct mask_counts *counts)
{
    const struct mask_view t = {buf_str(&s->held), false, s->floor};
    const struct mask_span *open;
    struct mask_spans f = {0};
    size_t to;

    assert(!s->inside && s->floor <= s->held.n);
    mask_scan(s->m, &t, &f);
    open = mask_open_block(s, &f);
    if (open) {
        size_t n = s->held.n;

        mask_render(s->m, t.s, (struct mask_range){s->floor, n}, &f, out, counts);
        s->inside = MASK_END_PEM;
        mask_out_to(s, n - open->from > MASK_PEM_LINE_MAX ? n - MASK_PEM_LINE_MAX : open->from);
    } else {
        to = mask_stream_measure_decided(s, &f);
        assert(to >= s->floor && to <= s->held.n);
        mask_render(s->m, t.s, (struct mask_range){s->floor, to}, &f, out, counts);
        if (s->held.n - to > MASK_HOLD_MAX)
            mask_stream_force_mask(s, &f, to, out, counts);
        else
            mask_out_to(s, to);
    }
    mask_spans_release(&f);
}

void mask_stream_feed(struct mask_stream *s, str piece, struct buf *out, struct mask_counts *counts)
{
    assert(s->floor <= s->held.n);
    while (piece.n > 0) {
        str some = str_slice(piece, 0, MASK_HOLD_MAX);

        piece = str_slice(piece, some.n, piece.n);
        buf_add(&s->held, some);
        if (!s->inside || mask_stream_skip_swallowed(s))
            mask_give_out(s, out, counts);
    }
}

void mask_stream_last(struct mask_stream *s, str piece, struct buf *out, struct mask_counts *counts)
{
    const struct mask_view t = {piece, true, 0};
    struct mask_spans f = {0};

    assert(s->floor <= s->held.n);
    if (s->held.n || s->inside || piece.n > MASK_HOLD_MAX) {
        mask_stream_feed(s, piece, out, counts);
        mask_stream_finish(s, out, counts);
        return;
    }
    mask_scan(s->m, &t, &f);
    mask_render(s->m, piece, (struct mask_range){0, piece.n}, &f, out, counts);
    mask_spans_release(&f);
}

void mask_stream_finish(struct mask_stream *s, struct buf *out, struct mask_counts *counts)
{
    assert(s->floor <= s->held.n);
    if (!s->inside || mask_stream_skip_swallowed(s)) {
        const struct mask_view t = {buf_str(&s->held), true, s->floor};
        struct mask_spans f = {0};

        mask_scan(s->m, &t, &f);
        mask_render(s->m, t.s, (struct mask_range){s->floor, t.s.n}, &f, out, counts);
        mask_spans_release(&f);
    }
    buf_reset(&s->held);
    s->floor = 0;
    s->inside = MASK_END_NOW;
}
