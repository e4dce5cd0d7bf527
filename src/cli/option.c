/* Parses and explains options by their table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

#define WORD_MAX 64 /* longer words are compared only up to this length */

static size_t option_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The edit distance of two words: letters changed, added, removed, or swapped with the next one. */
static size_t option_distance(str a, str b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    a = str_slice(a, 0, WORD_MAX);
    b = str_slice(b, 0, WORD_MAX);
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *free_row = before;

        before = above, above = row, row = free_row;
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            bool same = a.p[i - 1] == b.p[j - 1];

            row[j] = option_min(option_min(above[j], row[j - 1]) + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
                row[j] = option_min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.n];
}

/* Beyond this distance the words are unrelated. */
static size_t cli_distance_max(str word)
{
    return word.n < 6 ? 1 : word.n / 3;
}

/* The name that was probably meant, or NULL. */
static const char *option_nearest(str word, cli_names *names)
{
    const char *best = NULL, *c;
    size_t best_distance = cli_distance_max(word) + 1;

    for (size_t i = 0; (c = names(i)); i++) {
        size_t d = option_distance(word, str_c(c));

        if (word.n >= 3 && str_starts(str_c(c), word))
            d = option_min(d, 1); /* the beginning of a name is as close as one letter */
        if (d < best_distance && d < strlen(c))
            best_distance = d, best = c;
    }
    return best;
}

static struct cli_guess cli_guess_of(const char *near, const char *otherwise)
{
    struct cli_guess g;

    if (near)
        snprintf(g.text, sizeof g.text, "; did you mean \"%s\"?", near);
    else
        snprintf(g.text, sizeof g.text, "; %.*s", (int)sizeof g.text - 3, otherwise);
    return g;
}

struct cli_guess cli_guess(str word, cli_names *names, const char *otherwise)
{
    return cli_guess_of(option_nearest(word, names), otherwise);
}

/* Every command has these. */
enum { COLOR, HELP };

static const struct cli_option common[] = {
    [COLOR] =
        {"color", 0, "WHEN", "auto always never", "colours (default: auto; NO_COLOR is obeyed)"},
    [HELP] = {"help", 'h', NULL, NULL, "this text; -h is the short one"},
};

const struct cli_option *cli_common_option(size_t index)
{
    return index < COUNT_OF(common) ? &common[index] : NULL;
}

/* The option at an index of the command's own options followed by the common ones, or NULL. */
static const struct cli_option *option_at(const struct cli_command *c, size_t index)
{
    return index < c->option_count ? &c->options[index]
                                   : cli_common_option(index - c->option_count);
}

static const struct cli_option *option_find(const struct cli_command *c, str name, char letter,
                                            int *index)
{
    const struct cli_option *o;

    for (size_t i = 0; (o = option_at(c, i)); i++)
        if (letter ? o->letter == letter : str_eq(name, str_c(o->name))) {
            *index = i < c->option_count ? (int)i : -1;
            return o;
        }
    return NULL;
}

static bool option_is_choice(const char *choices, str value)
{
    for (const char *at = choices; *at;) {
        size_t n = strcspn(at, " ");

        if (str_eq((str){at, n}, value))
            return true;
        at += n;
        at += *at == ' ';
    }
    return false;
}

static void cli_set_color(struct cli *cli, str when)
{
    if (!str_eq(when, STR("auto")))
        cli->color = str_eq(when, STR("always"));
}

/* An option whose value ends in "..." in help may be given more than once: its values are joined by
 * commas, for the life of the process. */
static const char *option_join(const struct cli_option *o, const char *before, const char *value)
{
    char *both;

    if (!before || !o->value || !str_ends(str_c(o->value), STR("...")))
        return value;
    both = base_alloc(strlen(before) + strlen(value) + 2);
    (void)snprintf(both, strlen(before) + strlen(value) + 2, "%s,%s", before, value);
    return both;
}

/* Stores one option; `value` is NULL if it had none. */
static bool option_set(struct cli *cli, const struct cli_option *o, int index, const char *value,
                       struct cli_args *args)
{
    assert(!o->choices || o->value);
    if (o->choices && !option_is_choice(o->choices, str_c(value))) {
        cli_complain(
            CLI_USAGE, "--%s is \"%s\"; it must be one of: %s", o->name, value, o->choices);
        return false;
    }
    if (o->value && !value[0] && str_is_one_of(str_c(o->value), "FILE DIR FOLDER")) {
        cli_complain(CLI_USAGE, "--%s is empty; it must be the name of a file or folder", o->name);
        return false;
    }
    assert(index < CLI_OPTIONS_MAX);
    if (index < 0)
        cli_set_color(cli, str_c(value));
    else
        args->value[index] = option_join(o, args->value[index], value ? value : "");
    return true;
}

static bool option_unknown(const struct cli_command *c, str name, const char *word)
{
    const struct cli_option *o, *near = NULL;
    size_t best = cli_distance_max(name) + 1;
    char meant[64], otherwise[64];

    for (size_t i = 0; name.n > 0 && (o = option_at(c, i)); i++) {
        size_t d = option_distance(name, str_c(o->name));

        if (d < best)
            best = d, near = o;
    }
    snprintf(meant, sizeof meant, "--%s", near ? near->name : "");
    snprintf(otherwise, sizeof otherwise, "`rationale %s --help` lists them", c->name);
    cli_complain(CLI_USAGE,
                 "%s has no option %s%s",
                 c->name,
                 word,
                 cli_guess_of(near ? meant : NULL, otherwise).text);
    return false;
}

