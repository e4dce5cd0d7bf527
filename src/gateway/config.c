/* config.c - reads a file into a checked struct config, and answers queries about it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config.h"

#include "base/schema.h"
#include "base/sha256.h"
#include "gateway/config_agents.h"
#include "gateway/config_build.h"
#include "gateway/config_notify.h"
#include "gateway/provider.h"

#include <arpa/inet.h>

#define PRESETS_RAISED 3 /* from xhigh on */
#define PRESET_STEP 4

/* ---- presets and top-level settings ---- */

static const struct config_preset presets[CONFIG_PRESET_COUNT] = {
    {STR_INIT("low"), STR_INIT("0.6"), STR_INIT("0.9"), 128, CONFIG_SHOW_UNSET, false, false},
    {STR_INIT("medium"), STR_INIT("0.7"), STR_INIT("0.92"), 256, CONFIG_SHOW_UNSET, false, false},
    {STR_INIT("high"), STR_INIT("0.85"), STR_INIT("0.95"), 512, CONFIG_SHOW_UNSET, false, false},
    {STR_INIT("xhigh"), STR_INIT("0.85"), STR_INIT("0.95"), 2048, CONFIG_SHOW_UNSET, false, false},
    {STR_INIT("max"), STR_INIT("0.85"), STR_INIT("0.95"), 8192, CONFIG_SHOW_UNSET, false, false},
};

static bool config_read_preset(struct config_build *b, const struct json_node *v,
                               struct config_preset *p)
{
    const struct json *doc = &b->source->doc;
    bool flag;

    if (!config_rows_read(b, &config_preset_rows, v, p))
        return false;
    if (json_bool(json_find(doc, v, STR("show")), &flag))
        p->show = flag ? CONFIG_SHOW : CONFIG_HIDE;
    p->repair_given = json_bool(json_find(doc, v, STR("repair_starved")), &p->repair_starved);
    return true;
}

/* A configuration that raises `high` need not name the presets above it: their caps rise along. */
static void config_raise_preset(const struct config_preset *less, struct config_preset *more)
{
    int64_t cap = less->reasoning_max_tokens * PRESET_STEP;

    if (more->reasoning_max_tokens <= less->reasoning_max_tokens)
        more->reasoning_max_tokens = cap < CONFIG_TOKENS_MAX ? cap : CONFIG_TOKENS_MAX;
}

static bool config_read_presets(struct config_build *b, const struct json_node *root)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *all = config_at(doc, root, "llm.reasoning_presets");

    memcpy(b->c->presets, presets, sizeof presets);
    for (size_t i = 0; i < COUNT_OF(presets); i++)
        if (!config_read_preset(b, json_find(doc, all, presets[i].name), &b->c->presets[i]))
            return false;
    for (size_t i = 1; i < COUNT_OF(presets); i++) {
        const struct config_preset *less = &b->c->presets[i - 1];
        struct config_preset *more = &b->c->presets[i];
        const struct json_node *v = json_find(doc, all, more->name);

        if (i >= PRESETS_RAISED && !json_find(doc, v, STR("reasoning_max_tokens"))) {
            config_raise_preset(less, more);
            continue;
        }
        if (more->reasoning_max_tokens > less->reasoning_max_tokens)
            continue;
        v = v ? v : json_find(doc, all, less->name);
        return config_wrong(b,
                            v,
                            "reasoning_max_tokens must rise: " STR_FMT " has %lld and " STR_FMT
                            " %lld",
                            STR_ARG(less->name),
                            (long long)less->reasoning_max_tokens,
                            STR_ARG(more->name),
                            (long long)more->reasoning_max_tokens);
    }
    return true;
}

