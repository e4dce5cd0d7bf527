/* read.c - from an OpenAPI 3 document to operations.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "openapi/reader.h"

#define SHOWN_MAX 80
#define FOLLOW_MAX 16
#define LEFT_OUT_MAX ((size_t)256 << 10)
#define SCRATCH_MAX ((size_t)32 << 20)
#define DESCRIPTION_MAX 1024 /* bytes of an operation's description that a model gets */

static const struct {
    const char *name, *sent;
    bool read_only, idempotent;
} openapi_methods[] = {
    {"get", "GET", true, true},
    {"head", "HEAD", true, true},
    {"put", "PUT", false, true},
    {"delete", "DELETE", false, true},
    {"post", "POST", false, false},
    {"patch", "PATCH", false, false},
};

/* Whether the operation's texts may take as many bytes more. */
static bool openapi_scratch_room(const struct openapi_reader *r, size_t n)
{
    if (n + SHOWN_MAX > arena_left(&r->scratch->arena) / 2) /* what is left may be in two pieces */
        r->scratch->full = true;
    return !r->scratch->full;
}

static void openapi_scratch_reset(const struct openapi_reader *r)
{
    arena_reset(&r->scratch->arena);
    r->scratch->full = false;
}

bool openapi_scratch_text(const struct openapi_reader *r, const struct json_node *v, str *out)
{
    return v && openapi_scratch_room(r, v->size) && json_text(r->doc, v, &r->scratch->arena, out);
}

const struct json_node *openapi_follow(const struct openapi_reader *r, const struct json_node *v)
{
    for (int i = 0; json_is_object(v) && i < FOLLOW_MAX; i++) {
        const struct json_node *ref = json_find(r->doc, v, STR("$ref"));
        str to;

        if (!ref)
            return v;
        if (!openapi_scratch_text(r, ref, &to) || !str_starts(to, STR("#")))
            return NULL;
        v = json_pointer(r->doc, str_slice(to, 1, to.n));
    }
    return v && v->kind != JSON_OBJECT ? v : NULL;
}

static str openapi_text(const struct openapi_reader *r, const struct json_node *v, const char *key)
{
    str s;

    if (!openapi_scratch_text(r, json_find(r->doc, v, str_c(key)), &s))
        return STR("");
    return str_trim(s);
}

static bool openapi_is(const struct openapi_reader *r, const struct json_node *v, const char *key,
                       bool otherwise)
{
    bool on;

    return json_bool(json_find(r->doc, v, str_c(key)), &on) ? on : otherwise;
}

/* ---- parameters ---- */

/* Headers that the HTTP client or the tool writes. */
static bool openapi_header_fixed(str name)
{
    return str_is_one_of_nocase(name,
                                "accept accept-encoding authorization connection content-length "
                                "content-type cookie expect host idempotency-key keep-alive "
                                "proxy-connection te trailer transfer-encoding upgrade");
}

static bool openapi_header_name(str name)
{
    bool ok = name.n > 0 && name.n <= 128;

    for (size_t i = 0; ok && i < name.n; i++)
        ok = (name.p[i] >= '0' && name.p[i] <= '9') || name.p[i] == '-' || name.p[i] == '_' ||
             ((name.p[i] | 32) >= 'a' && (name.p[i] | 32) <= 'z');
    return ok;
}

static enum openapi_style openapi_style_of(const struct openapi_reader *r,
                                           const struct json_node *v, enum openapi_place place)
{
    str style = openapi_text(r, v, "style");

    if (!json_find(r->doc, v, STR("schema")) && json_find(r->doc, v, STR("content")))
        return OPENAPI_JSON;
    if (str_eq(style, STR("deepObject")))
        return OPENAPI_DEEP;
    return place == OPENAPI_QUERY && openapi_is(r, v, "explode", true) ? OPENAPI_EXPLODED
                                                                       : OPENAPI_JOINED;
}

/* How a parameter is handled. */
enum openapi_use { USE_TAKEN, USE_IGNORED, USE_REFUSED };

static enum openapi_use openapi_read_param(const struct openapi_reader *r,
                                           const struct json_node *v, struct openapi_param *p)
{
    str in = openapi_text(r, v, "in");

    *p = (struct openapi_param){.name = openapi_text(r, v, "name"),
                                .required = openapi_is(r, v, "required", false)};
    if (str_eq(in, STR("path")))
        p->place = OPENAPI_PATH;
    else if (str_eq(in, STR("query")))
        p->place = OPENAPI_QUERY;
    else if (str_eq(in, STR("header")))
        p->place = OPENAPI_HEADER;
    else
        return p->required ? USE_REFUSED : USE_IGNORED;
    if (p->name.n == 0)
        return USE_REFUSED;
    if (p->place == OPENAPI_HEADER && openapi_header_fixed(p->name))
        return USE_IGNORED;
    if (p->place == OPENAPI_HEADER && !openapi_header_name(p->name))
        return USE_REFUSED;
    p->required |= p->place == OPENAPI_PATH;
    p->style = openapi_style_of(r, v, p->place);
    p->member = p->name;
    assert(p->member.n > 0);
    return USE_TAKEN;
}

