/* Completions for three shells, written from the table of commands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

typedef void each_option(struct cli *cli, const struct cli_command *c, const struct cli_option *o);

static void completion_for_options(struct cli *cli, const struct cli_command *c, each_option *each)
{
    const struct cli_option *o;

    assert(c->option_count == 0 || c->options);
    for (size_t i = 0; i < c->option_count; i++)
        each(cli, c, &c->options[i]);
    for (size_t i = 0; (o = cli_common_option(i)); i++)
        each(cli, c, o);
}

/* The values that a shell may offer: the choices, or the ids of formats. */
static void completion_add_values(struct cli *cli, const struct cli_option *o)
{
    const struct split_format *f;

    assert(o->value);
    if (o->choices)
        file_out_add(&cli->out, str_c(o->choices));
    else if (str_eq(str_c(o->value), STR("ID")))
        for (size_t i = 0; (f = i ? split_format_at(i - 1) : split_format_auto()); i++)
            file_out_printf(&cli->out, "%s%s", i ? " " : "", f->id);
}

static bool completion_has_values(const struct cli_option *o)
{
    return o->value && (o->choices || str_eq(str_c(o->value), STR("ID")));
}

static void completion_add_names(struct cli *cli, cli_names *names)
{
    const char *name;

    assert(names(0));
    for (size_t i = 0; (name = names(i)); i++)
        file_out_printf(&cli->out, "%s%s", i ? " " : "", name);
}

/* ---- bash ---- */

static void bash_option(struct cli *cli, const struct cli_command *c, const struct cli_option *o)
{
    (void)c;
    file_out_printf(&cli->out, " --%s", o->name);
}

static void bash_value(struct cli *cli, const struct cli_command *c, const struct cli_option *o)
{
    assert(c->name && o->name);
    if (!o->value)
        return;
    file_out_printf(&cli->out, "    %s:--%s", c->name, o->name);
    if (o->letter)
        file_out_printf(&cli->out, " | %s:-%c", c->name, o->letter);
    file_out_add(&cli->out, STR(") COMPREPLY=($(compgen -W \""));
    if (completion_has_values(o))
        completion_add_values(cli, o);
    file_out_add(&cli->out, STR("\" -- \"$word\")); return ;;\n"));
}

/* "--opt=val" arrives as three words, because "=" ends a word in bash. */
static const char bash_head[] =
    "_rationale() {\n"
    "  local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]}\n"
    "  COMPREPLY=()\n"
    "  if [ \"$word\" = '=' ]; then\n"
    "    word=''\n"
    "  elif [ \"$last\" = '=' ] && [ \"$COMP_CWORD\" -gt 2 ]; then\n"
    "    last=${COMP_WORDS[COMP_CWORD-2]}\n"
    "  fi\n"
    "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
    "    COMPREPLY=($(compgen -W \"--help --version ";

static void completion_write_bash(struct cli *cli)
{
    const struct cli_command *c;

    file_out_add(&cli->out, str_c(bash_head));
    completion_add_names(cli, cli_command_name);
    file_out_add(&cli->out,
                 STR("\" -- \"$word\")); return\n  fi\n  case \"${COMP_WORDS[1]}:$last\" in\n"));
    for (size_t i = 0; (c = cli_command_at(i)); i++)
        completion_for_options(cli, c, bash_value);
    file_out_add(&cli->out, STR("  esac\n  case \"${COMP_WORDS[1]}:$word:$COMP_CWORD\" in\n"));
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        file_out_printf(&cli->out, "    %s:-*) COMPREPLY=($(compgen -W \"", c->name);
        completion_for_options(cli, c, bash_option);
        file_out_add(&cli->out, STR("\" -- \"$word\")) ;;\n"));
        if (c->values) {
            file_out_printf(&cli->out, "    %s:*:2) COMPREPLY=($(compgen -W \"", c->name);
            completion_add_names(cli, c->values);
            file_out_add(&cli->out, STR("\" -- \"$word\")) ;;\n"));
        }
    }
    file_out_add(&cli->out,
                 STR("    *) compopt -o filenames 2>/dev/null\n"
                     "       local IFS=$'\\n'\n"
                     "       COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
                     "  esac\n}\ncomplete -F _rationale rationale\n"));
}

/* ---- zsh ---- */

/* Inside single quotes and the brackets of _arguments. */
static void zsh_quoted(struct cli *cli, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            file_out_add(&cli->out, STR("'\\'"));
        else if (*p == '[' || *p == ']' || *p == ':' || *p == '\\')
            file_out_add(&cli->out, STR("\\"));
        file_out_add(&cli->out, (str){p, 1});
    }
}

static void zsh_option(struct cli *cli, const struct cli_command *c, const struct cli_option *o)
{
    const char *equals = o->value ? "=" : "";

    (void)c;
    assert(o->name && o->help);
    if (o->letter)
        file_out_printf(&cli->out,
                        "      '(-%c --%s)'{-%c%s,--%s%s}'[",
                        o->letter,
                        o->name,
                        o->letter,
                        o->value ? "+" : "",
                        o->name,
                        equals);
    else
        file_out_printf(&cli->out, "      '--%s%s[", o->name, equals);
    zsh_quoted(cli, o->help);
    file_out_add(&cli->out, STR("]"));
    if (o->value)
        file_out_printf(&cli->out, ":%s:", o->value);
    if (completion_has_values(o)) {
        file_out_add(&cli->out, STR("("));
        completion_add_values(cli, o);
        file_out_add(&cli->out, STR(")"));
    }
    file_out_add(&cli->out, STR("' \\\n"));
}

