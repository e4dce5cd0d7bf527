/* customer_label.c - see customer_label.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/customer_label.h"

#include "apps/orders/customer_json.h"
#include "apps/orders/customer_tag.h"
#include "base/ctype.h"

#define DECORATION_MAX 24 /* bytes of "- **" before a label, or of "** " after it */
#define ADJECTIVES_MAX 3
#define OBJECTS_MAX 64 /* JSON objects in one reply; text after them is not sent */
#define ASIDE_MAX 32   /* bytes of "(internal)" or "1" between a label and its colon */

enum label_kind { LABEL_NONE, LABEL_MORE, LABEL_THOUGHT, LABEL_FINAL, LABEL_PAREN, LABEL_JSON };

/* ---- words ---- */

static const char label_thoughts[] =
    "reasoning|thought|thoughts|thinking|analysis|rationale|reflection|thought process|"
    "scratchpad|note to self|thinking process|chain of thought|chain-of-thought|monologue|"
    "deliberation";
static const char label_adjectives[] =
    "my |the |internal |inner |private |hidden |brief |short |step-by-step |agent |assistant |"
    "model ";
static const char label_finals[] =
    "final answer|final response|final reply|final message|final output";
static const char label_answers[] = "answer|reply|response";

static bool label_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool label_is_decoration(char c)
{
    return label_is_space(c) || c == '*' || c == '_' || c == '#' || c == '>' || c == '-' ||
           c == '`' || c == '"' || c == '+' || c == '.' || char_is_digit(c);
}

/* How many bytes of the word are at s[at]: the whole word if the result is its length. */
static size_t label_common(str s, size_t at, str word)
{
    return customer_tag_common(str_slice(s, at, s.n), word);
}

static size_t label_skip(str s, size_t at, bool (*is)(char c))
{
    size_t end = at;

    assert(at <= s.n);
    while (end < s.n && end - at < DECORATION_MAX && is(s.p[end]))
        end++;
    return end;
}

static bool label_is_emphasis(char c)
{
    return label_is_space(c) || c == '*' || c == '_' || c == '`' || c == '"';
}

/* ---- after a label ---- */

/* A colon or a dash at `at`; *end is after it. */
static enum label_kind label_separator(str s, size_t at, enum label_kind kind, size_t *end)
{
    static const char marks[] = ":|\xEF\xBC\x9A|\xE2\x80\x94|\xE2\x80\x93|- ";

    for (str rest = str_c(marks); rest.n;) {
        str mark = str_cut(&rest, '|');
        size_t n = label_common(s, at, mark);

        if (n == mark.n) {
            *end = label_skip(s, at + n, label_is_emphasis);
            return kind;
        }
        if (at + n == s.n)
            return LABEL_MORE;
    }
    return LABEL_NONE;
}

/* "(internal)" or a number. */
static size_t label_skip_aside(str s, size_t at)
{
    size_t end = at;

    while (end < s.n && end - at < ASIDE_MAX && char_is_digit(s.p[end]))
        end++;
    if (end < s.n && s.p[end] == '(')
        while (end < s.n && end - at < ASIDE_MAX && s.p[end] != '\n')
            if (s.p[end++] == ')')
                break;
    return end;
}

/* Checks the text after a label's word, which decides whether it is a label. `heading`: its line
 * is emphasised, and may end. */
static enum label_kind label_rest(str s, size_t at, bool heading, enum label_kind kind, size_t *end)
{
    if (at < s.n && char_is_letter(s.p[at]))
        return LABEL_NONE;
    at = label_skip(s, at, label_is_emphasis);
    at = label_skip_aside(s, at);
    at = label_skip(s, at, label_is_emphasis);
    if (at == s.n)
        return LABEL_MORE;
    if (heading && s.p[at] == '\n') {
        *end = at;
        return kind;
    }
    return label_separator(s, at, kind, end);
}

struct label_set {
    const char *words; /* between bars */
    enum label_kind kind;
};

static const struct label_set label_thinking = {label_thoughts, LABEL_THOUGHT};
static const struct label_set label_final = {label_finals, LABEL_FINAL};
static const struct label_set label_answer = {label_answers, LABEL_FINAL};

/* Whether one of the words begins s at `at` and is a label. */
static enum label_kind label_words(str s, size_t at, bool heading, const struct label_set *set,
                                   size_t *end)
{
    enum label_kind found = LABEL_NONE;

    for (str rest = str_c(set->words); rest.n && found != set->kind;) {
        str word = str_cut(&rest, '|');
        size_t n = label_common(s, at, word);
        enum label_kind one = LABEL_NONE;

        if (n == word.n)
            one = label_rest(s, at + n, heading, set->kind, end);
        else if (at + n == s.n)
            one = LABEL_MORE;
        found = one == LABEL_NONE ? found : one;
    }
    return found;
}

