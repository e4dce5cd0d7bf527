/* SPDX-License-Identifier: Apache-2.0 */
#include "split/internal.h"

#define SUFFIX_MAX 32
#define NAME_MAX 64
#define TAG_MAX 96 /* of a tag with white space or attributes in it */
#define BLOCK 256  /* bytes looked through at a time when several first bytes are wanted */

/* A marker looked for in these places begins with this byte. */
static void split_find_index_add(struct split_index *x, uint8_t byte, unsigned places)
{
    unsigned fresh = places & ~(unsigned)x->first[byte];

    x->first[byte] |= (uint8_t)places;
    for (; fresh; fresh &= fresh - 1) {
        unsigned k = split_place_index(fresh);

        assert(x->byte_count[k] < SPLIT_FIRST_MAX);
        x->byte[k][x->byte_count[k]++] = byte;
    }
}

/* The bytes that may follow the first one of a marker: may_begin compares them without case. */
static void split_index_add_second(struct split_index *x, const struct split_mark *m)
{
    uint8_t c = m->text.n < 2 ? 0 : (uint8_t)m->text.p[1];

    if (m->text.n < 2 || (m->rules & SPLIT_NAMED)) {
        memset(x->second, 0xFF, sizeof x->second);
        return;
    }
    x->second[(c & ~32U) / 32] |= 1U << (c & ~32U) % 32;
    x->second[(c | 32U) / 32] |= 1U << (c | 32U) % 32;
}

/* The markers of one format; the rules of all of them. */
static unsigned split_index_add(struct split_index *x, const struct split_format *f)
{
    unsigned rules = 0;

    for (size_t i = 0; i < f->mark_count; i++) {
        const struct split_mark *m = &f->marks[i];

        assert(m->text.n > 0);
        split_find_index_add(x, (uint8_t)m->text.p[0], m->in);
        split_index_add_second(x, m);
        if (m->gap)
            x->first[(uint8_t)m->text.p[0]] |= SPLIT_BYTE_GAP;
        rules |= m->rules;
        x->gaps |= m->gap;
    }
    return rules;
}

void split_index_build(struct split_index *x, const struct split_format *f,
                       const struct split_format *also)
{
    unsigned rules;

    memset(x->first, 0, 0x80);
    memset(x->first + 0x80, SPLIT_BYTE_ABOVE, 0x80);
    memset(x->byte_count, 0, sizeof x->byte_count);
    memset(x->second, f->header ? 0xFF : 0, sizeof x->second);
    x->first['\n'] = x->first['`'] = SPLIT_BYTE_LINE;
    x->gaps = SPLIT_GAP_TOOL;
    rules = split_index_add(x, f);
    if (also)
        rules |= split_index_add(x, also);
    if (f->header) {
        split_find_index_add(x, '<', SPLIT_OUT | SPLIT_WRAP | SPLIT_REASON | SPLIT_TOOLS);
        x->gaps |= SPLIT_GAP_START | SPLIT_GAP_AFTER;
    }
    x->any_gap = f->header || rules & SPLIT_NAMED;
    x->track_answer = (rules & (SPLIT_AT_LINE | SPLIT_NOT_CODE)) != 0;
    x->count_ticks = (rules & SPLIT_NOT_CODE) != 0;
    x->track_reason = (rules & SPLIT_FENCED) != 0;
}

void split_index_init(struct split_index *x, const struct split_format *f)
{
    split_index_build(x, f, f->also);
}

static bool split_in_name(char c)
{
    return c == '_' || c == '-' || c == '.' || (c >= '0' && c <= '9') ||
           ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* After "<think" there must be ">" or ":word>". Returns the whole length, 0 if it does not match,
 * or SIZE_MAX if the text is too short to decide. */
static size_t split_with_suffix(str mark, str s)
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
        if (!split_in_name(s.p[at]))
            return 0;
    }
    return 0;
}

/* ---- tags that prompts ask for ----
 *
 * Models write them in any letter case, with white space after the name or the slash, and openers
 * with attributes. */

