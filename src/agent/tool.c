/* tool.c - the toolbox: its tools, their schemas, and the canonical text of arguments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/tool_box.h"

#define BOX_ARENA_MAX ((size_t)256 << 20)
#define CACHE_MAX 4096
#define CACHE_ARENA_MAX ((size_t)64 << 20)
#define PROBLEMS_MAX 5
#define NAME_SHOWN 80

struct toolbox *toolbox_new(const struct clock *clock)
{
    struct toolbox *b = base_alloc(sizeof *b);

    memset(b, 0, sizeof *b);
    b->clock = clock;
    arena_init(&b->arena, BOX_ARENA_MAX);
    arena_init(&b->cached, CACHE_ARENA_MAX);
    map_init(&b->by_name, NULL, 2 * TOOL_COUNT_MAX);
    map_init(&b->cache, NULL, CACHE_MAX);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->idle, NULL);
    return b;
}

void toolbox_free(struct toolbox *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    while (b->working)
        pthread_cond_wait(&b->idle, &b->lock);
    pthread_mutex_unlock(&b->lock);
    assert(!b->working && b->count <= TOOL_COUNT_MAX);
    for (size_t i = 0; i < b->count; i++)
        schema_free(b->tools[i]->schema);
    map_release(&b->by_name);
    map_release(&b->cache);
    arena_release(&b->arena);
    arena_release(&b->cached);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->idle);
    free(b);
}

/* Compiles the schema unchanged if it is JSON Schema; otherwise its translation, if there is
 * one. */
static bool agent_tool_compile(struct toolbox *b, struct box_tool *row, str schema, struct err *e)
{
    bool close = (row->row.flags & TOOL_STRICT) != 0, ok;
    struct buf meant;
    struct err why;

    row->schema = schema_new();
    ok = schema_compile(row->schema, schema, e);
    if (ok && !close) {
        row->row.schema = arena_dup(&b->arena, schema);
        return true;
    }
    row->row.loose = !ok;
    schema_free(row->schema);
    row->schema = schema_new();
    buf_init(&meant, SCHEMA_SIZE_MAX);
    ok = tool_schema(schema, close, &meant) && schema_compile(row->schema, buf_str(&meant), &why);
    if (ok)
        row->row.schema = arena_dup(&b->arena, buf_str(&meant));
    else if (!row->row.loose)
        err_input(e, "the schema cannot be closed");
    buf_release(&meant);
    if (!ok)
        schema_free(row->schema);
    return ok;
}

/* Compiles both the schema shown to the model and the one its arguments are checked by. */
static bool toolbox_compile_both(struct toolbox *b, struct box_tool *row, str schema, struct err *e)
{
    row->row.schema = arena_dup(&b->arena, schema);
    row->schema = schema_new();
    if (schema_compile(row->schema, row->row.accepts, e))
        return true;
    schema_free(row->schema);
    return false;
}

static bool toolbox_name_row(struct toolbox *b, struct box_tool *row, const struct tool *t,
                             struct err *e)
{
    str called = tool_called(t->name, &b->arena);

    if (!t->name.n || t->name.n > TOOL_NAME_MAX)
        return err_input(e, "a tool's name has 1 to %d bytes", TOOL_NAME_MAX);
    if (map_find(&b->by_name, t->name) || map_find(&b->by_name, called))
        return err_input(e, "there are two tools \"" STR_FMT "\"", STR_ARG(t->name));
    row->row.name = arena_dup(&b->arena, t->name);
    row->row.called = called;
    return true;
}

/* Whether the arena has room for the row, its texts, and a translation of its schema. Four times
 * as much must be left, because a text that does not fit the rest of a block leaves that unused. */
static bool agent_tool_fits(const struct toolbox *b, const struct tool *t)
{
    size_t need = t->description.n + t->schema.n + t->accepts.n + t->server.n + t->own.n +
                  SCHEMA_SIZE_MAX + 16 * TOOL_NAME_MAX;

    return need <= arena_left(&b->arena) / 4;
}

bool toolbox_add(struct toolbox *b, const struct tool *t, struct err *e)
{
    struct box_tool *row;
    str schema = t->schema.n ? t->schema : STR("{\"type\":\"object\"}");

    if (b->count == TOOL_COUNT_MAX)
        return err_set(e, ERR_LIMIT, "there are more than %d tools", TOOL_COUNT_MAX);
    if (!agent_tool_fits(b, t))
        return err_set(e,
                       ERR_LIMIT,
                       "the tools are too large together: there is no room for \"" STR_FMT
                       "\" with its schema; give the agent fewer tools",
                       STR_ARG(str_slice(t->name, 0, NAME_SHOWN)));
    row = arena_zero(&b->arena, 1, sizeof *row);
    *row = (struct box_tool){.row = *t};
    row->row.loose = false;
    if (!toolbox_name_row(b, row, t, e))
        return false;
    if (!(t->accepts.n ? toolbox_compile_both(b, row, schema, e)
                       : agent_tool_compile(b, row, schema, e)))
        return err_prefix(e, "tool " STR_FMT ": ", STR_ARG(t->name));
    row->row.description = arena_dup(&b->arena, t->description);
    row->row.accepts = t->accepts.n ? arena_dup(&b->arena, t->accepts) : row->row.schema;
    row->row.server = t->server.n ? arena_dup(&b->arena, t->server) : STR("");
    row->row.own = t->own.n ? arena_dup(&b->arena, t->own) : row->row.name;
    if (!map_set(&b->by_name, row->row.name, MAP_PTR(row), e) ||
        !map_set(&b->by_name, row->row.called, MAP_PTR(row), e)) {
        schema_free(row->schema);
        return false;
    }
    assert(toolbox_find(b, row->row.name) == &row->row && toolbox_find(b, row->row.called));
    b->tools[b->count++] = row;
    return true;
}

