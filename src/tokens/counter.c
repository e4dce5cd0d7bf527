/* Counts text that arrives in pieces.
 *
 * Small pieces are only collected until the count is read: many words at once cost a fraction of
 * the same words one by one.
 *
 * Text is split as far as it can be. The rest is a piece whose end is not decided; it is buffered
 * and split again when more text arrives, and is nearly always short. Once it is longer than
 * TOKENS_HELD_MAX it can only be one of a few endless runs, which are not buffered: each byte is
 * pushed into a window (bpe.c), which has the count so far.
 *
 *     RUN_UPPER   a word of o200k_base without a lower letter so far. If none comes, it must be cut
 *                 after its last letter of both cases: the mark
 *     RUN_WORD    any other word
 *     RUN_QUOTE   a word of o200k_base and an apostrophe: a contraction belongs to the word. What
 *                 may be one is held
 *     RUN_PUNCT   punctuation
 *     RUN_TAIL    the line ends after it
 *     RUN_BLANK   white space. It is cut after its last line end, the mark, and before its last
 *                 character, which goes to what follows
 *
 * The mark may still move, so both readings are counted: `whole` as if there were no cut, `rest` as
 * if the text after the mark were a separate piece.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens/internal.h"

#define SMALL_MAX 128 /* bytes of a piece that is worth counting at once */

_Static_assert(SMALL_MAX <= TOKENS_AHEAD_MAX, "a small piece finds room");

enum run { RUN_NONE, RUN_UPPER, RUN_WORD, RUN_QUOTE, RUN_PUNCT, RUN_TAIL, RUN_BLANK };

static void tokens_counter_push(struct tokens_counter *c, struct tokens_window *w, const uint8_t *p,
                                size_t n)
{
    for (size_t i = 0; i < n; i++)
        tokens_window_push(c->vocab->table, w, p[i]);
}

static size_t window_size(const struct tokens_window *w)
{
    return w->moved + w->n;
}

/* Adds a character to the run; `here`: the run may be cut after it. */
static void tokens_counter_take(struct tokens_counter *c, const uint8_t *p, size_t n, bool here)
{
    assert(c->run != RUN_NONE && c->run != RUN_QUOTE);
    tokens_counter_push(c, &c->windows->whole, p, n);
    if (here) {
        c->marked = tokens_window_count(&c->windows->whole, 0);
        tokens_window_reset(&c->windows->rest);
    } else if (c->marked) {
        tokens_counter_push(c, &c->windows->rest, p, n);
    }
}

/* The text after the mark becomes the whole. */
static void tokens_counter_cut(struct tokens_counter *c)
{
    if (!c->marked)
        return;
    c->done += c->marked;
    c->marked = 0;
    c->windows->whole = c->windows->rest;
}

static void tokens_counter_hold(struct tokens_counter *c, const uint8_t *p, size_t n)
{
    assert(c->held_n + n <= TOKENS_HELD_MAX);
    memcpy(c->held + c->held_n, p, n);
    c->held_n = (uint8_t)(c->held_n + n);
}

static void tokens_end_blank(struct tokens_counter *c)
{
    const struct tokens_window *w = &c->windows->whole;
    size_t last = 1;

    tokens_counter_cut(c);
    if (window_size(w) == 0)
        return;
    while ((w->text[w->n - last] & 0xC0) == 0x80)
        last++;
    assert(last <= w->n);
    c->done += tokens_window_count(w, last);
    tokens_counter_hold(c, w->text + w->n - last, last);
}

/* The run is over before this character, which is none of it. True if the character was used. */
static bool tokens_end_run(struct tokens_counter *c, uint8_t next)
{
    bool word = c->run == RUN_UPPER || c->run == RUN_WORD;

    assert(c->run != RUN_NONE && c->run != RUN_QUOTE);
    if (c->run == RUN_BLANK) {
        tokens_end_blank(c);
        c->run = RUN_NONE;
        return false;
    }
    if (c->run == RUN_UPPER && window_size(&c->windows->rest) > 0)
        tokens_counter_cut(c);
    c->marked = 0;
    if (word && c->vocab->cased && next == '\'') {
        tokens_counter_hold(c, &next, 1);
        c->run = RUN_QUOTE;
        return true;
    }
    c->done += tokens_window_count(&c->windows->whole, 0);
    c->run = RUN_NONE;
    return false;
}

