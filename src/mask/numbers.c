/* numbers.c - finds numbers that identify a person or an account, and addresses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

#include <arpa/inet.h>

#define CARD_DIGITS_MAX 19
#define IBAN_MAX 34
#define LOCAL_MAX 64
#define DOMAIN_MAX 253

static enum mask_found mask_at_end(const struct mask_view *t, size_t at)
{
    return at >= t->s.n && !t->final ? MASK_MORE : MASK_NO;
}

/* Whether the text ends within such a separator, so the answer depends on the rest. */
static bool mask_numbers_joint_is_cut(const struct mask_view *t, size_t at)
{
    str rest = str_slice(t->s, at, t->s.n);

    return !t->final &&
           (rest.n == 0 || (rest.n == 1 && (rest.p[0] == '\xC2' || rest.p[0] == '\xE2')) ||
            (rest.n == 2 && rest.p[0] == '\xE2' && rest.p[1] == '\x80'));
}

/* The size of a separator between groups of digits (a blank, a dash, a no-break space), or 0. */
static size_t mask_numbers_joint(str s, size_t at)
{
    if (at < s.n && (s.p[at] == ' ' || s.p[at] == '-'))
        return 1;
    if (at + 1 < s.n && s.p[at] == '\xC2' && s.p[at + 1] == '\xA0')
        return 2;
    return at + 2 < s.n && s.p[at] == '\xE2' && s.p[at + 1] == '\x80' &&
                   ((unsigned char)s.p[at + 2] == 0x91 || (unsigned char)s.p[at + 2] == 0xAF)
               ? 3
               : 0;
}

/* ---- cards ---- */

static bool mask_numbers_is_luhn_valid(const char *digits, size_t n)
{
    unsigned sum = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned d = (unsigned)(digits[n - 1 - i] - '0');

        if (i % 2)
            d = d > 4 ? 2 * d - 9 : 2 * d;
        sum += d;
    }
    return sum % 10 == 0;
}

/* Card issuers: the first digits (from, to) and the possible lengths. */
static bool mask_is_issued(const char *digits, size_t n)
{
    static const struct {
        unsigned from, to;
        unsigned char min, max;
    } issuers[] = {
        {4000, 4999, 13, 13},
        {4000, 4999, 16, 16},
        {4000, 4999, 19, 19},
        {5100, 5599, 16, 16},
        {2221, 2720, 16, 16},
        {3400, 3499, 15, 15},
        {3700, 3799, 15, 15},
        {6000, 6999, 16, 19},
        {3528, 3589, 16, 19},
        {3000, 3059, 14, 19},
        {3600, 3699, 14, 19},
        {3800, 3999, 14, 19},
        {5000, 5099, 16, 19},
        {5600, 5899, 16, 19},
        {2200, 2204, 16, 19},
    };
    unsigned first = 0;

    assert(n >= 4 && n <= CARD_DIGITS_MAX);
    for (size_t i = 0; i < 4; i++)
        first = first * 10 + (unsigned)(digits[i] - '0');
    for (size_t i = 0; i < COUNT_OF(issuers); i++)
        if (first >= issuers[i].from && first <= issuers[i].to && n >= issuers[i].min &&
            n <= issuers[i].max)
            return true;
    return false;
}

static bool mask_is_card(const char *digits, size_t n)
{
    bool same = true;

    if (n < 13)
        return false;
    for (size_t i = 1; i < n; i++)
        same &= digits[i] == digits[0];
    return !same && mask_is_issued(digits, n) && mask_numbers_is_luhn_valid(digits, n);
}

/* The longest valid card number that begins at the first digit; a date may follow it. */
enum mask_found mask_match_card(const struct mask_view *t, size_t at, const void *arg,
                                struct mask_span *out)
{
    char digits[CARD_DIGITS_MAX + 1];
    size_t n = 0, i = at, end = 0, group = 0, groups = 0;
    str s = t->s;

    (void)arg;
    if (s.p[at] < '2' || s.p[at] > '6') /* no issuer has such a number */
        return MASK_NO;
    if (at > 0 && (char_is_digit(s.p[at - 1]) ||
                   (s.p[at - 1] == '.' && at > 1 && char_is_digit(s.p[at - 2]))))
        return MASK_NO;
    for (;;) {
        size_t j;

        while (i < s.n && n <= CARD_DIGITS_MAX && char_is_digit(s.p[i])) {
            if (n < CARD_DIGITS_MAX)
                digits[n] = s.p[i];
            n++;
            i++;
            group++;
        }
        if (mask_numbers_joint_is_cut(t, i))
            return MASK_MORE;
        if (n <= CARD_DIGITS_MAX && mask_is_card(digits, n) && (group >= 2 || groups == 0))
            end = i;
        j = i < s.n && s.p[i] == '.' && group == 4 ? 1 : mask_numbers_joint(s, i);
        if (n > CARD_DIGITS_MAX || j == 0 || group > 6 || group < 2 || groups > 5)
            break;
        if (i + j >= s.n && !t->final)
            return MASK_MORE;
        if (i + j >= s.n || !char_is_digit(s.p[i + j]))
            break;
        i += j;
        group = 0;
        groups++;
    }
    if (end == 0 || (end < s.n && char_is_digit(s.p[end])))
        return MASK_NO;
    assert(at + 13 <= end && end <= s.n);
    *out = (struct mask_span){at, end, MASK_RULE_CARD, 0, {0}};
    return MASK_YES;
}

