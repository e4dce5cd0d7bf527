/* words.c - a text as words. See words.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/words.h"

#include "apps/policy/version.h"
#include "base/ctype.h"

#include <math.h>

#define STOPS                                                                                      \
    "a an the of for to in on at by is are be been was were as and or this that these those it "   \
    "its their his her with from any each all per has have had do does did if"

#define NUMBERS                                                                                    \
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "       \
    "fifteen sixteen seventeen eighteen nineteen twenty "
#define TENS "thirty forty fifty sixty seventy eighty ninety"
#define MONTHS                                                                                     \
    "january february march april may june july august september october november december "       \
    "jan feb mar apr may jun jul aug sep oct nov dec"

/* Characters of several bytes that are no letters, and how they are read: as white space, as a
 * comparison, or as they are. */
static const char *const signs[][2] = {
    {"\xC2\xA0", " "},
    {"\xE2\x80\xAF", " "},
    {"&nbsp;", " "},
    {"<=", "<="},
    {">=", ">="},
    {"\xE2\x89\xA4", "<="},
    {"\xE2\x89\xA5", ">="},
    {"\xE2\x82\xAC", "\xE2\x82\xAC"}, /* signs of currencies, and of degrees */
    {"\xC2\xA3", "\xC2\xA3"},
    {"\xC2\xA5", "\xC2\xA5"},
    {"\xC2\xB0", "\xC2\xB0"},
};

/* The size of such a character, or 0. */
static size_t policy_sign_at(str s, const char **as)
{
    unsigned char last = s.n > 2 ? (unsigned char)s.p[2] : 0;

    for (size_t i = 0; i < COUNT_OF(signs); i++)
        if (s.p[0] == signs[i][0][0] && str_starts(s, str_c(signs[i][0]))) {
            *as = signs[i][1];
            return strlen(signs[i][0]);
        }
    /* The block General Punctuation: dashes, quotes, daggers, dots. */
    *as = last < 0x96 ? "-" : last < 0xA0 ? "\"" : last < 0xA2 ? "*" : ".";
    return last && str_starts(s, STR("\xE2\x80")) ? 3 : 0;
}

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

static const char *const plurals[][2] = {
    {"children", "child"}, {"people", "person"}, {"women", "woman"}, {"men", "man"}};

/* A plural's singular in its place. */
static void policy_words_singular(char *s, size_t n)
{
    str all = {s, n};

    assert(n <= WORD_SIZE_MAX && s[n] == 0);
    for (size_t i = 0; i < COUNT_OF(plurals); i++)
        if (strcmp(s, plurals[i][0]) == 0) {
            memcpy(s, plurals[i][1], strlen(plurals[i][1]) + 1);
            return;
        }
    if (n > 4 && str_ends(all, STR("ies")))
        s[(n -= 2) - 1] = 'y';
    else if (n > 4 && (str_ends(all, STR("sses")) || str_ends(all, STR("xes")) ||
                       str_ends(all, STR("ches")) || str_ends(all, STR("shes"))))
        n -= 2;
    else if (n > 3 && s[n - 1] == 's' && !strchr("sui", s[n - 2]))
        n--;
    s[n] = 0;
}

