/* A page of arbitrary bytes with a valid checksum is refused, or keeps its meaning in a merge. The
 * first byte is the distance by which blocks are moved; the rest is the page after its checksum.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/crc32c.h"
#include "store/word_pages.h"
#include "store/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool find_again(void *to, uint64_t first_key, str page, struct err *e)
{
    struct word_blocks before = *(struct word_blocks *)to;

    assert(first_key <= WORDS_KEY_MAX && page.n <= WORD_PAGES_SIZE_MAX);
    if (first_key > 0) {
        bool ok = word_pages_find(page, 0, first_key - 1, to, e);

        assert(ok && memcmp(&before, to, sizeof before) == 0);
    }
    return word_pages_find(page, first_key, WORDS_KEY_MAX, to, e);
}

static void check_merge(str page, unsigned offset, const struct word_blocks *found, bool good)
{
    struct word_blocks merged = {{0}};
    struct word_pages_source source = {.pages = &page, .n = 1, .offset = offset};
    struct word_pages_writer w;
    struct err e;
    bool ok;

    word_pages_begin(&w, WORD_PAGES_BLOCKS_MAX, find_again, &merged);
    ok = word_pages_merge(&source, 1, &w, &e);
    if (!good || offset + (unsigned char)page.p[5] + 1u > WORD_PAGES_BLOCKS_MAX) {
        assert(!ok && e.text[0]);
        return;
    }
    assert(ok);
    for (unsigned b = 0; b < WORD_PAGES_BLOCKS_MAX; b++)
        assert(word_blocks_has(&merged, b) == (b >= offset && word_blocks_has(found, b - offset)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct word_blocks found = {{0}}, none = {{0}};
    struct err e;
    uint32_t crc;
    char *page;
    bool good;
    str bytes;

    if (size < 1 || size + 3 > WORD_PAGES_SIZE_MAX)
        return 0;
    page = base_alloc(size + 3); /* exact: sanitizers see a read past it */
    bytes = (str){page, size + 3};
    memcpy(page + 4, data + 1, size - 1);
    crc = htole32(crc32c(0, str_slice(bytes, 4, bytes.n)));
    memcpy(page, &crc, sizeof crc);
    good = word_pages_find(bytes, 0, WORDS_KEY_MAX, &found, &e);
    if (!good)
        assert(e.text[0] && memcmp(&found, &none, sizeof found) == 0);
    check_merge(bytes, data[0], &found, good);
    free(page);
    return 0;
}
