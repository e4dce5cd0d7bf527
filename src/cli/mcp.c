/* mcp.c - `rationale mcp`: the record as tools for other agents.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/mcp.h"

#include "base/sha256.h"
#include "cli/cli.h"
#include "cli/mcp_agents.h"
#include "cli/mcp_record.h"
#include "mcp/replay.h"

#include <unistd.h>

enum { CONFIG, HTTP, REPLAY, CONFORMANCE, CONFORMANCE_CLIENT };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (YAML): keys, and the store"},
    [HTTP] = {"http", 0, "ADDR:PORT", NULL, "serve HTTP there, at /mcp, instead of stdio"},
    [REPLAY] = {"replay", 0, "FOLDER", NULL, "serve the tool outputs recorded there, nothing else"},
    [CONFORMANCE] =
        {"conformance", 0, NULL, NULL, "add the tools that the official test suite expects"},
    [CONFORMANCE_CLIENT] = {"conformance-client", 0, NULL, NULL, "be the suite's client of URL"},
};

struct serving {
    struct cli *cli;
    const struct config *config; /* or NULL */
    struct cli_mcp_record record;
    struct cli_mcp_agents agents; /* if there is a configuration */
    struct replay *replay;        /* or NULL */
};

static void mcp_on_ready(void *ctx, str address)
{
    struct serving *s = ctx;

    file_out_printf(&s->cli->out, "listening on http://" STR_FMT "/mcp\n", STR_ARG(address));
    file_out_flush(&s->cli->out);
}

static bool mcp_allowed(void *ctx, str token, const void **who)
{
    struct serving *s = ctx;
    uint8_t digest[SHA256_SIZE];

    assert(s->config && s->config->key_count > 0);
    sha256_of(token, digest);
    *who = config_key_find(s->config, digest);
    return *who != NULL;
}

static int mcp_serve(struct serving *s, const struct cli_args *args)
{
    struct mcp_server_options o = {
        .sets = {&cli_mcp_tools},
        .instructions = "Rationale keeps the reasoning of language models apart from their "
                        "answers, and on record."};
    struct mcp_http_options http = {
        .listen = args->value[HTTP], .on_ready = mcp_on_ready, .ctx = s};
    struct mcp_server *server;
    size_t sets = 1;
    struct err e;
    bool ok;

    if (s->replay) {
        o.sets[0] = replay_set(s->replay);
        o.instructions = "Tools that replay recorded outputs.";
    } else if (s->config && !str_eq(s->config->store_url, STR("none")))
        o.sets[sets++] = &s->record.set;
    if (!s->replay && s->agents.set.tool_count)
        o.sets[sets++] = &s->agents.set;
    if (args->value[CONFORMANCE])
        o.sets[sets++] = &cli_mcp_conformance;
    assert(sets <= COUNT_OF(o.sets));
    if (s->config && s->config->key_count)
        http.allowed = mcp_allowed;
    server = mcp_server_new(&o, &e);
    if (!server)
        return cli_fail(&e);
    ok = args->value[HTTP] ? mcp_serve_http(server, &http, &e)
                           : mcp_serve_stdio(server, STDIN_FILENO, STDOUT_FILENO, &e);
    mcp_server_free(server);
    if (!ok && e.code == ERR_INPUT) /* the address */
        return cli_complain(CLI_USAGE, "%s", e.text);
    return ok ? CLI_OK : cli_fail(&e);
}

static int cli_mcp_run(struct cli *cli, const struct cli_args *args)
{
    struct serving s = {.cli = cli};
    struct config *config = NULL;
    struct err e;
    int code;

    if (args->value[CONFORMANCE_CLIENT]) {
        if (args->word_count != 1)
            return cli_complain(CLI_USAGE, "--conformance-client needs the URL of a server");
        return cli_mcp_client(args->words[0]);
    }
    if (args->word_count)
        return cli_complain(CLI_USAGE, "mcp takes no words, but \"%s\" was given", args->words[0]);
    if (args->value[CONFIG] && !config_load(args->value[CONFIG], &config, &e))
        return cli_fail_config(&e);
    s.config = config;
    if (args->value[REPLAY] && !replay_open(args->value[REPLAY], &s.replay, &e)) {
        if (config)
            config_release(config);
        return cli_fail(&e);
    }
    for (size_t i = 0; s.replay && replay_fault(s.replay, i); i++)
        (void)cli_complain(CLI_OK, "%s/%s", args->value[REPLAY], replay_fault(s.replay, i));
    cli_mcp_record_init(&s.record, config);
    if (config)
        cli_mcp_agents_init(&s.agents, config, args->value[CONFIG]);
    code = mcp_serve(&s, args);
    cli_mcp_agents_release(&s.agents);
    cli_mcp_record_release(&s.record);
    replay_close(s.replay);
    if (config)
        config_release(config);
    return code;
}

const struct cli_command cli_mcp = {
    .name = "mcp",
    .summary = "serve the record and agents to other agents (MCP)",
    .words = "",
    .about =
        "A server of the Model Context Protocol, for agents and editors: the revision of "
        "2026-07-28 and those up to 2025-11-25, chosen by the client's messages. It uses "
        "standard input and output, as clients start it, or HTTP at /mcp.\n\n"
        "Without keys in the configuration, HTTP is served on loopback only, and only under a "
        "name of this machine; with keys, each request needs one: Authorization: Bearer KEY.\n\n"
        "With a configuration that has a store, tools query the record: search_decisions, "
        "why_was_this_called, show_session. Each agent and workflow of the configuration is a "
        "tool, too. split_text needs no store. docs/reference/mcp.md describes them all.\n\n"
        "With --replay the tools are those of a folder of recordings, which give their recorded "
        "answers: docs/reference/eval.md.",
    .examples = "  rationale mcp\n"
                "  rationale mcp --http 127.0.0.1:8485\n"
                "  rationale mcp --config rationale.yaml\n"
                "  rationale mcp --replay example/incidents/cases/disk-full\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 1,
    .run = cli_mcp_run,
};
