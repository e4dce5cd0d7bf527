/* Manual pages, written from the table of commands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

#define LINE_MAX_SIZE 72 /* width of running text in the source */

enum { MARKDOWN };

static const struct cli_option options[] = {
    [MARKDOWN] = {"markdown", 0, NULL, NULL, "all commands on one page, in Markdown"},
};

/* Text in roff: escapes hyphens, and control characters at the start of a line. */
static void manpage_roff_part(struct cli *cli, str text)
{
    bool line_start = true;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (line_start && (c == '.' || c == '\''))
            file_out_add(&cli->out, STR("\\&"));
        if (c == '-')
            file_out_add(&cli->out, STR("\\-"));
        else if (c == '\\')
            file_out_add(&cli->out, STR("\\e"));
        else
            file_out_add(&cli->out, (str){&c, 1});
        line_start = c == '\n';
    }
}

static void manpage_write_roff(struct cli *cli, const char *text)
{
    manpage_roff_part(cli, str_c(text));
}

static void manpage_head(struct cli *cli, const char *name, const char *summary)
{
    char upper[64];
    size_t n = 0;

    for (; name[n] && n + 1 < sizeof upper; n++)
        upper[n] = (char)(name[n] >= 'a' && name[n] <= 'z' ? name[n] - 32 : name[n]);
    upper[n] = '\0';
    file_out_add(&cli->out, STR(".TH "));
    manpage_write_roff(cli, upper);
    file_out_printf(
        &cli->out, " 1 \"\" \"rationale %s\" \"Rationale\"\n.SH NAME\n", RATIONALE_VERSION);
    manpage_write_roff(cli, name);
    file_out_add(&cli->out, STR(" \\- "));
    manpage_write_roff(cli, summary);
    file_out_add(&cli->out, STR("\n"));
    assert(n < sizeof upper);
}

static void manpage_write_paragraphs(struct cli *cli, const char *text)
{
    size_t column = 0;

    while (*text) {
        size_t n = strcspn(text, " \n");

        if (column > 0 && column + 1 + n > LINE_MAX_SIZE)
            file_out_add(&cli->out, STR("\n")), column = 0;
        else if (column > 0)
            file_out_add(&cli->out, STR(" ")), column++;
        manpage_roff_part(cli, (str){text, n});
        column += n;
        text += n;
        if (text[0] == '\n' && text[1] == '\n') {
            file_out_add(&cli->out, STR("\n.PP\n"));
            column = 0;
            text++;
        }
        text += *text != '\0';
    }
    file_out_add(&cli->out, STR("\n"));
}

static void manpage_write_option(struct cli *cli, const struct cli_option *o)
{
    assert(o->name && o->help);
    file_out_add(&cli->out, STR(".TP\n"));
    if (o->letter)
        file_out_printf(&cli->out, "\\fB\\-%c\\fR, ", o->letter);
    file_out_add(&cli->out, STR("\\fB\\-\\-"));
    manpage_write_roff(cli, o->name);
    file_out_add(&cli->out, STR("\\fR"));
    if (o->value)
        file_out_printf(&cli->out, " \\fI%s\\fR", o->value);
    file_out_add(&cli->out, STR("\n"));
    manpage_write_roff(cli, o->help);
    file_out_add(&cli->out, o->choices ? STR("; one of:\n") : STR("\n"));
    if (o->choices)
        manpage_write_paragraphs(cli, o->choices);
}

static void manpage_command_page(struct cli *cli, const struct cli_command *c)
{
    const struct cli_option *o;
    char name[64];

    assert(c && c->about && c->examples);
    snprintf(name, sizeof name, "rationale-%s", c->name);
    manpage_head(cli, name, c->summary);
    file_out_printf(&cli->out, ".SH SYNOPSIS\n\\fBrationale %s\\fR [\\fIOPTIONS\\fR] ", c->name);
    manpage_write_roff(cli, c->words);
    file_out_add(&cli->out, STR("\n.SH DESCRIPTION\n"));
    manpage_write_paragraphs(cli, c->about);
    file_out_add(&cli->out, STR(".SH OPTIONS\n"));
    for (size_t i = 0; i < c->option_count; i++)
        manpage_write_option(cli, &c->options[i]);
    for (size_t i = 0; (o = cli_common_option(i)); i++)
        manpage_write_option(cli, o);
    file_out_add(&cli->out, STR(".SH EXAMPLES\n.nf\n"));
    manpage_write_roff(cli, c->examples);
    file_out_add(&cli->out,
                 STR(".fi\n.SH EXIT STATUS\nAs in\n.BR rationale (1).\n"
                     ".SH SEE ALSO\n.BR rationale (1)\n"));
}

static void manpage_main_page(struct cli *cli)
{
    const struct cli_row *r;

    manpage_head(cli, "rationale", "a gateway to language models that keeps their reasoning");
    file_out_add(&cli->out,
                 STR(".SH SYNOPSIS\n\\fBrationale\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] "
                     "[\\fIARGUMENTS\\fR]\n.SH DESCRIPTION\n"));
    manpage_write_paragraphs(
        cli,
        "Separates the reasoning of a language model's reply from its answer while it "
        "arrives, holds it to a budget and records it. Each command has its own page.");
    file_out_add(&cli->out, STR(".SH COMMANDS\n"));
    for (size_t i = 0; (r = cli_row_at(i)); i++) {
        if (r->command)
            file_out_printf(&cli->out, ".TP\n.BR rationale\\-%s (1)\n", r->command->name);
        else
            file_out_add(&cli->out, STR(".SS "));
        manpage_write_roff(cli, r->command ? r->command->summary : r->title);
        file_out_add(&cli->out, STR("\n"));
    }
    file_out_add(&cli->out, STR(".SH EXIT STATUS\n.nf\n"));
    cli_exit_codes(cli);
    file_out_add(&cli->out,
                 STR(".fi\n.SH ENVIRONMENT\n"
                     ".TP\nNO_COLOR\nset and not empty: no colours\n"
                     ".TP\nCLICOLOR_FORCE\nset and not empty: colours even where stdout is no "
                     "terminal\n"
                     ".TP\nCOLUMNS\nthe width of tables on a terminal\n"));
    file_out_add(&cli->out, STR(".SH EXAMPLES\n.nf\n"));
    for (size_t i = 0; (r = cli_row_at(i)); i++)
        manpage_write_roff(cli, r->command ? "" : r->examples);
    file_out_add(&cli->out, STR(".fi\n"));
}

static int manpage_run(struct cli *cli, const struct cli_args *args)
{
    if (args->value[MARKDOWN] && args->word_count)
        return cli_complain(CLI_USAGE, "--markdown is for all commands: leave out the name");
    if (args->value[MARKDOWN])
        cli_reference(cli);
    else if (args->word_count == 0)
        manpage_main_page(cli);
    else
        manpage_command_page(cli, cli_command_find(str_c(args->words[0])));
    return CLI_OK;
}

const struct cli_command cli_manpage = {
    .name = "manpage",
    .summary = "print a manual page",
    .words = "[COMMAND]",
    .about = "Prints the manual page of a command, or of rationale itself, for man to format.",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = "  rationale manpage split | man -l -\n"
                "  rationale manpage > /usr/local/share/man/man1/rationale.1\n",
    .values = cli_command_name,
    .word_max = 1,
    .run = manpage_run,
};
