/* setup_server.c - the servers of agents.yaml: from the tree to the structs.
 *
 * The schema has checked the tree's types; this file checks dependencies between values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/setup.h"
#include "gateway/config_build.h"
#include "mcp/client.h"

#define TIMEOUT_MS_MAX 600000

const struct json_node *setup_find(struct config_build *b, const struct json_node *v,
                                   const char *key)
{
    return json_find(&b->source->doc, v, str_c(key));
}

str setup_text(struct config_build *b, struct incident_setup *s, const struct json_node *v)
{
    return arena_dup(&s->arena, config_text(b, v));
}

const char *const *setup_words(struct config_build *b, struct incident_setup *s,
                               const struct json_node *list)
{
    const struct json *doc = &b->source->doc;
    const char **out = arena_zero(&s->arena, json_count(doc, list) + 1, sizeof *out);
    size_t n = 0;

    JSON_FOREACH(v, doc, list)
        out[n++] = setup_text(b, s, v).p;
    return out;
}

/* ---- masking of a server ---- */

static const struct {
    const char *name;
    unsigned groups;
} known_patterns[] = {
    {"basic", MASK_CREDENTIALS},
    {"secrets", MASK_CREDENTIALS | MASK_PRIVATE_KEYS},
    {"security", MASK_CREDENTIALS | MASK_PRIVATE_KEYS | MASK_EMAIL},
    {"kubernetes", MASK_KUBERNETES | MASK_CREDENTIALS},
    {"kubernetes_secret", MASK_KUBERNETES},
    {"kubernetes_data_section", MASK_KUBERNETES},
    {"kubernetes_stringdata_json", MASK_KUBERNETES},
    {"api_key", MASK_CREDENTIALS},
    {"password", MASK_CREDENTIALS},
    {"token", MASK_CREDENTIALS},
    {"secret", MASK_CREDENTIALS},
    {"base64_secret", MASK_CREDENTIALS},
    {"certificate", MASK_PRIVATE_KEYS},
    {"certificate_authority_data", MASK_PRIVATE_KEYS | MASK_KUBERNETES},
    {"private_key", MASK_PRIVATE_KEYS},
    {"ssh_key", MASK_PRIVATE_KEYS},
    {"email", MASK_EMAIL},
};

static bool add_groups(struct config_build *b, const struct json_node *list, unsigned *groups)
{
    const struct json *doc = &b->source->doc;
    const char *names[COUNT_OF(known_patterns) + 32];
    size_t n = 0;

    for (; mask_group_names[n] && n < 31; n++)
        names[n] = mask_group_names[n];
    for (size_t i = 0; i < COUNT_OF(known_patterns); i++)
        names[n++] = known_patterns[i].name;
    names[n] = NULL;
    JSON_FOREACH(v, doc, list) {
        str name = config_text(b, v);
        unsigned found = mask_group_find(name);

        for (size_t i = 0; i < COUNT_OF(known_patterns); i++)
            if (str_eq(name, str_c(known_patterns[i].name)))
                found |= known_patterns[i].groups;
        if (!found)
            return config_unknown(b, v, "group of patterns", name, names);
        *groups |= found;
    }
    return true;
}

static bool add_patterns(struct config_build *b, const struct json_node *list,
                         struct mask_options *o)
{
    const struct json *doc = &b->source->doc;
    size_t n = json_count(doc, list);
    struct mask_pattern *patterns = arena_zero(&b->c->arena, n + 1, sizeof *patterns);
    struct err e;

    if (n > MASK_PATTERNS_MAX)
        return config_wrong(b, list, "at most %d patterns", MASK_PATTERNS_MAX);
    JSON_FOREACH(v, doc, list) {
        struct mask_pattern *p = &patterns[o->pattern_count];
        bool enabled;

        *p = (struct mask_pattern){config_text(b, setup_find(b, v, "name")),
                                   config_text(b, setup_find(b, v, "pattern")),
                                   config_text(b, setup_find(b, v, "replacement"))};
        if (!mask_pattern_check(p, &e))
            return config_wrong(b, v, "%s", e.text);
        if (!json_bool(setup_find(b, v, "enabled"), &enabled) || enabled)
            o->pattern_count++;
    }
    o->patterns = patterns;
    return true;
}

static bool read_masking(struct config_build *b, const struct json_node *v,
                         struct incident_server *to)
{
    struct mask_options o = {0};
    bool enabled;

    if (!v || (json_bool(setup_find(b, v, "enabled"), &enabled) && !enabled))
        return true;
    if (!add_groups(b, setup_find(b, v, "pattern_groups"), &o.groups) ||
        !add_groups(b, setup_find(b, v, "patterns"), &o.groups) ||
        !add_patterns(b, setup_find(b, v, "custom_patterns"), &o))
        return false;
    if (!o.groups && !o.pattern_count)
        o.groups = MASK_DEFAULT;
    return mask_new(&o, &to->mask, b->e);
}

/* ---- servers ---- */