/* "my internal reasoning": adjectives, then a label of thinking. */
static enum label_kind label_thought(str s, size_t at, bool heading, size_t *end)
{
    enum label_kind found = label_words(s, at, heading, &label_thinking, end);

    for (int count = 0; found == LABEL_NONE && count < ADJECTIVES_MAX; count++) {
        size_t from = at;

        for (str rest = str_c(label_adjectives); rest.n && at == from;) {
            str word = str_cut(&rest, '|');
            size_t n = label_common(s, at, word);

            if (n == word.n)
                at += n;
            else if (at + n == s.n)
                return LABEL_MORE;
        }
        if (at == from)
            break;
        found = label_words(s, at, heading, &label_thinking, end);
    }
    return found;
}

/* ---- at one place ---- */

static bool label_is_heading(str decoration)
{
    for (size_t i = 0; i < decoration.n; i++)
        if (decoration.p[i] == '#' || decoration.p[i] == '*' || decoration.p[i] == '_')
            return true;
    return false;
}

/* At the start of a line. */
static enum label_kind label_line(str s, size_t *end)
{
    size_t at = label_skip(s, 0, label_is_decoration);
    bool heading = label_is_heading(str_slice(s, 0, at));
    enum label_kind thought, final;

    if (at == s.n && at < DECORATION_MAX)
        return LABEL_MORE;
    thought = label_thought(s, at, heading, end);
    if (thought == LABEL_THOUGHT)
        return thought;
    final = label_words(s, at, heading, &label_final, end);
    return final == LABEL_NONE ? thought : final;
}

/* (reasoning: ... and [reasoning: ... */
static enum label_kind label_paren(str s, size_t *end)
{
    size_t at = label_skip(s, 1, label_is_emphasis);
    enum label_kind found = label_thought(s, at, false, end);

    return found == LABEL_THOUGHT ? LABEL_PAREN : found;
}

static bool label_is_blank(char c)
{
    return label_is_space(c) || c == '\n';
}

/* { and the quote of a key, in a code fence or not; *end is at the brace. */
static enum label_kind label_json(str s, size_t *end)
{
    size_t at = label_common(s, 0, STR("```")), key;

    if (at == s.n)
        return LABEL_MORE;
    if (at != 0 && at != 3)
        return LABEL_NONE;
    at = at ? label_skip(s, at, char_is_letter) : 0;
    at = at ? label_skip(s, at, label_is_blank) : 0;
    if (at < s.n && s.p[at] != '{')
        return LABEL_NONE;
    key = at < s.n ? label_skip(s, at + 1, label_is_blank) : s.n;
    if (key == s.n)
        return LABEL_MORE;
    *end = at;
    return s.p[key] == '"' || s.p[key] == '\'' ? LABEL_JSON : LABEL_NONE;
}

/* The kind of label at the front of s. LABEL_MORE: more text is needed to decide. */
static enum label_kind label_read(str s, bool line, size_t *end)
{
    enum label_kind json = LABEL_NONE, rest = LABEL_NONE;

    assert(s.n > 0);
    if (s.p[0] == '(' || s.p[0] == '[')
        return label_paren(s, end);
    if (s.p[0] == '{' || s.p[0] == '`')
        json = label_json(s, end);
    if (json == LABEL_JSON)
        return json;
    if (line)
        rest = label_line(s, end);
    return rest == LABEL_NONE ? json : rest;
}

/* ---- a whole text ---- */

/* After the bracket that closes the one at the front, or the end of the text. *inside ends before
 * that bracket. */
static size_t label_close_paren(str s, size_t *inside)
{
    char open = s.p[0], close = open == '(' ? ')' : ']';
    size_t depth = 0;

    assert(open == '(' || open == '[');
    for (size_t i = 0; i < s.n; i++) {
        depth += s.p[i] == open;
        if (s.p[i] == close && --depth == 0) {
            *inside = i;
            return i + 1;
        }
    }
    *inside = s.n;
    return s.n;
}

static bool label_ends_sentence(str s, size_t at)
{
    size_t from = at;

    while (from > 0 && label_is_emphasis(s.p[from - 1]))
        from--;
    assert(from <= at);
    return from > 0 && from < at && strchr(".!?)", s.p[from - 1]);
}

/* An answer's label at `at`: at the start of a line, or after a sentence and with a capital. */
static bool label_is_answer(str s, size_t at, bool line, size_t *end)
{
    size_t from = line ? label_skip(s, at, label_is_decoration) : at;
    str rest = str_slice(s, from, s.n);
    bool heading = label_is_heading(str_slice(s, at, from));

    if (!line && (rest.p[0] < 'A' || rest.p[0] > 'Z' || !label_ends_sentence(s, at)))
        return false;
    if (rest.n == 0 || (label_words(rest, 0, heading, &label_final, end) != LABEL_FINAL &&
                        label_words(rest, 0, heading, &label_answer, end) != LABEL_FINAL))
        return false;
    *end += from;
    return true;
}

