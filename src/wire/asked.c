/* asked.c - members of a client's body, checked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/asked.h"

#include "wire/member.h"

#define TOOLS_MAX 4096
#define ROOM_SPARE ((size_t)65536)

static void write_path(struct buf *b, const struct asked_at *at, bool brackets)
{
    if (!at)
        return;
    write_path(b, at->up, brackets);
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

bool asked_bad(const struct asked *r, const struct asked_at *at, const char *key, const char *what)
{
    struct buf b;

    buf_init(&b, 4096);
    write_path(&b, at, r->brackets);
    if (key)
        buf_printf(&b, "%s%s", b.n ? "." : "", key);
    err_set(r->e, ERR_INPUT, STR_FMT "%s%s", STR_ARG(buf_str(&b)), b.n ? ": " : "", what);
    buf_release(&b);
    return false;
}

bool asked_defer_error(const struct asked *r, const struct asked_at *at, const char *key,
                       const char *what)
{
    struct buf b;

    if (r->out->unknown_why.n)
        return true;
    buf_init(&b, 4096);
    write_path(&b, at, r->brackets);
    if (key)
        buf_printf(&b, "%s%s", b.n ? "." : "", key);
    r->out->unknown_param = arena_dup(r->a, buf_str(&b));
    r->out->unknown_why = arena_dup(r->a, str_c(what));
    buf_release(&b);
    return true;
}

bool asked_defer_level(const struct asked *r, const struct asked_at *at, const char *key,
                       const char *what)
{
    if (r->out->level == CHAT_LEVEL_NOT_GIVEN)
        r->out->level = CHAT_LEVEL_ON;
    r->out->level_unknown = true;
    return asked_defer_error(r, at, key, what);
}

bool asked_alloc(const struct asked *r, size_t n, size_t size, void *out)
{
    void *p;

    /* Room is left for every text of the body to be unescaped once. */
    if (n > 0 && (arena_left(r->a) < r->doc->src.n + ROOM_SPARE ||
                  (arena_left(r->a) - r->doc->src.n - ROOM_SPARE) / size < n))
        return err_set(r->e, ERR_LIMIT, "the request has too many parts");
    p = arena_zero(r->a, n ? n : 1, size);
    memcpy(out, &p, sizeof p);
    return true;
}

bool asked_text(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                const char *key, str *out)
{
    const struct json_node *m = member_find(r->doc, v, key);

    if (m && !json_text(r->doc, m, r->a, out))
        return asked_bad(r, at, key, "Input should be a valid string");
    return true;
}

bool asked_need_text(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                     const char *key, str *out)
{
    if (!json_find(r->doc, v, str_c(key)))
        return asked_bad(r, at, key, "Field required");
    if (!json_text(r->doc, json_find(r->doc, v, str_c(key)), r->a, out))
        return asked_bad(r, at, key, "Input should be a valid string");
    return true;
}

bool asked_bool(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                const char *key, bool *out, bool *given)
{
    const struct json_node *m = member_find(r->doc, v, key);

    if (m && !json_bool(m, out))
        return asked_bad(r, at, key, "Input should be a valid boolean");
    if (m && given)
        *given = true;
    return true;
}

bool asked_number(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                  const char *key, double min, double max, bool whole, str *out)
{
    const struct json_node *m = member_find(r->doc, v, key);
    char what[80];
    double x;
    int64_t i;

    if (!m)
        return true;
    if (!json_double(r->doc, m, &x))
        return asked_defer_error(r, at, key, "Input should be a valid number");
    if (whole && !json_i64(r->doc, m, &i))
        return asked_defer_error(r, at, key, "Input should be a valid integer");
    if (!(x >= min) || !(x <= max)) {
        bool low = !(x >= min);

        (void)snprintf(what,
                       sizeof what,
                       "Input should be %s than or equal to %g",
                       low ? "greater" : "less",
                       low ? min : max);
        return asked_defer_error(r, at, key, what);
    }
    *out = json_raw(r->doc, m);
    return true;
}

bool asked_texts(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                 const char *key, str **out, size_t *count)
{
    const struct json_node *m = member_find(r->doc, v, key);
    struct asked_at here = {.up = at, .key = key};
    size_t n = 0;

    if (!m)
        return true;
    if (m->kind != JSON_ARRAY)
        return asked_bad(r, at, key, "Input should be a valid list");
    if (!asked_alloc(r, json_count(r->doc, m), sizeof **out, out))
        return false;
    for (const struct json_node *x = json_first(r->doc, m); x; x = json_next(r->doc, m, x), n++) {
        struct asked_at item = {.up = &here, .index = n};

        if (!json_text(r->doc, x, r->a, &(*out)[n]))
            return asked_bad(r, &item, NULL, "Input should be a valid string");
    }
    *count = n;
    return true;
}

bool asked_head(const struct asked *r, const struct json_node *root)
{
    const struct json_node *model = member_find(r->doc, root, "model");
    const struct json_node *stream = member_find(r->doc, root, "stream");

    if (!model)
        return asked_bad(r, NULL, "model", "is missing");
    if (!json_text(r->doc, model, r->a, &r->out->model) || !r->out->model.n)
        return asked_bad(r, NULL, "model", "must be a string that is not empty");
    if (stream && !json_bool(stream, &r->out->stream))
        return asked_bad(r, NULL, "stream", "must be true or false");
    return true;
}

bool asked_function(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                    struct chat_tool *out)
{
    const struct json_node *schema = member_find(r->doc, v, "parameters");

    out->name = member_text(r->doc, v, "name", r->a);
    out->description = member_text(r->doc, v, "description", r->a);
    if (!out->name.n)
        return asked_bad(r, at, "name", "must be a string that is not empty");
    if (schema && schema->kind != JSON_OBJECT)
        return asked_bad(r, at, "parameters", "must be a JSON Schema, an object");
    if (schema)
        out->schema = json_raw(r->doc, schema);
    return true;
}

bool asked_tools(const struct asked *r, const struct json_node *root,
                 bool (*read)(const struct asked *r, const struct asked_at *at,
                              const struct json_node *v, struct chat_tool *out))
{
    const struct json_node *list = member_find(r->doc, root, "tools");
    struct asked_at here = {.key = "tools"}, item = {.up = &here};
    size_t n = json_count(r->doc, list);

    if (!list)
        return true;
    if (list->kind != JSON_ARRAY)
        return asked_bad(r, &here, NULL, "must be a list");
    if (n > TOOLS_MAX)
        return asked_bad(r, &here, NULL, "has too many tools");
    r->out->tools = arena_zero(r->a, n, sizeof *r->out->tools);
    for (const struct json_node *v = json_first(r->doc, list); v;
         v = json_next(r->doc, list, v), item.index++) {
        if (!read(r, &item, v, &r->out->tools[item.index]))
            return false;
        r->out->tool_count = item.index + 1;
    }
    return true;
}
