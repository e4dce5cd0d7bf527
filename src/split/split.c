/* How the splitter works.
 *
 * The splitter reads the text through a window: the current piece or, while bytes are buffered,
 * these bytes followed by the start of the piece. A step decides as much as the bytes in the window
 * allow, whatever may follow, and advances. If a decision needs more bytes, the rest of the window
 * is buffered and the same step is repeated with more. So no decision depends on where the text was
 * cut, and the state between pieces is only the place, the gap and the buffered bytes.
 *
 * There are three steps: text that may follow a marker (eat), white space that may be framing
 * (gap), and text up to the next marker (text). With "auto" an earlier step selects the format.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/simd.h"
#include "base/utf8.h"
#include "split/internal.h"

#define SHORT_MAX 256
#define SLICE_SIZE ((size_t)16 << 10)

static bool split_is_quote(char c)
{
    return c == '`' || c == '"' || c == '\'';
}

/* ---- the steps; false: the rest of the window is to be held ---- */

static bool split_step_pick(struct split *sp, const struct split_window *win)
{
    const struct split_format *picked;

    assert(sp->picking && !sp->started);
    if (split_pick(str_slice(win->w, win->at, win->w.n), win->more, &picked) == SPLIT_PART_MATCH)
        return false;
    assert(picked);
    split_use(sp, picked);
    return true;
}

static bool split_step_eat(struct split *sp, struct split_window *win)
{
    str rest = str_slice(win->w, win->at, win->w.n);
    enum split_kind kind = SPLIT_FRAMING;

    assert(sp->eat.n > 0);
    if (str_starts(rest, sp->eat)) {
        rest = str_slice(rest, 0, sp->eat.n);
    } else if (str_starts(sp->eat, rest)) {
        if (win->more)
            return false;
        if (!sp->format->cut_is_framing)
            rest = STR("");
    } else {
        rest = STR("");
    }
    split_emit(sp, sp->place == SPLIT_TOOLS ? SPLIT_TOOL : kind, rest);
    win->at += rest.n;
    sp->eat = STR("");
    return true;
}

static bool split_step_gap(struct split *sp, struct split_window *win)
{
    size_t to = win->at;
    struct split_hit hit;

    assert(sp->gap && !sp->picking && sp->eat.n == 0);
    while (to < win->w.n && to - win->at < SPLIT_GAP_MAX) {
        size_t n = sp->gap & SPLIT_GAP_START ? split_blank_size(win->w, to)
                                             : char_is_json_space(win->w.p[to]);

        if (n == SIZE_MAX && win->more)
            return false;
        if (n == 0 || n == SIZE_MAX)
            break;
        to += n;
    }
    if (to == win->w.n && to - win->at < SPLIT_GAP_MAX) {
        if (win->more)
            return false;
        if ((sp->gap & SPLIT_GAP_TOOL) ||
            (sp->gap == SPLIT_GAP_AFTER && sp->format->cut_is_framing))
            split_emit(sp, SPLIT_FRAMING, str_slice(win->w, win->at, to)), win->at = to;
        sp->gap = 0;
        return true;
    }
    if (to - win->at >= SPLIT_GAP_MAX ||
        !(sp->index->any_gap || sp->index->first[(uint8_t)win->w.p[to]] & SPLIT_BYTE_GAP)) {
        sp->gap = 0;
        return true;
    }
    switch (split_find(sp, win, to, sp->gap, &hit)) {
    case SPLIT_PART_MATCH:
        return false;
    case SPLIT_NO_MATCH:
        sp->gap = 0;
        return true;
    case SPLIT_FULL_MATCH:
        break;
    }
    sp->started = true;
    split_emit(sp, SPLIT_FRAMING, str_slice(win->w, win->at, to));
    assert(hit.size > 0 && hit.size <= win->w.n - to);
    win->at = to + hit.size;
    if (!(sp->gap & SPLIT_GAP_INSIDE))
        sp->gap = 0;
    split_take(sp, &hit, str_slice(win->w, to, win->at));
    return true;
}

/* Whether the quote character before the marker follows its first `size` bytes as well. */
static enum split_match split_quote_follows(const struct split *sp, const struct split_window *win,
                                            struct split_hit *hit, size_t size)
{
    str rest = str_slice(win->w, win->at + size, win->w.n), eat = hit->mark.eat;

