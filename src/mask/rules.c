/* rules.c - the table of rules and their leads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

const char *const mask_rule_names[MASK_RULE_COUNT] = {
    [MASK_RULE_API_KEY] = "api_key",
    [MASK_RULE_AUTHORIZATION] = "authorization",
    [MASK_RULE_COOKIE] = "cookie",
    [MASK_RULE_PASSWORD] = "password",
    [MASK_RULE_SECRET] = "secret",
    [MASK_RULE_TOKEN] = "token",
    [MASK_RULE_JWT] = "jwt",
    [MASK_RULE_PRIVATE_KEY] = "private_key",
    [MASK_RULE_CARD] = "card",
    [MASK_RULE_KUBERNETES] = "kubernetes_secret",
    [MASK_RULE_EMAIL] = "email",
    [MASK_RULE_PHONE] = "phone",
    [MASK_RULE_IBAN] = "iban",
    [MASK_RULE_SSN] = "ssn",
    [MASK_RULE_IP] = "ip",
};

#define A 0x3F /* of all of them */
/* clang-format off */
const unsigned char mask_classes[256] = {
    ['0'] = A, ['1'] = A, ['2'] = A, ['3'] = A, ['4'] = A, ['5'] = A, ['6'] = A, ['7'] = A,
    ['8'] = A, ['9'] = A, ['A'] = A, ['B'] = A, ['C'] = A, ['D'] = A, ['E'] = A, ['F'] = A,
    ['G'] = A, ['H'] = A, ['I'] = A, ['J'] = A, ['K'] = A, ['L'] = A, ['M'] = A, ['N'] = A,
    ['O'] = A, ['P'] = A, ['Q'] = A, ['R'] = A, ['S'] = A, ['T'] = A, ['U'] = A, ['V'] = A,
    ['W'] = A, ['X'] = A, ['Y'] = A, ['Z'] = A, ['a'] = A, ['b'] = A, ['c'] = A, ['d'] = A,
    ['e'] = A, ['f'] = A, ['g'] = A, ['h'] = A, ['i'] = A, ['j'] = A, ['k'] = A, ['l'] = A,
    ['m'] = A, ['n'] = A, ['o'] = A, ['p'] = A, ['q'] = A, ['r'] = A, ['s'] = A, ['t'] = A,
    ['u'] = A, ['v'] = A, ['w'] = A, ['x'] = A, ['y'] = A, ['z'] = A,
    ['_'] = 1 << MASK_C_WORD | 1 << MASK_C_URL64 | 1 << MASK_C_DOTTED | 1 << MASK_C_PATH,
    ['-'] = 1 << MASK_C_URL64 | 1 << MASK_C_DOTTED | 1 << MASK_C_PATH,
    [':'] = 1 << MASK_C_PATH,
    ['@'] = 1 << MASK_C_PATH,
    ['.'] = 1 << MASK_C_DOTTED,
    ['+'] = 1 << MASK_C_B64,
    ['/'] = 1 << MASK_C_B64 | 1 << MASK_C_PATH,
    ['='] = 1 << MASK_C_B64,
};
/* clang-format on */
#undef A

const char *const mask_group_names[] = {"credentials",
                                        "private_keys",
                                        "cards",
                                        "kubernetes_secrets",
                                        "email",
                                        "phone",
                                        "iban",
                                        "ssn",
                                        "ip",
                                        "all",
                                        NULL};

unsigned mask_group_find(str name)
{
    static const struct {
        const char *name;
        unsigned groups;
    } others[] = {
        {"all", MASK_ALL},
        {"default", MASK_DEFAULT},
        {"kubernetes_secret", MASK_KUBERNETES},
        {"kubernetes", MASK_KUBERNETES},
        {"private_key", MASK_PRIVATE_KEYS},
        {"card", MASK_CARDS},
        {"credential", MASK_CREDENTIALS},
        {"emails", MASK_EMAIL},
        {"phones", MASK_PHONE},
    };

    for (unsigned i = 0; mask_group_names[i + 1]; i++)
        if (str_eq(name, str_c(mask_group_names[i])))
            return 1u << i;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (str_eq(name, str_c(others[i].name)))
            return others[i].groups;
    return 0;
}

#define KEY(lead, text, class, min)                                                                \
    {                                                                                              \
        lead, 0, MASK_CREDENTIALS, mask_match_prefix, &(const struct mask_prefix)                  \
        {                                                                                          \
            text, class, min, false                                                                \
        }                                                                                          \
    }
#define PAIR(text)                                                                                 \
    {                                                                                              \
        text, 0, MASK_CREDENTIALS, mask_match_prefix, &(const struct mask_prefix)                  \
        {                                                                                          \
            text, MASK_C_ALNUM, 12, true                                                           \
        }                                                                                          \
    }
#define NAMED(lead, shift)                                                                         \
    {                                                                                              \
        lead, shift, MASK_CREDENTIALS, mask_match_assign, NULL                                     \
    }
