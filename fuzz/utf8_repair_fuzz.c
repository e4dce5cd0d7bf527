/* Repair of UTF-8: JSON passes unchanged, and a repaired text needs no second repair.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "wire/utf8_repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_json(str s)
{
    struct json doc;
    struct err e;
    bool good;

    json_init(&doc);
    good = json_parse(&doc, s, &e);
    json_release(&doc);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str s = {(const char *)data, size};
    struct utf8_repair m = {.n = 0}, fresh = {.n = 0};
    struct buf once, twice;
    bool mended;

    buf_init(&once, 4 * size + 64);
    buf_init(&twice, 16 * size + 256);
    /* The second piece may begin with the half character that ended the first. */
    (void)utf8_repair_json(&m, str_slice(s, 0, size / 2), true, &once);
    buf_reset(&once);
    mended = utf8_repair_json(&m, str_slice(s, size / 2, size), false, &once);
    assert(!buf_full(&once) && m.n < sizeof m.half);
    if (!mended)
        assert(str_eq(buf_str(&once), str_slice(s, size / 2, size)));
    if (is_json(str_slice(s, size / 2, size)))
        assert(!mended);
    if (is_json(buf_str(&once)))
        assert(!utf8_repair_json(&fresh, buf_str(&once), true, &twice));
    buf_release(&once);
    buf_release(&twice);
    return 0;
}
