/* words.c - a text as words. See words.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/words.h"
#include "base/ctype.h"

#include <math.h>

#define STOPS                                                                                      \
    "a an the of for to in on at by is are be been was were as and or this that these those it "   \
    "its "                                                                                         \
    "their his her with from any each all per has have had do does did if"

static const struct {
    const char *word;
    double value;
} small_numbers[] = {
    {"zero", 0},      {"one", 1},      {"two", 2},        {"three", 3},     {"four", 4},
    {"five", 5},      {"six", 6},      {"seven", 7},      {"eight", 8},     {"nine", 9},
    {"ten", 10},      {"eleven", 11},  {"twelve", 12},    {"thirteen", 13}, {"fourteen", 14},
    {"fifteen", 15},  {"sixteen", 16}, {"seventeen", 17}, {"eighteen", 18}, {"nineteen", 19},
    {"twenty", 20},   {"thirty", 30},  {"forty", 40},     {"fifty", 50},    {"sixty", 60},
    {"seventy", 70},  {"eighty", 80},  {"ninety", 90},    {"hundred", 100}, {"thousand", 1000},
    {"million", 1e6},
};

static bool policy_words_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

/* Punctuation of the General Punctuation block: dashes, quotes, dots. Its size, or 0. */
static size_t wide_mark(str s)
{
    return s.n >= 3 && (unsigned char)s.p[0] == 0xE2 && (unsigned char)s.p[1] == 0x80 ? 3 : 0;
}

/* White space; also what does not break a line. Its size, or 0. */
static size_t space_at(str s)
{
    if (memchr(" \t\r\n", s.p[0], 4))
        return 1;
    if (str_starts(s, STR("\xC2\xA0")))
        return 2;
    if (str_starts(s, STR("\xE2\x80\xAF")))
        return 3;
    return str_starts(s, STR("&nbsp;")) ? 6 : 0;
}

/* The sign of degrees, with the letter after it, or of a currency. */
static size_t symbol_at(str s)
{
    if (str_starts(s, STR("\xE2\x82\xAC")))
        return 3;
    if (str_starts(s, STR("\xC2\xA3")) || str_starts(s, STR("\xC2\xA5")))
        return 2;
    if (!str_starts(s, STR("\xC2\xB0")))
        return 0;
    return s.n > 2 && memchr("CFcf", s.p[2], 4) && (s.n == 3 || !policy_words_is_letter(s.p[3]))
               ? 3
               : 2;
}

/* The sign for at most or at least; its size, or 0. */
static size_t wide_compare(str s, char *as)
{
    if (s.n < 3 || memcmp(s.p, "\xE2\x89", 2) != 0 || ((unsigned char)s.p[2] & 0xFE) != 0xA4)
        return 0;
    *as = (unsigned char)s.p[2] == 0xA4 ? '<' : '>';
    return 3;
}

static bool policy_words_ends(const char *s, size_t n, const char *with)
{
    size_t k = strlen(with);

    return n > k && memcmp(s + n - k, with, k) == 0;
}

static bool is_vowel(char c)
{
    return c && strchr("aeiou", c);
}

/* Whether what is left has a vowel: "string" is no "str" with an ending. */
static bool has_vowel(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_vowel(s[i]) || (i > 0 && s[i] == 'y'))
            return true;
    return false;
}

static size_t stem_verb(char *s, size_t n, size_t ending)
{
    n -= ending;
    if (n > 2 && s[n - 1] == s[n - 2] && !strchr("lsz", s[n - 1]))
        n--; /* permitted, permitting */
    return n;
}

static const char *const irregular[][2] = {
    {"children", "child"}, {"people", "person"}, {"women", "woman"}, {"men", "man"}};