void word_set(struct word *w, str s)
{
    size_t n = s.n < WORD_SIZE_MAX ? s.n : WORD_SIZE_MAX;

    for (size_t i = 0; i < n; i++)
        w->lower[i] = char_to_lower(s.p[i]);
    w->lower[n] = 0;
    memcpy(w->singular, w->lower, n + 1);
    policy_words_singular(w->singular, n);
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

/* A date as YYYY-MM-DD is the number of its figures, so that dates compare. */
static bool policy_words_date_at(str s, double *out)
{
    double v = 0;

    if (s.n < 10 || s.p[4] != '-' || !policy_is_day(str_slice(s, 0, 10)) ||
        (s.n > 10 && char_is_digit(s.p[10])))
        return false;
    for (size_t i = 0; i < 10; i++)
        v = s.p[i] == '-' ? v : v * 10 + (s.p[i] - '0');
    *out = v;
    return true;
}

/* The end of the letters and digits from a place on; codes have points between digits. */
static size_t words_run(str s, size_t from)
{
    size_t to = from;
    const char *as;

    for (; to < s.n; to++) {
        bool point = s.p[to] == '.' && to > 0 && char_is_digit(s.p[to - 1]) && to + 1 < s.n &&
                     char_is_digit(s.p[to + 1]);

        if (!point && !char_is_letter(s.p[to]) && !char_is_digit(s.p[to]) &&
            (!(s.p[to] & 0x80) || policy_sign_at(str_slice(s, to, s.n), &as) > 0))
            break;
    }
    return to;
}

/* A number, a date, or a code that begins with a digit ("3rd"): a code is a word. */
static size_t policy_digits_at(str s, struct word *w)
{
    size_t n = policy_words_number_at(s, &w->number), to = words_run(s, n);

    assert(n > 0 && n <= to && to <= s.n);
    w->kind = to > n ? WORD_TEXT : WORD_NUMBER;
    if (to == 4 && policy_words_date_at(s, &w->number))
        to = 10;
    word_set(w, str_slice(s, 0, to));
    return to;
}

/* A word; "user's" is "user", and "can't" is one word. */
static size_t policy_letters_at(str s, struct word *w)
{
    size_t n = words_run(s, 0), quote, to;
    str rest = str_slice(s, n, s.n);

    quote = rest.n > 0 && rest.p[0] == '\'' ? 1 : str_starts(rest, STR("\xE2\x80\x99")) ? 3 : 0;
    to = quote > 0 ? words_run(s, n + quote) : n;
    if (quote == 0 || to == n + quote)
        to = n;
    else if (to != n + quote + 1 || s.p[n + quote] != 's')
        n = to;
    assert(n > 0 && n <= to && to <= s.n);
    word_set(w, str_slice(s, 0, n));
    w->number = word_place(w, NUMBERS TENS);
    if (w->number > 20)
        w->number = 30 + 10 * (w->number - 21);
    w->kind = w->number < 0 ? WORD_TEXT : WORD_NUMBER;
    return to;
}

static size_t policy_words_word_at(str s, struct word *w)
{
    const char one[] = {s.p[0], 0}, *as = one;
    size_t n = policy_sign_at(s, &as);

    assert(s.n > 0);
    if (char_is_digit(s.p[0]))
        return policy_digits_at(s, w);
    if (n == 0 && words_run(s, 0) > 0)
        return policy_letters_at(s, w);
    word_set(w, str_c(n > 0 ? as : one));
    w->kind = w->lower[0] & 0x80 ? WORD_TEXT : WORD_MARK;
    return n > 0 ? n : 1;
}

/* ---- dates of several words: "March 5, 2026", "5th of March 2026" ---- */

/* The day of a month: 5, or 5th; or 0. */
static int spell_day(const struct word *w)
{
    char *end;
    int day = (int)strtol(w->lower, &end, 10);

    return *end == 0 || (strlen(end) == 2 && strstr("st nd rd th", end)) ? day : 0;
}

/* How many words are a date, or 0. */
static size_t spell_date_at(const struct word *w, size_t n, struct word *out)
{
    int month = word_place(&w[0], MONTHS), day = month < 0 ? spell_day(&w[0]) : 0;
    size_t at = 1;
    char text[24];

    if (month < 0 && day == 0)
        return 0;
    for (; at < n && word_among(&w[at], ". , of - the"); at++)
        ;
    if (at == n)
        return 0;
    if (month < 0)
        month = word_place(&w[at++], MONTHS);
    else
        day = spell_day(&w[at++]);
    for (; at < n && word_among(&w[at], ". , -"); at++)
        ;
    if (at == n || month < 0)
        return 0;
    snprintf(text, sizeof text, "%.4s-%02d-%02d", w[at].lower, month % 12 + 1, day);
    if (w[at].size != 4 || !policy_words_date_at(str_c(text), &out->number))
        return 0;
    word_set(out, str_c(text));
    out->kind = WORD_NUMBER;
    out->from = w[0].from;
    out->to = w[at].to;
    assert(at < n);
    return at + 1;
}

/* Words that are one date together become one; gives how many are left. */
static size_t words_join(struct word *w, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0, took; i < n; i += took) {
        struct word date = {0};

        took = spell_date_at(w + i, n - i, &date);
        assert(kept <= i && i + took <= n);
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

        i += policy_words_word_at(str_slice(text, i, text.n), &w);
        assert(i > w.from && i <= text.n);
        if (char_is_json_space(w.lower[0]))
            continue;
        w.to = (uint32_t)i;
        all = base_grow(all, n, &cap, sizeof all[0]);
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
        if (i > 0 && char_is_upper(name.p[i]) && char_is_letter(name.p[i - 1]) &&
            !char_is_upper(name.p[i - 1]))
            p[n++] = ' '; /* camelCase */
        p[n++] = memchr("_-:/.", name.p[i], 5) ? ' ' : name.p[i];
    }
    assert(n <= 2 * name.n);
    return words_of((str){p, n}, a, out);
}

size_t words_of_name(str name, struct arena *a, struct word **out)
{
    struct word *all;
    size_t words = words_of_full_name(name, a, &all), kept = 0;

    for (size_t i = 0; i < words; i++)
        if (all[i].kind != WORD_MARK && (!word_stops(&all[i]) || words == 1))
            all[kept++] = all[i];
    assert(kept <= words);
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
    return a->kind != WORD_MARK && b->kind != WORD_MARK && strcmp(a->singular, b->singular) == 0;
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
