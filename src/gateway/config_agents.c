/* config_agents.c - agents, in the configuration or in a file each, and their workflows.
 *
 * All names are collected first, so that agents may name one another in any order. A file of the
 * folder holds one agent, which is called as the file is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_agents.h"

#include "base/sha256.h"
#include "gateway/config_build.h"

#include <dirent.h>
#include <errno.h>

#define PROMPT_MAX ((size_t)1 << 20)

/* An agent that is to be read. */
struct config_agent_place {
    struct config_source *source;
    str file, folder;           /* "": the configuration itself */
    const struct json_node *at; /* where its name is, or NULL: a file of its own */
    const struct json_node *v;
};

struct config_agents_reader {
    struct config_build *b;
    struct config_agent_place *places; /* one for each of config_agents.agents */
    const char **names;                /* of the agents, ending with NULL */
};

/* ---- which agents there are ---- */

static bool config_agent_add(struct config_agents_reader *r, str name,
                             const struct config_agent_place *place)
{
    struct config_agents *to = r->b->c->agents;
    struct config_agent *a = &to->agents[to->agent_count];
    const struct json_node *at = place->at ? place->at : place->v;

    if (to->agent_count == CONFIG_AGENTS_MAX)
        return config_wrong(r->b, at, "at most %d agents", CONFIG_AGENTS_MAX);
    if (!config_check_name(r->b, at, name))
        return false;
    for (size_t i = 0; i < to->agent_count; i++)
        if (str_eq(to->agents[i].name, name))
            return config_wrong(r->b,
                                at,
                                "there is an agent \"" STR_FMT "\" in " STR_FMT " already",
                                STR_ARG(name),
                                STR_ARG(to->agents[i].file));
    assert(to->agent_count < CONFIG_AGENTS_MAX);
    *a = (struct config_agent){.name = name,
                               .file = place->file.n ? place->file : r->b->c->path,
                               .line = config_line(place->source, at),
                               .limits = {.tokens = -1}};
    r->places[to->agent_count] = *place;
    r->names[to->agent_count++] = name.p;
    return true;
}

static bool config_agents_collect(struct config_agents_reader *r, const struct json_node *all)
{
    const struct json *doc = &r->b->source->doc;
    bool ok = true;

    for (const struct json_node *k = json_first(doc, all); k; k = json_next(doc, all, k)) {
        struct config_agent_place p = {.source = r->b->source,
                                       .file = STR(""),
                                       .folder = STR(""),
                                       .at = k,
                                       .v = json_value(k)};

        ok &= config_agent_add(r, config_text(r->b, k), &p);
    }
    return ok;
}

/* An agent's file as a tree of its own, whose errors name the file and its lines. */
static bool config_agent_file_parse(struct config_build *b, str text)
{
    struct config_source *source = b->source;
    struct err e;
    unsigned line;

    if (!yaml_read(text, &b->c->arena, &source->yaml, &e)) {
        line = source->yaml.line;
        if (b->problem_count++ == 0) {
            *b->e = e;
            err_prefix(b->e, "%s:%u: ", b->file.p, line);
        }
        if (b->sink)
            b->sink->on_problem(b->sink->ctx,
                                &(struct config_problem){line, STR(""), str_c(e.text), b->file});
        return false;
    }
    return json_parse(&source->doc, source->yaml.json, b->e) &&
           config_check_shape(b, config_agent_schema(&b->c->arena));
}

static const struct json_node *config_agents_folder(struct config_build *b)
{
    return config_member(b, json_root(&b->source->doc), "agents_folder");
}

static bool config_agent_file_read(struct config_agents_reader *r, str file, str name)
{
    struct config_build *b = r->b, of_file = *b;
    struct config_source *source = arena_zero(&b->c->arena, 1, sizeof *source);
    struct config_agent_place p = {.source = source, .file = file};
    struct arena a;
    struct err e;
    str text;
    bool ok;

    json_init(&source->doc);
    p.folder = arena_join(&b->c->arena, b->c->agents_folder, STR("/"), STR(""));
    of_file.source = source;
    of_file.file = file;
    of_file.folder = p.folder;
    arena_init(&a, 4 * YAML_SIZE_MAX);
    ok = config_file_read(&a, file.p, YAML_SIZE_MAX, &text, &e);
    if (!ok)
        ok = config_wrong(b, config_agents_folder(b), "%s", e.text);
    else
        ok = config_agent_file_parse(&of_file, text);
    arena_release(&a);
    if (ok) {
        p.v = json_root(&source->doc);
        r->b = &of_file;
        ok = config_agent_add(r, name, &p);
        r->b = b;
    }
    b->problem_count = of_file.problem_count;
    if (!ok)
        json_release(&source->doc);
    return ok;
}

