/* config_rows.c - the settings that are one value each: read, checked and shown by their rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_agents.h"
#include "gateway/config_build.h"
#include "gateway/config_notify.h"

#define TOP(member) offsetof(struct config, member)
#define PROVIDER(member) offsetof(struct config_provider, member)
#define KEY(member) offsetof(struct config_key, member)
#define PRESET(member) offsetof(struct config_preset, member)
#define AGENT(member) offsetof(struct config_agent, member)
#define TOOLS(member) offsetof(struct config_tools, member)
#define NOTIFY(member) offsetof(struct config_notify, member)
#define MS_MAX CONFIG_MS_MAX
#define YEARS_MAX (100 * 366.0 * 24 * 3600 * 1000)

static const struct config_row top[] = {
    {"store", CONFIG_IS_STORE, TOP(store_url), "sqlite:rationale.db", 0, 0, NULL, false},
    {"spool", CONFIG_IS_PATH, TOP(spool), "", 0, 0, NULL, false},
    {"journal.max", CONFIG_IS_SIZE, TOP(journal_max), "1GiB", 1 << 20, 1e15, NULL, false},
    {"journal.wait", CONFIG_IS_MS, TOP(journal_wait_ms), "5s", 0, MS_MAX, NULL, false},
    {"retention.age", CONFIG_IS_MS, TOP(retention_age_ms), "0s", 0, YEARS_MAX, NULL, false},
    {"retention.minimum", CONFIG_IS_MS, TOP(retention_min_ms), "0s", 0, YEARS_MAX, NULL, false},
    {"retention.size", CONFIG_IS_SIZE, TOP(retention_size), "0B", 0, 1e15, NULL, false},
    {"durability",
     CONFIG_IS_CHOICE,
     TOP(durability),
     "durable",
     0,
     0,
     "durable fast replicated",
     false},
    {"unrecorded", CONFIG_IS_CHOICE, TOP(unrecorded), "refuse", 0, 0, "refuse pass", false},
    {"reasoning.show", CONFIG_IS_FLAG, TOP(show), "false", 0, 0, NULL, false},
    {"reasoning.keep", CONFIG_IS_CHOICE, TOP(keep), "text", 0, 0, "none summary text", false},
    {"reasoning.delta", CONFIG_IS_FLAG, TOP(delta), "false", 0, 0, NULL, false},
    {"reasoning.presets", CONFIG_IS_CHOICE, TOP(presets_for), "asked", 0, 0, "asked always", false},
    {"reasoning.answer_tokens",
     CONFIG_IS_COUNT,
     TOP(answer_tokens),
     "8192",
     0,
     CONFIG_TOKENS_MAX,
     NULL,
     false},
    {"reasoning.repair_starved",
     CONFIG_IS_CHOICE,
     TOP(repair_starved),
     "asked",
     0,
     0,
     "asked false true",
     false},
    {"reasoning.adaptive", CONFIG_IS_FLAG, TOP(adaptive), "false", 0, 0, NULL, false},
    {"reasoning.drop_from_history",
     CONFIG_IS_FLAG,
     TOP(drop_from_history),
     "true",
     0,
     0,
     NULL,
     false},
    {"prices", CONFIG_IS_CHOICE, TOP(prices), "builtin", 0, 0, "builtin none", false},
    {"data_masking.enabled", CONFIG_IS_FLAG, TOP(masking), "true", 0, 0, NULL, false},
    {"tls.cert", CONFIG_IS_PATH, TOP(tls_cert), "", 0, 0, NULL, false},
    {"tls.key", CONFIG_IS_PATH, TOP(tls_key), "", 0, 0, NULL, false},
    {"ca_file", CONFIG_IS_PATH, TOP(ca_file), "", 0, 0, NULL, false},
    {"threads", CONFIG_IS_UNSIGNED, TOP(threads), "0", 0, 256, NULL, false},
    {"otlp.endpoint", CONFIG_IS_TEXT, TOP(otlp_url), "", 0, 0, NULL, false},
    {"timeouts.header", CONFIG_IS_MS, TOP(header_ms), "10s", 1, MS_MAX, NULL, false},
    {"timeouts.body", CONFIG_IS_MS, TOP(body_ms), "30s", 1, MS_MAX, NULL, false},
    {"timeouts.idle", CONFIG_IS_MS, TOP(idle_ms), "60s", 1, MS_MAX, NULL, false},
    {"timeouts.write", CONFIG_IS_MS, TOP(write_ms), "60s", 1, MS_MAX, NULL, false},
    {"timeouts.drain", CONFIG_IS_MS, TOP(drain_ms), "30s", 0, MS_MAX, NULL, false},
    {"timeouts.keepalive", CONFIG_IS_MS, TOP(keepalive_ms), "15s", 0, MS_MAX, NULL, false},
    {"body_max", CONFIG_IS_SIZE, TOP(body_max), "32MiB", 1024, (double)JSON_SIZE_MAX, NULL, false},
    {"breaker.failures", CONFIG_IS_UNSIGNED, TOP(breaker_failures), "5", 1, 1000, NULL, false},
    {"breaker.open", CONFIG_IS_MS, TOP(breaker_ms), "30s", 1, MS_MAX, NULL, false},
    {"probe.interval", CONFIG_IS_MS, TOP(probe_ms), "30s", 0, MS_MAX, NULL, false},
    {"log.level", CONFIG_IS_CHOICE, TOP(log_level), "info", 0, 0, "debug info warn error", false},
    {"incidents.agents", CONFIG_IS_PATH, TOP(incidents.agents), "", 0, 0, NULL, false},
    {"incidents.runbooks", CONFIG_IS_PATH, TOP(incidents.runbooks), "", 0, 0, NULL, false},
    {"incidents.model", CONFIG_IS_TEXT, TOP(incidents.model), "", 0, 0, NULL, false},
    {"incidents.default_alert_type",
     CONFIG_IS_TEXT,
     TOP(incidents.default_type),
     "",
     0,
     0,
     NULL,
     false},
    {"incidents.group_alerts",
     CONFIG_IS_FLAG,
     TOP(incidents.group_alerts),
     "true",
     0,
     0,
     NULL,
     false},
    {"incidents.pagerduty_secret_env",
     CONFIG_IS_TEXT,
     TOP(incidents.pagerduty_secret_env),
     "",
     0,
     0,
     NULL,
     false},
    {"incidents.grafana_secret_env",
     CONFIG_IS_TEXT,
     TOP(incidents.grafana_secret_env),
     "",
     0,
     0,
     NULL,
     false},
    {"incidents.max_concurrent_alerts",
     CONFIG_IS_UNSIGNED,
     TOP(incidents.max_concurrent),
     "5",
     1,
     256,
     NULL,
     false},
    {"incidents.max_queue_size",
     CONFIG_IS_UNSIGNED,
     TOP(incidents.max_queue),
     "100",
     0,
     100000,
     NULL,
     false},
    {"incidents.timeout", CONFIG_IS_MS, TOP(incidents.timeout_ms), "600s", 1, MS_MAX, NULL, false},
    {"incidents.public_url", CONFIG_IS_TEXT, TOP(incidents.public_url), "", 0, 0, NULL, false},
    {"incidents.silence_proposal",
     CONFIG_IS_MS,
     TOP(incidents.silence_ms),
     "2h",
     0,
     30.0 * 24 * 3600 * 1000,
     NULL,
     false},
    {"policy.search", CONFIG_IS_CHOICE, TOP(policy.search), "model", 0, 0, "model bm25", false},
    {"policy.max_tokens", CONFIG_IS_COUNT, TOP(policy.tokens_max), "60000", 1, 1e9, NULL, false},
    {"policy.timeout", CONFIG_IS_MS, TOP(policy.time_max_ms), "120s", 1, MS_MAX, NULL, false},
    {"policy.model", CONFIG_IS_TEXT, TOP(policy.model), "", 0, 0, NULL, false},
    {"policy.react_use_llm_controller",
     CONFIG_IS_FLAG,
     TOP(policy.use_llm),
     "false",
     0,
     0,
     NULL,
     false},
    {"policy.react_shadow_mode", CONFIG_IS_FLAG, TOP(policy.shadow), "false", 0, 0, NULL, false},
    {"policy.react_fallback_enabled",
     CONFIG_IS_FLAG,
     TOP(policy.fallback),
     "true",
     0,
     0,
     NULL,
     false},
    {"policy.react_ab_test_ratio", CONFIG_IS_USD, TOP(policy.ab_ratio), "0", 0, 1, NULL, false},
    {"policy.prompt_ab_test_ratio",
     CONFIG_IS_USD,
     TOP(policy.prompt_ab_ratio),
     "0",
     0,
     1,
     NULL,
     false},
    {"policy.ab_salt", CONFIG_IS_TEXT, TOP(policy.ab_salt), "", 0, 0, NULL, false},
    {"policy.optimize", CONFIG_IS_FLAG, TOP(policy.optimize), "false", 0, 0, NULL, false},
    {"policy.train", CONFIG_IS_PATH, TOP(policy.train), "", 0, 0, NULL, false},
    {"policy.val", CONFIG_IS_PATH, TOP(policy.val), "", 0, 0, NULL, false},
    {"orders.menu", CONFIG_IS_PATH, TOP(orders.menu), "", 0, 0, NULL, false},
    {"orders.model", CONFIG_IS_TEXT, TOP(orders.model), "", 0, 0, NULL, false},
    {"orders.max_pieces", CONFIG_IS_COUNT, TOP(orders.pieces_max), "0", 0, 1e6, NULL, false},
    {"orders.max_price", CONFIG_IS_USD, TOP(orders.price_max), "0", 0, 1e9, NULL, false},
    {"agents_folder", CONFIG_IS_PATH, TOP(agents_folder), "", 0, 0, NULL, false},
};

/* In the order of enum chat_level; the schema allows none and minimal to max. */
#define LEVELS "unset none on minimal low medium high xhigh max"

