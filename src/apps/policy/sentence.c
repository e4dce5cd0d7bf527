/* sentence.c - a text as sentences. See sentence.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/sentence.h"

#include "apps/policy/line.h"
#include "base/ctype.h"

#include <strings.h>

struct splitter {
    str text;
    struct policy_sentence *all;
    size_t n, cap;
};

static const char *const abbreviations[] = {
    "e.g", "i.e", "etc",    "vs", "dr",  "mr",  "mrs", "ms",   "no",  "nos", "st", "sec",
    "fig", "cf",  "approx", "al", "inc", "ltd", "co",  "dept", "u.s", "p",   "pp", "resp",
};

static bool policy_sentence_is_word(char c)
{
    return char_is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80);
}

/* Whether the stop at s[at] belongs to the word before it. */
static bool abbreviated(str s, size_t from, size_t at)
{
    size_t begin = at, n;

    while (begin > from && (policy_sentence_is_word(s.p[begin - 1]) || s.p[begin - 1] == '.'))
        begin--;
    n = at - begin;
    if (n == 1 && char_is_upper(s.p[begin]) && at + 1 < s.n && s.p[at + 1] == ' ' && begin > from)
        return true; /* an initial */
    for (size_t i = 0; i < COUNT_OF(abbreviations); i++)
        if (strlen(abbreviations[i]) == n && strncasecmp(abbreviations[i], s.p + begin, n) == 0)
            return true;
    return false;
}

/* Where the sentence that holds the stop at s[at] ends, or 0 if that does not end it. */
static size_t sentence_end(str s, size_t from, size_t at)
{
    size_t end = at + 1, next;

    while (end < s.n && memchr(")]\"'*_", s.p[end], 6))
        end++;
    while (end + 2 < s.n && memcmp(s.p + end, "\xE2\x80\x9D", 3) == 0)
        end += 3;
    if (end < s.n && !char_is_json_space(s.p[end]))
        return 0;
    for (next = end; next < s.n && char_is_json_space(s.p[next]);)
        next++;
    if (next < s.n && s.p[next] >= 'a' && s.p[next] <= 'z')
        return 0;
    if (s.p[at] == '.' && next < s.n && abbreviated(s, from, at))
        return 0;
    return end;
}

static void policy_sentence_add(struct splitter *sp, size_t from, size_t to,
                                struct policy_sentence like)
{
    while (to > from && char_is_json_space(sp->text.p[to - 1]))
        to--;
    while (from < to && char_is_json_space(sp->text.p[from]))
        from++;
    if (from == to)
        return;
    if (sp->n == sp->cap) {
        sp->cap = sp->cap ? 2 * sp->cap : 32;
        sp->all = base_realloc(sp->all, sp->cap * sizeof sp->all[0]);
    }
    like.from = (uint32_t)from;
    like.to = (uint32_t)to;
    sp->all[sp->n++] = like;
}

static bool leads(const struct splitter *sp, const struct policy_sentence *s)
{
    return sp->text.p[s->to - 1] == ':';
}

/* The sentence that leads to an item: the last one further out, if it ends with a colon. */
static uint32_t lead_of(const struct splitter *sp, uint16_t indent)
{
    for (size_t i = sp->n; i > 0; i--) {
        const struct policy_sentence *s = &sp->all[i - 1];

        if (s->item && s->indent == indent)
            return s->lead;
        if (!s->begins && !leads(sp, s))
            continue;
        if (!s->item || s->indent < indent)
            return leads(sp, s) ? (uint32_t)(i - 1) : POLICY_NO_LEAD;
    }
    return POLICY_NO_LEAD;
}

