/* internal.h - shared by the files of the masker.
 *
 *   lead.c     the filter: the first four bytes of every rule, in one pass; see lead.h
 *   rules.c    the table of rules
 *   tokens.c   secrets with a recognizable form: keys, JWTs, PEM blocks
 *   assign.c   secrets found by the name before them: password=..., Authorization: ...
 *   names.c    these names
 *   commands.c passwords in commands and in SQL: mysql -pX, IDENTIFIED BY 'X'
 *   numbers.c  cards, IBANs, phone and social security numbers, addresses
 *   secrets.c  manifests of Kubernetes Secrets in texts
 *   custom.c   patterns of the user
 *   scan.c     finds the spans to mask in a text, and replaces them
 *   json.c     the same on a tree
 *   stream.c   the same in pieces
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/ctype.h"
#include "mask/lead.h"
#include "mask/mask.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* The built-in rules; those of the user follow them. */
enum mask_rule {
    MASK_RULE_API_KEY,
    MASK_RULE_AUTHORIZATION,
    MASK_RULE_COOKIE,
    MASK_RULE_PASSWORD,
    MASK_RULE_SECRET,
    MASK_RULE_TOKEN,
    MASK_RULE_JWT,
    MASK_RULE_PRIVATE_KEY,
    MASK_RULE_CARD,
    MASK_RULE_KUBERNETES,
    MASK_RULE_EMAIL,
    MASK_RULE_PHONE,
    MASK_RULE_IBAN,
    MASK_RULE_SSN,
    MASK_RULE_IP,
    MASK_RULE_COUNT
};

/* Where the end of a value is that exceeds a stream's buffer. The stream skips the text until
 * there. */
enum mask_end {
    MASK_END_NOW,        /* nothing is skipped */
    MASK_END_PEM,        /* the END line */
    MASK_END_WORD,       /* white space, quotes or a backslash */
    MASK_END_LINE,       /* a line feed, quotes or a backslash */
    MASK_END_QUOTE,      /* the quotes that opened it */
    MASK_END_QUOTE_LINE, /* the same, or a line feed */
    MASK_END_OUTDENT     /* a line that is indented no deeper than a column */
};

struct mask_open {
    enum mask_end end;
    char quote;
    size_t n; /* backslashes before the quote, or the column */
};

struct mask_span {
    size_t from, to;
    size_t rule;
    size_t seen;           /* the start of the text that the match depends on; at most `from` */
    struct mask_open open; /* set if the end of the value was not found */
};

/* A text as a rule sees it. */
struct mask_view {
    str s;
    bool final;   /* nothing follows s */
    size_t floor; /* bytes before it may be read, but not masked */
};

enum mask_found { MASK_NO, MASK_YES, MASK_MORE }; /* more: depends on the text after s */

typedef enum mask_found mask_match(const struct mask_view *t, size_t at, const void *arg,
                                   struct mask_span *out);

/* lead: four characters; a lower-case letter matches both cases, '#' a digit, '^' a capital, '~'
 * anything. The rule is tried at the start of the lead plus shift. */
struct mask_row {
    const char *lead;
    int shift;
    unsigned group;
    mask_match *match; /* NULL: the rule is applied to the whole text */
    const void *arg;
};
extern const struct mask_row mask_rows[];
extern const size_t mask_row_count;
extern const char *const mask_rule_names[MASK_RULE_COUNT];

struct mask {
    unsigned groups;
    struct mask_leads leads;
    pcre2_code **customs; /* the user's patterns */
    size_t custom_count;
    pcre2_match_context *context;
    str names[MASK_RULES_MAX], placeholders[MASK_RULES_MAX];
    size_t rule_count;
    char *texts; /* of the placeholders */
};

/* The matches in a text. */
struct mask_spans {
    struct mask_span *p;
    size_t n, cap;
    size_t hold; /* the text from here on is undecided; s.n if all is decided */
    size_t hold_rule;
    struct mask_open hold_open; /* where the undecided value ends */
    bool whole;                 /* the text has a lead that belongs to no single rule */
};

