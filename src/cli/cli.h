/* cli.h - the type of a command: a row with its texts, options and function.
 *
 * The parser, --help, the shell completions and the manual pages come from one table of commands,
 * so that they cannot disagree. A command writes results to `out`, reports errors on stderr with
 * cli_complain, and returns an exit code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/str.h"
#include "gateway/config.h"

/* The same for all commands: help.c has their meanings, which `rationale help exit-codes`
 * prints. */
enum cli_exit {
    CLI_OK = 0,
    CLI_NEGATIVE = 1,    /* the command ran, and the result is negative */
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
#define CLI_WORDS_MAX 64

struct cli_option {
    const char *name;    /* long, without the dashes */
    char letter;         /* or 0 */
    const char *value;   /* the name of the value in help; NULL for a flag */
    const char *choices; /* the allowed values, separated by spaces, or NULL */
    const char *help;    /* "list, show: ..." goes only with these values of the first word */
};

struct cli_command;

struct cli_args {
    const struct cli_command *command;
    const char *value[CLI_OPTIONS_MAX]; /* by the option's index; "" for a flag that was given */
    const char *words[CLI_WORDS_MAX];   /* the words that are not options */
    int word_count;
    char *const *rest; /* for a command that takes another command: its words, NULL at the end */
    bool rest_marked;  /* a "--" precedes it */
    char help;         /* 'h' for -h, 'H' for --help; then the rest is ignored */
};

struct cli {
    struct file_out out; /* stdout */
    bool color;          /* whether stdout may have colours */
    bool terminal;       /* whether stdout is a terminal */
};

/* A list of names: from index 0, NULL after the last. */
typedef const char *cli_names(size_t index);

struct cli_command {
    const char *name;
    const char *summary; /* one line, without a full stop */
    const char *words;   /* the words after the options, for the usage line */
    cli_names *values;   /* allowed values of the first word; NULL: any, for example a file */
    const char *about;   /* paragraphs */
    const char *examples;
    const struct cli_option *options;
    size_t option_count;
    int word_max;
    bool takes_rest; /* options end at the first word: the rest is another command */
    int (*run)(struct cli *cli, const struct cli_args *args);
};

#define CLI_CONFIG_FILE "rationale.yaml" /* the default of --config */
/* What to do if the option is missing. */
#define CLI_CONFIG_ADVICE                                                                          \
    "write one, such as \"providers: " CONFIG_EXAMPLE "\", or give --config FILE"

#define GROUP(title, examples)
#define COMMAND(name, file) extern const struct cli_command cli_##name;
#include "cli/commands.def"
#undef COMMAND
#undef GROUP
/* The rows of commands.def: a command, or the head of a group of them. */
struct cli_row {
    const struct cli_command *command; /* NULL: this is a head */
    const char *title, *examples;      /* of a head */
};
/* By index, NULL after the last: the rows, and the commands alone. */
const struct cli_row *cli_row_at(size_t index);
const struct cli_command *cli_command_at(size_t index);
/* NULL: there is no such command. */
const struct cli_command *cli_command_find(str name);
const char *cli_command_name(size_t index);

/* Parses the arguments; false after an error message on stderr. Handles --color. */
bool cli_parse(struct cli *cli, const struct cli_command *c, int argc, char *const *argv,
               struct cli_args *args) MUST_USE;

/* Prints that the line has one word too many; returns the exit code. */
int cli_too_many(const struct cli_command *c, const char *word);

/* The options of every command, by index; NULL after the last. */
const struct cli_option *cli_common_option(size_t index);

/* Help for one command, short (-h) or full (--help); for all of them. */
void cli_usage(struct cli *cli, const struct cli_command *c, bool full);
void cli_overview(struct cli *cli, bool full);
/* The exit codes with their meanings, by index; NULL after the last. */
struct cli_exit_row {
    int code;
    const char *meaning;
};
const struct cli_exit_row *cli_exit_row(size_t index);
void cli_exit_codes(struct cli *cli);
/* Breaks paragraphs into lines of this width; *code is the function's own state, false at first. */
typedef void cli_put_word(struct cli *cli, str word, bool *code);
void cli_wrap(struct cli *cli, const char *text, size_t width, cli_put_word *put);
/* All commands in Markdown: docs/reference/commands.md. */
void cli_reference(struct cli *cli);

/* Prints "rationale: ..." as one line on stderr, escaped if necessary. Returns the given exit
 * code. */
int cli_complain(int code, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same for an error: prints its sentence and returns the exit code of its kind. */
int cli_fail(const struct err *e);
/* The same if a configuration could not be loaded. */
int cli_fail_config(const struct err *e);
/* What to do about a configuration file that is missing or unreadable, with ": " before it; else
 * "". */
const char *cli_config_advice(str problem);
/* The same if a configuration and its store could not be opened: 3, 4 or 6. `instead` says what to
 * do if a daemon uses the store; or NULL. */
int cli_fail_open(const struct err *e, const char *instead);
/* Prints on stderr that nothing was found: "no sessions match --status failed --since 7d", with the
 * options and words that select. Without any: "no sessions are on record yet", followed by `place`
 * (may be NULL). */
void cli_print_none(const struct cli_args *args, const char *things, const char *place);

/* The end of a message about an unknown name: "did you mean" and the most similar name. If no name
 * is similar: the given text. */
struct cli_guess {
    char text[400];
};
struct cli_guess cli_guess(str word, cli_names *names, const char *otherwise);

/* Shows the results so far, in place of a line of progress. */
void cli_flush(struct cli *cli);

/* FILE, or stdin without one and for "-". */
struct cli_input {
    int fd;
    const char *name; /* for error messages; from the arguments */
    bool owned;       /* closed by cli_close */
    uint64_t size;    /* bytes read so far */
    struct progress progress;
};

/* Shows its progress if the results do not go to the terminal. */
bool cli_open(const struct cli *cli, const struct cli_args *args, struct cli_input *in,
              struct err *e) MUST_USE;
void cli_close(struct cli_input *in);
/* Reads the available bytes, waiting for the first; 0 bytes at the end. */
bool cli_read(struct cli_input *in, char *to, size_t size, size_t *got, struct err *e) MUST_USE;

/* The lines of a text, for the progress. */
uint64_t cli_count_lines(str text);

/* The number of bytes at the start of s that are safe on a terminal; `bad` is the number of unsafe
 * bytes after them, 0 at the end of s. */
size_t cli_safe_size(str s, size_t *bad);
/* Writes a text of a model or a tool, which must not control the terminal: "?" for unsafe bytes. */
void cli_put_safe(struct file_out *out, str text);
/* The same to stdout if that is a terminal; for a program the text is unchanged. */
void cli_put_text(struct cli *cli, str text);
/* Safe text in one line: " " for each line end, so that a model's text cannot look like a line of
 * the command. */
void cli_put_line(struct file_out *out, str text);
/* At most `max` characters of a text as one line, each of its lines trimmed; ends the line. */
void cli_put_front(struct file_out *out, str text, size_t max);
/* Writes JSON or CSV to a terminal: "\u009b" for a character that the terminal would obey, so that
 * JSON keeps its meaning. */
void cli_put_escaped(struct file_out *out, str text);
/* Writes JSON to stdout: unchanged for a program, escaped for a terminal. */
void cli_put_json(struct cli *cli, str json);
/* The same with a line end for a JSON text, which it ends and releases. */
void cli_put_json_text(struct cli *cli, struct json_text *t);

/* Sets colour by the terminal and the environment; --color overrides it. */
void cli_init_color(struct cli *cli);

/* Terminal escapes, or nothing without colours. */
#define CLI_LINE_ENDLESS ((size_t)1 << 20)
/* The characters of a line of stdout: COLUMNS, or the terminal's width; CLI_LINE_ENDLESS if stdout
 * is not a terminal. */
size_t cli_line_width(const struct cli *cli);
const char *cli_dim(const struct cli *cli);
const char *cli_bold(const struct cli *cli);
const char *cli_plain(const struct cli *cli);
/* The colour of a status: green for success, red for failure, yellow for anything unfinished. */
const char *cli_status(const struct cli *cli, str status);