/* Adds a character after a word and an apostrophe. */
static void tokens_counter_quote(struct tokens_counter *c, const uint8_t *p, size_t n)
{
    size_t size;

    assert(c->run == RUN_QUOTE);
    tokens_counter_hold(c, p, n);
    size = tokens_contraction(c->held, c->held_n);
    if (size == 1)
        return;
    if (size > 1) {
        tokens_counter_push(c, &c->windows->whole, c->held, size);
        c->held_n = 0;
    }
    c->done += tokens_window_count(&c->windows->whole, 0);
    c->run = RUN_NONE;
}

/* Whether the run continues with a character of this class, and as which kind. */
static enum run tokens_counter_goes_on(const struct tokens_counter *c, enum tokens_class class,
                                       uint8_t first)
{
    bool both = class == TOKENS_LETTER || class == TOKENS_MARK;
    bool cased = c->vocab->cased;

    switch ((enum run)c->run) {
    case RUN_UPPER:
        if (class == TOKENS_LOWER)
            return RUN_WORD;
        return both || class == TOKENS_UPPER ? RUN_UPPER : RUN_NONE;
    case RUN_WORD:
        if (class == TOKENS_LOWER || class == TOKENS_LETTER)
            return RUN_WORD;
        return class == (cased ? TOKENS_MARK : TOKENS_UPPER) ? RUN_WORD : RUN_NONE;
    case RUN_PUNCT:
        if (class == TOKENS_NEWLINE)
            return RUN_TAIL;
        return class == TOKENS_OTHER || class == TOKENS_MARK ? RUN_PUNCT : RUN_NONE;
    case RUN_TAIL:
        return class == TOKENS_NEWLINE || (cased && first == '/') ? RUN_TAIL : RUN_NONE;
    case RUN_BLANK:
        return class == TOKENS_SPACE || class == TOKENS_NEWLINE ? RUN_BLANK : RUN_NONE;
    case RUN_NONE:
    case RUN_QUOTE:
        break;
    }
    return RUN_NONE;
}

/* Feeds the run until it ends; returns how much it took. */
static size_t tokens_feed_run(struct tokens_counter *c, const uint8_t *p, size_t n)
{
    size_t at = 0, size;

    while (at < n && c->run != RUN_NONE) {
        enum tokens_class class = tokens_class_at(p + at, &size);
        enum run next;

        if (c->run == RUN_QUOTE) {
            tokens_counter_quote(c, p + at, size);
            at += size;
            continue;
        }
        next = tokens_counter_goes_on(c, class, p[at]);
        if (next == RUN_NONE) {
            if (tokens_end_run(c, p[at]))
                at++;
            continue;
        }
        if (next == RUN_WORD)
            c->marked = 0;
        c->run = (uint8_t)next;
        tokens_counter_take(c,
                            p + at,
                            size,
                            next == RUN_BLANK ? class == TOKENS_NEWLINE
                                              : next == RUN_UPPER && class != TOKENS_UPPER);
        at += size;
    }
    assert(at <= n);
    return at;
}

/* A piece of which neither end nor much of a beginning can be held: which run it is, and its first
 * character if that is of another class. Returns the size of that. */
static size_t tokens_begin_run(struct tokens_counter *c, const uint8_t *p)
{
    size_t size, next_size;
    enum tokens_class first = tokens_class_at(p, &size), next;
    enum run word = c->vocab->cased ? RUN_UPPER : RUN_WORD;

    assert(c->run == RUN_NONE && (c->windows || c->arena));
    if (!c->windows)
        c->windows = arena_alloc(c->arena, sizeof *c->windows);
    tokens_window_reset(&c->windows->whole);
    tokens_window_reset(&c->windows->rest);
    c->marked = 0;
    c->run = (uint8_t)word;
    if (first >= (c->vocab->cased ? TOKENS_MARK : TOKENS_LETTER))
        return 0;
    next = tokens_class_at(p + size, &next_size);
    if (first == TOKENS_NEWLINE || next == TOKENS_SPACE || next == TOKENS_NEWLINE)
        c->run = first == TOKENS_OTHER || first == TOKENS_MARK ? RUN_PUNCT : RUN_BLANK;
    else if (next < (c->vocab->cased ? TOKENS_MARK : TOKENS_LETTER))
        c->run = RUN_PUNCT;
    if (c->run == RUN_BLANK)
        return 0;
    tokens_counter_push(c, &c->windows->whole, p, size);
    return size;
}

