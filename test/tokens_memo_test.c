/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"
#include "tokens/tokens.h"

#define IDS_MAX 64

/* The cache of counts of rare pieces lives as long as the process, so equal cache entries must not
 * mix up words. */
TEST(tokens_of_words_that_differ_in_one_byte_or_in_size_are_not_mixed_up)
{
    static const char set[] = "=>-_*+#~aeQZ";
    char text[17];

    for (size_t n = 1; n < sizeof text; n++)
        for (size_t i = 0; i < sizeof set - 1; i++)
            for (size_t at = 0; at < n * (sizeof set - 1); at++) {
                struct tokens_list l;

                memset(text, set[i], n);
                text[at % n] = set[at / n];
                for (size_t v = 0; v < 2; v++) {
                    tokens_list_init(&l, IDS_MAX);
                    tokens_encode(tokens_vocab_at(v), (str){text, n}, &l);
                    CHECK_INT(tokens_count(tokens_vocab_at(v), (str){text, n}), l.n);
                    tokens_list_release(&l);
                }
            }
}

TEST_MAIN(T(tokens_of_words_that_differ_in_one_byte_or_in_size_are_not_mixed_up))
