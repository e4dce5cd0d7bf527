/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"
#include "store/word_pages.h"
#include "store/words.h"
#include "test.h"

#define PAGES_MAX 256

/* A segment as stored in a database. */
struct segment {
    size_t n;
    uint64_t first[PAGES_MAX];
    str pages[PAGES_MAX];
};

/* Reference implementation: one row per key. */
struct table {
    size_t n;
    struct {
        uint64_t key;
        struct word_blocks blocks;
    } rows[6000];
};

static bool keep_page(void *to, uint64_t first_key, str page, struct err *e)
{
    struct segment *s = to;
    char *copy = malloc(page.n); /* exact size: a sanitizer detects an overread */

    (void)e;
    CHECK(s->n < PAGES_MAX && page.n <= WORD_PAGES_SIZE_MAX);
    memcpy(copy, page.p, page.n);
    s->first[s->n] = first_key;
    s->pages[s->n++] = (str){copy, page.n};
    return true;
}

static bool refuse_page(void *to, uint64_t first_key, str page, struct err *e)
{
    (void)to;
    (void)first_key;
    (void)page;
    return err_set(e, ERR_SYSTEM, "disk full");
}

static void drop_segment(struct segment *s)
{
    for (size_t i = 0; i < s->n; i++)
        free((char *)(uintptr_t)s->pages[i].p);
    s->n = 0;
}

/* Searches as word_pages.h describes it. */
static struct word_blocks find_in_segment(const struct segment *s, uint64_t lo, uint64_t hi)
{
    struct word_blocks out = {{0}};
    struct err e;
    size_t i = 0;

    while (i + 1 < s->n && s->first[i + 1] <= lo)
        i++;
    for (; i < s->n && s->first[i] <= hi; i++)
        CHECK_F(word_pages_find(s->pages[i], lo, hi, &out, &e), "%s", e.text);
    return out;
}

static struct word_blocks find_in_table(const struct table *t, uint64_t lo, uint64_t hi)
{
    struct word_blocks out = {{0}};

    for (size_t i = 0; i < t->n; i++)
        if (t->rows[i].key >= lo && t->rows[i].key <= hi)
            for (size_t k = 0; k < COUNT_OF(out.bits); k++)
                out.bits[k] |= t->rows[i].blocks.bits[k];
    return out;
}

static void check_same(const struct segment *s, const struct table *t, uint64_t lo, uint64_t hi)
{
    struct word_blocks got = find_in_segment(s, lo, hi), want = find_in_table(t, lo, hi);

    CHECK(memcmp(&got, &want, sizeof got) == 0);
}

static void check_segment(const struct segment *s, const struct table *t, struct rand *r)
{
    check_same(s, t, 0, WORDS_KEY_MAX);
    check_same(s, t, 0, 0);
    check_same(s, t, WORDS_KEY_MAX, WORDS_KEY_MAX);
    for (size_t i = 0; i < t->n; i += 1 + t->n / 200) {
        uint64_t key = t->rows[i].key, width = rand_u64(r) >> (26 + rand_below(r, 38));

        check_same(s, t, key, key);
        check_same(s, t, key + 1, key + width);
        check_same(s, t, key > width ? key - width : 0, key - 1);
    }
    for (size_t i = 0; i < s->n; i++)
        check_same(s, t, s->first[i] - 1, s->first[i]);
}

/* Ascending keys with small and large gaps; few blocks or many. */
static void fill_table(struct table *t, size_t n, unsigned blocks, struct rand *r)
{
    uint64_t key = 0;

    t->n = 0;
    while (t->n < n) {
        size_t some = rand_below(r, 4) ? 1 : 1 + rand_below(r, blocks);

        key += 1 + (rand_u64(r) >> (36 + rand_below(r, 28)));
        if (key > WORDS_KEY_MAX)
            return;
        t->rows[t->n].key = key;
        t->rows[t->n].blocks = (struct word_blocks){{0}};
        while (some-- > 0)
            word_blocks_set(&t->rows[t->n].blocks, (unsigned)rand_below(r, blocks));
        t->n++;
    }
}

