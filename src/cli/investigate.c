/* `rationale investigate`: investigates one alert from a file, and prints the report.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/investigate.h"
#include "apps/incidents/score.h"
#include "base/json_get.h"
#include "base/utf8.h"
#include "cli/cli.h"

#include <signal.h>
#include <unistd.h>

#define ARENA_MAX ((size_t)1 << 30)
#define SHOWN 200 /* characters shown of an observation */

enum { CONFIG, RUNBOOK, RUN, STRATEGY, REASONING, MODEL, AB, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration; else " CLI_CONFIG_FILE},
    [RUNBOOK] = {"runbook", 'r', "FILE", NULL, "the runbook; else the one the alert names"},
    [RUN] = {"run", 0, "ID", NULL, "start this run, or continue it"},
    [STRATEGY] = {"strategy", 's', "NAME", "classic react native", "instead of the agents' own"},
    [REASONING] = {"reasoning", 0, "SWITCH", "on off", "instead of the agents' own"},
    [MODEL] = {"model", 'm', "NAME", NULL, "the model; else the configuration's"},
    [AB] = {"ab", 0, NULL, NULL, "with reasoning and without, and compare"},
    [JSON] = {"json", 0, NULL, NULL, "print one JSON object"},
};

struct work {
    struct cli *cli;
    const struct cli_args *args;
    struct arena arena;
    struct app_local local;
    struct incident_setup *setup;
    struct incident_options input; /* the alert and the runbook, read before the store is opened */
    struct investigate_facts facts;
    bool watching, terminal; /* terminal: stderr is one */
    pthread_t watcher;
    _Atomic bool ended;
    struct buf decisions; /* JSON of those of one run, comma separated */
    int percent;
    str last_agent, last_thought; /* last shown: one thought may lead to several calls */
};

/* ---- Ctrl-C ---- */

/* The first signal leaves the run as it is; the second ends the command at once. */
static void *investigate_wait_signals(void *arg)
{
    struct work *w = arg;
    struct timespec t = {0, 50000000};
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    while (!atomic_load(&w->ended))
        if (sigtimedwait(&set, NULL, &t) > 0 && atomic_exchange(&w->local.leave, true))
            _exit(CLI_SIGINT);
    return NULL;
}

/* Called before any other thread exists, so that no other thread gets the signals. */
static void investigate_block_signals(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* ---- output ---- */

static void investigate_put_line(struct file_out *out, const char *name, str text)
{
    if (str_trim(text).n == 0)
        return;
    file_out_printf(out, "    %s: ", name);
    cli_put_front(out, text, SHOWN);
}

static void investigate_keep_decision(struct work *w, const struct incident_step *s)
{
    const struct {
        const char *name;
        str text;
    } members[] = {{"stage", s->stage},
                   {"agent", s->agent},
                   {"action", s->action},
                   {"reason", s->reason},
                   {"reasoning", s->reasoning},
                   {"observation", s->observation}};
    struct json_out o;

    if (w->decisions.n)
        buf_add_c(&w->decisions, ',');
    json_out_init_object(&o, &w->decisions);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        json_out_key(&o, str_c(members[i].name));
        json_out_str(&o, members[i].text);
    }
    json_member_bool(&o, "ok", s->ok);
    json_out_end(&o);
}

static void investigate_on_step(void *ctx, const struct incident_step *s)
{
    struct work *w = ctx;
    struct file_out out;

    investigate_keep_decision(w, s);
    if (w->args->value[JSON])
        return;
    file_out_init(&out, STDERR_FILENO);
    file_out_printf(&out, "[" STR_FMT "] ", STR_ARG(s->agent));
    cli_put_safe(&out, utf8_cut_count(s->action, SHOWN));
    file_out_printf(&out, "%s\n", s->ok ? "" : " (failed)");
    if (!str_eq(s->reasoning, w->last_thought) || !str_eq(s->agent, w->last_agent))
        investigate_put_line(&out, "thought", s->reasoning);
    w->last_thought = arena_dup(&w->arena, s->reasoning);
    w->last_agent = arena_dup(&w->arena, s->agent);
    investigate_put_line(&out, "because", s->reason);
    investigate_put_line(&out, "result", s->observation);
    file_out_flush(&out);
}

