/* previous_response.c - responses by whose they are and their id, in a list by their last use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/previous_response.h"

#include "base/map.h"

#define AGE_MAX_NS ((uint64_t)86400 * 1000000000)
#define CHAIN_MAX 4096 /* responses of one conversation */
#define RESPONSES_MAX ((size_t)1 << 20)
#define NAME_MAX_SIZE 512 /* of an id; ours are shorter */

struct response {
    struct response *newer, *older;
    uint64_t used_ns;
    size_t size;
    str key;      /* whose, NUL, id */
    str previous; /* likewise; or "" */
    str session, items;
    char bytes[];
};

struct previous_responses {
    const struct clock *clock;
    pthread_mutex_t lock;
    struct map by_key;
    struct response *newest, *oldest;
    size_t size, size_max;
};

struct previous_responses *previous_response_new(const struct clock *clock, size_t size_max)
{
    struct previous_responses *p = base_alloc(sizeof *p);

    *p = (struct previous_responses){.clock = clock, .size_max = size_max};
    pthread_mutex_init(&p->lock, NULL);
    map_init(&p->by_key, NULL, RESPONSES_MAX);
    return p;
}

/* ---- the list ---- */

static void previous_unlink_one(struct previous_responses *p, struct response *r)
{
    assert(r->newer ? r->newer->older == r : p->newest == r);
    assert(r->older ? r->older->newer == r : p->oldest == r);
    *(r->newer ? &r->newer->older : &p->newest) = r->older;
    *(r->older ? &r->older->newer : &p->oldest) = r->newer;
}

static void previous_response_link_newest(struct previous_responses *p, struct response *r)
{
    assert(!p->newest == !p->oldest);
    r->used_ns = clock_mono_ns(p->clock);
    r->newer = NULL;
    r->older = p->newest;
    *(p->newest ? &p->newest->newer : &p->oldest) = r;
    p->newest = r;
}

static void previous_remove_one(struct previous_responses *p, struct response *r)
{
    previous_unlink_one(p, r);
    (void)map_remove(&p->by_key, r->key);
    assert(p->size >= r->size);
    p->size -= r->size;
    free(r);
}

void previous_response_free(struct previous_responses *p)
{
    if (!p)
        return;
    while (p->oldest)
        previous_remove_one(p, p->oldest);
    assert(p->size == 0 && !p->newest && map_count(&p->by_key) == 0);
    map_release(&p->by_key);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* The entries after it in the list are older. */
static void previous_drop_old(struct previous_responses *p)
{
    uint64_t now = clock_mono_ns(p->clock);

    while (p->oldest && (p->size > p->size_max || now - p->oldest->used_ns > AGE_MAX_NS))
        previous_remove_one(p, p->oldest);
}

/* ---- in and out ---- */

static char *previous_response_copy(char *to, str s)
{
    memcpy(to, s.p, s.n);
    return to + s.n;
}

static str previous_key_into(char **at, str who, str id)
{
    char *begin = *at;

    *at = previous_response_copy(previous_response_copy(begin, who) + 1, id);
    begin[who.n] = '\0';
    return (str){begin, who.n + 1 + id.n};
}

static struct response *response_new(const struct previous_response *in)
{
    size_t names = 2 * (in->who.n + 1) + in->id.n + in->previous.n + in->session.n;
    size_t size = sizeof(struct response) + names + in->items.n;
    struct response *r = base_alloc(size);
    char *at = r->bytes;

    *r = (struct response){.size = size + 2 * sizeof(struct map_entry), .previous = STR("")};
    r->key = previous_key_into(&at, in->who, in->id);
    if (in->previous.n)
        r->previous = previous_key_into(&at, in->who, in->previous);
    r->session = (str){at, in->session.n};
    at = previous_response_copy(at, in->session);
    r->items = (str){at, in->items.n};
    previous_response_copy(at, in->items);
    assert((size_t)(at - r->bytes) <= names);
    return r;
}

void previous_response_put(struct previous_responses *p, const struct previous_response *in)
{
    struct response *r;
    struct map_entry *found;
    struct err e;

    if (!in->id.n || in->id.n > NAME_MAX_SIZE || in->previous.n > NAME_MAX_SIZE ||
        in->items.n > p->size_max / 2)
        return;
    r = response_new(in);
    pthread_mutex_lock(&p->lock);
    found = map_find(&p->by_key, r->key);
    if (found)
        previous_remove_one(p, found->value.ptr);
    if (map_set(&p->by_key, r->key, MAP_PTR(r), &e)) {
        p->size += r->size;
        previous_response_link_newest(p, r);
    } else {
        free(r);
    }
    previous_drop_old(p);
    pthread_mutex_unlock(&p->lock);
}

/* Fills `out`, the newest response first; returns their number, or 0 if one is missing. */
static size_t previous_response_chain(struct previous_responses *p, str key, struct response **out)
{
    size_t n = 0;

    while (key.n) {
        struct map_entry *found = map_find(&p->by_key, key);

        if (!found || n == CHAIN_MAX)
            return 0;
        out[n] = found->value.ptr;
        key = out[n++]->previous;
    }
    return n;
}

bool previous_response_find(struct previous_responses *p, str who, str id, struct buf *out,
                            struct err *e)
{
    struct response **all;
    char *key, *at;
    size_t n;
    str name;

    if (id.n > NAME_MAX_SIZE)
        return err_set(e, ERR_NOT_FOUND, "no response has such an id");
    all = base_alloc(CHAIN_MAX * sizeof(void *));
    at = key = base_alloc(who.n + id.n + 1);
    name = previous_key_into(&at, who, id);
    pthread_mutex_lock(&p->lock);
    previous_drop_old(p);
    n = previous_response_chain(p, name, all);
    for (size_t i = n; i-- > 0;) {
        if (out->n && all[i]->items.n)
            buf_add_c(out, ',');
        buf_add(out, all[i]->items);
        previous_unlink_one(p, all[i]);
        previous_response_link_newest(p, all[i]);
    }
    pthread_mutex_unlock(&p->lock);
    free(all);
    free(key);
    if (!n)
        return err_set(e, ERR_NOT_FOUND, "the response \"" STR_FMT "\" is not known", STR_ARG(id));
    return buf_ok(out, "the conversation", e);
}

void previous_response_forget(struct previous_responses *p, str session)
{
    pthread_mutex_lock(&p->lock);
    for (struct response *r = p->oldest, *newer; r; r = newer) {
        newer = r->newer;
        if (!session.n || str_eq(r->session, session))
            previous_remove_one(p, r);
    }
    pthread_mutex_unlock(&p->lock);
}
