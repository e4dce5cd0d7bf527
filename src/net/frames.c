/* frames.c - finds the ends of frames, and their fields.
 *
 * A server-sent event is read twice, both times with memchr: once for its end, which may take many
 * pieces, and then, complete, for its fields. The search for line ends remembers the positions of
 * the next LF and the next CR, so a piece with many of one and none of the other is searched only
 * once for each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/frames.h"

#define KEEP_MAX 4096 /* bytes of memory kept for the next frame */

static const char bom[] = "\xEF\xBB\xBF";
#define BOM_SIZE 3

void frames_init(struct frames *f, enum frames_kind kind, size_t size_max, struct frames_sink sink)
{
    assert(sink.on_frame);
    *f = (struct frames){.kind = kind, .sink = sink};
    f->lent = STR("");
    buf_init(&f->held, size_max);
}

void frames_offer_rows(struct frames *f, size_t (*on_row)(void *ctx, str bytes))
{
    f->on_row = on_row;
}

void frames_lend(struct frames *f, struct loop *lender)
{
    f->lender = lender;
}

static void frames_give_back(struct frames *f)
{
    loop_early_let_go(f->early);
    f->early = NULL;
    f->lent = STR("");
}

void frames_release(struct frames *f)
{
    frames_give_back(f);
    buf_release(&f->held);
    if (f->data)
        buf_release(f->data);
    free(f->data);
    f->data = NULL;
}

static void frames_reset_buffer(struct buf *b)
{
    if (b->cap > KEEP_MAX)
        buf_release(b);
    else
        buf_reset(b);
}

/* A piece and where its next line ends are. */
struct ends {
    str s;
    size_t lf, cr; /* s.n if not found; searched again once passed */
};

static size_t frames_look(str s, size_t at, char c)
{
    const char *hit = memchr(s.p + at, c, s.n - at);

    return hit ? (size_t)(hit - s.p) : s.n;
}

static struct ends frames_ends_of(str s, size_t at)
{
    return (struct ends){s, frames_look(s, at, '\n'), frames_look(s, at, '\r')};
}

/* The first line end from `at` on, or the length. */
static size_t frames_line_end(struct ends *e, size_t at)
{
    if (e->lf < at)
        e->lf = frames_look(e->s, at, '\n');
    if (e->cr < at)
        e->cr = frames_look(e->s, at, '\r');
    return e->lf < e->cr ? e->lf : e->cr;
}

/* ---- server-sent events: their fields ---- */

static str frames_field_value(str line, size_t name_size)
{
    size_t from = name_size + 1;

    if (from < line.n && line.p[from] == ' ')
        from++;
    return str_slice(line, from, line.n);
}

static bool frames_is_field(str line, str name)
{
    return str_starts(line, name) && (line.n == name.n || line.p[name.n] == ':');
}

static struct buf *frames_begin_data(struct frames *f)
{
    if (!f->data) {
        f->data = base_alloc(sizeof *f->data);
        buf_init(f->data, f->held.size_max);
    }
    return f->data;
}

static void frames_emit_event(struct frames *f, str raw)
{
    struct frames_frame frame = {STR(""), STR(""), raw};
    struct ends ends = frames_ends_of(raw, 0);
    size_t lines = 0;

    for (size_t at = 0, end; at < raw.n; at = end + 1) {
        str line;

        end = frames_line_end(&ends, at);
        line = str_slice(raw, at, end);
        if (frames_is_field(line, STR("data"))) {
            str value = frames_field_value(line, 4);

            if (lines++ == 0) {
                frame.data = value;
                continue;
            }
            if (lines == 2)
                buf_add(frames_begin_data(f), frame.data);
            buf_add_c(f->data, '\n');
            buf_add(f->data, value);
        } else if (frames_is_field(line, STR("event"))) {
            frame.name = frames_field_value(line, 5);
        }
    }
    if (lines > 1)
        frame.data = buf_str(f->data);
    assert(!f->data || !f->data->full); /* it is never longer than raw */
    f->sink.on_frame(f->sink.ctx, &frame);
    if (f->data)
        frames_reset_buffer(f->data);
}