static bool read_command(struct config_build *b, struct incident_setup *s,
                         const struct json_node *v, str folder, struct incident_server *to)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *args = setup_find(b, v, "args"), *env = setup_find(b, v, "environment"),
                           *cwd = setup_find(b, v, "cwd");
    size_t n = json_count(doc, args), at = 0;
    const char **argv = arena_zero(&s->arena, n + 2, sizeof *argv);
    const char **vars = arena_zero(&s->arena, json_count(doc, env) + 3, sizeof *vars);

    argv[at++] = setup_text(b, s, setup_find(b, v, "command")).p;
    JSON_FOREACH(w, doc, args)
        argv[at++] = setup_text(b, s, w).p;
    at = 0;
    JSON_FOREACH(k, doc, env) {
        str name = config_text(b, k), value = config_text(b, json_value(k));

        if (!config_is_variable(name))
            return config_wrong(b, k, "this is no name of an environment variable");
        vars[at++] = arena_join(&s->arena, name, STR("="), value).p;
    }
    for (size_t i = 0; i < 2; i++) {
        static const char *const inherited[] = {"PATH", "HOME"};
        const char *value = getenv(inherited[i]);

        if (value && !setup_find(b, env, inherited[i]))
            vars[at++] = arena_printf(&s->arena, "%s=%s", inherited[i], value).p;
    }
    to->argv = argv;
    to->env = vars;
    /* Without a folder of its own it runs in that of the file, so that `./server` is beside it. */
    if (cwd && str_starts(config_text(b, cwd), STR("/")))
        to->cwd = setup_text(b, s, cwd).p;
    else
        to->cwd = arena_join(&s->arena, folder, cwd ? config_text(b, cwd) : STR(""), STR("")).p;
    return true;
}

static bool read_headers(struct config_build *b, struct incident_setup *s,
                         const struct json_node *v, struct incident_server *to)
{
    struct buf lines;
    bool ok;

    buf_init(&lines, CONFIG_HEADERS_MAX);
    ok = config_header_lines(b, v, &lines);
    to->headers = arena_dup(&s->arena, buf_str(&lines));
    buf_release(&lines);
    return ok;
}

static bool read_connection(struct config_build *b, struct incident_setup *s,
                            const struct json_node *v, str folder, struct incident_server *to)
{
    bool command = setup_find(b, v, "command") != NULL, url = setup_find(b, v, "url") != NULL;

    if (command == url)
        return config_wrong(b, v, "a server has either a command or a url");
    if (command)
        return read_command(b, s, v, folder, to);
    to->url = setup_text(b, s, setup_find(b, v, "url"));
    if (!str_starts(to->url, STR("http://")) && !str_starts(to->url, STR("https://")))
        return config_wrong(b, setup_find(b, v, "url"), "must begin with http:// or https://");
    return read_headers(b, s, setup_find(b, v, "headers"), to);
}

static bool read_timeout(struct config_build *b, const struct json_node *v, unsigned *ms)
{
    str text = config_text(b, v);
    bool is_ms = str_ends(text, STR("ms")), is_s = str_ends(text, STR("s"));
    uint64_t n;

    *ms = MCP_CALL_MS;
    if (!v)
        return true;
    if (!str_u64(str_slice(text,
                           0,
                           text.n - (is_ms  ? 2
                                     : is_s ? 1
                                            : 0)),
                 &n) ||
        n == 0 || n > TIMEOUT_MS_MAX || (!is_ms && n > TIMEOUT_MS_MAX / 1000))
        return config_wrong(b, v, "must be a time such as 30s or 500ms, at most 600s");
    *ms = (unsigned)(is_ms ? n : n * 1000);
    return true;
}

/* A flag for all of its tools, or a list of those that a person is asked about. */
static void read_approval(struct config_build *b, struct incident_setup *s,
                          const struct json_node *v, struct incident_server *to)
{
    if (!v || json_bool(v, &to->approval))
        return;
    to->approve = setup_words(b, s, v);
    to->approval = to->approve[0] != NULL;
}

static bool read_server(struct config_build *b, struct incident_setup *s, str folder,
                        const struct json_node *key)
{
    const struct json_node *v = json_value(key), *id = setup_find(b, v, "server_id");
    struct incident_server *to = &s->servers[s->server_count];

    *to = (struct incident_server){.name = setup_text(b, s, key),
                                   .url = STR(""),
                                   .headers = STR(""),
                                   .instructions =
                                       setup_text(b, s, setup_find(b, v, "instructions"))};
    s->server_count++;
    read_approval(b, s, setup_find(b, v, "approval"), to);
    if (!config_check_name(b, key, to->name))
        return false;
    if (id && !str_eq(config_text(b, id), to->name))
        return config_wrong(b, id, "is not the name that the server has here");
    return read_connection(b, s, setup_find(b, v, "connection_params"), folder, to) &&
           read_timeout(b, setup_find(b, v, "timeout"), &to->timeout_ms) &&
           read_masking(b, setup_find(b, v, "data_masking"), to);
}

bool setup_read_servers(struct config_build *b, struct incident_setup *s, str folder)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *all = setup_find(b, json_root(doc), "mcp_servers");
    size_t n = json_count(doc, all);

    if (n > INCIDENT_SERVERS_MAX)
        return config_wrong(b, all, "at most %d servers", INCIDENT_SERVERS_MAX);
    s->servers = arena_zero(&s->arena, n + 1, sizeof *s->servers);
    JSON_FOREACH(k, doc, all)
        if (!read_server(b, s, folder, k))
            return false;
    return true;
}
