/* `rationale erase`: erases a session, or all records of a subject, and prints a receipt.
 *
 * One process at a time writes to a store: the daemon if it runs, else this command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_get.h"
#include "cli/daemon.h"
#include "cli/data.h"
#include "cli/history.h"

#include <unistd.h>

enum { CONFIG, SESSION, SUBJECT, YES, DRY_RUN, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [SESSION] = {"session", 0, "ID", NULL, "this session"},
    [SUBJECT] = {"subject", 0, "NAME", NULL, "all sessions that this subject has a part in"},
    [YES] = {"yes", 'y', NULL, NULL, "do not ask"},
    [DRY_RUN] = {"dry-run", 0, NULL, NULL, "print what would be erased, and erase nothing"},
    [JSON] = {"json", 0, NULL, NULL, "the receipt, or the counts, as JSON"},
};

struct wish {
    struct config *config;
    enum store_erase_what what;
    str name;
};

/* False with *e if no daemon of the store answers; otherwise the code is the exit code. */
static bool erase_by_daemon(const struct wish *w, struct buf *out, int *code, struct err *e)
{
    struct daemon_link d;
    struct progress p;
    struct buf body;
    str reply;
    bool there;

    assert(w->name.n > 0);
    buf_init(&body, 65536);
    buf_printf(&body, "{\"%s\":", w->what == STORE_ERASE_SESSION ? "session_id" : "subject");
    (void)json_quote(&body, w->name);
    buf_add_c(&body, '}');
    p = progress_begin("the daemon erases", "", 0);
    there = daemon_open(&d, w->config, e) &&
            daemon_ask(&d, "POST", STR("/api/v1/erase"), buf_str(&body), e) &&
            daemon_body(&d, &reply, e) &&
            (d.status != 503 || err_set(e, ERR_UPSTREAM, "the daemon answers 503"));
    progress_end(&p);
    buf_release(&body);
    if (there && d.status == 200) {
        buf_add(out, reply);
        *code = CLI_OK;
    } else if (there) {
        *code = daemon_refused(&d, reply, d.status == 404 ? CLI_NEGATIVE : CLI_STORE);
    }
    daemon_close(&d);
    return there;
}

static int erase_by_ourselves(const struct wish *w, struct buf *out, const struct err *daemon)
{
    struct store_options o = data_store_options(w->config);
    struct store_receipt receipt;
    struct reader *r;
    struct store *s;
    struct err e;
    bool ok;

    assert(w->name.n > 0);
    if (str_eq(o.url, STR("none")))
        return cli_complain(CLI_STORE, "nothing is on record: the store is \"none\"");
    if (!reader_open(o.url, &r, &e)) /* the store is not created for it */
        return cli_complain(CLI_STORE, "the store: %s", e.text);
    reader_close(r);
    if (!store_open(&o, &s, &e))
        return daemon_complain(daemon, &e);
    ok = store_erase(s, w->what, w->name, STR("cli"), &receipt, &e);
    store_close(s);
    if (!ok)
        return history_fail(&e);
    receipt_write(&receipt, out);
    return CLI_OK;
}

static bool erase_is_sure(const struct wish *w)
{
    struct file_out out;
    char answer[16];

    assert(w->name.n > 0);
    if (!isatty(STDIN_FILENO)) {
        cli_complain(CLI_USAGE, "an erasure cannot be undone: confirm with --yes");
        return false;
    }
    file_out_init(&out, STDERR_FILENO);
    file_out_printf(
        &out, "Erase %s \"", w->what == STORE_ERASE_SESSION ? "the session" : "all of the subject");
    cli_put_line(&out, w->name);
    file_out_add(&out, STR("\"? It does not come back. [y/N] "));
    file_out_flush(&out);
    if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return true;
    cli_complain(CLI_USAGE, "nothing was erased: the answer was not y");
    return false;
}

/* A receipt without erased records is not a success, from the daemon or the command. */
static bool erase_of_nothing(str receipt)
{
    static const char *const counts[] = {
        "sessions", "interactions", "communications", "threads", "runs"};
    int64_t sum = 0;
    struct json doc;
    struct err e;
    bool ok;

    ok = json_open(&doc, receipt, &e);
    for (size_t i = 0; ok && i < COUNT_OF(counts); i++)
        sum += json_get_i64(&doc, json_root(&doc), counts[i], 0);
    json_release(&doc);
    return ok && sum == 0;
}

