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
