/* names.c - which names say that their value is a secret.
 *
 * A name is looked at without its case and without what joins words, so that DB_PASSWORD,
 * db-password, dbPassword and db.password are one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

#define NAME_SEEN 96

static const struct {
    const char *end; /* what the name ends with */
    unsigned char rule;
    bool whole;  /* it is all there is to the name */
    bool number; /* a number is a secret too */
} names[] = {
    {"password", MASK_RULE_PASSWORD, false, true},
    {"passwords", MASK_RULE_PASSWORD, false, true},
    {"passwd", MASK_RULE_PASSWORD, false, true},
    {"passphrase", MASK_RULE_PASSWORD, false, true},
    {"passcode", MASK_RULE_PASSWORD, false, true},
    {"passwort", MASK_RULE_PASSWORD, false, true},
    {"kennwort", MASK_RULE_PASSWORD, false, true},
    {"pwd", MASK_RULE_PASSWORD, false, true},
    {"pass", MASK_RULE_PASSWORD, true, true},
    {"dbpass", MASK_RULE_PASSWORD, false, true},
    {"userpass", MASK_RULE_PASSWORD, false, true},
    {"sshpass", MASK_RULE_PASSWORD, false, true},
    {"rootpass", MASK_RULE_PASSWORD, false, true},
    {"adminpass", MASK_RULE_PASSWORD, false, true},
    {"pin", MASK_RULE_PASSWORD, true, true},
    {"pincode", MASK_RULE_PASSWORD, false, true},
    {"cvv", MASK_RULE_PASSWORD, true, true},
    {"cvc", MASK_RULE_PASSWORD, true, true},
    {"otp", MASK_RULE_PASSWORD, true, true},
    {"secret", MASK_RULE_SECRET, false, true},
    {"secrets", MASK_RULE_SECRET, false, false},
    {"secretvalue", MASK_RULE_SECRET, false, true},
    {"secretstring", MASK_RULE_SECRET, false, true},
    {"secretkey", MASK_RULE_SECRET, false, true},
    {"secretkeybase", MASK_RULE_SECRET, false, true},
    {"secretaccesskey", MASK_RULE_SECRET, false, true},
    {"credential", MASK_RULE_SECRET, false, true},
    {"credentials", MASK_RULE_SECRET, false, true},
    {"privatekey", MASK_RULE_SECRET, false, true},
    {"signingkey", MASK_RULE_SECRET, false, true},
    {"encryptionkey", MASK_RULE_SECRET, false, true},
    {"masterkey", MASK_RULE_SECRET, false, true},
    {"accountkey", MASK_RULE_SECRET, false, true},
    {"sharedkey", MASK_RULE_SECRET, false, true},
    {"sharedaccesskey", MASK_RULE_SECRET, false, true},
    {"sharedaccesssignature", MASK_RULE_SECRET, false, true},
    {"storagekey", MASK_RULE_SECRET, false, true},
    {"sessionkey", MASK_RULE_SECRET, false, true},
    {"connectionstring", MASK_RULE_SECRET, false, false},
    {"token", MASK_RULE_TOKEN, false, false},
    {"tokenvalue", MASK_RULE_TOKEN, false, true},
    {"jwt", MASK_RULE_TOKEN, false, false},
    {"apikey", MASK_RULE_API_KEY, false, true},
    {"apikeys", MASK_RULE_API_KEY, false, true},
    {"accesskey", MASK_RULE_API_KEY, false, true},
    {"authkey", MASK_RULE_API_KEY, false, true},
    {"servicekey", MASK_RULE_API_KEY, false, true},
    {"subscriptionkey", MASK_RULE_API_KEY, false, true},
    {"licensekey", MASK_RULE_API_KEY, false, true},
    {"authorization", MASK_RULE_AUTHORIZATION, false, true},
    {"auth", MASK_RULE_AUTHORIZATION, true, false},
    {"xauth", MASK_RULE_AUTHORIZATION, true, false},
    {"cookie", MASK_RULE_COOKIE, true, false},
    {"setcookie", MASK_RULE_COOKIE, false, false},
};

/* Tokens that nobody can log in with. */
static const char *const not_names[] = {"nexttoken",
                                        "pagetoken",
                                        "synctoken",
                                        "continuationtoken",
                                        "eostoken",
                                        "bostoken",
                                        "padtoken",
                                        "unktoken",
                                        "septoken",
                                        "clstoken",
                                        "masktoken",
                                        "stoptoken",
                                        "pertoken",
                                        "firsttoken",
                                        "lasttoken",
                                        "timetofirsttoken",
                                        "specialtoken",
                                        "imagepullsecret",
                                        "imagepullsecrets"};

static str plain(str name, char out[NAME_SEEN])
{
    size_t n = 0;

    if (name.n > NAME_SEEN)
        name = str_slice(name, name.n - NAME_SEEN, name.n);
    for (size_t i = 0; i < name.n; i++)
        if (mask_is_alnum(name.p[i]))
            out[n++] = (char)(mask_is_alpha(name.p[i]) ? name.p[i] | 32 : name.p[i]);
    while (n > 0 && mask_is_digit(out[n - 1]))
        n--;
    return (str){out, n};
}

bool mask_name_is_secret(str name, size_t *rule, bool *number)
{
    char bytes[NAME_SEEN];
    str s = plain(name, bytes);

    if (s.n < 3)
        return false;
    for (size_t i = 0; i < COUNT_OF(not_names); i++)
        if (str_ends(s, str_c(not_names[i])))
            return false;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        str end = str_c(names[i].end);

        if (names[i].whole ? !str_eq(s, end) : !str_ends(s, end))
            continue;
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
