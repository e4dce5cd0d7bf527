/* `rationale prices`: prints the prices of models, and the source of each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/history.h"

#include <unistd.h>

#define ARENA_SIZE_MAX ((size_t)64 << 20)

enum { CONFIG, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml, if any)"},
    [JSON] = {"json", 0, NULL, NULL, "as JSON: prices, each with its rates, date and source"},
};

static const struct history_column columns[] = {
    {"MODEL", "model", HISTORY_TEXT, 48},
    {"PROVIDER", "provider", HISTORY_TEXT, 24},
    {"INPUT", "input", HISTORY_NUMBER, 10},
    {"OUTPUT", "output", HISTORY_NUMBER, 10},
    {"CACHE READ", "cache_read", HISTORY_NUMBER, 10},
    {"CACHE WRITE", "cache_write", HISTORY_NUMBER, 10},
    {"ABOVE", "above_tokens", HISTORY_NUMBER, 10},
    {"ABOVE INPUT", "above_input", HISTORY_NUMBER, 10},
    {"ABOVE OUTPUT", "above_output", HISTORY_NUMBER, 10},
    {"DATE", "date", HISTORY_TEXT, 10},
    {"SOURCE", "source", HISTORY_TEXT, 0},
};

struct price_listing {
    struct json_out o;
    struct arena *arena;
    const struct config *config; /* or NULL */
    str wanted;                  /* a model; empty: all */
    size_t n, known;             /* rows; those that have a price */
};

static str price_source(struct price_listing *l, const struct price *p)
{
    assert(!p->line || l->config);
    if (p->line)
        return arena_printf(l->arena, STR_FMT ":%u", STR_ARG(l->config->path), p->line);
    return p->provider.n ? STR("built in") : STR("none");
}

static void price_put(struct price_listing *l, str model, str provider, const struct price *p)
{
    struct json_out *o = &l->o;

    l->n++;
    l->known += p->line > 0 || p->provider.n > 0;
    json_out_object(o);
    json_member_str(o, "model", model);
    json_member_str(o, "provider", provider);
    json_member_double_or_null(o, "input", p->rate.input);
    json_member_double_or_null(o, "output", p->rate.output);
    json_member_double_or_null(o, "cache_read", p->rate.cache_read);
    json_member_double_or_null(o, "cache_write", p->rate.cache_write);
    json_member_i64_or_null(o, "above_tokens", p->above ? p->above : -1);
    json_member_double_or_null(o, "above_input", p->above ? p->over.input : -1);
    json_member_double_or_null(o, "above_output", p->above ? p->over.output : -1);
    json_member_double_or_null(o, "above_cache_read", p->above ? p->over.cache_read : -1);
    json_member_double_or_null(o, "above_cache_write", p->above ? p->over.cache_write : -1);
    json_member_str_or_null(o, "date", p->date);
    json_member_str(o, "source", price_source(l, p));
    json_out_end(o);
}

/* Models that the configuration lists, and those that it only has prices of. */
static void price_put_provider(struct price_listing *l, const struct config_provider *p)
{
    for (size_t i = 0; i < p->model_count; i++)
        price_put(l, p->models[i].upstream, p->name, &p->models[i].price);
    for (size_t i = 0; i < p->price_count; i++) {
        bool listed = false;

        for (size_t j = 0; j < p->model_count; j++)
            listed |= str_eq(p->prices[i].alias, p->models[j].alias) ||
                      str_eq(p->prices[i].alias, p->models[j].upstream);
        if (!listed)
            price_put(l, p->prices[i].alias, p->name, &p->prices[i].price);
    }
}

static void price_put_table(struct price_listing *l, str model)
{
    struct price p;
    str name;

    if (l->config && l->config->prices == CONFIG_PRICES_NONE)
        return;
    for (size_t i = 0; price_at(i, &name, &p); i++)
        if (!model.n || str_eq(name, model))
            price_put(l, name, p.provider, &p);
}

/* One model: its price in the configuration, if it is served; and its price in the table, by its
 * name or by its name without a date. */
static void price_put_wanted(struct price_listing *l)
{
    struct config_route r;
    struct config_model m;
    size_t before;

    assert(l->wanted.n > 0);
    if (l->config && config_find(l->config, l->wanted, &r)) {
        config_route_model(&r, &m);
        price_put(l, m.upstream, r.provider->name, &m.price);
        if (!m.price.line && m.price.provider.n)
            return; /* that is the table's row */
    }
    before = l->n;
    price_put_table(l, l->wanted);
    if (l->n == before && !str_eq(price_without_date(l->wanted), l->wanted))
        price_put_table(l, price_without_date(l->wanted));
}

static void price_put_all(struct price_listing *l)
{
    assert(l->wanted.n == 0);
    for (size_t i = 0; l->config && i < l->config->provider_count; i++)
        price_put_provider(l, &l->config->providers[i]);
    price_put_table(l, STR(""));
}

/* Loads the configuration, if one is named or exists; 0, or the exit code after an error
 * message. */
static int price_open_config(const char *path, struct config **out)
{
    struct err e;

    *out = NULL;
    if (!path && access(CLI_CONFIG_FILE, F_OK) != 0)
        return CLI_OK;
    if (!config_load(path ? path : CLI_CONFIG_FILE, out, &e))
        return cli_fail_config(&e);
    return CLI_OK;
}

static int prices_run(struct cli *cli, const struct cli_args *args)
{
    bool json = args->value[JSON] != NULL;
    struct history h = {.asker = {.key_name = STR("")}};
    struct price_listing l;
    struct err e;
    int code = price_open_config(args->value[CONFIG], &h.config);

    if (code)
        return code;
    buf_init(&h.out, QUERY_OUT_MAX);
    json_init(&h.doc);
    arena_init(&h.arena, ARENA_SIZE_MAX);
    l = (struct price_listing){.arena = &h.arena,
                               .config = h.config,
                               .wanted = str_c(args->word_count ? args->words[0] : "")};
    json_out_init_object(&l.o, &h.out);
    json_member_array(&l.o, "prices");
    if (l.wanted.n)
        price_put_wanted(&l);
    else
        price_put_all(&l);
    json_out_close(&l.o, 2);
    code = history_show(&h, cli, json_out_ok(&l.o, &e), &e, json);
    if (code == CLI_OK && !json && l.n)
        code = history_table(&h, cli, "prices", columns, COUNT_OF(columns));
    if (code == CLI_OK && l.wanted.n && !l.known)
        code = cli_complain(CLI_NEGATIVE,
                            "no price is known of \"%s\": give one under providers.NAME.prices",
                            args->words[0]);
    history_close(&h);
    return code;
}

const struct cli_command cli_prices = {
    .name = "prices",
    .summary = "list the prices of models, and where each comes from",
    .words = "[MODEL]",
    .about =
        "Lists prices in USD for a million tokens: those of the models in the configuration, then "
        "the table that ships with this version. SOURCE is the line of the configuration, or "
        "\"built in\" with the date at which the table was last compared with the provider's page. "
        "A call with more input tokens than ABOVE costs the two rates after it. `prices: none` in "
        "the configuration switches the table off. The exit code is 1 if no price of MODEL is "
        "known.",
    .examples = "  rationale prices gpt-5\n"
                "  rationale prices --json --config rationale.yaml\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 1,
    .run = prices_run,
};