/* The .yaml and .yml files of the folder, by name. */
static bool config_agents_list(struct config_build *b, const char ***out, size_t *n)
{
    const struct json_node *v = config_agents_folder(b);
    const char **names = arena_zero(&b->c->arena, CONFIG_AGENTS_MAX + 1, sizeof *names);
    DIR *dir = opendir(b->c->agents_folder.p);
    struct dirent *d;

    *out = names;
    *n = 0;
    if (!dir)
        return config_wrong(b, v, "%s: %s", b->c->agents_folder.p, strerror(errno));
    while (*n <= CONFIG_AGENTS_MAX && (d = readdir(dir)))
        if (d->d_name[0] != '.' &&
            (str_ends(str_c(d->d_name), STR(".yaml")) || str_ends(str_c(d->d_name), STR(".yml"))))
            names[(*n)++] = arena_dup(&b->c->arena, str_c(d->d_name)).p;
    (void)closedir(dir);
    if (*n > CONFIG_AGENTS_MAX)
        return config_wrong(b, v, "the folder has more than %d agents", CONFIG_AGENTS_MAX);
    qsort(names, *n, sizeof *names, str_order_names);
    return true;
}

static bool config_agents_collect_files(struct config_agents_reader *r)
{
    struct config_build *b = r->b;
    const char **names;
    bool ok = true;
    size_t n;

    if (b->c->agents_folder.n == 0)
        return true;
    if (!config_agents_list(b, &names, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        str name = str_c(names[i]),
            stem = str_slice(name, 0, name.n - (str_ends(name, STR(".yml")) ? 4 : 5));

        if (!config_has_room(b, config_agents_folder(b)))
            return false;
        ok &= config_agent_file_read(r,
                                     arena_join(&b->c->arena, b->c->agents_folder, STR("/"), name),
                                     arena_dup(&b->c->arena, stem));
    }
    return ok;
}

/* ---- one agent ---- */

static bool config_agent_find(struct config_agents_reader *r, const struct json_node *v,
                              size_t *out)
{
    return config_find_name(r->b, v, "agent", r->names, out);
}

static bool config_agent_unknown_model(struct config_build *b, const struct json_node *v, str model)
{
    const struct config *c = b->c;
    const char **names;
    struct arena a;
    size_t n = 0;

    for (size_t i = 0; i < c->provider_count; i++)
        n += c->providers[i].model_count;
    arena_init(&a, 4 * YAML_JSON_MAX);
    names = arena_zero(&a, n + 1, sizeof *names);
    n = 0;
    for (size_t i = 0; i < c->provider_count; i++)
        for (size_t j = 0; j < c->providers[i].model_count; j++)
            names[n++] = c->providers[i].models[j].alias.p;
    (void)config_unknown(b, config_member(b, v, "model"), "model", model, names);
    arena_release(&a);
    return false;
}

/* Without one it is the first model that a provider lists. */
static bool config_agent_model(struct config_build *b, const struct json_node *v,
                               struct config_agent *a)
{
    const struct config *c = b->c;
    struct config_route route;

    if (a->model.n)
        return config_find(c, a->model, &route) || config_agent_unknown_model(b, v, a->model);
    for (size_t i = 0; i < c->provider_count; i++)
        if (c->providers[i].model_count) {
            a->model = c->providers[i].models[0].alias;
            return true;
        }
    return config_wrong(b, v, "say which model it uses: no provider lists any");
}

static bool config_has_space(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ')
            return true;
    return false;
}

static bool config_prompt_check(struct config_build *b, const struct json_node *v, str prompt)
{
    if (!str_trim(prompt).n)
        return config_wrong(b, v, "has no words: write the prompt, or leave the setting out");
    return !memchr(prompt.p, 0, prompt.n) ||
           config_wrong(b, v, "has a NUL character: write the prompt without it");
}

/* Words are the prompt itself; one word with a slash or a dot is a file; any other one is a name in
 * the registry. */
static bool config_agent_prompt(struct config_build *b, const struct json_node *v,
                                struct config_agent *a)
{
    str text = config_text(b, v);

    a->prompt = a->prompt_name = STR("");
    if (text.n == 0 || config_has_space(text)) {
        a->prompt = text;
        return text.n == 0 || config_prompt_check(b, v, text);
    }
    if (str_find(text, STR("/")) == STR_NONE && str_find(text, STR(".")) == STR_NONE) {
        a->prompt_name = text;
        return config_check_name(b, v, text);
    }
    return config_read_file(b, v, PROMPT_MAX, &a->prompt) && config_prompt_check(b, v, a->prompt);
}

static bool config_agent_refs(struct config_build *b, const struct json_node *list,
                              struct config_tool_ref **out, size_t *n)
{
    const struct json *doc = &b->source->doc;
    bool ok = true;

    if (json_count(doc, list) > CONFIG_TOOL_REFS_MAX)
        return config_wrong(b, list, "at most %d tools", CONFIG_TOOL_REFS_MAX);
    *out = arena_zero(&b->c->arena, json_count(doc, list) + 1, sizeof **out);
    for (const struct json_node *v = json_first(doc, list); v; v = json_next(doc, list, v))
        ok &= config_tool_ref_read(b, v, &(*out)[(*n)++]);
    return ok;
}

/* A call that waits for a person must be one that the agent can make. */
static bool config_agent_approve(struct config_build *b, const struct json_node *list,
                                 const struct config_agent *a)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *v = json_first(doc, list);

    for (size_t i = 0; i < a->approve_count; i++, v = json_next(doc, list, v)) {
        const struct config_tool_ref *ref = &a->approve[i];
        bool found = false;

        for (size_t j = 0; j < a->tool_count; j++)
            found |= a->tools[j].source == ref->source &&
                     (!a->tools[j].tool.n || !ref->tool.n || str_eq(a->tools[j].tool, ref->tool));
        if (!found)
            return config_wrong(b, v, "the agent does not have this tool: add it to tools");
    }
    return true;
}

