/* sentence.c - a text as sentences. See sentence.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/sentence.h"

#include "apps/policy/line.h"
#include "base/ctype.h"

struct splitter {
    str text;
    struct arena *arena;
    struct policy_sentence *all;
    size_t n, cap;
    size_t from; /* of the paragraph, item or row that is open, or STR_NONE */
    struct policy_sentence open;
};

static const char abbreviations[] =
    "e.g i.e etc vs dr mr mrs ms no nos st sec fig cf approx al inc ltd co dept u.s p pp resp";

/* Whether the stop at s[at] belongs to the word before it. */
static bool sentence_is_abbreviation(str s, size_t from, size_t at)
{
    size_t begin = at, n;

    assert(from <= at && at < s.n);
    while (begin > from && (char_is_letter(s.p[begin - 1]) || char_is_digit(s.p[begin - 1]) ||
                            s.p[begin - 1] == '.' || (s.p[begin - 1] & 0x80)))
        begin--;
    n = at - begin;
    if (n == 1 && char_is_upper(s.p[begin]) && at + 1 < s.n && s.p[at + 1] == ' ' && begin > from)
        return true; /* an initial */
    return str_is_one_of_nocase(str_slice(s, begin, at), abbreviations);
}

/* Where the sentence that holds the stop at s[at] ends, or 0 if that does not end it. */
static size_t sentence_end(str s, size_t from, size_t at)
{
    size_t end = at + 1;
    str after;

    while (end < s.n && memchr(")]\"'*_", s.p[end], 6))
        end++;
    while (end + 2 < s.n && memcmp(s.p + end, "\xE2\x80\x9D", 3) == 0)
        end += 3;
    if (end < s.n && !char_is_json_space(s.p[end]))
        return 0;
    after = str_trim(str_slice(s, end, s.n));
    if (after.n > 0 && ((char_is_letter(after.p[0]) && !char_is_upper(after.p[0])) ||
                        (s.p[at] == '.' && sentence_is_abbreviation(s, from, at))))
        return 0;
    assert(end > at && end <= s.n);
    return end;
}

static void policy_sentence_add(struct splitter *sp, size_t from, size_t to,
                                struct policy_sentence like)
{
    str s = str_trim(str_slice(sp->text, from, to));

    if (s.n == 0)
        return;
    like.from = (uint32_t)(s.p - sp->text.p);
    like.to = (uint32_t)(like.from + s.n);
    assert(sp->n == 0 || sp->all[sp->n - 1].to <= like.from); /* in the order of the text */
    sp->all = arena_grow(sp->arena, sp->all, sp->n, &sp->cap, sizeof sp->all[0]);
    sp->all[sp->n++] = like;
}

/* The sentence that leads to an item: the last one further out, if it ends with a colon. */
static uint32_t policy_lead_of(const struct splitter *sp, uint16_t indent)
{
    assert(sp->n <= sp->cap);
    for (size_t i = sp->n; i > 0; i--) {
        const struct policy_sentence *s = &sp->all[i - 1];
        bool leads = sp->text.p[s->to - 1] == ':';

        if (s->item && s->indent == indent)
            return s->lead;
        if (!s->begins && !leads)
            continue;
        if (!s->item || s->indent < indent)
            return leads ? (uint32_t)(i - 1) : POLICY_NO_LEAD;
    }
    return POLICY_NO_LEAD;
}

/* Ends the paragraph, item or row that is open, if any. */
static void policy_block_end(struct splitter *sp, size_t to)
{
    str s = str_slice(sp->text, 0, to);
    struct policy_sentence like = sp->open;
    size_t begin = sp->from;

    sp->from = STR_NONE;
    if (begin == STR_NONE)
        return;
    if (like.item)
        like.lead = policy_lead_of(sp, like.indent);
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

static bool rule_row(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!memchr("|-: \t", s.p[i], 5))
            return false;
    return true;
}

/* The block that a line may begin: how many of its bytes are marks. */
static size_t sentence_read_marks(str line, struct policy_sentence *like)
{
    size_t bytes;
    unsigned indent = line_indent(line, &bytes), columns;
    bool interrupts;
    str s = str_slice(line, bytes, line.n);

    *like = (struct policy_sentence){.lead = POLICY_NO_LEAD, .begins = true};
    like->quoted = s.n > 0 && s.p[0] == '>';
    while (s.n > 0 && s.p[0] == '>') {
        s = str_slice(s, 1, s.n);
        s = str_slice(s, s.n > 0 && s.p[0] == ' ', s.n);
    }
    bytes = (size_t)(s.p - line.p);
    like->row = s.n > 0 && s.p[0] == '|';
    like->item = !like->row && line_item(s, indent, &columns, &interrupts) && !line_break(s);
    like->indent = (uint16_t)(indent < UINT16_MAX ? indent : UINT16_MAX);
    while (like->item && bytes < line.n && !char_is_json_space(line.p[bytes]))
        bytes++;
    assert(bytes + like->row <= line.n);
    return bytes + like->row;
}

size_t policy_sentences(str text, struct arena *a, struct policy_sentence **out)
{
    struct splitter sp = {.text = text, .arena = a, .from = STR_NONE};
    bool table = false; /* the line before is a row */
    size_t fence = 0;   /* marks of the code fence that is open */
    char mark;

    for (size_t at = 0, next; at < text.n; at = next) {
        str rest = str_slice(text, at, text.n);
        size_t end = str_find(rest, STR("\n"));
        str line = str_slice(rest, 0, end), plain = str_trim(line);
        struct policy_sentence here;
        size_t bytes = sentence_read_marks(line, &here);

        next = end == STR_NONE ? text.n : at + end + 1;
        assert(next > at && next <= text.n);
        if (fence > 0) {
            if (line_fence_end(plain, mark, fence)) {
                policy_block_end(&sp, at);
                fence = 0;
            }
            continue;
        }
        if (line_blank(line) || here.item || here.row || line_fence(plain, &mark, &fence))
            policy_block_end(&sp, at);
        here.begins = !(table && here.row);
        table = here.row;
        if (line_blank(line) || line_break(plain) || (here.row && rule_row(line)))
            continue;
        if (sp.from == STR_NONE) {
            sp.open = here;
            sp.open.quoted = here.quoted || fence > 0;
            sp.from = at + bytes;
        }
    }
    policy_block_end(&sp, text.n);
    *out = sp.all;
    return sp.n;
}
