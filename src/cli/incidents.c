/* `rationale incidents`: the incidents on record, and the alerts of each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/status.h"
#include "cli/history.h"

enum { CONFIG, STATUS, TYPE, LIMIT, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [STATUS] = {"status",
                0,
                "WHAT",
                "queued processing waiting completed error cancelled",
                "list: only such incidents"},
    [TYPE] = {"alert-type", 0, "TYPE", NULL, "list: only those of this type"},
    [LIMIT] = {"limit", 'n', "N", NULL, "list: how many (default: 20)"},
    [JSON] = {"json", 0, NULL, NULL, "as JSON, in the words of the API"},
};

static const struct history_column columns[] = {
    {"CREATED", "created_at_us", HISTORY_TIME, 19},
    {"STATUS", "status", HISTORY_STATUS, 10},
    {"SEVERITY", "severity", HISTORY_TEXT, 10},
    {"ALERTS", "alert_count", HISTORY_NUMBER, 6},
    {"FIRING", "firing_count", HISTORY_NUMBER, 6},
    {"SEEN", "seen_count", HISTORY_NUMBER, 6},
    {"INCIDENT", "alert_id", HISTORY_TEXT, 40},
    {"TYPE", "alert_type", HISTORY_TEXT, 0},
};

static const struct history_column alert_columns[] = {
    {"STATE", "state", HISTORY_STATUS, 8},
    {"SEEN", "seen", HISTORY_NUMBER, 6},
    {"STARTED", "starts_at_us", HISTORY_TIME, 19},
    {"ENDED", "ended_at_us", HISTORY_TIME, 19},
    {"LAST SEEN", "last_seen_at_us", HISTORY_TIME, 19},
    {"SOURCE", "source", HISTORY_TEXT, 12},
    {"FINGERPRINT", "fingerprint", HISTORY_TEXT, 16},
    {"ALERT", "name", HISTORY_TEXT, 0},
};

struct incidents_command {
    struct history h;
    struct alert_table *alert_table;
    struct cli *cli;
    const struct cli_args *args;
    int64_t limit; /* of the list */
};

static int incidents_show_json(struct incidents_command *c, bool ok, const struct err *e)
{
    return history_show(&c->h, c->cli, ok, e, c->args->value[JSON] != NULL);
}

static int incidents_list(struct incidents_command *c)
{
    struct alert_table_filter f = {.all = true,
                                   .key = STR(""),
                                   .state = str_c(c->args->value[STATUS]),
                                   .alert_type = str_c(c->args->value[TYPE]),
                                   .before = STR("")};
    struct alert_table_row *rows;
    struct json_out o;
    struct err e;
    size_t n = 0;
    bool ok;
    int code;

    assert(c->alert_table);
    f.count_max = (size_t)c->limit;
    ok = alert_table_list(c->alert_table, &f, &c->h.arena, &rows, &n, &e);
    json_out_init_object(&o, &c->h.out);
    json_member_array(&o, "incidents");
    for (size_t i = 0; ok && i < n; i++) {
        json_out_object(&o);
        status_members(&o, &rows[i]);
        json_out_end(&o);
    }
    json_out_close(&o, 2);
    code = incidents_show_json(c, ok, &e);
    if (code != CLI_OK || c->args->value[JSON])
        return code;
    history_print_empty(&c->h, c->args, "incidents", "incidents");
    return history_table(&c->h, c->cli, "incidents", columns, COUNT_OF(columns));
}

static bool incidents_questions(struct incidents_command *c, const struct alert_table_row *row,
                                struct json_out *o, struct err *e)
{
    struct agent_log *log = NULL;
    bool ok = agent_log_open_read(c->h.config->store_url, &log, e) &&
              incident_chat_list(log, row->id, row->session, &c->h.arena, o, e);

    agent_log_close(log);
    return ok;
}

static void incidents_show_questions(struct incidents_command *c)
{
    const struct json *doc = &c->h.doc;

    JSON_FOREACH(v, doc, json_find(doc, json_root(doc), STR("questions"))) {
        str answer = history_member(&c->h, v, "answer");

        file_out_printf(
            &c->cli->out,
            "\n%squestion%s " STR_FMT "\n",
            cli_bold(c->cli),
            cli_plain(c->cli),
            STR_ARG(history_line(&c->h.arena, history_member(&c->h, v, "question"), 1000)));
        if (!answer.n)
            answer = history_member(&c->h, v, "error");
        history_show_text(c->cli, answer.n ? answer : history_member(&c->h, v, "status"), "");
    }
}