bool config_is_loopback(str host)
{
    char text[64];
    struct in_addr v4;
    struct in6_addr v6;

    if (host.n >= sizeof text)
        return false;
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    if (inet_pton(AF_INET, text, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, text, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
    return strcasecmp(text, "localhost") == 0;
}

/* HOST:PORT or [V6]:PORT. */
static bool config_split_listen(str s, str *host, str *port)
{
    size_t close = str_find(s, STR("]")), colon = STR_NONE;

    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == ':')
            colon = i;
    if (s.n > 0 && s.p[0] == '[') {
        if (close == STR_NONE || colon != close + 1)
            return false;
        *host = str_slice(s, 1, close);
    } else if (colon == STR_NONE) {
        return false;
    } else {
        *host = str_slice(s, 0, colon);
        if (str_find(*host, STR(":")) != STR_NONE)
            return false;
    }
    *port = str_slice(s, colon + 1, s.n);
    return host->n > 0;
}

/* A port alone, with or without a colon, is a common way to write it. */
static bool config_listen_advise(struct config_build *b, const struct json_node *v, str text)
{
    str port = text.n > 0 && text.p[0] == ':' ? str_slice(text, 1, text.n) : text;
    uint64_t n;

    if (str_u64(port, &n) && n <= 65535)
        return config_wrong(b,
                            v,
                            "must be ADDRESS:PORT: write 127.0.0.1:%llu for this machine alone, or "
                            "0.0.0.0:%llu for all addresses, which needs keys",
                            (unsigned long long)n,
                            (unsigned long long)n);
    return config_wrong(b,
                        v,
                        "must be ADDRESS:PORT with a port from 0 to 65535, such as 127.0.0.1:8484 "
                        "or [::1]:8484");
}

static bool config_read_listen(struct config_build *b, const struct json_node *v)
{
    str text = STR("127.0.0.1:8484"), host, port;
    uint64_t n;

    if (v && !json_text(&b->source->doc, v, &b->c->arena, &text))
        return false;
    if (!config_split_listen(text, &host, &port) || !str_u64(port, &n) || n > 65535)
        return config_listen_advise(b, v, text);
    b->c->listen_host = arena_dup(&b->c->arena, host);
    b->c->listen_port = (unsigned)n;
    return true;
}

/* Without keys only this machine is admitted, whatever the address: see serve.c. */
static void config_check_reach(struct config_build *b, const struct json_node *root)
{
    const struct json_node *v = config_at(&b->source->doc, root, "listen");

    if (config_is_loopback(b->c->listen_host))
        return;
    if (b->c->key_count == 0)
        config_warn(b,
                    v,
                    "without keys only a loopback address is listened on: add keys (see "
                    "`rationale keys new`) or use 127.0.0.1");
    else if (b->c->tls_cert.n == 0)
        config_warn(b, v, "others can reach this address and tls is not set: keys go unencrypted");
}

/* ---- otlp ---- */

static bool config_read_otlp(struct config_build *b, const struct json_node *root)
{
    const struct json_node *url = config_at(&b->source->doc, root, "otlp.endpoint");
    struct client_url parsed;
    struct buf lines;
    struct err e;
    bool ok;

    b->c->otlp_headers = STR("");
    if (b->c->otlp_url.n > 0 && !client_url_parse(b->c->otlp_url, &parsed, &e))
        return config_wrong(b, url, "%s", e.text);
    buf_init(&lines, CONFIG_HEADERS_MAX);
    ok = config_header_lines(b, config_at(&b->source->doc, root, "otlp.headers"), &lines);
    b->c->otlp_headers = arena_dup(&b->c->arena, buf_str(&lines));
    if (lines.n > 0)
        secret_wipe(lines.p, lines.n);
    buf_release(&lines);
    return ok;
}

static bool config_check_tls(struct config_build *b, const struct json_node *root)
{
    return (b->c->tls_cert.n > 0) == (b->c->tls_key.n > 0) ||
           config_wrong(b,
                        json_find(&b->source->doc, root, STR("tls")),
                        "cert and key belong together: give both");
}

/* Each part is read whatever is wrong with those before it, so that all problems are found. */
static bool config_read_parts(struct config_build *b)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *root = json_root(doc);
    bool ok = config_rows_read(b, &config_top_rows, root, b->c);

    ok &= config_read_listen(b, json_find(doc, root, STR("listen")));
    ok = ok && config_check_store(b, root);
    ok &= config_read_presets(b, root);
    ok = ok && config_read_otlp(b, root) && config_check_tls(b, root);
    ok &= config_providers_read(b, json_find(doc, root, STR("providers")));
    ok &= config_keys_read(b, json_find(doc, root, STR("keys")));
    ok &= config_mask_read(b, json_find(doc, root, STR("data_masking")));
    ok &= config_apps_read(b, root);
    ok &= config_agents_read(b, root);
    if (ok)
        config_check_reach(b, root);
    return ok;
}