static void write_segment(struct segment *s, const struct table *t, unsigned blocks)
{
    struct word_pages_writer w;
    struct err e;

    s->n = 0;
    word_pages_begin(&w, blocks, keep_page, s);
    for (size_t i = 0; i < t->n; i++)
        CHECK(word_pages_add(&w, t->rows[i].key, &t->rows[i].blocks, &e));
    CHECK(word_pages_finish(&w, &e));
}

static struct table table;
static struct segment segment;

TEST(pages_of_any_segment_give_back_what_was_written)
{
    static const unsigned blocks[] = {1, 2, 7, 8, 9, 16, 17, 63, 64, 65, 255, 256};
    static const size_t sizes[] = {0, 1, 2, 100, 6000};
    struct rand r;

    rand_init(&r, 3);
    for (size_t b = 0; b < COUNT_OF(blocks); b++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            fill_table(&table, sizes[i], blocks[b], &r);
            write_segment(&segment, &table, blocks[b]);
            CHECK((segment.n > 0) == (table.n > 0));
            check_segment(&segment, &table, &r);
            drop_segment(&segment);
        }
}

TEST(pages_hold_the_largest_and_the_smallest_keys)
{
    static const unsigned blocks[] = {1, 16, 256};

    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        struct rand r;

        rand_init(&r, 1);
        table.n = 3;
        table.rows[0].key = 0;
        table.rows[1].key = 1;
        table.rows[2].key = WORDS_KEY_MAX;
        for (size_t k = 0; k < 3; k++) {
            table.rows[k].blocks = (struct word_blocks){{0}};
            word_blocks_set(&table.rows[k].blocks, blocks[i] - 1);
        }
        write_segment(&segment, &table, blocks[i]);
        CHECK_INT(segment.first[0], 0);
        check_same(&segment, &table, 0, 0);
        check_same(&segment, &table, 2, WORDS_KEY_MAX - 1);
        check_same(&segment, &table, WORDS_KEY_MAX, WORDS_KEY_MAX);
        drop_segment(&segment);
    }
}

TEST(pages_of_one_block_cost_the_keys_alone)
{
    uint64_t keys[1000];
    struct err e;

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        keys[i] = (i + 1) * 100;
    segment.n = 0;
    CHECK(word_pages_write_block(keys, COUNT_OF(keys), keep_page, &segment, &e));
    CHECK(segment.n == 1 && segment.pages[0].n == 6 + COUNT_OF(keys));
    drop_segment(&segment);
    CHECK(word_pages_write_block(keys, 0, keep_page, &segment, &e) && segment.n == 0);
}

TEST(a_key_without_blocks_is_not_written)
{
    const struct word_blocks none = {{0}};
    struct word_pages_writer w;
    struct err e;

    segment.n = 0;
    word_pages_begin(&w, 16, keep_page, &segment);
    CHECK(word_pages_add(&w, 5, &none, &e) && word_pages_finish(&w, &e) && segment.n == 0);
}

TEST(a_page_that_is_refused_ends_the_writing)
{
    const struct word_blocks first = {{1}};
    struct word_pages_writer w;
    struct err e;
    uint64_t key = 0;

    word_pages_begin(&w, 1, refuse_page, NULL);
    while (key < 10000 && word_pages_add(&w, key, &first, &e))
        key++;
    CHECK(key > 1000 && key < 10000);
    CHECK_STR(str_c(e.text), "disk full");
    word_pages_begin(&w, 1, refuse_page, NULL);
    CHECK(word_pages_add(&w, 1, &first, &e) && !word_pages_finish(&w, &e));
}

