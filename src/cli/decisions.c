/* `rationale decisions`: the decision log, newest first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/history.h"

enum { CONFIG, TOOL, KIND, SESSION, MODEL, SINCE, UNTIL, LIMIT, CURSOR, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [TOOL] = {"tool", 't', "NAME", NULL, "why was TOOL or SERVER.TOOL called"},
    [KIND] = {"kind", 0, "WHAT", "TOOL_CALL DIRECT", "only such entries"},
    [SESSION] = {"session", 0, "ID", NULL, "only those of a session"},
    [MODEL] = {"model", 'm', "NAME", NULL, "only those of a model"},
    [SINCE] = {"since", 0, "TIME", NULL, "since: 90m, 24h, 7d ago, or a date-time"},
    [UNTIL] = {"until", 0, "TIME", NULL, "before then"},
    [LIMIT] = {"limit", 'n', "N", NULL, "how many (default: 50)"},
    [CURSOR] = {"cursor", 0, "TEXT", NULL, "continue after a list: its next_cursor"},
    [JSON] = {"json", 0, NULL, NULL, "as JSON, in the words of the history API"},
};

static const struct history_column columns[] = {
    {"TIME", "timestamp_us", HISTORY_TIME, 19},
    {"SESSION", "session_id", HISTORY_TEXT, 36},
    {"MODEL", "model", HISTORY_TEXT, 24},
    {"STATE", "state", HISTORY_STATUS, 8},
    {"ENTRY", "entry", HISTORY_TEXT, 0},
};

/* Explains why entries have no reasoning, one line for each reason. */
static void decisions_note(struct history *h, struct cli *cli)
{
    static const char *const codes[] = {
        "not_kept", "summary_only", "provider_keeps_it", "none_given", "no_reply"};
    const struct json_node *root = json_root(&h->doc);
    const struct json_node *rows = json_find(&h->doc, root, STR("decisions"));
    size_t all = json_count(&h->doc, rows);

    history_note(cli, history_absent(h, history_member(h, root, "reasoning_absent")));
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        size_t n = 0;

        JSON_FOREACH(row, &h->doc, rows)
            n += str_eq(history_member(h, row, "reasoning_absent"), str_c(codes[i]));
        if (n && str_eq(str_c(codes[i]), STR("none_given")))
            history_note(cli,
                         arena_printf(&h->arena,
                                      "%zu of %zu entries are from the answer; the model sent no "
                                      "separate reasoning",
                                      n,
                                      all));
        else if (n)
            history_note(cli,
                         arena_printf(&h->arena,
                                      STR_FMT " (%zu of %zu)",
                                      STR_ARG(history_absent(h, str_c(codes[i]))),
                                      n,
                                      all));
    }
}

static int decisions_run(struct cli *cli, const struct cli_args *args)
{
    struct query_filter f = query_filter_none;
    struct query_page p = {.page = 1, .cursor = str_c(args->value[CURSOR]), .sort = STR("")};
    struct history h;
    struct err e;
    bool ok;
    int code;

    if (!history_limit(args->value[LIMIT], 50, QUERY_LIMIT_MAX, &p.limit) ||
        !history_range(args->value[SINCE], args->value[UNTIL], &f) ||
        !history_cursor(args->value[CURSOR], STR("")))
        return CLI_USAGE;
    code = history_open(&h, args->value[CONFIG]);
    if (code)
        return code;
    f.tool = str_c(args->value[TOOL]);
    f.kind = str_c(args->value[KIND]);
    f.session_id = str_c(args->value[SESSION]);
    f.model = str_c(args->value[MODEL]);
    f.search = str_c(args->word_count ? args->words[0] : NULL);
    ok = query_decisions(h.reader, &h.asker, &f, &p, &h.out, &e);
    code = history_show(&h, cli, ok, &e, args->value[JSON] != NULL);
    if (code == CLI_OK && !args->value[JSON]) {
        code = history_table(&h, cli, "decisions", columns, COUNT_OF(columns));
        decisions_note(&h, cli);
        history_print_empty(&h, args, "decisions", "decisions");
    }
    history_close(&h);
    return code;
}

const struct cli_command cli_decisions = {
    .name = "decisions",
    .summary = "show the decision log: why each tool was called",
    .words = "[TEXT]",
    .about = "Lists the entries of the decision log, newest first; with TEXT those with these "
             "words, the best first. Any text will do: nothing in it is syntax.",
    .examples = "  rationale decisions --tool get_pods\n"
                "  rationale decisions --json \"memory limit\"\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 1,
    .run = decisions_run,
};
