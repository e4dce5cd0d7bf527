/* models.c - lists the models, in the form of each dialect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/definition.h"
#include "base/json_get.h"
#include "base/sha256.h"
#include "serve/agent_model.h"
#include "serve/params.h"

bool exchange_may_use(const struct exchange *ex, str model)
{
    if (!ex->key || ex->key->model_count == 0)
        return true;
    for (size_t i = 0; i < ex->key->model_count; i++)
        if (str_eq(ex->key->models[i], model))
            return true;
    return false;
}

void exchange_refuse_model(struct exchange *ex, str model)
{
    exchange_fail(ex,
                  403,
                  "model_not_allowed",
                  "the key \"" STR_FMT "\" may not use the model \"" STR_FMT "\"",
                  STR_ARG(ex->key->name),
                  STR_ARG(model));
}

/* Each model once: it belongs to the first provider that lists it. */
static bool serve_models_listed(const struct exchange *ex, size_t provider, size_t model)
{
    const struct config *c = ex->setup->config;
    str name = c->providers[provider].models[model].alias;
    struct config_route first;

    assert(provider < c->provider_count && model < c->providers[provider].model_count);
    return exchange_may_use(ex, name) && config_find(c, name, &first) &&
           first.provider == &c->providers[provider];
}

/* "agent/NAME", in the exchange's arena. */
static str agent_model_name(const struct exchange *ex, size_t i)
{
    assert(i < ex->setup->config->agents->agent_count);
    return arena_join(
        server_arena(ex->x), STR("agent/"), ex->setup->config->agents->agents[i].name, STR(""));
}

static void serve_models_for_each(struct exchange *ex, struct json_out *o,
                                  void (*fn)(struct json_out *o, str model, str provider))
{
    const struct config *c = ex->setup->config;

    for (size_t i = 0; i < c->agents->agent_count; i++) {
        str name = agent_model_name(ex, i);

        if (exchange_may_use(ex, name))
            fn(o, name, STR("agent"));
    }
    for (size_t p = 0; p < c->provider_count; p++)
        for (size_t m = 0; m < c->providers[p].model_count; m++)
            if (serve_models_listed(ex, p, m))
                fn(o, c->providers[p].models[m].alias, c->providers[p].name);
}

static void models_openai_row(struct json_out *o, str model, str provider)
{
    json_out_object(o);
    json_member_str(o, "id", model);
    json_member_str(o, "object", STR("model"));
    json_member_i64(o, "created", 0);
    json_member_str(o, "owned_by", provider);
    json_member_str(o, "type", STR("base")); /* Mistral's SDKs, which ask here too, need it */
    json_member_raw(o, "capabilities", STR("{\"completion_chat\":true,\"function_calling\":true}"));
    json_out_end(o);
}

/* The gateway does not know when a model was created, its limits or its end of life: members that
 * may be null are null. */
static void anthropic_row(struct json_out *o, str model, str provider)
{
    static const char *const unknown[] = {
        "capabilities", "deprecated_at", "line", "max_input_tokens", "max_tokens", "retires_at"};

    (void)provider;
    json_out_object(o);
    json_member_str(o, "type", STR("model"));
    json_member_str(o, "id", model);
    json_member_str(o, "display_name", model);
    json_member_str(o, "created_at", STR("1970-01-01T00:00:00Z"));
    json_member_str(o, "lifecycle", STR("active"));
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        json_member_null(o, unknown[i]);
    json_out_end(o);
}

static void gemini_row(struct json_out *o, str model, str provider)
{
    char name[300];
    int n = snprintf(name, sizeof name, "models/" STR_FMT, STR_ARG(str_slice(model, 0, 256)));

    assert(n > 0 && (size_t)n < sizeof name);
    (void)provider;
    json_out_object(o);
    json_member_str(o, "name", (str){name, (size_t)n});
    json_member_str(o, "version", STR("001"));
    json_member_str(o, "displayName", model);
    json_member_array(o, "supportedGenerationMethods");
    json_out_str(o, STR("generateContent"));
    json_out_str(o, STR("streamGenerateContent"));
    json_out_str(o, STR("countTokens"));
    json_out_close(o, 2);
}

/* Fields that only a host of the weights could fill are empty. */
static void ollama_details(struct json_out *o)
{
    static const char *const names[] = {
        "parent_model", "format", "family", "parameter_size", "quantization_level"};

    json_member_object(o, "details");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        json_member_str(o, names[i], STR(""));
    json_member_raw(o, "families", STR("[]"));
    json_out_end(o);
}

/* Ollama's command prints the first letters of the digest, so the gateway sends a digest of the
 * name. */
static void ollama_row(struct json_out *o, str model, str provider)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];

    (void)provider;
    sha256_of(model, digest);
    json_out_object(o);
    json_member_str(o, "name", model);
    json_member_str(o, "model", model);
    json_member_str(o, "modified_at", STR("1970-01-01T00:00:00Z"));
    json_member_i64(o, "size", 0);
    json_member_str(o, "digest", sha256_hex(digest, hex));
    ollama_details(o);
    json_out_end(o);
}

static void ollama_show(struct json_out *o, str model, str provider)
{
    json_out_object(o);
    json_member_str(o, "license", STR(""));
    json_member_str(o, "modelfile", STR(""));
    json_member_str(o, "parameters", STR(""));
    json_member_str(o, "template", STR(""));
    ollama_details(o);
    json_member_object(o, "model_info");
    json_member_str(o, "general.architecture", provider);
    json_member_str(o, "general.basename", model);
    json_out_end(o);
    json_member_raw(o, "capabilities", STR("[\"completion\",\"tools\",\"vision\"]"));
    json_member_str(o, "modified_at", STR("1970-01-01T00:00:00Z"));
    json_out_end(o);
}

