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

#define NUMBERS                                                                                    \
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "       \
    "fifteen sixteen seventeen eighteen nineteen twenty"
#define TENS "thirty forty fifty sixty seventy eighty ninety"
#define MONTHS                                                                                     \
    "january february march april may june july august september october november december"
#define MONTHS_SHORT "jan feb mar apr may jun jul aug sep oct nov dec"

/* The place of a word among names, or -1. */
static int word_place(const struct word *w, const char *names)
{
    int place = 0;

    if (!word_among(w, names))
        return -1;
    for (size_t n; (n = strcspn(names, " ")) != w->size || memcmp(names, w->lower, n) != 0; place++)
        names += n + 1;
    return place;
}

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
    return str_starts(s, STR("\xC2\xA0"))       ? 2
           : str_starts(s, STR("\xE2\x80\xAF")) ? 3
           : str_starts(s, STR("&nbsp;"))       ? 6
                                                : 0;
}

/* The sign of a currency, of degrees, of at most or at least. Its size, or 0. */
static size_t symbol_at(str s)
{
    static const char *const symbols[] = {
        "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5", "\xC2\xB0", "\xE2\x89\xA4", "\xE2\x89\xA5"};

    for (size_t i = 0; i < COUNT_OF(symbols); i++)
        if (str_starts(s, str_c(symbols[i])))
            return strlen(symbols[i]);
    return 0;
}

static bool policy_words_ends(const char *s, size_t n, const char *with)
{
    size_t k = strlen(with);

    return n > k && memcmp(s + n - k, with, k) == 0;
}

/* Whether the rest of a word has a vowel: "string" is no "str" with an ending. */
static bool has_vowel(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strchr("aeiou", s[i]) || (i > 0 && s[i] == 'y'))
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

static const char *const plurals[][2] = {
    {"children", "child"}, {"people", "person"}, {"women", "woman"}, {"men", "man"}};

/* A plural's singular in its place. */
static size_t policy_words_singular(char *s, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(plurals); i++)
        if (strcmp(s, plurals[i][0]) == 0) {
            memcpy(s, plurals[i][1], strlen(plurals[i][1]) + 1);
            return strlen(s);
        }
    if (policy_words_ends(s, n, "ies") && n > 4)
        s[(n -= 2) - 1] = 'y';
    else if (n > 4 && (policy_words_ends(s, n, "sses") || policy_words_ends(s, n, "xes") ||
                       policy_words_ends(s, n, "ches") || policy_words_ends(s, n, "shes")))
        n -= 2;
    else if (n > 3 && s[n - 1] == 's' && !strchr("sui", s[n - 2]))
        n--;
    s[n] = 0;
    return n;
}

/* Endings of number, tense and person; no more, so that different words stay different. */
static size_t policy_words_stem(char *s, size_t n)
{
    n = policy_words_singular(s, n);
    if (policy_words_ends(s, n, "sis") && n > 5)
        n -= 2; /* diagnosis, diagnoses */
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

/* A date as the number of its figures, so that dates compare; false if no such day exists. */
static bool words_day(int year, int month, int day, double *out)
{
    static const int days[12] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    if (month < 1 || month > 12 || day < 1 || day > days[month - 1])
        return false;
    *out = (year * 100 + month) * 100 + day;
    return true;
}

/* A date as YYYY-MM-DD. */
static bool policy_words_date_at(str s, double *out)
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
    return words_day(v[0], v[1], v[2], out);
}

/* The end of the letters and digits from a place on; codes have points between digits. */
static size_t words_run(str s, size_t from)
{
    size_t to = from;

    for (; to < s.n; to++) {
        str rest = str_slice(s, to, s.n);
        bool point = s.p[to] == '.' && to > 0 && char_is_digit(s.p[to - 1]) && rest.n > 1 &&
                     char_is_digit(rest.p[1]);

        if (!point && (!(policy_words_is_letter(s.p[to]) || char_is_digit(s.p[to])) ||
                       wide_mark(rest) || space_at(rest) || symbol_at(rest)))
            break;
    }
    return to;
}

/* A number, a date, or a code that begins with a digit ("3rd"): a code is a word. */
static size_t digits_at(str s, struct word *w)
{
    size_t n = policy_words_number_at(s, &w->number), to = words_run(s, n);

    w->kind = to > n ? WORD_TEXT : WORD_NUMBER;
    if (to == 4 && policy_words_date_at(s, &w->number))
        to = 10;
    word_set(w, str_slice(s, 0, to));
    return to;
}

/* A word; "user's" is "user", and "can't" is one word. */
static size_t letters_at(str s, struct word *w)
{
    size_t n = words_run(s, 0), quote, to;
    str rest = str_slice(s, n, s.n);

    quote = rest.n > 0 && rest.p[0] == '\'' ? 1 : str_starts(rest, STR("\xE2\x80\x99")) ? 3 : 0;
    to = quote > 0 ? words_run(s, n + quote) : n;
    if (quote == 0 || to == n + quote)
        to = n;
    else if (to != n + quote + 1 || s.p[n + quote] != 's')
        n = to;
    word_set(w, str_slice(s, 0, n));
    w->number = word_place(w, NUMBERS);
    if (w->number < 0 && word_place(w, TENS) >= 0)
        w->number = 30 + 10 * word_place(w, TENS);
    w->kind = w->number < 0 ? WORD_TEXT : WORD_NUMBER;
    return to;
}

