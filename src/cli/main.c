/* rationale: the table of commands, and the way to one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static const struct cli_command *const commands[] = {
    &cli_split,
    &cli_count,
    &cli_completion,
    &cli_manpage,
    &cli_help,
};

const struct cli_command *cli_command_at(size_t index)
{
    return index < COUNT_OF(commands) ? commands[index] : NULL;
}

const struct cli_command *cli_command_find(str name)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (str_eq(name, str_c(commands[i]->name)))
            return commands[i];
    return NULL;
}

static const char *command_name(size_t index)
{
    return index < COUNT_OF(commands) ? commands[index]->name : NULL;
}

int cli_complain(int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("rationale: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return code;
}

int cli_fail(const struct err *e)
{
    static const int codes[ERR_CODE_COUNT] = {
        [ERR_NONE] = CLI_OK,
        [ERR_INPUT] = CLI_NEGATIVE,
        [ERR_AUTH] = CLI_AUTH,
        [ERR_NOT_FOUND] = CLI_NEGATIVE,
        [ERR_LIMIT] = CLI_LIMIT,
        [ERR_UPSTREAM] = CLI_UNREACHABLE,
        [ERR_TIMEOUT] = CLI_TIMEOUT,
        [ERR_CANCELLED] = CLI_TIMEOUT,
        [ERR_SYSTEM] = CLI_NEGATIVE,
    };

    return cli_complain(codes[e->code], "%s", e->text);
}

bool cli_open(const struct cli_args *args, int *fd, struct err *e)
{
    const char *path = args->word_count > 0 ? args->words[0] : "-";

    *fd = STDIN_FILENO;
    if (str_eq(str_c(path), STR("-"))) {
        if (isatty(STDIN_FILENO))
            cli_complain(CLI_OK, "reading from the terminal; end with Ctrl-D");
        return true;
    }
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return err_sys(e, "open %s", path);
    return true;
}

static bool is_set(const char *name)
{
    const char *v = getenv(name);

    return v && v[0] != '\0';
}

/* What the environment says; --color on a command line wins over it. */
static void init_color(struct cli *cli)
{
    const char *term = getenv("TERM");

    cli->terminal = isatty(STDOUT_FILENO);
    cli->color = cli->terminal && term && !str_eq(str_c(term), STR("dumb"));
    if (is_set("CLICOLOR_FORCE"))
        cli->color = true;
    if (is_set("NO_COLOR"))
        cli->color = false;
}

const char *cli_dim(const struct cli *cli)
{
    return cli->color ? "\033[2m" : "";
}

const char *cli_bold(const struct cli *cli)
{
    return cli->color ? "\033[1m" : "";
}

const char *cli_plain(const struct cli *cli)
{
    return cli->color ? "\033[0m" : "";
}

/* Runs what the line asks for; results are in cli->out, not all of them written yet. */
static int dispatch(struct cli *cli, int argc, char *const *argv)
{
    str name = str_c(argc > 1 ? argv[1] : "--help");
    const struct cli_command *c;
    struct cli_args args;

    if (str_eq(name, STR("--version")) || str_eq(name, STR("-V"))) {
        file_out_printf(&cli->out, "rationale %s\n", RATIONALE_VERSION);
        return CLI_OK;
    }
    if (str_eq(name, STR("--help")) || str_eq(name, STR("-h"))) {
        cli_overview(cli, name.n > 2);
        return CLI_OK;
    }
    c = cli_command_find(name);
    if (!c) {
        const char *near = cli_nearest(name, command_name);

        return cli_complain(CLI_USAGE,
                            "no command \"%s\"%s%s; `rationale --help` lists them",
                            name.p,
                            near ? "; did you mean " : "",
                            near ? near : "");
    }
    for (int i = 2; i < argc && !str_eq(str_c(argv[i]), STR("--")); i++)
        if (str_eq(str_c(argv[i]), STR("--help")) || str_eq(str_c(argv[i]), STR("-h"))) {
            cli_usage(cli, c, argv[i][1] == '-');
            return CLI_OK;
        }
    if (!cli_parse(cli, c, argc - 2, argv + 2, &args))
        return CLI_USAGE;
    return c->run(cli, &args);
}

int main(int argc, char **argv)
{
    struct cli cli;
    struct err e;
    int code;

    signal(SIGPIPE, SIG_IGN);
    file_out_init(&cli.out, STDOUT_FILENO);
    init_color(&cli);
    code = dispatch(&cli, argc, argv);
    if (!file_out_finish(&cli.out, "standard output", &e) && !file_out_gone(&cli.out) &&
        code == CLI_OK)
        code = cli_fail(&e);
    return code;
}
