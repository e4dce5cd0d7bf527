/* words.c - see words.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/score/words.h"

#include "base/ctype.h"

#define DENIED_WORDS 2 /* words with content that a denial covers */

static const char empty_words[] =
    "a an the is are be been being was were to of in on at for with and or that this these "
    "those it its which who as by from has have had will would can could may might should must "
    "do does did into than then there their they so if also due i s";
static const char judge_words[] =
    "mention mentions mentioned suggest suggests point points state states say says note notes "
    "explain explains";
static const char denials[] =
    "not no never without neither nor none nothing isnt arent wasnt werent doesnt dont didnt "
    "cant cannot couldnt wont wouldnt hasnt havent hadnt shouldnt hardly unlikely";
/* Words after which a denial no longer holds: "not found in the registry" does not deny
 * "registry". */
static const char denial_ends[] =
    "in on at for from to with because since so and but when as until while although which";
/* Words that a denial passes over: "not caused by the memory limit" denies the limit. */
static const char denial_passes[] =
    "cause caused problem issue evidence sign matter question fault reason any because due "
    "actually really";
static const char numbers[] = "zero one two three four five six seven eight nine ten eleven twelve";

static bool score_word_in(const struct score_word *w, const char *words)
{
    return str_is_one_of((str){w->text, w->n}, words);
}

bool score_word_is_empty(const struct score_word *w)
{
    return score_word_in(w, empty_words);
}

bool score_word_denies(const struct score_word *w)
{
    return score_word_in(w, denials);
}

bool score_word_eq(const struct score_word *a, const struct score_word *b)
{
    return a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
}

/* ---- endings ---- */

static bool score_word_ends(const struct score_word *w, const char *suffix)
{
    size_t n = strlen(suffix);

    return w->n > n && memcmp(w->text + w->n - n, suffix, n) == 0;
}

bool score_word_connects(const struct score_word *w)
{
    static const char more[] =
        "because cause causes too only but all each since when while after before every most its "
        "keeps holds fills wrong out";

    return score_word_is_empty(w) || score_word_denies(w) || score_word_in(w, more) ||
           (w->n > 4 && score_word_ends(w, "ed")) || (w->n > 5 && score_word_ends(w, "ing"));
}

static bool score_word_is_vowel(char c)
{
    return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y';
}

/* "stopped" and "stop", but not "pull" to "pul". */
static void score_word_undouble(struct score_word *w)
{
    char c = w->text[w->n - 1];

    assert(w->n >= 3);
    if (w->n > 3 && c == w->text[w->n - 2] && !score_word_is_vowel(c) && c != 'l' && c != 's' &&
        c != 'z')
        w->n--;
}

/* At least three letters remain. */
static void score_word_stem(struct score_word *w)
{
    if (score_word_ends(w, "ies") && w->n > 5) {
        w->n = (uint8_t)(w->n - 3);
        w->text[w->n++] = 'y';
        assert(w->n < SCORE_WORD_MAX);
    } else if ((score_word_ends(w, "ing") && w->n > 5) || (score_word_ends(w, "ed") && w->n > 4)) {
        w->n = (uint8_t)(w->n - (score_word_ends(w, "ing") ? 3 : 2));
        score_word_undouble(w);
    } else if (w->n > 4 && (score_word_ends(w, "sses") || score_word_ends(w, "shes") ||
                            score_word_ends(w, "ches") || score_word_ends(w, "xes") ||
                            score_word_ends(w, "zes"))) {
        w->n = (uint8_t)(w->n - 2);
    } else if (w->n > 3 && score_word_ends(w, "s") && !score_word_ends(w, "ss") &&
               !score_word_ends(w, "us") && !score_word_ends(w, "is")) {
        w->n--;
    }
    if (w->n > 3 && score_word_ends(w, "e"))
        w->n--;
}