const struct tool *toolbox_find(const struct toolbox *b, str name)
{
    struct map_entry *found = map_find(&b->by_name, name);

    return found ? &((struct box_tool *)found->value.ptr)->row : NULL;
}

size_t toolbox_count(const struct toolbox *b)
{
    return b->count;
}

const struct tool *toolbox_at(const struct toolbox *b, size_t i)
{
    assert(i < b->count);
    return &b->tools[i]->row;
}

void toolbox_write(const struct toolbox *b, struct buf *out)
{
    buf_add_c(out, '[');
    for (size_t i = 0; i < b->count; i++) {
        const struct tool *t = &b->tools[i]->row;

        buf_add(out, i ? STR(",") : STR(""));
        buf_add(out, STR("{\"type\":\"function\",\"function\":{\"name\":"));
        (void)json_quote(out, t->called);
        buf_add(out, STR(",\"description\":"));
        (void)json_quote(out, t->description);
        if (t->flags & TOOL_SAYS_STRICT)
            buf_add(out, STR(",\"strict\":true"));
        buf_add(out, STR(",\"parameters\":"));
        buf_add(out, t->schema);
        buf_add(out, STR("}}"));
    }
    buf_add_c(out, ']');
}

/* ---- arguments ---- */

static void agent_tool_on_problem(void *ctx, const struct schema_problem *p)
{
    struct buf *why = ctx;

    buf_printf(why,
               "%s" STR_FMT ": " STR_FMT,
               why->n ? "; " : "",
               STR_ARG(p->path.n ? p->path : STR("(the arguments)")),
               STR_ARG(p->text));
}

bool toolbox_check(const struct toolbox *b, const struct tool *t, str arguments, struct buf *why)
{
    const struct box_tool *row = (const struct box_tool *)(const void *)t;
    struct schema_sink sink = {agent_tool_on_problem, why, PROBLEMS_MAX};
    struct json doc;
    struct err e;
    bool ok = false;

    assert(toolbox_find(b, t->name) == t);
    if (!json_open(&doc, arguments.n ? arguments : STR("{}"), &e))
        buf_printf(why, "the arguments are not JSON: %s", e.text);
    else if (json_root(&doc)->kind != JSON_OBJECT)
        buf_add(why, STR("the arguments must be one JSON object"));
    else if (!schema_check_each(row->schema, &doc, json_root(&doc), sink, &e))
        buf_add(why, why->n ? STR("") : str_c(e.text));
    else
        ok = true;
    json_release(&doc);
    return ok;
}

struct member {
    str key;
    const struct json_node *value;
};

static int agent_tool_by_key(const void *a, const void *b)
{
    return str_cmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

static void agent_tool_write_canonical(struct buf *out, const struct json *doc,
                                       const struct json_node *v, struct arena *a);

static void agent_tool_write_canonical_object(struct buf *out, const struct json *doc,
                                              const struct json_node *v, struct arena *a)
{
    size_t n = json_count(doc, v), i = 0;
    struct member *all = arena_zero(a, n + 1, sizeof *all);

    JSON_FOREACH(k, doc, v) {
        if (!json_text(doc, k, a, &all[i].key))
            continue;
        all[i++].value = json_value(k);
    }
    qsort(all, i, sizeof *all, agent_tool_by_key);
    assert(i <= n);
    buf_add_c(out, '{');
    for (n = 0; n < i; n++) {
        buf_add(out, n ? STR(",") : STR(""));
        (void)json_quote(out, all[n].key);
        buf_add_c(out, ':');
        agent_tool_write_canonical(out, doc, all[n].value, a);
    }
    buf_add_c(out, '}');
}

static void agent_tool_write_canonical(struct buf *out, const struct json *doc,
                                       const struct json_node *v, struct arena *a)
{
    double d;
    str text;

    switch (v->kind) {
    case JSON_OBJECT:
        agent_tool_write_canonical_object(out, doc, v, a);
        break;
    case JSON_ARRAY:
        buf_add_c(out, '[');
        JSON_FOREACH(x, doc, v) {
            buf_add(out, x == json_first(doc, v) ? STR("") : STR(","));
            agent_tool_write_canonical(out, doc, x, a);
        }
        buf_add_c(out, ']');
        break;
    case JSON_STRING:
        if (json_text(doc, v, a, &text))
            (void)json_quote(out, text);
        break;
    case JSON_NUMBER:
        if (v->escaped && json_double(doc, v, &d))
            buf_printf(out, "%.17g", d);
        else
            buf_add(out, json_raw(doc, v));
        break;
    default:
        buf_add(out, json_raw(doc, v));
        break;
    }
}

void tool_canonical(struct buf *out, str arguments)
{
    struct json doc;
    struct arena a;
    struct err e;

    /* "{}," is three bytes and takes 32, a member of five bytes 24 more. */
    arena_init(&a, 32 * arguments.n + 65536);
    if (json_open(&doc, arguments.n ? arguments : STR("{}"), &e))
        agent_tool_write_canonical(out, &doc, json_root(&doc), &a);
    else
        buf_add(out, arguments);
    arena_release(&a);
    json_release(&doc);
}
