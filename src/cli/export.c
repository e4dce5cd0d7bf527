/* `rationale export`: what is on record, to stdout: JSON, CSV or OTLP.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/history.h"

#include <unistd.h>

enum { CONFIG, FORMAT, SESSION, STATUS, MODEL, KEY, SINCE, UNTIL };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [FORMAT] = {"format", 'f', "FORM", "json csv otlp", "in which form (default: json)"},
    [SESSION] = {"session", 0, "ID", NULL, "only this session"},
    [STATUS] = {"status", 0, "WHAT", "pending in_progress completed failed", "only such sessions"},
    [MODEL] = {"model", 'm', "NAME", NULL, "only those whose last model it was"},
    [KEY] = {"key", 'k', "NAME", NULL, "only those of this key"},
    [SINCE] = {"since", 0, "TIME", NULL, "begun since: 90m, 24h, 7d ago, or a date-time"},
    [UNTIL] = {"until", 0, "TIME", NULL, "begun before then"},
};

static void progress(const struct cli *cli, const struct query_export *x, bool last)
{
    if (isatty(STDERR_FILENO) && !cli->terminal)
        (void)fprintf(
            stderr, "\r%llu sessions%s", (unsigned long long)x->sessions, last ? "\n" : "");
}

static int export(struct history *h, struct cli *cli, enum query_format format,
                  const struct query_filter *f)
{
    struct query_export x;
    int code = CLI_OK;
    struct err e;

    query_export_init(&x, format, f);
    while (!x.done && code == CLI_OK && !file_out_gone(&cli->out)) {
        buf_reset(&h->out);
        if (!query_export_step(h->reader, &h->asker, &x, &h->out, &e))
            code = history_fail(&e);
        else
            file_out_add(&cli->out, buf_str(&h->out));
        progress(cli, &x, x.done);
    }
    query_export_release(&x);
    return code;
}

static int run(struct cli *cli, const struct cli_args *args)
{
    struct query_filter f = query_filter_none;
    enum query_format format = QUERY_JSON;
    struct history h;
    int code = history_open(&h, args->value[CONFIG]);

    if (code)
        return code;
    f.session_id = str_c(args->value[SESSION]);
    f.status[0] = str_c(args->value[STATUS]);
    f.status_count = args->value[STATUS] != NULL;
    f.model = str_c(args->value[MODEL]);
    f.key = str_c(args->value[KEY]);
    code = CLI_USAGE;
    if ((!args->value[FORMAT] || query_format_parse(str_c(args->value[FORMAT]), &format)) &&
        history_since(&h, "since", args->value[SINCE], &f.start_us) &&
        history_since(&h, "until", args->value[UNTIL], &f.end_us))
        code = export(&h, cli, format, &f);
    history_close(&h);
    return code;
}

const struct cli_command cli_export = {
    .name = "export",
    .summary = "write what is on record as JSON, CSV or OTLP",
    .words = "",
    .about =
        "Writes sessions to standard output, oldest first. json is one document; csv has a line "
        "an event, and what a spreadsheet would take for a formula has an apostrophe before it; "
        "otlp has a line a session, each an ExportTraceServiceRequest in OTLP/JSON, as a collector "
        "takes it, without any content.",
    .examples = "  rationale export --format csv --since 7d > week.csv\n"
                "  rationale export --format otlp --session my-session\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = run,
};
