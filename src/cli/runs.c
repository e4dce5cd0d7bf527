/* `rationale runs`: lists runs of agents, and records decisions about their calls.
 *
 * One process at a time writes to a store: if the daemon runs, a decision goes through it, and the
 * run resumes at once. Otherwise the command stores the decision, and the run resumes when the
 * daemon starts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_json.h"
#include "base/clock.h"
#include "base/json_get.h"
#include "cli/daemon.h"
#include "cli/history.h"

enum { CONFIG, STATUS, APP, LIMIT, ARGUMENTS, NOTE, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [STATUS] = {"status",
                0,
                "WHAT",
                "running waiting done stopped failed cancelled",
                "list: only such runs"},
    [APP] = {"app", 0, "NAME", NULL, "list: only those of this application"},
    [LIMIT] = {"limit", 'n', "N", NULL, "list: how many (default: 20)"},
    [ARGUMENTS] = {"arguments", 0, "JSON", NULL, "approve: the call's arguments, changed"},
    [NOTE] = {"note", 0, "TEXT", NULL, "approve, deny: why; a model is told why it was denied"},
    [JSON] = {"json", 0, NULL, NULL, "as JSON, in the words of the API"},
};

static const struct history_column columns[] = {
    {"CREATED", "created_at_us", HISTORY_TIME, 19},
    {"STATUS", "status", HISTORY_STATUS, 10},
    {"APP", "app", HISTORY_TEXT, 12},
    {"RUN", "run_id", HISTORY_TEXT, 40},
    {"SESSION", "session_id", HISTORY_TEXT, 40},
    {"TOOK", "duration_ms", HISTORY_MS, 10},
    {"REASON", "reason", HISTORY_TEXT, 0},
};

struct runs {
    struct history h;
    struct agent_log *log; /* for reading */
    struct cli *cli;
    const struct cli_args *args;
    bool of_agent; /* `rationale run` can resume it */
    int64_t limit; /* of the list */
    int64_t seq;   /* of the call that is decided */
};

static int runs_show(struct runs *r, bool ok, const struct err *e)
{
    return history_show(&r->h, r->cli, ok, e, r->args->value[JSON] != NULL);
}

static bool daemon_there(struct runs *r)
{
    struct daemon_link d;
    struct err e;
    str reply;
    bool there = daemon_open(&d, r->h.config, &e) &&
                 daemon_ask(&d, "GET", STR("/health"), STR(""), &e) && daemon_body(&d, &reply, &e);

    daemon_close(&d);
    return there;
}

/* Prints that interrupted runs will be resumed, and by which process. */
static void runs_print_cut_off(struct runs *r)
{
    const struct json *doc = &r->h.doc;
    const struct json_node *list = json_find(doc, json_root(doc), STR("runs"));
    const struct json_node *v = list ? json_first(doc, list) : NULL;

    while (v && !(str_eq(history_member(&r->h, v, "status"), STR("running")) &&
                  str_eq(history_member(&r->h, v, "app"), STR("incidents"))))
        v = json_next(doc, list, v);
    if (!v || daemon_there(r))
        return;
    (void)cli_complain(
        CLI_OK,
        "no daemon runs, so running runs were interrupted or left. `rationale serve` resumes "
        "interrupted ones, `rationale investigate --run " STR_FMT "` resumes this one",
        STR_ARG(history_member(&r->h, v, "run_id")));
}

/* ---- list ---- */

static int runs_list(struct runs *r)
{
    struct agent_filter f = {.id = STR(""),
                             .status = str_c(r->args->value[STATUS]),
                             .app = str_c(r->args->value[APP]),
                             .key = STR("")};
    struct err e;
    int code;
    bool ok;

    assert(r->log);
    f.count_max = (size_t)r->limit;
    ok = run_json_list(r->log, &f, true, &r->h.out, &e);
    code = runs_show(r, ok, &e);
    if (code != CLI_OK || r->args->value[JSON])
        return code;
    code = history_table(&r->h, r->cli, "runs", columns, COUNT_OF(columns));
    history_print_empty(&r->h, r->args, "runs", "runs");
    runs_print_cut_off(r);
    return code;
}