static void investigate_on_progress(void *ctx, const struct incident_progress *p)
{
    struct work *w = ctx;
    struct file_out out;

    if (!w->terminal || w->args->value[JSON] || p->percent == w->percent)
        return;
    w->percent = p->percent;
    file_out_init(&out, STDERR_FILENO);
    file_out_printf(&out, "%3d %% ", p->percent);
    cli_put_line(&out, p->step);
    file_out_add(&out, STR("\n"));
    file_out_flush(&out);
}

/* ---- input ---- */

static bool investigate_read_runbook(struct work *w, struct incident_options *o, struct err *e)
{
    const char *path = w->args->value[RUNBOOK];

    if (!path)
        return true;
    if (str_starts(str_c(path), STR("http://")) || str_starts(str_c(path), STR("https://"))) {
        o->alert.runbook = str_c(path);
        return true;
    }
    if (!file_read(&w->arena, path, (size_t)1 << 20, &o->runbook_text, e))
        return false;
    return utf8_valid(o->runbook_text) || err_input(e, "%s is not UTF-8 text", path);
}

static bool investigate_read_input(struct work *w, struct err *e)
{
    assert(w->args->word_count > 0);
    return investigate_alert(w->args->words[0], &w->arena, &w->input.alert, &w->facts, e) &&
           investigate_read_runbook(w, &w->input, e);
}

static const char *investigate_type_at(const struct incident_setup *s, size_t index)
{
    return incident_alert_types(s)[index];
}

static bool investigate_check_type(struct work *w, str type, struct err *e)
{
    const char *const *servers;
    str agent, all = STR("");

    assert(w->setup);
    if (incident_assigned(w->setup, type, &agent, &servers))
        return true;
    for (size_t i = 0; investigate_type_at(w->setup, i); i++)
        all = arena_printf(&w->arena,
                           STR_FMT "%s%s",
                           STR_ARG(all),
                           i ? ", " : "",
                           investigate_type_at(w->setup, i));
    return err_input(e,
                     "no agent takes alerts of type \"" STR_FMT "\"; there are: " STR_FMT,
                     STR_ARG(str_slice(type, 0, 60)),
                     STR_ARG(all));
}

static bool investigate_gather(struct work *w, struct incident_options *o, struct err *e)
{
    static const char *const strategies[] = {"", "classic", "react", "native"};
    const char *strategy = w->args->value[STRATEGY], *reasoning = w->args->value[REASONING];
    const char *id = w->args->value[RUN];
    char made[RAND_ID_SIZE];
    struct agent_row row;
    struct err none;

    assert(w->setup && (w->args->word_count || w->args->value[RUN]));
    *o = w->input;
    o->run = id ? str_c(id) : arena_dup(&w->arena, rand_id(&w->local.host.gateway->ids, made));
    /* The input of a resumed run comes from its log. */
    if (id && w->local.host.log &&
        agent_log_run_get(w->local.host.log, o->run, &w->arena, &row, &none) &&
        str_eq(row.app, STR("incidents")))
        return incident_input_read(row.input, &w->arena, o, e);
    if (w->args->word_count == 0)
        return err_input(e, "there is no run \"%s\": it needs an alert to begin", id);
    if (id && !investigate_read_input(w, e))
        return false;
    o->alert = w->input.alert;
    o->runbook_text = w->input.runbook_text;
    o->model = str_c(w->args->value[MODEL]);
    for (size_t i = 1; strategy && i < COUNT_OF(strategies); i++)
        if (strcmp(strategy, strategies[i]) == 0)
            o->strategy = (enum incident_strategy)i;
    if (reasoning)
        o->reasoning = strcmp(reasoning, "on") == 0 ? INCIDENT_ON : INCIDENT_OFF;
    return investigate_check_type(w, o->alert.alert_type, e);
}

/* ---- one run ---- */

struct ran {
    struct incident_report report;
    str decisions; /* JSON array */
    str pending;   /* the same for the question to a person */
    str run;
};

/* Marks the run as left, so that a daemon on this store does not resume it like an interrupted
 * one. */
static void investigate_mark_left(struct work *w, str run)
{
    struct agent_row row;
    struct err e;

    if (!w->local.host.log || !agent_log_run_get(w->local.host.log, run, &w->arena, &row, &e))
        return;
    row.reason = STR("left");
    (void)!agent_log_run_put(w->local.host.log, &row, &e);
}

