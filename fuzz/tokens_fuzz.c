/* Arbitrary bytes, arbitrary cuts: the counter returns the same as the count of the whole text, and
 * the ids decode to the text.
 *
 * The first byte picks the vocabulary, the second the cuts of the rest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens/tokens.h"

#define ASK_SIZE_MAX 200 /* prefixes of longer texts are not counted one by one */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool claim, const char *what)
{
    if (!claim)
        base_die("%s", what);
}

static size_t count_in_pieces(const struct tokens_vocab *v, str text, uint32_t seed, bool ask)
{
    struct tokens_counter c;

    tokens_counter_init(&c, v, &(struct tokens_windows){.whole = {0}});
    for (size_t at = 0; at < text.n;) {
        size_t n;

        seed = seed * 1664525 + 1013904223;
        n = 1 + (seed >> 24) % ((seed >> 16 & 7) ? 5 : 200);
        tokens_counter_feed(&c, str_slice(text, at, at + n));
        at += n;
        if (ask && at < text.n)
            must(tokens_counter_count(&c) == tokens_count(v, str_slice(text, 0, at)), "a prefix");
    }
    return tokens_counter_count(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tokens_vocab *v;
    struct tokens_list ids;
    struct buf back;
    struct err e;
    str text;

    if (size < 2)
        return 0;
    v = tokens_vocab_at(data[0] & 1);
    text = (str){(const char *)data + 2, size - 2};
    tokens_list_init(&ids, size * 3);
    buf_init(&back, size * 3);
    tokens_encode(v, text, &ids);
    must(!ids.full && tokens_count(v, text) == ids.n, "count and encode agree");
    must(count_in_pieces(v, text, data[1], data[0] & 2 && size < ASK_SIZE_MAX) == ids.n,
         "the cuts do not show");
    must(tokens_decode(v, ids.ids, ids.n, &back, &e), "ids decode");
    if (!str_eq(buf_str(&back), text)) {
        size_t n = ids.n;

        /* The text was not UTF-8: its repaired form is, and decodes to itself. */
        must(str_find(buf_str(&back), STR("\xEF\xBF\xBD")) != STR_NONE, "only broken text changes");
        must(tokens_count(v, buf_str(&back)) == n, "the replacement counts the same");
    }
    buf_release(&back);
    tokens_list_release(&ids);
    return 0;
}
