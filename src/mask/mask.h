/* mask.h - removes secrets from texts before they are stored.
 *
 *     struct mask *m;
 *     if (!mask_new(&options, &m, e)) ...                   once, when the configuration is read
 *     if (mask_json(m, body, &out, &counts))                any thread, any number of times
 *         body = buf_str(&out);                             false: nothing was there, out untouched
 *     mask_free(m);
 *
 * A match is replaced by "[MASKED:rule]", always the same text for the same rule, or by the
 * replacement of a user's pattern. Groups of rules are enabled by name; docs/reference/masking.md
 * lists what each of them finds.
 *
 * A filter scans the text once for the first four bytes of every rule; a text without any of them
 * is not copied and needs no other work. Rules are tried only at the places that the filter finds.
 * Patterns of the user are PCRE2, each with limits on steps, depth, memory and time. If a pattern
 * reaches a limit, the text that it has not checked is masked, never passed unmasked.
 *
 * mask_json works on unescaped values, and its result is JSON again. Members with a name such as
 * "password" lose their value, whatever it is. JSON inside strings is masked, too, to a depth of
 * MASK_NEST_MAX. Data for machines only (signatures, encrypted reasoning, pictures) stays
 * unchanged.
 *
 * A stream gives the same result as mask_text for the whole text, for any pieces. It buffers text
 * that may become part of a secret: the last word, and everything from the first undecided place
 * on, at most MASK_HOLD_MAX bytes. Text that is still undecided then is masked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

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

/* Their names, ending with NULL: "credentials", ..., "all". */
extern const char *const mask_group_names[];
/* The groups with this name, or 0. */
unsigned mask_group_find(str name);

/* A pattern of the user; replacement "": the placeholder with its name. */
struct mask_pattern {
    str name, pattern, replacement;
};

/* Whether the pattern is usable: a valid name, and an expression that compiles and does not match
 * the empty text. */
bool mask_pattern_check(const struct mask_pattern *p, struct err *e) MUST_USE;

struct mask_options {
    unsigned groups; /* bits of enum mask_group */
    const struct mask_pattern *patterns;
    size_t pattern_count;
};

struct mask;

bool mask_new(const struct mask_options *o, struct mask **out, struct err *e) MUST_USE;
void mask_free(struct mask *m);

/* The number of matches of each rule and of all rules; counts are added. */
struct mask_counts {
    uint32_t n[MASK_RULES_MAX], all;
};
size_t mask_rule_count(const struct mask *m);
str mask_rule_name(const struct mask *m, size_t rule); /* valid as long as m */

/* Returns whether something was masked. Then the whole text is appended to out; if out is full
 * afterwards, its content is useless. Otherwise out is unchanged. counts may be NULL. */
bool mask_text(const struct mask *m, str in, struct buf *out, struct mask_counts *counts);
/* The same for text that may be JSON; anything else is masked as text. */
bool mask_json(const struct mask *m, str in, struct buf *out, struct mask_counts *counts);
/* The text for the record: the same text if nothing is masked (m may be NULL), else a copy in the
 * arena; MASK_LEFT_OUT if the copy is too large. */
struct arena;
str mask_text_kept(const struct mask *m, str in, struct arena *a);
str mask_json_kept(const struct mask *m, str in, struct arena *a);
/* The same for JSON that is known to be valid: most of it need not be parsed. */
bool mask_json_sound(const struct mask *m, str in, struct buf *out, struct mask_counts *counts);
/* The same for a parsed object or array. */
struct json;
bool mask_json_doc(const struct mask *m, const struct json *doc, struct buf *out,
                   struct mask_counts *counts);
/* Whether valid JSON has nothing to mask, as far as the filter shows without parsing. Then none of
 * its strings has anything to mask, either. */
bool mask_json_clean(const struct mask *m, str in);
bool mask_json_doc_clean(const struct mask *m, const struct json *doc);

/* Whether a rule depends on the value of JSON numbers of up to MASK_COUNT_DIGITS digits. If not,
 * clean JSON stays clean when such numbers change. */
#define MASK_COUNT_DIGITS 12
bool mask_minds_counts(const struct mask *m);

/* The total time of the user's patterns on this thread, from one call to the next: the time left,
 * and whether it ran out, so that more was masked than the patterns match. NULL: each pattern has a
 * time limit for each text. */
struct mask_budget {
    uint64_t left_ns; /* of the thread's CPU time */
    bool over;
};
void mask_budget_set(struct mask_budget *b);
bool mask_has_patterns(const struct mask *m);

/* Replaces a text that was too large to mask. */
#define MASK_LEFT_OUT "[MASKED:too_large]"

/* A text that arrives in pieces. The struct must not be moved while in use. */
struct mask_stream {
    const struct mask *m; /* lent */
    struct buf held;      /* bytes before `floor` were already written and are only context */
    size_t floor;
    unsigned inside; /* enum mask_end: the kind of end up to which text is skipped */
    char quote;      /* the quotes that end it, */
    size_t n;        /* the backslashes before them; or the column that ends it */
};

void mask_stream_init(struct mask_stream *s, const struct mask *m);
void mask_stream_release(struct mask_stream *s);
/* Appends the text that is decided to out. */
void mask_stream_feed(struct mask_stream *s, str piece, struct buf *out,
                      struct mask_counts *counts);
/* The same for the last piece, which may be the whole text: then nothing is buffered. */
void mask_stream_last(struct mask_stream *s, str piece, struct buf *out,
                      struct mask_counts *counts);
/* Ends the text; the stream may be used for another one. */
void mask_stream_finish(struct mask_stream *s, struct buf *out, struct mask_counts *counts);