static size_t mark_at(str s, struct word *w)
{
    bool wide = wide_mark(s) > 0, sign = str_starts(s, STR("\xE2\x89"));
    bool equal = sign || (s.n > 1 && s.p[1] == '=' && memchr("<>", s.p[0], 2));
    unsigned char last = (unsigned char)s.p[wide || sign ? 2 : 0];

    w->kind = WORD_MARK;
    if (wide) /* dashes, quotes, daggers, dots */
        last = last < 0x96 ? '-' : last < 0xA0 ? '"' : last < 0xA2 ? '*' : '.';
    else if (sign)
        last = last == 0xA4 ? '<' : '>';
    snprintf(w->lower, sizeof w->lower, "%c%s", last, equal ? "=" : "");
    memcpy(w->stem, w->lower, 3);
    return wide || sign ? 3 : 1 + equal;
}

static size_t policy_words_word_at(str s, struct word *w)
{
    size_t n = symbol_at(s);

    if (char_is_digit(s.p[0]))
        return digits_at(s, w);
    if (n > 0 && !str_starts(s, STR("\xE2\x89"))) {
        word_set(w, str_slice(s, 0, n));
        return n;
    }
    return words_run(s, 0) > 0 ? letters_at(s, w) : mark_at(s, w);
}

/* ---- dates of several words: "March 5, 2026", "5th of March 2026" ---- */

/* The day of a month: 5, or 5th; or 0. */
static int spell_day(const struct word *w)
{
    char *end;
    int day = char_is_digit(w->lower[0]) ? (int)strtol(w->lower, &end, 10) : 0;

    return day > 0 && w->size < 5 &&
                   (*end == 0 || strcmp(end, "st") == 0 || strcmp(end, "nd") == 0 ||
                    strcmp(end, "rd") == 0 || strcmp(end, "th") == 0)
               ? day
               : 0;
}

static int spell_month(const struct word *w)
{
    int full = word_place(w, MONTHS);

    return 1 + (full < 0 ? word_place(w, MONTHS_SHORT) : full);
}

/* How many words are a date, or 0. */
static size_t spell_date_at(const struct word *w, size_t n, struct word *out)
{
    int month = spell_month(&w[0]), day = month ? 0 : spell_day(&w[0]);
    size_t at = 1;
    char text[24];

    for (; at < n && word_among(&w[at], ". , of - the"); at++)
        ;
    if ((month == 0 && day == 0) || at == n)
        return 0;
    if (month)
        day = spell_day(&w[at++]);
    else
        month = spell_month(&w[at++]);
    for (; at < n && word_among(&w[at], ". , -"); at++)
        ;
    if (at == n || w[at].kind != WORD_NUMBER || w[at].size != 4 || !char_is_digit(w[at].lower[0]) ||
        !words_day((int)w[at].number, month, day, &out->number))
        return 0;
    snprintf(text, sizeof text, "%04d-%02d-%02d", (int)w[at].number, month, day);
    word_set(out, str_c(text));
    out->kind = WORD_NUMBER;
    out->from = w[0].from;
    out->to = w[at].to;
    return at + 1;
}

/* Words that are one date together become one; gives how many are left. */
static size_t words_join(struct word *w, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0, took; i < n; i += took) {
        struct word date = {0};

        took = spell_date_at(w + i, n - i, &date);
        w[kept++] = took ? date : w[i];
        took = took ? took : 1;
    }
    return kept;
}

size_t words_of(str text, struct arena *a, struct word **out)
{
    size_t cap = 0, n = 0;
    struct word *all = NULL;

    for (size_t i = 0; i < text.n && n < WORDS_MAX;) {
        struct word w = {.from = (uint32_t)i};
        str rest = str_slice(text, i, text.n);
        size_t blank = space_at(rest);

        i += blank > 0 ? blank : policy_words_word_at(rest, &w);
        if (blank > 0)
            continue;
        w.to = (uint32_t)i;
        w.size = (uint8_t)strlen(w.lower);
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

bool word_same_singular(const struct word *a, const struct word *b)
{
    char x[WORD_STEM_MAX + 1], y[WORD_STEM_MAX + 1];

    if (a->kind == WORD_NUMBER && b->kind == WORD_NUMBER)
        return word_same(a, b);
    memcpy(x, a->lower, sizeof x);
    memcpy(y, b->lower, sizeof y);
    policy_words_singular(x, strlen(x));
    policy_words_singular(y, strlen(y));
    return a->kind == b->kind && strcmp(x, y) == 0;
}

bool word_is_plural(const struct word *w)
{
    char x[WORD_STEM_MAX + 1];

    memcpy(x, w->lower, sizeof x);
    policy_words_singular(x, strlen(x));
    return strcmp(x, w->lower) != 0;
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

        to = words_run(text, at);
        word_set(&here, str_slice(text, at, to));
        if (to > at && w->kind == WORD_TEXT && word_same(&here, w))
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
