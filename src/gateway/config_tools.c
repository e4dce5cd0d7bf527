/* config_tools.c - where the tools of agents come from: MCP servers, OpenAPI documents, requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "gateway/config_agents.h"
#include "gateway/config_build.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX 1000 /* of a folder that are compared with one that is missing */
#define NAME_SHOWN 60

/* ---- files ---- */

bool config_has_room(struct config_build *b, const struct json_node *v)
{
    return arena_fits(&b->c->arena, CONFIG_YAML_ARENA + OPENAPI_ARENA, 0) ||
           config_wrong(b, v, "the files of agents and tools are too large together");
}

bool config_file_read(struct arena *a, const char *path, size_t size_max, str *out, struct err *e)
{
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return err_input(e, "%s is a pipe, a socket or a device: name a file", path);
    return file_read(a, path, size_max, out, e);
}

bool config_url_check(struct config_build *b, const struct json_node *v, str url,
                      struct client_url *out)
{
    struct err e;

    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.p[i] <= ' ' || url.p[i] == 0x7f)
            return config_wrong(b, v, "the URL holds a space or a control character");
    return client_url_parse(str_slice(url, 0, str_find(url, STR("?"))), out, &e) ||
           config_wrong(b, v, "%s", e.text);
}

/* The name in the folder that is most similar to the missing file's, or NULL. */
static const char *config_nearest_file(struct arena *a, str path)
{
    const char *slash = strrchr(path.p, '/'), *near;
    const char *folder = slash ? arena_dup(a, (str){path.p, (size_t)(slash - path.p) + 1}).p : ".";
    const char **names = arena_zero(a, NAMES_MAX + 1, sizeof *names);
    DIR *dir = opendir(folder);
    struct dirent *d;
    size_t n = 0;

    while (dir && n < NAMES_MAX && (d = readdir(dir)))
        if (d->d_name[0] != '.')
            names[n++] = arena_dup(a, str_c(d->d_name)).p;
    if (dir)
        (void)closedir(dir);
    near = config_nearest(str_c(slash ? slash + 1 : path.p), names);
    return near;
}

bool config_read_file(struct config_build *b, const struct json_node *v, size_t size_max, str *out)
{
    str path;
    const char *near;
    struct arena a;
    struct err e;
    bool ok;

    if (!str_trim(config_text(b, v)).n)
        return config_wrong(b, v, "is empty: name a file, or leave the setting out");
    if (!config_resolve(b, v, config_text(b, v), &path))
        return false;
    if (memchr(path.p, 0, path.n))
        return config_wrong(b, v, "the path has a NUL in it");
    arena_init(&a, 4 * size_max + 65536);
    ok = config_file_read(&a, path.p, size_max, out, &e);
    near = !ok && e.code == ERR_NOT_FOUND ? config_nearest_file(&a, path) : NULL;
    if (near)
        ok = config_wrong(b, v, "there is no file %s, did you mean \"%s\"?", path.p, near);
    else if (!ok)
        ok = config_wrong(b, v, "%s", e.text);
    else if (!config_has_room(b, v))
        ok = false;
    else if (!utf8_valid(*out))
        ok = config_wrong(b, v, "%s is not UTF-8 text: save it as UTF-8", path.p);
    else
        *out = arena_dup(&b->c->arena, *out);
    arena_release(&a);
    return ok;
}

bool config_schema_value(struct config_build *b, const struct json_node *v, str *out)
{
    struct schema *s;
    struct err e;
    bool ok;

    *out = STR("");
    if (!v)
        return true;
    if (v->kind == JSON_OBJECT)
        *out = arena_dup(&b->c->arena, json_raw(&b->source->doc, v));
    else if (!config_read_file(b, v, SCHEMA_SIZE_MAX / 4, out))
        return false;
    s = schema_new();
    ok = schema_compile(s, *out, &e);
    schema_free(s);
    return ok || config_wrong(b, v, "this is not a JSON Schema: %s", e.text);
}