    if (eat.n > 1 && str_starts(rest, eat)) /* a token of the marker, not a line end */
        rest = str_slice(rest, eat.n, rest.n);
    if ((rest.n == 0 || (eat.n > 1 && str_starts(eat, rest))) && win->more)
        return SPLIT_PART_MATCH;
    if (!rest.n || rest.p[0] != sp->before)
        return SPLIT_NO_MATCH;
    hit->quoted = size;
    return SPLIT_FULL_MATCH;
}

/* Whether the marker found after the text so far counts in its place. */
static enum split_match split_allowed(struct split *sp, const struct split_window *win,
                                      struct split_hit *hit)
{
    unsigned rules = hit->mark.rules;
    const struct split_line *l = &sp->answer;

    assert(hit->size > 0);
    hit->quoted = 0;
    if ((rules & SPLIT_NOT_QUOTED) && split_is_quote(sp->before)) {
        enum split_match quoted = split_quote_follows(sp, win, hit, hit->token);

        if (quoted == SPLIT_NO_MATCH && hit->size > hit->token)
            quoted = split_quote_follows(sp, win, hit, hit->size);
        if (quoted != SPLIT_NO_MATCH)
            return quoted == SPLIT_PART_MATCH ? quoted : SPLIT_NO_MATCH;
    }
    if ((rules & SPLIT_AGAIN) && !sp->doubt) {
        sp->flags |= sp->seen ? 0 : SPLIT_UNOPENED_CLOSE;
        return SPLIT_NO_MATCH;
    }
    if (rules & SPLIT_AT_LINE)
        if (l->fence_size > 0 || !(sp->fresh || split_line_at_start(l))) {
            if (sp->nests && sp->doubt && hit->mark.to == SPLIT_REASON)
                sp->nested++; /* if the closer in doubt was text, this opener is inside the block */
            return SPLIT_NO_MATCH;
        }
    if (rules & SPLIT_NOT_CODE)
        if (l->fence_size > 0 || l->ticks_odd)
            return SPLIT_NO_MATCH;
    if (sp->place == SPLIT_REASON && hit->mark.to == SPLIT_OUT && sp->depth > 0) {
        sp->depth--;
        return SPLIT_NO_MATCH;
    }
    return SPLIT_FULL_MATCH;
}

static bool split_step_text(struct split *sp, struct split_window *win)
{
    str w = win->w;
    struct split_hit hit;

    for (size_t i = split_candidate(sp, w, win->at);; i = split_candidate(sp, w, i + 1)) {
        enum split_match found = SPLIT_NO_MATCH;

        if (i < w.n) {
            if (i + 1 < w.n && !split_is_second(sp->index, w.p[i + 1]))
                continue;
            found = split_find(sp, win, i, 0, &hit);
            if (found == SPLIT_NO_MATCH)
                continue;
        }
        if (i >= w.n) {
            str rest = str_slice(w, win->at, w.n);

            rest.n -= win->more ? utf8_tail(rest) : 0;
            split_text(sp, rest);
            win->at += rest.n;
            return win->at == w.n;
        }
        split_text(sp, str_slice(w, win->at, i));
        win->at = i;
        if (found == SPLIT_PART_MATCH)
            return false;
        found = split_allowed(sp, win, &hit);
        if (found == SPLIT_PART_MATCH)
            return false;
        if (found == SPLIT_FULL_MATCH)
            break;
        i += hit.quoted ? hit.quoted - 1 : 0;
    }
    assert(hit.size > 0 && hit.size <= w.n - win->at);
    win->at += hit.size;
    split_take(sp, &hit, str_slice(w, win->at - hit.size, win->at));
    return true;
}

/* Takes all steps that the window decides; how much of it is done with. */
static size_t split_scan_window(struct split *sp, str w, bool more)
{
    struct split_window win = {w, 0, more};
    bool going = true;

    while (going && win.at < w.n) {
        if (sp->picking)
            going = split_step_pick(sp, &win);
        else if (sp->eat.n > 0)
            going = split_step_eat(sp, &win);
        else if (sp->gap)
            going = split_step_gap(sp, &win);
        else
            going = split_step_text(sp, &win);
        assert(win.at <= w.n);
        sp->started |= win.at > 0;
    }
    assert(more || win.at == w.n);
    return win.at;
}

/* ---- the stage ---- */

