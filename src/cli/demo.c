/* demo.c - runs the gateway on recordings, without any setup.
 *
 * The program contains the files of the demo. It writes them to a new folder, which also has the
 * demo's history. A child process waits for our end and then deletes the folder, however the demo
 * ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/embed.h"
#include "base/json.h"
#include "base/proc.h"
#include "cli/cli.h"
#include "cli/tour.h"
#include "net/gzip.h"
#include "serve/serve.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#define PORTS 32             /* ports that are tried */
#define DEMO_PAGE "/live"    /* has the questions */
#define SWEEP_MS (10 * 1000) /* wait for the folder to be deleted at the end */

enum { LISTEN, OPEN, ONCE };

static const struct cli_option options[] = {
    [LISTEN] = {"listen", 'l', "ADDR:PORT", NULL, "where to listen; else 8484 or the next free"},
    [OPEN] = {"open", 'o', NULL, NULL, "open the page in a browser"},
    [ONCE] = {"once", 0, NULL, NULL, "end after the three, with 0 if all went well"},
};

struct demo {
    struct cli *cli;
    bool open;
    char folder[FILE_PATH_MAX];
    struct proc sweeper; /* deletes the folder when its input ends, that is, when we end */
    bool sweeping;
    struct buf texts[2]; /* text of questions.json and tour.json */
    struct json questions;
    struct tour tour;
};

/* ---- files ---- */

static bool demo_sweep_start(struct demo *d, struct err *e)
{
    const char *argv[] = {"/bin/sh", "-c", "read -r _; rm -rf -- \"$1\"", "sh", d->folder, NULL};
    const char *env[] = {"PATH=/usr/bin:/bin", NULL};
    const struct proc_spec spec = {
        .argv = argv, .env = env, .cwd = "/", .in = PROC_PIPE, .out = PROC_NULL, .err = PROC_NULL};

    assert(!d->sweeping);
    d->sweeping = proc_spawn(&d->sweeper, &spec, e);
    if (!d->sweeping)
        (void)rmdir(d->folder);
    return d->sweeping;
}

static void demo_sweep(struct demo *d)
{
    struct proc_status status;
    struct err e;

    if (!d->sweeping)
        return;
    if (chdir("/") != 0)
        base_die("there is no root");
    proc_close_in(&d->sweeper);
    if (!proc_wait(&d->sweeper, SWEEP_MS, &status, &e))
        cli_complain(0, "%s is still there: %s", d->folder, e.text);
    proc_release(&d->sweeper);
    d->sweeping = false;
}

static bool lay_out(const struct embed *f, struct err *e)
{
    const char *slash = strrchr(f->name, '/');
    char folder[FILE_PATH_MAX];
    struct buf text;
    bool ok;

    gzip_unpack_embedded(f, &text);
    (void)snprintf(
        folder, sizeof folder, "%.*s", slash ? (int)(slash - f->name) : 1, slash ? f->name : ".");
    ok = file_mkdirs(folder, 0700, e) && file_write_atomic(f->name, buf_str(&text), 0600, e);
    buf_release(&text);
    return ok;
}

static bool lay_out_files(struct demo *d, struct err *e)
{
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(d->folder,
                   sizeof d->folder,
                   "%s/rationale-demo-XXXXXX",
                   tmp && tmp[0] == '/' ? tmp : "/tmp");
    if (!mkdtemp(d->folder) || chdir(d->folder) != 0) {
        err_sys(e, "%s", d->folder);
        return false;
    }
    if (!demo_sweep_start(d, e))
        return false;
    for (size_t i = 0; i < demo_files_count; i++)
        if (!lay_out(&demo_files[i], e))
            return false;
    return true;
}

static str demo_file_text(const char *name, struct buf *text)
{
    assert(name);
    for (size_t i = 0; i < demo_files_count; i++)
        if (strcmp(demo_files[i].name, name) == 0) {
            gzip_unpack_embedded(&demo_files[i], text);
            return buf_str(text);
        }
    base_die("a file of the demo is missing");
}

/* ---- texts ---- */

/* A member of the question with this id, as JSON of the file, including quotes. */
static str demo_question(const struct demo *d, const char *id, const char *member)
{
    const struct json *doc = &d->questions;
    const struct json_node *all = json_root(doc);

    assert(id && member);
    JSON_FOREACH(q, doc, all) {
        str raw = json_raw(doc, json_find(doc, q, STR("id")));

        if (str_eq(str_slice(raw, 1, raw.n - 1), str_c(id)))
            return json_raw(doc, json_find(doc, q, str_c(member)));
    }
    base_die("a question of the demo is missing");
}

static void demo_print_curls(const struct demo *d, str at)
{
    struct file_out *out = &d->cli->out;
    const char *dim = cli_dim(d->cli), *plain = cli_plain(d->cli);
    str model = demo_question(d, "incident", "model"),
        prompt = demo_question(d, "incident", "prompt");

    file_out_printf(
        out,
        "%s# the API of OpenAI: the reply has the count of reasoning tokens, not the reasoning%s\n"
        "curl -s http://" STR_FMT "/v1/chat/completions -d '{\"model\": " STR_FMT ",\n"
        "  \"messages\": [{\"role\": \"user\", \"content\": " STR_FMT "}]}'\n\n",
        dim,
        plain,
        STR_ARG(at),
        STR_ARG(model),
        STR_ARG(prompt));
    file_out_printf(out,
                    "%s# the API of Anthropic, same model; a header asks for the reasoning: a "
                    "thinking block%s\n"
                    "curl -s http://" STR_FMT "/v1/messages -H 'x-rationale-reasoning: show' \\\n"
                    "  -d '{\"model\": " STR_FMT ", \"max_tokens\": 1024,\n"
                    "  \"messages\": [{\"role\": \"user\", \"content\": " STR_FMT "}]}'\n\n",
                    dim,
                    plain,
                    STR_ARG(at),
                    STR_ARG(model),
                    STR_ARG(prompt));
    model = demo_question(d, "policy", "model");
    prompt = demo_question(d, "policy", "prompt");
    file_out_printf(
        out,
        "%s# streamed: a model that prints <think> tags; a cap of 128 tokens of reasoning%s\n"
        "curl -sN http://" STR_FMT "/generate -H 'x-rationale-reasoning: show' \\\n"
        "  -d '{\"model\": " STR_FMT ", \"reasoning_effort\": \"low\",\n"
        "  \"prompt\": " STR_FMT "}'\n\n",
        dim,
        plain,
        STR_ARG(at),
        STR_ARG(model),
        STR_ARG(prompt));
}

