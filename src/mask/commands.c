/* commands.c - passwords in commands and in SQL statements.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

#define COMMAND_MAX 256 /* bytes of a command, or of a statement, before its password */

/* The text before `at`, from the last of these characters on, or COMMAND_MAX bytes of it. */
static str mask_before(str s, size_t at, const char *ends)
{
    size_t from = at;

    while (from > 0 && at - from < COMMAND_MAX && !strchr(ends, s.p[from - 1]))
        from--;
    return str_slice(s, from, at);
}

/* A port that docker publishes, 3306:3306, is no password. */
static bool mask_is_port(str s, size_t at)
{
    size_t from = at;

    while (at < s.n && (char_is_digit(s.p[at]) || s.p[at] == '.'))
        at++;
    return at > from && at + 1 < s.n && s.p[at] == ':' && char_is_digit(s.p[at + 1]);
}

static bool mask_has_any(str s, const char *const words[MASK_COMMANDS_MAX])
{
    for (size_t i = 0; i < MASK_COMMANDS_MAX && words[i]; i++)
        if (str_find(s, str_c(words[i])) != STR_NONE)
            return true;
    return false;
}

/* mysql -pX, sshpass -p X. In a sentence about the option an ordinary word follows. */
enum mask_found mask_match_option(const struct mask_view *t, size_t at, const void *arg,
                                  struct mask_span *out)
{
    const struct mask_option *o = arg;
    str command = mask_before(t->s, at, "\n|;&`");
    bool apart = mask_has_any(command, o->apart);
    size_t i = at + 3;
    enum mask_found f;
    str value;
    char c;

    if (t->s.p[at + 2] != o->letter || (!apart && !mask_has_any(command, o->tight)))
        return MASK_NO;
    while (apart && i < t->s.n && t->s.p[i] == ' ')
        i++;
    if (i == t->s.n)
        return t->final ? MASK_NO : MASK_MORE;
    c = t->s.p[i];
    if (char_is_space(c) || strchr("$%<{-`.,;:)&|", c))
        return MASK_NO;
    f = mask_value_at(t, i, out);
    if (f != MASK_YES)
        return f;
    value = str_slice(t->s, out->from, out->to);
    if (str_starts(value, STR("$")) || mask_is_port(t->s, i))
        return MASK_NO;
    for (size_t k = 0; k < value.n; k++)
        if (!char_is_letter(value.p[k]))
            return MASK_YES;
    return apart && out->from == i ? MASK_NO : MASK_YES;
}

/* Whether SQL continues at *i, after white space, with this word; moves *i after it. */
static enum mask_found mask_sql_word(const struct mask_view *t, size_t *i, str word)
{
    size_t at = *i;
    enum mask_found f;

    while (at < t->s.n && char_is_space(t->s.p[at]))
        at++;
    f = mask_goes_on(t, at, word);
    if (f == MASK_YES)
        *i = at + word.n;
    return f;
}

/* IDENTIFIED BY 'x', IDENTIFIED WITH plugin BY "x"; in small letters in a statement about a user,
 * because "identified by 'name'" is also prose. */
enum mask_found mask_match_identified(const struct mask_view *t, size_t at, const void *arg,
                                      struct mask_span *out)
{
    str before = mask_before(t->s, at, ";");
    size_t i = at;
    enum mask_found f = mask_sql_word(t, &i, STR("identified "));

    (void)arg;
    if (f != MASK_YES)
        return f;
    if (t->s.p[at] != 'I' && str_find(before, STR("create user")) == STR_NONE &&
        str_find(before, STR("alter user")) == STR_NONE)
        return MASK_NO;
    f = mask_sql_word(t, &i, STR("with "));
    if (f == MASK_YES) {
        while (i < t->s.n && !char_is_space(t->s.p[i]))
            i++;
    }
    if (f != MASK_MORE)
        f = mask_sql_word(t, &i, STR("by "));
    if (f == MASK_YES && mask_sql_word(t, &i, STR("password ")) == MASK_MORE)
        f = MASK_MORE;
    if (f != MASK_YES)
        return f;
    while (i < t->s.n && char_is_space(t->s.p[i]))
        i++;
    if (i == t->s.n)
        return t->final ? MASK_NO : MASK_MORE;
    return strchr("'\"\\", t->s.p[i]) ? mask_value_at(t, i, out) : MASK_NO;
}
