/* request_reader.c - members of a client's body, checked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/request_reader.h"

#include "base/json_get.h"
#include "wire/message_parts.h"

#define TOOLS_MAX 4096
#define ROOM_SPARE ((size_t)65536)

static void request_write_path(struct buf *b, const struct request_path *at, bool brackets)
{
    if (!at)
        return;
    request_write_path(b, at->up, brackets);
    if (!at->key && brackets) {
        buf_printf(b, "[%zu]", at->index);
        return;
    }
    if (b->n)
        buf_add_c(b, '.');
    if (at->key)
        buf_add(b, str_c(at->key));
    else
        buf_printf(b, "%zu", at->index);
}

bool request_fail(const struct request_reader *r, const struct request_path *at, const char *key,
                  const char *what)
{
    struct buf b;

    assert(r->e && what);
    if (r->out) /* counts only if the caller defers the failure */
        request_defer_error(r, at, key, what);
    buf_init(&b, 4096);
    request_write_path(&b, at, r->brackets);
    if (key)
        buf_printf(&b, "%s%s", b.n ? "." : "", key);
    err_input(r->e, STR_FMT "%s%s", STR_ARG(buf_str(&b)), b.n ? ": " : "", what);
    buf_release(&b);
    return false;
}

bool request_defer_error(const struct request_reader *r, const struct request_path *at,
                         const char *key, const char *what)
{
    struct buf b;

    assert(r->out && what);
    if (r->out->unknown_why.n)
        return true;
    buf_init(&b, 4096);
    request_write_path(&b, at, r->brackets);
    if (key)
        buf_printf(&b, "%s%s", b.n ? "." : "", key);
    r->out->unknown_param = arena_dup(r->a, buf_str(&b));
    r->out->unknown_why = arena_dup(r->a, str_c(what));
    buf_release(&b);
    return true;
}

bool request_defer_level(const struct request_reader *r, const struct request_path *at,
                         const char *key, const char *what)
{
    if (r->out->level == CHAT_LEVEL_NOT_GIVEN)
        r->out->level = CHAT_LEVEL_ON;
    r->out->level_unknown = true;
    return request_defer_error(r, at, key, what);
}

bool request_defer_failure(const struct request_reader *r)
{
    return r->e->code == ERR_INPUT;
}

bool request_alloc(const struct request_reader *r, size_t n, size_t size, void *out)
{
    void *p;

    assert(size > 0);
    /* Room is left for every text of the body to be unescaped once, and for one copy of it. */
    if (n > r->a->size_max / size || !arena_fits(r->a, n * size, 2 * r->doc->src.n + ROOM_SPARE))
        return err_set(r->e, ERR_LIMIT, "the request has too many parts");
    p = arena_zero(r->a, n ? n : 1, size);
    memcpy(out, &p, sizeof p);
    return true;
}

bool request_read_text(const struct request_reader *r, const struct request_path *at,
                       const struct json_node *v, const char *key, str *out)
{
    const struct json_node *m = json_get(r->doc, v, key);

    if (m && !json_text(r->doc, m, r->a, out))
        return request_fail(r, at, key, "Input should be a valid string");
    return true;
}

bool request_require_text(const struct request_reader *r, const struct request_path *at,
                          const struct json_node *v, const char *key, str *out)
{
    if (!json_find(r->doc, v, str_c(key)))
        return request_fail(r, at, key, "Field required");
    if (!json_text(r->doc, json_find(r->doc, v, str_c(key)), r->a, out))
        return request_fail(r, at, key, "Input should be a valid string");
    return true;
}

bool request_read_bool(const struct request_reader *r, const struct request_path *at,
                       const struct json_node *v, const char *key, bool *out, bool *given)
{
    const struct json_node *m = json_get(r->doc, v, key);

    if (m && !json_bool(m, out))
        return request_fail(r, at, key, "Input should be a valid boolean");
    if (m && given)
        *given = true;
    return true;
}

bool request_read_texts(const struct request_reader *r, const struct request_path *at,
                        const struct json_node *v, const char *key, str **out, size_t *count)
{
    const struct json_node *m = json_get(r->doc, v, key);
    struct request_path here = {.up = at, .key = key};
    size_t n = 0;

    if (!m)
        return true;
    if (m->kind != JSON_ARRAY)
        return request_fail(r, at, key, "Input should be a valid list");
    if (!request_alloc(r, json_count(r->doc, m), sizeof **out, out))
        return false;
    for (const struct json_node *x = json_first(r->doc, m); x; x = json_next(r->doc, m, x), n++) {
        struct request_path item = {.up = &here, .index = n};

        if (!json_text(r->doc, x, r->a, &(*out)[n]))
            return request_fail(r, &item, NULL, "Input should be a valid string");
    }
    *count = n;
    return true;
}

bool request_read_head(const struct request_reader *r, const struct json_node *root)
{
    const struct json_node *model = json_get(r->doc, root, "model");
    const struct json_node *stream = json_get(r->doc, root, "stream");

    if (!model)
        return request_fail(r, NULL, "model", "is missing");
    if (!json_text(r->doc, model, r->a, &r->out->model) || !r->out->model.n)
        return request_fail(r, NULL, "model", "must be a string that is not empty");
    if (stream && !json_bool(stream, &r->out->stream))
        return request_fail(r, NULL, "stream", "must be true or false");
    return true;
}

bool request_read_function(const struct request_reader *r, const struct request_path *at,
                           const struct json_node *v, struct chat_tool *out)
{
    const struct json_node *schema = json_get(r->doc, v, "parameters");

    out->name = json_get_text(r->doc, v, "name", r->a);
    out->description = json_get_text(r->doc, v, "description", r->a);
    if (!out->name.n)
        return request_fail(r, at, "name", "must be a string that is not empty");
    if (schema && schema->kind != JSON_OBJECT)
        return request_fail(r, at, "parameters", "must be a JSON Schema, an object");
    if (schema)
        out->schema = json_raw(r->doc, schema);
    return true;
}

bool request_read_tools(const struct request_reader *r, const struct json_node *root,
                        bool (*read)(const struct request_reader *r, const struct request_path *at,
                                     const struct json_node *v, struct chat_tool *out))
{
    const struct json_node *list = json_get(r->doc, root, "tools");
    struct request_path here = {.key = "tools"}, item = {.up = &here};
    size_t n = json_count(r->doc, list);

    if (!list)
        return true;
    if (list->kind != JSON_ARRAY)
        return request_fail(r, &here, NULL, "must be a list");
    if (n > TOOLS_MAX)
        return request_fail(r, &here, NULL, "has too many tools");
    r->out->tools = arena_zero(r->a, n, sizeof *r->out->tools);
    for (const struct json_node *v = json_first(r->doc, list); v;
         v = json_next(r->doc, list, v), item.index++) {
        struct chat_tool *t = &r->out->tools[item.index];

        assert(item.index < n);
        if (!read(r, &item, v, t)) {
            if (!request_defer_failure(r))
                return false;
            *t = part_tool(r->out->dialect);
            t->opaque = json_raw(r->doc, v);
        }
        r->out->tool_count = item.index + 1;
    }
    return true;
}
