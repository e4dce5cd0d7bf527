/* How the splitter works.
 *
 * The text is looked at through a window: the piece that was fed or, while something is held back,
 * the held bytes with the front of the piece behind them. A step decides as much as the bytes in
 * the window decide, whatever may follow, and moves on; when a decision needs bytes that are not
 * there yet, the rest of the window is held and the same step is taken again with more. So no
 * decision can depend on where the text was cut, and all that has to be remembered between pieces
 * is the place, the gap and the hold.
 *
 * Three steps: what a marker may be followed by (eat), white space that may be framing (gap), and
 * text up to the next marker (text).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "split/split.h"

#include "base/utf8.h"

/* White space that may turn out to be framing is held no longer than this. */
#define GAP_MAX 64
#define SUFFIX_MAX 32
#define BLOCK 256 /* bytes looked through at a time when several first bytes are wanted */

struct window {
    str w;
    size_t at;
    bool more;
};

static unsigned place_index(unsigned place)
{
    return (unsigned)__builtin_ctz(place);
}

static enum split_kind place_kind(unsigned place)
{
    static const uint8_t kinds[SPLIT_PLACE_COUNT] = {
        SPLIT_ANSWER,
        SPLIT_ANSWER,
        SPLIT_REASONING,
        SPLIT_TOOL,
        SPLIT_FRAMING,
    };

