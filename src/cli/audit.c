/* `rationale audit`: prints the audit log, and checks its chain.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/audit.h"

#include "base/json_get.h"
#include "cli/history.h"

enum { CONFIG, LIMIT, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [LIMIT] = {"limit", 'n', "N", NULL, "list: how many (default: 50)"},
    [JSON] = {"json", 0, NULL, NULL, "as JSON, in the words of the history API"},
};

static const struct history_column columns[] = {
    {"SEQ", "seq", HISTORY_NUMBER, 12},
    {"TIME", "time_us", HISTORY_TIME, 19},
    {"ACTOR", "actor", HISTORY_TEXT, 24},
    {"ACTION", "action", HISTORY_TEXT, 24},
    {"SUBJECT", "subject", HISTORY_TEXT, 40},
    {"HASH", "hash", HISTORY_TEXT, 12},
};

static const char *audit_verb(size_t index)
{
    return NAME_OF(index, "list", "verify", NULL);
}

static int cli_audit_verify(struct history *h, struct cli *cli, bool json)
{
    char head[4096];
    struct err e;
    bool good, ok;
    int code;

    assert(h->reader);
    if (!audit_head_path(h->config->store_url, h->config->spool, head, sizeof head, &e))
        return history_fail(&e);
    ok = query_audit_verify(h->reader, head, &h->out, &e);
    code = history_show(h, cli, ok, &e, json);
    if (code)
        return code;
    if (!json_parse(&h->doc, buf_str(&h->out), &e))
        return history_fail(&e);
    good = json_get_true(&h->doc, json_root(&h->doc), "ok");
    if (!json && good)
        file_out_printf(&cli->out,
                        "the chain holds: %lld entries, %lld rows agree, %lld were erased\n",
                        (long long)history_number(h, json_root(&h->doc), "entries"),
                        (long long)history_number(h, json_root(&h->doc), "rows"),
                        (long long)history_number(h, json_root(&h->doc), "erased"));
    if (!good && !json)
        cli_complain(CLI_NEGATIVE,
                     "the chain does not hold: " STR_FMT,
                     STR_ARG(history_member(h, json_root(&h->doc), "why")));
    return good ? CLI_OK : CLI_NEGATIVE;
}

static int audit_run(struct cli *cli, const struct cli_args *args)
{
    str word = str_c(args->word_count ? args->words[0] : "list");
    bool json = args->value[JSON] != NULL;
    struct history h;
    int64_t limit;
    struct err e;
    int code;

    if (!history_limit(args->value[LIMIT], 50, QUERY_LIMIT_MAX, &limit))
        return CLI_USAGE;
    code = history_open(&h, args->value[CONFIG]);
    if (code)
        return code;
    if (str_eq(word, STR("verify"))) {
        code = cli_audit_verify(&h, cli, json);
    } else {
        bool ok = query_audit(h.reader, limit, &h.out, &e);

        code = history_show(&h, cli, ok, &e, json);
        if (code == CLI_OK && !json) {
            code = history_table(&h, cli, "entries", columns, COUNT_OF(columns));
            history_print_empty(&h, args, "entries", "entries");
        }
    }
    history_close(&h);
    return code;
}

const struct cli_command cli_audit = {
    .name = "audit",
    .summary = "verify the audit log, or list its newest entries",
    .words = "[verify|list]",
    .values = audit_verb,
    .about =
        "Every record and every erasure is an entry of a chain of hashes, whose head is also in "
        "a file beside the store. verify checks the whole chain: the exit code is 0 if nothing "
        "was changed, removed or replaced. Otherwise it is 1, and the first wrong entry is "
        "printed.",
    .examples = "  rationale audit verify\n"
                "  rationale audit list -n 10 --json\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 1,
    .run = audit_run,
};