/* Endings of number, tense and person; no more, so that different words stay different. */
static size_t policy_words_stem(char *s, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(irregular); i++)
        if (strcmp(s, irregular[i][0]) == 0) {
            memcpy(s, irregular[i][1], strlen(irregular[i][1]) + 1);
            return strlen(s);
        }
    if (policy_words_ends(s, n, "ies") && n > 4)
        s[(n -= 2) - 1] = 'y';
    else if (n > 4 && (policy_words_ends(s, n, "sses") || policy_words_ends(s, n, "xes") ||
                       policy_words_ends(s, n, "ches") || policy_words_ends(s, n, "shes")))
        n -= 2;
    else if (policy_words_ends(s, n, "sis") && n > 5)
        n -= 2; /* diagnosis, diagnoses */
    else if (n > 3 && s[n - 1] == 's' && !strchr("sui", s[n - 2]))
        n--;
    if (policy_words_ends(s, n, "ied") && n > 4)
        s[(n -= 2) - 1] = 'y';
    else if (policy_words_ends(s, n, "ed") && n > 4 && has_vowel(s, n - 2))
        n = stem_verb(s, n, 2);
    else if (policy_words_ends(s, n, "ing") && n > 5 && has_vowel(s, n - 3))
        n = stem_verb(s, n, 3);
    else if (policy_words_ends(s, n, "ation") && n > 7)
        n -= 5; /* cancellation, documentation */
    else if (policy_words_ends(s, n, "ship") && n > 8)
        n -= 4; /* membership */
    if (n > 3 && s[n - 1] == 'e')
        n--;
    if (n > 4 && s[n - 1] == 'l' && s[n - 2] == 'l')
        n--; /* cancelled, canceled */
    return n;
}

void word_set(struct word *w, str s)
{
    size_t n = s.n < WORD_STEM_MAX ? s.n : WORD_STEM_MAX;

    for (size_t i = 0; i < n; i++)
        w->lower[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + 32 : s.p[i]);
    w->lower[n] = 0;
    memcpy(w->stem, w->lower, n + 1);
    w->stem[policy_words_stem(w->stem, n)] = 0;
    w->hash = 2166136261u; /* FNV-1a */
    for (const char *p = w->stem; *p; p++)
        w->hash = (w->hash ^ (unsigned char)*p) * 16777619u;
    w->size = (uint8_t)n;
}

/* Digits, with commas between threes and one fraction. */
static size_t policy_words_number_at(str s, double *out)
{
    double v = 0, scale = 1;
    size_t i = 0;

    for (; i < s.n; i++)
        if (char_is_digit(s.p[i]))
            v = v * 10 + (s.p[i] - '0');
        else if (!(s.p[i] == ',' && i > 0 && i + 3 < s.n && char_is_digit(s.p[i + 1]) &&
                   char_is_digit(s.p[i + 2]) && char_is_digit(s.p[i + 3]) &&
                   (i + 4 == s.n || !char_is_digit(s.p[i + 4]))))
            break;
    if (i + 1 < s.n && s.p[i] == '.' && char_is_digit(s.p[i + 1]))
        for (i++; i < s.n && char_is_digit(s.p[i]); i++)
            v += (s.p[i] - '0') * (scale /= 10);
    *out = v;
    return i;
}

/* A date as YYYY-MM-DD, as days from some day. */
static bool policy_words_date_at(str s, double *days)
{
    int v[3] = {0};

    if (s.n < 10 || s.p[4] != '-' || s.p[7] != '-' || (s.n > 10 && char_is_digit(s.p[10])))
        return false;
    for (size_t i = 0, part = 0; i < 10; i++)
        if (i == 4 || i == 7)
            part++;
        else if (char_is_digit(s.p[i]))
            v[part] = v[part] * 10 + (s.p[i] - '0');
        else
            return false;
    return words_day(v[0], v[1], v[2], days);
}

/* A number, a date, or a code that begins with a digit ("3rd"): a code is a word. */
static size_t digits_at(str s, struct word *w)
{
    size_t n = policy_words_number_at(s, &w->number), to = n;

    w->kind = WORD_NUMBER;
    while (to < s.n && (policy_words_is_letter(s.p[to]) || char_is_digit(s.p[to])) &&
           !wide_mark(str_slice(s, to, s.n)) && !space_at(str_slice(s, to, s.n)) &&
           symbol_at(str_slice(s, to, s.n)) == 0)
        to++;
    if (to == n && n == 4 && policy_words_date_at(s, &w->number)) {
        to = 10; /* days, so that dates compare as numbers do */
    } else if (to > n) {
        w->kind = WORD_TEXT;
    }
    word_set(w, str_slice(s, 0, to));
    return to;
}

