/* cli.h - what a command is: a row with its words, its options and a function.
 *
 * One table of commands gives the parser, --help, the shell completions and the manual pages, so
 * that they cannot disagree. A command writes results to `out`, says what went wrong on stderr with
 * cli_complain, and returns an exit code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

/* The same everywhere; `rationale help exit-codes` prints this table. */
enum cli_exit {
    CLI_OK = 0,
    CLI_NEGATIVE = 1,    /* it ran, and the answer is no */
    CLI_USAGE = 2,       /* the command line is wrong */
    CLI_CONFIG = 3,      /* the configuration is invalid */
    CLI_AUTH = 4,        /* authentication or permission */
    CLI_UNREACHABLE = 5, /* the daemon or upstream */
    CLI_STORE = 6,       /* locked, corrupt, full, failed sync */
    CLI_TIMEOUT = 7,     /* timed out or interrupted before it finished */
    CLI_LIMIT = 8,       /* a budget or a limit was exceeded */
    CLI_INTERNAL = 70,
    CLI_SIGINT = 130,
};

#define CLI_OPTIONS_MAX 16
#define CLI_WORDS_MAX 4

struct cli_option {
    const char *name;    /* long, without the dashes */
    char letter;         /* or 0 */
    const char *value;   /* what stands for the value in help; NULL for a flag */
    const char *choices; /* the values it may have, separated by spaces, or NULL */
    const char *help;
};

struct cli_args {
    const char *value[CLI_OPTIONS_MAX]; /* by the option's index; "" for a flag that was given */
    const char *words[CLI_WORDS_MAX];   /* the rest */
    int word_count;
};

struct cli {
    struct file_out out; /* stdout */
    bool color;          /* whether stdout may have colours */
    bool terminal;       /* whether stdout is one */
};

struct cli_command {
    const char *name;
    const char *summary; /* one line, without a full stop */
    const char *words;   /* what stands behind the options, for the usage line */
    const char *about;   /* paragraphs */
    const char *examples;
    const struct cli_option *options;
    size_t option_count;
    int word_max;
    int (*run)(struct cli *cli, const struct cli_args *args);
};

extern const struct cli_command cli_split, cli_count, cli_completion, cli_manpage, cli_help;

/* The table, NULL behind the last; and the row of that name, or NULL. */
const struct cli_command *cli_command_at(size_t index);
const struct cli_command *cli_command_find(str name);

/* Parses; false after saying what is wrong on stderr. --color is taken here. */
bool cli_parse(struct cli *cli, const struct cli_command *c, int argc, char *const *argv,
               struct cli_args *args) MUST_USE;

/* What every command takes besides its own options: by index, NULL behind the last. */
const struct cli_option *cli_common_option(size_t index);

/* Help for one command, short (-h) or full (--help); for all of them. */
void cli_usage(struct cli *cli, const struct cli_command *c, bool full);
void cli_overview(struct cli *cli, bool full);
void cli_exit_codes(struct cli *cli);

/* "rationale: ...", one line on stderr. Returns the exit code it was given. */
int cli_complain(int code, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same for an error: its sentence, and the exit code that goes with its kind. */
int cli_fail(const struct err *e);

/* What was probably meant, or NULL: the candidate nearest to the word. */
const char *cli_nearest(str word, const char *(*candidate)(size_t index));

/* Opens FILE, or stdin for none and for "-". */
bool cli_open(const struct cli_args *args, int *fd, struct err *e) MUST_USE;

/* `rationale split --batch`: JSON Lines in, JSON Lines out. */
int cli_split_batch(struct cli *cli, int fd);

/* Escapes that a terminal understands, or nothing where there are no colours. */
const char *cli_dim(const struct cli *cli);
const char *cli_bold(const struct cli *cli);
const char *cli_plain(const struct cli *cli);