static bool config_agent_handoff(struct config_agents_reader *r, const struct json_node *list,
                                 struct config_agent *a)
{
    struct config_build *b = r->b;
    const struct json *doc = &b->source->doc;

    a->handoff = arena_zero(&b->c->arena, json_count(doc, list) + 1, sizeof *a->handoff);
    for (const struct json_node *v = json_first(doc, list); v; v = json_next(doc, list, v)) {
        size_t *to = &a->handoff[a->handoff_count++];

        if (!config_agent_find(r, v, to))
            return false;
        if (&b->c->agents->agents[*to] == a)
            return config_wrong(b, v, "an agent cannot hand over to itself: remove it");
        for (size_t i = 0; i + 1 < a->handoff_count; i++)
            if (a->handoff[i] == *to)
                return config_wrong(b, v, "it is named twice: remove one");
    }
    return true;
}

static bool config_agent_guard(struct config_agents_reader *r, const struct json_node *v,
                               const struct config_agent *a, struct config_guard *out)
{
    struct config_build *b = r->b;
    const struct config_agents *all = b->c->agents;
    str name = config_text(b, v);
    struct client_url parsed;

    out->url = STR("");
    if (!v)
        return true;
    if (str_find(name, STR("://")) != STR_NONE) {
        *out = (struct config_guard){.kind = CONFIG_GUARD_HTTP, .url = name};
        return config_url_check(b, v, name, &parsed);
    }
    for (size_t i = 0; i < all->tools_count; i++)
        if (all->tools[i].kind == CONFIG_TOOLS_HTTP && str_eq(all->tools[i].name, name)) {
            *out = (struct config_guard){
                .kind = CONFIG_GUARD_HTTP, .tools = &all->tools[i], .url = all->tools[i].url};
            return true;
        }
    out->kind = CONFIG_GUARD_AGENT;
    if (!config_agent_find(r, v, &out->agent))
        return false;
    return &all->agents[out->agent] != a ||
           config_wrong(b, v, "an agent cannot guard itself: name another one");
}

static void config_agent_digest(struct config_build *b, const struct json_node *v,
                                struct config_agent *a)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    struct sha256 h;

    sha256_init(&h);
    sha256_feed(&h, json_raw(&b->source->doc, v));
    sha256_feed(&h, a->model);
    sha256_feed(&h, a->prompt);
    sha256_feed(&h, a->output);
    sha256_finish(&h, digest);
    sha256_hex(digest, hex);
    a->digest = arena_dup(&b->c->arena, str_c(hex));
}