/* Counts the pieces that are decided; returns where they end. */
static size_t tokens_count_decided(struct tokens_counter *c, const uint8_t *p, size_t n)
{
    struct tokens_work w = {.vocab = c->vocab};
    size_t at = tokens_work(&w, p, n, simd_best());

    c->done += w.count;
    assert(at <= n);
    return at;
}

/* Text from a place where a piece begins. */
static size_t tokens_counter_feed_text(struct tokens_counter *c, const uint8_t *p, size_t n)
{
    size_t at = tokens_count_decided(c, p, n);

    assert(c->run == RUN_NONE && c->held_n == 0);
    if (n - at > TOKENS_HELD_MAX)
        return at + tokens_begin_run(c, p + at);
    tokens_counter_hold(c, p + at, n - at);
    return n;
}

/* The buffer is full and still undecided. */
static void held_to_run(struct tokens_counter *c)
{
    uint8_t held[TOKENS_HELD_MAX];
    size_t n = c->held_n, at;

    assert(n > 0 && n <= TOKENS_HELD_MAX && c->run == RUN_NONE);
    memcpy(held, c->held, n);
    c->held_n = 0;
    at = tokens_begin_run(c, held);
    at += tokens_feed_run(c, held + at, n - at);
    assert(at == n && c->run != RUN_NONE);
}

/* Appends text to the buffered text until the pieces that began there are decided. */
static size_t tokens_counter_feed_held(struct tokens_counter *c, const uint8_t *p, size_t n)
{
    size_t old = c->held_n, add = TOKENS_HELD_MAX - old, at;

    assert(old > 0 && old <= TOKENS_HELD_MAX && c->run == RUN_NONE);
    if (add >= n)
        add = n;
    else
        while (add > 0 && (p[add] & 0xC0) == 0x80)
            add--;
    if (add == 0) {
        held_to_run(c);
        return 0;
    }
    tokens_counter_hold(c, p, add);
    at = tokens_count_decided(c, c->held, c->held_n);
    if (at >= old) {
        c->held_n = 0;
        return at - old;
    }
    assert(at <= c->held_n);
    c->held_n = (uint8_t)(c->held_n - at);
    memmove(c->held, c->held + at, c->held_n);
    return add;
}

static void tokens_feed_valid(struct tokens_counter *c, const uint8_t *p, size_t n)
{
    while (n > 0) {
        size_t took;

        assert(!c->run || c->windows);
        if (c->run)
            took = tokens_feed_run(c, p, n);
        else if (c->held_n)
            took = tokens_counter_feed_held(c, p, n);
        else
            took = tokens_counter_feed_text(c, p, n);
        assert(took <= n);
        p += took;
        n -= took;
    }
}

/* Counts the undecided text as if nothing followed. */
static size_t tokens_counter_pending(const struct tokens_counter *c)
{
    size_t count = tokens_count_valid(c->vocab, c->held, c->held_n);
    bool lines_too = c->run == RUN_BLANK && !c->vocab->cased;

    assert(!c->run || c->windows);
    if (!c->run)
        return count;
    if (c->marked && window_size(&c->windows->rest) > 0 && !lines_too)
        return count + c->marked + tokens_window_count(&c->windows->rest, 0);
    return count + tokens_window_count(&c->windows->whole, 0);
}

void tokens_counter_init(struct tokens_counter *c, const struct tokens_vocab *v,
                         struct tokens_windows *windows)
{
    tokens_vocab_need(v);
    c->vocab = v;
    c->windows = windows;
    c->arena = NULL;
    c->done = c->seen = c->marked = 0;
    c->fresh = true;
    c->trusted = false;
    c->part_n = c->held_n = 0;
    c->ahead_n = 0;
    c->run = RUN_NONE;
}

