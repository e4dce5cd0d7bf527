/* `rationale config`: the values in force and where each came from; or whether a file is valid.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/config_check.h"

#define OUT_MAX ((size_t)64 << 20)

enum { CONFIG, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the file (default: rationale.yaml)"},
    [JSON] = {"json", 0, NULL, NULL, "settings with origins; check: ok, problems, warnings"},
};

static const char *config_verb(size_t index)
{
    return NAME_OF(index, "show", "check", "validate", NULL);
}

static void config_print_warnings(const struct config *c)
{
    for (size_t i = 0; i < c->warning_count; i++)
        cli_complain(CLI_OK, "warning: " STR_FMT, STR_ARG(c->warnings[i]));
}

static void config_put_item(void *ctx, const struct config_item *item)
{
    struct json_out *o = ctx;

    assert(item->origin);
    json_out_object(o);
    json_member_str(o, "path", item->path);
    json_member_str(o, "value", item->value);
    json_member_str(o, "origin", str_c(item->origin));
    json_member_i64_or_null(o, "line", item->line ? (int64_t)item->line : -1);
    json_out_end(o);
}

/* In the form of the route /api/v1/system. */
static void config_print_json(const struct config *c, struct buf *b)
{
    struct json_out o;

    json_out_init_object(&o, b);
    json_member_array(&o, "config");
    config_each(c, config_put_item, &o);
    json_out_close(&o, 2);
    buf_add_c(b, '\n');
}

static int cli_config_show(struct cli *cli, const char *path, bool json)
{
    struct config *c;
    struct buf b;
    struct err e;

    assert(path);
    if (!config_load(path, &c, &e))
        return cli_fail_config(&e);
    config_print_warnings(c);
    buf_init(&b, OUT_MAX);
    if (json)
        config_print_json(c, &b);
    else
        config_print(c, &b);
    file_out_add(&cli->out, buf_str(&b));
    buf_release(&b);
    config_release(c);
    return CLI_OK;
}

static int config_run(struct cli *cli, const struct cli_args *args)
{
    const char *path = args->value[CONFIG];
    str word = str_c(args->word_count ? args->words[0] : "");

    if (str_eq(word, STR("validate")))
        word = STR("check");
    if (str_eq(word, STR("show")))
        word = STR("");
    if (args->word_count == 2 && path)
        return cli_complain(CLI_USAGE,
                            "the file is given twice: by --config and after %s; give it once",
                            args->words[0]);
    if (args->word_count == 2)
        path = args->words[1];
    if (!path)
        path = CLI_CONFIG_FILE;
    if (word.n > 0)
        return config_check(cli, path, args->value[JSON] != NULL);
    return cli_config_show(cli, path, args->value[JSON] != NULL);
}

const struct cli_command cli_config = {
    .name = "config",
    .summary = "show the configuration in force, or check a file",
    .words = "[show|check|validate [FILE]]",
    .values = config_verb,
    .about =
        "Prints every setting in force as YAML, each with its source: a default, or the line of "
        "the file. Keys and passwords are not shown. With check, or validate, it reads the file "
        "and opens every file that it names (certificates, keys, cassettes, agents, menus, "
        "documents, labelled cases), and reports all problems with their lines; if there are "
        "any, the exit code is 3.",
    .examples = "  rationale config --config rationale.yaml\n"
                "  rationale config check rationale.yaml\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 2,
    .run = config_run,
};
