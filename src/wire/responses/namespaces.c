/* namespaces.c - tools that have a namespace: {"type":"namespace","name":"crm","tools":[...]}.
 * Other dialects have none: there the tool `find` of the namespace `crm` is the function crm__find,
 * and a call of this function is a call of `find` in `crm` again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/encode.h"

#define JOINT "__"
#define NAME_MAX_SIZE 128 /* of a namespace: each of its tools gets a copy */

str responses_call_name(const struct json *doc, const struct json_node *call, struct arena *a)
{
    str name = json_get_as_text(doc, call, "name", a),
        space = json_get_text(doc, call, "namespace", a);

    return name.n && space.n ? arena_join(a, space, STR(JOINT), name) : name;
}

static str responses_tool_space(const struct chat_request *q, str name)
{
    for (size_t i = 0; i < q->tool_count; i++)
        if (q->tools[i].space.n && str_eq(q->tools[i].name, name))
            return q->tools[i].space;
    return STR("");
}

str responses_call_name_members(struct wire_encoder *en, str name)
{
    str space = responses_tool_space(en->request, name), kept;
    size_t at = en->out->n;

    if (space.n) {
        json_print(en->out, "'namespace':%q,", space);
        name = str_slice(name, space.n + sizeof JOINT - 1, name.n);
    }
    json_print(en->out, "'name':%q", name);
    kept = responses_kept(en, str_slice(buf_str(en->out), at, en->out->n));
    en->out->n = at;
    return kept.n ? kept : STR("\"name\":\"\"");
}

static bool responses_is_namespace(const struct chat_tool *t, const struct json *doc,
                                   const struct json_node *v)
{
    return t->opaque.n && json_get_is(doc, v, "type", "namespace") && t->name.n <= NAME_MAX_SIZE &&
           json_is_array(json_get(doc, v, "tools"));
}

/* Appends the namespace's own description to that of its first tool. */
static bool responses_namespace_describe(const struct request_reader *r, const struct json_node *v,
                                         struct chat_tool *first)
{
    str words = json_get_text(r->doc, v, "description", r->a);
    const size_t most = words.n + first->description.n + first->space.n + 64;
    struct buf b;
    char *room;
    bool ok;

    if (!words.n)
        return true;
    buf_init(&b, most);
    buf_add(&b, first->description);
    buf_add(&b, first->description.n ? STR("\n\n") : STR(""));
    buf_printf(
        &b, "About all tools of " STR_FMT ": " STR_FMT, STR_ARG(first->space), STR_ARG(words));
    ok = request_alloc(r, b.n, 1, &room);
    if (ok) {
        memcpy(room, b.p, b.n);
        first->description = (str){room, b.n};
    }
    buf_release(&b);
    return ok;
}

/* Adds the tools of a namespace. False: it has one that is neither a function nor takes a text; or
 * ERR_LIMIT. */
static bool responses_namespace_open(const struct request_reader *r, const struct json_node *v,
                                     str space, responses_tool_reader *read, size_t *n)
{
    struct request_path at = {.key = "tools"};
    size_t first = *n;

    JSON_FOREACH_ITEM(item, r->doc, json_get(r->doc, v, "tools")) {
        struct chat_tool *t = &r->out->tools[*n];
        char *room; /* each tool has a copy of the namespace: the body does not bound them */

        if (!read(r, &at, item, t) || t->opaque.n ||
            !request_alloc(r, space.n + sizeof JOINT + t->name.n, 1, &room))
            return false;
        memcpy(room, space.p, space.n);
        memcpy(room + space.n, JOINT, sizeof JOINT - 1);
        memcpy(room + space.n + sizeof JOINT - 1, t->name.p, t->name.n);
        t->name = (str){room, space.n + sizeof JOINT - 1 + t->name.n};
        t->space = space;
        ++*n;
    }
    return *n == first || responses_namespace_describe(r, v, &r->out->tools[first]);
}

bool responses_read_namespaces(const struct request_reader *r, const struct json_node *root,
                               responses_tool_reader *read)
{
    const struct json_node *list = json_get(r->doc, root, "tools");
    const struct chat_tool *from = r->out->tools;
    struct request_reader inner = *r;
    struct err failed = {.code = ERR_NONE};
    size_t more = 0, i = 0, n = 0;

    JSON_FOREACH_ITEM(v, r->doc, list) {
        if (responses_is_namespace(&from[i], r->doc, v))
            more += json_count(r->doc, json_get(r->doc, v, "tools"));
        i++;
    }
    if (more == 0)
        return true;
    if (!request_alloc(r, i + more, sizeof *from, &r->out->tools))
        return false;
    inner.e = &failed;
    JSON_FOREACH_ITEM(v, r->doc, list) {
        size_t before = n;

        if (!responses_is_namespace(from, r->doc, v) ||
            !responses_namespace_open(&inner, v, from->name, read, &n)) {
            if (failed.code == ERR_LIMIT)
                return err_set(r->e, ERR_LIMIT, "%s", failed.text);
            n = before;
            r->out->tools[n++] = *from;
        }
        from++;
    }
    r->out->tool_count = n;
    return true;
}
