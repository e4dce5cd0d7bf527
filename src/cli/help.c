/* Help on a terminal, written from the table of commands; and `rationale help`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

/* The allowed values of an option, in as many lines as needed. */
static void cli_write_choices(struct cli *cli, const char *choices)
{
    size_t column = 34;

    assert(choices[0]);
    file_out_printf(&cli->out, "  %-24s one of:", "");
    for (const char *at = choices; *at;) {
        size_t n = strcspn(at, " ");

        if (column + 1 + n > 79) {
            file_out_printf(&cli->out, "\n  %-24s", "");
            column = 26;
        }
        file_out_printf(&cli->out, " %.*s", (int)n, at);
        column += 1 + n;
        at += n + strspn(at + n, " ");
    }
    file_out_add(&cli->out, STR("\n"));
}

static void cli_option_line(struct cli *cli, const struct cli_option *o)
{
    char left[64];

    assert(o->name && o->help);
    snprintf(left,
             sizeof left,
             "%c%c%s --%s%s%s",
             o->letter ? '-' : ' ',
             o->letter ? o->letter : ' ',
             o->letter ? "," : " ",
             o->name,
             o->value ? " " : "",
             o->value ? o->value : "");
    file_out_printf(&cli->out, "  %-24s %s\n", left, o->help);
    if (o->choices)
        cli_write_choices(cli, o->choices);
}

static void help_put_word(struct cli *cli, str word, bool *code)
{
    (void)code;
    file_out_add(&cli->out, word);
}

void cli_wrap(struct cli *cli, const char *text, size_t width, cli_put_word *put)
{
    size_t column = 0;
    bool code = false;

    while (*text) {
        size_t n = strcspn(text, " \n");

        if (column > 0 && column + 1 + n > width) {
            file_out_add(&cli->out, STR("\n"));
            column = 0;
        } else if (column > 0 && n > 0) {
            file_out_add(&cli->out, STR(" "));
            column++;
        }
        put(cli, (str){text, n}, &code);
        column += n;
        text += n;
        if (*text == '\n') {
            file_out_add(&cli->out, STR("\n"));
            column = 0;
        }
        text += *text != '\0';
    }
    file_out_add(&cli->out, STR("\n"));
}

static void help_write_title(struct cli *cli, const char *text)
{
    file_out_printf(&cli->out, "%s%s%s\n", cli_bold(cli), text, cli_plain(cli));
}

static void help_usage_line(struct cli *cli, const struct cli_command *c)
{
    assert(c->name && c->words);
    file_out_printf(
        &cli->out, "  rationale %s [OPTIONS]%s%s\n", c->name, c->words[0] ? " " : "", c->words);
}

void cli_usage(struct cli *cli, const struct cli_command *c, bool full)
{
    const struct cli_option *o;

    assert(c->examples && c->about && c->words);
    file_out_printf(&cli->out, "rationale %s - %s\n\n", c->name, c->summary);
    if (full) {
        help_write_title(cli, "Examples");
        file_out_printf(&cli->out, "%s\n", c->examples);
    }
    help_write_title(cli, "Usage");
    help_usage_line(cli, c);
    file_out_add(&cli->out, STR("\n"));
    if (full) {
        cli_wrap(cli, c->about, 79, help_put_word);
        file_out_add(&cli->out, STR("\n"));
    }
    help_write_title(cli, "Options");
    for (size_t i = 0; i < c->option_count; i++)
        cli_option_line(cli, &c->options[i]);
    for (size_t i = 0; (o = cli_common_option(i)); i++)
        cli_option_line(cli, o);
    if (!full)
        file_out_printf(&cli->out, "\n`rationale %s --help` has examples.\n", c->name);
}