/* The browser is not a child of ours: it may continue after our end. */
static void demo_open_page(str at)
{
    char url[128];
    const char *argv[] = {"xdg-open", url, NULL};
    const struct proc_spec spec = {.argv = argv,
                                   .env = (const char *const *)environ,
                                   .cwd = "/",
                                   .in = PROC_NULL,
                                   .out = PROC_NULL,
                                   .err = PROC_NULL};
    struct proc p;
    struct err e;

    (void)snprintf(url, sizeof url, "http://" STR_FMT DEMO_PAGE, STR_ARG(at));
    if (!proc_spawn(&p, &spec, &e))
        cli_complain(0, "no browser could be opened: %s", e.text);
}

static void demo_on_ready(void *ctx, str url)
{
    struct demo *d = ctx;
    str at = str_slice(url, STR("http://").n, url.n); /* the demo has no certificate */
    struct file_out *out = &d->cli->out;

    assert(str_starts(url, STR("http://")));
    file_out_printf(out,
                    "The gateway with recorded replies: no key, no network; it deletes its record "
                    "when it ends.\n\n"
                    "  %shttp://" STR_FMT DEMO_PAGE "%s\n\n",
                    cli_bold(d->cli),
                    STR_ARG(at),
                    cli_plain(d->cli));
    if (!d->tour.done) {
        file_out_add(
            out,
            STR("Open it in a browser and choose a question, or ask from another terminal:\n\n"));
        demo_print_curls(d, at);
        file_out_add(out, STR("Ctrl-C ends it.\n"));
    }
    file_out_flush(out);
    if (d->open)
        demo_open_page(at);
    tour_begin(&d->tour, at);
}

static void demo_on_leave(void *ctx)
{
    struct demo *d = ctx;

    d->tour.stop = true;
}

/* The same as Ctrl-C. */
static void demo_end_it(void *ctx)
{
    (void)ctx;
    (void)kill(getpid(), SIGTERM);
}

/* The tools of the demo are served by this program, which must be found by its name. */
static void demo_name_ourselves(void)
{
    char self[FILE_PATH_MAX], path[2 * FILE_PATH_MAX];
    const char *old = getenv("PATH");
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;

    self[n > 0 ? n : 0] = '\0';
    slash = strrchr(self, '/');
    if (!slash)
        return;
    *slash = '\0';
    (void)snprintf(path, sizeof path, "%s:%s", self, old ? old : "/usr/bin:/bin");
    (void)setenv("PATH", path, 1);
}

static int demo_run(struct cli *cli, const struct cli_args *args)
{
    struct demo d = {.cli = cli, .open = args->value[OPEN] != NULL};
    struct serve_options o = {.config = "demo.yaml",
                              .listen = args->value[LISTEN],
                              .port_tries = args->value[LISTEN] ? 1 : PORTS,
                              .questions = demo_file_text("questions.json", &d.texts[0]),
                              .hangup_ends = true,
                              .on_ready = demo_on_ready,
                              .on_leave = demo_on_leave,
                              .ctx = &d};
    struct err e;
    bool ok, shown;

    d.tour = (struct tour){.cli = cli,
                           .config = "demo.yaml",
                           .script = demo_file_text("tour.json", &d.texts[1]),
                           .done = args->value[ONCE] ? demo_end_it : NULL};
    demo_name_ourselves();
    ok = json_open(&d.questions, o.questions, &e) && lay_out_files(&d, &e) && serve_run(&o, &e);
    shown = tour_end(&d.tour);
    demo_sweep(&d);
    json_release(&d.questions);
    buf_release(&d.texts[0]);
    buf_release(&d.texts[1]);
    if (ok)
        return args->value[ONCE] && !shown ? CLI_NEGATIVE : CLI_OK;
    if (str_ends(str_c(e.text), str_c(strerror(EADDRINUSE))))
        return cli_complain(
            CLI_NEGATIVE, "%s; without --listen the demo takes the next free port", e.text);
    return e.code == ERR_INPUT ? cli_complain(CLI_USAGE, "%s", e.text) : cli_fail(&e);
}

const struct cli_command cli_demo = {
    .name = "demo",
    .summary = "see the gateway at work, without a key or a network",
    .words = "",
    .about =
        "Runs the gateway on recorded replies and prints the address of its page and questions "
        "to ask with curl. Then it investigates an incident, verifies a policy and takes an "
        "order, and prints each decision with its reason; the page shows them as they run. A "
        "question without a recording gets an error that names the nearest one. Its files and "
        "its history are in a temporary folder, which is deleted when it ends.",
    .examples = "  rationale demo\n"
                "  rationale demo --open\n"
                "  rationale demo --listen 127.0.0.1:0\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 0,
    .run = demo_run,
};
