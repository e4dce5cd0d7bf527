/* quotes.c - see quotes.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/score/quotes.h"

#include "base/ctype.h"

#define LINE_WORDS_LEAST 2 /* of a line that is compared as a whole */

struct quote_word {
    size_t from, to;
    uint64_t hash;
    size_t line;
};

/* Digests of the evidence's runs of words and lines. Sorted. */
struct quote_index {
    uint64_t *at;
    size_t n;
};

static void quote_blank(char *text, size_t from, size_t to)
{
    assert(from <= to);
    for (size_t i = from; i < to; i++)
        if (text[i] != '\n')
            text[i] = i == from ? ';' : ' ';
}

static str quote_line(str text, size_t at)
{
    str rest = str_slice(text, at, text.n);

    assert(at <= text.n);
    return str_cut(&rest, '\n');
}

/* ---- Markdown ---- */

static bool quote_is_fence(str line)
{
    line = str_trim(line);
    return str_starts(line, STR("```")) || str_starts(line, STR("~~~"));
}

/* A fence of Markdown, or one around the whole analysis. */
static bool quote_is_wrapper(str text, size_t at, str line)
{
    str info = str_trim(line);

    while (info.n && (info.p[0] == '`' || info.p[0] == '~'))
        info = str_slice(info, 1, info.n);
    return str_eq(info, STR("markdown")) || str_eq(info, STR("md")) ||
           (!info.n && str_trim(str_slice(text, 0, at)).n == 0 && quote_is_fence(line) &&
            str_ends(str_trim(text), STR("```")) &&
            str_find(str_slice(text, at + line.n, text.n - 3), STR("\n```")) == STR_NONE);
}

static void quote_blocks(char *p, str text)
{
    bool fenced = false, wrapped = false;

    for (size_t at = 0; at < text.n; at++) {
        str line = quote_line(text, at);
        bool fence = quote_is_fence(line);

        if (fence && !fenced && !wrapped && quote_is_wrapper(text, at, line)) {
            wrapped = true;
            quote_blank(p, at, at + line.n);
        } else if (fence && wrapped && !fenced && str_trim(line).n == 3) {
            wrapped = false;
            quote_blank(p, at, at + line.n);
        } else if (fence || fenced || str_starts(str_trim(line), STR(">"))) {
            fenced = fence ? !fenced : fenced;
            quote_blank(p, at, at + line.n);
        }
        at += line.n;
    }
}

/* Size in bytes of the quotation mark at the place; 0: no quotation mark. */
static size_t quote_mark(str text, size_t at)
{
    str rest = str_slice(text, at, text.n);

    assert(at < text.n);
    if (rest.p[0] == '"' || rest.p[0] == '`')
        return 1;
    return str_starts(rest, STR("\xe2\x80\x9c")) || str_starts(rest, STR("\xe2\x80\x9d")) ? 3 : 0;
}

static size_t quote_span_words(str span)
{
    size_t n = 0;

    for (size_t i = 0; i < span.n; i++)
        n += !char_is_space(span.p[i]) && (i == 0 || char_is_space(span.p[i - 1]));
    return n;
}

/* The quotation marks of JSON do not quote. */
static bool quote_is_json(str line)
{
    line = str_trim(line);
    return line.n && (line.p[0] == '{' || line.p[0] == '[' || line.p[0] == '"');
}

static void quote_spans(char *p, str text, size_t from, str line)
{
    size_t start = STR_NONE, size;
    char mark = 0;

    assert(from + line.n <= text.n);
    if (quote_is_json(line))
        return;
    for (size_t i = 0; i < line.n; i++) {
        size = quote_mark(line, i);
        if (!size)
            continue;
        if (start == STR_NONE) {
            start = i;
            mark = line.p[i];
        } else if (line.p[i] == mark) {
            if (quote_span_words(str_slice(text, from + start + size, from + i)) >=
                SCORE_QUOTE_SPAN)
                quote_blank(p, from + start, from + i + size);
            start = STR_NONE;
        }
        i += size - 1;
    }
}

/* ---- struck out ---- */

static void quote_struck(char *p, str text)
{
    static const struct {
        str open, close;
    } marks[] = {{STR_INIT("~~"), STR_INIT("~~")},
                 {STR_INIT("<del>"), STR_INIT("</del>")},
                 {STR_INIT("<s>"), STR_INIT("</s>")},
                 {STR_INIT("<strike>"), STR_INIT("</strike>")}};

    for (size_t i = 0; i < COUNT_OF(marks); i++)
        for (size_t at = 0, from, size; at < text.n; at = from + size + marks[i].close.n) {
            from = str_find(str_slice(text, at, text.n), marks[i].open);
            if (from == STR_NONE)
                break;
            from += at + marks[i].open.n;
            size = str_find(str_slice(text, from, text.n), marks[i].close);
            if (size == STR_NONE)
                break;
            quote_blank(p, from - marks[i].open.n, from + size + marks[i].close.n);
        }
}

/* ---- words of the evidence ---- */

static uint64_t quote_mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