/* A changed or truncated page gives an error and no results. */
TEST(pages_that_are_cut_or_changed_are_told_from_good_ones)
{
    static const unsigned blocks[] = {1, 16, 256};
    const struct word_blocks none = {{0}};
    struct rand r;

    rand_init(&r, 11);
    for (size_t b = 0; b < COUNT_OF(blocks); b++) {
        struct word_blocks out = {{0}};
        struct err e;
        char *bytes;
        size_t n;

        fill_table(&table, 150, blocks[b], &r);
        write_segment(&segment, &table, blocks[b]);
        CHECK_INT(segment.n, 1);
        n = segment.pages[0].n;
        bytes = (char *)(uintptr_t)segment.pages[0].p;
        for (size_t cut = 0; cut < n; cut++) {
            char *front = malloc(cut + 1);

            memcpy(front, bytes, cut);
            CHECK(!word_pages_find((str){front, cut}, 0, WORDS_KEY_MAX, &out, &e));
            CHECK(e.text[0] && memcmp(&out, &none, sizeof out) == 0);
            free(front);
        }
        for (size_t bit = 0; bit < 8 * n; bit++) {
            bytes[bit / 8] ^= (char)(1 << bit % 8);
            CHECK(!word_pages_find(segment.pages[0], 0, WORDS_KEY_MAX, &out, &e));
            CHECK(e.text[0] && memcmp(&out, &none, sizeof out) == 0);
            bytes[bit / 8] ^= (char)(1 << bit % 8);
        }
        CHECK(word_pages_find(segment.pages[0], 0, WORDS_KEY_MAX, &out, &e));
        drop_segment(&segment);
    }
}

static void merge_tables(struct table *into, const struct table *from, unsigned offset)
{
    static struct table sum;
    size_t i = 0, k = 0;

    sum.n = 0;
    while (i < into->n || k < from->n) {
        bool left = k == from->n || (i < into->n && into->rows[i].key <= from->rows[k].key);
        bool right = i == into->n || (k < from->n && from->rows[k].key <= into->rows[i].key);
        size_t at = sum.n++;

        CHECK(at < COUNT_OF(sum.rows));
        sum.rows[at].blocks = (struct word_blocks){{0}};
        if (left) {
            sum.rows[at] = into->rows[i];
            i++;
        }
        if (right) {
            sum.rows[at].key = from->rows[k].key;
            for (unsigned b = 0; b + offset < WORD_PAGES_BLOCKS_MAX; b++)
                if (word_blocks_has(&from->rows[k].blocks, b))
                    word_blocks_set(&sum.rows[at].blocks, b + offset);
            k++;
        }
    }
    *into = sum;
}

TEST(a_merge_has_the_blocks_of_all_segments)
{
    static const struct {
        unsigned segments, blocks;
    } cases[] = {{0, 1}, {1, 1}, {2, 1}, {16, 1}, {16, 16}, {3, 5}, {16, 7}, {2, 128}, {1, 256}};
    static struct segment parts[WORD_PAGES_MERGE_MAX];
    static struct table one;
    struct rand r;

    rand_init(&r, 23);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct word_pages_source sources[WORD_PAGES_MERGE_MAX] = {{0}};
        unsigned n = cases[c].segments, blocks = cases[c].blocks;
        struct word_pages_writer w;
        struct err e;

        table.n = 0;
        for (unsigned i = 0; i < n; i++) {
            fill_table(&one, i == 3 ? 0 : 5000 / n, blocks, &r);
            /* Makes some keys equal. */
            for (size_t k = 0; k < one.n && k < table.n && rand_below(&r, 20); k++)
                one.rows[k].key = table.rows[k].key;
            for (size_t k = 1; k < one.n; k++)
                if (one.rows[k].key <= one.rows[k - 1].key)
                    one.rows[k].key = one.rows[k - 1].key + 1;
            write_segment(&parts[i], &one, blocks);
            merge_tables(&table, &one, i * blocks);
            sources[i] = (struct word_pages_source){parts[i].pages, parts[i].n, i * blocks, NULL};
        }
        segment.n = 0;
        word_pages_begin(&w, n ? n * blocks : 1, keep_page, &segment);
        CHECK_F(word_pages_merge(sources, n, &w, &e), "%s", e.text);
        check_segment(&segment, &table, &r);
        drop_segment(&segment);
        for (unsigned i = 0; i < n; i++)
            drop_segment(&parts[i]);
    }
}

