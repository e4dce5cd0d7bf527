/* admin.c - the configuration and current state of providers, levels and keys.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/admin.h"
#include "gateway/provider.h"
#include "net/gzip.h"
#include "serve/params.h"
#include "serve/provider_probe.h"

#define OUT_MAX ((size_t)16 << 20)

bool admin_begin(struct admin *a, struct exchange *ex)
{
    assert(!ex->ended);
    if (!params_are(ex, ""))
        return false;
    a->ex = ex;
    buf_init(&a->buf, OUT_MAX);
    json_out_init_object(&a->o, &a->buf);
    return true;
}

void admin_end(struct admin *a)
{
    assert(!a->ex->ended);
    json_out_end(&a->o);
    exchange_reply(a->ex, 200, STR("application/json"), buf_str(&a->buf));
    buf_release(&a->buf);
}

/* ---- providers ---- */

static void breaker_write(struct admin *a, str provider, str upstream)
{
    struct gateway *g = &a->ex->worker->daemon->gateway;
    unsigned failures;
    uint64_t left_ms;
    bool open = breaker_look(g->breaker,
                             arena_join(server_arena(a->ex->x), provider, STR("/"), upstream),
                             &failures,
                             &left_ms);

    json_member_object(&a->o, "breaker");
    json_member_str(&a->o, "state", open ? STR("open") : STR("closed"));
    json_member_i64(&a->o, "failures", failures);
    json_member_i64(&a->o, "retry_ms", (int64_t)left_ms);
    json_out_end(&a->o);
}

static void model_write(struct admin *a, const struct config_provider *p,
                        const struct config_model *m)
{
    json_out_object(&a->o);
    json_member_str(&a->o, "alias", m->alias);
    json_member_str(&a->o, "upstream", m->upstream);
    json_member_object(&a->o, "prices");
    json_member_double_or_null(&a->o, "input", m->price.rate.input);
    json_member_double_or_null(&a->o, "output", m->price.rate.output);
    json_member_double_or_null(&a->o, "cache_read", m->price.rate.cache_read);
    json_member_double_or_null(&a->o, "cache_write", m->price.rate.cache_write);
    json_out_end(&a->o);
    breaker_write(a, p->name, m->upstream);
    json_out_end(&a->o);
}

static bool breaker_is_open(struct admin *a, const struct config_provider *p)
{
    struct gateway *g = &a->ex->worker->daemon->gateway;
    unsigned failures;
    uint64_t left_ms;

    for (size_t i = 0; i < p->model_count; i++)
        if (breaker_look(
                g->breaker,
                arena_join(server_arena(a->ex->x), p->name, STR("/"), p->models[i].upstream),
                &failures,
                &left_ms))
            return true;
    return false;
}

static void admin_write_probe(struct admin *a, const struct config_provider *p)
{
    struct provider_probe_result r;

    provider_probe_look_up(a->ex->worker->daemon, a->ex->setup->config, p, &r);
    json_member_object(&a->o, "probe");
    json_member_str(&a->o, "state", str_c(provider_probe_word(r.state)));
    json_member_str_or_null(&a->o, "error", str_c(r.why));
    json_member_i64_or_null(&a->o, "checked_at_us", r.checked_ms < 0 ? -1 : r.checked_ms * 1000);
    json_member_i64_or_null(&a->o, "took_ms", r.checked_ms < 0 ? -1 : (int64_t)r.took_ms);
    json_out_end(&a->o);
}

static void provider_write(struct admin *a, const struct config_provider *p)
{
    json_out_object(&a->o);
    json_member_str(&a->o, "name", p->name);
    json_member_str(
        &a->o, "kind", p->replay ? STR("replay") : str_c(chat_dialect_name(p->dialect)));
    if (p->replay)
        json_member_null(&a->o, "base_url");
    else
        json_member_str(&a->o, "base_url", p->base_url);
    json_member_array(&a->o, "models");
    for (size_t i = 0; i < p->model_count; i++)
        if (exchange_may_use(a->ex, p->models[i].alias))
            model_write(a, p, &p->models[i]);
    json_out_end(&a->o);
    json_member_bool(&a->o, "enable_reasoning", p->enable_reasoning);
    json_member_str_or_null(&a->o, "format", str_c(p->format ? p->format->id : NULL));
    json_member_array(&a->o, "fallback");
    for (size_t i = 0; i < p->fallback_count; i++) {
        assert(p->fallback[i] < a->ex->setup->config->provider_count);
        json_out_str(&a->o, a->ex->setup->config->providers[p->fallback[i]].name);
    }
    json_out_end(&a->o);
    json_member_str(&a->o, "breaker", breaker_is_open(a, p) ? STR("open") : STR("closed"));
    admin_write_probe(a, p);
    json_member_bool(&a->o, "has_key", secret_reveal(&p->key).n > 0);
    json_member_bool(&a->o, "key_missing", p->key_missing.n > 0);
    json_out_end(&a->o);
}