/* ---- the schema ---- */

/* Keys are not written into the file, whatever the place for them is called elsewhere. */
static bool config_is_key_name(str name)
{
    return str_is_one_of(name, "api_key apikey apiKey key token secret");
}

/* Names that other programs have for a setting of ours. */
static const char *config_hint_usual(const struct schema_problem *p, bool agent_file)
{
    static const struct {
        const char *parent, *names, *advice;
    } usual[] = {{"/providers/", "url endpoint api_base", ": use base_url"},
                 {"", "port host bind", ": use listen: ADDRESS:PORT"},
                 {"", "database db", ": use store"},
                 {"", "log_level", ": use log: {level: ...}"}};

    if (agent_file)
        return str_eq(p->path, STR("/name")) ? ": the agent has the name of its file"
                                             : ": docs/reference/agents.md lists all names";
    for (size_t i = 0; i < COUNT_OF(usual); i++)
        if (str_starts(p->path, str_c(usual[i].parent)) && str_is_one_of(p->name, usual[i].names))
            return usual[i].advice;
    return ": docs/reference/configuration.md lists all names";
}

static const char *config_hint(const struct schema_problem *p, bool agent_file)
{
    const struct json_node *v = p->value;

    if (p->kind == SCHEMA_UNKNOWN && config_is_key_name(p->name))
        return str_starts(p->path, STR("/providers/")) ? ": use api_key_env or api_key_file"
               : str_starts(p->path, STR("/keys/"))    ? ": use sha256 or key_env"
               : str_starts(p->path, STR("/incidents/notify/"))
                   ? ": name an environment variable (_env) or a file (_file)"
                   : "";
    if (p->kind == SCHEMA_UNKNOWN)
        return p->nearest.n || str_find(p->text, STR("known are")) != STR_NONE
                   ? ""
                   : config_hint_usual(p, agent_file);
    if (p->kind == SCHEMA_MISSING && str_eq(p->name, STR("providers")))
        return ": who serves the models, such as providers: " CONFIG_EXAMPLE;
    if (p->kind != SCHEMA_MISMATCH || !v)
        return "";
    if (v->kind == JSON_NULL)
        return ": it is empty; leave it out or give it a value";
    if (v->kind == JSON_NUMBER && str_find(p->text, STR("expected string")) != STR_NONE)
        return str_eq(p->path, STR("/listen")) ? ": write the address too, such as 127.0.0.1:8484"
                                               : ": put it in quotes";
    if (str_find(p->text, STR("array")) < str_find(p->text, STR("got")))
        return ": write a list, such as [a, b]";
    if (str_find(p->text, STR("object")) < str_find(p->text, STR("got")))
        return p->path.n    ? ": write names with values, such as {name: value}"
               : agent_file ? ": begin with prompt: You help."
                            : ": begin with providers: " CONFIG_EXAMPLE;
    if (str_find(p->text, STR("expected integer")) == 0 ||
        str_find(p->text, STR("expected number")) == 0)
        return ": write a number";
    if (str_find(p->text, STR("expected boolean")) == 0)
        return ": write true or false";
    return "";
}

