/* `rationale store`: lists the daemons that share a store, and handles a journal that one of them
 * left.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/data.h"
#include "cli/history.h"
#include "cli/table.h"
#include "store/daemons.h"

enum { CONFIG };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
};

static int store_cli_adopt(struct cli *cli, struct config *c, const struct cli_args *args)
{
    struct store_options o = data_store_options(c);
    uint64_t records = 0;
    struct err e;

    assert(args->word_count > 0);
    if (args->word_count != 2)
        return cli_complain(CLI_USAGE, "store adopt needs the folder of the journal");
    o.spool = str_c(args->words[1]);
    if (!store_adopt(&o, &records, &e))
        return history_fail(&e);
    file_out_printf(&cli->out,
                    "%llu records of %s were taken in; the folder may be deleted\n",
                    (unsigned long long)records,
                    args->words[1]);
    return CLI_OK;
}

static int store_cli_daemons(struct cli *cli, const struct config *c)
{
    static const struct table_column columns[] = {{"DAEMON", TABLE_TEXT, 0},
                                                  {"STATE", TABLE_TEXT, 0},
                                                  {"VERSION", TABLE_TEXT, 0},
                                                  {"ADDRESS", TABLE_TEXT, 0}};
    struct daemons_list list;
    struct table t;
    struct err e;

    if (!daemons_look(c->store_url, STR(""), NULL, &list, &e))
        return history_fail(&e);
    table_begin(&t, cli, columns, COUNT_OF(columns));
    for (size_t i = 0; i < list.count; i++) {
        table_add(&t, str_c(list.items[i].id));
        table_add(&t, str_c(list.items[i].state));
        table_add(&t, str_c(list.items[i].version));
        table_add(&t, str_c(list.items[i].address));
    }
    table_end(&t);
    return CLI_OK;
}

static const char *store_cli_verb(size_t index)
{
    return NAME_OF(index, "adopt", "daemons", NULL);
}

static int store_cli_run(struct cli *cli, const struct cli_args *args)
{
    str word = str_c(args->word_count ? args->words[0] : "");
    struct config *c;
    struct err e;
    int code;

    if (word.n == 0)
        return cli_complain(CLI_USAGE, "store needs a word: adopt or daemons");
    if (str_eq(word, STR("daemons")) && args->word_count > 1)
        return cli_too_many(args->command, args->words[1]);
    if (!data_config(args->value[CONFIG], &c, &e))
        return cli_fail_config(&e);
    code = str_eq(word, STR("adopt")) ? store_cli_adopt(cli, c, args) : store_cli_daemons(cli, c);
    config_release(c);
    return code;
}

const struct cli_command cli_store = {
    .name = "store",
    .summary = "list daemons of a PostgreSQL store, or take in a journal",
    .words = "daemons | adopt SPOOL",
    .values = store_cli_verb,
    .about = "daemons lists the daemons that share the store, and whether they run. adopt takes in "
             "the journal that a daemon left on a disk when its machine was lost: calls that it "
             "acknowledged and that had not reached PostgreSQL. It may be repeated, works while "
             "other daemons run, and refuses the journal of a daemon that runs.",
    .examples = "  rationale store daemons\n"
                "  rationale store adopt /mnt/disk/rationale.spool\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 2,
    .run = store_cli_run,
};