static str investigate_pending_of(struct work *w, str run)
{
    struct buf out;
    struct err e;
    str list = STR("[]");

    buf_init(&out, ARENA_MAX);
    if (w->local.host.log && incident_pending(w->local.host.log, run, &out, &e))
        list = arena_dup(&w->arena, buf_str(&out));
    buf_release(&out);
    return list;
}

static bool investigate_run_one(struct work *w, struct incident_options *o, struct ran *out,
                                struct err *e)
{
    assert(w->setup && o->run.n > 0);
    o->host = &w->local.host;
    o->setup = w->setup;
    o->on_step = investigate_on_step;
    o->on_progress = investigate_on_progress;
    o->ctx = w;
    buf_reset(&w->decisions);
    w->percent = 0;
    out->run = o->run;
    if (!incident_run(o, &w->arena, &out->report, e))
        return false;
    if (out->report.end == INCIDENT_LEFT)
        investigate_mark_left(w, o->run);
    out->decisions = arena_join(&w->arena, STR("["), buf_str(&w->decisions), STR("]"));
    out->pending =
        out->report.end == INCIDENT_WAITING ? investigate_pending_of(w, o->run) : STR("[]");
    return true;
}

static int investigate_exit_code(const struct incident_report *r)
{
    switch (r->end) {
    case INCIDENT_COMPLETED:
        return CLI_OK;
    case INCIDENT_LEFT:
    case INCIDENT_CANCELLED:
        return CLI_SIGINT;
    case INCIDENT_WAITING:
        return CLI_TIMEOUT;
    default:
        return str_eq(r->reason, STR("llm_error"))             ? CLI_UNREACHABLE
               : str_eq(r->reason, STR("rate_limit_exceeded")) ? CLI_LIMIT
               : str_eq(r->reason, STR("time_limit_exceeded")) ? CLI_TIMEOUT
                                                               : CLI_NEGATIVE;
    }
}

static void investigate_write_json(struct json_out *o, const struct ran *r)
{
    static const char *const ends[] = {"completed", "failed", "cancelled", "left", "waiting"};
    const struct incident_report *x = &r->report;
    const struct {
        const char *name;
        str text;
    } texts[] = {{"run", r->run},
                 {"status", str_c(ends[x->end])},
                 {"reason", x->reason},
                 {"error", x->error},
                 {"report", x->markdown},
                 {"final_analysis", x->final_analysis},
                 {"summary", x->summary},
                 {"prompt_id", x->prompt_id}};
    const struct {
        const char *name;
        int64_t n;
    } numbers[] = {{"model_calls", x->model_calls},
                   {"tool_calls", x->tool_calls},
                   {"input_tokens", x->input_tokens},
                   {"output_tokens", x->output_tokens},
                   {"reasoning_tokens", x->reasoning_tokens},
                   {"duration_ms", x->duration_ms}};

    assert((size_t)x->end < COUNT_OF(ends));
    json_out_object(o);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        json_out_key(o, str_c(texts[i].name));
        json_out_str(o, texts[i].text);
    }
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        json_out_key(o, str_c(numbers[i].name));
        json_out_i64(o, numbers[i].n);
    }
    json_member_raw(o, "tools", x->tools);
    json_member_raw(o, "stages", x->stages.n ? x->stages : STR("[]"));
    json_member_raw(o, "decisions", r->decisions);
    json_member_raw(o, "pending", r->pending);
    json_out_end(o);
}

static void investigate_print_json(struct work *w, const struct ran *runs, size_t n)
{
    struct json_out o;
    struct buf out;

    assert(n == 1 || n == 2);
    buf_init(&out, ARENA_MAX);
    json_out_init(&o, &out);
    if (n > 1)
        json_out_array(&o);
    for (size_t i = 0; i < n; i++)
        investigate_write_json(&o, &runs[i]);
    if (n > 1)
        json_out_end(&o);
    buf_add_c(&out, '\n');
    cli_put_json(w->cli, buf_str(&out));
    buf_release(&out);
}

