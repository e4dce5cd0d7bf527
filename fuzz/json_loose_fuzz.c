/* JSON within the text of a model: the extracted text is JSON, and extracting from it again changes
 * nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_loose.h"

#define INPUT_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str s = {(const char *)data, size < INPUT_MAX ? size : INPUT_MAX};
    struct buf once, again;
    struct json doc, strict;
    struct err e;

    buf_init(&once, 8 * INPUT_MAX);
    buf_init(&again, 64 * INPUT_MAX);
    json_init(&doc);
    json_init(&strict);
    if (json_loose(s, NULL, NULL, &once, &e)) {
        assert(json_parse(&doc, buf_str(&once), &e));
        assert(json_loose(buf_str(&once), NULL, NULL, &again, &e));
        assert(str_eq(buf_str(&once), buf_str(&again)));
        /* A text that is JSON from its first byte is extracted unchanged. */
        if (json_parse(&strict, s, &e) && json_root(&strict)->kind >= JSON_ARRAY)
            assert(json_equal(&doc, json_root(&doc), &strict, json_root(&strict)));
    }
    json_release(&doc);
    json_release(&strict);
    buf_release(&once);
    buf_release(&again);
    return 0;
}
