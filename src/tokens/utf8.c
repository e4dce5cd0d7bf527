/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include "tokens/internal.h"

size_t tokens_utf8(const uint8_t *p, size_t n, size_t *bad, bool *cut)
{
    str text = {(const char *)p, n};
    size_t valid = utf8_valid_size(text);
    str rest = str_slice(text, valid, n);

    *bad = utf8_bad(rest);
    *cut = rest.n > 0 && utf8_tail(rest) == rest.n;
    return valid;
}
