/* `rationale tail`: follows running calls until it is interrupted.
 *
 * The daemon reports them (/api/v1/live). If no daemon runs, or it refuses access, the command
 * queries the store twice a second for new entries of the decision log.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/daemon.h"
#include "cli/history.h"

#include <unistd.h>

#define LOOK_US 500000
#define LOOK_MAX 200
#define LIVE "/api/v1/live?channel="

enum { CONFIG, SESSION, STORE, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [SESSION] = {"session", 0, "ID", NULL, "only this session, with its texts as they come"},
    [STORE] = {"store", 0, NULL, NULL, "look at the store, even if the daemon runs"},
    [JSON] = {"json", 0, NULL, NULL, "a line of JSON each"},
};

struct tail {
    struct history h;
    struct cli *cli;
    bool json;
    str session;
    bool in_text; /* the current line of text has no end yet */
};

static void tail_end_text(struct tail *t)
{
    if (t->in_text)
        file_out_printf(&t->cli->out, "%s\n", cli_plain(t->cli));
    t->in_text = false;
}

/* ---- from the daemon ---- */

static str tail_line_of(struct tail *t, const struct json_node *v, const char *name, size_t width)
{
    assert(name && width > 0);
    return history_line(&t->h.arena, history_member(&t->h, v, name), width);
}

static void tail_print_text(struct tail *t, const struct json_node *v, bool thought)
{
    str text = history_member(&t->h, v, "text");

    if (t->session.n == 0)
        return;
    if (!t->in_text)
        file_out_add(&t->cli->out, str_c(thought ? cli_dim(t->cli) : cli_plain(t->cli)));
    t->in_text = true;
    cli_put_safe(&t->cli->out, text);
}

static void tail_print_update(struct tail *t, const struct json_node *v, str type)
{
    struct file_out *out = &t->cli->out;
    str session = tail_line_of(t, v, "session_id", 36);

    if (str_eq(type, STR("reasoning_delta")) || str_eq(type, STR("answer_delta"))) {
        tail_print_text(t, v, str_eq(type, STR("reasoning_delta")));
        return;
    }
    if (str_eq(type, STR("reasoning_status"))) {
        if (t->in_text && t->session.n)
            tail_end_text(t);
        return;
    }
    tail_end_text(t);
    if (str_eq(type, STR("llm_started")))
        file_out_printf(out,
                        "begins  " STR_FMT "  " STR_FMT "  " STR_FMT "\n",
                        STR_ARG(session),
                        STR_ARG(tail_line_of(t, v, "model", 30)),
                        STR_ARG(tail_line_of(t, v, "asked", 100)));
    else if (str_eq(type, STR("llm_interaction")))
        file_out_printf(out,
                        "done    " STR_FMT "  %lld ms  thought %lld tokens  " STR_FMT STR_FMT "\n",
                        STR_ARG(session),
                        (long long)history_number(&t->h, v, "duration_ms"),
                        (long long)history_number(&t->h, v, "reasoning_tokens"),
                        STR_ARG(tail_line_of(t, v, "decision", 120)),
                        STR_ARG(tail_line_of(t, v, "error_message", 120)));
    else if (str_eq(type, STR("gap")))
        file_out_printf(out,
                        "gap     %lld messages were lost\n",
                        (long long)history_number(&t->h, v, "missed"));
}

static void tail_print_message(struct tail *t, str json)
{
    const struct json_node *data;
    struct err e;

    if (t->json) {
        cli_put_json(t->cli, json);
        file_out_add(&t->cli->out, STR("\n"));
    } else if (json_parse(&t->h.doc, json, &e)) {
        arena_reset(&t->h.arena);
        data = json_find(&t->h.doc, json_root(&t->h.doc), STR("data"));
        tail_print_update(t, data, history_member(&t->h, data, "type"));
    }
    file_out_flush(&t->cli->out);
}

/* False if the daemon has no live events; otherwise code is the exit code. */
static bool follow_daemon(struct tail *t, int *code)
{
    struct daemon_link d;
    str path, line;
    struct err e;
    bool printed = false;

    path = t->session.n ? arena_join(&t->h.arena,
                                     STR(LIVE "session_"),
                                     daemon_encode(&t->h.arena, t->session),
                                     STR(""))
                        : STR(LIVE "dashboard_updates");
    if (daemon_open(&d, t->h.config, &e) && daemon_ask(&d, "GET", path, STR(""), &e) &&
        d.status == 200) {
        printed = true;
        while (!file_out_gone(&t->cli->out) && daemon_line(&d, &line, &e))
            if (str_starts(line, STR("data:")))
                tail_print_message(t, str_trim(str_slice(line, 5, line.n)));
        tail_end_text(t);
        *code = file_out_gone(&t->cli->out) ? CLI_OK : cli_complain(CLI_UNREACHABLE, "%s", e.text);
    } else if (d.fd >= 0 && (d.status == 401 || d.status == 403)) {
        printed = true;
        *code = cli_complain(CLI_AUTH, "the daemon needs a key: set RATIONALE_KEY, or use --store");
    }
    daemon_close(&d);
    return printed;
}