/* Words are separated by white space; marks at their ends do not count. */
static size_t quote_words(str text, struct quote_word *out)
{
    size_t n = 0, line = 0, from, to;

    for (size_t at = 0; at < text.n;) {
        line += text.p[at] == '\n';
        if (!char_in_word(text.p[at])) {
            at++;
            continue;
        }
        for (from = at; at < text.n && !char_is_space(text.p[at]); at++)
            ;
        for (to = at; to > from && !char_in_word(text.p[to - 1]); to--)
            ;
        out[n] = (struct quote_word){.from = from, .to = to, .line = line, .hash = to - from};
        for (size_t i = from; i < to; i++)
            out[n].hash = quote_mix(out[n].hash, (unsigned char)char_to_lower(text.p[i]));
        n++;
    }
    assert_slow(n <= quote_span_words(text));
    return n;
}

static uint64_t quote_run(const struct quote_word *w, size_t n)
{
    uint64_t h = n == SCORE_QUOTE_RUN ? 1 : 2;

    assert(n > 0 && n <= SCORE_QUOTE_RUN);
    for (size_t i = 0; i < n; i++)
        h = quote_mix(h, w[i].hash);
    return h;
}

/* How many words the line of the i-th one has from there on. */
static size_t quote_line_words(const struct quote_word *w, size_t n, size_t i)
{
    size_t end = i;

    assert(i < n);
    while (end < n && w[end].line == w[i].line)
        end++;
    return end - i;
}

static bool quote_starts_line(const struct quote_word *w, size_t i)
{
    return i == 0 || w[i].line != w[i - 1].line;
}

static int quote_by_hash(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void quote_index_make(str evidence, struct arena *a, struct quote_index *out)
{
    struct quote_word *w;
    size_t n;

    w = base_alloc((quote_span_words(evidence) + 1) * sizeof *w);
    n = quote_words(evidence, w);
    out->at = arena_alloc(a, (2 * n + 1) * sizeof *out->at);
    out->n = 0;
    for (size_t i = 0; i < n; i++) {
        size_t line = quote_starts_line(w, i) ? quote_line_words(w, n, i) : 0;

        if (n - i >= SCORE_QUOTE_RUN)
            out->at[out->n++] = quote_run(&w[i], SCORE_QUOTE_RUN);
        if (line >= LINE_WORDS_LEAST && line < SCORE_QUOTE_RUN)
            out->at[out->n++] = quote_run(&w[i], line);
    }
    assert(out->n <= 2 * n);
    free(w);
    qsort(out->at, out->n, sizeof *out->at, quote_by_hash);
}

static bool quote_known(const struct quote_index *x, uint64_t hash)
{
    return bsearch(&hash, x->at, x->n, sizeof hash, quote_by_hash) != NULL;
}

/* A list's number is not part of a line. */
static size_t quote_line_start(str text, const struct quote_word *w, size_t n, size_t i)
{
    bool number = w[i].to - w[i].from <= 2 && char_is_digit(text.p[w[i].from]) &&
                  w[i].to < text.n && (text.p[w[i].to] == '.' || text.p[w[i].to] == ')');

    assert(i < n);
    return number && i + 1 < n && w[i + 1].line == w[i].line ? i + 1 : i;
}

static void quote_evidence(char *p, str text, str evidence, struct arena *a)
{
    struct quote_word *w = base_alloc((quote_span_words(text) + 1) * sizeof *w);
    size_t n = quote_words(text, w), until = 0;
    struct quote_index index;

    quote_index_make(evidence, a, &index);
    for (size_t i = 0; i < n; i++) {
        size_t first, line;

        if (n - i >= SCORE_QUOTE_RUN && quote_known(&index, quote_run(&w[i], SCORE_QUOTE_RUN))) {
            quote_blank(p, i < until ? w[until - 1].to : w[i].from, w[i + SCORE_QUOTE_RUN - 1].to);
            until = i + SCORE_QUOTE_RUN;
        }
        if (!quote_starts_line(w, i))
            continue;
        first = quote_line_start(text, w, n, i);
        line = quote_line_words(w, n, first);
        if (line >= LINE_WORDS_LEAST && line < SCORE_QUOTE_RUN &&
            quote_known(&index, quote_run(&w[first], line)))
            quote_blank(p, w[first].from, w[first + line - 1].to);
    }
    free(w);
}

str score_quotes_remove(str analysis, str evidence, struct arena *a)
{
    str spans;
    char *p = arena_alloc(a, analysis.n + 1);

    memcpy(p, analysis.p, analysis.n);
    quote_blocks(p, analysis);
    quote_struck(p, arena_dup(a, (str){p, analysis.n}));
    spans = arena_dup(a, (str){p, analysis.n});
    for (size_t at = 0; at < spans.n; at++) {
        str line = quote_line(spans, at);

        quote_spans(p, spans, at, line);
        at += line.n;
    }
    if (evidence.n)
        quote_evidence(p, arena_dup(a, (str){p, analysis.n}), evidence, a);
    return (str){p, analysis.n};
}
