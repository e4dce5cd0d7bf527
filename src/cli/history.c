/* Shared by the commands that read the record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/history.h"

#include "base/json_get.h"
#include "cli/daemon.h"
#include "cli/data.h"
#include "cli/table.h"

#define ARENA_MAX ((size_t)512 << 20)
#define SETTLE_MS 30000 /* for calls that were acknowledged before the command began */
#define CELL_MAX 1000   /* characters */

int history_fail(const struct err *e)
{
    static const int codes[ERR_CODE_COUNT] = {
        [ERR_AUTH] = CLI_AUTH,
        [ERR_NOT_FOUND] = CLI_NEGATIVE,
        [ERR_CONFLICT] = CLI_NEGATIVE,
        [ERR_CANCELLED] = CLI_TIMEOUT,
        [ERR_TIMEOUT] = CLI_TIMEOUT,
        [ERR_LIMIT] = CLI_LIMIT,
        [ERR_INPUT] = CLI_USAGE,
        [ERR_SYSTEM] = CLI_STORE,
        [ERR_UPSTREAM] = CLI_STORE,
    };

    assert((size_t)e->code < COUNT_OF(codes));
    return cli_complain(codes[e->code] ? codes[e->code] : CLI_STORE, "%s", e->text);
}

/* Tells on standard error that a killed daemon left records in its journal. */
static void history_tell_waiting(const struct history *h)
{
    char journal[FILE_PATH_MAX];

    if (daemon_left_records(h->config, h->reader, journal))
        (void)fprintf(stderr,
                      "rationale: the newest records are missing here: they wait in the journal "
                      "%s for the daemon (`rationale serve`, if none runs)\n",
                      journal);
}

int history_open(struct history *h, const char *config)
{
    struct progress p;
    struct err e;
    enum daemon_settled settled;

    progress_enable();
    *h = (struct history){.asker = {.key_name = STR("")}};
    if (!data_config(config, &h->config, &e))
        return cli_fail_config(&e);
    if (str_eq(h->config->store_url, STR("none"))) {
        config_release(h->config);
        return cli_complain(CLI_STORE, "nothing is on record: the store is \"none\"");
    }
    p = progress_begin("waiting for the newest calls", "", 0);
    settled = daemon_settle(h->config, SETTLE_MS);
    progress_end(&p);
    if (settled == DAEMON_TIMEOUT) {
        config_release(h->config);
        return cli_complain(CLI_TIMEOUT,
                            "the daemon's newest calls are not in the tables after %d seconds, so "
                            "the answer would lack them: try again later",
                            SETTLE_MS / 1000);
    }
    if (!reader_open(h->config->store_url, &h->reader, &e)) {
        config_release(h->config);
        return cli_complain(CLI_STORE,
                            "the store: %s%s",
                            e.text,
                            e.code == ERR_NOT_FOUND
                                ? "; nothing was recorded yet: `rationale serve` makes it"
                                : "");
    }
    if (settled == DAEMON_NONE)
        history_tell_waiting(h);
    h->asker.now_us = clock_wall_ms(&clock_real) * 1000;
    buf_init(&h->out, QUERY_OUT_MAX);
    json_init(&h->doc);
    arena_init(&h->arena, ARENA_MAX);
    return CLI_OK;
}

void history_close(struct history *h)
{
    arena_release(&h->arena);
    json_release(&h->doc);
    buf_release(&h->out);
    reader_close(h->reader);
    config_release(h->config);
}

/* ---- options ---- */

bool history_limit(const char *value, int64_t otherwise, int64_t max, int64_t *out)
{
    uint64_t n;

    assert(otherwise >= 1 && otherwise <= max);
    *out = otherwise;
    if (!value)
        return true;
    if (str_u64(str_c(value), &n) && n >= 1 && n <= (uint64_t)max) {
        *out = (int64_t)n;
        return true;
    }
    cli_complain(CLI_USAGE, "--limit must be a number from 1 to %lld", (long long)max);
    return false;
}