/* ---- phones, social security ---- */

static bool mask_is_phone_char(char c)
{
    return c == ' ' || c == '-' || c == '.' || c == '(' || c == ')' || c == '/';
}

/* +49 30 1234567, (555) 010-9999, 555-010-9999: with a plus, or in the groups of North America. */
enum mask_found mask_match_phone(const struct mask_view *t, size_t at, const void *arg,
                                 struct mask_span *out)
{
    str s = t->s;
    bool plus = at > 0 && s.p[at - 1] == '+', open = at > 0 && s.p[at - 1] == '(';
    size_t from = plus || open ? at - 1 : at, i = at, end = at, digits = 0, groups[8] = {0}, g = 0;

    (void)arg;
    if (from > 0 && (char_is_alnum(s.p[from - 1]) || memchr("._-=/", s.p[from - 1], 5)))
        return MASK_NO;
    for (; i < s.n && digits <= 16; i++) {
        if (char_is_digit(s.p[i])) {
            digits++;
            groups[g]++;
            end = i + 1;
        } else if (mask_is_phone_char(s.p[i]) && i - end < 3) {
            if (groups[g] > 0 && g < 7)
                g++;
        } else {
            break;
        }
    }
    if (i >= s.n && !t->final)
        return MASK_MORE;
    if (groups[g] == 0 && g > 0)
        g--;
    if (end < s.n && char_is_letter(s.p[end]))
        return MASK_NO;
    if (plus ? digits < 8 || digits > 15
             : !(digits == 10 && g == 2 && groups[0] == 3 && groups[1] == 3) &&
                   !(digits == 11 && g == 3 && groups[0] == 1 && groups[1] == 3 && groups[2] == 3))
        return MASK_NO;
    assert(from <= at && at < end && end <= s.n);
    *out = (struct mask_span){from, end, MASK_RULE_PHONE, 0, {0}};
    return MASK_YES;
}

/* 123-45-6789, except numbers that are never issued. */
enum mask_found mask_match_ssn(const struct mask_view *t, size_t at, const void *arg,
                               struct mask_span *out)
{
    static const char form[] = "ddd-dd-dddd";
    str s = t->s;
    size_t n = sizeof form - 1;
    char sign;

    (void)arg;
    if (at > 0 && (char_is_alnum(s.p[at - 1]) || s.p[at - 1] == '-' || s.p[at - 1] == '.'))
        return MASK_NO;
    sign = at + 3 < s.n ? s.p[at + 3] : '-';
    for (size_t i = 0; i < n; i++) {
        if (at + i >= s.n)
            return mask_at_end(t, at + i);
        if (form[i] == 'd' ? !char_is_digit(s.p[at + i]) : s.p[at + i] != sign)
            return MASK_NO;
    }
    if (at + n >= s.n && !t->final)
        return MASK_MORE;
    if (at + n < s.n && (char_is_alnum(s.p[at + n]) || s.p[at + n] == '-'))
        return MASK_NO;
    if (s.p[at] == '9' || memcmp(s.p + at, "000", 3) == 0 || memcmp(s.p + at, "666", 3) == 0 ||
        memcmp(s.p + at + 4, "00", 2) == 0 || memcmp(s.p + at + 7, "0000", 4) == 0)
        return MASK_NO;
    assert(at + n <= s.n);
    *out = (struct mask_span){at, at + n, MASK_RULE_SSN, 0, {0}};
    return MASK_YES;
}

/* ---- accounts ---- */

static bool mask_iban_checks(const char *c, size_t n)
{
    unsigned rest = 0;

    assert(n >= 15 && n <= IBAN_MAX);
    for (size_t k = 0; k < n; k++) {
        char x = c[(k + 4) % n];
        unsigned v = char_is_digit(x) ? (unsigned)(x - '0') : (unsigned)((x | 32) - 'a') + 10;

        rest = (rest * (v > 9 ? 100 : 10) + v) % 97;
    }
    return rest == 1;
}

enum mask_found mask_match_iban(const struct mask_view *t, size_t at, const void *arg,
                                struct mask_span *out)
{
    char c[IBAN_MAX + 1];
    size_t n = 0, i = at, end = 0;
    str s = t->s;