/* Ends the paragraph, item or row that is open, if any. */
static void block_end(struct splitter *sp, size_t *from, size_t to, struct policy_sentence like)
{
    str s = str_slice(sp->text, 0, to);
    size_t begin = *from;

    *from = STR_NONE;
    if (begin == STR_NONE)
        return;
    if (like.item)
        like.lead = lead_of(sp, like.indent);
    for (size_t i = begin; i < to && !like.row; i++) {
        size_t end = memchr(".!?", s.p[i], 3) ? sentence_end(s, begin, i) : 0;

        if (end == 0)
            continue;
        policy_sentence_add(sp, begin, end, like);
        like.item = like.begins = false;
        begin = end;
        i = end - 1;
    }
    policy_sentence_add(sp, begin, to, like);
}

static size_t line_next(str text, size_t at)
{
    const char *end = memchr(text.p + at, '\n', text.n - at);

    return end ? (size_t)(end - text.p) + 1 : text.n;
}

static bool rule_row(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!memchr("|-: \t", s.p[i], 5))
            return false;
    return true;
}

/* The block that begins at a non-blank line: how many of its bytes are marks. */
static size_t marks(str line, struct policy_sentence *like, bool *begins)
{
    size_t bytes;
    unsigned indent = line_indent(line, &bytes), columns;
    bool interrupts;
    str s = str_slice(line, bytes, line.n);

    *like = (struct policy_sentence){.lead = POLICY_NO_LEAD, .begins = true};
    *begins = true;
    like->quoted = s.n > 0 && s.p[0] == '>';
    while (s.n > 0 && s.p[0] == '>') {
        s = str_slice(s, 1, s.n);
        s = str_slice(s, s.n > 0 && s.p[0] == ' ', s.n);
    }
    if (s.n > 0 && s.p[0] == '|') {
        like->row = true;
        return (size_t)(s.p - line.p) + 1;
    }
    if (line_item(s, indent, &columns, &interrupts) && !line_break(s)) {
        size_t mark = 0;

        like->item = true;
        like->indent = (uint16_t)(indent < UINT16_MAX ? indent : UINT16_MAX);
        while (mark < s.n && !char_is_json_space(s.p[mark]))
            mark++;
        return (size_t)(s.p - line.p) + mark;
    }
    *begins = false;
    return (size_t)(s.p - line.p);
}

static size_t fence_skip(str text, size_t at, char mark, size_t n)
{
    while (at < text.n) {
        size_t next = line_next(text, at), bytes;
        str line = str_slice(text, at, next - (text.p[next - 1] == '\n'));

        line_indent(line, &bytes);
        at = next;
        if (line_fence_end(str_slice(line, bytes, line.n), mark, n))
            break;
    }
    return at;
}

size_t policy_sentences(str text, struct arena *a, struct policy_sentence **out)
{
    struct splitter sp = {.text = text};
    struct policy_sentence like = {.lead = POLICY_NO_LEAD};
    size_t from = STR_NONE; /* of the block that is open */
    bool table = false;     /* the line before is a row */

    for (size_t at = 0, next; at < text.n; at = next) {
        struct policy_sentence here;
        size_t bytes, n;
        bool begins;
        char mark;
        str line;

        next = line_next(text, at);
        line = str_slice(text, at, next - (text.p[next - 1] == '\n'));
        line_indent(line, &bytes);
        bytes += marks(str_slice(line, bytes, line.n), &here, &begins);
        if (line_blank(line) || begins)
            block_end(&sp, &from, at, like);
        here.begins = !(table && here.row);
        table = here.row && !line_blank(line);
        if (line_blank(line) || line_break(str_trim(line)) || (here.row && rule_row(line)))
            continue;
        if (line_fence(str_trim(line), &mark, &n)) {
            block_end(&sp, &from, at, like);
            next = fence_skip(text, next, mark, n);
            continue;
        }
        if (from == STR_NONE) {
            marks(line, &like, &begins);
            like.begins = here.begins;
            from = at + bytes;
        }
    }
    block_end(&sp, &from, text.n, like);
    *out = arena_alloc(a, sp.n * sizeof sp.all[0]);
    if (sp.n > 0)
        memcpy(*out, sp.all, sp.n * sizeof sp.all[0]);
    free(sp.all);
    return sp.n;
}