/* ---- show and replay ---- */

static void runs_print_trace(struct runs *r, const struct json_node *root)
{
    const struct json *doc = &r->h.doc;
    const struct json_node *list = json_find(doc, root, STR("trace"));
    bool ok;

    JSON_FOREACH(s, doc, list) {
        if (!json_bool(json_find(doc, s, STR("ok")), &ok))
            ok = true;
        file_out_printf(
            &r->cli->out,
            "%s%lld. " STR_FMT "%s%s\n",
            cli_bold(r->cli),
            (long long)history_number(&r->h, s, "step"),
            STR_ARG(history_line(&r->h.arena, history_member(&r->h, s, "action"), 1000)),
            cli_plain(r->cli),
            ok ? "" : " (failed)");
        history_show_text(r->cli, history_member(&r->h, s, "observation"), "   ");
    }
}

static int runs_one(struct runs *r)
{
    struct run_asker who = {STR(""), true};
    const struct json_node *root, *pending;
    struct err e;
    bool ok = run_json_one(r->log, str_c(r->args->words[1]), &who, &r->h.out, &e);
    int code = runs_show(r, ok, &e);

    assert(r->log && r->args->word_count == 2);
    if (code != CLI_OK || r->args->value[JSON])
        return code;
    root = json_root(&r->h.doc);
    history_put_field(&r->h, r->cli, root, "run_id", "run");
    history_put_field(&r->h, r->cli, root, "app", "app");
    history_put_field(&r->h, r->cli, root, "session_id", "session");
    history_put_field(&r->h, r->cli, root, "status", "status");
    history_put_field(&r->h, r->cli, root, "reason", "reason");
    runs_print_trace(r, root);
    pending = json_find(&r->h.doc, root, STR("pending"));
    if (pending && pending->kind == JSON_OBJECT) {
        history_put_field(&r->h, r->cli, pending, "tool", "waits for a word on");
        history_put_field(&r->h, r->cli, pending, "arguments", "arguments");
        history_put_field(&r->h, r->cli, pending, "seq", "seq");
    }
    return code;
}

static int runs_replay(struct runs *r)
{
    const struct json_node *root;
    struct err e;
    struct run_asker who = {STR(""), true};
    bool ok = run_json_replay(r->log, str_c(r->args->words[1]), &who, &r->h.out, &e);
    int code = runs_show(r, ok, &e);

    assert(r->log && r->args->word_count == 2);
    if (code != CLI_OK)
        return code;
    if (!json_parse(&r->h.doc, buf_str(&r->h.out), &e))
        return history_fail(&e);
    root = json_root(&r->h.doc);
    if (!r->args->value[JSON]) {
        runs_print_trace(r, root);
        history_put_field(&r->h, r->cli, root, "status", "status");
        history_put_field(&r->h, r->cli, root, "reason", "reason");
        history_put_field(&r->h, r->cli, root, "text", "text");
    }
    if (!json_get_true(&r->h.doc, root, "same"))
        return cli_complain(CLI_NEGATIVE, "the replay ended differently from the recorded run");
    return CLI_OK;
}

/* ---- a decision ---- */

static bool runs_by_daemon(struct runs *r, str body, int *code)
{
    str path = arena_join(&r->h.arena,
                          STR("/api/v1/runs/"),
                          daemon_encode(&r->h.arena, str_c(r->args->words[1])),
                          STR("/answer")),
        reply;
    struct daemon_link d;
    struct err e;
    bool there;

    assert(body.n > 0);
    there = daemon_open(&d, r->h.config, &e) && daemon_ask(&d, "POST", path, body, &e) &&
            daemon_body(&d, &reply, &e) && d.status != 503;
    if (there && d.status == 200) {
        buf_add(&r->h.out, reply);
        *code = CLI_OK;
    } else if (there) {
        *code = daemon_refused(&d, reply, CLI_NEGATIVE);
    }
    daemon_close(&d);
    return there;
}