void score_word_reduce(struct score_word *w)
{
    size_t number;

    if (w->digits)
        return;
    number = str_place((str){w->text, w->n}, numbers);
    if (number == STR_NONE) {
        score_word_stem(w);
        return;
    }
    w->n = (uint8_t)snprintf(w->text, SCORE_WORD_MAX, "%zu", number);
    w->digits = true;
}

/* ---- reading ---- */

enum { MARK, LETTER, DIGIT };

static int score_char_kind(char c)
{
    if (char_is_digit(c))
        return DIGIT;
    return char_is_letter(c) || (unsigned char)c >= 0x80 ? LETTER : MARK;
}

/* An apostrophe inside a word is dropped: "isn't" is "isnt". */
bool score_word_next(str *rest, bool *code, struct score_word *w)
{
    bool paused = false;
    size_t at = 0;
    int kind;

    for (; at < rest->n && score_char_kind(rest->p[at]) == MARK; at++) {
        if (rest->p[at] == '`')
            *code = !*code;
        paused = paused || rest->p[at] == '(' ||
                 (memchr(":,;.", rest->p[at], 4) && at + 1 < rest->n && rest->p[at + 1] == ' ');
    }
    if (at == rest->n)
        return false;
    kind = score_char_kind(rest->p[at]);
    *w = (struct score_word){.code = *code, .digits = kind == DIGIT, .paused = paused};
    for (; at < rest->n; at++) {
        char c = rest->p[at];

        if (c == '\'' && kind == LETTER && at + 1 < rest->n &&
            score_char_kind(rest->p[at + 1]) == LETTER)
            continue;
        if (score_char_kind(c) != kind)
            break;
        if (w->n < SCORE_WORD_MAX)
            w->text[w->n++] = char_to_lower(c);
    }
    while (w->digits && w->n > 1 && w->text[0] == '0')
        memmove(w->text, w->text + 1, --w->n);
    assert(w->n > 0 && w->n <= SCORE_WORD_MAX);
    *rest = str_slice(*rest, at, rest->n);
    return true;
}

/* "not only", "no doubt", "without a doubt" deny nothing. "failed to pull" denies like "could not
 * pull". */
static bool score_word_starts_denial(const struct score_word *w, str rest)
{
    static const char affirms[] = "only just merely doubt question";
    bool code = false;
    struct score_word next;

    if (!score_word_next(&rest, &code, &next))
        return false;
    if (score_word_denies(w))
        return !score_word_in(&next, affirms) &&
               !(score_word_in(&next, "a any") && score_word_next(&rest, &code, &next) &&
                 score_word_in(&next, affirms));
    return w->n >= 4 && memcmp(w->text, "fail", 4) == 0 && next.n == 2 &&
           (memcmp(next.text, "to", 2) == 0 || memcmp(next.text, "in", 2) == 0);
}

static bool score_word_left_out(const struct score_word *w, enum score_words_kind kind)
{
    if (kind == SCORE_WORDS_ALL)
        return false;
    return score_word_denies(w) || score_word_is_empty(w) ||
           (kind == SCORE_WORDS_EXPECTED && !w->code && score_word_in(w, judge_words));
}

void score_words_read(str text, enum score_words_kind kind, struct score_words *out)
{
    size_t denied = 0;
    bool code = false;
    struct score_word w;

    assert(out->n <= out->max);
    for (; out->n < out->max && score_word_next(&text, &code, &w); out->place++) {
        bool starts = score_word_starts_denial(&w, text);

        if (starts)
            denied = DENIED_WORDS;
        else if (w.paused || (denied < DENIED_WORDS && score_word_in(&w, denial_ends)))
            denied = 0; /* "not because of the limit" denies the limit: nothing is covered yet */
        if (score_word_left_out(&w, kind))
            continue;
        w.place = out->place;
        w.denied = denied > 0 && !starts;
        if (w.denied && !score_word_in(&w, denial_passes))
            denied--;
        score_word_reduce(&w);
        out->at[out->n++] = w;
    }
}
