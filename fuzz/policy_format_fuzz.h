/* policy_format_fuzz.h - any bytes as a policy of one format: refused with words, or a sound tree.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/format/format.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void format_check_tree(const struct policy_tree *t)
{
    uint32_t page = 1;

    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct policy_node *n = &t->nodes[i];

        if (!utf8_valid(n->text) || !utf8_valid(n->title) || n->span < 1 ||
            n->span > t->node_count - i || n->start_index < 1 || n->end_index < n->start_index ||
            n->page_count < 1 || n->pages[0].at != 0)
            abort();
        for (uint32_t k = 0; k < n->page_count; k++) {
            if (n->pages[k].page < page || n->pages[k].at > n->text.n)
                abort();
            page = n->pages[k].page;
        }
        page = n->start_index;
    }
}
