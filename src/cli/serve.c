/* serve.c - the daemon from the command line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/serve.h"
#include "cli/cli.h"
#include "serve/listen.h"

#include <errno.h>
#include <unistd.h>

enum { CONFIG, LISTEN };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration; default: rationale.yaml"},
    [LISTEN] = {"listen", 'l', "ADDR:PORT", NULL, "where to listen; wins over the file's"},
};

static void serve_on_ready(void *ctx, str url)
{
    struct cli *cli = ctx;
    struct file_out person;

    assert(url.n > 0);
    progress_disable(); /* from here on only the log is written */
    file_out_printf(&cli->out, "listening on " STR_FMT "\n", STR_ARG(url));
    file_out_flush(&cli->out);
    if (!cli->terminal)
        return;
    file_out_init(&person, STDERR_FILENO);
    file_out_add(
        &person,
        STR("open it in a browser, or see calls with `rationale tail` and `rationale list`;"
            " Ctrl-C ends it\n"));
    file_out_flush(&person);
}

/* What to do about a store that cannot be written, with ": " before it; else "". */
static const char *serve_store_advice(const struct err *e)
{
    static const struct {
        const char *cause, *advice;
    } rows[] = {
        {"Permission denied", ": let this user write there, or set store to another path"},
        {"Read-only file system", ": mount it for writing, or set store to another path"},
        {"No space left", ": make room, or set store to another disk"},
        {"disk is full", ": make room on the disk of store, or set store to another"},
    };

    assert(e->code != ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strstr(e->text, rows[i].cause))
            return rows[i].advice;
    return "";
}

static int cli_serve_run(struct cli *cli, const struct cli_args *args)
{
    struct serve_options o = {.config = args->value[CONFIG],
                              .listen = args->value[LISTEN],
                              .on_ready = serve_on_ready,
                              .ctx = cli};
    char here[FILE_PATH_MAX];
    unsigned port;
    str host;
    struct err e;

    if (o.listen && !listen_parse(str_c(o.listen), &host, &port, &e))
        return cli_complain(CLI_USAGE, "--listen: %s", e.text);
    if (!o.config && access(CLI_CONFIG_FILE, F_OK) != 0)
        return cli_complain(CLI_CONFIG,
                            "no configuration at %s/" CLI_CONFIG_FILE ": " CLI_CONFIG_ADVICE,
                            getcwd(here, sizeof here) ? here : ".");
    if (!o.config)
        o.config = CLI_CONFIG_FILE;
    progress_enable();
    if (serve_run(&o, &e))
        return CLI_OK;
    if (e.code == ERR_INPUT || e.code == ERR_NOT_FOUND)
        return cli_fail_config(&e);
    if (str_ends(str_c(e.text), str_c(strerror(EADDRINUSE))))
        return cli_complain(CLI_NEGATIVE,
                            "%s; end the other program, or use another port, such as --listen "
                            "127.0.0.1:8485",
                            e.text);
    return str_starts(str_c(e.text), STR("store: "))
               ? cli_complain(CLI_STORE, "%s%s", e.text, serve_store_advice(&e))
               : cli_fail(&e);
}

const struct cli_command cli_serve = {
    .name = "serve",
    .summary = "run the gateway between applications and models",
    .words = "",
    .about =
        "Accepts requests in the dialects of OpenAI (Chat Completions, Responses), Anthropic, "
        "Gemini and Ollama, and sends each to the provider of its model, whatever its dialect. "
        "It separates reasoning from the answer, keeps it within its budget, records it, and "
        "shows it only to those who may see it. Applications change their base URL and nothing "
        "else.\n\n"
        "SIGTERM drains, a second one stops at once; SIGHUP reloads the configuration. Without "
        "keys in the configuration it listens on loopback only.",
    .examples = "  rationale serve --config rationale.yaml\n"
                "  rationale serve --config rationale.yaml --listen 127.0.0.1:9000\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 0,
    .run = cli_serve_run,
};
