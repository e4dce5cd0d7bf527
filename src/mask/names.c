/* names.c - which names say that their value is a secret.
 *
 * Names are compared without their case and without separators, so that DB_PASSWORD, db-password,
 * dbPassword and db.password are one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

static const struct {
    str end; /* the end of the name */
    unsigned char rule;
    bool whole;  /* it is the whole name */
    bool number; /* a number is also a secret */
} names[] = {
    {STR_INIT("password"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("passwords"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("passwd"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("passphrase"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("passcode"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("passwort"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("kennwort"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("wachtwoord"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("motdepasse"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("contrasena"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("senha"), MASK_RULE_PASSWORD, true, true},
    {STR_INIT("pwd"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("pass"), MASK_RULE_PASSWORD, true, true},
    {STR_INIT("dbpass"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("userpass"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("sshpass"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("rootpass"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("adminpass"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("pin"), MASK_RULE_PASSWORD, true, true},
    {STR_INIT("pincode"), MASK_RULE_PASSWORD, false, true},
    {STR_INIT("cvv"), MASK_RULE_PASSWORD, true, true},
    {STR_INIT("cvc"), MASK_RULE_PASSWORD, true, true},
    {STR_INIT("otp"), MASK_RULE_PASSWORD, true, true},
    {STR_INIT("secret"), MASK_RULE_SECRET, false, true},
    {STR_INIT("secrets"), MASK_RULE_SECRET, false, false},
    {STR_INIT("secretvalue"), MASK_RULE_SECRET, false, true},
    {STR_INIT("secretstring"), MASK_RULE_SECRET, false, true},
    {STR_INIT("secretkey"), MASK_RULE_SECRET, false, true},
    {STR_INIT("secretkeybase"), MASK_RULE_SECRET, false, true},
    {STR_INIT("secretaccesskey"), MASK_RULE_SECRET, false, true},
    {STR_INIT("credential"), MASK_RULE_SECRET, false, true},
    {STR_INIT("credentials"), MASK_RULE_SECRET, false, true},
    {STR_INIT("privatekey"), MASK_RULE_SECRET, false, true},
    {STR_INIT("signingkey"), MASK_RULE_SECRET, false, true},
    {STR_INIT("encryptionkey"), MASK_RULE_SECRET, false, true},
    {STR_INIT("masterkey"), MASK_RULE_SECRET, false, true},
    {STR_INIT("accountkey"), MASK_RULE_SECRET, false, true},
    {STR_INIT("sharedkey"), MASK_RULE_SECRET, false, true},
    {STR_INIT("sharedaccesskey"), MASK_RULE_SECRET, false, true},
    {STR_INIT("sharedaccesssignature"), MASK_RULE_SECRET, false, true},
    {STR_INIT("storagekey"), MASK_RULE_SECRET, false, true},
    {STR_INIT("sessionkey"), MASK_RULE_SECRET, false, true},
    {STR_INIT("connectionstring"), MASK_RULE_SECRET, false, false},
    {STR_INIT("token"), MASK_RULE_TOKEN, false, false},
    {STR_INIT("tokenvalue"), MASK_RULE_TOKEN, false, true},
    {STR_INIT("jwt"), MASK_RULE_TOKEN, false, false},
    {STR_INIT("apikey"), MASK_RULE_API_KEY, false, true},
    {STR_INIT("apikeys"), MASK_RULE_API_KEY, false, true},
    {STR_INIT("accesskey"), MASK_RULE_API_KEY, false, true},
    {STR_INIT("authkey"), MASK_RULE_API_KEY, false, true},
    {STR_INIT("servicekey"), MASK_RULE_API_KEY, false, true},
    {STR_INIT("subscriptionkey"), MASK_RULE_API_KEY, false, true},
    {STR_INIT("licensekey"), MASK_RULE_API_KEY, false, true},
    {STR_INIT("authorization"), MASK_RULE_AUTHORIZATION, false, true},
    {STR_INIT("auth"), MASK_RULE_AUTHORIZATION, true, false},
    {STR_INIT("xauth"), MASK_RULE_AUTHORIZATION, true, false},
    {STR_INIT("cookie"), MASK_RULE_COOKIE, true, false},
    {STR_INIT("setcookie"), MASK_RULE_COOKIE, false, false},
};

/* Passwords in names beyond ASCII, in the letter cases in which they are written. */
static const str wide_names[] = {
    STR_INIT("contrase\xC3\xB1"
             "a"),
    STR_INIT("CONTRASE\xC3\x91"
             "A"),
    STR_INIT("Contrase\xC3\xB1"
             "a"),
    STR_INIT("\xD0\xBF\xD0\xB0\xD1\x80\xD0\xBE\xD0\xBB\xD1\x8C"),
    STR_INIT("\xD0\x9F\xD0\xB0\xD1\x80\xD0\xBE\xD0\xBB\xD1\x8C"),
    STR_INIT("\xD0\x9F\xD0\x90\xD0\xA0\xD0\x9E\xD0\x9B\xD0\xAC"),
    STR_INIT("\xE5\xAF\x86\xE7\xA0\x81"),
    STR_INIT("\xE3\x83\x91\xE3\x82\xB9\xE3\x83\xAF\xE3\x83\xBC\xE3\x83\x89"),
    STR_INIT("\xEB\xB9\x84\xEB\xB0\x80\xEB\xB2\x88\xED\x98\xB8")};

/* Tokens that are not credentials. */
static const str not_names[] = {STR_INIT("nexttoken"),
                                STR_INIT("pagetoken"),
                                STR_INIT("synctoken"),
                                STR_INIT("continuationtoken"),
                                STR_INIT("eostoken"),
                                STR_INIT("bostoken"),
                                STR_INIT("padtoken"),
                                STR_INIT("unktoken"),
                                STR_INIT("septoken"),
                                STR_INIT("clstoken"),
                                STR_INIT("masktoken"),
                                STR_INIT("stoptoken"),
                                STR_INIT("pertoken"),
                                STR_INIT("firsttoken"),
                                STR_INIT("lasttoken"),
                                STR_INIT("timetofirsttoken"),
                                STR_INIT("specialtoken"),
                                STR_INIT("imagepullsecret"),
                                STR_INIT("imagepullsecrets")};

static str mask_names_plain(str name, char out[MASK_NAME_SEEN])
{
    size_t n = 0;

    if (name.n > MASK_NAME_SEEN)
        name = str_slice(name, name.n - MASK_NAME_SEEN, name.n);
    for (size_t i = 0; i < name.n; i++)
        if (char_is_alnum(name.p[i]))
            out[n++] = (char)(char_is_letter(name.p[i]) ? name.p[i] | 32 : name.p[i]);
    assert(n <= MASK_NAME_SEEN);
    while (n > 0 && char_is_digit(out[n - 1]))
        n--;
    return (str){out, n};
}

static bool mask_names_ends(str s, str end)
{
    return s.n >= end.n && s.p[s.n - 1] == end.p[end.n - 1] && str_ends(s, end);
}

#define LETTER(c) (1u << ((c) - 'a'))

/* Whether the previous letter, ignoring separators, is one of these. */
static inline bool mask_comes_before(str name, size_t *at, uint32_t letters)
{
    unsigned c;

    while (*at > 0 && !char_is_alnum(name.p[*at - 1]))
        --*at;
    if (*at == 0)
        return false;
    c = (unsigned)(name.p[--*at] | 32) - 'a';
    return c < 26 && (letters >> c & 1);
}

/* Whether any row can end with the last three letters of a name, read as mask_names_plain() does.
 * Most names can be excluded this way. The table has the letters one and two positions before the
 * last. */
static bool mask_names_may_be(str name)
{
    static const uint32_t before[26][2] = {
        ['a' - 'a'] = {LETTER('n') | LETTER('h'), LETTER('e') | LETTER('n')},
        ['c' - 'a'] = {LETTER('v'), LETTER('c')},
        ['d' - 'a'] = {LETTER('r') | LETTER('w'), LETTER('o') | LETTER('s') | LETTER('p')},
        ['e' - 'a'] = {LETTER('s') | LETTER('d') | LETTER('u') | LETTER('r') | LETTER('i'),
                       LETTER('a') | LETTER('o') | LETTER('l') | LETTER('u') | LETTER('k') |
                           LETTER('s')},
        ['g' - 'a'] = {LETTER('n'), LETTER('i')},
        ['h' - 'a'] = {LETTER('t'), LETTER('u')},
        ['l' - 'a'] = {LETTER('a'), LETTER('i')},
        ['n' - 'a'] = {LETTER('i') | LETTER('e') | LETTER('o'),
                       LETTER('p') | LETTER('k') | LETTER('i')},
        ['p' - 'a'] = {LETTER('t'), LETTER('o')},
        ['s' - 'a'] = {LETTER('d') | LETTER('s') | LETTER('t') | LETTER('l') | LETTER('y'),
                       LETTER('r') | LETTER('a') | LETTER('e')},
        ['t' - 'a'] = {LETTER('r') | LETTER('e') | LETTER('w'),
                       LETTER('o') | LETTER('r') | LETTER('j')},
        ['v' - 'a'] = {LETTER('v'), LETTER('c')},
        ['y' - 'a'] = {LETTER('e'), LETTER('k')},
    };
    size_t at = name.n;
    const uint32_t *of;

    while (at > 0 && !char_is_letter(name.p[at - 1]))
        at--;
    if (at == 0)
        return false;
    of = before[(name.p[--at] | 32) - 'a'];
    return mask_comes_before(name, &at, of[0]) && mask_comes_before(name, &at, of[1]);
}

/* Names that nearly every body has and that pass mask_names_may_be(). */
static bool mask_names_is_common(str name)
{
    static const str all[] = {
        STR_INIT("function"),
        STR_INIT("temperature"),
        STR_INIT("description"),
    };

    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (str_eq(name, all[i]))
            return true;
    return false;
}

/* Whether the name ends in one of wide_names; the last two bytes exclude most names. */
static bool mask_names_is_wide(str name)
{
    if (((unsigned char)name.p[name.n - 1] | (unsigned char)name.p[name.n - 2]) < 0x80)
        return false;
    for (size_t i = 0; i < COUNT_OF(wide_names); i++)
        if (str_ends(name, wide_names[i]))
            return true;
    return false;
}

bool mask_name_is_secret(str name, size_t *rule, bool *number)
{
    char bytes[MASK_NAME_SEEN];
    str s;

    if (name.n >= 3 && mask_names_is_wide(name)) {
        *rule = MASK_RULE_PASSWORD;
        *number = true;
        return true;
    }
    if (name.n < 3 || !mask_names_may_be(name) || mask_names_is_common(name))
        return false;
    s = mask_names_plain(name, bytes);
    if (s.n < 3)
        return false;
    for (size_t i = 0; i < COUNT_OF(not_names); i++)
        if (mask_names_ends(s, not_names[i]))
            return false;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        str end = names[i].end;

        if (names[i].whole ? !str_eq(s, end) : !mask_names_ends(s, end))
            continue;
        assert(names[i].rule < MASK_RULE_COUNT);
        *rule = names[i].rule;
        *number = names[i].number;
        return true;
    }
    /* DB_PASS and the like, but no compass. */
    if (str_ends(s, STR("pass")) && name.n > 5 &&
        (name.p[name.n - 5] == '_' || name.p[name.n - 5] == '-' || name.p[name.n - 4] == 'P')) {
        *rule = MASK_RULE_PASSWORD;
        *number = true;
        return true;
    }
    return false;
}
