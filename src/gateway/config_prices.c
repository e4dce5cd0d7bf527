/* config_prices.c - prices in the configuration, and which price a model has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_agents.h"
#include "gateway/config_build.h"
#include "gateway/provider.h"

#define PRICE(member) offsetof(struct config_model, price.member)
#define UNPRICED_NAMED 3 /* models that a warning names; of the others it gives the number */

static const struct config_row rows[] = {
    {"input", CONFIG_IS_USD, PRICE(rate.input), NULL, 0, 1e6, NULL, false},
    {"output", CONFIG_IS_USD, PRICE(rate.output), NULL, 0, 1e6, NULL, false},
    {"cache_read", CONFIG_IS_USD, PRICE(rate.cache_read), NULL, 0, 1e6, NULL, false},
    {"cache_write", CONFIG_IS_USD, PRICE(rate.cache_write), NULL, 0, 1e6, NULL, false},
    {"above.tokens", CONFIG_IS_COUNT, PRICE(above), NULL, 1, 1e9, NULL, false},
    {"above.input", CONFIG_IS_USD, PRICE(over.input), NULL, 0, 1e6, NULL, false},
    {"above.output", CONFIG_IS_USD, PRICE(over.output), NULL, 0, 1e6, NULL, false},
    {"above.cache_read", CONFIG_IS_USD, PRICE(over.cache_read), NULL, 0, 1e6, NULL, false},
    {"above.cache_write", CONFIG_IS_USD, PRICE(over.cache_write), NULL, 0, 1e6, NULL, false},
};

/* The rates that hold beyond `above` are those below it where the file gives no other. */
static void price_fill_over(struct price *p)
{
    const struct price_rate *from = &p->rate;
    struct price_rate *to = &p->over;

    to->input = to->input < 0 ? from->input : to->input;
    to->output = to->output < 0 ? from->output : to->output;
    to->cache_read = to->cache_read < 0 ? from->cache_read : to->cache_read;
    to->cache_write = to->cache_write < 0 ? from->cache_write : to->cache_write;
}

bool config_prices_read(struct config_build *b, struct config_provider *p,
                        const struct json_node *v)
{
    const struct json *doc = &b->source->doc;
    const struct config_rows all = {rows, COUNT_OF(rows)};
    size_t n = json_count(doc, v);

    if (n > CONFIG_MODELS_MAX)
        return config_wrong(b, v, "at most %d prices", CONFIG_MODELS_MAX);
    p->prices = arena_zero(&b->c->arena, n, sizeof *p->prices);
    for (const struct json_node *k = json_first(doc, v); k; k = json_next(doc, v, k)) {
        struct config_model *m = &p->prices[p->price_count++];
        const struct json_node *above = json_find(doc, json_value(k), STR("above"));
        str name;

        if (!json_text(doc, k, &b->c->arena, &name))
            return false;
        *m = (struct config_model){.alias = arena_dup(&b->c->arena, name), .price = price_none};
        m->upstream = m->alias;
        if (!config_rows_read(b, &all, json_value(k), m))
            return false;
        if (above && !m->price.above)
            return config_wrong(b, above, "\"tokens\" is missing: from how many on it holds");
        price_fill_over(&m->price);
        m->price.line = config_line(b->source, k);
    }
    return true;
}

void config_price_model(const struct config_provider *p, struct config_model *m)
{
    for (size_t i = 0; i < p->price_count; i++)
        if (str_eq(p->prices[i].alias, m->alias) || str_eq(p->prices[i].alias, m->upstream)) {
            m->price = p->prices[i].price;
            return;
        }
    m->price = price_none;
    if (p->listed_prices)
        (void)price_find(p->url.host, str_c(p->row->otel_name), m->upstream, &m->price);
}

/* ---- budgets without prices ---- */

struct unpriced {
    struct arena *arena;
    str names; /* the first few */
    size_t n;
};

static void unpriced_add(struct unpriced *u, const struct config_provider *p, str model)
{
    if (p->replay)
        return; /* costs nothing */
    if (u->n < UNPRICED_NAMED)
        u->names = arena_printf(u->arena,
                                STR_FMT "%s" STR_FMT "/" STR_FMT,
                                STR_ARG(u->names),
                                u->n ? ", " : "",
                                STR_ARG(p->name),
                                STR_ARG(model));
    u->n++;
}

static void unpriced_collect(const struct config *c, const struct config_key *k, struct unpriced *u)
{
    for (size_t i = 0; i < k->model_count; i++) {
        struct config_route r;
        struct config_model m;

        if (!config_find(c, k->models[i], &r))
            continue;
        config_route_model(&r, &m);
        if (!price_known(&m.price))
            unpriced_add(u, r.provider, m.upstream);
    }
    for (size_t i = 0; i < c->provider_count && !k->model_count; i++) {
        const struct config_provider *p = &c->providers[i];

        for (size_t j = 0; j < p->model_count; j++)
            if (!price_known(&p->models[j].price))
                unpriced_add(u, p, p->models[j].upstream);
        if (!p->model_count && !p->price_count &&
            !(p->listed_prices && price_has_list(p->url.host, str_c(p->row->otel_name))))
            unpriced_add(u, p, STR("*"));
    }
}

void config_prices_check(struct config_build *b, const struct config_key *k,
                         const struct json_node *v)
{
    struct unpriced u = {.arena = &b->c->arena, .names = STR("")};

    if (k->spend_usd < 0)
        return;
    unpriced_collect(b->c, k, &u);
    if (!u.n)
        return;
    if (u.n > UNPRICED_NAMED)
        u.names =
            arena_printf(u.arena, STR_FMT " and %zu more", STR_ARG(u.names), u.n - UNPRICED_NAMED);
    config_warn(b,
                json_find(&b->source->doc, v, STR("spend_usd")),
                "no price is known of " STR_FMT ": calls to them are not counted; give prices of "
                "the provider, or see `rationale prices`",
                STR_ARG(u.names));
}

void config_prices_check_agent(struct config_build *b, const struct config_agent *a,
                               const struct json_node *v)
{
    struct config_route r;
    struct config_model m;

    if (a->limits.usd <= 0 || !config_find(b->c, a->model, &r) || r.provider->replay)
        return;
    config_route_model(&r, &m);
    if (!price_known(&m.price))
        config_warn(b,
                    config_at(&b->source->doc, v, "limits.usd"),
                    "no price is known of " STR_FMT "/" STR_FMT
                    ": the limit cannot be held; give prices of the provider, or limits.tokens",
                    STR_ARG(r.provider->name),
                    STR_ARG(m.upstream));
}