/* An operation's parameters and those of its path, of which the operation's own go first. */
struct openapi_params {
    struct openapi_param at[OPENAPI_PARAMS_MAX];
    const struct json_node *from[OPENAPI_PARAMS_MAX];
    size_t n;
};

/* The name of an argument beside another of the same name. */
static str openapi_long_name(const struct openapi_reader *r, const struct openapi_param *p)
{
    if (!openapi_scratch_room(r, p->name.n))
        return p->name;
    return arena_join(
        &r->scratch->arena, str_c(NAME_OF(p->place, "path", "query", "header")), STR("_"), p->name);
}

static bool openapi_has_member(const struct openapi_params *all, str name)
{
    assert(all->n <= OPENAPI_PARAMS_MAX);
    for (size_t i = 0; i < all->n; i++)
        if (str_eq(all->at[i].member, name))
            return true;
    return str_eq(name, STR("body"));
}

static bool openapi_has_param(const struct openapi_params *all, const struct openapi_param *p)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].place == p->place && str_eq(all->at[i].name, p->name))
            return true;
    return false;
}

static const char *openapi_add_params(struct openapi_reader *r, const struct json_node *list,
                                      struct openapi_params *all)
{
    JSON_FOREACH(v, r->doc, list) {
        const struct json_node *to = openapi_follow(r, v);
        struct openapi_param p;

        if (!to)
            return "a reference to a parameter leads nowhere";
        switch (openapi_read_param(r, to, &p)) {
        case USE_REFUSED:
            return "a required parameter can only be sent as a cookie, or has no usable name";
        case USE_IGNORED:
            continue;
        case USE_TAKEN:
            break;
        }
        if (openapi_has_param(all, &p))
            continue;
        if (all->n == OPENAPI_PARAMS_MAX)
            return "it has too many parameters";
        if (openapi_has_member(all, p.name))
            p.member = openapi_long_name(r, &p);
        if (openapi_has_member(all, p.member))
            return "two of its parameters have the same name";
        all->from[all->n] = to;
        all->at[all->n++] = p;
    }
    return NULL;
}

/* Every {name} of the path must be a parameter, else the request could not be made. */
static bool openapi_path_filled(str path, const struct openapi_params *all)
{
    for (;;) {
        size_t open = str_find(path, STR("{")), close;
        struct openapi_param p = {.place = OPENAPI_PATH};

        if (open == STR_NONE)
            return true;
        path = str_slice(path, open + 1, path.n);
        close = str_find(path, STR("}"));
        p.name = str_slice(path, 0, close);
        if (close == STR_NONE || !openapi_has_param(all, &p))
            return false;
        path = str_slice(path, close + 1, path.n);
    }
}

/* ---- the body ---- */

static bool openapi_type_json(str type)
{
    size_t end = str_find(type, STR(";"));

    type = str_trim(str_slice(type, 0, end));
    return str_eq(type, STR("application/json")) || str_ends(type, STR("+json")) ||
           str_eq(type, STR("*/*"));
}

/* The schema of the JSON that it takes, or NULL. */
static const struct json_node *openapi_json_content(const struct openapi_reader *r,
                                                    const struct json_node *v, bool *found)
{
    const struct json_node *content = json_find(r->doc, v, STR("content"));
    str type;

    assert(found);
    JSON_FOREACH(k, r->doc, content)
        if (content->kind == JSON_OBJECT && openapi_scratch_text(r, k, &type) &&
            openapi_type_json(type)) {
            *found = true;
            return json_find(r->doc, json_value(k), STR("schema"));
        }
    *found = false;
    return NULL;
}

/* ---- an operation ---- */

static void openapi_write_params(struct openapi_reader *r, const struct openapi_params *all,
                                 struct json_out *o)
{
    assert(all->n <= OPENAPI_PARAMS_MAX);
    for (size_t i = 0; i < all->n; i++) {
        const struct json_node *v = all->from[i];
        const struct json_node *schema = json_find(r->doc, v, STR("schema"));
        bool found;

        if (!schema)
            schema = openapi_json_content(r, v, &found);
        json_out_key(o, all->at[i].member);
        openapi_write_schema(r, schema, openapi_text(r, v, "description"), o);
    }
}