/* Where Anthropic's next page would begin. */
static void anthropic_ends(struct json_out *o, const struct exchange *ex)
{
    const struct config *c = ex->setup->config;
    str first = STR(""), last = STR("");

    for (size_t i = 0; i < c->agents->agent_count; i++)
        if (exchange_may_use(ex, agent_model_name(ex, i))) {
            last = agent_model_name(ex, i);
            first = first.n ? first : last;
        }
    for (size_t p = 0; p < c->provider_count; p++)
        for (size_t m = 0; m < c->providers[p].model_count; m++)
            if (serve_models_listed(ex, p, m)) {
                last = c->providers[p].models[m].alias;
                first = first.n ? first : last;
            }
    assert(!first.n == !last.n);
    json_member_bool(o, "has_more", false);
    json_member_str_or_null(o, "first_id", first);
    json_member_str_or_null(o, "last_id", last);
}

static void serve_models_list(struct exchange *ex, const char *key, bool openai,
                              void (*row)(struct json_out *o, str model, str provider))
{
    struct json_text t;

    json_text_begin(&t, (size_t)4 << 20);
    if (openai)
        json_member_str(&t.o, "object", STR("list"));
    json_member_array(&t.o, key);
    serve_models_for_each(ex, &t.o, row);
    json_out_end(&t.o);
    if (row == anthropic_row)
        anthropic_ends(&t.o, ex);
    exchange_reply_json(ex, 200, &t);
}

void gemini_models_handle(struct exchange *ex)
{
    serve_models_list(ex, "models", false, gemini_row);
}

void models_handle(struct exchange *ex)
{
    if (ex->wire->dialect == CHAT_GEMINI)
        gemini_models_handle(ex);
    else if (ex->wire->dialect == CHAT_ANTHROPIC)
        serve_models_list(ex, "data", false, anthropic_row);
    else
        serve_models_list(ex, "data", true, models_openai_row);
}

void ollama_tags_handle(struct exchange *ex)
{
    serve_models_list(ex, "models", false, ollama_row);
}

void ollama_version_handle(struct exchange *ex)
{
    exchange_reply(
        ex, 200, STR("application/json"), STR("{\"version\":\"" RATIONALE_VERSION "\"}"));
}

/* Nothing is loaded here: models run at the providers. */
void ollama_ps_handle(struct exchange *ex)
{
    exchange_reply(ex, 200, STR("application/json"), STR("{\"models\":[]}"));
}

static void serve_models_one(struct exchange *ex, str model,
                             void (*row)(struct json_out *o, str model, str provider))
{
    const struct config *c = ex->setup->config;
    struct config_route route;
    struct buf body;
    struct json_out o;
    bool agent = agent_model_is(model) && agents_find(c, str_slice(model, 6, model.n));
    str near;

    if ((!agent && !config_find(c, model, &route)) || !exchange_may_use(ex, model)) {
        near = config_nearest_model(c, ex->key, model);
        exchange_fail(ex,
                      404,
                      "model_not_found",
                      "the model \"" STR_FMT "\" is not served here%s" STR_FMT "%s",
                      STR_ARG(str_slice(model, 0, 200)),
                      near.n ? "; did you mean \"" : "",
                      STR_ARG(near),
                      near.n ? "\"?" : "");
        return;
    }
    buf_init(&body, 65536);
    json_out_init(&o, &body);
    row(&o, model, agent ? STR("agent") : route.provider->name);
    exchange_reply(ex, 200, STR("application/json"), buf_str(&body));
    buf_release(&body);
}

str exchange_rest(struct exchange *ex)
{
    str rest = ex->rest;

    if (str_find(rest, STR("%")) == STR_NONE ||
        !params_decode(server_arena(ex->x), ex->rest, false, &rest))
        return ex->rest;
    return rest;
}

void model_handle(struct exchange *ex)
{
    if (ex->wire->dialect == CHAT_GEMINI)
        gemini_model_handle(ex);
    else
        serve_models_one(ex,
                         exchange_rest(ex),
                         ex->wire->dialect == CHAT_ANTHROPIC ? anthropic_row : models_openai_row);
}

void gemini_model_handle(struct exchange *ex)
{
    str rest = exchange_rest(ex);

    if (!str_ends(rest, STR(":generateContent")) &&
        !str_ends(rest, STR(":streamGenerateContent")) && !str_ends(rest, STR(":countTokens"))) {
        serve_models_one(ex, rest, gemini_row);
        return;
    }
    exchange_header(ex, STR("allow"), STR("POST"));
    exchange_fail(ex,
                  405,
                  "method_not_allowed",
                  STR_FMT " does not take GET; use POST",
                  STR_ARG(str_slice(server_request(ex->x)->path, 0, 200)));
}

/* Older clients say "name". */
void ollama_show_handle(struct exchange *ex)
{
    const struct json_node *root;
    str model;

    if (!exchange_json(ex))
        return;
    root = json_root(&ex->doc);
    model = json_get_text(&ex->doc, root, "model", server_arena(ex->x));
    if (!model.n)
        model = json_get_text(&ex->doc, root, "name", server_arena(ex->x));
    if (model.n)
        serve_models_one(ex, model, ollama_show);
    else
        exchange_fail(ex, 400, "invalid_request", "model: is missing");
}
