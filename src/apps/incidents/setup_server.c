/* setup_server.c - the servers of agents.yaml: from the tree to the structs.
 *
 * The schema has checked the tree's types; this file checks dependencies between values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/setup.h"
#include "gateway/config_build.h"

const struct json_node *setup_find(struct config_build *b, const struct json_node *v,
                                   const char *key)
{
    return json_find(&b->source->doc, v, str_c(key));
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

static bool setup_add_groups(struct config_build *b, const struct json_node *list, unsigned *groups)
{
    const struct json *doc = &b->source->doc;
    const char *names[COUNT_OF(known_patterns) + 32];
    size_t n = 0;

    for (; mask_group_names[n] && n < 31; n++)
        names[n] = mask_group_names[n];
    for (size_t i = 0; i < COUNT_OF(known_patterns); i++)
        names[n++] = known_patterns[i].name;
    assert(n < COUNT_OF(names));
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

static bool setup_read_masking(struct config_build *b, const struct json_node *v, struct mask **out)
{
    struct mask_options o = {0};
    bool enabled;

    if (!v || (json_bool(setup_find(b, v, "enabled"), &enabled) && !enabled))
        return true;
    if (!setup_add_groups(b, setup_find(b, v, "pattern_groups"), &o.groups) ||
        !setup_add_groups(b, setup_find(b, v, "patterns"), &o.groups) ||
        !config_mask_patterns_read(b, setup_find(b, v, "custom_patterns")))
        return false;
    o.patterns = b->c->mask_patterns;
    o.pattern_count = b->c->mask_pattern_count;
    if (!o.groups && !o.pattern_count)
        o.groups = MASK_DEFAULT;
    return mask_new(&o, out, b->e);
}

/* ---- servers ---- */

/* A flag for all of its tools, or a list of those that need approval. */
static void setup_read_approval(struct config_build *b, struct incident_setup *s,
                                const struct json_node *v, size_t source)
{
    const struct json *doc = &b->source->doc;
    struct config_tool_ref ref = {.source = source, .tool = STR("")};
    bool all = v && json_bool(v, &all) && all;

    if (all)
        s->approve[s->approve_count++] = ref;
    JSON_FOREACH(t, doc, all ? NULL : v) {
        ref.tool = config_text(b, t);
        ref.line = config_line(b->source, t);
        s->approve[s->approve_count++] = ref;
    }
}

static const struct config_row timeout_row[] = {
    {"timeout", CONFIG_IS_MS, offsetof(struct config_tools, timeout_ms), "12s", 1, 600000, NULL, 0},
};
static const struct config_rows server_rows = {timeout_row, COUNT_OF(timeout_row)};

static bool setup_read_server(struct config_build *b, struct incident_setup *s,
                              const struct json_node *key)
{
    const struct json_node *v = json_value(key), *id = setup_find(b, v, "server_id");
    size_t at = b->c->agents->tools_count++;
    struct config_tools *tools = &b->c->agents->tools[at];
    struct incident_server *to = &s->servers[at];

    assert(at < CONFIG_TOOL_SOURCES_MAX);
    tools->name = config_text(b, key);
    to->instructions = config_text(b, setup_find(b, v, "instructions"));
    if (!json_bool(setup_find(b, v, "enabled"), &to->on))
        to->on = true;
    setup_read_approval(b, s, setup_find(b, v, "approval"), at);
    if (!config_check_name(b, key, tools->name))
        return false;
    if (id && !str_eq(config_text(b, id), tools->name))
        return config_wrong(b, id, "is not the name that the server has here");
    return config_mcp_read(b, setup_find(b, v, "connection_params"), tools) &&
           config_rows_read(b, &server_rows, v, tools) &&
           setup_read_masking(b, setup_find(b, v, "data_masking"), &tools->mask);
}

bool setup_read_servers(struct config_build *b, struct incident_setup *s)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *all = setup_find(b, json_root(doc), "mcp_servers");
    size_t n = json_count(doc, all), approvals = n;

    if (n > CONFIG_TOOL_SOURCES_MAX)
        return config_wrong(b, all, "at most %d servers", CONFIG_TOOL_SOURCES_MAX);
    JSON_FOREACH(k, doc, all)
        approvals += json_count(doc, setup_find(b, json_value(k), "approval"));
    assert(b->c->agents->tools_count == 0);
    s->servers = arena_zero(&b->c->arena, n + 1, sizeof *s->servers);
    s->approve = arena_zero(&b->c->arena, approvals + 1, sizeof *s->approve);
    b->c->agents->tools = arena_zero(&b->c->arena, n + 1, sizeof *b->c->agents->tools);
    JSON_FOREACH(k, doc, all)
        if (!setup_read_server(b, s, k))
            return false;
    return true;
}
