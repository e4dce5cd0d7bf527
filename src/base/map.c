/* Two arrays. `entries` has the keys and values in insertion order; `slots` is the hash table with
 * open addressing and linear probing, and has only indexes of `entries`. So order costs nothing, a
 * probe step reads four bytes, and a slot is never moved: a removed entry keeps its slot and is
 * skipped. When `entries` is full, both arrays are rebuilt from the remaining entries, larger if
 * necessary. `entries` is three quarters of `slots` at most, so a free slot always ends a search.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/map.h"

#include "base/rand.h"

#define SLOT_COUNT_MIN 8

static void map_sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rand_rotate(v[1], 13) ^ v[0];
    v[3] = rand_rotate(v[3], 16) ^ v[2];
    v[0] = rand_rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rand_rotate(v[1], 17) ^ v[2];
    v[3] = rand_rotate(v[3], 21) ^ v[0];
    v[2] = rand_rotate(v[2], 32);
}

static inline uint64_t map_word_of(const char *p)
{
    uint64_t word;

    memcpy(&word, p, 8);
    return le64toh(word);
}

/* Fewer than 8 bytes, the first lowest. Two reads that meet or overlap say the same where they
 * do. */
static inline uint64_t map_rest_of(const char *p, size_t n)
{
    uint32_t front, back;

    if (n >= 4) {
        memcpy(&front, p, 4);
        memcpy(&back, p + n - 4, 4);
        return le32toh(front) | (uint64_t)le32toh(back) << (8 * (n - 4));
    }
    if (n == 0)
        return 0;
    return (uint64_t)(unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << (8 * (n / 2)) |
           (uint64_t)(unsigned char)p[n - 1] << (8 * (n - 1));
}

uint64_t map_hash(const uint64_t seed[2], str bytes)
{
    uint64_t v[4] = {
        seed[0] ^ 0x736F6D6570736575,
        seed[1] ^ 0x646F72616E646F6D,
        seed[0] ^ 0x6C7967656E657261,
        seed[1] ^ 0x7465646279746573,
    };
    size_t at = 0;
    uint64_t word;

    for (; bytes.n - at >= 8; at += 8) {
        word = map_word_of(bytes.p + at);
        v[3] ^= word;
        map_sip_round(v);
        v[0] ^= word;
    }
    word = map_rest_of(bytes.p + at, bytes.n - at) | (uint64_t)bytes.n << 56;
    v[3] ^= word;
    map_sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xFF;
    for (int i = 0; i < 3; i++)
        map_sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void map_init(struct map *m, struct arena *keys, size_t count_max)
{
    assert(count_max <= MAP_COUNT_MAX);
    *m = (struct map){.keys = keys, .count_max = count_max};
}

void map_release(struct map *m)
{
    assert(m->count <= m->used && m->used <= m->cap);
    free(m->entries);
    free(m->slots);
    *m = (struct map){.keys = m->keys, .count_max = m->count_max};
}

/* Where a key's slot is, or would be: the first free one on its way. */
static size_t map_slot_of(const struct map *m, str key, uint64_t hash)
{
    size_t mask = m->slot_count - 1, at = (size_t)hash & mask;

    assert(m->used < m->slot_count);
    for (; m->slots[at] != 0; at = (at + 1) & mask) {
        assert_slow(m->slots[at] <= m->used);
        const struct map_entry *i = &m->entries[m->slots[at] - 1];

        if (!i->removed && i->hash == hash && str_eq(i->key, key))
            break;
    }
    return at;
}

/* `at` is the slot of a key that is not in the map. */
static void map_place(struct map *m, size_t at, struct map_entry entry)
{
    assert(m->slots);
    assert(!entry.removed);
    assert(m->slots[at] == 0 && m->used < m->cap);
    m->entries[m->used++] = entry;
    m->slots[at] = (uint32_t)m->used;
}

/* Makes room for one more entry: twice the current number, so that the next rebuild is as far away
 * as this one was. */
static void map_rebuild_table(struct map *m)
{
    struct map_entry *old = m->entries;
    size_t old_used = m->used;

    assert(m->count <= m->used && m->count < m->count_max);
    m->slot_count = SLOT_COUNT_MIN;
    while (m->slot_count / 4 * 3 < (m->count + 1) * 3 / 2)
        m->slot_count *= 2;
    assert(m->slot_count <= UINT32_MAX);
    m->cap = m->slot_count / 4 * 3;
    m->used = 0;
    m->entries = base_alloc(m->cap * sizeof *m->entries);
    free(m->slots);
    m->slots = base_alloc(m->slot_count * sizeof *m->slots);
    memset(m->slots, 0, m->slot_count * sizeof *m->slots);
    for (size_t i = 0; i < old_used; i++)
        if (!old[i].removed)
            map_place(m, map_slot_of(m, old[i].key, old[i].hash), old[i]);
    free(old);
    assert(m->used == m->count && m->used < m->cap);
}

bool map_set(struct map *m, str key, union map_value value, struct err *e)
{
    uint64_t hash;
    size_t at = 0;

    if (!m->slots) /* many maps stay empty, and the system takes a while for each seed */
        rand_os(m->seed, sizeof m->seed);
    hash = map_hash(m->seed, key);
    if (m->slots) {
        at = map_slot_of(m, key, hash);
        if (m->slots[at] != 0) {
            m->entries[m->slots[at] - 1].value = value;
            return true;
        }
    }
    assert(m->count <= m->used && m->count <= m->count_max);
    if (m->count == m->count_max)
        return err_set(e, ERR_LIMIT, "more than %zu names", m->count_max);
    if (m->used == m->cap) {
        map_rebuild_table(m);
        at = map_slot_of(m, key, hash);
    }
    if (m->keys)
        key = arena_dup(m->keys, key);
    map_place(m, at, (struct map_entry){.key = key, .value = value, .hash = hash});
    m->count++;
    return true;
}

struct map_entry *map_find(const struct map *m, str key)
{
    size_t at;

    assert(m->count <= m->used);
    if (m->count == 0)
        return NULL;
    at = map_slot_of(m, key, map_hash(m->seed, key));
    return m->slots[at] != 0 ? &m->entries[m->slots[at] - 1] : NULL;
}

void *map_find_ptr(const struct map *m, str key)
{
    const struct map_entry *found = map_find(m, key);

    return found ? found->value.ptr : NULL;
}

bool map_remove(struct map *m, str key)
{
    struct map_entry *found = map_find(m, key);

    if (!found)
        return false;
    assert(!found->removed && m->count > 0);
    found->removed = true;
    m->count--;
    return true;
}

size_t map_count(const struct map *m)
{
    return m->count;
}

struct map_entry *map_next(const struct map *m, const struct map_entry *after)
{
    size_t at = after ? (size_t)(after - m->entries) + 1 : 0;

    assert(at <= m->used); /* of this map, and nothing was set since it was found */
    while (at < m->used && m->entries[at].removed)
        at++;
    return at < m->used ? &m->entries[at] : NULL;
}
