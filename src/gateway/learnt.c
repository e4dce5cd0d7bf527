/* learnt.c - keys and names that a loop has met.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/learnt.h"

#include "base/sha256.h"
#include "gateway/gateway.h"

/* Where something of that look would be; what stood there gives way. */
static size_t slot(str s, size_t count)
{
    unsigned char first = (unsigned char)s.p[0], last = (unsigned char)s.p[s.n - 1];

    return (s.n + first + 5u * last) % count;
}

static void forget(struct learnt *l)
{
    for (size_t i = 0; i < LEARNT_KEYS; i++) {
        secret_release(&l->keys[i].shown);
        l->keys[i].key = NULL;
    }
    memset(l->names, 0, sizeof l->names);
    for (size_t i = 0; i < LEARNT_COUNTS; i++)
        l->counts[i].n = 0;
}

void learnt_release(struct learnt *l)
{
    forget(l);
    if (l->setup)
        setup_release(l->setup);
    l->setup = NULL;
}

struct setup *learnt_setup(struct learnt *l, struct gateway *g)
{
    /* What is held cannot have been freed, so no other can stand where it stands. */
    if (!l->setup || g->setup != l->setup) {
        learnt_release(l);
        l->setup = gateway_setup(g);
    }
    return setup_retain(l->setup);
}

const struct config_key *learnt_key(struct learnt *l, const struct setup *s, str shown)
{
    uint8_t digest[SHA256_SIZE];
    const struct config_key *key;
    struct err e;
    size_t at;

    if (!shown.n)
        return NULL;
    at = slot(shown, LEARNT_KEYS);
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

bool learnt_clean(struct learnt *l, const struct setup *s, str name)
{
    struct buf out;
    bool clean;
    size_t at;

    if (!s->mask || !name.n)
        return true;
    if (s != l->setup || name.n > LEARNT_NAME_MAX)
        return false;
    at = slot(name, LEARNT_NAMES);
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

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || c == '_' || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static size_t digits_end(str s, size_t at)
{
    while (at < s.n && is_digit(s.p[at]))
        at++;
    return at;
}

/* Behind what stands at a place of such an object, or the place itself if that cannot be in it. A
 * string is a name: a colon follows. */
static size_t next_of_counts(str s, size_t at)
{
    size_t end = at + 1;

    if (is_digit(s.p[at])) {
        end = digits_end(s, at);
        return end - at <= MASK_COUNT_DIGITS ? end : at;
    }
    if (s.p[at] == '"') {
        while (end < s.n && is_word(s.p[end]))
            end++;
        return str_starts(str_slice(s, end, s.n), STR("\":")) ? end + 2 : at;
    }
    if (str_starts(str_slice(s, at, s.n), STR("null")))
        return at + 4;
    return memchr("{},:", s.p[at], 4) || is_blank(s.p[at]) ? end : at;
}

static bool are_counts(str s)
{
    size_t at = 0, next;

    for (; at < s.n && (next = next_of_counts(s, at)) > at; at = next)
        ;
    return at == s.n;
}

static bool same_word(const char *a, const char *b)
{
    return memcmp(a, b, sizeof(uint64_t)) == 0;
}

/* Whether two texts differ in nothing but numbers, where the first are counts. No name has a colon
 * or a blank in it, so what begins behind one of these is none. */
static bool differ_in_counts(str a, str b)
{
    size_t i = 0, k = 0, a_end, b_end;

    for (;;) {
        while (a.n - i >= 8 && b.n - k >= 8 && same_word(a.p + i, b.p + k))
            i += 8, k += 8;
        while (i < a.n && k < b.n && a.p[i] == b.p[k])
            i++, k++;
        if (i == a.n && k == b.n)
            return true;
        while (i > 0 && is_digit(a.p[i - 1]))
            i--, k--;
        a_end = digits_end(a, i);
        b_end = digits_end(b, k);
        if (i == 0 || !(a.p[i - 1] == ':' || is_blank(a.p[i - 1])) || a_end == i || b_end == k ||
            b_end - k > MASK_COUNT_DIGITS || a_end == a.n || b_end == b.n ||
            a.p[a_end] != b.p[b_end])
            return false;
        i = a_end;
        k = b_end;
    }
}

bool learnt_clean_counts(struct learnt *l, const struct setup *s, str json)
{
    if (!s->mask)
        return true;
    if (s != l->setup || mask_minds_counts(s->mask) || !json.n)
        return false;
    for (size_t i = 0; i < LEARNT_COUNTS; i++)
        if (l->counts[i].n && differ_in_counts((str){l->counts[i].text, l->counts[i].n}, json))
            return true;
    if (json.n > LEARNT_COUNTS_MAX || !are_counts(json) || !mask_json_clean(s->mask, json))
        return false;
    l->counts[l->counts_next].n = (uint16_t)json.n;
    memcpy(l->counts[l->counts_next].text, json.p, json.n);
    l->counts_next = (l->counts_next + 1) % LEARNT_COUNTS;
    return true;
}
