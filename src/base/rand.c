/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"

#include "base/ctype.h"

#include <errno.h>
#include <sys/random.h>

#define COUNTER_BITS 42
#define COUNTER_MAX (((uint64_t)1 << COUNTER_BITS) - 1)
#define MS_MAX (((uint64_t)1 << 48) - 1)

void rand_os(void *bytes, size_t size)
{
    char *p = bytes;

    while (size > 0) {
        ssize_t n = getrandom(p, size, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            base_die("getrandom: no randomness from the system");
        p += n;
        size -= (size_t)n;
    }
}

/* splitmix64: spreads a seed, even a small one, over the whole state. */
static uint64_t rand_spread(uint64_t *x)
{
    uint64_t z = *x += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void rand_init(struct rand *r, uint64_t seed)
{
    for (size_t i = 0; i < COUNT_OF(r->s); i++)
        r->s[i] = rand_spread(&seed);
}

void rand_init_os(struct rand *r)
{
    uint64_t seed;

    rand_os(&seed, sizeof seed);
    rand_init(r, seed);
}

uint64_t rand_u64(struct rand *r)
{
    uint64_t *s = r->s, out = rand_rotate(s[1] * 5, 7) * 9, shifted = s[1] << 17;

    assert(s[0] | s[1] | s[2] | s[3]); /* all zero would stay zero: rand_init was not called */
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rand_rotate(s[3], 45);
    return out;
}

/* 2^64 is rarely a multiple of n, so the first 2^64 mod n values are skipped; the number of the
 * others is a multiple. */
uint64_t rand_below(struct rand *r, uint64_t n)
{
    uint64_t x;

    assert(n > 0);
    do
        x = rand_u64(r);
    while (x < -n % n);
    return x % n;
}

void rand_ids_init(struct rand_ids *ids, const struct clock *clock)
{
    memset(ids, 0, sizeof *ids);
    ids->clock = clock;
    if (pthread_mutex_init(&ids->lock, NULL) != 0)
        base_die("pthread_mutex_init");
}

void rand_ids_release(struct rand_ids *ids)
{
    pthread_mutex_destroy(&ids->lock);
}

/* One system call provides random bytes for many ids; used bytes are erased. */
static void rand_from_pool(struct rand_ids *ids, void *out, size_t size)
{
    unsigned char *p;

    assert(size <= sizeof ids->pool);
    assert(ids->left <= sizeof ids->pool);
    if (ids->left < size) {
        rand_os(ids->pool, sizeof ids->pool);
        ids->left = sizeof ids->pool;
    }
    p = ids->pool + ids->left - size;
    memcpy(out, p, size);
    memset(p, 0, size);
    ids->left -= size;
}

/* Later than the last id in any case: by the clock if it moved on, else by the counter, else by
 * borrowing a millisecond. The counter begins in its lower half, so that there is room above. */
static void rand_step(struct rand_ids *ids, int64_t now)
{
    uint64_t ms = now < 0 ? 0 : (uint64_t)now & MS_MAX;

    if (ms <= ids->ms && ids->counter < COUNTER_MAX) {
        ids->counter++;
        return;
    }
    ids->ms = ms > ids->ms ? ms : ids->ms + 1;
    rand_from_pool(ids, &ids->counter, sizeof ids->counter);
    ids->counter &= COUNTER_MAX >> 1;
    assert(ids->counter <= COUNTER_MAX);
}

/* "01234567-89ab-7cde-8f01-23456789abcd" */
static void rand_format_id(uint64_t high, uint64_t low, char out[RAND_ID_SIZE])
{
    static const struct {
        uint8_t from, to, size;
    } groups[] = {{0, 0, 8}, {8, 9, 4}, {12, 14, 4}, {16, 19, 4}, {20, 24, 12}};
    char digits[32], *p = digits;

    p = str_put_hex(p, (uint32_t)(high >> 32));
    p = str_put_hex(p, (uint32_t)high);
    p = str_put_hex(p, (uint32_t)(low >> 32));
    str_put_hex(p, (uint32_t)low);
    memset(out, '-', RAND_ID_SIZE - 1);
#pragma GCC unroll 5
    for (size_t i = 0; i < COUNT_OF(groups); i++)
        memcpy(out + groups[i].to, digits + groups[i].from, groups[i].size);
    out[RAND_ID_SIZE - 1] = '\0';
}

bool rand_is_id(str text)
{
    static const char shape[] = "xxxxxxxx-xxxx-7xxx-xxxx-xxxxxxxxxxxx";

    if (text.n != RAND_ID_SIZE - 1)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (shape[i] == 'x' ? char_lower_hex_value(text.p[i]) < 0 : text.p[i] != shape[i])
            return false;
    return true;
}

str rand_id(struct rand_ids *ids, char out[RAND_ID_SIZE])
{
    return rand_id_at(ids, clock_wall_ms(ids->clock), out);
}

str rand_id_at(struct rand_ids *ids, int64_t wall_ms, char out[RAND_ID_SIZE])
{
    uint64_t ms, counter;
    uint32_t chance;

    pthread_mutex_lock(&ids->lock);
    rand_step(ids, wall_ms);
    rand_from_pool(ids, &chance, sizeof chance);
    ms = ids->ms;
    counter = ids->counter;
    pthread_mutex_unlock(&ids->lock);

    rand_format_id(ms << 16 | 0x7000 | counter >> 30,
                   (0x8000 | (counter >> 16 & 0x3FFF)) << 48 | (counter & 0xFFFF) << 32 | chance,
                   out);
    return (str){out, RAND_ID_SIZE - 1};
}