static const struct config_row provider[] = {
    {"enable_reasoning", CONFIG_IS_FLAG, PROVIDER(enable_reasoning), "false", 0, 0, NULL, false},
    {"starts_in_reasoning",
     CONFIG_IS_FLAG,
     PROVIDER(starts_in_reasoning),
     "false",
     0,
     0,
     NULL,
     false},
    {"level", CONFIG_IS_CHOICE, PROVIDER(level), NULL, 0, 0, LEVELS, false},
    {"record", CONFIG_IS_PATH, PROVIDER(record), "", 0, 0, NULL, false},
    {"connect_timeout", CONFIG_IS_MS, PROVIDER(connect_ms), "10s", 1, MS_MAX, NULL, false},
    {"first_token_timeout", CONFIG_IS_MS, PROVIDER(first_ms), "600s", 1, MS_MAX, NULL, false},
    {"stall_timeout", CONFIG_IS_MS, PROVIDER(stall_ms), "120s", 1, MS_MAX, NULL, false},
    {"retries", CONFIG_IS_UNSIGNED, PROVIDER(retries_max), "3", 0, 3, NULL, false},
    {"backoff", CONFIG_IS_MS, PROVIDER(backoff_ms), "1s", 0, 60000, NULL, false},
};

static const struct config_row key[] = {
    {"rpm", CONFIG_IS_COUNT, KEY(rpm), NULL, 1, 1e9, NULL, false},
    {"tpm", CONFIG_IS_COUNT, KEY(tpm), NULL, 1, 1e12, NULL, false},
    {"spend_usd", CONFIG_IS_USD, KEY(spend_usd), NULL, 0, 1e9, NULL, false},
    {"reasoning", CONFIG_IS_CHOICE, KEY(reasoning), NULL, 0, 0, "unset show hide", false},
    {"level", CONFIG_IS_CHOICE, KEY(level), NULL, 0, 0, LEVELS, false},
    {"role", CONFIG_IS_CHOICE, KEY(role), NULL, 0, 0, "client operator", false},
};