    return (enum split_kind)kinds[place_index(place)];
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool is_quote(char c)
{
    return c == '`' || c == '"' || c == '\'';
}

/* ---- what goes out ---- */

static void note(struct split *sp, enum split_note_what what, enum split_kind kind, str name)
{
    struct split_note n = {what, kind, name, sp->since};

    if (sp->sink.on_note)
        sp->sink.on_note(sp->sink.ctx, &n);
}

static void emit(struct split *sp, enum split_kind kind, str run)
{
    if (run.n == 0)
        return;
    sp->size[kind] += run.n;
    if (sp->ambiguous) {
        sp->since += run.n;
        sp->since_framing += kind == SPLIT_FRAMING ? run.n : 0;
        split_line_feed(&sp->reason, run);
    }
    sp->sink.on_run(sp->sink.ctx, kind, run);
}

static void settle(struct split *sp)
{
    if (!sp->ambiguous)
        return;
    note(sp, SPLIT_SETTLED, SPLIT_REASONING, STR(""));
    sp->ambiguous = false;
    sp->since = sp->since_framing = 0;
}

static bool all_space(str run)
{
    for (size_t i = 0; i < run.n; i++)
        if (!is_space(run.p[i]))
            return false;
    return true;
}

/* Text of the place we are in, marker-free. */
static void text(struct split *sp, str run)
{
    if (run.n == 0)
        return;
    emit(sp, place_kind(sp->place), run);
    sp->before = run.p[run.n - 1];
    if (!utf8_valid(run))
        sp->flags |= SPLIT_INVALID_UTF8;
    if (sp->place == SPLIT_REASON) {
        if (sp->track_reason)
            split_line_feed(&sp->reason, run);
        return;
    }
    if (sp->fresh)
        sp->fresh = all_space(run);
    if (sp->track_answer)
        split_line_feed(&sp->answer, run);
    if (sp->ambiguous && sp->reason.reopened)
        settle(sp);
}

/* ---- moving between places ---- */

/* A gap that no marker of the format is looked for in is none: nothing is held for it. */
static void set_gap(struct split *sp, unsigned gap)
{
    sp->gap = (uint8_t)(gap & sp->gaps);
}

static void enter_reason(struct split *sp, const struct split_mark *m)
{
    settle(sp);
    sp->place = SPLIT_REASON;
    sp->pair = m->pair;
    sp->before = 0;
    sp->depth = 0;
    sp->seen = true;
    sp->implicit = false;
    split_line_reset(&sp->reason);
    set_gap(sp, SPLIT_GAP_INSIDE);
    note(sp, SPLIT_BEGIN, SPLIT_REASONING, STR(""));
}

/* A block has ended; what follows is between blocks. */
static void enter_out(struct split *sp, unsigned gap)
{
    sp->place = SPLIT_OUT;
    sp->before = 0;
    sp->fresh = true;
    set_gap(sp, gap);
}

static void enter_wrap(struct split *sp, const struct split_mark *m)
{
    settle(sp);
    sp->place = SPLIT_WRAP;
    sp->before = 0;
    sp->gap = 0;
    sp->fresh = true;
    if (m->rules & SPLIT_MESSAGE)
        note(sp, SPLIT_BEGIN, SPLIT_ANSWER, STR(""));
}

static void leave_reason(struct split *sp)
{
    assert(sp->place == SPLIT_REASON);
    note(sp, SPLIT_END, SPLIT_REASONING, STR(""));
}

static void enter_tools(struct split *sp, const struct split_hit *hit)
{
    bool inside = hit->mark.rules & SPLIT_BACK;

    settle(sp);
    if (sp->place == SPLIT_REASON && !inside) {
        leave_reason(sp);
        sp->flags |= SPLIT_IMPLICIT_END;
        sp->implicit = true;
        sp->back = SPLIT_OUT;
    } else {
        sp->back = sp->place;
    }
    if (hit->mark.rules & SPLIT_TO_TAIL)
        sp->back = SPLIT_TAIL;
    sp->place = SPLIT_TOOLS;
    sp->pair = hit->mark.pair;
    sp->gap = 0;
    note(sp, SPLIT_BEGIN, SPLIT_TOOL, hit->name);
}

static void leave_tools(struct split *sp)
{
    note(sp, SPLIT_END, SPLIT_TOOL, STR(""));
    if (sp->back == SPLIT_REASON) {
        sp->place = SPLIT_REASON;
        sp->pair = 0;
        sp->before = 0;
        return;
    }
    enter_out(sp, SPLIT_GAP_TOOL | SPLIT_GAP_AFTER);
    sp->place = sp->back;
    if (sp->place == SPLIT_TAIL)
        sp->gap = 0;
}

/* The closer before this one stood in a code fence and was text after all. */
static void reclassify(struct split *sp)
{
    sp->size[SPLIT_REASONING] += sp->since;
    sp->size[SPLIT_FRAMING] -= sp->since_framing;
    sp->size[SPLIT_ANSWER] -= sp->since - sp->since_framing;
    sp->flags |= SPLIT_RECLASSIFIED;
    note(sp, SPLIT_RECLASSIFY, SPLIT_REASONING, STR(""));
    sp->ambiguous = false;
    sp->since = sp->since_framing = 0;
    sp->answer = sp->answer_then;
}

/* A closer of reasoning: from inside it, or, while the last one is in doubt, from behind it. */
static void close_reason(struct split *sp, const struct split_mark *m, str bytes)
{
    bool again = sp->place != SPLIT_REASON;

    if (again)
        reclassify(sp);
    if (sp->reason.fence_size > 0 && (m->rules & (SPLIT_FENCED | SPLIT_AGAIN))) {
        sp->flags |= SPLIT_AMBIGUOUS_CLOSE;
        sp->answer_then = sp->answer;
        note(sp, SPLIT_AMBIGUOUS, SPLIT_REASONING, STR(""));
        sp->ambiguous = true;
        sp->reason.reopened = false;
    }
    emit(sp, SPLIT_FRAMING, bytes);
    if (!again)
        leave_reason(sp);
    enter_out(sp, SPLIT_GAP_AFTER);
}

static void leave_for_block(struct split *sp)
{
    if (sp->place != SPLIT_REASON)
        return;
    leave_reason(sp);
    sp->flags |= SPLIT_IMPLICIT_END;
}

/* A marker that leads nowhere: framing, or text of a nested block. */
static void stay(struct split *sp, const struct split_mark *m, str bytes)
{
    if (m->rules & SPLIT_DEEPER) {
        sp->depth++;
        text(sp, bytes);
        return;
    }
    emit(sp, SPLIT_FRAMING, bytes);
    if (m->rules & SPLIT_STRAY)
        sp->flags |= SPLIT_STRAY_CLOSE;
    if (m->rules & SPLIT_EMPTY) {
        sp->seen = true;
        note(sp, SPLIT_BEGIN, SPLIT_REASONING, STR(""));
        note(sp, SPLIT_END, SPLIT_REASONING, STR(""));
    }
    if (sp->place == SPLIT_OUT)
        enter_out(sp, SPLIT_GAP_AFTER);
    sp->implicit = false;
}

static void take(struct split *sp, const struct split_hit *hit, str bytes)
{
    const struct split_mark *m = &hit->mark;

    sp->eat = m->eat;
    if (m->rules & SPLIT_BAD)
        sp->flags |= SPLIT_MALFORMED;
    if (sp->place == SPLIT_TOOLS) { /* its end, or a header that cuts it short */
        emit(sp, sp->format->header ? SPLIT_FRAMING : SPLIT_TOOL, bytes);
        leave_tools(sp);
        bytes = STR("");
        if (m->to == SPLIT_OUT)
            return;
    }
    if (m->to == SPLIT_STAY) {
        stay(sp, m, bytes);
    } else if (m->to == SPLIT_TOOLS && !sp->format->header) {
        enter_tools(sp, hit);
        emit(sp, SPLIT_TOOL, bytes);
    } else if (m->to == SPLIT_TOOLS) { /* a header is framing: the message is the markup */
        emit(sp, SPLIT_FRAMING, bytes);
        enter_tools(sp, hit);
    } else if (m->to == SPLIT_REASON) {
        emit(sp, SPLIT_FRAMING, bytes);
        if (sp->place != SPLIT_REASON || sp->format->header) {
            if (sp->place == SPLIT_REASON)
                leave_reason(sp);
            enter_reason(sp, m);
        }
    } else if (m->to == SPLIT_WRAP) {
        emit(sp, SPLIT_FRAMING, bytes);
        leave_for_block(sp);
        enter_wrap(sp, m);
    } else if (sp->place == SPLIT_REASON || (m->rules & SPLIT_AGAIN)) {
        close_reason(sp, m, bytes);
    } else {
        emit(sp, SPLIT_FRAMING, bytes);
        enter_out(sp, SPLIT_GAP_AFTER);
    }
}

/* ---- finding markers ---- */

/* Behind "<think" there must be ">" or ":word>". How long the whole is, 0 if it is no match, or
 * SIZE_MAX if the text is too short to say. */
static size_t with_suffix(str mark, str s)
{
    size_t at = mark.n;

    if (at == s.n)
        return SIZE_MAX;
    if (s.p[at] == '>')
        return at + 1;
    if (s.p[at++] != ':')
        return 0;
    for (size_t n = 0; n <= SUFFIX_MAX; n++, at++) {
        if (at == s.n)
            return SIZE_MAX;
        if (s.p[at] == '>')
            return n > 0 ? at + 1 : 0;
        if (!(s.p[at] == '_' || s.p[at] == '-' || (s.p[at] >= '0' && s.p[at] <= '9') ||
              ((s.p[at] | 32) >= 'a' && (s.p[at] | 32) <= 'z')))
            return 0;
    }
    return 0;
}

/* How much of s the mark takes: 0, SIZE_MAX if s is only the front of it. */
static size_t mark_size(const struct split_mark *m, str s)
{
    size_t n = m->text.n < s.n ? m->text.n : s.n;

    if (n > 1 && m->text.p[1] != s.p[1])
        return 0;
    if (memcmp(m->text.p, s.p, n) != 0)
        return 0;
    if (n < m->text.n)
        return SIZE_MAX;
    return m->rules & SPLIT_SUFFIX ? with_suffix(m->text, s) : n;
}

static bool may_be(const struct split *sp, const struct split_mark *m)
{
    if ((m->rules & SPLIT_AGAIN) && !sp->ambiguous)
        return false;
    if ((m->rules & SPLIT_LATE) && !sp->implicit)
        return false;
    return !m->pair || m->pair == sp->pair || !(sp->place & (SPLIT_REASON | SPLIT_TOOLS)) ||
           m->to == SPLIT_TOOLS || m->to == SPLIT_REASON;
}

/* The text ended inside a marker of which at least one token is whole. */
static bool is_cut(const struct split *sp, str s)
{
    return sp->format->cut_is_framing && memchr(s.p, '>', s.n);
}

/* The longest marker at the front of s. `gap` is 0 for those of the place we are in. */
static enum split_match match(const struct split *sp, const struct window *win, size_t from,
                              unsigned gap, struct split_hit *hit)
{
    str s = str_slice(win->w, from, win->w.n);
    bool part = false;

    *hit = (struct split_hit){.name = STR("")};
    for (size_t i = 0; i < sp->format->mark_count; i++) {
        const struct split_mark *m = &sp->format->marks[i];
        size_t size;

        if (!(gap ? m->gap & gap : m->in & sp->place) || m->text.p[0] != s.p[0] || !may_be(sp, m))
            continue;
        size = mark_size(m, s);
        if (size == SIZE_MAX)
            part = true;
        else if (size > hit->size)
            hit->mark = *m, hit->size = hit->token = size;
    }
    if (part && win->more)
        return SPLIT_PART_MATCH;
    if (part && is_cut(sp, s)) {
        if (hit->size == 0)
            hit->mark = (struct split_mark){.eat = STR("")};
        hit->size = s.n;
        return SPLIT_FULL_MATCH;
    }
    if (hit->size == 0 && sp->format->header) {
        struct split_at at = {s, win->more, gap != 0 || sp->place == SPLIT_OUT, sp->started};

        return sp->format->header(&at, hit);
    }
    return hit->size > 0 ? SPLIT_FULL_MATCH : SPLIT_NO_MATCH;
}

/* The next byte that could begin a marker, or the end. */
static size_t candidate(const struct split *sp, str w, size_t from)
{
    unsigned k = place_index(sp->place);
    const uint8_t *bytes = sp->byte[k];
    unsigned count = sp->byte_count[k];

    if (w.n - from <= 16) {
        while (from < w.n && !(sp->first[(uint8_t)w.p[from]] & sp->place))
            from++;
        return from;
    }
    if (count == 0)
        return w.n;
    if (count == 1) {
        const char *p = memchr(w.p + from, bytes[0], w.n - from);

        return p ? (size_t)(p - w.p) : w.n;
    }
    for (; from < w.n; from += BLOCK) {
        size_t size = w.n - from < BLOCK ? w.n - from : BLOCK;
        size_t near = size;

        for (unsigned i = 0; i < count && near > 0; i++) {
            const char *p = memchr(w.p + from, bytes[i], near);

            if (p)
                near = (size_t)(p - (w.p + from));
        }
        if (near < size)
            return from + near;
    }
    return w.n;
}

/* ---- the steps; false: the rest of the window is to be held ---- */

static bool step_eat(struct split *sp, struct window *win)
{
    str rest = str_slice(win->w, win->at, win->w.n);
    enum split_kind kind = SPLIT_FRAMING;

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
    emit(sp, sp->place == SPLIT_TOOLS ? SPLIT_TOOL : kind, rest);
    win->at += rest.n;
    sp->eat = STR("");
    return true;
}

static bool step_gap(struct split *sp, struct window *win)
{
    size_t to = win->at;
    struct split_hit hit;

    while (to < win->w.n && is_space(win->w.p[to]) && to - win->at < GAP_MAX)
        to++;
    if (to == win->w.n && to - win->at < GAP_MAX) {
        if (win->more)
            return false;
        if ((sp->gap & SPLIT_GAP_TOOL) ||
            (sp->gap == SPLIT_GAP_AFTER && sp->format->cut_is_framing))
            emit(sp, SPLIT_FRAMING, str_slice(win->w, win->at, to)), win->at = to;
        sp->gap = 0;
        return true;
    }
    if (to - win->at == GAP_MAX) {
        sp->gap = 0;
        return true;
    }
    switch (match(sp, win, to, sp->gap, &hit)) {
    case SPLIT_PART_MATCH:
        return false;
    case SPLIT_NO_MATCH:
        sp->gap = 0;
        return true;
    case SPLIT_FULL_MATCH:
        break;
    }
    sp->started = true;
    emit(sp, SPLIT_FRAMING, str_slice(win->w, win->at, to));
    win->at = to + hit.size;
    if (!(sp->gap & SPLIT_GAP_INSIDE))
        sp->gap = 0;
    take(sp, &hit, str_slice(win->w, to, win->at));
    return true;
}

/* Whether the marker found behind the text so far is one where it stands. */
static enum split_match allowed(struct split *sp, const struct window *win,
                                const struct split_hit *hit)
{
    unsigned rules = hit->mark.rules;
    const struct split_line *l = &sp->answer;

    if (rules & SPLIT_NOT_QUOTED) {
        size_t next = win->at + hit->token;

        if (is_quote(sp->before)) {
            if (next == win->w.n && win->more)
                return SPLIT_PART_MATCH;
            if (next < win->w.n && win->w.p[next] == sp->before)
                return SPLIT_NO_MATCH;
        }
    }
    if (rules & SPLIT_AT_LINE)
        if (l->fence_size > 0 || !(sp->fresh || split_line_at_start(l)))
            return SPLIT_NO_MATCH;
    if (rules & SPLIT_NOT_CODE)
        if (l->fence_size > 0 || l->ticks_odd)
            return SPLIT_NO_MATCH;
    if (sp->place == SPLIT_REASON && hit->mark.to == SPLIT_OUT && sp->depth > 0) {
        sp->depth--;
        return SPLIT_NO_MATCH;
    }
    return SPLIT_FULL_MATCH;
}

static bool step_text(struct split *sp, struct window *win)
{
    str w = win->w;
    struct split_hit hit;

    for (size_t i = candidate(sp, w, win->at);; i = candidate(sp, w, i + 1)) {
        enum split_match found = SPLIT_NO_MATCH;

        if (i < w.n) {
            found = match(sp, win, i, 0, &hit);
            if (found == SPLIT_NO_MATCH)
                continue;
        }
        if (i >= w.n) {
            str rest = str_slice(w, win->at, w.n);

            rest.n -= win->more ? utf8_tail(rest) : 0;
            text(sp, rest);
            win->at += rest.n;
            return win->at == w.n;
        }
        text(sp, str_slice(w, win->at, i));
        win->at = i;
        if (found == SPLIT_PART_MATCH)
            return false;
        found = allowed(sp, win, &hit);
        if (found == SPLIT_PART_MATCH)
            return false;
        if (found == SPLIT_FULL_MATCH)
            break;
    }
    win->at += hit.size;
    take(sp, &hit, str_slice(w, win->at - hit.size, win->at));
    return true;
}

/* Takes all steps that the window decides; how much of it is done with. */
static size_t scan(struct split *sp, str w, bool more)
{
    struct window win = {w, 0, more};
    bool going = true;

    while (going && win.at < w.n) {
        if (sp->eat.n > 0)
            going = step_eat(sp, &win);
        else if (sp->gap)
            going = step_gap(sp, &win);
        else
            going = step_text(sp, &win);
        sp->started |= win.at > 0;
    }
    assert(more || win.at == w.n);
    return win.at;
}

/* ---- the stage ---- */

static void index_first_bytes(struct split *sp)
{
    const struct split_format *f = sp->format;

    memset(sp->first, 0, sizeof sp->first);
    for (size_t i = 0; i < f->mark_count; i++)
        sp->first[(uint8_t)f->marks[i].text.p[0]] |= f->marks[i].in;
    if (f->header)
        sp->first['<'] |= SPLIT_OUT | SPLIT_WRAP | SPLIT_REASON | SPLIT_TOOLS;
    for (unsigned k = 0; k < SPLIT_PLACE_COUNT; k++) {
        sp->byte_count[k] = 0;
        for (unsigned c = 0; c < 256; c++)
            if (sp->first[c] >> k & 1) {
                assert(sp->byte_count[k] < SPLIT_FIRST_MAX);
                sp->byte[k][sp->byte_count[k]++] = (uint8_t)c;
            }
    }
}

void split_init(struct split *sp, const struct split_format *format, bool inside,
                struct split_sink sink)
{
    memset(sp, 0, offsetof(struct split, hold));
    sp->format = format;
    sp->sink = sink;
    sp->eat = STR("");
    sp->place = inside ? SPLIT_REASON : SPLIT_OUT;
    sp->seen = inside;
    sp->fresh = true;
    index_first_bytes(sp);
    sp->gaps = SPLIT_GAP_TOOL | (format->header ? SPLIT_GAP_START | SPLIT_GAP_AFTER : 0);
    for (size_t i = 0; i < format->mark_count; i++) {
        unsigned rules = format->marks[i].rules;

        sp->gaps |= format->marks[i].gap;

        sp->track_answer |= (rules & (SPLIT_AT_LINE | SPLIT_NOT_CODE)) != 0;
        sp->track_reason |= (rules & SPLIT_FENCED) != 0;
    }
    set_gap(sp, inside ? SPLIT_GAP_INSIDE : SPLIT_GAP_START);
}

static void start(struct split *sp)
{
    if (!sp->started && sp->place == SPLIT_REASON)
        note(sp, SPLIT_BEGIN, SPLIT_REASONING, STR(""));
}

void split_feed(struct split *sp, str piece)
{
    size_t used;

    if (piece.n == 0)
        return;
    if (!sp->started && sp->held == 0)
        start(sp);
    while (sp->held > 0 && piece.n > 0) {
        size_t had = sp->held, room = SPLIT_HOLD_MAX - had;
        size_t n = piece.n < room ? piece.n : room;

        memcpy(sp->hold + had, piece.p, n);
        used = scan(sp, (str){sp->hold, had + n}, true);
        if (used >= had) {
            sp->held = 0;
            piece = str_slice(piece, used - had, piece.n);
            break;
        }
        assert(used > 0 || had + n < SPLIT_HOLD_MAX);
        sp->held = had + n - used;
        memmove(sp->hold, sp->hold + used, sp->held);
        piece = str_slice(piece, n, piece.n);
    }
    if (piece.n == 0)
        return;
    used = scan(sp, piece, true);
    assert(piece.n - used < SPLIT_HOLD_MAX);
    sp->held = piece.n - used;
    memcpy(sp->hold, piece.p + used, sp->held);
}

void split_finish(struct split *sp)
{
    if (!sp->started && sp->held == 0)
        start(sp);
    scan(sp, (str){sp->hold, sp->held}, false);
    sp->held = 0;
    settle(sp);
    sp->state = sp->place == SPLIT_REASON ? SPLIT_UNCLOSED : sp->seen ? SPLIT_COMPLETE : SPLIT_NONE;
    if (sp->place == SPLIT_TOOLS && sp->back == SPLIT_REASON)
        sp->state = SPLIT_UNCLOSED;
    if (sp->place == SPLIT_TOOLS && !sp->format->header)
        sp->flags |= SPLIT_CUT_TOOL;
    if (sp->place == SPLIT_REASON || sp->place == SPLIT_TOOLS)
        note(sp, SPLIT_END, place_kind(sp->place), STR(""));
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
    };

    assert(number < SPLIT_FLAG_COUNT);
    return names[number];
}