/* Prints the question, and how to answer it. */
static void investigate_print_waiting(struct work *w, const struct ran *r)
{
    const struct json_node *list;
    struct file_out out;
    struct json doc;
    struct err e;

    file_out_init(&out, STDERR_FILENO);
    list = json_open(&doc, r->pending, &e) ? json_root(&doc) : NULL;
    JSON_FOREACH(v, &doc, list) {
        str run = json_get_text(&doc, v, "run_id", &w->arena),
            tool = json_get_text(&doc, v, "tool", &w->arena);
        int64_t seq = json_get_i64(&doc, v, "seq", 0);

        file_out_add(&out, STR("it waits for approval of "));
        cli_put_line(&out, tool);
        file_out_add(&out, STR(" "));
        cli_put_line(&out, json_raw(&doc, json_find(&doc, v, STR("arguments"))));
        file_out_printf(&out,
                        "\n  rationale runs approve '" STR_FMT "' %lld   (or deny)\n",
                        STR_ARG(run),
                        (long long)seq);
    }
    file_out_printf(&out, "then: rationale investigate --run " STR_FMT "\n", STR_ARG(r->run));
    file_out_flush(&out);
    json_release(&doc);
}

static int investigate_one(struct work *w, struct incident_options *o)
{
    struct ran r;
    struct err e;

    if (!w->args->value[JSON])
        (void)fprintf(stderr, "run " STR_FMT "\n", STR_ARG(o->run));
    if (!investigate_run_one(w, o, &r, &e))
        return cli_fail(&e);
    if (w->args->value[JSON])
        investigate_print_json(w, &r, 1);
    else if (r.report.end == INCIDENT_LEFT)
        (void)fprintf(stderr,
                      "interrupted; resume it with: rationale investigate --run " STR_FMT "\n",
                      STR_ARG(o->run));
    else if (r.report.end == INCIDENT_WAITING)
        investigate_print_waiting(w, &r);
    else
        cli_put_text(w->cli, r.report.markdown);
    return investigate_exit_code(&r.report);
}

/* ---- with reasoning and without ---- */

static void investigate_print_row(struct work *w, const char *name, int digits, double on,
                                  double off)
{
    file_out_printf(&w->cli->out, "| %s | %.*f | %.*f |\n", name, digits, on, digits, off);
}

static void investigate_print_comparison(struct work *w, const struct ran r[2])
{
    static const char *const ends[] = {"completed", "failed", "cancelled", "left", "waiting"};
    const struct incident_report *on = &r[0].report, *off = &r[1].report;
    struct file_out *out = &w->cli->out;

    assert((size_t)on->end < COUNT_OF(ends) && (size_t)off->end < COUNT_OF(ends));
    file_out_printf(out,
                    "# Reasoning against none\n\n| | on | off |\n|---|---|---|\n"
                    "| run | " STR_FMT " | " STR_FMT " |\n| status | %s | %s |\n",
                    STR_ARG(r[0].run),
                    STR_ARG(r[1].run),
                    ends[on->end],
                    ends[off->end]);
    investigate_print_row(
        w, "input tokens", 0, (double)on->input_tokens, (double)off->input_tokens);
    investigate_print_row(
        w, "output tokens", 0, (double)on->output_tokens, (double)off->output_tokens);
    investigate_print_row(
        w, "reasoning tokens", 0, (double)on->reasoning_tokens, (double)off->reasoning_tokens);
    investigate_print_row(w, "model calls", 0, on->model_calls, off->model_calls);
    investigate_print_row(w, "tool calls", 0, on->tool_calls, off->tool_calls);
    investigate_print_row(w, "time (ms)", 0, (double)on->duration_ms, (double)off->duration_ms);
    if (w->facts.n)
        investigate_print_row(w,
                              "score",
                              2,
                              score_facts(on->final_analysis, w->facts.at, w->facts.n, NULL),
                              score_facts(off->final_analysis, w->facts.at, w->facts.n, NULL));
    file_out_printf(out, "| tools called | ");
    cli_put_text(w->cli, on->tools);
    file_out_add(out, STR(" | "));
    cli_put_text(w->cli, off->tools);
    file_out_add(out, STR(" |\n\n## Analysis with reasoning\n\n"));
    cli_put_text(w->cli, on->final_analysis);
    file_out_add(out, STR("\n\n## Analysis without\n\n"));
    cli_put_text(w->cli, off->final_analysis);
    file_out_add(out, STR("\n"));
}

