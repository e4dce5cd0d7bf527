/* Arbitrary bytes as an OpenAPI document: an error, or operations whose schemas are JSON and whose
 * requests stay on their own path for any arguments. The arguments follow a NUL in the input.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "openapi/openapi.h"

#define HOLDS(claim) ((claim) ? (void)0 : base_die("line %d: %s", __LINE__, #claim))
#define INPUT_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(const struct openapi_operation *op, str arguments)
{
    struct buf target, headers, body;
    struct err e;

    buf_init(&target, 1 << 20);
    buf_init(&headers, 1 << 20);
    buf_init(&body, 1 << 20);
    if (openapi_request(op, arguments, &target, &headers, &body, &e)) {
        str path = buf_str(&target), front = str_slice(op->path, 0, str_find(op->path, STR("{")));

        HOLDS(str_starts(path, front));
        for (size_t i = front.n; i < path.n; i++)
            HOLDS(memchr(op->path.p, path.p[i], op->path.n) || (unsigned char)path.p[i] > ' ');
        HOLDS(headers.n == 0 || str_ends(buf_str(&headers), STR("\r\n")));
    }
    buf_release(&target);
    buf_release(&headers);
    buf_release(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str all = size ? (str){(const char *)data, size < INPUT_MAX ? size : INPUT_MAX} : STR("");
    const char *nul = memchr(all.p, 0, all.n);
    str text = nul ? (str){all.p, (size_t)(nul - all.p)} : all;
    str arguments = nul ? str_slice(all, text.n + 1, all.n) : STR("{}");
    struct openapi api;
    struct json doc;
    struct arena a;
    struct err e;

    arena_init(&a, OPENAPI_ARENA);
    json_init(&doc);
    if (openapi_read(text, &a, &api, &e)) {
        HOLDS(api.count > 0);
        for (size_t i = 0; i < api.count; i++) {
            HOLDS(json_parse(&doc, api.operations[i].schema, &e));
            HOLDS(openapi_find(&api, api.operations[i].name) == &api.operations[i]);
            check_request(&api.operations[i], arguments);
        }
    }
    json_release(&doc);
    arena_release(&a);
    return 0;
}
