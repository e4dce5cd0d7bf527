/* models.c - which models are served, in the words of each dialect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/internal.h"

bool exchange_may_use(const struct exchange *ex, str model)
{
    if (!ex->key || ex->key->model_count == 0)
        return true;
    for (size_t i = 0; i < ex->key->model_count; i++)
        if (str_eq(ex->key->models[i], model))
            return true;
    return false;
}

/* Each model once: it belongs to the first provider that lists it. */
static void each(struct exchange *ex, struct json_out *o,
                 void (*fn)(struct json_out *o, str model, str provider))
{
    const struct config *c = ex->setup->config;

    for (size_t p = 0; p < c->provider_count; p++)
        for (size_t m = 0; m < c->providers[p].model_count; m++) {
            str name = c->providers[p].models[m].alias;
            struct config_route first;

            if (exchange_may_use(ex, name) && config_find(c, name, &first) &&
                first.provider == &c->providers[p])
                fn(o, name, c->providers[p].name);
        }
}

static void text(struct json_out *o, str key, str value)
{
    json_out_key(o, key);
    json_out_str(o, value);
}

static void openai_row(struct json_out *o, str model, str provider)
{
    json_out_object(o);
    text(o, STR("id"), model);
    text(o, STR("object"), STR("model"));
    json_out_key(o, STR("created"));
    json_out_i64(o, 0);
    text(o, STR("owned_by"), provider);
    json_out_end(o);
}

static void anthropic_row(struct json_out *o, str model, str provider)
{
    (void)provider;
    json_out_object(o);
    text(o, STR("type"), STR("model"));
    text(o, STR("id"), model);
    text(o, STR("display_name"), model);
    text(o, STR("created_at"), STR("1970-01-01T00:00:00Z"));
    json_out_end(o);
}

static void gemini_row(struct json_out *o, str model, str provider)
{
    char name[300];
    int n = snprintf(name, sizeof name, "models/" STR_FMT, STR_ARG(str_slice(model, 0, 256)));

    (void)provider;
    json_out_object(o);
    text(o, STR("name"), (str){name, (size_t)n});
    text(o, STR("displayName"), model);
    json_out_key(o, STR("supportedGenerationMethods"));
    json_out_array(o);
    json_out_str(o, STR("generateContent"));
    json_out_str(o, STR("streamGenerateContent"));
    json_out_end(o);
    json_out_end(o);
}

static void ollama_row(struct json_out *o, str model, str provider)
{
    (void)provider;
    json_out_object(o);
    text(o, STR("name"), model);
    text(o, STR("model"), model);
    text(o, STR("modified_at"), STR("1970-01-01T00:00:00Z"));
    json_out_key(o, STR("size"));
    json_out_i64(o, 0);
    text(o, STR("digest"), STR(""));
    json_out_key(o, STR("details"));
    json_out_object(o);
    json_out_end(o);
    json_out_end(o);
}

static void list(struct exchange *ex, str key, bool openai,
                 void (*row)(struct json_out *o, str model, str provider))
{
    struct buf body;
    struct json_out o;

    buf_init(&body, (size_t)4 << 20);
    json_out_init(&o, &body);
    json_out_object(&o);
    if (openai)
        text(&o, STR("object"), STR("list"));
    json_out_key(&o, key);
    json_out_array(&o);
    each(ex, &o, row);
    json_out_end(&o);
    if (row == anthropic_row) {
        json_out_key(&o, STR("has_more"));
        json_out_bool(&o, false);
    }
    json_out_end(&o);
    exchange_reply(ex, 200, STR("application/json"), buf_str(&body));
    buf_release(&body);
}

static bool asks_as_anthropic(const struct exchange *ex)
{
    return http1_has(server_request(ex->x), STR("anthropic-version"));
}

void models_handle(struct exchange *ex)
{
    bool anthropic = asks_as_anthropic(ex);

    list(ex, STR("data"), !anthropic, anthropic ? anthropic_row : openai_row);
}

void gemini_models_handle(struct exchange *ex)
{
    list(ex, STR("models"), false, gemini_row);
}

void ollama_tags_handle(struct exchange *ex)
{
    list(ex, STR("models"), false, ollama_row);
}

void ollama_version_handle(struct exchange *ex)
{
    exchange_reply(
        ex, 200, STR("application/json"), STR("{\"version\":\"" RATIONALE_VERSION "\"}"));
}

void model_handle(struct exchange *ex)
{
    struct config_route route;
    struct buf body;
    struct json_out o;

    if (!config_find(ex->setup->config, ex->rest, &route) || !exchange_may_use(ex, ex->rest)) {
        exchange_fail(ex,
                      404,
                      "model_not_found",
                      "the model \"" STR_FMT "\" is not served here",
                      STR_ARG(str_slice(ex->rest, 0, 200)));
        return;
    }
    buf_init(&body, 65536);
    json_out_init(&o, &body);
    (asks_as_anthropic(ex) ? anthropic_row : openai_row)(&o, ex->rest, route.provider->name);
    exchange_reply(ex, 200, STR("application/json"), buf_str(&body));
    buf_release(&body);
}
