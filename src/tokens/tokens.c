/* SPDX-License-Identifier: Apache-2.0 */
#include "tokens/internal.h"

#define LIST_CAP_MIN 64

static struct tokens_vocab_state o200k = {.once = PTHREAD_ONCE_INIT},
                                 cl100k = {.once = PTHREAD_ONCE_INIT};

static void tokens_unpack_o200k(void)
{
    tokens_unpack(&tokens_packed_o200k, &o200k);
    atomic_store_explicit(&o200k.ready, true, memory_order_release);
}

static void tokens_unpack_cl100k(void)
{
    tokens_unpack(&tokens_packed_cl100k, &cl100k);
    atomic_store_explicit(&cl100k.ready, true, memory_order_release);
}

static const struct tokens_vocab vocabs[] = {
    {"o200k_base",
     &tokens_packed_o200k,
     &o200k.table,
     &o200k,
     tokens_unpack_o200k,
     tokens_split_o200k,
     true},
    {"cl100k_base",
     &tokens_packed_cl100k,
     &cl100k.table,
     &cl100k,
     tokens_unpack_cl100k,
     tokens_split_cl100k,
     false},
};

void tokens_vocab_unpack(const struct tokens_vocab *v)
{
    (void)pthread_once(&v->state->once, v->unpack);
    assert(atomic_load_explicit(&v->state->ready, memory_order_relaxed));
}

const struct tokens_vocab *tokens_vocab_find(str name)
{
    for (size_t i = 0; i < COUNT_OF(vocabs); i++)
        if (str_eq(name, str_c(vocabs[i].name)))
            return &vocabs[i];
    return NULL;
}

const struct tokens_vocab *tokens_vocab_at(size_t index)
{
    return index < COUNT_OF(vocabs) ? &vocabs[index] : NULL;
}

str tokens_vocab_name(const struct tokens_vocab *v)
{
    return str_c(v->name);
}

size_t tokens_count_valid(const struct tokens_vocab *v, const uint8_t *p, size_t n)
{
    struct tokens_work w = {.vocab = v, .over = true};

    n -= tokens_work(&w, p, n, simd_best());
    assert(n == 0);
    return w.count;
}

size_t tokens_count(const struct tokens_vocab *v, str text)
{
    const uint8_t *p = (const uint8_t *)text.p;
    struct tokens_windows windows;
    struct tokens_counter c;
    size_t bad;
    bool cut;

    tokens_vocab_need(v);
    if (tokens_utf8(p, text.n, &bad, &cut) == text.n)
        return tokens_count_valid(v, p, text.n);
    tokens_counter_init(&c, v, &windows);
    tokens_counter_feed(&c, text);
    return tokens_counter_count(&c);
}

void tokens_list_init(struct tokens_list *l, size_t count_max)
{
    *l = (struct tokens_list){.count_max = count_max};
}

void tokens_list_release(struct tokens_list *l)
{
    free(l->ids);
    tokens_list_init(l, l->count_max);
}

/* Makes room for n more, even beyond the limit, because fewer may be written. */
static void tokens_list_room(struct tokens_list *l, size_t n)
{
    size_t cap = l->cap;

    assert(l->n <= l->cap);
    if (l->ids && n <= cap - l->n)
        return;
    do
        cap = cap < LIST_CAP_MIN ? LIST_CAP_MIN : cap * 2;
    while (cap - l->n < n);
    l->ids = base_realloc(l->ids, cap * sizeof *l->ids);
    l->cap = cap;
}

/* Appends the ids of one piece; there must be room for one id for each byte. */
static void encode_piece(const struct tokens_vocab *v, struct tokens_piece x,
                         struct tokens_seen *seen, struct tokens_list *out)
{
    size_t count = tokens_piece_ids(v->table, x, seen, out->ids + out->n);

    assert(count > 0 && count <= x.n);
    assert(out->n <= out->count_max);
    if (count > out->count_max - out->n)
        out->full = true;
    else
        out->n += count;
}

static void encode_valid(const struct tokens_vocab *v, const uint8_t *p, size_t n,
                         struct tokens_list *out)
{
    struct tokens_seen table[1 << TOKENS_SEEN_BITS], *seen = n < TOKENS_SEEN_MIN ? NULL : table;

    if (seen)
        memset(table, 0, sizeof table);
    for (size_t at = 0; at < n && !out->full;) {
        uint64_t ends = tokens_ends(p + at, n - at, v->cased, simd_best());
        size_t from = at, size;

        if (ends) {
            tokens_list_room(out, TOKENS_BLOCK);
        } else {
            size = v->split(p + at, n - at, true);
            assert(size > 0 && size <= n - at);
            tokens_list_room(out, size);
            encode_piece(v, (struct tokens_piece){p + at, size, n - at}, seen, out);
            from += size;
        }
        for (; ends && !out->full; ends &= ends - 1) {
            size = at + (size_t)__builtin_ctzll(ends) - from;
            encode_piece(v, (struct tokens_piece){p + from, size, n - from}, seen, out);
            from += size;
        }
        at = from;
    }
}

void tokens_encode(const struct tokens_vocab *v, str text, struct tokens_list *out)
{
    const uint8_t *p = (const uint8_t *)text.p;
    size_t n = text.n, bad, valid;
    struct buf mended;
    bool cut;

    tokens_vocab_need(v);
    valid = tokens_utf8(p, n, &bad, &cut);
    if (valid == n) {
        encode_valid(v, p, n, out);
        return;
    }
    buf_init(&mended, n * (sizeof TOKENS_REPLACEMENT - 1));
    while (n > 0) {
        buf_add(&mended, (str){(const char *)p, valid});
        if (bad)
            buf_add(&mended, STR(TOKENS_REPLACEMENT));
        p += valid + bad;
        n -= valid + bad;
        valid = tokens_utf8(p, n, &bad, &cut);
    }
    assert(!buf_full(&mended));
    encode_valid(v, (const uint8_t *)mended.p, mended.n, out);
    buf_release(&mended);
}

bool tokens_decode(const struct tokens_vocab *v, const uint32_t *ids, size_t n, struct buf *out,
                   struct err *e)
{
    tokens_vocab_need(v);
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= v->packed->count)
            return err_input(e, "%s has no token %u", v->name, (unsigned)ids[i]);
    for (size_t i = 0; i < n; i++) {
        uint64_t info = v->table->info[ids[i]];
        const uint8_t *p = v->table->bytes + tokens_info_at(info);

        buf_add(out, (str){(const char *)p, tokens_info_size(info)});
    }
    return buf_ok(out, "decoded text", e);
}