/* An apostrophe, straight or not. */
static size_t quote_at(str s)
{
    if (s.n > 0 && s.p[0] == '\'')
        return 1;
    return str_starts(s, STR("\xE2\x80\x99")) ? 3 : 0;
}

static size_t letters_at(str s, struct word *w)
{
    size_t to = 0, real, quote;

    while (to < s.n && (policy_words_is_letter(s.p[to]) || char_is_digit(s.p[to]) ||
                        (s.p[to] == '.' && to + 1 < s.n && char_is_digit(s.p[to + 1]) && to > 0 &&
                         char_is_digit(s.p[to - 1])))) {
        if (wide_mark(str_slice(s, to, s.n)) || space_at(str_slice(s, to, s.n)) ||
            symbol_at(str_slice(s, to, s.n)))
            break;
        to++;
    }
    real = to;
    quote = quote_at(str_slice(s, to, s.n));
    if (quote > 0 && to + quote < s.n && policy_words_is_letter(s.p[to + quote])) {
        bool not_ = s.p[to + quote] == 't' && to > 0 && s.p[to - 1] == 'n';

        for (to += quote;
             to < s.n && policy_words_is_letter(s.p[to]) && !wide_mark(str_slice(s, to, s.n));)
            to++;
        if (not_) { /* can't; but user's is user */
            char whole[WORD_STEM_MAX + 1];

            snprintf(whole, sizeof whole, "%.*s't", (int)(real < 20 ? real : 20), s.p);
            word_set(w, str_c(whole));
            w->kind = WORD_TEXT;
            return to;
        }
    }
    w->kind = WORD_TEXT;
    word_set(w, str_slice(s, 0, real));
    for (size_t i = 0; i < COUNT_OF(small_numbers); i++)
        if (strcmp(small_numbers[i].word, w->lower) == 0) {
            w->kind = WORD_NUMBER;
            w->number = small_numbers[i].value;
        }
    return to;
}

static size_t mark_at(str s, struct word *w)
{
    size_t n = wide_mark(s);

    w->kind = WORD_MARK;
    w->lower[0] = s.p[0];
    if (n == 3)
        w->lower[0] = (unsigned char)s.p[2] < 0x96   ? '-'
                      : (unsigned char)s.p[2] < 0xA0 ? '"'
                      : (unsigned char)s.p[2] < 0xA2 ? '*' /* daggers */
                                                     : '.';
    else
        n = 1;
    if ((s.p[0] == '<' || s.p[0] == '>') && s.n > 1 && s.p[1] == '=') {
        w->lower[1] = '=';
        n = 2;
    }
    memcpy(w->stem, w->lower, 3);
    return n;
}

static size_t policy_words_word_at(str s, struct word *w)
{
    size_t n = wide_compare(s, w->lower);

    if (n > 0) {
        w->kind = WORD_MARK;
        w->lower[1] = '=';
        memcpy(w->stem, w->lower, 3);
        return n;
    }
    if (char_is_digit(s.p[0]))
        return digits_at(s, w);
    if (symbol_at(s) > 0) {
        w->kind = WORD_TEXT;
        word_set(w, str_slice(s, 0, symbol_at(s)));
        return symbol_at(s);
    }
    if (policy_words_is_letter(s.p[0]) && !wide_mark(s))
        return letters_at(s, w);
    return mark_at(s, w);
}

/* The sign of a number that is below zero, and not the dash of a range: its size, or 0. */
static size_t minus_at(str text, size_t i, const struct word *before)
{
    size_t n = text.p[i] == '-' ? 1 : 0;

    if (str_starts(str_slice(text, i, text.n), STR("\xE2\x88\x92")))
        n = 3;
    if (n == 0 || i + n >= text.n || !char_is_digit(text.p[i + n]) ||
        (i > 0 && !memchr(" \t\r\n([$", text.p[i - 1], 7)))
        return 0;
    return before && before->kind == WORD_NUMBER ? 0 : n;
}

