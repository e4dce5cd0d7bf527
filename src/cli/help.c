/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

/* The commands, followed by the other topics. */
static const char *topics(size_t index)
{
    size_t commands = 0;

    while (cli_command_name(commands))
        commands++;
    return index < commands ? cli_command_name(index) : index == commands ? "exit-codes" : NULL;
}

static int help_run(struct cli *cli, const struct cli_args *args)
{
    str topic = str_c(args->words[0]);

    if (topic.n == 0)
        cli_overview(cli, true);
    else if (str_eq(topic, STR("exit-codes")))
        cli_exit_codes(cli);
    else
        cli_usage(cli, cli_command_find(topic), true);
    return CLI_OK;
}

const struct cli_command cli_help = {
    .name = "help",
    .summary = "explain a command, or the exit codes",
    .words = "[COMMAND | exit-codes]",
    .about = "Prints the full help of a command, of all of them, or the table of exit codes.",
    .examples = "  rationale help split\n  rationale help exit-codes\n",
    .values = topics,
    .word_max = 1,
    .run = help_run,
};
