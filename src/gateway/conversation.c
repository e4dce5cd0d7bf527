/* conversation.c - see conversation.h.
 *
 * A conversation is a chain of atoms: the texts, calls and results of its messages in order. After
 * a call two positions of the chain are stored: after its reply (certainly this conversation) and
 * after its request (uncertain: two conversations may begin alike, and then neither matches). A new
 * request belongs to the conversation whose position is farthest into it, but not at its very end:
 * a repeated question does not continue an answer. If several conversations had the same messages
 * and replies, each of them is continued once before any is continued twice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/conversation.h"

#include "base/ctype.h"
#include "base/map.h"
#include "base/rand.h"

#define ATOMS_MAX 8192
#define EDGE 64 /* of data that is not read whole */
#define ALIKE_MAX 64
#define ID_MAX 4096 /* bytes of JSON: no host gives a response a longer id */

enum atom { ATOM_TEXT, ATOM_CALL, ATOM_RESULT, ATOM_DATA, ATOM_REPLY_ID, ATOM_ALIKE };

struct place {
    uint64_t hash;
    bool sure, shared; /* shared: two sessions were here, so it tells nothing */
    uint8_t alike;     /* sessions with identical text; others have entries of their own */
    uint8_t gone_on;   /* how many of them were continued */
    char session[CONVERSATION_SESSION_MAX];
    uint16_t session_n;
};

struct conversations {
    pthread_mutex_t lock;
    uint64_t seed[2];
    struct map by_hash; /* to 1 + index of places; keys are the hashes in place */
    struct place *places;
    size_t count, count_max, next; /* a ring once it is full */
};

struct conversations *conversations_new(size_t count_max, const uint64_t seed[2])
{
    struct conversations *t = base_alloc(sizeof *t);

    assert(count_max > 0);
    *t = (struct conversations){.count_max = count_max};
    if (seed)
        memcpy(t->seed, seed, sizeof t->seed);
    else
        rand_os(t->seed, sizeof t->seed);
    pthread_mutex_init(&t->lock, NULL);
    map_init(&t->by_hash, NULL, count_max + 1);
    t->places = base_reserve(count_max * sizeof *t->places);
    return t;
}