static const struct config_row preset[] = {
    {"temperature", CONFIG_IS_DECIMAL, PRESET(temperature), NULL, 0, 2, NULL, false},
    {"top_p", CONFIG_IS_DECIMAL, PRESET(top_p), NULL, 0, 1, NULL, false},
    {"reasoning_max_tokens",
     CONFIG_IS_COUNT,
     PRESET(reasoning_max_tokens),
     NULL,
     1,
     CONFIG_TOKENS_MAX,
     NULL,
     false},
};

static const struct config_row agent[] = {
    {"description", CONFIG_IS_TEXT, AGENT(description), "", 0, 0, NULL, false},
    {"model", CONFIG_IS_TEXT, AGENT(model), "", 0, 0, NULL, false},
    {"level", CONFIG_IS_CHOICE, AGENT(level), NULL, 0, 0, LEVELS, false},
    {"strategy", CONFIG_IS_CHOICE, AGENT(strategy), "native", 0, 0, "native react classic", false},
    {"limits.steps", CONFIG_IS_UNSIGNED, AGENT(limits.steps), "20", 1, 1000, NULL, false},
    {"limits.tokens", CONFIG_IS_COUNT, AGENT(limits.tokens), NULL, 1, 1e12, NULL, false},
    {"limits.usd", CONFIG_IS_USD, AGENT(limits.usd), NULL, 1e-9, 1e9, NULL, false},
    {"limits.time", CONFIG_IS_MS, AGENT(limits.time_ms), NULL, 1, MS_MAX, NULL, false},
};