    (void)arg;
    if (!mask_word_starts(s, at))
        return MASK_NO;
    for (;;) {
        while (i < s.n && n <= IBAN_MAX && char_is_alnum(s.p[i]) &&
               !(s.p[i] >= 'a' && s.p[i] <= 'z' && n < 4))
            c[n < IBAN_MAX ? n : IBAN_MAX] = s.p[i], n++, i++;
        if (mask_numbers_joint_is_cut(t, i))
            return MASK_MORE;
        if (n >= 15 && n <= IBAN_MAX && mask_iban_checks(c, n))
            end = i;
        if (n > IBAN_MAX || mask_numbers_joint(s, i) == 0)
            break;
        if (i + mask_numbers_joint(s, i) >= s.n && !t->final)
            return MASK_MORE;
        if (i + mask_numbers_joint(s, i) >= s.n)
            break;
        i += mask_numbers_joint(s, i);
        if (!char_is_digit(s.p[i]) && !(s.p[i] >= 'A' && s.p[i] <= 'Z'))
            break;
    }
    if (i >= s.n && !t->final)
        return MASK_MORE;
    if (end == 0)
        return MASK_NO;
    assert(at < end && end <= s.n);
    *out = (struct mask_span){at, end, MASK_RULE_IBAN, 0, {0}};
    return MASK_YES;
}

/* ---- addresses ---- */

static bool mask_numbers_is_address(int family, str s)
{
    char text[64];
    unsigned char to[16];

    if (s.n == 0 || s.n >= sizeof text)
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return inet_pton(family, text, to) == 1;
}

/* The lead points at "1.2": the number begins up to two digits before. */
enum mask_found mask_match_ip4(const struct mask_view *t, size_t at, const void *arg,
                               struct mask_span *out)
{
    str s = t->s;
    size_t from = at, end = at;

    (void)arg;
    while (from > 0 && at - from < 3 && char_is_digit(s.p[from - 1]))
        from--;
    if (from > 0 && (char_is_alnum(s.p[from - 1]) || s.p[from - 1] == '.' || s.p[from - 1] == '-'))
        return MASK_NO;
    while (end < s.n && (char_is_digit(s.p[end]) || s.p[end] == '.') && end - from < 20)
        end++;
    if (end >= s.n && !t->final)
        return MASK_MORE;
    if (end < s.n && char_is_letter(s.p[end]))
        return MASK_NO;
    while (end > from && s.p[end - 1] == '.')
        end--;
    if (!mask_numbers_is_address(AF_INET, str_slice(s, from, end)))
        return MASK_NO;
    assert(from <= at && at < end && end <= s.n);
    *out = (struct mask_span){from, end, MASK_RULE_IP, 0, {0}};
    return MASK_YES;
}

static bool mask_is_ip6_char(char c)
{
    return char_is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f') || c == ':' || c == '.';
}

enum mask_found mask_match_ip6(const struct mask_view *t, size_t at, const void *arg,
                               struct mask_span *out)
{
    str s = t->s;
    size_t from = at, end = at;
    bool digit = false; /* a::b is more often a name of a program */

    (void)arg;
    while (from > 0 && at - from < 46 && mask_is_ip6_char(s.p[from - 1]))
        from--;
    while (end < s.n && mask_is_ip6_char(s.p[end]) && end - from < 64)
        end++;
    for (size_t i = from; i < end; i++)
        digit |= char_is_digit(s.p[i]);
    if (end >= s.n && !t->final)
        return MASK_MORE;
    if (from > 0 && char_is_alnum(s.p[from - 1]))
        return MASK_NO;
    while (end > from && (s.p[end - 1] == '.' ||
                          (s.p[end - 1] == ':' && !(end - from > 1 && s.p[end - 2] == ':'))))
        end--;
    if (end < s.n && char_is_letter(s.p[end]))
        return MASK_NO;
    if (!digit || end - from < 3 || !mask_numbers_is_address(AF_INET6, str_slice(s, from, end)))
        return MASK_NO;
    assert(from <= at && end <= s.n);
    *out = (struct mask_span){from, end, MASK_RULE_IP, 0, {0}};
    return MASK_YES;
}

static bool mask_is_local_char(char c)
{
    return char_is_alnum(c) || (unsigned char)c >= 0x80 || memchr("._%+-'!#$&*=^{}|~", c, 17);
}

/* The lead points at the @. */
enum mask_found mask_match_email(const struct mask_view *t, size_t at, const void *arg,
                                 struct mask_span *out)
{
    str s = t->s;
    size_t from = at, end = at + 1, label = 0, dots = 0, last = 0;

    (void)arg;
    while (from > 0 && at - from < LOCAL_MAX && mask_is_local_char(s.p[from - 1]))
        from--;
    while (from < at && memchr(".'=&|{*#$!", s.p[from], 10))
        from++;
    if (from < at && from > 0 && s.p[from - 1] == '\\' && memchr("nrt", s.p[from], 3))
        from++;
    while (end < s.n && end - at <= DOMAIN_MAX &&
           (char_is_alnum(s.p[end]) || s.p[end] == '-' || s.p[end] == '.' ||
            (unsigned char)s.p[end] >= 0x80)) {
        if (s.p[end] != '.') {
            label++;
        } else {
            if (label == 0)
                break;
            dots++;
            label = 0;
        }
        end++;
        if (label > 0 && dots > 0)
            last = end;
    }
    if (end >= s.n && !t->final)
        return MASK_MORE;
    if (from >= at || last == 0)
        return MASK_NO;
    assert(at < last && last <= s.n);
    *out = (struct mask_span){from, last, MASK_RULE_EMAIL, 0, {0}};
    return MASK_YES;
}
