/* unpack.c - the tables of a vocabulary, made of what the binary holds when it is first used.
 *
 * The tables take 6 MB and 3 MB, the packed tokens an eighth of it: the two ids that each token is
 * merged from. Unpacking takes as long as counting a few megabytes of text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/rand.h"
#include "tokens/build.h"
#include "tokens/internal.h"

#include <signal.h>
#include <sys/mman.h>
#include <zlib.h>

#define ALIGN 64

static size_t unpack_size(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* All tables in one piece of memory. */
static struct tokens_build unpack_room(const struct tokens_packed *packed, size_t *size)
{
    struct tokens_build b = {.bits = tokens_build_bits(packed->count)};
    size_t slots = (size_t)1 << b.bits, buckets = slots / 4, n = 0;
    struct {
        void **table;
        size_t size;
    } list[] = {
        {(void **)&b.shorts, buckets * sizeof *b.shorts},
        {(void **)&b.maybe, buckets * sizeof *b.maybe},
        {(void **)&b.words, slots * sizeof *b.words},
        {(void **)&b.info, packed->count * sizeof *b.info},
        {(void **)&b.ends, sizeof *b.ends << TOKENS_ENDS_BITS},
        {(void **)&b.bytes, packed->bytes_size + 8},
        {(void **)&b.single, 256},
        {(void **)&b.twos, sizeof *b.twos << 16},
    };
    char *p;

    for (size_t i = 0; i < COUNT_OF(list); i++)
        n += unpack_size(list[i].size);
    p = base_reserve(n);
    *size = n;
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        *list[i].table = p;
        p += unpack_size(list[i].size);
    }
    memset(b.words, 0xFF, slots * sizeof *b.words);
    for (size_t i = 0; i < buckets; i++)
        memset(b.shorts[i].word, 0xFF, sizeof b.shorts[i].word);
    return b;
}

/* The id at this place of three planes, of `count` bytes each. */
static uint32_t unpack_id(const uint8_t *planes, size_t count, uint32_t id)
{
    return planes[id] | (uint32_t)planes[count + id] << 8 | (uint32_t)planes[2 * count + id] << 16;
}

/* The tokens in the order of their ids, each after the halves that it is merged from. */
static void unpack_tokens(struct tokens_build *b, const struct tokens_packed *packed,
                          const uint8_t *planes)
{
    const uint8_t *lefts = planes, *rights = planes + 3 * (size_t)packed->count;
    uint32_t at = 0;

    for (uint32_t id = 0; id < packed->count; id++) {
        uint32_t left = unpack_id(lefts, packed->count, id), size = 1;
        uint32_t right = unpack_id(rights, packed->count, id);

        if (id < TOKENS_SINGLE) {
            b->bytes[at] = (uint8_t)left;
            left = right = TOKENS_NONE;
        } else {
            uint32_t left_size = tokens_info_size(b->info[left]);

            assert(left < id && right < id);
            size = left_size + tokens_info_size(b->info[right]);
            memcpy(b->bytes + at, b->bytes + tokens_info_at(b->info[left]), left_size);
            memcpy(b->bytes + at + left_size,
                   b->bytes + tokens_info_at(b->info[right]),
                   size - left_size);
        }
        b->info[id] = tokens_info(at, size, left, right);
        tokens_build_add(b, id);
        at += size;
    }
    assert(at == packed->bytes_size);
    tokens_build_twos(b);
}

void tokens_unpack(const struct tokens_packed *packed, struct tokens_vocab_state *out)
{
    size_t planes_size = TOKENS_PLANES * (size_t)packed->count, size;
    uint8_t *planes = base_alloc(planes_size);
    struct tokens_build b = unpack_room(packed, &size);
    uLongf got = planes_size;

    if (uncompress(planes, &got, packed->packed, packed->packed_size) != Z_OK || got != planes_size)
        base_die("a vocabulary in the binary is damaged");
    unpack_tokens(&b, packed, planes);
    free(planes);
    (void)mprotect(b.shorts, size, PROT_READ);
    rand_os(out->memo.seed, sizeof out->memo.seed);
    out->table = (struct tokens_table){.shorts = b.shorts,
                                       .maybe = b.maybe,
                                       .info = b.info,
                                       .ends = b.ends,
                                       .words = b.words,
                                       .twos = b.twos,
                                       .bytes = b.bytes,
                                       .single = b.single,
                                       .count = packed->count,
                                       .bits = b.bits,
                                       .memo = &out->memo};
}

static void *unpack_run(void *ctx)
{
    tokens_vocab_need(ctx);
    return NULL;
}

void tokens_vocab_warm(const struct tokens_vocab *v)
{
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_t thread;

    if (atomic_load_explicit(&v->state->warmed, memory_order_relaxed) ||
        atomic_exchange_explicit(&v->state->warmed, true, memory_order_relaxed))
        return;
    if (pthread_attr_init(&attr) != 0)
        return; /* the first count unpacks */
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    (void)pthread_create(&thread, &attr, unpack_run, (void *)(uintptr_t)v);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
}