static void erase_print_counts(struct cli *cli, struct history *h, const struct json_node *root,
                               const char *title)
{
    static const struct {
        const char *member, *noun;
    } counts[] = {
        {"sessions", "session"},
        {"interactions", "call"},
        {"decisions", "decision"},
        {"communications", "tool exchange"},
        {"threads", "thread"},
        {"runs", "run"},
    };

    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        long long n = (long long)history_number(h, root, counts[i].member);

        file_out_printf(
            &cli->out, "%s%lld %s%s", i ? ", " : title, n, counts[i].noun, n == 1 ? "" : "s");
    }
    file_out_add(&cli->out, STR("\n"));
}

static int erase_print(struct cli *cli, struct buf *out, bool json)
{
    struct history h = {0};
    const struct json_node *root;
    struct err e;

    if (json) {
        cli_put_json(cli, buf_str(out));
        file_out_add(&cli->out, STR("\n"));
        return CLI_OK;
    }
    arena_init(&h.arena, 1 << 20);
    if (json_open(&h.doc, buf_str(out), &e)) {
        root = json_root(&h.doc);
        erase_print_counts(cli, &h, root, "erased: ");
        file_out_printf(&cli->out,
                        "receipt " STR_FMT "\naudit log " STR_FMT "\n",
                        STR_ARG(history_member(&h, root, "receipt_id")),
                        STR_ARG(history_member(&h, root, "head_hash")));
    }
    arena_release(&h.arena);
    json_release(&h.doc);
    return CLI_OK;
}

static int erase_complain_of_nothing(const struct wish *w)
{
    return cli_complain(CLI_NEGATIVE,
                        "there was nothing to erase: no %s \"" STR_FMT "\" is on record",
                        w->what == STORE_ERASE_SESSION ? "session" : "session of the subject",
                        STR_ARG(w->name));
}

/* Reads the store itself, also while a daemon runs. */
static int erase_dry_run(struct cli *cli, const struct cli_args *args, const struct wish *w)
{
    struct history h;
    struct err e;
    bool ok;
    int code = history_open(&h, args->value[CONFIG]);

    if (code)
        return code;
    ok = query_erase(h.reader, w->what, w->name, &h.out, &e);
    if (ok && erase_of_nothing(buf_str(&h.out))) {
        code = erase_complain_of_nothing(w);
    } else {
        code = history_show(&h, cli, ok, &e, args->value[JSON] != NULL);
        if (code == CLI_OK && !args->value[JSON])
            erase_print_counts(cli, &h, json_root(&h.doc), "would be erased: ");
    }
    history_close(&h);
    return code;
}

static int erase_run(struct cli *cli, const struct cli_args *args)
{
    struct wish w = {.what = args->value[SESSION] ? STORE_ERASE_SESSION : STORE_ERASE_SUBJECT,
                     .name =
                         str_c(args->value[SESSION] ? args->value[SESSION] : args->value[SUBJECT])};
    struct config *c;
    struct buf out;
    struct err e;
    int code = CLI_OK;

    if (!args->value[SESSION] == !args->value[SUBJECT] || w.name.n == 0)
        return cli_complain(CLI_USAGE, "erase needs either --session ID or --subject NAME");
    if (args->value[DRY_RUN])
        return erase_dry_run(cli, args, &w);
    if (!data_config(args->value[CONFIG], &c, &e))
        return cli_fail_config(&e);
    progress_enable();
    w.config = c;
    buf_init(&out, 1 << 20);
    if (!args->value[YES] && !erase_is_sure(&w))
        code = CLI_USAGE;
    else if (!erase_by_daemon(&w, &out, &code, &e))
        code = erase_by_ourselves(&w, &out, &e);
    if (code == CLI_OK && erase_of_nothing(buf_str(&out)))
        code = erase_complain_of_nothing(&w);
    else if (code == CLI_OK)
        code = erase_print(cli, &out, args->value[JSON] != NULL);
    buf_release(&out);
    config_release(c);
    return code;
}

const struct cli_command cli_erase = {
    .name = "erase",
    .summary = "erase a session, or all of a subject, with a receipt",
    .words = "",
    .about =
        "Erases rows, words and journal, so that no file of the store contains the bytes any "
        "more, and prints a receipt. The audit log records the erasure, and nothing of what was "
        "erased. If the daemon runs, it does the work; if it requires a key, an operator's key "
        "is taken from RATIONALE_KEY. --dry-run counts what would be erased, and erases nothing.",
    .examples = "  rationale erase --session my-session\n"
                "  rationale erase --subject user-17 --dry-run\n"
                "  rationale erase --subject user-17 --yes --json\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = erase_run,
};