void split_use(struct split *sp, const struct split_format *picked)
{
    assert(picked->mark_count == 0 || picked->marks);
    sp->picking = sp->plain = sp->steady = false;
    sp->format = picked;
    sp->index = picked->index;
    if (!sp->index || picked->also != sp->also) {
        split_index_build(&sp->own, picked, sp->also);
        sp->index = &sp->own;
    }
    if (picked->mark_count > 0 && picked->marks[0].pair) /* the block that the prompt opened */
        sp->pair = picked->marks[0].pair;
    sp->answer.count_ticks = sp->index->count_ticks;
    split_set_gap(sp, sp->place == SPLIT_REASON ? SPLIT_GAP_INSIDE : SPLIT_GAP_START);
}

void split_init(struct split *sp, const struct split_format *format, bool inside,
                struct split_sink sink)
{
    static const struct split_index none; /* until the format is picked */

    memset(sp, 0, offsetof(struct split, small));
    sp->hold = sp->small;
    sp->format = format;
    sp->index = &none;
    sp->also = format->also;
    sp->sink = sink;
    sp->eat = STR("");
    sp->place = inside ? SPLIT_REASON : SPLIT_OUT;
    sp->outer = SPLIT_OUT;
    sp->pair = SPLIT_UNNUMBERED;
    sp->seen = inside;
    sp->fresh = true;
    if (!format->picks)
        split_use(sp, format);
    else if (inside) /* a text without an opener: nearly all prompts open <think> */
        split_use(sp, split_format_picked(0));
    else
        sp->picking = true;
}

static void split_start(struct split *sp)
{
    if (!sp->started && sp->place == SPLIT_REASON)
        split_note(sp, SPLIT_BEGIN, SPLIT_REASONING, STR(""));
}

static inline unsigned split_four_bytes(const uint8_t *first, const uint8_t *p)
{
    return (unsigned)(first[p[0]] | first[p[1]] | first[p[2]] | first[p[3]]);
}

/* The union of the classes of 1 to 15 bytes, by the table of first bytes. Four at a time, and the
 * last ones together with some before them. */
static inline unsigned split_all_bytes(const struct split *sp, str piece)
{
    const uint8_t *first = sp->index->first, *p = (const uint8_t *)piece.p, *end = p + piece.n;
    unsigned all;

    assert(piece.n > 0 && piece.n < 16);
    if (piece.n < 4)
        return (unsigned)(first[p[0]] | first[p[piece.n / 2]] | first[end[-1]]);
    all = split_four_bytes(first, p);
    if (piece.n > 4)
        all |= split_four_bytes(first, end - 4);
    if (piece.n > 8)
        all |= split_four_bytes(first, p + 4) | split_four_bytes(first, end - 8);
    return all;
}

#if SIMD_HAS_16

/* The same of 16 and more, 16 at a time; bits of other places may be missing. */
static unsigned split_all_bytes_16(const struct split *sp, str piece)
{
    unsigned k = split_place_index(sp->place), count = sp->index->byte_count[k];
    const char *p = piece.p, *last = piece.p + piece.n - 16;
    simd16 none = simd_xor(simd_load(p), simd_load(p)), line = none, mark = none, all = none;

    for (;; p = last - p < 16 ? last : p + 16) {
        simd16 v = simd_load(p);

        all = simd_or(all, v);
        line = simd_or(line, simd_or(simd_eq(v, '\n'), simd_eq(v, '`')));
        for (unsigned i = 0; i < count; i++)
            mark = simd_or(mark, simd_eq(v, sp->index->byte[k][i]));
        if (p == last)
            break;
    }
    return (simd_high(all) ? SPLIT_BYTE_ABOVE : 0U) | (simd_bits(line) ? SPLIT_BYTE_LINE : 0U) |
           (simd_bits(mark) ? sp->place : 0U);
}

#else

static unsigned split_all_bytes_16(const struct split *sp, str piece)
{
    unsigned all = 0;

    for (size_t i = 0; i < piece.n; i++)
        all |= sp->index->first[(uint8_t)piece.p[i]];
    return all;
}

#endif

/* Whether nothing is held back and nothing may be: the next bytes are text, unless they begin a
 * marker. */
static bool split_is_open(const struct split *sp)
{
    return !sp->picking && sp->held == 0 && !sp->gap && sp->eat.n == 0 && sp->started;
}