bool config_arguments_check(str schema, struct err *e)
{
    const struct json_node *type;
    struct schema *s;
    struct json doc;
    bool ok = json_open(&doc, schema, e);

    if (ok && json_root(&doc)->kind != JSON_OBJECT)
        ok = err_input(e, "must be a JSON Schema that is an object, such as {}");
    s = schema_new();
    ok = ok && schema_compile(s, schema, e);
    schema_free(s);
    type = ok ? json_find(&doc, json_root(&doc), STR("type")) : NULL;
    if (type && type->kind == JSON_STRING && !json_is(&doc, type, STR("object")))
        ok = err_input(e, "/type: must be object, because arguments are an object");
    json_release(&doc);
    return ok;
}

/* ---- one source ---- */

static bool config_tools_url(struct config_build *b, const struct json_node *v, str *out)
{
    struct client_url parsed;

    *out = config_text(b, v);
    return config_url_check(b, v, *out, &parsed);
}

static bool config_tools_env(struct config_build *b, const struct json_node *env,
                             struct config_tools *t)
{
    static const char *const inherited[] = {"PATH", "HOME"};
    const struct json *doc = &b->source->doc;
    const char **vars =
        arena_zero(&b->c->arena, json_count(doc, env) + COUNT_OF(inherited) + 1, sizeof *vars);
    size_t n = 0;

    for (const struct json_node *k = json_first(doc, env); k; k = json_next(doc, env, k)) {
        str name = config_text(b, k);

        if (!config_is_variable(name))
            return config_wrong(
                b, k, "not a name of an environment variable: use letters, digits and _");
        vars[n++] = arena_join(&b->c->arena, name, STR("="), config_text(b, json_value(k))).p;
    }
    for (size_t i = 0; i < COUNT_OF(inherited); i++)
        if (getenv(inherited[i]) && !config_member(b, env, inherited[i]))
            vars[n++] = arena_printf(&b->c->arena, "%s=%s", inherited[i], getenv(inherited[i])).p;
    t->env = vars;
    return true;
}

/* Whether a program of this name is there: in its PATH, or where its path leads from its folder. */
static bool config_tools_program(struct config_build *b, const struct config_tools *t)
{
    str program = str_c(t->argv[0]), rest = STR(""), folder;

    if (str_find(program, STR("/")) != STR_NONE)
        return access(program.p[0] == '/'
                          ? program.p
                          : arena_printf(&b->c->arena, "%s/%s", t->cwd, program.p).p,
                      X_OK) == 0;
    for (const char *const *var = t->env; *var; var++)
        if (str_starts(str_c(*var), STR("PATH=")))
            rest = str_slice(str_c(*var), 5, strlen(*var));
    for (; rest.n; rest = str_slice(rest, folder.n + 1, rest.n)) {
        folder = str_slice(rest, 0, str_find(rest, STR(":")));
        if (access(arena_printf(&b->c->arena, STR_FMT "/%s", STR_ARG(folder), program.p).p, X_OK) ==
            0)
            return true;
    }
    return str_eq(program, STR("rationale")); /* this very program */
}

static bool config_tools_command(struct config_build *b, const struct json_node *v,
                                 struct config_tools *t)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *args = config_member(b, v, "args"), *cwd = config_member(b, v, "cwd");
    const char **argv = arena_zero(&b->c->arena, json_count(doc, args) + 2, sizeof *argv);
    const struct json_node *env = config_member(b, v, "env");
    size_t n = 0;
    str folder = b->c->folder;

    argv[n++] = config_text(b, config_member(b, v, "command")).p;
    for (const struct json_node *w = json_first(doc, args); w; w = json_next(doc, args, w))
        argv[n++] = config_text(b, w).p;
    t->argv = argv;
    /* Without `cwd` a server runs in the folder of the file, so that "server.py" is found there. */
    if (cwd && !config_resolve(b, cwd, config_text(b, cwd), &folder))
        return false;
    t->cwd = folder.n ? folder.p : "./";
    if (!config_tools_env(b, env ? env : config_member(b, v, "environment"), t))
        return false;
    if (!config_tools_program(b, t))
        config_warn(b,
                    config_member(b, v, "command"),
                    "there is no program \"%.*s\": install it, or write its path",
                    NAME_SHOWN,
                    t->argv[0]);
    return true;
}

