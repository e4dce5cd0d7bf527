/* `rationale stats`: prints calls, tokens and costs, and how much models think.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/history.h"

enum { CONFIG, BY, SINCE, UNTIL, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [BY] = {"by",
            'b',
            "WHAT",
            "model provider key level day reasoning",
            "group the sums by this (default: model)"},
    [SINCE] = {"since", 0, "TIME", NULL, "since: 90m, 24h, 7d ago, or a date-time"},
    [UNTIL] = {"until", 0, "TIME", NULL, "before then"},
    [JSON] = {"json", 0, NULL, NULL, "as JSON, in the words of the history API"},
};

static const struct history_column usage[] = {
    {"MODEL", "key", HISTORY_TEXT, 40}, /* or another title: stats_usage_table */
    {"CALLS", "calls", HISTORY_NUMBER, 10},
    {"FAILED", "failed", HISTORY_NUMBER, 10},
    {"IN", "input_tokens", HISTORY_NUMBER, 14},
    {"OUT", "output_tokens", HISTORY_NUMBER, 14},
    {"THOUGHT", "reasoning_tokens", HISTORY_NUMBER, 14},
    {"CACHED", "cache_read_tokens", HISTORY_NUMBER, 14},
    {"CUT", "cut", HISTORY_NUMBER, 10},
    {"STARVED", "starved", HISTORY_NUMBER, 10},
    {"USD", "cost_usd", HISTORY_USD, 14},
};

static const struct history_column reasoning[] = {
    {"MODEL", "model", HISTORY_TEXT, 32},
    {"LEVEL", "level", HISTORY_TEXT, 10},
    {"CALLS", "calls", HISTORY_NUMBER, 10},
    {"THOUGHT", "reasoning_tokens", HISTORY_NUMBER, 14},
    {"OUT", "output_tokens", HISTORY_NUMBER, 14},
    {"SHARE", "share", HISTORY_SHARE, 8},
    {"CAP", "cap_tokens", HISTORY_NUMBER, 8},
    {"CUT", "cut", HISTORY_NUMBER, 8},
    {"STARVED", "starved", HISTORY_NUMBER, 8},
    {"P50", "thinking_ms_p50", HISTORY_MS, 12},
    {"P95", "thinking_ms_p95", HISTORY_MS, 12},
};

/* The title of the first column is the word of --by. */
static int stats_usage_table(struct history *h, struct cli *cli, str by)
{
    static const char *const heads[] = {"PROVIDER", "KEY", "LEVEL", "DAY"};
    struct history_column columns[COUNT_OF(usage)];

    memcpy(columns, usage, sizeof columns);
    for (size_t i = 0; i < COUNT_OF(heads); i++)
        if (by.n == strlen(heads[i]) && strncasecmp(by.p, heads[i], by.n) == 0)
            columns[0].head = heads[i];
    return history_table(h, cli, "groups", columns, COUNT_OF(columns));
}

static int stats_run(struct cli *cli, const struct cli_args *args)
{
    str by = str_c(args->value[BY] ? args->value[BY] : "model");
    bool thinking = str_eq(by, STR("reasoning")), ok;
    struct query_filter f = query_filter_none;
    struct history h;
    struct err e;
    int code;

    if (!history_range(args->value[SINCE], args->value[UNTIL], &f))
        return CLI_USAGE;
    code = history_open(&h, args->value[CONFIG]);
    if (code)
        return code;
    ok = thinking ? query_reasoning(h.reader, &h.asker, &f, &h.out, &e)
                  : query_usage(h.reader, &h.asker, by, &f, &h.out, &e);
    code = history_show(&h, cli, ok, &e, args->value[JSON] != NULL);
    if (code == CLI_OK && !args->value[JSON]) {
        code = thinking ? history_table(&h, cli, "rows", reasoning, COUNT_OF(reasoning))
                        : stats_usage_table(&h, cli, by);
        history_print_empty(&h, args, thinking ? "rows" : "groups", "calls");
    }
    history_close(&h);
    return code;
}

const struct cli_command cli_stats = {
    .name = "stats",
    .summary = "add up calls, tokens, reasoning and cost",
    .words = "",
    .about =
        "Sums the record by model, provider, key, level or day. Starved calls reasoned and gave "
        "no answer; cut calls reached their cap.",
    .examples = "  rationale stats --by day --since 7d\n"
                "  rationale stats --by reasoning --json\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = stats_run,
};
