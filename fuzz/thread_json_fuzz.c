/* Checkpoints, writes and updates from a client: accepted input can be written again, as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/thread_json.h"

#define OUT_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_json(void (*write)(struct json_out *, const struct thread_tuple *),
                         const struct thread_tuple *t)
{
    struct json_out o;
    struct json doc;
    struct buf out;
    struct err e;

    buf_init(&out, OUT_MAX);
    json_init(&doc);
    json_out_init(&o, &out);
    write(&o, t);
    assert(json_out_ok(&o, &e) && json_parse(&doc, buf_str(&out), &e));
    json_release(&doc);
    buf_release(&out);
}

static struct thread_tuple empty(void)
{
    return (struct thread_tuple){.thread = STR("t"), .ns = STR(""), .id = STR("c")};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = {(const char *)data, size};
    struct thread_tuple put = empty(), writes = empty();
    struct thread_update update = {.thread = STR("t"), .ns = STR("")};
    struct json doc;
    struct arena a;
    struct err e;

    if (size > 4096)
        return 0;
    json_init(&doc);
    arena_init(&a, ((size_t)1 << 20) + 2 * size);
    if (json_parse(&doc, text, &e)) {
        if (thread_json_put(&doc, &a, &put, &e)) {
            must_be_json(thread_json_tuple, &put);
            must_be_json(thread_json_state, &put);
        } else {
            assert(e.text[0]);
        }
        if (!thread_json_writes(&doc, &a, &writes, &e))
            assert(e.text[0]);
        if (!thread_json_update(&doc, &a, &update, &e))
            assert(e.text[0]);
    }
    arena_release(&a);
    json_release(&doc);
    return 0;
}
