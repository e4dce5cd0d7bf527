/* rationale: the table of commands, and how a command is found.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

#include "base/secret.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#define GROUP(heading, lines) {.title = (heading), .examples = (lines)},
#define COMMAND(name, file) {.command = &cli_##name},
static const struct cli_row rows[] = {
#include "cli/commands.def"
};
#undef COMMAND
#undef GROUP

const struct cli_row *cli_row_at(size_t index)
{
    return index < COUNT_OF(rows) ? &rows[index] : NULL;
}

const struct cli_command *cli_command_at(size_t index)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].command && index-- == 0)
            return rows[i].command;
    return NULL;
}

const struct cli_command *cli_command_find(str name)
{
    const struct cli_command *c;

    for (size_t i = 0; (c = cli_command_at(i)); i++)
        if (str_eq(name, str_c(c->name)))
            return c;
    return NULL;
}

const char *cli_command_name(size_t index)
{
    const struct cli_command *c = cli_command_at(index);

    return c ? c->name : NULL;
}

static const char *cli_own_option(size_t index)
{
    return NAME_OF(index, "--help", "--version", NULL);
}

static int main_unknown(str name)
{
    bool is_option = name.n > 0 && name.p[0] == '-';

    return cli_complain(CLI_USAGE,
                        "no %s \"%s\"%s%s",
                        is_option ? "option" : "command",
                        name.p,
                        is_option ? " before a command" : "",
                        cli_guess(name,
                                  is_option ? cli_own_option : cli_command_name,
                                  "`rationale --help` lists them")
                            .text);
}

/* Runs the command of the line; its results are in cli->out, not all of them written yet. */
static int main_dispatch(struct cli *cli, int argc, char *const *argv)
{
    str name = str_c(argc > 1 ? argv[1] : "--help");
    const struct cli_command *c;
    struct cli_args args;

    if (str_eq(name, STR("--version")) || str_eq(name, STR("-V"))) {
        file_out_printf(&cli->out, "rationale %s\n", RATIONALE_VERSION);
        return CLI_OK;
    }
    if ((str_eq(name, STR("--help")) || str_eq(name, STR("-h"))) && argc <= 2) {
        cli_overview(cli, name.n > 2);
        return CLI_OK;
    }
    c = str_eq(name, STR("--help")) ? &cli_help : cli_command_find(name);
    if (!c)
        return main_unknown(name);
    assert(c->run);
    if (!cli_parse(cli, c, argc - 2, argv + 2, &args))
        return CLI_USAGE;
    if (args.help) {
        cli_usage(cli, c, args.help == 'H');
        return CLI_OK;
    }
    return c->run(cli, &args);
}

/* A file of the store must not get the number of a standard stream that the caller has closed: the
 * log or a result would be written into it. The placeholder cannot be used in the stream's
 * direction, so that a command still reports that it cannot read or write. */
static void main_fill_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    struct cli cli;
    struct err e;
    int code;

    main_fill_streams();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* if it is ignored, children have no exit status */
    secret_no_dumps();
    (void)setlocale(LC_CTYPE, "C.UTF-8"); /* for the widths of characters in tables */
    file_out_init(&cli.out, STDOUT_FILENO);
    cli_init_color(&cli);
    code = main_dispatch(&cli, argc, argv);
    if (!file_out_finish(&cli.out, "standard output", &e) && !file_out_gone(&cli.out)) {
        int failed = cli_fail(&e);

        code = code == CLI_OK ? failed : code;
    }
    return code;
}
