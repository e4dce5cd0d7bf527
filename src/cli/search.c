/* `rationale search`: finds sessions, calls and decisions by their words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/history.h"

enum { CONFIG, LIMIT, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [LIMIT] = {"limit", 'n', "N", NULL, "how many (default: 20)"},
    [JSON] = {"json", 0, NULL, NULL, "as JSON, in the words of the history API"},
};

static const struct history_column columns[] = {
    {"WHAT", "type", HISTORY_TEXT, 12},
    {"TIME", "timestamp_us", HISTORY_TIME, 19},
    {"SESSION", "session_id", HISTORY_TEXT, 36},
    {"WORDS", "snippet", HISTORY_TEXT, 0},
};

static int search_run(struct cli *cli, const struct cli_args *args)
{
    struct history h;
    int64_t limit;
    struct err e;
    bool ok;
    int code;

    if (args->word_count == 0 || str_trim(str_c(args->words[0])).n == 0)
        return cli_complain(CLI_USAGE, "search needs words to look for");
    if (!history_limit(args->value[LIMIT], 20, QUERY_LIMIT_MAX, &limit))
        return CLI_USAGE;
    code = history_open(&h, args->value[CONFIG]);
    if (code)
        return code;
    ok = query_search(h.reader, &h.asker, str_c(args->words[0]), limit, &h.out, &e);
    code = history_show(&h, cli, ok, &e, args->value[JSON] != NULL);
    if (code == CLI_OK && !args->value[JSON]) {
        str why = history_member(&h, json_root(&h.doc), "reasoning_absent");

        code = history_table(&h, cli, "results", columns, COUNT_OF(columns));
        history_note(cli, history_absent(&h, why));
        history_print_empty(&h, args, "results", "calls");
    }
    history_close(&h);
    return code;
}

const struct cli_command cli_search = {
    .name = "search",
    .summary = "find sessions, calls and decisions by their words",
    .words = "TEXT",
    .about = "All words must occur; the last may be the beginning of a word. asked:, answer:, "
             "reasoning: or error: before a word says where it must occur. Nothing else is syntax.",
    .examples = "  rationale search \"memory limit\"\n"
                "  rationale search reasoning:namespace -n 5 --json\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 1,
    .run = search_run,
};
