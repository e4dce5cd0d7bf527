/* Arbitrary bytes as the output of pdftotext: the reader of this output is ours, and a hostile PDF
 * chooses its words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy_format_fuzz.h"

#include "apps/policy/format/pdf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str bytes = {(const char *)data, size};
    struct policy_pdf_pages pages = {0};
    struct policy_tree t;
    struct arena a;
    struct err e = {0};

    arena_init(&a, POLICY_ARENA_MAX);
    if (policy_pdf_layout(&(struct policy_pdf){bytes, bytes, STR("n")}, &a, &t, &pages, &e))
        format_check_tree(&t);
    else if (!e.text[0])
        abort();
    if (pages.empty_count > pages.count)
        abort();
    free(pages.empty);
    arena_release(&a);
    return 0;
}