static int incidents_show(struct incidents_command *c)
{
    struct alert_table_row row = {0};
    struct json_out o;
    struct json report;
    struct err e;
    bool ok = alert_table_get(c->alert_table, str_c(c->args->words[1]), &c->h.arena, &row, &e);
    int code;

    assert(c->alert_table && c->args->word_count == 2);
    json_out_init_object(&o, &c->h.out);
    json_init(&report);
    if (ok) {
        struct err none;
        bool has = row.report.n && json_parse(&report, row.report, &none);

        status_members(&o, &row);
        status_alerts(&o, c->alert_table, row.id, &c->h.arena);
        ok = incidents_questions(c, &row, &o, &e);
        json_member_raw(
            &o,
            "report",
            has ? json_raw(&report, json_find(&report, json_root(&report), STR("markdown")))
                : STR("null"));
    }
    json_out_end(&o);
    json_release(&report);
    if (!ok && e.code == ERR_NOT_FOUND)
        return cli_complain(CLI_NEGATIVE,
                            "%s; `rationale incidents list` has their ids, and `rationale show` "
                            "shows a session without one",
                            e.text);
    code = incidents_show_json(c, ok, &e);
    if (code != CLI_OK || c->args->value[JSON])
        return code;
    history_put_field(&c->h, c->cli, json_root(&c->h.doc), "alert_id", "incident");
    history_put_field(&c->h, c->cli, json_root(&c->h.doc), "alert_type", "type");
    history_put_field(&c->h, c->cli, json_root(&c->h.doc), "severity", "severity");
    history_put_field(&c->h, c->cli, json_root(&c->h.doc), "status", "status");
    history_put_field(&c->h, c->cli, json_root(&c->h.doc), "current_step", "step");
    history_put_field(&c->h, c->cli, json_root(&c->h.doc), "error", "error");
    code = history_table(&c->h, c->cli, "alerts", alert_columns, COUNT_OF(alert_columns));
    history_show_text(c->cli, history_member(&c->h, json_root(&c->h.doc), "report"), "");
    incidents_show_questions(c);
    return code;
}

static int incidents_carry_out(struct incidents_command *c, bool show)
{
    struct err e;
    int code = history_open(&c->h, c->args->value[CONFIG]);

    if (code)
        return code;
    if (alert_table_open_read(c->h.config->store_url, &c->alert_table, &e))
        code = show ? incidents_show(c) : incidents_list(c);
    else
        code = cli_complain(CLI_STORE, "the store: %s", e.text);
    alert_table_close(c->alert_table);
    history_close(&c->h);
    return code;
}

static const char *incidents_verb(size_t index)
{
    return NAME_OF(index, "list", "show", NULL);
}

static int incidents_run(struct cli *cli, const struct cli_args *args)
{
    const char *word = args->word_count ? args->words[0] : "list";
    struct incidents_command c = {.cli = cli, .args = args};
    bool show = strcmp(word, "show") == 0;

    if (args->word_count > 1 + show || (show && args->word_count < 2))
        return cli_complain(CLI_USAGE,
                            "incidents %s takes %s",
                            word,
                            show ? "the ID of an incident" : "nothing else");
    if (!history_limit(args->value[LIMIT], 20, BOOK_LIST_MAX, &c.limit))
        return CLI_USAGE;
    return incidents_carry_out(&c, show);
}

const struct cli_command cli_incidents = {
    .name = "incidents",
    .summary = "incidents and the alerts of each: list, show",
    .words = "[list | show] [ID]",
    .values = incidents_verb,
    .about = "Lists the incidents on record, the newest first, or shows one: its alerts, whether "
             "each fires or is resolved, how often it was reported, the report, and the questions "
             "that were asked about it.",
    .examples = "  rationale incidents --status error\n"
                "  rationale incidents show 0199f0c4 --json\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 2,
    .run = incidents_run,
};