TEST(a_merge_replaces_the_words_of_one_block)
{
    static struct segment all, block, merged;
    struct word_pages_source sources[2];
    struct word_blocks without = {{0}}, found;
    const uint64_t keys[] = {20, 40};
    struct word_pages_writer w;
    struct err e;

    table.n = 3;
    for (size_t i = 0; i < 3; i++) {
        table.rows[i].key = 10 * (i + 1);
        table.rows[i].blocks = (struct word_blocks){{0}};
        word_blocks_set(&table.rows[i].blocks, 5);
    }
    word_blocks_set(&table.rows[1].blocks, 9);
    write_segment(&all, &table, 16);
    CHECK(word_pages_write_block(keys, 2, keep_page, &block, &e));
    word_blocks_set(&without, 5);
    sources[0] = (struct word_pages_source){all.pages, all.n, 0, &without};
    sources[1] = (struct word_pages_source){block.pages, block.n, 5, NULL};
    word_pages_begin(&w, 16, keep_page, &merged);
    CHECK(word_pages_merge(sources, 2, &w, &e));
    CHECK_INT(merged.first[0], 20); /* dropped: a key of the replaced block alone */
    found = find_in_segment(&merged, 20, 20);
    CHECK(found.bits[0] == (1 << 5 | 1 << 9));
    found = find_in_segment(&merged, 30, 30);
    CHECK(found.bits[0] == 0);
    found = find_in_segment(&merged, 40, 40);
    CHECK(found.bits[0] == 1 << 5);
    drop_segment(&all);
    drop_segment(&block);
    drop_segment(&merged);
}

TEST(a_merge_of_damaged_pages_fails)
{
    static struct segment parts;
    struct word_pages_source source;
    struct word_pages_writer w;
    struct rand r;
    struct err e;
    str swap;

    rand_init(&r, 2);
    fill_table(&table, 6000, 16, &r);
    write_segment(&parts, &table, 16);
    CHECK(parts.n > 2);
    source = (struct word_pages_source){parts.pages, parts.n, 0, NULL};
    segment.n = 0;
    word_pages_begin(&w, 15, keep_page, &segment);
    CHECK(!word_pages_merge(&source, 1, &w, &e));
    CHECK_STR(str_c(e.text), "a page of the word index covers too many blocks");
    drop_segment(&segment);
    swap = parts.pages[0];
    parts.pages[0] = parts.pages[1];
    parts.pages[1] = swap;
    word_pages_begin(&w, 16, keep_page, &segment);
    CHECK(!word_pages_merge(&source, 1, &w, &e));
    CHECK_STR(str_c(e.text), "the pages of the word index are out of order");
    drop_segment(&segment);
    ((char *)(uintptr_t)parts.pages[0].p)[100] ^= 1;
    word_pages_begin(&w, 16, keep_page, &segment);
    CHECK(!word_pages_merge(&source, 1, &w, &e));
    CHECK_STR(str_c(e.text), "a page of the word index has a wrong checksum");
    drop_segment(&segment);
    drop_segment(&parts);
}

TEST_MAIN(T(pages_of_any_segment_give_back_what_was_written),
          T(pages_hold_the_largest_and_the_smallest_keys),
          T(pages_of_one_block_cost_the_keys_alone), T(a_key_without_blocks_is_not_written),
          T(a_page_that_is_refused_ends_the_writing),
          T(pages_that_are_cut_or_changed_are_told_from_good_ones),
          T(a_merge_has_the_blocks_of_all_segments), T(a_merge_replaces_the_words_of_one_block),
          T(a_merge_of_damaged_pages_fails))