/* The schema of an operation's arguments, lent until the next one. */
static str openapi_arguments(struct openapi_reader *r, const struct openapi_params *all,
                             const struct openapi_operation *op, const struct json_node *body)
{
    struct json_out o;
    struct err e;

    assert(r->depth == 0);
    buf_reset(&r->text);
    json_out_init_object(&o, &r->text);
    json_member_str(&o, "type", STR("object"));
    json_member_object(&o, "properties");
    openapi_write_params(r, all, &o);
    if (op->body) {
        json_out_key(&o, STR("body"));
        openapi_write_schema(r, body, STR(""), &o);
    }
    json_out_end(&o);
    json_member_array(&o, "required");
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].required)
            json_out_str(&o, all->at[i].member);
    if (op->body_required)
        json_out_str(&o, STR("body"));
    json_out_end(&o);
    json_member_bool(&o, "additionalProperties", false);
    json_out_end(&o);
    r->schemas_size += r->text.n;
    if (!json_out_ok(&o, &e) || r->schemas_size > OPENAPI_SCHEMAS_MAX)
        return STR("");
    return buf_str(&r->text);
}

/* "get_items_id" of GET /items/{id}. */
static str openapi_generate_name(struct openapi_reader *r, const char *method, str path)
{
    struct buf out;

    buf_init(&out, 256);
    buf_add(&out, str_c(method));
    for (size_t i = 0; i < path.n && out.n < 200; i++) {
        char c = path.p[i];
        bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');

        if (plain)
            buf_add_c(&out, c);
        else if (out.p[out.n - 1] != '_' && c != '}')
            buf_add_c(&out, '_');
    }
    while (out.n > 0 && out.p[out.n - 1] == '_')
        out.n--;
    assert(out.n > 0 && out.n <= 200);
    return arena_move_buf(&r->scratch->arena, &out);
}

static str openapi_description(const struct openapi_reader *r, const struct json_node *v)
{
    str summary = openapi_text(r, v, "summary"), more = openapi_text(r, v, "description"), all;
    size_t n;

    all = more.n ? more : summary;
    if (summary.n && more.n && !str_starts(more, summary) &&
        openapi_scratch_room(r, 3 * DESCRIPTION_MAX))
        all = arena_join(&r->scratch->arena,
                         str_slice(summary, 0, DESCRIPTION_MAX + 1),
                         STR("\n\n"),
                         str_slice(more, 0, DESCRIPTION_MAX + 1));
    n = all.n > DESCRIPTION_MAX ? DESCRIPTION_MAX : all.n;
    while (n < all.n && n > 0 && ((unsigned char)all.p[n] & 0xc0) == 0x80)
        n--;
    assert(n <= all.n && n <= DESCRIPTION_MAX);
    return str_slice(all, 0, n);
}

static void openapi_leave_out(struct openapi_reader *r, str name, const char *why)
{
    if (r->left_out.n)
        buf_add_c(&r->left_out, '\n');
    buf_printf(&r->left_out, STR_FMT ": %s", STR_ARG(str_slice(name, 0, SHOWN_MAX)), why);
}

/* Moves the texts of an operation to the result. Its schema has the names of the parameters, so
 * they are bounded like all schemas together. */
static void openapi_keep(struct openapi_reader *r, const struct openapi_params *all,
                         struct openapi_operation *op)
{
    assert(all->n <= OPENAPI_PARAMS_MAX && op->schema.n > 0);
    op->name = arena_dup(r->arena, op->name);
    op->description = arena_dup(r->arena, op->description);
    op->schema = arena_dup(r->arena, op->schema);
    op->params = arena_zero(r->arena, all->n + 1, sizeof *op->params);
    op->param_count = all->n;
    for (size_t i = 0; i < all->n; i++) {
        struct openapi_param *p = &op->params[i];

        *p = all->at[i];
        p->name = arena_dup(r->arena, p->name);
        p->member = arena_dup(r->arena, p->member);
    }
}

/* Why the operation cannot be a tool; NULL if it can. */
static const char *openapi_fill(struct openapi_reader *r, const struct json_node *item,
                                const struct json_node *v, struct openapi_operation *op)
{
    struct openapi_params all = {.n = 0};
    const struct json_node *body = json_find(r->doc, v, STR("requestBody")), *schema = NULL;
    const char *why = openapi_add_params(r, json_find(r->doc, v, STR("parameters")), &all);
    bool json = false;

    if (!why)
        why = openapi_add_params(r, json_find(r->doc, item, STR("parameters")), &all);
    if (why)
        return why;
    if (!openapi_path_filled(op->path, &all))
        return "its path has a {name} that no parameter fills";
    if (body && !(body = openapi_follow(r, body)))
        return "a reference to a request body leads nowhere";
    if (body)
        schema = openapi_json_content(r, body, &json);
    op->body = json;
    op->body_required = body && openapi_is(r, body, "required", false);
    if (op->body_required && !json)
        return "its body is not JSON";
    op->schema = openapi_arguments(r, &all, op, schema);
    if (r->scratch->full || op->schema.n == 0)
        return "its schema is too large";
    openapi_keep(r, &all, op);
    return NULL;
}