void conversations_free(struct conversations *t)
{
    if (!t)
        return;
    map_release(&t->by_hash);
    base_unreserve(t->places, t->count_max * sizeof *t->places);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* ---- a text, in blocks that do not depend on how it comes ---- */

static void conversation_hash_begin(struct conversation_hash *h, const uint64_t seed[2])
{
    h->seed[0] = seed[0];
    h->seed[1] = seed[1];
    h->sum = 0;
    h->n = h->space_n = 0;
    h->begun = false;
}

__extension__ typedef unsigned __int128 wide;

/* Both halves of the product of two words. */
static uint64_t conversation_fold(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Histories are long and every request repeats them, so a hash faster than map_hash is used: two
 * multiplications for 32 bytes. The seed is secret, and hashes are never shown. Of the block's
 * bytes the first n are text, the others zeros. */
static void conversation_hash_block(struct conversation_hash *h,
                                    const char block[CONVERSATION_BLOCK], size_t n)
{
    uint64_t word[CONVERSATION_BLOCK / 8], a = h->seed[0] ^ h->sum, b = h->seed[1] ^ n;

    assert(n <= CONVERSATION_BLOCK);
    memcpy(word, block, sizeof word);
    for (size_t i = 0; i < COUNT_OF(word); i += 4) {
        a = conversation_fold(word[i] ^ a, word[i + 1] ^ h->seed[1]);
        b = conversation_fold(word[i + 2] ^ b, word[i + 3] ^ h->seed[0]);
    }
    h->sum = conversation_fold(a ^ h->seed[1], b ^ h->seed[0]);
    h->n = 0;
}

static void conversation_hash_add(struct conversation_hash *h, str s)
{
    size_t n;

    assert(h->n < CONVERSATION_BLOCK);
    h->begun = true;
    for (; s.n; s = str_slice(s, n, s.n)) {
        n = CONVERSATION_BLOCK - (size_t)h->n;
        if (s.n < n) {
            memcpy(h->block + h->n, s.p, s.n);
            h->n = (uint16_t)(h->n + s.n);
            return;
        }
        if (n < CONVERSATION_BLOCK)
            memcpy(h->block + h->n, s.p, n);
        conversation_hash_block(h, n < CONVERSATION_BLOCK ? h->block : s.p, CONVERSATION_BLOCK);
    }
}

static void conversation_hash_feed(struct conversation_hash *h, str s)
{
    size_t end = s.n;

    assert(h->space_n <= CONVERSATION_SPACE);
    while (end && char_is_space(s.p[end - 1]))
        end--;
    if (!h->begun)
        for (; end && char_is_space(*s.p); end--)
            s = str_slice(s, 1, s.n);
    if (end) {
        conversation_hash_add(h, (str){h->space, h->space_n});
        h->space_n = 0;
        conversation_hash_add(h, str_slice(s, 0, end));
        s = str_slice(s, end, s.n);
    }
    for (size_t i = 0; h->begun && i < s.n; i++) {
        if (h->space_n == CONVERSATION_SPACE) {
            conversation_hash_add(h, (str){h->space, h->space_n});
            h->space_n = 0;
        }
        h->space[h->space_n++] = s.p[i];
    }
}

static uint64_t conversation_hash_end(struct conversation_hash *h)
{
    assert(h->n < CONVERSATION_BLOCK);
    memset(h->block + h->n, 0, CONVERSATION_BLOCK - (size_t)h->n);
    conversation_hash_block(h, h->block, h->n);
    return h->sum;
}

/* ---- atoms ---- */

static uint64_t conversation_link_atom(const uint64_t seed[2], uint64_t chain, enum chat_role role,
                                       enum atom kind, uint64_t what)
{
    uint64_t all[4] = {chain, (uint64_t)role, (uint64_t)kind, what};

    return map_hash(seed, (str){(const char *)all, sizeof all});
}

static uint64_t conversation_of_text(const uint64_t seed[2], str text, bool *empty)
{
    struct conversation_hash h;

    conversation_hash_begin(&h, seed);
    conversation_hash_feed(&h, text);
    *empty = !h.begun;
    return conversation_hash_end(&h);
}

static uint64_t conversation_of_data(const uint64_t seed[2], str data)
{
    uint64_t both[3] = {
        data.n,
        map_hash(seed, str_slice(data, 0, data.n < EDGE ? data.n : EDGE)),
        map_hash(seed, str_slice(data, data.n < EDGE ? 0 : data.n - EDGE, data.n)),
    };

    return map_hash(seed, (str){(const char *)both, sizeof both});
}

/* The id tells two calls of one tool apart; providers that give none have the name alone. */
static uint64_t conversation_of_call(const uint64_t seed[2], str id, str name)
{
    return map_hash(seed, id.n ? id : name);
}

/* False: this part does not count. */
static bool conversation_of_part(const uint64_t seed[2], const struct chat_part *p, enum atom *kind,
                                 uint64_t *what)
{
    bool empty = false;

    switch (p->kind) {
    case CHAT_PART_TEXT:
    case CHAT_PART_REFUSAL:
        *kind = ATOM_TEXT;
        *what = conversation_of_text(seed, p->text, &empty);
        return !empty;
    case CHAT_PART_TOOL_CALL:
        *kind = ATOM_CALL;
        *what = conversation_of_call(seed, p->id, p->name);
        return true;
    case CHAT_PART_TOOL_RESULT:
        *kind = ATOM_RESULT;
        *what = conversation_of_call(seed, p->id, p->name);
        return true;
    case CHAT_PART_IMAGE:
    case CHAT_PART_FILE:
        *kind = ATOM_DATA;
        *what = conversation_of_data(seed, p->data.n ? p->data : p->url);
        return true;
    default:
        return false;
    }
}

/* Walks the chain of a request; each place of it goes to `at`, the last one is returned. */
static uint64_t conversation_walk(const uint64_t seed[2], const struct chat_request *r,
                                  uint64_t *at, size_t *n)
{
    uint64_t chain = 0, what = 0;
    enum atom kind = ATOM_TEXT;
    size_t count = 0;

    for (size_t i = 0; i < r->message_count; i++) {
        const struct chat_message *m = &r->messages[i];

        for (size_t k = 0; m->role != CHAT_SYSTEM && k < m->part_count; k++) {
            if (!conversation_of_part(seed, &m->parts[k], &kind, &what))
                continue;
            chain = conversation_link_atom(seed, chain, m->role, kind, what);
            if (count < ATOMS_MAX)
                at[count++] = chain;
        }
    }
    assert(count <= ATOMS_MAX);
    *n = count;
    return chain;
}

void conversation_begin(struct conversations *all, struct conversation *t, str who,
                        const struct chat_request *r, struct arena *a)
{
    uint64_t asker = map_hash(all->seed, who), *at;
    size_t atoms = 0;

    for (size_t i = 0; i < r->message_count; i++)
        atoms += r->messages[i].part_count;
    at = arena_alloc(a, (atoms < ATOMS_MAX ? atoms + 1 : ATOMS_MAX) * sizeof *at);
    t->request = r;
    t->seed[0] = all->seed[0] ^ asker;
    t->seed[1] = all->seed[1];
    t->asked = conversation_walk(t->seed, r, at, &t->place_count);
    assert(t->place_count <= atoms);
    t->places = at;
    conversation_again(t);
}

void conversation_again(struct conversation *t)
{
    t->said = t->asked;
    t->more = false;
    conversation_hash_begin(&t->text, t->seed);
}

/* ---- places ---- */

static struct place *conversation_place_at(struct conversations *t, uint64_t hash)
{
    struct map_entry *found = map_find(&t->by_hash, (str){(const char *)&hash, sizeof hash});

    assert(!found || found->value.u64 < t->count_max);
    return found ? &t->places[found->value.u64] : NULL;
}

/* An id of ours goes out with a prefix that it does not have in here. */
static uint64_t conversation_id_place(const struct conversation *t, str id)
{
    if (str_starts(id, STR("resp_")))
        id = str_slice(id, 5, id.n);
    return conversation_link_atom(t->seed, 0, CHAT_ASSISTANT, ATOM_REPLY_ID, map_hash(t->seed, id));
}

/* previous_response_id may name a response that only the provider has. */
static struct place *conversation_by_id(struct conversations *all, const struct conversation *t)
{
    const struct json *doc = t->request->doc;
    const struct json_node *v;
    struct place *p = NULL;
    struct arena a;
    str id;

    if (t->request->dialect != CHAT_RESPONSES || !doc)
        return NULL;
    v = json_find(doc, json_root(doc), STR("previous_response_id"));
    if (!v || v->size > ID_MAX)
        return NULL;
    arena_init(&a, 2 * ID_MAX);
    if (json_text(doc, v, &a, &id) && id.n)
        p = conversation_place_at(all, conversation_id_place(t, id));
    arena_release(&a);
    return p;
}

/* The place of the nth session that was at this one. */
static uint64_t conversation_alike_place(const struct conversations *t, uint64_t hash, uint8_t n)
{
    return n ? conversation_link_atom(t->seed, hash, CHAT_ASSISTANT, ATOM_ALIKE, n) : hash;
}

/* The session among those with the same history that is next. */
static struct place *conversation_add_turn(struct conversations *all, struct place *p)
{
    uint8_t n = p->gone_on <= p->alike ? p->gone_on++ : p->alike;
    struct place *one = conversation_place_at(all, conversation_alike_place(all, p->hash, n));

    assert(p->sure && p->alike <= ALIKE_MAX && p->gone_on <= p->alike + 1);
    return one ? one : p;
}

static struct place *conversation_by_words(struct conversations *all, const uint64_t *at, size_t n)
{
    for (size_t i = n > 0 ? n - 1 : 0; i-- > 0;) {
        struct place *p = conversation_place_at(all, at[i]);

        if (p && (p->sure || !p->shared))
            return p->sure ? conversation_add_turn(all, p) : p;
    }
    return NULL;
}

bool conversation_find(struct conversations *all, const struct conversation *t, struct arena *a,
                       str *session)
{
    struct place *p;

    pthread_mutex_lock(&all->lock);
    p = conversation_by_id(all, t);
    if (!p)
        p = conversation_by_words(all, t->places, t->place_count);
    if (p)
        *session = arena_dup(a, (str){p->session, p->session_n});
    pthread_mutex_unlock(&all->lock);
    return p != NULL;
}

static void conversation_put_place(struct conversations *t, uint64_t hash, str session, bool sure)
{
    struct place *p = &t->places[t->next];
    struct err e;

    assert(t->count <= t->count_max && t->next < t->count_max);
    assert(session.n <= sizeof p->session);
    if (t->count == t->count_max)
        map_remove(&t->by_hash, (str){(const char *)&p->hash, sizeof p->hash});
    else
        t->count++;
    p->hash = hash;
    p->sure = sure;
    p->shared = false;
    p->alike = p->gone_on = 0;
    p->session_n = 0; /* the rest of it is read no further */
    if (!map_set(&t->by_hash,
                 (str){(const char *)&p->hash, sizeof p->hash},
                 MAP_U64((uint64_t)t->next),
                 &e))
        return;
    t->next = (t->next + 1) % t->count_max;
    memcpy(p->session, session.p, session.n);
    p->session_n = (uint16_t)session.n;
}

static bool conversation_is_of(const struct place *p, str session)
{
    assert(!p || p->session_n <= sizeof p->session);
    return p && str_eq((str){p->session, p->session_n}, session);
}

static void conversation_note(struct conversations *t, uint64_t hash, str session, bool sure)
{
    struct place *p = conversation_place_at(t, hash);

    assert(session.n <= CONVERSATION_SESSION_MAX);
    if (!p) {
        conversation_put_place(t, hash, session, sure);
        return;
    }
    for (uint8_t n = 0; n <= p->alike; n++)
        if (conversation_is_of(conversation_place_at(t, conversation_alike_place(t, hash, n)),
                               session)) {
            p->sure |= sure;
            return;
        }
    p->shared = true;
    if (!sure)
        return;
    if (!p->sure) { /* stored after a request until now; this one is certain */
        p->sure = true;
        memcpy(p->session, session.p, session.n);
        p->session_n = (uint16_t)session.n;
    } else if (p->alike < ALIKE_MAX) {
        uint8_t n = ++p->alike;

        conversation_put_place(t, conversation_alike_place(t, hash, n), session, true);
    }
}

static void conversation_text_over(struct conversation *t)
{
    bool begun = t->text.begun;
    uint64_t what = conversation_hash_end(&t->text);

    if (begun)
        t->said = conversation_link_atom(t->seed, t->said, CHAT_ASSISTANT, ATOM_TEXT, what);
    conversation_hash_begin(&t->text, t->seed);
}

void conversation_text(struct conversation *t, str text)
{
    t->more = true;
    conversation_hash_feed(&t->text, text);
}

void conversation_call(struct conversation *t, str id, str name)
{
    conversation_text_over(t);
    t->more = true;
    t->said = conversation_link_atom(
        t->seed, t->said, CHAT_ASSISTANT, ATOM_CALL, conversation_of_call(t->seed, id, name));
}

/* The stored positions: after its request, after its reply, and the ids of the reply. */
enum { BEHIND_REQUEST, BEHIND_REPLY, AT_REPLY_ID, AT_OWN_ID, MARKS };

static void conversation_marks(const struct conversation *t, str reply_id, str own_id,
                               uint64_t at[MARKS])
{
    bool named = t->request->dialect == CHAT_RESPONSES;

    memset(at, 0, MARKS * sizeof at[0]);
    at[BEHIND_REQUEST] = t->asked;
    if (t->more && t->said != t->asked)
        at[BEHIND_REPLY] = t->said;
    if (named && reply_id.n)
        at[AT_REPLY_ID] = conversation_id_place(t, reply_id);
    if (named && own_id.n)
        at[AT_OWN_ID] = conversation_id_place(t, own_id);
}

static void conversation_note_all(struct conversations *all, str session, const uint64_t at[MARKS])
{
    session = str_slice(
        session, 0, session.n < CONVERSATION_SESSION_MAX ? session.n : CONVERSATION_SESSION_MAX);
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < MARKS; i++)
        if (at[i])
            conversation_note(all, at[i], session, i != BEHIND_REQUEST);
    pthread_mutex_unlock(&all->lock);
}

void conversation_end(struct conversations *all, struct conversation *t, str session, str reply_id,
                      str own_id)
{
    uint64_t at[MARKS];

    conversation_text_over(t);
    conversation_marks(t, reply_id, own_id, at);
    conversation_note_all(all, session, at);
}

static void conversation_put_hex(char *p, uint64_t n)
{
    for (size_t i = 16; i-- > 0; n >>= 4)
        p[i] = "0123456789abcdef"[n & 15];
}

str conversation_kept(const struct conversation *t, str reply_id, str own_id, struct arena *a)
{
    enum { WIDTH = 17 }; /* of each, including a space except after the last */
    uint64_t at[MARKS];
    size_t n = AT_REPLY_ID;
    char *p;

    conversation_marks(t, reply_id, own_id, at);
    if (at[AT_REPLY_ID] || at[AT_OWN_ID])
        n = MARKS;
    p = arena_alloc(a, n * WIDTH);
    for (size_t i = 0; i < n; i++) {
        conversation_put_hex(p + i * WIDTH, at[i]);
        p[i * WIDTH + WIDTH - 1] = ' ';
    }
    return (str){p, n * WIDTH - 1};
}

static bool conversation_hex_digit(char c, uint64_t *out)
{
    bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';

    *out = (uint64_t)(digit ? c - '0' : c - 'a' + 10);
    return digit || letter;
}

void conversations_recall(struct conversations *all, str session, str kept)
{
    uint64_t at[MARKS] = {0}, digit;
    size_t n = 0;

    for (size_t i = 0; i < kept.n && n < MARKS; i++)
        if (kept.p[i] == ' ')
            n++;
        else if (conversation_hex_digit(kept.p[i], &digit))
            at[n] = at[n] << 4 | digit;
        else
            return;
    if (session.n)
        conversation_note_all(all, session, at);
}