static bool config_tools_mcp(struct config_build *b, const struct json_node *v,
                             struct config_tools *t)
{
    const struct json_node *command = config_member(b, v, "command"),
                           *url = config_member(b, v, "url");
    static const char *const of_command[] = {"args", "env", "environment", "cwd"};

    t->kind = CONFIG_TOOLS_MCP;
    if ((command != NULL) == (url != NULL))
        return config_wrong(b, v, "a server has either a command or a url");
    if (command && config_member(b, v, "headers"))
        return config_wrong(b, v, "headers are for a server with a url; give a program its env");
    if (command)
        return config_tools_command(b, v, t);
    for (size_t i = 0; i < COUNT_OF(of_command); i++)
        if (config_member(b, v, of_command[i]))
            return config_wrong(b, v, "%s is for a server with a command", of_command[i]);
    return config_tools_url(b, url, &t->url) &&
           config_headers_read(b, config_member(b, v, "headers"), &t->headers);
}

/* JSON, or YAML that says the same. */
static bool config_openapi_json(struct config_build *b, const struct json_node *v, str *text)
{
    struct yaml yaml;
    struct err e;

    if (!config_read_file(b, v, OPENAPI_SIZE_MAX, text))
        return false;
    if (str_starts(str_trim(*text), STR("{")))
        return true;
    if (text->n > YAML_SIZE_MAX)
        return config_wrong(
            b, v, "a YAML file of more than %zu bytes: write it as JSON", YAML_SIZE_MAX);
    if (!config_has_room(b, v))
        return false;
    if (!yaml_read(*text, &b->c->arena, &yaml, &e))
        return config_wrong(b, v, "line %u: %s", yaml.line, e.text);
    *text = yaml.json;
    return true;
}

static bool config_tools_openapi(struct config_build *b, const struct json_node *v,
                                 struct config_tools *t)
{
    const struct json_node *file = config_member(b, v, "openapi"),
                           *base = config_member(b, v, "base_url");
    str text = STR(""), line;
    struct err e;

    t->kind = CONFIG_TOOLS_OPENAPI;
    if (!config_openapi_json(b, file, &text))
        return false;
    if (!openapi_read(text, &b->c->arena, &t->openapi, &e))
        return config_wrong(b, file, "%s", e.text);
    for (str rest = t->openapi.left_out; rest.n; rest = str_slice(rest, line.n + 1, rest.n)) {
        line = str_slice(rest, 0, str_find(rest, STR("\n")));
        config_warn(b, file, "an operation is left out: " STR_FMT, STR_ARG(line));
    }
    t->url = t->openapi.server;
    if (base ? !config_tools_url(b, base, &t->url) : !str_starts(t->url, STR("http")))
        return base ? false : config_wrong(b, v, "say where the service is: base_url");
    return config_headers_read(b, config_member(b, v, "headers"), &t->headers);
}

static bool config_tools_http(struct config_build *b, const struct json_node *v,
                              struct config_tools *t)
{
    const struct json_node *schema = config_member(b, v, "schema");
    struct err e;

    t->kind = CONFIG_TOOLS_HTTP;
    if (str_eq(t->method, STR("GET")))
        t->read_only = true;
    if (str_eq(t->method, STR("PUT")) || str_eq(t->method, STR("DELETE")))
        t->idempotent = true;
    if (!config_schema_value(b, schema, &t->schema))
        return false;
    if (schema && !config_arguments_check(t->schema, &e))
        return config_wrong(b, schema, "%s", e.text);
    return config_tools_url(b, config_member(b, v, "url"), &t->url) &&
           config_headers_read(b, config_member(b, v, "headers"), &t->headers);
}

/* Sources with the same digest can share a running server. */
static void config_tools_digest(struct config_build *b, const struct json_node *v,
                                struct config_tools *t)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    struct sha256 h;

    sha256_init(&h);
    sha256_feed(&h, str_c(t->cwd));
    sha256_feed(&h, json_raw(&b->source->doc, v));
    for (const char *const *var = t->env; var && *var; var++)
        sha256_feed(&h, str_c(*var));
    sha256_finish(&h, digest);
    sha256_hex(digest, hex);
    t->digest = arena_dup(&b->c->arena, str_c(hex));
}