static bool openapi_add(struct openapi_reader *r, str path, const struct json_node *item,
                        const struct json_node *v, size_t method, struct err *e)
{
    struct openapi *api = r->out;
    struct openapi_operation *op = &api->operations[api->count];
    const char *why;

    assert(api->count <= OPENAPI_OPERATIONS_MAX && method < COUNT_OF(openapi_methods));
    if (api->count == OPENAPI_OPERATIONS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d operations", OPENAPI_OPERATIONS_MAX);
    openapi_scratch_reset(r);
    *op = (struct openapi_operation){.name = openapi_text(r, v, "operationId"),
                                     .description = openapi_description(r, v),
                                     .method = str_c(openapi_methods[method].sent),
                                     .path = path,
                                     .read_only = openapi_methods[method].read_only,
                                     .idempotent = openapi_methods[method].idempotent};
    if (op->name.n == 0)
        op->name = openapi_generate_name(r, openapi_methods[method].name, path);
    if (openapi_find(api, op->name))
        return err_input(e,
                         "two operations have the name \"" STR_FMT "\"",
                         STR_ARG(str_slice(op->name, 0, SHOWN_MAX)));
    why = openapi_fill(r, item, v, op);
    if (why) /* if the texts were too large, some were not read */
        openapi_leave_out(r, op->name, r->scratch->full ? "its schema is too large" : why);
    else
        api->count++;
    return true;
}

static bool openapi_read_paths(struct openapi_reader *r, const struct json_node *paths,
                               struct err *e)
{
    const struct json *doc = r->doc;
    str path;

    JSON_FOREACH(k, doc, paths) {
        const struct json_node *item;

        openapi_scratch_reset(r);
        item = openapi_follow(r, json_value(k));
        if (!json_text(doc, k, r->arena, &path) || !str_starts(path, STR("/")))
            continue;
        path = arena_dup(r->arena, path);
        for (size_t m = 0; m < COUNT_OF(openapi_methods); m++) {
            const struct json_node *v = json_find(doc, item, str_c(openapi_methods[m].name));

            if (json_is_object(v) && !openapi_add(r, path, item, v, m, e))
                return false;
        }
    }
    return true;
}

static bool openapi_check_version(const struct openapi_reader *r, const struct json_node *root,
                                  struct err *e)
{
    str version = openapi_text(r, root, "openapi");

    if (json_find(r->doc, root, STR("swagger")))
        return err_input(e, "this is Swagger 2: convert it to OpenAPI 3");
    if (!str_starts(version, STR("3.")))
        return err_input(e, "this is not an OpenAPI 3 document: \"openapi\" must be 3.x");
    return true;
}

bool openapi_read(str json, struct arena *a, struct openapi *out, struct err *e)
{
    struct json doc;
    struct openapi api = {.left_out = STR("")};
    struct openapi_scratch scratch = {.full = false};
    struct openapi_reader r = {.doc = &doc, .arena = a, .scratch = &scratch, .out = &api};
    const struct json_node *root, *paths;
    bool ok;

    buf_init(&r.left_out, LEFT_OUT_MAX);
    buf_init(&r.text, OPENAPI_SCHEMA_MAX);
    arena_init(&scratch.arena, SCRATCH_MAX);
    ok = json_open(&doc, json, e);
    root = json_root(&doc);
    ok = ok && openapi_check_version(&r, root, e);
    paths = ok ? json_find(&doc, root, STR("paths")) : NULL;
    if (ok && !json_is_object(paths))
        ok = err_input(e, "it has no \"paths\"");
    if (ok) {
        const struct json_node *servers = json_find(&doc, root, STR("servers"));

        api.title = arena_dup(a, openapi_text(&r, json_find(&doc, root, STR("info")), "title"));
        api.server = arena_dup(a, openapi_text(&r, json_at(&doc, servers, 0), "url"));
        api.operations = arena_zero(a, OPENAPI_OPERATIONS_MAX + 1, sizeof *api.operations);
        ok = openapi_read_paths(&r, paths, e);
    }
    if (ok && api.count == 0)
        ok = err_input(e, "none of its operations can be a tool");
    api.left_out = arena_move_buf(a, &r.left_out);
    buf_release(&r.text);
    arena_release(&scratch.arena);
    json_release(&doc);
    if (ok)
        *out = api;
    return ok;
}

const struct openapi_operation *openapi_find(const struct openapi *api, str name)
{
    for (size_t i = 0; i < api->count; i++)
        if (str_eq(api->operations[i].name, name))
            return &api->operations[i];
    return NULL;
}