/* ---- server-sent events: where one ends ---- */

static size_t event_done(struct frames *f, size_t end)
{
    f->line_begun = f->cr = f->cr_ends = f->cr_alone = false;
    return end;
}

/* Where the event that is under way ends in this piece, or STR_NONE. */
static size_t frames_event_end(struct frames *f, struct ends *ends, size_t at)
{
    str s = ends->s;

    assert(at <= s.n);
    while (at < s.n) {
        size_t end;
        bool empty;

        if (f->cr) {
            f->cr = false;
            f->cr_alone = s.p[at] != '\n';
            at += !f->cr_alone;
            if (f->cr_ends)
                return event_done(f, at);
            continue;
        }
        end = frames_line_end(ends, at);
        empty = end == at && !f->line_begun;
        f->line_begun = end == s.n;
        if (end == s.n)
            return STR_NONE;
        at = end + 1;
        f->cr = s.p[end] == '\r';
        f->cr_ends = f->cr && empty;
        if (empty && (!f->cr || f->cr_alone))
            return event_done(f, at);
        f->cr_alone = false;
    }
    return STR_NONE;
}

/* ---- lines and whole bodies ---- */

static void frames_emit_line(struct frames *f, str raw)
{
    struct frames_frame frame = {STR(""), raw, raw};

    if (frame.data.n > 0 && frame.data.p[frame.data.n - 1] == '\n')
        frame.data.n--;
    if (frame.data.n > 0 && frame.data.p[frame.data.n - 1] == '\r')
        frame.data.n--;
    if (str_trim(frame.data).n == 0)
        frame.data = STR("");
    f->sink.on_frame(f->sink.ctx, &frame);
}

static void frames_emit_whole(struct frames *f, str raw)
{
    f->sink.on_frame(f->sink.ctx, &(struct frames_frame){STR(""), raw, raw});
}

/* ---- all kinds ---- */

static void frames_emit(struct frames *f, str raw)
{
    static void (*const emits[])(struct frames *, str) = {
        [FRAMES_SSE] = frames_emit_event,
        [FRAMES_LINES] = frames_emit_line,
        [FRAMES_WHOLE] = frames_emit_whole,
    };

    assert((size_t)f->kind < COUNT_OF(emits));
    emits[f->kind](f, raw);
}

/* The buffered and the given bytes together must not exceed the limit. */
static bool frames_fits(struct frames *f, size_t more)
{
    assert(f->held.n + f->lent.n <= f->held.size_max);
    if (more <= f->held.size_max - f->held.n - f->lent.n)
        return true;
    f->full = true;
    frames_release(f);
    return false;
}

static void frames_emit_with_held(struct frames *f, str rest)
{
    if (!frames_fits(f, rest.n))
        return;
    if (f->held.n == 0) {
        frames_emit(f, rest);
        return;
    }
    buf_add(&f->held, rest);
    frames_emit(f, buf_str(&f->held));
    frames_reset_buffer(&f->held);
}

static void frames_hold(struct frames *f, str rest)
{
    if (rest.n > 0 && frames_fits(f, rest.n))
        buf_add(&f->held, rest);
}

/* A whole body is not copied as long as it is one piece. */
static void frames_hold_whole(struct frames *f, str piece)
{
    assert(!f->early == !f->lent.n);
    if (!frames_fits(f, piece.n))
        return;
    if (f->lender && f->held.n == 0 && f->lent.n == 0) {
        f->early = loop_early_hold(f->lender, piece);
        if (f->early) {
            f->lent = piece;
            return;
        }
    }
    if (f->lent.n > 0) {
        buf_add(&f->held, f->lent);
        frames_give_back(f);
    }
    buf_add(&f->held, piece);
}

static str net_frames_whole(const struct frames *f)
{
    return f->lent.n > 0 ? f->lent : buf_str(&f->held);
}