/* The commands in their groups; with the group's examples after them if `full`. */
static void help_groups(struct cli *cli, bool full)
{
    const char *examples = "";
    const struct cli_row *r;

    for (size_t i = 0; (r = cli_row_at(i)); i++) {
        if (r->command) {
            file_out_printf(&cli->out, "  %-12s %s\n", r->command->name, r->command->summary);
            continue;
        }
        if (full && i > 0)
            file_out_printf(&cli->out, "%s\n%s%s", cli_dim(cli), examples, cli_plain(cli));
        file_out_add(&cli->out, i ? STR("\n") : STR(""));
        help_write_title(cli, r->title);
        examples = r->examples;
    }
    if (full)
        file_out_printf(&cli->out, "%s\n%s%s", cli_dim(cli), examples, cli_plain(cli));
    file_out_add(&cli->out, STR("\n"));
}

void cli_overview(struct cli *cli, bool full)
{
    file_out_add(&cli->out,
                 STR("rationale - a gateway to language models that keeps their reasoning\n\n"
                     "It separates reasoning from answers, holds it to a budget and records it.\n"
                     "Try it with `rationale demo`, run it with `rationale serve`, and read what\n"
                     "models thought with `list`, `show`, `decisions` and `search`.\n\n"));
    help_groups(cli, full);
    help_write_title(cli, "Options");
    file_out_add(
        &cli->out,
        STR("  -h, --help       the short or the full help, also after a command\n"
            "  -V, --version    the version\n\n"
            "`rationale help COMMAND` explains one; `rationale help exit-codes`, the codes.\n"
            "Times in tables are in UTC.\n"));
}

const struct cli_exit_row *cli_exit_row(size_t index)
{
    static const struct cli_exit_row rows[] = {
        {CLI_OK, "it worked; also: nothing was found, and that is no failure"},
        {CLI_NEGATIVE, "the answer is no: not found, a failed check, a file with an error"},
        {CLI_USAGE, "the command line is wrong; nothing was done"},
        {CLI_CONFIG, "the configuration is missing or wrong: do not retry"},
        {CLI_AUTH, "a key, a role or a file's permission is missing"},
        {CLI_UNREACHABLE, "the daemon, the provider or a target cannot be reached"},
        {CLI_STORE, "the store: in use, damaged, full, not there"},
        {CLI_TIMEOUT, "it took too long, or it stopped and can be resumed"},
        {CLI_LIMIT, "a budget or a limit was exceeded"},
        {CLI_INTERNAL, "an error in the program: please report it"},
        {CLI_SIGINT, "Ctrl-C ended it"},
    };

    return index < COUNT_OF(rows) ? &rows[index] : NULL;
}

void cli_exit_codes(struct cli *cli)
{
    const struct cli_exit_row *r;

    for (size_t i = 0; (r = cli_exit_row(i)); i++)
        file_out_printf(&cli->out, "%4d  %s\n", r->code, r->meaning);
}

/* ---- the command ---- */

/* The commands, followed by the other topics. */
static const char *help_topic_at(size_t index)
{
    size_t commands = 0;

    while (cli_command_name(commands))
        commands++;
    return index < commands ? cli_command_name(index) : index == commands ? "exit-codes" : NULL;
}

static int help_run(struct cli *cli, const struct cli_args *args)
{
    str topic = str_c(args->words[0]);

    if (topic.n == 0) {
        cli_overview(cli, true);
    } else if (str_eq(topic, STR("exit-codes"))) {
        cli_exit_codes(cli);
    } else {
        assert(cli_command_find(topic)); /* the parser has checked the word */
        cli_usage(cli, cli_command_find(topic), true);
    }
    return CLI_OK;
}

const struct cli_command cli_help = {
    .name = "help",
    .summary = "explain a command, or the exit codes",
    .words = "[COMMAND | exit-codes]",
    .about = "Prints the full help of a command, of all of them, or the table of exit codes.",
    .examples = "  rationale help split\n  rationale help exit-codes\n",
    .values = help_topic_at,
    .word_max = 1,
    .run = help_run,
};