/* The length of the name in such a tag, with the slash of a closer; 0: it is another marker. */
static size_t split_tag_name(str mark)
{
    static const str names[] = {STR_INIT("think"),
                                STR_INIT("thinking"),
                                STR_INIT("thought"),
                                STR_INIT("reasoning"),
                                STR_INIT("analysis")};
    size_t from = mark.n > 2 && mark.p[1] == '/' ? 2 : 1;

    if (mark.n < 7 || mark.n > 12 || mark.p[0] != '<' || mark.p[mark.n - 1] != '>')
        return 0;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (names[i].n == mark.n - 1 - from && memcmp(mark.p + from, names[i].p, names[i].n) == 0)
            return mark.n - 2;
    return 0;
}

/* The bytes between the name and ">": white space, or that and attributes. How long the whole
 * is, as split_mark_size says it. */
static size_t split_tag_end(str s, size_t at, bool opens)
{
    size_t from = at, name;

    while (at < s.n && char_is_json_space(s.p[at]))
        at++;
    for (name = at; at < s.n && split_in_name(s.p[at]);)
        at++;
    if (at > TAG_MAX)
        return 0;
    if (at == s.n)
        return opens || name == at ? SIZE_MAX : 0;
    if (name == at)
        return s.p[at] == '>' ? at + 1 : 0;
    if (!opens || name == from || s.p[at] != '=')
        return 0;
    while (at < s.n && at <= TAG_MAX && s.p[at] != '>' && s.p[at] != '<')
        at++;
    if (at > TAG_MAX)
        return 0;
    return at == s.n ? SIZE_MAX : s.p[at] == '>' ? at + 1 : 0;
}

static size_t split_tag_size(str mark, size_t name, str s)
{
    size_t at = 0;

    for (size_t i = 0; i <= name; i++) {
        bool letter = mark.p[i] >= 'a' && mark.p[i] <= 'z';

        if (at == s.n)
            return SIZE_MAX;
        if (mark.p[i] != (letter ? s.p[at] | 32 : s.p[at]))
            return 0;
        at++;
        while (mark.p[i] == '/' && at < s.n && at <= TAG_MAX && char_is_json_space(s.p[at]))
            at++;
    }
    return split_tag_end(s, at, mark.p[1] != '/');
}

bool split_is_variant(const struct split_mark *m, str bytes)
{
    return split_tag_name(m->text) && !str_eq(bytes, m->text);
}

size_t split_mark_size(const struct split_mark *m, str s)
{
    size_t name, n;

    if (!(m->rules & (SPLIT_NAMED | SPLIT_SUFFIX)) && str_starts(s, m->text))
        return m->text.n; /* a tag in its plain spelling, too */
    name = split_tag_name(m->text);
    if (name)
        return split_tag_size(m->text, name, s);

    if (m->rules & SPLIT_NAMED)
        while (name < s.n && name < NAME_MAX && split_in_name(s.p[name]))
            name++;
    s = str_slice(s, name, s.n);
    n = m->text.n < s.n ? m->text.n : s.n;
    if (memcmp(m->text.p, s.p, n) != 0)
        return 0;
    if (n < m->text.n)
        return SIZE_MAX;
    return m->rules & SPLIT_SUFFIX ? split_with_suffix(m->text, s) : name + n;
}

/* Nearly always it cannot, so this comes first. */
static bool split_find_may_begin(const struct split_mark *m, str s)
{
    if (m->text.p[0] == s.p[0])
        return s.n < 2 || m->text.n < 2 || (m->text.p[1] | 32) == (s.p[1] | 32);
    return (m->rules & SPLIT_NAMED) && split_in_name(s.p[0]);
}

static bool split_find_may_be(const struct split *sp, const struct split_mark *m)
{
    bool own = !m->pair || m->pair == sp->pair;

    if ((m->rules & SPLIT_SIBLING) && sp->pair == SPLIT_UNNUMBERED)
        return false;
    if ((m->rules & SPLIT_SIBLING) && (m->rules & SPLIT_AGAIN) && sp->doubt != SPLIT_DOUBT_NESTED)
        return false;
    if ((m->rules & SPLIT_AGAIN) && (sp->doubt ? !own : sp->seen))
        return false;
    if ((m->rules & SPLIT_LATE) && !sp->implicit)
        return false;
    if ((m->rules & SPLIT_NESTS) && !sp->nests)
        return false;
    return own || !(sp->place & (SPLIT_REASON | SPLIT_TOOLS)) || m->to == SPLIT_TOOLS ||
           m->to == SPLIT_REASON;
}