static size_t negative_at(str s, size_t minus, struct word *w)
{
    size_t n = policy_words_word_at(str_slice(s, minus, s.n), w);
    struct word sign = *w;

    if (w->kind != WORD_NUMBER || word_dates(w))
        return minus + n;
    snprintf(sign.lower, sizeof sign.lower, "-%.*s", WORD_STEM_MAX - 1, w->lower);
    word_set(w, str_c(sign.lower));
    w->number = -w->number;
    return minus + n;
}

size_t words_of(str text, struct arena *a, struct word **out)
{
    size_t cap = 0, n = 0;
    struct word *all = NULL;

    for (size_t i = 0; i < text.n && n < WORDS_MAX;) {
        struct word w = {0};
        str rest = str_slice(text, i, text.n);
        size_t blank = space_at(rest), minus;

        if (blank > 0) {
            i += blank;
            continue;
        }
        minus = minus_at(text, i, n > 0 ? &all[n - 1] : NULL);
        w.from = (uint32_t)i;
        i += minus > 0 ? negative_at(rest, minus, &w) : policy_words_word_at(rest, &w);
        w.to = (uint32_t)i;
        w.size = (uint8_t)strlen(w.lower);
        /* A quote's mark at a line's start compares nothing. */
        if (word_is(&w, ">") && (w.from == 0 || text.p[w.from - 1] == '\n'))
            continue;
        if (n == cap) {
            cap = cap ? 2 * cap : 32;
            all = base_realloc(all, cap * sizeof all[0]);
        }
        all[n++] = w;
    }
    if (n > 0)
        n = words_join(all, n);
    *out = arena_alloc(a, (n + 1) * sizeof all[0]);
    if (n > 0)
        memcpy(*out, all, n * sizeof all[0]);
    free(all);
    return n;
}

size_t words_of_full_name(str name, struct arena *a, struct word **out)
{
    char *p = arena_alloc(a, 2 * name.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < name.n; i++) {
        bool upper = name.p[i] >= 'A' && name.p[i] <= 'Z';

        if (upper && i > 0 && name.p[i - 1] >= 'a' && name.p[i - 1] <= 'z')
            p[n++] = ' '; /* camelCase */
        p[n++] = memchr("_-:/.", name.p[i], 5) ? ' ' : name.p[i];
    }
    return words_of((str){p, n}, a, out);
}

size_t words_of_name(str name, struct arena *a, struct word **out)
{
    struct word *all;
    size_t words = words_of_full_name(name, a, &all), kept = 0;

    for (size_t i = 0; i < words; i++)
        if (all[i].kind != WORD_MARK && (!word_stops(&all[i]) || words == 1))
            all[kept++] = all[i];
    *out = all;
    return kept;
}

bool word_is(const struct word *w, const char *lower)
{
    return w->lower[0] == lower[0] && strcmp(w->lower, lower) == 0;
}

bool word_among(const struct word *w, const char *names)
{
    size_t n = w->size;

    if (n == 0)
        return false;
    for (const char *p = names; (p = strstr(p, w->lower)); p++)
        if ((p == names || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0))
            return true;
    return false;
}

bool word_same(const struct word *a, const struct word *b)
{
    if (a->kind == WORD_NUMBER && b->kind == WORD_NUMBER)
        return fabs(a->number - b->number) < 1e-9;
    return a->hash == b->hash && a->kind != WORD_MARK && b->kind != WORD_MARK &&
           strcmp(a->stem, b->stem) == 0;
}

size_t word_find(const struct word *all, size_t n, const struct word *w)
{
    for (size_t i = 0; i < n; i++)
        if (word_same(&all[i], w))
            return i;
    return n;
}

bool words_text_has(str text, const struct word *w)
{
    for (size_t at = 0, to; at < text.n; at = to + (to == at)) {
        struct word here = {.kind = WORD_TEXT};

        for (to = at; to < text.n && ((text.p[to] & 0x80) || char_is_letter(text.p[to]) ||
                                      char_is_digit(text.p[to]));)
            to++;
        if (to == at)
            continue;
        word_set(&here, str_slice(text, at, to));
        if (w->kind == WORD_TEXT && word_same(&here, w))
            return true;
    }
    return false;
}

bool word_dates(const struct word *w)
{
    return w->kind == WORD_NUMBER && w->size == 10 && w->lower[4] == '-';
}

bool word_stops(const struct word *w)
{
    return word_among(w, STOPS);
}