static bool label_is_blank_line(str s, size_t at)
{
    while (at < s.n && label_is_space(s.p[at]))
        at++;
    return at < s.n && s.p[at] == '\n';
}

/* Where the thought that begins at 0 ends, and where the answer continues. *unlabelled: the text
 * has no label of an answer, so the search need not be repeated. */
static size_t label_end_thought(str s, bool *unlabelled, size_t *on)
{
    size_t paragraph = STR_NONE;
    bool line = false, content = false;

    for (size_t i = 0; i < s.n && !(*unlabelled && paragraph != STR_NONE); i++) {
        if (label_is_answer(s, i, line, on))
            return i;
        if (line && content && paragraph == STR_NONE && label_is_blank_line(s, i))
            paragraph = i;
        content |= !label_is_blank(s.p[i]);
        line = s.p[i] == '\n' || (line && label_is_space(s.p[i]));
    }
    *unlabelled = true;
    *on = paragraph == STR_NONE ? s.n : paragraph;
    assert(*on <= s.n);
    return *on;
}

struct label_strip {
    struct buf *said, *hidden;
    bool opened, found, unlabelled;
    unsigned objects;
};

static void label_hide(struct label_strip *st, str text)
{
    buf_add(st->hidden, text);
    buf_add_c(st->hidden, '\n');
    st->opened = st->found = true;
}

static size_t label_strip_json(struct label_strip *st, str s, size_t brace)
{
    str object = str_slice(s, brace, s.n);
    size_t size;

    if (st->objects++ == OBJECTS_MAX) {
        label_hide(st, s);
        return s.n;
    }
    size = customer_json_strip(object, st->said, st->hidden);
    if (size == 0)
        return 0;
    st->opened = st->found = true;
    assert(size <= object.n);
    size += brace;
    if (brace) { /* and the end of its fence */
        size_t at = label_skip(s, size, label_is_blank);

        size = str_starts(str_slice(s, at, s.n), STR("```")) ? at + 3 : size;
    }
    return size;
}

/* How much of s is no text for the customer; 0: its first byte is. */
static size_t label_strip_one(struct label_strip *st, str s, bool line)
{
    size_t end = 0, on, size;

    switch (label_read(s, line, &end)) {
    case LABEL_PAREN:
        size = label_close_paren(s, &on);
        label_hide(st, str_slice(s, end, on));
        return size;
    case LABEL_THOUGHT:
        size = label_end_thought(str_slice(s, end, s.n), &st->unlabelled, &on);
        label_hide(st, str_slice(s, end, end + size));
        return end + on;
    case LABEL_FINAL:
        if (!st->opened) {
            label_hide(st, buf_str(st->said));
            buf_reset(st->said);
        }
        st->opened = st->found = true;
        return end;
    case LABEL_JSON:
        return label_strip_json(st, s, end);
    default:
        return 0;
    }
}

bool customer_label_strip(str text, bool opened, struct buf *said, struct buf *hidden)
{
    struct label_strip st = {.said = said, .hidden = hidden, .opened = opened};
    bool line = true;

    for (size_t i = 0; i < text.n;) {
        size_t size = label_strip_one(&st, str_slice(text, i, text.n), line);

        if (size == 0) {
            buf_add_c(said, text.p[i]);
            line = text.p[i] == '\n' || (line && label_is_space(text.p[i]));
            size = 1;
        }
        assert(size <= text.n - i);
        i += size;
    }
    return st.found;
}

/* ---- a text that arrives ---- */

void customer_guard_init(struct customer_guard *g, void (*on_run)(void *ctx, str run), void *ctx)
{
    *g = (struct customer_guard){.on_run = on_run, .ctx = ctx, .line = true};
}

static void label_guard_settle(struct customer_guard *g)
{
    size_t end;

    assert(g->held <= CUSTOMER_LABEL_MAX);
    while (g->held > 0) {
        str s = {g->hold, g->held};
        enum label_kind kind = label_read(s, g->line, &end);

        if (kind == LABEL_MORE && g->held < CUSTOMER_LABEL_MAX)
            return;
        if (kind > LABEL_MORE) {
            g->stopped = true;
            return;
        }
        g->on_run(g->ctx, str_slice(s, 0, 1));
        g->line = s.p[0] == '\n' || (g->line && label_is_space(s.p[0]));
        memmove(g->hold, g->hold + 1, --g->held);
    }
}

void customer_guard_feed(struct customer_guard *g, str piece)
{
    for (size_t i = 0; i < piece.n && !g->stopped; i++) {
        assert(g->held < CUSTOMER_LABEL_MAX);
        g->hold[g->held++] = piece.p[i];
        label_guard_settle(g);
    }
}