static void split_find_take_mark(struct split_hit *hit, const struct split_mark *m, str bytes)
{
    assert(!(m->rules & SPLIT_NAMED) || bytes.n >= m->text.n);
    hit->mark = *m;
    hit->size = hit->token = bytes.n;
    if (m->rules & SPLIT_NAMED)
        hit->name = str_slice(bytes, 0, bytes.n - m->text.n);
}

size_t split_blank_size(str s, size_t at)
{
    static const str blanks[] = {
        STR_INIT("\xEF\xBB\xBF"), STR_INIT("\xC2\xA0"), STR_INIT("\xE2\x80\x8B")};

    assert(at < s.n);
    if (char_is_json_space(s.p[at]))
        return 1;
    if ((uint8_t)s.p[at] < 0x80)
        return 0;
    for (size_t i = 0; i < COUNT_OF(blanks); i++) {
        str rest = str_slice(s, at, s.n);

        if (str_starts(rest, blanks[i]))
            return blanks[i].n;
        if (str_starts(blanks[i], rest))
            return SIZE_MAX;
    }
    return 0;
}

/* The text ended inside a marker, after at least one whole token of it. */
static bool split_is_cut(const struct split *sp, str s)
{
    return sp->format->cut_is_framing && memchr(s.p, '>', s.n);
}

/* Whether the marker is the current block's own closer, although the other format, which was
 * searched first, read it as the closer of another tag. */
static bool split_is_own_closer(const struct split *sp, const struct split_mark *m,
                                const struct split_hit *hit)
{
    return hit->mark.rules & SPLIT_SIBLING && !(m->rules & SPLIT_SIBLING) && m->pair == sp->pair;
}

/* The longest of a format's markers at the front of s, if it is longer than the hit so far. Whether
 * s may be the front of another one. */
static bool split_find_among(const struct split *sp, const struct split_format *f, str s,
                             unsigned gap, struct split_hit *hit)
{
    const struct split_mark *m = f->marks; /* NULL for a format without markers */
    unsigned place = sp->place;
    bool part = false;

    for (size_t left = f->mark_count; left > 0; left--, m++) {
        size_t size;

        if (!(gap ? m->gap & gap : m->in & place) || !split_find_may_begin(m, s) ||
            !split_find_may_be(sp, m))
            continue;
        size = split_mark_size(m, s);
        if (size == SIZE_MAX)
            part = true;
        else if (size && sp->spelling == SPLIT_NOT_WRITTEN && m->to != SPLIT_REASON &&
                 !(m->rules & SPLIT_NESTS) && split_is_variant(m, str_slice(s, 0, size)))
            continue;
        else if (size > hit->size || (size && size == hit->size && split_is_own_closer(sp, m, hit)))
            split_find_take_mark(hit, m, str_slice(s, 0, size));
    }
    return part;
}

/* The longest marker at the front of s. `gap` is 0 for those of the place we are in. */
enum split_match split_find(const struct split *sp, const struct split_window *win, size_t from,
                            unsigned gap, struct split_hit *hit)
{
    str s = str_slice(win->w, from, win->w.n);
    bool part;

    assert(from < win->w.n);
    hit->size = 0;
    hit->name = STR("");
    /* A marker of both formats counts as the other format's, which is searched in more places. */
    part = sp->also && split_find_among(sp, sp->also, s, gap, hit);
    part |= split_find_among(sp, sp->format, s, gap, hit);
    if (part && win->more)
        return SPLIT_PART_MATCH;
    if (part && split_is_cut(sp, s)) {
        if (hit->size == 0)
            hit->mark = (struct split_mark){.eat = STR("")};
        hit->size = s.n;
        return SPLIT_FULL_MATCH;
    }
    if (hit->size == 0 && sp->format->header) {
        struct split_at at = {s, win->more, gap != 0 || sp->place == SPLIT_OUT, sp->started};

        return sp->format->header(&at, hit);
    }
    assert(hit->size <= s.n);
    return hit->size > 0 ? SPLIT_FULL_MATCH : SPLIT_NO_MATCH;
}

/* The next byte that could begin a marker, or the end. */
size_t split_candidate(const struct split *sp, str w, size_t from)
{
    unsigned k = split_place_index(sp->place);
    const uint8_t *bytes = sp->index->byte[k];
    unsigned count = sp->index->byte_count[k];

    assert(from <= w.n);
    if (w.n - from <= 16) {
        while (from < w.n && !(sp->index->first[(uint8_t)w.p[from]] & sp->place))
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
