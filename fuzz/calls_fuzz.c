/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as tool markup; the first byte picks the style. Each call that is found has
 * a name and a JSON object, and the arena stays within its limit.
 */
#include "base/json.h"
#include "split/calls.h"

static void on_call(void *ctx, const struct split_call *call)
{
    struct json *doc = ctx;
    struct err e;

    assert(call->name.n > 0 && call->name.n <= SPLIT_CALL_NAME_MAX);
    if (!json_parse(doc, call->arguments, &e) || json_root(doc)->kind != JSON_OBJECT)
        base_die("arguments: %s", e.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct json doc;
    str raw;

    if (size == 0)
        return 0;
    raw = (str){(const char *)data + 1, size - 1};
    arena_init(&a, SPLIT_CALLS_ARENA_MAX(raw.n));
    json_init(&doc);
    split_calls(data[0] % SPLIT_CALLS_COUNT,
                data[0] & 0x80 ? STR("functions.f") : STR("python"),
                raw,
                &a,
                (struct split_call_sink){on_call, &doc});
    json_release(&doc);
    arena_release(&a);
    return 0;
}