/* Completes a character that was cut short; returns how much of the text that took. */
static size_t tokens_feed_part(struct tokens_counter *c, const uint8_t *p, size_t n)
{
    for (size_t at = 0; at < n; at++) {
        size_t bad, valid;
        bool short_of;

        assert(c->part_n < sizeof c->part);
        c->part[c->part_n] = p[at];
        valid = tokens_utf8(c->part, c->part_n + 1U, &bad, &short_of);
        if (short_of) {
            c->part_n++;
            continue;
        }
        c->part_n = 0;
        if (valid) {
            tokens_feed_valid(c, c->part, valid);
            return at + 1;
        }
        tokens_feed_valid(c, (const uint8_t *)TOKENS_REPLACEMENT, sizeof TOKENS_REPLACEMENT - 1);
        return at; /* it was none of ours */
    }
    return n;
}

static void tokens_feed_bytes(struct tokens_counter *c, const uint8_t *p, size_t n)
{
    size_t at = 0;

    if (c->trusted) {
        tokens_feed_valid(c, p, n);
        return;
    }
    if (c->part_n)
        at = tokens_feed_part(c, p, n);
    while (at < n) {
        bool short_of;
        size_t bad, valid = tokens_utf8(p + at, n - at, &bad, &short_of);

        tokens_feed_valid(c, p + at, valid);
        at += valid + bad;
        if (short_of) {
            memcpy(c->part, p + at - bad, bad);
            c->part_n = (uint8_t)bad;
        } else if (bad) {
            tokens_feed_valid(
                c, (const uint8_t *)TOKENS_REPLACEMENT, sizeof TOKENS_REPLACEMENT - 1);
        }
    }
    assert(c->part_n < 4 && c->held_n <= TOKENS_HELD_MAX);
}

static void tokens_feed_ahead(struct tokens_counter *c)
{
    size_t n = c->ahead_n;

    assert(n > 0);
    c->ahead_n = 0;
    tokens_feed_bytes(c, c->ahead, n);
}

void tokens_counter_feed(struct tokens_counter *c, str piece)
{
    if (piece.n == 0)
        return;
    c->fresh = false;
    if (piece.n > TOKENS_AHEAD_MAX - (size_t)c->ahead_n && c->ahead_n)
        tokens_feed_ahead(c);
    if (piece.n >= SMALL_MAX && c->ahead_n == 0) {
        tokens_feed_bytes(c, (const uint8_t *)piece.p, piece.n);
        return;
    }
    assert(piece.n <= TOKENS_AHEAD_MAX - (size_t)c->ahead_n);
    memcpy(c->ahead + c->ahead_n, piece.p, piece.n);
    c->ahead_n = (uint16_t)(c->ahead_n + piece.n);
}

/* The count if the character that was cut short never becomes whole. */
static NOINLINE size_t count_cut(const struct tokens_counter *c)
{
    struct tokens_counter end = *c;
    struct tokens_windows windows;

    assert(c->part_n > 0);
    if (c->run != RUN_NONE)
        windows = *c->windows;
    end.windows = &windows;
    tokens_feed_valid(&end, (const uint8_t *)TOKENS_REPLACEMENT, sizeof TOKENS_REPLACEMENT - 1);
    return end.done + tokens_counter_pending(&end);
}

size_t tokens_counter_count(struct tokens_counter *c)
{
    if (c->fresh)
        return c->seen;
    if (c->ahead_n)
        tokens_feed_ahead(c);
    c->seen = c->part_n ? count_cut(c) : c->done + tokens_counter_pending(c);
    c->fresh = true;
    return c->seen;
}

size_t tokens_counter_most(struct tokens_counter *c)
{
    size_t now = tokens_counter_count(c);

    return c->run == RUN_NONE ? c->done + c->held_n + c->part_n : now + TOKENS_HELD_MAX;
}

size_t tokens_counter_least(struct tokens_counter *c)
{
    size_t now = tokens_counter_count(c), decided = c->done;

    if (c->part_n || c->held_n || c->run != RUN_NONE)
        decided++;
    return decided < now ? decided : now;
}