void mask_spans_release(struct mask_spans *f);
/* The result from `at` on depends on the text that follows, because of this rule. */
void mask_spans_hold(struct mask_spans *f, size_t at, size_t rule, struct mask_open open);
void mask_spans_add(struct mask_spans *f, struct mask_span one);
/* Applies all rules to t from its floor on. The spans are sorted and do not overlap. */
void mask_scan(const struct mask *m, const struct mask_view *t, struct mask_spans *out);
/* Patterns of the user: adds to out, unsorted. */
void mask_customs_scan(const struct mask *m, const struct mask_view *t, struct mask_spans *out);
bool mask_customs_new(struct mask *m, const struct mask_options *o, struct err *e) MUST_USE;
void mask_customs_free(struct mask *m);
/* Secrets of Kubernetes in plain text: adds to out, unsorted. */
void mask_secrets_scan(const struct mask_view *t, struct mask_spans *out);

/* Writes the text from..to with the spans replaced. */
struct mask_range {
    size_t from, to;
};

void mask_render(const struct mask *m, str s, struct mask_range range, const struct mask_spans *f,
                 struct buf *out, struct mask_counts *counts);
void mask_count(struct mask_counts *counts, size_t rule);

/* Whether the value of a member with this (unescaped) name is always a secret, and by which rule.
 * `number`: also if the value is a number. */
bool mask_name_is_secret(str name, size_t *rule, bool *number);

/* tokens.c */
struct mask_prefix {
    const char *text;
    unsigned char class; /* enum mask_class */
    unsigned char min;   /* characters after it */
    bool pair;           /* a secret of 40 characters may follow */
};
mask_match mask_match_prefix, mask_match_jwt, mask_match_pem, mask_match_bearer, mask_match_basic,
    mask_match_url, mask_match_user;
#define MASK_PEM_LINE_MAX 128 /* more than an END line has */
/* The end of a private key's block that began before `from`: after its END line, or s.n. */
size_t mask_pem_end(str s, size_t from, bool *closed);

/* A value that was found by its name may begin a private key, or be the id of an AWS key with its
 * secret after it: makes the span contain all of it. */
enum mask_found mask_extend_value(const struct mask_view *t, unsigned groups,
                                  struct mask_span *value);

/* Skips white space, escaped or not, and characters that quoting puts around it. */
size_t mask_skip_breaks(str s, size_t at);

/* assign.c */
/* mask_match_name: arg is the name, which has letters beyond ASCII or is several words. */
mask_match mask_match_assign, mask_match_key, mask_match_name;
/* A password that begins at `at`, in quotes or not. */
enum mask_found mask_value_at(const struct mask_view *t, size_t at, struct mask_span *out);

/* commands.c: an option whose value is a password in these commands */
#define MASK_COMMANDS_MAX 3
struct mask_option {
    char letter;
    const char *tight[MASK_COMMANDS_MAX]; /* the value follows the letter: -pX */
    const char *apart[MASK_COMMANDS_MAX]; /* or blanks: -p X */
};
mask_match mask_match_option, mask_match_identified;

/* numbers.c */
mask_match mask_match_card, mask_match_phone, mask_match_ssn, mask_match_iban, mask_match_ip4,
    mask_match_ip6, mask_match_email;

/* ---- characters ---- */

enum mask_class {
    MASK_C_ALNUM,
    MASK_C_WORD,  /* also _ */
    MASK_C_URL64, /* also _ - */
    MASK_C_B64,   /* alnum + / = */
    MASK_C_PATH,  /* alnum _ - / : @ */
    MASK_C_DOTTED /* alnum _ - . */
};

/* The classes of each character, one bit each. */
extern const unsigned char mask_classes[256];

static inline bool mask_is(enum mask_class k, char c)
{
    return mask_classes[(unsigned char)c] >> k & 1;
}

static inline size_t mask_run(str s, size_t at, enum mask_class k)
{
    while (at < s.n && mask_is(k, s.p[at]))
        at++;
    return at;
}

#define MASK_NAME_SEEN 96 /* the end of a name; it decides whether the name is a secret's */

/* The end of the name that continues at `at`, or STR_NONE if that is not within MASK_NAME_SEEN: a
 * long word must not be read to its end for each part that looks like a name. */
static inline size_t mask_name_end(str s, size_t at)
{
    size_t end = mask_run(str_slice(s, 0, at + MASK_NAME_SEEN), at, MASK_C_DOTTED);

    return end < at + MASK_NAME_SEEN ? end : STR_NONE;
}

/* Whether s continues at `at` with these letters, lower-case ones in either case; more if s ends
 * first. */
enum mask_found mask_goes_on(const struct mask_view *t, size_t at, str word);
/* Whether a word can begin at `at`: the character before is not a letter or digit, unless it
 * belongs to an escape (\n, %20). */
bool mask_word_starts(str s, size_t at);