static bool config_agent_read(struct config_agents_reader *r, const struct json_node *v,
                              struct config_agent *a)
{
    struct config_build *b = r->b;
    const struct json_node *approve = config_member(b, v, "approve"),
                           *guard = config_member(b, v, "guard");
    bool ok = config_rows_read(b, &config_agent_rows, v, a), found;

    ok &= config_agent_model(b, v, a);
    ok &= config_agent_prompt(b, config_member(b, v, "prompt"), a);
    ok &= config_schema_value(b, config_member(b, v, "output"), &a->output);
    found = config_agent_refs(b, config_member(b, v, "tools"), &a->tools, &a->tool_count);
    found &= config_agent_refs(b, approve, &a->approve, &a->approve_count);
    ok &= found && config_agent_approve(b, approve, a);
    ok &= config_agent_handoff(r, config_member(b, v, "handoff"), a);
    ok &= config_agent_guard(r, config_member(b, guard, "input"), a, &a->guard_input);
    ok &= config_agent_guard(r, config_member(b, guard, "output"), a, &a->guard_output);
    config_agent_digest(b, v, a);
    if (ok)
        config_prices_check_agent(b, a, v);
    return ok;
}

/* Errors of an agent's file refer to the file's own tree. */
static bool config_agent_read_at(struct config_agents_reader *r, size_t i)
{
    const struct config_agent_place *p = &r->places[i];
    struct config_build *b = r->b, of_place = *b;
    bool ok;

    assert(i < b->c->agents->agent_count);
    of_place.source = p->source;
    of_place.file = p->file;
    of_place.folder = p->folder;
    r->b = &of_place;
    ok = config_agent_read(r, p->v, &b->c->agents->agents[i]);
    r->b = b;
    b->problem_count = of_place.problem_count;
    return ok;
}

/* A guard has no guards itself, so guards cannot form a cycle. */
static bool config_guards_check(struct config_agents_reader *r)
{
    const struct config_agents *all = r->b->c->agents;

    for (size_t i = 0; i < all->agent_count; i++) {
        const struct config_guard *guards[] = {&all->agents[i].guard_input,
                                               &all->agents[i].guard_output};

        for (size_t j = 0; j < COUNT_OF(guards); j++) {
            const struct config_agent *g = &all->agents[guards[j]->agent];
            struct config_build at = *r->b;

            if (guards[j]->kind != CONFIG_GUARD_AGENT ||
                (!g->guard_input.kind && !g->guard_output.kind))
                continue;
            at.source = r->places[i].source;
            at.file = r->places[i].file;
            (void)config_wrong(&at,
                               config_member(&at, r->places[i].v, "guard"),
                               "the guard \"" STR_FMT "\" has guards of its own: take them away",
                               STR_ARG(g->name));
            r->b->problem_count = at.problem_count;
            return false;
        }
    }
    return true;
}

/* ---- workflows ---- */

static void config_stage_label(struct config_build *b, const char *const *names,
                               struct config_stage *s)
{
    s->labels = arena_zero(&b->c->arena, s->agent_count + 1, sizeof *s->labels);
    for (size_t i = 0; i < s->agent_count; i++) {
        size_t same = 0, before = 0;

        for (size_t j = 0; j < s->agent_count; j++) {
            same += s->agents[j] == s->agents[i];
            before += s->agents[j] == s->agents[i] && j <= i;
        }
        s->labels[i] = str_c(names[s->agents[i]]);
        if (same > 1)
            s->labels[i] = arena_printf(&b->c->arena, "%s-%zu", names[s->agents[i]], before);
    }
}

static bool config_stage_agents(struct config_build *b, const struct json_node *v,
                                const char *const *names, struct config_stage *s)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *list = config_member(b, v, "agents"),
                           *one = config_member(b, v, "agent"),
                           *replicas = config_member(b, v, "replicas");
    int64_t n = 1;

    if ((list != NULL) == (one != NULL))
        return config_wrong(b, v, "a stage has either agents or an agent");
    if (list && replicas)
        return config_wrong(b, replicas, "are of one agent: name it with agent");
    if (list)
        n = (int64_t)json_count(doc, list);
    else if (replicas && !json_i64(doc, replicas, &n))
        n = 0;
    if (n < 1 || n > CONFIG_STAGE_AGENTS_MAX)
        return config_wrong(
            b, replicas ? replicas : v, "a stage has 1 to %d agents", CONFIG_STAGE_AGENTS_MAX);
    s->agents = arena_zero(&b->c->arena, (size_t)n + 1, sizeof *s->agents);
    for (int64_t i = 0; one && i < n; i++)
        if (!config_find_name(b, one, "agent", names, &s->agents[s->agent_count++]))
            return false;
    JSON_FOREACH(a, doc, list)
        if (!config_find_name(b, a, "agent", names, &s->agents[s->agent_count++]))
            return false;
    assert(s->agent_count == (size_t)n);
    config_stage_label(b, names, s);
    return true;
}