static bool history_since(const char *option, const char *value, int64_t *out)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    str text = str_c(value);
    uint64_t n;
    int64_t ms;

    *out = -1;
    if (!value)
        return true;
    for (size_t i = 0; i < COUNT_OF(units) && text.n > 1; i++)
        if (text.p[text.n - 1] == units[i].letter && str_u64(str_slice(text, 0, text.n - 1), &n) &&
            n < 1000000) {
            *out = (clock_wall_ms(&clock_real) - (int64_t)n * units[i].seconds * 1000) * 1000;
            return true;
        }
    if (clock_parse(text, &ms)) {
        *out = ms * 1000;
        return true;
    }
    cli_complain(CLI_USAGE,
                 "--%s must be a time ago (90m, 24h, 7d) or a date-time (2026-01-31T12:00:00Z)",
                 option);
    return false;
}

bool history_range(const char *since, const char *until, struct query_filter *f)
{
    return history_since("since", since, &f->start_us) && history_since("until", until, &f->end_us);
}

/* ---- values ---- */

str history_member(struct history *h, const struct json_node *v, const char *name)
{
    str text;

    return json_text(&h->doc, json_find(&h->doc, v, str_c(name)), &h->arena, &text) ? text
                                                                                    : STR("");
}

int64_t history_number(struct history *h, const struct json_node *v, const char *name)
{
    return json_get_i64(&h->doc, v, name, -1);
}

void history_put_field(struct history *h, struct cli *cli, const struct json_node *v,
                       const char *name, const char *title)
{
    const struct json_node *at = json_find(&h->doc, v, str_c(name));
    str text;

    if (!at || at->kind == JSON_NULL)
        return;
    if (!json_text(&h->doc, at, &h->arena, &text))
        text = json_raw(&h->doc, at);
    if (text.n)
        file_out_printf(&cli->out,
                        "%s%s%s %s" STR_FMT "%s\n",
                        cli_bold(cli),
                        title,
                        cli_plain(cli),
                        cli_status(cli, text),
                        STR_ARG(history_line(&h->arena, text, 1000)),
                        cli_plain(cli));
}

str history_time(struct arena *a, int64_t us)
{
    char text[CLOCK_TEXT_SIZE];
    str s = clock_format(us / 1000, text);

    if (us < 0)
        return STR("-");
    return arena_join(a, str_slice(s, 0, 10), STR(" "), str_slice(s, 11, 19));
}

str history_line(struct arena *a, str text, size_t width_max)
{
    str cut = table_cut_width(text, width_max);
    bool more = cut.n < text.n;
    struct buf b;

    assert(width_max > 0);
    if (more)
        cut = table_cut_width(text, width_max - 1);
    buf_init(&b, cut.n * 3 + 16);
    while (cut.n) {
        size_t bad, size = cli_safe_size(cut, &bad);

        for (size_t i = 0; i < size; i++)
            buf_add_c(&b, cut.p[i] == '\n' || cut.p[i] == '\t' ? ' ' : cut.p[i]);
        if (bad)
            buf_add_c(&b, cut.p[size] == '\r' ? ' ' : '?');
        cut = str_slice(cut, size + bad, cut.n);
    }
    if (more)
        buf_add(&b, STR("\xe2\x80\xa6"));
    return arena_move_buf(a, &b);
}

void history_show_text(struct cli *cli, str text, const char *indent)
{
    while (text.n) {
        file_out_add(&cli->out, str_c(indent));
        cli_put_safe(&cli->out, str_cut(&text, '\n'));
        file_out_add(&cli->out, STR("\n"));
    }
}

/* ---- absent reasoning ---- */

str history_absent(struct history *h, str code)
{
    const struct config *c = h->config;
    const char *then = str_eq(code, STR("summary_only")) ? "summary" : "none";

    if (str_eq(code, STR("no_reply")))
        return STR("no reply from the provider");
    if (str_eq(code, STR("none_given")))
        return STR("the model gave no reasoning");
    if (str_eq(code, STR("provider_keeps_it")))
        return STR("the provider keeps this reasoning to itself");
    if (!str_eq(code, STR("not_kept")) && !str_eq(code, STR("summary_only")))
        return STR("");
    if (c->keep == CONFIG_KEEP_TEXT)
        return arena_printf(
            &h->arena, "no reasoning kept: reasoning.keep was %s then; it is text now", then);
    return arena_printf(&h->arena,
                        "no reasoning kept: reasoning.keep is %s in " STR_FMT "; set it to text",
                        NAME_OF(c->keep, "none", "summary", "text"),
                        STR_ARG(c->path));
}