/* The line that the text of the place we are in belongs to, if lines matter there; else NULL. */
static struct split_line *split_tracked_line(struct split *sp)
{
    if (sp->place == SPLIT_REASON)
        return sp->index->track_reason ? &sp->reason : NULL;
    return sp->index->track_answer ? &sp->answer : NULL;
}

static void split_set_plain(struct split *sp)
{
    const struct split_line *l = split_tracked_line(sp);

    sp->steady = split_is_open(sp) && !sp->doubt && (sp->place == SPLIT_REASON || !sp->fresh);
    sp->plain = sp->steady && (!l || l->state == SPLIT_LINE_TEXT);
    if (!sp->steady)
        return;
    sp->marking = (uint8_t)(sp->place | (sp->trusted ? 0U : SPLIT_BYTE_ABOVE));
    sp->special = (uint8_t)(sp->marking | (l ? SPLIT_BYTE_LINE : 0U));
    sp->plain_kind = (uint8_t)split_place_kind(sp->place);
}

/* Whether a marker may begin in the piece, by the first two bytes of markers. */
static bool split_may_mark(const struct split *sp, str piece)
{
    for (size_t i = 0; i < piece.n; i++)
        if (sp->index->first[(uint8_t)piece.p[i]] & sp->place &&
            (i + 1 == piece.n || split_is_second(sp->index, piece.p[i + 1])))
            return true;
    return false;
}

/* A short piece of text that no marker begins in, while nothing is waiting; false: it is not. */
static bool split_feed_text(struct split *sp, str piece, unsigned all)
{
    if (!split_is_open(sp) || ((all & sp->place) && split_may_mark(sp, piece)))
        return false;
    if (!sp->trusted && (all & SPLIT_BYTE_ABOVE) && !(utf8_tail(piece) == 0 && utf8_valid(piece)))
        return false;
    split_checked(sp, piece, all & SPLIT_BYTE_LINE);
    return true;
}

static size_t split_hold_size(const struct split *sp)
{
    return sp->hold == sp->small ? SPLIT_HOLD_SMALL : SPLIT_HOLD_MAX;
}

NOINLINE static void split_hold_grow(struct split *sp)
{
    if (!sp->large)
        sp->large = sp->arena ? arena_alloc(sp->arena, SPLIT_HOLD_MAX) : sp->room;
    memcpy(sp->large, sp->small, SPLIT_HOLD_SMALL);
    sp->hold = sp->large;
}

/* Processes the buffered bytes with as much of the piece as decides them; returns the rest of the
 * piece. */
static str split_feed_held(struct split *sp, str piece)
{
    while (sp->held > 0 && piece.n > 0) {
        size_t had = sp->held, room = split_hold_size(sp) - had;
        size_t n = piece.n < room ? piece.n : room, used;

        memcpy(sp->hold + had, piece.p, n);
        used = split_scan_window(sp, (str){sp->hold, had + n}, true);
        assert(used <= had + n);
        if (used >= had) {
            sp->held = 0;
            return str_slice(piece, used - had, piece.n);
        }
        assert(used > 0 || had + n < SPLIT_HOLD_MAX);
        sp->held = had + n - used;
        memmove(sp->hold, sp->hold + used, sp->held);
        if (sp->held == SPLIT_HOLD_SMALL && sp->hold == sp->small)
            split_hold_grow(sp);
        piece = str_slice(piece, n, piece.n);
    }
    return piece;
}

static void split_feed_any(struct split *sp, str piece)
{
    if (!sp->started && sp->held == 0)
        split_start(sp);
    piece = split_feed_held(sp, piece);
    assert(sp->held == 0 || piece.n == 0);
    while (piece.n > 0) { /* by slices that stay in the cache, since text is looked at twice */
        str slice = str_slice(piece, 0, SLICE_SIZE);
        size_t used = split_scan_window(sp, slice, true);

        if (slice.n == piece.n) {
            sp->held = piece.n - used;
            assert(sp->held < SPLIT_HOLD_MAX);
            if (sp->held >= split_hold_size(sp))
                split_hold_grow(sp);
            memcpy(sp->hold, piece.p + used, sp->held);
            return;
        }
        assert(used > 0);
        piece = str_slice(piece, used, piece.n);
    }
}

