/* internal.h - what the files of the masker share.
 *
 *   lead.c     the filter: four bytes of all that a rule can begin with, in one pass; see lead.h
 *   rules.c    which rule looks where
 *   tokens.c   things with a form of their own: keys, JWTs, PEM blocks
 *   assign.c   things known by the name before them: password=..., Authorization: ...
 *   names.c    which names these are
 *   numbers.c  cards, IBANs, phone and social security numbers, addresses
 *   secrets.c  manifests of Kubernetes Secrets in texts
 *   custom.c   patterns of the user's own
 *   scan.c     from a text to the spans that must go, and the text without them
 *   json.c     the same on a tree
 *   stream.c   the same in pieces
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mask/lead.h"
#include "mask/mask.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* The rules of our own; those of the user come behind them. */
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

struct mask_span {
    size_t from, to;
    size_t rule;
    size_t seen; /* without the text from here on it would not be found: from, or before it */
};

/* A text as a rule sees it. */
struct mask_view {
    str s;
    bool final;   /* nothing comes behind s */
    size_t floor; /* bytes before it may be looked at, not masked */
};

enum mask_found { MASK_NO, MASK_YES, MASK_MORE }; /* more: it depends on what comes behind s */

typedef enum mask_found mask_match(const struct mask_view *t, size_t at, const void *arg,
                                   struct mask_span *out);

/* lead: four characters; a small letter is either case, '#' a digit, '^' a capital, '~' anything.
 * The rule looks at where the lead begins plus shift. */
struct mask_row {
    const char *lead;
    int shift;
    unsigned group;
    mask_match *match; /* NULL: the text is looked at as a whole */
    const void *arg;
};
extern const struct mask_row mask_rows[];
extern const size_t mask_row_count;
extern const char *const mask_rule_names[MASK_RULE_COUNT];

struct mask_custom {
    pcre2_code *code;
    str name, placeholder;
    size_t lookbehind;
};

struct mask {
    unsigned groups;
    struct mask_leads leads;
    struct mask_custom *customs;
    size_t custom_count;
    pcre2_match_context *context;
    str names[MASK_RULES_MAX], placeholders[MASK_RULES_MAX];
    size_t rule_count;
    char *texts; /* of the placeholders */
};

/* What is found in a text. */
struct mask_spans {
    struct mask_span *p;
    size_t n, cap;
    size_t hold; /* from here on nothing is decided; s.n if all is */
    size_t hold_rule;
    size_t hold_col; /* of a manifest that is held */
    bool whole;      /* a lead stood there that has no rule of its own */
};

void mask_spans_release(struct mask_spans *f);
/* From `at` on it depends on what comes; whose fault that is. */
void mask_spans_hold(struct mask_spans *f, size_t at, size_t rule);
void mask_spans_add(struct mask_spans *f, struct mask_span one);
/* All rules on t from its floor on. The spans come out in order and apart. */
void mask_scan(const struct mask *m, const struct mask_view *t, struct mask_spans *out);
/* Patterns of the user's own: adds to out, unsorted. */
void mask_customs_scan(const struct mask *m, const struct mask_view *t, struct mask_spans *out);
bool mask_customs_new(struct mask *m, const struct mask_options *o, struct err *e) MUST_USE;
void mask_customs_free(struct mask *m);
/* Secrets of Kubernetes in plain text: adds to out, unsorted. */
void mask_secrets_scan(const struct mask_view *t, struct mask_spans *out);

/* The text from..to with the spans replaced. */
struct mask_range {
    size_t from, to;
};

void mask_render(const struct mask *m, str s, struct mask_range range, const struct mask_spans *f,
                 struct buf *out, struct mask_counts *counts);
void mask_count(struct mask_counts *counts, size_t rule);

/* Whether a member of this name (unescaped) is a secret whatever its value looks like, and by which
 * rule. `number`: also if the value is a number. */
bool mask_name_is_secret(str name, size_t *rule, bool *number);

/* tokens.c */
struct mask_prefix {
    const char *text;
    unsigned char class; /* enum mask_class */
    unsigned char min;   /* characters behind it */
    bool pair;           /* a secret of 40 characters may follow */
};
mask_match mask_match_prefix, mask_match_jwt, mask_match_pem, mask_match_bearer, mask_match_basic,
    mask_match_url, mask_match_user;
#define MASK_PEM_LINE_MAX 128 /* more than an END line has */
/* Where a private key's block ends that began before `from`: behind its END line, or s.n. */
size_t mask_pem_end(str s, size_t from, bool *closed);

/* Behind white space, escaped or not, and what may stand around it when text is quoted. */
size_t mask_skip_breaks(str s, size_t at);

/* assign.c */
mask_match mask_match_assign, mask_match_key;

/* numbers.c */
mask_match mask_match_card, mask_match_phone, mask_match_ssn, mask_match_iban, mask_match_ip4,
    mask_match_ip6, mask_match_email;

/* ---- characters ---- */

enum mask_class {
    MASK_C_ALNUM,
    MASK_C_WORD,  /* and _ */
    MASK_C_URL64, /* and _ - */
    MASK_C_B64,   /* alnum + / = */
    MASK_C_DOTTED /* alnum _ - . */
};

static inline bool mask_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool mask_is_alpha(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static inline bool mask_is_alnum(char c)
{
    return mask_is_digit(c) || mask_is_alpha(c);
}

static inline bool mask_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* For each character the classes it is of, a bit each. */
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

/* Whether s goes on at `at` with these letters, small ones in either case: more if s ends first. */
enum mask_found mask_goes_on(const struct mask_view *t, size_t at, str word);
/* Whether a word can begin at `at`: what stands before is no letter or digit, unless of an escape
 * (\n, %20). */
bool mask_word_starts(str s, size_t at);