static size_t frame_end(struct frames *f, struct ends *ends, size_t at)
{
    size_t end;

    if (f->kind == FRAMES_SSE)
        return frames_event_end(f, ends, at);
    end = frames_look(ends->s, at, '\n');
    return end < ends->s.n ? end + 1 : STR_NONE;
}

/* Most events are one line of data and arrive whole. Reads such an event without the line search,
 * or a row of them; returns the end, or 0. */
static size_t frames_emit_plain(struct frames *f, struct ends *ends, size_t from)
{
    str s = ends->s, rest = str_slice(s, from, s.n);
    size_t end;

    if (f->kind != FRAMES_SSE || f->held.n || f->line_begun || f->cr || f->cr_alone ||
        !str_starts(rest, STR("data: ")))
        return 0;
    end = f->on_row ? f->on_row(f->sink.ctx, rest) : 0;
    assert(end <= rest.n);
    if (end)
        return from + end;
    end = frames_line_end(ends, from);
    if (end + 1 >= s.n || s.p[end] != '\n' || s.p[end + 1] != '\n' ||
        !frames_fits(f, end + 2 - from))
        return 0;
    f->sink.on_frame(f->sink.ctx,
                     &(struct frames_frame){STR(""),
                                            str_slice(s, from + sizeof "data: " - 1, end),
                                            str_slice(s, from, end + 2)});
    return end + 2;
}

static void net_frames_feed(struct frames *f, str piece)
{
    struct ends ends = {piece, 0, 0};
    size_t from = 0;

    if (piece.n == 0)
        return;
    if (f->kind == FRAMES_WHOLE) {
        frames_hold_whole(f, piece);
        return;
    }
    if (f->kind == FRAMES_SSE)
        ends = frames_ends_of(piece, 0);
    while (from < piece.n && !f->full) {
        size_t end = frames_emit_plain(f, &ends, from);

        if (end) {
            from = end;
            continue;
        }
        if (f->full)
            break;
        end = frame_end(f, &ends, from);
        if (end == STR_NONE)
            break;
        assert(end >= from && end <= piece.n);
        frames_emit_with_held(f, str_slice(piece, from, end));
        from = end;
    }
    if (!f->full)
        frames_hold(f, str_slice(piece, from, piece.n));
}

/* Bytes that begin a BOM are neither kept nor scanned until it is known whether they are one. */
static str frames_skip_bom(struct frames *f, str piece)
{
    size_t at = 0;
    bool other = false;

    while (f->bom < BOM_SIZE && at < piece.n) {
        size_t seen = f->bom;

        if (piece.p[at] == bom[f->bom]) {
            f->bom++;
            at++;
            continue;
        }
        f->bom = BOM_SIZE;
        other = true;
        net_frames_feed(f, (str){bom, seen});
    }
    if (f->bom == BOM_SIZE && !other && f->kind != FRAMES_WHOLE)
        f->sink.on_frame(f->sink.ctx,
                         &(struct frames_frame){STR(""), STR(""), (str){bom, BOM_SIZE}});
    return str_slice(piece, at, piece.n);
}

void frames_feed(struct frames *f, str piece)
{
    assert(f->bom <= BOM_SIZE);
    if (f->full)
        return;
    if (f->bom < BOM_SIZE)
        piece = frames_skip_bom(f, piece);
    net_frames_feed(f, piece);
}

/* The bytes that looked like a byte order mark are not one. */
static void frames_no_mark(struct frames *f)
{
    size_t seen = f->bom;

    if (f->full || f->bom >= BOM_SIZE)
        return;
    f->bom = BOM_SIZE;
    net_frames_feed(f, (str){bom, seen});
}

str frames_whole(struct frames *f)
{
    assert(f->kind == FRAMES_WHOLE);
    frames_no_mark(f);
    return f->full ? STR("") : net_frames_whole(f);
}

void frames_finish(struct frames *f)
{
    frames_no_mark(f);
    if (f->full)
        return;
    if (f->lent.n > 0)
        frames_emit(f, f->lent);
    else if (f->held.n > 0)
        frames_emit_with_held(f, STR(""));
    frames_give_back(f);
    event_done(f, 0);
}
