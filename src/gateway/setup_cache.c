/* setup_cache.c - keys and names that a loop has met.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/setup_cache.h"

#include "base/ctype.h"
#include "base/sha256.h"
#include "gateway/gateway.h"

/* The slot of a text, by its size, first and last byte; an earlier entry is replaced. */
static size_t setup_cache_slot(str s, size_t count)
{
    unsigned char first = (unsigned char)s.p[0], last = (unsigned char)s.p[s.n - 1];

    assert(s.n > 0 && count > 0);
    return (s.n + first + 5u * last) % count;
}

static void setup_cache_forget(struct setup_cache *l)
{
    for (size_t i = 0; i < SETUP_CACHE_KEYS; i++) {
        secret_release(&l->keys[i].shown);
        l->keys[i].key = NULL;
    }
    memset(l->names, 0, sizeof l->names);
    for (size_t i = 0; i < SETUP_CACHE_COUNTS; i++)
        l->counts[i].n = 0;
}

void setup_cache_release(struct setup_cache *l)
{
    setup_cache_forget(l);
    if (l->setup)
        setup_release(l->setup);
    l->setup = NULL;
}

struct setup *setup_cache_setup(struct setup_cache *l, struct gateway *g)
{
    /* A held setup cannot have been freed, so no other one can have its address. */
    if (!l->setup || g->setup != l->setup) {
        setup_cache_release(l);
        l->setup = gateway_setup(g);
    }
    return setup_retain(l->setup);
}

const struct config_key *setup_cache_key(struct setup_cache *l, const struct setup *s, str shown)
{
    uint8_t digest[SHA256_SIZE];
    const struct config_key *key;
    struct err e;
    size_t at;

    if (!shown.n)
        return NULL;
    at = setup_cache_slot(shown, SETUP_CACHE_KEYS);
    if (s == l->setup && secret_equal(&l->keys[at].shown, shown))
        return l->keys[at].key;
    sha256_of(shown, digest);
    key = config_key_find(s->config, digest);
    if (!key || s != l->setup)
        return key;
    secret_release(&l->keys[at].shown);
    l->keys[at].key = secret_init(&l->keys[at].shown, shown, &e) ? key : NULL;
    return key;
}

bool setup_cache_clean(struct setup_cache *l, const struct setup *s, str name)
{
    struct buf out;
    bool clean;
    size_t at;

    if (!s->mask || !name.n)
        return true;
    if (s != l->setup || name.n > SETUP_CACHE_NAME_MAX)
        return false;
    at = setup_cache_slot(name, SETUP_CACHE_NAMES);
    if (l->names[at].n == name.n && memcmp(l->names[at].text, name.p, name.n) == 0)
        return true;
    buf_init(&out, 4096);
    clean = !mask_text(s->mask, name, &out, NULL);
    buf_release(&out);
    if (clean) {
        l->names[at].n = (unsigned char)name.n;
        memcpy(l->names[at].text, name.p, name.n);
    }
    return clean;
}

/* ---- counts ---- */

static bool setup_cache_is_word(char c)
{
    return char_is_digit(c) || c == '_' || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static size_t setup_digits_end(str s, size_t at)
{
    while (at < s.n && char_is_digit(s.p[at]))
        at++;
    return at;
}

/* The position after the token at a place of such an object, or the place itself if the token is
 * not allowed there. A string is a name: a colon follows. */
static size_t setup_next_of_counts(str s, size_t at)
{
    size_t end = at + 1;

    assert(at < s.n);
    if (char_is_digit(s.p[at])) {
        end = setup_digits_end(s, at);
        return end - at <= MASK_COUNT_DIGITS ? end : at;
    }
    if (s.p[at] == '"') {
        while (end < s.n && setup_cache_is_word(s.p[end]))
            end++;
        return str_starts(str_slice(s, end, s.n), STR("\":")) ? end + 2 : at;
    }
    if (str_starts(str_slice(s, at, s.n), STR("null")))
        return at + 4;
    return memchr("{},:", s.p[at], 4) || char_is_json_space(s.p[at]) ? end : at;
}

static bool setup_are_counts(str s)
{
    size_t at = 0, next;

    for (; at < s.n && (next = setup_next_of_counts(s, at)) > at; at = next)
        ;
    return at == s.n;
}

static bool setup_cache_same_word(const char *a, const char *b)
{
    return memcmp(a, b, sizeof(uint64_t)) == 0;
}

/* Whether two texts differ only in numbers, where the first are counts. No name contains a colon or
 * a blank, so a token after one of these is not a name. */
static bool setup_differ_in_counts(str a, str b)
{
    size_t i = 0, k = 0, a_end, b_end;

    for (;;) {
        while (a.n - i >= 8 && b.n - k >= 8 && setup_cache_same_word(a.p + i, b.p + k))
            i += 8, k += 8;
        while (i < a.n && k < b.n && a.p[i] == b.p[k])
            i++, k++;
        if (i == a.n && k == b.n)
            return true;
        while (i > 0 && char_is_digit(a.p[i - 1]))
            i--, k--;
        a_end = setup_digits_end(a, i);
        b_end = setup_digits_end(b, k);
        if (i == 0 || !(a.p[i - 1] == ':' || char_is_json_space(a.p[i - 1])) || a_end == i ||
            b_end == k || b_end - k > MASK_COUNT_DIGITS || a_end == a.n || b_end == b.n ||
            a.p[a_end] != b.p[b_end])
            return false;
        i = a_end;
        k = b_end;
    }
}

bool setup_cache_clean_counts(struct setup_cache *l, const struct setup *s, str json)
{
    if (!s->mask)
        return true;
    if (s != l->setup || mask_minds_counts(s->mask) || !json.n)
        return false;
    for (size_t i = 0; i < SETUP_CACHE_COUNTS; i++)
        if (l->counts[i].n &&
            setup_differ_in_counts((str){l->counts[i].text, l->counts[i].n}, json))
            return true;
    if (json.n > SETUP_CACHE_COUNTS_MAX || !setup_are_counts(json) ||
        !mask_json_clean(s->mask, json))
        return false;
    assert(l->counts_next < SETUP_CACHE_COUNTS);
    l->counts[l->counts_next].n = (uint16_t)json.n;
    memcpy(l->counts[l->counts_next].text, json.p, json.n);
    l->counts_next = (l->counts_next + 1) % SETUP_CACHE_COUNTS;
    return true;
}