#define NAME(lead, shift, text)                                                                    \
    {                                                                                              \
        lead, shift, MASK_CREDENTIALS, mask_match_name, text                                       \
    }
#define OPTION(lead, letter, ...)                                                                  \
    {                                                                                              \
        lead, 0, MASK_CREDENTIALS, mask_match_option, &(const struct mask_option)                  \
        {                                                                                          \
            letter, __VA_ARGS__                                                                    \
        }                                                                                          \
    }
#define ALNUM MASK_C_ALNUM
#define WORD MASK_C_WORD
#define URL64 MASK_C_URL64

const struct mask_row mask_rows[] = {
    /* OpenAI, Anthropic, OpenRouter, DeepSeek; Stripe; Groq, Cerebras, xAI, Perplexity */
    KEY("sk-~", "sk-", URL64, 12),
    KEY("sk_l", "sk_live_", ALNUM, 8),
    KEY("sk_t", "sk_test_", ALNUM, 8),
    KEY("rk_l", "rk_live_", ALNUM, 8),
    KEY("rk_t", "rk_test_", ALNUM, 8),
    KEY("gsk_", "gsk_", ALNUM, 16),
    KEY("csk-", "csk-", URL64, 16),
    KEY("tgp_", "tgp_v1_", URL64, 16),
    KEY("xai-", "xai-", URL64, 16),
    KEY("xapp", "xapp-", URL64, 10),
    KEY("xox~", "xoxa-", URL64, 8),
    KEY("xox~", "xoxb-", URL64, 8),
    KEY("xox~", "xoxc-", URL64, 8),
    KEY("xox~", "xoxd-", URL64, 8),
    KEY("xox~", "xoxe-", URL64, 8),
    KEY("xox~", "xoxe.xox", MASK_C_DOTTED, 8),
    KEY("xox~", "xoxo-", URL64, 8),
    KEY("xox~", "xoxp-", URL64, 8),
    KEY("xox~", "xoxr-", URL64, 8),
    KEY("xox~", "xoxs-", URL64, 8),
    /* GitHub, GitLab */
    KEY("ghp_", "ghp_", ALNUM, 16),
    KEY("gho_", "gho_", ALNUM, 16),
    KEY("ghu_", "ghu_", ALNUM, 16),
    KEY("ghs_", "ghs_", MASK_C_DOTTED, 16),
    KEY("ghr_", "ghr_", ALNUM, 16),
    KEY("gith", "github_pat_", WORD, 16),
    KEY("glpa", "glpat-", MASK_C_DOTTED, 12),
    KEY("glrt", "glrt-", URL64, 12),
    KEY("glpt", "glptt-", URL64, 12),
    /* Google, AWS */
    KEY("AIza", "AIza", URL64, 20),
    KEY("ya29", "ya29.", URL64, 16),
    KEY("GOCS", "GOCSPX-", URL64, 16),
    PAIR("AKIA"),
    PAIR("ASIA"),
    KEY("ABIA", "ABIA", ALNUM, 12),
    KEY("ACCA", "ACCA", ALNUM, 12),
    KEY("ABSK", "ABSK", MASK_C_B64, 40),
    /* and others */
    KEY("hf_~", "hf_", ALNUM, 16),
    KEY("r8_~", "r8_", ALNUM, 20),
    KEY("fw_~", "fw_", ALNUM, 20),
    KEY("npm_", "npm_", ALNUM, 20),
    KEY("pypi", "pypi-", URL64, 20),
    KEY("pplx", "pplx-", URL64, 16),
    KEY("nvap", "nvapi-", URL64, 16),
    KEY("dop_", "dop_v1_", ALNUM, 20),
    KEY("SG.~", "SG.", MASK_C_DOTTED, 20),
    KEY("shpa", "shpat_", ALNUM, 16),
    KEY("shps", "shpss_", ALNUM, 16),
    KEY("whse", "whsec_", MASK_C_B64, 16),
    KEY("lin_", "lin_api_", ALNUM, 16),
    KEY("ntn_", "ntn_", ALNUM, 20),
    KEY("dckr", "dckr_pat_", URL64, 12),
    KEY("hvs.", "hvs.", URL64, 16),
    KEY("AGE-", "AGE-SECRET-KEY-1", ALNUM, 20),
    KEY("lsv2", "lsv2_", WORD, 20),
    KEY("rtl_", "rtl_", URL64, 16),
    KEY("hook", "hooks.slack.com/services/", MASK_C_B64, 20),
    KEY("disc", "discord.com/api/webhooks/", MASK_C_PATH, 40),
    KEY("disc", "discordapp.com/api/webhooks/", MASK_C_PATH, 40),
    KEY("webh", "webhook.office.com/webhookb2/", MASK_C_PATH, 40),
    KEY("api.", "api.telegram.org/bot", MASK_C_PATH, 30),
    {"eyJ~", 0, MASK_CREDENTIALS, mask_match_jwt, NULL},
    {"-BEG", -4, MASK_PRIVATE_KEYS, mask_match_pem, NULL},
    {"bear", 0, MASK_CREDENTIALS, mask_match_bearer, NULL},
    {"basi", 0, MASK_CREDENTIALS, mask_match_basic, NULL},
    {"://~", 0, MASK_CREDENTIALS, mask_match_url, "://"},
    {":\\/\\", 0, MASK_CREDENTIALS, mask_match_url, ":\\/\\/"}, /* in JSON */
    {"-u ~", 0, MASK_CREDENTIALS, mask_match_user, "-u "},
    {"-use", -1, MASK_CREDENTIALS, mask_match_user, "--user "},
    {"-use", -1, MASK_CREDENTIALS, mask_match_user, "--user="},
    OPTION(" -p~", 'p', {"mysql", "mariadb"}, {"sshpass", " login", "mongo"}),
    OPTION(" -a~", 'a', {NULL}, {"redis-cli"}),
    OPTION(" -w~", 'w', {NULL}, {"ldap"}),
    {"iden", 0, MASK_CREDENTIALS, mask_match_identified, NULL},
    {"key=", 0, MASK_CREDENTIALS, mask_match_key, "key="},
    {"sig=", 0, MASK_CREDENTIALS, mask_match_key, "sig="},
    {"gnat", -2, MASK_CREDENTIALS, mask_match_key, "signature="},
    /* names of secrets */
    NAMED("pass", 0),
    NAMED("kenn", 0),
    NAMED("~pwd", 1),
    NAMED("~pin", 1),
    NAMED("~otp", 1),
    NAMED("~jwt", 1),
    NAMED("~cvv", 1),
    NAMED("~cvc", 1),
    NAMED("secr", 0),
    NAMED("toke", 0),
    NAMED("pike", 0),
    NAMED("~key", 1),
    NAMED("rede", 0),
    NAMED("oriz", 0),
    NAMED("ooki", 0),
    NAMED("auth", 0),
    NAMED("onst", 0),
    NAMED("asen", 0),
    NAMED("senh", 0),
    NAMED("woor", 0),
    NAME("\xE3\x83\x91\xE3", 0, "\xE3\x83\x91\xE3\x82\xB9\xE3\x83\xAF\xE3\x83\xBC\xE3\x83\x89"),
    NAME("\xEB\xB9\x84\xEB", 0, "\xEB\xB9\x84\xEB\xB0\x80\xEB\xB2\x88\xED\x98\xB8"),
    NAME("ase\xC3", -5,
         "contrase\xC3\xB1"
         "a"),
    NAME("ASE\xC3", -5,
         "CONTRASE\xC3\x91"
         "A"),
    NAME("pass", -7, "mot de passe"),
    NAME("\xD0\xBF\xD0\xB0", 0, "\xD0\xBF\xD0\xB0\xD1\x80\xD0\xBE\xD0\xBB\xD1\x8C"),
    NAME("\xD0\x9F\xD0\xB0", 0, "\xD0\x9F\xD0\xB0\xD1\x80\xD0\xBE\xD0\xBB\xD1\x8C"),
    NAME("\xD0\x9F\xD0\x90", 0, "\xD0\x9F\xD0\x90\xD0\xA0\xD0\x9E\xD0\x9B\xD0\xAC"),
    NAME("\xE5\xAF\x86\xE7", 0, "\xE5\xAF\x86\xE7\xA0\x81"),
    /* a manifest may be here */
    {"secr", 0, MASK_KUBERNETES, NULL, NULL},
    /* numbers */
    {"####", 0, MASK_CARDS, mask_match_card, NULL},
    {"~###", 1, MASK_PHONE, mask_match_phone, NULL},
    {"+###", 1, MASK_PHONE, mask_match_phone, NULL},
    {"+## ", 1, MASK_PHONE, mask_match_phone, NULL},
    {"+##-", 1, MASK_PHONE, mask_match_phone, NULL},
    {"+# ~", 1, MASK_PHONE, mask_match_phone, NULL},
    {"+#-~", 1, MASK_PHONE, mask_match_phone, NULL},
    {"+#.~", 1, MASK_PHONE, mask_match_phone, NULL},
    {"+#(~", 1, MASK_PHONE, mask_match_phone, NULL},
    {"+##(", 1, MASK_PHONE, mask_match_phone, NULL},
    {"###-", 0, MASK_SSN, mask_match_ssn, NULL},
    {"### ", 0, MASK_SSN, mask_match_ssn, NULL},
    {"^^##", 0, MASK_IBAN, mask_match_iban, NULL},
    {"~#.#", 1, MASK_IP, mask_match_ip4, NULL},
    {"~~::", 2, MASK_IP, mask_match_ip6, NULL},
    {"~~~:", 3, MASK_IP, mask_match_ip6, NULL},
    {"~~~@", 3, MASK_EMAIL, mask_match_email, NULL},
};
const size_t mask_row_count = COUNT_OF(mask_rows);