/* A value from the environment may be a secret, so a sentence that might quote it is not used. */
static void config_on_problem(void *ctx, const struct schema_problem *p)
{
    struct config_build *b = ctx;
    const struct json_node *v = p->value;
    bool filled = v && b->source->yaml.marks[v - b->source->doc.nodes].raw.n > 0;

    b->misshapen |= p->kind != SCHEMA_UNKNOWN;
    if (filled)
        config_wrong(b, v, "the value that the environment gives is not allowed here");
    else /* an unknown property is where its name is: its value may be in a later line */
        config_wrong(b,
                     p->kind == SCHEMA_UNKNOWN ? v - 1 : v,
                     STR_FMT "%s",
                     STR_ARG(str_slice(p->text, 0, 160)),
                     config_hint(p, b->file.n > 0));
}

bool config_check_shape(struct config_build *b, str shape)
{
    struct schema *schema = schema_new();
    struct schema_sink sink = {config_on_problem, b, b->sink ? CONFIG_PROBLEMS_MAX : 1};
    struct err e;
    bool ok;

    if (!schema_compile(schema, shape, &e))
        base_die("the schema of the configuration: %s", e.text);
    ok = schema_check_each(schema, &b->source->doc, json_root(&b->source->doc), sink, &e);
    schema_free(schema);
    return ok;
}

/* ---- life ---- */

static void config_destroy(struct config *c)
{
    for (size_t i = 0; i < c->provider_count; i++)
        secret_release(&c->providers[i].key);
    for (size_t i = 0; i < c->agents->tools_count; i++) {
        secret_release(&c->agents->tools[i].headers);
        mask_free(c->agents->tools[i].mask);
    }
    for (size_t i = 0; i < c->incidents.notify_count; i++) {
        secret_release(&c->incidents.notify[i].secret);
        secret_release(&c->incidents.notify[i].headers);
    }
    json_release(&c->source->doc);
    arena_release(&c->arena);
    free(c);
}

static void config_report_error(const struct config_problem_sink *sink, unsigned line,
                                const struct err *e)
{
    if (sink)
        sink->on_problem(sink->ctx,
                         &(struct config_problem){line, STR(""), str_c(e->text), STR("")});
}

struct config *config_new(const char *path)
{
    struct config *c = base_alloc(sizeof *c);

    memset(c, 0, sizeof *c);
    arena_init(&c->arena, CONFIG_ARENA_MAX);
    atomic_init(&c->refs, 1);
    config_set_path(c, path);
    c->source = arena_zero(&c->arena, 1, sizeof *c->source);
    json_init(&c->source->doc);
    c->agents = arena_zero(&c->arena, 1, sizeof *c->agents);
    c->warnings = arena_zero(&c->arena, CONFIG_WARNINGS_MAX, sizeof *c->warnings);
    return c;
}

static bool config_parse_each(str yaml, const char *path, const struct config_problem_sink *sink,
                              struct config **out, struct err *e)
{
    struct config *c = config_new(path);
    struct config_build b = {.c = c, .source = c->source, .e = e, .sink = sink};
    bool ok, known;

    ok = yaml_read(yaml, &c->arena, &c->source->yaml, e);
    if (!ok) {
        config_report_error(sink, c->source->yaml.line, e);
        b.problem_count++;
        err_prefix(e, "%s:%u: ", c->path.p, c->source->yaml.line);
    }
    ok = ok && json_parse(&c->source->doc, c->source->yaml.json, e);
    known = ok && config_check_shape(&b, config_schema(&c->arena));
    /* A caller that collects problems gets those of values as well if only names are unknown. */
    ok = ok && (known || (sink && !b.misshapen)) && config_read_parts(&b) && known;
    if (!ok && b.problem_count == 0)
        config_report_error(sink, 0, e);
    if (ok)
        *out = c;
    else
        config_destroy(c);
    return ok;
}

bool config_parse(str yaml, const char *path, struct config **out, struct err *e)
{
    return config_parse_each(yaml, path, NULL, out, e);
}

bool config_load(const char *path, struct config **out, struct err *e)
{
    return config_load_each(path, NULL, out, e);
}