static int runs_by_ourselves(struct runs *r, enum agent_word word)
{
    struct agent_log *log;
    struct agent_row row;
    struct err e, bad;
    bool ok;

    if (!agent_log_open(r->h.config->store_url, &log, &e))
        return cli_complain(CLI_STORE, "the store: %s", e.text);
    ok = (word != AGENT_CHANGE ||
          agent_check_change(
              log, str_c(r->args->words[1]), r->seq, str_c(r->args->value[ARGUMENTS]), &e)) &&
         agent_answer(log,
                      str_c(r->args->words[1]),
                      r->seq,
                      &(struct agent_decision){.word = word,
                                               .arguments = str_c(r->args->value[ARGUMENTS]),
                                               .note = str_c(r->args->value[NOTE]),
                                               .who = STR("cli"),
                                               .now_us = clock_wall_ms(&clock_real) * 1000},
                      &e);
    r->of_agent = ok && agent_log_run_get(log, str_c(r->args->words[1]), &r->h.arena, &row, &bad) &&
                  str_eq(row.app, STR("agents"));
    agent_log_close(log);
    if (!ok)
        return cli_complain(e.code == ERR_INPUT || e.code == ERR_NOT_FOUND ? CLI_NEGATIVE
                                                                           : CLI_STORE,
                            "%s",
                            e.text);
    buf_add(&r->h.out, STR("{\"run_id\":"));
    (void)json_quote(&r->h.out, str_c(r->args->words[1]));
    buf_add(&r->h.out, STR(",\"resumed\":false}"));
    return CLI_OK;
}

/* An object, or nothing. */
static bool runs_arguments_ok(const char *text)
{
    struct json doc;
    struct err e;
    bool ok;

    if (!text)
        return true;
    ok = json_open(&doc, str_c(text), &e) && json_root(&doc)->kind == JSON_OBJECT;
    json_release(&doc);
    return ok;
}

static int runs_answer_command(struct runs *r, enum agent_word word)
{
    static const char *const words[] = {"approve", "deny", "change"};
    const char *changed = r->args->value[ARGUMENTS];
    struct buf body;
    int code = CLI_OK;
    bool resumed;

    assert(r->args->word_count == 3);
    word = changed ? AGENT_CHANGE : word;
    assert((size_t)word < COUNT_OF(words));
    buf_init(&body, 1 << 20);
    buf_printf(&body, "{\"seq\":%llu,\"word\":\"%s\"", (unsigned long long)r->seq, words[word]);
    if (changed)
        buf_printf(&body, ",\"arguments\":%s", changed);
    if (r->args->value[NOTE]) {
        buf_add(&body, STR(",\"note\":"));
        (void)json_quote(&body, str_c(r->args->value[NOTE]));
    }
    buf_add_c(&body, '}');
    if (!runs_by_daemon(r, buf_str(&body), &code))
        code = runs_by_ourselves(r, word);
    buf_release(&body);
    if (code != CLI_OK)
        return code;
    code = runs_show(r, true, NULL);
    if (code != CLI_OK || r->args->value[JSON])
        return code;
    resumed = json_get_true(&r->h.doc, json_root(&r->h.doc), "resumed");
    if (r->of_agent && !resumed)
        file_out_printf(&r->cli->out,
                        "stored; continue with: rationale run --run %.*s\n",
                        (int)strcspn(r->args->words[1], "/"), /* the run, not a part of it */
                        r->args->words[1]);
    else
        file_out_add(&r->cli->out,
                     resumed ? STR("the run resumes\n")
                             : STR("stored; the run resumes when its application starts\n"));
    return CLI_OK;
}

