/* Requests in Chat Completions and /generate: an accepted request can be written, as JSON, and it
 * is still JSON after a plan has changed it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/internal.h"

#define LIMIT ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t find(void *ctx, str id, struct wire_kept *out, size_t n_max)
{
    (void)ctx;
    (void)id;
    if (n_max < 3)
        return 0;
    out[0] = (struct wire_kept){STR("reasoning_content"), STR("\"r\"")};
    out[1] = (struct wire_kept){STR("call.extra_content"), STR("{}")};
    out[2] = (struct wire_kept){STR("thinking"), STR("[{\"type\":\"thinking\"}]")};
    return 3;
}

static void check_plan(const struct wire *w, str body, uint8_t seed)
{
    const struct wire_vault vault = {find, NULL};
    const struct wire_tail tail = {CHAT_ASSISTANT, STR("t"), STR("r"), true, seed & 1};
    struct wire_plan plan = {.model = STR("up"),
                             .set_stream = true,
                             .stream = seed & 2,
                             .want_usage = true,
                             .system_extra = STR("more"),
                             .temperature = STR("1"),
                             .top_p = STR("1"),
                             .max_tokens = STR("5"),
                             .think = (enum wire_think)(seed % 7),
                             .set_level = seed & 4,
                             .level = (enum chat_level)(seed % CHAT_LEVEL_COUNT),
                             .budget_tokens = seed & 8 ? 100 : -1,
                             .drop_reasoning = seed & 16,
                             .merge = STR("{\"chat_template_kwargs\":{\"a\":{\"b\":1}},\"x\":1}"),
                             .tails = &tail,
                             .tail_count = seed & 32 ? 1 : 0,
                             .drop_tools = seed & 64,
                             .vault = &vault,
                             .foreign_kept = seed & 128};
    struct json_edits edits;
    struct json doc, again;
    struct arena a;
    struct buf out;
    struct err e;

    arena_init(&a, LIMIT * 8);
    buf_init(&out, LIMIT);
    json_init(&doc);
    json_init(&again);
    if (json_parse(&doc, body, &e)) {
        json_edits_init(&edits, &doc, &a);
        w->patch(&doc, &plan, &edits);
        json_edits_apply(&edits, &out);
        assert(json_parse(&again, buf_str(&out), &e));
    }
    json_release(&again);
    json_release(&doc);
    buf_release(&out);
    arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct wire *const out[] = {&wire_openai, &wire_mistral};
    struct chat_request r;
    struct arena a;
    struct json doc;
    struct err e;
    str body;

    if (size < 2)
        return 0;
    body = (str){(const char *)data + 2, size - 2};
    arena_init(&a, LIMIT * 4);
    json_init(&doc);
    if (json_parse(&doc, body, &e)) {
        const struct wire *in = data[0] & 1 ? &wire_generate : &wire_openai;

        check_plan(out[(data[0] >> 1) & 1], body, data[1]);
        if (in->read(&doc, &a, &r, &e)) {
            for (size_t i = 0; i < COUNT_OF(out); i++) {
                struct json again;
                struct buf b;

                buf_init(&b, LIMIT);
                json_init(&again);
                out[i]->write(&r, &b);
                assert(json_parse(&again, buf_str(&b), &e));
                check_plan(out[i], buf_str(&b), data[1]);
                json_release(&again);
                buf_release(&b);
            }
        }
    }
    json_release(&doc);
    arena_release(&a);
    return 0;
}