void history_note(struct cli *cli, str sentence)
{
    if (sentence.n)
        file_out_printf(
            &cli->out, "%snote: " STR_FMT "%s\n", cli_dim(cli), STR_ARG(sentence), cli_plain(cli));
}

/* ---- tables ---- */

static str history_cell(struct history *h, const struct history_column *c, bool cut,
                        const struct json_node *row)
{
    const struct json_node *v = json_find(&h->doc, row, str_c(c->name));
    char text[CLOCK_DURATION_SIZE];
    double x;
    int64_t n;
    str s;

    assert(c->name && c->head);
    if (!v || v->kind == JSON_NULL)
        return STR("-");
    if (c->form == HISTORY_TIME && json_i64(&h->doc, v, &n))
        return history_time(&h->arena, n);
    if (c->form == HISTORY_MS && json_i64(&h->doc, v, &n))
        return arena_dup(&h->arena, clock_duration_ms(n, text));
    if (c->form == HISTORY_USD && json_double(&h->doc, v, &x))
        return arena_printf(&h->arena, "%.4f", x);
    if (c->form == HISTORY_SHARE && json_double(&h->doc, v, &x))
        return arena_printf(&h->arena, "%.0f %%", 100 * x);
    if (!json_text(&h->doc, v, &h->arena, &s))
        s = json_raw(&h->doc, v);
    return history_line(&h->arena, s, cut && c->width_max ? c->width_max : CELL_MAX);
}

void history_print_empty(struct history *h, const struct cli_args *args, const char *member,
                         const char *things)
{
    char journal[FILE_PATH_MAX], store[FILE_PATH_MAX] = "";
    struct err e;

    if (json_count(&h->doc, json_find(&h->doc, json_root(&h->doc), str_c(member))) > 0)
        return;
    (void)!store_places(h->config->store_url, h->config->spool, store, journal, &e);
    cli_print_none(args, things, store[0] ? store : NULL);
}

int history_table(struct history *h, struct cli *cli, const char *member,
                  const struct history_column *columns, size_t n)
{
    const struct json_node *root = json_root(&h->doc);
    const struct json_node *rows = member ? json_find(&h->doc, root, str_c(member)) : root;
    struct table_column heads[TABLE_COLUMNS_MAX];
    struct table t;
    int64_t back_to_us;

    assert(n > 0 && n <= COUNT_OF(heads));
    for (size_t i = 0; i < n; i++)
        heads[i] = (struct table_column){.head = columns[i].head,
                                         .form = columns[i].form == HISTORY_STATUS   ? TABLE_STATUS
                                                 : columns[i].form >= HISTORY_NUMBER ? TABLE_RIGHT
                                                                                     : TABLE_TEXT};
    table_begin(&t, cli, heads, n);
    JSON_FOREACH(row, &h->doc, rows)
        for (size_t i = 0; i < n; i++)
            table_add(&t, history_cell(h, &columns[i], cli->terminal, row));
    table_end(&t);
    back_to_us = member ? history_number(h, root, "searched_back_to_us") : -1;
    if (back_to_us >= 0)
        history_note(cli,
                     arena_printf(&h->arena,
                                  "nothing before " STR_FMT " was searched",
                                  STR_ARG(history_time(&h->arena, back_to_us))));
    return CLI_OK;
}

int history_show(struct history *h, struct cli *cli, bool ok, const struct err *e, bool json)
{
    struct err bad;

    if (!ok)
        return history_fail(e);
    if (json) {
        cli_put_json(cli, buf_str(&h->out));
        file_out_add(&cli->out, STR("\n"));
        return CLI_OK;
    }
    return json_parse(&h->doc, buf_str(&h->out), &bad) ? CLI_OK : history_fail(&bad);
}
