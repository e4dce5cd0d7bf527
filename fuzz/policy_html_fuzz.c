/* Arbitrary bytes as HTML: if the page has no tag after decoding, its text has none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy_format_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct policy_tree t;
    struct arena a;
    struct err e = {0};

    arena_init(&a, POLICY_ARENA_MAX);
    if (policy_tree_html((str){(const char *)data, size}, STR("n"), &a, &t, &e))
        format_check_tree(&t);
    else if (!e.text[0])
        abort();
    arena_release(&a);
    return 0;
}