static const struct config_row tools[] = {
    {"http.method", CONFIG_IS_TEXT, TOOLS(method), "POST", 0, 0, NULL, false},
    {"http.description", CONFIG_IS_TEXT, TOOLS(description), "", 0, 0, NULL, false},
    {"http.read_only", CONFIG_IS_FLAG, TOOLS(read_only), NULL, 0, 0, NULL, false},
    {"http.idempotent", CONFIG_IS_FLAG, TOOLS(idempotent), NULL, 0, 0, NULL, false},
    {"timeout", CONFIG_IS_MS, TOOLS(timeout_ms), "12s", 1, 600e3, NULL, false},
};

static const struct config_row notify[] = {
    {"timeout", CONFIG_IS_MS, NOTIFY(timeout_ms), "10s", 100, 120e3, NULL, false},
    {"retry_for", CONFIG_IS_MS, NOTIFY(retry_ms), "1h", 0, MS_MAX, NULL, false},
    {"slack.channel", CONFIG_IS_TEXT, NOTIFY(channel), "", 0, 0, NULL, false},
    {"slack.api_url", CONFIG_IS_TEXT, NOTIFY(api_url), "https://slack.com/api", 0, 0, NULL, false},
    {"webhook.url", CONFIG_IS_TEXT, NOTIFY(url), "", 0, 0, NULL, false},
    {"email.server", CONFIG_IS_TEXT, NOTIFY(server), "", 0, 0, NULL, false},
    {"email.security",
     CONFIG_IS_CHOICE,
     NOTIFY(security),
     "starttls",
     0,
     0,
     "starttls tls plain",
     false},
    {"email.username", CONFIG_IS_TEXT, NOTIFY(username), "", 0, 0, NULL, false},
    {"email.from", CONFIG_IS_TEXT, NOTIFY(from), "", 0, 0, NULL, false},
};

const struct config_rows config_top_rows = {top, COUNT_OF(top)};
const struct config_rows config_provider_rows = {provider, COUNT_OF(provider)};
const struct config_rows config_key_rows = {key, COUNT_OF(key)};
const struct config_rows config_preset_rows = {preset, COUNT_OF(preset)};
const struct config_rows config_agent_rows = {agent, COUNT_OF(agent)};
const struct config_rows config_tools_rows = {tools, COUNT_OF(tools)};
const struct config_rows config_notify_rows = {notify, COUNT_OF(notify)};

/* ---- words with units ---- */

struct unit {
    const char *name;
    double factor;
};