static void completion_write_zsh(struct cli *cli)
{
    const struct cli_command *c;

    file_out_add(&cli->out,
                 STR("#compdef rationale\n"
                     "_rationale() {\n"
                     "  if (( CURRENT == 2 )); then\n"
                     "    local -a commands=(\n"));
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        file_out_printf(&cli->out, "      '%s:", c->name);
        zsh_quoted(cli, c->summary);
        file_out_add(&cli->out, STR("'\n"));
    }
    file_out_add(&cli->out,
                 STR("      '--help:list the commands'\n      '--version:the version'\n"
                     "    )\n    _describe command commands\n    return\n  fi\n"
                     "  local command=$words[2]\n  shift words; (( CURRENT-- ))\n"
                     "  case $command in\n"));
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        file_out_printf(&cli->out, "    %s) _arguments \\\n", c->name);
        completion_for_options(cli, c, zsh_option);
        file_out_add(&cli->out, c->values ? STR("      '1:word:(") : STR("      '1:file:_files"));
        if (c->values) {
            completion_add_names(cli, c->values);
            file_out_add(&cli->out, STR(")"));
        }
        file_out_add(&cli->out, c->word_max > 1 ? STR("' '*:file:_files' ;;\n") : STR("' ;;\n"));
    }
    /* If the file is found in fpath, it is the function itself, and this is its first call. */
    file_out_add(&cli->out,
                 STR("  esac\n}\n"
                     "if [ \"$funcstack[1]\" = _rationale ]; then\n"
                     "  _rationale \"$@\"\nelse\n  compdef _rationale rationale\nfi\n"));
}

/* ---- fish ---- */

static void fish_quoted(struct cli *cli, const char *text)
{
    file_out_add(&cli->out, STR("'"));
    for (const char *p = text; *p; p++) {
        if (*p == '\'' || *p == '\\')
            file_out_add(&cli->out, STR("\\"));
        file_out_add(&cli->out, (str){p, 1});
    }
    file_out_add(&cli->out, STR("'"));
}

static void fish_option(struct cli *cli, const struct cli_command *c, const struct cli_option *o)
{
    assert(o->name && o->help);
    file_out_printf(&cli->out,
                    "complete -c rationale -n '__fish_seen_subcommand_from %s' -l %s",
                    c->name,
                    o->name);
    if (o->letter)
        file_out_printf(&cli->out, " -s %c", o->letter);
    if (o->value)
        file_out_add(&cli->out, STR(" -x"));
    if (completion_has_values(o)) {
        file_out_add(&cli->out, STR(" -a '"));
        completion_add_values(cli, o);
        file_out_add(&cli->out, STR("'"));
    }
    file_out_add(&cli->out, STR(" -d "));
    fish_quoted(cli, o->help);
    file_out_add(&cli->out, STR("\n"));
}

static void completion_write_fish(struct cli *cli)
{
    const struct cli_command *c;

    file_out_add(&cli->out,
                 STR("complete -c rationale -n __fish_use_subcommand -f -l help -s h\n"
                     "complete -c rationale -n __fish_use_subcommand -f -l version -s V\n"));
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        file_out_printf(
            &cli->out, "complete -c rationale -n __fish_use_subcommand -f -a %s -d ", c->name);
        fish_quoted(cli, c->summary);
        file_out_add(&cli->out, STR("\n"));
    }
    for (size_t i = 0; (c = cli_command_at(i)); i++) {
        completion_for_options(cli, c, fish_option);
        if (!c->values)
            continue;
        file_out_printf(&cli->out,
                        "complete -c rationale -n '__fish_seen_subcommand_from %s' -f -a '",
                        c->name);
        completion_add_names(cli, c->values);
        file_out_add(&cli->out, STR("'\n"));
    }
}

/* ---- the command ---- */

static const struct {
    const char *name;
    void (*write)(struct cli *cli);
} shells[] = {{"bash", completion_write_bash},
              {"zsh", completion_write_zsh},
              {"fish", completion_write_fish}};

static const char *completion_shell_name(size_t index)
{
    return index < COUNT_OF(shells) ? shells[index].name : NULL;
}

static int completion_run(struct cli *cli, const struct cli_args *args)
{
    str shell = str_c(args->words[0]);

    if (shell.n == 0)
        return cli_complain(CLI_USAGE, "completion needs a shell: bash, zsh or fish");
    for (size_t i = 0; i < COUNT_OF(shells); i++)
        if (str_eq(shell, str_c(shells[i].name)))
            shells[i].write(cli);
    return CLI_OK;
}

const struct cli_command cli_completion = {
    .name = "completion",
    .summary = "print the completions for a shell",
    .words = "bash|zsh|fish",
    .about = "Prints a script that the shell reads to complete commands, options and formats.",
    .examples = "  rationale completion bash > /etc/bash_completion.d/rationale\n"
                "  rationale completion zsh > ~/.zfunc/_rationale\n"
                "  rationale completion fish > ~/.config/fish/completions/rationale.fish\n",
    .values = completion_shell_name,
    .word_max = 1,
    .run = completion_run,
};
