/* Messages of a viewer are read, or refused with a code and a sentence; a query string is decoded
 * to its end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/ask.h"

#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = {size ? (const char *)data : "", size}, query = text, name, value;
    const char *code = NULL;
    struct ask_value v;
    struct ask ask;
    size_t seen = 0;
    struct err e;

    e.text[0] = '\0';
    if (ask_parse(text, &ask, &code, &e))
        assert(ask.kind == ASK_PING || (ask.channel_size && utf8_valid(ask_channel(&ask))));
    else
        assert(code && e.text[0] != '\0');
    while (ask_query_next(&query, &name, &value)) {
        assert(name.n + value.n > 0 || seen < size);
        seen += name.n + value.n;
        if (ask_unescape(value, &v))
            assert(v.size <= value.n && utf8_valid((str){v.text, v.size}));
    }
    assert(seen <= size);
    return 0;
}