static bool cli_needs_value(const struct cli_option *o)
{
    if (o->choices)
        cli_complain(CLI_USAGE, "--%s needs a value, one of: %s", o->name, o->choices);
    else
        cli_complain(CLI_USAGE, "--%s needs a value: --%s %s", o->name, o->name, o->value);
    return false;
}

/* Parses one option at argv[*at]; its value is after "=" or in the next word. */
static bool cli_parse_option(struct cli *cli, const struct cli_command *c, int argc,
                             char *const *argv, int *at, struct cli_args *args)
{
    const char *word = argv[*at], *value = NULL;
    bool is_long = word[1] == '-';
    const char *equals = is_long ? strchr(word, '=') : NULL;
    str name = is_long ? str_c(word + 2) : STR("");
    const struct cli_option *o;
    int index;

    assert(*at < argc && word[0] == '-' && word[1]);
    if (equals) {
        name.n = (size_t)(equals - name.p);
        value = equals + 1;
    }
    o = option_find(c, name, is_long ? 0 : word[1], &index);
    if (!o)
        return option_unknown(c, name, word);
    if (!is_long && word[2] != '\0')
        value = word + 2;
    if (!o->value && value) {
        if (is_long)
            cli_complain(CLI_USAGE, "--%s takes no value", o->name);
        else
            cli_complain(CLI_USAGE, "%s: give letters one by one, as in -%c -x", word, o->letter);
        return false;
    }
    if (o->value && !value) {
        if (*at + 1 >= argc)
            return cli_needs_value(o);
        value = argv[++*at];
    }
    if (o == &common[HELP]) {
        args->help = is_long ? 'H' : 'h';
        return true;
    }
    return option_set(cli, o, index, value, args);
}

int cli_too_many(const struct cli_command *c, const char *word)
{
    return cli_complain(CLI_USAGE,
                        "\"%s\" is one word too many; the usage is: rationale %s [OPTIONS]%s%s",
                        word,
                        c->name,
                        c->words[0] ? " " : "",
                        c->words);
}

static bool cli_bad_word(const struct cli_command *c, const char *word)
{
    struct cli_guess all = {"it takes one of:"};
    const char *value;

    assert(c->values);
    for (size_t i = 0, n; (value = c->values(i)); i++) {
        n = strlen(all.text);
        snprintf(all.text + n, sizeof all.text - n, " %s", value);
    }
    cli_complain(CLI_USAGE,
                 "%s knows no \"%s\"%s",
                 c->name,
                 word,
                 cli_guess(str_c(word), c->values, all.text).text);
    return false;
}

static bool option_is_value(const struct cli_command *c, str word)
{
    const char *value;

    for (size_t i = 0; (value = c->values(i)); i++)
        if (str_eq(word, str_c(value)))
            return true;
    return false;
}

static bool option_add_word(const struct cli_command *c, const char *word, struct cli_args *args)
{
    if (args->word_count == c->word_max)
        return cli_too_many(c, word) == CLI_OK;
    if (c->values && args->word_count == 0 && !option_is_value(c, str_c(word)))
        return cli_bad_word(c, word);
    assert(args->word_count < CLI_WORDS_MAX);
    args->words[args->word_count++] = word;
    return true;
}

/* Whether an option goes with a verb. If its help begins with verbs, as "approve, deny: why" does,
 * it goes only with those. */
static bool option_goes_with(const struct cli_command *c, str help, str verb)
{
    bool named = false;
    str verbs = str_slice(help, 0, str_find(help, STR(": ")));

    if (verbs.n == help.n)
        return true;
    while (verbs.n) {
        str one = str_trim(str_cut(&verbs, ','));

        if (!option_is_value(c, one))
            return true; /* a sentence with a colon */
        named = named || str_eq(one, verb);
    }
    return named;
}

/* Without a verb the first one is meant. */
static bool option_check_verb(const struct cli_command *c, const struct cli_args *args)
{
    const char *verb = args->word_count ? args->words[0] : c->values(0);

    for (size_t i = 0; i < c->option_count; i++) {
        str help = str_c(c->options[i].help), verbs = str_slice(help, 0, str_find(help, STR(": ")));

        if (args->value[i] && !option_goes_with(c, help, str_c(verb))) {
            cli_complain(CLI_USAGE,
                         "--%s does not go with %s %s: it is an option of " STR_FMT,
                         c->options[i].name,
                         c->name,
                         verb,
                         STR_ARG(verbs));
            return false;
        }
    }
    return true;
}

bool cli_parse(struct cli *cli, const struct cli_command *c, int argc, char *const *argv,
               struct cli_args *args)
{
    bool options = true; /* until a "--" */

    assert(c->option_count <= CLI_OPTIONS_MAX && c->word_max <= CLI_WORDS_MAX);
    *args = (struct cli_args){.command = c};
    for (int i = 0; i < argc && !args->help; i++) {
        bool is_option = options && argv[i][0] == '-' && argv[i][1] != '\0';
        bool dashes = options && str_eq(str_c(argv[i]), STR("--"));

        if (c->takes_rest && (dashes || !is_option)) {
            args->rest = argv + i + dashes;
            args->rest_marked = dashes;
            break;
        }
        if (dashes)
            options = false;
        else if (is_option ? !cli_parse_option(cli, c, argc, argv, &i, args)
                           : !option_add_word(c, argv[i], args))
            return false;
    }
    return args->help || !c->values || option_check_verb(c, args);
}