static bool config_read_yaml(struct arena *a, const char *path, str *text, struct err *e)
{
    if (file_read(a, path, YAML_SIZE_MAX, text, e))
        return true;
    return e->code == ERR_NOT_FOUND ? err_set(e, ERR_NOT_FOUND, "no configuration at %s", path)
                                    : false;
}

bool config_load_each(const char *path, const struct config_problem_sink *sink, struct config **out,
                      struct err *e)
{
    char whole[FILE_PATH_MAX];
    struct arena a;
    str text;
    bool ok;

    arena_init(&a, 4 * YAML_SIZE_MAX);
    ok = config_absolute(path, whole, e) && config_read_yaml(&a, whole, &text, e);
    if (ok)
        ok = config_parse_each(text, whole, sink, out, e);
    else
        config_report_error(sink, 0, e);
    arena_release(&a);
    return ok;
}

struct config *config_retain(struct config *c)
{
    assert(atomic_load_explicit(&c->refs, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void config_release(struct config *c)
{
    if (c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        config_destroy(c);
}

/* ---- questions ---- */

static const struct config_model *config_listed(const struct config_provider *p, str alias)
{
    for (size_t i = 0; i < p->model_count; i++)
        if (str_eq(p->models[i].alias, alias))
            return &p->models[i];
    return NULL;
}

/* A model that is not listed has the same name at the provider. */
void config_route_model(const struct config_route *r, struct config_model *out)
{
    if (r->listed) {
        *out = *r->listed;
        return;
    }
    *out = (struct config_model){.alias = r->upstream, .upstream = r->upstream};
    config_price_model(r->provider, out);
}

bool config_find(const struct config *c, str model, struct config_route *out)
{
    const struct config_model *m;
    size_t slash = str_find(model, STR("/"));
    str front = str_slice(model, 0, slash), rest = str_slice(model, slash + 1, model.n);

    for (size_t i = 0; i < c->provider_count; i++)
        if ((m = config_listed(&c->providers[i], model))) {
            *out = (struct config_route){&c->providers[i], m, m->upstream};
            return true;
        }
    for (size_t i = 0; slash != STR_NONE && rest.n > 0 && i < c->provider_count; i++) {
        const struct config_provider *p = &c->providers[i];

        if (!str_eq(p->name, front))
            continue;
        if (p->model_count == 0)
            *out = (struct config_route){p, NULL, rest};
        else if ((m = config_listed(p, rest)))
            *out = (struct config_route){p, m, m->upstream};
        else
            return false;
        return true;
    }
    if (c->provider_count != 1 || c->providers[0].model_count > 0 || model.n == 0)
        return false;
    *out = (struct config_route){&c->providers[0], NULL, model};
    return true;
}

const struct config_key *config_key_find(const struct config *c, const uint8_t sha256[32])
{
    const struct config_key *found = NULL;

    for (size_t i = 0; i < c->key_count; i++)
        if (mem_equal_ct(c->keys[i].sha256, sha256, SHA256_SIZE))
            found = &c->keys[i];
    return found;
}

bool config_shows_reasoning(const struct config *c, const struct config_key *k,
                            enum config_show asked)
{
    enum config_show word = k ? k->reasoning : CONFIG_SHOW_UNSET;

    if (word != CONFIG_HIDE && asked != CONFIG_SHOW_UNSET)
        word = asked;
    if (word != CONFIG_SHOW_UNSET)
        return word == CONFIG_SHOW;
    return !k || k->role == CONFIG_OPERATOR || c->show;
}

const struct config_preset *config_preset(const struct config *c, enum chat_level level)
{
    switch (level) {
    case CHAT_LEVEL_MINIMAL:
    case CHAT_LEVEL_LOW:
        return &c->presets[0];
    case CHAT_LEVEL_ON:
    case CHAT_LEVEL_MEDIUM:
        return &c->presets[1];
    case CHAT_LEVEL_HIGH:
        return &c->presets[2];
    case CHAT_LEVEL_XHIGH:
        return &c->presets[3];
    case CHAT_LEVEL_MAX:
        return &c->presets[4];
    default:
        return NULL;
    }
}
