/* config_build.c - providers and keys: from the tree to the structs.
 *
 * The schema has checked the tree, so all types are right. This file checks the conditions between
 * values, and those on files and the environment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"

#include "gateway/cassette.h"
#include "gateway/provider.h"

#define NAME_MAX_SIZE 64

static const char *const kinds[] = {
    "openai", "responses", "anthropic", "gemini", "mistral", "ollama", "replay"};

str config_string(struct config_build *b, const struct json_node *v)
{
    str s = STR("");

    return json_text(&b->source->doc, v, &b->c->arena, &s) ? arena_dup(&b->c->arena, s) : STR("");
}

const struct json_node *config_member(struct config_build *b, const struct json_node *object,
                                      const char *name)
{
    return json_find(&b->source->doc, object, str_c(name));
}

/* Names appear in model names, logs and labels. */
bool config_check_name(struct config_build *b, const struct json_node *v, str name)
{
    bool ok = name.n > 0 && name.n <= NAME_MAX_SIZE;

    for (size_t i = 0; ok && i < name.n; i++) {
        char c = name.p[i];

        ok = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '.' ||
             c == '_' || c == '-';
    }
    return ok || config_wrong(b, v, "a name has 1 to 64 letters, digits, dots, - or _");
}

bool config_is_variable(str s)
{
    bool ok = s.n > 0 && s.n < 128 && (s.p[0] < '0' || s.p[0] > '9');

    for (size_t i = 0; ok && i < s.n; i++)
        ok = s.p[i] == '_' || (s.p[i] >= '0' && s.p[i] <= '9') ||
             ((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z');
    return ok;
}

/* A long word of small letters is more likely a key in the wrong place than a name. */
str config_shown_variable(struct config_build *b, str name)
{
    bool small = false;

    for (size_t i = 0; i < name.n; i++)
        small |= name.p[i] >= 'a' && name.p[i] <= 'z';
    if (!small || name.n <= 24)
        return name;
    return arena_printf(&b->c->arena, STR_FMT "...", STR_ARG(str_slice(name, 0, 6)));
}

static bool config_read_key(struct config_build *b, struct config_provider *p,
                            const struct json_node *v)
{
    return config_secret_read(b,
                              v,
                              &(struct config_secret){.name = "api_key",
                                                      .effect = "calls of this provider will fail",
                                                      .to = &p->key,
                                                      .missing = &p->key_missing,
                                                      .file = &p->key_file});
}

/* ---- kind and place ---- */

static bool config_read_kind(struct config_build *b, struct config_provider *p,
                             const struct json_node *v)
{
    const struct json_node *kind = config_member(b, v, "kind");
    const struct provider_row *row = provider_row_find(p->name);
    str name = kind ? config_string(b, kind) : str_c(row ? kinds[row->dialect] : "");

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (str_eq(name, str_c(kinds[i]))) {
            p->replay = i == COUNT_OF(kinds) - 1;
            p->dialect = p->replay ? CHAT_OPENAI : (enum chat_dialect)i;
            return true;
        }
    return config_wrong(b,
                        v,
                        "\"kind\" is missing: openai, responses, anthropic, gemini, mistral, "
                        "ollama or replay");
}

static bool config_read_cassette(struct config_build *b, struct config_provider *p,
                                 const struct json_node *v)
{
    const struct json_node *cassette = config_member(b, v, "cassette"),
                           *url = config_member(b, v, "base_url");
    const struct json_node *at = cassette ? cassette : url;
    struct err e;

    p->url = (struct client_url){.host = STR(""), .authority = STR(""), .path = STR("")};
    if (cassette && url)
        return config_wrong(b, url, "of kind replay either cassette or base_url says the file");
    if (!at)
        return config_wrong(b, v, "of kind replay \"cassette\" must name the file of recordings");
    p->cassette = config_string(b, at);
    if (str_starts(p->cassette, STR("file:")))
        p->cassette = str_slice(p->cassette, 5, p->cassette.n);
    if (str_starts(p->cassette, STR("//")))
        p->cassette = str_slice(p->cassette, 2, p->cassette.n);
    if (p->cassette.n == 0 || str_find(p->cassette, STR("://")) != STR_NONE)
        return config_wrong(b, at, "must be a file: a path, or a URL that begins with file:");
    if (!config_resolve(b, at, p->cassette, &p->cassette))
        return false;
    if (!cassette_peek(p->cassette.p, &p->dialect, &e))
        config_warn(b, at, "%s; calls of this provider will fail", e.text);
    return true;
}

/* Some dialects say the version in their own paths; a base URL that says it too is common. */
static void config_drop_version(struct config_provider *p)
{
    static const struct {
        enum chat_dialect dialect;
        const char *end;
    } ends[] = {{CHAT_ANTHROPIC, "/v1"},
                {CHAT_GEMINI, "/v1beta"},
                {CHAT_GEMINI, "/v1"},
                {CHAT_OLLAMA, "/api"}};

    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (p->dialect == ends[i].dialect && str_ends(p->url.path, str_c(ends[i].end))) {
            p->url.path.n -= strlen(ends[i].end);
            return;
        }
}

/* Examples of providers show the URL of a route, and the gateway adds the route to base_url. */
static void config_build_check_route(struct config_build *b, const struct config_provider *p,
                                     const struct json_node *at)
{
    static const char *const routes[] = {"/chat/completions", "/responses", "/messages"};
    str path = p->url.path, route = STR("");

    for (size_t i = 0; i < COUNT_OF(routes); i++)
        if (str_ends(path, str_c(routes[i])))
            route = str_c(routes[i]);
    if (str_ends(path, STR("enerateContent")) && str_find(path, STR("/models/")) != STR_NONE)
        route = str_slice(path, str_find(path, STR("/models/")), path.n);
    if (route.n > 0)
        config_warn(b,
                    at,
                    "ends with \"" STR_FMT "\", and the gateway adds such a route itself: unless "
                    "the server has it twice, write " STR_FMT,
                    STR_ARG(str_slice(route, 0, 80)),
                    (int)(path.p + path.n - route.n - p->base_url.p),
                    p->base_url.p);
}

static bool config_build_read_url(struct config_build *b, struct config_provider *p,
                                  const struct json_node *v)
{
    const struct json_node *at = config_member(b, v, "base_url"),
                           *cassette = config_member(b, v, "cassette");
    const struct provider_row *row;
    struct err e;

    if (cassette)
        return config_wrong(b, cassette, "is for kind replay; to make recordings, use record");
    row = provider_row(p->name, STR(""), STR(""), p->dialect);
    if (!at && !row->base_url)
        return config_wrong(b,
                            v,
                            "\"base_url\" is missing: write the URL that the provider's SDKs use, "
                            "such as http://127.0.0.1:8000/v1");
    p->base_url = at ? config_string(b, at) : str_c(row->base_url);
    if (!client_url_parse(p->base_url, &p->url, &e))
        return config_wrong(b, at ? at : v, "%s", e.text);
    config_build_check_route(b, p, at ? at : v);
    config_drop_version(p);
    if (!p->url.tls && p->key.page && !config_is_loopback(p->url.host))
        config_warn(b, at, "the key goes to " STR_FMT " unencrypted", STR_ARG(p->url.host));
    return true;
}

/* ---- models ---- */

static bool config_read_models(struct config_build *b, struct config_provider *p,
                               const struct json_node *v)
{
    const struct json *doc = &b->source->doc;
    bool object = v && v->kind == JSON_OBJECT;
    size_t n = json_count(doc, v);

    if (!v)
        return true;
    if (n == 0 || n > CONFIG_MODELS_MAX)
        return config_wrong(
            b, v, "must name 1 to %d models; leave it out to serve any", CONFIG_MODELS_MAX);
    p->models = arena_zero(&b->c->arena, n, sizeof *p->models);
    for (const struct json_node *k = json_first(doc, v); k; k = json_next(doc, v, k)) {
        struct config_model *m = &p->models[p->model_count];

        m->alias = config_string(b, k);
        m->upstream = object ? config_string(b, json_value(k)) : m->alias;
        for (size_t i = 0; i < p->model_count; i++)
            if (str_eq(p->models[i].alias, m->alias))
                return config_wrong(b, k, "this model is listed twice: remove one");
        if (m->alias.n == 0)
            return config_wrong(b, k, "a model's name may not be empty");
        config_price_model(p, m);
        p->model_count++;
    }
    return true;
}

/* ---- reasoning ---- */

static bool config_build_read_reasoning(struct config_build *b, struct config_provider *p,
                                        const struct json_node *v)
{
    const struct json_node *params = config_member(b, v, "reasoning_params");

    p->reasoning_params = STR("");
    if (params && json_count(&b->source->doc, params) > 0)
        p->reasoning_params = arena_dup(&b->c->arena, json_raw(&b->source->doc, params));
    return config_format_read(b, p, v);
}

/* ---- fallbacks ---- */

static const struct config_provider *config_provider_of(const struct config *c, str name)
{
    for (size_t i = 0; i < c->provider_count; i++)
        if (str_eq(c->providers[i].name, name))
            return &c->providers[i];
    return NULL;
}

static const char *config_nearest_provider(const struct config *c, str name)
{
    const char *names[CONFIG_PROVIDERS_MAX + 1];
    size_t n = 0;

    for (; n < c->provider_count; n++)
        names[n] = c->providers[n].name.p;
    names[n] = NULL;
    return config_nearest(name, names);
}

static bool config_read_fallback(struct config_build *b, struct config_provider *p,
                                 const struct json_node *v)
{
    const struct json *doc = &b->source->doc;
    size_t own = (size_t)(p - b->c->providers);

    p->fallback = arena_zero(&b->c->arena, json_count(doc, v), sizeof *p->fallback);
    for (const struct json_node *n = json_first(doc, v); n; n = json_next(doc, v, n)) {
        str name = config_string(b, n);
        const struct config_provider *to = config_provider_of(b->c, name);
        const char *near = to ? NULL : config_nearest_provider(b->c, name);
        size_t index = to ? (size_t)(to - b->c->providers) : 0;

        if (!to)
            return config_wrong(b,
                                n,
                                "no provider \"" STR_FMT "\"%s%s%s",
                                STR_ARG(str_slice(name, 0, NAME_MAX_SIZE)),
                                near ? ", did you mean \"" : "",
                                near ? near : "",
                                near ? "\"?" : "");
        if (index == own)
            return config_wrong(b, n, "a provider cannot be its own fallback: remove it");
        for (size_t i = 0; i < p->fallback_count; i++)
            if (p->fallback[i] == index)
                return config_wrong(b, n, "this fallback is listed twice: remove one");
        p->fallback[p->fallback_count++] = index;
    }
    return true;
}

/* Whether a walk along fallbacks comes back to where it began. */
static bool config_comes_back(const struct config *c, size_t from)
{
    bool seen[CONFIG_PROVIDERS_MAX] = {false};
    size_t todo[CONFIG_PROVIDERS_MAX], n = 0;

    todo[n++] = from;
    while (n > 0) {
        const struct config_provider *p = &c->providers[todo[--n]];

        for (size_t i = 0; i < p->fallback_count; i++) {
            size_t to = p->fallback[i];

            if (to == from)
                return true;
            if (!seen[to])
                todo[n++] = to;
            seen[to] = true;
        }
    }
    return false;
}

/* ---- providers ---- */

static bool config_read_provider(struct config_build *b, struct config_provider *p,
                                 const struct json_node *v)
{
    const struct json_node *prices = config_member(b, v, "prices");

    if (!config_rows_read(b, &config_provider_rows, v, p) || !config_read_kind(b, p, v))
        return false;
    if (!config_read_key(b, p, v))
        return false;
    if (p->replay ? !config_read_cassette(b, p, v) : !config_build_read_url(b, p, v))
        return false;
    p->row = provider_row(p->name, p->url.host, p->url.path, p->dialect);
    p->listed_prices = b->c->prices == CONFIG_PRICES_BUILTIN && !p->replay;
    if (prices && !config_prices_read(b, p, prices))
        return false;
    return config_read_models(b, p, config_member(b, v, "models")) &&
           config_build_read_reasoning(b, p, v);
}

static bool config_read_fallbacks(struct config_build *b, const struct json_node *v)
{
    const struct json *doc = &b->source->doc;
    struct config_provider *p = b->c->providers;

    for (const struct json_node *k = json_first(doc, v); k; k = json_next(doc, v, k), p++) {
        const struct json_node *list = config_member(b, json_value(k), "fallback");

        if (list && !config_read_fallback(b, p, list))
            return false;
    }
    for (size_t i = 0; i < b->c->provider_count; i++)
        if (config_comes_back(b->c, i)) {
            const struct json_node *of = config_member(b, v, b->c->providers[i].name.p);

            return config_wrong(b,
                                config_member(b, of, "fallback"),
                                "these fallbacks lead back to \"" STR_FMT "\"",
                                STR_ARG(b->c->providers[i].name));
        }
    return true;
}

bool config_providers_read(struct config_build *b, const struct json_node *v)
{
    const struct json *doc = &b->source->doc;
    size_t n = json_count(doc, v);
    bool ok = true;

    if (n > CONFIG_PROVIDERS_MAX)
        return config_wrong(b, v, "at most %d providers", CONFIG_PROVIDERS_MAX);
    b->c->providers = arena_zero(&b->c->arena, n, sizeof *b->c->providers);
    for (const struct json_node *k = json_first(doc, v); k; k = json_next(doc, v, k)) {
        struct config_provider *p = &b->c->providers[b->c->provider_count++];

        *p = (struct config_provider){.name = config_string(b, k),
                                      .base_url = STR(""),
                                      .cassette = STR(""),
                                      .key_file = STR(""),
                                      .key_missing = STR(""),
                                      .reasoning_params = STR("")};
        ok &= config_check_name(b, k, p->name) && config_read_provider(b, p, json_value(k));
    }
    return ok && config_read_fallbacks(b, v);
}
