/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

static int run(struct cli *cli, const struct cli_args *args)
{
    str topic = str_c(args->word_count > 0 ? args->words[0] : NULL);
    const struct cli_command *c = cli_command_find(topic);

    if (topic.n == 0)
        cli_overview(cli, true);
    else if (str_eq(topic, STR("exit-codes")))
        cli_exit_codes(cli);
    else if (c)
        cli_usage(cli, c, true);
    else
        return cli_complain(
            CLI_USAGE, "no help on \"%s\"; `rationale help` lists the commands", topic.p);
    return CLI_OK;
}

const struct cli_command cli_help = {
    .name = "help",
    .summary = "explain a command, or the exit codes",
    .words = "[COMMAND | exit-codes]",
    .about = "Prints the full help of a command, of all of them, or the table of exit codes.",
    .examples = "  rationale help split\n  rationale help exit-codes\n",
    .word_max = 1,
    .run = run,
};
