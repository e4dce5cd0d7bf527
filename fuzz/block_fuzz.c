/* Arbitrary bytes as an entry, as a packed block and as a zstd frame in a block: reading fails with
 * an error, or the result can be written and read again without a change. Then the bytes as texts,
 * requests and entries, which survive writing and reading.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/block.h"

#include <zstd.h>

#define ARENA_MAX ((size_t)4 << 20)
#define ENTRIES_MAX 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void block_fuzz_entry(str bytes)
{
    struct block_texts t, again;
    struct arena a;
    struct buf b;
    struct err e;

    arena_init(&a, (size_t)64 << 20);
    if (!block_entry_get(bytes, &a, &t, &e)) {
        arena_release(&a);
        return;
    }
    /* A text may be a copy of a copy, so each of them may repeat all the bytes at most once. */
    buf_init(&b, (bytes.n + 64) * BLOCK_TEXT_COUNT * BLOCK_TEXT_COUNT);
    block_entry_put(&t, &b);
    assert(!buf_full(&b));
    assert(block_entry_get(buf_str(&b), &a, &again, &e));
    assert(again.request_from.call_n == t.request_from.call_n);
    assert(again.request_from.front == t.request_from.front);
    assert(again.request_from.back == t.request_from.back);
    assert(again.request_from.answer.n == t.request_from.answer.n);
    assert(t.request_from.answer.n == 0 ||
           (again.request_from.answer.at == t.request_from.answer.at &&
            again.request_from.answer.from == t.request_from.answer.from));
    for (size_t i = 0; i < BLOCK_TEXT_COUNT; i++)
        assert(str_eq(again.text[i], t.text[i]));
    buf_release(&b);
    arena_release(&a);
}

static void block_fuzz_open(str packed)
{
    struct block_view v;
    struct arena a;
    struct err e;
    size_t sum = 0;

    arena_init(&a, ARENA_MAX);
    if (block_open(packed, &a, &v, &e)) {
        for (size_t i = 0; i < v.count; i++) {
            sum += block_entry(&v, i).n;
            block_fuzz_entry(block_entry(&v, i));
        }
        assert(sum == v.raw.n && block_entry(&v, v.count).n == 0);
    } else {
        assert(e.code == ERR_SYSTEM || e.code == ERR_LIMIT);
    }
    arena_release(&a);
}

/* The bytes as the raw part of a block, so that a fuzzer gets past the checksum. */
static void block_fuzz_frame(str raw)
{
    size_t bound = ZSTD_compressBound(raw.n), n;
    char *p = base_alloc(1 + bound);

    p[0] = 1;
    n = ZSTD_compress(p + 1, bound, raw.p, raw.n, 1);
    assert(!ZSTD_isError(n));
    block_fuzz_open((str){p, 1 + n});
    free(p);
}

/* Each entry has the size that its first byte names. */
static void block_fuzz_round(str bytes)
{
    str entries[ENTRIES_MAX];
    size_t count = 0;
    struct block_view v;
    struct block b;
    struct arena a;
    struct buf packed;
    struct err e;

    block_init(&b);
    arena_init(&a, ARENA_MAX);
    buf_init(&packed, ARENA_MAX);
    for (size_t at = 0; at < bytes.n && count < ENTRIES_MAX; at += 1 + entries[count++].n) {
        size_t n = (unsigned char)bytes.p[at];

        entries[count] = str_slice(bytes, at + 1, at + 1 + n);
        block_add(&b, entries[count]);
    }
    assert(block_pack(&b, &packed, &e) && block_open(buf_str(&packed), &a, &v, &e));
    assert(v.count == count);
    for (size_t i = 0; i < count; i++)
        assert(str_eq(block_entry(&v, i), entries[i]));
    buf_release(&packed);
    arena_release(&a);
    block_release(&b);
}

static void block_fuzz_delta(str base, str request)
{
    struct block_base from = {base, base};
    struct block_delta d = {0};
    struct arena a;
    struct err e;
    str between, got;

    if (!block_delta_make(base, request, &d, &between))
        return;
    assert(d.front + between.n + d.back == request.n && d.front + d.back <= base.n);
    arena_init(&a, 16 * ARENA_MAX); /* escapes make an answer up to six times as long */
    between = block_quote_make(from.answer, between, &a, &d.answer);
    assert(block_delta_apply(&from, &d, between, &a, &got, &e) && str_eq(got, request));
    arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str bytes = {(const char *)data, size};
    size_t cut;

    if (size < 2 || size > ARENA_MAX / 8)
        return 0;
    block_fuzz_entry(bytes);
    block_fuzz_open(bytes);
    block_fuzz_frame(bytes);
    block_fuzz_round(bytes);
    cut = ((size_t)data[0] << 8 | data[1]) % size;
    block_fuzz_delta(str_slice(bytes, 0, cut), str_slice(bytes, cut, size));
    block_fuzz_delta(str_slice(bytes, 0, size - cut / 2), str_slice(bytes, cut / 4, size));
    return 0;
}