static const struct unit durations[] = {
    {"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"min", 60e3}, {"h", 3600e3}, {"d", 86400e3}};
static const struct unit sizes[] = {
    {"", 1},
    {"B", 1},
    {"kB", 1e3},
    {"KB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"KiB", 1024},
    {"MiB", 1024.0 * 1024},
    {"GiB", 1024.0 * 1024 * 1024},
};

/* Digits, perhaps with a point in them, and a unit after them; white space between the two is
 * fine. */
static bool config_rows_parse_measure(str s, const struct unit *units, size_t n, double *out)
{
    double value = 0, place = 1;
    size_t at = 0, count = 0;
    bool point = false;
    str word;

    for (; at < s.n && ((s.p[at] >= '0' && s.p[at] <= '9') || (s.p[at] == '.' && !point)); at++) {
        if (s.p[at] == '.') {
            point = true;
            continue;
        }
        value = value * 10 + (s.p[at] - '0');
        place *= point ? 10 : 1;
        count++;
    }
    if (count == 0 || count > 15)
        return false;
    word = str_trim(str_slice(s, at, s.n));
    for (size_t i = 0; i < n; i++)
        if (str_eq(word, str_c(units[i].name))) {
            *out = value / place * units[i].factor;
            return true;
        }
    return false;
}

/* A value of the file or a default, not typed yet. */
struct given {
    str text;       /* a string's text, or the number as it is written */
    bool is_number; /* then number */
    double number;
    const struct json_node *v; /* NULL for a default */
};

static void config_show_unit(uint64_t value, const struct unit *units, size_t n, struct buf *out)
{
    const struct unit *best = &units[0];

    for (size_t i = 0; i < n; i++)
        if (units[i].factor > best->factor && value > 0 && value % (uint64_t)units[i].factor == 0)
            best = &units[i];
    buf_printf(out, "%llu%s", (unsigned long long)(value / (uint64_t)best->factor), best->name);
}

static void config_show_bound(const struct config_row *row, double bound, struct buf *out)
{
    if (row->type == CONFIG_IS_MS)
        config_show_unit((uint64_t)bound, durations, COUNT_OF(durations), out);
    else if (row->type == CONFIG_IS_SIZE)
        config_show_unit((uint64_t)bound, sizes, COUNT_OF(sizes), out);
    else
        buf_printf(out, "%.15g", bound);
}

static bool config_rows_out_of_bounds(struct config_build *b, const struct config_row *row,
                                      const struct given *g)
{
    struct buf words;

    buf_init(&words, 256);
    config_show_bound(row, row->min, &words);
    buf_add(&words, STR(" to "));
    config_show_bound(row, row->max, &words);
    config_wrong(b, g->v, "must be " STR_FMT, STR_ARG(buf_str(&words)));
    buf_release(&words);
    return false;
}

/* Rounds towards zero; large doubles have no fraction. */
static double config_rows_whole(double v)
{
    return v > -1e15 && v < 1e15 ? (double)(int64_t)v : v;
}

static bool config_to_number(struct config_build *b, const struct config_row *row,
                             const struct given *g, double *out)
{
    double value = g->number;

    if (row->type == CONFIG_IS_MS) {
        if (g->is_number)
            value *= 1000;
        else if (!config_rows_parse_measure(g->text, durations, COUNT_OF(durations), &value))
            return config_wrong(
                b,
                g->v,
                "must be a duration such as 500ms, 30s, 5m, 12h or 90d, or a number of seconds");
        value = value > 0 && value < 1 ? 1 : config_rows_whole(value + 0.5);
    } else if (row->type == CONFIG_IS_SIZE) {
        if (!g->is_number && !config_rows_parse_measure(g->text, sizes, COUNT_OF(sizes), &value))
            return config_wrong(b, g->v, "must be a size such as 32MiB, or a number of bytes");
        value = config_rows_whole(value);
    }
    /* Written so that a NaN is refused too. */
    if (!(value >= row->min && value <= row->max))
        return config_rows_out_of_bounds(b, row, g);
    *out = value;
    return true;
}

static unsigned config_rows_get_choice(const char *choices, str word)
{
    size_t place = str_place(word, choices);

    return place == STR_NONE ? 0 : (unsigned)place; /* the schema has checked the word */
}

static bool config_rows_set(struct config_build *b, const struct config_row *row,
                            const struct given *g, void *to)
{
    void *at = (char *)to + row->at;
    double number = 0;

    switch (row->type) {
    case CONFIG_IS_FLAG:
        *(bool *)at = str_eq(g->text, STR("true"));
        return true;
    case CONFIG_IS_TEXT:
        *(str *)at = arena_dup(&b->c->arena, g->text);
        return true;
    case CONFIG_IS_PATH:
        return config_resolve(b, g->v, g->text, at);
    case CONFIG_IS_STORE:
        return config_resolve_store(b, g->v, g->text, at);
    case CONFIG_IS_CHOICE:
        *(unsigned *)at = config_rows_get_choice(row->choices, g->text);
        return true;
    default:
        break;
    }
    if (!config_to_number(b, row, g, &number))
        return false;
    if (row->type == CONFIG_IS_DECIMAL)
        *(str *)at = arena_dup(&b->c->arena, g->text);
    else if (row->type == CONFIG_IS_MS)
        *(uint64_t *)at = (uint64_t)number;
    else if (row->type == CONFIG_IS_SIZE)
        *(size_t *)at = (size_t)number;
    else if (row->type == CONFIG_IS_UNSIGNED)
        *(unsigned *)at = (unsigned)number;
    else if (row->type == CONFIG_IS_COUNT)
        *(int64_t *)at = (int64_t)number;
    else
        *(double *)at = number;
    return true;
}

static bool config_rows_read_row(struct config_build *b, const struct config_row *row,
                                 const struct json_node *v, void *to)
{
    const struct json *doc = &b->source->doc;
    struct given g = {.text = json_raw(doc, v), .v = v};

    if (v->kind == JSON_NULL) {
        assert(row->type == CONFIG_IS_DECIMAL);
        *(str *)(void *)((char *)to + row->at) = STR("");
        return true;
    }
    if (v->kind == JSON_STRING && !json_text(doc, v, &b->c->arena, &g.text))
        return false;
    if (v->kind == JSON_NUMBER)
        g.is_number = json_double(doc, v, &g.number);
    return config_rows_set(b, row, &g, to);
}

static bool config_read_default(struct config_build *b, const struct config_row *row, void *to)
{
    struct given g = {.text = str_c(row->fallback)};
    uint64_t n;

    if ((row->type == CONFIG_IS_UNSIGNED || row->type == CONFIG_IS_COUNT) && str_u64(g.text, &n)) {
        g.is_number = true;
        g.number = (double)n;
    }
    return config_rows_set(b, row, &g, to);
}

bool config_rows_read(struct config_build *b, const struct config_rows *rows,
                      const struct json_node *object, void *to)
{
    bool ok = true;

    for (size_t i = 0; i < rows->n; i++) {
        const struct config_row *row = &rows->rows[i];
        const struct json_node *v = config_at(&b->source->doc, object, row->path);

        ok &= v ? config_rows_read_row(b, row, v, to)
                : !row->fallback || config_read_default(b, row, to);
    }
    return ok;
}

/* ---- showing ---- */

static str config_choice_at(const char *choices, unsigned n)
{
    str all = str_c(choices);

    for (; n > 0; n--)
        all = str_slice(all, str_find(all, STR(" ")) + 1, all.n);
    return str_slice(all, 0, str_find(all, STR(" ")));
}

bool config_row_unset(const struct config_row *row, const struct json_node *v)
{
    return !v && !row->fallback && row->type == CONFIG_IS_CHOICE;
}

void config_row_show(const struct config_row *row, const void *from, struct buf *out)
{
    static const struct unit shown_sizes[] = {
        {"", 1}, {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    static const struct unit shown_ms[] = {{"ms", 1}, {"s", 1e3}};
    const void *at = (const char *)from + row->at;

    switch (row->type) {
    case CONFIG_IS_FLAG:
        buf_add(out, *(const bool *)at ? STR("true") : STR("false"));
        break;
    case CONFIG_IS_TEXT:
    case CONFIG_IS_PATH:
    case CONFIG_IS_STORE:
        json_quote(out, *(const str *)at);
        break;
    case CONFIG_IS_DECIMAL:
        buf_add(out, ((const str *)at)->n ? *(const str *)at : STR("null"));
        break;
    case CONFIG_IS_MS:
        config_show_unit(*(const uint64_t *)at, shown_ms, COUNT_OF(shown_ms), out);
        break;
    case CONFIG_IS_SIZE:
        config_show_unit(*(const size_t *)at, shown_sizes, COUNT_OF(shown_sizes), out);
        break;
    case CONFIG_IS_UNSIGNED:
        buf_printf(out, "%u", *(const unsigned *)at);
        break;
    case CONFIG_IS_COUNT:
        buf_printf(out, "%lld", (long long)*(const int64_t *)at);
        break;
    case CONFIG_IS_USD:
        buf_printf(out, "%.15g", *(const double *)at);
        break;
    case CONFIG_IS_CHOICE:
        buf_add(out, config_choice_at(row->choices, *(const unsigned *)at));
        break;
    }
}
