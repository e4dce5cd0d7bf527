/* `rationale export`: the record as JSON, CSV, OTLP, or as tables in a new SQLite file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/history.h"
#include "store/export_sqlite.h"

#include <sys/stat.h>

enum { CONFIG, FORMAT, OUTPUT, FORCE, SESSION, STATUS, MODEL, KEY, SINCE, UNTIL };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [FORMAT] = {"format", 'f', "FORM", "json csv otlp sqlite", "in which form (default: json)"},
    [OUTPUT] = {"output", 'o', "FILE", NULL, "where to (default: standard output)"},
    [FORCE] = {"force", 0, NULL, NULL, "replace FILE if it exists"},
    [SESSION] = {"session", 0, "ID", NULL, "only this session"},
    [STATUS] = {"status", 0, "WHAT", "pending in_progress completed failed", "only such sessions"},
    [MODEL] = {"model", 'm', "NAME", NULL, "only those whose last model it was"},
    [KEY] = {"key", 'k', "NAME", NULL, "only those of this key"},
    [SINCE] = {"since", 0, "TIME", NULL, "started since: 90m, 24h, 7d ago, or a date-time"},
    [UNTIL] = {"until", 0, "TIME", NULL, "started before then"},
};

/* ---- the file ---- */

/* Whether a path is a file of the SQLite store itself, under any name. */
static bool export_is_store(struct history *h, const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal", ".head"};
    char store[FILE_PATH_MAX], journal[FILE_PATH_MAX], file[FILE_PATH_MAX + 16];
    struct stat ours, theirs;
    struct err e;

    if (stat(path, &theirs) < 0 ||
        !store_places(h->config->store_url, h->config->spool, store, journal, &e) || !store[0])
        return false;
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        (void)snprintf(file, sizeof file, "%s%s", store, ends[i]);
        if (stat(file, &ours) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino)
            return true;
    }
    return false;
}

static int export_check_file(struct history *h, const char *path, bool force)
{
    char part[FILE_PATH_MAX + 16];
    struct stat st;

    (void)snprintf(part, sizeof part, "%s.part", path);
    if (export_is_store(h, path) || export_is_store(h, part))
        return cli_complain(CLI_USAGE, "--output: %s is a file of the store itself", path);
    if (lstat(path, &st) < 0)
        return CLI_OK;
    if (!force)
        return cli_complain(CLI_USAGE, "--output: %s exists; --force replaces it", path);
    if (!S_ISREG(st.st_mode))
        return cli_complain(CLI_USAGE, "--output: %s is not a plain file", path);
    return CLI_OK;
}

/* ---- the formats ---- */

/* The number of sessions to write, for the progress; 0 if unknown. */
static uint64_t export_total(struct history *h, const struct query_filter *f)
{
    struct query_page p = {.page = 1, .limit = 1, .cursor = STR(""), .sort = STR("")};
    int64_t n = 0;
    struct err e;

    if (query_sessions(h->reader, &h->asker, f, &p, &h->out, &e) &&
        json_parse(&h->doc, buf_str(&h->out), &e))
        (void)!json_i64(&h->doc, json_pointer(&h->doc, STR("/pagination/total_items")), &n);
    return n > 0 ? (uint64_t)n : 0;
}

static int export_stream(struct history *h, struct file_out *out, bool terminal,
                         enum query_format format, const struct query_filter *f)
{
    struct progress p = {.shown = false};
    struct query_export x;
    int code = CLI_OK;
    struct err e;

    assert(h->args);
    if (!terminal) /* if the results go to the terminal, they show the progress */
        p = progress_begin("export", "sessions", export_total(h, f));
    query_export_init(&x, format, f);
    while (!x.done && code == CLI_OK && !out->error) {
        buf_reset(&h->out);
        if (!query_export_step(h->reader, &h->asker, &x, &h->out, &e))
            code = history_fail(&e);
        else if (terminal)
            cli_put_escaped(out, buf_str(&h->out));
        else
            file_out_add(out, buf_str(&h->out));
        progress_set(&p, x.sessions);
    }
    progress_end(&p);
    if (code == CLI_OK && x.sessions == 0)
        cli_print_none(h->args, "sessions", NULL);
    query_export_release(&x);
    return code;
}