void providers_handle(struct exchange *ex)
{
    const struct config *c = ex->setup->config;
    struct admin a;

    if (!admin_begin(&a, ex))
        return;
    json_member_array(&a.o, "providers");
    for (size_t i = 0; i < c->provider_count; i++)
        provider_write(&a, &c->providers[i]);
    json_out_end(&a.o);
    admin_end(&a);
}

/* ---- levels ---- */

void levels_handle(struct exchange *ex)
{
    const struct config *c = ex->setup->config;
    struct admin a;

    if (!admin_begin(&a, ex))
        return;
    json_member_array(&a.o, "levels");
    for (size_t i = 0; i < COUNT_OF(c->presets); i++) {
        const struct config_preset *p = &c->presets[i];

        json_out_object(&a.o);
        json_member_str(&a.o, "name", p->name);
        json_member_raw(&a.o, "temperature", p->temperature.n ? p->temperature : STR("null"));
        json_member_raw(&a.o, "top_p", p->top_p.n ? p->top_p : STR("null"));
        json_member_i64(&a.o, "reasoning_max_tokens", p->reasoning_max_tokens);
        json_member_bool(
            &a.o, "show", p->show == CONFIG_SHOW_UNSET ? c->show : p->show == CONFIG_SHOW);
        json_member_bool(&a.o,
                         "repair_starved",
                         p->repair_given ? p->repair_starved
                                         : c->repair_starved != CONFIG_REPAIR_NEVER);
        json_out_end(&a.o);
    }
    json_out_end(&a.o);
    admin_end(&a);
}

/* ---- keys ---- */

static void admin_key_write(struct admin *a, const struct config_key *k)
{
    struct gateway *g = &a->ex->worker->daemon->gateway;

    json_out_object(&a->o);
    json_member_str(&a->o, "name", k->name);
    json_member_str(
        &a->o,
        "hint",
        arena_printf(server_arena(a->ex->x), "sha256:%02x%02x...", k->sha256[0], k->sha256[1]));
    json_member_texts(&a->o, "models", k->models, k->model_count);
    json_member_array(&a->o, "levels");
    for (unsigned i = 0; i < 32; i++)
        if (k->levels & 1u << i)
            json_out_str(&a->o, str_c(chat_level_name((enum chat_level)i)));
    json_out_end(&a->o);
    json_member_i64_or_null(&a->o, "rpm", k->rpm);
    json_member_i64_or_null(&a->o, "tpm", k->tpm);
    json_member_double_or_null(&a->o, "spend_usd", k->spend_usd);
    json_member_double_or_null(&a->o, "spent", limits_spent(g->limits, k->name));
    json_member_str(&a->o, "reasoning", str_c(NAME_OF(k->reasoning, "unset", "show", "hide")));
    json_member_str(&a->o, "role", k->role == CONFIG_OPERATOR ? STR("operator") : STR("client"));
    json_out_end(&a->o);
}

void keys_handle(struct exchange *ex)
{
    const struct config *c = ex->setup->config;
    struct admin a;

    if (!admin_begin(&a, ex))
        return;
    json_member_array(&a.o, "keys");
    for (size_t i = 0; i < c->key_count; i++)
        if (api_operator(ex) || &c->keys[i] == ex->key)
            admin_key_write(&a, &c->keys[i]);
    json_out_end(&a.o);
    admin_end(&a);
}

/* ---- the document ---- */

void openapi_handle(struct exchange *ex)
{
    struct buf plain;

    assert(openapi_files_count == 1);
    gzip_unpack_embedded(&openapi_files[0], &plain);
    exchange_reply(ex, 200, STR("application/json"), buf_str(&plain));
    buf_release(&plain);
}
