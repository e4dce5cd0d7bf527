/* match.c - compares names as people say them: equal and similar ones.
 *
 * A name is normalized: lower case without accents, words with one space between them, each in the
 * singular, no article in front. Similarity counts common words or, without common words, common
 * pairs of letters.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/menu.h"

#include "base/utf8.h"
#include "store/words.h"

#define LETTERS 40  /* a-z, 0-9, the end of a word, other */
#define NEAR_MIN 45 /* of 100: a name that shares fewer letters is another one */
#define SPOKEN_SIZE (MENU_SPOKEN_MAX + 8)

struct spelling {
    char p[SPOKEN_SIZE];
    size_t n, word; /* word: where the last one begins */
};

static bool order_match_ends(const struct spelling *s, const char *end)
{
    size_t n = strlen(end);

    assert(s->word <= s->n);
    return s->n - s->word > n && memcmp(s->p + s->n - n, end, n) == 0;
}

/* One rule for both sides is enough: its result need not be a word. "cookie", "cookies" and
 * "cooky" are normalized alike. */
static void match_drop_plural(struct spelling *s)
{
    if (order_match_ends(s, "ches") || order_match_ends(s, "shes") || order_match_ends(s, "xes") ||
        order_match_ends(s, "sses") || order_match_ends(s, "oes"))
        s->n -= 2;
    else if (order_match_ends(s, "s") && !order_match_ends(s, "ss") && s->n - s->word > 3)
        s->n--;
    if (order_match_ends(s, "ie") && s->n - s->word > 3) {
        s->n -= 2;
        s->p[s->n++] = 'y';
    }
}

static bool order_match_is_word(const struct spelling *s, const char *word)
{
    size_t n = strlen(word);

    return s->n - s->word == n && memcmp(s->p + s->word, word, n) == 0;
}

/* A word ends: singular, and dropped if it is a leading article. */
static void menu_end_word(struct spelling *s)
{
    assert(s->word <= s->n && s->n < SPOKEN_SIZE);
    if (s->n == s->word)
        return;
    match_drop_plural(s);
    if (s->word == 0 && (order_match_is_word(s, "a") || order_match_is_word(s, "an") ||
                         order_match_is_word(s, "the")))
        s->n = 0;
    else if (s->n < MENU_SPOKEN_MAX)
        s->p[s->n++] = ' ';
    s->word = s->n;
}

static str match_spell_name(struct spelling *s, str name)
{
    s->n = s->word = 0;
    name = utf8_cut_size(name, MENU_SPOKEN_MAX);
    for (size_t at = 0, size; at < name.n; at += size) {
        uint32_t c = ' ', folded;

        size = utf8_decode(str_slice(name, at, name.n), &c);
        size = size ? size : 1;
        folded = words_fold(c);
        if (c == '\'' || c == 0x2019 || folded == WORDS_MARK)
            continue; /* Joe's is Joes */
        if (s->n + size > MENU_SPOKEN_MAX)
            break;
        if (folded)
            s->n += utf8_encode(folded, s->p + s->n);
        else
            menu_end_word(s);
    }
    menu_end_word(s);
    return str_trim((str){s->p, s->n});
}

str menu_spoken(struct arena *a, str name)
{
    struct spelling s;

    return arena_dup(a, match_spell_name(&s, name));
}

bool menu_same(str a, str b)
{
    struct spelling x, y;

    return str_eq(match_spell_name(&x, a), match_spell_name(&y, b));
}

size_t menu_named(const struct menu *m, str name, const struct menu_item **out, size_t max)
{
    struct spelling s;
    str spoken = match_spell_name(&s, name);
    size_t n = 0;

    for (size_t i = 0; spoken.n && i < m->count && n < max; i++)
        if (str_eq(m->items[i].spoken, spoken))
            out[n++] = &m->items[i];
    assert(n <= max);
    return n;
}

/* ---- similar names ---- */

static size_t menu_words_in(str s)
{
    size_t n = 0;

    while (s.n) {
        (void)str_cut(&s, ' ');
        n++;
    }
    return n;
}

static size_t menu_common_words(str a, str b)
{
    size_t n = 0;

    while (a.n) {
        str word = str_cut(&a, ' '), rest = b;
        bool there = false;

        while (rest.n && !there)
            there = str_eq(str_cut(&rest, ' '), word);
        n += there;
    }
    return n;
}

static unsigned match_letter_index(char c)
{
    if (c >= 'a' && c <= 'z')
        return (unsigned)(c - 'a');
    if (c >= '0' && c <= '9')
        return (unsigned)(26 + c - '0');
    return c == ' ' ? 36 : 37;
}

/* Dice coefficient of the pairs of letters, in percent. */
static unsigned menu_near_by_letters(str a, str b)
{
    uint8_t count[LETTERS][LETTERS] = {{0}};
    unsigned same = 0, all = 0;

    for (size_t i = 1; i < a.n; i++, all++)
        if (count[match_letter_index(a.p[i - 1])][match_letter_index(a.p[i])] < UINT8_MAX)
            count[match_letter_index(a.p[i - 1])][match_letter_index(a.p[i])]++;
    for (size_t i = 1; i < b.n; i++, all++)
        if (count[match_letter_index(b.p[i - 1])][match_letter_index(b.p[i])] > 0) {
            count[match_letter_index(b.p[i - 1])][match_letter_index(b.p[i])]--;
            same++;
        }
    assert(2 * same <= all); /* each pair of a name counts once */
    return all ? 200 * same / all : 0;
}

/* 0: not at all. */
static unsigned match_score_names(str asked, str has)
{
    size_t common = menu_common_words(asked, has);
    unsigned letters = menu_near_by_letters(asked, has);
    unsigned score = 0;

    if (str_find(has, asked) != STR_NONE || str_find(asked, has) != STR_NONE)
        score = 2000;
    if (common)
        score += (unsigned)(2000 * common / (menu_words_in(asked) + menu_words_in(has)));
    return score || letters >= NEAR_MIN ? score + letters : 0;
}

size_t menu_suggest(const struct menu *m, str name, const struct menu_item *out[MENU_SUGGEST_MAX])
{
    unsigned best[MENU_SUGGEST_MAX] = {0};
    struct spelling s;
    str asked = match_spell_name(&s, name);
    size_t n = 0;

    for (size_t i = 0; asked.n > 1 && i < m->count; i++) {
        unsigned score = match_score_names(asked, m->items[i].spoken);
        size_t at = n;
        bool again = false;

        for (size_t k = 0; k < n; k++)
            again |= str_eq(out[k]->spoken, m->items[i].spoken);
        if (!score || again)
            continue;
        while (at > 0 && best[at - 1] < score)
            at--;
        if (at == MENU_SUGGEST_MAX)
            continue;
        n += n < MENU_SUGGEST_MAX;
        assert(at < n && n <= MENU_SUGGEST_MAX);
        for (size_t k = n - 1; k > at; k--) {
            best[k] = best[k - 1];
            out[k] = out[k - 1];
        }
        best[at] = score;
        out[at] = &m->items[i];
    }
    return n;
}