bool config_mcp_read(struct config_build *b, const struct json_node *v, struct config_tools *t)
{
    bool ok;

    t->url = t->schema = STR("");
    ok = config_tools_mcp(b, v, t);
    config_tools_digest(b, v, t);
    return ok;
}

static bool config_tools_one(struct config_build *b, const struct json_node *key,
                             struct config_tools *t)
{
    const struct json_node *v = json_value(key), *mcp = config_member(b, v, "mcp"),
                           *openapi = config_member(b, v, "openapi"),
                           *http = config_member(b, v, "http");
    bool ok;

    t->name = config_text(b, key);
    t->url = t->schema = STR("");
    if (!config_check_name(b, key, t->name))
        return false;
    if (str_find(t->name, STR(".")) != STR_NONE)
        return config_wrong(b, key, "the name of a tool source has no dot: that is for its tools");
    if (str_eq(t->name, STR("result_search")))
        return config_wrong(b, key, "this is the name of a built-in tool");
    if ((mcp != NULL) + (openapi != NULL) + (http != NULL) != 1)
        return config_wrong(b, key, "must have one of mcp, openapi and http");
    if (!openapi && (config_member(b, v, "base_url") || config_member(b, v, "headers")))
        return config_wrong(b, key, "base_url and headers beside it belong to openapi");
    if (!config_rows_read(b, &config_tools_rows, v, t))
        return false;
    ok = mcp       ? config_tools_mcp(b, mcp, t)
         : openapi ? config_tools_openapi(b, v, t)
                   : config_tools_http(b, http, t);
    config_tools_digest(b, v, t);
    return ok;
}

bool config_tools_read(struct config_build *b, const struct json_node *all)
{
    const struct json *doc = &b->source->doc;
    struct config_agents *to = b->c->agents;
    size_t n = json_count(doc, all);
    bool ok = true;

    if (n > CONFIG_TOOL_SOURCES_MAX)
        return config_wrong(b, all, "at most %d tool sources", CONFIG_TOOL_SOURCES_MAX);
    to->tools = arena_zero(&b->c->arena, n + 1, sizeof *to->tools);
    for (const struct json_node *k = json_first(doc, all); k; k = json_next(doc, all, k))
        ok &= config_tools_one(b, k, &to->tools[to->tools_count++]);
    return ok;
}

/* ---- references to tools ---- */

static bool config_tool_unknown(struct config_build *b, const struct json_node *v,
                                const struct config_tools *t, str tool)
{
    const struct openapi *api = &t->openapi;
    const char **names = arena_zero(&b->c->arena, api->count + 1, sizeof *names);

    if (t->kind == CONFIG_TOOLS_HTTP)
        return config_wrong(b,
                            v,
                            "\"" STR_FMT "\" is one tool: name it without \"." STR_FMT "\"",
                            STR_ARG(t->name),
                            STR_ARG(str_slice(tool, 0, NAME_SHOWN)));
    for (size_t i = 0; i < api->count; i++)
        names[i] = arena_dup(&b->c->arena, api->operations[i].name).p;
    return config_unknown(b, v, "operation", tool, names);
}

bool config_tool_ref_read(struct config_build *b, const struct json_node *v,
                          struct config_tool_ref *out)
{
    const struct config_agents *all = b->c->agents;
    const char *names[CONFIG_TOOL_SOURCES_MAX + 1] = {NULL};
    str text = config_text(b, v), tool = text, source = str_cut(&tool, '.');

    for (size_t i = 0; i < all->tools_count; i++) {
        const struct config_tools *t = &all->tools[i];

        names[i] = t->name.p;
        if (!str_eq(t->name, source))
            continue;
        *out =
            (struct config_tool_ref){.source = i, .tool = tool, .line = config_line(b->source, v)};
        if (source.n < text.n && tool.n == 0)
            return config_wrong(b, v, "say which tool after the dot, or leave the dot out");
        if (tool.n == 0 || t->kind == CONFIG_TOOLS_MCP || openapi_find(&t->openapi, tool))
            return true;
        return config_tool_unknown(b, v, t, tool);
    }
    return config_unknown(b, v, "tool source", source, names);
}
