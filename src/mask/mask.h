/* mask.h - secrets taken out of texts before anybody keeps them.
 *
 *     struct mask *m;
 *     if (!mask_new(&options, &m, e)) ...                   once, when the configuration is read
 *     if (mask_json(m, body, &out, &counts))                any thread, any number of times
 *         body = buf_str(&out);                             false: nothing was there, out untouched
 *     mask_free(m);
 *
 * What is found is replaced by "[MASKED:rule]", the same text for the same rule each time, or by
 * what a pattern of the user's own says. Groups of rules are switched on by name; docs/masking.md
 * says what each of them knows.
 *
 * A text is passed over once by a filter that knows four bytes of everything a rule can begin with;
 * where none of them stands nothing else is done and nothing is copied. At the places it points out
 * the rules look closer. Patterns of the user's own are PCRE2, each with limits on steps, depth,
 * memory and time; where one reaches a limit, all that it had still to look at is masked: never the
 * text as it was.
 *
 * mask_json works on the values as they are meant, escapes undone, and what comes out is JSON
 * again. Members with a name such as "password" lose their value whatever it looks like. JSON
 * inside strings is gone into as well, MASK_NEST_MAX deep. What only machines can read (signatures,
 * encrypted reasoning, pictures) is left alone.
 *
 * A stream gives the same text as mask_text would for the whole, whatever the pieces. It holds
 * back what may yet become a secret: the last word, and from the first thing that is undecided on,
 * MASK_HOLD_MAX bytes at most; what is undecided then is masked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define MASK_PATTERNS_MAX 64
#define MASK_PATTERN_SIZE_MAX 4096
#define MASK_NAME_MAX 64
#define MASK_RULES_MAX (32 + MASK_PATTERNS_MAX)
#define MASK_NEST_MAX 4
#define MASK_HOLD_MAX 4096

enum mask_group {
    MASK_CREDENTIALS = 1 << 0,
    MASK_PRIVATE_KEYS = 1 << 1,
    MASK_CARDS = 1 << 2,
    MASK_KUBERNETES = 1 << 3,
    MASK_EMAIL = 1 << 4,
    MASK_PHONE = 1 << 5,
    MASK_IBAN = 1 << 6,
    MASK_SSN = 1 << 7,
    MASK_IP = 1 << 8,
    MASK_DEFAULT = MASK_CREDENTIALS | MASK_PRIVATE_KEYS | MASK_CARDS | MASK_KUBERNETES,
    MASK_ALL = (1 << 9) - 1,
};

/* Their names, with a NULL behind: "credentials", ..., "all". */
extern const char *const mask_group_names[];
/* The groups that a name stands for, or 0. */
unsigned mask_group_find(str name);

/* A pattern of the user's own; replacement "": the placeholder with its name. */
struct mask_pattern {
    str name, pattern, replacement;
};

/* Whether it can be used: a good name, an expression that compiles and does not match nothing. */
bool mask_pattern_check(const struct mask_pattern *p, struct err *e) MUST_USE;

struct mask_options {
    unsigned groups; /* bits of enum mask_group */
    const struct mask_pattern *patterns;
    size_t pattern_count;
};

struct mask;

bool mask_new(const struct mask_options *o, struct mask **out, struct err *e) MUST_USE;
void mask_free(struct mask *m);

/* How often each rule was put to use, and all of them; added up. */
struct mask_counts {
    uint32_t n[MASK_RULES_MAX], all;
};
size_t mask_rule_count(const struct mask *m);
str mask_rule_name(const struct mask *m, size_t rule); /* lent as long as m */

/* Whether something was masked: then the whole text is appended to out, which may be full
 * afterwards and is of no use then. If not, out is as it was. counts may be NULL. */
bool mask_text(const struct mask *m, str in, struct buf *out, struct mask_counts *counts);
/* The same for what may be JSON; what is not, is a text. */
bool mask_json(const struct mask *m, str in, struct buf *out, struct mask_counts *counts);
/* The same for JSON that is known to be sound: most of it need not even be parsed. */
bool mask_json_sound(const struct mask *m, str in, struct buf *out, struct mask_counts *counts);
/* The same for an object or array that is parsed already. */
struct json;
bool mask_json_doc(const struct mask *m, const struct json *doc, struct buf *out,
                   struct mask_counts *counts);
/* Whether it can be told without a tree that nothing is in JSON that is sound, and then nothing is
 * in any of its strings, taken by itself. */
bool mask_json_clean(const struct mask *m, str in);
bool mask_json_doc_clean(const struct mask *m, const struct json *doc);

/* Whether a rule tells one number of up to MASK_COUNT_DIGITS digits from another, where these are
 * values in JSON: if not, what is clean stays so whatever they are. */
#define MASK_COUNT_DIGITS 12
bool mask_minds_counts(const struct mask *m);

/* How long patterns of the user's own may take in all, on the thread that sets it, until it is set
 * again: what is left, and whether there was too little, so that more is masked than they match.
 * NULL: each pattern has a time of its own on each text. */
struct mask_budget {
    uint64_t left_ns; /* of the thread's CPU time */
    bool over;
};
void mask_budget_set(struct mask_budget *b);
bool mask_has_patterns(const struct mask *m);

/* What a text becomes that could not be masked for want of room. */
#define MASK_LEFT_OUT "[MASKED:too_large]"

/* A text that comes in pieces. Not to be moved while in use. */
struct mask_stream {
    const struct mask *m; /* lent */
    struct buf held;      /* what stands before `floor` is out already and only looked back at */
    size_t floor;
    unsigned inside; /* of what is swallowed until its end: enum in stream.c */
    size_t col;      /* the column of a manifest that is swallowed */
};

void mask_stream_init(struct mask_stream *s, const struct mask *m);
void mask_stream_release(struct mask_stream *s);
/* Appends to out what is decided. */
void mask_stream_feed(struct mask_stream *s, str piece, struct buf *out,
                      struct mask_counts *counts);
/* The same for the last piece, which may be all of the text: then nothing is held and copied. */
void mask_stream_last(struct mask_stream *s, str piece, struct buf *out,
                      struct mask_counts *counts);
/* The text is over; the stream may be used for another one. */
void mask_stream_finish(struct mask_stream *s, struct buf *out, struct mask_counts *counts);
