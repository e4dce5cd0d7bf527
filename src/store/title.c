/* title.c - see title.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/title.h"

#include "base/utf8.h"

#define TITLE_MARK "…"

static str title_line(str asked)
{
    size_t end = str_find(asked, STR("\n"));

    return str_slice(asked, 0, end == STR_NONE ? asked.n : end);
}

str title_of(str asked, char out[TITLE_SIZE])
{
    str line = str_trim(title_line(asked)), kept;
    size_t end;

    if (utf8_cut_count(line, TITLE_COUNT_MAX).n == line.n)
        return line;
    kept = utf8_cut_count(line, TITLE_COUNT_MAX - 1);
    end = kept.n;
    while (end > 0 && line.p[end] != ' ')
        end--;
    if (end > kept.n / 2) /* else the text has no spaces, as Chinese has none, or one long word */
        kept = str_trim(str_slice(kept, 0, end));
    assert(kept.n + sizeof TITLE_MARK - 1 <= TITLE_SIZE);
    memcpy(out, kept.p, kept.n);
    memcpy(out + kept.n, TITLE_MARK, sizeof TITLE_MARK - 1);
    return (str){out, kept.n + sizeof TITLE_MARK - 1};
}

str title_of_earlier_versions(str asked)
{
    return utf8_cut_count(title_line(asked), TITLE_COUNT_MAX);
}
