/* score.c - see score.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/score.h"

#define STEM 5 /* letters of a plain word that must be the same */

static const char *const empty_words[] = {
    "the",   "and",  "for",   "are",  "was",   "with", "that",  "this",   "not",   "has",
    "have",  "had",  "its",   "it's", "from",  "into", "which", "there",  "their", "mention",
    "say",   "says", "state", "may",  "might", "can",  "could", "should", "would", "been",
    "being", "does", "did",   "also", "any",   "all",  "but",   "because"};

static bool part_of_word(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || (c & 0x80) ||
           c == '.' || c == '-' || c == '_' || c == '/' || c == ':';
}

/* The word at or behind *at, without the marks at its ends; empty at the end. */
static str next_word(str s, size_t *at)
{
    size_t from;
    str w;

    do {
        while (*at < s.n && !part_of_word(s.p[*at]))
            ++*at;
        from = *at;
        while (*at < s.n && part_of_word(s.p[*at]))
            ++*at;
        w = str_slice(s, from, *at);
        while (w.n && strchr(".-_/:", w.p[w.n - 1]))
            w.n--;
        while (w.n && strchr(".-_/:", w.p[0]))
            w = str_slice(w, 1, w.n);
    } while (!w.n && *at < s.n);
    return w;
}

static bool is_name(str fact, str w)
{
    size_t before = (size_t)(w.p - fact.p);

    if (before > 0 && fact.p[before - 1] == '`')
        return true;
    for (size_t i = 0; i < w.n; i++)
        if ((w.p[i] >= '0' && w.p[i] <= '9') || strchr(".-_/:", w.p[i]))
            return true;
    return false;
}

static bool says_nothing(str w)
{
    if (w.n < 3)
        return true;
    for (size_t i = 0; i < COUNT_OF(empty_words); i++)
        if (w.n == strlen(empty_words[i]) && strncasecmp(w.p, empty_words[i], w.n) == 0)
            return true;
    return false;
}

static bool has_name(str text, str w)
{
    for (size_t i = 0; i + w.n <= text.n; i++)
        if (strncasecmp(text.p + i, w.p, w.n) == 0)
            return true;
    return false;
}

static bool has_word(str text, str w)
{
    size_t stem = w.n < STEM ? w.n : STEM, at = 0;
    str t;

    while ((t = next_word(text, &at)).n)
        if (t.n >= stem && strncasecmp(t.p, w.p, stem) == 0)
            return true;
    return false;
}

static bool has_fact(str text, str fact)
{
    size_t at = 0, words = 0, seen = 0;
    str w;

    while ((w = next_word(fact, &at)).n) {
        if (is_name(fact, w)) {
            if (!has_name(text, w))
                return false;
        } else if (!says_nothing(w)) {
            words++;
            seen += has_word(text, w);
        }
    }
    return 3 * seen >= 2 * words;
}

double score_facts(str text, const str *facts, size_t n, bool *found)
{
    size_t there = 0;

    for (size_t i = 0; i < n; i++) {
        bool has = has_fact(text, facts[i]);

        there += has;
        if (found)
            found[i] = has;
    }
    return n ? (double)there / (double)n : 1;
}