/* ---- from the store ---- */

static void tail_print_decision(struct tail *t, const struct json_node *v)
{
    if (t->json) {
        cli_put_json(t->cli, json_raw(&t->h.doc, v));
        file_out_add(&t->cli->out, STR("\n"));
        return;
    }
    file_out_printf(&t->cli->out,
                    STR_FMT "  " STR_FMT "  " STR_FMT "  " STR_FMT "\n",
                    STR_ARG(history_time(&t->h.arena, history_number(&t->h, v, "timestamp_us"))),
                    STR_ARG(tail_line_of(t, v, "session_id", 36)),
                    STR_ARG(tail_line_of(t, v, "model", 24)),
                    STR_ARG(tail_line_of(t, v, "entry", 200)));
}

/* Prints new records since the last query, oldest first. */
static bool tail_look(struct tail *t, int64_t *last_id, bool quiet, struct err *e)
{
    struct query_filter f = query_filter_none;
    struct query_page p = {.limit = LOOK_MAX, .page = 1, .cursor = STR(""), .sort = STR("")};
    const struct json_node *all, *v;
    int64_t seen = *last_id, id;

    assert(*last_id >= 0);
    f.session_id = t->session;
    buf_reset(&t->h.out);
    if (!query_decisions(t->h.reader, &t->h.asker, &f, &p, &t->h.out, e) ||
        !json_parse(&t->h.doc, buf_str(&t->h.out), e))
        return false;
    all = json_find(&t->h.doc, json_root(&t->h.doc), STR("decisions"));
    for (size_t i = json_count(&t->h.doc, all); i-- > 0;) {
        v = json_at(&t->h.doc, all, i);
        id = history_number(&t->h, v, "decision_id");
        if (id > seen && !quiet)
            tail_print_decision(t, v);
        *last_id = id > *last_id ? id : *last_id;
    }
    arena_reset(&t->h.arena);
    file_out_flush(&t->cli->out);
    return true;
}

static int follow_store(struct tail *t)
{
    int64_t last_id = 0;
    struct err e;

    assert(t->h.reader);
    if (!tail_look(t, &last_id, true, &e))
        return history_fail(&e);
    cli_complain(CLI_OK, "following the store");
    while (!file_out_gone(&t->cli->out)) {
        (void)usleep(LOOK_US);
        if (!tail_look(t, &last_id, false, &e))
            return history_fail(&e);
    }
    return CLI_OK;
}

/* A session that is not there may be a wrong id, or one that has yet to begin. */
static void tail_say_it_waits(struct tail *t)
{
    struct err e;

    buf_reset(&t->h.out);
    if (t->session.n == 0 || query_session(t->h.reader, &t->h.asker, t->session, &t->h.out, &e) ||
        e.code != ERR_NOT_FOUND)
        return;
    cli_complain(CLI_OK,
                 "there is no session \"" STR_FMT "\" yet: waiting for its first call",
                 STR_ARG(history_line(&t->h.arena, t->session, 60)));
}

static int tail_run(struct cli *cli, const struct cli_args *args)
{
    struct tail t = {
        .cli = cli, .json = args->value[JSON] != NULL, .session = str_c(args->value[SESSION])};
    int code = history_open(&t.h, args->value[CONFIG]);

    if (code)
        return code;
    tail_say_it_waits(&t);
    if (args->value[STORE] || !follow_daemon(&t, &code))
        code = follow_store(&t);
    history_close(&t.h);
    return code;
}

const struct cli_command cli_tail = {
    .name = "tail",
    .summary = "follow calls as they run",
    .words = "",
    .about =
        "Follows the daemon of the configuration: calls as they begin and end; with --session "
        "also reasoning (if allowed) and answers, as they arrive. If the daemon requires a key, "
        "it is taken from RATIONALE_KEY. Without a daemon, new entries of the decision log are "
        "shown as they arrive in the store.",
    .examples = "  rationale tail\n"
                "  rationale tail --session my-session\n"
                "  rationale tail --json | jq .data.type\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = tail_run,
};
