/* score.c - see score.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/score.h"

#include "base/buf.h"

#define WORD_MAX 48 /* bytes of a word that count */
#define DENIED_BEHIND 2
#define REPORT_MAX ((size_t)1 << 20)
#define MISSING_MAX 4096
#define NO_WORD UINT16_MAX

struct word {
    char text[WORD_MAX];
    uint8_t n;
    bool quoted, digits;
};

/* ---- words ---- */

static bool incident_score_in_list(const struct word *w, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == w->n && memcmp(*list, w->text, w->n) == 0)
            return true;
    return false;
}

static const char *const empty_words[] = {
    "a",    "an",    "the",   "is",   "are",   "be",    "been",  "being", "was",   "were",
    "to",   "of",    "in",    "on",   "at",    "for",   "with",  "and",   "or",    "that",
    "this", "these", "those", "it",   "its",   "which", "who",   "as",    "by",    "from",
    "has",  "have",  "had",   "will", "would", "can",   "could", "may",   "might", "should",
    "must", "do",    "does",  "did",  "into",  "than",  "then",  "there", "their", "they",
    "so",   "if",    "also",  "due",  "i",     "s",     NULL};
static const char *const judge_words[] = {"mention",
                                          "mentions",
                                          "mentioned",
                                          "suggest",
                                          "suggests",
                                          "point",
                                          "points",
                                          "state",
                                          "states",
                                          "say",
                                          "says",
                                          "note",
                                          "notes",
                                          "explain",
                                          "explains",
                                          NULL};
static const char *const denials[] = {"not",   "no",     "never",  "without",  "neither", "nor",
                                      "isnt",  "arent",  "wasnt",  "werent",   "doesnt",  "dont",
                                      "didnt", "cant",   "cannot", "couldnt",  "wont",    "wouldnt",
                                      "hasnt", "havent", "hadnt",  "shouldnt", NULL};
static const char *const numbers[] = {"zero",
                                      "one",
                                      "two",
                                      "three",
                                      "four",
                                      "five",
                                      "six",
                                      "seven",
                                      "eight",
                                      "nine",
                                      "ten",
                                      "eleven",
                                      "twelve"};

static bool incident_score_ends(const struct word *w, const char *suffix)
{
    size_t n = strlen(suffix);

    return w->n > n && memcmp(w->text + w->n - n, suffix, n) == 0;
}

static bool vowel(char c)
{
    return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y';
}

/* "stopped" and "stop", but not "pull" to "pul". */
static void undouble(struct word *w)
{
    char c = w->text[w->n - 1];

    if (w->n > 3 && c == w->text[w->n - 2] && !vowel(c) && c != 'l' && c != 's' && c != 'z')
        w->n--;
}

/* The ends that verbs and plurals have; never so much that less than three letters are left. */
static void incident_score_stem(struct word *w)
{
    if (incident_score_ends(w, "ies") && w->n > 5) {
        w->n = (uint8_t)(w->n - 3);
        w->text[w->n++] = 'y';
    } else if ((incident_score_ends(w, "ing") && w->n > 5) ||
               (incident_score_ends(w, "ed") && w->n > 4)) {
        w->n = (uint8_t)(w->n - (incident_score_ends(w, "ing") ? 3 : 2));
        undouble(w);
    } else if (w->n > 4 && (incident_score_ends(w, "sses") || incident_score_ends(w, "shes") ||
                            incident_score_ends(w, "ches") || incident_score_ends(w, "xes") ||
                            incident_score_ends(w, "zes"))) {
        w->n = (uint8_t)(w->n - 2);
    } else if (w->n > 3 && incident_score_ends(w, "s") && !incident_score_ends(w, "ss") &&
               !incident_score_ends(w, "us") && !incident_score_ends(w, "is")) {
        w->n--;
    }
    if (w->n > 3 && incident_score_ends(w, "e"))
        w->n--;
}

static void as_digits(struct word *w)
{
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (strlen(numbers[i]) == w->n && memcmp(numbers[i], w->text, w->n) == 0) {
            w->n = (uint8_t)snprintf(w->text, WORD_MAX, "%zu", i);
            return;
        }
}

