/* data.c - see data.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/data.h"

#include "base/utf8.h"

#define MARK AGENT_DATA_MARK

/* Whether the text begins with one of our marks, in any spelling that a model might accept. */
static bool agent_data_is_mark(str s)
{
    str rest = str_trim(str_slice(s, 1, s.n < 64 ? s.n : 64));

    assert(s.n > 0);
    if (rest.n && rest.p[0] == '/')
        rest = str_trim(str_slice(rest, 1, rest.n));
    return rest.n >= sizeof MARK - 1 && strncasecmp(rest.p, MARK, sizeof MARK - 1) == 0;
}

void agent_data_write(struct buf *out, const char *name, str text, size_t size_max)
{
    str front = size_max ? utf8_cut_size(text, size_max) : text;
    size_t from = 0;

    buf_printf(out, "<" MARK " name=\"%s\">\n", name);
    for (size_t i = 0; i < front.n; i++)
        if (front.p[i] == '<' && agent_data_is_mark(str_slice(front, i, front.n))) {
            buf_add(out, str_slice(front, from, i));
            buf_add(out, STR("&lt;"));
            from = i + 1;
        }
    buf_add(out, str_slice(front, from, front.n));
    if (front.n < text.n)
        buf_printf(
            out, "\n[cut: %zu of %zu bytes are shown; the whole is on record]", front.n, text.n);
    buf_add(out, STR("\n</" MARK ">\n"));
}

size_t agent_data_share(const size_t *sizes, size_t n, size_t total)
{
    size_t low = 0, high = total;

    while (low < high) {
        size_t mid = low + (high - low + 1) / 2, sum = 0;

        for (size_t i = 0; i < n && sum <= total; i++)
            sum += sizes[i] < mid ? sizes[i] : mid;
        if (sum <= total)
            low = mid;
        else
            high = mid - 1;
    }
    assert(low == high && low <= total);
    return low;
}
