/* `rationale notify`: tests and lists the messages about incidents.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/notify/notify.h"
#include "apps/incidents/notify/outbox.h"
#include "cli/history.h"

#define NOTE_SHOWN 1000 /* characters of a message that are shown */

enum { CONFIG, LIMIT, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [LIMIT] = {"limit", 'n', "N", NULL, "list: how many (default: 20)"},
    [JSON] = {"json", 0, NULL, NULL, "list: as JSON, in the words of the API"},
};

static const struct history_column columns[] = {
    {"UPDATED", "updated_at_us", HISTORY_TIME, 19},
    {"TARGET", "target", HISTORY_TEXT, 20},
    {"EVENT", "event", HISTORY_TEXT, 10},
    {"STATUS", "status", HISTORY_STATUS, 8},
    {"TRIES", "tries", HISTORY_NUMBER, 5},
    {"INCIDENT", "incident_id", HISTORY_TEXT, 36},
    {"ERROR", "error", HISTORY_TEXT, 0},
};

/* ---- test ---- */

static int notify_cli_unknown(const struct config_incidents *c, const char *name)
{
    struct buf known;
    int code;

    buf_init(&known, 4096);
    for (size_t i = 0; i < c->notify_count; i++)
        buf_printf(&known, "%s" STR_FMT, i ? ", " : "", STR_ARG(c->notify[i].name));
    code = cli_complain(CLI_USAGE,
                        "incidents.notify has no target \"%s\": %s" STR_FMT,
                        name,
                        c->notify_count ? "it has " : "it has none",
                        STR_ARG(buf_str(&known)));
    buf_release(&known);
    return code;
}

static int notify_cli_try(struct cli *cli, const struct config *c, const char *name)
{
    const struct config_notify *target = NULL;
    struct arena a;
    struct err e;
    str note;
    bool ok;

    assert(name);
    for (size_t i = 0; i < c->incidents.notify_count; i++)
        if (str_eq(c->incidents.notify[i].name, str_c(name)))
            target = &c->incidents.notify[i];
    if (!target)
        return notify_cli_unknown(&c->incidents, name);
    arena_init(&a, (size_t)64 << 20);
    ok = notify_test(c, target, &a, &note, &e);
    if (ok)
        file_out_printf(&cli->out,
                        "%s (%s) has the test message%s" STR_FMT "\n",
                        name,
                        config_notify_kind_name(target->kind),
                        note.n ? ", but: " : "",
                        STR_ARG(history_line(&a, note, NOTE_SHOWN)));
    arena_release(&a);
    return ok ? CLI_OK
              : cli_complain(
                    e.code == ERR_AUTH ? CLI_AUTH : CLI_UNREACHABLE, "%s: %s", name, e.text);
}

static int notify_cli_test(struct cli *cli, const struct cli_args *args)
{
    struct config *c;
    struct err e;
    int code;

    if (args->word_count != 2)
        return cli_complain(CLI_USAGE, "which target? rationale notify test TARGET");
    if (!config_load(args->value[CONFIG] ? args->value[CONFIG] : CLI_CONFIG_FILE, &c, &e))
        return cli_fail_config(&e);
    code = notify_cli_try(cli, c, args->words[1]);
    config_release(c);
    return code;
}

/* ---- list ---- */

static bool notify_cli_read(struct history *h, const struct cli_args *args, int64_t limit,
                            struct err *e)
{
    struct outbox_list list = {.arena = &h->arena,
                               .rows =
                                   arena_zero(&h->arena, (size_t)limit, sizeof(struct outbox_row)),
                               .max = (size_t)limit};
    struct json_out o;
    struct db *db;
    bool ok;

    assert(limit >= 1 && limit <= OUTBOX_LIST_MAX);
    if (!db_open(h->config->store_url, DB_READ, &db, e))
        return false;
    ok = args->word_count > 1 ? outbox_of(db, str_c(args->words[1]), &list, e)
                              : outbox_newest(db, &list, e);
    db_close(db);
    json_out_init_object(&o, &h->out);
    json_member_array(&o, "notifications");
    for (size_t i = 0; i < list.n; i++)
        outbox_write(&o, &list.rows[i]);
    json_out_close(&o, 2);
    return ok && json_out_ok(&o, e);
}

static int notify_cli_list(struct cli *cli, const struct cli_args *args)
{
    struct history h;
    struct err e;
    int64_t limit;
    int code;
    bool ok;

    if (!history_limit(args->value[LIMIT], 20, OUTBOX_LIST_MAX, &limit))
        return CLI_USAGE;
    code = history_open(&h, args->value[CONFIG]);
    if (code != CLI_OK)
        return code;
    ok = notify_cli_read(&h, args, limit, &e);
    code = history_show(&h, cli, ok, &e, args->value[JSON] != NULL);
    if (code == CLI_OK && !args->value[JSON]) {
        history_print_empty(&h, args, "notifications", "messages about incidents");
        code = history_table(&h, cli, "notifications", columns, COUNT_OF(columns));
    }
    history_close(&h);
    return code;
}

static const char *notify_cli_verb(size_t index)
{
    return NAME_OF(index, "test", "list", NULL);
}

static int notify_cli_run(struct cli *cli, const struct cli_args *args)
{
    str word = str_c(args->word_count ? args->words[0] : "");

    if (word.n == 0)
        return cli_complain(CLI_USAGE, "notify needs a word: test or list");
    return str_eq(word, STR("test")) ? notify_cli_test(cli, args) : notify_cli_list(cli, args);
}

const struct cli_command cli_notify = {
    .name = "notify",
    .summary = "messages about incidents: try a target, list the messages",
    .words = "test TARGET | list [INCIDENT]",
    .values = notify_cli_verb,
    .about =
        "test sends a message to a target of incidents.notify, now and once, and says what the "
        "target answers; no daemon is needed. list shows the messages about all incidents, "
        "or one: whether they are sent, and what went wrong.",
    .examples = "  rationale notify test oncall\n"
                "  rationale notify list\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 2,
    .run = notify_cli_run,
};
