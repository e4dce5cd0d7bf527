/* tokens.c - secrets with a recognizable form: keys with a known prefix, JWTs, private keys, tokens
 * after "Bearer", passwords in URLs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base64.h"
#include "mask/internal.h"

#define PEM_HEAD_MAX 64   /* of "-----BEGIN ... PRIVATE KEY-----" */
#define PEM_MATERIAL 16   /* letters that count as a body */
#define PEM_SPACE_MAX 64  /* between head and body */
#define USERINFO_MAX 1024 /* of a URL */
#define JWT_HEAD_MAX 1024 /* of a token after a dash; others have no limit */

enum mask_found mask_goes_on(const struct mask_view *t, size_t at, str word)
{
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];

        if (at + i >= t->s.n)
            return t->final ? MASK_NO : MASK_MORE;
        if (t->s.p[at + i] == c)
            continue;
        if (c < 'a' || c > 'z' || !char_is_letter(t->s.p[at + i]) || (t->s.p[at + i] | 32) != c)
            return MASK_NO;
    }
    return MASK_YES;
}

static bool mask_is_hex(char c)
{
    return char_is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

bool mask_word_starts(str s, size_t at)
{
    char c = at > 0 ? s.p[at - 1] : ' ';

    if (!char_is_alnum(c) && c != '_')
        return true;
    if (at >= 2 && s.p[at - 2] == '\\' && memchr("nrtbf", c, 5))
        return true;
    return at >= 3 && s.p[at - 3] == '%' && mask_is_hex(s.p[at - 2]) && mask_is_hex(c);
}

/* ---- keys ---- */

/* Words joined by dashes are not a key; a key has a digit or a capital letter, or is long. */
static bool mask_looks_random(str s)
{
    size_t digits = 0, capitals = 0;

    for (size_t i = 0; i < s.n; i++) {
        digits += char_is_digit(s.p[i]);
        capitals += s.p[i] >= 'A' && s.p[i] <= 'Z';
    }
    return digits + capitals > 0 || s.n >= 20;
}

/* The size of a separator between an id and its secret, which may be escaped; 0: none. */
static size_t mask_pair_gap(str s, size_t at)
{
    if (at >= s.n)
        return 0;
    if (s.p[at] == '\\')
        return at + 1 == s.n ? 1 : memchr("nrt\"", s.p[at + 1], 4) ? 2 : 0;
    return memchr(" :,;|/\t\r\n\"'", s.p[at], 11) ? 1 : 0;
}

/* The secret of an AWS id is often next to it and is recognized only by its length. Returns its
 * end, or `at`; a position beyond the text means that more text is needed. */
static size_t pair_end(const struct mask_view *t, size_t at)
{
    size_t from = at, end, gap;

    assert(at <= t->s.n);
    while (from - at < 8 && (gap = mask_pair_gap(t->s, from)) > 0)
        from += gap;
    end = mask_run(t->s, from, MASK_C_B64);
    if (end == t->s.n && !t->final)
        return t->s.n + 1;
    return from > at && end - from == 40 ? end : at;
}

enum mask_found mask_match_prefix(const struct mask_view *t, size_t at, const void *arg,
                                  struct mask_span *out)
{
    const struct mask_prefix *p = arg;
    str text = str_c(p->text);
    size_t end;

    if (!str_starts(str_slice(t->s, at, t->s.n), text)) {
        str rest = str_slice(t->s, at, t->s.n);

        return !t->final && str_starts(text, rest) ? MASK_MORE : MASK_NO;
    }
    if (!mask_word_starts(t->s, at))
        return MASK_NO;
    end = mask_run(t->s, at + text.n, (enum mask_class)p->class);
    if (end == t->s.n && !t->final)
        return MASK_MORE;
    if (end - at - text.n < p->min || !mask_looks_random(str_slice(t->s, at + text.n, end)))
        return MASK_NO;
    if (p->pair) {
        size_t more = pair_end(t, end);

        if (more > t->s.n)
            return MASK_MORE;
        end = more;
    }
    assert(end >= at + text.n && end <= t->s.n);
    *out = (struct mask_span){at, end, MASK_RULE_API_KEY, 0, {0}};
    return MASK_YES;
}

/* Three parts in base64, of which the first is JSON. The last may be missing, or have been cut. */
enum mask_found mask_match_jwt(const struct mask_view *t, size_t at, const void *arg,
                               struct mask_span *out)
{
    size_t end, parts = 1;

    (void)arg;
    if (!mask_word_starts(t->s, at))
        return MASK_NO;
    /* After a dash it may be in the middle of base64, which must not be read to its end for each
     * place that looks like a beginning. */
    if (at > 0 && t->s.p[at - 1] == '-') {
        end = mask_run(str_slice(t->s, 0, at + JWT_HEAD_MAX), at, MASK_C_URL64);
        if (end == at + JWT_HEAD_MAX)
            return MASK_NO;
    }
    end = mask_run(t->s, at, MASK_C_URL64);
    if (end - at < 12 && !(end == t->s.n && !t->final))
        return MASK_NO;
    while (end < t->s.n && t->s.p[end] == '.' && parts < 5) {
        size_t next = mask_run(t->s, end + 1, MASK_C_URL64);

        if (next == end + 1 && next < t->s.n && t->s.p[next] != '.')
            break;
        end = next;
        parts++;
    }
    if (end == t->s.n && !t->final)
        return MASK_MORE;
    if (parts < 2 || (parts == 2 && end - at < 24))
        return MASK_NO;
    assert(at < end && end <= t->s.n);
    *out = (struct mask_span){at, end, MASK_RULE_JWT, 0, {0}};
    return MASK_YES;
}

/* ---- private keys ---- */

/* White space, also escaped once or more: \n \\n, and what quotes a line: "> ", "| ", "+". */
size_t mask_skip_breaks(str s, size_t at)
{
    for (;;) {
        size_t i = at;

        while (i < s.n && (char_is_space(s.p[i]) || s.p[i] == '>' || s.p[i] == '|' ||
                           s.p[i] == '"' || s.p[i] == '\'' || s.p[i] == ','))
            i++;
        if (i < s.n && s.p[i] == '\\') {
            while (i < s.n && s.p[i] == '\\')
                i++;
            if (i < s.n && memchr("nrt", s.p[i], 3))
                i++;
        }
        if (i == at)
            return at;
        at = i;
    }
}

/* The position after "-----BEGIN ... PRIVATE KEY-----", or 0; more: the text may still become
 * one. */
static enum mask_found mask_pem_head(const struct mask_view *t, size_t at, size_t *out)
{
    enum mask_found f = mask_goes_on(t, at, STR("-----BEGIN "));
    size_t end = at + 11, from = end;
    str kind;

    if (f != MASK_YES)
        return f;
    while (end < t->s.n && end - from < PEM_HEAD_MAX && t->s.p[end] != '-' &&
           (char_is_alnum(t->s.p[end]) || t->s.p[end] == ' '))
        end++;
    kind = str_slice(t->s, from, end);
    if (end == t->s.n && !t->final)
        return MASK_MORE;
    if (str_find(kind, STR("PRIVATE KEY")) == STR_NONE)
        return MASK_NO;
    while (end < t->s.n && t->s.p[end] == '-' && end - from < PEM_HEAD_MAX + 5)
        end++;
    if (end == t->s.n && !t->final)
        return MASK_MORE;
    *out = end;
    return MASK_YES;
}

size_t mask_pem_end(str s, size_t from, bool *closed)
{
    assert(from <= s.n);
    for (;;) {
        size_t at = str_find(str_slice(s, from, s.n), STR("-----END")), end;

        *closed = at != STR_NONE;
        if (!*closed)
            return s.n;
        from += at + 8;
        end = str_find(str_slice(s, from, from + PEM_HEAD_MAX), STR("-----"));
        if (end != STR_NONE)
            return from + end + 5;
    }
}

enum mask_found mask_match_pem(const struct mask_view *t, size_t at, const void *arg,
                               struct mask_span *out)
{
    size_t head, body, end;
    enum mask_found f = mask_pem_head(t, at, &head);
    bool closed, header;

    (void)arg;
    if (f != MASK_YES)
        return f;
    assert(at < head && head <= t->s.n);
    body = mask_skip_breaks(t->s, head);
    end = mask_run(t->s, body, MASK_C_B64);
    header = end < t->s.n && (t->s.p[end] == '-' || t->s.p[end] == ':') && end > body;
    if (end - body < PEM_MATERIAL && !header) {
        if (end == t->s.n && !t->final && body - head < PEM_SPACE_MAX)
            return MASK_MORE;
        if (end < t->s.n || end == body)
            return MASK_NO; /* a text about keys */
    }
    *out = (struct mask_span){at, mask_pem_end(t->s, body, &closed), MASK_RULE_PRIVATE_KEY, 0, {0}};
    return MASK_YES;
}

enum mask_found mask_extend_value(const struct mask_view *t, unsigned groups,
                                  struct mask_span *value)
{
    size_t at = value->from, i, end;
    str s = str_slice(t->s, value->from, value->to);
    /* Closing quotes also end a value that has no END line. */
    bool closed = value->to < t->s.n && (t->s.p[value->to] == '"' || t->s.p[value->to] == '\'');

    assert(value->from < value->to && value->to <= t->s.n);
    value->open.end = MASK_END_WORD;
    while (!closed && (groups & MASK_PRIVATE_KEYS) &&
           (i = str_find(str_slice(t->s, at, value->to), STR("-----BEGIN"))) != STR_NONE) {
        struct mask_span key;
        enum mask_found f = mask_match_pem(t, at + i, NULL, &key);

        if (f == MASK_YES) {
            value->to = key.to > value->to ? key.to : value->to;
            value->rule = MASK_RULE_PRIVATE_KEY;
        }
        if (f != MASK_NO)
            return f;
        at += i + 10;
    }
    if (s.n == 20 && (str_starts(s, STR("AKIA")) || str_starts(s, STR("ASIA")))) {
        end = pair_end(t, value->to);
        if (end > t->s.n)
            return MASK_MORE;
        value->to = end;
    }
    return MASK_YES;
}

/* ---- what follows a word ---- */

static size_t mask_skip_blanks(str s, size_t at, size_t max)
{
    size_t from = at;

    while (at < s.n && at - from < max && (s.p[at] == ' ' || s.p[at] == '\t'))
        at++;
    return at;
}

static bool mask_tokens_is_token_char(char c)
{
    return char_is_alnum(c) || memchr("-._~+/=:%|", c, 10);
}

static bool mask_tokens_is_base64_char(char c)
{
    return base64_digit(c) >= 0 || c == '=';
}

static enum mask_found mask_word_after(const struct mask_view *t, size_t at, str word,
                                       bool (*is_part)(char c), str *out)
{
    enum mask_found f = mask_goes_on(t, at, word);
    size_t from, end;

    if (f != MASK_YES)
        return f;
    if (!mask_word_starts(t->s, at))
        return MASK_NO;
    from = end = mask_skip_blanks(t->s, at + word.n, 8);
    if (from == at + word.n && from < t->s.n) {
        if (str_starts(str_slice(t->s, from, t->s.n), STR("%20")))
            from = end = from + 3;
        else
            return MASK_NO;
    }
    while (end < t->s.n && is_part(t->s.p[end]))
        end++;
    if (end == t->s.n && !t->final)
        return MASK_MORE;
    assert(at + word.n <= from && from <= end && end <= t->s.n);
    *out = str_slice(t->s, from, end);
    return MASK_YES;
}

enum mask_found mask_match_bearer(const struct mask_view *t, size_t at, const void *arg,
                                  struct mask_span *out)
{
    str token;
    enum mask_found f = mask_word_after(t, at, STR("bearer"), mask_tokens_is_token_char, &token);
    size_t odd = 0;

    (void)arg;
    if (f != MASK_YES)
        return f;
    for (size_t i = 0; i < token.n; i++)
        odd += char_is_digit(token.p[i]) || (i + 1 < token.n && !char_is_alnum(token.p[i]));
    if (token.n < 6 || (odd == 0 && token.n < 20))
        return MASK_NO; /* "bearer" as an ordinary word */
    *out = (struct mask_span){(size_t)(token.p - t->s.p),
                              (size_t)(token.p - t->s.p) + token.n,
                              MASK_RULE_AUTHORIZATION,
                              0,
                              {0}};
    return MASK_YES;
}

/* "user:password", as base64 has it: printable, with a colon. */
static bool mask_is_user_and_password(str s)
{
    unsigned bits = 0, count = 0;
    bool colon = false;

    for (size_t i = 0; i < s.n && s.p[i] != '='; i++) {
        int v = base64_digit(s.p[i]);

        if (v < 0)
            return false;
        bits = (bits << 6 | (unsigned)v) & 0xfffu;
        count += 6;
        if (count >= 8) {
            unsigned char c = (unsigned char)(bits >> (count - 8));

            count -= 8;
            colon |= c == ':';
            if (c < ' ' || c == 0x7f)
                return false;
        }
    }
    return colon;
}

enum mask_found mask_match_basic(const struct mask_view *t, size_t at, const void *arg,
                                 struct mask_span *out)
{
    str token;
    enum mask_found f = mask_word_after(t, at, STR("basic"), mask_tokens_is_base64_char, &token);

    (void)arg;
    if (f != MASK_YES)
        return f;
    if (token.n < 6 || !mask_is_user_and_password(token))
        return MASK_NO;
    *out = (struct mask_span){(size_t)(token.p - t->s.p),
                              (size_t)(token.p - t->s.p) + token.n,
                              MASK_RULE_AUTHORIZATION,
                              0,
                              {0}};
    return MASK_YES;
}

/* Whether the user part of a URL without a password is a token and not a person's name: long, one
 * word, with digits. */
static bool mask_is_url_token(str user)
{
    bool digit = false;

    if (user.n < 20 || mask_run(user, 0, MASK_C_URL64) != user.n)
        return false;
    for (size_t i = 0; i < user.n; i++)
        digit |= char_is_digit(user.p[i]);
    return digit;
}

/* scheme://user:password@host and scheme://token@host */
enum mask_found mask_match_url(const struct mask_view *t, size_t at, const void *arg,
                               struct mask_span *out)
{
    size_t from = at + strlen(arg), i = from, colon = STR_NONE, mark = STR_NONE;
    enum mask_found f = mask_goes_on(t, at, str_c(arg));

    if (f != MASK_YES)
        return f;
    for (; i < t->s.n && i - from < USERINFO_MAX; i++) {
        char c = t->s.p[i];

        if (char_is_space(c) || c == '/' || c == '"' || c == '\'' || c == '<' || c == '>' ||
            c == '\\' || c == '`' || c == '?' || c == '#') {
            /* An unescaped password may contain these, if the @ follows. */
            if ((c == '/' || c == '?' || c == '#') && colon != STR_NONE && mark == STR_NONE &&
                !(i > colon + 1 && char_is_digit(t->s.p[colon + 1])))
                continue;
            break;
        }
        if (c == ':' && colon == STR_NONE)
            colon = i;
        if (c == '@')
            mark = i;
    }
    if (i == t->s.n && !t->final)
        return MASK_MORE;
    if (mark == STR_NONE)
        return MASK_NO;
    if (colon == STR_NONE || colon > mark)
        colon = mask_is_url_token(str_slice(t->s, from, mark)) ? from - 1 : mark;
    if (colon + 1 >= mark)
        return MASK_NO;
    assert(from <= colon + 1 && mark < t->s.n);
    *out = (struct mask_span){colon + 1, mark, MASK_RULE_PASSWORD, 0, {0}};
    return MASK_YES;
}

/* curl -u user:password */
enum mask_found mask_match_user(const struct mask_view *t, size_t at, const void *arg,
                                struct mask_span *out)
{
    size_t i, colon = STR_NONE;
    enum mask_found f = mask_goes_on(t, at, str_c(arg));

    if (f != MASK_YES)
        return f;
    if (at > 0 && !char_is_space(t->s.p[at - 1]))
        return MASK_NO;
    i = mask_skip_blanks(t->s, at + strlen(arg), 8);
    if (i < t->s.n && (t->s.p[i] == '"' || t->s.p[i] == '\''))
        i++;
    for (; i < t->s.n && !char_is_space(t->s.p[i]) && !memchr("\"'\\", t->s.p[i], 3); i++)
        if (t->s.p[i] == ':' && colon == STR_NONE)
            colon = i;
    if (i == t->s.n && !t->final)
        return MASK_MORE;
    if (colon == STR_NONE || colon + 1 >= i)
        return MASK_NO;
    assert(at < colon && i <= t->s.n);
    *out = (struct mask_span){colon + 1, i, MASK_RULE_PASSWORD, 0, {0}};
    return MASK_YES;
}
