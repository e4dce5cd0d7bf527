/* words.h - the words of a text: folding, index keys, matching and snippets.
 *
 *     words_set_add_text(&set, answer);            all words of a block of calls
 *     keys = words_set_sorted(&set, &n);           for word_pages.h
 *
 *     if (words_query_parse(typed, scopes, 4, &arena, &q)) {
 *         words_query_range(&q, part, false, &lo, &hi);        keys to look up in the index
 *         if (words_match(&q, fields, allowed, false, &hit))   then look at the text itself
 *             snippet = words_snippet(fields[hit.field], hit.at, 24, &arena);
 *     }
 *
 * A word is a run of letters and digits. Folding drops case, the diacritics of Latin letters and
 * combining marks, and cuts a word after WORDS_SIZE_MAX bytes. The index, the queries and the
 * matching read words with the same reader, so that they agree on every text. Bytes that are not
 * UTF-8 separate words.
 *
 * The keys are stored: a change of folding or of words_key needs a new index.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

#define WORDS_SIZE_MAX 64   /* bytes of a folded word; the rest is ignored, at a whole character */
#define WORDS_TYPED_MAX 32  /* words of a query; the rest is ignored */
#define WORDS_PARTS_MAX 64  /* parts of all words of a query; the rest is ignored */
#define WORDS_FIELDS_MAX 32 /* fields of a call */
#define WORDS_FRONT_MIN 3   /* characters: shorter prefixes match half of all words */
#define WORDS_SNIPPET_MAX 1024 /* bytes, without the dots */
#define WORDS_KEY_MAX ((UINT64_C(1) << 40) - 1)

/* The folded character: 0 if `code` separates words, WORDS_MARK if it is dropped from them. */
#define WORDS_MARK 0x110000u
uint32_t words_fold(uint32_t code);

/* Reads a text word by word. `folded` has zeros after its n bytes. */
struct words_reader {
    const char *at, *end;
    const char *start; /* of the word in the text */
    size_t n;
    char folded[WORDS_SIZE_MAX + 16];
};

void words_read_init(struct words_reader *r, str text);
bool words_read(struct words_reader *r) MUST_USE; /* false at the end of the text */

/* The key of a folded word: 40 bits, never 0. Its first four characters in 6 bits each, then 16
 * bits of a hash of the whole word. Different words may have the same key. */
uint64_t words_key(str folded);
/* Every word with this folded prefix has a key from lo to hi, both included. So has every word that
 * shares its first four characters. */
void words_front_range(str front, uint64_t *lo, uint64_t *hi);

/* The distinct keys of some texts. One thread at a time. */
struct words_set {
    uint64_t *slots;            /* open addressing; 0 is free */
    uint64_t *keys;             /* the same keys without gaps, then room to sort them */
    size_t n, bits;             /* keys in it; 1 << bits slots */
    struct words_chunk *recent; /* short words that were added, by a hash of them */
};

void words_set_init(struct words_set *s);
void words_set_release(struct words_set *s);
/* Empties the set; keeps the memory unless one large block needed much more than usual. */
void words_set_reset(struct words_set *s);
void words_set_add_text(struct words_set *s, str text);
/* The keys in ascending order, lent until the next call with this set. */
const uint64_t *words_set_sorted(struct words_set *s, size_t *n);

/* A typed word that begins with `prefix` ("asked:") must be in this field. */
struct words_scope {
    str prefix;
    unsigned field;
};

#define WORDS_ANY_FIELD WORDS_FIELDS_MAX

struct words_part {
    uint64_t key;
    size_t n;
    char folded[WORDS_SIZE_MAX + 16];
};

/* Each typed word is a phrase of one part or more: "don't" is the parts "don" and "t" in a row. The
 * parts of all typed words are in one array; the masks have a bit for each part. */
struct words_query {
    struct words_part *parts;
    size_t part_count;
    uint64_t firsts, lasts; /* the first and the last part of each typed word */
    size_t typed_count;
    struct {
        unsigned field; /* or WORDS_ANY_FIELD */
        unsigned parts;
    } typed[WORDS_TYPED_MAX];
    bool may_be_front; /* the last word is long enough for a prefix search */
};

/* Words are between white space; one without a letter or digit is ignored. False if none is left:
 * such a query finds nothing. */
bool words_query_parse(str typed, const struct words_scope *scopes, size_t n, struct arena *a,
                       struct words_query *out) MUST_USE;

/* The keys of one part. With last_is_front the last part matches all words that begin with it, if
 * the query allows that (may_be_front). A block that lacks the keys of any part has no match. */
void words_query_range(const struct words_query *q, size_t part, bool last_is_front, uint64_t *lo,
                       uint64_t *hi);

struct words_hit {
    unsigned field;
    size_t at; /* bytes */
};

/* Whether the texts of one call have all words. `allowed` has a bit for each field that the asker
 * may see; fields[i] is read only if its bit is set. A word without a scope may be in any of them,
 * different words in different fields; all parts of one word are in one field. `hit` is the first
 * match in the first field that has one, and is set only if all words are found. */
bool words_match(const struct words_query *q, const str fields[], unsigned allowed,
                 bool last_is_front, struct words_hit *hit) MUST_USE;
/* Copies the bytes with ASCII letters in lower case. False if some are not ASCII. */
bool words_copy_lower(char *to, str from);
/* Whether such a copy has the part as a word, or with `front` as the beginning of one. There is a
 * space before the copy, and WORDS_ROOM bytes after it are readable and zero. */
#define WORDS_ROOM (WORDS_SIZE_MAX + 16)
bool words_lower_has(str lower, const struct words_part *part, bool front);

/* Up to words_max words around a byte of the text, with "..." where text was cut off. At most
 * WORDS_SNIPPET_MAX bytes of text; always UTF-8, whatever the text has. */
str words_snippet(str text, size_t at, unsigned words_max, struct arena *a);