static int runs_approve_run(struct runs *r)
{
    return runs_answer_command(r, AGENT_APPROVE);
}

static int runs_deny_run(struct runs *r)
{
    return runs_answer_command(r, AGENT_DENY);
}

/* ---- the table ---- */

static const struct verb {
    const char *name;
    int words; /* number of words, including the verb */
    int (*run)(struct runs *r);
} verbs[] = {
    {"list", 1, runs_list},
    {"show", 2, runs_one},
    {"replay", 2, runs_replay},
    {"approve", 3, runs_approve_run},
    {"deny", 3, runs_deny_run},
};

static const char *verb_name(size_t index)
{
    return index < COUNT_OF(verbs) ? verbs[index].name : NULL;
}

/* Checked before the store is opened. */
static bool runs_check_values(struct runs *r, const struct verb *v)
{
    const char *changed = r->args->value[ARGUMENTS];
    uint64_t seq = 0;

    assert(r->args->word_count <= 3);
    if (v->words == 3 && (!str_u64(str_c(r->args->words[2]), &seq) || seq > INT64_MAX)) {
        cli_complain(CLI_USAGE, "SEQ must be the number of the call that waits");
        return false;
    }
    if (!runs_arguments_ok(changed)) {
        cli_complain(CLI_USAGE, "--arguments must be a JSON object");
        return false;
    }
    r->seq = (int64_t)seq;
    return history_limit(r->args->value[LIMIT], 20, AGENT_LIST_MAX, &r->limit);
}

static int runs_carry_out(struct runs *r, const struct verb *v, const char *config)
{
    struct err e;
    int code = history_open(&r->h, config);

    assert(v->run && !r->log);
    if (code)
        return code;
    if (agent_log_open_read(r->h.config->store_url, &r->log, &e))
        code = v->run(r);
    else
        code = cli_complain(CLI_STORE, "the store: %s", e.text);
    agent_log_close(r->log);
    history_close(&r->h);
    return code;
}

static int runs_run(struct cli *cli, const struct cli_args *args)
{
    const char *word = args->word_count ? args->words[0] : "list";
    struct runs r = {.cli = cli, .args = args};
    size_t i = 0;

    while (i < COUNT_OF(verbs) && strcmp(word, verbs[i].name) != 0)
        i++;
    assert(i < COUNT_OF(verbs)); /* the parser has checked the word */
    if (args->word_count != verbs[i].words && args->word_count + verbs[i].words > 1)
        return cli_complain(CLI_USAGE,
                            "runs %s takes %s",
                            word,
                            verbs[i].words == 1   ? "nothing else"
                            : verbs[i].words == 2 ? "the ID of a run"
                                                  : "the ID of a run and the SEQ of a call");
    if (!runs_check_values(&r, &verbs[i]))
        return CLI_USAGE;
    return runs_carry_out(&r, &verbs[i], args->value[CONFIG]);
}

const struct cli_command cli_runs = {
    .name = "runs",
    .summary = "runs of agents: list, show, replay, approve or deny a call",
    .words = "[list | show | replay | approve | deny] [ID [SEQ]]",
    .values = verb_name,
    .about = "Lists the recorded runs of agents, shows one with its trace, or replays one from its "
             "log alone, which asks no model and runs no tool. approve and deny decide a call that "
             "waits for a person: through the daemon, if it runs, with an operator's key from "
             "RATIONALE_KEY; otherwise the decision is stored, and the run resumes when the daemon "
             "starts.",
    .examples = "  rationale runs --status waiting\n"
                "  rationale runs show 01J8ZK --json\n"
                "  rationale runs approve 01J8ZK 4\n"
                "  rationale runs approve 01J8ZK 4 --arguments '{\"amount\":10}'\n"
                "  rationale runs replay 01J8ZK\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 3,
    .run = runs_run,
};