/* Text of `plain_kind`, and no more than that. */
static inline void split_feed_plain(struct split *sp, str piece)
{
    assert_slow(sp->held == 0 && sp->steady);
    sp->size[sp->plain_kind] += piece.n;
    sp->before = piece.p[piece.n - 1];
    sp->sink.on_run(sp->sink.ctx, (enum split_kind)sp->plain_kind, piece);
}

/* The same if only code fences and line starts matter. */
static void split_feed_lines(struct split *sp, str piece)
{
    struct split_line *l = split_tracked_line(sp);

    assert(l && sp->steady && !sp->doubt && sp->held == 0);
    split_line_feed(l, piece);
    sp->plain = l->state == SPLIT_LINE_TEXT;
    split_feed_plain(sp, piece);
}

NOINLINE static void split_feed_slow(struct split *sp, str piece, unsigned all)
{
    if (sp->steady && !(all & sp->marking)) {
        split_feed_lines(sp, piece);
        return;
    }
    if (piece.n > SHORT_MAX || !split_feed_text(sp, piece, all))
        split_feed_any(sp, piece);
    split_set_plain(sp);
}

NOINLINE static void split_feed_long(struct split *sp, str piece)
{
    unsigned all = piece.n <= SHORT_MAX ? split_all_bytes_16(sp, piece) : ~0U;

    if (sp->plain && !(all & sp->special))
        split_feed_plain(sp, piece);
    else
        split_feed_slow(sp, piece, all);
}

/* Most pieces are a few bytes of text that no marker begins in: they need no more than a look. */
void split_feed(struct split *sp, str piece)
{
    unsigned all;

    if (piece.n >= 16) {
        split_feed_long(sp, piece);
    } else if (piece.n > 0) {
        all = split_all_bytes(sp, piece);
        if (sp->plain && !(all & sp->special))
            split_feed_plain(sp, piece);
        else
            split_feed_slow(sp, piece, all);
    }
}

bool split_is_answer(const struct split *sp, str piece)
{
    unsigned all;

    if (!sp->steady || !sp->trusted || sp->plain_kind != SPLIT_ANSWER || piece.n == 0 ||
        piece.n > SHORT_MAX)
        return false;
    all = piece.n < 16 ? split_all_bytes(sp, piece) : split_all_bytes_16(sp, piece);
    return !(all & sp->marking);
}

bool split_is_inside(const struct split *sp)
{
    return sp->place == SPLIT_REASON || (sp->place == SPLIT_TOOLS && sp->back == SPLIT_REASON);
}

void split_finish(struct split *sp)
{
    assert(sp->held <= SPLIT_HOLD_MAX);
    if (!sp->started && sp->held == 0)
        split_start(sp);
    split_scan_window(sp, (str){sp->hold, sp->held}, false);
    sp->held = 0;
    split_settle(sp);
    sp->state = split_is_inside(sp) ? SPLIT_UNCLOSED : sp->seen ? SPLIT_COMPLETE : SPLIT_NONE;
    if (sp->place == SPLIT_TOOLS && !sp->format->header &&
        sp->index->byte_count[split_place_index(SPLIT_TOOLS)] >
            0) /* it has an end, and that was not seen */
        sp->flags |= SPLIT_CUT_TOOL;
    if (sp->place == SPLIT_REASON || sp->place == SPLIT_TOOLS)
        split_note(sp, SPLIT_END, split_place_kind(sp->place), STR(""));
    if (sp->place == SPLIT_TOOLS && sp->back == SPLIT_REASON)
        split_note(sp, SPLIT_END, SPLIT_REASONING, STR(""));
}

/* ---- names ---- */

const char *split_kind_name(enum split_kind kind)
{
    static const char *const names[] = {"reasoning", "answer", "tool", "framing"};

    assert((unsigned)kind < COUNT_OF(names));
    return names[kind];
}

const char *split_state_name(enum split_state state)
{
    static const char *const names[] = {"none", "complete", "unclosed"};

    assert((unsigned)state < COUNT_OF(names));
    return names[state];
}

const char *split_flag_name(unsigned number)
{
    static const char *const names[SPLIT_FLAG_COUNT] = {
        "ambiguous_close",
        "reclassified",
        "malformed",
        "invalid_utf8",
        "stray_close",
        "implicit_end",
        "cut_tool",
        "unopened_close",
        "unread_tool",
        "mismatched_close",
        "unclosed",
    };

    assert(number < SPLIT_FLAG_COUNT);
    return names[number];
}
