/* docs/reference/commands.md, written from the table of commands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

#define REFERENCE_LINE_MAX 98 /* escapes may lengthen a line */

/* Text in Markdown: characters that would be markup are escaped; inside `...` they are not. */
static void reference_word(struct cli *cli, str word, bool *code)
{
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];

        *code ^= c == '`';
        if (!*code && (c == '*' || c == '_' || c == '<' || c == '|'))
            file_out_add(&cli->out, STR("\\"));
        file_out_add(&cli->out, (str){&c, 1});
    }
}

static void reference_text(struct cli *cli, const char *text)
{
    cli_wrap(cli, text, REFERENCE_LINE_MAX, reference_word);
    file_out_add(&cli->out, STR("\n"));
}

/* Lines that begin with two spaces become a block of code. */
static void reference_block(struct cli *cli, const char *lines)
{
    assert(lines[0]);
    while (*lines) {
        size_t n = strcspn(lines, "\n");

        file_out_printf(&cli->out, "  %.*s\n", (int)n, lines);
        lines += n + (lines[n] == '\n');
    }
    file_out_add(&cli->out, STR("\n"));
}

static void reference_option(struct cli *cli, const struct cli_option *o)
{
    bool code = false;

    assert(o->name && o->help);
    file_out_add(&cli->out, STR("| "));
    if (o->letter)
        file_out_printf(&cli->out, "`-%c`, ", o->letter);
    file_out_printf(
        &cli->out, "`--%s%s%s` | ", o->name, o->value ? " " : "", o->value ? o->value : "");
    reference_word(cli, str_c(o->help), &code);
    if (o->choices)
        file_out_add(&cli->out, STR(": "));
    for (const char *at = o->choices; at && *at;) {
        size_t n = strcspn(at, " ");

        file_out_printf(&cli->out, "%s`%.*s`", at == o->choices ? "" : ", ", (int)n, at);
        at += n + strspn(at + n, " ");
    }
    file_out_add(&cli->out, STR(" |\n"));
}

static void reference_command(struct cli *cli, const struct cli_command *c)
{
    assert(c->about && c->examples);
    file_out_printf(&cli->out, "### rationale %s\n\n", c->name);
    file_out_printf(
        &cli->out, "    rationale %s [OPTIONS]%s%s\n\n", c->name, c->words[0] ? " " : "", c->words);
    reference_text(cli, c->about);
    if (c->option_count)
        file_out_add(&cli->out, STR("| option | |\n|---|---|\n"));
    for (size_t i = 0; i < c->option_count; i++)
        reference_option(cli, &c->options[i]);
    file_out_add(&cli->out, c->option_count ? STR("\nExamples:\n\n") : STR("Examples:\n\n"));
    reference_block(cli, c->examples);
}

static void reference_exit_codes(struct cli *cli)
{
    const struct cli_exit_row *r;

    file_out_add(&cli->out, STR("## Exit codes\n\n"));
    reference_text(
        cli,
        "They mean the same for every command. `rationale watch` is the exception: its exit "
        "code is the agent's.");
    file_out_add(&cli->out, STR("| code | meaning |\n|---|---|\n"));
    for (size_t i = 0; (r = cli_exit_row(i)); i++)
        file_out_printf(&cli->out, "| %d | %s |\n", r->code, r->meaning);
    file_out_add(&cli->out, STR("\n"));
    reference_text(cli,
                   "A list or a search without results ends with 0: standard error says that "
                   "nothing was found, "
                   "and which filters were used. A command that was asked for one thing by its "
                   "name ends with 1 "
                   "if there is no such thing.");
}

static void reference_overview(struct cli *cli)
{
    const struct cli_option *o;
    const struct cli_row *r;

    file_out_add(&cli->out, STR("| command | |\n|---|---|\n"));
    for (size_t i = 0; (r = cli_row_at(i)); i++)
        if (r->command)
            file_out_printf(&cli->out,
                            "| [%s](#rationale-%s) | %s |\n",
                            r->command->name,
                            r->command->name,
                            r->command->summary);
        else
            file_out_printf(&cli->out, "| **%s** | |\n", r->title);
    file_out_add(&cli->out, STR("\nEvery command has these options:\n\n| option | |\n|---|---|\n"));
    for (size_t i = 0; (o = cli_common_option(i)); i++)
        reference_option(cli, o);
    file_out_add(&cli->out, STR("\n"));
}

void cli_reference(struct cli *cli)
{
    const struct cli_row *r;

    file_out_add(&cli->out, STR("# Commands\n\n"));
    reference_text(cli,
                   "Every command of `rationale`, with its options, examples and exit codes. "
                   "`rationale manpage --markdown` writes this page from the program's table of "
                   "commands. `--help`, the manual pages (`man rationale-list`) and the shell "
                   "completions come from the same table.");
    reference_overview(cli);
    reference_text(cli,
                   "A command shows results on standard output, and errors, notes and progress on "
                   "standard error. Colours and progress appear on a terminal only; `NO_COLOR` "
                   "switches colours off, `CLICOLOR_FORCE` on. Work of more than two seconds shows "
                   "its rate and the time left. Times in tables are in UTC. A table is as wide as "
                   "the terminal or `COLUMNS`; in a pipe nothing is cut.");
    reference_exit_codes(cli);
    for (size_t i = 0; (r = cli_row_at(i)); i++)
        if (r->command)
            reference_command(cli, r->command);
        else
            file_out_printf(&cli->out, "## %s\n\n", r->title);
}