static int investigate_both(struct work *w, const struct incident_options *o)
{
    struct ran r[2];
    struct err e;

    assert(!w->args->value[REASONING]);
    for (int i = 0; i < 2; i++) {
        struct incident_options one = *o;

        one.reasoning = i == 0 ? INCIDENT_ON : INCIDENT_OFF;
        one.run = arena_join(&w->arena, o->run, i == 0 ? STR("-on") : STR("-off"), STR(""));
        one.session = STR("");
        if (!w->args->value[JSON])
            (void)fprintf(
                stderr, "run " STR_FMT ": reasoning %s\n", STR_ARG(one.run), i ? "off" : "on");
        if (!investigate_run_one(w, &one, &r[i], &e))
            return cli_fail(&e);
        if (r[i].report.end == INCIDENT_LEFT)
            return CLI_SIGINT;
        if (r[i].report.end == INCIDENT_WAITING) {
            investigate_print_waiting(w, &r[i]);
            return CLI_TIMEOUT;
        }
    }
    if (w->args->value[JSON])
        investigate_print_json(w, r, 2);
    else
        investigate_print_comparison(w, r);
    return investigate_exit_code(&r[0].report) ? investigate_exit_code(&r[0].report)
                                               : investigate_exit_code(&r[1].report);
}

/* ---- the command ---- */

static bool investigate_open_setup(struct work *w, struct err *e)
{
    const struct config_incidents *c = &w->local.host.gateway->setup->config->incidents;

    assert(!w->setup);
    if (!c->agents.n)
        return err_input(e, "the configuration names no agents (incidents.agents: FILE)");
    return incident_setup_load(c->agents.p, c->runbooks.p, &w->setup, e);
}

static int investigate_work(struct work *w)
{
    struct incident_options o;
    struct err e;

    if (!investigate_open_setup(w, &e))
        return cli_fail_config(&e);
    if (!investigate_gather(w, &o, &e))
        return cli_fail(&e);
    return w->args->value[AB] ? investigate_both(w, &o) : investigate_one(w, &o);
}

static int investigate_run(struct cli *cli, const struct cli_args *args)
{
    struct work w = {.cli = cli,
                     .args = args,
                     .input = {.run = STR(""), .session = STR(""), .runbook_text = STR("")},
                     .terminal = isatty(STDERR_FILENO) == 1,
                     .last_agent = STR(""),
                     .last_thought = STR("")};
    const char *config = args->value[CONFIG] ? args->value[CONFIG] : CLI_CONFIG_FILE;
    struct err e;
    int code;

    if (args->word_count == 0 && !args->value[RUN])
        return cli_complain(CLI_USAGE, "investigate needs an alert: a file with its JSON");
    if (args->value[AB] && args->value[REASONING])
        return cli_complain(CLI_USAGE, "--ab runs both: leave out --reasoning");
    arena_init(&w.arena, ARENA_MAX);
    if (!args->value[RUN] && !investigate_read_input(&w, &e)) {
        arena_release(&w.arena);
        return cli_fail(&e);
    }
    investigate_block_signals();
    if (!app_local_open(config, &w.local, &e)) {
        arena_release(&w.arena);
        return cli_fail_open(&e, "a daemon investigates, too: send it the alert (POST /alerts)");
    }
    buf_init(&w.decisions, ARENA_MAX);
    w.watching = pthread_create(&w.watcher, NULL, investigate_wait_signals, &w) == 0;
    code = investigate_work(&w);
    atomic_store(&w.ended, true);
    if (w.watching)
        pthread_join(w.watcher, NULL);
    incident_setup_free(w.setup);
    app_local_close(&w.local);
    buf_release(&w.decisions);
    file_out_flush(&cli->out);
    arena_release(&w.arena);
    return code;
}

const struct cli_command cli_investigate = {
    .name = "investigate",
    .summary = "investigate an alert and write a report",
    .words = "[ALERT]",
    .about =
        "Investigates one alert with the agents and MCP servers of the configuration "
        "(incidents.agents) and prints the report in Markdown. It prints each decision on stderr "
        "as it is made: the reasoning, the call, its reason and its result.\n\n"
        "ALERT is a file with a JSON object: alert_type, runbook, severity, data; or a "
        "notification of Alertmanager, of which the first firing alert is used. Every step is "
        "stored, so --run ID resumes an investigation that was interrupted at any point.\n\n"
        "With --ab the alert is investigated twice, with reasoning and without, and the two are "
        "compared: tokens, time, tools, and how many facts of ALERT.facts.json, a list of "
        "sentences, the analysis has.",
    .examples = "  rationale investigate alert.json --runbook runbook.md\n"
                "  rationale investigate --run 01924f6e-8a51-7c3e-9b1f-5d2e8c7a4f60\n"
                "  rationale investigate alert.json --ab\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 1,
    .run = investigate_run,
};