bool config_stage_read(struct config_build *b, const struct json_node *v, const char *const *names,
                       struct config_stage *stages, size_t at)
{
    const struct json_node *name = config_member(b, v, "name"),
                           *success = config_member(b, v, "success");
    struct config_stage *s = &stages[at];

    success = success ? success : config_member(b, v, "success_policy");
    if (success)
        s->all = str_eq(config_text(b, success), STR("all"));
    if (!json_bool(config_member(b, v, "parallel"), &s->parallel))
        s->parallel = false;
    s->name = name ? config_text(b, name) : arena_printf(&b->c->arena, "stage-%zu", at + 1);
    if (!config_check_name(b, name ? name : v, s->name))
        return false;
    for (size_t i = 0; i < at; i++)
        if (str_eq(stages[i].name, s->name))
            return config_wrong(
                b, name ? name : v, "there are two stages with this name: rename one");
    return config_stage_agents(b, v, names, s);
}

static bool config_workflow_read(struct config_agents_reader *r, const struct json_node *key,
                                 struct config_workflow *w)
{
    struct config_build *b = r->b;
    const struct json *doc = &b->source->doc;
    const struct json_node *list = json_value(key);
    bool ok;

    *w = (struct config_workflow){
        .name = config_text(b, key), .file = b->c->path, .line = config_line(b->source, key)};
    ok = config_check_name(b, key, w->name);
    for (size_t i = 0; i < b->c->agents->agent_count; i++)
        if (str_eq(b->c->agents->agents[i].name, w->name))
            ok = config_wrong(b, key, "an agent has this name already: rename one");
    w->stages = arena_zero(&b->c->arena, json_count(doc, list) + 1, sizeof *w->stages);
    for (const struct json_node *v = json_first(doc, list); v; v = json_next(doc, list, v))
        ok &= config_stage_read(b, v, r->names, w->stages, w->stage_count++);
    return ok;
}

static bool config_workflows_read(struct config_agents_reader *r, const struct json_node *all)
{
    const struct json *doc = &r->b->source->doc;
    struct config_agents *to = r->b->c->agents;
    size_t n = json_count(doc, all);
    bool ok = true;

    if (n > CONFIG_WORKFLOWS_MAX)
        return config_wrong(r->b, all, "at most %d workflows", CONFIG_WORKFLOWS_MAX);
    to->workflows = arena_zero(&r->b->c->arena, n + 1, sizeof *to->workflows);
    for (const struct json_node *k = json_first(doc, all); k; k = json_next(doc, all, k))
        ok &= config_workflow_read(r, k, &to->workflows[to->workflow_count++]);
    return ok;
}

bool config_agents_read(struct config_build *b, const struct json_node *root)
{
    struct config_agents *to = b->c->agents;
    struct config_agents_reader r = {.b = b};
    bool ok, room = true;

    r.places = arena_zero(&b->c->arena, CONFIG_AGENTS_MAX, sizeof *r.places);
    r.names = arena_zero(&b->c->arena, CONFIG_AGENTS_MAX + 1, sizeof *r.names);
    to->agents = arena_zero(&b->c->arena, CONFIG_AGENTS_MAX, sizeof *to->agents);
    ok = config_tools_read(b, config_member(b, root, "tools"));
    ok &= config_agents_collect(&r, config_member(b, root, "agents"));
    ok &= config_agents_collect_files(&r);
    for (size_t i = 0; i < to->agent_count && room; i++) {
        room = config_has_room(b, r.places[i].file.n ? config_agents_folder(b) : r.places[i].v);
        ok &= room && config_agent_read_at(&r, i);
    }
    ok = ok && config_guards_check(&r);
    ok &= config_workflows_read(&r, config_member(b, root, "workflows"));
    for (size_t i = 0; i < to->agent_count; i++)
        if (r.places[i].file.n)
            json_release(&r.places[i].source->doc);
    return ok;
}
