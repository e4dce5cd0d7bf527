/* `rationale list`: sessions, newest first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/history.h"

enum { CONFIG, STATUS, MODEL, KEY, TOOL, SEARCH, SINCE, UNTIL, SORT, LIMIT, CURSOR, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [STATUS] = {"status", 0, "WHAT", "pending in_progress completed failed", "only such sessions"},
    [MODEL] = {"model", 'm', "NAME", NULL, "only those whose last model it was"},
    [KEY] = {"key", 'k', "NAME", NULL, "only those of this key"},
    [TOOL] = {"tool", 't', "NAME", NULL, "only those that called TOOL or SERVER.TOOL"},
    [SEARCH] = {"search", 's', "TEXT", NULL, "only those with these words"},
    [SINCE] = {"since", 0, "TIME", NULL, "started since: 90m, 24h, 7d ago, or a date-time"},
    [UNTIL] = {"until", 0, "TIME", NULL, "started before then"},
    [SORT] = {"sort",
              0,
              "ORDER",
              "started_at_us -started_at_us duration_ms -duration_ms total_tokens -total_tokens "
              "cost_usd -cost_usd",
              "the sort key; with - the largest first"},
    [LIMIT] = {"limit", 'n', "N", NULL, "how many (default: 20)"},
    [CURSOR] = {"cursor", 0, "TEXT", NULL, "continue after a list: its next_cursor"},
    [JSON] = {"json", 0, NULL, NULL, "as JSON, in the words of the history API"},
};

static const struct history_column columns[] = {
    {"STARTED", "started_at_us", HISTORY_TIME, 19},
    {"STATUS", "status", HISTORY_STATUS, 12},
    {"SESSION", "session_id", HISTORY_TEXT, 40},
    {"MODEL", "model", HISTORY_TEXT, 24},
    {"CALLS", "llm_interaction_count", HISTORY_NUMBER, 8},
    {"TOOLS", "tool_call_count", HISTORY_NUMBER, 8},
    {"TOOK", "duration_ms", HISTORY_MS, 10},
    {"OUT", "output_tokens", HISTORY_NUMBER, 10},
    {"THOUGHT", "reasoning_tokens", HISTORY_NUMBER, 10},
    {"USD", "cost_usd", HISTORY_USD, 10},
    {"ASKED", "title", HISTORY_TEXT, 0},
};

static void list_more(struct history *h, struct cli *cli)
{
    str cursor;

    if (cli->terminal &&
        json_text(
            &h->doc, json_pointer(&h->doc, STR("/pagination/next_cursor")), &h->arena, &cursor))
        file_out_printf(&cli->out,
                        "%smore: --cursor " STR_FMT "%s\n",
                        cli_dim(cli),
                        STR_ARG(cursor),
                        cli_plain(cli));
}

static int list_run(struct cli *cli, const struct cli_args *args)
{
    struct query_filter f = query_filter_none;
    struct query_page p = {
        .page = 1, .cursor = str_c(args->value[CURSOR]), .sort = str_c(args->value[SORT])};
    struct history h;
    struct err e;
    bool ok;
    int code;

    if (!history_limit(args->value[LIMIT], 20, QUERY_LIMIT_MAX, &p.limit) ||
        !history_range(args->value[SINCE], args->value[UNTIL], &f) ||
        !history_cursor(args->value[CURSOR], p.sort.n ? p.sort : STR("-started_at_us")))
        return CLI_USAGE;
    code = history_open(&h, args->value[CONFIG]);
    if (code)
        return code;
    f.status[0] = str_c(args->value[STATUS]);
    f.status_count = args->value[STATUS] != NULL;
    f.model = str_c(args->value[MODEL]);
    f.key = str_c(args->value[KEY]);
    f.tool = str_c(args->value[TOOL]);
    f.search = str_c(args->value[SEARCH]);
    ok = query_sessions(h.reader, &h.asker, &f, &p, &h.out, &e);
    code = history_show(&h, cli, ok, &e, args->value[JSON] != NULL);
    if (code == CLI_OK && !args->value[JSON]) {
        str why = history_member(&h, json_root(&h.doc), "reasoning_absent");

        code = history_table(&h, cli, "sessions", columns, COUNT_OF(columns));
        history_note(cli, history_absent(&h, why));
        list_more(&h, cli);
        history_print_empty(&h, args, "sessions", "sessions");
    }
    history_close(&h);
    return code;
}

const struct cli_command cli_list = {
    .name = "list",
    .summary = "list sessions, newest first",
    .words = "",
    .about = "Lists the sessions on record, from the store that the configuration names. The "
             "daemon may run meanwhile.",
    .examples = "  rationale list --since 24h --status failed\n"
                "  rationale list --sort -cost_usd -n 5 --json\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = list_run,
};