static int incident_score_kind_of(char c)
{
    unsigned char u = (unsigned char)c;

    if (u >= '0' && u <= '9')
        return 2;
    return (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u >= 0x80 ? 1 : 0;
}

/* The next word, lower case, not stemmed yet; false at the end. An apostrophe inside is nothing. */
static bool incident_score_next_word(str *rest, bool *quoted, struct word *w)
{
    size_t at = 0;
    int kind;

    for (; at < rest->n && !incident_score_kind_of(rest->p[at]); at++)
        if (rest->p[at] == '`')
            *quoted = !*quoted;
    if (at == rest->n)
        return false;
    kind = incident_score_kind_of(rest->p[at]);
    *w = (struct word){.quoted = *quoted, .digits = kind == 2};
    for (; at < rest->n; at++) {
        char c = rest->p[at];

        if (c == '\'' && kind == 1 && at + 1 < rest->n &&
            incident_score_kind_of(rest->p[at + 1]) == 1)
            continue;
        if (incident_score_kind_of(c) != kind)
            break;
        if (w->n < WORD_MAX)
            w->text[w->n++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    while (w->digits && w->n > 1 && w->text[0] == '0')
        memmove(w->text, w->text + 1, --w->n);
    *rest = str_slice(*rest, at, rest->n);
    return true;
}

static void incident_score_settle(struct word *w)
{
    if (w->digits)
        return;
    as_digits(w);
    if (incident_score_kind_of(w->text[0]) == 2)
        w->digits = true;
    else
        incident_score_stem(w);
}

/* ---- a fact ---- */

struct fact {
    struct word words[SCORE_WORDS_MAX];
    size_t n;
    bool denies;
};

static size_t incident_score_find(const struct fact *f, const struct word *w)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->words[i].n == w->n && memcmp(f->words[i].text, w->text, w->n) == 0)
            return i;
    return f->n;
}

static void incident_score_read_fact(str text, struct fact *f, bool all)
{
    bool quoted = false;
    struct word w;
    str rest = text;
    size_t i;

    f->n = 0;
    f->denies = false;
    while (f->n < SCORE_WORDS_MAX && incident_score_next_word(&rest, &quoted, &w)) {
        f->denies = f->denies || incident_score_in_list(&w, denials);
        if (!w.quoted && !all &&
            (incident_score_in_list(&w, empty_words) || incident_score_in_list(&w, judge_words)))
            continue;
        incident_score_settle(&w);
        i = incident_score_find(f, &w);
        if (i == f->n)
            f->words[f->n++] = w;
        f->words[i].quoted = f->words[i].quoted || w.quoted;
    }
    if (!f->n && !all)
        incident_score_read_fact(text, f, true); /* of such words alone */
}

/* ---- in a report ---- */

struct stretch {
    size_t counts[SCORE_WORDS_MAX]; /* of each word of the fact in the stretch now */
    size_t weight, needed;          /* of all that are there; how many of those that must be */
    size_t best;
    bool best_whole;
    bool there[SCORE_WORDS_MAX]; /* in the best */
};

static bool needed(const struct word *w)
{
    return w->quoted || w->digits;
}

static size_t weight(const struct word *w)
{
    return needed(w) ? 2 : 1;
}

/* A stretch with all that is needed is better than any without. */
static void incident_score_judge(const struct fact *f, struct stretch *s, size_t needed_count)
{
    bool whole = s->needed == needed_count;

    if (whole < s->best_whole || (whole == s->best_whole && s->weight <= s->best))
        return;
    s->best = s->weight;
    s->best_whole = whole;
    for (size_t i = 0; i < f->n; i++)
        s->there[i] = s->counts[i] > 0;
}

static void incident_score_move(const struct fact *f, struct stretch *s, uint16_t in, uint16_t out)
{
    if (in != NO_WORD && s->counts[in]++ == 0) {
        s->weight += weight(&f->words[in]);
        s->needed += needed(&f->words[in]);
    }
    if (out != NO_WORD && --s->counts[out] == 0) {
        s->weight -= weight(&f->words[out]);
        s->needed -= needed(&f->words[out]);
    }
}

/* The report as the fact's words: which of them stands where. Returns how many words it has. */
static size_t incident_score_place(str report, const struct fact *f, uint16_t *at, size_t max)
{
    size_t n = 0, denied_until = 0;
    bool quoted = false;
    struct word w;

    while (n < max && incident_score_next_word(&report, &quoted, &w)) {
        bool denial = incident_score_in_list(&w, denials);
        size_t i;

        incident_score_settle(&w);
        i = incident_score_find(f, &w);
        if (i < f->n && (f->denies || n >= denied_until || denial))
            at[n] = (uint16_t)i;
        else
            at[n] = NO_WORD;
        n++;
        if (denial)
            denied_until = n + DENIED_BEHIND;
    }
    return n;
}

static void incident_score_look(const struct fact *f, const uint16_t *at, size_t n,
                                struct stretch *s)
{
    size_t size = 4 * f->n + 20, needed_count = 0;

    for (size_t i = 0; i < f->n; i++)
        needed_count += needed(&f->words[i]);
    *s = (struct stretch){.best_whole = needed_count == 0};
    for (size_t i = 0; i < n; i++) {
        incident_score_move(f, s, at[i], i >= size ? at[i - size] : NO_WORD);
        incident_score_judge(f, s, needed_count);
    }
}

void score_fact(str report, str fact, struct arena *a, struct score_fact *out)
{
    struct fact *f = base_alloc(sizeof *f);
    struct stretch *s = base_alloc(sizeof *s);
    size_t max = report.n < REPORT_MAX ? report.n + 1 : REPORT_MAX, n, whole = 0;
    uint16_t *at = base_alloc(max * sizeof *at);
    struct buf missing;

    incident_score_read_fact(fact, f, false);
    n = incident_score_place(report, f, at, max);
    incident_score_look(f, at, n, s);
    for (size_t i = 0; i < f->n; i++)
        whole += weight(&f->words[i]);
    out->share = whole ? (double)s->best / (double)whole : 1;
    out->met = !f->n || (s->best_whole && out->share >= SCORE_SHARE);
    buf_init(&missing, MISSING_MAX);
    for (size_t i = 0; i < f->n; i++)
        if (!s->there[i])
            buf_printf(
                &missing, "%s%.*s", missing.n ? ", " : "", (int)f->words[i].n, f->words[i].text);
    out->missing = arena_dup(a, buf_str(&missing));
    buf_release(&missing);
    free(at);
    free(s);
    free(f);
}

double score_facts(str report, const str *facts, size_t n, bool *found)
{
    struct score_fact one;
    struct arena a;
    size_t met = 0;

    for (size_t i = 0; i < n; i++) {
        arena_init(&a, (size_t)1 << 20);
        score_fact(report, facts[i], &a, &one);
        arena_release(&a);
        met += one.met;
        if (found)
            found[i] = one.met;
    }
    return n ? (double)met / (double)n : 1;
}