static int export_tables(struct history *h, const char *path, const struct query_filter *f)
{
    struct export_sqlite_to to = {.path = path};
    struct err e;
    bool ok = export_sqlite_write(h->reader, &h->asker, f, &to, &e);

    assert(h->args && path);
    if (ok && to.sessions == 0)
        cli_print_none(h->args, "sessions", NULL);
    return ok ? CLI_OK : history_fail(&e);
}

/* NULL: the format is sqlite, which cannot be streamed. */
static int export_to_file(struct history *h, const char *path, const enum query_format *format,
                          const struct query_filter *f)
{
    struct file_part part;
    struct file_out out;
    struct err e;
    int code;

    assert(path[0]);
    if (!file_part_open(&part, path, &e))
        return cli_complain(CLI_USAGE, "--output: %s", e.text);
    if (format) {
        file_out_init(&out, part.fd);
        code = export_stream(h, &out, false, *format, f);
        if (!file_out_finish(&out, path, &e) && code == CLI_OK)
            code = cli_fail(&e);
    } else {
        code = export_tables(h, part.part, f);
    }
    if (code != CLI_OK)
        file_part_drop(&part);
    else if (!file_part_keep(&part, &e))
        code = cli_fail(&e);
    return code;
}

/* ---- the command ---- */

static int export_check_args(const struct cli_args *args, bool sqlite)
{
    const char *output = args->value[OUTPUT];

    if (sqlite && !output)
        return cli_complain(CLI_USAGE,
                            "--format sqlite needs --output FILE: a database cannot be written to"
                            " standard output");
    if (args->value[FORCE] && !output)
        return cli_complain(CLI_USAGE, "--force is about --output FILE, which is missing");
    if (output && (output[0] == '\0' || strcmp(output, "-") == 0))
        return cli_complain(CLI_USAGE,
                            "--output must be a file; without it, json, csv and otlp are written to"
                            " standard output");
    return CLI_OK;
}

static int cli_export_run(struct cli *cli, const struct cli_args *args)
{
    bool sqlite = args->value[FORMAT] && strcmp(args->value[FORMAT], "sqlite") == 0;
    struct query_filter f = query_filter_none;
    enum query_format format = QUERY_JSON;
    const char *output = args->value[OUTPUT];
    struct history h;
    int code = export_check_args(args, sqlite);

    if (!code && !history_range(args->value[SINCE], args->value[UNTIL], &f))
        code = CLI_USAGE;
    if (!code)
        code = history_open(&h, args->value[CONFIG]);
    if (code)
        return code;
    h.args = args;
    f.session_id = str_c(args->value[SESSION]);
    f.status[0] = str_c(args->value[STATUS]);
    f.status_count = args->value[STATUS] != NULL;
    f.model = str_c(args->value[MODEL]);
    f.key = str_c(args->value[KEY]);
    if (output)
        code = export_check_file(&h, output, args->value[FORCE] != NULL);
    if (code == CLI_OK && args->value[FORMAT] && !sqlite &&
        !query_format_parse(str_c(args->value[FORMAT]), &format))
        code = CLI_USAGE;
    if (code == CLI_OK)
        code = output ? export_to_file(&h, output, sqlite ? NULL : &format, &f)
                      : export_stream(&h, &cli->out, cli->terminal, format, &f);
    history_close(&h);
    return code;
}

const struct cli_command cli_export = {
    .name = "export",
    .summary = "write the record as JSON, CSV, OTLP or SQLite tables",
    .words = "",
    .about =
        "Writes sessions to standard output, oldest first, or to a file. json is one document; csv "
        "has a line an event, and what a spreadsheet would take for a formula has an apostrophe "
        "before it; otlp has a line a session, each an ExportTraceServiceRequest in OTLP/JSON, as "
        "a "
        "collector takes it, without any content.\n"
        "\n"
        "sqlite writes a new SQLite file with plain tables for queries by SQL: llm_interactions "
        "with the texts of each call, alert_sessions, reasoning_segments, decisions, "
        "decision_tools, mcp_communications and usage_hours. It needs --output and is a form of "
        "the command line only; the HTTP API does not have it.\n"
        "\n"
        "A file is called FILE.part until it is complete, and only its owner can read it.",
    .examples = "  rationale export --format csv --since 7d > week.csv\n"
                "  rationale export --format otlp --session my-session\n"
                "  rationale export --format sqlite --since 7d --output week.db\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = cli_export_run,
};
